"""Can you open a file, change it, save it, and run it again?

In a terminal, go to the folder where agentloop.py lies, and type

    python3 agentloop.py

It plays a short run. Its last lines name the state in which the run ended: one word with a "_" in
it. Write that word between the quotes, save this file, and run check.py.
"""

STATE = ""
