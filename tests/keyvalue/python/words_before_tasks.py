"""What processes find out together before the first task, and what the driver gets in batches; or fails for good.

usage: words_before_tasks.py all|fails FILE...
"""

import sys

from spillway import mpid

splits = mpid.LineSplits(sys.argv[2:], split_bytes=8)
with mpid.Init(mpid.Mode.ITERATION, key=int, value=float, conf=splits.conf, a_tasks=2):
    near = [part for part in range(len(splits)) if mpid.is_nearest(part)]
    found = mpid.allgather([b"%d" % part for part in near] + [b""])
    assert sorted(map(int, filter(None, found))) == list(range(len(splits))) and found.count(b"") == 2
    rows = mpid.first_rows(splits, 3)
    home_of = mpid.SortedNumberLines(splits).task_of
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            if sys.argv[1] == "fails":
                mpid.fail_for_good("there are ghosts")
            try:
                mpid.send_batch_to_driver([1], [2.0])
            except mpid.Error as error:
                assert "send_to_driver() is for A tasks" in str(error)
            for line in splits.lines(side.rank, side.size):
                number, value = mpid.numbers_of_line(line)
                assert home_of(number, side.size) == side.rank
                mpid.Send(int(number), value)
        else:
            keys, values = zip(*mpid.Recv())
            mpid.send_to_driver(-1, 1.0)
            mpid.send_batch_to_driver(list(keys), list(values))
            mpid.send_batch_to_driver([-2, -3], 0.5)
    if mpid.is_driver():
        print(rows, list(mpid.Recv()))
    mpid.next_round()
