# SPDX-License-Identifier: MIT
"""agentloop: any language model and a few Python functions become an agent. One file, no dependencies.

The model proposes calls, the loop checks and executes them, what came of it goes back to the model, until the model
finishes or its budget of requests is spent. Copy this file into a project and import it. Ten lines that run offline:

    import agentloop

    def lookup_stock(sku: str) -> int:
        "Return the quantity that can be sold now."
        return {"A1": 3}.get(sku, 0)

    model = agentloop.Scripted([agentloop.AgentAction("lookup_stock", {"sku": "A1"}), agentloop.AgentFinish("3 left")])
    for event in agentloop.stream(model, "How many A1 can we sell?", [lookup_stock], max_requests=5):
        print(event)    # lookup_stock(sku="A1"), then its step, then the finish
    assert str(event) == "finish: 3 left"

Put `OpenAIChat("model-name")` in place of `Scripted` and the same loop runs on a real server.

Vocabulary, used alike in code, messages and documentation:

    request      one call of the model                      the budget counts these
    reply        what the model answered to it              calls, or a finish, or something unreadable
    action       a call the model proposed; nothing ran     AgentAction("lookup_stock", {"sku": "A1"})
    observation  what came of an action                     3
    step         an action and its observation              AgentStep(action, 3, "ok")
    finish       the model's claim to be done               AgentFinish("3 left")
    run          the whole state of one task                AgentRun("How many A1 can we sell?")
    budget       how many requests a run may make           max_requests=5

Sections, each to be understood with those above it alone, and to be cut off from the bottom up: errors, data, tools,
loop, journal, models, command line.

Copyright (c) 2026 the agentloop authors. MIT licence:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
# A Python that is too old stops at this line with a SyntaxError that shows it (subtle: no later check could run).
(PYTHON := "agentloop needs Python 3.8 or newer")

import base64
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import json
import os
import re
import sys
import time
import typing
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Dict, Generator, Iterable, Iterator, List, NamedTuple, NoReturn
from typing import Optional, Sequence, Set, Tuple, Union

__version__ = "1.0.0"
__all__ = [
    "run", "stream", "tool", "registry", "Tool",
    "AgentAction", "AgentStep", "AgentFinish", "AgentRun", "Image", "to_json", "from_json",
    "InvalidResponse", "ModelError",
    "Scripted", "ReActText", "REACT_TEMPLATE", "OpenAIChat", "OpenAIResponses", "AnthropicMessages", "http_transport",
]  # fmt: skip


# == errors ============================================================================================================


class InvalidResponse(Exception):
    """A reply that a model could not read; the loop records an `invalid_response` step and goes on.

    `observation` (str) is what the model is told; empty: nothing is said, its message is just continued. `message` (any
    JSON) is the reply as it came, `log` the text in it. Raised by models, caught by the loop: callers never see it.
    """

    type: ClassVar[str] = "InvalidResponse"

    def __init__(self, observation: str, message: Any = None, log: str = "") -> None:
        super().__init__(observation)
        self.observation, self.message, self.log = observation, message, log


class ModelError(Exception):
    """A request that a server refused or could not answer, after the last retry. The run so far is in `agent_run`.

    `kind` (str): auth, rate_limit, context_length, bad_request, server, timeout, connection or bad_response. `status`
    (int or None): of the HTTP reply. The text has the server's words, the URL and the setting to look at. Going on
    with `agent_run` runs no tool a second time.
    """

    def __init__(self, text: str, kind: str = "server", status: Optional[int] = None) -> None:
        super().__init__(text)
        self.kind, self.status = kind, status


# == data ==============================================================================================================

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SCALARS = (str, int, float, bool, type(None))


def _line(text: str, most: int = 200) -> str:
    """One printable line of at most about `most` characters; letters of every script stay as they are."""
    text = text if len(text) <= most else text[:most] + " ..."
    return _CONTROL.sub(lambda c: c.group().encode("unicode_escape").decode("ascii"), text)


def _cut(text: str, most: int) -> str:
    """The text, its middle left out where it has more than `most` characters."""
    if len(text) <= most:
        return text
    head, tail = most - most // 3, len(text) - most // 3
    gap = "\n[... characters %d to %d of %d are missing ...]\n" % (head + 1, tail, len(text))
    return text[:head] + gap + text[tail:]


def _shown(value: Any) -> str:
    """str() of anything, also where that raises."""
    try:
        return str(value)
    except Exception as e:
        return "<%s that cannot be shown: %s>" % (type(value).__name__, type(e).__name__)


def _jsonable(value: Any) -> Any:
    """Something closer to JSON for what json.dumps does not know; in the end its text."""
    if getattr(value, "type", None) == "Image":
        return "[picture: %s, %d bytes]" % (value.media_type, len(value.data))
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return repr(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=_shown)  # a set has no order of its own: the text must not depend on chance
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return _shown(value)


def _text(value: Any) -> str:
    """The text that a model is shown for a value: a str as it is, else JSON with non-ASCII kept, else its str()."""
    if isinstance(value, (str, bytes, bytearray)) or getattr(value, "type", None) == "Image":
        return str(value) if isinstance(value, str) else str(_jsonable(value))
    if isinstance(value, list) and _images(value):
        return "\n".join(map(_text, value))
    try:
        text = json.dumps(value, ensure_ascii=False, default=_jsonable)
    except (TypeError, ValueError, RecursionError):  # keys that are no str, a circle, too deep
        return _shown(value)
    return text if isinstance(value, (dict, list, tuple) + _SCALARS) or text[:1] != '"' else str(json.loads(text))


def _images(value: Any) -> List["Image"]:
    """The pictures in an observation or a task: an Image, or those in a list."""
    found = value if isinstance(value, list) else [value]
    return [v for v in found if getattr(v, "type", None) == "Image"]


def _is_plain(value: Any, depth: int = 100) -> bool:
    """True for what comes back from JSON as it went: exact types, finite numbers, not too deep."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(value.bit_length() < 10000)  # Python refuses to write longer ones
    if kind is float:
        return bool(value - value == 0)
    if kind is list:
        return depth > 0 and all(_is_plain(v, depth - 1) for v in value)
    return kind is dict and depth > 0 and all(type(k) is str and _is_plain(v, depth - 1) for k, v in value.items())


@dataclass
class Image:
    """A picture, in a task or in what a tool returns. `data`: the file's bytes."""

    type: ClassVar[str] = "Image"
    data: bytes
    media_type: str = "image/png"

    def __repr__(self) -> str:
        return "Image(<%d bytes>, %r)" % (len(self.data), self.media_type)


@dataclass
class AgentAction:
    """A call that the model proposed. Nothing has run.

    `tool_input`: a dict, or a str with the JSON text as it came. `log`: the text beside the call. `message`: the
    assistant message it came in, untouched, one object for all actions of a reply. `request`: the number, within the
    turn, of the request that gave it, from 1; the loop fills it in, and `call_id` where it is empty.
    """

    type: ClassVar[str] = "AgentAction"
    tool: str
    tool_input: Any
    call_id: str = ""
    log: str = ""
    message: Any = None
    request: int = 0

    def __str__(self) -> str:
        given = self.tool_input
        if isinstance(given, dict):
            given = ", ".join("%s=%s" % (k, json.dumps(v) if v is True else _quoted(v)) for k, v in given.items())
        return "%s(%s)" % (_line(self.tool, 64), _line(_text(given), 120))


@dataclass
class AgentStep:
    """An action and what came of it. `observation` is the tool's own return value, or a text where it did not run.

    `status`: ok, unknown_tool, invalid_arguments, tool_error, duplicate_call, invalid_response, not_accepted,
    unknown_outcome, not_executed, or the word that a caller gave to `AgentRun.close`. The action of an
    invalid_response and a not_accepted step has an empty `tool` and `call_id`.
    """

    type: ClassVar[str] = "AgentStep"
    action: AgentAction
    observation: Any
    status: str = "ok"

    def __str__(self) -> str:
        name = str(self.action) if self.action.call_id else "reply"
        return "%s -> %s: %s" % (name, _line(self.status, 40), _line(_text(self.observation), 120))


@dataclass
class AgentFinish:
    """The model's claim to be done. `output`: any value. `reason`: stop, refusal or return_direct."""

    type: ClassVar[str] = "AgentFinish"
    output: Any
    log: str = ""
    message: Any = None
    reason: str = "stop"

    def __str__(self) -> str:
        word = "finish" if self.reason == "stop" else "finish (%s)" % _line(self.reason, 40)
        return "%s: %s" % (word, _line(_text(self.output), 240))


@dataclass
class AgentRun:
    """The whole state of one run; one turn of a conversation.

    `task`: str, or a list of str and Image. `pending`: actions proposed and not done, in order; `started`: the call ids
    among them whose execution has begun. `state`: running (also where the caller broke off), model_ended, succeeded
    or budget_exhausted. `usage`: token counts, summed: input_tokens (the whole input), output_tokens, cached_tokens (the
    part of the input read from a cache). `history`: the earlier turns, oldest first, as AgentRuns with an empty history
    of their own; a plain list, which the caller may shorten or replace.
    """

    type: ClassVar[str] = "AgentRun"
    task: Any
    steps: List[AgentStep] = field(default_factory=list)
    pending: List[AgentAction] = field(default_factory=list)
    started: List[str] = field(default_factory=list)
    finish: Optional[AgentFinish] = None
    state: str = "running"
    requests: int = 0
    usage: Dict[str, int] = field(default_factory=dict)
    history: List["AgentRun"] = field(default_factory=list)

    @property
    def output(self) -> Any:
        """The finish's output, or None where there is no finish."""
        return self.finish.output if self.finish else None

    def close(self, action: AgentAction, observation: Any, status: str) -> AgentStep:
        """End a pending action without running it, or settle one that had been started. `status` is any word.

        Found by `call_id`; ValueError where it is not pending. May be called while a stream is suspended: the loop
        records and yields the step before it goes on.
        """
        same = [a for a in self.pending if a is action] or [a for a in self.pending if a.call_id == action.call_id]
        if not same:
            raise ValueError("the call %r is not pending; run.pending has those that are" % action.call_id)
        if not isinstance(status, str) or not status:
            raise ValueError("status is one word that says what came of it, such as 'denied'; got %r" % (status,))
        return self._add(AgentStep(same[0], observation, status))

    def follow_up(self, task: Any) -> "AgentRun":
        """The next turn of this conversation, with a budget of its own; works on any run.

        What was pending is closed first: `not_executed`, or `unknown_outcome` where it had been started. RuntimeError
        while a stream holds the run.
        """
        if "_held" in self.__dict__:
            raise RuntimeError("a stream holds this run: exhaust or close it before the next turn")
        _check_task(task)
        for action in list(self.pending):
            begun = action.call_id in self.started
            self.close(action, _UNKNOWN if begun else "This call was not executed.", "unknown_outcome" if begun else "not_executed")
        turn = AgentRun(task, history=self.history + [dataclasses.replace(self, history=[])])
        if "_wire" in self.__dict__:
            turn.__dict__["_wire"] = self.__dict__["_wire"]  # what adapters have encoded of it: see models
        return turn

    @staticmethod
    def load(path: Union[str, "os.PathLike[str]"]) -> "AgentRun":
        """The last turn in a journal, its earlier turns as history. Reads only, needs no lock.

        ValueError with path and line where the file is damaged or newer than this version, and for a run not begun.
        """
        return _load(path)

    def _add(self, step: AgentStep) -> AgentStep:
        """Record a step; its action is pending no longer."""
        for at, action in enumerate(self.pending):
            if action is step.action:
                del self.pending[at]
                if step.action.call_id in self.started:
                    self.started.remove(step.action.call_id)
                break
        self.steps.append(step)
        return step

    def __getstate__(self) -> Dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k[0] != "_"}  # a copy is not held, and encodes anew


_UNKNOWN = (
    "It is not known whether this call took effect: the run was interrupted while it was under way. "
    "Find out before you repeat it."
)


def _quoted(value: Any, most: int = 60) -> str:
    """A short piece of a value, for a message."""
    return _line(json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _text(value), most)


def _check_task(task: Any) -> None:
    parts = [task] if isinstance(task, str) else task
    if not isinstance(parts, list) or not parts or len(_images(parts)) < sum(not isinstance(p, str) for p in parts):
        raise TypeError("a task is a str, a list of str and Image, or an AgentRun to go on with; got %s" % _quoted(task))


_PARTS = ("action", "steps", "pending", "finish", "history")  # fields that hold our own objects


def _pack(name: str, value: Any) -> Dict[str, Any]:
    """The entries of a JSON object that hold a value of any kind: itself, its pictures, or the text a model is shown."""
    if _is_plain(value):
        return {name: value}
    if isinstance(value, list) and _images(value):
        return {name + "_images": [to_json(v) if _images(v) else _pack("value", v) for v in value]}
    if _images(value):
        return {name + "_images": to_json(value)}
    return {name: _text(value), name + "_as_text": True}


def _unpack(found: Dict[str, Any], name: str) -> Any:
    """What `_pack` packed."""
    if name + "_images" not in found:
        return found[name]
    value = found[name + "_images"]
    if isinstance(value, list):
        return [from_json(v) if v.get("type") == "Image" else v["value"] for v in value]
    return from_json(value)


def to_json(x: Any) -> Dict[str, Any]:
    """An action, step, finish, run or Image as a JSON object with a `type` field.

    An observation or output that is not plain JSON is written as the text that a model is shown, and marked so.
    """
    kind = getattr(x, "type", None)
    if kind == "Image":
        return {"type": kind, "media_type": x.media_type, "data": base64.b64encode(x.data).decode("ascii")}
    if kind not in _CLASSES:
        raise TypeError("to_json takes %s; got %s" % (", ".join(_CLASSES), type(x).__name__))
    found: Dict[str, Any] = {"type": kind}
    for f in dataclasses.fields(x):
        value = getattr(x, f.name)
        if f.name not in _PARTS:
            found.update(_pack(f.name, value))
        else:
            found[f.name] = [to_json(v) for v in value] if isinstance(value, list) else value and to_json(value)
    return found


def from_json(d: Dict[str, Any]) -> Any:
    """The object that `to_json` wrote; ValueError for anything else."""
    try:
        if d["type"] == "Image":
            return Image(base64.b64decode(d["data"]), d["media_type"])
        kind, found = _CLASSES[d["type"]], {}
        for f in dataclasses.fields(kind):
            if f.name not in _PARTS:
                found[f.name] = _unpack(d, f.name)
            else:
                value = d[f.name]
                found[f.name] = [from_json(v) for v in value] if isinstance(value, list) else value and from_json(value)
    except (KeyError, TypeError, AttributeError, ValueError) as e:
        raise ValueError("not what to_json wrote (%s: %s): %s" % (type(e).__name__, e, _quoted(d))) from None
    return kind(**found)


_CLASSES: Dict[str, Any] = {c.type: c for c in (AgentAction, AgentStep, AgentFinish, AgentRun, Image)}


# == tools =============================================================================================================

_MOST_ITEMS = 10_000  # of a generator that a tool returned
_FINAL = frozenset((str, int, float, bool, type(None), list, dict, tuple))  # never awaited


