"""Comparing what two runs of a program have put out."""

import array
import re
from pathlib import Path
from typing import List, Sequence

from job import Failed

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def numbers_in(text: str) -> List[float]:
    return [float(word) for word in _NUMBER.findall(text)]


def same_lines(expected: Sequence[str], found: Sequence[str], what: str) -> str:
    if not expected:
        raise Failed(f"no {what} to compare")
    if list(expected) != list(found):
        raise Failed(f"{what}: {list(found)[:5]} instead of {list(expected)[:5]}")
    return f"{len(expected)} {what} equal"


def close_numbers(expected: Sequence[float], found: Sequence[float], tolerance: float, what: str) -> str:
    """Differences relative to the largest of the expected values, which are of one kind."""
    if len(expected) != len(found) or not expected:
        raise Failed(f"{len(found)} {what} instead of {len(expected)}")
    scale = max(map(abs, expected)) or 1.0
    worst = max(abs(a - b) for a, b in zip(expected, found)) / scale
    if not worst <= tolerance:  # not a number is no success either
        raise Failed(f"{what} differ by {worst:.1e}, more than {tolerance:.0e}")
    return f"{len(expected)} {what} equal" if worst == 0 else f"{len(expected)} {what} within {worst:.1e}"


def doubles_of(path: Path, skipped_bytes: int, is_big_endian: bool) -> List[float]:
    values = array.array("d", path.read_bytes()[skipped_bytes:])
    if is_big_endian:
        values.byteswap()
    return values.tolist()
