"""How far a sort is: a line on the terminal, or lines of JSON. The sort's first process writes it to a file."""

import os
import select
import shutil
import sys
import time
from typing import BinaryIO, List, NamedTuple, Optional

from .sizes import format_size
from .standard_error import say

TICK_S = 0.5
STYLES = ("auto", "bar", "json", "none")
_BAR_CELLS = 24
_STAGES = {"d": "read and deal out", "f": "sort and write"}


class Place(NamedTuple):
    stage: int  # from 0
    done: int
    total: int

    @property
    def share(self) -> float:
        """Of the whole: each stage reads and writes all data once, or does neither."""
        return (self.stage + self.done / max(self.total, 1)) / len(_STAGES)


def parse_place(line: str) -> Optional[Place]:
    """Of the file's line; None while it is not whole."""
    words = line.split()
    if len(words) != 3 or words[0] not in _STAGES or not line.endswith("\n"):
        return None
    return Place(list(_STAGES).index(words[0]), int(words[1]), int(words[2]))


class SortProgress:
    def __init__(self, style: str, path: str, size: int) -> None:
        """`path`: the file; `size`: of the inputs, in bytes."""
        self._style = ("bar" if sys.stderr.isatty() else "none") if style == "auto" else style
        self._path = path
        self._size = size
        self._begin = time.monotonic()
        self._has_line = False

    @property
    def is_wanted(self) -> bool:
        return self._style != "none"

    def show_until_end(self, pipe: BinaryIO) -> bytes:
        """Until `pipe` has ended; returns what came from it."""
        content: List[bytes] = []
        while True:
            if select.select([pipe], [], [], TICK_S)[0]:
                part = os.read(pipe.fileno(), 1 << 16)
                if not part:
                    self._end()
                    return b"".join(content)
                content.append(part)
            else:
                self._show()

    def _show(self) -> None:
        try:
            with open(self._path, encoding="ascii") as file:
                place = parse_place(file.readline())
        except OSError:
            return  # not begun
        if place is not None:
            self._write(place, time.monotonic() - self._begin)

    def _write(self, place: Place, elapsed_s: float) -> None:
        if not self.is_wanted:
            return
        left_s = elapsed_s * (1 - place.share) / place.share if place.share else None
        stage = list(_STAGES.values())[place.stage]
        rate = 2 * place.share * self._size / elapsed_s  # each stage takes all bytes
        if self._style == "json":
            import json  # for --progress json only

            values = {"elapsed_s": round(elapsed_s, 3), "left_s": None if left_s is None else round(left_s, 3)}
            values.update({"stage": stage, "done": place.done, "total": place.total, "bytes_per_s": round(rate)})
            say(json.dumps(values) + "\n")
        else:
            cells = int(_BAR_CELLS * place.share)
            line = f"[{'#' * cells}{'.' * (_BAR_CELLS - cells)}] {stage}  {format_size(rate)}/s"
            line += "" if left_s is None else f"  {left_s:.0f} s left"
            say(f"\r{line[: shutil.get_terminal_size().columns - 1]}\033[K")
            self._has_line = True

    def _end(self) -> None:
        if self._has_line:
            say("\r\033[K")
