"""Looks up the lines that you name, and your table.

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402

FRAMEWORK = Path(__file__).resolve().parent / "framework.py"

# What stands in the line, or in one of the lines, that is asked for; and where to look for it.
WHERE = {
    "the budget is looked at": (
        ["while self._should_continue(", "def _should_continue(", "iterations < self.max_iter"],
        "search for max_iterations",
    ),
    "an unknown tool gets its observation": (
        ["No tool has the name", "if output.tool in name_to_tool"],
        "look in _take_next_step, below `else`",
    ),
    "your function is called": (["self.func(tool_input)"], "look in the class Tool"),
    "the answer at the limit is made up": (
        ["I ran out of iterations"],
        "look at what _call does after its `while`",
    ),
    "the memory is put into the inputs": (
        ["inputs.update(self.memory", "self.memory.load_memory_variables()"],
        "look in invoke, at its beginning",
    ),
    "a handler that fails is caught": (
        ["except Exception as error:", "the handler of %s failed"],
        "look in the class CallbackManager",
    ),
}

HERE = {
    "AgentExecutor(tools=[...])": ("e", "Parameters"),
    "AgentExecutor(max_iterations=15)": ("j", "Parameters"),
    "AgentExecutor(max_execution_time=60)": ("b", "Parameters"),
    "AgentExecutor(handle_parsing_errors=True)": ("i", "Parameters"),
    "AgentExecutor(return_intermediate_steps=True)": ("d", "Parameters"),
    "AgentExecutor(verbose=True)": ("l", "Parameters"),
    "ConversationBufferMemory()": ("g", "Memory"),
    "ConversationBufferWindowMemory(k=2)": ("a", "Memory"),
    "create_react_agent(...)": ("k", "Agents and prompts"),
    "create_tool_calling_agent(...)": ("f", "Agents and prompts"),
    "on_tool_end of a BaseCallbackHandler": ("h", "Callbacks"),
    "HumanApprovalCallbackHandler": ("c", "Callbacks"),
}


def lines_of(lines, what):
    """The numbers of the lines in which it happens."""
    words = WHERE[what][0]
    found = {n for n, line in enumerate(lines, 1) if any(word in line for word in words)}
    if what == "a handler that fails is caught":  # there are other such lines: those of fire()
        start = next(n for n, line in enumerate(lines, 1) if "def fire(" in line)
        found = {n for n in found if start < n < start + 12}
    return found


def places(exercise):
    """WHERE"""
    lines = FRAMEWORK.read_text(encoding="utf-8").splitlines()
    for what, (_words, look) in WHERE.items():
        number = exercise.WHERE.get(what)
        need(type(number) is int, f"where {what} should be the number of a line, not {number!r}.")
        need(number != 0, f"in which line of framework.py is it that {what}? ({look})")
        inside = 1 <= number <= len(lines)
        need(inside, f"framework.py has {len(lines)} lines; {number} is none of them.")
        right = number in lines_of(lines, what)
        shown = lines[number - 1].strip() or "(empty)"
        need(right, f"{what}: line {number} is `{shown}`. That is not it; {look}.")


def table(exercise):
    """HERE"""
    for name, (letter, section) in HERE.items():
        given = str(exercise.HERE.get(name, "?")).strip().lower()
        page = f'from_langchain.md, "{section}"'
        need(given != "?", f"what is {name} here? ({page}, says it)")
        meaning = exercise.MEANINGS.get(given)
        need(meaning, f"{name}: {given!r} is no letter of MEANINGS.")
        need(given == letter, f"{name} is not {given} ({meaning}). Look into {page}.")


def check(exercise):
    checking.climb((places, table), exercise)
    return "you can read the large ones. What you have not met yet is the rest of their lines."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
