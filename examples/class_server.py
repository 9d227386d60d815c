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
fails with a clear word. The model and the longest answer are the teacher's choice (`--model`,
`--max-tokens`), whatever the pupils write.

A server in a room full of curious people trusts nothing that arrives: a body needs a length, and
not a huge one; what is no chat request is refused before anybody pays for it; a connection that
breaks is no news; and what a pupil calls himself is shown with its control characters escaped.

It listens on this machine alone, until you give it your laptop's address in the room's network
(`--host`). Then everybody in that network can spend the budgets, so names that nobody guesses are
demanded (`--names anna-7f,ben-2c`). Stop the server after class.

To change and try: count tokens (`usage` in the reply) in place of requests; a slower upstream.
"""

import argparse
import collections
import json
import os
import re
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
LONGEST_BODY = 10_000_000  # bytes; a conversation with pictures has its place, a film has none
MOST_NAMES = 500  # where any name will do


class Handler(BaseHTTPRequestHandler):
    """One connection. What the server's `answer(name, body)` gives goes out as it comes."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds of silence from a pupil's computer

    def do_POST(self):
        length, fault = self.body_length()
        if fault:
            self.close_connection = True  # where the next request begins is not known
            self.send(*fault)
            return self.pass_over()
        body = self.rfile.read(length)
        if len(body) < length:  # the pupil has gone
            self.close_connection = True
            return None
        given = self.headers.get("Authorization", "Bearer nobody").split(" ", 1)[-1]
        return self.send(*self.server.answer(printable(given), body))

    def body_length(self):
        """(bytes, None), or (0, the answer that refuses): a length is one plain number."""
        lengths = self.headers.get_all("Content-Length") or []
        if not lengths or self.headers.get("Transfer-Encoding"):
            return 0, refusal(411, "a request needs a Content-Length")
        if len(lengths) > 1 or not re.fullmatch("[0-9]+", lengths[0]):
            return 0, refusal(400, "Content-Length is one number")
        if len(lengths[0]) > 12 or int(lengths[0]) > LONGEST_BODY:
            return 0, refusal(413, "a request has at most %d bytes here" % LONGEST_BODY)
        return int(lengths[0]), None

    def pass_over(self):
        """Read what is still on its way: closing at once would destroy the answer, too."""
        self.connection.settimeout(1)
        try:
            for _ in range(LONGEST_BODY // 65536):
                if not self.rfile.read1(65536):
                    break
        except FAILURES:
            pass

    def send(self, status, headers, chunks):
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


class Server(ThreadingHTTPServer):
    """A thread for each connection; a connection that breaks is no news on the teacher's screen."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, FAILURES):
            words = printable("%s: %s" % (type(error).__name__, error), 200)
            print("a request could not be answered: %s" % words, file=sys.stderr)


class ClassServer(Server):
    """Answers from the recording, else asks upstream, on the name's budget."""

    max_tokens = 2000  # of one answer

    def __init__(self, address, replies, budget=30, names=(), upstream=None, key=None, model=None):
        super().__init__(address, Handler)
        self.replies, self.budget, self.names = Path(replies), budget, names
        self.upstream, self.key, self.model = upstream, key, model
        self.paid, self.free = collections.Counter(), collections.Counter()
        self.lock, self.recorded = threading.Lock(), {}
        lines = self.replies.read_text("utf-8").splitlines() if self.replies.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                self.recorded[entry["request"]] = entry
            except (ValueError, TypeError, KeyError):  # the end of a day on which a battery died
                print("%s, line %d: not readable, left out" % (replies, number), file=sys.stderr)

    def request_of(self, body):
        """The request that goes upstream, as text. ValueError for what is no chat request."""
        asked = json.loads(body)
        if not isinstance(asked, dict) or not isinstance(asked.get("messages"), list):
            raise ValueError("a chat request is wanted")
        asked["model"] = self.model or asked.get("model")
        if not isinstance(asked["model"], str):
            raise ValueError("a chat request names its model")
        kind = "max_completion_tokens" if "max_completion_tokens" in asked else "max_tokens"
        wanted = asked.get(kind)
        if type(wanted) is not int or not 0 < wanted <= self.max_tokens:
            asked[kind] = self.max_tokens
        asked.pop("n", None)  # several answers would be paid for, and one is read
        text = json.dumps(asked, ensure_ascii=False)
        text.encode("utf-8")  # a lone surrogate is a ValueError
        return text

    def answer(self, name, body):
        """(status, headers, chunks) for a pupil's request."""
        try:
            text = self.request_of(body)
        except ValueError as error:
            return refusal(400, "the request cannot be read: %s" % error)
        except RecursionError:
            return refusal(400, "the request cannot be read: nested too deeply")
        with self.lock:
            if self.names and name not in self.names:
                return refusal(401, "there is no pupil %s: use your name as the key" % name)
            if len(set(self.paid) | set(self.free) | {name}) > MOST_NAMES:
                return refusal(403, "there are %d names already" % MOST_NAMES)
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
            name: b"".join(self.without_key([value.encode()])).decode()
            for name, value in dict(headers).items()
            if name.lower() in ("content-type", "retry-after")
        }
        if status == 200:
            return status, headers, self.recording(text, headers, chunks)
        with self.lock:
            self.paid[name] -= 1  # what failed is not the pupil's
        return status, headers, self.beginning(chunks)

    def beginning(self, chunks):
        """The beginning of an error."""
        said = b""
        try:
            for chunk in self.without_key(chunks):
                said += chunk
                if len(said) > 65536:
                    break
        except FAILURES:
            pass
        return [said]

    def without_key(self, chunks):
        """The chunks as they come, without the key: some providers repeat it in an error, also in
        one with status 200."""
        key, rest = (self.key or "").encode(), b""
        for chunk in chunks:
            rest += chunk
            if key:
                rest = rest.replace(key, b"[the key]")
            begun = max((n for n in range(len(key)) if rest.endswith(key[:n])), default=0)
            yield rest[: len(rest) - begun]
            rest = rest[len(rest) - begun :]
        yield rest

    def recording(self, text, headers, chunks):
        """Pass the chunks on as they come, and keep the reply once it is whole."""
        came = []
        for chunk in self.without_key(chunks):
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


