"""Climbs the steps of this lesson with your parser, and then lets a model work through it.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import NotYet, need  # noqa: E402

import agentloop  # noqa: E402

LOOK = 'Thought: I look.\nAction: lookup_stock\nAction Input: {"sku": "A1"}'
ANSWER = "Thought: I know it.\nFinal Answer: 3 can be sold"


def lookup_stock(sku: str) -> int:
    """Return how many of the SKU can be sold."""
    return {"A1": 3}[sku]


def parse(exercise, text):
    """What parse() gave: an action or a finish, nothing else."""
    found = exercise.parse(text)
    need(found is not None, f"parse() returned None for {text!r}.")
    known = isinstance(found, (agentloop.AgentAction, agentloop.AgentFinish))
    need(known, f"parse() should return an AgentAction or an AgentFinish, not {found!r}.")
    return found


def finish(exercise, text, answer):
    found = parse(exercise, text)
    right = isinstance(found, agentloop.AgentFinish)
    need(right, f"{text!r} is an answer; parse() made a call of it: {found}")
    said = found.output
    need(said == answer, f"of {text!r} the answer is {answer!r}, not {said!r}.")


def action(exercise, text, sku):
    """The call in the text; `sku` is what its arguments have to say."""
    found = parse(exercise, text)
    call = isinstance(found, agentloop.AgentAction)
    need(call, f"{text!r} asks for a call; parse() took it for an answer.")
    tool = found.tool
    need(tool == "lookup_stock", f"the tool in {text!r} is 'lookup_stock', not {tool!r}.")
    step = run_once(found).steps[0]
    given = found.tool_input
    fine = step.status == "ok" or sku == "B7" and step.status == "tool_error"
    need(fine, f"the arguments of {text!r} came out as {given!r}: {step.observation}")
    need(sku in str(given), f"the arguments of {text!r} came out as {given!r}.")
    return found


def run_once(action):
    model = agentloop.Scripted([action, agentloop.AgentFinish("done")])
    return agentloop.run(model, "How many?", [lookup_stock])


def step_1(exercise):
    """an answer"""
    finish(exercise, ANSWER, "3 can be sold")
    finish(exercise, "Final Answer: two lines\nof text", "two lines\nof text")


def step_2(exercise):
    """an action"""
    found = action(exercise, LOOK, "A1")
    need(
        "I look." in found.log, "hand the text on as log=text: the model has to see what it wrote."
    )
    action(exercise, LOOK.replace("A1", "B7"), "B7")


def step_3(exercise):
    """neither"""
    for text in ("I would have to look that up.", "", "Thought: A tool?", 'Action Input: {"a": 1}'):
        try:
            found = parse(exercise, text)
        except agentloop.InvalidResponse as error:
            hint = str(error.observation)
            need("Action" in hint and "Final Answer" in hint, f"say how to write, not {hint!r}.")
            continue
        except Exception as error:
            kind = type(error).__name__
            raise NotYet(f"for {text!r} parse() raised {kind}. Raise agentloop.InvalidResponse.")
        raise NotYet(f"{text!r} is neither; parse() made of it: {found}")


def step_4(exercise):
    """a mark begins a line"""
    thought = "Thought: no Final Answer: I look first, as Action: lookup_stock can do that.\n"
    action(exercise, thought + LOOK, "A1")
    finish(exercise, "Final Answer: the Action: field was empty", "the Action: field was empty")


def step_5(exercise):
    """what it makes up does not count"""
    made_up = "\nObservation: 500\nThought: Good.\nFinal Answer: 500 can be sold"
    action(exercise, LOOK + made_up, "A1")
    more = '\nObservation: 500\nAction: lookup_stock\nAction Input: {"sku": "B7"}'
    action(exercise, LOOK + more, "A1")


def whole(exercise):
    """a whole run"""
    texts = ["I think I should look.", LOOK.replace("lookup", "get"), LOOK + "\nObservation: 9"]
    replies = iter([*texts, ANSWER])
    run = agentloop.run(lambda run, tools: parse(exercise, next(replies)), "?", [lookup_stock])
    statuses = [step.status for step in run.steps]
    wanted = ["invalid_response", "unknown_tool", "ok"]
    need(statuses == wanted, f"the steps of a whole run should be {wanted}; I see {statuses}.")
    need(run.output == "3 can be sold", f"a whole run ended with {run.output!r}.")


def check(exercise):
    checking.climb((step_1, step_2, step_3, step_4, step_5, whole), exercise)
    return "a text model can call tools through your parser. ReActText is the same, and reads more."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
