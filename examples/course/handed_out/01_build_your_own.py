"""Your loop. It is step 1, as it stands: it works while nothing goes wrong.

Make it get through everything that check.py throws at it, one step after the other:

    step 2: a call that goes wrong (an unknown tool, wrong arguments, a tool that raises) must not
            end the run. What went wrong becomes the observation, as a text for the model.
    step 3: every action has an "id". A call whose id came before is not executed again: its step
            says so in its observation.
    step 4: the model is asked max_requests times at most. When the budget is used up, run()
            returns None as the answer, and the steps.

    python3 check.py        says which step is next

An action is a dict: {"id": "c1", "tool": "lookup_stock", "input": {"sku": "A1"}}.
"""


def run(model, task, tools, max_requests=10):
    steps = []
    while True:
        reply = model(task, steps)
        if "answer" in reply:
            return reply["answer"], steps
        for action in reply["actions"]:
            tool = tools[action["tool"]]
            observation = tool(**action["input"])
            steps.append((action, observation))
