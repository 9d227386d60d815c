"""A model that only writes text: how does it call a tool, and what does it see of the result?

    python3 lesson.py                                  a script in the place of the model
    python3 lesson.py --you                            you are the model: it shows, you write
    python3 lesson.py --model NAME --base-url URL      a real model, now

Predict: how does the loop find out which tool is meant? And what does the model see of a tool that
cannot be used?
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

TASK = "How many A1 can we sell?"


def shop_tool(is_open):
    """The same tool twice: it works, or it says why it cannot."""

    def lookup_stock(sku: str) -> int:
        """Return how many of the SKU can be sold.

        Args:
            sku: the product's SKU, for example "A1".
        """
        if not is_open:
            raise ConnectionError("503, the stock database is closed until Monday")
        return {"A1": 3}[sku]

    return lookup_stock


def write(prompt):
    """The script: from prompt to text, as any text model. It reads the last observation."""
    seen = prompt[prompt.rindex(TASK) :].rsplit("Observation:", 1)
    if len(seen) == 1:
        return 'Thought: I will ask the shop.\nAction: get_stock\nAction Input: {"sku": "A1"}'
    if "503" in seen[1]:
        return (
            "Thought: Nobody can look it up before Monday, and I do not guess.\n"
            "Final Answer: I cannot say. The stock database is closed until Monday."
        )
    if "lookup_stock" in seen[1]:  # there is no get_stock, and the loop says what there is
        return (
            "Thought: So that is what it is called.\n"
            'Action: lookup_stock\nAction Input: {"sku": "A1"}'
        )
    return "Thought: That is what I was asked.\nFinal Answer: 3 of A1 can be sold."


def ask_you(prompt):
    """You are the model. An empty line ends what you write."""
    print(f"\n{'-' * 30} what the model sees {'-' * 30}\n{prompt}")
    print(f"{'-' * 30} you write; an empty line ends it {'-' * 17}")
    lines = []
    while not lines or lines[-1]:
        try:
            lines.append(input())
        except EOFError:
            sys.exit("(you left)")
    return "\n".join(lines)


CALL = 'Action: lookup_stock\nAction Input: {"sku": "A1"}'
SLOPPY = [
    ("as asked", "Thought: I look.\n" + CALL),
    (
        "with decoration",
        '**Action:** `lookup_stock`\n**Action Input:**\n```json\n{"sku": "A1"}\n```',
    ),
    ("a bare value", "Action: lookup_stock\nAction Input: A1"),
    ("it goes on by itself", CALL + "\nObservation: 500\nFinal Answer: 500 of A1 can be sold."),
    ("half a dict", 'Action: lookup_stock\nAction Input: {"sku": "A'),
    ("only a thought", "Thought: I would have to look that up in the shop."),
    ("no label at all", "I would have to look that up in the shop."),
]


def shown(text):
    return "\n".join("    | " + line for line in text.splitlines())


def play(complete, tools):
    """One run; for each request what the model wrote, and what it saw next."""
    run = agentloop.AgentRun(TASK)
    for event in agentloop.stream(agentloop.ReActText(complete), run, tools, max_requests=5):
        if isinstance(event, agentloop.AgentStep):
            print(shown(event.action.log))
            print(f"    Observation: {event.observation}")
        elif isinstance(event, agentloop.AgentFinish):
            print(shown(event.log))
    print(f"{run.state} after {run.requests} requests\n")


def read(text):
    """What comes of one reply: a step, or the answer."""
    model = agentloop.ReActText(lambda prompt: text)
    run = agentloop.run(model, TASK, [shop_tool(True)], max_requests=1)
    return run.finish or run.steps[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--you", action="store_true", help="you are the model")
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    complete = write
    if options.model:
        settings = {"max_tokens": 300, "stop": ["\nObservation:"], "retries": 2}
        try:
            server = agentloop.OpenAIChat(options.model, base_url=options.base_url, **settings)
        except ValueError as error:  # a base_url that is none
            parser.error(str(error))
        complete = server.complete
    elif options.you:
        complete = ask_you

    try:
        if not options.you:
            print("1. The first prompt, whole")
            model = agentloop.ReActText(complete)
            tools = agentloop.registry([shop_tool(True)])
            print(shown(model.prompt(agentloop.AgentRun(TASK), tools)))
        print("\n2. The run")
        play(complete, [shop_tool(True)])
        print("3. The same, and the tool cannot be used")
        play(complete, [shop_tool(False)])
    except agentloop.ModelError as error:
        print(f"no reply ({error.kind}): {error}")
        return 1

    print("4. What models write, and what is read")
    for name, text in SLOPPY:
        print(f"{name}:\n{shown(text)}\n    {read(text)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
