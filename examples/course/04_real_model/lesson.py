"""What goes over the wire, and what comes back?

    python3 lesson.py                                  replies that a real model once gave
    python3 lesson.py --model NAME --base-url URL      a real model, now

Shows the first request whole, then the run, then what the second request holds. Predict: how many
messages will the second request have, and who wrote each?
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # agentloop.py lies three folders up
import agentloop  # noqa: E402

RECORDED = Path(__file__).resolve().parent / "replies.json"
TASK = "What is the weather in Paris?"


def get_weather(city: str) -> dict:
    """Return the weather of a city, now.

    Args:
        city: the city's name, for example "Paris".
    """
    return {"city": city, "sky": "cloudy", "celsius": 14}


class Recorded:
    """A transport without a network: it answers the n-th request with the n-th recorded reply."""

    def __init__(self, path):
        self.replies = json.loads(path.read_text(encoding="utf-8"))

    def __call__(self, method, url, headers, body, timeout):
        reply = json.dumps(self.replies.pop(0)).encode()
        return 200, {"Content-Type": "application/json"}, [reply]


class Noted:
    """Any transport, with a note of the bodies that went through it."""

    def __init__(self, transport):
        self.transport, self.bodies = transport, []

    def __call__(self, method, url, headers, body, timeout):
        self.bodies.append(json.loads(body))
        return self.transport(method, url, headers, body, timeout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    wire = Noted(agentloop.http_transport if options.model else Recorded(RECORDED))
    try:
        model = agentloop.OpenAIChat(
            options.model or "recorded",
            base_url=options.base_url,
            system="Answer in one short sentence.",
            max_tokens=300,
            retries=2,
            transport=wire,
        )
    except ValueError as error:  # a base_url that is none
        parser.error(str(error))

    print("1. The first request, whole")
    run = agentloop.AgentRun(TASK)
    first = model.body(run, agentloop.registry([get_weather]))
    print(json.dumps(first, indent=1, ensure_ascii=False))

    print("\n2. The run")
    try:
        for event in agentloop.stream(model, run, [get_weather], max_requests=4):
            print(event)
    except agentloop.ModelError as error:
        print(f"no reply ({error.kind}): {error}")
        return 1
    print(f"{run.state}; requests: {run.requests}, steps: {len(run.steps)}")

    print("\n3. What each request held")
    for number, body in enumerate(wire.bodies, 1):
        roles = ", ".join(message["role"] for message in body["messages"])
        print(f"request {number}: {len(body['messages'])} messages: {roles}")
    print(f"tokens: {run.usage}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
