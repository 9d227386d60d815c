"""Say something to a running agent; go back and take another way.

What you learn: between two events the run is yours. To say something, close the stream and take the
next turn: `run.follow_up("By train, please.")` keeps all that was done, closes what was proposed
and not run, and is the conversation that the model sees from now on. To go back, copy the run and
cut its steps after a request: the copy is a run of its own, which goes on from there. So a run
can be steered while it works, and tried in several ways from one point.

    python3 steering.py
    python3 steering.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: two remarks at once; a fork at request 0; a journal for each fork. Only the run goes
back: what its tools have done to the world stays done (here: a booking is never taken back).
"""

import argparse
import queue
import sys
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

BUDGET = 8  # requests, over all turns
PRICES = {"flight": 220, "train": 140, "bus": 90}
Means = Literal["flight", "train", "bus"]


def find(means: Means) -> str:
    """Look up what the journey costs; books nothing."""
    return f"{means}: {PRICES[means]} euros"


def book(means: Means) -> str:
    """Book the journey. This cannot be undone."""
    return f"booked: {means}"


def drive(model, run, tools, remarks):
    """Run it; whatever the user puts into `remarks` meanwhile is said as the next turn."""
    while True:
        spent = sum(turn.requests for turn in run.history)
        events = agentloop.stream(model, run, tools, max_requests=max(0, BUDGET - spent))
        for event in events:
            print("  ", event)
            if not remarks.empty():
                events.close()  # a call that is shown and has not run will not run
                run = run.follow_up(remarks.get())
                print(f"   user: {run.task}")
                break
        else:
            return run


def fork(run, request):
    """A copy of the run as it was after that request and its calls; the run stays as it is."""
    copied = agentloop.from_json(agentloop.to_json(run))  # or copy.deepcopy(run)
    copied.steps = [step for step in copied.steps if step.action.request <= request]
    copied.pending, copied.started = [], []
    copied.requests = request
    copied.finish, copied.state = None, "running"
    return copied


def scripted(run, tools):
    """Looks up and books what the user said last; a flight where nothing was said."""
    said = [turn.task for turn in [*run.history, run]]
    wish = [means for text in said for means in PRICES if means in text]
    means = wish[-1] if wish else "flight"
    results = [step.observation for turn in [*run.history, run] for step in turn.steps]
    if f"{means}: {PRICES[means]} euros" not in results:
        return agentloop.AgentAction("find", {"means": means})
    if "book" in tools and f"booked: {means}" not in results:
        return agentloop.AgentAction("book", {"means": means})
    return agentloop.AgentFinish(f"By {means}, for {PRICES[means]} euros.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    model = scripted
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)

    print("Something is said while it works")
    remarks = queue.Queue()  # filled by another thread: a chat window, a web page, input()

    def with_user(run, tools):
        """The model; the user speaks up when the first price has come."""
        if len(run.steps) == 1 and not run.history:
            remarks.put("Not by plane, please: by train.")
        return model(run, tools)

    run = drive(with_user, agentloop.AgentRun("Book my journey to Rome."), [find, book], remarks)
    first = run.history[0]
    print(f"   {run.state}: {run.output}")
    print(f"   the first turn: {[f'{s.action.tool} {s.status}' for s in first.steps]}")

    print("Back to where the first request was done, and on in three ways")
    for means in PRICES:
        turn = fork(first, 1).follow_up(f"What would it be by {means}?")
        agentloop.run(model, turn, [find], max_requests=3)  # what cannot be undone is left out
        print(f"   {means}: {turn.output}")
    print(f"   the run that was forked still has {len(first.steps)} steps")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
