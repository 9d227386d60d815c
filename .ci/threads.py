"""Eight threads share one model object, 50 runs each, against a local server.

No reply may reach the wrong run, each thread has to keep to one connection, and no socket may be
left when the threads and the model are gone.
"""

import gc
import http.server
import json
import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402

THREADS, RUNS = 8, 50
connections, per_thread, lock = [], {}, threading.Lock()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Handler(http.server.BaseHTTPRequestHandler):
    """Calls `echo` with the task as its argument, then answers with the tool's result."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with lock:
            connections.append(self.client_address)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        task, last = body["messages"][0]["content"], body["messages"][-1]
        with lock:
            per_thread.setdefault(task.split("/")[0], set()).add(self.client_address)
        message = {"role": "assistant", "content": None}
        if last["role"] == "tool":
            message["content"] = last["content"]
        else:
            function = {"name": "echo", "arguments": json.dumps({"text": task})}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        reply = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def echo(text: str) -> str:
    """Say it again."""
    return "heard " + text


def sockets():
    """The sockets this process has open, where the system tells."""
    try:
        names = [os.readlink("/proc/self/fd/%s" % fd) for fd in os.listdir("/proc/self/fd")]
    except OSError:
        return 0
    return sum(name.startswith("socket:") for name in names)


def main():
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before, wrong = sockets(), []
    url = "http://127.0.0.1:%d" % server.server_address[1]
    model = agentloop.OpenAIChat("m", base_url=url, api_key="x", timeout=30)

    def work(number):
        for n in range(RUNS):
            task = "%d/%d" % (number, n)
            try:
                run = agentloop.run(model, task, [echo])
                if run.output != "heard " + task or len(run.steps) != 1 or run.requests != 2:
                    wrong.append((task, run))
            except Exception as e:
                wrong.append((task, e))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, "%d wrong, for example %r" % (len(wrong), wrong[0])
    assert all(len(used) == 1 for used in per_thread.values()), per_thread
    assert len(connections) == THREADS, connections
    threads.clear()
    model = None
    gc.collect()
    # The server's ends close when they see ours gone.
    for _ in range(100):
        if sockets() <= before:
            break
        threading.Event().wait(0.05)
    assert sockets() <= before, "%d sockets before, %d after" % (before, sockets())
    server.shutdown()
    print("threads: %d runs, %d connections, none mixed up, none left" % (THREADS * RUNS, THREADS))


if __name__ == "__main__":
    main()
