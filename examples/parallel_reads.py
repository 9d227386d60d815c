"""What may run at the same time, what may not, and what that is worth.

What you learn: a model can ask for several calls in one reply. Where all of them are to tools that
only read (`read_only=True`), they run at the same time, at most 16 at once; the steps are recorded
in the order asked. One call that changes something makes the loop run all of them in turn, since
a read before a write and a read after it are not the same. A service that bears less than 16 gets
a limit of its own: a semaphore around the function.

    python3 parallel_reads.py
    python3 parallel_reads.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: take read_only away; ask for 40 cities and see 16 at once; give set_alarm
read_only=True, which is a lie, and run it a few times.
"""

import argparse
import functools
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

CITIES = ["Cairo", "Lima", "Oslo", "Paris", "Rome", "Tokyo"]
WAIT = 0.1  # seconds: what a distant server takes


class Meter:
    """Counts how many calls are inside at once, and notes in which order they come out."""

    def __init__(self):
        self.lock = threading.Lock()
        self.inside = self.most = 0
        self.ended = []

    def work(self, name, seconds):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(seconds)
        with self.lock:
            self.inside -= 1
            self.ended.append(name)


METER = Meter()


def get_temperature(city: str) -> str:
    """Return the temperature in a city now."""
    METER.work(city, 4 * WAIT if city == CITIES[0] else WAIT)  # the first one answers last
    return f"{city}: {len(city) * 4} degrees"


def set_alarm(city: str) -> str:
    """Ring an alarm in a city."""
    METER.work("alarm in " + city, WAIT)
    return f"the alarm in {city} is set"


def at_most(limit, function):
    """The same tool; never more than `limit` calls of it are under way, in all runs together."""
    places = threading.BoundedSemaphore(limit)

    @functools.wraps(function)  # keeps name, signature and docstring, which the model is shown
    def limited(*args, **kwargs):
        with places:
            return function(*args, **kwargs)

    return limited


def look_at(*cities):
    return [agentloop.AgentAction("get_temperature", {"city": city}) for city in cities]


READS = look_at(*CITIES)
MIXED = [*look_at("Cairo"), agentloop.AgentAction("set_alarm", {"city": "Oslo"}), *look_at("Oslo")]
DONE = agentloop.AgentFinish("done")


def measure(title, model, task, read=get_temperature):
    METER.__init__()
    tools = [agentloop.tool(read_only=True)(read), set_alarm]
    run = agentloop.AgentRun(task)
    asked = []
    began = time.perf_counter()
    for event in agentloop.stream(model, run, tools, max_requests=5):
        if isinstance(event, agentloop.AgentAction):
            asked.append(event)
    seconds = time.perf_counter() - began
    print(f"{title}: {len(run.steps)} calls in {seconds:.1f} s, at most {METER.most} at once")
    recorded = [step.action for step in run.steps] == asked
    print(f"   came out last: {METER.ended[-1] if METER.ended else 'nothing'}")
    print(f"   recorded in the order asked: {'yes' if recorded else 'no'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
        measure("a real model", model, "How warm is it in " + ", ".join(CITIES) + "?")
        return
    task = "How warm is it everywhere?"
    measure("six reads", agentloop.Scripted([READS, DONE]), task)
    measure("a limit of 2", agentloop.Scripted([READS, DONE]), task, at_most(2, get_temperature))
    measure("a write among them", agentloop.Scripted([MIXED, DONE]), "Wake Oslo if it is cold.")
    measure("one read a reply", agentloop.Scripted([*READS[:3], DONE]), "One after the other.")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
