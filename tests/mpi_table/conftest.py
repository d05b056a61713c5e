"""Lets the tests import the table and the generator from where the build runs them, and the front end's ELF reader."""

import sys
from pathlib import Path

for folder in ("src/library/functions", "python"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))
