"""However blocks are kept and whoever computes, the factors are the same to the bit."""

import json
import random
from array import array
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

import pytest
from csr_oracle import encode_rows, write_matrix
from runner import Finished
from sgd_oracle import random_matrix

pytestmark = pytest.mark.libraries_in_turn

MIB = 1 << 20
BLOCKS = ["memory", "file", "controlled"]
SMALL = random_matrix(300, 200, 20000, seed=5)
Result = Tuple[bytes, bytes]

ROWS, COLUMNS, ENTRIES_PER_ROW = 40000, 3000, 75
LARGE_ENTRIES = ROWS * ENTRIES_PER_ROW


def result_of(prefix: Path) -> Result:
    return prefix.with_suffix(".u").read_bytes(), prefix.with_suffix(".v").read_bytes()


@pytest.fixture(scope="session")
def large_matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 million entries: 34 MiB of blocks, or 23 in compressed rows."""
    entries = array("I", random.Random(6).randbytes(8 * LARGE_ENTRIES))
    ratings = array("I", array("f", [1, 2, 3, 4, 5]).tobytes())
    entries[0::2] = array("I", [column % COLUMNS for column in entries[0::2]])
    entries[1::2] = array("I", [ratings[choice % 5] for choice in entries[1::2]])
    path = tmp_path_factory.mktemp("sgd") / "large.csr"
    path.write_bytes(encode_rows([ENTRIES_PER_ROW] * ROWS, COLUMNS, 4, entries.tobytes()))
    return path


@pytest.fixture(scope="session")
def serial_results() -> Dict[Any, Result]:
    return {}


@pytest.fixture
def serial_result(
    run_sgd_serial: Callable[..., Finished], serial_results: Dict[Any, Result], tmp_path: Path
) -> Callable[..., Result]:
    """serial_result(matrix, side, *options): what sgd-serial gets in the order of sgd's steps, computed once."""

    def result(matrix: Path, side: int, *options: object) -> Result:
        key = (matrix.name, side, options)
        if key not in serial_results:
            run_sgd_serial("--grid", side, "--diagonal", *options, "--output", tmp_path / "serial", matrix)
            serial_results[key] = result_of(tmp_path / "serial")
        return serial_results[key]

    return result


@pytest.mark.parametrize("order", ["elements", "rows"])
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("side", [1, 2, 3, 4])
def test_under_plain_mpi(
    run_sgd: Callable[..., Finished],
    serial_result: Callable[..., Result],
    tmp_path: Path,
    side: int,
    blocks: str,
    order: str,
) -> None:
    path = write_matrix(tmp_path / "small.csr", SMALL, 200)
    options = ["--order", order, "--iterations", 2, "--factors", 10]
    run_sgd(*options, "--blocks", blocks, "--output", tmp_path / "found", path, ranks=side**2)
    assert result_of(tmp_path / "found") == serial_result(path, side, *options)


# The least budget that Spillway takes is 16 MiB; a single rank has everything. The memory of the MPI libraries of 16
# ranks fills that, so the ranks that keep no block in memory have more.
CASES = [
    (1, "elements", "memory", "64M"),
    (1, "rows", "controlled", "64M"),
    (2, "elements", "memory", "16M"),
    (2, "elements", "file", "16M"),
    (2, "rows", "controlled", "16M"),
    (3, "rows", "memory", "16M"),
    (3, "elements", "controlled", "16M"),
    (4, "elements", "memory", "16M"),
    (4, "rows", "memory", "16M"),
    (4, "elements", "file", "32M"),
    (4, "rows", "file", "32M"),
    (4, "elements", "controlled", "16M"),
]


@pytest.mark.one_node
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("side, order, blocks, memory", CASES)
def test_under_spillway_with_little_memory(
    sgd_under_spillway: Callable[..., Finished],
    serial_result: Callable[..., Result],
    large_matrix: Path,
    tmp_path: Path,
    side: int,
    order: str,
    blocks: str,
    memory: str,
) -> None:
    options = ["--order", order, "--iterations", 2]
    words = [*options, "--blocks", blocks, "--output", tmp_path / "found", large_matrix]
    sgd_under_spillway(*words, ranks=side**2, memory=memory)
    assert result_of(tmp_path / "found") == serial_result(large_matrix, side, *options)
    totals = json.loads((tmp_path / "summary.json").read_text())["totals"]
    data_bytes = LARGE_ENTRIES * (12 if order == "elements" else 8)
    if blocks == "memory" and side > 1:
        assert totals["unloaded_bytes"] >= data_bytes - 16 * MIB
    if blocks == "file":
        assert totals["unloaded_bytes"] < data_bytes / 4


@pytest.mark.usefixtures("nothing_left_behind")
def test_controlled_blocks_are_unloaded_although_there_is_room(
    sgd_under_spillway: Callable[..., Finished], large_matrix: Path, tmp_path: Path
) -> None:
    loaded = {}
    for blocks in ("memory", "controlled"):
        sgd_under_spillway("-i", 2, "--blocks", blocks, large_matrix, ranks=4, memory="256M")
        loaded[blocks] = json.loads((tmp_path / "summary.json").read_text())["totals"]["loaded_bytes"]
    assert loaded["memory"] < 1 * MIB
    assert loaded["controlled"] >= 3 * 12 * LARGE_ENTRIES  # two iterations, and the pass for the error
