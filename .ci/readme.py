"""Run the blocks of README.md and of examples/reference/*.md in a fresh clone.

    python3 readme.py FOLDER LLMOCK      the clone; the program, see faults.py

Each page gets a copy of the clone and a process of its own. There every fenced block marked `sh` is
run by `bash -e` and every one marked `python` by this Python, in the order of the page, the Python
ones each going on from those above. Nothing is installed; what asks a model reaches llmock, since
its address stands in the environment. Blocks marked otherwise (`text`, `powershell`,
`json`, ...) are shown, not run: what needs another server or shell stands there. A block has to be
marked. Links to files, of every page of the project, have to lead somewhere.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import types
from pathlib import Path

BLOCK = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```[ \t]*$", re.M | re.S)
SECONDS = 600  # for a page; the whole test file is in one


# -- one page, in a process of its own ------------------------------------------------------------


def blocks(text):
    """(line, language, text) of each fenced block of a page."""
    for match in BLOCK.finditer(text):
        indent, language, block = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        yield line, language, re.sub("^" + indent, "", block, flags=re.M)


def play(page):
    """Run the blocks of a page; prints what failed, and last how many ran and failed."""
    ran, failed = 0, []
    module = sys.modules["_page"] = types.ModuleType("_page")
    sys.path.insert(0, os.getcwd())
    for line, language, text in blocks(Path(page).read_text(encoding="utf-8")):
        where, wrong = "%s, line %d" % (page, line), None
        if language == "python":
            try:
                # The lines count from the top of the page.
                code = compile("\n" * line + text, page, "exec")
                exec(code, module.__dict__)  # noqa: S102
            except BaseException:
                wrong = traceback.format_exc()
        elif language == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", text], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            if done.returncode:
                wrong = "exit status %d:\n%s\n%s" % (done.returncode, text, done.stdout[-2000:])
        elif not language:
            wrong = "a block without a language"
        ran += language in ("python", "sh")
        if wrong:
            failed.append("FAILED %s: %s" % (where, wrong))
    print(*failed, "%d %d" % (ran, len(failed)), sep="\n")
    sys.stdout.flush()
    os._exit(0)  # whatever a block has started


# -- all pages ------------------------------------------------------------------------------------


def broken_links(folder):
    for page in sorted(folder.rglob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = page.parent / link.split("#")[0]
            if "://" not in link and not link.startswith("mailto:") and not target.exists():
                yield "%s: a link to %s, which is not there" % (page.relative_to(folder), link)


def played(folder, page, url):
    """(blocks that ran, those that failed, what was said) of a page in a copy of the clone."""
    own = re.compile(r"(OPENAI|ANTHROPIC|AGENTLOOP)_")
    env = {key: text for key, text in os.environ.items() if not own.match(key)}
    env["PATH"] = os.path.dirname(sys.executable) + os.pathsep + env["PATH"]
    env.update(OPENAI_BASE_URL=url + "/v1", ANTHROPIC_BASE_URL=url + "/anthropic")
    env.update(OPENAI_API_KEY="x", ANTHROPIC_API_KEY="x")
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(str(folder), os.path.join(scratch, "clone"))
        try:
            text = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--play", str(page)], cwd=copy, env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=SECONDS,
            ).stdout  # fmt: skip
        except subprocess.TimeoutExpired as e:
            text = "%s\nFAILED: %s is not through after %d s" % (e.stdout, page, SECONDS)
    counts = re.search(r"^(\d+) (\d+)\Z", text.strip(), re.M)
    return (*map(int, counts.groups()), text) if counts else (0, 1, text)


def main():
    if sys.argv[1] == "--play":
        play(sys.argv[2])
    import faults  # not above: a page uses the agentloop.py of its own copy

    folder, failed, told = Path(sys.argv[1]), 0, []
    pages = ["README.md", *sorted(p.name for p in (folder / "examples/reference").glob("*.md"))]
    with faults.Server(sys.argv[2]) as server:
        for name in pages:
            page = name if name == "README.md" else "examples/reference/" + name
            ran, wrong, text = played(folder, page, server.url)
            told.append("%s %d" % (name, ran))
            if wrong:
                failed += wrong
                print(text)
            elif name == "README.md" and not ran:
                failed += 1
                print("FAILED: no block of README.md ran")
    for line in broken_links(folder):
        failed += 1
        print("FAILED " + line)
    print("blocks run: %s; %d failed" % (", ".join(told), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
