"""What Send() has gathered: records that go to the library as one batch, in streams no later than their latency."""

import math
import os
import re
from itertools import repeat
from operator import is_
from time import monotonic_ns
from typing import Any, Callable, List, Mapping, Tuple

from ._arrays import repeated
from ._kinds import Kind
from ._library import check, loaded_library

SendFunction = Callable[[Any, Any], None]
Flush = Callable[[], None]

BATCH_RECORDS = 4096
BATCH_LENGTH = 32 << 10  # of items that have a length, characters or bytes; an empty record counts as one
_VARIED = object()  # no value is
_USUAL_LATENCY = "1ms"
_UNITS_NS = {"us": 10**3, "ms": 10**6, "s": 10**9}


def sender(keys: Kind, values: Kind, function: str) -> Tuple[SendFunction, SendFunction, Flush]:
    """send(key, value), which gathers for a function of the library, the same for a list of keys, and flush().

    Where items have a length, a batch is full by that: looking at one number for each record is faster than at two.
    Numbers are gathered as values only where they are not all the same object, as the 1 of who counts is: until then
    `same` is the one that all keys have. Of a batch with a record that cannot be sent, the others are.
    """
    held_keys: List[Any] = []
    held_values: List[Any] = []
    same: Any = _VARIED
    room = BATCH_LENGTH

    def flush() -> None:
        nonlocal same, room
        room = BATCH_LENGTH
        if not held_keys:
            return
        own_keys, own_values, own_same = held_keys[:], held_values[:], same
        held_keys.clear()
        held_values.clear()
        if same is _VARIED and not values.is_sized and all(map(is_, own_values, repeat(own_values[0]))):
            same = own_values[0]  # perhaps of the next ones, too
        try:
            pass_on(own_keys, own_values, own_same)
        except (TypeError, ValueError, OverflowError):
            pairs = zip(own_keys, own_values if own_same is _VARIED else repeat(own_same))
            fit = [(key, value) for key, value in pairs if keys.has(key) and values.has(value)]
            if fit:
                pass_on([key for key, _ in fit], [value for _, value in fit], _VARIED)
            raise

    def pass_on(own_keys: List[Any], own_values: List[Any], own_same: Any) -> None:
        count = len(own_keys)
        key_column, kept_keys = keys.encode_checked(own_keys, "key")
        if own_same is _VARIED:
            value_column, kept_values = values.encode_checked(own_values, "value")
        else:
            _, value_column, kept_values = repeated(own_same, count, values, "value")
        check(getattr(loaded_library(), function)(count, key_column, value_column))

    def begin_values() -> None:
        nonlocal same
        held_values.extend([same] * len(held_keys))
        same = _VARIED

    def refuse(key: Any, value: Any) -> None:
        """One that has no length."""
        keys.encode_checked([key], "key")
        values.encode_checked([value], "value")

    def send_numbers(key: Any, value: Any) -> None:
        if value is not same:
            if same is not _VARIED:
                begin_values()
            held_values.append(value)
        held_keys.append(key)
        if len(held_keys) >= BATCH_RECORDS:
            flush()

    def send_key(key: Any, value: Any) -> None:
        nonlocal room
        try:
            room -= len(key) or 1
        except TypeError:
            refuse(key, value)
            raise
        if value is not same:
            if same is not _VARIED:
                begin_values()
            held_values.append(value)
        held_keys.append(key)
        if room < 0:
            flush()

    def send_value(key: Any, value: Any) -> None:
        nonlocal room
        try:
            room -= len(value) or 1
        except TypeError:
            refuse(key, value)
            raise
        held_keys.append(key)
        held_values.append(value)
        if room < 0:
            flush()

    def send_both(key: Any, value: Any) -> None:
        nonlocal room
        try:
            room -= len(key) + len(value) or 1
        except TypeError:
            refuse(key, value)
            raise
        held_keys.append(key)
        held_values.append(value)
        if room < 0:
            flush()

    def send_list(own_keys: List[Any], value: Any) -> None:
        nonlocal room
        count = len(own_keys)
        if value is not same:
            values.encode_checked([value], "value")
        try:
            length = sum(map(len, own_keys)) if keys.is_sized else 0
        except TypeError:
            keys.encode_checked(own_keys, "key")
            raise
        length += count * len(value) if values.is_sized else 0
        room -= max(length, count)
        if value is not same:
            if same is not _VARIED:
                begin_values()
            held_values.extend(repeat(value, count))
        held_keys.extend(own_keys)
        if room < 0:
            flush()

    senders = {(False, False): send_numbers, (True, False): send_key, (False, True): send_value}
    return senders.get((keys.is_sized, values.is_sized), send_both), send_list, flush


def latency_ns(entries: Mapping[str, str]) -> int:
    """Of a configuration that the library has accepted."""
    text = os.environ.get("MPI_D_LATENCY", entries.get("MPI_D_LATENCY", _USUAL_LATENCY))
    number, unit = re.findall(r"(\d+)(\w+)", text)[0]
    return int(number) * _UNITS_NS[unit]


def timed(send: SendFunction, flush: Flush, latency: int) -> Tuple[SendFunction, Flush]:
    """The same, of a stream: what was sent a latency ago is passed on with the next record, by the library, too."""
    due: float = math.inf  # of what was sent since all was passed on

    def send_in_time(key: Any, value: Any) -> None:
        nonlocal due
        now = monotonic_ns()
        if now >= due:
            pass_on()
        if due == math.inf:
            due = now + latency
        send(key, value)

    def pass_on() -> None:
        nonlocal due
        flush()
        if due != math.inf:
            due = math.inf
            check(loaded_library().MPI_D_Flush())

    return send_in_time, pass_on
