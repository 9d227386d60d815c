"""Proposes, waits, says yes or no, and counts what was paid.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import gc
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402

import agentloop  # noqa: E402

MODEL = agentloop.Scripted(
    [
        agentloop.AgentAction("look_up_bill", {}),
        agentloop.AgentAction("pay", {"amount": 20}),
        agentloop.AgentFinish("that was all"),
    ]
)


class Office:
    """The tools, what was paid with them, and a journal of their own."""

    def __init__(self, exercise, folder, name):
        self.exercise, self.paid = exercise, []
        self.journal = str(Path(folder) / name)

    def tools(self):
        def look_up_bill() -> int:
            """Return the amount of the bill."""
            return 20

        def pay(amount: int) -> str:
            """Pay the bill."""
            self.paid.append(amount)
            return "paid"

        return [look_up_bill, pay]

    def propose(self):
        waiting = self.exercise.propose(MODEL, "Pay the bill.", self.tools(), self.journal)
        gc.collect()  # PyPy lets go of the journal only when the dropped stream is collected
        return waiting

    def decide(self, yes):
        return self.exercise.decide(MODEL, self.tools(), self.journal, yes)


def check(exercise):
    with tempfile.TemporaryDirectory() as folder:
        return decisions(exercise, folder)


def decisions(exercise, folder):
    office = Office(exercise, folder, "no.jsonl")
    waiting = office.propose()
    need(not office.paid, "propose() paid before anybody was asked. Leave the loop at the action.")
    names = [action.tool for action in waiting or []]
    need(names == ["pay"], f"propose() should return the waiting call of pay; I got {names}.")
    office.propose()
    need(not office.paid, "after a restart propose() paid before anybody was asked.")

    run = office.decide(yes=False)
    need(not office.paid, "the answer was no, and it was paid.")
    need(isinstance(run, agentloop.AgentRun), f"decide() should return the run, not {run!r}.")
    statuses = [step.status for step in run.steps]
    need(statuses == ["ok", "denied"], f"no should end the call as 'denied'; I see {statuses}.")
    need(str(run.steps[1].observation).strip(), "tell the model why: the observation is empty.")
    need(run.state == "model_ended", f"after the no the run should go on; it is {run.state}.")

    office = Office(exercise, folder, "yes.jsonl")
    office.propose()
    run = office.decide(yes=True)
    need(office.paid == [20], f"the answer was yes; what was paid is {office.paid}.")
    need(run.state == "model_ended", f"after the yes the run should go on; it is {run.state}.")
    office.decide(yes=True)
    need(office.paid == [20], "yes was said twice, and paid twice. Does decide() use the journal?")
    return "it waits, it takes a no, and a yes pays once."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
