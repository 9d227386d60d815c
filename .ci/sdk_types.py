"""Request bodies against the request types of both official SDKs.

    python sdk_types.py [BODIES.jsonl]      in a virtual environment with the packages openai and anthropic

Runs are played on a scripted transport with all that can come up in a conversation: pictures, unknown tools, bad
arguments, empty and cut replies, rejected answers, follow-ups, a call closed by hand, `trim`. What went out is checked
strictly, unknown keys refused. BODIES holds further bodies, one {"protocol", "body"} a line, from the test file say.
"""

import dataclasses
import enum
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, Optional, Tuple, Union

import anthropic.types as an
import openai.types.chat.completion_create_params as chat
import openai.types.responses.response_create_params as responses
from pydantic import TypeAdapter, ValidationError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
TYPES = {  # protocol: the type of a plain body, and of a streamed one
    "OpenAIChat": (chat.CompletionCreateParamsNonStreaming, chat.CompletionCreateParamsStreaming),
    "OpenAIResponses": (
        responses.ResponseCreateParamsNonStreaming,
        responses.ResponseCreateParamsStreaming,
    ),
    "AnthropicMessages": (
        an.message_create_params.MessageCreateParamsNonStreaming,
        an.message_create_params.MessageCreateParamsStreaming,
    ),
}
ADAPTERS = {kind: TypeAdapter(kind) for pair in TYPES.values() for kind in pair}


def walk(value):
    """Look at all of a validated value: pydantic checks what is iterable (messages, tools) only when it is read."""
    if isinstance(value, dict):
        for item in value.values():
            walk(item)
    elif hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        for item in value:
            walk(item)


def validate(protocol, body):
    body = by_design(json.loads(json.dumps(body)))
    streamed = bool(body.get("stream"))
    walk(ADAPTERS[TYPES[protocol][streamed]].validate_python(body, strict=True, extra="forbid"))


def by_design(body):
    """What we do otherwise than the types say, and why.

    - Responses: the types want the `id` of a reasoning item or message and the `status` of a message, since they are
      made from the types of replies. With `store: false` an id points nowhere, so none goes out. They also want the
      `detail` of a picture in a message, though not in a tool's output; the API has a default for both.
    - Chat Completions: what other servers put into a message (`reasoning_content` and the like) goes back to them.
    """
    for item in body.get("input", []) if isinstance(body.get("input"), list) else []:
        if item.get("type") == "reasoning":
            assert "id" not in item, item
            item["id"] = "rs_1"
        elif item.get("role") == "assistant" and isinstance(item.get("content"), list):
            assert "id" not in item and "status" not in item, item
            item.update(id="msg_1", status="completed")
        for part in item.get("content") if isinstance(item.get("content"), list) else []:
            if part.get("type") == "input_image":
                part.setdefault("detail", "auto")
    for message in body.get("messages", []):
        for key in ("reasoning_content", "reasoning", "reasoning_details"):
            message.pop(key, None)
        for call in message.get("tool_calls", []):
            call.pop("extra_content", None)
    return body


