"""Record the replies of a real server once, replay them for ever without a key.

    python3 record_replay.py                                            # a little server of its own
    python3 record_replay.py --model NAME --base-url URL --record talk.jsonl
    python3 record_replay.py --model NAME --replay talk.jsonl           # no server, no key

What one learns: `transport=` is the seam between a model object and the network, a plain function
`transport(method, url, headers, body, timeout) -> (status, headers, chunks)`. Wrapped around
`http_transport` it records; put in its place it replays. Since the bytes of a request follow from
the run alone, the same program asks for the same bytes again, and a recording can be looked up by
them. So a lesson, a test or a bug report needs no key and no network, and all between `run()` and
the socket is real: encoding, streaming, parsing.

A miss fails loudly. Whatever changes a request (a tool's docstring, the system text, an argument)
is not answered with something close: the error says where the nearest recording differs. That is
the point of it: a recording that answers anyway tests nothing.

A recording is a file of JSON lines to be read and kept beside the tests: body, status and reply.
Neither the headers of a request (the key is in there) nor the URL are in it. The contents are: look
through a recording before it is shared.

To change and try: the docstring of `lookup_stock`, then `--replay`; `on_text=print` for the model
(a streamed reply is recorded as it came).
"""

import argparse
import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

KEPT = ("content-type", "content-encoding", "retry-after")


class Recorder:
    """A transport that passes everything on and appends each request and its reply to a file."""

    def __init__(self, path, transport=agentloop.http_transport):
        self.path, self.transport = path, transport

    def __call__(self, method, url, headers, body, timeout):
        status, reply_headers, chunks = self.transport(method, url, headers, body, timeout)
        kept = {name: value for name, value in dict(reply_headers).items() if name.lower() in KEPT}
        return status, reply_headers, self.pass_on(chunks, body, status, kept)

    def pass_on(self, chunks, body, status, headers):
        came = []
        for chunk in chunks:
            came.append(chunk)
            yield chunk
        # Only a reply that came to its end is recorded. surrogateescape: any bytes survive.
        entry = {
            "request": body.decode("utf-8", "surrogateescape"),
            "status": status,
            "headers": headers,
            "reply": b"".join(came).decode("utf-8", "surrogateescape"),
        }
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class Replayer:
    """A transport that answers from a recording: the same bytes asked, the same bytes answered."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.entries = [json.loads(line) for line in file]
        self.asked = {}  # how often each request was asked: its replies are given in order

    def __call__(self, method, url, headers, body, timeout):
        text = body.decode("utf-8", "surrogateescape")
        found = [entry for entry in self.entries if entry["request"] == text]
        if not found:
            raise LookupError(self.miss(text))
        turn = self.asked[text] = self.asked.get(text, -1) + 1
        entry = found[min(turn, len(found) - 1)]
        reply = entry["reply"].encode("utf-8", "surrogateescape")
        return entry["status"], entry["headers"], iter([reply])

    def miss(self, text):
        """What to say of a request that was never recorded: where the nearest one differs."""
        near, same = "", 0
        for entry in self.entries:
            pairs = zip(entry["request"], text)
            shared = next((at for at, (a, b) in enumerate(pairs) if a != b), len(text))
            if shared >= same:
                near, same = entry["request"], shared
        words = (same, text[max(0, same - 20) : same + 40], near[max(0, same - 20) : same + 40])
        return "not recorded; from character %d on it differs: asked %r, recorded %r" % words


def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now; read-only."""
    return {"A1": 3}.get(sku, 0)


class TinyServer(BaseHTTPRequestHandler):
    """Stands in for a real server: one call, then an answer from what the tool returned."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = body["messages"][-1]
        message = {"role": "assistant", "content": "In stock: %s." % last["content"]}
        if last["role"] != "tool":
            function = {"name": "lookup_stock", "arguments": '{"sku": "A1"}'}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        data = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        """Say nothing on the terminal."""


def show(title, model, task="How many A1 can we sell?"):
    print(title)
    run = agentloop.run(model, task, [lookup_stock])
    print("   %s, requests: %d" % (run.output, run.requests))


def demo(path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), TinyServer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    url, key = "http://127.0.0.1:%d" % server.server_port, "sk-very-secret"
    recorder = Recorder(path)
    model = agentloop.OpenAIChat("tiny", base_url=url, api_key=key, transport=recorder)
    show("1. Recorded from a server", model)
    server.shutdown()
    server.server_close()
    text = Path(path).read_text("utf-8")
    print("   recordings: %d, the key in the file: %s" % (text.count("\n"), key in text))

    model = agentloop.OpenAIChat("tiny", base_url=url, api_key="", transport=Replayer(path))
    show("2. The server is gone, the recording answers", model)

    print("3. Another question is a miss, and fails loudly")
    try:
        agentloop.run(model, "How many B2 can we sell?", [lookup_stock])
    except LookupError as miss:
        print("   LookupError: %s" % miss)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--replay", metavar="FILE")
    options = parser.parse_args()
    if not options.model:
        with tempfile.TemporaryDirectory() as folder:
            return demo(str(Path(folder) / "talk.jsonl"))
    transport = agentloop.http_transport
    if options.record and not Path(options.record).parent.is_dir():
        parser.error(f"--record {options.record}: no file can be written there")
    if options.replay and not Path(options.replay).is_file():
        parser.error(f"--replay {options.replay}: there is no such file")
    if options.record:
        transport = Recorder(options.record)
    elif options.replay:
        transport = Replayer(options.replay)
    model = agentloop.OpenAIChat(
        options.model, base_url=options.base_url, max_tokens=1000, transport=transport
    )
    show("One question", model)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
