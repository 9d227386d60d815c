"""From a script to a real model: three things to do. No key is needed, the check is the server.

1. make_model(base_url) should be an OpenAIChat for the model "tiny" at that URL, with a system text
   of yours that asks for short answers, and with the body's field temperature at 0.
2. ask(model, question) should also return what the run cost: the sum of the input tokens and the
   output tokens in run.usage.
3. Where the server refuses (agentloop.ModelError), ask() should not raise, but return the text
   "no answer: KIND" with the error's kind, and 0.

    python3 check.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402


def get_weather(city: str) -> str:
    """Return the weather of a city, now."""
    return f"{city}: cloudy, 14 degrees"


def make_model(base_url):
    return agentloop.Scripted([agentloop.AgentFinish("I am only a script.")])


def ask(model, question):
    run = agentloop.run(model, question, [get_weather])
    return run.output, 0
