"""What a program says of its iterations, and what goes over links between hosts meanwhile."""

import re
import time
from statistics import median
from typing import Callable, List, NamedTuple, Optional

from measuring.program_run import RunFailed

_ITERATION = re.compile(r"iteration \d+: ([\d.]+) s$")
_DATA = re.compile(r"data of (all ranks|the largest rank): ([\d.]+) MiB")


class Iterations(NamedTuple):
    seconds: float  # the median, but for the first one
    link_bytes: float  # the mean of all, on the fullest link, in the direction that has more
    data_mib: float  # of all ranks
    largest_rank_mib: float
    result: float
    were_watched: bool  # else its lines came too late for its short iterations, and bytes may be missing


class IterationWatch:
    """Looks at the links when the program says how large its data are, which is before the first iteration, and when it
    says its result: by then all that its ranks have sent has come."""

    def __init__(self, result: re.Pattern, link_bytes: Callable[[], List[int]]) -> None:
        """`link_bytes`: so far, of each link and direction."""
        self._result = result
        self._link_bytes = link_bytes
        self._seconds: List[float] = []
        self._before: List[int] = []
        self._after: List[int] = []
        self._begin_s = 0.0
        self._wall_s = 0.0
        self._mib = {"all ranks": 0.0, "the largest rank": 0.0}
        self._found: Optional[float] = None

    def line(self, line: str) -> None:
        iteration, data, result = (each.match(line) for each in (_ITERATION, _DATA, self._result))
        if iteration:
            self._seconds.append(float(iteration[1]))
        elif data:
            self._mib[data[1]] = float(data[2])
            self._before = self._link_bytes()
            self._begin_s = time.monotonic()
        elif result:
            self._found = float(result[1])
            self._after = self._link_bytes()
            self._wall_s = time.monotonic() - self._begin_s

    def iterations(self) -> Iterations:
        """Raises RunFailed when less has come than all."""
        if len(self._seconds) < 2 or self._found is None or not all(self._mib.values()):
            raise RunFailed("it did not say how large its data are, how long iterations take and what comes out")
        most = max(after - before for before, after in zip(self._before, self._after))
        mean_bytes = most / len(self._seconds)
        were_watched = self._wall_s >= sum(self._seconds) / 2
        return Iterations(median(self._seconds[1:]), mean_bytes, *self._mib.values(), self._found, were_watched)