OURS = (
    "model messages input tools stream stream_options max_tokens system instructions store include"
)
SAID = {  # keys of what a server says, by type; the rest of it is the server's own affair
    "text": ("type", "text"),
    "tool_use": ("type", "id", "name", "input"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
}


def ours_alone(body):
    """The body without what tests put into it through the caller's fields or a server's invented words.

    Both go out as they came, whatever the types say; what is left is agentloop's doing.
    """
    body = {key: value for key, value in body.items() if key in OURS.split()}
    if "tools" in body:
        body["tools"] = [
            tool for tool in body["tools"] if tool.get("type", "function") == "function"
        ]
    for message in body.get("messages", []):
        if message["role"] != "assistant":
            continue
        content = message.get("content")
        if isinstance(content, list):
            known = [
                {k: part.get(k) for k in SAID[part["type"]]}
                for part in content
                if part.get("type") in SAID
            ]
            message["content"] = known if "max_tokens" in body else "said"
        for key in set(message) - {"role", "content", "tool_calls"}:
            del message[key]
        for call in message.get("tool_calls", []):
            function = {key: call["function"][key] for key in ("name", "arguments")}
            call.update(function=function)
            for key in set(call) - {"id", "type", "function"}:
                del call[key]
    if isinstance(body.get("input"), list):
        kept = ("message", "function_call", "function_call_output", "reasoning")
        body["input"] = [item for item in body["input"] if item.get("type") in kept]
        for item in body["input"]:
            if item.get("role") == "assistant":
                item["content"] = "said"
            elif item["type"] == "reasoning":
                item.pop("content", None)
    return body


def brief(error):
    """Of a union's many complaints those about the alternative that fits best."""
    branches = {}
    for fault in error.errors(include_url=False, include_context=False):
        loc = [str(part) for part in fault["loc"]]
        at = max([n for n, part in enumerate(loc) if part[:1].isupper()] or [0])
        line = ".".join(part if len(part) < 60 else "..." for part in loc)
        branches.setdefault(tuple(loc[: at + 1]), []).append("%s: %s" % (line, fault["msg"]))
    best = min(branches, key=lambda branch: (len(branch) < 3, len(branches[branch])))
    return "\n".join(branches[best][:5])


# -- tools of all sorts --------------------------------------------------------------------------


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Line:
    sku: str
    quantity: int = 1
    parts: Optional[List["Line"]] = None


def lookup(sku: Annotated[str, "the SKU"], where: Literal["north", "south"] = "north") -> dict:
    """Return the quantity that can be sold now."""
    return {"sku": sku, "there": 3, "note": "größer"}


def order(
    lines: List[Line], size: Size = Size.SMALL, point: Tuple[float, float] = (0.0, 0.0),
    notes: Optional[Dict[str, str]] = None, extra: Any = None, key: Union[int, str] = 0,
) -> str:  # fmt: skip
    """Order some lines."""
    return "ordered %d" % len(lines)


def picture() -> agentloop.Image:
    """Take a picture."""
    return agentloop.Image(PNG)


def pictures() -> list:
    """Take two pictures."""
    return ["front and back", agentloop.Image(PNG), agentloop.Image(PNG, "image/jpeg")]


def fail() -> str:
    """Fail."""
    raise OSError("no route")


def nothing() -> None:
    """Do nothing."""


@agentloop.tool(return_direct=True)
def answer(text: str) -> str:
    """Give the answer."""
    return text


FOREIGN = agentloop.Tool("ping", "Ping.", {"type": "object"}, lambda: "pong")
TOOLS = [lookup, order, picture, pictures, fail, nothing, answer, FOREIGN]
SCRIPT = [  # (text, [(tool, arguments as JSON text), ...], cut at the output limit)
    (
        "Let me look.",
        [
            ("lookup", '{"sku": "A1"}'),
            ("picture", "{}"),
            ("no_such_tool", "{}"),
            ("lookup", '{"sku": ["A1"]}'),
            ("lookup", '{"sku": "A1", '),
        ],
        False,
    ),
    ("", [("pictures", ""), ("fail", "{}"), ("nothing", "{}"), ("picture", "{}")], False),
    ("", [], False),
    ('<tool_call>{"name": "lookup", "arguments": {"sku": "A1"}}</tool_call>', [], False),
    ("<think>I call it.</think>[TOOL_CALLS]lookup", [], False),
    ("<think>Only a draft", [], False),
    ("", [("multi_tool_use.parallel", "{}"), ("python3 report.py --month 11", "{}")], False),
    ("Half an ans", [], True),
    ("", [("lookup", '{"sku": "A')], True),
    ("Done, I think.", [], False),
    ("", [("order", '{"lines": [{"sku": "A1", "parts": [{"sku": "B"}]}]}')], False),
    ("Done.", [], False),
]


def reply(protocol, text, calls, cut, number):
    """One reply in a protocol's own form; call ids repeat in every reply."""
    ids = ["call_%d" % n for n in range(len(calls))]
    if protocol == "OpenAIChat":
        message = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": name, "arguments": raw}}
                for i, (name, raw) in zip(ids, calls)
            ]
        reason = "length" if cut else "tool_calls" if calls else "stop"
        return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    if protocol == "OpenAIResponses":
        thought = {"type": "reasoning", "id": "rs_%d" % number, "summary": []}
        output = [dict(thought, encrypted_content="gAAAA%d" % number)]
        if text:
            part = {"type": "output_text", "text": text, "annotations": []}
            said = {"type": "message", "id": "msg_%d" % number, "role": "assistant"}
            output.append(dict(said, status="completed", content=[part]))
        for i, (name, raw) in zip(ids, calls):
            call = {"type": "function_call", "id": "fc_%s" % i, "call_id": i, "name": name}
            output.append(dict(call, arguments=raw, status="completed"))
        why = {"reason": "max_output_tokens"} if cut else None
        status = "incomplete" if cut else "completed"
        return {"object": "response", "status": status, "incomplete_details": why, "output": output}
    content = (
        [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}] if text or calls else []
    )
    content += [{"type": "text", "text": text}] if text else []
    for i, (name, raw) in zip(ids, calls):
        try:
            given = json.loads(raw or "{}")
        except ValueError:
            given = {}
        content.append({"type": "tool_use", "id": i, "name": name, "input": given})
    reason = "max_tokens" if cut else "tool_use" if calls else "end_turn"
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason}


