"""One solution. It looks at steps only, so that no call of a reply is left half done."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def run_within(model, task, tools, max_requests, max_tokens):
    run = agentloop.AgentRun(task)
    for event in agentloop.stream(model, run, tools, max_requests=max_requests):
        tokens = run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)
        if isinstance(event, agentloop.AgentStep) and tokens >= max_tokens:
            return run, "tokens"
    return run, "budget" if run.state == "budget_exhausted" else "answer"
