"""A long run in a short context: what is sent gets shorter, what is kept does not.

What you learn: `trim` decides what of the steps an adapter sends; the run keeps them all. A number
sends the last N replies; a function gets the list of steps and returns those to send, also copies
with a shorter result. A call never goes out without its result, nor a result without its call.

    a window        the last replies, or as many as fit: what is older is gone
    masking         old results are cut short, the calls stay: the model sees what it has done
    compaction      a model sums the old steps up; the summary is sent as the first one's result

The price of each: what is sent is no longer a continuation of what was sent, so that the provider's
cache misses. So shorten late and in jumps, as `masked` and `Compaction` do.

    python3 trim_context.py
    python3 trim_context.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: a window that keeps every step that failed; JUMP = 1; another text in SUM_UP.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "Read pages 1 to 12, one call for each, and tell me the longest."
SUM_UP = "Sum up what these calls have shown, for yourself. Keep every name and number.\n\n"
KEPT = 3  # the last steps, which stay as they are
JUMP = 4  # so many steps are shortened at a time


def read_page(number: int) -> str:
    """Return a page's text; pages begin at 1."""
    return f"This is page {number}. " + "Words and words. " * (number * 5 % 37)


def tokens(steps):
    """Roughly: about four letters make a token."""
    return sum(len(str(step.observation)) // 4 + 20 for step in steps)


def last_tokens(limit):
    """A window with as many of the last steps as fit in `limit` tokens."""

    def window(steps):
        first = len(steps) - 1
        while first > 0 and tokens(steps[first - 1 :]) <= limit:
            first -= 1
        return steps[first:]

    return window


def masked(steps):
    """All steps; results that are old and long are cut short."""
    old = max(0, len(steps) - KEPT) // JUMP * JUMP
    short = []
    for step in steps[:old]:
        text = str(step.observation)
        if len(text) > 100:
            text = f"{text[:40]} (shortened; call it again to read it all)"
        short.append(dataclasses.replace(step, observation=text))
    return short + steps[old:]


class Compaction:
    """A trim for one long turn: whenever the steps exceed `limit` tokens, the old ones are summed up.

    To be updated between the events of the run, since summing up takes a request of its budget.
    """

    def __init__(self, limit):
        self.limit = limit
        self.upto = 0  # requests whose calls the summary covers
        self.summary = ""

    def __call__(self, steps):
        old = [step for step in steps if step.action.request <= self.upto]
        if not old:
            return steps
        first = dataclasses.replace(old[0], observation=f"(a summary so far) {self.summary}")
        return [first] + steps[len(old) :]

    def update(self, model, run):
        if run.pending or tokens(self(run.steps)) <= self.limit or run.requests - KEPT <= self.upto:
            return
        upto = run.requests - KEPT
        old = self([step for step in run.steps if step.action.request <= upto])
        results = "\n".join(f"{step.action}: {step.observation}" for step in old)
        turn = agentloop.run(model, SUM_UP + results, max_requests=1)
        run.requests += turn.requests
        for kind, count in turn.usage.items():
            run.usage[kind] = run.usage.get(kind, 0) + count
        if turn.output:
            self.upto, self.summary = upto, turn.output


def page_asked_for(arguments):
    """The text {"number": 7} -> 7; "?" where the model wrote something else."""
    try:
        return json.loads(arguments)["number"]
    except (ValueError, LookupError, TypeError):
        return "?"


def look(messages):
    """Say how long it is, whether each call has its result, and which pages were asked for."""
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    paired = "yes" if [call["id"] for call in calls] == results else "NO"
    size = sum(len(str(message)) for message in messages) // 4
    pages = [page_asked_for(call["function"]["arguments"]) for call in calls]
    return f"about {size // 100 * 100} tokens, paired: {paired}, pages {pages}"


def read(number):
    return agentloop.AgentAction("read_page", {"number": number})


def reader(run, tools):
    """A scripted model: twelve calls in eleven replies; pages 7 and 8 are asked for together."""
    if run.task.startswith(SUM_UP):
        return agentloop.AgentFinish(f"{run.task.count('read_page')} results, page 7 is longest.")
    number = len(run.steps) + 1
    if number > 12:
        return agentloop.AgentFinish("Page 7 is the longest.")
    return [read(7), read(8)] if number == 7 else read(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()

    def adapter(trim):
        settings = {"base_url": options.base_url, "max_tokens": 2000, "trim": trim}
        return agentloop.OpenAIChat(options.model or "any", **settings)

    compaction = Compaction(limit=600)
    tools = agentloop.registry([read_page])
    run = agentloop.AgentRun(TASK)
    model = adapter(compaction) if options.model else reader
    helper = adapter(None) if options.model else reader
    for event in agentloop.stream(model, run, tools, max_requests=20):
        compaction.update(helper, run)
        if options.model:
            print(event)
    print(f"the run: {run.state}, {len(run.steps)} steps, {run.requests} requests, {run.output}")
    for title, trim in [
        ("everything", None),
        ("the last 3 replies", 3),
        ("about 400 tokens", last_tokens(400)),
        ("masking", masked),
        ("compaction", compaction),
    ]:
        messages = adapter(trim).body(run, tools)["messages"]
        print(f"{title}: {look(messages)}")
    if compaction.summary:
        print(f"   the summary: {messages[2]['content']}")
    print(f"the run still holds {len(run.steps)} steps")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
