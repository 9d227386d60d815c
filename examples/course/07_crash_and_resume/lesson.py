"""The process dies in the middle of an order. What should happen when it is started again?

    python3 lesson.py

Each line that begins with $ starts a process of its own; some of them die on purpose, after the
order was placed and before anybody could note it. Predict: how many orders are there at the end of
each part? The third part is a call that waits in its file until a person has decided.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

TASK = "Order one A1, and one only."


def orders(folder):
    """The order book: a file, since a real shop outlives our process too."""
    book = folder / "orders.txt"
    return book.read_text(encoding="utf-8").split() if book.exists() else []


def shop_tools(folder, dies):
    def place_order(sku: str) -> str:
        """Order one piece. Each call is an order of its own."""
        with (folder / "orders.txt").open("a", encoding="utf-8") as book:
            book.write(sku + "\n")
        if dies:
            print("(the power fails)", flush=True)
            os._exit(1)  # like a kill: nothing after this line runs, no `finally` either
        return "ordered"

    @agentloop.tool(read_only=True)
    def count_orders(sku: str) -> int:
        """Return how many orders of the SKU there are."""
        return orders(folder).count(sku)

    return [place_order, count_orders]


def model(run, tools):
    """Orders. Where the outcome of its order is unknown, it finds out first."""
    order = agentloop.AgentAction("place_order", {"sku": "A1"})
    if not run.steps:
        return order
    last = run.steps[-1]
    if last.status == "unknown_outcome":
        return agentloop.AgentAction("count_orders", {"sku": "A1"})
    if last.status == "denied":
        return agentloop.AgentFinish("nothing was ordered: " + str(last.observation))
    if last.action.tool == "count_orders" and last.observation == 0:
        return order
    return agentloop.AgentFinish("one A1 is ordered")


def work(folder, what):
    """What one process does: `what` are the words after the $."""
    journal = str(folder / "run.jsonl") if "journal" in what else None
    tools = shop_tools(folder, dies="dies" in what)
    run = agentloop.AgentRun(TASK)
    if "no" in what:  # a person says no to what waits in the journal
        run = agentloop.AgentRun.load(journal)
        for action in list(run.pending):
            run.close(action, "Ann says no", "denied")
    for event in agentloop.stream(model, run, tools, journal=journal):
        print(event, flush=True)
        if "propose" in what and isinstance(event, agentloop.AgentAction):
            print(f"(Ann is asked: {event.tool}, with {event.arguments}?)")
            break  # proposed, and in the journal; nothing has run
    print(f"({run.state}, steps: {len(run.steps)}, waiting: {len(run.pending)})")


def process(folder, *what):
    """Start this file again as a process of its own, and show what it says."""
    print("$ " + " ".join(what))
    command = [sys.executable, __file__, str(folder), *what]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    for line in done.stdout.splitlines():
        print("    " + line)


def main():
    parts = [
        ("1. Without a journal", ["order dies", "order"]),
        ("2. With a journal", ["order journal dies", "order journal", "order journal"]),
        ("3. A call that waits", ["propose journal", "decide journal no"]),
    ]
    for title, lines in parts:
        print(title)
        with tempfile.TemporaryDirectory() as name:
            for line in lines:
                process(Path(name), *line.split())
            print(f"orders in the book: {len(orders(Path(name)))}\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
