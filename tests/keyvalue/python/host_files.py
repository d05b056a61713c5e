"""Counts words of files, of which some may be a host's own. Says in TASKS_FILE which task began on which host; one of
them is killed, once.

usage: host_files.py OUTPUT_DIRECTORY TASKS_FILE KILLED_TASK FILE...
"""

import os
import signal
import socket
import sys
import time

from spillway import mpid

directory, tasks_file, killed = sys.argv[1], sys.argv[2], int(sys.argv[3])
splits = mpid.LineSplits(sys.argv[4:])


def send(task, tasks, emit):
    with open(tasks_file, "a") as begun:
        begun.write(f"{task} {socket.gethostname()}\n")
    if task == killed and [line.split()[0] for line in open(tasks_file)].count(str(task)) == 1:
        time.sleep(0.3)  # the others go on meanwhile
        os.kill(os.getpid(), signal.SIGKILL)
    for line in splits.lines(task, tasks):
        for word in line.split():
            emit(word, 1)


def write_counts(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for word, counts in groups:
            output.write(f"{word}\t{sum(counts)}\n")


job = mpid.MapReduce(map=send, reduce=write_counts, value=int, combine="sum")
job.run(conf=splits.conf, checkpoint_interval="1us")
