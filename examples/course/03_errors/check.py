"""Lets a model that can read use your tool: does it find its way by the errors alone?

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import contextlib
import copy
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402

import agentloop  # noqa: E402


def reader(run, tools):
    """Begins with a room that is not there at an hour that is not free, and then reads."""
    wanted = {"room": "Bleu", "hour": 13}
    for step in run.steps:
        if step.status == "ok":
            return agentloop.AgentFinish(str(step.observation))
        wanted = dict(step.action.tool_input)
        seen = str(step.observation)
        if wanted["room"] == "Bleu" and "Blue" in seen:
            wanted["room"] = "Blue"
        hours = [int(n) for n in re.findall(r"\d+", seen) if int(n) in (9, 14, 15)]
        if wanted["room"] == "Blue" and hours:
            wanted["hour"] = min(hours, key=lambda hour: abs(hour - 13))
    return agentloop.AgentAction("book_room", wanted)


@contextlib.contextmanager
def own_rooms(exercise):
    """Inside, the rooms are free as handed out; what is booked there is forgotten behind it."""
    rooms = getattr(exercise, "FREE", None)
    if not isinstance(rooms, dict):
        yield  # they are somewhere else
        return
    before = copy.deepcopy(rooms)
    try:
        yield
    finally:
        rooms.clear()
        rooms.update(before)
        exercise.FREE = rooms


def book(exercise, room, hour):
    """The step that comes of one booking."""
    call = agentloop.AgentAction("book_room", {"room": room, "hour": hour})
    model = agentloop.Scripted([call, agentloop.AgentFinish("done")])
    with own_rooms(exercise):
        return agentloop.run(model, "Book it.", [exercise.book_room]).steps[0]


def refusal(exercise, room, hour, what):
    """The text of the error with which this booking is refused."""
    step = book(exercise, room, hour)
    need(step.status != "ok", f"{what}, but the step counts as ok: {step}. Raise an error there.")
    need(step.status == "tool_error", f"{what}: that should be a tool_error: {step}")
    return str(step.observation)


def names(text, hours):
    """Whether each of the hours stands in the text, as a number of its own."""
    return {str(hour) for hour in hours} <= set(re.findall(r"\d+", text))


def check(exercise):
    step = book(exercise, "Blue", 14)
    need(step.status == "ok", f"Blue is free at 14, and booking it should go well: {step}")
    need("14" in str(step.observation), "the answer to a booking should name the hour.")

    seen = refusal(exercise, "Pink", 14, "Pink does not exist")
    need("Pink" in seen, f"the error should name the room that was asked for: {seen}")
    need("Blue" in seen and "Green" in seen, f"the error should name the rooms there are: {seen}")

    seen = refusal(exercise, "Blue", 11, "Blue is taken at 11")
    need(names(seen, [11]), f"the error should name the hour that was asked for: {seen}")
    need(names(seen, [9, 14, 15]), f"the error should name Blue's free hours: {seen}")

    seen = refusal(exercise, "Green", 14, "Green is taken at 14")
    need(names(seen, [14, 10]), f"Green is asked for at 14 and free at 10; the error says: {seen}")

    with own_rooms(exercise):
        tools = [exercise.book_room]
        run = agentloop.run(reader, "Book Blue at about 13.", tools, max_requests=4)
    need(run.state == "model_ended", f"a model that can read did not find its way: {run.steps}")
    need("14" in str(run.output), f"a model that can read ended with {run.output!r}.")
    return f"a model found its way by your errors alone, in {run.requests} requests."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
