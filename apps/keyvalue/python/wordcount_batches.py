"""wordcount: how often each word is in text files, as wordcount.py, but with NumPy and Arrow on many words at a time.

Words are what is between spaces, tabs and other control characters; bytes of any encoding.

usage: mpidrun --mpi NAME [options] python3 wordcount_batches.py OUTPUT_DIRECTORY FILE...
"""

import sys

import numpy as np
import pyarrow as pa
from pyarrow.compute import binary_join_element_wise as joined
from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
splits = mpid.LineSplits(paths)


def words_of(block):
    """As the block, where each begins, and where each ends."""
    is_word = np.zeros(len(block) + 2, bool)
    np.greater(np.frombuffer(block, np.uint8), ord(" "), out=is_word[1:-1])
    before, after = is_word[:-1], is_word[1:]
    return block, np.flatnonzero(after > before), np.flatnonzero(after < before)


def write_counts(side):
    with mpid.PartFile(directory, side.rank) as output:
        for words, counts in mpid.recv_batches():  # numbers are added up: each word comes once
            texts = counts.cast(pa.string()).cast(pa.binary())
            lines = joined(words.cast(pa.binary()), texts, b"\t")
            output.write(b"\n".join(lines.to_pylist()) + b"\n")


with mpid.Init(key=bytes, value=int, combine="sum", conf=splits.conf):
    mpid.PartFile.check(directory)
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_A:
            write_counts(side)
            continue
        for split in splits.of_task(side.rank, side.size):
            for block in split.blocks():
                mpid.send_batch(words_of(block), 1)
