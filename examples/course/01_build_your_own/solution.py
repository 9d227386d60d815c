"""One solution: the loop of step 4."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from step_4 import run  # noqa: E402, F401
