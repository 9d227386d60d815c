"""The tools of any MCP server as tools of a run: a program or a URL, with the official SDK or by hand.

What one learns: the Model Context Protocol is JSON-RPC. Since its version of 2026-07-28 each
request stands alone: it carries the version and what the client can do in `_meta`, and there is
neither a handshake nor a session. Older servers want `initialize` first; which kind one meets,
`server/discover` shows. A foreign tool becomes a `Tool` made by hand: its JSON Schema goes to the
model as it came, its `readOnlyHint` lets calls run together, its `idempotentHint` lets one run
again after a crash, its pictures are `Image`s, and its `isError` is an observation that the model
can act on.

    python3 mcp_tools.py                        # small servers of its own, a scripted model
    python3 mcp_tools.py --server npx -y @modelcontextprotocol/server-everything stdio
    python3 mcp_tools.py --call echo '{"message": "hello"}' --server npx -y ...
    python3 mcp_tools.py --url http://127.0.0.1:8000/mcp        # MCP_TOKEN: sent as bearer token
    python3 mcp_tools.py --model NAME --base-url URL --task "List the files." --server npx -y \\
        @modelcontextprotocol/server-filesystem .

`--server` comes last; without `--call` or `--model` the server's tools are listed. Where the SDK is
installed (`pip install "mcp>=2"`) it is used, else, and with `--by-hand`, what stands below.

A server is a program with your rights, and what it says is its own word: its hints (call
`tools(trust_hints=False)` where you do not trust it), its descriptions, which the model reads, and
the amount of it, so pages, tools, lines and waiting are bounded. It gets no variable of your
environment that it does not need: a key that it wants is passed with `--env NAME`.

What to change: `TOOLS` and `shop` below are a whole server; add a tool of yours.
"""

import argparse
import asyncio
import base64
import collections
import contextlib
import importlib.util
import itertools
import json
import logging
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

log = logging.getLogger("mcp_tools")

STATELESS = "2026-07-28"
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the first is asked for
# Errors that only stateless servers have.
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
META = "io.modelcontextprotocol/"

MOST_PAGES, MOST_TOOLS = 100, 1000
MOST_ROUNDS = 5  # how often a server may ask back before it answers one request
LONGEST = 32 * 1024 * 1024  # bytes of one message
LONGEST_DISCOVERY = 10  # seconds; an old server may not answer at all what it does not know
BACKLOG = 1000  # messages that wait for a server that does not read
# What a server inherits of our environment, on POSIX and on Windows: no keys.
INHERITED = """PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL TMPDIR SYSTEMROOT SYSTEMDRIVE COMSPEC
PATHEXT TEMP TMP APPDATA LOCALAPPDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH"""
SHOWN_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class MCPError(Exception):
    """What a server said went wrong, or that it hangs, floods, or has ended.

    `code` and `data` are those of a JSON-RPC error, `status` that of an HTTP reply, else None.
    """

    def __init__(self, text, code=None, data=None, status=None):
        super().__init__(text)
        self.code, self.data, self.status = code, data, status


# == a server's tools as a registry ==============================================================


class ToolServer:
    """What every kind of connection has in common: `tools()`, and `with` to close it.

    Subclasses have `list_page(cursor)` and `call(name, arguments, headers)`, which give the result
    of tools/list and tools/call as dicts, and `close()`.
    """

    name = "?"
    instructions = ""  # worth adding to the system text
    over_http = False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def tools(self, trust_hints=True, prefix=""):
        """All tools of the server, over all pages of its list, as a registry: a plain dict.

        A tool that cannot be offered is left out with a warning. MCPError for a list without end.
        """
        found = {}
        for described in self._described():
            name = unused_name(prefix + str(described.get("name")), found)
            try:
                found[name] = self._tool(name, described, trust_hints)
            except (TypeError, ValueError) as error:
                log.warning("the tool %.100r is left out: %s", described.get("name"), error)
        return found

    def _described(self):
        cursor, count = None, 0
        for _ in range(MOST_PAGES):
            page = self.list_page(cursor)
            for described in a_list(page.get("tools")):
                count += 1
                if count > MOST_TOOLS:
                    raise MCPError(f"the server offers more than {MOST_TOOLS} tools")
                if isinstance(described, dict):
                    yield described
            cursor = page.get("nextCursor")
            if not cursor:
                return
        raise MCPError(f"the server's list of tools has more than {MOST_PAGES} pages")

    def _tool(self, name, described, trust_hints):
        foreign, schema = described.get("name"), described.get("inputSchema")
        hints = a_dict(described.get("annotations")) if trust_hints else {}
        if not isinstance(foreign, str) or not isinstance(schema, dict):
            raise ValueError("a tool has a name and an inputSchema")
        paths = header_paths(schema) if self.over_http else {}

        def call(**arguments):
            headers = {header: value_at(arguments, path) for header, path in paths.items()}
            return content(self.call(foreign, arguments, headers))

        return agentloop.Tool(
            name,
            str(described.get("description") or described.get("title") or foreign),
            {"type": "object", **schema},
            call,
            read_only=hints.get("readOnlyHint") is True,
            idempotent=hints.get("idempotentHint") is True,
        )


