"""How much memory the ranks of a job have resident together, sampled while it runs.

The measure is Pss (proportional set size): each page counts once, however many ranks share it, so the sum over the
ranks is what they take from the machine. It contains what a summary of Spillway's own ledger does not: the program,
its libraries, stacks, and the MPI library's buffers.
"""

import os
import threading
import time
from typing import List

from .process_tree import running

PERIOD_S = 0.05
# What Spillway promises to stay under, beyond the budget (docs/reference/benchmarks.md).
SLACK_BYTES = 32 << 20
SLACK_BYTES_PER_RANK = 4 << 20
# Room for what is not the ranks', where a limit holds for the whole job: launchers and Spillway's agent (10 MiB), the
# kernel's page tables (half a MiB for each rank), and some file cache to read through. Measured with 16 ranks: a job
# whose ranks stay 20 MiB below what they may have needs 22 MiB more than that.
BESIDE_RANKS_BYTES = 32 << 20
BESIDE_RANKS_BYTES_PER_RANK = 1 << 20
# Until all ranks have started, they are looked for in every sample; then only now and then.
SAMPLES_BETWEEN_SEARCHES = 40


def allowed_bytes(budget: int, ranks: int) -> int:
    """The most that all ranks together may have resident at any time."""
    return budget + SLACK_BYTES + SLACK_BYTES_PER_RANK * ranks


def job_limit_bytes(budget: int, ranks: int) -> int:
    """A limit for the whole job that leaves the ranks what they may have."""
    return allowed_bytes(budget, ranks) + BESIDE_RANKS_BYTES + BESIDE_RANKS_BYTES_PER_RANK * ranks


def pss_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # it has just ended
    return 0


class ResidencySampler:
    """Samples from entering to leaving. `now_bytes` and `peak_bytes` may be read at any time."""

    def __init__(self, root: int, program: str, ranks: int) -> None:
        self.now_bytes = 0
        self.peak_bytes = 0
        self.sample_count = 0
        self.longest_gap_s = 0.0  # a busy machine samples late; whoever reports the peak should know
        self._root = root
        self._program = os.path.realpath(program)
        self._ranks = ranks
        self._pids: List[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)

    def __enter__(self) -> "ResidencySampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample_until_stopped(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(max(0.0, last + PERIOD_S - time.monotonic())):
            begin = time.monotonic()
            if self._sample() and self.sample_count > 1:
                self.longest_gap_s = max(self.longest_gap_s, begin - last)
            last = begin

    def _sample(self) -> bool:
        if len(self._pids) < self._ranks or self.sample_count % SAMPLES_BETWEEN_SEARCHES == 0:
            self._pids = running(self._root, self._program)
        self.now_bytes = sum(map(pss_bytes, self._pids))
        if self.now_bytes == 0:
            return False
        self.peak_bytes = max(self.peak_bytes, self.now_bytes)
        self.sample_count += 1
        return True
