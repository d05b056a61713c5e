"""The critical section of the node (BDMPI, section 5.6): what one rank does at a time, such as reading a file."""

import contextlib
from typing import Iterator

from . import _library


def _pass(enters: bool, not_allowed: str) -> bool:
    code = _library.NOT_RUNNING
    if _library.critical_section_of_rank is not None:
        code = _library.critical_section_of_rank(int(enters))
    return _library.is_done(code, {_library.NOT_ALLOWED: (RuntimeError, not_allowed)})


def enter_critical() -> bool:
    """Waits until no other rank of the node is inside the critical section, and enters it.

    Meanwhile the rank sleeps without a slot, as in a receive; ranks enter in the order in which they came. Inside, do
    not wait in MPI for a rank that may wait for the section. For the thread that calls MPI, between MPI.Init and
    MPI.Finalize, which leaves the section.

    True: entered. False: not under Spillway, and the ranks are not kept apart. RuntimeError: the rank is inside
    already.
    """
    return _pass(True, "this rank is inside the node's critical section already, which does not nest")


def exit_critical() -> bool:
    """Leaves the critical section to the rank that has waited longest.

    True: left. False: not under Spillway. RuntimeError: the rank is not inside.
    """
    return _pass(False, "this rank is not inside the node's critical section")


@contextlib.contextmanager
def critical_section() -> Iterator[bool]:
    """enter_critical() and exit_critical() around a block, or as a decorator around a function.

    `as` gives what enter_critical() returned. The section is left when the block raises an exception, too.
    """
    is_entered = enter_critical()
    try:
        yield is_entered
    finally:
        if is_entered:
            exit_critical()
