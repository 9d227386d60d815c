"""One solution. Each of the three is what a framework has a class for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

KINDS = [
    (agentloop.AgentAction, "action"),
    (agentloop.AgentStep, "step"),
    (agentloop.AgentFinish, "finish"),
]


def ask(model, run, question, tools):
    run = agentloop.AgentRun(question) if run is None else run.follow_up(question)
    return agentloop.run(model, run, tools)


def keep_last(run, count):
    left_out = max(0, len(run.history) - count)  # history[-0:] would be everything
    del run.history[:left_out]


def watch(model, run, tools, handler):
    for event in agentloop.stream(model, run, tools):
        kind = next(name for class_, name in KINDS if isinstance(event, class_))
        try:
            handler(kind, event)
        except Exception as error:
            print(f"(a handler failed: {error})")
    return run