def unused_name(foreign, known):
    """A name that model servers take, and that is not in `known`: "stock.level" -> "stock_level"."""
    base = re.sub(r"[^a-zA-Z0-9_-]", "_", foreign)[:58]
    base = base if re.match("[a-zA-Z_]", base) else "_" + base
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in known)


def content(result):
    """A call's result as a tool returns it: text, a picture, a list of both, or a JSON value.

    The parts in `content` are meant for the model. Where they say no more than `structuredContent`
    does, or nothing, that value is returned. MCPError, with the text, where the call failed.
    """
    parts = [part_as_value(part) for part in a_list(result.get("content"))]
    texts = [part for part in parts if isinstance(part, str)]
    if result.get("isError"):
        raise MCPError("\n".join(texts) or "the tool failed and does not say why")
    if "structuredContent" in result and says_no_more(parts, result["structuredContent"]):
        return result["structuredContent"]
    if len(texts) == len(parts):
        return "\n".join(texts)
    return parts if len(parts) > 1 else parts[0]


def says_no_more(parts, structured):
    """Whether the parts are nothing but the JSON text of a value."""
    if len(parts) != 1 or not isinstance(parts[0], str):
        return not parts
    try:
        return json.loads(parts[0]) == structured
    except (ValueError, RecursionError):
        return False


def part_as_value(part):
    """A text, an `Image`, or a line about what cannot be shown (sound, a file that is no text)."""
    part = a_dict(part)
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    about = a_dict(part.get("resource")) if kind == "resource" else part
    media_type, where = (
        str(about.get("mimeType") or ""),
        about.get("uri") or about.get("name") or "",
    )
    head = f"[{' '.join(f'{kind} {media_type} {where}'.split())}]"
    if kind == "resource" and isinstance(about.get("text"), str):
        return f"{head}\n{about['text']}"
    data = about.get("data") if kind == "image" else about.get("blob")
    if not isinstance(data, str) or not media_type.startswith("image/"):
        return head
    try:
        data = base64.b64decode(data)
    except ValueError:  # not base64
        data = b""
    if not data:
        return f"{head} (its data cannot be read)"
    image = agentloop.Image(data, media_type)
    if image.media_type not in SHOWN_PICTURES:
        return f"{head} ({len(image.data)} bytes, of a kind that models are not shown)"
    return image


def a_list(value):
    return value if isinstance(value, list) else []


def a_dict(value):
    return value if isinstance(value, dict) else {}


# -- arguments that a server wants to have in the HTTP header, too


def header_paths(schema):
    """{"Mcp-Param-Region": ("region",)} for {"properties": {"region": {"x-mcp-header": "Region"}}}.

    ValueError where the protocol does not allow it: the tool is not to be offered then.
    """
    found = {}
    for path, place in marked_places(schema, ()):
        name = place["x-mcp-header"]
        if not isinstance(name, str) or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError(f"x-mcp-header {name!r} is no name of a header")
        if path is None or place.get("type") not in ("string", "integer", "boolean"):
            raise ValueError(f"x-mcp-header {name} stands at no plain property")
        if f"mcp-param-{name}".lower() in map(str.lower, found):
            raise ValueError(f"x-mcp-header {name} is there twice")
        found["Mcp-Param-" + name] = path
    return found


