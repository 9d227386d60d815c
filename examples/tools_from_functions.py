"""Tools from functions: what the model is sent, and what your function gets.

What you learn: the annotations become a JSON Schema, the docstring becomes the descriptions, and at
call time the arguments are checked and turned into the annotated Python types. Where nothing is
lost the check is lenient ("2" for an int); elsewhere it reports all faults at once, each with
its path, so that the model can fix them in one go. What cannot be a tool is refused before anything
is asked.

    python3 tools_from_functions.py
    python3 tools_from_functions.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: give Line a field `gift: bool = False`; take the annotation off `lines`.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Literal, Optional, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


@dataclass
class Line:
    sku: str
    quantity: int


def place_order(
    lines: List[Line],
    shipping: Literal["post", "courier"] = "post",
    note: Optional[str] = None,
) -> str:
    """Order goods from the shop.

    Args:
        lines: what to order, one line for each product.
        shipping: how it is sent.
        note: a few words for the packer.
    """
    print(f"   (the function gets lines={lines!r}, shipping={shipping!r})")
    return f"ordered {sum(line.quantity for line in lines)} pieces by {shipping}"


@agentloop.tool(read_only=True)  # still callable as the function; such calls may run side by side
def list_products() -> List[str]:
    """Return the SKUs that the shop sells."""
    return ["A1", "B2"]


# A schema from elsewhere: made by hand, and the values are passed on as they came.
convert = agentloop.Tool(
    name="convert",
    description="Convert an amount of euros.",
    parameters={
        "type": "object",
        "properties": {"amount": {"type": "number"}, "to": {"type": "string"}},
        "required": ["amount", "to"],
    },
    function=lambda amount, to: f"{amount * 2} {to}",
)

TOOLS = [place_order, list_products, convert]

FAULTY = {"lines": [{"sku": "A1", "quantity": "many"}], "shiping": "post", "note": ["fragile"]}
FIXED = {"lines": '[{"sku": "A1", "quantity": "2"}]', "shipping": "courier"}  # JSON inside JSON


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
    model = choose_model(
        agentloop.Scripted(
            [
                agentloop.AgentAction("place_order", FAULTY),
                agentloop.AgentAction("place_order", FIXED),
                agentloop.AgentAction("convert", {"amount": 20, "to": "USD"}),
                agentloop.AgentFinish("Two pieces of A1 are on their way by courier, for 40 USD."),
            ]
        )
    )

    print("What the model is sent about place_order:")
    registry = agentloop.registry(TOOLS)  # a plain dict, name to Tool
    print(json.dumps(registry["place_order"].parameters, indent=2))

    print("The run:")
    task = "Order two A1 by courier. What are 20 euros in USD?"
    for event in agentloop.stream(model, task, registry):
        if isinstance(event, agentloop.AgentStep):
            print(f"   -> {event.status}: {event.observation}")
        else:
            print("  ", event)

    print("What is refused at once, with the fix in the message:")
    for name, cannot in [("a lambda", lambda x: x), ("a file", read_file), ("twins", TWINS)]:
        try:
            agentloop.registry(cannot if isinstance(cannot, list) else [cannot])
        except (TypeError, ValueError) as error:
            print(f"   {name}: {error}")


def read_file(file: TextIO) -> str:
    """Return a file's text; but an open file has no form in JSON."""
    return file.read()


TWINS = [list_products, agentloop.Tool("list_products", "Another one.", {}, list)]


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
