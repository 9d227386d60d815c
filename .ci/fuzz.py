"""Generated arguments, replies and journals: steps and the documented exceptions, nothing else.

    python fuzz.py [--cases N] [--seed S] [NAME ...]      in a virtual environment with hypothesis

N are the cases of each property. Without --seed they are the same in each run. A case that fails is
printed as hypothesis has shrunk it. fuzz_atheris.py plays the same properties, led by coverage.
"""

import argparse
import copy
import dataclasses
import enum
import functools
import json
import logging
import operator
import os
import re
import sys
import tempfile
import time
import traceback
import unicodedata
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union

import hypothesis
import hypothesis.configuration
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402
from agentloop import AgentAction, AgentFinish  # noqa: E402

SECONDS = 2  # of CPU time that a case may take; other programs run here too
FOLDER = tempfile.TemporaryDirectory(prefix="agentloop-fuzz-")


# -- tools ------------------------------------------------------------------------------------


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


class Odd(Exception):
    def __str__(self):
        raise ValueError("not even this")


def raising(kind: int) -> str:
    broken = UnicodeDecodeError("u", b"", 0, 1, "\udc80")
    errors = [ValueError("v"), KeyError(), StopIteration(1), RecursionError(), Odd(), broken]
    raise errors[kind % len(errors)]


SCHEMA = {"type": "object", "required": ["q"], "additionalProperties": False}
FOREIGN = agentloop.Tool("foreign", "From elsewhere.", SCHEMA, lambda **arguments: arguments)
TOOLS = agentloop.registry([plain, nested, unions, loose, raising, FOREIGN])
RIGHT = [
    ("plain", {"a": 1, "b": "x", "d": None}),
    ("nested", {"node": {"name": "n", "children": [{"name": "m"}]}, "colors": ["red", 2]}),
    ("unions", {"x": {"n": {"name": "n"}}, "y": "a"}),
    ("loose", {"x": [5], "seen": [1, 2], "more": 0.5}),
    ("raising", {"kind": 3}),
    ("foreign", {"q": 0}),
]


# -- what is generated ------------------------------------------------------------------------

WORDS = [
    "", " ", "a", "b", "x", "q", "name", "red", "RED", "true", "null", "5", "1.5", "NaN", "-0", "1e400",
    "9" * 30, "\ud800", "\x00", "\u2028", "\u00e9", "{}", "[]", '{"a": 1}', '{"a": 1', "<think>",
    "</think>", "```json\n{}\n```", "Thought: hm\n", "Action: plain\n", "Action Input: ", "\n",
    "Final Answer: ", "Observation: ", "None", "{'a': 1}", "functions.plain", "**Action:** plain",
    "Action Input\uff1a{", "plain", "nested",
]  # fmt: skip
KEYS = [
    "a", "b", "c", "d", "x", "y", "q", "node", "name", "weight", "children", "colors", "pair",
    "kind", "seen", "type", "content", "tool_calls", "id", "function", "arguments", "index", "delta",
    "message", "usage", "status",
]  # fmt: skip


def nest(levels, key):
    """nest(2, "a") == {"a": [{"a": [0]}]}, nest(2, "") == [[0]]"""
    tree = 0
    for _ in range(levels):
        tree = {key: [tree]} if key else [tree]
    return tree


def text_of(tree):
    """Its JSON text; the encoder itself gives up on what is too deep."""
    try:
        return json.dumps(tree)
    except RecursionError:
        return '{"a": ' * 900 + "1" + "}" * 900


words = st.sampled_from(WORDS)
texts = words | st.text(st.characters(exclude_categories=()), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words | texts
keys = st.sampled_from(KEYS)
small = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
deep = st.builds(nest, st.sampled_from([50, 900]), st.sampled_from(["", "children"]))
values = st.integers(0, 40).flatmap(lambda n: small if n else deep)  # deep ones are slow


pieces = st.binary(max_size=4) | words.map(lambda w: w.encode("utf-8", "surrogatepass"))
pieces |= small.map(lambda tree: text_of(tree).encode())
lengths, times = st.sampled_from([0, 1, 2, 8, 40, 1 << 16]), st.sampled_from([0, 1, 2, 30])
edits = st.lists(st.tuples(st.integers(0, 1 << 16), lengths, times, pieces), max_size=5)


def edited(data, edits):
    """Bytes with up to five places cut out, repeated, or with something put in."""
    for at, length, times, piece in edits:
        at %= len(data) + 1
        data = data[:at] + data[at : at + length] * times + piece + data[at + length :]
    return data


def damaged(data):
    return edits.map(lambda edits: edited(data, edits))


def places(tree, path=()):
    """The paths to all values in a tree: {"a": [5]} -> (), ("a",), ("a", 0)"""
    yield path
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*path, key))


