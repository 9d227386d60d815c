"""Search in a folder of documents, and an answer that names its sources.

What you learn: `search` finds paragraphs by full text (SQLite's FTS5), `read_on` shows what stands
around one, each with its source, "guide.md:12". Both read from the index alone, so that no call
reaches another file. And `accept` wants sources in the answer, such as this run has found.

    python3 search_documents.py
    python3 search_documents.py --folder docs --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: take `accept` away; take the quotes out of as_query(), and search for `don't`.
"""

import argparse
import re
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


def paragraphs(text):
    """a, b, an empty line, c -> (1, "a\\nb"), (4, "c"): each with the line where it begins."""
    lines = []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.strip():
            lines.append(line)
        elif lines:
            yield number - len(lines), "\n".join(lines)
            lines = []


def build_index(folder):
    """The paragraphs of the folder's documents, in memory, with a full-text index."""
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE found USING fts5(source, text, tokenize='porter')")
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in (".md", ".txt") and path.is_file() and not path.is_symlink():
            name = path.relative_to(folder).as_posix()
            for line, text in paragraphs(path.read_text("utf-8", "replace")):
                index.execute("INSERT INTO found VALUES (?, ?)", (f"{name}:{line}", text))
    return index


def as_query(words):
    """lamp, don't -> "lamp" OR "don" OR "t": any of the words, none of FTS5's operators."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", words))


def document_tools(index):
    def rows(where, *values):
        found = index.execute(f"SELECT source, text FROM found WHERE {where}", values)
        return [f"[{source}] {text[:1000]}" for source, text in found]

    def search(words: str) -> list:
        """Find the paragraphs of the shop's documents that have most of these words in them."""
        query = as_query(words)  # "" where there is no word, "???"
        found = rows("text MATCH ? ORDER BY rank LIMIT 5", query) if query else []
        return found or ["Nothing was found. Try other words."]

    def read_on(source: str) -> list:
        """Show a paragraph that was found, the one before it and the next five."""
        for (row,) in index.execute("SELECT rowid FROM found WHERE source = ?", [source]):
            return rows("rowid BETWEEN ? AND ?", row - 1, row + 5)
        raise LookupError(f"no paragraph begins at {source}")

    return [search, read_on]  # not read_only: threads cannot share the connection


def names_its_sources(run):
    """Accept an answer that names a source, and none that this run has not found."""
    source = r"\[([^][]+:\d+)\]"
    found = re.findall(source, str([step.observation for step in run.steps]))
    named = re.findall(source, str(run.output))
    if not named and "not in the documents" not in str(run.output):
        return "Name your sources, like [file.md:1], or say that it is not in the documents."
    made_up = sorted(set(named) - set(found))
    return f"These were not found in this run: {', '.join(made_up)}." if made_up else None


DOCUMENTS = {
    "returns.md": "# Returns\n\nLamps can be returned within 30 days.\n\nBulbs cannot.",
    "delivery.txt": "A parcel takes two days.\n\nHeavy lamps take a week.",
}
SCRIPT = [
    agentloop.AgentAction("search", {"words": "???"}),
    agentloop.AgentAction("search", {"words": "return a lamp (don't know which)"}),
    agentloop.AgentAction("read_on", {"source": "returns.md:3"}),
    agentloop.AgentFinish("You have 30 days."),
    agentloop.AgentFinish("You have 30 days [terms.md:7]."),
    agentloop.AgentFinish("You have 30 days [returns.md:3], except for bulbs [returns.md:5]."),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--model", "--base-url", "--folder"):
        parser.add_argument(name)
    parser.add_argument("--question", default="How long do I have to return a lamp?")
    options = parser.parse_args()
    model = agentloop.Scripted(SCRIPT)
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in DOCUMENTS.items():
            Path(folder, name).write_text(text, "utf-8")
        tools = document_tools(build_index(options.folder or folder))
    run = agentloop.AgentRun(options.question)
    for event in agentloop.stream(model, run, tools, max_requests=6, accept=names_its_sources):
        print(event)
    print(f"{run.state} after {run.requests} requests")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
