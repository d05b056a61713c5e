"""A job of computed records, in the ways that its options say. Writes what each A task gets, a line for each record."""

import json
import sys

from spillway import mpid

options = json.loads(sys.argv[1])
KINDS = {"str": str, "bytes": bytes, "int": int, "float": float}
# Of float: not in the order of their values.
FLOATS = [float("nan"), float("inf"), -0.0, 0.0, -1.5, 1e300, float("-inf")]
MAKERS = {
    "str": lambda number: ["", "a\0b", "ä", "𝄞", "x" * 3000][number] if number < 5 else f"key {number}",
    "bytes": lambda number: ["", "a\0b", "ä", "𝄞", "x" * 3000][number].encode() if number < 5 else b"%d\xff" % number,
    "int": lambda number: [-(2**63), 2**63 - 1, -1][number] if number < 3 else number * 12345678901,
    "float": lambda number: FLOATS[number] if number < len(FLOATS) else number / 3,
}
FUNCTIONS = {
    "descending": lambda first, second: (first < second) - (first > second),
    "by last digit": lambda first, second: first % 10 - second % 10,
    "last digit": lambda key, value, tasks: key % 10 % tasks,
    "first": lambda key, value, tasks: 0,
    "join": lambda first, second: first + "," + second,
    "add": lambda first, second: first + second,
}


def records_of(task):
    """Those of an O task; the test has the same."""
    key, value = MAKERS[options["key"]], MAKERS[options["value"]]
    for i in range(options["records"]):
        yield key((7 * i + task) % options["distinct"]), value((5 * i + task) % 100)


def send_all(task):
    if options.get("send") == "list":
        mpid.send_batch(*map(list, zip(*records_of(task))))
    elif options.get("send") == "one value":
        mpid.send_batch([key for key, _ in records_of(task)], MAKERS[options["value"]](50))
    else:
        for key, value in records_of(task):
            mpid.Send(key, value)


def received():
    way = options.get("receive", "Recv")
    if way == "groups":
        return ((key, value) for key, values in mpid.groups() for value in values)
    if way == "first of groups":
        return ((key, next(values)) for key, values in mpid.groups())
    if way == "in parts":  # each time anew
        return iter(lambda: next(mpid.Recv(), None), None)
    return mpid.Recv()


def main():
    functions = {
        name: FUNCTIONS.get(options[name], options[name])
        for name in ("compare", "partition", "combine")
        if name in options
    }
    mode = mpid.Mode[options.get("mode", "MAPREDUCE")]
    with mpid.Init(
        mode, key=KINDS[options["key"]], value=KINDS[options["value"]], **functions, conf=options.get("conf")
    ):
        for side in mpid.tasks() if options.get("tasks", True) else [mpid.COMM_BIPARTITE_O or mpid.COMM_BIPARTITE_A]:
            if side is mpid.COMM_BIPARTITE_O:
                send_all(side.rank)
            else:
                with mpid.PartFile(options["output"], side.rank) as output:
                    for record in received():
                        output.write(repr(record) + "\n")


if __name__ == "__main__":
    main()
