"""The stock lookup: one tool, one run, and what becomes of each kind of call.

What you learn: a model proposes, the loop executes, and the run records both. Whatever goes wrong
(no such tool, bad arguments, a used call id, a rejected answer) is an observation that the model
reads in its next request; nothing is raised, and nothing is lost.

Run it as it stands (no network, no key), or its first part on a real model:

    python3 first_run.py
    python3 first_run.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: set the stock to 0; give the second call of part 6 another id; accept every answer.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "How many A1 can we sell?"
STOCK = {"A1": 3}


def lookup_stock(sku: str) -> dict:
    """Return the quantity that can be sold now; read-only, reserves nothing.

    Args:
        sku: the product's SKU, for example "A1".
    """
    if sku not in STOCK:
        return {"sku": sku, "error": "not found"}
    return {"sku": sku, "available": STOCK[sku]}


def call(tool, tool_input, call_id):
    return agentloop.AgentAction(tool, tool_input, call_id)


ANSWER = agentloop.AgentFinish("3 of A1 can be sold. Nothing is reserved.")
ASK = call("lookup_stock", {"sku": "A1"}, "c17")


def choose_model(scripted):
    """The scripted model, or a real one where --model is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        return agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    return scripted


def ending(run):
    return f"{run.state}: {len(run.steps)} step(s), {run.requests} request(s), {run.output!r}"


def scripted_run(*decisions, **settings):
    """Run these decisions, one for each request, and print what happened."""
    run = agentloop.run(agentloop.Scripted(decisions), TASK, [lookup_stock], **settings)
    for step in run.steps:
        print(f"   {step.status}: {step.observation}")
    print("  ", ending(run))
    return run


def nothing_is_sold_yet(run):
    """Accept the answer only where a step has reserved something."""
    if any(step.action.tool == "reserve" and step.status == "ok" for step in run.steps):
        return None
    return "Looking is not reserving: no step has reserved anything."


def main():
    print("1. The run, event by event")
    run = agentloop.AgentRun(TASK)
    model = choose_model(agentloop.Scripted([ASK, ANSWER]))
    for event in agentloop.stream(model, run, [lookup_stock]):
        print("  ", event)
    print("  ", ending(run))

    print("2. A budget of one request: the call still runs, there is no answer")
    scripted_run(ASK, ANSWER, max_requests=1)

    print("3. A tool that is not there")
    scripted_run(call("delete_stock", {"sku": "A1"}, "c18"), ANSWER)

    print("4. Arguments: a number is read as text where text is asked, a list is not")
    number, several = {"sku": 1}, {"sku": ["A1"]}
    scripted_run(
        [call("lookup_stock", number, "c19"), call("lookup_stock", several, "c20")], ANSWER
    )

    print("5. An answer that the caller does not accept: the run does not succeed")
    scripted_run(ASK, ANSWER, ANSWER, accept=nothing_is_sold_yet, max_requests=3)

    print("6. A call id that was used before: the tool is not run again")
    scripted_run(ASK, ASK, ANSWER)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
