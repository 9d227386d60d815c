"""Runs on a real model: a llama.cpp server, all three protocols, streamed and not, and the command line.

    LLAMA=... pytest real_model.py      LLAMA: the Python of the environment with the server, see llama_server.py

What is asserted is shape, not words: a small model says what it says.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parent
sys.path.insert(0, str(CI.parent))
import agentloop  # noqa: E402


def get_weather(city: str) -> dict:
    """Get the weather in a city.

    Args:
        city: the city's name, for example "Paris".
    """
    return {"city": city, "weather": "sunny", "temperature": 21}


def get_time(city: str) -> str:
    """Get the time in a city."""
    return "14:05"


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


PROTOCOLS = {"chat": "OpenAIChat", "responses": "OpenAIResponses", "anthropic": "AnthropicMessages"}


@pytest.fixture(scope="module")
def url(request):
    """The address of a server of the kind that the test names."""
    process = subprocess.Popen(
        [os.environ["LLAMA"], str(CI / "llama_server.py"), request.param],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    hung = threading.Timer(60, process.kill)
    hung.start()
    line = process.stdout.readline()
    hung.cancel()
    assert line.startswith("READY "), "the server did not start: %r" % line
    yield line.split()[1]
    process.stdin.close()
    process.wait(10)


def called(run, tool):
    """The steps in which a tool ran well; each has to hold what the function really returned."""
    steps = [step for step in run.steps if step.action.tool == tool and step.status == "ok"]
    assert steps, "%s was never called: %s" % (tool, [str(step) for step in run.steps])
    assert all(step.action.call_id for step in steps), steps
    return steps


def one_tool(model, heard):
    run = agentloop.run(model, "What is the weather in Paris?", [get_weather], max_requests=5)
    steps = called(run, "get_weather")
    assert steps[0].observation["city"] == "Paris", steps
    ended(run, heard)
    turn = run.follow_up("And in Rome?")
    agentloop.run(model, turn, [get_weather], max_requests=5)
    assert turn.requests and len(turn.history) == 1, turn


def three_tools(model, heard):
    tools = [get_weather, get_time, multiply]
    run = agentloop.run(model, "How much is 6 times 7?", tools, max_requests=5)
    assert called(run, "multiply")[0].observation == 42, run.steps
    ended(run, heard)


def ended(run, heard):
    assert run.state == "model_ended" and run.finish.reason == "stop", run
    assert isinstance(run.output, str) and run.output.strip(), run.output
    assert run.requests == len({id(s.action.message) for s in run.steps}) + 1, run
    assert run.usage["input_tokens"] > 0 and run.usage["output_tokens"] > 0, run.usage
    if heard is not None:
        assert "".join(heard).endswith(run.output), (heard, run.output)


def two_calls(model, heard):
    """tool_choice stays `required`, so the model never answers: one request is enough."""
    question = "What is the weather in Paris and in Rome?"
    run = agentloop.run(model, question, [get_weather], max_requests=1)
    assert run.state == "budget_exhausted" and run.requests == 1, run
    assert [step.observation["city"] for step in called(run, "get_weather")] == ["Paris", "Rome"], (
        run
    )
    assert run.steps[0].action.message is run.steps[1].action.message, run
    agentloop.run(model, run, [get_weather], max_requests=2)  # the server takes both results
    assert run.requests == 2 and len(run.steps) > 2, run


def runaway(model, heard):
    question = "Get the weather in Paris, then in Rome, then in Oslo."
    run = agentloop.run(model, question, [get_weather], max_requests=4)
    assert run.state == "budget_exhausted" and run.output is None, run
    assert run.requests == 4 and len(called(run, "get_weather")) == 4 == len(run.steps), run


def mid_stream_error(model, heard):
    try:
        run = agentloop.run(model, "What is the weather in Paris?", [get_weather], max_requests=4)
    except agentloop.ModelError as e:
        assert e.kind == "server" and "expected" in str(e), (e.kind, str(e))
        assert e.agent_run.requests == 1 and e.agent_run.state == "running", e.agent_run
    else:
        raise AssertionError("no error: %r" % run)


ASK = {"temperature": 0}
# For two calls the model has to be told that it must call.
CALL_ALWAYS = {"tool_choice": "required", "parallel_tool_calls": True}
PLAYS = [
    ("tools", one_tool),
    ("tools", three_tools),
    ("parallel", two_calls),
    ("runaway", runaway),
    ("mid_stream_error", mid_stream_error),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize(("url", "play"), PLAYS, indirect=["url"])
def test_play(url, play, protocol, streamed):
    body = CALL_ALWAYS if play is two_calls else ASK
    if play is two_calls and protocol == "anthropic":
        body = {"tool_choice": {"type": "any"}}
    heard = [] if streamed else None
    on_text = heard.append if streamed else None
    settings = {"base_url": url, "retries": 1, "timeout": 60, "on_text": on_text}
    play(getattr(agentloop, PROTOCOLS[protocol])("m", **settings, **body), heard)


@pytest.mark.parametrize("api", ["", "chat", "responses", "anthropic", "text"])
@pytest.mark.parametrize("url", ["tools"], indirect=True)
def test_command_line(url, api):
    """The README's command on a real server."""
    command = [
        sys.executable, "agentloop.py", "What is the weather in Paris?",
        "--tools", "examples/weather_tools.py", "--model", "m", "--base-url", url + "/v1",
    ]  # fmt: skip
    command += ["--api", api] if api else []
    if api == "text":  # so small a model does not know when to stop
        command += ["--max-requests", "2", "--set", "max_tokens=80"]
    done = subprocess.run(
        command, cwd=str(CI.parent), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )  # fmt: skip
    shown = (done.returncode, done.stdout, done.stderr)
    assert done.returncode in ((0, 3) if api == "text" else (0,)), shown
    assert "request 1/" in done.stderr and "Traceback" not in done.stderr, shown
    if api != "text":
        assert done.stdout.strip() and "ok" in done.stderr and "Paris" in done.stderr, shown
