"""A tool that cannot be used: what went wrong is an observation, and it decides the next step.

What you learn: ReActText makes a model of any text completion (prompt in, text out), with the loop
of the first lessons: Thought, Action, Action Input, Observation, Final Answer. A tool that raises
does not end the run. Its error is the next observation; the model reads what failed and why, and
says honestly that the task cannot be done. Beside it, the same question with the tool working.

    python3 unavailable_tool.py
    python3 unavailable_tool.py --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: let srv-02 fail as well (DOWN); raise an error that says nothing ("failed"),
and see what a real model makes of it; print all of the prompt.
"""

import argparse
import sys
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "How busy is the CPU of srv-01, in per cent?"
USAGE = {"srv-01": 73, "srv-02": 12}
DOWN = {}  # server to status code and reason


class Unavailable(Exception):
    """A service said no: its status code, and the reason in words."""

    def __init__(self, status, reason):
        super().__init__(f"status {status}: {reason}")


def list_servers() -> List[str]:
    """Return the names of all servers."""
    return sorted(USAGE)


def get_cpu_usage(server: str) -> int:
    """Return the CPU usage of a server in per cent.

    Args:
        server: the server's name, for example "srv-02".
    """
    if server in DOWN:
        raise Unavailable(*DOWN[server])
    return USAGE[server]


LIST = "Thought: I need the exact name first.\nAction: list_servers\nAction Input: {}"
LOOK = 'Thought: There it is.\nAction: get_cpu_usage\nAction Input: {"server": "srv-01"}'
BUSY = "Thought: I know it now.\nFinal Answer: The CPU of srv-01 is 73 per cent busy."
HONEST = (
    "Thought: The tool failed, and srv-02 is not what was asked.\n"
    "Final Answer: I cannot tell. srv-01 is not available: status 503, its monitoring agent does "
    "not answer."
)


def scripted(prompt):
    """A text completion that needs no network: it looks at what the last observation says."""
    seen = prompt[prompt.rindex(TASK) :]
    if "503" in seen:
        return HONEST
    if "73" in seen:
        return BUSY
    return LOOK if "srv-02" in seen else LIST


def choose_completion():
    """The scripted completion, or a real model's where --model is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        return agentloop.OpenAIChat(
            options.model, base_url=options.base_url, max_tokens=1000
        ).complete
    return scripted


def main():
    model = agentloop.ReActText(choose_completion())
    tools = [list_servers, get_cpu_usage]
    for title, down in [
        ("The tool works:", {}),
        ("The tool is unavailable:", {"srv-01": (503, "its monitoring agent does not answer")}),
    ]:
        print(title)
        DOWN.update(down)
        run, prompt = agentloop.AgentRun(TASK), TASK
        for event in agentloop.stream(model, run, tools, max_requests=5):
            print("  ", event)
            if isinstance(event, agentloop.AgentStep):
                prompt = model.prompt(run, agentloop.registry(tools))  # nothing is hidden
        print(f"   {run.state}: {len(run.steps)} calls, {[step.status for step in run.steps]}")

    print("What the model read before its last answer:")
    print("   | " + prompt[prompt.rindex(TASK) :].strip().replace("\n", "\n   | "))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
