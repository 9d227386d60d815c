"""Does my server do tools? Five questions, each with the switch to set where the answer is no.

What you learn: "OpenAI-compatible" says little about tools. Ask the server that you have: is it
there, which models has it, does it call a tool, does it stream a call, and does it still know a
word from 6,000 tokens ago? (Many servers silently drop the beginning of a long conversation.)

    python3 check_server.py                   # two fake servers, one of them lacking
    python3 check_server.py --base-url http://127.0.0.1:8080/v1 [--model NAME]

The key is taken from OPENAI_API_KEY. Change and try: plant the word in the middle of the filler.
"""

import argparse
import http.server
import json
import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TOOLS_SWITCH = """llama.cpp: --jinja, and a chat template that knows tools
    vLLM: --enable-auto-tool-choice --tool-call-parser NAME
    Ollama, LM Studio: a model that is marked for tools; others ignore them"""
STREAM_SWITCH = "a newer server; some parse calls only where nothing is streamed: leave out on_text"
CONTEXT_SWITCH = """llama.cpp: -c 16384
    vLLM: --max-model-len 16384
    Ollama: OLLAMA_CONTEXT_LENGTH=16384 for `ollama serve` (its default drops the beginning)
    LM Studio: Context Length, when the model is loaded"""
FILLER = "The sun was warm and the sea was calm and all the boats went out. " * 400  # 6,000 tokens


def get_code(name: str) -> str:
    """Return the secret code of a person.

    Args:
        name: the person's first name.
    """
    return "code 7391"


def models_of(base_url):
    """The names that the server lists; raises OSError or ValueError where it cannot."""
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Authorization": "Bearer " + key} if key else {}
    url = base_url.replace("/chat/completions", "").rstrip("/")
    url += "/models" if url.endswith("/v1") or url.count("/") > 2 else "/v1/models"
    status, _, chunks = agentloop.http_transport("GET", url, headers, None, 30)
    answer = b"".join(chunks)
    if status != 200:
        raise ValueError(f"{url} answers {status}")
    return [entry["id"] for entry in json.loads(answer)["data"]]


def calls_tool(model):
    run = agentloop.run(model, "What is Ann's code? Use the tool.", [get_code], max_requests=3)
    return any(step.status == "ok" for step in run.steps) and "7391" in str(run.output)


def recalls(model):
    task = f"The word is marzipan. Remember it.\n\n{FILLER}\n\nWhat is the word? One word."
    run = agentloop.run(model, task, max_requests=1)
    counted = run.usage.get("input_tokens") or 6000  # some servers count nothing
    if counted < 5000:
        print(f"    (the server has read {counted} tokens only)")
    return "marzipan" in str(run.output).lower()


def check(base_url, name=None):
    """Ask the server at `base_url`, print what it can, and return the number of failures."""
    print("Server:", "a fake one" if name == "fake" else base_url)
    try:
        names = models_of(base_url)
    except (agentloop.ModelError, OSError, ValueError, LookupError, TypeError) as error:
        print(f"  reachable: NO ({error})\n    is it started, and are host, port and key right?")
        return 1
    print("  reachable: yes\n  models:", ", ".join(names[:8]) or "none listed")
    name = name or (names or ["default"])[0]
    pieces = []
    settings = {"base_url": base_url, "timeout": 120, "retries": 1, "max_tokens": 1000}
    plain = agentloop.OpenAIChat(name, **settings)
    streaming = agentloop.OpenAIChat(name, **settings, on_text=pieces.append)

    def ask(title, works, switch):
        try:
            good, why = works(), ""
        except agentloop.ModelError as error:
            good, why = False, f" ({error})"
        print(f"  {title}: {'yes' if good else 'NO' + why}")
        if not good:
            print("    " + switch)
        return bool(good)

    good = [ask("one tool call", lambda: calls_tool(plain), TOOLS_SWITCH)]
    if good[0]:  # a server that calls no tool streams none either
        good.append(
            ask("the same, streamed", lambda: calls_tool(streaming) and pieces, STREAM_SWITCH)
        )
    good.append(ask("a word 6,000 tokens back", lambda: recalls(plain), CONTEXT_SWITCH))
    return good.count(False)


class FakeServer(http.server.BaseHTTPRequestHandler):
    """Speaks just enough Chat Completions for the check; `lacking` leaves the switches off."""

    lacking = False

    def do_GET(self):
        self.send("application/json", json.dumps({"data": [{"id": "fake"}]}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages, said = body["messages"], json.dumps(body["messages"])
        said = said[-8000:] if self.lacking else said  # the beginning is dropped silently
        message, end = {"role": "assistant", "content": "No idea."}, "stop"
        if messages[-1]["role"] == "tool":
            message["content"] = "It is " + messages[-1]["content"]
        elif "marzipan" in said:
            message["content"] = "marzipan"
        elif body.get("tools") and not self.lacking:
            function = {"name": "get_code", "arguments": '{"name": "Ann"}'}
            call = {"index": 0, "id": "call_1", "type": "function", "function": function}
            message, end = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": end}
            usage = {"prompt_tokens": len(said) // 4, "completion_tokens": 5}
            reply = {"choices": [choice], "usage": usage}
            return self.send("application/json", json.dumps(reply))
        chunks = [{"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": end}]
        events = [json.dumps({"choices": [{"index": 0, **chunk}]}) for chunk in chunks]
        self.send("text/event-stream", "".join(f"data: {e}\n\n" for e in [*events, "[DONE]"]))

    def send(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    base_url = options.base_url or (options.model and os.environ.get("OPENAI_BASE_URL"))
    if options.model and not base_url:
        base_url = "https://api.openai.com/v1"
    if base_url:
        sys.exit(1 if check(base_url, options.model) else 0)
    for lacking in (False, True):
        handler = type("Handler", (FakeServer,), {"lacking": lacking})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        failures = check(f"http://127.0.0.1:{server.server_address[1]}/v1", "fake")
        print("  failures:", failures)
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
