"""An agent executor in the manner of the large frameworks, on one page. Not to be used: to be read.

The names, and what it does when something goes wrong, are those of the executor that most people
have met first; the code is this course's own. The large one has the same parts in more files.
"""

import logging
import re
from dataclasses import dataclass

log = logging.getLogger("framework")


@dataclass
class Action:
    tool: str
    tool_input: str
    log: str


@dataclass
class Finish:
    return_values: dict
    log: str


class OutputParserException(ValueError):
    pass


class CallbackManager:
    def __init__(self, handlers):
        self.handlers = handlers

    def fire(self, name, *args):
        for handler in self.handlers:
            method = getattr(handler, name, None)
            if method is None:
                continue
            try:
                method(*args)
            except Exception as error:
                log.warning("the handler of %s failed: %s", name, error)


class BufferMemory:
    def __init__(self):
        self.turns = []

    def load_memory_variables(self):
        return {"chat_history": "\n".join(f"Human: {q}\nAI: {a}" for q, a in self.turns)}

    def save_context(self, inputs, outputs):
        self.turns.append((inputs["input"], outputs["output"]))


class Tool:
    def __init__(self, name, func, description):
        self.name = name
        self.func = func
        self.description = description

    def run(self, tool_input, callbacks):
        callbacks.fire("on_tool_start", self.name, tool_input)
        try:
            observation = self.func(tool_input)
        except Exception as error:
            callbacks.fire("on_tool_error", error)
            raise
        callbacks.fire("on_tool_end", observation)
        return str(observation)


class ReActParser:
    def parse(self, text):
        found = re.search(r"Action: (.*)\nAction Input: (.*)", text)
        if found:
            return Action(found.group(1).strip(), found.group(2).strip(), text)
        if "Final Answer:" in text:
            return Finish({"output": text.split("Final Answer:")[-1].strip()}, text)
        raise OutputParserException(f"no action and no answer in: {text}")


class Agent:
    prompt = "{tools}\n{chat_history}\nQuestion: {input}\n{agent_scratchpad}"

    def __init__(self, llm, tools):
        self.llm = llm
        self.parser = ReActParser()
        self.shown = "\n".join(f"{tool.name}: {tool.description}" for tool in tools)

    def plan(self, intermediate_steps, callbacks, **inputs):
        scratchpad = ""
        for action, observation in intermediate_steps:
            scratchpad += f"{action.log}\nObservation: {observation}\n"
        text = self.prompt.format(tools=self.shown, agent_scratchpad=scratchpad, **inputs)
        callbacks.fire("on_llm_start", text)
        reply = self.llm(text)
        callbacks.fire("on_llm_end", reply)
        return self.parser.parse(reply)


class AgentExecutor:
    def __init__(
        self,
        agent,
        tools,
        memory=None,
        callbacks=(),
        max_iterations=15,
        handle_parsing_errors=False,
        return_intermediate_steps=False,
    ):
        self.agent = agent
        self.tools = tools
        self.memory = memory
        self.callbacks = CallbackManager(callbacks)
        self.max_iterations = max_iterations
        self.handle_parsing_errors = handle_parsing_errors
        self.return_intermediate_steps = return_intermediate_steps

    def invoke(self, inputs):
        inputs = {"chat_history": "", **inputs}
        if self.memory is not None:
            inputs.update(self.memory.load_memory_variables())
        self.callbacks.fire("on_chain_start", inputs)
        try:
            outputs = self._call(inputs)
        except Exception as error:
            self.callbacks.fire("on_chain_error", error)
            raise
        if self.memory is not None:
            self.memory.save_context(inputs, outputs)
        self.callbacks.fire("on_chain_end", outputs)
        return outputs

    def _call(self, inputs):
        name_to_tool = {tool.name: tool for tool in self.tools}
        intermediate_steps = []
        iterations = 0
        while self._should_continue(iterations):
            result = self._take_next_step(name_to_tool, inputs, intermediate_steps)
            if isinstance(result, Finish):
                return self._return(result, intermediate_steps)
            intermediate_steps.append(result)
            iterations += 1
        stopped = Finish({"output": "I ran out of iterations."}, "")
        return self._return(stopped, intermediate_steps)

    def _should_continue(self, iterations):
        return self.max_iterations is None or iterations < self.max_iterations

    def _take_next_step(self, name_to_tool, inputs, intermediate_steps):
        try:
            output = self.agent.plan(intermediate_steps, self.callbacks, **inputs)
        except OutputParserException as error:
            if not self.handle_parsing_errors:
                raise ValueError(f"the reply cannot be read: {error}")
            return Action("_Exception", "", str(error)), "That reply could not be read."
        if isinstance(output, Finish):
            return output
        self.callbacks.fire("on_agent_action", output)
        if output.tool in name_to_tool:
            observation = name_to_tool[output.tool].run(output.tool_input, self.callbacks)
        else:
            observation = f"No tool has the name {output.tool}. There are: {list(name_to_tool)}"
        return output, observation

    def _return(self, finish, intermediate_steps):
        self.callbacks.fire("on_agent_finish", finish)
        outputs = dict(finish.return_values)
        if self.return_intermediate_steps:
            outputs["intermediate_steps"] = intermediate_steps
        return outputs
