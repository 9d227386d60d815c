"""Lets models that work, that only talk and that destroy pass by your check.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402

import agentloop  # noqa: E402


def play(exercise, *decisions):
    """A run over two files, with the participant's check; its state and the last reason."""
    world = {"inbox": ["a.txt", "b.txt"], "archive": ["old.txt"]}

    def move(name: str) -> str:
        """Move one file from the inbox to the archive."""
        world["inbox"].remove(name)
        world["archive"].append(name)
        return "moved"

    def pretend(name: str) -> str:
        """Say that a file was moved, and move nothing: tools have faults too."""
        return "moved"

    def duplicate(name: str) -> str:
        """Put a copy of one file into the archive; the inbox keeps its own."""
        world["archive"].append(name)
        return "copied"

    def delete(name: str) -> str:
        """Delete one file of the inbox."""
        world["inbox"].remove(name)
        return "deleted"

    model = agentloop.Scripted([decide(decision) for decision in decisions])
    accept = exercise.make_accept(world)
    need(accept is not None, "make_accept() returned None: it should end with `return accept`.")
    need(callable(accept), f"make_accept() should return the function accept, not {accept!r}.")
    given = []

    def noted(run):
        given.append(accept(run))
        reason = given[-1]
        fine = reason is None or (isinstance(reason, str) and reason.strip())
        need(fine, f"accept() returns None or a text that says why; it gave {reason!r}.")
        return reason

    before = copy.deepcopy(world)
    tools = [move, pretend, duplicate, delete]
    run = agentloop.run(model, "Empty the inbox.", tools, max_requests=len(decisions), accept=noted)
    moved = sum(step.action.tool in ("move", "delete") for step in run.steps)
    kept = len(before["inbox"]) - len(world["inbox"]) == moved
    need(kept, f"accept() changed the world, which is now {world}. It should only look.")
    return run.state, given[-1] or ""


def decide(text):
    """`move a.txt` is a call, `=done` is an answer."""
    if text[0] == "=":
        return agentloop.AgentFinish(text[1:])
    tool, name = text.split()
    return agentloop.AgentAction(tool, {"name": name})


def check(exercise):
    state, reason = play(exercise, "=done")
    need(state != "succeeded", "a model that did nothing and said 'done' was believed.")
    need("a.txt" in reason and "b.txt" in reason, f"the reason should name both files: {reason!r}")

    state, reason = play(exercise, "move a.txt", "=done")
    need(state != "succeeded", "one of two files was moved, and that was accepted as done.")
    need("b.txt" in reason, f"b.txt is still in the inbox; the reason should say so: {reason!r}")
    need("a.txt" not in reason, f"a.txt is where it should be; the reason names it: {reason!r}")

    state, reason = play(exercise, "pretend a.txt", "pretend b.txt", "=done")
    need(state != "succeeded", "two calls said 'moved', nothing moved, and that was accepted.")

    state, reason = play(exercise, "move a.txt", "delete b.txt", "=done")
    need(
        state != "succeeded",
        "b.txt was deleted, not moved, and that was accepted as done. The list world['inbox'] "
        "shrinks while the model works: note its names in a list of your own first.",
    )
    need("b.txt" in reason, f"b.txt is gone; the reason should say so: {reason!r}")

    state, reason = play(exercise, "move a.txt", "duplicate b.txt", "=done")
    need(
        state != "succeeded",
        "b.txt is in the archive and in the inbox too, and that was accepted: the inbox is to be "
        "empty.",
    )
    need("b.txt" in reason, f"b.txt is still in the inbox; the reason should say so: {reason!r}")

    state, reason = play(exercise, "move a.txt", "move b.txt", "=finished, dear")
    need(state == "succeeded", f"all is moved, but the run is {state}; the reason: {reason!r}")

    state, reason = play(exercise, "move a.txt", "=done", "move b.txt", "=done")
    need(state == "succeeded", f"the model fixed it at the second try, but the run is {state}.")
    return "your check looks at the world, and its reasons help."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
