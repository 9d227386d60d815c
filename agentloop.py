# SPDX-License-Identifier: MIT
"""agentloop: any language model and a few Python functions become an agent. No dependencies.

The model proposes calls, the loop checks and executes them, the results go back to the model,
until the model finishes or its budget of requests is spent. Copy this file into a project and
import it. Ten lines that run offline:

    import agentloop

    def lookup_stock(sku: str) -> int:
        "Return the quantity that can be sold now."
        return {"A1": 3}.get(sku, 0)

    script = [agentloop.AgentAction("lookup_stock", {"sku": "A1"}), agentloop.AgentFinish("3 left")]
    for event in agentloop.stream(agentloop.Scripted(script), "How many A1?", [lookup_stock]):
        print(event)    # lookup_stock(sku="A1"), then its step, then the finish
    assert str(event) == "finish: 3 left"

Put `OpenAIChat("model-name")` in place of `Scripted` and the same loop runs on a real server.

Vocabulary, used alike in code, messages and documentation:

    request      one call of the model                     the budget counts these
    reply        what the model answered to it             calls, a finish, or unreadable
    action       a call the model proposed; nothing ran    AgentAction("lookup", {"sku": "A1"})
    observation  the result of an action                   3
    step         an action and its observation             AgentStep(action, 3, "ok")
    finish       the model's claim to be done              AgentFinish("3 left")
    run          the whole state of one task               AgentRun("How many A1?")
    budget       how many requests a run may make          max_requests=10

Sections: errors, data, tools, loop, journal, models, command line. Each can be understood with
those above it alone, and the file can be cut off at any banner from the bottom up.

MIT licence; its text stands at the end of the file.
"""

from __future__ import annotations

# A Python that is too old stops at the next line, with a SyntaxError that shows it.
(PYTHON := "agentloop needs Python 3.8 or newer")

import contextlib
import copy
import dataclasses
import enum
import errno
import functools
import inspect
import itertools
import json
import os
import re
import sys
import time
import typing
from _thread import allocate_lock
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, Iterable, Iterator, List
from typing import Literal, NoReturn, Optional, Sequence, Set, Tuple, Union

# subtle: `dataclass` looks this module up in sys.modules, because the annotations are strings. A
# file that was loaded without being entered there gets an entry while its classes are made.
_is_registered = __name__ in sys.modules
if not _is_registered:
    sys.modules[__name__] = typing

__version__ = "1.1.0"
__all__ = [
    "run", "stream", "tool", "registry", "Tool",
    "AgentAction", "AgentStep", "AgentFinish", "AgentRun", "Image", "Event", "Decision", "Model",
    "to_json", "from_json", "InvalidResponse", "ModelError", "Scripted",
    "ReActText", "REACT_TEMPLATE", "OpenAIChat", "OpenAIResponses", "AnthropicMessages",
    "http_transport",
]  # fmt: skip


# == errors ========================================================================================


class InvalidResponse(Exception):
    """A reply that a model could not read. Models raise it; the loop records it and goes on.

    Callers of the loop never see it: it becomes a step with the status `invalid_response`.

    Args:
        observation: what the model is shown about it, for example "The reply was cut: be shorter."
            With "" nothing is said, and the model continues its message.
        message: the reply as it came, any JSON value.
        log: the text in it.
    """

    type = "InvalidResponse"

    def __init__(self, observation: str, message: Any = None, log: str = "") -> None:
        super().__init__(observation)
        self.observation = observation
        self.message = message
        self.log = log


class ModelError(Exception):
    """A request that a server refused or could not answer, after the last retry.

    Its text has the server's words, the URL and the setting to look at; never a secret.

    Attributes:
        kind: "auth", "rate_limit", "context_length", "bad_request", "server", "timeout",
            "connection" or "bad_response".
        status: the status of the HTTP reply, for example 429; None where there was no reply.
        agent_run: the run so far, set by the loop. Resuming it runs no tool a second time.
    """

    agent_run: "AgentRun"

    def __init__(self, text: str, kind: str = "server", status: Optional[int] = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = status


# == data ==========================================================================================

# -- values as text --------------------------------------------------------------------------------

_JsonObject = Dict[str, Any]
_SCALAR_TYPES = (str, int, float, bool, type(None))
_MAX_DEPTH = 100  # lists and objects inside one another; deeper ones overflow a small stack
_MAX_INTEGER_BITS = 10_000  # Python refuses to write or read more than 4,300 digits

# Characters that a terminal obeys or that nobody sees: C0, C1, line and paragraph separators, zero
# width, bidirectional controls, lone surrogates, tags. Joiners are kept: scripts and emoji need them.
_UNPRINTABLE = (
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def _escape(text: str) -> str:
    r"""Unprintable characters as escapes: 'a<newline>b' -> 'a\nb'. Letters of every script stay."""

    def escape_one(match: "re.Match[str]") -> str:
        return match.group().encode("unicode_escape").decode("ascii")

    return re.sub(_UNPRINTABLE, escape_one, text)


def _one_line(text: str, limit: int = 200) -> str:
    """One printable line of about `limit` characters: ("abcdef", 3) -> "abc ..."."""
    if len(text) > limit:
        text = text[:limit] + " ..."
    return _escape(text)


def _cut_middle(text: str, limit: int) -> str:
    """The text; where it is longer than `limit`, without its middle, and with a note that says so."""
    if len(text) <= limit:
        return text
    head = limit - limit // 3
    tail = len(text) - limit // 3
    gap = f"[... characters {head + 1} to {tail} of {len(text)} are missing ...]"
    return f"{text[:head]}\n{gap}\n{text[tail:]}"


def _safe_str(value: Any) -> str:
    """str(value), or a placeholder where that raises."""
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _kind_of(value: Any) -> str:
    """The class attribute `type`: "AgentRun" for an AgentRun of this or another copy of the file.

    "" for anything else. The value itself is not looked at: a tool may have returned it, and its
    attributes may raise, or exist whatever their name (a mock).
    """
    for cls in type(value).__mro__:
        kind = cls.__dict__.get("type")
        if kind is not None:
            return kind if type(kind) is str else ""
    return ""


def _is_image(value: Any) -> bool:
    """True for an Image of this or another copy of the file; not for an object that resembles one."""
    if _kind_of(value) != "Image":
        return False
    fields = getattr(value, "__dict__", {})
    return type(fields.get("data")) is bytes and type(fields.get("media_type")) is str


def _images_in(value: Any) -> List["Image"]:
    """The pictures in an observation or a task: an Image alone, or those in a list or tuple."""
    values = value if type(value) in (list, tuple) else [value]
    return [v for v in values if _is_image(v)]


def _to_jsonable(value: Any) -> Any:
    """Something closer to JSON for what json.dumps does not know: {2, 1} -> [1, 2], b"a" -> "a"."""
    if _is_image(value):
        return f"[picture: {value.media_type}, {len(value.data)} bytes]"
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=_safe_str)  # a set has no order of its own
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return _safe_str(value)


def _to_text(value: Any) -> str:
    """What a model is shown of a value: a str as it is, else JSON with non-ASCII, else str().

    (1, "a") -> '[1, "a"]'. Never raises: a tool may have returned anything.
    """
    try:
        if type(value) in (list, tuple) and _images_in(value):
            return "\n".join(_to_text(v) for v in value)
        if not isinstance(value, (list, dict, tuple) + _SCALAR_TYPES):
            value = _to_jsonable(value)
        if isinstance(value, str):
            return str.__str__(value)
        return json.dumps(value, ensure_ascii=False, default=_to_jsonable)
    except Exception:  # keys that are no str, a circle, too deep, attributes that raise
        return _safe_str(value)


def _beginning_of(value: Any, limit: int) -> Any:
    """As much of a value as `limit` characters can show; what would be cut off is not encoded.

    ("abcdef", 3) -> "abcd"; ([1, 2, 3, 4, 5], 3) -> [1, 2, 3].
    """
    left = limit

    def shorten(value: Any, depth: int) -> Any:
        nonlocal left
        if type(value) is str:
            value = value[: left + 1]
            left -= len(value)
        if type(value) not in (list, tuple, dict) or depth == 0:
            return value
        items = value.items() if type(value) is dict else enumerate(value)
        kept = []
        for key, item in items:
            if left <= 0:
                break
            left -= 1
            kept.append((key, shorten(item, depth - 1)))
        return dict(kept) if type(value) is dict else [item for _, item in kept]

    return shorten(value, 10)


def _preview(value: Any, limit: int = 60) -> str:
    """A short piece of a value on one line, for a message: "a" -> '"a"'; [1, 2] -> "[1, 2]"."""
    if not _images_in(value):
        value = _beginning_of(value, limit)
    text = json.dumps(value, ensure_ascii=False) if type(value) is str else _to_text(value)
    return _one_line(text, limit)


def _is_plain_json(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """True for what JSON gives back unchanged: exact types, finite numbers, at most `depth` deep."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(value.bit_length() < _MAX_INTEGER_BITS)
    if kind is float:
        return bool(value - value == 0.0)  # false for inf and nan
    if depth == 0:
        return False
    if kind is list:
        return all(_is_plain_json(item, depth - 1) for item in value)
    if kind is dict:
        return all(type(k) is str and _is_plain_json(v, depth - 1) for k, v in value.items())
    return False


# -- a model's text as values ----------------------------------------------------------------------

_MAX_LITERAL = 100_000  # characters of a text that is read as a Python literal
_MAX_LITERAL_DEPTH = 20  # Python's parser needs some kB of stack for each level


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_strict_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
# Also takes raw control characters in strings, such as the newlines of a program.
_loose_decoder = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)


def _is_deeper(text: str, limit: int) -> bool:
    """True where brackets stand more than `limit` deep; those in strings do not count.

    ('[[1], "[["]', 1) -> True, and with 2 -> False. One pass, whatever the text.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for match in re.finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', text, re.S):
        if match.group() in "[{":
            depth += 1
        elif match.group() in "]}":
            depth -= 1
        if depth > limit:
            return True
    return False


def _parse_json(
    text: str, decoder: json.JSONDecoder = _strict_decoder, max_depth: int = _MAX_DEPTH
) -> Any:
    """One JSON value: '{"n": 1}' -> {"n": 1}. ValueError for anything else, NaN, or too deep."""
    if _is_deeper(text, max_depth):
        raise ValueError(f"nested more than {max_depth} deep")
    text = text.strip(" \t\r\n")
    value, end = decoder.raw_decode(text)  # `decode` would cost twice as much
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


# What a Python literal may consist of: what JSON has too. No names, operators or numbers with
# underscores, so that reading one never shows a warning of Python's.
_LITERAL_TOKENS = r"""(?sx)
    ' (?: [^'\\] | \\\D )* '                            # a string
    | " (?: [^"\\] | \\\D )* "
    | -? \d+ (?: \.\d* )? (?: [eE][-+]?\d+ )? (?![\w.])   # a number
    | True | False | None
    | [\[\]{}:,\s]+
"""


def _parse_literal(text: str) -> Any:
    """A Python literal that JSON could hold: "{'n': None}" -> {"n": None}. Else ValueError."""
    import ast

    if len(text) > _MAX_LITERAL or _is_deeper(text, _MAX_LITERAL_DEPTH):
        raise ValueError("too long or too deeply nested for a Python literal")
    if re.sub(_LITERAL_TOKENS, "", text):
        raise ValueError("not a Python literal")
    try:
        value = ast.literal_eval(_double_unknown_escapes(text.strip()))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"not a Python literal: {type(error).__name__}") from None
    if not _is_plain_json(value):
        raise ValueError("a Python literal that JSON cannot hold")
    return value


def _double_unknown_escapes(text: str) -> str:
    r"""'a\d' -> 'a\\d': the same string to Python, which warns about the first."""

    def double(match: "re.Match[str]") -> str:
        known = match.group(1) in "\n\\'\"abfnrtvxuUN"
        return match.group() if known else "\\" + match.group()

    return re.sub(r"(?s)\\(.)", double, text)


def _parse_loosely(text: str) -> Any:
    """JSON, also with raw control characters in its strings, or a Python literal. Else ValueError."""
    try:
        return _parse_json(text, _loose_decoder)
    except ValueError:
        return _parse_literal(text)


# Only a fence at the start of a line ends the block: the text may hold others.
_CODE_FENCE = r"(?s)\s*```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```\s*)?\Z"


def _copy_value(value: Any) -> Any:
    return value if type(value) in _SCALAR_TYPES else copy.deepcopy(value)


def _read_arguments(tool_input: Any) -> _JsonObject:
    """The arguments that a model gave, as a dict of the caller's own; '{"n": 1}' -> {"n": 1}.

    A text has to be one JSON object. It is read leniently where only one reading is possible (in a
    code fence, encoded once more, with raw control characters, as a Python literal), and never
    completed. None, "" and "null" are no arguments: {}. ValueError, with the reason, for the rest.
    """
    if type(tool_input) is dict:
        try:
            return {k: _copy_value(v) for k, v in tool_input.items()}
        except Exception as error:  # what a model of the caller's own put there
            raise ValueError(f"cannot be copied: {type(error).__name__}") from None
    if isinstance(tool_input, str):
        arguments = _read_arguments_text(tool_input)
    else:
        arguments = tool_input
    if arguments is None:
        return {}
    if type(arguments) is not dict:
        raise ValueError("not an object")
    return arguments


def _read_arguments_text(text: str) -> Any:
    if not text.strip():
        return None
    try:
        value = _parse_json(text)
    except ValueError as error:
        fence = re.match(_CODE_FENCE, text)
        try:
            value = _parse_loosely(fence.group(1) if fence else text)
        except ValueError:
            raise ValueError(str(error)) from None  # how JSON sees it is what helps
    if type(value) is str:
        value = _parse_loosely(value)
    return value


# -- the data classes ------------------------------------------------------------------------------

State = Literal["running", "model_ended", "succeeded", "budget_exhausted"]
Reason = Literal["stop", "refusal", "return_direct"]
# A status may also be any word that a caller gave to `AgentRun.close`, such as "denied".
Status = Union[
    Literal[
        "ok", "unknown_tool", "invalid_arguments", "tool_error", "duplicate_call",
        "invalid_response", "not_accepted", "unknown_outcome", "not_executed",
    ],
    str,
]  # fmt: skip


class _Data:
    """What the data classes share. `dataclass` could write these methods for each of them, but
    compiles them one by one, which would double the time of the import."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in dataclasses.fields(self) if f.compare]  # type: ignore[arg-type]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __repr__(self) -> str:
        names = [f.name for f in dataclasses.fields(self) if f.repr]  # type: ignore[arg-type]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"


def _media_type_of(data: bytes) -> Optional[str]:
    r"""What the first bytes say: b"\x89PNG..." -> "image/png"; None where they say nothing.

    These four are what every vendor takes, and a wrong type is refused for ever.
    """
    if data.startswith(b"\x89PNG"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(b"GIF8"):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


@dataclass(repr=False, eq=False)
class Image(_Data):
    """A picture, in a task or in what a tool returns: Image(open("shot.png", "rb").read()).

    Attributes:
        data: the bytes of the file. TypeError for anything else.
        media_type: what the first bytes say (png, jpeg, gif, webp), else what was given.
    """

    type = "Image"
    data: bytes
    media_type: str = "image/png"

    def __post_init__(self) -> None:
        if not isinstance(self.data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"Image takes the bytes of a picture, as from open(path, 'rb').read(); "
                f"got {type(self.data).__name__}"
            )
        self.data = bytes(self.data)
        self.media_type = _media_type_of(self.data) or str(self.media_type)

    def __repr__(self) -> str:
        return f"Image(<{len(self.data)} bytes>, {self.media_type!r})"


_SHOWN_ARGUMENTS = 10_000  # characters: a longer text is shown as it came, without reading it


@dataclass(repr=False, eq=False)
class AgentAction(_Data):
    """A call that the model proposed. Nothing has run.

    Attributes:
        tool: the tool's name, for example "lookup_stock".
        tool_input: the arguments: a dict, or a str with their JSON text as it came. Use
            `arguments` to read them.
        call_id: what ties the result to the call; the loop fills it in where it is "".
        log: the text that came beside the call.
        message: the assistant message it came in, untouched; one object for all actions of a reply.
        request: the number, within the turn and from 1, of the request that gave it; filled in by
            the loop.
    """

    type = "AgentAction"
    tool: str
    tool_input: Any
    call_id: str = ""
    log: str = ""
    message: Any = None
    request: int = 0

    @property
    def arguments(self) -> Optional[_JsonObject]:
        """The arguments as a dict of their own, read as the loop reads them: {"sku": "A1"}.

        None where `tool_input` is not one object; then the call will be `invalid_arguments`.
        """
        try:
            return _read_arguments(self.tool_input)
        except ValueError:
            return None

    def __str__(self) -> str:
        """lookup_stock(sku="A1")"""
        shown = self.tool_input
        if isinstance(shown, str) and len(shown) <= _SHOWN_ARGUMENTS:
            arguments = self.arguments
            shown = shown if arguments is None else arguments
        if isinstance(shown, dict):
            shown = _beginning_of(shown, 120)
            shown = ", ".join(f"{_safe_str(name)}={_preview(v)}" for name, v in shown.items())
        elif not isinstance(shown, str):
            shown = _preview(shown, 120)
        return f"{_one_line(_to_text(self.tool), 64)}({_one_line(shown, 120)})"


@dataclass(repr=False, eq=False)
class AgentStep(_Data):
    """An action and its result.

    Attributes:
        action: the call. It has an empty `tool` and `call_id` where a reply held none
            (`invalid_response`, `not_accepted`).
        observation: the tool's own return value; a text where the call failed or did not run.
        status: "ok", "unknown_tool", "invalid_arguments", "tool_error", "duplicate_call",
            "invalid_response", "not_accepted", "unknown_outcome", "not_executed", or the word that
            a caller gave to `AgentRun.close`.
    """

    type = "AgentStep"
    action: AgentAction
    observation: Any
    status: Status = "ok"

    def __str__(self) -> str:
        """lookup_stock(sku="A1") -> ok: 3"""
        is_call = self.action.call_id or self.action.tool
        subject = str(self.action) if is_call else "reply"
        return f"{subject} -> {self._show_result()}"

    def _show_result(self) -> str:
        observation = self.observation
        if type(observation) is not str:
            observation = _preview(observation, 120)
        return f"{_one_line(self.status, 40)}: {_one_line(observation, 120)}"


@dataclass(repr=False, eq=False)
class AgentFinish(_Data):
    """The model's claim to be done.

    Attributes:
        output: the answer, any value. Of a refusal its explanation.
        log: the text around the answer.
        message: the assistant message it came in, untouched.
        reason: "stop", "refusal", or "return_direct" where a tool's observation is the answer.
    """

    type = "AgentFinish"
    output: Any
    log: str = ""
    message: Any = None
    reason: Reason = "stop"

    def __str__(self) -> str:
        """finish: 3 left"""
        word = "finish"
        if self.reason != "stop":
            word = f"finish ({_one_line(self.reason, 40)})"
        output = self.output if type(self.output) is str else _preview(self.output, 240)
        return f"{word}: {_one_line(output, 240)}"


Event = Union[AgentAction, AgentStep, AgentFinish]  # what `stream` yields
Decision = Union[AgentFinish, AgentAction, List[AgentAction]]  # what a model returns


def _group_by_reply(steps: Iterable[AgentStep]) -> List[List[AgentStep]]:
    """Neighbouring steps whose actions came in one reply: [a1, a2, b1] -> [[a1, a2], [b1]].

    A step about a reply without calls stands alone; so does one of a run made by hand, without
    request and message.
    """
    groups: List[List[AgentStep]] = []
    for step in steps:
        if groups and _same_reply(groups[-1][-1].action, step.action):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _same_reply(one: AgentAction, other: AgentAction) -> bool:
    if not one.call_id or not other.call_id:
        return False
    return _from_same_request(one, other)


def _from_same_request(one: AgentAction, other: AgentAction) -> bool:
    """Told by the request's number; in a run made by hand by the message they share."""
    if one.request or other.request:
        return one.request == other.request
    return one.message is not None and one.message is other.message


def _check_task(task: Any) -> None:
    if isinstance(task, str):
        return
    is_list = isinstance(task, list) and len(task) > 0
    if not is_list or not all(isinstance(part, str) or _is_image(part) for part in task):
        raise TypeError(
            "a task is a str, a list of str and Image, or an AgentRun to go on with; "
            f"got {_preview(task)}"
        )


_UNKNOWN_OUTCOME = (
    "This call was interrupted: whether it took effect is not known. Find out before a repeat."
)
_NOT_EXECUTED = "This call was not executed."

# Guards the moment in which a pending call gets its one step: `close` may come from any thread.
_step_lock = allocate_lock()


class _RunInternals(_Data):
    """What others keep on a run, by name. It is neither compared, shown, copied nor written."""

    _stream: Any = None  # the stream that drives this run, see loop
    _lines: Optional[List[int]] = None  # where it stands in its file, see journal
    _encoded: Optional[Dict[Any, Any]] = None  # {adapter: the conversation as sent}, see models


@dataclass(repr=False, eq=False)
class AgentRun(_RunInternals):
    """The whole state of one run, which is one turn of a conversation.

    print(run) shows it as a tree: each request, its actions, their results, the finish.

    Attributes:
        task: a str, or a list of str and Image.
        steps: what was done, in order.
        pending: actions that were proposed and are not done, in order.
        started: the call ids among them whose execution has begun.
        finish: the model's finish, or None.
        state: "running" (also where the caller interrupted it), "model_ended", "succeeded" or
            "budget_exhausted".
        requests: how many were begun in this turn.
        usage: token counts, summed: {"input_tokens": 900, "output_tokens": 40, "cached_tokens": 0}.
            `input_tokens` is the whole input, `cached_tokens` the part of it read from a cache.
        history: the earlier turns, oldest first, as AgentRuns with an empty history of their own; a
            plain list, which the caller may shorten or replace.
    """

    type = "AgentRun"
    task: Any
    steps: List[AgentStep] = field(default_factory=list)
    pending: List[AgentAction] = field(default_factory=list)
    started: List[str] = field(default_factory=list)
    finish: Optional[AgentFinish] = None
    state: State = "running"
    requests: int = 0
    usage: Dict[str, int] = field(default_factory=dict)
    history: List["AgentRun"] = field(default_factory=list)

    @property
    def output(self) -> Any:
        """The finish's output, or None where there is no finish."""
        return None if self.finish is None else self.finish.output

    def close(self, action: AgentAction, observation: Any, status: str) -> AgentStep:
        """End a pending action without running it, or settle one that had started.

        run.close(action, "Not on a Sunday.", "denied"). The model sees the observation. May be
        called while a stream is suspended (the loop records and yields the step before it goes on),
        and from another thread while the tool runs (its own result is then dropped).

        Args:
            action: found by its `call_id`; ValueError where that is not pending.
            observation: any value, like a tool's.
            status: any word; "ok" where someone else did it. ValueError for none.
        """
        if not isinstance(status, str) or not status:
            raise ValueError("status is a word that says how the call ended, such as 'denied'")
        with _step_lock:
            step = AgentStep(self._find_pending(action), observation, status)
            self._move_to_steps(step)
        return step

    def follow_up(self, task: Any) -> "AgentRun":
        """The next turn of this conversation, with a budget of its own; works on any run.

        Pending calls are closed first: as `not_executed`, or `unknown_outcome` where they had
        started. TypeError for a task that is none, RuntimeError while a stream holds the run.
        """
        if self._stream is not None:
            raise RuntimeError("a stream holds this run: exhaust or close it before the next turn")
        _check_task(task)
        started = set(self.started)
        for action in list(self.pending):
            if action.call_id in started:
                self.close(action, _UNKNOWN_OUTCOME, "unknown_outcome")
            else:
                self.close(action, _NOT_EXECUTED, "not_executed")
        turn = AgentRun(task, history=[*self.history, dataclasses.replace(self, history=[])])
        turn._encoded = self._encoded
        self._encoded = None
        return turn

    @staticmethod
    def load(path: Union[str, "os.PathLike[str]"]) -> "AgentRun":
        """The last turn in a journal, its earlier turns as history. Reads only, needs no lock.

        ValueError, with path and line, where the file is no journal, is damaged, is newer than
        this version, or has no turns yet.
        """
        return _load_journal(path)

    def __str__(self) -> str:
        """The run as a tree of printable lines."""
        turn = f" (turn {len(self.history) + 1})" if self.history else ""
        lines = [f"task{turn}: {_one_line(_to_text(self.task))}"]
        request = 0
        for step in self.steps:
            if step.action.request > request:
                request = step.action.request
                lines.append(f"  request {request}")
            if step.action.call_id or step.action.tool:
                lines.append(f"    {step.action}")
            lines.append(f"      {step._show_result()}")
        for action in self.pending:
            if action.request > request:
                request = action.request
                lines.append(f"  request {request}")
            lines.append(f"    {action}")
            lines.append("      started" if action.call_id in self.started else "      pending")
        if self.finish is not None:
            if self.finish.reason != "return_direct":
                lines.append(f"  request {self.requests}")
            lines.append(f"    {self.finish}")
        lines.append(self._show_totals())
        return "\n".join(lines)

    def _show_totals(self) -> str:
        """model_ended; 3 requests; 900 input tokens (0 cached), 40 output tokens"""
        parts = [self.state, "1 request" if self.requests == 1 else f"{self.requests} requests"]
        if self.usage:
            cached = self.usage.get("cached_tokens", 0)
            parts.append(
                f"{self.usage.get('input_tokens', 0):,} input tokens ({cached:,} cached), "
                f"{self.usage.get('output_tokens', 0):,} output tokens"
            )
        return "; ".join(parts)

    def _find_pending(self, action: AgentAction) -> AgentAction:
        """The action itself where it is pending, else the first of the same `call_id`."""
        for pending in self.pending:
            if pending is action:
                return pending
        for pending in self.pending:
            if pending.call_id == action.call_id:
                return pending
        raise ValueError(f"the call {action.call_id!r} is not pending; see run.pending")

    def _record(self, step: AgentStep) -> bool:
        """Record the step of a pending action. False, and nothing, where the caller closed it."""
        with _step_lock:
            if not any(pending is step.action for pending in self.pending):
                return False
            self._move_to_steps(step)
            return True

    def _move_to_steps(self, step: AgentStep) -> None:
        # The step first: a call that Ctrl-C leaves both done and pending is known by its step,
        # one that is in neither list would be forgotten.
        self.steps.append(step)
        for index, pending in enumerate(self.pending):
            if pending is step.action:
                del self.pending[index]
                break
        if step.action.call_id in self.started:
            self.started.remove(step.action.call_id)

    def __getstate__(self) -> _JsonObject:
        # A copy is not held by a stream, and is encoded anew.
        return {name: v for name, v in self.__dict__.items() if not name.startswith("_")}


# -- as JSON ---------------------------------------------------------------------------------------

_CLASSES: Dict[str, Any] = {
    cls.type: cls for cls in (AgentAction, AgentStep, AgentFinish, AgentRun)
}
# The fields that hold objects of ours: lists of them, or one.
_LIST_FIELDS = {"steps": "AgentStep", "pending": "AgentAction", "history": "AgentRun"}
_OBJECT_FIELDS = {"action": "AgentAction", "finish": "AgentFinish"}


def _pack_value(name: str, value: Any) -> _JsonObject:
    """The entries of a JSON object that keep a value of any kind under `name`.

    Plain JSON is kept as it is: ("observation", 3) -> {"observation": 3}. Pictures are kept as
    such: {"observation_images": [...]}. The rest as the text that the model is shown:
    {"observation": "[1, 2]", "observation_as_text": true}.
    """
    if _is_plain_json(value):
        return {name: value}
    if not _images_in(value):
        return {name: _to_text(value), f"{name}_as_text": True}
    if _is_image(value):
        return {f"{name}_images": to_json(value)}
    items = [to_json(v) if _is_image(v) else _pack_value("value", v) for v in value]
    return {f"{name}_images": items}


def _unpack_value(entries: _JsonObject, name: str) -> Any:
    """The value that `_pack_value` kept under `name`; KeyError where there is none."""
    if f"{name}_images" not in entries:
        return entries[name]
    value = entries[f"{name}_images"]
    if not isinstance(value, list):
        return from_json(value)
    return [from_json(item) if "type" in item else item["value"] for item in value]


def to_json(x: Any) -> _JsonObject:
    """An action, step, finish, run or Image as a JSON object with a `type`.

    to_json(AgentFinish("3 left")) -> {"type": "AgentFinish", "output": "3 left", ...}. An
    observation or output that is not plain JSON is written as the text that the model is shown, and
    marked. TypeError for anything else.
    """
    if _is_image(x):
        return {"type": "Image", "media_type": x.media_type, "data": _encode_base64(x.data)}
    kind = _kind_of(x)
    if kind not in _CLASSES:
        names = ", ".join([*_CLASSES, "Image"])
        raise TypeError(f"to_json takes one of {names}; got {type(x).__name__}")
    entries: _JsonObject = {"type": kind}
    for f in dataclasses.fields(_CLASSES[kind]):
        value = getattr(x, f.name)
        if f.name in _LIST_FIELDS:
            entries[f.name] = [to_json(item) for item in value]
        elif f.name in _OBJECT_FIELDS:
            entries[f.name] = None if value is None else to_json(value)
        else:
            entries.update(_pack_value(f.name, value))
    return entries


def _encode_base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode("ascii")


def from_json(d: _JsonObject) -> Any:
    """The object that `to_json` wrote. A field that is missing takes its default, so that JSON of
    an older file is read. ValueError for anything else."""
    try:
        if d["type"] == "Image":
            import base64

            return Image(base64.b64decode(d["data"]), d["media_type"])
        cls = _CLASSES[d["type"]]
        values = {}
        for f in dataclasses.fields(cls):
            if f.name in d or f"{f.name}_images" in d:
                values[f.name] = _field_from_json(d, f.name)
        return cls(**values)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"not what to_json wrote ({type(error).__name__}: {error}): {_preview(d)}"
        ) from None


