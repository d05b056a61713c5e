"""How long a processor of this machine stood still: a virtual one that its host does not run makes every program late.

`standstill.py FILE`, of a file in memory, keeps watch until it is asked to end (SIGTERM), or who started it has: a
process on each processor, which wakes ten times a second and notes in the file when it was kept from that for seconds,
as no load of the machine does. Time limits of tests are longer by that, and by no more.
"""

import mmap
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import List, Optional

FILE_VARIABLE = "SPILLWAY_STANDSTILL_FILE"
INTERVAL_S = 0.1
LEAST_S = 2.0
MOST_S = 180.0  # by so much a limit is longer at most: a watch may end, too


class Watch:
    """The file: of each processor when it has been seen alive, and the seconds that it stood still until then."""

    def __init__(self, path: Path, processors: int) -> None:
        self._processors = processors
        size = 2 * processors * 8
        with path.open("r+b") as file:
            self._memory = memoryview(mmap.mmap(file.fileno(), size)).cast("d")

    def seen(self, processor: int, now: float) -> None:
        if self._memory[2 * processor] != 0:
            stood_s = now - self._memory[2 * processor] - INTERVAL_S
            if stood_s >= LEAST_S:
                self._memory[2 * processor + 1] += stood_s
        self._memory[2 * processor] = now

    def stood_s(self) -> List[float]:
        """Of each processor, with what goes on."""
        now, found = time.monotonic(), []
        for processor in range(self._processors):
            last = self._memory[2 * processor]
            going_on_s = now - last - INTERVAL_S if last != 0 else 0.0
            found.append(self._memory[2 * processor + 1] + (going_on_s if going_on_s >= LEAST_S else 0.0))
        return found


def _watch() -> Optional[Watch]:
    path = Path(os.environ.get(FILE_VARIABLE, ""))
    return Watch(path, path.stat().st_size // 16) if path.is_file() else None


class TimeLimit:
    """Of so many seconds from now on in which no processor stands still. Without a watch, of seconds."""

    def __init__(self, limit_s: float) -> None:
        self._watch = _watch()
        self._stood_before_s = self._watch.stood_s() if self._watch else []
        self._end = time.monotonic() + limit_s

    def stood_s(self) -> float:
        """How long a processor has stood still since then."""
        now_s = self._watch.stood_s() if self._watch else []
        return max((now - before for now, before in zip(now_s, self._stood_before_s)), default=0.0)

    def left_s(self) -> float:
        """Until it is over; not above 0 then."""
        return self._end + min(self.stood_s(), MOST_S) - time.monotonic()


def _keep_watch(watch: Watch, processor: int, number: int, starter: int) -> None:
    os.sched_setaffinity(0, {processor})
    with suppress(OSError):
        os.nice(-10)
    while os.getppid() == starter:
        watch.seen(number, time.monotonic())
        time.sleep(INTERVAL_S)


def main() -> None:
    path = Path(sys.argv[1])
    processors = sorted(os.sched_getaffinity(0))
    path.write_bytes(bytes(16 * len(processors)))
    watch, starter, own = Watch(path, len(processors)), os.getppid(), os.getpid()
    for number, processor in enumerate(processors):
        if os.fork() == 0:
            _keep_watch(watch, processor, number, own)
            os._exit(0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        while os.getppid() == starter:
            time.sleep(INTERVAL_S)
    finally:
        path.unlink()
        for processor, stood_s in zip(processors, watch.stood_s()):
            if stood_s > 0:
                print(f"processor {processor} stood still for {stood_s:.0f} s in all")


if __name__ == "__main__":
    main()
