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

LOOK = agentloop.AgentAction("look_up_bill", {})
PAY = agentloop.AgentAction("pay", {"amount": 20})
END = agentloop.AgentFinish("that was all")
MODEL = agentloop.Scripted([LOOK, PAY, END])
PAY_MORE = agentloop.AgentAction("pay", {"amount": 30})
THREE_AT_ONCE = agentloop.Scripted([[LOOK, PAY, PAY_MORE], END])


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

    def propose(self, model=MODEL):
        """The names of the calls that wait, as propose() says."""
        waiting = self.exercise.propose(model, "Pay the bill.", self.tools(), self.journal)
        gc.collect()  # PyPy lets go of the journal only when the dropped stream is collected
        need(
            waiting is not None,
            "propose() returned None. It should return list(run.pending) at the call of pay.",
        )
        need(isinstance(waiting, list), f"propose() should return a list, not {waiting!r}.")
        strange = [w for w in waiting if not isinstance(w, agentloop.AgentAction)]
        need(not strange, f"the list holds actions, as they stand in run.pending; not {strange}.")
        return [action.tool for action in waiting]

    def decide(self, yes, model=MODEL):
        """The run that decide() gives back."""
        try:
            run = self.exercise.decide(model, self.tools(), self.journal, yes)
        except FileNotFoundError as error:
            need(
                Path(self.journal).exists(),
                "there is no journal to load. Does propose() hand journal=journal to stream()?",
            )
            raise error
        kept = isinstance(run, agentloop.AgentRun)
        need(kept, f"decide() should return the run, at its end; it gave {run!r}.")
        return run


def check(exercise):
    with tempfile.TemporaryDirectory() as folder:
        return decisions(exercise, folder)


def decisions(exercise, folder):
    office = Office(exercise, folder, "no.jsonl")
    names = office.propose()
    need(not office.paid, "propose() paid before anybody was asked. Leave the loop at the action.")
    need(names == ["pay"], f"propose() should return the waiting call of pay; I got {names}.")
    office.propose()
    need(not office.paid, "after a restart propose() paid before anybody was asked.")

    run = office.decide(yes=False)
    need(not office.paid, "the answer was no, and it was paid. run.close() ends a call unexecuted.")
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

    office = Office(exercise, folder, "three.jsonl")
    names = office.propose(THREE_AT_ONCE)
    need("pay" in names, f"one reply asks for three calls, two of them pay; what waits is {names}.")
    need(not office.paid, "one reply asked for three calls, and propose() ran a pay.")
    run = office.decide(False, THREE_AT_ONCE)
    need(
        not office.paid,
        f"one reply asked for two payments, the answer was no, and {office.paid} was paid. (A loop "
        "over a list that shrinks skips some: walk over list(run.pending).)",
    )
    statuses = [f"{step.action.tool}: {step.status}" for step in run.steps]
    fair = sorted(statuses) == ["look_up_bill: ok", "pay: denied", "pay: denied"]
    need(fair, f"the no was for each pay, and for pay alone; the calls ended as {statuses}.")

    office = Office(exercise, folder, "none.jsonl")
    names = office.propose(agentloop.Scripted([LOOK, END]))
    need(names == [], f"a run that ended without a call of pay has nothing waiting; I got {names}.")
    return "it waits, it takes a no, and a yes pays once."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
