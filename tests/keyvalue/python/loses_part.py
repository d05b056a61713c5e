"""Counts keys into parts of 4 A tasks; while task TASK runs, the part of task TASK - 2 is removed, or written to.

usage: loses_part.py OUTPUT_DIRECTORY TASK gone|changed [FORMAT [elsewhere]]
"""

import sys
from pathlib import Path

from spillway import mpid

directory, at, change = sys.argv[1], int(sys.argv[2]), sys.argv[3]
table_format = sys.argv[4] if len(sys.argv) > 4 else None
file_system = None
if sys.argv[5:] == ["elsewhere"]:
    from file_system_elsewhere import ELSEWHERE as file_system


def write_part(task, rows):
    if table_format is None:
        with mpid.PartFile(directory, task) as output:
            for key, total in rows:
                output.write(f"{key}\t{total}\n")
    else:
        with mpid.TablePart(directory, task, {"key": int, "total": int}, table_format, file_system) as table:
            for row in rows:
                table.write_row(*row)


def reduce(task, _tasks, groups):
    write_part(task, [(key, sum(values)) for key, values in groups])
    if task == at:
        (lost,) = Path(directory).glob(f"part-{task - 2:05}*.partial")
        lost.unlink() if change == "gone" else lost.write_bytes(b"something else")


def send(task, _tasks, emit):
    for key in range(100):
        emit(key, task)


mpid.MapReduce(map=send, reduce=reduce, key=int, value=int).run(o_tasks=2, a_tasks=4)
