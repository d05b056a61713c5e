"""Sums of 12 O tasks in 5 A tasks, whose checkpoint something happens to.

usage: damages_checkpoint.py OUTPUT_DIRECTORY CHECKPOINT LOG WHAT WHEN

WHAT is removed or flipped, of all files that are complete; when O task 11 is about to die (WHEN is dying), or when A
task 0 of the next start has begun (merging). LOG has the names of those files, and then `died`.
"""

import os
import signal
import sys
import time
from pathlib import Path

from spillway import mpid

directory, checkpoint, log, what, when = sys.argv[1:]
KEYS = 30_000  # so that what an O task sends to an A task is read where it was kept
PIECE_BYTES = 16 << 10  # has a checksum


def complete_files():
    return sorted(path for path in Path(checkpoint).glob("spillway-o-*") if path.suffix != ".partial")


def flip(path):
    with open(path, "r+b") as file:
        for position in range(PIECE_BYTES // 2, path.stat().st_size, PIECE_BYTES):
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 1]))


def damage():
    with open(log, "a") as names:
        for path in complete_files():
            path.unlink() if what == "removed" else flip(path)
            names.write(f"{path.name}\n")


def die():
    while len(complete_files()) < 3:
        time.sleep(0.01)
    if when == "dying":
        damage()
    with open(log, "a") as names:
        names.write("died\n")
    os.kill(os.getpid(), signal.SIGKILL)


def has_died():
    return os.path.exists(log) and "died" in open(log).read().split()


def send(task, _tasks, _emit):
    if task == 11 and not has_died():
        die()
    mpid.send_batch(list(range(KEYS)), task)


def write(task, _tasks, groups):
    if task == 0 and when == "merging" and open(log).read().split() == ["died"]:
        damage()
    with mpid.PartFile(directory, task) as output:
        for key, values in groups:
            output.write(f"{key}\t{sum(values)}\n")


mpid.MapReduce(map=send, reduce=write, key=int, value=int).run(o_tasks=12, a_tasks=5, checkpoint_interval="1us")
