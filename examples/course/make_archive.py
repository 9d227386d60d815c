"""The course as one zip file, for a USB stick or a download page, with a check that it runs there.

    python3 examples/course/make_archive.py                     writes agentloop-course.zip here
    python3 examples/course/make_archive.py /media/stick/c.zip
    python3 examples/course/make_archive.py --test c.zip        only checks an archive

In it: agentloop.py, the course and the examples of examples/README.md, in one folder. Exercises are
in it as they are handed out, whatever you have written into yours. Only files that belong there are
taken: what else lies in the folders (notes, journals, recordings, a file of yours with a key) stays
out, and its names are printed. The same files give the same bytes.

The check unpacks the archive into a new folder with a space and an accent in its name, as laptops
have them, and runs lesson 00 and all solutions from there, with nothing but what was unpacked.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

COURSE = Path(__file__).resolve().parent
ROOT = COURSE.parents[1]
TOP = "agentloop-course"  # the folder that comes out of the archive
REFERENCE = ROOT / "examples" / "reference"
PAGES = ["api", "journal", "servers", "troubleshooting"]  # those of the reference
OF_THE_COURSE = [
    "README.md",
    "answers.md",
    "handout.md",
    "slides.md",
    "loop.svg",
    "stages.svg",
    "checking.py",
    "make_archive.py",
]
OF_A_LESSON = ["README.md", "lesson.py", "check.py", "solution.py"]
OF_ONE_LESSON = [
    *(f"01_build_your_own/step_{number}.py" for number in (1, 2, 3, 4)),
    "04_real_model/replies.json",
    "10_read_a_framework/framework.py",
]
OLDEST = (1980, 1, 1, 0, 0, 0)  # a zip file knows no earlier time; one for all, so that bytes agree


def files():
    """(name in the archive, path) of each file, in order."""
    found = {name: ROOT / name for name in ("agentloop.py", "README.md", "examples/README.md")}
    found.update((f"examples/reference/{name}.md", REFERENCE / f"{name}.md") for name in PAGES)
    page = ROOT / "examples" / "README.md"
    told = page.read_text(encoding="utf-8") if page.exists() else ""
    for name in re.findall(r"[\w/]+\.(?:py|md)\b", told):  # those that it tells of
        if not name.startswith("course/"):
            found["examples/" + name] = ROOT / "examples" / name
    course = {name: COURSE / name for name in [*OF_THE_COURSE, *OF_ONE_LESSON]}
    for path in (COURSE / "handed_out").glob("[0-9]*.py"):
        course["handed_out/" + path.name] = path
        course.update({f"{path.stem}/{name}": COURSE / path.stem / name for name in OF_A_LESSON})
        course[path.stem + "/exercise.py"] = path
    found.update(("examples/course/" + name, path) for name, path in course.items())
    return sorted((name, path) for name, path in found.items() if path.is_file())


def left_out(listed):
    """The names of the other files in the folder of the examples; what Python makes is not said."""
    taken = {name for name, _ in listed}
    names = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return sorted(name for name in names if name not in taken)


def write(target, listed):
    """Write the archive."""
    with zipfile.ZipFile(str(target), "w") as archive:
        for name, path in listed:
            entry = zipfile.ZipInfo(f"{TOP}/{name}", OLDEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, path.read_bytes())


def test(target):
    """Unpack the archive elsewhere and run it there; a list of what went wrong."""
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "my course \u00e9"
        with zipfile.ZipFile(str(target)) as archive:
            archive.extractall(str(folder))
        course = folder / TOP / "examples" / "course"
        jobs = [
            ("the laptop check", [course / "00_check_laptop" / "lesson.py"], "ready: yes"),
            ("the solutions", [course / "checking.py", "--solution"], "right: "),
        ]
        for what, command, wanted in jobs:
            status, said = python(command, folder)
            if status != 0 or wanted not in said:
                faults.append(f"{what} failed:\n{said}")
        status, said = python([course / "checking.py"], folder)
        wrong = [line for line in said.splitlines() if "not yet: " not in line]
        if wrong:
            faults.append("an exercise is not as it is handed out:\n" + "\n".join(wrong))
    return faults


def python(command, folder):
    """Run this Python there, without what this checkout or the environment would lend it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env.update(PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8")
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=str(folder),
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", nargs="?", default="agentloop-course.zip")
    parser.add_argument("--test", action="store_true", help="check the archive, do not write it")
    options = parser.parse_args()
    target = Path(options.archive)
    try:
        if not options.test:
            listed = files()
            write(target, listed)
            print(f"{target}: {len(listed)} files, {target.stat().st_size // 1024} KB")
            for name in left_out(listed):
                print(f"not in it: {name}")
        faults = test(target)
    except (OSError, zipfile.BadZipFile) as error:
        print(f"{target}: {error}")
        return 1
    print("\n".join(faults) or "unpacked elsewhere, it runs: ready, and all solutions are right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