def printable(text, most=40):
    """One line that does no harm on a screen: "anna\\x1b[2J" for a name that would clear it."""
    try:
        text = text.encode("latin-1").decode("utf-8")  # headers arrive as Latin-1
    except UnicodeError:
        pass
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[:most]
    )


# -- the demonstration --------------------------------------------------------------------------


class Provider(Server):
    """Stands in for the provider that is paid: one call, then an answer."""

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
    url = "http://127.0.0.1:%d" % port
    model = agentloop.OpenAIChat("any", base_url=url, api_key=name, max_tokens=500)
    try:
        print("   %s: %s" % (name, agentloop.run(model, task, [lookup_stock]).output))
    except agentloop.ModelError as exc:
        print("   %s is stopped, and reads why: %s" % (name, "has used all of 4" in str(exc)))


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
    print("4. What is no request costs nothing and gets a plain answer")
    paid = sum(room.paid.values())
    for what, body in [("a list", b"[]"), ("nested too deeply", b"[" * 100_000)]:
        url = "http://127.0.0.1:%d/v1/chat/completions" % port
        status, _, chunks = agentloop.http_transport("POST", url, {}, body, 10)
        print("   %s: %d %s" % (what, status, b"".join(chunks).decode()))
    print("   paid for that: %d" % (sum(room.paid.values()) - paid))
    stop(room)
    stop(provider)
    print("5. Another day: the recording alone, no key, no provider")
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
    parser.add_argument("--max-tokens", type=int, default=2000, help="of one answer, at most")
    options = parser.parse_args()
    if options.serve is None:
        with tempfile.TemporaryDirectory() as folder:
            return demo(os.path.join(folder, "lesson.jsonl"))
    key, names = os.environ.get("OPENAI_API_KEY"), [n for n in options.names.split(",") if n]
    url = options.base_url.rstrip("/") + "/chat/completions" if key else None
    address = (options.host, options.serve)
    if not names and options.host not in ("127.0.0.1", "localhost"):
        parser.error("a server that others can reach needs --names, one that nobody guesses each")
    try:
        room = ClassServer(address, options.replies, options.budget, names, url, key, options.model)
    except (OSError, OverflowError) as error:
        sys.exit("cannot serve at %s port %d: %s" % (*address, error))
    room.max_tokens = options.max_tokens
    print("For the pupils: base_url http://%s:%d, the name as api_key" % address, flush=True)
    try:
        room.serve_forever()
    except KeyboardInterrupt:
        print("\n".join(room.table()))


if __name__ == "__main__":
    main()
