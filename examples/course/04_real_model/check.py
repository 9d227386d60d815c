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
    """Answers with the replies in turn, and with 401 when there are none left."""

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.bodies = list(replies), []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.daemon = True
        thread.start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        refusal = {"error": {"message": "this key is not known here"}}
        status, reply = (200, self.server.replies.pop(0)) if self.server.replies else (401, refusal)
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Say nothing; the default would print each request."""


def check(exercise):
    replies = json.loads(RECORDED.read_text(encoding="utf-8"))
    server = Server(replies)
    model = exercise.make_model(server.url)
    need(isinstance(model, agentloop.OpenAIChat), f"make_model() gave a {type(model).__name__}.")
    answer, tokens = exercise.ask(model, "What is the weather in Paris?")
    need(server.bodies, "nothing came to the server at base_url. Is it handed to OpenAIChat?")

    first = server.bodies[0]
    need(first["model"] == "tiny", f"the server was asked for the model {first['model']!r}.")
    roles = [message["role"] for message in first["messages"]]
    need(roles[0] == "system", f"there is no system text; the messages are from {roles}.")
    need("temperature" in first, "the body has no temperature. OpenAIChat(..., temperature=0)")
    need(first["temperature"] == 0, f"the temperature is {first['temperature']}, not 0.")
    need(first.get("tools"), "the request offers no tools: keep get_weather in ask().")

    said = replies[-1]["choices"][0]["message"]["content"]
    need(answer == said, f"the model said {said!r}, and ask() gave {answer!r}.")
    cost = sum(r["usage"]["prompt_tokens"] + r["usage"]["completion_tokens"] for r in replies)
    need(tokens == cost, f"the two requests took {cost} tokens; ask() gave {tokens}.")

    try:  # the server has no reply left and says 401
        answer, tokens = exercise.ask(model, "And in Rome?")
    except agentloop.ModelError as error:
        raise NotYet(f"the server refused, and ask() raised: {error.kind}. Catch ModelError.")
    need(answer == "no answer: auth", f"the server refused the key; ask() gave {answer!r}.")
    need(tokens == 0, f"a refused request costs nothing; ask() gave {tokens}.")
    return f"a system text, a bill of {cost} tokens, and no crash when the server refuses."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
