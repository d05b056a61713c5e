"""wordcount: how often each word is in text files, as wordcount.py, but with NumPy on many words at a time.

Words are what is between spaces, tabs and other control characters; bytes of any encoding.

usage: mpidrun --mpi NAME [options] python3 wordcount_batches.py OUTPUT_DIRECTORY FILE...
"""

import sys

import numpy as np
from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
splits = mpid.LineSplits(paths)


def words_of(block):
    """As the block, where each begins, and where each ends."""
    is_word = np.frombuffer(b" " + block + b" ", np.uint8) > ord(" ")
    edges = np.flatnonzero(is_word[1:] != is_word[:-1])  # beginnings and ends in turn
    return block, edges[::2], edges[1::2]


def write_counts(side):
    with mpid.PartFile(directory, side.rank) as output:
        for word, counts in mpid.groups():
            output.write(b"%s\t%d\n" % (word, sum(counts)))


with mpid.Init(key=bytes, value=int, combine="sum", conf=splits.conf):
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_A:
            write_counts(side)
            continue
        for split in splits.of_task(side.rank, side.size):
            for block in split.blocks():
                mpid.send_batch(words_of(block), 1)
