"""The properties of fuzz.py, led by what they reach in agentloop.py.

python fuzz_atheris.py [SECONDS]      in a virtual environment with atheris and hypothesis
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["agentloop"]):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    import agentloop  # noqa: F401

import fuzz
import hypothesis

SETTINGS = hypothesis.settings(database=None, deadline=None)
TARGETS = [SETTINGS(test).hypothesis.fuzz_one_input for test in fuzz.PROPERTIES.values()]


def play(data):
    """The first byte chooses the property, the others what it gets."""
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    with tempfile.TemporaryDirectory() as folder:
        limits = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-len_control=0"]
        options = ["-seed=1", "-max_total_time=" + seconds, "-artifact_prefix=%s/" % folder]
        atheris.Setup([sys.argv[0], folder, *options, *limits], play)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
