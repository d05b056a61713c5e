"""Swap space of our own, for measuring the operating system's way. Needs root.

A machine must never be left with it: another process waits for the end of this one, however it ends, and takes the swap
file away.
"""

import os
import subprocess
from pathlib import Path
from typing import Optional

# Ignores what ^C sends to the whole terminal; ends when its standard input does.
_WATCHER = """trap '' INT TERM HUP
cat >/dev/null
if grep -q "^$1[[:space:]]" /proc/swaps; then swapoff "$1" || exit 1; fi
rm -f "$1"
"""


class NoSwap(Exception):
    """Says why no swap space can be added here."""


class SwapFile:
    """In use from entering to leaving."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path = path
        self._size_bytes = size_bytes
        self._watcher: Optional[subprocess.Popen] = None

    def __enter__(self) -> "SwapFile":
        if os.geteuid() != 0:
            raise NoSwap("swap space can be added by root only")
        self._watcher = subprocess.Popen(
            ["sh", "-c", _WATCHER, "sh", str(self._path)], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, self._size_bytes)
            finally:
                os.close(descriptor)
            self._execute("mkswap", str(self._path))
            self._execute("swapon", str(self._path))
        except OSError as error:
            self._take_away()
            raise NoSwap(f"cannot add swap space: {error}") from None
        except BaseException:
            self._take_away()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._take_away()
        if self._path.exists() or self._is_in_use():
            raise RuntimeError(f"swap file {self._path} is still there\n  Remedy: swapoff {self._path}, and remove it")

    def _take_away(self) -> None:
        assert self._watcher is not None and self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait()

    def _is_in_use(self) -> bool:
        return any(line.split()[0] == str(self._path) for line in Path("/proc/swaps").read_text().splitlines())

    @staticmethod
    def _execute(*words: str) -> None:
        try:
            outcome = subprocess.run(words, capture_output=True, text=True)
        except FileNotFoundError:
            raise NoSwap(f"there is no program {words[0]}") from None
        if outcome.returncode != 0:
            raise NoSwap(f"{words[0]} failed: {outcome.stderr.strip()}")
