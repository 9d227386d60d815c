"""Reads your tool as a model would, and calls it as models do.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import NotYet, need  # noqa: E402

import agentloop  # noqa: E402

NO_WAY_BACK = re.compile(  # in whatever words: the first kind says it alone, the second with a "not"
    r"irrevers|irrevoc|irretriev|unrecover|irrecover|permanent|\bfinal|definitive|binding|for good"
    r"|point of no return|no way (back|to)|no undo|impossible"
    r"|(\bnot?\b|\bnon-|n't|n\u2019t|cannot|never|nobody|nothing)[^.]*"
    r"(und[oi]|rever[st]|revo[ck]|retract|recall|cancel|back|withdraw|stop|chang|correct|restor|recover|return|refund)",
    re.IGNORECASE,
)


def send(function, **tool_input):
    """The step that comes of one call with these arguments."""
    decisions = [agentloop.AgentAction("send_parcel", tool_input), agentloop.AgentFinish("done")]
    return agentloop.run(agentloop.Scripted(decisions), "Send it.", [function]).steps[0]


def refuses(function, quantity):
    """Whether the function raises ValueError for this quantity, and not something by mistake."""
    try:
        function(sku="A1", quantity=quantity)
    except ValueError:
        return True
    except NameError:
        raise  # a slip: it gets its own hint
    except Exception as error:
        kind = type(error).__name__
        raise NotYet(f"for {quantity} send_parcel() raised {kind}: {error}. Raise a ValueError.")
    return False


def check(exercise):
    function = exercise.send_parcel
    try:
        tool = agentloop.registry([function])["send_parcel"]
    except (TypeError, ValueError) as error:
        kind = function.__annotations__.get("size")
        words = isinstance(kind, (list, tuple, set, frozenset, dict))
        need(
            not words and kind not in ("small", "medium", "large"),
            f"size: {kind!r} is no type. Several words are Literal[...], as lesson.py has it.",
        )
        raise error
    fields = tool.parameters["properties"]
    names = sorted(fields)
    need(names == ["quantity", "size", "sku"], f"keep sku, quantity and size; I see {names}.")

    kind = fields["quantity"].get("type")
    need(kind == "integer", f"a model reads that quantity is a {kind!r}. Use int: a whole number.")
    words = fields["size"].get("enum")
    need(words, "size may be any text: name the three words with Literal, as lesson.py does.")
    need(sorted(words) == ["large", "medium", "small"], f"the sizes are other ones: {words}.")
    required = tool.parameters.get("required", [])
    need("size" not in required, "size has to be given: let it have the default 'medium'.")
    need("quantity" in required, "quantity should have no default: nobody should guess it.")

    said = tool.description
    need(len(said) > 20, f"the description says too little: {said!r}. What does the tool do?")
    need("send" in said.lower() or "parcel" in said.lower(), f"what does it do? I read: {said!r}.")
    undone = NO_WAY_BACK.search(said)
    need(undone, f"say, in your words, that sending cannot be undone. I read: {said!r}.")
    for name in ("sku", "quantity", "size"):
        text = fields[name].get("description", "")
        need(text, f"what is {name}? Say it in the docstring, in a section 'Args:'.")

    step = send(function, sku="A1", quantity="3")
    need(step.status == "ok", f"'3' is as good as 3 and should be sent; I got: {step}")
    need(step.observation is not None, "send_parcel() returned None: does it lack its `return`?")
    need("3" in str(step.observation), f"the answer should name the quantity: {step.observation}")
    need("medium" in str(step.observation), "without a size, the box should be 'medium'.")
    status = send(function, sku="A1", quantity="three").status
    need(status == "invalid_arguments", f"the quantity 'three' is taken, as {status}.")

    for quantity in (1, 10):
        step = send(function, sku="A1", quantity=quantity)
        need(step.status == "ok", f"one to ten pieces can be sent; for {quantity} I got: {step}")
    for quantity in (0, 11, -1):
        step = send(function, sku="A1", quantity=quantity)
        need(
            step.status == "invalid_arguments" or refuses(function, quantity),
            f"a parcel holds one to ten pieces: {quantity} should raise ValueError; {step}",
        )
    schema = fields["quantity"]
    limits = f"{said} {schema['description']} {schema.get('enum', '')} {schema.get('maximum', '')}"
    need(
        re.search(r"\b(10|ten)\b", limits, re.IGNORECASE),
        f"ten pieces at most: the model should know that before it tries. quantity says "
        f"{schema['description']!r}.",
    )
    return "a stranger can use this tool, and nothing wrong comes through."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