def marked_places(schema, path):
    """The parts of a schema with x-mcp-header, each with its path; None off the properties."""
    if isinstance(schema, list):
        for item in schema:
            yield from marked_places(item, None)
    if not isinstance(schema, dict):
        return
    if "x-mcp-header" in schema:
        yield (path or None), schema
    for key, value in schema.items():
        if key in ("default", "examples", "const", "enum", "x-mcp-header"):
            continue  # data, not schemas
        if key not in ("properties", "patternProperties", "$defs", "definitions"):
            yield from marked_places(value, None)
            continue
        for name, inner in value.items() if isinstance(value, dict) else ():
            known = key == "properties" and path is not None
            yield from marked_places(inner, (*path, name) if known else None)


def value_at(arguments, path):
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def header_value(value):
    """As a header takes it: True -> "true", "us" -> "us", "\u00e4" -> "=?base64?w6Q=?="."""
    text = json.dumps(value) if isinstance(value, (bool, int)) else str(value)
    plain = re.fullmatch("[ -~]*", text) and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


# == the protocol, by hand =======================================================================


class MCPServer(ToolServer):
    """A server reached by hand: `MCPServer(["npx", ...])` or `MCPServer("http://...")`.

    timeout: seconds that a request may take. roots: folders that the server may ask for. env:
    variables for the program, beside those in INHERITED; cwd: its folder. headers: for HTTP.
    Threads may share it.
    """

    def __init__(self, where, timeout=60, roots=(), env=None, cwd=None, headers=None):
        self.timeout, self.roots = timeout, [Path(root).resolve() for root in roots]
        self.numbers = itertools.count(1)
        self.over_http = isinstance(where, str)
        self.version = STATELESS

        def connect():
            if self.over_http:
                return Endpoint(where, headers or {}, self._answer)
            return Program(where, env, cwd, self._answer)

        self.link = connect()
        try:
            hello = self._discover()
            if self.link.ended:  # some old servers die of what they do not know
                self.link.close()
                self.link = connect()
            if hello is None:
                hello = self._shake_hands()
        except BaseException:
            self.close()
            raise
        info = hello.get("serverInfo") or a_dict(hello.get("_meta")).get(META + "serverInfo")
        self.name = str(a_dict(info).get("name", "?"))
        self.instructions = str(hello.get("instructions") or "")

    @property
    def process(self):
        """The program; None over HTTP."""
        return getattr(self.link, "process", None)

    def close(self):
        self.link.close()

    # -- which protocol: the newest is tried first

    def _discover(self):
        """What a stateless server says of itself; None for an older one, whatever it answers."""
        try:
            hello = self._once("server/discover", {}, min(self.timeout, LONGEST_DISCOVERY))
        except MCPError as error:
            versions = error.data.get("supported") if isinstance(error.data, dict) else None
            if error.code == UNSUPPORTED_VERSION and not set(a_list(versions)) & {*WITH_HANDSHAKE}:
                raise MCPError(f"the server speaks MCP {versions} only") from error
            if error.code in (HEADER_MISMATCH, MISSING_CAPABILITY):
                raise
            if error.status in (401, 403, "unreachable"):
                raise
            return None
        return hello if STATELESS in a_list(hello.get("supportedVersions")) else None

    def _shake_hands(self):
        """Begin a session, as all versions before 2026-07-28 want it."""
        self.version = WITH_HANDSHAKE[0]
        greeting = {
            "protocolVersion": self.version,
            "capabilities": self._capabilities(),
            "clientInfo": self._client_info(),
        }
        try:
            hello = self._once("initialize", greeting, self.timeout)
        except MCPError:
            # A stateless server that was slow to start has missed the first question.
            self.version = STATELESS
            hello = self._discover()
            if hello is None:
                raise
            return hello
        if hello.get("protocolVersion") not in WITH_HANDSHAKE:
            raise MCPError(f"the server speaks MCP {hello.get('protocolVersion')} only")
        self.version = hello["protocolVersion"]
        self.link.send({"method": "notifications/initialized"}, self._headers())
        return hello

    def _capabilities(self):
        return {"roots": {}} if self.roots else {}

    def _client_info(self):
        return {"name": "agentloop", "version": agentloop.__version__}

    # -- requests

    def list_page(self, cursor):
        return self.request("tools/list", {"cursor": cursor} if cursor else {})

    def call(self, name, arguments, headers):
        return self.request("tools/call", {"name": name, "arguments": arguments}, headers)

    def request(self, method, params, headers=None):
        """Ask, and wait for the result; where the server asks back for something, ask again with it.

        headers: {"Mcp-Param-Region": "us"}, beside those that each request has.
        """
        asked = params
        for _ in range(MOST_ROUNDS):
            result = self._once(method, asked, self.timeout, headers)
            kind = result.get("resultType", "complete")  # older servers do not say
            if kind == "complete":
                return result
            if kind != "input_required":
                raise MCPError(f"a result of a kind that is not known: {kind!r}")
            asked = {**params, **self._input(result)}
        raise MCPError(f"the server has asked back {MOST_ROUNDS} times and not answered")

    def _input(self, result):
        """What a stateless server has asked for, to be sent along with the same request."""
        more = {}
        if "inputRequests" in result:
            answers = more["inputResponses"] = {}
            for key, question in a_dict(result["inputRequests"]).items():
                reply = self._answer(a_dict(question).get("method"))
                if "error" in reply:
                    raise MCPError(reply["error"]["message"])
                answers[key] = reply["result"]
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        return more

    def _answer(self, method):
        """The answer to a question of the server's own."""
        if method == "ping":
            return {"result": {}}
        if method == "roots/list" and self.roots:
            roots = [{"uri": root.as_uri(), "name": root.name} for root in self.roots]
            return {"result": {"roots": roots}}
        return {"error": {"code": -32601, "message": f"this client does not do {method}"}}

    def _once(self, method, params, timeout, headers=None):
        """One request and its result, a dict."""
        number = next(self.numbers)
        if self.version == STATELESS:
            meta = {
                META + "protocolVersion": STATELESS,
                META + "clientInfo": self._client_info(),
                META + "clientCapabilities": self._capabilities(),
            }
            params = {**params, "_meta": meta}
        message = {"id": number, "method": method, "params": params}
        try:
            reply = self.link.exchange(message, timeout, self._headers(method, params, headers))
        except TimeoutError:
            state = self._sign_of_life(method)
            text = f"{method} timed out after {timeout:g} s, effect unknown. {state}"
            raise MCPError(text.strip()) from None
        error, result = reply.get("error"), reply.get("result")
        if isinstance(error, dict):
            text = str(error.get("message"))
            raise MCPError(text, error.get("code"), error.get("data"), reply.get("status"))
        if not isinstance(result, dict):
            raise MCPError(
                f"{method}: the server's answer has no result", status=reply.get("status")
            )
        return result

    def _headers(self, method=None, params=None, more=None):
        """The headers that say over HTTP what is in the message, for those on the way."""
        if self.version != STATELESS:
            return {"MCP-Protocol-Version": self.version} if method != "initialize" else {}
        found = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
        if method == "tools/call":
            found["Mcp-Name"] = header_value(params["name"])
        for name, value in (more or {}).items():
            if value is not None:
                found[name] = header_value(value)
        return found

    def _sign_of_life(self, method):
        """A server that still answers is slow; one that does not hangs, and is ended."""
        if self.over_http or method in ("server/discover", "initialize"):
            return ""
        number, method = next(self.numbers), "ping"
        meta = {}
        if self.version == STATELESS:
            method = "server/discover"
            meta = {"_meta": {META + "protocolVersion": STATELESS, META + "clientCapabilities": {}}}
        try:
            message = {"id": number, "method": method, "params": meta}
            self.link.exchange(message, min(self.timeout, 5), {})
            return "The server is alive, only slow."
        except (MCPError, TimeoutError):
            self.link.close(grace=0)
            return "The server hangs and was ended."


