"""The iteration mode: its words, and programs as a map, a reduce and a driver function."""

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Tuple

from . import _job, _library
from ._job import Mode
from ._kinds import address_of, bytes_at
from ._library import Bytes, Error, check, loaded_library

Groups = Iterator[Tuple[Any, Iterator[Any]]]
Emit = Callable[[Any, Any], None]


def is_driver() -> bool:
    """Whether this process is the driver, which says how many rounds there are."""
    _job.running().require(Mode.ITERATION, "is_driver()")
    return bool(loaded_library().MPI_D_Is_driver())


def next_round(goes_on: bool = False) -> bool:
    """Collective, after the last task of a round: begins another one where the driver says so.

    `goes_on` of the others does not count.
    """
    job = _job.running()
    job.require(Mode.ITERATION, "next_round()")
    if not job.has_ended_tasks:
        raise Error(
            _library.ERR_STATE, "next_round() called while this round has tasks\n  Remedy: go through tasks() before."
        )
    job.begin_task()
    goes_on = bool(loaded_library().MPI_D_Next_round(bool(goes_on)))
    job.has_ended_tasks = not goes_on
    return goes_on


def round() -> int:
    """The number of the current round, from 0."""
    _job.running()
    number = ctypes.c_int()
    check(loaded_library().MPI_D_Round(number))
    return number.value


def send_to_driver(key: Any, value: Any) -> None:
    """Of an A task. The driver receives it when tasks() has ended."""
    _job.running().send_to_driver(key, value)


def bcast(data: bytes = b"") -> bytes:
    """Collective, before the first task of a round or after the last one: the driver's bytes."""
    _job.running()
    if not isinstance(data, bytes):
        raise TypeError(f"bcast() is of bytes, not of {type(data).__name__}")
    whole = Bytes(address_of(data), len(data))
    check(loaded_library().MPI_D_Bcast(whole))
    return bytes_at(whole.data, whole.size)


@dataclass
class Iteration:
    """A program in the iteration mode: as long as `drive` says so, a round of O tasks (`map`) and A tasks (`reduce`).

    A task is in the same process in all rounds, so what belongs to it may be kept there.
    """

    map: Callable[[int, int, Groups, Emit], None]  # (task, tasks, received, emit): what A tasks emitted for this one
    reduce: Callable[[int, int, Groups, Emit, Emit], None]  # (task, tasks, groups, emit, emit_to_driver)
    drive: Callable[[int, Groups], Any]  # in the driver: (round, received), whether there is another round
    state: Optional[Callable[[], bytes]] = None  # of the driver, before each round: all processes
    take_state: Optional[Callable[[bytes], None]] = None  # get it
    key: type = str
    value: type = str
    combine: Optional[_job.Combine] = None  # of what O tasks emit
    compare: Optional[_job.Compare] = None
    partition: Optional[_job.Partition] = None  # for both directions
    begin: Optional[Callable[[], None]] = None  # in all processes, before the first round

    def run(self, **configuration: Any) -> None:
        """`configuration` is that of Init()."""
        functions = {"combine": self.combine, "compare": self.compare, "partition": self.partition}
        with _job.Init(Mode.ITERATION, key=self.key, value=self.value, **functions, **configuration):
            if self.begin is not None:
                self.begin()
            while self._run_round():
                pass

    def _run_round(self) -> bool:
        if self.state is not None and self.take_state is not None:
            self.take_state(bcast(self.state() if is_driver() else b""))
        job = _job.running()
        for side in _job.tasks():
            if side is _job.COMM_BIPARTITE_O:
                self.map(side.rank, side.size, _job.groups(), job.send)
            else:
                self.reduce(side.rank, side.size, _job.groups(), job.send, job.send_to_driver)
        return next_round(is_driver() and self.drive(round(), _job.groups()))
