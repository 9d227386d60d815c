"""Drives three models with your run_within(): one that answers, one without end, one that costs.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402

import agentloop  # noqa: E402


def read_page(number: int) -> str:
    """Return the text of one page."""
    return f"page {number}"


class Reader:
    """Reads so many pages and answers; each request costs 90 input and 10 output tokens.

    Of the 90, 50 are cached: they are counted once more under a name of their own.
    """

    def __init__(self, pages):
        self.pages, self.asked = pages, 0

    def __call__(self, run, tools):
        self.asked += 1
        for name, count in (("input_tokens", 90), ("output_tokens", 10), ("cached_tokens", 50)):
            run.usage[name] = run.usage.get(name, 0) + count
        if len(run.steps) == self.pages:
            return agentloop.AgentFinish("read")
        return agentloop.AgentAction("read_page", {"number": len(run.steps) + 1})


def drive(exercise, pages, max_requests, max_tokens):
    """The run and the word for its end, and how often the model was asked."""
    model = Reader(pages)
    result = exercise.run_within(model, "Read.", [read_page], max_requests, max_tokens)
    pair = isinstance(result, tuple) and len(result) == 2
    need(pair, f"run_within() should return the run and a word, not {result!r}.")
    run, why = result
    need(isinstance(run, agentloop.AgentRun), f"the first of the two is {run!r}, not the run.")
    return run, why, model.asked


def check(exercise):
    run, why, asked = drive(exercise, pages=2, max_requests=10, max_tokens=10_000)
    need(run.output == "read", f"the model had an answer, and the run ended before: {run.state}")
    need(why == "answer", f"the model answered, and the word is {why!r}.")

    run, why, asked = drive(exercise, pages=99, max_requests=4, max_tokens=10_000)
    need(asked == 4, f"with max_requests=4 the model was asked {asked} times.")
    need(why == "budget", f"the requests were used up ({run.state}), and the word is {why!r}.")

    run, why, asked = drive(exercise, pages=99, max_requests=20, max_tokens=300)
    need(asked != 20, "300 tokens were allowed, a request takes 100, and 20 requests were made.")
    need(
        asked != 2,
        "300 tokens are used up after 3 requests, and the model was asked 2 times. cached_tokens "
        "are a part of the input_tokens: do not add them.",
    )
    need(asked == 3, f"300 tokens are used up after 3 requests; the model was asked {asked} times.")
    need(why == "tokens", f"the tokens were used up, and the word is {why!r}.")

    # What was interrupted can be resumed: that is the difference to an exception.
    gc.collect()  # on PyPy a stream that was left lets go of its run only now
    agentloop.run(Reader(5), run, [read_page], max_requests=20)
    need(run.output == "read", f"the run that you interrupted could not go on: {run.state}")
    need(len(run.steps) == 5, f"the run that you interrupted went on with {len(run.steps)} steps.")
    return "three endings, each with its name, and an interrupted run that can go on."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
