"""Step 2: what goes wrong in a call becomes an observation, and the model can act on it."""


def lookup_stock(sku):
    return {"A1": 3}[sku]


def run(model, task, tools, max_requests=10):
    steps = []
    while True:
        reply = model(task, steps)
        if "answer" in reply:
            return reply["answer"], steps
        for action in reply["actions"]:
            try:
                if action["tool"] not in tools:
                    known = ", ".join(sorted(tools))
                    raise LookupError(f"no tool {action['tool']}; there are: {known}")
                tool = tools[action["tool"]]
                observation = tool(**action["input"])
            except Exception as error:
                observation = f"{type(error).__name__}: {error}"
            steps.append((action, observation))


def scripted(replies):
    queue = iter(replies)
    return lambda task, steps: next(queue)


if __name__ == "__main__":
    ask = {"id": "c1", "tool": "lookup_stock", "input": {"sku": "A1"}}
    model = scripted([{"actions": [ask]}, {"answer": "3 of A1 can be sold"}])
    print(run(model, "How many A1 can we sell?", {"lookup_stock": lookup_stock}))
