"""Kinds of memory for a long conversation, in one database file that survives a restart.

What you learn: what a model remembers is what the next request holds, and that is
`AgentRun.history`, a plain list of earlier turns. So a kind of memory is a function that chooses
that list. Every turn is kept in an archive (SQLite, from the standard library); what is *shown* is:

    everything      all turns: nothing is forgotten, and each request costs more than the last
    last            the last N turns: cheap, and what was said before is gone
    summary         the model sums up older turns; the summary is a finished turn made by hand
    search          turns that share words with the question (full-text search), and the last one
    embeddings      turns that are close in meaning, by vectors, and the last one

The program says the same six things to each memory, closes the archives, opens them again and
asks each the same question. The scripted model knows only what it is shown, as a real one does.

    python3 memory.py

By hand, a process for each turn:

    python3 memory.py --model NAME --base-url URL --memory search "My dog is called Rex."
    python3 memory.py --model NAME --base-url URL --memory search "What is my dog called?"

Embeddings: `pip install model2vec` (small, no torch) or `pip install sentence-transformers`, then
`--embeddings minishlab/potion-base-8M` or the name of any such model. Without one, counted letter
triples stand in: they find "ordered" for "orders", but not "hound" for "dog".

Change and try: `last(2)` to `last(5)`; a fact given twice with different values; a summary that
keeps less. A summary is lossy and the prompt decides what is lost: read it (it is printed).
"""

import argparse
import contextlib
import copy
import importlib.util
import json
import math
import re
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

SUMMARISE = """Sum up this conversation for yourself, in short sentences. Keep every name, number,
wish and decision; leave out small talk.

What was summed up before:
{before}

What was said since:
{since}"""


def as_text(turn):
    return f"User: {turn.task}\nAssistant: {turn.output}"


def words_of(text):
    """ "My dog's name!" -> ["dog", "my", "name", "s"]"""
    return sorted(set(re.findall(r"\w+", text.lower())))


# -- the archive: every turn, for good ----------------------------------------------------------


class Archive:
    """All turns of one conversation in a SQLite file, and the summary of its beginning."""

    def __init__(self, path):
        self.db = sqlite3.connect(str(path))
        self.db.execute("CREATE TABLE IF NOT EXISTS turns (n INTEGER PRIMARY KEY, run TEXT)")
        self.db.execute("CREATE TABLE IF NOT EXISTS summary (upto INTEGER, text TEXT)")
        self.db.execute("CREATE TABLE IF NOT EXISTS vectors (n INTEGER, name TEXT, vector TEXT)")
        try:
            self.db.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(said, tokenize='porter')"
            )
            self.full_text = True
        except sqlite3.OperationalError:  # a Python whose SQLite was built without FTS5
            self.full_text = False

    def turns(self):
        rows = self.db.execute("SELECT run FROM turns ORDER BY n")
        return [agentloop.from_json(json.loads(text)) for (text,) in rows]

    def add(self, run):
        alone = copy.copy(run)
        alone.history = []  # each turn is kept once, not once more in every later one
        text = json.dumps(agentloop.to_json(alone))
        said = as_text(run).encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
        with self.db:  # both tables or neither, synced when the block ends
            row = self.db.execute("INSERT INTO turns (run) VALUES (?)", (text,)).lastrowid
            if self.full_text:
                self.db.execute("INSERT INTO words (rowid, said) VALUES (?, ?)", (row, said))

    def summary(self):
        """How many turns the summary covers, and its text."""
        return self.db.execute("SELECT upto, text FROM summary").fetchone() or (0, "(nothing)")

    def keep_summary(self, upto, text):
        with self.db:
            self.db.execute("DELETE FROM summary")
            self.db.execute("INSERT INTO summary VALUES (?, ?)", (upto, text))

    def search(self, question, count):
        """The places (from 0) of the turns that share the rarest words with the question."""
        words = words_of(question)[:100]
        if not words:
            return []  # "???" asks for nothing that could be looked up
        if self.full_text:
            # Quoted, since FTS5 has a syntax of its own, in which AND, * and - mean something.
            match = " OR ".join(f'"{word}"' for word in words)
            rows = self.db.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
                (match, count),
            )
            return [row - 1 for (row,) in rows]
        said = [words_of(as_text(turn)) for turn in self.turns()]
        score = [
            sum(1 / sum(word in other for other in said) for word in words if word in these)
            for these in said
        ]
        places = sorted(range(len(said)), key=lambda place: -score[place])
        return [place for place in places[:count] if score[place]]

    def vectors(self, name, encode):
        """A vector for each turn, by the model `name`. A turn is encoded once, its vector kept."""
        known = "SELECT n FROM vectors WHERE name = ?"
        rows = self.db.execute(f"SELECT n, run FROM turns WHERE n NOT IN ({known})", (name,))
        new = [(n, as_text(agentloop.from_json(json.loads(text)))) for n, text in rows]
        vectors = encode([text for _, text in new])
        with self.db:
            self.db.executemany(
                "INSERT INTO vectors VALUES (?, ?, ?)",
                [(n, name, json.dumps(vector)) for (n, _), vector in zip(new, vectors)],
            )
        kept = "SELECT vector FROM vectors WHERE name = ? ORDER BY n"
        return [json.loads(text) for (text,) in self.db.execute(kept, (name,))]


