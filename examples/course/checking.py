"""How far am I? Every lesson's check.py is built on this file, and run by itself it runs them all.

From the folder of a lesson (on Windows: py ..\\checking.py):

    python3 ../checking.py               one line for each lesson
    python3 ../checking.py --reset 03    the exercise of lesson 03 as it was; what you wrote is kept
    python3 ../checking.py --reset       the same for all exercises

For teachers:

    python3 ../checking.py --solution     one line for each lesson, with the solutions
    python3 ../checking.py --new-group    all exercises as they were; what was written is deleted

A check is a function that gets the participant's module. It raises NotYet with a hint, or returns
what to say when all is right. It runs in a process of its own, so that an exercise that hangs or
ends the program ends that process, and not the verdict.
"""

import argparse
import ast
import builtins
import contextlib
import difflib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import traceback
import typing
from pathlib import Path

COURSE = Path(__file__).resolve().parent
SECONDS = 20  # a check that takes longer is in a loop that never ends
RIGHT, NOT_YET = 71, 72  # exit statuses of the process of its own: none that comes by chance
NONE = "Something is None there: given as None, or from a function that lacks its `return`."
PYTHON = "py" if os.name == "nt" else "python3"  # what is typed to start it
FROM = {"dataclass": "dataclasses", "field": "dataclasses", "Path": "pathlib"}
ELSEWHERE = {  # what other languages call it
    "string": "str",
    "number": "int",
    "integer": "int",
    "boolean": "bool",
    "array": "list",
    "null": "None",
}
CONTAINERS = {  # (its type, what was asked of it): what was meant, most likely
    ("dict", "add"): "{} is an empty dict; an empty set is set().",
    ("dict", "append"): "{} is an empty dict; an empty list is [].",
    ("list", "add"): "A list has append(). add() is for a set: an empty one is set().",
    ("set", "append"): "A set has add(). append() is for a list: an empty one is [].",
    ("tuple", "append"): "() is an empty tuple, and no tuple grows; an empty list is [].",
    ("tuple", "add"): "() is an empty tuple, and no tuple grows; an empty set is set().",
}
THIS_MACHINE = ("127.0.0.1", "::1", "localhost", "", None)


class NotYet(BaseException):
    """What the exercise does not do yet: a hint in plain words, for the participant.

    Not an Exception, so that no `except Exception` in an exercise catches it.
    """


def need(condition, hint):
    """Go on where the condition holds; end the check with the hint where it does not."""
    if not condition:
        raise NotYet(hint)


def climb(steps, exercise):
    """Try the steps in turn. The first that fails: its hint, which step it is, and what is done."""
    done = "nothing is done yet"
    for number, step in enumerate(steps, 1):
        try:
            step(exercise)
        except (NotYet, Exception) as error:
            hint = error
            if not isinstance(error, NotYet):
                hint = describe(error, Path(exercise.__file__))
            raise NotYet(f"({done}) step {number}, {step.__doc__}: {hint}")
        done = f"step {number} is done"


# -- one check -------------------------------------------------------------------------------------


def main(folder, check):
    """Check exercise.py (with --solution: solution.py), print one line, exit with 0 or 1."""
    if "--inside" in sys.argv[1:]:
        inside(folder, check)
    command = [sys.executable, str(Path(folder) / "check.py"), "--inside", *sys.argv[1:]]
    name = file_name()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        sys.exit(say(f"not yet: {name} still ran after {SECONDS} seconds. Does a loop never end?"))
    except KeyboardInterrupt:
        sys.exit(say("not yet: the check was interrupted."))
    if done.returncode not in (RIGHT, NOT_YET):
        say(f"not yet: {name} ended the program, with status {done.returncode}. Use return.")
    sys.exit(0 if done.returncode == RIGHT else 1)


