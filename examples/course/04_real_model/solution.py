"""One solution. Whatever else is given to OpenAIChat, temperature here, goes into the body."""

import json
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def get_weather(city: str) -> str:
    """Return the weather of a city, now."""
    return f"{city}: cloudy, 14 degrees"


def chat(base_url, messages):
    body = json.dumps({"model": "tiny", "messages": messages}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(base_url + "/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def make_model(base_url):
    return agentloop.OpenAIChat(
        "tiny", base_url=base_url, system="Answer in one short sentence.", temperature=0
    )


def ask(model, question):
    try:
        run = agentloop.run(model, question, [get_weather])
    except agentloop.ModelError as error:
        return f"no answer: {error.kind}", 0
    return run.output, run.usage["input_tokens"] + run.usage["output_tokens"]
