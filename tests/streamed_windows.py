"""What A tasks of streamed-numbers (tests/keyvalue/streamed_numbers.cpp) have printed of their windows."""

import re
from typing import Dict, List, NamedTuple


class Window(NamedTuple):
    records: int
    total: int
    is_in_order: bool
    longest_us: int  # that a record was on its way
    lasted_us: int

    def had_records_soon(self, stood_s: float) -> bool:
        """Each was on its way for less than half of the window. What a processor stood still counts for neither."""
        return self.longest_us - 1e6 * stood_s < 0.5 * (self.lasted_us - 1e6 * stood_s)


def windows_of(stderr: str) -> Dict[int, List[Window]]:
    """Of each A task."""
    found: Dict[int, List[Window]] = {}
    pattern = r"task (\d+) window (\d+): (\d+) records, sum (\d+), (in|out of) order, (\d+) of (\d+) us"
    for task, number, records, total, order, longest, lasted in re.findall(pattern, stderr):
        windows = found.setdefault(int(task), [])
        assert int(number) == len(windows)
        windows.append(Window(int(records), int(total), order == "in", int(longest), int(lasted)))
    return found
