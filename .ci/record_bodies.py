"""Run the test file and write down every request body that its models make.

    python3 record_bodies.py BODIES.jsonl      one {"protocol", "body"} a line, for sdk_types.py

Whether the tests pass is told elsewhere: here they may not, since a body is made once more than usual.
"""

import json
import os
import re
import runpy
import sys
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import agentloop  # noqa: E402

PROTOCOLS = ("OpenAIChat", "OpenAIResponses", "AnthropicMessages")


def record(kind, protocol, out, lock):
    real = kind.__call__

    def call(self, run, tools):
        try:
            line = json.dumps({"protocol": protocol, "body": self.body(run, tools)})
        except Exception:
            line = None  # a test of what is refused before anything is sent
        if line:
            with lock:
                out.write(line + "\n")
                out.flush()
        return real(self, run, tools)

    kind.__call__ = call


RUN = unittest.TestCase.run


def recorded(test, result=None):
    """Run a test, but not where a server says what is in no type, at random or on purpose: it gets
    its own words back, and there is nothing to be learned from that."""
    method = getattr(test, test._testMethodName)
    odd = getattr(method, "unrecorded", False) or getattr(test, "unrecorded", False)
    if odd or re.search("fuzz|generated|random", test.id(), re.I):
        return result
    return RUN(test, result)


def main():
    path = os.path.abspath(sys.argv[1])
    os.chdir(str(ROOT))
    with open(path, "w", encoding="utf-8") as out:
        lock = threading.Lock()
        for protocol in PROTOCOLS:
            record(getattr(agentloop, protocol), protocol, out, lock)
        unittest.TestCase.run = recorded
        sys.argv = ["test_agentloop.py"]
        try:
            runpy.run_path("test_agentloop.py", run_name="__main__")
        except SystemExit:
            pass


if __name__ == "__main__":
    main()
