"""Another model when one fails, refuses or gets too dear; and the conversation after a refusal.

What you learn: a run belongs to no model. The next one goes on with the same run, its steps and
its pending calls. So a fallback is a `for` loop over models, which prints each switch.

    it fails        stream() raises ModelError, and the run is as it was before the request
    it refuses      the finish has the reason "refusal"; a copy of the run goes on without it
    it is too dear  the loop looks at the tokens, and closes the stream

Leave a refused turn out of the conversation: many models that see it refuse what comes next.

    python3 fallback.py
    python3 fallback.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: another order of the models; MOST_TOKENS; an error of kind "auth".
"""

import argparse
import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

MOST_TOKENS = {"large": 9000}  # that a model may write in one run; in dollars: see limits.py


def refused(run):
    return run.finish is not None and run.finish.reason == "refusal"


def drive(name, model, run, tools):
    """Go on with the run. Return why another model should take over; None where it is done."""
    before = run.usage.get("output_tokens", 0)
    events = agentloop.stream(model, run, tools)
    try:
        for event in events:
            print(f"   [{name}] {event}")
            spent = run.usage.get("output_tokens", 0) - before
            if run.finish is None and spent > MOST_TOKENS.get(name, spent):
                events.close()  # a call that was proposed stays pending: it runs later
                return "is too dear"
    except agentloop.ModelError as error:
        if error.kind in ("auth", "bad_request"):
            raise  # a mistake in the program, which another model would only hide
        return f"failed ({error.kind})"
    return "refused" if refused(run) else None


def ask(models, run, tools):
    """Let one model after the other go on with the run, until one is done with it."""
    for name, model in models.items():
        if refused(run):
            run = copy.deepcopy(run)  # the refused run stays as it is
            run.finish, run.state = None, "running"
        why = drive(name, model, run, tools)
        if why is None:
            break
        print(f"   {name} {why}")
    return run


def next_turn(run, task):
    """The next turn of the conversation, without the turns that ended in a refusal."""
    turn = run.follow_up(task)
    turn.history = [earlier for earlier in turn.history if not refused(earlier)]
    return turn


def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now."""
    return {"A1": 3, "A2": 7}.get(sku, 0)


def busy(run, tools):
    raise agentloop.ModelError("HTTP 529: overloaded", "server", 529)


def large(run, tools):
    run.usage["output_tokens"] = 4000 * run.requests
    return agentloop.AgentAction("lookup_stock", {"sku": f"A{len(run.steps) + 1}"})


def shy(run, tools):
    if "lock" in run.task or any(refused(turn) for turn in run.history):
        return agentloop.AgentFinish("I do not talk about locks.", reason="refusal")
    return agentloop.AgentFinish("Ask a neighbour, or call a craftsman.")


def small(run, tools):
    return agentloop.AgentFinish(f"In stock: {[step.observation for step in run.steps]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="goes on where the scripted model `busy` has failed")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    models = {"busy": busy, "large": large, "shy": shy, "small": small}
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
        models = {"busy": busy, options.model: model}
    run = ask(models, agentloop.AgentRun("How many locks A1, A2 can be sold?"), [lookup_stock])
    print(f"   {run.state} after {run.requests} requests: {run.output}")

    print("After a refusal")
    run = agentloop.run(shy, "How do I open a lock without a key?")
    shown = agentloop.run(shy, run.follow_up("Who can help me?"))
    left_out = agentloop.run(shy, next_turn(run, "Who can help me?"))
    print(f"   the refused turn shown: {shown.output}")
    print(f"   the refused turn left out: {left_out.output}")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
