"""The tools of any MCP server as tools of a run, over stdio, with the standard library only.

What one learns: the Model Context Protocol is JSON-RPC, one message a line, with a program that one
starts oneself. A foreign tool becomes a `Tool` made by hand: its JSON Schema goes to the model as
it came, its `readOnlyHint` lets calls run together, its `idempotentHint` lets one run again after
a crash, its pictures are `Image`s, and its `isError` is an observation that the model can act on.

    python3 mcp_tools.py                        # a small server of its own, a scripted model
    python3 mcp_tools.py --server npx -y @modelcontextprotocol/server-everything stdio
    python3 mcp_tools.py --call echo '{"message": "hello"}' --server npx -y ...
    python3 mcp_tools.py --model NAME --base-url URL --task "List the files." --server npx -y \\
        @modelcontextprotocol/server-filesystem .

`--server` comes last; without `--call` or `--model` the server's tools are listed. A server is a
program with your rights, and its hints are its own word: call `tools(trust_hints=False)` where you
do not trust it. What to change: `TOOLS` and `serve` below are a whole server; add a tool of yours.
"""

import argparse
import base64
import collections
import itertools
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

VERSIONS = ("2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05")  # the first one is asked for
MOST_PAGES = 100  # of a list of tools


class MCPError(Exception):
    """What a server said went wrong, or that it hangs, or that it has ended."""


