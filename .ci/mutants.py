"""Break agentloop.py in small ways, one at a time, and see whether the tests notice. Slow: run by hand.

    python3 .ci/mutants.py                          every mutant of data, tools, loop and journal
    python3 .ci/mutants.py --sample 200 --seed 1    some of them
    python3 .ci/mutants.py --sections loop --tests LoopStartTests JournalTest

A mutant is a comparison turned round, an `and` for an `or`, a condition negated, a number off by
one, a word or a constant changed, a statement left out. It is killed when a test fails or takes
three times as long as usual and ten seconds more. Each survivor is printed with its line.

Every mutant has a process and a copy of the project to itself. The quick tests that reach its line
come first, then the other quick ones, then the slow ones that reach the line or may do so: those
that start Python, fork, or read agentloop.py. Which test reaches what is measured at the start.

Survivors that change nothing are listed in .ci/survivors.txt, one a line as printed here, with the
reason: `function | was -> now | why`. They are counted and not tried (`--skip ""`: they are). A
line there whose mutant is gone is printed: take it out.

Needs Python 3.9, fork, and coverage as checks.py installs it. (mutmut rewrites each function into a
dispatcher, cosmic-ray starts the whole of the tests for each mutant: neither fits one file that is
tested as a script and copied under other names, nor two minutes of tests.)
"""

import argparse
import ast
import collections
import concurrent.futures
import contextlib
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("data", "tools", "loop", "journal")
QUICK = 0.1  # seconds: such a test is tried on every mutant
OTHER = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*",
}  # fmt: skip
BANNER = r"# == ([a-z ]+?) =+"
WORD = re.compile(r"[a-z_]{2,20}\Z")


# -- the mutants ------------------------------------------------------------------------------


def of_expression(node):
    """The other source texts that could stand in an expression's place."""
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
        left = getattr(node.left, "value", 0) if isinstance(node.left, ast.Constant) else 0
        if not isinstance(node.left, ast.JoinedStr) and isinstance(left, int):
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


def of_statement(node):
    """The other source texts that could stand in a statement's place."""
    if isinstance(node, ast.Return) and node.value is not None:
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
    """Nodes that are not to be touched: what is there for type checkers, docstrings, and all inside them."""
    left_out = set()

    def leave(*nodes):
        for node in filter(None, nodes):
            left_out.update(ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            leave(node.returns)
            if any(ast.unparse(d).split(".")[-1] == "overload" for d in node.decorator_list):
                leave(node)
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            leave(node.annotation)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            leave(node)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            leave(node.test, *node.body)
    return left_out


class Mutant(collections.namedtuple("Mutant", "start stop now line was section function span key")):
    """`now` in the place of the bytes from start to stop; `span`: the lines of its statement.

    `key` is how .ci/survivors.txt names it: a second one of these words in the function ends in (2).
    """

    __slots__ = ()

    def text(self, source):
        data = source.encode("utf-8")
        return (data[: self.start] + self.now.encode("utf-8") + data[self.stop :]).decode("utf-8")


def all_mutants(source, sections):
    """Every Mutant of the sections, in the order of the file."""
    data = source.encode("utf-8")
    starts = [0]
    for line in data.splitlines(True):
        starts.append(starts[-1] + len(line))
    section, of_line = "", {}
    for number, line in enumerate(source.splitlines(), 1):
        banner = re.match(BANNER, line)
        section = banner.group(1) if banner else section
        of_line[number] = section
    tree = ast.parse(source)
    left_out, found = hints_and_docs(tree), []

    def visit(node, function, span):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            span = (node.lineno, last)
        here = of_line.get(getattr(node, "lineno", 0))
        if here not in sections or node in left_out:
            texts = ()
        else:
            texts = [*of_expression(node), *of_statement(node)]
        for text in texts:
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[node.end_lineno - 1] + node.end_col_offset
            was = " ".join(data[start:stop].decode("utf-8").split())
            if text != was:
                lines = (min(span[0], node.lineno), max(span[1], node.end_lineno))
                found.append((start, stop, text, node.lineno, was, here, function, lines))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = "%s.%s" % (function, node.name) if function else node.name
        for child in ast.iter_child_nodes(node):
            visit(child, function, span)

    visit(tree, "", (0, 0))
    seen, mutants = collections.Counter(), []
    for fields in sorted(found):
        key = "%s | %s -> %s" % (fields[6] or "(module)", fields[4], " ".join(fields[2].split()))
        seen[key] += 1
        mutants.append(Mutant(*fields, key if seen[key] == 1 else "%s (%d)" % (key, seen[key])))
    return mutants


# -- running tests ----------------------------------------------------------------------------


def copy(folder):
    shutil.copytree(
        str(ROOT), str(folder), ignore=shutil.ignore_patterns(".git", "__pycache__", ".ci")
    )


def load_tests(folder, code=None):
    """{name: test} of the test file in a folder, which is imported from there with its agentloop.py."""
    os.chdir(str(folder))
    sys.path[0], sys.argv = str(folder), ["test_agentloop.py"]
    path = str(Path(folder, "test_agentloop.py"))
    module = sys.modules["test_agentloop"] = types.ModuleType("test_agentloop")
    module.__file__ = path
    importlib.import_module("agentloop")
    exec(code or compile(Path(path).read_bytes(), path, "exec"), module.__dict__)  # noqa: S102
    suites = unittest.defaultTestLoader.loadTestsFromModule(module)
    return {test.id().split(".", 1)[1]: test for suite in suites for test in suite}


def run_tests(tests, begin, result):
    """Run tests one by one; what a class sets up stays to the end of the process, whatever the order."""
    ready = set()
    for name, test in tests.items():
        begin(name)
        if type(test) not in ready:
            type(test).setUpClass()
            ready.add(type(test))
        test(result)


class Told(unittest.TestResult):
    """Tells of the first failure and ends the process, or of every one where it is to go on."""

    def __init__(self, say, go_on):
        super().__init__()
        self.say, self.go_on = say, go_on

    def addError(self, test, err):
        self.say("fail %s: %s" % (err[0].__name__, err[1]))
        if not self.go_on:
            os._exit(1)

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)

    def addUnexpectedSuccess(self, test):
        self.addError(test, (AssertionError, "it passes, which is not expected", None))


