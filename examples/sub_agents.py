"""Agents in agents: one as a tool, several side by side, a hand-over, and tools in two levels.

What you learn: an agent as a tool is a function that calls run() and answers with its output; the
parameter annotated AgentRun is the caller's run, so the requests spent inside go on its budget.
Agents that work at the same time share a budget of their own, with a lock, since a `read_only` tool
must not write to the caller's run. A hand-over is the same run resumed with another model and other
tools. And where there are too many tools to show, one tool opens a drawer of them. All of it is
run(), stream() and a for loop.

    python3 sub_agents.py
    python3 sub_agents.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: BUDGET = 4 and see what the parent gets; Budget(6) for the three that work side by
side; hand back from billing to the front desk.
"""

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import List, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

BUDGET = 10  # requests of a run, those of its sub-agents among them
Action, Finish = agentloop.AgentAction, agentloop.AgentFinish


def search(words: str) -> List[str]:
    """Search the library."""
    return [f"{words}: a book of 1921", f"{words}: a letter"]


def researcher(model, limit=3):
    """An agent with a small budget of its own, as a tool for another one."""

    def research(question: str, caller: agentloop.AgentRun) -> str:
        """Let a colleague look something up; takes a while.

        Args:
            question: one question, complete in itself: the colleague knows nothing else.
        """
        left = max(0, BUDGET - caller.requests)
        inner = agentloop.AgentRun(question)
        try:
            agentloop.run(model, inner, [search], max_requests=min(limit, left))
        finally:  # what was spent is spent, also where the model could not be reached
            caller.requests += inner.requests
            for kind, count in inner.usage.items():
                caller.usage[kind] = caller.usage.get(kind, 0) + count
        if inner.output is None:
            return f"no answer ({inner.state}); {len(inner.steps)} things were looked up"
        return inner.output

    return research


class BudgetSpent(Exception):
    """No request is left. Raised by a model before it asks anything."""


class Budget:
    """Requests that several agents share, whatever thread they are in."""

    def __init__(self, requests):
        self.left, self.lock = requests, threading.Lock()

    def of(self, model, reserve=0):
        """The model, on this budget; it leaves `reserve` requests to the others."""

        def ask(run, tools):
            with self.lock:  # looked at and taken in one go: two can never have the last one
                if self.left <= reserve:
                    raise BudgetSpent(f"{self.left} requests are left, {reserve} are reserved")
                self.left -= 1
            return model(run, tools)

        return ask


def side_by_side(model, budget, report):
    """A tool like research, for several at once: calls of one reply run at the same time.

    report(name, event) gets what happens inside, as it happens, from several threads.
    """
    # Two requests are kept for the one who asked: it has to read the answers and to conclude.
    model = budget.of(model, reserve=2)

    @agentloop.tool(read_only=True)
    def look_up(question: str) -> str:
        """Let a colleague look something up; ask several at once for several questions.

        Args:
            question: one question, complete in itself: the colleague knows nothing else.
        """
        inner = agentloop.AgentRun(question)
        try:
            for event in agentloop.stream(model, inner, [search], max_requests=3):
                report(question, event)
        except BudgetSpent as spent:
            return f"no answer: {spent}"
        return inner.output or f"no answer ({inner.state})"

    return look_up


def hand_over(to: Literal["billing", "repairs"]) -> str:
    """Hand the customer over to a colleague, who gets the whole conversation."""
    return to


def refund(euros: float) -> str:
    """Pay money back to the customer."""
    return f"{euros:.2f} euros paid back"


def done(event, tool):
    """Whether this event is the step of a call to `tool` that went well."""
    step = isinstance(event, agentloop.AgentStep)
    return step and event.action.tool == tool and event.status == "ok"


def drive_with_hand_over(models, run):
    """Drive the run with the front desk's model and tools until a call hands it over."""
    desks = {"front": [hand_over], "billing": [refund], "repairs": []}
    desk = "front"
    while run.state == "running":
        stream = agentloop.stream(models[desk], run, desks[desk], max_requests=BUDGET)
        for event in stream:
            print(f"   [{desk}] {event}")
            if done(event, "hand_over"):
                desk = event.observation
                stream.close()  # the next desk resumes the same run
                break


