"""One solution: line by line, and the first call or answer that is whole counts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

FORM = "Write 'Action: ...' and 'Action Input: ...', or 'Final Answer: ...', each on its own line."


def parse(text):
    tool = ""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        mark, _, rest = line.partition(":")
        rest = rest.strip()
        if mark == "Final Answer":
            answer = "\n".join([rest, *lines[number + 1 :]])
            return agentloop.AgentFinish(answer.strip(), log=text)
        if mark == "Action":
            tool = rest
        if mark == "Action Input" and tool:
            written = "\n".join(lines[: number + 1])  # what follows was made up
            return agentloop.AgentAction(tool, rest, log=written)
    raise agentloop.InvalidResponse(FORM, log=text)
