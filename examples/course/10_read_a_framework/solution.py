"""One solution. Several lines are right for most of the questions."""

WHERE = {
    "the budget is looked at": 141,
    "an unknown tool gets its observation": 166,
    "your function is called": 66,
    "the answer at the limit is made up": 147,
    "the memory is put into the inputs": 125,
    "a handler that fails is caught": 42,
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
    "AgentExecutor(tools=[...])": "e",
    "AgentExecutor(max_iterations=15)": "j",
    "AgentExecutor(max_execution_time=60)": "b",
    "AgentExecutor(handle_parsing_errors=True)": "i",
    "AgentExecutor(return_intermediate_steps=True)": "d",
    "AgentExecutor(verbose=True)": "l",
    "ConversationBufferMemory()": "g",
    "ConversationBufferWindowMemory(k=2)": "a",
    "create_react_agent(...)": "k",
    "create_tool_calling_agent(...)": "f",
    "on_tool_end of a BaseCallbackHandler": "h",
    "HumanApprovalCallbackHandler": "c",
}
