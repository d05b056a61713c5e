"""sort: the lines of text files in the order of their bytes, as `LC_ALL=C sort` has them.

What part-00000 has comes before what part-00001 has, and so on: lines are divided by keys of a sample.

usage: mpidrun --mpi NAME [options] python3 sort.py OUTPUT_DIRECTORY FILE...
"""

import sys

from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
splits = mpid.LineSplits(paths)


def begin():
    global ranges
    mpid.PartFile.check(directory)
    ranges = mpid.KeyRanges(mpid.sampled_lines(splits, together=True))  # the same in all processes


def send_lines(task, tasks, emit):
    for line in splits.lines(task, tasks, encoding=None):
        emit(line, b"")


def write_lines(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for line, copies in groups:
            for _ in copies:
                output.write(line + b"\n")


def task_of(line, _value, tasks):
    return ranges.task_of(line, tasks)


job = mpid.MapReduce(send_lines, write_lines, key=bytes, value=bytes, partition=task_of, begin=begin)
job.run(conf=splits.conf)
