"""Runs inside asyncio: a web handler that streams events and tokens, and a notebook cell.

    python3 async_app.py

What one learns: the loop needs no twin with `async` in front of everything. A run lives in a worker
thread; its events, and the model's text as it arrives, come through a queue, and `async for` reads
them. When the reader goes away (a closed browser tab, a cancelled task), the next piece of text or
the next event stops the run at a clean place: nothing that was recorded is lost, the thread is
gone before `run_events` is, and the same run can be resumed later.

A time limit works in the same way, and reaches into a request that is under way: text that arrives
too late ends it, and where a server says nothing at all, the model's own `deadline` does.

The little server is plain asyncio and answers with server-sent events. In FastAPI (`pip install
fastapi uvicorn`) the handler is one line, and a reader who leaves stops the run too:

    return StreamingResponse(sse_lines(make_model, run), media_type="text/event-stream")

In a notebook cell: `agentloop.run(...)` as it stands (it blocks the cell; coroutine tools run all
the same), or `async for event in run_events(...): print(event)`.

To change and try: let ben read 5 or None pieces; take the call of `check` out of `on_text`, and
see how much longer the run goes on after its reader has left.
For real: --model NAME --base-url URL.
"""

import argparse
import asyncio
import contextlib
import contextvars
import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


class Stopped(Exception):
    """The reader has gone, or the time is up; raised where it does no harm."""


async def run_events(make_model, run, tools=(), seconds=60, **options):
    """Yield the events of a run, and the model's text as str; closing it stops the run.

    `make_model(on_text, seconds)` makes the model, which may take so long for one request. Past the
    time limit the run is stopped, and `Stopped` is raised; the run can be resumed.
    """
    loop, queue, stop = asyncio.get_running_loop(), asyncio.Queue(), threading.Event()
    end = time.monotonic() + seconds

    def put(item):
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def check():
        if stop.is_set():
            raise Stopped("the reader has gone")
        if time.monotonic() > end:
            raise Stopped("the time limit of %g s is reached" % seconds)

    def on_text(piece):
        check()  # leaves the model and closes its connection; the run stays as it was
        put(piece)

    def work():
        try:
            events = agentloop.stream(make_model(on_text, seconds), run, tools, **options)
            with contextlib.closing(events):  # lets go of the run, whatever happens
                for event in events:
                    put(event)
                    if run.state == "running":
                        check()  # between two events: what is pending stays pending
            put(None)
        except Exception as exc:
            put(exc)

    context = contextvars.copy_context()  # the request's context variables, for tools and logs
    worker = loop.run_in_executor(None, context.run, work)
    try:
        while True:
            item = await queue.get()
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        stop.set()
        await worker  # a tool that is at work is waited for; no thread outlives its reader


async def sse_lines(make_model, run, **options):
    """The events of a run as server-sent events; closing it closes what it reads."""

    def line(kind, data):
        return ("event: %s\ndata: %s\n\n" % (kind, json.dumps(str(data)))).encode()

    events = run_events(make_model, run, [lookup_stock], **options)
    try:
        async for event in events:
            yield line("text" if isinstance(event, str) else type(event).__name__, event)
    except (Stopped, agentloop.ModelError, RuntimeError) as exc:
        yield line("error", exc)  # RuntimeError: another tab holds this run
    finally:
        await events.aclose()  # `async for` alone does not close what it was broken out of


async def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now; read-only."""
    await asyncio.sleep(0.01)  # an async database client would stand here
    return {"A1": 3}.get(sku, 0)


def talkative(on_text, seconds):
    """A scripted model that says its answer word by word, as a streaming server does."""
    answer = "There are 3 pieces of A1. " + "You may well want more of it. " * 8

    def model(run, tools):
        if not run.steps:
            return agentloop.AgentAction("lookup_stock", {"sku": "A1"})
        for word in answer.split() if on_text else ():
            time.sleep(0.012)
            on_text(word + " ")
        return agentloop.AgentFinish(answer)

    return model


def handler(make_model, runs, working):
    """A connection handler that keeps its runs by path: GET /anna begins one, or goes on.

    `working`: a set, in which each handler is while it holds a run.
    """

    async def handle(reader, writer):
        words = (await reader.readline()).split()
        if len(words) < 2:  # a browser that changed its mind
            return writer.close()
        working.add(asyncio.current_task())
        path = words[1].decode("ascii", "replace")
        run = runs.setdefault(path, agentloop.AgentRun("How many A1 can we sell?"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        lines = sse_lines(make_model, run, seconds=0.5 if path == "/slow" else 60)
        try:
            async for line in lines:
                writer.write(line)
                await writer.drain()  # a ConnectionError once the reader has left
        except ConnectionError:
            pass
        finally:
            await lines.aclose()
            writer.close()
            working.discard(asyncio.current_task())

    return handle


async def visit(port, path, pieces):
    """A browser: reads so many pieces of text (None: all), leaves, and returns the kinds seen."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(("GET %s HTTP/1.1\r\n\r\n" % path).encode())
    seen = []
    while seen.count("text") != pieces:
        line = await reader.readline()
        if not line:
            break
        if line.startswith(b"event: "):
            seen.append(line.split()[1].decode())
    writer.close()
    return seen


async def web(make_model):
    runs, working = {}, set()
    server = await asyncio.start_server(handler(make_model, runs, working), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for title, path, pieces in [
        ("1. A patient reader", "/anna", None),
        ("2. One who leaves after 3 pieces of text", "/ben", 3),
        ("3. The same one again: the run goes on", "/ben", None),
        ("4. A time limit of 0.5 s, in the middle of an answer", "/slow", None),
    ]:
        seen = await visit(port, path, pieces)
        # The handlers still at work: they end once they have let go of their runs. Other tasks of
        # the event loop are none of our business, and some never end.
        await asyncio.gather(*working)
        run = runs[path]
        print(title)
        print("   text came in pieces: %s" % ("yes" if seen.count("text") > 1 else "no"))
        print("   events: %s" % ", ".join(kind for kind in seen if kind != "text"))
        print("   state: %s, requests: %d, steps: %d" % (run.state, run.requests, len(run.steps)))
    server.close()
    await server.wait_closed()


async def notebook_cell(make_model):
    """An event loop is running here, as in a notebook; the blocking call works all the same."""
    run = agentloop.run(make_model(None, 60), "How many A1?", [lookup_stock])
    print("5. In a notebook cell, the blocking call")
    print("   observations: %s, state: %s" % ([step.observation for step in run.steps], run.state))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()

    def real(on_text, seconds):
        return agentloop.OpenAIChat(
            options.model,
            base_url=options.base_url,
            max_tokens=1000,
            on_text=on_text,
            deadline=seconds,  # of one request with all its retries, also of a silent one
        )

    make_model = real if options.model else talkative
    asyncio.run(web(make_model))
    asyncio.run(notebook_cell(make_model))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