@dataclass
class Tool:
    """A function that a model may call. `parameters` is a JSON Schema object; `registry` makes Tools of functions.

    Made by hand, from a foreign schema say, it is called as `function(**arguments)`: the loop checks only that the
    arguments are an object, hold what `required` names and, where `additionalProperties` is false, nothing else.

    `return_direct`: its observation ends the run, where it was the reply's only call. `read_only`: it changes nothing;
    such calls of one reply run at the same time, and again after an interruption. `idempotent`: doing it twice is
    doing it once; it too runs again after an interruption.
    """

    type: ClassVar[str] = "Tool"
    name: str
    description: str
    parameters: Dict[str, Any]
    function: Callable[..., Any]
    return_direct: bool = False
    read_only: bool = False
    idempotent: bool = False
    convert: Optional[Callable[..., Any]] = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.replace("-", "_").isidentifier() or len(self.name) > 64:
            raise ValueError("%r is no tool name: a Python identifier of at most 64 characters, or with '-'" % (self.name,))
        if not isinstance(self.parameters, dict) or not callable(self.function):
            raise TypeError("tool %r: parameters must be a dict and function callable" % self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def bind(self, arguments: Dict[str, Any], action: AgentAction, run: AgentRun) -> Any:
        """The (args, kwargs) to call the function with, or a str that says all that is wrong with the arguments."""
        if self.convert:
            return self.convert(arguments, action, run)
        where, names = _Faults("args", []), self.parameters.get("properties") or {}
        for name in self.parameters.get("required") or []:
            if name not in arguments:
                where.at(name).add("missing")
        if self.parameters.get("additionalProperties") is False:
            for name in arguments:
                if name not in names:
                    where.at(name).add("unknown name" + _closest(name, names))
        return "; ".join(where.found) or ((), arguments)


class _Mismatch(Exception):
    """A value does not fit. Says no more, so that it costs nothing: what is wrong is worked out after a failure."""


class _Faults:
    """Where one looks in the arguments, and what was found wrong so far. Only made after a failure."""

    def __init__(self, path: str, found: List[str]) -> None:
        self.path, self.found = path, found

    def at(self, key: Any) -> "_Faults":
        if isinstance(key, int):
            return _Faults("%s[%d]" % (self.path, key), self.found)
        part = "." + key if key.isidentifier() else '["%s"]' % _line(key.replace('"', "'"), 40)
        return _Faults(self.path + part, self.found)

    def add(self, text: str) -> None:
        self.found.append("%s: %s" % (self.path, text))


def _fail(where: Optional[_Faults], expected: str, value: Any, mend: str = "") -> None:
    """The one way to say that a value does not fit: in passing, or with path, expectation and mend."""
    if where is None:
        raise _Mismatch
    where.add("expected %s, got %s%s" % (expected, _quoted(value), mend))


def _closest(name: str, names: Iterable[str]) -> str:
    import difflib

    known = list(map(str, names))
    near = difflib.get_close_matches(name[:200], known, 1, 0.6) or [k for k in known if k.lower() == name.lower()]
    listed = "; known: " + ", ".join(known[:50]) if known else ""
    return (', did you mean "%s"?' % near[0] if near else "") + listed


def _refuse(constant: str) -> NoReturn:
    raise ValueError("%s is not JSON" % constant)


_loads = json.JSONDecoder(parse_constant=_refuse).decode


def _decoded(value: Any, kind: type, strict: bool) -> Any:
    """A list or dict that came as JSON text; anything else as it is."""
    if type(value) is str and not strict and value.lstrip()[:1] == ("[" if kind is list else "{"):
        try:
            found = _loads(value)
        except (ValueError, RecursionError):
            return value
        return found if type(found) is kind else value
    return value


# Converters: convert(value, strict, where) gives the value as the annotated Python type. `strict` takes only what needs no
# respelling (a union tries that first). `where` is None in passing, when a fault raises _Mismatch at once; with a `_Faults`
# each fault is noted and the walk goes on.


def _integer(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is int:
        return v
    if not strict:
        if type(v) is float and v.is_integer():
            return int(v)
        if type(v) is str and len(v) < 1000 and re.match(r"\s*[+-]?[0-9]+\s*\Z", v):
            return int(v)
    return _fail(where, "integer", v)


_DECIMAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z")


def _number(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is int and not strict or type(v) is str and not strict and _DECIMAL.match(v):
        try:
            v = float(v)
        except OverflowError:
            pass
    return v if type(v) is float and v - v == 0 else _fail(where, "number", v)


def _boolean(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is bool:
        return v
    if not strict:
        if type(v) is int and v in (0, 1):
            return v == 1
        if type(v) is str and v.strip().lower() in ("true", "false"):
            return v.strip().lower() == "true"
    return _fail(where, "boolean", v)


def _string(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is str:
        return v
    if type(v) is int and not strict and v.bit_length() < 10000:
        return str(v)
    return _fail(where, "string", v)


def _null(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if v is None or not strict and type(v) is str and v.strip().lower() in ("null", "none"):
        return None
    return _fail(where, "null", v)


def _anything(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    return v


class _Type:
    """What the walk gives for an annotation: schema, converter, and the description from an Annotated."""

    def __init__(self, schema: Dict[str, Any], convert: Callable[..., Any], text: str = "", item: Any = None) -> None:
        self.schema, self.convert, self.text = schema, convert, text
        self.exact = item  # the Python type whose values need no conversion, where there is one


# "Any value" is spelled out: an empty schema means "object only" to some grammar converters, and a description without a
# type is refused by others (llama.cpp issue 19716).
_WORDS: List[Dict[str, Any]] = [{"type": t} for t in ("string", "number", "boolean", "object")]
_ANY_VALUE: Dict[str, Any] = {
    "anyOf": _WORDS + [{"type": "array", "items": {"anyOf": _WORDS + [{"type": "null"}]}}, {"type": "null"}]
}
_ANY = _Type(_ANY_VALUE, _anything)
_NULL = _Type({"type": "null"}, _null, item=type(None))
_SIMPLE = {
    bool: _Type({"type": "boolean"}, _boolean, item=bool),
    int: _Type({"type": "integer"}, _integer, item=int),
    float: _Type({"type": "number"}, _number),
    str: _Type({"type": "string"}, _string, item=str),
    type(None): _NULL,
    None: _NULL,
}


def _iso_datetime(text: str) -> str:
    """ISO 8601 in the one form that datetime.fromisoformat takes on every Python."""
    m = re.match(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)?)?\Z", text)
    if not m:
        raise ValueError(text)
    day, minute, second, part, zone = (g or "" for g in m.groups())
    second, part = second or ":00", part and part.ljust(7, "0")
    return "%sT%s%s%s%s" % (day, minute or "00:00", second, part, "+00:00" if zone in ("Z", "z") else zone)


# Types written as text, by name, so that their modules are not imported here: what is asked, format, text to constructor.
_WRITTEN: Dict[str, Tuple[str, str, Callable[[Any, str], Any]]] = {
    "datetime.date": ("date like 2024-01-31", "date", lambda t, s: t.fromisoformat(re.match(r"[0-9-]{10}\Z", s) and s)),
    "datetime.datetime": ("date-time like 2024-01-31T09:30:00Z", "date-time", lambda t, s: t.fromisoformat(_iso_datetime(s))),
    "uuid.UUID": ("UUID", "uuid", lambda t, s: t(s)),
    "pathlib.Path": ("string (a path)", "", lambda t, s: t(s)),
    "pathlib.PurePath": ("string (a path)", "", lambda t, s: t(s)),
}


def _full_name(t: Any) -> str:
    return "%s.%s" % (getattr(t, "__module__", "").split(".")[0], getattr(t, "__qualname__", ""))


def _written(t: Any) -> _Type:
    """A type whose JSON form is a text."""
    expected, form, parse = _WRITTEN[_full_name(t)]

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        if type(v) is str:
            try:
                return parse(t, v if strict else v.strip())
            except (ValueError, TypeError, AttributeError):
                pass
        return _fail(where, expected, v)

    return _Type({"type": "string", "format": form} if form else {"type": "string"}, convert)


def _decimal(t: Any) -> _Type:
    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        if type(v) in (int, float) or type(v) is str and not strict and _DECIMAL.match(v):
            found = t(v.strip() if type(v) is str else repr(v))  # never from the float itself: 0.1 stays 0.1
            if found.is_finite():
                return found
        return _fail(where, "number", v)

    return _Type({"type": "number"}, convert)


def _choice(members: List[Tuple[Any, Any]], names: Iterable[Tuple[str, Any]] = ()) -> _Type:
    """An enum or Literal: (JSON value, Python value) pairs, and names that stand for a value too."""
    exact = {(type(v), v): python for v, python in members}
    loose: Dict[str, List[Any]] = {}

    def spelled(v: Any) -> str:
        v = int(v) if type(v) is float and v.is_integer() else v
        return v.strip().casefold() if isinstance(v, str) else json.dumps(v) if isinstance(v, _SCALARS) else "[]"

    for value, python in list(members) + list(names):
        found = loose.setdefault(spelled(value), [])
        if not any(p is python for p in found):
            found.append(python)
    values = [v for v, _ in members]
    kinds = {type(v) for v in values}
    words = {str: "string", int: "integer", bool: "boolean", float: "number", type(None): "null"}
    schema: Dict[str, Any] = {"type": words[kinds.copy().pop()]} if len(kinds) == 1 else {}

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        try:
            return exact[type(v), v]
        except (KeyError, TypeError):
            found = [] if strict else loose.get(spelled(v), [])
        if len(found) == 1:  # a guess between two is never made
            return found[0]
        if where is None:
            raise _Mismatch
        near = _closest(v, map(str, values)).split("?")[0] + "?" if isinstance(v, str) else ""
        listed = ", ".join(json.dumps(x, ensure_ascii=False) for x in values[:50])
        return _fail(where, "one of " + listed, v, near if "did you" in near else "")

    return _Type(dict(schema, enum=values), convert)


def _listing(make: Optional[Callable[[Any], Any]], item: _Type, fixed: Optional[List[_Type]] = None) -> _Type:
    """A list, tuple or set. `fixed`: a type for each place of a tuple."""
    schema: Dict[str, Any] = {"type": "array", "items": item.schema}
    if fixed is not None:  # prefixItems without items is refused by two large providers
        schema.update(minItems=len(fixed), maxItems=len(fixed))
    one, exact = item.convert, {item.exact}

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        v = _decoded(v, list, strict)
        if type(v) is not list:
            if where is None:
                raise _Mismatch
            mend = " (text in brackets must be JSON)" if type(v) is str and v.lstrip()[:1] == "[" else ""
            mend = mend or "; for a single item write %s" % _quoted([v]) if isinstance(v, _SCALARS) else mend
            return _fail(where, "array", v, mend)
        if fixed is not None and len(v) != len(fixed):
            return _fail(where, "array of %d items" % len(fixed), v)
        if fixed is not None:
            found = [t.convert(x, strict, where and where.at(i)) for i, (t, x) in enumerate(zip(fixed, v))]
        elif where is None:
            found = v if exact.issuperset(map(type, v)) or one is _anything else [one(x, strict, None) for x in v]
        else:
            found = [one(x, strict, where.at(i)) for i, x in enumerate(v)]
        try:
            return make(found) if make else found
        except TypeError:  # what cannot be in a set
            return _fail(where, "array of items that can be in a set", v)

    return _Type(schema, convert)


def _mapping(key: _Type, value: _Type) -> _Type:
    schema: Dict[str, Any] = {"type": "object"}
    if "enum" in key.schema and key.schema.get("type") == "string":
        names = dict.fromkeys(key.schema["enum"], value.schema)
        schema.update(properties=names, required=[], additionalProperties=False)
    elif value is not _ANY:
        schema["additionalProperties"] = value.schema
    plain, one, exact = key.convert is _string, value.convert, {value.exact}

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        v = _decoded(v, dict, strict)
        if type(v) is not dict:
            text = type(v) is str and v.lstrip()[:1] == "{"
            return _fail(where, "object", v, " (text in braces must be JSON)" if text else "")
        if where is None and plain:
            if exact.issuperset(map(type, v.values())) or one is _anything:
                return v
            return {k: one(x, strict, None) for k, x in v.items()}
        found = {}
        for k, x in v.items():
            at = where and where.at(k)
            found[key.convert(k, False, at)] = one(x, strict, at)
        return found if len(found) == len(v) or where and where.found else _fail(where, "object with distinct keys", v)

    return _Type(schema, convert)


def _record(
    fields: Dict[str, _Type], required: Iterable[str], make: Optional[Callable[..., Any]] = None,
    rest: Optional[_Type] = None, order: Sequence[str] = (),
) -> _Type:  # fmt: skip
    """An object with named fields: a dataclass, TypedDict or NamedTuple (`order`: may come as a list), or all the
    parameters of a function (`rest`: what its **options take)."""
    needed, known = frozenset(required), fields.keys()
    table = {name: t.convert for name, t in fields.items()}
    may_skip = set()  # null for a field that may be left out, and takes no null, means "not given"
    for name in known - needed:
        if not _takes_null(fields[name]):
            may_skip.add(name)
    schema: Dict[str, Any] = {
        "type": "object",
        "properties": {name: t.schema for name, t in fields.items()},
        "required": [name for name in fields if name in needed],
        "additionalProperties": False if rest is None else True if rest is _ANY else rest.schema,
    }

    def explain(v: Dict[str, Any], strict: bool, where: _Faults) -> Dict[str, Any]:
        """What there is to convert, each fault noted: one visit to each child."""
        found = {}
        for name, x in v.items():
            if x is None and name in may_skip:
                continue
            if name in table or rest is not None:
                found[name] = table.get(name, rest and rest.convert)(x, strict, where.at(name))
            else:
                where.at(name).add("unknown name" + _closest(name, fields))
        for name in fields:
            if name in needed and name not in v:
                where.at(name).add("missing")
        return found

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        v = _decoded(v, dict, strict)
        if type(v) is list and order and len(v) <= len(order):
            v = dict(zip(order, v))
        if type(v) is not dict:
            return _fail(where, "object", v)
        if where is not None:
            before = len(where.found)
            found = explain(v, strict, where)
            if len(where.found) > before:
                return None
        elif rest is not None:
            if not needed <= v.keys():
                raise _Mismatch
            other = rest.convert
            found = {k: table.get(k, other)(x, strict, None) for k, x in v.items() if x is not None or k not in may_skip}
        else:
            if not needed <= v.keys() or not v.keys() <= known:  # before any child: an alternative fails early
                raise _Mismatch
            found = {k: table[k](x, strict, None) for k, x in v.items() if x is not None or k not in may_skip}
        if make is None:
            return found
        try:
            return make(**found)
        except Exception as e:  # what the class itself demands, in its __post_init__ say
            if where is None:
                raise _Mismatch from None
            return where.add(_shown(e) or type(e).__name__)

    return _Type(schema, convert)


def _union(alternatives: List[_Type], defs: Dict[str, Any]) -> _Type:
    """Every alternative is tried exactly before any is tried leniently."""

    def misfit(schema: Dict[str, Any], v: Any) -> int:
        """How far off a value is, seen at its first level only: 0 fits, 99 is of another kind."""
        schema = defs.get(schema.get("$ref", "")[len("#/$defs/") :], schema)
        if "enum" in schema:
            return 0 if v in schema["enum"] else 1 if isinstance(v, str) == (schema.get("type") == "string") else 99
        kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
        kind = kinds.get(schema.get("type", ""), dict if schema.get("type") == "object" else list)
        if not isinstance(v, kind) or type(v) is bool and kind is not bool:
            return 99
        names = schema.get("properties")
        if names is None or schema.get("additionalProperties") is not False:
            return 0
        wrong = [n for n in v if n not in names] + [n for n in schema["required"] if n not in v]
        return len(wrong) + sum("enum" in names[n] and v[n] not in names[n]["enum"] for n in v if n in names)

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        if where is None:
            for mode in (True,) if strict else (True, False):
                for t in alternatives:
                    try:
                        return t.convert(v, mode, None)
                    except _Mismatch:
                        pass
            raise _Mismatch
        v = _decoded(_decoded(v, list, strict), dict, strict)
        off = [misfit(t.schema, v) for t in alternatives]
        best = min(off)
        if best < 99 and off.count(best) == 1:
            return alternatives[off.index(best)].convert(v, strict, where)
        words = ["object" if "$ref" in t.schema else t.schema.get("type", "value") for t in alternatives]
        return _fail(where, " or ".join(dict.fromkeys(map(str, words))), v)

    return _Type({"anyOf": [t.schema for t in alternatives]}, convert)


_LISTS = {c: c.__name__ for c in (list, tuple, set, frozenset, dict)}
_ABSTRACT = {"Sequence": "list", "MutableSequence": "list", "Iterable": "list", "Collection": "list", "Set": "set",
             "MutableSet": "set", "Mapping": "dict", "MutableMapping": "dict"}  # fmt: skip


class _Walk:
    """One walk over the annotations of one tool: each gives its JSON Schema and its converter. No second place knows
    types. What cannot come from JSON is a TypeError that names the place."""

    def __init__(self, local_names: Dict[str, Any]) -> None:
        self.local_names = local_names
        self.defs: Dict[str, Callable[..., Any]] = {}  # the converters of recursive types, by name
        self.schemas: Dict[str, Any] = {}  # and their schemas
        self.open: List[Any] = []  # the named types under way, outermost first
        self.recursive: List[Tuple[Any, _Type]] = []  # those met again inside themselves, with what stands for them

    def hints(self, owner: Any) -> Dict[str, Any]:
        """The annotations, strings resolved, also against names local to the function that made the tool."""
        extras: Dict[str, Any] = {"include_extras": True} if sys.version_info >= (3, 9) else {}
        try:
            return typing.get_type_hints(owner, None, self.local_names, **extras)
        except Exception as e:
            name = getattr(owner, "__name__", owner)
            raise TypeError("cannot resolve the annotations of %s: %s: %s" % (name, type(e).__name__, e)) from e

    def of(self, hint: Any, place: str) -> _Type:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint is Any or hint is object or hint is inspect.Parameter.empty:
            return _ANY
        if isinstance(hint, (type, type(None))) and hint in _SIMPLE:
            return _SIMPLE[hint]
        if hasattr(hint, "__metadata__"):
            inner = self.of(hint.__origin__, place)
            text = next((m for m in hint.__metadata__ if isinstance(m, str)), "")
            return _Type(dict(inner.schema, description=text), inner.convert, text) if text else inner
        if getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly", "Final") or origin is typing.Final:
            return self.of(args[0], place)
        if isinstance(hint, dataclasses.InitVar):
            return self.of(hint.type, place)
        if hasattr(hint, "__supertype__"):
            return self.of(hint.__supertype__, place)
        if isinstance(hint, typing.TypeVar) and hint.__bound__ is not None:
            return self.of(hint.__bound__, place)
        if origin is Union or type(hint).__name__ == "UnionType":
            found = [self.of(a, place) for a in args]
            if any(t.schema is _ANY_VALUE for t in found):
                return _ANY
            # Before 3.11 get_type_hints wraps what has None as its default in one more Optional.
            found = [t for t in found if t is not _NULL or not any(_takes_null(o) for o in found if o is not _NULL)]
            return found[0] if len(found) == 1 else _union(found, self.schemas)
        if origin is typing.Literal:
            return _choice([(getattr(a, "value", a), a) for a in args])
        if isinstance(hint, enum.EnumMeta):
            members: List[Any] = list(hint)
            names = [(m.name, m) for m in members]
            plain = all(type(m.value) in _SCALARS for m in members)
            return _choice([(m.value, m) for m in members], names) if plain else _choice(names)
        container = _LISTS.get(origin or hint) if isinstance(origin or hint, type) else None
        if container is None and getattr(origin or hint, "__module__", "") in ("typing", "collections.abc"):
            container = _ABSTRACT.get(getattr(origin or hint, "__name__", "") or getattr(hint, "_name", ""))
        if container:
            return self.container(container, args, place)
        if _full_name(hint) in _WRITTEN:
            return _written(hint)
        if _full_name(hint) == "decimal.Decimal":
            return _decimal(hint)
        if hasattr(hint, "__value__") and not args:
            return self.named(hint, lambda: self.of(hint.__value__, place))
        if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, (dict, tuple))):
            if dataclasses.is_dataclass(hint) or hasattr(hint, "__total__") or hasattr(hint, "_fields"):
                return self.named(hint, lambda: self.record(hint, place))
        raise TypeError(
            "%s: %s has no JSON form; annotate it with a type that has one (str, int, a dataclass, ...)"
            % (place, getattr(hint, "__name__", None) if isinstance(hint, type) else hint)
        )

    def container(self, kind: str, args: Tuple[Any, ...], place: str) -> _Type:
        if kind == "dict":
            key, value = [self.of(a, place) for a in args] or (_SIMPLE[str], _ANY)
            if key is _ANY or key.schema.get("type") not in ("string", "integer"):
                key = _SIMPLE[str] if key is _ANY else key
                if key is not _SIMPLE[str]:
                    raise TypeError("%s: the keys of a JSON object are text; use str or int as the key type" % place)
            return _mapping(key, value)
        if kind == "tuple" and args and args[-1] is not Ellipsis:
            fixed = [] if args == ((),) else [self.of(a, place) for a in args]
            items = list({json.dumps(t.schema): t for t in fixed}.values())
            one = items[0] if len(items) == 1 else _union(items, self.schemas) if items else _ANY
            return _listing(tuple, one, fixed)
        make = {"list": None, "tuple": tuple, "set": set, "frozenset": frozenset}[kind]
        return _listing(make, self.of(args[0], place) if args else _ANY)

    def named(self, hint: Any, build: Callable[[], _Type]) -> _Type:
        """A type that may hold itself. Only where it does, it becomes a definition and a reference to it."""
        for known, reference in self.recursive:
            if known is hint:
                return reference
        if any(known is hint for known in self.open):
            name = hint.__name__ + ("%d" % len(self.defs) if hint.__name__ in self.defs else "")
            reference = _Type({"$ref": "#/$defs/" + name}, lambda v, strict, where: self.defs[name](v, strict, where))
            self.defs[name] = _integer  # until it is built: nothing that takes null
            self.recursive.append((hint, reference))
            return reference
        self.open.append(hint)
        found = build()
        self.open.pop()
        for known, reference in self.recursive:
            if known is hint:
                name = reference.schema["$ref"][len("#/$defs/") :]
                self.defs[name], self.schemas[name] = found.convert, found.schema
                return reference
        return found

    def record(self, hint: Any, place: str) -> _Type:
        """A dataclass, TypedDict or NamedTuple."""
        about = hint.__dict__.get("__doc__") or ""
        about, notes = ("", {}) if about.startswith(hint.__name__ + "(") else _docstring(about)
        if hasattr(hint, "__total__"):
            hints = self.hints(hint)
            always = getattr(hint, "__required_keys__", hints if hint.__total__ else ())
            marks = {n: getattr(typing.get_origin(h), "_name", "") for n, h in hints.items()}
            required = [n for n in hints if marks[n] == "Required" or n in always and marks[n] != "NotRequired"]
            fields = {n: self.of(h, "%s, key %r" % (place, n)) for n, h in hints.items()}
            found = _record({n: _described(t, notes.get(n)) for n, t in fields.items()}, required)
        else:
            parameters = list(inspect.signature(hint).parameters.values())
            hints = self.hints(hint)
            fields, required = self.fields(parameters, hints, notes, "%s, field" % place)
            order = [] if dataclasses.is_dataclass(hint) else list(fields)
            found = _record(fields, required, hint, order=order)
        return _Type(dict(found.schema, description=about), found.convert) if about else found

    def fields(
        self, parameters: List[inspect.Parameter], hints: Dict[str, Any], notes: Dict[str, str], place: str
    ) -> Tuple[Dict[str, _Type], List[str]]:
        """The type of each parameter, with its description and default in the schema, and the names of the required."""
        found, required = {}, []
        for p in parameters:
            kind = self.of(hints.get(p.name, p.annotation), "%s %r" % (place, p.name))
            if p.default is None and not _takes_null(kind):
                kind = _union([kind, _NULL], self.schemas)
            kind = _described(kind, notes.get(p.name))
            if p.default is p.empty:
                required.append(p.name)
            else:
                try:
                    sent = _as_sent(p.default)
                    kind.convert(sent, False, None)
                    kind = _Type(dict(kind.schema, default=sent), kind.convert, kind.text, kind.exact)
                except _Mismatch:
                    pass  # a default without a JSON form is left out; the parameter stays optional
            found[p.name] = kind
        return found, required


def _takes_null(kind: _Type) -> bool:
    try:
        return kind.convert(None, True, None) is None
    except _Mismatch:
        return False


def _described(kind: _Type, note: Optional[str]) -> _Type:
    """With the description from a docstring; one from Annotated wins, one from the type's own class does not."""
    if not note or kind.text:
        return kind
    return _Type(dict(kind.schema, description=note), kind.convert, kind.text, kind.exact)


def _as_sent(value: Any) -> Any:
    """A default as the JSON that the model would have sent; _Mismatch where it has none."""
    if isinstance(value, enum.Enum):
        return _as_sent(value.value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_as_sent(v) for v in (sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)]
    if type(value) is dict:
        return {k: _as_sent(v) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _as_sent(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    if _full_name(type(value)) in _WRITTEN or _full_name(type(value)).startswith("pathlib."):
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    if not _is_plain(value):
        raise _Mismatch
    return value


_HEADING = re.compile(
    "(Args|Arguments|Parameters|Params|Keyword Arg(?:ument)?s|Other Parameters|Attributes|\u53c2\u6570"
    "|Returns?|Yields?|Raises|Examples?|Notes?|References|See Also|Warnings?|Warns|Todo|\u8fd4\u56de|\u5f02\u5e38)"
    "[ \t]*[:\uff1a][ \t]*\\Z"
)
_ENTRY = re.compile("\\*{0,2}(\\w+)[ \t]*(?:\\(.*?\\))?[ \t]*[:\uff1a][ \t]*(.*)\\Z")
_FIELD = re.compile(r":(\w+)(?:[ \t]+([^:]*))?:[ \t]*(.*)\Z")
_OF_PARAMETERS = ("args", "arguments", "param", "keyword", "other parameters", "attributes", "\u53c2\u6570")


def _docstring(doc: Optional[str]) -> Tuple[str, Dict[str, str]]:
    """(the text before the first section, {parameter: its description}) of a Google, NumPy or reST docstring."""
    lines = inspect.cleandoc(doc or "").splitlines()
    about: List[str] = []
    notes: Dict[str, List[str]] = {}
    section: Optional[str] = None  # None: the description; else the heading in small letters
    note: Optional[List[str]] = None
    depth = 0  # how far the entries of a Google section are indented
    underlined = False
    for at, line in enumerate(lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        rule = lines[at + 1].strip() if at + 1 < len(lines) else ""
        heading, rest = (_HEADING.match(text), _FIELD.match(text)) if indent == 0 else (None, None)
        if underlined and set(text) == {"-"}:
            underlined = False
        elif indent == 0 and text and len(rule) > 2 and set(rule) == {"-"} and re.match(r"[A-Z][\w ]*\Z", text):
            section, note, underlined, depth = text.lower(), None, True, -1
        elif heading:
            section, note, depth = heading.group(1).lower(), None, 0
        elif rest and (rest.group(1) in ("param", "parameter", "arg", "argument", "key", "keyword")):
            words = (rest.group(2) or "").split()
            section, note, depth = "", notes.setdefault(words[-1].lstrip("*"), [rest.group(3)]) if words else None, 0
        elif rest and rest.group(1) in ("type", "return", "returns", "rtype", "raises", "raise", "yields"):
            section, note = "", None
        elif section is None:
            about.append(line)
        elif not section:  # reST: what is indented goes on
            note = note if indent or not text else None
            if note is not None and text:
                note.append(text)
        elif not section.startswith(_OF_PARAMETERS) or not text:
            continue
        elif depth < 0 and indent == 0:  # NumPy
            names = [n.strip().lstrip("*") for n in text.split(":")[0].split(",")]
            note = []
            notes.update((n, note) for n in names)
        elif depth < 0:
            note = note if note is not None else []
            note.append(text)
        else:  # Google
            depth = depth or indent
            entry = _ENTRY.match(text) if indent == depth else None
            if entry:
                note = notes.setdefault(entry.group(1), [entry.group(2)])
            elif indent > depth and note is not None:
                note.append(text)
            elif indent == 0:
                section, note = "other", None
    found = {name: " ".join(parts).strip() for name, parts in notes.items()}
    return "\n".join(about).strip(), {name: text for name, text in found.items() if text}


def _injected(hint: Any) -> str:
    """"AgentAction" or "AgentRun" for a parameter that the loop fills in, else ""."""
    for t in typing.get_args(hint) or (hint,):
        if getattr(t, "type", None) in ("AgentAction", "AgentRun"):
            return str(t.type)
    return ""


def _from_function(function: Callable[..., Any], flags: Dict[str, bool]) -> Tool:
    """A function as a Tool, its signature walked once."""
    inner, bound, names = function, 0, set()  # type: Any, int, Set[str]
    while isinstance(inner, functools.partial):  # what it has bound is hidden from the model: it is often a secret
        bound, names, inner = bound + len(inner.args), names | set(inner.keywords), inner.func
    name = getattr(inner, "__name__", "")
    if not inspect.isroutine(inner) or not name:
        raise TypeError("%s is no tool: pass a function, or a Tool made by hand" % _quoted(inner))
    if name == "<lambda>":
        raise ValueError("a lambda has no name and no types: write it as a def to make it a tool")
    try:
        parameters = list(inspect.signature(inner).parameters.values())
    except ValueError:
        raise TypeError("%s has no signature to read: wrap it in a def with annotations" % name) from None
    owner = getattr(inner, "__qualname__", "").rpartition(".")[0]
    first = parameters[0] if parameters else None
    if owner and not owner.endswith("<locals>") and first and first.name == "self" and first.annotation is first.empty:
        raise TypeError("%s.%s is a method without its object: pass the method of an instance" % (owner, name))
    cell_names, cells = inspect.unwrap(inner), {}  # type: Any, Dict[str, Any]
    cell_names = getattr(cell_names, "__func__", cell_names)
    for variable, cell in zip(getattr(getattr(cell_names, "__code__", None), "co_freevars", ()), getattr(cell_names, "__closure__", None) or ()):
        try:
            cells[variable] = cell.cell_contents
        except ValueError:
            pass  # not filled yet
    walk = _Walk(cells)
    hints = walk.hints(inner)
    about, notes = _docstring(inner.__doc__)
    parameters = [p for p in parameters[bound:] if p.name not in names]
    injected = {p.name: _injected(hints.get(p.name)) for p in parameters if _injected(hints.get(p.name))}
    rest = more = None
    shown: List[inspect.Parameter] = []
    for p in parameters:
        place = "%s: parameter %r" % (name, p.name)
        if p.kind is p.VAR_KEYWORD:
            rest = walk.of(hints.get(p.name, p.annotation), place)
        elif p.kind is p.VAR_POSITIONAL:
            more = p.name, _listing(tuple, walk.of(hints.get(p.name, p.annotation), place))
        elif p.name not in injected:
            shown.append(p)
    fields, required = walk.fields(shown, hints, notes, "%s: parameter" % name)
    if more:
        fields[more[0]] = _described(more[1], notes.get(more[0]))
    record = _record(fields, required, rest=rest)
    schema = dict(record.schema, **({"$defs": walk.schemas} if walk.schemas else {}))
    by_place = [p for p in parameters if p.kind is p.POSITIONAL_ONLY or more and p.kind is p.POSITIONAL_OR_KEYWORD]

    def convert(arguments: Dict[str, Any], action: AgentAction, run: AgentRun) -> Any:
        try:
            kwargs = record.convert(arguments, False, None)
        except (_Mismatch, RecursionError):
            where = _Faults("args", [])
            try:
                record.convert(arguments, False, where)
            except (_Mismatch, RecursionError):
                where.add("nested too deeply" if not where.found else "")
            return "; ".join(where.found[:50])
        for key, kind in injected.items():
            kwargs[key] = action if kind == "AgentAction" else run
        if not by_place and not more:
            return (), kwargs
        args = [kwargs.pop(p.name) if p.name in kwargs else p.default for p in by_place]
        return (*args, *kwargs.pop(more[0], ())) if more else args, kwargs

    return Tool(name, about, schema, function, convert=convert, **flags)


def tool(function: Any = None, *, return_direct: bool = False, read_only: bool = False, idempotent: bool = False) -> Any:
    """`@tool` or `@tool(read_only=True)`: a function as a Tool that is still callable as the function.

    Raises TypeError or ValueError, with the mend, for what cannot be a tool: a lambda, a method without its object, a
    parameter whose type has no JSON form.
    """
    flags = {"return_direct": return_direct, "read_only": read_only, "idempotent": idempotent}
    return functools.partial(_from_function, flags=flags) if function is None else _from_function(function, flags)


def registry(tools: Any) -> Dict[str, Tool]:
    """The plain dict {name: Tool} that the loop dispatches from. `tools`: functions and Tools, or such a dict.

    Raises ValueError for two tools of one name, and what `tool` raises.
    """
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise TypeError("tools is a list of functions or a dict {name: Tool}; got %s" % _quoted(tools))
    found: Dict[str, Tool] = {}
    for t in tools.values() if isinstance(tools, dict) else tools:
        made: Tool = t if getattr(t, "type", None) == "Tool" else _from_function(t, {})
        if made.name in found:
            raise ValueError("two tools are called %r: rename one" % made.name)
        found[made.name] = made
    if isinstance(tools, dict) and list(tools) != list(found):
        raise ValueError("a registry's keys are the names of its tools: %s, not %s" % (list(found), list(tools)))
    return found


# == loop ==============================================================================================================

Model = Callable[[AgentRun, Dict[str, Tool]], Any]
_FAILED = ("unknown_tool", "invalid_arguments", "tool_error")


_Call = Tuple[Tool, Sequence[Any], Dict[str, Any]]  # a call that can run: tool, args, kwargs


def _arguments(given: Any, tool: Tool) -> Any:
    """The arguments that a model gave, as a dict that is the tool's own; or a str that says why they are none.

    A text has to be one JSON object, read leniently where only one reading is possible: in a code fence (only a fence at
    the start of a line ends it), encoded once more, or as a Python literal. It is never completed.
    """
    found, why = given, ""
    if type(given) is str:
        try:
            found = _loads(given)
        except (ValueError, RecursionError) as e:
            why = " (%s)" % e
            fence = re.match(r"\s*```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```\s*)?\Z", given, re.S)
            found = _literal(fence.group(1) if fence else given)
        if type(found) is dict:
            return found
        if type(found) is str and found is not given:
            found = _literal(found)
        if not given.strip():
            found = None
    elif type(given) is dict:
        return {k: v if type(v) in _SCALARS else copy.deepcopy(v) for k, v in given.items()}
    if found is None:
        return {}
    if type(found) is dict and found is not given:
        return found
    keys = ", ".join('"%s"' % name for name in tool.parameters.get("properties") or ())
    return "args: expected one JSON object%s, got %s%s" % (" with " + keys if keys else "", _quoted(given, 200), why)


def _literal(text: str) -> Any:
    """One JSON value, or a Python literal that says the same; the text itself where it is neither."""
    import ast

    for read in (_loads, ast.literal_eval):
        try:
            found = read(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if _is_plain(found):
            return found
    return text


def _settled(value: Any) -> Any:
    """What a tool returned, run to its end: a coroutine awaited, a generator's items collected, up to a bound."""
    if inspect.isgenerator(value):
        items = []
        for item in value:
            if len(items) == _MOST_ITEMS:
                items.append("[... only the first %d items: the generator had more ...]" % _MOST_ITEMS)
                value.close()
                break
            items.append(item)
        return items
    if not inspect.isawaitable(value) and not inspect.isasyncgen(value):
        return value
    import asyncio
    import contextvars
    import threading

    async def outcome() -> Any:
        if not inspect.isasyncgen(value):
            return await value
        items = []
        async for item in value:
            if len(items) == _MOST_ITEMS:
                items.append("[... only the first %d items: the generator had more ...]" % _MOST_ITEMS)
                break
            items.append(item)
        return items

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(outcome())
    # The caller is inside an event loop, which cannot be entered twice: a thread of its own, with this context.
    ended: List[Any] = []

    def work() -> None:
        try:
            ended.append((asyncio.run(outcome()), None))
        except BaseException as e:
            ended.append((None, e))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    thread.join()
    if ended[0][1] is not None:
        raise ended[0][1]
    return ended[0][0]


def _execute(call: _Call) -> Tuple[Any, str]:
    """Call the function: (observation, status). Only what is no Exception gets out."""
    tool, args, kwargs = call
    try:
        value = tool.function(*args, **kwargs)
        return (value if type(value) in _FINAL else _settled(value)), "ok"
    except Exception as e:
        text = _shown(e)
        return "%s: %s" % (type(e).__name__, text) if text else type(e).__name__, "tool_error"


class _Together:
    """Calls that run at the same time, at most 16 at once, in threads with a copy of the context each."""

    def __init__(self, calls: List[_Call]) -> None:
        import contextvars
        import threading

        self.outcomes: List[Any] = [None] * len(calls)
        self.ended = [threading.Event() for _ in calls]
        todo = list(zip(range(len(calls)), calls, [contextvars.copy_context() for _ in calls]))[::-1]

        def work() -> None:
            while True:
                try:
                    at, call, context = todo.pop()
                except IndexError:
                    return
                try:
                    self.outcomes[at] = context.run(_execute, call)
                except BaseException as e:
                    self.outcomes[at] = e
                self.ended[at].set()

        try:  # daemons, so that Ctrl-C does not wait for them
            for _ in range(min(16, len(calls))):
                threading.Thread(target=work, daemon=True).start()
        except RuntimeError:  # no more threads, or a Python without any
            work()

    def wait(self, at: int) -> Tuple[Any, str]:
        while not self.ended[at].wait(1):  # subtle: without a bound Ctrl-C would not get through on Windows
            pass
        if isinstance(self.outcomes[at], BaseException):
            raise self.outcomes[at]
        found: Tuple[Any, str] = self.outcomes[at]
        return found


class _Book:
    """What one driver knows of its conversation, so that no list is searched per step."""

    def __init__(self, run: AgentRun, log: Optional["_Journal"]) -> None:
        self.run, self.log = run, log
        self.ids = {s.action.call_id for turn in [*run.history, run] for s in turn.steps} - {""}
        self.calls = sum(1 for turn in [*run.history, run] for s in turn.steps if s.action.call_id) + len(run.pending)
        self.seen = len(run.steps)  # so many are written and yielded
        self.failures: Optional[Dict[Tuple[str, str, str, str], int]] = None

    def propose(self, actions: List[Any]) -> None:
        """Make a copy of each action pending, with its id and request."""
        run, taken = self.run, self.ids.union(a.call_id for a in actions) if len(actions) > 1 else self.ids
        for a in actions:
            self.calls = n = self.calls + 1
            call_id, log = a.call_id, a.log
            if type(call_id) is not str or type(log) is not str:
                call_id, log = _text(call_id or ""), _text(log)
            while not call_id or n > self.calls and call_id in taken:
                call_id, n = "c%08d" % n, n + 1
            name = a.tool if type(a.tool) is str else ""
            run.pending.append(AgentAction(name, a.tool_input, call_id, log, a.message, run.requests))
        if self.log:
            self.log.proposed(self.run.pending)

    def prepare(self, action: AgentAction, tools: Dict[str, Tool]) -> Union[_Call, AgentStep]:
        """Found and checked: a call that can run. Or what prevents it, which is a value too: its step."""
        if action.call_id in self.ids:
            return AgentStep(action, "This call id was used before: not executed a second time.", "duplicate_call")
        self.ids.add(action.call_id)
        found = tools.get(action.tool)
        if found is None:  # exact first; then without what models add; a guess between two is never made
            name = action.tool.strip()
            found = tools.get(name) or tools.get(name[10:] if name[:10] == "functions." else "")
        if self.run.started and action.call_id in self.run.started:
            if found is None or not (found.read_only or found.idempotent):
                return AgentStep(action, _UNKNOWN, "unknown_outcome")
        if found is None:
            known = _closest(action.tool, tools) if tools else "; there are no tools"
            return AgentStep(action, "There is no tool %s%s" % (_quoted(action.tool), known), "unknown_tool")
        bound = _arguments(action.tool_input, found)
        if type(bound) is dict:
            bound = found.bind(bound, action, self.run)
        if type(bound) is str:
            return AgentStep(action, bound, "invalid_arguments")
        return found, bound[0], bound[1]

    def start(self, actions: List[AgentAction]) -> None:
        new = [a.call_id for a in actions if a.call_id not in self.run.started]
        if self.log and new:
            self.log.started(new)
        self.run.started += new

    def add(self, step: AgentStep) -> None:
        if step.status in _FAILED:
            step.observation = self.again(step.action, step.observation, step.status)
        self.run._add(step)

    def notice(self, observation: str, status: str, source: Any) -> None:
        """A step about a reply that held no call to answer: unreadable, or a finish that was not accepted."""
        action = AgentAction("", {}, "", source.log, source.message, self.run.requests)
        self.run.steps.append(AgentStep(action, observation, status))

    def again(self, action: AgentAction, text: str, status: str) -> str:
        """The observation of a failed call; from the second time on that repeating it does not help (a model repeated
        one useless call 220 times). Only the same call that fails in the same way counts."""
        mark = "\n(The same call has now failed in the same way "
        if self.failures is None:
            self.failures = {}
            for s in self.run.steps:
                if s.status in _FAILED:
                    key = s.action.tool, _text(s.action.tool_input), s.status, _text(s.observation).split(mark)[0]
                    self.failures[key] = self.failures.get(key, 0) + 1
        key = action.tool, _text(action.tool_input), status, text
        n = self.failures[key] = self.failures.get(key, 0) + 1
        return text if n == 1 else "%s%s%d times; repeating it will not help.)" % (text, mark, n)

    def news(self) -> List[AgentStep]:
        """The steps that are new, written: the loop's own, and those that the caller closed meanwhile."""
        fresh = self.run.steps[self.seen :]
        for step in fresh:
            self.seen += 1
            self.ids.add(step.action.call_id)
            if self.log:
                self.log.done(step)
        return fresh

    def settle(self, tools: Dict[str, Tool]) -> Iterator[AgentStep]:
        """Execute what is pending, in order, and yield the steps."""
        run, together, at = self.run, None, 0
        plans = [self.prepare(a, tools) for a in run.pending]
        calls = [(a, p) for a, p in zip(run.pending, plans) if type(p) is tuple] if len(plans) > 1 else []
        if len(calls) > 1 and all(p[0].read_only for _, p in calls):
            self.start([a for a, _ in calls])
            together = _Together([p for _, p in calls])
        alone = len(plans) == 1 and not (run.steps and run.steps[-1].action.request == run.pending[0].request != 0)
        try:
            for action, plan in zip(run.pending[:], plans):
                if together and type(plan) is tuple:
                    at, outcome = at + 1, together.wait(at)
                if not run.pending or run.pending[0] is not action and not any(a is action for a in run.pending):
                    continue  # closed by the caller meanwhile
                if type(plan) is tuple:
                    if not together:
                        self.start([action])
                        outcome = _execute(plan)
                    step = AgentStep(action, *outcome)
                    if alone and plan[0].return_direct and step.status == "ok":
                        run.finish = AgentFinish(step.observation, action.log, action.message, "return_direct")
                else:
                    step = plan
                self.add(step)
                yield from self.news()
        except BaseException:  # of parallel calls, those that ended are recorded first
            for n, (action, _) in enumerate(calls[at:], at):
                if together and together.ended[n].is_set() and type(together.outcomes[n]) is tuple:
                    if any(a is action for a in run.pending):
                        self.add(AgentStep(action, *together.outcomes[n]))
            self.news()
            raise


def _carrying(error: BaseException, run: AgentRun) -> BaseException:
    """The exception with the run so far in `agent_run`."""
    try:
        error.agent_run = run  # type: ignore[attr-defined]
    except Exception:
        pass  # an exception that takes no attributes
    return error


def _drive(
    model: Model, run: AgentRun, tools: Dict[str, Tool], max_requests: int, accept: Any, journal: Any
) -> Generator[Any, None, AgentRun]:
    """The loop. One call, one step, always; everything that goes wrong on the way is an observation."""
    if run.__dict__.setdefault("_held", token := object()) is not token:
        raise RuntimeError("another stream holds this run: exhaust or close it first")
    log = None
    try:
        log = _Journal(journal, run) if journal is not None else None
        if run.state in ("model_ended", "succeeded") or log and log.continued:
            return run
        book = _Book(run, log)
        while True:
            # 1. Every pending call is shown before any of them runs; the caller may close it meanwhile.
            before = len(run.pending)
            for action in list(run.pending):
                if len(run.pending) == before or any(a is action for a in run.pending):
                    yield action
                    if book.seen < len(run.steps):
                        yield from book.news()
            # 2. Each is prepared, executed and recorded.
            if run.pending:
                yield from book.settle(tools)
            # 3. A finish is a claim. It is recorded before `accept` is asked, so that it can be asked again.
            if run.finish is not None:
                final = accept is None or run.finish.reason == "refusal"
                run.state = "model_ended" if final else "running"
                if log:
                    log.finished()
                reason = None if final else accept(run)
                if reason is None:
                    run.state = "model_ended" if final else "succeeded"
                    if log:
                        log.update()
                    yield run.finish
                    return run
                if not isinstance(reason, str) or not reason:
                    raise TypeError("accept returns None or the reason, a non-empty str; got %r" % (reason,))
                rejected, run.finish = run.finish, None
                book.notice(reason, "not_accepted", rejected)
                yield from book.news()
                continue
            # 4. The budget is checked before it is spent; a request counts once it is begun.
            if run.requests >= max_requests:
                run.state = "budget_exhausted"
                if log:
                    log.update()
                return run
            if log:
                log.requested()
            run.state, run.requests = "running", run.requests + 1
            # 5. The model is asked. What it answers is recorded before anything follows from it.
            try:
                reply = model(run, tools)
                if isinstance(reply, list) and not reply:
                    raise InvalidResponse("The reply held neither a call nor an answer.")
            except Exception as e:
                if getattr(e, "type", None) != "InvalidResponse":
                    raise
                book.notice(getattr(e, "observation", ""), "invalid_response", e)
                yield from book.news()
                continue
            if getattr(reply, "type", None) == "AgentFinish":
                run.finish = AgentFinish(reply.output, reply.log, reply.message, reply.reason)
                continue
            actions = reply if isinstance(reply, list) else [reply]
            for a in actions:
                if getattr(a, "type", None) != "AgentAction":
                    what = "a list with %s in it" % _quoted(a) if actions is reply else _quoted(reply)
                    raise TypeError("a model returns an AgentFinish, an AgentAction or a list of them; got " + what)
            book.propose(actions)
    except StopIteration as e:  # inside a generator it would look like a normal end (PEP 479)
        raise _carrying(RuntimeError("StopIteration from the model or from accept: %s" % e), run) from e
    except BaseException as e:
        raise _carrying(e, run)
    finally:
        if log:
            log.close()
        del run.__dict__["_held"]


def stream(
    model: Model, task: Any, tools: Any = (), *, max_requests: int = 10, accept: Optional[Callable[[AgentRun], Any]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> Generator[Any, None, AgentRun]:  # fmt: skip
    """Run the loop; yield each AgentAction, AgentStep and AgentFinish as it happens. The return value is the run.

    `model(run, tools)` returns an AgentFinish, an AgentAction or a list of actions, or raises InvalidResponse. `task`: a
    str, a list of str and Image, or an AgentRun to go on with. `tools`: functions, Tools or a registry. `max_requests`:
    an int from 0 up; bounds `run.requests` over every resume. `accept(run)` sees the run with its finish and returns
    None, or the reason why not. `journal`: a path; the run survives its process, run the same line again after a crash.

    What is yielded is already in the run (and the journal). Breaking off leaves the run to be taken up again. At the
    limit the stream just ends, with `run.state == "budget_exhausted"`. Raises TypeError and ValueError at once for wrong
    use, RuntimeError where another stream holds the run; what leaves a model, `accept`, the journal, or a tool as no
    Exception, propagates with the run so far in its `agent_run`.
    """
    if isinstance(max_requests, bool) or not isinstance(max_requests, int):
        raise TypeError("max_requests is an int from 0 up; got %r" % (max_requests,))
    if max_requests < 0:
        raise ValueError("max_requests is an int from 0 up; got %d" % max_requests)
    if not callable(model) or accept is not None and not callable(accept):
        raise TypeError("model and accept are called: model(run, tools), accept(run)")
    if getattr(task, "type", None) != "AgentRun":
        _check_task(task)
        task = AgentRun(task)
    return _drive(model, task, registry(tools), max_requests, accept, journal)


def run(
    model: Model, task: Any, tools: Any = (), *, max_requests: int = 10, accept: Optional[Callable[[AgentRun], Any]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> AgentRun:  # fmt: skip
    """`stream`, drained: one result for every ending, with all steps.

    `run.state` says which: model_ended, succeeded (its answer passed `accept`) or budget_exhausted. `run.output` is the
    answer, None at the limit.
    """
    events = stream(model, task, tools, max_requests=max_requests, accept=accept, journal=journal)
    while True:
        try:
            next(events)
        except StopIteration as end:
            done: AgentRun = end.value
            return done


class Scripted:
    """A model that follows a script, for tests and lessons: the n-th request of a conversation gets the n-th decision.

    A decision is an AgentFinish, an AgentAction, a list of actions, or an exception, which is raised. Past the end:
    IndexError. Holds no state, so that one object serves many runs and resumed ones.
    """

    def __init__(self, decisions: Iterable[Any]) -> None:
        self.decisions = list(decisions)

    def __call__(self, run: AgentRun, tools: Dict[str, Tool]) -> Any:
        n = sum(turn.requests for turn in run.history) + run.requests
        if n > len(self.decisions):
            raise IndexError("request %d of the conversation, and the script has %d decisions" % (n, len(self.decisions)))
        decision = self.decisions[max(n, 1) - 1]
        if isinstance(decision, BaseException) or isinstance(decision, type) and issubclass(decision, BaseException):
            raise decision
        return decision


# == journal ===========================================================================================================
#
# JSON Lines, one event a line, each written and synced before what follows from it. All have `event` and `time` (for
# people only); `requests`, `usage` and `state` stand in an event where they changed. docs: README, "The journal".
#
#     {"event": "turn", "version": 1, "task": ...}             a turn of the conversation begins
#     {"event": "requested", "requests": n}                    the model is about to be asked
#     {"event": "proposed", "message", "request", "actions"}   its calls, all together or not at all
#     {"event": "started", "call_ids"}                         their execution begins
#     {"event": "done", "call_id" or "action", "observation", "status"[, "finish"]}
#     {"event": "finished", "finish"}                          it claims to be done; `accept` may follow
#     {"event": "updated"}                                     only requests, usage or state changed

_VERSION = 1
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


class _Turn(AgentRun):
    """A turn as the file tells it, with the number of the line that began it and of each step's."""

    lines: List[int]


def _replay(path: str, data: bytes) -> List[_Turn]:
    """The turns that a journal's complete lines tell; ValueError with path and line where one cannot be read."""
    turns: List[_Turn] = []
    number = 0
    try:
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            event = json.loads(line.decode("ascii"))
            kind = event["event"]
            if kind == "turn":
                if event["version"] > _VERSION:
                    what = "%s, line %d: written by a newer agentloop (format %s; this one reads %d)"
                    raise _Newer(what % (path, number, _quoted(event["version"]), _VERSION))
                turns.append(_Turn(_unpack(event, "task")))
                turns[-1].lines = [number]
            turn = turns[-1]
            if kind == "proposed":
                for a in event["actions"]:
                    given = _unpack(a, "tool_input")
                    found = AgentAction(a["tool"], given, a["call_id"], a.get("log", ""), event["message"], event["request"])
                    turn.pending.append(found)
            elif kind == "started":
                turn.started.extend(event["call_ids"])
            elif kind == "done":
                if "action" in event:
                    action = from_json(event["action"])
                else:
                    action = next(a for a in turn.pending if a.call_id == event["call_id"])
                turn._add(AgentStep(action, _unpack(event, "observation"), event["status"]))
                turn.finish = None
                turn.lines.append(number)
            elif kind not in ("turn", "requested", "finished", "updated"):
                raise ValueError("unknown event %s" % _quoted(kind))
            if "finish" in event:
                turn.finish = from_json(event["finish"])
            turn.requests = event.get("requests", turn.requests)
            turn.usage = event.get("usage", turn.usage)
            turn.state = event.get("state", turn.state)
    except _Newer:
        raise
    except _DAMAGED + (StopIteration,) as e:
        text = "%s, line %d: damaged, cannot be read (%s: %s); restore the file, or move it away to begin anew"
        raise ValueError(text % (path, number, type(e).__name__, _line(str(e)))) from None
    return turns


class _Newer(ValueError):
    pass


def _plainly(turn: AgentRun, history: List[AgentRun]) -> AgentRun:
    values = {f.name: getattr(turn, f.name) for f in dataclasses.fields(AgentRun)}
    return AgentRun(**dict(values, history=history))


def _load(path: Any) -> AgentRun:
    with open(path, "rb") as file:
        turns = [_plainly(t, []) for t in _replay(os.fspath(path), file.read())]
    if not turns:
        raise ValueError("%s, line 1: the run in it was not begun" % os.fspath(path))
    return _plainly(turns[-1], list(turns[:-1]))


class _Journal:
    """A journal open for writing, brought together with a run: what either has more, the other takes over.

    Raises BlockingIOError where another process (or stream) holds the file, ValueError with path and line where it is
    damaged or another run's, OSError.
    """

    def __init__(self, path: Any, run: AgentRun) -> None:
        self.path, self.run = os.fspath(path), run
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        try:
            self.file = os.open(self.path, flags)
        except FileNotFoundError:
            self.file = os.open(self.path, flags | os.O_CREAT, 0o600)
            self._sync_folder()
        try:
            self._lock()
            found = os.fstat(self.file)
            self.identity = found.st_dev, found.st_ino
            with open(self.file, "rb", closefd=False) as file:
                data = file.read()
            self.end = data.rfind(b"\n") + 1
            turns = _replay(self.path, data[: self.end])
            if len(data) > self.end:  # a torn last line, or NUL bytes that a power cut left
                os.ftruncate(self.file, self.end)
            os.lseek(self.file, self.end, os.SEEK_SET)
            self.told: Any = (0, {}, "running")  # requests, usage, state: as last written
            self.finish: Optional[AgentFinish] = None
            self._join(turns)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self.file)

    # -- the events, in the order of a request ------------------------------------------------------------------------

    def requested(self) -> None:
        self._write({"event": "requested"}, self.run.requests + 1, state="running")

    def proposed(self, actions: List[AgentAction]) -> None:
        entries = []
        for a in actions:
            entry = {"tool": a.tool, **_pack("tool_input", a.tool_input), "call_id": a.call_id}
            entries.append(dict(entry, log=a.log) if a.log else entry)
        first = actions[0]
        event = {"event": "proposed", **_pack("message", first.message), "request": first.request}
        self._write(dict(event, actions=entries))

    def started(self, call_ids: List[str]) -> None:
        self._write({"event": "started", "call_ids": call_ids})

    def done(self, step: AgentStep) -> None:
        by_id = bool(step.action.call_id)
        which = {"call_id": step.action.call_id} if by_id else {"action": to_json(step.action)}
        event = {"event": "done", **which, **_pack("observation", step.observation), "status": step.status}
        if self.run.finish is not None and self.run.steps[-1] is step:  # a return_direct step and its finish are one
            event["finish"] = to_json(self.run.finish)
        self._write(event)
        self.finish = self.run.finish

    def finished(self) -> None:
        if self.run.finish is not self.finish:
            self._write({"event": "finished", "finish": to_json(self.run.finish)})
            self.finish = self.run.finish

    def update(self) -> None:
        if self.told != (self.run.requests, self.run.usage, self.run.state):
            self._write({"event": "updated"})

    # -- the file -----------------------------------------------------------------------------------------------------

    def _write(self, event: Dict[str, Any], requests: int = -1, state: str = "") -> None:
        now = self.run.requests if requests < 0 else requests, dict(self.run.usage), state or self.run.state
        for name, value, before in zip(("requests", "usage", "state"), now, self.told):
            if value != before:
                event[name] = value
        event["time"] = round(time.time(), 3)
        line = json.dumps(event).encode("ascii") + b"\n"
        found = os.stat(self.path)  # FileNotFoundError where the file vanished: what cannot be found again is not recorded
        if (found.st_dev, found.st_ino) != self.identity:
            raise FileNotFoundError(2, "the journal was replaced by another file while the run went on", self.path)
        try:
            rest = line
            while rest:
                rest = rest[os.write(self.file, rest) :]
            os.fsync(self.file)
        except BaseException:  # the disk is full: no half line may stay for the next one to be joined to
            try:
                os.ftruncate(self.file, self.end)
                os.lseek(self.file, self.end, os.SEEK_SET)
            except OSError:
                pass
            raise
        self.end += len(line)
        self.told = now

    def _lock(self) -> None:
        try:
            import fcntl

            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(11, "another process holds the journal; one may write at a time", self.path) from None
        except ImportError:
            try:
                import msvcrt
            except ImportError:
                return  # a system without locks
            try:  # one byte far behind the end, so that the file can still be read
                os.lseek(self.file, 1 << 40, os.SEEK_SET)
                msvcrt.locking(self.file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
                os.lseek(self.file, 0, os.SEEK_SET)
            except OSError:
                raise BlockingIOError(11, "another process holds the journal; one may write at a time", self.path) from None

    def _sync_folder(self) -> None:
        """A new file is safe only once its name is."""
        try:
            folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        except OSError:
            return  # Windows
        try:
            os.fsync(folder)
        except OSError:
            pass
        finally:
            os.close(folder)

    # -- run and file brought together --------------------------------------------------------------------------------

    def _join(self, turns: List[_Turn]) -> None:
        """Compare the run, turn by turn, with what the file tells: one must be the beginning of the other."""
        run, history = self.run, self.run.history
        for at, turn in enumerate([*history, run]):
            if at == len(turns):
                self.told, self.finish = (0, {}, "running"), None
                self.run = turn
                self._write({"event": "turn", "version": _VERSION, **_pack("task", turn.task)})
                turns.append(_Turn(turn.task))
                turns[-1].lines = [self.end]
            self.run = turn
            self._join_turn(turn, turns[at], at + 1 == len(turns))
        self.continued = len(turns) > len(history) + 1  # a turn that the file continues with another is only taken over

    def _join_turn(self, run: AgentRun, disk: _Turn, last: bool) -> None:
        def differs(at: int, what: str) -> NoReturn:
            text = "%s, line %d: the journal of another run (%s); give this run a journal of its own"
            raise ValueError(text % (self.path, disk.lines[min(at, len(disk.lines) - 1)], what))

        def same(a: Any, b: Any) -> bool:
            return a is b or bool(from_json(to_json(a)) == b)

        if not same(AgentRun(run.task), AgentRun(disk.task)):
            differs(0, "its task is %s" % _quoted(disk.task))
        n = min(len(run.steps), len(disk.steps))
        for at in range(n):
            if not same(run.steps[at], disk.steps[at]):
                differs(at + 1, "another step: %s" % disk.steps[at])
        ids, told = [a.call_id for a in run.pending], [a.call_id for a in disk.pending]
        later = {s.action.call_id for s in disk.steps[n:]}.union(told)
        self.told, self.finish = (disk.requests, disk.usage, disk.state), disk.finish
        if len(disk.steps) > n or not run.steps[n:] and (told and not ids or disk.finish and not run.finish):
            ahead = "disk"
        elif run.steps[n:] or ids and not told or run.finish and not disk.finish or set(run.started) - set(disk.started):
            ahead = "run"
        else:
            ahead = "disk"
        if ahead == "disk":
            if not later.issuperset(ids) or run.finish and disk.finish and not same(run.finish, disk.finish):
                differs(n, "other pending calls or another finish")
            run.steps.extend(disk.steps[n:])
            if ids != told:
                run.pending[:] = disk.pending
            run.started[:] = disk.started
            run.finish = disk.finish if run.finish is None or len(disk.steps) > n or disk.finish is None else run.finish
            self.finish = run.finish
            if disk.requests >= run.requests:
                run.requests, run.usage, run.state = disk.requests, dict(disk.usage), disk.state
            elif last:
                self.update()
            return
        if not last:
            differs(n, "it goes on with another turn")
        known = set(told)
        finish, run.finish = run.finish, None
        for at in range(n, len(run.steps)):
            action = run.steps[at].action
            if action.call_id and action.call_id not in known:  # a reply that is not in the file yet, as a whole
                rest = [s.action for s in run.steps[at:]] + run.pending
                reply = [action]
                for a in rest[1:]:
                    if not a.call_id or a.request != action.request or a.message is not action.message:
                        break
                    reply.append(a)
                self.proposed(reply)
                known.update(a.call_id for a in reply)
            self.done(run.steps[at])
            known.discard(action.call_id)
        new = [a for a in run.pending if a.call_id not in known]
        if new:
            self.proposed(new)
        begun = [i for i in run.started if i not in disk.started]
        if begun:
            self.started(begun)
        run.finish = finish
        if finish is not None:
            self.finished()
        self.update()


# == models ============================================================================================================
#
# A model is any callable that looks at a run and says what to do next. Text first, then what the three servers' protocols
# share (encoding, HTTP, streams, retries), then each protocol.

REACT_TEMPLATE = """Answer the question. You can use these tools:

{tools}

Write in this form, one action at a time, and stop after the Action Input:

Thought: what to do next
Action: one of {names}
Action Input: the arguments, as a JSON object
Observation: what came of it (this is given to you; never write it yourself)

Thought, Action, Action Input and Observation may repeat. When you know the answer, or know that there is none:

Thought: why this is the answer
Final Answer: the answer

Trust the observations more than what you remember. Do not repeat a call that failed twice. When the task cannot be done
with these tools, say so in the Final Answer, with the reason.

Question: {task}
{steps}"""

_MARKER = re.compile(
    r"^[ \t>#*_]*(Thought|Action Input|Action|Observation|Final Answer)[ \t]*\d*[*_ \t]*[:\uff1a][*_]*[ \t]*", re.M | re.I
)
_NO_FORM = (
    "The reply held neither an Action nor a Final Answer. Write 'Action: <tool>' and 'Action Input: <JSON object>' to use a "
    "tool, or 'Final Answer: <the answer>' to finish."
)


class ReActText:
    """Any text completion as a model, through Thought / Action / Action Input / Observation / Final Answer.

    `complete(prompt) -> str` is any function. `template`: see REACT_TEMPLATE; {tools}, {names}, {task} and {steps} are
    filled in. An input that is no object is the value of the tool's one required parameter.
    """

    def __init__(self, complete: Callable[[str], str], template: str = REACT_TEMPLATE) -> None:
        self.complete, self.template = complete, template

    def prompt(self, run: AgentRun, tools: Dict[str, Tool]) -> str:
        """The prompt as it would go out now. Only grows from request to request."""
        first, told = None, []
        for turn in [*run.history, run]:
            task = _text(turn.task)
            if first is None:
                first = task
            else:
                told.append("\nQuestion: %s\n" % task)
            for step in turn.steps:
                told.append("%s\nObservation: %s\n" % (self._said(step.action), _cut(_text(step.observation), 20_000)))
            if turn.finish is not None and turn.finish.reason != "return_direct":
                told.append("Final Answer: %s\n" % _text(turn.finish.output))
        shown = ["%s: %s Arguments: %s" % (t.name, t.description, json.dumps(t.parameters, ensure_ascii=False)) for t in tools.values()]
        parts = {"tools": "\n".join(shown) or "(none)", "names": ", ".join(tools), "task": first, "steps": "".join(told)}
        return re.sub(r"\{(tools|names|task|steps)\}", lambda m: str(parts[m.group(1)]), self.template)

    def _said(self, action: AgentAction) -> str:
        """What the model wrote, up to its Action Input; made up for an action of another model."""
        if isinstance(action.message, str):
            return action.log or "Thought: (nothing to read)"
        thought = "Thought: %s\n" % action.log if action.log else ""
        return "%sAction: %s\nAction Input: %s" % (thought, action.tool, _text(action.tool_input)) if action.tool else thought

    def __call__(self, run: AgentRun, tools: Dict[str, Tool]) -> Any:
        reply = self.complete(self.prompt(run, tools))
        if not isinstance(reply, str):
            raise TypeError("complete(prompt) returns a str; got %s" % _quoted(reply))
        # A draft in think tags is not the reply (an R1 template leaves the opening tag out; an open one never ended).
        text = re.sub(r"(?s)<think>.*?(</think>|\Z)", "", re.sub(r"(?s)\A(?:(?!<think>).)*?</think>", "", reply)).strip()
        marks = list(_MARKER.finditer(text))
        fences = [m.span() for m in re.finditer(r"(?ms)^```.*?(?:^```|\Z)", text)]
        marks = [m for m in marks if not any(a < m.start() < b for a, b in fences)]
        action = next((m for m in marks if m.group(1).lower() == "action"), None)
        final = next((m for m in marks if m.group(1).lower() == "final answer"), None)
        name = action and text[action.end() :].split("\n")[0].strip(" \t*_`'\"[]()")
        if action and name and name.lower() in ("none", "n/a", "null") and name not in tools:
            action = None
        if final and (action is None or final.start() < action.start()):
            return AgentFinish(text[final.end() :].strip().strip("*").strip(), text, reply)
        if action is None or not name:
            return self._wrapped(text, reply, tools)
        rest = [m for m in marks if m.start() > action.start()]
        end, given = len(text[: action.end()] + text[action.end() :].split("\n")[0]), ""
        if rest and rest[0].group(1).lower() == "action input":
            end = rest[1].start() if len(rest) > 1 else len(text)
            given, length = self._input(text[rest[0].end() : end])
            end = rest[0].end() + length
        return AgentAction(name, self._object(given, tools.get(name)), "", text[:end].rstrip(), reply)

    def _input(self, text: str) -> Tuple[str, int]:
        """The Action Input in a text, and how far it reaches: one JSON object, a fenced block, or all of it."""
        lead = len(text) - len(text.lstrip())
        fence = re.match(r"\s*```[\w-]*[ \t]*\n(.*?)\n[ \t]*```", text, re.S)
        if fence:
            return fence.group(1), fence.end()
        if text[lead : lead + 1] in ("{", "["):
            try:
                end = json.JSONDecoder().raw_decode(text, lead)[1]
                return text[lead:end], end  # what follows the object is ignored
            except (ValueError, RecursionError):
                pass
        return text.strip(), len(text)

    def _object(self, given: str, tool: Optional[Tool]) -> Any:
        value = _literal(given)
        if given.strip().lower() in ("", "none", "null", "n/a", "{}"):
            return {}
        names = (tool.parameters.get("required") or list(tool.parameters.get("properties") or ())) if tool else ()
        if type(value) is dict or len(names) != 1 or type(value) is str and value.lstrip()[:1] == "{":
            return value if type(value) is dict else given
        return {names[0]: value}

    def _wrapped(self, text: str, reply: str, tools: Dict[str, Tool]) -> Any:
        """{"action": ..., "action_input": ...}, bare, fenced, or under one key more."""
        found = _literal(self._input(text)[0])
        if type(found) is dict and len(found) == 1 and type(next(iter(found.values()))) is dict:
            found = next(iter(found.values()))
        name, given = (found.get("action"), found.get("action_input")) if type(found) is dict else (None, None)
        if isinstance(name, str) and name.lower() == "final answer":
            return AgentFinish(given, text, reply)
        if isinstance(name, str) and name in tools:
            return AgentAction(name, given if type(given) is dict else self._object(_text(given), tools[name]), "", text, reply)
        raise InvalidResponse(_NO_FORM, reply, text)


# -- what was said, encoded once ---------------------------------------------------------------------------------------


class _Conversation:
    """A conversation as one adapter sends it. It only grows: what was sent once is not encoded again."""

    def __init__(self, left_out: Set[str]) -> None:
        self.sent = bytearray()  # the messages up to the last of the assistant's, encoded
        self.open: List[Any] = []  # what the user says since then: parts of one message to be
        self.tail: Optional[bytes] = None  # that message encoded, while nothing is added
        self.ids: Set[str] = set()
        self.turns: List[List[Any]] = []  # task, steps, how many of them, the last, finish: as far as it is in here
        self.keys: Set[str] = set()  # the properties of the assistant's messages, beside those of the protocol
        self.left_out = set(left_out)
        self.input_tokens = 0

    def __copy__(self) -> "_Conversation":
        twin = _Conversation(self.left_out)
        twin.__dict__.update({k: copy.copy(v) for k, v in self.__dict__.items() if k != "turns"})
        twin.turns = [list(t) for t in self.turns]
        return twin

    def is_of(self, turns: List[AgentRun]) -> bool:
        """Whether these turns begin with what is in here; the caller may have changed them."""
        return len(self.turns) <= len(turns) and all(
            t.task is task and t.steps is steps and len(steps) >= n and (not n or steps[n - 1] is last)
            and (finish is None or t.finish is not None and t.finish.message is finish.message)
            and (t is turns[-1] or at == len(self.turns) - 1 or len(steps) == n)
            for at, (t, (task, steps, n, last, finish)) in enumerate(zip(turns, self.turns))
        )  # fmt: skip

    def put(self, encoded: bytes) -> None:
        self.sent += b", " + encoded if self.sent else encoded

    def unique(self, call_id: str, legal: str) -> str:
        """The id, or one that every provider takes where it cannot be sent; depends on nothing but the run."""
        n = len(self.ids) + 1
        while not re.match(legal, call_id) or call_id in self.ids:
            call_id, n = "c%08d" % n, n + 1
        self.ids.add(call_id)
        return call_id


def _encoded(value: Any) -> bytes:
    """Strict UTF-8 JSON: non-ASCII kept, no NaN, no lone surrogates."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _strict_arguments(given: Any) -> str:
    """The arguments as a strict parser takes them: as they came, else what was understood, else {}."""
    if type(given) is str:
        try:
            found = _loads(given)
            if type(found) is dict and _is_plain(found) and ("\\u" not in given or _encoded(found).decode() == json.dumps(found, ensure_ascii=False)):
                given.encode("utf-8")
                return given
        except (ValueError, RecursionError):  # UnicodeEncodeError, from a lone surrogate, is a ValueError
            pass
    found = _arguments(given, _NO_TOOL)
    return _encoded(found).decode() if type(found) is dict and _is_plain(found) else "{}"


_NO_TOOL = Tool("none", "", {}, dict)


# -- HTTP --------------------------------------------------------------------------------------------------------------


class _Fault(Exception):
    """A request on the wire that came to nothing; `again`: whether waiting may mend it, `after`: how long it asks."""

    def __init__(self, words: str, kind: str, status: Optional[int] = None, again: bool = False, after: str = "", code: str = "") -> None:
        super().__init__(words)
        self.words, self.kind, self.status, self.again, self.after, self.code = words, kind, status, again, after, code
        self.failed_generation = ""


class _Passing(BaseException):
    """Carries what on_text raised past the handlers of network errors."""


class _Connections:
    """`http_transport`: HTTP over the standard library, one kept-alive connection per thread and server.

    transport(method, url, headers, body, timeout) gives (status, headers with small names, chunks of the body). Loopback
    is reached directly, else the environment's proxies count. Redirects are not followed. Raises OSError and
    http.client.HTTPException.
    """

    def __init__(self, ssl_context: Any = None) -> None:
        self.ssl_context = ssl_context

    def __getstate__(self) -> Dict[str, Any]:
        return {"ssl_context": None}

    def __call__(
        self, method: str, url: str, headers: Dict[str, str], body: bytes, timeout: float
    ) -> Tuple[int, Dict[str, str], Iterator[bytes]]:
        import http.client
        import threading
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        proxy = self._proxy(parts)
        target = (url if proxy and parts.scheme == "http" else (parts.path or "/") + ("?" + parts.query if parts.query else ""))
        key = parts.scheme, parts.netloc, proxy
        kept: Dict[Any, Any] = self.__dict__.setdefault("_kept", threading.local()).__dict__
        held = kept.get(key)
        if proxy and "@" in proxy and parts.scheme == "http":
            headers = dict(headers, **self._proxy_login(proxy))
        for reused in (True, False) if held is not None and held.connection.sock is not None else (False,):
            if not reused:
                held = kept[key] = _Held(self._connect(parts, proxy, timeout))
            connection = held.connection
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(timeout)
                connection.request(method, target, body, headers)
                response = connection.getresponse()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if not reused:  # a kept connection that died since the last request is no failure: take a new one
                    raise
            except BaseException:
                connection.close()
                raise
        return response.status, {k.lower(): v for k, v in response.getheaders()}, self._chunks(connection, response)

    @staticmethod
    def _chunks(connection: Any, response: Any) -> Iterator[bytes]:
        try:
            while True:
                chunk = response.read1(65536)
                if not chunk:
                    break
                yield chunk
            if response.length:  # read1 does not tell that the server hung up early
                raise ConnectionError("the reply ended %d bytes early" % response.length)
            response.close()  # read to its end: the connection is free for the next request
        finally:
            if not response.isclosed():
                connection.close()

    def _proxy(self, parts: Any) -> str:
        host = parts.hostname or ""
        if host == "localhost" or host == "::1" or re.match(r"127(\.\d+){3}\Z", host):
            return ""
        from urllib.request import getproxies, proxy_bypass

        found = getproxies()
        return "" if proxy_bypass(host) else str(found.get(parts.scheme) or found.get("all") or "")

    @staticmethod
    def _proxy_login(proxy: str) -> Dict[str, str]:
        from urllib.parse import unquote, urlsplit

        login = urlsplit(proxy if "//" in proxy else "//" + proxy)
        pair = unquote("%s:%s" % (login.username or "", login.password or ""))
        return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()} if login.username else {}

    def _connect(self, parts: Any, proxy: str, timeout: float) -> Any:
        import http.client
        from urllib.parse import urlsplit

        place = urlsplit(proxy if "//" in proxy else "//" + proxy) if proxy else parts
        if proxy and place.scheme not in ("", "http"):
            raise ConnectionError("a proxy of the kind %s:// is not supported" % place.scheme)
        if parts.scheme == "http":
            return http.client.HTTPConnection(place.hostname, place.port or 80, timeout=timeout)
        if self.ssl_context is None:
            import ssl

            context: Any = ssl.create_default_context()  # SSL_CERT_FILE and SSL_CERT_DIR count
        else:
            context = self.ssl_context
        port = place.port or (80 if proxy else 443)
        connection = http.client.HTTPSConnection(place.hostname, port, timeout=timeout, context=context)
        if proxy:
            connection.set_tunnel(parts.hostname, parts.port or 443, self._proxy_login(proxy))
        return connection


class _Held:
    """A connection that is closed when its thread ends."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


http_transport = _Connections()

_TOO_LONG = re.compile(
    r"(?i)context[ _-]?(length|size|window|limit)|(prompt|input)( \S+){0,3}? (is )?too (long|large)|exceed_context"
    r"|exceeds? (the )?max(imum)?( \S+){0,4}? (length|tokens?|context)|token count .{0,40}exceeds|too many (input )?tokens"
    r"|request_too_large|(prompt|input) .{0,40}(longer than|exceeds)"
)
_REFUSING = re.compile(
    r"(?i)un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed|recogni[sz]ed|expected|valid)|extra|additional|invalid"
)
_LOOK_AT = {
    "rate_limit": "the plan's limits, or wait",
    "context_length": "trim, max_observation",
    "timeout": "timeout (seconds of silence)",
    "connection": "base_url, the proxy, SSL_CERT_FILE; whether the server runs",
    "bad_response": "base_url (is the path right, with /v1?)",
    "bad_request": "what the server names; the model's name; base_url",
    "server": "the server's own log",
}


def _log(text: str) -> None:
    import logging

    logger = logging.getLogger("agentloop")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # subtle: without any, logging would print
    logger.warning(text)


def _endpoint(base_url: str, path: str) -> str:
    """The URL to post to. `path`: /chat/completions, /responses or /messages, below /v1."""
    head, mark, query = base_url.strip().partition("?")
    found = re.match(r"(https?://[^/]+)(.*)\Z", head, re.I)
    if not found:
        raise ValueError("base_url begins with http:// or https://; got %r" % base_url)
    host, given = found.group(1), found.group(2).rstrip("/")
    if not given.endswith(path):
        bare = not given or path == "/messages" and not given.endswith("/v1")
        given += ("/v1" if bare else "") + path
    return host + given + mark + query


def _events(chunks: Iterable[bytes], timeout: float) -> Iterator[Any]:
    """The data of a stream of server-sent events, parsed; None for [DONE]. Comment lines are silence."""
    rest, data, heard = b"", [], time.monotonic()  # type: bytes, List[bytes], float
    for block in chunks:
        rest += block
        if b"\r" in rest:  # CRLF, LF or CR; a CR at the end may be half of a CRLF
            kept = rest[-1:] if rest[-1:] == b"\r" else b""
            rest = rest[: len(rest) - len(kept)].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + kept
        lines = rest.split(b"\n")
        rest = lines.pop()
        now = time.monotonic()
        if any(line[:1] not in (b":", b"") for line in lines) or rest[:1] not in (b":", b""):
            heard = now
        elif now - heard > timeout:
            raise TimeoutError("only comments came")
        for line in lines:
            if line[:5] == b"data:":
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and data:
                text, data = b"\n".join(data).decode("utf-8", "replace"), []
                if text.strip() == "[DONE]":
                    yield None
                elif text.strip():
                    yield _json_reply(text)
    if rest[:5] == b"data:" and rest.strip().endswith((b"}", b"[DONE]")):  # the last line without its newline
        data.append(rest[5:])
    text = b"\n".join(data).decode("utf-8", "replace").strip()
    if text == "[DONE]" or text.endswith("}"):
        yield None if text == "[DONE]" else _json_reply(text)


def _json_reply(text: str) -> Any:
    try:
        return _reply_loads(text)
    except (ValueError, RecursionError):
        raise _Fault("not readable as JSON: %s" % _quoted(text, 200), "bad_response", again=True) from None


_reply_loads = json.JSONDecoder(parse_constant=lambda constant: None).decode


def _unzipped(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Unpacked where the header says so, or where the body begins as gzip does."""
    unzip: Any = None
    for at, chunk in enumerate(chunks):
        if at == 0 and ("gzip" in encoding or chunk[:2] == b"\x1f\x8b"):
            import zlib

            unzip = zlib.decompressobj(31)
        if unzip:
            try:
                chunk = unzip.decompress(chunk)
            except zlib.error as e:
                raise _Fault("a broken gzip body: %s" % e, "bad_response", again=True) from None
        if chunk:
            yield chunk


class _Pieces(List[str]):
    """A text that arrives in pieces; joined once, at the end."""


def _gather(into: Dict[str, Any], key: str, value: Any) -> None:
    """Add what a delta says of one key: texts are joined, lists extended, objects merged, others replaced. Null and
    empty values say nothing new."""
    old = into.get(key)
    if value is None or value == "" or value == []:
        into.setdefault(key, value)
    elif key in ("role", "type", "id", "index"):
        into[key] = old or value
    elif isinstance(value, str):
        if key == "name":
            into[key] = value if not old or old == value else old + value
        elif type(old) is _Pieces:
            old.append(value)
        elif isinstance(old, list):
            old.append({"type": "text", "text": value})
        else:
            into[key] = _Pieces([old, value] if old else [value])
    elif isinstance(value, list):
        if type(old) is _Pieces:
            old = [{"type": "text", "text": "".join(old)}]
        into[key] = (old if isinstance(old, list) else []) + value
    elif isinstance(value, dict):
        if not isinstance(old, dict):
            old = into[key] = {}
        for k, v in value.items():
            _gather(old, k, v)
    else:
        into[key] = value


def _joined(value: Any) -> Any:
    """What `_gather` gathered, as plain JSON."""
    if type(value) is _Pieces:
        return "".join(value)
    if isinstance(value, dict):
        return {k: _joined(v) for k, v in value.items()}
    return value


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


class _Reply:
    """What an adapter read in a reply, the same for all protocols."""

    def __init__(self, message: Any, text: str, calls: List[Tuple[Any, Any, Any]]) -> None:
        self.message, self.text, self.calls = message, text, calls  # calls: id, name, arguments
        self.cut = self.paused = False
        self.refusal: Optional[str] = None


class _Adapter:
    """What the adapters of the three protocols share.

    model: the name the server knows. base_url: with or without /v1, trailing slash or the full path. api_key: a str, or
    a callable that gives one for each request on the wire. headers: sent along. system: the system text. on_text: called
    with the text as it arrives, which makes the request a stream. timeout: the longest silence, in seconds. retries: how
    often a request is asked again. trim: the last N replies to send, or a callable from the steps to those to send.
    max_observation: characters of an observation that are sent. ssl_context: for the default transport. transport: see
    `http_transport`. body: further fields of the request; a list `tools` stands before the registry's.

    Raises ModelError for a server's fault, InvalidResponse for a reply that cannot be read, ValueError for a tool name
    that servers refuse.
    """

    _path = _host = _variable = _limit = ""
    _list, _id, _protocol_keys = "messages", r"(?s).+\Z", frozenset(("role", "content"))  # type: str, str, Any

    def __init__(
        self, model: str, *, base_url: Optional[str] = None, api_key: Union[None, str, Callable[[], str]] = None,
        headers: Optional[Dict[str, str]] = None, system: Optional[str] = None, on_text: Optional[Callable[[str], Any]] = None,
        timeout: float = 600, retries: int = 4, trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]] = None,
        max_observation: int = 20_000, ssl_context: Any = None, transport: Any = http_transport, **body: Any,
    ) -> None:  # fmt: skip
        self.model, self.api_key, self.headers, self.system, self.on_text = model, api_key, headers or {}, system, on_text
        self.timeout, self.retries, self.trim, self.max_observation = timeout, retries, trim, max_observation
        self.url = _endpoint(base_url or os.environ.get(self._variable + "_BASE_URL") or self._host, self._path)
        self.transport = _Connections(ssl_context) if transport is http_transport else transport
        self.extra = body
        self._left_out: Set[str] = set()  # properties that this server refused by name

    def __repr__(self) -> str:
        return "%s(%r, base_url=%r)" % (type(self).__name__, self.model, self.url.partition("?")[0])

    def __getstate__(self) -> Dict[str, Any]:
        transport = None if isinstance(self.transport, _Connections) else self.transport
        return dict(self.__dict__, api_key=None, headers={}, on_text=None, transport=transport)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, transport=state["transport"] or _Connections())

    # what a protocol says of itself

    def _frame(self, tools: List[Any]) -> Dict[str, Any]:
        raise NotImplementedError

    def _tool(self, t: Tool) -> Dict[str, Any]:
        raise NotImplementedError

    def _user(self, parts: List[Any]) -> Dict[str, Any]:
        raise NotImplementedError

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        raise NotImplementedError

    def _calls_in(self, message: Any) -> Optional[List[Tuple[Any, Any, Any]]]:
        raise NotImplementedError

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[Dict[str, Any]]:
        raise NotImplementedError

    def _results(self, results: List[Tuple[str, str, List[Image], bool]], message: Any) -> Tuple[List[Any], List[Any]]:
        raise NotImplementedError

    def _read(self, document: Dict[str, Any]) -> Tuple[_Reply, Dict[str, Any]]:
        raise NotImplementedError

    def _assembled(self, events: Iterator[Any], tell: Callable[[str], None]) -> Dict[str, Any]:
        raise NotImplementedError

    # sending

    def body(self, run: AgentRun, tools: Dict[str, Tool]) -> Dict[str, Any]:
        """The JSON object as it would go out now."""
        found: Dict[str, Any] = json.loads(self._bytes(run, tools).decode("utf-8"))
        return found

    def complete(self, prompt: str) -> str:
        """A text completion for ReActText: one user message, no tools."""
        return str(self(AgentRun(prompt), {}).output)

    def _bytes(self, run: AgentRun, tools: Dict[str, Tool]) -> bytes:
        for name in tools:
            if not re.match(r"[a-zA-Z0-9_-]+\Z", name):
                raise ValueError("servers refuse the tool name %r: letters a-z, digits, '_' and '-' only" % name)
        own = self.extra.get("tools") or []
        shown = list(own) + [self._tool(t) for t in tools.values()]
        frame = {k: v for k, v in self._frame(shown).items() if k not in self._left_out}
        frame = {"model": self.model, **frame, **{k: v for k, v in self.extra.items() if k != "tools"}}
        if shown:
            frame["tools"] = shown
        said = self._conversation(run)
        if said.open and said.tail is None:
            said.tail = _encoded(self._user(said.open))
        messages = bytes(said.sent) + (b", " if said.sent and said.open else b"") + (self._last(said.tail or b""))
        return _encoded(frame)[:-1] + b', "%s": [%s]}' % (self._list.encode(), messages)

    def _last(self, encoded: bytes) -> bytes:
        return encoded

    def _conversation(self, run: AgentRun) -> _Conversation:
        """The conversation encoded, with what is new in the run."""
        if run.pending:  # somebody looks at the request while calls are pending
            waiting = [AgentStep(a, "This call is pending.", "pending") for a in run.pending]
            run = dataclasses.replace(run, steps=run.steps + waiting, pending=[])
        turns, known = [*run.history, run], run.__dict__.setdefault("_wire", {})
        said = known.get(self)
        if said is None or self.trim is not None or said.left_out != self._left_out or not said.is_of(turns):
            tokens = said.input_tokens if said else 0
            said = known[self] = _Conversation(self._left_out)
            said.input_tokens = tokens
            for message in self._system():
                said.put(_encoded(message))
        keep = self._kept(turns)
        for at, turn in enumerate(turns):
            if at == len(said.turns):
                self._say(said, turn.task if isinstance(turn.task, list) else [turn.task])
                said.turns.append([turn.task, turn.steps, 0, None, None])
            place = said.turns[at]
            place[0], place[1] = turn.task, turn.steps
            while place[2] < len(turn.steps):
                group = self._group(turn.steps, place[2])
                before = turn.steps[place[2] - 1] if place[2] else None
                place[2], place[3] = place[2] + len(group), group[-1]
                if keep is None or any(id(s) in keep for s in group):
                    self._put(said, group, before)
            if turn.finish is not None and place[4] is None:
                place[4] = turn.finish
                if turn.finish.reason != "return_direct":
                    stand_in = turn.finish.log or _text(turn.finish.output)
                    self._reply(said, turn.finish.message, stand_in, [])
        return said

    def _system(self) -> List[Dict[str, Any]]:
        return []

    def _group(self, steps: List[AgentStep], start: int) -> List[AgentStep]:
        """The steps of one reply."""
        first, end = steps[start].action, start + 1
        while first.call_id and end < len(steps) and steps[end].action.call_id:
            a = steps[end].action
            if a.request != first.request or not a.request and (a.message is None or a.message is not first.message):
                break
            end += 1
        return steps[start:end]

    def _kept(self, turns: List[AgentRun]) -> Optional[Set[int]]:
        """The ids of the steps that `trim` leaves. A reply stays whole where one of its steps stays."""
        if self.trim is None:
            return None
        steps = [s for t in turns for s in t.steps]
        if callable(self.trim):
            return {id(s) for s in self.trim(steps)}
        groups = []
        for t in turns:
            n = 0
            while n < len(t.steps):
                groups.append(self._group(t.steps, n))
                n += len(groups[-1])
        return {id(s) for group in groups[max(0, len(groups) - self.trim) :] for s in group}

    def _say(self, said: _Conversation, parts: List[Any]) -> None:
        said.open += parts
        said.tail = None

    def _reply(self, said: _Conversation, message: Any, text: str, calls: List[AgentAction]) -> List[str]:
        """Put a reply as it came, or one made up from what is known of it; return the ids of its calls as sent."""
        found = self._calls_in(message)
        if found is None or len(found) != len(calls):
            message = self._composed(text, [(a.tool, a.tool_input) for a in calls])
        if said.open:
            said.put(said.tail or _encoded(self._user(said.open)))
            said.open, said.tail = [], None
        ids = [said.unique(a.call_id, self._id) for a in calls]
        for item in self._assistant(message, ids, text if text.strip() else "(no text)"):
            said.keys.update(k for k in item if k not in self._protocol_keys)
            said.put(_encoded({k: v for k, v in item.items() if k not in self._left_out or k in self._protocol_keys}))
        return ids

    def _put(self, said: _Conversation, group: List[AgentStep], before: Optional[AgentStep]) -> None:
        first = group[0]
        if first.action.call_id:
            found = self._calls_in(first.action.message) or []
            # Steps come in the order in which they ended, a closed one before its time; the protocols want the order of
            # the calls. Ids the server gave tell it, the made-up ones grow.
            left, order = list(group), []
            for call_id, _, _ in found if len(found) == len(group) else ():
                same = [s for s in left if s.action.call_id == call_id]
                pick = same[0] if same else min((s for s in left), key=lambda s: self._rank(s, found))
                left.remove(pick)
                order.append(pick)
            order += left
            ids = self._reply(said, first.action.message, first.action.log, [s.action for s in order])
            results = [(i, *self._shown(s.observation), s.status != "ok") for i, s in zip(ids, order)]
        else:
            calls = self._calls_in(first.action.message) or []
            text, ids = str(first.observation), []  # type: str, List[str]
            direct = before is not None and before.action.call_id and before.action.request == first.action.request
            if not (direct and first.status == "not_accepted"):  # there the call and its result stand already
                made = [AgentAction(_text(n), a, i if isinstance(i, str) else "") for i, n, a in calls]
                ids = self._reply(said, first.action.message, first.action.log, made)
            if not ids:
                if text:
                    self._say(said, [_cut(text, self.max_observation)])
                return
            results = [(i, _cut(text, self.max_observation) or "(no output)", [], True) for i in ids]
        items, parts = self._results(results, first.action.message)
        for item in items:
            said.put(_encoded(item))
        self._say(said, parts)

    @staticmethod
    def _rank(step: AgentStep, found: List[Tuple[Any, Any, Any]]) -> Tuple[bool, str]:
        return any(step.action.call_id == i for i, _, _ in found), step.action.call_id

    def _shown(self, observation: Any) -> Tuple[str, List[Image]]:
        text = _cut(_text(observation), self.max_observation)
        return (text if text.strip() else "(no output)"), _images(observation)

    # asking

    def __call__(self, run: AgentRun, tools: Dict[str, Tool]) -> Any:
        data = self._bytes(run, tools)
        said = self._conversation(run) if not run.pending else _Conversation(set())
        asked = 0
        while True:
            asked += 1
            key = self.api_key() if callable(self.api_key) else self.api_key
            key = (os.environ.get(self._variable + "_API_KEY") if key is None else key) or ""
            try:
                document = self._exchange(data, self._headers(key.strip()))
                reply, usage = self._read(document)
                break
            except _Passing as e:
                raise e.args[0] from None
            except _Fault as e:
                if e.code == "tool_use_failed":  # Groq: the model's mistake, not ours
                    raise InvalidResponse("%s The reply was: %s" % (e.words, _cut(e.failed_generation, 2000))) from None
                name = self._refused(e, said)
                if name:
                    _log("the server refuses %r: left out from now on" % name)
                    self._left_out.add(name)
                    data, asked = self._bytes(run, tools), asked - 1
                    said = self._conversation(run)
                    continue
                if not e.again or asked > self.retries:
                    raise self._error(e, asked, key) from e.__cause__
                fault = e
            time.sleep(self._pause(fault, asked))
        for name, n in usage.items():
            run.usage[name] = run.usage.get(name, 0) + n
        if self.trim is None and 0 < usage["input_tokens"] < said.input_tokens:
            _log("the server counts fewer input tokens (%d) than before (%d) although the conversation grew: its context is "
                 "full and it drops the beginning in silence (Ollama: raise num_ctx)" % (usage["input_tokens"], said.input_tokens))  # fmt: skip
        said.input_tokens = usage["input_tokens"]
        if self.on_text and reply.text and not document.get("_told"):
            self.on_text(reply.text)
        return self._decision(reply, usage, tools, said)

    def _decision(self, reply: _Reply, usage: Dict[str, int], tools: Dict[str, Tool], said: _Conversation) -> Any:
        """A finish, or actions. What is doubtful is an InvalidResponse: nothing of it runs."""
        sent = {**self._frame([]), **self.extra}
        limit = _count(sent.get(self._limit)) or _count(sent.get("max_tokens"))
        if reply.refusal is not None:
            return AgentFinish(reply.refusal or reply.text, "", reply.message, "refusal")
        if reply.paused:
            raise InvalidResponse("", reply.message, reply.text)
        if reply.cut or limit and usage["output_tokens"] >= limit:
            what = "The reply was cut at the output limit, so nothing of it was executed. Say it in fewer words or in parts."
            raise InvalidResponse(what, reply.message, reply.text)
        taken, actions = said.ids.copy(), []
        for call_id, name, given in reply.calls:
            good = isinstance(call_id, str) and re.match(self._id, call_id) and call_id not in taken
            taken.add(call_id if good else "")
            actions.append(AgentAction(name or "", given, call_id if good else "", reply.text, reply.message))
        if actions:
            return actions
        if not reply.text.strip():
            raise InvalidResponse("The reply was empty: no text and no call. Call a tool or give the answer.", reply.message)
        head = reply.text.lstrip()[:400]
        if tools and re.search(r'<tool_call>|<function=|\[TOOL_CALLS\]|^\s*(```\w*\s*)?\{\s*"(name|function|tool)"', head):
            if any(name in reply.text for name in tools):
                _log("the answer looks like a tool call written as text: the server does not read tool calls of this model "
                     "(llama.cpp: start it with --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser)")  # fmt: skip
        return AgentFinish(reply.text, "", reply.message)

    def _headers(self, key: str) -> Dict[str, str]:
        own = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "agentloop/" + __version__}
        own.update(self._login(key) if key else {})
        given = {name.lower() for name in self.headers}
        own = {**{name: value for name, value in own.items() if name.lower() not in given}, **self.headers}
        for name, value in own.items():
            if not re.match(r"[\t\x20-\x7e\xa0-\xff]*\Z", value):  # http.client would show the value
                raise ValueError("the header %s (or api_key) holds a character that a header cannot" % name)
        return own

    def _login(self, key: str) -> Dict[str, str]:
        return {"Authorization": "Bearer " + key}

    def _exchange(self, data: bytes, headers: Dict[str, str]) -> Dict[str, Any]:
        """One request on the wire: the reply's document. Raises _Fault."""
        import http.client

        try:
            status, got, chunks = self.transport("POST", self.url, headers, data, self.timeout)
            try:
                plain = _unzipped(chunks, got.get("content-encoding", ""))
                if 200 <= status < 300:
                    return self._document(plain, got.get("content-type", ""))
                raise self._judged(status, got, b"".join(plain))
            finally:
                getattr(chunks, "close", bool)()
        except (OSError, http.client.HTTPException) as e:
            name, host = type(e).__name__, self.url.split("/")[2]
            if isinstance(e, TimeoutError) or name == "timeout":
                raise _Fault("silence for more than %g s" % self.timeout, "timeout", again=True) from e
            if name == "SSLCertVerificationError":
                words = "the certificate of %s is not trusted (%s): name its authority in SSL_CERT_FILE" % (host, e)
                raise _Fault(words, "connection") from e
            raise _Fault("no connection to %s, or it broke: %s: %s" % (host, name, e), "connection", again=True) from e

    def _document(self, chunks: Iterator[bytes], kind: str) -> Dict[str, Any]:
        """A JSON document, or a stream of events assembled to one. The first bytes decide, not what was asked."""
        told: List[str] = []

        def tell(text: str) -> None:
            if self.on_text and text:
                told.append("")
                try:
                    self.on_text(text)
                except Exception as e:
                    raise _Passing(e) from e

        first = next(chunks, b"")
        if "event-stream" not in kind or first.lstrip()[:1] in (b"{", b"["):
            whole = first + b"".join(chunks)
            first, chunks = whole, iter(())
            if not re.match(rb"(\xef\xbb\xbf)?\s*(data|event|id|retry)?:", whole):
                return self._checked(self._parsed(whole, kind))
        found = self._assembled(self._sound(_events(itertools.chain([first], chunks), self.timeout)), tell)
        found["_told"] = bool(told)
        return self._checked(found)

    def _parsed(self, whole: bytes, kind: str) -> Any:
        text = whole.decode("utf-8-sig", "replace").strip()
        if not text:
            raise _Fault("an empty body", "bad_response", again=True)
        if text[:1] not in ("{", "["):
            raise _Fault("no reply of this protocol but %s: %s" % (kind or "(no content type)", _bare(text)), "bad_response")
        return _json_reply(text)

    def _sound(self, events: Iterator[Any]) -> Iterator[Any]:
        """The events of a stream; an error in any of them fails it, whatever follows."""
        for event in events:
            if event is not None and not isinstance(event, dict):
                continue
            if event and (event.get("error") or event.get("type") == "error"):
                raise self._judged(200, {}, json.dumps(event).encode())
            yield event

    def _checked(self, document: Any) -> Dict[str, Any]:
        if isinstance(document, list) and document and isinstance(document[0], dict):
            document = document[0]
        if not isinstance(document, dict):
            raise _Fault("no reply of this protocol: %s" % _quoted(document, 200), "bad_response")
        if document.get("error") or document.get("type") == "error":
            raise self._judged(200, {}, json.dumps(document).encode())
        return document

    def _judged(self, status: int, headers: Dict[str, str], data: bytes) -> _Fault:
        """What a refusal means: of which kind it is, and whether waiting may mend it."""
        text = data.decode("utf-8", "replace")
        try:
            found = _reply_loads(text)
        except (ValueError, RecursionError):
            found = text
        found = found[0] if isinstance(found, list) and found else found
        error = found.get("error", found) if isinstance(found, dict) else found
        error = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else _text(error)}
        said = next((error[k] for k in ("message", "detail", "error", "msg") if error.get(k)), "") or text
        words = _bare(said if isinstance(said, str) else _text(said))
        code, after = _text(error.get("code") or ""), headers.get("retry-after", "")
        sort = "%s %s" % (code, _text(error.get("type") or "")) if status == 200 else ""
        if status == 200 and re.match(r"[45]\d\d\Z", code):
            status, sort = int(code), ""
        number = None if status == 200 else status
        if status != 429 and (status == 413 or _TOO_LONG.search("%s %s %s" % (words, code, error.get("type")))):
            return _Fault(words, "context_length", number)
        if 300 <= status < 400:
            where = headers.get("location", "")
            return _Fault("a redirect to %s, which is not followed; set base_url to it" % where, "bad_response", status)
        if status == 200:  # by code first, then by type; what is unknown is asked again
            for word in sort.lower().split():
                if re.search("rate_limit|too_many", word):
                    return _Fault(words, "rate_limit", None, True, after)
                if re.search("overload|server_error|unavailable|api_error|timeout", word):
                    break
                if re.search("auth|permission|api_key", word):
                    return _Fault(words, "auth", None)
                if re.search("invalid|not_found|unsupported|bad_request|policy", word):
                    return _Fault(words, "bad_request", None)
            return _Fault(words, "server", None, True, after)
        kinds = {401: "auth", 403: "auth", 429: "rate_limit"}
        again = status in (408, 409, 425, 429) or status >= 500
        kind = kinds.get(status) or ("server" if again else "bad_request")
        fault = _Fault(words or "(no words)", kind, status, again, after, code)
        fault.failed_generation = _text(error.get("failed_generation") or "")
        return fault

    def _refused(self, fault: _Fault, said: _Conversation) -> str:
        """The property that a 400 names and that we may leave out: one of the assistant's message, or one of our own.
        What the caller put into the body never is."""
        words = fault.words + (" include" if re.search("(?i)encrypted content", fault.words) else "")
        if fault.status not in (400, 422) or not _REFUSING.search(words):
            return ""
        for name in sorted((said.keys | set(self._frame([]))) - self._left_out - set(self.extra) - {"max_tokens", "system", "instructions"}):
            if re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(name), words):
                return name
        return ""

    def _pause(self, fault: _Fault, asked: int) -> float:
        """Seconds to wait: what Retry-After says, in seconds or as a date, but at most a minute; else a growing backoff."""
        import random

        if fault.after:
            try:
                wait = float(fault.after)
            except ValueError:
                import email.utils

                try:
                    wait = email.utils.parsedate_to_datetime(fault.after).timestamp() - time.time()
                except (ValueError, TypeError, OverflowError, IndexError):
                    wait = -1.0
            if 0 <= wait < 1e9:
                return min(wait, 60.0)
        return float(min(8.0, 0.5 * 2 ** (asked - 1)) * random.uniform(0.75, 1.25))

    def _error(self, fault: _Fault, asked: int, key: str) -> ModelError:
        look = _LOOK_AT.get(fault.kind, "")
        if fault.kind == "auth":
            variable = self._variable + "_API_KEY"
            look = "api_key, %s (%s)" % (variable, "a key was sent" if key else "no key was sent")
        status = "HTTP %d from " % fault.status if fault.status else ""
        times = "; asked %d times" % asked if asked > 1 else ""
        text = "%s%s: %s%s. Look at: %s" % (status, self.url.partition("?")[0], _cut(fault.words, 700), times, look)
        for secret in [key.strip(), *self.headers.values(), self.url.partition("?")[2]]:
            if len(secret) > 5:
                text = text.replace(secret, "[hidden]")
        return ModelError(text, fault.kind, fault.status)


def _bare(text: str) -> str:
    """The words of an error body, HTML or not, on one line."""
    return _line(re.sub(r"\s+", " ", re.sub(r"(?s)<(script|style).*?</\1>|<[^>]{1,200}>", " ", text[:20_000])).strip(), 600)


# -- the three protocols -----------------------------------------------------------------------------------------------


def _data_url(image: Image) -> str:
    return "data:%s;base64,%s" % (image.media_type, base64.b64encode(image.data).decode("ascii"))


def _dicts(value: Any) -> List[Dict[str, Any]]:
    """The objects in what should be a list of them."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _text_of(content: Any, kind: str = "text") -> str:
    """The text of a message's content: a str, or its parts of one type, joined as they are."""
    if isinstance(content, str):
        return content
    return "".join(p["text"] for p in _dicts(content) if p.get("type") == kind and isinstance(p.get("text"), str))


class OpenAIChat(_Adapter):
    __doc__ = "Chat Completions, for every server that speaks it.\n\n    " + (_Adapter.__doc__ or "").partition("\n\n    ")[2]
    _path, _host, _variable, _limit = "/chat/completions", "https://api.openai.com/v1", "OPENAI", "max_completion_tokens"
    _protocol_keys = frozenset(("role", "content", "tool_calls", "function_call"))

    def _frame(self, tools: List[Any]) -> Dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}} if self.on_text else {}

    def _system(self) -> List[Dict[str, Any]]:
        return [{"role": "system", "content": self.system}] if self.system else []

    def _tool(self, t: Tool) -> Dict[str, Any]:
        about = {"description": t.description} if t.description.strip() else {}
        return {"type": "function", "function": {"name": t.name, **about, "parameters": t.parameters}}

    def _user(self, parts: List[Any]) -> Dict[str, Any]:
        if not _images(parts):
            return {"role": "user", "content": "\n\n".join(parts)}
        content = [{"type": "image_url", "image_url": {"url": _data_url(p)}} if _images(p) else {"type": "text", "text": p} for p in parts]
        return {"role": "user", "content": content}

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        made = [{"function": {"name": _legal(name), "arguments": given}} for name, given in calls]
        return {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}

    def _calls_in(self, message: Any) -> Optional[List[Tuple[Any, Any, Any]]]:
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant" or "content" not in message:
            return None
        foreign = ("tool_use", "redacted_thinking", "server_tool_use", "output_text")
        if any(p.get("type") in foreign or isinstance(p.get("thinking"), str) for p in _dicts(message["content"])):
            return None
        calls = [(c.get("id"), c.get("function")) for c in _dicts(message.get("tool_calls"))]
        if not calls and isinstance(message.get("function_call"), dict):
            calls = [(None, message["function_call"])]
        functions = [(i, f if isinstance(f, dict) else {}) for i, f in calls]
        return [(i, f.get("name"), f.get("arguments")) for i, f in functions]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[Dict[str, Any]]:
        found = {"role": "assistant", **message}
        calls = _dicts(found.pop("tool_calls", None))
        if calls:
            mended = []
            for call_id, call in zip(ids, calls):
                f = call.get("function") if isinstance(call.get("function"), dict) else {}
                arguments = _strict_arguments(f.get("arguments"))
                function = dict(f, name=f.get("name") if isinstance(f.get("name"), str) and f["name"] else "unknown", arguments=arguments)
                mended.append({"id": call_id, "type": "function", **call, "function": function})
                mended[-1].update(id=call_id, type=call.get("type") or "function")
            found["tool_calls"] = mended
        elif ids:
            f = found["function_call"]
            found["function_call"] = dict(f, name=_text(f.get("name") or "unknown"), arguments=_strict_arguments(f.get("arguments")))
        elif not _text_of(found.get("content")).strip() and not isinstance(found.get("content"), list):
            found["content"] = stand_in
        return [found]

    def _results(self, results: List[Tuple[str, str, List[Image], bool]], message: Any) -> Tuple[List[Any], List[Any]]:
        legacy = isinstance(message, dict) and not message.get("tool_calls") and message.get("function_call")
        if legacy and len(results) == 1:
            items = [{"role": "function", "name": _text(legacy.get("name") or "unknown"), "content": results[0][1]}]
        else:
            items = [{"role": "tool", "tool_call_id": i, "content": text} for i, text, _, _ in results]
        return items, [image for _, _, images, _ in results for image in images]

    def _read(self, document: Dict[str, Any]) -> Tuple[_Reply, Dict[str, Any]]:
        choices = _dicts(document.get("choices"))
        if not choices or not isinstance(choices[0].get("message"), dict):
            raise _Fault("no choices in the reply: %s" % _quoted(document, 300), "bad_response", again=True)
        message = choices[0]["message"]
        message = message if "content" in message else dict(message, content=None)
        reply = _Reply(message, _text_of(message["content"]), self._calls_in(message) or [])
        reason = choices[0].get("finish_reason")
        reply.cut = reason == "length"
        if isinstance(message.get("refusal"), str) and message["refusal"] or reason == "content_filter":
            reply.refusal = _text(message.get("refusal") or "")
        groq = document.get("x_groq")
        found = next((u for u in (document.get("usage"), choices[0].get("usage"), groq and groq.get("usage")) if isinstance(u, dict)), {})
        details = found.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return reply, _usage(found.get("prompt_tokens"), found.get("completion_tokens"), cached)

    def _assembled(self, events: Iterator[Any], tell: Callable[[str], None]) -> Dict[str, Any]:
        message: Dict[str, Any] = {"role": "assistant"}
        calls: List[Dict[str, Any]] = []
        document: Dict[str, Any] = {}
        reason, done = None, False
        for event in events:
            if event is None:
                done = True
                continue
            if event.get("usage"):
                document["usage"] = event["usage"]
            for choice in event.get("choices") or ():
                if choice.get("index") or not isinstance(choice, dict):
                    continue
                reason = choice.get("finish_reason") or reason
                document["usage"] = document.get("usage") or choice.get("usage")
                delta = choice.get("delta") or choice.get("message")
                for key, value in delta.items() if isinstance(delta, dict) else ():
                    if key == "tool_calls":
                        for part in _dicts(value):
                            self._merge(calls, part)
                        continue
                    if key == "content" and value:
                        tell(_text_of(value))
                    _gather(message, key, value)
        if reason is None and not done:
            raise _Fault("the stream broke off before the reply was complete", "connection", again=True)
        made = {**_joined(message), **({"tool_calls": [_joined(c) for c in calls]} if calls else {})}
        for call in made.get("tool_calls", ()):
            call.pop("index", None)
        return dict(document, choices=[{"message": made, "finish_reason": reason}])

    @staticmethod
    def _merge(calls: List[Dict[str, Any]], part: Dict[str, Any]) -> None:
        """A delta belongs to the call that its index names; without one to the call with its id, else to the one opened
        last. It opens a call where there is none, or where it brings a name and an id and that call has others."""
        index, call_id = part.get("index"), part.get("id")
        name = part["function"].get("name") if isinstance(part.get("function"), dict) else None
        if index is not None:
            own = [c for c in reversed(calls) if c.get("index") == index][:1]
        else:
            own = [c for c in calls if call_id and c.get("id") == call_id] or calls[-1:]
        if own and name and call_id and own[0].get("id") not in (None, "", call_id) and own[0].get("function", {}).get("name"):
            own = []
        if not own:
            own = [{}]
            calls.extend(own)
        for key, value in part.items():
            _gather(own[0], key, value)


class OpenAIResponses(_Adapter):
    __doc__ = "The Responses API, stateless; some models demand it for tools.\n\n    " + (_Adapter.__doc__ or "").partition("\n\n    ")[2]
    _path, _host, _variable, _limit = "/responses", "https://api.openai.com/v1", "OPENAI", "max_output_tokens"
    _list = "input"
    _protocol_keys = frozenset("type role content call_id name arguments output summary encrypted_content".split())

    def _frame(self, tools: List[Any]) -> Dict[str, Any]:
        frame: Dict[str, Any] = {"instructions": self.system} if self.system else {}
        frame.update(store=False, include=["reasoning.encrypted_content"])
        return dict(frame, stream=True) if self.on_text else frame

    def _tool(self, t: Tool) -> Dict[str, Any]:
        about = {"description": t.description} if t.description.strip() else {}
        return {"type": "function", "name": t.name, **about, "parameters": t.parameters, "strict": False}

    def _user(self, parts: List[Any]) -> Dict[str, Any]:
        return {"type": "message", "role": "user", "content": "\n\n".join(parts) if not _images(parts) else self._parts(parts)}

    @staticmethod
    def _parts(parts: List[Any]) -> List[Dict[str, Any]]:
        return [{"type": "input_image", "image_url": _data_url(p)} if _images(p) else {"type": "input_text", "text": p} for p in parts]

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        said = [{"type": "message", "role": "assistant", "content": text}] if text.strip() else []
        return said + [{"type": "function_call", "name": _legal(n), "arguments": given} for n, given in calls]

    def _calls_in(self, message: Any) -> Optional[List[Tuple[Any, Any, Any]]]:
        if not isinstance(message, list):
            return None
        return [(i.get("call_id"), i.get("name"), i.get("arguments")) for i in _dicts(message) if i.get("type") == "function_call"]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[Dict[str, Any]]:
        left, items = list(ids), []
        for item in _dicts(message):
            kind = item.get("type")
            item = {k: v for k, v in item.items() if k != "id"}  # nothing is stored, so an id points nowhere
            if kind in ("message", "function_call", "reasoning"):
                item.pop("status", None)
            if kind == "function_call":
                arguments = _strict_arguments(item.get("arguments"))
                name = item.get("name") if isinstance(item.get("name"), str) and item["name"] else "unknown"
                item.update(call_id=left.pop(0), name=name, arguments=arguments)
            if kind == "reasoning":
                if not item.get("encrypted_content") and not item.get("content"):
                    continue  # it only points into the store
                item.setdefault("summary", [])
            if kind == "message" and not (_said_in(item) or isinstance(item.get("content"), str) and item["content"].strip()):
                continue
            items.append(item)
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # refused without the item that followed it
        return items or [{"type": "message", "role": "assistant", "content": stand_in}]

    def _results(self, results: List[Tuple[str, str, List[Image], bool]], message: Any) -> Tuple[List[Any], List[Any]]:
        return [
            {"type": "function_call_output", "call_id": i, "output": self._parts([text, *images]) if images else text}
            for i, text, images, _ in results
        ], []

    def _read(self, document: Dict[str, Any]) -> Tuple[_Reply, Dict[str, Any]]:
        status, output = document.get("status"), document.get("output")
        if status == "failed" or not isinstance(output, list):
            error = document.get("error") or {"message": "no output in the reply: %s" % _quoted(document, 300)}
            raise self._judged(200, {}, json.dumps({"error": error}).encode())
        messages = [i for i in _dicts(output) if i.get("type") == "message"]
        text = "".join(_text_of(i.get("content"), "output_text") for i in messages)
        reply = _Reply(output, text, self._calls_in(output) or [])
        refusals = [p["refusal"] for i in messages for p in _dicts(i.get("content")) if p.get("type") == "refusal" and p.get("refusal")]
        details = document.get("incomplete_details")
        filtered = status == "incomplete" and isinstance(details, dict) and details.get("reason") == "content_filter"
        if refusals or filtered:
            reply.refusal = "".join(map(_text, refusals))
        reply.cut = status == "incomplete"
        found = document.get("usage") if isinstance(document.get("usage"), dict) else {}
        inner = (found or {}).get("input_tokens_details")
        cached = inner.get("cached_tokens") if isinstance(inner, dict) else None
        return reply, _usage((found or {}).get("input_tokens"), (found or {}).get("output_tokens"), cached)

    def _assembled(self, events: Iterator[Any], tell: Callable[[str], None]) -> Dict[str, Any]:
        items: Dict[int, Any] = {}
        document: Optional[Dict[str, Any]] = None
        for event in events:
            kind = event.get("type") if event else None
            if kind == "response.output_text.delta":
                tell(_text_of(event.get("delta")))
            elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
                items[_count(event.get("output_index")) if "output_index" in event else len(items)] = event["item"]
            elif kind == "response.failed":
                error = (event.get("response") or {}).get("error") or {"message": "the response failed, without a reason"}
                raise self._judged(200, {}, json.dumps({"error": error}).encode())
            elif kind in ("response.completed", "response.incomplete"):
                document = dict(event.get("response") or {})
                document.setdefault("status", kind[9:])
        if document is None:
            raise _Fault("the stream broke off before the reply was complete", "connection", again=True)
        if items:
            document["output"] = [items[n] for n in sorted(items)]
        return document


_ANTHROPIC_DELTAS = {
    "text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
    "input_json_delta": "partial_json", "citations_delta": "citation",
}  # fmt: skip


class AnthropicMessages(_Adapter):
    """The Messages API. `cache=True` sets cache breakpoints; bytes then differ only in the one that moves on.

    max_tokens: the output limit, which this API demands.
    """

    __doc__ = (__doc__ or "") + (_Adapter.__doc__ or "").partition("\n")[2]
    _path, _host, _variable, _limit = "/messages", "https://api.anthropic.com", "ANTHROPIC", "max_tokens"
    _id = r"[a-zA-Z0-9_-]+\Z"

    def __init__(self, model: str, *, max_tokens: int = 4096, cache: bool = False, **settings: Any) -> None:
        super().__init__(model, **settings)
        self.max_tokens, self.cache = max_tokens, cache

    def _login(self, key: str) -> Dict[str, str]:
        return {"x-api-key": key}

    def _headers(self, key: str) -> Dict[str, str]:
        return {"anthropic-version": "2023-06-01", **super()._headers(key)}

    def _frame(self, tools: List[Any]) -> Dict[str, Any]:
        frame: Dict[str, Any] = {"max_tokens": self.max_tokens}
        if self.cache and tools:
            tools[-1] = dict(tools[-1], cache_control={"type": "ephemeral"})
        if self.system:
            block = {"type": "text", "text": self.system, "cache_control": {"type": "ephemeral"}}
            frame["system"] = [block] if self.cache else self.system
        return dict(frame, stream=True) if self.on_text else frame

    def _last(self, encoded: bytes) -> bytes:
        if not self.cache or not encoded:
            return encoded
        return encoded[:-3] + b', "cache_control": {"type": "ephemeral"}}]}'  # into the last block of the message

    def _tool(self, t: Tool) -> Dict[str, Any]:
        about = {"description": t.description} if t.description.strip() else {}
        return {"name": t.name, **about, "input_schema": t.parameters}

    def _user(self, parts: List[Any]) -> Dict[str, Any]:
        return {"role": "user", "content": [p if isinstance(p, dict) else self._block(p) for p in parts]}

    @staticmethod
    def _block(part: Any) -> Dict[str, Any]:
        if not _images(part):
            return {"type": "text", "text": part if part.strip() else "(no text)"}
        data = base64.b64encode(part.data).decode("ascii")
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        said = [{"type": "text", "text": text}] if text.strip() else []
        made = [{"type": "tool_use", "name": _legal(n), "input": given} for n, given in calls]
        return {"role": "assistant", "content": said + made}

    def _calls_in(self, message: Any) -> Optional[List[Tuple[Any, Any, Any]]]:
        if not isinstance(message, dict) or set(message) != {"role", "content"} or not isinstance(message["content"], list):
            return None
        blocks = _dicts(message["content"])
        if any(isinstance(b.get("thinking"), list) for b in blocks):
            return None
        return [(b.get("id"), b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[Dict[str, Any]]:
        left, blocks = list(ids), []
        for block in _dicts(message["content"]):
            if block.get("type") == "text" and not _text_of([block]).strip():
                continue  # returned at times, refused always
            if block.get("type") == "tool_use":
                given = block.get("input")
                if not isinstance(given, dict) or not _is_plain(given):
                    given = json.loads(_strict_arguments(given))
                name = block.get("name") if isinstance(block.get("name"), str) and block["name"] else "unknown"
                block = {**block, "id": left.pop(0), "name": name, "input": given}
            blocks.append(block)
        return [{"role": "assistant", "content": blocks or [{"type": "text", "text": stand_in}]}]

    def _results(self, results: List[Tuple[str, str, List[Image], bool]], message: Any) -> Tuple[List[Any], List[Any]]:
        blocks = []
        for call_id, text, images, failed in results:
            content = [self._block(p) for p in (text, *images)] if images else text
            block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
            blocks.append(dict(block, is_error=True) if failed else block)
        return [], blocks

    def _read(self, document: Dict[str, Any]) -> Tuple[_Reply, Dict[str, Any]]:
        content = document.get("content")
        if not isinstance(content, list):
            raise _Fault("no content in the reply: %s" % _quoted(document, 300), "bad_response", again=True)
        message = {"role": "assistant", "content": content}
        reply = _Reply(message, _text_of(content), self._calls_in(message) or [])
        reason = document.get("stop_reason")
        reply.cut = reason in ("max_tokens", "model_context_window_exceeded")
        reply.paused = reason == "pause_turn" and bool(content)
        if reason == "refusal":
            reply.refusal = ""
        found = document.get("usage") if isinstance(document.get("usage"), dict) else {}
        read = _count((found or {}).get("cache_read_input_tokens"))
        fresh = _count((found or {}).get("input_tokens")) + _count((found or {}).get("cache_creation_input_tokens"))
        return reply, _usage(fresh + read, (found or {}).get("output_tokens"), read)

    def _assembled(self, events: Iterator[Any], tell: Callable[[str], None]) -> Dict[str, Any]:
        blocks: Dict[int, Dict[str, Any]] = {}
        usage: Dict[str, Any] = {}
        reason, done = None, False
        for event in events:
            kind = event.get("type") if event else "message_stop"
            if kind == "message_start" and isinstance(event.get("message"), dict):
                usage.update(event["message"].get("usage") or {})
            elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
                blocks[_count(event.get("index"))] = dict(event["content_block"])
                tell(_text_of([event["content_block"]]))
            elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
                block = blocks.setdefault(_count(event.get("index")), {"type": "text", "text": ""})
                delta = event["delta"]
                key = _ANTHROPIC_DELTAS.get(_text(delta.get("type")), "")
                if key == "text":
                    tell(_text_of(delta.get(key)))
                if key:  # types not known yet are skipped
                    _gather(block, "citations" if key == "citation" else key, [delta.get(key)] if key == "citation" else delta.get(key))
            elif kind == "message_delta":
                usage.update({k: v for k, v in (event.get("usage") or {}).items() if v is not None})
                reason = (event.get("delta") or {}).get("stop_reason") or reason
            elif kind == "message_stop":
                done = True
        if reason is None and not done:
            raise _Fault("the stream broke off before the reply was complete", "connection", again=True)
        content = [_joined(blocks[n]) for n in sorted(blocks)]
        for block in content:
            given = block.pop("partial_json", None)
            if given:
                block["input"] = _literal(given)  # a text still, where it is no JSON: nothing of it will run
            elif block.get("type") in ("tool_use", "server_tool_use"):
                block["input"] = block.get("input") or {}
        return {"content": content, "stop_reason": reason, "usage": usage}


def _usage(read: Any, written: Any, cached: Any) -> Dict[str, int]:
    return {"input_tokens": _count(read), "output_tokens": _count(written), "cached_tokens": _count(cached)}


def _legal(name: str) -> str:
    """A tool's name as servers take it, for a call that another model made."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _said_in(item: Dict[str, Any]) -> bool:
    """Whether a message item holds any text, a refusal too."""
    return any(_text(p.get("text") or p.get("refusal") or "").strip() for p in _dicts(item.get("content")))


# == command line ======================================================================================================


def _demo() -> int:
    """A scripted model on a real loop: it gets a call wrong, reads the observation, and mends it."""

    def lookup_stock(sku: str, warehouse: typing.Literal["north", "south"] = "north") -> Dict[str, Any]:
        """Return the quantity that can be sold now; read-only, reserves nothing."""
        return {"sku": sku, "available": {"A1": 3}.get(sku, 0)}

    model = Scripted([
        AgentAction("lookup_stock", {"sku": "A1", "warehouse": "nord"}),
        AgentAction("lookup_stock", {"sku": "A1", "warehouse": "north"}),
        AgentFinish("3 of A1 can be sold now; nothing is reserved."),
    ])  # fmt: skip
    print("A demo without network and key: the model is a script, the loop and the tool are real.")
    events = AgentRun("How many A1 can we sell from the north warehouse?")
    print("task: %s" % events.task)
    for event in stream(model, events, [lookup_stock], max_requests=5):
        print("request %d/5  %s" % (events.requests, event))
    print('state: %s. Next: python3 agentloop.py "your question" --tools my_tools.py --model NAME' % events.state)
    return 0


def _tools_in(path: str) -> Dict[str, Tool]:
    """The public functions and Tools of a Python file; ValueError, on one line, where there are none."""
    import importlib.util

    if not os.path.isfile(path):
        raise ValueError("--tools %s: no such file" % path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.basename(path).rpartition(".")[0] or "tools"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError("--tools %s: not a Python file" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    try:
        spec.loader.exec_module(module)
        found = [
            v for n, v in vars(module).items() if n in getattr(module, "__all__", [n]) and not n.startswith("_")
            and (getattr(v, "type", None) == "Tool" or inspect.isfunction(v) and v.__module__ == name and n != "main")
        ]  # fmt: skip
        tools = registry(found)
    except Exception as e:
        raise ValueError("--tools %s: %s: %s" % (path, type(e).__name__, _line(_shown(e), 400))) from e
    if not tools:
        raise ValueError("--tools %s: no public function in it" % path)
    return tools


def _model_from(options: Any) -> Tuple[Any, str]:
    """The model that the options name, and a line that says which."""
    body: Dict[str, Any] = {}
    for pair in options.set:
        key, mark, value = pair.partition("=")
        try:
            body[key] = json.loads(value)
        except ValueError:
            raise ValueError("--set %s: KEY=JSON is asked, such as temperature=0.2 or stop='[\"x\"]'" % pair) from None
    api, why = options.api, ""
    if api is None:
        other = os.environ.get("ANTHROPIC_API_KEY") and not os.environ.get("OPENAI_API_KEY") and not options.base_url
        api, why = ("anthropic", ", since ANTHROPIC_API_KEY is set") if other else ("chat", "")
    kinds: Dict[str, Any] = {"responses": OpenAIResponses, "anthropic": AnthropicMessages}
    server = kinds.get(api, OpenAIChat)(options.model, base_url=options.base_url, system=options.system, **body)
    model = ReActText(server.complete) if api == "text" else server
    return model, "api: %s%s, %s" % (api, why, server.url.partition("?")[0])


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line; returns the exit status: 0 answer, 3 budget, 4 refusal, 1 ModelError, 2 wrong use, 130 Ctrl-C."""
    import argparse
    import logging

    for out in (sys.stdout, sys.stderr):
        if hasattr(out, "reconfigure"):
            out.reconfigure(errors="backslashreplace")  # a console that is cp1252 or ASCII
    parser = argparse.ArgumentParser(
        prog="agentloop", description="Ask a model that may use your Python functions. Without arguments: a demo, offline.",
        epilog="Exit status: 0 answer, 3 budget exhausted, 4 refusal, 1 server's fault, 2 wrong use, 130 Ctrl-C.",
    )  # fmt: skip
    say = parser.add_argument
    say("question", nargs="?", help="what to ask; - reads it from standard input; left out: a conversation")
    say("--tools", metavar="FILE.py", help="a Python file; its public functions are offered to the model")
    say("--schema", action="store_true", help="print what a model would be told of the tools")
    say("--model", metavar="NAME", help="the model's name on the server")
    say("--base-url", metavar="URL", help="the server, such as http://127.0.0.1:8080/v1")
    say("--api", choices=["chat", "responses", "anthropic", "text"], help="default: the key that is set, else chat")
    say("--system", metavar="TEXT", help="the system text")
    say("--max-requests", type=int, default=10, metavar="N", help="the budget of a question (default 10)")
    say("--set", action="append", default=[], metavar="KEY=JSON", help="a field of the request's body: temperature=0.2")
    say("--journal", metavar="FILE", help="keep the run in a file; the same line goes on after a crash")
    say("--json", action="store_true", help="print the run as JSON instead of the answer")
    say("--version", action="store_true", help="print the version and the file's sha256")
    options = parser.parse_args(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("note: %(message)s"))
    logging.getLogger("agentloop").addHandler(handler)
    if options.version:
        import hashlib

        with open(__file__, "rb") as file:
            print("agentloop %s, sha256 %s" % (__version__, hashlib.sha256(file.read()).hexdigest()))
        return 0
    try:
        tools = _tools_in(options.tools) if options.tools else {}
        if options.schema:
            told = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools.values()]
            print(json.dumps(told, indent=2, ensure_ascii=False))
            return 0
        if options.question is None and not (options.model or options.tools or options.journal):
            return _demo()
        if not options.model:
            raise ValueError("--model NAME is needed: which model shall answer?")
        if options.max_requests < 0:
            raise ValueError("--max-requests is 0 or more")
        model, which = _model_from(options)
        return _converse(model, which, tools, options)
    except (ValueError, TypeError, OSError) as e:
        print("agentloop: %s" % _line(_shown(e), 600), file=sys.stderr)
        return 2


def _converse(model: Any, which: str, tools: Dict[str, Tool], options: Any) -> int:
    """Ask the question, or each line of standard input as the next turn of one conversation."""
    print(which, file=sys.stderr)
    run: Optional[AgentRun] = None
    if options.journal and os.path.exists(options.journal) and os.path.getsize(options.journal):
        run = AgentRun.load(options.journal)
    question = sys.stdin.read().strip() if options.question == "-" else options.question
    if question is not None:
        if run is None or run.task != question:
            run = run.follow_up(question) if run else AgentRun(question)
        return _ask(model, run, tools, options)
    status = 0
    if run is not None and run.state == "running":
        status = _ask(model, run, tools, options)
    while status not in (2, 130):
        if sys.stdin.isatty():
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            run = run.follow_up(line.strip()) if run else AgentRun(line.strip())
            status = _ask(model, run, tools, options)
    return status


def _ask(model: Any, run: AgentRun, tools: Dict[str, Tool], options: Any) -> int:
    """One turn: events to standard error, the answer to standard output."""
    try:
        for event in stream(model, run, tools, max_requests=options.max_requests, journal=options.journal):
            if getattr(event, "type", None) != "AgentFinish":
                print("request %d/%d  %s" % (run.requests, options.max_requests, event), file=sys.stderr)
    except ModelError as e:
        print("%s (%d steps so far)" % (_line(str(e), 1500), len(run.steps)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted after %d requests; the steps so far:" % run.requests, file=sys.stderr)
        for step in run.steps:
            print("  %s" % step, file=sys.stderr)
        return 130
    print("request %d/%d  state: %s" % (run.requests, options.max_requests, run.state), file=sys.stderr)
    if options.json:
        print(json.dumps(to_json(run), indent=2))
    elif run.finish is not None:
        print(_text(run.output))
    return 3 if run.finish is None else 4 if run.finish.reason == "refusal" else 0


# Only as a script: pasted into a notebook cell, or run by exec, __name__ may be "__main__" too.
if __name__ == "__main__" and os.path.basename(main.__code__.co_filename) == os.path.basename(sys.argv[0]):
    sys.exit(main())
