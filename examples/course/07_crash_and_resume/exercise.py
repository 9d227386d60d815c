"""Nobody pays without being asked. The one who is asked may be at lunch, so the run has to wait.

propose(...) drives the run until it proposes a call of the tool "pay", and leaves it there, before
the call is executed. It returns the actions that wait (run.pending); an empty list where the run
ended without such a call.

decide(...), perhaps a day later and in another process, loads the run from the journal. Where the
answer was no, it ends each waiting "pay" with run.close(action, text, "denied"): the text is what
the model is told. Then the run goes on to its end, and is returned.

As they stand, both simply let it run. A `for` loop over agentloop.stream(), called like
agentloop.run(), gets each action before it is executed.

    python3 check.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def propose(model, task, tools, journal):
    run = agentloop.AgentRun(task)
    agentloop.run(model, run, tools, journal=journal)
    return list(run.pending)


def decide(model, tools, journal, yes):
    run = agentloop.AgentRun.load(journal)
    return agentloop.run(model, run, tools, journal=journal)
