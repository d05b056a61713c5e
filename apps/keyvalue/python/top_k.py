"""top-k: the most frequent words of each window of a stream, as lines `window word count`.

O tasks read lines of files, with --rate so many a second each; A tasks count words, and the first of them writes.

usage: mpidrun --mpi NAME -M streaming [options] python3 top_k.py [--rate LINES] K OUTPUT_DIRECTORY FILE...
"""

import sys
import time
from collections import Counter
from contextlib import nullcontext
from itertools import chain

from mpi4py import MPI
from spillway import mpid

has_rate = sys.argv[1:2] == ["--rate"]
words = sys.argv[3 if has_rate else 1 :]
if len(words) < 3:
    sys.exit(__doc__)
k, directory, splits = int(words[0]), words[1], mpid.LineSplits(words[2:])
rate = int(sys.argv[2]) if has_rate else 0


def wait_until(due):
    """A source that waits passes on what it has sent, and ends windows."""
    while (now := time.monotonic()) < due:
        mpid.flush()
        time.sleep(min(due - now, 0.001))


def send_words(task, tasks, emit):
    begin = time.monotonic()
    for number, line in enumerate(splits.lines(task, tasks)):
        if rate:
            wait_until(begin + number / rate)
        for word in line.split():
            emit(word, 1)


def best_of(counts):
    return sorted(counts, key=lambda counted: (-counted[1], counted[0]))[:k]


def write_best(task, tasks, windows):
    everybody = MPI.COMM_WORLD.group
    sinks = MPI.COMM_WORLD.Create_group(everybody.Excl(range(everybody.size - tasks)))
    with mpid.PartFile(directory, 0) if task == 0 else nullcontext() as output:
        for number, records in windows:
            counts = Counter()
            for word, count in records:
                counts[word] += count
            found = sinks.gather(best_of(counts.items()))
            for word, count in best_of(chain(*found)) if task == 0 else ():
                output.write(f"{number} {word} {count}\n")


mpid.Streaming(source=send_words, sink=write_best, value=int, combine="sum").run()