class Worker:
    """What a worker process knows. It runs each attempt in a fork of itself, all imports made."""

    def __init__(self, folder, source, seconds, order, reach):
        self.folder, self.source = Path(folder, str(os.getpid()), "project"), source
        self.seconds, self.order, self.reach = seconds, order, reach
        self.killers = collections.defaultdict(list)  # of each function, the last one first
        path = self.folder / "test_agentloop.py"
        text = (ROOT / path.name).read_bytes()
        self.code = compile(text, str(path), "exec")
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import) and node.names[0].name != "agentloop":
                importlib.import_module(node.names[0].name)  # once, for all forks

    def child(self, names, say, go_on):
        try:
            os.setsid()
            memory = 6 << 30  # bytes, for a mutant that collects without end
            resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
            null = os.open(os.devnull, os.O_RDWR)
            for n in range(3):
                os.dup2(null, n)
            os.environ["TMPDIR"], tempfile.tempdir = str(self.folder.parent / "tmp"), None
            tests = load_tests(self.folder, self.code)
            chosen = {name: tests[name] for name in names}
            run_tests(chosen, lambda name: say("start " + name), Told(say, go_on))
            say("done")
        except BaseException as e:
            say("fail %s: %s" % (type(e).__name__, e))
        finally:
            os._exit(0)

    def attempt(self, text, names, go_on=False):
        """Tests of agentloop.py with that text: ({test: why it fails}, {test: seconds}).

        What fails before the first test is the test "".
        """
        copy(self.folder)
        (self.folder.parent / "tmp").mkdir()
        (self.folder / "agentloop.py").write_text(text, encoding="utf-8")
        read, write = os.pipe()
        pid = os.fork()
        if not pid:

            def say(line):
                os.write(write, " ".join(line[:400].split()).encode("utf-8", "replace") + b"\n")

            self.child(names, say, go_on)
        os.close(write)
        failed, seconds, test, since, rest = {}, {}, "", time.monotonic(), b""
        try:
            while True:
                limit = since + 3 * self.seconds.get(test, 40) + 10 - time.monotonic()
                if not select.select([read], [], [], max(0, limit))[0]:
                    failed[test] = "too slow"
                    break
                data = os.read(read, 65536)
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    word, _, more = line.decode("utf-8", "replace").partition(" ")
                    if word == "fail":
                        failed[test] = more
                    else:
                        seconds[test] = time.monotonic() - since
                        test, since = more, time.monotonic()
                if lines and lines[-1] == b"done":
                    break
                if not data:
                    failed.setdefault(test, "the process ended")
                    break
        finally:
            os.close(read)
            for kill in (os.kill, os.killpg):  # it may not have made its group yet
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            shutil.rmtree(str(self.folder.parent), ignore_errors=True)
        return failed, seconds

    def judge(self, mutant):
        """(the test that kills it or None, why, tests that failed and did not do so again)"""
        lines = range(mutant.span[0], mutant.span[1] + 1)
        near = set().union(*(self.reach["lines"].get(str(n), ()) for n in lines))
        anyone = "" in near or not near  # run at the import, or nobody knows
        may = set(self.order) if anyone else near | set(self.reach["everywhere"])
        quick = [t for t in self.order if self.seconds[t] < QUICK]
        slow = [t for t in self.order if self.seconds[t] >= QUICK and t in may]
        killers = self.killers[mutant.function]
        first = [t for t in killers if t in may] + [t for t in quick if t in near]
        order, unsure = list(dict.fromkeys(first + quick + slow)), []
        text = mutant.text(self.source)
        while order:
            failed, _ = self.attempt(text, order)
            test = next(iter(failed), None)
            doubt = test not in may or failed[test] == "too slow" if test else False
            if test in order and (doubt or self.seconds[test] >= QUICK):
                # Not a test that is sure to be about the line and nothing else: it has to fail again.
                if not all(self.attempt(text, [test])[0] for _ in range(2)):
                    unsure.append(test)
                    order = order[order.index(test) + 1 :]
                    continue
            if test and self.seconds[test] < QUICK:
                killers[:] = [test, *(t for t in killers if t != test)][:5]
            return test, failed.get(test), unsure
        return None, None, unsure


