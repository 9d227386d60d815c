"""Every public name, used as a user would and with hints: read by mypy --strict and pyright, never run."""

import ssl
from typing import Any, Dict, Generator, Iterator, List, Literal, Mapping, Optional, Tuple, Union

from typing_extensions import Never, assert_type

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


# So that an editor offers the loop's own words, while a caller's own word is one too.
Status = Union[
    Literal[
        "ok", "unknown_tool", "invalid_arguments", "tool_error", "duplicate_call",
        "invalid_response", "not_accepted", "unknown_outcome", "not_executed",
    ],
    str,
]  # fmt: skip


def never(value: Never) -> None:
    """Called where nothing can be left: a type checker says so if something is."""


def events() -> Generator[agentloop.Event, None, AgentRun]:
    """What `stream` yields is narrowed by isinstance, to the last kind; its return value is the run."""
    for event in agentloop.stream(Model(), "How many A1?", TOOLS):
        assert_type(event, Union[AgentAction, AgentStep, AgentFinish])
        if isinstance(event, AgentAction):
            assert_type(event.arguments, Optional[Dict[str, Any]])
            assert_type(event.request, int)
        elif isinstance(event, AgentStep):
            assert_type(event.action, AgentAction)
            assert_type(event.status, Status)
        elif isinstance(event, AgentFinish):
            assert_type(event.reason, Literal["stop", "refusal", "return_direct"])
        else:
            never(event)
    run = yield from agentloop.stream(Model(), "How many A1?", TOOLS)
    assert_type(run, AgentRun)
    assert_type(agentloop.run(Model(), run), AgentRun)
    return run


def closed_sets(run: AgentRun, finish: AgentFinish) -> str:
    """A slip in a state or a reason is found, and that all are dealt with."""
    if run.state == "runing":  # type: ignore[comparison-overlap]
        return "a slip"
    if finish.reason == "refused":  # type: ignore[comparison-overlap]
        return "a slip"
    AgentFinish("x", reason="done")  # type: ignore[arg-type]
    if run.state == "running":
        return "interrupted"
    elif run.state == "model_ended" or run.state == "succeeded":
        if finish.reason == "stop" or finish.reason == "return_direct":
            return "answered"
        elif finish.reason == "refusal":
            return "refused"
        else:
            never(finish.reason)
    elif run.state == "budget_exhausted":
        return "spent"
    else:
        never(run.state)
    return ""


def statuses(run: AgentRun) -> List[AgentStep]:
    """Those of the loop are known by name; a caller's own word is one too."""
    run.close(run.pending[0], "Nobody approved this call.", "denied")
    AgentStep(run.pending[0], "", status="unknown_outcome")
    AgentStep(run.pending[0], "", status=None)  # type: ignore[arg-type]
    return [step for step in run.steps if step.status in ("tool_error", "denied")]


def a_model(decision: agentloop.Decision) -> agentloop.Model:
    """The public names of types, for hints of one's own."""

    def decide(run: AgentRun, tools: Dict[str, Tool]) -> agentloop.Decision:
        if run.requests > 3:
            return AgentFinish("done")
        return [AgentAction("plain", {"sku": "A1"})] if run.steps else decision

    chosen: agentloop.Model = decide
    for model in (finishing, acting, agentloop.Scripted([]), agentloop.OpenAIChat("m")):
        chosen = model
    agentloop.run(len, "go")  # type: ignore[arg-type]
    return chosen


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
