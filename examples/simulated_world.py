"""The same agent in a simulated store and in a real one: find where the simulation lies.

What one learns: an agent that works in a simulation has shown that it works in the simulation.
Here both stores lose one answer. In the simulation an error means that nothing was done. The real
store, an SQLite file, writes first, and only then the line breaks. An agent that simply tries
again is right in the one and reserves twice in the other. `first_difference` lays the two runs
side by side and says where the worlds part. That is what to build into the simulation: then the
mistake shows without the real store, and so does the fix.

    python3 simulated_world.py
    python3 simulated_world.py --model NAME --base-url http://127.0.0.1:8080/v1

What to change: many stores answer from a copy that lags behind. Let `RealStore.reserved` tell what
was true one call ago. Which agent is still right, and what does the simulation need to show it?
"""

import argparse
import contextlib
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "Reserve exactly 3 pieces of A1 for order 7, then say what is reserved."


class SimulatedStore:
    """A number in memory. `writes_first`: is the work done when the answer gets lost?"""

    def __init__(self, writes_first=False):
        self.writes_first, self.pieces, self.calls = writes_first, 0, 0

    def reserved(self):
        return self.pieces

    def reserve(self, quantity):
        self.calls += 1
        if self.calls > 1 or self.writes_first:
            self.pieces += quantity
        if self.calls == 1:
            raise TimeoutError("the store did not answer")


class RealStore:
    """The same shop in a file: a reservation is committed before the answer is sent."""

    def __init__(self, path):
        self.db, self.calls = sqlite3.connect(str(path), check_same_thread=False), 0
        self.db.execute("create table reservation (quantity integer)")

    def reserved(self):
        return self.db.execute("select coalesce(sum(quantity), 0) from reservation").fetchone()[0]

    def reserve(self, quantity):
        self.calls += 1
        with self.db:
            self.db.execute("insert into reservation values (?)", (quantity,))
        if self.calls == 1:
            raise TimeoutError("the store did not answer")


def tools_of(store):
    """One set of tools for every world: the agent cannot tell which one it is in."""

    @agentloop.tool(read_only=True)
    def reserved() -> int:
        """How many pieces of A1 are reserved for order 7 at this moment."""
        return store.reserved()

    def reserve(quantity: int) -> str:
        """Reserve pieces of A1 for order 7, beside those reserved already."""
        store.reserve(quantity)
        return "%d more reserved" % quantity

    return [reserved, reserve]


def hasty(run, tools):
    """A model by hand: an error means that nothing happened, so try again."""
    if any(step.status == "ok" for step in run.steps):
        return agentloop.AgentFinish("3 pieces are reserved")
    return agentloop.AgentAction("reserve", {"quantity": 3})


def careful(run, tools):
    """A model by hand: after an error, look first. It finishes with what it has seen."""
    last = run.steps[-1] if run.steps else None
    if last and last.action.tool == "reserved" and last.observation >= 3:
        return agentloop.AgentFinish("%d pieces are reserved" % last.observation)
    if last and last.action.tool == "reserve":
        return agentloop.AgentAction("reserved", {})
    return agentloop.AgentAction("reserve", {"quantity": 3})


def play(name, model, store):
    """One run. Whether it succeeded is asked of the store, not of the agent."""

    def accept(run):
        if store.reserved() == 3:
            return None
        return "the store says %d reserved, 3 were asked for" % store.reserved()

    run = agentloop.run(model, TASK, tools_of(store), max_requests=5, accept=accept)
    print("  %-22s %-16s in the store: %d" % (name, run.state, store.reserved()))
    return run


def first_difference(left, right):
    """The first step at which two runs part, as a line; None where they agree."""
    for number, (a, b) in enumerate(zip(left.steps, right.steps), 1):
        if (str(a.action), a.status, a.observation) != (str(b.action), b.status, b.observation):
            return "step %d: %s | %s" % (number, a, b)
    if len(left.steps) == len(right.steps):
        return None
    side, longer = max(("left", left), ("right", right), key=lambda pair: len(pair[1].steps))
    at = min(len(left.steps), len(right.steps))
    return "step %d, on the %s only: %s" % (at + 1, side, longer.steps[at])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    agents = {"the agent that tries again": hasty, "the agent that looks first": careful}
    if options.model:
        agents = {
            options.model: agentloop.OpenAIChat(
                options.model, base_url=options.base_url, max_tokens=1000
            )
        }
    for name, model in agents.items():
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            simulated_run = play("simulated", model, SimulatedStore())
            real = RealStore(Path(folder) / "shop.db")
            with contextlib.closing(real.db):  # Windows cannot remove a file that is open
                real_run = play("real", model, real)
        print("  first difference:", first_difference(simulated_run, real_run))
        play("simulated, fixed", model, SimulatedStore(writes_first=True))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
