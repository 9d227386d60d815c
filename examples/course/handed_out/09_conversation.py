"""Turns, memory, callbacks: three functions of a few lines each.

1. ask(model, run, question, tools)     one more turn of a conversation. `run` is the turn before,
                                        or None at the beginning. Returns the new turn at its end.
   run.follow_up(question) makes the next turn.

2. keep_last(run, count)                memory as a window: of the earlier turns in run.history, only
                                        the last `count` stay. With 0, none. It changes the list.

3. watch(model, run, tools, handler)    callbacks: drives the run to its end and calls

       handler("action", event)         for each call that the model proposes
       handler("step", event)           for each result
       handler("finish", event)         for the answer

   A handler that raises an Exception (a full disk, a lost connection to the log) must not stop the
   run. Returns the run.

    python3 check.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def ask(model, run, question, tools):
    run = agentloop.AgentRun(question)
    return agentloop.run(model, run, tools)


def keep_last(run, count):
    pass


def watch(model, run, tools, handler):
    return agentloop.run(model, run, tools)