def inside(folder, check):
    """What the process of its own does. It leaves at once, whatever threads still run in it."""
    if hasattr(sys.stdout, "reconfigure"):  # a console that lacks a letter shows it escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    right, text = judge(Path(folder) / file_name(), check)
    say(("right: " if right else "not yet: ") + " ".join(text.splitlines()))
    os._exit(RIGHT if right else NOT_YET)


def file_name():
    return "solution.py" if "--solution" in sys.argv[1:] else "exercise.py"


def say(line):
    """Print the line at once; 1, the exit status of a check that did not pass."""
    print(line, flush=True)
    return 1


def judge(path, check):
    """(True, praise) or (False, hint) for the file at the path."""
    try:
        with offline():
            return True, check(load(path))
    except NotYet as hint:
        text = str(hint)
    except KeyboardInterrupt:
        text = "the check was interrupted."
    except SystemExit as error:
        text = f"{place(error, path)} ends the program, like sys.exit(). Use return, or raise."
    except BaseException as error:
        text = describe(error, path)
    hint = hint_in(text, source_of(path))
    if hint and hint not in text:
        text = text.rstrip(".") + ". " + hint
    return False, text


def source_of(path):
    """The text of an exercise, or "" where there is none. Some editors begin it with a mark."""
    return path.read_text(encoding="utf-8-sig", errors="replace") if path.exists() else ""


def hint_in(text, source):
    """What to say to an error whose text stands in `text`; there a `try` may have put it.

    It may have become an observation, and this is all that is left of it.
    """
    if "exceptions must derive from BaseException" in text:
        return 'A text alone cannot be raised: raise ValueError("...").'
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", text)
    if found and found.groups() in CONTAINERS:
        return CONTAINERS[found.groups()]
    found = re.search(r"name '(\w+)' is not defined", text)
    return find_name(found.group(1), source) if found else ""


def load(path):
    """The module at the path. It is registered, since dataclasses and pickle look there."""
    bring_back = f"{PYTHON} {shown_path(COURSE / 'checking.py')} --reset {path.parent.name[:2]}"
    need(path.exists(), f"there is no {path.name} here. `{bring_back}` brings it back.")
    spec = importlib.util.spec_from_file_location(path.stem, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.dont_write_bytecode = True  # what was edited within one second would not be noticed
    spec.loader.exec_module(module)
    return module


def shown_path(path):
    """The path as it is typed in this terminal: `../checking.py` in the folder of a lesson."""
    try:
        return os.path.relpath(str(path))
    except ValueError:  # on Windows: another drive
        return str(path)


@contextlib.contextmanager
def offline():
    """No check leaves this machine, whatever an exercise or the environment says."""
    kept = dict(os.environ)
    connect, connect_ex, look_up = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.getaddrinfo,
    )

    def guard(function, host_of):
        def guarded(*args, **options):
            host = host_of(*args, **options)
            if isinstance(host, bytes):
                host = host.decode("utf-8", "replace")
            near = host in THIS_MACHINE
            need(near, f"your code wanted to go to {host}. Use the base_url that it is given.")
            return function(*args, **options)

        return guarded

    def peer(sock, address):
        return address[0] if isinstance(address, tuple) else None  # a path, on Unix

    def asked(host, *args, **options):
        return host

    for name in [n for n in os.environ if n.upper().endswith(("_BASE_URL", "_PROXY"))]:
        del os.environ[name]
    os.environ["NO_PROXY"] = "*"
    socket.socket.connect = guard(connect, peer)
    socket.socket.connect_ex = guard(connect_ex, peer)
    socket.getaddrinfo = guard(look_up, asked)
    try:
        yield
    finally:
        socket.socket.connect, socket.socket.connect_ex = connect, connect_ex
        socket.getaddrinfo = look_up
        os.environ.clear()
        os.environ.update(kept)


# -- what an error means, in words for somebody who has not met it ---------------------------------


