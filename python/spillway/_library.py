"""The functions of the preloaded library, which are None where it is not there, and what their results mean.

The C side: include/spillway/spillway.h. tests/python_interface holds this file against it.
"""

import ctypes
from typing import Callable, Mapping, Optional, Tuple, Type

SUCCESS = 0
NOT_RUNNING = -1
NOT_ALLOWED = -2
NOT_MANAGED = -3
IN_USE = -4
NO_ROOM = -5

# The order in which the dynamic loader looks: what is preloaded comes first, also for malloc() and free().
process = ctypes.CDLL(None)


def exported(name: str, result: type, *parameters: type) -> Optional[Callable]:
    """A function that the process may have. Calls let other Python threads run."""
    function = getattr(process, name, None)
    if function is not None:
        function.restype, function.argtypes = result, parameters
    return function


usage_of_rank = exported("spillway_usage_of_rank", ctypes.c_int, ctypes.c_void_p)
critical_section_of_rank = exported("spillway_critical_section_of_rank", ctypes.c_int, ctypes.c_int)
range_of_rank = exported("spillway_range_of_rank", ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
allocations_of_rank = exported(
    "spillway_allocations_of_rank", ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)
allocate_of_rank = exported("spillway_allocate_of_rank", ctypes.c_void_p, ctypes.c_size_t)


def is_done(code: int, errors: Mapping[int, Tuple[Type[Exception], str]]) -> bool:
    """True: done. False: not under Spillway, and nothing was done. Raises the error that stands for another code."""
    if code in errors:
        error, text = errors[code]
        raise error(text)
    if code not in (SUCCESS, NOT_RUNNING):
        raise RuntimeError(
            f"Spillway's library gave the code {code}, which this module does not know: they are of different versions"
        )
    return code == SUCCESS
