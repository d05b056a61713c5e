"""The streaming mode: its words, and programs as a source and a sink."""

import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Tuple

from . import _job, _library
from ._job import Mode, Record
from ._library import Error, check, loaded_library

Windows = Iterator[Tuple[int, Iterator[Record]]]
_PACE_STEP_S = 0.001


def flush() -> None:
    """Passes on what has been gathered. Of a source that has nothing to send for longer than the latency."""
    _job.running().flush()
    check(loaded_library().MPI_D_Flush())


def end_window() -> None:
    """Of an O task: what it sends from here on is of the next window."""
    _job.running().flush()
    check(loaded_library().MPI_D_End_window())


def next_window() -> bool:
    """Of an A task: goes on to the next window, or says that none follows. What is left of the last one is dropped."""
    job = _job.running()
    job.require(Mode.STREAMING, "next_window()")
    if not _job.COMM_BIPARTITE_A:
        raise Error(_library.ERR_COMM, "next_window() is for A tasks\n  Remedy: look which of the sides is true.")
    job.forget_records()
    has_window = bool(loaded_library().MPI_D_Next_window())
    job.window += has_window
    return has_window


def windows() -> Windows:
    """Of an A task: its windows, the current one first, each as its number and its records, those of Recv()."""
    job = _job.running()
    job.require(Mode.STREAMING, "windows()")
    while True:
        yield job.window, _job.Recv()
        if not next_window():
            return


class Pace:
    """For a source that sends a record every so many seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._begin, self._count = seconds, time.monotonic(), 0

    def wait(self) -> None:
        """Until the next one is due. Passes on what has been sent, and ends windows that are due."""
        due = self._begin + self._count * self._seconds
        self._count += 1
        while True:
            left = due - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _PACE_STEP_S))
            flush()


@dataclass
class Streaming:
    """A program in the streaming mode: `source` runs in O tasks and `sink` in A tasks, all at the same time."""

    source: Callable[[int, int, Callable[[Any, Any], None]], None]  # (task, tasks, emit)
    sink: Callable[[int, int, Windows], None]  # (task, tasks, windows)
    key: type = str
    value: type = str
    combine: Optional[_job.Combine] = None
    partition: Optional[_job.Partition] = None

    def run(self, **configuration: Any) -> None:
        """`configuration` is that of Init()."""
        functions = {"combine": self.combine, "partition": self.partition}
        with _job.Init(Mode.STREAMING, key=self.key, value=self.value, **functions, **configuration):
            for side in _job.tasks():
                if side is _job.COMM_BIPARTITE_O:
                    self.source(side.rank, side.size, _job.running().send)
                else:
                    self.sink(side.rank, side.size, windows())
