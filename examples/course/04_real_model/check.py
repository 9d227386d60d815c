"""A small server on this machine plays the recorded replies to your model and reads what it sends.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import NotYet, need  # noqa: E402

import agentloop  # noqa: E402

RECORDED = Path(__file__).resolve().parent / "replies.json"


class Server(HTTPServer):
    """Answers with the replies in turn, and with 401 when there are none left.

    What came is in `requests`: dicts with method, path, type, agent and the body's bytes.
    """

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.requests = list(replies), []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.daemon = True
        thread.start()

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()

    def bodies(self):
        return [json.loads(request["body"].decode("utf-8")) for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = {
            "method": self.command,
            "path": self.path,
            "type": self.headers.get("Content-Type", ""),
            "agent": self.headers.get("User-Agent", ""),
            "body": self.rfile.read(int(self.headers.get("Content-Length") or 0)),
        }
        self.server.requests.append(request)
        if self.command != "POST" or self.path != "/v1/chat/completions":
            self.answer(404, {"error": {"message": "there is nothing here"}})
        elif self.server.replies:
            self.answer(200, self.server.replies.pop(0))
        else:
            self.answer(401, {"error": {"message": "this key is not known here"}})

    do_GET = do_PUT = do_POST

    def answer(self, status, reply):
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Say nothing; the default would print each request."""


def by_hand(exercise, reply):
    """Part 1: one request of chat(), looked at as a server does."""
    messages = [{"role": "user", "content": "Say hello, \u00e9t\u00e9."}]
    error = text = None
    with Server([reply]) as server:
        try:
            text = exercise.chat(server.url, messages)
        except Exception as caught:
            error = caught
    if error is not None and not server.requests:
        raise error  # it did not get as far as the server
    need(server.requests, "chat() has sent nothing to base_url yet.")
    request = server.requests[0]
    method = request["method"]
    need(method == "POST", f"the server got a {method}. With bytes for the body it is a POST.")
    path = request["path"]
    need(
        path == "/v1/chat/completions",
        f"chat() asked for {path}; it is base_url and /chat/completions.",
    )
    agent = "agentloop" not in request["agent"].lower()
    need(agent, "chat() went through agentloop: write this one request by hand.")
    try:
        body = json.loads(request["body"].decode("utf-8"))
    except ValueError:
        raise NotYet(f"the body is no JSON: {request['body'][:60]}. Is json.dumps() there?")
    need(isinstance(body, dict), f"the body should be an object, with model and messages: {body}")
    need(body.get("model") == "tiny", f"the body's model is {body.get('model')!r}, not 'tiny'.")
    sent = body.get("messages")
    need(sent == messages, f"the body's messages should be those given to chat(), not {sent}.")
    kind = request["type"]
    need("json" in kind, f"the header Content-Type says {kind!r}; a server wants application/json.")
    if error is not None:
        raise error
    said = reply["choices"][0]["message"]["content"]
    need(text is not None, "chat() returned None: does it lack its `return`?")
    need(text == said, f"the reply's text is {said!r}; chat() gave {text!r}.")


def answer_of(exercise, model, question):
    """What ask() gave: the answer and the tokens."""
    result = exercise.ask(model, question)
    pair = isinstance(result, tuple) and len(result) == 2
    need(pair, f"ask() should return the answer and the tokens; it gave {result!r}.")
    return result


def check(exercise):
    replies = json.loads(RECORDED.read_text(encoding="utf-8"))
    by_hand(exercise, replies[-1])
    with Server(replies) as server:
        return by_agentloop(exercise, replies, server)


def by_agentloop(exercise, replies, server):
    """Parts 2 and 3: the model, its bill, and a refusal."""
    model = exercise.make_model(server.url)
    need(model is not None, "make_model() returned None: does it lack its `return`?")
    kind = type(model).__name__
    chat = isinstance(model, agentloop.OpenAIChat)
    need(chat, f"chat() is right. Now make_model(): it gave a {kind}, not an OpenAIChat.")
    try:
        answer, tokens = answer_of(exercise, model, "What is the weather in Paris?")
    except agentloop.ModelError as error:
        raise NotYet(f"the model got no reply ({error.kind}). Is base_url=base_url there? {error}")
    need(server.requests, "nothing came to the server at base_url. Is it handed to OpenAIChat?")

    first = server.bodies()[0]
    need(first["model"] == "tiny", f"the server was asked for the model {first['model']!r}.")
    roles = [message["role"] for message in first["messages"]]
    need(roles[0] == "system", f"there is no system text; the messages are from {roles}.")
    need("temperature" in first, "the body has no temperature. OpenAIChat(..., temperature=0)")
    need(first["temperature"] == 0, f"the temperature is {first['temperature']!r}; 0 is a number.")
    need(first.get("tools"), "the request offers no tools: keep get_weather in ask().")

    said = replies[-1]["choices"][0]["message"]["content"]
    need(answer == said, f"the model said {said!r}, and ask() gave {answer!r}.")
    cost = sum(r["usage"]["prompt_tokens"] + r["usage"]["completion_tokens"] for r in replies)
    cached = sum(r["usage"]["prompt_tokens_details"]["cached_tokens"] for r in replies)
    need(tokens != cost + cached, "the cached tokens are a part of the input: do not add them.")
    need(
        tokens == cost,
        f"make_model() is right. Now ask(): the two requests took {cost} tokens; it gave {tokens}.",
    )

    try:  # the server has no reply left and says 401
        answer, tokens = answer_of(exercise, model, "And in Rome?")
    except agentloop.ModelError as error:
        raise NotYet(f"the server refused, and ask() raised: {error.kind}. Catch ModelError.")
    need(answer == "no answer: auth", f"the server refused the key; ask() gave {answer!r}.")
    need(tokens == 0, f"a refused request costs nothing; ask() gave {tokens}.")
    return f"a request by hand, a bill of {cost} tokens, and no crash when the server refuses."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
