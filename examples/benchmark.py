"""How fast is the loop? Ratios to the shortest hand-written code that does the same work.

    python3 benchmark.py                       # some minutes; the figures of the README
    python3 benchmark.py overhead wire         # some of them
    python3 benchmark.py --quick               # some seconds; "within" or "over", no figures

What one learns: an absolute time says little on a shared machine, a ratio to something known says
much. So each row measures two things in turn, in one run: agentloop, and code by hand that does the
same work (not less: it parses and checks the arguments, too). The fastest of each counts, since
whatever else runs on a machine only ever makes things slower.

    overhead   CPU time of a step, to a loop by hand, for 100, 1,000 and 10,000 steps
    growth     a step of a run of 10,000, to a step of a run of 100: 1 is linear
    parallel   eight read-only calls of 50 ms in one reply, to one of them
    imports    to the import of dataclasses, inspect, json, re and typing
    memory     1,000 steps of 10 kB, to the text alone (where the system tells the peak)
    wire       one request, a streamed chunk, and a long conversation, on the loopback address:
               to http.client with a kept-alive connection and a growing buffer
    journal    a run with a journal, to writing and syncing the same lines
    peers      the same run of 100 steps by other libraries, to the loop by hand, where they are
               installed: pip install langchain pydantic-ai-slim openai-agents smolagents

To change and try: a `time.sleep(0.01)` in `lookup_stock`, and see how soon the loop's own time is
nothing beside it (a model takes seconds). Send the whole list through `json.dumps` in
`conversation_by_hand`, and see what a growing history costs.
"""

import argparse
import gc
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK, ANSWER = "Look up the stock.", "All articles were looked up."
HOME = str(Path(agentloop.__file__).resolve().parent)
# For child processes: Python may keep the compiled module, as it does on a user's machine.
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# What is spent waiting does not count, but Windows counts CPU time in steps of 16 ms.
cpu_clock = time.perf_counter if sys.platform == "win32" else time.process_time


def lookup_stock(sku: str, pieces: int = 1) -> dict:
    """Look up whether so many pieces of an article are there."""
    return {"sku": sku, "pieces": pieces, "there": pieces < 5}


FUNCTION = {
    "name": "lookup_stock",
    "description": lookup_stock.__doc__,
    "parameters": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "pieces": {"type": "integer"}},
        "required": ["sku"],
    },
}


def arguments_of(number):
    return '{"sku": "A%d", "pieces": %d}' % (number, number % 9)


# -- taking measure -----------------------------------------------------------------------------


def seconds(work, clock=cpu_clock):
    gc.collect()
    began = clock()
    work()
    return clock() - began


def in_turn(ours, theirs, rounds, clock=cpu_clock):
    """The fastest of ours and of theirs, measured in turn."""
    pairs = [(seconds(ours, clock), seconds(theirs, clock)) for _ in range(rounds)]
    return map(min, zip(*pairs))


def row(name, ours, theirs, most, count, unit="us a step"):
    """(name, ratio, what it may be, a note) of two times for so many steps."""
    note = "%.1f %s, by hand %.1f" % (ours / count * 1e6, unit, theirs / count * 1e6)
    return name, ours / theirs, most, note


# -- the same run, by hand and by the loop ------------------------------------------------------


def checked_call(functions, name, text):
    """What everybody writes: look the function up, parse, check, call; an error is a result."""
    function = functions.get(name)
    if function is None:
        return "there is no tool %r" % name
    try:
        given = json.loads(text)
    except ValueError as exc:
        return "no JSON: %s" % exc
    if not isinstance(given, dict):
        return "an object is wanted"
    for key, kind in (("sku", str), ("pieces", int)):
        if key in given and type(given[key]) is not kind:
            return "%s: %s is wanted" % (key, kind.__name__)
    if "sku" not in given or len(given) > 1 + ("pieces" in given):
        return "wanted: sku, and maybe pieces"
    try:
        return function(**given)
    except Exception as exc:
        return "%s: %s" % (type(exc).__name__, exc)


