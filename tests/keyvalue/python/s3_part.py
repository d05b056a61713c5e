"""One large part in a store, for test_s3.py: `s3_part.py DIRECTORY PROCESS_TO_KILL MARK`.

The first time, when MARK is not there yet, it kills the process (0: its own) while the part is being written.
"""

import os
import random
import signal
import sys
from pathlib import Path

from spillway import mpid

directory, process, mark = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
ROWS, ROW_BYTES = 48, 1 << 19


def row(number):
    return random.Random(number).randbytes(ROW_BYTES)


with mpid.Init(key=int, value=bytes, o_tasks=1, a_tasks=1):
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            for number in range(ROWS):
                mpid.Send(number, row(number))
            continue
        with mpid.TablePart(directory, 0, {"number": int, "row": bytes}) as part:
            for number, data in mpid.Recv():
                if number == ROWS - 1 and not mark.exists():
                    mark.touch()
                    os.kill(process or os.getpid(), signal.SIGKILL)
                part.write({"number": [number], "row": [data]})
assert list(mpid.TableSplits([directory]).rows(0, 1)) == [(number, row(number)) for number in range(ROWS)]
