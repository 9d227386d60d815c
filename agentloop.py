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
    notice       the step of a reply without calls         status "invalid_response"
    finish       the model's claim to be done              AgentFinish("3 left")
    run          the whole state of one task               AgentRun("How many A1?")
    budget       how many requests a run may make          max_requests=10

Sections: errors, data, tools, loop, journal, models, command line. Each can be understood with
those above it alone, and the file can be cut off at any banner from the bottom up (then
shorten `__all__`).

MIT licence; its text stands at the end of the file.
"""

from __future__ import annotations

# The next line is a trick: what it assigns is not used. The parser of a Python that is
# too old reports `:=` as a SyntaxError before anything runs, and shows the line, which
# says what is needed.
(PYTHON := "agentloop needs Python 3.8 or newer")

import collections
import contextlib
import copy
import dataclasses
import enum
import errno
import functools
import gc
import inspect
import itertools
import json
import math
import operator
import os
import re
import stat
import sys
import time
import types
import typing
from _thread import RLock, _local, allocate_lock
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, FrozenSet, Generator, Iterable, Iterator, List
from typing import Literal, MutableMapping, NoReturn, Optional, Sequence, Set, Tuple, Union

# subtle: `dataclass` looks this module up in sys.modules, because the annotations are
# strings. It is not there where importlib's spec_from_file_location and exec_module
# loaded the file and nobody entered it, or where `exec` ran its text. Then `typing` stands
# in for it; it is taken out again below the last dataclass, `Tool`.
sys.modules.setdefault(__name__, typing)

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

    Callers of the loop never see it: it becomes a step with the status
    `invalid_response`.

    Args:
        observation: what the model is shown about it, for example "The reply was cut: be
            shorter." With "" nothing is said, and the model continues its message.
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
        status: the status of the HTTP reply, for example 429; None where there was no
            reply.
        agent_run: the run so far, set by the loop. Resuming it runs no tool a second
            time.
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

# Characters that a terminal obeys or that nobody sees: C0, C1, line and paragraph
# separators, zero width, fillers, bidirectional controls, lone surrogates, tags. Variation
# selectors are kept: scripts and emoji need them.
_UNPRINTABLE = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_JOINERS = "\u200c\u200d"  # kept only next to a character that needs them
_NEEDS_JOINERS = "[\u0300-\u1fff\u2190-\ufefe\U00010000-\U0001ffff]"


def _escape(text: str) -> str:
    r"""Unprintable characters as escapes: 'a<newline>b' -> 'a\nb'. All letters stay."""

    def escape_one(match: "re.Match[str]") -> str:
        character = match.group()
        beside = text[max(match.start() - 1, 0) : match.end() + 1]
        if character in _JOINERS and re.search(_NEEDS_JOINERS, beside):
            return character
        return character.encode("unicode_escape").decode("ascii")

    return re.sub(_UNPRINTABLE, escape_one, text)


def _one_line(text: str, limit: int = 200) -> str:
    """One printable line of about `limit` characters: ("abcdef", 3) -> "abc ..."."""
    if len(text) > limit:
        text = text[:limit] + " ..."
    return _escape(text)


def _cut_middle(text: str, limit: int) -> str:
    """The text; where it is longer than `limit`, with a note in place of its middle."""
    if len(text) <= limit:
        return text
    head = limit - limit // 3
    tail = len(text) - limit // 3
    gap = f"[... characters {head + 1} to {tail} of {len(text)} are missing ...]"
    return f"{text[:head]}\n{gap}\n{text[tail:]}"


def _safe_str(value: Any, show: Callable[[Any], str] = str) -> str:
    """str(value), or what else is to `show` it; a placeholder where that raises."""
    try:
        return show(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


# Two copies of this file in one process (a package may vendor its own) exchange actions,
# runs and errors, although `isinstance` knows only those of one copy. So each class says
# in an attribute `type` what it is, and that is compared.
def _class_tag(value: Any) -> str:
    """The class attribute `type`: "AgentRun" for an AgentRun of this or another copy.

    "" for anything else. It is asked wherever a caller, a tool or a model may hand over an
    object of ours: pictures, `to_json`, `registry`, the task, a model's reply, errors. The
    value itself is not looked at: a tool may have returned it,
    and its attributes may raise, or exist whatever their name (a mock).
    """
    try:
        tag = getattr(type(value), "type", "")
    except Exception:  # its class has a metaclass that raises
        return ""
    return tag if type(tag) is str else ""


def _is_image(value: Any) -> bool:
    """True for an Image of this or another copy; not for what only resembles one."""
    if _class_tag(value) != "Image":
        return False
    fields = getattr(value, "__dict__", {})
    return type(fields.get("data")) is bytes and type(fields.get("media_type")) is str


def _is_tool(value: Any) -> bool:
    """True for a Tool of this or another copy; not for what only has its `type`."""
    if _class_tag(value) != "Tool":
        return False
    fields = getattr(value, "__dict__", {})
    return "function" in fields and "parameters" in fields


def _images_in(value: Any) -> List["Image"]:
    """The pictures in an observation or a task: an Image alone, or in a list or tuple."""
    values = value if type(value) in (list, tuple) else [value]
    return [v for v in values if _is_image(v)]


def _join_halves(text: str) -> str:
    """The text with each pair of surrogates as the one character that it stands for.

    They come apart where a server cuts a text between them. Reading JSON joins them: a run
    that is resumed from a file would have another text. A lone one stays.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _to_jsonable(value: Any) -> Any:
    """Closer to JSON, for what json.dumps does not know: {2, 1} -> [1, 2], b"a" -> "a"."""
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
    """What a model is shown of a value: a str as it is, else JSON, else str().

    (1, "a") -> '[1, "a"]', with letters of every script as they are. Never raises: a tool
    may have returned anything.
    """
    try:
        if type(value) in (list, tuple) and _images_in(value):
            return "\n".join(_to_text(v) for v in value)
        if not isinstance(value, (list, dict, tuple) + _SCALAR_TYPES):
            value = _to_jsonable(value)
        if isinstance(value, str):
            return _join_halves(str.__str__(value))
        return _join_halves(json.dumps(value, ensure_ascii=False, default=_to_jsonable))
    except Exception:  # keys that are not str, a circle, too deep, attributes that raise
        return _safe_str(value)


def _beginning_of(value: Any, limit: int) -> Any:
    """As much of a value as `limit` characters can show; the rest is not encoded.

    ("abcdef", 3) -> "abcd": one more than fits, so that who shows it sees that it is cut
    and writes "abc ...". ([1, 2, 3, 4, 5], 3) -> [1, 2, 3].
    """
    budget = limit

    def shorten(value: Any, depth: int) -> Any:
        nonlocal budget
        if type(value) is str:
            value = value[: budget + 1]
            budget -= len(value)
        if type(value) not in (list, tuple, dict) or depth == 0:
            return value
        items = value.items() if type(value) is dict else enumerate(value)
        kept = []
        for key, item in items:
            if budget <= 0:
                break
            budget -= 1
            kept.append((shorten(key, 0), shorten(item, depth - 1)))
        return dict(kept) if type(value) is dict else type(value)(item for _, item in kept)

    return shorten(value, 10)


def _preview(value: Any, limit: int = 60) -> str:
    """A short piece of a value on one line: "a" -> '"a"'; [1, 2] -> "[1, 2]"."""
    value = _beginning_of(value, limit)
    if type(value) is str:
        return _one_line(json.dumps(value, ensure_ascii=False), limit)
    return _one_line(_to_text(value), limit)


def _short_repr(value: Any) -> str:
    """A short piece of its repr on one line, for a developer: None -> "None"."""
    return _one_line(_safe_str(_beginning_of(value, 100), repr), 100)


def _is_plain_json(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """True for what JSON gives back unchanged: no subclasses, infinity, or deep values."""
    cls = type(value)
    if cls is str or cls is bool or value is None:
        return True
    if cls is int:
        return bool(value.bit_length() < _MAX_INTEGER_BITS)
    if cls is float:
        return math.isfinite(value)
    if depth == 0:
        return False
    if cls is list:
        return all(_is_plain_json(item, depth - 1) for item in value)
    if cls is dict:
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


_STRING_OR_BRACKET = r"""(?x)
    " [^"]* "?   # a string, also one that does not end
    | [\[{]
    | [\]}]
"""


def _is_deeper(text: str, limit: int) -> bool:
    """True where brackets stand more than `limit` deep; those in strings do not count.

    ('[[1], "[["]', 1) -> True, and with 2 -> False. One pass, whatever the text.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    # Without escaped quotes: a pattern that knows them takes 100 bytes of memory for each.
    text = text.replace("\\\\", "").replace('\\"', "")
    depth = 0
    for match in re.finditer(_STRING_OR_BRACKET, text):
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
    """One JSON value, read strictly: '{"n": 1}' -> {"n": 1}.

    ValueError for anything else, NaN, or more than `max_depth` lists and objects in one
    another. 1e999 is infinity: the types refuse it later, with the path to it.
    """
    if len(text) > max_depth and _is_deeper(text, max_depth):
        raise ValueError(f"nested more than {max_depth} deep")
    text = text.strip(" \t\r\n")
    value, end = decoder.raw_decode(text)  # `decode` would cost twice as much
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


# A string of a Python literal, also one that does not end.
_LITERAL_STRING = r"""(?x) ' (?: [^'\\] | \\\D )* '? | " (?: [^"\\] | \\\D )* "? """
# What a Python literal may consist of, its strings left empty: what JSON has too. No names,
# operators or numbers with underscores, so that reading one never shows a warning of
# Python's. Nor 1-1-1... or [1][1][1]...: such a chain is as deep as it is long, and Python's
# parser then overflows any stack.
_LITERAL_TOKENS = r"""(?x)
    (?: \s*
        (?: [\[{,:]
          | (?: '' | -? \d+ (?: \.\d* )? (?: [eE][-+]?\d+ )? | True | False | None | [\]}] )
            (?= \s* (?: [\]},:'] | \Z ) )   # behind a value, or its end
        )
    )* \s*
"""


def _parse_literal(text: str) -> Any:
    """A Python literal that JSON could hold: "{'n': None}" -> {"n": None}.

    ValueError for anything else, such as a call, a set or a number with underscores.
    """
    import ast

    if len(text) > _MAX_LITERAL:
        raise ValueError("too long for a Python literal")
    outline = re.sub(_LITERAL_STRING, "''", text)
    if not re.fullmatch(_LITERAL_TOKENS, outline) or _is_deeper(outline, _MAX_LITERAL_DEPTH):
        raise ValueError("not a Python literal, or too deeply nested for one")
    try:
        value = ast.literal_eval(re.sub(_LITERAL_STRING, _escape_for_python, text.strip()))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"not a Python literal: {type(error).__name__}") from None
    if not _is_plain_json(value):
        raise ValueError("a Python literal that JSON cannot hold")
    return value


def _escape_for_python(string: "re.Match[str]") -> str:
    r"""A string as Python reads it without a warning or an error: 'a\d<newline>' -> 'a\\d\x0a'."""

    def spell(match: "re.Match[str]") -> str:
        if match.group(1) is None:
            return f"\\x{ord(match.group()):02x}"
        known = match.group(1) in "\n\\'\"abfnrtvxuUN"
        return match.group() if known else "\\" + match.group()

    return re.sub(r"(?s)\\(.)|[\x00-\x1f]", spell, string.group())


def _parse_loosely(text: str) -> Any:
    r"""JSON, also with raw control characters in its strings, or a Python literal.

    '{"n": "a<newline>b"}' -> {"n": "a\nb"}; "{'n': None}" -> {"n": None}. ValueError for
    anything else.
    """
    try:
        return _parse_json(text, _loose_decoder)
    except ValueError:
        return _parse_literal(text)


_CODE_FENCE = r"""(?sx)
    \s* ``` [\w-]* [ \t]* \n     # the opening fence, with the name of a language
    (.*?)
    (?: \n [ \t]* ``` \s* )? \Z   # one at the start of a line; the text may hold others
"""


def _read_arguments(tool_input: Any) -> _JsonObject:
    r"""The arguments that a model gave, as a dict of the caller's own.

    A text has to be one JSON object. It is read leniently where only one reading is
    possible, and never completed. ValueError, with the reason, for anything else.

        {"n": 1}                  {"n": 1}, a copy
        '{"n": 1}'                {"n": 1}
        None, "", "null"          {}
        '```json\n{"n": 1}\n```'  {"n": 1}                  in a code fence
        '"{\\"n\\": 1}"'          {"n": 1}                  encoded once more
        '{"n": "a<newline>b"}'    {"n": "a\nb"}             raw control characters
        "{'n': None}"             {"n": None}               a Python literal
        '{"n": 1', "[1]", 5       ValueError
    """
    value = tool_input
    # A model of the caller's own may put anything there: `isinstance` would ask the object.
    if issubclass(type(value), str):
        value = str.__str__(value)
        try:
            value = _parse_json(value)
        except ValueError as json_error:
            if not value or value.isspace():
                return {}
            value = _parse_leniently(value, json_error)
    elif issubclass(type(value), dict):
        try:
            return {
                name: item if type(item) in _SCALAR_TYPES else copy.deepcopy(item)
                for name, item in value.items()
            }
        except Exception as error:
            raise ValueError(f"cannot be copied: {type(error).__name__}") from None
    if type(value) is str:  # encoded once more
        value = _parse_loosely(value) if value.strip() else None
    if type(value) is dict:
        return value
    if value is None:
        return {}
    raise ValueError("not an object")


def _parse_leniently(text: str, json_error: ValueError) -> Any:
    """The value of a text that is not strict JSON: "{'n': 1}" -> {"n": 1}.

    Where it is not readable, the text of `json_error` is raised: it says more than that of
    the Python literal.
    """
    fence = re.match(_CODE_FENCE, text)
    try:
        return _parse_loosely(fence.group(1) if fence else text)
    except ValueError:
        raise ValueError(str(json_error)) from None


# -- the data classes ------------------------------------------------------------------------------

State = Literal["running", "model_ended", "succeeded", "budget_exhausted"]  # of a run
Reason = Literal["stop", "refusal", "return_direct"]  # of a finish
Status = Union[  # of a step
    Literal[
        "ok",  # the tool returned
        "unknown_tool",  # there is no tool of that name
        "invalid_arguments",  # they do not fit the tool's parameters
        "tool_error",  # the tool raised
        "duplicate_call",  # its id was used before in the conversation
        "invalid_response",  # the reply could not be read
        "not_accepted",  # `accept` rejected the finish
        "unknown_outcome",  # it was interrupted, and may have taken effect
        "not_executed",  # the run ended, or another turn began, before it started
    ],
    str,  # any word that a caller gave to `AgentRun.close`, such as "denied"
]


class _Data:
    """What the data classes share.

    `dataclass` could write these methods and the constructors for each of them, but
    compiles them one by one, which would double the time of the import.
    """

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
    r"""What the first bytes say: b"\x89PNG..." -> "image/png"; else None.

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


@dataclass(init=False, repr=False, eq=False)
class Image(_Data):
    """A picture, in a task or in what a tool returns: Image(open("shot.png", "rb").read()).

    Attributes:
        data: the bytes of the file. TypeError for anything else.
        media_type: what the first bytes say (png, jpeg, gif, webp), else what was given.
    """

    type = "Image"
    data: bytes
    media_type: str = "image/png"

    def __init__(self, data: bytes, media_type: str = "image/png") -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"Image takes the bytes of a picture, as from open(path, 'rb').read(); "
                f"got {type(data).__name__}"
            )
        self.data = bytes(data)
        self.media_type = _media_type_of(self.data) or str(media_type)

    def __repr__(self) -> str:
        return f"Image(<{len(self.data)} bytes>, {self.media_type!r})"


_SHOWN_ARGUMENTS = 10_000  # characters: a longer text is shown unread, as it came


@dataclass(init=False, repr=False, eq=False)
class AgentAction(_Data):
    """A call that the model proposed. Nothing has run.

    Attributes:
        tool: the tool's name, for example "lookup_stock".
        tool_input: the arguments: a dict, or a str with their JSON text as it came. Use
            `arguments` to read them. Do not edit them: what runs would differ from what
            the journal holds. `AgentRun.close` gives a call another result.
        call_id: what ties the result to the call; the loop fills it in where it is "".
        log: the text that came beside the call.
        message: the assistant message it came in, untouched; usually one object
            for all actions of a reply.
        request: the number, within the turn and from 1, of the request that gave it;
            filled in by the loop.
    """

    type = "AgentAction"
    tool: str
    tool_input: Any
    call_id: str = ""
    log: str = ""
    message: Any = None
    request: int = 0

    def __init__(
        self, tool: str, tool_input: Any, call_id: str = "", log: str = "",
        message: Any = None, request: int = 0,
    ) -> None:  # fmt: skip
        self.tool = tool
        self.tool_input = tool_input
        self.call_id = call_id
        self.log = log
        self.message = message
        self.request = request

    @property
    def arguments(self) -> Optional[_JsonObject]:
        """The arguments as a dict of their own, read as the loop reads them: {"sku": "A1"}.

        None where `tool_input` is not one object; then the call will be
        `invalid_arguments`.
        """
        try:
            return _read_arguments(self.tool_input)
        except ValueError:
            return None

    @property
    def _is_call(self) -> bool:
        """False for what stands in the step about a reply that held no call."""
        return bool(self.call_id or self.tool)

    def __str__(self) -> str:
        """lookup_stock(sku="A1")"""
        shown = self.tool_input
        is_long = type(shown) is str and len(shown) > _SHOWN_ARGUMENTS
        if type(shown) is not dict and not is_long:
            arguments = self.arguments
            shown = shown if arguments is None else arguments
        if type(shown) is dict:
            first = itertools.islice(shown.items(), 120)  # more is cut off anyway
            shown = ", ".join(f"{_safe_str(name)[:121]}={_preview(v)}" for name, v in first)
        elif type(shown) is not str:
            shown = _preview(shown, 120)
        return f"{_one_line(_to_text(self.tool), 64)}({_one_line(shown, 120)})"


@dataclass(init=False, repr=False, eq=False)
class AgentStep(_Data):
    """An action and its result.

    Attributes:
        action: the call. It has an empty `tool` and `call_id` where the reply held no
            call (`invalid_response`, `not_accepted`).
        observation: the tool's own return value; a text where the call failed or did not
            run.
        status: how it ended, for example "ok" or "tool_error". `Status` has all words.
    """

    type = "AgentStep"
    action: AgentAction
    observation: Any
    status: Status = "ok"
    _in_journal = None  # type: Any  # no field: `_mark_written` (section journal) sets it

    def __init__(self, action: AgentAction, observation: Any, status: Status = "ok") -> None:
        self.action = action
        self.observation = observation
        self.status = status

    def __str__(self) -> str:
        """lookup_stock(sku="A1") -> ok: 3"""
        subject = str(self.action) if self.action._is_call else "reply"
        return f"{subject} -> {self._show_result()}"

    def _show_result(self) -> str:
        observation = self.observation
        if type(observation) is not str:
            observation = _preview(observation, 120)
        return f"{_one_line(self.status, 40)}: {_one_line(observation, 120)}"


@dataclass(init=False, repr=False, eq=False)
class AgentFinish(_Data):
    """The model's claim to be done.

    Attributes:
        output: the answer, any value. Of a refusal its explanation.
        log: the text around the answer.
        message: the assistant message it came in, untouched.
        reason: "stop", "refusal", or "return_direct" where a tool's observation is the
            answer.
    """

    type = "AgentFinish"
    output: Any
    log: str = ""
    message: Any = None
    reason: Reason = "stop"

    def __init__(
        self, output: Any, log: str = "", message: Any = None, reason: Reason = "stop"
    ) -> None:
        self.output = output
        self.log = log
        self.message = message
        self.reason = reason

    def __str__(self) -> str:
        """finish: 3 left"""
        word = "finish"
        if self.reason != "stop":
            word = f"finish ({_one_line(self.reason, 40)})"
        output = self.output if type(self.output) is str else _preview(self.output, 240)
        return f"{word}: {_one_line(output, 240)}"


Event = Union[AgentAction, AgentStep, AgentFinish]  # what `stream` yields
Decision = Union[AgentFinish, AgentAction, List[AgentAction]]  # what a model returns


_StepOrAction = typing.TypeVar("_StepOrAction", AgentStep, AgentAction)


def _group_by_reply(items: Iterable[_StepOrAction]) -> List[List[_StepOrAction]]:
    """Neighbouring steps, or actions, of one reply together: [a1, a2, b1] -> [[a1, a2], [b1]].

    One about a reply without calls stands alone; so does one of a run made by hand,
    without request and message.
    """
    groups: List[List[_StepOrAction]] = []
    last = AgentAction("", {})
    for item in items:
        action: Any = getattr(item, "action", item)
        are_calls = last.call_id and action.call_id
        if are_calls and _from_same_request(last, action):
            groups[-1].append(item)
        else:
            groups.append([item])
        last = action
    return groups


def _from_same_request(one: AgentAction, other: AgentAction) -> bool:
    """Decided by the request's number; in a run made by hand by the message they share."""
    if one.request or other.request:
        return one.request == other.request
    return one.message is not None and one.message is other.message


def _check_task(task: Any) -> None:
    """ "How many?", ["What is on it?", Image(...)] -> None; TypeError for [], None, 5."""
    if isinstance(task, str):
        return
    is_list = isinstance(task, list) and len(task) > 0
    if not is_list or not all(isinstance(part, str) or _is_image(part) for part in task):
        raise TypeError(
            "a task is a str, a list of str and Image, or an AgentRun to go on with; "
            f"got {_short_repr(task)}"
        )


_UNKNOWN_OUTCOME = (
    "This call was interrupted: whether it took effect is not known. Find out before a repeat."
)
_NOT_EXECUTED = "This call was not executed."

# Guards the moments in which a pending call gets its one step and a run its one stream:
# `close` may come from any thread, or from a signal handler.
#
# subtle: what it guards stands in the line of its `with`. From a line of its own Python goes
# back to the `with` to release the lock, and Ctrl-C that is raised between the two lines
# (by a debugger, say) would leave it locked for ever.
_run_lock = RLock()


class _RunInternals(_Data):
    """What later sections keep on a run. It is neither compared, shown, copied nor written.

    It stands here, since it belongs to one run and goes when the run goes.
    """

    # The `_Driver` (section loop) that holds this run. A step that `close` makes meanwhile
    # is put in its `new_steps` too, to be written and yielded.
    _driver: Any = None
    # {adapter: the conversation as it was sent} (section models)
    _encoded: Optional[MutableMapping[Any, Any]] = None

    def _acquire(self, driver: Any) -> None:
        """From now on this driver has the run. RuntimeError where another has it."""
        if self._driver is not None:
            gc.collect()  # a dropped stream lets go when it is collected: on PyPy some time later
        with _run_lock: self._set_driver(driver)  # fmt: skip # noqa: E701
        if self._driver is not driver:
            raise RuntimeError("another stream holds this run: exhaust or close it first")

    def _set_driver(self, driver: Any) -> None:
        if self._driver is None:
            self._driver = driver

    def _release(self, driver: Any) -> None:
        """The driver no longer has the run, if it had."""
        if self._driver is driver:
            self._driver = None


@dataclass(init=False, repr=False, eq=False)
class AgentRun(_RunInternals):
    """The whole state of one run, which is one turn of a conversation.

    print(run) shows it as a tree: each request, its actions, their results, the finish.

    Attributes:
        task: a str, or a list of str and Image.
        steps: what was done, in order.
        pending: actions that were proposed and are not done, in order.
        started: the call ids among them whose execution has begun.
        finish: the model's finish, or None.
        state: "running" (also where the caller interrupted it), "model_ended",
            "succeeded" or "budget_exhausted".
        requests: how many were begun in this turn.
        usage: token counts, summed: {"input_tokens": 900, "output_tokens": 40,
            "cached_tokens": 0}. `input_tokens` is the whole input, `cached_tokens` the
            part of it read from a cache.
        history: the earlier turns, oldest first, as AgentRuns with an empty history of
            their own; a plain list, which the caller may shorten or replace. From then on
            the run needs a journal of its own.
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

    def __init__(
        self,
        task: Any,
        steps: Optional[List[AgentStep]] = None,
        pending: Optional[List[AgentAction]] = None,
        started: Optional[List[str]] = None,
        finish: Optional[AgentFinish] = None,
        state: State = "running",
        requests: int = 0,
        usage: Optional[Dict[str, int]] = None,
        history: Optional[List["AgentRun"]] = None,
    ) -> None:
        self.task = task
        self.steps = [] if steps is None else steps
        self.pending = [] if pending is None else pending
        self.started = [] if started is None else started
        self.finish = finish
        self.state = state
        self.requests = requests
        self.usage = {} if usage is None else usage
        self.history = [] if history is None else history

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
        status = str.__str__(status)  # of an enum, say: a journal keeps the plain text
        with _run_lock: return self._close_pending(action, observation, status)  # fmt: skip # noqa: E701

    def follow_up(self, task: Any) -> "AgentRun":
        """The next turn of this conversation, with a budget of its own; works on any run.

        Pending calls are closed first: as `not_executed`, or `unknown_outcome` where they
        had started. TypeError if `task` is not a valid task, RuntimeError while a stream
        holds the run.
        """
        if self._driver is not None:
            raise RuntimeError("a stream holds this run: exhaust or close it before the next turn")
        _check_task(task)
        self._drop_done()
        started = set(self.started)
        for action in list(self.pending):
            if action.call_id in started:
                self.close(action, _UNKNOWN_OUTCOME, "unknown_outcome")
            else:
                self.close(action, _NOT_EXECUTED, "not_executed")
        turn = AgentRun(task, history=[*self.history, self._copy_turn()])
        turn._encoded = self._encoded
        self._encoded = None
        return turn

    @staticmethod
    def load(path: Union[str, "os.PathLike[str]"]) -> "AgentRun":
        """The last turn in a journal, its earlier turns as history. Reads only, needs no lock.

        ValueError, with path and line, where the file is not a journal, is damaged, is
        newer than this version, or has no turns yet. It needs the section `journal`.
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
            if step.action._is_call:
                lines.append(f"    {step.action}")
            lines.append(f"      {step._show_result()}")
        started = set(self.started)
        for action in self.pending:
            if action.request > request:
                request = action.request
                lines.append(f"  request {request}")
            lines.append(f"    {action}")
            lines.append("      started" if action.call_id in started else "      pending")
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

    def _copy_turn(self) -> "AgentRun":
        """Without the history, with lists of its own: resuming the run does not change it."""
        turn = copy.copy(self)
        for f in dataclasses.fields(turn):
            value = getattr(turn, f.name)
            if isinstance(value, (list, dict)):
                setattr(turn, f.name, value.copy())
        turn.history = []
        return turn

    def _index_of_pending(self, action: AgentAction) -> int:
        """The place of the action itself in `pending`, -1 where it is not there."""
        if self.pending and self.pending[0] is action:
            return 0  # most often, and it costs a tenth of a step to begin a loop
        for index, pending in enumerate(self.pending):
            if pending is action:
                return index
        return -1

    def _find_pending(self, action: AgentAction) -> AgentAction:
        """The action itself, else the first pending one of the same `call_id`."""
        if self._index_of_pending(action) >= 0:
            return action
        for pending in self.pending:
            if pending.call_id == action.call_id:
                return pending
        raise ValueError(f"the call {action.call_id!r} is not pending; see run.pending")

    def _close_pending(self, action: AgentAction, observation: Any, status: str) -> AgentStep:
        pending = self._find_pending(action)
        if self.steps and self.steps[-1].action is pending:
            # A signal handler came while the call got its step.
            raise ValueError(f"the call {action.call_id!r} has its step already")
        step = AgentStep(pending, observation, status)
        self._move_to_steps(step)
        return step

    def _add_step(self, step: AgentStep) -> bool:
        """End a pending action with this step; False where it has its step already."""
        with _run_lock: return self._move_to_steps(step)  # fmt: skip # noqa: E701

    def _move_to_steps(self, step: AgentStep) -> bool:
        if self._index_of_pending(step.action) < 0:
            return False
        # Ctrl-C may come in between. The driver that is to write the step gets it first:
        # the steps after it must not be written without it. A call in both lists is put
        # right by `_drop_done`; one that is in neither would be forgotten.
        if self._driver is not None:
            self._driver.new_steps.append(step)
        self.steps.append(step)
        # The place is found only now, since a signal handler may have closed another call.
        del self.pending[self._index_of_pending(step.action)]
        if step.action.call_id in self.started:
            self.started.remove(step.action.call_id)
        return True

    def _drop_done(self) -> None:
        """Take what has its step out of `pending` and `started`.

        Ctrl-C may have left it there, in `_move_to_steps`.
        """
        if self.pending:
            done = {id(step.action) for step in self.steps}
            self.pending[:] = [a for a in self.pending if id(a) not in done]
        if self.started:
            call_ids = {action.call_id for action in self.pending}
            self.started[:] = [call_id for call_id in self.started if call_id in call_ids]

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
# The other fields whose values are of one type.
_TYPES_IN_JSON = {  # of a field, by its annotation; others are not checked
    "str": str, "Status": str, "Reason": str, "State": str,
    "int": int, "List[str]": list, "Dict[str, int]": dict,
}  # fmt: skip


def _pack_value(name: str, value: Any) -> _JsonObject:
    """The entries of a JSON object that keep any value under `name`.

    Plain JSON is kept as it is: ("observation", 3) -> {"observation": 3}. Pictures are
    kept as such: {"observation_images": [...]}. The rest as the text that the model is
    shown: {"observation": "[1, 2]", "observation_as_text": true}. A list may hold both:
    [Image, "a"] -> {"observation_images": [{"type": "Image", ...}, {"value": "a"}]}.
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
    """The value that `_pack_value` kept under `name`; KeyError where there is no value."""
    if f"{name}_images" not in entries:
        return entries[name]
    value = entries[f"{name}_images"]
    if not isinstance(value, list):
        return _read_object(value)
    return [
        _read_object(item) if "type" in item else _unpack_value(item, "value") for item in value
    ]


def _holds(entries: _JsonObject, name: str) -> bool:
    """Whether `_pack_value` kept a value under `name`."""
    return name in entries or f"{name}_images" in entries


def to_json(x: Any) -> _JsonObject:
    """An action, step, finish, run or Image as a JSON object with a `type`.

    to_json(AgentFinish("3 left")) -> {"type": "AgentFinish", "output": "3 left", ...}. An
    observation or output that is not plain JSON is written as the text that the model is
    shown, and marked. TypeError for anything else.
    """
    if _is_image(x):
        return {"type": "Image", "media_type": x.media_type, "data": _encode_base64(x.data)}
    tag = _class_tag(x)
    if tag not in _CLASSES:
        names = ", ".join([*_CLASSES, "Image"])
        raise TypeError(f"to_json takes one of {names}; got {type(x).__name__}")
    entries: _JsonObject = {"type": tag}
    for f in dataclasses.fields(_CLASSES[tag]):
        value = getattr(x, f.name)
        if f.name in _LIST_FIELDS:
            entries[f.name] = [to_json(item) for item in value]
        elif f.name in _OBJECT_FIELDS:
            entries[f.name] = None if value is None else to_json(value)
        else:
            entries.update(copy.deepcopy(_pack_value(f.name, value)))  # a snapshot
    return entries


def _encode_base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode("ascii")


def from_json(d: _JsonObject) -> Any:
    """What `to_json` wrote: {"type": "AgentFinish", "output": "5"} -> AgentFinish("5").

    A field that is missing takes its default, so that JSON of an older file is read.
    ValueError for anything else; it names the field.
    """
    try:
        return _read_object(d)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"not what to_json wrote ({type(error).__name__}: {error}): {_short_repr(d)}"
        ) from None


def _read_object(d: _JsonObject) -> Any:
    """from_json, with any of its errors."""
    if d["type"] == "Image":
        import base64

        return Image(base64.b64decode(d["data"]), d.get("media_type", "image/png"))
    cls = _CLASSES[d["type"]]
    values = {}
    for f in dataclasses.fields(cls):
        if _holds(d, f.name):
            values[f.name] = _field_from_json(d, f.name, f.type)
    return cls(**values)


def _field_from_json(d: _JsonObject, name: str, annotation: Any) -> Any:
    """({"steps": [{"type": "AgentStep", ...}]}, "steps", "List[AgentStep]") -> [AgentStep(...)]."""
    if name in _LIST_FIELDS:
        if not isinstance(d[name], list):
            raise TypeError(f"{name} is not a list")
        return [_object_from_json(item, _LIST_FIELDS[name]) for item in d[name]]
    if name in _OBJECT_FIELDS:
        if name == "finish" and d[name] is None:
            return None
        return _object_from_json(d[name], _OBJECT_FIELDS[name])
    value = copy.deepcopy(_unpack_value(d, name))
    if annotation in _TYPES_IN_JSON and name != "log":  # a finish may have any
        _check_field(name, value, _TYPES_IN_JSON[annotation])
    return value


def _check_field(name: str, value: Any, expected: Any) -> None:
    """("requests", 7, int) -> None; TypeError or ValueError for ("requests", "7", int).

    Not checked are those that may hold any value, and what nothing checks on its way into a
    journal, which must stay readable: the `task` of a run made by hand, the `log` of a
    finish.
    """
    if not isinstance(value, expected) or isinstance(value, bool):
        raise TypeError(f"{name} is {_preview(value)}, not of type {expected.__name__}")
    if name == "state" and value not in typing.get_args(State):
        raise ValueError(f"state: there is no {_preview(value)}")
    if name == "status" and not value:
        raise ValueError("status is empty")
    if expected is list and not all(isinstance(item, str) for item in value):
        raise TypeError(f"{name} holds something else than texts: {_preview(value)}")
    if expected is dict:
        for key, number in value.items():
            if not isinstance(key, str) or not isinstance(number, (int, float)):
                entry = f"{_short_repr(key)}: {_short_repr(number)}"
                raise TypeError(f"run.{name} holds a number for each name; got {entry}")


def _object_from_json(d: Any, tag: str) -> Any:
    if d["type"] != tag:
        raise TypeError(f"expected {tag}")
    return _read_object(d)


# == tools =========================================================================================

_MOST_ITEMS = 10_000  # of a generator that a tool returned

# -- what is wrong with arguments ------------------------------------------------------------------

_MAX_FAULTS = 20  # of one call are shown, and how many more there are
_MAX_FAULT_CHARACTERS = 900  # of all that are shown


def _did_you_mean(name: Any, known: Sequence[str]) -> str:
    """("souht", ["north", "south"]) -> ', did you mean "south"?'; else ""."""
    import difflib

    text = _to_text(name)
    close = difflib.get_close_matches(text[:200], known[:1000], 1)
    if not close:
        close = [other for other in known if other.lower() == text.lower()]
    if not close:
        return ""
    return f', did you mean "{_one_line(close[0])}"?'


def _suggest_name(name: Any, known: Iterable[Any]) -> str:
    """("souht", ["north", "south"]) -> ', did you mean "south"?; known: north, south'."""
    names = [str(k) for k in known]
    if not names:
        return ""
    listed = _one_line(", ".join(names[:50]), 1_000)
    return f"{_did_you_mean(name, names)}; known: {listed}"


class _Fault:
    """One thing that is wrong with the arguments.

    Attributes:
        path: the keys that lead to the value, for example ("items", 2, "qty").
        describe: gives the text, 'expected integer, got "many"'. It is called only where
            the fault is shown: most are not, since a union tries one alternative after
            the other.
    """

    def __init__(self, path: Tuple[Any, ...], describe: Callable[[], str]) -> None:
        self.path = path
        self.describe = describe

    def __str__(self) -> str:
        """args.items[2].qty: expected integer, got "many\""""
        path = "".join(_path_step(key) for key in self.path)
        return f"args{path}: {self.describe()}"


def _path_step(key: Any) -> str:
    """2 -> "[2]"; "qty" -> ".qty"; "a b" -> '["a b"]'."""
    if type(key) is int:
        return f"[{key}]"
    name = _one_line(_to_text(key), 100)
    if name.isidentifier():
        return f".{name}"
    name = name.replace('"', "'")
    return f'["{name}"]'


class _Mismatch(ValueError):
    """A value does not fit its annotation; `faults` say why. Its text is what a model is shown."""

    def __init__(self, faults: List[_Fault]) -> None:
        super().__init__()
        self.faults = faults

    def __str__(self) -> str:
        """args.n: missing; args.x: expected integer, got "many"; and 7 more"""
        shown: List[str] = []
        length = 0
        for fault in self.faults[:_MAX_FAULTS]:
            text = _one_line(str(fault), _MAX_FAULT_CHARACTERS)
            length += len(text)
            if shown and length > _MAX_FAULT_CHARACTERS:
                break
            shown.append(text)
        more = len(self.faults) - len(shown)
        if more:
            shown.append(f"and {more:,} more")
        return "; ".join(shown)


# -- types: a schema for the model, a conversion of what it sends ----------------------------------


class _Place:
    """Where a value stands in the arguments, and how it is converted there.

    Attributes:
        path: the keys that lead to the value, for example ("items", 2, "qty").
        strict: take no other spelling, such as "5" for an integer.
        memo: what the unions that hold the value have converted so far, see `_Union`; None
            where no union holds it.
    """

    def __init__(
        self,
        path: Tuple[Any, ...] = (),
        strict: bool = False,
        memo: Optional[Dict[Tuple["_Union", Tuple[Any, ...], bool], Any]] = None,
    ) -> None:
        self.path = path
        self.strict = strict
        self.memo = memo

    def below(self, key: Any) -> "_Place":
        """The place of an item of the value."""
        return _Place((*self.path, key), self.strict, self.memo)

    def expected(
        self, what: str, value: Any, advice: Optional[Callable[[Any], str]] = None
    ) -> _Fault:
        """The fault 'expected integer, got "many"', followed by advice about the value."""

        def describe() -> str:
            text = f"expected {what}, got {_preview(value)}"
            if type(value) not in (list, dict, *_SCALAR_TYPES):
                # From a model of the caller's own: JSON has no such type.
                text += f" ({type(value).__name__})"
            return text if advice is None else text + advice(value)

        return _Fault(self.path, describe)

    def missing(self, name: str) -> _Fault:
        return _Fault((*self.path, name), lambda: "missing")

    def unknown(self, name: Any, known: Iterable[str]) -> _Fault:
        return _Fault((*self.path, name), lambda: "unknown name" + _suggest_name(name, known))


_TOP = _Place()  # of the arguments as a whole


class _Type:
    """What an annotation means: a schema, and a conversion. The subclasses check and convert.

    Attributes:
        schema: the JSON Schema that the model is shown.
        json_types: the Python classes of the JSON values that may be meant for this type.
        limit_types: the classes of the limits, such as the 1 of Ge(1), that say something
            about the values.
        length_keyword: "Length" where JSON Schema has minLength, "Items" for minItems; ""
            where the values have no length.
        has_own_description: whether the schema's description is from an `Annotated`.
    """

    schema: _JsonObject
    json_types: Tuple[type, ...] = ()
    limit_types: Tuple[type, ...] = ()
    length_keyword = ""
    has_own_description = False

    def __init__(self, schema: _JsonObject) -> None:
        self.schema = schema

    def convert(self, value: Any, place: _Place) -> Any:
        """The value as the annotated Python type. _Mismatch where it does not fit."""
        return value

    def distance(self, value: Any) -> Optional[Tuple[int, int]]:
        """How far a value is from this type: by it a union finds the alternative meant.

        (wrong tags, wrong names): how many fields have another value than their Literal,
        and how many names are missing or unknown. Only objects have more than (0, 0), and
        only their first level is looked at. None: the value is of another JSON type.
        """
        return (0, 0) if type(value) in self.json_types else None

    def word(self) -> str:
        """What it is called among the alternatives of a union: "integer"."""
        return str(self.schema.get("type", "object"))

    def advice(self, value: Any) -> str:
        """What helps a model that sent this value: "; in braces it must be JSON"; else ""."""
        return ""

    def takes_null(self) -> bool:
        try:
            return self.convert(None, _Place(strict=True)) is None
        except _Mismatch:
            return False

    def extended(self, **entries: Any) -> "_Type":
        """The same type with more entries in its schema."""
        twin = copy.copy(self)
        twin.schema = {**self.schema, **entries}
        return twin


class _AnyType(_Type):
    """Any value, as it is."""


# "Any value" is spelled out: an empty schema means "object only" to some grammar
# converters, a description without a type is refused by others (llama.cpp issue 19716).
_WORDS = [{"type": word} for word in ("string", "number", "boolean", "object")]
_ANY_ITEM: _JsonObject = {"anyOf": [*_WORDS, {"type": "null"}]}
_ANY_ARRAY = {"type": "array", "items": _ANY_ITEM}
_ANY = _AnyType({"anyOf": [*_WORDS, _ANY_ARRAY, {"type": "null"}]})


_MAX_ENCODED_DEPTH = 30  # it comes on top of the depth of the value that it is in


def _decode(value: Any, opening: str, place: _Place) -> Any:
    """A list or dict that came as JSON text: ("[1]", "[") -> [1]. Else the value."""
    if type(value) is str and not place.strict and value.lstrip()[:1] == opening:
        # Texts in texts in texts are bounded too: the path is as long as they are deep.
        left = _MAX_DEPTH + _MAX_ENCODED_DEPTH - len(place.path)
        try:
            return _parse_json(value, max_depth=min(_MAX_ENCODED_DEPTH, left))
        except ValueError:
            return value
    return value


class _Array(_Type):
    """A list, tuple or set: `make` is the class.

    Each item is of one type, `item`; in a tuple such as Tuple[int, str] each is of its own
    one of `types`.
    """

    json_types = (list,)

    def __init__(
        self,
        item: _Type,
        make: Callable[[Iterable[Any]], Any],
        types: Optional[List[_Type]] = None,
    ) -> None:
        super().__init__({"type": "array", "items": item.schema})
        self.item = item
        self.make = make
        self.types = types
        if types is None:
            self.length_keyword = "Items"
        else:
            # prefixItems without items is refused by two large providers.
            self.schema["minItems"] = len(types)
            self.schema["maxItems"] = len(types)

    def convert(self, value: Any, place: _Place) -> Any:
        """[1, "2"] -> [1, 2], "[1, 2]" -> [1, 2]. A single item is never made a list."""
        items = _decode(value, "[", place)
        if type(items) is not list:
            raise _Mismatch([place.expected("array", items, self.advice)])
        types: Iterable[_Type] = itertools.repeat(self.item)
        if self.types is not None:
            types = self.types
            if len(items) != len(self.types):
                raise _Mismatch([place.expected(f"array of {len(self.types)} items", items)])
        converted: List[Any] = []
        faults: List[_Fault] = []  # all of them, for one message
        for index, (item, item_type) in enumerate(zip(items, types)):
            try:
                converted.append(item_type.convert(item, place.below(index)))
            except _Mismatch as mismatch:
                faults += mismatch.faults
        if faults:
            raise _Mismatch(faults)
        try:
            return self.make(converted)
        except TypeError:
            raise _Mismatch([place.expected("array of items that a set can hold", items)]) from None

    def advice(self, value: Any) -> str:
        if type(value) is str and value.lstrip()[:1] == "[":
            return "; in brackets it must be JSON"
        return f"; a single item is written {_preview([value])}"


class _Object(_Type):
    """What is an object in JSON."""

    json_types = (dict,)

    def advice(self, value: Any) -> str:
        if type(value) is str and value.lstrip()[:1] == "{":
            return "; in braces it must be JSON"
        return ""


class _Mapping(_Object):
    """A dict: Dict[str, int]."""

    length_keyword = "Properties"

    def __init__(self, key: _Type, value: _Type) -> None:
        super().__init__({"type": "object"})
        if "enum" in key.schema:
            names = [str(name) for name in key.schema["enum"]]  # keys are texts: 1 is "1"
            self.schema["properties"] = dict.fromkeys(names, value.schema)
            self.schema["required"] = []
            self.schema["additionalProperties"] = False
        elif value.schema != _ANY.schema:
            self.schema["additionalProperties"] = value.schema
        self.key = key
        self.value = value

    def convert(self, value: Any, place: _Place) -> _JsonObject:
        """{"1": "2"} -> {1: 2} for Dict[int, int]."""
        entries = _decode(value, "{", place)
        if type(entries) is not dict:
            raise _Mismatch([place.expected("object", entries, self.advice)])
        converted: Dict[Any, Any] = {}
        faults: List[_Fault] = []
        for name, item in entries.items():
            try:
                # The name is always a str: for it another spelling is the only one.
                key = self.key.convert(name, _Place((*place.path, name)))
                converted[key] = self.value.convert(item, place.below(name))
            except _Mismatch as mismatch:
                faults += mismatch.faults
        if faults:
            raise _Mismatch(faults)
        if len(converted) < len(entries):
            raise _Mismatch([place.expected("object with distinct keys", entries)])
        return converted


class _Record(_Object):
    """An object with named fields: a dataclass, a TypedDict, a function's parameters.

    Args:
        fields: the types by name.
        required: the names that must be given.
        make: what is called with the converted fields; None for a dict of them.
        extra: the type of further names, for a function with **options; else None.
        reserved: names that are not among these, since something else fills them in.
    """

    def __init__(
        self,
        fields: Dict[str, _Type],
        required: List[str],
        make: Optional[Callable[..., Any]] = None,
        extra: Optional[_Type] = None,
        reserved: Iterable[str] = (),
    ) -> None:
        super().__init__({"type": "object"})
        schemas = {name: dict(each.schema) for name, each in fields.items()}
        self.schema["properties"] = schemas
        self.schema["required"] = required
        self.schema["additionalProperties"] = False
        if extra is not None:
            self.schema["additionalProperties"] = extra.schema
            if extra.schema == _ANY.schema:
                self.schema["additionalProperties"] = True
        self.fields = fields
        self.required = required
        self.make = make
        self.extra = extra
        self.reserved = frozenset(reserved)
        # A str for a str field needs no look: this saves two calls for most arguments.
        scalars = {name: each for name, each in fields.items() if isinstance(each, _Scalar)}
        self.exact_classes = {name: each.cls for name, each in scalars.items() if each.is_exact}
        # null for a field that may be left out, and takes no null, means "not given".
        optional = [name for name in fields if name not in required]
        self.null_means_absent = {name for name in optional if not fields[name].takes_null()}

    def convert(self, value: Any, place: _Place) -> Any:
        """{"sku": "a", "qty": "2"} -> Item("a", 2)."""
        entries = value
        if type(value) is not dict:
            entries = self._read_entries(value, place)
        exact_classes = self.exact_classes
        converted: _JsonObject = {}
        faults: List[_Fault] = []
        for name, item in entries.items():
            if exact_classes.get(name) is type(item):
                converted[name] = item
                continue
            if item is None and name in self.null_means_absent:
                continue
            field_type = self._find_type(name)
            if field_type is None:
                faults.append(place.unknown(name, self.fields))
                continue
            try:
                converted[name] = field_type.convert(item, place.below(name))
            except _Mismatch as mismatch:
                faults += mismatch.faults
        # Where as many values were converted as there are fields, no field is missing,
        # unless some of the values are extra ones. This saves a look for each name in
        # most calls.
        if self.extra is not None or len(converted) < len(self.fields):
            faults += [place.missing(name) for name in self.required if name not in entries]
        if faults:
            raise _Mismatch(faults)
        if self.make is None:
            return converted
        return self._construct(converted, place)

    def _find_type(self, name: str) -> Optional[_Type]:
        """The type of a field, or of a further name; None for a name that is unknown."""
        if name in self.fields or name in self.reserved:
            return self.fields.get(name)
        return self.extra

    def _construct(self, converted: _JsonObject, place: _Place) -> Any:
        make: Any = self.make
        try:
            return make(**converted)
        except Exception as error:  # what the class demands, for example in __post_init__
            text = _one_line(_safe_str(error) or type(error).__name__)
        raise _Mismatch([_Fault(place.path, lambda: text)])

    def _read_entries(self, value: Any, place: _Place) -> _JsonObject:
        entries = _decode(value, "{", place)
        names = getattr(self.make, "_fields", ())  # a NamedTuple may come as a list
        if type(entries) is list and names and len(entries) <= len(names):
            return dict(zip(names, entries))
        if type(entries) is dict:
            return entries
        raise _Mismatch([place.expected("object", entries, self.advice)])

    def distance(self, value: Any) -> Optional[Tuple[int, int]]:
        if type(value) is not dict:
            return None
        wrong_tags = 0
        wrong_names = len([name for name in self.required if name not in value])
        for name, item in value.items():
            field_type = self.fields.get(name)
            if field_type is None:
                wrong_names += 1
            elif isinstance(field_type, _Choice) and not field_type.resembles(item):
                if item is not None or name not in self.null_means_absent:
                    wrong_tags += 1
        return wrong_tags, wrong_names


def _spelling(value: Any) -> str:
    """By which choices are compared: " North" -> "north", 2.0 -> "2"."""
    if isinstance(value, str):
        return value.strip().casefold()
    if type(value) is float and value.is_integer():
        return str(int(value))
    return _to_text(value)


class _Choice(_Type):
    """A Literal or an enum.

    Args:
        members: the Python value for each JSON value, in pairs.
        names: further texts for a Python value, in pairs: the names of an enum.
    """

    def __init__(
        self, members: List[Tuple[Any, Any]], names: Iterable[Tuple[str, Any]] = ()
    ) -> None:
        values = [value for value, _ in members]
        super().__init__({"enum": values})
        types = {_SCALARS[_full_name(type(value))].schema["type"] for value in values}
        if len(types) == 1:
            self.schema["type"] = types.pop()
        self.json_types = tuple({type(value) for value in values})
        listed = ", ".join(json.dumps(v, ensure_ascii=False) for v in values[:50])
        self.description = f"one of {listed}"
        self.members = {(type(value), value): python for value, python in members}
        self.spellings: Dict[str, List[Any]] = {}
        for value, python in [*members, *names]:
            same = self.spellings.setdefault(_spelling(value), [])
            if not any(known is python for known in same):
                same.append(python)

    def convert(self, value: Any, place: _Place) -> Any:
        """ "north", " NORTH" -> "north"; an enum also by name. Never a guess of two."""
        if type(value) in _SCALAR_TYPES:
            if (type(value), value) in self.members:
                return self.members[type(value), value]
            same = self.spellings.get(_spelling(value), [])
            if len(same) == 1 and not place.strict:
                return same[0]
        raise _Mismatch([place.expected(self.description, value, self.advice)])

    def word(self) -> str:
        return str(self.schema.get("type", self.description))  # values of several types

    def resembles(self, value: Any) -> bool:
        return type(value) in _SCALAR_TYPES and _spelling(value) in self.spellings

    def advice(self, value: Any) -> str:
        if type(value) is not str:
            return ""
        return _did_you_mean(value, [_to_text(v) for v in self.schema["enum"]])


class _Reference(_Type):
    """Stands for a class or alias inside of itself.

    Args:
        name: that in $defs.
        types: by class or alias; None while it is built.
        hint: the class or alias.
    """

    def __init__(self, name: str, types: Dict[Any, Optional[_Type]], hint: Any) -> None:
        super().__init__({"$ref": f"#/$defs/{name}"})
        self.types = types
        self.hint = hint

    def convert(self, value: Any, place: _Place) -> Any:
        target = self.types[self.hint]
        if target is None:  # `takes_null` asks before it is built: most types do not
            raise _Mismatch([place.expected("object", value)])
        return target.convert(value, place)

    def distance(self, value: Any) -> Optional[Tuple[int, int]]:
        target = self.types[self.hint]
        return None if target is None else target.distance(value)


class _Union(_Type):
    """One of several types: Union[int, str], Optional[int].

    Each alternative is tried strictly, then each leniently. So does every union in the
    value, again in each try of the outer one: in recursive types that would be exponential.
    Therefore the outermost union makes a memo, which the places in the value carry on: each
    union converts what stands at one place once strictly, once leniently.
    """

    def __init__(self, alternatives: List[_Type]) -> None:
        schemas: List[_JsonObject] = []
        for alternative in alternatives:
            if alternative.schema not in schemas:  # a str and a Path look alike
                schemas.append(alternative.schema)
        super().__init__({"anyOf": schemas})
        if len(schemas) == 1:
            self.schema = schemas[0]
        self.alternatives = alternatives

    def convert(self, value: Any, place: _Place) -> Any:
        """5 -> 5 and "5" -> "5" for Union[int, str]; "5" -> 5 for Union[int, date]."""
        memo = {} if place.memo is None else place.memo
        key = (self, place.path, place.strict)
        if key not in memo:
            attempts = [_Place(place.path, True, memo)]
            if not place.strict:
                attempts.append(_Place(place.path, False, memo))
            memo[key] = self._try_each(value, attempts)
        converted, faults = memo[key]
        if faults:
            raise _Mismatch(faults)
        return converted

    def _try_each(self, value: Any, attempts: List[_Place]) -> Tuple[Any, List[_Fault]]:
        """(the converted value, []), or (None, the faults)."""
        candidates = self.alternatives
        if type(value) is dict:  # those whose names and tags fit, if there are any
            fitting = [each for each in candidates if each.distance(value) == (0, 0)]
            candidates = fitting or candidates
        mismatches: Dict[_Type, List[_Fault]] = {}
        for place in attempts:
            for alternative in candidates:
                try:
                    return alternative.convert(value, place), []
                except _Mismatch as mismatch:
                    mismatches[alternative] = mismatch.faults
        return None, self._explain(value, attempts[-1], mismatches)

    def _explain(
        self, value: Any, place: _Place, mismatches: Dict[_Type, List[_Fault]]
    ) -> List[_Fault]:
        """The faults by the one alternative that was meant; else that none fits."""
        value = _decode(_decode(value, "[", place), "{", place)
        shortest = self.distance(value)
        meant = [each for each in mismatches if each.distance(value) == shortest]
        if shortest is not None and len(meant) == 1:
            return mismatches[meant[0]]
        others = [each for each in self.alternatives if not each.takes_null()]
        advice = others[0].advice if len(others) == 1 else None  # an Optional
        return [place.expected(self.word(), value, advice)]

    def word(self) -> str:
        words = [each.word() for each in self.alternatives]
        return " or ".join(dict.fromkeys(words))

    def distance(self, value: Any) -> Optional[Tuple[int, int]]:
        distances = [alternative.distance(value) for alternative in self.alternatives]
        return min((d for d in distances if d is not None), default=None)


# -- types that JSON has as one text, number or word -----------------------------------------------

_REFUSALS = (ValueError, TypeError, ArithmeticError)  # what a class raises for a wrong value


def _call_class(cls: Any, value: Any) -> Any:
    return cls(value)


class _ScalarForm:
    """How JSON has the values of a class: a row of the table `_SCALARS`.

    Args:
        description: what a model is shown, for example "date like 2024-01-31".
        schema: the JSON Schema.
        json_types: the Python classes of the JSON values that `parse` takes.
        parse: (class, JSON value) to the Python value. It raises one of _REFUSALS.
        respell: another spelling to the one that `parse` takes. It raises the same.
        to_json: a Python value to the JSON that a model would have sent.
    """

    def __init__(
        self,
        description: str,
        schema: _JsonObject,
        json_types: Tuple[type, ...] = (str,),
        parse: Callable[[Any, Any], Any] = _call_class,
        respell: Callable[[Any], Any] = str.strip,
        to_json: Callable[[Any], Any] = str,
    ) -> None:
        self.description = description
        self.schema = schema
        self.json_types = json_types
        self.parse = parse
        self.respell = respell
        self.to_json = to_json


class _Scalar(_Type):
    """The type of a class whose values JSON has as one text, number or word.

    Attributes:
        form: the row of the table.
        cls: the Python class.
        is_exact: its values are in JSON as they are in Python: 5 -> 5.
    """

    def __init__(self, form: _ScalarForm, cls: Any) -> None:
        super().__init__(form.schema)
        self.form = form
        self.cls = cls
        self.json_types = form.json_types
        self.is_exact = cls in _SCALAR_TYPES and cls is not float
        if cls is str:
            self.length_keyword = "Length"
        elif form.schema["type"] in ("integer", "number"):
            self.limit_types = (int, float, cls)
        elif not self.is_exact:
            self.limit_types = (cls,)

    def convert(self, value: Any, place: _Place) -> Any:
        """ "2024-01-31" -> date(2024, 1, 31)."""
        form = self.form
        if type(value) in form.json_types:
            try:
                return form.parse(self.cls, value)
            except _REFUSALS:
                pass  # it may be another spelling
        if not place.strict:
            try:
                return form.parse(self.cls, form.respell(value))
            except _REFUSALS:
                pass
        raise _Mismatch([place.expected(form.description, value)])


def _match(pattern: str, text: Any) -> "re.Match[str]":
    """The match; ValueError where there is none, TypeError where it is not a text."""
    match = re.match(pattern, text)
    if match is None:
        raise ValueError(f"expected {pattern}")
    return match


def _parse_null(cls: Any, value: None) -> None:
    return value


def _respell_null(text: str) -> None:
    """ "null", " None" -> None."""
    if str.strip(text).lower() not in ("null", "none"):
        raise ValueError("not null")


def _respell_boolean(value: Any) -> bool:
    """1, "true", " True" -> True. Not "yes", "1", 1.0."""
    if type(value) is int and value in (0, 1):
        return value == 1
    word = _match(r"\s*(\w+)\s*\Z", value)[1].lower()
    if word not in ("true", "false"):
        raise ValueError("not a boolean")
    return word == "true"


def _respell_integer(value: Any) -> int:
    """5.0, " 5", "5.0" -> 5. Not 5.5, "1_000", True."""
    if type(value) is float and value.is_integer():
        return int(value)
    # The digits are bounded: reading many of them takes quadratic time.
    return int(_match(r"\s*([+-]?[0-9]{1,1000})(\.0+)?\s*\Z", value)[1])


_DECIMAL = r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z"


def _parse_number(cls: Any, value: Any) -> float:
    """2.5 -> 2.5. Not 5, which is not a float, or infinity."""
    if type(value) is not float or not math.isfinite(value):
        raise ValueError("not a finite float")
    return value


def _respell_number(value: Any) -> float:
    """5 -> 5.0, "2.5" -> 2.5. Not "nan", True."""
    if type(value) is int:
        return float(value)
    return float(_match(_DECIMAL, value)[0])


def _respell_string(value: Any) -> str:
    """5 -> "5". Not 1.1, which may have been written 1.10."""
    if type(value) is not int or value.bit_length() >= _MAX_INTEGER_BITS:
        raise ValueError("not an integer that can be written")
    return str(value)


# [0-9] and not \d, which takes the digits of every script.
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"""(?x)
    (?P<minute> [0-9]{2} : [0-9]{2} )
    (?: : (?P<second> [0-9]{2} ) (?: \. (?P<fraction> [0-9]{1,6} ) )? )?
    (?P<zone> [Zz] | (?P<hours> [+-] [0-9]{2} ) (?: :? (?P<rest> [0-5][0-9] ) )? )?
    \Z
"""
_DURATION = r"""(?x)
    (?P<sign> [+-]? ) P
    (?: (?P<weeks> [0-9]{1,9} ) W )?
    (?: (?P<days> [0-9]{1,9} ) D )?
    (?: T
        (?: (?P<hours> [0-9]{1,9} ) H )?
        (?: (?P<minutes> [0-9]{1,9} ) M )?
        (?: (?P<seconds> [0-9]{1,12} ) (?: \. (?P<microseconds> [0-9]{1,6} ) )? S )?
    )?
    (?<! [PT] ) \Z   # at least one part, and one after T
"""


def _parse_date(cls: Any, text: str) -> Any:
    """ "2024-01-31" -> date(2024, 1, 31)."""
    # Alone, fromisoformat takes further forms since Python 3.11.
    return cls.fromisoformat(_match(_DATE + r"\Z", text)[0])


def _respell_date(text: str) -> str:
    """ "2024-01-31T00:00:00" -> "2024-01-31": midnight carries no information."""
    return re.sub(r"[Tt ]00:00(:00(\.0{1,6})?)?\Z", "", str.strip(text))


def _spell_time(text: str) -> str:
    """ "09:30Z" -> "09:30:00.000000+00:00": fromisoformat of Python 3.8 takes no other."""
    parts = _match(_TIME, text).groupdict("00")
    zone = ""
    if parts["zone"] in ("Z", "z"):
        zone = "+00:00"
    elif parts["zone"] != "00":
        zone = f"{parts['hours']}:{parts['rest']}"
    return f"{parts['minute']}:{parts['second']}.{parts['fraction']:0<6}{zone}"


def _parse_time(cls: Any, text: str) -> Any:
    """ "09:30:00.5Z" -> time(9, 30, 0, 500000, timezone.utc)."""
    return cls.fromisoformat(_spell_time(text))


def _parse_datetime(cls: Any, text: str) -> Any:
    """ "2024-01-31T09:30:00Z" -> datetime(2024, 1, 31, 9, 30, tzinfo=timezone.utc)."""
    day = _match(f"({_DATE})[Tt ]", text)[1]
    return cls.fromisoformat(f"{day}T{_spell_time(text[11:])}")


def _respell_datetime(text: str) -> str:
    """ "2024-01-31" -> "2024-01-31T00:00": a date is that day's midnight."""
    return re.sub(rf"\A{_DATE}\Z", r"\g<0>T00:00", str.strip(text))


def _parse_duration(cls: Any, value: Any) -> Any:
    """ "P1DT2H", "-PT90S" -> timedelta; 90 -> 90 seconds."""
    if type(value) is not str:
        return cls(seconds=value)
    parts = _match(_DURATION, value).groupdict("0")
    sign = parts.pop("sign")
    parts["microseconds"] = parts["microseconds"].ljust(6, "0")
    duration = cls(**{unit: int(digits) for unit, digits in parts.items()})
    return -duration if sign == "-" else duration


def _respell_duration(value: Any) -> Any:
    """ "01:30:00" -> "PT01H30M00S"; a number of seconds stays one."""
    if type(value) in (int, float):
        return value
    clock = r"\A([+-]?)([0-9]{1,9}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)\Z"
    return re.sub(clock, r"\1PT\2H\3M\4S", str.strip(value))


def _write_duration(value: Any) -> str:
    """timedelta(days=1, hours=2) -> "P1DT7200S"."""
    if value.days < 0:
        return "-" + _write_duration(-value)
    seconds = str(value.seconds)
    if value.microseconds:
        seconds += f".{value.microseconds:06}"
    return f"P{value.days}DT{seconds}S"


def _parse_path(cls: Any, text: str) -> Any:
    if not text:
        raise ValueError("it would be the current folder")
    return cls(text)


def _parse_decimal(cls: Any, value: Any) -> Any:
    """19.9, "19.9" -> Decimal("19.9")."""
    # subtle: Decimal(0.1) is not Decimal("0.1")
    text = value if type(value) is str else repr(value)
    return cls(_match(_DECIMAL, text)[0])


# By name, since the modules are not imported here. Another type needs one more row.
_SCALARS = {
    "builtins.NoneType": _ScalarForm(
        "null",
        {"type": "null"},
        json_types=(type(None),),
        parse=_parse_null,
        respell=_respell_null,
    ),
    "builtins.bool": _ScalarForm(
        "boolean", {"type": "boolean"}, json_types=(bool,), respell=_respell_boolean
    ),
    "builtins.int": _ScalarForm(
        "integer", {"type": "integer"}, json_types=(int,), respell=_respell_integer
    ),
    "builtins.float": _ScalarForm(
        "number",
        {"type": "number"},
        json_types=(float, int),
        parse=_parse_number,
        respell=_respell_number,
    ),
    "builtins.str": _ScalarForm("string", {"type": "string"}, respell=_respell_string),
    "datetime.date": _ScalarForm(
        "date like 2024-01-31",
        {"type": "string", "format": "date"},
        parse=_parse_date,
        respell=_respell_date,
    ),
    "datetime.datetime": _ScalarForm(
        "date-time like 2024-01-31T09:30:00Z",
        {"type": "string", "format": "date-time"},
        parse=_parse_datetime,
        respell=_respell_datetime,
        to_json=operator.methodcaller("isoformat"),
    ),
    "datetime.time": _ScalarForm(
        "time like 09:30:00",
        {"type": "string", "format": "time"},
        parse=_parse_time,
    ),
    "datetime.timedelta": _ScalarForm(
        "duration like P1DT2H30M",
        {"type": "string", "format": "duration"},
        parse=_parse_duration,
        respell=_respell_duration,
        to_json=_write_duration,
    ),
    "uuid.UUID": _ScalarForm("UUID", {"type": "string", "format": "uuid"}),
    "pathlib.Path": _ScalarForm("string (a path)", {"type": "string"}, parse=_parse_path),
    "pathlib.PurePath": _ScalarForm("string (a path)", {"type": "string"}, parse=_parse_path),
    "decimal.Decimal": _ScalarForm(
        "number",
        {"type": "number"},
        json_types=(int, float),
        parse=_parse_decimal,
        to_json=float,
    ),
}


def _full_name(cls: Any) -> str:
    """The key in the table: Path -> "pathlib.Path", also where pathlib._local has it."""
    module = str(getattr(cls, "__module__", "")).split(".")[0]
    return f"{module}.{getattr(cls, '__qualname__', '')}"


_NULL = _Scalar(_SCALARS["builtins.NoneType"], type(None))
_STRING = _Scalar(_SCALARS["builtins.str"], str)


# -- constraints -----------------------------------------------------------------------------------


def _is_multiple(value: Any, step: Any) -> bool:
    """15 of 5; also 0.3 of 0.1, although 0.3 % 0.1 is not 0."""
    if type(value) is float or type(step) is float:
        quotient = float(value) / float(step)
        return abs(quotient - round(quotient)) < 1e-9
    return bool(value % step == 0)


# What the metadata of an `Annotated` may limit, by the attribute that holds the limit in
# annotated-types and pydantic: Ge(1).ge is 1. Then the keyword of JSON Schema ("min" and
# "max" go on with the type's `length_keyword`: "minLength"), what a model is shown before
# the limit, and whether a converted value keeps it.
_LIMITS: Dict[str, Tuple[str, str, Callable[[Any, Any], bool]]] = {
    "ge": ("minimum", "a value of at least", operator.ge),
    "gt": ("exclusiveMinimum", "a value above", operator.gt),
    "le": ("maximum", "a value of at most", operator.le),
    "lt": ("exclusiveMaximum", "a value below", operator.lt),
    "multiple_of": ("multipleOf", "a multiple of", _is_multiple),
    "min_length": ("min", "a length of at least", lambda v, limit: len(v) >= limit),
    "max_length": ("max", "a length of at most", lambda v, limit: len(v) <= limit),
    "pattern": ("pattern", "text that matches", lambda v, limit: bool(re.search(limit, v))),
}


def _read_attribute(item: Any, name: str) -> Any:
    """An attribute of metadata of any class; None where it has none, or raises."""
    try:
        return getattr(item, name, None)
    except Exception:
        return None


def _limits_in(metadata: Iterable[Any]) -> List[Tuple[str, Any]]:
    """(Ge(1), Len(0, 4)) -> [("ge", 1), ("max_length", 4)]; 0 and None say nothing."""
    items: List[Any] = []
    for item in metadata:
        items.append(item)
        parts = _read_attribute(item, "metadata")  # pydantic's Field has its limits there
        if isinstance(parts, (list, tuple)):
            items += parts
    limits: List[Tuple[str, Any]] = []
    for item in items:
        for name in _LIMITS:
            limit = _read_attribute(item, name)
            if limit is not None and (name, limit) != ("min_length", 0):
                limits.append((name, limit))
    return limits


def _applies(limited: _Type, name: str, limit: Any) -> bool:
    """Whether a limit says something about a type: ("ge", 1) about int, not about str."""
    if name == "pattern":  # of a text
        return limited.length_keyword == "Length" and isinstance(limit, (str, re.Pattern))
    if name in ("min_length", "max_length"):
        return limited.length_keyword != "" and type(limit) is int
    return isinstance(limit, limited.limit_types) and type(limit) is not bool


def _has_keyword(name: str, limit: Any) -> bool:
    """Whether the schema can say it: JSON Schema has no word for a date's limit."""
    if name == "pattern":
        # llama.cpp's grammar converter refuses one that is not anchored at both ends.
        return type(limit) is str and re.match(r"\^.*(?<!\\)\$\Z", limit) is not None
    return type(limit) in (int, float)


class _Constrained(_Type):
    """A type whose values have to keep limits too, for example [("ge", 1), ("le", 10)]."""

    def __init__(self, inner: _Type, limits: List[Tuple[str, Any]]) -> None:
        super().__init__(dict(inner.schema))
        self.inner = inner
        self.limits = limits
        self.json_types = inner.json_types
        self.limit_types = inner.limit_types
        self.length_keyword = inner.length_keyword
        self.has_own_description = inner.has_own_description
        for name, limit in limits:
            if name == "pattern":
                re.compile(limit)  # a wrong one is an error of the developer, now
            keyword, _, _ = _LIMITS[name]
            if keyword in ("min", "max"):
                keyword += inner.length_keyword
            with contextlib.suppress(ValueError):  # infinity, which JSON does not have
                shown = _scalar_to_json(limit)
                if _has_keyword(name, shown):
                    self.schema[keyword] = shown

    def advice(self, value: Any) -> str:
        return self.inner.advice(value)

    def convert(self, value: Any, place: _Place) -> Any:
        """Converted first, then checked: "10" -> 10 for an int of at most 10."""
        converted = self.inner.convert(value, place)
        faults: List[_Fault] = []
        for name, limit in self.limits:
            _, words, is_met = _LIMITS[name]
            # For example times with and without a zone cannot be compared.
            with contextlib.suppress(*_REFUSALS):
                if is_met(converted, limit):
                    continue
            shown = limit.pattern if isinstance(limit, re.Pattern) else limit
            faults.append(place.expected(f"{words} {shown}", value))
        if faults:
            raise _Mismatch(faults)
        return converted


# -- docstrings ------------------------------------------------------------------------------------

# A line that begins a section, in Google style with a colon, in NumPy style underlined.
# What is under any other heading ("Note:") belongs to the description.
_HEADING = r"""(?x)
    (?: (?P<parameters>
            (?: Keyword[ ] | Other[ ] )? (?: Arg | Argument | Parameter | Param | Attribute )s?
          | \u53c2\u6570                                   # Chinese
        )
      | Returns? | Yields? | Raises | Examples?
      | \u8fd4\u56de | \u5f02\u5e38                         # Chinese: returns, raises
    )
    [ \t]* (?: (?P<colon> [:\uff1a] ) [ \t]* )? \Z       # also the wide colon of Chinese
"""
_UNDERLINE = r"[ \t]*---+[ \t]*\Z"
# "sku (str, optional): the product's SKU", "- `sku`: the product's SKU"
_GOOGLE_ENTRY = r"""(?x)
    [-*`\\ ]* (?P<name> \w+ ) [*`]* [ \t]*
    (?: \( .*? \) [ \t]* )?         # the type
    [:\uff1a] [ \t]* (?P<note> .* ) \Z
"""
# ":param str sku: the product's SKU", ":returns: the quantity"
_REST_FIELD = r"""(?x)
    : (?: (?P<parameter> param\w* | arg\w* | kw\w* | key\w* )
        | type | returns? | rtype | raises? | yields
      ) \b
    (?P<words> [^:]* ) :            # a type, and the name
    (?P<note> .* ) \Z
"""


def _read_docstring(text: Optional[str]) -> Tuple[str, Dict[str, str]]:
    r"""The text outside of the sections, and what is said of each parameter.

    "Sell.\n\nArgs:\n    sku: which one" -> ("Sell.", {"sku": "which one"}), in Google, NumPy
    or reST style.
    """
    about: List[str] = []
    sections: List[Tuple[Callable[..., Dict[str, List[str]]], List[str]]] = []
    current = about  # where the next line goes
    lines = inspect.cleandoc(text or "").splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""]):
        read = _find_reader(line, next_line)
        if read is not None:
            current = []
            sections.append((read, current))
        elif sections and _ends_section(line, next_line, sections[-1][0] is _read_numpy):
            current = about
        current.append(line)
    notes: Dict[str, str] = {}
    for read, lines in sections:
        for name, parts in read(lines).items():
            note = " ".join(parts).strip()
            if note:
                notes[name] = note
    return "\n".join(about).strip(), notes


def _find_reader(line: str, next_line: str) -> Optional[Callable[..., Dict[str, List[str]]]]:
    """What reads the section that a line begins; None where it begins none."""
    if re.match(_REST_FIELD, line):
        return _read_rest
    heading = re.match(_HEADING, line)
    if heading and re.match(_UNDERLINE, next_line):
        return _read_numpy
    if heading and heading["colon"]:
        return _read_google
    return None


def _ends_section(line: str, next_line: str, is_numpy: bool) -> bool:
    """True where a line belongs to the description again: it is not indented.

    In NumPy style a section's entries are not indented either: there only a heading ends it.
    """
    is_heading = re.match(_UNDERLINE, next_line) is not None
    return line[:1].strip() != "" and (is_heading or not is_numpy)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_google(lines: List[str]) -> Dict[str, List[str]]:
    """Entries are indented alike, their further lines more."""
    notes: Dict[str, List[str]] = {}
    if not _match(_HEADING, lines[0])["parameters"]:
        return notes
    note: List[str] = []
    depth = 0
    for line in lines[1:]:
        text = line.strip()
        indentation = _indentation(line)
        depth = depth or indentation
        if indentation > depth:
            note.append(text)
            continue
        entry = re.match(_GOOGLE_ENTRY, text)
        if entry and indentation == depth:
            note = notes.setdefault(entry["name"], [entry["note"]])
    return notes


def _read_numpy(lines: List[str]) -> Dict[str, List[str]]:
    """Entries ("sku, size : str") are not indented, the lines about them are."""
    notes: Dict[str, List[str]] = {}
    if not _match(_HEADING, lines[0])["parameters"]:
        return notes
    note: List[str] = []
    for line in lines[2:]:
        text = line.strip()
        if text and _indentation(line) == 0:
            note = []
            for name in text.split(":")[0].split(","):
                notes[name.strip(" *")] = note
        else:
            note.append(text)
    return notes


def _read_rest(lines: List[str]) -> Dict[str, List[str]]:
    """One field; its further lines are indented."""
    heading = _match(_REST_FIELD, lines[0])
    words = heading["words"].split()
    if not words or not heading["parameter"]:
        return {}
    note = [heading["note"], *lines[1:]]
    return {words[-1].lstrip("*"): [line.strip() for line in note]}


# -- annotations -----------------------------------------------------------------------------------


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) is Union or type(hint).__name__ == "UnionType"


_QUALIFIERS = ("Final", "Required", "NotRequired", "ReadOnly")


def _form_of(hint: Any) -> str:
    """Required[int] -> "Required", Literal[1] -> "Literal"; "" for what is no such form.

    By name: typing_extensions has forms of its own for an older Python.
    """
    return getattr(typing.get_origin(hint), "_name", None) or ""


_ABSTRACT_CONTAINERS = {
    "Sequence": list,
    "MutableSequence": list,
    "Iterable": list,
    "Collection": list,
    "Set": set,
    "MutableSet": set,
    "Mapping": dict,
    "MutableMapping": dict,
}


def _container_of(hint: Any) -> Any:
    """List[int] -> list, Mapping[str, int] -> dict; None for what is not a container."""
    cls = typing.get_origin(hint) or hint
    if getattr(cls, "__module__", "") == "collections.abc":
        return _ABSTRACT_CONTAINERS.get(cls.__name__)
    if isinstance(cls, type) and cls in (list, tuple, set, frozenset, dict):
        return cls
    return None


def _has_fields(hint: Any) -> bool:
    """True for a dataclass, a NamedTuple, a TypedDict."""
    marks = ("__dataclass_fields__", "_fields", "__total__")
    return isinstance(hint, type) and any(hasattr(hint, mark) for mark in marks)


class _SchemaBuilder:
    """Makes types of the annotations of one tool. No other place knows annotations.

    What cannot come from JSON is a TypeError that begins with `where`: "f: parameter
    'x'".

    Args:
        closure: names that the annotations may use besides those of their module.
    """

    def __init__(self, closure: _JsonObject) -> None:
        self.closure = closure
        self.types: Dict[Any, Optional[_Type]] = {}  # by class or alias; None while it is built
        self.names: Dict[Any, str] = {}  # in $defs, of those that hold themselves

    def schemas_by_name(self) -> _JsonObject:
        """The entry $defs: the types that hold themselves."""
        types = {name: self.types[hint] for hint, name in self.names.items()}
        return {name: each.schema for name, each in types.items() if each is not None}

    def resolve(self, owner: Any, names: _JsonObject) -> _JsonObject:
        """The annotations of a function or class, those written as text resolved."""
        known = {**self.closure, **names}
        # Annotated is there from Python 3.9 on.
        options: _JsonObject = {"include_extras": True} if sys.version_info >= (3, 9) else {}
        try:
            annotated = owner if isinstance(owner, type) else _without_result(owner)
            return typing.get_type_hints(annotated, None, known, **options)
        except Exception as error:
            raise TypeError(
                f"cannot resolve the annotations of {owner.__name__}: "
                f"{type(error).__name__}: {error}; define or import their names in the module, "
                "and write Optional[int] before Python 3.10, List[int] before 3.9"
            ) from error

    def build(self, hint: Any, where: str) -> _Type:
        """int -> a type with the schema {"type": "integer"}, which converts "5" to 5."""
        # Before Python 3.11 typing_extensions has an Any of its own.
        is_any = hint in (Any, object, inspect.Parameter.empty)
        if is_any or _full_name(hint) == "typing_extensions.Any":
            return _ANY
        if hint is None:
            return _NULL
        if isinstance(hint, type) and _full_name(hint) in _SCALARS:
            return _Scalar(_SCALARS[_full_name(hint)], hint)
        if hasattr(hint, "__metadata__"):
            return self.build_annotated(hint, where)
        if _form_of(hint) in _QUALIFIERS:
            return self.build(typing.get_args(hint)[0], where)
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.build(hint.__supertype__, where)
        if _is_union(hint):
            return _unite([self.build(arg, where) for arg in typing.get_args(hint)])
        if _form_of(hint) == "Literal" or isinstance(hint, enum.EnumMeta):
            return self.build_choice(hint, where)
        if _container_of(hint) is dict:
            return self.build_mapping(hint, where)
        if _container_of(hint) is not None:
            return self.build_array(hint, where)
        return self.build_named(hint, where)

    def build_annotated(self, hint: Any, where: str) -> _Type:
        """Annotated[int, "how many", Ge(1)]. Metadata of other kinds is ignored."""
        limits = _limits_in(hint.__metadata__)
        annotated = _constrain(self.build(hint.__origin__, where), limits)
        for item in hint.__metadata__:
            note = item
            if not isinstance(item, str):
                note = _read_attribute(item, "description")
            if isinstance(note, str) and note:
                annotated = annotated.extended(description=note)
                annotated.has_own_description = True
                break
        return annotated

    def build_choice(self, hint: Any, where: str) -> _Type:
        """Literal["north", "south"], or an enum."""
        members: List[Any] = list(typing.get_args(hint) or hint)
        values = [getattr(member, "value", member) for member in members]
        if not values or not all(_is_plain_json(value, depth=0) for value in values):
            raise _no_json_form(hint, where)
        names = [(m.name, m) for m in members if isinstance(m, enum.Enum)]
        if isinstance(hint, enum.EnumMeta):
            names = list(hint.__members__.items())  # aliases too
        names += [("None", m) for m, value in zip(members, values) if value is None]
        return _Choice(list(zip(values, members)), names)

    def build_mapping(self, hint: Any, where: str) -> _Type:
        """Dict[str, int] -> a type that converts {"a": "1"} to {"a": 1}."""
        args = typing.get_args(hint)
        if not args:
            return _Mapping(_STRING, _ANY)
        key = self.build(args[0], where)
        if isinstance(key, _AnyType):
            key = _STRING
        if key.schema.get("type") not in ("string", "integer"):
            raise TypeError(f"{where}: the keys of a JSON object are str or int")
        return _Mapping(key, self.build(args[1], where))

    def build_array(self, hint: Any, where: str) -> _Type:
        """List[int] -> a type that converts ["1"] to [1]; Set[int] -> to {1}."""
        make = _container_of(hint)
        args = typing.get_args(hint)
        is_empty_tuple = make is tuple and hint not in (tuple, typing.Tuple)
        if not args and not is_empty_tuple:
            return _Array(_ANY, make)
        if make is not tuple or args[-1:] == (Ellipsis,):
            return _Array(self.build(args[0], where), make)
        # Tuple[()] has no arguments from Python 3.11 on, before it the one argument ().
        types = [self.build(arg, where) for arg in args if arg != ()]
        return _Array(_unite(types or [_ANY]), make, types)

    def build_named(self, hint: Any, where: str) -> _Type:
        """A class or an alias, built once. Inside of itself it is a reference."""
        is_alias = hasattr(hint, "__value__") and not typing.get_args(hint)  # type X = ...
        if not is_alias and not _has_fields(hint):
            raise _no_json_form(hint, where)
        if hint not in self.types:
            self.types[hint] = None
            if is_alias:
                self.types[hint] = self.build(hint.__value__, where)
            else:
                self.types[hint] = self.build_class(hint, where)
        elif self.types[hint] is None and hint not in self.names:
            self.names[hint] = self.new_name(hint.__name__)
        built = self.types[hint]
        if built is None or hint in self.names:
            return _Reference(self.names[hint], self.types, hint)
        return built

    def new_name(self, name: str) -> str:
        """ "Node", or "Node_2" where another class of that name has it."""
        numbers = itertools.count(2)
        unique = name
        while unique in self.names.values():
            unique = f"{name}_{next(numbers)}"
        return unique

    def build_class(self, hint: Any, where: str) -> _Type:
        # With its own name: that of a class made inside a function is not in its module.
        hints = self.resolve(hint, {hint.__name__: hint})
        about, notes = _read_docstring(_class_docstring(hint))
        if hasattr(hint, "__total__"):
            record = self.build_typed_dict(hint, hints, notes, where)
        else:
            parameters = _constructor_parameters(hint, where)
            fields = self.build_parameters(parameters, hints, notes, f"{where}, field")
            record = _Record(fields, _required_names(parameters), hint)
        return _describe(record, about)

    def build_typed_dict(
        self, hint: Any, hints: _JsonObject, notes: Dict[str, str], where: str
    ) -> _Type:
        # Python 3.8 has no __required_keys__.
        marked = getattr(hint, "__required_keys__", list(hints) if hint.__total__ else [])
        fields: Dict[str, _Type] = {}
        required: List[str] = []
        for name, annotation in hints.items():
            value_type = self.build(annotation, f"{where}, key {name!r}")
            fields[name] = _describe(value_type, notes.get(name))
            form = _form_of(annotation)
            if form == "Required" or (name in marked and form != "NotRequired"):
                required.append(name)
        return _Record(fields, required)

    def build_parameters(
        self,
        parameters: Iterable[inspect.Parameter],
        hints: _JsonObject,
        notes: Dict[str, str],
        where: str,
    ) -> Dict[str, _Type]:
        """The types of the parameters of a function or class, by name."""
        fields: Dict[str, _Type] = {}
        for parameter in parameters:
            name = parameter.name
            annotation = hints.get(name, parameter.annotation)
            field_type = self.build(annotation, f"{where} {name!r}")
            if parameter.default is None and not field_type.takes_null():
                field_type = _unite([field_type, _NULL])
            if parameter.kind is parameter.VAR_POSITIONAL:
                field_type = _Array(field_type, tuple)
            field_type = _describe(field_type, notes.get(name))
            if parameter.default is not parameter.empty:
                field_type = _show_default(field_type, parameter.default)
            fields[name] = field_type
        return fields


def _without_result(function: Any) -> Any:
    """What `get_type_hints` reads of a function, without the annotation of its result.

    That may name what is imported for type checkers alone, and no model is told of it.
    """
    inner = inspect.unwrap(function)
    # Objects of lru_cache have none of their own from Python 3.14 on.
    annotations = getattr(function, "__annotations__", {}) or getattr(inner, "__annotations__", {})
    shown = {name: hint for name, hint in annotations.items() if name != "return"}
    module_names = getattr(inner, "__globals__", {})
    return types.SimpleNamespace(__annotations__=shown, __globals__=module_names)


def _no_json_form(hint: Any, where: str) -> TypeError:
    name = hint
    if not typing.get_args(hint):
        name = getattr(hint, "__name__", hint)
    return TypeError(
        f"{where}: {name} has no JSON form; "
        "annotate it with one that has (str, int, a dataclass ...)"
    )


def _class_docstring(cls: Any) -> str:
    """What its author wrote; not "Point(x: int)", which `dataclass` writes."""
    text: str = cls.__dict__.get("__doc__") or ""
    if text.startswith(f"{cls.__name__}("):
        return ""
    return text


# The kinds of parameters that can be given by name.
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _constructor_parameters(cls: Any, where: str) -> List[inspect.Parameter]:
    """What a dataclass or a NamedTuple is made of. TypeError where that has no names."""
    parameters = list(inspect.signature(cls).parameters.values())
    if any(p.kind not in _BY_NAME for p in parameters):
        # A __new__ or a metaclass may take anything, and pass it on to __init__.
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind not in _BY_NAME:
            text = f"{cls.__name__} takes {parameter}, which has no name in JSON"
            raise TypeError(f"{where}: {text}: name each field in its __init__")
    return parameters


def _required_names(parameters: Iterable[inspect.Parameter]) -> List[str]:
    without_default = [p for p in parameters if p.default is p.empty]
    return [p.name for p in without_default if p.kind is not p.VAR_POSITIONAL]


def _unite(alternatives: List[_Type]) -> _Type:
    """The type of a union: [int, null] -> Optional[int]."""
    if any(isinstance(alternative, _AnyType) for alternative in alternatives):
        return _ANY
    # Optional of what takes null already, such as Literal["a", None], needs no null of its own.
    without_null = [a for a in alternatives if a.schema.get("type") != "null"]
    if any(alternative.takes_null() for alternative in without_null):
        alternatives = without_null
    if len(alternatives) == 1:
        return alternatives[0]
    return _Union(alternatives)


def _constrain(limited: _Type, limits: List[Tuple[str, Any]]) -> _Type:
    """The type with those limits that say something about it, or about one of a union."""
    if isinstance(limited, _Union) and limits:
        return _Union([_constrain(each, limits) for each in limited.alternatives])
    limits = [(name, limit) for name, limit in limits if _applies(limited, name, limit)]
    if not limits:
        return limited
    return _Constrained(limited, limits)


def _describe(described: _Type, note: Optional[str]) -> _Type:
    """With a description from a docstring. It yields to that of an `Annotated`."""
    if not note or described.has_own_description:
        return described
    return described.extended(description=note)


def _show_default(shown: _Type, default: Any) -> _Type:
    """With its default in the schema, where that has a JSON form.

    As the model would send it and the annotation reads it: "5" of an int is shown as 5.
    """
    try:
        sent = _to_json_form(default)
        converted = shown.convert(sent, _TOP)
        json_form = _to_json_form(converted)
    except (AttributeError, *_REFUSALS):  # what the class of the default raises
        return shown
    return shown.extended(default=json_form)


def _to_json_form(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A value as the model would have sent it: {date(2024, 1, 31)} -> ["2024-01-31"].

    ValueError where it has no JSON form, or holds itself.
    """
    if depth == 0:
        raise ValueError("it is nested too deeply, or in itself")
    cls = type(value)
    if hasattr(cls, "_fields"):  # a NamedTuple
        value = value._asdict()
    elif dataclasses.is_dataclass(cls) or isinstance(value, (enum.Enum, set, frozenset)):
        value = _to_jsonable(value)
    if isinstance(value, (list, tuple)):
        return [_to_json_form(item, depth - 1) for item in value]
    if isinstance(value, dict):
        names = [_name_in_json(key, depth - 1) for key in value]
        return dict(zip(names, [_to_json_form(item, depth - 1) for item in value.values()]))
    return _scalar_to_json(value)


def _name_in_json(key: Any, depth: int) -> str:
    """A key of a dict as JSON has it: 5 -> "5"; ValueError for (1, 2), which it has not."""
    name = _to_json_form(key, depth)
    if type(name) is int:
        name = str(name)
    if type(name) is not str:
        raise ValueError("the keys of a JSON object are texts")
    return name


def _scalar_to_json(value: Any) -> Any:
    """5 -> 5, Path("a") -> "a"; ValueError for infinity, an object without a JSON form."""
    cls = type(value)
    if cls not in _SCALAR_TYPES:
        for base in cls.__mro__:  # a Path is a PosixPath
            if _full_name(base) in _SCALARS:
                value = _SCALARS[_full_name(base)].to_json(value)
                break
    if not _is_plain_json(value):  # Decimal("inf") was changed, but is none either
        raise ValueError("it has no JSON form")
    return value


# -- functions -------------------------------------------------------------------------------------


class _Target:
    """What a tool calls, without the partials around it.

    Attributes:
        callable: a function, a method or an object with __call__.
        function: the function that runs: of an object, its class's __call__.
        name: the function's name; of an object, its class's in lower case.
        docstring: what describes it.
        bound_count: how many arguments the partials bind by position.
        bound_names: the names that they bind. What is bound is often a secret.
    """

    def __init__(self, function: Any) -> None:
        self.bound_count = 0
        self.bound_names: Set[str] = set()
        while isinstance(function, functools.partial):
            self.bound_count += len(function.args)
            self.bound_names.update(function.keywords)
            function = function.func
        if _is_tool(function):
            raise TypeError(
                f"{function.name!r} is a Tool already: use its .function here, or change it "
                "with dataclasses.replace(the_tool, read_only=True)"
            )
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                f"{_short_repr(function)} is not a tool: pass a function, "
                "an object with __call__, or a Tool made by hand"
            )
        self.callable = function
        is_function = inspect.isroutine(function) or hasattr(function, "__wrapped__")
        if is_function and hasattr(function, "__name__"):  # a decorator's object may have none
            self.function = function
            self.name: str = function.__name__
            self.docstring = function.__doc__
        else:
            cls: Any = type(function)
            self.function = cls.__call__
            self.name = cls.__name__.lower()
            self.docstring = cls.__call__.__doc__ or _class_docstring(cls)
        if self.name == "<lambda>":
            raise ValueError(
                "a lambda has no name and no types: write it as a def to make it a tool"
            )

    def parameters(self) -> List[inspect.Parameter]:
        """Those that are not bound."""
        try:
            parameters = list(inspect.signature(self.callable).parameters.values())
        except ValueError:
            text = f"{self.name} has no signature to read: wrap it in a def"
            raise TypeError(text) from None
        parameters = parameters[self.bound_count :]
        is_variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        for parameter in parameters:
            by_place = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            if is_variadic and by_place and parameter.name in self.bound_names:
                text = f"{self.name}: what fills *args would fill {parameter.name!r}, bound by name"
                raise TypeError(f"{text}: bind it by position, or wrap it in a def")
        parameters = [p for p in parameters if p.name not in self.bound_names]
        if parameters:
            self._check_self(parameters[0])
        return parameters

    def _check_self(self, first: inspect.Parameter) -> None:
        """TypeError for a method that was taken from its class, as `Shop.sell`."""
        if first.name != "self" or first.annotation is not first.empty:
            return
        owner = getattr(self.callable, "__qualname__", "").rpartition(".")[0]
        if owner and not owner.endswith(">"):  # not a function in "test.<locals>"
            text = "is a method without its object: pass that of an instance"
            raise TypeError(f"{owner}.{self.name} {text}")

    def taken_names(self) -> Set[str]:
        """The names of all its parameters, bound ones and `self` included."""
        function = getattr(self.function, "__func__", self.function)
        parameters = inspect.signature(function).parameters.values()
        return self.bound_names.union(p.name for p in parameters if p.kind in _BY_NAME)

    def closure(self) -> _JsonObject:
        """The variables that it closes over: its annotations may name them."""
        function = inspect.unwrap(self.function)
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        variables: _JsonObject = {}
        for name, cell in zip(names, getattr(function, "__closure__", None) or ()):
            with contextlib.suppress(ValueError):  # not filled yet
                variables[name] = cell.cell_contents
        return variables


def _injected_class(hint: Any) -> str:
    """AgentRun, Optional[AgentRun] -> "AgentRun", which the loop fills in; else ""."""
    candidates = (hint,)
    if _is_union(hint) or hasattr(hint, "__metadata__"):
        candidates = typing.get_args(hint)
    for cls in candidates:
        tag = _read_attribute(cls, "type")
        if isinstance(cls, type) and tag in ("AgentAction", "AgentRun"):
            return str(tag)
    return ""


def _find_by_position(parameters: List[inspect.Parameter]) -> List[inspect.Parameter]:
    """The parameters before a slash; where there is *args, all that stand before it."""
    for index, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return parameters[:index]
    return [p for p in parameters if p.kind is p.POSITIONAL_ONLY]


class _Signature:
    """How a function is called with what a model sends.

    Attributes:
        description: the docstring's text, without what its sections say of parameters,
            results, exceptions and examples.
        record: the type of the arguments.
        injected: what the loop fills in, by the parameter's name: {"run": "AgentRun"}.
        by_position: the parameters that cannot be given by name.
        variadic: the name of *args; "" where there is none.
        is_by_name: true if none of these is used: the function gets what the model sends.
    """

    def __init__(self, target: _Target) -> None:
        self.description, notes = _read_docstring(target.docstring)
        self.injected: Dict[str, str] = {}
        self.variadic = ""
        builder = _SchemaBuilder(target.closure())
        # First, since what cannot be resolved is a NameError of `inspect` from Python 3.14 on.
        hints = builder.resolve(target.function, {})
        parameters = target.parameters()
        self.by_position = _find_by_position(parameters)
        where = f"{target.name}: parameter"
        extra: Optional[_Type] = None
        reserved: Set[str] = set()
        shown: List[inspect.Parameter] = []
        for parameter in parameters:
            hint = hints.get(parameter.name, parameter.annotation)
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = builder.build(hint, f"{where} {parameter.name!r}")
                reserved = target.taken_names()
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self.variadic = parameter.name
                shown.append(parameter)
            elif _injected_class(hint):
                self.injected[parameter.name] = _injected_class(hint)
            else:
                shown.append(parameter)
        self.is_by_name = not (self.injected or self.by_position or self.variadic)
        fields = builder.build_parameters(shown, hints, notes, where)
        required = _required_names(shown)
        self.record: _Type = _Record(fields, required, extra=extra, reserved=reserved)
        definitions = builder.schemas_by_name()
        if definitions:
            self.record = self.record.extended(**{"$defs": definitions})

    def bind(
        self,
        function: Callable[..., Any],
        arguments: _JsonObject,
        action: AgentAction,
        run: AgentRun,
    ) -> Callable[[], Any]:
        """def f(n: int, /, run: AgentRun), {"n": "5"} -> a call of f(5, run=run)."""
        try:
            kwargs = self.record.convert(arguments, _TOP)
        except RecursionError:
            raise ValueError("args: nested too deeply") from None
        if self.is_by_name:
            return functools.partial(function, **kwargs)
        values = {"AgentAction": action, "AgentRun": run}
        for name, tag in self.injected.items():
            kwargs[name] = values[tag]
        args = [kwargs.pop(p.name, p.default) for p in self.by_position]
        args += kwargs.pop(self.variadic, ())
        return functools.partial(function, *args, **kwargs)


# -- tools -----------------------------------------------------------------------------------------


@dataclass(init=False, repr=False, eq=False)
class Tool(_Data):
    """A function that a model may call. `tool` and `registry` make it from a function.

    Made by hand, from a foreign schema for example, it is called as
    function(**arguments). Of the arguments the loop then checks only that they are an
    object, contain every name in `required` and, where `additionalProperties` is false,
    no name that is not in `properties`; the values pass as they came. A wrong name is a
    ValueError when it is made, a schema of the wrong form a TypeError.

    Attributes:
        name: an identifier of at most 64 characters, or with "-" in it: "lookup_stock".
        description: what the model is shown of it.
        parameters: a JSON Schema object, for example
            {"type": "object", "properties": {"sku": {"type": "string"}}}.
        function: what is called.
        return_direct: its observation ends the run, where it was the reply's only call.
        read_only: it changes nothing. Such calls of one reply run at the same time, and
            run again after an interruption.
        idempotent: doing it twice is doing it once. It runs again after an interruption.
    """

    type = "Tool"
    name: str
    description: str
    parameters: _JsonObject
    function: Callable[..., Any]
    return_direct: bool = False
    read_only: bool = False
    idempotent: bool = False
    # How the function is called; None for a tool made by hand.
    _signature: Optional[_Signature] = field(default=None, repr=False, compare=False)

    def __init__(
        self,
        name: str,
        description: str,
        parameters: _JsonObject,
        function: Callable[..., Any],
        return_direct: bool = False,
        read_only: bool = False,
        idempotent: bool = False,
        _signature: Optional[_Signature] = None,
    ) -> None:
        self.name = name
        self.description = description
        self.parameters = parameters
        self.function = function
        self.return_direct = return_direct
        self.read_only = read_only
        self.idempotent = idempotent
        self._signature = _signature
        self._check()

    def _check(self) -> None:
        name = ""
        if isinstance(self.name, str):
            name = self.name
        if not name.replace("-", "_").isidentifier() or len(name) > 64:
            raise ValueError(
                f"{self.name!r} is not a valid tool name: "
                "it is an identifier of at most 64 characters, or has '-'"
            )
        if not isinstance(self.parameters, dict) or not callable(self.function):
            raise TypeError(f"tool {name}: parameters is a dict and function is callable")
        _check_schema(name, self.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _bind_by_hand(self, arguments: _JsonObject) -> Callable[[], Any]:
        """The function with arguments of which only the names are checked."""
        required = self.parameters.get("required") or []
        faults = [_TOP.missing(name) for name in required if name not in arguments]
        if self.parameters.get("additionalProperties") is False:
            known = self.parameters.get("properties") or {}
            for name in arguments:
                if name not in known:
                    faults.append(_TOP.unknown(name, known))
        if faults:
            raise _Mismatch(faults)
        return functools.partial(self.function, **arguments)


def _check_schema(tool_name: str, parameters: _JsonObject) -> None:
    """TypeError where what `Tool` reads of a schema is of the wrong form."""
    required = parameters.get("required") or []
    if not isinstance(required, list) or not all(isinstance(n, str) for n in required):
        text = f"required is a list of names, got {_short_repr(required)}"
        raise TypeError(f"tool {tool_name}: {text}")
    properties = parameters.get("properties") or {}
    if not isinstance(properties, dict):
        text = f"properties is a dict, got {_short_repr(properties)}"
        raise TypeError(f"tool {tool_name}: {text}")
    for name, schema in properties.items():
        if not isinstance(name, str) or not isinstance(schema, (dict, bool)):
            text = f"a schema for each name, got {_short_repr({name: schema})}"
            raise TypeError(f"tool {tool_name}: properties holds {text}")


Registry = Dict[str, Tool]
Model = Callable[[AgentRun, Registry], Decision]  # what `run` and `stream` take


# Where this module is not in sys.modules, `typing` was put in its place for `dataclass`
# (below the imports). The last dataclass is made, so it is taken out again.
if sys.modules[__name__] is typing:
    del sys.modules[__name__]


def _from_function(function: Any, name: Optional[str] = None, **marks: bool) -> Tool:
    """A function as a Tool; its annotations are read once, here."""
    target = _Target(function)
    signature = _Signature(target)
    if name is None:
        name = target.name
    return Tool(
        name,
        signature.description,
        signature.record.schema,
        function,
        _signature=signature,
        **marks,
    )


@typing.overload
def tool(function: Callable[..., Any]) -> Tool: ...
@typing.overload
def tool(
    *,
    name: Optional[str] = ...,
    return_direct: bool = ...,
    read_only: bool = ...,
    idempotent: bool = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Any = None,
    *,
    name: Optional[str] = None,
    return_direct: bool = False,
    read_only: bool = False,
    idempotent: bool = False,
) -> Any:
    """`@tool`, `@tool(read_only=True)`: a function as a Tool, still callable as before.

    TypeError or ValueError, with the fix, for what cannot be a tool: a lambda, a method
    without its object, a parameter whose type has no JSON form, what is a Tool already.

    Args:
        function: a function, a method, a functools.partial, or an object with __call__,
            which is named after its class in lower case.
        name: another name than the function's, for example "find-it".
        return_direct, read_only, idempotent: see `Tool`.
    """

    def make(function: Any) -> Tool:
        return _from_function(
            function,
            name,
            return_direct=return_direct,
            read_only=read_only,
            idempotent=idempotent,
        )

    if function is None:
        return make
    return make(function)


def registry(tools: Any) -> Registry:
    """The plain dict {name: Tool} that the loop dispatches from.

    Args:
        tools: an iterable of functions and Tools, or such a dict. ValueError for two
            tools of one name, and what `tool` raises.
    """
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        expected = "tools is a list of functions, or a dict {name: Tool}"
        raise TypeError(f"{expected}; got {_short_repr(tools)}")
    values = tools
    if isinstance(tools, dict):
        values = tools.values()
    by_name: Registry = {}
    for value in values:
        one: Tool = value
        if not _is_tool(value):
            one = _from_function(value)
        if one.name in by_name:
            raise ValueError(f"two tools are called {one.name!r}: rename one")
        by_name[one.name] = one
    if isinstance(tools, dict) and list(tools) != list(by_name):
        names = ", ".join(by_name)
        raise ValueError(f"the keys of a registry are the names of its tools: {names}")
    return by_name


def _bind_arguments(tool: Tool, action: AgentAction, run: AgentRun) -> Callable[[], Any]:
    """The tool's function with its arguments. ValueError, with a text for the model, if not."""
    try:
        arguments = _read_arguments(action.tool_input)
    except ValueError as error:
        raise ValueError(_describe_input(tool, action.tool_input, error)) from None
    if tool._signature is None:
        return tool._bind_by_hand(arguments)
    return tool._signature.bind(tool.function, arguments, action, run)


def _describe_input(tool: Tool, tool_input: Any, error: ValueError) -> str:
    """args: expected one JSON object with keys "sku", got "[1]" (not an object)"""
    names = list(tool.parameters.get("properties") or ())[:50]
    keys = _one_line(", ".join(f'"{name}"' for name in names), 1_000)
    expected = "one JSON object"
    if keys:
        expected += f" with keys {keys}"
    return f"args: expected {expected}, got {_preview(tool_input, 200)} ({error})"


# == loop ==========================================================================================

# -- threads ---------------------------------------------------------------------------------------

_MAX_WORKERS = 16


class _Job:
    """A function to be called once, in a copy of the context, in any thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        import contextvars

        self.value: Any = None
        self.error: Optional[BaseException] = None
        self._function = function
        self._context = contextvars.copy_context()
        self._has_ended = False
        # subtle: no Event. Ctrl-C inside its wait may come out as a RuntimeError.
        self._running = allocate_lock()
        self._running.acquire()

    def run(self) -> None:
        try:
            self.value = self._context.run(self._function)
        except BaseException as error:
            self.error = error
        self._has_ended = True
        self._running.release()

    def wait(self) -> Any:
        """What the function returned; what it raised is raised here."""
        while not self._has_ended:
            # subtle: without a bound Ctrl-C would not get through on Windows
            if self._running.acquire(timeout=1):
                self._running.release()
        if self.error is not None:
            raise self.error
        return self.value


class _WorkerPool:
    """Threads that run jobs at the same time, at most 16 at once.

    Nobody has to wait for them: they are daemons, and Ctrl-C ends the process at once.
    """

    def __init__(self, jobs: Iterable[_Job]) -> None:
        self._waiting = collections.deque(jobs)

    def start(self) -> None:
        import threading

        try:
            for _ in range(min(_MAX_WORKERS, len(self._waiting))):
                threading.Thread(target=self._work, daemon=True).start()
        except RuntimeError:
            self._work()  # no more threads, or a Python without any

    def cancel(self) -> None:
        """Begin no further job; those that run go on."""
        self._waiting.clear()

    def _work(self) -> None:
        with contextlib.suppress(IndexError):  # no job is left
            while True:
                self._waiting.popleft().run()


# -- calling a tool --------------------------------------------------------------------------------

# What a tool returns that is complete as it is.
_COMPLETE_TYPES = frozenset((list, dict, tuple) + _SCALAR_TYPES)


def _complete(value: Any) -> Any:
    """What a tool returned, run to its end: a coroutine's result, a generator's items.

    So is a generator that a coroutine returned. The type decides: the value itself may raise
    when it is looked at.
    """
    if issubclass(type(value), types.CoroutineType):
        value = _run_coroutine(value)
    elif hasattr(type(value), "__await__"):
        value = _run_coroutine(_await(value))
    if issubclass(type(value), types.AsyncGeneratorType):
        return _run_coroutine(_collect_items(value))
    if issubclass(type(value), types.GeneratorType):
        items = list(itertools.islice(value, _MOST_ITEMS + 1))
        value.close()
        return _limit_items(items)
    return value


def _limit_items(items: List[Any]) -> List[Any]:
    """Items up to the bound, the rest as a note that says so."""
    if len(items) > _MOST_ITEMS:
        note = f"[... only the first {_MOST_ITEMS} items; there are more ...]"
        items[_MOST_ITEMS:] = [note]
    return items


async def _collect_items(generator: Any) -> List[Any]:
    items: List[Any] = []
    async for item in generator:
        items.append(item)
        if len(items) > _MOST_ITEMS:
            break
    return _limit_items(items)


async def _await(value: Any) -> Any:
    return await value


def _run_coroutine(coroutine: Any) -> Any:
    """The result of a coroutine, also where the caller is inside an event loop."""
    import asyncio

    def run() -> Any:
        try:
            return asyncio.run(coroutine)
        finally:
            coroutine.close()  # where it could not begin

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    # An event loop cannot be entered twice: the coroutine gets a thread of its own.
    job = _Job(run)
    _WorkerPool([job]).start()
    return job.wait()


class _ReadyCall:
    """A pending action, looked up and checked: it can run."""

    has_started = False  # before an interruption
    is_answer = False  # what it returns is the output of the run
    job: Optional[_Job] = None  # where it runs at the same time as others
    step: Optional[AgentStep] = None  # once it has ended

    def __init__(self, action: AgentAction, tool: Tool, function: Callable[[], Any]) -> None:
        self.action = action
        self.tool = tool
        self.function = function  # the tool's, with its arguments

    def execute(self) -> AgentStep:
        """Call the function. Exceptions become a tool_error step, the rest propagates."""
        try:
            value = self.function()
            if type(value) not in _COMPLETE_TYPES:
                value = _complete(value)
            self.step = AgentStep(self.action, value)
        except Exception as error:
            text = type(error).__name__
            message = _safe_str(error)
            if message:
                text = f"{text}: {message}"
            self.step = AgentStep(self.action, text, "tool_error")
        return self.step


class _RefusedCall:
    """A pending action that does not run: its step says why."""

    is_answer = False

    def __init__(self, action: AgentAction, observation: str, status: Status) -> None:
        self.action = action
        self.step = AgentStep(action, observation, status)


_PreparedCall = Union[_ReadyCall, _RefusedCall]


def _resolve_tool_name(name: str, tools: Registry) -> str:
    """The registry's name for one that is not in it: "functions.pay<|channel|>" -> "pay".

    Without what models add: white space, the prefix "functions.", and the tail that a
    server left of the Harmony format. The name as it came where that is no tool either.
    """
    bare = name.partition("<|")[0].strip()
    if bare not in tools and bare.startswith("functions."):
        bare = bare[len("functions.") :]
    return bare if bare in tools else name


def _describe_unknown_tool(name: str, tools: Registry) -> str:
    """There is no tool "pya", did you mean "pay"?; known: note, pay"""
    names = _suggest_name(name, tools) if tools else "; there are no tools"
    return f"There is no tool {_preview(name)}{names}"


def _may_repeat(tool: Optional[Tool]) -> bool:
    """Whether a call that was interrupted does no harm when it is executed again."""
    return tool is not None and (tool.read_only or tool.idempotent)


# -- the loop --------------------------------------------------------------------------------------


_FAILURES = frozenset(("unknown_tool", "invalid_arguments", "tool_error"))
_REPEATED = "\n(The same call has now failed in the same way "


def _strip_repeat_hint(text: str) -> str:
    """What failed, of a step's observation; the hint has another count each time.

    "no row\\n(The same call has now failed in the same way 2 times; ...)" -> "no row"
    """
    return text.partition(_REPEATED)[0]


class _Driver:
    """Runs one AgentRun. Its methods stand in the order in which they act.

    Ctrl-C may come between any two statements, and any write may fail. A request and the
    start of a call are written to the journal before they happen; what came of them
    enters the run before it is written. When the run is resumed, whichever of run and
    journal is behind catches up.
    """

    def __init__(
        self, model: Model, task: Any, tools: Any, max_requests: int,
        accept: Optional[Callable[[AgentRun], Optional[str]]],
        journal_path: Union[None, str, "os.PathLike[str]"],
    ) -> None:  # fmt: skip
        is_int = isinstance(max_requests, int) and not isinstance(max_requests, bool)
        if not is_int or max_requests < 0:
            mistake = ValueError if is_int else TypeError
            raise mistake(f"max_requests is an int from 0 up; got {max_requests!r}")
        if not callable(model) or (accept is not None and not callable(accept)):
            raise TypeError("model and accept are called: model(run, tools), accept(run)")
        if _class_tag(task) != "AgentRun":
            _check_task(task)
            task = AgentRun(task)
        if journal_path is not None:  # a tool may change the folder
            journal_path = os.path.abspath(os.fsdecode(journal_path))
        self.model = model
        self.run: AgentRun = task
        self.tools = registry(tools)
        self.max_requests = max_requests
        self.accept = accept
        self.journal_path = journal_path
        self.journal: Optional[_Journal] = None  # see journal, which says what is written
        self.pool: Optional[_WorkerPool] = None  # of the last calls made at the same time
        self.has_ended = False
        self.should_yield_finish = False  # it ended now, with a finish that counts
        # What is known of the conversation, so that no list is searched for each step:
        self.used_ids: Set[str] = set()  # call ids that have a step or will get one
        self.call_count = 0  # calls proposed so far
        self.failures: Dict[Any, int] = {}  # how often a call failed in the same way
        # Steps that are in the run, and are still to be written and yielded, in this order:
        # put here by the run, whoever ended a call, and by `_add_notice`; taken out by
        # `_flush_step` alone. `_salvage_results` does so without yielding them.
        self.new_steps: Deque[AgentStep] = collections.deque()

    def events(self) -> Generator[Event, None, AgentRun]:
        """What happens in the run, which this driver has from its first event to its last."""
        run = self.run
        try:
            with contextlib.closing(self):
                run._acquire(self)
                self._resume()
                # subtle: the loop is not here. Python 3.12 and later may raise Ctrl-C where
                # a loop goes back to its beginning, and no `try` around it is in force there.
                yield from self._loop()
                return run
        except BaseException as error:
            self.close()  # subtle: again, for Ctrl-C may have come inside of the first
            raise _add_run(error, run)

    def close(self) -> None:
        """Let go of the run and of the journal."""
        if self.journal is not None:
            self.journal.close()
        self.run._release(self)

    def _resume(self) -> None:
        """Synchronize run and journal, and note what was done in this conversation."""
        run = self.run
        run._drop_done()
        self._fill_in_call_ids()
        if self.journal_path is not None:
            self.journal = _open_journal(self.journal_path, run)
            self.new_steps.clear()  # what the journal had more is not new
        has_later_turns = self.journal is not None and self.journal.has_later_turns
        if has_later_turns or run.state in ("model_ended", "succeeded"):
            self.has_ended = True
            return
        done = self._done_calls()
        self.used_ids.update(action.call_id for action in done)
        self.call_count = len(done) + len(run.pending)
        for step in run.steps:
            if step.status in _FAILURES:
                self._count_failure(step)

    def _done_calls(self) -> List[AgentAction]:
        """The calls of the conversation that have a step; not the action of a notice."""
        turns = [*self.run.history, self.run]
        actions = [step.action for turn in turns for step in turn.steps]
        return [action for action in actions if action._is_call]

    def _fill_in_call_ids(self) -> None:
        """Give an id to the calls that have none, in a run made by hand."""
        calls = self._done_calls() + self.run.pending
        taken = {action.call_id for action in calls}
        if all(taken):
            return
        for number, action in enumerate(calls, 1):
            self.call_count = number
            if not action.call_id:
                action.call_id = self._make_call_id(taken)

    def _loop(self) -> Iterator[Event]:
        """The loop. One call, one step; what goes wrong on the way is an observation."""
        run = self.run
        while not self.has_ended:
            if run.pending:
                yield from self._show_pending()
                yield from self._execute_pending()
            if run.finish is not None:
                self._judge_finish()
            elif run.requests < self.max_requests:
                self._ask_model()
            else:
                self._end("budget_exhausted")
            while self.new_steps:  # an unreadable reply, a rejected finish
                yield self._flush_step()
        if self.should_yield_finish:
            yield typing.cast(AgentFinish, run.finish)

    def _flush_step(self) -> AgentStep:
        """Write the next new step, which is then yielded."""
        step = self.new_steps[0]
        self.used_ids.add(step.action.call_id)
        if self.journal is not None:
            self.journal.write_step(step)
        self.new_steps.popleft()  # only now: a step that could not be written stays
        if step.status in _FAILURES:
            self._count_failure(step)
        return step

    def _show_pending(self) -> Iterator[Event]:
        """Every call is shown before any of them runs; the caller may close it."""
        closed: Set[int] = set()
        for action in list(self.run.pending):
            if id(action) in closed:
                continue
            yield action
            while self.new_steps:
                step = self._flush_step()
                closed.add(id(step.action))
                yield step

    def _execute_pending(self) -> Iterator[AgentStep]:
        """Each call is prepared and executed, and its step added to the run, in order."""
        run = self.run
        started = set(run.started)
        calls = []
        for action in run.pending:
            calls.append(self._prepare(action, started))
        if len(calls) > 1:
            self._start_in_parallel_if_read_only(calls)
        done = 0
        try:
            for call in calls:
                if self._is_next(call):  # else the caller closed it meanwhile
                    self._execute(call)
                done += 1  # only now: Ctrl-C may come before it has its step
                while self.new_steps:
                    yield self._flush_step()
            if run.started:  # a call was closed while its start was written
                run._drop_done()
        except BaseException as error:
            try:
                self._salvage_results(calls[done:])
            except Exception:  # a full disk; the run has the steps
                if isinstance(error, GeneratorExit):
                    raise
            raise  # Ctrl-C, and whatever else came first, is what the caller has to see

    def _prepare(self, action: AgentAction, started: Set[str]) -> _PreparedCall:
        """Look the call up and check it. `started`: the ids of interrupted calls."""
        if action.call_id in self.used_ids:
            text = "This call id was used before: it is not executed a second time."
            return _RefusedCall(action, text, "duplicate_call")
        self.used_ids.add(action.call_id)
        tool = self.tools.get(action.tool)
        has_started = action.call_id in started
        if has_started and not _may_repeat(tool):
            return _RefusedCall(action, _UNKNOWN_OUTCOME, "unknown_outcome")
        if tool is None:
            text = _describe_unknown_tool(action.tool, self.tools)
            return _RefusedCall(action, text, "unknown_tool")
        try:
            function = _bind_arguments(tool, action, self.run)
        except ValueError as error:
            if has_started:  # the function took them then, and may have had its effect
                return _RefusedCall(action, _UNKNOWN_OUTCOME, "unknown_outcome")
            return _RefusedCall(action, str(error), "invalid_arguments")
        call = _ReadyCall(action, tool, function)
        call.has_started = has_started
        if tool.return_direct:
            call.is_answer = self._is_only_call_of_reply(action)
        return call

    def _is_only_call_of_reply(self, action: AgentAction) -> bool:
        """Whether its reply held no other call: neither one that is pending nor one that is
        done, as where a run is resumed in the middle of a reply.
        """
        run = self.run
        if len(run.pending) > 1:
            return False
        return not run.steps or not _from_same_request(run.steps[-1].action, action)

    def _start_in_parallel_if_read_only(self, calls: List[_PreparedCall]) -> None:
        """Run the calls at the same time, where all that can run change nothing."""
        runnable = [call for call in calls if isinstance(call, _ReadyCall)]
        if len(runnable) < 2 or not all(call.tool.read_only for call in runnable):
            return
        self._mark_started([call.action.call_id for call in runnable if not call.has_started])
        pending = {id(action) for action in self.run.pending}
        jobs = []
        for call in runnable:
            if id(call.action) in pending:  # else it was closed while its start was written
                call.job = _Job(call.execute)
                jobs.append(call.job)
        self.pool = _WorkerPool(jobs)
        self.pool.start()

    def _is_next(self, call: _PreparedCall) -> bool:
        pending = self.run.pending
        return len(pending) > 0 and pending[0] is call.action

    def _execute(self, call: _PreparedCall) -> None:
        if isinstance(call, _RefusedCall):
            step = call.step
        elif call.job is not None:
            step = call.job.wait()
        else:
            if not call.has_started:
                self._mark_started([call.action.call_id])
                if self.journal is not None and not self._is_next(call):
                    return  # the caller closed it while its start was written
            step = call.execute()
        self._add_result(call, step)

    def _mark_started(self, call_ids: List[str]) -> None:
        """Their execution begins. Written first: what cannot be written must not run."""
        if self.journal is not None and call_ids:
            self.journal.write("started", call_ids=call_ids)
        self.run.started.extend(call_ids)

    def _add_result(self, call: _PreparedCall, step: AgentStep) -> None:
        """Add the step to the run; not where the caller closed the call while it ran."""
        run = self.run
        if run._add_step(step) and step.status in _FAILURES:
            self._add_repeat_hint(step)
        is_answer = call.is_answer and step.status == "ok"
        if is_answer and run.steps and run.steps[-1] is step:
            run.finish = AgentFinish(
                step.observation, step.action.log, step.action.message, "return_direct"
            )

    def _add_repeat_hint(self, step: AgentStep) -> None:
        """Say in a failure, from the second time on, that repeating it will not help.

        A model repeated one useless call 220 times.
        """
        times = self.failures.get(self._failure_of(step), 0) + 1
        if times > 1:
            hint = f"{_REPEATED}{times} times; repeating it will not help.)"
            step.observation = _to_text(step.observation) + hint

    def _count_failure(self, step: AgentStep) -> None:
        """A failed call has its step, whether the loop or the caller ended it."""
        failure = self._failure_of(step)
        self.failures[failure] = self.failures.get(failure, 0) + 1

    def _failure_of(self, step: AgentStep) -> Tuple[str, ...]:
        """The same for two steps where the same call failed in the same way."""
        text = _strip_repeat_hint(_to_text(step.observation))
        return (step.action.tool, _to_text(step.action.tool_input), step.status, text)

    def _salvage_results(self, calls: List[_PreparedCall]) -> None:
        """Add the steps of calls that have ended, when the stream is left in a reply's middle.

        By an exception, by Ctrl-C, or because its reader closed it. Of calls that run at
        the same time, others may have ended than the next. And Ctrl-C may have come between
        the end of a call and its step, or its finish. A step that could not be written is
        tried once more. A call that has its step already gets no second one: `_add_step`
        finds it no longer pending.
        """
        if self.pool is not None:
            self.pool.cancel()
        self.run._drop_done()
        for call in calls:
            if isinstance(call, _ReadyCall) and call.step is not None:
                self._add_result(call, call.step)
        while self.new_steps:
            self._flush_step()

    def _judge_finish(self) -> None:
        """A finish is a claim. It is in run and journal: `accept` can be asked again."""
        run = self.run
        finish = typing.cast(AgentFinish, run.finish)
        if self.accept is None or finish.reason == "refusal":
            self._end("model_ended")
            return
        run.state = "running"
        reason = self.accept(run)
        if reason is None:
            self._end("succeeded")
            return
        if not isinstance(reason, str) or not reason:
            text = "accept returns None or the reason, a non-empty str"
            raise TypeError(f"{text}; got {_preview(reason)}")
        log = finish.log
        if not log and finish.reason != "return_direct":
            log = _to_text(finish.output)  # the model has to see what was rejected
        run.finish = None
        self._add_notice(reason, "not_accepted", log, finish.message)

    def _add_notice(self, observation: str, status: Status, log: Any, message: Any) -> None:
        """A step about a reply that held no call: unreadable, or a rejected finish."""
        log = _to_text(log or "")
        action = AgentAction("", {}, "", log, message, self.run.requests)
        step = AgentStep(action, observation, status)
        self.run.steps.append(step)
        self.new_steps.append(step)

    def _end(self, state: State) -> None:
        if self.journal is not None:
            self.journal.write("updated", state=state)
        self.run.state = state
        self.should_yield_finish = state != "budget_exhausted"
        self.has_ended = True

    def _ask_model(self) -> None:
        """Make one request. It counts once it is begun, whatever comes of it."""
        run = self.run
        if self.journal is not None:
            self.journal.write("requested", requests=run.requests + 1, state="running")
        run.requests += 1
        run.state = "running"
        unreadable: Any = None
        try:
            reply: Any = self.model(run, self.tools)
            if isinstance(reply, list) and not reply:
                raise InvalidResponse("The reply held neither a call nor an answer.")
        except Exception as error:
            if _class_tag(error) != "InvalidResponse":
                raise
            unreadable = error
        # Every reply comes by here, readable or not. Nothing of it is in the run yet.
        if unreadable is not None:
            text, log, message = unreadable.observation, unreadable.log, unreadable.message
            self._add_notice(text, "invalid_response", log, message)
        elif isinstance(reply, list):
            self._propose(reply, "a list with ")
        elif isinstance(reply, AgentAction) or _class_tag(reply) != "AgentFinish":
            self._propose([reply], "")
        else:
            self._add_finish(reply)

    def _add_finish(self, reply: AgentFinish) -> None:
        """A copy of the reply becomes the run's finish. Where nobody judges it, it counts."""
        output, log = reply.output, reply.log
        if type(output) is str:
            output = _to_text(output)
        if type(log) is str:
            log = _to_text(log)
        if not isinstance(reply.reason, str):
            raise TypeError(
                f"the reason of an AgentFinish is a str; got {_short_repr(reply.reason)}"
            )
        reason: Any = str.__str__(reply.reason)
        finish = AgentFinish(output, log, reply.message, reason)
        is_judged = self.accept is not None and finish.reason != "refusal"
        state: State = "running" if is_judged else "model_ended"
        self.run.finish = finish
        if self.journal is not None:
            self.journal.write("finished", finish=finish, state=state)

    def _propose(self, actions: List[AgentAction], container: str) -> None:
        """Copies of the reply's actions become pending, all at once."""
        for action in actions:
            if not isinstance(action, AgentAction) and _class_tag(action) != "AgentAction":
                raise TypeError(
                    "a model returns an AgentFinish, an AgentAction or a list of them; "
                    f"got {container}{_preview(action)}"
                )
        taken: Set[str] = set()  # by this reply
        if len(actions) > 1:
            taken.update(_to_text(action.call_id) for action in actions)
        proposed = []
        for action in actions:
            proposed.append(self._copy_action(action, taken))
        self.run.pending.extend(proposed)
        if self.journal is not None:
            self.journal.write("proposed", actions=proposed)

    def _copy_action(self, action: AgentAction, taken: Set[str]) -> AgentAction:
        """The action with the registry's name, an id, its request, and str for texts."""
        self.call_count += 1
        name, call_id, log = action.tool, action.call_id, action.log
        if not type(name) is type(call_id) is type(log) is str or not log.isascii():
            name = _to_text(name) if issubclass(type(name), str) else ""
            call_id = _to_text(call_id or "")
            log = _to_text(log or "")
        if not call_id:
            call_id = self._make_call_id(taken)
        if name not in self.tools:
            name = _resolve_tool_name(name, self.tools)
        tool_input = action.tool_input
        if type(tool_input) is not str and issubclass(type(tool_input), dict):
            with contextlib.suppress(ValueError):  # else it will be invalid_arguments
                tool_input = _read_arguments(tool_input)  # the model may go on using its own
        request = self.run.requests
        return AgentAction(name, tool_input, call_id, log, action.message, request)

    def _make_call_id(self, taken: Set[str]) -> str:
        """Nine characters made of the call's number, "c00000007"; the next free one."""
        number = self.call_count
        call_id = f"c{number:08d}"
        while call_id in self.used_ids or call_id in taken:
            number += 1
            call_id = f"c{number:08d}"
        taken.add(call_id)
        return call_id


def _add_run(error: BaseException, run: AgentRun) -> BaseException:
    """The exception with the run so far in `agent_run`."""
    with contextlib.suppress(Exception):  # one that takes no attributes
        error.agent_run = run  # type: ignore[attr-defined]
    return error


def stream(
    model: Model, task: Any, tools: Any = (), *,
    max_requests: int = 10,
    accept: Optional[Callable[[AgentRun], Optional[str]]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> Generator[Event, None, AgentRun]:  # fmt: skip
    """Run the loop; yield each AgentAction, AgentStep and AgentFinish as it happens.

    for event in stream(model, "How many A1?", [lookup_stock]): print(event)

    What is yielded is already in the run (and the journal). Leaving the `for` loop leaves
    a run that can be resumed. At the limit the stream just ends, with the state
    `budget_exhausted`.

    Args:
        model: called as model(run, tools); returns an AgentFinish, an AgentAction or a
            list of actions, or raises InvalidResponse.
        task: a str, a list of str and Image, or an AgentRun to go on with.
        tools: functions, Tools, or a registry.
        max_requests: an int from 0 up; bounds `run.requests`, over every resume.
        accept: called with the run and its finish; returns None, or the reason why it
            does not count, a non-empty str.
        journal: the path of a file, "run.jsonl", with which the run survives its process:
            run the same line again after a crash.

    Returns:
        A generator, whose return value is the run.

    Raises:
        TypeError, ValueError: at once, for wrong use.
        RuntimeError: where another stream holds the run.
        BlockingIOError: where another process or stream holds the journal; ValueError
            where it is damaged or another run's; else the system's OSError.

    Exceptions raised by the model, by `accept` or by the journal propagate, with the run
    so far in their `agent_run`; so does what a tool raises that is not an Exception, such
    as KeyboardInterrupt.
    """
    return _Driver(model, task, tools, max_requests, accept, journal).events()


def run(
    model: Model, task: Any, tools: Any = (), *,
    max_requests: int = 10,
    accept: Optional[Callable[[AgentRun], Optional[str]]] = None,
    journal: Union[None, str, "os.PathLike[str]"] = None,
) -> AgentRun:  # fmt: skip
    """`stream`, drained, with the same arguments: one result for every ending.

    `run.state` says which: "model_ended", "succeeded" (its answer passed `accept`) or
    "budget_exhausted". `run.output` is the answer, None at the limit.
    """
    driver = _Driver(model, task, tools, max_requests, accept, journal)
    events = driver.events()
    try:
        for _ in events:
            pass
        return driver.run
    except BaseException as error:
        events.close()  # Ctrl-C may have come between two events
        raise _add_run(error, driver.run)


class Scripted:
    """A model by script: the n-th request of a conversation gets the n-th decision.

    Scripted([AgentAction("lookup_stock", {"sku": "A1"}), AgentFinish("3 left")]). It has
    no state, so that one object serves many runs. For tests and lessons.

    Args:
        decisions: each an AgentFinish, an AgentAction, a list of actions, or an
            exception, which is raised. Past the end an IndexError says how many there are.
    """

    def __init__(self, decisions: Iterable[Any]) -> None:
        self.decisions = list(decisions)

    def __call__(self, run: AgentRun, tools: Registry) -> Any:
        number = sum(turn.requests for turn in [*run.history, run])
        if number > len(self.decisions):
            raise IndexError(
                f"request {number} of the conversation, and the script has "
                f"{len(self.decisions)} decisions"
            )
        decision = self.decisions[max(number, 1) - 1]
        if isinstance(decision, type) and issubclass(decision, BaseException):
            raise decision
        if isinstance(decision, BaseException):
            raise decision.with_traceback(None)  # else that of each earlier run would hang on it
        return decision


# == journal =======================================================================================
#
# A file of JSON Lines, one event a line, written and synced before what follows from it.
#
#     {"event": "turn", "version": 1, "task"}                a turn begins
#     {"event": "requested", "requests"}                     a request is about to be made
#     {"event": "proposed", "message", "request", "actions"} its calls, all or none of them
#     {"event": "started", "call_ids"}                       their execution begins
#     {"event": "done", "call_id", "observation", "status"}  a step; with "finish" where it
#                                                            is the answer too, "number": 1
#                                                            where it is of the second call
#                                                            with this id. A notice has the
#                                                            "call_id" "", and "message",
#                                                            "log", "request"
#     {"event": "finished", "finish"}                        a finish; `accept` may follow
#     {"event": "updated"}                                   only a total changed
#
# Any of them also holds the totals that changed with it ("requests", "usage", "state")
# and a "time", for people only.
#
# Events are applied to a run, in memory, and written to the file. A turn as the file has it
# is named `written`.
#
# To add an event:
#
#  1. a line in the table above, and in examples/reference/journal.md;
#  2. its `self.journal.write` in `_Driver`, in the order of what happens: for what each
#     reply brings, readable or not, at the end of `_ask_model`, when the reply is in the
#     run. Written before, it would lose the reply where the disk is full;
#  3. a function that applies it to a run, and its row in `_APPLY`; its fields that
#     are of one type, in `_EVENT_FIELDS`; where a field is not plain JSON, also a function
#     that packs it, in `_PACK`.
#
# If it keeps something in the run, also:
#
#  4. a field of `AgentRun`, as the last one: in the docstring, in the class, and twice in
#     `__init__`; with a default, so that JSON of an older file is read. Two tests list all
#     fields: `test_fields_and_defaults` and `test_repr`;
#  5. its lines in `_catch_up`, by which run and file catch up when a run is resumed;
#  6. where a difference means another run, a check in `_WrittenTurn.check`.
#
# `_VERSION` stays: an older copy of this file refuses an event that it does not know, with
# the line. It rises where an event that there is comes to mean something else.

_VERSION = 1
_FIRST_BYTES = b'{"event": "turn"'  # of every journal

# -- events ----------------------------------------------------------------------------------------


def _make_event(kind: str, **fields: Any) -> _JsonObject:
    """("started", call_ids=["c00000001"]) -> {"event": "started", "call_ids": ["c00000001"]}"""
    if kind in _PACK:
        fields = _PACK[kind](**fields)
    return {"event": kind, **fields}


def _apply(run: AgentRun, event: _JsonObject) -> None:
    """Let an event happen to a run. ValueError, TypeError or LookupError where it cannot."""
    kind = event["event"]
    if kind in _APPLY:
        _APPLY[kind](run, event)
    elif kind not in _ONLY_TOTALS:
        raise ValueError(f"no event of this format: {_preview(event)}")
    _apply_totals(run, event)


# The fields that are of one type, of an event and of the actions in it.
_EVENT_FIELDS = {
    "version": int, "requests": int, "usage": dict, "state": str, "request": int, "tool": str,
    "call_id": str, "log": str, "call_ids": list, "number": int, "status": str,
}  # fmt: skip


def _check_event(event: _JsonObject) -> None:
    """TypeError or ValueError for a field of the wrong type.

    Of an event that was read, and of one to be written: a line that cannot be read is damage.
    """
    for name, value in event.items():
        if name in _EVENT_FIELDS:
            _check_field(name, value, _EVENT_FIELDS[name])
    for action in event.get("actions", ()):
        _check_event(action)


def _pack_proposed(actions: List[AgentAction]) -> _JsonObject:
    """{"message": null, "request": 1, "actions": [{"tool": "pay", "tool_input": {"n": 3}, ...}]}

    The message stands there once, for all calls of the reply. A call has one of its own
    where a model of the caller's put together what several replies asked for.
    """
    shared = actions[0].message
    entries = []
    for action in actions:
        entry = {"tool": action.tool, **_pack_value("tool_input", action.tool_input)}
        entry["call_id"] = action.call_id
        if action.log:
            entry["log"] = action.log
        if not _is_same(action.message, shared):
            entry.update(_pack_value("message", action.message))
        entries.append(entry)
    message = _pack_value("message", shared)
    return {**message, "request": actions[0].request, "actions": entries}


def _apply_proposed(run: AgentRun, event: _JsonObject) -> None:
    shared = _unpack_value(event, "message")  # one object for all actions of the reply
    request = event["request"]
    actions = []
    for entry in event["actions"]:
        tool, call_id, log = entry["tool"], entry["call_id"], entry.get("log", "")
        tool_input = _unpack_value(entry, "tool_input")
        message = _unpack_value(entry, "message") if _holds(entry, "message") else shared
        actions.append(AgentAction(tool, tool_input, call_id, log, message, request))
    run.pending.extend(actions)  # all or none of them, also where Ctrl-C comes


def _apply_started(run: AgentRun, event: _JsonObject) -> None:
    run.started.extend(event["call_ids"])


def _pack_finished(finish: AgentFinish, **totals: Any) -> _JsonObject:
    _check_field("reason", finish.reason, str)
    return {"finish": to_json(finish), **totals}


def _apply_finished(run: AgentRun, event: _JsonObject) -> None:
    run.finish = _object_from_json(event["finish"], "AgentFinish")


def _pack_done(step: AgentStep, finish: Optional[AgentFinish], turn: AgentRun) -> _JsonObject:
    """{"call_id": "c00000001", "observation": "paid", "status": "ok"}

    turn: what the event will be applied to, where the call is still pending.
    """
    action = step.action
    fields: _JsonObject = {"call_id": action.call_id}
    if not action.call_id:  # a notice
        fields.update(_pack_value("message", action.message))
        fields["log"] = action.log
        fields["request"] = action.request
    for number, call in enumerate(_calls_with_id(turn, action.call_id)):
        if _is_same_call(call, action):
            if number > 0:
                fields["number"] = number
            break
    fields.update(_pack_value("observation", step.observation))
    fields["status"] = step.status
    if finish is not None:
        fields.update(_pack_finished(finish))
    return fields


def _apply_done(run: AgentRun, event: _JsonObject) -> None:
    """Add the step, unless it was written twice: see `_Driver._flush_step`.

    Equal notices in a run made by hand, which have no request, are not one written twice.
    """
    observation = _unpack_value(event, "observation")
    step = AgentStep(_find_done(run, event), observation, event["status"])
    if step.action.call_id:
        run._add_step(step)
    elif not step.action.request or run.steps[-1:] != [step]:
        run.steps.append(step)
    run.finish = None
    if "finish" in event:
        _apply_finished(run, event)


def _find_done(run: AgentRun, event: _JsonObject) -> AgentAction:
    """The action that a `done` event is about: pending, of the last step, or a notice's."""
    call_id = event["call_id"]
    if not call_id:
        message = _unpack_value(event, "message")
        return AgentAction("", {}, "", event["log"], message, event["request"])
    for action in itertools.islice(_calls_with_id(run, call_id), event.get("number", 0), None):
        return action
    raise ValueError(f"the call {_preview(call_id)} is not pending")


def _calls_with_id(turn: AgentRun, call_id: str) -> Iterator[AgentAction]:
    """The calls that a `done` event can be about: those that are pending, then the last step's.

    They are several where a model gave calls of one reply the same id.
    """
    last = [step.action for step in turn.steps[-1:]]
    for action in itertools.chain(turn.pending, last):
        if action.call_id == call_id:
            yield action


def _totals_of(run: AgentRun) -> _JsonObject:
    return {"requests": run.requests, "usage": dict(run.usage), "state": run.state}


def _apply_totals(run: AgentRun, event: _JsonObject) -> None:
    run.requests = event.get("requests", run.requests)
    run.usage = dict(event.get("usage", run.usage))
    run.state = event.get("state", run.state)


_ONLY_TOTALS = ("turn", "requested", "updated")
_PACK: Dict[str, Callable[..., _JsonObject]] = {
    "proposed": _pack_proposed,
    "done": _pack_done,
    "finished": _pack_finished,
}
_APPLY: Dict[str, Callable[[AgentRun, _JsonObject], None]] = {
    "proposed": _apply_proposed,
    "started": _apply_started,
    "done": _apply_done,
    "finished": _apply_finished,
}


# -- catching up -----------------------------------------------------------------------------------
#
# A run and its journal may each know something that the other does not: one was written and not
# yet done, the other done and not written. What has to happen to one of them until it has all
# that the other has is again a list of events; they are applied to the run, or written.


def _catch_up(behind: AgentRun, ahead: AgentRun, add: Callable[[_JsonObject], Any]) -> None:
    """Add to one state of a turn what it lacks, until it has all that the other has.

    `add` applies an event to `behind`: what is still missing is seen from that. It is done
    in both directions, one after the other, so that `behind` may also have something more.
    The state comes last: after a crash in between, a turn must not be ended and lack its
    finish.
    """
    is_later = _age(ahead) > _age(behind)  # now: the events to come make both of one age
    # Requests and tokens are only ever added: the larger are the later ones.
    if ahead.requests > behind.requests:
        add(_make_event("updated", requests=ahead.requests))
    if _usage_order(ahead) > _usage_order(behind):
        add(_make_event("updated", usage=ahead.usage))
    if len(ahead.steps) >= len(behind.steps):
        _add_missing_replies(behind, ahead, add)
    unknown = {action.call_id for action in behind.pending}.difference(behind.started)
    call_ids = [call_id for call_id in ahead.started if call_id in unknown]
    if call_ids:
        add(_make_event("started", call_ids=call_ids))
    if is_later:
        add(_make_event("updated", state=ahead.state))


def _usage_order(turn: AgentRun) -> Tuple[float, int]:
    """To compare which counts are the later ones: more tokens; of equal ones, more names."""
    return (sum(turn.usage.values()), len(turn.usage))


def _age(turn: AgentRun) -> Tuple[int, bool]:
    """To compare which state is the later one: that after more requests, else an end."""
    return (turn.requests, turn.state != "running")


def _add_missing_replies(
    behind: AgentRun, ahead: AgentRun, add: Callable[[_JsonObject], Any]
) -> None:
    """The replies that `behind` lacks, each with its steps as far as they are done."""
    steps = ahead.steps[len(behind.steps) :]
    actions = [step.action for step in steps]
    number = 0
    for reply in _group_by_reply(actions + ahead.pending):
        proposed = _find_unknown(behind, reply)
        if proposed:
            add(_make_event("proposed", actions=proposed))
        for step in steps[number : number + len(reply)]:
            answer = _answer_of(ahead, step)
            add(_make_event("done", step=step, finish=answer, turn=behind))
        number += len(reply)
    if ahead.finish is not None and behind.finish is None:
        add(_make_event("finished", finish=ahead.finish))


def _find_unknown(turn: AgentRun, reply: List[AgentAction]) -> List[AgentAction]:
    """The calls of a reply that are not pending yet. A notice is no call."""
    known = {action.call_id for action in turn.pending} | {""}
    return [action for action in reply if action.call_id not in known]


def _answer_of(run: AgentRun, step: AgentStep) -> Optional[AgentFinish]:
    """The finish of `return_direct`, which is one event with its step, the last one."""
    if run.finish is None or run.finish.reason != "return_direct":
        return None
    return run.finish if step is run.steps[-1] else None


# -- reading ---------------------------------------------------------------------------------------


class _WrittenTurn:
    """A turn as the lines of a journal describe it.

    Attributes:
        path: of the journal.
        run: the turn, without its history.
        lines: the number of the line that began it, then those of its steps.
    """

    def __init__(self, path: str, event: _JsonObject, line: int) -> None:
        version = event["version"]
        if version > _VERSION:
            newer = f"its format is newer: version {version}"
            raise ValueError(f"{newer}; use the agentloop.py that wrote it")
        self.path = path
        self.run = AgentRun(_unpack_value(event, "task"))
        self.lines = [line]

    def apply(self, event: _JsonObject, line: int) -> None:
        """Follow the event in this line."""
        _check_event(event)
        _apply(self.run, event)
        if len(self.lines) <= len(self.run.steps):
            self.lines.append(line)

    def check(self, turn: AgentRun, is_last: bool) -> None:
        """ValueError unless this or the turn of a run is the beginning of the other.

        is_last: whether the journal ends with this turn, so that the run may have more.
        """
        written = self.run
        if not _is_same(turn.task, written.task):
            raise self._different_run(0, "with another task")
        shared = min(len(turn.steps), len(written.steps))
        same = self._count_same_steps(turn.steps[:shared])
        if same < shared:
            raise self._different_run(same + 1, "with another step")
        # The steps that both have are the same. Which has more, and does it go on as the
        # other one begins?
        #
        #     behind has                ahead must have
        #     no reply after its steps  anything
        #     pending calls             each of them, pending or in a further step
        #     a finish                  the same, or a further step: it was not accepted
        behind, ahead = turn, written
        if _has_more(turn, written):
            behind, ahead = written, turn
            if not is_last:
                raise self._different_run(shared, "which goes on with another turn")
        further = ahead.steps[shared:]
        call_ids = {step.action.call_id for step in further}
        call_ids.update(action.call_id for action in ahead.pending)
        if not all(action.call_id in call_ids for action in behind.pending):
            raise self._different_run(shared, "with other pending calls")
        if behind.finish is not None and not further and not _is_same_finish(turn, written):
            raise self._different_run(shared, "with another finish")

    def _different_run(self, number: int, difference: str) -> ValueError:
        """The error. `number`: 0 for the line of the turn, 1 for that of its first step."""
        return ValueError(
            f"{self.path}, line {self.lines[number]}: the journal of another run, {difference}; "
            "give this one its own, also where its history was changed"
        )

    def _count_same_steps(self, steps: List[AgentStep]) -> int:
        """How many steps both begin with: [a, b, c], where it has [a, b, x] -> 2."""
        compared: Tuple[Any, Any] = (None, None)  # messages: most calls of a reply share one
        for count, (step, written) in enumerate(zip(steps, self.run.steps)):
            one, other = step.action.message, written.action.message
            if one is not compared[0] or other is not compared[1]:
                if not _is_same(one, other):
                    return count
                compared = (one, other)
            if not self._is_same_step(step, written):
                return count
        return len(steps)

    def _is_same_step(self, step: AgentStep, written: AgentStep) -> bool:
        """Whether they are the same, but for the messages that their actions came in."""
        if not _is_same_call(step.action, written.action) or step.status != written.status:
            return False
        return _is_marked(step, self.path) or _is_same(step.observation, written.observation)


def _has_more(one: AgentRun, other: AgentRun) -> bool:
    """Whether a turn has more steps than the other, or a reply where the other has none."""
    if len(one.steps) != len(other.steps):
        return len(one.steps) > len(other.steps)
    return _has_reply(one) and not _has_reply(other)


def _has_reply(turn: AgentRun) -> bool:
    """After its steps: calls or a finish."""
    return len(turn.pending) > 0 or turn.finish is not None


def _is_same_call(one: AgentAction, other: AgentAction) -> bool:
    names = ("tool", "call_id", "log", "request", "tool_input")
    return all(_is_same(getattr(one, name), getattr(other, name)) for name in names)


def _is_same_finish(turn: AgentRun, written: AgentRun) -> bool:
    """Whether two turns of the same steps have the same finish."""
    one, other = turn.finish, written.finish
    if one is None or other is None:
        return False
    names = ["log", "message", "reason"]
    if one.reason != "return_direct":  # else it is the last observation, in one event
        names.append("output")
    return all(_is_same(getattr(one, name), getattr(other, name)) for name in names)


def _is_same(one: Any, other: Any) -> bool:
    """Whether a journal gives back both as the same: (1, 2) and "[1, 2]"."""
    if one is other:
        return True
    one, other = _as_written(one), _as_written(other)
    return bool(one == other) or _as_line(one) == _as_line(other)


def _as_written(value: Any) -> Any:
    """A value as a journal gives it back, but for halves: (1, 2) -> "[1, 2]"."""
    if _is_plain_json(value):
        return value
    return _unpack_value(_pack_value("value", value), "value")


def _as_line(value: Any) -> str:
    r"""A value as JSON in ASCII: in it two surrogates are the character that they make.

    "\ud83d" + "\ude00" and "\U0001f600" -> {"value": "\ud83d\ude00"}.
    """
    return json.dumps(_pack_value("value", value), sort_keys=True)


# A tool may return a list of its own and add to it later. The run then shows the list as it
# is, the file has it as it was. So a step remembers which journal has it, and with which
# object: another object is another observation, this one may have changed.


def _mark_written(step: AgentStep, path: str) -> None:
    if type(step.observation) not in _SCALAR_TYPES:
        step._in_journal = (path, step.observation)


def _is_marked(step: AgentStep, path: str) -> bool:
    mark = getattr(step, "_in_journal", None)  # a copy of another version of this file
    return mark is not None and mark[0] == path and mark[1] is step.observation


# What reading a damaged line raises.
_DAMAGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def _read_turns(path: str, data: bytes) -> List[_WrittenTurn]:
    """The turns in the complete lines of a journal. ValueError, with path and line.

    What follows the last newline is a torn line, and does not count. It may be all there
    is, if it could become the first line of a journal.
    """
    turns: List[_WrittenTurn] = []
    lines = data.split(b"\n")
    torn = lines.pop().rstrip(b"\0")  # a power cut may leave NUL bytes
    for number, line in enumerate(lines, 1):
        try:
            event = _parse_json(line.decode("ascii"), max_depth=2 * _MAX_DEPTH)
            if event["event"] == "turn":
                turns.append(_WrittenTurn(path, event, number))
            turns[-1].apply(event, number)
        except _DAMAGE as error:
            reason = f"{type(error).__name__}: {_one_line(_safe_str(error))}"
            text = f"{path}, line {number}: cannot be read ({reason})"
            raise ValueError(text) from None
    could_begin = torn.startswith(_FIRST_BYTES) or _FIRST_BYTES.startswith(torn)
    if not turns and not could_begin:
        raise ValueError(f"{path}, line 1: this is not a journal")
    return turns


def _load_journal(path: Union[str, "os.PathLike[str]"]) -> AgentRun:
    """The last turn in a journal, its earlier turns as history."""
    path = os.fsdecode(path)
    with _open_regular_file(path, "rb", os.O_RDONLY) as file:
        turns = [written.run for written in _read_turns(path, file.read())]
    if not turns:
        raise ValueError(f"{path}, line 1: has no turns yet")
    turns[-1].history = turns[:-1]
    return turns[-1]


# -- the file --------------------------------------------------------------------------------------

# How systems report a lock that another holds: Windows says EACCES, Wine 0.
_LOCK_IS_HELD = (0, errno.EACCES, errno.EAGAIN, errno.EDEADLK)
# How a file system says that it has no locks, or that it cannot sync.
_UNSUPPORTED = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def _open_regular_file(path: str, mode: str, flags: int) -> Any:
    """Open a file, unbuffered. OSError, at once, for a FIFO, a device, a folder."""

    def open_at_once(path: str, _: int) -> int:
        binary = getattr(os, "O_BINARY", 0)
        at_once = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
        return os.open(path, flags | binary | at_once, 0o600)

    file = open(path, mode, buffering=0, opener=open_at_once)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "a journal is a regular file", path)
    return file


def _sync_folder(path: str) -> None:
    """A new file is safe only once its name is. Some systems cannot fsync a folder."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        stack.callback(os.close, folder)
        os.fsync(folder)


class _JournalFile:
    """A file that one process at a time holds, and to whose end lines are written.

    BlockingIOError where another process (or stream) holds it, else the system's OSError.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._process = os.getpid()
        self._can_sync = True
        self._torn_at: Optional[int] = None  # where half a line begins that is still to be cut
        try:
            self._file = _open_regular_file(path, "r+b", os.O_RDWR)
        except FileNotFoundError:
            self._file = _open_regular_file(path, "r+b", os.O_RDWR | os.O_CREAT)
            _sync_folder(path)
        try:
            self._lock_after_dropped_streams()
            self._identity = self._identify()
        except BaseException:
            self._file.close()
            raise

    def read(self) -> bytes:
        data: bytes = self._file.read()
        return data

    def append(self, line: bytes) -> None:
        """Write a line and sync it, whole or not at all."""
        if self._process != os.getpid():  # a forked child: the file is still its parent's
            raise self._held_by_another()
        self._check_path()
        if self._torn_at is not None:
            self.cut(self._torn_at)
        file = self._file.fileno()
        size = os.lseek(file, 0, os.SEEK_END)
        try:
            rest = line
            while rest:
                rest = rest[os.write(file, rest) :]
            if self._can_sync:
                self._sync()
        except BaseException:  # a full disk: the next line must not follow half a line
            self._torn_at = size
            with contextlib.suppress(OSError):
                self.cut(size)
            raise

    def _sync(self) -> None:
        """Wait until the disk has what was written; with a warning where that cannot be had."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            self._can_sync = False
            self._warn("this file system cannot sync; a power cut may take the last events")

    def cut(self, size: int) -> None:
        """Leave the first `size` bytes."""
        os.ftruncate(self._file.fileno(), size)
        self._torn_at = None

    def close(self) -> None:
        if self._file.closed:
            return
        if self._process == os.getpid():
            self._unlock()
        self._file.close()

    def _identify(self) -> Optional[os.stat_result]:
        """The device and number of the file, by which another in its place is noticed.

        None where they change although the file does not: some systems make up the numbers
        (shared folders of virtual machines, WebDAV), for each look or for each way to look.
        So it is looked at twice, by its path and as the open file.
        """
        file = self._file.fileno()
        identity = os.fstat(file)
        for result in (os.fstat(file), os.stat(self.path), os.stat(self.path)):
            if not os.path.samestat(identity, result):
                return None
        return identity

    def _check_path(self) -> None:
        """FileNotFoundError where the file vanished: it would record nothing."""
        status = os.stat(self.path)
        if self._identity is not None and not os.path.samestat(status, self._identity):
            reason = "another file is in its place"
            raise FileNotFoundError(errno.ENOENT, reason, self.path)

    def _lock_after_dropped_streams(self) -> None:
        """One that was dropped holds its file until it is collected: on PyPy some time later."""
        try:
            self._lock()
        except BlockingIOError:
            gc.collect()
            self._lock()

    def _lock(self) -> None:
        """Lock the file for this process, without waiting.

        BlockingIOError, "another process or stream holds the journal: 'run.jsonl'", where
        one does. Without a lock, and with a warning, where the file system has none.
        """
        file = self._file.fileno()
        try:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                import msvcrt

                os.lseek(file, 1 << 40, os.SEEK_SET)  # past the end: others can read it
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                os.lseek(file, 0, os.SEEK_SET)
        except ImportError:
            pass  # a system without locks
        except OSError as error:
            if error.errno in _LOCK_IS_HELD:
                raise self._held_by_another() from None
            if error.errno not in _UNSUPPORTED:
                raise
            self._warn("this file system has no locks; nothing keeps a second process away")

    def _held_by_another(self) -> BlockingIOError:
        reason = "another process or stream holds the journal"
        return BlockingIOError(errno.EAGAIN, reason, self.path)

    def _unlock(self) -> None:
        # subtle: closing is not enough where a forked child has inherited the file
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)

    def _warn(self, text: str) -> None:
        import logging

        logging.getLogger("agentloop").warning(f"{self.path}: {text}")


# -- the journal -----------------------------------------------------------------------------------


class _Journal:
    """A journal that is open for writing.

    Attributes:
        has_later_turns: whether the file holds turns after the last one of the run.
    """

    def __init__(self, file: _JournalFile, has_later_turns: bool) -> None:
        self.has_later_turns = has_later_turns
        self._file = file
        self._run = AgentRun("")  # the turn that is written
        self._written = AgentRun("")  # what the file has of it

    def begin_turn(self, run: AgentRun) -> None:
        """Go on with a turn that the file does not have yet.

        {"event": "turn", "version": 1, "task": "How many A1?", "time": 1796000000.0}
        """
        self._run = run
        self._written = AgentRun(run.task)
        task = _pack_value("task", run.task)
        self._add({"event": "turn", "version": _VERSION, **task})
        _catch_up(self._written, self._run, self._add)

    def continue_turn(self, run: AgentRun, written: AgentRun) -> None:
        """Go on with the last turn of the file. `written`: what the file has of it."""
        self._run = run
        self._written = written
        _catch_up(self._written, self._run, self._add)

    def write(self, kind: str, **fields: Any) -> None:
        """write("started", call_ids=["c00000001"])"""
        self._add(_make_event(kind, **fields))

    def write_step(self, step: AgentStep) -> None:
        """A `done` event, with the finish where the step is the answer."""
        _mark_written(step, self._file.path)  # first: where Ctrl-C comes next, the file has it
        self.write("done", step=step, finish=self._run.finish, turn=self._written)

    def close(self) -> None:
        """May be called twice."""
        self._file.close()

    def _add(self, event: _JsonObject) -> None:
        """Write an event, with the totals that changed; not where nothing is left of it.

        A tool or the model may have changed the counts at any time. The state is the
        event's alone: it is written before it is the run's.
        """
        written = _totals_of(self._written)
        totals = _totals_of(self._run)
        totals["state"] = written["state"]
        for name, value in totals.items():
            event.setdefault(name, value)
            if event[name] == written[name]:
                del event[name]
        if event == {"event": "updated"}:
            return
        _check_event(event)
        event["time"] = round(time.time(), 3)
        # A number that JSON does not have must fail here, not when the file is read.
        self._file.append(json.dumps(event, allow_nan=False).encode("ascii") + b"\n")
        _apply(self._written, event)


def _open_journal(path: str, run: AgentRun) -> _Journal:
    """The journal of a run. Whichever of file and run is behind catches up.

    BlockingIOError where another process (or stream) holds the file. ValueError, with
    path and line, where it is not a journal, damaged, or another run's; then no byte of
    it is changed.
    """
    file = _JournalFile(path)
    try:
        data = file.read()
        written_turns = _read_turns(path, data)
        turns = [*run.history, run]
        for turn, written in zip(turns, written_turns):
            written.check(turn, written is written_turns[-1])
        for turn in turns:  # the file has these steps, or gets them now
            for step in turn.steps:
                _mark_written(step, path)
        complete = data.rfind(b"\n") + 1
        if complete < len(data):  # a torn line
            file.cut(complete)
        journal = _Journal(file, len(written_turns) > len(turns))
        for turn, written in zip(turns, written_turns):
            _catch_up(turn, written.run, functools.partial(_apply, turn))
            if written is written_turns[-1]:
                journal.continue_turn(turn, written.run)
        for turn in turns[len(written_turns) :]:
            journal.begin_turn(turn)
        return journal
    except BaseException:
        file.close()
        raise


# == models ========================================================================================
#
# A model is any callable that looks at a run and says what to do next. First what the protocols
# share (the conversation, HTTP, streams, asking), then each protocol, then text.

# -- the conversation ------------------------------------------------------------------------------

_NO_TEXT = "(no text)"  # stands where servers refuse an empty text
_NO_OUTPUT = "(no output)"
_GO_ON = "Go on."
_LEGAL_NAME = r"[a-zA-Z0-9_-]{1,64}\Z"
_ANY_ID = r"(?s).+\Z"
_PORTABLE_ID = r"[a-zA-Z0-9]{9}\Z"  # a call id that every provider takes


def _contents_of(turns: List[AgentRun]) -> List[Any]:
    """The objects that the messages of these turns are made of, in order.

    What a caller replaced since the last request is another object in this list.

    A task "go" and one step -> ["go", observation, status, tool, arguments, ...]
    """
    contents: List[Any] = []
    for turn in turns:
        contents += _list_of(turn.task)
        for step in turn.steps:
            contents += (step.observation, step.status, *vars(step.action).values())
        if turn.finish is not None:
            contents += vars(turn.finish).values()
    return contents


def _list_of(value: Any) -> List[Any]:
    """A task as its parts: "go" -> ["go"]; ["go", Image] -> ["go", Image]."""
    return value if isinstance(value, list) else [value]


class _Conversation:
    """A conversation as one adapter sends it. It only grows: nothing is encoded twice.

    After the task "go", one call with its result, the answer and the next task "and
    now?", the first three attributes are, for Chat Completions:

        closed_messages: b'{"role": "user", "content": "go"}, {"role": "assistant", ...},
            {"role": "tool", ...}, {"role": "assistant", "content": "done"}'
        open_parts: ["and now?"]
        open_bytes: b'{"role": "user", "content": "and now?"}'

    Attributes:
        closed_messages: the messages that nothing is added to any more, encoded.
        open_parts: what the user says next: the parts of one message, which may get more.
        open_bytes: that message encoded; b"" where a part came since.
        settings: what the encoding depends on beside the run; others begin it anew.
        contents: what is in here, see `_contents_of`.
        observations: the lists and dicts of plain JSON among them, which a caller may
            change in place.
        copies: the same, as they were.
        turn_count: how many turns are in here.
        step_count: how many steps of the last of these turns.
        has_finish: whether the finish of the last of these turns is in here.
        ids: the call ids in here, those of the run and those on the wire.
        assistant_keys: properties of the assistant's messages, which a server may refuse
            by name.
        after_results: whether the last closed message is the result of a call.
        container: the id of the last one that a reply named (Anthropic).
        input_tokens: of the last request.
    """

    def __init__(self, settings: Any) -> None:
        self.closed_messages = bytearray()
        self.open_parts: List[Any] = []
        self.open_bytes = b""
        self.settings = settings
        self.contents: List[Any] = []
        self.observations: List[Any] = []
        self.copies: List[Any] = []
        self.turn_count = 0
        self.step_count = 0
        self.has_finish = False
        self.ids: Set[str] = set()
        self.assistant_keys: Set[str] = set()
        self.after_results = False
        self.container = ""
        self.input_tokens = 0

    def is_beginning_of(self, contents: List[Any], settings: Any) -> bool:
        """Whether what is in here can be sent again: the caller changed nothing of it.

        `contents` are those of the turns to send.
        """
        if settings != self.settings or len(contents) < len(self.contents):
            return False
        # subtle: not `==`, which a tool's result may define, and which would look at all of
        # its parts. This runs over the whole conversation at each request: it must stay
        # O(n), with a small constant. A flat list is enough: a step always adds as many
        # entries, so one that was put in or taken out moves those behind it by one step,
        # and steps of the same objects are sent alike.
        if not all(map(operator.is_, self.contents, contents)):
            return False
        try:
            return self.observations == self.copies
        except Exception:  # something that was put in there since cannot be compared
            return False

    def begin_turn(self) -> None:
        self.turn_count += 1
        self.step_count = 0
        self.has_finish = False

    def count_steps(self, steps: List[AgentStep]) -> None:
        self.step_count += len(steps)
        for step in steps:
            value = step.observation
            if type(value) in (list, dict) and _is_plain_json(value):
                self.observations.append(value)
                self.copies.append(copy.deepcopy(value))

    def add(self, message: bytes, is_result: bool = False) -> None:
        if self.closed_messages:
            self.closed_messages += b", "
        self.closed_messages += message
        self.after_results = is_result

    def say(self, parts: List[Any]) -> None:
        """Add to what the user says next. An empty text, which is refused, is replaced."""
        for part in parts:
            is_blank = isinstance(part, str) and not part.strip()
            self.open_parts.append(_NO_TEXT if is_blank else part)
        self.open_bytes = b""

    def make_id(self, call_id: str, pattern: str) -> str:
        """The id itself; one that depends on no chance where it was used or is refused.

        "call_a" -> "call_a"; "call_a" once more -> "c00000002".
        """
        wire_id = call_id
        number = len(self.ids) + 1
        while wire_id in self.ids or not re.match(pattern, wire_id):
            wire_id = f"c{number:08d}"
            number += 1
        self.ids |= {call_id, wire_id}
        return wire_id


def _in_call_order(group: List[AgentStep], calls: List[AgentAction]) -> List[AgentStep]:
    """The steps of a reply in the order of its calls, which the protocols demand.

    Steps come in the order in which they ended. The server's ids tell the order. Where a
    call had none, or a repeated one, the loop made one up; those grow from call to call.

    Calls "a", no id, "b"; steps "b", "loop_2", "a" -> steps "a", "loop_2", "b".
    """
    if len(calls) != len(group):
        return group
    ids = [call.call_id for call in calls]
    known = set(ids)
    by_id: Dict[str, AgentStep] = {}
    others: List[AgentStep] = []
    for step in group:
        call_id = step.action.call_id
        if call_id in known and call_id not in by_id:
            by_id[call_id] = step
        else:
            others.append(step)
    others.sort(key=lambda step: step.action.call_id)
    remaining = iter(others)
    return [by_id.pop(i) if i in by_id else next(remaining) for i in ids]


def _trim_turns(
    turns: List[AgentRun],
    trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]],
) -> List[AgentRun]:
    """The turns with the steps that `trim` leaves: of the last N replies, or its own.

    A reply stays whole where one of its steps stays: every call needs its result.
    """
    if trim is None:
        return turns
    if callable(trim):
        steps = [step for turn in turns for step in turn.steps]
        kept = _match_copies(steps, trim(list(steps)))
    else:
        replies = [reply for turn in turns for reply in _group_by_reply(turn.steps)]
        first = max(0, len(replies) - trim)
        kept = {id(step): step for reply in replies[first:] for step in reply}
    return [_trim_turn(turn, kept) for turn in turns]


def _trim_turn(turn: AgentRun, kept: Dict[int, AgentStep]) -> AgentRun:
    steps: List[AgentStep] = []
    for reply in _group_by_reply(turn.steps):
        if any(id(step) in kept for step in reply):
            steps += [kept.get(id(step), step) for step in reply]
    return AgentRun(turn.task, steps, finish=turn.finish)


def _match_copies(steps: List[AgentStep], chosen: Iterable[AgentStep]) -> Dict[int, AgentStep]:
    """{id(step): the step or its changed copy}, for what a `trim` function returned.

    [one, two], [copy of two] -> {id(two): copy of two}. A copy has the action of the step,
    or its call_id; without a call, its request and text. Of several steps with these, the
    copies are theirs in order. ValueError for anything else.
    """
    by_action = {id(step.action): step for step in steps}
    by_key: Dict[Tuple[str, int, str], List[AgentStep]] = {}
    for step in steps:
        by_key.setdefault(_key_of_copies(step.action), []).append(step)
    kept: Dict[int, AgentStep] = {}
    copies = []
    for step in chosen:
        original = by_action.get(id(step.action))
        if original is None:
            copies.append(step)
        else:
            kept[id(original)] = step
    for copied in copies:
        alike = by_key.get(_key_of_copies(copied.action))
        if alike is None:
            raise ValueError(
                "trim returns steps of the run or changed copies of them, with their "
                f"call_id; got {_one_line(_safe_str(copied))}"
            )
        remaining = [step for step in alike if id(step) not in kept] or alike
        request = copied.action.request
        same_request = [step for step in remaining if step.action.request == request]
        kept[id((same_request or remaining)[0])] = copied
    return kept


def _key_of_copies(action: AgentAction) -> Tuple[str, int, str]:
    """What a copy of the action has too: ("c1", 0, ""), ("", 3, "I think ...") for a notice."""
    if action.call_id:
        return action.call_id, 0, ""
    return "", action.request, action.log


def _is_about_call(notice: AgentAction, call: AgentAction) -> bool:
    """True for the step about a reply whose call, the last step, was to be the answer."""
    return bool(call.call_id) and _from_same_request(call, notice)


def _encode_json(value: Any) -> bytes:
    """Strict UTF-8 JSON: non-ASCII kept, ValueError for NaN, "?" for a lone surrogate."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _join_halves(text).encode("utf-8", "replace")


# What a strict server refuses in every later request, and what goes back in its place.
# Each was said by some model once; the action's `message` keeps it as it came.


def _strict_arguments(arguments: Any) -> str:
    """Arguments for a strict parser: as they came, else what was understood, else "{}".

    '{"n":  1}' -> '{"n":  1}'; "{'n': 1}" -> '{"n": 1}'; '{"n": ' -> "{}".
    """
    if isinstance(arguments, str) and _is_strict_object(arguments):
        return arguments
    try:
        understood = _read_arguments(arguments)
    except ValueError:
        understood = {}
    if not _is_plain_json(understood):
        understood = {}
    return _encode_json(understood).decode("utf-8")


def _is_strict_object(text: str) -> bool:
    """False for what is no JSON object, and for one with NaN or a lone surrogate in it."""
    try:
        value = _parse_json(text)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError:  # also UnicodeEncodeError
        return False
    return type(value) is dict and _is_plain_json(value)


def _legal_name(name: Any, tool: str = "") -> str:
    """A name that servers take back, close to the tool's where they refuse it.

    "look" -> "look"; "multi_tool_use.parallel" -> "multi_tool_use_parallel";
    None -> "unknown".
    """
    if isinstance(name, str) and re.match(_LEGAL_NAME, name):
        return name
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool.strip())[:64] or "unknown"


def _dicts(value: Any) -> List[_JsonObject]:
    """The objects in what should be a list of them. One by itself is a list of one (TGI)."""
    if isinstance(value, dict) and value:
        return [value]
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict)]


def _dict(value: Any) -> _JsonObject:
    return value if isinstance(value, dict) else {}


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _join_text(content: Any, *part_types: str) -> str:
    """The text of a message's content: a str, or its parts of type "text" or these, joined.

    [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}] -> "ab"
    """
    if isinstance(content, str):
        return content
    texts = [part for part in _dicts(content) if part.get("type") in ("text", *part_types)]
    return "".join(_str(part.get("text")) for part in texts)


def _whole_number(value: Any) -> int:
    """A count or an index of a server: a whole number from 0 to 10^15, else 0."""
    return value if type(value) is int and 0 < value <= 10**15 else 0


# -- HTTP ------------------------------------------------------------------------------------------
#
# HTTP/1.1 over sockets. http.client waits for the whole timeout in one read, which Ctrl-C
# does not interrupt on Windows. It knows no deadline, and no bound for interim replies or
# trailers.
#
# From the socket to the document that a reply is:
#
#     socket -> bytes                     _Connection: time limits
#     bytes -> head, chunks               a transport: http_transport, or the caller's
#     chunks -> unpacked, bounded         _HttpReply: errors become _RequestFailed
#     chunks -> JSON -> document          _read_document; else, where it is a stream:
#     chunks -> lines -> events           _read_lines, _read_events
#     events -> document                  the assembler of the protocol

_MAX_REPLY = 64 << 20  # bytes of a reply, as it is unpacked
_MAX_LINE = 64 << 10  # bytes of a line of a reply's head
_MAX_HEADERS = 100
_MAX_INTERIM = 20  # replies 1xx before the one that counts
_MAX_CONNECT = 30.0  # seconds for one address of a host
_MAX_WRITE = 3600.0  # seconds in one write: a socket takes no infinite time limit
_MAX_READ = 2.0  # seconds in one read: on Windows Ctrl-C gets through between two reads
_MAX_DRAIN = 0.2  # seconds for the end of a body whose content is complete

# Not urlsplit: it takes "http:/h" and "http://h:port" for URLs, removes line ends, and of
# a password with a "?" or "#" it makes a host and a path.
_URL = r"""(?xi)
    ( https? ) ://
    (?: ( [^/?#]* ) @ )?                        # a password may hold another @
    ( \[ [0-9a-f:.%]+ \] | [^][/?#@:\s\x00-\x1f\x7f]+ )
    (?: : ( [0-9]{1,5} ) )?
    ( / [^?#\x00-\x20\x7f]* )?
    ( \? [^#\x00-\x20\x7f]* )?
    (?: \# .* )? \Z
"""


def _quote_letters(text: str) -> str:
    """As HTTP sends it: "/caf\u00e9%20" -> "/caf%C3%A9%20"."""
    if text.isascii():
        return text
    from urllib.parse import quote

    return re.sub("[^\x00-\x7f]+", lambda letters: quote(letters[0]), text)


def _no_url(text: str) -> ValueError:
    # Up to the last @ it may be a password or a token, however odd.
    shown = re.sub(r"(?si)\A(\w+://|https?:/*)?(?:.*@)?([^?#]*).*", r"\1\2", text)
    return ValueError(f"base_url is like http://127.0.0.1:8080/v1; got {shown!r}")


class _Url:
    """The parts of a URL, for example "https://u:p@[::1]/v1?k=1".

    Raises ValueError, which shows no userinfo and no query, for anything but http and https.

    Attributes:
        scheme, host, port: "https", "::1", 443.
        userinfo, path, query: "u:p", "/v1", "?k=1"; each may be "".
        authority: host and port as in a URL: "[::1]", "[::1]:8080".
        origin: scheme and authority: "https://[::1]".
        public: the URL without userinfo, query and fragment: "https://[::1]/v1".
        target: what the server is asked for: "/v1?k=1".
    """

    def __init__(self, url: str) -> None:
        match = re.match(_URL, url)
        if match is None or int(match[4] or 0) > 65535:
            raise _no_url(url)
        scheme, self.userinfo, host, port, path, query = match.groups("")
        try:
            if not host.isascii():
                host = host.encode("idna").decode("ascii")
            self.path = _quote_letters(path)
            self.query = _quote_letters(query)
        except UnicodeError:  # a label without a letter, a lone surrogate
            raise _no_url(url) from None
        self.scheme = scheme.lower()
        self.host = host.strip("[]").lower()
        default_port = {"http": 80, "https": 443}[self.scheme]
        self.port = int(port or default_port)
        self.authority = host if self.port == default_port else f"{host}:{self.port}"
        self.origin = f"{self.scheme}://{self.authority}"
        self.public = self.origin + self.path
        self.target = (self.path or "/") + self.query


def _endpoint(base_url: str, path: str) -> str:
    """The URL to post to. `path`: /chat/completions, /responses or /messages.

    A base URL may be a server, the address of its API, or the whole endpoint. A server's
    API is below /v1. The address of an API is complete, but for /messages: the usual base
    URLs end before /v1 there.

        "http://h", "http://h/v1/", "http://h/v1/responses" -> "http://h/v1/responses"
        "http://h/openai", for /responses -> "http://h/openai/responses"
        "http://h/anthropic", for /messages -> "http://h/anthropic/v1/messages"
    """
    url = _Url(base_url.strip())
    given = re.sub("/+", "/", url.path).rstrip("/")
    if not given.endswith(path):
        lacks_version = path == "/messages" and not given.lower().endswith("/v1")
        if not given or lacks_version:
            given += "/v1"
        given += path
    userinfo = f"{url.userinfo}@" if url.userinfo else ""
    return f"{url.scheme}://{userinfo}{url.authority}{given}{url.query}"


class _RequestFailed(OSError):
    """A request that came to nothing.

    Attributes:
        words: what the network says about it, or this client.
        body: what the server says, as it came; its words follow. None where it is silent.
        kind: see ModelError.
        retryable: True where asking again may help.
        retry_after: seconds to wait before that, where the server names them.
        status: the status of the HTTP reply; None where there was none, or 200.
        error: the server's error object; {} where there is none.
        tries: how often it was asked.
        was_key_sent: shown with an error of kind auth.
    """

    tries = 1
    was_key_sent = False

    def __init__(
        self, words: str, kind: str = "connection", retryable: bool = True,
        retry_after: Optional[float] = None, status: Optional[int] = None,
        error: Optional[_JsonObject] = None, body: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(words)
        self.words = words
        self.body = body
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.error = error or {}


def _is_timeout(error: Exception) -> bool:
    """True for a time limit of ours. The system's (of keep-alive probes) has an errno."""
    import socket  # its own class before Python 3.10

    is_limit = isinstance(error, (TimeoutError, socket.timeout))
    return is_limit and not getattr(error, "errno", None)


# proxies


def _parse_proxy(text: str) -> _Url:
    """A proxy as people write it: "http://user:pass@127.0.0.1:3128", "127.0.0.1:3128".

    A password may hold any character, escaped or not. Raises _RequestFailed for a kind of
    proxy that is not supported.
    """
    scheme, userinfo, address = _split_proxy(text)
    try:
        proxy = _Url(f"http://{address}")
    except ValueError:  # not shown: it may hold a password
        reason = "the proxy's address is not like http://127.0.0.1:3128"
        raise _RequestFailed(reason, retryable=False) from None
    if scheme.lower() not in ("", "http"):
        reason = f"{scheme}://{proxy.authority} is a kind of proxy that is not supported"
        raise _RequestFailed(reason, retryable=False)
    proxy.userinfo = userinfo
    return proxy


def _split_proxy(text: str) -> Tuple[str, str, str]:
    """Scheme, userinfo and address: "http://u:a://b@h:1" -> "http", "u:a://b", "h:1"."""
    scheme, mark, rest = text.strip().partition("://")
    if not mark or not re.fullmatch(r"[\w+.-]*", scheme):  # "h:1", "u:a://b@h:1"
        scheme = ""
        rest = text.strip()
    userinfo, _, address = rest.rpartition("@")
    return scheme, userinfo, address


def _encode_userinfo(userinfo: str) -> str:
    """As HTTP sends it: "us%40er:pass" -> base64 of "us@er:pass"; "user" is "user:"."""
    from urllib.parse import unquote

    if ":" not in userinfo:
        userinfo += ":"
    return _encode_base64(unquote(userinfo).encode("utf-8", "replace"))


def _decode_userinfo(login: str) -> str:
    """The reverse: "dTpw" -> "u:p"; "" for what is no base64."""
    import base64

    try:
        return base64.b64decode(login + "==").decode("utf-8", "replace")
    except ValueError:
        return ""


def _basic_login(header: str, url: _Url) -> Dict[str, str]:
    """The header that logs in with the userinfo of a URL; {} where that has none."""
    if not url.userinfo:
        return {}
    return {header: "Basic " + _encode_userinfo(url.userinfo)}


def _find_proxy(url: _Url) -> Optional[_Url]:
    """The proxy on the way to a server: of the environment, else of the system.

    None where the server is reached directly, as loopback always is.
    """
    if url.host in ("localhost", "::1") or re.match(r"127(\.\d+){3}\Z", url.host):
        return None
    from urllib.request import getproxies, getproxies_environment, proxy_bypass

    proxies = getproxies_environment()
    if proxies:
        excepted = re.split(r"[,\s]+", proxies.get("no", "").lower())  # NO_PROXY
        is_direct = any(_names_host(entry, url.host, url.port) for entry in excepted if entry)
    else:
        # Of the registry or of macOS. Python before 3.10.5 makes "https://127.0.0.1:3128"
        # of the registry's "127.0.0.1:3128".
        for scheme, text in getproxies().items():
            proxies[scheme] = re.sub("(?i)^https://", "http://", text)
        is_direct = bool(proxy_bypass(url.host))
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if is_direct or not proxy:
        return None
    return _parse_proxy(proxy)


def _names_host(entry: str, host: str, port: int) -> bool:
    """One entry of NO_PROXY: a network, an address, a name, a domain, a wildcard; a port.

    ("10.0.0.0/8", "10.1.2.3", 80) -> True. Not urllib's proxy_bypass_environment: it
    knows neither networks nor wildcards.
    """
    import fnmatch
    import ipaddress

    with_port = re.match(r"(\[[^]]*\]|[^:]*):(\d+)\Z", entry)
    if with_port:
        entry = with_port[1]
        if int(with_port[2]) != port:
            return False
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        return ipaddress.ip_address(host) in network
    except ValueError:  # one of them is a name
        name = entry.lstrip(".")
        return fnmatch.fnmatchcase(host, name) or host.endswith("." + name)


# connections


def _bad_reply(reason: str) -> _RequestFailed:
    return _RequestFailed(f"the server sent no reply of HTTP: {reason}")


class _Connection:
    """A socket to a server or a proxy, with what has been received and not yet read."""

    _socket: Any = None

    def __init__(self, timeout: float, deadline: float) -> None:
        self._data = b""  # received
        self._at = 0  # how much of that is read
        self.set_limits(timeout, deadline)

    def set_limits(self, timeout: float, deadline: float) -> None:
        """`timeout`: the longest silence; `deadline`: an instant of time.monotonic()."""
        self._timeout = timeout
        self._deadline = deadline

    def _time_left(self, since: float) -> float:
        """Seconds that may still be waited. `since`: when something was last received."""
        left = min(since + self._timeout, self._deadline) - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"silence for {self._timeout:g} s, or past the deadline")
        return left

    def connect(self, host: str, port: int) -> None:
        """Connect to the first address of the host that answers.

        Each address has a time limit of its own, all together have the deadline.
        """
        import socket

        failure = OSError("the name has no address")
        address: Any
        for *_, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
            ip = address[0]
            if len(address) == 4 and address[3] and "%" not in ip:
                ip += f"%{address[3]}"  # the interface of a link-local address: "fe80::1%2"
            limit = min(_MAX_CONNECT, self._time_left(time.monotonic()))
            try:
                self._socket = socket.create_connection((ip, address[1]), limit)
                break
            except OSError as error:
                failure = error
                if _is_timeout(error):
                    failure = OSError(f"timed out after {limit:g} s")
        else:
            raise failure
        with contextlib.suppress(OSError):  # some systems name an option and refuse it
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A NAT box forgets what is silent. Probes prevent that, or show that it happened.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE"):  # the second on macOS
                if hasattr(socket, name):
                    self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), 45)

    def start_tls(self, host: str, context: Any) -> None:
        if not context:
            try:
                import ssl
            except ImportError as error:  # it was built without
                raise _RequestFailed(f"https needs ssl: {error}", retryable=False) from None
            context = ssl.create_default_context()  # counts SSL_CERT_FILE and SSL_CERT_DIR
        self._data = b""  # drop what a proxy sent after its reply: it is not the server's
        self._at = 0
        limit = min(_MAX_CONNECT, self._time_left(time.monotonic()))
        self._socket.settimeout(limit)
        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except OSError as error:
            if _is_timeout(error):
                raise OSError(f"the start of TLS timed out after {limit:g} s") from None
            raise

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def __del__(self) -> None:
        self.close()

    def is_idle(self) -> bool:
        """True where another request may follow: nothing has come since the last reply."""
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except OSError as error:  # by name, since ssl is imported for https alone
            is_silent = type(error).__name__ in ("BlockingIOError", "SSLWantReadError")
            return is_silent and self._at == len(self._data)
        return False

    def request(self, data: bytes) -> Tuple[int, Dict[str, str]]:
        """Send a request: status and headers of its reply, whose body is still to come."""
        try:
            self._send(data)
            return self._read_head()
        except BaseException:
            self.close()
            raise

    def _send(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), 1 << 20):  # each piece has the time limit
                left = self._time_left(time.monotonic())
                self._socket.settimeout(min(left, _MAX_WRITE))
                self._socket.sendall(data[start : start + (1 << 20)])
        except OSError as error:
            # subtle: a server may refuse a long request before it has read it all. Over TLS
            # the error is another one; by name, since ssl is imported for https alone.
            if not isinstance(error, ConnectionError) and type(error).__name__ != "SSLEOFError":
                raise

    def _receive(self) -> bytes:
        """Some bytes; b"" where the server has closed the connection."""
        since = time.monotonic()
        while True:
            self._socket.settimeout(min(self._time_left(since), _MAX_READ))
            try:
                data: bytes = self._socket.recv(65536)
                return data
            except OSError as error:
                if not _is_timeout(error):
                    raise

    def _fill(self) -> None:
        """Receive more, behind what is not read yet."""
        received = self._receive()
        if not received:
            raise ConnectionResetError("the server closed the connection")
        self._data = self._data[self._at :] + received
        self._at = 0

    def _read_line(self) -> bytes:
        r"""A line of a head, without its end: b"HTTP/1.1 200 OK"."""
        while True:
            end = self._data.find(b"\n", self._at)
            if end >= 0:
                line = self._data[self._at : end]
                self._at = end + 1
                return line.rstrip(b"\r")
            if len(self._data) - self._at > _MAX_LINE:
                raise _bad_reply("a header line without an end")
            self._fill()

    def _read_head(self) -> Tuple[int, Dict[str, str]]:
        """Status and headers of the reply; interim replies (1xx) are skipped."""
        for _ in range(_MAX_INTERIM):
            line = self._read_line()
            match = re.match(rb"HTTP/1\.(\d) (\d{3})(?!\d)", line)
            if match is None:
                raise _bad_reply(f"it begins with {line.decode('latin-1')}")
            headers = self._read_headers()
            if match[1] == b"0":  # HTTP/1.0 closes, unless it says otherwise
                headers.setdefault("connection", "close")
            if int(match[2]) >= 200:
                return int(match[2]), headers
        raise _bad_reply(f"more than {_MAX_INTERIM} interim replies")

    def _read_headers(self) -> Dict[str, str]:
        """Header lines up to the blank one; the names in lower-case."""
        headers: Dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            line = self._read_line().decode("latin-1")
            if not line:
                return headers
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raise _bad_reply(f"more than {_MAX_HEADERS} headers")

    def read_exactly(self, size: int) -> Iterator[bytes]:
        """So many bytes, in chunks as they come."""
        while size > 0:
            if self._at == len(self._data):
                self._fill()
            chunk = self._data[self._at : self._at + size]
            self._at += len(chunk)
            size -= len(chunk)
            yield chunk

    def read_to_close(self) -> Iterator[bytes]:
        """All until the server closes the connection."""
        chunk = self._data[self._at :] or self._receive()
        while chunk:
            yield chunk
            chunk = self._receive()

    def read_chunked(self) -> Iterator[bytes]:
        """A body whose length is not known beforehand: each chunk has its size before it."""
        while True:
            try:
                size = int(self._read_line().partition(b";")[0], 16)
            except ValueError:
                raise _bad_reply("a chunk without its size") from None
            if size <= 0:  # the last; trailers follow
                with contextlib.suppress(ConnectionError):  # some servers close at once
                    self._read_headers()
                return
            yield from self.read_exactly(size)
            self._read_line()


_CONTENT_LENGTH = r"([0-9]{1,15})(?:, ?\1)*\Z"  # "83", or "83, 83" (RFC 9110, 8.6)


class _IncomingBody:
    """The body of a reply in chunks as they come.

    Once it is read to its end, its connection goes into `pool`, under `key`, for the
    next request. Else the connection is closed.
    """

    def __init__(
        self, connection: _Connection, status: int, headers: Dict[str, str], pool: Any, key: Any
    ) -> None:
        self._connection = connection
        self._pool = pool
        self._key = key
        self._was_released = False  # then another request may have the connection
        self._can_be_kept = "close" not in headers.get("connection", "").lower()
        self._chunks: Iterator[bytes] = iter(())
        length = re.match(_CONTENT_LENGTH, headers.get("content-length", ""))
        if status in (204, 304):
            pass
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunks = connection.read_chunked()
        elif length:
            self._chunks = connection.read_exactly(int(length[1]))
        else:
            self._chunks = connection.read_to_close()
            self._can_be_kept = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            if self._can_be_kept and not self._was_released:
                self._was_released = True
                self._pool[self._key] = self._connection
            self.close()
            raise
        except BaseException:
            self.close()
            raise

    def drain(self) -> None:
        """Read the end of a body whose content is complete, if it comes at once."""
        if self._can_be_kept:
            self._connection.set_limits(_MAX_DRAIN, time.monotonic() + _MAX_DRAIN)
            for _ in self:
                pass

    def close(self) -> None:
        if not self._was_released:
            self._connection.close()


class _HttpTransport:
    """http_transport(method, url, headers, body, timeout) -> (status, headers, chunks).

    The names of the headers come back in lower-case; the chunks are the body's, as bytes.
    `timeout`: the longest silence in seconds; `deadline`, which this transport alone has:
    the instant of time.monotonic() at which all has to be read. A connection is kept per
    thread, process and server. Loopback is reached directly, else the proxies of the
    environment or of the system count. Redirects are not followed. Raises OSError, and
    ValueError for a header that cannot be sent.
    """

    def __init__(self, ssl_context: Any = None) -> None:
        self.ssl_context = ssl_context
        # subtle: threading.local, without importing threading. What it holds belongs to a
        # thread, and is dropped when that ends.
        self._local = _local()

    def __reduce__(self) -> Any:
        return _HttpTransport, (self.ssl_context and _NOT_PICKLED,)

    def __call__(
        self,
        method: str,
        url: str,
        headers: Dict[str, str],
        body: Optional[bytes],
        timeout: float,
        deadline: float = math.inf,
    ) -> Tuple[int, Dict[str, str], Iterator[bytes]]:
        _check_headers(headers)
        parts = _Url(url)
        proxy = _find_proxy(parts)
        own = {"Host": parts.authority}
        if body is not None:
            own["Content-Length"] = str(len(body))
        target = parts.target
        if proxy and parts.scheme == "http":
            target = parts.origin + target
            own.update(_basic_login("Proxy-Authorization", proxy))
        data = _encode_head(method, target, _merge_headers(own, headers)) + (body or b"")

        # Idle connections. A forked child has its own.
        pool = self._local.__dict__.setdefault("pool", {})
        key = (os.getpid(), parts.origin, proxy and (proxy.userinfo, proxy.origin))
        connection = pool.pop(key, None)
        head = None
        if connection and connection.is_idle():
            connection.set_limits(timeout, deadline)
            with contextlib.suppress(ConnectionError):  # the server may close it just now
                head = connection.request(data)
        if head is None:
            connection = self._connect(parts, proxy, timeout, deadline)
            head = connection.request(data)
        status, reply_headers = head
        if proxy and status == 407:
            connection.close()
            reason = f"the proxy {proxy.host}:{proxy.port} wants a login, or another one"
            raise _RequestFailed(reason, retryable=False, status=status)
        body_chunks = _IncomingBody(connection, status, reply_headers, pool, key)
        return status, reply_headers, body_chunks

    def _connect(
        self, url: _Url, proxy: Optional[_Url], timeout: float, deadline: float
    ) -> _Connection:
        connection = _Connection(timeout, deadline)
        peer = proxy or url
        name = f"{peer.host}:{peer.port}"
        if proxy:
            name = f"the proxy {name}"
        status = 200  # where no tunnel is needed
        try:
            connection.connect(peer.host, peer.port)
            if proxy and url.scheme == "https":
                status = connection.request(_encode_tunnel(url, proxy))[0]
        except OSError as error:
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, _RequestFailed):
                reason = error.words
            raise _RequestFailed(f"could not connect to {name}: {reason}") from error
        if not 200 <= status < 300:
            connection.close()
            reason = f"{name} answers HTTP {status} instead of opening a tunnel"
            may_pass = _decide_kind(status, "", []) in ("server", "rate_limit")
            raise _RequestFailed(reason, retryable=may_pass)
        if url.scheme == "https":
            connection.start_tls(url.host, self.ssl_context)
        return connection


def _encode_tunnel(url: _Url, proxy: _Url) -> bytes:
    """The request to a proxy for a tunnel to a server: CONNECT [::1]:443."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    target = f"{host}:{url.port}"
    headers = {"Host": target, **_basic_login("Proxy-Authorization", proxy)}
    return _encode_head("CONNECT", target, headers)


def _merge_headers(own: Dict[str, str], given: Dict[str, str]) -> Dict[str, str]:
    """({"Host": "h", "A": "b"}, {"host": "other"}) -> {"A": "b", "host": "other"}"""
    names = {name.lower() for name in given}
    return {**{k: v for k, v in own.items() if k.lower() not in names}, **given}


def _check_headers(headers: Dict[str, str]) -> None:
    """Raises ValueError, which shows no value, for what cannot be sent."""
    for name, value in headers.items():
        if not re.match(r"[\w!#$%&'*+.^`|~-]+\Z", name, re.A):
            raise ValueError("headers: a name holds a character that no name can have")
        if not re.match(r"[\t\x20-\x7e\xa0-\xff]*\Z", value):
            reason = "a character that no header can carry, in headers or api_key"
            raise ValueError(f"{name}: {reason}")


def _encode_head(method: str, target: str, headers: Dict[str, str]) -> bytes:
    """("GET", "/", {"Host": "h"}) -> the lines "GET / HTTP/1.1", "Host: h" and ""."""
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    start = f"{method} {target} HTTP/1.1\r\n".encode("ascii")
    return start + "".join(lines).encode("latin-1") + b"\r\n"


http_transport = _HttpTransport()


# -- what a refusal means --------------------------------------------------------------------------
#
# Three questions, one after the other: what does the server say, of which kind is it, and
# does waiting help, how long? A new server's words are a row in a table.

_lenient_decoder = json.JSONDecoder(parse_constant=lambda constant: None)  # NaN: null


# what the server says


def _parse_body(body: Any) -> Any:
    """A body, or an error object in it, as JSON; a text that is none stays: "no" -> "no"."""
    try:
        return _parse_json(body, _lenient_decoder) if isinstance(body, str) else body
    except ValueError:
        return body


def _find_error(body: Any) -> _JsonObject:
    """The error object in a body.

    '[{"error": {"code": 1}}]' -> {"code": 1}; "no" -> {"message": "no"};
    '{"error": "Bad", "message": "no"}' -> {"message": "Bad: no", ...}
    """
    body = _parse_body(body)
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return {"message": body}
    error = body.get("error") or body
    if not isinstance(error, dict):  # a text, or true, beside others
        said = [body.get(name) for name in ("error", "message", "detail")]
        texts = [_to_text(words) for words in said if words and words is not True]
        return {**body, "error": None, "message": ": ".join(dict.fromkeys(texts))}
    return error


def _find_wrapped_error(error: _JsonObject) -> _JsonObject:
    """What a router or a proxy passes on of the server behind it; {} where there is none.

    {"metadata": {"raw": '{"error": {"code": 1}}'}} -> {"code": 1} (OpenRouter);
    {"message": 'BadRequest - {"error": {"code": 1}}'} -> {"code": 1} (LiteLLM)
    """
    raw = _dict(error.get("metadata")).get("raw")
    if raw:
        return _find_error(raw)
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


def _read_error(body: Any) -> Tuple[_JsonObject, str]:
    """The error object of a body, and its words. Where it wraps another, that counts too.

    '{"error": {"message": "Slow", "code": 1}}' -> {"message": "Slow", "code": 1}, "Slow"
    """
    error = _find_error(body)
    words = _words_of(error) or _plain_text(_to_text(body)) or "(no words)"
    inner = _find_wrapped_error(error)
    if inner and _words_of(inner) not in words:
        words = f"{words}: {_words_of(inner)}"
    return {**error, **inner}, words


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
    | api[ _-]?key\b.{0,30}\b
      (not\ (valid|found)|invalid|incorrect|expired|missing|required)
"""
# Limits that waiting does not lift.
_QUOTA_EXHAUSTED = r"""(?xi)
    insufficient_(quota|balance|credits?)
    | exceeded_current_quota
    | billing_
    | request\ too\ large
"""

# The first row that applies decides. Status and words are patterns. An error inside a 200
# has the status "None"; the words are those for a person, the code and the type, each on
# a line.
_KIND_RULES = (
    # kind, status, words
    ("bad_request", ".*", r"(?m)^content_filter$"),  # Azure; asked again, refused again
    ("auth", "401|403", ""),  # also "your token limit is reached"
    ("connection", "407", ""),  # a proxy wants a login
    ("bad_response", "3..", ""),  # a redirect: the key is for one server alone
    ("context_length", "413", ""),  # the whole request is too large
    ("context_length", ".*", _SURE_OVERFLOW),  # "maximum context length is 8192 tokens"
    # "prompt is too long"; 402: no credit, 429: a rate
    ("context_length", "(?!402|429).*", _OVERFLOW),
    ("rate_limit", "429|None", _QUOTA_EXHAUSTED),  # "insufficient_quota"
    ("rate_limit", "429", ""),  # "Slow down"
    ("auth", "400", _WRONG_KEY),  # "Incorrect API key provided": xAI, Gemini
    ("bad_request", ".*", "--jinja"),  # llama.cpp names a switch of its own, under 500
    ("server", "408|409|425|[5-9]..", ""),  # it may pass
    ("bad_request", r"\d+", ""),  # 400, 404, 422, ...: the request has to change
)
# An error inside a 200 that no row knows: its code decides, then its type.
_KINDS_OF_LABELS = (
    ("rate_limit", "rate_limit|too_many|quota"),
    ("auth", "auth|permission|api_key"),
    ("server", "overload|server_error|unavailable|api_error|timeout"),
    ("bad_request", "invalid|not_found|unsupported|bad_request"),
    ("bad_request", "policy|content_filter|tool_use_failed"),
)


def _decide_kind(status: Optional[int], words: str, labels: List[str]) -> str:
    """(429, "Slow down\\nbusy\\n", ["busy", ""]) -> "rate_limit": the first that applies."""
    for kind, statuses, pattern in _KIND_RULES:
        if re.fullmatch(statuses, f"{status}") and re.search(pattern, words):
            return kind
    for label in labels:
        for kind, pattern in _KINDS_OF_LABELS:
            if re.search(pattern, label):
                return kind
    return "server"  # what is unknown is asked again


# how long to wait

_LONGEST_WAIT = 60.0  # seconds
_WAIT_IN_WORDS = r"""(?xi)
    \b (?: again | retry ) [ ] (?: in | after ) [ ]
    ( (?: [0-9]+ (?:\.[0-9]+)? [ ]? [a-z]+ [ ]? )+ )   # "1m2.5s", "20 seconds"
"""
_SECONDS_OF_UNITS = (
    ("ms|milliseconds?", 0.001),
    ("s|secs?|seconds?", 1.0),
    ("m|mins?|minutes?", 60.0),
    ("h|hours?", 3600.0),
)


def _find_wait(headers: Dict[str, str], error: _JsonObject, words: str) -> Optional[float]:
    """The seconds to wait that a server names, at most a minute; None for none."""
    texts = []
    for name, unit in (("retry-after-ms", "ms"), ("retry-after", "s")):
        value = headers.get(name, "").strip()
        is_number = re.match(r"[0-9]+(\.[0-9]+)?\Z", value)
        texts.append(value + unit if is_number else value)
    for detail in _dicts(error.get("details")):  # Gemini
        texts.append(_to_text(detail.get("retryDelay")))
    texts += re.findall(_WAIT_IN_WORDS, words)[:1]
    for text in texts:
        wait = _read_wait(text)
        if wait is not None and wait >= 0:
            return min(wait, _LONGEST_WAIT)
    return None


def _read_wait(text: str) -> Optional[float]:
    """ "38s" -> 38.0; "1m2.5s" -> 62.5; "20 seconds" -> 20.0; "soon" -> None.

    Of a date of HTTP, such as "Fri, 31 Dec 2027 23:59:59 GMT", the seconds until then.
    """
    from email.utils import parsedate_to_datetime

    parts = []
    # subtle: from the first digit on only, else digits without a unit take quadratic time
    for number, word in re.findall(r"(?<![0-9])([0-9]+(?:\.[0-9]+)?) ?([a-z]+)", text.lower()):
        parts += [float(number) * s for unit, s in _SECONDS_OF_UNITS if re.fullmatch(unit, word)]
    if parts:
        return sum(parts)
    try:
        return parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _classify_error(status: Optional[int], headers: Dict[str, str], body: Any) -> _RequestFailed:
    """What a refusal means.

    `status`: None for an error inside a reply with 200. `body`: a text, or JSON.

    (429, {"retry-after": "7"}, '{"error": {"message": "Slow down"}}')
    -> kind "rate_limit", retryable, retry_after 7.0
    """
    error, words = _read_error(body)
    labels = [_to_text(error.get(name) or "").lower() for name in ("code", "type")]
    if status is None and re.match(r"[45]\d\d\Z", labels[0]):
        status = int(labels[0])
    all_words = "\n".join([words, *labels])
    kind = _decide_kind(status, all_words, labels)
    location = headers.get("location", "")
    if kind == "bad_response" and location:
        reason = f"a redirect to {location}, which is not followed; set base_url to it"
        return _RequestFailed(reason, kind, False, None, status, error)
    retryable = kind == "server"
    if kind == "rate_limit":
        retryable = not re.search(_QUOTA_EXHAUSTED, all_words)
    wait = _find_wait(headers, error, words) if retryable else None
    return _RequestFailed("", kind, retryable, wait, status, error, body)


def _check_no_error(document: Any) -> None:
    """Raises _RequestFailed for a document, an event or a choice that holds an error."""
    if not isinstance(document, dict):
        return
    is_error = document.get("type") == "error" or document.get("object") == "error"
    if is_error or document.get("error"):
        raise _classify_error(None, {}, document)


# -- streams ---------------------------------------------------------------------------------------


class _HttpReply:
    """The headers of a reply, and its body: unpacked chunks, of at most 64 MiB in all.

    Reading it raises _RequestFailed where the network fails, or the body is damaged or
    larger.

    Attributes:
        headers: by name, in lower-case.
        chunks: what is still to be read of the body.
        timeout: the longest silence, in seconds.
        failure: what ended a stream of events early. It may be complete all the same.
    """

    def __init__(self, headers: Dict[str, str], chunks: Iterator[bytes], timeout: float) -> None:
        self.headers = {name.lower(): value for name, value in headers.items()}
        encoding = self.headers.get("content-encoding", "")
        self.chunks = _unpack(chunks, encoding.strip())
        self.timeout = timeout
        self.failure: Optional[_RequestFailed] = None

    def skip_blanks(self) -> bytes:
        """The first bytes that are not blank, at least six if available: b'{"id":'.

        They are still to be read. What is skipped, blanks and a byte order mark, is
        silence.
        """
        first = b""
        began = time.monotonic()
        for chunk in self.chunks:
            first = (first + chunk).lstrip()
            if first.startswith(b"\xef\xbb\xbf"):  # byte order mark
                first = first[3:].lstrip()
            if len(first) >= 6:
                break
            if not first and time.monotonic() - began > self.timeout:  # some send them for ever
                reason = f"silence for {self.timeout:g} s: only blank lines came"
                raise _RequestFailed(reason, "timeout")
        self.chunks = itertools.chain([first], self.chunks)
        return first

    def read(self) -> str:
        """All of it, as text."""
        whole = bytearray()  # many small chunks in a list would cost ten times as much
        for chunk in self.chunks:
            whole += chunk
        return whole.decode("utf-8", "replace")

    def read_until_failure(self) -> Iterator[bytes]:
        """The chunks. What fails on the way ends them, and is noted as `failure`."""
        try:
            yield from self.chunks
        except _RequestFailed as failure:
            self.failure = failure


def _unpack(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The chunks of a body as it was before it was packed, of at most 64 MiB in all."""
    chunks = _limit_size(chunks)
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= 6:
            break
    chunks = itertools.chain([first], chunks)
    window = _find_zlib_window(first, encoding)
    if window is not None:  # limited before and after: packed data may unpack to nothing for ever
        chunks = _limit_size(_inflate(chunks, window))
    yield from chunks


def _limit_size(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks, up to 64 MiB; _RequestFailed where more come."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _MAX_REPLY:
            reason = "the reply is longer than 64 MiB"
            raise _RequestFailed(reason, "bad_response", retryable=False)
        yield chunk


_BEGINS_PLAIN = rb'\s*(?:[{\[]\s*["{]|(?:data|event|id|retry):|: )'  # JSON, or events


def _find_zlib_window(first: bytes, encoding: str) -> Optional[int]:
    r"""The `wbits` with which zlib unpacks a body; None where it is not packed.

    Nobody asked for a packed one. gzip is known by its first bytes, and so is what is not
    packed: some gateways unpack a body and leave the header. Deflate is known by the header.

    (b"\x1f\x8b...", "") -> 31; (b"x\x9c...", "deflate") -> 15; (b'{"id"', "br") -> None
    """
    if first[:2] == b"\x1f\x8b":
        return 31
    if not first or re.match(_BEGINS_PLAIN, first):
        return None
    if encoding.lower() == "deflate":
        # With the two bytes of zlib in front, or, as some servers send it, without.
        has_header = first[0] & 15 == 8 and int.from_bytes(first[:2], "big") % 31 == 0
        return 15 if has_header else -15
    if encoding.lower() not in ("", "identity", "gzip", "x-gzip", "deflate", "utf-8"):
        reason = f"the body is packed as {encoding}, which cannot be read here"
        raise _RequestFailed(reason, "bad_response", retryable=False)
    return None


def _in_pieces(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """([b"abc", b"d"], 2) -> b"ab", b"c", b"d" """
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            yield chunk[start : start + size]


def _inflate(chunks: Iterable[bytes], window: int) -> Iterator[bytes]:
    """Unpack in pieces of at most 1 MiB: a few bytes may stand for gigabytes."""
    try:
        import zlib
    except ImportError as error:
        reason = f"the body is packed, which needs zlib: {error}"
        raise _RequestFailed(reason, "bad_response", retryable=False) from None
    unpacker = zlib.decompressobj(window)
    try:
        for chunk in _in_pieces(chunks, 1 << 14):  # each member copies what follows in it
            while chunk:
                if unpacker.eof:  # gzip may go on with another member; all else is padding
                    if window != 31 or chunk[:1] != b"\x1f":
                        break
                    unpacker = zlib.decompressobj(window)
                yield unpacker.decompress(chunk, 1 << 20)
                chunk = unpacker.unconsumed_tail or unpacker.unused_data
    except zlib.error as error:
        raise _RequestFailed(f"a damaged body: {error}", "bad_response") from None


def _read_document(
    reply: _HttpReply, assemble: Callable[[Iterator[Optional[_JsonObject]]], Optional[_JsonObject]]
) -> _JsonObject:
    """The document that a reply is; a stream of events is put together by `assemble`.

    A server may answer with either, so the first bytes decide, then the content type.
    `assemble` returns None where the stream is not complete. Raises _RequestFailed.
    """
    first = reply.skip_blanks()
    content_type = reply.headers.get("content-type", "")
    is_json = first[:1] in (b"{", b"[")
    begins_like_events = re.match(rb"(data|event|id|retry|error)?:", first)
    if not is_json and (begins_like_events or "event-stream" in content_type.lower()):
        document = assemble(_read_events(reply))
        if document is None:
            reason = "the stream ended before the reply was complete"
            raise reply.failure or _RequestFailed(reason, "connection")
        return document
    text = reply.read().strip()
    if not is_json:
        reason = f"no reply of this protocol (content type {content_type})"
        body = text or "the body is empty"
        raise _RequestFailed(reason, "bad_response", retryable=not text, body=body)
    if text.endswith("[DONE]"):  # a document in place of the events of a stream
        text = text.rpartition("data:")[0]
    document = _parse_reply(text)
    if isinstance(document, list) and document:
        document = document[0]
    _check_no_error(document)
    return _dict(document)


def _parse_reply(text: str) -> Any:
    try:
        return _parse_json(text, _lenient_decoder)
    except ValueError:
        raise _RequestFailed(f"what came is not JSON: {text}", "bad_response") from None


def _read_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Lines without their ends, CRLF, LF or CR: [b"a\r", b"\nb\rc"] -> a, b, c."""
    begun = bytearray()  # a line whose end is still to come
    after_cr = False
    for chunk in chunks:
        if not chunk:
            continue
        if after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        after_cr = chunk[-1:] == b"\r"
        lines = chunk.splitlines()
        unfinished = b""
        if lines and chunk[-1:] not in (b"\r", b"\n"):
            unfinished = lines.pop()
        if lines and begun:
            lines[0] = bytes(begun) + lines[0]
            begun.clear()
        yield from lines
        begun += unfinished
    if begun:
        yield bytes(begun)


def _read_events(reply: _HttpReply) -> Iterator[Optional[_JsonObject]]:
    """The data of server-sent events, as JSON objects; None for [DONE].

    Raises _RequestFailed for an event with an error, and for a line `error: {...}`.
    Where the network fails, or nothing but comments and blank lines comes for too long,
    the events end: that counts only where the reply is not complete.
    """
    name = b""
    data = bytearray()  # the data lines of an event: as a list they would take ten times as much
    line_count = 0  # of them
    heard = time.monotonic()
    for line in _read_lines(reply.read_until_failure()):
        if line[:5] == b"data:":
            if line_count == 1 and _is_json(data):  # some omit the blank line between events
                yield from _parse_event(b"", data)  # a name that came since is the next one's
                data.clear()
                line_count = 0
                heard = time.monotonic()
            data += line[5:] + b"\n"
            line_count += 1
        elif not line and (name or data):
            yield from _parse_event(name, data)
            name = b""
            data.clear()
            line_count = 0
            heard = time.monotonic()
        elif line[:6] == b"event:":
            name = line[6:].strip()
        elif line[:6] == b"error:":  # llama.cpp
            text = line[6:].decode("utf-8", "replace")
            raise _classify_error(None, {}, text.strip())
        elif time.monotonic() - heard > reply.timeout:  # some servers send comments for ever
            reason = f"silence for {reply.timeout:g} s: only comments came"
            reply.failure = _RequestFailed(reason, "timeout")
            return
    if _is_json(data):  # the last event may lack its blank line; or be cut
        yield from _parse_event(name, data)


def _parse_event(name: bytes, data: bytearray) -> List[Optional[_JsonObject]]:
    """(b"", b' {"n": 1}') -> [{"n": 1}]; [None] for [DONE]; [] where it is blank."""
    text = data.decode("utf-8", "replace").strip()
    if text == "[DONE]":
        return [None]
    if not text:
        return []
    if name == b"error":
        raise _classify_error(None, {}, text)
    event = _parse_reply(text)
    _check_no_error(event)
    return [event] if isinstance(event, dict) else []


def _is_json(data: bytearray) -> bool:
    try:
        _parse_json(data.decode("utf-8", "replace"), _lenient_decoder)
    except ValueError:
        return data.strip() == b"[DONE]"
    return True


# -- asking ----------------------------------------------------------------------------------------

_ADVICE = {
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
_MAX_SEARCHED = 1 << 20  # characters of a text with secrets; no more than that is ever shown
# Values of headers and of a query that tell nothing, and stand in many messages.
_FLAGS = frozenset(("true", "false", "yes", "no", "on", "off", "0", "1"))
# Headers whose values are no secret: what may be wrong with them, messages say.
_PUBLIC_HEADERS = r"(?i)accept(-\w+)?|content-type|user-agent|anthropic-(beta|version)|openai-beta"
_LOGIN_HEADERS = frozenset(("authorization", "api-key", "x-api-key"))
_T = typing.TypeVar("_T")


def _log(text: str) -> None:
    import logging

    logger = logging.getLogger("agentloop")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # subtle: without one, logging prints
    logger.warning(text)


class _Client:
    """Asks one server: its address, login, retries and limits. The adapters are clients.

    What leaves it is free of secrets: the key, values of headers, login and query of the
    URL, login of the proxy. They are removed in one place, `_without_secrets`. Exceptions
    of a caller's transport that are none of the network pass where they hold no secret.
    """

    _path = _host = ""  # of a protocol: where to post to, and at which server by default
    _variable = ""  # OPENAI: OPENAI_API_KEY and OPENAI_BASE_URL

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
        for name, value in self.headers.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise TypeError(f"headers: the value of {_short_repr(name)} is to be a str")
        self.timeout = timeout
        self.deadline = deadline
        self.retries = retries
        self.transport = transport
        if transport is http_transport:
            # The default means one of the client's own, with its ssl_context.
            self.transport = _HttpTransport(ssl_context)
        elif ssl_context is not None:
            raise ValueError(
                "ssl_context is for the default transport: give another transport its own"
            )

    # copies

    def __copy__(self) -> "_Client":
        """subtle: without it, copy() would take what a pickle takes, and lose the key."""
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> "_Client":
        """A client with settings of its own; functions and the transport are shared."""
        made = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            if type(value) in (dict, list, set):
                value = copy.deepcopy(value, memo)
            made.__dict__[name] = value
        return made

    def __getstate__(self) -> _JsonObject:
        """For a pickle: in place of each secret it says that one was there."""
        url = _Url(self.url).public
        if url != self.url:  # it has a login or a query
            url += "?" + _NOT_PICKLED
        return {
            **self.__dict__,
            # None, the environment's, and "" stay.
            "api_key": self.api_key and _NOT_PICKLED,
            "headers": dict.fromkeys(self.headers, _NOT_PICKLED),
            "url": url,
        }

    def _check_secrets_are_set(self) -> None:
        """Raises ValueError where a pickle left out what was given."""
        settings = {
            "api_key": self.api_key,
            "headers": self.headers,
            "url": self.url,
            "transport.ssl_context": getattr(self.transport, "ssl_context", None),
        }
        missing = [name for name in settings if _NOT_PICKLED in f"{settings[name]}"]
        if missing:
            fix = f"set its {', '.join(missing)} again"
            raise ValueError(f"a pickle of a model holds no secret: {fix}")

    # what is sent

    def _read_key(self) -> str:
        key = self.api_key
        if key is None:
            key = os.environ.get(f"{self._variable}_API_KEY", "")
        elif callable(key):
            key = key()
        if not isinstance(key, str):
            # None too: the environment's key may belong to another server.
            kind = type(key).__name__
            raise TypeError(f"api_key is a str, or a function that returns one; got {kind}")
        return key.strip()

    def _login(self, key: str) -> Dict[str, str]:
        """The headers that log in with a key, which may be ""."""
        raise NotImplementedError

    def _deadline_from_now(self) -> float:
        """The deadline of a request that begins now: an instant of time.monotonic()."""
        return math.inf if self.deadline is None else time.monotonic() + self.deadline

    # asking

    def _request_with_retries(
        self, data: bytes, read: Callable[[_HttpReply], _T], deadline: float
    ) -> _T:
        """Ask until there is an answer. `read` reads a reply; what else it raises passes.

        Raises _RequestFailed, free of secrets, after the last try; ValueError for a
        setting that cannot be sent.
        """
        self._check_secrets_are_set()
        tries = 0
        while True:
            tries += 1
            key = self._read_key()
            try:
                return self._request(data, key, read, deadline)
            except _RequestFailed as error:
                failure = self._without_secrets(error, key)
            failure.tries = tries
            if not failure.retryable or tries > self.retries:
                raise failure
            wait = failure.retry_after
            if wait is None:
                wait = _backoff(tries)
            if time.monotonic() + wait >= deadline:
                limit = f"the deadline of {self.deadline:g} s"
                failure.words += f" ({limit} leaves no time to ask again)"
                raise failure
            words = _one_line(failure.words, 300)
            if failure.status:
                words = f"HTTP {failure.status}: {words}"
            number = f"try {tries + 1} of {self.retries + 1}"
            _log(f"{words}; waiting {wait:.1f} s before {number}")
            time.sleep(wait)

    def _request(
        self, data: bytes, key: str, read: Callable[[_HttpReply], _T], deadline: float
    ) -> _T:
        """One request on the wire; its reply as `read` reads it. Raises _RequestFailed."""
        own = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"agentloop/{__version__}",
            **_basic_login("Authorization", _Url(self.url)),
            **self._login(key),
        }
        headers = _merge_headers(own, self.headers)
        timeout = max(0.0, min(self.timeout, deadline - time.monotonic()))
        request: List[Any] = ["POST", self.url, headers, data, timeout]
        if isinstance(self.transport, _HttpTransport):
            request.append(deadline)  # one of the caller's knows none
        try:
            _check_headers(headers)
            status, response_headers, chunks = self.transport(*request)
        except Exception as error:
            raise self._translate_error(error, key, deadline)
        received = self._limit_chunks(chunks, key, deadline)
        reply = _HttpReply(response_headers, received, self.timeout)
        try:
            if not 200 <= status < 300:
                raise _classify_error(status, reply.headers, _read_refusal(reply))
            result = read(reply)
            # What is still due of a complete reply, so that the connection can be kept.
            _call_if_any(chunks, "drain")
            return result
        finally:
            _call_if_any(chunks, "close")

    def _limit_chunks(self, chunks: Iterable[bytes], key: str, deadline: float) -> Iterator[bytes]:
        """The chunks as they come from the transport; the deadline holds for any transport."""
        iterator = iter(chunks)
        while True:
            try:
                if time.monotonic() > deadline:
                    raise TimeoutError
                chunk = next(iterator)
            except StopIteration:
                return
            except Exception as error:
                raise self._translate_error(error, key, deadline)
            yield chunk

    def _translate_error(self, error: Exception, key: str, deadline: float) -> Exception:
        """The _RequestFailed that an exception of the transport stands for.

        A developer's mistake stays what it is, unless a traceback would show a secret.
        """
        import http.client  # transports of the caller's may raise its exceptions

        name = type(error).__name__
        if not isinstance(error, (OSError, http.client.HTTPException, UnicodeError)):
            shown = _text_with_causes(error)
            if _hide_secrets(shown, self._find_secrets(key)) == shown:
                return error
            reason = f"the transport raised {name}: {error}"
            return _RequestFailed(reason, "connection", retryable=False)
        host = _Url(self.url).authority
        kind = "connection"
        retryable = True
        if time.monotonic() >= deadline:
            reason = f"no complete reply within the deadline of {self.deadline:g} s"
            kind = "timeout"
            retryable = False
        elif isinstance(error, _RequestFailed):  # in the transport's own words
            return error
        elif _is_timeout(error):
            reason = f"silence for {self.timeout:g} s"
            kind = "timeout"
        elif name == "SSLCertVerificationError":  # by name: a Python may have no ssl
            reason = f"the certificate of {host} is not trusted: {error}"
            retryable = False
        else:
            reason = f"no connection to {host}, or it broke: {name}: {error}"
            retryable = not isinstance(error, UnicodeError)
        return _RequestFailed(reason, kind, retryable)

    # secrets

    def _without_secrets(self, failure: _RequestFailed, key: str) -> _RequestFailed:
        """The failure anew: no secret in it, and nothing behind it (`__context__`)."""
        secrets = self._find_secrets(key)
        words = failure.words
        error = failure.error
        if failure.body is not None:
            # subtle: from the body as it came, since half a secret would not be found in
            # words that were cut, or whose tags and white space were removed
            body = _hide_secrets(_parse_body(failure.body), secrets)
            error, said = _read_error(body)
            words = f"{words}: {said}" if words else said
        made = _RequestFailed(
            _hide_secrets(words, secrets),
            failure.kind,
            failure.retryable,
            failure.retry_after,
            failure.status,
            _hide_secrets(error, secrets),
        )
        names = {name.lower() for name in self.headers}
        made.was_key_sent = bool(key or _Url(self.url).userinfo or names & _LOGIN_HEADERS)
        return made

    def _find_secrets(self, key: str) -> List[str]:
        """All that may be secret in what was sent, and in each part of it."""
        from urllib.parse import unquote, unquote_plus
        from urllib.request import getproxies

        url = _Url(self.url)
        values = [pair.partition("=")[2] or pair for pair in re.split("[&;]", url.query[1:])]
        for name, value in self.headers.items():
            if not re.fullmatch(_PUBLIC_HEADERS, name):
                values += [value.strip(), *_parts_of_header(value)]
        values += _parts_of_header(key)
        secrets = [key] + [value for value in values if value.lower() not in _FLAGS]
        proxies = [_split_proxy(text)[1] for text in getproxies().values()]
        for userinfo in [url.userinfo, *proxies]:
            secrets += [userinfo, *userinfo.split(":", 1), _encode_userinfo(userinfo)]
        secrets += [unquote(secret) for secret in secrets]
        secrets += [unquote_plus(secret) for secret in secrets]
        return sorted({s for s in secrets if s.strip()}, key=len, reverse=True)

    def _model_error(self, failure: _RequestFailed) -> ModelError:
        """What the caller gets: the server's words, the URL, and where to look."""
        advice = _ADVICE[failure.kind]
        if failure.kind == "auth":
            sent = "a key was sent" if failure.was_key_sent else "no key was sent"
            advice += f", {self._variable}_API_KEY ({sent})"
        if "reasoning_effort" in failure.words:  # OpenAI's newest models
            advice = "OpenAIResponses in place of OpenAIChat, or reasoning_effort='none'"
        words = _one_line(failure.words, 700).rstrip(".")
        text = f"{_Url(self.url).public}: {words}"
        if failure.status:
            text = f"HTTP {failure.status} from {text}"
        if failure.tries > 1:
            text += f"; asked {failure.tries} times"
        return ModelError(f"{text}. Look at: {advice}", failure.kind, failure.status)


def _read_refusal(reply: _HttpReply) -> str:
    """The words of a refusal, or why they cannot be read: its status counts anyway."""
    try:
        return reply.read()
    except _RequestFailed as failure:
        if failure.kind != "bad_response":
            raise
        return failure.words


def _call_if_any(chunks: Any, method: str) -> None:
    """chunks.close() or chunks.drain(); a list has none. What was read, or failed, stays so."""
    with contextlib.suppress(Exception):
        if hasattr(chunks, method):
            getattr(chunks, method)()


def _text_with_causes(error: BaseException) -> str:
    """What a traceback shows of an exception and those behind it, but the source."""
    import traceback

    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=0)
    return f"{error!r} " + "".join(lines)


def _parts_of_header(value: str) -> List[str]:
    """What may be secret in it: "Bearer X" -> X; 'a=X; b="Y"' -> X, Y; "Basic dTpw" -> u, p."""
    parts = value.strip().split(None, 1)[1:]
    parts += re.findall(r'=\s*"?([^\s;,"=]{8,})', value)  # shorter ones are theme=dark, n=3000
    login = re.match(r"(?i)\s*basic\s+([\w+/]+)", value)
    if login:
        parts += _decode_userinfo(login[1]).split(":", 1)
    return parts


def _any_spelling(text: str) -> str:
    r"""A pattern for a text as it is, and as URLs, JSON, HTML and repr() write it.

    "a/b" matches a/b, a%2Fb, a%252fb, a\/b, a\u002Fb and a&#x2F;b.
    """
    return re.sub(r"\\+|[^A-Za-z0-9]", _spellings_of, text)


def _spellings_of(match: "re.Match[str]") -> str:
    if match[0][0] == "\\":
        return r"(?:\\|%(?:25){0,3}5[Cc])+"  # any number: each spelling doubles them
    code = ord(match[0])
    data = match[0].encode("utf-8", "surrogatepass")
    spellings = [
        r"\\{0,4}" + re.escape(match[0]),
        rf"\\{{1,4}}(?:u{code:04x}|x{code:02x})",
        "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in data),
        rf"&(?:[a-z]{{2,8}}|#{code}|#x{code:x});",
    ]
    # subtle: no two that match the same; the work would double with each character
    if code > 127:
        spellings.append(re.escape(data.decode("latin-1")))  # a header of UTF-8 is read so
    return f"(?i:{'|'.join(spellings)})"


def _hide_secrets(value: Any, secrets: List[str]) -> Any:
    """A text, or JSON, with "[hidden]" in place of secrets, however they are spelled.

    One of up to three characters, or a plain word of up to seven letters ("ollama"), is
    hidden only where it is a word of its own: ("a bad badge", ["bad"]) -> "a [hidden] badge".
    """
    patterns = []
    text = _to_text(value)
    for secret in secrets:  # the longest first
        # Letters and digits are spelled as they are. To compile a long pattern takes seconds.
        if not all(word in text for word in re.findall("[A-Za-z0-9]+", secret)):
            continue
        pattern = _any_spelling(secret) if len(secret) <= 2000 else re.escape(secret)
        if re.fullmatch(r"(?s).{1,3}|[A-Za-z]{4,7}", secret):
            pattern = rf"(?<!\w){pattern}(?!\w)"
        patterns.append(pattern)
    any_secret = re.compile("|".join(patterns) or r"(?!)")

    def hide(value: Any) -> Any:
        if isinstance(value, str):
            return any_secret.sub("[hidden]", value[:_MAX_SEARCHED])
        if isinstance(value, list):
            return [hide(item) for item in value]
        if isinstance(value, dict):
            return {hide(key): hide(item) for key, item in value.items()}
        return value

    return hide(value)


def _backoff(tries: int) -> float:
    """Seconds to wait where the server names none: about 0.5, 1, 2, 4, 8, 8, ..."""
    import random

    return 0.5 * 2.0 ** min(tries - 1, 4) * random.uniform(0.75, 1.25)


# -- how a reply ended -----------------------------------------------------------------------------

# How a reply ended, by its finish reason in lower-case letters, on every protocol.
_REASONS = {
    "whole": (
        "", "stop", "end_turn", "stop_sequence", "eos", "eos_token", "completed", "tool_calls",
        "tool_use", "function_call",
    ),
    "cut": (
        "length", "max_tokens", "max_output_tokens", "model_length",
        "model_context_window_exceeded", "incomplete",
    ),
    "aborted": (
        "error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled",
        "canceled", "timeout",
    ),
    "refused": (
        "content_filter", "refusal", "safety", "sensitive", "recitation", "prohibited_content",
        "blocklist", "spii", "image_safety",  # Gemini
        "content_filtered", "guardrail_intervened",  # Bedrock
    ),
    "paused": ("pause_turn",),
}  # fmt: skip


def _end_of(reason: str) -> str:
    """How a reply with this finish reason ended: "length" -> "cut", "STOP" -> "whole"."""
    for end, reasons in _REASONS.items():
        if reason.lower() in reasons:
            return end
    return "unknown"  # taken for a clean end


def _pick_reason(reasons: Iterable[Any]) -> str:
    """The first finish reason that is no clean end, else the first; "" for none.

    ("stop", None, "length") -> "length": some servers end a stream twice.
    """
    known = [reason for reason in reasons if isinstance(reason, str) and reason]
    doubtful = [reason for reason in known if _end_of(reason) not in ("whole", "unknown")]
    return (doubtful or known or [""])[0]


def _reasons_in(choice: _JsonObject) -> List[Any]:
    """Its finish reasons, one or both None.

    OpenRouter says "stop" where the server behind it says that the reply was cut.
    """
    return [choice.get("finish_reason"), choice.get("native_finish_reason")]


# -- what the deltas of a stream add up to ---------------------------------------------------------
#
# `_merge_values` has the rules. The assemblers collect the values that belong together, and
# merge them once, at the end: each character is copied once, whatever the number of pieces.

# Texts that are written piece by piece. Elsewhere, equal pieces are one repeated value.
_WRITTEN_TEXTS = (
    "content", "refusal", "reasoning", "reasoning_content", "thinking", "text", "summary", "data",
    "transcript", "arguments", "partial_json",
)  # fmt: skip
_SET_ONCE = ("role", "type", "id", "index")  # the first value stays


def _collect(values: Dict[str, List[Any]], delta: _JsonObject) -> None:
    for key, value in delta.items():
        values.setdefault(key, []).append(value)


def _merge_collected(values: Dict[str, List[Any]]) -> _JsonObject:
    """{"text": ["a", "b"], "index": [0, 0]} -> {"text": "ab", "index": 0}"""
    return {key: _merge_values(key, found) for key, found in values.items()}


def _merge_objects(objects: Iterable[_JsonObject]) -> _JsonObject:
    """{"text": "a"}, {"text": "b"} -> {"text": "ab"}"""
    values: Dict[str, List[Any]] = {}
    for one in objects:
        _collect(values, one)
    return _merge_collected(values)


def _merge_values(key: str, values: List[Any]) -> Any:
    """What the values of one key add up to. Null and empty ones say nothing new.

    Texts are joined, lists too, objects are merged; of anything else the last one counts.
    """
    pieces = [v for v in values if v or type(v) in (int, float, bool)]
    if not pieces:
        return values[0]
    if key in _SET_ONCE:
        return pieces[0]
    if key == "name":
        return _merge_name(pieces) or values[0]
    if any(type(piece) is list for piece in pieces):
        return _merge_lists(key, pieces)
    last = pieces[-1]
    alike = [piece for piece in pieces if type(piece) is type(last)]
    if type(last) is dict:
        return _merge_objects(alike)
    if type(last) is str:
        return _merge_texts(key, alike)
    return last


def _merge_texts(key: str, pieces: List[str]) -> str:
    """("content", ["a", "a"]) -> "aa"; ("channel", ["a", "a"]) -> "a": one repeated value."""
    if key not in _WRITTEN_TEXTS and pieces.count(pieces[0]) == len(pieces):
        return pieces[0]
    if key in ("arguments", "partial_json") and _are_snapshots(pieces):
        return pieces[-1]
    return "".join(pieces)


def _are_snapshots(pieces: List[str]) -> bool:
    """Whether each piece of arguments is all so far, and not what is new; the last is whole.

    ['{"n"', '{"n": 1}', '{"n": 1}'] -> True; ['{"n"', ': 1}'] -> False
    """
    pairs = zip(pieces, pieces[1:])
    if len(pieces) < 2 or not all(later.startswith(earlier) for earlier, later in pairs):
        return False
    return _is_strict_object(pieces[-1])


def _merge_lists(key: str, pieces: List[Any]) -> List[Any]:
    """[1], [2] -> [1, 2]. A text beside lists is a part of a message, as are its entries.

    "a", "b", [{"type": "x"}] -> [{"type": "text", "text": "ab"}, {"type": "x"}]
    """
    entries: List[Any] = []
    for kind, group in itertools.groupby(pieces, type):
        if kind is list:
            entries += itertools.chain.from_iterable(group)
        elif kind is str:
            entries.append({"type": "text", "text": "".join(group)})
    if key == "reasoning_details":
        return _merge_details(entries)
    if key == "thinking_blocks":
        return _merge_thinking(entries)
    return entries


def _merge_name(pieces: List[Any]) -> str:
    """A name is split or repeated: "ge", "t" -> "get"; "get", "get" -> "get"."""
    name = ""
    for piece in pieces:
        if isinstance(piece, str) and piece != name:
            name += piece
    return name


def _merge_details(entries: List[Any]) -> List[Any]:
    """`reasoning_details` (OpenRouter): neighbours of one type and index are one entry.

    Its texts are joined; of other keys the last value counts.

    [{"type": "t", "index": 0, "text": "a"}, {"type": "t", "index": 0, "text": "b"}]
    -> [{"type": "t", "index": 0, "text": "ab"}]
    """

    def identify(entry: Any) -> Any:
        if isinstance(entry, dict) and "type" in entry:
            return entry["type"], entry.get("index")
        return object()  # it stands alone

    merged: List[Any] = []
    for _, group in itertools.groupby(entries, identify):
        pieces = list(group)
        if len(pieces) == 1:
            merged += pieces
            continue
        detail: _JsonObject = {}
        for piece in pieces:
            _update(detail, piece)
        for key in ("text", "summary", "data"):
            if isinstance(detail.get(key), str):
                detail[key] = "".join(_str(piece.get(key)) for piece in pieces)
        merged.append(detail)
    return merged


def _merge_thinking(entries: List[Any]) -> List[Any]:
    """`thinking_blocks` (LiteLLM): pieces of a block, of which the last has the signature.

    It may have the whole text once more. Without its signature no block is taken back.

    [{"thinking": "a", "signature": ""}, {"thinking": "b", "signature": "s"}]
    -> [{"thinking": "ab", "signature": "s"}]
    """
    merged: List[Any] = []
    pieces: List[_JsonObject] = []  # of the block that has begun
    for entry in _dicts(entries):
        if entry.get("type") != "thinking":
            merged += [*pieces, entry]
            pieces = []
            continue
        pieces.append(entry)
        if entry.get("signature"):
            said = "".join(_str(piece.get("thinking")) for piece in pieces[:-1])
            is_whole = entry.get("thinking") == said
            merged.append(entry if is_whole else _merge_objects(pieces))
            pieces = []
    return merged + pieces


def _update(fields: _JsonObject, more: _JsonObject) -> None:
    """An empty value overwrites nothing: {"a": 1}, {"a": 0, "b": 2} -> {"a": 1, "b": 2}."""
    for key, value in more.items():
        if value or key not in fields:
            fields[key] = value


class _StreamedCall:
    """A call of a Chat Completions stream: its first id and name, and all that came for it.

    Attributes:
        arguments: the pieces of its arguments.
        last_list: the number of the last list of deltas that had one for it.
    """

    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.arguments: List[Any] = []
        self.values: Dict[str, List[Any]] = {}
        self.last_list = 0

    def is_continued_by(self, call_id: str, name: str, arguments: Any) -> bool:
        """Whether a delta with this id, name and arguments may be a piece of this call.

        A name comes in pieces before the arguments, or as it is in each delta. To whole
        arguments nothing is added.
        """
        if not name or not self.name:
            return True
        if call_id and self.call_id:
            return call_id == self.call_id
        if not self.arguments:
            return True
        return name == self.name and not (arguments and self._is_whole())

    def _is_whole(self) -> bool:
        """Of one piece: servers that omit index and id send each call at once."""
        return len(self.arguments) == 1 and _is_strict_object(_to_text(self.arguments[0]))


class _StreamedCalls:
    """The calls of a Chat Completions stream, in the order in which they were opened.

    Which one a delta belongs to, for all servers:

    1. The one that its `index` names; without an index the one with its id, else the last
       opened.
    2. It opens one where there is none to belong to, or where it brings a name, and the
       call there has a name and another id already, or the arguments of another call.
    3. Two deltas with a name in one list are never of one call.
    """

    def __init__(self) -> None:
        self.calls: List[_StreamedCall] = []
        self.by_index: Dict[Any, _StreamedCall] = {}
        self.by_id: Dict[str, _StreamedCall] = {}
        self.list_count = 0

    def add(self, deltas: List[_JsonObject], are_whole: bool = False) -> None:
        """Add each delta of a list to the call that it belongs to, which may be a new one.

        {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}} opens a call;
        {"index": 0, "function": {"arguments": "{}"}} then is a piece of it. `are_whole`:
        each is a call of its own.
        """
        self.list_count += 1
        for delta in deltas:
            index = delta.get("index")
            call_id = _str(delta.get("id"))
            function = _dict(delta.get("function"))
            name = _str(function.get("name"))
            arguments = function.get("arguments")
            call = None if are_whole else self._find(index, call_id)
            if call and name and call.last_list == self.list_count:
                call = None
            if call is None or not call.is_continued_by(call_id, name, arguments):
                call = self._open(index)
            call.call_id = call.call_id or call_id
            call.name = call.name or name
            call.last_list = self.list_count
            if arguments:
                call.arguments.append(arguments)
            if call_id:
                self.by_id[call_id] = call
            _collect(call.values, {key: value for key, value in delta.items() if key != "index"})

    def _open(self, index: Any) -> _StreamedCall:
        call = _StreamedCall()
        self.calls.append(call)
        if isinstance(index, (int, str)):
            self.by_index[index] = call
        return call

    def _find(self, index: Any, call_id: str) -> Optional[_StreamedCall]:
        """The call that a delta belongs to, see rule 1."""
        if isinstance(index, (int, str)):
            return self.by_index.get(index)
        if call_id in self.by_id:
            return self.by_id[call_id]
        return self.calls[-1] if self.calls else None


class _StreamedChoice:
    """One choice of a Chat Completions stream."""

    def __init__(self) -> None:
        self.fields: _JsonObject = {}
        self.reason = ""
        self.has_begun = False
        self.calls = _StreamedCalls()
        self.message: Dict[str, List[Any]] = {"role": ["assistant"]}

    def add(self, choice: _JsonObject) -> None:
        _update(self.fields, choice)
        reasons = _reasons_in(choice)
        if any(reasons):  # the last chunk has one
            self.reason = _pick_reason([self.reason, *reasons])
        delta = _dict(choice.get("delta"))
        message = _dict(choice.get("message"))
        if message:  # MiniMax: at last all of it once more
            self.calls = _StreamedCalls()
            self.message = {"role": ["assistant"]}
            delta = message
        if delta or self.reason:
            self.has_begun = True
        if "tool_calls" in delta:
            delta = dict(delta)
            calls = _dicts(delta.pop("tool_calls"))
            self.calls.add(calls, are_whole=bool(message))
        _collect(self.message, delta)

    def value(self) -> _JsonObject:
        message = _merge_collected(self.message)
        if self.calls.calls:
            message["tool_calls"] = [_merge_collected(c.values) for c in self.calls.calls]
        message.setdefault("content", None)  # some servers miss the key
        return {**self.fields, "finish_reason": self.reason, "message": message}


class _IndexedItems:
    """Items in the order of their indexes; one at an index that is taken comes last."""

    def __init__(self) -> None:
        self.by_index: Dict[int, Any] = {}
        self.next_index = 0  # above all of them

    def add(self, index: int, item: Any) -> None:
        if index in self.by_index:
            index = self.next_index
        self.by_index[index] = item
        self.next_index = max(self.next_index, index + 1)

    def in_order(self) -> List[Any]:
        return [self.by_index[index] for index in sorted(self.by_index)]


class _Assembler:
    """Makes of events the document that the server would have sent without streaming.

    Attributes:
        on_text: called with each piece of text.
        reason: the finish reason so far; "" where none came.
        is_over: whether nothing more is to be read. That says nothing of the reply, which
            may have been cut: see `is_complete`.
    """

    def __init__(self, on_text: Callable[[Any], None]) -> None:
        self.on_text = on_text
        self.reason = ""
        self.is_over = False

    def add(self, event: _JsonObject) -> None:
        """Add an event, such as {"choices": [{"delta": {"content": "a"}}]}."""
        raise NotImplementedError

    def is_complete(self) -> bool:
        """Whether the reply has ended; if not, the stream was cut."""
        raise NotImplementedError

    def document(self) -> _JsonObject:
        """The document, for example {"choices": [{"message": {"content": "ab"}}]}."""
        raise NotImplementedError


class _ChatAssembler(_Assembler):
    """Chat Completions: every choice has deltas, or at last the whole message."""

    def __init__(self, on_text: Callable[[Any], None], only_first: bool) -> None:
        super().__init__(on_text)
        self.only_first = only_first
        self.fields: _JsonObject = {}  # of the document
        self.choices: Dict[int, _StreamedChoice] = {}

    def add(self, event: _JsonObject) -> None:
        _update(self.fields, event)
        for choice in _dicts(event.get("choices")):
            _check_no_error(choice)
            index = _whole_number(choice.get("index"))
            if index > 0 and self.only_first:
                continue
            if index not in self.choices:
                self.choices[index] = _StreamedChoice()
            self.choices[index].add(choice)
            self.reason = self.choices[index].reason
            self.on_text(_join_text(_dict(choice.get("delta")).get("content")))

    def is_complete(self) -> bool:
        """With [DONE], or where each choice that has begun has a finish reason."""
        reasons = [choice.reason for choice in self.choices.values() if choice.has_begun]
        return self.is_over or (bool(reasons) and all(reasons))

    def document(self) -> _JsonObject:
        choices = [choice.value() for _, choice in sorted(self.choices.items())]
        return {**self.fields, "choices": choices}


class _ResponsesAssembler(_Assembler):
    """The Responses API: the items that are done, then the response that ends it."""

    def __init__(self, on_text: Callable[[Any], None]) -> None:
        super().__init__(on_text)
        self.items = _IndexedItems()
        self.arguments: Dict[int, Any] = {}  # by index; some items lack them
        self.response: _JsonObject = {}

    def add(self, event: _JsonObject) -> None:
        kind = event.get("type")
        index = _whole_number(event.get("output_index", self.items.next_index))
        if kind == "response.output_text.delta":
            self.on_text(event.get("delta"))
        elif kind == "response.function_call_arguments.done":
            self.arguments[index] = event.get("arguments")
        elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
            item = event["item"]
            arguments = self.arguments.pop(index, None)
            if item.get("type") == "function_call" and not item.get("arguments"):
                item = {**item, "arguments": arguments}
            self.items.add(index, item)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._end(_dict(event.get("response")), str(kind)[len("response.") :])

    def _end(self, response: _JsonObject, status: str) -> None:
        self.is_over = True
        self.response = {**response, "status": response.get("status") or status}
        done = self.items.in_order()
        if status == "failed":
            self.response["status"] = status
        elif len(_dicts(response.get("output"))) <= len(done):
            # OpenAI's output has the same items, that of ChatGPT's backend is []. Some
            # gateways send no `output_item.done` for some items: then the output has
            # more, and counts.
            self.response["output"] = done or response.get("output")

    def is_complete(self) -> bool:
        return bool(self.response)

    def document(self) -> _JsonObject:
        return self.response


class _AnthropicAssembler(_Assembler):
    """The Messages API: blocks, each with its deltas."""

    def __init__(self, on_text: Callable[[Any], None]) -> None:
        super().__init__(on_text)
        self.fields: _JsonObject = {}
        self.usage: Dict[str, List[Any]] = {}
        self.blocks = _IndexedItems()
        # Of several blocks at an index, the one that the deltas belong to.
        self.block_by_index: Dict[int, Dict[str, List[Any]]] = {}
        self.has_stopped = False

    def add(self, event: _JsonObject) -> None:
        kind = event.get("type")
        index = _whole_number(event.get("index"))
        self._add_usage(_dict(event.get("usage")))
        if kind == "message_start":
            message = _dict(event.get("message"))
            self._add_usage(_dict(message.get("usage")))
            self._add_fields(message)
        elif kind == "content_block_start":
            self._start_block(index, _dict(event.get("content_block")))
        elif kind == "content_block_delta":
            self._add_delta(index, _dict(event.get("delta")))
        elif kind == "message_delta":
            self._add_fields(_dict(event.get("delta")))
        elif kind == "message_stop":
            self.is_over = True
            self.has_stopped = True

    def _add_fields(self, fields: _JsonObject) -> None:
        _update(self.fields, fields)
        self.reason = _pick_reason([self.reason, fields.get("stop_reason")])

    def _add_usage(self, usage: _JsonObject) -> None:
        # A 0 in `message_delta` does not replace the count of `message_start`.
        _collect(self.usage, {name: count for name, count in usage.items() if count})

    def _start_block(self, index: int, start: _JsonObject) -> None:
        block: Dict[str, List[Any]] = {}
        _collect(block, start)
        self.blocks.add(index, block)
        self.block_by_index[index] = block
        self.on_text(start.get("text"))

    def _add_delta(self, index: int, delta: _JsonObject) -> None:
        if index not in self.block_by_index:
            self._start_block(index, {"type": "text"})
        fields = dict(delta)
        fields.pop("type", None)
        if "citation" in fields:
            fields["citations"] = [fields.pop("citation")]
        _collect(self.block_by_index[index], fields)
        self.on_text(delta.get("text"))

    def is_complete(self) -> bool:
        return self.has_stopped or bool(self.reason)

    def document(self) -> _JsonObject:
        content = [self._finish_block(_merge_collected(b)) for b in self.blocks.in_order()]
        usage = _merge_collected(self.usage)
        return {**self.fields, "stop_reason": self.reason, "content": content, "usage": usage}

    @staticmethod
    def _finish_block(block: _JsonObject) -> _JsonObject:
        """{"type": "tool_use", "partial_json": "{}"} -> {..., "input": {}}"""
        arguments = block.pop("partial_json", None)
        if arguments:
            block["input"] = arguments
            if isinstance(arguments, str):
                with contextlib.suppress(ValueError):  # the loop says what is wrong with it
                    block["input"] = _parse_loosely(arguments)
        elif _str(block.get("type")).endswith("tool_use"):
            block["input"] = block.get("input") or {}
        return block


# -- adapters --------------------------------------------------------------------------------------
#
# What the three protocols share. Reading a reply, deciding how it ended and cleaning
# what goes back are three places; what differs between the protocols is a method that
# each of them has.
#
# A fourth protocol needs
#
# 1. a subclass of `_Adapter` with the class attributes of OpenAIChat and the methods under
#    "What each protocol has of its own", and `_login`;
# 2. a subclass of `_Assembler`, which makes a document of the events of its streams;
# 3. `_calls_in` of the other three to return None for its messages, as they are then
#    composed anew; see `_is_foreign_to_chat`;
# 4. a look at `_endpoint`, which knows the path of the Messages API by name;
# 5. its name in `__all__`, and its --api in the lists of the command line.

_MAX_CHANGES = 8  # of one request, whose properties a server refuses one after the other

_ANNOUNCES_CALLS = ("tool_calls", "tool_use", "function_call")
# Replies that ended so may have null as their content. Any other without content is none.
_ENDS_WITHOUT_CONTENT = ("cut", "aborted", "refused")

_CUT_REPLY = "The reply was cut at the output limit: nothing of it was executed. Be shorter."
_EMPTY_REPLY = "The reply held neither a call nor an answer. Call a tool, or give the answer."
_WRITTEN_CALL = (
    "The reply holds a tool call that is written as text: nothing was executed. Call the tool "
    "through the interface for tool calls."
)
_PARSER_HINT = (
    "the server does not read this model's tool calls: they came as text "
    "(llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and --tool-call-parser)"
)


class _ParsedReply:
    """What was read in a reply, the same for all protocols.

    Attributes:
        message: the assistant message as it came.
        text: all of its text.
        answer: the text that would be the answer.
        comment: the text beside the answer.
        calls: its calls; their ids may be missing or repeated.
        usage: {"input_tokens": 900, "output_tokens": 40, "cached_tokens": 0}.
        reason: the finish reason as it came, "" where there is none.
        refusal: where the model, or a filter, refuses: why, or "".
    """

    def __init__(self, message: Any, text: str, calls: Optional[List[AgentAction]]) -> None:
        self.message = message
        self.text = text
        self.answer = text
        self.comment = ""
        self.calls = calls or []
        self.usage: Dict[str, int] = {}
        self.reason = ""
        self.refusal: Optional[str] = None

    def count(self, input_tokens: int, output_tokens: Any, cached_tokens: Any) -> None:
        self.usage = {
            "input_tokens": input_tokens,
            "output_tokens": _whole_number(output_tokens),
            "cached_tokens": _whole_number(cached_tokens),
        }


def _without_draft(text: str) -> str:
    """Without a leading <think> block, closed or not: "<think>hm</think> 5" -> "5"."""
    return re.sub(r"(?s)\A\s*<think>.*?(?:</think>\s*|\Z)", "", text)


# A text that is nothing but calls in one of these notations is no answer: the server
# lacks the parser of its model. In a longer text they are part of the answer.
_TAG = r"""(?x)                # a closing tag ends the call
    <tool_call> \s* [\[{<\w]    # Hermes, Qwen, GLM
  | <function=                  # Llama 3.1, Qwen3-Coder
  | <function_calls> | <invoke\ name=   # Claude's old form
"""
_TOKEN = r"""(?x)              # a special token begins it, and there is no rule how it ends
    \[TOOL_CALLS\]              # Mistral
  | <\|python_tag\|>            # Llama 3
  | <\|tool_call               # Phi-4, Granite
  | <\uff5ctool | <\uff5cDSML   # DeepSeek
  | <\|channel\|>commentary\ to=functions\.   # gpt-oss
"""
_QUOTED = r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_UNQUOTED = r"""[^()'"]*"""
_CALL_IN_LIST = (  # look(n=1)
    rf"\s*([A-Za-z_][\w-]*)\({_UNQUOTED}(?:(?:{_QUOTED}){_UNQUOTED})*\)\s*"
)


def _read_tagged_calls(text: str, tools: Registry) -> List[AgentAction]:
    """The calls of a text that is nothing but <tool_call> blocks of known tools, else [].

    '<tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>' -> look(n=1)
    """
    *blocks, rest = text.split("</tool_call>")
    if rest.strip():
        return []
    calls = []
    for block in blocks:
        before, _, written = block.partition("<tool_call>")
        if before.strip() or "<tool_call>" in written:
            return []
        try:
            call = _dict(_parse_loosely(written))
        except ValueError:
            return []
        name = call.get("name")
        arguments = call.get("arguments")
        is_known = isinstance(name, str) and name in tools
        if not is_known or type(arguments) not in (dict, str):
            return []
        calls.append(AgentAction(str(name), arguments))
    return calls


def _is_written_call(text: str, tools: Registry) -> bool:
    """True for a text that is a call in one of the notations of models, and nothing more.

    '<function=look>{"n": 1}</function>' -> True
    '<function=look>{"n": 1}' -> True (cut by a stop sequence)
    "<function=look></function> is how it looks" -> False
    """
    if re.match(_TOKEN, text):
        return True
    if not re.match(_TAG, text):
        return _is_list_of_calls(text, tools)
    last_tag = re.match(r"(?s).*</[\w:.-]+>\s*", text)
    if last_tag is None:  # cut by a stop sequence; "<tool_call> is a tag ..." is an answer
        return not re.match(r"<tool_call>\s*\w", text)
    rest = text[last_tag.end() :]
    return not rest or bool(re.match(_TAG, rest) or re.match(_TOKEN, rest))


def _is_list_of_calls(text: str, tools: Registry) -> bool:
    """True for '[look(n=1), wait(seconds=2)]', all of them known tools."""
    if not re.fullmatch(rf"(?s)\[{_CALL_IN_LIST}(?:,{_CALL_IN_LIST})*\]", text):
        return False
    return all(name in tools for name in re.findall(f"(?s){_CALL_IN_LIST}", text))


# What a server says of a property. `invalid_request_error` says nothing.
_REFUSED = r"""
    un(?:supported|known|recogni[sz]ed|expected) | extra | additional
  | invalid(?!_request_error)
"""
_NOT_TAKEN = r"not\ (?:supported|permitted|allowed|recogni[sz]ed|expected|valid)"
_DEMANDED = r"""
    \bmissing\b | \brequired\b | must\ be\ (?:passed|sent|provided|included|present|set)
"""
_VERDICT = rf"(?xi) (?P<demand>{_DEMANDED}) | {_REFUSED} | {_NOT_TAKEN}"
# Where a refusal names a property, as the one group of an alternative. Other words are no
# names: include, store, stream.
_NAMED_PROPERTY = rf"""(?xi)
    (?<!function\ )(?<!tool\ )
    ['"`] ([\w-][\w.\[\]-]*) ['"`]                # 'reasoning', `messages[1].reasoning`
  | \b (\w+ (?:\.\w+ | \[\d+\])+)                 # messages.2.reasoning
  | \b (\w*_\w*)                                  # stream_options
  | (?:{_REFUSED})                                # Unknown parameter: reasoning
    (?:\ (?:request|keyword|property|properties|parameters?|fields?|arguments?|keys?
          |supplied|in\ messages?|{_NOT_TAKEN}))*
    (?:\(s\))? :? \ (?! (?:{_REFUSED}) \b ) (\w [\w.\[\]-]*)
  | \b (\w+) \b                                  # reasoning is not supported
    (?=(?:\ is|\ are|\ was)? :? \ (?:{_REFUSED} | not\ ))
"""
_READ_OF_REFUSAL = 8000  # characters; each name is compared with each verdict


def _judge_properties(words: str) -> List[Tuple[str, bool]]:
    """The properties that a refusal names, each with whether the server demands it.

    Of several verdicts the one that stands nearest to the name counts.
    "'a' is not supported, 'b' is required" -> [("a", False), ("b", True)]
    """
    words = words[:_READ_OF_REFUSAL]
    verdicts = list(re.finditer(_VERDICT, words))
    if not verdicts:
        return []
    judged = []
    for match in re.finditer(_NAMED_PROPERTY, words):
        start, end = match.span(match.lastindex or 0)  # of the one group that took part
        gaps = [max(verdict.start() - end, start - verdict.end()) for verdict in verdicts]
        nearest = verdicts[gaps.index(min(gaps))]
        name = re.findall(r"[\w-]+", words[start:end])[-1]
        judged.append((name, nearest.group("demand") is not None))
    return judged


# Groq's codes for what its model wrote: no call, no JSON that was asked for, nothing to read.
_FAILED_GENERATIONS = ("tool_use_failed", "json_validate_failed", "output_parse_failed")


def _check_no_failed_generation(failure: _RequestFailed) -> None:
    """InvalidResponse where the server cannot read what the model wrote: not our fault."""
    error = failure.error
    if error.get("code") not in _FAILED_GENERATIONS:
        # A proxy may pass on the error object alone, as a text that nothing else unwraps.
        text = _str(error.get("message"))
        try:
            error = _dict(_parse_loosely(text[text.find("{") : text.rfind("}") + 1]))
        except ValueError:
            return
    if error.get("code") in _FAILED_GENERATIONS:
        words = _cut_middle(failure.words, 700)
        generation = _cut_middle(_to_text(error.get("failed_generation") or ""), 2000)
        raise InvalidResponse(f"{words} The reply was: {generation}")


def _add_usage(run: AgentRun, usage: Dict[str, int]) -> None:
    for name, count in usage.items():
        run.usage[name] = run.usage.get(name, 0) + count


# What the official packages call some settings.
_OTHER_NAMES = {
    "max_retries": "retries",
    "default_headers": "headers",
    "extra_headers": "headers",
}


_SETTINGS: List[Tuple[str, str, Callable[[Any], bool]]] = [
    # names, what they are, whether a value is that
    ("base_url system", "a str", lambda v: isinstance(v, str)),
    ("api_key", "a str, or a function that returns one", lambda v: isinstance(v, str) or callable(v)),
    ("headers", "a dict", lambda v: isinstance(v, dict)),
    ("timeout deadline", "a number of seconds above 0",
     lambda v: isinstance(v, (int, float)) and v is not True and v > 0),
    ("retries", "an int from 0 up", lambda v: type(v) is int and v >= 0),
    ("trim", "an int from 0 up, or a function", lambda v: callable(v) or type(v) is int and v >= 0),
    ("max_observation", "an int above 0", lambda v: type(v) is int and v > 0),
    ("on_text transport", "a function", lambda v: v is None or callable(v)),
]  # fmt: skip


def _check_setting(name: str, value: Any) -> None:
    """TypeError where a setting is none of its kind; other names are fields of the body."""
    for names, expected, fits in _SETTINGS:
        if name in names.split() and not fits(value):
            # Of other values only the type is shown: they may be secret.
            shown = value if isinstance(value, (int, float)) else type(value).__name__
            raise TypeError(f"{name} is {expected}; got {shown}")


_Init = typing.TypeVar("_Init", bound=Callable[..., None])


def _with_checked_settings(init: _Init) -> _Init:
    """A constructor that takes settings by name alone, no misspelt one and none of a wrong type.

    OpenAIChat("m", "http://..."), OpenAIChat("m", baseurl="...") and
    OpenAIChat("m", timeout="5") are a TypeError.
    """

    @functools.wraps(init)
    def checked(self: Any, *arguments: Any, **settings: Any) -> None:
        # Here, not above: a signature costs as much as a hundredth of the import.
        parameters = inspect.signature(init).parameters
        names = parameters.keys() - {"self", "body"}
        if len(arguments) > 1:
            raise TypeError(
                f"{type(self).__name__} takes the model's name, and settings by name: "
                f"{type(self).__name__}(model, base_url=...)"
            )
        _check_fields(settings.keys() - names, names)
        for name, value in settings.items():
            is_default = name in parameters and value is parameters[name].default
            if not is_default:
                _check_setting(name, value)
        init(self, *arguments, **settings)

    return typing.cast(_Init, checked)


def _check_fields(fields: Iterable[str], settings: Iterable[str]) -> None:
    """TypeError for a field of the body that is a misspelt setting, or the conversation."""
    for word in fields:
        if word in ("messages", "input"):
            raise TypeError(
                f"{word}: the run holds the conversation; its text is the task of run()"
            )
        if word == "models":  # OpenRouter's list of fallbacks
            continue
        for name in settings:
            if _is_typo_of(word, name) or _OTHER_NAMES.get(word) == name:
                raise TypeError(
                    f"{word}: did you mean {name}? It would be sent as a field of the body"
                )


def _is_typo_of(word: str, name: str) -> bool:
    """True where one letter, or the order of two, differs: "modle" and "model"."""
    one = word.replace("_", "").lower()
    other = name.replace("_", "")
    while one and other and one[0] == other[0]:
        one = one[1:]
        other = other[1:]
    while one and other and one[-1] == other[-1]:
        one = one[:-1]
        other = other[:-1]
    is_swapped = len(one) == 2 and one == other[::-1]
    return is_swapped or (len(one) <= 1 and len(other) <= 1)


class _Adapter(_Client):
    """What the three protocols share. Each is a subclass with the abstract methods."""

    _list_name = "messages"  # of the field that holds the conversation
    _limit_names: Tuple[str, ...] = ()  # fields that limit the output
    _id_pattern = _ANY_ID  # of the call ids that can be sent
    # What is never left out, whatever a server refuses: of an assistant's message, and of
    # the fields around the messages.
    _required_properties: FrozenSet[str] = frozenset(("role", "content"))
    _required_fields = frozenset(("max_tokens", "system", "instructions", "store"))
    # Properties of a message that can be added where a server demands them.
    _can_be_added: FrozenSet[str] = frozenset()

    @_with_checked_settings
    def __init__(
        self,
        model: str,
        *,
        base_url: Optional[str] = None,
        api_key: Union[None, str, Callable[[], str]] = None,
        headers: Optional[Dict[str, str]] = None,
        system: Optional[str] = None,
        on_text: Optional[Callable[[str], Any]] = None,
        timeout: float = 600,
        deadline: Optional[float] = None,
        retries: int = 4,
        trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]] = None,
        max_observation: int = 20_000,
        ssl_context: Any = None,
        transport: Any = http_transport,
        **body: Any,
    ) -> None:
        super().__init__(
            base_url, api_key, headers, timeout, deadline, retries, ssl_context, transport
        )
        self.model = model
        self.system = system
        self.on_text = on_text
        self.trim = trim
        self.max_observation = max_observation
        self.body_fields = body
        # The properties and fields that this server refused or demanded by name. Replaced,
        # never changed: threads share them.
        self._refused: FrozenSet[str] = frozenset()
        self._demanded: FrozenSet[str] = frozenset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={_Url(self.url).public!r})"

    def __getstate__(self) -> _JsonObject:
        return {**super().__getstate__(), "on_text": None}

    # What each protocol has of its own.

    def _top_level_fields(self, conversation: _Conversation) -> _JsonObject:
        """What the adapter adds to model, conversation and tools: {"stream": True}."""
        raise NotImplementedError

    def _encode_tool(self, tool: Tool) -> _JsonObject:
        """A tool in the request: {"name": "look", "parameters": {...}}."""
        raise NotImplementedError

    def _user_message(self, parts: List[Any]) -> _JsonObject:
        """One message of parts: a str, an Image, or the protocol's own form of a part."""
        raise NotImplementedError

    def _compose(self, text: str, actions: List[AgentAction]) -> Any:
        """A reply of another model in this protocol's form, before it is cleaned."""
        raise NotImplementedError

    def _calls_in(self, message: Any) -> Optional[List[AgentAction]]:
        """The calls of an assistant message, their ids "" where there is none.

        None where the message is of another protocol.
        """
        raise NotImplementedError

    def _clean_reply(
        self, message: Any, calls: List[AgentAction], placeholder: str, is_incomplete: bool
    ) -> List[_JsonObject]:
        """A reply as it goes back, as messages or items: as it came, without what is refused.

        Args:
            message: as it came, or composed.
            calls: its calls, with the ids that are sent.
            placeholder: a text for a message that would be empty without.
            is_incomplete: whether it was cut or refused, so that parts may be missing.
        """
        raise NotImplementedError

    def _put_result(self, conversation: _Conversation, call_id: str, step: AgentStep) -> None:
        """Put the result of a call: a message, or a part of what the user says next."""
        raise NotImplementedError

    def _read(self, document: _JsonObject) -> _ParsedReply:
        """What a document says; _RequestFailed where it is no reply of this protocol."""
        raise NotImplementedError

    def _new_assembler(self, on_text: Callable[[Any], None]) -> _Assembler:
        """What makes a document of the events of a stream."""
        raise NotImplementedError

    def _mark_for_cache(self, entries: List[_JsonObject]) -> List[_JsonObject]:
        """The same list, with a cache breakpoint at its end where that is asked for."""
        return entries

    def _check_tool(self, tool: Tool) -> None:
        """ValueError for a tool that every request would be refused for."""
        if not re.match(r"[a-zA-Z0-9_-]+\Z", tool.name):
            raise ValueError(
                f"servers refuse the tool name {tool.name!r}: use a-z, 0-9, '_' or '-'"
            )

    # The request.

    def body(self, run: AgentRun, tools: Registry) -> _JsonObject:
        """The JSON object as it would go out now: {"model": "m", "messages": [...], ...}.

        It shows the run as it is now, with what the caller replaced, shortened or took
        out since the last request. Replace objects, do not change them: within an
        observation, only changes of lists and dicts of plain JSON are noticed. A reply is
        sent as its `message` says: for another answer, replace `run.finish` by one
        without, AgentFinish("shorter").
        """
        data, _ = self._encode(run, tools)
        return dict(json.loads(data.decode("utf-8")))

    def complete(self, prompt: str) -> str:
        """A text completion, for ReActText: one user message, no tools, no usage.

        For a server that may go on with an observation of its own making, a stop sequence
        helps: ReActText(OpenAIChat("m", stop=["\\nObservation:"]).complete).
        """
        return _to_text(self._complete_run(AgentRun(prompt)).output)

    def _complete_run(self, run: AgentRun) -> AgentFinish:
        """The answer to the run's task, without tools; `run.usage` says what it cost."""
        decision = self(run, {})
        if not isinstance(decision, AgentFinish):
            raise InvalidResponse("A tool was called, and only text was asked for.")
        return decision

    def _encode(self, run: AgentRun, tools: Registry) -> Tuple[bytes, _Conversation]:
        """The body of the request, and the conversation in it."""
        for tool in tools.values():
            self._check_tool(tool)
        conversation = self._encode_conversation(run)
        added = self._top_level_fields(conversation)
        kept = {key: value for key, value in added.items() if key not in self._refused}
        fields = {"model": self.model, **kept, **self.body_fields}
        shown: List[_JsonObject] = list(self.body_fields.get("tools") or ())
        shown += [self._encode_tool(tool) for tool in tools.values()]
        if shown:
            fields["tools"] = self._mark_for_cache(shown)
        last = self._encode_open_message(conversation, is_last=True)
        # The conversation comes last: {"model": "m", "messages": [closed, last]}.
        head = _encode_json(fields)[:-1] + f', "{self._list_name}": ['.encode("ascii")
        comma = b", " if conversation.closed_messages and last else b""
        # One join: what was said is copied once, whatever its length.
        data = b"".join((head, conversation.closed_messages, comma, last, b"]}"))
        return data, conversation

    # The conversation.

    def _encode_conversation(self, run: AgentRun) -> _Conversation:
        """The conversation with what is new in the run; a new one where the rest changed."""
        if run.pending:
            return self._encode_with_pending(run)
        turns = _trim_turns([*run.history, run], self.trim)
        contents = _contents_of(turns)
        settings = (self.system, self.max_observation, self._refused, self._demanded)
        if run._encoded is None:
            import weakref

            run._encoded = weakref.WeakKeyDictionary()  # it goes with its adapter
        # Taken out first: where an error ends this, no half of a turn stays in it.
        conversation: Optional[_Conversation] = run._encoded.pop(self, None)
        if conversation is None or not conversation.is_beginning_of(contents, settings):
            conversation = self._begin(settings)
        self._put_turns(conversation, turns)
        conversation.contents = contents
        run._encoded[self] = conversation
        return conversation

    def _encode_with_pending(self, run: AgentRun) -> _Conversation:
        """For a caller who looks at the request while calls are pending."""
        steps = list(run.steps)
        for action in run.pending:
            steps.append(AgentStep(action, "This call is pending.", "pending"))
        shown = AgentRun(run.task, steps, finish=run.finish, history=run.history)
        return self._encode_conversation(shown)

    def _begin(self, settings: Any) -> _Conversation:
        return _Conversation(settings)

    def _put_turns(self, conversation: _Conversation, turns: List[AgentRun]) -> None:
        """Put what is new: the rest of the last turn that was sent, then the others."""
        continued = max(conversation.turn_count - 1, 0)  # the index of that turn
        for index, turn in enumerate(turns[continued:], continued):
            if index == conversation.turn_count:
                conversation.begin_turn()
                self._put_user_text(conversation, _list_of(turn.task))
            for group in _group_by_reply(turn.steps[conversation.step_count :]):
                count = conversation.step_count
                before = turn.steps[count - 1] if count else None
                self._put_group(conversation, group, before)
                conversation.count_steps(group)
            if turn.finish is not None and not conversation.has_finish:
                self._put_finish(conversation, turn.finish)
                conversation.has_finish = True

    def _put_group(
        self, conversation: _Conversation, group: List[AgentStep], before: Optional[AgentStep]
    ) -> None:
        """Put a reply with its results, or the notice about one that was not accepted."""
        first = group[0]
        if first.action._is_call:
            self._put_calls(conversation, group)
        elif before and _is_about_call(first.action, before.action):
            # The call whose result was to be the answer: its reply stands there already.
            self._put_user_text(conversation, [self._observation_text(first)])
        else:
            self._put_notice(conversation, first)

    def _put_calls(self, conversation: _Conversation, group: List[AgentStep]) -> None:
        """Put a reply and a result for each of its calls.

        Steps a and b of one reply -> assistant (calls a, b), result of a, result of b.
        """
        first = group[0].action
        group = _in_call_order(group, self._calls_in(first.message) or [])
        actions = [step.action for step in group]
        ids = self._put_reply(conversation, first.message, first.log, actions)
        for call_id, step in zip(ids, group):
            self._put_result(conversation, call_id, step)

    def _put_notice(self, conversation: _Conversation, step: AgentStep) -> None:
        """Put a reply that was not accepted. The notice is the result of each of its
        calls; where it has none, the user says it."""
        # After `pause_turn` nothing is said: the server goes on with its last message.
        is_paused = not step.observation
        is_incomplete = step.status == "invalid_response" and not is_paused
        message = step.action.message
        calls = self._calls_in(message)
        ids = self._put_reply(conversation, message, step.action.log, calls or [], is_incomplete)
        for call_id in ids:
            self._put_result(conversation, call_id, step)
        if is_paused and calls is None and message is not None:
            self._put_user_text(conversation, [_GO_ON])  # another server's turn
        elif not ids and not is_paused:
            self._put_user_text(conversation, [self._observation_text(step)])

    def _put_finish(self, conversation: _Conversation, finish: AgentFinish) -> None:
        if finish.reason == "return_direct":  # the call and its result stand for it
            return
        text = _to_text(finish.output)
        is_refusal = finish.reason == "refusal"
        self._put_reply(conversation, finish.message, text, [], is_refusal)

    def _put_reply(
        self,
        conversation: _Conversation,
        message: Any,
        text: str,
        actions: List[AgentAction],
        is_incomplete: bool = False,
    ) -> List[str]:
        """Put a reply as its message says, else composed of its text and actions.

        Returns the ids of its calls as they are sent.
        """
        container = _str(_dict(_dict(message).get("container")).get("id"))
        conversation.container = container or conversation.container
        pattern = self._id_pattern
        calls = self._calls_in(message)
        if calls is None or len(calls) != len(actions):  # another protocol's, or none
            message = self._compose(text, actions)
            pattern = _PORTABLE_ID
        self._close_open_message(conversation)
        sent = [  # for `_clean_reply`, which takes the arguments from the message
            AgentAction(action.tool, None, conversation.make_id(action.call_id, pattern))
            for action in actions
        ]
        placeholder = text if text.strip() else _NO_TEXT
        for item in self._clean_reply(message, sent, placeholder, is_incomplete):
            self._put_assistant(conversation, item)
        return [call.call_id for call in sent]

    def _put_assistant(self, conversation: _Conversation, message: _JsonObject) -> None:
        """Put an assistant message without what is refused, with what is demanded."""
        for name in self._demanded:
            self._add_demanded(message, name)
        conversation.assistant_keys |= message.keys() - self._required_properties
        refused = self._refused - self._required_properties
        kept = {key: value for key, value in message.items() if key not in refused}
        conversation.add(_encode_json(kept))

    def _add_demanded(self, message: _JsonObject, name: str) -> None:
        if message.get(name) is None:
            message[name] = _NO_TEXT

    def _put_user_text(self, conversation: _Conversation, parts: List[Any]) -> None:
        conversation.say(parts)

    def _encode_open_message(self, conversation: _Conversation, is_last: bool = False) -> bytes:
        """The message that the user says next, encoded once; b"" for none."""
        if conversation.open_parts and not conversation.open_bytes:
            message = self._user_message(conversation.open_parts)
            conversation.open_bytes = _encode_json(message)
        return conversation.open_bytes

    def _close_open_message(self, conversation: _Conversation) -> None:
        if conversation.open_parts:
            conversation.add(self._encode_open_message(conversation))
            conversation.open_parts = []
            conversation.open_bytes = b""

    def _observation_text(self, step: AgentStep) -> str:
        """The text of an observation, of which a long one lacks its middle."""
        text = _cut_middle(_to_text(step.observation), self.max_observation)
        return text if text.strip() else _NO_OUTPUT

    # Asking.

    def __call__(self, run: AgentRun, tools: Registry) -> Decision:
        data, conversation = self._encode(run, tools)
        deadline = self._deadline_from_now()  # of this request of the run, with all its retries
        tried: Dict[str, str] = {}  # what was changed, and the words of the refusal
        while True:
            try:
                reply = self._request_with_retries(data, self._read_reply, deadline)
                break
            except _RequestFailed as failure:
                _check_no_failed_generation(failure)
                if not self._adapt_request(failure, conversation, tried):
                    raise self._model_error(failure) from None
                data, conversation = self._encode(run, tools)
        _add_usage(run, reply.usage)
        self._check_input_tokens(conversation, reply.usage["input_tokens"])
        taken = conversation.ids
        if self.trim is not None:
            turns = [*run.history, run]
            taken = {step.action.call_id for turn in turns for step in turn.steps}
        return self._decide(reply, tools, taken)

    def _check_input_tokens(self, conversation: _Conversation, tokens: int) -> None:
        """A count that falls by much means that the server no longer sees the task."""
        last = conversation.input_tokens
        if self.trim is None and 0 < tokens < 0.6 * last:
            _log(
                f"{tokens} input tokens after {last}: the server silently drops the "
                f"beginning (Ollama: num_ctx)"
            )
        conversation.input_tokens = tokens

    # Adapting a request that was refused. The caller's part of the body never changes.

    def _adapt_request(
        self, failure: _RequestFailed, conversation: _Conversation, tried: Dict[str, str]
    ) -> bool:
        """Whether the request can be sent in another form, which is remembered.

        A property of the assistant's messages, or one that the adapter adds, that is refused
        is left out; one that is demanded is added, where there is something to put there.
        `tried` has the properties that were for this request. One after which the server
        says the same again was a wrong guess, which is undone.
        """
        words = failure.words
        if re.search("(?i)encrypted content is not supported", words):
            words = "'include' is not supported"  # what asks for it, see OpenAIResponses
        elif failure.error.get("param"):
            words = f"'{_to_text(failure.error['param'])}': {words}"
        for name, words_before in tried.items():
            if words_before == words and name in self._refused | self._demanded:
                _log(f"{name!r} was not the reason: it is as before")
                self._refused -= {name}
                self._demanded -= {name}
        if failure.status not in (400, 422) or len(tried) >= _MAX_CHANGES:
            return False
        added = self._top_level_fields(conversation).keys() - self._required_fields
        can_be_left_out = (conversation.assistant_keys | added) - self._refused
        can_be_left_out -= self.body_fields.keys()
        for name, is_demanded in _judge_properties(words):
            if name in tried:
                continue
            if is_demanded and name in self._can_be_added - self._demanded:
                tried[name] = words
                _log(f"the server demands {name!r}: it is added where a reply has none")
                self._demanded |= {name}
                self._refused -= {name}
                return True
            if not is_demanded and name in can_be_left_out:
                tried[name] = words
                _log(f"the server refuses {name!r}: it is left out from now on")
                self._refused |= {name}
                return True
        return False

    # Reading a reply.

    def _read_reply(self, http_reply: _HttpReply) -> _ParsedReply:
        has_shown = False

        def show(text: Any) -> None:
            nonlocal has_shown
            if self.on_text is not None and isinstance(text, str) and text:
                has_shown = True
                self.on_text(text)

        def assemble(events: Iterator[Optional[_JsonObject]]) -> Optional[_JsonObject]:
            return self._assemble(events, show)

        reply = self._read(_read_document(http_reply, assemble))
        if _end_of(reply.reason) == "aborted":
            words = f"the server aborted the reply: {_one_line(reply.reason, 60)}"
            raise _RequestFailed(words, "server")
        if not has_shown:
            show(reply.text)
        return reply

    def _assemble(
        self, events: Iterator[Optional[_JsonObject]], on_text: Callable[[Any], None]
    ) -> Optional[_JsonObject]:
        """The document that a stream stands for; None where it was cut."""
        assembler = self._new_assembler(on_text)
        try:
            for event in events:
                if event is None:  # [DONE]
                    assembler.is_over = True
                else:
                    assembler.add(event)
                if assembler.is_over:
                    break
        except _RequestFailed:
            # It counts after a finish reason too, but for "length": Token limit reached.
            if _end_of(assembler.reason) != "cut":
                raise
        if not assembler.is_complete():
            return None
        document = assembler.document()
        _check_no_error(document)
        return document

    # Deciding what a reply means. Nothing that is doubtful runs.

    def _decide(self, reply: _ParsedReply, tools: Registry, taken: Set[str]) -> Decision:
        """Calls -> [AgentAction, ...]; an answer, or a refusal -> AgentFinish.

        Raises InvalidResponse for a reply that was cut, is paused, is empty, or has calls
        as text. `taken` are the call ids that the conversation has already.
        """
        end = _end_of(reply.reason)
        if end == "unknown":
            # What is no plain word is not shown: a server may echo a key anywhere.
            is_word = re.fullmatch(r"[A-Za-z_]{1,40}", reply.reason)
            reason = repr(reply.reason) if is_word else "of another form"
            _log(f"the finish reason {reason} is taken for a clean end")
        if reply.refusal is not None or end == "refused":
            return AgentFinish(reply.refusal or reply.text, "", reply.message, "refusal")
        if end == "paused":
            raise InvalidResponse("", reply.message, reply.text)
        if end == "cut" or self._used_the_limit(reply):
            raise InvalidResponse(_CUT_REPLY, reply.message, reply.text)
        if reply.calls:
            log = _without_draft(reply.text)
            return self._make_actions(reply, log, reply.calls, taken)
        answer = _without_draft(reply.answer)
        written = self._find_written_calls(reply, answer.strip(), tools)
        if written:
            return self._make_actions(reply, "", written, taken)
        if not answer.strip() or reply.reason.lower() in _ANNOUNCES_CALLS:
            raise InvalidResponse(_EMPTY_REPLY, reply.message, reply.text)
        return AgentFinish(answer, reply.comment, reply.message)

    @staticmethod
    def _find_written_calls(reply: _ParsedReply, answer: str, tools: Registry) -> List[AgentAction]:
        """The calls of an answer that is nothing but calls, in a notation that is read.

        Raises InvalidResponse for any other notation.
        """
        if not tools:
            return []
        calls = _read_tagged_calls(answer, tools)
        if not calls and _is_written_call(answer, tools):
            _log(_PARSER_HINT)
            raise InvalidResponse(_WRITTEN_CALL, reply.message, reply.text)
        return calls

    def _used_the_limit(self, reply: _ParsedReply) -> bool:
        """Whether the reply has as many tokens as the request allows: then it was cut.

        Some routers report `stop` or `tool_calls` for a reply cut at the limit. A whole one
        of just as many tokens is not used either: nothing tells it from those. Some servers
        count one token more, that of the end. Still more means that other tokens count too,
        such as those of reasoning.
        """
        if _whole_number(self.body_fields.get("n")) > 1:
            return False
        sent = {"max_tokens": getattr(self, "max_tokens", None), **self.body_fields}
        for name in self._limit_names:
            limit = _whole_number(sent.get(name))
            if limit:
                return reply.usage["output_tokens"] in (limit, limit + 1)
        return False

    def _make_actions(
        self, reply: _ParsedReply, log: str, calls: List[AgentAction], taken: Set[str]
    ) -> List[AgentAction]:
        """The calls as actions. An id that the server repeats or omits becomes ""; the
        loop makes one, so that no call is taken for a repeated one."""
        used: Set[str] = set()
        for call in calls:
            is_repeated = call.call_id in taken or call.call_id in used
            if is_repeated or not re.match(self._id_pattern, call.call_id):
                call.call_id = ""
            used.add(call.call_id)
            call.log = log
            call.message = reply.message
        return calls


# -- the three protocols ---------------------------------------------------------------------------


def _make_parts(parts: List[Any], kind: str, picture: Callable[[str], _JsonObject]) -> Any:
    """The content of a message: a str, or a list of parts where there are pictures.

    ["a", "b"] -> "a\n\nb"; ["a", Image] -> [{"type": "text", "text": "a"}, {...}]
    """
    if not _images_in(parts):
        return "\n\n".join(parts)
    made = []
    for part in parts:
        if _is_image(part):
            data = _encode_base64(part.data)
            made.append(picture(f"data:{part.media_type};base64,{data}"))
        else:
            made.append({"type": kind, "text": part})
    return made


def _describe_tool(tool: Tool, schema_name: str) -> _JsonObject:
    """{"name": "look", "description": "Look.", "parameters": {...}}"""
    described: _JsonObject = {"name": tool.name}
    if tool.description.strip():
        described["description"] = tool.description
    schema = tool.parameters
    if schema.get("type") == "object" and "properties" not in schema:
        schema = {**schema, "properties": {}}  # OpenAI: object schema missing properties
    described[schema_name] = schema
    return described


def _cached_tokens(usage: _JsonObject, details: str) -> int:
    """The cached part of the input; Mistral, Moonshot and DeepSeek name it otherwise."""
    names = ("num_cached_tokens", "cached_tokens", "prompt_cache_hit_tokens")
    counts = [_whole_number(usage.get(name)) for name in names]
    return max(_whole_number(_dict(usage.get(details)).get("cached_tokens")), *counts)


def _is_foreign_to_chat(message: _JsonObject) -> bool:
    """True for a message of the Messages API, or of the Responses API."""
    foreign = ("tool_use", "tool_result", "redacted_thinking", "compaction", "output_text")
    return "container" in message or any(
        _str(part.get("type")).endswith(foreign) or isinstance(part.get("thinking"), str)
        for part in _dicts(message.get("content"))
    )


def _calls_of(message: _JsonObject) -> List[_JsonObject]:
    """The entries of `tool_calls`, but for those that say nothing.

    LM Studio sends {"id": "", "type": "function"} beside an answer.
    """
    calls = []
    for call in _dicts(message.get("tool_calls")):
        function = _dict(call.get("function"))
        if call.get("id") or function.get("name") or function.get("arguments"):
            calls.append(call)
    return calls


def _clean_function(function: Any, tool: str) -> _JsonObject:
    """The function of a call with a name and arguments that servers take.

    ({"name": "a.b"}, "a.b") -> {"name": "a_b", "arguments": "{}"}
    """
    cleaned = dict(_dict(function))
    cleaned["name"] = _legal_name(cleaned.get("name"), tool)
    cleaned["arguments"] = _strict_arguments(cleaned.get("arguments"))
    return cleaned


def _is_blank_text(part: _JsonObject) -> bool:
    """True for {"type": "text", "text": " "}."""
    return part.get("type") == "text" and not _str(part.get("text")).strip()


def _join_messages(messages: List[_JsonObject]) -> Any:
    """The messages of several choices as one: texts joined, calls in order.

    Gateways put the blocks of Claude, or the items of the Responses API, into choices of
    their own.
    """
    if len(messages) < 2:
        return messages[0] if messages else None
    return _merge_objects(messages)


# What Google gives for a call that another model made.
_FOREIGN_CALL = {"google": {"thought_signature": "skip_thought_signature_validator"}}


class OpenAIChat(_Adapter):
    """Chat Completions, for every server that speaks it.

    OpenAIChat("qwen3:8b", base_url="http://localhost:11434", api_key="", temperature=0.2)

    Args:
        model: the name that the server knows.
        base_url: with or without /v1, a trailing slash or the full path; default: the
            variable OPENAI_BASE_URL, else https://api.openai.com/v1. A login in it,
            http://user:password@host, is sent as Basic where no key is.
        api_key: a str, or a function that gives one for each request on the wire;
            default: the variable OPENAI_API_KEY. With "" none is sent.
        headers: sent along with each request, {"X-Title": "my app"}.
        system: the system text.
        on_text: called with the text as it arrives; makes the request a stream. Where a
            stream breaks and is asked again, it is called again from the start of the
            reply.
        timeout: the longest silence, in seconds.
        deadline: the longest time for one request of the run with all its retries, in
            seconds.
        retries: how often a request is asked again: 4 allows five requests on the wire.
        trim: how many replies to send, the last ones; or a function from the steps to
            those to send, which may return changed copies of them. Tasks stay, calls keep
            their results.
        max_observation: characters of an observation that are sent; of a longer one the
            middle is left out.
        ssl_context: an ssl.SSLContext for the default transport.
        transport: `transport(method, url, headers, body, timeout)` gives (status,
            headers, chunks).
        body: further fields of the request, such as temperature=0.2. A list `tools` (a
            server's own) stands before the run's. A misspelt setting is a TypeError.

    Calling it raises ModelError for a server's fault, InvalidResponse for a reply that
    cannot be read, ValueError for a tool that servers refuse.

    What the caller changes in a run between two requests is sent: replace a step, or its
    observation. Do not change an object inside an observation: only changes within lists
    and dicts of plain JSON are noticed.
    """

    _path = "/chat/completions"
    _host = "https://api.openai.com/v1"
    _variable = "OPENAI"
    _limit_names = ("max_completion_tokens", "max_tokens")
    _required_properties = frozenset(("role", "content", "tool_calls"))
    # A server in a thinking mode demands the reasoning of each reply, others' too. Gemini
    # demands its signature of the calls.
    _can_be_added = frozenset(("reasoning_content", "thought_signature"))

    def _login(self, key: str) -> Dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    # sending

    def _top_level_fields(self, conversation: _Conversation) -> _JsonObject:
        if self.on_text is None:
            return {}
        return {"stream": True, "stream_options": {"include_usage": True}}

    def _encode_tool(self, tool: Tool) -> _JsonObject:
        return {"type": "function", "function": _describe_tool(tool, "parameters")}

    def _begin(self, settings: Any) -> _Conversation:
        conversation = super()._begin(settings)
        if self.system:
            conversation.add(_encode_json({"role": "system", "content": self.system}))
        return conversation

    def _user_message(self, parts: List[Any]) -> _JsonObject:
        def picture(url: str) -> _JsonObject:
            return {"type": "image_url", "image_url": {"url": url}}

        return {"role": "user", "content": _make_parts(parts, "text", picture)}

    def _put_user_text(self, conversation: _Conversation, parts: List[Any]) -> None:
        # Mistral: "Unexpected role 'user' after role 'tool'". Pictures have no other
        # place.
        if conversation.after_results and not conversation.open_parts:
            self._put_assistant(conversation, {"role": "assistant", "content": _NO_TEXT})
        super()._put_user_text(conversation, parts)

    def _add_demanded(self, message: _JsonObject, name: str) -> None:
        if name != "thought_signature":
            super()._add_demanded(message, name)
            return
        for call in _dicts(message.get("tool_calls"))[:1]:  # Gemini signs the first one
            call.setdefault("extra_content", _FOREIGN_CALL)

    def _compose(self, text: str, actions: List[AgentAction]) -> Any:
        calls = [
            {"function": {"name": _legal_name(a.tool, a.tool), "arguments": a.tool_input}}
            for a in actions
        ]
        return {"role": "assistant", "content": text or None, "tool_calls": calls}

    def _calls_in(self, message: Any) -> Optional[List[AgentAction]]:
        own_keys = {"content", "tool_calls", "function_call"}
        if not isinstance(message, dict) or not message.keys() & own_keys:
            return None
        if _is_foreign_to_chat(message):
            return None
        calls = []
        for call in _calls_of(message):
            function = _dict(call.get("function"))
            name = _str(function.get("name"))
            call_id = _str(call.get("id"))
            calls.append(AgentAction(name, function.get("arguments"), call_id))
        return calls

    def _put_result(self, conversation: _Conversation, call_id: str, step: AgentStep) -> None:
        message = {"role": "tool", "tool_call_id": call_id, "content": self._observation_text(step)}
        conversation.add(_encode_json(message), is_result=True)
        conversation.say(_images_in(step.observation))

    # cleaning what goes back

    def _clean_reply(
        self, message: Any, calls: List[AgentAction], placeholder: str, is_incomplete: bool
    ) -> List[_JsonObject]:
        message = {**message, "role": "assistant"}
        sent = _calls_of(message)
        if not sent:  # an empty list is refused
            message.pop("tool_calls", None)
        else:
            message["tool_calls"] = [
                {
                    **call,
                    "id": action.call_id,
                    "type": call.get("type") or "function",
                    "function": _clean_function(call.get("function"), action.tool),
                }
                for call, action in zip(sent, calls)
            ]
        if message.get("function_call") is not None:
            # The form before `tool_calls` is no call; some servers send an empty one.
            del message["function_call"]
        content = self._clean_content(message.get("content"), "" if calls else placeholder)
        if content is not None or "content" in message:
            message["content"] = content
        return [message]

    @staticmethod
    def _clean_content(content: Any, placeholder: str) -> Any:
        """Without empty parts, which are refused, as is a message with neither text nor call.

        `placeholder` stands where a text is missing; with "", None and "" stay as they came.
        """
        if isinstance(content, list):
            kept = [part for part in _dicts(content) if not _is_blank_text(part)]
            return kept or placeholder
        if placeholder and not _str(content).strip():
            return placeholder
        return content if isinstance(content, str) else None

    # reading

    def _read(self, document: _JsonObject) -> _ParsedReply:
        choices = _dicts(document.get("choices"))
        if self._asks_for_choices():
            choices = choices[:1]
        for choice in choices:
            _check_no_error(choice)
        reason = _pick_reason(reason for choice in choices for reason in _reasons_in(choice))
        messages = [c["message"] for c in choices if isinstance(c.get("message"), dict)]
        if not messages and _end_of(reason) not in _ENDS_WITHOUT_CONTENT:
            words = f"no choices in the reply: {_to_text(document)}"
            raise _RequestFailed(words, "bad_response")
        message = _join_messages(messages)
        reply = _ParsedReply(
            message, _join_text(_dict(message).get("content")), self._calls_in(message)
        )
        reply.reason = reason
        refusal = _dict(message).get("refusal")
        if refusal:
            reply.refusal = _to_text(refusal)
        usage = self._find_usage(document, choices)
        tokens = _whole_number(usage.get("prompt_tokens"))
        cached = _cached_tokens(usage, "prompt_tokens_details")
        reply.count(tokens, usage.get("completion_tokens"), cached)
        return reply

    def _asks_for_choices(self) -> bool:
        return self.body_fields.get("n") is not None

    @staticmethod
    def _find_usage(document: _JsonObject, choices: List[_JsonObject]) -> _JsonObject:
        """Of the document; in streams also in a choice (Moonshot) or under x_groq."""
        of_choices = [choice.get("usage") for choice in choices]
        of_groq = _dict(document.get("x_groq")).get("usage")
        places = [document.get("usage"), *of_choices, of_groq]
        return next((usage for usage in map(_dict, places) if usage), {})

    def _new_assembler(self, on_text: Callable[[Any], None]) -> _Assembler:
        return _ChatAssembler(on_text, only_first=self._asks_for_choices())


def _words_of_item(item: _JsonObject) -> str:
    """What a message says, be it an answer or a refusal."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = _dicts(content)
    return "".join(_str(part.get("text")) or _str(part.get("refusal")) for part in parts)


class OpenAIResponses(_Adapter):
    """The Responses API, stateless; some models demand it for tools.

    OpenAIResponses("gpt-5", reasoning={"effort": "low"})

    Its settings, their defaults and what calling it raises are those of OpenAIChat.
    """

    _path = "/responses"
    _host = "https://api.openai.com/v1"
    _variable = "OPENAI"
    _list_name = "input"
    _limit_names = ("max_output_tokens",)
    _required_properties = frozenset((
        "type", "role", "content", "call_id", "name", "arguments", "summary", "encrypted_content",
    ))  # fmt: skip
    _own_items = ("message", "function_call", "reasoning")
    # Calls of a client's tools that the loop does not run: without an output they are
    # refused.
    _client_calls = (
        "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
    )  # fmt: skip

    def _login(self, key: str) -> Dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    # sending

    def _top_level_fields(self, conversation: _Conversation) -> _JsonObject:
        fields: _JsonObject = {}
        if self.system:
            fields["instructions"] = self.system
        fields["store"] = False
        fields["include"] = ["reasoning.encrypted_content"]
        if self.on_text is not None:
            fields["stream"] = True
        return fields

    def _encode_tool(self, tool: Tool) -> _JsonObject:
        described = _describe_tool(tool, "parameters")
        # Where `strict` is left out, it means true.
        return {"type": "function", **described, "strict": False}

    def _user_message(self, parts: List[Any]) -> _JsonObject:
        content = _make_parts(parts, "input_text", self._picture)
        return {"type": "message", "role": "user", "content": content}

    @staticmethod
    def _picture(url: str) -> _JsonObject:
        return {"type": "input_image", "image_url": url}

    def _compose(self, text: str, actions: List[AgentAction]) -> Any:
        said = {"type": "message", "role": "assistant", "content": text}
        calls = []
        for action in actions:
            name = _legal_name(action.tool, action.tool)
            call = {"type": "function_call", "name": name, "arguments": action.tool_input}
            calls.append(call)
        return [said, *calls]

    def _calls_in(self, message: Any) -> Optional[List[AgentAction]]:
        if not isinstance(message, list):
            return None
        return [
            AgentAction(_str(item.get("name")), item.get("arguments"), _str(item.get("call_id")))
            for item in _dicts(message)
            if item.get("type") == "function_call"
        ]

    def _put_result(self, conversation: _Conversation, call_id: str, step: AgentStep) -> None:
        parts = [self._observation_text(step), *_images_in(step.observation)]
        output = _make_parts(parts, "input_text", self._picture)
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        conversation.add(_encode_json(item))

    # cleaning what goes back

    def _clean_reply(
        self, message: Any, calls: List[AgentAction], placeholder: str, is_incomplete: bool
    ) -> List[_JsonObject]:
        remaining = iter(calls)
        answered = {
            item.get("call_id")
            for item in _dicts(message)
            if _str(item.get("type")).endswith("_output")
        }
        items = []
        for item in _dicts(message):
            item = self._without_store(item)
            if item.get("type") == "function_call":
                call = next(remaining)
                item = {**_clean_function(item, call.tool), "call_id": call.call_id}
            elif item.get("type") == "reasoning":
                item.setdefault("summary", [])
            if self._can_go_back(item, answered):
                items.append(item)
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # refused without the item that it came with
        if not items:
            items = [{"type": "message", "role": "assistant", "content": placeholder}]
        return items

    def _without_store(self, item: _JsonObject) -> _JsonObject:
        """An item without `id` and `status`: nothing is stored under it. Those of the
        server's own tools keep both, which their schemas ask for."""
        if item.get("type") not in self._own_items:
            return item
        return {key: value for key, value in item.items() if key not in ("id", "status")}

    def _can_go_back(self, item: _JsonObject, answered: Set[Any]) -> bool:
        """False for what is refused: an empty message, a reasoning item that only points
        into the store, a call that nobody answers."""
        kind = item.get("type")
        if kind == "message":
            return bool(_words_of_item(item).strip())
        if kind == "reasoning":
            return bool(item.get("encrypted_content") or item.get("content"))
        return kind not in self._client_calls or item.get("call_id") in answered

    # reading

    def _read(self, document: _JsonObject) -> _ParsedReply:
        output = document.get("output")
        reason = self._find_reason(document)
        if output is None and _end_of(reason) in _ENDS_WITHOUT_CONTENT:
            output = []
        if document.get("status") == "failed" or not isinstance(output, list):
            words = f"no output in the reply: {_to_text(document)}"
            raise _RequestFailed(words, "server")
        messages = [item for item in _dicts(output) if item.get("type") == "message"]
        texts = [_join_text(item.get("content"), "output_text") for item in messages]
        reply = _ParsedReply(output, "".join(texts), self._calls_in(output))
        self._find_final_answer(reply, messages, texts)
        reply.reason = reason
        reply.refusal = self._find_refusal(messages)
        usage = _dict(document.get("usage"))
        tokens = _whole_number(usage.get("input_tokens"))
        cached = _cached_tokens(usage, "input_tokens_details")
        reply.count(tokens, usage.get("output_tokens"), cached)
        return reply

    @staticmethod
    def _find_final_answer(
        reply: _ParsedReply, messages: List[_JsonObject], texts: List[str]
    ) -> None:
        """Where a message has the phase `final_answer`, the others are a comment."""
        final: List[str] = []
        other: List[str] = []
        for item, text in zip(messages, texts):
            part = final if item.get("phase") == "final_answer" else other
            part.append(text)
        if final:
            reply.answer = "".join(final)
            reply.comment = "".join(other)

    @staticmethod
    def _find_refusal(messages: List[_JsonObject]) -> Optional[str]:
        parts = [part for item in messages for part in _dicts(item.get("content"))]
        refusals = [_to_text(part["refusal"]) for part in parts if part.get("refusal")]
        return "".join(refusals) if refusals else None

    @staticmethod
    def _find_reason(document: _JsonObject) -> str:
        """The status; of an incomplete response why it is that: "content_filter"."""
        status = _str(document.get("status"))
        reason = _str(_dict(document.get("incomplete_details")).get("reason"))
        if status == "incomplete" and _end_of(reason) == "refused":
            return reason
        return status

    def _new_assembler(self, on_text: Callable[[Any], None]) -> _Assembler:
        return _ResponsesAssembler(on_text)


def _is_use(block: _JsonObject) -> bool:
    """True for a call of any tool: tool_use, server_tool_use, mcp_tool_use."""
    return _str(block.get("type")).endswith("tool_use")


def _is_server_use(block: _JsonObject) -> bool:
    return _is_use(block) and block.get("type") != "tool_use"


_PROPERTY_NAME = r"[a-zA-Z0-9_.-]{1,64}\Z"
_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicMessages(_Adapter):
    """The Messages API of Anthropic.

    AnthropicMessages("claude-sonnet-4-5", max_tokens=8000, cache=True)

    Its settings and what calling it raises are those of OpenAIChat. Default of `base_url`:
    the variable ANTHROPIC_BASE_URL, else https://api.anthropic.com; of `api_key`: the
    variable ANTHROPIC_API_KEY. Of its own it has

    Args:
        max_tokens: the output limit, which this API demands.
        cache: set breakpoints, so that system text, tools and history are cached; bytes
            then differ only in the one that moves on.
    """

    _path = "/messages"
    _host = "https://api.anthropic.com"
    _variable = "ANTHROPIC"
    _limit_names = ("max_tokens",)
    _id_pattern = r"[a-zA-Z0-9_-]+\Z"

    @_with_checked_settings
    def __init__(
        self,
        model: str,
        *,
        base_url: Optional[str] = None,
        api_key: Union[None, str, Callable[[], str]] = None,
        headers: Optional[Dict[str, str]] = None,
        system: Optional[str] = None,
        on_text: Optional[Callable[[str], Any]] = None,
        timeout: float = 600,
        deadline: Optional[float] = None,
        retries: int = 4,
        trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]] = None,
        max_observation: int = 20_000,
        ssl_context: Any = None,
        transport: Any = http_transport,
        max_tokens: int = 4096,
        cache: bool = False,
        **body: Any,
    ) -> None:
        super().__init__(
            model,
            base_url=base_url,
            api_key=api_key,
            headers=headers,
            system=system,
            on_text=on_text,
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            trim=trim,
            max_observation=max_observation,
            ssl_context=ssl_context,
            transport=transport,
            **body,
        )
        self.max_tokens = max_tokens
        self.cache = cache

    def _login(self, key: str) -> Dict[str, str]:
        headers = {"anthropic-version": "2023-06-01"}
        if key:
            headers["x-api-key"] = key
        return headers

    # sending

    def _top_level_fields(self, conversation: _Conversation) -> _JsonObject:
        fields: _JsonObject = {"max_tokens": self.max_tokens}
        if self.system:
            fields["system"] = self.system
        if self.system and self.cache:
            fields["system"] = self._mark_for_cache([self._block(self.system)])
        if conversation.container:
            fields["container"] = conversation.container
        if self.on_text is not None:
            fields["stream"] = True
        return fields

    def _mark_for_cache(self, entries: List[_JsonObject]) -> List[_JsonObject]:
        return [*entries[:-1], {**entries[-1], **_CACHE_MARK}] if self.cache else entries

    def _encode_open_message(self, conversation: _Conversation, is_last: bool = False) -> bytes:
        """At the end of a request it has the breakpoint, which then moves on."""
        if not (self.cache and is_last and conversation.open_parts):
            return super()._encode_open_message(conversation)
        message = self._user_message(conversation.open_parts)
        message["content"] = self._mark_for_cache(message["content"])
        return _encode_json(message)

    def _check_tool(self, tool: Tool) -> None:
        super()._check_tool(tool)
        for name in _dict(tool.parameters.get("properties")):
            if not re.match(_PROPERTY_NAME, name):
                raise ValueError(
                    f"Anthropic refuses the parameter {name!r} of the tool {tool.name!r}: "
                    f"use up to 64 of a-z, A-Z, 0-9, '_', '.' or '-'"
                )

    def _encode_tool(self, tool: Tool) -> _JsonObject:
        return _describe_tool(tool, "input_schema")

    def _user_message(self, parts: List[Any]) -> _JsonObject:
        content = [part if type(part) is dict else self._block(part) for part in parts]
        return {"role": "user", "content": content}

    @staticmethod
    def _block(part: Any) -> _JsonObject:
        """A str or a picture as a block: "hi" -> {"type": "text", "text": "hi"}."""
        if not _is_image(part):
            return {"type": "text", "text": part}
        data = _encode_base64(part.data)
        source = {"type": "base64", "media_type": part.media_type, "data": data}
        return {"type": "image", "source": source}

    def _compose(self, text: str, actions: List[AgentAction]) -> Any:
        content = [self._block(text)]
        for action in actions:
            name = _legal_name(action.tool, action.tool)
            content.append({"type": "tool_use", "name": name, "input": action.tool_input})
        return {"role": "assistant", "content": content}

    def _calls_in(self, message: Any) -> Optional[List[AgentAction]]:
        if not isinstance(message, dict):
            return None
        if message.keys() - {"container"} != {"role", "content"}:
            return None
        blocks = _dicts(message["content"])
        is_mistral = any(type(block.get("thinking")) is list for block in blocks)
        if is_mistral or not isinstance(message["content"], list):
            return None
        return [
            AgentAction(_str(block.get("name")), block.get("input"), _str(block.get("id")))
            for block in blocks
            if block.get("type") == "tool_use"
        ]

    def _put_result(self, conversation: _Conversation, call_id: str, step: AgentStep) -> None:
        text = self._observation_text(step)
        images = _images_in(step.observation)
        content = [self._block(part) for part in (text, *images)] if images else text
        block: _JsonObject = {"type": "tool_result", "tool_use_id": call_id}
        block["content"] = content
        if step.status != "ok" and not images:  # refused beside a picture
            block["is_error"] = True
        conversation.say([block])

    # cleaning what goes back

    def _clean_reply(
        self, message: Any, calls: List[AgentAction], placeholder: str, is_incomplete: bool
    ) -> List[_JsonObject]:
        remaining = iter(calls)
        content = _dicts(message["content"])
        if is_incomplete:
            content = self._without_halves(content)
        blocks = []
        for block in content:
            if _is_blank_text(block):
                continue  # returned at times, refused always
            if _is_use(block):
                block = {**block, "input": self._clean_input(block.get("input"))}
            if block.get("type") == "tool_use":
                call = next(remaining)
                name = _legal_name(block.get("name"), call.tool)
                block = {**block, "id": call.call_id, "name": name}
            blocks.append(block)
        thoughts = ("thinking", "redacted_thinking")
        if all(block.get("type") in thoughts for block in blocks):
            blocks.append(self._block(placeholder))  # thoughts alone are no message
        return [{"role": "assistant", "content": blocks}]

    @staticmethod
    def _clean_input(arguments: Any) -> _JsonObject:
        """None, '{"n": ' or [1] -> {}; an object as it came."""
        if type(arguments) is dict and _is_plain_json(arguments):
            return arguments
        return typing.cast(_JsonObject, json.loads(_strict_arguments(arguments)))

    @staticmethod
    def _without_halves(blocks: List[_JsonObject]) -> List[_JsonObject]:
        """The blocks of a reply that was cut, without those that lack a part."""
        answered = {block.get("tool_use_id") for block in blocks}
        whole = []
        for block in blocks:
            is_whole = True
            if block.get("type") == "thinking":
                is_whole = bool(block.get("signature"))
            elif block.get("type") == "compaction":
                is_whole = bool(block.get("content"))
            elif _is_server_use(block):
                is_whole = block.get("id") in answered
            if is_whole:
                whole.append(block)
        return whole

    # reading

    def _read(self, document: _JsonObject) -> _ParsedReply:
        content = document.get("content")
        reason = _str(document.get("stop_reason"))
        if content is None and _end_of(reason) in _ENDS_WITHOUT_CONTENT:
            content = []
        if isinstance(content, str):
            content = [self._block(content)]
        if not isinstance(content, list):
            words = f"no content in the reply: {_to_text(document)}"
            raise _RequestFailed(words, "bad_response")
        message: _JsonObject = {"role": "assistant", "content": content}
        if isinstance(document.get("container"), dict):
            message["container"] = document["container"]
        reply = _ParsedReply(message, _join_text(content), self._calls_in(message))
        reply.reason = reason
        if _end_of(reason) == "refused":
            details = _dict(document.get("stop_details"))
            reply.refusal = self._explain_refusal(reply.text, details)
        if _end_of(reply.reason) == "paused" and not content:
            reply.reason = ""  # there is nothing to go on with
        usage = _dict(document.get("usage"))
        cached = _whole_number(usage.get("cache_read_input_tokens"))
        written = _whole_number(usage.get("cache_creation_input_tokens"))
        tokens = _whole_number(usage.get("input_tokens")) + written + cached
        reply.count(tokens, usage.get("output_tokens"), cached)
        return reply

    @staticmethod
    def _explain_refusal(text: str, details: _JsonObject) -> str:
        """("", {"category": "cyber", "explanation": "No."}) -> "cyber: No." """
        why = [_str(details.get("category")), _str(details.get("explanation"))]
        return "\n".join(filter(None, [text, ": ".join(filter(None, why))]))

    def _new_assembler(self, on_text: Callable[[Any], None]) -> _Assembler:
        return _AnthropicAssembler(on_text)


# -- text ------------------------------------------------------------------------------------------

REACT_TEMPLATE = """Answer the question. You can use these tools:

{tools}

Write in this form, one action at a time, and stop after the Action Input:

Thought: what to do next
Action: one of {names}
Action Input: the arguments, as a JSON object
Observation: the result (this is given to you; never write it yourself)

These four may repeat. When you know the answer, or know that there is none:

Thought: why this is the answer
Final Answer: the answer

Trust the observations more than what you remember. Do not repeat a call that failed twice. When the
task cannot be done with these tools, say so in the Final Answer, with the reason.

Question: {task}
{steps}"""

_FORM_REMINDER = (
    "No Action and no Final Answer was found. Write 'Action: ...' or 'Final Answer: ...' "
    "at the start of a line."
)
_EMPTY_ANSWER = "Nothing follows 'Final Answer:'. Write the answer there."

# A draft in think tags is no part of the reply; a tag that is not closed hides the rest.
# The adapters have a rule of their own, `_without_draft`: in an answer, tags that do not
# lead it may be meant.
_THINKING = r"(?s)<think>.*?(?:</think>|\Z)"

_REACT_LABEL = r"""(?imsx)
    ^```.*?(?:^```|\Z)                # a code block: what stands in one is no label
    | ^[ \t>]* (?: (?P<opening>[#*_]+) [ \t]* )?
      (?P<label>Thought|Action\ Input|Action|Observation|Final\ Answer|Question)
      [ \t*_]* (?:\d+[ \t*_]*)?       # "Action 2"
      [:\uff1a]
      (?P<closing>[*_]*) [ \t]*
"""


def _find_labels(text: str) -> List["re.Match[str]"]:
    return [match for match in re.finditer(_REACT_LABEL, text) if match.group("label")]


def _without_thinking(completion: str) -> str:
    """Without its draft: "Hm.</think> Final Answer: 5" -> "Final Answer: 5".

    "Final Answer: use </think> there" stays: the answer goes on behind the tag.
    """
    # R1's chat template writes the opening tag into the prompt: a reply may begin inside.
    draft, closing, rest = completion.partition("</think>")
    if closing and "<think>" not in draft:
        rest = rest.lstrip(" \t")
        is_in_line = bool(rest.strip()) and rest[0] not in "\r\n"
        labels = [match.group("label").lower() for match in _find_labels(draft)]
        if not is_in_line or "final answer" not in labels or re.match(_REACT_LABEL, rest):
            completion = rest
    return re.sub(_THINKING, "", completion).strip()


class _ReActReply:
    """A completion, its labels found: "Thought: t\nAction: look" -> labels thought,
    action.

    Attributes:
        completion: the completion as it came.
        text: without its draft in think tags.
        labels: the matches of _REACT_LABEL outside code blocks, in order.
    """

    def __init__(self, completion: str) -> None:
        self.completion = completion
        self.text = _without_thinking(completion)
        self.labels = _find_labels(self.text)

    def find(self, *names: str, after: int = -1) -> Optional["re.Match[str]"]:
        """The first label of one of these names, or of any, behind a position."""
        for match in self.labels:
            if match.start() > after and (not names or match.group("label").lower() in names):
                return match
        return None

    def has_label_anywhere(self) -> bool:
        """Also in code blocks, where a model may have put its whole reply."""
        label = r"(?:Thought|Action|Action Input|Final Answer)[ \t*_]*[:\uff1a]"
        return re.search(rf"(?im)^[ \t>#*_]*{label}", self.text) is not None

    def read_answer(self, label: "re.Match[str]") -> AgentFinish:
        """The answer behind a Final Answer label, without the markup that belongs to the
        label.

        "**Final Answer:** **42** items" -> "**42** items". A completion model goes on
        with the next question, which it invents, and replies to it: the answer ends there.
        """
        invented = self.find("observation", "question", after=label.start())
        if invented and invented.group("label").lower() == "question":
            replies = ("thought", "action", "final answer")
            if not self.find(*replies, after=invented.start()):  # a line of the answer
                invented = self.find("observation", after=label.start())
        answer = self.text[label.end() : invented.start() if invented else None].strip()
        if label.group("opening") and not label.group("closing"):
            answer = answer.rstrip("*_ ")
        bold = re.fullmatch(r"\*\*(\*?[^*\n]+(?:\*[^*\n]+)*)\*\*", answer)
        if bold:
            answer = bold.group(1).strip()
        if not answer:
            raise InvalidResponse(_EMPTY_ANSWER, self.completion, self.text)
        return AgentFinish(answer, self.text, self.completion)

    def read_action(self, label: "re.Match[str]") -> AgentAction:
        """The call behind an Action label, its input still a text. What follows it was
        invented, and is not in the log.

        Beside "Action: search" and an Action Input, models write 'Action: search
        ({"query": "x"})'. Other words in parentheses are the input where none follows.
        """
        text = self.text
        name = text[label.end() :].partition("\n")[0]
        given = ""
        end = line_end = label.end() + len(name)
        inline = re.match(r"[^({]*\w[^\w({]*(?=[({])", name)
        json_input = None
        if inline:
            name = inline.group()
            start = label.end() + inline.end()
            if text[start] == "(":
                start += 1
            given = text[start:line_end].strip().rstrip(")")
            json_input = _read_json_input(text, start)
        following = self.find(after=label.start())
        if json_input:
            given, end = json_input
        elif following and following.group("label").lower() == "action input":
            invented = self.find(after=following.start())
            section_end = invented.start() if invented else len(text)
            rest = text[following.end() : section_end].strip()
            given, end = _read_json_input(text, following.end()) or (rest, section_end)
        elif not inline:
            json_input = _read_json_input(text, line_end)  # its label was forgotten
            if json_input and json_input[0].lstrip().startswith("{"):
                given, end = json_input
        name = name.strip(" \t\r*_`'\"[]()")  # "**`search`** "
        return AgentAction(name, given, "", text[:end].rstrip(), self.completion)


def _read_json_input(text: str, start: int) -> Optional[Tuple[str, int]]:
    """A fenced block or one JSON value at a position, and its end; None for others."""
    fence = re.compile(r"(?s)\s*```[\w-]*[ \t]*\n(.*?)\n[ \t]*```").match(text, start)
    if fence:
        return fence.group(1), fence.end()
    opening = re.compile(r"\s*(?=[{\[])").match(text, start)
    if opening is None or _is_deeper(text[start:], _MAX_DEPTH):
        return None
    try:
        end = _loose_decoder.raw_decode(text, opening.end())[1]
    except ValueError:
        return None
    return text[opening.end() : end], end


_NOTHING = ("", "none", "null", "n/a")  # as the name of a tool, or as its input
# '{"n": ', or search(query="x"); "x = 5" and further statements are code, a text.
_BROKEN_OBJECT = r"\{|\w+\s*=[^;\n]*\Z"


class ReActText:
    """Any text completion as a model: Thought / Action / Action Input / Observation /
    Final Answer.

    An input that is no object is the value of the tool's one required parameter. A reply
    without any label is the answer. Raises TypeError where `complete` returns no str,
    InvalidResponse where a reply has neither an action nor an answer.

    Args:
        complete: any function complete(prompt: str) -> str, such as
            OpenAIChat("NAME", stop=["\\nObservation:"]).complete. Let it stop there:
            models go on, and invent the observation. Only an adapter's own `complete`
            adds its tokens to `run.usage`; a function that calls it, such as a lambda,
            gives a text and no counts.
        template: see REACT_TEMPLATE; {tools}, {names}, {task} and {steps} are filled in.
        trim: how many replies are sent, the last ones; or a function from the steps to
            those to send, which may return changed copies of them; ValueError for other
            steps. Default: all.
        max_observation: characters of an observation that are sent; the middle is cut.
    """

    def __init__(
        self,
        complete: Callable[[str], str],
        template: str = REACT_TEMPLATE,
        *,
        trim: Union[None, int, Callable[[List[AgentStep]], List[AgentStep]]] = None,
        max_observation: int = 20_000,
    ) -> None:
        self.complete = complete
        self.template = template
        self.trim = trim
        self.max_observation = max_observation

    def __call__(self, run: AgentRun, tools: Registry) -> Decision:
        completion = self._complete_and_count(self.prompt(run, tools), run)
        if isinstance(completion, AgentFinish):
            return completion
        reply = _ReActReply(completion)
        called = reply.find("action")
        final = reply.find("final answer")
        if called:
            action = reply.read_action(called)
            if action.tool.lower() in _NOTHING and action.tool not in tools:
                called = None  # "Action: None" means an answer
        if final and (called is None or final.start() < called.start()):
            return reply.read_answer(final)
        if called is None:
            return self._decide_unlabelled(reply, tools)
        action.tool_input = self._as_arguments(action.tool_input, tools.get(action.tool))
        return action

    def prompt(self, run: AgentRun, tools: Registry) -> str:
        """The prompt as it would go out now. Without `trim` it only grows."""
        turns = _trim_turns([*run.history, run], self.trim)
        written = []
        for number, turn in enumerate(turns):
            if number > 0:
                written.append(f"\nQuestion: {_to_text(turn.task)}\n")
            for step in turn.steps:
                text = _cut_middle(_to_text(step.observation), self.max_observation)
                written.append(f"{self._show_action(step.action)}\nObservation: {text}\n")
            if turn.finish is not None and turn.finish.reason != "return_direct":
                written.append(f"Final Answer: {_to_text(turn.finish.output)}\n")
        described = []
        for tool in tools.values():
            arguments = _to_text(tool.parameters)
            described.append(f"{tool.name}: {tool.description} Arguments: {arguments}")
        parts = {
            "tools": "\n".join(described) or "(none)",
            "names": ", ".join(tools),
            "task": _to_text(turns[0].task),
            "steps": "".join(written),
        }
        # One pass, so that a task with "{steps}" in it stays as it is.
        field = r"\{(tools|names|task|steps)\}"
        return re.sub(field, lambda match: parts[match.group(1)], self.template)

    def _show_action(self, action: AgentAction) -> str:
        """What the model wrote, up to its Action Input; composed for another model."""
        if isinstance(action.message, str) and action.log:
            return action.log
        if not action.tool:
            return f"Thought: {action.log or '(nothing to read)'}"
        call = f"Action: {action.tool}\nAction Input: {_to_text(action.tool_input)}"
        if action.log:
            return f"Thought: {action.log}\n{call}"
        return call

    def _complete_and_count(self, prompt: str, run: AgentRun) -> Union[str, AgentFinish]:
        """The completion, or a refusal of an adapter's model.

        Where `complete` is `adapter.complete`, which gives a text alone, the adapter is
        asked instead: its tokens count, and it says whether the text is a refusal.
        """
        adapter = getattr(self.complete, "__self__", None)  # of a bound method
        if isinstance(adapter, _Adapter) and self.complete == adapter.complete:
            request = AgentRun(prompt)
            try:
                finish = adapter._complete_run(request)
            finally:  # a reply that cannot be read has cost tokens, too
                _add_usage(run, request.usage)
            return finish if finish.reason == "refusal" else _to_text(finish.output)
        completion = self.complete(prompt)
        if not isinstance(completion, str):
            raise TypeError(f"complete(prompt) returns a str; got {_preview(completion)}")
        return completion

    def _as_arguments(self, given: str, tool: Optional[Tool]) -> Any:
        """The input as arguments: "Rome" -> {"city": "Rome"}; the text if unclear."""
        try:
            value = _parse_loosely(given)
        except ValueError:
            value = given
        if type(value) is dict:
            return value
        if given.strip().lower() in _NOTHING:
            return {}
        if re.match(_BROKEN_OBJECT, given.strip()):
            return given
        schema = tool.parameters if tool else {}
        properties = schema.get("properties") or {}
        names = list(schema.get("required") or properties)
        if len(names) != 1:
            return given
        if _dict(properties.get(names[0])).get("type") == "string" and type(value) is not str:
            value = given.strip()  # 1.10 is a text there, not the number 1.1
        return {names[0]: value}

    def _decide_unlabelled(
        self, reply: _ReActReply, tools: Registry
    ) -> Union[AgentAction, AgentFinish]:
        """A call or an answer as one JSON object; else the text is the answer."""
        wrapped = self._read_wrapped(reply.text)
        if wrapped is None and reply.text and not reply.has_label_anywhere():
            return AgentFinish(reply.text, reply.text, reply.completion)
        wrapped = wrapped or {}
        name = _to_text(wrapped.get("action", ""))
        tool_input = wrapped.get("action_input")
        if name.lower() == "final answer":
            if tool_input is None or not _to_text(tool_input).strip():
                raise InvalidResponse(_EMPTY_ANSWER, reply.completion, reply.text)
            return AgentFinish(tool_input, reply.text, reply.completion)
        if name in tools:
            arguments = self._as_arguments(_to_text(tool_input), tools[name])
            return AgentAction(name, arguments, "", reply.text, reply.completion)
        raise InvalidResponse(_FORM_REMINDER, reply.completion, reply.text)

    @staticmethod
    def _read_wrapped(text: str) -> Optional[_JsonObject]:
        """{"action": "look", "action_input": 1}, bare, fenced, or below a key; else None."""
        json_input = _read_json_input(text, 0)
        try:
            value = _parse_loosely(json_input[0] if json_input else text)
        except ValueError:
            return None
        if isinstance(value, dict) and len(value) == 1 and "action" not in value:
            value = next(iter(value.values()))
        return value if isinstance(value, dict) and "action" in value else None


# == command line ==================================================================================
#
# Events and notes go to standard error, the answer to standard output. Where these are terminals a
# person reads along: text appears as it arrives, a wait is visible, control characters are escaped.


def _run_demo() -> int:
    """A scripted model on a real loop: it gets a call wrong, reads the observation, corrects it."""

    def lookup_stock(sku: str, warehouse: Literal["north", "south"] = "north") -> _JsonObject:
        """Return the quantity that can be sold now; read-only, reserves nothing."""
        return {"sku": sku, "available": {"A1": 3}.get(sku, 0)}

    script = [
        AgentAction("lookup_stock", {"sku": "A1", "warehouse": "nord"}),
        AgentAction("lookup_stock", {"sku": "A1", "warehouse": "north"}),
        AgentFinish("3 of A1 can be sold now; nothing is reserved."),
    ]
    run = AgentRun("How many A1 can we sell from the north warehouse?")
    print("A demo without network and key: the model is a script, the loop and the tool are real.")
    print(f"task: {run.task}")
    for event in stream(Scripted(script), run, [lookup_stock], max_requests=5):
        print(f"request {run.requests}/5  {event}")
    command = 'python3 agentloop.py "your question" --tools my_tools.py --model NAME'
    print(f"state: {run.state}. Next: {command}")
    return 0


# -- what a person sees and says -------------------------------------------------------------------


def _is_terminal(stream: Any) -> bool:
    """False also for None, which standard streams are under pythonw and some services, and for
    one of the caller's that can only be written to."""
    return hasattr(stream, "isatty") and bool(stream.isatty())


def _is_closed(stream: Any) -> bool:
    """True for None, a stream that was closed, a number that is no open file (`2>&-` in a shell)."""
    if not hasattr(stream, "fileno"):
        return stream is None
    if getattr(stream, "closed", False):
        return True
    try:
        os.fstat(stream.fileno())
    except OSError as error:  # a notebook's stream has no number, and no errno
        return error.errno == errno.EBADF
    return False


def _has_colours() -> bool:
    """Of a terminal: whether it says so, and never with NO_COLOR (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if "COLORTERM" in os.environ or "WT_SESSION" in os.environ:  # the second is Windows Terminal
        return True
    return "color" in os.environ.get("TERM", "")  # xterm-256color


def _escape_lines(text: str) -> str:
    r"""Text for a terminal: "a<escape>b" -> "a\x1bb"; line ends and tabs are kept."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(_escape, line.split("\t"))) for line in lines)


def _print_err(text: str, end: str = "\n") -> None:
    """To standard error. Where nobody reads it any more (`2> >(head -1)`), the run goes on."""
    with contextlib.suppress(ValueError):  # it was closed
        try:
            print(text, end=end, file=sys.stderr, flush=True)
        except OSError:
            _drop_output(2)


class _Screen:
    """Writes what happens in a turn, and what comes of it."""

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self.shows_waits = _is_terminal(sys.stderr)
        self.shows_colours = self.shows_waits and _has_colours()
        self.streams_text = _is_terminal(sys.stdout)
        self.began = time.monotonic()
        self.streamed = ""  # the text of the reply that is under way, as far as it is shown
        self._held_back = ""  # received, but not shown yet
        self._wait_ended: Any = None
        self._counter: Any = None

    def begin_turn(self) -> None:
        self.began = time.monotonic()
        self.streamed = ""

    def wait(self) -> None:
        """From here on a model or a tool is at work: "... 3 s" in a terminal's last line."""
        self.stop_waiting()
        if self.shows_waits:
            import threading

            self._wait_ended = threading.Event()
            counter = threading.Thread(target=self._count_seconds, daemon=True)
            with contextlib.suppress(RuntimeError):  # no more threads
                counter.start()
                self._counter = counter

    def stop_waiting(self) -> None:
        if self._counter is not None:
            self._wait_ended.set()
            self._counter.join()
            self._counter = None

    def _count_seconds(self) -> None:
        seconds = 0
        while not self._wait_ended.wait(1.0):
            seconds += 1
            _print_err(f"\r... {seconds} s", end="")
        if seconds:
            _print_err("\r" + " " * 20 + "\r", end="")

    def show_text(self, text: str) -> None:
        """A piece of the reply, as it arrives."""
        self.stop_waiting()
        # A piece may end within a CRLF or a character, or with a joiner: it waits for the rest.
        text = _join_halves(self._held_back + text)
        end = len(text) - 1 if re.match("[\r\ud800-\udbff\u200c\u200d]", text[-1:]) else len(text)
        self._held_back = text[end:]
        self.streamed += text[:end]
        self._write_out(text[:end], end="")

    def show(self, text: str, colour: str = "") -> None:
        self._write_err(self._paint(_escape_lines(text), colour))

    def show_event(self, run: AgentRun, event: Event) -> None:
        colour = ""
        if isinstance(event, AgentStep):
            colour = "32" if event.status == "ok" else "33"
        self._show_progress(run, str(event), colour)
        if isinstance(event, AgentStep) and event.status == "invalid_response":
            for line in _cut_middle(event.action.log, 2_000).splitlines():
                self.show(f"    | {line}")

    def show_answer(self, run: AgentRun) -> None:
        answer = _to_text(run.output)
        shown = (self.streamed + self._held_back).strip()
        self._end_streamed_line()
        if not shown or not shown.endswith(answer.strip()):  # a draft may stand before it
            self._write_out(answer, end="\n")

    def show_totals(self, run: AgentRun, was_recorded: bool) -> None:
        """The last line: state, requests, tokens and seconds, and what to do about an ending."""
        parts = [run._show_totals(), f"{time.monotonic() - self.began:.1f} s"]
        if run.state == "budget_exhausted":
            parts.append("a larger budget: --max-requests N")
        if run.finish is not None and run.finish.reason == "refusal":
            parts.append("the model refused")
        if was_recorded:
            parts.append("recorded in the journal, nothing was asked")
        self._show_progress(run, "; ".join(parts), "1")

    def _show_progress(self, run: AgentRun, text: str, colour: str) -> None:
        seconds = time.monotonic() - self.began
        count = f"{seconds:6.1f} s  request {run.requests}/{self.max_requests}"
        self._write_err(f"{self._paint(count, '2')}  {self._paint(text, colour)}")

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.shows_colours and colour else text

    def _write_err(self, text: str) -> None:
        self.stop_waiting()
        self._end_streamed_line()
        _print_err(text)

    def _end_streamed_line(self) -> None:
        if self.streamed and not self.streamed.endswith("\n"):
            print(flush=True)
        self.streamed = self._held_back = ""

    def _write_out(self, text: str, end: str) -> None:
        if self.streams_text:
            text = _escape_lines(text)
        print(text, end=end, flush=True)


def _read_line(prompt: str) -> Optional[str]:
    """A line from standard input, None at its end; on a terminal with line editing and history."""
    if _is_terminal(sys.stdin) and _is_terminal(sys.stdout) and sys.stdin is sys.__stdin__:
        with contextlib.suppress(ImportError):  # Windows has none, its console edits lines itself
            import readline  # noqa: F401  importing it gives `input` its line editing
        try:
            return _decode_rest(input(prompt))
        except EOFError:
            print()  # ends the line of the prompt
            return None
    if _is_terminal(sys.stdin):  # `input` would write the prompt into the answer
        _print_err(prompt, end="")
    line = sys.stdin.readline() if sys.stdin is not None else ""
    return _decode_rest(line).lstrip("\ufeff").rstrip("\n") if line else None  # a byte order mark


def _decode_rest(text: str) -> str:
    r"""What the locale could not decode, as where LANG is C, is UTF-8: "\udcc3\udcbc" -> "\xfc"."""

    def decode(match: "re.Match[str]") -> str:
        return match.group().encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    return re.sub("[\udc80-\udcff]+", decode, text)


def _read_all() -> str:
    """The question from standard input. A byte order mark says how it is encoded, as editors and
    PowerShell write it; without one it is as the console has it."""
    import codecs

    if sys.stdin is None:
        return ""
    if not hasattr(sys.stdin, "buffer"):
        return str(sys.stdin.read()).strip()
    data = sys.stdin.buffer.read()
    if data.startswith(codecs.BOM_UTF8):
        text = data.decode("utf-8-sig", "replace")
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = _decode_rest(data.decode(sys.stdin.encoding, "surrogateescape"))
    return str(text).strip()


# -- the program -----------------------------------------------------------------------------------

_COMMAND_EXAMPLES = """\
examples:
  python3 agentloop.py
      a demo, offline
  python3 agentloop.py "Rain in Paris?" --tools my_tools.py --model NAME
      one question; my_tools.py holds plain Python functions with type hints
  python3 agentloop.py --model NAME --base-url http://127.0.0.1:8080/v1
      a conversation with a server of your own, line by line
  python3 agentloop.py "Tidy up." --tools my_tools.py --model NAME --ask --journal run.jsonl
      asks before each call; the same line again resumes after a crash

The key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY.

exit status: 0 answer, 1 the server failed, 2 wrong use, 3 budget spent, 4 refusal, 130 Ctrl-C
"""


def _make_parser() -> Any:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            _print_err(f"agentloop: {_one_line(message, 600)} (--help shows all options)")
            self.exit(2)

    parser = Parser(
        prog="agentloop",
        description="Ask a language model that may call your Python functions.",
        epilog=_COMMAND_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    apis = ["chat", "responses", "anthropic", "text"]
    model = os.environ.get("AGENTLOOP_MODEL")
    is_set = {"action": "store_true"}
    options: List[Tuple[str, _JsonObject, str]] = [
        ("question", {"nargs": "?", "type": _decode_rest},
         "what to ask; - reads it from standard input; without: a conversation"),
        ("--tools", {"metavar": "FILE.py"}, "a Python file; the model may call its public functions"),
        ("--ask", is_set, "ask me before each call of a tool that is not read_only"),
        ("--schema", is_set, "print what a model is told of the tools, and end"),
        ("--model", {"metavar": "NAME", "default": model},
         "the model's name on the server; default: AGENTLOOP_MODEL"),
        ("--base-url", {"metavar": "URL"}, "the server, for example http://127.0.0.1:8080/v1"),
        ("--api", {"choices": apis},
         "what the server speaks; default: that of the key that is set, else chat"),
        ("--system", {"metavar": "TEXT", "type": _decode_rest}, "the system text"),
        ("--max-requests", {"type": int, "default": 10, "metavar": "N"},
         "the budget: how often the model may be asked for one answer; default 10"),
        ("--timeout", {"type": float, "metavar": "SECONDS"}, "the longest silence of the server"),
        ("--deadline", {"type": float, "metavar": "SECONDS"}, "the longest time for one request"),
        ("--set", {"action": "append", "default": [], "metavar": "KEY=JSON"},
         "a field of the request or a setting: temperature=0.2, retries=0"),
        ("--journal", {"metavar": "FILE"}, "keep the run; the same line resumes after a crash"),
        ("--json", is_set, "print the whole run as JSON"),
        ("--version", is_set, "print version and sha256 of the file"),
    ]  # fmt: skip
    for name, settings, text in options:
        parser.add_argument(name, help=text, **settings)
    return parser


def _parse_options(arguments: List[str]) -> Any:
    parser = _make_parser()
    options, rest = parser.parse_known_args(arguments)
    unknown = [text for text in rest if text.startswith("-")]
    if unknown:
        # What is shown holds no value: it may be a key.
        names = ", ".join(text.partition("=")[0] for text in unknown)
        parser.error(f"unknown option: {names}")
    if rest:
        parser.error("the question is one argument: put it in quotes")
    return options


def _prepare_streams() -> None:
    """Make the standard streams usable: closed ones, small encodings, undecodable bytes."""
    out: Any
    stdin: Any = sys.stdin
    for name in ("stdout", "stderr"):
        if _is_closed(getattr(sys, name)):  # subtle: print(file=None) writes to the other
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for out in (sys.stdout, sys.stderr):
        if hasattr(out, "reconfigure"):
            out.reconfigure(errors="backslashreplace")  # a console that is cp1252 or ASCII
    if hasattr(stdin, "reconfigure"):
        with contextlib.suppress(ValueError):  # it has been read from
            stdin.reconfigure(errors="surrogateescape")  # for `_decode_rest`


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line; `arguments` as in sys.argv[1:]. Returns the exit status: 0 answer, 1 the
    server failed, 2 wrong use, 3 budget spent, 4 refusal, 130 Ctrl-C."""
    _prepare_streams()
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        try:
            return _run_command(_parse_options(arguments), arguments)
        finally:
            print(end="", flush=True)  # what fails, fails here, and not at the end of Python
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of `| head` has left
        _drop_output(1)
        return 0
    except (ValueError, TypeError, OSError) as error:
        _print_err(f"agentloop: {_one_line(_safe_str(error), 600)}")
        if getattr(error, "errno", None) not in (errno.ENOSPC, errno.EIO):
            return 2
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output(1)
        return 1


def _drop_output(number: int) -> None:
    """What standard output (1) or error (2) still holds goes nowhere; else Python would fail at
    its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _run_command(options: Any, arguments: List[str]) -> int:
    if options.version:
        print(f"agentloop {__version__}, sha256 {_hash_of_this_file()}")
        return 0
    if not arguments:
        return _run_demo()
    tools = {} if options.tools is None else _load_tools(options.tools)
    if options.schema:
        _print_schema(tools)
        return 0
    if not options.model:
        raise ValueError("--model NAME is missing: the model's name on the server")
    if options.max_requests < 0:
        raise ValueError("--max-requests is 0 or more")
    return _Session(options, tools).run()


def _hash_of_this_file() -> str:
    import hashlib

    loader: Any = globals().get("__loader__")
    path = globals().get("__file__", "")
    try:
        if hasattr(loader, "get_data"):  # in a zip too
            data = loader.get_data(path)
        else:
            with open(path, "rb") as file:
                data = file.read()
    except OSError:  # run by exec, read from standard input, frozen into a program
        return "unknown: this file cannot be found"
    return hashlib.sha256(data).hexdigest()


def _print_schema(tools: Registry) -> None:
    schemas = [
        {"name": t.name, "description": t.description, "parameters": t.parameters}
        for t in tools.values()
    ]
    if _is_terminal(sys.stdout):
        print(_escape_lines(json.dumps(schemas, indent=2, ensure_ascii=False)))
    else:  # another program reads it: JSON that every encoding holds
        print(json.dumps(schemas, indent=2))


def _load_tools(path: str) -> Registry:
    """The public functions and Tools that a Python file defines; ValueError where there are none."""
    try:
        module = _load_module(path)
        names = [name for name in vars(module) if name[0] != "_" and name != "main"]
        public = getattr(module, "__all__", names)
        found = [v for n, v in vars(module).items() if n in public and _is_defined_in(module, v)]
        tools = registry(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also sys.exit()
        raise ValueError(f"--tools {path}: {type(error).__name__}: {_safe_str(error)}") from error
    if not tools:
        raise ValueError(f"--tools {path}: no public function in it")
    return tools


def _load_module(path: str) -> Any:
    """The file as a module. Its name is none of Python's, and its folder comes last on the path:
    an email.py there must not stand in for Python's own."""
    import importlib.util

    if not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, "no such Python file", path)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = "agentloop_tools_" + re.sub(r"\W", "_", stem)
    spec: Any = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ValueError("not a Python file: its name ends in .py")
    if __name__ in sys.modules:  # `import agentloop` in it means this file
        sys.modules.setdefault("agentloop", sys.modules[__name__])
    sys.path.append(os.path.dirname(os.path.abspath(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_defined_in(module: Any, value: Any) -> bool:
    """True for functions and Tools of the module, not for those that it imports."""
    if inspect.isfunction(value):
        return bool(value.__module__ == module.__name__)
    if not _is_tool(value):
        return False
    home = sys.modules.get(getattr(value.function, "__module__", None) or "")
    return home is None or home is module or not any(v is value for v in vars(home).values())


_NOT_SETTABLE = ("self", "model", "messages", "input", "on_text", "transport", "ssl_context")


def _parse_settings(pairs: List[str]) -> _JsonObject:
    """["temperature=0.2"] -> {"temperature": 0.2}; ValueError with the fix for what does not fit."""
    settings: _JsonObject = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        # What is shown holds no value: it may be a key.
        option = f"--set {name}" if mark and name.isidentifier() else "--set"
        try:
            value = _parse_json(text)
        except ValueError:
            raise ValueError(
                f"{option}: expected KEY=JSON, for example temperature=0.2 or, with quotes "
                "around a text, 'user=\"ann\"'"
            ) from None
        if not name.isidentifier() or name in _NOT_SETTABLE:
            raise ValueError(f"{option}: this cannot be set")
        _check_option(option, name, value)
        settings[name] = value
    return settings


def _check_option(option: str, name: str, value: Any) -> None:
    """ValueError for a setting of the adapter that does not look as it must.

    Other names are fields of the request.
    """
    shapes: List[Tuple[str, str, Callable[[Any], bool]]] = [
        # An empty one, of a shell's variable that is not set, would mean the default server.
        ("base_url", "a URL", lambda v: v.strip() != ""),
        ("timeout deadline", "a number of seconds above 0, at most 1e9", lambda v: v <= 1e9),
        ("max_tokens", "an int above 0", lambda v: type(v) is int and v > 0),
        ("tools", "a list of objects", lambda v: type(v) is list and all(type(t) is dict for t in v)),
        ("headers", "an object of texts", lambda v: all(type(t) is str for t in v.values())),
        (name, "a JSON value", _is_plain_json),
    ]  # fmt: skip
    for names, expected, fits in (*_SETTINGS, *shapes):
        if name in names.split() and not fits(value):
            raise ValueError(f"{option}: {name} is {expected}")


class _Session:
    """One use of the command line with a model: a question, or a conversation."""

    def __init__(self, options: Any, tools: Registry) -> None:
        self.options = options
        self.tools = tools
        self.screen = _Screen(options.max_requests)
        self.always_approved: Set[str] = set()  # names of tools
        self.model = self._make_model()

    def _make_model(self) -> Any:
        """The model that the options name; a line says which it is."""
        options = self.options
        settings: _JsonObject = {}
        for name in ("base_url", "system", "timeout", "deadline"):
            value = getattr(options, name)
            if value is not None:
                _check_option(f"--{name.replace('_', '-')} {value}", name, value)
                settings[name] = value
        settings.update(_parse_settings(options.set))
        api = options.api or "chat"
        reason = ""
        has_key = {name for name in ("OPENAI", "ANTHROPIC") if os.environ.get(f"{name}_API_KEY")}
        if options.api is None and has_key == {"ANTHROPIC"}:
            api = "anthropic"
            reason = " (ANTHROPIC_API_KEY is set)"
        text_settings = {}
        if api == "text":
            settings.setdefault("stop", ["\nObservation:"])
            own = settings.keys() & {"trim", "max_observation"}
            text_settings = {name: settings.pop(name) for name in own}
        elif self.screen.streams_text and not options.json:
            settings["on_text"] = self.screen.show_text
        classes: _JsonObject = {"responses": OpenAIResponses, "anthropic": AnthropicMessages}
        model = classes.get(api, OpenAIChat)(options.model, **settings)
        _print_err(_one_line(f"api: {api}{reason}, {model!r}", 400))
        return ReActText(model.complete, **text_settings) if api == "text" else model

    def run(self) -> int:
        """Ask, or converse. What the library logs (retries, hints) is shown meanwhile."""
        import logging

        screen = self.screen

        class Notes(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                screen.show(f"note: {_one_line(record.getMessage(), 1_500)}", "33")
                screen.wait()

        logger = logging.getLogger("agentloop")
        notes = Notes()
        logger.addHandler(notes)
        try:
            run = self._load_run()
            if self.options.question is None:
                return self._converse(run)
            return self._ask(run)
        finally:
            logger.removeHandler(notes)

    def _load_run(self) -> Optional[AgentRun]:
        """The last turn in the journal, None where it has no turns yet."""
        path = self.options.journal
        if not path or not os.path.exists(path):
            return None
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if not file.readline().endswith(b"\n"):  # empty, or its one line was torn
                    return None
        return AgentRun.load(path)

    def _ask(self, run: Optional[AgentRun]) -> int:
        question = self.options.question
        if question == "-":
            question = _read_all()
        if not question.strip():
            raise ValueError("the question is empty")
        if run is None:
            run = AgentRun(question)
        elif run.task != question:
            run = run.follow_up(question)
        try:
            return self._run_turn(run)
        except KeyboardInterrupt:
            self.screen.show(f"interrupted; {run._show_totals()}", "1")
            return 130

    def _converse(self, run: Optional[AgentRun]) -> int:
        """Each line is the next turn. Ctrl-C ends the turn; a second one within a second ends all."""
        status = 0
        interrupted = -1.0
        if _is_terminal(sys.stdin):
            self.screen.show("a conversation: Ctrl-C ends a turn, Ctrl-D the conversation", "1")
        resumes = run is not None and run.state == "running"
        while True:
            try:
                if run is not None and resumes:
                    resumes = False
                    status = self._run_turn(run)
                line = _read_line("> ")
                if line is None:
                    return status
                if line.strip():
                    run = run.follow_up(line.strip()) if run else AgentRun(line.strip())
                    status = self._run_turn(run)
            except KeyboardInterrupt:
                self.screen.show("\ninterrupted", "1")
                now = time.monotonic()
                if not _is_terminal(sys.stdin) or now - interrupted < 1.0:
                    return 130
                interrupted = now

    def _run_turn(self, run: AgentRun) -> int:
        """Returns the exit status."""
        screen = self.screen
        screen.begin_turn()
        has_answered = False
        failed = 0
        events = stream(
            self.model, run, self.tools,
            max_requests=self.options.max_requests, journal=self.options.journal,
        )  # fmt: skip
        try:
            screen.wait()
            for event in events:
                if isinstance(event, AgentFinish):
                    has_answered = True
                    continue
                screen.show_event(run, event)
                if self.options.ask and isinstance(event, AgentAction):
                    self._approve(run, event)
                screen.wait()
        except ModelError as error:
            screen.show(_one_line(str(error), 1_500), "31")
            failed = 1
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit(), asyncio.CancelledError
            reason = f"{type(error).__name__}: {_safe_str(error)}"
            screen.show(_one_line(f"a tool ended the program: {reason}", 1_500), "31")
            failed = 2
        finally:
            events.close()
            screen.stop_waiting()
        return self._end_turn(run, failed, has_answered)

    def _end_turn(self, run: AgentRun, failed: int, has_answered: bool) -> int:
        """Show what came of a turn. `failed`: its exit status where it was interrupted."""
        if self.options.json:
            print(json.dumps(to_json(run), indent=2), flush=True)
        elif run.finish is not None:
            self.screen.show_answer(run)
        if failed:
            return failed
        was_recorded = run.finish is not None and not has_answered
        self.screen.show_totals(run, was_recorded)
        if run.finish is None:
            return 3
        return 4 if run.finish.reason == "refusal" else 0

    def _approve(self, run: AgentRun, action: AgentAction) -> None:
        """Ask the person before a call that may change something; a denial closes the call.

        What cannot run is not asked about: an unknown tool, arguments that are none.
        """
        tool = self.tools.get(action.tool)
        if tool is None or tool.read_only or action.arguments is None:
            return
        if tool.name in self.always_approved:
            return
        self.screen.show(f"run {action.tool}?", "1")
        for name, value in action.arguments.items():  # whole: nobody approves what is cut off
            lines = _to_text(value).replace("\n", "\n    | ")  # it must not look like more values
            self.screen.show(f"  {_escape(name)} = {lines}")
        line = None
        if self.options.question is not None or _is_terminal(sys.stdin):
            line = _read_line("[y]es, [a]lways for this tool, or [n]o and a reason: ")
        if line is None:  # or the lines are questions
            run.close(action, "Denied: nobody was there to be asked.", "denied")
            return
        answer = line.strip()  # all of it counts: "yes, but after a backup" is none
        if answer.lower() in ("a", "always"):
            self.always_approved.add(tool.name)
        if answer.lower() in ("y", "yes", "a", "always"):
            return
        word, _, reason = answer.partition(" ")
        if word.lower() not in ("n", "no"):
            reason = answer
        denial = f"The user denied this call: {reason}" if reason else "The user denied this call."
        run.close(action, denial, "denied")


def _is_the_program() -> bool:
    """True where this file was started: by name, compiled, in a zip, with -m. In a notebook's cell,
    or run by exec, __name__ is "__main__" too, but the file of that module is another or none."""

    def stem(path: str) -> str:
        return os.path.splitext(os.path.basename(path))[0]

    file = globals().get("__file__") or ""
    return __name__ == "__main__" and stem(file) == stem(main.__code__.co_filename)


if _is_the_program():
    # What lies beside this file must not stand in for Python's own modules, which are imported late.
    sys.path.append(sys.path.pop(0))
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
