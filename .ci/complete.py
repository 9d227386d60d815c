"""What an editor completes, asked of jedi, which Jupyter, Vim and others use.

python complete.py      in a virtual environment with the package jedi
"""

import sys
from pathlib import Path

import jedi

ROOT = Path(__file__).resolve().parent.parent
START = """
import agentloop

def look(sku: str) -> int:
    return 3

@agentloop.tool(read_only=True)
def again(sku: str) -> int:
    return 3

def answer(run: agentloop.AgentRun, tools):
    return agentloop.AgentFinish("3")

"""
DATA = {
    "AgentAction": {"tool", "tool_input", "call_id", "log", "message", "request", "arguments"},
    "AgentStep": {"action", "observation", "status"},
    "AgentFinish": {"output", "log", "message", "reason"},
    "AgentRun": {
        "task", "steps", "pending", "started", "finish", "state", "requests", "usage", "history",
        "output", "close", "follow_up", "load",
    },
}  # fmt: skip
EVENTS = DATA["AgentAction"] | DATA["AgentStep"] | DATA["AgentFinish"]
TOOL = {"name", "description", "parameters", "function", "return_direct", "read_only", "idempotent"}
OPTIONS = {
    "base_url", "api_key", "headers", "system", "on_text", "timeout", "deadline", "retries", "trim",
    "max_observation", "ssl_context", "transport",
}  # fmt: skip
# What stands before the cursor: what has to be offered there
COMPLETED = {
    "for event in agentloop.stream(answer, 'go', [look]):\n    event.": EVENTS,
    "for event in agentloop.stream(answer, 'go', [look]):\n"
    "    if isinstance(event, agentloop.AgentStep):\n        event.action.": DATA["AgentAction"],
    "agentloop.run(answer, 'go', [look]).": DATA["AgentRun"],
    "agentloop.run(answer, 'go', [look]).steps[0].": DATA["AgentStep"],
    "agentloop.run(answer, 'go', [look]).finish.": DATA["AgentFinish"],
    "agentloop.AgentRun.load('run.jsonl').follow_up('more').": DATA["AgentRun"],
    "def mine(run: agentloop.AgentRun, tools):\n    run.pending[0].": DATA["AgentAction"],
    "again.": TOOL,
    "agentloop.registry([look])['look'].": TOOL,
    "agentloop.OpenAIChat('m').": {"body", "complete"},
    "try:\n    pass\nexcept agentloop.ModelError as error:\n    error.": {"kind", "status"},
}
# A call that is being written: the parameters that have to be shown
CALLED = {
    "agentloop.run(": {"model", "task", "tools", "max_requests", "accept", "journal"},
    "agentloop.stream(": {"model", "task", "tools", "max_requests", "accept", "journal"},
    "agentloop.OpenAIChat(": {"model", *OPTIONS},
    "agentloop.OpenAIResponses(": {"model", *OPTIONS},
    "agentloop.AnthropicMessages(": {"model", "max_tokens", "cache", *OPTIONS},
    "agentloop.ReActText(": {"complete", "template", "trim", "max_observation"},
    "agentloop.tool(": {"name", "return_direct", "read_only", "idempotent"},
}


def main():
    project = jedi.Project(str(ROOT), sys_path=[str(ROOT), *sys.path])
    sys.path.insert(0, str(ROOT))
    import agentloop

    failed = 0
    for text, wanted in {**COMPLETED, "agentloop.": set(agentloop.__all__)}.items():
        script = jedi.Script(START + text, project=project)
        missing = wanted - {found.name for found in script.complete()}
        if missing:
            failed += 1
            print("FAILED after %r: not offered: %s" % (text, ", ".join(sorted(missing))))
    for text, wanted in CALLED.items():
        signatures = jedi.Script(START + text, project=project).get_signatures()
        missing = wanted - {param.name for found in signatures for param in found.params}
        if missing:
            failed += 1
            print("FAILED after %r: not shown: %s" % (text, ", ".join(sorted(missing))))
    print("jedi: %d places, %d failed" % (len(COMPLETED) + 1 + len(CALLED), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
