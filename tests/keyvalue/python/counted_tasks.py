"""Counts words of its O tasks, of which each says in TASKS_FILE that it has begun; one of them fails, once.

usage: counted_tasks.py OUTPUT_DIRECTORY TASKS_FILE FAILING_TASK
"""

import sys
import time

from spillway import mpid

directory, path, failing = sys.argv[1], sys.argv[2], int(sys.argv[3])


def send(task, tasks, emit):
    with open(path, "a") as begun:
        begun.write(f"{task}\n")
    if task == failing and open(path).read().split().count(str(task)) == 1:
        time.sleep(1)  # until tasks before it are on the disk, which another thread brings them to
        raise KeyError("as it was told")
    for number in range(5000):
        emit(f"word {(task + number) % 100}", 1)


def write_counts(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for word, counts in groups:
            output.write(f"{word}\t{sum(counts)}\n")


mpid.MapReduce(map=send, reduce=write_counts, value=int, combine="sum").run(checkpoint_interval="1us")
