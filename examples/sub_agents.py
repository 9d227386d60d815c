"""Agents in agents: colleagues that work at the same time, on one budget, and can be watched.

What you learn: an agent as a tool is a function that drives a run of its own and returns the
output. It only reads, so `read_only=True` lets several such calls of one reply run at the same
time. They share one budget: each request is taken from it before it is made, under a lock, so that
two never take the last one. Some is kept in reserve, for the answer of the agent that asked. And
the colleague's events are there as they happen, to be shown.

    python3 sub_agents.py
    python3 sub_agents.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: RESERVE = 0; read_only=False, and the time it takes; a colleague with colleagues.
Where calls run in turn, a tool can go without Budget: a parameter annotated AgentRun is the run of
the caller, and the tool adds what it spent to its `requests` and `usage`.
"""

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

RESERVE = 1  # requests that only the agent itself may use
PLACES = ["lighthouse", "harbour", "town hall"]
LOCK = threading.Lock()


def say(text):
    with LOCK:  # one line at a time, whichever thread has something to say
        print(f"   {text}", flush=True)


class BudgetSpent(Exception):
    """The requests that an agent and its sub-agents share are used up."""


class Budget:
    """Requests for an agent and all its sub-agents together."""

    def __init__(self, requests):
        self.left = requests
        self.lock = threading.Lock()

    def metered(self, model, reserve=0):
        """The same model, which takes each request from the budget, and leaves `reserve` of it."""

        def ask(run, tools):
            with self.lock:
                if self.left <= reserve:
                    raise BudgetSpent(f"no request is left for: {run.task}")
                self.left -= 1
            return model(run, tools)

        return ask


def search(words: str) -> List[str]:
    """Search the library."""
    return [f"{words}: a book of 1921"]


def researcher(model):
    """A colleague, as a tool. What stops the colleague is a tool_error for the agent that asked."""

    @agentloop.tool(read_only=True)
    def research(question: str) -> str:
        """Let a colleague look something up. Several questions in one reply are done together.

        Args:
            question: one question, complete in itself: the colleague knows nothing else.
        """
        run = agentloop.AgentRun(question)
        for event in agentloop.stream(model, run, [search], max_requests=3):
            say(f"[{question}] {event}")
        if run.output is None:
            return f"no answer ({run.state}); {len(run.steps)} things were looked up"
        return run.output

    return research


def colleague(run, tools):
    """A scripted model: one search, then an answer; it takes its time."""
    time.sleep(0.1)
    if not run.steps:
        return agentloop.AgentAction("search", {"words": run.task})
    return agentloop.AgentFinish("1921")


def chief(run, tools):
    """A scripted model: asks three colleagues in one reply, then sums up."""
    if not run.steps:
        return [agentloop.AgentAction("research", {"question": place}) for place in PLACES]
    known = [step.action.arguments["question"] for step in run.steps if step.status == "ok"]
    return agentloop.AgentFinish(f"Built in 1921: {len(known)} of {len(PLACES)}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    models = [chief, colleague]
    if options.model:
        settings = {"base_url": options.base_url, "max_tokens": 2000}
        models = [agentloop.OpenAIChat(options.model, **settings)] * 2
    for requests in (10, 6):
        print(f"A budget of {requests} requests")
        budget = Budget(requests)
        tools = [researcher(budget.metered(models[1], RESERVE))]
        run = agentloop.AgentRun(f"When were these built: {', '.join(PLACES)}? Ask colleagues.")
        began = time.monotonic()
        try:
            agentloop.run(budget.metered(models[0]), run, tools)
        except BudgetSpent as error:
            say(f"BudgetSpent: {error}")
        seconds = time.monotonic() - began
        say(f"{run.state}: {run.output} {requests - budget.left} requests in {seconds:.1f} s")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
