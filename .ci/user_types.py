"""Every public name, used as a user would and with hints: read by mypy --strict and pyright, never run."""

import ssl
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, Tuple

import agentloop
from agentloop import AgentAction, AgentFinish, AgentRun, AgentStep, Image, Tool, tool


def lookup_stock(sku: str, warehouse: Literal["north", "south"] = "north") -> Dict[str, int]:
    """Return the quantity that can be sold now."""
    return {sku: 3}


@tool
def plain(sku: str) -> str:
    """A decorated function is still called as one."""
    return sku


@tool(read_only=True, idempotent=True)
def careful(sku: str) -> str:
    return sku


@tool(return_direct=True)
async def later(sku: str) -> str:
    return sku


def injected(sku: str, run: AgentRun, action: AgentAction) -> str:
    return "%s %d %s" % (sku, run.requests, action.call_id)


by_hand = Tool("search", "Search.", {"type": "object"}, lookup_stock)
TOOLS: Dict[str, Tool] = agentloop.registry(
    [lookup_stock, plain, careful, later, injected, by_hand]
)


def of_a_tool(made: Tool) -> Tuple[str, str, Dict[str, Any], bool, bool, bool]:
    called: Any = plain("A1")
    print(called, made.function)
    return (
        made.name,
        made.description,
        made.parameters,
        made.return_direct,
        made.read_only,
        made.idempotent,
    )


class Model:
    """A model is any callable; its registry is a plain dict."""

    def __call__(self, run: AgentRun, tools: Mapping[str, Tool]) -> List[AgentAction]:
        if not run.steps:
            raise agentloop.InvalidResponse("say it again", message={"a": 1}, log="hm")
        return [AgentAction("lookup_stock", {"sku": "A1"}, call_id="c17")]


def finishing(run: AgentRun, tools: Dict[str, Tool]) -> AgentFinish:
    return AgentFinish("done", log="so", reason="stop")


def acting(run: AgentRun, tools: Dict[str, Tool]) -> AgentAction:
    return AgentAction("lookup_stock", '{"sku": "A1"}')


def accept(run: AgentRun) -> Optional[str]:
    return None if run.output == "done" else "not done"


def data(run: AgentRun) -> None:
    action = AgentAction("lookup_stock", {"sku": "A1"}, "c17", "log", {"role": "assistant"}, 1)
    step = AgentStep(action, {"A1": 3}, status="ok")
    finish = AgentFinish({"any": "value"})
    picture = Image(b"...", media_type="image/jpeg")
    state: str = run.state
    finished: Optional[AgentFinish] = run.finish
    numbers: Tuple[int, Dict[str, int]] = (run.requests, run.usage)
    steps: List[AgentStep] = run.steps
    pending: List[AgentAction] = run.pending
    turns: List[AgentRun] = run.history
    print(
        step,
        finish,
        picture,
        state,
        finished,
        numbers,
        steps,
        pending,
        turns,
        run.started,
        run.output,
    )
    text: Dict[str, Any] = agentloop.to_json(run)
    print(agentloop.from_json(text))
    if action.call_id in run.started:
        run.close(action, "denied by the operator", "denied")
    again: AgentRun = run.follow_up(["and this?", picture])
    loaded: AgentRun = AgentRun.load("run.jsonl")
    print(again, loaded, AgentRun("task"))


def loops() -> None:
    run: AgentRun = agentloop.run(Model(), "How many A1?", [lookup_stock, plain])
    run = agentloop.run(
        finishing,
        run.follow_up("and B2?"),
        TOOLS,
        max_requests=3,
        accept=accept,
        journal="run.jsonl",
    )
    run = agentloop.run(acting, ["what is this?", Image(b"...")], (lookup_stock,))
    events: Iterator[object] = agentloop.stream(Model(), "How many A1?", [lookup_stock])
    for event in agentloop.stream(Model(), "How many A1?", TOOLS, max_requests=3):
        if isinstance(event, AgentStep):
            print(event.status, event.observation)
        elif isinstance(event, AgentAction):
            print(event.tool, event.tool_input)
        else:
            print(event.output, event.reason)
    print(events)


def models() -> None:
    heard: List[str] = []

    def key() -> str:
        return "a token that expires"

    def last(steps: List[AgentStep]) -> List[AgentStep]:
        return steps[-2:]

    chat = agentloop.OpenAIChat(
        "m",
        base_url="http://127.0.0.1:8080/v1",
        api_key=key,
        headers={"x-team": "a"},
        system="Be brief.",
        on_text=heard.append,
        timeout=30,
        retries=2,
        trim=8,
        max_observation=10_000,
        ssl_context=ssl.create_default_context(),
        transport=agentloop.http_transport,
        temperature=0,
    )
    responses = agentloop.OpenAIResponses("m", api_key="x", trim=last)
    claude = agentloop.AnthropicMessages("m", max_tokens=1000, cache=True)
    text = agentloop.ReActText(chat.complete, template=agentloop.REACT_TEMPLATE)
    scripted = agentloop.Scripted([AgentAction("plain", {"sku": "A1"}), AgentFinish("done")])
    try:
        for model in (chat, responses, claude, text, scripted):
            print(agentloop.run(model, "hello", TOOLS).output)
    except agentloop.ModelError as e:
        status: Optional[int] = e.status
        kind: str = e.kind
        print(kind, status)
    run = AgentRun("hello")
    body: Dict[str, Any] = chat.body(run, TOOLS)
    prompt: str = text.prompt(run, TOOLS)
    print(body, prompt, responses.body(run, TOOLS), claude.body(run, TOOLS), agentloop.__version__)
