"""Fails at the line, record or row that is, or begins with, `bad`, or at what comes of it.

usage: fails_at.py WAY FILE...
"""

import sys

from spillway import mpid

way, *paths = sys.argv[1:]
SPLIT_BYTES = 1 << 20
if way in ("records", "record batches"):
    splits = mpid.RecordSplits(paths, 10, SPLIT_BYTES)
elif way in ("rows", "row batches"):
    splits = mpid.TableSplits(paths, split_bytes=SPLIT_BYTES)
else:
    splits = mpid.LineSplits(paths, SPLIT_BYTES)


def items(task, tasks):
    """Each with a text or bytes in which `bad` may be."""
    if way == "records":
        yield from splits.records(task, tasks)
    elif way == "record batches":
        yield from (batch.tobytes() for batch in splits.batches(task, tasks))
    elif way == "rows":
        yield from (name for name, _ in splits.rows(task, tasks))
    elif way == "row batches":
        yield from (" ".join(batch.column(0).to_pylist()) for batch in splits.batches(task, tasks))
    elif way == "blocks":
        for split in splits.of_task(task, tasks):
            yield from split.blocks(1000)
    else:
        yield from splits.lines(task, tasks)


def send(task, tasks, emit):
    for item in items(task, tasks):
        is_bad = (b"bad" if isinstance(item, bytes) else "bad") in item
        if is_bad and way not in ("groups", "Recv", "after groups"):
            raise KeyError("gone wrong")
        if isinstance(item, str):
            emit(item, 1)
    if way == "after lines":
        raise KeyError("gone wrong")


def receive(task, tasks, groups):
    if way == "Recv":
        for key, _ in mpid.Recv():
            if key == "bad":
                raise KeyError("gone wrong")
    for key, values in groups:
        if key == "bad" and way == "groups":
            sum(values)
            raise KeyError("gone wrong")
    raise KeyError("gone wrong")


mpid.MapReduce(map=send, reduce=receive, value=int).run(o_tasks=len(splits))
