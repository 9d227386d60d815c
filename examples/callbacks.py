"""Callbacks around a run: handlers, run ids with parents, tags, latency, to several places at once.

    python3 callbacks.py

What one learns: callbacks are a `for` loop over `stream()` and two wrappers. `watched` is such a
loop; copy it where a tracing system wants to hear of every beginning and end. A handler is any
callable that takes an event, a dict; an `async def` is awaited before the run goes on. It hears of

    run_start, run_end, run_error            a run
    model_start, model_end, model_error      a request
    action, step, finish                     what stream() yields
    tool_start, tool_end, tool_error         a tool at work (a call of a tool that does not exist
                                             is a step, and no work)

Each event has the id of its span, the id of the span around it, and tags and metadata that are
inherited: a run that is begun inside a tool (an agent as a tool) finds its parent by itself,
through a context variable, also in the threads in which `read_only` calls run together.

A handler that fails does not hurt the run: its exception goes to the log, and the next handler is
called all the same.

To change and try: other tags; a handler that raises KeyboardInterrupt (that one is meant for the
person, and stops the run); `lambda event: print(event)` as a handler.
For real: --model NAME --base-url URL. For OpenTelemetry, begin a span at each `_start` and end it
at each `_end` or `_error`; the ids are in the event.
"""

import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import contextvars
import dataclasses
import functools
import inspect
import json
import logging
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

log = logging.getLogger("callbacks")


class Span:
    """Something that has a beginning and an end: a run, a request, a tool's call.

    Inside another span it inherits handlers, tags and metadata, and adds its own.
    """

    current = contextvars.ContextVar("current", default=None)

    def __init__(self, handlers=(), tags=(), metadata=None):
        outer = self.current.get()
        self.id, self.began = uuid.uuid4().hex[:16], time.perf_counter()
        self.parent = outer.id if outer else None
        self.depth = outer.depth + 1 if outer else 0
        self.handlers = outer.handlers[:] if outer else []
        self.handlers += [handler for handler in handlers if handler not in self.handlers]
        self.tags = outer.tags[:] if outer else []
        self.tags += [tag for tag in tags if tag not in self.tags]
        self.metadata = dict(outer.metadata if outer else {}, **(metadata or {}))

    def tell(self, kind, **data):
        """Call each handler; the failure of one is logged, and is nobody else's."""
        event = {"kind": kind, "span": self.id, "parent": self.parent, "depth": self.depth}
        event.update(tags=self.tags, metadata=self.metadata, **data)
        event["seconds"] = time.perf_counter() - self.began  # since the span began
        for handler in self.handlers:
            try:
                result = handler(dict(event))
                if inspect.isawaitable(result):
                    wait_for(result)
            except (Exception, asyncio.CancelledError):
                name = getattr(handler, "__name__", type(handler).__name__)
                log.warning("handler %s failed at %s", name, kind, exc_info=True)

    @contextlib.contextmanager
    def around(self, kind, **data):
        """Report the start, and the end or error; what is put into the dict goes with the end."""
        token, ended = self.current.set(self), {}
        try:
            self.tell(kind + "_start", **data)
            yield ended
        except BaseException as exc:
            self.tell(kind + "_error", error=exc, **data)
            raise
        else:
            self.tell(kind + "_end", **dict(data, **ended))
        finally:
            self.current.reset(token)


def wait_for(awaitable):
    """Await it from code that is not async; beside a running event loop, in a thread of its own.

    A handler may use what belongs to no event loop (a queue of its own, an HTTP client made in the
    handler). What belongs to a loop that is running elsewhere wants `run_coroutine_threadsafe`.
    """

    async def waiting():
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waiting())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        context = contextvars.copy_context()
        return pool.submit(context.run, asyncio.run, waiting()).result()


def watched_model(model):
    """The model, with its requests reported."""

    def ask(run, tools):
        with Span().around("model", request=run.requests) as ended:
            ended["reply"] = reply = model(run, tools)
            ended["usage"] = dict(run.usage)  # of the run so far
            return reply

    return ask


def watched_tool(tool):
    """The tool, with its work reported; schema, checks and all else stay as they are."""
    function = tool.function

    @functools.wraps(function)
    def call(*args, **kwargs):
        with Span().around("tool", tool=tool.name, args=args, kwargs=kwargs) as ended:
            ended["result"] = result = function(*args, **kwargs)
            return result

    @functools.wraps(function)
    async def call_async(*args, **kwargs):
        with Span().around("tool", tool=tool.name, args=args, kwargs=kwargs) as ended:
            ended["result"] = result = await function(*args, **kwargs)
            return result

    is_async = inspect.iscoroutinefunction(function)
    return dataclasses.replace(tool, function=call_async if is_async else call)


def watched(model, task, tools=(), *, handlers=(), tags=(), metadata=None, **options):
    """agentloop.run(), with handlers; inside a watched tool it is a child of that call."""
    run = task if isinstance(task, agentloop.AgentRun) else agentloop.AgentRun(task)
    tools = {name: watched_tool(t) for name, t in agentloop.registry(tools).items()}
    span = Span(handlers, tags, metadata)
    with span.around("run", task=run.task) as ended:
        for event in agentloop.stream(watched_model(model), run, tools, **options):
            kind = type(event).__name__[len("Agent") :].lower()
            span.tell(kind, **{kind: event})
        ended.update(state=run.state, requests=run.requests)
    return run


