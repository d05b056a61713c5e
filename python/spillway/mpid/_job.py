"""The job of this process: the words of mpid.h.

Records are sent and received in batches, as a call of the library costs as much as a hundred of them. So what is wrong
with a record may be said only some records later, but before its task ends.
"""

import atexit
import ctypes
import enum
import os
import sys
from contextlib import suppress
from functools import cmp_to_key, partial
from itertools import chain, groupby
from operator import itemgetter
from struct import Struct
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _library, _place
from ._arrays import MAKERS, column_of, imported, repeated
from ._functions import combine_callback, compare_callback, end_job, partition_callback
from ._kinds import FloatKind, Kind, kind_of
from ._library import OPERATIONS, Column, Entry, Error, check, loaded_library
from ._plans import digest
from ._sending import BATCH_RECORDS, latency_ns, sender, timed

Record = Tuple[Any, Any]
Compare = Callable[[Any, Any], int]
Partition = Callable[[Any, Any, int], int]
Combine = Union[str, Callable[[Any, Any], Any]]


class Mode(enum.IntEnum):
    COMMON = 1
    MAPREDUCE = 2
    ITERATION = 3
    STREAMING = 4


class Comm:
    """One side of the tasks. True where the current task is of it."""

    def __init__(self, name: str, function: str) -> None:
        self._name, self._function = name, function

    def _handle(self) -> Optional[int]:
        return getattr(loaded_library(), self._function)()

    def __bool__(self) -> bool:
        return _library.library is not None and self._handle() is not None

    def __repr__(self) -> str:
        return self._name

    def _ask(self, function: str) -> int:
        number = ctypes.c_int()
        check(getattr(loaded_library(), function)(self._handle(), ctypes.byref(number)))
        return number.value

    @property
    def rank(self) -> int:
        """Of the current task on its side."""
        return self._ask("MPI_D_Comm_rank")

    @property
    def size(self) -> int:
        """How many tasks the side of the current task has."""
        return self._ask("MPI_D_Comm_size")


COMM_BIPARTITE_O = Comm("COMM_BIPARTITE_O", "MPI_D_Comm_bipartite_o")
COMM_BIPARTITE_A = Comm("COMM_BIPARTITE_A", "MPI_D_Comm_bipartite_a")


