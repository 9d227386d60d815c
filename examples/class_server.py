"""One key for a whole room: a server on the teacher's laptop, with a budget for each head.

    python3 class_server.py                                  # shows it, with pupils of its own
    OPENAI_API_KEY=... python3 class_server.py --serve 8700 --model NAME --base-url URL
    python3 class_server.py --serve 8700 --replies lesson.jsonl          # recorded replies, no key

What one learns: one request is one POST, so what stands between a class and a provider is a small
server. The key stays on the teacher's laptop; a pupil's `api_key` is only a name to count by:

    model = agentloop.OpenAIChat("any", base_url="http://127.0.0.1:8700", api_key="anna")

Each head has a budget of requests, so that one endless loop does not eat up the room's money. What
was asked before, byte for byte, is answered from the recording and costs nothing: in a class
everybody runs the same lesson. Without a key there is only the recording, and what is not in it
fails with a clear word. The model is the teacher's choice (`--model`), whatever the pupils write.

It listens on this machine alone, until you give it your laptop's address in the room's network
(`--host`). Then everybody in that network can spend the budgets: hand out names that nobody
guesses (`--names anna-7f,ben-2c`), and stop the server after class.

To change and try: count tokens (`usage` in the reply) in place of requests; a slower upstream.
"""

import argparse
import collections
import json
import os
import sys
import tempfile
import threading
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

JSON = {"Content-Type": "application/json"}
FAILURES = (OSError, HTTPException)  # what a broken connection raises


class Handler(BaseHTTPRequestHandler):
    """One connection. What the server's `answer(name, body)` gives goes out as it comes."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.headers.get("Authorization", "Bearer nobody").split(" ", 1)[-1]
        status, headers, chunks = self.server.answer(name, body)
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in chunks:
                if chunk:  # an empty one would say that this is all
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
        except FAILURES:
            self.close_connection = True  # the pupil must see that the reply was cut

    def log_message(self, *words):
        """Not a line for each request: the table says it all."""


class ClassServer(ThreadingHTTPServer):
    """Answers from the recording, else asks upstream, on the name's budget."""

    daemon_threads = True

    def __init__(self, address, replies, budget=30, names=(), upstream=None, key=None, model=None):
        super().__init__(address, Handler)
        self.replies, self.budget, self.names = Path(replies), budget, names
        self.upstream, self.key, self.model = upstream, key, model
        self.paid, self.free = collections.Counter(), collections.Counter()
        self.lock, self.recorded = threading.Lock(), {}
        if self.replies.exists():
            for line in self.replies.read_text("utf-8").splitlines():
                entry = json.loads(line)
                self.recorded[entry["request"]] = entry

    def answer(self, name, body):
        """(status, headers, chunks) for a pupil's request."""
        try:
            asked = json.loads(body)
            asked["model"] = self.model or asked["model"]
        except (ValueError, TypeError, KeyError):
            return refusal(400, "a chat request is wanted")
        text = json.dumps(asked, ensure_ascii=False)
        with self.lock:
            if self.names and name not in self.names:
                return refusal(401, "there is no pupil %r: use your name as the key" % name)
            if text in self.recorded:
                self.free[name] += 1
                entry = self.recorded[text]
                return entry["status"], entry["headers"], [entry["reply"].encode()]
            if not self.upstream:
                return refusal(404, "this was not recorded, and there is no key to ask with")
            if self.paid[name] >= self.budget:
                # 402, not 429: waiting does not help, so no client should ask again.
                return refusal(402, "%s has used all of %d requests" % (name, self.budget))
            self.paid[name] += 1  # before it is spent, so that two at once cannot share one
        headers = dict(JSON, Authorization="Bearer %s" % self.key)
        try:
            status, headers, chunks = agentloop.http_transport(
                "POST", self.upstream, headers, text.encode(), 600
            )
        except FAILURES as exc:
            status, headers, chunks = refusal(502, "the provider: %s" % exc)
        headers = {
            k: v for k, v in dict(headers).items() if k.lower() in ("content-type", "retry-after")
        }
        if status == 200:
            return status, headers, self.recording(text, headers, chunks)
        with self.lock:
            self.paid[name] -= 1  # what failed is not the pupil's
        return status, headers, chunks

    def recording(self, text, headers, chunks):
        """Pass the chunks on as they come, and keep the reply once it is whole."""
        came = []
        for chunk in chunks:
            came.append(chunk)
            yield chunk
        reply = b"".join(came).decode("utf-8", "replace")
        entry = {"request": text, "status": 200, "headers": headers, "reply": reply}
        with self.lock, self.replies.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            self.recorded[text] = entry

    def table(self):
        """Who used what, a line for each name."""
        for name in sorted(set(self.paid) | set(self.free)):
            paid = "%d of %d paid" % (self.paid[name], self.budget)
            yield "%-8s %s, %d from the recording" % (name, paid, self.free[name])