def _field_from_json(d: _JsonObject, name: str) -> Any:
    if name in _LIST_FIELDS:
        if not isinstance(d[name], list):
            raise TypeError(f"{name} is no list")
        return [_object_from_json(item, _LIST_FIELDS[name]) for item in d[name]]
    if name in _OBJECT_FIELDS:
        if name == "finish" and d[name] is None:
            return None
        return _object_from_json(d[name], _OBJECT_FIELDS[name])
    return _unpack_value(d, name)


def _object_from_json(d: Any, kind: str) -> Any:
    if d["type"] != kind:
        raise TypeError(f"expected {kind}")
    return from_json(d)


# == tools =========================================================================================

_MOST_ITEMS = 10_000  # of a generator that a tool returned


class _Mismatch(Exception):
    """A value does not fit. Says no more, so that it costs nothing; `_Faults` does, afterwards."""


class _Faults:
    """A place in the arguments, and what was found wrong so far. Only made after a failure."""

    def __init__(self, path: str, found: List[str]) -> None:
        self.path, self.found = path, found

    def at(self, key: Any) -> "_Faults":
        if type(key) is int:
            return _Faults("%s[%d]" % (self.path, key), self.found)
        key = _one_line(_to_text(key), 100)
        part = "." + key if key.isidentifier() else '["%s"]' % key.replace('"', "'")
        return _Faults(self.path + part, self.found)

    def add(self, text: str) -> None:
        self.found.append("%s: %s" % (self.path, text))


def _fail(where: Optional[_Faults], expected: str, value: Any, mend: str = "") -> None:
    """The one way to say that a value does not fit."""
    if where is None:
        raise _Mismatch
    where.add("expected %s, got %s%s" % (expected, _preview(value), mend))


def _closest(name: Any, names: Iterable[Any]) -> str:
    import difflib

    name, known = _to_text(name), [str(n) for n in names]
    near = difflib.get_close_matches(name[:200], known, 1)
    near = near or [n for n in known if n.lower() == name.lower()]
    listed = "; known: " + ", ".join(known[:50]) if known else ""
    return (', did you mean "%s"?' % near[0] if near else "") + listed


