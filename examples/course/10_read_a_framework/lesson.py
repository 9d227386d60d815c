"""The same troubles for a framework's executor and for the loop you know: who says what at the end?

    python3 lesson.py                  the table
    python3 lesson.py --installed      where these parts stand in LangChain, if it is installed here

The executor is framework.py, in this folder: one page, in the manner of the large ones. Predict for
each row: how does the executor's run end, and what is left of the work?
"""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
sys.path.insert(0, str(Path(__file__).resolve().parent))
import framework  # noqa: E402

import agentloop  # noqa: E402

LOOK = "Thought: I look.\nAction: lookup_stock\nAction Input: A1"
ANSWER = "Thought: I know it.\nFinal Answer: 3 can be sold"
TROUBLES = [
    ("nothing goes wrong", [LOOK, ANSWER]),
    ("an unknown tool", [LOOK.replace("lookup", "get"), LOOK, ANSWER]),
    ("a tool that raises", [LOOK, LOOK.replace("A1", "B7"), ANSWER]),
    ("a malformed reply", [LOOK, "Thought: It depends.", ANSWER]),
    ("a model without end", [LOOK] * 9),
]

# What to search for in langchain_classic/agents/agent.py, and what it is.
PLACES = [
    ("def _call(", "the loop"),
    ("def _should_continue(", "the budget"),
    ("def _iter_next_step(", "ask the model; a malformed reply"),
    ("def _perform_agent_action(", "run a tool; an unknown tool"),
    ("def return_stopped_response(", "what is said at the limit"),
    ("def _prepare_intermediate_steps(", "which steps the model is shown"),
]


def lookup_stock(sku: str) -> int:
    """Return how many of the SKU can be sold."""
    return {"A1": 3}[sku]


def by_framework(texts):
    """How the executor's run ends, and how many steps its caller has then."""
    queue = iter(texts)
    tools = [framework.Tool("lookup_stock", lookup_stock, "How many of the SKU can be sold.")]
    agent = framework.Agent(lambda prompt: next(queue), tools)
    executor = framework.AgentExecutor(
        agent, tools, max_iterations=4, return_intermediate_steps=True
    )
    try:
        outputs = executor.invoke({"input": "How many A1 can we sell?"})
    except Exception as error:
        return type(error).__name__, "none"
    return f'"{outputs["output"]}"', str(len(outputs["intermediate_steps"]))


def by_agentloop(texts):
    """The same replies through ReActText and agentloop."""
    queue = iter(texts)
    model = agentloop.ReActText(lambda prompt: next(queue))
    run = agentloop.run(model, "How many A1 can we sell?", [lookup_stock], max_requests=4)
    return f"{run.state}, {run.output}", str(len(run.steps))


def installed():
    """Search the real source, without running it."""
    spec = importlib.util.find_spec("langchain_classic")
    if spec is None:
        print("langchain_classic is not installed here (pip install langchain-classic)")
        return 1
    folder = Path(spec.submodule_search_locations[0])
    path = folder / "agents" / "agent.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    print(f"{path}: {len(lines)} lines")
    for words, what in PLACES:
        numbers = [str(n) for n, line in enumerate(lines, 1) if words in line]
        print(f"{what:<36} line {', '.join(numbers) or '(not in this version)'}")
    return 0


def main():
    print(f"{'':<20}{'the executor':<28}{'steps':<7}{'agentloop':<29}steps")
    for name, texts in TROUBLES:
        theirs, left = by_framework(texts)
        ours, kept = by_agentloop(texts)
        print(f"{name:<20}{theirs:<28}{left:<7}{ours:<29}{kept}")
    lines = len((Path(__file__).resolve().parent / "framework.py").read_text("utf-8").splitlines())
    print(f"\nframework.py has {lines} lines. Which of them are the loop?")
    return 0


if __name__ == "__main__":
    sys.exit(installed() if "--installed" in sys.argv[1:] else main())
