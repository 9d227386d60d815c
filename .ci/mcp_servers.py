"""examples/mcp_tools.py against real MCP servers: two official ones, one built with the official SDK.

    python3 mcp_servers.py BIN PYTHON

BIN is the folder with mcp-server-everything and mcp-server-filesystem (npm), PYTHON that of an environment with the
package mcp, 2.x. The first two speak versions with a handshake, the third 2026-07-28; all over standard streams, the
first and the third over HTTP too. The SDK's own client is tried by running the example with PYTHON.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
import mcp_tools  # noqa: E402, I001

import agentloop  # noqa: E402

STATELESS = "2026-07-28"
OURS = """
import base64, sys, time
from typing import Annotated
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.types import ToolAnnotations
from pydantic import Field
app = MCPServer("shop")

@app.tool(annotations=ToolAnnotations(readOnlyHint=True))
def stock(sku: str, warehouses: list[str] = ["north"]) -> dict:
    "Look up the stock."
    print("x" * 200000, file=sys.stderr)
    return {"sku": sku, "there": {name: 3 for name in warehouses}}

@app.tool(annotations=ToolAnnotations(idempotentHint=True))
def order(sku: str) -> str:
    "Order one."
    raise ValueError("no supplier for " + sku)

@app.tool()
def count(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> dict[str, int]:
    return {region: 7}

@app.tool()
def photo() -> Image:
    return Image(data=base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"), format="gif")

@app.tool()
def hang() -> str:
    time.sleep(600)

if len(sys.argv) > 1:
    app.run("streamable-http", port=int(sys.argv[1]))
else:
    app.run()
"""


def run(tools, *calls):
    """A scripted run that makes these calls; returns its steps."""
    actions = [agentloop.AgentAction(name, arguments) for name, arguments in calls]
    model = agentloop.Scripted([*actions, agentloop.AgentFinish("done")])
    result = agentloop.run(model, "go", tools, max_requests=len(calls) + 1)
    assert result.state == "model_ended" and len(result.steps) == len(calls), result
    return result.steps


@contextlib.contextmanager
def listening(command, port, **env):
    """A server that listens at a port of this machine, in a process of its own."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end and process.poll() is None, "it does not listen"
                time.sleep(0.1)
        yield "http://127.0.0.1:%d/mcp" % port
    finally:
        process.kill()  # a tool of it sleeps
        process.wait(10)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def everything(where, folder):
    with mcp_tools.MCPServer(where, timeout=30, roots=[folder]) as server:
        assert server.version in mcp_tools.WITH_HANDSHAKE, server.version
        tools = server.tools()
        model = agentloop.OpenAIChat("m", api_key="x")
        sent = model.body(agentloop.AgentRun("go"), tools)["tools"]
        assert len(sent) == len(tools) > 5, sorted(tools)
        add = next(name for name in tools if "sum" in name or name == "add")
        image = next(name for name in tools if "tiny" in name and "image" in name.lower())
        steps = run(
            tools,
            ("echo", {"message": "größer"}),
            (add, {"a": 2, "b": 40}),
            (image, {}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}),
            ("trigger-long-running-operation", {"duration": 1, "steps": 3}),
            ("echo", {}),
        )
        assert "größer" in steps[0].observation and "42" in steps[1].observation, steps
        parts = steps[2].observation
        assert any(isinstance(part, agentloop.Image) for part in parts), steps[2]
        assert steps[3].observation["conditions"], steps[3]  # a value, not its text
        assert "Resource 1: This is" in steps[4].observation, steps[4]
        assert any(isinstance(part, agentloop.Image) for part in steps[5].observation), steps[5]
        assert "completed" in steps[6].observation, steps[6]
        assert steps[7].status in ("invalid_arguments", "tool_error"), steps[7]
        if server.process:  # over HTTP this server asks on a stream of its own, which is not opened
            (step,) = run(server.tools(), ("get-roots-list", {}))
            assert Path(folder).resolve().as_uri() in step.observation, step
        return len(tools)


def filesystem(command, folder):
    folder = os.path.realpath(folder)
    Path(folder, "note.txt").write_text("forty-two", encoding="utf-8")
    with mcp_tools.MCPServer([command, folder], timeout=30, roots=[folder]) as server:
        tools = server.tools()
        assert tools["read_text_file"].read_only and not tools["write_file"].read_only, tools
        new = os.path.join(folder, "new.txt")
        steps = run(
            tools,
            ("read_text_file", {"path": os.path.join(folder, "note.txt")}),
            ("write_file", {"path": new, "content": "hello"}),
            ("read_text_file", {"path": "/etc/passwd"}),
        )
        assert "forty-two" in str(steps[0].observation) and steps[1].status == "ok", steps
        assert Path(new).read_text() == "hello" and steps[2].status == "tool_error", steps
        return len(tools)


def shop(where):
    """The SDK's server, by hand, in the version of 2026-07-28."""
    with mcp_tools.MCPServer(where, timeout=20) as server:
        assert (server.version, server.name) == (STATELESS, "shop"), (server.version, server.name)
        tools = server.tools()
        assert tools["stock"].read_only and tools["order"].idempotent, tools
        steps = run(
            tools,
            ("stock", {"sku": "A1", "warehouses": ["north", "south"]}),
            ("order", {"sku": "A1"}),
            ("stock", {"sku": ["A1"]}),
            ("count", {"region": "größer"}),
            ("photo", {}),
        )
        assert "south" in str(steps[0].observation), steps
        assert steps[1].status == "tool_error" and "order" in steps[1].observation, steps
        assert steps[2].status in ("tool_error", "invalid_arguments"), steps
        assert steps[3].observation == {"größer": 7}, steps[3]
        assert steps[4].observation.media_type == "image/gif", steps[4]
    with mcp_tools.MCPServer(where, timeout=20) as server:
        tools = server.tools()
        server.timeout, start = 1, time.monotonic()
        (step,) = run(tools, ("hang", {}))
        assert step.status == "tool_error" and time.monotonic() - start < 10, step
    if server.process:
        assert server.process.poll() is not None, "the server is still there"
    return len(tools)


def by_the_sdk(python, *where):
    """The same example with the SDK's client."""
    calls = ["--call", "stock", '{"sku": "A1"}', "--call", "order", '{"sku": "A1"}']
    calls += ["--call", "count", '{"region": "north"}', "--call", "photo", "{}"]
    command = [python, str(ROOT / "examples" / "mcp_tools.py"), *calls, *where]
    done = subprocess.run(command, capture_output=True, timeout=60)
    said = done.stdout.decode("utf-8")
    for text in (
        "shop, MCP " + STATELESS,
        "stock read_only",
        "order idempotent",
        'count(region="north") -> ok: {"north": 7}',
        "photo() -> ok: [picture: image/gif, 42 bytes]",
        'order(sku="A1") -> tool_error: MCPError',
    ):
        assert text in said, (text, said, done.stderr[-500:])


def main():
    binaries, python = Path(sys.argv[1]), sys.argv[2]
    name = str(binaries / "mcp-server-everything")
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(folder, "server.py"))
        Path(script).write_text(OURS, encoding="utf-8")
        counts = (
            everything([name, "stdio"], folder),
            filesystem(str(binaries / "mcp-server-filesystem"), folder),
            shop([python, script]),
        )
        by_the_sdk(python, "--server", python, script)
        port = free_port()
        with listening([name, "streamableHttp"], port, PORT=str(port)) as url:
            everything(url, folder)
        port = free_port()
        with listening([python, script, str(port)], port) as url:
            shop(url)
            by_the_sdk(python, "--url", url)
    print(
        "MCP: server-everything %d tools, server-filesystem %d, the SDK's %d; over HTTP too"
        % counts
    )


if __name__ == "__main__":
    main()
