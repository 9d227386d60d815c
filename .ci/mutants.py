"""Break agentloop.py in small ways, one at a time, and see whether the tests notice. Slow: run by hand.

    python3 .ci/mutants.py                          every mutant of data, tools, loop and journal
    python3 .ci/mutants.py --sample 200 --seed 1    some of them
    python3 .ci/mutants.py --sections loop --tests LoopTests JournalTests

A mutant is a comparison turned round, an `and` for an `or`, a condition negated, a number off by
one, a word or a constant changed, a statement left out. It is killed when the tests fail or take
three times as long as usual. The survivors are listed with their line. Needs Python 3.9, standard
library only. (The tools made for this rewrite each function into a dispatcher, or import the module
from a package; neither fits one file that is tested as a script and copied under other names.)
"""

import argparse
import ast
import concurrent.futures
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("data", "tools", "loop", "journal")
OTHER = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*",
}  # fmt: skip
WORD = re.compile(r"[a-z_]{2,20}\Z")


def mutations(node):
    """The other source texts that could stand in a node's place."""
    say = ast.unparse
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
        yield "(%s %s %s)" % (say(node.left), OTHER[type(node.ops[0])], say(node.comparators[0]))
    elif isinstance(node, ast.BoolOp):
        yield "(%s)" % (" or " if isinstance(node.op, ast.And) else " and ").join(
            map(say, node.values)
        )
        yield "(%s)" % say(node.values[0])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "(%s)" % say(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        if not isinstance(node.left, (ast.JoinedStr, ast.Constant)) or isinstance(
            node.left.value, int
        ):
            yield "(%s %s %s)" % (say(node.left), OTHER[type(node.op)], say(node.right))
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield str(not node.value)
        elif isinstance(node.value, (int, float)):
            yield repr(node.value + 1)
        elif isinstance(node.value, str) and WORD.match(node.value):
            yield repr(node.value + "x")
    elif isinstance(node, ast.IfExp):
        yield "(%s)" % say(node.body)
        yield "(%s)" % say(node.orelse)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return None"
    elif isinstance(node, (ast.Raise, ast.Assign, ast.AugAssign, ast.Delete)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.YieldFrom))
    ):
        yield "pass"
    elif isinstance(node, ast.Break):
        yield "continue"
    elif isinstance(node, ast.Continue):
        yield "break"


def hints_and_docs(tree):
    """Nodes that are not to be touched: annotations, docstrings, and all inside them."""
    left_out = set()

    def leave(node):
        left_out.update(ast.walk(node) if node is not None else ())

    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            leave(node.returns)
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            leave(node.annotation)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            leave(node)
    return left_out


def all_mutants(source, sections):
    """[(line, what stood there, what stands there now, the whole text), ...]"""
    data = source.encode("utf-8")
    starts = [0]
    for line in data.splitlines(True):
        starts.append(starts[-1] + len(line))
    section, of_line = "", {}
    for number, line in enumerate(source.splitlines(), 1):
        banner = re.match(r"# == ([a-z ]+?) =+", line)
        section = banner.group(1) if banner else section
        of_line[number] = section
    tree = ast.parse(source)
    left_out, found = hints_and_docs(tree), []
    for node in ast.walk(tree):
        if node in left_out or of_line.get(getattr(node, "lineno", 0)) not in sections:
            continue
        for text in mutations(node):
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[node.end_lineno - 1] + node.end_col_offset
            was = data[start:stop].decode("utf-8")
            whole = (data[:start] + text.encode("utf-8") + data[stop:]).decode("utf-8")
            found.append((node.lineno, was, text, whole))
    return sorted(found)


def compiles(mutant):
    """Whether a mutant is Python at all; one that is not says nothing about the tests."""
    try:
        compile(mutant[3], "agentloop.py", "exec")
    except SyntaxError:
        return False
    return True


class Workplace:
    """A copy of the project in which one mutant at a time is tested."""

    def __init__(self, folder, tests):
        self.folder, self.command = (
            Path(folder, "project"),
            [sys.executable, "-B", "test_agentloop.py", "-f", *tests],
        )
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".ci")
        shutil.copytree(str(ROOT), str(self.folder), ignore=ignored)

    def survives(self, text, limit):
        (self.folder / "agentloop.py").write_text(text, encoding="utf-8")
        env = dict(os.environ, TMPDIR=str(self.folder))
        process = subprocess.Popen(
            self.command, cwd=str(self.folder), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="how many mutants to try; all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sections", nargs="*", default=SECTIONS)
    parser.add_argument("--tests", nargs="*", default=[], help="names for unittest; the whole file")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    source = (ROOT / "agentloop.py").read_text(encoding="utf-8")
    mutants = all_mutants(source, options.sections)
    print("%d mutants of %s" % (len(mutants), ", ".join(options.sections)))
    if options.sample and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample))
    mutants = list(filter(compiles, mutants))
    killed, survivors = 0, []
    with tempfile.TemporaryDirectory(prefix="agentloop-mutants-") as folder:
        os.chmod(folder, 0o755)  # a test gives up root's rights and looks into it
        places = [Workplace(Path(folder, str(n)), options.tests) for n in range(options.workers)]
        start = time.monotonic()
        if not places[0].survives(source, 3600):
            sys.exit("the tests fail as it is")
        limit = 3 * (time.monotonic() - start) + 10

        def judge(mutant):
            place = places.pop()
            try:
                return place.survives(mutant[3], limit)
            finally:
                places.append(place)

        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            for mutant, survived in zip(mutants, pool.map(judge, mutants)):
                killed += not survived
                if survived:
                    survivors.append(mutant)
                    print(
                        "survived, line %s: %s  ->  %s"
                        % tuple(" ".join(str(x).split())[:90] for x in mutant[:3]),
                        flush=True,
                    )
                elif (killed + len(survivors)) % 50 == 0:
                    print("%d of %d" % (killed + len(survivors), len(mutants)), flush=True)
    share = 100.0 * killed / max(1, len(mutants))
    print("%d killed, %d survived: %.1f %%" % (killed, len(survivors), share))


if __name__ == "__main__":
    main()
