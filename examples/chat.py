"""A chat in the terminal: text and reasoning as they arrive, a sign of life, turns, a journal.

What you learn: a conversation is a chain of runs, `run.follow_up(line)`, kept in one journal: end
the program, start it again, and it goes on. `on_text` gets the answer's text as it arrives; the
reasoning, which is no part of the answer, is read off the wire. Ctrl-C ends the answer alone.

    python3 chat.py     (a recorded stream stands in for the server, two lines for the person)
    python3 chat.py --model NAME --base-url http://127.0.0.1:8080/v1 --journal chat.jsonl

Change and try: tools of your own; Ctrl-C in the middle of an answer, and then another question.
"""

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


class Screen:
    """Prints what arrives, and dots while nothing does."""

    def wait(self):
        self.kind, self.rest = "", b""
        self.arrived = threading.Event()
        self.dots = threading.Thread(target=self.print_dots, daemon=True)
        self.dots.start()

    def print_dots(self):
        while not self.arrived.wait(0.15):  # seconds
            print(".", end="", flush=True)

    def show(self, kind, text):
        """Print a piece of "reasoning", "answer" or "event"; a new line where the kind changes."""
        self.arrived.set()
        self.dots.join()  # no dot may come between the pieces of a text
        print(text if kind == self.kind else f"\n{kind}: {text}", end="", flush=True)
        self.kind = kind

    def spot_reasoning(self, chunk):
        """Show the reasoning in a piece of a stream of Chat Completions, and return the piece."""
        lines, _, self.rest = (self.rest + chunk).rpartition(b"\n")
        for text in re.findall(rb'"reasoning(?:_content)?": *("(?:[^"\\]|\\.)+")', lines):
            self.show("reasoning", json.loads(text))  # servers use either name; the text is JSON
        return chunk


def take_turn(model, screen, line, journal):
    """Go on with the conversation in the journal, by one turn."""
    screen.wait()
    try:
        run = agentloop.AgentRun(line)
        if Path(journal).exists():
            run = agentloop.AgentRun.load(journal).follow_up(line)
        for event in agentloop.stream(model, run, [get_time], journal=journal):
            if isinstance(event, agentloop.AgentStep):
                screen.show("event", f"{event}\n")
                screen.wait()
        if run.state != "model_ended" or run.finish.reason != "stop":
            screen.show("event", run.finish or run.state)
    except (KeyboardInterrupt, OSError, ValueError, agentloop.ModelError) as error:
        screen.show("event", str(error) or "interrupted")
    screen.show(screen.kind, "\n")


def get_time(city: str) -> str:
    """Return the time in a city."""
    return "14:05" if city == "Oslo" else "unknown"


CALL = {"index": 0, "function": {"name": "get_time", "arguments": '{"city": "Oslo"}'}}
RECORDED = [  # what arrives, piece by piece, in three replies
    [{"reasoning": "I need "}, {"reasoning": "the time."}, {"tool_calls": [CALL]}],
    [{"content": "It is "}, {"content": "14:05 "}, {"content": "in Oslo."}],
    [{"reasoning": "Polite."}, {"content": "You are "}, {"content": "welcome."}],
]


def recorded(method, url, headers, body, timeout):
    """A transport without a server: streams the recorded reply that comes next."""
    time.sleep(0.5)
    deltas = RECORDED[body.count(b'"role": "assistant"')]
    events = [json.dumps({"choices": [{"delta": delta}]}) for delta in deltas] + ["[DONE]"]
    return 200, {"content-type": "text/event-stream"}, [f"data: {e}\n\n".encode() for e in events]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--model", "--base-url", "--journal"):
        parser.add_argument(name)
    options = parser.parse_args()
    screen = Screen()

    def transport(*request):
        send = agentloop.http_transport if options.model else recorded
        status, headers, chunks = send(*request)
        return status, headers, map(screen.spot_reasoning, chunks)

    settings = {"base_url": options.base_url, "max_tokens": 2000, "transport": transport}
    settings["on_text"] = lambda text: screen.show("answer", text)
    model = agentloop.OpenAIChat(options.model or "recorded", **settings)
    while options.model:
        take_turn(model, screen, input("\nyou: "), options.journal or "chat.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        for line in ["What time is it in Oslo?", "Thank you."]:
            print(f"\nyou: {line}", end=" ")
            take_turn(model, screen, line, Path(folder) / "chat.jsonl")


if __name__ == "__main__":
    try:
        main()
    except (EOFError, KeyboardInterrupt):
        print()  # the person has ended the conversation
