"""Files of records of the sort benchmark, and whether they are sorted: NumPy says."""

from pathlib import Path
from typing import Sequence

import numpy

RECORD_BYTES = 100
KEY_BYTES = 10


def records(keys: numpy.ndarray) -> numpy.ndarray:
    """Records with these keys (rows of bytes), and the number of each in its last bytes: all are different."""
    whole = numpy.zeros((len(keys), RECORD_BYTES), numpy.uint8)
    whole[:, : keys.shape[1]] = keys
    whole[:, -8:] = numpy.arange(len(keys), dtype=">u8").view(numpy.uint8).reshape(-1, 8)
    return whole


def as_rows(path: Path, row_bytes: int = RECORD_BYTES) -> numpy.ndarray:
    return numpy.fromfile(path, numpy.uint8).reshape(-1, row_bytes)


def whole_rows_in_order(rows: numpy.ndarray) -> numpy.ndarray:
    return numpy.sort(numpy.ascontiguousarray(rows).view(f"V{rows.shape[1]}").reshape(-1))


def expect_sorted(output: Path, inputs: Sequence[Path]) -> None:
    """The order of records with equal keys is anybody's."""
    found = as_rows(output)
    expected = numpy.concatenate([as_rows(path) for path in inputs])
    keys = numpy.ascontiguousarray(found[:, :KEY_BYTES]).view(f"S{KEY_BYTES}").reshape(-1)
    words = [numpy.ascontiguousarray(found[:, at : at + 5]) for at in (0, 5)]
    high, low = (
        numpy.dot(word.astype(numpy.uint64), 256 ** numpy.arange(4, -1, -1, dtype=numpy.uint64)) for word in words
    )
    assert numpy.all((high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] >= low[:-1])))
    assert len(keys) == len(expected)
    assert numpy.array_equal(whole_rows_in_order(found), whole_rows_in_order(expected))


def random_keys(count: int) -> numpy.ndarray:
    return numpy.random.default_rng(7).integers(0, 256, (count, KEY_BYTES), numpy.uint8)


def written(path: Path, rows: numpy.ndarray) -> Path:
    rows.tofile(path)
    return path