@contextlib.contextmanager
def open_archive(path):
    """An archive that is closed whatever happens; Windows cannot remove a file that is open."""
    archive = Archive(path)
    with contextlib.closing(archive.db):
        yield archive


# -- the kinds of memory: each chooses what is shown ---------------------------------------------


def everything(archive, question):
    return archive.turns()


def last(count):
    def choose(archive, question):
        return archive.turns()[-count:]

    return choose


def summary(model, keep=2, batch=3):
    """Turns that are older than the last `keep` are summed up, `batch` or more at a time.

    In batches, since each new summary costs a request, and changes the beginning of every later
    request, so that the provider's prompt cache has to begin anew.
    """

    def choose(archive, question):
        turns = archive.turns()
        upto, text = archive.summary()
        if len(turns) - keep - upto >= batch:
            older = turns[upto : len(turns) - keep]
            task = SUMMARISE.format(before=text, since="\n".join(map(as_text, older)))
            run = agentloop.run(model, task, max_requests=2)
            # No summary came, or a refusal: show the turns themselves, try again next time.
            if run.output and run.finish.reason == "stop":
                upto, text = len(turns) - keep, run.output
                archive.keep_summary(upto, text)
        known = agentloop.AgentRun(
            "What do you know from the beginning of our conversation?",
            finish=agentloop.AgentFinish(text),
            state="model_ended",
        )
        return ([known] if upto else []) + turns[upto:]

    return choose


def relevant(search, count=2):
    """The `count` turns that `search` finds, and the last one, in the order they were said."""

    def choose(archive, question):
        turns = archive.turns()
        places = set(search(archive, question, count)) | {len(turns) - 1}
        return [turns[place] for place in sorted(places) if place >= 0]

    return choose


def by_vectors(encode, name="letters"):
    """A search by the angle between vectors. `encode(texts)`: {"dog": 0.6, ...} for each text.

    The archive keeps the vectors under the model's `name`: those of two models do not compare.
    """

    def search(archive, question, count):
        (asked,) = encode([question])
        score = [
            sum(weight * vector.get(key, 0.0) for key, weight in asked.items())
            for vector in archive.vectors(name, encode)
        ]
        return sorted(range(len(score)), key=lambda place: -score[place])[:count]

    return search


def unit(vector):
    """{"a": 3, "b": 4} -> {"a": 0.6, "b": 0.8}: of length 1, so that a product is a cosine."""
    length = math.sqrt(sum(x * x for x in vector.values())) or 1.0
    return {key: x / length for key, x in vector.items()}


