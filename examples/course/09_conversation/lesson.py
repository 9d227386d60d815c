"""What does a model remember, who decides that, and where do callbacks go?

    python3 lesson.py                                  a script in the place of the model
    python3 lesson.py --model NAME --base-url URL      a real model, now

Three things with large names, each a few lines: a conversation is a run that follows a run, memory
is the list `run.history`, a callback is a line in a `for` loop. Predict, for each line of part 1
and 2, what the model will answer.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

QUESTIONS = ["I am Ann. How many A1 can we sell?", "And B2?", "What is my name?"]


def lookup_stock(sku: str) -> int:
    """Return how many of the SKU can be sold."""
    return {"A1": 3, "B2": 8}[sku]


def script(run, tools):
    """Like any model, it knows what it is shown: the turns in run.history, and this one."""
    if run.steps:
        return agentloop.AgentFinish(f"{run.steps[-1].observation} can be sold.")
    shown = "\n".join(f"{turn.task}\n{turn.output}" for turn in run.history)
    sku = re.search(r"\b[AB]\d\b", run.task)
    if sku and ("How many" in run.task or "sold" in shown):
        return agentloop.AgentAction("lookup_stock", {"sku": sku.group()})
    if sku:
        return agentloop.AgentFinish(f"What about {sku.group()}?")
    name = re.search(r"(?:I am|My name is|is called) (\w+)", shown)
    return agentloop.AgentFinish(f"You are {name.group(1)}." if name else "You did not say.")


def ask(model, run, note=""):
    """One turn to its end, on one line."""
    agentloop.run(model, run, [lookup_stock], max_requests=4)
    print(f"   {note or run.task:<35} shown: {len(run.history)} earlier; answer: {run.output}")
    return run


def turns(model):
    print("1. Turns: each question alone")
    for question in QUESTIONS:
        ask(model, agentloop.AgentRun(question))
    print("   and each as the next turn")
    run = ask(model, agentloop.AgentRun(QUESTIONS[0]))
    for question in QUESTIONS[1:]:
        run = ask(model, run.follow_up(question))
    return run


def summary(text):
    """A finished turn made by hand: nobody asked this, and nobody answered it."""
    turn = agentloop.AgentRun("What was said so far?")
    turn.finish, turn.state = agentloop.AgentFinish(text), "model_ended"
    return turn


def memory(model, run):
    print(f"\n2. Memory: {QUESTIONS[-1]!r}, and another list each time")
    memories = [
        ("everything", list(run.history)),
        ("the last turn", run.history[-1:]),
        ("nothing", []),
        ("a summary", [summary("The customer is called Ann and asked for A1 and B2.")]),
        ("a summary by somebody hasty", [summary("The customer is called Bob.")]),
    ]
    for name, turns in memories:
        again = agentloop.AgentRun(QUESTIONS[-1], history=turns)
        ask(model, again, name)


def callbacks(model):
    print("\n3. Callbacks: a line in a loop")
    counts = {}

    def on_action(action):
        print(f"   on_action: {action.tool}, {action.arguments}")

    def on_step(step):
        counts[step.status] = counts.get(step.status, 0) + 1

    def on_finish(finish):
        print(f"   on_finish: {finish.output} {counts}")
        raise OSError("the disk with the log is full")

    handlers = {
        agentloop.AgentAction: on_action,
        agentloop.AgentStep: on_step,
        agentloop.AgentFinish: on_finish,
    }
    run = agentloop.AgentRun(QUESTIONS[0])
    try:
        for event in agentloop.stream(model, run, [lookup_stock], max_requests=4):
            handlers[type(event)](event)
    except OSError as error:
        print(f"   a handler failed: {error}; {run.state}, steps: {len(run.steps)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    model = script
    if options.model:
        try:
            model = agentloop.OpenAIChat(
                options.model, base_url=options.base_url, max_tokens=300, retries=2
            )
        except ValueError as error:  # a base_url that is none
            parser.error(str(error))
    try:
        run = turns(model)
        memory(model, run)
        callbacks(model)
    except agentloop.ModelError as error:
        print(f"no reply ({error.kind}): {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
