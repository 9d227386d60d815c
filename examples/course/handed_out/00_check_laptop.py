r"""Can you open a file, change it, save it, and run it again?

In the folder of this lesson, type

    python3 ../../../agentloop.py        (on Windows: py ..\..\..\agentloop.py)

It plays a short run. Its last lines name the state in which the run ended: one word with a "_" in
it. Write that word between the quotes, save this file, and run check.py.
"""

STATE = ""