def call_of(number):
    """The call that a Chat Completions server asks for."""
    function = {"name": "lookup_stock", "arguments": arguments_of(number)}
    return {"id": "call_%d" % number, "type": "function", "function": function}


def loop_by_hand(turns):
    """A run of so many steps, ready to be timed."""
    functions = {"lookup_stock": lookup_stock}

    def ask(messages, number):
        if number == turns:
            return {"role": "assistant", "content": ANSWER}
        return {"role": "assistant", "content": None, "tool_calls": [call_of(number)]}

    def work():
        messages = [{"role": "user", "content": TASK}]
        for number in range(turns + 1):
            reply = ask(messages, number)
            messages.append(reply)
            for call in reply.get("tool_calls", ()):
                function = call["function"]
                result = checked_call(functions, function["name"], function["arguments"])
                content = result if isinstance(result, str) else json.dumps(result)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        assert messages[-1]["content"] == ANSWER and len(messages) == 2 * turns + 2

    return work


def loop_of_ours(turns, journals=None):
    """The same run by agentloop; journals: an iterator over paths, one for each time."""
    tools = agentloop.registry([lookup_stock])

    def ask(run, tools):
        number = len(run.steps)
        if number == turns:
            return agentloop.AgentFinish(ANSWER)
        return agentloop.AgentAction("lookup_stock", arguments_of(number), "call_%d" % number)

    def work():
        journal = next(journals) if journals else None
        run = agentloop.run(ask, TASK, tools, max_requests=turns + 1, journal=journal)
        assert run.output == ANSWER and len(run.steps) == turns

    return work


# -- the measures: rows of (name, ratio, what it may be, a note) --------------------------------


def overhead(quick):
    # Many rounds of the short run: the fastest of few is still a slow one on a busy machine.
    for turns, rounds in ((100, 40),) if quick else ((100, 60), (1000, 15), (10000, 5)):
        ours, theirs = in_turn(loop_of_ours(turns), loop_by_hand(turns), rounds)
        name = "overhead" if quick else "overhead, %d steps" % turns
        yield row(name, ours, theirs, 1.5, turns)


def growth(quick):
    many = 2000 if quick else 10000
    short = min(seconds(loop_of_ours(100)) for _ in range(30)) / 100
    long = min(seconds(loop_of_ours(many)) for _ in range(5)) / many
    yield "growth", long / short, 1.3, "a step of %d, to a step of 100" % many


def parallel(quick):
    @agentloop.tool(read_only=True)
    def wait(number: int) -> int:
        """Wait a little."""
        time.sleep(0.05)
        return number

    calls = [agentloop.AgentAction("wait", {"number": n}) for n in range(8)]
    model = agentloop.Scripted([calls, agentloop.AgentFinish(ANSWER)])
    took = [
        seconds(lambda: agentloop.run(model, TASK, [wait]), time.perf_counter) for _ in range(5)
    ]
    yield "parallel", min(took) / 0.05, 1.15, "eight calls of 50 ms: %.0f ms" % (min(took) * 1e3)


def imports(quick):
    def python(names):
        # -S: what an installation loads at every start is missing from both, else only from one.
        line = [sys.executable, "-S", "-c", IMPORT % (cpu_clock.__name__, names)]
        return float(subprocess.check_output(line, cwd=HOME, env=ENV))

    python("agentloop")  # the first one writes the bytecode
    pairs = [(python("agentloop"), python(STANDARD)) for _ in range(6 if quick else 25)]
    ours, theirs = map(min, zip(*pairs))
    yield row("import", ours, theirs, 1.4, 1000, "ms")


IMPORT = "from time import %s as now; began = now(); import %s; print(now() - began)"
STANDARD = "dataclasses, inspect, json, re, typing"
MEMORY = """
import os, sys, agentloop
def read_page(number: int) -> str:
    "Read a page."
    return str(number).ljust(10000, ".")
def model(run, tools):
    number = len(run.steps)
    if number == steps:
        return agentloop.AgentFinish("done")
    return agentloop.AgentAction("read_page", {"number": number})
def peak():
    # Not getrusage where it can be helped: on Linux that begins with the parent's peak.
    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
    import resource
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
steps = 10
agentloop.run(model, "Read.", [read_page], max_requests=2000)
before, steps = peak(), 1000
run = agentloop.run(model, "Read.", [read_page], max_requests=2000)
print(peak() - before)
"""


