"""One solution. What stream() yields as an AgentAction is proposed, noted, and not executed yet."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def propose(model, task, tools, journal):
    run = agentloop.AgentRun(task)
    for event in agentloop.stream(model, run, tools, journal=journal):
        if isinstance(event, agentloop.AgentAction) and event.tool == "pay":
            return list(run.pending)
    return []


def decide(model, tools, journal, yes):
    run = agentloop.AgentRun.load(journal)
    if not yes:
        for action in list(run.pending):
            if action.tool == "pay":
                run.close(action, "the owner said no; do not ask again", "denied")
    return agentloop.run(model, run, tools, journal=journal)
