"""Runs a program under a limit on its memory, with swap space or without."""

from pathlib import Path
from typing import Callable, List, NamedTuple, Optional

from measuring.control_group import ControlGroup, DiskRate
from measuring.program_run import Outcome, RunFailed, run
from measuring.swap_file import SwapFile


class KilledForMemory(RunFailed):
    """Though there was swap space, or the program was to do with what it had."""


class Swap(NamedTuple):
    path: Path
    size_bytes: int


def run_limited(
    command: List[str],
    limit_s: float,
    limit_bytes: int,
    swap: Optional[Swap] = None,
    rate: Optional[DiskRate] = None,
    on_line: Optional[Callable[[str], None]] = None,
) -> Outcome:
    """Raises RunFailed, and NoControlGroups or NoSwap where there are none."""
    with ControlGroup(limit_bytes, may_swap=swap is not None, rate=rate) as group:
        words = group.words(command)
        try:
            if swap is None:
                return run(words, limit_s, on_line=on_line)
            with SwapFile(swap.path, swap.size_bytes):
                return run(words, limit_s, on_line=on_line)
        except RunFailed as failure:
            if group.kill_count() > 0:
                raise KilledForMemory(f"the kernel killed it for want of memory under its limit\n{failure}") from None
            raise