def memory(quick):
    if sys.platform == "win32":
        return  # it does not tell the peak without a package
    grown = int(subprocess.check_output([sys.executable, "-c", MEMORY], cwd=HOME, env=ENV))
    yield "memory", grown / 1e7, 1.3, "%.1f MB for 10 MB of text" % (grown / 1e6)


def journal(quick):
    steps = 20 if quick else 200
    with tempfile.TemporaryDirectory() as folder:
        paths = (os.path.join(folder, "%d.jsonl" % n) for n in itertools.count())
        ours = loop_of_ours(steps, paths)
        ours()
        lines = Path(folder, "0.jsonl").read_bytes().splitlines(True)

        def by_hand():
            with open(os.path.join(folder, "by_hand"), "wb", buffering=0) as file:
                for line in lines:
                    file.write(line)
                    os.fsync(file.fileno())

        took, floor = in_turn(ours, by_hand, 3 if quick else 15, time.perf_counter)
    if floor / steps < 100e-6:  # a RAM disk; the ratio says nothing about a real one
        yield "journal", 0, 2, "syncs cost nothing here: set TMPDIR to a folder on a disk"
    else:
        yield row("journal", took, floor, 2, steps)


# -- on the wire --------------------------------------------------------------------------------


class TinyServer(BaseHTTPRequestHandler):
    """POST /N/...: calls, until a request holds N results; or 200 words, streamed."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b'"stream": true' in body or b'"stream":true' in body:
            kind, said = b"text/event-stream", [{"content": "word "}] * 200
            chunks = [self.choice("delta", delta) for delta in said]
            chunks += [self.choice("delta", {}, "stop"), b"[DONE]"]
            data = b"".join(b"data: %s\n\n" % chunk for chunk in chunks)
        else:
            done, message = body.count(b'"tool_call_id"'), {"role": "assistant", "content": ANSWER}
            if done < int(self.path.split("/")[1]):
                message = {"role": "assistant", "content": None, "tool_calls": [call_of(done)]}
            kind, data = b"application/json", self.choice("message", message, "stop")
        # In one piece: a head alone would wait for an acknowledgement.
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
        self.wfile.write(head % (kind, len(data)) + data)

    @staticmethod
    def choice(name, value, reason=None):
        choice = {"index": 0, name: value, "finish_reason": reason}
        return json.dumps({"id": "c", "choices": [choice]}).encode()

    def log_message(self, *words):
        """Say nothing on the terminal."""


def serve():
    """The server, in a process of its own so that its time is not ours; ends with its input."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), TinyServer)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


def wire(quick):
    line = [sys.executable, __file__, "--serve"]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield from wire_rows(quick, int(process.stdout.readline()))
    finally:
        process.communicate()  # closes its input, and waits


