"""Run the blocks of README.md and of examples/reference/*.md in a fresh clone.

    python3 readme.py FOLDER       FOLDER: the clone

Each page gets a copy of the clone and a process of its own. There every fenced block marked `sh` is
run by `bash -e` and every one marked `python` by this Python, in the order of the page, the Python
ones each going on from those above. Nothing is installed; what asks a model reaches the stand-in
below, since its address stands in the environment. Blocks marked otherwise (`text`, `powershell`,
`json`, ...) are shown, not run: what needs another server or shell stands there. A block has to be
marked. Links to files, of every page of the project, have to lead somewhere.
"""

import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from pathlib import Path

BLOCK = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```[ \t]*$", re.M | re.S)
SECONDS = 600  # for a page; the whole test file is in one


# -- the stand-in for a model ---------------------------------------------------------------------


def value(schema):
    """Something that fits a schema, as far as pages need it: {"type": "integer"} -> 14"""
    if "enum" in schema:
        return schema["enum"][0]
    for one in schema.get("anyOf", ()):
        return value(one)
    simple = {"integer": 14, "number": 14.5, "boolean": True, "array": [], "null": None}
    return arguments(schema) if "properties" in schema else simple.get(schema.get("type"), "Paris")


def arguments(schema):
    properties = schema.get("properties", {})
    return {name: value(properties.get(name, {})) for name in schema.get("required", ())}


def next_tool(tools, messages, is_result):
    """The n-th request of a turn calls the n-th tool; None after the last one, for an answer."""
    results = 0
    for message in reversed(messages):
        if not is_result(message):
            if message.get("role") == "user":
                break
            continue
        results += 1
    return tools[results] if results < len(tools) else None


def reply(path, body):
    """What the server answers to a request of any of the three protocols."""
    text = "It is raining in Paris."
    if "Final Answer" in json.dumps(body):  # the prompt of a text model
        text = "Final Answer: " + text
    tools = [tool.get("function", tool) for tool in body.get("tools", ())]
    if path.endswith("/messages"):
        tool = next_tool(tools, body["messages"], lambda m: "tool_result" in json.dumps(m))
        content, reason = [{"type": "text", "text": text}], "end_turn"
        if tool:
            given = arguments(tool["input_schema"])
            content, reason = (
                [{"type": "tool_use", "name": tool["name"], "input": given}],
                "tool_use",
            )
            content[0]["id"] = "toolu_%d" % len(body["messages"])
        usage = {"input_tokens": 9, "output_tokens": 3}
        return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason,
                "usage": usage}  # fmt: skip
    if path.endswith("/responses"):
        items = body["input"]
        tool = next_tool(tools, items, lambda m: m.get("type") == "function_call_output")
        item = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
        if tool:
            given = json.dumps(arguments(tool["parameters"]))
            item = {"type": "function_call", "call_id": "call_%d" % len(items), "name": tool["name"],
                    "arguments": given}  # fmt: skip
        usage = {"input_tokens": 9, "output_tokens": 3}
        return {"status": "completed", "output": [item], "usage": usage}
    tool = next_tool(tools, body["messages"], lambda m: m["role"] == "tool")
    message = {"role": "assistant", "content": text}
    if tool:
        function = {"name": tool["name"], "arguments": json.dumps(arguments(tool["parameters"]))}
        call = {"id": "call_%d" % len(body["messages"]), "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(reply(self.path, body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def stand_in():
    """Its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:%d" % server.server_address[1]
        server.shutdown()


# -- one page, in a process of its own ------------------------------------------------------------


def blocks(text):
    """(line, language, text) of each fenced block of a page."""
    for match in BLOCK.finditer(text):
        indent, language, block = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        yield line, language, re.sub("^" + indent, "", block, flags=re.M)


def play(page):
    """Run the blocks of a page; prints what failed, and last how many ran and failed."""
    ran, failed = 0, []
    module = sys.modules["_page"] = types.ModuleType("_page")
    sys.path.insert(0, os.getcwd())
    for line, language, text in blocks(Path(page).read_text(encoding="utf-8")):
        where, wrong = "%s, line %d" % (page, line), None
        if language == "python":
            try:
                # The lines count from the top of the page.
                code = compile("\n" * line + text, page, "exec")
                exec(code, module.__dict__)  # noqa: S102
            except BaseException:
                wrong = traceback.format_exc()
        elif language == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", text], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            if done.returncode:
                wrong = "exit status %d:\n%s\n%s" % (done.returncode, text, done.stdout[-2000:])
        elif not language:
            wrong = "a block without a language"
        ran += language in ("python", "sh")
        if wrong:
            failed.append("FAILED %s: %s" % (where, wrong))
    print(*failed, "%d %d" % (ran, len(failed)), sep="\n")
    sys.stdout.flush()
    os._exit(0)  # whatever a block has started


# -- all pages ------------------------------------------------------------------------------------


def broken_links(folder):
    for page in sorted(folder.rglob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = page.parent / link.split("#")[0]
            if "://" not in link and not link.startswith("mailto:") and not target.exists():
                yield "%s: a link to %s, which is not there" % (page.relative_to(folder), link)


def played(folder, page, url):
    """(blocks that ran, those that failed, what was said) of a page in a copy of the clone."""
    own = re.compile(r"(OPENAI|ANTHROPIC|AGENTLOOP)_")
    env = {key: text for key, text in os.environ.items() if not own.match(key)}
    env["PATH"] = os.path.dirname(sys.executable) + os.pathsep + env["PATH"]
    env.update(
        OPENAI_BASE_URL=url, OPENAI_API_KEY="x", ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x"
    )
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(str(folder), os.path.join(scratch, "clone"))
        try:
            text = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--play", str(page)], cwd=copy, env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=SECONDS,
            ).stdout  # fmt: skip
        except subprocess.TimeoutExpired as e:
            text = "%s\nFAILED: %s is not through after %d s" % (e.stdout, page, SECONDS)
    counts = re.search(r"^(\d+) (\d+)\Z", text.strip(), re.M)
    return (*map(int, counts.groups()), text) if counts else (0, 1, text)


def main():
    if sys.argv[1] == "--play":
        play(sys.argv[2])
    folder, failed, told = Path(sys.argv[1]), 0, []
    pages = ["README.md", *sorted(p.name for p in (folder / "examples/reference").glob("*.md"))]
    with stand_in() as url:
        for name in pages:
            page = name if name == "README.md" else "examples/reference/" + name
            ran, wrong, text = played(folder, page, url)
            told.append("%s %d" % (name, ran))
            if wrong:
                failed += wrong
                print(text)
            elif name == "README.md" and not ran:
                failed += 1
                print("FAILED: no block of README.md ran")
    for line in broken_links(folder):
        failed += 1
        print("FAILED " + line)
    print("blocks run: %s; %d failed" % (", ".join(told), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
