"""Lines of numbers as input of key-value jobs."""

import math
import re
from bisect import bisect
from itertools import islice
from typing import Iterator, List, Sequence, Tuple, Type, Union

from ._text import Split
from ._together import allgather, is_nearest

Number = Union[int, float]
_SEPARATORS = re.compile("[ \t,\r]+")


def numbers_of_line(line: str, type: Type[Number] = float) -> List[Number]:
    """With spaces, tabs or commas between them: at least one, all finite."""
    words = [word for word in _SEPARATORS.split(line) if word]
    if not words:
        raise ValueError("there is no number")
    numbers = []
    for word in words:
        try:
            number = type(word)
        except ValueError:
            number = math.nan
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError(f"{word!r} is not a {'whole ' if type is int else ''}number")
        numbers.append(number)
    return numbers


def _first_lines(splits: Sequence[Split], count: int, most_of_split: int, type: Type[Number]) -> Iterator[Tuple]:
    """Collective: of each split the first lines, until a process has `count` of them, as numbers: (split, numbers).

    In the order of splits.
    """
    own: List[bytes] = []
    for part, split in enumerate(splits):
        if len(own) < count and is_nearest(part):
            for line in islice(split.lines(), min(most_of_split, count - len(own))):
                numbers_of_line(str(line), type)  # what is wrong is said with its place
                own.append(b"%d %s" % (part, str(line).encode()))
    found = [item.split(b" ", 1) for item in allgather(own)]
    for part, line in sorted(found, key=lambda one: int(one[0])):
        yield int(part), numbers_of_line(line.decode(), type)


def first_rows(splits: Sequence[Split], count: int) -> List[List[float]]:
    """Collective, before the first task: the rows that the input begins with, with as many numbers each."""
    rows: List[List[float]] = []
    for part, row in islice(_first_lines(splits, count, count, float), count):
        rows.append(row)
        if len(row) != len(rows[0]):
            name = splits[part].name
            raise ValueError(f"{name}: {len(row)} columns, where the first line has {len(rows[0])}")
    if len(rows) < count:
        raise ValueError(f"the files have {len(rows)} lines, fewer than the {count} that are needed")
    return rows


class SortedNumberLines:
    """Of lines sorted by their first number, which is theirs alone: which task has the line of a number."""

    def __init__(self, splits: Sequence[Split]) -> None:
        """Collective, before the first task."""
        self._firsts: List[int] = []
        self._parts: List[int] = []
        self._splits = splits
        for part, (number, *_) in _first_lines(splits, sum(1 for _ in splits), 1, int):
            if self._firsts and self._firsts[-1] >= number:
                raise ValueError(
                    f"{splits[part].name}: lines are not sorted by their first number, which is theirs alone"
                )
            self._firsts.append(int(number))
            self._parts.append(part)

    def task_of(self, number: int, tasks: int) -> int:
        return self._part_of(number) % tasks if self._parts else 0

    def file_of(self, number: int) -> str:
        """Where the line of a number is, if there is one."""
        return self._splits[self._part_of(number)].name

    def _part_of(self, number: int) -> int:
        return self._parts[max(bisect(self._firsts, number) - 1, 0)]
