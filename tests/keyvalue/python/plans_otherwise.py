"""Each process plans a file under a name that is its own: plans_otherwise.py FILE"""

import os
import sys

from spillway import mpid

splits = mpid.LineSplits([f"/proc/{os.getpid()}/root{sys.argv[1]}"])
with mpid.Init(o_tasks=len(splits)):
    sys.exit("the job has begun")