class Job:
    """The one job that a process may have."""

    def __init__(self, mode: Mode, keys: Kind, values: Kind) -> None:
        self.mode, self.keys, self.values = mode, keys, values
        self.callbacks: Dict[str, Any] = {}  # the library has only their addresses
        self.compare: Optional[Compare] = None
        self.gather, self.gather_list, self.flush_gathered = sender(keys, values, "MPI_D_Send_batch")
        self.gather_for_driver, _, self.flush_for_driver = sender(keys, values, "MPI_D_Send_batch_to_driver")
        self.send, self.send_to_driver = self.refuse_to_send, self.refuse_to_send_to_driver
        self.records: Optional[Iterator[Record]] = None  # of the current task
        self.way = ""  # in which the current task receives
        self.window = 0  # the number of the current one
        self.has_ended_tasks = False  # all of the process, or of the round
        self.is_over = False

    def keep_latency(self, nanoseconds: int) -> None:
        self.gather, self.flush_gathered = timed(self.gather, self.flush_gathered, nanoseconds)

    def flush(self) -> None:
        self.flush_gathered()
        self.flush_for_driver()

    def forget_records(self) -> None:
        if self.records is not None:
            self.records.close()  # type: ignore[attr-defined]
        self.records, self.way = None, ""
        _forget_group()
        _place.forget_all()

    def begin_task(self) -> None:
        self.flush()
        self.forget_records()
        is_a_of_rounds = self.mode is Mode.ITERATION and bool(COMM_BIPARTITE_A)
        self.send = self.gather if COMM_BIPARTITE_O or is_a_of_rounds else self.refuse_to_send
        self.send_to_driver = self.gather_for_driver if is_a_of_rounds else self.refuse_to_send_to_driver

    def refuse_to_send(self, _key: Any, _value: Any) -> None:
        raise Error(_library.ERR_COMM, "Send() is for O tasks\n  Remedy: look which of the sides is true.")

    def refuse_to_send_to_driver(self, _key: Any, _value: Any) -> None:
        self.require(Mode.ITERATION, "send_to_driver()")
        raise Error(_library.ERR_COMM, "send_to_driver() is for A tasks\n  Remedy: look which of the sides is true.")

    def require(self, mode: Mode, word: str) -> None:
        if self.mode is not mode:
            raise Error(
                _library.ERR_MODE,
                f"{word} called outside of the {mode.name.lower()} mode\n"
                "  Remedy: call Init() with another mode, or leave the call out.",
            )

    def task(self) -> str:
        """For messages."""
        side = next((side for side in (COMM_BIPARTITE_O, COMM_BIPARTITE_A) if side), None)
        if side is not None:
            return f"{repr(side)[-1]} task {side.rank}"
        is_driver = self.has_ended_tasks and self.mode is Mode.ITERATION and loaded_library().MPI_D_Is_driver()
        return "the driver" if is_driver else "the program, outside of tasks,"

    def place(self) -> str:
        """For messages: the task, and where it is in what it reads."""
        return self.task() + _place.shown("" if _key is _NONE else _place.short(_key))

    def receives(self, way: str) -> None:
        if self.way not in ("", way):
            raise Error(
                _library.ERR_STATE, f"{way} after {self.way} in the same task\n  Remedy: receive in one of these ways."
            )
        self.way = way

    def batches(self, most: int) -> Iterator[Tuple[int, Column, Column]]:
        count, keys, values = ctypes.c_size_t(), Column(), Column()
        while True:
            check(loaded_library().MPI_D_Recv_batch(most, count, keys, values))
            if count.value == 0:
                return
            yield count.value, keys, values

    def received(self) -> Iterator[Record]:
        self.receives("Recv() or groups()")
        before = 0
        for count, key_column, value_column in self.batches(BATCH_RECORDS):
            keys = self.keys.decode(key_column, count)
            rest = iter(keys)
            _place.note("received", partial(_place_of_received, before, keys, rest))
            yield from zip(rest, self.values.decode(value_column, count))
            before += count
            _place.forget("received")
            del keys, rest

    def grouping(self) -> Callable[[Record], Any]:
        """What records of a group have in common: of floats the bytes, so that NaN is one key and 0 and -0 are two."""
        if self.compare is not None:
            of_key = cmp_to_key(self.compare)
            return lambda record: of_key(record[0])
        if isinstance(self.keys, FloatKind):
            pack = Struct("d").pack
            return lambda record: pack(record[0])
        return itemgetter(0)


_job: Optional[Job] = None
_NONE = object()  # no key is
_key: Any = _NONE  # of the current group
_refused: Optional[BaseException] = None  # what Init() has raised before it called the library


def running() -> Job:
    if _job is not None and not _job.is_over:
        return _job
    when = "before Init()" if _job is None else "after Finalize()"
    raise Error(_library.ERR_STATE, f"called {when}\n  Remedy: call it between Init() and Finalize().")


def _end_on_exception(previous: Callable[..., None]) -> Callable[..., None]:
    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        if _job is not None and not _job.is_over:
            end_job(error, _job.place())
        if error is _refused:
            with suppress(RuntimeError):
                _library.load()
                end_job(error, "Init()", for_good=True)
        previous(kind, error, trace)

    return hook


def _end_at_exit() -> None:
    """Others would wait for this process."""
    if _job is not None and not _job.is_over:
        loaded_library().MPI_D_Fail(
            b"the program has ended without Finalize()\n  Remedy: call it, or use `with Init()`."
        )