def place(error, path):
    """`exercise.py, line 12`: the participant's line that the error came from, or the file."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"{path.name}, line {lines[-1]}" if lines else path.name


def describe(error, path):
    """The error in one line: where, what, and what it most likely means."""
    if isinstance(error, SyntaxError):
        hint = "Look at the line before it too."
        return f"{path.name}, line {error.lineno} cannot be read: {error.msg}. {hint}"
    said = f"{place(error, path)} raised {type(error).__name__}: {error}"
    hint = explain(error, path)
    return f"{said}. {hint}" if hint else said


def explain(error, path):
    """One sentence on the errors that beginners meet, or nothing."""
    module = sys.modules.get(path.stem)
    text = str(error)
    if isinstance(error, ImportError):
        return "Nothing has to be installed for this course. Is it a slip?"
    if isinstance(error, UnboundLocalError):
        return "On this way through the function nothing was assigned to it."
    if isinstance(error, EOFError):
        return "Is that input()? Nobody types while a check runs: leave it out."
    if isinstance(error, TypeError) and "'NoneType'" in text:
        return NONE
    found = re.search(r"(\w+)\(\) missing", text)
    if isinstance(error, TypeError) and found:
        if found.group(1) in names_in(source_of(path)):
            return (
                "Keep the parameters as handed out; a function to be returned has no () behind it."
            )
        return ""
    if isinstance(error, TypeError) and "list indices must be integers" in text:
        return "It is a list: take one item of it first, for example with [0]."
    called = place(error, path) == path.name  # by the check: no line of the exercise is in between
    if called and re.search(r"\) takes|unexpected keyword", text):
        return "Keep the parameters of the functions as they were handed out."
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", text)
    if isinstance(error, AttributeError) and found:
        return explain_attribute(*found.groups())
    found = re.search(r"module '(\w+)' has no attribute '(\w+)'", text)
    if isinstance(error, AttributeError) and found:
        if module is not None and found.group(1) == module.__name__:
            return f"The check needs {found.group(2)}: keep the names that were handed out."
        close = closest(found.group(2), dir(sys.modules[found.group(1)]))
        return f"Did you mean {found.group(1)}.{close}?" if close else ""
    return ""


def explain_attribute(kind, name):
    """What to write where an object of this class has no such attribute.

    ("AgentStep", "tool") -> "An AgentStep has action, observation, status. ..."
    """
    if kind == "NoneType":
        return NONE
    if (kind, name) in CONTAINERS:
        return CONTAINERS[kind, name]
    if kind == "dict":
        return f'A dict is asked with brackets: ["{name}"].'
    if kind == "set":
        return "{a, b} is a set, {a: b} is a dict: look at the quotes and colons."
    if kind == "tuple":
        return "It is a pair or more: take it apart first, `first, second = ...`."
    class_ = getattr(sys.modules.get("agentloop"), kind, None)
    fields = [n for n in getattr(class_, "__dataclass_fields__", ()) if n[0] != "_"]
    if not fields:
        return ""
    properties = [n for n, value in vars(class_).items() if isinstance(value, property)]
    fields += [n for n in properties if n[0] != "_"]
    hint = f"An {kind} has {', '.join(fields)}."
    if kind in ("AgentStep", "AgentFinish", "AgentAction"):
        hint += " stream() gives actions, steps and a finish: ask isinstance() first which it is."
    return hint


def find_name(name, source):
    """What is missing where a name is not defined: an import, mostly; else a name like it."""
    module = "typing" if name in typing.__all__ else FROM.get(name)
    if module:
        return f"Is `from {module} import {name}` missing at the top?"
    if name in getattr(sys.modules.get("agentloop"), "__all__", ()):
        return f"Is `import agentloop` there, and is it agentloop.{name}?"
    if name in ELSEWHERE and f"{name}." not in source:  # string.digits is of the module string
        return f"Did you mean {ELSEWHERE[name]}?"
    with contextlib.suppress(ImportError, ValueError):
        if importlib.util.find_spec(name):
            return f"Is `import {name}` missing at the top?"
    close = closest(name, names_in(source) | set(dir(builtins)))
    if close:
        return f"Did you mean {close}?"
    return "Is it a slip, is an import missing, or should it be a text, between quotes?"


def names_in(source):
    """The names that the source itself makes: variables, parameters, functions, imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def closest(name, names):
    found = difflib.get_close_matches(name, [n for n in names if n[:1] != "_"], 1)
    return found[0] if found else ""


