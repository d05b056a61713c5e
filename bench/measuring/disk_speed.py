"""How fast a disk reads and writes by itself."""

import fcntl
import mmap
import os
import time
from pathlib import Path
from statistics import median
from typing import Dict, List

from measuring.program_run import RunFailed

MIB = 1 << 20
# As spill files are written and read: storage/spill_file.h.
REQUEST_MIB = 8
PASSES = 3


def disk_speeds(folder: Path, mib: int) -> Dict[str, float]:
    """Bytes per second of a file that has been written before: one request after the other, past the file cache. Of
    several passes, as they differ by half. `free`: of giving the file's blocks back, which may take long on a file
    system that is mounted with `discard`."""
    requests = max(1, mib // REQUEST_MIB)
    buffer = mmap.mmap(-1, REQUEST_MIB * MIB)  # in whole pages, as O_DIRECT demands
    buffer.write(os.urandom(REQUEST_MIB * MIB))
    speeds: Dict[str, List[float]] = {}
    file = os.open(folder / "device", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_DIRECT)
        except OSError:
            raise RunFailed(f"{folder}: its file system has no O_DIRECT; name another one with --folder") from None
        passes = [("first write", os.pwritev)] + PASSES * [("write", os.pwritev), ("read", os.preadv)]
        for direction, transfer in passes:
            begin = time.monotonic()
            for number in range(requests):
                if transfer(file, [buffer], number * REQUEST_MIB * MIB) != REQUEST_MIB * MIB:
                    raise RunFailed("the disk transfers less than it was asked to")
            speed = requests * REQUEST_MIB * MIB / (time.monotonic() - begin)
            speeds.setdefault(direction, []).append(speed)
        begin = time.monotonic()
        os.ftruncate(file, 0)
        speeds["free"] = [requests * REQUEST_MIB * MIB / (time.monotonic() - begin)]
    finally:
        os.close(file)
        os.unlink(folder / "device")
    return {direction: median(values) for direction, values in speeds.items()}
