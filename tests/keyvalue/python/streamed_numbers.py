"""A stream of which tests know the records: each O task sends the numbers below RECORDS, WINDOW of them in a window.

Writes of each A task and window how many came, their sum, and whether those of each sender came in order.

usage: streamed_numbers.py OUTPUT_DIRECTORY RECORDS WINDOW records|batches
"""

import sys

from spillway import mpid

directory, records, window, way = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def send_numbers(task, tasks, emit):
    for begin in range(0, records, window):
        if begin > 0:
            mpid.end_window()
        numbers = range(begin, min(begin + window, records))
        if way == "batches":
            mpid.send_batch(list(numbers), task)
            continue
        for number in numbers:
            emit(number, task)


def received(window_records):
    if way != "batches":
        return window_records
    arrays = mpid.recv_batches(1000, arrays="numpy")
    return (record for keys, values in arrays for record in zip(keys.tolist(), values.tolist()))


def write_sums(task, tasks, windows):
    with mpid.PartFile(directory, task) as output:
        for number, window_records in windows:
            count = total = 0
            last = {}
            for key, sender in received(window_records):
                assert last.get(sender, -1) < key
                count, total, last[sender] = count + 1, total + key, key
            output.write(f"{number} {count} {total}\n")


mpid.Streaming(source=send_numbers, sink=write_sums, key=int, value=int).run(partition_bytes="4K")
