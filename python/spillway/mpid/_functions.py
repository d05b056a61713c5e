"""Functions of the program's that the library calls, and what becomes of their exceptions."""

import ctypes
import operator
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, Callable, Dict, Set

from . import _library, _parts
from ._kinds import Kind
from ._library import CombineFunction, CompareFunction, PartitionFunction
from ._place import short

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def end_job(error: BaseException, where: str, for_good: bool = False, note: str = "") -> None:
    """With the exception as its cause. Does not return.

    For good, as what the library has refused, it is not started again, which would not help.
    """
    _parts.drop_waiting()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    summary = "".join(traceback.format_exception_only(type(error), error)).strip()
    whole = "".join(traceback.format_exception(type(error), error, error.__traceback__)).strip()
    cause = f"{where} ended by {summary}\n{note}{whole}\n"
    library = _library.loaded_library()
    is_refused = isinstance(error, _library.Error) and error.code != _library.ERR_CONTROL
    fail = library.MPI_D_Fail_for_good if for_good or is_refused else library.MPI_D_Fail
    fail(cause.encode(errors="replace").replace(b"\0", b"?"))


_known_threads: Set[int] = set()


def _stay_known() -> None:
    """So that a thread of the library's is not made known to Python for each call, which takes most of its time."""
    if threading.get_ident() not in _known_threads:
        _known_threads.add(threading.get_ident())
        ctypes.pythonapi.PyGILState_Ensure()


def _end_function(error: BaseException, function: str, task: Callable[[], str], items: Callable[[], str]) -> None:
    """Threads of the library's are in no task; for whose they work, the library says. `items` says what the function
    was called with."""
    note = ""
    with suppress(Exception):  # it may be what cannot be decoded
        note = f"It was called with {items()}.\n"
    is_in_task = threading.current_thread() is threading.main_thread()
    end_job(error, f"{task()}: {function}" if is_in_task else function, for_good=True, note=note)


def _sign(result: Any) -> int:
    try:
        return 1 if result > 0 else -1 if result < 0 else 0
    except TypeError:
        raise TypeError(
            f"it returned {short(result)}, which is no number\n  Remedy: return one below, above or equal to 0."
        ) from None


def _whole_number(result: Any) -> int:
    try:
        return operator.index(result)
    except TypeError:
        raise TypeError(
            f"it returned {short(result)}, which is no whole number\n  Remedy: return one from 0 to tasks - 1."
        ) from None


def compare_callback(compare: Callable[[Any, Any], int], keys: Kind, task: Callable[[], str]) -> Any:
    def shown(key: int) -> str:
        return short(keys.item_at(key))

    def call(first: int, second: int, _user: int) -> int:
        try:
            _stay_known()
            return _sign(compare(keys.item_at(first), keys.item_at(second)))
        except BaseException as error:
            _end_function(error, "the compare function", task, lambda: f"{shown(first)} and {shown(second)}")
            raise

    return CompareFunction(call)


def partition_callback(
    partition: Callable[[Any, Any, int], int], keys: Kind, values: Kind, task: Callable[[], str]
) -> Any:
    def call(key: int, value: int, tasks: int, _user: int) -> int:
        try:
            place = _whole_number(partition(keys.item_at(key), values.item_at(value), tasks))
            return max(_INT_MIN, min(place, _INT_MAX))  # of what is no task's, the library says which record it is
        except BaseException as error:
            _end_function(error, "the partition function", task, lambda: f"the key {short(keys.item_at(key))}")
            raise

    return PartitionFunction(call)


def combine_callback(combine: Callable[[Any, Any], Any], keys: Kind, values: Kind, task: Callable[[], str]) -> Any:
    # Of each thread, the last result.
    kept: Dict[int, Any] = {}

    def call(key: int, into: int, value: int, _user: int) -> int:
        try:
            _stay_known()
            combined = combine(values.item_at(into), values.item_at(value))
            address, kept[threading.get_ident()] = values.put(combined, into)
            return address
        except BaseException as error:
            _end_function(error, "the combine function", task, lambda: f"values of {short(keys.item_at(key))}")
            raise

    return CombineFunction(call)
