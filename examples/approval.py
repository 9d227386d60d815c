"""A dangerous call waits in the journal until a person, in a later process, approves or denies it.

    python3 approval.py

What one learns: approval needs no hook in the loop. `stream()` yields every call of a reply before
any of them runs, so a `for` loop can stop there. What was proposed is in the journal by then: the
process may end, and nobody has to keep it waiting overnight. Later the same loop is run again with
an answer, the waiting calls are yielded again, and each is let through or closed with
`run.close(action, reason, "denied")`. A denial is an observation: the model reads it and goes on.

Which calls run without being asked about: those of tools that are declared `read_only`, since they
change nothing. The decision looks at `action.tool` and `action.arguments` alone, for these are what
runs: a name is resolved before the call is shown, and arguments that came as text are read. What
the model says beside the call (`log`, `message`) is no evidence. A tool that does not exist cannot
run; the loop tells the model so.

The program starts itself three times as a child process: one that proposes and stops, one in which
the operator approves one call and denies the other, and one that finds nothing left to do. By hand:

    python3 approval.py --folder inbox
    python3 approval.py --folder inbox --approve cust-7 --deny cust-1 --why "an open invoice"

To change and try: mark `delete_customer` as `read_only`, and see that nobody is asked any more:
rights hang on what a tool is declared to be, so declare with care. Ask in the terminal with
`input()` in `decide`, or send a message and end the process.
For real: --model NAME --base-url URL.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "Delete the customers who have not ordered for two years, and say what was done."


def shop_tools(folder):
    path = Path(folder) / "customers.json"
    if not path.exists():
        path.write_text(json.dumps({"cust-1": 2019, "cust-4": 2026, "cust-7": 2021}), "utf-8")

    @agentloop.tool(read_only=True)
    def list_customers() -> dict:
        """Return each customer with the year of the last order; read-only."""
        return json.loads(path.read_text("utf-8"))

    def delete_customer(customer: str) -> str:
        """Delete a customer for good. This cannot be undone."""
        customers = list_customers()
        if customer not in customers:
            raise LookupError("no customer %s" % customer)
        del customers[customer]
        path.write_text(json.dumps(customers), "utf-8")
        return "deleted %s" % customer

    return agentloop.registry([list_customers, delete_customer])


SCRIPT = [
    agentloop.AgentAction("list_customers", {}),
    [
        agentloop.AgentAction("delete_customer", {"customer": "cust-1"}),
        agentloop.AgentAction("delete_customer", {"customer": "cust-7"}),
    ],
    agentloop.AgentFinish("cust-7 is deleted. cust-1 stays: the operator denied it."),
]


def supervised(model, run, tools, journal, decide):
    """Yield the events of a run; stop before the first call that nobody has decided on yet.

    decide(action) gives True to let it run, a str to deny it with that reason, None to wait.
    """
    events = agentloop.stream(model, run, tools, journal=journal)
    for event in events:
        yield event
        if not isinstance(event, agentloop.AgentAction):
            continue
        if event.tool not in tools or tools[event.tool].read_only:
            continue  # an unknown tool runs nothing; what only reads needs no approval
        verdict = decide(event)
        if verdict is None:
            events.close()  # lets go of the run and the journal; the call stays pending in both
            return
        if verdict is not True:
            run.close(event, "Denied by the operator: %s" % verdict, "denied")


def work(options):
    """One process: resume the run where the journal has it, go as far as the verdicts reach."""
    model = agentloop.Scripted(SCRIPT)
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)

    def decide(action):
        # Compare the value itself, exactly: a search in the text of the call would take cust-10
        # for cust-1, and miss what is spelled with \\u escapes.
        if action.arguments is None:
            return "the arguments cannot be read"
        customer = action.arguments.get("customer")
        if action.tool == "delete_customer" and customer in options.approve:
            return True
        return options.why if customer in options.deny else None

    folder = Path(options.folder)
    run = agentloop.AgentRun(TASK)  # what the journal has more is taken over into it
    tools = shop_tools(folder)
    for event in supervised(model, run, tools, str(folder / "run.jsonl"), decide):
        print("   %s" % event)
    print("   state: %s" % run.state)
    for action in run.pending:
        print("   waiting for approval: %s" % action)
    print("   customers left: %s" % ", ".join(tools["list_customers"].function()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--folder", help="where the journal and the customers are kept")
    parser.add_argument("--approve", nargs="*", default=[], metavar="CUSTOMER")
    parser.add_argument("--deny", nargs="*", default=[], metavar="CUSTOMER")
    parser.add_argument("--why", default="no reason given")
    options = parser.parse_args()
    if options.folder:
        try:
            Path(options.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--folder {options.folder}: {error.strerror}")
        return work(options)

    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, __file__] + sys.argv[1:] + ["--folder", folder]
        verdicts = ["--approve", "cust-7", "--deny", "cust-1", "--why", "an open invoice"]
        for title, more in [
            ("1. In the evening: nobody is there to be asked.", []),
            ("2. In the morning: one is approved, one is denied.", verdicts),
            ("3. Once more, by mistake: the run is finished, nothing happens twice.", []),
        ]:
            print(title, flush=True)
            if subprocess.run(line + more).returncode:
                sys.exit(1)  # the child has said why


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
