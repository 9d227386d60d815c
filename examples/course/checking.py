"""How far am I? Every lesson's check.py is built on this file, and run by itself it runs them all.

    python3 examples/course/checking.py               one line for each lesson
    python3 examples/course/checking.py --solution    the same with the solutions, for teachers

A check is a function that gets the participant's module. It raises NotYet with a hint, or returns
what to say when all is right.
"""

import importlib.util
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

SECONDS = 20  # a check that takes longer is in a loop that never ends


class NotYet(BaseException):
    """What the exercise does not do yet: a hint in plain words, for the participant.

    Not an Exception, so that no `except Exception` in an exercise catches it.
    """


def need(condition, hint):
    """Go on where the condition holds; end the check with the hint where it does not."""
    if not condition:
        raise NotYet(hint)


def main(folder, check):
    """Load exercise.py (with --solution: solution.py), check it, print one line, exit 0 or 1."""
    if hasattr(sys.stdout, "reconfigure"):  # a console that lacks a letter shows it escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    path = Path(folder) / ("solution.py" if "--solution" in sys.argv[1:] else "exercise.py")
    watchdog = threading.Timer(SECONDS, give_up, [path])
    watchdog.daemon = True
    watchdog.start()
    try:
        print(f"right: {check(load(path))}")
        code = 0
    except NotYet as hint:
        print(f"not yet: {hint}")
        code = 1
    except Exception as error:
        print(f"not yet: {where(error, path)}")
        code = 1
    watchdog.cancel()
    sys.exit(code)


def load(path):
    """The module at the path. It is registered, since dataclasses and pickle look there."""
    need(path.exists(), f"there is no {path} here. Get the file anew.")
    spec = importlib.util.spec_from_file_location(path.stem, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def where(error, path):
    """The error in one line, with the line of the participant's file that it came from."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{path.name}, line {error.lineno} cannot be read: {error.msg}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if lines:
        return f"{path.name}, line {lines[-1]} raised {said}"
    return f"with your {path.name} the check raised {said}"


def give_up(path):
    """End a check that hangs: a thread cannot be stopped, so the whole process goes."""
    print(
        f"not yet: {path.name} still ran after {SECONDS} seconds. Does a loop in it never end?",
        flush=True,
    )
    os._exit(1)


def progress(options):
    """Run the check of every lesson; the number of those that are not right yet."""
    missing = 0
    for check in sorted(Path(__file__).resolve().parent.glob("[0-9]*/check.py")):
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


if __name__ == "__main__":
    sys.exit(1 if progress(sys.argv[1:]) else 0)
