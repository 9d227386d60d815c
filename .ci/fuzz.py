"""Throw generated replies, arguments and journals at agentloop.

Nothing may come of it but steps and the documented exceptions, and nothing may hang.

    python3 .ci/fuzz.py [CASES [SEED]]       1,000,000 cases take about an hour

Each case is one of the targets below with a seed of its own, which is printed with what went wrong; `fuzz.py 1 SEED`
plays it again. fuzz_atheris.py uses the targets that take bytes.
"""

import dataclasses
import enum
import functools
import json
import os
import random
import re
import sys
import tempfile
import time
import traceback
import unicodedata
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402
import test_agentloop  # noqa: E402

LIMIT = 1.0  # seconds that a case may take
FOLDER = tempfile.TemporaryDirectory(prefix="agentloop-fuzz-")


# -- tools --------------------------------------------------------------------------


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclasses.dataclass
class Node:
    name: str
    weight: float = 1.0
    children: Optional[List["Node"]] = None


def plain(a: int, b: str = "x", c: bool = False, d: Optional[float] = None) -> str:
    return "ok"


def nested(node: Node, colors: List[Color], pair: Tuple[int, str] = (1, "a")) -> Any:
    return node


def unions(
    x: Union[int, str, List[int], Dict[str, Node], None], y: Literal["a", 1, None] = None
) -> str:
    return "ok"


def loose(x: Any, seen: Optional[Set[int]] = None, **rest: float) -> str:
    return "ok"


def raising(kind: int) -> str:
    raise RAISED[kind % len(RAISED)]


RAISED = [
    ValueError("v"),
    KeyError(),
    StopIteration(1),
    RecursionError(),
    UnicodeDecodeError("u", b"", 0, 1, "\udc80"),
]
FOREIGN = agentloop.Tool(
    "foreign",
    "From elsewhere.",
    {"type": "object", "required": ["q"], "additionalProperties": False},
    lambda **kw: kw,
)
TOOLS = agentloop.registry([plain, nested, unions, loose, raising, FOREIGN])


# -- what is thrown --------------------------------------------------------------------------

# What the tests throw, a little of it each time, is thrown here without end.
test_agentloop._DEEP[:] = [50, 900]
WORDS, KEYS, value = test_agentloop._WORDS, test_agentloop._KEYS, test_agentloop._value
encoded, mutated = test_agentloop._dumped, test_agentloop._mutated
replaced = functools.partial(test_agentloop._replaced, odds=0.08)


