"""What of the rank's memory is to be loaded, unloaded, kept or forgotten (BDMPI's Table 2; SBMA, section 3.1).

A range is the memory of a NumPy array or of any other object with the buffer protocol (bytearray, array.array,
memoryview), or a part of it (`array[1000:2000]`), as long as it has no gaps. NumPy takes the memory of its arrays from
malloc(); these functions take those of 256 KiB and more.
"""

import contextlib
import ctypes
import enum
import math
import operator
import sys
import weakref
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Sequence, Tuple, Union

from . import _library
from ._usage import is_running

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike
    from typing_extensions import Buffer

LOAD, UNLOAD, DISCARD, PIN, UNPIN = 1, 2, 3, 4, 5

_malloc, _free = _library.process.malloc, _library.process.free
_malloc.restype, _malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
_free.restype, _free.argtypes = None, (ctypes.c_void_p,)


class Advice(enum.IntEnum):
    """What advise() may say of a range."""

    NORMAL = 6  # what Spillway has learned of it
    RANDOM = 7  # touched here and there: single pages are read
    REWRITE = 8  # rewritten whenever the rank runs: loaded at once
    COLD = 9  # not needed for a while: unloaded before anything else


class Allocation(NamedTuple):
    """One allocation of storage-backed memory, or one large static variable. Sizes in bytes."""

    address: int
    bytes: int
    resident_bytes: int  # of its pages, in memory now
    loaded_bytes: int  # that were brought in again; found when it is unloaded
    unloaded_bytes: int  # that were written to the spill file


class AllocationStructure(ctypes.Structure):
    """struct spillway_allocation"""

    _fields_ = [("address", ctypes.c_void_p), *((name, ctypes.c_uint64) for name in Allocation._fields[1:])]


class _PyBuffer(ctypes.Structure):
    """Python's Py_buffer."""

    _fields_ = [
        ("address", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("bytes", ctypes.c_ssize_t),
        ("item_bytes", ctypes.c_ssize_t),
        ("is_read_only", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_PYBUF_STRIDES = (
    0x18  # shape and strides, also of what is read-only; no format, which NumPy does not have for all types
)


@contextlib.contextmanager
def _buffer_of(holder: "Buffer") -> Iterator[_PyBuffer]:
    """The memory behind an object, which neither moves nor goes meanwhile."""
    # By Python's own interface: ctypes' from_buffer() refuses what is read-only, and NumPy need not be there.
    buffer = _PyBuffer()
    try:
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(holder), ctypes.byref(buffer), _PYBUF_STRIDES)
    except TypeError:
        raise TypeError(
            f"a NumPy array or another object with the buffer protocol is needed, not {type(holder).__name__}"
        ) from None
    try:
        yield buffer
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))


def _range_of(buffer: _PyBuffer) -> Tuple[int, int]:
    if not ctypes.pythonapi.PyBuffer_IsContiguous(ctypes.byref(buffer), ctypes.c_char(b"A")):
        raise BufferError(
            "the buffer has gaps (it is neither C- nor Fortran-contiguous), and a range of memory has none: "
            "pass a slice along the slowest dimension only, or the whole array"
        )
    return buffer.address or 0, buffer.bytes


def _carry_out(operation: int, address: int, length_bytes: int) -> bool:
    if length_bytes == 0:
        return is_running()
    code = _library.NOT_RUNNING
    if _library.range_of_rank is not None:
        code = _library.range_of_rank(operation, address, length_bytes)
    errors = {
        _library.NOT_MANAGED: (
            ValueError,
            f"these {length_bytes} bytes at {address:#x} do not lie in one allocation of storage-backed memory that is "
            "large enough: that is what spillway.allocate() gives, and malloc() (so NumPy, too) from 256 KiB on",
        ),
        _library.IN_USE: (
            RuntimeError,
            "the MPI library may be using any memory of this rank, since a request or window is open: "
            "complete the requests (Wait) and free the window first; or the range is pinned, or other threads that "
            "may use memory beside it could not be stopped",
        ),
        _library.NO_ROOM: (
            MemoryError,
            f"with these {length_bytes} bytes the ranks would pin more than three quarters of the node's budget, "
            "and others could not get on: pin less, or raise --memory",
        ),
    }
    return _library.is_done(code, errors)


def load(buffer: "Buffer") -> bool:
    """Brings what is unloaded of a range in now, in large pieces, instead of at the first access.

    True: done. False: not under Spillway, and nothing was done.
    TypeError: not a buffer. BufferError: it has gaps. ValueError: it is not storage-backed memory.
    """
    with _buffer_of(buffer) as held:
        return _carry_out(LOAD, *_range_of(held))


def unload(buffer: "Buffer") -> bool:
    """Writes a range to the spill file, as far as it has changed, and gives its pages up.

    Its contents stay: whoever touches it loads it again. The charge to the budget stays until the rank waits. The first
    unload, and one after Spillway has loaded or renewed a part of a unit of 16 MiB, is of whole units. No thread may
    write to the pages that the range touches meanwhile.

    True: done. False: not under Spillway, and nothing was done.
    TypeError: not a buffer. BufferError: it has gaps. ValueError: it is not storage-backed memory. RuntimeError: a
    request or window of the MPI library is open, which may use any memory of the rank.
    """
    with _buffer_of(buffer) as held:
        return _carry_out(UNLOAD, *_range_of(held))


