"""Batches as arrays of NumPy or pyarrow, neither of which is imported before it is needed."""

import importlib
import sys
from typing import Any, Callable, Dict, Tuple

from ._kinds import BytesKind, IntKind, Kind, bytes_at
from ._library import Column

Columns = Tuple[int, Column, Any]  # how many items, and what keeps the memory of the column


def imported(name: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {name} ({error})\n  Remedy: python3 -m pip install {name}.") from None


def column_of(items: Any, kind: Kind, what: str) -> Columns:
    """Of an array of pyarrow or NumPy, NumPy arrays of bytes and their places, or a list of Python objects."""
    library = type(items).__module__.split(".")[0]
    if library == "pyarrow":
        return _column_of_arrow(items, kind, what)
    if isinstance(items, tuple) and len(items) in (2, 3) and kind.is_sized:
        return _column_of_bytes(items, kind, what)
    if library == "numpy":
        return _column_of_numpy(items, kind, what)
    if isinstance(items, list):
        return (len(items), *kind.encode_checked(items, what))
    raise TypeError(f"the {what}s of a batch are an array of pyarrow or NumPy or a list, not {type(items).__name__}")


def repeated(item: Any, count: int, kind: Kind, what: str) -> Columns:
    """One value for all of a batch."""
    kind.encode_checked([item], what)
    return (count, *kind.encode_repeated(item, count))


def _column_of_arrow(items: Any, kind: Kind, what: str) -> Columns:
    import pyarrow

    if isinstance(items, pyarrow.ChunkedArray):
        items = items.combine_chunks()
    if items.null_count:
        raise ValueError(f"{items.null_count} of the {what}s are null\n  Remedy: drop them, or fill them in.")
    types = pyarrow.types
    if not kind.is_sized:
        is_number = types.is_integer(items.type) or (types.is_floating(items.type) and not isinstance(kind, IntKind))
        if not is_number:
            raise _wrong_type(items.type, kind, what)
        items = items.cast(_arrow_type(kind))
        return len(items), Column(items.buffers()[1].address + 8 * items.offset), items
    is_text = types.is_string(items.type) or types.is_large_string(items.type)
    is_bytes = types.is_binary(items.type) or types.is_large_binary(items.type)
    if not is_text and not (is_bytes and isinstance(kind, BytesKind)):
        raise _wrong_type(items.type, kind, what)
    _, offsets, data = items.buffers()
    column = Column(data.address if data else None)
    if types.is_large_string(items.type) or types.is_large_binary(items.type):
        column.offsets = offsets.address + 8 * items.offset
    elif len(items):
        column.short_offsets = offsets.address + 4 * items.offset
    return len(items), column, items


def _column_of_bytes(items: Tuple[Any, ...], kind: Kind, what: str) -> Columns:
    """Of (data, offsets), or (data, begins, ends)."""
    import numpy

    data = numpy.frombuffer(items[0], numpy.uint8)
    places = [numpy.ascontiguousarray(part) for part in items[1:]]
    for part in places:
        if part.dtype not in (numpy.int32, numpy.int64) or part.ndim != 1:
            raise TypeError(f"places of {what}s in their data are arrays of int32 or int64, not of {part.dtype}")
    end = places[-1].max(initial=0)
    if end > len(data):
        raise ValueError(f"the {what}s end at {end}, and the data at {len(data)}")
    if len(places) == 1:
        (offsets,) = places
        if len(offsets) == 0:
            raise ValueError(f"offsets are one more than {what}s, also of no {what}s")
        column = Column(data.ctypes.data)
        setattr(column, "offsets" if offsets.dtype == numpy.int64 else "short_offsets", offsets.ctypes.data)
        return len(offsets) - 1, column, (data, places)
    begins, ends = (part.astype(numpy.int64, copy=False) for part in places)
    if len(begins) != len(ends):
        raise ValueError(f"a batch of {len(begins)} begins and {len(ends)} ends of {what}s")
    column = Column(data.ctypes.data, begins.ctypes.data, None, ends.ctypes.data)
    return len(begins), column, (data, begins, ends)


def _column_of_rows(rows: Any) -> Columns:
    """Of a row of bytes for each item, or an item of NumPy's void, where they lie: they may be part of larger ones."""
    import numpy

    width = rows.itemsize if rows.ndim == 1 else rows.shape[1]
    has_bytes_in_a_row = rows.ndim == 1 or rows.strides[1] == 1
    if not has_bytes_in_a_row or rows.strides[0] < width:
        rows = numpy.ascontiguousarray(rows)
    begins = numpy.arange(len(rows), dtype=numpy.int64) * rows.strides[0]
    ends = begins + width
    return len(rows), Column(rows.ctypes.data, begins.ctypes.data, None, ends.ctypes.data), (rows, begins, ends)


def _column_of_numpy(items: Any, kind: Kind, what: str) -> Columns:
    import numpy

    is_rows = items.ndim == 2 and items.dtype == numpy.uint8
    is_void = items.ndim == 1 and items.dtype.kind == "V" and items.dtype.names is None
    if isinstance(kind, BytesKind) and (is_rows or is_void):
        return _column_of_rows(items)
    wanted = numpy.int64 if isinstance(kind, IntKind) else numpy.float64
    if kind.is_sized or items.ndim != 1 or not numpy.can_cast(items.dtype, wanted, "safe"):
        raise _wrong_type(f"{items.ndim} dimension(s) of {items.dtype}", kind, what)
    numbers = numpy.ascontiguousarray(items, wanted)
    return len(numbers), Column(numbers.ctypes.data), numbers


def _wrong_type(found: Any, kind: Kind, what: str) -> TypeError:
    remedy = "give an array of numbers of at most 64 bits"
    if kind.is_sized:
        remedy = (
            "give an array of pyarrow (string, large_string, or of bytes), or a pair (data, offsets) of NumPy arrays; "
            "for bytes of one length, a row of uint8 for each"
        )
    return TypeError(f"{what}s of type {found}, and {what}s are {kind.type.__name__}\n  Remedy: {remedy}.")


def _arrow_type(kind: Kind) -> Any:
    import pyarrow

    types = {"str": pyarrow.large_string, "bytes": pyarrow.large_binary, "int": pyarrow.int64, "float": pyarrow.float64}
    return types[kind.type.__name__]()


def _bytes_of(kind: Kind, column: Column, count: int) -> Tuple[bytes, bytes]:
    """Copies of the data, and of the offsets where there are some."""
    if not kind.is_sized:
        return bytes_at(column.data, 8 * count), b""
    offsets = bytes_at(column.offsets, 8 * (count + 1))
    return bytes_at(column.data, int.from_bytes(offsets[-8:], sys.byteorder)), offsets


def arrow_array(kind: Kind, column: Column, count: int) -> Any:
    pyarrow = imported("pyarrow", "recv_batches() with arrays of Arrow")
    data, offsets = map(pyarrow.py_buffer, _bytes_of(kind, column, count))
    buffers = [None, offsets, data] if kind.is_sized else [None, data]
    return pyarrow.Array.from_buffers(_arrow_type(kind), count, buffers)


def numpy_array(kind: Kind, column: Column, count: int) -> Any:
    numpy = imported("numpy", "recv_batches() with arrays of NumPy")
    data, offsets = map(bytearray, _bytes_of(kind, column, count))  # which may be written to
    if kind.is_sized:
        return numpy.frombuffer(data, numpy.uint8), numpy.frombuffer(offsets, numpy.int64)
    return numpy.frombuffer(data, numpy.int64 if isinstance(kind, IntKind) else numpy.float64)


MAKERS: Dict[str, Callable[[Kind, Column, int], Any]] = {"arrow": arrow_array, "numpy": numpy_array}
