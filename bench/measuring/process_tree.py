"""The processes below one that was started, as /proc shows them, and the processor time that processes use."""

import os
import time
from typing import Dict, Iterable, Iterator, List, NamedTuple


def _children(pid: int) -> List[int]:
    found: List[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except (OSError, ValueError):
        pass  # ended meanwhile
    return found


def descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from descendants(child)


def executable(pid: int) -> str:
    """Path of the program that a process runs; empty when it has ended or is another user's."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def running(pid: int, program: str) -> List[int]:
    """Descendants of `pid` that run `program`, a path without links."""
    return [each for each in descendants(pid) if executable(each) == program]


def processor_time_ns(pid: int) -> int:
    """What the living threads of a process have used; the kernel counts it in nanoseconds."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return total


class Reading(NamedTuple):
    at_ns: int
    times_ns: Dict[int, int]  # processor time so far, by process


def reading(pids: Iterable[int]) -> Reading:
    return Reading(time.monotonic_ns(), {pid: processor_time_ns(pid) for pid in pids})


class ThreadReading(NamedTuple):
    at_ns: int
    times_ns: Dict[int, int]  # processor time so far, by thread
    waits_ns: Dict[int, int]  # for which it had something to do, and others the processors


def thread_reading(pid: int, names: Dict[int, str]) -> ThreadReading:
    """Of the living threads of a process. Those that are new are added to `names`."""
    times_ns: Dict[int, int] = {}
    waits_ns: Dict[int, int] = {}
    try:
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as file:
                names[thread] = file.read().strip()
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                times_ns[thread], waits_ns[thread] = map(int, file.read().split()[:2])
    except (OSError, ValueError):
        pass  # one of them has ended
    return ThreadReading(time.monotonic_ns(), times_ns, waits_ns)


def percent_of_core(first: Reading, second: Reading) -> Dict[int, float]:
    """What each process has used between two readings; none that only one of them knows."""
    elapsed = second.at_ns - first.at_ns
    return {
        pid: 100 * (used - first.times_ns[pid]) / elapsed
        for pid, used in second.times_ns.items()
        if pid in first.times_ns
    }
