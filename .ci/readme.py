"""Run the commands of README.md in a fresh clone.

    python3 readme.py FOLDER       FOLDER: the clone

Every fenced block marked `sh` is run by `bash -e`, every one marked `python` by this Python, in the
order of the page and in the folder of the clone, with nothing installed and no key set; each has to
exit with 0. Blocks marked otherwise (`text`, `console`, `powershell`, `json`, ...) are shown, not
run: what needs a server or another shell stands there. Links to files have to lead somewhere.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^( *)```(sh|python)[ \t]*\n(.*?)^\1```[ \t]*$", re.M | re.S)


def main():
    folder = Path(sys.argv[1])
    page = (folder / "README.md").read_text(encoding="utf-8")
    secret = re.compile(r"(OPENAI|ANTHROPIC)_")
    env = {key: value for key, value in os.environ.items() if not secret.match(key)}
    env["PATH"] = os.path.dirname(sys.executable) + os.pathsep + env["PATH"]
    ran = failed = 0
    for indent, kind, text in BLOCK.findall(page):
        text = re.sub("^" + indent, "", text, flags=re.M)
        command = ["bash", "-e", "-c", text] if kind == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=str(folder), env=env, stdin=subprocess.DEVNULL, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        ran += 1
        if done.returncode:
            failed += 1
            print(
                "FAILED with exit status %d:\n%s\n%s" % (done.returncode, text, done.stdout[-2000:])
            )
    for link in re.findall(r"\]\(([^)\s]+)\)", page):
        if "://" not in link and not (folder / link.split("#")[0]).exists():
            failed += 1
            print("FAILED: a link to %s, which is not there" % link)
    print("README: %d blocks run, %d failed" % (ran, failed))
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