def refusal(status, message):
    return status, JSON, [json.dumps({"error": {"message": message}}).encode()]


# -- the demonstration --------------------------------------------------------------------------


class Provider(ThreadingHTTPServer):
    """Stands in for the provider that is paid: one call, then an answer."""

    daemon_threads = True
    seen = []

    def answer(self, key, body):
        asked = json.loads(body)
        self.seen.append((key, asked["model"]))
        last = asked["messages"][-1]
        message = {"role": "assistant", "content": "In stock: %s." % last["content"]}
        if last["role"] != "tool":
            function = {"name": "lookup_stock", "arguments": '{"sku": "A1"}'}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, JSON, [json.dumps({"choices": [choice]}).encode()]


def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now; read-only."""
    return {"A1": 3}.get(sku, 0)


def pupil(name, port, task="How many A1 can we sell?"):
    """A pupil's program: one line differs from a program with a key of its own."""
    model = agentloop.OpenAIChat("any", base_url="http://127.0.0.1:%d" % port, api_key=name)
    try:
        print("   %s: %s" % (name, agentloop.run(model, task, [lookup_stock]).output))
    except agentloop.ModelError as exc:
        print("   %s is stopped, and told why: %s" % (name, "has used all of 4" in str(exc)))


def start(server):
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server.server_port


def stop(server):
    server.shutdown()
    server.server_close()


def demo(replies):
    address = ("127.0.0.1", 0)
    provider = Provider(address, Handler)
    url = "http://127.0.0.1:%d/v1/chat/completions" % start(provider)
    room = ClassServer(address, replies, 4, (), url, "sk-of-the-teacher", "small")
    port = start(room)
    print("1. Anna runs the lesson, then Ben runs the same one")
    pupil("anna", port)
    pupil("ben", port)
    print("   requests that were paid: %d" % len(Provider.seen))
    print("2. Anna asks more, until her budget is used up; Ben's is not")
    pupil("anna", port, "And in the other warehouse?")
    pupil("anna", port, "And in the third?")
    pupil("ben", port, "And in the fourth?")
    print("3. The teacher's table")
    for line in room.table():
        print("   %s" % line)
    print("   what the provider saw: %s" % ", ".join(sorted(set(sum(Provider.seen, ())))))
    stop(room)
    stop(provider)
    print("4. Another day: the recording alone, no key, no provider")
    room = ClassServer(address, replies, model="small")
    pupil("carl", start(room))
    stop(room)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="the model that everybody gets")
    parser.add_argument("--base-url", default="https://api.openai.com/v1", help="the provider's")
    parser.add_argument("--serve", type=int, metavar="PORT", help="without it: the demonstration")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--replies", default="lesson.jsonl", metavar="FILE")
    parser.add_argument("--budget", type=int, default=30, help="requests for each name")
    parser.add_argument("--names", default="", help="with commas; without it any name will do")
    options = parser.parse_args()
    if options.serve is None:
        with tempfile.TemporaryDirectory() as folder:
            return demo(os.path.join(folder, "lesson.jsonl"))
    key, names = os.environ.get("OPENAI_API_KEY"), [n for n in options.names.split(",") if n]
    url = options.base_url.rstrip("/") + "/chat/completions" if key else None
    address = (options.host, options.serve)
    room = ClassServer(address, options.replies, options.budget, names, url, key, options.model)
    print("For the pupils: base_url http://%s:%d, the name as api_key" % address, flush=True)
    try:
        room.serve_forever()
    except KeyboardInterrupt:
        print("\n".join(room.table()))


if __name__ == "__main__":
    main()
