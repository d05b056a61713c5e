"""The processes below one that was started, as /proc shows them."""

import os
from typing import Dict, Iterator, List


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


def processor_times_ns(pid: int) -> Dict[int, int]:
    """The same for each descendant."""
    return {each: processor_time_ns(each) for each in descendants(pid)}