class _Running:
    """What Init() returns, for `with`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: Optional[BaseException], _trace: Any) -> None:
        if error is not None:
            end_job(error, running().place())
        Finalize()


def _mode_of(mode: Any) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        names = " or ".join(f"Mode.{each.name}" for each in Mode)
        raise ValueError(f"{mode!r} is no mode\n  Remedy: say {names}.") from None


def _entries(keys: Kind, values: Kind, conf: Mapping[str, object], settings: Mapping[str, object]) -> Dict[str, str]:
    entries = {"MPI_D_KEY_CLASS": keys.item_class, "MPI_D_VALUE_CLASS": values.item_class}
    entries["MPI_D_INPUT_PLAN"] = digest()
    for name, value in conf.items():
        if not isinstance(name, str):
            raise ValueError(
                f"conf has the name {name!r}, which is no str\n  Remedy: names are as in C, as MPI_D_MEMORY."
            )
        entries[name] = str(value)
    entries.update({f"MPI_D_{name.upper()}": str(value) for name, value in settings.items()})
    for name, value in entries.items():
        if "\0" in name + value:
            raise ValueError(f"the configuration has a NUL in {name!r}: {value!r}\n  Remedy: leave it away.")
    return entries


def _as_in_c(entries: Mapping[str, str]) -> Any:
    pairs = [(os.fsencode(name), os.fsencode(value)) for name, value in entries.items()]
    return (Entry * (len(pairs) + 1))(*pairs, (None, None))


def Init(
    mode: Mode = Mode.MAPREDUCE,
    *,
    key: type = str,
    value: type = str,
    compare: Optional[Compare] = None,
    partition: Optional[Partition] = None,
    combine: Optional[Combine] = None,
    conf: Optional[Mapping[str, object]] = None,
    **settings: object,
) -> _Running:
    """Begins the job; collective. In a `with` statement, its end is Finalize().

    `conf` has names as in C (MPI_D_MEMORY), `settings` the same without MPI_D_ (memory="1G", o_tasks=8).
    """
    global _job, _refused
    if _job is not None:
        raise Error(_library.ERR_STATE, "Init() called twice\n  Remedy: call it once.")
    try:
        mode, keys, values = _mode_of(mode), kind_of(key, "key"), kind_of(value, "value")
        entries = _entries(keys, values, conf or {}, settings)
    except ValueError as error:
        _refused = error
        sys.excepthook = _end_on_exception(sys.excepthook)
        raise
    library = _library.load()
    _job = Job(mode, keys, values)
    sys.excepthook = _end_on_exception(sys.excepthook)
    atexit.register(_end_at_exit)
    check(library.MPI_D_Init(None, None, mode, _as_in_c(entries)))
    if _job.mode is Mode.STREAMING:
        _job.keep_latency(latency_ns(entries))
    for function, setter in ((compare, set_compare), (partition, set_partition), (combine, set_combine)):
        if function is not None:
            setter(function)  # type: ignore[operator]
    _job.begin_task()
    return _Running()


def Finalize() -> None:
    """Collective. What has not been sent is, and what has not been received is dropped."""
    job = running()
    job.begin_task()
    check(loaded_library().MPI_D_Finalize())
    job.is_over = True


def fail_for_good(cause: str) -> None:
    """Ends the job, as an exception does that nothing catches, for what would happen again. Does not return.

    `mpidrun --restarts` does not start the job again.
    """
    end_job(RuntimeError(cause), running().place(), for_good=True)


def tasks() -> Iterator[Comm]:
    """The tasks of this process (in a round), one after the other: of each its side, one of COMM_BIPARTITE_O and _A."""
    job = running()
    while True:
        job.begin_task()  # what the last one has gathered goes first
        if not loaded_library().MPI_D_Next_task():
            job.begin_task()
            job.has_ended_tasks = True
            return
        job.begin_task()
        yield COMM_BIPARTITE_O if COMM_BIPARTITE_O else COMM_BIPARTITE_A


def Send(key: Any, value: Any) -> None:
    """Of an O task; in the iteration mode also of an A task, and then to the O tasks of the next round."""
    if _job is None or _job.is_over:
        running()
    _job.send(key, value)  # type: ignore[union-attr]


def Recv() -> Iterator[Record]:
    """Of an A task: its records (key, value), in order. Called again, it goes on where it was.

    In the iteration mode also of an O task, and of the driver when tasks() has ended; in the streaming mode the records
    of the current window, as they come.
    """
    job = running()
    if job.records is None:
        job.records = job.received()
    return job.records


def _place_of_received(before: int, keys: List[Any], rest: Iterator[Any]) -> str:
    number = _place.taken(keys, rest)
    return f"record {before + number - 1}, the key {_place.short(keys[number - 1])}"


def _forget_group() -> None:
    global _key
    _key = _NONE


def _no_group() -> Iterator[Tuple[Any, Iterator[Any]]]:
    """Behind the last one."""
    _forget_group()
    yield from ()


def _key_and_values(marked: Tuple[Any, Iterator[Record]]) -> Tuple[Any, Iterator[Any]]:
    global _key
    _, records = marked
    key, value = next(records)
    _key = key
    return key, chain((value,), map(itemgetter(1), records))


def groups() -> Iterator[Tuple[Any, Iterator[Any]]]:
    """As Recv(), but each of the keys, in order, with an iterator of its values. What is left of that is skipped."""
    job = running()
    if job.mode is Mode.STREAMING:
        raise Error(
            _library.ERR_MODE, "groups() in the streaming mode, whose records come unsorted\n  Remedy: call Recv()."
        )
    return chain(map(_key_and_values, groupby(Recv(), job.grouping())), _no_group())


def send_batch(keys: Any, values: Any) -> None:
    """As Send(), but many records at a time. Keys and values are arrays of pyarrow or NumPy, or lists.

    Of str and bytes also a pair of NumPy arrays (data, offsets). `values` may be one value, for all of the keys; a
    short list with one value, as the words of a line with 1, is gathered as by Send().
    """
    job = running()
    is_one_value = isinstance(values, (int, float, str, bytes))
    if is_one_value and job.send == job.gather and job.mode is not Mode.STREAMING:
        if isinstance(keys, list) and len(keys) < BATCH_RECORDS:
            job.gather_list(keys, values)
            return
    _send_columns(job, "MPI_D_Send_batch", keys, values)


def _send_columns(job: Job, function: str, keys: Any, values: Any) -> None:
    job.flush()
    count, key_column, kept_keys = column_of(keys, job.keys, "key")
    if isinstance(values, (int, float, str, bytes)):
        value_count, value_column, kept_values = repeated(values, count, job.values, "value")
    else:
        value_count, value_column, kept_values = column_of(values, job.values, "value")
    if count != value_count:
        raise ValueError(f"a batch of {count} keys and {value_count} values")
    check(getattr(loaded_library(), function)(count, key_column, value_column))


def send_batch_to_driver(keys: Any, values: Any) -> None:
    """Of an A task in the iteration mode, as send_batch()."""
    job = running()
    if job.send_to_driver != job.gather_for_driver:
        job.refuse_to_send_to_driver(None, None)
    _send_columns(job, "MPI_D_Send_batch_to_driver", keys, values)


def recv_batches(size: int = 65536, arrays: str = "arrow") -> Iterator[Tuple[Any, Any]]:
    """As Recv(), but pairs of arrays (keys, values) of at most `size` items.

    With arrays="numpy", str and bytes come as pairs of arrays (data, offsets), as send_batch() takes them.
    """
    if arrays not in MAKERS:
        raise ValueError(f"arrays={arrays!r}: say 'arrow' or 'numpy'")
    if size < 1:
        raise ValueError(f"batches of {size} records: ask for 1 or more")
    imported({"arrow": "pyarrow"}.get(arrays, arrays), f"recv_batches() with arrays={arrays!r}")
    job = running()
    job.receives("recv_batches()")
    make = MAKERS[arrays]
    for count, keys, values in job.batches(size):
        yield make(job.keys, keys, count), make(job.values, values, count)


def set_compare(compare: Compare) -> None:
    """Keys in an order of the program's: compare(first, second) is less than, equal to or greater than 0."""
    job = running()
    callback = compare_callback(compare, job.keys, job.task)
    check(loaded_library().MPI_D_Set_compare(callback, None))
    job.callbacks["compare"], job.compare = callback, compare


def set_partition(partition: Partition) -> None:
    """The task that each record goes to: partition(key, value, tasks) from 0 to tasks - 1."""
    job = running()
    callback = partition_callback(partition, job.keys, job.values, job.task)
    check(loaded_library().MPI_D_Set_partition(callback, None))
    job.callbacks["partition"] = callback


def set_combine(combine: Combine) -> None:
    """One value for two of the same key: "sum", "min" or "max" of numbers, or combine(first, second)."""
    job = running()
    if isinstance(combine, str):
        if combine not in OPERATIONS:
            raise ValueError(f"combine={combine!r}: say {', '.join(OPERATIONS)}, or give a function")
        check(loaded_library().MPI_D_Set_combine_op(OPERATIONS[combine]))
        return
    callback = combine_callback(combine, job.keys, job.values, job.task)
    check(loaded_library().MPI_D_Set_combine(callback, None))
    job.callbacks["combine"] = callback