class MCPServer:
    """A running MCP server, used as `with MCPServer([...]) as server:`. Threads may share it."""

    def __init__(self, command, timeout=60, roots=(), env=None, cwd=None):
        self.timeout, self.roots = timeout, [Path(root).resolve() for root in roots]
        self.numbers, self.waiting, self.ended = itertools.count(1), {}, False
        self.outbox = queue.Queue()  # a thread writes: a server that does not read holds nobody up
        self.stderr = collections.deque(maxlen=20)  # its last lines, for error messages
        self.process = subprocess.Popen(
            [shutil.which(command[0]) or command[0]] + list(command[1:]),  # npx is npx.cmd, too
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=os.name == "posix",  # a group of its own, to be ended as a whole
        )
        workers = (self._write, self._read, self._drain)
        self.threads = [threading.Thread(target=worker, daemon=True) for worker in workers]
        for thread in self.threads:
            thread.start()
        try:
            hello = self.request(
                "initialize",
                protocolVersion=VERSIONS[0],
                capabilities={"roots": {}} if self.roots else {},
                clientInfo={"name": "agentloop", "version": agentloop.__version__},
            )
            if hello.get("protocolVersion") not in VERSIONS:
                raise MCPError("it speaks MCP %s only" % hello.get("protocolVersion"))
        except BaseException:
            self.close()
            raise
        self.name = hello.get("serverInfo", {}).get("name", "?")
        self.instructions = hello.get("instructions", "")  # worth adding to the system text
        self._send({"method": "notifications/initialized"})

    def request(self, method, **params):
        """Ask, and wait for the answer. A server that is silent for too long is ended."""
        number, answer = self._ask(method, params)
        try:
            reply = answer.get(timeout=self.timeout)
        except queue.Empty:
            raise MCPError(self._overdue(number, method)) from None
        finally:
            del self.waiting[number]
        if "error" in reply:
            error = reply["error"]
            raise MCPError(error.get("message") if isinstance(error, dict) else error)
        return reply.get("result") or {}

    def _ask(self, method, params):
        number, answer = next(self.numbers), queue.Queue()
        self.waiting[number] = answer
        self._send({"id": number, "method": method, "params": params})
        if self.ended:
            self._tell_all()
        return number, answer

    def _overdue(self, number, method):
        """Call the request off. A server that answers a ping is slow; one that does not, hangs."""
        called_off = {"requestId": number, "reason": "timed out"}
        self._send({"method": "notifications/cancelled", "params": called_off})
        ping, alive = self._ask("ping", {})
        try:
            alive.get(timeout=min(self.timeout, 5))
            state = "The server is alive, only slow."
        except queue.Empty:
            state = "The server hangs and was ended."
            self.close(grace=0)
        del self.waiting[ping]
        return "%s timed out after %g s, effect unknown. %s" % (method, self.timeout, state)

    def _send(self, message):
        self.outbox.put(json.dumps(dict(message, jsonrpc="2.0")).encode("ascii") + b"\n")

    def _write(self):
        try:
            with self.process.stdin as pipe:
                for line in iter(self.outbox.get, None):
                    pipe.write(line)
                    pipe.flush()
        except OSError:
            pass  # it has ended; _read tells those who wait

    def _read(self):
        """Answers go to those who wait for them, requests are answered, notifications ignored."""
        with self.process.stdout as pipe:
            for line in pipe:
                try:
                    batch = json.loads(line.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    continue  # not a message: some servers print a greeting here
                for message in batch if isinstance(batch, list) else [batch]:
                    if isinstance(message, dict) and "id" in message:
                        self._receive(message, message["id"])
        self.threads[2].join(1)  # its last words
        self.ended = True
        self._tell_all()

    def _receive(self, message, number):
        if "method" in message:
            self._send(dict(self._answer(message["method"]), id=number))
        elif isinstance(number, int) and number in self.waiting:
            self.waiting[number].put(message)

    def _answer(self, method):
        if method == "ping":
            return {"result": {}}
        if method == "roots/list" and self.roots:
            roots = [{"uri": root.as_uri(), "name": root.name} for root in self.roots]
            return {"result": {"roots": roots}}
        return {"error": {"code": -32601, "message": "this client does not do " + method}}

    def _tell_all(self):
        words = " ".join(["The server has ended."] + list(self.stderr))
        for answer in list(self.waiting.values()):
            answer.put({"error": {"message": words[:1000]}})

    def _drain(self):
        """Read what it tells people: a server whose standard error is full would stop."""
        with self.process.stderr as pipe:
            for line in pipe:
                self.stderr.append(line.decode("utf-8", "replace").strip())

    def close(self, grace=2):
        """End the server: close its input, wait, then kill it with all it started."""
        self.outbox.put(None)
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                tree = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
                subprocess.run(tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (ProcessLookupError, PermissionError):
            pass  # all gone
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def tools(self, trust_hints=True, prefix=""):
        """All tools of the server, over all pages of its list, as a registry: a plain dict."""
        found, cursor, seen = {}, None, set()
        while cursor not in seen:
            seen.add(cursor)
            if len(seen) > MOST_PAGES:
                raise MCPError("the server's list of tools has more than %d pages" % MOST_PAGES)
            page = self.request("tools/list", **({"cursor": cursor} if cursor else {}))
            for described in page.get("tools", []):
                name = re.sub(r"[^a-zA-Z0-9_-]", "_", prefix + described["name"])[:60]
                name = "_" + name if name[0].isdigit() else name
                while name in found:
                    name += "_"
                found[name] = self._tool(name, described, trust_hints)
            cursor = page.get("nextCursor")
        return found

    def _tool(self, name, described, trust_hints):
        hints = described.get("annotations", {}) if trust_hints else {}
        foreign = described["name"]

        def call(**arguments):
            return content(self.request("tools/call", name=foreign, arguments=arguments))

        return agentloop.Tool(
            name,
            described.get("description") or described.get("title") or foreign,
            described["inputSchema"],
            call,
            read_only=hints.get("readOnlyHint") is True,
            idempotent=hints.get("idempotentHint") is True,
        )


def content(result):
    """A call's result as a tool returns it: text, a picture, or a list of both."""
    parts = [part_as_value(part) for part in result.get("content", [])]
    texts = [part for part in parts if isinstance(part, str)]
    if result.get("isError"):
        raise MCPError("\n".join(texts) or "the tool failed and does not say why")
    if not parts:
        return result.get("structuredContent", "")
    if len(texts) == len(parts):
        return "\n".join(texts)
    return parts if len(parts) > 1 else parts[0]


def part_as_value(part):
    """A text, an `Image`, or a line about what cannot be shown (sound, a file that is no text)."""
    if part["type"] == "text":
        return part["text"]
    if part["type"] == "image":
        return agentloop.Image(base64.b64decode(part["data"]), part["mimeType"])
    about = part.get("resource", part)
    head = "[%s %s %s]" % (part["type"], about.get("mimeType", ""), about.get("uri", ""))
    return head + ("\n" + about["text"] if "text" in about else "")


# The other side, for the offline run: a small server, and what it does to its client.

SKU = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
TOOLS = [
    {"name": "stock.level", "inputSchema": SKU, "annotations": {"readOnlyHint": True}},
    {"name": "order", "inputSchema": SKU, "annotations": {"idempotentHint": True}},
    {"name": "photo", "inputSchema": SKU, "annotations": {"readOnlyHint": True}},
    {"name": "count_by_hand", "inputSchema": SKU},
]
PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def serve():
    """Answer on standard output what comes on standard input, two tools a page."""

    def say(**message):
        print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)

    def ask(method):
        say(id="mine", method=method)
        return json.loads(sys.stdin.readline()).get("result")

    for line in sys.stdin:
        message = json.loads(line)
        params, method = message.get("params", {}), message.get("method")
        if method == "initialize":
            info = {"name": "shop", "version": "1"}
            result = {"protocolVersion": VERSIONS[0], "capabilities": {}, "serverInfo": info}
        elif method == "tools/list":
            start = int(params.get("cursor", 0))
            result = {"tools": TOOLS[start : start + 2]}
            if start + 2 < len(TOOLS):
                result["nextCursor"] = str(start + 2)
        elif params.get("name") == "stock.level":
            print("looking\n" * 20000, file=sys.stderr)  # more than a pipe holds
            say(method="notifications/message", params={"level": "info", "data": "looking"})
            told = "ping: %s, roots: %d" % (ask("ping"), len(ask("roots/list")["roots"]))
            result = {"content": [{"type": "text", "text": "3 in stock (%s)" % told}]}
        elif params.get("name") == "order":
            result = {"content": [{"type": "text", "text": "no supplier"}], "isError": True}
        elif params.get("name") == "photo":
            picture = {"type": "image", "data": PIXEL, "mimeType": "image/gif"}
            result = {"content": [{"type": "text", "text": "shelf 7:"}, picture]}
        elif params.get("name") == "count_by_hand":
            time.sleep(600)
        if "id" in message:
            say(id=message["id"], result=result)


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
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--server", nargs=argparse.REMAINDER, metavar="CMD")
    options = parser.parse_args()
    if options.serve:
        return serve()
    calls = [(name, json.loads(arguments)) for name, arguments in options.call]
    if not options.server:
        names = ["stock_level", "order", "photo", "count_by_hand", "stock_level"]
        calls = calls or [(name, {"sku": "A1"}) for name in names]
        options.server, options.root = [sys.executable, __file__, "--serve"], ["."]
    with MCPServer(options.server, roots=options.root or []) as server:
        tools = server.tools()
        print("%s offers:" % server.name)
        for tool in tools.values():
            kind = "read_only" if tool.read_only else "idempotent" if tool.idempotent else ""
            print("  %s %s" % (tool.name, kind))
        model = scripted(calls)
        if options.model:
            model = agentloop.OpenAIChat(options.model, base_url=options.base_url)
        elif not calls:
            return None
        for event in agentloop.stream(model, options.task, tools):
            if isinstance(event, agentloop.AgentAction) and event.tool == "count_by_hand":
                server.timeout = 0.3  # so that nobody has to wait for the example
            print(event)


if __name__ == "__main__":
    main()
