"""The demonstration's and the benchmarks' own modules are found where those programs find them."""

import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(SOURCE / "demo"), str(SOURCE / "bench"), str(SOURCE / "tests" / "mpi4py")]
