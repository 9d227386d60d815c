"""Lets models that work, that only talk and that destroy pass by your check.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

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

    def delete(name: str) -> str:
        """Delete one file of the inbox."""
        world["inbox"].remove(name)
        return "deleted"

    model = agentloop.Scripted([decide(decision) for decision in decisions])
    accept = exercise.make_accept(world)
    try:
        run = agentloop.run(
            model, "Empty the inbox.", [move, delete], max_requests=len(decisions), accept=accept
        )
    except TypeError as error:
        need("accept" not in str(error), f"accept() returns None or a text, nothing else: {error}")
        raise
    reasons = [str(s.observation) for s in run.steps if s.status == "not_accepted"]
    return run.state, reasons[-1] if reasons else ""


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

    state, reason = play(exercise, "move a.txt", "delete b.txt", "=done")
    need(state != "succeeded", "b.txt was deleted, not moved, and that was accepted as done.")
    need("b.txt" in reason, f"b.txt is gone; the reason should say so: {reason!r}")

    state, reason = play(exercise, "move a.txt", "move b.txt", "=finished, dear")
    need(state == "succeeded", f"all is moved, but the run is {state}; the reason: {reason!r}")

    state, reason = play(exercise, "move a.txt", "=done", "move b.txt", "=done")
    need(state == "succeeded", f"the model mended it at the second try, but the run is {state}.")
    return "your check looks at the world, and its reasons help."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
