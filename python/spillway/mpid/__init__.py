"""Key-value jobs in Python: the functions of spillway/mpid.h in the same words, and what Python has for them.

    from spillway import mpid

    splits = mpid.LineSplits(["text"])
    with mpid.Init(key=str, value=int, combine="sum", o_tasks=max(len(splits), 1)):
        for side in mpid.tasks():
            if side is mpid.COMM_BIPARTITE_O:
                for line in splits.lines(side.rank, side.size):
                    for word in line.split():
                        mpid.Send(word, 1)
            else:
                with mpid.PartFile("counts", side.rank) as output:
                    for word, counts in mpid.groups():
                        output.write(f"{word}\\t{sum(counts)}\\n")

Started by `mpidrun --mpi mpich python3 program.py`. docs/reference/key-value-jobs-in-python.md says it all.

An exception that nothing catches ends the job, with the task and the traceback. Threads: only the one that called
Init() may call these; the functions that the program sets are called by others, too.
"""

from typing import Any

from ._arrays import imported
from ._iteration import Iteration, bcast, is_driver, next_round, round, send_to_driver
from ._job import (
    COMM_BIPARTITE_A,
    COMM_BIPARTITE_O,
    Comm,
    Finalize,
    Init,
    Mode,
    Recv,
    Send,
    fail_for_good,
    groups,
    recv_batches,
    send_batch,
    send_batch_to_driver,
    set_combine,
    set_compare,
    set_partition,
    tasks,
)
from ._key_ranges import KeyRanges
from ._library import Error
from ._map_reduce import MapReduce
from ._number_lines import SortedNumberLines, first_rows, numbers_of_line
from ._records import RecordSplit, RecordSplits, sampled_keys
from ._streaming import Pace, Streaming, end_window, flush, next_window, windows
from ._text import LineSplits, OutputFile, PartFile, Split, sampled_lines
from ._together import allgather, is_nearest

__all__ = [
    "COMM_BIPARTITE_A",
    "COMM_BIPARTITE_O",
    "Comm",
    "Error",
    "Finalize",
    "Init",
    "Iteration",
    "KeyRanges",
    "LineSplits",
    "MapReduce",
    "Mode",
    "OutputFile",
    "Pace",
    "PartFile",
    "RecordSplit",
    "RecordSplits",
    "Recv",
    "Send",
    "SortedNumberLines",
    "Split",
    "Streaming",
    "allgather",
    "bcast",
    "end_window",
    "fail_for_good",
    "first_rows",
    "flush",
    "groups",
    "is_driver",
    "is_nearest",
    "next_round",
    "next_window",
    "numbers_of_line",
    "recv_batches",
    "round",
    "sampled_keys",
    "sampled_lines",
    "send_batch",
    "send_batch_to_driver",
    "send_to_driver",
    "set_combine",
    "set_compare",
    "set_partition",
    "tasks",
    "windows",
]


def __getattr__(name: str) -> Any:
    """What needs pyarrow, which is not imported before it is used (and so not in __all__)."""
    if name not in ("TablePart", "TableSplits"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    imported("pyarrow", name)
    from ._table_output import TablePart
    from ._tables import TableSplits

    return {"TablePart": TablePart, "TableSplits": TableSplits}[name]
