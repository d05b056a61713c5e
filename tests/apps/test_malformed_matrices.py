"""Matrix files that are wrong: kmeans says once what is wrong, fails, and does not hang, wherever its rows are."""

import math
import struct
from pathlib import Path
from typing import Callable, Dict, Tuple

import pytest
from csr_oracle import ALIGNMENT, HEADER_BYTES, encode_matrix, entries_position, header_bytes
from kmeans_oracle import random_matrix
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

PROGRAM_LIMIT_S = 60
COLUMNS = 50
MATRIX = random_matrix(300, COLUMNS, 12, seed=5)
ROWS = len(MATRIX)
ENTRIES = sum(len(row) for row in MATRIX)
WHOLE = bytes(encode_matrix(MATRIX, COLUMNS))
LAST_ROW = max(row for row in range(ROWS) if MATRIX[row])


def with_header(**changes: object) -> bytes:
    return header_bytes(ROWS, COLUMNS, ENTRIES, 4, **changes) + WHOLE[HEADER_BYTES:]


def with_entry(entry: int, column: int, value: float) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into("<If", content, entries_position(ROWS) + 8 * entry, column, value)
    return bytes(content)


def with_offset(row: int, offset: int) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into("<Q", content, ALIGNMENT + 8 * row, offset)
    return bytes(content)


# Name: the file, what the message has to say, and whether the first rank of several finds it.
MALFORMED: Dict[str, Tuple[bytes, str, bool]] = {
    "truncated": (WHOLE[:-1], "truncated", True),
    "text_file": (b"0 1\n1 2\n" * 100, "wrong magic", True),
    "graph": (with_header(value_bytes=0), "has no values of 4 bytes", True),
    "reserved_bytes": (with_header(reserved=2**24), "reserved bytes of the header that are not 0", True),
    "last_offset_too_small": (with_offset(ROWS, ENTRIES - 1), "do not span", True),
    "offsets_backwards": (with_offset(250, 1), "backwards", True),
    "offset_beyond_entries": (with_offset(250, 2**60), "go backwards", True),
    "column_out_of_range": (with_entry(0, COLUMNS, 1), f"has column {COLUMNS} in entry 0", True),
    "column_out_of_range_at_the_end": (with_entry(ENTRIES - 1, 2**32 - 3, 1), "-3, if signed", False),
    "not_a_number": (with_entry(ENTRIES - 1, COLUMNS - 1, math.nan), f"in row {LAST_ROW} that are not finite", False),
    "infinite": (with_entry(ENTRIES - 1, COLUMNS - 1, -math.inf), f"in row {LAST_ROW} that are not finite", False),
}


def check_message(finished: Finished, path: Path, cause: str, rank: str) -> None:
    messages = [line for line in finished.stderr.splitlines() if line.startswith("kmeans:")]
    assert len(messages) == 1, finished.report()
    assert f"kmeans: rank {rank}: matrix file {path} " in messages[0]
    assert cause in messages[0]
    assert "matrix-convert" in messages[0], "no remedy"


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_several_ranks_say_once_what_is_wrong(
    run: Runner,
    build_dir: Path,
    plain_mpi: Callable,
    flavour: str,
    tmp_path: Path,
    name: str,
    place: str,
) -> None:
    content, cause, is_found_first = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    program = build_dir / "lib" / "spillway" / "tests" / f"kmeans-{flavour}"
    options = ["--rows", place, "-k", 3, "-o", tmp_path / "clusters", path]
    finished = run(*plain_mpi(flavour, 3), program, *options, status=1, timeout_s=PROGRAM_LIMIT_S)
    check_message(finished, path, cause, "0 of 3" if is_found_first else "2 of 3")
    assert not (tmp_path / "clusters").exists()


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("name", ["truncated", "not_a_number"])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_the_same_message_ends_a_job_under_spillway(
    run: Runner, spillway: Path, spill_dir: Path, build_dir: Path, tmp_path: Path, flavour: str, name: str, place: str
) -> None:
    content, cause, is_found_first = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    options = ["-n", 3, "--slots", 1, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
    program = build_dir / "lib" / "spillway" / "tests" / f"kmeans-{flavour}"
    finished = run(spillway, "run", *options, program, "--rows", place, "-k", 3, path, status=1)
    check_message(finished, path, cause, "0 of 3" if is_found_first else "2 of 3")


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_serial_says_what_is_wrong(run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    content, cause, _ = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    stderr = run(program("kmeans-serial"), "-k", 3, "-o", tmp_path / "clusters", path, status=1).stderr
    assert stderr.startswith(f"kmeans-serial: matrix file {path} ")
    assert cause in stderr


def test_a_missing_file_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "none.csr"
    assert f"rank 0 of 1: cannot open {path}: No such file" in run(program("kmeans"), path, status=1).stderr
