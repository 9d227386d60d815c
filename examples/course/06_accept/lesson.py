"""The model says that it is done. Is it?

    python3 lesson.py

Three models get the same task: reserve two A1. The first does it. The second only says so, and
does it when it hears what is missing. The third only says so, whatever it hears. Each is run
without a check and with one. Predict the state of each of the six runs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

TASK = "Reserve two A1 for order 7."
RESERVE = agentloop.AgentAction("reserve", {"sku": "A1", "quantity": 2})
DONE = agentloop.AgentFinish("Two A1 are reserved for you.")


def honest(run, tools):
    """Does it, then says so."""
    return DONE if run.steps else RESERVE


def hasty(run, tools):
    """Says so at once; when that is not accepted, does it and says so again."""
    return RESERVE if run.steps and run.steps[-1].status == "not_accepted" else DONE


def stubborn(run, tools):
    """Says so, and says so, and says so."""
    return DONE


def play(model, checked):
    """One run in a fresh shop; what the shop's books say afterwards comes with it."""
    books = {}

    def reserve(sku: str, quantity: int) -> str:
        """Reserve pieces of a SKU for the order."""
        books[sku] = books.get(sku, 0) + quantity
        return "reserved"

    def accept(run):
        """None, or the reason why the run is not done: from the books, not from the text."""
        missing = 2 - books.get("A1", 0)
        return f"{missing} of A1 are not reserved yet; call reserve" if missing else None

    run = agentloop.run(model, TASK, [reserve], max_requests=4, accept=accept if checked else None)
    return run, books


def main():
    for model in (honest, hasty, stubborn):
        for checked in (False, True):
            run, books = play(model, checked)
            name = model.__name__ + (", checked" if checked else "")
            print(f"{name:<18} {run.state:<17} reserved: {books.get('A1', 0)}", end="   ")
            print(f"requests: {run.requests}  output: {run.output}")
    print("\nThe steps of the hasty one, checked:")
    for step in play(hasty, True)[0].steps:
        print(step)


if __name__ == "__main__":
    main()
