"""A source sends a record, and then nothing until the sink has it, which must not take more than that.

usage: waits_for_receiver.py FILE flush|Send
"""

import os
import sys
import time

from spillway import mpid

path, way = sys.argv[1:]


def send(task, tasks, emit):
    emit("first", 1)
    if way == "flush":
        mpid.flush()
    else:
        time.sleep(0.01)  # ten times the latency
        emit("second", 2)
    end = time.monotonic() + 20
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError("the record was not passed on")
        time.sleep(0.001)


def receive(task, tasks, windows):
    for _, records in windows:
        for key, _ in records:
            if key == "first":
                open(path, "w").close()


mpid.Streaming(source=send, sink=receive, value=int).run()
