"""Test your own agent with unittest: without a model, without a network, in milliseconds.

What you learn: an agent is a function of a model, so a test gives it another one. `Scripted` says
what the model does; the test looks at what your code makes of it. Where requests and replies
matter, keep the adapter, and give it a `transport` that keeps what it is sent and answers from a
recording (record_replay.py makes some). How good a real model is, evaluate.py measures.

    python3 test_your_agent.py     (python3 -m unittest and pytest run it as well)

Change and try: break the agent (no `accept`, no `system`, no `except`); which test notices?
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

# Your agent; in life it stands in a file of its own.
SYSTEM = "You work in a lamp shop. Look a lamp up before you speak about it."


def lookup_stock(sku: str) -> int:
    """Return the quantity that can be sold now."""
    if sku != "A1":
        raise LookupError(f"no lamp {sku}")
    return 3


def has_looked(run):
    """Accept no answer without a look into the stock."""
    return None if any(step.status == "ok" for step in run.steps) else "Look it up first."


def make_model(**settings):
    return agentloop.OpenAIChat("gpt-5", system=SYSTEM, **settings)


def answer(question, model):
    """The agent: a text for the customer, whatever happens."""
    try:
        run = agentloop.run(model, question, [lookup_stock], max_requests=4, accept=has_looked)
    except agentloop.ModelError:
        return "Our assistant is not available. Please call us."
    return run.output if run.state == "succeeded" else "I do not know. Please call us."


class Recorded:
    """A transport without a network: gives one reply after the other, keeps each request's body."""

    def __init__(self, *replies):
        self.replies, self.bodies = list(replies), []

    def __call__(self, method, url, headers, body, timeout):
        self.bodies.append(json.loads(body))
        status, reply = self.replies.pop(0)
        return status, {"content-type": "application/json"}, iter([json.dumps(reply).encode()])


def reply(**message):
    """A reply of Chat Completions, as a server sends it."""
    return 200, {"choices": [{"message": {"role": "assistant", **message}}]}


class ToolTest(unittest.TestCase):
    """A tool is a function: most of its tests need no agent."""

    def test_unknown_lamp(self):
        self.assertEqual(lookup_stock("A1"), 3)
        with self.assertRaisesRegex(LookupError, "no lamp B2"):
            lookup_stock("B2")


class ScriptedTest(unittest.TestCase):
    """What the agent makes of what the model does."""

    def ask(self, *decisions):
        return answer("Is A1 there?", agentloop.Scripted(decisions))

    def test_look_up_and_answer(self):
        call = agentloop.AgentAction("lookup_stock", {"sku": "A1"})
        self.assertEqual(self.ask(call, agentloop.AgentFinish("Yes, 3.")), "Yes, 3.")

    def test_an_answer_without_a_look_does_not_get_through(self):
        guesses = [agentloop.AgentFinish("Sure!")] * 4
        self.assertEqual(self.ask(*guesses), "I do not know. Please call us.")

    def test_what_the_model_is_told_of_an_error(self):
        def model(run, tools):  # a model is any callable: this one looks at the run
            if run.steps:
                self.assertIn("no lamp B2", run.steps[-1].observation)
            return agentloop.AgentAction("lookup_stock", {"sku": "B2"})

        self.assertEqual(answer("Is B2 there?", model), "I do not know. Please call us.")


class RecordedTest(unittest.TestCase):
    """The same over the wire: the real adapter, and replies from a recording."""

    def test_requests_and_replies(self):
        function = {"name": "lookup_stock", "arguments": '{"sku": "A1"}'}
        call = {"id": "c1", "type": "function", "function": function}
        transport = Recorded(reply(content=None, tool_calls=[call]), reply(content="Yes, 3."))
        model = make_model(api_key="", transport=transport)
        self.assertEqual(answer("Is A1 there?", model), "Yes, 3.")
        first, second = transport.bodies
        self.assertEqual(first["messages"][0], {"role": "system", "content": SYSTEM})
        self.assertEqual(first["tools"][0]["function"]["name"], "lookup_stock")
        self.assertEqual(second["messages"][-1]["content"], "3")

    def test_a_refused_key(self):
        transport = Recorded((401, {"error": {"message": "wrong key"}}))
        model = make_model(api_key="no", transport=transport)
        self.assertIn("not available", answer("Is A1 there?", model))


if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stdout, verbosity=2))