changes = st.lists(st.tuples(st.integers(0, 1 << 16), values, st.booleans()), max_size=3)


def altered(tree):
    """The tree with up to three of its values left out or replaced by another."""
    paths = sorted(places(tree), key=len, reverse=True)

    def alter(changes):
        top = [copy.deepcopy(tree)]
        for number, value, left_out in changes:
            path = paths[number % len(paths)]
            try:
                *way, last = (0, *path)
                inside = functools.reduce(operator.getitem, way, top)
                inside[last] = value
                if left_out and path:
                    del inside[last]
            except (LookupError, TypeError):
                pass  # an earlier change has taken the place away
        return top[0]

    return changes.map(alter)


def as_text(data):
    return data.decode("utf-8", "replace")


# -- what holds of every run ------------------------------------------------------------------


def sound(run):
    """It can be shown, written and read, and each step says what it is."""
    for step in run.steps:
        assert isinstance(step.status, str) and step.status, step
    for event in [*run.steps, *(step.action for step in run.steps), run.finish]:
        line = str(event)
        odd = [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
        assert not odd, repr(line)
    text = json.dumps(agentloop.to_json(run), allow_nan=False)
    once = agentloop.to_json(agentloop.from_json(json.loads(text)))  # what was no JSON is text now
    assert agentloop.to_json(agentloop.from_json(once)) == once
    return run


def timed(function):
    @functools.wraps(function)
    def case(**given):
        start = time.process_time()
        function(**given)
        took = time.process_time() - start
        assert took < SECONDS, "%.1f s" % took

    return case


# -- arguments --------------------------------------------------------------------------------


def calls(right):
    """A tool, and arguments that are nearly right, anything, or a text that is nearly JSON."""
    tool, given = right
    objects = altered(given) | altered(given) | values
    nearly = st.builds(edited, objects.map(lambda tree: text_of(tree).encode()), edits).map(as_text)
    return st.tuples(st.just(tool), objects | objects.map(text_of) | nearly)


@given(st.one_of(*map(calls, RIGHT)))
@timed
def test_arguments(call):
    """Whatever the arguments are: one step, which keeps them."""
    sent = text_of(call[1])
    run = agentloop.run(agentloop.Scripted([AgentAction(*call), AgentFinish("x")]), "go", TOOLS)
    assert len(sound(run).steps) == 1 and run.state == "model_ended", run
    assert run.steps[0].status in ("ok", "invalid_arguments", "tool_error"), run.steps
    assert text_of(run.steps[0].action.tool_input) == sent, run.steps


st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
annotations = st.recursive(
    st.sampled_from([int, str, bool, float, Color, Node]),
    lambda inner: (
        st.builds(operator.getitem, st.sampled_from([List, Optional]), inner)
        | inner.map(lambda t: Dict[str, t])
        | st.tuples(inner, inner).map(lambda both: Tuple[both])
    ),
    max_leaves=4,
)


@given(annotations.flatmap(lambda t: st.tuples(st.just(t), st.from_type(t))))
@timed
def test_fitting_arguments(pair):
    """A value of a parameter's type, written as its schema says, arrives as it was."""
    got = []

    def take(value):
        got.append(value)

    def written(value):
        return value.value if isinstance(value, Color) else dataclasses.asdict(value)

    take.__annotations__ = {"value": pair[0]}
    call = AgentAction("take", {"value": json.loads(json.dumps(pair[1], default=written))})
    run = sound(agentloop.run(agentloop.Scripted([call, AgentFinish("x")]), "go", [take]))
    assert got == [pair[1]] and type(got[0]) is type(pair[1]), (got, run.steps)


# -- replies of any model ---------------------------------------------------------------------

actions = st.builds(
    AgentAction,
    st.sampled_from([*TOOLS, "nope", "", None, 5, "\udc80", ["x"]]),
    values | values.map(text_of) | st.sampled_from([{"a": 1}, b"x", {1: 2}, (1,), {"x": {1, 2}}]),
    st.sampled_from(["", "c1", "c2", None, 7, "\x00", ["x"]]),
    st.sampled_from(["", "so", None, 3]),
    values,
) | st.sampled_from(RIGHT).map(lambda call: AgentAction(*call))
finishes = st.builds(AgentFinish, values, st.sampled_from(["", "so"]))
invalid = st.builds(agentloop.InvalidResponse, st.sampled_from(["", "unreadable"]), values)
wrong = st.sampled_from([None, 5, [], [None], {}, "x", b"x", object(), [AgentFinish("x")]])
answers = st.lists(actions, min_size=1, max_size=3) | actions | finishes | invalid | wrong


@given(st.lists(answers, max_size=4))
@timed
def test_loop(replies):
    """A model that returns anything: steps, or a TypeError that carries the run."""
    left = iter(replies)

    def model(run, tools):
        reply = copy.copy(next(left, AgentFinish("x")))
        if isinstance(reply, Exception):
            raise reply
        return reply

    try:
        run = agentloop.run(model, "go", TOOLS, max_requests=4)
        assert (run.pending, run.started) == ([], []), run
    except TypeError as e:
        run = e.agent_run
    assert sound(run).requests <= 4, run


@given(st.lists(texts | small.map(text_of), max_size=12).map("".join)
       | damaged(b'Thought: so\nAction: plain\nAction Input: {"a": 1}\n').map(as_text))  # fmt: skip
@timed
def test_react(text):
    """Whatever a text model writes: a call, an answer, or an invalid response."""
    sound(agentloop.run(agentloop.ReActText(lambda prompt: text), "go", TOOLS, max_requests=2))


# -- replies of servers -----------------------------------------------------------------------

# fmt: off
CALL = {"id": "c1", "type": "function", "function": {"name": "plain", "arguments": '{"a": 1}'}}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
SPENT = {"input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}}
SAID = {"role": "assistant", "content": "Hm.", "tool_calls": [CALL, dict(CALL, id="c2")]}
ITEM = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "plain", "arguments": '{"a": 1}'}
RESPONSE = {"status": "completed", "usage": SPENT, "output": [
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
    {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
    ITEM,
]}
MESSAGE = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": SPENT, "content": [
    {"type": "thinking", "thinking": "Hm", "signature": "x"},
    {"type": "text", "text": "Hm."},
    {"type": "tool_use", "id": "c1", "name": "plain", "input": {"a": 1}},
]}
BLOCK = {"type": "content_block_start", "index": 0}
DELTA = {"type": "content_block_delta", "index": 0}
SOUND = {  # (protocol, streamed): the JSON texts that a server sends
    ("OpenAIChat", False): [{"choices": [{"message": SAID, "finish_reason": "tool_calls"}], "usage": USAGE}],
    ("OpenAIChat", True): [
        {"choices": [{"delta": {"role": "assistant", "content": "Hm"}}]},
        {"choices": [{"delta": {"tool_calls": [dict(CALL, index=0)]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": USAGE},
    ],
    ("OpenAIResponses", False): [RESPONSE],
    ("OpenAIResponses", True): [
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hm."},
        {"type": "response.output_item.done", "output_index": 2, "item": ITEM},
        {"type": "response.completed", "response": RESPONSE},
    ],
    ("AnthropicMessages", False): [MESSAGE],
    ("AnthropicMessages", True): [
        {"type": "message_start", "message": dict(MESSAGE, content=[], stop_reason=None)},
        dict(BLOCK, content_block={"type": "text", "text": ""}),
        dict(DELTA, delta={"type": "text_delta", "text": "Hm."}),
        dict(BLOCK, index=1, content_block={"type": "tool_use", "id": "c1", "name": "plain"}),
        dict(DELTA, index=1, delta={"type": "input_json_delta", "partial_json": '{"a": 1}'}),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": SPENT},
        {"type": "message_stop"},
    ],
}
# fmt: on


def replies_of(kind):
    def encoded(sent):
        line = "data: %s\n\n" if kind[1] else "%s"
        return b"".join((line % text_of(one)).encode() for one in sent)

    trees = altered(SOUND[kind]).map(lambda sent: sent if isinstance(sent, list) else [sent])
    return st.tuples(st.just(kind), damaged(encoded(SOUND[kind])) | trees.map(encoded))


@given(
    st.one_of(*map(replies_of, SOUND)),
    st.sampled_from([200] * 8 + [400, 404, 429, 500]),
    st.sampled_from([None] * 6 + ["text/html", ""]),
    st.integers(0, 2000),
)
@timed
def test_replies(reply, status, content_type, cut):
    """Whatever a server sends: steps, or a ModelError that carries the run; the next body is sound."""
    (protocol, streamed), data = reply
    kind = "text/event-stream" if streamed else "application/json"
    sent, told = [], []

    def transport(method, url, headers, body, timeout):
        sent.append(body.decode("utf-8"))
        headers = {"content-type": kind if content_type is None else content_type}
        return status, headers, iter([data[:cut], data[cut:]])

    on_text = told.append if streamed else None
    settings = {"api_key": "k-secret", "retries": 0, "transport": transport, "on_text": on_text}
    model = getattr(agentloop, protocol)("m", **settings)
    try:
        run = agentloop.run(model, "go", TOOLS, max_requests=2)
    except agentloop.ModelError as e:
        run = e.agent_run
        assert e.kind and str(e) and "k-secret" not in str(e), e
    sound(run)
    assert all(isinstance(text, str) for text in told), told
    body = model.body(run.follow_up("more"), TOOLS)
    json.dumps(body, allow_nan=False).encode("utf-8")
    # What was said is sent again as it was; but a question without an answer takes up the next one.
    key = "input" if protocol == "OpenAIResponses" else "messages"
    said = [json.loads(text)[key] for text in sent]
    for earlier, later in [*zip(said, said[1:]), (said[-1][:-1], body[key])]:
        assert text_of(later[: len(earlier)]) == text_of(earlier), (earlier, later)


# -- journals ---------------------------------------------------------------------------------


def done(run, tools):
    return AgentFinish("done")


def sample_journal():
    """The bytes of a journal with some of everything, but without the clock's."""
    path = str(Path(FOLDER.name, "sample.jsonl"))
    calls = [AgentAction("plain", {"a": 1}), AgentAction("loose", '{"x": 1}', message={"m": 1})]
    model = agentloop.Scripted([calls, AgentFinish("no"), AgentFinish("done")])
    refusals = iter(["not yet"])
    agentloop.run(model, "go", TOOLS, journal=path, accept=lambda run: next(refusals, None))
    return re.sub(rb'"time": ?("[^"]*"|[0-9.]+)', b'"time": 0', Path(path).read_bytes())


def journals():
    """The sample with damaged bytes, or with lines altered, left out, doubled or in another order."""
    lines = sample_journal().splitlines(True)
    events = st.one_of(*(altered(json.loads(line)) for line in lines))
    new = st.sampled_from(lines) | events.map(lambda event: text_of(event).encode() + b"\n")
    moves = st.tuples(st.integers(0, len(lines)), st.integers(0, 2), st.lists(new, max_size=2))

    def move(lines, move):
        at, length, put_in = move
        return lines[:at] + put_in + lines[at + length :]

    moved = st.lists(moves, max_size=2).map(lambda moves: functools.reduce(move, moves, lines))
    return damaged(b"".join(lines)) | moved.map(b"".join)


@given(st.deferred(journals))
@timed
def test_journals(data):
    """Whatever is in the file: a run, or a ValueError that names the file and a line."""
    path = str(Path(FOLDER.name, "run.jsonl"))
    for use in (agentloop.AgentRun.load, lambda p: agentloop.run(done, "go", TOOLS, journal=p)):
        Path(path).write_bytes(data)
        try:
            sound(use(path))
        except ValueError as e:
            assert path in str(e) and re.search(r"line \d", str(e).replace(path, "")), e


# -- the run ----------------------------------------------------------------------------------

hypothesis.configuration.set_hypothesis_home_dir(FOLDER.name)
PROPERTIES = {name: test for name, test in list(globals().items()) if name.startswith("test_")}
time.sleep = os.fsync = lambda _: None  # nothing here waits for anything
logging.getLogger("agentloop").setLevel(logging.CRITICAL)  # servers are wrong all the time here


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROPERTIES))
    options = parser.parse_args()
    settings = hypothesis.settings(
        max_examples=options.cases, derandomize=options.seed is None, database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    failed = []
    for name in options.names or PROPERTIES:
        play = settings(PROPERTIES[name])
        try:
            (play if options.seed is None else hypothesis.seed(options.seed)(play))()
        except Exception:
            failed.append(name)
            traceback.print_exc(limit=-5, file=sys.stdout)
    counts = (len(options.names or PROPERTIES), options.cases, ", ".join(failed) or "none")
    print("%d properties, up to %d cases each, wrong: %s" % counts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
