"""Four loops and four troubles: which loop gets through which?

    python3 lesson.py

Each row is a scripted model, each column a loop: the four steps of this lesson, then agentloop.
Fill in the table on paper before you run it. Then change a line in one of the steps, and run it
again: which cell changes?
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parent))
import step_1  # noqa: E402
import step_2  # noqa: E402
import step_3  # noqa: E402
import step_4  # noqa: E402

import agentloop  # noqa: E402

PATIENCE = 50  # so many requests of one run, and we call it endless


class StillAsking(Exception):
    """Raised by a model that was asked too often, so that an endless loop ends here."""


def call(call_id, tool, **tool_input):
    """One action, as the models of this lesson propose it."""
    return {"id": call_id, "tool": tool, "input": tool_input}


def troubles():
    """The name of each trouble, and the replies of the model that makes it."""
    answer = {"answer": "done"}
    reserve = {"actions": [call("c1", "reserve", sku="A1")]}
    return [
        ("nothing goes wrong", [{"actions": [call("c1", "lookup_stock", sku="A1")]}, answer]),
        ("an unknown tool", [{"actions": [call("c1", "delete_stock", sku="A1")]}, answer]),
        ("a tool that raises", [{"actions": [call("c1", "lookup_stock", sku="B7")]}, answer]),
        ("one call, sent twice", [reserve, reserve, answer]),
        (
            "a model without end",
            [{"actions": [call(f"c{n}", "lookup_stock", sku="A1")]} for n in range(PATIENCE)],
        ),
    ]


def stock_tools(reserved):
    """The tools of one run. Each reservation is noted in the list: an effect on the world."""

    def lookup_stock(sku: str) -> int:
        """Return how many of the SKU can be sold."""
        return {"A1": 3}[sku]

    def reserve(sku: str) -> str:
        """Reserve one piece of the SKU for the customer."""
        reserved.append(sku)
        return "reserved"

    return [lookup_stock, reserve]


def by_hand(step, replies, reserved):
    """Run one of our own loops; the answer and the steps, as they come out of it."""
    queue = iter(replies)

    def model(task, steps):
        for reply in queue:
            return reply
        raise StillAsking

    tools = {function.__name__: function for function in stock_tools(reserved)}
    return step.run(model, "Sell one A1.", tools)


def by_agentloop(replies, reserved):
    """The same replies through agentloop: the dicts become its actions and finishes."""
    decisions = [
        agentloop.AgentFinish(reply["answer"])
        if "answer" in reply
        else [agentloop.AgentAction(a["tool"], a["input"], a["id"]) for a in reply["actions"]]
        for reply in replies
    ]
    model = agentloop.Scripted(decisions)
    run = agentloop.run(model, "Sell one A1.", stock_tools(reserved))
    return run.output, run.steps


def cell(loop, replies):
    """One word or two for how the run ended."""
    reserved = []
    try:
        answer, steps = loop(replies, reserved)
    except StillAsking:
        return "no end"
    except Exception as error:
        return type(error).__name__
    if answer is None:
        return f"{len(steps)} steps"
    return f"{len(reserved)} reserved" if reserved else "answer"


def added(older, newer):
    """How many lines the newer step adds; None where it drops or changes one of the older's.

    Only what stands in run() is compared, and a line may move to the right: `try:` does that.
    """
    old, new = ([line.strip() for line in body(step)] for step in (older, newer))
    rest = iter(new)
    return len(new) - len(old) if all(line in rest for line in old) else None


def body(step):
    """The lines of the step's run(), as they stand in its file."""
    lines = Path(step.__file__).read_text(encoding="utf-8").splitlines()
    start = lines.index("def run(model, task, tools, max_requests=10):")
    return list(itertools.takewhile(lambda line: line[:4] != "def ", lines[start + 1 :]))


def main():
    steps = [step_1, step_2, step_3, step_4]
    print(f"{'':<21}" + "".join(f"{s.__name__:<13}" for s in steps) + "agentloop")
    for name, replies in troubles():
        cells = [cell(lambda *args, s=s: by_hand(s, *args), replies) for s in steps]
        cells.append(cell(by_agentloop, replies))
        print(f"{name:<21}" + "".join(f"{c:<13}" for c in cells).rstrip())
    print()
    for older, newer in zip(steps, steps[1:]):
        count = added(older, newer)
        if count is None:
            print(f"{newer.__name__} does not only add lines to {older.__name__}: one was changed")
        else:
            print(f"{newer.__name__} adds {count} lines to {older.__name__}")


if __name__ == "__main__":
    main()
