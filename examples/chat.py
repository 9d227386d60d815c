"""A chat in the terminal: text and reasoning as they arrive, a sign of life, turns, a journal.

What you learn: a conversation is a chain of runs, `run.follow_up(line)`, kept in one journal: end
the program, start it again, and it goes on. `on_text` gets the answer's text as it arrives; the
reasoning, which is no part of the answer, is read off the wire by a look through `transport`. Dots
are shown while nothing arrives. Ctrl-C ends the answer, not the conversation.

    python3 chat.py  (a recorded stream stands in for the server, two lines for the person)
    python3 chat.py --model NAME --base-url http://127.0.0.1:8080/v1 --journal chat.jsonl

Change and try: your own TOOLS; Ctrl-C in the middle of an answer, then another question.
"""

import argparse
import itertools
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

DOT = 0.15  # seconds of silence for which a dot is shown


class Screen:
    """Prints what arrives, and dots while nothing does."""

    def wait(self):
        self.kind, self.arrived = "", threading.Event()
        self.dots = threading.Thread(target=self.print_dots, daemon=True)
        self.dots.start()

    def print_dots(self):
        while not self.arrived.wait(DOT):
            print(".", end="", flush=True)

    def stop_dots(self):
        self.arrived.set()
        self.dots.join()  # none may come between the pieces of a text

    def show(self, kind, text):
        """Print a piece of "reasoning", "answer" or "event"; a new line where the kind changes."""
        self.stop_dots()
        print(text if kind == self.kind else f"\n{kind}: {text}", end="", flush=True)
        self.kind = kind


def reasoning_in(line):
    """b'data: {"choices": [{"delta": {"reasoning_content": "Hm"}}]}' -> "Hm"; else ""."""
    try:
        delta = json.loads(line[len("data:") :])["choices"][0]["delta"]
        return delta.get("reasoning_content") or delta.get("reasoning") or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def look_through(transport, screen):
    """The same transport; what a stream of Chat Completions holds of reasoning is shown."""

    def pass_on(chunks):
        rest = b""
        for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for text in filter(None, map(reasoning_in, lines)):
                screen.show("reasoning", text)
            yield chunk

    def look(*request):
        status, headers, chunks = transport(*request)
        return status, headers, pass_on(chunks)

    return look


def chat(model, screen, lines, journal):
    """Go on with the conversation in the journal: one turn for each line."""
    run = agentloop.AgentRun.load(journal) if Path(journal).exists() else None
    for line in lines:
        run = run.follow_up(line) if run else agentloop.AgentRun(line)
        screen.wait()
        try:
            for event in agentloop.stream(model, run, [get_time], journal=journal):
                if isinstance(event, agentloop.AgentStep):
                    screen.show("event", f"{event}\n")
                    screen.wait()
            if run.state != "model_ended" or run.finish.reason != "stop":
                screen.show("event", run.finish or run.state)
        except (KeyboardInterrupt, agentloop.ModelError) as error:
            screen.show("event", str(error) or "interrupted")
        screen.stop_dots()
        print()


def get_time(city: str) -> str:
    """Return the time in a city."""
    return "14:05" if city == "Oslo" else "unknown"


CALL = {"name": "get_time", "arguments": '{"city": "Oslo"}'}
RECORDED = [  # what arrives, piece by piece, in three replies
    [{"reasoning_content": "I need "}, {"reasoning_content": "the time."}]
    + [{"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": CALL}]}],
    [{"content": "It is "}, {"content": "14:05 "}, {"content": "in Oslo."}],
    [{"reasoning_content": "Polite."}, {"content": "You are "}, {"content": "welcome."}],
]


def recorded(method, url, headers, body, timeout):
    """A transport without a server: streams the recorded reply that comes next."""
    replies = [each for each in json.loads(body)["messages"] if each["role"] == "assistant"]

    def chunks():
        for delta in RECORDED[len(replies)]:
            time.sleep(1.5 * DOT)
            yield b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    return 200, {"content-type": "text/event-stream"}, chunks()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--journal", default="chat.jsonl")
    options = parser.parse_args()
    screen = Screen()
    transport = agentloop.http_transport if options.model else recorded
    model = agentloop.OpenAIChat(
        options.model or "recorded",
        base_url=options.base_url,
        max_tokens=2000,
        on_text=lambda text: screen.show("answer", text),
        transport=look_through(transport, screen),
    )
    if options.model:
        return chat(model, screen, map(input, itertools.repeat("\nyou: ")), options.journal)
    with tempfile.TemporaryDirectory() as folder:
        for line in ["What time is it in Oslo?", "Thank you."]:  # a process for each
            print(f"\nyou: {line}", end=" ")
            chat(model, screen, [line], Path(folder) / "chat.jsonl")


if __name__ == "__main__":
    try:
        main()
    except (EOFError, KeyboardInterrupt):
        print()  # the person has ended the conversation
