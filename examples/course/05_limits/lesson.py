"""What ends a run that does not end by itself, and what is left of it?

    python3 lesson.py

The model here looks at page after page, without end. Four ways to deal with that. Predict for each:
the state, and how many steps are kept.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

SECONDS = 0.2  # the time limit of the third part


def read_page(number: int) -> str:
    """Return the text of one page."""
    time.sleep(0.03)
    return f"page {number}: nothing yet"


def model(run, tools):
    """Without tools it has to answer; else it wants one page more."""
    if not tools:
        return agentloop.AgentFinish(f"found nothing on {len(run.history[-1].steps)} pages")
    return agentloop.AgentAction("read_page", {"number": len(run.steps) + 1})


def show(what, run):
    counts = f"requests: {run.requests}, steps: {len(run.steps)}"
    print(f"{what}: {run.state}; {counts}; output: {run.output}")


def main():
    # 1. The budget. It is not optional: there is no way to say "no limit".
    run = agentloop.run(model, "Find the recipe.", [read_page], max_requests=3)
    show("1. budget of 3", run)

    # 2. The same run goes on with a larger budget. 5 is the sum, not 5 more.
    agentloop.run(model, run, [read_page], max_requests=5)
    show("2. the same run, once more", run)

    # 3. Any other limit is a `for` loop around stream(). Leaving it loses nothing.
    clock = agentloop.AgentRun("Find the recipe.")
    started = time.monotonic()
    for _event in agentloop.stream(model, clock, [read_page], max_requests=100):
        if time.monotonic() - started > SECONDS:
            break
    show("3. the clock", clock)

    # 4. "Answer with what you have": one more turn, without tools, with a budget of its own.
    last = run.follow_up("Answer now with what you have.")
    agentloop.run(model, last, [], max_requests=1)
    show("4. the last word", last)


if __name__ == "__main__":
    main()
