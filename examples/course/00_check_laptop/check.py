"""Is the demo's state in the exercise?

python3 check.py               checks exercise.py
python3 check.py --solution    checks solution.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # checking.py lies one folder up
import checking  # noqa: E402
from checking import need  # noqa: E402


def check(exercise):
    state = str(exercise.STATE).strip()
    need(state, 'STATE is still "". Is the file saved? Editors show a dot beside the name if not.')
    need(
        state == "model_ended",
        f"the run did not end as {state!r}. Run it once more, and look at its last lines.",
    )
    return "you can edit, save and run. See you at the course."


if __name__ == "__main__":
    checking.main(Path(__file__).resolve().parent, check)
