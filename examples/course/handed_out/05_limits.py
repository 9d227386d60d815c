"""A limit of your own. The provider bills tokens, so a run should end when they are used up.

run_within() drives a run to its end; only the budget of requests stops it. Change it so that it
also stops as soon as the run's input tokens and output tokens together come to max_tokens or more.
It should return the run and why it ended, one of three words:

    "answer"    the model answered
    "budget"    the requests were used up
    "tokens"    the tokens were used up

agentloop.stream(), called like agentloop.run(), gives the events as they happen: a `for` loop over
it can look at run.usage at each of them, and leave. run.state tells the rest.

    python3 check.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def run_within(model, task, tools, max_requests, max_tokens):
    run = agentloop.AgentRun(task)
    agentloop.run(model, run, tools, max_requests=max_requests)
    return run, "answer"
