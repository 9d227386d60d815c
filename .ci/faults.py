"""Runs against llmock, a server that breaks on demand and judges how its clients took it.

    python3 faults.py LLMOCK      the program, from a virtual environment with the package llmock

Every fault is switched on by itself, for each protocol, streamed and not; then runs of 50 requests
meet faults at random.
"""

import concurrent.futures
import functools
import itertools
import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402

PROTOCOLS = {"OpenAIChat": "/v1", "OpenAIResponses": "/v1", "AnthropicMessages": "/anthropic"}
# Long arguments: the server breaks one of the first seven chunks of a stream, and the reply must not be whole by then.
CALL = {
    "name": "get_weather",
    "arguments": {"city": "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"},
}
FAULTS = {
    "nothing": {},
    "429 with Retry-After": {"type": "fail", "status": 429, "retry_after": 1},
    "500": {"type": "fail", "status": 500},
    "529": {"type": "fail", "status": 529},
    "slow first token": {"type": "slow_first_token", "seconds": 0.7},
    "truncated": {"type": "stream_fault", "kind": "truncate"},
    "malformed": {"type": "stream_fault", "kind": "malformed"},
    "stalled": {"type": "stream_fault", "kind": "stall", "stall_seconds": 8},
    "disconnected": {"type": "stream_fault", "kind": "disconnect"},
    "malformed arguments": {"type": "tool_fault", "kind": "malformed_arguments"},
    "unknown tool": {"type": "tool_fault", "kind": "unknown_tool"},
}
STATUS = {"malformed arguments": "invalid_arguments", "unknown tool": "unknown_tool"}


def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return "18 C in %s" % city


class Server:
    def __init__(self, binary, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Chunks come 10 ms apart, else a stream is over before the server can see that its client left.
        command = [binary, "serve", "--port", str(self.port), "--stream-chunk-delay-ms", "10"]
        self.process = subprocess.Popen(
            command + list(options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.url = "http://127.0.0.1:%d" % self.port

    def __enter__(self):
        for _ in range(300):
            try:
                self.ask("GET", "verdict")
                return self
            except OSError:
                time.sleep(0.1)
        raise SystemExit("llmock did not start")

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait(10)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + "/_llmock/" + path, data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as reply:
            return json.load(reply)

    def judge(self):
        """What the server has against us; a warning counts too."""
        verdict = self.ask("GET", "verdict")
        found = ["%(code)s: %(title)s" % finding for finding in verdict["findings"]]
        assert not found, "; ".join(found)
        return verdict

    def model(self, name, streamed, **options):
        settings = dict({"api_key": "x", "timeout": 2}, **options)
        return getattr(agentloop, name)(
            "gpt-4o",
            base_url=self.url + PROTOCOLS[name],
            on_text=(lambda text: None) if streamed else None,
            **settings,
        )


def one_fault(server, name, streamed, fault):
    server.ask("POST", "reset")
    if FAULTS[fault]:
        server.ask("POST", "scenario", {"behaviors": [FAULTS[fault]]})
    run = agentloop.run(
        server.model(name, streamed), "What is the weather in Paris?", [get_weather]
    )
    assert run.state == "model_ended" and run.output, run
    statuses = [step.status for step in run.steps]
    if fault in STATUS:
        assert STATUS[fault] in statuses, statuses
    else:
        assert statuses == ["ok"] and run.requests == 2, run
    assert not server.ask("GET", "scenario")["pending"], "the fault was not met"
    server.judge()


def one_by_one(binary):
    """Every fault by itself; gives (what was played, what was wrong)."""
    with Server(binary) as server:
        for name, streamed, fault in itertools.product(PROTOCOLS, (False, True), FAULTS):
            if streamed or FAULTS[fault].get("type") not in ("stream_fault", "slow_first_token"):
                play = functools.partial(one_fault, server, name, streamed, fault)
                yield "%s, %s%s" % (fault, name, " streamed" * streamed), wrong(play)


def at_random(binary, name, streamed):
    """50 requests, each of them a call, about a quarter of them with a fault."""
    rates = ["--error-rate=429=0.05", "--error-rate=500=0.05", "--error-rate=529=0.05"]
    rates += ["--stream-fault=%s=0.04" % kind for kind in ("disconnect", "truncate", "malformed")]

    def play():
        reply = {"type": "reply", "tool_calls": [CALL], "times": None}
        server.ask("POST", "scenario", {"behaviors": [reply]})
        model = server.model(name, streamed, retries=9)
        run = agentloop.run(model, "Go on.", [get_weather], max_requests=50)
        assert run.state == "budget_exhausted" and run.requests == 50, run
        assert [step.status for step in run.steps] == ["ok"] * 50, run.steps
        assert server.judge()["faults_injected"] > 0, "no fault was met"

    with Server(binary, *rates) as server:
        yield "random faults, %s%s" % (name, " streamed" * streamed), wrong(play)


def wrong(play):
    try:
        play()
    except Exception as e:
        return "%s: %s" % (type(e).__name__, str(e)[:1500])
    return None


def main():
    # Mostly waiting: each has a server of its own, and all go at once.
    plays = [functools.partial(one_by_one, sys.argv[1])]
    plays += [
        functools.partial(at_random, sys.argv[1], name, streamed)
        for name in PROTOCOLS
        for streamed in (False, True)
    ]
    with concurrent.futures.ThreadPoolExecutor(len(plays)) as pool:
        results = [
            result for found in pool.map(lambda play: list(play()), plays) for result in found
        ]
    failed = [(what, text) for what, text in results if text]
    for what, text in failed:
        print("FAILED %s: %s" % (what, text))
    print("llmock: %d verdicts clean, %d not" % (len(results) - len(failed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