def play(protocol, **settings):
    """Every body of a conversation of four turns."""
    sent, script = [], iter(SCRIPT * 4)

    def transport(method, url, headers, body, timeout):
        sent.append(json.loads(body if isinstance(body, (bytes, str)) else b"".join(body)))
        given = reply(protocol, *next(script), number=len(sent))
        return 200, {"content-type": "application/json"}, iter([json.dumps(given).encode()])

    model = getattr(agentloop, protocol)("m", api_key="x", transport=transport, **settings)
    tools = agentloop.registry(TOOLS)
    first = iter(["Not yet: nothing was ordered."])
    accept = lambda run: next(first, None)  # noqa: E731
    run = agentloop.run(model, "Look it up.", tools, accept=accept, max_requests=20)
    assert run.state == "succeeded", run
    statuses = {step.status for step in run.steps}
    assert statuses >= {
        "ok",
        "unknown_tool",
        "invalid_arguments",
        "tool_error",
        "invalid_response",
        "not_accepted",
    }
    run = run.follow_up(["What is this?", agentloop.Image(PNG)])
    stream = agentloop.stream(model, run, tools)
    next(stream)  # broken off with calls pending; one is closed by hand
    stream.close()
    run.close(run.pending[0], "denied by the operator", "denied")
    run = run.follow_up("And now?")
    agentloop.run(model, run, tools, max_requests=3)
    sent.append(model.body(run.follow_up("Still there?"), {}))
    # A run that another model made has no messages of this protocol.
    calls = [agentloop.AgentAction("lookup", {"sku": "A1"}), agentloop.AgentAction("picture", "{}")]
    other = agentloop.Scripted([calls, agentloop.AgentFinish("3 there.")])
    sent.append(model.body(agentloop.run(other, "Scripted.", tools).follow_up("More?"), tools))
    return sent


def main():
    bodies = []
    for protocol in TYPES:
        for settings in (
            {},
            {"on_text": lambda text: None},
            {"system": "Be brief.", "trim": 2},
            {"trim": lambda steps: steps[-1:]},
            {"cache": True, "system": "Be brief."},
        ):
            if "cache" not in settings or protocol == "AnthropicMessages":
                bodies += [(protocol, body) for body in play(protocol, **settings)]
    made = len(bodies)
    if len(sys.argv) > 1 and Path(sys.argv[1]).exists():
        with open(sys.argv[1], encoding="utf-8") as lines:
            bodies += [(row["protocol"], row["body"]) for row in map(json.loads, lines)]
    seen, failed, partly = set(), 0, 0
    for number, (protocol, body) in enumerate(bodies):
        try:
            try:
                validate(protocol, body)
            except ValidationError:
                if number < made:
                    raise
                validate(protocol, ours_alone(body))
                partly += 1
        except ValidationError as e:
            failed += 1
            if brief(e) not in seen and len(seen) < 20:
                text = json.dumps(body)[:1500]
                print("FAILED body %d, %s: %s\n%s" % (number, protocol, brief(e), text))
            seen.add(brief(e))
    told = (len(bodies) - failed, made, len(bodies) - made, partly, failed)
    print(
        "%d bodies valid (%d made here, %d from the tests; "
        "%d without what a caller or a server put in), %d not" % told
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
