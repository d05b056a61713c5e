"""Jobs of one host each, beside the one that is measured."""

import os
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from typing import IO, Callable, Iterator, List, NamedTuple

from job import Setting
from measuring.program_run import RunFailed, end

_POLL_S = 0.05
# K-means is over when it has found its clusters. The shell ends after what it runs, which gets the same signals.
_AGAIN_AND_AGAIN = """trap exit TERM; while "$@"; do :; done"""


class _Neighbour(NamedTuple):
    process: subprocess.Popen
    output: IO[bytes]

    def has_begun(self) -> bool:
        # Not by its position in the file, which the program's own is, too.
        return b"\niteration 1:" in os.pread(self.output.fileno(), 1 << 16, 0)

    def check(self) -> None:
        if self.process.poll() is not None:
            raise RunFailed("a job on a neighbouring host ended before the measured one")


def _start(command: List[str], setting: Setting, stack: ExitStack) -> _Neighbour:
    output = stack.enter_context(tempfile.TemporaryFile())
    process = subprocess.Popen(
        ["sh", "-c", _AGAIN_AND_AGAIN, "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **setting.network.environment},
    )
    stack.callback(end, process)
    return _Neighbour(process, output)


@contextmanager
def neighbours(commands: List[List[str]], setting: Setting) -> Iterator[Callable[[], None]]:
    """All of these are in their iterations. Yields what raises RunFailed when one no longer is."""
    with ExitStack() as stack:
        started = [_start(command, setting, stack) for command in commands]

        def check() -> None:
            for neighbour in started:
                neighbour.check()

        deadline = time.monotonic() + setting.limit_s
        while not all(neighbour.has_begun() for neighbour in started):
            check()
            if time.monotonic() > deadline:
                raise RunFailed("jobs on neighbouring hosts did not begin to iterate")
            time.sleep(_POLL_S)
        yield check