# == over the standard streams of a program ======================================================


class Program:
    """A server that is started here: one message a line, on its standard input and output."""

    def __init__(self, command, env, cwd, answer):
        self.answer, self.waiting, self.ended = answer, {}, False
        self.outbox = queue.Queue(BACKLOG)  # written by a thread: a server need not read at once
        self.stderr = collections.deque(maxlen=20)  # its last lines, for error messages
        self.fault = ""
        inherited = {name: os.environ[name] for name in INHERITED.split() if name in os.environ}
        try:
            self.process = subprocess.Popen(
                [shutil.which(command[0]) or command[0]] + list(command[1:]),  # npx is npx.cmd, too
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**inherited, **(env or {})},
                cwd=cwd,
                start_new_session=os.name == "posix",  # a group of its own, to be ended as a whole
            )
        except OSError as error:
            raise MCPError(f"the server cannot be started: {error}") from None
        workers = (self._drain, self._read, self._write)
        self.threads = [threading.Thread(target=worker, daemon=True) for worker in workers]
        for thread in self.threads:
            thread.start()

    def exchange(self, message, timeout, headers):
        """Send a request, wait for its answer; TimeoutError, and it is called off."""
        number, answer = message["id"], queue.Queue()
        self.waiting[number] = answer
        try:
            self.send(message, headers)
            if self.ended:
                self._wake_all()
            return answer.get(timeout=timeout)
        except queue.Empty:
            called_off = {"requestId": number, "reason": "timed out"}
            self.send({"method": "notifications/cancelled", "params": called_off}, headers)
            raise TimeoutError from None
        finally:
            del self.waiting[number]

    def send(self, message, headers):
        line = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii") + b"\n"
        try:
            self.outbox.put_nowait(line)
        except queue.Full:
            self._give_up("it does not read what it is sent")

    def _write(self):
        try:
            with self.process.stdin as pipe:
                for line in iter(self.outbox.get, None):
                    pipe.write(line)
                    pipe.flush()
        except (OSError, ValueError):
            pass  # it has ended; _read says so to those who wait

    def _read(self):
        """Answers go to those who wait for them, questions are answered, the rest is ignored."""
        with self.process.stdout as pipe:
            while True:
                line = pipe.readline(LONGEST)
                if not line:
                    break
                if len(line) >= LONGEST:
                    self._give_up(f"a message of more than {LONGEST} bytes")
                    break
                for message in messages_in(line):
                    self._receive(message)
        self.threads[0].join(1)  # its last words
        self.ended = True
        self._wake_all()

    def _receive(self, message):
        number = message.get("id")
        if "method" in message:
            if number is not None:
                self.send({**self.answer(message["method"]), "id": number}, {})
        elif type(number) is int and number in self.waiting:
            self.waiting[number].put(message)

    def _wake_all(self):
        words = " ".join(["The server has ended.", self.fault, *self.stderr]).replace("  ", " ")
        for answer in list(self.waiting.values()):
            answer.put({"error": {"message": words[:1000]}})

    def _drain(self):
        """Read what it says to people: a server whose standard error is full would stop."""
        with self.process.stderr as pipe:
            for line in iter(lambda: pipe.readline(1000), b""):
                self.stderr.append(line.decode("utf-8", "replace").strip())

    def _give_up(self, fault):
        self.fault = f"It was ended: {fault}."
        self._kill()

    def close(self, grace=2):
        """End the server: close its input, wait, then kill it with all it started."""
        try:
            self.outbox.put_nowait(None)
            self.process.wait(grace)
        except (queue.Full, subprocess.TimeoutExpired):
            pass
        self._kill()
        self.process.wait()

    def _kill(self):
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                tree = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
                subprocess.run(tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.process.kill()  # where there is no taskkill
        except OSError:
            pass  # all gone


def messages_in(data):
    """The JSON-RPC messages in some bytes: one, or a batch; none where it is something else."""
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []  # some servers print a greeting
    return [
        message for message in (found if isinstance(found, list) else [found]) if a_dict(message)
    ]


# == over streamable HTTP ========================================================================


class Endpoint:
    """A server behind a URL: each message is a POST, answered by a JSON object or by a stream."""

    ended = False

    def __init__(self, url, headers, answer):
        self.url, self.headers, self.answer, self.session = url, headers, answer, {}
        # What a model may read: some servers have their key in the query, or in the login.
        self.shown_url = re.sub("(?<=//)[^/]*@|[?#].*", "", url)

    def exchange(self, message, timeout, headers):
        """Send a request, read on until its answer has come; TimeoutError closes the stream, which
        calls the request off."""
        end = time.monotonic() + timeout
        status, found, chunks = self._post(message, timeout, headers)
        with contextlib.closing(chunks):
            bodies = self._bodies(found, chunks, end)
            for reply in (reply for body in bodies for reply in messages_in(body)):
                if "method" not in reply and reply.get("id") in (message["id"], None):
                    if message["method"] == "initialize" and "mcp-session-id" in found:
                        self.session = {"Mcp-Session-Id": found["mcp-session-id"]}
                    return {**reply, "status": status}
                if "method" in reply and reply.get("id") is not None:  # an older server asks
                    self.send({**self.answer(reply["method"]), "id": reply["id"]}, headers)
        raise MCPError(f"{self.shown_url} answers {status}{self._hint(status)}", status=status)

    def _hint(self, status):
        if status in (401, 403):
            return ": it wants a token, or another one (headers=, MCP_TOKEN)"
        if status == 404 and self.session:
            return ": the session has ended; connect again"
        if status in (400, 404, 405):
            return ": is this the URL of an MCP endpoint? (HTTP+SSE of 2024 is not supported)"
        return " and no JSON-RPC message"

    def send(self, message, headers):
        """A notification, or an answer to a question of the server's; nothing comes back."""
        chunks = self._post(message, 30, headers)[2]
        chunks.close()

    def _post(self, message, timeout, headers):
        # A request is sent once: on a connection of its own, since one that was kept and has died
        # would be tried again, and nobody knows whether the first one took effect.
        own = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Connection": "close",
        }
        body = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")
        with self._as_mcp_errors():
            return agentloop.http_transport(
                "POST", self.url, {**own, **headers, **self.session, **self.headers}, body, timeout
            )

    def _bodies(self, headers, chunks, end):
        """The data of each event of a stream, or the whole body; within the time and the length."""
        streamed = headers.get("content-type", "").lower().startswith("text/event-stream")
        rest, data, total = bytearray(), [], 0
        with self._as_mcp_errors():
            for chunk in chunks:
                total += len(chunk)
                if total > LONGEST:
                    raise MCPError(f"{self.shown_url}: an answer of more than {LONGEST} bytes")
                if time.monotonic() > end:
                    raise TimeoutError
                rest += chunk
                if not streamed or b"\n" not in chunk:
                    continue
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    line = line.rstrip(b"\r")
                    if line.startswith(b"data:"):
                        data.append(bytes(line[5:]))
                    elif not line and data:
                        yield b"\n".join(data)
                        data = []
        yield bytes(rest) if not streamed else b"\n".join(data)

    @contextlib.contextmanager
    def _as_mcp_errors(self):
        """Trouble with the connection as TimeoutError or MCPError."""
        try:
            yield
        except OSError as error:
            # Until Python 3.10 socket.timeout is no TimeoutError.
            if isinstance(error, TimeoutError) or "timed out" in str(error):
                raise TimeoutError from None
            raise MCPError(f"{self.shown_url}: {error}", status="unreachable") from None
        except (HTTPException, ValueError) as error:
            raise MCPError(f"{self.shown_url}: {error!r}", status="unreachable") from None

    def close(self, grace=2):
        if self.session:
            with contextlib.suppress(OSError, HTTPException):
                headers = {**self.session, **self.headers}
                agentloop.http_transport("DELETE", self.url, headers, None, grace)[2].close()


