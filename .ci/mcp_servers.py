"""examples/mcp_tools.py against real MCP servers: two official ones, one built with the official SDK.

    python3 mcp_servers.py BIN PYTHON

BIN is the folder with mcp-server-everything and mcp-server-filesystem (npm), PYTHON that of an
environment with the package mcp.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
import mcp_tools  # noqa: E402, I001

import agentloop  # noqa: E402

OURS = """
import sys, time
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
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
def hang() -> str:
    time.sleep(600)

app.run()
"""


def run(tools, *calls):
    """A scripted run that makes these calls; returns its steps."""
    actions = [agentloop.AgentAction(name, arguments) for name, arguments in calls]
    model = agentloop.Scripted([*actions, agentloop.AgentFinish("done")])
    result = agentloop.run(model, "go", tools)
    assert result.state == "model_ended" and len(result.steps) == len(calls), result
    return result.steps


def everything(command):
    with mcp_tools.MCPServer(command, timeout=30) as server:
        tools = server.tools()
        model = agentloop.OpenAIChat("m", api_key="x")
        assert len(model.body(agentloop.AgentRun("go"), tools)["tools"]) == len(tools) > 5, sorted(
            tools
        )
        add = next(name for name in tools if "sum" in name or name == "add")
        image = next(name for name in tools if "tiny" in name and "image" in name.lower())
        steps = run(
            tools,
            ("echo", {"message": "größer"}),
            (add, {"a": 2, "b": 40}),
            (image, {}),
            ("echo", {}),
        )
        assert "größer" in steps[0].observation and "42" in steps[1].observation, steps
        parts = steps[2].observation
        assert any(isinstance(part, agentloop.Image) for part in parts), steps[2]
        assert steps[3].status in ("invalid_arguments", "tool_error"), steps[3]
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


def with_the_sdk(python, folder):
    script = Path(folder, "server.py")
    script.write_text(OURS, encoding="utf-8")
    with mcp_tools.MCPServer([python, str(script)], timeout=20) as server:
        tools = server.tools()
        assert tools["stock"].read_only and tools["order"].idempotent, tools
        steps = run(
            tools,
            ("stock", {"sku": "A1", "warehouses": ["north", "south"]}),
            ("order", {"sku": "A1"}),
            ("stock", {"sku": ["A1"]}),
        )
        assert "south" in str(steps[0].observation), steps
        assert steps[1].status == "tool_error" and "order" in steps[1].observation, steps
        assert steps[2].status in ("tool_error", "invalid_arguments"), steps
    with mcp_tools.MCPServer([python, str(script)], timeout=20) as server:
        tools = server.tools()
        server.timeout, start = 1, time.monotonic()
        (step,) = run(tools, ("hang", {}))
        assert step.status == "tool_error" and time.monotonic() - start < 10, step
    assert server.process.poll() is not None, "the server is still there"
    return len(tools)


def main():
    binaries, python = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        counts = (
            everything([str(binaries / "mcp-server-everything"), "stdio"]),
            filesystem(str(binaries / "mcp-server-filesystem"), folder),
            with_the_sdk(python, folder),
        )
    print("MCP: server-everything %d tools, server-filesystem %d, the SDK's %d" % counts)


if __name__ == "__main__":
    main()
