"""A run that goes in circles: notice it, give the model a hint, stop where that does not help.

What you learn: "no progress" can be read from `run.steps`. Two kinds are common. The same call
brings the same result again and again; or a tool reports its failures as text ("error: ..."), with
status ok, whatever the model tries. The remedy is a `for` loop around stream(): the next call of
that kind is closed, not run, and its observation is a hint. After a few hints the loop stops.

    python3 no_progress.py
    python3 no_progress.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: HINTS = 0; a tool such as `wait`, which may be called again, and is left alone.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

SAME = 3  # so often a call may bring the same result
ERRORS = 3  # so many results in a row may be errors
HINTS = 2  # so many replies are answered with a hint before the loop stops


def times_without_news(steps, action):
    """How often this very call has brought what it brought the last time."""
    call = (action.tool, action.arguments)
    done = [step for step in steps if (step.action.tool, step.action.arguments) == call]
    results = [step.observation for step in done if step.status != "no_progress"]
    return results.count(results[-1]) if results else 0


def is_error(step):
    """A call that failed, or an error in words: "Error: no route" or {"error": "no route"}."""
    words = str(step.observation).lower()
    return step.status != "ok" or words.startswith(("error", "failed", "{'error"))


def errors_in_a_row(steps):
    """How many results, counted from the last one back to the last hint, are errors."""
    count = 0
    for step in reversed(steps):
        if step.status == "no_progress" or not is_error(step):
            break
        count += 1
    return count


def hint_for(run, action):
    """What the model reads in place of this call's result; None where the call may run."""
    same = times_without_news(run.steps, action)
    if same >= SAME:
        return f"Not run: this call has brought the same result {same} times. Try another way."
    errors = errors_in_a_row(run.steps)
    if errors >= ERRORS:
        return f"Not run: the last {errors} results were errors. Say so, or try another way."
    return None


def drive(model, run, tools):
    """Run it, with hints where nothing new comes. Return how it ended, in words."""
    events = agentloop.stream(model, run, tools, max_requests=30)
    for event in events:
        if not isinstance(event, agentloop.AgentAction):
            print("  ", event)
            continue
        hint = hint_for(run, event)
        hinted = {step.action.request for step in run.steps if step.status == "no_progress"}
        if hint and len(hinted - {event.request}) >= HINTS:
            events.close()  # lets go of the run, which keeps all its steps
            return "stopped, no progress"
        if hint:
            run.close(event, hint, "no_progress")
    return run.state


def list_files(folder: str = ".") -> list:
    """List the files of a folder."""
    return ["notes.txt"]


def find_train(city: str) -> str:
    """Find the next train to a city."""
    return f"error: the timetable of {city} is not available"


def sensible(run, tools):
    """A scripted model that lists one folder over and over, until a hint makes it think."""
    if run.steps and run.steps[-1].status == "no_progress":
        return agentloop.AgentFinish("There is no report.txt here, only notes.txt.")
    return agentloop.AgentAction("list_files", {"folder": "."})


def stubborn(run, tools):
    """A scripted model that tries one city after the other, whatever the hints say."""
    return agentloop.AgentAction("find_train", {"city": f"city {len(run.steps) + 1}"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    for model, task in [
        (sensible, "Wait until there is a report.txt, then say so."),
        (stubborn, "Find me a train to any city in the south."),
    ]:
        if options.model:
            model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
        print(task)
        run = agentloop.AgentRun(task)
        print(f"   {drive(model, run, [list_files, find_train])} after {run.requests} requests")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
