"""A tool with 10 MB to say: what the model sees of it, and how it reads on.

What you learn: `max_observation` bounds what is sent of one observation. The middle is cut, and a
marker says which characters of how many are missing; the step keeps the whole. So give the model a
tool that reads a range, and it can read on exactly where the cut says.

    python3 long_output.py
    python3 long_output.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: max_observation=400; a tool `search_log(word)`, which is often better than reading.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "Which error is in the log?"
LINE = "12:00 all is well, nothing to report from here, same as ever\n"
START = LINE * 40  # the error comes just behind what the model sees at first
LOG = START + "12:01 ERROR disk 7 is full\n" + LINE * (10_000_000 // len(LINE))


@agentloop.tool(read_only=True)
def read_log() -> str:
    """Return the whole log. It may be long: what is cut can be had from read_log_part."""
    return LOG


@agentloop.tool(read_only=True)
def read_log_part(start: int, length: int = 1000) -> str:
    """Return a part of the log.

    Args:
        start: the number of the first character, as the marker of a cut text gives it.
        length: how many characters, at most 1000.
    """
    return LOG[start : start + min(length, 1000)]


MARKER = re.compile(r"\[\D*(\d+).*\]")  # in the middle of a cut text; the first number missing
TOOLS = agentloop.registry([read_log, read_log_part])


def last_text(adapter, run):
    """The last observation as the model is sent it."""
    return adapter.body(run, TOOLS)["messages"][-1]["content"]


def reader(adapter):
    """An offline model that knows no more than what is sent: it reads on from the cut."""

    def model(run, tools):
        if not run.steps:
            return agentloop.AgentAction("read_log", {})
        found = re.search("ERROR .*", last_text(adapter, run))
        if found:
            return agentloop.AgentFinish("The error: " + found.group())
        if len(run.steps) == 1:
            start = int(MARKER.search(last_text(adapter, run)).group(1))
        else:
            start = run.steps[-1].action.tool_input["start"] + 1000
        return agentloop.AgentAction("read_log_part", {"start": start})

    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    adapter = agentloop.OpenAIChat(
        options.model or "any", base_url=options.base_url, max_observation=2000, max_tokens=1000
    )
    model = adapter if options.model else reader(adapter)

    run = agentloop.AgentRun(TASK)
    for event in agentloop.stream(model, run, TOOLS):
        if isinstance(event, agentloop.AgentAction):
            print(event)
        elif isinstance(event, agentloop.AgentStep):
            sent = last_text(adapter, run)
            print(f"   the step keeps {len(event.observation)} characters, {len(sent)} are sent")
            if MARKER.search(sent):
                print("   the cut:", MARKER.search(sent).group())
    print(f"{run.state}: {run.output}")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