def wire_rows(quick, port):
    rounds, turns = (5, 60) if quick else (9, 200)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    tools, offered = (
        agentloop.registry([lookup_stock]),
        [{"type": "function", "function": FUNCTION}],
    )

    def chat(path, **options):
        url = "http://127.0.0.1:%d/%d/v1" % (port, path)
        return agentloop.OpenAIChat("m", base_url=url, api_key="k", **options)

    def post(path, body):
        head = {"Content-Type": "application/json", "Authorization": "Bearer k"}
        connection.request("POST", "/%d/v1/chat/completions" % path, body, head)
        return connection.getresponse()

    def first_body(**more):
        messages = [{"role": "user", "content": TASK}]
        return json.dumps(dict(more, model="m", messages=messages, tools=offered)).encode()

    model = chat(turns)

    def request():
        for _ in range(100):
            reply = model(agentloop.AgentRun(TASK), tools)
            assert (reply[0] if isinstance(reply, list) else reply).tool == "lookup_stock"

    def request_by_hand():
        for _ in range(100):
            reply = json.loads(post(turns, first_body()).read())["choices"][0]["message"]
            json.loads(reply["tool_calls"][0]["function"]["arguments"])

    ours, theirs = in_turn(request, request_by_hand, rounds)
    yield row("one request", ours, theirs, 2, 100, "us")

    words = []
    speaking = chat(0, on_text=words.append)

    def streamed():
        for _ in range(10):
            assert speaking(agentloop.AgentRun(TASK), tools).output == "word " * 200

    def streamed_by_hand():
        for _ in range(10):
            reply, rest, said = post(0, first_body(stream=True)), b"", []
            while reply.length:
                *lines, rest = (rest + reply.read1(65536)).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: ") and line != b"data: [DONE]":
                        delta = json.loads(line[6:])["choices"][0]["delta"]
                        said.append(delta.get("content") or "")
            reply.read()  # nothing more, but it lets go of the connection
            assert "".join(said) == "word " * 200

    ours, theirs = in_turn(streamed, streamed_by_hand, rounds)
    assert len(words) == 2000 * rounds
    yield row("a streamed chunk", ours, theirs, 1.8, 2000, "us")

    def read_page(sku: str, pieces: int = 1) -> str:
        return sku.ljust(2000, ".")

    page = agentloop.Tool(**FUNCTION, function=read_page)

    def conversation():
        run = agentloop.run(model, TASK, [page], max_requests=turns + 1)
        assert run.output == ANSWER and len(run.steps) == turns

    def conversation_by_hand():
        begin = json.dumps({"model": "m", "tools": offered, "messages": 0})[:-2]
        body = bytearray(
            begin.encode() + b"[" + json.dumps({"role": "user", "content": TASK}).encode()
        )
        while True:
            reply = json.loads(post(turns, body + b"]}").read())["choices"][0]["message"]
            if not reply.get("tool_calls"):
                break
            call = reply["tool_calls"][0]
            text = read_page(**json.loads(call["function"]["arguments"]))
            result = {"role": "tool", "tool_call_id": call["id"], "content": text}
            body += b", %s, %s" % (json.dumps(reply).encode(), json.dumps(result).encode())

    ours, theirs = in_turn(conversation, conversation_by_hand, 3 if quick else 7)
    yield row("a long conversation", ours, theirs, 2.5, turns, "us a turn")
    connection.close()


# -- other libraries, with a model that says the same -------------------------------------------


def peer_langchain(turns):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **options):
            return self

    def call(number):
        arguments = json.loads(arguments_of(number))
        return {"name": "lookup_stock", "args": arguments, "id": "call_%d" % number}

    said = [AIMessage("", tool_calls=[call(number)]) for number in range(turns)]
    agent = create_agent(Model(messages=iter(said + [AIMessage(ANSWER)])), [lookup_stock])

    def work():
        asked = {"messages": [("user", TASK)]}
        messages = agent.invoke(asked, {"recursion_limit": 3 * turns + 10})["messages"]
        assert messages[-1].content == ANSWER and len(messages) == 2 * turns + 2

    return work


def peer_pydantic_ai(turns):
    from pydantic_ai import Agent, messages, usage
    from pydantic_ai.models.function import FunctionModel

    number = iter(range(turns))

    def said(history, info):
        for n in number:
            part = messages.ToolCallPart("lookup_stock", arguments_of(n), "call_%d" % n)
            return messages.ModelResponse([part])
        return messages.ModelResponse([messages.TextPart(ANSWER)])

    agent = Agent(FunctionModel(said), tools=[lookup_stock])

    def work():
        result = agent.run_sync(TASK, usage_limits=usage.UsageLimits(request_limit=None))
        assert result.output == ANSWER and len(result.all_messages()) == 2 * turns + 2

    return work


