"""What was read from a disk and written to it, by everybody: swapping too, which no process is charged for."""

import os
from pathlib import Path
from typing import NamedTuple, Optional

_SECTOR_BYTES = 512
_READ, _WRITTEN = 2, 6  # fields of the kernel's Documentation/block/stat.rst, from 0


class Traffic(NamedTuple):
    read_bytes: int
    written_bytes: int

    def since(self, before: "Traffic") -> "Traffic":
        return Traffic(self.read_bytes - before.read_bytes, self.written_bytes - before.written_bytes)


def traffic_of_disk(folder: Path) -> Optional[Traffic]:
    """Of the disk that the folder is on, since the system started; None where the folder is on no disk of its own."""
    device = os.stat(folder).st_dev
    try:
        words = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()
    except OSError:
        return None
    return Traffic(int(words[_READ]) * _SECTOR_BYTES, int(words[_WRITTEN]) * _SECTOR_BYTES)
