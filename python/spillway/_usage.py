"""Figures of the rank's memory."""

import ctypes
from typing import NamedTuple, Optional

from . import _library


class Usage(NamedTuple):
    """One rank's memory and traffic, and its node's. Sizes in bytes, times in nanoseconds, since MPI.Init."""

    slots: int  # ranks of the node that run at a time
    budget_bytes: int  # --memory
    node_resident_bytes: int  # storage-backed memory of all the node's ranks that is charged to the budget
    managed_bytes: int  # this rank's storage-backed memory
    resident_bytes: int  # of that, what is charged to the budget; while the rank runs, all of it
    loaded_bytes: int  # unloaded memory that was brought in again
    unloaded_bytes: int  # memory that was written to the spill file
    spilled_bytes: int  # messages that this rank sent by way of the disk
    wait_ns: int  # blocked in MPI


class UsageStructure(ctypes.Structure):
    """struct spillway_usage"""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint32),
        ("slots", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in Usage._fields[1:]),
    ]


def usage() -> Optional[Usage]:
    """The figures at this moment; None when the program does not run under Spillway, or before MPI.Init.

    Any thread may call it at any time. It takes no lock.
    """
    figures = UsageStructure(struct_bytes=ctypes.sizeof(UsageStructure))
    code = _library.NOT_RUNNING
    if _library.usage_of_rank is not None:
        code = _library.usage_of_rank(ctypes.byref(figures))
    if not _library.is_done(code, {}):
        return None
    return Usage(*(getattr(figures, name) for name in Usage._fields))


def is_running() -> bool:
    """Whether the process is a rank under `spillway run`, after MPI.Init (which mpi4py calls when MPI is imported)."""
    return usage() is not None
