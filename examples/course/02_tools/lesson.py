"""What does a model know of your function, and what reaches the function?

    python3 lesson.py

The first part shows all that the model gets to know: name, description, parameters. The second sends
calls as models write them, some good, some sloppy, some wrong. Predict for each: does the function
run, and with what?
"""

import json
import logging
import sys
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

ARRIVED = []  # what the function was really called with


def lookup_stock(sku: str, warehouse: Literal["north", "south"] = "north", days: int = 0) -> dict:
    """Return the quantity that can be sold; read-only, reserves nothing.

    Args:
        sku: the product's SKU, for example "A1".
        warehouse: where to look.
        days: look so many days ahead; 0 is now.
    """
    ARRIVED.append((sku, warehouse, days))
    return {"sku": sku, "available": 3}


CALLS = [
    {"sku": "A1"},
    {"sku": "A1", "days": "2"},
    {"sku": "A1", "warehouse": "South"},
    '{"sku": "A1", "days": 2}',
    {"sku_id": "A1"},
    {"sku": ["A1"], "days": "soon"},
    {"sku": "A1", "days": 2.5},
    '{"sku": "A1", "days"',
]


class Shop:
    def lookup(self, sku: str) -> int:
        """Return how many can be sold."""


def with_logger(sku: str, logger: logging.Logger) -> int:
    """Nobody can write a Logger as JSON, so no model can send one."""


REFUSED = [
    ("a lambda", [lambda sku: 3]),
    ("a method without its object", [Shop.lookup]),
    ("a parameter that is no JSON", [with_logger]),
    ("two of one name", [lookup_stock, lookup_stock]),
]


def main():
    print("1. All that the model gets to know")
    tool = agentloop.registry([lookup_stock])["lookup_stock"]
    print(json.dumps([tool.name, tool.description, tool.parameters], indent=1))

    print("\n2. What the model sends, and what reaches the function")
    for sent in CALLS:
        model = agentloop.Scripted(
            [agentloop.AgentAction("lookup_stock", sent), agentloop.AgentFinish("done")]
        )
        ARRIVED.clear()
        step = agentloop.run(model, "Look it up.", [lookup_stock]).steps[0]
        print(f"sent     {sent}")
        print(f"{step.status:<8} {ARRIVED[0] if ARRIVED else step.observation}")

    print("\n3. What cannot be a tool is refused before a model sees it")
    for name, tools in REFUSED:
        try:
            agentloop.registry(tools)
            print(f"{name}: taken")
        except (TypeError, ValueError) as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    main()
