"""Goes wrong in the way that its argument says."""

import sys

from spillway import mpid

way = sys.argv[1]
VALUES = {"a value of another type": "text", "a number that is too large": 2**63}


def fail(*_):
    raise KeyError("gone wrong")


def send(task, tasks, emit):
    if task == tasks - 1:
        if way == "map":
            fail()
        if way == "exit":
            sys.exit(0)
    for i in range(10000):
        emit(str(i % 100), i)
    emit("last", VALUES.get(way, 0))
    if way == "a key that is None":
        emit(None, 1)
    if way == "wrong side":
        mpid.Recv().__next__()
    if way == "null":
        import pyarrow

        mpid.send_batch(pyarrow.array(["a", None]), 1)


def receive(task, tasks, groups):
    if way == "two ways":
        next(groups)
        next(mpid.recv_batches(arrays="numpy"))
    if way == "no pyarrow":
        sys.modules["pyarrow"] = None
        next(mpid.recv_batches())
    for _, values in groups:
        sum(values)
    if way == "reduce":
        fail()
    if way == "send in reduce":
        mpid.Send("key", 1)


if way == "no finalize":
    mpid.Init()
    sys.exit(0)
if way == "before init":
    mpid.Send("key", "value")
if way == "uncaught":
    mpid.Init()
    fail()
if way == "configuration":
    mpid.Init(memory="much")
if way == "caught":
    try:
        mpid.Init(memory="much")
    except mpid.Error as error:
        sys.exit(str(error))
if way == "a name that is a number":
    mpid.Init(conf={7: "1G"})
if way == "no mode":
    mpid.Init("mapreduce")
if way == "numbers in conf":  # which is none
    with mpid.Init(conf={"MPI_D_O_TASKS": 3, "MPI_D_A_TASKS": "no"}):
        pass
if way in ("leaves O tasks out", "leaves A tasks out"):
    with mpid.Init(mpid.Mode[sys.argv[2].upper()]):
        for side in mpid.tasks():
            if side is (mpid.COMM_BIPARTITE_O if "O" in way else mpid.COMM_BIPARTITE_A):
                break
if way == "class":
    mpid.Init(key=list)
functions = {way: fail} if way in ("compare", "partition", "combine") else {}
if way == "no task":
    functions = {"partition": lambda key, value, tasks: tasks}
if way == "a task far away":
    functions = {"partition": lambda key, value, tasks: 10**6}
if way == "no number":
    functions = {"compare": lambda first, second: None}
if way == "no whole number":
    functions = {"partition": lambda key, value, tasks: 0.5}
if way == "no stdout":
    sys.stdout.close()
    functions = {"partition": fail}
mpid.MapReduce(map=send, reduce=receive, value=int, **functions).run()
