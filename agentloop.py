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
