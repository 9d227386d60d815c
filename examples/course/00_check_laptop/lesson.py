"""Is this laptop ready? Read what it prints from top to bottom, and fix each line with NO.

    python3 lesson.py
    python3 lesson.py --model NAME --base-url URL    asks a real server too, the teacher's say

Needs no network and no key. It is written so that an old Python can read it and say so.
"""

# ruff: noqa: UP031, UP036  an old Python has to get as far as the line that says it is too old
import sys

if sys.version_info < (3, 8):
    sys.exit(
        "NO   this is Python %d.%d, and the course needs 3.8 or newer. Install one; then type\n"
        "     python3 (on Windows: py) where you typed python." % sys.version_info[:2]
    )

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import threading  # noqa: E402
from http.server import BaseHTTPRequestHandler, HTTPServer  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]  # agentloop.py lies three folders up
sys.path.insert(0, str(ROOT))
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


class Server(BaseHTTPRequestHandler):
    """A model server on this machine: whatever it is asked, it says hello."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "hello"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing; the default would print each request."""


def python():
    return "Python %d.%d" % sys.version_info[:2]


def folder():
    try:
        import agentloop
    except ImportError:
        raise RuntimeError("agentloop.py is not in " + str(ROOT) + ": unpack the course whole")
    return "agentloop.py is where it should be, version " + agentloop.__version__


def writing():
    probe = Path(__file__).resolve().parent / "can_write.tmp"
    probe.write_text("x", encoding="utf-8")
    probe.unlink()
    return "this folder can be written to"


def console():
    try:
        "\u00e9 \u20ac \u65e5".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "console: some letters will look like \\u20ac; PYTHONUTF8=1 shows them"
    return "console: letters of every script"


def first_run():
    import agentloop

    # Most tools are just functions with types. This one has none, so that Python 2 can read it.
    def lookup_stock(sku):
        return {"A1": 3}[sku]

    schema = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
    tool = agentloop.Tool("lookup_stock", "How many can be sold.", schema, lookup_stock)
    model = agentloop.Scripted(
        [
            agentloop.AgentAction("lookup_stock", {"sku": "A1"}, "c17"),
            agentloop.AgentFinish("3 can be sold"),
        ]
    )
    run = agentloop.run(model, "How many A1 can we sell?", [tool])
    if [step.observation for step in run.steps] != [3]:
        raise RuntimeError("the run went wrong: %s" % run.steps)
    return "a run: %d requests, %d step, %s" % (run.requests, len(run.steps), run.state)


def server():
    import agentloop

    small = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=small.serve_forever, kwargs={"poll_interval": 0.05}).start()
    try:
        url = "http://127.0.0.1:%d/v1" % small.server_address[1]
        model = agentloop.OpenAIChat("small", base_url=url, api_key="none", retries=0, timeout=10)
        said = agentloop.run(model, "Say hello.").output
    finally:
        small.shutdown()
        small.server_close()
    return "server: one on this machine says " + str(said)


def key():
    found = [name for name in KEYS if os.environ.get(name)]
    if not found:
        return "key: none is set, and none is needed (lesson 04 can use one)"
    return "key: %s is set; do not show it to anybody" % " and ".join(found)


def real_server(options):
    import agentloop

    model = agentloop.OpenAIChat(options.model, base_url=options.base_url, timeout=60, retries=1)
    said = agentloop.run(model, "Say hello in one word.", max_requests=1)
    if said.output is not None:
        return "real server: it says " + str(said.output)[:60]
    step = said.steps[-1]
    if step.status == "unknown_tool":
        return "real server: it answers with a call of a tool, though none was offered"
    raise RuntimeError("real server: its reply cannot be used: " + str(step.observation)[:200])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    checks = [python, folder, writing, console, first_run, server, key]
    if options.model:
        checks.append(lambda: real_server(options))
    faults = 0
    for check in checks:
        try:
            print("ok   " + check())
        except Exception as error:
            faults += 1
            print("NO   %s" % error)
    print("ready: yes" if not faults else "ready: no, see each line that begins with NO")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
