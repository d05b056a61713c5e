"""What a program's processes do between two lines of its output, `begin` and `end`."""

import subprocess
from typing import Callable, List, Mapping, Optional, TypeVar

from measuring.program_run import RunFailed, run

Read = TypeVar("Read")
Result = TypeVar("Result")


def between_begin_and_end(
    command: List[str],
    limit_s: float,
    read: Callable[[int], Read],
    result: Callable[[Read, Read], Result],
    environment: Optional[Mapping[str, str]] = None,
) -> Result:
    """`result` of what `read` has read of the program, whose process it is told, at both lines; called while the
    processes are still there. Raises RunFailed."""
    root: Optional[subprocess.Popen] = None
    readings: List[Read] = []
    results: List[Result] = []

    def start(process: subprocess.Popen) -> None:
        nonlocal root
        root = process

    def take(line: str) -> None:
        assert root is not None
        if line in ("begin", "end"):
            readings.append(read(root.pid))
        if line == "end":
            results.append(result(readings[0], readings[1]))

    run(command, limit_s, on_start=start, on_line=take, environment=environment)
    if not results:
        raise RunFailed("it did not say when it began and ended to wait")
    return results[0]
