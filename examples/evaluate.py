"""How good is an agent? A set of tasks, each tried N times, and what one may conclude from it.

What one learns: one run proves nothing. Each task is tried several times; a trial counts as right
when the task's own check says so, never because the model says so. The rate that counts is that of
the runs that were right *at once*: a wrong answer goes back to the model, and what it makes of the
check's words afterwards (`rescued`) shows the check's quality as much as its own. Where there is no
such check in the field, nobody rescues anything. Beside the rate stands its interval (Wilson's,
95 %): 4 of 5 may be luck. A trial that the server interrupted (`ModelError`) says nothing about the
agent and is counted apart. Below: what it took, and how calls failed.

    python3 evaluate.py                                  # offline: a model that errs by the dice
    python3 evaluate.py --trials 40                      # see the intervals shrink
    python3 evaluate.py --save runs.jsonl --plot rates.png
    python3 evaluate.py --model NAME --base-url http://127.0.0.1:8080/v1 --trials 10 --jobs 4

`--save` writes every run as a JSON line, to be read where something failed. `--plot` draws the
rates with matplotlib (`pip install matplotlib`); without it, look at the bars in the table.
What to change: `TASKS`, and how often `Dice` errs. To compare two prompts or two models, evaluate
both: where their intervals overlap, try more often before you believe in a difference.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

STOCK = {"A1": 3, "B2": 12, "C3": 0}
PRICES = {"A1": 250, "B2": 40, "C3": 990}


# The tools, and the tasks with their checks.


@agentloop.tool(read_only=True)
def lookup_stock(sku: str) -> int:
    """Return how many pieces of a product are in stock."""
    return STOCK[sku]


@agentloop.tool(read_only=True)
def lookup_price(sku: str) -> int:
    """Return the price of one piece of a product, in cents."""
    return PRICES[sku]


class Task:
    """A name, the words for the model, and a check: None, or what is wrong with the run."""

    def __init__(self, name, prompt, check, tools):
        self.name, self.prompt, self.check = name, prompt, check
        self.tools = tools  # what it takes; only the dice know


def says(number):
    """The check that the answer holds this number, and that a tool was asked."""

    def check(run):
        if not any(step.status == "ok" for step in run.steps):
            return "Nothing was looked up."
        words = str(run.output).replace(",", " ").replace(".", " ").split()
        return None if str(number) in words else "The answer does not hold the right number."

    return check


TASKS = [
    Task("stock", "How many A1 are there? Answer with the number.", says(3), ["lookup_stock"]),
    Task("price", "What does a B2 cost, in cents? Only the number.", says(40), ["lookup_price"]),
    Task(
        "value",
        "What are all B2 in stock worth, in cents? Only the number.",
        says(480),
        ["lookup_stock", "lookup_price"],
    ),
]
TOOLS = [lookup_stock, lookup_price]


class Dice:
    """A model for the offline run: it knows what to do, and errs by a seeded throw of dice."""

    def __init__(self, task, trial):
        self.task, self.trial = task, trial

    def __call__(self, run, tools):
        # One throw for each request; nothing is kept between them, as with any model here.
        throw = random.Random("%s %d %d" % (self.task.name, self.trial, run.requests)).random()
        if run.requests == 1 and throw < 0.08:
            raise agentloop.ModelError("the server is overloaded", kind="server", status=503)
        sku = "A1" if self.task.name == "stock" else "B2"
        done = {step.action.tool: step.observation for step in run.steps if step.status == "ok"}
        for tool in self.task.tools:
            if tool not in done:
                if throw < 0.2:
                    return agentloop.AgentAction(tool.replace("lookup", "get"), {"sku": sku})
                if throw < 0.3:
                    return agentloop.AgentAction(tool, {"product": sku})
                return agentloop.AgentAction(tool, {"sku": sku.lower() if throw < 0.4 else sku})
        return agentloop.AgentFinish("It is %d." % (math.prod(done.values()) + (throw < 0.35)))


# Many trials.


class Trial:
    """What one trial came to: the run, and the server's error where there was one."""

    def __init__(self, task, model, max_requests):
        self.error = ""
        self.task = task
        try:
            self.run = agentloop.run(
                model, task.prompt, TOOLS, max_requests=max_requests, accept=task.check
            )
        except agentloop.ModelError as error:
            self.run, self.error = error.agent_run, str(error)


