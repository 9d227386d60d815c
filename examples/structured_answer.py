"""A typed final answer: a dataclass with nested parts, not a text to be taken apart.

What you learn: a `return_direct` tool whose parameters are the fields of the answer ends the run,
and what it returns is the output. Its shape is checked like any call's arguments, and what is wrong
goes back to the model. Whether it is *right* is the task's business: `accept` checks that, and
sends the answer back with a reason until it is.

    python3 structured_answer.py
    python3 structured_answer.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: take `accept` away and see the wrong sum pass; add a field `paid: bool` to Invoice.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

LETTER = """Invoice 2041. Two boxes of tea at 4.50 euros each and one kettle at 31 euros,
40 euros in all. Please pay within two weeks."""


@dataclass
class Line:
    what: str
    quantity: int
    cents_each: int


@dataclass
class Invoice:
    number: str
    currency: str
    lines: List[Line]
    total_cents: int


@agentloop.tool(return_direct=True)
def answer(
    number: str, currency: Literal["EUR", "USD"], lines: List[Line], total_cents: int
) -> Invoice:
    """Give the final answer: what the invoice says.

    Args:
        number: the invoice's number.
        currency: the currency of all amounts.
        lines: what was bought, one line for each kind of thing.
        total_cents: the whole amount in cents.
    """
    return Invoice(number, currency, lines, total_cents)


def check(run):
    """The check of the task: does it add up, and is it an invoice at all?"""
    invoice = run.output
    if not isinstance(invoice, Invoice):  # the model answered with a text of its own
        return "Answer by calling the tool `answer`."
    total = sum(line.quantity * line.cents_each for line in invoice.lines)
    if total != invoice.total_cents:
        return f"The lines add up to {total} cents, not to {invoice.total_cents}. Read once more."
    return None


def filled(cents_of_tea, **more):
    """One attempt of the scripted model."""
    tea = {"what": "box of tea", "quantity": 2, "cents_each": cents_of_tea}
    kettle = {"what": "kettle", "quantity": 1, "cents_each": 3100}
    form = {"number": "2041", "currency": "EUR", "lines": [tea, kettle], "total_cents": 4000}
    return agentloop.AgentAction("answer", {**form, **more})


SCRIPTED = agentloop.Scripted(
    [
        agentloop.AgentFinish("The invoice 2041 is over 40 euros."),  # a text, not the tool
        filled("4.50 euros", currency="euros"),  # the wrong shape, twice
        filled(900),  # the right shape, but it does not add up
        filled(450),
    ]
)


def choose_model(scripted):
    """The scripted model, or a real one where --model is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        return agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    return scripted


def main():
    model = choose_model(SCRIPTED)
    run = agentloop.run(model, "Read this invoice.\n\n" + LETTER, [answer], accept=check)
    for number, step in enumerate(run.steps, 1):
        print(f"{number}. {step.status}: {str(step.observation)[:150]}")
    print(f"state {run.state}, {run.requests} requests")
    invoice = run.output
    if isinstance(invoice, Invoice):
        print(f"Invoice {invoice.number}: {invoice.total_cents} cents, {invoice.currency}")
        for line in invoice.lines:
            print(f"   {line.quantity} x {line.what} = {line.quantity * line.cents_each}")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
