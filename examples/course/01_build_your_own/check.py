"""Climbs the steps of this lesson with your loop, and says which one is next.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import inspect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import NotYet, need  # noqa: E402

PATIENCE = 50


class Shop:
    """A model that gives the replies in turn, the tools it calls, and what was done with them."""

    def __init__(self, *replies):
        self.replies, self.asked, self.reserved, self.noted = replies, 0, [], True
        self.tools = {"lookup_stock": self.lookup_stock, "reserve": self.reserve}

    def lookup_stock(self, sku):
        return {"A1": 3}[sku]

    def reserve(self, sku):
        if sku == "stop":
            raise KeyboardInterrupt
        self.reserved.append(sku)
        self.noted = self.noted and is_noted("c1", inspect.currentframe().f_back)
        if sku == "lost":
            raise ConnectionError("the shop does not answer")  # after it has reserved
        return "reserved"

    def model(self, task, steps):
        self.asked += 1
        need(self.asked <= PATIENCE, f"the model was asked {PATIENCE} times, and no end to it.")
        if self.asked <= len(self.replies):
            return self.replies[self.asked - 1]
        return {"actions": [call(f"more{self.asked}")]}

    def sell(self, loop, **options):
        """What the participant's loop makes of it: the answer and the steps."""
        result = loop.run(self.model, "Sell one A1.", self.tools, **options)
        pair = isinstance(result, tuple) and len(result) == 2
        need(pair, f"run() should return the answer and the steps; it gave {result!r}.")
        return result


def is_noted(call_id, frame):
    """Whether a variable of the loop holds the id; `frame` is where the tool was called."""
    while frame is not None and frame.f_globals is not globals():
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if isinstance(value, (set, frozenset, list, tuple, dict)) and call_id in value:
                return True
        frame = frame.f_back
    return False


def call(call_id, tool="lookup_stock", **tool_input):
    return {"id": call_id, "tool": tool, "input": tool_input or {"sku": "A1"}}


ANSWER = {"answer": "done"}


def step_1(loop):
    """ask, call, tell, ask again"""
    shop = Shop({"actions": [call("c1"), call("c2", "reserve")]}, ANSWER)
    answer, steps = shop.sell(loop)
    need(answer == "done", f"the model answered 'done'; your run() gave {answer!r}.")
    seen = [(action["id"], observation) for action, observation in steps]
    wanted = [("c1", 3), ("c2", "reserved")]
    need(seen == wanted, f"each call should be one step; I got {seen}.")
    for _ in range(5):  # a counter outside of run() needs some runs before it shows
        again = Shop({"actions": [call("c1"), call("c2", "reserve")]}, ANSWER)
        answer, steps = again.sell(loop)
        seen = [(action["id"], observation) for action, observation in steps]
        need(
            (answer, seen) == ("done", wanted),
            f"a second run with the same replies gave {answer!r} and {seen}: it began with what "
            "the first one left. Make the set, the list and the counter inside run(), not above it "
            "and not among its parameters.",
        )


def step_2(loop):
    """errors are observations"""
    troubles = [
        ("asked for a tool that does not exist", call("c1", "delete_stock"), "delete_stock"),
        ("left an argument out and made one up", call("c1", skew="A1"), "skew"),
        ("called a tool that raised KeyError('B7')", call("c1", sku="B7"), "B7"),
    ]
    seen = {}
    for what, action, word in troubles:
        shop = Shop({"actions": [action, call("c2")]}, ANSWER)
        try:
            steps = shop.sell(loop)[1]
        except Exception as error:
            if word not in str(error):
                raise  # a mistake in the loop itself: it gets its own hint
            kind = type(error).__name__
            raise NotYet(f"the model {what}, and your loop ended with {kind}. Catch it there.")
        need(len(steps) == 2, f"the model {what}: that should be a step, and the next call too.")
        seen[word] = text = steps[0][1]
        need(isinstance(text, str), f"the model {what}; the observation should be a text: {text!r}")
        need(word in text, f"the model {what}; {word!r} should stand in the observation {text!r}.")
        need(steps[1][1] == 3, f"the model {what}; the call after it should still be executed.")
    text = seen["delete_stock"]
    both = "lookup_stock" in text and "reserve" in text
    need(
        both, f"there is no delete_stock; the observation should name the tools there are: {text!r}"
    )
    text = seen["B7"]
    kind = "KeyError" in text
    need(kind, f"{text!r} does not say what went wrong. type(error).__name__ is the error's kind.")
    try:
        Shop({"actions": [call("c1", "reserve", sku="stop")]}, ANSWER).sell(loop)
    except KeyboardInterrupt:
        return
    raise NotYet("Ctrl-C in a tool does not end your run: catch Exception, not everything.")


def step_3(loop):
    """an id is executed once"""
    twice = {"actions": [call("c1", "reserve")]}
    shop = Shop(twice, twice, {"actions": [call("c2", "reserve")]}, ANSWER)
    steps = shop.sell(loop)[1]
    need(len(steps) == 3, "each call should have its step, the repeated one too.")
    times = len(shop.reserved)
    need(times != 3, "call c1 came twice, and twice it reserved. Remember the ids you have seen.")
    need(times == 2, "call c2 was a new call of the same tool: it should have been executed.")
    text = steps[1][1]
    need(isinstance(text, str), f"the step of the repeated call should say so in a text: {text!r}")
    need(text != "reserved", "the step of the repeated call should say it was not executed.")
    slip = re.search(r"NameError|AttributeError|is not defined|exceptions must derive", text)
    need(slip is None, f"the step of the repeated call has an error of your own loop: {text}")
    lost = {"actions": [call("c1", "reserve", sku="lost")]}
    broken = Shop(lost, lost, ANSWER)
    broken.sell(loop)
    times = len(broken.reserved)
    need(
        times == 1,
        "a tool reserved and then raised; the same id reserved once more. Write it "
        "down before the tool runs.",
    )
    need(
        shop.noted and broken.noted,
        "while the tool ran, its id stood in no set or list of "
        "yours. Write it down before the tool runs, not after.",
    )


def step_4(loop):
    """a budget of requests"""
    shop = Shop()
    answer, steps = shop.sell(loop, max_requests=3)
    need(shop.asked == 3, f"with max_requests=3 the model was asked {shop.asked} times.")
    need(answer is None, f"without an answer of the model, None is the answer, not {answer!r}.")
    need(len(steps) == 3, f"the calls of the last reply are still run: 3 steps, not {len(steps)}.")
    shop = Shop(*({"actions": [call(f"a{n}"), call(f"b{n}")]} for n in range(9)))
    answer, steps = shop.sell(loop, max_requests=3)
    need(
        (shop.asked, len(steps)) == (3, 6),
        "each reply had two calls, so 3 requests are 6 steps; with max_requests=3 the model was "
        f"asked {shop.asked} times, for {len(steps)} steps. Count the requests, not the steps.",
    )
    answer, steps = Shop({"actions": [call("c1")]}, ANSWER).sell(loop, max_requests=2)
    need(answer == "done", "an answer to the last request that is allowed counts.")
    shop = Shop()
    shop.sell(loop, max_requests=0)
    need(shop.asked == 0, "max_requests=0 means that the model is not asked at all.")


def check(loop):
    checking.climb((step_1, step_2, step_3, step_4), loop)
    return "errors, ids and a budget. This is where agentloop.py begins."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
