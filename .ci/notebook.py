"""The whole file pasted into a notebook cell, then a run in the next one, by a real kernel.

python notebook.py      in a virtual environment with the packages nbclient and ipykernel
"""

import sys
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
RUN = '''
from typing import List

def lookup_stock(sku: str, lines: List[int] = []) -> dict:
    """Return the quantity that can be sold now.

    Args:
        sku: the product's SKU.
    """
    return {"sku": sku, "there": 3}

async def later(sku: str) -> str:
    """Tell it later."""
    return sku

calls = [AgentAction("lookup_stock", {"sku": "A1"}, call_id="c17"), AgentAction("later", {"sku": "A1"})]
result = run(Scripted([calls, AgentFinish("3")]), "How many A1?", [lookup_stock, later])
assert [step.status for step in result.steps] == ["ok", "ok"], result
assert registry([lookup_stock])["lookup_stock"].parameters["properties"]["sku"]["description"], "no docstring"
for event in stream(Scripted([calls[0], AgentFinish("3")]), "How many A1?", [lookup_stock]):
    print(event)
result.state
'''


def main():
    source = (ROOT / "agentloop.py").read_text(encoding="utf-8")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (source, RUN)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    first, second = (cell["outputs"] for cell in book["cells"])
    assert not first, "pasting printed: %s" % first
    text = "".join(out.get("text", "") + str(out.get("data", "")) for out in second)
    assert "model_ended" in text and "lookup_stock" in text, text
    print("notebook: pasted without output, and ran")


if __name__ == "__main__":
    sys.exit(main())
