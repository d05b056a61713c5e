"""What tests/keyvalue/generated_records.cpp sends, and what its A tasks have written."""

from collections import Counter
from pathlib import Path
from typing import Dict, List, Tuple

from parts import parts_in

Record = Tuple[str, int]


def sent_records(o_tasks: int, records: int, distinct: int = 1000) -> List[Record]:
    return [(str((7919 * task + 104729 * i) % distinct), i) for task in range(o_tasks) for i in range(records)]


def combined(records: List[Record]) -> List[Record]:
    sums: Dict[str, int] = Counter()
    for key, value in records:
        sums[key] += value
    return list(sums.items())


def received_records(folder: Path, a_tasks: int) -> List[List[Record]]:
    """Of each A task, in the order in which it received them. There is a file of each, and no other."""
    assert [path.name for path in parts_in(folder)] == [f"part-{task:05d}" for task in range(a_tasks)]
    parts = []
    for task in range(a_tasks):
        lines = (folder / f"part-{task:05d}").read_text().splitlines()
        parts.append([(key, int(value)) for key, value in (line.split("\t") for line in lines)])
    return parts


def check_parts(parts: List[List[Record]], expected: List[Record], is_number: bool = True, descending: bool = False):
    """All records have come, each key to one A task, in order."""
    for part in parts:
        keys = [int(key) if is_number else key for key, _ in part]
        assert keys == sorted(keys, reverse=descending)
    assert Counter(record for part in parts for record in part) == Counter(expected)
    keys_of_parts = [{key for key, _ in part} for part in parts]
    assert sum(map(len, keys_of_parts)) == len(set().union(*keys_of_parts))
