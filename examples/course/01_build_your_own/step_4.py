"""Step 4: a budget of requests, looked at before each is spent. Nothing runs for ever."""


def lookup_stock(sku):
    return {"A1": 3}[sku]


def run(model, task, tools, max_requests=10):
    steps = []
    seen = set()
    requests = 0
    while True:
        if requests == max_requests:
            return None, steps  # no answer, but nothing that was done is lost
        requests += 1
        reply = model(task, steps)
        if "answer" in reply:
            return reply["answer"], steps
        for action in reply["actions"]:
            try:
                if action["id"] in seen:
                    raise ValueError(f"call {action['id']} came before; not executed")
                seen.add(action["id"])
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