# == with the official SDK =======================================================================


def sdk_is_there():
    """Whether the package mcp is installed in a version that this file knows (2 and newer)."""
    if importlib.util.find_spec("mcp") is None:
        return False
    from importlib import metadata

    return int(metadata.version("mcp").split(".")[0]) >= 2


class SDKServer(ToolServer):
    """The same as MCPServer, by the package mcp: its client runs in an event loop, in a thread."""

    over_http = False  # it adds the headers for arguments itself

    def __init__(self, where, timeout=60, roots=(), env=None, cwd=None):
        self.timeout, self.roots = timeout, [Path(root).resolve() for root in roots]
        self.client = self.error = self.task = None
        self.loop, self.ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self._work, args=(where, env, cwd), daemon=True)
        self.thread.start()
        ready = self.ready.wait(timeout)
        if self.client is None:
            self.close()
            raise MCPError(f"no connection: {self.error or 'it ended'}" if ready else "timed out")
        info = self.client.server_info
        self.name = info.name if info else "?"
        self.version = self.client.protocol_version
        self.instructions = self.client.instructions or ""

    def _work(self, where, env, cwd):
        try:
            self.loop.run_until_complete(self._serve(where, env, cwd))
        except BaseException as error:
            self.error = innermost(error)
        finally:
            self.ready.set()
            self.loop.close()

    async def _serve(self, where, env, cwd):
        from mcp import StdioServerParameters
        from mcp.client import Client

        self.task = asyncio.current_task()
        if not isinstance(where, str):
            command, *args = where
            where = StdioServerParameters(command=command, args=args, env=env, cwd=cwd)
        callback = self._list_roots if self.roots else None
        async with Client(where, list_roots_callback=callback) as client:
            self.client = client
            self.ready.set()
            await self.loop.create_future()  # until close() cancels

    async def _list_roots(self, *context):
        from mcp.types import ListRootsResult, Root

        roots = [Root(uri=root.as_uri(), name=root.name) for root in self.roots]
        return ListRootsResult(roots=roots)

    def list_page(self, cursor):
        return self._wait("tools/list", self.client.list_tools, cursor=cursor)

    def call(self, name, arguments, headers):
        return self._wait("tools/call", self.client.call_tool, name, arguments)

    def _wait(self, method, function, *args, **kwargs):
        async def asked():
            return await asyncio.wait_for(function(*args, **kwargs), self.timeout)

        if not self.thread.is_alive():
            raise MCPError("the connection has ended")
        try:
            result = asyncio.run_coroutine_threadsafe(asked(), self.loop).result(self.timeout + 5)
        except Exception as error:
            if isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutError":
                raise MCPError(f"{method} timed out after {self.timeout:g} s, effect unknown")
            raise MCPError(str(innermost(error)) or repr(error)) from error
        return result.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def close(self):
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self.loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())
        self.thread.join(10)


