"""Limits of time, tokens and money, a tool that hangs, a stop button, one last request, and the bill.

What you learn: agentloop has one limit of its own, the budget of requests. Every other limit is an
`if` in the for loop around stream(), and in `on_text` where it has to end a request that is under
way. Stopping loses nothing: the run holds all steps, can be resumed, and can be asked for an answer
with what it has. And a model is a callable, so a function around it keeps the bill: per model, over
all turns and all agents inside agents.

    python3 limits.py
    python3 limits.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: give LIMIT_OF_TOOL 5 seconds; raise a limit and resume the same run once more; take
the cached tokens out of `cost`, and see what the table says then. PRICES are examples: put yours.
"""

import argparse
import collections
import functools
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

LIMIT_OF_TOOL = 0.1  # seconds
# Dollars for a million tokens: input that was read for the first time, input that came from the
# provider's cache, and output.
PRICES = {
    "large": {"input": 3.0, "cached": 0.3, "output": 15.0},
    "small": {"input": 0.1, "cached": 0.01, "output": 0.4},
}


def cost(usage, price):
    """The dollars for some tokens. `input_tokens` is all of the input, the cached part included.

    >>> cost({"input_tokens": 1000, "cached_tokens": 900, "output_tokens": 100}, PRICES["large"])
    0.00207
    """
    cached = usage.get("cached_tokens", 0)
    fresh = usage.get("input_tokens", 0) - cached
    dollars = fresh * price["input"] + cached * price["cached"]
    return round((dollars + usage.get("output_tokens", 0) * price["output"]) / 1e6, 9)


# -- limits: in the for loop, and inside a request -----------------------------------------------


class LimitReached(Exception):
    """Raised where a run should stop. The run keeps what it has and can be resumed."""


class Limits:
    """What a run may take. `check` raises LimitReached; it costs nothing, so call it often."""

    def __init__(self, *, seconds=None, tokens=None, dollars=None, stop=None):
        self.seconds, self.tokens, self.dollars, self.stop = seconds, tokens, dollars, stop
        self.began = time.monotonic()

    def check(self, run=None):
        """Without a run: only what can be known while a request is under way."""
        if self.stop is not None and self.stop.is_set():
            raise LimitReached("stopped by the user")
        if self.seconds is not None and time.monotonic() - self.began > self.seconds:
            raise LimitReached(f"time limit of {self.seconds} s reached")
        if run is None:
            return
        used = run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)
        if self.tokens is not None and used > self.tokens:
            raise LimitReached(f"token limit of {self.tokens} reached")
        if self.dollars is not None and cost(run.usage, PRICES["large"]) > self.dollars:
            raise LimitReached(f"cost limit of ${self.dollars} reached")


def run_within(make_model, run, tools, limits):
    """Drive the run until it ends or a limit is reached, and return which, in words.

    `make_model(on_text)` makes the model. It calls on_text with each piece of its answer; what that
    raises ends the request, closes the connection and leaves the run as it was.
    """
    model = make_model(lambda text: limits.check())
    stream = agentloop.stream(model, run, tools, max_requests=50)
    try:
        for _ in stream:
            if run.state == "running":
                limits.check(run)
    except LimitReached as limit:
        return str(limit)
    finally:
        stream.close()  # lets go of the run
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

    @functools.wraps(function)  # keeps the signature, so the model is offered the same tool
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


# -- the bill ------------------------------------------------------------------------------------