def evaluate(make_model, trials, jobs, max_requests):
    """Try each task `trials` times, `jobs` at once; yield the trials as they end."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(Trial, task, make_model(task, number), max_requests)
            for number in range(trials)
            for task in TASKS
        ]
        try:
            for future in concurrent.futures.as_completed(waiting):
                yield future.result()
        finally:
            for future in waiting:  # Ctrl-C: what has not begun need not begin
                future.cancel()


# What it says.


def wilson(successes, trials, confidence=0.95):
    """The interval in which the true rate lies, 19 times out of 20; (0, 1) without trials.

    >>> ["%.2f" % end for end in wilson(4, 5)]
    ['0.38', '0.96']
    """
    if not trials:
        return 0.0, 1.0
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)  # 1.96 for 95 %
    rate, spread = successes / trials, z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    half = math.sqrt(rate * (1 - rate) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def summary(name, trials):
    """One row of the table. "At once": the first claim to be done was right."""
    judged = [trial.run for trial in trials if not trial.error]
    good = [run for run in judged if run.state == "succeeded"]
    rejected = [sum(step.status == "not_accepted" for step in run.steps) for run in good]
    at_once = rejected.count(0)
    low, high = wilson(at_once, len(judged))
    return {
        "task": name,
        "trials": len(judged),
        "at once": at_once,
        "rescued": len(good) - at_once,
        "rate": at_once / max(1, len(judged)),
        "low": low,
        "high": high,
        "requests": sum(run.requests for run in judged) / max(1, len(judged)),
        "calls": sum(bool(s.action.tool) for r in judged for s in r.steps) / max(1, len(judged)),
    }


def bar(row, width=22):
    """The interval and the rate in it, drawn with characters."""
    low, high, rate = (int(row[key] * width) for key in ("low", "high", "rate"))
    drawn = ["-" if low <= place <= high else " " for place in range(width)]
    drawn[min(rate, width - 1)] = "#"
    return "|" + "".join(drawn) + "|"


def print_tables(rows, trials):
    form = "%-7s %13s  %-13s %-24s %7s %8s %6s"
    head = ("task", "right at once", "95 % interval", "", "rescued", "requests", "calls")
    print(form % head)
    for row in rows:
        right = "%d of %d" % (row["at once"], row["trials"])
        interval = "%3.0f to %3.0f %%" % (100 * row["low"], 100 * row["high"])
        costs = row["rescued"], "%.1f" % row["requests"], "%.1f" % row["calls"]
        print(form % ((row["task"], right, interval, bar(row)) + costs))
    print("\nnot judged, since the server failed: %d" % sum(bool(t.error) for t in trials))
    print("\n%-14s %5s %6s  %s" % ("tool", "calls", "failed", "how"))
    endings = collections.defaultdict(collections.Counter)
    for trial in trials:
        endings["(the answer)"]["ok"] += trial.run.state == "succeeded"
        for step in trial.run.steps:
            endings[step.action.tool or "(the answer)"][step.status] += 1
    for name, counts in sorted(endings.items()):
        total, failed = sum(counts.values()), sum(counts.values()) - counts.pop("ok", 0)
        how = ", ".join("%s %d" % pair for pair in sorted(counts.items()))
        print("%-14s %5d %4.0f %%  %s" % (name, total, 100 * failed / max(1, total), how))


def plot(rows, path):
    """The rates with their intervals as a picture; a sentence where matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return "no plot: pip install matplotlib"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 0.5 * len(rows) + 1.6))
    below = [max(0, row["rate"] - row["low"]) for row in rows]  # never -1e-17
    above = [max(0, row["high"] - row["rate"]) for row in rows]
    names = ["%s (n = %d)" % (row["task"], row["trials"]) for row in rows]
    in_the_end = [row["rate"] + row["rescued"] / max(1, row["trials"]) for row in rows]
    rates = [row["rate"] for row in rows]
    label = "right at once, with the 95 % interval"
    axes.errorbar(rates, names, xerr=[below, above], fmt="o", capsize=4, label=label)
    axes.plot(in_the_end, names, "o", color="C0", fillstyle="none", label="rescued ones added")
    axes.set_title("How often is the agent right?", loc="left")
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("share of the trials (n: trials that could be judged)")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.set_layout_engine("constrained")
    figure.savefig(str(path), dpi=150)
    return "plot: " + str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="trials at once")
    parser.add_argument("--max-requests", type=int, default=5)
    parser.add_argument("--save", help="a file for the runs, as JSON Lines")
    parser.add_argument("--plot", help="a file for the plot")
    options = parser.parse_args()
    for path in filter(None, (options.save, options.plot)):
        if Path(path).is_dir() or not Path(path).parent.is_dir():  # said before any trial is paid
            parser.error(f"{path}: no file can be written there")
    model = options.model and agentloop.OpenAIChat(
        options.model, base_url=options.base_url, max_tokens=1000
    )
    trials, total = [], len(TASKS) * options.trials

    def make_model(task, number):
        return model or Dice(task, number)  # one model object serves all threads

    try:
        for trial in evaluate(make_model, options.trials, options.jobs, options.max_requests):
            trials.append(trial)
            if len(trials) == 3 and all(trial.error for trial in trials):
                sys.exit("No answer from the model: " + trial.error)
            if sys.stderr.isatty() or len(trials) == total:
                print("\r%d of %d trials " % (len(trials), total), end="", file=sys.stderr)
            if options.save:
                line = {"task": trial.task.name, "error": trial.error}
                line["run"] = agentloop.to_json(trial.run)
                with open(options.save, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    except KeyboardInterrupt:
        print("stopped; what follows is of the trials done so far", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = [summary(t.name, [x for x in trials if x.task is t]) for t in TASKS]
    rows.append(summary("all", trials))
    print_tables(rows, trials)
    if options.plot:
        print(plot(rows, options.plot))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
