"""200 runs over threads, processes or a Dask cluster; what was done is not done again.

    python3 fan_out.py                                 # 200 scripted runs, twice over
    python3 fan_out.py --processes 4 --folder runs     # by hand; the journals stay in `runs`
    python3 fan_out.py --dask                          # a Dask cluster on this machine
    python3 fan_out.py --dask tcp://10.0.0.5:8786      # a Dask scheduler that is there already

What one learns: many runs need nothing from the loop. A run is a function call, so any
`concurrent.futures.Executor` spreads it: threads (runs mostly wait for a server), processes (tools
that compute), machines (Dask's client gives such an executor too: `pip install dask distributed`).
Three habits make it sturdy, and are all in `job`:

    a journal for each run      started again after whatever happened, finished runs cost nothing
                                and the others go on where they were
    failures come back as rows  an exception may not survive the way between processes, and one
                                failure must not end the other 199
    the worker makes its model  connections and keys do not travel; names and numbers do

The first pass meets a server that hangs up on some runs and a budget that is too small for others.
The second pass is the same line with a larger budget: it finishes these, and only these.

To change and try: stop it with Ctrl-C in the middle (`--folder runs`, `--model`), start it again.
With Dask on several machines the journals must lie in a folder that all of them share.
For real: --model NAME --base-url URL, and `--workers` within what the server bears.
"""

import argparse
import collections
import concurrent.futures
import csv
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

SHELVES = 5


def count_shelf(article: int, shelf: int) -> int:
    """Return how many pieces of an article lie on one shelf, 1 to 5; read-only."""
    return (article * 7 + shelf) % 4


class Counter:
    """The scripted model: one shelf will do for most articles, every 50th lies on all of them.

    In a bad hour (`fault`) its server hangs up on one article in 25.
    """

    def __init__(self, fault):
        self.fault = fault

    def __call__(self, run, tools):
        article = int(run.task.split()[-1])
        if self.fault and article % 25 == 7:
            raise ConnectionError("the server hung up")
        if len(run.steps) < (SHELVES if article % 50 == 9 else 1):
            shelf = {"article": article, "shelf": len(run.steps) + 1}
            return agentloop.AgentAction("count_shelf", shelf)
        return agentloop.AgentFinish("%d pieces" % sum(step.observation for step in run.steps))


def job(number, folder, spec):
    """One run, in whatever thread, process or machine: numbers in, a row of the table out."""
    if spec["model"]:
        model = agentloop.OpenAIChat(spec["model"], base_url=spec["base_url"], max_tokens=1000)
    else:
        model = Counter(spec["fault"])
    paid = []

    def counted(run, tools):
        paid.append(1)
        return model(run, tools)

    row = {"run": number, "state": "failed", "output": "", "error": ""}
    try:
        run = agentloop.run(
            counted,
            "Count the pieces of article %d" % number,
            [count_shelf],
            max_requests=spec["max_requests"],
            journal=str(Path(folder) / ("run-%03d.jsonl" % number)),
        )
        row.update(state=run.state, output=run.output)
    except Exception as exc:  # a row, whatever it was; the journal has the run so far
        row["error"] = "%s: %s" % (type(exc).__name__, exc)
    row["paid"] = len(paid)
    return row


def all_runs(executor, count, folder, spec, progress=print):
    """Submit the jobs, report the progress, and return the rows in the order of their numbers."""
    futures = {executor.submit(job, n, folder, spec): n for n in range(1, count + 1)}
    rows = []
    try:
        for future in concurrent.futures.as_completed(futures):
            try:
                rows.append(future.result())
            except Exception as exc:  # the worker itself died; its journal did not
                error = "%s: %s" % (type(exc).__name__, exc)
                row = {"run": futures[future], "state": "failed", "output": "", "paid": 0}
                rows.append(dict(row, error=error))
            if len(rows) % max(1, count // 4) == 0:
                progress("   %d of %d" % (len(rows), count))
            if len(rows) == 3 and all(row["state"] == "failed" for row in rows):
                progress("   the first three have failed: no more are begun")
                break
    finally:
        for future in futures:
            future.cancel()  # after Ctrl-C: what has not begun does not begin
    return sorted(rows, key=lambda row: row["run"])


def table(rows):
    """How many runs ended how and what they cost, then each that needs a look."""
    lines = ["   %-18s %5s %9s" % ("state", "runs", "requests")]
    states = collections.Counter(row["state"] for row in rows)
    for state, count in sorted(states.items()):
        paid = sum(row["paid"] for row in rows if row["state"] == state)
        lines.append("   %-18s %5d %9d" % (state, count, paid))
    bad = [row for row in rows if row["state"] in ("failed", "budget_exhausted")]
    for row in bad[:4]:
        lines.append("   run %d: %s" % (row["run"], row["error"] or row["state"]))
    if len(bad) > 4:
        lines.append("   and %d more" % (len(bad) - 4))
    return "\n".join(lines)


def save(rows, path):
    """All rows as a CSV file, for a spreadsheet."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["run", "state", "output", "error", "paid"])
        writer.writeheader()
        writer.writerows(rows)


def dask_executor(address, workers):
    """An executor over a Dask cluster; without an address, over one on this machine."""
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        sys.exit("--dask needs two packages: pip install dask distributed")
    cluster = None
    if not address:
        cluster = address = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        )
    client = Client(address)
    if cluster is None:
        client.upload_file(agentloop.__file__)  # one file: all that a machine elsewhere needs
    executor = client.get_executor()

    def close():
        client.close()
        if cluster is not None:
            cluster.close()

    return executor, close


def open_executor(options):
    """The executor that the options ask for, and what closes it."""
    if options.dask is not None:
        return dask_executor(options.dask, options.workers)
    if options.processes:
        executor = concurrent.futures.ProcessPoolExecutor(options.processes)
    else:
        executor = concurrent.futures.ThreadPoolExecutor(options.workers)
    return executor, executor.shutdown


def one_pass(options, folder, **spec):
    spec = dict(spec, model=options.model, base_url=options.base_url)
    executor, close = open_executor(options)
    try:
        rows = all_runs(executor, options.runs, folder, spec)
    finally:
        close()
    print(table(rows), flush=True)
    save(rows, Path(folder) / "results.csv")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4, help="threads, or Dask's workers")
    parser.add_argument("--processes", type=int, metavar="N")
    parser.add_argument("--dask", nargs="?", const="", metavar="ADDRESS")
    parser.add_argument("--folder", help="where the journals and results.csv are kept")
    parser.add_argument("--max-requests", type=int, default=10)
    options = parser.parse_args()
    if options.folder:
        try:
            Path(options.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--folder {options.folder}: {error.strerror}")
        one_pass(options, options.folder, fault=False, max_requests=options.max_requests)
        return
    with tempfile.TemporaryDirectory() as folder:
        print("1. A bad hour, and a small budget", flush=True)
        one_pass(options, folder, fault=True, max_requests=3)
        print("2. The same again, in other processes, with a larger budget", flush=True)
        if options.dask is None:
            options.processes = options.processes or 2
        rows = one_pass(options, folder, fault=False, max_requests=10)
        idle = sum(not row["paid"] for row in rows)
        print("   done before, nothing asked: %d of %d" % (idle, len(rows)))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
