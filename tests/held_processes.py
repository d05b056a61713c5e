"""Processes that wait where a test wants them, however late it comes: held/held_at_call.cpp is preloaded."""

import subprocess
import time
from pathlib import Path
from typing import Dict

from standstill import TimeLimit

LIMIT_S = 60
BLOCK_BYTES = 1 << 16  # of what is read or written, and not looked into
VARIABLES = ["LD_PRELOAD", "HELD_AT", "HELD_OF", "HELD_CALL", "HELD_BYTES", "HELD_GATE"]


class Gate:
    """Where they stand."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._library = library
        self._folder = folder

    def before(self, call: str, path: object, number: int = 1, least_bytes: int = 0) -> Dict[str, str]:
        """The environment of a job each process of which waits before its `number`th call for paths that begin so:
        a request to `read` or `write` as many bytes, or a `rename` to one."""
        values = [self._library, call, path, number, least_bytes, self._folder]
        return {name: str(value) for name, value in zip(VARIABLES, values)}

    def wait_for_one(self, job: subprocess.Popen) -> None:
        """From then on the job does not end by itself."""
        limit = TimeLimit(LIMIT_S)
        while not self.is_anybody_there():
            if job.poll() is not None:
                raise AssertionError(f"the job has ended before: {job.communicate()}")
            assert limit.left_s() > 0, "no process comes there"
            time.sleep(0.005)

    def is_anybody_there(self) -> bool:
        return any(self._folder.iterdir())

    def open(self) -> None:
        (self._folder / "open").touch()
