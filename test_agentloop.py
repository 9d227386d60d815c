# SPDX-License-Identifier: MIT
"""The tests of agentloop.py: what it promises, as tables of inputs and expected values or exceptions.

    python3 test_agentloop.py                      # all of them; also runs under pytest
    python3 test_agentloop.py LockTests            # one class

No network but the loopback address. What a Python cannot do (threads, sockets, processes) is skipped by name.

The helpers that several classes use come first; then the tests, under the banners of agentloop.py:

errors      ErrorTests
data        ShownTextTests, ArgumentTextTests, DataFieldTests, ImageTests, OneLineTests, CloseTests,
            FollowUpTests, JsonTests
tools       FaultTextTests, SchemaTests, ConversionTests, TextFormTests, ConstraintTests, DocstringTests,
            AnnotationTests, NoJsonFormTests, DefaultTests, SignatureTests, InjectedTests, ToolTests, RegistryTests
loop        threads: ParallelTests, ParallelInterruptTests; a call: ToolNameTests, ToolResultTests, AsyncToolTests;
            the loop: LoopStartTests, EventTests, OneDriverTests, PendingTests, ClosedByCallerTests, ReturnDirectTests,
            RepeatedFailureTests, AcceptTests, BudgetTests, ReplyTests, CallIdTests, ExceptionTests, ScriptedTests
            and FirstAgentTests
journal     reading: TornFileTests, DamagedFileTests; the file: JournalPathTests, DiskFaultTests, LockTests;
            run and file: OtherRunTests, CopyOfRunTests; writing: WritingTests, WrittenValueTests, WrittenFirstTests;
            going on: JournalResumeTests, JournalBudgetTests, JournalTurnTests, JournalCloseTests, CrashTests
models      a class for each behaviour, in the parts of that section
command     DemoTests, ScreenTests, TypedTests, ProgramTests, ToolsFileTests, ModelOptionTests,
line        CommandLineConversationTests, CommandLineJournalTests, CommandLineInterruptTests, ProcessTests

After these: the file as it is vendored (LoadedCopyTests, CutFileTests, ImportTests, OtherSystemTests), generated
input (FuzzTests), and examples and course (ExampleTests, ExampleAgentTests, McpExampleTests, ExamplePageTests, CourseTests).
"""

import ast
import asyncio
import base64
import collections
import concurrent.futures
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import datetime
import decimal
import dis
import email.utils
import enum
import errno
import functools
import gc
import gzip
import hashlib
import http.client
import http.server
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import logging
import os
import pathlib
import pickle
import random
import re
import py_compile
import select
import shutil
import signal
import socket
import ssl
import stat
import string
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import types
import typing
import unicodedata
import unittest
import uuid
import warnings
import weakref
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, NewType, Optional, Tuple, TypeVar, TypedDict, Union
from unittest import mock

import agentloop


# == helpers =======================================================================================

# -- what this Python can do -----------------------------------------------------------------------


_BROWSER = sys.platform == "emscripten"  # Pyodide: no processes, sockets or threads

# Windows' functions on Linux, with faults of their own.
_WINE = os.name == "nt" and hasattr(ctypes.windll.ntdll, "wine_get_version")

# Decorators of tests that need what not every Python has.
_real_threads = unittest.skipIf(_BROWSER, "there are no threads")
_real_stack = unittest.skipIf(
    _BROWSER or sys.implementation.name != "cpython", "it has another way to end its stack"
)
_counted_memory = unittest.skipUnless(
    sys.implementation.name == "cpython", "only CPython counts its memory"
)
_processes = unittest.skipIf(_BROWSER, "there are no processes")
_sockets = unittest.skipIf(_BROWSER, "there are no sockets")
_forks = unittest.skipUnless(hasattr(os, "fork") and not _BROWSER, "needs os.fork")
_locks = unittest.skipUnless(
    importlib.util.find_spec("fcntl") and not _BROWSER, "needs locks of the system's"
)


@contextlib.contextmanager
def _at_once(test):
    """What is done in it costs little, however it is written: in two seconds of this process."""
    start = time.process_time()
    yield
    test.assertLess(time.process_time() - start, 2)


def _memory_of(function):
    """The bytes that it took at most, besides what there was."""
    import tracemalloc

    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _on_small_stack(function):
    """What it returns in a thread with a stack of 256 kB, as on other systems, or under a server."""
    results = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return results[0]


def _new_enough(version):
    """Whether this Python is "3.9", for example, or newer."""
    return sys.version_info >= tuple(map(int, version.split(".")))


# -- runs ------------------------------------------------------------------------------------------


def _act(tool, call_id="", **arguments):
    """_act("pay", "c1", n=2) -> AgentAction("pay", {"n": 2}, "c1")"""
    return agentloop.AgentAction(tool, arguments, call_id)


def _end(output="done", **more):
    """_end(4) -> AgentFinish(4)"""
    return agentloop.AgentFinish(output, **more)


def _drive(decisions, task="go", tools=(), **options):
    """Run a list of decisions, or a model: (run, None), or (the exception's run, the exception)."""
    model = decisions if callable(decisions) else agentloop.Scripted(decisions)
    try:
        return agentloop.run(model, task, tools, **options), None
    except BaseException as error:
        return error.agent_run, error


def _statuses(run):
    """The statuses of a run's steps: ["ok", "tool_error"]"""
    return [step.status for step in run.steps]


def _saved(thing):
    """A run, step, ... that went through JSON text and back, as in a file."""
    return agentloop.from_json(
        json.loads(json.dumps(agentloop.to_json(thing), allow_nan=False, ensure_ascii=True))
    )


def _step_of(tool, arguments):
    """The step of one call of the tool, or of a function that becomes one."""
    tools = agentloop.registry([tool])
    (name,) = tools
    action = agentloop.AgentAction(name, arguments, "c1")
    return _drive([action, _end()], tools=tools, max_requests=2)[0].steps[0]


def _interrupted_run():
    """A run with one call done ("c1"), one started ("c2"), and one that has not begun ("c3")."""

    def pay(n: int) -> str:
        if n == 2:
            raise KeyboardInterrupt
        return "paid"

    calls = [_act("pay", "c%d" % n, n=n) for n in (1, 2, 3)]
    run, error = _drive([calls], tools=[pay])
    assert isinstance(error, KeyboardInterrupt)
    assert [a.call_id for a in run.pending] == ["c2", "c3"]
    assert (run.started, _statuses(run)) == (["c2"], ["ok"])
    return run


def _drain(events, watch=lambda event: None):
    """(what a stream yields, its run); the generator is closed whatever happens."""
    seen = []
    with contextlib.closing(events):
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                return seen, end.value
            seen.append(event)
            watch(event)


def _go_to_first_step(events):
    """Take what a stream yields, up to and with its first step, which is returned."""
    return next(event for event in events if isinstance(event, agentloop.AgentStep))


@contextlib.contextmanager
def _at_little_cost(case):
    """What is in the block costs a second of CPU time at most: a text is read in one pass."""
    start = time.process_time()
    yield
    case.assertLess(time.process_time() - start, 1)


# -- tools made from text --------------------------------------------------------------------------


def _names():
    """What the signatures in the tables may name: Point for _Point, List, datetime, ..."""
    names = {k[1:]: v for k, v in globals().items() if k[0] == "_" and k[1].isupper()}
    names.update({k: getattr(typing, k) for k in typing.__all__})
    names.update(
        datetime=datetime, Path=pathlib.Path, PurePath=pathlib.PurePath, UUID=uuid.UUID,
        Decimal=decimal.Decimal, AgentAction=agentloop.AgentAction, AgentRun=agentloop.AgentRun,
        collections=collections, dataclasses=dataclasses, functools=functools, enum=enum,
        threading=threading,
    )  # fmt: skip
    return names


def _module(source):
    """The module of a source text, a real one, so that its classes are found by name."""
    module = type(sys)("_module_%d" % len(sys.modules))
    sys.modules[module.__name__] = module
    module.__dict__.update(_names(), __name__=module.__name__)
    exec(source, module.__dict__)
    return module


def _source(source, name="tool"):
    """What a source text defines under that name."""
    return getattr(_module(source), name)


def _tool(signature, doc="", body="return dict(locals())"):
    """A function of that signature, named `tool`, which returns what it got: {"x": 1}"""
    return _source("def tool(%s):\n    %r\n    %s\n" % (signature, doc, body))


# -- types that the tables of signatures name, without the underscore ------------------------------


class _Colour(enum.Enum):  # texts
    RED = "r"
    GREEN = "g"


class _Level(enum.IntEnum):  # numbers, which are ints
    LOW = 1
    HIGH = 2


class _Mode(str, enum.Enum):  # texts, which are strs
    READ = "read"
    WRITE = "write"


class _Corner(enum.Enum):  # values without a JSON form
    NEAR = (0, 0)
    FAR = (9, 9)


class _Bottomless(enum.Enum):  # a number that JSON does not have
    BOTTOM = float("-inf")


class _Empty(enum.Enum):  # nothing to choose
    pass


class _Swapped(enum.Enum):  # a name is the value of another
    A = "B"
    B = "A"


@dataclasses.dataclass
class _Point:  # the plain one
    x: int
    y: int = 0


@dataclasses.dataclass
class _Item:
    """One line of an order.

    Attributes:
        sku: the product
        qty: how many
    """

    sku: str
    qty: int = 1


@dataclasses.dataclass
class _Order:  # holds others
    id: int
    items: List[_Item] = dataclasses.field(default_factory=list)
    note: Optional[str] = None


@dataclasses.dataclass
class _Node:  # holds itself, in a list
    value: int
    children: List["_Node"] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Chain:  # holds itself, in a union
    next: Union["_Chain", int]


@dataclasses.dataclass
class _Stock:  # a field that _Item has too
    qty: int


@dataclasses.dataclass
class _Special:  # fields that __init__ does not take
    x: int
    kind: typing.ClassVar[str] = "p"
    norm: float = dataclasses.field(init=False, default=0.5)
    left: typing.Final[int] = 3


@dataclasses.dataclass
class _Range:  # refuses what does not go together
    low: int
    high: int

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError("low is above high")


@dataclasses.dataclass
class _Silent:  # refuses without a word
    x: int

    def __post_init__(self):
        raise RuntimeError


@dataclasses.dataclass
class _Circle:  # told from _Square by its kind
    kind: typing.Literal["circle"]
    radius: float


@dataclasses.dataclass
class _Square:  # told from _Circle by its kind
    kind: typing.Literal["square"]
    side: float


@dataclasses.dataclass
class _Base:  # of _Derived
    a: str


@dataclasses.dataclass
class _Derived(_Base):  # fields of two classes
    b: str = "q"


class _Film(TypedDict):  # all keys required
    title: str
    year: int


class _Options(TypedDict, total=False):  # no key required
    limit: int
    offset: int


class _Pair(NamedTuple):  # a default
    a: int
    b: str = "z"


_Loose = collections.namedtuple("_Loose", "u v")  # no types
_UserId = NewType("_UserId", int)
_Bound = TypeVar("_Bound", bound=int)
_Free = TypeVar("_Free")


# -- values that nothing can be done with ----------------------------------------------------------


class _Unshowable:
    """Its text cannot be had."""

    def __str__(self):
        raise ZeroDivisionError

    __repr__ = __str__


class _UnshowableClass(type):
    """A class of which no attribute can be looked up."""

    def __getattr__(cls, name):
        raise ZeroDivisionError


class _OfUnshowableClass(metaclass=_UnshowableClass):
    """An object of such a class, with a text of its own."""

    def __str__(self):
        return "shown"


@agentloop.tool(name="look")
def _look_at(n: int) -> int:
    return n


def _sell(sku: str, qty: int = 1, day: Optional[datetime.date] = None):
    """At the top of a module, where pickle finds it."""
    return sku, qty, day


# -- what a schema and a step should be ------------------------------------------------------------


def _object(properties, required=(), **more):
    """The schema of an object with these properties and no others."""
    found = {"type": "object", "properties": properties, "required": list(required)}
    return dict(dict(found, additionalProperties=False), **more)


def _any():
    """The schema of any JSON value, spelled out."""
    words = [{"type": t} for t in ("string", "number", "boolean", "object")]
    null = [{"type": "null"}]
    return {"anyOf": words + [{"type": "array", "items": {"anyOf": words + null}}] + null}


def _either(*kinds):
    """_either("string", "null") -> {"anyOf": [{"type": "string"}, {"type": "null"}]}"""
    return {"anyOf": [{"type": k} if isinstance(k, str) else k for k in kinds]}


def _array(item, **more):
    """_array("integer") -> {"type": "array", "items": {"type": "integer"}}"""
    return dict(
        {"type": "array", "items": {"type": item} if isinstance(item, str) else item}, **more
    )


def _ordered(schema, key=""):
    """The schema with `required` and `anyOf` in a fixed order; all else must be as expected."""
    if isinstance(schema, dict):
        return {k: _ordered(v, k) for k, v in schema.items() if not (k == "required" and v == [])}
    if isinstance(schema, list):
        items = [_ordered(v) for v in schema]
        if key in ("required", "anyOf"):
            items.sort(key=lambda v: json.dumps(v, sort_keys=True))
        return items
    return schema


def _check_schema(test, tool, properties, required=(), **more):
    """The tool's parameters are these, in this order; returns the Tool made of it."""
    (made,) = agentloop.registry([tool]).values()
    json.dumps(made.parameters, allow_nan=False)
    wanted = _object(properties, required, **more)
    test.assertEqual(_ordered(made.parameters), _ordered(wanted))
    test.assertEqual(list(made.parameters["properties"]), list(properties))
    return made


class _Bad(NamedTuple):
    """What a refused call has to say: each of these paths and no other, and each of these words."""

    paths: Tuple[str, ...]
    words: Tuple[str, ...] = ()


def _bad(*words, at="args.x"):
    """A call that is refused, with these words, for what is at that path or those paths."""
    return _Bad((at,) if isinstance(at, str) else tuple(at), words)


_PATH = re.compile(r'\bargs(?:\.[^\W\d]\w*|\[\d+\]|\["[^"]*"\])*')  # args.items[2]["a b"]


def _check(test, step, want):
    """The step has the value that the function should have returned, or says what a _Bad says."""
    text = str(step.observation)
    if not isinstance(want, _Bad):
        test.assertEqual(step.status, "ok", text)
        got = step.observation
        if isinstance(got, dict) and isinstance(want, dict):  # on PyPy locals() has no order
            got, want = sorted(got.items(), key=str), sorted(want.items(), key=str)
        test.assertEqual(repr(got), repr(want))
        return
    test.assertEqual(step.status, "invalid_arguments", text)
    told = _PATH.findall(text)
    test.assertEqual(sorted(set(told)), sorted(set(want.paths)), text)
    for word in want.words:  # a whole word: "numbers" is not "number"
        test.assertRegex(text.lower(), r"(?<!\w)%s(?!\w)" % re.escape(word.lower()))
    test.assertLess(len(text), 2000)


def _check_conversions(test, rows):
    """{annotation: [(what is sent, what the function gets or a _Bad), ...]}"""
    for annotation, cases in rows.items():
        made = _tool("x: " + annotation)
        for value, want in cases:
            with test.subTest("%s: %.100r" % (annotation, value)):
                if not isinstance(want, _Bad):
                    want = {"x": want}
                _check(test, _step_of(made, {"x": value}), want)


# -- files and processes ---------------------------------------------------------------------------


_FILE = Path(agentloop.__file__).resolve()
_ROOT = _FILE.parent
_HERE = os.path.abspath(__file__)


class _FolderCase(unittest.TestCase):
    """Tests with a folder of their own, `self.folder`."""

    maxDiff = 3000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="agentloop-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        """The path of a file in the folder."""
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        """Write a file in the folder; returns its path."""
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path


def _bytes(path):
    """What a file holds."""
    with open(path, "rb") as f:
        return f.read()


def _env(**more):
    """The environment without what would lead an adapter to a real server."""
    drop = "OPENAI_ ANTHROPIC_ AGENTLOOP_ PYTHON TERM COLORTERM NO_COLOR WT_SESSION".split()
    env = {k: v for k, v in os.environ.items() if not k.startswith(tuple(drop))}
    env = {k: v for k, v in env.items() if "proxy" not in k.lower()}
    return {**env, "PYTHONIOENCODING": "utf-8", **more}


# What is installed beside Python does not count, and loading it takes as long as Python itself.
# But it is how coverage comes into a process.
_NO_SITE = [] if any(name.startswith("COVERAGE") for name in os.environ) else ["-S"]


def _python(*args, stdin="", timeout=60, cwd=None, **env):
    """Run this Python in a process of its own: (exit status, standard output, standard error)."""
    done = subprocess.run(
        [sys.executable, *_NO_SITE, *args], input=stdin.encode("utf-8"), timeout=timeout, cwd=cwd,
        capture_output=True, env=_env(**env),
    )  # fmt: skip
    out, err = (
        s.decode("utf-8", "replace").replace("\r\n", "\n") for s in (done.stdout, done.stderr)
    )
    return done.returncode, out, err


def _side_by_side(jobs):
    """Results of {name: function without arguments}, a few at a time."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        futures = {name: pool.submit(job) for name, job in jobs.items()}
    return {name: future.result() for name, future in futures.items()}


def _load(path, name, register=True):
    """The Python file as a module of that name, with or without an entry in sys.modules."""
    spec = importlib.util.spec_from_file_location(name, str(path))
    module = importlib.util.module_from_spec(spec)
    if register:
        sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if register:
            del sys.modules[name]
    return module


def _child(function, *args):
    """A new process that calls a function of this file; `_printed_by` waits for it."""
    code = (
        "import importlib.util as u, sys; sys.path.insert(0, sys.argv[1]); "
        "s = u.spec_from_file_location('part', sys.argv[2]); m = u.module_from_spec(s); "
        "sys.modules['part'] = m; s.loader.exec_module(m); getattr(m, sys.argv[3])(*sys.argv[4:])"
    )
    command = [sys.executable, "-c", code, str(_ROOT), _HERE, function, *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, env=_env())


def _printed_by(child):
    """What the function in that process printed."""
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    if child.returncode:
        raise AssertionError("the child ended with %d: %s" % (child.returncode, err.decode()))
    return out.decode()


def _fork(work):
    """work() in a process of its own; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.alarm(60)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


# -- a conversation with a journal -----------------------------------------------------------------


class _Stop(BaseException):
    """Interrupts what runs, as Ctrl-C does, and is no Exception."""


def _named(event):
    """An event in a word or two: "pay 1", "pay 1: ok", "finish"."""
    if event.type == "AgentFinish":
        return "finish"
    action = event if event.type == "AgentAction" else event.action
    given = action.tool_input if isinstance(action.tool_input, dict) else {}
    text = ("%s %s" % (action.tool or "reply", given.get("n", ""))).strip()
    return text if event is action else "%s: %s" % (text, event.status)


def _without_syncs(test):
    """Until the test ends nothing waits for a disk, which takes milliseconds each time."""
    for name in ("fsync", "fdatasync"):
        if hasattr(os, name):
            patch = mock.patch.object(os, name, lambda fd: None)
            patch.start()
            test.addCleanup(patch.stop)


class _Play:
    """One conversation by plan, its tools and journal, and notes that outlive a kill.

    A plan is a list of turns, a turn a list of replies: ["pay 1", "look 2"] are calls, "?" cannot
    be read, any other text is a finish. With check, `accept` rejects a text with "no" in it.
    """

    tasks = ("go", "and then?", "and at last?")

    def __init__(self, folder, *turns, check=False, **options):
        os.makedirs(folder, exist_ok=True)
        self.turns, self.options, self.values, self.events = turns, options, {}, []
        self.journal, self.notes = os.path.join(folder, "run.jsonl"), os.path.join(folder, "notes")
        self.at_note = lambda text: None
        if check:
            self.options["accept"] = self.accept

        def pay(n: int) -> dict:
            """Pay; twice is twice."""
            return self.act("pay", n)

        @agentloop.tool(read_only=True)
        def look(n: int) -> dict:
            """Look."""
            return self.act("look", n)

        @agentloop.tool(idempotent=True)
        def put(n: int) -> dict:
            """Put it there; twice is once."""
            return self.act("put", n)

        @agentloop.tool(return_direct=True, idempotent=True)
        def answer(n: int) -> dict:
            """Answer."""
            return self.act("answer", n)

        self.tools = [pay, look, put, answer]

    def note(self, text):
        """Write a line that outlives a kill, and let the test act at this moment."""
        fd = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, (text + "\n").encode())  # one write: whole or not at all
        finally:
            os.close(fd)
        self.at_note(text)

    def noted(self):
        """All notes so far."""
        return _bytes(self.notes).decode().splitlines() if os.path.exists(self.notes) else []

    def count(self, text):
        """How often that was noted: "pay 1" is a payment, "asked" a request."""
        return self.noted().count(text)

    def act(self, tool, n):
        """A call of a tool, noted before, while and after it takes effect."""
        call = "%s %d" % (tool, n)
        for word in ("begin ", "", "end "):
            self.note(word + call)
        value = self.values.get(call, {"did": call})
        if isinstance(value, BaseException):
            raise value
        return value

    def model(self, run, tools):
        self.note("asked")
        run.usage["input_tokens"] = run.usage.get("input_tokens", 0) + 10
        # Each reply but the last one has become as many steps as it has calls.
        left = len(run.steps)
        for n, reply in enumerate(self.turns[len(run.history)], 1):
            if not left:
                message = {"role": "assistant", "n": n, "text": "h\u00e9 \U0001f600 \ud800 \u2028"}
                if reply == "?":
                    raise agentloop.InvalidResponse("unreadable", message, "hm")
                if isinstance(reply, str):
                    return agentloop.AgentFinish(reply, "log", message)
                return [
                    agentloop.AgentAction(tool, {"n": int(i)}, log="log %d" % n, message=message)
                    for tool, i in map(str.split, reply)
                ]
            left -= 1 if isinstance(reply, str) else len(reply)
            if left < 0:
                raise RuntimeError("asked with a half-recorded reply: %s" % run.steps)
        raise RuntimeError("asked after the end of the plan")

    def accept(self, run):
        self.note("accept")
        return "not good enough" if "no" in str(run.output) else None

    def go(self, run=None, watch=lambda event: None, **options):
        """The script of all turns, to be run again after a crash; returns the last run."""
        options = {"max_requests": 40, "journal": self.journal, **self.options, **options}
        self.events, given = [], run or self.tasks[0]

        def see(event):
            self.events.append(_named(event))
            watch(event)
            self.note("yielded " + self.events[-1])

        for number in range(len(run.history) if run else 0, len(self.turns)):
            given = given or run.follow_up(self.tasks[number])
            run = _drain(agentloop.stream(self.model, given, self.tools, **options), see)[1]
            given = None
        return run

    def stopped(self, at, error=_Stop, **options):
        """Go until that note, stop there, and return the run so far."""

        def stop(text):
            if text == at:
                raise error("at " + text)

        self.at_note = stop
        try:
            self.go(**options)
        except error as e:
            return getattr(e, "agent_run", None)
        finally:
            self.at_note = lambda text: None
        raise AssertionError("it did not come to %r: %s" % (at, self.noted()))

    def load(self):
        return agentloop.AgentRun.load(self.journal)

    def data(self):
        return _bytes(self.journal)

    def put_data(self, data):
        with open(self.journal, "wb") as f:
            f.write(data)


# Plans for _Play: a turn with every kind of reply, and a second one.
_LONG = [
    ["pay 1"], ["look 1", "look 2", "look 3"], ["nix 1"], "?", ["pay 2", "look 4", "put 1"], "no!",
    ["put 2"], ["pay 3", "pay 4"], "yes",
]  # fmt: skip


_SECOND = [["look 5", "pay 5"], ["answer 1"]]


def _without_counts(run):
    """What a conversation says, its counts aside: a request lost to a kill stays counted."""
    return [
        (
            turn.task, turn.finish, turn.state, turn.pending, turn.started,
            [
                (dataclasses.replace(s.action, request=0), s.observation, s.status)
                for s in turn.steps
            ],
        )
        for turn in [*run.history, run]
    ]  # fmt: skip


class _JournalCase(_FolderCase):
    """Conversations with journals in a folder of their own, where no sync takes time."""

    def setUp(self):
        super().setUp()
        self.plays = 0
        _without_syncs(self)

    def play(self, *turns, **options):
        """A _Play of these turns, with a journal of its own."""
        self.plays += 1
        return _Play(self.path("play%d" % self.plays), *turns, **options)

    def refused(self, play, error=ValueError, line=True, use=None, **options):
        """The run is refused with path (and line) in the message; the file stays as it was."""
        before, noted = play.data(), play.noted()
        with self.assertRaises(error) as caught:
            use() if use else play.go(**options)
        text = str(caught.exception)
        self.assertIn(play.journal, text)
        if line:
            self.assertRegex(text.replace(play.journal, ""), r"line \d")
        self.assertEqual(play.data(), before, "the file was changed")
        self.assertEqual(play.noted(), noted, "something was called")
        return text

    def agree(self, play, run, want):
        """As an undisturbed run, but where an outcome is unknown; no effect is doubled."""
        for got, right in zip(_without_counts(run), _without_counts(want)):
            self.assertEqual(got[:5], right[:5])
            self.assertEqual(len(got[5]), len(right[5]))
            for g, r in zip(got[5], right[5]):
                self.assertEqual(g[0], r[0])
                ordinary, call = g[0].tool == "pay", _named(g[0])
                if g != r:
                    self.assertTrue(ordinary and g[2] == "unknown_outcome", g)
                if ordinary:
                    self.assertIn(play.count(call), (1,) if g[2] == "ok" else (0, 1), call)
                elif g[2] == "ok":
                    self.assertGreaterEqual(play.count(call), 1)
        self.assertEqual(len(run.history), len(want.history))


# -- a server on loopback --------------------------------------------------------------------------


class _LoopbackServer:
    """A server on loopback for every protocol; an answer is a text, a call, or a status."""

    def __init__(self):
        outer = self
        self.seen, self.answers = [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet: a second one would wait for 40 ms

            def do_POST(self):
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length).decode("utf-8"))
                outer.seen.append((self.path, dict(self.headers.items()), body))
                answer = outer.answers.pop(0)
                status = answer if isinstance(answer, int) else 200
                found = {"error": {"message": "no: %s" % self.headers.get("authorization")}}
                if status == 200 and not isinstance(answer, list):
                    found = outer.wire(self.path, answer)
                data = json.dumps(found).encode()
                kind = "application/json"
                if isinstance(answer, list):  # the chunks of a stream
                    data = b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in answer)
                    kind = "text/event-stream"
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def wire(self, path, answer):
        """The reply in the form of the path's protocol."""
        call, text = (answer, None) if isinstance(answer, tuple) else (None, answer)
        n = "c%d" % len(self.seen)
        usage = {"input_tokens": 5, "output_tokens": 2}
        if path.endswith("/responses"):
            content = [{"type": "output_text", "text": text}]
            item = {"type": "message", "role": "assistant", "content": content}
            if call:
                name, arguments = call[0], json.dumps(call[1])
                item = {"type": "function_call", "call_id": n, "name": name, "arguments": arguments}
            return {"status": "completed", "output": [item], "usage": usage}
        if path.endswith("/messages"):
            block = {"type": "text", "text": text}
            if call:
                block = {"type": "tool_use", "id": n, "name": call[0], "input": call[1]}
            reply = {"type": "message", "role": "assistant", "content": [block]}
            return {**reply, "stop_reason": "tool_use" if call else "end_turn", "usage": usage}
        message = {"role": "assistant", "content": text}
        if call and call[2:]:
            message["content"] = call[2]
        if call == ("refuse", None):
            message["refusal"] = "I will not."
        elif call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": n, "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "text": text}
        choice["finish_reason"] = "tool_calls" if call else "stop"
        return {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


# -- cases: calls that wait in a run ---------------------------------------------------------------


class _PendingCase(unittest.TestCase):
    """A tool that pays, and runs with calls of it; `ran` has the numbers that were paid."""

    def setUp(self):
        self.ran: List[int] = []

    def pay(self, n: int):
        "Pay."
        self.ran.append(n)
        return "paid %d" % n

    def start(self, *ids):
        """(run, model, events) of a reply with these calls."""
        run = agentloop.AgentRun("go")
        calls = [_act("pay", call_id, n=n) for n, call_id in enumerate(ids or ("c1", "c2"), 1)]
        model = agentloop.Scripted([calls, _end()])
        return run, model, agentloop.stream(model, run, [self.pay])


# -- cases: the command line -----------------------------------------------------------------------


_MARKED_KEY = "sk-marker-5f0c2a"  # must not be seen anywhere


_TOOLS = '''"""A user's tools."""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may ignore it
from os.path import join


def lookup_stock(sku: str) -> int:
    """Return how many can be sold: \u00e9."""
    with open(os.environ["NOTES"], "a") as f:
        f.write(sku + "\\n")
    return {"A1": 3}.get(sku, 0)


def wait(seconds: int) -> str:
    """Wait."""
    import time
    print("waiting", flush=True)
    time.sleep(seconds)
    return "done"


def _hidden(x: int) -> int:
    return x


def main() -> None:
    raise SystemExit("main is no tool")
'''


class _TerminalOutput(io.TextIOWrapper):
    """Standard output or error as a terminal."""

    def isatty(self):
        return True


class _CommandLineCase(_FolderCase):
    """The command line in this process, with a server, a tools file, and notes of its calls."""

    @classmethod
    def setUpClass(cls):
        cls.server = None if _BROWSER else _LoopbackServer()

    @classmethod
    def tearDownClass(cls):
        if cls.server:
            cls.server.close()

    def setUp(self):
        super().setUp()
        self.tools = self.write("my_tools.py", _TOOLS)
        self.notes = self.write("notes", b"")
        self.journal = self.path("run.jsonl")
        env = dict(_env(NOTES=self.notes), OPENAI_API_KEY=_MARKED_KEY)
        patch = mock.patch.dict(os.environ, env, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        log, path, modules = logging.getLogger("agentloop"), list(sys.path), set(sys.modules)
        handlers, sigint = list(log.handlers), signal.getsignal(signal.SIGINT)

        def back():
            log.handlers[:] = handlers
            sys.path[:] = path
            signal.signal(signal.SIGINT, sigint)
            for name in set(sys.modules) - modules:
                if self.folder in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]

        self.addCleanup(back)

    def call(self, *args, stdin="", encoding="utf-8", terminal=False):
        """The command line in this process: (exit status, standard output, standard error)."""
        kind = _TerminalOutput if terminal else io.TextIOWrapper
        out, err = (kind(io.BytesIO(), encoding=encoding, newline="\n") for _ in "oe")
        log = logging.getLogger("agentloop")
        before = list(log.handlers)
        typed = io.StringIO(stdin) if isinstance(stdin, str) else stdin
        with mock.patch.object(sys, "stdin", typed), mock.patch.object(sys, "stdout", out):
            with mock.patch.object(sys, "stderr", err):
                try:
                    status = agentloop.main(list(args))
                except SystemExit as e:
                    status = e.code
        log.handlers[:] = before
        found = []
        for stream in (out, err):
            stream.flush()
            found.append(stream.buffer.getvalue().decode(encoding))
        self.assertNotIn(_MARKED_KEY, "".join(found), "the key is shown")
        return status or 0, found[0], found[1]

    def ask(self, *args, answers=(), base_url=True, **options):
        """The same with a server that gives these answers; `self.bodies` is what it was sent."""
        self.server.seen[:], self.server.answers[:] = [], list(answers)
        where = ["--base-url", self.server.url + "/v1"] if base_url else []
        found = self.call(*args, "--model", "m", *where, **options)
        self.assertEqual(self.server.answers, [], "not all were asked for: %s" % (found,))
        self.bodies = [body for _, _, body in self.server.seen]
        return found

    def noted(self):
        """The products that were looked up."""
        return _bytes(self.notes).decode().split()


# -- cases: copies of the file ---------------------------------------------------------------------


# What every copy must be able to do: `al` is the copy. No `assert`, since -O takes those out.
_CORE = '''
import dataclasses, typing

@dataclasses.dataclass(frozen=True)
class Line:
    sku: str
    quantity: int = 1

def must(true, *what):
    if not true:
        raise RuntimeError(repr(what))

def order(lines: typing.List[Line], how: typing.Literal["post", "courier"] = "post") -> dict:
    """Order some products.

    Args:
        lines: what to order.
    """
    return {"pieces": sum(line.quantity for line in lines), "how": how}

@al.tool(read_only=True)
def look(n: int) -> int:
    """Look."""
    return n + 1

async def later(n: int) -> int:
    """Wait."""
    return n * 2

def core():
    tools = al.registry([order, look, later])
    items = tools["order"].parameters["properties"]["lines"]
    must(items["description"] == "what to order." and items["type"] == "array", items)
    calls = [al.AgentAction("look", {"n": n}) for n in (1, "2", 3)]
    model = al.Scripted([
        al.AgentAction("order", {"lines": [{"sku": "A1", "quantity": "many"}]}),
        al.AgentAction("order", {"lines": [{"sku": "A1", "quantity": "2"}], "how": "courier"}),
        calls, al.AgentAction("nix", {}), al.InvalidResponse("hm"),
        al.AgentFinish("no"), al.AgentFinish("yes"),
    ])
    run = al.run(model, "go", tools, accept=lambda run: "no!" if run.output == "no" else None)
    told = [s.status for s in run.steps]
    must(told[:5] == ["invalid_arguments", "ok", "ok", "ok", "ok"], told)
    must(told[5:] == ["unknown_tool", "invalid_response", "not_accepted"], told)
    must(run.steps[1].observation == {"pieces": 2, "how": "courier"}, run.steps[1])
    must([s.observation for s in run.steps[2:5]] == [2, 3, 4], run.steps)
    must((run.state, run.output, run.requests) == ("succeeded", "yes", 7), run)
    must(al.from_json(al.to_json(run)) == run)
    import copy, pickle
    must(copy.deepcopy(run) == run)
    end = al.run(al.Scripted([al.AgentFinish("more")]), al.AgentRun("a", requests=0).follow_up("b"))
    must(end.output == "more" and str(end.finish) == "finish: more", end)

def awaits():
    model = al.Scripted([al.AgentAction("later", {"n": 4}), al.AgentFinish("x")])
    run = al.run(model, "go", [later])
    must(run.steps[0].observation == 8, run.steps)

def journal(folder):
    import os
    path = os.path.join(folder, "copy.jsonl")
    call = al.AgentAction("order", {"lines": [{"sku": "A1"}]})
    model = al.Scripted([call, al.AgentFinish("done")])
    events = al.stream(model, "go", [order], journal=path)
    next(events)
    events.close()
    run = al.run(model, "go", [order], journal=path)
    must(run.state == "model_ended" and run.requests == 2, run)
    must(al.AgentRun.load(path) == run)
    os.remove(path)

def adapters():
    import json
    message = {"role": "assistant", "content": "hi"}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
    sent = []
    def transport(method, url, headers, body, timeout):
        sent.append(json.loads(body.decode()))
        return 200, {"content-type": "application/json"}, [json.dumps(answer).encode()]
    run = al.run(al.OpenAIChat("m", api_key="k", transport=transport), "go", [order])
    must(run.output == "hi" and sent[0]["tools"][0]["function"]["name"] == "order", run, sent)
    text = al.ReActText(lambda prompt: "Thought: so\\nFinal Answer: ok")
    must(al.run(text, "go", [order]).output == "ok")
    must(al.AnthropicMessages("m", api_key="k").body(run, {})["model"] == "m")
'''


_ALL = (
    _CORE
    + """
def everything(folder):
    import sys
    core()
    if sys.platform != "emscripten":  # no asyncio.run there
        awaits()
    journal(folder)
    adapters()
"""
)


def _scene(al, source=_ALL, future=False):
    """The scenario's functions for a copy, as a user's module of its own would have them."""
    name = "_users_%d" % len(sys.modules)
    # Python looks there for what annotations mean.
    sys.modules[name] = module = types.ModuleType(name)
    module.al = al
    source = ("from __future__ import annotations\n" if future else "") + source
    exec(compile(source, "users_module.py", "exec", dont_inherit=True), module.__dict__)
    return module


class _CopyCase(_FolderCase):
    """The file's text and code, to be written elsewhere, loaded or run."""

    @classmethod
    def setUpClass(cls):
        cls.source = _FILE.read_text(encoding="ascii")
        cls.code = compile(cls.source, str(_FILE), "exec", dont_inherit=True)

    def setUp(self):
        super().setUp()
        path, modules = list(sys.path), set(sys.modules)

        def back():
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if (
                    self.folder in str(getattr(sys.modules[name], "__file__", ""))
                    or "_users" in name
                ):
                    del sys.modules[name]
            importlib.invalidate_caches()

        self.addCleanup(back)

    def module(self, name="copied", code=None):
        """The file's code run in a module of that name, which is not in sys.modules."""
        module = types.ModuleType(name)
        exec(code or self.code, module.__dict__)
        return module

    def imported(self, name, *folders):
        """The copy of that name in a folder, imported."""
        sys.path[:0] = [self.path(*folders)]
        importlib.invalidate_caches()
        return importlib.import_module(name)


# -- cases: examples -------------------------------------------------------------------------------


@_processes
@unittest.skipUnless((_ROOT / "examples").is_dir(), "the examples are not here")
class _ExampleCase(_FolderCase):
    """Tests of what is in the folder `examples`."""

    examples = _ROOT / "examples"

    def module(self, name):
        """An example as a module."""
        with mock.patch.object(sys, "path", [str(self.examples), *sys.path]):
            return importlib.import_module(name)

    def serve(self, handler):
        """The URL of a server with that handler, on loopback, until the test ends."""
        handler.log_message = lambda *words: None
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads, server.handle_error = True, lambda *words: None
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d" % server.server_port


# == errors ========================================================================================


class ErrorTests(unittest.TestCase):
    """The two errors: InvalidResponse for models to raise, ModelError for callers to catch."""

    def test_invalid_response(self):
        error = agentloop.InvalidResponse("no JSON")
        self.assertEqual(("no JSON", None, ""), (error.observation, error.message, error.log))
        self.assertIn("no JSON", str(error))
        error = agentloop.InvalidResponse("no JSON", {"role": "x"}, "Hm.")
        self.assertEqual(
            ("no JSON", {"role": "x"}, "Hm."), (error.observation, error.message, error.log)
        )
        error = agentloop.InvalidResponse(observation="", message=1, log="l")
        self.assertEqual(("", 1, "l"), (error.observation, error.message, error.log))
        self.assertIsInstance(error, Exception)

    def test_model_error(self):
        error = agentloop.ModelError("the server said no", "auth", 401)
        self.assertEqual(
            ("the server said no", "auth", 401), (str(error), error.kind, error.status)
        )
        error = agentloop.ModelError("gone", kind="connection")
        self.assertEqual(("connection", None), (error.kind, error.status))
        self.assertEqual(agentloop.ModelError("x").kind, "server")
        self.assertIsInstance(error, Exception)
        self.assertNotIsInstance(error, agentloop.InvalidResponse)


# == data ==========================================================================================

# -- values as text --------------------------------------------------------------------------------


class ShownTextTests(unittest.TestCase):
    """Whatever text or value is shown becomes one short line of printable characters."""

    def events(self, text):
        """Every kind of event, with the text in every place."""
        action = agentloop.AgentAction
        yield action(text, {}, "c1")
        yield action("f", {text: 1}, "c1")
        yield action("f", {"a": text}, "c1")
        yield action("f", {"a": [{"b": text}]}, "c1")
        yield action("f", text, "c1")
        yield action("f", [text], "c1")
        for value in (text, [text], {"a": text}, {text: 1}, text.encode("utf-8", "surrogatepass")):
            yield agentloop.AgentStep(action("f", {}, "c1"), value)
            yield agentloop.AgentStep(action("", {}, ""), value, "not_accepted")
            yield agentloop.AgentFinish(value)
        yield agentloop.AgentStep(action("f", {}, "c1"), "x", text)
        yield agentloop.AgentFinish("x", reason=text)

    def test_letters_of_every_script_are_kept(self):
        texts = ["Größe", "城市", "Привет", "مرحبا", "नमस्ते", "😀", "e\u0301", "a\xa0b", "❤\ufe0f"]
        texts += [
            "می\u200cخواهم",
            "PDF\u200cها",
            "क्\u200d",
            "👨\u200d👩",
            "❤\ufe0f\u200d🔥",
        ]  # joiners
        for text in texts:
            for event in self.events(text):
                self.assertIn(text, str(event), repr(event))

    def test_control_characters_and_lone_surrogates_are_escaped(self):
        bad = "\n\r\t\x00\x1b\x7f\x85\x9b\u2028\u2029\u202e\u2066\ud800\udfff"
        bad += "\xad\u034f\u061c\u115f\u180e\u200b\u2060\u3164\ufeff\uffa0\U000e0041\u200c\u200d"  # unseen
        for character in bad:
            for event in self.events("a%sb" % character):
                line = str(event)
                self.assertNotIn(character, line, repr(event))
                kinds = {unicodedata.category(c) for c in line}
                self.assertFalse(kinds & {"Cc", "Cs", "Zl", "Zp"}, line)
                line.encode("utf-8")

    def test_where_a_line_is_cut(self):
        """What is as long as it may be stays whole; of one more, the beginning stays."""
        action = _act("f")
        rows = [
            (64, lambda text: agentloop.AgentAction(text, {})),
            (120, lambda text: agentloop.AgentAction("f", text)),
            (40, lambda text: agentloop.AgentStep(action, 1, text)),
            (120, lambda text: agentloop.AgentStep(action, text)),
            (40, lambda text: agentloop.AgentFinish(1, reason=text)),
            (240, agentloop.AgentFinish),
        ]
        for most, event in rows:
            with self.subTest(most=most, event=type(event("x")).__name__):
                whole, cut = str(event("x" * most)), str(event("x" * (most + 1)))
                self.assertIn("x" * most, whole)
                self.assertNotIn("...", whole)
                self.assertIn("x" * most + " ...", cut)
        for most, made in ((58, json.dumps), (60, lambda text: '["%s"]' % text[:-2])):
            value = "x" * most if made is json.dumps else ["x" * (most - 4)]
            more = "x" * (most + 1) if made is json.dumps else ["x" * (most - 3)]
            self.assertIn(json.dumps(value), _step_of(_tool("x: int"), {"x": value}).observation)
            cut = json.dumps(more)[:60] + " ..."
            self.assertIn(cut, _step_of(_tool("x: int"), {"x": more}).observation)
        for name, shown in (
            ("x" * 100, ".%s" % ("x" * 100)),
            ("x" * 101, '["%s ..."]' % ("x" * 100)),
        ):
            step = _step_of(_tool(""), {name: 1})
            self.assertIn("args%s: unknown name" % shown, step.observation)

    def test_what_is_cut_off_is_not_encoded(self):
        class Item:
            def __str__(self):
                shown.append(1)
                return "item"

        for value in (
            [Item()] * 9999, tuple([Item()] * 9999), {str(n): Item() for n in range(9999)},
        ):  # fmt: skip
            shown: List[int] = []
            for event in (
                agentloop.AgentStep(_act("f"), value), agentloop.AgentFinish(value),
                agentloop.AgentAction("f", {"a": value}),
            ):  # fmt: skip
                self.assertLess(len(str(event)), 500)
            self.assertLess(len(shown), 1000)
        deep: List[Any] = []
        for _ in range(50):
            deep = [deep, "x"]
        self.assertIn("[[[[", str(agentloop.AgentFinish(deep)))

    def test_long_and_odd_values_stay_one_short_line(self):
        circle: List[Any] = []
        circle.append(circle)
        image = agentloop.Image(b"x" * 99999)
        for value in ("x" * 99999, ["x" * 999] * 99, circle, image, [image], _Unshowable(), 1j):
            for event in (
                agentloop.AgentAction("f", {"a": value}, "c1"),
                agentloop.AgentAction("f" * 9999, {}, "c1"),
                agentloop.AgentAction("f", value, "c1"),
                agentloop.AgentStep(agentloop.AgentAction("f", {}, "c1"), value),
                agentloop.AgentFinish(value),
            ):
                self.assertLess(len(str(event)), 500)
                self.assertNotIn("\n", str(event))


# -- a model's text as values ----------------------------------------------------------------------


class ArgumentTextTests(unittest.TestCase):
    """tool_input as text: one JSON object, leniently read, never completed."""

    def test_the_arguments_of_an_action(self):
        kept = {"a": [1]}
        rows = [
            (kept, {"a": [1]}), ('{"a": [1]}', {"a": [1]}), ("{'a': None}", {"a": None}),
            ('```json\n{"a": 1}\n```', {"a": 1}), ('"{\\"a\\": 1}"', {"a": 1}),
            ('{"a": "1\n2"}', {"a": "1\n2"}), ("", {}), (None, {}), ("null", {}),
            ("[1]", None), ("5", None), ('{"a": 1', None), (5, None), ([1], None),
            ("{'a': " * 99, None), ({"a": threading.Lock()}, None),
        ]  # fmt: skip
        for given, want in rows:
            with self.subTest(repr(given)[:40]):
                self.assertEqual(agentloop.AgentAction("f", given).arguments, want)
        agentloop.AgentAction("f", kept).arguments["a"].append(2)
        self.assertEqual(kept, {"a": [1]})

    def test_dicts_of_other_classes(self):
        """A model of the caller's may read YAML, say; one that cannot be looked at is a step."""

        class Lazy(dict):
            def items(self):
                raise RuntimeError("lazy")

            __iter__ = keys = values = items

        for given, status in (
            (collections.OrderedDict(n=1), "ok"), (collections.Counter(n=1), "ok"),
            (Lazy(n=1), "invalid_arguments"),
        ):  # fmt: skip
            with self.subTest(type(given).__name__):
                call = agentloop.AgentAction("look", given)
                run, error = _drive([call, _end()], tools=[_look_at])
                self.assertIsNone(error)
                self.assertEqual(run.steps[0].status, status)
                self.assertIn("look(", str(call))
                if status == "ok":
                    self.assertIs(type(run.steps[0].action.tool_input), dict)

    def test_text(self):
        a = {"x": "a", "n": 1}
        whole = _bad("object", at="args")
        rows = [
            ({}, {}),
            (None, {}),
            ("", {}),
            (" \n", {}),
            ("null", {}),
            ("{}", {}),
            ('{"x": "a"}', a),
            (' {"x": "a"}\n', a),
            ('"{\\"x\\": \\"a\\"}"', a),  # one more encoding
            ('""', {}),
            ('"null"', {}),
            ('```json\n{"x": "a"}\n```', a),
            ('```\n{"x": "a"}\n```\n', a),
            ("```json\n{'x': 'a'}\n```", a),
            ('```json\n{"x": "```\\n"}\n```', {"x": "```\n", "n": 1}),
            ("{'x': 'a'}", a),
            ("{'x': 'it\\'s', 'n': None}", {"x": "it's", "n": 1}),
            ("{'x': 'a\nb\tc\x00\r\n',\n'n': 1}", {"x": "a\nb\tc\x00\r\n", "n": 1}),
            ("{'x': \"a\\\nb\\d'\n\"}", {"x": "ab\\d'\n", "n": 1}),
            ('{"x": "b", "x": "a"}', a),
            ('{"x": "\\ud800"}', {"x": "\ud800", "n": 1}),
            ("a", whole),
            ('"a"', whole),
            ("[1]", whole),
            ("5", whole),
            ("true", whole),
            ('{"x": "a"', whole),
            ('{"x": "a"} {"x": "b"}', whole),
            ('{"x": "a",}', a),  # a Python literal
            ('{"x": NaN}', whole),
            ('{"x": "a", "n": Infinity}', whole),
            ('x = "a"', whole),
            ("{'x': open('/etc/passwd')}", whole),
            ("{1: 2}", whole),
            ("{'x'}", whole),
            ("('x', 1)", whole),
            ('{"n": 1e400}', _bad("integer", at="args.n")),
            ("\x00", whole),
            (5, whole),
            (0, whole),
            (False, whole),
            (["a"], whole),
            ([], whole),
            (("x", "a"), whole),
            (b'{"x": "a"}', whole),
            (object, whole),
        ]
        made = _tool("x: str = '', n: int = 1")
        for given, want in rows:
            with self.subTest("%.60r" % (given,)):
                if not isinstance(want, _Bad):
                    want = {"x": want.get("x", ""), "n": 1}
                _check(self, _step_of(made, given), want)

    def test_a_text_of_one_kind_of_character_is_read_in_one_pass(self):
        for begun, piece in (
            ("{'a': '", "\\'"),
            ("{'a': \"", '\\"'),
            ("{'a': ", "7"),
            ("{'a': ", "7."),
        ):
            with self.subTest(begun=begun, piece=piece), _at_little_cost(self):
                action = agentloop.AgentAction("f", begun + piece * 40_000 + "x")
                self.assertIsNone(action.arguments)

    @_real_stack
    @unittest.skipUnless(_new_enough("3.9"), "Python 3.8 itself writes to stderr about such a text")
    def test_deep_texts(self):
        brackets = "[" * 99999
        rows = [
            ("x: List[int]", {"x": brackets}, _bad("array")),
            ("x: dict", {"x": '{"a":' * 99999}, _bad("object")),
            ("x: str = ''", brackets, _bad("object", at="args")),
            ("x: str = ''", '{"x": %s%s}' % (brackets, brackets.replace("[", "]")),
             _bad("object", at="args")),
            ("x: str = ''", "(" * 999 + ")" * 999, _bad("object", at="args")),
        ]  # fmt: skip
        for signature, given, want in rows:
            _check(self, _step_of(_tool(signature), given), want)

    def test_a_text_is_read_in_one_pass(self):
        rows = [
            "'" + "\\'" * 49_000,  # strings that do not end
            '{"x": "' + '\\"' * 49_000,
            "'" + "\\'" * 49_000 + "\\1",
            "1" * 99_000 + "x",
            "1" * 49_000 + "." + "1" * 49_000 + "x",
            "[1" + " " * 99_000 + "x",
            "{'x': " + "'a' " * 20_000,
        ]
        for given in rows:
            with self.subTest(given[:20]), _at_once(self):
                _check(self, _step_of(_tool("x: str = ''"), given), _bad("object", at="args"))

    @_real_threads
    def test_no_chain_of_operators_or_indexes_reaches_the_parser(self):
        rows = ["1" + "-1" * 49_000, "1" + " - 1" * 20_000, "[1]" + "[1]" * 30_000,
                "{'x': 1" + "[1]" * 30_000 + "}", "'a'" + "[1]" * 30_000, "{}" + " [1]" * 20_000,
                "{'a\"': " + "[" * 150 + "]" * 150 + "}"]  # fmt: skip
        for given in rows:
            with self.subTest(given[:20]):
                action = agentloop.AgentAction("f", given)
                self.assertIsNone(_on_small_stack(lambda action=action: action.arguments))

    def test_the_step_keeps_what_the_model_sent_and_the_tool_gets_a_copy(self):
        kept = {}

        def f(tags: list, more: dict, whole: Any = None, rows: Optional[List[dict]] = None):
            tags.append("later")
            more["later"] = 1
            whole["a"].append("later")
            rows[0]["later"] = 1
            kept.update(tags=tags)
            return tags

        def g(**arguments):
            arguments["tags"].append("later")
            arguments["more"].clear()

        given = {"tags": ["a"], "more": {"b": [1]}, "whole": {"a": []}, "rows": [{}]}
        before = copy.deepcopy(given)
        by_hand = agentloop.Tool("g", "", {"type": "object"}, g)
        for tool in (f, by_hand):
            step = _step_of(tool, given)
            self.assertEqual(step.status, "ok", step.observation)
            self.assertEqual((given, step.action.tool_input), (before, before))
        text = json.dumps(given)
        step = _step_of(f, text)
        self.assertEqual((step.action.tool_input, step.observation), (text, ["a", "later"]))


# -- the data classes ------------------------------------------------------------------------------


class DataFieldTests(unittest.TestCase):
    """The five dataclasses: their fields, the order of them, and the defaults."""

    def test_fields_and_defaults(self):
        action = agentloop.AgentAction("f", {"a": 1})
        rows = [
            (action, "tool tool_input call_id log message request",
             ["f", {"a": 1}, "", "", None, 0]),
            (agentloop.AgentStep(action, 3), "action observation status", [action, 3, "ok"]),
            (agentloop.AgentFinish(3), "output log message reason", [3, "", None, "stop"]),
            (agentloop.AgentRun("go"),
             "task steps pending started finish state requests usage history",
             ["go", [], [], [], None, "running", 0, {}, []]),
            (agentloop.Image(b"x"), "data media_type", [b"x", "image/png"]),
        ]  # fmt: skip
        for thing, names, values in rows:
            with self.subTest(type(thing).__name__):
                self.assertTrue(dataclasses.is_dataclass(thing))
                self.assertEqual([f.name for f in dataclasses.fields(thing)], names.split())
                self.assertEqual([getattr(thing, n) for n in names.split()], values)
                self.assertEqual(type(thing)(*values), thing)
                self.assertEqual(type(thing).type, type(thing).__name__)

    def test_repr(self):
        action = agentloop.AgentAction("f", {"a": 1}, "c1", request=2)
        shown = "AgentAction(tool='f', tool_input={'a': 1}, call_id='c1', log='', message=None, "
        shown += "request=2)"
        self.assertEqual(repr(action), shown)
        step = agentloop.AgentStep(action, None, "denied")
        text = "AgentStep(action=%s, observation=None, status='denied')"
        self.assertEqual(repr(step), text % shown)
        finish = agentloop.AgentFinish("x")
        text = "AgentFinish(output='x', log='', message=None, reason='stop')"
        self.assertEqual(repr(finish), text)
        text = "AgentRun(task='go', steps=[], pending=[], started=[], finish=%r, "
        text += "state='running', requests=0, usage={}, history=[])"
        self.assertEqual(repr(agentloop.AgentRun("go", finish=finish)), text % finish)

    def test_compared_and_not_hashed(self):
        made = agentloop.AgentAction("f", {}), agentloop.AgentFinish(1), agentloop.Image(b"x")
        for thing in (*made, agentloop.AgentStep(made[0], 1), agentloop.AgentRun("go")):
            with self.subTest(type(thing).__name__):
                self.assertIs(thing == 5, False)
                self.assertIs(thing != 5, True)
                self.assertEqual(thing, copy.deepcopy(thing))
                with self.assertRaises(TypeError):
                    hash(thing)
        self.assertNotEqual(made[0], agentloop.AgentAction("f", {}, "c1"))

        def f(n: int) -> int:
            return n

        one, two = agentloop.tool(f), agentloop.tool(f)
        self.assertEqual(one, two, "how arguments are converted is no part of it")
        self.assertNotEqual(one, agentloop.tool(read_only=True)(f))
        self.assertTrue(repr(one).startswith("Tool(name='f', description='', parameters={"))
        self.assertTrue(repr(one).endswith("read_only=False, idempotent=False)"), repr(one))

    def test_runs_share_nothing(self):
        one, two = agentloop.AgentRun("a"), agentloop.AgentRun("b")
        for name in ("steps", "pending", "started", "usage", "history"):
            self.assertIsNot(getattr(one, name), getattr(two, name), name)

    def test_output(self):
        run = agentloop.AgentRun("go")
        self.assertIsNone(run.output)
        for value in ("", 0, [], {"a": 1}, None):
            run.finish = agentloop.AgentFinish(value)
            self.assertEqual(run.output, value)

    def test_pickle_and_copy(self):
        run = _interrupted_run().follow_up([agentloop.Image(b"x"), "y"])
        for again in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run), _saved(run)):
            self.assertEqual(again, run)
        held = agentloop.AgentRun("go")
        events = agentloop.stream(agentloop.Scripted([_act("f"), _end("x")]), held)
        next(events)
        for again in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held)):
            done, error = _drive(agentloop.Scripted([_act("f"), _end("x")]), again)
            self.assertEqual((done.output, error), ("x", None))  # a copy is not held
        events.close()
        for thing in (
            agentloop.AgentFinish(1), agentloop.AgentAction("f", {}), agentloop.Image(b""),
        ):  # fmt: skip
            self.assertEqual(pickle.loads(pickle.dumps(thing)), thing)


class ImageTests(unittest.TestCase):
    """A picture: bytes, and the media type that they show."""

    def test_a_picture_is_made_of_bytes(self):
        rows = [
            (b"\x89PNG\r\n", "image/jpeg", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/png", "image/jpeg"),
            (b"GIF89a", "image/png", "image/gif"),
            (b"RIFF\x00\x00\x00\x00WEBPVP8", "image/png", "image/webp"),
            (b"RIFF\x00\x00\x00\x00WAVEfmt", "audio/wav", "audio/wav"),  # what was said
            (b"", "image/bmp", "image/bmp"),
        ]
        for data, said, found in rows:
            for made in (data, bytearray(data), memoryview(data)):
                image = agentloop.Image(made, said)
                self.assertEqual((image.data, image.media_type), (data, found))
                self.assertIs(type(image.data), bytes)
        for wrong in ("shot.png", base64.b64encode(b"x").decode(), None, 5, [1], Path("x.png")):
            with self.subTest(repr(wrong)), self.assertRaisesRegex(TypeError, "bytes"):
                agentloop.Image(wrong)

    def test_the_bytes_of_a_picture_are_not_shown(self):
        shown = repr(agentloop.Image(b"\x00" * 99999, "image/jpeg"))
        self.assertLess(len(shown), 100)
        self.assertIn("99999", shown)
        self.assertIn("image/jpeg", shown)


class OneLineTests(unittest.TestCase):
    """str() of an action, a step, a finish and a run: the whole verbose mode."""

    def test_what_the_lines_say(self):
        action = agentloop.AgentAction("lookup_stock", {"sku": "A1", "fresh": True, "n": 2}, "c1")
        text = agentloop.AgentAction("lookup_stock", '{"sku": "A1"}', "c1")
        notice = agentloop.AgentAction("", {}, "")
        rows = [
            (_act("lookup_stock", sku="A1"), ['lookup_stock(sku="A1")']),
            (action, ["lookup_stock(", 'sku="A1"', "fresh=true", "n=2"]),
            (text, ['lookup_stock(sku="A1")']),
            (agentloop.AgentStep(action, {"left": 3}), ["lookup_stock", "ok", '{"left": 3}']),
            (agentloop.AgentStep(action, None, "denied"), ["lookup_stock", "denied", "null"]),
            (agentloop.AgentStep(notice, "why", "not_accepted"), ["not_accepted", "why"]),
            (agentloop.AgentFinish("3 left"), ["finish: 3 left"]),
            (agentloop.AgentFinish(None, reason="refusal"), ["finish", "refusal"]),
            (
                agentloop.AgentFinish({"a": 1}, reason="return_direct"),
                ["return_direct", '{"a": 1}'],
            ),
        ]
        for event, words in rows:
            for word in words:
                self.assertIn(word, str(event))
        self.assertNotIn("()", str(agentloop.AgentStep(notice, "why", "not_accepted")))

    def test_a_step_is_named_by_what_it_has(self):
        for action, name in (
            (_act("f"), "f() -> "), (_act("", "c1"), "() -> "), (_act(""), "reply -> "),
        ):  # fmt: skip
            self.assertTrue(str(agentloop.AgentStep(action, 1)).startswith(name), name)

    def test_a_call_looks_alike_as_text_and_as_object(self):
        for given in ({"a": 1, "b": "x\ny"}, {}, {"a": [None, {"b": 1.5}]}):
            texts = [json.dumps(given), "```\n%s\n```" % json.dumps(given), str(given)]
            shown = {str(agentloop.AgentAction("f", form)) for form in (given, *texts)}
            self.assertEqual(len(shown), 1, shown)
        long = json.dumps({"a": "x" * 20_000})  # is not read to be shown
        self.assertTrue(str(agentloop.AgentAction("f", long)).startswith('f({"a": "xxx'))

    def test_a_long_argument_hides_no_other(self):
        pay = agentloop.AgentAction("pay", {"note": "x" * 200, "amount": 1000})
        self.assertTrue(str(pay).endswith(" ..., amount=1000)"), str(pay))
        for given in ({"k" * 200: 1, "amount": 1000}, {"k%d" % n: 1 for n in range(200)}):
            line = str(agentloop.AgentAction("pay", given))
            self.assertRegex(line, r"\Apay\(k.{119} \.\.\.\)\Z")
        shown = str(agentloop.AgentFinish({"k" * 999: 1}))
        self.assertRegex(shown, r'\Afinish: \{"k+ \.\.\.\Z')

    def test_a_tree_of_many_started_calls(self):
        calls = [_act("look", "c%d" % n) for n in range(20_000)]
        run = agentloop.AgentRun("go", pending=calls, started=[call.call_id for call in calls])
        with _at_once(self):
            self.assertEqual(str(run).count("\n      started"), 20_000)

    def test_a_run_is_a_tree(self):
        calls = [
            [_act("look", "c1", n=1), _act("look", "c2", n=2)],
            _end("no\x1b"),
            _act("pay", "c3", n=3),
        ]
        run, _ = _drive(
            calls, "go\non", [_source("def look(n: int): return n", "look")],
            accept=lambda run: "not yet", max_requests=3,
        )  # fmt: skip
        run.usage = {"input_tokens": 1234, "output_tokens": 5, "cached_tokens": 6}
        run.pending = [
            dataclasses.replace(_act("pay", "c4", n=4), request=3),
            dataclasses.replace(_act("pay", "c5", n=5), request=4),
        ]
        run.started = ["c4"]
        lines = str(run).split("\n")
        self.assertEqual(lines[:9], [
            "task: go\\non",
            "  request 1",
            "    look(n=1)",
            "      ok: 1",
            "    look(n=2)",
            "      ok: 2",
            "  request 2",
            "      not_accepted: not yet",
            "  request 3",
        ])  # fmt: skip
        self.assertEqual(lines[9], "    pay(n=3)")
        self.assertIn("unknown_tool: There is no tool", lines[10])
        self.assertEqual(lines[11:], [
            "    pay(n=4)",
            "      started",
            "  request 4",
            "    pay(n=5)",
            "      pending",
            "budget_exhausted; 3 requests; 1,234 input tokens (6 cached), 5 output tokens",
        ])  # fmt: skip
        turn, _ = _drive(lambda run, tools: _end("x"), run.follow_up("and?"))
        self.assertEqual(str(turn).split("\n"), [
            "task (turn 2): and?", "  request 1", "    finish: x", "model_ended; 1 request",
        ])  # fmt: skip
        direct = agentloop.tool(return_direct=True)(_source("def f(): return 7", "f"))
        run, _ = _drive([_act("f")], tools=[direct])
        self.assertEqual(str(run).split("\n"), [
            "task: go", "  request 1", "    f()", "      ok: 7", "    finish (return_direct): 7",
            "model_ended; 1 request",
        ])  # fmt: skip


class CloseTests(unittest.TestCase):
    """AgentRun.close: a pending call gets its step from the caller."""

    def test_close(self):
        rows = [("c2", "denied", "no"), ("c3", "ok", {"done": True}), ("c2", "von Hand", None)]
        for call_id, status, observation in rows:
            with self.subTest(status):
                run = _interrupted_run()
                action = next(a for a in run.pending if a.call_id == call_id)
                copied = copy.deepcopy(action)  # found by its call id
                step = run.close(copied, observation, status)
                self.assertIs(run.steps[-1], step)
                self.assertEqual((step.status, step.observation), (status, observation))
                self.assertIs(step.action, action)
                self.assertNotIn(call_id, [a.call_id for a in run.pending] + run.started)
                self.assertEqual(len(run.pending), 1)

    def test_close_while_the_tool_runs(self):
        """One call, one step: what the tool returns after that is dropped."""

        def slow(action: agentloop.AgentAction, run: agentloop.AgentRun) -> str:
            run.close(action, "by the user", "cancelled")
            return "done all the same"

        run, error = _drive([_act("slow", "c1"), _end()], tools=[slow])
        self.assertIsNone(error)
        self.assertEqual(
            [(s.status, s.observation) for s in run.steps], [("cancelled", "by the user")]
        )
        self.assertEqual((run.pending, run.started, run.state), ([], [], "model_ended"))

    def test_close_refuses(self):
        run = _interrupted_run()
        rows = [
            (run.steps[0].action, "denied"),
            (_act("pay", "zz"), "denied"),
            (run.pending[0], ""),
            (run.pending[0], None),
        ]
        for action, status in rows:
            with self.subTest(status), self.assertRaises(ValueError):
                run.close(action, "x", status)
        self.assertEqual((len(run.pending), len(run.steps), run.started), (2, 1, ["c2"]))

    def test_a_status_of_an_enum_becomes_a_plain_text(self):
        class Verdict(str, enum.Enum):
            DENIED = "denied"

        run = _interrupted_run()
        step = run.close(run.pending[0], "no", Verdict.DENIED)
        self.assertEqual((type(step.status), step.status), (str, "denied"))

    def test_a_signal_handler_that_closes_the_call_that_gets_its_step(self):
        """One call, one step; no other call is lost."""

        class Steps(list):
            def append(self, step):
                super().append(step)
                if len(self) == 1:
                    for action in [*run.pending]:  # what a handler would do just then
                        with contextlib.suppress(ValueError):
                            run.close(action, "stopped", "denied")

        calls = [agentloop.AgentAction("f", {}, "i%d" % n) for n in range(3)]
        run = agentloop.AgentRun("go", pending=list(calls))
        run.steps = Steps()
        run.close(calls[0], "done", "ok")
        self.assertEqual(sorted(s.action.call_id for s in run.steps), ["i0", "i1", "i2"])
        self.assertEqual((run.pending, run.steps[0].status), ([], "ok"))


class FollowUpTests(unittest.TestCase):
    """AgentRun.follow_up: the next turn, and the turns before it in `history`."""

    def test_follow_up_closes_what_was_pending(self):
        run = _interrupted_run()
        turn = run.follow_up("and now?")
        self.assertEqual((turn.task, turn.state, turn.requests), ("and now?", "running", 0))
        self.assertEqual((turn.steps, turn.pending, turn.started, turn.usage), ([], [], [], {}))
        (earlier,) = turn.history
        self.assertEqual(_statuses(earlier), ["ok", "unknown_outcome", "not_executed"])
        self.assertEqual([s.action.call_id for s in earlier.steps], ["c1", "c2", "c3"])
        self.assertEqual((earlier.pending, earlier.started), ([], []))
        for step in earlier.steps:
            self.assertTrue(step.observation.strip())

    def test_follow_up_of_any_run(self):
        runs = [
            agentloop.AgentRun("nothing done"),
            _drive([_end()])[0],
            _drive([_end()], accept=lambda run: None)[0],
            _drive([_end()], max_requests=0)[0],
            _drive([ValueError("broken")])[0],
            _drive([_end(reason="refusal")])[0],
        ]
        for run in runs:
            with self.subTest(run.state):
                turn = run.follow_up(["a", agentloop.Image(b"x")])
                before = dataclasses.replace(run, history=[])
                self.assertEqual(turn.history, [before])
                done, _ = _drive(lambda run, tools: _end("yes"), turn, max_requests=1)
                self.assertEqual((done.output, done.requests), ("yes", 1))

    def test_follow_up_needs_a_task(self):
        rows = [
            (None, "None"),  # as Python writes it, not as JSON
            (5, "5"),
            ([], "[]"),
            ({}, "{}"),
            ([5], "[5]"),
            (b"x", "b'x'"),
            (_Unshowable(), "<_Unshowable that cannot be shown: ZeroDivisionError>"),
            (agentloop.AgentRun("x"), "AgentRun(task='x', "),
        ]
        for task, shown in rows:
            run = _interrupted_run()
            with self.subTest(shown), self.assertRaises(TypeError) as caught:
                run.follow_up(task)
            self.assertIn(f"; got {shown}", str(caught.exception))
            self.assertEqual(len(run.pending), 2)  # nothing was closed

    def test_follow_up_is_refused_while_a_stream_holds_the_run(self):
        run = agentloop.AgentRun("go")
        events = agentloop.stream(agentloop.Scripted([_act("f"), _end()]), run)
        next(events)
        with self.assertRaises(RuntimeError):
            run.follow_up("and?")
        self.assertEqual(len(run.pending), 1)
        events.close()
        self.assertEqual(_statuses(run.follow_up("and?").history[0]), ["not_executed"])

    def test_history_is_oldest_first_and_flat(self):
        run = agentloop.AgentRun("one")
        for task in ("two", "three", "four"):
            run = run.follow_up(task)
        self.assertEqual([turn.task for turn in run.history], ["one", "two", "three"])
        self.assertEqual([turn.history for turn in run.history], [[], [], []])
        self.assertIs(type(run.history), list)

    def test_history_may_be_replaced(self):
        seen = []

        def model(run, tools):
            seen.append([turn.output for turn in run.history])
            return _end("ok")

        run, _ = _drive(model, "one")
        turn = run.follow_up("two")
        summary = agentloop.AgentRun(
            "so far", finish=agentloop.AgentFinish("a summary"), state="model_ended"
        )
        turn.history[:] = [summary]
        self.assertEqual(_drive(model, turn)[0].output, "ok")
        self.assertEqual(seen, [[], ["a summary"]])

    def test_a_turn_that_goes_on_changes_no_history(self):
        run = agentloop.AgentRun("one", state="budget_exhausted", requests=1)
        turn = run.follow_up("two")
        run.steps.append(agentloop.AgentStep(agentloop.AgentAction("f", {}, "c"), 1))
        run.usage["input_tokens"] = 5
        self.assertEqual((turn.history[0].steps, turn.history[0].usage), ([], {}))


# -- as JSON ---------------------------------------------------------------------------------------


class JsonTests(unittest.TestCase):
    """to_json and from_json: what is plain comes back, the rest as the text that the model saw."""

    def step(self, observation):
        return agentloop.AgentStep(agentloop.AgentAction("f", {}, "c1"), observation)

    def test_every_field_of_every_class_comes_back(self):
        message = {"role": "assistant", "content": None}
        action = agentloop.AgentAction("f", {"a": [1, None]}, "c1", "log", message, 2)
        text = agentloop.AgentAction("f", '{"a": 1', "c2", "", None, 3)
        step = agentloop.AgentStep(action, {"b": 1.5}, "denied")
        finish = agentloop.AgentFinish({"x": "y"}, "log", message, "return_direct")
        earlier = agentloop.AgentRun("first", [step], finish=finish, state="succeeded", requests=1)
        run = agentloop.AgentRun(
            ["and?", agentloop.Image(b"\x00\xff", "image/gif")], [step], [text], ["c2"], None,
            "budget_exhausted", 7, {"input_tokens": 9, "cached_tokens": 0}, [earlier],
        )  # fmt: skip
        for thing in (
            action, text, step, finish, earlier, run, agentloop.Image(b"\x00\xff", "a/b"),
        ):  # fmt: skip
            with self.subTest(type(thing).__name__):
                written = agentloop.to_json(thing)
                self.assertEqual(written["type"], type(thing).__name__)
                self.assertEqual(_saved(thing), thing)
                self.assertIs(type(_saved(thing)), type(thing))

    def test_plain_values_keep_their_type(self):
        rows = [None, True, False, 0, -1, 10**30, 0.0, -0.0, 1e300, "", "ü\n", "\ud800", [], {}]
        rows += [[1, [2.0, [True]]], {"a": {"": None}, "type": "Image"}, [{"type": "AgentRun"}]]
        for value in rows:
            with self.subTest(repr(value)):
                self.assertEqual(repr(_saved(self.step(value)).observation), repr(value))
                self.assertEqual(repr(_saved(agentloop.AgentFinish(value)).output), repr(value))

    def test_where_a_value_is_plain_no_more(self):
        """A hundred levels, and integers that Python writes without being asked."""

        def nested(make, levels):
            value = make(None)
            for _ in range(levels - 1):
                value = make(value)
            return value

        for make in (lambda v: [v], lambda v: {"a": v}):
            for levels in (99, 100):
                value = nested(make, levels)
                self.assertEqual(agentloop.to_json(self.step(value))["observation"], value)
            written = agentloop.to_json(self.step(nested(make, 101)))
            self.assertIs(written["observation_as_text"], True)
            self.assertIs(type(written["observation"]), str)
        self.assertEqual(_saved(self.step((1 << 9999) - 1)).observation, (1 << 9999) - 1)
        self.assertEqual(_saved(self.step(1 << 9999)).observation, str(1 << 9999))

    @_real_stack
    def test_a_value_deeper_than_python_goes(self):
        deep, deeper = [1], {"a": 1}
        for _ in range(3000):
            deep, deeper = [deep], {"a": deeper}
        for value in (deep, deeper):
            self.assertIs(type(_saved(self.step(value)).observation), str)
            self.assertLess(len(str(self.step(value))), 500)

    def test_what_is_not_plain_comes_back_as_the_text_that_the_model_is_shown(self):
        circle: List[Any] = []
        circle.append(circle)
        word = type("Word", (str,), {})
        rows = [
            ((1, 2), "[1, 2]"),
            ([(1,), "é"], '[[1], "é"]'),
            ({1: "a"}, '{"1": "a"}'),
            ({(1, 2): "a"}, "{(1, 2): 'a'}"),
            (float("nan"), "NaN"),
            ([float("inf")], "[Infinity]"),
            (b"h\xc3\xa9", "hé"),
            (bytearray(b"hi"), "hi"),
            (b"\xff", "\\xff"),
            ([b"hi"], '["hi"]'),
            ({2, 10, 1}, "[1, 10, 2]"),
            (frozenset(["b", "a"]), '["a", "b"]'),
            (datetime.date(2024, 1, 31), "2024-01-31"),
            ([datetime.date(2024, 1, 31)], '["2024-01-31"]'),
            (decimal.Decimal("1.10"), "1.10"),
            (_Colour.RED, "r"),
            ([_Colour.RED], '["r"]'),
            (_Point(1, 2), '{"x": 1, "y": 2}'),
            ([_Point(1)], '[{"x": 1, "y": 0}]'),
            (_Order(1, [_Item("a")]), '{"id": 1, "items": [{"sku": "a", "qty": 1}], "note": null}'),
            (_Pair(1, "b"), '[1, "b"]'),
            (word("hi"), "hi"),
            (collections.OrderedDict(a=1), '{"a": 1}'),
            (pathlib.PurePosixPath("/x"), "/x"),
            (ZeroDivisionError("zero"), "zero"),
            (_Point, str(_Point)),
            (circle, "[[...]]"),
            (_Unshowable(), "<_Unshowable that cannot be shown: ZeroDivisionError>"),
            (_OfUnshowableClass(), "shown"),
            ({"a": agentloop.Image(b"xyz")}, '{"a": "[picture: image/png, 3 bytes]"}'),
        ]
        chat = agentloop.OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key="k")
        for value, text in rows:
            with self.subTest(type(value).__name__):
                back = _saved(self.step(value)).observation
                self.assertIs(type(back), str)
                self.assertEqual(back, text)
                self.assertEqual(_saved(agentloop.AgentFinish(value)).output, back)
                # A resumed run sends the same bytes.
                message = {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ]}  # fmt: skip
                action = agentloop.AgentAction("f", {}, "c1", "", message, 1)
                run = agentloop.AgentRun("go", [agentloop.AgentStep(action, value)], requests=1)
                sent = json.dumps(chat.body(run, {}))
                self.assertEqual(sent, json.dumps(chat.body(_saved(run), {})))
                self.assertEqual(back, chat.body(run, {})["messages"][-1]["content"])

    def test_the_text_of_a_set_does_not_depend_on_chance(self):
        names = ["n%d" % n for n in range(99)]
        texts = {_saved(self.step(set(names[n:] + names[:n]))).observation for n in range(9)}
        self.assertEqual(len(texts), 1)
        self.assertEqual(json.loads(texts.pop()), sorted(names))

    def test_pictures(self):
        one, two = agentloop.Image(b"\x89PNG"), agentloop.Image(b"\xff", "image/jpeg")
        rows: List[Any] = [one, [one], [one, "text", two], [{"type": "Image"}, one, 5, None, [1]]]
        for value in rows:
            with self.subTest(repr(value)):
                self.assertEqual(_saved(self.step(value)).observation, value)
                self.assertEqual(_saved(agentloop.AgentFinish(value)).output, value)
                self.assertIn('"data": "', json.dumps(agentloop.to_json(self.step(value))))
        mixed = _saved(self.step([one, (1, 2), {3: 4}])).observation
        self.assertEqual(mixed, [one, "[1, 2]", '{"3": 4}'])
        written = agentloop.to_json(two)
        self.assertEqual(written, {"type": "Image", "media_type": "image/jpeg", "data": "/w=="})

    def test_lists_of_pictures_and_other_values(self):
        image = agentloop.Image(b"GIF89a")
        for value in ([image, [image]], [image, [1, [image]], "a"], [image, {1}], [image, 2.5]):
            with self.subTest(repr(value)):
                found = _saved(self.step(value))
                self.assertEqual(found.observation[0], image)
                self.assertEqual(len(found.observation), len(value))
                self.assertEqual(_saved(found).observation, found.observation)

    def test_what_only_resembles_a_picture_is_shown_as_text(self):
        class Raises:
            def __getattr__(self, name):
                raise RuntimeError(name)

        look_alikes = [
            types.SimpleNamespace(type="Image", data=b"x", media_type="image/png"),
            mock.Mock(type="Image", data=b"x", media_type="image/png"), Raises(),
            type("Odd", (), {"type": "Image"})(),
            type("Odd", (), {"type": "Image", "__slots__": ()})(),
            type("Odd", (), {"type": 5, "data": b"x", "media_type": "image/png"})(),
        ]  # fmt: skip
        for value in look_alikes:
            for held in (value, [value], (value,), {"x": value}):
                written = agentloop.to_json(self.step(held))
                self.assertIs(written["observation_as_text"], True)
                self.assertIs(type(str(self.step(held))), str)
                with self.assertRaises(TypeError):
                    agentloop.to_json(held)
        copy_of_the_file = type("Image", (), {"type": "Image"})()  # it is one: its fields are there
        copy_of_the_file.__dict__.update(data=b"x", media_type="image/png")
        written = agentloop.to_json(self.step(copy_of_the_file))
        self.assertEqual(_saved(self.step(copy_of_the_file)).observation, agentloop.Image(b"x"))
        self.assertIn("observation_images", written)

    def test_what_a_message_or_an_input_holds_may_be_anything(self):
        action = agentloop.AgentAction("f", ("a",), "c1", "", {"when": datetime.date(2024, 1, 2)})
        back = _saved(action)
        self.assertEqual(back.tool_input, '["a"]')
        self.assertIn("2024-01-02", str(back.message))

    def test_what_is_written_and_read_is_a_snapshot(self):
        run = agentloop.AgentRun("go", usage={"input_tokens": 1}, started=["a"])
        written = agentloop.to_json(run)
        run.usage["input_tokens"] = 5
        run.started.append("b")
        self.assertEqual((written["usage"], written["started"]), ({"input_tokens": 1}, ["a"]))
        one, other = agentloop.from_json(written), agentloop.from_json(written)
        one.usage["input_tokens"] = 7
        self.assertEqual(other.usage, {"input_tokens": 1})

    def test_a_field_that_is_missing_takes_its_default(self):
        action = agentloop.AgentAction("f", {"a": 1})
        rows = [
            ({"type": "AgentAction", "tool": "f", "tool_input": {"a": 1}}, action),
            (
                {"type": "AgentStep", "action": agentloop.to_json(action), "observation": None},
                agentloop.AgentStep(action, None),
            ),
            ({"type": "AgentFinish", "output": 3}, agentloop.AgentFinish(3)),
            ({"type": "AgentRun", "task": "go"}, agentloop.AgentRun("go")),
        ]
        for written, want in rows:
            self.assertEqual(agentloop.from_json({**written, "of a newer file": 1}), want)
            for name in set(written) - {"type"}:
                with self.subTest(written["type"], without=name), self.assertRaises(ValueError):
                    agentloop.from_json({k: v for k, v in written.items() if k != name})

    def test_refused(self):
        for value in (5, "x", None, {}, [], agentloop.Scripted([]), ValueError()):
            with self.subTest(repr(value)), self.assertRaises(TypeError):
                agentloop.to_json(value)
        good = agentloop.to_json(agentloop.AgentStep(agentloop.AgentAction("f", {}), 1))
        rows: List[Any] = [
            5, None, "x", [], {}, {"type": "Tool"}, {"type": ["AgentRun"]}, {"type": "AgentStep"},
            {"type": "Image", "media_type": "a/b", "data": 5}, {"type": "Image"},
            {k: v for k, v in good.items() if k != "observation"}, dict(good, action=7),
            dict(agentloop.to_json(agentloop.AgentRun("go")), steps=[5]),
            dict(agentloop.to_json(agentloop.AgentRun("go")), steps=None),
            dict(agentloop.to_json(agentloop.AgentRun("go")), steps=good),  # no list of them
            dict(agentloop.to_json(agentloop.AgentRun("go")), finish=[]),
            dict(agentloop.to_json(agentloop.AgentRun("go")), pending=[good]),  # no action
            dict(good, action=good),
        ]  # fmt: skip
        for value in rows:
            with self.subTest(repr(value)), self.assertRaises(ValueError):
                agentloop.from_json(value)

    def test_fields_of_a_wrong_kind_are_named(self):
        action = {"type": "AgentAction", "tool": "f", "tool_input": {}}
        step = {"type": "AgentStep", "action": action, "observation": 1}
        finish = {"type": "AgentFinish", "output": 1}
        run = {"type": "AgentRun", "task": "go"}
        rows = [
            (action, "tool", (5, None)), (action, "call_id", (7, None)),
            (action, "request", ("1", True, 1.0)),
            (step, "status", (5, None, "")), (finish, "reason", (5, None)),
            (run, "state", ("zzz", None, [])), (run, "requests", ("7", True, None)),
            (run, "started", ([1], "c1", None)), (run, "usage", ([1], {"input_tokens": "9"}, None)),
            (run, "steps", (None, {})),
        ]  # fmt: skip
        for good, name, values in rows:
            agentloop.from_json(good)
            for value in values:
                with self.subTest(name, value=value):
                    with self.assertRaisesRegex(ValueError, r"not what to_json wrote .*" + name):
                        agentloop.from_json(dict(good, **{name: value}))
        run["usage"] = {"cost": 0.25}  # a caller's own
        self.assertEqual(agentloop.from_json(run).usage, {"cost": 0.25})

    @_real_stack
    def test_nested_too_deeply(self):
        run = {"type": "AgentRun", "task": "go"}
        value: Any = []
        for _ in range(3000):
            run = {"type": "AgentRun", "task": "go", "history": [run]}
            value = [value]
        for document in (run, {"type": "AgentFinish", "output": value}):
            with self.assertRaises(ValueError):
                agentloop.from_json(document)

    def test_a_picture_without_its_media_type(self):
        """A field that is missing takes its default, unless the bytes say what they are."""
        for data, media_type in ((b"", "image/png"), (b"GIF89a", "image/gif")):
            document = agentloop.to_json(agentloop.Image(data))
            del document["media_type"]
            found = agentloop.from_json(document)
            self.assertEqual(found, agentloop.Image(data, media_type))


# == tools =========================================================================================

# -- what is wrong with arguments ------------------------------------------------------------------


class FaultTextTests(unittest.TestCase):
    """What a call that does not fit is answered: short, with paths and a way out."""

    def test_it_says_what_was_expected(self):
        ask = "args: expected one JSON object, got "
        whole, cut = "q" * 198, "q" * 199
        for given, text in (
            ("{", ask + '"{" (Expecting property name enclosed in double quotes: '),
            ({"x": threading.Lock()}, "(cannot be copied: TypeError)"),
            (whole, ask + '"%s" (' % whole), (cut, ask + '"%s ... (' % cut),
        ):  # fmt: skip
            self.assertIn(text, _step_of(_tool(""), given).observation)
        with warnings.catch_warnings():  # a stray backslash is no affair of the caller's
            warnings.simplefilter("error")
            step = _step_of(_tool("x: str"), "{'x': 'a\\d'}")
        self.assertEqual(step.observation, {"x": "a\\d"})
        told = _step_of(_tool("x: List[int]"), {"x": ["q"] * 60}).observation
        self.assertEqual((told.count("expected integer"), told[-13:]), (20, "; and 40 more"))
        step = _step_of(_tool("path: str, limit: int"), '{"path": "a"')
        for word in ('"path"', '"limit"', "JSON object"):
            self.assertIn(word, step.observation)
        step = _step_of(_tool("path: str"), "q" * 99999)
        self.assertLess(len(step.observation), 600)
        self.assertIn("qqq", step.observation)

    @unittest.skipUnless(_new_enough("3.9"), "Annotated is new in 3.9")
    def test_a_union_within_a_union(self):
        tool = _tool("x: List[Optional[Annotated[Union[int, bool], 'n']]]")
        text = _step_of(tool, {"x": [{}]}).observation
        self.assertIn("args.x[0]: expected integer or boolean or null, got {}", text)

    def test_what_a_refusal_advises(self):
        """Only what helps: that it must be JSON is said of a text that looks like it."""
        many = "Literal[%s]" % ", ".join("'é%02d'" % n for n in range(51))
        rows = [
            ("Dict[str, int]", "{'a': oops", "in braces it must be JSON", "known"),
            ("Dict[str, int]", "oops", "expected object", "in braces"),
            ("Dict[str, int]", 5, "expected object", "in braces"),
            ("List[int]", "[1, oops", "in brackets it must be JSON", "a single item"),
            ("List[int]", "oops", 'a single item is written ["oops"]', "in brackets"),
            ("List[int]", 5, "a single item is written [5]", "in brackets"),
            ("List[int]", (1, 2), "expected array, got [1, 2] (tuple)", "in brackets"),
            ("Colour", _Colour.RED, 'expected one of "r", "g", got r (_Colour)', "in brackets"),
            (many, "é00x", ', "é49", got "é00x", did you mean "é00"', "é50"),
            (many, 5, ', "é49", got 5', "did you mean"),
            ("Literal['512']", 51, 'expected one of "512", got 51', "did you mean"),
            ("Literal[True, 'a']", "truer", 'did you mean "true"?', "True"),
            # of a union, the alternative that was meant, where that can be told
            ("Optional[int]", {"a": 1}, "expected integer or null, got", "args.x."),
            ("Optional[Literal[1, 2]]", 3, "expected one of 1, 2, got 3", "integer"),
            ("Optional[Literal['a', 1]]", ["a"], 'expected one of "a", 1 or null, got', "object"),
            (
                "Optional[List[str]]",
                "a",
                'or null, got "a"; a single item is written ["a"]',
                "JSON",
            ),
            ("Optional[Dict[str, int]]", "{'a': 1}", "; in braces it must be JSON", "single"),
            ("Union[int, List[int]]", "x", 'expected integer or array, got "x"', "single"),
            ("Union[float, List[int]]", 10**400, "expected number, got", " or "),
            ("Union[Literal[1, 2], List[int]]", "x", "expected integer or array, got", "one of"),
            ("Union[Literal['a', 1], List[int]]", "b", 'expected one of "a", 1, got', " or "),
            ("Union[Literal['a'], int]", ["a"], "expected string or integer, got", "one of"),
            ("Union[Dict[str, int], Point]", {"x": 1, "z": "q"}, "args.x.z: expected int", " or "),
            ("Union[List[int], Point]", {"x": 1, "z": 2}, "args.x.z: unknown name", " or "),
            ("Union[Point, Item]", {"x": 1, "y": "q"}, "args.x.y: expected integer", "sku"),
            ("Union[Item, Stock]", {"qty": "q"}, "args.x.qty: expected integer", "sku"),
            ("Union[Node, int]", 1.5, "expected object or integer, got", "value"),
        ]
        for hint, value, told, untold in rows:
            with self.subTest(hint=hint[:20], value=value):
                text = _step_of(_tool("x: " + hint), {"x": value}).observation
                self.assertIn(told, text)
                self.assertNotIn(untold, text)

    def test_a_message_quotes_a_short_piece(self):
        step = _step_of(_tool("x: int"), {"x": "word " * 20000})
        self.assertLess(len(step.observation), 400)
        step = _step_of(_tool("x: int"), {"x": 1, "y" * 99999: 1})
        self.assertLess(len(step.observation), 400)
        step = _step_of(_tool("x: List[int]"), {"x": ["q"] * 9999})
        self.assertLess(len(step.observation), 1000)
        self.assertIn("args.x[19]", step.observation)
        self.assertTrue(step.observation.endswith("; and 9,979 more"), step.observation)

    def test_however_much_is_wrong_the_message_is_short(self):
        by_hand = {"required": ["r%d" % n for n in range(9000)], "properties": {},
                   "additionalProperties": False}  # fmt: skip
        many = {"\U0001f600%d" % n * 99: 1 for n in range(9000)}
        keys = {"properties": {"k%d" % n * 99: {} for n in range(999)}}
        wrong = {"n": {"a%d" % n: "q" for n in range(9000)}, "m": "q", **many}
        rows: List[Any] = [
            (_tool("n: int"), many, 9001), (agentloop.Tool("f", "", by_hand, print), many, 18000),
            (_tool("n: Dict[str, int], m: List[List[int]]"), wrong, 18001),
            (_tool("n: List[List[int]]"), {"n": [["q"] * 99] * 99}, 99 * 99),
            (_tool("n: int"), {"n": 1, "x" * 10**6: 1}, 1),
            (_tool("n: Range"), {"n": {"low": 2, "high": 1}}, 1),
            (agentloop.Tool("f", "", keys, print), "[1]", 0),
        ]  # fmt: skip
        for made, given, count in rows:
            with self.subTest(count):
                step = _step_of(made, given)
                self.assertEqual(step.status, "invalid_arguments")
                self.assertLess(len(step.observation.encode()), 4096)
                self.assertRegex(step.observation, "^args")
                more = re.search(r"and ([0-9,]+) more$", step.observation)
                shown = step.observation.count("; args") + 1
                if count:
                    rest = int(more[1].replace(",", "")) if more else 0
                    self.assertEqual(shown + rest, count)

    def test_nothing_is_listed_where_there_is_nothing(self):
        step = _step_of(_tool(""), {"x": 1})
        self.assertNotIn("known:", step.observation)

    def test_a_number_that_python_refuses_to_write(self):
        for annotation in ("str", "List[str]", "Literal[5]", "float"):
            value = [10**9999] if "List" in annotation else 10**9999
            step = _step_of(_tool("x: " + annotation), {"x": value})
            self.assertEqual(step.status, "invalid_arguments")


# -- types: a schema for the model, a conversion of what it sends ----------------------------------


class SchemaTests(unittest.TestCase):
    """The JSON Schema of an annotation."""

    def test_annotations(self):
        item = {"sku": {"type": "string", "description": "the product"}}
        item["qty"] = {"type": "integer", "description": "how many", "default": 1}
        item = _object(item, ["sku"], description="One line of an order.")
        note = dict(_either("string", "null"), default=None)
        order = _object({"id": {"type": "integer"}, "items": _array(item), "note": note}, ["id"])
        point = _object({"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}}, ["x"])
        film = _object(
            {"title": {"type": "string"}, "year": {"type": "integer"}}, ["title", "year"]
        )
        options = _object({"limit": {"type": "integer"}, "offset": {"type": "integer"}})
        derived = _object({"a": {"type": "string"}, "b": {"type": "string", "default": "q"}}, ["a"])
        pair = _object({"a": {"type": "integer"}, "b": {"type": "string", "default": "z"}}, ["a"])
        special = _object(
            {"x": {"type": "integer"}, "left": {"type": "integer", "default": 3}}, ["x"]
        )
        colours = {"type": "string", "enum": ["r", "g"]}
        flags = _object({"lo": {"type": "boolean"}, "hi": {"type": "boolean"}})
        rows = [
            ("int", {"type": "integer"}),
            ("float", {"type": "number"}),
            ("bool", {"type": "boolean"}),
            ("str", {"type": "string"}),
            ("None", {"type": "null"}),
            ("'int'", {"type": "integer"}),
            ("Optional[str]", _either("string", "null")),
            ("Union[str, bool]", _either("string", "boolean")),
            ("Union[None, bool, int]", _either("null", "boolean", "integer")),
            ("Union[int, Optional[List[int]]]", _either("integer", _array("integer"), "null")),
            ("Union[str, Any]", _any()),
            ("Any", _any()),
            ("object", _any()),
            ("Literal['north', 'south']", {"type": "string", "enum": ["north", "south"]}),
            ("Literal['one']", {"type": "string", "enum": ["one"]}),
            ("Literal[20, 10]", {"type": "integer", "enum": [20, 10]}),
            ("Literal[False]", {"type": "boolean", "enum": [False]}),
            ("Literal[None]", {"type": "null", "enum": [None]}),
            ("Literal['all', 5, True]", {"enum": ["all", 5, True]}),
            ("Literal[Colour.RED]", {"type": "string", "enum": ["r"]}),
            ("Optional[Literal['a']]", _either({"type": "string", "enum": ["a"]}, "null")),
            ("Optional[Literal['a', None]]", {"enum": ["a", None]}),
            ("Colour", colours),
            ("Level", {"type": "integer", "enum": [1, 2]}),
            ("Mode", {"type": "string", "enum": ["read", "write"]}),
            ("list", _array(_any())),
            ("List", _array(_any())),
            ("List[Any]", _array(_any())),
            ("List[str]", _array("string")),
            ("List[List[bool]]", _array(_array("boolean"))),
            ("List[Optional[str]]", _array(_either("string", "null"))),
            ("List[Dict[str, Any]]", _array("object")),
            ("tuple", _array(_any())),
            ("Tuple[str, ...]", _array("string")),
            ("Tuple[int, int, int]", _array("integer", minItems=3, maxItems=3)),
            ("Tuple[int, str]", _array(_either("integer", "string"), minItems=2, maxItems=2)),
            ("Set[int]", _array("integer")),
            ("set", _array(_any())),
            ("FrozenSet[str]", _array("string")),
            ("Sequence[str]", _array("string")),
            ("MutableSequence[str]", _array("string")),
            ("Iterable[bool]", _array("boolean")),
            ("Collection[str]", _array("string")),
            ("AbstractSet[str]", _array("string")),
            ("MutableSet[str]", _array("string")),
            ("dict", {"type": "object"}),
            ("Dict", {"type": "object"}),
            ("Dict[str, Any]", {"type": "object"}),
            ("Dict[Any, Any]", {"type": "object"}),
            ("Dict[str, str]", {"type": "object", "additionalProperties": {"type": "string"}}),
            ("Dict[int, bool]", {"type": "object", "additionalProperties": {"type": "boolean"}}),
            ("Dict[Literal['lo', 'hi'], bool]", flags),
            ("Dict[Level, str]", _object({"1": {"type": "string"}, "2": {"type": "string"}})),
            ("Mapping[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}),
            (
                "MutableMapping[str, int]",
                {"type": "object", "additionalProperties": {"type": "integer"}},
            ),
            ("datetime.date", {"type": "string", "format": "date"}),
            ("datetime.datetime", {"type": "string", "format": "date-time"}),
            ("UUID", {"type": "string", "format": "uuid"}),
            ("Path", {"type": "string"}),
            ("PurePath", {"type": "string"}),
            ("Decimal", {"type": "number"}),
            ("UserId", {"type": "integer"}),
            ("Film", film),
            ("Options", options),
            ("Pair", pair),
            ("Loose", _object({"u": _any(), "v": _any()}, ["u", "v"])),
            ("Point", point),
            ("Item", item),
            ("Order", order),  # inlined, no $defs; a default_factory is not called for a schema
            ("Derived", derived),
            ("Special", special),
            ("'Point'", point),
            ("List['Point']", _array(point)),
            ("List[Tuple[int, int]]", _array(_array("integer", minItems=2, maxItems=2))),
        ]
        newer = [
            ("3.9", "list[int]", _array("integer")),
            ("3.9", "dict[str, list[int]]",
             {"type": "object", "additionalProperties": _array("integer")}),
            ("3.9", "tuple[bool, ...]", _array("boolean")),
            ("3.9", "collections.abc.Sequence[int]", _array("integer")),
            ("3.9", "collections.abc.Mapping[str, int]",
             {"type": "object", "additionalProperties": {"type": "integer"}}),
            ("3.9", "Annotated[int, 'how many']", {"type": "integer", "description": "how many"}),
            ("3.9", "Annotated[int, 5]", {"type": "integer"}),
            ("3.9", "Annotated[int, 5, 'how many', 'x']",
             {"type": "integer", "description": "how many"}),
            ("3.9", "List[Annotated[str, 'a word']]",
             _array({"type": "string", "description": "a word"})),
            ("3.9", "Annotated[Point, 'where']", dict(point, description="where")),
            ("3.9", "Optional[Annotated[int, 'n']]",
             _either({"type": "integer", "description": "n"}, "null")),
            ("3.10", "int | None", _either("integer", "null")),
            ("3.10", "str | list[int] | None", _either("string", _array("integer"), "null")),
        ]  # fmt: skip
        for least, annotation, wanted in [("3.8", a, w) for a, w in rows] + newer:
            if _new_enough(least):
                with self.subTest(annotation):
                    _check_schema(self, _tool("x: " + annotation), {"x": wanted}, ["x"])


class ConversionTests(unittest.TestCase):
    """What the arguments of a call become: another spelling, never another shape, nothing lost."""

    def test_scalars(self):
        whole, number, flag, text = map(_bad, ("integer", "number", "boolean", "string"))
        null = _bad("null")
        _check_conversions(self, {
            "int": [
                (7, 7), (0, 0), (-3, -3), (10**40, 10**40), ("8", 8), (" -12\n", -12), ("+4", 4),
                (6.0, 6), (-2.0, -2), ("2.0", 2), (" -7.000 ", -7),
                (2.5, whole), ("2.5", whole), ("2.", whole), ("2.01", whole), ("", whole), (" ", whole),
                ("1_000", whole),
                ("1,000", whole), ("0x1f", whole), ("٤", whole), ("one", whole), ("1e3", whole),
                (True, whole),
                (None, whole), ([1], whole), ({"x": 1}, whole), (1e400, whole),
                (float("nan"), whole),
                ("9" * 99999, whole), ("7" * 500, int("7" * 500)), ("5\n5", whole),
            ],
            "float": [
                (1.5, 1.5), (4, 4.0), (-0.0, -0.0), ("4", 4.0), (" .5 ", 0.5), ("-1e-3", -0.001),
                ("1.", 1.0),
                ("", number), ("nan", number), ("-inf", number), ("Infinity", number),
                ("1_0.0", number),
                ("1,5", number), ("half", number), (True, number), (None, number), ([1.5], number),
                (10**400, number), ((1 << 1024) - 1, number), ((1 << 1023) - 1, float(1 << 1023)),
                ("1e999", number), (float("inf"), number),
                (float("nan"), number), ("٤", number),
            ],
            "bool": [
                (True, True), (False, False), ("true", True), ("False", False), (" TRUE ", True),
                (1, True), (0, False),
                ("yes", flag), ("on", flag), ("0", flag), ("1", flag), (2, flag), (-1, flag),
                (1.0, flag), ("", flag),
                (None, flag), ([], flag), ({}, flag),
            ],
            "str": [
                ("a", "a"), ("", ""), ("null", "null"), ("7", "7"), ('{"a": 1}', '{"a": 1}'),
                (" a ", " a "), ("😀", "😀"),
                ("\ud800", "\ud800"), (7, "7"), (-(10**30), str(-(10**30))),
                ((1 << 9999) - 1, str((1 << 9999) - 1)), (1 << 9999, text),
                (1.5, text), (2.0, text), (True, text), (None, text), (["a"], text),
                ({"a": 1}, text),
            ],
            "None": [(None, None), ("null", None), ("None", None), (" NULL ", None), (False, null),
             ("", null), (0, null)],
            "Any": [(v, v) for v in (None, True, 1, 1.5, "5", [1, {"a": None}], {"a": [1]})],
            "object": [(v, v) for v in (None, "null", [[]])],
            "UserId": [("5", 5), ("x", whole)],
        })  # fmt: skip

    def test_containers(self):
        array, obj = _bad("array"), _bad("object")
        _check_conversions(self, {
            "list": [([1, "a", None], [1, "a", None]), ([], []), ("[1]", [1]), ("a,b", array),
             (None, array), ({}, array)],
            "List[int]": [
                ([1, 2], [1, 2]), (["1", 2.0], [1, 2]), ([], []), (' ["1"] ', [1]),
                (5, _bad("array", "[5]")),
                ("5", array), ("[1, 'q']", _bad("array", "JSON")), ("[1", array), ("{}", array),
                ('"[1]"', array),
                ("[NaN]", array), ([True], _bad("integer", at="args.x[0]")),
                (["q", 1, 2.5, None],
                 _bad("integer", at=["args.x[0]", "args.x[2]", "args.x[3]"])),
            ],
            "List[str]": [
                (["a", 1], ["a", "1"]), ('["a"]', ["a"]), ("a", _bad("array", '["a"]')),
                ("[draft] notes", array),
                ([["a"]], _bad("string", at="args.x[0]")),
            ],
            "List[List[int]]": [([["1"], "[2]"], [[1], [2]]),
             ([[1], ["q"]], _bad("integer", at="args.x[1][0]"))],
            "List[Optional[int]]": [([1, None, "null"], [1, None, None])],
            "List[float]": [
                ([0.5, 2.5], [0.5, 2.5]), ([1, 0.5], [1.0, 0.5]),
                ([0.5, float("inf")], _bad("number", at="args.x[1]")),
            ],
            "List[bool]": [([True, "false", 1], [True, False, True]),
             (["yes"], _bad("boolean", at="args.x[0]"))],
            "Tuple[int, str]": [
                ([1, "a"], (1, "a")), (["1", 2], (1, "2")), ('[1, "a"]', (1, "a")),
                ([1], _bad("array", "2")),
                ([1, "a", 3], _bad("2")), (["q", "a"], _bad("integer", at="args.x[0]")),
                (["q", None], _bad(at=["args.x[0]", "args.x[1]"])), ({}, array),
            ],
            "Tuple[int, ...]": [([1, "2"], (1, 2)), ([], ()),
             ([1, "q"], _bad("integer", at="args.x[1]")), (4, array)],
            "tuple": [([1, "a"], (1, "a"))],
            "Tuple[()]": [([], ()), ([1], _bad("0 items"))],
            "Set[str]": [(["a", "a"], {"a"}), ('["a"]', {"a"}),
             ([[1]], _bad("string", at="args.x[0]")), ("a", array)],
            "Set[Any]": [([1, 1], {1}), ([[1]], _bad("set"))],
            "set": [(["a"], {"a"})],
            "FrozenSet[int]": [(["3"], frozenset([3])),
             ([1.5], _bad("integer", at="args.x[0]"))],
            "Sequence[int]": [(["1"], [1]), ("12", array),
             ([None], _bad("integer", at="args.x[0]"))],
            "Iterable[int]": [(["1"], [1]), ("12", array)],
            "AbstractSet[int]": [(["1"], {1})],
            "dict": [
                ({"a": [1]}, {"a": [1]}), ('{"a": 1}', {"a": 1}), ("a=1", obj), ([["a", 1]], obj),
                (None, obj),
                ("{'a': 1}", _bad("object", "JSON")), ("[1]", obj),
            ],
            "Dict[str, int]": [
                ({"a": "1", "b": 2.0}, {"a": 1, "b": 2}), ({}, {}), ([1], obj),
                ({"a": "q", "b": 1, "c": 1.5}, _bad("integer", at=["args.x.a", "args.x.c"])),
                ({"a b": "q"}, _bad("integer", at='args.x["a b"]')),
                ({"": None}, _bad("integer", at='args.x[""]')),
                ({'a"b\n': "q"}, _bad("integer", at="args.x[\"a'b\\n\"]")),
                ({"ü": "q"}, _bad(at="args.x.ü")),
            ],
            "Dict[int, str]": [
                ({"1": "a", " -2 ": 3}, {1: "a", -2: "3"}),
                ({"q": "a"}, _bad("integer", at="args.x.q")),
                ({"q": "a", "r": "b"}, _bad("integer", at=["args.x.q", "args.x.r"])),
                ({"1": "a", " 1": "b"}, _bad("distinct")),
                ({"1": 1.5}, _bad("string", at='args.x["1"]')),
            ],
            "Dict[Literal['lo', 'hi'], int]": [
                ({"lo": "1"}, {"lo": 1}), ({}, {}), ({"q": 1}, _bad("lo", at="args.x.q")),
            ],
            "Dict[str, List[float]]": [
                ({"a": [1, "2"], "b": "[3]"}, {"a": [1.0, 2.0], "b": [3.0]}),
                ({"a": [1, "q"]}, _bad("number", at="args.x.a[1]")),
            ],
            "Dict[str, Any]": [({"a": None}, {"a": None}), ({}, {})],
            "Mapping[str, bool]": [({"a": "true"}, {"a": True})],
        })  # fmt: skip

    def test_records(self):
        item, point = _Item, _Point
        _check_conversions(self, {
            "Item": [
                ({"sku": "a"}, item("a")), ({"sku": 7, "qty": "2"}, item("7", 2)),
                ('{"sku": "a"}', item("a")),
                ({"sku": "a", "qty": None}, item("a")),  # may be left out, takes no null: not given
                ({"sku": "a", "qty": "two"}, _bad("integer", at="args.x.qty")),
                ({"sku": "a", "quantity": 2}, _bad("qty", at="args.x.quantity")),
                ({"sku": "a", "qyt": 2}, _bad('did you mean "qty"', at="args.x.qyt")),
                ({"sku": None}, _bad("string", at="args.x.sku")),
                ({}, _bad("missing", at="args.x.sku")),
                ({"Sku": "a"}, _bad("missing", 'did you mean "sku"',
                  at=["args.x.Sku", "args.x.sku"])),
                (["a", 2], _bad("object")), (None, _bad("object")), ("a", _bad("object")),
            ],
            "Order": [
                ({"id": "1", "items": [{"sku": "a"}], "note": None}, _Order(1, [item("a")])),
                ({"id": 1, "items": '[{"sku": "a", "qty": 2}]'}, _Order(1, [item("a", 2)])),
                ({"id": 1, "items": [{"sku": "a"}, {"sku": "b"}, {"sku": "c", "qty": "many"}]},
                 _bad('expected integer, got "many"', at="args.x.items[2].qty")),
                ({"id": "q", "items": [{"qty": 1}], "nots": 1},
                 _bad("note", at=["args.x.id", "args.x.items[0].sku", "args.x.nots"])),
                ({"id": 1, "items": {"sku": "a"}}, _bad("array", at="args.x.items")),
                ({"id": 1, "items": [None]}, _bad("object", at="args.x.items[0]")),
            ],
            "Range": [
                ({"low": 1, "high": "2"}, _Range(1, 2)),
                ({"low": 3, "high": 2}, _bad("low is above high")),
                ({"low": "q", "high": 2}, _bad("integer", at="args.x.low")),
            ],
            "List[Range]": [([{"low": 3, "high": 2}],
              _bad("low is above high", at="args.x[0]"))],
            "Optional[Range]": [({"low": 3, "high": 2}, _bad("low is above high"))],
            "Silent": [({"x": 1}, _bad("RuntimeError"))],
            "Derived": [({"a": "s"}, _Derived("s", "q"))],
            "Special": [
                ({"x": "1", "left": 4}, _Special(1, 4)), ({"x": 1, "norm": 2.0}, _bad(at="args.x.norm")),
                ({"x": 1, "kind": "q"}, _bad(at="args.x.kind")),
                ({"x": 1, "left": 3.5}, _bad("integer", at="args.x.left")),
            ],
            "Film": [
                ({"title": "A", "year": "1999"}, {"title": "A", "year": 1999}),
                ('{"title": "A", "year": 1}', {"title": "A", "year": 1}),
                ({"title": "A", "year": 1, "yeer": 2},
                 _bad('did you mean "year"', at="args.x.yeer")),
                ({"title": None}, _bad(at=["args.x.title", "args.x.year"])),
                ("A", _bad("object")),
                ([1, 2], _bad("object")),
            ],
            "Options": [({}, {}), ({"limit": "3"}, {"limit": 3}), ({"limit": None}, {})],
            "Pair": [
                ({"a": "1"}, _Pair(1)), ([1], _Pair(1)), (["1", 2], _Pair(1, "2")),
                ("[1]", _bad("object")),
                (["q"], _bad("integer", at="args.x.a")), ([], _bad("missing", at="args.x.a")),
                ([1, "b", 3], _bad("object")), ({"a": 1, "c": 2}, _bad(at="args.x.c")),
            ],
            "Loose": [({"u": 1, "v": [None]}, _Loose(1, [None]))],
            "Dict[str, Point]": [({"p": {"x": 1}}, {"p": point(1)}),
             ({"p": {}}, _bad(at="args.x.p.x"))],
        })  # fmt: skip

    def test_a_class_that_is_made_in_its_own_way(self):
        """A __new__ or a metaclass that takes anything: the fields are those of __init__."""
        rows = [
            "class C:\n    n: int\n    def __new__(cls, *args, **named): return super().__new__(cls)",
            "class C(typing.Generic[AnyStr]):\n    n: int",  # on Python 3.8 it has such a __new__
            "class C(metaclass=Once):\n    n: int",
        ]
        head = (
            "import typing\nclass Once(type):\n"
            "    def __call__(cls, *args, **named): return super().__call__(*args, **named)\n"
            "@dataclasses.dataclass\n"
        )
        for source in rows:
            with self.subTest(source):
                tool = _source(head + source + "\ndef tool(x: C): return x.n")
                self.assertEqual(_step_of(tool, {"x": {"n": "5"}}).observation, 5)

    def test_choices(self):
        red, green = _Colour
        _check_conversions(self, {
            "Literal['north', 'south']": [
                ("south", "south"), (" SOUTH ", "south"),
                ("norht", _bad('"north"', '"south"', 'did you mean "north"')),
                ("up", _bad('"north"', '"south"')), ("", _bad("north")), (1, _bad()),
                (None, _bad()),
                (["north"], _bad()), ({}, _bad()),
            ],
            "Literal['a', 'A']": [("a", "a"), ("A", "A"), (" a", _bad())],
            "Literal[10, 20]": [(20, 20), ("10", 10), (20.0, 20), (15, _bad("10, 20")),
             (None, _bad()), (True, _bad())],
            "Literal[0, 1]": [(1, 1), (True, _bad()), ("true", _bad())],
            "Literal['7', '8']": [("7", "7"), (8, "8"), (8.0, "8"), (9, _bad()),
             (7.5, _bad())],
            "Literal['1', 1]": [("1", "1"), (1, 1), (" 1", _bad())],
            "Literal['all', 0]": [("ALL", "all"), ("0", 0), (0, 0), (False, _bad())],
            "Literal[True]": [(True, True), ("true", True), (False, _bad("true")),
             (1, _bad())],
            "Literal['a', None]": [(None, None), ("a", "a"), ("null", None), ("None", None)],
            "Literal[Colour.RED]": [("r", red), ("g", _bad("r"))],
            "Colour": [
                ("r", red), ("RED", red), (" green ", green), ("G", green),
                ("b", _bad('"r"', '"g"')),
                (None, _bad()), (["r"], _bad()),
            ],
            "Level": [
                (2, _Level.HIGH), ("1", _Level.LOW), (2.0, _Level.HIGH),
                ("high", _Level.HIGH),
                (True, _bad()), (3, _bad("1, 2")),
            ],
            "Mode": [("write", _Mode.WRITE), ("READ", _Mode.READ)],
            "Swapped": [("A", _Swapped.B), ("B", _Swapped.A), ("a", _bad())],
        })  # fmt: skip

    def test_an_alias_in_an_enum(self):
        class Colour(enum.Enum):
            RED = "red"
            ROT = "red"  # noqa: PIE796

        def paint(colour: Colour):
            return colour

        for given in ("red", "RED", "Rot"):
            self.assertIs(_step_of(paint, {"colour": given}).observation, Colour.RED)
        self.assertEqual(
            agentloop.tool(paint).parameters["properties"]["colour"],
            {"type": "string", "enum": ["red"]},
        )

    def test_unions(self):
        shape = {"kind": "circle", "radius": 2}
        _check_conversions(self, {
            "Optional[int]": [
                (None, None), (5, 5), ("5", 5), ("null", None), ("None", None),
                ("", _bad("integer")),
                ("five", _bad("integer")), (1.5, _bad("integer")),
                ([], _bad("integer", "null")),
            ],
            "Optional[str]": [(None, None), ("null", "null"), ("", ""), (5, "5"),
             (True, _bad("string"))],
            "Optional[bool]": [(None, None), (0, False), ("true", True),
             ("perhaps", _bad("boolean"))],
            "Optional[Literal['a', None]]": [(None, None), ("A", "a"), ("b", _bad())],
            "Optional[Any]": [(None, None), ("5", "5")],
            "Optional[List[int]]": [
                (None, None), ("null", None), (["1"], [1]), ("[1]", [1]), (3, _bad("array")),
                (["q"], _bad("integer", at="args.x[0]")),
            ],
            # every alternative exactly, before any is tried leniently
            "Union[int, str]": [
                (5, 5), ("5", "5"), (5.0, 5), ("x", "x"), (True, _bad("integer", "string")),
                (None, _bad()),
            ],
            "Union[str, int]": [("5", "5"), (5, 5), (1.5, _bad())],
            "Union[int, float]": [(5, 5), (5.0, 5.0), ("5", 5), ("5.5", 5.5),
             ("x", _bad("integer", "number"))],
            "Union[float, int]": [(5, 5), (5.5, 5.5)],
            "Union[bool, int]": [(1, 1), (True, True), ("true", True), ("7", 7)],
            "Union[int, bool]": [(True, True), (0, 0), ("false", False)],
            "Union[bool, str]": [("true", "true"), (False, False), (1, True)],
            "Union[float, None, str]": [(None, None), ("null", "null"), ("1.5", "1.5")],
            # exactly, a text is a text
            "Union[List[int], str]": [("[1]", "[1]"), ([1], [1])],
            "Union[Decimal, str]": [("1.5", "1.5"), (1.5, decimal.Decimal("1.5"))],
            "Union[Literal['a'], str]": [("A", "A"), ("a", "a")],
            "Union[str, List[str]]": [
                ("a", "a"), ('["a"]', '["a"]'), ([1], ["1"]),
                ([None], _bad("string", at="args.x[0]")),
            ],
            "Union[List[int], Dict[str, int]]": [
                ([1], [1]), ({"a": "2"}, {"a": 2}), ("[1]", [1]), ('{"a": "2"}', {"a": 2}),
                ([1.5], _bad("integer", at="args.x[0]")),
                ('["q"]', _bad("integer", at="args.x[0]")),
                ({"a": "q"}, _bad("integer", at="args.x.a")), (3, _bad("array", "object")),
            ],
            "Union[datetime.date, str]": [
                ("2024-01-31", datetime.date(2024, 1, 31)), ("tomorrow", "tomorrow"),
                (" 2024-01-31 ", " 2024-01-31 "),
            ],
            "Union[Circle, Square]": [
                (shape, _Circle("circle", 2.0)),
                ({"kind": "square", "side": "3"}, _Square("square", 3.0)),
                (json.dumps(shape), _Circle("circle", 2.0)),
                ({"kind": "square", "side": "q"}, _bad("number", at="args.x.side")),
                ({"kind": "square"}, _bad("missing", at="args.x.side")),
                ({"kind": "square", "side": 1, "r": 2}, _bad("unknown", at="args.x.r")),
                ({"kind": "square", "side": "q", "r": 2}, _bad(at=["args.x.r", "args.x.side"])),
                (5, _bad("object")), ([], _bad()),
            ],
            "Union[Point, Item]": [
                ({"sku": "a"}, _Item("a")), ({"x": "1"}, _Point(1)),
                ({"z": 3}, _bad("object")),
                ({"x": 1, "sku": "a"}, _bad("object")),
            ],
            "Union[Node, int]": [
                ({"value": 1}, _Node(1)), (3, 3), ("3", 3), ([], _bad("object", "integer")),
                ({"value": "z"}, _bad("integer", at="args.x.value")),
            ],
            "Union[Literal['a', 'b'], int]": [
                ("b", "b"), (7, 7), ("7", 7), ("A", "a"),
                ("c", _bad('"a", "b"')), (1.5, _bad("string", "integer")), (True, _bad()),
            ],
            "Union[Literal[1, 2], List[int]]": [
                (2, 2), ("2", 2), ([3], [3]), (5, _bad("one of 1, 2")), (None, _bad()),
            ],
            "Union[List[Union[int, bool]], List[str]]": [(["5"], ["5"]), ([5, True], [5, True])],
            "Union[str, Path]": [("", ""), ("a", "a")],
            "Union[Path, None]": [("a", pathlib.Path("a")), ("", _bad("path")), (None, None)],
            "Union[datetime.datetime, datetime.date]": [
                ("2024-01-31", datetime.date(2024, 1, 31)),  # exactly, before leniently
                ("2024-01-31T00:00:00", datetime.datetime(2024, 1, 31)),
            ],
            "List[Optional[int]]": [([1, None], [1, None]), (["1", "null"], [1, None])],
            "Union[Dict[str, int], Point]": [
                ({"y": 2}, {"y": 2}), ({"x": 1}, {"x": 1}),
                ({"z": "q"}, _bad("integer", at="args.x.z")),
            ],
        })  # fmt: skip

    def test_a_recursive_union_costs_what_its_text_costs(self):
        """Each part is converted once, however many ways there are to read what holds it."""
        source = """
@dataclasses.dataclass
class And:
    left: "Term"
    right: "Term"
    op: Literal["and"] = "and"
@dataclasses.dataclass
class Or:
    left: "Term"
    right: "Term"
    op: Literal["or"] = "or"
@dataclasses.dataclass
class Not:
    left: "Term"
    right: "Term"
    reason: str = ""
Term = Union[And, Or, Not, int]
def tool(x: Term): return x
"""
        made = _source(source)
        bottoms = [
            (1, "ok"),
            ("1", "ok"),
            ("q", "args.x"),
            (None, "args.x"),
            ({"left": 1}, "args.x"),
        ]
        for tag in (
            {}, {"op": "or"}, {"op": "AND"}, {"op": "xor"}, {"reason": 5}, {"reason": None},
        ):  # fmt: skip
            for bottom, text in bottoms:
                value = bottom
                for _ in range(40):  # tried anew at each level it would take 2**40 visits
                    value = {"right": "2", "left": value, **tag}
                step = _step_of(made, {"x": json.loads(json.dumps(value))})
                expected = "args.x" if tag == {"op": "xor"} else text
                self.assertEqual(step.status == "ok", expected == "ok", step.observation)
                if tag == {"op": "or"} and text != "ok":
                    self.assertIn("args.x" + ".left" * 40, step.observation)

    def test_what_was_converted_once_is_used_again(self):
        """The alternatives differ in a field that comes after what they share."""
        source = """
@dataclasses.dataclass
class Number:
    below: "Term"
    n: int
@dataclasses.dataclass
class Word:
    below: "Term"
    n: str
Term = Union[Number, Word, int]
def tool(x: Term): return x
"""
        made = _source(source)
        value: Any = 1
        for level in range(40):
            value = {"below": value, "n": "word" if level % 2 else level}
        found = _step_of(made, {"x": json.loads(json.dumps(value))}).observation
        for level in reversed(range(40)):
            self.assertEqual(found.n, "word" if level % 2 else level)
            self.assertEqual(type(found).__name__, "Word" if level % 2 else "Number")
            found = found.below
        self.assertEqual(found, 1)

    @_real_stack
    def test_deep_arguments(self):
        value: Dict[str, Any] = {"value": "z"}
        for _ in range(60):  # re-running the children at each level would take 2**60 visits
            value = {"value": 1, "children": [value]}
        step = _step_of(_tool("x: Union[Node, int]"), {"x": value})
        self.assertIn("args.x" + ".children[0]" * 60 + ".value: expected integer", step.observation)
        chain: Any = 1
        for levels, text in ((400, "args: nested too deeply"), (5000, "args: expected one JSON")):
            for _ in range(levels):
                chain = {"next": chain}
            step = _step_of(_tool("x: Chain"), {"x": chain})
            self.assertEqual((step.status, step.observation[:23]), ("invalid_arguments", text[:23]))

    @_real_threads
    def test_texts_in_texts_are_as_deep_as_one_text(self):
        made = _tool("x: Union[Node, int]", body="return None")
        value: Any = {"value": 1}
        statuses = []
        for _ in range(10):  # each text holds objects in lists, in the innermost the next text
            for _ in range(14):
                value = {"value": 1, "children": [value]}
            value = json.dumps(value)
            given = json.dumps({"x": value})
            statuses.append(_on_small_stack(lambda given=given: _step_of(made, given).status))
        self.assertEqual(statuses, ["ok"] * 4 + ["invalid_arguments"] * 6)

    def test_one_text_given_twice_becomes_two_lists(self):
        made = _tool("x: Union[List[Optional[List[int]]], int]")
        text = "[1]"
        first, second = _step_of(made, {"x": [text, text]}).observation["x"]
        self.assertEqual((first, second), ([1], [1]))
        self.assertIsNot(first, second)

    def test_texts_in_texts_of_a_recursive_union(self):
        """Each place is read once, however many alternatives may be written there as a text."""
        source = """
@dataclasses.dataclass
class And:
    below: "Term"
    tag: str = "and"
@dataclasses.dataclass
class Or:
    below: "Term"
    tag: str = "or"
    last: int = 0
Term = Union[And, Or, int]
def tool(x: Term): return x
"""
        made = _source(source)
        for bottom, status in ((1, "ok"), (None, "invalid_arguments")):
            value: Any = bottom
            for _ in range(11):  # read anew for each alternative it would take 4**11 visits
                value = json.dumps({"below": value, "last": 1})
            step = _step_of(made, {"x": value})
            self.assertEqual(step.status, status, step.observation)
        self.assertIn("args.x" + ".below" * 11, step.observation)

    def test_keys_whose_type_is_a_union(self):
        """What one key became says nothing of another, and nothing of its value."""
        name = "Union[Path, PurePath]"
        made = _tool("x: Union[Dict[%s, %s], int]" % (name, name))
        step = _step_of(made, {"x": {"a": "b", "b": "c"}})
        a, b, c = map(pathlib.Path, "abc")
        self.assertEqual(step.observation, {"x": {a: b, b: c}})

    def test_the_nearest_alternative_has_the_tag(self):
        """However many names are wrong: a tag counts before them."""
        names = "".join("    n%d: int\n" % n for n in range(60))
        source = """
@dataclasses.dataclass
class Wide:
    kind: Literal["wide"]
%s
@dataclasses.dataclass
class Narrow:
    kind: Literal["narrow"]
def tool(x: Union[Wide, Narrow]): return x
"""
        step = _step_of(_source(source % names), {"x": {"kind": "wide"}})
        self.assertIn("args.x.n0: missing", step.observation)
        self.assertIn("and 40 more", step.observation)

    def test_a_null_is_no_wrong_tag(self):
        """Where a field has a default, null stands for it, and says nothing of the other class."""
        source = """
@dataclasses.dataclass
class Counted:
    n: int
    kind: Literal["counted"] = "counted"
@dataclasses.dataclass
class Named:
    kind: Literal["named"]
    s: str
def tool(x: Union[Counted, Named]): return x
"""
        step = _step_of(_source(source), {"x": {"kind": None, "n": "many"}})
        self.assertIn("args.x.n: expected integer", step.observation)


# -- types that JSON has as text or a number -------------------------------------------------------


class TextFormTests(unittest.TestCase):
    """Dates, times, durations, UUIDs, paths and decimals, from the text that a model writes."""

    def test_a_long_text_is_read_in_one_pass(self):
        n = 100_000
        texts = ["1" * n, "1" * n + ":00:00x", "1:00:00." + "1" * n, "P" + "1" * n, " " * n + "x"]
        for kind in ("datetime.timedelta", "datetime.datetime", "datetime.time", "datetime.date",
                     "Decimal", "UUID"):  # fmt: skip
            for text in texts:
                if kind == "Decimal" and text == "1" * n:
                    continue  # it is a number
                with self.subTest("%s: %s" % (kind, text[:10])), _at_once(self):
                    _check(self, _step_of(_tool("x: " + kind), {"x": text}), _bad())

    def test_values_written_as_text(self):
        huge: Any = _bad("number")
        if sys.implementation.name != "cpython":
            huge = decimal.Decimal("1e99999999999999999999")
        utc = datetime.timezone.utc
        day, when = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 9, 30)
        name = "12345678-1234-5678-1234-567812345678"
        bad = _bad()
        _check_conversions(self, {
            "datetime.date": [
                ("2024-01-31", day), (" 2024-01-31 ", day), ("2024-01-31T00:00:00", day),
                ("2024-01-31 00:00", day), ("2024-01-31t00:00:00.000 ", day),
                ("2024-01-31T00:00:01", bad), ("2024-01-31T00:00:00Z", bad),  # something is lost
                ("2024-02-30", bad), ("20240131", bad),
                ("31/01/2024", bad), ("2024-W05-3", bad), (1706659200, bad), ("", bad), (None, bad),
                ("today", _bad("date")),
            ],
            "datetime.datetime": [
                ("2024-01-31T09:30:00", when), ("2024-01-31 09:30", when),
                ("2024-01-31T09:30:45", when.replace(second=45)),
                ("2024-01-31t09:30:00z", when.replace(tzinfo=utc)),
                ("2024-01-31T09:30:00Z", when.replace(tzinfo=utc)),
                ("2024-01-31", datetime.datetime(2024, 1, 31)),
                ("2024-01-31T09:30:00-05:00",
                 when.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=5)))),
                ("2024-01-31T09:30:00.5Z", when.replace(tzinfo=utc, microsecond=500000)),
                ("2024-01-31T09:30:00.123456", when.replace(microsecond=123456)),
                ("2024-01-31T09:30:00+0200",
                 when.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))),
                ("2024-01-31T09:30+02",
                 when.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))),
                ("2024-01-31T25:00:00", bad), ("2024-01-31x09:30", bad),
                ("2024-01-31T09:30:00+25:00", bad), ("2024-01-31T09:30:00+02:75", bad),
                ("1706693400", bad), (1706693400, bad), ("", bad), (None, bad),
                ("now", _bad("date")), ("2024-13-01", bad),
            ],
            "datetime.time": [
                ("09:30:00", when.time()), ("09:30", when.time()), (" 09:30 ", when.time()),
                ("09:30:00Z", when.time().replace(tzinfo=utc)),
                ("09:30:45.25", datetime.time(9, 30, 45, 250000)),
                ("25:00", bad), ("09:60", bad), ("9:30", bad), ("09:30 AM", bad), (570, bad),
                ("2024-01-31T09:30:00", bad), ("", bad), (None, bad), ("noon", _bad("time")),
            ],
            "datetime.timedelta": [
                ("PT90S", datetime.timedelta(seconds=90)),
                ("P1DT2H", datetime.timedelta(days=1, hours=2)),
                ("P2W", datetime.timedelta(weeks=2)), ("-PT5M", -datetime.timedelta(minutes=5)),
                ("+P1D", datetime.timedelta(days=1)), (" PT1H ", datetime.timedelta(hours=1)),
                ("PT1.5S", datetime.timedelta(seconds=1.5)),
                ("01:30:00", datetime.timedelta(minutes=90)), (90, datetime.timedelta(seconds=90)),
                ("00:00:01.25", datetime.timedelta(seconds=1.25)),
                ("-01:30:00", -datetime.timedelta(minutes=90)), ("1 01:30:00", bad),
                (-1.5, datetime.timedelta(seconds=-1.5)),
                ("2 hours", _bad("duration")), ("P", bad), ("PT", bad), ("P1DT", bad), ("", bad),
                ("P1Y", bad), ("P1M", bad), ("90", bad), (True, bad), (None, bad), (1e300, bad),
                (float("nan"), bad), ("P999999999W", bad), ("PT" + "9" * 99 + "S", bad),
            ],
            "UUID": [
                (name, uuid.UUID(name)), (name.replace("-", ""), uuid.UUID(name)),
                ("not-one", _bad("UUID")), (5, _bad("UUID")),
            ],
            "Path": [("/etc", pathlib.Path("/etc")), ("~/x", pathlib.Path("~/x")), (5, bad),
             (" a ", pathlib.Path(" a ")), ("", _bad("path")), (None, bad), (["a"], bad)],
            "PurePath": [("a/b", pathlib.PurePath("a/b"))],
            "Decimal": [
                ("19.90", decimal.Decimal("19.90")), (19.9, decimal.Decimal("19.9")),
                (0.1, decimal.Decimal("0.1")), ("one", _bad("number")),
                (5, decimal.Decimal(5)), (" 1 ", decimal.Decimal(1)), ("Infinity", bad),
                ("1e99999999999999999999", huge),  # CPython raises, and no ValueError
                ("1,5", bad), (True, bad), (None, bad), ("1e99999999", decimal.Decimal("1e99999999")),
                (float("inf"), bad),
            ],
        })  # fmt: skip

    def test_dates_and_times_on_every_python(self):
        zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
        rows: List[Any] = [
            ("datetime.datetime", "2024-01-31 09:30:45.5-0530",
             datetime.datetime(2024, 1, 31, 9, 30, 45, 500000, zone)),
            ("datetime.time", "09:30-05:30", datetime.time(9, 30, tzinfo=zone)),
            ("datetime.time", "T09:30", None), ("datetime.time", "0930", None),
            ("datetime.datetime", "09:30:00", None), ("datetime.datetime", "20240131T0930", None),
            ("datetime.datetime", "2024-01-31T09:30:00.1234567", None),
            ("datetime.timedelta", "01:30", None),
        ]  # fmt: skip
        for hint, text, want in rows:
            with self.subTest(text):
                step = _step_of(_tool("x: " + hint), {"x": text})
                if want is None:
                    self.assertEqual(step.status, "invalid_arguments")
                else:
                    self.assertEqual(step.observation, {"x": want})

    def test_a_long_text_costs_one_pass(self):
        names = ["int", "float", "bool", "None", "datetime.date", "datetime.datetime", "UUID"]
        for hint in [*names, "datetime.time", "datetime.timedelta", "Decimal"]:
            with self.subTest(hint):
                tool = _tool("x: " + hint)
                start = time.process_time()
                for piece in ("1", " ", "1:", "P1", " 00:00"):
                    step = _step_of(tool, {"x": piece * 50_000 + "x"})
                    self.assertEqual(step.status, "invalid_arguments")
                self.assertLess(time.process_time() - start, 2)


# -- constraints -----------------------------------------------------------------------------------


class _Limits:
    """Metadata as annotated-types and pydantic have it: the limits are attributes."""

    def __init__(self, **limits):
        self.__dict__.update(limits)


class _Closed:
    """Metadata of somebody else, that cannot be looked at."""

    def __getattr__(self, name):
        raise RuntimeError(name)


@unittest.skipUnless(_new_enough("3.9"), "there is no Annotated")
class ConstraintTests(unittest.TestCase):
    """Limits in the metadata of an Annotated are shown to the model and checked."""

    def test_limits(self):
        integer, number, text = ({"type": word} for word in ("integer", "number", "string"))
        day = datetime.date(2024, 1, 31)
        utc = datetime.timezone.utc
        rows = [
            (int, [{"ge": 1}, {"le": 10}], {**integer, "minimum": 1, "maximum": 10}, [
                (1, 1), ("10", 10), (0, _bad("at least 1")), (11, _bad("at most 10")),
                ("q", _bad("integer")),
            ]),
            (float, [{"gt": 0, "lt": 1.5}], {**number, "exclusiveMinimum": 0, "exclusiveMaximum": 1.5}, [
                (0.5, 0.5), (1, 1.0), (0, _bad("above 0")), (1.5, _bad("below 1.5")),
            ]),
            (int, [{"multiple_of": 5}], {**integer, "multipleOf": 5}, [(10, 10), (7, _bad("multiple of 5"))]),
            (float, [{"multiple_of": 0.1}], {**number, "multipleOf": 0.1}, [(0.3, 0.3), (0.35, _bad())]),
            (int, [{"multiple_of": 0.5}], {**integer, "multipleOf": 0.5}, [(3, 3), (10**400, _bad())]),
            (str, [{"min_length": 2, "max_length": 4}], {**text, "minLength": 2, "maxLength": 4}, [
                ("ab", "ab"), (12, "12"), ("a", _bad("a length of at least 2")), ("abcde", _bad("at most 4")),
            ]),
            (List[int], [{"min_length": 1}], {**_array("integer"), "minItems": 1}, [([1], [1]), ([], _bad())]),
            (List[int], [{"min_length": 0, "max_length": 1}], {**_array("integer"), "maxItems": 1}, [([], [])]),
            (typing.Set[int], [{"min_length": 2}], {**_array("integer"), "minItems": 2}, [
                ([1, 2], {1, 2}), ([1, 1], _bad("length of at least 2")),
            ]),
            (Dict[str, int], [{"max_length": 1}],
             {"type": "object", "additionalProperties": integer, "maxProperties": 1},
             [({"a": "1"}, {"a": 1}), ({"a": 1, "b": 2}, _bad("at most 1"))]),
            (str, [{"pattern": "^[A-Z]$"}], {**text, "pattern": "^[A-Z]$"}, [("A", "A"), ("a", _bad("matches"))]),
            # searched; shown only where it is anchored at both ends
            (str, [{"pattern": "[0-9]"}], text, [("a1b", "a1b"), ("ab", _bad("[0-9]"))]),
            (str, [{"pattern": r"^a\$"}], text, [("a$b", "a$b")]),
            (str, [{"pattern": re.compile("^a$", re.I)}], text, [("A", "A"), ("b", _bad())]),
            # each alternative of a union has those that say something about it
            (Optional[int], [{"ge": 1, "min_length": 2}], _either({**integer, "minimum": 1}, "null"),
             [(None, None), (1, 1), (0, _bad("at least 1"))]),
            (Union[int, str], [{"ge": 1, "min_length": 2}],
             _either({**integer, "minimum": 1}, {**text, "minLength": 2}),
             [(5, 5), ("ab", "ab"), (0, _bad("at least 1")), ("a", _bad("at least 2"))]),
            (Optional[List[int]], [{"min_length": 1}], _either({**_array("integer"), "minItems": 1}, "null"),
             [([1], [1]), (5, _bad("a single item is written"))]),
            # other values that are compared, for which JSON Schema has no word
            (datetime.date, [{"ge": day}], {**text, "format": "date"}, [
                ("2024-02-01", datetime.date(2024, 2, 1)), ("2024-01-30", _bad("at least 2024-01-31")),
            ]),
            (datetime.datetime, [{"ge": datetime.datetime(2024, 1, 1, tzinfo=utc)}],
             {**text, "format": "date-time"}, [("2024-01-31", _bad("2024-01-01"))]),
            (decimal.Decimal, [{"ge": 1}, {"le": decimal.Decimal("2.5")}], {**number, "minimum": 1, "maximum": 2.5}, [
                ("1.1", decimal.Decimal("1.1")), (0, _bad("at least 1")), (2.6, _bad("at most 2.5")),
            ]),
            # JSON has no infinity: it would be no request
            (float, [{"ge": 0, "le": float("inf")}], {**number, "minimum": 0}, [(-1, _bad("at least 0"))]),
            # what says nothing: None, 0 for a list, a limit of another kind, other metadata
            (int, [{"ge": None, "le": "10", "gt": True, "min_length": 3, "pattern": "x"}], integer, [(5, 5)]),
            (str, [{"pattern": 5, "max_length": 2.5, "ge": 1}], text, [("abc", "abc")]),
            (Tuple[int, int], [{"min_length": 3}], _array("integer", minItems=2, maxItems=2), [([1, 2], (1, 2))]),
            (bool, [{"ge": 1}], {"type": "boolean"}, [(False, False)]),
        ]  # fmt: skip
        for hint, limits, schema, cases in rows:
            with self.subTest(repr(hint), limits=limits):
                metadata = tuple(_Limits(**each) for each in limits)

                def tool(x):
                    return x

                tool.__annotations__["x"] = typing.Annotated[(hint, *metadata, _Closed(), object())]
                (made,) = agentloop.registry([tool]).values()
                self.assertEqual(made.parameters["properties"]["x"], schema)
                for given, want in cases:
                    _check(self, _step_of(made, {"x": given}), want)

    def test_where_limits_are_kept(self):
        """pydantic's Field has them in a list; they are inside of other types too."""
        field = _Limits(metadata=[_Limits(ge=1), _Limits(le=9)], description="pieces")

        @dataclasses.dataclass
        class Line:
            qty: typing.Annotated[int, field] = 0  # it does not fit, and is not shown

        count = NewType("count", typing.Annotated[int, _Limits(ge=1), "how many"])

        def tool(line: Line, counts: List[typing.Annotated[count, _Limits(le=5)]]):
            return line.qty, counts

        (made,) = agentloop.registry([tool]).values()
        shown = made.parameters["properties"]
        qty = {"type": "integer", "minimum": 1, "maximum": 9, "description": "pieces"}
        self.assertEqual(shown["line"]["properties"], {"qty": qty})
        item = {"type": "integer", "minimum": 1, "description": "how many", "maximum": 5}
        self.assertEqual(shown["counts"]["items"], item)
        self.assertEqual(
            _step_of(tool, {"line": {"qty": "9"}, "counts": [5]}).observation, (9, [5])
        )
        step = _step_of(tool, {"line": {"qty": 10}, "counts": [0, 1, 6]})
        _check(self, step, _bad(at=["args.line.qty", "args.counts[0]", "args.counts[2]"]))

    def test_a_description(self):
        rows = [
            (["a", _Limits(description="b")], "a"), ([_Limits(description="b"), "a"], "b"),
            ([_Limits(description=""), "a"], "a"), ([_Limits(description=5)], None), ([5], None),
        ]  # fmt: skip
        for metadata, text in rows:

            def tool(x):
                return x

            tool.__annotations__["x"] = typing.Annotated[(int, *metadata)]
            shown = agentloop.tool(tool).parameters["properties"]["x"]
            self.assertEqual(shown.get("description"), text, metadata)

    def test_a_pattern_that_is_none(self):
        def tool(x):
            return x

        tool.__annotations__["x"] = typing.Annotated[str, _Limits(pattern="[")]
        with self.assertRaises(re.error):
            agentloop.tool(tool)


# -- docstrings ------------------------------------------------------------------------------------


class DocstringTests(unittest.TestCase):
    """Descriptions from Google, NumPy and reST docstrings."""

    def check(self, doc, about, notes):
        with self.subTest(doc):
            (made,) = agentloop.registry([_tool("path: str, limit: int = 10", doc)]).values()
            self.assertEqual(made.description, about)
            shown = made.parameters["properties"].items()
            found = {k: v["description"] for k, v in shown if "description" in v}
            self.assertEqual(found, notes)

    def test_the_description(self):
        rows = [
            ("", ""),
            ("Read.", "Read."),
            ("\n    Read.\n    ", "Read."),
            ("Read.\n\n    As text,\n    in lines.\n\n    Slow.\n    ", None),
            ("Read :param: in prose, and :x: too.", None),
            ("Read.\n\nArgs: none of these, it is prose.", None),
            ("Read.\n\nNote: relative paths only.", None),
            ("Read.\n\nSuch as\n    Args:\n        path: prose, since it is indented", None),
            ("Read.\n\n---\n\nRead on.", None),
            ("Read.\n\nso far so good\n--\n", "Read.\n\nso far so good\n--"),
        ]
        for doc, about in rows:
            self.check(doc, inspect.cleandoc(doc) if about is None else about, {})
        self.check("A.\n\nNote: B.\n\nArgs:\n    path: C", "A.\n\nNote: B.", {"path": "C"})
        self.check(":param path: C", "", {"path": "C"})
        self.check("A.\n\nArgs:\n    path:\n    limit: D", "A.", {"limit": "D"})

    def test_parameters(self):
        path, both = {"path": "file to read"}, {"path": "file to read", "limit": "most lines"}
        joined = {"path": "one of: a: alpha limit: beta"}
        numpy = "Parameters\n----------\n"
        rows = [
            # Google
            ("Args:\n    path: file to read\n    limit: most lines\n\nReturns:\n    path: x", both),
            ("Args:\n    path (str): file to read\n    limit (int, optional): most lines", both),
            ("Arguments:\n    path (Dict[str, Tuple[int, int]], optional): file to read", path),
            (
                "Args:\n    path: file\n        to\n        read\n    limit: most\n        lines",
                both,
            ),
            ("Args:\n    path: one of:\n        a: alpha\n        limit: beta", joined),
            ("Args:\n    path: file to read\n\n    limit: most lines\n", both),
            ("Args:\n path: file to read\n limit: most lines", both),
            ("Args:\n    path: file to read\n    nothing more", path),
            ("Args:\n    limit: most lines\n    nosuch: x\n    path: file to read", both),
            ("Args:\n    path: a: b", {"path": "a: b"}),
            ("Args:\n    - path: file to read\n    * limit (int): most lines", both),
            ("Args:\n    `path`: file to read\n    **limit** (int): most lines", both),
            ("Args:\n    path:\n        file to read", path),
            ("Args:\n\tpath: file to read\n\tlimit: most lines\n", both),
            ("Args:\n    Nothing here to see\n    path: file to read", path),
            ("Args:\n        lost\n    path: file to read", {}),
            ("Returns:\n    path: no\n\nArgs:\n    path: file to read", path),
            ("Raises:\n    OSError: limit: no\n\nArgs:\n    path: file to read", path),
            ("Keyword Args:\n    path: file to read\n\nExamples:\n    limit: no", path),
            ("参数:\n    path: file to read\n    limit：most lines\n\n返回:\n    path: 无", both),
            # NumPy
            (
                numpy + "path : str\n    file to read\nlimit : int, optional\n    most\n    lines",
                both,
            ),
            (numpy + "path : {'a', 'b'}\n    file to read\nlimit\n    most lines", both),
            (numpy + "path, limit : str\n    both", {"path": "both", "limit": "both"}),
            (numpy + "    lost\npath : str\n    file to read", path),
            (numpy + "path : str\n    file to read\n\nReturns\n-------\nlimit\n    no", path),
            # reST
            (":param path: file to read\n:param int limit: most lines\n:returns: x", both),
            (":keyword path: file to read\n:kwarg limit: most lines", both),
            (
                ":param path: file\n    to read\n:type path: str\n:param limit: most\n    lines",
                both,
            ),
            (":param: nothing\n:param path: file to read", path),
            (":arg path: file to read\n:keyword limit: most lines", both),
            (":type path: str\n:param path: file to read", path),
            (":raises OSError: limit\n    path: no\n:param path: file to read\n:rtype: str", path),
        ]
        for section, notes in rows:
            self.check("Read.\n\n" + section, "Read.", notes)

    def test_prose_after_the_sections_belongs_to_the_description(self):
        numpy = "Parameters\n----------\npath : str\n    file to read\n\n"
        rows = [
            ("Args:\n    path: file to read\n\n", "Cannot be undone."),
            ("Args:\n    path: file to read\n", "So much for that.\n    limit: no"),
            ("Args:\n    path: file to read\n", "Note:\n    Cannot be undone."),
            ("Args:\n    path: file to read\n\n", "Warning:\n    Cannot be undone.\n\n    Slow."),
            ("Args:\n    path: file to read\n\n", "Warning: cannot be undone.\n\nSlow."),
            (numpy, "Notes\n-----\nCannot be undone.\n\nlimit\n    no"),
            (numpy + "Returns\n-------\nstr\n    The text.\n\n", "Usage\n-----\nRarely."),
            (":param path: file to read\n:returns: x\n\n", ".. note:: Cannot be undone."),
            (":param path: file\n    to read\n", "not indented\n"),
        ]
        for section, prose in rows:
            self.check("Read.\n\n" + section + prose, "Read.\n\n" + prose.strip(),
                       {"path": "file to read"})  # fmt: skip
        self.check(
            "Read.\n\nNote:\n    Slow.\n\nReturns:\n    limit: no\n\nWarnings:\n    None.\n\n"
            "Raises:\n    OSError: no.\nExample:\n    limit: no\n\nArgs:\n    path: file to read",
            "Read.\n\nNote:\n    Slow.\n\nWarnings:\n    None.",
            {"path": "file to read"},
        )

    def test_headings(self):
        for heading in (
            "Parameters:", "Parameter:", "Arguments\uff1a", "Args: ", "Other Parameters:",
            "Params:\n-------", "Parameters\n  ---", "Keyword Arguments\n-----------------",
        ):  # fmt: skip
            entry = "path\n    file" if "-" in heading else "    path: file"
            self.check("Read.\n\n%s\n%s" % (heading, entry), "Read.", {"path": "file"})

    def test_star_parameters(self):
        for section in (
            "Args:\n    *rest: numbers", ":param rest: numbers", ":param *rest: numbers",
        ):  # fmt: skip
            (made,) = agentloop.registry([_tool("*rest: int", "R.\n\n" + section)]).values()
            wanted = _array("integer", description="numbers")
            self.assertEqual(made.parameters["properties"]["rest"], wanted)

    def test_whose_words_win(self):
        doc = "T.\n\nArgs:\n    p: from the docstring"
        rows = [
            ("3.8", "p: Item", "from the docstring"),  # over the class's own
            ("3.8", "p: Item = Item('a')", "from the docstring"),
            ("3.8", "p: Optional[int] = None", "from the docstring"),
            ("3.9", "p: Annotated[int, 'from the annotation']", "from the annotation"),
            ("3.9", "p: Annotated[Item, 'from the annotation'] = Item('a')", "from the annotation"),
            ("3.9", "p: Annotated[NewType('N', Annotated[int, 'from the annotation']), 5]",
             "from the annotation"),
        ]  # fmt: skip
        for least, signature, text in rows:
            if _new_enough(least):
                (made,) = agentloop.registry([_tool(signature, doc)]).values()
                self.assertEqual(made.parameters["properties"]["p"]["description"], text, signature)

    def test_no_docstring_of_python_leaks(self):
        for signature in ("c: Colour", "p: Point", "p: Pair", "t: Film", "p: Loose"):
            (made,) = agentloop.registry([_tool(signature)]).values()
            self.assertNotIn("description", json.dumps(made.parameters))
            self.assertEqual(made.description, "")


# -- annotations -----------------------------------------------------------------------------------


class _Alias:
    """What a `type` statement gives, as typing_extensions makes it for an older Python."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self):  # typing takes only what can be called
        raise TypeError


class AnnotationTests(unittest.TestCase):
    """Types that need their names: postponed, recursive, aliased, local; and newer spellings."""

    def test_types_of_newer_pythons(self):
        whole, film = (
            _array("integer"),
            _object({"name": {"type": "string"}, "year": {"type": "integer"}}, ["name"]),
        )
        future = "from __future__ import annotations\n"
        in_full = "class Film(TypedDict):\n    name: %s\n    year: NotRequired[int]\n"
        total = "class Film(TypedDict, total=False):\n    name: Required[str]\n    year: int\n"
        json_type = "type Json = dict[str, Json] | list[Json] | str | int | None\n"
        value = {"a": [1, None, "b"]}
        missing = [
            ({"year": 1}, _bad("missing", at="args.x.name")),
            ({}, _bad("missing", at="args.x.name")),
        ]
        rows = [  # the Python, what stands before the tool, the annotation, its schema, calls
            ("3.8", future, "List[int]", whole, [("[1]", [1])]),
            ("3.9", future, "list[int]", whole, [(["1"], [1])]),
            ("3.10", future, "int | None", _either("integer", "null"), [("5", 5), (None, None)]),
            ("3.11", in_full % "Required[str]", "Film", film, [({"name": "a", "year": "1"}, {"name": "a", "year": 1})]),
            ("3.11", future + in_full % "str", "Film", film, [({"name": "a"}, {"name": "a"})]),
            ("3.11", total, "Film", film, missing),
            ("3.11", future + total, "Film", film, missing),
            ("3.12", "type Ids = list[int]\n", "Ids", whole, [(["1"], [1])]),
            ("3.13", in_full % "ReadOnly[str]", "Film", film, [({"name": "a"}, {"name": "a"})]),
            ("3.13", in_full % "Required[ReadOnly[str]]", "Film", film, missing),
            ("3.12", json_type, "Json", {"$ref": "#/$defs/Json"}, [(value, value)]),
        ]  # fmt: skip
        for least, before, annotation, schema, cases in rows:
            if _new_enough(least):
                with self.subTest(before + annotation):
                    made = _source("%sdef tool(x: %s): return x" % (before, annotation))
                    (found,) = agentloop.registry([made]).values()
                    shown = found.parameters["properties"]["x"]
                    self.assertEqual(_ordered(shown), _ordered(schema))
                    for given, want in cases:
                        _check(self, _step_of(made, {"x": given}), want)

    def test_annotations_that_cannot_be_resolved(self):
        """The message says what to write instead."""
        future = "from __future__ import annotations\n"
        rows = [  # from this Python on it is understood; the annotation, what the message has
            ("9.9", "Unknown", "define or import their names in the module"),
            ("3.10", "int | None", "Optional[int] before Python 3.10"),
            ("3.9", "list[int]", "List[int] before 3.9"),
        ]
        for least, annotation, words in rows:
            if not _new_enough(least):
                with self.subTest(annotation):
                    made = _source("%sdef tool(x: %s): return x" % (future, annotation))
                    with self.assertRaises(TypeError) as caught:
                        agentloop.registry([made])
                    self.assertIn("cannot resolve the annotations of tool", str(caught.exception))
                    self.assertIn(words, str(caught.exception))

    def test_the_annotation_of_a_result_is_not_read(self):
        """It may name what is imported for type checkers alone."""
        rows = [
            "def tool(x: 'int') -> 'Nowhere': return x",
            "from __future__ import annotations\ndef tool(x: int) -> nowhere.Row: return x",
            "class C:\n    def __call__(self, x: 'int') -> 'Nowhere': return x\ntool = C()",
            "class C:\n    def m(self, x: 'int') -> 'Nowhere': return x\ntool = C().m",
            "@functools.lru_cache()\ndef tool(x: 'int') -> 'Nowhere': return x",
            "async def tool(x: 'int') -> 'Nowhere': return x",
        ]
        for source in rows:
            with self.subTest(source):
                (made,) = agentloop.registry([_source(source)]).values()
                self.assertEqual(made.parameters["properties"], {"x": {"type": "integer"}})

    @unittest.skipUnless(importlib.util.find_spec("typing_extensions"), "it is not installed")
    def test_types_of_typing_extensions(self):
        """It has a Literal of its own before Python 3.10.1, an Any before 3.11."""
        head = "import typing_extensions as ext\nclass Film(ext.TypedDict):\n    n: %s\n"
        for form, value, want in (
            ("ext.Literal['a']", "A", "a"), ("ext.Literal[1, 2]", "2", 2),
            ("ext.Any", "5", "5"), ("ext.ReadOnly[int]", "5", 5), ("ext.Annotated[int, 'how many']", "5", 5),
        ):  # fmt: skip
            with self.subTest(form):
                tool = _source(head % form + "def tool(x: Film): return x")
                self.assertEqual(_step_of(tool, {"x": {"n": value}}).observation, {"n": want})

    def test_annotations_that_inspect_cannot_resolve(self):
        """From Python 3.14 on it looks at them, although they are no text."""

        class Look:
            @property
            def __signature__(self):
                raise NameError("name 'Unknown' is not defined")

            def __call__(self, x: "Unknown"):  # noqa: F821
                return x

        with self.assertRaisesRegex(TypeError, "'Unknown' is not defined; define or import"):
            agentloop.registry([Look()])

    @unittest.skipUnless(_new_enough("3.12"), "there is no `type` statement")
    def test_a_type_with_parameters_is_refused(self):
        made = _source("type Pair[T] = tuple[T, T]\ndef tool(x: Pair[int]): return x")
        with self.assertRaisesRegex(TypeError, "'x'"):
            agentloop.tool(made)

    def test_an_alias_that_holds_itself(self):
        alias = _Alias("Words")
        alias.__value__ = typing.Union[str, List[alias]]

        def tool(x) -> str:
            return repr(x)

        tool.__annotations__["x"] = alias
        (made,) = agentloop.registry([tool]).values()
        reference = {"$ref": "#/$defs/Words"}
        words = {"anyOf": [{"type": "string"}, {"type": "array", "items": reference}]}
        self.assertEqual(made.parameters["properties"], {"x": reference})
        self.assertEqual(made.parameters["$defs"], {"Words": words})
        self.assertEqual(_step_of(tool, {"x": ["a", ["b"]]}).observation, "['a', ['b']]")
        alias.__value__ = None
        (made,) = agentloop.registry([tool]).values()
        self.assertEqual(made.parameters["properties"], {"x": {"type": "null"}})

    @unittest.skipUnless(_new_enough("3.9"), "a TypedDict forgets what its base requires")
    def test_a_typed_dict_of_two(self):
        class One(TypedDict):
            a: int

        class Both(One, total=False):
            b: int

        def tool(x):
            return x

        tool.__annotations__["x"] = Both
        (made,) = agentloop.registry([tool]).values()
        whole = {"type": "integer"}
        self.assertEqual(
            made.parameters["properties"]["x"], _object({"a": whole, "b": whole}, ["a"])
        )

    def test_recursive_types(self):
        def reference(name):
            return {"$ref": "#/$defs/" + name}

        node = _object(
            {"value": {"type": "integer"}, "children": _array(reference("_Node"))}, ["value"]
        )
        (made,) = agentloop.registry([_tool("root: Node, other: Node")]).values()
        (name,) = made.parameters["$defs"]
        text = json.dumps(made.parameters).replace('"#/$defs/%s"' % name, '"#/$defs/_Node"')
        found = json.loads(text)
        self.assertEqual(
            found["properties"], {"root": reference("_Node"), "other": reference("_Node")}
        )
        self.assertEqual(_ordered(list(found["$defs"].values())), [_ordered(node)])
        rows = [
            ({"value": "1", "children": [{"value": 2}]}, _Node(1, [_Node(2)])),
            ({"value": 1, "children": [{"value": 2, "children": [{"value": "z"}]}]},
             _bad("integer", at="args.root.children[0].children[0].value")),
            ({"value": 1, "children": [3]}, _bad("object", at="args.root.children[0]")),
        ]  # fmt: skip
        for value, want in rows:
            want = {"root": want} if not isinstance(want, _Bad) else want
            _check(self, _step_of(_tool("root: Node"), {"root": value}), want)

    def test_a_reference_keeps_its_description(self):
        module = _module(
            "@dataclasses.dataclass\nclass Link:\n    v: int\n    next: Optional['Link'] = None\n"
            "def tool(head: Link):\n    'Walk.\\n\\nArgs:\\n    head: first link'\n    return head"
        )
        (made,) = agentloop.registry([module.tool]).values()
        head = made.parameters["properties"]["head"]
        self.assertEqual(head["description"], "first link")
        self.assertTrue(head["$ref"].startswith("#/$defs/"))
        self.assertEqual(len(made.parameters["$defs"]), 1)
        step = _step_of(module.tool, {"head": {"v": 1, "next": {"v": "2", "next": None}}})
        self.assertEqual(step.observation, module.Link(1, module.Link(2)))

    def test_two_recursive_types_of_one_name(self):
        source = "@dataclasses.dataclass\nclass Twin:\n    v: %s\n    of: Optional['Twin'] = None\n"
        one, two = (_module(source % kind).Twin for kind in ("int", "str"))

        def f(a: one, b: two):
            return a, b

        (made,) = agentloop.registry([f]).values()
        properties, defs = made.parameters["properties"], made.parameters["$defs"]
        found = [defs[properties[n]["$ref"][len("#/$defs/") :]]["properties"]["v"] for n in "ab"]
        self.assertEqual(found, [{"type": "integer"}, {"type": "string"}])
        step = _step_of(f, {"a": {"v": "1", "of": {"v": 2}}, "b": {"v": 1, "of": {"v": "x"}}})
        self.assertEqual(step.observation, (one(1, one(2)), two("1", two("x"))))

    def test_two_classes_of_one_name(self):
        source = """
def make(kind):
    @dataclasses.dataclass
    class Node:
        value: kind
        below: List["Node"] = dataclasses.field(default_factory=list)
    return Node
A, B, C = make(int), make(str), make(float)
def tool(a: A, b: B, c: C, more: A): return [type(a) is A, b.below[0].value, c.value]
"""
        made = agentloop.tool(_source(source))
        names = {n: p["$ref"] for n, p in made.parameters["properties"].items()}
        self.assertEqual(len(set(names.values())), 3)
        self.assertEqual(names["a"], names["more"])
        self.assertEqual(sorted(made.parameters["$defs"]), ["Node", "Node_2", "Node_3"])
        node = {"value": 1}
        arguments = {
            "a": node,
            "b": {"value": "x", "below": [{"value": "y"}]},
            "c": node,
            "more": node,
        }
        self.assertEqual(_step_of(made, arguments).observation, [True, "y", 1.0])

    def test_names_local_to_a_function(self):
        source = (
            "from __future__ import annotations\n"
            "def make():\n    @dataclasses.dataclass\n    class Here:\n        n: int\n"
            "    later = None\n"
            "    def tool(h: Here, k: int = 0):\n        return Here, h, k, later\n"
            "    return tool\n"
            "tool = make()"
        )
        made = _source(source)
        _check_schema(
            self,
            made,
            {
                "h": _object({"n": {"type": "integer"}}, ["n"]),
                "k": {"type": "integer", "default": 0},
            },
            ["h"],
        )
        kind, value, _, _ = _step_of(made, {"h": {"n": "2"}}).observation
        self.assertEqual(value, kind(2))

    def test_a_closure_that_is_not_filled_yet(self):
        def f(n: int):
            return n if n < 9 else later

        (made,) = agentloop.registry([f]).values()
        later = 1
        self.assertEqual((made(2), made(9)), (2, 1))

    def test_a_decorated_function_closes_over_a_type(self):
        @dataclasses.dataclass
        class Local:
            n: int

        def tool(x: "Local") -> int:
            assert type(x) is Local
            return x.n

        @functools.wraps(tool)
        def outer(*args, **kwargs):
            return tool(*args, **kwargs)

        self.assertEqual(_step_of(outer, {"x": {"n": "3"}}).observation, 3)


class NoJsonFormTests(unittest.TestCase):
    """A type that has no JSON form is refused at registration, by name."""

    def test_a_parameter_without_a_json_form(self):
        rows = [
            ("z: complex", "z", "complex"),
            ("cb: Callable[[int], int]", "cb"),
            ("cb: Callable", "cb"),
            ("x: List[complex]", "x", "complex"),
            ("x: Optional[complex] = None", "x", "complex"),
            ("x: Dict[str, complex]", "x", "complex"),
            ("x: Dict[float, str]", "x", "key"),
            ("x: Dict[Point, str]", "x", "key"),
            ("x: Tuple[int, complex]", "x", "complex"),
            ("x: Union[int, Type[int]]", "x"),
            ("x: Iterator[int]", "x"),
            ("x: type", "x", "type"),
            ("x: range", "x", "range"),
            ("x: Empty", "x", "Empty"),
            ("x: Literal[b'raw']", "x", "raw"),  # its schema was no JSON
            ("x: Literal['a', b'raw']", "x", "raw"),
            ("x: Free", "x", "Free"),
            ("x: bytes", "x", "bytes"),
            ("x: Bound", "x", "Bound"),
            ("x: Corner", "x", "Corner"),  # its values have no JSON form
            ("x: Literal[Corner.NEAR]", "x", "Corner"),
            ("x: Bottomless", "x", "Bottomless"),
            ("x: dataclasses.InitVar[int]", "x", "InitVar"),
            ("x: [int]", "x", "int"),
            ("x: 'Nowhere'", "tool", "Nowhere"),
            ("x: List['Nowhere']", "tool", "Nowhere"),
            ("*xs: complex", "xs", "complex"),
            ("**xs: complex", "xs", "complex"),
            ("a: int, *, lock: threading.Lock", "lock"),
        ]
        for signature, *words in rows:
            with self.subTest(signature), self.assertRaises(TypeError) as caught:
                agentloop.registry([_tool(signature)])
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_a_type_without_a_json_form_is_named_as_it_is_written(self):
        for hint, name in (("complex", "complex"), ("Type[int]", "typing.Type[int]")):
            with self.assertRaises(TypeError) as caught:
                agentloop.registry([_tool("x: " + hint)])
            self.assertIn("'x': %s has no JSON form" % name, str(caught.exception))

    def test_a_field_without_a_json_form_is_named(self):
        head = "class Conn: pass\n"
        rows = [
            "@dataclasses.dataclass\nclass C:\n    conn: Conn\ndef tool(c: C): pass",
            "class C(TypedDict):\n    conn: Conn\ndef tool(c: C): pass",
            "class C(NamedTuple):\n    conn: Conn\ndef tool(c: C): pass",
            "@dataclasses.dataclass\nclass C:\n    conn: dataclasses.InitVar[Conn]\ndef tool(c: C): pass",
        ]
        for source in rows:
            with self.subTest(source), self.assertRaises(TypeError) as caught:
                agentloop.registry([_source(head + source)])
            self.assertRegex(str(caught.exception), r"'?conn'?.*Conn")

    def test_a_class_whose_fields_are_not_named(self):
        head = "@dataclasses.dataclass(init=False)\nclass C:\n    n: int\n    def __init__(self, %s): pass"
        for parameters, told in (("**given", "given"), ("*given", "given"), ("n, /", "n")):
            with self.subTest(parameters), self.assertRaises(TypeError) as caught:
                agentloop.registry([_source(head % parameters + "\ndef tool(x: C): pass")])
            self.assertRegex(str(caught.exception), "'x': C takes .*%s" % told)


class DefaultTests(unittest.TestCase):
    """A parameter's default in the schema, where it has a JSON form."""

    def test_defaults(self):
        null = {"type": "null"}
        rows = [
            ("int", "5", {"type": "integer", "default": 5}),
            ("float", "0.5", {"type": "number", "default": 0.5}),
            ("float", "1", {"type": "number", "default": 1}),
            ("bool", "True", {"type": "boolean", "default": True}),
            ("str", "''", {"type": "string", "default": ""}),
            ("Optional[str]", "None", dict(_either("string", "null"), default=None)),
            ("int", "None", dict(_either("integer", "null"), default=None)),
            ("None", "None", dict(null, default=None)),
            ("List[int]", "[]", _array("integer", default=[])),
            ("Tuple[int, int]", "(1, 2)",
             _array("integer", minItems=2, maxItems=2, default=[1, 2])),
            ("Set[int]", "{3, 1}", _array("integer", default=[1, 3])),
            ("FrozenSet[str]", "frozenset('a')", _array("string", default=["a"])),
            ("dict", "{'a': [1]}", {"type": "object", "default": {"a": [1]}}),
            ("dict", "{'a': {1}}", {"type": "object", "default": {"a": [1]}}),
            ("Any", "Point", _any()),
            ("Colour", "Colour.GREEN", {"type": "string", "enum": ["r", "g"], "default": "g"}),
            ("Level", "Level.LOW", {"type": "integer", "enum": [1, 2], "default": 1}),
            ("List[Colour]", "[Colour.RED]",
             _array({"type": "string", "enum": ["r", "g"]}, default=["r"])),
            ("Pair", "Pair(1)", dict(_object({"a": {"type": "integer"},
                "b": {"type": "string", "default": "z"}}, ["a"]), default={"a": 1, "b": "z"})),
            ("Point", "Point(3)", dict(_object(
                {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}}, ["x"]),
                default={"x": 3, "y": 0})),
            ("Path", "Path('a')", {"type": "string", "default": "a"}),
            ("datetime.date", "datetime.date(2024, 1, 2)",
             {"type": "string", "format": "date", "default": "2024-01-02"}),
            ("datetime.datetime", "datetime.datetime(2024, 1, 2)", {"type": "string",
             "format": "date-time", "default": "2024-01-02T00:00:00"}),
            ("UUID", "UUID(int=1)",
             {"type": "string", "format": "uuid",
              "default": "00000000-0000-0000-0000-000000000001"}),
            ("datetime.time", "datetime.time(9, 30)",
             {"type": "string", "format": "time", "default": "09:30:00"}),
            ("datetime.timedelta", "datetime.timedelta(days=1, hours=2)",
             {"type": "string", "format": "duration", "default": "P1DT7200S"}),
            ("datetime.timedelta", "datetime.timedelta(seconds=-1.5)",
             {"type": "string", "format": "duration", "default": "-P0DT1.500000S"}),
            ("Decimal", "Decimal('0.1')", {"type": "number", "default": 0.1}),
            ("Decimal", "Decimal('nan')", {"type": "number"}),
            # what has no JSON form is left out, and the parameter stays optional
            ("str", "object()", {"type": "string"}),
            ("float", "float('inf')", {"type": "number"}),
            ("Any", "print", _any()),
            ("list", "[object()]", _array(_any())),
            ("int", "'many'", {"type": "integer"}),
        ]  # fmt: skip
        for annotation, default, wanted in rows:
            with self.subTest("%s = %s" % (annotation, default)):
                made = _tool("x: %s = %s" % (annotation, default))
                _check_schema(self, made, {"x": wanted})
                step = _step_of(made, {})  # Python's own default, whatever was shown
                self.assertEqual(step.status, "ok")
                self.assertIs(
                    step.observation["x"], inspect.signature(made).parameters["x"].default
                )

    def test_a_default_is_copied_into_the_schema(self):
        tags: List[str] = []
        names = dict(_names(), tags=tags)
        exec("def tool(x: List[str] = tags): pass", names)
        (made,) = agentloop.registry([names["tool"]]).values()
        tags.append("later")
        self.assertEqual(made.parameters["properties"]["x"]["default"], [])

    def test_a_default_that_cannot_be_converted_is_left_out(self):
        def pay(amount: decimal.Decimal = decimal.Decimal("sNaN")) -> str:
            return "paid"

        made = agentloop.registry([pay])["pay"]
        self.assertEqual(made.parameters["properties"]["amount"], {"type": "number"})

    def test_a_default_is_shown_as_its_annotation_reads_it(self):
        rows = [
            ("x: int = '5'", 5), ("x: int = 5.0", 5), ("x: float = 1", 1.0), ("x: bool = 1", True),
            ("x: str = 5", "5"), ("x: Literal['a'] = 'A'", "a"), ("x: Optional[int] = '5'", 5),
            ("x: Union[int, str] = '5'", "5"), ("x: List[int] = ('5', 6)", [5, 6]),
            ("x: Dict[str, int] = {'a': '5'}", {"a": 5}), ("x: Colour = 'RED'", "r"),
            ("x: datetime.date = '2024-01-31T00:00'", "2024-01-31"),
            ("x: Point = {'x': '1'}", {"x": 1}), ("x: Level = Level.HIGH", 2),
            ("x: Pair = Pair(3, 'c')", {"a": 3, "b": "c"}),
        ]  # fmt: skip
        for signature, shown in rows:
            with self.subTest(signature):
                schema = agentloop.tool(_tool(signature)).parameters["properties"]["x"]
                found = schema["default"]
                for name, value in shown.items() if isinstance(shown, dict) else ():
                    self.assertEqual(found.pop(name), value)
                if not isinstance(shown, dict):
                    self.assertEqual((type(found), found), (type(shown), shown))

    def test_a_default_that_its_annotation_does_not_read_is_left_out(self):
        for signature in (
            "x: int = 'many'", "x: int = 5.5", "x: bool = 'yes'", "x: List[int] = 5",
            "x: float = float('nan')", "x: Any = Point", "x: Any = object()", "x: Colour = 'q'",
        ):  # fmt: skip
            with self.subTest(signature):
                made = agentloop.tool(_tool(signature))
                self.assertNotIn("default", made.parameters["properties"]["x"])
                self.assertEqual(made.parameters["required"], [])

    def test_a_default_without_a_json_form_is_left_out(self):
        circle: List[Any] = []
        circle.append(circle)
        ring: Dict[str, Any] = {}
        ring["ring"] = ring
        field = ("x", int, dataclasses.field(init=False, repr=False))
        half_made = dataclasses.make_dataclass("Half", [field])
        for default in (
            {(1, 2): 3}, {"k": {(1, 2): 3}}, {None: 1}, {True: 1}, {1.5: 1}, circle, ring, [ring],
            decimal.Decimal("1e999"), {"k": decimal.Decimal("inf")}, [{"k": float("nan")}],
            half_made(),
        ):  # fmt: skip
            for hint in ("Any", "dict", "list", "Decimal", "Dict[str, Any]"):
                with self.subTest(repr(default)[:40], hint=hint):
                    names = dict(_names(), default=default)
                    exec("def tool(x: %s = default): return x is default" % hint, names)
                    (made,) = agentloop.registry([names["tool"]]).values()
                    self.assertNotIn("default", made.parameters["properties"]["x"])
                    json.dumps(made.parameters)
                    self.assertIs(_step_of(names["tool"], {}).observation, True)

    def test_keys_of_a_default_are_shown_as_the_model_would_send_them(self):
        for hint, default, shown in (
            ("Dict[int, str]", "{1: 'a'}", {"1": "a"}), ("dict", "{1: 'a'}", {"1": "a"}),
            ("Dict[Colour, int]", "{Colour.RED: 1}", {"r": 1}),
            ("Dict[str, dict]", "{'a': {2: {3: 4}}}", {"a": {"2": {"3": 4}}}),
        ):  # fmt: skip
            with self.subTest(hint):
                made = agentloop.tool(_tool("x: %s = %s" % (hint, default)))
                self.assertEqual(made.parameters["properties"]["x"]["default"], shown)

    def test_the_function_gets_its_default_as_it_is(self):
        step = _step_of(_tool("x: int = '5'"), {})
        self.assertEqual(step.observation, {"x": "5"})


# -- functions -------------------------------------------------------------------------------------


class _Shop:
    """Methods of every kind, and one that only the hint of its `self` tells from a function."""

    def sell(self, n: int):
        "Sell."
        return n

    @classmethod
    def of(cls, n: int):
        return n

    @staticmethod
    def ping(n: int):
        return n

    def hinted(self: "_Shop", n: int):
        return n


class SignatureTests(unittest.TestCase):
    """The parameters of a function, a method, a callable object or a partial, and a call of it."""

    def test_signatures(self):
        whole, text = {"type": "integer"}, {"type": "string"}
        point = _object({"x": whole, "y": dict(whole, default=0)}, ["x"])
        rows = [
            ("", {}, []),
            ("x", {"x": _any()}, ["x"]),
            ("x=1", {"x": dict(_any(), default=1)}, []),
            ("zebra: int, apple: str, mango: int", {"zebra": whole, "apple": text, "mango": whole},
             ["zebra", "apple", "mango"]),
            ("*, a: int, b: str = 'q'", {"a": whole, "b": dict(text, default="q")}, ["a"]),
            ("a: int, b: int = 2, /, c: int = 3",
             {"a": whole, "b": dict(whole, default=2), "c": dict(whole, default=3)}, ["a"]),
            ("a: int, *rest: str", {"a": whole, "rest": _array("string")}, ["a"]),
            ("self: int, cls: int, id: int", {"self": whole, "cls": whole, "id": whole},
             ["self", "cls", "id"]),
            ("title: str, default: int, properties: str, required: int, items: str",
             {"title": text, "default": whole, "properties": text, "required": whole,
              "items": text},
             ["title", "default", "properties", "required", "items"]),
            ("name: str, function: int, kwargs: str",
             {"name": text, "function": whole, "kwargs": text},
             ["name", "function", "kwargs"]),
            ("_a: int, from_: str, straße: int, 城市: str",
             {"_a": whole, "from_": text, "straße": whole, "城市": text},
             ["_a", "from_", "straße", "城市"]),
            ("p: Point, q: Point", {"p": point, "q": point}, ["p", "q"]),
        ]  # fmt: skip
        for signature, properties, required in rows:
            with self.subTest(signature):
                _check_schema(self, _tool(signature), properties, required)
        options = {"additionalProperties": whole}
        _check_schema(self, _tool("a: str, **more: int"), {"a": text}, ["a"], **options)
        _check_schema(self, _tool("**more"), {}, [], additionalProperties=True)

    def test_wrapped_functions(self):
        source = (
            "def log(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n"
            "        return f(*a, **k)\n    return inner\n"
            "@log\ndef tool(x: int, y: str = 'a'):\n    'About.'\n    return x, y"
        )
        made = _source(source)
        found = _check_schema(
            self, made, {"x": {"type": "integer"}, "y": {"type": "string", "default": "a"}}, ["x"]
        )
        self.assertEqual(found.description, "About.")
        self.assertEqual(_step_of(made, {"x": "1"}).observation, (1, "a"))
        _check(self, _step_of(made, {"x": 1, "z": 2}), _bad("x, y", at="args.z"))

    def test_objects_that_can_be_called(self):
        class Search:
            """Find things."""

            def __init__(self, limit):
                self.limit = limit

            def __call__(self, text: str, limit: "int" = 3) -> list:
                return [text] * min(limit, self.limit)

        class Described:
            """A class."""

            def __call__(self, run: agentloop.AgentRun, **more: int) -> dict:
                """What it does.

                Args:
                    more: numbers
                """
                return more

        @functools.lru_cache(None)
        def cached(n: int) -> int:
            "Count."
            return n + 1

        rows = [
            (Search(2), "search", "Find things.", {"text": "a", "limit": "5"}, ["a", "a"]),
            (Described(), "described", "What it does.", {"a": "1"}, {"a": 1}),
            (functools.partial(Search(9), limit=1), "search", "Find things.", {"text": "a"}, ["a"]),
            (cached, "cached", "Count.", {"n": "1"}, 2),
        ]
        for function, name, about, arguments, result in rows:
            with self.subTest(name):
                made = agentloop.tool(function)
                self.assertEqual((made.name, made.description), (name, about))
                self.assertIs(made.function, function)
                self.assertEqual(_step_of(made, arguments).observation, result)
        step = _step_of(Described(), {"self": 1, "run": 2})
        _check(self, step, _bad("unknown name", at=["args.self", "args.run"]))
        _check(self, _step_of(Search(1), {"text": "a", "self": 1}), _bad(at="args.self"))

    def test_an_object_that_cannot_be_read(self):
        """`inspect` takes one with a __get__ for a method of C."""

        class Retry:
            def __get__(self, owner, cls=None):
                return functools.partial(self, owner)

            def __call__(self, n: int) -> int:
                return n

        with self.assertRaises(TypeError) as caught:
            agentloop.tool(Retry())
        self.assertIn("retry has no signature to read: wrap it in a def", str(caught.exception))

    def test_methods_of_an_object_a_class_and_none(self):
        for method, name in ((_Shop().sell, "sell"), (_Shop.of, "of"), (_Shop.ping, "ping")):
            (made,) = agentloop.registry([method]).values()
            self.assertEqual((made.name, list(made.parameters["properties"])), (name, ["n"]))
            self.assertEqual(_step_of(method, {"n": "2"}).observation, 2)
            _check(self, _step_of(method, {"self": 1, "n": 2}), _bad(at="args.self"))

    def test_a_function_may_call_a_parameter_self(self):
        def tool(self, n: int) -> int:
            return n

        step = _step_of(tool, {"self": 1, "n": 2})
        self.assertEqual(step.observation, 2)

    def test_partial(self):
        head = (
            "def send(conn: str, to: str, n: int = 1):\n"
            "    'Send.\\n\\nArgs:\\n    to: receiver'\n    return conn, to, n\n"
        )
        to = {"type": "string", "description": "receiver"}
        number = {"type": "integer", "default": 1}
        rows = [
            ("functools.partial(send, 'secret')", {"to": to, "n": number}),
            ("functools.partial(send, conn='secret')", {"to": to, "n": number}),
            ("functools.partial(functools.partial(send, 'secret'), n=1)", {"to": to}),
        ]
        for expression, properties in rows:
            with self.subTest(expression):
                made = _source(head + "tool = " + expression)
                found = _check_schema(self, made, properties, ["to"])
                self.assertEqual((found.name, found.description), ("send", "Send."))
                self.assertNotIn("secret", json.dumps(found.parameters))
                self.assertEqual(_step_of(made, {"to": "x"}).observation, ("secret", "x", 1))
                _check(self, _step_of(made, {"to": "x", "conn": "evil"}), _bad(at="args.conn"))

    def test_bound_names_before_args(self):
        def join(first: str, second: str, *more: str) -> str:
            return first

        with self.assertRaisesRegex(TypeError, "bind it by position"):
            agentloop.registry([functools.partial(join, first="a")])
        self.assertIn("join", agentloop.registry([functools.partial(join, "a")]))

    def test_what_partial_has_bound_cannot_be_given(self):
        def find(first, text: str, *, user: str, limit: int = 3, **filters: str):
            return [first, text, user, limit, filters]

        def last(a: int, /, b: int = 2, **more: int):
            return [a, b, more]

        rows = [
            (functools.partial(find, 1, user="alice"), {"text": "x", "year": 5},
             [1, "x", "alice", 3, {"year": "5"}]),
            (functools.partial(find, 1, user="alice"), {"text": "x", "user": "bob"}, _bad(at="args.user")),
            (functools.partial(find, 1, user="alice"), {"text": "x", "user": None}, _bad(at="args.user")),
            (functools.partial(find, 1, user="alice"), {"text": "x", "first": 2}, _bad(at="args.first")),
            (functools.partial(functools.partial(find, 1), user="a", year="1"),
             {"text": "x", "year": "2"}, _bad("unknown", at="args.year")),
            (functools.partial(last, 1), {"b": 3, "a": 4}, [1, 3, {"a": 4}]),  # another a: of the options
        ]  # fmt: skip
        for function, given, want in rows:
            with self.subTest(given):
                made = agentloop.tool(name="f")(function)
                self.assertNotIn("user", made.parameters["properties"])
                self.assertNotIn("alice", json.dumps(made.parameters))
                for form in (given, json.dumps(given)):
                    _check(self, _step_of(made, form), want)

    def test_whole_calls(self):
        three = "path: str, limit: int = 10, tag: Optional[str] = None"
        rest = "*args: int"
        more = "a: str, **more: int"
        places = "a: int, b: int = 2, /, c: int = 3"
        rows = [
            (three, {"path": "a"}, {"path": "a", "limit": 10, "tag": None}),
            (three, {"path": "a", "limit": "3", "tag": "t"}, {"path": "a", "limit": 3, "tag": "t"}),
            (three, {"path": "a", "limit": None, "tag": None},
             {"path": "a", "limit": 10, "tag": None}),
            (three, {}, _bad("missing", at="args.path")),
            (three, {"limit": None}, _bad("missing", at="args.path")),
            (three, {"path": "a", "": 1}, _bad("unknown", at='args[""]')),
            (three, {"path": "a", "Limit": 1}, _bad('did you mean "limit"', at="args.Limit")),
            (three, {"path": "a", "LIMIT": 1}, _bad('did you mean "limit"', at="args.LIMIT")),
            (three, {"path": "a", "zzzz": 1}, _bad("path, limit, tag", at="args.zzzz")),
            (three, {"path": 1.5, "limit": "q", "lim": 1},
             _bad(at=["args.path", "args.limit", "args.lim"])),
            (three, {"arguments": {"path": "a"}}, _bad(at=["args.arguments", "args.path"])),
            ("a: int, b: str, c: float", {}, _bad("missing", at=["args.a", "args.b", "args.c"])),
            ("", {}, {}),
            ("", {"x": 1}, _bad("unknown", at="args.x")),
            (rest, {"args": [1, "2"]}, {"args": (1, 2)}),
            (rest, {}, {"args": ()}),
            (rest, {"args": None}, {"args": ()}),
            (rest, {"args": [1, "q"]}, _bad("integer", at="args.args[1]")),
            (rest, {"args": 5}, _bad("array", at="args.args")),
            ("a: int, *rest: str, k: int = 0", {"a": 1, "rest": ["x", 2], "k": "3"},
             {"a": 1, "k": 3, "rest": ("x", "2")}),
            ("a: int, *rest: str", {"a": 1}, {"a": 1, "rest": ()}),
            ("a: int = 1, *rest: str", {"rest": ["x"]}, {"a": 1, "rest": ("x",)}),
            (more, {"a": "x", "k": "5"}, {"a": "x", "more": {"k": 5}}),
            (more, {"a": "x"}, {"a": "x", "more": {}}),
            (more, {"k": 1}, _bad("missing", at="args.a")),
            (more, {"a": "x", "k": "q"}, _bad("integer", at="args.k")),
            (more, {"a": "x", "more": {"k": 1}}, _bad("integer", at="args.more")),
            ("a: int = 1, **more", {"a": None, "k": None}, {"a": 1, "more": {"k": None}}),
            (places, {"a": "1"}, {"a": 1, "b": 2, "c": 3}),
            (places, {"a": 1, "c": "9"}, {"a": 1, "b": 2, "c": 9}),
            (places, {"b": 1}, _bad("missing", at="args.a")),
            ("*, a: int, b: int = 2", {"a": "1"}, {"a": 1, "b": 2}),
            ("x: int = None", {"x": None}, {"x": None}),
            ("x: int = None", {"x": "q"}, _bad("integer")),
            ("self: int, args: int, kwargs: int, name: str",
             {"self": "1", "args": 2, "kwargs": 3, "name": "n"},
             {"self": 1, "args": 2, "kwargs": 3, "name": "n"}),
            ("x", {"x": {"a": 1}}, {"x": {"a": 1}}),
        ]  # fmt: skip
        for signature, arguments, want in rows:
            with self.subTest("(%s) %s" % (signature, arguments)):
                _check(self, _step_of(_tool(signature), arguments), want)

    def test_the_annotations_are_read_once(self):
        def f(n: int = 0):
            return n

        (made,) = agentloop.registry([f]).values()
        before = copy.deepcopy(made.parameters)
        f.__annotations__["n"] = complex
        f.__defaults__ = (7,)
        self.assertEqual(_step_of(made, {"n": "5"}).observation, 5)
        self.assertEqual(made.parameters, before)


class InjectedTests(unittest.TestCase):
    """Parameters that the loop fills in, and never shows."""

    def test_action_and_run(self):
        signatures = [
            "x: int, action: AgentAction, run: AgentRun",
            "action: AgentAction, x: int, *, run: AgentRun",
            "x: int, run: 'AgentRun', action: Optional[AgentAction] = None",
            "action: AgentAction, run: AgentRun, /, x: int",
        ]
        for signature in signatures:
            with self.subTest(signature):
                made = _tool(signature)
                (found,) = agentloop.registry([made]).values()
                self.assertEqual(list(found.parameters["properties"]), ["x"])
                self.assertNotIn("Agent", json.dumps(found.parameters))
                model = agentloop.Scripted(
                    [[_act("tool", "c1", x=1), _act("tool", "c2", x=2)], _end()]
                )
                run, error = _drive(model, tools=[made])
                self.assertIsNone(error)
                for step, n in zip(run.steps, (1, 2)):
                    self.assertIs(step.observation["run"], run)  # the live one
                    self.assertIs(step.observation["action"], step.action)
                    self.assertEqual((step.action.call_id, step.observation["x"]), ("c%d" % n, n))
                for name in ("run", "action"):
                    _check(
                        self, _step_of(made, {"x": 1, name: {}}), _bad("unknown", at="args." + name)
                    )

    def test_a_tool_sees_the_steps_so_far(self):
        def look(run: agentloop.AgentRun):
            return len(run.steps)

        run, _ = _drive([[_act("look"), _act("look")], _act("look"), _end()], tools=[look])
        self.assertEqual([s.observation for s in run.steps], [0, 1, 2])

    def test_a_tool_may_spend_requests_of_the_budget(self):
        def ask_others(n: int, run: agentloop.AgentRun):
            run.requests += n
            run.usage["output_tokens"] = run.usage.get("output_tokens", 0) + 10
            return "asked"

        rows = [(4, "model_ended", 4), (3, "budget_exhausted", 3), (2, "budget_exhausted", 3)]
        for most, state, requests in rows:
            with self.subTest(most):
                decisions = {1: _act("ask_others", n=2), 4: _end()}
                run, error = _drive(
                    lambda run, tools, d=decisions: d[run.requests],
                    tools=[ask_others],
                    max_requests=most,
                )
                self.assertIsNone(error)
                self.assertEqual((run.state, run.requests), (state, requests))
                self.assertEqual(run.usage, {"output_tokens": 10})


# -- tools -----------------------------------------------------------------------------------------


class ToolTests(unittest.TestCase):
    """A Tool made by hand: its fields, its name, a schema from elsewhere."""

    def test_the_fields_of_a_tool(self):
        made = agentloop.Tool("f", "about", {"type": "object"}, print)
        names = ["name", "description", "parameters", "function"]
        names += ["return_direct", "read_only", "idempotent"]
        self.assertTrue(dataclasses.is_dataclass(made))
        self.assertEqual([f.name for f in dataclasses.fields(made)][:7], names)
        values = ["f", "about", {"type": "object"}, print, False, False, False]
        self.assertEqual([getattr(made, n) for n in names], values)
        made = agentloop.Tool("f", "", {}, print, True, True, True)
        self.assertEqual([getattr(made, n) for n in names[4:]], [True, True, True])

    def test_names(self):
        good = ["f", "_", "get_weather2", "get-weather", "a" * 64, "wetter_münchen", "天気", "-"]
        bad = ["", "a b", "2f", "a.b", "a" * 65, "f!", "a/b", None, 5, b"f"]
        for name in good:
            with self.subTest(name):
                self.assertEqual(agentloop.Tool(name, "", {}, print).name, name)
        for name in bad:
            with self.subTest(name), self.assertRaisesRegex(ValueError, "tool name"):
                agentloop.Tool(name, "", {}, print)
        with self.assertRaisesRegex(ValueError, "64"):
            agentloop.registry([_source("def %s(): pass" % ("a" * 65), "a" * 65)])

    def test_a_tool_name_that_servers_refuse(self):
        def wetter_münchen():
            return "Föhn"

        sent: List[Any] = []
        models = [agentloop.OpenAIChat, agentloop.OpenAIResponses, agentloop.AnthropicMessages]
        for kind in models:
            model = kind("m", base_url="http://127.0.0.1:9", api_key="k", transport=sent.append)
            run, error = _drive(model, tools=[wetter_münchen])
            self.assertIs(type(error), ValueError)
            self.assertIn("wetter_münchen", str(error))
        self.assertEqual(sent, [])
        run, _ = _drive([_act("wetter_münchen"), _end()], tools=[wetter_münchen])
        self.assertEqual(run.steps[0].observation, "Föhn")

    def test_fields_of_another_kind(self):
        for arguments in (("f", "", [], print), ("f", "", None, print), ("f", "", {}, "print")):
            with self.assertRaisesRegex(TypeError, r"\bf\b.*parameters.*function"):
                agentloop.Tool(*arguments)

    def test_a_schema_of_the_wrong_form(self):
        wrong = [
            {"required": 5}, {"required": "ab"}, {"required": True}, {"required": [1]},
            {"required": [None]}, {"required": [["a"]]}, {"required": {"a": 1}},
            {"properties": 5}, {"properties": ["x"], "additionalProperties": False},
            {"properties": {"a": 5}}, {"properties": {"a": None}}, {"properties": {1: {}}},
        ]  # fmt: skip
        for schema in wrong:
            word = "required" if "required" in schema else "properties"
            with self.subTest(schema), self.assertRaisesRegex(TypeError, r"\btool f: " + word):
                agentloop.Tool("f", "", schema, print)
        for schema in (
            {}, {"properties": None, "required": None}, {"properties": {"a": True}},
            {"properties": {}, "required": []}, {"required": ["b"], "properties": {"a": {}}},
        ):  # fmt: skip
            self.assertIs(agentloop.Tool("f", "", schema, print).parameters, schema)

    def test_calls_of_a_foreign_schema(self):
        schema = {
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "required": ["q"],
            "properties": {"q": {"type": "string", "minLength": 9}, "n": {"type": "integer"}},
            "additionalProperties": False,
        }  # fmt: skip
        open_schema = {"type": "object", "required": ["q"], "properties": None}
        rows = [
            (schema, {"q": 5, "n": "many"}, {"q": 5, "n": "many"}),  # values pass as they came
            (schema, '{"q": null}', {"q": None}),
            (schema, {}, _bad("missing", at="args.q")),
            (schema, {"n": 1, "nn": 2}, _bad("missing", "unknown", at=["args.q", "args.nn"])),
            (schema, {"q": 1, "m": 2}, _bad("q, n", at="args.m")),
            (schema, "[1]", _bad("object", at="args")),
            (schema, 5, _bad("object", at="args")),
            (open_schema, {"q": 1, "z": [1]}, {"q": 1, "z": [1]}),
            (open_schema, {"z": 1}, _bad("missing", at="args.q")),
            (open_schema, "[1]", _bad("object", at="args")),
            ({"type": "object", "additionalProperties": False}, {"z": 1}, _bad(at="args.z")),
            ({}, {"z": 1}, {"z": 1}),
            ({}, "", {}),
            ({"required": None, "additionalProperties": {"type": "string"}}, {"z": 1}, {"z": 1}),
        ]
        for parameters, given, want in rows:
            with self.subTest("%s %s" % (parameters, given)):
                before = copy.deepcopy(parameters)
                made = agentloop.Tool("search", "Find.", parameters, lambda **found: found)
                self.assertIs(agentloop.registry([made])["search"], made)
                _check(self, _step_of(made, given), want)
                self.assertEqual(made.parameters, before)

    def test_a_tool_pickles_where_its_function_does(self):
        made = agentloop.tool(_sell)
        again = pickle.loads(pickle.dumps(made))
        self.assertEqual(again, made)
        step = _step_of(again, {"sku": 5, "qty": "2", "day": "2024-01-31"})
        self.assertEqual(step.observation, ("5", 2, datetime.date(2024, 1, 31)))


class RegistryTests(unittest.TestCase):
    """A tool is a function as it stands; the registry is a plain dict."""

    def test_a_whole_tool(self):
        def lookup_stock(sku: str, warehouse: typing.Literal["north", "south"] = "north") -> dict:
            """Return the quantity that can be sold now; read-only, reserves nothing.

            Args:
                sku: the product's SKU, for example "A1".
                warehouse: where to look.
            """
            return {"sku": sku, "warehouse": warehouse}

        tools = agentloop.registry([lookup_stock])
        self.assertIs(type(tools), dict)
        self.assertEqual(list(tools), ["lookup_stock"])
        found = tools["lookup_stock"]
        self.assertIs(found.function, lookup_stock)
        about = "Return the quantity that can be sold now; read-only, reserves nothing."
        self.assertEqual(found.description, about)
        places = {"type": "string", "enum": ["north", "south"], "description": "where to look."}
        sku = {"type": "string", "description": 'the product\'s SKU, for example "A1".'}
        self.assertEqual(
            _ordered(found.parameters),
            _object({"sku": sku, "warehouse": dict(places, default="north")}, ["sku"]),
        )
        step = _step_of(lookup_stock, {"sku": "A1", "warehouse": "SOUTH"})
        self.assertEqual(step.observation, {"sku": "A1", "warehouse": "south"})

    def test_decorator(self):
        flags = ("return_direct", "read_only", "idempotent")

        def double(n: int = 1) -> int:
            "Twice."
            return 2 * n

        rows = [({}, agentloop.tool(double)), ({}, agentloop.tool()(double))]
        rows += [({f: True}, agentloop.tool(**{f: True})(double)) for f in flags]
        for wanted, made in rows:
            self.assertIsInstance(made, agentloop.Tool)
            self.assertEqual(
                {f: getattr(made, f) for f in flags}, {**dict.fromkeys(flags, False), **wanted}
            )
            self.assertEqual((made.name, made.description), ("double", "Twice."))
            # Still callable as the function.
            self.assertEqual((made(4), made(n=5), made()), (8, 10, 2))
            self.assertEqual(_step_of(made, {"n": "3"}).observation, 6)

    def test_a_tool_is_not_made_a_tool_again(self):
        """It would be called "tool" and have the parameters of __call__."""

        def look(n: int, key: str = "") -> str:
            "Look."
            return "found %d with %r" % (n, key)

        made = agentloop.tool(name="find-it", read_only=True)(look)
        for again in (
            lambda: agentloop.tool(made), lambda: agentloop.tool(idempotent=True)(made),
            lambda: agentloop.tool(functools.partial(made, key="k")),
            lambda: agentloop.registry([functools.partial(made, key="k")]),
        ):  # fmt: skip
            with self.assertRaisesRegex(TypeError, r"'find-it' is a Tool already: .*\.function"):
                again()
        changed = dataclasses.replace(made, idempotent=True)
        self.assertEqual((changed.read_only, changed.idempotent), (True, True))
        self.assertEqual(_step_of(changed, {"n": "2"}).observation, "found 2 with ''")
        (bound,) = agentloop.registry([functools.partial(made.function, key="k")]).values()
        self.assertEqual(list(bound.parameters["properties"]), ["n"])

    def test_what_only_has_the_type_of_a_tool(self):
        class Mine:
            type = "Tool"

            def run(self):
                pass

        class Callable(Mine):
            def __call__(self, n: int) -> int:
                "Twice."
                return 2 * n

        with self.assertRaisesRegex(TypeError, "not a tool: pass a function"):
            agentloop.registry([Mine()])
        self.assertEqual(_step_of(Callable(), {"n": "2"}).observation, 4)

    def test_another_name(self):
        def look(n: int) -> str:
            "Look."
            return "found %d" % n

        made = agentloop.tool(name="find-it", read_only=True)(look)
        self.assertEqual((made.name, made.description, made.read_only), ("find-it", "Look.", True))
        self.assertEqual(made(2), "found 2")
        self.assertEqual(list(agentloop.registry([look, made])), ["look", "find-it"])
        self.assertEqual(agentloop.tool(look, name="x").name, "x")
        for wrong in ("", "a b", "a" * 65, 5):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "tool name"):
                agentloop.tool(name=wrong)(look)

    def test_what_it_takes(self):
        def one():
            return 1

        @agentloop.tool
        def two():
            return 2

        three = agentloop.Tool("three-3", "", {"type": "object"}, lambda: 3)
        rows = [
            ([one, two, three], ["one", "two", "three-3"]),
            ((three, one), ["three-3", "one"]),
            ((t for t in [one, two]), ["one", "two"]),
            (agentloop.registry([one, three]), ["one", "three-3"]),
            ({"two": two}, ["two"]),
            ((), []),
            ({}, []),
        ]
        for tools, names in rows:
            found = agentloop.registry(tools)
            self.assertIs(type(found), dict)
            self.assertEqual(list(found), names)
            for name, made in found.items():
                self.assertIsInstance(made, agentloop.Tool)
                self.assertEqual(made.name, name)
        self.assertIs(agentloop.registry([two])["two"], two)
        self.assertIs(agentloop.registry([three])["three-3"], three)

    def test_refused(self):
        def f():
            pass

        g = _source("def f(): return 2", "f")
        by_hand = agentloop.Tool("f", "", {}, print)
        rows: List[Any] = [
            ([lambda x: x], ValueError, "lambda", "def"),
            ([_Shop.sell], TypeError, "sell", "instance"),
            ([_Shop.hinted], TypeError, "hinted", "self"),
            ([dict.get], TypeError, "get", "instance"),
            ([f, g], ValueError, "two tools", "f"),
            ([f, by_hand], ValueError, "two tools", "f"),
            ({"g": f}, ValueError, "names"),
            ("f", TypeError, "tools", "list"),
            (f, TypeError, "tools", "list"),
            (5, TypeError, "tools", "5"),
            (None, TypeError, "tools"),
            ([5], TypeError, "5", "function"),
            (["f"], TypeError, "f", "function"),
            ([None], TypeError, "None is not a tool", "function"),
            ([_Shop], TypeError, "Shop", "function"),
            ([_Shop()], TypeError, "Shop", "function"),
        ]
        if sys.implementation.name == "cpython":
            rows.append(([iter], TypeError, "iter", "def"))
        for tools, error, *words in rows:
            with self.subTest(repr(tools)):
                for take in (agentloop.registry, lambda t: agentloop.stream(print, "go", t)):
                    with self.assertRaises(error) as caught:
                        take(tools)
                    for word in words:
                        self.assertIn(word, str(caught.exception))

    def test_the_schemas_of_two_tools_share_nothing(self):
        one, two = agentloop.tool(_tool("n: int")), agentloop.tool(_tool("n: int"))
        one.parameters["properties"]["n"]["description"] = "changed"
        self.assertEqual(two.parameters["properties"]["n"], {"type": "integer"})

    def test_a_tool_of_another_copy_of_the_file(self):
        spec = importlib.util.spec_from_file_location("another_copy", agentloop.__file__)
        another = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(another)
        made = another.tool(_tool("n: int"))
        self.assertIs(agentloop.registry([made])["tool"], made)
        self.assertEqual(_step_of(made, {"n": "2"}).observation, {"n": 2})
        _check(self, _step_of(made, {"n": "q", "m": 1}), _bad(at=["args.n", "args.m"]))


# == loop ==========================================================================================

# -- threads ---------------------------------------------------------------------------------------


class ParallelTests(unittest.TestCase):
    """Where all calls of a reply that can run are to read_only tools, they run at the same time."""

    def play(self, tools, *calls, **options):
        return _drive([list(calls), _end()], tools=tools, **options)

    @_real_threads
    def test_they_meet(self):
        met = threading.Barrier(3, timeout=10)

        @agentloop.tool(read_only=True)
        def meet(n: int):
            met.wait()
            return n, threading.current_thread() is threading.main_thread()

        run, error = self.play([meet], *[_act("meet", n=n) for n in range(3)])
        self.assertIsNone(error)
        self.assertEqual([s.observation for s in run.steps], [(0, False), (1, False), (2, False)])
        # Calls that cannot run do not count.
        run, error = self.play(
            [meet], _act("meet", n=0), _act("nosuch"), _act("meet", n="q"),
            _act("meet", n=1),
            _act("meet", n=2),
        )  # fmt: skip
        self.assertIsNone(error)
        statuses = ["ok", "unknown_tool", "invalid_arguments", "ok", "ok"]
        self.assertEqual(_statuses(run), statuses)

    @_real_threads
    def test_steps_are_recorded_in_the_order_asked(self):
        ended = [threading.Event() for _ in range(5)]

        @agentloop.tool(read_only=True)
        def last_first(n: int):
            if n < 4:
                ended[n + 1].wait(10)
            ended[n].set()
            if n == 2:
                raise ValueError("two")
            return n

        run, error = self.play(
            [last_first], *[_act("last_first", "c%d" % n, n=n) for n in range(5)]
        )
        self.assertIsNone(error)
        self.assertEqual([s.action.call_id for s in run.steps], ["c0", "c1", "c2", "c3", "c4"])
        self.assertEqual([s.observation for s in run.steps], [0, 1, "ValueError: two", 3, 4])

    @_real_threads
    def test_a_call_may_take_longer_than_a_second(self):
        @agentloop.tool(read_only=True)
        def slow(n: float):
            threading.Event().wait(n)
            return n

        run, error = self.play([slow], _act("slow", n=1.2), _act("slow", n=0))
        self.assertEqual((error, [s.observation for s in run.steps]), (None, [1.2, 0]))

    @_real_threads
    def test_at_most_sixteen_at_once(self):
        lock, more = threading.Lock(), threading.Event()
        begun: List[int] = []
        # While sixteen are under way, a seventeenth has a tenth of a second to begin, wrongly.
        full = threading.Barrier(16, action=lambda: more.wait(0.1), timeout=10)

        @agentloop.tool(read_only=True)
        def busy(n: int):
            with lock:
                begun.append(n)
                if len(begun) > 16 and not first_over.is_set():
                    more.set()
            full.wait()
            first_over.set()
            return n

        first_over = threading.Event()
        run, error = self.play([busy], *[_act("busy", n=n) for n in range(32)])
        self.assertIsNone(error)
        self.assertEqual([s.observation for s in run.steps], list(range(32)))
        self.assertFalse(more.is_set())

    @_real_threads
    def test_each_has_a_copy_of_the_context(self):
        variable = contextvars.ContextVar("variable")
        set_it = threading.Barrier(3, timeout=10)

        @agentloop.tool(read_only=True)
        def look(n: int):
            before = variable.get()
            variable.set(n)
            set_it.wait()
            return before, variable.get()

        variable.set("outside")
        run, _ = self.play([look], *[_act("look", n=n) for n in range(3)])
        self.assertEqual([s.observation for s in run.steps], [("outside", n) for n in range(3)])
        self.assertEqual(variable.get(), "outside")

    def test_one_call_that_can_run_stays_in_the_callers_thread(self):
        @agentloop.tool(read_only=True)
        def look():
            return threading.get_ident()

        for reply in ([_act("look")], [_act("nosuch"), _act("look")]):
            run, _ = self.play([look], *reply)
            self.assertEqual(run.steps[-1].observation, threading.get_ident())

    def test_else_the_callers_thread_runs_them_in_turn(self):
        here = threading.current_thread()
        log: List[Any] = []

        @agentloop.tool(read_only=True)
        def read(n: int):
            log.append((n, threading.current_thread() is here))

        def write(n: int):
            log.append((n, threading.current_thread() is here))

        @agentloop.tool(idempotent=True)
        def put(n: int):
            log.append((n, threading.current_thread() is here))

        mixes = ["read write", "write read", "write write", "read read put", "put put"]
        for mix in mixes:
            del log[:]
            calls = [_act(name, n=n) for n, name in enumerate(mix.split())]
            run, _ = self.play([read, write, put], *calls)
            self.assertEqual(log, [(n, True) for n in range(len(calls))], mix)
            self.assertEqual(_statuses(run), ["ok"] * len(calls))

    def test_without_threads(self):
        @agentloop.tool(read_only=True)
        def read(n: int):
            return n

        calls = [_act("read", n=n) for n in range(20)]
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no more")):
            run, error = self.play([read], *calls)
        self.assertIsNone(error)
        self.assertEqual([s.observation for s in run.steps], list(range(20)))

    def test_closed_while_they_run(self):
        @agentloop.tool(read_only=True)
        def read(n: int):
            return n

        run = agentloop.AgentRun("go")
        model = agentloop.Scripted([[_act("read", "c%d" % n, n=n) for n in range(3)], _end()])
        log = []
        for event in agentloop.stream(model, run, [read]):
            if isinstance(event, agentloop.AgentStep):
                log.append((event.action.call_id, event.status, event.observation))
                if event.action.call_id == "c0":
                    run.close(run.pending[-1], "too late", "denied")
        self.assertEqual(log, [("c0", "ok", 0), ("c2", "denied", "too late"), ("c1", "ok", 1)])
        self.assertEqual((len(run.steps), run.started, run.output), (3, [], "done"))


class ParallelInterruptTests(unittest.TestCase):
    """Parallel calls of which one leaves, or Ctrl-C comes: what ended is kept, nobody waits for the rest."""

    def interrupt(self, interrupt, wanted):
        """One of three calls is interrupted; one has ended by then, one goes on for ever."""
        release, quick_thread = threading.Event(), []
        quick_began = threading.Event()
        self.addCleanup(release.set)
        asked: List[str] = []

        @agentloop.tool(read_only=True)
        def look(what: str):
            asked.append(what)
            if len(asked) > 3:
                return what + " again"
            if what == "quick":
                quick_thread.append(threading.current_thread())
                quick_began.set()
            elif what == "slow":
                release.wait(30)
            else:
                quick_began.wait(10)
                quick_thread[0].join(10)  # it was the last: its thread ends with it
                interrupt(release)
            return what

        calls = [_act("look", what, what=what) for what in ("broken", "slow", "quick")]
        model = agentloop.Scripted([calls, _end()])
        run, error = _drive(model, tools=[look])
        self.assertFalse(release.is_set())  # it did not wait for the rest
        self.assertIsInstance(error, wanted)
        # What ended is recorded first.
        self.assertEqual([s.action.call_id for s in run.steps], ["quick"])
        self.assertEqual((run.started, len(run.pending)), (["broken", "slow"], 2))
        self.assertEqual(run.state, "running")
        release.set()
        run, error = _drive(model, run, tools=[look])
        self.assertIsNone(error)
        self.assertEqual(
            [s.observation for s in run.steps], ["quick", "broken again", "slow again"]
        )
        self.assertEqual((run.requests, run.output), (2, "done"))

    @_real_threads
    def test_a_tool_that_leaves(self):
        for error in (KeyboardInterrupt, SystemExit):
            with self.subTest(error.__name__):

                def leave(release, error=error):
                    raise error

                self.interrupt(leave, error)

    @unittest.skipUnless(
        threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill"),
        "Ctrl-C comes to the main thread",
    )
    def test_ctrl_c(self):
        came = threading.Event()

        def handler(number, frame):
            under_way = set()
            while frame:
                under_way.add(frame.f_code.co_name)
                frame = frame.f_back
            if "wait" in under_way and "start" not in under_way:  # the loop waits for its calls
                came.set()
                raise KeyboardInterrupt

        def press(release):
            while not came.is_set():
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                came.wait(0.01)
            release.wait(30)

        old = signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, old)
        self.interrupt(press, KeyboardInterrupt)

    @_real_threads
    def test_calls_that_wait_for_a_thread_do_not_begin_after_ctrl_c(self):
        begun, go_on = [], threading.Event()

        @agentloop.tool(read_only=True)
        def look(n: int) -> int:
            begun.append(n)
            if n == 0:
                raise KeyboardInterrupt
            go_on.wait(30)
            return n

        calls = [agentloop.AgentAction("look", {"n": n}) for n in range(40)]
        others = set(threading.enumerate())
        with self.assertRaises(KeyboardInterrupt):
            agentloop.run(agentloop.Scripted([calls]), "go", [look])
        go_on.set()
        for thread in set(threading.enumerate()) - others:
            thread.join(30)
            self.assertFalse(thread.is_alive())
        self.assertLessEqual(len(begun), 18)

    @_processes
    def test_the_process_does_not_wait_either(self):
        script = (
            "import threading, agentloop\n"
            "def look(n: int):\n    if n: threading.Event().wait()\n    raise KeyboardInterrupt\n"
            "calls = [agentloop.AgentAction('look', {'n': n}) for n in (0, 1)]\n"
            "tools = [agentloop.tool(read_only=True)(look)]\n"
            "try:\n    agentloop.run(agentloop.Scripted([calls]), 'go', tools)\n"
            "except KeyboardInterrupt:\n    print('left')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=os.path.dirname(os.path.abspath(agentloop.__file__)),
            capture_output=True, stdin=subprocess.DEVNULL, timeout=30,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"left"), done.stderr)

    @_real_threads
    def test_dropped_after_the_rest_has_ended(self):
        threads: List[Any] = [None, None]

        @agentloop.tool(read_only=True)
        def look(n: int):
            threads[n] = threading.current_thread()
            return n

        run = agentloop.AgentRun("go")
        calls = [_act("look", "c%d" % n, n=n) for n in range(2)]
        model = agentloop.Scripted([calls, _end()])
        events = agentloop.stream(model, run, [look])
        _go_to_first_step(events)
        while threads[1] is None:
            threads[0].join(0.01)
        threads[1].join(10)
        events.close()
        self.assertEqual([s.observation for s in run.steps], [0, 1])
        self.assertEqual((run.pending, run.started), ([], []))
        self.assertEqual([str(e) for e in agentloop.stream(model, run)], ["finish: done"])

    @_real_threads
    def test_a_repeated_failure_that_had_ended(self):
        threads: List[Any] = []

        @agentloop.tool(read_only=True)
        def look():
            threads.append(threading.current_thread())
            raise LookupError("no row")

        run = agentloop.AgentRun("go")
        model = agentloop.Scripted([[_act("look", "c%d" % n) for n in range(2)], _end()])
        events = agentloop.stream(model, run, [look])
        _go_to_first_step(events)
        while len(threads) < 2:
            threads[0].join(0.01)
        for thread in threads:
            thread.join(10)
        events.close()
        first, second = (s.observation for s in run.steps)
        self.assertEqual(first, "LookupError: no row")
        self.assertRegex(second, r"LookupError: no row\n.* 2 times.* will not help")


# -- calling a tool --------------------------------------------------------------------------------


class ToolNameTests(unittest.TestCase):
    """Which tool a name in a call means, and what an unknown name is answered."""

    def test_an_unknown_tool(self):
        def lookup_stock(sku: str = ""):
            return "found"

        def lookup_price(sku: str = ""):
            return "found"

        tools = [lookup_stock, lookup_price]
        rows = [
            ("lookup_stok", ["lookup_stock", "lookup_price", 'did you mean "lookup_stock"']),
            ("LOOKUP_PRICES", ["lookup_stock", "lookup_price"]),
            ("delete_everything", ["lookup_stock", "lookup_price"]),
            ("x" * 99999, ["lookup_stock"]),
        ]
        for name, words in rows:
            with self.subTest(name[:40]):
                run, _ = _drive([_act(name), _end()], tools=tools)
                self.assertEqual(_statuses(run), ["unknown_tool"])
                for word in words:
                    self.assertIn(word, run.steps[0].observation)
                self.assertLess(len(run.steps[0].observation), 500)
        run, _ = _drive([_act("lookup_stok"), _end()])
        self.assertIn("no tools", run.steps[0].observation)
        many = [agentloop.Tool("t%02d" % n, "", {}, print) for n in range(51)]
        run, _ = _drive([_act("nosuch"), _end()], tools=many)
        known = ", ".join("t%02d" % n for n in range(50))
        self.assertTrue(run.steps[0].observation.endswith("known: " + known))

    def test_a_name_is_resolved_before_it_is_shown(self):
        def stock(n: int = 0):
            return "found"

        rows = [
            (" stock", "stock"), ("stock\n", "stock"), ("functions.stock", "stock"),
            ("\tfunctions.stock ", "stock"), ("stock<|channel|>commentary", "stock"),
            ("functions.stock<|constrain|>json", "stock"), ("stock<|message|>", "stock"),
            ("stok", None), ("functions.stok", None), ("functions.functions.stock", None),
            ("functions.", None), ("<|channel|>stock", None), ("Stock", None), ("x.stock", None),
        ]  # fmt: skip
        for name, resolved in rows:
            with self.subTest(name):
                run, given, shown = agentloop.AgentRun("go"), _act(name), []
                for event in agentloop.stream(agentloop.Scripted([given, _end()]), run, [stock]):
                    if isinstance(event, agentloop.AgentAction):
                        shown.append((event.tool, run.pending[0].tool))
                self.assertEqual(shown, [(resolved or name,) * 2])
                self.assertEqual(run.steps[0].action.tool, resolved or name)
                self.assertEqual(_statuses(run), ["ok" if resolved else "unknown_tool"])
                self.assertEqual(given.tool, name)  # the model's object stays as it was
        calls = [_act(name, n="q") for name in ("stock", " stock", "functions.stock")]
        run, _ = _drive([*calls, _end()], tools=[stock])
        self.assertIn("3 times", run.steps[2].observation)  # they are the same call

    def test_a_name_is_never_guessed_between_two(self):
        def stock():
            return "small"

        shout = agentloop.Tool("STOCK", "", {}, lambda: "great")
        for name, status in (
            ("stock", "ok"), ("STOCK", "ok"), ("Stock", "unknown_tool"),
            ("somewhere.stock", "unknown_tool"),  # only "functions." is left out
        ):  # fmt: skip
            run, _ = _drive([_act(name), _end()], tools=[stock, shout])
            self.assertEqual(_statuses(run), [status], name)


class ToolResultTests(unittest.TestCase):
    """What a tool returns, raises, prints or does is a step, whatever it is."""

    def test_the_observation_is_the_tools_own_value(self):
        values = [
            object(), {1: 2}, (1,), None, "", 1.5, b"x", agentloop.Image(b"x"),
            [agentloop.Image(b"x")],
        ]  # fmt: skip
        made = [_tool("n: int", body="return values[n]")]
        made[0].__globals__["values"] = values
        run, _ = _drive([[_act("tool", n=n) for n in range(len(values))], _end()], tools=made)
        for step, value in zip(run.steps, values):
            self.assertIs(step.observation, value)
            self.assertEqual(step.status, "ok")

    def test_a_tool_that_raises(self):
        class Odd(Exception):
            def __str__(self):
                raise ZeroDivisionError

        rows = [
            (ValueError("no such row"), "ValueError: no such row"),
            (KeyError("k"), "KeyError: 'k'"),
            (RuntimeError(), "RuntimeError"), (Odd(), "Odd"),
            (StopIteration("dry"), "StopIteration: dry"),
            (TypeError("f() missing 1 argument"), "TypeError: f() missing 1 argument"),
            (agentloop.InvalidResponse("x"), "InvalidResponse: x"),
            (Exception("é\n"), "Exception: é\n"),
        ]  # fmt: skip

        def f(n: int):
            raise rows[n][0]

        for n, (_, text) in enumerate(rows):
            run, error = _drive([_act("f", n=n), _end()], tools=[f])
            self.assertIsNone(error)
            self.assertEqual(_statuses(run), ["tool_error"])
            self.assertTrue(run.steps[0].observation.startswith(text), run.steps[0].observation)
        run, _ = _drive([_act("f", n=2), _end()], tools=[f])
        self.assertEqual(run.steps[0].observation, "RuntimeError", "nothing more is known")

    def test_a_result_that_is_huge_or_no_json(self):
        big = "x" * 10_000_000

        def huge():
            return big

        def no_json():
            return {1j, print}

        for tool, value in ((huge, big), (no_json, {1j, print})):
            step = _step_of(tool, {})
            self.assertEqual((step.status, step.observation), ("ok", value))
            self.assertLess(len(str(step)), 500)
            json.dumps(agentloop.to_json(step))

    def test_a_tool_that_prints(self):
        def prints():
            print("hello from the tool")
            return "printed"

        def silent():
            return "nothing"

        for tool, value, printed in (
            (prints, "printed", "hello from the tool\n"),
            (silent, "nothing", ""),
        ):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                step = _step_of(tool, {})
            self.assertEqual((step.observation, out.getvalue()), (value, printed))

    def test_a_tool_that_recurses(self):
        def recurses():
            return recurses()

        step = _step_of(recurses, {})
        self.assertEqual(step.status, "tool_error")
        self.assertIn("RecursionError", step.observation)

    def test_a_tool_that_changes_its_arguments(self):
        def changes(rows: List[Dict[str, int]]):
            rows[0].clear()
            rows.append({})
            return len(rows)

        step = _step_of(changes, {"rows": [{"a": 1}]})
        self.assertEqual((step.observation, step.action.tool_input), (2, {"rows": [{"a": 1}]}))

    def test_a_tool_that_exits(self):
        def fine():
            return "fine"

        def exits():
            sys.exit(3)

        run, error = _drive(
            [[_act("fine", "c1"), _act("exits", "c2")], _end()], tools=[fine, exits]
        )
        self.assertEqual((type(error), error.code), (SystemExit, 3))
        self.assertEqual((_statuses(run), run.started), (["ok"], ["c2"]))

    def test_a_result_that_cannot_be_looked_at(self):
        class Detached:
            def __getattribute__(self, name):
                raise RuntimeError("the session is closed")

        class LazyList(list):
            def __iter__(self):
                raise RuntimeError("lazy")

            __len__ = __iter__

        class LazyDict(dict):
            def items(self):
                raise RuntimeError("lazy")

            __iter__ = keys = values = items

        class Arrays:
            type = property(lambda self: [])

            def __eq__(self, other):
                return self

            def __bool__(self):
                raise ValueError("ambiguous")

            def __repr__(self):
                raise RuntimeError("no text")

            __hash__ = None

        def get():
            return value

        for odd in (Detached(), LazyList([1]), LazyDict(a=1), Arrays()):
            for value in (odd, [odd], {"x": odd}, (odd,)):
                with self.subTest(type(odd).__name__):
                    run, error = _drive([_act("get"), _end()], tools=[get])
                    self.assertIsNone(error)
                    self.assertEqual((_statuses(run), run.output), (["ok"], "done"))
                    self.assertIs(run.steps[0].observation, value)
                    self.assertLess(len(str(run.steps[0])), 400)
                    json.dumps(agentloop.to_json(run))


@unittest.skipIf(_BROWSER, "asyncio.run does not work there")
class AsyncToolTests(unittest.TestCase):
    """Coroutine functions and generators are run to their end."""

    def tools(self):
        here = threading.current_thread()
        variable = contextvars.ContextVar("variable", default="unset")

        async def fetch(n: int):
            await asyncio.sleep(0)
            return n + 1

        async def fail(n: int):
            await asyncio.sleep(0)
            raise LookupError("row %d" % n)

        async def context(n: int):
            return variable.get()

        async def apart(n: int):
            return threading.current_thread() is not here

        async def leave(n: int):
            raise SystemExit(n)

        async def count(n: int):
            for k in range(n):
                yield k

        def later(n: int):
            return fetch(n)

        class Promise:
            def __init__(self, n):
                self.n = n

            def __await__(self):
                yield from asyncio.sleep(0).__await__()
                return self.n

        def promise(n: int):
            return Promise(n)

        def steps(n: int):
            yield from range(n)

        async def later_steps(n: int):
            return steps(n)

        async def later_count(n: int):
            return count(n)

        def broken(n: int):
            yield n
            raise LookupError("row %d" % n)

        tools = [fetch, fail, context, apart, leave, count, later, promise, steps, broken]
        tools += [later_steps, later_count]
        return variable, tools

    def play(self, inside):
        variable, tools = self.tools()
        variable.set("set")
        rows = [
            ("fetch", "ok", 4),
            ("later", "ok", 4),
            ("promise", "ok", 3),
            ("fail", "tool_error", "LookupError: row 3"),
            ("context", "ok", "set"),
            ("apart", "ok", inside),  # in a thread of its own only where it must be
            ("count", "ok", [0, 1, 2]),
            ("steps", "ok", [0, 1, 2]),
            ("later_steps", "ok", [0, 1, 2]),
            ("later_count", "ok", [0, 1, 2]),
            ("broken", "tool_error", "LookupError: row 3"),
        ]
        for name, status, observation in rows:
            with self.subTest(name):
                run, error = _drive([_act(name, n=3), _end()], tools=tools)
                self.assertIsNone(error)
                self.assertEqual(
                    (run.steps[0].status, run.steps[0].observation), (status, observation)
                )
        run, error = _drive([_act("leave", "c1", n=3), _end()], tools=tools)
        self.assertIsInstance(error, SystemExit)
        self.assertEqual(run.started, ["c1"])

    def test_outside_an_event_loop(self):
        self.play(False)

    def test_inside_an_event_loop(self):
        async def main():
            self.play(True)

        asyncio.run(main())

    def test_inside_an_event_loop_without_threads(self):
        """A tool_error, and nothing is left behind that was never awaited."""
        _, tools = self.tools()

        async def main():
            with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no more")):
                return [
                    _drive([_act(name, n=1), _end()], tools=tools)[0]
                    for name in ("fetch", "later", "promise", "count")
                ]

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            runs = asyncio.run(main())
            gc.collect()
        for run in runs:
            self.assertEqual((_statuses(run), run.output), (["tool_error"], "done"))
        never_awaited = [str(w.message) for w in caught if w.category is RuntimeWarning]
        self.assertEqual(never_awaited, [])

    def test_at_the_same_time(self):
        _, tools = self.tools()
        tools = [agentloop.tool(read_only=True)(t) for t in tools]
        run, _ = _drive([[_act("fetch", n=k) for k in range(5)], _end()], tools=tools)
        self.assertEqual([s.observation for s in run.steps], [1, 2, 3, 4, 5])

    def test_the_items_of_a_generator_are_bounded_and_the_bound_is_reported(self):
        closed = []

        def endless():
            try:
                n = 0
                while True:
                    yield n
                    n += 1
            finally:
                closed.append(n)

        async def endless_too():
            n = 0
            while True:
                yield n
                n += 1

        def some(n: int):
            yield from range(n)

        async def some_too(n: int):
            for k in range(n):
                yield k

        for forever, some_of in ((endless, some), (endless_too, some_too)):
            found = _step_of(forever, {}).observation
            bound = len(found) - 1
            self.assertEqual(bound, 10_000)
            self.assertEqual(found[:-1], list(range(bound)))
            self.assertIn(str(bound), found[-1])
            whole = _step_of(some_of, {"n": bound}).observation
            self.assertEqual(whole, list(range(bound)))
            self.assertEqual(_step_of(some_of, {"n": bound + 1}).observation, found)
            self.assertEqual(_step_of(some_of, {"n": 0}).observation, [])
        self.assertEqual(closed, [10_000], "no more was taken than to see that there is more")


# -- the loop --------------------------------------------------------------------------------------


class LoopStartTests(unittest.TestCase):
    """What stream and run take, and what they refuse at once."""

    def test_signatures(self):
        for call in (agentloop.run, agentloop.stream):
            parameters = inspect.signature(call).parameters
            names = ["model", "task", "tools", "max_requests", "accept", "journal"]
            self.assertEqual(list(parameters), names)
            defaults = [parameters[n].default for n in names[2:]]
            self.assertEqual(defaults, [(), 10, None, None])
            for name in names[3:]:
                self.assertIs(parameters[name].kind, inspect.Parameter.KEYWORD_ONLY)

    def test_tasks(self):
        image = agentloop.Image(b"x")
        for task in ("go", "", ["go"], [image], ["a", image, "b"]):
            run, _ = _drive([_end()], task)
            self.assertIs(run.task, task)
            self.assertEqual((run.state, run.output), ("model_ended", "done"))
        given = agentloop.AgentRun("go")
        self.assertIs(agentloop.run(agentloop.Scripted([_end()]), given), given)
        for task in (None, 5, [], {}, ["a", 5], (), ("a",), b"go", [b"x"], image):
            for call in (agentloop.run, agentloop.stream):
                with self.subTest(repr(task)), self.assertRaises(TypeError) as caught:
                    call(agentloop.Scripted([_end()]), task)
                self.assertIn("task", str(caught.exception))
                self.assertIn("got %r" % (task,), str(caught.exception))

    def test_max_requests(self):
        rows = [(v, TypeError) for v in (True, False, None, 1.0, "3", [3])]
        rows += [(-1, ValueError), (-(10**9), ValueError)]
        for value, error in rows:
            for call in (agentloop.run, agentloop.stream):
                with self.subTest(repr(value)), self.assertRaises(error) as caught:
                    call(agentloop.Scripted([]), "go", max_requests=value)
                self.assertIn("max_requests", str(caught.exception))

    def test_a_model_and_accept_are_called(self):
        for model, accept in (
            (None, None),
            ("gpt", None),
            (5, None),
            (print, True),
            (print, "yes"),
        ):
            with self.subTest((model, accept)), self.assertRaises(TypeError):
                agentloop.stream(model, "go", accept=accept)

    def test_nothing_happens_before_the_first_event_is_asked_for(self):
        seen = []
        events = agentloop.stream(lambda run, tools: seen.append(1) or _end(), "go")
        self.assertEqual(seen, [])
        self.assertEqual([str(e) for e in events], ["finish: done"])

    def test_a_finished_run_yields_nothing(self):
        asked = []
        for accept in (None, lambda run: None):
            run, _ = _drive([_end()], accept=accept)
            before = copy.deepcopy(run)
            events = list(agentloop.stream(agentloop.Scripted([]), run, accept=asked.append))
            self.assertIs(agentloop.run(agentloop.Scripted([]), run), run)
            self.assertEqual((events, run, asked), ([], before, []))


class EventTests(unittest.TestCase):
    """The order of what happens, of what is yielded, and of what the run holds at that moment."""

    def test_one_reply_after_another(self):
        log: List[str] = []

        def f(n: int):
            log.append("f%d" % n)
            return n

        def model(run, tools):
            log.append("request %d" % run.requests)
            replies = {1: [_act("f", "c1", n=1), _act("f", "c2", n=2)], 2: _act("f", "c3", n=3)}
            return replies.get(run.requests) or _end(7)

        run = agentloop.AgentRun("go")
        events = agentloop.stream(model, run, [f])
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                self.assertIs(end.value, run)
                break
            log.append(str(event))
            # What is yielded is already in the run.
            if isinstance(event, agentloop.AgentAction):
                self.assertTrue(any(a is event for a in run.pending))
            elif isinstance(event, agentloop.AgentStep):
                self.assertIs(run.steps[-1], event)
                self.assertFalse(any(a is event.action for a in run.pending))
            else:
                self.assertIs(run.finish, event)
                self.assertEqual(run.state, "model_ended")
        self.assertEqual(
            log,
            ["request 1", "f(n=1)", "f(n=2)", "f1", "f(n=1) -> ok: 1", "f2", "f(n=2) -> ok: 2",
             "request 2", "f(n=3)", "f3", "f(n=3) -> ok: 3", "request 3", "finish: 7"],
        )  # fmt: skip
        self.assertEqual((run.requests, run.output, run.pending, run.started), (3, 7, [], []))
        self.assertEqual([s.action.request for s in run.steps], [1, 1, 2])

    def test_all_actions_of_a_reply_become_pending_at_once(self):
        run = agentloop.AgentRun("go")
        reply = [_act("f", "c%d" % n) for n in range(3)]
        events = agentloop.stream(agentloop.Scripted([reply]), run)
        next(events)
        self.assertEqual([a.call_id for a in run.pending], ["c0", "c1", "c2"])
        events.close()

    def test_the_loop_works_on_copies(self):
        def f(n: int, action: agentloop.AgentAction):
            return action

        message = {"role": "assistant"}
        action = agentloop.AgentAction("f", {"n": "1"}, "", "Hm.", message)
        finish = agentloop.AgentFinish(["x"], "Hm.", message, "odd")
        before = copy.deepcopy([action, finish])
        run, _ = _drive([[action, action], finish], tools=[f])
        self.assertEqual([action, finish], before)
        for step in run.steps:
            self.assertIsNot(step.action, action)
            self.assertIs(step.action.message, message)  # untouched, shared
            self.assertEqual((step.action.log, step.action.request), ("Hm.", 1))
            self.assertIs(step.observation, step.action)
        self.assertIsNot(run.finish, finish)
        self.assertEqual(run.finish, finish)
        self.assertIs(run.output, finish.output)

    def test_run_drains_stream(self):
        decisions = [_act("nosuch", "c1"), _end("x")]
        run = agentloop.AgentRun("go")
        for _ in agentloop.stream(agentloop.Scripted(decisions), run):
            pass
        self.assertEqual(agentloop.run(agentloop.Scripted(decisions), "go"), run)


class OneDriverTests(_PendingCase):
    """A run has one driver at a time."""

    def test_one_driver_at_a_time(self):
        run, model, events = self.start()
        next(events)
        before = copy.deepcopy(run)
        for second in (agentloop.run, lambda *a: list(agentloop.stream(*a))):
            with self.assertRaises(RuntimeError):
                second(model, run, [self.pay])
        self.assertEqual((run, self.ran), (before, []))
        self.assertEqual(len(list(events)), 4)  # the first goes on
        self.assertEqual((run.output, self.ran), ("done", [1, 2]))
        self.assertEqual(
            agentloop.run(model, run.follow_up("and?"), max_requests=0).state, "budget_exhausted"
        )

    def test_a_dropped_generator_lets_go(self):
        """At once, also where it waits to be collected: on PyPy, or here in a cycle."""
        for in_cycle in (False, True):
            with self.subTest(in_cycle=in_cycle):
                run, model, events = self.start()
                next(events)
                cycle: List[Any] = [events] if in_cycle else []
                cycle.append(cycle)
                del events, cycle
                self.assertEqual(agentloop.run(model, run, [self.pay]).output, "done")

    def test_a_tool_cannot_drive_its_own_run(self):
        def again(run: agentloop.AgentRun):
            return agentloop.run(agentloop.Scripted([_end()]), run).output

        run, error = _drive([_act("again"), _end()], tools=[again])
        self.assertIsNone(error)
        self.assertEqual(_statuses(run), ["tool_error"])
        self.assertIn("RuntimeError", run.steps[0].observation)


class PendingTests(_PendingCase):
    """Runs that were interrupted and are resumed."""

    def test_a_stream_is_left_in_the_middle_of_many_calls(self):
        def look(n: int) -> int:
            return n

        for made in (look, agentloop.tool(read_only=True)(look)):
            run = agentloop.AgentRun("go")
            model = agentloop.Scripted([[_act("look", n=n) for n in range(20_000)]])
            with _at_once(self):
                events = agentloop.stream(model, run, [made])
                for event in events:
                    if isinstance(event, agentloop.AgentStep) and len(run.steps) >= 10_000:
                        break
                events.close()
            self.assertEqual(len(run.steps) + len(run.pending), 20_000)
            self.assertGreaterEqual(len(run.steps), 10_000)

    def test_pending_actions_are_yielded_again_before_any_runs(self):
        run, model, events = self.start("c1", "c2", "c3")
        self.assertEqual(next(events).call_id, "c1")
        events.close()
        self.assertEqual((self.ran, [a.call_id for a in run.pending]), ([], ["c1", "c2", "c3"]))
        self.assertEqual((run.state, run.requests), ("running", 1))
        for again in (_saved(run), copy.deepcopy(run), run):
            del self.ran[:]
            events = agentloop.stream(model, again, [self.pay])
            self.assertEqual([next(events).call_id for _ in range(3)], ["c1", "c2", "c3"])
            self.assertEqual(self.ran, [])
            rest = list(events)
            self.assertEqual([getattr(e, "status", None) for e in rest], ["ok", "ok", "ok", None])
            self.assertEqual((self.ran, again.requests, again.output), ([1, 2, 3], 2, "done"))

    def test_interrupted_after_a_step(self):
        run, model, events = self.start("c1", "c2", "c3")
        _go_to_first_step(events)
        events.close()
        self.assertEqual(
            (self.ran, [a.call_id for a in run.pending], run.started), ([1], ["c2", "c3"], [])
        )
        events = list(agentloop.stream(model, run, [self.pay]))
        self.assertEqual(
            [e.call_id for e in events if isinstance(e, agentloop.AgentAction)], ["c2", "c3"]
        )
        self.assertEqual((self.ran, run.output), ([1, 2, 3], "done"))

    def test_interrupted_calls(self):
        """As in the journal's table, without a journal."""

        def tools_of(mark):
            calls: List[str] = []

            @mark
            def put():
                calls.append("put")
                if len(calls) == 1:
                    raise KeyboardInterrupt
                return "put"

            def note():
                calls.append("note")

            return calls, [put, note]

        tool = agentloop.tool
        rows = [
            (tool(read_only=True), "ok", 2),
            (tool(idempotent=True), "ok", 2),
            (tool(), "unknown_outcome", 1),
            (tool(return_direct=True), "unknown_outcome", 1),
        ]
        model = agentloop.Scripted([[_act("put", "c1"), _act("note", "c2")], _end()])
        for mark, status, times in rows:
            for resumed in (lambda run: run, _saved, copy.deepcopy):
                with self.subTest((mark, resumed)):
                    calls, tools = tools_of(mark)
                    run, error = _drive(model, tools=tools)
                    self.assertIsInstance(error, KeyboardInterrupt)
                    self.assertEqual((run.started, run.steps, run.state), (["c1"], [], "running"))
                    run, error = _drive(model, resumed(run), tools=tools)
                    self.assertIsNone(error)
                    self.assertEqual(_statuses(run), [status, "ok"])
                    self.assertTrue(str(run.steps[0].observation).strip())
                    self.assertEqual((calls, run.started), (["put"] * times + ["note"], []))
                    self.assertEqual((run.output, run.requests), ("done", 2))

    def test_interrupted_calls_whose_arguments_no_longer_fit(self):
        """It may have taken effect: `invalid_arguments` would say that it was not executed."""

        def pay(n: int):
            raise KeyboardInterrupt

        def renamed(amount: int):
            self.fail("it is called without its argument")

        model = agentloop.Scripted([_act("pay", "c1", n=1), _end()])
        for options in ({"idempotent": True}, {"read_only": True}):
            with self.subTest(options):
                run, error = _drive(model, tools=[agentloop.tool(**options)(pay)])
                self.assertIsInstance(error, KeyboardInterrupt)
                after = agentloop.tool(name="pay", **options)(renamed)
                run, error = _drive(model, run, tools=[after])
                self.assertIsNone(error)
                self.assertEqual(_statuses(run), ["unknown_outcome"])
                self.assertIn("not known", run.steps[0].observation)

    def test_done_and_still_pending(self):
        """Ctrl-C came while a call got its step: it is known by it, and does not run again."""
        decisions = [[_act("pay", "c1", n=1), _act("pay", "c2", n=2)], _end()]
        pickled = lambda run: pickle.loads(pickle.dumps(run))  # noqa: E731
        for resumed in (lambda run: run, copy.deepcopy, pickled):
            del self.ran[:]
            action, other = _act("pay", "c1", n=1), _act("pay", "c2", n=2)
            action.request = other.request = 1
            step = agentloop.AgentStep(action, "paid 1")
            run = agentloop.AgentRun("go", [step], [action, other], ["c1"], requests=1)
            follow = copy.deepcopy(run).follow_up("and?")
            statuses = ["ok", "not_executed"]
            self.assertEqual([_statuses(turn) for turn in follow.history], [statuses])
            run, error = _drive(decisions, resumed(run), tools=[self.pay])
            self.assertIsNone(error)
            self.assertEqual((_statuses(run), self.ran, run.started), (["ok", "ok"], [2], []))

    def test_tools_may_differ_from_one_call_to_the_next(self):
        def put(n: int = 0):
            raise KeyboardInterrupt

        def other():
            return "other"

        model = agentloop.Scripted([[_act("put", "c1"), _act("put", "c2")], _act("other"), _end()])
        run, _ = _drive(model, tools=[put])
        run, error = _drive(model, run, tools=[other])
        self.assertIsNone(error)
        self.assertEqual(_statuses(run), ["unknown_outcome", "unknown_tool", "ok"])

    def test_a_step_that_the_caller_takes_out_hides_no_other(self):
        """While the stream is suspended, run.steps is the caller's to shorten."""
        for take_out in (
            lambda steps: steps.pop(0),
            lambda steps: steps.clear(),
            lambda steps: steps.__setitem__(-1, copy.deepcopy(steps[-1])),
        ):
            run, seen = agentloop.AgentRun("go"), []
            unreadable = agentloop.InvalidResponse("unreadable")
            script = agentloop.Scripted([_act("look", n=1), _act("look", n=2), unreadable, _end()])
            for event in agentloop.stream(script, run, [_look_at]):
                seen.append(_named(event))
                if seen[-1] in ("look 1: ok", "look 2: ok"):
                    take_out(run.steps)
            self.assertEqual(
                seen,
                ["look 1", "look 1: ok", "look 2", "look 2: ok"]
                + ["reply: invalid_response", "finish"],
            )


class ClosedByCallerTests(_PendingCase):
    """Calls that a caller closes while the loop has them."""

    def test_close_while_suspended(self):
        rows = [
            ({"c1"}, [2, 3], ["denied", "ok", "ok"], ["c1", "c2", "c3"]),
            ({"c2"}, [1, 3], ["denied", "ok", "ok"], ["c2", "c1", "c3"]),
            ({"c3"}, [1, 2], ["denied", "ok", "ok"], ["c3", "c1", "c2"]),
            ({"c1", "c2", "c3"}, [], ["denied"] * 3, ["c1", "c2", "c3"]),
        ]
        for denied, ran, statuses, order in rows:
            with self.subTest(denied):
                del self.ran[:]
                run, _, events = self.start("c1", "c2", "c3")
                log: List[Any] = []
                for event in events:
                    log.append(event)
                    if isinstance(event, agentloop.AgentAction) and event.call_id in denied:
                        run.close(event, "not today", "denied")
                    if getattr(event, "status", "") == "denied":
                        self.assertEqual(self.ran, [])  # before anything runs
                        self.assertEqual(event.observation, "not today")
                self.assertEqual(self.ran, ran)
                steps = [e for e in log if isinstance(e, agentloop.AgentStep)]
                self.assertEqual([s.status for s in steps], statuses)
                self.assertEqual([s.action.call_id for s in steps], order)
                self.assertEqual(run.steps, steps)  # one call, one step, yielded once
                self.assertEqual(run.output, "done")

    def test_an_action_closed_before_it_was_yielded_is_not_yielded_any_more(self):
        run, _, events = self.start("c1", "c2", "c3")
        log = []
        for event in events:
            log.append(str(event.call_id if isinstance(event, agentloop.AgentAction) else event))
            if len(log) == 1:
                run.close(run.pending[1], "no", "denied")
        self.assertEqual(log[:3], ["c1", "pay(n=2) -> denied: no", "c3"])
        self.assertEqual((self.ran, len(log)), ([1, 3], 6))

    def test_close_between_two_steps(self):
        run, _, events = self.start("c1", "c2", "c3")
        log = []
        for event in events:
            if isinstance(event, agentloop.AgentStep):
                log.append((event.action.call_id, event.status))
                if event.action.call_id == "c1":
                    run.close(run.pending[0], "no", "denied")
        self.assertEqual(log, [("c1", "ok"), ("c2", "denied"), ("c3", "ok")])
        self.assertEqual(self.ran, [1, 3])

    def test_closed_between_two_drivers(self):
        run, model, events = self.start()
        next(events)
        events.close()
        run.close(run.pending[0], {"by": "hand"}, "ok")
        log = list(agentloop.stream(model, run, [self.pay]))
        self.assertEqual(
            [str(e) for e in log], ["pay(n=2)", "pay(n=2) -> ok: paid 2", "finish: done"]
        )
        self.assertEqual(_statuses(run), ["ok", "ok"])

    @_real_threads
    def test_closed_while_it_runs(self):
        """From another thread: one call, one step; what the tool returns is dropped."""
        for read_only in (False, True):

            @agentloop.tool(read_only=read_only, return_direct=True)
            def slow(n: int, action: agentloop.AgentAction, run: agentloop.AgentRun):
                if n == 0:
                    thread = threading.Thread(target=run.close, args=(action, "no", "cancelled"))
                    thread.start()
                    thread.join()
                return n

            for calls in ([_act("slow", n=0)], [_act("slow", n=n) for n in range(3)]):
                run = agentloop.AgentRun("go")
                model = agentloop.Scripted([calls, _end()])
                with self.subTest(read_only=read_only, calls=len(calls)):
                    seen = list(agentloop.stream(model, run, [slow]))
                    statuses = ["cancelled", "ok", "ok"][: len(calls)]
                    self.assertEqual(_statuses(run), statuses)
                    steps = [e for e in seen if isinstance(e, agentloop.AgentStep)]
                    self.assertEqual(steps, run.steps)
                    self.assertEqual((run.output, run.pending, run.started), ("done", [], []))

    def test_a_started_call_can_be_settled(self):
        def put():
            self.ran.append(1)
            raise KeyboardInterrupt

        model = agentloop.Scripted([_act("put", "c1"), _end()])
        run, _ = _drive(model, tools=[put])
        run.close(run.pending[0], "looked: it is there", "ok")
        self.assertEqual(run.started, [])
        run, error = _drive(model, run, tools=[put])
        self.assertIsNone(error)
        self.assertEqual((_statuses(run), self.ran, run.output), (["ok"], [1], "done"))

    def test_closing_many_calls_costs_little(self):
        """Each is closed as it is shown, or had been started: no list is searched for each."""
        idempotent = agentloop.tool(idempotent=True)(self.pay)
        counts = []
        for many in (100, 400):
            calls = [_act("pay", "c%d" % n, n=n) for n in range(many)]
            run, compared = agentloop.AgentRun("go"), []
            events = agentloop.stream(agentloop.Scripted([calls, _end()]), run, [self.pay])
            for event in events:
                if isinstance(event, agentloop.AgentAction):
                    run.close(event, "no", "denied")
            self.assertEqual(set(_statuses(run)), {"denied"})

            class Id(str):
                __hash__ = str.__hash__

                def __eq__(self, other, compared=compared):
                    compared.append(other)
                    return str.__eq__(self, other)

            for call in calls:
                call.call_id, call.request = Id(call.call_id), 1
            started = [call.call_id for call in calls]
            run = agentloop.AgentRun("go", pending=calls, started=started, requests=1)
            agentloop.run(agentloop.Scripted([0, _end()]), run, [idempotent])
            self.assertEqual((set(_statuses(run)), run.started), ({"ok"}, []))
            counts.append(len(compared))
        self.assertLess(counts[1], 6 * counts[0] + 100)


class ReturnDirectTests(unittest.TestCase):
    """A return_direct call that was the only one of its reply, and went well, is a finish."""

    def setUp(self):
        @agentloop.tool(return_direct=True)
        def answer(n: int):
            return {"n": 12 // n}

        def note(text: str = ""):
            return "noted"

        self.tools = [answer, note]

    def play(self, *decisions, **options):
        return _drive(list(decisions), tools=self.tools, **options)[0]

    def test_alone(self):
        message = {"role": "assistant"}
        run = agentloop.AgentRun("go")
        action = agentloop.AgentAction("answer", {"n": 3}, "c1", "Here.", message)
        events = list(agentloop.stream(agentloop.Scripted([[action]]), run, self.tools))
        self.assertEqual(
            [type(e).__name__ for e in events], ["AgentAction", "AgentStep", "AgentFinish"]
        )
        self.assertEqual((run.state, run.requests, run.output), ("model_ended", 1, {"n": 4}))
        self.assertEqual(
            run.finish, agentloop.AgentFinish({"n": 4}, "Here.", message, "return_direct")
        )
        self.assertIs(run.output, run.steps[0].observation)

    def test_else_the_loop_goes_on(self):
        act = _act
        rows = [
            ([act("answer", n=3), act("note")], ["ok", "ok"]),
            ([act("note"), act("answer", n=3)], ["ok", "ok"]),
            ([act("answer", n=3), act("answer", n=4)], ["ok", "ok"]),
            ([act("answer", n=3), act("nosuch")], ["ok", "unknown_tool"]),
            ([act("nosuch"), act("answer", n=3)], ["unknown_tool", "ok"]),
            ([act("answer", "c1", n=3), act("answer", "c1", n=3)], ["ok", "duplicate_call"]),
            (act("answer", n=0), ["tool_error"]),
            (act("answer", n="q"), ["invalid_arguments"]),
            (act("answer"), ["invalid_arguments"]),
        ]
        for reply, statuses in rows:
            with self.subTest(reply):
                run = self.play(reply, _end("stopped"))
                self.assertEqual((_statuses(run), run.output), (statuses, "stopped"))
                self.assertEqual((run.finish.reason, run.requests), ("stop", 2))

    def test_it_was_not_alone_though_the_other_is_gone(self):
        model = agentloop.Scripted(
            [[_act("note", "c1"), _act("answer", "c2", n=3)], _end("stopped")]
        )
        run = agentloop.AgentRun("go")
        for event in agentloop.stream(model, run, self.tools):
            if getattr(event, "call_id", "") == "c1":
                run.close(event, "no", "denied")
        self.assertEqual((_statuses(run), run.output), (["denied", "ok"], "stopped"))
        run = agentloop.AgentRun("go")
        events = agentloop.stream(model, run, self.tools)
        _go_to_first_step(events)
        events.close()
        for again in (_saved(run), run):
            self.assertEqual(len(again.pending), 1)
            done, _ = _drive(model, again, tools=self.tools)
            self.assertEqual((_statuses(done), done.output), (["ok", "ok"], "stopped"))

    def test_a_run_made_by_hand(self):
        action = agentloop.AgentAction
        rows = [
            ([], None, {"n": 4}),
            ([action("note", {}, "c0")], None, {"n": 4}),
            ([action("note", {}, "c0", "", {"reply": 1})], {"reply": 1}, {"n": 4}),
            ([action("note", {}, "c0", "", None, 3)], None, {"n": 4}),
        ]
        for done, message, output in rows:
            steps = [agentloop.AgentStep(a, "noted") for a in done]
            pending = [action("answer", {"n": 3}, "c1", "", message)]
            run, error = _drive([], agentloop.AgentRun("go", steps, pending), self.tools)
            self.assertEqual((error, run.output, run.requests), (None, output, 0))
        pending = [action("answer", {"n": n}, "c%d" % n) for n in (3, 4)]  # two are not one
        run, _ = _drive([_end()], agentloop.AgentRun("go", [], pending), self.tools)
        self.assertEqual((run.output, run.requests), ("done", 1))
        shared = {"reply": 1}  # one message, one reply
        steps = [agentloop.AgentStep(action("note", {}, "c0", "", shared), "noted")]
        pending = [action("answer", {"n": 3}, "c1", "", shared)]
        run, _ = _drive([_end()], agentloop.AgentRun("go", steps, pending), self.tools)
        self.assertEqual((run.output, run.requests), ("done", 1))

    def test_a_later_reply_is_another_reply(self):
        run = self.play(_act("note"), _act("answer", n=4))
        self.assertEqual((run.output, run.requests), ({"n": 3}, 2))

    def test_resumed_before_it_ran(self):
        run = agentloop.AgentRun("go")
        model = agentloop.Scripted([_act("answer", n=4)])
        events = agentloop.stream(model, run, self.tools)
        next(events)
        events.close()
        done, _ = _drive(model, _saved(run), tools=self.tools)
        self.assertEqual((done.output, done.finish.reason), ({"n": 3}, "return_direct"))

    def test_on_the_last_request(self):
        run = self.play(_act("answer", n=4), max_requests=1)
        self.assertEqual((run.state, run.output), ("model_ended", {"n": 3}))

    def test_accept_is_asked(self):
        def wants_four(run):
            return None if run.output == {"n": 4} else "wanted 4, got %s" % run.output

        run = self.play(_act("answer", n=4), _act("answer", n=3), accept=wants_four)
        self.assertEqual(_statuses(run), ["ok", "not_accepted", "ok"])
        self.assertEqual((run.state, run.output), ("succeeded", {"n": 4}))


class AnswerInterruptTests(_FolderCase):
    """Ctrl-C at each line of a run that ends with a `return_direct` call."""

    def setUp(self):
        super().setUp()
        # A file that was opened, and interrupted before anything holds it:
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", ResourceWarning)

        @agentloop.tool(return_direct=True)
        def answer() -> str:
            self.ran.append("answer")
            return "yes"

        self.ran, self.answer = [], answer

    def interrupted(self, at, journal):
        """The trace, and the run that a KeyboardInterrupt at that line carries."""
        del self.ran[:]
        trace, before = _Interrupt(at), sys.gettrace()
        sys.settrace(trace)
        try:
            script = agentloop.Scripted([_act("answer")])
            agentloop.run(script, "go", [self.answer], journal=journal)
        except KeyboardInterrupt as error:
            return trace, getattr(error, "agent_run", None)
        finally:
            sys.settrace(before)
        return trace, None

    def test_an_answer_that_is_there_is_not_asked_for_again(self):
        """Ctrl-C may come between the end of a call, its step, and its finish."""
        for with_journal in (False, True):
            journal = self.path("run.jsonl") if with_journal else None
            tried, forgotten = [], []
            for line, times in self.interrupted(None, journal)[0].passed.items():
                for passed in {0, times - 1}:
                    if journal and os.path.exists(journal):
                        os.unlink(journal)
                    run = self.interrupted((line, passed), journal)[1]
                    if run is None or run.requests < 1 or not self.ran:
                        continue
                    tried.append(line)
                    if _statuses(run) != ["ok"]:
                        forgotten.append(line)
                        continue
                    for task in (run, "go") if with_journal else (run,):
                        done, error = _drive([], task, [self.answer], journal=journal)
                        self.assertIsNone(error, line)
                        self.assertEqual((done.state, done.output), ("model_ended", "yes"), line)
                        self.assertEqual(done.finish.reason, "return_direct", line)
                        self.assertEqual((done.requests, self.ran), (1, ["answer"]), line)
            self.assertGreater(len(tried), 10)
            # The outcome is unknown only where the value had not been made a step yet.
            self.assertLess(len(forgotten), 6)


class RepeatedFailureTests(unittest.TestCase):
    """The same call failing in the same way again: its observation says how often."""

    def texts(self, tool, calls, status, run=None):
        decisions = [*calls, _end()]
        run, error = _drive(decisions, run or "go", tools=[tool] if tool else [], max_requests=99)
        self.assertIsNone(error)
        self.assertEqual(set(_statuses(run)), {status})
        return [s.observation for s in run.steps]

    def test_it_says_how_often(self):
        def lookup(key: int):
            raise LookupError("no row")

        rows = [
            (lookup, _act("lookup", key=1), "tool_error", "LookupError: no row"),
            (lookup, _act("lookup", key="q"), "invalid_arguments", "args.key"),
            (lookup, _act("lookup"), "invalid_arguments", "args.key"),
            (lookup, agentloop.AgentAction("lookup", "{"), "invalid_arguments", "object"),
            (None, _act("nosuch"), "unknown_tool", "nosuch"),
        ]
        for tool, call, status, words in rows:
            with self.subTest(status):
                found = self.texts(tool, [call] * 4, status)
                for n, text in enumerate(found, 1):
                    self.assertIn(words, text)
                    warned = re.search("will not help", text)
                    self.assertEqual(bool(warned), n > 1)
                    if warned:
                        self.assertRegex(text, r"\b%d\b" % n)
                        # The warnings do not pile up.
                        self.assertLess(len(text), len(found[0]) + 120)
                self.assertEqual(len({len(t) for t in found[1:]}), 1)

    def test_in_one_reply(self):
        def lookup(key: int):
            raise LookupError("no row")

        found = self.texts(lookup, [[_act("lookup", key=1)] * 2], "tool_error")
        self.assertNotIn("help", found[0])
        self.assertIn("2", found[1])

    def test_what_does_not_count(self):
        seen: List[int] = []

        def lookup(key: int):
            seen.append(key)
            raise LookupError("row %d" % len(seen))

        for text in self.texts(lookup, [_act("lookup", key=1)] * 3, "tool_error"):
            self.assertNotIn("help", text)  # fails in another way each time

        def same(key: int):
            raise LookupError("no row")

        for text in self.texts(same, [_act("same", key=k) for k in (1, 2, 3)], "tool_error"):
            self.assertNotIn("help", text)  # another call each time
        decisions = [_end(n) for n in range(3)]
        run, _ = _drive(decisions, accept=lambda run: "no", max_requests=3)
        for step in run.steps:
            self.assertEqual(step.observation, "no")  # a rejected finish is no call
        run, _ = _drive([agentloop.InvalidResponse("what?")] * 3 + [_end()])
        for step in run.steps:
            self.assertEqual(step.observation, "what?")

    def test_it_counts_over_a_resume(self):
        def lookup(key: int):
            raise LookupError("no row")

        calls = [_act("lookup", key=1)] * 4
        straight = self.texts(lookup, calls, "tool_error")
        run, _ = _drive(calls, tools=[lookup], max_requests=2)
        again = self.texts(lookup, calls, "tool_error", _saved(run))
        self.assertEqual(again, straight)

    def test_a_call_that_the_caller_closed_counts(self):
        """Its text stays the caller's. It counts at once, and the same after a resume."""

        def lookup(key: int):
            raise LookupError("no row")

        model = agentloop.Scripted([_act("lookup", key=1)] * 2 + [_end()])
        for is_resumed in (False, True):
            with self.subTest(resumed=is_resumed):
                run = agentloop.AgentRun("go")
                events = agentloop.stream(model, run, [lookup])
                run.close(next(events), "LookupError: no row", "tool_error")
                next(events)
                if is_resumed:
                    events.close()
                    events = agentloop.stream(model, run, [lookup])
                _drain(events)
                first, second = run.steps
                self.assertEqual(first.observation, "LookupError: no row")
                self.assertIn("failed in the same way 2 times", second.observation)


class AcceptTests(unittest.TestCase):
    """The acceptance check: a finish is a claim, not the proof."""

    def test_accepted(self):
        seen = []

        def accept(run):
            seen.append((run.state, run.finish.output, run.output, run.requests))

        run = agentloop.AgentRun("go")
        events = list(agentloop.stream(agentloop.Scripted([_end(4)]), run, accept=accept))
        self.assertEqual(seen, [("running", 4, 4, 1)])
        self.assertEqual((run.state, events), ("succeeded", [run.finish]))

    def test_rejected(self):
        message = {"role": "assistant", "content": "41"}
        first = agentloop.AgentFinish(41, "41", message)
        run = agentloop.AgentRun("go")
        events = list(
            agentloop.stream(
                agentloop.Scripted([first, _end(42)]), run,
                accept=lambda run: None if run.output == 42 else "it is not 42",
            )
        )  # fmt: skip
        (step,) = run.steps
        # The rejected finish is not yielded, its step is.
        self.assertEqual(events, [step, run.finish])
        self.assertEqual((step.status, step.observation), ("not_accepted", "it is not 42"))
        self.assertEqual(step.action, agentloop.AgentAction("", {}, "", "41", message, 1))
        self.assertEqual((run.state, run.output, run.requests), ("succeeded", 42, 2))

    def test_a_finish_is_none_again_after_a_rejection(self):
        seen = []

        def model(run, tools):
            seen.append((run.finish, run.state))
            return _end()

        run, _ = _drive(model, accept=lambda run: "no", max_requests=3)
        self.assertEqual(seen, [(None, "running")] * 3)
        self.assertEqual((run.state, run.output, run.finish), ("budget_exhausted", None, None))
        self.assertEqual(_statuses(run), ["not_accepted"] * 3)

    def test_a_refusal_is_not_asked_about(self):
        def never(run):
            raise AssertionError("asked about a refusal")

        run, error = _drive([_end("I cannot.", reason="refusal")], accept=never)
        self.assertIsNone(error)
        self.assertEqual((run.state, run.finish.reason), ("model_ended", "refusal"))

    def test_without_accept(self):
        run, _ = _drive([_end()])
        self.assertEqual(run.state, "model_ended")

    def test_anything_else_is_a_type_error(self):
        for value in (True, False, "", 0, 1, [], ["no"], b"no", ValueError("no")):
            with self.subTest(repr(value)):
                run, error = _drive([_end(7)], accept=lambda run, v=value: v)
                self.assertIs(type(error), TypeError)
                self.assertIn("accept", str(error))
                self.assertEqual((run.output, run.state, run.steps), (7, "running", []))

    def test_asked_again_on_resume_without_a_request(self):
        def down(run):
            raise ConnectionError("the database is down")

        def stop(run):
            raise KeyboardInterrupt

        for broken, error_type in ((down, ConnectionError), (stop, KeyboardInterrupt)):
            for resumed in (lambda run: run, _saved):
                with self.subTest((broken, resumed)):
                    model = agentloop.Scripted([_end(41), _end(42)])
                    run, error = _drive(model, accept=broken)
                    self.assertIsInstance(error, error_type)
                    self.assertEqual((run.state, run.output, run.requests), ("running", 41, 1))
                    asked: List[Any] = []

                    def accept(run, asked=asked):
                        asked.append((run.output, run.requests))
                        return None if run.output == 42 else "no"

                    # The budget is spent, and yet it is asked.
                    run, _ = _drive(model, resumed(run), accept=accept, max_requests=1)
                    self.assertEqual((asked, run.state), ([(41, 1)], "budget_exhausted"))
                    run, _ = _drive(model, run, accept=accept)
                    self.assertEqual((asked[1:], run.state), ([(42, 2)], "succeeded"))

    def test_resumed_without_accept(self):
        run, _ = _drive([_end(41)], accept=lambda run: 1)
        events = list(agentloop.stream(agentloop.Scripted([]), run))
        self.assertEqual((events, run.state), ([run.finish], "model_ended"))

    def test_the_model_sees_what_was_rejected(self):
        """Also where the model's finish has no log, and no message that an adapter reads."""
        for output, text in ((41, "41"), ({"n": 4}, '{"n": 4}'), ("four", "four")):
            with self.subTest(output):
                script = [_end(output), _end(42)]
                run, error = _drive(
                    script, accept=lambda run: None if run.output == 42 else "It is not 42."
                )
                self.assertIsNone(error)
                self.assertEqual(run.steps[0].action.log, text)
                for protocol in ("chat", "responses", "anthropic"):
                    body = _model(protocol, _Server(protocol, [])).body(run, {})
                    self.assertIn(json.dumps(text)[1:-1], json.dumps(body))
                    self.assertNotIn("(no text)", json.dumps(body))

    def test_a_rejected_answer_of_a_call_has_no_text(self):
        """Its reply holds the call; what was rejected is the observation."""

        @agentloop.tool(return_direct=True)
        def answer(n: int) -> int:
            return n

        script = [_act("answer", n=41), _act("answer", n=42)]
        run, _ = _drive(
            script, "go", [answer], accept=lambda run: None if run.output == 42 else "No."
        )
        self.assertEqual(_statuses(run), ["ok", "not_accepted", "ok"])
        self.assertEqual(run.steps[1].action.log, "")


class BudgetTests(unittest.TestCase):
    """N permits N requests."""

    def test_how_many_requests(self):
        def f():
            return "ran"

        call, end, bad = _act("f"), _end(), agentloop.InvalidResponse("again")
        rows = [
            (0, [end], "budget_exhausted", 0, []),
            (1, [end], "model_ended", 1, []),
            (1, [call, end], "budget_exhausted", 1, ["ok"]),  # calls of the Nth reply still run
            (1, [[call, call], end], "budget_exhausted", 1, ["ok", "ok"]),
            (2, [call, end], "model_ended", 2, ["ok"]),  # a finish on the Nth counts
            (2, [call, call, end], "budget_exhausted", 2, ["ok", "ok"]),
            (2, [bad, bad, end], "budget_exhausted", 2, ["invalid_response"] * 2),
            (3, [bad, bad, end], "model_ended", 3, ["invalid_response"] * 2),
            (10**6, [end], "model_ended", 1, []),
        ]
        for most, decisions, state, requests, statuses in rows:
            with self.subTest((most, decisions)):
                run, error = _drive(decisions, tools=[f], max_requests=most)
                self.assertIsNone(error)
                self.assertEqual(
                    (run.state, run.requests, _statuses(run)), (state, requests, statuses)
                )
                self.assertEqual(run.output, "done" if state == "model_ended" else None)

    def test_ten_is_the_default(self):
        run, _ = _drive([_act("f")] * 99)
        self.assertEqual((run.requests, run.state), (10, "budget_exhausted"))

    def test_the_stream_just_ends_at_the_limit(self):
        run = agentloop.AgentRun("go")
        events = list(agentloop.stream(agentloop.Scripted([_act("f")]), run, max_requests=1))
        self.assertEqual([type(e).__name__ for e in events], ["AgentAction", "AgentStep"])

    def test_it_holds_over_every_resume(self):
        decisions = [_act("f"), _act("f"), _act("f"), _end()]
        run, _ = _drive(decisions, max_requests=2)
        for most, requests, state in ((2, 2, "budget_exhausted"), (1, 2, "budget_exhausted"),
         (3, 3, "budget_exhausted"),
                                      (4, 4, "model_ended"), (9, 4, "model_ended")):  # fmt: skip
            _drive(decisions, run, max_requests=most)
            self.assertEqual((run.requests, run.state), (requests, state))

    def test_a_request_counts_once_it_is_begun(self):
        run, error = _drive([ValueError("down"), KeyboardInterrupt(), _end()])
        self.assertIsInstance(error, ValueError)
        self.assertEqual((run.requests, run.state), (1, "running"))
        _, error = _drive([ValueError("down"), KeyboardInterrupt(), _end()], run)
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertEqual(run.requests, 2)
        run, error = _drive([ValueError("down"), KeyboardInterrupt(), _end()], run, max_requests=3)
        self.assertEqual((run.requests, run.state), (3, "model_ended"))

    def test_state_while_it_runs(self):
        seen = []

        def model(run, tools):
            seen.append(run.state)
            return _act("f")

        run, _ = _drive(model, max_requests=1)
        _drive(model, run, max_requests=2)  # resumed with a larger budget
        self.assertEqual(seen, ["running", "running"])


class ReplyTests(unittest.TestCase):
    """What a model may answer, and what becomes of everything else."""

    def test_what_the_model_gets(self):
        def f():
            pass

        seen = []

        def model(run, tools):
            seen.append((run, tools))
            return _end()

        run = agentloop.AgentRun("go")
        registry = agentloop.registry([f])
        for tools in ([f], registry):
            agentloop.run(model, run.follow_up("go"), tools)
        for given, tools in seen:
            self.assertIsInstance(given, agentloop.AgentRun)
            self.assertEqual((given.requests, list(tools)), (1, ["f"]))
            self.assertIsInstance(tools["f"], agentloop.Tool)

    def test_an_unreadable_reply(self):
        message = {"role": "assistant", "content": "{"}
        bad = agentloop.InvalidResponse("that was no JSON", message, "{")
        run = agentloop.AgentRun("go")
        events = list(agentloop.stream(agentloop.Scripted([bad, _end()]), run))
        step = run.steps[0]
        self.assertEqual(events, [step, run.finish])  # no action is yielded for it
        self.assertEqual((step.status, step.observation), ("invalid_response", "that was no JSON"))
        action = agentloop.AgentAction("", {}, "", "{", message, 1)
        self.assertEqual(step.action, action)
        self.assertEqual((run.requests, run.output), (2, "done"))

    def test_nothing_may_be_said(self):
        paused = agentloop.InvalidResponse("", {"content": ["so far"]})
        run, error = _drive([paused, paused, _end()])
        self.assertIsNone(error)
        self.assertEqual([s.observation for s in run.steps], ["", ""])

    def test_an_invalid_reply_costs(self):
        def model(run, tools):
            run.usage["input_tokens"] = run.usage.get("input_tokens", 0) + 5
            if run.requests < 3:
                raise agentloop.InvalidResponse("again")
            return _end()

        run, _ = _drive(model)
        self.assertEqual((run.requests, run.usage), (3, {"input_tokens": 15}))

    def test_an_empty_reply_is_an_invalid_response(self):
        run, error = _drive([[], _end()])
        self.assertIsNone(error)
        self.assertEqual((_statuses(run), run.requests), (["invalid_response"], 2))
        self.assertTrue(run.steps[0].observation)

    def test_a_bug_in_the_models_code(self):
        rows = [
            (None, "got null"), ({"tool": "f"}, 'got {"tool": "f"}'), ("f", 'got "f"'), (5, "got 5"),
            (True, "got true"), ([None], "got a list with null"),
            ([_act("f"), "f"], 'got a list with "f"'), ([_end()], 'got a list with {"output": "done"'),
            ((_act("f"),), 'got [{"tool": "f"'), (agentloop.AgentRun("x"), 'got {"task": "x"'),
            (agentloop.AgentAction, "got <class 'agentloop.AgentAction'>"),
            ([_act("f"), _act], "got a list with <function _act"),
        ]  # fmt: skip
        for reply, words in rows:
            with self.subTest(repr(reply)):
                run, error = _drive(lambda run, tools, r=reply: r)
                self.assertIs(type(error), TypeError)
                self.assertIn(
                    "an AgentFinish, an AgentAction or a list of them; " + words, str(error)
                )
                self.assertEqual((run.requests, run.state, run.pending), (1, "running", []))

    def test_a_wrong_field_is_the_models_mistake(self):
        def f(n: int = 1):
            return n

        action = agentloop.AgentAction
        rows = [
            (action(None, {}), "unknown_tool"), (action(5, {}), "unknown_tool"),
            (action(["f"], {}), "unknown_tool"),
            (action({}, {}), "unknown_tool"), (action("", {}), "unknown_tool"),
            (action("f", 5), "invalid_arguments"), (action("f", ["n"]), "invalid_arguments"),
            (action("f", object()), "invalid_arguments"),
            (action("f", {"n": threading.Lock()}), "invalid_arguments"),
            (action("f", {"n": object()}), "invalid_arguments"),
            (action("f", {5: 1}), "invalid_arguments"), (action("f", {}, None), "ok"),
            (action("f", {}, 7), "ok"),
            (action("f", {}, ["c"]), "ok"), (action("f", {}, "c", None), "ok"),
            (action("f", {}, "c", 5), "ok"),
            (action("f", {}, "c", "", object()), "ok"), (action("f", {}, "c", "", None, "x"), "ok"),
        ]  # fmt: skip
        for bad, status in rows:
            for reply in (bad, [bad], [bad, _act("f", "other")]):
                with self.subTest(repr(reply)):
                    run, error = _drive([reply, _end()], tools=[f])
                    self.assertIsNone(error)
                    self.assertEqual(run.steps[0].status, status)
                    named = bad.tool if isinstance(bad.tool, str) else ""
                    self.assertEqual(run.steps[0].action.tool, named)
                    self.assertEqual(_statuses(run)[1:], ["ok"][: len(run.steps) - 1])
                    for step in run.steps:
                        fields = step.action.tool, step.action.call_id, step.action.log
                        self.assertEqual([type(x) for x in fields], [str, str, str])
                        self.assertTrue(step.action.call_id)
                        if not bad.call_id and step is run.steps[0]:  # made up
                            self.assertRegex(step.action.call_id, r"\A[a-zA-Z0-9]{9}\Z")
                        self.assertEqual(step.action.request, 1)
                        self.assertNotIn("\n", str(step))
                    json.dumps(agentloop.to_json(run))

    def test_arguments_of_a_class_of_the_callers(self):
        class Lying:
            def __init__(self, cls):
                self.cls = cls

            @property
            def __class__(self):
                return self.cls()  # raises, where there is no class

        class Lazy(dict):
            def items(self):
                raise RuntimeError("lazy")

            __iter__ = keys = values = items

        class Text(str):
            pass

        def f(n: int):
            return n

        rows = [
            (collections.OrderedDict(n=1), "ok", "f(n=1)"),
            (collections.Counter("n"), "ok", "f(n=1)"), (Text('{"n": 1}'), "ok", "f(n=1)"),
            (Text("{n"), "invalid_arguments", "f({n)"), (None, "invalid_arguments", "f()"),
            (Lying(lambda: str), "invalid_arguments", "f("),
            (Lying(lambda: dict), "invalid_arguments", "f("),
            (Lying({}.popitem), "invalid_arguments", "f("),
            (Lazy(n=1), "invalid_arguments", "f({'n': 1})"),
        ]  # fmt: skip
        for tool_input, status, shown in rows:
            with self.subTest(type(tool_input).__name__):
                run, error = _drive([agentloop.AgentAction("f", tool_input), _end()], tools=[f])
                self.assertIsNone(error)
                self.assertEqual(_statuses(run), [status])
                self.assertEqual(str(run.steps[0].action)[: len(shown)], shown)
                json.dumps(agentloop.to_json(run))

    def test_a_reason_that_is_no_text(self):
        """A bug in the model's code, said before anything of it is in the run."""
        for reason in (None, 5, ["stop"], _Unshowable()):
            with self.subTest(type(reason).__name__):
                run, error = _drive([_end("x", reason=reason)])
                self.assertIsInstance(error, TypeError)
                self.assertIn("reason", str(error))
                self.assertEqual((run.finish, run.requests), (None, 1))

    def test_a_model_goes_on_using_its_own_arguments(self):
        """Each step keeps what was given with its call, at any depth."""
        arguments = {"at": [[]]}

        def look(n: int, at: list) -> int:
            return n

        def model(run, tools):
            arguments["n"] = len(run.steps)
            arguments["at"][0].append(len(run.steps))
            return agentloop.AgentAction("look", arguments) if len(run.steps) < 2 else _end()

        run, _ = _drive(model, tools=[look])
        self.assertEqual(
            [step.action.tool_input for step in run.steps],
            [{"at": [[0]], "n": 0}, {"at": [[0, 1]], "n": 1}],
        )
        self.assertEqual([step.observation for step in run.steps], [0, 1])


class CallIdTests(unittest.TestCase):
    """Ids: made where they are missing, never used twice."""

    def setUp(self):
        self.paid: List[int] = []

    def pay(self, n: int = 0):
        self.paid.append(n)
        return n

    def test_made_up_ids(self):
        def play():
            act = _act
            decisions = [
                [act("pay", n=1), act("pay", n=2)],
                act("nosuch"),
                _end(),
                act("pay", n=3),
                _end(),
            ]
            run, _ = _drive(decisions, tools=[self.pay])
            turn, _ = _drive(decisions, run.follow_up("and?"), tools=[self.pay])
            return [s.action.call_id for s in run.steps + turn.steps]

        ids = play()
        self.assertEqual(len(set(ids)), 4)
        for call_id in ids:
            self.assertRegex(call_id, r"\A[a-zA-Z0-9]{9}\Z")
        self.assertEqual(play(), ids)  # made of the call's number, not of chance
        self.assertEqual(self.paid, [1, 2, 3] * 2)
        self.assertEqual([re.sub(r"\D", "", i).lstrip("0") for i in ids], ["1", "2", "3", "4"])

    def test_a_log_of_none_is_no_text(self):
        action = agentloop.AgentAction("pay", {"n": 1}, "", None)
        run, _ = _drive([action, _end()], tools=[self.pay])
        self.assertEqual((run.steps[0].action.log, action.log), ("", None))

    def test_a_run_made_by_hand(self):
        """Its calls get an id each, done or pending; a step without a call gets none."""
        actions = [_act("pay", n=n) for n in range(4)]
        notice = agentloop.AgentStep(agentloop.AgentAction("", {}), "what?", "invalid_response")
        earlier = agentloop.AgentRun("before", [agentloop.AgentStep(actions[0], 0)])
        steps = [notice, agentloop.AgentStep(actions[1], 1), agentloop.AgentStep(actions[2], 2)]
        run = agentloop.AgentRun("go", steps, [actions[3]], history=[earlier])
        run, error = _drive([_end()], run, [self.pay])
        self.assertIsNone(error)
        self.assertEqual([a.call_id for a in actions], ["c%08d" % n for n in (1, 2, 3, 4)])
        self.assertEqual((notice.action.call_id, self.paid), ("", [3]))

    def test_a_made_up_id_that_is_taken(self):
        run, _ = _drive([[_act("pay") for _ in range(5)], _end()], tools=[self.pay])
        ids = [s.action.call_id for s in run.steps]
        # The ids of the replies; the numbers in those made up: the call's own, or the next free.
        rows = [
            ([["", ids[0]]], [2]),
            ([[ids[0], ""]], [2]),
            ([[ids[1], ""], [""]], [3, 4]),
            ([[ids[0]], [""]], [2]),
            ([[ids[1]], [""]], [3]),
            ([[ids[1]], ["", ""]], [3, 4]),
            ([[ids[2]], ["", "", ""]], [2, 4, 5]),
            ([["x", ids[3]], ["", ids[2], ""]], [5, 6]),
        ]
        for replies, numbers in rows:
            with self.subTest(replies):
                del self.paid[:]
                decisions: List[Any] = [[_act("pay", i) for i in reply] for reply in replies]
                run, _ = _drive(decisions + [_end()], tools=[self.pay])
                found = [s.action.call_id for s in run.steps]
                self.assertEqual(_statuses(run), ["ok"] * len(found))
                self.assertEqual(len(set(found)), len(found))
                given = [i for reply in replies for i in reply]
                made = [int(re.sub(r"\D", "", f)) for f, i in zip(found, given) if not i]
                self.assertEqual(made, numbers)

    def test_a_resumed_run_goes_on_counting(self):
        decisions = [[_act("pay"), _act("pay")], _act("pay"), _end()]
        straight, _ = _drive(decisions, tools=[self.pay])
        run = agentloop.AgentRun("go")
        events = agentloop.stream(agentloop.Scripted(decisions), run, [self.pay])
        next(events)
        events.close()
        for again in (_saved(run), run):
            done, _ = _drive(decisions, again, tools=[self.pay])
            self.assertEqual(done, straight)

    def test_an_id_is_executed_once(self):
        one, two = _act("pay", "c1", n=1), _act("pay", "c2", n=2)
        rows = [
            ([[one, one], _end()], ["ok", "duplicate_call"], [1]),
            ([[one, two, one], _end()], ["ok", "ok", "duplicate_call"], [1, 2]),
            ([one, one, _end()], ["ok", "duplicate_call"], [1]),
            ([one, [two, one], _end()], ["ok", "ok", "duplicate_call"], [1, 2]),
            ([_act("nosuch", "c1"), one, _end()], ["unknown_tool", "duplicate_call"], []),
            ([_act("pay", "c1", n="q"), one, _end()], ["invalid_arguments", "duplicate_call"], []),
        ]
        for decisions, statuses, paid in rows:
            with self.subTest(statuses):
                del self.paid[:]
                run, _ = _drive(decisions, tools=[self.pay])
                self.assertEqual((_statuses(run), self.paid), (statuses, paid))
                self.assertEqual(run.output, "done")
                self.assertIn("not executed", run.steps[-1].observation.lower())

    def test_not_in_a_later_turn_either(self):
        decisions = [_act("pay", "c1"), _end(), [_act("pay", "c1"), _act("pay", "c2")], _end()]
        run, _ = _drive(decisions, tools=[self.pay])
        for turn in (_saved(run).follow_up("and?"), run.follow_up("and?")):
            del self.paid[:]
            done, _ = _drive(decisions, turn, tools=[self.pay])
            self.assertEqual(_statuses(done), ["duplicate_call", "ok"])
            self.assertEqual(self.paid, [0])

    def test_a_closed_call_used_its_id(self):
        run = agentloop.AgentRun("go")
        model = agentloop.Scripted([_act("pay", "c1"), _act("pay", "c1"), _end()])
        for event in agentloop.stream(model, run, [self.pay]):
            if isinstance(event, agentloop.AgentAction) and run.requests == 1:
                run.close(event, "no", "denied")
        self.assertEqual((_statuses(run), self.paid), (["denied", "duplicate_call"], []))

    def test_two_pending_calls_of_one_id(self):
        run = agentloop.AgentRun("go")
        model = agentloop.Scripted([[_act("pay", "c1", n=1), _act("pay", "c1", n=2)], _end()])
        events = agentloop.stream(model, run, [self.pay])
        first, second = next(events), next(events)
        run.close(second, "no", "denied")  # this very one
        rest = [str(e) for e in events]
        self.assertEqual(rest[0], "pay(n=2) -> denied: no")
        self.assertEqual(self.paid, [])  # its id was used up by then
        self.assertEqual(_statuses(run), ["denied", "duplicate_call"])
        self.assertIs(run.steps[1].action, first)

    def test_pending_calls_without_ids(self):
        """Of a run made by hand: each gets its own, also beside a step about a reply."""
        notice = agentloop.AgentStep(
            agentloop.AgentAction("", {}), "unreadable", "invalid_response"
        )
        for steps, no_id in (([], ""), ([notice], ""), ([], None)):
            pending = [
                _act("look", name, n=n) for n, name in ((1, no_id), (2, "c00000002"), (3, no_id))
            ]
            run = agentloop.AgentRun("go", list(steps), list(pending))
            run, error = _drive([_end()], run, [_look_at])
            done = run.steps[len(steps) :]
            self.assertIsNone(error)
            self.assertEqual([step.status for step in done], ["ok"] * 3)
            self.assertEqual(
                [step.action.call_id for step in done], ["c00000001", "c00000002", "c00000003"]
            )
            self.assertIs(done[0].action, pending[0])


class ExceptionTests(unittest.TestCase):
    """What leaves the loop carries the run so far."""

    def test_from_a_model_accept_and_a_tool(self):
        class Closed(Exception):
            __slots__ = ()

        for error in (ValueError("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(),
         Closed(),
                      agentloop.ModelError("x", "auth"), RuntimeError("x"),
                      AssertionError()):  # fmt: skip

            def fail(*_, error=error):
                raise error

            for options in (
                {"model": fail},
                {"model": agentloop.Scripted([_end()]), "accept": fail},
            ):
                with self.subTest((error, list(options))):
                    run = agentloop.AgentRun("go")
                    with self.assertRaises(type(error)) as caught:
                        agentloop.run(options["model"], run, accept=options.get("accept"))
                    self.assertIs(caught.exception, error)
                    self.assertIs(caught.exception.agent_run, run)
                    self.assertEqual((run.requests, run.state), (1, "running"))

    @unittest.skipUnless(hasattr(sys, "monitoring"), "before Python 3.12 it cannot be told")
    def test_ctrl_c_where_a_loop_goes_back(self):
        """Python 3.13 raises it outside of the `try` around the loop; the run is let go."""
        number, code = 3, agentloop.run.__code__  # one that no debugger or profiler uses
        call = _act("look")
        script = agentloop.Scripted([[call, call], agentloop.InvalidResponse("?"), _end()])
        tools = agentloop.registry([_look_at])

        def interrupted(at):
            """Whether loops go back that often, and the run that the exception carries."""
            left = at

            def jumped(place, start, end):
                nonlocal left
                if place.co_filename == code.co_filename and end < start:
                    left -= 1
                    if left == -1:
                        raise KeyboardInterrupt

            sys.monitoring.use_tool_id(number, "test")
            sys.monitoring.register_callback(number, sys.monitoring.events.JUMP, jumped)
            sys.monitoring.set_events(number, sys.monitoring.events.JUMP)
            try:
                agentloop.run(script, "go", tools)
            except KeyboardInterrupt as error:
                return True, getattr(error, "agent_run", None)
            finally:
                sys.monitoring.set_events(number, 0)
                sys.monitoring.free_tool_id(number)
            return False, None

        for at in itertools.count():
            came, run = interrupted(at)
            if not came:
                break
            if run is not None:  # else it came before the run began
                with self.subTest(at):
                    ends = agentloop.Scripted([_end()] * 4)
                    self.assertEqual(agentloop.run(ends, run, tools).state, "model_ended")

    def test_a_base_exception_from_a_tool(self):
        class Stop(BaseException):
            pass

        for error in (KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Stop()):
            with self.subTest(repr(error)):

                def leave(error: Any = error):
                    raise error

                tool = agentloop.Tool("leave", "", {}, leave)
                run, caught = _drive([[_act("leave", "c1"), _act("leave", "c2")]], tools=[tool])
                self.assertIs(caught, error)
                self.assertEqual((run.started, len(run.pending), run.steps), (["c1"], 2, []))

    def test_stop_iteration(self):
        def dry(*_):
            raise StopIteration("dry")

        for options in ({"decisions": dry}, {"decisions": [_end()], "accept": dry}):
            run, error = _drive(**options)
            self.assertIs(type(error), RuntimeError)
            self.assertIn("StopIteration", str(error))
            self.assertEqual(str(error.__cause__), "dry")
            self.assertEqual(run.requests, 1)

    def test_an_exception_that_takes_no_attributes(self):
        class Rigid(Exception):
            def __setattr__(self, name, value):
                raise TypeError("no")

        with self.assertRaises(Rigid):
            agentloop.run(agentloop.Scripted([Rigid()]), "go")

    def test_an_exception_thrown_into_the_generator(self):
        run = agentloop.AgentRun("go")
        events = agentloop.stream(agentloop.Scripted([_act("f"), _end()]), run)
        next(events)
        with self.assertRaises(KeyboardInterrupt) as caught:
            events.throw(KeyboardInterrupt())
        self.assertIs(caught.exception.agent_run, run)
        self.assertEqual(_drive([_act("f"), _end()], run)[0].output, "done")

    def test_the_run_can_be_resumed(self):
        def f():
            return "ran"

        decisions = [_act("f"), ValueError("down"), _end()]
        run, error = _drive(decisions, tools=[f])
        self.assertIsInstance(error, ValueError)
        self.assertEqual((_statuses(run), run.requests), (["ok"], 2))
        run, error = _drive(decisions, run, tools=[f])
        self.assertIsNone(error)
        self.assertEqual((_statuses(run), run.requests, run.output), (["ok"], 3, "done"))

    def test_a_model_error_names_the_server_and_carries_the_run(self):
        def answers(status, body, kind="application/json"):
            return lambda *_: (status, {"content-type": kind}, [body.encode()])

        def nobody(*_):
            raise ConnectionRefusedError("refused")

        url = "http://127.0.0.1:9/v1"
        html = answers(200, "<html>hello</html>", "text/html")
        missing = answers(404, "<html>nothing here</html>", "text/html")
        rows = [  # the server, the kind of the error, how often it was asked, words of the message
            (nobody, "connection", 3, ["127.0.0.1:9"]),
            (answers(404, '{"error": {"message": "no such path"}}'), "bad_request", 1, ["404", "base_url"]),
            (missing, "bad_request", 1, ["404", "127.0.0.1:9"]),
            (html, "bad_response", 1, ["127.0.0.1:9"]),
            (answers(401, '{"error": {"message": "bad key"}}'), "auth", 1, ["bad key", "OPENAI_API_KEY"]),
            (answers(200, ""), "bad_response", 3, ["127.0.0.1:9"]),
            (answers(200, '{"error": {"message": "model is sleeping"}}'), "server", 3, ["model is sleeping"]),
        ]  # fmt: skip
        for transport, kind, requests, words in rows:
            counted = mock.Mock(side_effect=transport)
            settings = {"base_url": url, "api_key": "sk-secret", "retries": 2, "transport": counted}
            with self.subTest((kind, words)), mock.patch("time.sleep"):
                run, error = _drive(agentloop.OpenAIChat("m", **settings))
                self.assertIsInstance(error, agentloop.ModelError)
                self.assertEqual((error.kind, counted.call_count), (kind, requests))
                for word in words:
                    self.assertIn(word, str(error))
                self.assertNotIn("sk-secret", str(error))
                self.assertEqual((run.requests, run.state), (1, "running"))


class ScriptedTests(unittest.TestCase):
    """The model for tests and lessons."""

    def test_an_exception_keeps_no_trace_of_earlier_runs(self):
        model = agentloop.Scripted([OSError("no")])
        lengths = set()
        for _ in range(3):
            try:
                agentloop.run(model, "go")
            except OSError as error:  # assertRaises would take the traceback away
                lengths.add(len(traceback.extract_tb(error.__traceback__)))
        self.assertEqual(len(lengths), 1)

    def test_the_nth_request_of_a_conversation_gets_the_nth_decision(self):
        model = agentloop.Scripted(_end(n) for n in range(1, 4))
        run = agentloop.AgentRun("go")
        for n in (1, 2, 3):
            run = agentloop.run(model, run.follow_up("more") if n > 1 else run)
            self.assertEqual(run.output, n)
        for _ in range(2):  # stateless: one object serves many runs
            self.assertEqual(agentloop.run(model, "again").output, 1)

    def test_a_decision(self):
        action, finish = _act("f", "c1"), _end()
        model = agentloop.Scripted([action, [action, action], finish])
        for n, decision in enumerate([action, [action, action], finish], 1):
            self.assertEqual(model(agentloop.AgentRun("go", requests=n), {}), decision)

    def test_an_exception_in_the_list_is_raised(self):
        for decision in (
            ValueError("x"), ValueError, KeyboardInterrupt(), agentloop.ModelError("x"),
        ):  # fmt: skip
            kind = decision if isinstance(decision, type) else type(decision)
            run, error = _drive([decision])
            self.assertIsInstance(error, kind)
            self.assertEqual(run.requests, 1)

    def test_past_the_end(self):
        run, error = _drive([_act("f"), _act("f")])
        self.assertIs(type(error), IndexError)
        self.assertRegex(str(error), r"\b2\b")
        self.assertEqual(run.requests, 3)
        _, error = _drive([])
        self.assertRegex(str(error), r"\b0\b")

    def test_it_pickles(self):
        model = pickle.loads(pickle.dumps(agentloop.Scripted([_act("f"), _end("x")])))
        self.assertEqual(agentloop.run(model, "go").output, "x")


class FirstAgentTests(unittest.TestCase):
    """The first example: stock is {"A1": 3}, and its right values are fixed."""

    def setUp(self):
        self.asked: List[str] = []

    def lookup_stock(self, sku: str) -> str:
        """Return the quantity that can be sold now; read-only, reserves nothing."""
        self.asked.append(sku)
        left = {"A1": 3}.get(sku)
        return "not found" if left is None else "%d available" % left

    def play(self, *first, **options):
        text = "3 can be sold; nothing is reserved."
        calls = list(first) or [_act("lookup_stock", "c17", sku="A1")]

        def model(run, tools):
            if run.requests <= len(calls):
                return calls[run.requests - 1]
            assert "3 available" in run.steps[0].observation or first
            return _end(text)

        run, error = _drive(model, "How many A1 can we sell?", [self.lookup_stock], **options)
        self.assertIsNone(error)
        return run

    def test_it_ends(self):
        run = self.play()
        self.assertEqual((run.state, len(run.steps), run.requests), ("model_ended", 1, 2))
        step = run.steps[0]
        self.assertEqual(
            (step.action.call_id, step.status, step.observation), ("c17", "ok", "3 available")
        )
        self.assertIn("3 can be sold", run.output)
        self.assertIn("nothing is reserved", run.output)

    def test_one_request(self):
        run = self.play(max_requests=1)
        self.assertEqual((run.state, len(run.steps), run.output), ("budget_exhausted", 1, None))

    def test_calls_that_go_wrong(self):
        rows = [
            (_act("delete_stock", "c17", sku="A1"), "unknown_tool", "lookup_stock", []),
            (_act("lookup_stock", "c17", sku=1), "ok", "not found", ["1"]),
            (_act("lookup_stock", "c17", sku=["A1"]), "invalid_arguments", "args.sku", []),
        ]
        for call, status, words, asked in rows:
            del self.asked[:]
            run = self.play(call)
            self.assertEqual((_statuses(run), self.asked), ([status], asked))
            self.assertIn(words, run.steps[0].observation)

    def test_an_acceptance_check_that_wants_a_reservation(self):
        run = self.play(accept=lambda run: "A1 has to be reserved", max_requests=5)
        self.assertEqual((run.state, run.output), ("budget_exhausted", None))
        self.assertEqual(_statuses(run), ["ok"] + ["not_accepted"] * 4)

    def test_a_second_use_of_c17(self):
        call = _act("lookup_stock", "c17", sku="A1")
        run = self.play(call, call)
        self.assertEqual((_statuses(run), self.asked), (["ok", "duplicate_call"], ["A1"]))


# == journal =======================================================================================

# -- reading ---------------------------------------------------------------------------------------


class TornFileTests(_JournalCase):
    """A file that ends in the middle: what is whole counts, the rest is cut off."""

    def test_cut_at_any_byte(self):
        """A last line without its newline is cut off, wherever it tore."""
        whole = self.play([["pay 1", "look 1"], "?", ["answer 1"]])
        want = _without_counts(whole.go())
        data = whole.data()
        play = self.play([["pay 1", "look 1"], "?", ["answer 1"]])
        breaks = {end + n for end, byte in enumerate(data) if byte == 10 for n in (0, 1, 2)}
        for end in sorted({*range(150), *range(0, len(data), 29), *breaks} - {len(data) + 1}):
            whole_lines = data[: data.rfind(b"\n", 0, end) + 1]
            play.put_data(data[:end])
            if not whole_lines:
                self.assertRaises(ValueError, play.load)
            else:
                found = play.load()
                if end > len(whole_lines):
                    play.put_data(whole_lines)
                    self.assertEqual(play.load(), found, end)
                # the actions of one reply are recorded together or not at all
                self.assertIn(len(found.pending) + len(found.steps), (0, 2, 3, 4), end)
            if end % 50 == 0 or end in breaks:
                play.put_data(data[:end])
                run = play.go()
                got = _without_counts(run)
                for g, w in zip(got[-1][5], want[-1][5]):
                    self.assertTrue(g == w or g[2] == "unknown_outcome", (end, g, w))
                self.assertEqual((got[-1][:5], len(got[-1][5])), (want[-1][:5], len(want[-1][5])))
                self.assertEqual(play.load(), run)

    def test_nul_bytes_that_a_power_cut_left(self):
        whole = self.play([["pay 1", "look 1"], "ok"])
        whole.stopped("yielded pay 1: ok")
        data, found = whole.data(), whole.load()
        for name, tail in {
            "NULs": b"\0" * 20000,
            "torn, then NULs": b'{"event": "do' + b"\0" * 100,
            "one NUL": b"\0",
            "a long torn line": b'{"event": "' + b"x" * 20000,
        }.items():
            with self.subTest(name):
                play = self.play([["pay 1", "look 1"], "ok"])
                play.put_data(data + tail)
                self.assertEqual(play.load(), found)
                self.assertEqual(play.data(), data + tail, "load only reads")
                run = play.go()
                self.assertEqual((run.state, play.load()), ("model_ended", run))
                self.assertTrue(play.data().startswith(data))
                for line in play.data().splitlines():
                    json.loads(line)

    def test_a_run_that_has_not_begun(self):
        first = self.play([["pay 1"], "ok"])
        first.go()
        line = first.data().split(b"\n")[0]
        for data in (b"", line[:1], line[: len(line) // 2], line, b"\0" * 100):
            with self.subTest(data=data[:40]):
                play = self.play([["pay 1"], "ok"])
                play.put_data(data)
                with self.assertRaises(ValueError) as caught:
                    play.load()
                self.assertIn(play.journal, str(caught.exception))
                self.assertEqual(play.data(), data)
                run = play.go()
                self.assertEqual((run.requests, play.load()), (2, run))
        with self.assertRaises(FileNotFoundError):
            agentloop.AgentRun.load(self.path("none.jsonl"))

    def test_another_runs_journal_is_left_alone_with_its_torn_line(self):
        play = self.play([["pay 1"], "ok"])
        play.go()
        data = play.data()
        for tail in (b"", b'{"event": "turn", "task": "a', b"a note", b"\0\0\0"):
            play.put_data(data + tail)
            self.refused(play, run=agentloop.AgentRun("another task"))


class DamagedFileTests(_JournalCase):
    """A line that cannot be right is reported with path and number; the file stays as it is."""

    def recorded(self, *turns):
        """A play that has come to its end, and the lines of its journal."""
        play = self.play(*turns)
        play.go()
        return play, play.data().splitlines(True)

    def damaged(self, play, lines, n, **changes):
        """With these fields changed, line n + 1 is damaged: whoever reads it says so."""
        with self.subTest(line=n + 1, **changes):
            bad = json.dumps(dict(json.loads(lines[n]), **changes)).encode() + b"\n"
            play.put_data(b"".join(lines[:n] + [bad] + lines[n + 1 :]))
            for use in (play.go, play.load):
                self.assertIn("line %d" % (n + 1), self.refused(play, use=use))

    def test_a_damaged_line_is_reported(self):
        """Each line of a file, replaced by what cannot be read: path and line are reported."""
        play, lines = self.recorded([["pay 1"], "?", ["look 1"], "ok"])
        for n in range(1, len(lines) + 1):
            half = lines[n - 1][: len(lines[n - 1]) // 2] + b"\n"
            for bad in (
                b"damaged\n", half, bytes(40) + b"\n", b"17\n", b"{}\n", b"[]\n", b"null\n", b"\n",
                b"\xff\xfe\n", b'{"event": "what?"}\n', b'{"event": null}\n', b'"done"\n',
            ):  # fmt: skip
                with self.subTest(line=n, bad=bad[:20]):
                    play.put_data(b"".join(lines[: n - 1] + [bad] + lines[n:]))
                    self.assertIn("line %d" % n, self.refused(play))
                    self.assertIn("line %d" % n, self.refused(play, use=play.load))

    def test_fields_of_another_kind_are_not_read(self):
        """Each would be taken for something that it is not."""
        play, lines = self.recorded([["pay 1"], "?", "ok"])
        tried = []
        for n, event in enumerate(map(json.loads, lines)):
            if event["event"] == "proposed":
                self.damaged(play, lines, n, actions=[dict(event["actions"][0], tool=5)])
            elif event["event"] == "started":
                self.damaged(play, lines, n, call_ids="c1")
            elif event.get("call_id") == "":
                self.damaged(play, lines, n, call_id=0)
            else:
                continue
            tried.append(event["event"])
        self.assertEqual(tried, ["proposed", "started", "done"])

    def test_a_step_without_a_status_is_not_read(self):
        """Found by the fuzzer: an empty status is a damaged line too, of a call and of a notice."""
        play, lines = self.recorded([["pay 1"], "?", "ok"])
        done = [n for n, line in enumerate(lines) if json.loads(line)["event"] == "done"]
        self.assertEqual(len(done), 2)
        for n in done:
            self.damaged(play, lines, n, status="")

    def test_a_word_that_is_no_state_is_not_read(self):
        """It would be taken for a run that is not ended, and asked again."""
        play, lines = self.recorded([["pay 1"], "ok"])
        states = [n for n, line in enumerate(lines) if "state" in json.loads(line)]
        self.assertTrue(states)
        for n in states:
            for word in ("", "model_endd", "ok"):
                self.damaged(play, lines, n, state=word)

    def test_a_missing_line_is_not_passed_over(self):
        """Without the line that proposed it, what is done is another's."""
        play, lines = self.recorded([["pay 1"], "ok"])
        at = [json.loads(line)["event"] for line in lines].index("proposed")
        play.put_data(b"".join(lines[:at] + lines[at + 1 :]))
        self.refused(play)

    def test_a_step_that_was_written_twice(self):
        """Ctrl-C came between the writing of it and the counting of it as written."""
        play = self.play([["pay 1", "look 1"], "?", "no", ["answer 1"]], check=True)
        run = play.go()
        lines = play.data().splitlines(True)
        done = [line for line in lines if json.loads(line)["event"] == "done"]
        self.assertEqual(len(done), 5)
        play.put_data(b"".join(line * (2 if line in done else 1) for line in lines))
        self.assertEqual(play.load(), run)
        self.assertEqual(play.go(), run)
        # A step of a call that nobody proposed, or that is another's by now, is damage.
        for line in (done[0], done[0].replace(b'"ok"', b'"odd"')):
            play.put_data(b"".join([*lines, line]))
            self.refused(play)

    def test_a_newer_format_is_refused(self):
        play, lines = self.recorded([["pay 1"], "ok"])
        first = json.loads(lines[0])
        self.assertEqual(first["version"], 1)
        for version in (2, 99):
            newer = json.dumps(dict(first, version=version)).encode() + b"\n"
            play.put_data(newer + b'{"event": "of another kind"}\n')
            for use in (play.go, play.load):
                text = self.refused(play, use=use)
                self.assertIn("line 1", text)
                self.assertIn("newer", text)
                self.assertNotIn("damaged", text)

    def test_what_is_no_journal_is_left_alone(self):
        first = self.play(["ok"])
        first.go()
        rows = {
            "minified JSON": b'{"precious": true}', "a list": b"[1,2,3]", "a key": b"0123456789abcdef",
            "lines": b"-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n", "a note": b"a note",
            "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "bracket": b"[", "blanks": b"   ",
            "newline": b"\n", "another event": b'{"event": "login", "user": "x"}\n', "quote": b'"',
            "a torn event of another": b'{"event": "login", "us', "behind NUL": b"\0\0\0note",
            "an order of its own": b'{"turn": 1, "event": "turn"}', "a list of turns": b'[{"event": "turn"',
            "no turn first": b'{"event": "updated"}\n',
        }  # fmt: skip
        for name, content in rows.items():
            with self.subTest(name):
                play = self.play(["ok"])
                play.put_data(content)
                self.refused(play)
                self.refused(play, run=agentloop.AgentRun("go"))
                self.refused(play, use=play.load)


# -- the file --------------------------------------------------------------------------------------


class JournalPathTests(_JournalCase):
    """Where a journal is: paths, folders, rights, and a file that is taken away."""

    def test_a_path_is_a_str_or_a_path(self):
        path = Path(self.path("run.jsonl"))
        run = agentloop.run(agentloop.Scripted([agentloop.AgentFinish("ok")]), "go", journal=path)
        self.assertEqual(agentloop.AgentRun.load(path), run)
        self.assertEqual(agentloop.AgentRun.load(str(path)), run)

    def test_a_change_of_folder(self):
        """The path is made absolute when the stream is made."""
        away = self.path("away")
        os.mkdir(away)
        self.addCleanup(os.chdir, os.getcwd())

        def build():
            os.chdir(away)
            return "built"

        os.chdir(self.folder)
        events = agentloop.stream(
            agentloop.Scripted([_act("build"), _end()]), "go", [build], journal="run.jsonl"
        )
        os.chdir(away)
        run = _drain(events)[1]
        self.assertEqual(os.listdir(away), [])
        self.assertEqual(agentloop.AgentRun.load(self.path("run.jsonl")), run)

    def test_a_missing_folder(self):
        for with_run in (False, True):
            play = self.play([["pay 1"], "ok"])
            play.journal = self.path("none", "run.jsonl")
            with self.assertRaises(FileNotFoundError) as caught:
                play.go(agentloop.AgentRun("go") if with_run else None)
            self.assertEqual(caught.exception.agent_run.task, "go")
            self.assertEqual(play.noted(), [])

    def test_a_folder_in_its_place(self):
        play = self.play([["pay 1"], "ok"])
        play.journal = self.folder
        with self.assertRaises(OSError) as caught:
            play.go()
        self.assertEqual((caught.exception.agent_run.requests, play.noted()), (0, []))

    @unittest.skipUnless(hasattr(os, "mkfifo") and not _BROWSER, "needs special files")
    def test_what_is_no_regular_file_is_refused_at_once(self):
        fifo, link = self.path("fifo"), self.path("link")
        os.mkfifo(fifo)
        os.symlink(fifo, link)
        for path in (fifo, link, self.folder, os.devnull, "/dev/zero"):
            for use in (
                lambda path=path: agentloop.run(agentloop.Scripted([_end()]), "go", journal=path),
                lambda path=path: agentloop.AgentRun.load(path),
            ):
                with self.subTest(path), self.assertRaises(OSError) as caught:
                    use()
                self.assertIn(path, str(caught.exception))

    @unittest.skipIf(os.name == "nt" or _BROWSER, "needs POSIX permissions")
    def test_readable_by_its_owner_alone(self):
        old = os.umask(0)
        try:
            play = self.play(["ok"])
            play.go()
            self.assertEqual(os.stat(play.journal).st_mode & 0o777, 0o600)
            there = self.play(["ok"])
            there.put_data(b"")
            os.chmod(there.journal, 0o644)
            there.go()
            self.assertEqual(os.stat(there.journal).st_mode & 0o777, 0o644, "not its own to change")
        finally:
            os.umask(old)

    @unittest.skipUnless(hasattr(os, "geteuid") and not _BROWSER, "needs POSIX permissions")
    def test_read_only(self):
        """A file or folder that may not be written: the system's error, and no request."""
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1")
        for path in (self.folder, os.path.dirname(play.journal), play.notes):
            os.chmod(path, 0o777)
        new = self.play([["pay 1"], "ok"])
        os.chmod(play.journal, 0o444)
        os.chmod(os.path.dirname(new.journal), 0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # to root nothing is forbidden
        try:
            for p in (play, new):
                noted = p.noted()
                with self.assertRaises(PermissionError) as caught:
                    p.go()
                self.assertEqual(caught.exception.agent_run.task, "go")
                self.assertEqual(p.noted(), noted)
            self.assertEqual(len(play.load().pending), 1, "it can still be read")
        finally:
            if root:
                os.seteuid(0)
            os.chmod(os.path.dirname(new.journal), 0o777)

    def test_a_file_that_vanishes(self):
        """Removed or replaced meanwhile: an OSError, and no tool runs whose start is nowhere."""
        if os.name == "nt":
            self.skipTest("open files cannot be removed here")
        for replaced in (False, True):
            with self.subTest(replaced=replaced):
                play = self.play([["pay 1", "pay 2"], "ok"])

                def take_away(text, play=play, replaced=replaced):
                    if text == "pay 1":
                        os.rename(play.journal, play.journal + ".old")
                        if replaced:
                            play.put_data(b"")

                play.at_note = take_away
                with self.assertRaises(FileNotFoundError) as caught:
                    play.go()
                self.assertEqual(caught.exception.errno, errno.ENOENT)
                self.assertIn("pay 1", [_named(s.action) for s in caught.exception.agent_run.steps])
                self.assertEqual(play.count("begin pay 2"), 0)
                self.assertEqual(
                    os.path.exists(play.journal) and play.data(), b"" if replaced else False
                )
                play.at_note = lambda text: None
                os.replace(play.journal + ".old", play.journal)
                # Put back, the run's step is written first.
                run = play.go(caught.exception.agent_run)
                self.assertEqual([s.status for s in run.steps], ["ok", "ok"])
                self.assertEqual((play.count("pay 1"), play.load()), (1, run))

    def test_numbers_of_files_that_change(self):
        """Some systems make them up at each look; a file that vanished is found out all the same."""
        real, numbers = os.stat, itertools.count(10**6)

        def stat(path, *args, **kwargs):
            found = list(real(path, *args, **kwargs))
            found[1] = next(numbers)
            return os.stat_result(found)

        play = self.play([["pay 1"], "ok"])
        with mock.patch.object(os, "stat", stat):
            run = play.go()
            self.assertEqual(play.go(), run)
        play = self.play([["pay 1"], "ok"])
        play.at_note = lambda text: text == "pay 1" and os.rename(play.journal, play.journal + "x")
        if os.name != "nt":
            with mock.patch.object(os, "stat", stat), self.assertRaises(FileNotFoundError):
                play.go()

    def test_without_a_journal_no_file_is_touched(self):
        opened = []
        with mock.patch.object(os, "open", lambda *a, **k: opened.append(a)):
            run = agentloop.run(agentloop.Scripted([agentloop.AgentFinish("ok")]), "go")
        self.assertEqual((run.output, opened), ("ok", []))


class DiskFaultTests(_JournalCase):
    """A disk that is full, or fails once: an OSError with the run, and it can go on."""

    def test_a_full_disk(self):
        """Full at any byte: an OSError with the run; half a line does not stay; it goes on."""
        try:
            import resource
        except ImportError:
            self.skipTest("needs resource")
        plan = [["pay 1"], ["look 1", "look 2"], ["pay 2", "pay 3"], "ok"]
        whole = self.play(plan)
        want, size = whole.go(), len(whole.data())
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        spare = 5 * whole.data().count(b"\n")  # a time has more or fewer digits from run to run
        for limit in range(0, size - spare, max(1, size // 60)):
            with self.subTest(bytes=limit):
                play = self.play(plan)
                # The notes need no room.
                play.note = lambda text, play=play: play.memory.append(text)
                play.memory = []
                play.noted = lambda play=play: play.memory
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
                try:
                    with self.assertRaises(OSError) as caught:
                        play.go()
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, old)
                run = caught.exception.agent_run
                data = play.data()
                self.assertTrue(not data or data.endswith(b"\n"), "half a line stays")
                begun = [t[6:] for t in play.memory if t.startswith("begin")]
                if data:
                    found = play.load()
                    recorded = [_named(s.action) for s in found.steps]
                    recorded += [_named(a) for a in found.pending if a.call_id in found.started]
                    self.assertLessEqual(set(begun), set(recorded), "a start is not in the file")
                else:
                    self.assertEqual(begun, [])
                self.agree(play, play.go(run if limit % 2 else None), want)
                self.assertEqual(play.load().state, "model_ended")

    def test_a_write_that_fails_once(self):
        """Half a line is taken back, and what ended beside it is recorded after it, in order."""
        play = self.play([["look 1", "look 2"], "ok"])
        write, failed, others = os.write, [], set(threading.enumerate())

        def half(fd, data):
            if b'"done"' in data and not failed:
                for thread in set(threading.enumerate()) - others:
                    thread.join(10)  # the second call has ended too
                failed.append(write(fd, data[:10]))
                raise OSError(28, "No space left on device")
            return write(fd, data)

        with mock.patch.object(os, "write", half), self.assertRaises(OSError) as caught:
            play.go()
        run = caught.exception.agent_run
        self.assertEqual([s.status for s in run.steps], ["ok", "ok"])
        self.assertEqual(play.load().steps, run.steps)
        self.assertEqual(play.go(run).state, "model_ended")
        self.assertEqual((play.load(), play.count("look 1")), (run, 1))

    def test_half_a_line_that_cannot_be_cut_off(self):
        """The next line does not follow it: it is cut off before anything else is written."""
        path = self.path("half.jsonl")
        write, cut, broken = os.write, os.ftruncate, []

        def write_half(file, data):
            if b'"done"' in data and not broken:
                broken.append(write(file, data[:10]))
                raise OSError(errno.ENOSPC, "full")
            return write(file, data)

        def fail_once(file, size):
            if broken == [10]:
                broken.append("cut")
                raise OSError(errno.EIO, "no")
            return cut(file, size)

        @agentloop.tool(read_only=True)
        def look() -> str:
            return "seen"

        calls = [agentloop.AgentAction("look", {}, name) for name in "ab"]
        script = agentloop.Scripted([calls, agentloop.AgentFinish("ok")])
        with mock.patch.object(os, "write", write_half), mock.patch.object(
            os, "ftruncate", fail_once
        ):
            with self.assertRaises(OSError) as caught:
                agentloop.run(script, "go", [look], journal=path)
        self.assertEqual(broken, [10, "cut"])
        run = agentloop.run(script, caught.exception.agent_run, [look], journal=path)
        self.assertEqual(agentloop.AgentRun.load(path).output, "ok")
        self.assertEqual(len(run.steps), 2)

    def test_ctrl_c_while_the_disk_is_full(self):
        """Ctrl-C leaves, not the write that fails on the way out. A reader learns of the write."""
        write, path = os.write, self.path("full.jsonl")

        def fill(fd, data):
            if b'"done"' in data:
                raise OSError(errno.ENOSPC, "full")
            return write(fd, data)

        def stop(n: int, action: agentloop.AgentAction, run: agentloop.AgentRun) -> None:
            if n == 1:
                run.close(action, "by hand", "ok")
                raise KeyboardInterrupt

        script = agentloop.Scripted([[_act("stop", n=n) for n in (1, 2, 3)], _end()])
        with mock.patch.object(os, "write", fill), self.assertRaises(KeyboardInterrupt) as caught:
            agentloop.run(script, "go", [stop], journal=path)
        run = caught.exception.agent_run
        events = agentloop.stream(script, run, [stop], journal=path)
        while _named(next(events)) != "stop 2: ok":
            pass
        run.close(run.pending[0], "by hand", "ok")
        with mock.patch.object(os, "write", fill), self.assertRaisesRegex(OSError, "full"):
            events.close()
        run = agentloop.run(script, run, [stop], journal=path)
        self.assertEqual((run.state, _statuses(run)), ("model_ended", ["ok"] * 3))
        self.assertEqual(agentloop.AgentRun.load(path), run)

    def test_a_sync_that_fails(self):
        plan = [["pay 1"], ["pay 2", "look 1"], "ok"]
        whole = self.play(plan)
        of_folders = []

        def note(fd):
            of_folders.append(stat.S_ISDIR(os.fstat(fd).st_mode))

        with mock.patch.object(os, "fsync", note):
            want = whole.go()
        for k, is_of_folder in enumerate(of_folders, 1):
            with self.subTest(sync=k):
                play, left = self.play(plan), [k]

                def fsync(fd, left=left):
                    left[0] -= 1
                    if left[0] == 0:
                        raise OSError(errno.EIO, "the disk is gone")

                if is_of_folder:  # which some systems cannot do: no error
                    with mock.patch.object(os, "fsync", fsync):
                        self.agree(play, play.go(), want)
                else:
                    with mock.patch.object(os, "fsync", fsync):
                        with self.assertRaises(OSError) as caught:
                            play.go()
                    e = caught.exception
                    self.assertEqual(e.errno, errno.EIO)
                    self.assertEqual(play.count("pay 2") + play.count("pay 1"), sum(
                        s.action.tool == "pay" for s in e.agent_run.steps))  # fmt: skip
                    self.agree(play, play.go(e.agent_run), want)
                self.assertEqual(play.load().output, "ok")

    @unittest.skipIf(os.name == "nt" or _BROWSER, "folders cannot be synced here")
    def test_the_name_of_a_new_file_is_synced(self):
        synced = []
        with mock.patch.object(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino)):
            play = self.play(["ok"])
            play.go()
            self.assertIn(os.stat(os.path.dirname(play.journal)).st_ino, synced)


def _two_processes(folder):
    """While one process lives, another gets BlockingIOError; a kill frees the file."""
    play = _Play(folder, [["look 1"], "ok"])
    reader, writer = os.pipe()

    def hold():
        def wait(text):
            if text == "look 1":
                os.write(writer, b"x")
                time.sleep(50)

        play.at_note = wait
        play.go()

    pid = _fork(hold)
    os.read(reader, 1)
    data = play.data()
    try:
        play.go()
    except BlockingIOError as e:
        if play.journal not in str(e) or e.agent_run.task != "go":
            raise AssertionError("the error says: %s" % e) from None
    else:
        raise AssertionError("two processes write")
    if len(play.load().started) != 1 or play.data() != data:
        raise AssertionError("the file was touched")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if play.go().state != "model_ended":
        raise AssertionError("the file is not free again")
    print("fine")


class LockTests(_JournalCase):
    """One writer at a time, in this process and in others."""

    @_locks
    def test_one_writer_at_a_time(self):
        play = self.play([["pay 1"], "ok"])
        events = agentloop.stream(play.model, "go", play.tools, journal=play.journal)
        with contextlib.closing(events):
            next(events)
            self.refused(play, BlockingIOError, line=False)
            self.assertEqual(len(play.load().pending), 1, "load needs no lock")
        self.assertEqual(play.go().state, "model_ended", "closing the stream lets go")
        # A run that raised, or came to its end, lets go as well.
        self.assertEqual(play.go().state, "model_ended")

    @_locks
    def test_a_dropped_stream_lets_go(self):
        """At once, also where it waits to be collected: on PyPy, or here in a cycle."""
        for in_cycle in (False, True):
            with self.subTest(in_cycle=in_cycle):
                play = self.play([["pay 1"], "ok"])
                events = agentloop.stream(play.model, "go", play.tools, journal=play.journal)
                next(events)
                cycle: List[Any] = [events] if in_cycle else []
                cycle.append(cycle)
                del events, cycle
                self.assertEqual(play.go().state, "model_ended")
                os.unlink(play.journal)

    @_forks
    @_locks
    def test_two_processes(self):
        said = _printed_by(_child("_two_processes", self.folder))
        self.assertEqual(said.split(), ["fine"])

    @_forks
    @_locks
    def test_a_child_that_inherits_the_file(self):
        """It does not keep the lock when the stream has ended, and does not end it before."""
        play = self.play([["pay 1"], "ok"])
        for ends in (False, True):
            events = agentloop.stream(play.model, "go", play.tools, journal=play.journal)
            next(events)
            said, say = os.pipe()
            pid = os.fork()
            if pid == 0:
                if ends:
                    events.close()
                    os.write(say, b"x")
                while True:
                    signal.pause()
            if ends:
                os.read(said, 1)
                self.refused(play, BlockingIOError, line=False)
            events.close()
            self.assertEqual(play.go().state, "model_ended")
            os.unlink(play.journal)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(said)
            os.close(say)

    @_locks
    def test_only_the_process_that_took_the_lock_ends_it(self):
        import fcntl

        asked, flock = [], fcntl.flock
        for pid in (os.getpid(), 0):
            play = self.play([["pay 1"], "ok"])
            events = agentloop.stream(play.model, "go", play.tools, journal=play.journal)
            next(events)
            with mock.patch.object(os, "getpid", lambda pid=pid: pid):
                with mock.patch.object(fcntl, "flock", lambda fd, how: asked.append(how)):
                    events.close()
            self.assertEqual(play.go().state, "model_ended")
        self.assertEqual((asked, fcntl.flock), ([fcntl.LOCK_UN], flock))

    def test_a_forked_child_cannot_go_on_with_its_parents_stream(self):
        """Its calls would run twice, and two processes would write one file."""
        play = self.play([["pay 1"], "ok"])
        events = agentloop.stream(play.model, "go", play.tools, journal=play.journal)
        next(events)
        data = play.data()
        with mock.patch.object(os, "getpid", lambda: 0):
            with self.assertRaises(BlockingIOError) as caught:
                next(events)
        self.assertEqual(caught.exception.filename, play.journal)
        self.assertEqual((play.data(), play.count("pay 1")), (data, 0))
        self.assertEqual(play.go().state, "model_ended")

    @_locks
    def test_a_file_system_without_locks(self):
        import fcntl

        for number in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL):
            play = self.play([["pay 1"], "ok"])
            with mock.patch.object(fcntl, "flock", side_effect=OSError(number, "no locks")):
                with self.assertLogs("agentloop") as logged:
                    play.go()
            self.assertEqual(len(logged.output), 1)
            self.assertIn(play.journal, logged.output[0])
            self.assertIn("lock", logged.output[0])
        with mock.patch.object(fcntl, "flock", side_effect=OSError(errno.EIO, "broken")):
            with self.assertRaises(OSError) as caught:
                play.go()
        self.assertEqual(caught.exception.errno, errno.EIO)

    def test_a_file_system_that_cannot_sync(self):
        for number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
            play = self.play([["pay 1"], "ok"])
            with mock.patch.object(os, "fsync", side_effect=OSError(number, "not here")):
                with self.assertLogs("agentloop") as logged:
                    self.assertEqual(play.go().output, "ok")
            self.assertEqual(len(logged.output), 1)
            self.assertIn(play.journal + ": this file system cannot sync", logged.output[0])
            self.assertEqual(play.load().output, "ok")


# -- comparing run and file ------------------------------------------------------------------------


class OtherRunTests(_JournalCase):
    """The journal of another run is refused, and left as it is."""

    def test_another_run_is_refused(self):
        play = self.play([["pay 1"], ["pay 2"], "ok"])
        play.stopped("yielded pay 2")
        picture = agentloop.Image(b"x")

        def changed(change):
            run = play.load()
            change(run)
            return run

        step = agentloop.AgentStep(agentloop.AgentAction("pay", {"n": 5}, "other"), 1)
        others = {
            "task": agentloop.AgentRun("another task"),
            "list": agentloop.AgentRun(["go"]),
            "picture": agentloop.AgentRun(["go", picture]),
            "observation": changed(lambda r: setattr(r.steps[0], "observation", "else")),
            "status": changed(lambda r: setattr(r.steps[0], "status", "tool_error")),
            "input": changed(lambda r: setattr(r.steps[0].action, "tool_input", {"n": 9})),
            "call id": changed(lambda r: setattr(r.steps[0].action, "call_id", "x")),
            "a step in between": changed(lambda r: r.steps.insert(0, step)),
            "an earlier turn": changed(lambda r: r.history.append(agentloop.AgentRun("before"))),
        }
        lines = play.data().splitlines()
        text = self.refused(play, run=others["observation"])
        told = json.loads(lines[int(re.search(r"line (\d+)", text).group(1)) - 1])
        self.assertEqual((told["event"], told["observation"]), ("done", {"did": "pay 1"}))
        self.assertIn("line 1:", self.refused(play, run=others["task"]))
        whole = self.play([["pay 1"], ["pay 2"], "ok"])
        whole.go()
        run = whole.load()
        run.steps[0].observation = "else"
        events = [json.loads(line)["event"] for line in whole.data().splitlines()]
        self.assertIn("line %d:" % (events.index("done") + 1), self.refused(whole, run=run))
        for name, run in others.items():
            with self.subTest(name):
                self.refused(
                    play,
                    use=lambda run=run: agentloop.run(
                        play.model, run, play.tools, journal=play.journal
                    ),
                )
        self.assertEqual(play.go().state, "model_ended", "the right run goes on")

    def test_another_finish_or_pending_call_is_refused(self):
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1")
        run = play.load()
        run.pending[0] = agentloop.AgentAction("pay", {"n": 7}, "other", request=1)
        self.refused(play, run=run)
        run = play.load()  # a finish where the file has a call that is not done
        run.pending, run.finish = [], agentloop.AgentFinish("ok")
        self.refused(play, run=run)
        pending = play.load()
        play.go()
        run = play.load()
        run.finish = agentloop.AgentFinish("something else")
        self.refused(play, run=run)
        run = play.load()  # a call that is not done where the file has the finish
        run.pending, run.finish, run.state = pending.pending, None, "running"
        run.pending[0].call_id = "other"
        self.refused(play, run=run)

    def test_a_changed_history_needs_a_journal_of_its_own(self):
        play = self.play([["pay 1"], "one"], ["two"], ["three"])
        run = play.go().follow_up("and more?")
        summary = agentloop.AgentRun("What was said?", finish=agentloop.AgentFinish("this"))
        summary.state = "model_ended"
        run.history[:2] = [summary]
        text = self.refused(play, use=lambda: agentloop.run(play.model, run, journal=play.journal))
        self.assertIn("history", text)
        other = self.path("other.jsonl")
        done = agentloop.run(lambda r, t: agentloop.AgentFinish("four"), run, journal=other)
        self.assertEqual(agentloop.AgentRun.load(other), done)
        self.assertEqual([t.output for t in done.history], ["this", "three"])

    def test_each_call_s_message_counts(self):
        """The calls of a reply may have messages of their own."""
        first = agentloop.AgentAction("pay", {}, "a", "", {"id": 1}, 1)

        def made(message):
            second = agentloop.AgentAction("pay", {}, "b", "", message, 1)
            steps = [agentloop.AgentStep(action, 1) for action in (first, second)]
            return agentloop.AgentRun("go", steps=steps, requests=1)

        path = self.path("messages.jsonl")
        ask = agentloop.Scripted([_end("no"), _end()])
        done = agentloop.run(ask, made({"id": 2}), journal=path)
        self.assertEqual(agentloop.AgentRun.load(path), done)
        with self.assertRaisesRegex(ValueError, "with another step"):
            agentloop.run(ask, made({"id": 3}), journal=path)

    def test_an_id_of_a_class_of_its_own(self):
        """In a run made by hand; a str is a str, in a field and in a list."""

        class Id(str):
            pass

        path = self.path("ids.jsonl")
        call = agentloop.AgentAction("tool", {}, Id("x"), "", None, 1)
        run = agentloop.AgentRun("go", pending=[call], usage={Id("input_tokens"): 3}, requests=1)
        ask = agentloop.Scripted([_end("no"), _end()])
        run = agentloop.run(ask, run, [_tool("")], journal=path)
        self.assertEqual((_statuses(run), agentloop.AgentRun.load(path)), (["ok"], run))

    def test_an_unfinished_copy_does_not_end_a_continued_turn(self):
        """The run has more in a turn that the file continues with another."""
        play = self.play([["pay 1"], "one"], ["two"])
        play.go()
        run = play.load().history[0]
        run.steps.append(agentloop.AgentStep(agentloop.AgentAction("pay", {}, "new"), 1))
        self.refused(
            play, use=lambda: agentloop.run(play.model, run, play.tools, journal=play.journal)
        )


class CopyOfRunTests(_JournalCase):
    """A copy of the run that has less or more than the file: each takes over what the other has."""

    def test_the_run_of_an_exception_goes_on(self):
        """The same object, or its JSON, or a pickle of it, finds itself in the file."""
        for way in (
            lambda r: r,
            lambda r: agentloop.from_json(json.loads(json.dumps(agentloop.to_json(r)))),
        ):
            play = self.play([["pay 1", "look 1"], ["pay 2"], "ok"])
            run = play.go(way(play.stopped("look 1")))
            self.assertEqual([s.status for s in run.steps], ["ok"] * 3)
            self.assertEqual((play.count("pay 1"), play.load()), (1, run))

    def test_a_tool_that_changes_what_it_returned(self):
        """The run shows the object as it is, the file has it as it was: it is the same step."""

        class Counter:
            def __init__(self):
                self.count = 0

            def __str__(self):
                return "counted %d" % self.count

        notes, counter = [], Counter()

        def note(x: int):
            notes.append(x)
            return notes

        def count():
            counter.count += 1
            return counter

        @agentloop.tool(return_direct=True)
        def report():
            return notes

        def copied(run):
            return pickle.loads(pickle.dumps(run))

        calls = [_act("note", x=1), _act("count"), _act("note", x=2), _act("count")]
        script = agentloop.Scripted([*calls, _act("report"), _end("next")])
        tools, path = [note, count, report], self.path("changed.jsonl")
        for way in (lambda r: r, copy.deepcopy):
            with self.subTest(way=way):
                run, asked = agentloop.AgentRun("go"), 0
                while run.state in ("running", "budget_exhausted"):
                    asked += 1
                    run = agentloop.run(script, way(run), tools, max_requests=asked, journal=path)
                notes.append(3)
                run = agentloop.run(script, way(run).follow_up("and?"), tools, journal=path)
                self.assertEqual(run.output, "next")
                first = agentloop.AgentRun.load(path).history[0]
                self.assertEqual(first.steps[0].observation, [1])
                self.assertEqual(first.steps[1].observation, "counted 1")
                self.assertEqual(first.output, [1, 2])
                # Another object in its place is another observation.
                run.history[0].steps[0].observation = list(notes)
                with self.assertRaisesRegex(ValueError, "with another step"):
                    agentloop.run(script, run.follow_up("more?"), tools, journal=path)
                os.unlink(path)
                del notes[:]
                counter.count = 0

    def test_a_character_that_comes_in_halves(self):
        """A file joins them: where they come from a model they are joined at once."""
        halves, whole = "\ud83d" + "\ude00", "\U0001f600"
        path = self.path("halves.jsonl")

        def look() -> list:
            return [halves, "\ud83d"]

        def say() -> str:
            return halves

        message = {"content": halves}
        calls = [agentloop.AgentAction(n, {}, "", halves, message) for n in ("look", "say")]
        unread = agentloop.InvalidResponse("what?", message, halves)
        finish = agentloop.AgentFinish(halves, halves, message)
        script = agentloop.Scripted([calls, unread, finish, _end("next")])
        run = agentloop.AgentRun("go")
        for _ in range(4):
            run = agentloop.run(
                script, run, [look, say], max_requests=run.requests + 1, journal=path
            )
        self.assertEqual(run.steps[0].observation, [halves, "\ud83d"], "the tool's own value")
        self.assertEqual([step.action.log for step in run.steps], [whole] * 3)
        self.assertEqual((run.output, run.finish.log), (whole, whole))
        found = agentloop.AgentRun.load(path)
        self.assertEqual(found.steps[0].observation, [whole, "\ud83d"])
        chat, tools = agentloop.OpenAIChat("m", api_key="k"), agentloop.registry([look, say])
        text = agentloop.ReActText(lambda prompt: "")
        self.assertEqual(text.prompt(found, tools), text.prompt(run, tools))
        self.assertEqual(chat.body(found, tools), chat.body(run, tools), "the same after a resume")
        run = agentloop.run(script, run.follow_up("and?"), [look, say], journal=path)
        self.assertEqual(run.output, "next")

    def test_a_run_made_by_hand(self):
        """Its calls have no ids: they get some, so that the file has the calls too."""
        path = self.path("hand.jsonl")

        def by_hand():
            done = agentloop.AgentStep(_act("pay", n=1), "paid")
            summary = agentloop.AgentRun("before", [agentloop.AgentStep(_act("look", n=2), "seen")])
            return agentloop.AgentRun("go", [done], [_act("nix", n=3)], history=[summary])

        script = agentloop.Scripted([_end()])
        run = agentloop.run(script, by_hand(), journal=path)
        found = agentloop.AgentRun.load(path)
        self.assertEqual(found, run)
        self.assertEqual([_named(s.action) for s in found.steps], ["pay 1", "nix 3"])
        self.assertEqual(_named(found.history[0].steps[0].action), "look 2")
        self.assertEqual(agentloop.run(script, by_hand(), journal=path), run)

    def test_equal_notices_of_a_run_made_by_hand(self):
        """They have no request that tells them apart; the file has as many."""
        path = self.path("notices.jsonl")
        notice = agentloop.AgentStep(_act(""), "unreadable", "invalid_response")
        script = agentloop.Scripted([_end()])
        run = agentloop.AgentRun("go", [notice, copy.copy(notice)])
        for _ in range(2):
            agentloop.run(script, run, journal=path)
            self.assertEqual(agentloop.AgentRun.load(path), run)

    def test_an_older_copy_takes_over_what_the_file_has_more(self):
        play = self.play([["pay 1", "pay 2"], ["pay 3"], "ok"])
        play.stopped("yielded pay 1")
        old = play.load()
        play.stopped("yielded pay 3")
        run = play.go(old)
        self.assertIs(run, old)
        self.assertEqual([s.status for s in run.steps], ["ok"] * 3)
        self.assertEqual([play.count("pay %d" % n) for n in (1, 2, 3)], [1, 1, 1])
        self.assertEqual(run.requests, 3)

    def test_what_the_run_has_spent_more_is_kept(self):
        """Requests that were made without the journal count, and so do their tokens."""
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1: ok")
        run = play.load()
        run.requests, run.usage = 5, {"input_tokens": 70}
        run = play.go(run)
        self.assertEqual((run.requests, run.usage), (6, {"input_tokens": 80}))
        self.assertEqual(play.load(), run)
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1: ok")
        run = play.load()
        run.usage = {"input_tokens": 7000}
        self.assertEqual(play.go(run).usage, {"input_tokens": 7010})
        self.assertEqual(play.load().usage, {"input_tokens": 7010})

    def test_what_only_the_file_knows_to_have_started_does_not_run_again(self):
        path = self.path("kept.jsonl")
        paid = []

        def pay(n: int) -> str:
            paid.append(n)
            if len(paid) == 1:
                raise SystemExit("killed")
            return "paid"

        calls = [agentloop.AgentAction("pay", {"n": n}, "p%d" % n) for n in (1, 2)]
        script = agentloop.Scripted([calls, agentloop.AgentFinish("ok")])
        events = agentloop.stream(script, run := agentloop.AgentRun("go"), [pay], journal=path)
        next(events)
        saved = agentloop.to_json(run)
        with self.assertRaises(SystemExit):
            list(events)
        run = agentloop.from_json(saved)
        run.close(run.pending[1], "Not this one.", "denied")
        run = agentloop.run(script, run, [pay], journal=path)
        self.assertEqual(paid, [1])
        self.assertEqual(sorted(_statuses(run)), ["denied", "unknown_outcome"])
        self.assertEqual(agentloop.AgentRun.load(path).output, "ok")

    def test_a_copy_that_was_cut_off(self):
        """A crash while a run is written to a new journal: the run given again is completed.

        And what is in the file can be resumed without it: a state has its finish.
        """
        for plan, options in (
            ((_LONG, _SECOND), {"check": True}),
            (([["look 1"], ["answer 1"]],), {}),
            (([["pay 1"], "one"], ["two"]), {}),
        ):
            whole = self.play(*plan, **options)
            run = whole.go(journal=None)
            copied = self.path("copied.jsonl")
            agentloop.run(whole.model, run, whole.tools, journal=copied)
            lines = _bytes(copied).splitlines(True)
            self.assertEqual(agentloop.AgentRun.load(copied), run)
            os.unlink(copied)
            for count in range(1, len(lines) + 1):
                with self.subTest(lines=count):
                    path = self.path("cut%d.jsonl" % count)
                    with open(path, "wb") as f:
                        f.write(b"".join(lines[:count]))
                    found = agentloop.AgentRun.load(path)
                    if found.state != "running":
                        self.assertIsNotNone(found.finish)
                    noted = whole.noted()
                    _, done = _drain(
                        agentloop.stream(whole.model, copy.deepcopy(run), whole.tools, journal=path)
                    )
                    self.assertEqual((done, whole.noted()), (run, noted))
                    self.assertEqual(agentloop.AgentRun.load(path), run)
                    os.unlink(path)

    def test_either_catches_up_with_the_other(self):
        """A run and a journal at any two places of a conversation: whichever is behind."""
        whole = self.play(_LONG, check=True)
        whole.go()
        lines = whole.data().splitlines(True)
        loaded = []
        for count in range(1, len(lines) + 1):
            whole.put_data(b"".join(lines[:count]))
            loaded.append(whole.load())
        last = loaded[-1]
        for count in range(1, len(lines) + 1, 3):
            for place in range(0, len(loaded), 2):
                with self.subTest(lines=count, run=place + 1):
                    whole.put_data(b"".join(lines[:count]))
                    run = copy.deepcopy(loaded[place])
                    events = agentloop.stream(
                        whole.model, run, whole.tools,
                        max_requests=40, accept=whole.accept, journal=whole.journal,
                    )  # fmt: skip
                    with contextlib.closing(events):
                        for _ in events:
                            break
                    if run.state == "running":
                        self.assertEqual(whole.load(), run)
                    further = loaded[max(count - 1, place)]
                    self.assertEqual(run.steps[: len(further.steps)], further.steps)
                    self.assertGreaterEqual(run.requests, further.requests)
        self.assertEqual(last.state, "succeeded")

    def test_a_start_that_one_of_them_does_not_know(self):
        """A call that had started for the run or for the file is not executed again."""
        for with_journal in (True, False):
            play = self.play([["pay 1", "look 2"], "ok"])
            play.stopped("yielded pay 1")
            run = play.load()
            run.close(run.pending[1], "Not now.", "denied")

            def stop(text):
                if text == "pay 1":
                    raise KeyboardInterrupt

            play.at_note = stop
            options = {} if with_journal else {"journal": None}
            with self.assertRaises(KeyboardInterrupt):
                play.go(run, **options)
            play.at_note = lambda text: None
            other = self.play([["pay 1", "look 2"], "ok"])
            other.journal = play.journal
            done = other.go(run)
            self.assertEqual(sorted(_statuses(done)), ["denied", "unknown_outcome"])
            self.assertEqual((other.count("pay 1"), other.load()), (0, done))

    def test_an_ended_run_that_the_file_does_not_know_to_have_ended(self):
        """It ended without the journal: it is not asked again, and the file says so."""
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1: ok")
        run = play.go(play.load(), journal=None)
        asked = play.count("asked")
        self.assertIs(play.go(run), run)
        self.assertEqual((play.count("asked"), play.load()), (asked, run))


# -- writing ---------------------------------------------------------------------------------------


def _free_numbers():
    """The numbers that the next files would get."""
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(9)]
    for fd in opened:
        os.close(fd)
    return opened


class WritingTests(_JournalCase):
    """When something is written, and how it looks in the file."""

    def test_written_and_synced_before_what_follows(self):
        """In model, tool, accept and at each event, the file says what the live run says."""
        synced = set()

        def fsync(fd):
            synced.add((os.fstat(fd).st_ino, os.fstat(fd).st_size))

        play = self.play(
            [["pay 1"], ["look 1", "look 2"], "?", "no", ["pay 2", "put 1"], "yes"], check=True
        )
        live = agentloop.AgentRun("go")
        everything = [f.name for f in dataclasses.fields(agentloop.AgentRun)]
        failed = []

        def same(where, fields):
            found, stat = play.load(), os.stat(play.journal)
            if os.name != "nt" and (stat.st_ino, stat.st_size) not in synced:
                failed.append("%s: not synced" % where)
            for f in fields:
                if getattr(found, f) != getattr(live, f):
                    failed.append(
                        "%s: %s is %s, live %s" % (where, f, getattr(found, f), getattr(live, f))
                    )

        def look(text):
            if text == "asked":
                same(text, ["task", "requests", "steps", "pending", "started", "usage"])
            elif text == "accept":
                same(text, ["requests", "steps", "finish", "state", "usage"])
            elif text.startswith("begin"):
                if "look" not in text:  # what runs at the same time may be recorded at any moment
                    same(text, ["requests", "steps", "pending", "finish", "started"])
                found = play.load()
                begun = [_named(a) for a in found.pending if a.call_id in found.started]
                if text[6:] not in begun + [_named(s.action) for s in found.steps]:
                    failed.append("%s: not started" % text)

        def watch(event):
            if event not in live.steps + live.pending + [live.finish]:
                failed.append("%s is not in the run" % event)
            same(_named(event), everything)

        play.at_note = look
        with mock.patch.object(os, "fsync", fsync):
            if hasattr(os, "fdatasync"):
                with mock.patch.object(os, "fdatasync", fsync):
                    play.go(live, watch)
            else:
                play.go(live, watch)
        self.assertEqual(failed, [])
        self.assertEqual(live.state, "succeeded")

    def test_json_lines(self):
        """One JSON object a line, in ASCII, with event and time; the first has the version."""
        play = self.play(_LONG, _SECOND, check=True)
        run = play.go()
        self.assertTrue(play.data().endswith(b"\n"))
        lines = play.data().decode("ascii").splitlines()
        events = [json.loads(line) for line in lines]
        before = 0
        for event in events:
            self.assertIsInstance(event["event"], str)
            self.assertGreaterEqual(event["time"], before)
            before = event["time"] - 2  # a clock may be set a little
        self.assertIn("version", events[0])
        self.assertLess(abs(events[0]["time"] - time.time()), 3600)
        # Time is for people only.
        play.put_data(b"".join(json.dumps(dict(e, time=0)).encode() + b"\n" for e in events))
        self.assertEqual(play.load(), run)
        play.put_data(b"".join(json.dumps(e).encode() + b"\n" for e in events[:9]))
        before = play.load()
        play.put_data(b"".join(json.dumps(dict(e, time="?")).encode() + b"\n" for e in events[:9]))
        self.assertEqual(play.load(), before)
        self.assertEqual(play.go(before).output, {"did": "answer 1"})

    def test_a_finish_and_its_state_are_one_event(self):
        play = self.play([["pay 1"], "ok"])
        play.go()
        last = json.loads(play.data().splitlines()[-1])
        self.assertEqual((last["event"], last["state"]), ("finished", "model_ended"))

    def test_what_changed_stands_in_an_event_and_a_finish_once(self):
        before = _free_numbers()
        for plan, finishes in (([["pay 1"], ["pay 2"], "ok"], 1), ([["answer 1"]], 1)):
            play = self.play(plan)
            play.go()
            events = [json.loads(line) for line in play.data().splitlines()]
            told = [e["event"] for e in events if "requests" in e]
            self.assertEqual(told, ["requested"] * len(plan))
            self.assertEqual(sum("finish" in e for e in events), finishes)
        # a finish that the run has and the file has not: recorded once
        play = self.play([["pay 1"], "no", "ok"], check=True)
        asked, accept = [], play.options["accept"]

        def interrupted(run):
            asked.append(run)
            raise KeyboardInterrupt

        play.options["accept"] = interrupted
        with self.assertRaises(KeyboardInterrupt) as caught:
            play.go(journal=None)
        play.options["accept"] = accept
        run = play.go(caught.exception.agent_run)
        events = [json.loads(line) for line in play.data().splitlines()]
        self.assertEqual([e["finish"]["output"] for e in events if "finish" in e], ["no", "ok"])
        self.assertEqual((run.state, play.load()), ("succeeded", run))
        with mock.patch.object(os, "fsync", side_effect=OSError), self.assertRaises(OSError):
            self.play(["ok"]).go()
        self.assertEqual(_free_numbers(), before, "a file stays open")

    def test_messages_of_one_reply(self):
        """A model of the caller's may put together what two others asked for."""
        picture = agentloop.Image(b"GIF8")

        def f() -> str:
            return "done"

        for number, messages in enumerate((
            [{"n": 1}, {"n": 2}, {"n": 1}], [None, "two", None], [{"n": 1}, None, picture],
        )):  # fmt: skip
            with self.subTest(messages):
                calls = [agentloop.AgentAction("f", {}, message=m) for m in messages]
                model = agentloop.Scripted([calls, agentloop.AgentFinish("ok")])
                path = self.path("messages%d.jsonl" % number)
                run = agentloop.run(model, "go", [f], journal=path)
                found = agentloop.AgentRun.load(path)
                self.assertEqual([s.action.message for s in found.steps], messages)
                data = _bytes(path)
                for given in (run, found):
                    agentloop.run(model, given, [f], journal=path)
                    self.assertEqual(_bytes(path), data)

    def test_a_shared_message_is_written_once(self):
        message = {"text": "m" * 5000}
        calls = [agentloop.AgentAction("pay", {"n": n}, message=message) for n in range(20)]
        play = self.play([])
        model = agentloop.Scripted([calls, agentloop.AgentFinish("ok")])
        run = agentloop.run(model, "go", play.tools, journal=play.journal)
        self.assertLess(len(play.data()), 20000)
        found = play.load()
        self.assertEqual(found, run)
        self.assertEqual(
            len({id(s.action.message) for s in found.steps}), 1, "one object for a reply"
        )

    @unittest.skipIf(_WINE, "there each look at a locked file leaves a descriptor open")
    def test_ten_thousand_steps(self):
        """Size and loading time grow as the steps do."""
        times, sizes = [], []

        def step(n: int) -> int:
            return n

        for n in (1000, 10000):
            path = self.path("%d.jsonl" % n)
            calls = [
                agentloop.AgentAction("step", {"n": i}, message={"n": i // 100}) for i in range(n)
            ]
            replies = [calls[i : i + 100] for i in range(0, n, 100)]
            model = agentloop.Scripted([*replies, agentloop.AgentFinish("ok")])
            done = agentloop.run(model, "go", [step], max_requests=n, journal=path)
            best = []
            for _ in range(2):
                start = time.process_time()
                found = agentloop.AgentRun.load(path)
                best.append(time.process_time() - start)
            self.assertEqual(found, done)
            times.append(min(best))
            sizes.append(os.path.getsize(path))
        self.assertLess(sizes[1], 11 * sizes[0])
        self.assertLess(times[1], 20 * times[0])
        # Going on costs what is new, not what was.
        before = os.path.getsize(path)
        follow = found.follow_up("more")
        agentloop.run(lambda r, t: agentloop.AgentFinish("ok"), follow, journal=path)
        self.assertLess(os.path.getsize(path) - before, 1000)


class WrittenValueTests(_JournalCase):
    """Values in the file: plain JSON comes back as it went, the rest as the text that the model saw."""

    def test_values_that_are_no_json(self):
        """Written as the text that the model is shown; plain JSON comes back as it went."""

        class Odd:
            def __str__(self):
                return "an odd thing"

        plain = [
            1e308, 10**40, None, "", [], {}, {"a": [1.5, None, True]}, "h\u00e9 \ud800 \u2028 \0",
            -0.0, 0,
        ]  # fmt: skip
        odd = [
            decimal.Decimal("1.50"), {1}, Odd(), b"caf\xc3\xa9", b"\xff\x00", float("nan"), (1, 2),
            float("-inf"), {1: {2: b"x"}}, [decimal.Decimal("1")], {"a": {"b": float("nan")}},
        ]  # fmt: skip
        play = self.play([["pay %d" % n for n in range(len(plain) + len(odd))], "ok"])
        for n, value in enumerate(plain + odd):
            play.values["pay %d" % n] = value
        run = play.go()
        found = play.load()
        tools = agentloop.registry(play.tools)
        got = [s.observation for s in found.steps]
        for value, back in zip(plain, got):
            self.assertEqual((type(back), repr(back)), (type(value), repr(value)))
        for value, back in zip(odd, got[len(plain) :]):
            self.assertIsInstance(back, str, value)
        self.assertEqual(got[len(plain)], "1.50")
        self.assertEqual(got[len(plain) + 2 : len(plain) + 4], ["an odd thing", "caf\u00e9"])
        self.assertEqual(agentloop.from_json(json.loads(json.dumps(agentloop.to_json(run)))), found)
        text = agentloop.ReActText(lambda prompt: "")
        chat = agentloop.OpenAIChat("m", api_key="k")
        self.assertEqual(text.prompt(found, tools), text.prompt(run, tools))
        self.assertEqual(
            chat.body(found, tools), chat.body(run, tools), "the same bytes after a resume"
        )
        data = play.data()
        again = play.go(run)  # the live run, with its own values, is still this file's
        self.assertIs(again, run)
        self.assertEqual(play.data(), data)
        self.assertIs(run.steps[len(plain) + 2].observation, odd[2])

    def test_an_output_that_is_no_json(self):
        path = self.path("run.jsonl")
        for n, output in enumerate((decimal.Decimal("2.50"), {"a": {1}}, [b"x"], 5, {"a": 1})):
            path = self.path("run%d.jsonl" % n)
            run = agentloop.run(lambda r, t, o=output: agentloop.AgentFinish(o), "go", journal=path)
            self.assertIs(run.output, output)
            found = agentloop.AgentRun.load(path)
            self.assertEqual(found, agentloop.from_json(agentloop.to_json(run)))
            self.assertEqual(
                found.output if n > 2 else type(found.output), output if n > 2 else str
            )
            data = _bytes(path)
            self.assertIs(agentloop.run(lambda r, t: None, run, journal=path), run)
            self.assertEqual(_bytes(path), data)

    def test_values_as_deep_as_they_may_be(self):
        deep: Any = "x"
        for n in range(100):
            deep = [deep] if n % 2 else {"a": deep}
        play = self.play([["pay 1"], "ok"])
        play.values["pay 1"] = deep
        run = play.go()
        self.assertEqual(play.load(), run)
        self.assertEqual(play.load().steps[0].observation, deep)

    def test_pictures(self):
        picture = agentloop.Image(bytes(range(256)), "image/gif")
        play = self.play([["look 1", "look 2"], "ok"])
        play.tasks = (["What is this?", picture],)
        play.values = {"look 1": picture, "look 2": ["two", picture, {"n": 1}, picture]}
        run = play.go()
        found = play.load()
        self.assertEqual(found, run)
        self.assertEqual(found.task[1].data, picture.data)
        self.assertEqual(found.steps[0].observation, picture)
        self.assertEqual(found.steps[1].observation, ["two", picture, {"n": 1}, picture])
        self.assertEqual(play.go(), run)

    def test_odd_actions(self):
        """What models write: text inputs, empty names, odd ids, each comes back as it went."""
        calls = [
            agentloop.AgentAction("pay", '{"n": 1}', "a"),
            agentloop.AgentAction("pay", "{broken", "b"),
            agentloop.AgentAction("", {}, "c"),
            agentloop.AgentAction("nix \ud800", ["n"], "\u00fc"),
            agentloop.AgentAction("pay", None, "a"),
            agentloop.AgentAction("pay", {"n": {1}}, ""),
        ]
        play = self.play([])
        model = agentloop.Scripted([calls, agentloop.AgentFinish("ok")])
        run = agentloop.run(model, "go", play.tools, journal=play.journal)
        statuses = [
            "ok", "invalid_arguments", "unknown_tool", "unknown_tool", "duplicate_call",
            "invalid_arguments",
        ]  # fmt: skip
        self.assertEqual([s.status for s in run.steps], statuses)
        self.assertEqual(play.load(), agentloop.from_json(agentloop.to_json(run)))
        again = agentloop.run(model, "go", play.tools, journal=play.journal)
        self.assertEqual([s.status for s in again.steps], statuses)
        # Killed before any of them ran
        play = self.play([])
        with contextlib.closing(
            agentloop.stream(model, "go", play.tools, journal=play.journal)
        ) as events:
            next(events)
        again = agentloop.run(model, "go", play.tools, journal=play.journal)
        self.assertEqual([s.status for s in again.steps], statuses)

    def test_a_log_that_is_no_text(self):
        """`message.get("content")` of a server's message is often None."""
        for number, script in enumerate((
            [agentloop.InvalidResponse("cut", {"content": None}, None), agentloop.AgentFinish("ok")],
            [agentloop.AgentFinish("no", None), agentloop.AgentFinish("ok")],
        )):  # fmt: skip
            path = self.path("log%d.jsonl" % number)
            accept = lambda run: None if run.output == "ok" else "Again."  # noqa: E731
            run = agentloop.run(agentloop.Scripted(script), "go", journal=path, accept=accept)
            self.assertEqual(agentloop.AgentRun.load(path).steps, run.steps)

    def test_a_number_that_json_does_not_have(self):
        path = self.path("nan.jsonl")

        def model(run, tools):
            run.usage["input_tokens"] = float("nan")
            return agentloop.AgentFinish("x")

        with self.assertRaises(ValueError) as caught:
            agentloop.run(model, "go", journal=path)
        self.assertEqual(caught.exception.agent_run.requests, 1)
        self.assertEqual(agentloop.AgentRun.load(path).requests, 1)

    def test_usage_that_is_not_a_number(self):
        path = self.path("usage.jsonl")

        def model(run, tools):
            run.usage.update(usage)
            return agentloop.AgentFinish("x")

        for usage in ({"model": "gpt"}, {None: 5}):
            with self.assertRaisesRegex(TypeError, "run.usage"):
                agentloop.run(model, "go", journal=path)
            self.assertEqual(agentloop.AgentRun.load(path).requests, 1)
            os.unlink(path)

    def test_a_total_that_could_not_be_read_is_not_written(self):
        """The file stays one that can be read."""
        path = self.path("totals.jsonl")

        def model(run, tools):
            setattr(run, name, value)
            return agentloop.AgentFinish("x")

        for name, value in (("requests", 2.0), ("requests", "1"), ("requests", None)):
            with self.subTest(repr(value)):
                with self.assertRaisesRegex(TypeError, name):
                    agentloop.run(model, "go", journal=path)
                self.assertEqual(agentloop.AgentRun.load(path).requests, 1)
                os.unlink(path)

    def test_a_field_that_could_not_be_read_is_not_written(self):
        """A run made by hand: the error names the field, and the file can be read."""
        action = agentloop.AgentAction("pay", {"n": 1}, "a")
        steps = {
            "call_id": agentloop.AgentAction("pay", {}, 5),
            "tool": agentloop.AgentAction(None, {}, "a"),
            "log": agentloop.AgentAction("pay", {}, "a", ["hm"]),
            "request": agentloop.AgentAction("pay", {}, "a", request="1"),
        }
        runs = [(name, agentloop.AgentRun("go", pending=[steps[name]])) for name in steps]
        runs += [
            (name, agentloop.AgentRun("go", [agentloop.AgentStep(steps[name], 1)]))
            for name in steps
        ]
        for status in (None, "", 5, True):
            run = agentloop.AgentRun("go", [agentloop.AgentStep(action, 1, status)])
            runs.append(("status", run))
        for field, value in (("log", 5), ("request", None)):
            notice = agentloop.AgentAction("", {}, **{field: value})
            step = agentloop.AgentStep(notice, "unreadable", "invalid_response")
            runs.append((field, agentloop.AgentRun("go", [step])))
        for reason in (None, 5):
            finish = agentloop.AgentFinish("x", reason=reason)
            runs.append(("reason", agentloop.AgentRun("go", finish=finish)))
        model = agentloop.Scripted([agentloop.AgentFinish("ok")])
        for number, (field, run) in enumerate(runs):
            path = self.path("field%d.jsonl" % number)
            with self.subTest(field, run=run):
                with self.assertRaisesRegex((TypeError, ValueError), field):
                    agentloop.run(model, run, journal=path)
                self.assertEqual(agentloop.AgentRun.load(path).task, "go")

    def test_a_status_of_an_enum_is_its_text(self):
        class Word(str, enum.Enum):
            PAID = "paid"

        path = self.path("word.jsonl")
        action = agentloop.AgentAction("pay", {"n": 1}, "a")
        run = agentloop.AgentRun("go", [agentloop.AgentStep(action, 1, Word.PAID)], requests=1)
        model = agentloop.Scripted([None, agentloop.AgentFinish("ok")])
        for given in (run, agentloop.AgentRun("go")):
            agentloop.run(model, given, journal=path)
            self.assertEqual(agentloop.AgentRun.load(path).steps[0].status, "paid")
            self.assertEqual(given.output, "ok")


class WrittenFirstTests(_JournalCase):
    """A run that has more than the file is written before it goes on."""

    def test_a_run_that_has_more_is_written_first(self):
        """A run that began without a journal gets one: all of it is written, earlier turns too."""
        for turns in ([["pay 1", "nix 1"], "?", "no", "yes"], _LONG):
            play = self.play(turns, [["pay 7", "look 2"], ["pay 8"], "two"], check=True)
            first = agentloop.run(play.model, "go", play.tools, max_requests=40, accept=play.accept)
            run = first.follow_up("and then?")
            events = agentloop.stream(play.model, run, play.tools)
            with contextlib.closing(events):
                while _named(next(events)) != "pay 8":
                    pass
            path = play.journal
            with contextlib.closing(
                agentloop.stream(play.model, run, play.tools, journal=path)
            ) as events:
                self.assertEqual(_named(next(events)), "pay 8")
                self.assertEqual(play.load(), run)
            events = map(json.loads, play.data().splitlines())
            replies = [len(e["actions"]) for e in events if e["event"] == "proposed"]
            wanted = [len(r) for r in turns if not isinstance(r, str)] + [2, 1]
            self.assertEqual(replies, wanted, "the calls of one reply are written together")
            self.assertEqual(play.go(run).output, "two")
            self.assertEqual(play.load(), run)

    def test_a_run_with_started_calls_is_written_first(self):
        play = self.play([["pay 1", "look 1", "pay 2"], "ok"])
        run = play.stopped("look 1", journal=None)
        self.assertEqual(len(run.started), 1)
        with contextlib.closing(
            agentloop.stream(play.model, run, play.tools, journal=play.journal)
        ) as events:
            next(events)
            self.assertEqual(play.load(), run)
        run = play.go()
        self.assertEqual([s.status for s in run.steps], ["ok", "ok", "ok"])

    def test_a_finished_run_gets_a_journal(self):
        play = self.play([["pay 1"], "ok"])
        run = play.go(journal=None)
        self.assertIs(play.go(run), run)
        self.assertEqual(play.load(), run)
        self.assertEqual(play.count("pay 1"), 1)

    def test_an_id_that_is_used_again_while_no_journal_is_kept(self):
        path = self.path("again.jsonl")

        def look() -> str:
            return "seen"

        x, y = (agentloop.AgentAction("look", {}, name) for name in "xy")
        script = agentloop.Scripted([x, y, x, agentloop.AgentFinish("ok")])
        events = agentloop.stream(script, "go", [look], journal=path)
        next(events)
        events.close()
        run = agentloop.AgentRun.load(path)
        events = agentloop.stream(script, run, [look])
        for event in events:
            if run.requests == 3 and isinstance(event, agentloop.AgentStep):
                break
        events.close()
        run = agentloop.run(script, run, [look], journal=path)
        self.assertEqual(agentloop.AgentRun.load(path).steps, run.steps)


# -- opening ---------------------------------------------------------------------------------------


class JournalResumeTests(_JournalCase):
    """A run that has paid once does not pay again because its process died."""

    def test_cut_after_every_line(self):
        """The table of the journal, for whatever the first k lines of a file tell."""
        whole = self.play(_LONG, _SECOND, check=True)
        want = _without_counts(whole.go())
        lines = whole.data().splitlines(True)
        kinds = set()
        for k in range(1, len(lines) + 1):
            with self.subTest(lines=k):
                play = self.play(_LONG, _SECOND, check=True)
                play.put_data(b"".join(lines[:k]))
                found, given = play.load(), play.load()
                # The statuses of what is pending, and the calls to come of it.
                expected, calls = [], []
                for a in found.pending:
                    begun, twice = a.call_id in found.started, a.tool not in ("pay", "nix")
                    kinds.add(
                        "%s, %s"
                        % ("started" if begun else "proposed", "again" if twice else a.tool)
                    )
                    status = "unknown_outcome" if begun and not twice else "ok"
                    expected.append("unknown_tool" if a.tool == "nix" else status)
                    calls += [_named(a)] * (expected[-1] == "ok")
                claimed = found.finish is not None and found.state == "running"
                kinds.add("claimed" if claimed else found.state)
                events, run = _drain(
                    agentloop.stream(
                        play.model, given if found.history else "go", play.tools,
                        max_requests=40, accept=play.accept, journal=play.journal,
                    )
                )  # fmt: skip
                told, right = _without_counts(run), want[: len(run.history) + 1]
                for got, wanted in zip(told, right):
                    self.assertEqual(got[:5], wanted[:5])
                    self.assertEqual(len(got[5]), len(wanted[5]))
                self.assertEqual(
                    run.steps[: len(found.steps)], found.steps, "a recorded step is changed"
                )
                n = len(found.pending)
                self.assertEqual(events[:n], found.pending, "yielded again first")
                self.assertEqual([e.status for e in events[n : 2 * n]], expected)
                for g, w in zip(told[-1][5], right[-1][5]):
                    self.assertTrue(g == w or g[2] == "unknown_outcome", (g, w))
                begun = [t[6:] for t in play.noted() if t.startswith("begin")]
                self.assertEqual(sorted(begun[: len(calls)]), sorted(calls))
                for step in found.steps:
                    self.assertNotIn(_named(step.action), begun, "done, and called again")
                for a, status in zip(found.pending, expected):
                    if status == "unknown_outcome":
                        self.assertNotIn(_named(a), begun)
                if claimed:
                    self.assertEqual(play.noted()[0], "accept", "asked before any request")
                if found.state == "succeeded":
                    self.assertEqual((events, play.noted()), ([], []))
                    self.assertEqual(play.data(), b"".join(lines[:k]))
                self.assertEqual(play.load(), run)
                self.assertEqual(run.requests, found.requests + play.count("asked"))
        self.assertEqual(
            kinds,
            {"proposed, pay", "proposed, again", "proposed, nix", "started, pay", "started, again"}
            | {"claimed", "running", "succeeded"},
        )  # fmt: skip

    def test_interrupted_at_every_event(self):
        """Who drops the stream after its k-th event, and goes on, misses nothing."""
        whole = self.play(_LONG, check=True)
        undisturbed = whole.go()
        want, asked = (
            _without_counts(undisturbed),
            {s.action.call_id for s in undisturbed.steps[1:4]},
        )
        for with_journal in (True, False):
            for k in range(1, len(whole.events) + 1):
                with self.subTest(event=k, journal=with_journal):
                    play = self.play(_LONG, check=True)
                    options = {} if with_journal else {"journal": None}
                    run, left = agentloop.AgentRun("go"), [k]

                    def stop(text, left=left):
                        left[0] -= text.startswith("yielded")
                        if not left[0]:
                            left[0] = -1
                            raise _Stop()

                    play.at_note = stop
                    with self.assertRaises(_Stop):
                        play.go(run, **options)
                    if with_journal:
                        self.assertEqual(play.load(), run)
                    self.assertIs(play.go(run, **options), run)
                    # subtle: of calls at the same time, those that ended were recorded first
                    self.assertEqual({s.action.call_id for s in run.steps[1:4]}, asked)
                    run.steps[1:4] = sorted(run.steps[1:4], key=lambda s: s.action.call_id)
                    self.assertEqual(_without_counts(run), want)
                    paid = [t for t in play.noted() if t.startswith("pay")]
                    self.assertEqual(sorted(paid), ["pay 1", "pay 2", "pay 3", "pay 4"])

    def test_done_is_not_called_again(self):
        play = self.play([["pay 1"], ["pay 2"], "ok"])
        play.stopped("yielded pay 2")
        run = play.go()
        self.assertEqual(run.steps[0].observation, {"did": "pay 1"})
        self.assertEqual((play.count("pay 1"), play.count("asked"), run.requests), (1, 3, 3))

    def test_proposed_is_yielded_again_then_executed(self):
        play = self.play([["pay 1", "pay 2"], "ok"])
        play.stopped("yielded pay 1")
        self.assertEqual([_named(a) for a in play.load().pending], ["pay 1", "pay 2"])
        self.assertEqual(play.load().started, [])
        play.go()
        self.assertEqual(play.events, ["pay 1", "pay 2", "pay 1: ok", "pay 2: ok", "finish"])
        self.assertEqual(play.count("asked"), 2)

    def test_started(self):
        """Interrupted inside a call: again where it may be repeated, else unknown_outcome."""
        for tool, again in (("pay", False), ("look", True), ("put", True)):
            for where in ("begin %s 1", "%s 1", "end %s 1"):
                for way in ("other process", "same run", "no journal"):
                    with self.subTest(tool=tool, where=where, way=way):
                        play = self.play([[tool + " 1", "pay 2"], "ok"])
                        options = {"journal": None} if way == "no journal" else {}
                        run = play.stopped(where % tool, **options)
                        self.assertEqual(len(run.started), 1)
                        if way != "no journal":
                            self.assertEqual(play.load(), run)
                        run = play.go(None if way == "other process" else run, **options)
                        first = "%s 1: %s" % (tool, "ok" if again else "unknown_outcome")
                        self.assertEqual(
                            play.events, [tool + " 1", "pay 2", first, "pay 2: ok", "finish"]
                        )
                        self.assertEqual(play.count("begin %s 1" % tool), 1 + again)
                        self.assertEqual(play.count("pay 2"), 1)
                        self.assertTrue(str(run.steps[0].observation).strip())

    def test_some_done_some_not(self):
        play = self.play([["pay 1", "pay 2", "pay 3"], "ok"])
        play.stopped("pay 2")
        run = play.go()
        self.assertEqual([s.status for s in run.steps], ["ok", "unknown_outcome", "ok"])
        self.assertEqual([play.count("pay %d" % n) for n in (1, 2, 3)], [1, 1, 1])

    @unittest.skipIf(_BROWSER, "needs threads")
    def test_interrupted_in_parallel_calls(self):
        """Of parallel calls those that ended are kept, and the others run again."""
        play = self.play([["look 1", "look 2", "look 3", "look 4"], "ok"])
        waiting, go_on = threading.Event(), threading.Event()

        def wait(text):
            if text == "begin look 3":
                waiting.set()
                go_on.wait(30)

        play.at_note = wait
        others = set(threading.enumerate())
        run = agentloop.AgentRun("go")
        events = agentloop.stream(play.model, run, play.tools, journal=play.journal)
        try:
            while _named(next(events)) != "look 1: ok":
                pass
            waiting.wait(30)
            threads = set(threading.enumerate()) - others
            end = time.monotonic() + 30
            while len([t for t in threads if t.is_alive()]) > 1:  # all but the one of look 3
                self.assertLess(time.monotonic(), end)
                time.sleep(0.001)
            self.assertRaises(KeyboardInterrupt, events.throw, KeyboardInterrupt())
        finally:
            go_on.set()
        for thread in threads:
            thread.join(30)
        self.assertEqual([_named(s) for s in run.steps], ["look %d: ok" % n for n in (1, 2, 4)])
        self.assertEqual([_named(a) for a in run.pending], ["look 3"])
        self.assertEqual(play.load(), run)
        self.assertEqual(play.go().steps[3].observation, {"did": "look 3"})
        self.assertEqual([play.count("look %d" % n) for n in (1, 2, 3, 4)], [1, 1, 2, 1])
        # A call that raises what is no Exception, the others' fate left open
        play = self.play([["look 1", "look 2", "look 3", "look 4"], "ok"])
        run = play.stopped("begin look 3")
        self.assertEqual(play.load(), run)
        self.assertIn("look 3", [_named(a) for a in run.pending])
        self.assertEqual([_named(s) for s in run.steps][:2], ["look 1: ok", "look 2: ok"])
        final = play.go()
        self.assertEqual(final.steps[: len(run.steps)], run.steps)
        wanted = ["look %d: ok" % n for n in (1, 2, 3, 4)]
        self.assertEqual(sorted(_named(s) for s in final.steps), wanted)
        self.assertEqual(play.count("asked"), 2)

    def test_a_started_call_whose_tool_is_gone(self):
        for tool in ("look", "pay"):
            play = self.play([[tool + " 1"], "ok"])
            play.stopped(tool + " 1")
            run = agentloop.run(play.model, "go", [], journal=play.journal)
            self.assertEqual([s.status for s in run.steps], ["unknown_outcome"])
            self.assertEqual(play.load(), run)

    def test_accept_is_asked_again(self):
        for error in (_Stop, RuntimeError, KeyboardInterrupt):
            with self.subTest(error=error.__name__):
                play = self.play([["pay 1"], "ok"], check=True)
                run = play.stopped("accept", error)
                found = play.load()
                self.assertEqual((found.state, found.output, found.requests), ("running", "ok", 2))
                self.assertEqual(found, run)
                run = play.go(max_requests=2)
                self.assertEqual(
                    (run.state, play.events, run.requests), ("succeeded", ["finish"], 2)
                )
                self.assertEqual((play.count("asked"), play.count("accept")), (2, 2))

    def test_a_rejected_answer(self):
        play = self.play(["no 1", "no 2", "yes"], check=True)
        play.stopped("yielded reply: not_accepted")
        found = play.load()
        self.assertEqual((found.finish, found.state, len(found.steps)), (None, "running", 1))
        run = play.go()
        self.assertEqual((run.state, run.output, play.count("asked")), ("succeeded", "yes", 3))
        self.assertEqual([s.status for s in run.steps], ["not_accepted"] * 2)
        self.assertEqual(run.steps[0].action.message["n"], 1)

    def test_finished_is_returned(self):
        for check in (True, False):
            with self.subTest(accept=check):
                play = self.play([["pay 1"], "ok"], check=check)
                first, data, noted = play.go(), play.data(), play.noted()
                again = play.go()
                self.assertEqual((again, play.events), (first, []))
                self.assertEqual((play.data(), play.noted()), (data, noted))
                self.assertEqual(play.load(), first)
                # A finished run is not asked again, also where the second time accept is given.
                self.assertEqual(play.go(accept=lambda run: "never").state, first.state)
                self.assertEqual(play.data(), data)

    def test_return_direct_is_one_event(self):
        """Wherever the file is cut, the step is there with its finish or not at all."""
        whole = self.play([["look 1"], ["answer 1"]])
        want = whole.go()
        self.assertEqual((want.finish.reason, want.output), ("return_direct", {"did": "answer 1"}))
        lines = whole.data().splitlines(True)
        for k in range(1, len(lines) + 1):
            with self.subTest(lines=k):
                play = self.play([["look 1"], ["answer 1"]])
                play.put_data(b"".join(lines[:k]))
                found = play.load()
                self.assertEqual(len(found.steps) == 2, found.finish is not None)
                self.assertEqual(_without_counts(play.go()), _without_counts(want))
        play = self.play([["answer 1"]])
        play.stopped("yielded answer 1: ok")
        run = play.go(max_requests=1)
        self.assertEqual((run.state, run.requests, play.count("answer 1")), ("model_ended", 1, 1))
        self.assertEqual(play.load(), run)
        play = self.play(check=True)  # rejected, it is a finish no more
        play.values["answer 1"] = "no"
        call = agentloop.AgentAction("answer", {"n": 1})
        model = agentloop.Scripted([call, agentloop.AgentFinish("yes")])
        run = agentloop.run(model, "go", play.tools, accept=play.accept, journal=play.journal)
        self.assertEqual([s.status for s in run.steps], ["ok", "not_accepted"])
        self.assertEqual((run.state, play.load()), ("succeeded", run))

    def test_ids_go_on(self):
        """Ids that the loop made do not depend on the process in which they were made."""
        whole = self.play(_LONG, _SECOND, check=True)
        want = whole.go()
        ids = [s.action.call_id for t in [*want.history, want] for s in t.steps if s.action.tool]
        self.assertEqual(len(set(ids)), len(ids))
        play = self.play(_LONG, _SECOND, check=True)
        for at in ("yielded pay 2", "yielded pay 3", "yielded answer 1"):
            play.stopped(at)
        run = play.go()
        self.assertEqual(
            [s.action.call_id for t in [*run.history, run] for s in t.steps if s.action.tool], ids
        )


class JournalBudgetTests(_JournalCase):
    """Requests and usage over an interruption, with models and tools that fail."""

    def test_a_request_counts_before_it_is_made(self):
        play = self.play([["pay 1"], "ok"])
        for n in (1, 2, 3):
            play.stopped("asked", max_requests=3)
            self.assertEqual((play.load().requests, play.load().usage), (n, {}))
        run = play.go(max_requests=3)
        self.assertEqual((run.state, run.requests, play.count("asked")), ("budget_exhausted", 3, 3))
        self.assertEqual(play.load(), run)
        run = play.go(max_requests=5)  # a larger budget goes on
        self.assertEqual((run.state, run.requests), ("model_ended", 5))
        self.assertEqual(run.usage, {"input_tokens": 20}, "that of killed requests is lost")
        self.assertEqual(play.load(), run)

    def test_budget_zero(self):
        play = self.play([["pay 1"], "ok"])
        run = play.go(max_requests=0)
        self.assertEqual((run.state, run.requests, play.count("asked")), ("budget_exhausted", 0, 0))
        self.assertEqual(play.load(), run)
        self.assertEqual(play.go().state, "model_ended")

    def test_usage_of_every_reply_is_kept(self):
        play = self.play(["?", ["pay 1"], "no", "ok"], check=True)
        run = play.go()
        self.assertEqual((run.usage, run.requests), ({"input_tokens": 40}, 4))
        self.assertEqual(play.load(), run)

    def test_usage_of_zero_tokens_is_kept(self):
        """Some servers count nothing."""
        path = self.path("zero.jsonl")

        def model(run, tools):
            run.usage.update(input_tokens=0, output_tokens=0)
            return agentloop.AgentFinish("ok")

        run = agentloop.run(model, "go", journal=path)
        data = _bytes(path)
        self.assertEqual(agentloop.run(model, "go", journal=path), run)
        self.assertEqual(_bytes(path), data)

    def test_a_tool_that_spends_requests(self):
        def colleague(question: str, run: agentloop.AgentRun) -> str:
            run.requests += 2
            run.usage["output_tokens"] = run.usage.get("output_tokens", 0) + 7
            return "yes"

        path = self.path("run.jsonl")
        model = agentloop.Scripted([agentloop.AgentAction("colleague", {"question": "?"})])
        events = agentloop.stream(model, "go", [colleague], journal=path)
        with contextlib.closing(events):
            next(events), next(events)
            found = agentloop.AgentRun.load(path)
        self.assertEqual((found.requests, found.usage), (3, {"output_tokens": 7}))

        def dies(run: agentloop.AgentRun) -> str:
            run.requests += 2
            raise _Stop()

        path = self.path("other.jsonl")
        model = agentloop.Scripted([agentloop.AgentAction("dies", {})] * 4)
        with self.assertRaises(_Stop) as caught:
            agentloop.run(model, "go", [dies], journal=path)
        run = caught.exception.agent_run
        self.assertEqual(run.requests, 3)
        run = agentloop.run(model, run, [dies], journal=path, max_requests=3)
        self.assertEqual(
            (run.state, run.requests), ("budget_exhausted", 3), "what was spent is spent"
        )
        self.assertEqual(agentloop.AgentRun.load(path), run)

    def test_a_model_that_raises(self):
        play = self.play([["pay 1"], ["pay 2"], "ok"])

        def broken(run, tools):
            if run.steps:
                raise ConnectionError("the server is down")
            return model(run, tools)

        model, play.model = play.model, broken
        with self.assertRaises(ConnectionError) as caught:
            play.go()
        run = caught.exception.agent_run
        self.assertEqual((run.requests, run.state), (2, "running"))
        self.assertEqual(play.load(), run)
        play.model = model
        run = play.go(run, max_requests=3)
        self.assertEqual((run.state, run.requests), ("budget_exhausted", 3))
        run = play.go()
        self.assertEqual((run.state, run.requests), ("model_ended", 4))
        self.assertEqual((play.count("pay 1"), play.count("pay 2")), (1, 1))

    def test_a_model_error(self):
        def transport(method, url, headers, body, timeout):
            return 401, {"content-type": "application/json"}, [b'{"error": {"message": "bad key"}}']

        server = agentloop.OpenAIChat("m", api_key="k", retries=0, transport=transport)
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1: ok")
        with self.assertRaises(agentloop.ModelError) as caught:
            agentloop.run(server, "go", play.tools, journal=play.journal)
        run = caught.exception.agent_run
        self.assertEqual((len(run.steps), run.requests), (1, 2))
        self.assertEqual(play.load(), run)
        self.assertEqual((play.go().state, play.count("pay 1")), ("model_ended", 1))


class JournalTurnTests(_JournalCase):
    """Several turns in one file."""

    def test_follow_ups_share_a_file(self):
        play = self.play([["pay 1"], "one"], [["pay 2", "look 1"], "two"], ["three"])
        run = play.go()
        found = play.load()
        self.assertEqual(found, run)
        self.assertEqual([t.output for t in [*found.history, found]], ["one", "two", "three"])
        self.assertEqual([t.requests for t in [*found.history, found]], [2, 2, 1])
        self.assertEqual([t.history for t in found.history], [[], []])
        # The same script again, line by line: nothing is called, nothing is written.
        data, noted = play.data(), play.noted()
        self.assertEqual((play.go(), play.events), (run, []))
        self.assertEqual((play.data(), play.noted()), (data, noted))

    def test_a_continued_turn_is_only_read(self):
        """The first line of a script of two turns, of which the first did not end."""
        play = self.play([["pay 1", "pay 2"], "one"], [["pay 3"], "two"])
        first = play.stopped("pay 1")
        follow = first.follow_up("and then?")
        self.assertEqual([s.status for s in first.steps], ["unknown_outcome", "not_executed"])
        last = play.go(follow)
        self.assertEqual(play.load(), last)
        data, noted = play.data(), play.noted()
        seen, run = _drain(
            agentloop.stream(play.model, "go", play.tools, journal=play.journal, max_requests=40)
        )
        self.assertEqual((seen, play.data(), play.noted()), ([], data, noted))
        self.assertEqual(run.steps, first.steps)
        self.assertEqual(run.state, "running")
        again = play.go()
        self.assertEqual(again, last)
        self.assertEqual(play.data(), data)

    def test_a_killed_turn_is_followed_up(self):
        """Loaded after a crash and followed up: what was pending is closed, on disk too."""
        play = self.play([["pay 1", "pay 2", "pay 3"], "one"], [["pay 4"], "two"])
        play.stopped("pay 2")
        run = play.load().follow_up("and then?")
        statuses = ["ok", "unknown_outcome", "not_executed"]
        self.assertEqual([s.status for s in run.history[0].steps], statuses)
        run = play.go(run)
        found = play.load()
        self.assertEqual(found, run)
        self.assertEqual([s.status for s in found.history[0].steps], statuses)
        self.assertEqual((found.output, found.history[0].output), ("two", None))
        self.assertEqual([play.count("pay %d" % n) for n in (1, 2, 3, 4)], [1, 1, 0, 1])


class JournalCloseTests(_JournalCase):
    """Calls that the caller closes, in the file."""

    def test_a_closed_call_is_written(self):
        play = self.play([["pay 1", "pay 2"], "ok"])
        play.stopped("yielded pay 2")
        run = play.load()
        run.close(run.pending[0], "Ann says no", "denied")
        run = play.go(run)
        self.assertEqual(play.events, ["pay 2", "pay 2: ok", "finish"])
        self.assertEqual([s.status for s in run.steps], ["denied", "ok"])
        self.assertEqual((play.count("pay 1"), play.load()), (0, run))
        again = play.go()
        self.assertEqual((again, again.steps[0].observation), (run, "Ann says no"))

    def test_a_call_that_is_closed_while_its_start_is_written_does_not_run(self):
        """A disk takes its time, and another thread may close the call meanwhile."""
        for plan in (["pay 1"], ["pay 1", "pay 2"], ["look 1", "look 2"]):
            with self.subTest(plan):
                play = self.play([plan, "ok"])
                run, sync = agentloop.AgentRun("go"), os.fsync

                def closes(number, run=run, play=play, sync=sync):
                    sync(number)
                    if run.pending and play.load().started and not run.steps:
                        run.close(run.pending[0], "No.", "denied")

                with mock.patch.object(os, "fsync", closes):
                    play.go(run)
                self.assertEqual(run.steps[0].status, "denied")
                self.assertEqual((run.started, play.load()), ([], run))
                self.assertEqual([play.count(call) for call in plan], [0, 1][: len(plan)])

    def test_one_of_two_calls_with_the_same_id_is_closed(self):
        """The file says which, where they came in one reply."""

        def pay(n: int) -> int:
            return n

        for second in (False, True):
            with self.subTest(second=second):
                path = self.path("twins%d.jsonl" % second)
                script = agentloop.Scripted([[_act("pay", "x", n=n) for n in (1, 2)], _end()])
                run = agentloop.AgentRun("go")
                events = agentloop.stream(script, run, [pay], journal=path)
                next(events)
                run.close(run.pending[second], "no", "denied")
                next(events)
                events.close()
                found = agentloop.AgentRun.load(path)
                self.assertEqual((found.steps, found.pending), (run.steps, run.pending))
                self.assertEqual(found.steps[0].action.tool_input, {"n": 1 + second})
                run = agentloop.run(script, run, [pay], journal=path)
                self.assertEqual(_statuses(run), ["denied", "duplicate_call"])
                self.assertEqual(agentloop.AgentRun.load(path), run)
                self.assertEqual(agentloop.run(script, found, [pay], journal=path), run)

    def test_closed_with_a_status_of_an_enum(self):
        class Verdict(str, enum.Enum):
            DENIED = "denied"

        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1")
        run = play.load()
        run.close(run.pending[0], "no", Verdict.DENIED)
        self.assertEqual(play.go(run), play.load())

    def test_a_started_call_is_settled_by_hand(self):
        play = self.play([["pay 1"], "ok"])
        play.stopped("pay 1")
        run = play.load()
        run.close(run.pending[0], {"did": "pay 1", "seen": "in the book"}, "ok")
        run = play.go(run)
        self.assertEqual([s.status for s in run.steps], ["ok"])
        self.assertEqual((play.count("pay 1"), play.load()), (1, run))

    def test_closed_while_the_stream_is_suspended(self):
        """The loop records and yields the step before it goes on."""
        play = self.play([["pay 1", "pay 2"], ["pay 3"], "ok"])
        live = agentloop.AgentRun("go")

        def deny(event):
            if _named(event) in ("pay 1", "pay 3"):
                live.close(event, "no", "denied")
            if event.type == "AgentStep":
                self.assertEqual(play.load().steps, live.steps)

        play.go(live, deny)
        self.assertEqual(
            play.events,
            ["pay 1", "pay 1: denied", "pay 2", "pay 2: ok", "pay 3", "pay 3: denied", "finish"],
        )
        self.assertEqual(play.load(), live)
        # Closed and then interrupted at once: it is written when the run goes on.
        play = self.play([["pay 1", "pay 2"], "ok"])
        live = agentloop.AgentRun("go")
        events = agentloop.stream(play.model, live, play.tools, journal=play.journal)
        with contextlib.closing(events):
            live.close(next(events), "no", "denied")
        run = play.go(live)
        self.assertEqual([s.status for s in run.steps], ["denied", "ok"])
        self.assertEqual((play.count("pay 1"), play.load()), (0, run))


def _crashes(folder):
    """Kill the play at its first boundary, at its second, and so on; then at random moments."""
    random_moments = random.Random(4)
    report = {"boundaries": 0, "random": 0, "errors": [], "folders": []}
    seconds = []

    def start(name, kill_at):
        play = _Play(os.path.join(folder, name), _LONG, _SECOND, check=True)
        lock, ticks = threading.Lock(), [0]

        def tick(text=None):
            with lock:
                ticks[0] += 1
                if ticks[0] == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        def fsync(fd):  # what the system has, outlives the process: no need to wait for a disk
            tick()

        def work():
            os.fsync = fsync
            if hasattr(os, "fdatasync"):
                os.fdatasync = fsync
            play.at_note = tick
            play.go()

        return _fork(work)

    def end(name, pid):
        status = os.waitpid(pid, 0)[1]
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        path = os.path.join(folder, name)
        if killed and os.path.exists(os.path.join(path, "run.jsonl")):
            copy = "killed%02d" % len([n for n in os.listdir(path) if n.startswith("killed")])
            shutil.copyfile(os.path.join(path, "run.jsonl"), os.path.join(path, copy))
        if not killed and status:
            report["errors"].append("%s ended with %d" % (name, status))
        return killed

    at, last = 1, 0
    while not last:
        begin = time.monotonic()
        pair = [("boundary%03d" % k, start("boundary%03d" % k, k)) for k in (at, at + 1)]
        for k, (name, pid) in enumerate(pair, at):
            report["folders"].append(name)
            if not end(name, pid):
                last = last or k
                seconds.append(time.monotonic() - begin)
        at += 2
    report["boundaries"] = last - 1
    while report["random"] < 40 and not report["errors"]:
        name = "random%03d" % report["random"]
        report["folders"].append(name)
        killed = True
        while killed:
            pid = start(name, 0)
            if report["random"] < 40:
                time.sleep(random_moments.random() * min(seconds[0], 0.5))
                os.kill(pid, signal.SIGKILL)
            killed = end(name, pid)
            report["random"] += killed
            seconds[0] *= 1.1 if killed else 0.7  # it strikes before the end, on a busy machine too
    print(json.dumps(report))


class _Interrupt:
    """A trace function that raises KeyboardInterrupt at a line of the loop or of the journal.

    at: (line, how often it was passed before); None just counts in `passed`.
    """

    def __init__(self, at=None):
        self.at, self.hit, self.passed = at, False, collections.Counter()

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def lines():
        """The lines of these two sections, and of the data classes, by which a step is recorded.

        Without lines that hold a bare `try:`, `else:` or `finally:`: a signal does not come there,
        and a trace function would raise outside of the block.
        """
        text = _FILE.read_text(encoding="utf-8").splitlines()
        at = {
            line.strip("#=- "): n for n, line in enumerate(text) if line[:5] in ("# == ", "# -- ")
        }
        lines = {*range(at["the data classes"], at["as JSON"]), *range(at["loop"], at["models"])}
        bare = ("try:", "else:", "finally:")
        return {n + 1 for n in lines if text[n].strip() not in bare}

    @classmethod
    @functools.lru_cache(maxsize=None)
    def lines_of(cls, code):
        """The lines of a function that are among these."""
        if code.co_filename != agentloop.run.__code__.co_filename:
            return frozenset()
        return frozenset(cls.lines() & {line for _, line in dis.findlinestarts(code)})

    def __call__(self, frame, event, arg):
        """Functions without a line that counts run untraced, which takes less time."""
        lines = self.lines_of(frame.f_code)
        return self.line if (lines if self.at is None else self.at[0] in lines) else None

    def line(self, frame, event, arg):
        line = frame.f_lineno
        if event == "line" and not self.hit and line in self.lines_of(frame.f_code):
            passed = self.passed[line]
            self.passed[line] += 1
            if (line, passed) == self.at:
                self.hit = True
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.line


class _Errand:
    """A task whose model asks for what is not done yet; each tool counts its calls in `ran`.

    plan: replies, each a list of (tool, number), "?" for one that cannot be read, or a finish.
    denied: numbers of the calls that the caller closes when they are shown.
    """

    def __init__(self, plan, denied=()):
        self.plan, self.denied, self.ran = plan, denied, collections.Counter()

        def pay(n: int) -> int:
            self.ran[n] += 1
            if n == 3:
                raise ValueError("sold out")
            return n

        @agentloop.tool(read_only=True)
        def look(n: int) -> int:
            self.ran[n] += 1
            return n

        @agentloop.tool(return_direct=True)
        def answer(n: int) -> str:
            self.ran[n] += 1
            return "answer"

        self.tools = agentloop.registry([pay, look, answer])
        self.calls = {n: tool for reply in plan if isinstance(reply, list) for tool, n in reply}

    def model(self, run, tools):
        done = {s.action.tool_input.get("n") for s in run.steps}
        statuses = [s.status for s in run.steps]
        for reply in self.plan:
            if reply == "?":
                if "invalid_response" not in statuses:
                    raise agentloop.InvalidResponse("unreadable", {"reply": 1})
            elif reply == "no":
                if "not_accepted" not in statuses:
                    return agentloop.AgentFinish("no", message={"reply": 2})
            elif isinstance(reply, str):
                return agentloop.AgentFinish(reply)
            elif reply[0][1] not in done:
                return [agentloop.AgentAction(tool, {"n": n}, message={}) for tool, n in reply]
        raise AssertionError("the plan has no end")

    def go(self, task, journal):
        options = {"max_requests": 40, "journal": journal}
        options["accept"] = lambda run: "no" if run.output == "no" else None
        if not self.denied:
            return agentloop.run(self.model, task, self.tools, **options)
        run = agentloop.AgentRun(task) if isinstance(task, str) else task
        with contextlib.closing(agentloop.stream(self.model, run, self.tools, **options)) as events:
            for event in events:
                if isinstance(event, agentloop.AgentAction):
                    if event.tool_input["n"] in self.denied:
                        run.close(event, "no", "denied")
        return run

    def faults(self, run):
        """What is wrong with a run that has come to its end, after an interrupt."""
        steps = collections.Counter(s.action.tool_input.get("n") for s in run.steps)
        found = [] if run.state == "succeeded" else ["it ends as %s" % run.state]
        if run.pending or run.started:
            found.append("left over: %s, %s" % (run.pending, run.started))
        for step in run.steps:
            number = step.action.tool_input.get("n")
            if step.status in ("ok", "tool_error") and not self.ran[number]:
                found.append("%s, and never ran" % step)
            if step.status == "denied" and self.ran[number]:
                found.append("%s, and ran" % step)
        for number, tool in self.calls.items():
            if steps[number] != 1:
                found.append("call %d has %d steps" % (number, steps[number]))
            if self.ran[number] > 1 and tool != "look":
                found.append("call %d ran %d times" % (number, self.ran[number]))
        statuses = [s.status for s in run.steps]
        for word, status in (("?", "invalid_response"), ("no", "not_accepted")):
            if statuses.count(status) != self.plan.count(word):
                found.append("%d times %s" % (statuses.count(status), status))
        return found


class CrashTests(_JournalCase):
    """SIGKILL and Ctrl-C at any moment: nothing is forgotten, done twice, or left locked."""

    @classmethod
    def setUpClass(cls):
        """The processes that are killed work while the other test runs."""
        cls.crashes = tempfile.mkdtemp(prefix="agentloop-")
        cls.crashed = None
        if hasattr(os, "fork") and not _BROWSER:
            cls.crashed = _child("_crashes", cls.crashes)

    @classmethod
    def tearDownClass(cls):
        if cls.crashed and cls.crashed.returncode is None:
            cls.crashed.kill()
            cls.crashed.communicate()
        shutil.rmtree(cls.crashes, True)

    def setUp(self):
        super().setUp()
        # A file that was being opened closes itself, and Python warns of that.
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore", ResourceWarning)
        self.files = itertools.count()

    def interrupted(self, make, at, journal):
        """The trace of an errand that is interrupted, and what was wrong after it was resumed."""
        errand, trace, faults = make(), _Interrupt(at), []
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            errand.go("go", journal)
        except KeyboardInterrupt as error:
            # While the error is being handled its traceback keeps all frames alive, and their files.
            faults = self.resumed(errand, getattr(error, "agent_run", None), journal)
        finally:
            sys.settrace(before)
        return trace, faults

    def resumed(self, errand, run, journal):
        """What is wrong after the interrupted run went on, and after its journal did."""
        faults, ran = [], dict(errand.ran)
        left = journal and journal + ".copy"
        if journal and os.path.exists(journal):
            shutil.copyfile(journal, left)
        try:
            if run is not None and run.pending:  # no thread waits for what was left locked
                other = copy.deepcopy(run)
                thread = threading.Thread(target=other.close, args=(other.pending[0], "", "x"))
                thread.daemon = True
                thread.start()
                thread.join(10)
                if thread.is_alive():
                    faults.append("close() waits for ever")
            done = errand.go("go" if run is None else run, journal)
            faults += ["the run: %s" % fault for fault in errand.faults(done)]
            if journal and agentloop.AgentRun.load(journal).steps != done.steps:
                faults.append("run and journal differ")
            if journal:  # as after a crash of the process
                errand.ran = collections.Counter(ran)
                done = errand.go("go", left)
                faults += ["the journal: %s" % fault for fault in errand.faults(done)]
        except Exception as error:
            faults.append("%s: %s" % (type(error).__name__, error))
        return faults

    @_real_threads
    @unittest.skipIf(os.name == "nt", "a thousand files and their locks take minutes there")
    def test_interrupted_at_each_line(self):
        calls = [("pay", 1), ("pay", 2)]
        whole = [calls, "?", [("pay", 3)], "no", [("answer", 4)], "end"]
        looks = [("look", 1), ("look", 2), ("look", 3)]
        journal = self.path("whole.jsonl")
        _Errand(whole).go("go", journal)
        lines = _bytes(journal).splitlines(True)
        started = [n for n, line in enumerate(lines, 1) if b'"started"' in line]
        rows = [
            ("without a journal", _Errand, (whole,), None),
            ("with a journal", _Errand, (whole,), b""),
            ("closed by the caller", _Errand, ([calls, [("pay", 5)], "end"], (2, 5)), b""),
            ("in parallel", _Errand, ([looks, [("pay", 4)], "end"],), b""),
            ("resumed", _Errand, (whole,), b"".join(lines[: started[1]])),
        ]
        found = {}
        if hasattr(os, "fork") and sys.implementation.name == "cpython":  # on both cores
            pid = _fork(lambda: self.write("found.json", json.dumps(self.interrupt_all(rows[:2]))))
            found = self.interrupt_all(rows[2:])
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            found.update(json.loads(_bytes(self.path("found.json"))))
        else:
            found = self.interrupt_all(rows)
        self.assertEqual(set(found), {row[0] for row in rows})
        for name, (tried, faults) in found.items():
            with self.subTest(name):
                self.assertEqual(faults, {})
                self.assertGreater(tried, 100)

    def interrupt_all(self, rows):
        """{row: [how many interrupts came, {a fault: its lines}]}"""
        found = {}
        for name, make, args, begun in rows:
            made = make(*args)

            def errand(made=made, begun=begun):
                made.ran = collections.Counter([1] if begun else ())  # what the lost process did
                return made

            def start(name=name, begun=begun):
                if begun is None:
                    return None
                path = self.path("%s%d.jsonl" % (name, next(self.files)))
                if begun:
                    self.write(os.path.basename(path), begun)
                return path

            trace, _ = self.interrupted(errand, None, start())
            tried, faults = 0, {}
            for line, times in trace.passed.items():
                for passed in {0, times - 1}:
                    trace, wrong = self.interrupted(errand, (line, passed), start())
                    tried += trace.hit
                    for fault in wrong:
                        faults.setdefault(fault, []).append(line)
            found[name] = [tried, faults]
        return found

    def turns(self, path):
        """The turns of a journal; none, where it was cut before the first."""
        try:
            run = agentloop.AgentRun.load(path)
        except ValueError as e:
            self.assertIn("no turns", str(e))
            return []
        return [*run.history, run]

    @_real_threads
    def test_ctrl_c_while_a_parallel_call_is_waited_for(self):
        """It stays one: inside the wait of an Event it may come out as a RuntimeError."""
        asked = []

        def interrupt(frame, event, arg):
            asked.append(frame.f_code.co_name)
            if frame.f_code.co_name == "_acquire_restore":  # a Condition's, as its wait ends
                caller = frame
                while caller.f_code.co_filename != agentloop.run.__code__.co_filename:
                    caller = caller.f_back
                if caller.f_code.co_name == "wait":
                    sys.settrace(None)
                    raise KeyboardInterrupt

        @agentloop.tool(read_only=True)
        def look(n: int):
            return threading.Event().wait(0.05)

        calls = [_act("look", n=n) for n in range(2)]
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            run, error = _drive([calls, _end()], tools=[look])
        finally:
            sys.settrace(before)
        self.assertIn("_execute_pending", asked)
        self.assertTrue(error is None or isinstance(error, KeyboardInterrupt), repr(error))

    @_forks
    def test_killed_at_every_boundary(self):
        """SIGKILL at each note and at each sync, and at 40 random moments."""
        report = json.loads(_printed_by(self.crashed))
        self.assertEqual(report["errors"], [])
        self.assertGreater(report["boundaries"], 80)
        self.assertGreaterEqual(report["random"], 40)
        want = _Play(os.path.join(self.crashes, "whole"), _LONG, _SECOND, check=True).go()
        for name in report["folders"]:
            with self.subTest(name):
                play = _Play(os.path.join(self.crashes, name), _LONG, _SECOND, check=True)
                recorded = []
                for copy in sorted(os.listdir(os.path.join(self.crashes, name))):
                    if copy.startswith("killed"):
                        recorded.append(os.path.join(self.crashes, name, copy))
                noted = play.noted()
                # What was yielded, begun and asked stands in the file that the last kill left.
                left = recorded[-1:] or [play.journal]
                found = self.turns(left[0]) if os.path.exists(left[0]) else []
                steps = [_named(s) for t in found for s in t.steps]
                seen = [t[8:] for t in noted if t.startswith("yielded ") and ":" in t]
                if name.startswith("boundary"):
                    self.assertLessEqual(set(seen), set(steps), "yielded, and not in the file")
                    calls = [_named(a) for t in found for a in t.pending if a.call_id in t.started]
                    begun = {t[6:] for t in noted if t.startswith("begin")}
                    self.assertLessEqual(begun, set(calls) | {s.split(":")[0] for s in steps})
                    self.assertLessEqual(noted.count("asked"), sum(t.requests for t in found))
                run = play.go()
                self.agree(play, run, want)
                self.assertEqual(play.load(), run)
                spent = sum(t.requests for t in [*run.history, run])
                self.assertLessEqual(play.count("asked"), spent, "a request was given away")
                for path in recorded:  # no recorded step is lost
                    for before, after in zip(self.turns(path), [*run.history, run]):
                        self.assertEqual(after.steps[: len(before.steps)], before.steps)


# == models ========================================================================================


# -- helpers: for each protocol --------------------------------------------------------------------


# The helpers of this part give what a server says (a reply, a stream), a server that says it, and
# what was said to it. `protocol` is one of these names.
_PROTOCOLS = ("chat", "responses", "anthropic")


def _protocols(*names):
    """Run a test for each of these protocols, in a subTest, with the name as `protocol`."""

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for name in names:
                with self.subTest(protocol=name):
                    self.waits.clear()
                    test(self, name)

        return run

    return decorate


_each_protocol = _protocols(*_PROTOCOLS)


_CLASSES = {
    "chat": agentloop.OpenAIChat,
    "responses": agentloop.OpenAIResponses,
    "anthropic": agentloop.AnthropicMessages,
}


_KEY = "sk-MARKER-0123456789"


_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return "sunny in " + city


def _model(protocol, server, **settings):
    """The adapter of a protocol, which asks this server."""
    given = {"base_url": "http://127.0.0.1:9/v1", "api_key": _KEY, "transport": server}
    return _CLASSES[protocol]("m", **{**given, **settings})


def _body(protocol, run, tools=None):
    """What a fresh adapter of the protocol would send for this run."""
    return _model(protocol, None).body(run, tools or {})


def _bare_tool(function, name="f", **more):
    """A tool that takes any arguments, and has no description."""
    return agentloop.Tool(name, "", {"type": "object", "properties": {}}, function, **more)


# -- helpers: replies ------------------------------------------------------------------------------


def _reply(protocol, text, calls, **more):
    """A reply as a document: a text, calls (id, name, arguments), both or neither."""
    if protocol == "chat":
        message = {"role": "assistant", "content": text}
        for call_id, name, given in calls:
            given = given if isinstance(given, str) else json.dumps(given)
            f = {"name": name, "arguments": given}
            call = {"id": call_id, "type": "function", "function": f}
            message.setdefault("tool_calls", []).append(call)
        reason = more.pop("reason", "tool_calls" if calls else "stop")
        return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], **more}
    if protocol == "responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        items = []
        if text is not None:
            items.append({"type": "message", "role": "assistant", "content": [part]})
        for call_id, name, given in calls:
            given = given if isinstance(given, str) else json.dumps(given)
            call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": given}
            items.append({**call, "id": "fc_1", "status": "completed"})
        return {"status": "completed", "error": None, "output": items, **more}
    blocks = [{"type": "text", "text": text}] if text is not None else []
    for call_id, name, given in calls:
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
    reason = more.pop("reason", "tool_use" if calls else "end_turn")
    return {
        "type": "message",
        "role": "assistant",
        "content": blocks,
        "stop_reason": reason,
        **more,
    }


def _text(protocol, text, **more):
    """A reply that is an answer."""
    return _reply(protocol, text, [], **more)


def _call(protocol, *calls, **more):
    """A reply with calls: (id, name, arguments)."""
    return _reply(protocol, None, calls, **more)


def _weather(protocol, city="B", call_id="a", **more):
    """A reply with one call, of get_weather."""
    return _call(protocol, (call_id, "get_weather", {"city": city}), **more)


# One call of get_weather, as the reply of each protocol holds it. To be copied: {**_CHAT_CALL}.
_CHAT_CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "B"}'},
}


_RESPONSES_CALL = {
    "type": "function_call",
    "call_id": "a",
    "name": "get_weather",
    "arguments": '{"city":"B"}',
}


_ANTHROPIC_CALL = {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "B"}}


_REASONING = {"type": "reasoning", "encrypted_content": "e", "summary": []}


def _chat(message, reason="stop", **more):
    """A Chat Completions document around one message."""
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {"id": "x", "choices": [choice], **more}


def _asks(protocol, arguments='{"city": "B"}', call_id="a", name="get_weather", **more):
    """A reply with one call, whose parts may be anything; `more` stands beside the arguments."""
    if protocol == "chat":
        call = {"id": call_id, "type": "function", "function": {"name": name, **more}}
        call["function"]["arguments"] = arguments
        return _chat({"role": "assistant", "content": None, "tool_calls": [call]})
    if protocol == "responses":
        call = {"type": "function_call", "call_id": call_id, "name": name, **more}
        return {"status": "completed", "output": [{**call, "arguments": arguments}]}
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return {"content": [block], "stop_reason": "tool_use"}


def _usage(protocol, tokens_in, out, cached=None):
    """The tokens of a reply, in the words of the protocol."""
    if protocol == "anthropic":
        usage = {"input_tokens": tokens_in - (cached or 0), "output_tokens": out}
        return {**usage, "cache_read_input_tokens": cached}
    names = ("prompt", "completion") if protocol == "chat" else ("input", "output")
    usage = {names[0] + "_tokens": tokens_in, names[1] + "_tokens": out}
    return {**usage, names[0] + "_tokens_details": cached and {"cached_tokens": cached}}


# -- helpers: streams ------------------------------------------------------------------------------


def _pieces(data, size):
    """b"abcde", 2 -> [b"ab", b"cd", b"e"]"""
    return [data[n : n + size] for n in range(0, len(data), size)]


def _sse(*events, done=True):
    """Events as the chunks of a stream: one chunk each. A str goes out as the data it is."""
    texts = [e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in events]
    texts += ["[DONE]"] if done else []
    return [("data: %s\n\n" % text).encode("utf-8") for text in texts]


def _stream(protocol, document):
    """The same reply as the chunks of a stream."""
    if protocol == "chat":
        choice = document["choices"][0]
        delta = copy.deepcopy(choice["message"])
        for n, call in enumerate(delta.get("tool_calls") or ()):
            call["index"] = n
        text = delta.pop("content", None) or ""
        texts = _pieces(text, 3) or [None]
        events = [{"choices": [{"index": 0, "delta": {"content": t}}]} for t in texts]
        events.append({"choices": [{"index": 0, "delta": delta}]})
        last = {"delta": {}, "finish_reason": choice["finish_reason"]}
        events.append({"choices": [{"index": 0, **last}]})
        if "usage" in document:
            events.append({"choices": [], "usage": document["usage"]})
        return _sse(*events)
    if protocol == "responses":
        events = []
        for n, item in enumerate(document["output"]):
            for part in item.get("content") or () if item["type"] == "message" else ():
                delta = part.get("text", "")
                events.append({"type": "response.output_text.delta", "delta": delta})
            done = {"type": "response.output_item.done", "output_index": n, "item": item}
            events.append(done)
        kind = "response." + document["status"]
        events.append({"type": kind, "response": {**document, "output": []}})
        return _sse(*events, done=False)
    start = {"role": "assistant", "content": [], "usage": document.get("usage")}
    events = [{"type": "message_start", "message": start}]
    for n, block in enumerate(document["content"]):
        deltas = []
        block = dict(block)
        if block["type"] == "text":
            deltas.append({"type": "text_delta", "text": block["text"]})
            block["text"] = ""
        elif block["type"] == "tool_use":
            given = json.dumps(block["input"], ensure_ascii=False)
            parts = _pieces(given, 5)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            block["input"] = {}
        events.append({"type": "content_block_start", "index": n, "content_block": block})
        events += [{"type": "content_block_delta", "index": n, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": n})
    last = {"type": "message_delta", "delta": {"stop_reason": document["stop_reason"]}}
    return _sse(*events, {**last, "usage": {}}, {"type": "message_stop"}, done=False)


def _streamed(protocol, answers):
    """The answers, each document as the chunks of a stream."""
    return [_stream(protocol, a) if isinstance(a, dict) else a for a in answers]


def _deltas(*deltas, reason="tool_calls", done=True):
    """A Chat Completions stream of these deltas; a list is taken for tool-call deltas."""
    events = []
    for d in deltas:
        d = {"tool_calls": d} if isinstance(d, list) else d
        events.append({"choices": [{"index": 0, "delta": d, "finish_reason": None}]})
    if reason:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return _sse(*events, done=done)


def _part(name=None, arguments=None, index=None, id=None, **more):
    """One tool-call delta; what is None is left out, "null" stands for null."""
    f = {"name": name, "arguments": arguments}
    f = {key: value for key, value in f.items() if value is not None}
    part = {"index": index, "id": id, **more, "function": f or None}
    part = {key: value for key, value in part.items() if value is not None}
    return json.loads(json.dumps(part).replace('"null"', "null"))


# -- helpers: requests, as a strict server takes them ----------------------------------------------


def _strict(raw):
    """The body as a strict parser takes it; AssertionError for what it would refuse."""

    def refuse(constant):
        raise AssertionError("%s is not JSON" % constant)

    body = json.loads(raw.decode("utf-8"), parse_constant=refuse)
    json.dumps(body, ensure_ascii=False).encode("utf-8")  # no lone surrogates
    return body


def _split(raw):
    """The text around the messages, and the exact text of each message."""
    text, decoder, at = raw.decode("utf-8"), json.JSONDecoder(), 1
    while True:
        at = re.compile(r"[ ,]*").match(text, at).end()
        if text[at] == "}":
            raise AssertionError("no messages in %s" % text)
        key, at = decoder.raw_decode(text, at)
        at = re.compile(r"[ :]*").match(text, at).end()
        if key in ("messages", "input"):
            break
        at = decoder.raw_decode(text, at)[1]
    start, found, at = at, [], at + 1
    while True:
        at = re.compile(r"[ ,]*").match(text, at).end()
        if text[at] == "]":
            return text[:start] + text[at + 1 :], found
        end = decoder.raw_decode(text, at)[1]
        found.append(text[at:end])
        at = end


_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def _must(true, *what):
    """AssertionError where a strict server would refuse the request."""
    if not true:
        raise AssertionError("a strict server refuses: " + " ".join(map(str, what)))


def _check_content(content, kinds, where):
    """The content has to be a non-blank text, or parts of these kinds, none of them empty."""
    if isinstance(content, str):
        _must(content.strip(), where, "blank text")
        _must("base64," not in content, where, "a picture as text")
        return
    _must(isinstance(content, list) and content, where, "content is", content)
    for part in content:
        _must(part["type"] in kinds, where, "a part of type", part["type"])
        if "text" in part:
            _must(part["text"].strip(), where, "blank part")


def _check_fields(body, allowed, extra):
    """Only fields that were asked for: none unknown, null or empty, no `stream: false`."""
    for key, value in body.items():
        _must(key in allowed, "the field", key)
        _must(key in extra or value not in (None, [], {}, ""), key, "is empty")
    _must(body.get("stream", True) is True, "stream: false")
    for t in body.get("tools", ()):
        name = t.get("function", t).get("name")
        _must(name is None or _LEGAL_NAME.match(name), "tool name", name)


def _check_chat(body, extra, paused):
    """For _check_request: what a server of Chat Completions refuses."""
    _check_fields(body, {"model", "messages", "tools", "stream", "stream_options"} | extra, extra)
    _must("stream_options" not in body or "stream" in body or extra, "stream_options")
    due, seen, before = [], set(), ""
    for n, m in enumerate(body["messages"]):
        role, where = m["role"], "messages[%d]" % n
        _must(role == "tool" or not due, where, "results are due:", due)
        if role == "system":
            _must(n == 0 and m["content"].strip(), where, "system")
        elif role == "user":
            _must(before != "user", where, "two user messages in a row")
            has_picture = isinstance(m["content"], list)
            _must(before != "tool" or has_picture, where, "user after tool")
            _check_content(m["content"], ("text", "image_url"), where)
        elif role == "tool":
            _must(due and m["tool_call_id"] == due.pop(0), where, "result out of order")
            _must(set(m) == {"role", "tool_call_id", "content"}, where, "keys", m)
            _must(type(m["content"]) is str, where, "content")
            _check_content(m["content"], (), where)
        else:
            _must(role == "assistant", where, "role", role)
            for key in ("finish_reason", "logprobs", "index"):
                _must(key not in m, where, key)
            _must(m.get("function_call") is None, where, "function_call")
            _must("tool_calls" not in m or m["tool_calls"], where, "tool_calls is empty")
            if not m.get("tool_calls"):
                content = m["content"]
                _must(content.strip() if isinstance(content, str) else content, where, "empty")
            for call in m.get("tool_calls", ()):
                f = call["function"]
                _must(call["type"] == "function", where, "type", call)
                _must(type(f["arguments"]) is str, where, "arguments", f)
                _must(type(_strict(f["arguments"].encode())) is dict, where, f)
                _must(_LEGAL_NAME.match(f["name"]), where, "name", f)
                _must(call["id"] and type(call["id"]) is str, where, "id", call)
                _must(call["id"] not in seen, where, "id used before", call)
                seen.add(call["id"])
                due.append(call["id"])
        before = role
    _must(not due, "results are due at the end", due)
    _must(before != "assistant", "the last message is the assistant's")


def _check_responses(body, extra, paused):
    """For _check_request: what a server of the Responses API refuses."""
    keys = {"model", "input", "tools", "instructions", "stream", "store", "include"}
    _check_fields(body, keys | extra, extra)
    _must(body.get("store") is False or "store" in extra, "store")
    for t in body.get("tools", ()):
        _must(t["type"] != "function" or t["strict"] is False, "strict", t)
    due, seen, answering, before = [], set(), False, ""
    for n, item in enumerate(body["input"]):
        kind, where = item.get("type"), "input[%d]" % n
        role = item.get("role", "output" if kind == "function_call_output" else "assistant")
        _must(role != "system" and role != "developer", where, role)
        own = ("message", "function_call", "reasoning", "function_call_output")
        _must("id" not in item or kind not in own, where, "id of an item", item)
        _must("status" not in item or kind not in own, where, "status", item)
        if kind == "function_call_output":
            answering = True
            _must(due and item["call_id"] == due.pop(0), where, "output out of order")
            _check_content(item["output"], ("input_text", "input_image"), where)
        elif role == "user":
            _must(not due and before != "user", where, "a user message where none may be")
            _must(before != "reasoning", where, "reasoning without what follows")
            _check_content(item["content"], ("input_text", "input_image"), where)
        else:
            _must(not answering or not due, where, "an item between outputs")
            answering = False
            if kind == "message":
                content = item["content"]
                text = [p.get("text") or p.get("refusal") for p in content if type(p) is dict]
                text = content if isinstance(content, str) else "".join(filter(None, text))
                _must(text.strip(), where, "an empty message")
            if kind == "function_call":
                _must(type(_strict(item["arguments"].encode())) is dict, where, item)
                _must(_LEGAL_NAME.match(item["name"]), where, "name", item)
                _must(item["call_id"], where, "call_id", item)
                _must(item["call_id"] not in seen, where, "call_id used before")
                seen.add(item["call_id"])
                due.append(item["call_id"])
            if kind == "reasoning":
                _must(item.get("encrypted_content") or item.get("content"), where, "a reference")
                _must(type(item["summary"]) is list, where, "summary", item)
        before = "reasoning" if kind == "reasoning" else role
    _must(not due, "outputs are due at the end", due)
    _must(before not in ("assistant", "reasoning"), "the last item is the assistant's")


def _check_anthropic(body, extra, paused):
    """For _check_request: what a server of the Messages API refuses."""
    keys = {"model", "messages", "tools", "stream", "system", "max_tokens"}
    _check_fields(body, keys | extra, extra)
    _must(type(body["max_tokens"]) is int, "max_tokens")
    due, seen, before = [], set(), "assistant"
    for n, m in enumerate(body["messages"]):
        role, where, blocks = m["role"], "messages[%d]" % n, m["content"]
        _must(role != before or paused and role == "assistant", where, "roles alternate")
        _must(set(m) == {"role", "content"} and blocks, where, m)
        for b in blocks:
            _must(b["type"] != "text" or b["text"].strip(), where, "a blank text block")
        results = [b for b in blocks if b["type"] == "tool_result"]
        if role == "user":
            _must(blocks[: len(results)] == results, where, "results come first")
            _must([b["tool_use_id"] for b in results] == due, where, "results for", due)
            due = []
            for b in results:
                _must(b.get("is_error", True) is True, where, b)
                has_picture = "image" in [p["type"] for p in b["content"] if type(p) is dict]
                _must(not (has_picture and "is_error" in b), where, "is_error beside a picture")
                _check_content(b["content"], ("text", "image"), where)
        else:
            _must(role == "assistant" and not results, where, m)
            for b in blocks:
                if b["type"] == "tool_use":
                    _must(type(b["input"]) is dict, where, b)
                    _must(_LEGAL_NAME.match(b["name"]), where, "name", b)
                    _must(re.match(r"[a-zA-Z0-9_-]+\Z", b["id"]), where, "id", b)
                    _must(b["id"] not in seen, where, "id used before", b)
                    seen.add(b["id"])
                    due.append(b["id"])
        before = role
    _must(not due, "results are due at the end", due)
    _must(before == "user" or paused, "the last message is the assistant's")


def _check_request(protocol, body, extra=(), paused=False):
    """AssertionError for a body that the strictest server of the protocol refuses.

    extra: fields that the caller asked for
    paused: whether the last message may be the assistant's
    """
    check = {"chat": _check_chat, "responses": _check_responses, "anthropic": _check_anthropic}
    check[protocol](body, set(extra), paused)


# -- helpers: what a request holds -----------------------------------------------------------------


def _results(protocol, body):
    """(id, text) of every result in a request, and the ids of the calls."""
    if protocol == "chat":
        found = [m for m in body["messages"] if m["role"] == "tool"]
        return [(m["tool_call_id"], m["content"]) for m in found]
    if protocol == "responses":
        found = [i for i in body["input"] if i.get("type") == "function_call_output"]
        return [(i["call_id"], i["output"]) for i in found]
    blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    return [(b["tool_use_id"], b["content"]) for b in blocks]


def _sent_calls(protocol, body):
    """(id, name, arguments) of the calls in a request."""
    if protocol == "chat":
        calls = [c for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls]
    if protocol == "responses":
        calls = [i for i in body["input"] if i.get("type") == "function_call"]
        return [(c["call_id"], c["name"], c["arguments"]) for c in calls]
    blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"]
    return [(b["id"], b["name"], b["input"]) for b in blocks]


def _notice(body):
    """The text of the last thing the user says in a request."""
    last = (body.get("messages") or body["input"])[-1]
    content = last["content"] if "content" in last else last["output"]
    if isinstance(content, list):
        return "\n".join(p.get("text") or str(p.get("content")) for p in content)
    return content


def _roles(protocol, body):
    """The conversation in a line: u(ser), a(ssistant), t(ool's result), s(ystem)."""
    if protocol != "responses":
        return "".join(m["role"][0] for m in body["messages"])
    kinds = [
        i.get("role", "t" if i["type"] == "function_call_output" else "a") for i in body["input"]
    ]
    return "".join(k[0] for k in kinds)


def _pictures(message):
    """The pictures in a message or item, as (media type, base64)."""
    found = []
    todo = [message]
    while todo:
        x = todo.pop(0)
        if isinstance(x, list):
            todo = x + todo
        elif isinstance(x, dict) and x.get("type") == "image":
            found.append((x["source"]["media_type"], x["source"]["data"]))
        elif isinstance(x, dict) and x.get("type") in ("image_url", "input_image"):
            url = x["image_url"]
            url = url["url"] if isinstance(url, dict) else url
            found.append(tuple(re.match(r"data:(.*);base64,(.*)\Z", url).groups()))
        elif isinstance(x, dict):
            todo = list(x.values()) + todo
    return found


# -- helpers: servers ------------------------------------------------------------------------------


_JSON = {"content-type": "application/json"}


_SSE = {"content-type": "text/event-stream"}


class _Server:
    """A transport that plays answers. An answer is a dict (a JSON document), a list of bytes (a
    stream), a tuple (status, headers, bytes, str, document or list), or an exception."""

    def __init__(self, protocol, answers, extra=(), paused=False, prefix=True, strict=True):
        self.protocol, self.answers, self.extra = protocol, list(answers), set(extra)
        self.paused, self.prefix, self.strict = paused, prefix, strict
        self.raw, self.seen, self.closed = [], [], 0
        self.clean = set()  # requests that were answered well: what follows must continue them

    def __call__(self, method, url, headers, body, timeout):
        at = len(self.raw)
        self.raw.append(body)
        self.seen.append((method, url, headers, timeout))
        sent = None
        if self.strict:
            sent = _strict(body)
            _check_request(self.protocol, sent, self.extra, self.paused)
        if self.prefix and at and at - 1 in self.clean:
            (frame, old), (frame2, new) = _split(self.raw[at - 1]), _split(body)
            _must(frame == frame2, "the frame changed:", frame, frame2)
            _must(new[: len(old)] == old, "what was sent before changed:", old, new)
        if at >= len(self.answers):
            raise AssertionError("request %d, and only %d answers" % (at + 1, len(self.answers)))
        answer = self.answers[at]
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(sent)
        if isinstance(answer, tuple):
            status, own, answer = answer
        else:
            status, own = 200, _SSE if isinstance(answer, list) else _JSON
        if status == 200:
            self.clean.add(at)
        if isinstance(answer, (dict, type(None), int)):
            answer = json.dumps(answer, ensure_ascii=False)
        if isinstance(answer, str):
            answer = answer.encode("utf-8", "surrogatepass")
        return status, dict(own), self._play([answer] if isinstance(answer, bytes) else answer)

    def _play(self, chunks):
        try:
            for chunk in chunks:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield chunk() if callable(chunk) else chunk
        finally:
            self.closed += 1

    @property
    def sent(self):
        return [json.loads(raw.decode("utf-8")) for raw in self.raw]

    def said(self, at=-1):
        """The messages, or items, of a request."""
        return self.sent[at].get("messages") or self.sent[at]["input"]


class _Threaded(_Server):
    """Answers by what is in the request, not by its number: the one answer is a function."""

    def __call__(self, method, url, headers, body, timeout):
        self.raw.append(body)
        sent = _strict(body)
        _check_request(self.protocol, sent)
        return 200, _JSON, iter([json.dumps(self.answers[0](sent)).encode("utf-8")])


class _Http:
    """A server on loopback. `answer(number, head, body)` gives the bytes to send back, in pieces
    where it gives a list; None in it closes the connection, a function in it is called."""

    def __init__(self, answer, tls=None):
        self.answer, self.tls = answer, tls
        self.heads, self.bodies, self.connections, self.open = [], [], 0, 0
        self.lock, self.is_over = threading.Condition(), False
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        self.url = "%s://127.0.0.1:%d" % ("https" if tls else "http", self.port)
        self.sockets, self.threads = [], [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with self.lock:
            self.is_over = True
            for s in self.sockets:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
        with socket.socket() as last:  # accept() still waits
            last.connect(("127.0.0.1", self.port))
            self.threads[0].join(10)
        self.listener.close()
        for t in self.threads:
            t.join(10)

    def wait_until_closed(self):
        """Return once no connection is open, or after 10 s."""
        deadline = time.monotonic() + 10
        with self.lock:
            while self.open and time.monotonic() < deadline:
                self.lock.wait(0.1)
                if sys.implementation.name != "cpython":
                    gc.collect()  # what nobody holds is closed only then

    def asked_when_closed(self, model):
        """The model, asked each time only once no connection is open."""

        def asked(run, tools):
            self.wait_until_closed()
            return model(run, tools)

        return asked

    def _accept(self):
        while True:
            s = self.listener.accept()[0]
            with self.lock:
                if self.is_over:
                    s.close()
                    return
                self.connections += 1
                self.sockets.append(s)
            t = threading.Thread(target=self._serve, args=(s,))
            self.threads.append(t)
            t.start()

    def _serve(self, s):
        with self.lock:
            self.open += 1
        try:
            s.settimeout(20)
            if self.tls:
                s = self.tls.wrap_socket(s, server_side=True)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with s.makefile("rb") as reader:
                while self._awaited(s) and self._one(s, reader):
                    pass
        except (OSError, ValueError):
            pass
        finally:
            s.close()
            with self.lock:
                self.open -= 1
                self.lock.notify_all()

    def _awaited(self, s):
        """Wait for a request. Under Wine a shutdown does not wake who reads, so it is looked at."""
        while not select.select([s], [], [], 0.1)[0]:
            if self.is_over:
                return False
        return True

    def _one(self, s, reader):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reader.readline()
            if not line:
                return False
            head += line
        head = head.decode("latin-1")
        size = re.search(r"(?i)content-length: (\d+)", head)
        body = reader.read(int(size.group(1))) if size else b""
        with self.lock:
            number = len(self.heads)
            self.heads.append(head)
            self.bodies.append(body)
        pieces = self.answer(number, head, body)
        for piece in pieces if isinstance(pieces, list) else [pieces]:
            if piece is None:
                return False
            if callable(piece):
                piece()
            elif piece == "reset":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            else:
                s.sendall(piece)
        return True


def _http(document, status=200, head="content-type: application/json"):
    """The bytes of an HTTP answer."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode("utf-8")
    lines = ["HTTP/1.1 %d x" % status, "content-length: %d" % len(body), head]
    return "\r\n".join(filter(None, lines)).encode("latin-1") + b"\r\n\r\n" + body


def _chunked(chunks, head="content-type: text/event-stream", end=True):
    """The pieces of an answer in chunked encoding."""
    start = ("HTTP/1.1 200 x\r\n%s\r\ntransfer-encoding: chunked\r\n\r\n" % head).encode()
    body = [b"%x\r\n%s\r\n" % (len(c), c) for c in chunks]
    return [start, *body] + ([b"0\r\n\r\n"] if end else [])


# -- helpers: cases --------------------------------------------------------------------------------


def _unrecorded(test):
    """A test whose server says what the protocol's types do not have, and gets it back as it came:
    its bodies tell a type check nothing."""
    test.unrecorded = True
    return test


@contextlib.contextmanager
def _logged():
    """What is logged, as a text."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logger = logging.getLogger("agentloop")
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield text
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _run_in_threads(work, count):
    """work(0), work(1), ... at the same time, to their ends."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)


def _key_of_the_test():
    """A key as a function, which a pickle can name."""
    return _KEY


class _Incomparable:
    """A value that cannot be compared."""

    __hash__ = None

    def __eq__(self, other):
        raise ValueError("no order")

    def __str__(self):
        return "unlike"


class _ModelCase(unittest.TestCase):
    """No key or proxy of the environment counts; waits between retries are noted, not slept."""

    def setUp(self):
        names = [n for n in os.environ if re.match(r"(?i)OPENAI_|ANTHROPIC_|.*_PROXY\Z", n)]
        kept = {k: v for k, v in os.environ.items() if k not in names}
        patches = [mock.patch.dict(os.environ, kept, clear=True)]
        self.waits = []
        patches.append(mock.patch("time.sleep", self.waits.append))
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def play(self, protocol, answers, task="go", tools=(get_weather,), stream=False, **settings):
        """(run, server) of a run against a server that plays, and streams where `stream` is true."""
        if stream:
            answers = _streamed(protocol, answers)
            settings.setdefault("on_text", len)
        own = {k: settings.pop(k) for k in ("paused", "prefix", "strict") if k in settings}
        body = settings.pop("body", {})
        server = _Server(protocol, answers, extra=body, **own)
        options = {k: settings.pop(k) for k in ("max_requests", "accept") if k in settings}
        model = _model(protocol, server, **settings, **body)
        return agentloop.run(model, task, tools, **options), server

    def play_two_turns(self, protocol, answers, tools=(get_weather,), **settings):
        """(run, server) of a run against a server that plays, after another turn on that run."""
        server = _Server(protocol, answers)
        model = _model(protocol, server, **settings)
        run = agentloop.run(model, "go", tools)
        agentloop.run(model, run.follow_up("more"), tools)
        return run, server

    def fails(
        self, protocol, answers, kind=None, status=None, task="go", tools=(get_weather,), **settings
    ):
        """(error, server) of a run that ends with a ModelError, of this kind and status."""
        body = settings.pop("body", {})
        server = _Server(protocol, answers, extra=body, strict=settings.pop("strict", True))
        model = _model(protocol, server, **settings, **body)
        with self.assertRaises(agentloop.ModelError) as caught:
            agentloop.run(model, task, tools)
        error = caught.exception
        if kind:
            self.assertEqual((error.kind, error.status), (kind, status), str(error))
        self.assertNotIn(_KEY, str(error))
        self.assertIsInstance(error.agent_run, agentloop.AgentRun)
        return error, server


@_sockets
class _HttpCase(_ModelCase):
    """The transport over real sockets, on loopback."""

    def ask(self, url, protocol="chat", task="go", **settings):
        """A run against the server at this URL."""
        model = _CLASSES[protocol]("m", base_url=url, **{"api_key": _KEY, **settings})
        return agentloop.run(model, task, [get_weather])

    def refused(self, url, kind, **settings):
        """The ModelError, of this kind, that a run against the server at this URL ends with."""
        with self.assertRaises(agentloop.ModelError) as caught:
            self.ask(url, **settings)
        self.assertEqual(caught.exception.kind, kind, str(caught.exception))
        return caught.exception

    def answer(self, protocol, stream=False):
        """For _Http: three calls, then an answer, over and over."""

        def answer(number, head, body):
            sent = _strict(body)
            _check_request(protocol, sent)
            n = len(_results(protocol, sent))
            reply = _weather(protocol, call_id="c%d" % n) if n < 3 else _text(protocol, "ok")
            return _chunked(_stream(protocol, reply)) if stream else _http(reply)

        return answer


class _ReActCase(_ModelCase):
    """Thought, Action, Action Input, Observation, Final Answer, as models really write them."""

    def drive(self, replies, tools=None, task="go", model=None, **options):
        """(run, what ran, prompts); the prompts only grow."""
        ran, prompts, left = [], [], list(replies)

        def find(text: str) -> str:
            ran.append(("find", text))
            return "found " + text

        def add(a: int, b: int) -> int:
            ran.append(("add", a, b))
            return a + b

        def now() -> str:
            ran.append(("now",))
            return "noon"

        def complete(prompt):
            prompts.append(prompt)
            return left.pop(0)

        model = model or agentloop.ReActText(complete)
        run = agentloop.run(model, task, [find, add, now] if tools is None else tools, **options)
        for old, new in zip(prompts, prompts[1:]):
            self.assertTrue(new.startswith(old), (old, new))
        return run, ran, prompts


# -- the conversation ------------------------------------------------------------------------------


class ConversationTests(_ModelCase):
    """Every request of every run is one that the strictest server takes."""

    @_real_threads
    @_each_protocol
    def test_results_in_call_order(self, protocol):
        barrier = threading.Barrier(3)

        @agentloop.tool(read_only=True)
        def look(n: int) -> int:
            barrier.wait(10)
            return n

        calls = [("b", "look", {"n": 1}), ("a", "look", {"n": 2}), ("c", "look", {"n": 3})]
        answers = [_call(protocol, *calls), _text(protocol, "ok")]
        _run, server = self.play(protocol, answers, tools=[look])
        sent = server.sent[1]
        self.assertEqual(_results(protocol, sent), [("b", "1"), ("a", "2"), ("c", "3")])
        want = {"chat": "uattt", "responses": "uaaattt", "anthropic": "uau"}
        self.assertEqual(_roles(protocol, sent), want[protocol])

    @_each_protocol
    def test_a_call_closed_before_its_time_keeps_its_place(self, protocol):
        for ids in (("a", "b", "c"), (None, None, None), ("a", "a", "a"), (None, "b", None)):
            with self.subTest(ids=ids):
                calls = [(i, "get_weather", {"city": "C%d" % n}) for n, i in enumerate(ids)]
                server = _Server(protocol, [_call(protocol, *calls), _text(protocol, "ok")])
                run = agentloop.AgentRun("go")
                for event in agentloop.stream(_model(protocol, server), run, [get_weather]):
                    if getattr(event, "tool_input", None) is not None and "C2" in str(event):
                        run.close(event, "Denied.", "denied")
                self.assertEqual(_statuses(run), ["denied", "ok", "ok"])
                texts = [t for _, t in _results(protocol, server.sent[1])]
                self.assertEqual(texts, ["sunny in C0", "sunny in C1", "Denied."])

    @_each_protocol
    def test_body_while_calls_are_pending(self, protocol):
        calls = [("a", "get_weather", {"city": "B"}), ("b", "get_weather", {"city": "C"})]
        server = _Server(protocol, [_call(protocol, *calls), _text(protocol, "ok")])
        model = _model(protocol, server)
        tools = agentloop.registry([get_weather])
        run = agentloop.AgentRun("go")
        for _event in agentloop.stream(model, run, tools):
            body = model.body(run, tools)
            if run.finish is None:
                _check_request(protocol, body)
                if run.pending:
                    self.assertIn("pending", _results(protocol, body)[-1][1])
                self.assertIn("city", json.dumps(body))
        results = _results(protocol, server.sent[1])
        self.assertEqual(results, [("a", "sunny in B"), ("b", "sunny in C")])

    @_each_protocol
    def test_a_notice_has_an_assistant_message_before_it(self, protocol):
        error = {"error": {"code": "tool_use_failed", "message": "x", "failed_generation": "y"}}
        cut = {"status": "incomplete"} if protocol == "responses" else {"reason": "max_tokens"}
        answers = [_text(protocol, ""), _text(protocol, "half", **cut)]
        if protocol == "chat":
            answers += [(400, {}, error)] * 2
        run, server = self.play(protocol, [*answers, _text(protocol, "ok")])
        self.assertEqual(_roles(protocol, server.sent[-1]), "ua" * len(answers) + "u")
        self.assertEqual(_statuses(run), ["invalid_response"] * len(answers))

    @_each_protocol
    def test_the_user_speaks_after_a_result(self, protocol):
        """Mistral: Unexpected role 'user' after role 'tool'. An assistant message of our own stands
        between; only a picture is shown right after the results."""
        shot = _bare_tool(lambda: agentloop.Image(_PNG), "shot")
        direct = agentloop.tool(get_weather, return_direct=True)
        picture = ("a", "shot", {})
        weather = ("a", "get_weather", {"city": "B"})
        rows = [  # how the first turn ends; its call, the tools, its requests; what is then sent
            ("budget", weather, [get_weather], 1, "uatau", "uatu", "uau"),
            ("return_direct", weather, [direct], 1, "uatau", "uatu", "uau"),
            ("picture", picture, [shot], 1, "uatu", "uatu", "uau"),
            ("picture, then a reply", picture, [shot], 2, "uatuau", "uatau", "uauau"),
        ]
        for end, call, tools, limit, *roles in rows:
            with self.subTest(end=end):
                texts = [_text(protocol, "ok"), _text(protocol, "end")]
                server = _Server(protocol, [_call(protocol, call), *texts])
                model = _model(protocol, server)
                run = agentloop.run(model, "go", tools, max_requests=limit)
                run = agentloop.run(model, run.follow_up("and?"), tools)
                want = dict(zip(_PROTOCOLS, roles))[protocol]
                self.assertEqual(_roles(protocol, server.sent[limit]), want)
                self.assertIn("and?", _notice(server.sent[limit]))

    @_each_protocol
    def test_a_rejected_answer_stands_before_the_reason(self, protocol):
        reasons = iter(["Not enough.", None])
        answers = [_text(protocol, "first"), _text(protocol, "second")]
        run, server = self.play(protocol, answers, accept=lambda run: next(reasons))
        self.assertEqual((run.state, run.output), ("succeeded", "second"))
        self.assertEqual(_roles(protocol, server.sent[1]), "uau")
        self.assertIn("first", json.dumps(server.said()[1]))
        self.assertEqual(_notice(server.sent[1]), "Not enough.")

    @_each_protocol
    def test_a_rejected_return_direct(self, protocol):
        @agentloop.tool(return_direct=True)
        def answer(n: int) -> int:
            return n

        reasons = iter(["Not 1.", None, None])
        calls = [_call(protocol, ("a%d" % n, "answer", {"n": n})) for n in (1, 2)]
        server = _Server(protocol, [*calls, _text(protocol, "ok")])
        model = _model(protocol, server)
        run = agentloop.run(model, "go", [answer], accept=lambda run: next(reasons))
        self.assertEqual((run.state, run.output), ("succeeded", 2))
        want = {"chat": "uatau", "responses": "uatu", "anthropic": "uau"}
        self.assertEqual(_roles(protocol, server.sent[1]), want[protocol])
        self.assertIn("Not 1.", _notice(server.sent[1]))
        run = agentloop.run(model, run.follow_up("and?"), [answer])
        self.assertEqual(run.output, "ok")
        want = {"chat": "uatauatau", "responses": "uatuatu", "anthropic": "uauau"}
        self.assertEqual(_roles(protocol, server.sent[2]), want[protocol])

    @_each_protocol
    def test_follow_up(self, protocol):
        for stream in (False, True):
            with self.subTest(stream=stream):
                texts = ("one", "", "two", "three")
                answers = [_weather(protocol), *(_text(protocol, text) for text in texts)]
                server = _Server(protocol, _streamed(protocol, answers) if stream else answers)
                model = _model(protocol, server, on_text=len if stream else None)
                run = agentloop.run(model, "go", [get_weather])
                for task in ("second", ["third", "part"]):
                    run = agentloop.run(model, run.follow_up(task), [get_weather])
                self.assertEqual((run.output, len(run.history)), ("three", 2))
                text = json.dumps(server.said())
                for word in ("go", "one", "second", "two", "third", "part"):
                    self.assertIn(word, text)
                # Read from JSON, or without what adapters keep on it, the same bytes go out.
                tools = agentloop.registry([get_weather])
                body = model.body(run, tools)
                self.assertEqual(model.body(_saved(run), tools), body)
                self.assertEqual(model.body(pickle.loads(pickle.dumps(run)), tools), body)

    @_each_protocol
    def test_a_follow_up_on_any_run(self, protocol):
        class Stop(BaseException):
            pass

        def boom() -> str:
            raise Stop()

        tools = [get_weather, boom]
        calls = [("a", "get_weather", {"city": "B"}), ("b", "boom", {}), ("c", "boom", {})]
        three = _call(protocol, *calls)
        refusal = {
            "chat": _chat({"content": None, "refusal": "No."}),
            "responses": {"output": [], "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "anthropic": {"content": [], "stop_reason": "refusal"},
        }[protocol]  # fmt: skip
        rows = [  # how the run ends; the first answer, the tools, its requests at the most
            ("interrupted", three, tools, 9),
            ("budget", three, [get_weather], 1),
            ("refused", refusal, tools, 9),
            ("error", (400, {}, "no"), tools, 9),
            ("invalid", _text(protocol, ""), tools, 1),
            ("pending", three, tools, 9),
            ("fresh", None, tools, 0),
        ]
        for end, first, offered, limit in rows:
            with self.subTest(end=end):
                answers = [first, _text(protocol, "ok"), _text(protocol, "end")]
                server = _Server(protocol, answers[first is None :], prefix=False)
                model, run = _model(protocol, server), agentloop.AgentRun("go")
                if end == "pending":
                    events = agentloop.stream(model, run, tools)
                    next(events)
                    events.close()
                elif first is not None:
                    with contextlib.suppress(Stop, agentloop.ModelError):
                        agentloop.run(model, run, offered, max_requests=limit)
                turn = agentloop.run(model, run.follow_up("more"), tools)
                self.assertEqual(turn.output, "ok")
                if end == "interrupted":
                    self.assertEqual(_statuses(run), ["ok", "unknown_outcome", "not_executed"])
                    texts = [t for _, t in _results(protocol, server.sent[1])]
                    self.assertEqual(len(texts), 3)
                    self.assertIn("not known", texts[1])
                self.assertEqual(agentloop.run(model, turn.follow_up("last")).output, "end")

    @_each_protocol
    def test_history_made_or_changed_by_hand(self, protocol):
        server = _Server(protocol, [_text(protocol, str(n)) for n in range(6)], prefix=False)
        model = _model(protocol, server)
        run = agentloop.run(model, "zero")
        for n in range(1, 4):
            run = agentloop.run(model, run.follow_up("task %d" % n))
        self.assertEqual(_roles(protocol, server.sent[3]), "uauauau")
        run = run.follow_up("next")
        run.history[:2] = [agentloop.AgentRun("What was said?", finish=_end("A summary."))]
        run = agentloop.run(model, run)
        self.assertEqual(_roles(protocol, server.sent[4]), "uauauau")
        self.assertIn("A summary.", json.dumps(server.said(4)[1]))
        self.assertNotIn("zero", json.dumps(server.said(4)))
        run = run.follow_up("alone")
        run.history.clear()
        agentloop.run(model, run)
        self.assertEqual(_roles(protocol, server.sent[5]), "u")

    @_each_protocol
    def test_blank_tasks(self, protocol):
        for task in ("", " \n", ["", "x"]):
            with self.subTest(task=task):
                run, _ = self.play(protocol, [_text(protocol, "ok")], task=task)
                self.assertEqual(run.output, "ok")


class EncodedOnceTests(_ModelCase):
    """What was sent is encoded once, and anew where the caller changed it."""

    def test_a_conversation_goes_with_its_model(self):
        """A model for each turn, as in a server: the run keeps what the last one sent, at most."""
        run = agentloop.AgentRun("go")
        models = []
        for _ in range(3):
            model = _model("chat", _Server("chat", [_text("chat", "ok")]))
            agentloop.run(model, run)
            models.append(weakref.ref(model))
            run = run.follow_up("more")
        del model
        gc.collect()
        self.assertEqual([kept() for kept in models], [None] * 3)

    @_each_protocol
    def test_two_hundred_steps(self, protocol):
        """What was sent is sent again, byte for byte, and the frame around it stays."""
        answers = []
        for n in range(200):
            call = ("a%d" % n, "get_weather", {"city": "\u00fc%d" % n})
            answers.append(_reply(protocol, "Step %d." % n, [call]))
        answers.append(_text(protocol, "ok"))
        rows = [(False, {}), (True, {})]  # whether it is streamed; settings
        if protocol == "anthropic":
            rows += [(stream, {"cache": True}) for stream in (False, True)]
        # how many messages the first request has, how many each later one has more
        first, more = {"chat": (2, 2), "responses": (1, 3), "anthropic": (1, 2)}[protocol]
        mark = b', "cache_control": {"type": "ephemeral"}'
        for stream, settings in rows:
            with self.subTest(stream=stream, settings=settings):
                settings = {**settings, "system": "s", "stream": stream, "max_requests": 201}
                run, server = self.play(protocol, answers, prefix=False, strict=False, **settings)
                self.assertEqual((run.output, len(run.steps)), ("ok", 200))
                raws = server.raw
                if "cache" in settings:
                    self.assertEqual({raw.count(mark) for raw in raws}, {3})
                    raws = [raw.replace(mark, b"") for raw in raws]
                for old, new in zip(raws, raws[1:]):
                    self.assertEqual(old[-2:], b"]}")  # the messages stand last
                    self.assertTrue(new.startswith(old[:-2]))
                for at in (0, 1, 2, 57, 200):
                    _check_request(protocol, _strict(raws[at]))
                    _, messages = _split(server.raw[at])
                    self.assertEqual(len(messages), first + more * at)

    @_each_protocol
    def test_what_was_said_is_encoded_once(self, protocol):
        """Not again for the next request, nor for the next turn; and of a second follow-up, which
        is another conversation, the same bytes."""
        call = _call(protocol, ("c1", "get_weather", {"city": "Oslo"}))
        server = _Server(protocol, [call, _text(protocol, "cold")])
        model, encode, encoded = _model(protocol, server), json.dumps, []
        run = agentloop.run(model, "the task", [get_weather])
        turn = run.follow_up("and now?")
        with mock.patch("json.dumps", lambda *a, **o: encoded.append(a) or encode(*a, **o)):
            body = encode(model.body(turn, {}))
        self.assertIn("and now?", repr(encoded))
        for earlier in ("the task", "c1", "Oslo"):
            self.assertIn(earlier, body)
            self.assertNotIn(earlier, repr(encoded))
        self.assertEqual(encode(model.body(run.follow_up("and now?"), {})), body)

    @_each_protocol
    def test_an_observation_is_asked_for_its_text_once(self, protocol):
        """The work per request grows with what is new, not with what was sent."""
        asked = []

        class Value:
            def __str__(self):
                asked.append(self)
                return "value"

        answers = [_call(protocol, ("a%d" % n, "f", {})) for n in range(30)]
        answers.append(_text(protocol, "ok"))
        run, _ = self.play(protocol, answers, tools=[_bare_tool(Value)], max_requests=99)
        self.assertEqual(len(run.steps), 30)
        self.assertEqual(len(asked), 30)

    @_each_protocol
    def test_body_is_what_goes_out(self, protocol):
        bodies = []
        calls = [("a%d" % n, "get_weather", {"city": "B"}) for n in range(3)]
        answers = [_call(protocol, c) for c in calls] + [_text(protocol, "ok")]
        server = _Server(protocol, answers)
        model = _model(protocol, server, system="s")

        def spied(run, tools):
            bodies.append(model.body(run, tools))
            self.assertEqual(bodies[-1], model.body(run, tools))
            return model(run, tools)

        run = agentloop.run(spied, "go", [get_weather])
        self.assertEqual(bodies, server.sent)
        self.assertEqual(run.requests, 4)

    def three_steps(self):
        """A follow-up on a run of three steps, with the results "amber", "beryl" and an object."""
        run = agentloop.AgentRun(["go", "there"])
        coral = {"seen": "coral", "rows": ["coral"]}
        for n, seen in enumerate(("amber", "beryl", coral), 1):
            action = agentloop.AgentAction("look", {"n": n}, "call0000%d" % n, "", None, n)
            run.steps.append(agentloop.AgentStep(action, seen))
            run.requests = n
        run.finish = agentloop.AgentFinish("done")
        return run.follow_up("and?")

    @_each_protocol
    def test_what_the_caller_changes_is_sent(self, protocol):
        """The conversation is then encoded anew; unchanged, it is the same bytes."""
        message = {"role": "assistant", "content": "x"}
        act, step = agentloop.AgentAction, agentloop.AgentStep

        changes = [  # what is changed in a run or the one before it; what is sent, what no more
            (lambda run, old: setattr(old.steps[0], "observation", "shortened"), "shortened", "amber"),
            (lambda run, old: old.steps.__setitem__(1, step(old.steps[1].action, "new")), "new", "beryl"),
            (lambda run, old: old.steps.pop(1), "coral", "beryl"),
            (lambda run, old: old.steps[2].observation["rows"].append("dark"), "dark", None),
            (lambda run, old: old.steps[2].observation.clear(), "beryl", "coral"),
            (lambda run, old: old.steps[2].observation.update(seen=_Incomparable()), "unlike", "coral"),
            (lambda run, old: old.steps.reverse(), "amber", None),
            (lambda run, old: setattr(old.steps[0].action, "tool_input", {"n": "other"}), "other", None),
            (lambda run, old: setattr(old.steps[0].action, "log", "said"), "said", None),
            (lambda run, old: setattr(old.steps[0], "status", "denied"), "amber", None),
            (lambda run, old: setattr(old, "finish", _end("another")), "another", "done"),
            (lambda run, old: setattr(old.finish, "output", "changed"), "changed", "done"),
            (lambda run, old: setattr(old, "finish", None), "coral", "done"),
            (lambda run, old: setattr(old, "task", "new task"), "new task", "there"),
            (lambda run, old: old.task.pop(), "go", "there"),
            (lambda run, old: setattr(run, "task", "what?"), "what?", "and?"),
            (lambda run, old: setattr(run, "history", []), "and?", "go"),
            (lambda run, old: old.steps.append(step(act("x", {}, "d"), "more")), "more", None),
            (lambda run, old: old.steps.append(step(act("", {}, "", "", message), "no")), "no", None),
        ]  # fmt: skip
        for at, (change, there, gone) in enumerate(changes):
            with self.subTest(at=at):
                model, run = _model(protocol, None, system="Be brief."), self.three_steps()
                before = json.dumps(model.body(run, {}))
                self.assertEqual(json.dumps(model.body(run, {})), before)
                self.assertEqual(json.dumps(model.body(self.three_steps(), {})), before)
                change(run, run.history[0])
                body = json.dumps(model.body(run, {}))
                self.assertEqual(body, json.dumps(model.body(copy.deepcopy(run), {})))
                self.assertIn(there, body)
                if gone:
                    self.assertNotIn('"%s"' % gone, body)

    @_each_protocol
    def test_a_setting_that_is_changed_counts(self, protocol):
        model, run = _model(protocol, None, system="Be brief."), self.three_steps()
        model.body(run, {})
        model.system = "Be exact."
        body = json.dumps(model.body(run, {}))
        self.assertIn("Be exact.", body)
        self.assertNotIn("Be brief.", body)
        run.history[0].steps[0].observation = "a" * 50
        model.max_observation = 10
        self.assertNotIn("a" * 20, json.dumps(model.body(run, {})))

    @_each_protocol
    def test_each_change_of_a_run_is_seen(self, protocol):
        """What the adapter kept of the run is not sent for what was changed."""
        model, run = _model(protocol, None), agentloop.AgentRun("go")
        tools = agentloop.registry([get_weather])
        action = _act("get_weather", "a", city="B")
        step = agentloop.AgentStep(action, "x")
        for change in (
            lambda: run.steps.append(step),
            lambda: run.steps.append(agentloop.AgentStep(action, "y")),
            lambda: setattr(run, "steps", [agentloop.AgentStep(action, "z"), run.steps[1]]),
            lambda: run.steps.__setitem__(1, agentloop.AgentStep(action, "w")),
            lambda: run.steps.pop(),
            lambda: setattr(run, "task", "other"),
            lambda: setattr(run, "finish", _end("f")),
            lambda: setattr(run, "finish", _end("g")),
            lambda: setattr(run, "finish", None),
            lambda: run.steps.clear(),
            lambda: run.history.append(agentloop.AgentRun("early", steps=[step])),
            lambda: run.history[0].steps.append(step),
            lambda: run.history.insert(0, agentloop.AgentRun("earliest")),
            lambda: run.history.pop(),
        ):
            change()
            with self.subTest(run=run):
                self.assertEqual(model.body(run, tools), model.body(copy.deepcopy(run), tools))

    @_each_protocol
    def test_a_step_taken_out_is_not_sent(self, protocol):
        calls = [_weather(protocol, "C%d" % n, "a%d" % n) for n in range(3)]
        server = _Server(protocol, [*calls, _text(protocol, "ok")], prefix=False)
        run = agentloop.AgentRun("go")
        events = agentloop.stream(_model(protocol, server), run, [get_weather])
        for _event in events:
            if len(run.steps) == 3:
                run.steps = run.steps[1:]
                break
        events.close()
        agentloop.run(_model(protocol, server), run, [get_weather])
        results = [t for _, t in _results(protocol, server.sent[3])]
        self.assertEqual(results, ["sunny in C1", "sunny in C2"])

    def test_two_adapters_on_one_run(self):
        """Each keeps what it encoded; a run may change hands and come back."""
        servers = {}
        for protocol in _PROTOCOLS:
            answers = [_weather(protocol, protocol, protocol[:2] + str(n)) for n in range(2)]
            servers[protocol] = _Server(protocol, answers)
        servers["chat"].answers.append(_text("chat", "ok"))
        models = {p: _model(p, s) for p, s in servers.items()}
        order = [*_PROTOCOLS, *_PROTOCOLS, "chat"]

        def in_turn(run, tools):
            return models[order[run.requests - 1]](run, tools)

        run = agentloop.run(in_turn, "go", [get_weather])
        self.assertEqual((run.output, len(run.steps)), ("ok", 6))
        self.assertEqual(len(_results("chat", servers["chat"].sent[2])), 6)

    @_real_threads
    @_each_protocol
    def test_eight_threads_share_one_model(self, protocol):
        def answer(sent):
            number = re.search(r"task-(\d+)-", json.dumps(sent)).group(1)
            if len(_results(protocol, sent)) < 2:
                return _weather(protocol, number)
            return _text(protocol, number)

        server = _Threaded(protocol, [answer])
        model, wrong = _model(protocol, server), []

        def work(k):
            try:
                for n in range(50):
                    number = str(k * 100 + n)
                    run = agentloop.run(model, "task-%s-" % number, [get_weather])
                    seen = [run.output, *(s.observation for s in run.steps)]
                    if seen != [number] + ["sunny in " + number] * 2:
                        wrong.append((number, run))
            except BaseException as e:
                wrong.append(e)

        _run_in_threads(work, 8)
        self.assertEqual(wrong[:3], [])
        self.assertEqual(len(server.raw), 1200)


class ForeignRunTests(_ModelCase):
    """Runs of other models, and runs made by hand, are composed anew."""

    def foreign_runs(self):
        """Runs of each protocol, of Mistral's content, of ReAct, and one that was scripted."""
        act, step = agentloop.AgentAction, agentloop.AgentStep
        scripted = agentloop.AgentRun("go", steps=[
            step(act("get_weather", {"city": "B"}, "a", request=1), "sun"),
            step(act("get_weather", '{"city": "C"}', "b", "Hm.", request=1), "rain"),
            step(act("w\u00e4nn? ", {}, "c d", request=2), "no", "unknown_tool"),
            step(act("", {}, "e", request=3), "no", "unknown_tool"),
            step(act("", {}), "Again.", "invalid_response"),
            step(act("get_weather", {}, "a", request=4), "no", "duplicate_call"),
            step(act("get_weather", "{", "f", "Action: x", "Action: x"), "bad"),
            step(act("", {}, "", "text", "text"), "No.", "not_accepted"),
        ])  # fmt: skip
        use = {**_ANTHROPIC_CALL, "id": "a1"}
        replies = {
            "chat": _chat({"content": None, "reasoning": "r", "tool_calls": [{**_CHAT_CALL, "id": "a:1"}]}),
            "responses": {"output": [_REASONING, *_asks("responses", call_id="a:1")["output"]]},
            "anthropic": {"content": [{"type": "thinking", "thinking": "t", "signature": "s"}, use]},
        }  # fmt: skip
        runs = {"scripted": scripted}
        for protocol, reply in replies.items():
            answers = [reply, _text(protocol, ""), _text(protocol, "fine")]
            runs[protocol] = self.play(protocol, answers)[0]
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}
        parts = [thought, {"type": "text", "text": "so"}]
        runs["mistral"] = self.play("chat", [_chat({"role": "assistant", "content": parts})])[0]
        texts = iter(["Action: get_weather\nAction Input: B", "hm", "Final Answer: fine"])
        react = agentloop.ReActText(lambda prompt: next(texts))
        runs["react"] = agentloop.run(react, "go", [get_weather])
        return runs

    @_protocols("chat", "responses")
    def test_a_turn_that_another_server_paused(self, protocol):
        """It cannot be continued here: the user speaks before the next reply."""
        use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
        message = {"role": "assistant", "content": [{"type": "text", "text": "So far."}, use]}
        paused = agentloop.AgentAction("", {}, "", "So far.", message, 1)
        run = agentloop.AgentRun("go", [agentloop.AgentStep(paused, "", "invalid_response")])
        server = _Server(protocol, [_weather(protocol), _text(protocol, "ok")])
        self.assertEqual(agentloop.run(_model(protocol, server), run, [get_weather]).output, "ok")
        want = {"chat": ["uau", "uauat"], "responses": ["uau", "uauat"]}
        self.assertEqual([_roles(protocol, sent) for sent in server.sent], want[protocol])

    @_each_protocol
    def test_replies_of_other_models(self, protocol):
        """A run may go from one protocol to another, or have been scripted."""
        for name, run in self.foreign_runs().items():
            with self.subTest(first=name):
                turn = run.follow_up("more")
                turn, server = self.play(protocol, [_text(protocol, "ok")], task=turn)
                self.assertEqual(turn.output, "ok")
                sent = json.dumps(server.said(), ensure_ascii=False)
                if name != protocol:
                    for foreign in ("signature", "encrypted_content", "reasoning"):
                        self.assertNotIn(foreign, sent)
                if name in _PROTOCOLS:
                    self.assertIn("sunny in B", sent)
                    self.assertIn("fine", sent)
                self.assertNotIn("w\u00e4nn", sent)  # no server takes such a name

    @_protocols("chat", "responses")
    def test_blocks_of_the_messages_api_stay_there(self, protocol):
        """Also in a reply that has no call: one with the results of the turn that was paused."""
        for kind in ("web_search_tool_result", "mcp_tool_use", "mcp_tool_result", "compaction"):
            with self.subTest(kind=kind):
                content = [{"type": kind, "content": "c"}, {"type": "text", "text": "fine"}]
                run, _ = self.play("anthropic", [{"content": content, "stop_reason": "end_turn"}])
                sent = _body(protocol, run.follow_up("more"))
                _check_request(protocol, sent)
                self.assertNotIn(kind, json.dumps(sent))
                self.assertIn("fine", json.dumps(sent))

    @_each_protocol
    def test_a_run_made_by_hand_with_ids_of_another_reply(self, protocol):
        """Every call of the message gets a result, whatever the ids of the steps."""
        for ids in (("a", "a"), ("x", "y"), ("b", "x")):
            with self.subTest(ids=ids):
                calls = [("a", "get_weather", {"city": "B"}), ("b", "get_weather", {})]
                run, _ = self.play(protocol, [_call(protocol, *calls)], max_requests=1)
                for step, call_id in zip(run.steps, ids):
                    step.action.call_id = call_id
                body = _body(protocol, run.follow_up("more"))
                _check_request(protocol, body)
                self.assertEqual(len(_results(protocol, body)), 2)

    @_each_protocol
    def test_ids_of_a_reply_that_is_composed_anew(self, protocol):
        """Mistral takes nine letters and digits, OpenAI 40 characters, Anthropic other letters."""
        ids = ["toolu_01A09q90qw90lq917835lq9", "toolu_" + "x" * 60, "a:b", "abcdefgh9"]
        used = [{"type": "tool_use", "id": i, "name": "note", "input": {}} for i in ids]
        called = {"type": "function_call", "name": "note", "arguments": "{}"}
        messages = {
            "anthropic": {"role": "assistant", "content": used},
            "scripted": None,
            "responses": [{**called, "call_id": i} for i in ids],
        }
        for source, message in messages.items():
            if protocol == source:
                continue
            with self.subTest(source=source):
                actions = [agentloop.AgentAction("note", {}, i, "", message, 1) for i in ids]
                steps = [agentloop.AgentStep(a, "noted") for a in actions]
                run = agentloop.AgentRun("go", steps, requests=1)
                body = _body(protocol, run.follow_up("?"))
                sent = [i for i, _, _ in _sent_calls(protocol, body)]
                self.assertEqual(sent, [i for i, _ in _results(protocol, body)])
                self.assertEqual((len(set(sent)), sent[3]), (4, "abcdefgh9"))
                for call_id in sent:
                    self.assertRegex(call_id, r"\A[a-zA-Z0-9]{9}\Z")
                again = _body(protocol, run.follow_up("?"))
                self.assertEqual(again, body)
                # An id of that reply is taken, also where the wire has another one.
                answers = [_weather(protocol, call_id=ids[0]), _text(protocol, "ok")]
                turn, _ = self.play(protocol, answers, task=run.follow_up("?"))
                self.assertEqual(_statuses(turn), ["ok"])

    @_each_protocol
    def test_arguments_that_json_cannot_hold(self, protocol):
        """A call made by hand: what is sent is an object all the same."""
        for value in ({"n": {1}}, {"n": object()}, {1: 2}, {"n": float("nan")}, [1], None):
            with self.subTest(value=value):
                action = agentloop.AgentAction("f", value, "a", request=1)
                run = agentloop.AgentRun("go", steps=[agentloop.AgentStep(action, "did")])
                body = _body(protocol, run)
                [(_, name, sent)] = _sent_calls(protocol, body)
                self.assertEqual((name, sent), ("f", {} if protocol == "anthropic" else "{}"))


class ObservationTextTests(_ModelCase):
    """What a tool returned, as it is sent."""

    @_each_protocol
    def test_observations_as_text(self, protocol):
        rows = [  # what a tool returns, what is sent
            ("plain \u00fc", "plain \u00fc"),
            ({"\u4f60": [1, None, True]}, '{"\u4f60": [1, null, true]}'),
            (5, "5"),
            (1.5, "1.5"),
            (True, "true"),
            ("", "(no output)"),
            (" \n", "(no output)"),
            (None, "null"),
            ([], "[]"),
            (b"raw", "raw"),
            ({"x": 1.0}, '{"x": 1.0}'),
            (float("nan"), "NaN"),
            ([("a", 1)], '[["a", 1]]'),
        ]
        for value, want in rows:
            with self.subTest(value=value):
                answers = [_call(protocol, ("a", "f", {})), _text(protocol, "ok")]
                _run, server = self.play(protocol, answers, tools=[_bare_tool(lambda: value)])
                self.assertEqual(_results(protocol, server.sent[1])[0][1], want)

    @_each_protocol
    def test_max_observation(self, protocol):
        long = "".join("%07d " % n for n in range(10000))
        rows = [(100, 100), (len(long) - 1, len(long) - 1), (len(long), None), (None, 20_000)]
        for most, kept in rows:
            with self.subTest(most=most):
                answers = [_call(protocol, ("a", "f", {})), _text(protocol, "ok")]
                settings = {} if most is None else {"max_observation": most}
                tools = [_bare_tool(lambda: long)]
                run, server = self.play(protocol, answers, tools=tools, **settings)
                text = _results(protocol, server.sent[1])[0][1]
                self.assertEqual(run.steps[0].observation, long)
                if kept is None:
                    self.assertEqual(text, long)
                    continue
                found = re.search(r"\n.*?(\d+)\D+(\d+)\D+(\d+).*\n", text)
                first, last, total = map(int, found.groups())
                self.assertEqual(total, len(long))
                self.assertEqual(text[: found.start()], long[: first - 1])
                self.assertEqual(text[found.end() :], long[last:])
                self.assertEqual(len(text) - len(found.group()), kept)


class PictureTests(_ModelCase):
    """Pictures in tasks and in results."""

    @_each_protocol
    def test_pictures_in_a_task(self, protocol):
        jpeg = agentloop.Image(b"\xff\xd8", "image/jpeg")
        task = ["What is", agentloop.Image(_PNG), "?", jpeg]
        server = self.play(protocol, [_text(protocol, "ok")], task=task)[1]
        content = server.said()[0]["content"]
        kinds = {"chat": ("text", "image_url"), "responses": ("input_text", "input_image")}
        text, picture = kinds.get(protocol, ("text", "image"))
        self.assertEqual([p["type"] for p in content], [text, picture, text, picture])
        want = [("image/png", base64.b64encode(_PNG).decode()), ("image/jpeg", "/9g=")]
        self.assertEqual(_pictures(content), want)
        self.assertEqual([p.get("text") for p in content if "text" in p], ["What is", "?"])

    @_each_protocol
    def test_pictures_that_tools_return(self, protocol):
        first = agentloop.Image(_PNG + b"1")
        second, third = agentloop.Image(b"2", "image/webp"), agentloop.Image(b"3", "image/gif")

        def shot(n: int) -> object:
            return [first, ["see", second, 5, third], "no picture"][n]

        encoded = base64.b64encode(first.data).decode()
        want = [("image/png", encoded), ("image/webp", "Mg=="), ("image/gif", "Mw==")]
        for cached in (False, True) if protocol == "anthropic" else (False,):
            with self.subTest(cached=cached):
                calls = [("a%d" % n, "shot", {"n": n}) for n in range(3)]
                answers = [_call(protocol, *calls), _call(protocol, ("z", "shot", {"n": 2}))]
                answers += [_text(protocol, ""), _text(protocol, "ok")]
                settings = {"cache": True} if cached else {}
                settings.update(tools=[_bare_tool(shot, "shot")], max_observation=30)
                run, server = self.play(protocol, answers, prefix=not cached, **settings)
                self.assertEqual(_statuses(run), ["ok"] * 4 + ["invalid_response"])
                said = server.said(1)
                self.assertEqual(_pictures(said), want)
                shown = {"chat": "uatttu", "responses": "uaaattt", "anthropic": "uau"}[protocol]
                self.assertEqual(_roles(protocol, server.sent[1]), shown)
                if protocol == "chat":
                    self.assertEqual(len(said[-1]["content"]), 3)
                    self.assertIn("picture", said[2]["content"])
                    self.assertIn("image/png", said[2]["content"])
                    self.assertIn("see", said[3]["content"])
                    self.assertEqual(said[4]["content"], "no picture")
                elif protocol == "responses":
                    self.assertIn("see", said[5]["output"][0]["text"])
                    self.assertEqual(said[6]["output"], "no picture")
                else:
                    self.assertIn("see", said[-1]["content"][1]["content"][0]["text"])
                    self.assertEqual(said[-1]["content"][2]["content"], "no picture")

    @_each_protocol
    def test_a_tuple_with_a_picture_is_read_as_a_list(self, protocol):
        """`return 'a caption', Image(...)`; and the type is what the bytes say."""
        jpeg = agentloop.Image(b"\xff\xd8\xff\xe0x", "image/png")
        for value in (("a caption", jpeg), ["a caption", jpeg], (jpeg,), jpeg):
            with self.subTest(value=value):
                tools = [_bare_tool(lambda: value, "shot")]
                answers = [_call(protocol, ("a", "shot", {})), _text(protocol, "ok")]
                _run, server = self.play(protocol, answers, tools=tools)
                sent = json.dumps(server.said())
                self.assertIn("image/jpeg", sent)
                self.assertNotIn("image/png", sent)
                self.assertEqual(len(_pictures(server.said())), 1)
                self.assertEqual("a caption" in sent, "caption" in str(value))

    @_each_protocol
    def test_a_task_that_follows_pictures_joins_their_message(self, protocol):
        image = agentloop.Image(_PNG)
        tools = [_bare_tool(lambda: image, "shot", return_direct=True)]
        server = _Server(protocol, [_call(protocol, ("a", "shot", {})), _text(protocol, "ok")])
        model = _model(protocol, server)
        run = agentloop.run(model, "go", tools)
        self.assertIs(run.output, image)
        agentloop.run(model, run.follow_up("What is it?"), tools)
        want = {"chat": "uatu", "responses": "uatu", "anthropic": "uau"}
        self.assertEqual(_roles(protocol, server.sent[1]), want[protocol])
        self.assertIn("What is it?", _notice(server.sent[1]))
        self.assertEqual(len(_pictures(server.said())), 1)

    def test_a_picture_has_no_is_error_beside_it(self):
        """`all content must be type text if is_error is true`."""
        image = agentloop.Image(_PNG)
        rows = [(["by hand", image], False), (image, False), ("no camera", True)]
        for observation, marked in rows:
            with self.subTest(observation=observation):
                run = agentloop.AgentRun("go", requests=1)
                run.pending.append(agentloop.AgentAction("shot", {}, "c1", request=1))
                run.close(run.pending[0], observation, "done_by_hand")
                body = _body("anthropic", run.follow_up("and?"))
                _check_request("anthropic", body)
                result = body["messages"][-1]["content"][0]
                self.assertEqual(result.get("is_error", False), marked)


class TrimTests(_ModelCase):
    """`trim` chooses what is sent; every request stays legal."""

    @_each_protocol
    def test_trim(self, protocol):
        rows = [  # trim; the cities in the last request
            (1, "34"),
            (2, "234"),
            (3, "1234"),
            (4, "01234"),
            (99, "01234"),
            (0, ""),
            (None, "01234"),
            (lambda steps: [], ""),
            (lambda steps: steps, "01234"),
            (lambda steps: steps[-1:], "34"),
            (lambda steps: steps[:1] + steps[3:4], "034"),
        ]
        for trim, cities in rows:
            with self.subTest(trim=trim, cities=cities):
                answers = []
                for group in ("0", "1", "2", "34"):
                    calls = [("a" + city, "get_weather", {"city": city}) for city in group]
                    answers.append(_call(protocol, *calls))
                answers.append(_text(protocol, "ok"))
                settings = {"trim": trim, "prefix": trim is None, "task": "THE TASK"}
                run, server = self.play(protocol, answers, **settings)
                results = _results(protocol, server.sent[-1])
                self.assertEqual("".join(t[-1] for _, t in results), cities)
                self.assertIn("THE TASK", json.dumps(server.said()[0]))
                self.assertEqual(len(run.steps), 5)

    @_each_protocol
    def test_trim_over_turns_and_notices(self, protocol):
        for trim in (0, 1, 2, 5):
            with self.subTest(trim=trim):
                texts = [_text(protocol, text) for text in ("", "one", "", "two")]
                answers = [_weather(protocol), *texts[:3], _weather(protocol, "C", "b"), texts[3]]
                server = _Server(protocol, answers, prefix=False)
                model = _model(protocol, server, trim=trim)
                run = agentloop.run(model, "FIRST", [get_weather])
                run = agentloop.run(model, run.follow_up("SECOND"), [get_weather])
                self.assertEqual(run.output, "two")
                text = json.dumps(server.said())
                self.assertIn("FIRST", text)
                self.assertIn("SECOND", text)
                self.assertEqual("sunny in C" in text, trim >= 1)
                self.assertEqual("sunny in B" in text, trim >= 4)

    def trimmed(self, protocol, trim):
        """The run and the server of two calls, a notice and two calls in one reply."""
        calls = [_weather(protocol, "C" + n, "a" + n) for n in "12"]
        pair = [("b%d" % n, "get_weather", {"city": "P%d" % n}) for n in (1, 2)]
        answers = [*calls, _text(protocol, ""), _call(protocol, *pair), _text(protocol, "ok")]
        return self.play(protocol, answers, trim=trim, prefix=False)

    @_each_protocol
    def test_trim_may_return_changed_copies(self, protocol):
        def mask(steps):
            last = steps[-1:]
            return [dataclasses.replace(s, observation="[left out]") for s in steps[:-1]] + last

        def deep(steps):
            return [dataclasses.replace(s, observation="[left out]") for s in copy.deepcopy(steps)]

        for trim, count in ((mask, 4), (deep, 5)):
            with self.subTest(trim=trim.__name__):
                run, server = self.trimmed(protocol, trim)
                text = json.dumps(server.said())
                self.assertEqual(text.count("[left out]"), count)
                self.assertEqual("sunny in P2" in text, trim is mask)
                self.assertNotIn("sunny in C", text)
                results = [i for i, _ in _results(protocol, server.sent[-1])]
                self.assertEqual(results, ["a1", "a2", "b1", "b2"])
                seen = [str(s.observation)[:8] for s in run.steps]
                self.assertEqual(seen, ["sunny in"] * 2 + ["The repl"] + ["sunny in"] * 2)
        with self.subTest(trim="one of a pair"):
            _, server = self.trimmed(protocol, lambda steps: mask(steps[-2:])[:1])
            results = _results(protocol, server.sent[-1])
            self.assertEqual(results, [("b1", "[left out]"), ("b2", "sunny in P2")])

    @_each_protocol
    def test_copies_of_steps_that_look_alike(self, protocol):
        """Two notices with the same request and text, and an id that is used twice."""

        def through_json(steps):
            return [agentloop.from_json(agentloop.to_json(step)) for step in steps]

        def as_they_are(steps):
            return steps

        act, step = agentloop.AgentAction, agentloop.AgentStep
        notice = [
            step(act("", {}, "", "Hm.", None, 1), f"note {n}", "not_accepted") for n in (1, 2)
        ]
        first = agentloop.AgentRun("go", notice[:1], finish=agentloop.AgentFinish("one"))
        calls = [step(act("get_weather", {}, "a", "", None, 2), "sunny")]
        calls.append(step(act("get_weather", {}, "a", "", None, 3), "used", "duplicate_call"))
        run = agentloop.AgentRun("on", [*notice[1:], *calls], history=[first])
        want = _model(protocol, None, trim=as_they_are).body(run, {})
        for copies in (copy.deepcopy, through_json):
            with self.subTest(copies=copies.__name__):
                self.assertEqual(_model(protocol, None, trim=copies).body(run, {}), want)
        text = json.dumps(want)
        for words in ("note 1", "note 2", "sunny", "used"):
            self.assertIn(words, text)

    @_each_protocol
    def test_trim_gives_steps_of_the_run(self, protocol):
        def odd(steps):
            actions = [dataclasses.replace(s.action, call_id="another") for s in steps]
            return [agentloop.AgentStep(a, "x") for a in actions]

        with self.assertRaisesRegex(ValueError, "trim.*call_id"):
            self.trimmed(protocol, odd)

    @_each_protocol
    def test_ids_numbered_anew_in_every_reply_while_trim_leaves_the_old_ones_out(self, protocol):
        for trim in (0, 1, 2, lambda steps: steps[-1:]):
            with self.subTest(trim=trim):
                answers = [_weather(protocol, str(n), "call_0") for n in range(5)]
                answers.append(_text(protocol, "ok"))
                run, _ = self.play(protocol, answers, trim=trim, prefix=False)
                self.assertEqual(_statuses(run), ["ok"] * 5)


# -- HTTP ------------------------------------------------------------------------------------------


class UrlTests(_ModelCase):
    """Where a request goes."""

    def test_urls(self):
        # fmt: off
        rows = [  # base_url; what is behind http://h for chat, responses, anthropic (None: not for it)
            ("http://h", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h/", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h/v1", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h/v1/", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h/v1//", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h/api/v1", "/api/v1/chat/completions",
             "/api/v1/responses", "/api/v1/messages"),
            ("http://h/api", "/api/chat/completions", "/api/responses", "/api/v1/messages"),
            ("http://h/beta/", "/beta/chat/completions", "/beta/responses", "/beta/v1/messages"),
            ("http://h/v1beta/openai/", "/v1beta/openai/chat/completions",
             "/v1beta/openai/responses", "/v1beta/openai/v1/messages"),
            ("http://h/v1/chat/completions", "/v1/chat/completions", None, None),
            ("http://h/x/chat/completions/", "/x/chat/completions", None, None),
            ("http://h/v1/responses", None, "/v1/responses", None),
            ("http://h/v1/messages", None, None, "/v1/messages"),
            ("http://h?a=1", "/v1/chat/completions?a=1", "/v1/responses?a=1", "/v1/messages?a=1"),
            ("http://h/v1/?a=b//c", "/v1/chat/completions?a=b//c", None, "/v1/messages?a=b//c"),
            ("  http://h/v1\n", "/v1/chat/completions", "/v1/responses", "/v1/messages"),
            ("http://h:8443/v1", ":8443/v1/chat/completions", ":8443/v1/responses", None),
        ]
        # fmt: on
        for base_url, *paths in rows:
            for protocol, path in zip(_PROTOCOLS, paths):
                if path is None:
                    continue
                with self.subTest(base_url=base_url, protocol=protocol):
                    server = self.play(protocol, [_text(protocol, "ok")], base_url=base_url)[1]
                    self.assertEqual(server.seen[0][:2], ("POST", "http://h" + path))
        server = self.play("chat", [_text("chat", "ok")], base_url="https://h:8443/v1")[1]
        self.assertEqual(server.seen[0][1], "https://h:8443/v1/chat/completions")

    @_each_protocol
    def test_a_url_without_scheme_is_refused(self, protocol):
        for base_url in ("localhost:8000/v1", "ftp://h/v1", "/v1", "http://"):
            with self.subTest(base_url=base_url):
                with self.assertRaisesRegex(ValueError, "base_url.*http"):
                    _model(protocol, None, base_url=base_url)

    def test_letters_in_a_path(self):
        url = "http://h/caf\xe9%20/v1?k=\u6771%41"
        server = self.play("chat", [_text("chat", "ok")], base_url=url)[1]
        sent = "http://h/caf%C3%A9%20/v1/chat/completions?k=%E6%9D%B1%41"
        self.assertEqual(server.seen[0][1], sent)

    def test_what_is_shown_of_a_url(self):
        good = [
            "http://u:SECRET@h/v1",
            "http://u:pa@SECRET@h/v1",
            "http://SECRET@h:8080",
            "https://u:SECRET@[::1]:1/v1?a=1&b=SECRET#SECRET",
        ]
        bad = [
            "http://u:SECRET@[bad",
            "ftp://u:SECRET@h/v1",
            "http://u:a/SECRET@h:x/v1",
            "u:SECRET@h/v1",
            "SECRET:x@h/v1",
            "SECRET:@h/v1",
            "http:/u:SECRET@h/v1",
            "http:SECRET@h/v1",
            "http://h\x1b/v1",
            "http:/h/?key=SECRET",
            "http://h:port/v1?key=SECRET",
            "http://u:a?SECRET@h/v1",
            "http://h:99999/v1",
            "http://h/a b",
            "http://\xfc..x",
            "http://%s.test" % ("\xfc" * 70),
            "http://h/\ud800",
        ]
        for url in good:
            with self.subTest(url=url):
                self.assertNotIn("SECRET", repr(agentloop.OpenAIChat("m", base_url=url)))
        for url in bad:
            with self.subTest(url=url):
                with self.assertRaisesRegex(ValueError, "base_url is like") as caught:
                    agentloop.OpenAIChat("m", base_url=url)
                self.assertNotIn("SECRET", str(caught.exception))


class ConnectionTests(_HttpCase):
    """A connection is made, kept, found dead, closed."""

    def test_addresses(self):
        asked = []

        def connect(address, timeout):
            asked.append(address)
            raise ConnectionRefusedError("not here")

        rows = [
            ("http://[::1]/v1", ("::1", 80)),
            ("https://[::1]", ("::1", 443)),
            ("http://[2001:db8::abcd]:8/v1", ("2001:db8::abcd", 8)),
            ("https://127.0.0.1", ("127.0.0.1", 443)),
        ]
        with mock.patch("socket.create_connection", connect):
            for url, address in rows:
                with self.subTest(url=url):
                    asked.clear()
                    self.refused(url, "connection", retries=0)
                    self.assertEqual(asked, [address])

    def test_link_local_addresses(self):
        """They hold for one interface, which is passed on: names of a home network lead there."""
        asked = []

        def connect(address, timeout):
            asked.append(address)
            raise ConnectionRefusedError("not here")

        rows = [  # as the system or PyPy has it; what is connected to
            (("fe80::1", 80, 0, 2), ("fe80::1%2", 80)),
            (("fe80::1%eth0", 80, 0, 2), ("fe80::1%eth0", 80)),
            (("fd00::1", 80, 0, 0), ("fd00::1", 80)),
        ]
        for found, address in rows:
            lookup = mock.patch("socket.getaddrinfo", lambda *args: [(10, 1, 6, "", found)])
            with self.subTest(found=found), lookup:
                with mock.patch("socket.create_connection", connect):
                    asked.clear()
                    self.refused("http://box.test", "connection", retries=0)
                    self.assertEqual(asked, [address])

    def test_connecting(self):
        addresses = [(2, 1, 6, "", ("192.0.2.%d" % n, 80)) for n in (1, 2)]
        asked = []
        one, two = "192.0.2.1", "192.0.2.2"
        refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        late = TimeoutError(errno.ETIMEDOUT, "Connection timed out")

        def connect(address, timeout):
            asked.append((address[0], timeout))
            error = faults.get(address[0])
            if error:
                raise error
            connected = socket.socket()
            connected.connect(("127.0.0.1", server.port))
            return connected

        rows = [  # what the two addresses do; the longest silence; words, or None for an answer
            ({one: socket.timeout("timed out")}, 600, None),
            ({one: refused}, 7, None),
            ({one: refused, two: socket.timeout("x")}, 600, "timed out after 30 s"),
            ({one: refused, two: socket.timeout("x")}, 7, "timed out after 7 s"),
            ({one: refused, two: late}, 600, "Connection timed out"),
        ]
        found = mock.patch("socket.getaddrinfo", lambda *args: addresses)
        connected = mock.patch("socket.create_connection", connect)
        with _Http(self.answer("chat")) as server, found, connected:
            for faults, timeout, words in rows:
                with self.subTest(words=words, timeout=timeout):
                    asked.clear()
                    settings = {"retries": 0, "timeout": timeout}
                    if words is None:
                        self.assertEqual(self.ask("http://h.test", **settings).output, "ok")
                    else:
                        error = self.refused("http://h.test", "connection", **settings)
                        self.assertIn("could not connect to h.test:80: ", str(error))
                        self.assertIn(words, str(error))
                    limits = [limit for _, limit in asked]
                    self.assertEqual(len(asked), 2)
                    self.assertTrue(all(min(timeout, 30) - 1 < n <= 30 for n in limits), limits)
            addresses.clear()
            error = self.refused("http://h.test", "connection", retries=0)
            self.assertIn("the name has no address", str(error))

    def test_a_server_that_is_not_there(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % s.getsockname()[1]
            error = self.refused(url, "connection", retries=1)
        self.assertEqual((error.status, len(self.waits)), (None, 1))
        self.assertIn(url, str(error))

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
    def test_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
            command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2".split()
            command += ["-subj", "/CN=localhost", "-keyout", key, "-out", cert]
            command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, check=True, **quiet)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(cert, key)
            with _Http(self.answer("chat"), tls) as server:
                error = self.refused(server.url, "connection")
                self.assertEqual(self.waits, [])
                place = "the certificate of 127.0.0.1:%d is not" % server.port
                for word in ("SSL_CERT_FILE", place):
                    self.assertIn(word, str(error))
                with mock.patch.dict(os.environ, {"SSL_CERT_FILE": cert}):
                    self.assertEqual(self.ask(server.url).output, "ok")
                settings = {"ssl_context": ssl.create_default_context(cafile=cert), "api_key": _KEY}
                model = agentloop.OpenAIChat("m", base_url=server.url, **settings)
                self.assertEqual(agentloop.run(model, "go", [get_weather]).output, "ok")
                self.assertNotIn(_KEY.encode(), pickle.dumps(model))
                self.assertEqual(server.connections, 3)
                del model

    def test_a_start_of_tls_that_times_out(self):
        """It has the time limit of connecting, which is told; `timeout` is for silence."""

        def wrap_socket(sock, server_hostname):
            limits.append(sock.gettimeout())
            raise socket.timeout("The handshake operation timed out")

        for timeout, longest in ((600, 30), (7, 7)):
            with self.subTest(timeout=timeout), _Http(self.answer("chat")) as server:
                limits = []
                settings = {"ssl_context": types.SimpleNamespace(wrap_socket=wrap_socket)}
                settings.update(retries=0, timeout=timeout)
                url = server.url.replace("http:", "https:")
                error = self.refused(url, "connection", **settings)
                self.assertTrue(longest - 1 < limits[0] <= longest, limits)
                self.assertIn("TLS timed out after %d s" % longest, str(error))

    def test_a_python_without_ssl(self):
        with _Http(self.answer("chat")) as server, mock.patch.dict(sys.modules, {"ssl": None}):
            error = self.refused(server.url.replace("http:", "https:"), "connection")
            self.assertIn("https needs ssl", str(error))
            self.assertEqual((self.waits, self.ask(server.url).output), ([], "ok"))

    def test_the_sockets_options(self):
        real, made, slices = socket.create_connection, [], []

        def connect(address, timeout):
            made.append(real(address, timeout))
            return made[-1]

        def receive(self, size):
            slices.append(self.gettimeout())
            return super(socket.socket, self).recv(size)

        def refuse(self, *option):
            if threading.current_thread() is threading.main_thread():  # not the server's
                raise OSError(errno.ENOPROTOOPT, "Protocol not available")

        with _Http(self.answer("chat")) as server, mock.patch("socket.create_connection", connect):
            model = agentloop.OpenAIChat("m", base_url=server.url, timeout=600)
            with mock.patch.object(socket.socket, "recv", receive):
                self.assertEqual(agentloop.run(model, "go", [get_weather]).output, "ok")
            self.assertLessEqual(max(slices), 2)  # Ctrl-C gets through on Windows
            self.assertNotEqual(made[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), 0)
            for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE"):
                if hasattr(socket, name):
                    idle = made[0].getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                    self.assertLessEqual(idle, 60)
            # A system that refuses them is used without.
            with mock.patch.object(socket.socket, "setsockopt", refuse):
                self.assertEqual(self.ask(server.url, retries=0).output, "ok")
            # The system's own time limit: keep-alive probes that were not answered.
            late = TimeoutError(errno.ETIMEDOUT, "Connection timed out")
            with mock.patch.object(socket.socket, "recv", side_effect=late):
                error = self.refused(server.url, "connection", retries=0)
            self.assertIn("Connection timed out", str(error))
            del model
            for s in made:
                s.close()

    @_each_protocol
    def test_one_connection_is_kept(self, protocol):
        path = {
            "chat": "/v1/chat/completions",
            "responses": "/v1/responses",
            "anthropic": "/v1/messages",
        }[protocol]
        for stream in (False, True):
            with self.subTest(stream=stream), _Http(self.answer(protocol, stream)) as server:
                on_text = len if stream else None
                model = _CLASSES[protocol]("m", base_url=server.url, on_text=on_text)
                for _ in range(2):
                    run = agentloop.run(model, "go", [get_weather])
                    self.assertEqual((run.output, len(run.steps)), ("ok", 3))
                self.assertEqual((server.connections, len(server.heads)), (1, 8))
                for head in server.heads:
                    self.assertEqual(head.split(" ")[:2], ["POST", path])
                    self.assertNotIn("authorization", head.lower())
                    self.assertIn("accept-encoding: identity", head.lower())
                del model

    def test_when_a_connection_is_kept(self):
        document = json.dumps(_text("chat", "ok")).encode()
        old = b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n"
        length = b"content-length: %d\r\n\r\n" % len(document)
        chunks = [b"%x;note=1\r\n%s\r\n" % (len(c), c) for c in (document[:9], document[9:])]
        start = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        body, size = start + b"".join(chunks), len(start) + 50
        rows = [  # what is special, what is sent; the connections of two requests
            ("an old server", [old + length + document, None], 2),
            ("close", [b"HTTP/1.1 200 OK\r\nconnection: Close\r\n" + length + document, None], 2),
            ("a length that is none", [old + b"content-length: x\r\n\r\n" + document, None], 2),
            ("extensions", [start, *chunks, b"0\r\n\r\n"], 1),
            ("trailers", [start, *chunks, b"0\r\nX-Trailer: 1\r\n\r\n"], 1),
            ("no line behind the last chunk", [start, *chunks, b"0\r\n", None], 2),
            ("line feeds alone", [b"HTTP/1.1 200 OK\n" + length.replace(b"\r", b"") + document], 1),
            ("no phrase", [b"HTTP/1.1 200\r\n" + length + document], 1),
            ("byte by byte", [*_pieces(body[:size], 1), body[size:], b"0\r\n\r\n"], 1),
        ]
        for name, pieces, connections in rows:
            with self.subTest(name), _Http(lambda n, head, body: pieces) as server:
                model = agentloop.OpenAIChat("m", base_url=server.url, retries=0)
                for _ in range(2):
                    self.assertEqual(model.complete("x"), "ok")
                    if connections == 2:
                        server.wait_until_closed()
                self.assertEqual(server.connections, connections)
                del model

    def test_a_kept_connection_that_died_is_no_failure(self):
        for end, stream in itertools.product((None, "reset"), (False, True)):
            with self.subTest(end=end, stream=stream):
                inner = self.answer("chat", stream)

                def answer(number, head, body):
                    pieces = inner(number, head, body)
                    return [*(pieces if isinstance(pieces, list) else [pieces]), end]

                with _Http(answer) as server:
                    settings = {"retries": 0, "on_text": len if stream else None}
                    model = agentloop.OpenAIChat("m", base_url=server.url, **settings)
                    watched = server.asked_when_closed(model)
                    run = agentloop.run(watched, "go", [get_weather])
                    self.assertEqual((run.output, run.requests, self.waits), ("ok", 4, []))
                    self.assertEqual((server.connections, len(server.heads)), (4, 4))
                    del model, watched

    def test_a_fresh_connection_that_breaks_is_asked_again(self):
        whole = _http(_text("chat", "ok"))
        half = _chunked(_stream("chat", _text("chat", "ok"))[:1], end=False)
        starts = {"before": [], "head": [whole[:30]], "body": [whole[:-9]], "chunk": half}
        for end, (at, pieces) in itertools.product((None, "reset"), starts.items()):
            with self.subTest(end=end, at=at):

                def answer(number, head, body):
                    return whole if number == 2 else [*pieces, end]

                with _Http(answer) as server:
                    self.waits.clear()
                    run = self.ask(server.url, retries=2, on_text=len)
                    self.assertEqual((run.output, run.requests, len(self.waits)), ("ok", 1, 2))
                    self.assertEqual(len(set(server.bodies)), 1)
                    server.heads.clear()
                    self.refused(server.url, "connection", retries=0, on_text=len)

    def test_what_on_text_raises_closes_the_connection(self):
        with _Http(self.answer("chat", True)) as server:
            texts = []

            def on_text(text):
                texts.append(text)
                if len(texts) == 1:
                    raise OSError("mine")

            model = agentloop.OpenAIChat("m", base_url=server.url, on_text=on_text, retries=0)
            with self.assertRaisesRegex(OSError, "mine") as caught:
                agentloop.run(model, "go", [get_weather], max_requests=9)
            run = agentloop.run(model, caught.exception.agent_run, [get_weather])
            self.assertEqual((run.output, server.connections), ("ok", 2))
            del model

    def test_a_connection_is_closed_when_its_thread_or_model_ends(self):
        with _Http(self.answer("chat")) as server, warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model = agentloop.OpenAIChat("m", base_url=server.url)
            thread = threading.Thread(target=agentloop.run, args=(model, "go", [get_weather]))
            thread.start()
            thread.join(10)
            gc.collect()
            server.wait_until_closed()
            self.assertEqual((server.open, len(server.heads)), (0, 4))
            agentloop.run(model, "go", [get_weather])
            del model
            gc.collect()
            server.wait_until_closed()
            self.assertEqual((server.open, len(server.heads)), (0, 8))
            self.assertEqual([w for w in found if w.category is ResourceWarning], [])

    def test_threads_have_connections_of_their_own(self):
        def answer(number, head, body):
            sent = _strict(body)
            _check_request("chat", sent)
            task = re.search(r"task-\d+-", sent["messages"][0]["content"]).group()
            reply = _text("chat", task) if _results("chat", sent) else _weather("chat", task)
            return _chunked(_stream("chat", reply))

        with _Http(answer) as server:
            model, wrong = agentloop.OpenAIChat("m", base_url=server.url, on_text=len), []

            def work(k):
                try:
                    for n in range(50):
                        task = "task-%d-" % (k * 100 + n)
                        run = agentloop.run(model, task, [get_weather])
                        if (run.output, run.steps[0].observation) != (task, "sunny in " + task):
                            wrong.append(run)
                except BaseException as e:
                    wrong.append(e)

            _run_in_threads(work, 8)
            self.assertEqual(wrong[:3], [])
            self.assertEqual((server.connections, len(server.heads)), (8, 800))
            server.wait_until_closed()  # the threads ended: so did their connections
            self.assertEqual(server.open, 0)

    @unittest.skipUnless(hasattr(os, "fork"), "needs os.fork")
    def test_a_forked_child_has_connections_of_its_own(self):
        with _Http(lambda n, head, body: _http(_text("chat", "%d" % n))) as server:
            model = agentloop.OpenAIChat("m", base_url=server.url)
            self.assertEqual(model.complete("x"), "0")
            reading, writing = os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the server's threads do not matter to the child
                child = os.fork()
            if child == 0:
                try:
                    os.write(writing, model.complete("x").encode())
                finally:
                    os._exit(0)
            os.close(writing)
            with open(reading, "rb") as pipe:
                self.assertEqual(pipe.read(), b"1")
            os.waitpid(child, 0)
            self.assertEqual((model.complete("x"), server.connections), ("2", 2))
            del model

    def test_an_old_server_may_keep_the_connection(self):
        """HTTP/1.0 closes it, unless it says that it does not."""
        for header, connections in (("connection: keep-alive", 1), ("", 2)):
            with self.subTest(header):
                reply = _http(_text("chat", "ok"), 200, header).replace(b"HTTP/1.1", b"HTTP/1.0")
                with _Http(lambda n, head, body, reply=reply: reply) as server:
                    model = agentloop.OpenAIChat("m", base_url=server.url, retries=0)
                    self.assertEqual([model.complete("x") for _ in range(2)], ["ok", "ok"])
                    self.assertEqual(server.connections, connections)
                    del model

    def test_a_kept_connection_that_answers_rubbish_counts_as_a_try(self):
        """Unlike one that has died: the server may have done what was asked."""
        answers = [_http(_text("chat", "ok")), [b"SSH-2.0-OpenSSH\r\n", None]]
        with _Http(lambda n, head, body: answers[n]) as server:
            model = agentloop.OpenAIChat("m", base_url=server.url, retries=0)
            self.assertEqual(model.complete("x"), "ok")
            with self.assertRaisesRegex(agentloop.ModelError, "sent no reply of HTTP") as caught:
                model.complete("x")
            self.assertEqual((caught.exception.kind, len(server.heads)), ("connection", 2))
            del model


class ProxyTests(_HttpCase):
    """Which proxy is used, and for which servers."""

    def test_a_proxy_of_the_environment(self):
        start = "POST http://model.test:8000/v1/chat/completions HTTP/1.1\r\n"
        with _Http(lambda n, head, body: _http(_text("chat", "proxied"))) as proxy:
            bare = "127.0.0.1:%d" % proxy.port
            login = "http://us%%40er:pa%%3Ass@127.0.0.1:%d" % proxy.port
            rows = [
                ({"http_proxy": proxy.url}, None),
                ({"HTTP_PROXY": proxy.url}, None),
                ({"http_proxy": bare}, None),
                ({"all_proxy": proxy.url}, None),
                ({"http_proxy": proxy.url, "all_proxy": "http://x.test"}, None),
                ({"http_proxy": login}, "Basic " + base64.b64encode(b"us@er:pa:ss").decode()),
                ({"http_proxy": proxy.url, "no_proxy": "other.test"}, None),
            ]
            for env, auth in rows:
                with self.subTest(env=env), mock.patch.dict(os.environ, env):
                    proxy.heads.clear()
                    run = self.ask("http://model.test:8000/v1", retries=0)
                    self.assertEqual(run.output, "proxied")
                    self.assertTrue(proxy.heads[0].startswith(start))
                    self.assertIn("host: model.test:8000\r\n", proxy.heads[0].lower())
                    found = re.search(r"(?i)proxy-authorization: (.*)\r", proxy.heads[0])
                    self.assertEqual(found and found.group(1), auth)

    def test_how_a_proxy_is_written(self):
        with _Http(lambda n, head, body: _http(_text("chat", "proxied"))) as proxy:
            place = "127.0.0.1:%d" % proxy.port
            works = {  # as people write it; the login that it should see
                "pa#ss": "us:pa#ss",
                "pa/ss": "us:pa/ss",
                "pa?ss": "us:pa?ss",
                "p@ss": "us:p@ss",
                "pa ss": "us:pa ss",
                "pass%": "us:pass%",
                "p:a": "us:p:a",
                "p%3Aa": "us:p:a",
            }
            rows = [("http://us:%s@%s" % (p, place), login) for p, login in works.items()]
            rows += [(" http://us:pass@%s \n" % place, "us:pass"), ("us@" + place, "us:")]
            rows += [("HTTP://%s/" % place, None)]
            for text, login in rows:
                with self.subTest(text=text), mock.patch.dict(os.environ, {"http_proxy": text}):
                    proxy.heads.clear()
                    self.assertEqual(self.ask("http://m.test", retries=0).output, "proxied")
                    found = re.search(r"Proxy-Authorization: Basic (.*)\r", proxy.heads[0])
                    self.assertEqual(found and base64.b64decode(found.group(1)).decode(), login)

    def test_a_password_with_an_address_in_it_is_not_shown(self):
        password = "pa://ssWORD"
        for start in ("http://", "socks5://", "", "x:"):
            with self.subTest(start=start):
                proxy = f"{start}user:{password}@127.0.0.1:9"
                with mock.patch.dict(os.environ, {"http_proxy": proxy}):
                    error = self.refused("http://model.invalid", "connection", retries=0)
                self.assertNotIn("ssWORD", str(error))
                self.assertNotIn("pa:", str(error))

    def test_proxies_that_cannot_be_used(self):
        with socket.socket() as gone:
            gone.bind(("127.0.0.1", 0))
            dead = "127.0.0.1:%d" % gone.getsockname()[1]
            rows = [  # what it is; what the error names; how often it is waited
                ("socks5://us:S3CRET@127.0.0.1:9", "socks5://127.0.0.1:9 is a kind of proxy", 0),
                ("https://us:S3CRET@127.0.0.1:9", "https://127.0.0.1:9 is a kind of proxy", 0),
                ("http://us:S3CRET@127.0.0.1:bad", "the proxy's address is not like", 0),
                ("http://us:S3CRET", "the proxy's address is not like", 0),
                ("http://us:S3CRET@" + dead, "could not connect to the proxy " + dead, 1),
            ]
            for (text, words, waits), scheme in itertools.product(rows, ("http", "https")):
                env = {scheme + "_proxy": text}
                with self.subTest(text=text, scheme=scheme), mock.patch.dict(os.environ, env):
                    self.waits.clear()
                    error = self.refused(scheme + "://m.test", "connection", retries=1)
                    self.assertIn(words, str(error))
                    self.assertNotIn("S3CRET", str(error))
                    self.assertEqual(len(self.waits), waits)

    def test_a_server_that_needs_no_proxy(self):
        unknown = mock.patch("socket.getaddrinfo", side_effect=socket.gaierror(-2, "no such name"))
        with _Http(lambda n, head, body: _http(_text("chat", "proxied"))) as proxy:
            for no in ("model.test", "*", ".test", "x.test, model.test", "model.test:8000"):
                env = {"http_proxy": proxy.url, "no_proxy": no}
                with self.subTest(no_proxy=no), mock.patch.dict(os.environ, env), unknown:
                    self.refused("http://model.test:8000/v1", "connection", retries=0)
            self.assertEqual(proxy.heads, [])

    def test_where_no_proxy_leads(self):
        rows = [  # NO_PROXY, the server, whether it is reached directly
            ("192.168.0.0/16", "192.168.1.5:11434", True),
            ("192.168.0.0/16", "192.169.1.5", False),
            ("10.0.0.0/8,172.16.0.0/12", "172.31.0.9", True),
            ("172.16.0.0/12", "172.32.0.1", False),
            ("10.0.0.0/8", "llm.test", False),
            ("10.1.2.3", "10.1.2.3:8000", True),
            ("fd00::/8", "[fd12::5]:8080", True),
            ("fe80::/10", "[fd12::5]:8080", False),
            ("fd00::1", "[fd00::1]", True),
            ("[fd00::1]", "[fd00::1]:8080", True),
            ("[fd00::1]:8080", "[fd00::1]:8080", True),
            ("[fd00::1]:9", "[fd00::1]:8080", False),
            ("192.168.1.*", "192.168.1.5", True),
            ("192.168.1.*", "192.168.2.5", False),
            ("*.corp.test", "a.b.corp.test", True),
            ("*.corp.test", "notcorp.test", False),
            (".corp.test", "corp.test", True),
            ("corp.test", "llm.corp.test", True),
            ("corp.test", "notcorp.test", False),
            ("corp.test", "corp.test.org", False),
            ("llm.test:8080", "llm.test:8080", True),
            ("llm.test:8080", "llm.test:9090", False),
            ("x, llm.test ,y", "llm.test", True),
            ("x llm.test", "LLM.Test", True),
            ("LLM.Test", "llm.test", True),
            ("*", "any.test", True),
            ("", "any.test", False),
            (",", "any.test", False),
        ]
        real = socket.create_connection

        def connect(address, timeout):
            if address[1] != proxy.port:
                raise ConnectionRefusedError("directly")
            return real(address, timeout)

        def lookup(host, port, *more):
            return [(2, 1, 6, "", (host, port))]

        connected = mock.patch("socket.create_connection", connect)
        found = mock.patch("socket.getaddrinfo", lookup)
        with _Http(lambda n, head, body: _http(_text("chat", "proxied"))) as proxy:
            with connected, found:
                for rule, host, is_direct in rows:
                    env = {"http_proxy": proxy.url, "no_proxy": rule}
                    with self.subTest(rule=rule, host=host), mock.patch.dict(os.environ, env):
                        if is_direct:
                            error = self.refused("http://" + host, "connection", retries=0)
                            self.assertIn("directly", str(error))
                        else:
                            run = self.ask("http://" + host, retries=0)
                            self.assertEqual(run.output, "proxied")

    def test_loopback_is_reached_directly(self):
        with _Http(lambda n, head, body: _http(b"", 502, "")) as proxy:
            names = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
            with mock.patch.dict(os.environ, dict.fromkeys(names, proxy.url)):
                with _Http(self.answer("chat")) as server:
                    for host in ("127.0.0.1", "localhost", "LOCALHOST"):
                        with self.subTest(host=host):
                            run = self.ask("http://%s:%d" % (host, server.port))
                            self.assertEqual(run.output, "ok")
            self.assertEqual(proxy.heads, [])

    def test_a_proxy_of_the_system(self):
        real = socket.getaddrinfo

        def lookup(host, *more):
            if host == "m.test":
                raise socket.gaierror(-2, "not to be found")
            return real(host, *more)

        with _Http(lambda n, head, body: _http(b"", 502, "")) as proxy:
            place = "https://127.0.0.1:%d" % proxy.port  # how Python reads the registry
            rows = [(False, "answers HTTP 502 instead"), (True, "not to be found")]
            for is_direct, words in rows:
                with self.subTest(is_direct=is_direct), contextlib.ExitStack() as patches:
                    for name, value in (
                        ("urllib.request.getproxies", lambda: {"https": place}),
                        ("urllib.request.proxy_bypass", lambda host: is_direct),
                        ("urllib.request.getproxies_environment", dict),
                        ("socket.getaddrinfo", lookup),
                    ):
                        patches.enter_context(mock.patch(name, value))
                    error = self.refused("https://m.test", "connection", retries=0)
                    self.assertIn(words, str(error))
            self.assertTrue(proxy.heads[0].startswith("CONNECT m.test:443 HTTP/1.1\r\n"))

    def test_a_tunnel_for_https(self):
        with _Http(lambda n, head, body: _http(b"", 403, "")) as proxy:
            env = {"https_proxy": "http://u:p@127.0.0.1:%d" % proxy.port}
            with mock.patch.dict(os.environ, env):
                error = self.refused("https://model.test/v1", "connection", retries=0)
            self.assertTrue(proxy.heads[0].startswith("CONNECT model.test:443 "))
            self.assertIn("Proxy-Authorization: Basic dTpw", proxy.heads[0])
            self.assertNotIn(_KEY, proxy.heads[0])
            self.assertNotIn("u:p", str(error))
        opened = b"HTTP/1.1 200 Connection established\r\n\r\n"
        for status, asked in ((407, 1), (403, 1), (503, 2)):
            with _Http(lambda n, head, body: _http(b"", status, "")) as proxy:
                with self.subTest(status), mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                    with mock.patch("time.sleep"):
                        self.refused("https://model.test/v1", "connection", retries=1)
                    self.assertEqual(len(proxy.heads), asked)
        with _Http(lambda n, head, body: [opened, None]) as proxy:  # and no TLS behind it
            with mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                self.refused("https://model.test/v1", "connection", retries=0)
        with mock.patch.dict(os.environ, {"https_proxy": "socks5://127.0.0.1:1"}):
            error = self.refused("https://model.test/v1", "connection", retries=0)
            self.assertIn("socks5", str(error))

    def test_what_a_proxy_sends_behind_its_reply_is_no_reply_of_the_server(self):
        opened = b"HTTP/1.1 200 Connection established\r\n\r\n"
        answers = [opened + _http(_text("chat", "forged")), _http(_text("chat", "ok"))]
        no_tls = types.SimpleNamespace(wrap_socket=lambda sock, server_hostname: sock)
        with _Http(lambda n, head, body: answers[n]) as proxy:
            with mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                run = self.ask("https://model.test/v1", retries=0, ssl_context=no_tls)
        self.assertEqual(run.output, "ok")

    def test_a_tunnel_that_is_not_opened(self):
        """The error names the proxy. It is asked again where that may help, not with a login that
        it refuses: some lock an account after a few."""
        rows = [  # what the proxy answers; what the error says; how often it is asked
            (b"HTTP/1.1 407 x\r\n\r\n", "answers HTTP 407 instead of opening a tunnel", 1),
            (b"HTTP/1.1 403 x\r\n\r\n", "answers HTTP 403 instead of opening a tunnel", 1),
            (b"HTTP/1.1 302 x\r\n\r\n", "answers HTTP 302 instead of opening a tunnel", 1),
            (b"HTTP/1.1 503 x\r\n\r\n", "answers HTTP 503 instead of opening a tunnel", 2),
            (b"HTTP/1.1 429 x\r\n\r\n", "answers HTTP 429 instead of opening a tunnel", 2),
            (b"SSH-2.0-x\r\n", "no reply of HTTP: it begins with SSH-2.0-x", 2),
            (b"", "closed the connection", 2),
        ]
        for reply, words, tries in rows:
            with self.subTest(reply=reply), _Http(lambda n, head, body: [reply, None]) as proxy:
                with mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                    error = self.refused("https://model.test", "connection", retries=1)
                self.assertIn("the proxy 127.0.0.1:%d" % proxy.port, str(error))
                self.assertIn(words, str(error))
                self.assertEqual(proxy.connections, tries)
        no_tls = types.SimpleNamespace(wrap_socket=lambda sock, server_hostname: sock)
        answers = [b"HTTP/1.1 204 x\r\n\r\n", _http(_text("chat", "ok"))]  # 204 opens it too
        with _Http(lambda n, head, body: answers[n]) as proxy:
            with mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                run = self.ask("https://model.test/v1", retries=0, ssl_context=no_tls)
        self.assertEqual(run.output, "ok")

    def test_a_proxy_that_wants_a_login(self):
        with _Http(lambda n, head, body: _http(b"no", 407, "")) as proxy:
            with mock.patch.dict(os.environ, {"http_proxy": proxy.url}):
                error = self.refused("http://model.test", "connection", retries=3)
        self.assertIn("the proxy 127.0.0.1:%d wants a login" % proxy.port, str(error))
        self.assertEqual((error.status, len(proxy.heads)), (407, 1))

    def test_addresses_that_a_proxy_is_given(self):
        with _Http(lambda n, head, body: _http(b"", 502, "")) as proxy:
            with mock.patch.dict(os.environ, {"https_proxy": proxy.url}):
                self.refused("https://[2001:db8::1]", "connection", retries=0)
            self.assertTrue(proxy.heads[0].startswith("CONNECT [2001:db8::1]:443 "))
        with _Http(self.answer("chat")) as proxy:
            with mock.patch.dict(os.environ, {"http_proxy": proxy.url}):
                self.assertEqual(self.ask("http://b\u00fccher.test").output, "ok")
                self.assertIn("Host: xn--bcher-kva.test\r\n", proxy.heads[0])
                headers = {"host": "other.test"}
                self.assertEqual(self.ask("http://u:p@h.test", headers=headers).output, "ok")
                self.assertNotIn("Host: h.test", proxy.heads[-1])


class HttpReplyTests(_HttpCase):
    """Replies in every form of HTTP/1, and what is no reply."""

    def test_forms_of_http(self):
        document = json.dumps(_text("chat", "o\u4f60k"), ensure_ascii=False).encode("utf-8")
        stream = b"".join(_stream("chat", _text("chat", "o\u4f60k")))
        packed = gzip.compress(document)
        rows = [  # what is special; what is sent
            ("gzip", [_http(packed, 200, "content-encoding: gzip")]),
            ("gzip undeclared", [_http(packed)]),
            ("http 1.0", [b"HTTP/1.0 200 OK\r\n\r\n" + document, None]),
            ("no length", [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + document, None]),
            ("chunked json", _chunked(_pieces(document, 9), "x: y")),
            ("tiny chunks", _chunked(_pieces(stream, 1))),
            ("crlf", _chunked([stream.replace(b"\n", b"\r\n")])),
            ("cr", _chunked([stream.replace(b"\n", b"\r")])),
            ("continue", [b"HTTP/1.1 100 Continue\r\n\r\n" + _http(json.loads(document))]),
            ("capital names", [_http(stream, 200, "Content-Type: Text/Event-Stream")]),
        ]
        for name, pieces in rows:
            with self.subTest(name), _Http(lambda n, head, body: pieces) as server:
                self.assertEqual(self.ask(server.url, retries=0).output, "o\u4f60k")

    def test_informational_replies_are_skipped(self):
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        rows = {
            "one": early,
            "several": b"HTTP/1.1 100 Continue\r\n\r\n" + early * 9,
            "102": b"HTTP/1.1 102 Processing\r\n\r\n",
        }
        for name, first in rows.items():
            with self.subTest(name):
                with _Http(lambda n, head, body: first + _http(_text("chat", "abc"[n]))) as server:
                    model = agentloop.OpenAIChat("m", base_url=server.url)
                    self.assertEqual([model.complete("x") for _ in range(3)], ["a", "b", "c"])
                    self.assertEqual(server.connections, 1)
                    del model

    def test_replies_without_a_body(self):
        for status in (204, 304):
            with self.subTest(status=status):
                with _Http(lambda n, head, body: b"HTTP/1.1 %d x\r\n\r\n" % status) as server:
                    for _ in range(2):
                        found = agentloop.http_transport("GET", server.url, {}, None, 5)
                        self.assertEqual((found[0], b"".join(found[2])), (status, b""))
                    self.assertEqual(server.connections, 1)
                    self.assertNotIn("content-length", server.heads[0].lower())

    def test_redirects_and_statuses(self):
        moved = _http(b"", 307, "Location: http://127.0.0.1:1/x")
        with _Http(lambda n, head, body: moved) as server:
            error = self.refused(server.url, "bad_response")
            self.assertIn("http://127.0.0.1:1/x", str(error))
            self.assertEqual((error.status, len(server.heads)), (307, 1))
        answers = [_http(b"busy", 503, "Retry-After: 3"), _http(_text("chat", "ok"))]
        with _Http(lambda n, head, body: answers[n]) as server:
            self.assertEqual(self.ask(server.url).output, "ok")
            self.assertEqual((self.waits, server.connections), ([3.0], 1))

    def test_a_length_said_twice(self):
        """By a gateway that joins two equal headers: the server leaves the connection open."""
        body = json.dumps(_text("chat", "ok")).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d, %d\r\n\r\n" % (len(body), len(body))
        with _Http(lambda n, _, sent: head + body) as server:
            for _ in range(2):
                self.assertEqual(self.ask(server.url, timeout=5, retries=0).output, "ok")

    def test_heads_that_are_none(self):
        line = b"HTTP/1.1 200 OK\r\n"
        chunked = line + b"transfer-encoding: chunked\r\n\r\n"
        rows = {
            "a long status line": b"HTTP/1.1 200 " + b"x" * 200_000,
            "a long header": line + b"a: " + b"x" * 200_000,
            "many headers": line + b"a: b\r\n" * 1000,
            "many interim replies": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
            "another version": b"HTTP/2 200 OK\r\n\r\n",
            "a chunk without a size": chunked + b"size\r\nabc\r\n",
            "many trailers": chunked + b"0\r\n" + b"a: b\r\n" * 1000,
        }
        for name, data in rows.items():
            with self.subTest(name), _Http(lambda n, head, body: [data, None]) as server:
                error = self.refused(server.url, "connection", retries=0)
                self.assertIn("sent no reply of HTTP: ", str(error))
                self.assertLess(len(str(error)), 1500)

    def test_a_server_that_does_not_speak_http(self):
        with _Http(lambda n, head, body: [b"SSH-2.0-OpenSSH\r\n", None]) as server:
            error = self.refused(server.url, "connection", retries=0)
        self.assertIn("SSH-2.0-OpenSSH", str(error))

    def test_a_long_request_that_is_refused_before_it_is_read(self):
        refusal = _http({"error": {"message": "too many bytes"}}, 413, "connection: close")

        def serve():
            connection = listener.accept()[0]
            connection.recv(1000)
            connection.sendall(refusal)
            connection.shutdown(socket.SHUT_WR)
            over.wait(10)
            connection.close()

        broken = [BrokenPipeError("the server does not read on")]
        broken.append(ssl.SSLEOFError(8, "EOF occurred in violation of protocol"))  # of TLS
        for failure in broken:
            with self.subTest(failure=failure), socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                listener.listen(1)
                over, thread = threading.Event(), threading.Thread(target=serve)
                thread.start()
                sent = []

                def send(self, data, *flags):
                    if len(data) < 10_000:  # the server's
                        return super(socket.socket, self).sendall(data, *flags)
                    sent.append(len(data))
                    if len(sent) > 1:
                        raise failure
                    return super(socket.socket, self).sendall(data[:1000], *flags)

                url = "http://127.0.0.1:%d" % listener.getsockname()[1]
                with mock.patch.object(socket.socket, "sendall", send):
                    settings = {"task": "x" * 3_000_000, "retries": 0}
                    error = self.refused(url, "context_length", **settings)
                over.set()
                thread.join(10)
                self.assertEqual(error.status, 413)
                self.assertIn("too many bytes", str(error))

    def test_a_server_that_reads_nothing(self):
        """A write that takes too long is silence."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            url = "http://127.0.0.1:%d" % listener.getsockname()[1]
            settings = {"task": "x" * 30_000_000, "retries": 0, "timeout": 0.2}
            error = self.refused(url, "timeout", **settings)
        self.assertIn("silence for 0.2 s", str(error))

    def test_what_belongs_to_no_request_is_no_reply(self):
        surplus = {
            "a second reply": _http(_text("chat", "not asked for")),
            "rubbish": b"\r\n",
            "a late 408": _http(b"", 408, ""),
            "103": b"HTTP/1.1 103 x\r\n\r\n",
        }
        real = socket.create_connection
        for (name, more), is_late in itertools.product(surplus.items(), (False, True)):
            with self.subTest(name, is_late=is_late):
                was_read, made = threading.Event(), []

                def answer(number, head, body):
                    first = _http(_text("chat", "abc"[number]))
                    return [first, lambda: was_read.wait(10), more] if is_late else first + more

                def connect(address, timeout):
                    made.append(real(address, timeout))
                    return made[-1]

                with _Http(answer) as server, mock.patch("socket.create_connection", connect):
                    model = agentloop.OpenAIChat("m", base_url=server.url)
                    for text in "abc":
                        was_read.clear()
                        self.assertEqual(model.complete("x"), text)
                        was_read.set()
                        if is_late:  # until the surplus has come
                            self.assertTrue(select.select([made[-1]], [], [], 10)[0])
                    self.assertEqual(server.connections, 3)
                    del model

    def test_what_comes_behind_the_end_of_a_stream(self):
        for is_late in (False, True):
            with self.subTest(is_late=is_late):
                gone = threading.Event()

                def answer(number, head, body):
                    first = _chunked(_stream("chat", _text("chat", "abc"[number])), end=False)
                    more = _chunked(_stream("chat", _text("chat", "more")))[1:]
                    return [*first, *([lambda: gone.wait(5)] if is_late else []), *more]

                with _Http(answer) as server:
                    model = agentloop.OpenAIChat("m", base_url=server.url, on_text=len)
                    for text in "abc":
                        self.assertEqual(model.complete("x"), text)
                    self.assertEqual(server.connections, 3 if is_late else 1)
                    gone.set()
                    del model


class TimeLimitTests(_HttpCase):
    """`timeout` is for silence, `deadline` for all of a request."""

    def test_limits_that_no_socket_takes(self):
        with _Http(self.answer("chat")) as server:
            for limit in (float("inf"), 1e10, 1e300):
                with self.subTest(limit=limit):
                    run = self.ask(server.url, timeout=limit, deadline=limit)
                    self.assertEqual(run.output, "ok")

    def test_blanks_only(self):
        over = threading.Event()
        start = b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\n\r\n"
        blanks = [b"\n", lambda: over.wait(0.02)] * 200
        with _Http(lambda n, head, body: [start, *blanks, None]) as server:
            self.refused(server.url, "timeout", retries=0, timeout=0.2)
            over.set()

    def test_silence(self):
        head = b"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n\r\n"
        event = _chunked(_stream("chat", _text("chat", "ok"))[:1], end=False)
        for name, pieces in (("nothing", []), ("the head", [head]), ("an event", event)):
            with self.subTest(name):
                over = threading.Event()
                with _Http(lambda n, head, body: [*pieces, lambda: over.wait(10), None]) as server:
                    settings = {"retries": 0, "on_text": len, "timeout": 0.1}
                    error = self.refused(server.url, "timeout", **settings)
                    over.set()
                self.assertIn("timeout", str(error))

    def test_comments_only(self):
        over = threading.Event()
        start = b"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n\r\n"
        comments = [b": alive\n\n", lambda: over.wait(0.02)] * 200
        with _Http(lambda n, head, body: [start, *comments, None]) as server:
            self.refused(server.url, "timeout", retries=0, on_text=len, timeout=0.2)
            over.set()

    @_each_protocol
    def test_a_server_that_keeps_the_connection_open_after_the_end(self, protocol):
        over = threading.Event()
        pieces = _chunked(_stream(protocol, _text(protocol, "ok")), end=False)
        with _Http(lambda n, head, body: [*pieces, lambda: over.wait(20), None]) as server:
            started = time.monotonic()
            run = self.ask(server.url, protocol, retries=0, on_text=len, timeout=15)
            over.set()
            self.assertLess(time.monotonic() - started, 10)
        self.assertEqual((run.output, len(server.heads)), ("ok", 1))

    def test_a_deadline_ends_what_drips(self):
        over = threading.Event()
        start = b"HTTP/1.1 200 x\r\n"
        rows = {  # what comes at once, what comes again and again
            "a status line": (b"HTTP", b"/"),
            "a header": (start + b"a: ", b"b"),
            "interim": (b"", b"HTTP/1.1 100 x\r\n\r\n"),
            "blanks": (start + b"\r\n", b" "),
            "an error": (b"HTTP/1.1 500 x\r\n\r\n", b"x"),
            "comments": (start + b"content-type: text/event-stream\r\n\r\n", b": x\n\n"),
            "a chunk's size": (start + b"transfer-encoding: chunked\r\n\r\n", b"0"),
        }
        for name, (first, drip) in rows.items():
            with self.subTest(name):
                over.clear()
                pieces = [first, *[drip, lambda: over.wait(0.02)] * 400, None]
                with _Http(lambda n, head, body: pieces) as server:
                    settings = {"on_text": len, "deadline": 0.1, "timeout": 9}
                    self.refused(server.url, "timeout", **settings)
                    over.set()
                self.assertEqual(len(server.heads), 1)


class HttpTransportTests(_HttpCase):
    """`http_transport`, called alone."""

    def test_the_transport(self):
        transport = agentloop.http_transport
        with _Http(lambda n, head, body: _http(b"body", 201, "X-Some: Thing")) as server:
            for _ in range(2):
                url = server.url + "/a?b=c"
                status, headers, chunks = transport("PUT", url, {"X-Mine": "1"}, b"data", 5)
                found = (status, headers["x-some"], b"".join(chunks))
                self.assertEqual(found, (201, "Thing", b"body"))
            self.assertTrue(server.heads[0].startswith("PUT /a?b=c HTTP/1.1\r\n"))
            self.assertIn("X-Mine: 1", server.heads[0])
            self.assertEqual((server.bodies, server.connections), ([b"data"] * 2, 1))
            self.assertIs(type(pickle.loads(pickle.dumps(transport))), type(transport))

    def test_the_transport_closes_what_is_not_read_to_its_end(self):
        transport = agentloop.http_transport
        with _Http(lambda n, head, body: _http(b"body", 201, "X-Some: Thing")) as server:
            chunks = transport("PUT", server.url, {}, b"", 5)[2]
            self.assertIsInstance(next(chunks), bytes)
            chunks.close()
            transport("PUT", server.url, {}, b"", 5)[2].close()
            status, _, chunks = transport("GET", server.url, {}, b"", 5)
            self.assertEqual((status, b"".join(chunks)), (201, b"body"))
            self.assertTrue(server.heads[-1].startswith("GET / HTTP/1.1\r\n"))
            self.assertEqual((server.connections, len(server.heads)), (3, 3))

    def test_the_transport_has_a_deadline_and_looks_at_headers(self):
        transport = agentloop.http_transport
        with _Http(lambda n, head, body: _http(b"body")) as server:
            with self.assertRaises(OSError):
                transport("GET", server.url, {}, None, 5, time.monotonic())
            with self.assertRaisesRegex(ValueError, "X-Mine"):
                transport("GET", server.url, {"X-Mine": "a\nb: c"}, None, 5)
            self.assertEqual(len(server.heads), 0)


# -- what a refusal means --------------------------------------------------------------------------


class ErrorKindTests(_ModelCase):
    """The kind of a ModelError, and what its text says to look at."""

    @_each_protocol
    def test_kinds(self, protocol):
        rows = [  # status, body; kind, what the text names
            (401, {"error": {"message": "bad key"}}, "auth", "api_key"),
            (403, {"error": "forbidden"}, "auth", "a key was sent"),
            (429, {"error": {"message": "slow down"}}, "rate_limit", "slow down"),
            (413, "too large", "context_length", "trim"),
            (413, "", "context_length", "max_observation"),
            (400, {"error": {"message": "no such thing"}}, "bad_request", "no such thing"),
            (404, {"error": {"message": "The model `m` does not exist"}}, "bad_request", "`m`"),
            (404, "404 page not found", "bad_request", "base_url"),
            (405, {"detail": "Method Not Allowed"}, "bad_request", "Method Not Allowed"),
            (407, "Cache Access Denied", "connection", "the proxy"),
            (422, {"detail": [{"loc": ["body"], "msg": "is \u00fcgly"}]},
             "bad_request", "is \u00fcgly"),
            (418, [{"error": {"message": "in a list"}}], "bad_request", "in a list"),
            (402, {"message": "no credit"}, "bad_request", "no credit"),
            (400, {"error": {"error": "nested"}}, "bad_request", "nested"),
            (400, {"error": {"message": "", "detail": "deep"}}, "bad_request", "deep"),
            (400, {"error": ["a", "b"]}, "bad_request", "a"),
            # The text of an error beside the message that says what is wrong.
            (400, {"error": "Bad Request", "message": "n is 0"}, "bad_request", "Bad Request: n is 0"),
            (400, {"error": True, "message": "n is 0"}, "bad_request", ": n is 0"),
            (400, {"error": True, "msg": "n is 0"}, "bad_request", "n is 0"),
            (401, {"error": "No", "message": "No", "detail": "use a key"}, "auth", ": No: use a key"),
            (500, {"error": "Error", "message": "prompt is too long"}, "context_length", "Error: p"),
            (400, "", "bad_request", "no words"),
            (400, "[" * 5000, "bad_request", "[["),
            (400, "null", "bad_request", "400"),
            (400, "[]", "bad_request", "400"),
            (500, {"error": {"message": "oops"}}, "server", "oops"),
            (529, {"type": "error", "error": {"type": "overloaded_error"}}, "server", "overloaded"),
            (502, "<html><head><style>x{}</style></head><body><h1>Bad  \n Gateway</h1>",
             "server", "Bad Gateway"),
            (409, "conflict", "server", "conflict"),
            (304, "nothing new", "bad_response", "nothing new"),
        ]  # fmt: skip
        for status, body, kind, word in rows:
            with self.subTest(status=status, body=str(body)[:40]):
                text = body if isinstance(body, str) else json.dumps(body)
                answers = [(status, {}, text)] * 2
                error, server = self.fails(protocol, answers, kind, status, retries=1)
                again = status in (409, 429) or kind == "server"
                self.assertEqual(len(server.raw), 1 + again)
                self.assertIn(word, str(error))
                self.assertIn("http://127.0.0.1:9/v1/", str(error))
                self.assertNotIn("<h1>", str(error))
                self.assertNotIn("x{}", str(error))

    @_each_protocol
    def test_kinds_without_a_status(self, protocol):
        reset = ConnectionResetError("reset")
        cert = ssl.SSLCertVerificationError("self-signed certificate")
        html = (200, {"content-type": "text/html"}, "<html><title>Welcome</title><p>to nginx")
        rows = [  # what comes; kind, words, how often it is asked with retries=1
            (TimeoutError("timed out"), "timeout", "timeout", 2),
            (socket.timeout("timed out"), "timeout", "600", 2),
            (reset, "connection", "base_url", 2),
            (socket.gaierror(-2, "Name or service not known"), "connection", "Name or service", 2),
            (http.client.BadStatusLine("SSH-2.0"), "connection", "SSH-2.0", 2),
            (cert, "connection", "127.0.0.1:9", 1),
            (cert, "connection", "SSL_CERT_FILE", 1),
            (html, "bad_response", "text/html", 1),
            (html, "bad_response", "base_url", 1),
            (html, "bad_response", "Welcome to nginx", 1),
            ((200, {}, "hello"), "bad_response", "hello", 1),
            ((200, _JSON, '"hello"'), "bad_response", "hello", 1),
            ((200, _JSON, '{"x": '), "bad_response", "JSON", 2),
            ((200, {}, ""), "bad_response", "base_url", 2),
        ]
        for answer, kind, words, asked in rows:
            with self.subTest(answer=str(answer)[:50]):
                error, server = self.fails(protocol, [answer] * 2, kind, None, retries=1)
                self.assertIn(words, str(error))
                self.assertEqual(len(server.raw), asked)
                self.assertIn("http://127.0.0.1:9/v1/", str(error))

    def test_what_a_refusal_means_by_its_words(self):
        rate = "Request too large for m on tokens per min (TPM): Limit 6000, Requested 9000"
        full = "maximum context length is 8192 tokens"
        raw = json.dumps({"error": {"message": full, "code": 400}})
        routed = {"error": {"message": "Provider returned error", "metadata": {"raw": raw}}}
        gone = {"error": {"message": "Provider returned error", "metadata": {"raw": "gone away"}}}
        wrapped = 'litellm.BadRequestError: P - {"error":{"message":"%s"}}\n. Model Group=m' % full
        python = "Error code: 400 - {'error': {'message': '%s', 'code': None}}" % full
        rows = [  # status, error; kind, how often it is asked with retries=1, what the text names
            # a wrong key: xAI, Gemini, others
            (400, {"error": "Incorrect API key provided.", "code": "invalid"},
             "auth", 1, "api_key"),
            (400, [{"error": {"message": "API key not valid."}}], "auth", 1, "api_key"),
            (400, {"error": {"message": "x", "code": "API_KEY_INVALID"}}, "auth", 1, "api_key"),
            (400, {"error": {"message": "api_key: a field too many"}},
             "bad_request", 1, "too many"),
            # limits that waiting does not lift
            (429, {"error": {"message": rate, "code": "rate_limit_exceeded"}},
             "rate_limit", 1, rate),
            (429, {"error": {"message": "x", "type": "insufficient_quota"}},
             "rate_limit", 1, "plan"),
            (429, {"error": {"message": "quota exceeded, retry in 38s"}}, "rate_limit", 2, "quota"),
            (200, {"error": {"message": "x", "code": "insufficient_quota"}}, "rate_limit", 1, "x"),
            (200, {"error": {"message": "x", "code": "rate_limit_exceeded"}}, "rate_limit", 2, "x"),
            # an error inside a 200: its code as a status, as a word, or its type
            (200, {"error": {"message": "x", "code": 503}}, "server", 2, "HTTP 503"),
            (200, {"error": {"message": "x", "code": "401"}}, "auth", 1, "HTTP 401"),
            (200, {"error": {"message": "x", "code": 404}}, "bad_request", 1, "HTTP 404"),
            (200, {"error": {"message": "x", "code": "content_filter"}}, "bad_request", 1, "x"),
            (200, {"error": {"message": "x", "type": "overloaded_error"}}, "server", 2, "x"),
            (200, {"error": {"message": "x", "type": "authentication_error"}}, "auth", 1, "x"),
            (200, {"error": {"message": "x", "code": "1302"}}, "server", 2, "x"),
            (200, {"object": "error", "message": "boom"}, "server", 2, "boom"),
            # llama.cpp names its own switch
            (500, {"error": {"message": "tools need --jinja"}}, "bad_request", 1, "--jinja"),
            # an overflow in other words, or passed on by a router or a proxy
            (400, {"error": {"message": "x", "type": "too_many_prompt_tokens"}},
             "context_length", 1, "x"),
            (400, routed, "context_length", 1, "Provider returned error: maximum context"),
            (502, gone, "server", 2, "gone away"),
            (400, {"error": {"message": "Provider returned error", "metadata": {}}},
             "bad_request", 1, "P"),
            (400, {"error": {"message": wrapped}}, "context_length", 1, "BadRequestError"),
            (400, {"error": {"message": python}}, "context_length", 1, "Error code"),
            (400, {"error": {"message": 'x {"error": and no more'}}, "bad_request", 1, "no more"),
            (400, {"error": {"message": '{"error": ' + "[" * 5000}}, "bad_request", 1, "[["),
        ]  # fmt: skip
        for status, body, kind, asked, words in rows:
            with self.subTest(status=status, body=str(body)[:90]):
                answer = (status, _JSON, json.dumps(body))
                error, server = self.fails("chat", [answer] * 2, retries=1)
                self.assertEqual((error.kind, len(server.raw)), (kind, asked), str(error))
                self.assertIn(words, str(error))

    def test_words_and_codes_that_mean_an_overflowing_context(self):
        words = [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens. However, you requested 9000",
            "the request exceeds the available context size. try increasing it",
            "Prompt exceeds max length",
            "input length and `max_tokens` exceed context limit: 199999 + 4096 > 200000",
            "Input is too long for requested model.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "prompt token count of 70000 exceeds the limit of 64000",
            "ContextWindowExceededError: x",
            "prompt too long; exceeded max context length by 4 tokens",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081",
            "Input length 9000 exceeds the maximum length 8192",
            "invalid params, context window exceeds limit",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "Your request exceeded model token limit: 8192",
            "Please reduce the length of the messages or completion.",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
            "Range of input length should be [1, 30720]",
        ]
        errors = [{"error": {"message": w, "type": "invalid_request_error"}} for w in words]
        errors += [{"error": {"message": w}} for w in words[14:]]
        errors += [{"error": w} for w in words[:3]] + [{"detail": words[0]}, [{"error": words[1]}]]
        errors += [{"error": {"message": "x", "code": "context_length_exceeded"}}]
        errors += [{"error": {"message": "x", "type": "exceed_context_size_error", "code": 400}}]
        for status in (400, 404, 413, 422, 500, 503):
            for error in errors:
                with self.subTest(status=status, error=error):
                    answers = [(status, {}, json.dumps(error))]
                    found, server = self.fails("chat", answers, "context_length", status)
                    self.assertEqual(len(server.raw), 1)
                    self.assertIn("trim", str(found))
        code = {"message": "x", "code": "context_length_exceeded"}
        for error in (code, {"message": "maximum context length"}):
            with self.subTest(error=error):  # under whatever status
                self.fails("chat", [(429, {}, {"error": error})], "context_length", 429)

    def test_words_that_mean_no_overflowing_context(self):
        rows = [
            "Invalid value for 'temperature'",
            "max_tokens is too large: 100000",
            "string too long",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "Unsupported value: 'max_tokens' exceeds the maximum of 4096 output tokens",
        ]
        for text in rows:
            with self.subTest(text):
                self.fails("chat", [(400, {}, {"error": {"message": text}})], "bad_request", 400)
        rows = [  # what the status says already
            (401, "Your token limit is reached", "auth"),
            (401, "invalid token: input is too long", "auth"),
            (403, "maximum context length: not for this key", "auth"),
            (200, {"message": "Your token limit is reached", "code": 403}, "auth"),
            (302, "<title>Your token limit is reached", "bad_response"),
            (402, "Your token limit is reached: buy more", "bad_request"),
        ]
        for status, error, kind in rows:
            with self.subTest(status=status, error=error):
                found, _ = self.fails("chat", [(status, {}, {"error": error})])
                self.assertEqual(found.kind, kind)
        rate = {"error": {"message": "Request too large on tokens per minute (TPM): Limit 6000"}}
        _, server = self.fails("chat", [(429, {}, rate)] * 2, "rate_limit", 429, retries=1)
        self.assertEqual(len(server.raw), 1)

    def test_redirects_are_not_followed(self):
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status=status):
                head = {"location": "https://other.test/v1"}
                error, _server = self.fails("chat", [(status, head, "")], "bad_response", status)
                self.assertIn("https://other.test/v1", str(error))
                self.assertIn("base_url", str(error))
        self.fails("chat", [(304, {}, "")], "bad_response", 304)

    @_each_protocol
    def test_whether_a_key_was_sent(self, protocol):
        rows = [  # settings; what is said
            ({"api_key": ""}, "no key was sent"),
            ({"api_key": "", "headers": {"X-Title": "my app"}}, "no key was sent"),
            ({"api_key": _KEY}, "a key was sent"),
            ({"api_key": "", "headers": {"Api-Key": "k"}}, "a key was sent"),
            ({"api_key": "", "headers": {"authorization": "Bearer k"}}, "a key was sent"),
            ({"api_key": "", "base_url": "http://u:p@h.test"}, "a key was sent"),
        ]
        for settings, words in rows:
            with self.subTest(settings=settings):
                error, _ = self.fails(protocol, [(401, {}, "no")], "auth", 401, **settings)
                self.assertIn(words, str(error))
                name = "ANTHROPIC" if protocol == "anthropic" else "OPENAI"
                self.assertIn(name + "_API_KEY", str(error))

    def test_a_fix_that_the_server_names_is_in_the_message(self):
        texts = [
            "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. "
            "Please use /v1/responses or set reasoning_effort to 'none'.",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "x" * 400 + " Use 'max_completion_tokens' instead",
        ]  # fmt: skip
        for text in texts:
            for body in ({}, {"reasoning_effort": "high", "max_tokens": 9}):
                with self.subTest(text=text[:30], body=body):
                    answers = [(400, {}, {"error": {"message": text}})]
                    error, server = self.fails("chat", answers, "bad_request", 400, body=body)
                    self.assertIn(text, str(error))
                    self.assertEqual(len(server.raw), 1)

    def test_a_long_message_is_cut(self):
        for body in ({"error": {"message": "w" * 10**5}}, {"x": "y" * 10**5}):
            for status in (400, 200):
                with self.subTest(status=status, body=str(body)[:20]):
                    error, _ = self.fails("chat", [(status, {}, body)] * 5)
                    self.assertEqual("asked 5 times" in str(error), status == 200)
                    self.assertLess(len(str(error)), 1500)
        error, _ = self.fails("chat", [(400, {}, {"error": "a\u202eb\x1b[31m\ud800"})])
        self.assertTrue(str(error).isprintable(), str(error))


class RetryAfterTests(_ModelCase):
    """How long a server wants us to wait."""

    def test_retry_after(self):
        now = time.time() // 1
        soon = email.utils.formatdate(now + 20, usegmt=True)
        own = 0.5  # where the header names no wait
        rows = [  # the header; the wait
            ("0", 0),
            ("7", 7),
            (" 3 ", 3),
            ("2.5", 2.5),
            ("99999", 60),
            ("9" * 5000, 60),
            (soon, 20),
            ("Wed, 21 Oct 2015 07:28:00 GMT", own),
            ("-5", own),
            ("soon", own),
            ("", own),
            ("nan", own),
            ("inf", own),
            ("1e400", own),
            ("\u0663", own),
            ("1.2.3", own),
            (".", own),
            ("1;2", own),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 60),
            ("Fri, 31 Dec 99999 23:59:59 GMT", own),
            ("Wed, 99 Foo 2015", own),
            ("Wed, 21 Oct 2099 07:28:00 -0000", 60),
            ("Wed, 21 Oct 2099 07:28:00 +9999", own),
            ("120, 60", own),
        ]
        for status in (429, 503):
            for value, wait in rows:
                with self.subTest(status=status, value=value[:40]):
                    self.waits.clear()
                    answers = [(status, {"retry-after": value}, "x"), _text("chat", "ok")]
                    with mock.patch("random.uniform", lambda *of: 1.0):
                        with mock.patch("time.time", lambda: now):
                            run, _ = self.play("chat", answers)
                    self.assertEqual((run.output, self.waits), ("ok", [wait]))

    def test_a_long_wait_is_read_in_one_pass(self):
        digits = "9" * 100_000
        for text in (digits, digits + "!", digits + "." + digits, digits + "." + digits + "s"):
            for headers, details in (({"retry-after": text}, []), ({}, [{"retryDelay": text}])):
                with self.subTest(text=text[-9:], headers=len(headers)), _at_once(self):
                    body = json.dumps({"error": {"message": "Slow down", "details": details}})
                    run, _ = self.play("chat", [(429, headers, body), _text("chat", "ok")])
                    self.assertEqual(run.output, "ok")

    def test_a_wait_is_named_in_many_places(self):
        retry_info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"}
        rows = [  # headers, error; the wait
            ({"retry-after-ms": "2500"}, {}, 2.5),
            ({"Retry-After-Ms": "2500", "Retry-After": "9"}, {}, 2.5),
            ({"retry-after": "9"}, {"message": "try again in 3s"}, 9),
            ({"retry-after": "soon"}, {"message": "Please try again in 3s."}, 3),
            ({}, {"message": "Please retry in 38.6s.", "details": [1, retry_info]}, 38.5),
            ({}, {"message": "Rate limit. Please try again in 460ms."}, 0.46),
            ({}, {"message": "try again in 1m2.5s. Visit x"}, 60),
            ({}, {"message": "Try again after 20 seconds"}, 20),
            ({}, {"message": "retry after 1 minute"}, 60),
            ({}, {"message": "retry in 5 milliseconds"}, 0.005),
            ({}, {"message": "try again in 2h"}, 60),
            ({}, {"message": "try again in 16s", "details": "none"}, 16),
        ]
        for headers, error, wait in rows:
            with self.subTest(headers=headers, error=error):
                self.waits.clear()
                answer = (429, headers, json.dumps({"error": error}))
                self.play("chat", [answer, _text("chat", "ok")])
                self.assertAlmostEqual(self.waits[0], wait)
        for words in ("try again in a while", "try again in 3 moons", "limit of 3 s"):
            with self.subTest(words=words):
                self.waits.clear()
                self.play("chat", [(429, {}, {"error": words}), _text("chat", "ok")])
                self.assertLess(self.waits[0], 1)
        with _at_little_cost(self):  # digits without a unit
            error = {"message": "slow down", "details": [{"retryDelay": "7" * 100_000 + "!"}]}
            self.play("chat", [(429, {}, {"error": error}), _text("chat", "ok")])


# -- streams ---------------------------------------------------------------------------------------


class ReplyBodyTests(_ModelCase):
    """Documents and streams, whatever the headers say of them."""

    @_each_protocol
    def test_json_for_a_stream_and_a_stream_for_json(self, protocol):
        document = _text(protocol, "\u4f60ok")
        stream = b"".join(_stream(protocol, document))
        bodies = {"document": document, "stream": stream, "chunks": _pieces(stream, 7)}
        for kind in (_JSON, _SSE, {}, {"content-type": "text/plain; charset=utf-8"}):
            for asked in (False, True):
                for sent, body in bodies.items():
                    with self.subTest(kind=kind, asked=asked, sent=sent):
                        texts = []
                        on_text = texts.append if asked else None
                        run, _ = self.play(protocol, [(200, kind, body)], on_text=on_text)
                        self.assertEqual(run.output, "\u4f60ok")
                        self.assertEqual("".join(texts), "\u4f60ok" if asked else "")

    def test_documents_in_other_forms(self):
        good = _text("chat", "ok")
        text = json.dumps(good)
        packed = gzip.compress(text.encode())
        members = gzip.compress(text[:30].encode()) + gzip.compress(text[30:].encode())
        rows = [  # what is special; the body, the headers
            ("list", json.dumps([good]), {}),
            ("bom", "\ufeff" + text, {}),
            ("space", "\n\n  " + text + "\n", {}),
            ("nan", text[:-1] + ', "logprob": NaN, "x": -Infinity}', {}),
            ("gzip declared", packed, {"content-encoding": "gzip"}),
            ("gzip undeclared", packed, {}),
            ("gzip in pieces", [packed[:9], packed[9:30], packed[30:]], {}),
            ("gzip of two members", members, {}),
            ("gzip of two members in pieces", _pieces(members, 1), {}),
            ("gzip and padding", [packed + b"\0\0", b"\0"], {}),
            ("created", text, {"content-type": "text/html"}),
        ]
        for name, body, head in rows:
            with self.subTest(name):
                run, server = self.play("chat", [(200, head, body)])
                self.assertEqual((run.output, len(server.raw)), ("ok", 1))
        stream = gzip.compress(b"".join(_stream("chat", good)))
        head = {"content-type": "text/event-stream", "content-encoding": "gzip"}
        answers = [(200, head, _pieces(stream, 5))]
        self.assertEqual(self.play("chat", answers, on_text=len)[0].output, "ok")

    def test_a_document_in_a_stream(self):
        document = json.dumps(_text("chat", "ok"))
        for end in ("", "\n\ndata: [DONE]\n\n", "\ndata:[DONE]", "  data: [DONE]\n"):
            with self.subTest(end=end):
                run, _ = self.play("chat", [(200, _SSE, document + end)], on_text=len)
                self.assertEqual(run.output, "ok")

    def test_the_first_bytes(self):
        good = _text("chat", "ok")
        packed = gzip.compress(json.dumps(good).encode())
        text, bom = json.dumps(good).encode(), b"\xef\xbb\xbf"
        stream = b"".join(_stream("chat", good))
        rows = [  # content type, chunks
            (_JSON, [packed[:1], packed[1:]]),
            (_JSON, [b"", packed]),
            ({"content-encoding": "gzip"}, [b"", packed[:1], packed[1:2], packed[2:]]),
            ({"content-encoding": "GZIP"}, [packed]),
            (_SSE, [b"\n", text]),
            (_SSE, [b"", b" ", b"\r\n", text]),
            (_SSE, [b"", stream]),
            (_SSE, [b"\n\n", stream]),
            (_SSE, [bom + stream]),
            (_JSON, [bom + stream]),
            (_SSE, [bom, stream]),
            (_SSE, [bom[:1], bom[1:2], bom[2:], stream]),
            (_SSE, _pieces(bom + stream, 1)),
            ({}, _pieces(packed, 1)),
            (_SSE, [bom + text]),
            (_JSON, [text[:1], text[1:]]),
            ({}, [b": hi\n\n", stream]),
            ({}, [b"event: x\n" + stream]),
        ]
        for head, chunks in rows:
            with self.subTest(head=head, chunks=chunks):
                run, server = self.play("chat", [(200, head, chunks)], on_text=len)
                self.assertEqual((run.output, len(server.raw)), ("ok", 1))

    def test_packed_bodies(self):
        packers = {  # content-encoding: how it is packed
            "gzip": gzip.compress,
            "x-gzip": gzip.compress,
            "GZIP": gzip.compress,
            "deflate": zlib.compress,
            "Deflate": zlib.compress,
            "DEFLATE": lambda data: zlib.compress(data)[2:-4],  # raw
            "identity": bytes,
            "": bytes,
        }
        document = json.dumps(_text("chat", "o\u4f60k")).encode()
        stream = b"".join(_stream("chat", _text("chat", "ok")))
        refusal = json.dumps({"error": {"message": "the model m is unknown"}}).encode()
        for name, pack in packers.items():
            with self.subTest(name):
                head = {"content-encoding": name}
                run, _ = self.play("chat", [(200, head, pack(document))])
                self.assertEqual(run.output, "o\u4f60k")
                answer = (200, {**_SSE, **head}, _pieces(pack(stream), 5))
                self.assertEqual(self.play("chat", [answer], on_text=len)[0].output, "ok")
                error, _ = self.fails("chat", [(404, head, pack(refusal))], "bad_request", 404)
                self.assertIn("the model m is unknown", str(error))

    def test_bodies_packed_in_another_way(self):
        for name in ("br", "zstd", "x-secret-squeeze", "gzip, br"):
            with self.subTest(name):
                for status, kind in ((200, "bad_response"), (401, "auth")):
                    answer = (status, {"content-encoding": name}, b"\x0b\x1b\x80...")
                    error, _ = self.fails("chat", [answer])
                    self.assertEqual(error.kind, kind)
                    self.assertIn("packed as %s, which" % name, str(error))

    def test_bodies_that_are_not_packed_although_the_header_says_so(self):
        """Some gateways unpack a body and leave the header."""
        document = json.dumps(_text("chat", "ok")).encode()
        spread = json.dumps(_text("chat", "ok"), indent=1).encode()
        stream = b"".join(_stream("chat", _text("chat", "ok")))
        for name in ("gzip", "deflate", "br", "zstd", "none"):
            for body in (document, spread, b"\n" + document, stream, b": hi\n\n" + stream):
                for chunks in ([body], _pieces(body, 1)):
                    with self.subTest(name, first=body[:9]):
                        answer = (200, {"content-encoding": name}, chunks)
                        self.assertEqual(self.play("chat", [answer])[0].output, "ok")

    def test_a_packed_body_in_a_python_without_zlib(self):
        packed = gzip.compress(json.dumps(_text("chat", "ok")).encode())
        with mock.patch.dict(sys.modules, {"zlib": None}):
            error, server = self.fails("chat", [(200, {}, packed)], "bad_response", None)
        self.assertIn("needs zlib", str(error))
        self.assertEqual(len(server.raw), 1)

    def test_damaged_bodies(self):
        packed = gzip.compress(json.dumps(_text("chat", "ok")).encode())
        for broken in (packed[:20] + b"x" * 20, packed[:10] + b"\xff" * 30):
            with self.subTest(broken=broken):
                answers = [(200, {}, broken)] * 2
                error, server = self.fails("chat", answers, "bad_response", None, retries=1)
                self.assertIn("a damaged body", str(error))
                self.assertEqual(len(server.raw), 2)
        empty = (200, {"content-encoding": "deflate"}, b"")
        _, server = self.fails("chat", [empty] * 5, "bad_response", None)
        self.assertEqual(len(server.raw), 5)

    def test_bounds_of_a_reply(self):
        megabyte = b"a" * (1 << 20)
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(packer.compress(megabyte) for _ in range(65)) + packer.flush()
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        document = json.dumps(_text("chat", "ok")).encode()
        begun = packer.compress(document) + packer.flush(zlib.Z_SYNC_FLUSH)
        padding = [b"\0" * (1 << 20)] * 65
        empty_blocks = [b"\0\0\0\xff\xff" * 200_000] * 70
        rows = [  # status, headers, chunks; kind, status of the error
            (200, _JSON, [b'{"a": "', *[megabyte] * 65], "bad_response", None),
            (200, _JSON, [b" " * (1 << 20)] * 65, "bad_response", None),
            (200, _SSE, [b"data: ", *[megabyte] * 65], "bad_response", None),
            (200, _SSE, [b"data: " + megabyte + b"\n"] * 65, "bad_response", None),
            (200, _JSON, [bomb], "bad_response", None),
            (200, _JSON, _pieces(bomb, 9999), "bad_response", None),
            (200, _JSON, [begun, *empty_blocks, packer.flush()], "bad_response", None),
            (200, _JSON, [gzip.compress(document), *padding], "bad_response", None),
            (401, _JSON, [megabyte] * 65, "auth", 401),
            (200, _JSON, [b'{"choices": ' + b"[" * 100_000], "bad_response", None),
        ]
        for status, headers, chunks, kind, shown in rows:
            with self.subTest(status=status, headers=headers, first=chunks[0][:20]):
                answers = [(status, headers, chunks)]
                error, _ = self.fails("chat", answers, kind, shown, on_text=len, retries=0)
                self.assertLess(len(str(error)), 1500)


class EventStreamTests(_ModelCase):
    """Lines become events; a stream that is cut is asked for again."""

    @_counted_memory
    def test_an_event_of_many_lines_takes_memory_in_proportion(self):
        document = {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}
        body = b"data:   \n" * 200_000 + b"data: %s\n\n" % json.dumps(document).encode()
        answer = _pieces(body, 9_999)

        def play():
            run, _ = self.play("chat", [answer], on_text=len)
            self.assertEqual(run.output, "ok")

        self.assertLess(_memory_of(play), 4 * len(body))

    def test_a_line_end_in_two_pieces(self):
        """The blank line after it still ends the event."""
        document = {"choices": [{"delta": {"content": "ok"}}]}
        event = b"data: " + json.dumps(document).encode()
        end = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
        for pieces in ([event + b"\r", b"\n", b"\n"], [event + b"\r", b"\n\r", b"", b"\n"]):
            with self.subTest(pieces=pieces):
                run, server = self.play("chat", [[*pieces, end]], on_text=len)
                self.assertEqual((run.output, len(server.raw)), ("ok", 1))

    def test_lines_of_the_stream(self):
        document = {"choices": [{"delta": {"content": "o\u4f60k"}, "finish_reason": "stop"}]}
        text = json.dumps(document, ensure_ascii=False)
        halves = (text[:11], text[11:])
        rows = [
            "data: %s\n\n" % text,
            "data:%s\n\ndata:[DONE]\n\n" % text,
            "data: %s\r\n\r\ndata: [DONE]\r\n\r\n" % text,
            "data: %s\r\rdata: [DONE]\r\r" % text,
            "data: %s\r\rdata: [DONE]\n\n" % text,
            "data: %s" % text,
            "data: %s\r" % text,
            "data: %s\n" % text,
            ": hello\n\n:\n\ndata: %s\n\n" % text,
            "id: 1\nevent: chunk\nretry: 10\nfoo: bar\nfoo\ndata: %s\n\n" % text,
            "data: %s\nid: 7\n\n" % text,
            "data\ndatab: {\n\ndata: %s\n\n" % text,
            "data: \n\ndata:\n\ndata: %s\n\n" % text,
            "\n\n\ndata: %s\n\n" % text,
            "data: %s\ndata: %s\n\n" % halves,
            "data: %s\r\ndata: %s\r\n\r\n" % halves,
            "data: %s\rdata: %s\r\r" % halves,
            "data: %s\n\ndata: [DONE]" % text,
            # Events without the blank line between them (GLM, Kimi).
            'data: {"id": 1}\ndata: {"choices": []}\ndata: %s\ndata: [DONE]\n' % text,
            'event: a\ndata: {"id": 1}\nevent: b\ndata: %s\n' % text,
            "data: %s\ndata: [DONE]\n\n" % text,
            "data: %s\ndata:\n\n" % text,
        ]
        for row in rows:
            raw = row.encode("utf-8")
            for size in (1, 2, 3, 7, 10**6):
                with self.subTest(row=row[:40], size=size):
                    run, server = self.play("chat", [_pieces(raw, size)], on_text=len)
                    self.assertEqual((run.output, len(server.raw)), ("o\u4f60k", 1))

    def test_odd_events_say_nothing(self):
        good = {"delta": {"content": "ok"}}
        events = [
            {"choices": []},
            {"choices": None},
            {},
            [],
            5,
            None,
            "text",
            {"object": "x"},
            {"choices": [{"index": 0}]},
            {"choices": [{"index": 0, "delta": None}]},
            {"choices": [None, 4]},
            {"choices": [{"index": 1, "delta": {}}]},
            {"choices": [good]},
            {"choices": {}},
            {"error": None, "choices": []},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 3}},
        ]
        run = self.play("chat", [_sse(*map(json.dumps, events))], on_text=len)[0]
        self.assertEqual((run.output, run.usage["input_tokens"]), ("ok", 3))

    def test_comments_are_silence(self):
        clock = [0.0]

        def tick(then=b": keep-alive\n\n"):
            clock[0] += 40
            return then

        after = [functools.partial(tick, b) for b in (b"\n", b": ", b"event: ping\n\n")]
        line, space, ping = after
        named, empty = functools.partial(tick, b"data"), functools.partial(tick, b": {}")
        half, *rest = good = _deltas({"content": "ok"}, reason="stop")
        rows = [  # chunks, the timeout; whether it is silence
            ([tick] * 4 + good, 100, True),
            ([tick] * 2 + good, 100, False),
            ([tick, half, tick, tick, *rest], 100, False),
            ([tick, tick, half, tick, tick, *rest], 100, False),
            ([half, tick, tick, tick, *rest], 100, True),
            ([half, line, line, line, *rest], 100, True),
            ([half, space, space, space, *rest], 100, True),
            ([half, ping, ping, ping, *rest], 100, False),
            ([half, named, empty, b"\n\n", *rest], 50, False),
        ]
        for at, (chunks, timeout, is_silent) in enumerate(rows):
            with self.subTest(row=at):
                clock[0] = 0.0
                with mock.patch("time.monotonic", lambda: clock[0]):
                    answers = [chunks, _text("chat", "again")]
                    run, _server = self.play("chat", answers, on_text=len, timeout=timeout)
                self.assertEqual(run.output, "again" if is_silent else "ok")
        with mock.patch("time.monotonic", lambda: clock[0]):
            error, _ = self.fails("chat", [[tick] * 9], "timeout", None, timeout=100, retries=0)
        self.assertIn("100", str(error))

    def test_the_end_of_a_stream(self):
        # A finish reason is enough, [DONE] is enough; for Anthropic stop_reason or message_stop.
        rows = [
            ("chat", _deltas({"content": "ok"}, reason="stop", done=False)),
            ("chat", _deltas({"content": "ok"}, reason=None, done=True)),
            ("anthropic", _stream("anthropic", _text("anthropic", "ok"))[:-1]),
            ("anthropic", _stream("anthropic", _text("anthropic", "ok", reason=None))),
            ("responses", _stream("responses", _text("responses", "ok"))),
        ]
        for protocol, stream in rows:
            with self.subTest(protocol=protocol, stream=stream[-1]):
                run, server = self.play(protocol, [stream], on_text=len)
                self.assertEqual((run.output, len(server.raw)), ("ok", 1))
                self.assertEqual(server.closed, 1)

    def test_the_last_event_may_lack_its_end(self):
        stream = b"".join(_stream("chat", _text("chat", "ok")))
        for cut in (1, 2, len("data: [DONE]") + 2, len("data: [DONE]") + 4):
            with self.subTest(cut=cut):
                run, _ = self.play("chat", [[stream[:-cut]]], on_text=len)
                self.assertEqual(run.output, "ok")
        error, _ = self.fails("chat", [[stream[:-40]]], "connection", on_text=len, retries=0)
        self.assertIn("ended before the reply was complete", str(error))

    @_each_protocol
    def test_nothing_is_read_after_the_end_of_a_stream(self, protocol):
        stream = _stream(protocol, _text(protocol, "ok"))
        tail = [b": x\n\n"] * 3 + [b'data: {"choices":[{"delta":{"content":"more"}}]}\n\n']
        run, server = self.play(protocol, [[b"".join(stream + tail)]], on_text=len)
        self.assertEqual((run.output, server.closed), ("ok", 1))

    @_each_protocol
    def test_a_complete_stream_counts_although_the_connection_breaks_after_it(self, protocol):
        whole = _stream(protocol, _text(protocol, "ok"))
        errors = [ConnectionResetError("x"), http.client.IncompleteRead(b"")]
        for end in [*errors, TimeoutError("x"), ssl.SSLError("x")]:
            for cut in (0,) if protocol == "responses" else (0, 1):  # the last event may be missing
                with self.subTest(end=end, cut=cut):
                    texts, stream = [], whole[: len(whole) - cut] + [end]
                    run, server = self.play(protocol, [stream], on_text=texts.append)
                    self.assertEqual((run.output, "".join(texts), len(server.raw)), ("ok", "ok", 1))

    @_each_protocol
    def test_a_cut_stream_is_asked_again_and_nothing_of_it_is_used(self, protocol):
        reply = _reply(protocol, "one", [("a", "get_weather", {"city": "X"})])
        raw = b"".join(_stream(protocol, reply))
        end = {
            "chat": b'"tool_calls"',
            "responses": b"response.completed",
            "anthropic": b'"tool_use"',
        }[protocol]
        last = raw.rindex(b"data:", 0, raw.rindex(end))
        cuts = sorted({last * n // 12 for n in range(1, 12)} | {last, last - 2, last + 30})
        good = _stream(protocol, _text(protocol, "ok"))
        for at in cuts:
            for end in ([], [ConnectionResetError("reset")], [http.client.IncompleteRead(b"")]):
                with self.subTest(at=at, end=end):
                    texts = []
                    self.waits.clear()
                    answers = [[raw[:at], *end], good]
                    run, server = self.play(protocol, answers, on_text=texts.append)
                    self.assertEqual((run.steps, run.output), ([], "ok"))
                    self.assertEqual(server.raw[0], server.raw[1])
                    self.assertEqual((run.requests, len(self.waits)), (1, 1))
                    self.assertTrue("".join(texts).endswith("ok"))
        with self.subTest("after the last retry"):
            error, _ = self.fails(protocol, [[raw[:last]]] * 2, "connection", None, retries=1)
            self.assertEqual((error.agent_run.steps, error.agent_run.pending), ([], []))

    def test_a_stream_without_a_choice_is_asked_again(self):
        for stream in (_sse(), _sse({"choices": []}), _sse({"usage": {"prompt_tokens": 3}})):
            with self.subTest(stream=stream):
                run, server = self.play("chat", [stream, _text("chat", "ok")], on_text=len)
                self.assertEqual((run.output, run.steps, len(server.raw)), ("ok", [], 2))

    @_each_protocol
    def test_what_on_text_raises_closes_the_stream_and_loses_nothing(self, protocol):
        class Odd(BaseException):
            pass

        errors = [OSError("mine"), TimeoutError("mine"), http.client.HTTPException("mine")]
        for error in [*errors, ValueError("mine"), KeyboardInterrupt(), Odd("mine")]:
            for stream in (True, False):
                with self.subTest(error=error, stream=stream):
                    answers = [_weather(protocol), _text(protocol, "oh"), _text(protocol, "ok")]
                    answers = _streamed(protocol, answers) if stream else answers
                    texts = []

                    def on_text(text):
                        texts.append(text)
                        if len(texts) == 1:
                            raise error

                    server = _Server(protocol, answers)
                    model = _model(protocol, server, on_text=on_text)
                    with self.assertRaises(type(error)) as caught:
                        agentloop.run(model, "go", [get_weather])
                    self.assertIs(caught.exception, error)
                    self.assertEqual((len(server.raw), server.closed), (2, 2))
                    run = error.agent_run
                    self.assertEqual(_statuses(run), ["ok"])
                    run = agentloop.run(model, run, [get_weather])
                    self.assertEqual((run.output, run.requests), ("ok", 3))
                    self.assertEqual(server.raw[1], server.raw[2])


class StreamErrorTests(_ModelCase):
    """An error inside a stream, or inside a reply with status 200."""

    @_each_protocol
    def test_an_error_in_a_stream_fails_it_whatever_follows(self, protocol):
        again = "asked again"
        rows = [  # the error; its kind, where it is not asked again
            ({"error": {"message": "boom", "code": 500}}, again),
            ({"error": {"message": "boom", "code": "503"}}, again),
            ({"error": {"message": "boom", "code": 429}}, again),
            ({"error": {"message": "boom", "code": 400}}, "bad_request"),
            ({"error": {"message": "boom", "code": 401}}, "auth"),
            ({"error": {"message": "boom", "type": "server_error", "code": None}}, again),
            ({"error": {"message": "boom", "type": "overloaded_error"}}, again),
            ({"error": {"message": "boom", "type": "rate_limit_error"}}, again),
            ({"error": {"message": "boom", "type": "who_knows"}}, again),
            ({"error": "boom"}, again),
            ({"error": {"message": "boom"}, "choices": []}, again),
            ({"error": {"message": "boom", "type": "invalid_request_error"}}, "bad_request"),
            ({"error": {"message": "boom", "type": "authentication_error"}}, "auth"),
            ({"error": {"message": "boom", "type": "permission_error"}}, "auth"),
            ({"error": {"message": "boom", "code": "invalid_prompt"}}, "bad_request"),
            ({"error": {"code": "rate_limit_exceeded", "type": "invalid_request_error"}}, again),
            ({"error": {"code": "server_error", "type": "invalid_request_error"}}, again),
            ({"error": {"message": "prompt is too long"}}, "context_length"),
            ({"error": {"message": "x", "code": "context_length_exceeded"}}, "context_length"),
            ({"type": "error", "message": "boom", "code": "server_is_overloaded"}, again),
            ({"type": "error", "message": "boom", "code": "invalid_prompt"}, "bad_request"),
            ({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}, again),
            ({"type": "error", "error": {"type": "api_error", "message": "boom"}}, again),
        ]
        reply = _reply(protocol, "part", [("a", "get_weather", {"city": "X"})])
        whole = _stream(protocol, reply)
        for error, kind in rows:
            stream = whole[:3] + _sse(error, done=False) + whole[3:]
            document = json.dumps(error)
            for answer in (stream, document, (200, _JSON, "[%s]" % document)):
                with self.subTest(error=error, answer=str(answer)[:20]):
                    if kind == again:
                        answers = [answer, _text(protocol, "ok")]
                        run, _ = self.play(protocol, answers, on_text=len)
                        self.assertEqual((run.output, run.steps), ("ok", []))
                    else:
                        failed, server = self.fails(protocol, [answer], on_text=len)
                        self.assertEqual(failed.kind, kind)
                        self.assertEqual(len(server.raw), 1)

    def test_error_events_without_an_error_key(self):
        part = b'data: {"choices":[{"delta":{"content":"part"}}]}\n\n'
        rest = [b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', b"data: [DONE]\n\n"]
        errors = [
            b'event: error\ndata: {"message":"boom","code":500}\n\n',
            b"event:error\r\ndata:boom\r\n\r\n",
            b'data: {"message":"boom"}\nevent: error\n\n',
            b'event: x\ndata: {"choices":[]}\nevent: error\ndata: {"message":"boom"}\n\n',
            b'data: {"object":"error","message":"boom","code":500}\n\n',
            b'data: {"choices":[{"error":{"code":502,"message":"boom"},"finish_reason":"error"}]}\n\n',
        ]  # fmt: skip
        for error in errors:
            with self.subTest(error=error):
                answers = [[part, error, *rest], _text("chat", "ok")]
                run, server = self.play("chat", answers, on_text=len)
                self.assertEqual((run.output, len(server.raw)), ("ok", 2))
        for error in (b"event: error\n\n", b"event: message\n", b"event: error\ndata:\n\n"):
            with self.subTest(nothing=error):  # an event without data is none
                run, server = self.play("chat", [[error, part, *rest]], on_text=len)
                self.assertEqual((run.output, len(server.raw)), ("part", 1))

    def test_a_line_that_reports_an_error(self):
        """llama.cpp, until September 2025, GPUStack."""
        part = _sse({"choices": [{"index": 0, "delta": {"content": "Part of"}}]}, done=False)
        words = "the request exceeds the available context size"
        line = 'error: {"code":400,"message":"%s"}' % words
        for rest in (line + "\n\ndata: [DONE]\n\n", line + "\n\n", line, "error:" + words + "\n"):
            with self.subTest(rest=rest):
                error, server = self.fails("chat", [[*part, rest.encode()]], on_text=len)
                self.assertEqual((error.kind, len(server.raw)), ("context_length", 1))
                self.assertIn(words, str(error))

    def test_an_error_in_a_choice_is_asked_again(self):
        failed, reason = _weather("chat"), _weather("chat", reason="error")
        failed["choices"][0]["error"] = {"code": 502, "message": "upstream"}
        for answer in (failed, reason, _stream("chat", reason)):
            with self.subTest(answer=answer):
                run, server = self.play("chat", [answer, _text("chat", "ok")])
                self.assertEqual((run.output, run.steps, len(server.raw)), ("ok", [], 2))

    @_protocols("chat", "anthropic")
    def test_an_error_after_the_limit_changes_nothing(self, protocol):
        """The reply used all of max_tokens, and the router adds `Token limit reached`. (A stream of
        the Responses API is over with `response.incomplete`.)"""
        error = {"error": {"code": 400, "message": "Token limit reached"}, "choices": []}
        reason = "max_tokens" if protocol == "anthropic" else "length"
        stream = _stream(protocol, _text(protocol, "half", reason=reason))[:-1] + _sse(error)
        run, _ = self.play(protocol, [stream, _text(protocol, "ok")], on_text=len)
        self.assertEqual(_statuses(run), ["invalid_response"])
        self.assertIn("output limit", run.steps[0].observation)
        if protocol == "chat":  # after a whole reply it is an error
            stream = _stream("chat", _text("chat", "whole"))[:-1] + _sse(error)
            failure, _ = self.fails("chat", [stream], "context_length", 400, on_text=len)
            self.assertIn("Token limit reached", str(failure))

    def test_responses_that_fail(self):
        good = _text("responses", "ok")
        item = _asks("responses")["output"][0]
        done = {"type": "response.output_item.done", "output_index": 0, "item": item}
        failed = {"status": "failed", "output": [item]}
        again = "asked again"
        rows = [  # the error; its kind, where it is not asked again
            ({"code": "rate_limit_exceeded", "message": "x"}, again),
            ({"code": "server_error", "message": "x"}, again),
            ({"code": "server_is_overloaded", "message": "x"}, again),
            ({"code": "brand_new", "message": "x"}, again),
            (None, again),
            ("gone", again),
            ({"code": "invalid_prompt", "message": "x"}, "bad_request"),
            ({"code": "x", "type": "invalid_request_error"}, "bad_request"),
            ({"code": "context_length_exceeded", "message": "x"}, "context_length"),
        ]
        for error, kind in rows:
            response = {**failed, "error": error}
            events = [done, {"type": "response.failed", "response": response}]
            missing = [done, {"type": "response.completed", "response": response}]
            for answer in (_sse(*events), _sse(*missing), response):
                with self.subTest(error=error, answer=answer):
                    if kind == again:
                        run, _ = self.play("responses", [answer, good], on_text=len)
                        self.assertEqual((run.output, run.steps), ("ok", []))
                    else:
                        self.fails("responses", [answer], kind, None, on_text=len)
        bare = _sse({"type": "response.failed"})
        for answer in (bare, {"status": "completed"}, {"output": None}):
            with self.subTest(answer=answer):
                run, _ = self.play("responses", [answer, good], on_text=len)
                self.assertEqual(run.output, "ok")


# -- asking ----------------------------------------------------------------------------------------


class HeaderTests(_ModelCase):
    """The key and the headers of a request, and where they come from."""

    @_each_protocol
    def test_the_userinfo_of_a_url_logs_in(self, protocol):
        """Where nothing else does in the same header."""
        own = {"authorization": "Token t"}
        sent_key = "Basic dXM6cEBzcw==" if protocol == "anthropic" else "Bearer k"
        rows = [  # settings; the header
            ({"api_key": ""}, "Basic dXM6cEBzcw=="),
            ({"api_key": "k"}, sent_key),
            ({"api_key": "", "headers": own}, "Token t"),
        ]
        for settings, login in rows:
            with self.subTest(settings=settings):
                answers = [_text(protocol, "ok")]
                url = "http://us:p%40ss@h.test"
                server = self.play(protocol, answers, base_url=url, **settings)[1]
                sent = {k.lower(): v for k, v in server.seen[0][2].items()}
                self.assertEqual(sent["authorization"], login)
                self.assertEqual(len(sent), len(server.seen[0][2]))

    @_each_protocol
    def test_headers_that_are_no_texts(self, protocol):
        for headers in ({"X-Number": 2}, {"X-None": None}, {"X-Bytes": b"x"}):
            with self.subTest(headers=headers):
                with self.assertRaisesRegex(TypeError, "headers.*" + next(iter(headers))):
                    _model(protocol, None, headers=headers)

    @_each_protocol
    def test_the_environment_gives_the_defaults(self, protocol):
        url = {
            "chat": "https://api.openai.com/v1/chat/completions",
            "responses": "https://api.openai.com/v1/responses",
            "anthropic": "https://api.anthropic.com/v1/messages",
        }[protocol]
        name = "ANTHROPIC" if protocol == "anthropic" else "OPENAI"
        header = "x-api-key" if protocol == "anthropic" else "authorization"
        bearer = "" if protocol == "anthropic" else "Bearer "
        of_env = {name + "_BASE_URL": "http://env"}
        rows = [  # the environment, the settings, the URL's start, the key that is sent
            ({}, {}, url, None),
            (of_env, {}, "http://env/v1/", None),
            ({name + "_BASE_URL": ""}, {}, url, None),
            (of_env, {"base_url": "http://own"}, "http://own/", None),
            ({name + "_API_KEY": "k1"}, {}, url, "k1"),
            ({name + "_API_KEY": " k1\n"}, {}, url, "k1"),
            ({name + "_API_KEY": "k1"}, {"api_key": "k2"}, url, "k2"),
            ({name + "_API_KEY": "k1"}, {"api_key": ""}, url, None),
            ({}, {"api_key": lambda: "k3"}, url, "k3"),
        ]
        for env, settings, start, key in rows:
            with self.subTest(env=env, settings=settings), mock.patch.dict(os.environ, env):
                server = _Server(protocol, [_text(protocol, "ok")])
                given = {"transport": server, "base_url": None, "api_key": None, **settings}
                agentloop.run(_CLASSES[protocol]("m", **given), "go")
                _, sent_to, headers, _ = server.seen[0]
                self.assertTrue(sent_to.startswith(start), sent_to)
                lower = {k.lower(): v for k, v in headers.items()}
                self.assertEqual(lower.get(header), key and bearer + key)

    def test_a_function_that_gives_no_key(self):
        """The key of the environment, which may be another server's, does not stand in for it."""
        for key in (None, b"k", 5):
            with self.subTest(key=key), mock.patch.dict(os.environ, {"OPENAI_API_KEY": _KEY}):
                server = _Server("chat", [])
                model = _model("chat", server, api_key=lambda key=key: key)
                with self.assertRaisesRegex(TypeError, "api_key.*" + type(key).__name__):
                    agentloop.run(model, "go")
                self.assertEqual(server.seen, [])

    @_each_protocol
    def test_headers(self, protocol):
        headers = {"X-Title": "my app", "user-agent": "mine"}
        server = self.play(protocol, [_text(protocol, "ok")], headers=headers)[1]
        sent = {k.lower(): v for k, v in server.seen[0][2].items()}
        self.assertEqual(len(sent), len(server.seen[0][2]), "a header twice")
        self.assertEqual(sent["content-type"], "application/json")
        self.assertEqual(sent["accept-encoding"], "identity")
        self.assertEqual((sent["x-title"], sent["user-agent"]), ("my app", "mine"))
        version = "2023-06-01" if protocol == "anthropic" else None
        self.assertEqual(sent.get("anthropic-version"), version)

    def test_a_header_of_the_caller_replaces_the_one_with_the_key(self):
        server = self.play("chat", [_text("chat", "ok")], headers={"Authorization": "Basic x"})[1]
        self.assertEqual(server.seen[0][2]["Authorization"], "Basic x")

    @_each_protocol
    def test_a_callable_key_is_asked_for_each_request_on_the_wire(self, protocol):
        keys = iter("key-%d" % n for n in range(9))
        answers = [(503, {}, "busy"), _weather(protocol), (500, {}, ""), _text(protocol, "ok")]
        server = self.play(protocol, answers, api_key=lambda: next(keys))[1]
        sent = [" ".join(h.values()) for _, _, h, _ in server.seen]
        found = [re.search(r"key-\d", text).group() for text in sent]
        self.assertEqual(found, ["key-0", "key-1", "key-2", "key-3"])


class RetryTests(_ModelCase):
    """What is asked again, how often, and when."""

    def test_very_many_retries(self):
        self.fails("chat", [OSError("x")] * 1101, retries=1100)
        self.assertEqual(len(self.waits), 1100)
        self.assertLess(max(self.waits), 11)

    @_each_protocol
    def test_what_is_asked_again(self, protocol):
        statuses = (408, 409, 425, 429, 500, 502, 503, 504, 520, 529, 599)
        rows = [
            *((status, {}, "busy") for status in statuses),
            ConnectionResetError("x"),
            ConnectionRefusedError("x"),
            BrokenPipeError("x"),
            TimeoutError("x"),
            socket.timeout("x"),
            socket.gaierror(-2, "x"),
            OSError("x"),
            ssl.SSLError("x"),
            http.client.RemoteDisconnected("x"),
            http.client.BadStatusLine("x"),
            http.client.IncompleteRead(b""),
            (200, _JSON, ""),
            (200, {}, " \n"),
            (204, {}, ""),
            (200, _JSON, '{"choi'),
            (200, _SSE, b"data: {\n\n"),
            (200, _JSON, "[]"),
            {},
            [ConnectionResetError("x")],
            [b'{"cho', ConnectionResetError("x")],
            (200, _SSE, [b""]),
            (503, _SSE, _sse({"error": "x"})),
            (429, {}, None),
        ]
        for bad in rows:
            with self.subTest(bad=bad):
                self.waits.clear()
                run, server = self.play(protocol, [bad, bad, _text(protocol, "ok")])
                self.assertEqual((run.output, run.requests, run.steps), ("ok", 1, []))
                self.assertEqual(len(set(server.raw)), 1)
                self.assertEqual((len(server.raw), len(self.waits)), (3, 2))

    def test_a_document_without_a_choice_is_asked_again(self):
        rows = [{"choices": []}, {"choices": None}, {"choices": [None]}, {"choices": [{}]}]
        rows += [{"id": 1}, {"choices": [{"message": None}]}, {"choices": "x"}]
        for bad in rows:
            with self.subTest(bad=bad):
                run, server = self.play("chat", [bad, _text("chat", "ok")])
                self.assertEqual((run.output, len(server.raw)), ("ok", 2))
                error, _ = self.fails("chat", [bad] * 3, "bad_response", None, retries=2)
                self.assertIn("asked 3 times", str(error))

    @_each_protocol
    def test_retries_are_bounded(self, protocol):
        for retries in (0, 1, 4):
            with self.subTest(retries=retries):
                self.waits.clear()
                answers = [(503, {}, "busy")] * 9
                error, server = self.fails(protocol, answers, "server", 503, retries=retries)
                self.assertEqual((len(server.raw), len(self.waits)), (retries + 1, retries))
                self.assertEqual("asked %d times" % (retries + 1) in str(error), retries > 0)
                self.assertEqual(error.agent_run.requests, 1)
        _, server = self.fails(protocol, [(500, {}, "")] * 9, "server", 500)
        self.assertEqual(len(server.raw), 5)

    def test_the_wait_grows(self):
        """0.5, 1, 2, 4, then 8 s, more or less a quarter by chance."""
        for chance, factor in ((min, 0.75), (max, 1.25)):
            with self.subTest(factor=factor), mock.patch("random.uniform", chance):
                self.waits.clear()
                self.fails("chat", [(503, {}, "busy")] * 9, "server", 503, retries=7)
                self.assertEqual(self.waits, [factor * n for n in (0.5, 1, 2, 4, 8, 8, 8)])

    def test_a_deadline_is_for_a_request_with_its_retries(self):
        far = (429, {"retry-after": "50"}, "busy")
        error, server = self.fails("chat", [far] * 9, "rate_limit", 429, deadline=20)
        self.assertEqual((len(server.raw), self.waits), (1, []))
        self.assertIn("the deadline of 20 s leaves no time", str(error))
        answers = [lambda sent: far, lambda sent: _text("chat", "ok")]
        self.play("chat", answers, deadline=60)
        self.assertEqual(self.waits, [50])

    def test_a_deadline_is_looked_at_between_the_chunks_of_any_transport(self):
        clock = [0.0]

        def late():
            clock[0] += 6
            return b" "

        answers = [[b" ", late, b" "]] * 9
        with mock.patch("time.monotonic", lambda: clock[0]):
            error, server = self.fails("chat", answers, "timeout", None, deadline=5)
        self.assertIn("no complete reply within the deadline of 5 s", str(error))
        self.assertLessEqual(server.seen[0][3], 5)
        self.assertEqual(len(server.raw), 1)

    def test_a_deadline_is_for_each_request_anew(self):
        clock = [0.0]

        def slow(sent):
            clock[0] += 4
            return _weather("chat", call_id=str(len(sent["messages"])))

        with mock.patch("time.monotonic", lambda: clock[0]):
            answers = [slow, slow, slow, _text("chat", "ok")]
            run, server = self.play("chat", answers, deadline=5)
        self.assertEqual((run.output, "deadline" in server.sent[0]), ("ok", False))

    @_each_protocol
    def test_going_on_after_an_error_runs_no_tool_twice(self, protocol):
        ran = []

        def once(city: str) -> str:
            ran.append(city)
            return "did"

        answers = [_call(protocol, ("a", "once", {"city": "B"})), (400, {}, "no")]
        server = _Server(protocol, answers + [_text(protocol, "ok")])
        model = _model(protocol, server)
        with self.assertRaises(agentloop.ModelError) as caught:
            agentloop.run(model, "go", [once])
        run = caught.exception.agent_run
        self.assertEqual((run.state, run.requests, _statuses(run)), ("running", 2, ["ok"]))
        again = agentloop.run(model, _saved(run), [once])
        self.assertEqual((again.output, ran), ("ok", ["B"]))
        self.assertEqual(server.raw[1], server.raw[2])


class CallerTransportTests(_ModelCase):
    """A transport that the caller wrote."""

    def test_a_transport_may_give_any_iterable(self):
        body = json.dumps(_text("chat", "ok")).encode()
        for chunks in ([body], (body[:9], body[9:]), iter([body]), {body: 1}):
            with self.subTest(chunks=type(chunks)):
                model = _model("chat", lambda *request, chunks=chunks: (200, _JSON, chunks))
                self.assertEqual(model.complete("x"), "ok")

    def test_a_context_is_for_the_default_transport(self):
        for transport in (_Server("chat", []), lambda *request: None):
            with self.assertRaisesRegex(ValueError, "ssl_context is for the default transport"):
                agentloop.OpenAIChat("m", ssl_context=True, transport=transport)

    def test_what_a_transport_raises_without_a_secret_is_a_developers_mistake(self):
        mistake = TypeError("a transport that takes no timeout")
        for answer in (mistake, [b'{"choices', mistake]):
            with self.subTest(answer=answer):
                with self.assertRaises(TypeError) as caught:  # with its traceback
                    self.play("chat", [answer])
                self.assertIs(caught.exception, mistake)

    def test_what_a_transport_raises_once_all_is_read_is_ignored(self):
        class Body(list):
            def drain(self):
                raise RuntimeError(_KEY)

            close = drain

        body = Body([json.dumps(_text("chat", "ok")).encode()])
        model = _model("chat", lambda *request: (200, _JSON, body))
        self.assertEqual(model.complete("x"), "ok")


class LogTests(_ModelCase):
    """What is logged, and what is not printed."""

    def test_each_retry_is_logged(self):
        answers = [(429, {"retry-after": "7"}, {"error": {"message": "Slow down for " + _KEY}})]
        answers += [ConnectionResetError("gone"), _text("chat", "ok")]
        with _logged() as log:
            self.play("chat", answers, retries=2)
        first, second = log.getvalue().strip().split("\n")
        for words in ("429", "Slow down", "waiting 7.0 s", "2 of 3"):
            self.assertIn(words, first)
        for words in ("ConnectionResetError: gone", "3 of 3"):
            self.assertIn(words, second)
        self.assertNotIn(_KEY, log.getvalue())

    @_each_protocol
    def test_a_context_that_the_server_cuts_silently_is_logged(self, protocol):
        # Templates that drop the reasoning of earlier turns make the count fall a little.
        rows = [  # the input tokens of the second request, trim; whether it is logged
            (50, None, True),
            (59, None, True),
            (60, None, False),
            (80, None, False),
            (150, None, False),
            (0, None, False),
            (50, 1, False),
        ]
        for tokens, trim, is_logged in rows:
            with self.subTest(tokens=tokens, trim=trim):
                answers = [
                    _weather(protocol, usage=_usage(protocol, 100, 1)),
                    _text(protocol, "ok", usage=_usage(protocol, tokens, 1)),
                ]
                with _logged() as log:
                    self.play(protocol, answers, trim=trim)
                self.assertEqual("num_ctx" in log.getvalue(), is_logged)

    def test_nothing_is_printed_where_logging_is_not_set_up(self):
        error, answer = io.StringIO(), _text("chat", "ok", reason="brand_new")
        with mock.patch.object(logging.getLogger("agentloop"), "handlers", []):
            with mock.patch.object(logging.root, "handlers", []):
                with contextlib.redirect_stderr(error):
                    self.play("chat", [answer])  # its reason is logged
        self.assertEqual(error.getvalue(), "")


class SecretTests(_ModelCase):
    """Keys, headers and the secret parts of a URL are not shown."""

    @_each_protocol
    def test_the_key_is_never_shown(self, protocol):
        secret = "X-SECRET-4711-4711"
        answers = [
            (401, {}, {"error": "wrong key %s!" % _KEY}),
            (400, {}, "you sent " + secret),
            (200, {}, "<p>%s %s" % (_KEY, secret)),
            OSError("%s %s" % (_KEY, secret)),
            (307, {"location": "http://h/" + _KEY + secret}, ""),
        ]
        for bad in answers:
            with self.subTest(bad=bad):
                with _logged() as log:
                    server = _Server(protocol, [bad])
                    model = _model(protocol, server, headers={"X-Other": secret}, retries=0)
                    with self.assertRaises(agentloop.ModelError) as caught:
                        agentloop.run(model, "go", [get_weather])
                run = caught.exception.agent_run
                shown = [repr(model), str(model), repr(caught.exception), str(caught.exception)]
                shown += [log.getvalue(), repr(run), json.dumps(agentloop.to_json(run))]
                shown += [repr(pickle.dumps(run)), json.dumps(model.body(run, {}))]
                model.transport = None
                shown.append(repr(pickle.dumps(model)))
                for text in shown:
                    self.assertNotIn(_KEY, text)
                    self.assertNotIn(secret, text)

    def test_a_key_in_a_url_is_not_shown(self):
        secret = "X-SECRET-4711-4711"
        rows = [  # base_url; what of it is sent and secret
            ("https://h.test/v1?key=" + secret, [secret]),
            ("http://user:PASSWORD123@h/v1?api-key=SECRETKEY99", ["SECRETKEY99", "PASSWORD123"]),
        ]
        for base_url, secrets in rows:
            with self.subTest(base_url=base_url):
                server = _Server("chat", [(401, {}, {"error": "bad key " + secrets[0]})])
                model = _model("chat", server, base_url=base_url)
                with self.assertRaises(agentloop.ModelError) as caught:
                    agentloop.run(model, "go")
                self.assertIn("key=" + secrets[0], server.seen[0][1])
                for word in secrets:
                    self.assertNotIn(word, str(caught.exception) + repr(model))

    def secret_in(self, error, secret):
        """True where a secret is in an exception, or in what it was raised from."""
        seen = []
        while error is not None:
            seen += [str(error), repr(error)]
            error = error.__cause__ or error.__context__
        return any(secret in text for text in seen)

    def test_secrets_in_whatever_form_they_come_back(self):
        url = "http://somebody:p%%40ss%%2Fword@h.test/v1?version=%s&k=a%%2Bb%%2Fc99" % ("v" * 9)
        headers = {"X-Gateway": "Token GATEWAY-99", "X-Quoted": 'a"b\\c"d'}
        proxies = {"http_proxy": "http://pu:PROXY-99@h.test:9", "https_proxy": "h.test:8"}
        login = base64.b64encode(b"pu:PROXY-99").decode()
        secrets = ["p@ss/word", "p%40ss%2Fword", "somebody", "a+b/c99", "a%2Bb%2Fc99", "v" * 9]
        secrets += ["GATEWAY-99", 'a"b\\c"d', "PROXY-99", login, _KEY]
        with_proxies = mock.patch.dict(os.environ, proxies)
        for secret in secrets:
            answers = [
                (400, {}, {"error": {"message": "no " + secret, "code": secret}}),
                (200, _JSON, {"choices": [], "id": secret}),
                (200, {"content-type": secret}, "<p>" + secret),
                (302, {"location": "http://h.test/" + secret}, ""),
                OSError("no " + secret),
                [ConnectionResetError(secret)],
                _sse({"error": {"message": secret}}),
            ]
            for answer in answers:
                with self.subTest(secret=secret, answer=answer), with_proxies:
                    settings = {"base_url": url, "headers": headers, "retries": 0, "tools": ()}
                    error, _ = self.fails("chat", [answer], **settings)
                    self.assertFalse(self.secret_in(error, secret))
                    self.assertNotIn(json.dumps(secret)[1:-1], str(error))

    def test_secrets_as_urls_json_and_html_spell_them(self):
        key = {"api_key": "sk-ab/c+d&99"}
        url = "http://h.test/v1?a=1;key=ab%2Bc/d99"
        rows = [  # settings; the secret as it comes back
            (key, "sk-ab%2Fc%2Bd%2699"),
            (key, "sk-ab%2fc%2bd%2699"),
            (key, "sk-ab%252Fc%252Bd%252699"),
            (key, "sk-ab\\/c+d\\u002699"),
            (key, "sk-ab\\\\/c+d\\\\u002699"),
            (key, "sk-ab&#x2F;c&#43;d&amp;99"),
            ({"api_key": "it's-99"}, "it\\'s-99"),
            ({"api_key": "schl\xfcssel-99"}, "schl\\xfcssel-99"),
            ({"api_key": "schl\xfcssel-99"}, "schl\xfcssel-99".encode().decode("latin-1")),
            ({"base_url": url}, "ab+c/d99"),
            ({"base_url": url}, "ab%2bc%2Fd99"),
            ({"base_url": "http://u:p@ss:99@h.test"}, "p%40ss%3A99"),
        ]
        for settings, shown in rows:
            answers = [
                (400, {}, "no " + shown),
                (302, {"location": "http://h.test/?next=%2F" + shown}, ""),
                (200, {}, '{"choices": "' + shown),
                OSError("no " + shown),
            ]
            for answer in answers:
                with self.subTest(shown=shown, answer=answer):
                    error, _ = self.fails("chat", [answer], retries=0, tools=(), **settings)
                    self.assertFalse(self.secret_in(error, shown))
                    self.assertIn("[hidden]", str(error))

    @unittest.skipIf(_BROWSER, "a limit of time")
    def test_a_long_secret_is_looked_for_in_bounded_time(self):
        long = "; ".join("c%d=%%2F-_+/.%s" % (n, "-_/%+" * 9) for n in range(80))
        slashes = "c=ab%s0123" % ("\\" * 30)
        rows = [
            (long, "no session"), (long, "no session %2F-_+/." + "-_/%+" * 8), (long, long[:-1]),
            (slashes, "ab%sx 0123" % ("\\" * 60)),
        ]  # fmt: skip
        for cookie, words in rows:
            with self.subTest(words=words[:40]):
                began = time.process_time()
                error, _ = self.fails("chat", [(401, {}, words)], headers={"Cookie": cookie})
                self.assertLess(time.process_time() - began, 5)

    def test_a_part_of_a_header(self):
        basic = "basic " + base64.b64encode(b"an-user-99:HUNTER-22").decode()
        rows = [  # a header; what of it comes back
            ("  SECRET-99 ", "SECRET-99"),
            ("Bearer   SECRET-99", "SECRET-99"),
            ("Bearer\tSECRET-99", "SECRET-99"),
            ("theme=dark; session=SECRET-99; x=1", "SECRET-99"),
            ('Token token="SECRET-99", x="1"', "SECRET-99"),
            (basic, "HUNTER-22"),
            (basic, "an-user-99"),
            ("Basic SECRET-99", "SECRET-99"),
            ("Basic SECRE", "SECRE"),
        ]
        for value, part in rows:
            with self.subTest(value=value, part=part):
                answers = [(401, {}, f"wrong: ({part}), x is 1")]
                error, _ = self.fails("chat", answers, headers={"X-Own": value})
                self.assertIn("wrong: ([hidden]), x is 1", str(error))
        error, _ = self.fails("chat", [(401, {}, "not SECRET-99")], api_key="Bearer SECRET-99")
        self.assertIn("not [hidden]", str(error))
        headers = {"HTTP-Referer": "http://localhost:3000/?n=3000", "Cookie": "theme=dark; n=12"}
        error, _ = self.fails("chat", [(400, {}, "dark: 13000 of 12")], headers=headers)
        self.assertIn("dark: 13000 of 12", str(error))

    def test_what_a_transport_raises_holds_no_secret(self):
        def chained(error, cause):
            error.__cause__ = cause
            return error

        class Quiet(Exception):
            def __str__(self):
                return "quiet"

        answers = [
            RuntimeError("refused: " + _KEY),
            KeyError(_KEY),
            Quiet(_KEY),
            chained(RuntimeError("refused"), LookupError(_KEY)),
            [b'{"choices', RuntimeError("cut at " + _KEY)],
            RuntimeError("for Bearer " + _KEY + " and HEADER-99"),
        ]
        for answer in answers:
            with self.subTest(answer=answer):
                settings = {"headers": {"X-Own": "HEADER-99"}}
                error, server = self.fails("chat", [answer] * 2, "connection", None, **settings)
                self.assertFalse(self.secret_in(error, _KEY))
                self.assertFalse(self.secret_in(error, "HEADER-99"))
                self.assertIn("the transport raised ", str(error))
                self.assertEqual(len(server.raw), 1)

    def test_what_no_header_can_carry(self):
        rows = [  # settings; what the error names, what it does not show
            ({"api_key": _KEY + "\r\nX: y"}, "api_key", _KEY),
            ({"api_key": lambda: _KEY + "\u20ac"}, "api_key", _KEY),
            ({"api_key": "k\u2603y"}, "api_key", "k\u2603y"),
            ({"api_key": "a\nb"}, "api_key", "a\nb"),
            ({"headers": {"X-Own": _KEY + "\n"}}, "X-Own", _KEY),
            ({"headers": {"X-Odd": "a\r\nb"}}, "X-Odd", "a\r\nb"),
            ({"headers": {"X\r\n" + _KEY: "v"}}, "headers", _KEY),
        ]
        for settings, word, secret in rows:
            with self.subTest(settings=settings):
                with self.assertRaisesRegex(ValueError, "header") as caught:
                    self.play("chat", [], **settings)
                self.assertIn(word, str(caught.exception))
                self.assertFalse(self.secret_in(caught.exception, secret))
                self.assertFalse(self.secret_in(caught.exception, ascii(secret)[1:-1]))

    def test_a_step_about_a_failed_generation_holds_no_secret(self):
        error = {"message": "for " + _KEY, "code": "tool_use_failed"}
        error["failed_generation"] = "call(%s)" % _KEY
        answers = [(400, {}, {"error": error}), _text("chat", "ok")]
        run, server = self.play("chat", answers)
        self.assertIn("call([hidden])", run.steps[0].observation)
        self.assertNotIn(_KEY, repr(run) + server.raw[1].decode())

    def test_a_key_is_hidden_before_words_are_cut(self):
        key = "sk-" + "Kk" * 30
        for n in (540, 590, 640, 690):
            words = "x" * n + " " + key
            for status, body in ((401, {"error": words}), (200, words)):
                with self.subTest(n=n, status=status):
                    answers = [(status, {}, body)]
                    error, _ = self.fails("chat", answers, tools=(), api_key=key)
                    self.assertNotIn("KkKk", str(error))

    def test_a_key_is_hidden_before_other_texts_are_cut(self):
        key = "sk-" + "Kk" * 30
        page = "<p>" + " " * 19_980 + key
        answers = [(401, {}, page), (200, {}, page), (401, {}, {"error": {"message": page}})]
        answers += [(200, {}, (key * 2000)[:-9]), (200, {"content-type": key}, "no")]
        answers += [(200, {"content-encoding": "x" * 180 + key}, "no")]
        bodies = ["choices", "output", "content"]
        for protocol, name in zip(_PROTOCOLS, bodies):
            for n in (*range(200, 300, 20), 0):
                document = {name: None, "id": "x" * n + " " + key}
                with self.subTest(protocol=protocol, n=n):
                    error, _ = self.fails(protocol, [document], retries=0, tools=(), api_key=key)
                    self.assertNotIn("kk", str(error).lower())
        for answer in answers:
            with self.subTest(answer=str(answer)[:60]):
                error, _ = self.fails("chat", [answer], retries=0, tools=(), api_key=key)
                self.assertNotIn("kk", str(error).lower())

    def test_a_key_is_hidden_before_tags_are_removed(self):
        for key in ("sk-<Kk>-Kk99", "sk-Kk  Kk99", "sk-Kk\xa0\xa0Kk99"):
            for status, body in (
                (401, "<p>no " + key),
                (401, {"error": "no " + key}),
                (200, "<p>" + key),
            ):
                with self.subTest(key=key, status=status, body=body):
                    error, _ = self.fails("chat", [(status, {}, body)], api_key=key, retries=0)
                    self.assertNotIn("Kk", str(error))

    def test_a_header_that_is_no_secret_is_shown(self):
        headers = {"anthropic-beta": "files-api-2025-04-14", "Accept": "application/json"}
        words = "Unexpected value(s) files-api-2025-04-14; application/json is sent"
        error, _ = self.fails("anthropic", [(400, {}, words)], headers=headers)
        self.assertIn(words, str(error))

    def test_a_placeholder_for_a_key_leaves_words_readable(self):
        for key in ("ollama", "test", "none", "dummy"):
            words = f"testing nonesuch dummyish ollamas, key {key}."
            with self.subTest(key=key):
                error, _ = self.fails("chat", [(401, {}, words)], api_key=key)
                self.assertIn(words.replace(f"key {key}", "key [hidden]").rstrip("."), str(error))

    def test_a_short_key_is_hidden_where_it_stands_alone(self):
        words = "no such key: %s! A bad alphabet was asked for"
        for key in ("a", "as", "bad", "q9z", "anna7"):
            with self.subTest(key=key):
                error, _ = self.fails("chat", [(401, {}, words % key)], api_key=key)
                self.assertNotIn("key: " + key, str(error))
                self.assertIn("alphabet was ", str(error))

    def test_a_header_that_is_a_plain_word_leaves_messages_readable(self):
        words = "store must be true, not 12 of 1234, in structured models: json of a model, gamma"
        rows = [  # the value of a header, or of the URL's query; what is shown of the words
            ("true", words),
            ("On", words),
            ("1", words),
            ("False", words),
            ("json", words.replace("json", "[hidden]")),
            ("model", words.replace("a model,", "a [hidden],")),
            ("12", words.replace("12 of", "[hidden] of")),
            ("gamma", words.replace("gamma", "[hidden]")),
            ("struct", words),
            ("struct7", words),
            ("Bearer gamma", words.replace("gamma", "[hidden]")),
        ]
        for value, shown in rows:
            for own in ({"headers": {"X-Flag": value}}, {"base_url": "http://h.test?x=" + value}):
                if "base_url" in own and " " in value:
                    continue
                with self.subTest(value=value, own=own):
                    error, _ = self.fails("chat", [(400, {}, words)], **own)
                    self.assertIn(shown, str(error))

    def test_a_finish_reason_that_holds_the_key_is_not_logged(self):
        for reason, shown in (("odd", "'odd'"), (_KEY, "of another form")):
            with self.subTest(shown):
                with self.assertLogs("agentloop", "WARNING") as logged:
                    self.play("chat", [_text("chat", "hello", reason=reason)])
                self.assertIn(shown, logged.output[0])
                self.assertNotIn(_KEY, logged.output[0])


class ModelCopyTests(_ModelCase):
    """Copies and pickles of a model."""

    def test_copies_ask_like_the_model(self):
        for how in (copy.copy, copy.deepcopy, lambda m: copy.copy(copy.deepcopy(m))):
            for key in (_KEY, "", lambda: _KEY, None):
                with self.subTest(how=how, key=key):
                    server = _Server("chat", [_text("chat", "ok")] * 3, strict=False)
                    settings = {"api_key": key, "headers": {"X-Own": "1"}, "metadata": {"a": "b"}}
                    model = _model("chat", server, base_url="http://u:p@h.test/v1?v=1", **settings)
                    made = how(model)
                    with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "of-the-environment"}):
                        for asked in (model, made):
                            agentloop.run(asked, "go")
                    self.assertEqual(server.seen[0], server.seen[1])
                    made.headers["X-Own"] = "2"
                    made.api_key = "other"
                    agentloop.run(model, "go")
                    self.assertEqual(server.seen[2][2]["X-Own"], "1")
                    self.assertNotIn("other", str(server.seen[2]))

    @_each_protocol
    def test_pickling(self, protocol):
        settings = {"base_url": "http://127.0.0.1:9", "api_key": _KEY, "system": "s", "timeout": 7}
        model = _CLASSES[protocol]("m", temperature=1, **settings)
        data = pickle.dumps(model)
        self.assertNotIn(_KEY.encode(), data)
        twin = pickle.loads(data)
        tools = agentloop.registry([get_weather])
        run = agentloop.AgentRun("go")
        self.assertEqual(twin.body(run, tools), model.body(run, tools))
        self.assertEqual(repr(twin), repr(model))
        self.assertIn("http://127.0.0.1:9/v1/", repr(twin))

    def test_a_pickle_leaves_out_what_cannot_be_pickled(self):
        settings = {"on_text": lambda text: None, "api_key": lambda: "k"}
        model = _model("chat", None, transport=agentloop.http_transport, **settings)
        twin = pickle.loads(pickle.dumps(model))
        self.assertIsNone(twin.on_text)
        self.assertIs(type(twin.transport), type(agentloop.http_transport))

    def test_a_pickle_holds_no_secret(self):
        url = "https://user:passW0RD@h.test/v1?api-key=query-S3CRET&version=vers-1"
        settings = {"base_url": url, "api_key": _KEY, "headers": {"X-Own": "header-S3CRET"}}
        with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "sk-of-the-environment"}):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                data = pickle.dumps(agentloop.OpenAIChat("m", **settings), protocol)
                for secret in (_KEY, "environment", "passW0RD", "S3CRET", "vers-1"):
                    self.assertNotIn(secret.encode(), data)

    def test_an_unpickled_model_says_what_to_set(self):
        environment = {"OPENAI_API_KEY": "sk-of-the-environment"}
        rows = [  # settings; what has to be set
            ({"api_key": _KEY}, "api_key"),
            ({"api_key": _key_of_the_test}, "api_key"),
            ({"headers": {"X-Own": "1"}}, "headers"),
            ({"base_url": "http://u:p@h.test/v1"}, "url"),
            ({"base_url": "http://h.test/v1?k=1", "headers": {"A": "b"}}, "headers, url"),
            ({"ssl_context": True}, "transport.ssl_context"),
        ]
        for settings, names in rows:
            with self.subTest(settings=settings), mock.patch.dict(os.environ, environment):
                made = agentloop.OpenAIChat("m", **{"api_key": "", **settings})
                for _ in range(2):
                    made = pickle.loads(pickle.dumps(made))
                with self.assertRaisesRegex(ValueError, "set its %s again" % names):
                    made.complete("x")

    @_sockets
    def test_an_unpickled_model_asks_once_its_key_is_set(self):
        with _Http(lambda n, head, body: _http(_text("chat", "ok"))) as server:
            given = agentloop.OpenAIChat("m", base_url=server.url, api_key=_KEY)
            of_environment = agentloop.OpenAIChat("m", base_url=server.url)
            none = agentloop.OpenAIChat("m", base_url=server.url, api_key="")
            twins = [pickle.loads(pickle.dumps(m)) for m in (given, of_environment, none)]
            twins[0].api_key = "set-later"
            with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "other"}):
                for twin in twins:
                    self.assertEqual(twin.complete("x"), "ok")
            found = [re.findall(r"Bearer (.*)\r", head) for head in server.heads]
            self.assertEqual(found, [["set-later"], ["other"], []])
            del twins, twin


# -- what the deltas of a stream add up to ---------------------------------------------------------


class ChatDeltaTests(_ModelCase):
    """The deltas of Chat Completions become the message that was meant."""

    def echo(self, answer, **settings):
        """(the calls (name, argument) that ran, the message that goes back, the run)."""
        ran = []

        def f(city: str = "", n: int = 0) -> str:
            ran.append(("f", city or n))
            return "r"

        def get(city: str = "", n: int = 0) -> str:
            ran.append(("get", city or n))
            return "r"

        settings.setdefault("on_text", len)
        answers = [answer, _text("chat", "ok")]
        run, server = self.play("chat", answers, tools=[f, get], **settings)
        return ran, server.said()[1], run

    def test_a_name_in_each_delta_costs_no_look_at_the_arguments(self):
        def delta(**function):
            return {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]}

        arguments = json.dumps({"city": "x" * 500_000})
        begun = delta(name="get_weather", arguments=arguments)
        end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
        events = [begun, *[delta(name="get_weather")] * 2_000, end]
        with _at_once(self):
            run, _ = self.play("chat", [_sse(*events)], max_requests=1, on_text=len)
        self.assertEqual([step.action.tool_input for step in run.steps], [arguments])

    def test_tool_call_deltas(self):
        p = _part
        one, two = ("f", "x"), ("f", "y")
        x, y = '{"city": "x"}', '{"city": "y"}'
        # fmt: off
        rows = [  # what is special; the deltas; what runs
            ("all at once", [[p("f", x, 0, "a"), p("f", y, 1, "b")]], [one, two]),
            ("in pieces", [[p("f", "", 0, "a")], [p(None, x[:5], 0)], [p(None, x[5:], 0)]], [one]),
            ("interleaved by index", [[p("f", x[:4], 0, "a"), p("f", y[:7], 1, "b")],
              [p(None, y[7:], 1), p(None, x[4:], 0)]], [one, two]),
            ("no index, name and id open", [[p("f", x[:4], id="a")],
              [p(None, x[4:])], [p("f", y[:4], id="b")], [p(None, y[4:])]], [one, two]),
            ("no index, the id names the call", [[p("f", "", id="a")],
              [p("f", "", id="b")], [p(None, x, id="a")], [p(None, y, id="b")]], [one, two]),
            ("index 0 for all, name and id open",
             [[p("f", x, 0, "a")], [p("f", y, 0, "b")]], [one, two]),
            ("index 0 for all, then pieces", [[p("f", x[:3], 0, "a")],
              [p(None, x[3:], 0)], [p("f", y[:3], 0, "b")], [p(None, y[3:], 0)]], [one, two]),
            ("the id comes later", [[p("f", "", 0)], [p(None, x, 0, "a")]], [one]),
            ("the id comes before the name", [[p(None, "", 0, "a")], [p("f", x, 0, "a")]], [one]),
            ("another id, no name yet: the same call",
             [[p(None, "", 0, "a")], [p("f", x, 0, "b")]], [one]),
            ("another id without a name: the same call",
             [[p("f", x[:4], 0, "a")], [p(None, x[4:], 0, "b")]], [one]),
            ("a new id in each delta, no index",
             [[p("f", x[:4], id="a")], [p(None, x[4:], id="b")]], [one]),
            ("name repeated", [[p("f", x[:4], 0, "a")], [p("f", x[4:], 0, "a")]], [one]),
            ("name repeated without an id", [[p("f", x[:4], 0, "a")], [p("f", x[4:], 0)]], [one]),
            ("name split", [[p("g", "", 0, "a")], [p("e", "", 0)], [p("t", x, 0)]], [("get", "x")]),
            ("empty names around it", [[p("", "", 0, "a")], [p("f", x, 0)], [p("", "", 0)]], [one]),
            ("nulls around it", [[p("null", "null", 0, "a", type="null")],
              [p("f", x, 0, "null", type="function")], [p("null", "null", "null", "null")]], [one]),
            ("empty ids after it", [[p("f", x[:4], 0, "a")], [p("", x[4:], 0, "")]], [one]),
            ("index starts at 1", [[p("f", x, 1, "a")], [p("f", y, 2, "b")]], [one, two]),
            ("higher index first", [[p("f", x, 5, "a")], [p("f", y, 0, "b")]], [one, two]),
            ("null index", [[p("f", x, "null", "a")], [p("f", y, "null", "b")]], [one, two]),
            ("no ids by index", [[p("f", x, 0)], [p("f", y, 1)]], [one, two]),
            ("arguments as an object", [[p("f", {"city": "x"}, 0, "a")]], [one]),
            ("all so far in each piece", [[p("f", "", 0, "a")], [p(None, x[:5], 0)],
              [p(None, x, 0)]], [one]),
            ("all of it twice", [[p("f", "", 0, "a")], [p(None, x, 0)], [p(None, x, 0)]], [one]),
            ("no list around it", [{"tool_calls": p("f", x[:4], 0, "a")},
              {"tool_calls": p(None, x[4:], 0)}], [one]),
            ("no arguments", [[p("f", None, 0, "a")]], [("f", 0)]),
            ("function null", [[p("f", x, 0, "a")], [{"index": 0, "function": None}]], [one]),
            ("rubbish beside", [[None, 3, p("f", x, 0, "a")]], [one]),
            ("tool_calls null", [[p("f", x, 0, "a")], {"tool_calls": None}], [one]),
            ("an index that is none", [[p("f", x[:4], [1], "a")], [p(None, x[4:], {})]], [one]),
            ("neither index nor id, one list", [[p("f", x), p("f", y)]], [one, two]),
            ("neither index nor id, no arguments first", [[p("f", ""), p("f", y)]], [("f", 0), two]),
            ("neither index nor id, no arguments last", [[p("f", x), p("f", "")]], [one, ("f", 0)]),
            ("neither index nor id, one after the other", [[p("f", x)], [p("f", y)]], [one, two]),
            ("neither index nor id, two names", [[p("f", x[:4])], [p(None, x[4:])], [p("get", y)]],
             [one, ("get", "y")]),
            ("neither index nor id, in pieces", [[p("f", x[:4])], [p(None, x[4:])]], [one]),
            ("neither index nor id, the name repeated", [[p("f", x[:4])], [p("f", x[4:])],
              [p("f", "")]], [one]),
            ("neither index nor id, objects", [[p("f", {"city": "x"})], [p("f", {"city": "y"})]],
             [one, two]),
            ("index 0 and no id, one list", [[p("f", x, 0, ""), p("f", y, 0, "")]], [one, two]),
            ("index 0 and no id", [[p("f", x, 0, "")], [p("get", y, 0, "")]], [one, ("get", "y")]),
            ("the same id twice in a list", [[p("f", x, 0, "a"), p("f", y, 0, "a")]], [one, two]),
            ("many pieces", [[p("f", "", 0, "a")],
              *([p(None, " ", 0)] for _ in range(2500)), [p(None, x, 0)]], [one]),
        ]
        # fmt: on
        for name, deltas, want in rows:
            for done in (True, False):
                with self.subTest(name, done=done):
                    ran, message, run = self.echo(_deltas(*deltas, done=done))
                    self.assertEqual(ran, want)
                    self.assertEqual(_statuses(run), ["ok"] * len(want))
                    for call in message["tool_calls"]:
                        self.assertNotIn("index", call)

    def test_a_name_in_each_delta_does_not_cost_the_arguments_again(self):
        whole = json.dumps({"city": "x" * 1_000_000})
        deltas = [[_part("f", whole, index=0)], *([[_part("f", index=0)]] * 1000)]
        with _at_little_cost(self):
            ran, _, _ = self.echo(_deltas(*deltas))
        self.assertEqual(len(ran), 1)

    def test_the_first_id_of_a_streamed_call_stays(self):
        x = '{"city": "x"}'
        two = [[_part("f", x, index=0, id="a"), _part("f", x, index=0, id="b")]]
        one = [[_part(None, "", index=0, id="a")], [_part("f", x, index=0, id="b")]]
        for deltas, ids in ((two, ["a", "b"]), (one, ["a"])):
            with self.subTest(ids=ids):
                message = self.echo(_deltas(*deltas))[1]
                self.assertEqual([c["id"] for c in message["tool_calls"]], ids)

    def test_content_in_deltas(self):
        part = {"type": "text", "text": "b"}
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
        rows = [  # the contents; the answer, its text pieces, the content as it goes back
            (["a", "b", None, ""], "ab", ["a", "b"], "ab"),
            ([None, "a"], "a", ["a"], "a"),
            ([[thought], [part], [part]], "bb", ["b", "b"], [thought, part, part]),
            (["a", [part]], "ab", ["a", "b"], [{"type": "text", "text": "a"}, part]),
            ([[part], "a"], "ba", ["b", "a"], [part, {"type": "text", "text": "a"}]),
            (["", [part], "", None], "b", ["b"], [part]),
        ]
        for contents, answer, told, back in rows:
            with self.subTest(contents=contents):
                texts = []
                stream = _deltas(*({"content": c} for c in contents), reason="stop")
                answers = [stream, _text("chat", "ok")]
                run, server = self.play_two_turns("chat", answers, tools=(), on_text=texts.append)
                self.assertEqual((run.output, texts), (answer, [*told, "ok"]))
                self.assertEqual(server.said()[1], {"role": "assistant", "content": back})

    def test_content_of_several_kinds(self):
        """Texts beside lists of parts become parts; what is neither is left out."""
        part = {"type": "text", "text": "a"}
        rows = [
            (["a", "b"], "ab", "ab"),
            ([[part], "b", "c"], [part, {"type": "text", "text": "bc"}], "abc"),
            (["a", [part], {"odd": 1}, "b"], [part, part, {"type": "text", "text": "b"}], "aab"),
            ([None, "", "a", []], "a", "a"),
        ]
        for contents, content, output in rows:
            with self.subTest(contents=contents):
                deltas = [{"choices": [{"index": 0, "delta": {"content": c}}]} for c in contents]
                end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                run, _ = self.play("chat", [_sse(*deltas, end)], on_text=len)
                self.assertEqual(run.output, output)
                self.assertEqual(run.finish.message["content"], content)

    def test_null_and_empty_content_with_calls(self):
        call = [_part("f", "{}", index=0, id="a")]
        for contents, want in (([None], None), ([""], ""), (["", None], ""), ([None, ""], None)):
            with self.subTest(contents=contents):
                deltas = [{"content": c} for c in contents]
                message = self.echo(_deltas(*deltas, call))[1]
                self.assertEqual(message["content"], want)

    def test_a_refusal_in_streamed_pieces(self):
        deltas = [{"refusal": "I "}, {"refusal": "will not."}, {"content": None}]
        events = [{"choices": [{"delta": d}]} for d in deltas]
        events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        run, _ = self.play("chat", [_sse(*events)], on_text=len)
        self.assertEqual((run.finish.reason, run.output), ("refusal", "I will not."))

    def test_unknown_keys_are_collected(self):
        signature = {"google": {"thought_signature": "s"}}
        # fmt: off
        deltas = [
            {"role": "assistant", "content": "", "reasoning_content": "I ",
             "reasoning_details": [{"a": 1}]},
            {"role": "assistant", "reasoning_content": "think", "reasoning_details": [{"b": 2}],
             "n": 1},
            {"role": "", "reasoning_content": None, "reasoning_details": None, "n": None,
             "flag": True},
            {"reasoning_content": "", "reasoning_details": [], "empty": "", "none": None,
             "list": []},
            [_part("f", "{}", index=0, id="a", type="function")],
            [{"index": 0, "type": "function", "extra_content": signature}],
            [{"index": 0, "function": {"note": "x"}}, {"index": 0, "function": {"note": "y"}}],
        ]
        # fmt: on
        _, message, run = self.echo(_deltas(*deltas))
        f = {"name": "f", "arguments": "{}", "note": "xy"}
        call = {"id": "a", "type": "function", "function": f, "extra_content": signature}
        want = {"role": "assistant", "content": "", "reasoning_content": "I think", "n": 1}
        want.update(flag=True, empty="", none=None, list=[], tool_calls=[call])
        want["reasoning_details"] = [{"a": 1}, {"b": 2}]
        self.assertEqual(message, want)
        self.assertEqual(run.steps[0].action.message, want)

    def test_equal_pieces_of_an_unknown_key_are_one_value(self):
        """Groq's gpt-oss has `channel: analysis` in each delta; texts that are written are joined."""
        rows = [  # the key; the pieces; the value
            ("channel", ["analysis"] * 3, "analysis"),
            ("channel", ["analysis", "final"], "analysisfinal"),
            ("channel", ["a", "a", "b"], "aab"),
            ("channel", ["", "a", None, "a", ""], "a"),
            ("reasoning", ["ha", "ha"], "haha"),
            ("reasoning_content", ["ha", "ha"], "haha"),
            ("content", ["ha", "ha"], "haha"),
            ("note", [1, 2, 2], 2),
            ("note", ["a", 5], 5),
            ("note", [5, "a", "b"], "ab"),
            ("note", [0, None], 0),
            ("note", [True, False], False),
            ("note", [1, {"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
            ("note", [None, ""], None),
            ("note", [1, [2], 3, [4]], [2, 4]),
            ("name", ["x", "y", "xy", 5, "xyz"], "xyxyz"),
            ("name", [None, 7], None),
        ]
        for key, pieces, value in rows:
            with self.subTest(key=key, pieces=pieces):
                deltas = [{key: piece} for piece in pieces]
                message = self.echo(_deltas(*deltas, [_part("f", "{}", index=0, id="a")]))[1]
                self.assertEqual(message[key], value)

    def test_pieces_of_reasoning_details(self):
        """Neighbours of one type and index are one entry; as separate ones they are refused:
        Invalid `signature` in `thinking` block (agno#5802)."""

        def text(text, index=0, **more):
            return {"type": "reasoning.text", "text": text, "index": index, **more}

        def packed(data, index=1, **more):
            return {"type": "reasoning.encrypted", "data": data, "index": index, **more}

        a, f = {"format": "a"}, {"format": "f"}
        signed = text("", signature="c2ln", **a)
        rows = [  # the lists in the deltas; the entries that go back
            ([[text("First ", **a)], [text("the weather.", **a)], [signed], [packed("QUFB", **f)]],
             [text("First the weather.", signature="c2ln", **a), packed("QUFB", **f)]),
            ([[text("a"), text("b")], [text("c", 1)], [text("d", 1), text("e", 0)]],
             [text("ab"), text("cd", 1), text("e")]),
            ([[packed("a", 0)], [text("b")], [packed("c", 0)]],
             [packed("a", 0), text("b"), packed("c", 0)]),
            ([[packed("a")], [packed("b")], None, [], [packed("", id="x")]],
             [packed("ab", id="x")]),
            ([[{"type": "reasoning.summary", "summary": s}] for s in "ab"],
             [{"type": "reasoning.summary", "summary": "ab"}]),
            ([[text("a", format=None)], [text("b", format="x")], [text("c", format=None)]],
             [text("abc", format="x")]),
            ([[text(None)], [text("b")]], [text("b")]),
            ([[{"a": 1}], [{"a": 2}], ["x"], ["x"]], [{"a": 1}, {"a": 2}, "x", "x"]),
            (["not a list", "!"], "not a list!"),
        ]  # fmt: skip
        for lists, back in rows:
            with self.subTest(lists=lists):
                deltas = [{"reasoning_details": entries} for entries in lists]
                call = [_part("f", "{}", index=0, id="a")]
                _, message, run = self.echo(_deltas(*deltas, call))
                self.assertEqual(message["reasoning_details"], back)

    def test_pieces_of_thinking_blocks(self):
        """LiteLLM: a block of Claude's goes back whole, with its signature, or is refused."""

        def piece(text, signature=None):
            return {"type": "thinking", "thinking": text, "signature": signature}

        hidden = {"type": "redacted_thinking", "data": "d"}
        rows = [  # the lists, what goes back
            ([[piece("a")], [piece("b", "")], [piece("", "s")]], [piece("ab", "s")]),
            ([[piece("a"), piece("b")], [piece("ab", "s")]], [piece("ab", "s")]),
            (
                [[piece("a", "s")], [piece("b")], [piece("", "t")]],
                [piece("a", "s"), piece("b", "t")],
            ),
            ([[piece("", "s")], [piece("", "t")]], [piece("", "s"), piece("", "t")]),
            ([[piece("a")], [hidden], [piece("b", "s")]], [piece("a"), hidden, piece("b", "s")]),
            ([[hidden], [hidden]], [hidden, hidden]),
            ([[piece("a")]], [piece("a")]),
        ]
        for lists, back in rows:
            with self.subTest(lists=lists):
                deltas = [{"thinking_blocks": blocks} for blocks in lists]
                call = [_part("f", "{}", index=0, id="a")]
                _, message, _ = self.echo(_deltas(*deltas, call))
                self.assertEqual(message["thinking_blocks"], back)

    def test_the_whole_message_at_the_end(self):
        """MiniMax ends its streams with the complete object; it counts, and is not heard twice."""
        f = {"name": "f", "arguments": '{"city": "x"}'}
        whole = {"role": "assistant", "content": "so", "tool_calls": [{"id": "a", "function": f}]}
        call = [_part("f", '{"city": "x"}', index=0, id="a")]
        for deltas in ([{"content": "s"}, {"content": "o"}, call], [], [{"content": "other"}]):
            with self.subTest(deltas=deltas):
                end = {"choices": [{"finish_reason": "tool_calls", "message": whole}]}
                texts = []
                stream = _deltas(*deltas, reason="", done=False) + _sse(end, done=False)
                ran, message, run = self.echo(stream, on_text=texts.append)
                self.assertEqual(ran, [("f", "x")])
                self.assertEqual(message["content"], "so")
                self.assertEqual(message["tool_calls"][0]["function"], f)
                heard = "".join(d["content"] for d in deltas if isinstance(d, dict)) or "so"
                self.assertEqual("".join(texts), heard + "ok")

    def test_the_calls_of_a_whole_message_are_as_many_as_it_has(self):
        calls = [_part("f", '{"city": "x"}'), _part("f", ""), _part("f", '{"city": "y"}')]
        for added in ({}, {"index": 0}, {"id": ""}):
            with self.subTest(added=added):
                whole = {"content": None, "tool_calls": [{**call, **added} for call in calls]}
                end = {"choices": [{"finish_reason": "tool_calls", "message": whole}]}
                ran, _, _ = self.echo(_sse(end))
                self.assertEqual(ran, [("f", "x"), ("f", 0), ("f", "y")])

    def test_the_choices_of_a_stream_end_one_by_one(self):
        first = {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}
        second = {"index": 1, "delta": {"content": "b"}}
        cut = _sse({"choices": [first]}, {"choices": [second]}, done=False)
        run, server = self.play("chat", [cut, _text("chat", "ok")], on_text=len)
        self.assertEqual((run.output, len(server.raw)), ("ok", 2))
        empty = {**second, "delta": {}}
        whole = _sse({"choices": [first, empty]}, done=False)
        self.assertEqual(self.play("chat", [whole], on_text=len)[0].output, "a")

    def test_of_several_finish_reasons_the_one_that_is_no_clean_end_counts(self):
        call = [_part("f", '{"city": "x"}', index=0, id="a")]
        rows = [  # the finish reasons; the status of the step
            (["tool_calls", "length", None], "invalid_response"),
            (["length", "tool_calls"], "invalid_response"),
            (["length", "stop", ""], "invalid_response"),
            (["", "MAX_TOKENS", "weird"], "invalid_response"),
            (["tool_calls", "stop"], "ok"),
            (["stop", "weird"], "ok"),
        ]
        for reasons, status in rows:
            with self.subTest(reasons=reasons):
                ends = [{"choices": [{"delta": {}, "finish_reason": r}]} for r in reasons]
                stream = _deltas(call, reason="", done=False) + _sse(*ends, done=False)
                self.assertEqual(_statuses(self.echo(stream)[2]), [status])

    def test_the_reason_of_the_server_behind_a_router_counts(self):
        call = [_part("f", '{"city": "x"}', index=0, id="a")]
        rows = [
            ("length", "invalid_response"),
            ("MAX_TOKENS", "invalid_response"),
            ("STOP", "ok"),
            (None, "ok"),
        ]
        for native, status in rows:
            with self.subTest(native=native):
                end = {"delta": {}, "finish_reason": "tool_calls", "native_finish_reason": native}
                stream = _deltas(call, reason="", done=False) + _sse({"choices": [end]})
                self.assertEqual(_statuses(self.echo(stream)[2]), [status])
                document = _weather("chat")
                document["choices"][0]["native_finish_reason"] = native
                run, _ = self.play("chat", [document, _text("chat", "ok")])
                self.assertEqual(_statuses(run), [status])


class ResponsesDeltaTests(_ModelCase):
    """The events of the Responses API become the items that were meant."""

    def test_responses_streams(self):
        call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"city": "x"}'}
        content = [{"type": "output_text", "text": "T"}]
        text = {"type": "message", "role": "assistant", "content": content}
        thought = {**_REASONING, "encrypted_content": "final"}
        early = {**_REASONING, "encrypted_content": "early"}
        f = _bare_tool(lambda **arguments: "r")

        def done(n, item, **more):
            return {"type": "response.output_item.done", "output_index": n, "item": item, **more}

        def end(kind="completed", **response):
            return {"type": "response." + kind, "response": response}

        added = {"type": "response.output_item.added", "output_index": 0, "item": early}
        pieces = [{"type": "response.function_call_arguments.delta", "delta": d} for d in "{}"]
        given = {"type": "response.function_call_arguments.done", "output_index": 0}
        given["arguments"] = call["arguments"]
        rows = [  # the events; what goes back of the reply
            ([added, done(0, thought), done(1, text), done(2, call), end()], [thought, text, call]),
            ([done(1, call), done(0, thought), end(status="completed")], [thought, call]),
            ([done(0, call), *pieces, end(status="completed", output=[])], [call]),
            # Some items lack the arguments that came before.
            ([given, done(0, {**call, "arguments": ""}), end()], [call]),
            ([given, done(0, {k: call[k] for k in call if k != "arguments"}), end()], [call]),
            ([{**given, "arguments": "{}"}, done(0, call), end()], [call]),
            (
                [given, done(0, text), done(1, {**call, "arguments": ""}), end()],
                [text, {**call, "arguments": "{}"}],
            ),
            ([done(0, {**call, "id": "x1"}, item_id="x2"), end(output=None)], [call]),
            ([end(status="completed", output=[text, call])], [text, call]),
            ([{"type": "response.new", "x": 1}, {"type": None}, {}, done(0, call), end()], [call]),
            ([{"type": "response.output_item.done", "item": None}, done(0, call), end()], [call]),
            ([{**done(0, thought), "output_index": None}, done(1, call), end()], [thought, call]),
            ([done(0, call), end("incomplete", status="completed")], [call]),
            # Both at index 0: a gateway does not count (open-responses-server#63).
            ([done(0, thought), done(0, call), end()], [thought, call]),
            ([done(0, thought), done(1, text), done(0, call), end()], [thought, text, call]),
            ([done(0, thought), done(0, text), done(1, call), end()], [thought, text, call]),
            # The final output holds an item for which no `done` came.
            ([done(1, call), end(output=[text, call])], [text, call]),
            ([done(0, text), done(1, call), end(output=[call])], [text, call]),
            ([done(0, text), done(1, call), end(output=[{**text}, {**call}])], [text, call]),
        ]
        for events, back in rows:
            with self.subTest(events=events):
                answers = [_sse(*events, done=False), _text("responses", "ok")]
                run, server = self.play("responses", answers, tools=[f], on_text=len)
                self.assertEqual(_statuses(run), ["ok"])
                self.assertEqual(server.said()[1:-1], back)
        cut = [
            [done(0, call), end("incomplete")],
            [done(0, call), end("incomplete", status="incomplete")],
            [done(0, call), end("completed", status="incomplete")],
            [done(0, call), {"type": "response.incomplete"}],
        ]
        for events in cut:
            with self.subTest(events=events):
                answers = [_sse(*events), _text("responses", "ok")]
                run, _ = self.play("responses", answers, on_text=len)
                self.assertEqual(_statuses(run), ["invalid_response"])

    def test_on_text_of_responses(self):
        texts = []
        delta = {"type": "response.output_text.delta"}
        events = [{**delta, "delta": text} for text in ("a", "", None, 5, "b")]
        events.append({"type": "response.reasoning_text.delta", "delta": "no"})
        item = _text("responses", "ab")["output"][0]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": {"status": "completed"}})
        run, _ = self.play("responses", [_sse(*events)], on_text=texts.append)
        self.assertEqual((texts, run.output), (["a", "b"], "ab"))

    def test_null_says_nothing_new_about_the_status(self):
        done = {"type": "response.output_item.done", "output_index": 0}
        done["item"] = _asks("responses")["output"][0]
        end = {"type": "response.incomplete", "response": {"status": None}}
        run, _ = self.play("responses", [_sse(done, end), _text("responses", "ok")], on_text=len)
        self.assertEqual(_statuses(run), ["invalid_response"])


class AnthropicDeltaTests(_ModelCase):
    """The events of the Messages API become the blocks that were meant."""

    def test_anthropic_streams(self):
        def start(n, **block):
            return {"type": "content_block_start", "index": n, "content_block": block}

        def delta(n, kind, **more):
            return {"type": "content_block_delta", "index": n, "delta": {"type": kind, **more}}

        def block(n, given, **more):
            return {"type": "tool_use", "id": "t%d" % n, "name": "f", "input": given, **more}

        def use(n, **more):
            return start(n, **block(n, **{"given": {}, **more}))

        def js(n, text):
            return delta(n, "input_json_delta", partial_json=text)

        ping = {"type": "ping"}
        signed = {"type": "thinking", "thinking": "ab", "signature": "s1"}
        rows = [  # the events; the blocks that go back; the statuses
            ([use(0), js(0, '{"ci'), ping, js(0, 'ty": "x"}')], [block(0, {"city": "x"})], ["ok"]),
            ([use(0)], [block(0, {})], ["ok"]),
            ([use(0), js(0, ""), js(0, None), delta(0, "input_json_delta")],
             [block(0, {})], ["ok"]),
            ([use(0, given={"city": "x"})], [block(0, {"city": "x"})], ["ok"]),
            ([use(0, given=None)], [block(0, {})], ["ok"]),
            ([use(0), js(0, {"city": "x"})], [block(0, {"city": "x"})], ["ok"]),
            ([use(0), js(0, [1])], [block(0, {})], ["invalid_arguments"]),
            ([use(0), js(0, '{"city": "x')], [block(0, {})], ["invalid_arguments"]),
            ([use(0), js(0, "[1]")], [block(0, {})], ["invalid_arguments"]),
            ([use(0), use(1), js(1, '{"n":1}'), js(0, '{"n":2}')],
             [block(0, {"n": 2}), block(1, {"n": 1})], ["ok"] * 2),
            (
                [start(0, type="thinking", thinking="", signature=""), delta(0, "thinking_delta", thinking="a"),
                 delta(0, "thinking_delta", thinking="b"), delta(0, "signature_delta", signature="s1"), use(1)],
                [signed, block(1, {})], ["ok"],
            ),
            (
                [start(0, type="thinking", thinking=""), delta(0, "signature_delta", signature="s"), use(1)],
                [{"type": "thinking", "thinking": "", "signature": "s"}, block(1, {})], ["ok"],
            ),
            ([start(0, type="redacted_thinking", data="d"), use(1)],
             [{"type": "redacted_thinking", "data": "d"}, block(1, {})], ["ok"]),
            (
                [start(0, type="server_tool_use", id="s", name="web", input={}), js(0, '{"q": 1.0}'), use(1)],
                [{"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": 1.0}}, block(1, {})], ["ok"],
            ),
            (
                [start(0, type="server_tool_use", id="s", name="web"), use(1)],
                [{"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, block(1, {})], ["ok"],
            ),
            ([use(1), start(0, type="text", text="I")],
             [{"type": "text", "text": "I"}, block(1, {})], ["ok"]),
            ([start(0, type="new", z=1), delta(0, "new_delta", z=2), use(1)],
             [{"type": "new", "z": 2}, block(1, {})], ["ok"]),
            (
                [start(0, type="text", text="I "), delta(0, "text_delta", text="look"), delta(0, "text_delta", text=None),
                 delta(0, "citations_delta", citation={"c": 1}), delta(0, "citations_delta", citation={"c": 2}), use(1)],
                [{"type": "text", "text": "I look", "citations": [{"c": 1}, {"c": 2}]}, block(1, {})], ["ok"],
            ),
            ([start(0, type="text", text=""), use(1), {"type": "new_event"}, {"delta": 5}],
             [block(1, {})], ["ok"]),
            # At an index that is taken: another block. Its deltas are its own.
            ([start(0, type="text", text=""), delta(0, "text_delta", text="A"), start(0, type="text", text=""),
              delta(0, "text_delta", text="B"), use(1)],
             [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}, block(1, {})], ["ok"]),
            ([use(0), js(0, '{"n":1}'), start(1, type="new"), use(0, id="t9"), js(0, '{"n":2}')],
             [block(0, {"n": 1}), {"type": "new"}, block(0, {"n": 2}, id="t9")], ["ok"] * 2),
            # What an unknown delta brings belongs to the block.
            ([start(0, type="compaction", content=None),
              delta(0, "compaction_delta", content="So far.", encrypted_content="ZW5j"), use(1)],
             [{"type": "compaction", "content": "So far.", "encrypted_content": "ZW5j"}, block(1, {})], ["ok"]),
            ([start(0, type="text", text="a"), delta(0, "odd_delta", y=2, z=[1]), use(1)],
             [{"type": "text", "text": "a", "y": 2, "z": [1]}, block(1, {})], ["ok"]),
        ]  # fmt: skip
        f = _bare_tool(lambda **arguments: "r")
        for events, back, statuses in rows:
            with self.subTest(events=events):
                head = {"type": "message_start", "message": {"role": "assistant", "content": []}}
                last = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
                stream = _sse(head, ping, *events, last, {"type": "message_stop"}, done=False)
                texts = []
                answers = [stream, _text("anthropic", "ok")]
                run, server = self.play("anthropic", answers, tools=[f], on_text=texts.append)
                self.assertEqual(server.said()[1]["content"], back)
                told = "".join(b["text"] for b in back if b["type"] == "text")
                self.assertEqual("".join(texts), told + "ok")
                self.assertEqual(_statuses(run), statuses)

    def test_of_several_stop_reasons_the_one_that_is_no_clean_end_counts(self):
        start = {"type": "content_block_start", "index": 0, "content_block": _ANTHROPIC_CALL}
        rows = [  # the stop reasons; the statuses
            (["max_tokens", "tool_use"], ["invalid_response"]),
            (["tool_use", "max_tokens", None], ["invalid_response"]),
            ([None, "end_turn", "tool_use", ""], ["ok"]),
        ]
        for reasons, statuses in rows:
            with self.subTest(reasons=reasons):
                ends = [{"type": "message_delta", "delta": {"stop_reason": r}} for r in reasons]
                stream = _sse(start, *ends, {"type": "message_stop"}, done=False)
                answers = [stream, _text("anthropic", "ok")]
                run, _ = self.play("anthropic", answers, on_text=len)
                self.assertEqual((_statuses(run), run.output), (statuses, "ok"))

    def test_anthropic_deltas_without_a_start(self):
        delta = {"type": "content_block_delta", "index": 0}
        cited = {**delta, "delta": {"type": "citations_delta", "citation": {"a": 1}}}
        text = {**delta, "delta": {"type": "text_delta", "text": "ok"}}
        last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        end = [last, {"type": "message_stop"}]
        for events in ([text, *end], [cited, text, *end], [text, cited, *end]):
            with self.subTest(events=events):
                run, _ = self.play("anthropic", [_sse(*events, done=False)], on_text=len)
                self.assertEqual(run.output, "ok")

    def test_a_tool_use_cut_at_the_limit_in_a_stream(self):
        events = _stream("anthropic", _call("anthropic", ("a", "get_weather", {"city": "Berlin"})))
        last = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}
        answer = [*events[:-5], *_sse(last, {"type": "message_stop"}, done=False)]
        run, server = self.play("anthropic", [answer, _text("anthropic", "ok")], on_text=len)
        self.assertEqual(_statuses(run), ["invalid_response"])
        self.assertEqual(_sent_calls("anthropic", server.sent[1])[0][2], {})

    def test_usage_of_anthropic_in_a_stream_is_in_two_places(self):
        events = _stream("anthropic", _text("anthropic", "ok"))
        start = {"usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 4}}
        events[0] = _sse({"type": "message_start", "message": start}, done=False)[0]
        last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        last["usage"] = {"output_tokens": 9, "input_tokens": None}
        events[-2] = _sse(last, done=False)[0]
        run, _ = self.play("anthropic", [events], on_text=len)
        self.assertEqual(run.usage, {"input_tokens": 14, "output_tokens": 9, "cached_tokens": 4})


# -- adapters --------------------------------------------------------------------------------------


class SettingsTests(_ModelCase):
    """The settings of a model, and what is a field of its requests."""

    @_each_protocol
    def test_all_settings_stand_in_the_signature_and_in_the_docstring(self, protocol):
        names = [
            "model", "base_url", "api_key", "headers", "system", "on_text", "timeout", "deadline",
            "retries", "trim", "max_observation", "ssl_context", "transport",
        ]  # fmt: skip
        kind = _CLASSES[protocol]
        own = ["max_tokens", "cache"] if protocol == "anthropic" else []
        self.assertEqual(list(inspect.signature(kind).parameters), [*names, *own, "body"])
        # What the three have in common is explained once.
        for name in [*names, "body"] if protocol == "chat" else own:
            self.assertRegex(kind.__doc__, r"\n +%s: \S" % name)
        if protocol != "chat":
            self.assertIn("those of OpenAIChat", kind.__doc__)

    @_each_protocol
    def test_misspelt_settings(self, protocol):
        """The slip would be a field of the request: the key in the body, to the wrong server."""
        slips = [  # what was meant, what is given
            ("base_url", "baseurl"),
            ("base_url", "base_uri"),
            ("base_url", "baseURL"),
            ("api_key", "apikey"),
            ("api_key", "api_keys"),
            ("api_key", "apiKey"),
            ("timeout", "time_out"),
            ("timeout", "timeuot"),
            ("deadline", "dead_line"),
            ("on_text", "ontext"),
            ("system", "sytem"),
            ("headers", "header"),
            ("max_observation", "max_observations"),
            ("retries", "retrie"),
            ("transport", "transprot"),
            ("trim", "tirm"),
            ("timeout", "TimeOut"),
            ("model", "modl"),
            ("retries", "max_retries"),
            ("headers", "extra_headers"),
        ]
        for meant, name in slips:
            with self.subTest(name=name):
                with self.assertRaisesRegex(TypeError, "%s.*%s" % (name, meant)):
                    _CLASSES[protocol]("m", **{name: 1})

    @_each_protocol
    def test_settings_of_a_wrong_type(self, protocol):
        """Found at once, not at the first request; a value that may be secret is not shown."""
        rows = [
            ("base_url", [b"http://h"], "a str; got bytes"), ("system", [["x"]], "a str; got list"),
            ("api_key", [["sk-1"], b"sk-1"], "a str, or a function that returns one; got (list|bytes)"),
            ("headers", ["x", [("a", "b")]], "a dict; got (str|list)"),
            ("timeout", [None, "5", 0, -1.5, True], "a number of seconds above 0; got "),
            ("deadline", ["5", 0, float("nan"), {}], "a number of seconds above 0; got "),
            ("retries", [None, -1, 1.0, True, "4"], "an int from 0 up; got "),
            ("trim", [-1, "x", 0.5, True], "an int from 0 up, or a function; got "),
            ("max_observation", [None, 0, "x", 1e4], "an int above 0; got "),
            ("on_text", ["x", []], "a function; got (str|list)"), ("transport", [5], "a function; got 5"),
        ]  # fmt: skip
        for name, values, words in rows:
            for value in values:
                with self.subTest(name=name, value=value):
                    with self.assertRaisesRegex(TypeError, "^%s is %s" % (name, words)):
                        _CLASSES[protocol]("m", **{name: value})
        fine = {
            "deadline": None,
            "trim": None,
            "api_key": str,
            "timeout": float("inf"),
            "on_text": None,
        }
        _CLASSES[protocol]("m", **fine)

    @_each_protocol
    def test_calls_that_do_not_fit_the_signature(self, protocol):
        with self.assertRaisesRegex(TypeError, "modle: did you mean model"):
            _CLASSES[protocol](modle="m")
        with self.assertRaisesRegex(TypeError, "base_url="):
            _CLASSES[protocol]("m", "http://127.0.0.1:9/v1")
        for name in ("messages", "input"):  # the key would be sent twice
            with self.assertRaisesRegex(TypeError, name + ": the run holds"):
                _CLASSES[protocol]("m", **{name: []})
        with self.assertRaisesRegex(TypeError, "model"):
            _CLASSES[protocol]()

    @_each_protocol
    def test_other_names_are_fields_of_the_request(self, protocol):
        fields = dict.fromkeys((
            "temperature", "top_p", "n", "stop", "seed", "user", "metadata", "reasoning_effort", "max_completion_tokens",
            "service_tier", "store", "provider", "keep_alive", "options", "safe_prompt", "min_p", "models", "transforms",
            "stream_options", "tool_choice", "truncation", "text", "thinking", "top_k", "include", "prompt_cache_key",
            "extra", "header_names", "stream", "reasoning",
        ), 1)  # fmt: skip
        body = _CLASSES[protocol](model="m", **fields).body(agentloop.AgentRun("go"), {})
        self.assertEqual({k: body.get(k) for k in fields}, fields)

    @_each_protocol
    def test_the_body_of_the_caller(self, protocol):
        own = {"temperature": 0.0, "metadata": {"\u00fc": [1]}, "tools": [{"type": "web"}]}
        if protocol == "responses":
            own["store"] = True
        server = self.play(protocol, [_text(protocol, "ok")], body=own)[1]
        sent = server.sent[0]
        self.assertEqual(sent["tools"][0], {"type": "web"})
        self.assertEqual(len(sent["tools"]), 2)
        for key in own.keys() - {"tools"}:
            self.assertEqual(sent[key], own[key])
        server = self.play(protocol, [_text(protocol, "ok")], body=own, tools=())[1]
        self.assertEqual(server.sent[0]["tools"], [{"type": "web"}])

    def test_max_tokens_is_a_setting_of_anthropic_alone(self):
        with self.assertRaisesRegex(TypeError, "max_tokens"):
            agentloop.AnthropicMessages("m", max_token=9)
        sent = agentloop.OpenAIChat("m", max_token=9).body(agentloop.AgentRun("go"), {})
        self.assertEqual(sent["max_token"], 9)


class RequestTests(_ModelCase):
    """What a request holds: only what was asked for."""

    @_each_protocol
    def test_the_smallest_request(self, protocol):
        parts = [{"type": "text", "text": "go"}]
        server = self.play(protocol, [_text(protocol, "ok")], tools=())[1]
        self.assertEqual(server.seen[0][3], 600)  # seconds
        want = {
            "chat": {"model": "m", "messages": [{"role": "user", "content": "go"}]},
            "responses": {
                "model": "m",
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "input": [{"type": "message", "role": "user", "content": "go"}],
            },
            "anthropic": {
                "model": "m",
                "max_tokens": 4096,
                "messages": [{"role": "user", "content": parts}],
            },
        }
        self.assertEqual(server.sent[0], want[protocol])

    @_each_protocol
    def test_tools_system_and_streaming(self, protocol):
        schema = agentloop.registry([get_weather])["get_weather"].parameters
        about = {"name": "get_weather", "description": "Return the weather of a city."}
        system = {"role": "system", "content": "Be brief."}
        want = {  # what is in the body, besides
            "chat": {
                "tools": [{"type": "function", "function": {**about, "parameters": schema}}],
                "stream": True,
                "stream_options": {"include_usage": True},
                "messages": [system, {"role": "user", "content": "go"}],
            },
            "responses": {
                "tools": [{"type": "function", **about, "parameters": schema, "strict": False}],
                "stream": True,
                "instructions": "Be brief.",
            },
            "anthropic": {
                "tools": [{**about, "input_schema": schema}],
                "stream": True,
                "system": "Be brief.",
                "max_tokens": 99,
            },
        }[protocol]
        settings = {"max_tokens": 99} if protocol == "anthropic" else {}
        texts = []
        settings.update(on_text=texts.append, system="Be brief.")
        run, server = self.play(protocol, [_text(protocol, "okay")], stream=True, **settings)
        self.assertEqual({k: server.sent[0].get(k) for k in want}, want)
        self.assertEqual(("".join(texts), run.output), ("okay", "okay"))
        self.assertEqual("stream_options" in server.sent[0], protocol == "chat")

    @_each_protocol
    def test_a_tool_without_description_has_none(self, protocol):
        def bare(x: int) -> int:
            return x

        server = self.play(protocol, [_text(protocol, "ok")], tools=[bare])[1]
        sent = server.sent[0]["tools"][0]
        self.assertNotIn("description", sent.get("function", sent))

    @_each_protocol
    def test_a_foreign_schema_without_properties(self, protocol):
        """MCP servers describe a tool without arguments so. OpenAI: `object schema missing
        properties`."""
        rows = [  # the schema; what is sent
            ({"type": "object"}, {"type": "object", "properties": {}}),
            (
                {"type": "object", "additionalProperties": False},
                {"type": "object", "additionalProperties": False, "properties": {}},
            ),
            ({"type": "object", "properties": {"a": {}}}, None),
            ({"anyOf": []}, None),
        ]
        for schema, want in rows:
            with self.subTest(schema=schema):
                tools = agentloop.registry([agentloop.Tool("f", "", dict(schema), dict)])
                sent = _body(protocol, agentloop.AgentRun("go"), tools)["tools"][0]
                sent = sent.get("function", sent)
                found = sent.get("parameters") or sent.get("input_schema")
                self.assertEqual(found, want or schema)
                self.assertEqual(tools["f"].parameters, schema)

    @_each_protocol
    def test_tool_names_that_servers_refuse(self, protocol):
        namespace = {}
        exec("def caf\u00e9(x: int) -> int: return x", namespace)
        server = _Server(protocol, [])
        with self.assertRaisesRegex(ValueError, "caf\u00e9"):
            tools = [get_weather, namespace["caf\u00e9"]]
            agentloop.run(_model(protocol, server), "go", tools)
        self.assertEqual(server.raw, [])

    def test_property_names_that_anthropic_refuses(self):
        """One umlaut, and every request of the run is refused: tools.0.custom.input_schema ..."""
        for name in ("gr\u00f6\u00dfe", "a b", "x" * 65, ""):
            with self.subTest(name=name):
                schema = {"type": "object", "properties": {name: {"type": "string"}}}
                tools = agentloop.registry([agentloop.Tool("area", "", schema, dict)])
                with self.assertRaisesRegex(ValueError, "area") as caught:
                    _body("anthropic", agentloop.AgentRun("go"), tools)
                self.assertIn(repr(name), str(caught.exception))
                for protocol in ("chat", "responses"):  # they take any name
                    body = _body(protocol, agentloop.AgentRun("go"), tools)
                    self.assertIn(json.dumps(schema), json.dumps(body))
        names = {"a.b-c_D1": {}, "x" * 64: {}}
        fine = agentloop.Tool("f", "", {"type": "object", "properties": names}, dict)
        body = _body("anthropic", agentloop.AgentRun("go"), {"f": fine})
        self.assertEqual(body["tools"][0]["input_schema"]["properties"], names)

    @_each_protocol
    def test_strict_json(self, protocol):
        task, observation = "gr\u00fc\u00df \u4f60\u597d", "a\ud83dz \U0001f600"
        tools = [agentloop.tool(get_weather)]
        tools[0].function = lambda city: observation
        answers = [_weather(protocol), _text(protocol, "ok")]
        _run, server = self.play(protocol, answers, task=task, tools=tools)
        self.assertIn(task.encode("utf-8"), server.raw[0])  # not \u00fc
        self.assertEqual(_results(protocol, server.sent[1])[0][1], "a?z \U0001f600")
        with self.assertRaises(ValueError):
            self.play(protocol, [], body={"x": float("nan")})

    @_each_protocol
    def test_complete(self, protocol):
        server = _Server(protocol, [_text(protocol, "an answer")])
        model = _model(protocol, server, system="s")
        self.assertEqual(model.complete("a prompt"), "an answer")
        self.assertIn("a prompt", _notice(server.sent[0]))
        self.assertNotIn("tools", server.sent[0])

    def test_complete_as_a_model(self):
        """The cut or empty reply is the loop's business."""
        replies = ["Action: get_weather\nAction Input: B", "", "Final Answer: fine"]
        server = _Server("chat", [_text("chat", r) for r in replies], prefix=False)
        model = agentloop.ReActText(_model("chat", server).complete)
        run = agentloop.run(model, "go", [get_weather])
        self.assertEqual((run.output, _statuses(run)), ("fine", ["ok", "invalid_response"]))

    @_each_protocol
    def test_complete_where_a_tool_is_called(self, protocol):
        answers = [_call(protocol, ("a", "x", {})), _text(protocol, "Final Answer: ok")]
        server = _Server(protocol, answers, prefix=False)
        run = agentloop.run(agentloop.ReActText(_model(protocol, server).complete), "go")
        self.assertEqual((run.output, _statuses(run)), ("ok", ["invalid_response"]))


class ReadingTests(_ModelCase):
    """What a reply means; what is doubtful does not run."""

    @_each_protocol
    def test_calls_count_whatever_the_finish_reason_check_content(self, protocol):
        reasons = {
            "chat": ("stop", "tool_calls", "function_call", None, "", "eos"),
            "anthropic": ("end_turn", "tool_use", "stop_sequence", None),
            "responses": ("completed", None),
        }
        for reason in reasons[protocol]:
            with self.subTest(reason=reason):
                call = [("a", "get_weather", {"city": "B"})]
                more = {"status" if protocol == "responses" else "reason": reason}
                answers = [_reply(protocol, "I look.", call, **more), _text(protocol, "ok")]
                run, _ = self.play(protocol, answers)
                self.assertEqual(_statuses(run), ["ok"])
                self.assertEqual((run.steps[0].action.log, run.output), ("I look.", "ok"))

    def test_answers_in_parts(self):
        parts = [
            {"type": "text", "text": "a "},
            {"type": "thinking", "thinking": "no"},
            7,
            {"type": "text", "text": "b"},
            {"type": "text", "text": None},
            {"type": "reasoning", "text": "no"},
            {"type": "refused", "text": "no"},
        ]
        texts = [{"type": "output_text", "text": t} for t in ("a\n", " b", "")]
        items = [{"type": "message", "content": c} for c in (texts[:2], texts[1:])]
        blocks = [{"type": "text", "text": t} for t in ("a\n", " b")]
        rows = [  # protocol, reply, answer
            ("chat", _chat({"role": "assistant", "content": parts}), "a b"),
            ("responses", {"status": "completed", "output": items}, "a\n b b"),
            # Not every server names its texts as OpenAI does.
            (
                "responses",
                {"status": "completed", "output": [{"type": "message", "content": blocks}]},
                "a\n b",
            ),
            ("anthropic", {"content": blocks, "stop_reason": "end_turn"}, "a\n b"),
        ]
        for protocol, document, output in rows:
            with self.subTest(protocol=protocol):
                self.assertEqual(self.play(protocol, [document])[0].output, output)

    @_each_protocol
    def test_empty_replies(self, protocol):
        rows = {
            "chat": [
                _chat({"role": "assistant", "content": None}),
                _chat({"role": "assistant", "content": ""}, "tool_calls"),
                _chat({"role": "assistant", "content": " \n", "tool_calls": []}),
                _chat({"role": "assistant", "content": None, "tool_calls": None}),
                _chat({"role": "assistant", "content": "", "tool_calls": {}}),
                _chat({"role": "assistant", "content": "", "tool_calls": [None, 3]}),
                _chat({"content": "", "reasoning_content": "I think."}),
                _chat({"content": [{"type": "thinking", "thinking": []}]}),
                _chat({"role": "assistant", "content": 5}),
                _chat({"role": "assistant"}),
            ],
            "responses": [
                {"status": "completed", "output": []},
                {"output": [{"type": "reasoning", "encrypted_content": "e", "summary": []}]},
                {"output": [{"type": "message", "role": "assistant", "content": " "}]},
                {"output": ["x", None, {"type": "message", "content": [{"type": "output_text"}]}]},
                {"output": [{"type": "web_search_call", "id": "ws", "status": "completed"}]},
            ],
            "anthropic": [
                {"content": [], "stop_reason": "end_turn"},
                {"content": [], "stop_reason": "pause_turn"},
                {"content": [{"type": "text", "text": " "}], "stop_reason": "tool_use"},
                {"content": [{"type": "thinking", "thinking": "x", "signature": "s"}]},
                {"content": [None, {"type": "text", "text": None}]},
            ],
        }
        for document in rows[protocol]:
            with self.subTest(document=document):
                run, server = self.play(protocol, [document, _text(protocol, "ok")])
                self.assertEqual((run.state, run.output), ("model_ended", "ok"))
                self.assertEqual(_statuses(run), ["invalid_response"])
                self.assertIn("neither a call nor an answer", run.steps[0].observation)
                action = run.steps[0].action
                self.assertEqual((action.tool, action.tool_input, action.call_id), ("", {}, ""))
                self.assertIn("neither a call nor an answer", _notice(server.sent[1]))

    def test_refusals(self):
        said = {"type": "message", "role": "assistant"}
        said["content"] = [{"type": "refusal", "refusal": "I will not."}]
        part = [{"type": "text", "text": "Well"}, _ANTHROPIC_CALL]
        why = {"incomplete_details": {"reason": "content_filter"}}
        details = {"stop_details": {"type": "x", "category": "cyber", "explanation": "No harm."}}
        calls = {"tool_calls": [_CHAT_CALL]}
        rows = [  # protocol, reply; what the refusal says
            ("chat", _chat({"content": None, "refusal": "I will not."}), "I will not."),
            ("chat", _chat({"content": None, "refusal": "No.", **calls}), "No."),
            ("chat", _chat({"content": "Well", **calls}, "content_filter"), "Well"),
            ("chat", _chat({"content": None}, "content_filter"), ""),
            ("responses", {"status": "completed", "output": [said]}, "I will not."),
            ("responses", {"status": "completed", "output": [said, _RESPONSES_CALL]},
             "I will not."),
            ("responses", {"status": "incomplete", "output": [_RESPONSES_CALL], **why}, ""),
            ("anthropic", {"content": part, "stop_reason": "refusal"}, "Well"),
            ("anthropic", {"content": [], "stop_reason": "refusal"}, ""),
            ("anthropic", {"content": [], "stop_reason": "refusal", **details}, "cyber: No harm."),
            ("anthropic", {"content": part, "stop_reason": "refusal", **details},
             "Well\ncyber: No harm."),
            ("anthropic", {"content": part, "stop_reason": "refusal", "stop_details": {"explanation": "No."}}, "Well\nNo."),
            ("anthropic",
             {"content": part, "stop_reason": "refusal", "stop_details": None}, "Well"),
        ]  # fmt: skip
        for protocol, document, output in rows:
            for stream in (False, True):
                with self.subTest(protocol=protocol, document=document, stream=stream):
                    answer = document
                    if stream and protocol == "chat":
                        choice = {**document["choices"][0]}
                        choice["delta"] = choice.pop("message")
                        answer = _sse({"choices": [choice]})
                    elif stream:
                        answer = _stream(protocol, document)
                    if stream and "stop_details" in document:
                        delta = {k: document[k] for k in ("stop_reason", "stop_details")}
                        answer[-2] = _sse({"type": "message_delta", "delta": delta}, done=False)[0]
                    judged = []
                    server = _Server(protocol, [answer, _text(protocol, "ok")])
                    model = _model(protocol, server, on_text=len if stream else None)
                    run = agentloop.run(model, "go", [get_weather], accept=judged.append)
                    self.assertEqual((run.state, run.steps), ("model_ended", []))
                    self.assertEqual((run.finish.reason, run.output), ("refusal", output))
                    self.assertEqual(judged, [])
                    agentloop.run(model, run.follow_up("Why?"), [get_weather])  # stays legal

    @_each_protocol
    def test_a_reply_of_nothing_but_its_end(self, protocol):
        """A null in place of the content: all that was allowed went into reasoning, say."""

        def answers(word):
            if protocol == "chat":
                choice = {"index": 0, "finish_reason": word}
                return [{"choices": [choice]}, {"choices": [{**choice, "message": None}]}]
            if protocol == "anthropic":
                return [{"stop_reason": word}, {"stop_reason": word, "content": None}]
            bare = {"status": "incomplete", "incomplete_details": {"reason": word}}
            end = {"type": "response.incomplete", "response": bare}
            return [bare, {**bare, "output": None}, _sse(end, done=False)]

        for answer in answers("max_output_tokens"):
            with self.subTest(answer=answer):
                run, _ = self.play(protocol, [answer, _text(protocol, "ok")], retries=0)
                self.assertEqual((_statuses(run), run.output), (["invalid_response"], "ok"))
        for answer in answers("content_filter"):
            with self.subTest(answer=answer):
                run, _ = self.play(protocol, [answer], retries=0)
                self.assertEqual((run.finish.reason, run.output), ("refusal", ""))
        whole = {"status": "completed", "output": None}
        for answer in [whole] if protocol == "responses" else answers("stop"):
            with self.subTest(answer=answer):
                run, server = self.play(protocol, [answer, _text(protocol, "ok")])
                self.assertEqual((run.steps, len(server.raw)), ([], 2))  # asked again

    @_protocols("chat", "anthropic")
    def test_finish_reasons(self, protocol):
        """In any case of letters."""
        rows = {  # what it says of the reply: the words
            "whole": ("stop", "STOP", "end_turn", "eos", "stop_sequence", "", None, 5),
            "noted": ("paused_by_host", "Malformed_Function_Call"),
            "cut": ("length", "Length", "max_tokens", "MAX_TOKENS", "model_length",
                    "model_context_window_exceeded"),
            "refused": ("content_filter", "refusal", "safety", "SAFETY", "sensitive", "recitation",
                        "prohibited_content", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "content_filtered",
                        "guardrail_intervened"),
            "again": ("error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled",
                      "Cancelled", "timeout"),
        }  # fmt: skip
        for kind, reason in [(kind, reason) for kind, words in rows.items() for reason in words]:
            for stream in (False, True):
                if stream and reason in ("", None, 5):
                    continue  # no reason: the stream was cut
                with self.subTest(reason=reason, stream=stream):
                    calls = (
                        [] if kind in ("whole", "noted") else [("a", "get_weather", {"city": "B"})]
                    )
                    first = _reply(protocol, "part", calls, reason=reason)
                    with _logged() as log:
                        answers = [first, _text(protocol, "ok")]
                        run, server = self.play(protocol, answers, stream=stream)
                    statuses = ["invalid_response"] if kind == "cut" else []
                    self.assertEqual(_statuses(run), statuses)
                    is_refused = kind == "refused"
                    self.assertEqual(run.finish.reason, "refusal" if is_refused else "stop")
                    first_counts = kind in ("whole", "noted", "refused")
                    self.assertEqual(run.output, "part" if first_counts else "ok")
                    self.assertEqual(repr(reason) in log.getvalue(), kind == "noted")
                    if kind == "again":
                        self.assertEqual(server.raw[0], server.raw[1])
                        self.assertEqual(run.requests, 1)

    def test_a_finish_reason_that_is_an_error_is_in_the_message(self):
        for reason in ("error", "network_error"):
            with self.subTest(reason=reason):
                answer = _text("chat", "half", reason=reason)
                error, _ = self.fails("chat", [answer], "server", None, retries=0)
                self.assertIn(reason, str(error))

    def test_cut_at_the_output_limit(self):
        rows = [  # protocol, fields of the reply, settings
            ("chat", {"reason": "length"}, {}),
            ("chat", {"reason": "tool_calls"}, {"body": {"max_completion_tokens": 9}}),
            ("chat", {"reason": "tool_calls"}, {"body": {"max_tokens": 9}}),
            ("chat", {"reason": "stop"}, {"body": {"max_tokens": 8}}),
            ("anthropic", {"reason": "max_tokens"}, {}),
            ("anthropic", {"reason": "model_context_window_exceeded"}, {}),
            ("anthropic", {"reason": "tool_use"}, {"max_tokens": 9}),
            ("responses", {"status": "incomplete"}, {}),
            ("responses",
             {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, {}),
            ("responses", {}, {"body": {"max_output_tokens": 9}}),
        ]  # fmt: skip
        call = [("a", "get_weather", {"city": "B"})]
        for protocol, more, settings in rows:
            for text, calls in ((None, call), ("half an ans", []), ("I look.", call), (None, [])):
                with self.subTest(protocol=protocol, more=more, text=text, calls=calls):
                    answers = [
                        _reply(protocol, text, calls, usage=_usage(protocol, 5, 9), **more),
                        _text(protocol, "ok", usage=_usage(protocol, 5, 2)),
                    ]
                    run, server = self.play(protocol, answers, **settings)
                    self.assertEqual(_statuses(run), ["invalid_response"])
                    self.assertIn("output limit", run.steps[0].observation)
                    self.assertIn("output limit", _notice(server.sent[1]))
                    self.assertEqual(run.steps[0].action.log, text or "")
                    self.assertEqual((run.output, run.usage["output_tokens"]), ("ok", 11))
        for protocol, settings in (("chat", {"body": {"max_tokens": 10}}), ("anthropic", {})):
            with self.subTest(protocol=protocol, settings=settings):  # not reached: an answer
                answers = [_text(protocol, "ok", usage=_usage(protocol, 5, 9))]
                self.assertEqual(self.play(protocol, answers, **settings)[0].output, "ok")

    def test_how_much_of_the_limit_was_used(self):
        """All of it, or one token more, is a cut; still more is counted otherwise (xAI, rig)."""
        rows = [  # protocol, settings, the output tokens that are reported, whether it is cut
            ("chat", {"max_tokens": 64}, 63, False),
            ("chat", {"max_tokens": 64}, 64, True),
            ("chat", {"max_tokens": 64}, 65, True),
            ("chat", {"max_tokens": 64}, 66, False),
            ("chat", {"max_tokens": 64, "max_completion_tokens": 9}, 9, True),
            ("chat", {"max_tokens": 64, "n": 1}, 64, True),
            ("chat", {"max_tokens": 64, "n": 2}, 64, False),
            ("chat", {"max_tokens": None}, 64, False),
            ("chat", {}, 64, False),
            ("responses", {"max_output_tokens": 16}, 17, True),
            ("responses", {"max_output_tokens": 16}, 113, False),
            ("anthropic", {}, 4096, True),
            ("anthropic", {}, 4097, True),
            ("anthropic", {}, 4098, False),
            ("anthropic", {"max_tokens": 9}, 9, True),
            ("anthropic", {"max_tokens": 9}, 4096, False),
        ]
        for protocol, body, tokens, is_cut in rows:
            with self.subTest(protocol=protocol, body=body, tokens=tokens):
                answers = [_text(protocol, "ok", usage=_usage(protocol, 5, tokens))]
                answers.append(_text(protocol, "ok", usage=_usage(protocol, 5, 1)))
                run, _ = self.play(protocol, answers, body=body)
                self.assertEqual(_statuses(run), ["invalid_response"] * is_cut)

    def test_a_cut_reply_although_no_stream_was_asked_for(self):
        for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length"):
            for stream in (False, True):
                with self.subTest(reason=reason, stream=stream):
                    answer = _weather("chat", reason=reason)
                    answer = _stream("chat", answer) if stream else answer
                    run, _ = self.play("chat", [answer, _text("chat", "ok")])
                    self.assertEqual(_statuses(run), ["invalid_response"])


class WireCallTests(_ModelCase):
    """The name and the arguments of a call, as servers really write them."""

    @_each_protocol
    def test_names(self, protocol):
        def look(city: str) -> str:
            return "seen " + city

        rows = [  # the name that came; the status, the name sent back
            ("look", "ok", "look"),
            (" look\n", "ok", "look"),
            ("functions.look", "ok", "look"),
            ("Look", "unknown_tool", "Look"),
            ("look_", "unknown_tool", "look_"),
            ("functions.functions.look", "unknown_tool", "functions_functions_look"),
            ("multi_tool_use.parallel", "unknown_tool", "multi_tool_use_parallel"),
            ("look at " + "a" * 70, "unknown_tool", "look_at_" + "a" * 56),
            ("caf\u00e9", "unknown_tool", "caf_"),
            ("", "unknown_tool", "unknown"),
            (" ", "unknown_tool", "unknown"),
            (None, "unknown_tool", "unknown"),
            (5, "unknown_tool", "unknown"),
            (["look"], "unknown_tool", "unknown"),
        ]
        for name, status, back in rows:
            with self.subTest(name=name):
                given = {"city": "B"} if protocol == "anthropic" else '{"city": "B"}'
                answers = [_asks(protocol, given, name=name), _text(protocol, "ok")]
                run, server = self.play(protocol, answers, tools=[look])
                self.assertEqual(_statuses(run), [status])
                if status == "unknown_tool":
                    self.assertIn("look", run.steps[0].observation)
                self.assertEqual(_sent_calls(protocol, server.sent[1])[0][1], back)
                message = run.steps[0].action.message
                self.assertIn(json.dumps(name), json.dumps(message))  # as it came

    @_each_protocol
    def test_arguments(self, protocol):
        good = '{"city": "B"}'
        deep = '{"city": ' + "[" * 5000 + "]" * 5000 + "}"
        fenced = '```json\n{"city": "B```C"}\n```'
        rows = [  # what came; status, and the arguments as they go back
            (good, "ok", good),
            ("", "invalid_arguments", "{}"),
            (None, "invalid_arguments", "{}"),
            ("null", "invalid_arguments", "{}"),
            ("```json\n%s\n```" % good, "ok", {"city": "B"}),
            ("```\n%s\n```\n" % good, "ok", {"city": "B"}),
            (fenced, "ok", {"city": "B```C"}),
            (json.dumps(good), "ok", {"city": "B"}),
            ("{'city': 'B'}", "ok", {"city": "B"}),
            ("{'city': 'B', 'city': 'C',}", "ok", {"city": "C"}),
            ({"city": "B"}, "ok", {"city": "B"}),
            ('{"city": "\ud800"}', "ok", {"city": "\ufffd" * 3}),  # no UTF-8
            ('{"city": "\\ud800"}', "ok", {"city": "?"}),
            ('{"city": NaN}', "invalid_arguments", "{}"),
            ('{"city": "B", "x": Infinity}', "invalid_arguments", "{}"),
            ("[1]", "invalid_arguments", "{}"),
            ("5", "invalid_arguments", "{}"),
            ('"B"', "invalid_arguments", "{}"),
            (good + good, "invalid_arguments", "{}"),
            (good[:-1], "invalid_arguments", "{}"),
            (good + "}", "invalid_arguments", "{}"),
            (deep, "invalid_arguments", "{}"),
            ("9" * 5000, "invalid_arguments", "{}"),
            (["B"], "invalid_arguments", "{}"),
            (7, "invalid_arguments", "{}"),
            ("B", "invalid_arguments", "{}"),
            ("__import__('os')", "invalid_arguments", "{}"),
        ]
        for given, status, back in rows:
            with self.subTest(given=str(given)[:60]):
                run, server = self.play(protocol, [_asks(protocol, given), _text(protocol, "ok")])
                self.assertEqual(_statuses(run), [status])
                self.assertLess(len(str(run.steps[0].observation)), 1000)
                sent = _sent_calls(protocol, server.sent[1])[0][2]
                if protocol == "anthropic":
                    self.assertEqual(sent, json.loads(back) if isinstance(back, str) else back)
                elif isinstance(back, dict):
                    self.assertEqual(json.loads(sent), back)
                else:
                    self.assertEqual(sent, back)

    def test_a_step_about_arguments_shows_them(self):
        for given in ("[1]", '{"city": "B"}' * 2, "B"):
            with self.subTest(given=given):
                run, _ = self.play("chat", [_asks("chat", given), _text("chat", "ok")])
                self.assertIn("one JSON object", run.steps[0].observation)
                self.assertIn(given[:9].replace('"', '\\"'), run.steps[0].observation)

    @_each_protocol
    def test_a_call_without_arguments(self, protocol):
        def now() -> str:
            return "noon"

        for given in (None, "", "{}", "gone"):
            with self.subTest(given=given):
                document = _asks(protocol, given, name="now")
                if given == "gone" and protocol == "chat":
                    message = document["choices"][0]["message"]
                    del message["tool_calls"][0]["function"]["arguments"]
                elif given == "gone" and protocol == "responses":
                    del document["output"][0]["arguments"]
                elif given == "gone":
                    del document["content"][0]["input"]
                run, server = self.play(protocol, [document, _text(protocol, "ok")], tools=[now])
                self.assertEqual(_statuses(run), ["ok"])
                want = {} if protocol == "anthropic" else "{}"
                self.assertEqual(_sent_calls(protocol, server.sent[1])[0][2], want)

    @_protocols("chat", "responses")
    def test_cut_arguments_are_never_completed(self, protocol):
        for reason in ("cut", "fine"):
            with self.subTest(reason=reason):
                document = _asks(protocol, '{"city": "Ber')
                if reason == "cut" and protocol == "chat":
                    document["choices"][0]["finish_reason"] = "length"
                elif reason == "cut":
                    document["status"] = "incomplete"
                run, server = self.play(protocol, [document, _text(protocol, "ok")])
                want = "invalid_response" if reason == "cut" else "invalid_arguments"
                self.assertEqual(_statuses(run), [want])
                self.assertEqual(_sent_calls(protocol, server.sent[1])[0][2], "{}")

    @_protocols("chat", "responses")
    def test_good_arguments_are_never_written_anew(self, protocol):
        for text in (
            '{ "city" :"B", "n": 1.0, "m":1e2 }',
            '{"city": "\u00fc\\u00fc\\ud83d\\ude00", "city": "B"}',
            '\n{"city": "B"}\t',
            '{"city": ' + "9" * 400 + "}",
        ):
            with self.subTest(text=text):
                server = self.play(protocol, [_asks(protocol, text), _text(protocol, "ok")])[1]
                self.assertEqual(_sent_calls(protocol, server.sent[1])[0][2], text)

    @_protocols("chat", "responses")
    def test_other_calls_of_the_reply_still_run(self, protocol):
        calls = [("a", "get_weather", "{"), ("b", "get_weather", {"city": "B"})]
        calls.append(("c", "nope", {}))
        run, server = self.play(protocol, [_call(protocol, *calls), _text(protocol, "ok")])
        self.assertEqual(_statuses(run), ["invalid_arguments", "ok", "unknown_tool"])
        self.assertEqual([i for i, _ in _results(protocol, server.sent[1])], ["a", "b", "c"])


class WireIdTests(_ModelCase):
    """The ids of calls: good ones stay, others are made up, none twice."""

    @_each_protocol
    def test_ids(self, protocol):
        rows = [  # the ids of the calls of two replies
            (("a", "b"), ("c", "d")),
            (("a", "a"), ("a", "a")),
            (("", ""), ("", "")),
            ((None, None), (None, "a")),
            (("a", None), ("c00000002", "c00000004")),
            ((7, {"x": 1}), (["a"], True)),
            (("call_0", "call_1"), ("call_0", "call_1")),
            (("c00000003", "c00000004"), (None, None)),
            (("a b", "\u4f60"), ("a:1", "x" * 300)),
        ]
        for ids in rows:
            for stream in (False, True):
                with self.subTest(ids=ids, stream=stream):
                    answers = []
                    for n, pair in enumerate(ids):
                        cities = ["%d%d" % (n, k) for k in range(2)]
                        calls = [(i, "get_weather", {"city": c}) for i, c in zip(pair, cities)]
                        answers.append(_call(protocol, *calls))
                    answers.append(_text(protocol, "ok"))
                    run, server = self.play(protocol, answers, stream=stream)
                    self.assertEqual(_statuses(run), ["ok"] * 4)
                    results = _results(protocol, server.sent[-1])
                    want = ["sunny in 00", "sunny in 01", "sunny in 10", "sunny in 11"]
                    self.assertEqual([text for _, text in results], want)
                    made = [s.action.call_id for s in run.steps]
                    self.assertEqual(len(set(made)), 4)
                    if protocol != "anthropic":
                        self.assertEqual([i for i, _ in results], made)
                    _again, server2 = self.play(protocol, answers, stream=stream)
                    self.assertEqual(server2.raw, server.raw)  # no chance, no clock

    @_each_protocol
    def test_a_good_id_stays(self, protocol):
        answers = [_weather(protocol, call_id="toolu_01-X"), _text(protocol, "ok")]
        run, server = self.play(protocol, answers)
        self.assertEqual(run.steps[0].action.call_id, "toolu_01-X")
        self.assertEqual(_results(protocol, server.sent[1])[0][0], "toolu_01-X")

    @_each_protocol
    def test_a_made_up_id_is_taken_by_every_provider(self, protocol):
        answers = [_asks(protocol, {"city": "B"}, call_id=None), _text(protocol, "ok")]
        run, server = self.play(protocol, answers)
        made = _results(protocol, server.sent[1])[0][0]
        self.assertRegex(made, r"\A[a-zA-Z0-9]{9}\Z")
        self.assertEqual(made, run.steps[0].action.call_id)

    @_each_protocol
    def test_ids_numbered_anew_in_every_turn(self, protocol):
        answers = [_weather(protocol, call_id="call_0"), _text(protocol, "ok")] * 2
        model = _model(protocol, _Server(protocol, answers))
        run = agentloop.run(model, "go", [get_weather])
        run = agentloop.run(model, run.follow_up("x"), [get_weather])
        self.assertEqual(_statuses(run), ["ok"])


class ReplyTextTests(_ModelCase):
    """Calls, drafts and JSON in the text of a reply."""

    @_counted_memory
    def test_a_long_reply_takes_memory_in_proportion(self):
        n = 500_000
        for text in ("x" * n, "\n" * n + "[" * 101, "<tool_call>" + "x" * n, "[get_weather(" + "x" * n,
                     "[get_weather('" + "x" * n, "<function=f>" + "x" * n):  # fmt: skip
            reply = _text("chat", text)
            with self.subTest(text[-20:]):
                peak = _memory_of(lambda reply=reply: self.play("chat", [reply], max_requests=1))
                self.assertLess(peak, 20 * n)

    @_each_protocol
    def test_calls_in_tags_are_calls(self, protocol):
        """A text that is nothing but <tool_call> blocks of known tools (hermes-agent#742)."""
        one = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "%s"}}\n</tool_call>'
        call = {"arguments": '{"city": "C"}', "name": "get_weather"}
        text = "<tool_call>%s</tool_call>" % json.dumps(call)
        loose = "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'D'}}</tool_call>"
        rows = [  # the text; the cities
            (one % "A", ["A"]),
            (one % "A" + one % "B", ["A", "B"]),
            ("\n" + one % "A" + "\n\n" + one % "B" + "\n", ["A", "B"]),
            ("<think>Both.</think>\n" + one % "A", ["A"]),
            (text + loose, ["C", "D"]),
        ]
        for content, cities in rows:
            with self.subTest(content=content):
                run, server = self.play(protocol, [_text(protocol, content), _text(protocol, "ok")])
                self.assertEqual(_statuses(run), ["ok"] * len(cities))
                seen = [s.observation for s in run.steps]
                self.assertEqual(seen, ["sunny in " + city for city in cities])
                results = _results(protocol, server.sent[1])
                calls = _sent_calls(protocol, server.sent[1])
                self.assertEqual([i for i, _ in results], [i for i, _, _ in calls])
                for call_id, name, _ in calls:
                    self.assertRegex(call_id, r"\A[a-zA-Z0-9]{9}\Z")
                    self.assertEqual(name, "get_weather")
                self.assertIn("tool_call", json.dumps(run.steps[0].action.message))

    @_each_protocol
    def test_calls_in_other_notations_are_invalid(self, protocol):
        """They would be shown as the answer, and nothing was done."""
        good = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
        rows = [
            "<tool_call>" + good.replace("get_weather", "other") + "</tool_call>",
            "<tool_call>{</tool_call>",
            "<tool_call>" + good,
            "<tool_call>[" + good + "]</tool_call>",
            '<tool_call>{"name": "get_weather"}</tool_call>',
            "<tool_call>" + good + "</tool_call><tool_call>" + good,
            "<tool_call>" + good + good + "</tool_call>",
            '<tool_call>{"name": ["get_weather"], "arguments": {}}</tool_call>',
            "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>",
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
            '<function=get_weather>{"city": "Rome"}</function>',
            '<function=get_weather>{"city": "Rome"}',
            '<function_calls>\n<invoke name="get_weather">\n</invoke>\n</function_calls>\n',
            '<invoke name="get_weather"></invoke>',
            "[TOOL_CALLS] [" + good + "]",
            "[TOOL_CALLS]get_weather[ARGS]{}",
            '<|python_tag|>get_weather.call(city="Rome")',
            "<|tool_call|>[" + good + "]<|/tool_call|>",
            "<|tool_calls_section_begin|>x",
            "<\uff5ctool\u2581calls\u2581begin\uff5c>x",
            "<\uff5cDSML\uff5cfunction_calls>",
            "<|channel|>commentary to=functions.get_weather <|message|>{}",
            '[get_weather(city="Rome")]',
            "[get_weather(city='R(o)m]e'), get_weather()]",
            "<think>hm</think>\n[TOOL_CALLS]x",
        ]  # fmt: skip
        fine = [
            "<tool_call> is the tag that Hermes uses.",
            "<tool_call>" + good + "</tool_call> is how a call looks.",
            "A call: <tool_call>" + good + "</tool_call>",
            "Like this: [TOOL_CALLS] [" + good + "]",
            "<functions>",
            "[other(city=1)]",
            "[get_weather(city=1), other()]",
            '[get_weather(city="Rome")] it is',
            "[get_weather]",
            "[get_weather(]",
            "[]",
            "[1, 2]",
            "[get_weather() get_weather()]",
            "<invoke>",
            '<invoke name="get_weather"></invoke> <- so',
            "<b>bold</b>",
        ]
        for text in rows:
            with self.subTest(text=text):
                answers = [_text(protocol, text), _text(protocol, "ok")]
                with _logged() as log:
                    run, server = self.play(protocol, answers)
                self.assertEqual((_statuses(run), run.output), (["invalid_response"], "ok"))
                self.assertIn("interface for tool calls", _notice(server.sent[1]))
                self.assertIn("--tool-call-parser", log.getvalue())
                # Where no tools were offered, it is an answer.
                run, _ = self.play(protocol, [_text(protocol, text)], tools=())
                self.assertEqual(run.output, re.sub("(?s)^<think>.*</think>\n", "", text))
        for text in fine:
            with self.subTest(answer=text):
                with _logged() as log:
                    run, _ = self.play(protocol, [_text(protocol, text)])
                self.assertEqual((run.output, log.getvalue()), (text, ""))

    @_each_protocol
    def test_json_in_an_answer_is_an_answer(self, protocol):
        texts = ['{"name": "get_weather", "arguments": {"city": "B"}}', "[1, 2]", "{}"]
        texts += ['```json\n{"tool": "get_weather"}\n```', '{"name": "other"}']
        for text in texts:
            with self.subTest(text=text):
                with _logged() as log:
                    run, _ = self.play(protocol, [_text(protocol, text)])
                self.assertEqual((run.output, run.steps, log.getvalue()), (text, [], ""))

    @_each_protocol
    def test_a_draft_is_no_part_of_the_answer(self, protocol):
        """Servers without a parser for reasoning hand the draft on in the text."""
        rows = [  # the text; the answer, None where the reply is empty
            ("<think>\nWarm.\n</think>\n\ndone", "done"),
            ("<think>ok</think>done", "done"),
            (" <think></think> a b ", "a b "),
            ("<think>no end", None),
            ("<think>a</think>", None),
            ("<think>a</think>\n\n", None),
            ("say <think>hm</think>", "say <think>hm</think>"),
            ("a</think>b", "a</think>b"),
            ("<think>a</think><think>b</think>c", "<think>b</think>c"),
            ("  plain ", "  plain "),
        ]
        for text, answer in rows:
            with self.subTest(text=text):
                answers = [_text(protocol, t) for t in (text, "ok", "e")]
                run, server = self.play_two_turns(protocol, answers)
                self.assertEqual(run.output, "ok" if answer is None else answer)
                self.assertEqual(_statuses(run), ["invalid_response"] * (answer is None))
                self.assertIn(json.dumps(text)[1:-1], json.dumps(server.said()[1]))
        call = [("a", "get_weather", {"city": "B"})]
        answers = [_reply(protocol, "<think>hm</think>I look.", call), _text(protocol, "ok")]
        self.assertEqual(self.play(protocol, answers)[0].steps[0].action.log, "I look.")


class UsageTests(_ModelCase):
    """The tokens that servers count."""

    @_each_protocol
    def test_usage_is_added_up(self, protocol):
        for stream in (False, True):
            with self.subTest(stream=stream):
                answers = [
                    _weather(protocol, usage=_usage(protocol, 100, 7, 60)),
                    _text(protocol, "", usage=_usage(protocol, 120, 1)),
                    _text(protocol, "ok", usage=_usage(protocol, 150, 5, 99)),
                ]
                run, _ = self.play(protocol, answers, stream=stream)
                self.assertEqual(_statuses(run), ["ok", "invalid_response"])
                want = {"input_tokens": 370, "output_tokens": 13, "cached_tokens": 159}
                self.assertEqual(run.usage, want)

    @_each_protocol
    def test_usage_of_another_form_counts_nothing(self, protocol):
        odd = ["many", [], [1], {"prompt_tokens": "7"}, {"input_tokens": None}, 5, {}, None, True]
        odd += [{"prompt_tokens_details": 3}, {"input_tokens_details": []}, {"input_tokens": -1}]
        for usage in odd:
            with self.subTest(usage=usage):
                run, _ = self.play(protocol, [_text(protocol, "ok", usage=usage)])
                self.assertEqual(sum(run.usage.values()), 0)

    @_each_protocol
    def test_absurd_counts_are_left_out(self, protocol):
        """They would make the sum of a run, and every budget built on it, useless."""
        for count in (10**15 + 1, 10**18, -5, "7", 1.5, True, float("inf"), [1], {}, None):
            with self.subTest(count=count):
                usage = _usage(protocol, 1, 1)
                usage = {name: count for name in usage if isinstance(usage[name], int)}
                usage.update(cache_read_input_tokens=count, cached_tokens=count)
                run, _ = self.play(protocol, [_text(protocol, "ok", usage=usage)])
                self.assertEqual(sum(run.usage.values()), 0)
        run, _ = self.play(protocol, [_text(protocol, "ok", usage=_usage(protocol, 10**15, 1))])
        self.assertEqual(run.usage["input_tokens"], 10**15)

    def test_anthropic_ends_a_stream_with_counts_of_0(self):
        start = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9}}}
        block = {"type": "content_block_start", "index": 0}
        block["content_block"] = {"type": "text", "text": "ok"}
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        end["usage"] = {"input_tokens": 0, "output_tokens": 4}
        run, _ = self.play("anthropic", [_sse(start, block, end)], on_text=len)
        self.assertEqual((run.usage["input_tokens"], run.usage["output_tokens"]), (9, 4))

    def test_anthropic_counts_the_cache_apart_and_we_add_it(self):
        usage = {"input_tokens": 1, "cache_read_input_tokens": 20}
        usage["cache_creation_input_tokens"] = 300
        run, _ = self.play("anthropic", [_text("anthropic", "ok", usage=usage)])
        self.assertEqual((run.usage["input_tokens"], run.usage["cached_tokens"]), (321, 20))

    def test_other_names_of_cached_tokens(self):
        # Mistral, Moonshot, DeepSeek
        for name in ("num_cached_tokens", "cached_tokens", "prompt_cache_hit_tokens"):
            with self.subTest(name=name):
                usage = {"prompt_tokens": 90, name: 64, "prompt_tokens_details": None}
                run, _ = self.play("chat", [_text("chat", "ok", usage=usage)])
                self.assertEqual(run.usage["cached_tokens"], 64)

    def test_other_places_of_usage(self):
        usage = {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}
        for place in ("choice", "x_groq"):
            for stream in (False, True):
                with self.subTest(place=place, stream=stream):
                    answer = _text("chat", "ok")
                    choice = answer["choices"][0]
                    if place == "choice":
                        choice.update(usage)
                    else:
                        answer["x_groq"] = usage
                    if stream:
                        choice["delta"] = choice.pop("message")
                        answer = _sse(answer)
                    run, _ = self.play("chat", [answer], on_text=len if stream else None)
                    self.assertEqual(run.usage["input_tokens"], 3)


class RepairTests(_ModelCase):
    """What is refused by name is left out, what is demanded is added."""

    def test_a_property_refused_by_name_is_left_out_from_then_on(self):
        without = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
        message = {**without, "reasoning": "hm"}
        refusals = [
            {"error": {"message": "property 'reasoning' is unsupported"}},
            {"error": {"message": "'messages.1' : for 'role:assistant' the following must be satisfied"
                                  "[('messages.1' : property 'reasoning' is unsupported)]"}},
            {"error": {"message": "Unknown parameter.", "param": "messages[1].reasoning"}},
            {"detail": [{"loc": ["messages", 1, "reasoning"], "msg": "Extra inputs are not permitted"}]},
            {"error": {"message": "Additional properties are not allowed ('reasoning' was unexpected)"}},
            "Unrecognized field: reasoning",
            "unsupported property reasoning",
            "Unsupported field: messages[1].reasoning.",
            "Invalid request: unknown property reasoning in message 1",
            {"error": {"message": "messages.1.assistant.reasoning: Extra inputs are not permitted"}},
            {"error": {"message": "reasoning: Extra inputs are not permitted; only the required fields may be sent"}},
            {"error": {"message": 'Unknown name "reasoning" at \'messages[1]\': `role` is required'}},
        ]  # fmt: skip
        for status in (400, 422):
            for refusal in refusals:
                with self.subTest(status=status, refusal=refusal):
                    second = {**message, "tool_calls": [{**_CHAT_CALL, "id": "b"}]}
                    answers = [
                        _chat(message),
                        (status, {}, refusal),
                        _chat(second),
                        _text("chat", "ok"),
                    ]
                    with _logged() as log:
                        run, server = self.play("chat", answers, prefix=False)
                    self.assertEqual((run.output, run.requests), ("ok", 3))
                    self.assertEqual(_statuses(run), ["ok"] * 2)
                    self.assertEqual(self.waits, [])
                    self.assertIn("reasoning", log.getvalue())
                    self.assertIn("reasoning", server.said(1)[1])
                    for at in (2, 3):
                        for m in server.said(at):
                            self.assertNotIn("reasoning", m)
                    self.assertEqual(server.said(2)[1], without)
                    self.assertEqual(run.steps[0].action.message, message)

    def test_a_refusal_that_names_nothing_of_ours_is_an_error(self):
        message = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
        message["reasoning"] = "hm"
        body = {"reasoning": {"effort": "low"}, "foo": 1}
        rows = [  # what the server says; the caller's fields
            ("property 'content' is unsupported", {}),
            ("property 'tool_calls' is unsupported", {}),
            ("property 'role' is unsupported", {}),
            ("property 'other' is unsupported", {}),
            ("'reasoning' makes me sad", {}),
            ("reasoning_effort is not supported", {}),
            ("property 'reasoning' is unsupported", body),
            ("property 'foo' is unsupported", body),
            ("'stream' is not supported", {"stream": True}),
        ]
        for words, extra in rows:
            with self.subTest(words=words, extra=extra):
                answers = [_chat(message), (400, {}, {"error": {"message": words}})]
                _, server = self.fails("chat", answers, "bad_request", 400, body=extra)
                self.assertEqual(len(server.raw), 2)

    def test_a_property_that_was_not_the_reason_is_sent_again(self):
        """The same words come back: to leave it out did not help."""
        words = "Invalid schema: it must not contain 'refusal', which is not supported"
        message = {"role": "assistant", "content": "x", "refusal": None}
        run = agentloop.AgentRun("go", finish=agentloop.AgentFinish("x", "", message))
        refused = (400, {}, {"error": {"message": words}})
        server = _Server("chat", [refused, refused, _text("chat", "ok")], prefix=False)
        model = _model("chat", server)
        later = run.follow_up("more")
        with _logged() as log, self.assertRaisesRegex(agentloop.ModelError, "Invalid schema"):
            agentloop.run(model, later)
        self.assertIn("'refusal' was not the reason", log.getvalue())
        self.assertEqual(agentloop.run(model, later).output, "ok")
        kept = ["refusal" in server.said(at)[1] for at in range(3)]
        self.assertEqual(kept, [True, False, True])

    def test_what_the_adapter_added_may_be_left_out_too(self):
        rows = [  # protocol, the field, how a server refuses it
            ("chat", "stream_options", "Unrecognized request argument supplied: stream_options"),
            ("chat", "stream", "stream is not supported with tools"),
            ("responses", "include", "Encrypted content is not supported with this model."),
            ("responses", "include", "Unknown parameter: 'include'."),
            ("responses", "include", "stream, store or reasoning: unexpected property include"),
            ("responses", "stream", "Got an unexpected keyword argument 'stream'"),
            ("anthropic", "stream", "stream: Extra inputs are not permitted"),
        ]
        for protocol, name, words in rows:
            with self.subTest(protocol=protocol, name=name):
                answers = [(400, {}, {"error": {"message": words}}), (503, {}, "busy")]
                answers += [_weather(protocol), _text(protocol, "ok")]
                extra = {"stream_options", "store"}
                server = _Server(protocol, answers, extra=extra, prefix=False)
                run = agentloop.run(_model(protocol, server, on_text=len), "go", [get_weather])
                self.assertEqual((run.output, run.requests), ("ok", 2))
                sent = [name in body for body in server.sent]
                self.assertEqual(sent, [True, False, False, False])

    def test_what_the_request_cannot_do_without_is_not_left_out(self):
        rows = [  # protocol, how a server refuses the request
            ("anthropic", "max_tokens: not permitted"),
            ("responses", "input is invalid"),
            ("responses", "Unsupported parameter: store"),  # without it, the server stores
            ("responses", "Unknown parameter: 'store'."),
            # A word that is not the name of a property.
            ("responses", "Invalid schema for function 'look': please include a type, or store the schema elsewhere"),
            ("responses", "Invalid schema for function 'include'"),
            ("chat", "The stream of the tool is invalid"),
        ]  # fmt: skip
        for protocol, words in rows:
            with self.subTest(protocol=protocol, words=words):
                answers = [(400, {}, {"error": words})]
                _, server = self.fails(protocol, answers, "bad_request", 400, on_text=len)
                self.assertEqual(len(server.raw), 1)

    def test_a_field_left_out_spends_no_retry(self):
        refusal, busy = (400, {}, "Unknown parameter: 'include'."), (503, {}, "busy")
        answers = [refusal, busy, busy, _text("responses", "ok")]
        run, server = self.play("responses", answers, retries=2, prefix=False)
        self.assertEqual((run.output, len(server.raw)), ("ok", 4))

    def test_a_property_that_is_demanded_is_added(self):
        """A demand is no refusal: what is demanded is added where a message has none."""
        wrapped = {"message": "Missing `reasoning_content` field in the assistant message."}
        wrapped["type"] = "invalid_request_error"
        demands = [
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "thinking is enabled but reasoning_content is missing in assistant tool call message",
            "reasoning_content is required",
            "Invalid request, unknown fields are ignored: messages.1.reasoning_content is missing",
            "litellm.BadRequestError: DeepseekException - " + json.dumps({"error": wrapped}),
        ]
        for words in demands:
            with self.subTest(words=words):
                answers = []
                for n, thought in enumerate((None, "", "I look")):
                    message = {"role": "assistant", "content": None}
                    if n:
                        message["reasoning_content"] = thought
                    message["tool_calls"] = [{**_CHAT_CALL, "id": str(n)}]
                    answers.append(_chat(message))
                refusal = {"error": {"message": words, "type": "invalid_request_error"}}
                answers += [(400, {}, refusal), _text("chat", "ok")]
                server = _Server("chat", answers, prefix=False)
                model = _model("chat", server)
                with _logged() as log:
                    run = agentloop.run(model, "go", [get_weather])
                said = [m for m in server.said() if m["role"] == "assistant"]
                stand_in = said[0]["reasoning_content"]
                self.assertTrue(0 < len(stand_in.strip()) < 60)
                self.assertEqual([m["reasoning_content"] for m in said], [stand_in, "", "I look"])
                self.assertNotIn("reasoning_content", server.said(3)[1])
                self.assertIn("reasoning_content", log.getvalue())
                # It is remembered, for messages of our own too.
                body = model.body(run.follow_up("more"), {})
                self.assertEqual(body["messages"][-2]["reasoning_content"], stand_in)
                # Demanded again, there is nothing more to add.
                server.answers = [(400, {}, refusal)] * 9
                server.raw.clear()
                with self.assertRaises(agentloop.ModelError):
                    agentloop.run(model, run.follow_up("more"))
                self.assertEqual(len(server.raw), 1)

    def test_a_signature_that_is_demanded_stands_on_the_calls_of_other_models(self):
        """Gemini takes the calls of another model with a word in its place."""
        words = (
            "Function call is missing a thought_signature in functionCall parts. This is required "
            "for tools to work correctly. Additional data, function call `default_api:get_weather`"
        )
        two = [("a", "get_weather", {"city": "B"}), ("b", "get_weather", {"city": "C"})]
        run, _ = self.play("anthropic", [_call("anthropic", *two), _text("anthropic", "fine")])
        signed = {"extra_content": {"google": {"thought_signature": "s"}}}
        own = _chat({"content": None, "tool_calls": [{**_CHAT_CALL, "id": "c", **signed}]})
        refusal = [{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}]
        answers = [(400, {}, json.dumps(refusal)), own, _text("chat", "ok")]
        server = _Server("chat", answers, prefix=False)
        run = agentloop.run(_model("chat", server), run.follow_up("more"), [get_weather])
        self.assertEqual((run.output, len(server.raw)), ("ok", 3))
        word = {"google": {"thought_signature": "skip_thought_signature_validator"}}
        calls = [c for m in server.said() for c in m.get("tool_calls", ())]
        want = [word, None, signed["extra_content"]]
        self.assertEqual([call.get("extra_content") for call in calls], want)
        self.assertNotIn("thought_signature", json.dumps(server.said(0)))
        for message in server.said():
            self.assertNotIn("thought_signature", message)

    def test_a_property_that_is_demanded_and_not_permitted(self):
        words = "reasoning_content: Extra inputs are not permitted; only the required fields may be sent"
        answers = [_asks("chat"), (400, {}, {"error": {"message": words}}), _text("chat", "ok")]
        self.fails("chat", answers, "bad_request", 400)  # none was sent, and none is added
        answers[0]["choices"][0]["message"]["reasoning_content"] = "hm"
        server = self.play("chat", answers, prefix=False)[1]
        sent = ["reasoning_content" in m for m in (server.said(1)[1], server.said(2)[1])]
        self.assertEqual(sent, [True, False])

    def test_a_demand_that_cannot_be_met_is_an_error(self):
        for protocol in ("responses", "anthropic"):
            with self.subTest(protocol=protocol):
                refusal = (400, {}, {"error": {"message": "reasoning_content is required"}})
                _, server = self.fails(protocol, [refusal], "bad_request", 400)
                self.assertEqual(len(server.raw), 1)
        message = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
        message["reasoning"] = "x"
        for words in ("Missing field 'other'", "'reasoning' is required"):
            with self.subTest(words=words):  # nothing that we could add, and nothing left out
                answers = [_chat(message), (400, {}, {"error": {"message": words}})]
                _, server = self.fails("chat", answers, "bad_request", 400)
                self.assertEqual(len(server.raw), 2)
        error = {"message": "The encrypted content gAAA could not be verified."}
        error["code"] = "invalid_encrypted_content"
        reply = {"status": "completed", "output": [_REASONING, *_asks("responses")["output"]]}
        answers = [reply, (400, {}, {"error": error})]
        _, server = self.fails("responses", answers, "bad_request", 400)
        self.assertIn("include", server.sent[1])

    def test_at_most_eight_repairs(self):
        names = ["vendor_%s" % letter for letter in "abcdefghijkl"]
        message = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
        message.update(dict.fromkeys(names, 1))
        refusals = [(400, {}, {"error": "Unsupported property: '%s'" % name}) for name in names]
        error, server = self.fails("chat", [_chat(message), *refusals], "bad_request", 400)
        self.assertEqual(len(server.raw), 1 + 1 + 8)
        self.assertIn("vendor_i", str(error))
        self.assertEqual(self.waits, [])
        answers = [_chat(message), *refusals[:8], _text("chat", "ok")]
        self.assertEqual(self.play("chat", answers, prefix=False)[0].output, "ok")


class FailedGenerationTests(_ModelCase):
    """A call that the server could not read is shown to the model."""

    def test_tool_use_failed(self):
        error = {"message": "Failed to call a function.", "type": "invalid_request_error"}
        error.update(code="tool_use_failed", failed_generation="<function=get_weather>{x")
        answers = [(400, {}, {"error": error}), _text("chat", "ok")]
        run, server = self.play("chat", answers)
        self.assertEqual((_statuses(run), run.output), (["invalid_response"], "ok"))
        self.assertIn("<function=get_weather>{x", run.steps[0].observation)
        self.assertIn("<function=get_weather>{x", _notice(server.sent[1]))
        del error["failed_generation"]
        self.assertEqual(self.play("chat", answers)[0].output, "ok")
        for code in ("json_validate_failed", "output_parse_failed"):  # no JSON, nothing to read
            with self.subTest(code=code):
                error.update(code=code, failed_generation='{"city": ')
                run, server = self.play("chat", answers)
                self.assertEqual((_statuses(run), run.output), (["invalid_response"], "ok"))
                self.assertIn('{"city": ', _notice(server.sent[1]))

    def test_tool_use_failed_inside_the_message_of_a_proxy(self):
        """The model is shown what it wrote (OpenHands#10187)."""
        error = {"message": "Failed to call a function.", "type": "invalid_request_error"}
        error.update(code="tool_use_failed", failed_generation="import csv\nprint(Rome)")
        inner = json.dumps({"error": error})
        proxy = "litellm.BadRequestError: GroqException - %s\n. Received Model Group=coding"
        for words in (proxy % inner, inner, json.dumps(error)):
            with self.subTest(words=words):
                wrapped = {"message": words, "code": "400"}
                answers = [(400, {}, {"error": wrapped}), _text("chat", "ok")]
                run, server = self.play("chat", answers)
                self.assertEqual(_statuses(run), ["invalid_response"])
                self.assertIn("print(Rome)", _notice(server.sent[1]))
        others = ["tool_use_failed, they say", 'x {"code": "tool_use_failed"']
        for words in [*others, 'a {"code": "tool_use_failed_2"}']:
            with self.subTest(words=words):  # no such error
                answers = [(400, {}, {"error": {"message": words}})]
                self.fails("chat", answers, "bad_request", 400)

    def test_tool_use_failed_in_a_stream(self):
        error = {"message": "Failed.", "type": "invalid_request_error", "code": "tool_use_failed"}
        error["failed_generation"] = "<function=x>"
        events = _sse({"error": error})
        for answer in (events, {"error": error}, [b"event: error\n" + events[0]]):
            with self.subTest(answer=answer):
                run, _ = self.play("chat", [answer, _text("chat", "ok")], on_text=len)
                self.assertEqual(_statuses(run), ["invalid_response"])
                self.assertIn("<function=x>", run.steps[0].observation)


# -- the three protocols ---------------------------------------------------------------------------


class ChatTests(_ModelCase):
    """Chat Completions: messages come back as they came, or repaired."""

    def test_chat_messages_come_back_as_they_came(self):
        call = {**_CHAT_CALL, "function": {"name": "get_weather"}}
        call["function"]["arguments"] = '{"city":  "B\u00fc", "city":"B"}'
        signed = {**call, "extra_content": {"google": {"thought_signature": "s=="}}}
        second = {**call, "id": "b"}
        texts = [{"type": "text", "text": "hm"}]
        thought = [{"type": "thinking", "thinking": texts, "closed": True}]
        named = {**call, "function": {**call["function"], "thought": [1], "note": None}}
        rows = [
            {"content": None, "tool_calls": [call]},
            {"content": "", "tool_calls": [call]},
            {"content": "I look.", "tool_calls": [call]},
            {"content": None, "tool_calls": [call], "reasoning_content": ""},
            {"content": None, "tool_calls": [call], "reasoning_content": "first ..."},
            {"content": None, "tool_calls": [call], "reasoning": "first ..."},
            {"content": "", "tool_calls": [call], "reasoning_details": [{"type": "a"}, {"b": [2]}]},
            {"content": None, "tool_calls": [signed, second]},
            {"content": thought + [{"type": "text", "text": "so"}], "tool_calls": [call]},
            {"content": thought, "tool_calls": [call]},
            {"content": None, "tool_calls": [{**call, "new": {"x": 1.0}}], "unknown": [None, ""]},
            {"content": None, "tool_calls": [named], "annotations": [], "audio": None},
            {"content": "text", "refusal": None, "function_call": None, "tool_calls": [call]},
            {"content": "answer", "reasoning_content": "r", "thing": {"y": []}},
            {"content": thought + [{"type": "text", "text": "answer"}]},
            {"content": "answer", "function_call": None, "refusal": ""},
        ]
        for row in rows:
            with self.subTest(message=row):
                message = {"role": "assistant", **row}
                server = _Server("chat", [_chat(message), _text("chat", "ok")])
                model = _model("chat", server)
                run = agentloop.run(model, "go", [get_weather], max_requests=1)
                if row.get("tool_calls"):
                    self.assertEqual(run.steps[0].action.message, message)
                    self.assertEqual(run.steps[0].observation, "sunny in B")
                else:
                    self.assertEqual((run.finish.message, run.output), (message, "answer"))
                agentloop.run(model, run.follow_up("and?"), [get_weather])
                sent = server.said()[1]
                self.assertEqual(sent, message)
                self.assertEqual(list(sent), list(message))

    def test_chat_repairs_calls(self):
        f = _CHAT_CALL["function"]
        server = self.play("chat", [
            _chat({"content": "a", "tool_calls": [{"id": "a", "function": f}]}),
            _chat({"content": "b", "tool_calls": [{"id": "b", "type": None, "function": f}]}),
            _chat({"content": "c", "tool_calls": [{"id": "c", "type": "", "function": None}]}),
            _text("chat", "ok"),
        ])[1]  # fmt: skip
        said = [m for m in server.said() if m["role"] == "assistant"]
        self.assertEqual([m["tool_calls"][0]["type"] for m in said], ["function"] * 3)
        for empty in ([], None, {}, ""):
            with self.subTest(tool_calls=empty):
                message = {"role": "assistant", "content": "ok", "tool_calls": empty}
                answers = [_chat(message), _text("chat", "b")]
                run, server = self.play_two_turns("chat", answers, tools=())
                self.assertEqual(server.said()[1], {"role": "assistant", "content": "ok"})
                self.assertEqual(run.finish.message, message)

    @_unrecorded  # no type allows what this server says
    def test_an_entry_without_a_call_is_none(self):
        bare = {"id": "", "type": "function"}
        blank = {"id": None, "function": {"name": "", "arguments": ""}}
        for nothing in ([bare], [blank, bare], [{}], [{"function": None}]):
            with self.subTest(nothing=nothing):
                message = {"role": "assistant", "content": "ok", "tool_calls": nothing}
                delta = [{"index": n, **entry} for n, entry in enumerate(nothing)]
                for answer in (_chat(message), _deltas({"content": "ok"}, delta, reason="stop")):
                    run, server = self.play_two_turns("chat", [answer, _text("chat", "b")])
                    self.assertEqual((run.steps, run.output), ([], "ok"))
                    self.assertEqual(server.said()[1], {"role": "assistant", "content": "ok"})
                beside = {"content": None, "tool_calls": [*nothing, _CHAT_CALL]}
                run, server = self.play("chat", [_chat(beside), _text("chat", "ok")])
                self.assertEqual(server.said()[1]["tool_calls"], [_CHAT_CALL])

    @_unrecorded  # a custom call has no `function`: no type allows what this server says
    def test_only_a_missing_type_of_a_call_is_repaired(self):
        other = {**_CHAT_CALL, "type": "custom"}
        answers = [_chat({"content": "a", "tool_calls": [other]}), _text("chat", "ok")]
        server = self.play("chat", answers, strict=False)[1]
        self.assertEqual(server.said()[1]["tool_calls"], [other])

    def test_messages_without_content_or_role(self):
        message = {"role": "assistant", "tool_calls": [_CHAT_CALL]}
        run, server = self.play("chat", [_chat(message), _text("chat", "ok")])
        self.assertEqual(server.said()[1], message)  # no content came, none goes back
        self.assertEqual(run.steps[0].action.message, message)
        for message in ({"role": None}, {"role": ""}, {}):
            with self.subTest(message=message):
                answers = [_chat({**message, "content": "ok"}), _text("chat", "b")]
                _, server = self.play_two_turns("chat", answers, tools=())
                self.assertEqual(server.said()[1], {"role": "assistant", "content": "ok"})
        for content, back in ((5, None), ({}, None), ([None], "")):
            with self.subTest(content=content, beside="a call"):
                message = {"role": "assistant", "content": content, "tool_calls": [_CHAT_CALL]}
                server = self.play("chat", [_chat(message), _text("chat", "ok")])[1]
                self.assertEqual(server.said()[1]["content"], back)
        for content in ([], [None], [{"type": "text", "text": ""}], {}, 5, "", None):
            with self.subTest(content=content):
                message = {"role": "assistant", "content": content}
                server = self.play("chat", [_chat(message), _text("chat", "ok")])[1]
                self.assertIsInstance(server.said()[1]["content"], str)
                self.assertTrue(server.said()[1]["content"].strip())

    def test_the_form_before_tool_calls_is_no_call(self):
        """Nobody asks for it any more; servers that send zero values send it empty."""
        f = _CHAT_CALL["function"]
        rows = [  # beside the content; statuses, whether a call goes back
            ("ok", {"function_call": {"name": "", "arguments": ""}}, [], False),
            ("ok", {"function_call": f}, [], False),
            ("", {"function_call": f}, ["invalid_response"], False),
            (None, {"function_call": {}, "tool_calls": [_CHAT_CALL]}, ["ok"], True),
            (None, {"function_call": f, "tool_calls": [{**_CHAT_CALL, "custom": {}}]},
             ["ok"], True),
        ]  # fmt: skip
        for content, more, statuses, has_call in rows:
            for stream in (False, True):
                with self.subTest(more=more, stream=stream):
                    message = {"role": "assistant", "content": content, **more}
                    answers = [_chat(message, ""), _text("chat", "ok"), _text("chat", "end")]
                    if stream:
                        answers[0] = _sse({"choices": [{"delta": message}]})
                    run, server = self.play_two_turns("chat", answers)
                    self.assertEqual((run.output, _statuses(run)), ("ok", statuses))
                    self.assertNotIn("function_call", server.said()[1])
                    self.assertEqual("tool_calls" in server.said()[1], has_call)

    def test_several_choices_are_one_reply(self):
        """Gateways before Claude and the Responses API put its blocks into choices of their own."""
        text = {"role": "assistant", "content": "Let me see."}
        both = []
        for n in "ab":
            f = {"name": "get_weather", "arguments": '{"city": "%s"}' % n}
            both.append({"id": n, "type": "function", "function": f})
        calls = [{"role": "assistant", "content": None, "tool_calls": [call]} for call in both]
        more = {"role": "assistant", "content": " Yes.", "reasoning": "hm"}
        rows = [  # the messages of the choices; text, calls of the one message
            ([text, calls[0]], "Let me see.", both[:1]),
            ([calls[0], text], "Let me see.", both[:1]),
            ([text, calls[0], more, calls[1]], "Let me see. Yes.", both),
            ([{"content": "Let me see."}, None, calls[1]], "Let me see.", both[1:]),
        ]
        for messages, content, wanted in rows:
            for stream in (False, True):
                with self.subTest(messages=messages, stream=stream):
                    key = "delta" if stream else "message"
                    choices = [
                        {"index": n, "finish_reason": "stop", key: message}
                        for n, message in enumerate(messages)
                    ]
                    answer = {"choices": choices}
                    if stream:
                        answer = _sse(*({"choices": [c]} for c in choices))
                    texts = []
                    on_text = texts.append if stream else None
                    run, server = self.play("chat", [answer, _text("chat", "ok")], on_text=on_text)
                    sent = server.said()[1]
                    self.assertEqual((sent["content"], sent["tool_calls"]), (content, wanted))
                    self.assertEqual({s.action.log for s in run.steps}, {content})
                    self.assertEqual(_statuses(run), ["ok"] * len(wanted))
                    self.assertEqual("".join(texts), content + "ok" if stream else "")
        cut = {"message": calls[0], "finish_reason": "length"}
        document = {"choices": [{"message": text}, cut]}
        run, _ = self.play("chat", [document, _text("chat", "ok")])
        self.assertEqual(_statuses(run), ["invalid_response"])

    def test_where_several_choices_were_asked_for_the_first_is_the_reply(self):
        first = {"role": "assistant", "content": "Let me see."}
        second = {"role": "assistant", "content": " Yes.", "reasoning": "hm"}
        document = {"choices": [{"index": 0, "message": first}, {"index": 1, "message": second}]}
        deltas = [{"index": 1, "delta": second}, {"index": 0, "delta": first}]
        stream = _sse(*({"choices": [d]} for d in deltas))
        for answer, on_text in ((document, None), (stream, len)):
            with self.subTest(on_text=on_text):
                run, _ = self.play("chat", [answer], body={"n": 2}, on_text=on_text)
                self.assertEqual(run.output, "Let me see.")

    def test_a_filtered_choice_without_a_message(self):
        """Azure leaves the message out where the filter took all of it."""
        choice = {"index": 0, "finish_reason": "content_filter", "logprobs": None}
        for answer in ({"choices": [choice]}, _sse({"choices": [choice]})):
            with self.subTest(answer=answer):
                server = _Server("chat", [answer, _text("chat", "ok")])
                model = _model("chat", server, retries=0)
                run = agentloop.run(model, "go")
                self.assertEqual((run.finish.reason, run.output), ("refusal", ""))
                self.assertEqual(agentloop.run(model, run.follow_up("Why?")).output, "ok")


class ResponsesTests(_ModelCase):
    """The Responses API: which items of a reply go back."""

    def test_responses_items_come_back_without_id_and_status(self):
        call, thought = _RESPONSES_CALL, _REASONING
        text = {"type": "message", "role": "assistant", "phase": "commentary"}
        text["content"] = [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []}]
        search = {"type": "web_search_call", "action": {"q": "x"}}
        stored = {"id": "x_1", "status": "completed"}
        blank = {**text, "content": [{"type": "output_text", "text": " \n"}]}
        refused = {**text, "content": [{"type": "refusal", "refusal": ""}]}
        plain = {"type": "reasoning", "content": [{"text": "x"}], "id": "r"}
        second = {**thought, "encrypted_content": "f"}
        new, new2 = {"type": "new", "id": "1"}, {"type": "new2", "z": 1}
        rows = [  # the items of the reply; what of them goes back
            ([thought, call], [thought, call]),
            ([{**thought, **stored}, {**text, **stored}, {**call, **stored}],
             [thought, text, call]),
            ([{**search, **stored}, call], [{**search, **stored}, call]),
            ([new, call, new2], [new, call, new2]),
            ([{"type": "reasoning", "id": "rs_1", "summary": []}, call], [call]),
            ([{"type": "reasoning", "content": [], "summary": [], "id": "r"}, call], [call]),
            ([plain, call],
             [{"type": "reasoning", "content": [{"text": "x"}], "summary": []}, call]),
            ([call, thought], [call]),
            ([call, thought, second], [call]),
            ([thought, second, call], [thought, second, call]),
            ([{**text, "content": []}, call], [call]),
            ([thought, blank, call], [thought, call]),
            ([thought, call, {**call, "call_id": "b"}], [thought, call, {**call, "call_id": "b"}]),
            ([call, blank, thought, {**blank, "content": []}], [call]),
            ([refused, call], [call]),
            ([{"encrypted_content": "e", "type": "reasoning"}, call], [thought, call]),
        ]  # fmt: skip
        for items, back in rows:
            with self.subTest(items=items):
                document = {"status": "completed", "output": items}
                run, server = self.play("responses", [document, _text("responses", "ok")])
                n = len(run.steps)
                self.assertEqual(server.said()[1:-n], back)
                self.assertEqual(run.steps[0].action.message, items)
                self.assertEqual(_statuses(run), ["ok"] * n)

    def test_calls_of_a_client_that_nobody_runs(self):
        """`No tool output found for custom tool call`, in each request from then on."""
        call, thought = _RESPONSES_CALL, _REASONING
        kinds = ["custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"]
        for kind in [*kinds, "computer_call"]:
            foreign = {"type": kind, "id": "x_1", "call_id": "x", "status": "completed"}
            output = {"type": kind + "_output", "call_id": "x", "output": "8"}
            rows = [  # the items of the reply; what of them goes back
                ([foreign, call], [call]),
                ([thought, foreign, call], [thought, call]),
                ([call, thought, foreign], [call]),
                ([foreign, output, call], [foreign, output, call]),
            ]
            for items, back in rows:
                with self.subTest(kind=kind, items=items):
                    document = {"status": "completed", "output": items}
                    run, server = self.play("responses", [document, _text("responses", "ok")])
                    self.assertEqual(server.said()[1:-1], back)
                    self.assertEqual(_statuses(run), ["ok"])
            with self.subTest(kind=kind):  # alone it is an empty reply
                document = {"status": "completed", "output": [thought, foreign]}
                run, server = self.play("responses", [document, _text("responses", "ok")])
                self.assertEqual(_statuses(run), ["invalid_response"])
                self.assertEqual([i["type"] for i in server.said()], ["message"] * 3)

    def test_a_responses_reply_of_which_nothing_can_be_sent(self):
        blank = {"type": "message", "role": "assistant", "content": []}
        for items in ([], [_REASONING], [blank]):
            with self.subTest(items=items):
                answers = [{"status": "completed", "output": items}, _text("responses", "ok")]
                run, server = self.play("responses", answers)
                self.assertEqual(_statuses(run), ["invalid_response"])
                _task, stand_in, notice = server.said()
                self.assertEqual((stand_in["type"], stand_in["role"]), ("message", "assistant"))
                self.assertTrue(stand_in["content"].strip())
                self.assertIn("neither a call nor an answer", notice["content"])

    def test_the_final_answer_of_the_responses_api(self):
        """A comment taken for a part of the answer makes models stop early (langchain4j#6399)."""

        def message(text, phase=None):
            content = [{"type": "output_text", "text": text}]
            return {"type": "message", "role": "assistant", "content": content, "phase": phase}

        one, two, end = message("I look. ", "commentary"), message("Hm. "), "final_answer"
        rows = [  # the items; the answer and the comment
            ([one, message("done", end)], "done", "I look. "),
            ([message("do", end), one, two, message("ne", end)], "done", "I look. Hm. "),
            ([one, two], "I look. Hm. ", ""),
            ([message("done", end)], "done", ""),
        ]
        for items, answer, comment in rows:
            with self.subTest(items=items):
                answers = [{"output": items}, _text("responses", "ok")]
                run, server = self.play_two_turns("responses", answers)
                self.assertEqual((run.output, run.finish.log), (answer, comment))
                self.assertEqual(server.said()[1:-1], items)
                body = _body("chat", run.follow_up("more"))
                self.assertEqual(body["messages"][1]["content"], answer)
        items = [one, message("so", end), _RESPONSES_CALL]
        run, _ = self.play("responses", [{"output": items}, _text("responses", "ok")])
        self.assertEqual(run.steps[0].action.log, "I look. so")

    def test_the_status_of_a_response(self):
        for status in ("cancelled", "in_progress"):
            with self.subTest(status=status), _logged() as log:
                answers = [_text("responses", "part", status=status), _text("responses", "ok")]
                run, _ = self.play("responses", answers)
                self.assertEqual(run.output, "ok" if status == "cancelled" else "part")
                self.assertEqual("in_progress" in log.getvalue(), status == "in_progress")


class AnthropicTests(_ModelCase):
    """The Messages API: which blocks go back, pauses, the cache, errors."""

    def test_anthropic_blocks_come_back_as_they_came(self):
        use = {**_ANTHROPIC_CALL, "input": {"city": "B", "n": 1.0}}
        rows = [
            [{"type": "thinking", "thinking": "hm", "signature": "s"}, use],
            [{"type": "thinking", "thinking": "", "signature": "s"}, use],
            [{"type": "redacted_thinking", "data": "xx"}, {"type": "text", "text": "a"}, use],
            [use, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web", "input": {}}],
            [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, use],
            [{"type": "brand_new", "x": [None]}, {**use, "caller": {"type": "direct"}}],
            [{"type": "text", "text": "a", "citations": [{"b": 1}]}, use],
            [{"type": "text", "text": " \n padded "}, use],
        ]
        for blocks in rows:
            with self.subTest(blocks=blocks):
                document = {"content": blocks, "stop_reason": "tool_use", "id": "msg_1"}
                run, server = self.play("anthropic", [document, _text("anthropic", "ok")])
                self.assertEqual(server.said()[1], {"role": "assistant", "content": blocks})
                self.assertEqual(run.steps[0].action.message["content"], blocks)

    def test_anthropic_repairs_blocks(self):
        use = _ANTHROPIC_CALL
        blanks = [{"type": "text", "text": t} for t in ("", " \n", None)]
        rows = [  # the blocks of the reply; what of them goes back
            ([*blanks, use], [use]),
            ([blanks[0], use, blanks[1]], [use]),
            ([{**use, "input": None}], [{**use, "input": {}}]),
            ([{**use, "input": '{"city": "B"}'}], [use]),
            ([{**use, "input": [1]}], [{**use, "input": {}}]),
            ([{k: v for k, v in use.items() if k != "input"}], [{**use, "input": {}}]),
            ([{**use, "id": "a:b"}], [{**use, "id": "c00000001"}]),
        ]
        for blocks, back in rows:
            with self.subTest(blocks=blocks):
                document = {"content": blocks, "stop_reason": "tool_use"}
                run, server = self.play("anthropic", [document, _text("anthropic", "ok")])
                self.assertEqual(server.said()[1]["content"], back)
                self.assertEqual(run.steps[0].action.message["content"], blocks)
        for blocks in ([], blanks):
            with self.subTest(blocks=blocks):
                document = {"content": blocks, "stop_reason": "end_turn"}
                server = self.play("anthropic", [document, _text("anthropic", "ok")])[1]
                self.assertTrue(server.said()[1]["content"][0]["text"].strip())

    def test_anthropic_content_that_is_a_text(self):
        document = {"content": "ok", "stop_reason": "end_turn"}
        answers = [document, _text("anthropic", "b")]
        run, server = self.play_two_turns("anthropic", answers, tools=())
        self.assertEqual(run.output, "ok")
        self.assertEqual(_roles("anthropic", server.sent[1]), "uau")
        self.assertIn("ok", json.dumps(server.said()[1]))

    def test_what_a_cut_reply_of_anthropic_lacks(self):
        """Thinking without its signature, a call of the server's own tool without its result, a
        compaction without its summary: refused in each later request (langchain#29971,
        inspect_ai#4603)."""
        text = {"type": "text", "text": "I compute."}
        half = {"type": "thinking", "thinking": "First", "signature": ""}
        bare = {"type": "thinking", "thinking": "First"}
        signed = {**half, "signature": "s"}
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web", "input": {}}
        remote = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "input": '{"a'}
        found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        short = {"type": "compaction", "content": None}
        whole = {"type": "compaction", "content": "So far."}
        rows = [  # the blocks of the reply; what of them goes back
            ([half], []),
            ([bare, text], [text]),
            ([signed, text], [signed, text]),
            ([signed], [signed]),
            ([text, search], [text]),
            ([text, remote], [text]),
            ([search, found, text], [search, found, text]),
            ([short, text], [text]),
            ([whole, text], [whole, text]),
            ([{"type": "redacted_thinking", "data": "x"}], None),
        ]
        for blocks, back in rows:
            for reason in ("max_tokens", "refusal"):
                with self.subTest(blocks=blocks, reason=reason):
                    answers = [{"content": blocks, "stop_reason": reason}]
                    answers += [_text("anthropic", "ok"), _text("anthropic", "end")]
                    _, server = self.play_two_turns("anthropic", answers)
                    sent = server.said()[1]["content"]
                    back = blocks if back is None else back
                    stand_in = sent[len(back) :]
                    self.assertEqual(sent[: len(back)], back)
                    kinds = [] if text in back else ["text"]
                    self.assertEqual([b["type"] for b in stand_in], kinds)

    def test_the_input_of_a_servers_tool_is_an_object(self):
        search = {"type": "server_tool_use", "id": "s", "name": "web", "input": '{"q": "x'}
        found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
        blocks = [search, found, _ANTHROPIC_CALL]
        answers = [{"content": blocks, "stop_reason": "tool_use"}, _text("anthropic", "ok")]
        server = self.play("anthropic", answers)[1]
        back = [{**search, "input": {}}, found, _ANTHROPIC_CALL]
        self.assertEqual(server.said()[1]["content"], back)

    def test_pause_turn(self):
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web", "input": {"q": "x"}}
        blocks = [{"type": "text", "text": "Searching."}, search]
        pause = {"content": blocks, "stop_reason": "pause_turn"}
        answers = [pause, _weather("anthropic"), _text("anthropic", "ok")]
        for stream in (False, True):
            with self.subTest(stream=stream):
                run, server = self.play("anthropic", answers, paused=True, stream=stream)
                self.assertEqual(server.said(1)[-1], {"role": "assistant", "content": blocks})
                self.assertEqual((run.requests, run.output), (3, "ok"))
                self.assertEqual(_statuses(run), ["invalid_response", "ok"])
                self.assertEqual(run.steps[0].observation, "")
        run, server = self.play("anthropic", [pause], paused=True, max_requests=1)
        self.assertEqual((run.state, run.output), ("budget_exhausted", None))

    def test_the_container_of_the_last_reply(self):
        """`container_id is required when there are pending tool uses generated by code execution`
        (anthropic-sdk-typescript#1114)."""
        plain = []
        for n, name in enumerate(("c1", None, "c2")):
            plain.append(_weather("anthropic", call_id="id%d" % n, usage={}))
            if name:
                plain[n]["container"] = {"id": name, "expires_at": "2026-12-01"}
        plain.append(_text("anthropic", "ok"))
        streamed = _streamed("anthropic", plain)
        for at in (0, 2):
            delta = {"stop_reason": "tool_use", "container": plain[at]["container"]}
            streamed[at][-2] = _sse({"type": "message_delta", "delta": delta}, done=False)[0]
        for answers, on_text in ((plain, None), (streamed, len)):
            with self.subTest(on_text=on_text):
                server = _Server("anthropic", answers, extra=["container"], prefix=False)
                model = _model("anthropic", server, on_text=on_text)
                run = agentloop.run(model, "go", [get_weather])
                sent = [body.get("container") for body in server.sent]
                self.assertEqual(sent, [None, "c1", "c1", "c2"])
                stored = _saved(run)
                body = _body("anthropic", stored.follow_up("?"))
                self.assertEqual(body["container"], "c2")
                # In another protocol's conversation there is no such thing.
                body = _body("chat", stored.follow_up("?"))
                _check_request("chat", body)
                self.assertNotIn("container", json.dumps(body))

    def test_is_error_marks_what_did_not_go_well(self):
        def fail() -> str:
            raise ValueError("no")

        rows = [  # the call; whether it is marked
            (("a", "get_weather", {"city": "B"}), False),
            (("b", "fail", {}), True),
            (("c", "nope", {}), True),
            (("d", "get_weather", {}), True),
        ]
        answers = [_call("anthropic", *(call for call, _ in rows)), _text("anthropic", "ok")]
        server = self.play("anthropic", answers, tools=[get_weather, fail])[1]
        marks = [b.get("is_error", False) for b in server.said()[-1]["content"]]
        self.assertEqual(marks, [is_marked for _, is_marked in rows])

    def test_cache_breakpoints(self):
        mark = {"cache_control": {"type": "ephemeral"}}
        answers = [_weather("anthropic", call_id="a%d" % n) for n in range(2)]
        answers.append(_text("anthropic", "ok"))
        _, server = self.play("anthropic", answers, cache=True, system="s", prefix=False)
        for body in server.sent:
            self.assertEqual(body["system"], [{"type": "text", "text": "s", **mark}])
            self.assertEqual({k: body["tools"][-1].get(k) for k in mark}, mark)
            self.assertEqual({k: body["messages"][-1]["content"][-1].get(k) for k in mark}, mark)
            self.assertEqual(json.dumps(body).count("cache_control"), 3)
        _, server = self.play("anthropic", [_text("anthropic", "ok")], cache=True, tools=())
        self.assertEqual(json.dumps(server.sent[0]).count("cache_control"), 1)
        self.assertNotIn("tools", server.sent[0])

    def test_cache_breakpoints_beside_tools_of_the_caller(self):
        mark = {"cache_control": {"type": "ephemeral"}}
        body = {"tools": [{"type": "web_search"}]}
        settings = {"cache": True, "body": body}
        _, server = self.play("anthropic", [_text("anthropic", "ok")], **settings)
        sent = [mark.items() <= t.items() for t in server.sent[0]["tools"]]
        self.assertEqual(sent, [False, True])
        self.assertEqual(body, {"tools": [{"type": "web_search"}]})
        _, server = self.play("anthropic", [_text("anthropic", "ok")], tools=(), **settings)
        self.assertEqual(server.sent[0]["tools"], [{"type": "web_search", **mark}])

    def test_no_cache_breakpoint_in_a_paused_turn(self):
        # It has the assistant's message last.
        pause = {"content": [{"type": "text", "text": "x"}], "stop_reason": "pause_turn"}
        answers = [pause, _text("anthropic", "ok")]
        _run, server = self.play("anthropic", answers, cache=True, paused=True, prefix=False)
        self.assertNotIn("cache_control", json.dumps(server.said()[-1]))
        self.assertIn("cache_control", json.dumps(server.sent[-1]["tools"]))


# -- text ------------------------------------------------------------------------------------------


class ReActReplyTests(_ReActCase):
    """Calls and answers, as models really write them."""

    @_counted_memory
    def test_a_long_reply_takes_memory_in_proportion(self):
        n = 500_000
        texts = ("x" * n, "x" * n + "</think>", "Final Answer: **" + "x" * n, "```\n" + "x" * n,
                 'Action: find\nAction Input: {"text": "' + "\\n" * n + "[" * 101)  # fmt: skip
        for text in texts:
            with self.subTest(text[:30]):
                peak = _memory_of(lambda text=text: self.drive([text, "Final Answer: end"]))
                self.assertLess(peak, 20 * n)

    def test_a_long_reply_is_read_in_one_pass(self):
        n = 100_000
        for text in ("a\n" + " " * n + "x", "a\n> " + " " * n + "**" + " " * n + "x",
                     "a\n" + "*" * n + " " * n + "x", "Action " + "1" * n + "x",
                     "Action: find\nFound\n" + " " * n + "Final"):  # fmt: skip
            with self.subTest(text[:30]), _at_once(self):
                run, ran, _ = self.drive([text, "Final Answer: end"])
                self.assertEqual(run.state, "model_ended")

    def test_one_reply(self):
        x, both = ("find", "x"), 'Thought: t\nAction: find\nAction Input: {"text": "x"}'
        rows = [  # the reply; what runs, or the answer
            (both, [x]),
            ('Action: find\nAction Input: {"text": "x"}', [x]),
            ('I look first.\n\nAction: find\nAction Input: {"text":"x"}', [x]),
            ('thought: t\naction: find\naction input: {"text": "x"}', [x]),
            ('**Thought:** t\n**Action:** find\n**Action Input:** {"text": "x"}', [x]),
            ('Thought 1: t\nAction 1: find\nAction Input 1: {"text": "x"}', [x]),
            ('> Action: find\n> Action Input: {"text": "x"}', [x]),
            ('Action: `find`\nAction Input: {"text": "x"}', [x]),
            ('Action: [find]\nAction Input: {"text": "x"}', [x]),
            ('Action: "find"\r\nAction Input: {"text": "x"}\r\n', [x]),
            ('Action\uff1afind\nAction Input\uff1a{"text": "x"}', [x]),
            ("Action: find\n\nAction Input:\n\n```json\n{\n \"text\": \"x\"\n}\n```\nThat is it.",
             [x]),
            ("Action: find\nAction Input: ```\n{\"text\": \"x\"}\n```", [x]),
            ('Action: find\nAction Input: {"text": "a } {b ```c"}', [("find", "a } {b ```c")]),
            ('Action: find\nAction Input:\n{\n"text": "if (x) { y } }"\n}\nNow I wait.',
             [("find", "if (x) { y } }")]),
            ("Action: find\nAction Input: {'text': 'x'}", [x]),
            ("Action: find\nAction Input: x", [x]),
            ('Action: find\nAction Input: "x"', [x]),
            ("Action: find\nAction Input: speed of\nlight", [("find", "speed of\nlight")]),
            ('Action: add\nAction Input: {"a": 2, "b": "3"}', [("add", 2, 3)]),
            ("Action: now", [("now",)]),
            ("Action: now\nAction Input:", [("now",)]),
            ("Action: now\nAction Input: None", [("now",)]),
            ("Action: now\nAction Input: {}", [("now",)]),
            (both + "\nObservation: fake\nThought: u\nAction: add\nAction Input: {\"a\":1,\"b\":2}",
             [x]),
            (both + "\nObservation: fake\nFinal Answer: invented", [x]),
            ('<think>Action: add\nAction Input: {"a":1,"b":1}</think>' + both, [x]),
            ("Hm, maybe.\n</think>\n" + both, [x]),
            (both + "\n<think>still", [x]),
            ('Action: add\nAction Input: {"a":1,"b":1}\nNo.</think>' + both, [x]),
            ("Final Answer: 1? No.</think>Final Answer: 42", "42"),
            ('{"action": "find", "action_input": {"text": "x"}}', [x]),
            ('```json\n{"action": "find", "action_input": "x"}\n```', [x]),
            ('{"call": {"action": "find", "action_input": {"text": "x"}}}', [x]),
            ('{"action": "now", "action_input": {}}', [("now",)]),
            ("Final Answer: 42", "42"),
            ("Thought: t\nFinal Answer: a\nb", "a\nb"),
            ("**Final Answer:** 42", "42"),
            ("Final answer: **42**", "42"),
            ("<think>x</think>Final Answer: 42", "42"),
            ("Hm.</think>\nFinal Answer: 42", "42"),
            ("Final Answer: Use:\nAction: find\nAction Input: {\"text\":\"z\"}",
             "Use:\nAction: find\nAction Input: {\"text\":\"z\"}"),
            ("Final Answer: Like:\n```\nAction: find\nAction Input: z\n```\nAll.",
             "Like:\n```\nAction: find\nAction Input: z\n```\nAll."),
            ("Action: None\nFinal Answer: 42", "42"),
            ('{"action": "Final Answer", "action_input": "42"}', "42"),
            ('Action: find ({"text": "x"})', [x]),
            ('Action: find({"text": "x"}\nAction Input: {"text": "y"}', [x]),
            ('Action: find {\n"text": "x"\n}\nI wait.', [x]),
            # The label of the input was forgotten.
            ('Action: find\n{"text": "x"}\nI wait.', [x]),
            ('Action: find\n\n```json\n{"text": "x"}\n```\nObservation: fake', [x]),
            ("Action: now\n[1] says so.", [("now",)]),
            ("Action: now\nI wait for {this}.", [("now",)]),
            ('Action: **find** ("x")', [x]),
            ("Action: now()", [("now",)]),
            ('Action: find\nAction Input: {"text": "a\nObservation: b"}',
             [("find", "a\nObservation: b")]),
            ("**Final Answer:** **42** items", "**42** items"),
            ("**Final Answer: 42**", "42"),
            ("Final Answer: a\n\n- b: c\n\nQuestion: What else?\nThought: n", "a\n\n- b: c"),
            ("Final Answer: a\nObservation: fake", "a"),
            ("Just chatting.", "Just chatting."),
            ("[1, 2]", "[1, 2]"),
            ('{"answer": 5}', '{"answer": 5}'),
            ("<think>hm</think>Hello!", "Hello!"),
            ("Action: find\nAction Input: 1.10", [("find", "1.10")]),
            ("Action: find\nAction Input: true", [("find", "true")]),
            ("Action: find\nAction Input: [1]", [("find", "[1]")]),
            ('Action: find (to know it)\nAction Input: {"text": "x"}', [x]),
            ('Action: find (see {that})\nAction Input: x', [x]),
            ("Action: find\nAction Input: x = 5\nprint(x)", [("find", "x = 5\nprint(x)")]),
            ("Action: find\nAction Input:\n```python\nx = 5\nprint(x)\n```",
             [("find", "x = 5\nprint(x)")]),
            ("Action: find\nAction Input: x = 5; print(x)", [("find", "x = 5; print(x)")]),
            ("Final Answer: the draft ends with </think> there", "the draft ends with </think> there"),
            ("Hm.</think> Hello!", "Hello!"),
            ("Final Answer: Ask this:\nQuestion: who pays?\nThen wait.",
             "Ask this:\nQuestion: who pays?\nThen wait."),
            ("Final Answer: a\nQuestion: b\nObservation: c", "a\nQuestion: b"),
        ]  # fmt: skip
        for reply, want in rows:
            with self.subTest(reply=reply):
                run, ran, prompts = self.drive([reply, "Final Answer: the end"])
                if isinstance(want, str):
                    self.assertEqual((run.output, ran, len(prompts)), (want, [], 1))
                    self.assertEqual(run.finish.message, reply)
                else:
                    self.assertEqual((ran, run.output), (want, "the end"))
                    self.assertEqual(run.steps[0].action.message, reply)
                    for word in ("fake", "invented", "still", "That is it", "Now I wait"):
                        self.assertNotIn(word, prompts[1])

    def test_a_long_blank_line_is_read_in_one_pass(self):
        for blank in (" ", "\t", "> "):
            reply = "Thought: t\n" + blank * 50_000 + "so\nFinal Answer: 5"
            with self.subTest(blank=blank), _at_little_cost(self):
                self.assertEqual(self.drive([reply])[0].output, "5")

    def test_doubtful_replies(self):
        reminder = "invalid_response"
        rows = [  # the reply; the status; words in the observation
            ("", reminder, "Final Answer"),
            ("<think>Action: now</think>", reminder, "Final Answer"),
            ("<think>never ends\nAction: now", reminder, "Final Answer"),
            ("Action: None\nAction Input: None", reminder, "Final Answer"),
            ("Action: n/a", reminder, "Final Answer"),
            ("Action:\nAction Input: x", reminder, "Final Answer"),
            ("Action Input: {}", reminder, "Final Answer"),
            ("```\nAction: now\n```", reminder, "Final Answer"),
            ('{"action": "unknown", "action_input": {}}', reminder, "Final Answer"),
            ('{"action": 5}', reminder, "Final Answer"),
            ("Thought: hm", reminder, "Final Answer"),
            ("Thought: hm\nFinal Answer:", reminder, "the answer"),
            ("**Final Answer:** \n\nObservation: 5", reminder, "the answer"),
            ('{"action": "Final Answer", "action_input": ""}', reminder, "the answer"),
            ('{"action": "Final Answer", "action_input": "  "}', reminder, "the answer"),
            ('{"action": "Final Answer"}', reminder, "the answer"),
            ("Action: Find\nAction Input: x", "unknown_tool", "find"),
            ("Action: nope\nAction Input: {}", "unknown_tool", "find"),
            ("Action: find", "invalid_arguments", "text"),
            ("Action: add\nAction Input: 2 and 3", "invalid_arguments", '"a"'),
            ('Action: add\nAction Input: {"a": 2', "invalid_arguments", "object"),
            ('Action: find\nAction Input: {"text": "x', "invalid_arguments", "object"),
            ('Action: find(text="x")', "invalid_arguments", "object"),
            ("Action: nope({})", "unknown_tool", "find"),
        ]
        for reply, status, words in rows:
            with self.subTest(reply=reply):
                run, ran, prompts = self.drive([reply, "Final Answer: ok"])
                self.assertEqual((_statuses(run), ran, run.output), ([status], [], "ok"))
                self.assertIn(words, run.steps[0].observation)
                self.assertIn(words, prompts[1])

    def test_names_in_every_script(self):
        ran = []
        namespace = {"ran": ran}
        exec(
            "def \u67e5(\u57ce: str) -> str:\n    ran.append(\u57ce)\n    return 'sun'\n"
            "def none(x: str = '') -> str:\n    ran.append('none')\n    return 'n'\n",
            namespace,
        )
        tools = [namespace["\u67e5"], namespace["none"]]
        replies = [
            'Action: \u67e5\nAction Input: {"\u57ce": "\u5317"}',
            "Action: \u67e5\nAction Input: \u5317",
            "Action: none\nAction Input: none",
            "Final Answer: ok",
        ]
        run, _, prompts = self.drive(replies, tools)
        self.assertEqual((run.output, ran), ("ok", ["\u5317", "\u5317", "none"]))
        self.assertIn("\u57ce", prompts[0])  # not \u escapes

    def test_an_input_that_is_no_object(self):
        def one(city: str, unit: str = "C") -> str:
            return city + unit

        def number(n: int) -> int:
            return n

        def two(a: str = "", b: str = "") -> str:
            return a

        def only(x: str = "") -> str:
            return x

        rows = [
            ("one", "Rome", "RomeC"),
            ("one", '"Rome"', "RomeC"),
            ("number", "5", 5),
            ("number", '"5"', 5),
            ("only", "abc", "abc"),
            ("two", "abc", None),
            ("number", "many", None),
        ]
        for name, given, want in rows:
            with self.subTest(name=name, given=given):
                reply = "Action: %s\nAction Input: %s" % (name, given)
                run, _, _ = self.drive([reply, "Final Answer: ok"], [one, number, two, only])
                if want is None:
                    self.assertEqual(_statuses(run), ["invalid_arguments"])
                else:
                    self.assertEqual(run.steps[0].observation, want)

    def test_complete_gives_a_str(self):
        for value in (None, b"x", 5, ["x"]):
            with self.subTest(value=value):
                with self.assertRaises(TypeError):
                    self.drive([value])

    @_each_protocol
    def test_a_refusal_of_the_server_s_model_is_one(self, protocol):
        how = {"reason": "refusal"}
        if protocol == "responses":
            how = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
        answer = _text(protocol, "I will not.", usage=_usage(protocol, 9, 4), **how)
        model = agentloop.ReActText(_model(protocol, _Server(protocol, [answer])).complete)
        run = agentloop.run(model, "go", [get_weather])
        self.assertEqual((run.finish.reason, run.output), ("refusal", "I will not."))
        self.assertEqual(run.usage["output_tokens"], 4)

    def test_what_complete_raises_passes(self):
        def complete(prompt):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine") as caught:
            self.drive([], model=agentloop.ReActText(complete))
        self.assertEqual(caught.exception.agent_run.requests, 1)


class ReActPromptTests(_ReActCase):
    """What a model is shown of the run."""

    def test_the_prompt(self):
        template = "T<{tools}> N<{names}> Q<{task}> S<{steps}> {other} {{x}}"

        def add(a: int, b: int) -> int:
            """Add {names} up."""
            return a + b

        prompts = []
        replies = iter(['Action: add\nAction Input: {"a": 1, "b": 2}', "Final Answer: ok"])

        def complete(prompt):
            prompts.append(prompt)
            return next(replies)

        model = agentloop.ReActText(complete, template)
        run = agentloop.run(model, "{task} {steps} \\1", [add])
        self.assertIn("add: Add {names} up.", prompts[0])
        self.assertIn('"required": ["a", "b"]', prompts[0])
        self.assertIn("N<add> Q<{task} {steps} \\1> S<>", prompts[0])
        self.assertIn("{other} {{x}}", prompts[0])
        steps = 'S<Action: add\nAction Input: {"a": 1, "b": 2}\nObservation: 3\n>'
        self.assertIn(steps, prompts[1])
        unended = agentloop.AgentRun("{task} {steps} \\1", steps=run.steps)
        self.assertEqual(model.prompt(unended, agentloop.registry([add])), prompts[1])

    def test_the_template(self):
        for part in ("{tools}", "{names}", "{task}", "{steps}"):
            self.assertEqual(agentloop.REACT_TEMPLATE.count(part), 1)
        for word in ("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:"):
            self.assertIn(word, agentloop.REACT_TEMPLATE)
        bare = agentloop.ReActText(str).prompt(agentloop.AgentRun("x"), {})
        self.assertTrue(bare.rstrip().endswith("Question: x"))
        self.assertIn("(none)", bare)

    def test_follow_up(self):
        replies = ["Action: find\nAction Input: x", "Thought: t\nFinal Answer: one"]
        run, _ran, prompts = self.drive(replies)
        second, _, more = self.drive(["Final Answer: two"], task=run.follow_up("And?"))
        self.assertTrue(more[0].startswith(prompts[-1]))
        self.assertIn("one", more[0][len(prompts[-1]) :])
        self.assertTrue(more[0].rstrip().endswith("Question: And?"))
        _third, _, last = self.drive(["Final Answer: three"], task=second.follow_up("Last"))
        self.assertTrue(last[0].startswith(more[0]))

    def test_follow_up_on_return_direct(self):
        @agentloop.tool(return_direct=True)
        def give(n: int) -> int:
            return n

        run, _, prompts = self.drive(["Action: give\nAction Input: 5"], [give])
        self.assertEqual((run.output, run.finish.reason), (5, "return_direct"))
        _again, _, more = self.drive(["Final Answer: ok"], [give], task=run.follow_up("And?"))
        self.assertTrue(more[0].startswith(prompts[0]))
        self.assertEqual(more[0][len(prompts[0]) :].count("5"), 2)  # the input, the observation

    def test_runs_of_other_models(self):
        act, step = agentloop.AgentAction, agentloop.AgentStep
        scripted = agentloop.AgentRun("go", steps=[
            step(act("find", {"text": "\u00fc"}, "a", "I look."), "seen"),
            step(act("find", '{"text": 1}', "b", "", {"x": 1}), 5),
            step(act("", {}), "Again.", "invalid_response"),
        ])  # fmt: skip
        _, _, prompts = self.drive(["Final Answer: ok"], task=scripted)
        first = (
            'Thought: I look.\nAction: find\nAction Input: {"text": "\u00fc"}\nObservation: seen\n'
        )
        self.assertIn(first, prompts[0])
        self.assertIn('Action: find\nAction Input: {"text": 1}\nObservation: 5\n', prompts[0])
        self.assertIn("Observation: Again.", prompts[0])

    def test_a_rejected_answer(self):
        reasons = iter(["Not that.", None])
        replies = ["Thought: t\nFinal Answer: one", "Final Answer: two"]
        run, _, prompts = self.drive(replies, accept=lambda run: next(reasons))
        self.assertEqual((run.state, run.output), ("succeeded", "two"))
        self.assertIn("Thought: t\nFinal Answer: one\nObservation: Not that.", prompts[1])

    def test_pictures_and_long_observations(self):
        def shot() -> object:
            return ["see", agentloop.Image(b"12345", "image/jpeg")]

        def much() -> str:
            return "m" * 50_000

        replies = ["Action: shot", "Action: much", "Final Answer: ok"]
        _run, _, prompts = self.drive(replies, [shot, much], task=["what", agentloop.Image(b"x")])
        self.assertIn("what", prompts[0])
        self.assertIn("image/png", prompts[0])
        self.assertRegex(prompts[1], "see\n.*image/jpeg.*5 bytes")
        self.assertNotIn(base64.b64encode(b"12345").decode(), prompts[1])
        self.assertLess(len(prompts[2]), 25_000)

    def two_turns(self):
        """A run with two steps (33333..., 44444...) and two in its history (11111..., 22222...)."""
        steps = []
        for n in range(1, 5):
            action = agentloop.AgentAction("much", {"n": n}, "c%d" % n, request=n)
            steps.append(agentloop.AgentStep(action, "%d" % n * 50))
        earlier = agentloop.AgentRun("before", steps=steps[:2], finish=_end("so"))
        return agentloop.AgentRun("go", steps=steps[2:], requests=4, history=[earlier])

    def test_trim(self):
        """What is sent is chosen; the run stays whole."""

        def much(n: int) -> str:
            """Return much."""
            return "%d" % n * 50

        def shorten(steps):
            return [dataclasses.replace(s, observation="short") for s in steps[1:]]

        def deep(steps):
            copies = copy.deepcopy(steps[2:])
            copies[0].observation = "deep"
            return copies

        run = self.two_turns()
        rows = [  # trim; what is in the prompt; what is not
            (None, ["11111", "44444"], ["missing"]),
            (1, ["44444"], ["33333", "22222"]),
            (0, ["before", "so", "go"], ["11111", "44444"]),
            (9, ["11111", "44444"], []),
            (shorten, ["Observation: short", '{"n": 2}'], ["22222", '{"n": 1}']),
            (deep, ["Observation: deep", "44444"], ["33333", "22222"]),
            (lambda steps: steps[3:], ["44444"], ["33333"]),
        ]
        for trim, there, absent in rows:
            with self.subTest(trim=trim):
                model = agentloop.ReActText(str, trim=trim)
                prompt = model.prompt(run, agentloop.registry([much]))
                for text in there + ["before", "Final Answer: so", "Question: go"]:
                    self.assertIn(text, prompt)
                for text in absent:
                    self.assertNotIn(text, prompt)
        self.assertEqual(run.steps[1].observation, "4" * 50)
        odd = agentloop.AgentStep(_act("much", "another"), "x")
        with self.assertRaisesRegex(ValueError, "trim.*call_id"):
            agentloop.ReActText(str, trim=lambda steps: [odd]).prompt(run, {})

    def test_max_observation(self):
        cut = agentloop.ReActText(str, max_observation=20).prompt(self.two_turns(), {})
        self.assertNotIn("4" * 20, cut)
        self.assertIn("[... characters 15 to 44 of 50 are missing ...]", cut)

    def test_tokens_of_a_server_count(self):
        replies = ["Action: find\nAction Input: x", "Final Answer: ok"]
        answers = [_text("chat", text, usage=_usage("chat", 5, 2)) for text in replies]
        model = _model("chat", _Server("chat", answers, prefix=False))
        run, ran, _ = self.drive([], model=agentloop.ReActText(model.complete))
        self.assertEqual((ran, run.output), ([("find", "x")], "ok"))
        self.assertEqual((run.usage["input_tokens"], run.usage["output_tokens"]), (10, 4))

    def test_two_hundred_steps(self):
        replies = ["Action: find\nAction Input: %d" % n for n in range(200)] + ["Final Answer: ok"]
        run, ran, _prompts = self.drive(replies, max_requests=201)
        self.assertEqual((len(ran), run.output), (200, "ok"))


# == command line ==================================================================================


class DemoTests(_CommandLineCase):
    """Without arguments: a demonstration, and which line to try next."""

    def test_demo(self):
        status, out, err = self.call()
        lines = out.splitlines()
        self.assertEqual((status, err), (0, ""))
        self.assertLessEqual(6, len(lines))
        self.assertLessEqual(len(lines), 10)
        self.assertIn("invalid_arguments", out)
        self.assertIn("-> ok: ", out)
        self.assertIn("finish: ", out)
        self.assertIn("model_ended", lines[-1])
        self.assertIn("python3 agentloop.py", lines[-1])
        self.assertIn("--model", lines[-1])


# -- what a person sees ----------------------------------------------------------------------------


def _print_now(*values, end="\n", file=None, flush=False):
    """print(), as a terminal would have it: at once."""
    file = file or sys.stdout
    file.write(" ".join(map(str, values)) + end)


class ScreenTests(_CommandLineCase):
    """The answer on standard output, events on standard error."""

    @_sockets
    def test_a_failed_run_as_json(self):
        answers = [("lookup_stock", {"sku": "A1"}), 401]
        status, out, _ = self.ask("q", "--json", "--tools", self.tools, answers=answers)
        run = agentloop.from_json(json.loads(out))
        self.assertEqual((status, run.state, _statuses(run)), (1, "running", ["ok"]))

    @_sockets
    def test_without_standard_error(self):
        """What would go there does not go into the answer."""
        self.server.seen[:], self.server.answers[:] = [], ["the answer"]
        args = ["q", "--model", "m", "--base-url", self.server.url]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            with mock.patch.object(sys, "stderr", None):
                self.assertEqual(agentloop.main(args), 0)
                sys.stderr.close()
        self.assertEqual(out.getvalue(), "the answer\n")

    @_sockets
    def test_streams_of_the_caller(self):
        """Closed ones, and such as can only be written to, as for a log."""
        written = []
        log = types.SimpleNamespace(write=written.append, flush=lambda: None)
        closed = io.TextIOWrapper(io.BytesIO())
        closed.close()
        args = ["q", "--model", "m", "--base-url", self.server.url]
        for out, err, shown in (
            (closed, closed, ""),
            (closed, log, "model_ended"),
            (log, log, "yes"),
        ):
            self.server.seen[:], self.server.answers[:] = [], ["yes"]
            with self.subTest(out=out, err=err), mock.patch.object(sys, "stdout", out):
                with mock.patch.object(sys, "stderr", err):
                    written.clear()
                    self.assertEqual(agentloop.main(args), 0)
                    for stream in (s for s in (sys.stdout, sys.stderr) if s is not log):
                        stream.close()
                self.assertIn(shown, "".join(written))

    @_sockets
    def test_a_question(self):
        status, out, err = self.ask(
            "How many?",
            "--tools",
            self.tools,
            answers=[("lookup_stock", {"sku": "A1"}), "3 \u2192 of A1."],
        )
        self.assertEqual((status, out), (0, "3 \u2192 of A1.\n"))
        self.assertEqual(self.noted(), ["A1"])
        lines = err.splitlines()
        self.assertTrue(
            any(re.search(r"request 1/10 +lookup_stock\(.*A1.*\) -> ok: 3", s) for s in lines), err
        )
        self.assertTrue(any("request 2/10" in s for s in lines), err)
        self.assertEqual(
            [m["role"] for m in self.bodies[1]["messages"]], ["user", "assistant", "tool"]
        )
        self.assertEqual(
            [t["function"]["name"] for t in self.bodies[0]["tools"]], ["lookup_stock", "wait"]
        )
        self.assertEqual(self.bodies[0]["messages"][0]["content"], "How many?")

    @_sockets
    def test_what_the_lines_say(self):
        """Seconds and requests at each event; state, tokens and the way out in the last line."""
        call = ("lookup_stock", {"sku": "A1"})
        tools = ("--tools", self.tools)
        _, _, err = self.ask("q", *tools, answers=[call, "3"])
        lines = err.splitlines()
        self.assertRegex(lines[1], r"^ +\d+\.\d s  request 1/10  lookup_stock\(")
        totals = r"request 2/10  model_ended; 2 requests; 10 input tokens \(0 cached\), 4 output tokens; \d+\.\d s$"
        self.assertRegex(lines[-1], totals)
        _, _, err = self.ask("q", *tools, "--max-requests", "1", answers=[call])
        self.assertRegex(err.splitlines()[-1], "budget_exhausted; 1 request;.*--max-requests")
        _, _, err = self.ask("q", answers=[("refuse", None)])
        self.assertRegex(err.splitlines()[-1], "refused")
        for recorded in (False, True):
            _, out, err = self.ask(
                "q", "--journal", self.journal, answers=[] if recorded else ["x"]
            )
            self.assertEqual((out, "recorded" in err.splitlines()[-1]), ("x\n", recorded))
        with mock.patch.object(time, "sleep", lambda seconds: None):
            _, out, err = self.ask("q", answers=[503, "x"])
        self.assertRegex(err, "note: .*503")
        _, out, err = self.ask("q", "--api", "text", answers=["Thought: hm\nso", "Final Answer: x"])
        self.assertIn("    | Thought: hm\n    | so\n", err)

    @_sockets
    def test_a_terminal_gets_no_control_characters(self):
        evil = "\x1b]0;owned\x07\x9b31m\u202egnp\u200b\r"
        answers = [("lookup_stock", {"sku": evil}), "a\n\tb " + evil]
        args = ["q" + evil, "--tools", self.tools]
        status, out, err = self.ask(*args, answers=answers, terminal=True)
        self.assertEqual(status, 0)
        self.assertIn("a\n\tb \\x1b]0;owned\\x07", out)
        for seen in (out, re.sub("\x1b\\[\\d+m|\r[. \\ds]*", "", err)):
            for character in evil:
                if character not in string.printable or character == "\r":
                    self.assertNotIn(character, seen)
        for tools, line in (
            (evil + ".py", "no such"),
            (self.write("bad.py", "raise ValueError(%r)" % evil), "owned"),
        ):
            _, _, err = self.call("q", "--tools", tools, "--model", "m", terminal=True)
            self.assertIn(line, err)
            self.assertNotIn("\x1b", err)
        self.assertNotIn("\x1b", self.call("--nonsense" + evil, terminal=True)[2])
        described = self.write("d.py", "def f(x: int):\n    %r\n" % evil)
        _, out, _ = self.call("--tools", described, "--schema", terminal=True)
        self.assertNotIn("\u202e", out)
        status, out, _ = self.ask("q", answers=["x " + evil], encoding="utf-8")
        self.assertEqual(out, "x " + evil + "\n", "a pipe gets the answer as it is")

    @_sockets
    def test_colours(self):
        rows = [  # the environment, whether there are colours
            ({"TERM": "xterm-256color"}, True), ({"COLORTERM": "truecolor"}, True), ({"WT_SESSION": "1"}, True),
            ({}, False), ({"TERM": "dumb"}, False), ({"COLORTERM": "1", "NO_COLOR": "1"}, False),
            ({"COLORTERM": "1", "NO_COLOR": ""}, True),
        ]  # fmt: skip
        for env, coloured in rows:
            with self.subTest(env=env), mock.patch.dict(os.environ, env):
                answers = [("lookup_stock", {"sku": "A1"}), ("nope", {}), "3"]
                args = ("q", "--tools", self.tools)
                _, out, err = self.ask(*args, answers=answers, terminal=True)
                self.assertEqual(
                    (out, "\x1b[32m" in err, "\x1b[33m" in err), ("3\n", coloured, coloured)
                )
                self.assertNotIn("\x1b", self.ask(*args, answers=answers)[2], "in a pipe")

    @_sockets
    def test_text_appears_as_it_arrives(self):
        """On a terminal only, and never twice."""
        rows = [  # pieces of the stream; what the terminal shows
            (["The ", "answer", "\x1b."], "The answer\\x1b.\n"),
            (["x\n"], "x\n"),
            (["<think>", "So", "</think>\n", "ok"], "<think>So</think>\nok\n"),
            (["one\r", "\ntwo\r\n", "a\rb"], "one\ntwo\na\\rb\n"),
            (["a\ud83d", "\ude00", "\ud83d", "b", "\ud83d"], "a\U0001f600\\ud83db\n"),
            (["\u2764", "\u200d", "\U0001f525"], "\u2764\u200d\U0001f525\n"),
        ]
        for pieces, shown in rows:
            with self.subTest(pieces=pieces):
                chunks = [{"choices": [{"index": 0, "delta": {"content": p}}]} for p in pieces]
                chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                status, out, _ = self.ask("q", answers=[chunks], terminal=True)
                self.assertEqual((status, out), (0, shown))
                self.assertIs(self.bodies[0]["stream"], True)
        answers = [("lookup_stock", {"sku": "A1"}, "I look."), "3"]
        _, out, err = self.ask("q", "--tools", self.tools, answers=answers, terminal=True)
        self.assertEqual(out, "I look.\n3\n")
        for args in (["--json"], ["--api", "text"]):
            status, out, _ = self.ask("q", *args, answers=["Final Answer: x"], terminal=True)
            self.assertNotIn("stream", self.bodies[0])

    def test_where_no_thread_can_be_started(self):
        """The wait is not visible then."""
        full = mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start"))
        model = agentloop.Scripted([agentloop.AgentFinish("the answer")])
        with full, mock.patch.object(agentloop, "OpenAIChat", lambda *a, **k: model):
            status, out, err = self.call("q", "--model", "m", terminal=True)
        self.assertEqual((status, out), (0, "the answer\n"))
        self.assertIn("model_ended", err)

    @_sockets
    @_real_threads
    def test_a_wait_is_visible(self):
        """A sign of life after a second, on a terminal only; erased before anything else."""
        seen, waits = [], threading.Event()

        class Slow(agentloop.Scripted):
            def __call__(self, run, tools):
                waits.wait(30)
                return super().__call__(run, tools)

        class Watched(_TerminalOutput):
            def write(self, text):
                seen.append(text)
                if "... 1 s" in text:
                    waits.set()
                return super().write(text)

        err = Watched(io.BytesIO(), encoding="utf-8")
        model = Slow([agentloop.AgentFinish("ok")])
        with mock.patch.object(agentloop, "OpenAIChat", lambda *a, **k: model):
            with mock.patch.object(sys, "stderr", err), mock.patch("builtins.print", _print_now):
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(agentloop.main(["q", "--model", "m"]), 0)
        text = "".join(seen)
        self.assertIn("\r... 1 s", text)
        self.assertRegex(text, r"\r +\r[^\n]*model_ended")


# -- what a person says ----------------------------------------------------------------------------


_ASK_TOOLS = """
from agentloop import tool


def order(sku: str, n: int) -> str:
    return "ordered"


@tool(read_only=True)
def look(sku: str) -> str:
    return "seen"
"""


class TypedTests(_CommandLineCase):
    """Questions from standard input, and answers to --ask."""

    @_sockets
    def test_from_standard_input(self):
        status, out, _ = self.ask("-", stdin="Two\nlines?\n", answers=["yes"])
        self.assertEqual((status, out), (0, "yes\n"))
        self.assertEqual(self.bodies[0]["messages"][0]["content"], "Two\nlines?")

    @_sockets
    def test_a_question_with_a_mark(self):
        """Editors and PowerShell put a byte order mark before a text; it is not sent."""
        question = "Gr\u00fc\u00dfe aus \u6771\u4eac?"
        for encoding in ("utf-8-sig", "utf-16", "utf-8"):
            with self.subTest(encoding=encoding):
                typed = io.TextIOWrapper(io.BytesIO(question.encode(encoding)), encoding="utf-8")
                self.ask("-", stdin=typed, answers=["x"])
                self.assertEqual(self.bodies[0]["messages"][0]["content"], question)
        self.ask(stdin="\ufeff%s\r\n" % question, answers=["x"])
        self.assertEqual(self.bodies[0]["messages"][0]["content"], question)
        with mock.patch.object(sys, "stdin", None):
            self.assertEqual(
                self.call("-", "--model", "m", "--max-requests", "0", stdin=None)[0], 2
            )
            self.assertEqual(self.call("--model", "m", stdin=None)[:2], (0, ""))

    @_sockets
    def test_what_the_locale_cannot_decode(self):
        """It is UTF-8; what is not even that is marked, never taken for question marks."""
        rows = [  # the bytes, what is sent
            ("Gr\u00fc\u00dfe aus \u6771\u4eac?".encode(), "Gr\u00fc\u00dfe aus \u6771\u4eac?"),
            (b"caf\xe9?", "caf\ufffd?"),
        ]
        for data, question in rows:
            typed = data.decode("ascii", "surrogateescape")
            with self.subTest(question=question):
                self.ask(typed, "--system", typed, answers=["x"])
                said = [m["content"] for m in self.bodies[0]["messages"]]
                self.ask(stdin=typed, answers=["x"])
                said.append(self.bodies[0]["messages"][0]["content"])
                self.assertEqual(said, [question] * 3)
                for args in ([], ["-"]):
                    stdin = io.TextIOWrapper(io.BytesIO(data), encoding="ascii")
                    self.ask(*args, stdin=stdin, answers=["x"])
                    self.assertEqual(self.bodies[0]["messages"][0]["content"], question)

    @_sockets
    def test_ask(self):
        """Each call that may change something is shown whole, and runs only when a person says so."""
        tools = self.write("ask.py", _ASK_TOOLS)
        call, look = ("order", {"sku": "A" * 300, "n": 2}), ("look", {"sku": "A1"})
        rows = [  # what is typed; answers; statuses; a part of the denial
            ("y\n", [call], ["ok"], ""),
            ("YES\n", [call], ["ok"], ""),
            ("n\n", [call], ["denied"], "The user denied this call."),
            ("\n", [call], ["denied"], "The user denied this call."),
            ("n too dear\n", [call], ["denied"], "denied this call: too dear"),
            ("not on a Sunday\n", [call], ["denied"], "denied this call: not on a Sunday"),
            ("no, thanks\n", [call], ["denied"], "denied this call: no, thanks"),
            ("yes but after a backup\n", [call], ["denied"], "call: yes but after a backup"),
            ("Y?\n", [call], ["denied"], "denied this call: Y?"),
            ("a copy first, please\n\n", [call, call], ["denied"] * 2, "a copy first, please"),
            (" Always \n", [call, call], ["ok", "ok"], ""),
            ("", [call], ["denied"], "nobody"),
            ("a\n", [call, call], ["ok", "ok"], ""),
            ("n\nalways\n", [call, call, call], ["denied", "ok", "ok"], ""),
            ("", [look], ["ok"], ""),
            ("", [("nope", {})], ["unknown_tool"], ""),
            ("", [("order", [1])], ["invalid_arguments"], ""),
        ]
        for typed, calls, statuses, denial in rows:
            with self.subTest(typed=typed, calls=calls):
                args = ("q", "--ask", "--tools", tools, "--json")
                _, out, err = self.ask(*args, stdin=typed, answers=[*calls, "done"])
                run = agentloop.from_json(json.loads(out))
                self.assertEqual(_statuses(run), statuses)
                self.assertIn(denial, str(run.steps[0].observation))
                if calls[0] is call:
                    self.assertIn("run order?\n  sku = %s\n  n = 2\n" % ("A" * 300), err)

    @_sockets
    def test_ask_shows_what_runs(self):
        tools = "def note(**texts: str) -> str:\n    return 'noted'\n"
        texts = {"n" * 300: "pay\u3164pal\xad.test", "b\n  c = 1": "2\n  d = 3\x1b"}
        args = ("q", "--ask", "--tools", self.write("notes.py", tools))
        _, _, err = self.ask(*args, stdin="y\n", answers=[("note", texts), "done"])
        shown = [
            "run note?",
            "  %s = pay\\u3164pal\\xad.test" % ("n" * 300),
            "  b\\n  c = 1 = 2",
            "    |   d = 3\\x1b",
        ]
        self.assertIn("\n".join(shown), err)

    @_sockets
    def test_a_line_of_a_conversation_is_no_answer(self):
        """Without a terminal the lines are questions: none of them approves a call."""
        tools = self.write("ask.py", _ASK_TOOLS)
        answers = [("order", {"sku": "A1", "n": 2}), "denied", "second"]
        _, out, err = self.ask("--ask", "--tools", tools, stdin="Order.\nyes\n", answers=answers)
        self.assertEqual(out, "denied\nsecond\n")
        self.assertIn("denied: Denied: nobody was there", err)
        self.assertEqual(self.bodies[-1]["messages"][-1]["content"], "yes")

    @_sockets
    def test_a_value_does_not_look_like_others(self):
        tools = self.write("ask.py", _ASK_TOOLS)
        for end in ("\n", "\r\n", "\r", "\u2028"):
            with self.subTest(end=end):
                call = ("order", {"sku": f"A1{end}  n = 0{end}run look?", "n": 2})
                _, _, err = self.ask("q", "--ask", "--tools", tools, answers=[call, "done"])
                shown = [line for line in err.splitlines() if line[:2] == "  " and line[2] in "snr"]
                self.assertEqual(len(shown), 2, err)
                self.assertNotIn("run look?", err.splitlines())


# -- the program -----------------------------------------------------------------------------------


class ProgramTests(_CommandLineCase):
    """Options, and the end as exit status."""

    def test_version_and_help(self):
        status, out, err = self.call("--version")
        digest = hashlib.sha256(_bytes(str(_FILE))).hexdigest()
        self.assertEqual((status, err), (0, ""))
        self.assertIn(agentloop.__version__, out)
        self.assertIn(digest, out)
        status, out, err = self.call("--help")
        self.assertEqual((status, err), (0, ""))
        for option in (
            "--tools", "--schema", "--model", "--base-url", "--api", "--system", "--max-requests",
            "--set", "--journal", "--json", "--version", "--help", "chat", "responses",
            "anthropic", "text", "130",
        ):  # fmt: skip
            self.assertIn(option, out)

    def test_wrong_use(self):
        """Exit status 2, and for a tools file one line that names it."""
        files = {
            "syntax.py": "def f(:\n",
            "raises.py": "raise RuntimeError('on\\nimport')\n",
            "divides.py": "1 / 0\n",
            "missing.py": "import a_module_that_is_not_there\n",
            "empty.py": "x = 1\n\n\ndef _hidden():\n    pass\n",
            "no_form.py": "def f(x: object()) -> int:\n    return 1\n",
            "imports_only.py": "from os.path import join\n",
            "not_python.txt": "hello\n",
            "exits.py": "import sys\nsys.exit(5)\n",
            "ends.py": "class Ended(BaseException):\n    pass\nraise Ended\n",
        }
        for name, text in files.items():
            with self.subTest(tools=name):
                path = self.write(name, text)
                for more in (["--schema"], ["question", "--model", "m"]):
                    status, out, err = self.call("--tools", path, *more)
                    self.assertEqual((status, out), (2, ""), err)
                    self.assertEqual(len(err.splitlines()), 1, err)
                    self.assertIn(name, err)
        for tools in (self.path("nowhere.py"), self.folder):
            with self.subTest(tools=tools):
                status, out, err = self.call("--tools", tools, "--schema")
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1), err)
        for args in (
            ["question"], ["q", "--tools", self.tools], ["--nonsense"], ["a", "b"], ["--tools"],
            ["q", "--model", "m", "--api", "telepathy"],
            ["q", "--model", "m", "--max-requests", "-1"],
            ["q", "--model", "m", "--max-requests", "many"],
            ["q", "--model", "m", "--set", "temperature"],
            ["q", "--model", "m", "--set", "temperature=hot"],
            ["q", "--model", "m", "--base-url", "no url"],
            ["q", "--model", "m", "--base-url", ""],
            ["q", "--model", "m", "--set", 'base_url=" "'],
            ["q", "--model", "m", "--base-url", "http://127.0.0.1:9", "--tools", ""],
            ["q", "--model", "m", "--timeout", "-1"],
            ["q", "--model", "m", "--deadline", "nan"],
        ):  # fmt: skip
            with self.subTest(args=args):
                status, out, err = self.call(*args)
                self.assertEqual((status, out), (2, ""), err)
                self.assertTrue(err.strip())
                self.assertNotIn("Traceback", err)
        rows = [  # arguments; the option that is unknown
            (["q", "--api-key", _MARKED_KEY], "--api-key"),
            (["--api-key", _MARKED_KEY, "--model", "m"], "--api-key"),
            (["q", "--key=" + _MARKED_KEY], "--key"),
            (["q", "-H", "Authorization: Bearer " + _MARKED_KEY], "-H"),
        ]
        for args, name in rows:
            with self.subTest(args=args):
                status, out, err = self.call(*args)
                self.assertEqual((status, out), (2, ""), err)
                self.assertIn(f"unknown option: {name} (--help", err)

    @_sockets
    def test_exit_statuses(self):
        call = ("lookup_stock", {"sku": "A1"})
        tools = ["--tools", self.tools]
        table = [
            (0, "answer\n", ["answer"], []),
            (3, "", [call, call], tools + ["--max-requests", "2"]),
            (3, "", [], ["--max-requests", "0"]),
            (4, "I will not.\n", [("refuse", None)], []),
            (1, "", [401], []),
            (1, "", [call, 400], tools),
        ]
        for status, out, answers, args in table:
            with self.subTest(status=status, answers=answers):
                got = self.ask("q", *args, answers=answers)
                self.assertEqual(got[:2], (status, out), got)
                if status == 3:
                    self.assertIn("budget_exhausted", got[2])
                if status == 1:
                    self.assertIn(self.server.url, got[2])
                    self.assertNotIn("Traceback", got[2])

    @_sockets
    def test_json(self):
        status, out, _ = self.ask(
            "q", "--json", "--tools", self.tools, answers=[("lookup_stock", {"sku": "A1"}), "ok"]
        )
        run = agentloop.from_json(json.loads(out))
        self.assertEqual((status, run.task, run.output, run.state), (0, "q", "ok", "model_ended"))
        self.assertEqual([s.observation for s in run.steps], [3])
        status, out, _ = self.ask("q", "--json", "--max-requests", "0")
        self.assertEqual(
            (status, agentloop.from_json(json.loads(out)).state), (3, "budget_exhausted")
        )

    @_sockets
    def test_no_server(self):
        import socket

        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d/v1" % s.getsockname()[1]
        with mock.patch.object(time, "sleep", lambda seconds: None):
            status, out, err = self.call("q", "--model", "m", "--base-url", url)
        self.assertEqual((status, out), (1, ""))
        self.assertIn(url, err)

    @_sockets
    def test_a_tool_that_ends_the_program(self):
        rows = [  # what the tool raises; what is shown
            ("SystemExit(3)", "SystemExit: 3"),
            ("GeneratorExit", "GeneratorExit: "),
            ("__import__('asyncio').CancelledError('late\\x1b')", r"CancelledError: late\x1b"),
        ]
        for raised, shown in rows:
            with self.subTest(raised):
                tools = self.write("ends.py", f"def leave():\n    raise {raised}\n")
                status, out, err = self.ask("q", "--tools", tools, answers=[("leave", {})])
                self.assertEqual((status, out), (2, ""))
                self.assertIn(f"a tool ended the program: {shown}", err)


class ToolsFileTests(_CommandLineCase):
    """--tools and --schema."""

    def test_schema(self):
        for args in (["--schema"], ["question", "--schema"]):
            status, out, err = self.call("--tools", self.tools, *args)
            self.assertEqual((status, err), (0, ""))
            told = json.loads(out)
            self.assertEqual([t["name"] for t in told], ["lookup_stock", "wait"])
            self.assertEqual(told[0]["description"], "Return how many can be sold: \u00e9.")
            self.assertEqual(told[0]["parameters"]["properties"]["sku"]["type"], "string")
        for encoding in ("ascii", "cp1252", "utf-16"):  # in a pipe it is JSON that says the same
            out = self.call("--tools", self.tools, "--schema", encoding=encoding)[1]
            self.assertEqual(json.loads(out), told)

    def test_what_a_tools_file_offers(self):
        """What it defines, whatever its name and its neighbours; not what it imports."""
        self.write("json.py", "raise SystemExit('a neighbour ran')\n")
        self.write(
            "helper.py", "from agentloop import tool\n@tool\ndef helped(x: int):\n    return x\n"
        )
        source = (
            "from agentloop import *\nfrom agentloop import Tool, tool\nimport helper\nfrom helper import helped\n"
            "def plain(x: int):\n    return x\n"
            "@tool(read_only=True)\ndef made(x: int):\n    return x\n"
            "by_hand = Tool('by_hand', 'By hand.', {'type': 'object'}, print)\n"
            "kind = Tool\n"
        )
        for name in ("email.py", "select.py", "agentloop.py", "with-dash.py"):
            with self.subTest(name=name):
                path = self.write(name, source)
                status, out, err = self.call("--tools", path, "--schema")
                self.assertEqual(status, 0, err)
                self.assertEqual([t["name"] for t in json.loads(out)], ["plain", "made", "by_hand"])
        path = self.write("chosen.py", source + "__all__ = ['made']\n")
        self.assertEqual(
            [t["name"] for t in json.loads(self.call("--tools", path, "--schema")[1])], ["made"]
        )


class ModelOptionTests(_CommandLineCase):
    """--model, --api, --base-url, --system, --set: which adapter is asked, and with what."""

    @_sockets
    def test_apis(self):
        """The protocol asked for, else the set key's, and the first event says which."""
        url, key, other = self.server.url, "OPENAI_API_KEY", "ANTHROPIC_API_KEY"
        table = [  # arguments, environment, path
            (["--api", "chat"], {key: _MARKED_KEY}, "/v1/chat/completions"),
            (["--api", "responses"], {key: _MARKED_KEY}, "/v1/responses"),
            (["--api", "anthropic"], {other: _MARKED_KEY}, "/v1/messages"),
            ([], {key: _MARKED_KEY}, "/v1/chat/completions"),
            ([], {other: _MARKED_KEY}, "/v1/messages"),
            ([], {key: _MARKED_KEY, other: _MARKED_KEY}, "/v1/chat/completions"),
            ([], {}, "/v1/chat/completions"),
        ]
        for args, env, path in table:
            with self.subTest(args=args, env=sorted(env)):
                more = {
                    "NOTES": self.notes,
                    "OPENAI_BASE_URL": url,
                    "ANTHROPIC_BASE_URL": url,
                    **env,
                }
                with mock.patch.dict(os.environ, more):
                    for name in {key, other} - set(env):
                        os.environ.pop(name, None)
                    status, out, err = self.ask(
                        "q", "--tools", self.tools, *args, base_url=False,
                        answers=[("lookup_stock", {"sku": "A1"}), "ok"],
                    )  # fmt: skip
                self.assertEqual((status, out), (0, "ok\n"), err)
                self.assertEqual([p for p, _, _ in self.server.seen], [path] * 2)
                api = {"/v1/responses": "responses", "/v1/messages": "anthropic"}.get(path, "chat")
                self.assertIn(api, err.splitlines()[0])
                sent = {k.lower(): v for k, v in self.server.seen[0][1].items()}
                shown = sent.get("x-api-key") if api == "anthropic" else sent.get("authorization")
                self.assertEqual(
                    shown,
                    None
                    if not env
                    else _MARKED_KEY
                    if api == "anthropic"
                    else "Bearer " + _MARKED_KEY,
                )

    @_sockets
    def test_text(self):
        said = 'Thought: I look.\nAction: lookup_stock\nAction Input: {"sku": "A1"}\n'
        status, out, err = self.ask(
            "How many?",
            "--api",
            "text",
            "--tools",
            self.tools,
            answers=[said, "Thought: so\nFinal Answer: 3"],
        )
        self.assertEqual((status, out, self.noted()), (0, "3\n", ["A1"]))
        self.assertIn("text", err.splitlines()[0])
        prompt = json.dumps(self.bodies[1])
        for part in ("lookup_stock", "How many?", "Final Answer", "Observation: 3"):
            self.assertIn(part, prompt)
        self.assertNotIn("tools", self.bodies[0])

    @_sockets
    def test_body_and_system(self):
        self.ask(
            "q", "--set", "temperature=0.5", "--set", 'stop=["x=y"]', "--set", "seed=7",
            "--system", "Be brief.", answers=["ok"],
        )  # fmt: skip
        body = self.bodies[0]
        self.assertEqual((body["temperature"], body["stop"], body["seed"]), (0.5, ["x=y"], 7))
        self.assertEqual(body["messages"][0], {"role": "system", "content": "Be brief."})
        self.assertEqual(body["model"], "m")

    @_sockets
    def test_settings(self):
        """--set reaches the adapter's settings and the body; what does not fit is one line."""
        self.ask("q", "--set", "max_observation=5", "--set", "retries=0", answers=["x"])
        self.assertEqual(set(self.bodies[0]), {"model", "messages"})
        self.ask(
            "q", "--api", "text", "--set", "trim=1", "--set", 'stop="X"',
            answers=["Final Answer: x"],
        )  # fmt: skip
        self.assertEqual(self.bodies[0]["stop"], "X")
        self.ask("q", "--api", "text", answers=["Final Answer: x"])
        self.assertEqual(self.bodies[0]["stop"], ["\nObservation:"])
        self.ask("q", "--timeout", "7.5", "--deadline", "9", answers=["x"])
        with mock.patch.dict(os.environ, AGENTLOOP_MODEL="from-env"):
            self.server.seen[:], self.server.answers[:] = [], ["x"]
            self.assertEqual(self.call("q", "--base-url", self.server.url)[0], 0)
        self.assertEqual(self.server.seen[0][2]["model"], "from-env")
        for pair in (
            "api_key=1", "api_key=[]", "base_url=5", "headers=5", 'headers={"a": 1}', 'timeout="x"', "timeout=-1",
            "deadline=0", 'retries="a"', "retries=-1", 'trim="x"', 'max_observation="q"', "system=1", "self=1",
            "model=1", "on_text=1", "transport=1", "ssl_context=1", "messages=[]", "tools=1", "tools=[1]",
            "max_tokens=0", "x=NaN", "x=1e999", "=1", "x", "a b=1", "x=none", "x=" + "[" * 5000,
        ):  # fmt: skip
            with self.subTest(pair=pair[:40]):
                status, out, err = self.call("q", "--model", "m", "--set", pair)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1), err)

    def test_a_setting_that_is_wrong_is_not_shown(self):
        """It may be a key."""
        key = "sk-" + "Kk" * 9
        for pair in (
            "api_key=" + key, 'headers={"x-api-key": "%s"' % key, 'headers=["%s"]' % key,
            'timeout="%s"' % key, 'self="%s"' % key, key, "api-key=" + key, "Bearer %s=1" % key,
        ):  # fmt: skip
            with self.subTest(pair=pair):
                status, out, err = self.call("q", "--model", "m", "--set", pair)
                self.assertEqual((status, out), (2, ""))
                self.assertNotIn("Kk", err)

    def test_times(self):
        for option in ("--timeout", "--deadline"):
            for value in ("inf", "nan", "-1", "0", "1e12"):
                with self.subTest(option=option, value=value):
                    status, _, err = self.call("q", "--model", "m", option, value)
                    self.assertEqual(status, 2)
                    self.assertIn("a number of seconds above 0", err)


class CommandLineConversationTests(_CommandLineCase):
    """Without a question: turn by turn from standard input."""

    @_sockets
    def test_a_conversation(self):
        status, out, err = self.ask(
            "--tools", self.tools, stdin="How many A1?\n\n  And B2?  \n",
            answers=[("lookup_stock", {"sku": "A1"}), "3", ("lookup_stock", {"sku": "B2"}), "none"],
        )  # fmt: skip
        self.assertEqual((status, out, self.noted()), (0, "3\nnone\n", ["A1", "B2"]))
        said = [m["content"] for m in self.bodies[3]["messages"] if m["role"] == "user"]
        self.assertEqual(said, ["How many A1?", "And B2?"])
        self.assertIn("request 2/10", err)
        self.assertNotIn("request 3/10", err, "each turn has a budget of its own")
        self.assertEqual(self.ask(stdin="")[:2], (0, ""))
        typed = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfcaf\xe9\r\nt\xeda\n"), encoding="utf-8")
        self.assertEqual(self.ask(stdin=typed, answers=["1", "2"])[:2], (0, "1\n2\n"))
        said = [m["content"] for m in self.bodies[1]["messages"]]
        self.assertEqual(said, ["caf\ufffd", "1", "t\ufffda"])
        # What fails does not end it.
        status, out, err = self.ask(stdin="one\ntwo\n", answers=[401, "2"])
        self.assertEqual(out, "2\n")

    @_sockets
    @unittest.skipIf(os.name == "nt" or _BROWSER, "needs a terminal of POSIX")
    def test_a_conversation_on_a_terminal(self):
        """Typed at a prompt, ended by Ctrl-D; the text is not shown twice."""
        import pty

        self.server.seen[:], self.server.answers[:] = [], ["It is noon."]
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, str(_FILE), "--model", "m", "--base-url", self.server.url],
            stdin=slave, stdout=slave, stderr=slave, env=_env(), start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        seen = b""
        typed = [b"What time?\n", b"\x04"]
        with contextlib.suppress(OSError):  # the child has closed it
            while True:
                seen += os.read(master, 4096)
                if seen.endswith(b"> ") and typed:
                    os.write(master, typed.pop(0))
                    seen += b"|"
        os.close(master)
        self.assertEqual(child.wait(30), 0, seen)
        self.assertEqual(seen.count(b"It is noon."), 1, seen)
        self.assertTrue(seen.endswith(b"> |\r\n"), "the shell's prompt gets a line of its own")
        self.assertEqual(self.server.seen[0][2]["messages"][0]["content"], "What time?")


class CommandLineJournalTests(_CommandLineCase):
    """--journal: the same line again goes on."""

    @_sockets
    def test_journal(self):
        """The same line again goes on after an interruption; another question is the next turn."""
        line = ["How many?", "--tools", self.tools, "--journal", self.journal]
        status, out, err = self.ask(*line, answers=[("lookup_stock", {"sku": "A1"}), 401])
        self.assertEqual((status, out, self.noted()), (1, "", ["A1"]))
        status, out, err = self.ask(*line, answers=["3"])
        self.assertEqual((status, out, self.noted()), (0, "3\n", ["A1"]))
        self.assertEqual(len(self.bodies[0]["messages"]), 3)
        self.assertIn("request 3/10", err)
        status, out, err = self.ask(*line)  # done: the answer again, and no request
        self.assertEqual((status, out, self.noted()), (0, "3\n", ["A1"]))
        line[0] = "And now?"
        status, out, err = self.ask(*line, answers=["still 3"])
        self.assertEqual((status, out), (0, "still 3\n"))
        self.assertEqual(len(self.bodies[0]["messages"]), 5)
        run = agentloop.AgentRun.load(self.journal)
        self.assertEqual([t.output for t in [*run.history, run]], ["3", "still 3"])
        self.assertEqual(self.ask(*line)[:2], (0, "still 3\n"))

    @_sockets
    def test_a_larger_budget_goes_on(self):
        line = ["q", "--tools", self.tools, "--journal", self.journal, "--max-requests"]
        self.assertEqual(self.ask(*line, "1", answers=[("lookup_stock", {"sku": "A1"})])[0], 3)
        self.assertEqual(self.ask(*line, "2", answers=["3"])[:2], (0, "3\n"))
        self.assertEqual(self.noted(), ["A1"])

    @_sockets
    def test_a_conversation_is_resumed(self):
        args = ["--tools", self.tools, "--journal", self.journal]
        self.ask(*args, stdin="one\ntwo\n", answers=["1", 401])
        status, out, err = self.ask(*args, stdin="three\n", answers=["2", "3"])
        self.assertEqual((status, out), (0, "2\n3\n"), err)
        said = [(m["role"], m["content"]) for m in self.bodies[1]["messages"]]
        self.assertEqual([c for r, c in said if r == "user"], ["one", "two", "three"])
        status, out, err = self.ask(*args, stdin="four\n", answers=["4"])
        self.assertEqual((status, out, len(self.bodies[0]["messages"])), (0, "4\n", 7))
        run = agentloop.AgentRun.load(self.journal)
        self.assertEqual([t.task for t in [*run.history, run]], ["one", "two", "three", "four"])

    @_sockets
    def test_a_journal_that_cannot_be_used(self):
        line = ["q", "--journal", self.journal]
        with open(self.journal, "wb") as f:
            f.write(b"damaged\n")
        status, out, err = self.ask(*line)
        self.assertEqual((status, out), (2, ""))
        self.assertIn(self.journal + ", line 1", err)
        line[2] = self.path("none", "run.jsonl")
        status, out, err = self.ask(*line)
        self.assertEqual((status, out), (2, ""))
        self.assertIn(repr(line[2]), err)  # on Windows its backslashes are doubled
        for data in (b"", b'{"event": "turn", "ver'):  # a run that has not begun
            with open(self.journal, "wb") as f:
                f.write(data)
            found = self.ask("q", "--journal", self.journal, answers=["ok"])
            self.assertEqual(found[:2], (0, "ok\n"), found)

    def test_a_journal_that_is_no_file(self):
        status, out, err = self.call("q", "--model", "m", "--journal", self.folder)
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 2), err)


class CommandLineInterruptTests(_CommandLineCase):
    """Ctrl-C, and a reader that has left."""

    @_sockets
    def test_ctrl_c_at_the_prompt_and_in_a_turn_that_was_piped(self):
        typed = mock.Mock(isatty=lambda: True, readline=mock.Mock(side_effect=KeyboardInterrupt))
        status, out, err = self.ask(stdin=typed)
        self.assertEqual((status, out, err.count("> ")), (130, "", 2))  # the second ends it
        with mock.patch.object(agentloop.OpenAIChat, "__call__", side_effect=KeyboardInterrupt):
            status, out, err = self.ask(stdin="one\ntwo\n")
        self.assertEqual((status, out, err.count("interrupted")), (130, "", 1))

    def test_a_reader_that_left(self):
        """As with `| head`: it ends quietly, and nothing is written to the pipe any more."""
        broken = mock.patch("builtins.print", side_effect=BrokenPipeError)
        with broken, mock.patch("os.dup2") as moved:
            self.assertEqual(self.call(), (0, "", ""))
        (opened, target) = moved.call_args[0]
        os.close(opened)
        self.assertEqual(target, 1)

    def test_ctrl_c_before_anything_is_asked(self):
        slow = self.write("slow.py", "raise KeyboardInterrupt\n")
        self.assertEqual(self.call("q", "--model", "m", "--tools", slow), (130, "", ""))

    @_sockets
    @unittest.skipIf(os.name == "nt", "needs SIGINT")
    def test_ctrl_c_while_a_tool_waits(self):
        """Ctrl-C while a tool waits: the steps so far, status 130, and the journal goes on."""
        calls = [("lookup_stock", {"sku": "A1"}), ("wait", {"seconds": 50})]
        self.server.seen[:], self.server.answers[:] = [], list(calls)
        line = [
            "q", "--tools", self.tools, "--model", "m", "--base-url", self.server.url, "--journal",
            self.journal,
        ]  # fmt: skip
        child = subprocess.Popen(
            [sys.executable, str(_FILE), *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(_env(), NOTES=self.notes, OPENAI_API_KEY=_MARKED_KEY),
        )  # fmt: skip
        self.assertEqual(child.stdout.readline().strip(), b"waiting")
        child.send_signal(signal.SIGINT)
        out, err = (s.decode("utf-8") for s in child.communicate(timeout=30))
        self.assertEqual((child.returncode, out), (130, ""), err)
        before, _, after = err.partition("interrupted")
        self.assertRegex(before, r"lookup_stock\(.*A1.*\) -> ok: 3")
        self.assertIn("running; 2 requests", after)
        self.assertNotIn("Traceback", err)
        self.assertNotIn(_MARKED_KEY, err)
        status, out, err = self.ask(
            "q", "--tools", self.tools, "--journal", self.journal, answers=["ok"]
        )
        self.assertEqual((status, out, self.noted()), (0, "ok\n", ["A1"]))
        self.assertIn("unknown_outcome", err)

    @_sockets
    def test_ctrl_c_in_a_conversation(self):
        """The first ends the turn, a second one within a second the conversation."""
        lines = iter(["one\n", "two\n", "three\n", ""])
        typed = mock.Mock(isatty=lambda: True, readline=lambda: next(lines))
        asked = []

        class Interrupted(agentloop.Scripted):
            def __call__(self, run, tools):
                asked.append(run.task)
                if run.task == "two":
                    raise KeyboardInterrupt
                return agentloop.AgentFinish("re: " + run.task)

        with mock.patch.object(agentloop, "OpenAIChat", lambda *a, **k: Interrupted([])):
            status, out, err = self.call("--model", "m", stdin=typed)
        self.assertEqual((status, out, asked), (0, "re: one\nre: three\n", ["one", "two", "three"]))
        self.assertEqual(err.count("interrupted"), 1)


class ProcessTests(_CommandLineCase):
    """As a process of its own, wherever the file is."""

    @_sockets
    @unittest.skipIf(os.name == "nt" or not os.path.exists("/dev/full"), "needs sh and /dev/full")
    def test_closed_and_full_streams(self):
        rows = [  # redirections; exit status, standard output, a part of standard error
            ("2>&-", 0, "the answer\n", ""),
            ("2>/dev/full", 0, "the answer\n", ""),
            (">&-", 0, "", "model_ended"),
            (">/dev/full", 1, "", "No space left"),
        ]
        question = ["q", "--model", "m", "--base-url", self.server.url]
        for streams, status, out, err in rows:
            with self.subTest(streams):
                self.server.seen[:], self.server.answers[:] = [], ["the answer"]
                found = self.redirected(streams, *question)
                self.assertEqual(found[:2], (status, out))
                self.assertIn(err, found[2])
        for args in (["--help"], ["--version"], ["--schema"], []):
            with self.subTest(args=args):
                status, _, err = self.redirected(">/dev/full", *args)
                self.assertEqual((status, len(err.splitlines())), (1, 1), err)
                self.assertIn("No space left", err)
        status, _, err = self.redirected("2>/dev/full", "--nonsense")
        self.assertEqual((status, err), (2, ""))

    def redirected(self, streams, *args):
        """The command line behind a shell's redirections: (exit status, output, error)."""
        command = ["sh", "-c", 'exec "$@" ' + streams, "sh", sys.executable, str(_FILE), *args]
        done = subprocess.run(command, capture_output=True, env=_env())
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    @_sockets
    def test_as_a_script(self):
        """The exit status is the process's, and what the console has no letter for is escaped."""
        self.server.seen[:], self.server.answers[:] = [], ["a \u2192 b"]
        args = [str(_FILE), "q", "--model", "m", "--base-url", self.server.url]
        env = {"OPENAI_API_KEY": _MARKED_KEY, "PYTHONIOENCODING": "cp1252"}
        status, out, err = _python("-W", "error", *args, **env)
        self.assertEqual((status, out), (0, "a \\u2192 b\n"), err)
        self.server.answers[:] = [401]
        status, out, err = _python("-X", "dev", *args, **env)
        self.assertEqual((status, out), (1, ""))
        self.assertNotIn(_MARKED_KEY, err)
        self.assertNotIn("Traceback", err)
        self.assertNotIn("Warning", err)
        status, out, err = _python(str(_FILE), "q", "--tools", "nowhere.py", "--model", "m")
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))

    @_processes
    def test_where_the_file_is_the_program(self):
        """Compiled, zipped, in a folder, by another name, with -m; but not pasted or run by exec."""
        source = _FILE.read_text(encoding="ascii")
        self.write("agentloop.py", source)
        self.write("my_agents.py", source)
        os.mkdir(self.path("folder"))
        self.write("folder/__main__.py", source)
        py_compile.compile(self.path("agentloop.py"), cfile=self.path("agentloop.pyc"))
        with zipfile.ZipFile(self.path("app.pyz"), "w") as z:
            z.writestr("__main__.py", source)
        self.write("by_exec.py", "exec(open('agentloop.py').read(), {'__name__': '__main__'})\n")
        self.write("shared.py", "exec(open('agentloop.py').read())\n")
        programs = [
            ["agentloop.py"],
            ["agentloop.pyc"],
            ["app.pyz"],
            ["folder"],
            ["my_agents.py"],
            ["-m", "agentloop"],
        ]
        others = [["by_exec.py"], ["shared.py"], ["-c", "import agentloop"]]
        jobs = {
            " ".join(args): lambda args=args: _python(*args, cwd=self.folder)
            for args in programs + others
        }
        found = _side_by_side(jobs)
        for args in programs + others:
            status, out, err = found[" ".join(args)]
            with self.subTest(args=args):
                self.assertEqual(
                    (status, err, "state: model_ended" in out), (0, "", args in programs)
                )

    def test_main_of_a_file_that_nobody_registered(self):
        names = {"__name__": "elsewhere", "__file__": str(_FILE)}
        exec(compile(_FILE.read_bytes(), str(_FILE), "exec", dont_inherit=True), names)
        for args, text in (
            (["--version"], "sha256 "),
            (["--tools", self.tools, "--schema"], "wait"),
        ):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(names["main"](args), 0)
            self.assertIn(text, out.getvalue())
        with mock.patch.object(sys, "argv", ["agentloop.py", "--version"]):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(agentloop.main(), 0)

    def test_the_version_of_a_file_that_is_not_there(self):
        """Run by exec, read from standard input, frozen into a program."""
        for file in ({}, {"__file__": "<stdin>"}, {"__file__": str(_FILE) + ".gone"}):
            with self.subTest(file=file):
                names = {"__name__": "elsewhere", **file}
                exec(
                    compile(_FILE.read_bytes(), agentloop.__file__, "exec", dont_inherit=True),
                    names,
                )
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    self.assertEqual(names["main"](["--version"]), 0)
                self.assertRegex(out.getvalue(), r"^agentloop \d+\.\d+\.\d+, sha256 unknown")


# == the file as it is vendored ====================================================================


class LoadedCopyTests(_CopyCase):
    """Copied under any name and loaded in any way, it works."""

    def test_another_name(self):
        self.write("my_agents.py", self.source)
        al = self.imported("my_agents")
        self.assertEqual(al.AgentRun.__module__, "my_agents")
        _scene(al).everything(self.folder)
        _scene(al, future=True).everything(self.folder)

    def test_in_a_package(self):
        os.makedirs(self.path("shop", "inner"))
        self.write("shop/__init__.py", "from .inner import loop as al\n")
        self.write("shop/inner/__init__.py", "")
        self.write("shop/inner/loop.py", self.source)
        package = self.imported("shop")
        self.assertEqual(package.al.__name__, "shop.inner.loop")
        _scene(package.al).everything(self.folder)

    def test_not_in_sys_modules(self):
        path = self.write("agents.py", self.source)
        al = _load(path, "agents", register=False)
        self.assertNotIn("agents", sys.modules)
        for future in (False, True):
            scene = _scene(al, future=future)
            scene.core(), scene.journal(self.folder), scene.adapters()

    def test_exec(self):
        """By exec, as in a notebook cell: __name__ is "__main__" there, and no demo runs."""
        for names in ({"__name__": "__main__"}, {"__name__": "somewhere"}, {}):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(self.code, names)
            self.assertEqual(out.getvalue(), "")
            al = types.SimpleNamespace(**{k: v for k, v in names.items() if k != "__builtins__"})
            _scene(al).everything(self.folder)

    def test_in_a_zip(self):
        with zipfile.ZipFile(self.path("all.zip"), "w") as z:
            z.writestr("zipped_agents.py", self.source)
        al = self.imported("zipped_agents", "all.zip")
        self.assertIn("all.zip", al.__file__)
        hints = logging.getLogger("agentloop")  # where the command line puts a handler of its own
        with contextlib.redirect_stdout(io.StringIO()) as out:
            with mock.patch.object(hints, "handlers", []):
                self.assertEqual(al.main(["--version"]), 0)
        self.assertIn(hashlib.sha256(self.source.encode()).hexdigest(), out.getvalue())
        _scene(al).everything(self.folder)

    @unittest.skipIf(os.name == "nt" or _BROWSER, "needs POSIX permissions")
    def test_in_a_read_only_folder(self):
        os.mkdir(self.path("locked"))
        self.write("locked/agents_here.py", self.source)
        os.chmod(self.path("locked"), 0o555)
        try:
            with mock.patch.object(sys, "dont_write_bytecode", False):
                al = self.imported("agents_here", "locked")
            _scene(al).core()
        finally:
            os.chmod(self.path("locked"), 0o755)

    def test_users_modules(self):
        """Frozen dataclasses and postponed annotations in the user's tools."""
        for future in (False, True):
            with self.subTest(future=future):
                _scene(agentloop, future=future).core()

    def test_two_copies_understand_each_other(self):
        a, b = self.module("copy_a"), self.module("copy_b")
        self.assertIsNot(a.AgentAction, b.AgentAction)

        @b.tool(return_direct=True)
        def answer(text: str, action: b.AgentAction, run: a.AgentRun) -> str:
            """Answer."""
            return "%s %s %s" % (text, action.call_id, run.task)

        @b.tool(read_only=True)
        def look(n: int) -> object:
            """Look."""
            return b.Image(b"x") if n else [b.Image(b"y")]

        hand_made = b.Tool("hand_made", "By hand.", {"type": "object"}, lambda **given: given)
        self.assertEqual(
            set(a.registry([answer, look, hand_made])), {"answer", "look", "hand_made"}
        )
        tools = a.registry(b.registry([answer, look, hand_made]))
        script = [
            b.AgentAction("look", {"n": 1}),
            [b.AgentAction("look", {"n": 0}), a.AgentAction("hand_made", {"x": 1})],
            b.InvalidResponse("unreadable", {"m": 1}, "log"),
            b.AgentFinish("no", "log", {"m": 2}),
            b.AgentAction("answer", {"text": "hi"}, "id1"),
        ]
        task = b.AgentRun(["go", b.Image(b"z"), a.Image(b"z")])
        path = self.path("run.jsonl")
        run = a.run(
            a.Scripted(script), task, tools, journal=path,
            accept=lambda r: "no!" if r.output == "no" else None,
        )  # fmt: skip
        self.assertIs(run, task)
        told = ["ok", "ok", "ok", "invalid_response", "not_accepted", "ok"]
        self.assertEqual([s.status for s in run.steps], told)
        self.assertEqual(
            (run.state, run.finish.reason, run.output[:6]), ("succeeded", "return_direct", "hi id1")
        )
        self.assertEqual(run.steps[3].action.message, {"m": 1})
        self.assertEqual(run.steps[2].observation, {"x": 1})
        for one, other in ((a, b), (b, a)):
            self.assertEqual(one.to_json(one.AgentRun.load(path)), one.to_json(run))
            self.assertEqual(other.to_json(one.from_json(other.to_json(run))), one.to_json(run))
            self.assertIs(one.run(other.Scripted([]), run), run, "a finished run of the other copy")
            follow = one.run(
                other.Scripted(script + [other.AgentFinish("more")]), run.follow_up("more")
            )
            self.assertEqual(follow.output, "more")
        pictures = [
            m
            for m in a.OpenAIChat("m", api_key="k").body(run, tools)["messages"]
            if "image_url" in str(m)
        ]
        self.assertEqual(len(pictures), 3)
        self.assertEqual([str(s) for s in run.steps], [str(s) for s in a.AgentRun.load(path).steps])

        def transport(method, url, headers, body, timeout):
            return 401, {}, [b"{}"]

        with self.assertRaises(b.ModelError) as caught:
            a.run(b.OpenAIChat("m", api_key="k", retries=0, transport=transport), "go")
        self.assertEqual(caught.exception.agent_run.requests, 1)


def _cut_tool(n: int) -> int:
    return n


class CutFileTests(_CopyCase):
    """The file can be cut from the bottom up, at each banner."""

    def test_cut_at_each_banner(self):
        banners = [
            (m.group(1), m.start()) for m in re.finditer(r"(?m)^# == (.+?) =+$", self.source)
        ]
        names = [name for name, _ in banners]
        self.assertEqual(
            names, ["errors", "data", "tools", "loop", "journal", "models", "command line"]
        )
        works = {  # what is left when the section and all below it are gone
            "command line": ["core", "journal", "adapters"],
            "models": ["core", "journal"],
            "journal": ["core"],
            "loop": [],
            "tools": [],
        }
        for name, at in banners:
            if name in works:
                with self.subTest(without=name):
                    code = compile(self.source[:at], "cut.py", "exec", dont_inherit=True)
                    al = self.module("cut", code)
                    run = al.AgentRun("go", [al.AgentStep(al.AgentAction("a", {}), {1})])
                    self.assertEqual(al.from_json(al.to_json(run)).steps[0].status, "ok")
                    self.assertEqual(run.follow_up("more").history, [run])
                    if name == "loop":
                        found = al.registry([_cut_tool])["_cut_tool"]
                        self.assertEqual(found.parameters["required"], ["n"])
                    if works[name]:
                        scene = _scene(al)
                        for part in works[name]:
                            getattr(scene, part)(*[self.folder] * (part == "journal"))


_IMPORT_IT = '''
import builtins, json, os, signal, sys, warnings
sys.path.insert(0, %r)
HEAVY = """argparse asyncio concurrent.futures difflib http.client socket sqlite3 ssl subprocess
    urllib.request logging threading email http.server ctypes pickle random tempfile""".split()
before = set(sys.modules)
opened, changed = [], []

def hook(event, args):
    if event == "open":
        path = args[0] if isinstance(args[0], str) else ""
        if not path.endswith((".py", ".pyc", ".so", ".pyd", ".zip")) and not os.path.isdir(path):
            opened.append([event, str(args[0])])
    elif event.split(".")[0] in "socket subprocess shutil tempfile urllib sqlite3 ctypes".split():
        opened.append([event, repr(args)])
    elif event in "os.mkdir os.remove os.rename os.system os.putenv os.fork os.chdir".split():
        opened.append([event, repr(args)])

def state():
    return {
        "environ": dict(os.environ), "filters": list(warnings.filters), "path": list(sys.path),
        "sigint": signal.getsignal(signal.SIGINT), "limit": sys.getrecursionlimit(),
        "hook": sys.excepthook, "display": sys.displayhook, "builtins": sorted(vars(builtins)),
        "print": builtins.print, "stdout": (id(sys.stdout), sys.stdout.errors),
    }

was = state()
if hasattr(sys, "addaudithook"):
    sys.addaudithook(hook)
__import__(sys.argv[1])
found, now = list(opened), state()
loaded = [name for name in HEAVY if name in sys.modules and name not in before]
changed = [k for k in was if was[k] != now[k]]
print(json.dumps({"loaded": loaded, "opened": found, "changed": changed}))
'''


class ImportTests(_CopyCase):
    """What stands at the top of the file, and what an import does."""

    def test_header(self):
        lines = self.source.splitlines()
        self.assertEqual(lines[0], "# SPDX-License-Identifier: MIT")
        self.assertIn('THE SOFTWARE IS PROVIDED "AS IS"', self.source)
        self.assertTrue(self.source.isascii() if hasattr(str, "isascii") else True)
        self.assertRegex(agentloop.__version__, r"^\d+\.\d+\.\d+$")
        self.assertEqual(len(re.findall(r"(?m)^__version__ = ", self.source)), 1)
        # The lines in the docstring run as they stand, and print what they say.
        block = re.search(
            r"(?m)^    import agentloop\n(?:(?:    .*)?\n)+", agentloop.__doc__
        ).group()
        block = textwrap.dedent(block)
        self.assertLessEqual(len([line for line in block.splitlines() if line.strip()]), 10)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block, "header", "exec", dont_inherit=True), {"__name__": "header"})
        self.assertEqual(
            out.getvalue().splitlines(),
            ['lookup_stock(sku="A1")', 'lookup_stock(sku="A1") -> ok: 3', "finish: 3 left"],
        )

    def test_names(self):
        """__all__ is complete, and in the order in which one reads about them."""
        self.assertEqual(
            agentloop.__all__,
            [
                "run", "stream", "tool", "registry", "Tool",
                "AgentAction", "AgentStep", "AgentFinish", "AgentRun", "Image",
                "Event", "Decision", "Model", "to_json", "from_json", "InvalidResponse", "ModelError", "Scripted", "ReActText",
                "REACT_TEMPLATE", "OpenAIChat", "OpenAIResponses", "AnthropicMessages",
                "http_transport",
            ],
        )  # fmt: skip
        for name in agentloop.__all__:
            value = getattr(agentloop, name)
            if inspect.isroutine(value) or isinstance(value, type):
                self.assertTrue((value.__doc__ or "").strip(), name)
        own = {
            n for n, v in vars(agentloop).items()
            if getattr(v, "__module__", "") == "agentloop" and not n.startswith("_") and callable(v)
            and isinstance(v, (type, types.FunctionType))
        }  # fmt: skip
        self.assertEqual(own - set(agentloop.__all__), {"main"})
        names = {}
        exec("from agentloop import *", names)
        self.assertEqual(set(names) - {"__builtins__"}, set(agentloop.__all__))

    @_processes
    def test_importing_does_nothing(self):
        """Nothing is printed, opened or configured, and no heavy module is loaded."""
        script = self.write("import_it.py", _IMPORT_IT % str(_ROOT))
        status, out, err = _python("-B", "-I", "-S", "-W", "error", script, "agentloop")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(json.loads(out), {"loaded": [], "opened": [], "changed": []})

    @unittest.skipIf(sys.version_info < (3, 10), "this parser cannot play an older one's")
    def test_a_python_that_is_too_old(self):
        """The first error says which is needed, and comes before anything is imported."""
        imports = re.compile(r"(?m)^(import|from (?!__future__))")
        head = self.source[: imports.search(self.source, self.source.index('"""\n\n')).start()]
        with self.assertRaises(SyntaxError) as caught:
            ast.parse(head, feature_version=(3, 7))
        line = head.splitlines()[caught.exception.lineno - 1]
        self.assertIn("agentloop needs Python 3.8", line)
        for name in ("python2.7", "python3.6", "python3.7"):
            python = shutil.which(name)
            if python and not _BROWSER:
                done = subprocess.run([python, str(_FILE)], capture_output=True, env=_env())
                if b"SyntaxError" in done.stderr:  # else a launcher without that Python
                    self.assertIn(b"agentloop needs Python 3.8", done.stderr)


class OtherSystemTests(_CopyCase):
    """Flags of Python, consoles, and systems without locks."""

    @_processes
    def test_flags(self):
        """Under -O, -I, -S, -X dev, -W error, and where an encoding of the locale's is an error."""
        body = "import sys\nsys.path.insert(0, %r)\nimport agentloop as al\n%s\neverything(%r)\n"
        body += "print('fine')\n"
        jobs = {}
        for n, flags in enumerate((
            ["-S"], ["-O", "-I"], ["-W", "error"], ["-X", "dev", "-W", "error"],
            ["-X", "warn_default_encoding", "-W", "error", "-b"],
        )):  # fmt: skip
            os.mkdir(self.path(str(n)))
            script = self.write("script%d.py" % n, body % (str(_ROOT), _ALL, self.path(str(n))))
            jobs[" ".join(flags)] = lambda flags=flags, script=script: _python(*flags, script)
        for name, found in _side_by_side(jobs).items():
            with self.subTest(flags=name):
                self.assertEqual(found, (0, "fine\n", ""))

    @_processes
    def test_consoles(self):
        """The demo where standard output is ASCII, cp1252 or closed."""
        demo = [sys.executable, str(_FILE)]
        jobs = {
            name: lambda name=name: _python(str(_FILE), PYTHONIOENCODING=name)
            for name in ("ascii", "cp1252", "utf-8")
        }
        if os.name != "nt":
            closed = ["sh", "-c", 'exec "$0" "$@" >&- 2>&-', *demo]
            jobs["closed"] = lambda: (subprocess.call(closed, env=_env()), "model_ended", "")
        for name, (status, out, err) in _side_by_side(jobs).items():
            with self.subTest(console=name):
                self.assertEqual((status, err), (0, ""))
                self.assertIn("model_ended", out)

    def test_without_streams(self):
        """sys.stdout and sys.stderr are None under pythonw and some services."""
        al = self.module()
        with mock.patch.object(sys, "stdout", None), mock.patch.object(sys, "stderr", None):
            _scene(al).everything(self.folder)

    def test_without_fcntl(self):
        """No locks at all, or those of Windows."""
        gone = {"fcntl": None, "msvcrt": None}
        with mock.patch.dict(sys.modules, gone):
            _scene(self.module()).everything(self.folder)
        calls = []

        def locking(fd, how, number):
            calls.append((how, number, os.lseek(fd, 0, os.SEEK_CUR)))
            if 2 <= len(calls) <= 5:  # each run tries it twice
                raise OSError(errno.EACCES if len(calls) <= 3 else 0, "locked")  # 0 under Wine

        windows = types.SimpleNamespace(LK_NBLCK=2, LK_LOCK=1, LK_UNLCK=0, locking=locking)
        with mock.patch.dict(sys.modules, dict(gone, msvcrt=windows)):
            al = self.module()
            path = self.path("locked.jsonl")
            model = al.Scripted([al.AgentFinish("ok")])
            self.assertEqual(al.run(model, "go", journal=path).output, "ok")
            data = _bytes(path)
            for _ in range(2):
                with self.assertRaises(BlockingIOError) as caught:
                    al.run(model, "go", journal=path)
                self.assertEqual(caught.exception.filename, path)
                self.assertEqual(caught.exception.errno, errno.EAGAIN)
            self.assertEqual(al.run(al.Scripted([]), "go", journal=path).output, "ok")
            # one byte far behind the end, so that everyone can read
            self.assertEqual((_bytes(path), calls), (data, [(2, 1, 1 << 40)] * 6))
            self.assertEqual(al.AgentRun.load(path).output, "ok", "load needs no lock")


# == generated input ===============================================================================


class _Paint(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclasses.dataclass
class _Tree:
    name: str
    weight: float = 1.0
    children: typing.Optional[typing.List["_Tree"]] = None


class _Odd(Exception):
    def __str__(self):
        raise ValueError("not even this")


def _fuzz_tools():
    def plain(a: int, b: str = "x", c: bool = False, d: typing.Optional[float] = None) -> str:
        return "ok"

    def nested(
        node: _Tree, colors: typing.List[_Paint] = (), pair: typing.Tuple[int, str] = (1, "a")
    ) -> object:
        return node

    def unions(
        x: typing.Union[int, str, typing.List[int], typing.Dict[str, _Tree], None],
        y: typing.Optional[typing.Set[int]] = None,
    ) -> object:
        return x

    def loose(
        x: typing.Any, when: typing.Optional[decimal.Decimal] = None, **rest: float
    ) -> object:
        return x

    def raising(kind: int = 0) -> str:
        errors = [
            ValueError("v"), KeyError(), StopIteration(1), RecursionError(), _Odd(),
            AssertionError(),
        ]  # fmt: skip
        raise errors[kind % len(errors)]

    schema = {"type": "object", "required": ["q"], "additionalProperties": False}
    foreign = agentloop.Tool("foreign", "From elsewhere.", schema, lambda **arguments: arguments)
    return agentloop.registry([plain, nested, unions, loose, raising, foreign])


_WORDS = [
    "", " ", "a", "b", "x", "q", "name", "red", "RED", "true", "null", "5", "1.5", "NaN", "-0", "1e400",
    "9" * 30, "\ud800", "\x00", "\u2028", "\u00e9", "{}", "[]", '{"a": 1}', '{"a": 1', "<think>",
    "</think>", "```json\n{}\n```", "Thought: hm\n", "Action: plain\n", "Action Input: ", "\n",
    "Final Answer: ", "Observation: ", "None", "{'a': 1}", "functions.plain", "**Action:** plain",
    "Action Input\uff1a{", "plain", "nested",
]  # fmt: skip


_KEYS = [
    "a", "b", "c", "d", "x", "y", "q", "node", "name", "weight", "children", "colors", "pair",
    "kind", "seen", "type", "content", "tool_calls", "id", "function", "arguments", "index", "delta",
    "message", "usage", "status",
]  # fmt: skip


_DEEP = [40, 300]  # levels; .ci/fuzz.py goes further


def _scalar(rng):
    number = rng.choice([0, 1, -1, 5.0, 2**70, 1e300, float("nan"), float("inf"), 0.1])
    return rng.choice([None, True, False, number, rng.choice(_WORDS), rng.randrange(-9, 99)])


def _value(rng, depth=4):
    """Any JSON value; now and then a very deep one."""
    kind = rng.random()
    if depth <= 0 or kind < 0.4:
        return _scalar(rng)
    if kind < 0.6:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind < 0.99:
        return {rng.choice(_KEYS): _value(rng, depth - 1) for _ in range(rng.randrange(4))}
    deep = 0
    for _ in range(rng.choice(_DEEP)):
        deep = [deep] if rng.random() < 0.5 else {"children": [deep]}
    return deep


def _dumped(tree):
    """JSON text; the encoder itself gives up on what is too deep."""
    try:
        return json.dumps(tree)
    except RecursionError:
        return '{"a": ' * 900 + "1" + "}" * 900


def _mutated(rng, data):
    """Bytes with some damage: cut, doubled, random ones and telling words put in."""
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        at, length = rng.randrange(len(data) + 1), rng.choice([1, 2, 8, 40])
        kind = rng.randrange(6)
        if kind == 0:
            del data[at : at + length]
        elif kind == 1:
            data[at:at] = data[at : at + length] * rng.choice([1, 2, 30])
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4])))
        elif kind == 3:
            data[at:at] = rng.choice(_WORDS).encode("utf-8", "surrogatepass")
        elif kind == 4:
            data[at:at] = _dumped(_value(rng, 2)).encode()
        else:
            del data[at:]
    return bytes(data)


def _replaced(rng, tree, odds=0.06):
    """The same JSON with something in it replaced by something else, or left out."""
    if rng.random() < odds:
        return _value(rng, 2)
    if isinstance(tree, dict):
        return {k: _replaced(rng, v, odds) for k, v in tree.items() if rng.random() > odds / 3}
    return [_replaced(rng, v, odds) for v in tree] if isinstance(tree, list) else tree


_CALL = {"id": "c1", "type": "function", "function": {"name": "plain", "arguments": '{"a": 1}'}}


_REPLIES = {  # protocol: (a whole reply, the events of a streamed one)
    "OpenAIChat": (
        {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Hm.", "tool_calls": [_CALL]},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3},
        },
        [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hm"}}]},
            {"choices": [{"index": 0, "delta": {"tool_calls": [dict(_CALL, index=0)]}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
        ],
    ),
    "OpenAIResponses": (
        {
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Hm."}],
                },
                {
                    "type": "function_call", "call_id": "c1", "name": "plain",
                    "arguments": '{"a": 1}',
                },
            ],
            "usage": {"input_tokens": 9, "output_tokens": 3},
        },
        [
            {"type": "response.output_text.delta", "output_index": 0, "delta": "Hm."},
            {
                "type": "response.output_item.done",
                "output_index": 1,
                "item": {
                    "type": "function_call", "call_id": "c1", "name": "plain", "arguments": "{}",
                },
            },
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        ],
    ),
    "AnthropicMessages": (
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "x"},
                {"type": "text", "text": "Hm."},
                {"type": "tool_use", "id": "c1", "name": "plain", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 9, "output_tokens": 3},
        },
        [
            {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hm."},
            },
            {"type": "content_block_stop", "index": 0},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "c1", "name": "plain", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
            },
            {"type": "content_block_stop", "index": 1},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 3},
            },
            {"type": "message_stop"},
        ],
    ),
}  # fmt: skip


_STATUSES = {
    "ok", "unknown_tool", "invalid_arguments", "tool_error", "duplicate_call", "invalid_response",
    "not_accepted", "unknown_outcome", "not_executed",
}  # fmt: skip


class FuzzTests(_FolderCase):
    """Generated replies, arguments and files: steps, and the documented exceptions only."""

    def setUp(self):
        super().setUp()
        self.tools = _fuzz_tools()
        log = logging.getLogger("agentloop")  # what servers do wrong is reported there
        level = log.level
        log.setLevel(logging.CRITICAL)
        self.addCleanup(log.setLevel, level)

    def cases(self, number, play):
        """play(rng) for so many seeds; what goes wrong is reported with its seed."""
        for seed in range(number):
            rng = random.Random(seed)
            start = time.process_time()
            try:
                play(rng)
            except Exception as e:
                raise AssertionError("seed %d: %s: %s" % (seed, type(e).__name__, e)) from e
            self.assertLess(time.process_time() - start, 2, "seed %d hangs" % seed)

    def sound(self, run, statuses=_STATUSES, allow_nan=False):
        """What holds of every run: steps have a status, all can be written, read and shown."""
        for step in run.steps:
            self.assertIsInstance(step.status, str)
            self.assertTrue(step.status)
            self.assertIn(step.status, statuses or {step.status})
            for event in (step, step.action):
                odd = [c for c in str(event) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
                self.assertEqual(odd, [], repr(str(event)))
        if run.finish is not None:
            self.assertNotIn("\n", str(run.finish))
        text = json.dumps(agentloop.to_json(run), allow_nan=allow_nan)
        # What was no JSON is text now.
        once = agentloop.to_json(agentloop.from_json(json.loads(text)))
        self.assertEqual(agentloop.to_json(agentloop.from_json(once)), once)
        return run

    def test_arguments(self):
        """Any JSON value as the arguments of each kind of tool: one step, and it goes on."""
        reached = dict.fromkeys(("ok", "invalid_arguments", "tool_error"), 0)

        def play(rng):
            tool, given = rng.choice(list(self.tools)), _value(rng)
            if rng.random() < 0.7:
                names = [
                    n
                    for n in self.tools[tool].parameters.get("properties", {"q": 0})
                    if rng.random() < 0.8
                ]
                given = {name: _value(rng, 2) for name in names}
            if rng.random() < 0.4:
                given = _mutated(rng, json.dumps(given).encode()).decode("utf-8", "replace")
            sent = json.dumps(given)
            model = agentloop.Scripted(
                [agentloop.AgentAction(tool, given), agentloop.AgentFinish("x")]
            )
            run = self.sound(agentloop.run(model, "go", self.tools, max_requests=2))
            self.assertEqual((run.state, len(run.steps)), ("model_ended", 1))
            self.assertEqual(
                json.dumps(run.steps[0].action.tool_input), sent, "the step keeps what was sent"
            )
            reached[run.steps[0].status] += 1

        self.cases(1500, play)
        self.assertGreater(min(reached.values()), 20, reached)

    def test_replies_of_a_model(self):
        """Any object as a reply: steps, or a TypeError that carries the run."""
        ends = {"steps": 0, "TypeError": 0}

        def action(rng):
            name = rng.choice([*self.tools, "nope", "", None, 5, "\udc80", ["x"]])
            call_id = rng.choice(["", "", "c1", "c2", None, 7, "\x00", ["x"]])
            given = rng.choice([_value(rng), {"a": 1}, b"x", {1: 2}, (1,), {"x": {1, 2}}, object()])
            return agentloop.AgentAction(
                name, given, call_id, rng.choice(["", "so", None, 3]), _value(rng)
            )

        def play(rng):
            def model(run, tools):
                kind = rng.random()
                if kind < 0.5:
                    return [action(rng) for _ in range(rng.randrange(1, 4))]
                if kind < 0.75:
                    return action(rng)
                if kind < 0.85:
                    raise agentloop.InvalidResponse(rng.choice(["", "unreadable"]), _value(rng))
                if kind < 0.95:
                    return agentloop.AgentFinish(_value(rng), rng.choice(["", "so"]))
                return rng.choice(
                    [None, 5, {}, "x", object(), [None], [agentloop.AgentFinish("x")]]
                )

            try:
                run = agentloop.run(model, "go", self.tools, max_requests=4)
                ends["steps"] += 1
                self.assertEqual((run.pending, run.started), ([], []))
            except TypeError as e:
                run = e.agent_run
                ends["TypeError"] += 1
            self.sound(run)
            self.assertLessEqual(run.requests, 4)

        self.cases(600, play)
        self.assertGreater(min(ends.values()), 20, ends)

    def test_replies_of_servers(self):
        """Any bytes as a reply, streamed or not; the request after it is sound JSON."""
        ended = {}

        def play(rng):
            protocol, streamed = rng.choice(sorted(_REPLIES)), rng.random() < 0.5
            found = _REPLIES[protocol][streamed]
            if rng.random() < 0.6:
                found = _replaced(rng, found)
            events = found if isinstance(found, list) and streamed else [found]
            data = b"".join(
                b"data: %s\n\n" % json.dumps(e).encode() if streamed else json.dumps(e).encode()
                for e in events
            )
            if streamed and rng.random() < 0.7:
                data += b"data: [DONE]\n\n"
            if rng.random() < 0.4:
                data = _mutated(rng, data)
            status = rng.choice([200] * 12 + [400, 404, 429, 500])
            kind = "text/event-stream" if streamed else "application/json"
            kind = rng.choice([kind] * 8 + ["text/html", "", None])
            cut = rng.randrange(len(data) + 1)

            def transport(method, url, headers, body, timeout):
                json.loads(body.decode("utf-8"))
                sent = {} if kind is None else {"content-type": kind}
                return status, sent, iter([data[:cut], data[cut:]])

            told = []
            model = getattr(agentloop, protocol)(
                "m", api_key="k-secret", retries=0, transport=transport,
                on_text=told.append if streamed else None,
            )  # fmt: skip
            try:
                run = self.sound(agentloop.run(model, "go", self.tools, max_requests=2))
                end = run.state
            except agentloop.ModelError as e:
                run, end = self.sound(e.agent_run), e.kind
                self.assertNotIn("k-secret", str(e))
            self.assertTrue(all(isinstance(t, str) for t in told))
            ended[protocol, streamed, end] = ended.get((protocol, streamed, end), 0) + 1
            json.dumps(model.body(run.follow_up("more"), self.tools), allow_nan=False).encode(
                "utf-8"
            )

        self.cases(1200, play)
        kinds = {
            "auth", "rate_limit", "context_length", "bad_request", "server", "timeout",
            "connection", "bad_response", "model_ended", "budget_exhausted",
        }  # fmt: skip
        self.assertLessEqual({e for _, _, e in ended}, kinds)
        for protocol in _REPLIES:  # the sound ones among them are understood
            for streamed in (True, False):
                self.assertGreater(
                    ended.get((protocol, streamed, "budget_exhausted"), 0), 10, protocol
                )

    def test_texts(self):
        """Whatever a text model writes is a call, an answer, or an invalid response."""
        seen = {"call": 0, "answer": 0, "invalid_response": 0}

        def play(rng):
            text = "".join(rng.choice(_WORDS) for _ in range(rng.randrange(1, 12)))
            if rng.random() < 0.2:
                text = 'Thought: so\nAction: plain\nAction Input: {"a": %s}\n' % json.dumps(
                    _value(rng, 2)
                )
            if rng.random() < 0.2:
                text = _mutated(rng, text.encode("utf-8", "replace")).decode("utf-8", "replace")
            prompts = []
            model = agentloop.ReActText(lambda prompt: prompts.append(prompt) or text)
            run = self.sound(agentloop.run(model, "go", self.tools, max_requests=2))
            kind = (
                "answer"
                if run.finish
                else "call"
                if run.steps[0].action.tool
                else run.steps[0].status
            )
            seen[kind] += 1
            self.assertTrue(all(isinstance(p, str) for p in prompts))

        self.cases(1000, play)
        self.assertGreater(min(seen.values()), 20, seen)

    def test_journals(self):
        """Any damage to a file: a run, or a ValueError that names the file and a line."""
        _without_syncs(self)
        play = _Play(
            self.path("sample"),
            [["pay 1"], "?", ["look 1", "nix 1"], "no", ["put 1"], "yes"],
            check=True,
        )
        play.values = {"pay 1": [agentloop.Image(b"x")], "look 1": {1}}
        play.go()
        # So that a seed stays the same case.
        sample = re.sub(rb'"time": ?[0-9.]+', b'"time": 1', play.data())
        lines = [json.loads(line) for line in sample.splitlines()]
        path = self.path("run.jsonl")
        ends = {"run": 0, "ValueError": 0}

        def done(run, tools):
            return agentloop.AgentFinish("done")

        def attempt(rng):
            if rng.random() < 0.5:
                data = _mutated(rng, sample)
            else:
                events = list(lines)
                for _ in range(rng.choice([1, 1, 2])):
                    at = rng.randrange(len(events))
                    kind = rng.random()
                    if kind < 0.6:
                        events[at] = _replaced(rng, events[at], 0.15)
                    elif kind < 0.75:
                        del events[at]
                    elif kind < 0.9:
                        events.insert(at, rng.choice(lines))
                    else:
                        events = events[:at] or events
                data = b"".join(json.dumps(e).encode() + b"\n" for e in events)
            with open(path, "wb") as f:
                f.write(data)
            for use in (
                agentloop.AgentRun.load,
                lambda p: agentloop.run(done, "go", play.tools, journal=p, max_requests=20),
            ):
                try:
                    self.sound(use(path), statuses=None, allow_nan=True)  # a word may be anyone's
                    ends["run"] += 1
                except ValueError as e:
                    self.assertIn(path, str(e))
                    self.assertRegex(str(e).replace(path, ""), r"line \d")
                    ends["ValueError"] += 1

        self.cases(600, attempt)
        self.assertGreater(min(ends.values()), 50, ends)


# == examples and course ===========================================================================


# What each prints, offline: a few pieces that would be wrong if its idea did not work.
_EXAMPLES = {
    "acceptance.py": [
        (
            "state: model_ended, rejected claims: 0\n   output: Done, VAT is 7 % now.\n   is "
            "the table right? no"
        ),
        "not_accepted: The checks have not run since the last change.",
        "not_accepted: The last run of the checks failed.",
        "state: succeeded, rejected claims: 2",
        "   is the table right? yes",
        "state: budget_exhausted, rejected claims: 2\n   output: None",
    ],
    "approval.py": [
        'waiting for approval: delete_customer(customer="cust-1")',
        'waiting for approval: delete_customer(customer="cust-7")',
        "customers left: cust-1, cust-4, cust-7\n2. In the morning",
        "-> denied: Denied by the operator: an open invoice",
        "-> ok: deleted cust-7",
        "nothing happens twice.\n   state: model_ended\n   customers left: cust-1, cust-4\n",
    ],
    "ask_sqlite.py": [
        'schema() -> ok: ["customers", "orders"]',
        'query(sql="DELETE FROM orders") -> tool_error: DatabaseError: not authorized',
        "tool_error: DatabaseError: access to customers.card_number is prohibited",
        "tool_error: OperationalError: interrupted",
        '-> ok: {"more_rows": true, "columns": ["i"], "rows": [[1], [2]',
        '"rows": [["Anna", 4000], ["Ben", 450]]',
    ],
    "async_app.py": [
        (
            "1. A patient reader\n   text came in pieces: yes\n   events: AgentAction, "
            "AgentStep, AgentFinish\n   state: model_ended, requests: 2, steps: 1"
        ),
        "   events: AgentAction, AgentStep\n   state: running, requests: 2, steps: 1",
        "   events: AgentFinish\n   state: model_ended, requests: 3, steps: 1",
        "   events: AgentAction, AgentStep, error\n   state: running, requests: 2, steps: 1",
        "observations: [3], state: model_ended",
    ],
    "benchmark.py": [
        "growth: ", "parallel: ", *(["memory: "] if os.name == "posix" else []), "one request: ",
        "a streamed chunk: ", "a long conversation: ", "journal: ",
    ],
    "callbacks.py": [
        "         tool_error tool=lookup_stock error='B2'",
        "       run_end state=model_ended\n     tool_end tool=ask_buyer",
        "inside ask_buyer, inside the outer run: True",
        "inherited: tags ['shop'], metadata {'user': 'anna', 'agent': 'buyer'}",
        "requests of a run, mean: 2.5",
        "lookup_stock: 1 of 2 failed",
        "one handler failed at every event: yes\n   the async one was awaited at each: yes",
        "and the run: model_ended, We have 3 pieces of A1.",
    ],
    "chat.py": [
        '\nreasoning: I need the time.\nevent: get_time(city="Oslo") -> ok: 14:05\n',
        "\nanswer: It is 14:05 in Oslo.\n",
        "\nreasoning: Polite.\nanswer: You are welcome.\n",
    ],
    "check_server.py": [
        (
            "reachable: yes\n  models: fake\n  one tool call: yes\n  the same, streamed: "
            "yes\n  a word 6,000 tokens back: yes\n  failures: 0"
        ),
        "one tool call: NO\n    llama.cpp: --jinja",
        "(the server has read 2000 tokens only)\n  a word 6,000 tokens back: NO",
        "OLLAMA_CONTEXT_LENGTH",
        "failures: 2",
    ],
    "class_server.py": [
        "anna: In stock: 3.\n   ben: In stock: 3.\n   requests that were paid: 2",
        "anna is stopped, and reads why: True",
        "anna     4 of 4 paid, 0 from the recording",
        "ben      2 of 4 paid, 2 from the recording",
        "what the provider saw: sk-of-the-teacher, small",
        'a list: 400 {"error": {"message": "the request cannot be read: a chat request is wanted"}}',
        "nested too deeply: 400 ",
        "paid for that: 0",
        "no provider\n   carl: In stock: 3.",
    ],
    "coding_agent.py": [
        "PermissionError: ../../etc/passwd is outside the repository",
        "-> denied: A person refused this command.",
        "-> ok: killed after 0.3 s, with all its children",
        "`old` occurs 0 times in slug.py, not once",
        "reply -> not_accepted: The tests fail:\\nexit status 1",
        "run_tests() -> ok: exit status 0",
        "succeeded after 10 requests",
        '+    return "-".join(title.lower().split())',
    ],
    "crash_and_resume.py": [
        "exit status: 9",
        "in the journal: running, requests: 1",
        "started, not done: place_order",
        "at the service: 1 order(s)",
        "model_ended after 3 requests",
        "statuses: unknown_outcome, ok",
        "orders under cart-1001: 1",
        "a hasty second order is refused: there is an order under cart-1001: 2 of A1.",
    ],
    "error_feedback.py": [
        "invalid_response: That was no JSON",
        (
            '{"error": "bad_day", "problem": "\'June 5th\' is no day", "do": "Write it as '
            'YYYY-MM-DD."}\n   (so far the function was called 3 times)'
        ),
        "invalid_arguments: args.date: unknown name",
        "args.day: missing\n   (so far the function was called 3 times)",
        "ok: ['08:12', '10:12']\n   (so far the function was called 4 times)",
        "model_ended after 5 requests",
        '{"error": "unavailable", "problem": "3 times ConnectionError',
    ],
    "evaluate.py": [
        "task    right at once  95 % interval                          rescued requests  calls",
        "value         7 of 19   19 to  59 %  |    ----#----         |       4      4.6    3.4",
        "all          28 of 57   37 to  62 %  |        --#---        |      17      3.6    2.2",
        "not judged, since the server failed: 3",
        "(the answer)      82   45 %  not_accepted 37",
        "get_stock          8  100 %  unknown_tool 8",
        "lookup_price      51   25 %  invalid_arguments 5, tool_error 8",
    ],
    "fallback.py": [
        "   busy failed (server)\n   [large] lookup_stock",
        (
            '   [large] lookup_stock(sku="A2")\n   large is too dear\n   [shy] '
            'lookup_stock(sku="A2")\n   [shy] lookup_stock(sku="A2") -> ok: 7'
        ),
        "   [shy] finish (refusal): I do not talk about locks.\n   shy refused",
        "   model_ended after 5 requests: In stock: [3, 7]",
        "the refused turn shown: I do not talk about locks.",
        "the refused turn left out: Ask a neighbour, or call a craftsman.",
    ],
    "fan_out.py": [
        "200 of 200",
        "budget_exhausted       4        12",
        "failed                 8         8",
        "model_ended          188       376",
        "run 7: ConnectionError: the server hung up",
        "model_ended          200        28",
        "done before, nothing asked: 188 of 200",
    ],
    "first_run.py": [
        'lookup_stock(sku="A1") -> ok: {"sku": "A1", "available": 3}',
        "model_ended: 1 step(s), 2 request(s), '3 of A1 can be sold. Nothing is reserved.'",
        "budget_exhausted: 1 step(s), 1 request(s), None",
        "unknown_tool: ",
        "known: lookup_stock",
        "ok: {'sku': '1', 'error': 'not found'}",
        "invalid_arguments: args.sku: expected string",
        "not_accepted: Looking is not reserving",
        "budget_exhausted: 3 step(s), 3 request(s), None",
        "duplicate_call: ",
    ],
    "hand_over.py": [
        '[front] hand_over(to="billing") -> ok: billing',
        "[billing] refund(euros=12.5) -> ok: 12.50 euros paid back",
        "model_ended after 3 requests",
        "refund(euros=5) -> unknown_tool: ",
        "refund(euros=5) -> ok: 5.00 euros paid back",
        "tools at the end: open_drawer, refund",
    ],
    "limits.py": [
        "time: time limit of 0.3 s reached",
        "tokens: limit of 100 tokens reached",
        "cost: cost limit of $0.04 reached",
        "stop button: stopped by the user\n   state running, steps kept: yes",
        "one last request: model_ended, 1 request: Nothing new on the pages that I have read",
        "tool_error: TimeoutError: timed out after 0.1 s, effect unknown",
        'translate(text="I do not know.") -> ok: Je ne sais pas.',
        "on and on\n   ModelError of kind timeout",
        "small: $0.0010 for 1 requests, 3000 input_tokens, 0 cached_tokens, 250 output_tokens",
    ],
    "long_output.py": [
        "the step keeps 10002441 characters, 2063 are sent",
        "the cut: [... characters 1335 to 10001775 of 10002441 are missing ...]",
        "read_log_part(start=1335)",
        "the step keeps 1000 characters, 1000 are sent",
        "model_ended: The error: ERROR disk 7 is full",
    ],
    "mcp_tools.py": [
        "shop, MCP 2026-07-28\n  stock_level read_only\n  order idempotent\n  photo\n",
        'stock_level(sku="A1") -> ok: 3 in stock (roots: 1)',
        'order(sku="A1") -> tool_error: MCPError: no supplier',
        "-> ok: [resource text/plain note://7]\\nshelf 7\\n[picture: image/gif, 42 bytes]",
        'price(sku="A1") -> ok: {"sku": "A1", "cents": 250}',
        "timed out after 0.3 s, effect unknown. The server hangs and was ended.",
        'stock_level(sku="A1") -> tool_error: MCPError: The server has ended. looking',
        'An older server:\nshop, MCP 2025-06-18\nstock_level(sku="A1")\nstock_level(sku="A1") -> ok',
        'Over HTTP:\nshop, MCP 2026-07-28\nstock_level(sku="A1")\nstock_level(sku="A1") -> ok: 3 in',
        "finish: That is what the server said.",
    ],
    "memory.py": [
        "everything       6    280  Your order number is W-17.",
        "last             2     79  I do not know.",
        "summary          4    244  Your order number is W-17.",
        "the summary: My order number is W-17. My dog's name is Rex.",
        "search           3    1",
        "embeddings       3    120  Your order number is W-17.",
    ],
    "no_progress.py": [
        (
            "-> no_progress: Not run: this call has brought the same result 3 times. Try another "
            "way.\n   finish: There is no report.txt here, only notes.txt.\n   model_ended "
            "after 5 requests"
        ),
        (
            'find_train(city="city 4") -> no_progress: Not run: the last 3 results were errors. '
            'Say so, or try another way.\n   find_train(city="city 5") -> ok: error'
        ),
        "   stopped, no progress after 12 requests",
    ],
    "parallel_reads.py": [
        "six reads: 6 calls in 0.",
        (
            " s, at most 6 at once\n   came out last: Cairo\n   recorded in the order asked: yes\n"
            "a limit of 2: 6 calls in "
        ),
        " s, at most 2 at once",
        "a write among them: 3 calls in 0.",
        (
            " s, at most 1 at once\n   came out last: Oslo\n   recorded in the order asked: yes\n"
            "one read a reply: 3 calls in 0."
        ),
    ],
    "read_web.py": [
        'read_web(url="http://tea.example/old") -> ok: http://tea.example/tea\\nTea\\nTakes 4 minutes.',
        "tool_error: PermissionError: localhost is ",
    ],
    "real_model.py": [
        "A scripted model; the top of this file says how to get a real one.",
        'get_weather(city="Paris") -> ok: It is raining in Paris.',
        "finish: It is raining in Paris.",
        "model_ended after 2 of 5 requests",
    ],
    "record_replay.py": [
        "1. Recorded from a server\n   In stock: 3., requests: 2",
        "recordings: 2, the key in the file: False",
        "the recording answers\n   In stock: 3., requests: 2",
        "LookupError: not recorded; from character",
        "B2",
    ],
    "search_documents.py": [
        'search(words="???") -> ok: ["Nothing was found. Try other words."]',
        "[returns.md:3] Lamps can be returned within 30 days.",
        'read_on(source="returns.md:3") -> ok: ["[returns.md:1] # Returns", "[returns.md:3] Lamps',
        "not_accepted: Name your sources",
        "not_accepted: These were not found in this run: terms.md:7.",
        "finish: You have 30 days [returns.md:3], except for bulbs [returns.md:5].",
    ],
    "see_images.py": [
        'take_photo(room="kitchen") -> ok: [picture: image/png',
        "finish: Your card is red, the wall green.",
        '{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR',
        '{"role": "tool", "tool_call_id": "c00000001", "content": "[picture: image/png',
        '{"role": "user", "content": [{"type": "image_url"',
        "The pictures survive as JSON: True",
    ],
    "simulated_world.py": [
        ("the agent that tries again\n  simulated              succeeded        in the store: 3"),
        "  real                   budget_exhausted in the store: 6",
        "the store says 6 reserved, 3 were asked for",
        "  simulated, fixed       budget_exhausted in the store: 6",
        "first difference: step 2: reserved() -> ok: 0 | reserved() -> ok: 3",
        "  simulated, fixed       succeeded        in the store: 3",
    ],
    "skills.py": [
        (
            "- invoices: How an invoice looks.\n- letters: How we write to customers, also to "
            "those who complain.\n"
        ),
        'read_skill(name="letters") -> ok: Be short. Sign as "Your shop".',
        'file="complaints.md") -> ok: Say sorry once.',
        "tool_error: PermissionError: ../secret.txt is outside the skill's folder",
    ],
    "steering.py": [
        '   book(means="flight")\n   user: Not by plane, please: by train.\n   find(means="train")',
        "model_ended: By train, for 140 euros.",
        "the first turn: ['find ok', 'book not_executed']",
        "   flight: By flight, for 220 euros.\n   train: By train, for 140 euros.\n   bus: By bus",
        "the run that was forked still has 2 steps",
    ],
    "structured_answer.py": [
        "1. not_accepted: Answer by calling the tool `answer`.",
        (
            '2. invalid_arguments: args.currency: expected one of "EUR", "USD", got "euros"; '
            "args.lines[0].cents_each"
        ),
        "4. not_accepted: The lines add up to 4900 cents, not to 4000.",
        "state succeeded, 4 requests",
        "Invoice 2041: 4000 cents, EUR",
        "2 x box of tea = 900",
    ],
    "sub_agents.py": [
        '[harbour] search(words="harbour") -> ok: ["harbour: a book of 1921"]',
        "[lighthouse] finish: 1921",
        "model_ended: Built in 1921: 3 of 3. 8 requests in 0.",
        "of 3. 6 requests in 0.",
    ],
    "test_your_agent.py": [
        "test_an_answer_without_a_look_does_not_get_through", "Ran 6 tests in", "\nOK\n",
    ],
    "tools_from_functions.py": [
        '"enum": [',
        '"description": "what to order, one line for each product."',
        '-> invalid_arguments: args.lines[0].quantity: expected integer, got "many"',
        'args.shiping: unknown name, did you mean "shipping"?',
        "args.note",
        "(the function gets lines=[Line(sku='A1', quantity=2)], shipping='courier')",
        "-> ok: ordered 2 pieces by courier",
        "-> ok: 40 USD",
        "a lambda: a lambda has no name",
        "twins: two tools are called 'list_products'",
    ],
    "trace_viewer.py": [
        "7 requests, 9 calls",
        (
            "states: denied, finish, invalid_arguments, invalid_response, not_accepted, ok, "
            "task, tool_error, unknown_tool"
        ),
        "scripts: 1, its own",
    ],
    "trim_context.py": [
        "the run: model_ended, 12 steps, 14 requests, Page 7 is the longest.",
        "everything: about 1600 tokens, paired: yes, pages [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
        "the last 3 replies: about 400 tokens, paired: yes, pages [10, 11, 12]",
        "about 400 tokens: about 800 tokens, paired: yes, pages [7, 8, 9, 10, 11, 12]",
        "masking: about 1100 tokens, paired: yes, pages [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
        "compaction: about 600 tokens, paired: yes, pages [1, 9, 10, 11, 12]",
        "the summary: (a summary so far) 5 results, page 7 is longest.",
        "the run still holds 12 steps",
    ],
    "unavailable_tool.py": [
        "The tool works:\n   list_servers()",
        'get_cpu_usage(server="srv-01") -> ok: 73',
        ("finish: The CPU of srv-01 is 73 per cent busy.\n   model_ended: 2 calls, ['ok', 'ok']"),
        "-> tool_error: Unavailable: status 503: its monitoring agent does not answer",
        "finish: I cannot tell. srv-01 is not available: status 503",
        "model_ended: 2 calls, ['ok', 'tool_error']",
        '   | Action Input: {"server": "srv-01"}\n   | Observation: Unavailable: status 503',
    ],
    "weather_tools.py": [
        "list_cities()         ['Cairo', 'Lima', 'Oslo', 'Paris', 'Tokyo']",
        "no station in 'Parsi'",
        'get_weather(city="Paris") -> ok: {"city": "Paris", "sky": "cloudy"',
        "finish: It is cloudy in Paris, 18 degrees Celsius.",
    ],
    "course/00_check_laptop/lesson.py": [
        "ok   Python 3.",
        "ok   agentloop.py is where it should be",
        "ok   a run: 2 requests, 1 step, model_ended",
        "ok   server: one on this machine says hello",
        "ready: yes",
    ],
    "course/01_build_your_own/lesson.py": [
        "an unknown tool      KeyError     answer       answer       answer       answer",
        "a tool that raises   KeyError     answer       answer       answer       answer",
        ("one call, sent twice 2 reserved   2 reserved   1 reserved   1 reserved   1 reserved"),
        "a model without end  no end       no end       no end       10 steps     10 steps",
        "step_2 adds 6 lines to step_1",
        "step_3 adds 4 lines to step_2",
        "step_4 adds 4 lines to step_3",
    ],
    "course/02_tools/lesson.py": [
        '"additionalProperties": false',
        "ok       ('A1', 'north', 2)",
        "ok       ('A1', 'south', 0)",
        'invalid_arguments args.sku_id: unknown name, did you mean "sku"?',
        'args.days: expected integer, got "soon"',
        "invalid_arguments args.days: expected integer, got 2.5",
        "a lambda: a lambda has no name",
        "two of one name: two tools are called 'lookup_stock'",
    ],
    "course/03_errors/lesson.py": [
        "requests: 2; statuses: ok; answer: 0 can be sold",
        "repeating it will not help",
        "requests: 3; statuses: tool_error, tool_error; answer: I could not find out",
        "did you mean A1-RED?",
        "requests: 3; statuses: tool_error, ok; answer: 3 can be sold",
    ],
    "course/04_real_model/lesson.py": [
        '"content": "Answer in one short sentence."',
        'get_weather(city="Paris") -> ok',
        "model_ended; requests: 2, steps: 1",
        "request 1: 2 messages: system, user",
        "request 2: 4 messages: system, user, assistant, tool",
        "'input_tokens': 875",
    ],
    "course/05_limits/lesson.py": [
        "1. budget of 3: budget_exhausted; requests: 3, steps: 3; output: None",
        ("2. the same run, once more: budget_exhausted; requests: 5, steps: 5; output: None"),
        "3. the clock: running; requests: ",
        ("4. the last word: model_ended; requests: 1, steps: 0; output: found nothing on 5 pages"),
    ],
    "course/06_accept/lesson.py": [
        "honest, checked    succeeded         reserved: 2   requests: 2",
        "hasty              model_ended       reserved: 0   requests: 1",
        "hasty, checked     succeeded         reserved: 2   requests: 3",
        "stubborn, checked  budget_exhausted  reserved: 0   requests: 4  output: None",
        "not_accepted: 2 of A1 are not reserved yet; call reserve",
    ],
    "course/07_crash_and_resume/lesson.py": [
        "orders in the book: 2\n\n2. With a journal",
        'place_order(sku="A1") -> unknown_outcome',
        'count_orders(sku="A1") -> ok: 1',
        "(model_ended, steps: 2, waiting: 0)\norders in the book: 1",
        "(Ann is asked: place_order, with {'sku': 'A1'}?)\n    (running, steps: 0, waiting: 1)",
        "finish: nothing was ordered: Ann says no",
    ],
    "course/08_text_model/lesson.py": [
        "    | Question: How many A1 can we sell?",
        'Observation: There is no tool "get_stock"; known: lookup_stock',
        "Observation: ConnectionError: 503, the stock database is closed until Monday",
        "| Final Answer: I cannot say. The stock database is closed until Monday.",
        '| Final Answer: 500 of A1 can be sold.\n    lookup_stock(sku="A1") -> ok: 3',
        "-> invalid_arguments: ",
        "only a thought:\n    | Thought: I would have to look that up in the shop.\n    reply -> invalid_response",
        "no label at all:\n    | I would have to look that up in the shop.\n    finish: I would",
    ],
    "course/09_conversation/lesson.py": [
        "And B2?                             shown: 0 earlier; answer: What about B2?",
        "And B2?                             shown: 1 earlier; answer: 8 can be sold.",
        "the last turn                       shown: 1 earlier; answer: You did not say.",
        "a summary                           shown: 1 earlier; answer: You are Ann.",
        "a summary by somebody hasty         shown: 1 earlier; answer: You are Bob.",
        "on_action: lookup_stock, {'sku': 'A1'}",
        "a handler failed: the disk with the log is full; model_ended, steps: 1",
    ],
    "course/10_read_a_framework/lesson.py": [
        'an unknown tool     "3 can be sold"             2      model_ended, 3 can be sold   2',
        "a tool that raises  KeyError                    none   model_ended, 3 can be sold   2",
        "a malformed reply   ValueError                  none   model_ended, 3 can be sold   2",
        'a model without end "I ran out of iterations."  4      budget_exhausted, None       4',
    ],
}  # fmt: skip


_EXAMPLE_SECONDS = 15 if _WINE else 5  # Wine takes up to 2 s to start a process


_ARGUMENTS = {  # the figures of the benchmark take too long, and depend on what else runs here
    "benchmark.py": ["--quick", "growth", "parallel", "memory", "wire", "journal"]
}


_BAD_MCP = r"""
import json, sys, time
mode = sys.argv[1]
old = mode in ("old", "silent", "dies of discovery", "names old versions")
asked = []

def say(**message):
    print(json.dumps(message), flush=True)

if mode == "ends at once":
    sys.exit()
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    asked.append(method)
    if number is None:
        continue
    result = {"content": [{"type": "text", "text": "right"}]}
    if method == "server/discover":
        result = {"supportedVersions": ["2025-06-18" if old else "2026-07-28"]}
        if mode == "dies of discovery":
            sys.exit()
        if mode == "silent" or (mode == "slow to start" and "initialize" not in asked):
            continue
        if mode in ("old", "newer"):
            code, data = (-32601, None) if old else (-32022, {"supported": ["2027-01-01"]})
            say(id=number, error={"code": code, "message": "no", "data": data})
            continue
        assert message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}
    elif method == "initialize" and not old:
        say(id=number, error={"code": -32602, "message": "no _meta"})
        continue
    elif method == "initialize":
        result = {"protocolVersion": "2025-06-18"}
    elif method == "tools/list":
        tool = {"name": "tool", "inputSchema": {}, "annotations": None, "description": None}
        result = {"tools": [tool, tool, {"name": "no schema"}, {**tool, "inputSchema": None}, None]}
        assert old == ("notifications/initialized" in asked)
    elif mode == "dies":
        print("out of paper", file=sys.stderr)
        sys.exit(3)
    elif mode == "asks for ever":
        assert message["params"].get("requestState", "x") == "x"
        result = {"resultType": "input_required", "requestState": "x"}
    elif mode == "asks for a login":
        questions = {"login": {"method": "elicitation/create"}}
        result = {"resultType": "input_required", "inputRequests": questions}
    elif mode == "odd kind":
        result = {"resultType": "task"}
    elif mode == "no result":
        result = None
    elif mode == "floods":
        while True:
            sys.stdout.write("x" * 10000)
    elif mode == "hangs":
        time.sleep(600)
    elif mode == "is slow":
        continue
    elif mode == "chatters":
        for noise in ("hello", "[]", "null", '{"id": 99, "result": {}}', '{"id": [1]}', "[" * 5000):
            print(noise)
        print(json.dumps([{"method": "notifications/progress"}, {"id": number, "result": result}]))
        sys.stdout.flush()
        continue
    say(id=number, result=result)
"""


class ExampleTests(_ExampleCase):
    """Every example runs offline as it stands, and shows what it says it shows."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp(prefix="agentloop-")
        cls.pool = concurrent.futures.ThreadPoolExecutor(3)
        cls.files = [p.name for p in sorted(cls.examples.glob("*.py"))]
        if sys.implementation.name == "pypy":  # its sqlite3 tells an authorizer too little
            cls.files.remove("ask_sqlite.py")
        course = cls.examples / "course"
        cls.lessons = [p.parent.name for p in sorted(course.glob("[0-9]*/lesson.py"))]
        cls.files += ["course/%s/lesson.py" % name for name in cls.lessons]
        cls.before = cls.listed()
        jobs = [(name, _ARGUMENTS.get(name, [])) for name in cls.files]
        if _WINE:
            jobs = [job for job in jobs if job[0] not in ("coding_agent.py", "mcp_tools.py")]
        for name in cls.lessons:
            jobs += [("course/%s/check.py" % name, more) for more in ([], ["--solution"])]
        jobs.sort(key=lambda job: "benchmark" in job[0])  # the longest ones are not left to the end
        cls.results = {}
        for name, more in reversed(jobs):
            cls.results[(name, *more)] = cls.pool.submit(cls.example, name, more)

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        shutil.rmtree(cls.scratch, True)

    @classmethod
    def listed(cls):
        """The files of the checkout's examples, compiled ones aside."""
        paths = (p for p in cls.examples.rglob("*") if "cache" not in str(p))
        return {str(p): p.stat().st_mtime_ns for p in paths if p.is_file()}

    @classmethod
    def example(cls, name, more=(), stdin=""):
        """Run it in an empty folder: exit status, output, errors, seconds, files that it left."""
        folder = tempfile.mkdtemp(dir=cls.scratch)
        start = time.monotonic()
        try:
            path = str(cls.examples / name)
            status, out, err = _python(path, *more, stdin=stdin, cwd=folder, timeout=60)
        except subprocess.TimeoutExpired:
            status, out, err = "it hangs", "", ""
        return status, out, err, time.monotonic() - start, os.listdir(folder)

    def result(self, name, *more):
        return self.results[(name, *more)].result()

    def test_each_has_its_output_checked(self):
        left_out = {"ask_sqlite.py"} if sys.implementation.name == "pypy" else set()
        self.assertEqual(set(self.files) ^ set(_EXAMPLES), left_out)

    def test_examples(self):
        for name in self.files:
            if _WINE and name in ("coding_agent.py", "mcp_tools.py"):
                continue  # they end trees of processes, which Wine's taskkill cannot
            with self.subTest(name):
                more = _ARGUMENTS.get(name, [])
                status, out, err, seconds, left = self.result(name, *more)
                if seconds > _EXAMPLE_SECONDS and not more:  # others ran beside it: alone
                    status, out, err, seconds, left = self.example(name)
                self.assertEqual(status, 0, out + err)
                for text in _EXAMPLES[name]:
                    self.assertIn(text, out)
                self.assertNotIn("Traceback", err)
                self.assertNotIn("Warning", err)
                self.assertEqual(left, [], "it leaves files where it is run")
                if not more:
                    self.assertLess(seconds, _EXAMPLE_SECONDS)

    def test_checks_of_the_course(self):
        """Each check fails for the exercise as handed out, with a hint; not for the solution."""
        for lesson in self.lessons:
            with self.subTest(lesson):
                name = "course/%s/check.py" % lesson
                status, out, err = self.result(name)[:3]
                self.assertEqual((status, err), (1, ""))
                self.assertTrue(out.startswith("not yet: "), out)
                self.assertEqual(len(out.splitlines()), 1)
                status, out, err = self.result(name, "--solution")[:3]
                self.assertEqual((status, err), (0, ""), out)
                self.assertTrue(out.startswith("right: "), out)

    def test_examples_leave_the_folder_as_it_was(self):
        for result in self.results.values():
            result.result()
        self.assertEqual(self.listed(), self.before)

    def test_importing_an_example_does_nothing(self):
        files = [n for n in self.files if "/" not in n]
        code = (
            "import importlib, sys; sys.path.insert(0, sys.argv[1])\n"
            "for name in sys.argv[2:]: importlib.import_module(name[:-3])"
        )
        found = _python("-c", code, str(self.examples), *files, cwd=self.folder)
        self.assertEqual(found, (0, "", ""))
        self.assertEqual(os.listdir(self.folder), [])

    def test_each_example_says_what_it_is(self):
        index = (self.examples / "README.md").read_text(encoding="utf-8")
        for name in self.files:
            with self.subTest(name):
                source = (self.examples / name).read_text(encoding="utf-8")
                self.assertTrue(ast.get_docstring(ast.parse(source)), "no docstring")
                self.assertTrue("/" in name or name in index, "it is not in examples/README.md")
        for name in re.findall(r"\]\(([\w./]+)\)", index):
            self.assertTrue((self.examples / name).exists(), name)

    def test_with_a_model_that_does_not_answer(self):
        """Each example asks for a limit on output tokens, and says in a line that nobody answers."""
        asked = collections.defaultdict(list)

        class Refusing(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked[self.path.split("/")[1]].append(json.loads(body))
                self.answer(401, b'{"error": {"message": "no such key"}}')

            def do_GET(self):
                self.answer(200, b'{"data": [{"id": "m"}]}')

        base_url = self.serve(Refusing)
        jobs = {}
        for name in self.files:
            source = (self.examples / name).read_text(encoding="utf-8")
            if "/" not in name and '"--model"' in source and "OPENAI_API_KEY" not in source:
                more = ["--model", "m", "--base-url", "%s/%s/v1" % (base_url, name)]
                more += ["--server", sys.executable, "-c", _BAD_MCP, "new"] * (name[:3] == "mcp")
                jobs[name] = self.pool.submit(self.example, name, more, "Hello.\n")
        self.assertGreater(len(jobs), 20)
        for name, job in jobs.items():
            with self.subTest(name):
                status, out, err = job.result()[:3]
                self.assertNotIn("Traceback", out + err)
                self.assertIn("no such key", out + err)
                self.assertTrue(asked[name], "it asks nothing")
                for body in asked[name]:
                    limit = body.get("max_completion_tokens", body.get("max_tokens", 0))
                    self.assertTrue(0 < limit <= 4000, body)


class ExampleAgentTests(_ExampleCase):
    """What people, models and servers do to the examples."""

    def test_memory_of_odd_messages(self):
        memory = self.module("memory")
        count = []

        def encode(texts):
            count.extend(texts)
            return memory.letter_triples(texts)

        kinds = memory.kinds(memory.good_listener)
        kinds["counted"] = memory.relevant(memory.by_vectors(encode))
        odd = ["???", "!", '"', "a*", "NEAR(a b)", "x" * 9000, "w " * 3000, "\ud800?", "-1"]
        for full_text in (True, False):
            archive = memory.Archive(":memory:")
            archive.full_text = archive.full_text and full_text
            for kind, choose in kinds.items():
                for message in odd:
                    with self.subTest(kind, message=message[:20], full_text=full_text):
                        run = memory.ask(memory.good_listener, archive, choose, message)
                        self.assertEqual(run.output, "Noted.")
            self.assertEqual(archive.search("", 2), [])
            archive.db.close()
        archive, count[:] = memory.Archive(":memory:"), []
        for n in range(30):
            memory.ask(memory.good_listener, archive, kinds["counted"], "My n%d is %d." % (n, n))
        self.assertEqual(len(count), 30 + 29)  # each question, and each turn once
        archive.db.close()

    def test_read_web_reads_public_addresses_only(self):
        web = self.module("read_web")
        private = "127.0.0.1 10.0.0.7 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 "
        private += (
            "224.0.0.1 255.255.255.255 ::1 :: ::ffff:10.0.0.7 ::127.0.0.1 fe80::1%lo fc00::1 "
        )
        private += "ff02::1 2002:7f00:1:: 64:ff9b::7f00:1"
        for address in private.split():
            with self.subTest(address):
                self.assertFalse(web.is_public(address))
        for address in ("93.184.215.14", "2606:4700::1111"):
            with self.subTest(address):
                self.assertTrue(web.is_public(address))
        read_web = web.read_web.function
        for url in (
            "http://127.1/", "http://[::1]/", "ftp://x/", "//x", "http://user@127.0.0.1:22/",
        ):  # fmt: skip
            with self.subTest(url), self.assertRaises(PermissionError):
                read_web(url)

    @unittest.skipIf(sys.implementation.name == "pypy", "its authorizer learns too little")
    def test_ask_sqlite_can_only_read(self):
        import sqlite3  # not everywhere: Pyodide has it as a package of its own

        ask, path = self.module("ask_sqlite"), self.path("shop.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript(ask.EXAMPLE)
        before = Path(path).read_bytes()
        schema, query = (tool.function for tool in ask.database_tools(path))
        self.assertEqual(query("SELECT count(*) FROM orders")["rows"], [[3]])
        self.assertIn("cents", schema("orders")[0])
        for sql in (
            "DELETE FROM orders", "DROP TABLE orders", "UPDATE orders SET cents = 0", "VACUUM",
            "CREATE TABLE x (y)", "PRAGMA query_only = OFF", "PRAGMA table_info(orders)",
            "ATTACH 'x.db' AS x", "SELECT 1; DELETE FROM orders", "BEGIN", "",
            "SELECT * FROM customers", "SELECT max(card_number) FROM customers AS c",
            "SELECT 1 FROM customers ORDER BY card_number", "SELECT sql FROM sqlite_stat1",
        ):  # fmt: skip
            with self.subTest(sql):
                if sql:
                    with self.assertRaises((sqlite3.Error, sqlite3.Warning)):
                        query(sql)
                else:
                    self.assertEqual(query(sql)["rows"], [])
        self.assertEqual(Path(path).read_bytes(), before)
        self.assertEqual(os.listdir(self.folder), ["shop.db"])

    def test_skills_stay_in_their_folder(self):
        skills, root = self.module("skills"), Path(self.folder)
        (root / "tea").mkdir()
        (root / "tea" / "SKILL.md").write_bytes(
            b"\xef\xbb\xbf---\r\nname: tea\r\ndescription: >\r\n  How to make it:\r\n  hot.\r\n---\r\nBoil."
        )
        (root / "secret.txt").write_text("secret", encoding="utf-8")
        loaded = skills.load_skills(self.folder)
        self.assertEqual(loaded["tea"]["description"], "How to make it: hot.")
        read_skill = skills.skill_reader(loaded).function
        self.assertEqual(read_skill("tea"), "Boil.")
        outside = ["../secret.txt", str(root / "secret.txt"), ".", "x/../../secret.txt"]
        with contextlib.suppress(OSError, NotImplementedError):  # Windows may refuse links
            os.symlink(str(root / "secret.txt"), str(root / "tea" / "link"))
            if os.path.islink(str(root / "tea" / "link")):  # Wine says yes and makes none
                outside.append("link")
        for name in outside:
            with self.subTest(name), self.assertRaises(PermissionError):
                read_skill("tea", name)
        (root / "nameless").mkdir()
        (root / "nameless" / "SKILL.md").write_text("---\nname: x\n---\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "a description"):
            skills.load_skills(self.folder)

    def test_sub_agents_never_spend_more_than_there_is(self):
        sub = self.module("sub_agents")
        made, lock = [], threading.Lock()

        def model(run, tools):
            with lock:
                made.append(run)
            return agentloop.AgentFinish("x")

        asks = sub.Budget(50).metered(model, 3)

        def spend():
            with contextlib.suppress(sub.BudgetSpent):
                for _ in range(20):
                    asks(agentloop.AgentRun("x"), {})

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(made), 47)

    def test_coding_agent_asks_a_person(self):
        """What runs unasked starts no program that the model wrote."""
        agent = self.module("coding_agent")
        evil = '[core]\n\tfsmonitor = "touch PWNED"\n\tpager = "touch PWNED"\n\tworktree = .\n'
        bare = {"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", "config": evil}
        own = '[filter "z"]\n\tclean = ./clean.sh\n[diff]\n\texternal = ./clean.sh\n'
        script = "#!/bin/sh\ntouch PWNED\ncat\n"
        git = shutil.which("git") is not None
        table = [  # settings of the repository, files there and written, git is asked about
            ("", {}, {".gitconfig": evil, ".config/git/config": evil}, False),
            ("", {}, {".git/config": evil, ".GIT/config": evil, "a/../.git/hooks/x": script},
             False),
            ("", {}, {"a/.git": "gitdir: b", "GIT~1/config": evil, ".git./config": evil}, False),
            (None, {}, bare, True),
            (own, {"clean.sh": script, "a.txt": "1\n"}, {".gitattributes": "* filter=z\n"}, True),
            ("[include]\n\tpath = ../more\n", {}, {"more": evil}, True),
        ]  # fmt: skip
        for settings, there, written, asked_about in table if git else ():
            with self.subTest(settings=settings, written=list(written)):
                folder = Path(tempfile.mkdtemp(dir=self.folder)) / "w"
                folder.mkdir()
                if settings is not None:
                    subprocess.run(["git", "init", "-q", str(folder)], check=True)
                    with open(str(folder / ".git" / "config"), "a") as config:
                        config.write(settings)
                for name, text in there.items():
                    (folder / name).write_text(text, encoding="utf-8")
                    (folder / name).chmod(0o755)
                calls = [
                    agentloop.AgentAction("edit_file", {"path": name, "old": "", "new": text})
                    for name, text in written.items()
                ]
                commands = [*agent.UNASKED, "touch PWNED", "git status; touch PWNED"]
                calls += [agentloop.AgentAction("shell", {"command": c}) for c in commands]
                calls.append(agentloop.AgentAction("shell", '{"command": "touch PWNED"}'))
                calls.append(agentloop.AgentAction("shell", "touch PWNED"))
                calls.append(agentloop.AgentAction("bash", {"command": "touch PWNED"}))
                asked = []
                workspace = agent.Workspace(folder)
                workspace.tests_fault = lambda run: None
                model = agentloop.Scripted([*calls, agentloop.AgentFinish("")])
                with contextlib.redirect_stdout(io.StringIO()):
                    agent.work(model, "t", workspace, asked.append, max_requests=30)
                self.assertFalse((folder / "PWNED").exists())
                self.assertFalse([c for c in asked if not asked_about and c in agent.UNASKED])
                self.assertEqual("git status" in asked, asked_about)
                self.assertEqual(asked.count("touch PWNED"), 2)

    def test_class_server_refuses_at_once(self):
        server = self.module("class_server")
        good = b'{"model": "x", "messages": [{"role": "user", "content": "hi"}]}'
        length = b"Content-Length: %d"
        table = {  # body and headers to the start of the answer
            "right": (good, [length % len(good)], b"200"),
            "no length": (good, [], b"411"),
            "chunked": (good, [length % len(good), b"Transfer-Encoding: chunked"], b"411"),
            "negative": (good, [b"Content-Length: -1"], b"400"),
            "a word": (good, [b"Content-Length: abc"], b"400"),
            "twice": (good, [length % len(good), length % 1], b"400"),
            "signed": (good, [b"Content-Length: +5"], b"400"),
            "huge": (b"", [b"Content-Length: " + b"9" * 5000], b"413"),
            "10 GB": (b"", [b"Content-Length: 10000000000"], b"413"),
            "deep": (b"[" * 99_999, [length % 99_999], b"400"),
            "a list": (b"[]", [length % 2], b"400"),
            "no messages": (b'{"model": "x"}', [length % 14], b"400"),
            "no model": (b"{" + good[15:], [length % (len(good) - 14)], b"200"),  # the server's own
            "a surrogate": (good[:-4] + b'\\ud800"}]}', [length % (len(good) + 6)], b"400"),
            "binary": (b"\xff\xfe", [length % 2], b"400"),
            "nothing": (b"", [length % 0], b"400"),
        }
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            provider = server.Provider(("127.0.0.1", 0), server.Handler)
            url = "http://127.0.0.1:%d/v1/chat/completions" % server.start(provider)
            replies = self.path("lesson.jsonl")
            room = server.ClassServer(("127.0.0.1", 0), replies, 9, (), url, "sk-teacher", "small")
            port = server.start(room)
            for name, (body, headers, status) in table.items():
                with self.subTest(name), socket.create_connection(("127.0.0.1", port)) as s:
                    s.settimeout(5)
                    head = [b"POST / HTTP/1.1", b"Host: x", b"Authorization: Bearer anna", *headers]
                    s.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
                    self.assertEqual(s.recv(65536)[9:12], status)
            self.assertEqual(room.paid["anna"], 2)
            for name in (b"\x1b[2J", "\u202eeva".encode(), b"\xff"):
                with socket.create_connection(("127.0.0.1", port)) as s:
                    head = b"POST / HTTP/1.1\r\nAuthorization: Bearer %s\r\n" % name
                    s.sendall(head + length % len(good) + b"\r\n\r\n" + good)
                    self.assertIn(b" 200 ", s.recv(100))
            with socket.create_connection(("127.0.0.1", port)) as s:  # gone in the middle: a reset
                s.sendall(b"POST / HTTP/1.1\r\nContent-Length: 500\r\n\r\n{")
                linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.assertEqual(room.request_of(good), room.request_of(good[:-1] + b', "n": 9}'))
            asked = json.loads(room.request_of(good[:-1] + b', "max_tokens": 999999}'))
            self.assertEqual(asked["max_tokens"], 2000)
            table = "".join(room.table())
            server.stop(room)
            server.stop(provider)
        self.assertEqual(errors.getvalue(), "")
        self.assertTrue(table.isprintable(), ascii(table))
        self.assertIn("\\x1b[2J", table)

    @_sockets
    def test_class_server_keeps_its_key(self):
        """Also where the provider repeats it, in pieces, under status 200, in a header."""
        server = self.module("class_server")
        key, body = "sk-teacher-99", b'{"messages": [{"role": "user", "content": "hi"}]}'
        head, *pieces = _chunked(
            [b"sk-s, wrong: sk-tea", b"cher-99", b"! sk-"], "content-type: " + key
        )
        for status in (200, 401):
            answer = [head.replace(b"200", b"%d" % status), *pieces]
            replies = self.path("%d.jsonl" % status)
            with self.subTest(status=status), _Http(lambda n, head, body: answer) as provider:
                address = ("127.0.0.1", 0)
                room = server.ClassServer(address, replies, 9, (), provider.url, key, "small")
                self.addCleanup(room.server_close)
                _, headers, chunks = room.answer("anna", body)
                self.assertEqual(b"".join(chunks), b"sk-s, wrong: [the key]! sk-")
                self.assertEqual(headers, {"content-type": "[the key]"})
                self.assertEqual(len(room.recorded), 1 if status == 200 else 0)
                self.assertNotIn(key, str(room.recorded))

    def test_trace_viewer(self):
        viewer = self.module("trace_viewer")
        for odd in (
            "", '"x"', "null", "[1]", "1e308", "1e309", "-5", "true", '{"a": 1}', "9" * 400,
        ):  # fmt: skip
            with self.subTest(time=odd):
                field = ', "time": %s' % odd if odd else ""
                first = '{"event": "turn", "version": 1, "task": "t", "time": 1}\n'
                for head in (first, first.replace(', "time": 1', field)):
                    lines = '%s{"event": "requested", "requests": 1%s}\n' % (head, field)
                    self.assertIn("request 1", viewer.page(self.write("t.jsonl", lines)))
        run = agentloop.AgentRun("Look <b>now</b>.")
        call = agentloop.AgentAction("look", '{"at": ["a", 1]}', message={"model": "qwen3:4b"})
        journal = self.path("run.jsonl")

        def model(run, tools):
            run.usage = {"input_tokens": 1200, "cached_tokens": 200, "output_tokens": 1}
            return call if not run.steps else agentloop.AgentFinish("I see.")

        agentloop.run(model, run, [], journal=journal)
        out = self.path("run.html")
        self.write("run.html", "older")
        os.chmod(out, 0o644)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with mock.patch.object(sys, "argv", ["trace_viewer.py", journal]):
                viewer.main()
        made = _bytes(out).decode("utf-8")
        self.assertIn("written: " + out, said.getvalue())
        if os.name == "posix":
            self.assertEqual(os.stat(out).st_mode & 0o777, os.stat(journal).st_mode & 0o777)
        for text in (
            "Look &lt;b&gt;now",
            "qwen3:4b",
            "200 from a cache",
            time.strftime("%Y-%m-", time.gmtime()),
            "1,200 in (200 cached), 1 out",
            "[\n  &quot;a&quot;,\n  1\n ]",  # arguments from text
        ):
            self.assertIn(text, made)
        for seconds, text in [
            (0.0123, "12 ms"),
            (9.5, "9,500 ms"),
            (75.25, "75.2 s"),
            (61 * 60, "61 min 0 s"),
        ]:
            self.assertEqual(viewer.lasting(seconds), text)
        self.assertEqual(
            [viewer.counted(n, "step") for n in (0, 1, 2)], ["0 steps", "1 step", "2 steps"]
        )
        for path in (self.path("none.jsonl"), out):
            with mock.patch.object(sys, "argv", ["trace_viewer.py", path]):
                with self.assertRaises(SystemExit) as caught:
                    viewer.main()
                self.assertIn(path, str(caught.exception.code))

    def test_read_web_has_limits(self):
        """Size, time, redirects, kind; and each address is looked up once and checked."""
        web = self.module("read_web")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        plain = head.replace(b"\r\n\r\n", b"; charset=latin-1\r\nContent-Length: 6\r\n\r\n")
        moved = b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n"
        chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
        pages = {  # the path to what is sent, once or over and over
            "/": ([head + b"<p>A&amp;B<script>if (a < b) {}</script> c<style>d"], []),
            "/latin": ([plain + b"\xe4 <b>b"], []),
            "/long": ([head], [b"<p>word</p>" * 1000]),
            "/chunks": (
                [head.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")],
                [chunk],
            ),
            "/silent": ([head], [b""]),
            "/says_nothing": ([], [b""]),
            "/drips": ([head], [b"."]),
            "/drips_head": ([b"HTTP/1.1 200 OK\r\nX: "], [b"."]),
            "/to": ([moved % b"/?q=1"], []),
            "/round": ([moved % b"/round"], []),
            "/inside": ([moved % b"http://10.0.0.7/"], []),
            "/file": ([moved % b"file:///etc/passwd"], []),
            "/pdf": ([head.replace(b"text/html", b"application/pdf")], []),
            "/none": ([head.replace(b"200", b"404")], []),
            "/no_http": ([b"SSH-2.0-x\r\n"], []),
        }
        asked = []

        def answer(connection):
            with contextlib.suppress(OSError), connection:
                path = connection.recv(65536).split()[1].decode()
                asked.append(path)
                once, ever = pages[path.partition("?")[0]]
                connection.sendall(b"".join(once))
                end = time.monotonic() + 5
                while ever and time.monotonic() < end:
                    connection.sendall(ever[0])
                    time.sleep(0.02 if len(ever[0]) < 2 else 0)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

        server = socket.socket()
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        threading.Thread(target=serve, daemon=True).start()
        url = "http://site.example:%d" % server.getsockname()[1]
        looked_up = []

        def getaddrinfo(host, port, *args, **kwargs):
            looked_up.extend([host] * host.endswith(".example"))
            address = "127.0.0.1" if host == "site.example" else host
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        read_web = web.read_web.function
        public = mock.patch.object(web, "is_public", lambda address: address == "127.0.0.1")
        with public, mock.patch.object(web, "SECONDS", 0.4), mock.patch.object(
            web.socket, "getaddrinfo", getaddrinfo
        ):
            for path, expected in [
                ("/", "/\nA&B c"),
                ("/latin", "/latin\n\xe4 b"),
                ("/to", "/?q=1\nA&B c"),
            ]:
                with self.subTest(path):
                    self.assertEqual(read_web(url + path), url + expected)
            for path in ("/long", "/chunks"):
                with self.subTest(path):
                    text = read_web(url + path)
                    self.assertTrue(90_000 < len(text) <= web.BYTES + 100, len(text))
            for path, error, words in [
                ("/silent", OSError, "takes more than 0.4 s"),
                ("/says_nothing", OSError, "takes more than 0.4 s"),
                ("/drips", OSError, "takes more than 0.4 s"),
                ("/drips_head", OSError, "takes more than 0.4 s"),
                ("/round", ConnectionError, "more than 3 redirects"),
                ("/inside", PermissionError, "10.0.0.7 is 10.0.0.7: not public"),
                ("/file", PermissionError, "only http"),
                ("/pdf", ValueError, "application/pdf"),
                ("/none", ValueError, "status 404"),
                ("/no_http", Exception, "SSH"),
            ]:
                with self.subTest(path):
                    began = time.monotonic()
                    with self.assertRaisesRegex(error, words):
                        read_web(url + path)
                    self.assertLess(time.monotonic() - began, 3)
        self.assertEqual(len(looked_up), len(asked))  # a name once for each request
        two = [(socket.AF_INET, 1, 6, "", (a, 80)) for a in ("93.184.215.14", "10.0.0.7")]
        with mock.patch.object(web.socket, "getaddrinfo", return_value=two):
            with self.assertRaisesRegex(PermissionError, "10.0.0.7"):
                read_web("http://two.example/")

    def test_fan_out_stops_where_nothing_gets_through(self):
        fan_out = self.module("fan_out")

        def job(number, folder, spec):
            return {"run": number, "state": spec["states"][number % 3], "paid": 0, "error": ""}

        with mock.patch.object(fan_out, "job", job):
            for states, count in [(["failed"] * 3, 3), (["failed", "failed", "succeeded"], 50)]:
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    spec = {"states": states}
                    rows = fan_out.all_runs(pool, 50, "", spec, progress=lambda line: None)
                self.assertEqual(len(rows), count)

    def test_trim_context_looks_at_odd_calls(self):
        trim, calls = self.module("trim_context"), []
        for number, arguments in enumerate(('{"number": 7}', "{}", "[]", "7", "null", "{", "")):
            calls.append({"id": str(number), "function": {"arguments": arguments}})
        self.assertIn(
            "pages [7, '?', '?', '?', '?', '?', '?']",
            trim.look([{"role": "assistant", "tool_calls": calls}]),
        )

    def test_arguments_that_do_not_fit(self):
        """A message without a letter is a turn; a path that does not fit is said in one line."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        Path(folder, "text.txt").write_text("neither a journal nor a database", encoding="utf-8")
        for arguments, status, words in [
            (["memory.py", ""], 0, "Noted."),
            (["memory.py", "--memory", "search", "?"], 0, "Noted."),
            (["search_documents.py", "--folder", "none"], 0, "budget_exhausted after 6 requests"),
            (["see_images.py", "--picture", "none.png"], 2, "--picture needs --model"),
            (["see_images.py", "--picture", "none.png", "--model", "m"], 1, "none.png"),
            (["coding_agent.py", "--folder", "none"], 2, "--folder none: there is no such folder"),
            (["coding_agent.py", "--folder", "text.txt"], 2, "there is no such folder"),
            (["approval.py", "--folder", "text.txt"], 2, "--folder text.txt: "),
            (["fan_out.py", "--folder", "text.txt"], 2, "--folder text.txt: "),
            (["memory.py", "Hi", "--file", "none/m"], 2, "--file none/m: "),
            (["memory.py", "Hi", "--file", "text.txt"], 2, "--file text.txt: "),
            (["evaluate.py", "--save", "none/runs"], 2, "none/runs: no file can be written there"),
            (["evaluate.py", "--plot", "."], 2, ".: no file can be written there"),
            (["record_replay.py", "--replay", "none", "--model", "m"], 2, "there is no such file"),
            (["chat.py", "--journal", "none/j", "--model", "m"], 0, "none"),
            (["chat.py", "--journal", "text.txt", "--model", "m"], 0, "text.txt, line 1: "),
        ]:
            with self.subTest(arguments):
                line = [sys.executable, str(self.examples / arguments[0]), *arguments[1:]]
                done = subprocess.run(
                    line, input=b"Hi\n", cwd=folder,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                )  # fmt: skip
                out = done.stdout.decode("utf-8")
                self.assertEqual(done.returncode, status, out)
                self.assertIn(words, out)
                self.assertNotIn("Traceback", out)


class McpExampleTests(_ExampleCase):
    """The example with MCP servers: versions, contents, headers, and servers that misbehave."""

    def test_mcp_versions(self):
        """Which protocol a server speaks is found out, however it answers."""
        mcp = self.module("mcp_tools")
        versions = {
            "new": "2026-07-28",
            "old": "2025-06-18",
            "silent": "2025-06-18",
            "slow to start": "2026-07-28",
            "dies of discovery": "2025-06-18",
            "names old versions": "2025-06-18",
            "newer": None,
            "ends at once": None,
        }

        def find(mode):
            timeout = 1 if mode in ("silent", "slow to start") else 10
            try:
                with mcp.MCPServer([sys.executable, "-c", _BAD_MCP, mode], timeout) as server:
                    return server.version, list(server.tools())
            except mcp.MCPError:
                return None, []

        with self.assertLogs("mcp_tools") as left_out:
            found = _side_by_side({mode: functools.partial(find, mode) for mode in versions})
        self.assertEqual(len(left_out.output), 2 * len(list(filter(None, versions.values()))))
        for mode, version in versions.items():
            with self.subTest(mode):
                self.assertEqual(found[mode], (version, ["tool", "tool_2"] if version else []))

    def test_mcp_server_that_misbehaves(self):
        mcp = self.module("mcp_tools")
        told = {
            "new": "right",
            "chatters": "right",
            "dies": "The server has ended. out of paper",
            "asks for ever": "asked back 5 times",
            "asks for a login": "does not do elicitation/create",
            "odd kind": "a kind that is not known: 'task'",
            "no result": "has no result",
            "floods": "a message of more than 100000 bytes",
            "hangs": "timed out after 0.4 s, effect unknown. The server hangs and was ended.",
            "is slow": "timed out after 0.4 s, effect unknown. The server is alive, only slow.",
        }

        def call(mode):
            with mcp.MCPServer([sys.executable, "-c", _BAD_MCP, mode], timeout=10) as server:
                tools = server.tools()
                server.timeout = 0.4 if mode in ("hangs", "is slow") else 10
                try:
                    said = tools["tool"].function()
                except mcp.MCPError as error:
                    said = str(error)
            return said, server.process.poll()

        with mock.patch.object(mcp, "LONGEST", 100_000), self.assertLogs("mcp_tools"):
            found = _side_by_side({mode: functools.partial(call, mode) for mode in told})
        for mode, expected in told.items():
            with self.subTest(mode):
                said, status = found[mode]
                self.assertIn(expected, said)
                self.assertIsNotNone(status)

    @_sockets
    def test_mcp_errors_hold_no_key(self):
        mcp = self.module("mcp_tools")
        with _Http(lambda n, head, body: _http(b"no", 401)) as server:
            places = [server.url, "http://127.0.0.1:bad", "http://127.0.0.1:1"]
            for place in places:
                url = place.replace("//", "//ann:PASSWORD-9@") + "/mcp?key=SECRET-99"
                with self.subTest(url=url):
                    with self.assertRaisesRegex(mcp.MCPError, re.escape(place)) as caught:
                        mcp.MCPServer(url, timeout=5)
                    self.assertNotRegex(str(caught.exception), "PASSWORD-9|SECRET-99|ann")
            self.assertIn("/mcp?key=SECRET-99 ", server.heads[0])

    def test_mcp_contents(self):
        mcp = self.module("mcp_tools")
        picture = b"\x89PNG\r\n\x1a\n"
        text, png = {"type": "text", "text": "a"}, base64.b64encode(picture).decode()
        image = {"type": "image", "data": png, "mimeType": "image/png"}
        blob = {
            "type": "resource",
            "resource": {"uri": "x:1", "blob": png, "mimeType": "image/gif"},
        }
        note = {"type": "resource", "resource": {"uri": "x:2", "text": "hi"}}
        shown = agentloop.Image(picture)
        for result, expected in [
            ({"content": [text]}, "a"),
            ({"content": [text, text]}, "a\na"),
            ({"content": [text, image]}, ["a", shown]),
            ({"content": [image]}, shown),
            ({"content": [blob]}, shown),
            ({"content": [note]}, "[resource x:2]\nhi"),
            ({"content": [{**image, "data": "="}]}, "[image image/png] (its data cannot be read)"),
            ({"content": [{"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}]},
             "[image image/svg+xml] (5 bytes, of a kind that models are not shown)"),
            ({"content": [{"type": "audio", "data": "AA", "mimeType": "audio/wav"}]}, "[audio audio/wav]"),
            ({"content": [{"type": "resource_link", "uri": "x:3", "name": "n"}]}, "[resource_link x:3]"),
            ({"content": [{}, None, 3, {"type": "resource", "resource": None}]}, "[None]\n[None]\n[None]\n[resource]"),
            ({"content": [], "structuredContent": {"a": 1}}, {"a": 1}),
            ({"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}, {"a": 1}),
            ({"content": [text], "structuredContent": {"a": 1}}, "a"),
            ({"structuredContent": None}, None),
            ({"content": None}, ""),
            ({}, ""),
        ]:  # fmt: skip
            with self.subTest(result=str(result)[:80]):
                self.assertEqual(mcp.content(result), expected)
        for result, words in [
            ({"content": [text], "isError": True}, "a"),
            ({"isError": True}, "why"),
        ]:
            with self.assertRaisesRegex(mcp.MCPError, words):
                mcp.content(result)

    def test_mcp_headers_for_arguments(self):
        mcp = self.module("mcp_tools")
        marked = {"type": "string", "x-mcp-header": "Region"}
        inside = {"properties": {"in": {"properties": {"r": marked}}}}
        self.assertEqual(mcp.header_paths(inside), {"Mcp-Param-Region": ("in", "r")})
        self.assertEqual(mcp.value_at({"in": {"r": "us"}}, ("in", "r")), "us")
        self.assertIsNone(mcp.value_at({"in": 3}, ("in", "r")))
        for schema in [
            marked,
            {"properties": {"a": {**marked, "type": "number"}}},
            {"properties": {"a": {**marked, "x-mcp-header": "a b"}}},
            {"properties": {"a": {**marked, "x-mcp-header": ""}}},
            {"properties": {"a": marked, "b": {**marked, "x-mcp-header": "REGION"}}},
            {"properties": {"a": {"type": "array", "items": marked}}},
            {"anyOf": [{"properties": {"a": marked}}]},
            {"$defs": {"properties": {"properties": {"a": marked}}}},
        ]:
            with self.subTest(schema=schema), self.assertRaises(ValueError):
                mcp.header_paths(schema)
        self.assertEqual(
            mcp.header_paths({"properties": {"x-mcp-header": {"default": marked}}}), {}
        )
        for value, header in [
            ("us-west1", "us-west1"),
            (True, "true"),
            (-7, "-7"),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ]:
            self.assertEqual(mcp.header_value(value), header)

    def test_mcp_over_http(self):
        """An old server with a session, and those that flood, drip, refuse or are something else."""
        mcp = self.module("mcp_tools")
        seen = []

        class Old(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_DELETE(self):
                seen.append(("DELETE", self.headers["Mcp-Session-Id"]))
                self.answer(200)

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                method, session = message.get("method"), self.headers["Mcp-Session-Id"]
                seen.append((method or message["result"], session))
                stream = {"Content_Type": "text/event-stream"}
                reply = {"jsonrpc": "2.0", "id": message.get("id")}
                if self.path == "/secret":
                    return self.answer(401)
                if self.path == "/page":
                    return self.answer(200, b"<html>hello", Content_Type="text/html")
                if self.path == "/moved":
                    return self.answer(302, Location="http://127.0.0.1:1/")
                if method == "server/discover":
                    return self.answer(400, b"Bad Request: no session")
                if method == "initialize":
                    reply["result"] = {"protocolVersion": "2025-06-18"}
                    return self.answer(200, json.dumps(reply).encode(), Mcp_Session_Id="s1")
                if "id" not in message or not method:
                    return self.answer(202)
                if self.path == "/flood":
                    self.answer(200, **stream)
                    while True:
                        self.wfile.write(b"data: x\n" * 1000)
                if self.path == "/drip":
                    self.answer(200, **stream)
                    while True:
                        time.sleep(0.02)
                        self.wfile.write(b": still here\n\n")
                question = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}
                reply["result"] = {"tools": [{"name": "t", "inputSchema": {}}]}
                body = b"event: message\r\ndata: %s\r\n\r\nid: 7\ndata: %s\n\n"
                parts = (json.dumps(question).encode(), json.dumps([reply]).encode())
                return self.answer(200, body % parts, **stream)

        url = self.serve(Old)
        with mcp.MCPServer(url + "/mcp", timeout=10, roots=[self.folder]) as connection:
            self.assertEqual((connection.version, list(connection.tools())), ("2025-06-18", ["t"]))
        names = [name if isinstance(name, str) else list(name) for name, _ in seen]
        self.assertEqual(names[:3], ["server/discover", "initialize", "notifications/initialized"])
        self.assertEqual(names[3:], ["tools/list", ["roots"], "DELETE"])
        self.assertEqual([session for _, session in seen], [None, None] + ["s1"] * 4)
        for path, words in [
            ("/secret", "wants a token"),
            ("/page", "answers 200 and no JSON-RPC message"),
            ("/moved", "answers 302"),
            ("/flood", "more than 100000 bytes"),
            ("/drip", "timed out after 0.5 s"),
        ]:
            with self.subTest(path), mock.patch.object(mcp, "LONGEST", 100_000):
                with self.assertRaises(mcp.MCPError) as caught:
                    with mcp.MCPServer(url + path, timeout=0.5) as connection:
                        connection.tools()
                self.assertIn(words, str(caught.exception))


def _blocks(path):
    """The Python blocks of a Markdown file: (line, source)."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"(?ms)^( *)```python[^\n]*\n(.*?)^ *```", text):
        yield text.count("\n", 0, found.start()) + 1, textwrap.dedent(found.group(2))


class _WeatherAnswers:
    """What a model would say to the pages' questions, made from the request."""

    def __init__(self, server):
        self.server = server

    def pop(self, index):
        _, _, body = self.server.seen[-1]
        last = body["messages"][-1]
        text = str(last["content"])
        tools = [t.get("function", t)["name"] for t in body.get("tools", ())]
        if "Thought:" in text:  # of ReActText
            looked = "Observation: rain" in text
            return (
                "Final Answer: rain"
                if looked
                else 'Action: get_weather\nAction Input: {"city": "Paris"}'
            )
        if tools and "rain" not in text:
            return ("get_weather", {"city": "Paris"})
        if "report" in tools:
            return ("report", {"city": "Paris", "celsius": 14, "raining": True})
        return "It is raining in Paris."


class ExamplePageTests(_ExampleCase):
    """The code of README.md and of the pages beside the examples."""

    def blocks(self, path, joined=False):
        """Run the Python blocks of a page; joined: each goes on from those above it."""
        module = types.ModuleType("_page")
        self.addCleanup(sys.modules.pop, "_page", None)
        for line, source in _blocks(path):
            with self.subTest(file=path.name, line=line):
                if not joined:
                    module = types.ModuleType("_page")
                sys.modules["_page"] = module
                here = os.getcwd()
                os.chdir(self.folder)
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        code = compile("\n" * line + source, str(path), "exec", dont_inherit=True)
                        exec(code, module.__dict__)
                finally:
                    os.chdir(here)

    def test_from_langchain(self):
        """Every block of code runs, on its own."""
        path = self.examples / "from_langchain.md"
        self.assertGreater(len(list(_blocks(path))), 8)
        self.blocks(path)

    def test_readme_and_reference(self):
        """Every block runs as it stands, where a server is at hand."""
        pages = [_ROOT / "README.md", *sorted((self.examples / "reference").glob("*.md"))]
        server = _LoopbackServer()
        self.addCleanup(server.close)
        server.answers = _WeatherAnswers(server)
        for page in filter(pathlib.Path.exists, pages):
            env = _env(
                OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k", ANTHROPIC_BASE_URL=server.url
            )
            with mock.patch.dict(os.environ, env, clear=True):
                self.blocks(page, joined=True)


# What a participant might write, made from the solution: (what stands there, what is written in its
# place, words of the hint that this has to get). An empty hint: it is right all the same.
_SLIPS = {
    "00_check_laptop": [
        ('"model_ended"', '"succeeded"', "the run did not end as 'succeeded'"),
        ("STATE =", "STAT =", "The check needs STATE: keep the names"),
    ],
    "01_build_your_own": [
        ("return reply[", "print(reply[", "cannot be read"),
        ('return reply["answer"], steps', 'return reply["answer"]', "the answer and the steps"),
        ('return reply["answer"], steps', "import sys; sys.exit()",
         "ends the program, like sys.exit()"),
        ('return reply["answer"], steps', "raise SystemExit(0)",
         "ends the program, like sys.exit()"),
        ("def lookup_stock", "exit(0)\n\n\ndef lookup_stock", "line 4 ends the program"),
        ("except Exception as error", "except ZeroDivisionError as error",
         "ended with LookupError"),
        ("except Exception as error", "except BaseException as error",
         "catch Exception, not everything"),
        ("sorted(tools)", "sorted(tolls)", "name 'tolls' is not defined\". Did you mean tools?"),
        ("requests = 0", "request = 0", "On this way through the function nothing was assigned"),
        ('; there are: {known}"', '"', "should name the tools there are"),
        ("f\"no tool {action['tool']}; there are: {known}\"", '"wrong"',
         "asked for a tool that does not exist"),
        ('f"{type(error).__name__}: {error}"', "str(error)", "does not say what went wrong"),
        ('f"{type(error).__name__}: {error}"', "error", "should be a text"),
        ('f"{type(error).__name__}: {error}"', "'failed'",
         "'delete_stock' should stand in the observation 'failed'"),
        ("            steps.append(", "                continue\n            steps.append(",
         "that should be a step"),
        ('seen.add(action["id"])', "pass", "call c1 came twice, and twice it reserved"),
        ('if action["id"] in seen', 'if action["tool"] in seen', "call c1 came twice"),
        ('                seen.add(action["id"])\n', "", "call c1 came twice"),
        ("raise ValueError(", "continue\n                    raise ValueError(",
         "each call should have its step"),
        ("if requests == max_requests", "if requests > max_requests",
         "the model was asked 4 times"),
        ("return None, steps", "return '', steps", "None is the answer"),
        ("return None, steps", "raise RuntimeError('no budget')",
         "step 4, a budget of requests: exercise.py, line 14"),
        ("requests += 1", "pass", "the model was asked 50 times, and no end to it"),
        ("requests == max_requests", "len(steps) >= max_requests",
         "Count the requests, not the steps"),
        ("requests == max_requests", "requests >= max_requests", ""),
        ("def run(model, task, tools, max_requests=10):\n    steps = []\n    seen = set()\n",
         "seen = set()\n\n\ndef run(model, task, tools, max_requests=10):\n    steps = []\n",
         "it began with what the first one left"),
        ("max_requests=10):\n    steps = []\n", "max_requests=10, steps=[]):\n",
         "it began with what the first one left"),
        ("seen = set()", "seen = {}", "an empty set is set()"),
        ("seen = set()", "seen = []", "A list has append()"),
        ("seen = set()\n", "seen = []\n    append = seen.add\n", "an empty one is set()"),
        ("raise ValueError(", "raise Value_Error(", "Did you mean ValueError?"),
        ('raise ValueError(f"call', 'raise (f"call', "A text alone cannot be raised"),
        ("requests = 0", "requests = sys.flags.optimize", "Is `import sys` missing at the top?"),
        ("requests = 0", "requests = len(re.findall('x', ''))", "Is `import re` missing"),
        ("requests = 0", "requests = functools.reduce(max, [0])", "Is `import functools` missing"),
        ("requests = 0", "requests = 0 if types else 0", "Is `import types` missing"),
        ("requests = 0", "requests = 0 if Path else 0", "Is `from pathlib import Path` missing"),
    ],
    "02_tools": [
        ("from typing import Literal\n", "", "Is `from typing import Literal` missing at the top?"),
        ("quantity: int", "quantity: str", "Use int"),
        ("quantity: int", "quantity: number", "Did you mean int?"),
        ("quantity: int", "quantity: integer", "Did you mean int?"),
        ("sku: str", "sku: string", "Did you mean str?"),
        ('= "medium"', "", "let it have the default 'medium'"),
        ('Literal["small", "medium", "large"]', "str", "name the three words with Literal"),
        (" This cannot be undone.", "", "say, in your words, that sending cannot be undone"),
        ("This cannot be undone.", "This can be undone.", "say, in your words"),
        ("This cannot be undone.", "It is irreversible.", ""),
        ("This cannot be undone.", "Once sent, it can't be called back.", ""),
        ("This cannot be undone.", "There is no way to revert this.", ""),
        ("This cannot be undone.", "It is permanent, nobody can revoke it.", ""),
        ("quantity: the number of pieces, 1 to 10.", "quantity: the number.", "ten pieces at most"),
        ("1 to 10.", "one to ten.", ""),
        ("        quantity: the number of pieces, 1 to 10.\n", "", "what is quantity?"),
        ("    if not 1 <= quantity <= 10:", "    if quantity > 10:", "0 should raise ValueError"),
        ("    if not 1 <= quantity <= 10:", "    if quantity < 1:", "11 should raise ValueError"),
        ("1 <= quantity <= 10", "1 < quantity < 10", "for 1 I got"),
        ("raise ValueError(", "return str(", "0 should raise ValueError"),
        ("raise ValueError(", "exit(", "ends the program"),
        ("raise ValueError(", "raise Value_Error(", "Did you mean ValueError?"),
        ("raise ValueError(", "raise KeyError(", "raised KeyError"),
        ("raise ValueError(", "raise str(", "A text alone cannot be raised"),
        ('raise ValueError(f"a', 'raise UnicodeError(f"a', ""),  # a kind of ValueError
        ('Literal["small", "medium", "large"]', '"small" or "medium" or "large"',
         "Several words are Literal[...]"),
        ('Literal["small", "medium", "large"]', '["small", "medium", "large"]',
         "Several words are Literal[...]"),
        ('    return f"sent', '    f"sent', "does it lack its `return`?"),
    ],
    "03_errors": [
        ('raise ValueError(f"there', 'return str(f"there', "counts as ok"),
        ('raise ValueError(f"there', 'raise ValuError(f"there', "Did you mean ValueError?"),
        ("; the rooms are {', '.join(FREE)}", "", "should name the rooms there are"),
        ("{FREE[room]}", "9, 14 and 15", "Green is asked for at 14 and free at 10"),
        ("{room} is taken at {hour}", "taken", "should name the hour"),
        ('return f"booked {room} at {hour}"', "exit()", "ends the program"),
        ("    return f", "    FREE[room].remove(hour)\n    return f", ""),  # it really books
        ("    return f", "    del FREE[room]\n    return f", ""),
        ('raise ValueError(f"there', 'raise (f"there', "A text alone cannot be raised"),
    ],
    "04_real_model": [
        ("import json\n", "", "Is `import json` missing at the top?"),
        ("import urllib.request\n", "", "Is `import urllib` missing at the top?"),
        ('base_url + "/chat/completions"', '"https://api.openai.com/v1/chat/completions"',
         "to go to api.openai.com"),
        ('"/chat/completions"', '"/v1/chat/completions"',
         "chat() asked for /v1/v1/chat/completions"),
        ("body, headers)", "None, headers)", "the server got a GET"),
        ("body, headers)", "body)", "Content-Type"),
        ('json.dumps({"model": "tiny", "messages": messages})', "str(messages)",
         "the body is no JSON"),
        ('"messages": messages}', '"messages": "Hi"}', "should be those given to chat()"),
        ('["choices"][0]["message"]["content"]', "", "chat() gave {"),
        ("        return json.load(reply)", "        json.load(reply)",
         "does it lack its `return`?"),
        ('"tiny", base_url=base_url, ', '"tiny", ', "your code wanted to go to api.openai.com"),
        ("    return agentloop.OpenAIChat", "    agentloop.OpenAIChat",
         "make_model() returned None"),
        (", temperature=0", "", "the body has no temperature"),
        ('system="Answer in one short sentence.", ', "", "there is no system text"),
        ("except agentloop.ModelError", "except OSError", "Catch ModelError"),
        ('    return run.output, run.usage["input_tokens"] +', "    return",
         "the answer and the tokens"),
        ('run.usage["input_tokens"] + ', "", "Now ask(): the two requests took 923 tokens"),
        ('run.usage["input_tokens"] + run.usage["output_tokens"]', "sum(run.usage.values())",
         "the cached tokens are a part of the input"),
        ("temperature=0", "temperature='0'", "the temperature is '0'; 0 is a number"),
    ],
    "05_limits": [
        ("isinstance(event, agentloop.AgentStep)", "event.status", "An AgentAction has tool"),
        ("isinstance(event, agentloop.AgentStep)", "isinstance(event, agentlop.AgentStep)",
         "agentlop"),
        (">= max_tokens", "> max_tokens", "300 tokens are used up after 3 requests"),
        ('run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)',
         "sum(run.usage.values())", "cached_tokens are a part of the input_tokens"),
        ('return run, "budget" if', 'return "budget" if', "should return the run and a word"),
        ('            return run, "tokens"', "            exit(0)", "ends the program"),
    ],
    "06_accept": [
        ("    return accept", "    return accept()",
         "a function to be returned has no () behind it"),
        ("    return accept", "    pass", "it should end with `return accept`"),
        ("def make_accept", "def make_acept", "The check needs make_accept: keep the names"),
        ("return None", "return True",
         "accept() returns None or a text that says why; it gave True"),
        ("return None", 'return ""', "accept() returns None or a text"),
        ("return None", "exit()", "ends the program"),
        ('sorted(world["archive"] + world["inbox"])', 'world["inbox"]',
         "shrinks while the model works"),
        ('world["archive"] + left]', "world.archive + left]",
         'A dict is asked with brackets: ["archive"]'),
        ("if left:", "if run.answer:", "An AgentRun has task, steps"),
        (
            "if left:\n", "lost = [n for n in wanted if n not in world['archive']]\n"
            "        if False:\n", "in the archive and in the inbox too",
        ),
        ("if left:", "if left and (not run.steps or run.steps[0].tool):",
         "An AgentStep has action"),
        ("def accept(run)", "def accept()", "Keep the parameters"),
        ("if left:", 'if len(run.steps) >= 2 and world["inbox"]: return None\n        if left:',
         "nothing moved"),
        ('return f"still', 'world["inbox"].clear(); return f"still', "It should only look"),
    ],
    "07_crash_and_resume": [
        ("return list(run.pending)", "break", "I got []"),
        ("return list(run.pending)", "return", "propose() returned None"),
        ("return list(run.pending)", "return event", "should return a list"),
        ("return list(run.pending)", "return [event.tool]", "the list holds actions"),
        ("return list(run.pending)", "exit()", "ends the program"),
        ("isinstance(event, agentloop.AgentAction) and ", "", "ask isinstance() first which it is"),
        ("event.tool", "event.name", "An AgentAction has tool"),
        (' and event.tool == "pay"', "", "I got ['look_up_bill']"),
        ("run, tools, journal=journal):", "run, tools):",
         "Does propose() hand journal=journal to stream()?"),
        ("    return agentloop.run", "    agentloop.run", "decide() should return the run"),
        ('"denied"', '"no"', "no should end the call as 'denied'"),
        ("if not yes", "if yes", "the answer was no, and it was paid"),
        ('if action.tool == "pay":', "if True:", "the no was for each pay, and for pay alone"),
        ("list(run.pending):", "run.pending:", "walk over list(run.pending)"),
        ("run, tools, journal=journal)\n", "run, tools)\n", "Does decide() use the journal?"),
        ("run.close(action", "action.close(action", "An AgentAction has tool"),
    ],
    "08_text_model": [
        ("raise agentloop.InvalidResponse(FORM, log=text)", "return None",
         "step 3, neither: parse() returned None"),
        ("raise agentloop.InvalidResponse(FORM, log=text)", "raise ValueError(text)",
         "Raise agentloop.InvalidResponse"),
        ('FORM = "', 'FORM = "No." or "', "say how to write, not 'No.'"),
        ("AgentAction(tool, rest, log=written)", "AgentAction(tool, rest)",
         "hand the text on as log=text"),
        ("AgentAction(tool, rest,", "AgentAction(rest, tool,", "the tool in"),
        ('if mark == "Final Answer":', 'if "Final Answer" in line:',
         "step 4, a mark begins a line"),
        (
            "            return agentloop.AgentAction(tool, rest, log=written)",
            "            found = agentloop.AgentAction(tool, rest, log=written)\n"
            "    if tool:\n        return found",
            "step 5, what it makes up does not count",
        ),
        ('    tool = ""\n', "    exit()\n", "ends the program"),
    ],
    "09_conversation": [
        (" if run is None else run.follow_up(question)", "", "run.follow_up() makes the next turn"),
        ("    return agentloop.run", "    agentloop.run", "ask() should return the run, not None"),
        ("del run.history[:left_out]", "run.history[:] = run.history[-count:]",
         "which is everything"),
        ("del run.history[:left_out]", "del run.history[: len(run.history) - count]",
         "keep_last(run, 4) should leave ['a', 'b', 'c'], not ['c'] (of three, [:3 - 4] is [:-1]"),
        ("del run.history[:left_out]", "return run.history[left_out:]", "should leave ['b', 'c']"),
        ("except Exception", "except ValueError", "Catch it around the call"),
        ("except Exception", "except BaseException", "catch Exception, not everything"),
        ("handler(kind, event)", "handler(event, kind)", "the handler should get"),
        ("            print(f", "            break\n            print(f", "did not end"),
        ("    return run\n", "", "watch() should return the run"),
    ],
    "10_read_a_framework": [
        ('looked at": 1', 'looked at": 1000', "is none of them"),
        ('is called": ', 'is called": 1 + ', "That is not it; look in the class Tool"),
        ('verbose=True)": "l"', 'verbose=True)": "?"', 'from_langchain.md, "Parameters", says it'),
        ('verbose=True)": "l"', 'verbose=True)": "a"', "is not a (del run.history[:-2])"),
    ],
}  # fmt: skip


class CourseTests(_ExampleCase):
    """The course's checks let no slip pass; its tools and its pages do what they say."""

    lessons = [p.parent.name for p in sorted(_ROOT.glob("examples/course/[0-9]*/lesson.py"))]

    def test_what_a_participant_might_write(self):
        """Each slip gets a hint that names it, and no check takes it for right."""
        course = self.examples / "course"
        path = Path(self.folder) / "exercise.py"
        with mock.patch.object(sys, "path", list(sys.path)), mock.patch.dict(sys.modules):
            for lesson, slips in _SLIPS.items():
                check = _load(course / lesson / "check.py", "check")
                name = "step_4.py" if lesson == "01_build_your_own" else "solution.py"
                solution = (course / lesson / name).read_text(encoding="utf-8")
                for old, new, hint in [("", "", ""), *slips]:
                    with self.subTest(lesson, old=old, new=new):
                        self.assertIn(old, solution)
                        source = solution.replace(old, new, 1) if old else solution
                        here = "Path(__file__).resolve().parents[3]"
                        path.write_text(source.replace(here, repr(str(_ROOT))), encoding="utf-8")
                        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # sockets of a request cut short
                            right, text = check.checking.judge(path, check.check)
                        self.assertEqual(right, not hint, text)
                        self.assertIn(hint, text)

    def course(self, *lessons, name="copy"):
        """A copy of the course with these lessons only; its folder."""
        copy = Path(self.folder) / name / "examples" / "course"
        shutil.copytree(str(self.examples / "course"), str(copy), copy_function=shutil.copyfile)
        shutil.copyfile(str(_FILE), str(copy.parents[1] / "agentloop.py"))
        for folder in copy.glob("[0-9]*"):
            if folder.name not in lessons:
                shutil.rmtree(str(folder))
        return copy

    def test_checks_that_are_ended_from_inside(self):
        endless = "not yet: exercise.py still ran after 1 seconds. Does a loop never end?\n"
        sleeper = "import threading, time\nthreading.Thread(target=time.sleep, args=[9]).start()"
        rows = [
            ("import sys; sys.exit()", "exercise.py, line 1 ends the program"),
            ("import os; os._exit(0)", "exercise.py ended the program, with status 0"),
            ("import os; os._exit(1)", "ended the program"),
            ("STATE = input()", "Nobody types while a check runs"),
            (sleeper, "STATE"),
            ("import agentlop", "Nothing has to be installed for this course"),
            ("while True: pass", endless),
        ]
        jobs = {}
        for n, (source, _) in enumerate(rows):
            copy = self.course("00_check_laptop", name="copy%d" % n)
            exercise = copy / "00_check_laptop" / "exercise.py"
            exercise.write_text(source, encoding="utf-8")
            if "while" in source:
                shared = (copy / "checking.py").read_text(encoding="utf-8")
                shared = shared.replace("SECONDS = 20", "SECONDS = 1")
                (copy / "checking.py").write_text(shared, encoding="utf-8")
            jobs[source] = lambda path=str(exercise.parent / "check.py"): _python(path)
        jobs["all"] = lambda: _python(str(Path(self.folder, "copy5/examples/course/checking.py")))
        found = _side_by_side(jobs)
        for source, hint in rows:
            with self.subTest(source):
                status, out, err = found[source]
                self.assertEqual((status, err, len(out.splitlines())), (1, "", 1))
                self.assertTrue(out.startswith("not yet: "), out)
                self.assertIn(hint, out)
        status, out, err = found["all"]  # the checks of all lessons that are there
        self.assertEqual((status, err), (1, ""))
        self.assertTrue(out.startswith("00_check_laptop      not yet: "), out)

    def test_reset(self):
        """Exercises come back as handed out; what was written is kept, however often."""
        copy = self.course(*self.lessons)
        for lesson in self.lessons:
            handed_out = copy / "handed_out" / (lesson + ".py")
            exercise = copy / lesson / "exercise.py"
            self.assertEqual(exercise.read_bytes(), handed_out.read_bytes(), lesson)
        reset = str(copy / "checking.py"), "--reset"
        folder = copy / "02_tools"
        for n, source in enumerate(("one", "two"), 1):
            (folder / "exercise.py").write_text(source, encoding="utf-8")
            (copy / "03_errors" / "exercise.py").write_text("mine", encoding="utf-8")
            status, out, err = _python(*reset, "02")
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out.splitlines()[0].split()[-1], "my_exercise_%d.py" % n)
            kept = folder / ("my_exercise_%d.py" % n)
            self.assertEqual(kept.read_text(encoding="utf-8"), source)
            handed_out = copy / "handed_out" / "02_tools.py"
            self.assertEqual((folder / "exercise.py").read_bytes(), handed_out.read_bytes())
        self.assertEqual((copy / "03_errors" / "exercise.py").read_text("utf-8"), "mine")
        (copy / "04_real_model" / "exercise.py").unlink()
        status, out, err = _python(*reset)
        self.assertEqual((status, err, len(out.splitlines())), (0, "", len(self.lessons)))
        self.assertTrue((copy / "04_real_model" / "exercise.py").exists())
        for name in ("77", "", "1x", "nothing", "02_toolz"):
            self.assertEqual(_python(*reset, name)[:2], (1, "there is no lesson %s\n" % name))
        for name in ("1", "01", "01_build_your_own/", "../01_build_your_own/exercise.py"):
            for lesson in ("01_build_your_own", "10_read_a_framework"):
                (copy / lesson / "exercise.py").write_text("mine", encoding="utf-8")
            status, out, err = _python(*reset, name)
            self.assertEqual((status, err, len(out.splitlines())), (0, "", 1), out)
            self.assertTrue(out.startswith("01_build_your_own "), out)
        (copy / "03_errors" / "exercise.py").unlink()
        out = _python(str(copy / "03_errors" / "check.py"))[1]
        self.assertRegex(out, r"there is no exercise.py here. `.*checking.py --reset 03` brings")
        status, out, err = _python(str(copy / "checking.py"), "--new-group")
        self.assertEqual((status, err, len(out.splitlines())), (0, "", len(self.lessons)))
        self.assertIn("deleted: my_exercise_1.py, my_exercise_2.py", out)
        self.assertEqual(list(copy.glob("*/my_exercise_*")), [])
        for lesson in self.lessons:
            handed_out = copy / "handed_out" / (lesson + ".py")
            self.assertEqual((copy / lesson / "exercise.py").read_bytes(), handed_out.read_bytes())

    def test_archive_of_the_course(self):
        copy = self.course("00_check_laptop", "06_accept")
        (copy / "06_accept" / "exercise.py").write_text("done", encoding="utf-8")
        (copy / "06_accept" / "my_exercise_1.py").write_text("mine", encoding="utf-8")
        (copy / "06_accept" / "run.jsonl").write_text("{}", encoding="utf-8")
        strays = ["notes.md", "06_accept/mine.py", "class_replies.json", "handed_out/notes.md"]
        for name in strays + ["../mine.py"]:
            (copy / name).write_text("KEY = 'sk-1'", encoding="utf-8")
        for other in (copy / "handed_out").glob("*.py"):
            if other.stem not in ("00_check_laptop", "06_accept"):
                other.unlink()
        make, target = str(copy / "make_archive.py"), str(Path(self.folder) / "course.zip")
        status, out, err = _python(make, target)
        self.assertEqual((status, err), (0, ""), out)
        self.assertIn("it runs: ready, and all solutions are right", out)
        with zipfile.ZipFile(target) as archive:
            names = {name.split("/", 1)[1] for name in archive.namelist()}
            exercise = archive.read("agentloop-course/examples/course/06_accept/exercise.py")
        self.assertIn("agentloop.py", names)
        self.assertIn("examples/course/06_accept/README.md", names)
        self.assertEqual([n for n in names if "my_" in n or "cache" in n or ".jsonl" in n], [])
        for name in ["examples/mine.py"] + ["examples/course/" + name for name in strays]:
            self.assertNotIn(name, names)
            self.assertIn("not in it: %s\n" % name, out)
        self.assertEqual(exercise, (copy / "handed_out" / "06_accept.py").read_bytes())
        with zipfile.ZipFile(target, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the name is there twice; the last one counts
            archive.writestr("agentloop-course/examples/course/06_accept/solution.py", "exit()")
        status, out, err = _python(make, "--test", target)
        self.assertEqual((status, err), (1, ""))
        self.assertIn("the solutions failed", out)
        status, out, err = _python(make, "--test", str(Path(self.folder) / "nothing.zip"))
        self.assertEqual((status, err), (1, ""))

    def test_pages_of_the_course(self):
        """Links lead somewhere; every lesson is in the plan, on the handout, in the answers, on a slide."""
        course = self.examples / "course"
        for page in sorted(course.rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            with self.subTest(page.name):
                for name in re.findall(r"\]\(([\w./]+)\)", text):
                    self.assertTrue((page.parent / name).exists(), name)
                for name in re.findall(r"`examples/([\w./]+)`", text):
                    self.assertTrue((self.examples / name).exists(), name)
        for name in ("README.md", "handout.md", "answers.md", "slides.md"):
            text = (course / name).read_text(encoding="utf-8")
            for lesson in self.lessons:
                self.assertIn(lesson if name == "README.md" else lesson[:2], text)
        minutes = re.findall(
            r"(?m)^\| \[(\d\d_\w+)\].*\| (\d+)", (course / "README.md").read_text("utf-8")
        )
        self.assertEqual([lesson for lesson, _ in minutes], self.lessons)
        for lesson, total in minutes:
            page = (course / lesson / "README.md").read_text(encoding="utf-8")
            parts = [int(n) for n in re.findall(r"(?m)^#+ .*\((\d+) minutes", page)]
            self.assertEqual(parts[0], int(total), lesson)
            if lesson != "00_check_laptop":
                self.assertEqual(sum(parts[1:]), int(total), lesson)
        self.check_clock(dict(minutes))

    def check_clock(self, minutes):
        """Every lesson of an afternoon begins where the one before it ends, on each page."""
        readme = (self.examples / "course" / "README.md").read_text(encoding="utf-8")
        slides = (self.examples / "course" / "slides.md").read_text(encoding="utf-8")
        lengths = {lesson[:2]: int(total) for lesson, total in minutes.items()}
        lengths.update({"welcome": 5, "break": 15})
        clock = re.findall(r"(?m)^\| (\d\d|welcome|break|slack) \| (\d\d):(\d\d) \|", readme)
        second = re.search(r"The second one, [^.]+\.", readme).group()
        second = re.findall(r"(\d\d|break|slack) at\s+(\d\d):(\d\d)", second)
        begins = {}
        for rows in (clock, second):
            self.assertEqual(rows[-1][0], "slack")
            now = 14 * 60
            for name, hour, minute in rows:
                begins[name] = "%s:%s" % (hour, minute)
                self.assertEqual(int(hour) * 60 + int(minute), now, name)
                now += lengths.get(name, 0)
            self.assertLess(now, 17 * 60)
        for name, minutes in re.findall(r"# (\d\d) [^#]*?<!-- (.*?)\.", slides):
            if name in begins:
                self.assertEqual(minutes, "%s, %d minutes" % (begins[name], lengths[name]), name)
        for name, total in re.findall(r"(?m)^\| (\d\d) \| .* \| (\d+) \|$", slides):
            self.assertEqual(int(total), lengths[name], name)

    def test_sections_that_a_hint_names(self):
        course = self.examples / "course"
        page = (self.examples / "from_langchain.md").read_text(encoding="utf-8")
        check = (course / "10_read_a_framework" / "check.py").read_text(encoding="utf-8")
        for section in set(re.findall(r'"\w", "([A-Z][\w ]+)"', check)):
            self.assertIn("\n## %s\n" % section, page)


if __name__ == "__main__":
    unittest.main()
