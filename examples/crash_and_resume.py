"""A run that is killed between an order and its record goes on, and does not order twice.

    python3 crash_and_resume.py

What one learns: a call that was started and never recorded is neither done nor undone, it is
*unknown*. No loop can know better, so this one says so (an `unknown_outcome` step) and leaves the
finding out to the model. That works because the order service keeps the shop's operation keys: it
can be asked "is there an order under this key?", and it refuses a second order under the same key,
so that even a model that does not ask orders once. The key is the shop's own (here the cart's
number). The call id will not do: a second try is another call with another id.

The program starts itself twice as a child process, with the same line. The first child dies
inside the tool, after the order was placed and before anything of it could be written down.

To change and try: `--die before` (it dies before the order: the model finds none, and orders).
Mark `place_order` with `@agentloop.tool(idempotent=True)` and let `add` answer with the order that
is there in place of an error: then the loop calls it again by itself, and no step is unknown.
For real: --model NAME --base-url URL. The model then gets the observations and no script.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = (
    "Order 2 pieces of A1 for cart-1001, with the cart's number as the operation key. "
    "Never order twice: where an outcome is unknown, look for the order by its key first."
)


class OrderService:
    """The other side: a file of orders that outlives our process, as a real service would."""

    def __init__(self, folder):
        self.path = Path(folder) / "orders.json"

    def orders(self):
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []

    def add(self, order):
        """Take an order, once: a second one under the same key is refused, whatever it asks for."""
        for known in self.orders():
            if known["key"] == order["key"]:
                raise ValueError(
                    "there is an order under %(key)s: %(quantity)d of %(sku)s. Nothing was ordered "
                    "now. For another order, use another key." % known
                )
        self.path.write_text(json.dumps(self.orders() + [order]), encoding="utf-8")


def shop_tools(service, die):
    def place_order(operation_key: str, sku: str, quantity: int) -> dict:
        """Order pieces of an article; there is one order for each key, a second one is refused.

        Args:
            operation_key: the shop's own key of this order; the order can be found by it.
            sku: the article, for example "A1".
            quantity: how many pieces.
        """
        if die == "before":
            os._exit(9)  # no clean-up, no `finally`: like kill -9, or a power cut
        service.add({"key": operation_key, "sku": sku, "quantity": quantity})
        if die == "after":
            os._exit(9)
        return {"ordered": quantity}

    @agentloop.tool(read_only=True)
    def find_orders(operation_key: str) -> list:
        """Return the orders placed under an operation key; read-only."""
        return [order for order in service.orders() if order["key"] == operation_key]

    return [place_order, find_orders]


def shop_assistant(run, tools):
    """Stands in for a model: it looks at the last observation and decides, as a model would."""
    order = {"operation_key": "cart-1001", "sku": "A1", "quantity": 2}
    last = run.steps[-1] if run.steps else None
    if last is None or (last.action.tool == "find_orders" and not last.observation):
        return agentloop.AgentAction("place_order", order)
    if last.status == "unknown_outcome":
        return agentloop.AgentAction("find_orders", {"operation_key": "cart-1001"})
    return agentloop.AgentFinish("The order for cart-1001 is placed: 2 pieces of A1.")


def child(options):
    """The line that is simply run again after a crash; nothing in it knows of the crash."""
    model = shop_assistant
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    tools = shop_tools(OrderService(options.folder), options.die)
    journal = str(Path(options.folder) / "run.jsonl")
    for event in agentloop.stream(model, TASK, tools, journal=journal):
        print("   %s" % event, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--die", choices=["before", "after", "not"], default="after")
    parser.add_argument("--folder", help=argparse.SUPPRESS)  # only the children get one
    options = parser.parse_args()
    if options.folder:
        return child(options)

    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, __file__] + sys.argv[1:] + ["--folder", folder]
        service = OrderService(folder)

        print("1. The first process:", flush=True)
        died = subprocess.run(line + ["--die", options.die]).returncode
        print("   exit status: %d" % died)

        print("2. What is on the disk:")
        run = agentloop.AgentRun.load(os.path.join(folder, "run.jsonl"))
        begun = [action.tool for action in run.pending if action.call_id in run.started]
        print("   in the journal: %s, requests: %d" % (run.state, run.requests))
        print("   started, not done: %s" % (", ".join(begun) or "nothing"))
        print("   at the service: %d order(s)" % len(service.orders()))

        print("3. The same line again, in a second process:", flush=True)
        if subprocess.run(line + ["--die", "not"]).returncode:
            sys.exit(1)  # the child has said why
        run = agentloop.AgentRun.load(os.path.join(folder, "run.jsonl"))
        print("   %s after %d requests" % (run.state, run.requests))
        print("   statuses: %s" % ", ".join(step.status for step in run.steps))
        print("   orders under cart-1001: %d" % len(service.orders()))
        try:
            service.add({"key": "cart-1001", "sku": "A1", "quantity": 2})
        except ValueError as error:
            print("   a hasty second order is refused: %s" % error)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
