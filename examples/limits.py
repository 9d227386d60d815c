"""Limits of time, tokens and money, a tool that hangs, a stop button; and what it all cost.

What you learn: agentloop has one limit of its own, the budget of requests. Every other limit is an
`if` in the for loop around stream(), looked at between two events. Two things take long within one
event, and have limits of their own: a request (`deadline`) and a tool (`within`). Stopping loses
nothing: the run holds all steps, can be resumed, and can be asked for an answer with what it has.
A bill counts what each model cost, whichever run, turn or sub-agent asked it.

    python3 limits.py
    python3 limits.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: 5 seconds for the printer; other PRICES; resume a stopped run with a higher limit.
"""

import argparse
import functools
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

PRICES = {  # dollars for a million tokens
    "large": {"input": 3.00, "cached": 0.30, "output": 15.00},
    "small": {"input": 0.25, "cached": 0.03, "output": 1.00},
}


def cost(name, usage):
    """Dollars. `input_tokens` is the whole input; what of it came from a cache has its own price."""
    cached = usage.get("cached_tokens", 0)
    dollars = cached * PRICES[name]["cached"]
    dollars += (usage.get("input_tokens", 0) - cached) * PRICES[name]["input"]
    dollars += usage.get("output_tokens", 0) * PRICES[name]["output"]
    return dollars / 1_000_000


class Bill:
    """The usage of each model, over all runs, turns and sub-agents that ask it."""

    def __init__(self):
        self.usage = {}
        self.lock = threading.Lock()  # sub-agents may run at the same time

    def metered(self, name, model):
        """The same model; what a request costs goes on the bill."""

        def ask(run, tools):
            before = dict(run.usage)
            try:
                return model(run, tools)
            finally:  # a reply that nobody could read has cost something too
                with self.lock:
                    total = self.usage.setdefault(name, {"requests": 0})
                    total["requests"] += 1
                    for kind, count in run.usage.items():
                        total[kind] = total.get(kind, 0) + count - before.get(kind, 0)

        return ask

    def dollars(self):
        return sum(cost(name, usage) for name, usage in self.usage.items())


def run_within(model, run, tools, *, seconds=None, tokens=None, dollars=None, bill=None, stop=None):
    """Drive the run until it ends or a limit is reached, and return which, in words."""
    end = time.monotonic() + (seconds or float("inf"))
    stream = agentloop.stream(model, run, tools, max_requests=50)
    for _ in stream:
        reached = None
        if stop is not None and stop.is_set():
            reached = "stopped by the user"
        elif time.monotonic() > end:
            reached = f"time limit of {seconds} s reached"
        elif tokens is not None and run.usage.get("output_tokens", 0) > tokens:
            reached = f"limit of {tokens} tokens reached"
        elif dollars is not None and bill.dollars() > dollars:
            reached = f"cost limit of ${dollars} reached"
        if reached and run.finish is None:
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


def within(seconds, function):
    """The same tool, given up after `seconds`. Its thread cannot be killed and may still finish."""

    @functools.wraps(function)  # keeps the signature, and so what the model is shown
    def limited(*args, **kwargs):
        outcome = {}

        def work():
            try:
                outcome["value"] = function(*args, **kwargs)
            except Exception as error:
                outcome["error"] = error

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)
        if "error" in outcome:
            raise outcome["error"]
        if "value" not in outcome:
            raise TimeoutError(f"timed out after {seconds} s, effect unknown: find out first")
        return outcome["value"]

    return limited


def read_page(number: int) -> str:
    """Return one page of the report; pages begin at 1."""
    time.sleep(0.02)
    return f"page {number}: nothing new"


def print_report() -> str:
    """Print the whole report on paper."""
    time.sleep(60)  # hangs: somebody has to refill the tray
    return "printed"


def translator(model):
    """A sub-agent, as a tool."""

    def translate(text: str) -> str:
        """Let a colleague translate a text into French."""
        return agentloop.run(model, f"Into French: {text}", max_requests=2).output

    return translate


def spend(run, *counts):
    """What an adapter does: add the tokens of a reply to the usage of the run."""
    for kind, count in zip(["input_tokens", "cached_tokens", "output_tokens"], counts):
        run.usage[kind] = run.usage.get(kind, 0) + count


def reader(run, tools):
    """A scripted model that turns one page after the other and never ends by itself."""
    spend(run, 1000 + 100 * len(run.steps), 900 + 100 * len(run.steps), 20)
    if run.history:  # the last request, after the first turn was stopped
        return agentloop.AgentFinish("Nothing new on the pages that I have read; not all are.")
    if "on paper" not in run.task:
        return agentloop.AgentAction("read_page", {"number": len(run.steps) + 1})
    if not run.steps:
        return agentloop.AgentAction("print_report", {})
    if len(run.steps) == 1:
        return agentloop.AgentAction("translate", {"text": "I do not know."})
    return agentloop.AgentFinish("I do not know whether it was printed. Je ne sais pas.")


def speaker(run, tools):
    spend(run, 3000, 0, 250)
    return agentloop.AgentFinish("Je ne sais pas.")


def chatty_server(method, url, headers, body, timeout):
    """A transport whose reply has no end. It is never silent, so `timeout` does not help."""

    def pieces():
        while True:
            time.sleep(0.05)
            yield b'data: {"choices": [{"delta": {"content": "and "}}]}\n\n'

    return 200, {"content-type": "text/event-stream"}, pieces()


def stop_at_limits(model, bill, patience):
    """The same run four times, each with another limit; then an answer with what is there."""
    button = threading.Event()
    for title, limits in [
        ("time", {"seconds": patience}),
        ("tokens", {"tokens": 100}),
        ("cost", {"dollars": 0.04, "bill": bill}),
        ("stop button", {"stop": button}),
    ]:
        if "stop" in limits:
            threading.Timer(patience, button.set).start()  # in life a web page, or a signal
        run = agentloop.AgentRun("Read the report, page by page, and tell me what is new.")
        print(f"{title}: {run_within(model, run, [read_page], **limits)}")
        print(f"   state {run.state}, steps kept: {'yes' if run.steps else 'none'}")
    turn = last_answer(model, run, [read_page])
    print(f"one last request: {turn.state}, {turn.requests} request: {turn.output}")


def limit_a_tool(model, translate):
    print("a tool that hangs, and a sub-agent")
    run = agentloop.AgentRun("Print the report on paper; if that fails, tell me so in French.")
    run_within(model, run, [within(0.1, print_report), translate])
    for step in run.steps:
        print(f"   {step}")
    print(f"   {run.output}")


def limit_a_request():
    print("a request that would go on and on")
    settings = {"transport": chatty_server, "on_text": len, "deadline": 0.3}
    try:
        agentloop.run(agentloop.OpenAIChat("chatty", **settings), "Tell me a story.")
    except agentloop.ModelError as error:
        print(f"   ModelError of kind {error.kind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    large, small, patience = reader, speaker, 0.3
    if options.model:
        settings = {"base_url": options.base_url, "max_tokens": 2000, "deadline": 60}
        large = small = agentloop.OpenAIChat(options.model, **settings)
        patience = 10
    bill = Bill()
    stop_at_limits(bill.metered("large", large), bill, patience)
    limit_a_tool(bill.metered("large", large), translator(bill.metered("small", small)))
    limit_a_request()
    print("the bill")
    for name, usage in bill.usage.items():
        counts = ", ".join(f"{count} {kind}" for kind, count in usage.items())
        print(f"   {name}: ${cost(name, usage):.4f} for {counts}")
    print(f"   in all: ${bill.dollars():.4f}")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