def peer_agents(turns):
    import agents
    from openai.types import responses

    agents.set_tracing_disabled(True)
    number = iter(range(turns))

    class Model(agents.Model):
        async def get_response(self, *args, **options):
            for n in number:
                item = responses.ResponseFunctionToolCall(
                    name="lookup_stock",
                    arguments=arguments_of(n),
                    call_id="call_%d" % n,
                    type="function_call",
                )
                return agents.ModelResponse([item], agents.Usage(), None)
            text = responses.ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            item = responses.ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return agents.ModelResponse([item], agents.Usage(), None)

        def stream_response(self, *args, **options):
            raise NotImplementedError

    agent = agents.Agent("shop", model=Model(), tools=[agents.function_tool(lookup_stock)])

    def work():
        result = agents.Runner.run_sync(agent, TASK, max_turns=turns + 1)
        assert result.final_output == ANSWER and len(result.new_items) == 2 * turns + 1

    return work


def peer_smolagents(turns):
    from smolagents import Model, Tool, ToolCallingAgent, models

    class Lookup(Tool):
        name, description, output_type = "lookup_stock", FUNCTION["description"], "object"
        inputs = {
            "sku": {"type": "string", "description": "the article"},
            "pieces": {"type": "integer", "description": "how many", "nullable": True},
        }

        def forward(self, sku: str, pieces: int = 1):
            return lookup_stock(sku, pieces)

    number = iter(range(turns))

    class Scripted(Model):
        def generate(self, history, **options):
            name, arguments, n = "final_answer", {"answer": ANSWER}, turns
            for n in number:
                name, arguments = "lookup_stock", arguments_of(n)
                break
            function = models.ChatMessageToolCallFunction(arguments, name)
            call = models.ChatMessageToolCall(function, "call_%d" % n, "function")
            return models.ChatMessage("assistant", "", [call])

    agent = ToolCallingAgent([Lookup()], Scripted(), max_steps=turns + 1, verbosity_level=0)

    def work():
        assert agent.run(TASK) == ANSWER

    return work


def peers(quick):
    turns = 100
    ours, by_hand = in_turn(loop_of_ours(turns), loop_by_hand(turns), 20)
    yield row("agentloop", ours, by_hand, None, turns)
    for make in (peer_langchain, peer_pydantic_ai, peer_agents, peer_smolagents):
        name = make.__name__[len("peer_") :]
        try:
            make(2)()
        except ImportError:
            yield name, None, None, "not installed"
        except Exception as exc:  # another version, with other names
            yield name, None, None, repr(exc)[:60]
        else:
            took = min(seconds(make(turns)) for _ in range(3))
            yield name, took / by_hand, None, "%.0f us a step" % (took / turns * 1e6)


MEASURES = (overhead, growth, parallel, imports, memory, wire, journal, peers)


def verdict(measure, deadline):
    """Print the lines of --quick. What is over is measured again while there is time for it, since
    a burst of other work on the machine is no verdict."""
    for _ in range(3):
        rows = list(measure(True))
        if all(ratio <= most for _, ratio, most, _ in rows) or time.monotonic() > deadline:
            break
    for name, ratio, most, _ in rows:
        print("%s: %s %g" % (name, "within" if ratio <= most else "over", most), flush=True)


def table(measure):
    for name, ratio, most, note in measure(False):
        number = "" if ratio is None else "%.2f" % ratio
        bound = "" if most is None else "at most %g" % most
        over = "OVER" if most is not None and ratio > most else ""
        line = "%-22s %8s  %-12s %-4s %s" % (name, number, bound, over, note)
        print(line.rstrip(), flush=True)


def main():
    names = [measure.__name__ for measure in MEASURES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("only", nargs="*", help=" ".join(names))
    options = parser.parse_args()
    if options.serve:
        return serve()
    unknown = set(options.only) - set(names)
    if unknown:
        parser.error("no measure %s; there are: %s" % (", ".join(unknown), ", ".join(names)))
    deadline = time.monotonic() + 2
    for measure in MEASURES:
        if options.only and measure.__name__ not in options.only:
            continue
        if not options.quick:
            table(measure)
        elif measure is not peers:
            verdict(measure, deadline)


if __name__ == "__main__":
    main()
