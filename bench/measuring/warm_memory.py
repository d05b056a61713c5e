"""Memory that the machine really has, before a contender needs it.

A virtual machine gives free memory back to its host after a moment and gets it again page by page, as page faults that
take some ten times as long as others. Whether a contender meets them depends on who ran before it, and when.
"""

import mmap
import os

_POPULATE_WRITE = 23  # madvise(2): MADV_POPULATE_WRITE, Linux 5.14
_HUGE_PAGES = 14  # MADV_HUGEPAGE


def warm_memory(wanted_bytes: int) -> None:
    """Uses `wanted_bytes` of memory, at most half of what is available, and frees it again. Only advice: a kernel that
    does not know it leaves the memory as it is."""
    available = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
    with mmap.mmap(-1, min(wanted_bytes, available // 2), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for advice in (_HUGE_PAGES, _POPULATE_WRITE):
            try:
                memory.madvise(advice)
            except OSError:
                pass