CALL = {"id": "c1", "type": "function", "function": {"name": "plain", "arguments": '{"a": 1}'}}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
REPLIES = {
    "OpenAIChat": {
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hm.",
                    "tool_calls": [CALL, dict(CALL, id="c2")],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": USAGE,
    },
    "OpenAIResponses": {
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hm.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "f1",
                "call_id": "c1",
                "name": "plain",
                "arguments": '{"a": 1}',
            },
        ],
        "usage": {
            "input_tokens": 9,
            "output_tokens": 3,
            "input_tokens_details": {"cached_tokens": 4},
        },
    },
    "AnthropicMessages": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "x"},
            {"type": "text", "text": "Hm."},
            {"type": "tool_use", "id": "c1", "name": "plain", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 9, "output_tokens": 3},
    },
}
STREAMS = {
    "OpenAIChat": [
        {"choices": [{"delta": {"role": "assistant", "content": "Hm"}}]},
        {"choices": [{"delta": {"tool_calls": [dict(CALL, index=0)]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": USAGE},
    ],
    "OpenAIResponses": [
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hm."},
        {
            "type": "response.output_item.done",
            "output_index": 2,
            "item": REPLIES["OpenAIResponses"]["output"][2],
        },
        {"type": "response.completed", "response": REPLIES["OpenAIResponses"]},
    ],
    "AnthropicMessages": [
        {
            "type": "message_start",
            "message": dict(REPLIES["AnthropicMessages"], content=[], stop_reason=None),
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm."}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c1", "name": "plain"},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ],
}
PROTOCOLS = sorted(REPLIES)


def sample(protocol, streamed):
    """A sound reply as bytes."""
    if not streamed:
        return json.dumps(REPLIES[protocol]).encode()
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in STREAMS[protocol])


# -- targets --------------------------------------------------------------------------


def sound(run):
    """What holds of every run: it can be written, read, shown, and each step says what it is."""
    for step in run.steps:
        assert isinstance(step.status, str) and step.status, step
        for event in (step, step.action):
            line = str(event)
            odd = [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
            assert not odd, repr(line)
    text = json.dumps(agentloop.to_json(run), allow_nan=False)
    once = agentloop.to_json(agentloop.from_json(json.loads(text)))  # what was no JSON is text now
    assert agentloop.to_json(agentloop.from_json(once)) == once
    return run


def reply(data, protocol, streamed, status=200):
    """A server answers with these bytes; what is understood is executed, and the next body has to be sound JSON."""
    kind = "text/event-stream" if streamed else "application/json"

    def transport(method, url, headers, body, timeout):
        return status, {"content-type": kind}, iter([data[:7], data[7:]])

    on_text = (lambda text: None) if streamed else None
    model = getattr(agentloop, protocol)(
        "m", api_key="k", retries=0, on_text=on_text, transport=transport
    )
    try:
        run = sound(agentloop.run(model, "go", TOOLS, max_requests=2))
    except agentloop.ModelError as e:
        assert e.kind and str(e), e
        run = sound(e.agent_run)
    json.dumps(model.body(run.follow_up("more"), TOOLS), allow_nan=False).encode("utf-8")


def text(data):
    """A model that writes this text, read by ReActText."""
    model = agentloop.ReActText(lambda prompt: data)
    sound(agentloop.run(model, "go", TOOLS, max_requests=2))


def arguments(given, tool):
    """A tool is called with these arguments."""
    model = agentloop.Scripted([agentloop.AgentAction(tool, given), agentloop.AgentFinish("x")])
    run = sound(agentloop.run(model, "go", TOOLS, max_requests=2))
    assert len(run.steps) == 1 and run.state == "model_ended", run


def loop(rng):
    """A model that returns anything: steps, or a TypeError that carries the run."""

    def action():
        name = rng.choice([*TOOLS, "nope", "", None, 5, "\udc80"])
        call_id = rng.choice(["", "", "c1", "c2", None, 7, "\x00"])
        given = rng.choice(
            [value(rng), encoded(value(rng)), {"a": 1}, b"x", {1: 2}, (1,), {"x": {1, 2}}]
        )
        return agentloop.AgentAction(
            name, given, call_id, rng.choice(["", "so", None, 3]), value(rng)
        )

    def model(run, tools):
        kind = rng.random()
        if kind < 0.5:
            return [action() for _ in range(rng.randrange(1, 4))]
        if kind < 0.7:
            return action()
        if kind < 0.8:
            raise agentloop.InvalidResponse(rng.choice(["", "unreadable"]), value(rng))
        if kind < 0.9:
            return agentloop.AgentFinish(value(rng), rng.choice(["", "so"]))
        return rng.choice([None, 5, [], [None], {}, "x", object(), [agentloop.AgentFinish("x")]])

    try:
        run = agentloop.run(model, "go", TOOLS, max_requests=4)
    except TypeError as e:
        run = e.agent_run
    sound(run)


JOURNAL = []


def journal(data):
    """A file with these bytes: a run, or a ValueError that names the file."""
    path = os.path.join(FOLDER.name, "run.jsonl")
    with open(path, "wb") as f:
        f.write(data)
    for use in (
        agentloop.AgentRun.load,
        lambda p: agentloop.run(finishing, "go", TOOLS, journal=p),
    ):
        try:
            sound(use(path))
        except ValueError as e:
            assert path in str(e), e


def finishing(run, tools):
    return agentloop.AgentFinish("done")


def sample_journal():
    """The bytes of a journal with some of everything, and of each run another."""
    if not JOURNAL:
        path = os.path.join(FOLDER.name, "sample.jsonl")
        calls = [
            agentloop.AgentAction("plain", {"a": 1}),
            agentloop.AgentAction("loose", '{"x": 1}', message={"m": 1}),
        ]
        script = agentloop.Scripted(
            [calls, agentloop.AgentFinish("no"), agentloop.AgentFinish("done")]
        )
        refuse = iter(["not yet"])
        agentloop.run(script, "go", TOOLS, journal=path, accept=lambda run: next(refuse, None))
        # The clock is taken out, so that a seed plays the same case again.
        JOURNAL.append(
            re.sub(rb'"time": ?("[^"]*"|[0-9.]+)', b'"time": 0', Path(path).read_bytes())
        )
    return JOURNAL[0]


def case(seed):
    """Play one case."""
    rng = random.Random(seed)
    kind = rng.randrange(10)
    if kind < 3:
        given = value(rng)
        given = (
            given if isinstance(given, dict) or rng.random() < 0.3 else {rng.choice(KEYS): given}
        )
        if rng.random() < 0.5:
            given = mutated(rng, encoded(given).encode()).decode("utf-8", "replace")
        arguments(given, rng.choice(sorted(TOOLS)))
    elif kind < 6:
        protocol, streamed = rng.choice(PROTOCOLS), rng.random() < 0.5
        if rng.random() < 0.5:
            data = mutated(rng, sample(protocol, streamed))
        elif streamed:
            data = b"".join(
                b"data: %s\n\n" % encoded(replaced(rng, e)).encode() for e in STREAMS[protocol]
            )
        else:
            data = encoded(replaced(rng, REPLIES[protocol])).encode()
        reply(data, protocol, streamed, rng.choice([200] * 8 + [400, 500]))
    elif kind < 7:
        text(
            "".join(
                rng.choice(WORDS) + rng.choice(["", " ", "\n"]) for _ in range(rng.randrange(12))
            )
        )
    elif kind < 9:
        loop(rng)
    else:
        journal(mutated(rng, sample_journal()))


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    sleep, time.sleep = time.sleep, lambda seconds: None  # nothing here waits for anything
    bad = 0
    for seed in range(first, first + wanted):
        start = time.perf_counter()
        try:
            case(seed)
        except Exception:
            bad += 1
            if bad <= 10:
                print("seed %d:\n%s" % (seed, traceback.format_exc()[-3000:]))
        if time.perf_counter() - start > LIMIT:
            bad += 1
            print("seed %d took %.1f s" % (seed, time.perf_counter() - start))
    time.sleep = sleep
    print("%d cases from seed %d, %d wrong" % (wanted, first, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
