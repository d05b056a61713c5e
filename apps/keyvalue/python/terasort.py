"""terasort: sorts the records of the sort benchmark, 100 bytes of which the first 10 are the key.

What part-00000 has comes before what part-00001 has, and so on: records are divided by keys of a sample.

usage: mpidrun --mpi NAME [options] python3 terasort.py OUTPUT_DIRECTORY FILE...
"""

import sys

import numpy as np
from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
RECORD, KEY = 100, 10  # bytes
splits = mpid.RecordSplits(paths, RECORD)


def send_records(side):
    for records in splits.batches(side.rank, side.size):
        mpid.send_batch(records[:, :KEY], records[:, KEY:])


def write_records(side):
    with mpid.PartFile(directory, side.rank) as output:
        for (keys, _), (values, _) in mpid.recv_batches(arrays="numpy"):
            output.write(np.hstack([keys.reshape(-1, KEY), values.reshape(-1, RECORD - KEY)]).tobytes())


def task_of(key, _value, tasks):
    return ranges.task_of(key, tasks)


with mpid.Init(key=bytes, value=bytes, partition=task_of, conf=splits.conf):
    mpid.PartFile.check(directory)
    ranges = mpid.KeyRanges(mpid.sampled_keys(splits, KEY, together=True))  # the same in all processes
    for side in mpid.tasks():
        (send_records if side is mpid.COMM_BIPARTITE_O else write_records)(side)
