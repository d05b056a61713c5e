"""What keys and values may be, str, bytes, int and float, and how each is passed: in columns, and one by one.

Batches of records go through here, so what is done for each item is left to functions of Python that do it for a whole
list.
"""

import ctypes
import struct
from array import array
from itertools import accumulate
from typing import Any, Callable, List, Optional, Tuple

from ._library import Bytes, Column
from ._place import short

Held = Tuple[Column, Any]  # and what keeps the memory of the column

# bytes_at(address, size), where string_at() of ctypes takes the size as a C int, of which 2 GiB are too many.
bytes_at: Callable[[Optional[int], int], bytes] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t
)(("PyBytes_FromStringAndSize", ctypes.pythonapi))


class Kind:
    type: type
    item_class: str  # as MPI_D_KEY_CLASS has it
    is_sized = False

    def encode(self, items: List[Any]) -> Held:
        """Raises TypeError, ValueError or OverflowError where an item is no such thing."""
        raise NotImplementedError

    def decode(self, column: Column, count: int) -> List[Any]:
        raise NotImplementedError

    def item_at(self, address: int) -> Any:
        raise NotImplementedError

    def put(self, item: Any, into: int) -> Tuple[int, Any]:
        """An address where the item is, and what keeps it. May be `into`, where another one is."""
        raise NotImplementedError

    def encode_repeated(self, item: Any, count: int) -> Held:
        return self.encode([item] * count)

    def encode_checked(self, items: List[Any], what: str) -> Held:
        """The same, with an error that names the item."""
        try:
            return self.encode(items)
        except (TypeError, ValueError, OverflowError):
            for item in items:
                self._check_item(item, what)
            raise

    def has(self, item: Any) -> bool:
        try:
            self.encode([item])
        except (TypeError, ValueError, OverflowError):
            return False
        return True

    def _check_item(self, item: Any, what: str) -> None:
        try:
            self.encode([item])
        except (TypeError, ValueError, OverflowError) as error:
            kind = ValueError if isinstance(error, UnicodeError) else type(error)
            raise kind(f"the {what} {short(item)} is no {self.type.__name__}: {error}") from None


class _Sized(Kind):
    is_sized = True
    item_class = "bytes"

    def offsets(self, column: Column, count: int) -> List[int]:
        return _numbers_at("q", column.offsets, count + 1)


def _numbers_at(code: str, address: int, count: int) -> List[Any]:
    numbers = array(code)
    numbers.frombytes(bytes_at(address, count * numbers.itemsize))
    return numbers.tolist()


def address_of(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def _bytes_column(items: List[bytes]) -> Held:
    data = b"".join(items)
    offsets = array("q", [0])
    offsets.extend(accumulate(map(len, items)))
    return Column(address_of(data), offsets.buffer_info()[0]), (data, offsets)


def _put_bytes(data: bytes) -> Tuple[int, Any]:
    holder = Bytes(address_of(data), len(data))
    return ctypes.addressof(holder), (holder, data)


class BytesKind(_Sized):
    type = bytes

    def encode(self, items: List[Any]) -> Held:
        if set(map(type, items)) - {bytes}:  # others may be changed before they are sent
            raise TypeError("bytes are needed")
        return _bytes_column(items)

    def decode(self, column: Column, count: int) -> List[bytes]:
        offsets = self.offsets(column, count)
        data = bytes_at(column.data, offsets[-1])
        return [data[begin:end] for begin, end in zip(offsets, offsets[1:])]

    def item_at(self, address: int) -> bytes:
        item = Bytes.from_address(address)
        return bytes_at(item.data, item.size)

    def put(self, item: Any, into: int) -> Tuple[int, Any]:
        self.encode_checked([item], "combined value")
        return _put_bytes(item)


class StrKind(_Sized):
    """As UTF-8, whose bytes have the order of the characters."""

    type = str

    def encode(self, items: List[Any]) -> Held:
        text = "\0".join(items)
        data = text.encode()
        if text.count("\0") == len(items) - 1:
            return Column(address_of(data)), data  # behind `bytes` Python has a NUL
        return _bytes_column([item.encode() for item in items])

    def decode(self, column: Column, count: int) -> List[str]:
        offsets = self.offsets(column, count)
        data = bytes_at(column.data, offsets[-1])
        if data.isascii():
            text = data.decode("ascii")
            return [text[begin:end] for begin, end in zip(offsets, offsets[1:])]
        return [data[begin:end].decode() for begin, end in zip(offsets, offsets[1:])]

    def item_at(self, address: int) -> str:
        item = Bytes.from_address(address)
        return bytes_at(item.data, item.size).decode()

    def put(self, item: Any, into: int) -> Tuple[int, Any]:
        self.encode_checked([item], "combined value")
        return _put_bytes(item.encode())


class _Number(Kind):
    code: str

    def encode(self, items: List[Any]) -> Held:
        numbers = array(self.code, items)
        return Column(numbers.buffer_info()[0]), numbers

    def encode_repeated(self, item: Any, count: int) -> Held:
        numbers = array(self.code, [item]) * count
        return Column(numbers.buffer_info()[0]), numbers

    def decode(self, column: Column, count: int) -> List[Any]:
        return _numbers_at(self.code, column.data, count)

    def item_at(self, address: int) -> Any:
        return struct.unpack(self.code, bytes_at(address, 8))[0]

    def put(self, item: Any, into: int) -> Tuple[int, Any]:
        _, numbers = self.encode_checked([item], "combined value")
        ctypes.memmove(into, numbers.buffer_info()[0], 8)
        return into, None


class IntKind(_Number):
    """Of 64 bits."""

    type = int
    item_class = "int64"
    code = "q"


class FloatKind(_Number):
    type = float
    item_class = "double"
    code = "d"


_KINDS = {kind.type: kind() for kind in (StrKind, BytesKind, IntKind, FloatKind)}


def kind_of(kind: type, what: str) -> Kind:
    if kind not in _KINDS:
        raise ValueError(f"{what}={kind!r}: keys and values may be str, bytes, int or float")
    return _KINDS[kind]
