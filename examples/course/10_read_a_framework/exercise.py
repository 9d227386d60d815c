"""Read a framework with what you know, and write down what you find.

1. WHERE: read framework.py, and write the number of the line in which it happens.
2. HERE: what each name of the large framework is in agentloop: a letter of MEANINGS in the place of
   each "?". Each letter is used once. Where you do not know, examples/from_langchain.md does.

    python3 check.py
"""

WHERE = {
    "the budget is looked at": 0,
    "an unknown tool gets its observation": 0,
    "your function is called": 0,
    "the answer at the limit is made up": 0,
    "the memory is put into the inputs": 0,
    "a handler that fails is caught": 0,
}

MEANINGS = {
    "a": "del run.history[:-2]",
    "b": "a clock, looked at in the for loop",
    "c": 'run.close(action, "not allowed", "denied")',
    "d": "run.steps, always, also after an exception",
    "e": "the third argument: the functions as they are",
    "f": "OpenAIChat(...)",
    "g": "run = run.follow_up(question)",
    "h": "if isinstance(event, AgentStep): ... in the for loop",
    "i": "nothing: an unreadable reply is always an observation",
    "j": "max_requests=10",
    "k": "ReActText(complete)",
    "l": "print(event) in the for loop",
}

HERE = {
    "AgentExecutor(tools=[...])": "?",
    "AgentExecutor(max_iterations=15)": "?",
    "AgentExecutor(max_execution_time=60)": "?",
    "AgentExecutor(handle_parsing_errors=True)": "?",
    "AgentExecutor(return_intermediate_steps=True)": "?",
    "AgentExecutor(verbose=True)": "?",
    "ConversationBufferMemory()": "?",
    "ConversationBufferWindowMemory(k=2)": "?",
    "create_react_agent(...)": "?",
    "create_tool_calling_agent(...)": "?",
    "on_tool_end of a BaseCallbackHandler": "?",
    "HumanApprovalCallbackHandler": "?",
}
