"""wordcount: how often each word is in text files.

usage: mpidrun --mpi NAME [options] python3 wordcount.py OUTPUT_DIRECTORY FILE...
"""

import sys

from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
splits = mpid.LineSplits(paths)


def count_words(task, tasks, emit):
    for line in splits.lines(task, tasks):
        mpid.send_batch(line.split(), 1)  # as emit(word, 1) of each word, but faster


def write_counts(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for word, counts in groups:
            output.write(f"{word}\t{sum(counts)}\n")


job = mpid.MapReduce(map=count_words, reduce=write_counts, value=int, combine="sum")
job.begin = lambda: mpid.PartFile.check(directory)
job.run(conf=splits.conf)