def innermost(error):
    """What went wrong, out of groups of exceptions."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]
    return error


def connect(where, by_hand=False, **options):
    """A server's tools, with the SDK where it is installed; `where` is a command or a URL."""
    if by_hand or options.get("headers") or not sdk_is_there():
        return MCPServer(where, **options)
    options.pop("headers", None)
    return SDKServer(where, **options)


# == the other side, for the offline run =========================================================

SKU = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
WITH_HEADER = {"type": "object", "properties": {"sku": {"type": "string", "x-mcp-header": "Sku"}}}
TOOLS = [
    {"name": "stock.level", "inputSchema": SKU, "annotations": {"readOnlyHint": True}},
    {"name": "order", "inputSchema": SKU, "annotations": {"idempotentHint": True}},
    {"name": "photo", "inputSchema": WITH_HEADER, "annotations": None},
    {"name": "price", "inputSchema": SKU, "annotations": {"readOnlyHint": True}},
    {"name": "count_by_hand", "inputSchema": SKU},
]
PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def shop(method, params, ask=None):
    """The result of a request. `ask(method)`: how an old server asks its client for something."""
    name = params.get("name")
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "shop"}}
    if method == "server/discover":
        hello = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
        return {**hello, "serverInfo": {"name": "shop", "version": "1"}}
    if method == "tools/list":  # two a page
        start = int(params.get("cursor", 0))
        more = {"nextCursor": str(start + 2)} if start + 2 < len(TOOLS) else {}
        return {"tools": TOOLS[start : start + 2], **more}
    if name == "stock.level" and ask:
        roots = ask("roots/list")["roots"]
    elif name == "stock.level" and "inputResponses" not in params:
        questions = {"where": {"method": "roots/list"}}
        return {"resultType": "input_required", "inputRequests": questions, "requestState": "7"}
    elif name == "stock.level":
        roots = params["inputResponses"]["where"]["roots"]
    if name == "stock.level":
        return said({"type": "text", "text": f"3 in stock (roots: {len(roots)})"})
    if name == "order":
        return {**said({"type": "text", "text": "no supplier"}), "isError": True}
    if name == "photo":
        note = {"uri": "note://7", "mimeType": "text/plain", "text": "shelf 7"}
        picture = {"type": "image", "data": PIXEL, "mimeType": "image/gif"}
        return said({"type": "resource", "resource": note}, picture)
    if name == "price":
        return {**said(), "structuredContent": {"sku": params["arguments"]["sku"], "cents": 250}}
    time.sleep(600)  # count_by_hand
    return said()


