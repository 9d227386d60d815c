"""A check that believes what a model says. Make it look at the world instead.

The agent moves files from an inbox into an archive. `world` is what is really there:

    {"inbox": ["a.txt", "b.txt"], "archive": []}

make_accept(world) returns the check of a run: None when the task is done, else the reason. Done
means: the inbox is empty, and every file that was in it when make_accept() was called is in the
archive. (A model that deletes what it should move has emptied the inbox, too.)

The reason goes to the model, so it has to name the files that are still in the inbox or missing.

    python3 check.py
"""


def make_accept(world):
    def accept(run):
        if "done" in str(run.output).lower():
            return None
        return "not done"

    return accept
