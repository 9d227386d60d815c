"""Talks through your functions, forgets with them, and gives them handlers that fail.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import contextlib
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import NotYet, need  # noqa: E402

import agentloop  # noqa: E402


def add(a: int, b: int) -> int:
    """Return a + b."""
    return a + b


def echo(run, tools):
    """Answers with what it was shown: the tasks of all turns."""
    return agentloop.AgentFinish(" / ".join(turn.task for turn in [*run.history, run]))


def is_run(value, name):
    need(isinstance(value, agentloop.AgentRun), f"{name} should return the run, not {value!r}.")
    return value


def turns(exercise):
    """ask()"""
    first = is_run(exercise.ask(echo, None, "one", []), "ask()")
    need(first.output == "one", f"the first turn should be run; its output is {first.output!r}.")
    second = is_run(exercise.ask(echo, first, "two", []), "ask()")
    need(
        second.output == "one / two",
        f"in the second turn the model was shown {second.output!r}, and the first turn should "
        "come before it. run.follow_up() makes the next turn.",
    )
    third = is_run(exercise.ask(echo, second, "three", []), "ask()")
    need(third.output == "one / two / three", f"in the third turn it saw {third.output!r}.")
    need(first.output == "one", "the first turn was changed by the second: make a new one.")

    model = agentloop.Scripted(
        [agentloop.AgentAction("add", {"a": 1, "b": 2}), agentloop.AgentFinish("3")]
    )
    run = is_run(exercise.ask(model, None, "1 + 2?", [add]), "ask()")
    need([step.observation for step in run.steps] == [3], f"hand the tools on: {run.steps}")


def memory(exercise):
    """keep_last()"""
    for count in (2, 1, 3, 4, 5, 9):
        left, tasks = kept(exercise, count), list("abc")[-count:]
        hint = ""
        if count > 3 and len(left) < 3:
            hint = f" (of three, [:3 - {count}] is [:{3 - count}], which counts from the end)"
        need(
            left == tasks,
            f"of the turns a, b, c, keep_last(run, {count}) should leave {tasks}, not {left}{hint}.",
        )
    left = kept(exercise, 0)
    hint = " (history[-0:] is history[0:], which is everything)" if left == ["a", "b", "c"] else ""
    need(left == [], f"keep_last(run, 0) should leave no turn, not {left}{hint}.")


def kept(exercise, count):
    """What keep_last() leaves of three earlier turns: their tasks."""
    run = agentloop.AgentRun("d", history=[agentloop.AgentRun(task) for task in "abc"])
    exercise.keep_last(run, count)
    need(isinstance(run.history, list), f"run.history should stay a list, not {run.history!r}.")
    return [turn.task for turn in run.history]


def callbacks(exercise):
    """watch()"""
    seen = []
    run = watched(exercise, lambda kind, event: seen.append((kind, type(event).__name__)))
    need(seen, "no handler was called. stream() yields the events; call handler(kind, event).")
    wanted = [("action", "AgentAction"), ("step", "AgentStep"), ("finish", "AgentFinish")]
    need(seen == wanted, f"the handler should get {wanted}; it got {seen}.")
    need(run.output == "3", f"the run should go on to its end; it is {run.state}.")

    calls = []

    def fails(kind, event):
        calls.append(kind)
        raise OSError("the disk with the log is full")

    try:
        run = watched(exercise, fails)
    except OSError:
        raise NotYet(
            "a handler raised OSError, and that stopped the run. Catch it around the call."
        )
    need(run.output == "3", f"a handler failed, and the run did not end: it is {run.state}.")
    need(len(calls) == 3, f"a handler that failed once is still called: 3 times, not {len(calls)}.")

    def stops(kind, event):
        raise KeyboardInterrupt

    try:
        watched(exercise, stops)
    except KeyboardInterrupt:
        return
    raise NotYet("Ctrl-C in a handler does not end the run: catch Exception, not everything.")


def watched(exercise, handler):
    model = agentloop.Scripted(
        [agentloop.AgentAction("add", {"a": 1, "b": 2}), agentloop.AgentFinish("3")]
    )
    with contextlib.redirect_stdout(io.StringIO()):  # a note on a failed handler is fine
        run = exercise.watch(model, agentloop.AgentRun("1 + 2?"), [add], handler)
    return is_run(run, "watch()")


def check(exercise):
    checking.climb((turns, memory, callbacks), exercise)
    return "a conversation, a memory and callbacks: three functions, and no class."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
