"""A conversation of two turns with reasoning, against aimock, which refuses thinking blocks that were lost or changed.

    AIMOCK=... pytest thinking.py      AIMOCK: the program `llmock` of the npm package @copilotkit/aimock

The server numbers its calls anew in each turn, so the ids have to be made unique.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402

CALLS = [
    {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}},
    {"id": "call_2", "name": "get_weather", "arguments": {"city": "Rome"}},
]
THOUGHT, SIGNATURE = "Two cities: two calls.", "c2lnbmF0dXJl"
FIXTURES = [
    {
        "match": {"hasToolResult": False},
        "response": {
            "reasoning": THOUGHT,
            "reasoningSignature": SIGNATURE,
            "redactedThinking": ["cmVkYWN0ZWQ="],
            "content": "Let me look.",
            "toolCalls": CALLS,
        },
    },
    {
        "match": {"hasToolResult": True},
        "response": {
            "reasoning": "Known.",
            "reasoningSignature": SIGNATURE,
            "content": "18 C in both.",
        },
    },
]
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
# model, what is added to the body, and what has to go back to the server in the last request
PROTOCOLS = {
    "OpenAIChat": ("deepseek-reasoner", {}, '"reasoning_content"'),
    "OpenAIResponses": ("gpt-5", {}, '"encrypted_content"'),
    "AnthropicMessages": ("claude-sonnet-4-5", THINKING, SIGNATURE),
}


def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return "18 C"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Its address."""
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-p", str(port), "-f", str(fixtures), "--strict", "--log-level", "warn"]
    process = subprocess.Popen([os.environ["AIMOCK"], *options])
    for _ in range(100):
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                break
        time.sleep(0.1)
    yield "http://127.0.0.1:%d" % port
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_conversation(url, name, streamed):
    model_name, body, sent_back = PROTOCOLS[name]
    model = getattr(agentloop, name)(
        model_name, base_url=url, api_key="x", retries=0, timeout=20,
        on_text=(lambda text: None) if streamed else None, **body,
    )  # fmt: skip
    run = None
    for task in ("The weather in Paris and Rome?", "And now?"):
        run = agentloop.run(model, run.follow_up(task) if run else task, [get_weather])
        assert run.state == "model_ended" and run.output == "18 C in both.", run
        assert [step.status for step in run.steps] == ["ok", "ok"], run.steps
        assert run.steps[0].action.log == "Let me look.", run.steps
        assert run.requests == 2, run
    ids = [step.action.call_id for turn in (*run.history, run) for step in turn.steps]
    assert len(set(ids)) == 4, ids
    tools = agentloop.registry([get_weather])
    text = json.dumps(model.body(run.follow_up("Once more?"), tools))
    assert text.count(sent_back) >= 2, text  # once per turn with calls