DRAWERS = {"money": [refund], "books": [search]}


def open_drawer(name: Literal["money", "books"]) -> List[str]:
    """Get the tools of one kind; they can be called from the next request on."""
    return [function.__name__ for function in DRAWERS[name]]


def drive_with_drawers(model, run):
    """Begin with one tool; each drawer that is opened adds its own."""
    tools = [open_drawer]
    while run.state == "running":
        stream = agentloop.stream(model, run, tools, max_requests=BUDGET)
        for event in stream:
            print(f"   {event}")
            if done(event, "open_drawer"):
                every = [function for drawer in DRAWERS.values() for function in drawer]
                opened = [each for each in every if each.__name__ in event.observation]
                tools = tools + [each for each in opened if each not in tools]
                stream.close()
                break
    print("   tools shown at the end:", ", ".join(function.__name__ for function in tools))


def choose_model(options, system=None):
    """A real model where --model is given."""
    if not options.model:
        return None
    return agentloop.OpenAIChat(
        options.model, base_url=options.base_url, max_tokens=1000, system=system
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()

    def choose(*decisions, system=None):
        """A real model where --model is given; else one that follows this script.

        It counts steps, not requests as agentloop.Scripted does: those of a colleague count too.
        """
        return choose_model(options, system) or (lambda run, tools: decisions[len(run.steps)])

    print("An agent as a tool:")
    inner = choose(Action("search", {"words": "lighthouse"}), Finish("It was built in 1921."))
    outer = choose(
        Action("research", {"question": "When was the lighthouse built?"}),
        Finish("In 1921, says my colleague."),
    )
    run = agentloop.AgentRun("Find out when our lighthouse was built.")
    for event in agentloop.stream(outer, run, [researcher(inner)], max_requests=BUDGET):
        print("  ", event)
    print(f"   {run.state}: {run.requests} requests of {BUDGET}, the colleague's among them")

    print("Agents side by side:")
    titles = ["the bridge", "the harbour", "the station"]
    budget = Budget(10)

    def slow_reader(run, tools):
        time.sleep(0.05)  # a request takes its time; the three of them wait together
        if not run.steps:
            return Action("search", {"words": run.task})
        return Finish(f"{run.task}: there is a book of 1921")

    reader = choose_model(options, system="Search once, then answer.") or slow_reader
    outer = choose(
        [Action("look_up", {"question": title}) for title in titles],
        None,  # three steps at once: the next decision is the one after them
        None,
        Finish("All 1921."),
    )
    tools = [
        side_by_side(reader, budget, lambda who, event: print(f"   [{who}] {event}\n", end=""))
    ]
    run = agentloop.AgentRun("When were the bridge, the harbour and the station built?")
    began = time.monotonic()
    try:
        for event in agentloop.stream(budget.of(outer), run, tools, max_requests=BUDGET):
            print(f"   {event}")
    except BudgetSpent as spent:
        print(f"   the run stops: {spent}")
    print(f"   {run.state} after {time.monotonic() - began:.1f} s, {budget.left} requests are left")

    print("A hand-over:")
    front = choose(Action("hand_over", {"to": "billing"}), system="You are the front desk.")
    billing = choose(
        None,  # the first step is the front desk's
        Action("refund", {"euros": 12.5}),
        Finish("You have 12.50 euros back."),
        system="You are billing. Pay back what was charged twice.",
    )
    run = agentloop.AgentRun("I was charged 12.50 euros twice.")
    drive_with_hand_over({"front": front, "billing": billing, "repairs": front}, run)
    print(f"   {run.state}: {run.requests} requests")

    print("Tools in two levels:")
    model = choose(
        Action("refund", {"euros": 5}),  # not there yet
        Action("open_drawer", {"name": "money"}),
        Action("refund", {"euros": 5}),
        Finish("5 euros are on their way."),
    )
    drive_with_drawers(model, agentloop.AgentRun("Pay me 5 euros back."))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