# -- handlers -----------------------------------------------------------------------------------


def terminal(event):
    """A line for each event, indented by depth."""
    shown = [event["kind"]]
    shown += ["%s=%s" % (key, event[key]) for key in ("tool", "error", "state") if key in event]
    if "step" in event:
        shown.append("status=%s" % event["step"].status)
    # In one write, newline and all: several tools may be at work at the same time.
    print("   %s%s\n" % ("  " * event["depth"], " ".join(shown)), end="")


class JsonLines:
    """Appends each event to a file as a JSON object; what is no JSON as text."""

    def __init__(self, path):
        self.path = path

    def __call__(self, event):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(event, default=str, ensure_ascii=False) + "\n")


def to_logging(event):
    """Errors as warnings, the rest at DEBUG; how `logging` is set up decides what is kept."""
    level = logging.WARNING if event["kind"].endswith("_error") else logging.DEBUG
    log.log(level, "%s in span %s: %s", event["kind"], event["span"], event)


class Posted:
    """An async handler: stands for one that sends each event over the network."""

    def __init__(self):
        self.sent = 0

    async def __call__(self, event):
        await asyncio.sleep(0)  # the request
        self.sent += 1


class Statistics:
    """What a dashboard wants: mean requests of a run, failure rate and latency of each tool."""

    def __init__(self):
        self.requests, self.statuses = [], collections.defaultdict(list)
        self.latency = collections.defaultdict(list)

    def __call__(self, event):
        if event["kind"] == "run_end":
            self.requests.append(event["requests"])
        elif event["kind"] == "step" and event["step"].action.tool:
            self.statuses[event["step"].action.tool].append(event["step"].status)
        elif event["kind"] in ("tool_end", "tool_error"):
            self.latency[event["tool"]].append(event["seconds"])

    def lines(self):
        yield "requests of a run, mean: %.1f" % (sum(self.requests) / len(self.requests))
        for name, statuses in sorted(self.statuses.items()):
            failed = sum(status != "ok" for status in statuses)
            yield "%s: %d of %d failed" % (name, failed, len(statuses))


def broken(event):
    """The handler that somebody wrote on a Friday."""
    raise RuntimeError("no space left on the dashboard")


# -- the demonstration --------------------------------------------------------------------------


class Logged(logging.Handler):
    """Keeps what was logged, in place of a program's logging.basicConfig()."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


BUYER = agentloop.Scripted(
    [
        agentloop.AgentAction("lookup_stock", {"sku": "B2"}),  # fails: there is no B2
        agentloop.AgentAction("lookup_stock", {"sku": "A1"}),
        agentloop.AgentFinish("3 pieces of A1."),
    ]
)
SELLER = agentloop.Scripted(
    [
        agentloop.AgentAction("ask_buyer", {"question": "How many pieces of A1?"}),
        agentloop.AgentFinish("We have 3 pieces of A1."),
    ]
)


def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now; read-only."""
    time.sleep(0.02)
    return {"A1": 3}[sku]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    seller, buyer = SELLER, BUYER
    if options.model:
        seller = buyer = agentloop.OpenAIChat(
            options.model, base_url=options.base_url, max_tokens=1000
        )

    def ask_buyer(question: str) -> str:
        """Let the buyer, an agent of its own, answer a question about an article."""
        # Nothing of the outer run is passed on: parent, tags and handlers are found by themselves.
        return watched(buyer, question, [lookup_stock], metadata={"agent": "buyer"}).output

    statistics, logged, posted = Statistics(), Logged(), Posted()
    log.addHandler(logged)
    log.propagate = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        print("1. To the terminal")
        run = watched(
            seller,
            "How many A1 can we sell?",
            [ask_buyer],
            handlers=[terminal, JsonLines(path), to_logging, broken, posted, statistics],
            tags=["shop"],
            metadata={"user": "anna"},
        )
        events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    print("2. In the file")
    outer, *others = [event for event in events if event["kind"] == "run_start"]
    calls = {event["span"]: event for event in events if event["kind"] == "tool_start"}
    for inner in others:
        call = calls[inner["parent"]]
        print("   inside %s, inside the outer run:" % call["tool"], call["parent"] == outer["span"])
        print("   inherited: tags %s, metadata %s" % (inner["tags"], inner["metadata"]))
    print("3. Statistics")
    for line in statistics.lines():
        print("   %s" % line)
    waited = min(statistics.latency.get("lookup_stock", [0])) >= 0.015
    print("   latency of lookup_stock at least 15 ms:", "yes" if waited else "no")
    print("4. In the log")
    failures = sum(line.startswith("handler broken failed") for line in logged.lines)
    print("   one handler failed at every event:", "yes" if failures == len(events) else "no")
    print("   the async one was awaited at each:", "yes" if posted.sent == len(events) else "no")
    print("   tool errors:", sum(line.startswith("tool_error") for line in logged.lines))
    print("   and the run: %s, %s" % (run.state, run.output))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
