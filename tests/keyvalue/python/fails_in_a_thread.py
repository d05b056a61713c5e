"""Writes a part, and has another one open when its compare function fails in a thread of the library.

usage: fails_in_a_thread.py OUTPUT_DIRECTORY [FORMAT]
"""

import os
import sys
import threading
import time

from spillway import mpid

directory, *table_format = sys.argv[1:]


def part(name):
    os.makedirs(os.path.join(directory, name), exist_ok=True)
    if not table_format:
        return mpid.PartFile(os.path.join(directory, name), 0)
    return mpid.TablePart(os.path.join(directory, name), 0, {"key": int}, format=table_format[0])


def write(output):
    output.write({"key": [1]} if table_format else "1\n")


def compare(first, second):
    if threading.current_thread() is not threading.main_thread():
        raise KeyError("as it was told")
    return first - second


with mpid.Init(key=int, value=int, compare=compare, partition_bytes="64K"):
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            with part("whole") as output:
                write(output)
            with part("begun") as output:
                write(output)
                for key in range(100000):
                    mpid.Send(key, key)
                time.sleep(30)
