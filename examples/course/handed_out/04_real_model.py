"""From a script to a real model: first by hand, then with agentloop. No key; the check is a server.

1. By hand. chat(base_url, messages) makes one request and returns the text of the reply.

       POST to           base_url + "/chat/completions"
       with the header   Content-Type: application/json
       the body          {"model": "tiny", "messages": messages}, as JSON
       what comes back   {"choices": [{"message": {"role": "assistant", "content": "..."}}], ...}

   Four lines: json.dumps(...).encode() makes bytes of the body; urllib.request.Request(url, bytes,
   headers) is the request; urllib.request.urlopen(request, timeout=30) sends it; json.load() reads
   what comes back.

2. make_model(base_url) should be an OpenAIChat for the model "tiny" at that URL, with a system text
   of yours that asks for short answers, and with the body's field temperature at 0.

3. ask(model, question) should also return what the run cost: the sum of the input tokens and the
   output tokens in run.usage. Where the server refuses (agentloop.ModelError), it should not raise,
   but return the text "no answer: KIND" with the error's kind, and 0.

    python3 check.py
"""

import json  # noqa: F401
import sys
import urllib.request  # noqa: F401
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def get_weather(city: str) -> str:
    """Return the weather of a city, now."""
    return f"{city}: cloudy, 14 degrees"


def chat(base_url, messages):
    return "I have not asked anybody."


def make_model(base_url):
    return agentloop.Scripted([agentloop.AgentFinish("I am only a script.")])


def ask(model, question):
    run = agentloop.run(model, question, [get_weather])
    return run.output, 0
