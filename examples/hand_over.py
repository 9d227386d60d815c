"""A hand-over: another model goes on with the run, with other tools; and tools in two levels.

What you learn: neither model nor tools belong to a run. A call such as `hand_over(to="billing")` is
an ordinary step; the loop around stream() sees it, closes the stream, and goes on with the model
and the tools of the next desk. In the same way a tool can open a drawer of more tools, where there
are too many to show all of them from the start.

    python3 hand_over.py
    python3 hand_over.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: hand back from billing to the front desk; a drawer that can be closed again.
"""

import argparse
import sys
from pathlib import Path
from typing import List, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

Action, Step, Finish = agentloop.AgentAction, agentloop.AgentStep, agentloop.AgentFinish


def hand_over(to: Literal["billing", "repairs"]) -> str:
    """Hand the customer over to a colleague, who is shown the whole conversation."""
    return to


def refund(euros: float) -> str:
    """Pay money back to the customer."""
    return f"{euros:.2f} euros paid back"


def search_books(words: str) -> List[str]:
    """Search the library."""
    return [f"{words}: a book of 1921"]


DESKS = {"front": [hand_over], "billing": [refund, hand_over], "repairs": [hand_over]}
DRAWERS = {"money": [refund], "books": [search_books]}


def went_well(event, tool):
    """Whether this event is the step of a call to `tool` that went well."""
    return isinstance(event, Step) and event.action.tool == tool and event.status == "ok"


def drive_with_hand_over(models, run):
    """Begin at the front desk; whoever is handed the run goes on with it."""
    desk = "front"
    while run.state == "running":
        stream = agentloop.stream(models[desk], run, DESKS[desk])
        for event in stream:
            print(f"   [{desk}] {event}")
            if went_well(event, "hand_over"):
                stream.close()  # lets go of the run
                desk = event.observation
                break


def open_drawer(name: Literal["money", "books"]) -> List[str]:
    """Get the tools of one kind; they can be called from the next request on."""
    return [function.__name__ for function in DRAWERS[name]]


def drive_with_drawers(model, run):
    """Begin with one tool; each drawer that is opened adds its own."""
    tools = {"open_drawer": open_drawer}
    while run.state == "running":
        stream = agentloop.stream(model, run, tools.values())
        for event in stream:
            print(f"   {event}")
            if went_well(event, "open_drawer"):
                stream.close()
                drawer = DRAWERS[event.action.arguments["name"]]
                tools.update({function.__name__: function for function in drawer})
                break
    print("   tools at the end:", ", ".join(tools))


def following(*decisions):
    """A scripted model whose n-th decision stands for n steps, whoever made them."""
    return lambda run, tools: decisions[len(run.steps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    handing = following(Action("hand_over", {"to": "billing"}))
    paying = following(None, Action("refund", {"euros": 12.5}), Finish("You have it back."))
    models = {"front": handing, "billing": paying, "repairs": handing}
    finding = following(
        Action("refund", {"euros": 5}),  # not there yet
        Action("open_drawer", {"name": "money"}),
        Action("refund", {"euros": 5}),
        Finish("5 euros are on their way."),
    )
    if options.model:
        settings = {"base_url": options.base_url, "max_tokens": 2000}
        finding = agentloop.OpenAIChat(options.model, **settings)
        for desk in models:
            system = f"You are the {desk} desk of a shop."
            models[desk] = agentloop.OpenAIChat(options.model, system=system, **settings)

    print("A hand-over")
    run = agentloop.AgentRun("I was charged 12.50 euros twice.")
    drive_with_hand_over(models, run)
    print(f"   {run.state} after {run.requests} requests")
    print("Tools in two levels")
    drive_with_drawers(finding, agentloop.AgentRun("Pay me 5 euros back."))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
