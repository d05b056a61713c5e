"""Writes part files in the O and A tasks of a job, or in each round of one; dies once.

usage: kept_parts.py MODE OUTPUT_DIRECTORY TASKS_FILE KILLED_AT [FORMAT [elsewhere]]

MODE is mapreduce or iteration. Tasks are o0, a0 and so on, in an iteration r0-a0 and so on. TASKS_FILE has those that
have begun. KILLED_AT names some, with commas between them. Of an iteration it may also have r0-a0-throws: while the
task writes a part that it has written in each round before. FORMAT is that of tables, without which parts are text;
elsewhere: in a file system that is not local for the library.
"""

import os
import signal
import sys
import time

from spillway import mpid

mode = mpid.Mode[sys.argv[1].upper()]
directory, path = sys.argv[2:4]
killed_at = sys.argv[4].split(",")
table_format = sys.argv[5] if len(sys.argv) > 5 else None
file_system = None
if sys.argv[6:] == ["elsewhere"]:
    from file_system_elsewhere import ELSEWHERE as file_system
ROUNDS = 3


def is_first(task):
    return open(path).read().split().count(task) == 1


def begin(task):
    with open(path, "a") as begun:
        begun.write(f"{task}\n")
    if task in killed_at and is_first(task):
        time.sleep(1)  # until tasks before it are on the disk, which another thread brings them to
        os.kill(os.getpid(), signal.SIGKILL)


def write_part(name, task, rows):
    folder = os.path.join(directory, name)
    os.makedirs(folder, exist_ok=True)
    if table_format is None:
        with mpid.PartFile(folder, task) as output:
            for key, value in rows:
                output.write(f"{key}\t{value}\n")
    else:
        with mpid.TablePart(folder, task, {"key": int, "value": int}, table_format, file_system) as table:
            for row in rows:
                table.write_row(*row)


def thrown_at(task, rows):
    yield from rows[:1]
    if f"{task}-throws" in killed_at and is_first(task):
        time.sleep(1)
        raise ValueError("thrown in the middle of a part")
    yield from rows[1:]


def sums():
    return [(key, sum(values)) for key, values in mpid.groups()]


def map_reduce():
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            begin(f"o{side.rank}")
            for key in range(100):
                mpid.Send(key, side.rank)
            write_part("of-o", side.rank, [(side.rank, 1)])
        else:
            begin(f"a{side.rank}")
            write_part("of-a", side.rank, sums())


def iterate():
    goes_on = True
    while goes_on:
        number = mpid.round()
        for side in mpid.tasks():
            if side is mpid.COMM_BIPARTITE_O:
                for key, values in mpid.groups():
                    mpid.Send(key, sum(values))
                if number == 0:
                    for key in range(100):
                        mpid.Send(key, side.rank)
            else:
                begin(f"r{number}-a{side.rank}")
                rows = sums()
                write_part(f"round-{number}", side.rank, rows)
                write_part("last", side.rank, thrown_at(f"r{number}-a{side.rank}", rows))
                for key, total in rows:
                    mpid.Send(key, total + 1)
        goes_on = mpid.next_round(number + 1 < ROUNDS)


with mpid.Init(mode, key=int, value=int, checkpoint_interval="1us"):
    iterate() if mode is mpid.Mode.ITERATION else map_reduce()
