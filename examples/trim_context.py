"""A window on a long run: what is sent gets shorter, what is kept does not.

What you learn: `trim` decides which replies of the turn an adapter sends: a number for the last N,
or a function from the list of steps to those that stay. A call never goes out without its result,
nor a result without its call, and the run itself keeps every step. The price: what was sent before
is no longer a prefix of what is sent now, so the provider's cache misses. Trim late, and in jumps.

    python3 trim_context.py
    python3 trim_context.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: a window that keeps every step that failed; one that shortens only every tenth time.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "Read pages 1 to 12, one call for each, and tell me the longest."


def read_page(number: int) -> str:
    """Return a page's text; pages begin at 1."""
    return f"This is page {number}. " + "Words and words. " * (number * 5 % 37)


def first_two_last_five(steps):
    """How the task was understood, and where the run stands now."""
    return steps if len(steps) <= 7 else steps[:2] + steps[-5:]


def last_tokens(limit):
    """A window that keeps as many of the last steps as fit in `limit` tokens, roughly."""

    def window(steps):
        left, kept = limit, []
        for step in reversed(steps):
            left -= len(str(step.observation)) // 4 + 20  # about four letters make a token
            if left < 0 and kept:
                break
            kept.append(step)
        return kept[::-1]

    return window


WINDOWS = [
    ("everything", None),
    ("the last 3 replies", 3),
    ("about 400 tokens", last_tokens(400)),
    ("first two, last five", first_two_last_five),
]


def look(messages):
    """Say which calls were sent, and whether each has its result directly behind it."""
    calls, results = [], []
    for message in messages:
        calls += [call["id"] for call in message.get("tool_calls", ())]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
    size = sum(len(str(message)) for message in messages) // 4
    paired = "yes" if calls == results else "NO"
    return f"{len(messages)} messages, about {size // 100 * 100} tokens, paired: {paired}", calls


def read(number):
    # Nine letters and digits: an id that every provider takes goes out as it is.
    return agentloop.AgentAction("read_page", {"number": number}, f"page{number:05d}")


# Twelve calls in eleven replies: pages 7 and 8 are asked for together.
SCRIPTED = agentloop.Scripted(
    [read(number) for number in range(1, 7)]
    + [[read(7), read(8)], read(9), read(10), read(11), read(12)]
    + [agentloop.AgentFinish("Page 7 is the longest.")]
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()

    def adapter(trim):
        return agentloop.OpenAIChat(options.model or "any", base_url=options.base_url, trim=trim)

    model = adapter(first_two_last_five) if options.model else SCRIPTED
    tools = agentloop.registry([read_page])
    run = agentloop.run(model, TASK, tools, max_requests=20)
    print(f"the run: {run.state}, {len(run.steps)} steps, {run.output}")
    for title, trim in WINDOWS:
        text, calls = look(adapter(trim).body(run, tools)["messages"])
        print(f"{title}: {text}\n   {' '.join(calls)}")
    print(f"the run still holds {len(run.steps)} steps")


if __name__ == "__main__":
    main()
