"""Lets the tests import the table and the generator from where the build runs them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "library" / "functions"))
