"""Each process sends a long key and a long value to the A task of the other one. Each A task writes what it gets."""

import os
import sys

from spillway import mpid

size, folder = int(sys.argv[1]), sys.argv[2]


def send_long(task, tasks, emit):
    emit(b"%d" % task + bytes(size), b"short")
    emit(b"short %d" % task, os.urandom(16) * (size // 16))


def write_sizes(task, tasks, groups):
    with mpid.PartFile(folder, task) as output:
        for key, (value,) in groups:
            is_whole = key[1:] == bytes(size) and value == b"short" or value == value[:16] * (size // 16)
            output.write(f"{key[:7].strip(bytes(1)).decode()}: {len(key)} {len(value)} {is_whole}\n")


def to_the_other(key, value, tasks):
    task = int(key[6:7] if key[:5] == b"short" else key[:1])
    return (task + 1) % tasks


mpid.MapReduce(map=send_long, reduce=write_sizes, key=bytes, value=bytes, partition=to_the_other).run()