class Bill:
    """What each model was asked and what that cost, whoever asked: turns, sub-agents, threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.usage = collections.defaultdict(collections.Counter)

    def metered(self, name, model):
        """The model, with its requests on the bill; also those whose reply could not be used."""

        def ask(run, tools):
            before = collections.Counter(run.usage)
            try:
                return model(run, tools)
            finally:
                spent = collections.Counter(run.usage)
                spent.subtract(before)
                with self.lock:
                    self.usage[name].update(spent)
                    self.usage[name]["requests"] += 1

        return ask

    def lines(self):
        kinds = ["requests", "input_tokens", "cached_tokens", "output_tokens"]
        yield "model     requests     input  of it cached    output    dollars"
        total = 0.0
        for name, usage in sorted(self.usage.items()):
            dollars = cost(usage, PRICES.get(name, PRICES["large"]))
            total += dollars
            counts = [usage[kind] for kind in kinds]
            yield "{:8} {:9} {:9} {:13} {:9} {:10.5f}".format(name, *counts, dollars)
        yield f"{'in all':8} {total:54.5f}"


# -- the demonstration ---------------------------------------------------------------------------


def read_page(number: int) -> str:
    """Return one page of the report; pages begin at 1."""
    time.sleep(0.02)
    return f"page {number}: nothing new"


def print_report() -> str:
    """Print the whole report on paper."""
    time.sleep(60)  # hangs: somebody has to refill the tray
    return "printed"


def spend(run, fresh, cached, output):
    """What an adapter does with the token counts of a reply."""
    counts = {"input_tokens": fresh + cached, "cached_tokens": cached, "output_tokens": output}
    for kind, count in counts.items():
        run.usage[kind] = run.usage.get(kind, 0) + count


def reader(on_text):
    """A model that turns one page after the other and never ends by itself."""

    def model(run, tools):
        spend(run, 900, 100 * len(run.steps), 20)
        if run.history:  # the last request, after the first turn was stopped
            return agentloop.AgentFinish("Nothing new on the pages that I have read; not all are.")
        if "poem" in run.task:
            for _ in range(1000):
                time.sleep(0.005)
                on_text("and on and on ")
        if "on paper" in run.task and not run.steps:
            return agentloop.AgentAction("print_report", {})
        if "on paper" in run.task:
            return agentloop.AgentFinish("I do not know whether it was printed; please look.")
        return agentloop.AgentAction("read_page", {"number": len(run.steps) + 1})

    return model


def two_agents(bill, large, small):
    """Two turns of an agent that lets a cheaper one do the reading."""
    small = bill.metered("small", small)

    def ask_reader(question: str) -> str:
        """Let a colleague who has read the report answer a question."""
        return agentloop.run(small, question, max_requests=1).output

    large = bill.metered("large", large)
    run = agentloop.run(large, "Is there anything new in the report?", [ask_reader], max_requests=4)
    agentloop.run(large, run.follow_up("And in the last one?"), [ask_reader], max_requests=4)


def scripted_pair():
    """The two models of the bill, scripted; what was sent before comes from the cache."""

    def large(run, tools):
        known = 1500 * (len(run.history) + len(run.steps))
        spend(run, 1500, known, 40)
        if run.steps or run.history:
            return agentloop.AgentFinish("Nothing new.")
        return agentloop.AgentAction("ask_reader", {"question": "What is new?"})

    def small(run, tools):
        spend(run, 30_000, 0, 60)
        return agentloop.AgentFinish("Nothing is new.")

    return large, small


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    patience = 10 if options.model else 0.3  # seconds

    def real(on_text, deadline=patience):
        # on_text ends a request that has something to say; `deadline` one that is silent.
        settings = {"base_url": options.base_url, "max_tokens": 1000, "deadline": deadline}
        return agentloop.OpenAIChat(options.model, on_text=on_text, **settings)

    make_model = real if options.model else reader
    tools, button = [read_page, within(LIMIT_OF_TOOL, print_report)], threading.Event()
    report = "Read the report, page by page, and tell me what is new."
    for title, task, limits in [
        ("time", report, {"seconds": patience}),
        ("tokens", report, {"tokens": 5000}),
        ("cost", report, {"dollars": 0.02}),
        ("in the middle of an answer", "Tell me a very long poem.", {"seconds": patience}),
        ("stop button", report, {"stop": button}),
    ]:
        if "stop" in limits:
            threading.Timer(patience, button.set).start()  # in life a web page, or a signal
        run = agentloop.AgentRun(task)
        try:
            print(f"{title}: {run_within(make_model, run, tools, Limits(**limits))}")
        except agentloop.ModelError as error:
            if error.kind != "timeout":  # a deadline is a limit like the others
                raise
            print(f"{title}: {error}")
        steps = "yes" if run.steps else "none"
        print(f"   state {run.state}, requests: {run.requests}, steps kept: {steps}")
    turn = last_answer(make_model(lambda text: None), run, tools)
    print(f"one last request: {turn.state}, {turn.requests} request: {turn.output}")

    run = agentloop.AgentRun("Print the report on paper.")
    print("a tool that hangs:", run_within(make_model, run, tools, Limits(seconds=20)))
    for step in run.steps:
        print(f"   {step.status}: {step.observation}")
    print("  ", run.output)

    print("the bill: two turns, and an agent inside")
    bill, pair = Bill(), scripted_pair()
    if options.model:
        pair = (real(None, 600), real(None, 600))
    two_agents(bill, *pair)
    for line in bill.lines():
        print("   " + line)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
