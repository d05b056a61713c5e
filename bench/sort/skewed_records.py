"""Records of 100 bytes whose keys are not uniform; and whether a file has the same records as another, in order."""

from pathlib import Path
from typing import Callable, Dict, Iterator, NamedTuple

import numpy

RECORD_BYTES, KEY_BYTES = 100, 10
BLOCK_RECORDS = 1 << 18
DISTINCT_KEYS = 1 << 20  # of skewed ones
_WORDS = 13  # of 8 bytes, in which a record is when it has 4 more
_ODD = 0x9E3779B97F4A7C15


def _scattered(numbers: numpy.ndarray) -> numpy.ndarray:
    """One to one: so that neighbours are anywhere."""
    mixed = numbers * numpy.uint64(_ODD)
    mixed ^= mixed >> numpy.uint64(32)
    return mixed * numpy.uint64(0xD6E8FEB86659FD93)


def _spread(places: numpy.ndarray, count: int) -> numpy.ndarray:
    """Of places among so many, numbers of 64 bits in their order."""
    return places * numpy.uint64((1 << 64) // count)


def _uniform(begin: int, end: int, _count: int, _random: numpy.random.Generator) -> numpy.ndarray:
    return _scattered(numpy.arange(begin, end, dtype=numpy.uint64))


def _sorted(begin: int, end: int, count: int, _random: numpy.random.Generator) -> numpy.ndarray:
    return _spread(numpy.arange(begin, end, dtype=numpy.uint64), count)


def _reversed(begin: int, end: int, count: int, _random: numpy.random.Generator) -> numpy.ndarray:
    return _spread(numpy.arange(count - 1 - begin, count - 1 - end, -1, dtype=numpy.int64).astype(numpy.uint64), count)


def _constant(begin: int, end: int, _count: int, _random: numpy.random.Generator) -> numpy.ndarray:
    return numpy.full(end - begin, _ODD, numpy.uint64)


def _zipf(begin: int, end: int, _count: int, random: numpy.random.Generator) -> numpy.ndarray:
    """Key i is as frequent as 1 / i, nearly, wherever it is among the others: the first one is 5% of all."""
    ranks = numpy.exp(random.random(end - begin) * numpy.log(DISTINCT_KEYS + 1)).astype(numpy.uint64)
    return _scattered(ranks)


KINDS: Dict[str, Callable[[int, int, int, numpy.random.Generator], numpy.ndarray]] = {
    "uniform": _uniform,
    "sorted": _sorted,
    "reversed": _reversed,
    "constant": _constant,
    "zipf": _zipf,
}


def write_records(path: Path, size: int, kind: str) -> None:
    """The same ones each time. Eight bytes of the key are its number, the record's last ones are the record's own."""
    random = numpy.random.default_rng(4)
    count = size // RECORD_BYTES
    rows = random.integers(0, 256, (BLOCK_RECORDS, RECORD_BYTES), numpy.uint8)
    rows[:, 8:KEY_BYTES] = 0
    with open(path, "wb") as output:
        for begin in range(0, count, BLOCK_RECORDS):
            end = min(begin + BLOCK_RECORDS, count)
            block = rows[: end - begin]
            for at, numbers in ((0, KINDS[kind](begin, end, count, random)), (92, numpy.arange(begin, end))):
                block[:, at : at + 8] = numbers.astype(">u8").view(numpy.uint8).reshape(-1, 8)
            block.tofile(output)


def _blocks(path: Path) -> Iterator[numpy.ndarray]:
    with open(path, "rb") as file:
        while len(rows := numpy.fromfile(file, numpy.uint8, BLOCK_RECORDS * RECORD_BYTES)):
            yield rows.reshape(-1, RECORD_BYTES)


class Content(NamedTuple):
    records: int
    checksum: int  # of the records, in whatever order
    is_sorted: bool

    def is_sort_of(self, given: "Content") -> bool:
        return self.is_sorted and self[:2] == given[:2]


def content(path: Path) -> Content:
    records, checksum, is_sorted, last = 0, 0, True, b""
    factors = _scattered(numpy.arange(1, _WORDS + 1, dtype=numpy.uint64)) | numpy.uint64(1)
    for rows in _blocks(path):
        words = numpy.zeros((len(rows), 8 * _WORDS), numpy.uint8)
        words[:, :RECORD_BYTES] = rows
        sums = (words.view(numpy.uint64) * factors).sum(axis=1, dtype=numpy.uint64)
        checksum = (checksum + int(_scattered(sums).sum(dtype=numpy.uint64))) % (1 << 64)
        high = rows[:, :8].copy().view(">u8").reshape(-1).astype(numpy.uint64)
        low = rows[:, 8:KEY_BYTES].copy().view(">u2").reshape(-1)
        in_order = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] >= low[:-1]))
        is_sorted = is_sorted and bool(in_order.all()) and last <= rows[0, :KEY_BYTES].tobytes()
        records, last = records + len(rows), rows[-1, :KEY_BYTES].tobytes()
    return Content(records, checksum, is_sorted)
