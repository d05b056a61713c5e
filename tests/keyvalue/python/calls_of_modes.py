"""Calls what is refused in the mode that its argument names, or fails where its argument says so.

Why it was refused is appended to the file that its second argument names: Open MPI's launcher mixes the parts of lines
that several processes print.
"""

import sys

from spillway import mpid

way = sys.argv[1]


def refused(word, *arguments):
    try:
        getattr(mpid, word)(*arguments)
    except mpid.Error as error:
        with open(sys.argv[2], "a") as reasons:
            reasons.write(f"{error.code} {error}".split("\n")[0] + "\n")
    else:
        raise AssertionError(f"{word}() was not refused")


def fail(where):
    if way == where:
        raise KeyError(f"gone wrong in {where}")


def map_(task, tasks, received, emit):
    emit("key", 1)
    fail("map")
    if way == "ITERATION":
        refused("send_to_driver", "key", 1)
        refused("next_round")
        refused("bcast")
        refused("flush")
        refused("next_window")


def reduce(task, tasks, groups, emit, emit_to_driver):
    fail("reduce")
    for key, values in groups:
        emit_to_driver(key, VALUES.get(way, sum(values)))


def drive(number, received):
    fail("drive")
    assert [(key, list(values)) for key, values in received] == [("key", [1])]


def source(task, tasks, emit):
    if way == "STREAMING":
        refused("next_window")
        refused("send_to_driver", "key", 1)
        refused("next_round")
        refused("round")


def sink(task, tasks, windows):
    for _, records in windows:
        assert not list(records)
    fail("sink")
    if way == "STREAMING":
        refused("Send", "key", 1)
        refused("end_window")
        refused("groups")
        refused("is_driver")


VALUES = {"a wrong value": "text"}
if way in ("sink", "STREAMING"):
    mpid.Streaming(source, sink, value=int).run()
else:
    mpid.Iteration(map_, reduce, drive, value=int).run()