@dataclass(repr=False, eq=False)
class Tool(_Data):
    """A function that a model may call. `parameters`: a JSON Schema object. See `registry`.

    Made by hand, from a foreign schema say, it is called as `function(**arguments)`: the loop
    checks only that the arguments are an object, hold what `required` names and, where
    `additionalProperties` is false, nothing else.

    `return_direct`: its observation ends the run, where it was the reply's only call. `read_only`:
    it changes nothing; such calls of one reply run at the same time, and again after an
    interruption. `idempotent`: doing it twice is doing it once; it too runs again.
    """

    type = "Tool"
    name: str
    description: str
    parameters: _JsonObject
    function: Callable[..., Any]
    return_direct: bool = False
    read_only: bool = False
    idempotent: bool = False
    convert: Optional[Callable[..., Any]] = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = self.name if isinstance(self.name, str) else ""
        if not name.replace("-", "_").isidentifier() or len(name) > 64:
            what = "%r is no tool name: it is an identifier of at most 64 characters, or has '-'"
            raise ValueError(what % (self.name,))
        if not isinstance(self.parameters, dict) or not callable(self.function):
            raise TypeError("tool %s: parameters is a dict and function is callable" % name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def bind(self, arguments: _JsonObject, action: AgentAction, run: AgentRun) -> Any:
        """The (args, kwargs) to call the function with, or a str that says all that is wrong."""
        if self.convert:
            return self.convert(arguments, action, run)
        where, names = _Faults("args", []), self.parameters.get("properties") or {}
        for name in self.parameters.get("required") or ():
            if name not in arguments:
                where.at(name).add("missing")
        for name in arguments if self.parameters.get("additionalProperties") is False else ():
            if name not in names:
                where.at(name).add("unknown name" + _closest(name, names))
        return "; ".join(where.found) or ((), arguments)


Registry = Dict[str, Tool]
Model = Callable[[AgentRun, Registry], Decision]  # what `run` and `stream` take


if not _is_registered:
    del sys.modules[__name__]


# A converter, convert(value, strict, where), gives the value as the annotated Python type. `strict`
# takes only what needs no respelling: a union tries that first. `where` is None in passing, when
# _Mismatch is raised at once; with a `_Faults` each fault is noted and the walk goes on.


def _decoded(value: Any, kind: type, strict: bool) -> Any:
    """A list or dict that came as JSON text; anything else as it is."""
    if type(value) is str and not strict and value.lstrip()[:1] == ("[" if kind is list else "{"):
        with contextlib.suppress(ValueError, RecursionError):
            return _parse_json(value)
    return value


def _integer(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is int:
        return v
    if type(v) is float and not strict and v.is_integer():
        return int(v)
    if type(v) is str and not strict and re.match(r"\s*[+-]?[0-9]{1,1000}\s*\Z", v):
        return int(v)
    return _fail(where, "integer", v)


_DECIMAL = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z"


def _number(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is not float and not strict:
        if type(v) is int and v.bit_length() < 1024 or type(v) is str and re.match(_DECIMAL, v):
            v = float(v)
    return v if type(v) is float and v - v == 0 else _fail(where, "number", v)


def _boolean(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
    if type(v) is bool:
        return v
    word = v.strip().lower() if type(v) is str else v
    if not strict and type(v) in (int, str) and word in (0, 1, "false", "true"):
        return word in (1, "true")
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
    """What the walk gives for an annotation. `text`: the description from an Annotated; `exact`: a
    Python type whose values need no conversion."""

    def __init__(self, schema: _JsonObject, convert: Any, exact: Any = None) -> None:
        self.schema, self.convert, self.exact, self.text = schema, convert, exact, ""

    def also(self, **entries: Any) -> "_Type":
        """The same with more in its schema."""
        twin = copy.copy(self)
        twin.schema = {**self.schema, **entries}
        return twin

    def takes_null(self) -> bool:
        with contextlib.suppress(_Mismatch):
            return self.convert(None, True, None) is None
        return False


# "Any value" is spelled out: an empty schema means "object only" to some grammar converters, and a
# description without a type is refused by others (llama.cpp issue 19716).
_WORDS: List[_JsonObject] = [{"type": t} for t in ("string", "number", "boolean", "object")]
_ARRAY = {"type": "array", "items": {"anyOf": [*_WORDS, {"type": "null"}]}}
_ANY = _Type({"anyOf": [*_WORDS, _ARRAY, {"type": "null"}]}, _anything)
_NULL = _Type({"type": "null"}, _null)
_SIMPLE = {type(None): _NULL, bool: _Type({"type": "boolean"}, _boolean, bool),
           int: _Type({"type": "integer"}, _integer, int), str: _Type({"type": "string"}, _string, str),
           float: _Type({"type": "number"}, _number, float)}  # fmt: skip


def _date(t: Any, text: str) -> Any:
    return t.fromisoformat(text) if re.match(r"[0-9]{4}(-[0-9]{2}){2}\Z", text) else None


def _decimal(t: Any, v: Any) -> Any:
    if type(v) is str and not re.match(_DECIMAL, v):
        return None
    found = t(v if type(v) is str else repr(v))  # subtle: 0.1 stays 0.1
    return found if found.is_finite() else None


_INSTANT = r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)?)?\Z"


def _datetime(t: Any, text: str) -> Any:
    """ISO 8601, brought to the one form that datetime.fromisoformat takes on every Python."""
    m = re.match(_INSTANT, text)
    day, minute, second, part, zone = (g or "" for g in m.groups()) if m else ("",) * 5
    zone = "+00:00" if zone in ("Z", "z") else zone
    part = part and part.ljust(7, "0")
    return t.fromisoformat(day + "T" + (minute or "00:00") + (second or ":00") + part + zone)


# Types that JSON has no form of its own for, by name, since their modules are not imported here:
# what is expected, the schema, and how to read it.
_WRITTEN: Dict[str, Tuple[str, _JsonObject, Callable[[Any, Any], Any]]] = {
    "datetime.date": ("date like 2024-01-31", {"type": "string", "format": "date"}, _date),
    "datetime.datetime": (
        "date-time like 2024-01-31T09:30:00Z", {"type": "string", "format": "date-time"}, _datetime,
    ),
    "uuid.UUID": ("UUID", {"type": "string", "format": "uuid"}, lambda t, text: t(text)),
    "pathlib.Path": ("string (a path)", {"type": "string"}, lambda t, text: t(text)),
    "pathlib.PurePath": ("string (a path)", {"type": "string"}, lambda t, text: t(text)),
    "decimal.Decimal": ("number", {"type": "number"}, _decimal),
}  # fmt: skip


def _full_name(t: Any) -> str:
    return "%s.%s" % (str(t.__module__).split(".")[0], getattr(t, "__qualname__", ""))


def _written(t: Any) -> _Type:
    expected, schema, parse = _WRITTEN[_full_name(t)]
    exact = (str,) if schema["type"] == "string" else (int, float)

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        found = None
        if type(v) in exact or type(v) is str and not strict:
            with contextlib.suppress(ValueError, ArithmeticError):
                found = parse(t, v if strict or type(v) is not str else v.strip())
        return _fail(where, expected, v) if found is None else found

    return _Type(schema, convert)


def _choice(members: List[Tuple[Any, Any]], names: Iterable[Tuple[str, Any]] = ()) -> _Type:
    """An enum or Literal: (JSON value, Python value) pairs, and names that stand for a value."""

    def spelled(v: Any) -> str:
        v = int(v) if type(v) is float and v.is_integer() else v
        return v.strip().casefold() if isinstance(v, str) else _to_text(v)

    exact = {(type(v), v): python for v, python in members}
    loose: Dict[str, List[Any]] = {}
    for value, python in [*members, *names]:
        found = loose.setdefault(spelled(value), [])
        found += [] if any(p is python for p in found) else [python]
    values = [v for v, _ in members]
    kinds = {_SIMPLE[type(v)].schema["type"] for v in values}
    schema = {"type": kinds.pop()} if len(kinds) == 1 else {}

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        if type(v) in _SCALAR_TYPES:
            if (type(v), v) in exact:
                return exact[type(v), v]
            found = [] if strict else loose.get(spelled(v), [])
            if len(found) == 1:  # a guess between two is never made
                return found[0]
        if where is None:
            raise _Mismatch
        near = _closest(v, map(str, values)).partition("; known")[0] if type(v) is str else ""
        listed = ", ".join(json.dumps(x, ensure_ascii=False) for x in values[:50])
        return _fail(where, "one of " + listed, v, near)

    return _Type({**schema, "enum": values}, convert)


def _listing(make: Any, item: _Type, fixed: Optional[List[_Type]] = None) -> _Type:
    """A list, tuple or set. `fixed`: a type for each place of a tuple."""
    schema: _JsonObject = {"type": "array", "items": item.schema}
    if fixed is not None:  # prefixItems without items is refused by two large providers
        schema.update(minItems=len(fixed), maxItems=len(fixed))
    one, exact = item.convert, {item.exact}

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        v = _decoded(v, list, strict)
        if type(v) is not list:
            text = type(v) is str and v.strip()[:1] == "["
            one_item = "; a single item is written %s" % _preview([v])
            return _fail(where, "array", v, "; in brackets it must be JSON" if text else one_item)
        if fixed is not None and len(v) != len(fixed):
            return _fail(where, "array of %d items" % len(fixed), v)
        if where is None and fixed is None:
            if one is not _anything and (one is _number or not exact.issuperset(map(type, v))):
                v = [one(x, strict, None) for x in v]
        else:
            each = zip(v, fixed or itertools.repeat(item))
            v = [t.convert(x, strict, where and where.at(i)) for i, (x, t) in enumerate(each)]
        try:
            return make(v) if make else v
        except TypeError:
            return _fail(where, "array of items that a set can hold", v)

    return _Type(schema, convert)


def _mapping(key: _Type, value: _Type) -> _Type:
    schema: _JsonObject = {"type": "object"}
    if "enum" in key.schema:
        names = dict.fromkeys(key.schema["enum"], value.schema)
        schema.update(properties=names, required=[], additionalProperties=False)
    elif value is not _ANY:
        schema["additionalProperties"] = value.schema
    plain, one = key.convert is _string, value.convert

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        v = _decoded(v, dict, strict)
        if type(v) is not dict:
            text = type(v) is str and v.strip()[:1] == "{"
            return _fail(where, "object", v, "; in braces it must be JSON" if text else "")
        if where is None and plain:
            return v if one is _anything else {k: one(x, strict, None) for k, x in v.items()}
        found = {}
        for k, x in v.items():
            at = where and where.at(k)
            found[key.convert(k, False, at)] = one(x, strict, at)
        if len(found) < len(v) and not (where and where.found):
            return _fail(where, "object with distinct keys", v)
        return found

    return _Type(schema, convert)


def _record(
    fields: Dict[str, _Type], required: Sequence[str], make: Any = None, rest: Any = None
) -> _Type:
    """An object with named fields. `make`: what is called with them; `rest`: of what **options
    takes."""
    needed, known = frozenset(required), frozenset(fields)
    full = len(fields) if rest is None else sys.maxsize  # so many names, all known: none is missing
    table = {name: t.convert for name, t in fields.items()}
    other = rest and rest.convert
    exact = {name: None if t.exact is float else t.exact for name, t in fields.items()}
    # null for a field that may be left out, and takes no null, means "not given".
    skip = {name for name in known - needed if not fields[name].takes_null()}
    order = list(getattr(make, "_fields", ()))  # a NamedTuple may come as a list
    schema = {
        "type": "object",
        "properties": {name: t.schema for name, t in fields.items()},
        "required": [name for name in fields if name in needed],
        "additionalProperties": False if rest is None else True if rest is _ANY else rest.schema,
    }

    def convert(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
        if type(v) is not dict:
            v = _decoded(v, dict, strict)
            if type(v) is list and order and len(v) <= len(order):
                v = dict(zip(order, v))
            if type(v) is not dict:
                return _fail(where, "object", v)
        if where is None and (
            rest is None and not known.issuperset(v) or len(v) < full and not needed <= v.keys()
        ):
            raise _Mismatch  # before any child is looked at: an alternative fails early
        before, found = len(where.found) if where else 0, {}
        for k, x in v.items():
            if type(x) is exact.get(k, Any):
                found[k] = x
            elif where and rest is None and k not in known:
                where.at(k).add("unknown name" + _closest(k, fields))
            elif x is not None or k not in skip:
                found[k] = table.get(k, other)(x, strict, where and where.at(k))
        if where:
            for name in fields:
                if name in needed and name not in v:
                    where.at(name).add("missing")
            if len(where.found) > before:
                return None
        if make is None:
            return found
        try:
            return make(**found)
        except Exception as e:  # what the class itself demands, in its __post_init__ say
            if where is None:
                raise _Mismatch from None
            return where.add(_safe_str(e) or type(e).__name__)

    return _Type(schema, convert)


def _union(alternatives: List[_Type], built: Dict[str, _Type]) -> _Type:
    """Every alternative is tried exactly before any is tried leniently."""
    kinds: Dict[Any, Any] = {t.schema["type"]: t.exact for t in _SIMPLE.values()}
    kinds["array"] = list

    def misfit(t: _Type, v: Any) -> int:
        """How far off a value is, seen at its first level only: 0 fits, 99 is of another kind."""
        schema: Any = built.get(t.schema.get("$ref", "")[len("#/$defs/") :], t).schema
        if "enum" in schema:
            text = isinstance(v, str) and schema.get("type", "string") == "string"
            return 1 if text else 99
        kind = kinds.get(schema.get("type"), dict)
        given = type(v)
        if given is not kind and (given, kind) != (int, float):
            return 99
        names = schema.get("properties")
        if names is None:
            return 0
        wrong = [n for n in v if n not in names] + [n for n in schema["required"] if n not in v]
        other = [n for n in v if n in names and v[n] not in names[n].get("enum", [v[n]])]
        return min(len(wrong) + 50 * len(other), 98)  # a Literal tells alternatives apart

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
        off = [misfit(t, v) for t in alternatives]
        if min(off) < 99 and off.count(min(off)) == 1:
            return alternatives[off.index(min(off))].convert(v, strict, where)
        words = [str(t.schema.get("type", "object")) for t in alternatives]
        return _fail(where, " or ".join(dict.fromkeys(words)), v)

    return _Type({"anyOf": [t.schema for t in alternatives]}, convert)


def _noted(kind: _Type, note: Optional[str]) -> _Type:
    """With a description from a docstring; one from Annotated wins, one of the type's own not."""
    return kind.also(description=note) if note and not kind.text else kind


def _as_sent(value: Any) -> Any:
    """A default as the JSON that the model would have sent; _Mismatch where it has none."""
    made = hasattr(value, "__dataclass_fields__") and not isinstance(value, type)
    if made or isinstance(value, (enum.Enum, set, frozenset)):
        value = _to_jsonable(value)
    if isinstance(value, (list, tuple)):
        value = [_as_sent(v) for v in value]
    elif isinstance(value, dict):
        value = {k: _as_sent(v) for k, v in value.items()}
    elif _full_name(type(value)).startswith(("datetime.date", "uuid.UUID", "pathlib.")):
        value = getattr(value, "isoformat", value.__str__)()
    if not _is_plain_json(value):
        raise _Mismatch
    return value


_HEADING = (
    "((?:Keyword |Other )?(?:Arg|Argument|Parameter|Param|Attribute)s|\u53c2\u6570|Returns?|Yields?"
    "|Raises|Examples?|Notes?|References|See Also|Warnings?|Warns|Todo|\u8fd4\u56de|\u5f02\u5e38)"
    "[ \t]*[:\uff1a]\\Z"
)
_OF_PARAMETERS = "(keyword |other )?(arg|param|attribute|\u53c2\u6570)"
_ENTRY = "\\*{0,2}(\\w+)[ \t]*(?:\\(.*?\\))?[ \t]*[:\uff1a][ \t]*(.*)\\Z"
_FIELD = r":(param\w*|arg\w*|key\w*|type|returns?|rtype|raises?|yields)\b([^:]*):(.*)\Z"


def _docstring(doc: Optional[str]) -> Tuple[str, Dict[str, str]]:
    """(text before the first section, {parameter: description}); Google, NumPy or reST style."""
    about: List[str] = []
    notes: Dict[str, List[str]] = {}
    section: Optional[str] = None  # None: still the description
    note: List[str] = []  # what is appended to it belongs to nobody, at times
    depth = 0  # how far the entries of a section are indented: NumPy's are not
    lines = inspect.cleandoc(doc or "").splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        top = text if indent == 0 else ""
        underlined = re.match(r"---+\Z", below.strip()) and re.match(r"[A-Z][\w ]*\Z", top)
        heading, rest = re.match(_HEADING, top), re.match(_FIELD, top)
        if heading or underlined:
            section, note = (heading.group(1) if heading else top).lower(), []
            depth = -1 if heading else 0
        elif rest:
            words, section, note = rest.group(2).split(), "", []
            if words and rest.group(1)[0] in "pak":  # param, arg, key
                note = notes.setdefault(words[-1].lstrip("*"), [rest.group(3).strip()])
        elif section is None:
            about.append(line)
        elif section == "":  # reST: what is indented goes on
            note = note if indent else []
            note.append(text)
        elif re.match(_OF_PARAMETERS, section) and text.strip("-"):
            depth = indent if depth < 0 else depth
            entry = re.match(_ENTRY, text) if indent == depth > 0 else None
            if entry:
                note = notes.setdefault(entry.group(1), [entry.group(2)])
            elif indent == depth == 0:
                note = []
                notes.update({name.strip(" *"): note for name in text.split(":")[0].split(",")})
            elif indent > depth:
                note.append(text)
            elif indent == 0:
                section = "other"
    found = {name: " ".join(parts).strip() for name, parts in notes.items()}
    return "\n".join(about).strip(), {name: text for name, text in found.items() if text}


_LISTS = {list: None, tuple: tuple, set: set, frozenset: frozenset, dict: dict}
_ABSTRACT = {
    "Sequence": list, "MutableSequence": list, "Iterable": list, "Collection": list, "Set": set,
    "MutableSet": set, "Mapping": dict, "MutableMapping": dict,
}  # fmt: skip


class _Walk:
    """One walk over the annotations of one tool: each gives its JSON Schema and its converter. No
    second place knows types. What cannot come from JSON is a TypeError that names the place."""

    def __init__(self, local_names: _JsonObject) -> None:
        self.local_names = local_names
        self.open: List[Any] = []  # the named types under way, outermost first
        self.references: List[Tuple[Any, _Type]] = []  # those met again inside themselves
        self.built: Dict[str, _Type] = {}  # what these stand for, by name: $defs

    def hints(self, owner: Any) -> _JsonObject:
        """The annotations, strings resolved, also against what the tool's function closes over."""
        extras: _JsonObject = {"include_extras": True} if sys.version_info >= (3, 9) else {}
        try:
            return typing.get_type_hints(owner, None, self.local_names, **extras)
        except Exception as e:
            what = "cannot resolve the annotations of %s: %s: %s"
            raise TypeError(what % (owner.__name__, type(e).__name__, e)) from e

    def of(self, hint: Any, place: str) -> _Type:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        kind = origin or hint
        if hint is Any or hint is object or hint is inspect.Parameter.empty:
            return _ANY
        if hint is None or isinstance(hint, type) and hint in _SIMPLE:
            return _SIMPLE[hint or type(None)]
        if hasattr(hint, "__metadata__"):  # Annotated
            inner = self.of(hint.__origin__, place)
            text = next((m for m in hint.__metadata__ if isinstance(m, str)), "")
            found = inner.also(description=text) if text else inner
            found.text = text or inner.text
            return found
        if kind is typing.Final or getattr(origin, "_name", "") in ("Required", "NotRequired"):
            return self.of(args[0], place)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.of(hint.__supertype__, place)
        if origin is Union or type(hint).__name__ == "UnionType":
            return self.union([self.of(a, place) for a in args])
        if origin is Literal or isinstance(kind, enum.EnumMeta):
            members: List[Any] = [*(args or typing.cast(Any, hint))]
            names = [(m.name, m) for m in members if isinstance(m, enum.Enum)]
            values = [getattr(m, "value", m) for m in members]
            if members and all(type(v) in _SCALAR_TYPES for v in values):
                return _choice([*zip(values, members)], names)
            if members and len(names) == len(members):
                return _choice(names)
        if getattr(kind, "__module__", "") == "collections.abc":
            kind = _ABSTRACT.get(getattr(kind, "__name__", ""), kind)
        if isinstance(kind, type) and kind in _LISTS:
            return self.container(kind, args, place)
        if isinstance(hint, type) and _full_name(hint) in _WRITTEN:
            return _written(hint)
        if hasattr(hint, "__value__") and not args:  # type X = ...
            return self.named(hint, lambda: self.of(hint.__value__, place))
        if any(hasattr(hint, mark) for mark in ("__dataclass_fields__", "__total__", "_fields")):
            return self.named(hint, lambda: self.record(hint, place))
        name = hint if args else getattr(hint, "__name__", hint)
        what = "%s: %s has no JSON form; annotate it with one that has (str, int, a dataclass ...)"
        raise TypeError(what % (place, name))

    def union(self, found: List[_Type]) -> _Type:
        if any(t.schema is _ANY.schema for t in found):
            return _ANY
        # Before 3.11 get_type_hints wraps what has None as its default in one more Optional.
        if any(t.takes_null() for t in found if t is not _NULL):
            found = [t for t in found if t is not _NULL]
        return found[0] if len(found) == 1 else _union(found, self.built)

    def container(self, kind: Any, args: Tuple[Any, ...], place: str) -> _Type:
        if kind is dict:
            key, value = [self.of(a, place) for a in args] or (_SIMPLE[str], _ANY)
            if key.schema.get("type") not in ("string", "integer") and key is not _ANY:
                raise TypeError("%s: the keys of a JSON object are text: use str or int" % place)
            return _mapping(_SIMPLE[str] if key is _ANY else key, value)
        if kind is not tuple or not args or args[-1] is Ellipsis:
            return _listing(_LISTS[kind], self.of(args[0], place) if args else _ANY)
        fixed = [self.of(a, place) for a in args if a != ()]
        items = list({json.dumps(t.schema): t for t in fixed}.values())
        return _listing(tuple, self.union(items) if items else _ANY, fixed)

    def named(self, hint: Any, build: Callable[[], _Type]) -> _Type:
        """A type that may hold itself. Only where it does, it becomes a reference to $defs."""
        known, built = [r for h, r in self.references if h is hint], self.built
        if not known and any(h is hint for h in self.open):
            name = hint.__name__
            while name in built:
                name += "_"
            built[name] = _SIMPLE[int]  # a stand-in, until it is built

            def late(v: Any, strict: bool, where: Optional[_Faults]) -> Any:
                return built[name].convert(v, strict, where)

            known = [_Type({"$ref": "#/$defs/" + name}, late)]
            self.references.append((hint, known[0]))
        if known:
            return known[0]
        self.open.append(hint)
        found = build()
        self.open.pop()
        for h, reference in self.references:
            if h is hint:
                built[reference.schema["$ref"][len("#/$defs/") :]] = found
                return reference
        return found

    def record(self, hint: Any, place: str) -> _Type:
        """A dataclass, TypedDict or NamedTuple."""
        doc = hint.__dict__.get("__doc__") or ""
        about, notes = _docstring("" if doc.startswith(hint.__name__ + "(") else doc)
        hints = self.hints(hint)
        if hasattr(hint, "__total__"):
            always = getattr(hint, "__required_keys__", hints if hint.__total__ else ())
            marks = {n: getattr(typing.get_origin(h), "_name", "") for n, h in hints.items()}
            kinds = ((n, self.of(h, "%s, key %r" % (place, n))) for n, h in hints.items())
            also = [n for n, m in marks.items() if m == "Required"]
            needed = [n for n, m in marks.items() if n in always and m != "NotRequired"]
            found = _record({n: _noted(t, notes.get(n)) for n, t in kinds}, also + needed)
        else:
            parameters = list(inspect.signature(hint).parameters.values())
            found = _record(*self.fields(parameters, hints, notes, place + ", field"), hint)
        return found.also(description=about) if about else found

    def fields(
        self, parameters: Sequence[Any], hints: _JsonObject, notes: Dict[str, str], place: str
    ) -> Tuple[Dict[str, _Type], List[str]]:
        """The type of each parameter, and the names of the required ones."""
        found, required = {}, []
        for p in parameters:
            kind = self.of(hints.get(p.name, p.annotation), "%s %r" % (place, p.name))
            if p.default is None and not kind.takes_null():
                kind = self.union([kind, _NULL])
            if p.kind is p.VAR_POSITIONAL:
                kind = _listing(tuple, kind)
            kind = _noted(kind, notes.get(p.name))
            if p.default is not p.empty:
                with contextlib.suppress(_Mismatch):  # a default without a JSON form is left out
                    sent = _as_sent(p.default)
                    kind.convert(sent, False, None)
                    kind = kind.also(default=sent)
            elif p.kind is not p.VAR_POSITIONAL:
                required.append(p.name)
            found[p.name] = kind
        return found, required


def _injected(hint: Any) -> str:
    """What the loop fills in for a parameter, by the name of its class; else ""."""
    found = [getattr(t, "type", None) for t in typing.get_args(hint) or (hint,)]
    return next((str(t) for t in found if t in ("AgentAction", "AgentRun")), "")


def _closure(function: Any) -> _JsonObject:
    """The variables that a function closes over: its annotations may name them."""
    function = inspect.unwrap(function)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or ()):
        with contextlib.suppress(ValueError):  # not filled yet
            found[name] = cell.cell_contents
    return found


def _from_function(function: Any, **flags: bool) -> Tool:
    """A function as a Tool, its signature walked once."""
    bound, inner = 0, function
    hidden: Set[str] = set()
    while isinstance(inner, functools.partial):  # what it has bound is often a secret: not shown
        bound, hidden, inner = bound + len(inner.args), {*hidden, *inner.keywords}, inner.func
    name = getattr(inner, "__name__", "")
    if not inspect.isroutine(inner):
        raise TypeError("%s is no tool: pass a function, or a Tool made by hand" % _preview(inner))
    if name == "<lambda>":
        raise ValueError("a lambda has no name and no types: write it as a def to make it a tool")
    try:
        parameters = [*inspect.signature(inner).parameters.values()][bound:]
        parameters = [p for p in parameters if p.name not in hidden]
    except ValueError:
        raise TypeError("%s has no signature to read: wrap it in a def" % name) from None
    owner = inner.__qualname__.rpartition(".")[0]
    if owner and owner[-1] != ">" and parameters and parameters[0].name == "self":
        if parameters[0].annotation is inspect.Parameter.empty:
            what = "%s.%s is a method without its object: pass that of an instance"
            raise TypeError(what % (owner, name))
    walk = _Walk(_closure(inner))
    hints, (about, notes) = walk.hints(inner), _docstring(inner.__doc__)
    injected, shown, by_place = {}, [], []
    rest = more = None
    for p in parameters:
        hint = hints.get(p.name, p.annotation)
        if p.kind is p.VAR_KEYWORD:
            rest = walk.of(hint, "%s: parameter %r" % (name, p.name))
        elif p.kind is not p.VAR_POSITIONAL and _injected(hint):
            injected[p.name] = _injected(hint)
        else:
            shown.append(p)
        if p.kind is p.VAR_POSITIONAL:  # then all that stands before it goes by place too
            more, by_place = p.name, parameters[: parameters.index(p)]
        elif p.kind is p.POSITIONAL_ONLY:
            by_place.append(p)
    record = _record(*walk.fields(shown, hints, notes, "%s: parameter" % name), rest=rest)
    if walk.built:
        record = record.also(**{"$defs": {n: t.schema for n, t in walk.built.items()}})

    def convert(arguments: _JsonObject, action: AgentAction, run: AgentRun) -> Any:
        try:
            kwargs = record.convert(arguments, False, None)
        except (_Mismatch, RecursionError):
            where = _Faults("args", [])
            try:
                record.convert(arguments, False, where)
            except RecursionError:
                where.add("nested too deeply")
            return "; ".join(where.found[:50])
        for key, kind in injected.items():
            kwargs[key] = action if kind == "AgentAction" else run
        if not by_place and more is None:
            return (), kwargs
        args = [kwargs.pop(p.name, p.default) for p in by_place]
        return [*args, *kwargs.pop(more, ())], kwargs

    return Tool(name, about, record.schema, function, convert=convert, **flags)


@typing.overload
def tool(function: Callable[..., Any]) -> Tool: ...
@typing.overload
def tool(
    *, return_direct: bool = ..., read_only: bool = ..., idempotent: bool = ...
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Any = None, *, return_direct: bool = False, read_only: bool = False,
    idempotent: bool = False,
) -> Any:  # fmt: skip
    """`@tool` or `@tool(read_only=True)`: a function as a Tool, still callable as the function.

    Raises TypeError or ValueError, with the mend, for what cannot be a tool: a lambda, a method
    without its object, a parameter whose type has no JSON form.
    """
    flags = {"return_direct": return_direct, "read_only": read_only, "idempotent": idempotent}
    if function is None:
        return lambda function: _from_function(function, **flags)
    return _from_function(function, **flags)


def registry(tools: Any) -> Registry:
    """The plain dict {name: Tool} that the loop dispatches from.

    `tools`: functions and Tools, or such a dict. Raises ValueError for two tools of one name, and
    what `tool` raises.
    """
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        what = "tools is a list of functions, or a dict {name: Tool}; got %s"
        raise TypeError(what % _preview(tools))
    found: Registry = {}
    for t in tools.values() if isinstance(tools, dict) else tools:
        made: Tool = t if getattr(t, "type", None) == "Tool" else _from_function(t)
        if made.name in found:
            raise ValueError("two tools are called %r: rename one" % made.name)
        found[made.name] = made
    if isinstance(tools, dict) and [*tools] != [*found]:
        raise ValueError("the keys of a registry are the names of its tools: %s" % ", ".join(found))
    return found


# == loop ==========================================================================================

_FAILED = ("unknown_tool", "invalid_arguments", "tool_error")
_DONE = frozenset((list, dict, tuple) + _SCALAR_TYPES)  # what a tool returns that needs no settling


def _literal(text: str) -> Any:
    """One JSON value, or a Python literal that says the same; the text itself where neither."""
    try:
        return _parse_loosely(text)
    except ValueError:
        return text


def _arguments(given: Any, tool: Optional[Tool] = None) -> Any:
    """The arguments that a model gave, as a dict of the tool's own; or a str: why they are none."""
    try:
        return _read_arguments(given)
    except ValueError as e:
        why = str(e)
    keys = ", ".join('"%s"' % name for name in (tool and tool.parameters.get("properties")) or ())
    what = "args: expected one JSON object%s, got %s (%s)"
    return what % (" with " + keys if keys else "", _preview(given, 200), why)


class _Together:
    """Work done at the same time, at most 16 pieces at once, each in a copy of the context."""

    def __init__(self, works: List[Callable[[], Any]]) -> None:
        import contextvars
        import threading

        self.outcomes: List[Any] = [None] * len(works)  # (value, what it raised), once it ended
        self.ended = [threading.Event() for _ in works]
        todo = [(n, work, contextvars.copy_context()) for n, work in enumerate(works)][::-1]

        def labour() -> None:
            with contextlib.suppress(IndexError):  # nothing left to do
                while True:
                    n, work, context = todo.pop()
                    try:
                        self.outcomes[n] = context.run(work), None
                    except BaseException as e:
                        self.outcomes[n] = None, e
                    self.ended[n].set()

        try:
            for _ in range(min(16, len(works))):  # daemons: Ctrl-C does not wait for them
                threading.Thread(target=labour, daemon=True).start()
        except RuntimeError:
            labour()  # no more threads, or a Python without any

    def wait(self, n: int) -> Any:
        while not self.ended[n].wait(1):
            pass  # subtle: without a bound Ctrl-C would not get through on Windows
        value, error = self.outcomes[n]
        if error is not None:
            raise error
        return value


def _bounded(items: List[Any]) -> List[Any]:
    if len(items) > _MOST_ITEMS:
        items[_MOST_ITEMS:] = ["[... only the first %d items; there are more ...]" % _MOST_ITEMS]
    return items


def _settled(value: Any) -> Any:
    """What a tool returned, run to its end: awaited, or its items collected up to a bound."""
    if inspect.isgenerator(value):
        items = _bounded(list(itertools.islice(value, _MOST_ITEMS + 1)))
        value.close()
        return items
    if not inspect.isawaitable(value) and not inspect.isasyncgen(value):
        return value
    import asyncio

    async def outcome() -> Any:
        if inspect.isawaitable(value):
            return await value
        items: List[Any] = []
        async for item in value:
            items.append(item)
            if len(items) > _MOST_ITEMS:
                break
        return _bounded(items)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(outcome())
    # The caller is inside an event loop, which cannot be entered twice: a thread of its own.
    return _Together([lambda: asyncio.run(outcome())]).wait(0)


def _execute(call: Tuple[Tool, Sequence[Any], _JsonObject]) -> Tuple[Any, str]:
    """Call the function: (observation, status). Only what is no Exception gets out."""
    tool, args, kwargs = call
    try:
        value = tool.function(*args, **kwargs)
        return value if type(value) in _DONE else _settled(value), "ok"
    except Exception as e:
        text = _safe_str(e)
        return ("%s: %s" % (type(e).__name__, text) if text else type(e).__name__), "tool_error"


class _Unrecorded:
    """What stands for a journal where none is kept. `bool` takes what it is told and does nothing."""

    continued = False
    requested = proposed = started = done = finished = update = close = bool


class _Book:
    """What one driver knows of its conversation, so that no list is searched per step."""

    def __init__(self, run: AgentRun, log: Any) -> None:
        self.run, self.log = run, log
        ids = [s.action.call_id for turn in [*run.history, run] for s in turn.steps]
        self.ids = set(ids)
        self.calls = sum(map(bool, ids)) + len(run.pending)
        self.seen = len(run.steps)  # so many are written and yielded
        self.failures: Dict[Any, int] = {}
        for step in run.steps:
            if step.status in _FAILED:
                self.counted(step)

    def propose(self, actions: List[Any]) -> None:
        """Make a copy of each action pending, with its id and request."""
        run, own = self.run, {_to_text(a.call_id) for a in actions} if actions[1:] else set()
        for a in actions:
            self.calls = n = self.calls + 1
            name, call_id, log = a.tool, a.call_id, a.log
            if not type(name) is type(call_id) is type(log) is str:  # the model's mistakes
                name = _to_text(name) if isinstance(name, str) else ""
                call_id, log = _to_text(call_id or ""), _to_text(log)
            while not call_id or n > self.calls and (call_id in self.ids or call_id in own):
                call_id, n = "c%08d" % n, n + 1
            own.add(call_id)
            action = AgentAction(name, a.tool_input, call_id, log, a.message, run.requests)
            run.pending.append(action)
        self.log.proposed(run.pending)

    def prepare(self, action: AgentAction, tools: Registry) -> Any:
        """Found and checked: a call that can run, (tool, args, kwargs). Or what prevents it, which is
        a value too: its step."""
        if action.call_id in self.ids:
            what = "This call id was used before: it is not executed a second time."
            return AgentStep(action, what, "duplicate_call")
        self.ids.add(action.call_id)
        found = tools.get(action.tool)
        if found is None:  # without what models add to a name; a guess between two is never made
            name = action.tool.strip()
            found = tools.get(name) or tools.get(name[10:] if name[:10] == "functions." else "")
        if self.run.started and action.call_id in self.run.started:
            if found is None or not (found.read_only or found.idempotent):
                return AgentStep(action, _UNKNOWN_OUTCOME, "unknown_outcome")
        if found is None:
            known = _closest(action.tool, tools) if tools else "; there are no tools"
            what = "There is no tool %s%s" % (_preview(action.tool), known)
            return AgentStep(action, what, "unknown_tool")
        bound = _arguments(action.tool_input, found)
        if type(bound) is dict:
            bound = (found.convert or found.bind)(bound, action, self.run)
        if type(bound) is str:
            return AgentStep(action, bound, "invalid_arguments")
        return found, bound[0], bound[1]

    def start(self, ids: List[str]) -> None:
        """Their execution begins: written before, since what cannot be recorded must not run."""
        new = [i for i in ids if i not in self.run.started] if self.run.started else ids
        if new:
            self.log.started(new)
            self.run.started += new

    def add(self, step: AgentStep) -> None:
        if step.status in _FAILED:
            step.observation = self.counted(step)
        self.run._record(step)

    def counted(self, step: AgentStep) -> str:
        """What failed; from the second time on, that repeating it does not help (a model repeated
        one useless call 220 times). Only the same call that fails in the same way counts."""
        mark = "\n(The same call has now failed in the same way "
        text = _to_text(step.observation).split(mark)[0]
        key = step.action.tool, _to_text(step.action.tool_input), step.status, text
        n = self.failures[key] = self.failures.get(key, 0) + 1
        return text if n == 1 else text + mark + "%d times; repeating it will not help.)" % n

    def notice(self, observation: str, status: str, source: Any) -> None:
        """A step about a reply without a call to answer: unreadable, or a rejected finish."""
        action = AgentAction("", {}, "", source.log, source.message, self.run.requests)
        self.run.steps.append(AgentStep(action, observation, status))

    def news(self) -> List[AgentStep]:
        """The new steps, written: the loop's own, and those that the caller closed meanwhile."""
        fresh = self.run.steps[self.seen :]
        for step in fresh:
            self.ids.add(step.action.call_id)
            self.log.done(step)
            self.seen += 1
        return fresh

    def settle(self, tools: Registry) -> Iterator[AgentStep]:
        """Prepare, execute and record what is pending, in order; yield the steps."""
        run, at = self.run, 0
        together: Optional[_Together] = None
        plans = [(a, self.prepare(a, tools)) for a in run.pending]
        calls = [p for p in plans if type(p[1]) is tuple] if len(plans) > 1 else []
        if len(calls) > 1 and all(p[0].read_only for _, p in calls):
            self.start([a.call_id for a, _ in calls])
            together = _Together([functools.partial(_execute, p) for _, p in calls])
        try:
            for action, plan in plans:
                outcome: Any = None
                if together and type(plan) is tuple:
                    outcome = together.wait(at)
                    at += 1
                if not run.pending or run.pending[0] is not action:
                    continue  # closed by the caller meanwhile
                step: Any = plan
                if type(plan) is tuple:
                    if not together:
                        self.start([action.call_id])
                        outcome = _execute(plan)
                    step = AgentStep(action, *outcome)
                    if plan[0].return_direct and step.status == "ok" and len(plans) == 1:
                        if not (run.steps and _from_same_request(run.steps[-1].action, action)):
                            finish = step.observation, action.log, action.message
                            run.finish = AgentFinish(*finish, "return_direct")
                self.add(step)
                yield from self.news()
        except BaseException:  # of parallel calls, those that ended are recorded first
            for n, (action, _) in enumerate(calls):
                outcome = together and together.outcomes[n]
                if outcome and outcome[0] and _among(action, run.pending):
                    self.add(AgentStep(action, *outcome[0]))
            self.news()
            raise


def _among(action: AgentAction, actions: List[AgentAction]) -> bool:
    return any(a is action for a in actions)


def _carrying(error: BaseException, run: AgentRun) -> BaseException:
    """The exception with the run so far in `agent_run`."""
    with contextlib.suppress(Exception):  # one that takes no attributes
        error.agent_run = run  # type: ignore[attr-defined]
    return error


def _drive(
    model: Any, run: AgentRun, tools: Registry, max_requests: int, accept: Any, journal: Any
) -> Generator[Any, None, AgentRun]:  # fmt: skip
    """The loop. One call, one step, always; what goes wrong on the way is an observation."""
    if run.__dict__.setdefault("_stream", token := object()) is not token:
        raise RuntimeError("another stream holds this run: exhaust or close it first")
    log: Any = _Unrecorded()
    try:
        if journal is not None:
            log = _Journal(journal, run)
        if run.state in ("model_ended", "succeeded") or log.continued:
            return run
        book = _Book(run, log)
        while True:
            # 1. Every pending call is shown before any of them runs; the caller may close it.
            before = len(run.pending)
            for action in run.pending[:]:
                if len(run.pending) == before or _among(action, run.pending):
                    yield action
                    if len(run.steps) > book.seen:
                        yield from book.news()
            # 2. Each is prepared, executed and recorded.
            if run.pending:
                yield from book.settle(tools)
            # 3. A finish is a claim. Recorded before `accept` is asked, it can be asked again.
            if run.finish is not None:
                final = accept is None or run.finish.reason == "refusal"
                run.state = "model_ended" if final else "running"
                log.finished()
                reason = None if final else accept(run)
                if reason is None:
                    run.state = "model_ended" if final else "succeeded"
                    log.update()
                    yield run.finish
                    return run
                if not isinstance(reason, str) or not reason:
                    what = "accept returns None or the reason, a non-empty str; got %s"
                    raise TypeError(what % _preview(reason))
                rejected, run.finish = run.finish, None
                book.notice(reason, "not_accepted", rejected)
                yield from book.news()
                continue
            # 4. The budget is checked before it is spent; a request counts once it is begun.
            if run.requests >= max_requests:
                run.state = "budget_exhausted"
                log.update()
                return run
            log.requested()
            run.state, run.requests = "running", run.requests + 1
            # 5. The model is asked; its answer is recorded before anything follows from it.
            try:
                reply: Any = model(run, tools)
                if reply.__class__ is list and not reply:
                    raise InvalidResponse("The reply held neither a call nor an answer.")
            except Exception as e:
                if getattr(e, "type", None) != "InvalidResponse":
                    raise
                book.notice(getattr(e, "observation", ""), "invalid_response", e)
                yield from book.news()
                continue
            if getattr(type(reply), "type", None) == "AgentFinish":
                run.finish = AgentFinish(reply.output, reply.log, reply.message, reply.reason)
                continue
            actions = reply if isinstance(reply, list) else [reply]
            wrong = [a for a in actions if getattr(type(a), "type", None) != "AgentAction"]
            if wrong:
                what = "a model returns an AgentFinish, an AgentAction or a list of them; got %s%s"
                raise TypeError(what % ("a list with " * (actions is reply), _preview(wrong[0])))
            book.propose(actions)
    except StopIteration as e:  # from a generator it would look like a normal end (PEP 479)
        what = "StopIteration from the model or from accept: %s" % e
        raise _carrying(RuntimeError(what), run) from e
    except BaseException as e:
        raise _carrying(e, run)
    finally:
        log.close()
        del run.__dict__["_stream"]


def stream(
    model: Callable[[AgentRun, Registry], Any], task: Any, tools: Any = (), *,
    max_requests: int = 10,
    accept: Optional[Callable[[AgentRun], Any]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> Generator[Any, None, AgentRun]:  # fmt: skip
    """Run the loop; yield each AgentAction, AgentStep and AgentFinish as it happens. The
    generator's return value is the run.

    `model(run, tools)` returns an AgentFinish, an AgentAction or a list of actions, or raises
    InvalidResponse. `task`: a str, a list of str and Image, or an AgentRun to go on with. `tools`:
    functions, Tools or a registry. `max_requests`: an int from 0 up; bounds `run.requests` over
    every resume. `accept(run)` sees the run with its finish and returns None, or the reason why
    not. `journal`: a path; the run survives its process: run the same line again after a crash.

    What is yielded is already in the run (and the journal). Breaking off leaves the run to be taken
    up again. At the limit the stream just ends, with `run.state == "budget_exhausted"`. Raises
    TypeError and ValueError at once for wrong use, RuntimeError where another stream holds the
    run. What leaves a model, `accept` or the journal, and what leaves a tool and is no Exception,
    propagates with the run so far in its `agent_run`.
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
    model: Callable[[AgentRun, Registry], Any], task: Any, tools: Any = (), *,
    max_requests: int = 10,
    accept: Optional[Callable[[AgentRun], Any]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> AgentRun:  # fmt: skip
    """`stream`, drained: one result for every ending, with all steps.

    `run.state` says which: model_ended, succeeded (its answer passed `accept`) or budget_exhausted.
    `run.output` is the answer, None at the limit.
    """
    events = stream(model, task, tools, max_requests=max_requests, accept=accept, journal=journal)
    while True:
        try:
            next(events)
        except StopIteration as end:
            return typing.cast(AgentRun, end.value)


class Scripted:
    """A model that follows a script: the n-th request of a conversation gets the n-th decision.

    A decision is an AgentFinish, an AgentAction, a list of actions, or an exception, which is
    raised. Past the end: IndexError. Holds no state, so that one object serves many runs.
    """

    def __init__(self, decisions: Iterable[Any]) -> None:
        self.decisions = list(decisions)

    def __call__(self, run: AgentRun, tools: Registry) -> Any:
        n = sum(turn.requests for turn in [*run.history, run])
        if n > len(self.decisions):
            what = "request %d of the conversation, and the script has %d decisions"
            raise IndexError(what % (n, len(self.decisions)))
        decision = self.decisions[max(n, 1) - 1]
        if isinstance(decision, BaseException) or BaseException in getattr(decision, "__mro__", ()):
            raise decision
        return decision


# == journal =======================================================================================
#
# JSON Lines, one event a line, each written and synced before what follows from it. All have a
# `time`, for people only; `requests`, `usage` and `state` stand in an event where they changed.
#
#     {"event": "turn", "version": 1, "task"}                  a turn of the conversation begins
#     {"event": "requested", "requests"}                       a request is about to be made
#     {"event": "proposed", "message", "request", "actions"}   its calls, all or none of them
#     {"event": "started", "call_ids"}                         their execution begins
#     {"event": "done", "call_id", "observation", "status"}    a step; with "finish" where it ends
#                                                              the run, with "message", "log" and
#                                                              "request" where "call_id" is ""
#     {"event": "finished", "finish"}                          a finish; `accept` may follow
#     {"event": "updated"}                                     requests, usage or state changed

_VERSION = 1
_TYPES = {"version": int, "call_id": str, "call_ids": list, "actions": list, "status": str}
_TYPES.update(request=int, requests=int, usage=dict, state=str, tool=str, log=str)
_STATES = ("running", "model_ended", "succeeded", "budget_exhausted")


def _replay(path: str, data: bytes) -> List[AgentRun]:
    """The turns that complete lines tell; ValueError with path and line where one is damaged. Each
    has in `_lines` the numbers of the lines that began it and each step."""
    turns: List[AgentRun] = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            event = _parse_json(line.decode("ascii"))
            for part in (event, *event.get("actions", ())):
                for name, kind in _TYPES.items():
                    if type(part.get(name, kind())) is not kind:
                        raise TypeError("%s is no %s" % (name, kind.__name__))
            sum(event.get("usage", {}).values())  # numbers
            if event["event"] == "turn":
                if event["version"] > _VERSION:
                    what = "its format is newer: version %d; use the agentloop.py that wrote it"
                    raise ValueError(what % event["version"])
                turns.append(AgentRun(_unpack_value(event, "task")))
                turns[-1]._lines = [number]
            _apply(event, turns[-1], number)
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as e:
            told = path, number, type(e).__name__, _one_line(_safe_str(e))
            raise ValueError("%s, line %d: cannot be read (%s: %s)" % told) from None
    return turns


def _apply(event: _JsonObject, turn: AgentRun, number: int) -> None:
    kind = event["event"]
    if kind == "proposed":
        message = _unpack_value(event, "message")  # one object for all actions of the reply
        for a in event["actions"]:
            given = _unpack_value(a, "tool_input"), a["call_id"], a.get("log", "")
            turn.pending.append(AgentAction(a["tool"], *given, message, event["request"]))
    elif kind == "started":
        turn.started += [str(i) for i in event["call_ids"]]
    elif kind == "done" and event["status"]:  # no step is without a status
        if event["call_id"]:
            action = {a.call_id: a for a in turn.pending[::-1]}[event["call_id"]]
        else:
            notice = event["log"], _unpack_value(event, "message"), event["request"]
            action = AgentAction("", {}, "", *notice)
        turn._move_to_steps(AgentStep(action, _unpack_value(event, "observation"), event["status"]))
        turn.finish = None
        (turn._lines or []).append(number)
    elif kind not in ("turn", "requested", "finished", "updated"):
        raise ValueError("no event of this format: %s" % _preview(event))
    if "finish" in event:
        turn.finish = AgentFinish(**vars(from_json(event["finish"])))
    turn.requests = event.get("requests", turn.requests)
    turn.usage = event.get("usage", turn.usage)
    turn.state = event.get("state", turn.state)
    if turn.state not in _STATES:
        raise ValueError("no state of a run: %s" % _preview(turn.state))


def _load_journal(path: Any) -> AgentRun:
    with open(path, "rb") as file:
        turns = _replay(os.fspath(path), file.read())
    if not turns:
        raise ValueError("%s, line 1: a run not begun" % os.fspath(path))
    turns[-1].history = turns[:-1]
    return turns[-1]


def _told(run: AgentRun) -> _JsonObject:
    """What stands in an event where it changed."""
    return {"requests": run.requests, "usage": dict(run.usage), "state": run.state}


class _Journal:
    """A journal open for writing, brought together with a run: what either has more, the other
    takes over.

    Raises BlockingIOError where another process (or stream) holds the file, ValueError with path
    and line where it is damaged or another run's, OSError.
    """

    def __init__(self, path: Any, run: AgentRun) -> None:
        self.path, self.run, self.told = os.fspath(path), run, _told(run)
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        try:
            self.file = os.open(self.path, flags)
        except FileNotFoundError:
            self.file = os.open(self.path, flags | os.O_CREAT, 0o600)
            # A new file is safe only once its name is; not every system can say so of a folder.
            with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
                folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
                opened.callback(os.close, folder)
                os.fsync(folder)
        try:
            self._lock()
            self.identity = os.fstat(self.file)
            with open(self.file, "rb", closefd=False) as file:
                data = file.read()
            self.end = data.rfind(b"\n") + 1
            turns = _replay(self.path, data[: self.end])
            os.ftruncate(self.file, self.end)  # a torn line, or NUL bytes that a power cut left
            os.lseek(self.file, self.end, os.SEEK_SET)
            self._join(turns)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self.file)

    # the events, in the order of a request

    def requested(self) -> None:
        self._write({"event": "requested"}, requests=self.run.requests + 1, state="running")

    def proposed(self, actions: List[AgentAction]) -> None:
        first, entries = actions[0], []
        for a in actions:
            log = {"log": a.log} if a.log else {}
            given = _pack_value("tool_input", a.tool_input)
            entries.append({"tool": a.tool, **given, "call_id": a.call_id, **log})
        message = _pack_value("message", first.message)
        self._write({"event": "proposed", **message, "request": first.request, "actions": entries})

    def started(self, call_ids: List[str]) -> None:
        self._write({"event": "started", "call_ids": call_ids})

    def done(self, step: AgentStep) -> None:
        action = step.action
        event: _JsonObject = {"event": "done", "call_id": action.call_id}
        if not action.call_id:  # a notice about a reply that held no call
            event.update(
                _pack_value("message", action.message), log=action.log, request=action.request
            )
        event.update(_pack_value("observation", step.observation), status=step.status)
        if self.run.finish is not None:
            event["finish"] = to_json(self.run.finish)  # of a return_direct step: one event
        self._write(event)
        self.finish = self.run.finish

    def finished(self) -> None:
        if self.run.finish is not self.finish:
            self._write({"event": "finished", "finish": to_json(self.run.finish)})
            self.finish = self.run.finish

    def update(self) -> None:
        if self.told != _told(self.run):
            self._write({"event": "updated"})

    # the file

    def _write(self, event: _JsonObject, **soon: Any) -> None:
        told = {**_told(self.run), **soon}
        event.update((name, value) for name, value in told.items() if value != self.told[name])
        event["time"] = round(time.time(), 3)
        line = json.dumps(event).encode("ascii") + b"\n"
        # What cannot be found again is not recorded: FileNotFoundError where the file vanished.
        if not os.path.samestat(os.stat(self.path), self.identity):
            raise FileNotFoundError(errno.ENOENT, "another file is in its place", self.path)
        try:
            rest = line
            while rest:
                rest = rest[os.write(self.file, rest) :]
            os.fsync(self.file)
        except BaseException:  # a full disk: no half line may stay for the next to be joined to
            with contextlib.suppress(OSError):
                os.ftruncate(self.file, self.end)
                os.lseek(self.file, self.end, os.SEEK_SET)
            raise
        self.end += len(line)
        self.told = told

    def _lock(self) -> None:
        try:
            try:
                import fcntl

                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                import msvcrt

                os.lseek(self.file, 1 << 40, os.SEEK_SET)  # far behind the end: it can be read
                msvcrt.locking(self.file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                os.lseek(self.file, 0, os.SEEK_SET)
        except ImportError:
            pass  # a system without locks
        except (BlockingIOError, PermissionError):  # the second is how Windows says it
            what = "another process or stream holds the journal"
            raise BlockingIOError(errno.EAGAIN, what, self.path) from None

    # run and file brought together

    def _join(self, turns: List[AgentRun]) -> None:
        """Compare the run, turn by turn, with the file: one must be the beginning of the other."""
        run = self.run
        for at, turn in enumerate([*run.history, run]):
            self.run = turn
            if at == len(turns):
                turns.append(AgentRun(turn.task))
                self.told = _told(turns[at])
                self._write(
                    {"event": "turn", "version": _VERSION, **_pack_value("task", turn.task)}
                )
            self._join_turn(turns[at], at + 1 == len(turns))
        # A turn that the file continues with another one is only taken over.
        self.continued = len(turns) > len(run.history) + 1

    def _join_turn(self, disk: AgentRun, last: bool) -> None:
        run, n = self.run, min(len(self.run.steps), len(disk.steps))

        def need(true: Any, at: int, what: str) -> None:
            if not true:
                told = self.path, (disk._lines or [])[at], what
                text = "%s, line %d: the journal of another run, %s; give this one its own"
                raise ValueError(text % told)

        def same(a: Any, b: Any) -> bool:
            return a is b or bool(from_json(to_json(a)) == from_json(to_json(b)))

        def came(turn: AgentRun) -> Tuple[int, bool, int]:
            return len(turn.steps), bool(turn.pending or turn.finish), len(turn.started)

        need(same(AgentRun(run.task), AgentRun(disk.task)), 0, "with another task")
        for at in range(n):
            need(same(run.steps[at], disk.steps[at]), at + 1, "with another step")
        ahead, behind = (run, disk) if came(run) > came(disk) else (disk, run)
        later = ahead.steps[n:] + [AgentStep(a, None) for a in ahead.pending]
        ids = {s.action.call_id for s in later}
        need(ids.issuperset(a.call_id for a in behind.pending), n, "with other pending calls")
        if behind.finish and len(ahead.steps) == n:
            need(ahead.finish and same(ahead.finish, behind.finish), n, "with another finish")
        self.told, self.finish = _told(disk), disk.finish  # as last written
        if ahead is run:
            need(last, n, "which goes on with another turn")
            self._catch_up(disk, _group_by_reply(later), n)
            return
        if run.finish is None or disk.steps[n:]:
            run.finish = disk.finish
        run.steps += disk.steps[n:]
        if [a.call_id for a in run.pending] != [a.call_id for a in disk.pending]:
            run.pending[:] = disk.pending
        run.started[:], self.finish = disk.started, run.finish
        if disk.requests >= run.requests:
            run.requests, run.state = disk.requests, disk.state
            if sum(disk.usage.values()) >= sum(run.usage.values()):
                run.usage = dict(disk.usage)
        if last:
            self.update()

    def _catch_up(self, disk: AgentRun, replies: List[List[AgentStep]], n: int) -> None:
        """Write what the run has more than the file: replies, steps from the n-th on, finish."""
        run, known = self.run, {a.call_id for a in disk.pending}
        finish, run.finish = run.finish, None
        for reply in replies:
            ids = {s.action.call_id for s in reply}
            if ids - known - {""}:  # not in the file yet: the whole reply
                self.proposed([s.action for s in reply])
            for step in run.steps[n : n + len(reply)]:
                self.done(step)
            n, known = n + len(reply), known - ids
        begun = [i for i in run.started if i not in disk.started]
        if begun:
            self.started(begun)
        run.finish = finish
        self.finished()
        self.update()


# == models ========================================================================================
#
# A model is any callable that looks at a run and says what to do next. First text, then what the
# three protocols share (what was said, HTTP, streams, asking), then each protocol.

REACT_TEMPLATE = """Answer the question. You can use these tools:

{tools}

Write in this form, one action at a time, and stop after the Action Input:

Thought: what to do next
Action: one of {names}
Action Input: the arguments, as a JSON object
Observation: what came of it (this is given to you; never write it yourself)

These four may repeat. When you know the answer, or know that there is none:

Thought: why this is the answer
Final Answer: the answer

Trust the observations more than what you remember. Do not repeat a call that failed twice. When the
task cannot be done with these tools, say so in the Final Answer, with the reason.

Question: {task}
{steps}"""

_MARKER = (  # or, without a group, a code block: what stands in one is no marker
    r"(?ims)^```.*?(?:^```|\Z)|^[ \t>#*_]*(Thought|Action Input|Action|Observation|Final Answer)"
    r"[ \t]*\d*[*_ \t]*[:\uff1a][*_]*[ \t]*"
)
_NO_FORM = "No Action and no Final Answer was found. Write 'Action: ...' or 'Final Answer: ...'"


class ReActText:
    """Any text completion as a model: Thought / Action / Action Input / Observation / Final Answer.

    `complete(prompt) -> str` is any function. `template`: see REACT_TEMPLATE; {tools}, {names},
    {task} and {steps} are filled in. An input that is no object is the value of the tool's one
    required parameter. Raises TypeError where `complete` returns no str.
    """

    def __init__(self, complete: Callable[[str], str], template: str = REACT_TEMPLATE) -> None:
        self.complete, self.template = complete, template

    def prompt(self, run: AgentRun, tools: Registry) -> str:
        """The prompt as it would go out now. Only grows from request to request."""
        turns, told = [*run.history, run], []
        for turn in turns:
            if turn is not turns[0]:
                told.append("\nQuestion: %s\n" % _to_text(turn.task))
            for step in turn.steps:
                seen = _cut_middle(_to_text(step.observation), 20_000)
                told.append("%s\nObservation: %s\n" % (self._said(step.action), seen))
            if turn.finish is not None and turn.finish.reason != "return_direct":
                told.append("Final Answer: %s\n" % _to_text(turn.finish.output))
        about = "%s: %s Arguments: %s"
        shown = [about % (t.name, t.description, _to_text(t.parameters)) for t in tools.values()]
        parts = {"tools": "\n".join(shown) or "(none)", "names": ", ".join(tools)}
        parts.update(task=_to_text(turns[0].task), steps="".join(told))
        return re.sub(r"\{(tools|names|task|steps)\}", lambda m: parts[m.group(1)], self.template)

    def _said(self, action: AgentAction) -> str:
        """What the model wrote, up to its Action Input; made up for an action of another model."""
        if isinstance(action.message, str) and action.log:
            return action.log
        thought = "Thought: %s" % (action.log or "(nothing to read)")
        if not action.tool:
            return thought
        given = action.tool, _to_text(action.tool_input)
        return (thought + "\n" if action.log else "") + "Action: %s\nAction Input: %s" % given

    def __call__(self, run: AgentRun, tools: Registry) -> Any:
        reply = self.complete(self.prompt(run, tools))
        if not isinstance(reply, str):
            raise TypeError("complete(prompt) returns a str; got %s" % _preview(reply))
        # A draft in think tags is no part of it (R1 templates omit the opening tag; an open one
        # never ended).
        draft = r"(?s)\A(?:(?!<think>).)*?</think>|<think>.*?(</think>|\Z)"
        text = re.sub(draft, "", reply).strip()
        marks = [m for m in re.finditer(_MARKER, text) if m.group(1)]
        first = {m.group(1).lower(): m for m in reversed(marks)}
        action, final = first.get("action"), first.get("final answer")
        line = text[action.end() :].split("\n")[0] if action else ""
        name = line.strip(" \t\r*_`'\"[]()")
        if not name or name.lower() in ("none", "n/a", "null") and name not in tools:
            action = None
        if final and (action is None or final.start() < action.start()):
            return AgentFinish(text[final.end() :].strip().strip("*").strip(), text, reply)
        if action is None:
            return self._wrapped(text, reply, tools)
        after = [m for m in marks if m.start() > action.start()]
        given, end = "", action.end() + len(line)
        if after and after[0].group(1).lower() == "action input":
            stop = after[1].start() if after[1:] else len(text)
            given, end = _input(text[:stop], after[0].end())
        given = self._object(given, tools.get(name))
        return AgentAction(name, given, "", text[:end].rstrip(), reply)

    def _object(self, given: str, tool: Optional[Tool]) -> Any:
        """The arguments in an Action Input; a text where it cannot be told what they are."""
        value, schema = _literal(given), tool.parameters if tool else {}
        if type(value) is dict or given.strip().lower() in ("", "none", "null", "n/a"):
            return _dict(value)
        names = list(schema.get("required") or schema.get("properties") or ())
        broken = type(value) is str and value.lstrip()[:1] == "{"
        return given if len(names) != 1 or broken else {names[0]: value}

    def _wrapped(self, text: str, reply: str, tools: Registry) -> Any:
        """{"action": ..., "action_input": ...}, bare, fenced, or under one key more."""
        found = _dict(_literal(_input(text, 0)[0]))
        if len(found) == 1:
            found = _dict(*found.values()) or found
        name, given = _to_text(found.get("action") or ""), found.get("action_input")
        if name.lower() == "final answer":
            return AgentFinish(given, text, reply)
        if name not in tools:
            raise InvalidResponse(_NO_FORM, reply, text)
        return AgentAction(name, self._object(_to_text(given), tools[name]), "", text, reply)


def _input(text: str, start: int) -> Tuple[str, int]:
    """An Action Input, and where it ends: a fenced block, one JSON value, or all of the text."""
    fence = re.compile(r"(?s)\s*```[\w-]*[ \t]*\n(.*?)\n[ \t]*```").match(text, start)
    if fence:
        return fence.group(1), fence.end()
    given = text[start:].strip()
    if given[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            start = text.index(given[0], start)
            end = json.JSONDecoder().raw_decode(text, start)[1]
            return text[start:end], end  # what follows the object is ignored
    return given, len(text)


# -- what was said ---------------------------------------------------------------------------------


class _Conversation:
    """A conversation as one adapter sends it. It only grows: nothing is encoded a second time."""

    def __init__(self, left_out: Set[str], input_tokens: int) -> None:
        self.sent = bytearray()  # the messages up to the assistant's last, encoded
        self.open: List[Any] = []  # what the user says since: parts of one message to be
        self.tail = b""  # that message encoded, while nothing is added to it
        self.ids: Set[str] = set()
        self.turns: List[List[Any]] = []  # [task, steps, how many, the last, finish] in here
        self.keys: Set[str] = set()  # properties of the assistant's messages, beside the protocol's
        self.left_out = set(left_out)
        self.input_tokens = input_tokens  # of the last request

    def is_of(self, turns: List[AgentRun], left_out: Set[str]) -> bool:
        """Whether these turns begin with what is in here: the caller may have changed them."""
        for at, (turn, (task, steps, n, last, finish)) in enumerate(zip(turns, self.turns), 1):
            same = turn.task is task and turn.steps is steps and finish in (None, turn.finish)
            grown = len(steps) > n and at < len(self.turns)
            if not same or grown or len(steps) < n or n and steps[n - 1] is not last:
                return False
        return len(self.turns) <= len(turns) and self.left_out == left_out

    def put(self, message: bytes) -> None:
        self.sent += b", " + message if self.sent else message

    def unique(self, call_id: str, legal: str) -> str:
        """The id; or, where it cannot be sent, one that every provider takes, from no chance."""
        n = len(self.ids) + 1
        while not re.match(legal, call_id) or call_id in self.ids:
            call_id, n = "c%08d" % n, n + 1
        self.ids.add(call_id)
        return call_id


def _in_call_order(group: List[AgentStep], ids: List[Any]) -> List[AgentStep]:
    """Steps come in the order in which they ended, a closed one before its time; the protocols want
    the order of the calls. The server's ids tell it, and the made-up ones grow."""
    left, order = list(group), []
    for call_id in ids if len(ids) == len(group) else ():
        same = [s for s in left if s.action.call_id == call_id]
        made = sorted(left, key=lambda s: (s.action.call_id in ids, s.action.call_id))
        order.append((same or made)[0])
        left.remove(order[-1])
    return order + left


def _encoded(value: Any) -> bytes:
    """Strict UTF-8 JSON: non-ASCII kept, no NaN, no lone surrogates."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _strict_arguments(given: Any) -> str:
    """Arguments as a strict parser takes them: as they came, else what was understood, else {}."""
    with contextlib.suppress(ValueError, RecursionError):  # a lone surrogate is a ValueError
        found = _parse_json(given) if isinstance(given, str) else None
        if type(found) is dict and _is_plain_json(found):
            json.dumps(found, ensure_ascii=False).encode("utf-8")
            return str(given)
    found = _arguments(given)
    return _encoded(found).decode() if type(found) is dict and _is_plain_json(found) else "{}"


def _dicts(value: Any) -> List[_JsonObject]:
    """The objects in what should be a list of them."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _dict(value: Any) -> _JsonObject:
    return value if isinstance(value, dict) else {}


def _text_of(content: Any, kind: str = "text") -> str:
    """The text of a message's content: a str, or its parts of one type, joined as they are."""
    if isinstance(content, str):
        return content
    parts = [p.get("text") for p in _dicts(content) if p.get("type") == kind]
    return "".join(p for p in parts if isinstance(p, str))


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _name_of(value: Any) -> str:
    """A name as it came; a stand-in where there is none, since the call needs its result."""
    return value if isinstance(value, str) and value else "unknown"


# -- HTTP ------------------------------------------------------------------------------------------
#
# HTTP/1.1 over sockets. http.client waits for the whole timeout in one read, which Ctrl-C
# does not interrupt on Windows; it knows no deadline, and sets no bound to interim replies and
# trailers.

_MAX_REPLY = 64 << 20  # bytes of a reply, as it is unpacked
_MAX_LINE = 64 << 10  # bytes of a line of a reply's head
_MAX_HEADERS = 100
_MAX_INTERIM = 20  # replies 1xx before the one that counts
_MAX_CONNECT = 30.0  # seconds for one address of a host
_MAX_READ = 2.0  # seconds in one read: on Windows Ctrl-C gets through between two reads
_MAX_DRAIN = 0.2  # seconds for the end of a body whose content is complete
_NO_LIMIT = float("inf")

_URL = r"""(?xi)
    (https?) ://
    (?: ([^/?#]*) @ )?                          # login; a password may hold another @
    ( \[ [0-9a-f:.%]+ \] | [^][/?#@:\s]+ )      # host
    (?: : ([0-9]{1,5}) )?                       # port
    ( / [^?#\x00-\x20\x7f]* )?                  # path
    (?: \? ([^#\x00-\x20\x7f]*) )?              # query
    (?: \# .* )? \Z
"""


class _Url:
    """The parts of a URL: "https://u:p@h/v1?k=1" -> https, u:p, h, 443, /v1, k=1.

    Raises ValueError, which shows no login and no query, for anything but http and https.
    """

    def __init__(self, url: str) -> None:
        match = re.match(_URL, url)
        if match is None or int(match.group(4) or 0) > 65535:
            shown = _public(url)
            raise ValueError(f"base_url is like http://127.0.0.1:8080/v1; got {shown!r}")
        scheme, self.login, host, port, self.path, self.query = match.groups(default="")
        self.scheme = scheme.lower()
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        self.bracketed_host = host  # "[::1]", where `host` is "::1"
        self.host = host.strip("[]").lower()
        default_port = {"http": 80, "https": 443}[self.scheme]
        self.port = int(port or default_port)
        self.authority = host
        if self.port != default_port:
            self.authority += f":{port}"

    @property
    def origin(self) -> str:
        """What is public and comes before the path: "https://h"."""
        return f"{self.scheme}://{self.authority}"

    @property
    def target(self) -> str:
        """What the server is asked for: "/v1?k=1"."""
        path = self.path or "/"
        return f"{path}?{self.query}" if self.query else path


def _public(url: str) -> str:
    """A URL, or what was meant as one, without its login, query and fragment."""
    match = re.match(_URL, url)
    if match is None:
        return re.sub(r"(?s)\A(\w*:/*)?(?:.*@)?([^?#]*).*", r"\1\2", url)
    scheme, _, host, port, path, _ = match.groups(default="")
    return f"{scheme}://{host}:{port}{path}" if port else f"{scheme}://{host}{path}"


def _endpoint(base_url: str, path: str) -> str:
    """The URL to post to: ("http://h", "/responses") -> "http://h/v1/responses".

    `path`: /chat/completions, /responses or /messages; all are below /v1.
    """
    url = _Url(base_url.strip())
    given = re.sub("/+", "/", url.path).rstrip("/")
    if not given.endswith(path):
        is_without_v1 = path == "/messages" and not given.lower().endswith("/v1")
        if not given or is_without_v1:
            given += "/v1"
        given += path
    endpoint = f"{url.scheme}://"
    if url.login:
        endpoint += url.login + "@"
    endpoint += url.authority + given
    if url.query:
        endpoint += "?" + url.query
    return endpoint


class _NotConnected(ConnectionError):
    """No connection was made. `retryable`: whether waiting may help."""

    def __init__(self, text: str, retryable: bool = True) -> None:
        super().__init__(text)
        self.retryable = retryable


# proxies


class _Proxy:
    """A proxy as people write it: "http://user:pass@127.0.0.1:3128", "127.0.0.1:3128".

    A password may hold any character, escaped or not.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        scheme, mark, rest = self.text.rpartition("://")
        login, _, place = rest.rpartition("@")
        match = re.match(r"(\[[^]]+\]|[^][:/?#]+)(?::(\d+))?/?\Z", place)
        if match is None:  # not shown: it may hold a password
            what = "the proxy's address is not like http://127.0.0.1:3128"
            raise _NotConnected(what, retryable=False)
        if mark and scheme.lower() != "http":
            what = f"{scheme}://{place} is a kind of proxy that is not supported"
            raise _NotConnected(what, retryable=False)
        self.host = match.group(1).strip("[]")
        self.port = int(match.group(2) or 80)
        self.headers: Dict[str, str] = {}
        if login:
            self.headers["Proxy-Authorization"] = "Basic " + _encode_login(login)


def _encode_login(login: str) -> str:
    """As HTTP sends it: "us%40er:pass" -> base64 of "us@er:pass"; "user" is "user:"."""
    from urllib.parse import unquote

    if ":" not in login:
        login += ":"
    return _encode_base64(unquote(login).encode())


def _find_proxy(url: _Url) -> Optional[_Proxy]:
    """The proxy on the way to a server: of the environment, else of the system. None: directly.

    Loopback is always reached directly. Raises _NotConnected for a proxy of another kind.
    """
    if url.host in ("localhost", "::1") or re.match(r"127(\.\d+){3}\Z", url.host):
        return None
    from urllib.request import getproxies, getproxies_environment, proxy_bypass

    proxies = getproxies_environment()
    if proxies:
        is_direct = _is_excepted(url.host, url.port, proxies.get("no", ""))
    else:
        # Of the registry or of macOS. Python before 3.10.5 makes "https://127.0.0.1:3128" of
        # the registry's "127.0.0.1:3128".
        for scheme, text in getproxies().items():
            proxies[scheme] = re.sub("(?i)^https://", "http://", text)
        is_direct = bool(proxy_bypass(url.host))
    found = proxies.get(url.scheme) or proxies.get("all")
    if is_direct or not found:
        return None
    return _Proxy(found)


def _proxy_logins() -> List[str]:
    """The logins of all proxies that are set: ["user:pass"]."""
    from urllib.request import getproxies

    places = [text.rpartition("@")[0] for text in getproxies().values()]
    return [place.rpartition("://")[2] for place in places if place]


def _is_excepted(host: str, port: int, no_proxy: str) -> bool:
    """True where NO_PROXY names the host: ("10.1.2.3", 80, "a.test, 10.0.0.0/8") -> True."""
    entries = re.split(r"[,\s]+", no_proxy.lower())
    return any(_names_host(entry, host, port) for entry in entries if entry)


def _names_host(entry: str, host: str, port: int) -> bool:
    """One entry of NO_PROXY: a network, an address, a name, a domain or a wildcard; a port."""
    import fnmatch
    import ipaddress

    with_port = re.match(r"(\[[^]]*\]|[^:]*):(\d+)\Z", entry)
    if with_port:
        entry = with_port.group(1)
        if int(with_port.group(2)) != port:
            return False
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        return ipaddress.ip_address(host) in network
    except ValueError:  # one of them is a name
        name = entry.lstrip(".")
        return fnmatch.fnmatchcase(host, name) or host.endswith("." + name)


# connections


class _Connection:
    """A socket to a server or a proxy. One thread keeps it between requests, under `key`."""

    _socket: Any = None

    def __init__(self, key: Any, timeout: float, deadline: float) -> None:
        self.key = key
        self._data = b""  # received
        self._at = 0  # how much of that is read
        self._process = os.getpid()
        self.set_limits(timeout, deadline)

    def set_limits(self, timeout: float, deadline: float) -> None:
        """`timeout`: the longest silence; `deadline`: an instant of time.monotonic()."""
        self._timeout = timeout
        self._deadline = deadline

    def open(self, host: str, port: int) -> None:
        """Connect to the first address of the host that answers."""
        import socket

        failure = OSError("the name has no address")
        address: Any
        for *_, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
            limit = min(_MAX_CONNECT, self._time_left(time.monotonic()))
            try:
                self._socket = socket.create_connection(address[:2], limit)
                break
            except OSError as error:
                failure = error
                if isinstance(error, socket.timeout) and not error.errno:
                    failure = OSError(f"timed out after {limit:g} s")
        else:
            raise failure
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A NAT box forgets what is silent. Probes prevent that, or show that it has happened.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE"):  # the second on macOS
            if hasattr(socket, name):
                self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), 45)

    def start_tls(self, host: str, context: Any) -> None:
        import ssl

        # The default context counts SSL_CERT_FILE and SSL_CERT_DIR.
        context = context or ssl.create_default_context()
        self._socket.settimeout(min(_MAX_CONNECT, self._time_left(time.monotonic())))
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def __del__(self) -> None:
        self.close()

    def is_idle(self) -> bool:
        """True where another request may follow: nothing has come since the last reply.

        subtle: a forked child must not use its parent's connection.
        """
        if self._at < len(self._data) or self._process != os.getpid():
            return False
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except OSError as error:
            return type(error).__name__ in ("BlockingIOError", "SSLWantReadError")
        return False

    def send(self, data: bytes) -> None:
        for start in range(0, len(data), 1 << 20):  # the time limit is for each piece
            self._socket.settimeout(self._time_left(time.monotonic()))
            self._socket.sendall(data[start : start + (1 << 20)])

    def _time_left(self, since: float) -> float:
        """Seconds that may still be waited. `since`: when something was last received."""
        left = min(since + self._timeout, self._deadline) - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"silence for {self._timeout:g} s, or the deadline has passed")
        return left

    def _receive(self, size: int = 65536) -> bytes:
        """Some bytes, at most `size`; b"" where the server has closed the connection."""
        import socket

        since = time.monotonic()
        while True:
            self._socket.settimeout(min(self._time_left(since), _MAX_READ))
            try:
                data: bytes = self._socket.recv(size)
                return data
            except socket.timeout as error:
                if error.errno:  # the system's: keep-alive probes were not answered
                    raise

    def _fill(self) -> None:
        """Receive more, behind what is not read yet."""
        received = self._receive()
        if not received:
            raise ConnectionResetError("the server closed the connection")
        self._data = self._data[self._at :] + received
        self._at = 0

    def read_line(self) -> bytes:
        r"""A line of a head, without its end: b"HTTP/1.1 200 OK"."""
        while True:
            end = self._data.find(b"\n", self._at)
            if end >= 0:
                line = self._data[self._at : end]
                self._at = end + 1
                return line.rstrip(b"\r")
            if len(self._data) - self._at > _MAX_LINE:
                import http.client  # subtle: up here it would cost as much as the line

                raise http.client.LineTooLong("header line")
            self._fill()

    def read_exactly(self, size: int) -> Iterator[bytes]:
        """So many bytes, in chunks as they come."""
        while size > 0:
            if self._at == len(self._data):
                self._fill()
            chunk = self._data[self._at : self._at + size]
            self._at += len(chunk)
            size -= len(chunk)
            yield chunk

    def read_rest(self) -> Iterator[bytes]:
        """All until the server closes the connection."""
        chunk = self._data[self._at :] or self._receive()
        while chunk:
            yield chunk
            chunk = self._receive()

    def read_head(self) -> "_Head":
        """The head of the reply; interim replies (1xx) are skipped."""
        import http.client

        for _ in range(_MAX_INTERIM):
            line = self.read_line()
            match = re.match(rb"HTTP/1\.(\d) (\d{3})(?!\d)", line)
            if match is None:
                raise http.client.BadStatusLine(_preview(line))
            head = _Head(int(match.group(2)), self.read_headers())
            head.is_old = match.group(1) == b"0"
            if head.status >= 200:
                return head
        raise http.client.HTTPException(f"more than {_MAX_INTERIM} interim replies")

    def read_headers(self) -> Dict[str, str]:
        """Header lines up to the blank one; the names in lower-case."""
        import http.client

        headers: Dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            line = self.read_line().decode("latin-1")
            if not line:
                return headers
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raise http.client.HTTPException(f"more than {_MAX_HEADERS} headers")

    def read_body(self, head: "_Head") -> Iterator[bytes]:
        if head.status in (204, 304):
            return
        if "chunked" in head.headers.get("transfer-encoding", "").lower():
            yield from self.read_chunked()
        elif head.length is not None:
            yield from self.read_exactly(head.length)
        else:
            yield from self.read_rest()

    def read_chunked(self) -> Iterator[bytes]:
        import http.client

        while True:
            try:
                size = int(self.read_line().partition(b";")[0], 16)
            except ValueError:
                raise http.client.HTTPException("a chunk without its size") from None
            if size <= 0:
                self.read_headers()  # trailers
                return
            yield from self.read_exactly(size)
            self.read_line()


class _Head:
    """Status and headers of a reply; what they say of its body and of the connection."""

    is_old = False  # HTTP/1.0

    def __init__(self, status: int, headers: Dict[str, str]) -> None:
        self.status = status
        self.headers = headers

    @property
    def length(self) -> Optional[int]:
        """The length of the body in bytes, where a header says it."""
        given = self.headers.get("content-length", "")
        if not re.match(r"[0-9]{1,15}\Z", given):
            return None
        return int(given)

    @property
    def keeps_connection(self) -> bool:
        """True where another request may follow on the same connection."""
        connection = self.headers.get("connection", "").lower()
        has_end = self.length is not None or "transfer-encoding" in self.headers
        if self.is_old:
            return has_end and "keep-alive" in connection
        return (has_end or self.status in (204, 304)) and "close" not in connection


class _IncomingBody:
    """The body of a reply in chunks as they come. Once it is read, its connection is kept."""

    def __init__(
        self, connection: _Connection, head: _Head, kept: Dict[Any, _Connection]
    ) -> None:  # fmt: skip
        self._connection = connection
        self._chunks = connection.read_body(head)
        self._can_be_kept = head.keeps_connection
        self._kept = kept
        self._is_at_end = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            self._finish()
            raise
        except BaseException:
            self.close()
            raise

    def _finish(self) -> None:
        if self._can_be_kept and not self._is_at_end:
            self._is_at_end = True
            self._kept[self._connection.key] = self._connection
        self.close()

    def drain(self) -> None:
        """Read the end of a body whose content is complete. Nothing else is waited for."""
        if not self._can_be_kept:
            return
        self._connection.set_limits(_MAX_DRAIN, time.monotonic() + _MAX_DRAIN)
        with contextlib.suppress(Exception):  # the reply is complete all the same
            for _ in self:
                pass

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        if not self._is_at_end:
            self._connection.close()


class _Connections:
    """transport(method, url, headers, body, timeout) -> (status, headers, chunks of the body).

    The names of the headers come back in lower-case. `timeout`: the longest silence in seconds;
    `deadline`: the instant of time.monotonic() at which all has to be read. One connection is
    kept per thread, process and server. Loopback is reached directly, else the proxies of the
    environment or of the system count. Redirects are not followed. Raises OSError
    (ConnectionError, TimeoutError, ...) and http.client.HTTPException.
    """

    def __init__(self, ssl_context: Any = None) -> None:
        self.ssl_context = ssl_context

    def __getstate__(self) -> _JsonObject:
        return {"ssl_context": self.ssl_context and _NOT_PICKLED}

    def __call__(
        self,
        method: str,
        url: str,
        headers: Dict[str, str],
        body: Optional[bytes],
        timeout: float,
        deadline: float = _NO_LIMIT,
    ) -> Tuple[int, Dict[str, str], Iterator[bytes]]:
        place = _Url(url)
        proxy = _find_proxy(place)
        own = {"Host": place.authority, "Accept-Encoding": "identity"}
        if body is not None:
            own["Content-Length"] = str(len(body))
        target = place.target
        if proxy and place.scheme == "http":
            target = place.origin + place.target
            own.update(proxy.headers)
        given = {name.lower() for name in headers}
        own = {name: value for name, value in own.items() if name.lower() not in given}
        data = _encode_head(method, target, {**own, **headers}) + (body or b"")
        kept = self._kept()
        connection = kept.pop((place.origin, proxy and proxy.text), None)
        if connection and connection.is_idle():
            connection.set_limits(timeout, deadline)
            with contextlib.suppress(ConnectionError):  # the server may close it just now
                return self._ask(connection, data, kept)
        connection = self._connect(place, proxy, timeout, deadline)
        return self._ask(connection, data, kept)

    def _kept(self) -> Dict[Any, _Connection]:
        """The connections of this thread, by server and proxy; closed when it ends."""
        import threading

        own = self.__dict__.setdefault("_own", threading.local())
        kept: Dict[Any, _Connection] = own.__dict__.setdefault("kept", {})
        return kept

    def _connect(
        self, place: _Url, proxy: Optional[_Proxy], timeout: float, deadline: float
    ) -> _Connection:
        connection = _Connection((place.origin, proxy and proxy.text), timeout, deadline)
        peer = proxy or place
        try:
            connection.open(peer.host, peer.port)
        except OSError as error:
            what = f"{peer.host}:{peer.port}: {type(error).__name__}: {error}"
            if proxy:
                what = "the proxy " + what
            raise _NotConnected(f"could not connect to {what}") from error
        try:
            if place.scheme == "https" and proxy:
                _open_tunnel(connection, proxy, place)
            if place.scheme == "https":
                connection.start_tls(place.host, self.ssl_context)
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _ask(
        connection: _Connection, data: bytes, kept: Dict[Any, _Connection]
    ) -> Tuple[int, Dict[str, str], Iterator[bytes]]:
        try:
            connection.send(data)
            head = connection.read_head()
        except BaseException:
            connection.close()
            raise
        return head.status, head.headers, _IncomingBody(connection, head, kept)


def _open_tunnel(connection: _Connection, proxy: _Proxy, place: _Url) -> None:
    target = f"{place.bracketed_host}:{place.port}"
    connection.send(_encode_head("CONNECT", target, {"Host": target, **proxy.headers}))
    status = connection.read_head().status
    if status != 200:
        where = f"the proxy {proxy.host}:{proxy.port}"
        raise _NotConnected(f"{where} answers HTTP {status} instead of opening a tunnel")


def _check_headers(headers: Dict[str, str]) -> None:
    """Raises ValueError, which shows no value, for what cannot be sent."""
    for name, value in headers.items():
        if not re.match(r"[\w!#$%&'*+.^`|~-]+\Z", name, re.A):
            raise ValueError("headers: a name holds a character that no name can have")
        if not re.match(r"[\t\x20-\x7e\xa0-\xff]*\Z", value):
            what = "a character that no header can carry, in headers or api_key"
            raise ValueError(f"{name}: {what}")


def _encode_head(method: str, target: str, headers: Dict[str, str]) -> bytes:
    _check_headers(headers)
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    start = f"{method} {target} HTTP/1.1\r\n".encode("ascii")
    return start + "".join(lines).encode("latin-1") + b"\r\n"


http_transport = _Connections()


# -- what a refusal means --------------------------------------------------------------------------
#
# Three questions, answered one after the other: what does the server say, of which kind is it,
# and does waiting help, how long? A new server's words are a row in a table.

_lenient_decoder = json.JSONDecoder(parse_constant=lambda constant: None)  # NaN: null


class _RequestFailed(Exception):
    """A request that came to nothing.

    Attributes:
        words: what the server, or the network, says about it.
        kind: see ModelError.
        retryable: True where asking again may help.
        retry_after: seconds to wait before that, where the server names them.
        status: the status of the HTTP reply; None where there was none, or 200.
        error: the server's error object; {} where there is none.
        tries: how often it was asked.
        was_key_sent: what an error of kind auth tells.
    """

    def __init__(
        self, words: str, kind: str, retryable: bool = True, retry_after: Optional[float] = None,
        status: Optional[int] = None, error: Optional[_JsonObject] = None,
    ) -> None:  # fmt: skip
        super().__init__(words)
        self.words = words
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.error = error or {}
        self.tries = 1
        self.was_key_sent = False


# what the server says


class _ServerError:
    """An error in whatever form a server gives it.

    '{"error": {"message": "Slow", "code": "busy"}}' -> words "Slow", labels ["busy", ""].

    Attributes:
        status: that of the reply, or the one that an error inside a 200 names; else None.
        error: the error object; where one wraps another, the inner one.
        words: the text for a person.
        labels: `code` and `type`, in lower-case.
    """

    def __init__(self, status: Optional[int], body: Any) -> None:
        self.error = _find_error(body)
        inner = _find_wrapped_error(self.error)
        self.words = _words_of(self.error) or _plain_text(_to_text(body)) or "(no words)"
        if inner:
            if _words_of(inner) not in self.words:
                self.words = f"{self.words}: {_words_of(inner)}"
            self.error = {**self.error, **inner}
        code = _to_text(self.error.get("code") or "")
        self.labels = [code.lower(), _to_text(self.error.get("type") or "").lower()]
        if status is None and re.match(r"[45]\d\d\Z", code):
            status = int(code)
        self.status = status

    @property
    def all_words(self) -> str:
        return " ".join([self.words, *self.labels])


def _find_error(body: Any) -> _JsonObject:
    """The error object in a body.

    '[{"error": {"code": 1}}]' -> {"code": 1}; "no" -> {"message": "no"}
    """
    if isinstance(body, str):
        try:
            body = _parse_json(body, _lenient_decoder)
        except ValueError:
            return {"message": body}
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return {"message": body}
    error = body.get("error") or body
    if not isinstance(error, dict):
        return {**body, "message": error}
    return error


def _find_wrapped_error(error: _JsonObject) -> _JsonObject:
    """What a router or a proxy passes on of the server behind it; {} where it wraps nothing.

    {"metadata": {"raw": '{"error": {"code": 1}}'}} -> {"code": 1} (OpenRouter);
    {"message": 'BadRequest - {"error": {"code": 1}}'} -> {"code": 1} (LiteLLM)
    """
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):
        return _find_error(metadata["raw"])
    message = _to_text(error.get("message"))[:20_000]
    start = re.search(r"""\{ ?['"]error['"]""", message)
    if start is None or _is_deeper(message, _MAX_DEPTH):
        return {}
    text = message[start.start() :]
    try:
        return _find_error(_loose_decoder.raw_decode(text)[0])
    except ValueError:
        with contextlib.suppress(ValueError):  # as Python writes it
            return _find_error(_parse_literal(text[: text.rfind("}") + 1]))
    return {}


def _words_of(error: _JsonObject) -> str:
    """The text of an error object: {"message": "no"} -> "no"."""
    for key in ("message", "detail", "error"):
        if error.get(key):
            return _plain_text(_to_text(error[key]))
    return ""


def _plain_text(text: str) -> str:
    """The words of a text, HTML or not, on one line: "<p>No\\n<b>way</b>" -> "No way"."""
    script_or_tag = r"(?is)<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]{1,200}>"
    text = re.sub(script_or_tag, " ", text[:20_000])
    return _one_line(re.sub(r"\s+", " ", text).strip(), 20_000)


# of which kind it is

# An overflowing context, in the words and codes of the servers; the first are sure.
_SURE_OVERFLOW = r"(?i)context_length|exceed_context|maximum context length"
_OVERFLOW = r"""(?xi)
    context[ _-]?(length|size|window|limit)
    | (prompt|input|conversation|messages?)(\ \S+){0,3}?\ (is\ )?too\ (long|large)
    | max(imum)?\ (prompt|sequence|input)\ length
    | token\ count\ .{0,40}exceeds | token\ limit
    | too[ _]many[ _](input[ _]|prompt[ _])?tokens
    | request_too_large
    | sequence\ length\ .{0,40}exceeds
    | reduce\ the\ length
    | (prompt|inputs?)\ .{0,60}(longer\ than|exceeds|less\ than|must\ be\ <)
    | input\ length\ should\ be
    | tokens\ in\ request\ more\ than
"""
_WRONG_KEY = r"""(?xi)
    (incorrect|invalid|wrong|missing|expired|no)\b.{0,20}\bapi[ _-]?key
    | api_key_invalid
    | api[ _-]?key\b.{0,30}\b(not\ (valid|found)|invalid|incorrect|expired|missing|required)
"""
# Limits under 429 or in a stream that waiting does not lift.
_SPENT = r"""(?xi)
    insufficient_(quota|balance|credits?)
    | exceeded_current_quota
    | billing_
    | request\ too\ large
"""

# An error inside a 200 has no status: its code decides, then its type.
_KINDS_OF_LABELS = (
    ("rate_limit", "rate_limit|too_many|quota"),
    ("auth", "auth|permission|api_key"),
    ("server", "overload|server_error|unavailable|api_error|timeout"),
    ("bad_request", "invalid|not_found|unsupported|bad_request"),
    ("bad_request", "policy|content_filter|tool_use_failed"),
)


def _is_overflow(error: _ServerError) -> bool:
    if error.status == 413 or re.search(_SURE_OVERFLOW, error.all_words):
        return True
    return error.status != 429 and bool(re.search(_OVERFLOW, error.all_words))


def _is_redirect(error: _ServerError) -> bool:
    return 300 <= (error.status or 0) < 400


def _is_about_the_key(error: _ServerError) -> bool:
    if error.status == 400:  # xAI, Gemini
        return bool(re.search(_WRONG_KEY, error.all_words))
    return error.status in (401, 403)


def _is_filtered(error: _ServerError) -> bool:
    return "content_filter" in error.labels


def _is_spent(error: _ServerError) -> bool:
    """A limit, under a status or without one, that waiting does not lift."""
    return error.status in (None, 429) and bool(re.search(_SPENT, error.all_words))


def _is_rate_limit(error: _ServerError) -> bool:
    return error.status == 429


def _is_missing_switch(error: _ServerError) -> bool:
    return "--jinja" in error.words  # llama.cpp names its own switch, under 500


def _is_server_fault(error: _ServerError) -> bool:
    return error.status in (408, 409, 425) or (error.status or 0) >= 500


_KIND_RULES: Tuple[Tuple[str, Callable[[_ServerError], bool]], ...] = (
    ("context_length", _is_overflow),
    ("bad_response", _is_redirect),
    ("bad_request", _is_filtered),
    ("rate_limit", _is_spent),
    ("rate_limit", _is_rate_limit),
    ("auth", _is_about_the_key),
    ("bad_request", _is_missing_switch),
    ("server", _is_server_fault),
)


def _decide_kind(error: _ServerError) -> str:
    """The kind of the first rule that applies."""
    for kind, applies in _KIND_RULES:
        if applies(error):
            return kind
    if error.status is not None:
        return "bad_request"
    for label in error.labels:
        for kind, pattern in _KINDS_OF_LABELS:
            if re.search(pattern, label):
                return kind
    return "server"  # what is unknown is asked again


# how long to wait

_LONGEST_WAIT = 60.0  # seconds
_UNITS = (
    ("ms|milliseconds?", 0.001),
    ("s|secs?|seconds?", 1.0),
    ("m|mins?|minutes?", 60.0),
    ("h|hours?", 3600.0),
)


def _find_wait(headers: Dict[str, str], error: _ServerError) -> Optional[float]:
    """The seconds to wait that a server names, at most a minute; None for none."""
    header = headers.get("retry-after", "")
    waits = [
        _read_number(headers.get("retry-after-ms", ""), 0.001),
        _read_number(header, 1),
        _read_date(header),
    ]
    details = error.error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):  # Gemini
            waits.append(_read_duration(_to_text(detail.get("retryDelay"))))
    waits.append(_read_wait_in_words(error.words))
    for wait in waits:
        if wait is not None and wait >= 0:
            return min(wait, _LONGEST_WAIT)
    return None


def _read_number(text: str, unit: float) -> Optional[float]:
    """("21000", 0.001) -> 21.0"""
    if not re.match(r"\s*[0-9]+(\.[0-9]+)?\s*\Z", text):
        return None
    return float(text) * unit


def _read_date(text: str) -> Optional[float]:
    """The seconds until a date of HTTP: "Fri, 31 Dec 2027 23:59:59 GMT"."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _read_duration(text: str) -> Optional[float]:
    """ "38s" -> 38.0; "1m2.5s" -> 62.5; "20 seconds" -> 20.0; "soon" -> None"""
    parts = []
    for names, seconds in _UNITS:
        numbers = re.findall(rf"([0-9]+(?:\.[0-9]+)?) ?(?:{names})(?![a-z])", text)
        parts += [float(number) * seconds for number in numbers]
    if not parts:
        return None
    return sum(parts)


def _read_wait_in_words(words: str) -> Optional[float]:
    """ "Please try again in 1m2.5s." -> 62.5"""
    duration = r"(?i)\b(?:again|retry) (?:in|after) ((?:[0-9]+(?:\.[0-9]+)? ?[a-z]+ ?)+)"
    named = re.search(duration, words)
    if named is None:
        return None
    return _read_duration(named.group(1).lower())


def _classify_error(
    status: Optional[int], headers: Dict[str, str], body: Any
) -> _RequestFailed:  # fmt: skip
    """What a refusal means.

    `status`: None for an error inside a reply with 200. `body`: a text, or JSON.

    (429, {"retry-after": "7"}, '{"error": {"message": "Slow down"}}') -> words "Slow down",
    kind "rate_limit", retryable, retry_after 7.0
    """
    error = _ServerError(status, body)
    kind = _decide_kind(error)
    if _is_redirect(error):
        where = headers.get("location", "")
        error.words = f"a redirect to {where}, which is not followed; set base_url to it"
    failure = _RequestFailed(error.words, kind, False, None, error.status, error.error)
    if kind == "server" or (kind == "rate_limit" and not _is_spent(error)):
        failure.retryable = True
        failure.retry_after = _find_wait(headers, error)
    return failure


def _check_no_error(document: Any) -> None:
    """Raises _RequestFailed for a document, an event or a choice that holds an error."""
    if not isinstance(document, dict):
        return
    is_error = document.get("type") == "error" or document.get("object") == "error"
    if is_error or document.get("error"):
        raise _classify_error(None, {}, document)


# -- streams ---------------------------------------------------------------------------------------


class _ResponseBody:
    """The body of a reply: an iterator of chunks, unpacked, of at most 64 MiB in all.

    Raises _RequestFailed where the network fails, where there is more, or what cannot be read.

    Attributes:
        timeout: the longest silence, in seconds.
        failure: what ended it early. A stream of events may be complete all the same.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        encoding: str,
        explain: Callable[[Exception], _RequestFailed],
        timeout: float,
        deadline: float = _NO_LIMIT,
    ) -> None:
        self.timeout = timeout
        self.failure: Optional[_RequestFailed] = None
        self._source = chunks
        self._encoding = encoding.strip().lower()
        self._explain = explain
        self._deadline = deadline
        self._unpacked = self._unpack(self._receive())
        self._peeked = b""
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._peeked:
            chunk = self._peeked
            self._peeked = b""
            return chunk
        try:
            chunk = next(self._unpacked)
            self._size += len(chunk)
            if self._size > _MAX_REPLY:
                what = "the reply is longer than 64 MiB"
                raise _RequestFailed(what, "bad_response", retryable=False)
        except _RequestFailed as failure:
            self.failure = failure
            raise
        return chunk

    def peek(self) -> bytes:
        """The first bytes that are not blank: six or more, if there are so many.

        They are still to be read.
        """
        first = b""
        for chunk in self:
            first = (first + chunk).lstrip()
            if first.startswith(b"\xef\xbb\xbf"):  # the mark of UTF-8
                first = first[3:].lstrip()
            if len(first) >= 6:
                break
        self._peeked = first
        return first

    def read(self) -> str:
        """All of it, as text."""
        whole = bytearray()  # many small chunks in a list would cost ten times as much
        for chunk in self:
            whole += chunk
        return whole.decode("utf-8", "replace")

    def drain(self) -> None:
        """Read what is due of a complete reply, so that the connection can be kept."""
        if hasattr(self._source, "drain"):
            self._source.drain()

    def close(self) -> None:
        self._unpacked.close()  # subtle: a circle, which would keep the connection
        if hasattr(self._source, "close"):
            self._source.close()

    def _receive(self) -> Iterator[bytes]:
        """The chunks as they come; errors of the network become failures."""
        import http.client

        chunks = iter(self._source)
        while True:
            try:
                if time.monotonic() > self._deadline:
                    raise TimeoutError
                chunk = next(chunks)
            except StopIteration:
                return
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                raise self._explain(error) from None
            yield chunk

    def _unpack(self, chunks: Iterator[bytes]) -> Generator[bytes, None, None]:
        """gzip is known by its first bytes, deflate by the header. Nobody asked for either."""
        first = b""
        for chunk in chunks:
            first += chunk
            if len(first) > 1:
                break
        if first[:2] == b"\x1f\x8b":
            window = 31
        elif self._encoding == "deflate" and first:
            # With the two bytes of zlib in front, or, as some servers send it, without.
            has_header = first[0] & 15 == 8 and int.from_bytes(first[:2], "big") % 31 == 0
            window = 15 if has_header else -15
        elif self._encoding in ("", "identity", "gzip", "x-gzip", "deflate", "utf-8"):
            yield first
            yield from chunks
            return
        else:
            name = _one_line(self._encoding)
            what = f"the body is packed as {name}, which cannot be read here"
            raise _RequestFailed(what, "bad_response", retryable=False)
        yield from _inflate(itertools.chain([first], chunks), window)


def _inflate(chunks: Iterable[bytes], window: int) -> Iterator[bytes]:
    """Unpack in pieces of at most 1 MiB: a few bytes may stand for gigabytes."""
    import zlib

    unpacker = zlib.decompressobj(window)
    try:
        for chunk in chunks:
            while chunk:
                yield unpacker.decompress(chunk, 1 << 20)
                chunk = unpacker.unconsumed_tail
    except zlib.error as error:
        raise _RequestFailed(f"a damaged body: {error}", "bad_response") from None


class _HttpReply:
    """A reply with a status of 2xx, its body not yet read."""

    def __init__(self, status: int, headers: Dict[str, str], body: _ResponseBody) -> None:
        self.status = status
        self.headers = headers  # names in lower-case
        self.content_type = headers.get("content-type", "").lower()
        self.body = body


_Events = Iterator[Optional[_JsonObject]]


def _read_document(
    reply: _HttpReply, assemble: Callable[[_Events], Optional[_JsonObject]]
) -> _JsonObject:
    """The document that a reply is; a stream of events is put together by `assemble`.

    A server may answer with either, so the first bytes decide before the content type does.
    `assemble` returns None where the stream is not complete. Raises _RequestFailed.
    """
    first = reply.body.peek()
    is_json = first[:1] in (b"{", b"[")
    is_stream = "event-stream" in reply.content_type or _begins_like_events(first)
    if is_stream and not is_json:
        document = assemble(_read_events(reply.body))
        if document is None:
            what = "the stream ended before the reply was complete"
            raise reply.body.failure or _RequestFailed(what, "connection")
        return document
    text = reply.body.read().strip()
    if not is_json:
        kind = reply.content_type
        words = _plain_text(text) or "the body is empty"
        what = f"no reply of this protocol (content type {kind}): {words}"
        raise _RequestFailed(what, "bad_response", retryable=not text)
    document = _parse_reply(re.sub(r"\s*data: *\[DONE\]\Z", "", text))
    if isinstance(document, list) and document:
        document = document[0]
    _check_no_error(document)
    return document if isinstance(document, dict) else {}


def _begins_like_events(first: bytes) -> bool:
    return bool(re.match(rb"(data|event|id|retry|error)?:", first))


def _parse_reply(text: str) -> Any:
    try:
        return _parse_json(text, _lenient_decoder)
    except ValueError:
        what = f"what came is not JSON: {_one_line(text, 20_000)}"
        raise _RequestFailed(what, "bad_response") from None


def _read_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Lines without their ends, CRLF, LF or CR: [b"a\r", b"\nb\rc"] -> a, b, c."""
    begun = bytearray()  # a line whose end is still to come
    after_cr = False
    for chunk in chunks:
        if after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        if not chunk:
            continue
        after_cr = chunk[-1:] == b"\r"
        lines = chunk.splitlines()
        if chunk[-1:] not in (b"\r", b"\n"):
            rest = lines.pop()
        else:
            rest = b""
        if lines and begun:
            lines[0] = bytes(begun) + lines[0]
            begun.clear()
        yield from lines
        begun += rest
    if begun:
        yield bytes(begun)


def _read_events(body: _ResponseBody) -> _Events:
    """The data of server-sent events, as JSON objects; None for [DONE].

    An error in an event, an `error` event, or a line `error: {...}` raises _RequestFailed.
    What fails on the way (the network, the size, a silence) ends the events and is noted as
    `body.failure`: it counts only where the reply is not complete. Comments and blank lines
    are silence: some servers send them for ever.
    """
    name = b""
    data: List[bytes] = []
    heard = time.monotonic()
    try:
        for line in _read_lines(body):
            if line[:5] == b"data:":
                data.append(line[5:])
            elif not line and (name or data):
                yield from _parse_event(name, data)
                name = b""
                data = []
                heard = time.monotonic()
            elif line[:6] == b"event:":
                name = line[6:].strip()
            elif line[:6] == b"error:":  # llama.cpp
                text = line[6:].decode("utf-8", "replace")
                raise _classify_error(None, {}, text.strip())
            elif time.monotonic() - heard > body.timeout:
                what = f"silence for {body.timeout:g} s: only comments came"
                body.failure = _RequestFailed(what, "timeout")
                return
    except _RequestFailed as failure:
        if failure is not body.failure:
            raise
    if _is_json(b"\n".join(data)):  # the last event may lack its blank line; or be cut
        yield from _parse_event(name, data)


def _parse_event(name: bytes, data: List[bytes]) -> List[Optional[_JsonObject]]:
    """(b"", [b' {"n": 1}']) -> [{"n": 1}]; [None] for [DONE]; [] where it holds nothing."""
    text = b"\n".join(data).decode("utf-8", "replace").strip()
    if text == "[DONE]":
        return [None]
    if not text:
        return []
    if name == b"error":
        raise _classify_error(None, {}, text)
    event = _parse_reply(text)
    _check_no_error(event)
    return [event] if isinstance(event, dict) else []


def _is_json(data: bytes) -> bool:
    try:
        _parse_json(data.decode("utf-8", "replace"), _lenient_decoder)
    except ValueError:
        return data.strip() == b"[DONE]"
    return True


def _merged(values: List[Any], key: str = "") -> Any:
    """What the deltas of a stream say of a key, all in all: texts are joined, lists extended,
    objects merged; else the last counts. Null and empty values say nothing new."""
    said: Any = [v for v in values if v or v == 0] or values[:1]
    kinds = set(map(type, said))
    if len(said) == 1 or key in ("role", "type", "id", "index"):
        return said[0]
    if kinds == {dict}:
        found: Dict[str, List[Any]] = {}
        for k, v in itertools.chain.from_iterable(map(dict.items, said)):
            found.setdefault(k, []).append(v)
        return {k: _merged(v, k) for k, v in found.items()}
    if kinds == {str} and key == "name":  # split, or repeated in each delta
        return functools.reduce(lambda name, v: name if name == v else name + v, said)
    if kinds == {str}:
        return "".join(said)
    if list in kinds:  # a text among lists is a part of its own
        parts: List[Any] = []
        for kind, same in itertools.groupby(said, type):
            if kind is str:
                parts.append({"type": "text", "text": "".join(same)})
            elif kind is list:
                parts += itertools.chain.from_iterable(same)
        return parts
    return said[-1]


# -- asking ----------------------------------------------------------------------------------------

_LOOK_AT = {
    "auth": "api_key",
    "rate_limit": "the limits of your plan",
    "context_length": "trim, max_observation",
    "timeout": "timeout (seconds of silence), deadline",
    "bad_response": "base_url (with /v1?)",
    "connection": "base_url, the proxy, SSL_CERT_FILE; does the server run?",
    "bad_request": "what the server names; the model's name; base_url",
    "server": "the server's own log",
}
_NOT_PICKLED = "not-in-the-pickle"  # stands in a pickle where a secret was
_T = typing.TypeVar("_T")


def _log(text: str) -> None:
    import logging

    logger = logging.getLogger("agentloop")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # subtle: without one, logging prints
    logger.warning(text)


class _Client:
    """Asks one server: its address, login, retries and limits. The adapters are clients.

    What leaves it is free of secrets: the key, values of headers, login and query of the URL,
    login of the proxy. They are removed in one place, `_without_secrets`.
    """

    _path = _host = ""  # of a protocol: where to post to, and at which server by default
    _variable = ""  # OPENAI: OPENAI_API_KEY and OPENAI_BASE_URL
    deadline: Optional[float] = None  # a pickle of 1.0.0 has none

    def __init__(
        self,
        base_url: Optional[str],
        api_key: Union[None, str, Callable[[], str]],
        headers: Optional[Dict[str, str]],
        timeout: float,
        deadline: Optional[float],
        retries: int,
        ssl_context: Any,
        transport: Any,
    ) -> None:
        base_url = base_url or os.environ.get(f"{self._variable}_BASE_URL") or self._host
        self.url = _endpoint(base_url, self._path)
        self.api_key = api_key
        self.headers = headers or {}
        self.timeout = timeout
        self.deadline = deadline
        self.retries = retries
        self.transport = transport
        if transport is http_transport:
            self.transport = _Connections(ssl_context)

    # copies

    def __copy__(self) -> "_Client":
        """subtle: without it, copy() would take what a pickle takes, and lose the key."""
        return self._copy_settings(copy.copy)

    def __deepcopy__(self, memo: Any) -> "_Client":
        return self._copy_settings(lambda value: copy.deepcopy(value, memo))

    def _copy_settings(self, copy_one: Callable[[Any], Any]) -> "_Client":
        """A client with settings of its own; functions and the transport are shared."""
        made = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            if type(value) in (dict, list, set):
                value = copy_one(value)
            made.__dict__[name] = value
        return made

    def __getstate__(self) -> _JsonObject:
        """For a pickle: in place of each secret it says that one was there."""
        url = _public(self.url)
        if url != self.url:  # it has a login or a query
            url += "?" + _NOT_PICKLED
        return {
            **self.__dict__,
            "api_key": self.api_key and _NOT_PICKLED,  # not None, of the environment, nor ""
            "headers": dict.fromkeys(self.headers, _NOT_PICKLED),
            "url": url,
        }

    def _check_settings(self) -> None:
        """Raises ValueError where a pickle left out what was given."""
        context = getattr(self.transport, "ssl_context", None)
        is_missing = {
            "api_key": self.api_key == _NOT_PICKLED,
            "headers": _NOT_PICKLED in self.headers.values(),
            "url": _NOT_PICKLED in self.url,
            "transport.ssl_context": context == _NOT_PICKLED,
        }
        if any(is_missing.values()):
            names = ", ".join(name for name in is_missing if is_missing[name])
            raise ValueError(f"a pickle of a model holds no secret: set its {names} again")

    # what is sent

    def _read_key(self) -> str:
        key = self.api_key
        if callable(key):
            key = key()
        if key is None:
            key = os.environ.get(f"{self._variable}_API_KEY", "")
        return key.strip()

    def _login(self, key: str) -> Dict[str, str]:
        """The headers that log in with a key, which may be ""."""
        raise NotImplementedError

    def _headers(self, key: str) -> Dict[str, str]:
        own = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"agentloop/{__version__}",
            **self._login(key),
        }
        given = {name.lower() for name in self.headers}
        own = {name: value for name, value in own.items() if name.lower() not in given}
        headers = {**own, **self.headers}
        _check_headers(headers)
        return headers

    # asking

    def _start(self) -> float:
        """The deadline of a request that begins now: an instant of time.monotonic()."""
        if self.deadline is None:
            return _NO_LIMIT
        return time.monotonic() + self.deadline

    def _ask(self, data: bytes, read: Callable[[_HttpReply], _T], deadline: float) -> _T:
        """Ask until there is an answer. `read` reads a reply; what else it raises passes.

        Raises _RequestFailed, free of secrets, after the last try; ValueError for a setting
        that cannot be sent.
        """
        self._check_settings()
        tries = 0
        while True:
            tries += 1
            key = self._read_key()
            headers = self._headers(key)
            try:
                return self._exchange(data, headers, read, deadline)
            except _RequestFailed as error:
                failure = self._without_secrets(error, key)
            failure.tries = tries
            if not failure.retryable or tries > self.retries:
                raise failure
            self._wait(failure, deadline)

    def _wait(self, failure: _RequestFailed, deadline: float) -> None:
        """Wait before the next try; raise the failure where the deadline comes first."""
        wait = failure.retry_after
        if wait is None:
            wait = _backoff(failure.tries)
        if time.monotonic() + wait >= deadline:
            rest = f"the deadline of {self.deadline:g} s leaves no time to ask again"
            failure.words += f" ({rest})"
            raise failure
        what = _one_line(failure.words, 300)
        if failure.status:
            what = f"HTTP {failure.status}: {what}"
        count = f"try {failure.tries + 1} of {self.retries + 1}"
        _log(f"{what}; waiting {wait:.1f} s before {count}")
        time.sleep(wait)

    def _exchange(
        self,
        data: bytes,
        headers: Dict[str, str],
        read: Callable[[_HttpReply], _T],
        deadline: float,
    ) -> _T:
        """One request on the wire; its reply as `read` reads it. Raises _RequestFailed."""
        import http.client

        def explain(error: Exception) -> _RequestFailed:
            return self._explain(error, deadline)

        limits: _JsonObject = {}
        if type(self.transport) is _Connections:
            limits["deadline"] = deadline
        timeout = max(0.0, min(self.timeout, deadline - time.monotonic()))
        try:
            status, found, chunks = self.transport(
                "POST", self.url, headers, data, timeout, **limits
            )
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise explain(error) from None
        found = {name.lower(): value for name, value in found.items()}
        encoding = found.get("content-encoding", "")
        body = _ResponseBody(chunks, encoding, explain, self.timeout, deadline)
        try:
            if not 200 <= status < 300:
                raise _classify_error(status, found, _read_refusal(body))
            result = read(_HttpReply(status, found, body))
            body.drain()
            return result
        finally:
            body.close()

    def _explain(self, error: Exception, deadline: float) -> _RequestFailed:
        """What an error of the network means."""
        host = _Url(self.url).authority
        name = type(error).__name__
        if time.monotonic() >= deadline:
            what = f"no complete reply within the deadline of {self.deadline:g} s"
            return _RequestFailed(what, "timeout", False)
        if isinstance(error, _NotConnected):
            return _RequestFailed(f"{error}", "connection", error.retryable)
        is_silence = isinstance(error, TimeoutError) or name == "timeout"
        if is_silence and not getattr(error, "errno", None):
            return _RequestFailed(f"silence for {self.timeout:g} s", "timeout")
        if name == "SSLCertVerificationError":
            what = f"the certificate of {host} is not trusted: {error}"
            return _RequestFailed(what, "connection", False)
        what = f"no connection to {host}, or it broke: {name}: {error}"
        return _RequestFailed(what, "connection", not isinstance(error, UnicodeError))

    # secrets

    def _without_secrets(self, failure: _RequestFailed, key: str) -> _RequestFailed:
        """The failure anew: no secret in it, and nothing behind it (`__context__`)."""
        secrets = self._find_secrets(key)
        made = _RequestFailed(
            _hide_secrets(failure.words, secrets),
            failure.kind,
            failure.retryable,
            failure.retry_after,
            failure.status,
            _hide_secrets(failure.error, secrets),
        )
        made.was_key_sent = bool(key)
        return made

    def _find_secrets(self, key: str) -> List[str]:
        """All that may be secret in what was sent, in each form in which it may come back."""
        from urllib.parse import unquote, unquote_plus

        url = _Url(self.url)
        secrets = [key]
        for value in self.headers.values():
            secrets += [value, value.partition(" ")[2]]  # "Bearer X", X
        for pair in url.query.split("&"):
            secrets.append(pair.partition("=")[2] or pair)
        for login in [url.login, *_proxy_logins()]:
            secrets += [login, *login.split(":", 1), _encode_login(login)]
        secrets += [unquote(secret) for secret in secrets]
        secrets += [unquote_plus(secret) for secret in secrets]
        secrets += [json.dumps(secret)[1:-1] for secret in secrets]
        return sorted({s for s in secrets if s.strip()}, key=len, reverse=True)

    def _model_error(self, failure: _RequestFailed) -> ModelError:
        """What the caller gets: the server's words, the URL, and where to look."""
        look = _LOOK_AT[failure.kind]
        if failure.kind == "auth":
            sent = "a key was sent" if failure.was_key_sent else "no key was sent"
            look += f", {self._variable}_API_KEY ({sent})"
        if "reasoning_effort" in failure.words:  # OpenAI's newest models, Chat Completions
            look = "OpenAIResponses in place of OpenAIChat, or reasoning_effort='none'"
        text = f"{_public(self.url)}: " + _one_line(failure.words, 700).rstrip(".")
        if failure.status:
            text = f"HTTP {failure.status} from {text}"
        if failure.tries > 1:
            text += f"; asked {failure.tries} times"
        return ModelError(f"{text}. Look at: {look}", failure.kind, failure.status)


def _read_refusal(body: _ResponseBody) -> str:
    """The words of a refusal, or why they cannot be read; its status counts all the same."""
    try:
        return body.read()
    except _RequestFailed as failure:
        if failure.kind != "bad_response":
            raise
        return failure.words


def _hide_secrets(value: Any, secrets: List[str]) -> Any:
    """A text, or JSON, with "[hidden]" in place of secrets; short ones only as words."""
    if isinstance(value, str):
        for secret in secrets:
            if len(secret) > 3:
                value = value.replace(secret, "[hidden]")
            else:
                value = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[hidden]", value)
        return value
    if isinstance(value, list):
        return [_hide_secrets(item, secrets) for item in value]
    if isinstance(value, dict):
        items = value.items()
        return {_hide_secrets(k, secrets): _hide_secrets(v, secrets) for k, v in items}
    return value


def _backoff(tries: int) -> float:
    """Seconds to wait where the server names none: about 0.5, 1, 2, 4, 8, 8, ..."""
    import random

    return float(min(8.0, 0.5 * 2 ** (tries - 1)) * random.uniform(0.75, 1.25))


def _check_body_names(names: Iterable[str], own_names: Iterable[str]) -> None:
    """Raises TypeError for a field of the body that is a slip of an own parameter.

    (["baseurl"], ["model", "base_url"]) -> "baseurl: did you mean base_url?"
    """
    import difflib

    own_names = list(own_names)
    for name in names:
        if name == "models":  # OpenRouter's list of models to fall back on
            continue
        plain = name.replace("_", "").lower()
        same = [own for own in own_names if own.replace("_", "") == plain]
        near = same or difflib.get_close_matches(name.lower(), own_names, 1, 0.75)
        if near:
            raise TypeError(
                f"{name}: did you mean {near[0]}? It would be sent as a field of the body"
            )


# -- adapters --------------------------------------------------------------------------------------

_REFUSING = (
    r"(?i)un(supported|known|recogni[sz]ed|expected)|extra|additional|invalid"
    r"|not (supported|permitted|allowed|recogni[sz]ed|expected|valid)"
)
_DROPPING = "%d input tokens after %d: the server drops the beginning in silence (Ollama: num_ctx)"
_WRITTEN_OUT = (
    "the answer looks like a tool call written as text: the server does not read this model's "
    "calls (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and --tool-call-parser)"
)
_AS_TEXT = r'<tool_call>|<function=|\[TOOL_CALLS\]|^\s*(```\w*\s*)?\{\s*"(name|function|tool)"'


class _Reply:
    """What was read in a reply, the same for all protocols. `calls`: (id, name, arguments)."""

    def __init__(self, message: Any, text: str, calls: Any, usage: Iterable[Any]) -> None:
        self.message, self.text, self.calls = message, text, calls or []
        names = "input_tokens", "output_tokens", "cached_tokens"
        self.usage = dict(zip(names, map(_count, usage)))
        self.cut = self.paused = self.announced = False  # announced: a call, where none came
        self.refusal: Optional[str] = None


class _Adapter(_Client):
    """
    model: the name the server knows. base_url: with or without /v1, trailing slash or the full
    path. api_key: a str, or a callable that gives one for each request on the wire. headers: sent
    along. system: the system text. on_text: called with the text as it arrives, which makes the
    request a stream. timeout: the longest silence, in seconds. retries: how often a request is
    asked again. trim: how many replies to send, the last ones; or a callable from the steps to
    those to send. max_observation: characters of an observation that are sent. ssl_context: for the
    default transport. transport: see `http_transport`. body: further fields of the request; a list
    `tools` stands before the registry's.

    Raises ModelError for a server's fault, InvalidResponse for a reply that cannot be read,
    ValueError for a tool name that servers refuse.
    """

    _limit = ""
    _list, _id, _system_in_messages = "messages", r"(?s).+\Z", False
    _essential = frozenset(("role", "content"))

    # What a protocol says of itself.
    _frame: Callable[[], _JsonObject]  # the fields around the messages
    _tool: Callable[[Tool], _JsonObject]
    _user: Callable[[List[Any]], _JsonObject]  # one message from str, Image and own parts
    _composed: Callable[[str, List[Tuple[str, Any]]], Any]  # a reply of another model, made up
    _calls_in: Callable[[Any], Optional[List[Any]]]  # None: not a message of this protocol
    _assistant: Callable[[Any, List[str], str], List[_JsonObject]]  # as it goes back
    # Of a call: its message, or None; and what the user's next message says of it.
    _result: Callable[[str, AgentStep], Tuple[Optional[_JsonObject], List[Any]]]
    _read: Callable[[_JsonObject], _Reply]
    # The document that a stream stands for; None where it was cut.
    _assembled: Callable[[Iterator[Any], Callable[[Any], None]], Optional[_JsonObject]]

    def __init__(
        self, model: str, *, base_url: Optional[str] = None,
        api_key: Union[None, str, Callable[[], str]] = None,
        headers: Optional[Dict[str, str]] = None, system: Optional[str] = None,
        on_text: Optional[Callable[[str], Any]] = None, timeout: float = 600,
        deadline: Optional[float] = None, retries: int = 4,
        trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]] = None,
        max_observation: int = 20_000, ssl_context: Any = None, transport: Any = http_transport,
        **body: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            base_url, api_key, headers, timeout, deadline, retries, ssl_context, transport
        )
        _check_body_names(body, inspect.signature(_Adapter.__init__).parameters)
        self.model, self.system, self.on_text, self.trim = model, system, on_text, trim
        self.max_observation, self.extra = max_observation, body
        self._left_out: Set[str] = set()  # properties that this server refused by name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={_public(self.url)!r})"

    def __getstate__(self) -> _JsonObject:
        return {**super().__getstate__(), "on_text": None}

    def body(self, run: AgentRun, tools: Registry) -> _JsonObject:
        """The JSON object as it would go out now."""
        return dict(json.loads(self._bytes(run, tools)[0].decode("utf-8")))

    def complete(self, prompt: str) -> str:
        """A text completion, for ReActText: one user message, no tools."""
        found = self(AgentRun(prompt), {})
        if isinstance(found, list):
            raise InvalidResponse("A tool was called, and only text was asked for.", None)
        return _to_text(found.output)

    # sending

    def _bytes(self, run: AgentRun, tools: Registry) -> Tuple[bytes, _Conversation]:
        for name in tools:
            if not re.match(r"[a-zA-Z0-9_-]+\Z", name):
                raise ValueError("servers refuse the tool name %r: use a-z, 0-9, '_' or '-'" % name)
        frame = {k: v for k, v in self._frame().items() if k not in self._left_out}
        frame = {"model": self.model, **frame, **self.extra}
        shown = [*(self.extra.get("tools") or ()), *map(self._tool, tools.values())]
        if shown:
            frame["tools"] = self._marked(shown)
        said = self._conversation(run)
        if said.open and not said.tail:
            said.tail = _encoded(self._user(said.open))
        head = _encoded(frame)[:-1] + b', "%s": [' % self._list.encode()
        between = b", " if said.sent and said.tail else b""
        # One join: what was said is copied once, whatever its length.
        return b"".join((head, said.sent, between, self._marked_last(said.tail), b"]}")), said

    def _marked(self, tools: List[Any]) -> List[Any]:
        return tools

    def _marked_last(self, message: bytes) -> bytes:
        return message

    def _conversation(self, run: AgentRun) -> _Conversation:
        """The conversation encoded, with what is new in the run."""
        if run.pending:  # somebody looks at the request while calls are pending
            waiting = [AgentStep(a, "This call is pending.", "pending") for a in run.pending]
            run = dataclasses.replace(run, steps=run.steps + waiting, pending=[])
        turns = [*run.history, run]
        run._encoded = known = run._encoded if run._encoded is not None else {}
        said: Optional[_Conversation] = known.get(self)
        keep = self._kept(turns)
        if said is None or keep is not None or not said.is_of(turns, self._left_out):
            said = known[self] = _Conversation(self._left_out, said.input_tokens if said else 0)
            if self.system and self._system_in_messages:
                said.put(_encoded({"role": "system", "content": self.system}))
        for at, turn in enumerate(turns):
            if at == len(said.turns):
                self._say(said, turn.task if isinstance(turn.task, list) else [turn.task])
                said.turns.append([turn.task, turn.steps, 0, None, None])
            place = said.turns[at]
            for group in _group_by_reply(turn.steps[place[2] :]):
                if keep is None or any(id(s) in keep for s in group):
                    self._put(said, group, place[3] and place[3].action)
                place[2], place[3] = place[2] + len(group), group[-1]
            if turn.finish is not None and place[4] is None:
                place[4] = turn.finish
                if turn.finish.reason != "return_direct":  # there the call stands for it
                    text = turn.finish.log or _to_text(turn.finish.output)
                    self._reply(said, turn.finish.message, text, [])
        return said

    def _kept(self, turns: List[AgentRun]) -> Optional[Set[int]]:
        """The ids of the steps that `trim` leaves. A reply stays where one of its steps stays."""
        if self.trim is None:
            return None
        if callable(self.trim):
            return {id(s) for s in self.trim([s for t in turns for s in t.steps])}
        groups = [group for t in turns for group in _group_by_reply(t.steps)]
        return {id(s) for group in groups[max(0, len(groups) - self.trim) :] for s in group}

    def _say(self, said: _Conversation, parts: List[Any]) -> None:
        said.open += [p if not isinstance(p, str) or p.strip() else "(no text)" for p in parts]
        said.tail = b""

    def _reply(
        self, said: _Conversation, message: Any, text: str, calls: List[AgentAction]
    ) -> List[str]:
        """Put a reply as it came, or made up where it is another protocol's; the ids as sent."""
        found = self._calls_in(message)
        if found is None or len(found) != len(calls):
            message = self._composed(text, [(a.tool, a.tool_input) for a in calls])
        if said.open:
            said.put(said.tail or _encoded(self._user(said.open)))
            said.open, said.tail = [], b""
        ids = [said.unique(a.call_id, self._id) for a in calls]
        for item in self._assistant(message, ids, text if text.strip() else "(no text)"):
            said.keys |= item.keys() - self._essential
            left = self._left_out - self._essential
            said.put(_encoded({k: v for k, v in item.items() if k not in left}))
        return ids

    def _put(self, said: _Conversation, group: List[AgentStep], before: Any) -> None:
        """Put a reply and the results of its calls; or the notice about one that was unreadable,
        as the result of each of its calls, or as what the user says."""
        first, ids = group[0].action, []
        found = self._calls_in(first.message) or []
        if first.call_id or first.tool:
            group = _in_call_order(group, [c[0] for c in found])
            ids = self._reply(said, first.message, first.log, [s.action for s in group])
        # subtle: after a rejected return_direct the reply stands there already
        elif not (before and before.call_id and _from_same_request(before, first)):
            made = [AgentAction(_name_of(n), a, _to_text(i or "")) for i, n, a in found]
            ids = self._reply(said, first.message, first.log, made)
            group = group * max(1, len(ids))
        if not ids and group[0].observation:
            self._say(said, [self._observed(group[0])])
        for call_id, step in zip(ids, group):
            message, parts = self._result(call_id, step)
            if message:
                said.put(_encoded(message))
            self._say(said, parts)

    def _observed(self, step: AgentStep) -> str:
        text = _cut_middle(_to_text(step.observation), self.max_observation)
        return text if text.strip() else "(no output)"

    # asking

    def __call__(self, run: AgentRun, tools: Registry) -> Any:
        data, said = self._bytes(run, tools)
        deadline = self._start()
        repairs = 0
        while True:
            try:
                reply = self._ask(data, self._read_reply, deadline)
                break
            except _RequestFailed as e:
                if e.error.get("code") == "tool_use_failed":  # Groq: the model's mistake, not ours
                    failed = _cut_middle(_to_text(e.error.get("failed_generation") or ""), 2000)
                    words = _cut_middle(e.words, 700)
                    raise InvalidResponse(f"{words} The reply was: {failed}") from None
                name = self._refused(e, said)
                if not name or repairs == 8:
                    raise self._model_error(e) from None
                _log(f"the server refuses {name!r}: it is left out from now on")
                repairs += 1
                self._left_out.add(name)
                data, said = self._bytes(run, tools)
        for name, n in reply.usage.items():
            run.usage[name] = run.usage.get(name, 0) + n
        tokens, said.input_tokens = said.input_tokens, reply.usage["input_tokens"]
        taken = said.ids
        if self.trim is not None:
            taken = {s.action.call_id for turn in [*run.history, run] for s in turn.steps}
        elif 0 < said.input_tokens < tokens:
            _log(_DROPPING % (said.input_tokens, tokens))
        return self._decision(reply, tools, taken)

    def _decision(self, reply: _Reply, tools: Registry, taken: Set[str]) -> Any:
        """A finish, or actions. What is doubtful is an InvalidResponse: nothing of it runs."""
        if reply.refusal is not None:
            return AgentFinish(reply.refusal or reply.text, "", reply.message, "refusal")
        if reply.paused:
            raise InvalidResponse("", reply.message, reply.text)
        sent = {**self._frame(), **self.extra}
        limit = _count(sent.get(self._limit)) or _count(sent.get("max_tokens"))
        if reply.cut or 0 < limit <= reply.usage["output_tokens"]:
            what = "The reply was cut at the output limit: nothing of it was executed. Be shorter."
            raise InvalidResponse(what, reply.message, reply.text)
        actions: Dict[Any, AgentAction] = {}
        for n, (call_id, name, given) in enumerate(reply.calls):
            good = isinstance(call_id, str) and re.match(self._id, call_id) and call_id not in taken
            if not good or call_id in actions:
                call_id = n  # one that the server repeats or omits: the loop makes a new one
            name, own = name if isinstance(name, str) else "", "" if call_id is n else str(call_id)
            actions[call_id] = AgentAction(name, given, own, reply.text, reply.message)
        if actions:
            return [*actions.values()]
        if reply.announced or not reply.text.strip():
            what = "The reply held neither a call nor an answer. Call a tool, or give the answer."
            raise InvalidResponse(what, reply.message, reply.text)
        if re.search(_AS_TEXT, reply.text[:400]) and any(name in reply.text for name in tools):
            _log(_WRITTEN_OUT)
        return AgentFinish(reply.text, "", reply.message)

    def _login(self, key: str) -> Dict[str, str]:
        return {"Authorization": "Bearer " + key} if key else {}

    def _read_reply(self, http_reply: _HttpReply) -> _Reply:
        told = []

        def tell(text: Any) -> None:
            if self.on_text and isinstance(text, str) and text:
                told.append(True)
                self.on_text(text)

        document = _read_document(http_reply, lambda events: self._assembled(events, tell))
        reply = self._read(document)
        if not told:
            tell(reply.text)
        return reply

    def _refused(self, fault: _RequestFailed, said: _Conversation) -> str:
        """The property that a 400 names and that may be left out: of the assistant's message, or
        one of our own. What the caller put into the body never is."""
        words = "%s %s" % (fault.words, _to_text(fault.error.get("param") or ""))
        words += " include" * bool(re.search("(?i)encrypted content", words))
        if fault.status in (400, 422) and re.search(_REFUSING, words):
            own = self._frame().keys() - {"max_tokens", "system", "instructions"}
            for name in sorted((said.keys | own) - self._left_out - self.extra.keys()):
                if re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(name), words):
                    return name
        return ""