def letter_triples(texts):
    """What stands in for an embedding model: how often each three letters come in a row."""
    for text in texts:
        words = " ".join(["", *re.findall(r"\w+", text.lower()), ""])
        counts = {}
        for start in range(len(words) - 2):
            counts[words[start : start + 3]] = counts.get(words[start : start + 3], 0) + 1
        yield unit(counts)


def encoder(name):
    """The function that encodes with the model of that name, by whichever package is there."""
    if not name:
        return letter_triples
    if importlib.util.find_spec("model2vec"):
        from model2vec import StaticModel

        model = StaticModel.from_pretrained(name)
    elif importlib.util.find_spec("sentence_transformers"):
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(name)
    else:
        sys.exit("--embeddings needs a package: pip install model2vec")

    def encode(texts):
        vectors = model.encode(texts) if texts else []
        return [unit({str(at): float(x) for at, x in enumerate(vector)}) for vector in vectors]

    return encode


# -- a turn of the conversation ------------------------------------------------------------------


def ask(model, archive, memory, question, tools=()):
    """One turn: choose what is shown, run, keep the turn."""
    run = agentloop.AgentRun(question, history=memory(archive, question))
    agentloop.run(model, run, tools)
    archive.add(run)
    return run


def good_listener(run, tools):
    """The scripted model. It notes what is said, sums up, and answers from what it is shown."""
    said = re.findall(r"User: (.*)", run.task)
    if said:  # it is asked to sum up: facts stay, small talk goes
        before = re.findall(r"My [^\n]+", run.task.split("since:")[0])
        return agentloop.AgentFinish("\n".join(before + [s for s in said if s.startswith("My")]))
    asked = re.match(r"What is my (.+)\?", run.task)
    if not asked:
        return agentloop.AgentFinish("Noted.")
    shown = "\n".join(map(as_text, run.history))
    fact = re.search(f"My {re.escape(asked.group(1))} is ([^.]+)", shown)
    if not fact:
        return agentloop.AgentFinish("I do not know.")
    return agentloop.AgentFinish(f"Your {asked.group(1)} is {fact.group(1)}.")


SAID = [
    "My order number is W-17.",
    "My dog's name is Rex.",
    "It rains today, and the train was late.",
    "Soup for lunch again.",
    "My favourite colour is blue.",
    "???",
]


def kinds(model, embeddings=None):
    return {
        "everything": everything,
        "last": last(2),
        "summary": summary(model),
        "search": relevant(Archive.search),
        "embeddings": relevant(by_vectors(encoder(embeddings), embeddings or "letters")),
    }


def compare(model, embeddings):
    """Say the same to each memory, restart, and ask each the same."""
    print("memory       turns  chars  What is my order number?")
    with tempfile.TemporaryDirectory() as folder:
        for name, memory in kinds(model, embeddings).items():
            path = Path(folder) / f"{name}.sqlite"
            with open_archive(path) as archive:
                for sentence in SAID:
                    ask(model, archive, memory, sentence)
            with open_archive(path) as archive:  # as another process would, a week later
                run = ask(model, archive, memory, "What is my order number?")
                shown = sum(len(as_text(turn)) for turn in run.history)
                print(f"{name:12} {len(run.history):5} {shown:6}  {run.output}")
                if name == "summary":
                    print("    the summary:", archive.summary()[1].replace("\n", " "))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--embeddings", metavar="NAME")
    parser.add_argument("--file", default="memory.sqlite")
    parser.add_argument("--memory", default="summary", choices=list(kinds(None)))
    parser.add_argument("question", nargs="?", help="one turn; without it, the comparison")
    options = parser.parse_args()
    model = good_listener
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
    if options.question is None:
        return compare(model, options.embeddings)
    memory = kinds(model, options.embeddings)[options.memory]
    try:
        archive = Archive(options.file)
    except sqlite3.Error as error:
        parser.error(f"--file {options.file}: {error}")
    with contextlib.closing(archive.db):
        print(ask(model, archive, memory, options.question).output)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