def discard(buffer: "Buffer") -> bool:
    """Says that the contents of a range are not needed any more: they are undefined from now on.

    They are not written to the spill file. Of use for what is next overwritten. Pages that lie only partly in the range
    keep their contents.

    True: done. False: not under Spillway, and nothing was done.
    TypeError: not a buffer, or an array of Python objects, which need their contents. BufferError: it has gaps, or is
    read-only. ValueError: it is not storage-backed memory. RuntimeError: a request or window of the MPI library is
    open, which may use any memory of the rank.
    """
    if getattr(getattr(buffer, "dtype", None), "hasobject", False):
        raise TypeError("an array of Python objects cannot be discarded: it holds references to them")
    with _buffer_of(buffer) as held:
        if held.is_read_only:
            raise BufferError("the buffer is read-only, and to discard it changes its contents")
        return _carry_out(DISCARD, *_range_of(held))


@contextlib.contextmanager
def pinned(buffer: "Buffer") -> Iterator[bool]:
    """For `with`: brings a range in, and keeps it in memory until the end of the block.

    In units of 16 MiB, which stay as wholes. The array keeps its memory meanwhile. For the thread that calls MPI.
    `as` gives True: done; False: not under Spillway, and nothing is done.

    TypeError: not a buffer. BufferError: it has gaps. ValueError: it is not storage-backed memory. MemoryError: more
    than three quarters of the node's budget would be pinned.
    """
    with _buffer_of(buffer) as held:
        place = _range_of(held)
        is_pinned = _carry_out(PIN, *place)
        try:
            yield is_pinned
        finally:
            if is_pinned:
                _carry_out(UNPIN, *place)


def advise(buffer: "Buffer", advice: Advice) -> bool:
    """Says how a range is going to be used, until something else is said or the memory is freed.

    In the same units as pinned(). Changes no result, only what moves when.

    True: done. False: not under Spillway, and nothing was done.
    TypeError: not a buffer. BufferError: it has gaps. ValueError: it is not storage-backed memory, or no Advice.
    """
    with _buffer_of(buffer) as held:
        return _carry_out(Advice(advice), *_range_of(held))


def allocations() -> List[Allocation]:
    """What was moved of each allocation of this rank, sorted by address; empty when it does not run under Spillway.

    Looks at all pages of the rank: 0.01 s per GiB.
    """
    if _library.allocations_of_rank is None:
        return []
    item_bytes = ctypes.sizeof(AllocationStructure)
    count = _library.allocations_of_rank(None, item_bytes, 0)
    if not _library.is_done(min(count, _library.SUCCESS), {}):
        return []
    room = (AllocationStructure * count)()
    count = min(count, _library.allocations_of_rank(room, item_bytes, count))  # threads may have allocated meanwhile
    found = (Allocation(*(getattr(item, name) for name in Allocation._fields)) for item in room[:count])
    return sorted(found)


def allocate(shape: Union[int, Sequence[int]], dtype: "DTypeLike" = float) -> "numpy.ndarray":
    """A new array as numpy.empty() makes it, but in storage-backed memory whatever its size.

    It takes a multiple of 64 KiB. The memory is given back with the last array or view that uses it. Without Spillway,
    and before MPI.Init, it is memory of malloc().

    ValueError: a negative dimension. TypeError: an array of Python objects. MemoryError: there is no such memory.
    """
    import numpy

    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise TypeError("an array of Python objects cannot be allocated here: use numpy.empty()")
    lengths = _lengths_of(shape)
    bytes_needed = math.prod(lengths) * kind.itemsize
    if bytes_needed == 0:
        return numpy.empty(lengths, kind)
    return numpy.ndarray(lengths, kind, buffer=_allocated(bytes_needed))


def _lengths_of(shape: Union[int, Sequence[int]]) -> Tuple[int, ...]:
    lengths = tuple(operator.index(length) for length in (shape if hasattr(shape, "__iter__") else (shape,)))
    if any(length < 0 for length in lengths):
        raise ValueError(f"a dimension of the shape {lengths} is negative")
    return lengths


def _allocated(length_bytes: int) -> Any:
    """Memory with the buffer protocol, which is freed with the last object that refers to it."""
    if length_bytes > sys.maxsize:
        raise MemoryError(f"{length_bytes} bytes are more than there are addresses")
    address = _library.allocate_of_rank(length_bytes) if _library.allocate_of_rank is not None else None
    address = address or _malloc(length_bytes)
    if not address:
        raise MemoryError(f"there are no {length_bytes} bytes of memory")
    memory = (ctypes.c_ubyte * length_bytes).from_address(address)
    # Not at the interpreter's exit, when arrays may still be in use: then it goes with the process.
    weakref.finalize(memory, _free, address).atexit = False
    return memory
