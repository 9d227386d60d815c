"""Your parser: from the text that a model wrote to what the loop can do with it.

A model that only writes text was asked to write in this form:

    Thought: I look.
    Action: lookup_stock
    Action Input: {"sku": "A1"}

and, when it knows the answer,

    Final Answer: 3 can be sold

parse(text) gets one such reply and returns an agentloop.AgentFinish or an agentloop.AgentAction.
As it stands, it takes every reply for an answer. Make it get through what check.py sends:

    step 1: an answer. It may have several lines: all that stands behind "Final Answer:" belongs to
            it. (As handed out it does this. Keep it through the later steps.)
    step 2: an action. AgentAction(tool, tool_input, log=text): the tool's name, and what stands
            behind "Action Input:", as the text that it is. (The loop reads the JSON in it, and says
            so to the model when it is none.) `log` is the reply, so that the model sees later
            what it wrote.
    step 3: neither an action nor an answer. Raise agentloop.InvalidResponse(hint, log=text): the
            hint goes to the model, so it says how to write.
    step 4: a mark counts only at the beginning of a line.
    step 5: a model that does not stop after its Action Input, and writes an Observation and a
            Final Answer of its own. The first call counts; the rest was made up.

    python3 check.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def parse(text):
    answer = text.split("Final Answer:")[-1]
    return agentloop.AgentFinish(answer.strip(), log=text)
