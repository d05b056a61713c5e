"""The iteration of iterated_sums.cpp. FAILING_ROUND fails once, with FAILS_ONCE_FILE.

usage: iterated_sums.py KEYS ROUNDS [FAILING_ROUND FAILS_ONCE_FILE]
"""

import os
import sys

from spillway import mpid

PRIME = 1000003
keys, rounds = int(sys.argv[1]), int(sys.argv[2])
failing, mark = (int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 3 else (-1, "")


def send(side, number):
    if number == failing and side.rank == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise KeyError("as it was told")
    if number == 0:
        for key in range(side.rank, keys, side.size):
            mpid.Send(key, 1)
    for key, values in mpid.groups():
        for value in values:
            mpid.Send((3 * key + number) % keys, value)
            mpid.Send((key + 1) % keys, value)


def add_up(number):
    for key, values in mpid.groups():
        total = sum(values) % PRIME
        mpid.Send(key, total)
        mpid.send_to_driver(key, total + number)


with mpid.Init(mpid.Mode.ITERATION, key=int, value=int, combine="sum"):
    told = b"0"
    goes_on = True
    while goes_on:
        number = int(mpid.bcast(told if mpid.is_driver() else b"not of the driver"))
        assert number == mpid.round()
        for side in mpid.tasks():
            send(side, number) if side is mpid.COMM_BIPARTITE_O else add_up(number)
        received = list(mpid.Recv())
        if mpid.is_driver():
            print(f"round {number}: {len(received)} keys, sum {sum(value for _, value in received)}", flush=True)
            told = b"%d" % (number + 1)
        else:
            assert not received
        goes_on = mpid.next_round(number + 1 < rounds if mpid.is_driver() else True)
