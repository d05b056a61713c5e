"""A source sends a record, and then nothing until the sink has it, which must not take more than that.

With `bursts` it sends some times many records before that, of which the sink, which is late, may take only some at a
time, and calls flush() once.

usage: waits_for_receiver.py FILE flush|Send|bursts
"""

import os
import sys
import time

from spillway import mpid

path, way = sys.argv[1:]


LIST_RECORDS = 64  # of a send partition list of 64 KiB, about
BURSTS = [int(lists * LIST_RECORDS) for lists in (8.5, 9.5, 10.5, 11.5)]


def wait_for(name):
    end = time.monotonic() + 20
    while not os.path.exists(name):
        if time.monotonic() > end:
            raise TimeoutError("the record was not passed on")
        time.sleep(0.001)


def send_bursts(emit):
    for number, records in enumerate(BURSTS):
        emit("late", number)
        for _ in range(records):
            emit("x" * 1000, number)
        emit("last", number)
        mpid.flush()
        wait_for(f"{path}-{number}")
    open(path, "w").close()


def send(task, tasks, emit):
    if way == "bursts":
        send_bursts(emit)
        return
    emit("first", 1)
    if way == "flush":
        mpid.flush()
    else:
        time.sleep(0.01)  # ten times the latency
        emit("second", 2)
    wait_for(path)


def receive(task, tasks, windows):
    for _, records in windows:
        for key, number in records:
            if key == "first":
                open(path, "w").close()
            elif key == "late":
                time.sleep(0.5)
            elif key == "last":
                open(f"{path}-{number}", "w").close()


mpid.Streaming(source=send, sink=receive, value=int).run()
