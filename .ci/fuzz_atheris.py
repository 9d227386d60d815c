"""Fuzzing led by coverage, on what reads bytes from outside: the reply parsers, ReActText, the journal.

python fuzz_atheris.py [SECONDS]      in a virtual environment with the package atheris
"""

import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["agentloop"]):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    import agentloop  # noqa: F401

import fuzz

# The first byte chooses the target; the rest is what it gets.
TARGETS = [
    lambda data, protocol=protocol, streamed=streamed: fuzz.reply(data, protocol, streamed)
    for protocol in fuzz.PROTOCOLS
    for streamed in (False, True)
]
TARGETS += [lambda data: fuzz.text(data.decode("utf-8", "replace")), fuzz.journal]


def one(data):
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    time.sleep = lambda seconds: None
    with tempfile.TemporaryDirectory() as corpus:
        kinds = [(p, s) for p in fuzz.PROTOCOLS for s in (False, True)]
        samples = [fuzz.sample(*kind) for kind in kinds]
        samples += [b"Thought: x\nAction: plain\nAction Input: {}\n", fuzz.sample_journal()]
        for number, data in enumerate(samples):
            Path(corpus, str(number)).write_bytes(bytes([number]) + data)
        options = [
            "-seed=1",
            "-max_total_time=" + seconds,
            "-timeout=2",
            "-rss_limit_mb=2048",
            "-verbosity=1",
        ]
        atheris.Setup([sys.argv[0], corpus, "-artifact_prefix=%s/" % corpus, *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