# -- the three protocols ---------------------------------------------------------------------------


def _parts(parts: List[Any], kind: str, picture: Callable[[str], _JsonObject]) -> Any:
    """The content of a message: a str, or a list of parts where there are pictures."""
    if not _images_in(parts):
        return "\n\n".join(parts)
    urls = [
        "data:%s;base64,%s" % (i.media_type, _encode_base64(i.data)) for i in _images_in(parts)
    ][::-1]
    return [picture(urls.pop()) if _images_in(p) else {"type": kind, "text": p} for p in parts]


def _about(t: Tool, schema: str = "parameters") -> _JsonObject:
    text = {"description": t.description} if t.description.strip() else {}
    return {"name": t.name, **text, schema: t.parameters}


def _mended(call: Any) -> _JsonObject:
    """A call, or the function in it, with a name, and arguments that a strict parser takes."""
    found = _dict(call)
    arguments = _strict_arguments(found.get("arguments"))
    return {**found, "name": _name_of(found.get("name")), "arguments": arguments}


def _legal(name: str) -> str:
    """A tool's name as servers take it, for a call that another model made."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


class OpenAIChat(_Adapter):
    """Chat Completions, for every server that speaks it."""

    __doc__ = (__doc__ or "") + (_Adapter.__doc__ or "")
    _path, _host, _variable = "/chat/completions", "https://api.openai.com/v1", "OPENAI"
    _limit, _calls = "max_completion_tokens", ("tool_calls", "function_call")
    _system_in_messages = True
    _essential = frozenset(("role", "content", *_calls))

    def _frame(self) -> _JsonObject:
        return {"stream": True, "stream_options": {"include_usage": True}} if self.on_text else {}

    def _tool(self, t: Tool) -> _JsonObject:
        return {"type": "function", "function": _about(t)}

    def _user(self, parts: List[Any]) -> _JsonObject:
        return {"role": "user", "content": _parts(parts, "text", self._picture)}

    _picture = staticmethod(lambda url: {"type": "image_url", "image_url": {"url": url}})

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        made = [{"function": {"name": _legal(n), "arguments": given}} for n, given in calls]
        return {"role": "assistant", "content": text or None, "tool_calls": made}

    def _calls_in(self, message: Any) -> Optional[List[Any]]:
        if not isinstance(message, dict) or not message.keys() & {"content", *self._calls}:
            return None
        foreign = ("tool_use", "redacted_thinking", "server_tool_use", "output_text")
        for part in _dicts(message.get("content")):
            if part.get("type") in foreign or isinstance(part.get("thinking"), str):
                return None
        legacy = message.get("function_call")
        calls = _dicts(message.get("tool_calls")) or [{"function": legacy}] * bool(legacy)
        functions = [(c.get("id"), _dict(c.get("function"))) for c in calls]
        return [(i, f.get("name"), f.get("arguments")) for i, f in functions]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[_JsonObject]:
        found = {**message, "role": "assistant"}
        calls = _dicts(found.pop("tool_calls", None))
        if calls:
            found["tool_calls"] = []
            for c, call_id in zip(calls, ids):
                own = {"id": call_id, "type": c.get("type") or "function"}
                found["tool_calls"].append({**c, **own, "function": _mended(c.get("function"))})
        elif ids:
            found["function_call"] = _mended(found["function_call"])
        content = found.get("content")
        if isinstance(content, list):  # empty ones are refused, whole and in parts
            kept = [p for p in _dicts(content) if p.get("type") != "text" or _text_of([p]).strip()]
            found["content"] = kept or ("" if ids else stand_in)
        elif not ids and not _text_of(content).strip():
            found["content"] = stand_in
        elif not isinstance(content, (str, type(None))):
            found["content"] = None
        return [found]

    def _result(self, call_id: str, step: AgentStep) -> Tuple[Optional[_JsonObject], List[Any]]:
        reply, found = _dict(step.action.message), {"role": "tool", "tool_call_id": call_id}
        legacy = _dict(reply.get("function_call"))
        if legacy and not reply.get("tool_calls"):
            found = {"role": "function", "name": _name_of(legacy.get("name"))}
        return {**found, "content": self._observed(step)}, _images_in(step.observation)

    def _read(self, document: _JsonObject) -> _Reply:
        choice = (_dicts(document.get("choices")) or [{}])[0]
        _check_no_error(choice)
        message, reason = choice.get("message"), str(choice.get("finish_reason")).lower()
        if reason == "error":
            raise _classify_error(None, {}, {"error": "no reason is given"})
        if not isinstance(message, dict):
            raise _RequestFailed(
                f"no choices in the reply: {_preview(document, 20_000)}", "bad_response"
            )
        groq = _dict(document.get("x_groq")).get("usage")
        usage = _dict(document.get("usage") or choice.get("usage") or groq)
        cached = _dict(usage.get("prompt_tokens_details")).get("cached_tokens")
        tokens = usage.get("prompt_tokens"), usage.get("completion_tokens"), cached
        reply = _Reply(message, _text_of(message.get("content")), self._calls_in(message), tokens)
        reply.cut = reason in ("length", "model_length", "max_tokens")
        reply.announced = reason in self._calls or reason == "tool_use"
        if message.get("refusal") or reason == "content_filter":
            reply.refusal = _to_text(message.get("refusal") or "")
        return reply

    def _assembled(
        self, events: Iterator[Any], tell: Callable[[Any], None]
    ) -> Optional[_JsonObject]:
        seen: List[_JsonObject] = []
        choices: List[_JsonObject] = []
        deltas: List[_JsonObject] = [{"role": "assistant"}]
        done = False
        for event in events:
            done = event is None
            if done:
                break
            seen.append(event)
            for choice in _dicts(event.get("choices")):
                if not choice.get("index"):
                    _check_no_error(choice)
                    choices.append(choice)
                    deltas.append(_dict(choice.get("delta") or choice.get("message")))
                    tell(_text_of(deltas[-1].get("content")))
        document = {k: v for event in seen for k, v in event.items() if v}
        choice = {k: v for found in choices for k, v in found.items() if v}
        if not done and "finish_reason" not in choice:
            return None
        message = _merged(deltas)
        calls = self._called(_dicts(message.pop("tool_calls", None)))
        if calls:
            message["tool_calls"] = calls
        message.setdefault("content", None)  # some servers miss the key
        return {**document, "choices": [{**choice, "message": message}] if choices else []}

    @staticmethod
    def _called(deltas: List[_JsonObject]) -> List[_JsonObject]:
        """A delta belongs to the call that its index names; without one to the call with its id,
        else to the one opened last. It opens a call where there is none to belong to, or where it
        brings a name and an id and that call has a name and another id already."""
        calls: List[_JsonObject] = []
        for delta in deltas:
            index, call_id = delta.get("index"), delta.get("id")
            name = _dict(delta.get("function")).get("name")
            if index is not None:
                own = [c for c in reversed(calls) if c["index"] == index][:1]
            else:
                own = [c for c in calls if call_id and c["id"] == call_id] or calls[-1:]
            other = own and own[0]["id"] not in ("", call_id) and own[0]["name"]
            if not own or name and call_id and other:
                own = [{"index": index, "id": "", "name": "", "deltas": []}]
                calls += own
            call = own[0]
            call["id"], call["name"] = call["id"] or call_id or "", call["name"] or name
            call["deltas"].append({k: v for k, v in delta.items() if k != "index"})
        return [_merged(c["deltas"]) for c in calls]


class OpenAIResponses(_Adapter):
    """The Responses API, stateless; some models demand it for tools."""

    __doc__ = (__doc__ or "") + (_Adapter.__doc__ or "")
    _path, _host, _variable = "/responses", "https://api.openai.com/v1", "OPENAI"
    _limit, _list = "max_output_tokens", "input"
    _essential = frozenset((
        "type", "role", "content", "call_id", "name", "arguments", "summary", "encrypted_content",
    ))  # fmt: skip

    def _frame(self) -> _JsonObject:
        frame: _JsonObject = {"instructions": self.system} if self.system else {}
        frame.update(store=False, include=["reasoning.encrypted_content"])
        return {**frame, "stream": True} if self.on_text else frame

    def _tool(self, t: Tool) -> _JsonObject:
        return {"type": "function", **_about(t), "strict": False}  # left out, it means true

    def _user(self, parts: List[Any]) -> _JsonObject:
        content = _parts(parts, "input_text", self._picture)
        return {"type": "message", "role": "user", "content": content}

    _picture = staticmethod(lambda url: {"type": "input_image", "image_url": url})

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        said = [{"type": "message", "role": "assistant", "content": text}]
        made = [{"type": "function_call", "name": _legal(n), "arguments": a} for n, a in calls]
        return said + made

    def _calls_in(self, message: Any) -> Optional[List[Any]]:
        if not isinstance(message, list):
            return None
        calls = [i for i in _dicts(message) if i.get("type") == "function_call"]
        return [(c.get("call_id"), c.get("name"), c.get("arguments")) for c in calls]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[_JsonObject]:
        left, items = list(ids), []
        for item in _dicts(message):
            kind = item.get("type")
            item = {k: v for k, v in item.items() if k != "id"}  # nothing is stored under it
            if kind in ("message", "function_call", "reasoning"):
                item.pop("status", None)
            if kind == "function_call":
                item = {**_mended(item), "call_id": left.pop(0)}
            if kind == "reasoning":
                if not item.get("encrypted_content") and not item.get("content"):
                    continue  # it only points into the store
                item.setdefault("summary", [])
            said = item.get("content")
            words = [said] + [p.get("text") or p.get("refusal") for p in _dicts(said)]
            if kind == "message" and not any(isinstance(w, str) and w.strip() for w in words):
                continue
            items.append(item)
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # refused without the item that followed it
        return items or [{"type": "message", "role": "assistant", "content": stand_in}]

    def _result(self, call_id: str, step: AgentStep) -> Tuple[Optional[_JsonObject], List[Any]]:
        parts = [self._observed(step), *_images_in(step.observation)]
        output = _parts(parts, "input_text", self._picture)
        return {"type": "function_call_output", "call_id": call_id, "output": output}, []

    def _read(self, document: _JsonObject) -> _Reply:
        status, output = document.get("status"), document.get("output")
        if status == "failed" or not isinstance(output, list):
            _check_no_error(document)
            what = f"no output: {_preview(document, 20_000)}"
            raise _classify_error(None, {}, {"error": what})
        content = [i.get("content") for i in _dicts(output) if i.get("type") == "message"]
        usage = _dict(document.get("usage"))
        cached = _dict(usage.get("input_tokens_details")).get("cached_tokens")
        tokens = usage.get("input_tokens"), usage.get("output_tokens"), cached
        text = "".join(_text_of(c, "output_text") for c in content)
        reply = _Reply(output, text, self._calls_in(output), tokens)
        refusals = [p["refusal"] for c in content for p in _dicts(c) if p.get("refusal")]
        why = _dict(document.get("incomplete_details")).get("reason")
        reply.cut = status == "incomplete"
        if refusals or reply.cut and why == "content_filter":
            reply.refusal = "".join(map(_to_text, refusals))
        return reply

    def _assembled(
        self, events: Iterator[Any], tell: Callable[[Any], None]
    ) -> Optional[_JsonObject]:
        items: Dict[int, Any] = {}
        for event in map(_dict, events):
            kind, response = event.get("type"), _dict(event.get("response"))
            if kind == "response.output_text.delta":
                tell(event.get("delta"))
            elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
                items[_count(event.get("output_index", len(items)))] = event["item"]
            elif kind == "response.failed":
                return {**response, "status": "failed"}
            elif kind in ("response.completed", "response.incomplete"):
                output = {"output": [items[n] for n in sorted(items)]} if items else {}
                return {**response, **output, "status": response.get("status") or str(kind)[9:]}
        return None


class AnthropicMessages(_Adapter):
    """The Messages API. max_tokens: the output limit, which it demands. cache: set breakpoints, so
    that system text, tools and history are cached; bytes then differ only in the one that moves on.
    """

    __doc__ = (__doc__ or "") + (_Adapter.__doc__ or "")
    _path, _host, _variable = "/messages", "https://api.anthropic.com", "ANTHROPIC"
    _limit, _id = "max_tokens", r"[a-zA-Z0-9_-]+\Z"

    def __init__(
        self, model: str, *, max_tokens: int = 4096, cache: bool = False, **settings: Any
    ) -> None:  # fmt: skip
        super().__init__(model, **settings)
        self.max_tokens, self.cache = max_tokens, cache

    def _login(self, key: str) -> Dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def _frame(self) -> _JsonObject:
        frame: _JsonObject = {"max_tokens": self.max_tokens}
        if self.system:
            blocks = self._marked([self._block(self.system)])
            frame["system"] = blocks if self.cache else self.system
        return {**frame, "stream": True} if self.on_text else frame

    def _marked(self, tools: List[Any]) -> List[Any]:
        mark = {"cache_control": {"type": "ephemeral"}} if self.cache else {}
        return [*tools[:-1], {**tools[-1], **mark}]

    def _marked_last(self, message: bytes) -> bytes:
        if not self.cache or not message:
            return message
        return message[:-3] + b', "cache_control": {"type": "ephemeral"}}]}'  # in its last block

    def _tool(self, t: Tool) -> _JsonObject:
        return _about(t, "input_schema")

    def _user(self, parts: List[Any]) -> _JsonObject:
        content = [p if type(p) is dict else self._block(p) for p in parts]
        return {"role": "user", "content": content}

    @staticmethod
    def _block(part: Any) -> _JsonObject:
        if not _images_in(part):
            return {"type": "text", "text": part}
        source = {
            "type": "base64",
            "media_type": part.media_type,
            "data": _encode_base64(part.data),
        }
        return {"type": "image", "source": source}

    def _composed(self, text: str, calls: List[Tuple[str, Any]]) -> Any:
        made = [{"type": "tool_use", "name": _legal(n), "input": given} for n, given in calls]
        return {"role": "assistant", "content": [self._block(text), *made]}

    def _calls_in(self, message: Any) -> Optional[List[Any]]:
        if not isinstance(message, dict) or message.keys() != {"role", "content"}:
            return None
        blocks = _dicts(message["content"])
        foreign = any(type(b.get("thinking")) is list for b in blocks)
        if foreign or not isinstance(message["content"], list):
            return None
        calls = [b for b in blocks if b.get("type") == "tool_use"]
        return [(b.get("id"), b.get("name"), b.get("input")) for b in calls]

    def _assistant(self, message: Any, ids: List[str], stand_in: str) -> List[_JsonObject]:
        left, blocks = list(ids), []
        for block in _dicts(message["content"]):
            if block.get("type") == "text" and not _text_of([block]).strip():
                continue  # returned at times, refused always
            if block.get("type") == "tool_use":
                given, name = block.get("input"), _name_of(block.get("name"))
                if type(given) is not dict or not _is_plain_json(given):
                    given = json.loads(_strict_arguments(given))
                block = {**block, "id": left.pop(0), "name": name, "input": given}
            blocks.append(block)
        return [{"role": "assistant", "content": blocks or [self._block(stand_in)]}]

    def _result(self, call_id: str, step: AgentStep) -> Tuple[Optional[_JsonObject], List[Any]]:
        text, images = self._observed(step), _images_in(step.observation)
        content = [self._block(p) for p in (text, *images)] if images else text
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return None, [block if step.status == "ok" else {**block, "is_error": True}]

    def _read(self, document: _JsonObject) -> _Reply:
        content, reason = document.get("content"), document.get("stop_reason")
        content = [self._block(content)] if isinstance(content, str) else content
        if not isinstance(content, list):
            raise _RequestFailed(
                f"no content in the reply: {_preview(document, 20_000)}", "bad_response"
            )
        usage = _dict(document.get("usage"))
        cached = _count(usage.get("cache_read_input_tokens"))
        fresh = _count(usage.get("input_tokens")) + _count(usage.get("cache_creation_input_tokens"))
        message = {"role": "assistant", "content": content}
        tokens = fresh + cached, usage.get("output_tokens"), cached
        reply = _Reply(message, _text_of(content), self._calls_in(message), tokens)
        reply.cut = reason in ("max_tokens", "model_context_window_exceeded")
        reply.paused = reason == "pause_turn" and bool(content)
        reply.announced = reason == "tool_use"
        reply.refusal = "" if reason == "refusal" else None
        return reply

    def _assembled(
        self, events: Iterator[Any], tell: Callable[[Any], None]
    ) -> Optional[_JsonObject]:
        blocks: Dict[int, List[_JsonObject]] = {}
        usages: List[_JsonObject] = []
        reason = None
        for event in map(_dict, events):
            kind, delta = event.get("type"), _dict(event.get("delta"))
            at = _count(event.get("index"))
            usages += map(_dict, (_dict(event.get("message")).get("usage"), event.get("usage")))
            reason = delta.get("stop_reason") or reason
            if kind == "content_block_start":
                blocks[at] = [_dict(event.get("content_block"))]
                tell(blocks[at][0].get("text"))
            elif kind == "content_block_delta":
                known = ("text", "thinking", "signature", "partial_json", "citation")
                delta = {k: delta[k] for k in known if k in delta}
                if "citation" in delta:
                    delta["citations"] = [delta.pop("citation")]
                blocks.setdefault(at, [{"type": "text"}]).append(delta)
                tell(delta.get("text"))
            elif kind == "message_stop":
                reason = reason or ""
                break
        if reason is None:
            return None
        content = [_merged(blocks[n]) for n in sorted(blocks)]
        for block in content:
            given = block.pop("partial_json", None)
            if given:
                block["input"] = _literal(_to_text(given))  # a text still, where it is no JSON
            elif "tool_use" in str(block.get("type")):
                block["input"] = block.get("input") or {}
        return {"content": content, "stop_reason": reason, "usage": _merged(usages)}


# == command line ==================================================================================


def _demo() -> int:
    """A scripted model on a real loop: it gets a call wrong, reads the observation, mends it."""

    def lookup_stock(sku: str, warehouse: Literal["north", "south"] = "north") -> _JsonObject:
        """Return the quantity that can be sold now; read-only, reserves nothing."""
        return {"sku": sku, "available": {"A1": 3}.get(sku, 0)}

    wrong, right = {"sku": "A1", "warehouse": "nord"}, {"sku": "A1", "warehouse": "north"}
    calls = [AgentAction("lookup_stock", given) for given in (wrong, right)]
    model = Scripted([*calls, AgentFinish("3 of A1 can be sold now; nothing is reserved.")])
    run = AgentRun("How many A1 can we sell from the north warehouse?")
    print("A demo without network and key: the model is a script, the loop and the tool are real.")
    print("task: %s" % run.task)
    for event in stream(model, run, [lookup_stock], max_requests=5):
        print("request %d/5  %s" % (run.requests, event))
    then = 'python3 agentloop.py "your question" --tools my_tools.py --model NAME'
    print("state: %s. Next: %s" % (run.state, then))
    return 0


def _tools_in(path: str) -> Registry:
    """The public functions and Tools of a Python file; ValueError where there are none."""
    import importlib.util

    name = os.path.basename(path).rpartition(".")[0] or "tools"
    spec: Any = importlib.util.spec_from_file_location(name, path)
    if not os.path.isfile(path) or spec is None:
        raise ValueError("--tools %s: no such Python file" % path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    try:
        spec.loader.exec_module(module)
        names = [n for n in vars(module) if n[0] != "_" and n != "main"]
        public = getattr(module, "__all__", names)
        found = [v for n, v in vars(module).items() if n in public]
        tools = registry([
            v for v in found
            if getattr(v, "type", "") == "Tool" or inspect.isfunction(v) and v.__module__ == name
        ])  # fmt: skip
    except (Exception, SystemExit) as e:
        raise ValueError("--tools %s: %s: %s" % (path, type(e).__name__, _safe_str(e))) from e
    if not tools:
        raise ValueError("--tools %s: no public function in it" % path)
    return tools


def _model_from(options: Any) -> Tuple[Any, str]:
    """The model that the options name, and a line that says which."""
    body: _JsonObject = {}
    for pair in options.set:
        key, _, value = pair.partition("=")
        try:
            body[key] = json.loads(value)
        except ValueError:
            raise ValueError("--set %s: asked is KEY=JSON, say temperature=0.2" % pair) from None
    api, why = options.api, ""
    keys = [os.environ.get(name) for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")]
    if api is None and keys[1] and not keys[0]:
        api, why = "anthropic", " (ANTHROPIC_API_KEY is set)"
    kinds: _JsonObject = {"responses": OpenAIResponses, "anthropic": AnthropicMessages}
    kind = kinds.get(str(api), OpenAIChat)
    server = kind(options.model, base_url=options.base_url, system=options.system, **body)
    model = ReActText(server.complete) if api == "text" else server
    return model, "api: %s%s, %s" % (api or "chat", why, _public(server.url))


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line. Returns the exit status: 0 answer, 3 budget, 4 refusal, 1 ModelError, 2
    wrong use, 130 Ctrl-C."""
    import argparse
    import logging

    out: Any
    for out in (sys.stdout, sys.stderr):
        if hasattr(out, "reconfigure"):
            out.reconfigure(errors="backslashreplace")  # a console that is cp1252 or ASCII
    about = "Ask a model that may use your Python functions. Without arguments: a demo, offline."
    status = "Exit: 0 answer, 3 budget, 4 refusal, 1 server's fault, 2 wrong use, 130 Ctrl-C."
    parser = argparse.ArgumentParser(prog="agentloop", description=about, epilog=status)
    say = parser.add_argument
    say("question", nargs="?", help="- reads it from standard input; left out: a conversation")
    say("--tools", metavar="FILE.py", help="its public functions are offered to the model")
    say("--schema", action="store_true", help="print what a model would be told of the tools")
    say("--model", metavar="NAME", help="the model's name on the server")
    say("--base-url", metavar="URL", help="the server, such as http://127.0.0.1:8080/v1")
    say("--api", choices=["chat", "responses", "anthropic", "text"], help="default: the key's")
    say("--system", metavar="TEXT", help="the system text")
    say("--max-requests", type=int, default=10, metavar="N", help="the budget; default 10")
    say("--set", action="append", default=[], metavar="KEY=JSON", help="a field of the request")
    say("--journal", metavar="FILE", help="keep the run; the same line goes on after a crash")
    say("--json", action="store_true", help="print the run as JSON instead of the answer")
    say("--version", action="store_true", help="print the version and the file's sha256")
    options = parser.parse_args(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("note: %(message)s"))
    logging.getLogger("agentloop").addHandler(handler)
    try:
        if options.version:
            import hashlib

            source = globals()["__loader__"].get_data(__file__)  # in a zip too
            print("agentloop %s, sha256 %s" % (__version__, hashlib.sha256(source).hexdigest()))
            return 0
        tools = _tools_in(options.tools) if options.tools else {}
        if options.schema:
            told = [_about(t) for t in tools.values()]
            print(json.dumps(told, indent=2, ensure_ascii=False))
            return 0
        if not (options.question or options.model or options.tools or options.journal):
            return _demo()
        if not options.model:
            raise ValueError("--model NAME is needed: which model shall answer?")
        if options.max_requests < 0:
            raise ValueError("--max-requests is 0 or more")
        model, which = _model_from(options)
        print(which, file=sys.stderr)
        return _converse(model, tools, options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of `| head` has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (ValueError, TypeError, OSError) as e:
        print("agentloop: %s" % _one_line(_safe_str(e), 600), file=sys.stderr)
        return 2


def _read_input() -> str:
    """The text of standard input; a byte order mark says its encoding and is no part of it."""
    import codecs

    if not hasattr(sys.stdin, "buffer"):  # a console of a program, without bytes
        return sys.stdin.read().strip()
    data = sys.stdin.buffer.read()
    encoding = sys.stdin.encoding
    if data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    return data.decode(encoding, "replace").strip()


def _converse(model: Any, tools: Registry, options: Any) -> int:
    """Ask the question; or each line of standard input, as the next turn of one conversation."""
    run: Optional[AgentRun] = None
    if options.journal and os.path.exists(options.journal):
        with open(options.journal, "rb") as file:
            begun = b"\n" in file.read()
        run = AgentRun.load(options.journal) if begun else None
    question = _read_input() if options.question == "-" else options.question
    if question is not None:
        if run is None or run.task != question:
            run = run.follow_up(question) if run else AgentRun(question)
        return _ask(model, run, tools, options)
    status = _ask(model, run, tools, options) if run and run.state == "running" else 0
    while status != 130:
        print("> " * sys.stdin.isatty(), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            run = run.follow_up(line.strip()) if run else AgentRun(line.strip())
            status = _ask(model, run, tools, options)
    return status


def _ask(model: Any, run: AgentRun, tools: Registry, options: Any) -> int:
    """One turn: events to standard error, the answer to standard output."""

    def tell(event: Any) -> None:
        count = run.requests, options.max_requests
        print("request %d/%d " % count, event, file=sys.stderr)

    limits: Any = {"max_requests": options.max_requests, "journal": options.journal}
    try:
        for event in stream(model, run, tools, **limits):
            if event.type != "AgentFinish":
                tell(event)
    except ModelError as e:
        print(_one_line(str(e), 1500), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; the steps so far:", file=sys.stderr)
        for step in run.steps:
            print("  %s" % step, file=sys.stderr)
        return 130
    tell("state: " + run.state)
    if options.json:
        print(json.dumps(to_json(run), indent=2))
    elif run.finish is not None:
        print(_to_text(run.output))
    return 3 if run.finish is None else 4 if run.finish.reason == "refusal" else 0


def _file_stem(path: str) -> str:
    """ "app.pyz/__main__.py" -> "__main__"; "agentloop.cpython-311.pyc" -> "agentloop" """
    return os.path.basename(path).split(".")[0]


# Only as a script: in a notebook cell, or run by exec, __name__ may be "__main__" too.
if __name__ == "__main__":
    if _file_stem(globals().get("__file__", "")) == _file_stem(main.__code__.co_filename):
        sys.exit(main())


# -- licence ---------------------------------------------------------------------------------------
#
# Copyright (c) 2026 the agentloop authors. MIT licence:
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
# associated documentation files (the "Software"), to deal in the Software without restriction,
# including without limitation the rights to use, copy, modify, merge, publish, distribute,
# sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all copies or
# substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
# NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
# NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
# DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
# OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
