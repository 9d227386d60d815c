"""Agents in agents: one as a tool, a hand-over, and tools in two levels.

What you learn: an agent as a tool is a function that calls run() and answers with its output; the
parameter annotated AgentRun is the caller's run, so the requests spent inside go on its budget. A
hand-over is the same run taken up with another model and other tools. And where there are too many
tools to show, one tool opens a drawer of them. All of it is run(), stream() and a for loop.

    python3 sub_agents.py
    python3 sub_agents.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: BUDGET = 4 and see what the parent gets; hand back from billing to the front desk.
"""

import argparse
import sys
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


def hand_over(to: Literal["billing", "repairs"]) -> str:
    """Hand the customer over to a colleague, who is told the whole conversation."""
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
                stream.close()  # the next desk takes the same run up
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()

    def choose(*decisions, system=None):
        """A real model where --model is given; else one that follows this script.

        It counts steps, not requests as agentloop.Scripted does: those of a colleague count too.
        """
        if not options.model:
            return lambda run, tools: decisions[len(run.steps)]
        return agentloop.OpenAIChat(
            options.model, base_url=options.base_url, max_tokens=2000, system=system
        )

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
