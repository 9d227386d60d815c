"""Questions to a database: SQL that can only read, takes little time and brings few rows.

What you learn: the model may write any SQL; the database refuses what must not be. File and
connection are read-only (`mode=ro`, `query_only`), an authorizer allows SELECT and hides columns, a
progress handler ends a slow query. The schema is asked for, table by table, not put in the prompt.

    python3 ask_sqlite.py
    python3 ask_sqlite.py --file shop.db --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: HIDDEN; ROWS = 1; take the four locks away one by one (on a copy of your data).
"""

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

SECONDS, ROWS = 0.5, 20  # that a query may take; that are shown of its result
HIDDEN = {("customers", "card_number")}  # refused in every part of a query
if sys.implementation.name == "pypy":  # its authorizer is not told the names of columns
    sys.exit("ask_sqlite.py needs CPython: on PyPy hidden columns could be read")
ALLOWED = [sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION]
ALLOWED += [sqlite3.SQLITE_RECURSIVE]


def authorize(action, first, second, database, trigger):
    """SQLite asks this about each part of a statement; for a READ: the table and the column."""
    statistics = str(first).startswith("sqlite_stat")  # they hold values of indexed columns
    allowed = action in ALLOWED and (first, second) not in HIDDEN and not statistics
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


@contextlib.contextmanager
def read_only(path):
    """A connection that can only read, one for each call: tools that read run in threads."""
    database = sqlite3.connect(Path(path).resolve().as_uri() + "?mode=ro", uri=True)
    with contextlib.closing(database):
        database.execute("PRAGMA query_only = ON")
        if hasattr(database, "setlimit"):  # before Python 3.11 one value may take a gigabyte
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
        deadline = time.monotonic() + SECONDS
        database.set_progress_handler(lambda: time.monotonic() > deadline, 1000)
        database.set_authorizer(authorize)
        yield database


def shown(value):
    """A cell of the result: numbers and NULL as they are, of all else 200 characters."""
    return value if isinstance(value, (int, float, type(None))) else str(value)[:200]


def database_tools(path):
    @agentloop.tool(read_only=True)
    def schema(table: str = "") -> list:
        """List the tables, or show one table's columns as the SQL that made it."""
        sql = "SELECT sql FROM sqlite_master WHERE name = ?"
        if not table:
            sql = "SELECT name FROM sqlite_master WHERE ? = '' AND type != 'index'"
        with read_only(path) as database:
            return [text for (text,) in database.execute(sql, [table])]

    @agentloop.tool(read_only=True)
    def query(sql: str) -> dict:
        """Run one SELECT in SQLite's SQL. Count and add up in SQL: long results are cut."""
        with read_only(path) as database:
            cursor = database.execute(sql)
            rows = cursor.fetchmany(ROWS + 1)
            columns = [column[0] for column in cursor.description or ()]
        cells = [[shown(value) for value in row] for row in rows[:ROWS]]
        return {"more_rows": len(rows) > ROWS, "columns": columns, "rows": cells}

    return [schema, query]


TASK = "Which customer buys most, and for how much? Look at the schema first."
EXAMPLE = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, card_number TEXT);
CREATE TABLE orders (customer INTEGER, cents INTEGER);
INSERT INTO customers VALUES (1, 'Anna', '4000'), (2, 'Ben', '5100');
INSERT INTO orders VALUES (1, 900), (1, 3100), (2, 450);
"""
COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
QUERIES = [
    "DELETE FROM orders",
    "SELECT name FROM customers WHERE card_number LIKE '4%'",
    COUNT + "SELECT max(i) FROM n",
    COUNT + "SELECT i FROM n",
    "SELECT name, sum(cents) FROM orders JOIN customers ON id = customer GROUP BY id",
]
CALLS = [agentloop.AgentAction("query", {"sql": sql}) for sql in QUERIES]
SCRIPT = [agentloop.AgentAction("schema", {}), *CALLS, agentloop.AgentFinish("Anna buys most.")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--model", "--base-url", "--file"):
        parser.add_argument(name)
    options = parser.parse_args()
    model = agentloop.Scripted(SCRIPT)
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=2000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        with contextlib.closing(sqlite3.connect(str(path))) as database:
            database.executescript(EXAMPLE)
        for event in agentloop.stream(model, TASK, database_tools(options.file or path)):
            print(event)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