def prepare(*args):
    global WORKER
    WORKER = Worker(*args)


def baseline(names):
    """The whole of the tests as it is, those too that come after one that hangs."""
    failed, seconds = {}, {}
    while names and "" not in failed:
        more = WORKER.attempt(WORKER.source, names, go_on=True)
        failed.update(more[0])
        seconds.update(more[1])
        names = [name for name in names if name not in failed and name not in seconds]
    return failed, seconds


def judge(mutant):
    return WORKER.judge(mutant)


# -- which test reaches what ------------------------------------------------------------------


def record(folder, out):
    """Under coverage: {"lines": {line: [test, ...]}, "everywhere", "tests": [test, ...]} into a file.

    Lines run at the import are reached by the test "". Everywhere: what starts Python, forks, runs
    a copy or reads the text, since nothing can be seen of that here.
    """
    import coverage

    now, everywhere = "", set()

    def watch(event, args):
        if (
            (event == "subprocess.Popen" and sys.executable in "%s %s" % args[:2])
            or (event == "open" and os.path.basename(str(args[0])) == "agentloop.py")
            or (event == "exec" and "AgentFinish" in getattr(args[0], "co_names", ()))
            or event == "os.fork"
        ):
            everywhere.add(now)

    def begin(name):
        nonlocal now
        now = name
        cover.switch_context(name)

    path = str(Path(folder, "agentloop.py"))
    cover = coverage.Coverage(data_file=None, include=[path], config_file=False)
    cover.set_option("run:core", "ctrace")
    sys.addaudithook(watch)
    cover.start()
    tests = load_tests(folder)
    run_tests(tests, begin, unittest.TestResult())
    cover.stop()
    # The first test of a class has set it up: what that starts, the others may look at.
    first = {type(test): name for name, test in reversed(list(tests.items()))}
    everywhere |= {name for name, test in tests.items() if first[type(test)] in everywhere}
    lines = cover.get_data().contexts_by_lineno(path)
    reach = {"lines": lines, "everywhere": sorted(everywhere - {""}), "tests": list(tests)}
    Path(out).write_text(json.dumps(reach))


def reached(folder):
    """What `record` writes, by a Python that has coverage."""
    import checks

    place, out = Path(folder, "record"), Path(folder, "reach.json")
    copy(place)
    try:
        python = checks.venv("coverage") / "python"
        checks.sh(python, "-B", __file__, "--record", place, out, cwd=place)
    except (checks.Failed, checks.NotRun) as e:
        sys.exit("it cannot be measured which test reaches what: %s" % e)
    return json.loads(out.read_text())


