"""Errors that help: structured, retried where that can help, and fixed by the model.

What you learn: a tool's exception is an observation, so its text should say what is wrong and what
to do about it. Faults that pass by themselves (a broken connection) are retried inside the tool,
without a request; faults of the call are not, the model has to change it. The same holds for a
reply that could not be read: it is an observation too, never an exception of the run.

    python3 error_feedback.py
    python3 error_feedback.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: let the line break four times; retry BadDate too, and count the calls.
"""

import argparse
import datetime
import functools
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


class ToolFault(Exception):
    """An error as a small JSON object: a code, what is wrong, and what to do."""

    def __init__(self, code, problem, fix):
        super().__init__(json.dumps({"error": code, "problem": problem, "do": fix}))


def retried(function, *, on=(ConnectionError, TimeoutError), times=3, wait=0.01):
    """The same tool, called up to `times` times, but only for faults that may pass."""

    @functools.wraps(function)  # keeps the signature, so the model is offered the same tool
    def again(*args, **kwargs):
        for attempt in range(1, times + 1):
            try:
                return function(*args, **kwargs)
            except on as error:
                if attempt == times:
                    fix = "Do not call it again now; say that the service is down."
                    raise ToolFault("unavailable", f"{times} times {error!r}", fix) from error
                time.sleep(wait * attempt)  # a real service wants seconds here

    return again


CALLS = []  # each time that the function below was really called
BROKEN = {"left": 2}  # how often the line will still break


def trains(start: str, to: str, day: str) -> list:
    """Return the trains between two stations on one day.

    Args:
        start: the station where the journey begins.
        to: the station where it ends.
        day: the day as YYYY-MM-DD.
    """
    CALLS.append(day)
    if BROKEN["left"]:
        BROKEN["left"] -= 1
        raise ConnectionError("the line broke")
    try:
        datetime.date(*map(int, day.split("-")))
    except (TypeError, ValueError):
        raise ToolFault("bad_day", f"{day!r} is no day", "Write it as YYYY-MM-DD.") from None
    if start == to:
        raise ToolFault("same_station", f"from {start} to {to}", "Ask for two stations.")
    return ["08:12", "10:12"]


def ask(**arguments):
    return agentloop.AgentAction("trains", arguments)


SCRIPTED = agentloop.Scripted(
    [
        agentloop.InvalidResponse("That was no JSON: it ends in the middle of a string."),
        ask(start="Lyon", to="Nice", day="June 5th"),  # the line breaks twice, then: bad_day
        ask(start="Lyon", to="Nice", date="2026-06-05"),  # a name that the tool does not have
        ask(start="Lyon", to="Nice", day="2026-06-05"),
        agentloop.AgentFinish("There are trains at 08:12 and 10:12."),
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
    run = agentloop.AgentRun("When do trains go from Lyon to Nice on June 5th, 2026?")
    for event in agentloop.stream(model, run, [retried(trains)]):
        if isinstance(event, agentloop.AgentStep):
            print(f"{event.status}: {event.observation}")
            print(f"   (so far the function was called {len(CALLS)} times)")
    print(f"{run.state} after {run.requests} requests: {run.output}")

    BROKEN["left"] = 9
    once = agentloop.Scripted([ask(start="Lyon", to="Nice", day="2026-06-05")])
    run = agentloop.run(once, "And now?", [retried(trains)], max_requests=1)
    print(f"a line that stays broken: {run.steps[0].status}: {run.steps[0].observation}")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
