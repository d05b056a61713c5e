"""Partitions that keep the order of keys."""

from bisect import bisect_right
from typing import Any, Sequence


class KeyRanges:
    """What one A task gets comes before what the next one gets: for partition functions.

    Of a sorted sample of the keys, or of their beginnings, the same in all processes.
    """

    def __init__(self, sample: Sequence[Any]) -> None:
        self._sample = sample

    def task_of(self, key: Any, tasks: int) -> int:
        """From 0 to tasks - 1, so that each gets about as much of the sample. Equal keys go to one task."""
        not_behind = bisect_right(self._sample, key)
        return (not_behind * tasks - 1) // len(self._sample) if not_behind else 0
