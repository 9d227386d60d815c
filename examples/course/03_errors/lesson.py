"""Who has to understand an error: the programmer, or the model?

    python3 lesson.py

The same model meets three tools that differ only in how they fail. The model knows how to read: it
follows a suggestion, and gives up when an observation says that repeating will not help.
Predict for each tool: how many requests, and is the answer right?
"""

import difflib
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

STOCK = {"A1-RED": 3, "A1-BLUE": 0}


def silent(sku: str) -> str:
    """Return how many of the SKU can be sold."""
    try:
        return str(STOCK[sku])
    except KeyError:
        return "0"  # "better than a crash", somebody thought


def bare(sku: str) -> str:
    """Return how many of the SKU can be sold."""
    return str(STOCK[sku])


def helpful(sku: str) -> str:
    """Return how many of the SKU can be sold."""
    if sku not in STOCK:
        known = ", ".join(STOCK)
        hint = difflib.get_close_matches(sku.upper(), STOCK, 1, 0.3)
        advice = f"; did you mean {hint[0]}?" if hint else ""
        raise ValueError(f"no SKU {sku}; there are {known}{advice}")
    return str(STOCK[sku])


def model(run, tools):
    """A small model made by hand: any callable that looks at a run and decides is a model."""
    (tool,) = tools  # the name of the one tool there is
    sku = "a1-red"
    if run.steps:
        last = run.steps[-1]
        seen = str(last.observation)
        if last.status == "ok":
            return agentloop.AgentFinish(f"{seen} can be sold")
        suggestion = re.search(r"did you mean (\S+)\?", seen)
        if suggestion:
            sku = suggestion.group(1)
        elif "will not help" in seen:  # the loop says so when the same call fails once more
            return agentloop.AgentFinish("I could not find out")
    return agentloop.AgentAction(tool, {"sku": sku})


def main():
    for function in (silent, bare, helpful):
        print(f"--- the tool: {function.__name__} ({STOCK['A1-RED']} can really be sold)")
        run = agentloop.AgentRun("How many red A1 can we sell?")
        for event in agentloop.stream(model, run, [function]):
            print(event)
        statuses = ", ".join(step.status for step in run.steps)
        print(f"requests: {run.requests}; statuses: {statuses}; answer: {run.output}\n")


if __name__ == "__main__":
    main()