def said(*parts):
    return {"content": list(parts)}


def serve(old):
    """A server on standard input and output. An old one knows no server/discover, and asks back."""

    def say(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def ask(method):
        say(id="mine", method=method)
        return json.loads(sys.stdin.readline())["result"]

    for line in sys.stdin:
        message = json.loads(line)
        method, number = message["method"], message.get("id")
        if number is None:
            continue
        if old and method == "server/discover":
            say(id=number, error={"code": -32601, "message": "Method not found"})
        else:
            say(method="notifications/message", params={"level": "info", "data": method})
            print("looking\n" * 20000, file=sys.stderr)  # more than a pipe holds
            say(id=number, result=shop(method, message["params"], ask if old else None))


class ShopHandler(BaseHTTPRequestHandler):
    """The same server over HTTP, stateless: it knows nothing but the request before it."""

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params = message["method"], message["params"]
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        sku = "A1" if params.get("name") == "photo" else None
        if (self.headers["Mcp-Method"], self.headers["Mcp-Param-Sku"]) == (method, sku):
            reply["result"] = shop(method, params)
        else:
            reply["error"] = {"code": -32020, "message": "the headers say something else"}
        body = b": a comment\n\nevent: message\ndata: " + json.dumps(reply).encode() + b"\n\n"
        self.send_response(400 if "error" in reply else 200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Say nothing on the terminal."""


def offline():
    """Three servers of our own: a program, an old one, and one behind a URL."""
    program = [sys.executable, __file__, "--serve"]
    every = ["stock_level", "order", "photo", "price", "count_by_hand", "stock_level"]
    with MCPServer([*program, "new"], roots=["."]) as server:
        show(server)
        play(server, scripted([(name, {"sku": "A1"}) for name in every]))
    print("An older server:")
    with MCPServer([*program, "old"], roots=["."]) as server:
        show(server, with_tools=False)
        play(server, scripted([("stock_level", {"sku": "A1"})]))
    print("Over HTTP:")
    web = ThreadingHTTPServer(("127.0.0.1", 0), ShopHandler)
    threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
    with MCPServer(f"http://127.0.0.1:{web.server_port}/mcp", roots=["."]) as server:
        show(server, with_tools=False)
        play(server, scripted([(name, {"sku": "A1"}) for name in ("stock_level", "photo")]))
    web.shutdown()
    web.server_close()


def show(server, with_tools=True):
    print(f"{server.name}, MCP {server.version}")
    for tool in server.tools().values() if with_tools else ():
        kind = "read_only" if tool.read_only else "idempotent" if tool.idempotent else ""
        print(f"  {tool.name} {kind}".rstrip())


def play(server, model, task="Say what you can do with your tools."):
    for event in agentloop.stream(model, task, server.tools()):
        print(event)
        if isinstance(event, agentloop.AgentAction) and event.tool == "count_by_hand":
            server.timeout = 0.3  # so that nobody has to wait for the example


def scripted(calls):
    """A model that makes these calls, one after the other, and stops."""
    actions = [agentloop.AgentAction(name, arguments) for name, arguments in calls]
    return agentloop.Scripted(actions + [agentloop.AgentFinish("That is what the server said.")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--task", default="Say what you can do with your tools.")
    parser.add_argument("--call", nargs=2, action="append", default=[], metavar=("NAME", "JSON"))
    parser.add_argument("--root", action="append", help="a folder that the server is told to use")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="passed on")
    parser.add_argument("--by-hand", action="store_true", help="also where the SDK is installed")
    parser.add_argument("--serve", choices=["new", "old"], help=argparse.SUPPRESS)
    parser.add_argument("--url")
    parser.add_argument("--server", nargs=argparse.REMAINDER, metavar="CMD")
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve == "old")
    if not options.server and not options.url:
        return offline()
    calls = [(name, json.loads(arguments)) for name, arguments in options.call]
    env = {name: os.environ[name] for name in options.env if name in os.environ}
    token = os.environ.get("MCP_TOKEN") if options.url else None
    headers = {"Authorization": "Bearer " + token} if token else None
    where = options.url or options.server
    settings = {"roots": options.root or [], "env": env, "headers": headers}
    with connect(where, options.by_hand, **settings) as server:
        show(server)
        if options.model:
            url = options.base_url
            model = agentloop.OpenAIChat(options.model, base_url=url, max_tokens=1000)
            play(server, model, options.task)
        elif calls:
            play(server, scripted(calls))


if __name__ == "__main__":
    try:
        main()
    except MCPError as error:
        sys.exit(f"The MCP server: {error}")
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
