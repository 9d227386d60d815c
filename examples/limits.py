"""Limits of time, tokens and money, a tool that hangs, a stop button, and one last request.

What you learn: agentloop has one limit of its own, the budget of requests. Every other limit is an
`if` in the for loop around stream(). Breaking off loses nothing: the run holds all steps, can be
taken up again, and can be asked for an answer with what it has.

    python3 limits.py
    python3 limits.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: give LIMIT_OF_TOOL 5 seconds; raise the limit and take the same run up once more.
A limit in the loop is looked at between events; OpenAIChat(timeout=...) bounds a silent server.
"""

import argparse
import functools
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

LIMIT_OF_TOOL = 0.1  # seconds
PRICE = {"input_tokens": 3e-6, "output_tokens": 15e-6}  # dollars for each token


def read_page(number: int) -> str:
    """Return one page of the report; pages begin at 1."""
    time.sleep(0.02)
    return f"page {number}: nothing new"


def print_report() -> str:
    """Print the whole report on paper."""
    time.sleep(60)  # hangs: somebody has to refill the tray
    return "printed"


def within(seconds, function):
    """The same tool, given up after `seconds`. Its thread cannot be killed and may still finish."""

    @functools.wraps(function)  # keeps the signature, so the model is told of the same tool
    def limited(*args, **kwargs):
        box = []

        def work():
            try:
                box.append((True, function(*args, **kwargs)))
            except Exception as error:
                box.append((False, error))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)
        if not box:
            raise TimeoutError(f"timed out after {seconds} s, effect unknown: find out first")
        good, value = box[0]
        if not good:
            raise value
        return value

    return limited


def cost(run):
    return sum(price * run.usage.get(kind, 0) for kind, price in PRICE.items())


def run_within(model, run, tools, *, seconds=None, tokens=None, dollars=None, stop=None):
    """Drive the run until it ends or a limit is reached, and return which, in words."""
    deadline = None if seconds is None else time.monotonic() + seconds
    stream = agentloop.stream(model, run, tools, max_requests=50)
    for _ in stream:
        reached = None
        if stop is not None and stop.is_set():
            reached = "stopped by the user"
        elif deadline is not None and time.monotonic() > deadline:
            reached = f"time limit of {seconds} s reached"
        elif tokens is not None and sum(run.usage.get(kind, 0) for kind in PRICE) > tokens:
            reached = f"token limit of {tokens} reached"
        elif dollars is not None and cost(run) > dollars:
            reached = f"cost limit of ${dollars} reached"
        if reached and run.state == "running":
            stream.close()  # lets go of the run
            return reached
    return run.state


def last_answer(model, run, tools):
    """One last request: answer with what you have. A call that it asks for is closed, not run."""
    turn = run.follow_up("Stop here. Answer now, with what you have; no more calls.")
    for event in agentloop.stream(model, turn, tools, max_requests=1):
        if isinstance(event, agentloop.AgentAction):
            turn.close(event, "no time left for this", "not_executed")
    return turn


def reader(run, tools):
    """A model that turns one page after the other and never ends by itself."""
    run.usage["input_tokens"] = run.usage.get("input_tokens", 0) + 900 + 100 * len(run.steps)
    run.usage["output_tokens"] = run.usage.get("output_tokens", 0) + 20
    if run.history:  # the last request, after the first turn was broken off
        return agentloop.AgentFinish("Nothing new on the pages that I have read; not all are.")
    if "on paper" in run.task and not run.steps:
        return agentloop.AgentAction("print_report", {})
    if "on paper" in run.task:
        return agentloop.AgentFinish("I do not know whether it was printed; please look.")
    return agentloop.AgentAction("read_page", {"number": len(run.steps) + 1})


def choose_model(scripted):
    """The scripted model, or a real one where --model is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        return agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
    return scripted


def main():
    model = choose_model(reader)
    tools = [read_page, within(LIMIT_OF_TOOL, print_report)]
    button = threading.Event()
    patience = 0.3 if model is reader else 10  # seconds
    for title, limits in [
        ("time", {"seconds": patience}),
        ("tokens", {"tokens": 5000}),
        ("cost", {"dollars": 0.02}),
        ("stop button", {"stop": button}),
    ]:
        if "stop" in limits:
            threading.Timer(patience, button.set).start()  # in life a web page, or a signal
        run = agentloop.AgentRun("Read the report, page by page, and tell me what is new.")
        print(f"{title}: {run_within(model, run, tools, **limits)}")
        print(f"   state {run.state}, steps kept: {'yes' if run.steps else 'none'}")
    turn = last_answer(model, run, tools)
    print(f"one last request: {turn.state}, {turn.requests} request: {turn.output}")

    run = agentloop.AgentRun("Print the report on paper.")
    print("a tool that hangs:", run_within(model, run, tools))
    for step in run.steps:
        print(f"   {step.status}: {step.observation}")
    print("  ", run.output)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