def tried(pool, workers, names, wanted):
    """{test: seconds} of the tests that pass as it is, the quickest first: all, twice in each worker.

    A slow one may fail once, since what it kills is asked again; see Worker.judge.
    """
    usual, fails, bad = {}, collections.defaultdict(list), set()
    for _ in range(2):
        for failed, seconds in pool.map(baseline, [names] * workers):
            for test, why in failed.items():
                fails[test].append(why)
            for test, took in seconds.items():
                usual[test] = min(took, usual.get(test, took))  # the rest is others' work
        names = sorted(names, key=lambda test: usual.get(test, 0))
    for test, whys in sorted(fails.items()):
        word = "kept" if len(whys) == 1 and usual.get(test, 0) >= QUICK else "left out"
        print("%s, it fails %d times of %d as it is: %s (%s)"
              % (word, len(whys), 2 * workers, test or "the import", whys[0]))  # fmt: skip
        if word == "left out":
            bad.add(test)
    if len(bad) > 5 or "" in fails:
        sys.exit("the tests fail as it is")
    chosen = {
        test: usual[test] for test in names
        if test in usual and test not in bad
        and (not wanted or any((test + ".").startswith(name + ".") for name in wanted))
    }  # fmt: skip
    if not chosen:
        sys.exit("there are no such tests")
    return chosen


# -- the run ----------------------------------------------------------------------------------


def workers(count, *args):
    # Not "fork": the tests look into the stack, and should see nothing of ours that is like theirs.
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(count, context, prepare, args)


def explained(path):
    """The keys in a file of known survivors."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else ()
    return {line.rpartition(" | ")[0].strip() for line in lines if line.strip() and line[0] != "#"}


def read_options():
    known = ROOT / ".ci" / "survivors.txt"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="how many mutants to try; all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sections", nargs="*", default=SECTIONS)
    parser.add_argument("--tests", nargs="*", default=[], help="classes or tests; the whole file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--skip", default=str(known) if known.exists() else "",
                        help="a file of survivors that are explained; .ci/survivors.txt")  # fmt: skip
    return parser, parser.parse_args()


def choose(source, options):
    """(the mutants to try, those that are explained)"""
    mutants, known = all_mutants(source, options.sections), explained(options.skip)
    print("%d mutants of %s" % (len(mutants), ", ".join(options.sections)), flush=True)
    if set(options.sections) >= set(SECTIONS):
        for key in sorted(known - {mutant.key for mutant in mutants}):
            print("explained, but there is no such mutant: " + key)
    if options.sample and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample))
    return [m for m in mutants if m.key not in known], [m for m in mutants if m.key in known]


def judged(source, mutants, options):
    """(mutant, what Worker.judge says of it) of each, in their order."""
    with tempfile.TemporaryDirectory(prefix="agentloop-mutants-") as folder:
        os.chmod(folder, 0o755)  # a test gives up root's rights and looks into it
        reach = reached(folder)
        with workers(options.workers, folder, source, {}, [], {}) as pool:
            usual = tried(pool, options.workers, reach["tests"], options.tests)
        print("%d tests of %.0f s" % (len(usual), sum(usual.values())), flush=True)
        with workers(options.workers, folder, source, usual, list(usual), reach) as pool:
            yield from zip(mutants, pool.map(judge, mutants))


def main():
    if sys.argv[1:2] == ["--record"]:
        return record(*sys.argv[2:])
    parser, options = read_options()
    source = (ROOT / "agentloop.py").read_text(encoding="utf-8")
    for name in set(options.sections) - set(re.findall(BANNER, source, re.M)):
        parser.error("agentloop.py has no section %r" % name)
    mutants, known = choose(source, options)
    counts = collections.Counter((mutant.section, "survive") for mutant in known)
    unsure, began = collections.Counter(), time.monotonic()
    for n, (mutant, (test, why, again)) in enumerate(judged(source, mutants, options), 1):
        if test == "" and why.startswith("SyntaxError"):
            continue
        counts[mutant.section, "survive" if test is None else "killed"] += 1
        unsure.update(again)
        if test is None:
            print("survived, line %d, %s: %s" % (mutant.line, mutant.section, mutant.key))
        if n % 50 == 0:
            left = (time.monotonic() - began) / n * (len(mutants) - n) / 60
            print("%d of %d, %d minutes left" % (n, len(mutants), left))
        sys.stdout.flush()
    for test, n in unsure.items():
        print("failed and then passed for the same mutant, %d times: %s" % (n, test))
    for name in options.sections:
        killed, survive = counts[name, "killed"], counts[name, "survive"]
        share = 100.0 * killed / max(1, killed + survive)
        print("%s: %d of %d killed (%.1f %%)" % (name, killed, killed + survive, share))
    print("%d survivors are explained" % len(known))


if __name__ == "__main__":
    main()