# -- all checks ------------------------------------------------------------------------------------


def progress(options):
    """Run the check of every lesson; the number of those that are not right yet."""
    missing = 0
    for check in sorted(COURSE.glob("[0-9]*/check.py")):
        done = subprocess.run(
            [sys.executable, str(check), *options],
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        missing += done.returncode != 0
        lines = done.stdout.strip().splitlines() or ["not yet: the check itself did not run"]
        print(f"{check.parent.name:<20} {lines[-1]}", flush=True)
    return missing


def reset(which):
    """Put exercises back as they were handed out; what was written is kept beside them.

    `which`: lessons as somebody types them ("3", "03", "03_errors/"); none: all. The number of
    those that are no lesson.
    """
    originals = {path.stem: path for path in sorted((COURSE / "handed_out").glob("[0-9]*.py"))}
    lessons = {name: find_lesson(name, originals) for name in which}
    wrong = [name for name, lesson in lessons.items() if lesson is None]
    for name in wrong:
        print(f"there is no lesson {name}")
    for lesson, original in originals.items():
        if which and lesson not in lessons.values():
            continue
        exercise = COURSE / lesson / "exercise.py"
        if exercise.exists() and exercise.read_bytes() == original.read_bytes():
            print(f"{lesson:<20} as it was handed out")
            continue
        note = "new"
        if exercise.exists():
            number = 1
            while (exercise.parent / f"my_exercise_{number}.py").exists():
                number += 1
            exercise.rename(exercise.parent / f"my_exercise_{number}.py")
            note = f"new; what you wrote is in my_exercise_{number}.py"
        exercise.write_bytes(original.read_bytes())
        print(f"{lesson:<20} {note}")
    return len(wrong)


def find_lesson(name, lessons):
    """The lesson that is meant by what was typed, or None.

    "1", "01", "01_build", "../01_build_your_own/" -> "01_build_your_own"
    """
    parts = [part for part in re.split(r"[/\\]", name) if part[:1].isdigit()]
    if not parts:
        return None
    number, rest = re.match(r"(\d+)(.*)", parts[-1]).groups()
    fitting = [lesson for lesson in lessons if lesson.startswith(number.zfill(2) + (rest or "_"))]
    return fitting[0] if fitting else None


def new_group():
    """Put all exercises back, and delete what the group before has written."""
    for original in sorted((COURSE / "handed_out").glob("[0-9]*.py")):
        exercise = COURSE / original.stem / "exercise.py"
        kept = sorted(exercise.parent.glob("my_exercise_*.py"))
        for path in kept:
            path.unlink()
        exercise.write_bytes(original.read_bytes())
        deleted = f"; deleted: {', '.join(path.name for path in kept)}" if kept else ""
        print(f"{original.stem:<20} as it was handed out{deleted}")


def course():
    """The command line; its exit status."""
    parser = argparse.ArgumentParser(description="Run the check of every lesson.")
    parser.add_argument("--solution", action="store_true", help="check the solutions")
    parser.add_argument("--reset", nargs="*", metavar="LESSON", help="exercises as handed out")
    parser.add_argument(
        "--new-group", action="store_true", help="all as handed out; what was written is deleted"
    )
    options = parser.parse_args()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if options.new_group:
        new_group()
        return 0
    if options.reset is not None:
        return 1 if reset(options.reset) else 0
    return 1 if progress(["--solution"] if options.solution else []) else 0


if __name__ == "__main__":
    sys.exit(course())
