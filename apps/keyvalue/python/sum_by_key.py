"""sum_by_key: the sum of the numbers in one column for each key in another, of CSV and Parquet files.

Files may be directories, and on any file system that pyarrow.fs knows (hdfs://, s3://). Rows without a key or a number
do not count. The output is Parquet with the columns KEY_COLUMN and sum.

usage: mpidrun --mpi NAME [options] python3 sum_by_key.py OUTPUT_DIRECTORY KEY_COLUMN NUMBER_COLUMN FILE...
"""

import sys

from spillway import mpid

if len(sys.argv) < 5:
    sys.exit(__doc__)
directory, key, number, *paths = sys.argv[1:]
splits = mpid.TableSplits(paths, [key, number])
key_type, number_type = splits.kinds()
if number_type not in (int, float):
    sys.exit(f"sum_by_key: the column {number!r} has no numbers, but is of type {splits.schema.field(number).type}")


def send(side):
    for batch in splits.batches(side.rank, side.size):
        keys, numbers = batch.drop_null().columns
        mpid.send_batch(keys, numbers)


def write_sums(side):
    with mpid.TablePart(directory, side.rank, {key: key_type, "sum": number_type}) as output:
        for name, numbers in mpid.groups():
            output.write_row(name, sum(numbers))


with mpid.Init(key=key_type, value=number_type, combine="sum", conf=splits.conf):
    mpid.TablePart.check(directory)
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            send(side)
        else:
            write_sums(side)
