"""Graph files that are wrong: a message that says what is wrong, a failing exit status, and no hang."""

import struct
from pathlib import Path
from typing import Callable, Dict, Tuple

import pytest
from csr_oracle import ALIGNMENT, HEADER_BYTES, entries_position, header_bytes
from graph_oracle import encode, random_graph
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

GRAPH = random_graph(300, 4000, seed=5)
VERTICES = len(GRAPH)
EDGES = sum(len(row) for row in GRAPH)
WHOLE = bytes(encode(GRAPH))


def with_header(**changes: object) -> bytes:
    return header_bytes(VERTICES, VERTICES, EDGES, **changes) + WHOLE[HEADER_BYTES:]


def with_column(entry: int, column: int) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into("<I", content, entries_position(VERTICES) + 4 * entry, column)
    return bytes(content)


def with_offset(row: int, offset: int) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into("<Q", content, ALIGNMENT + 8 * row, offset)
    return bytes(content)


# Name: the file, and what the message has to say.
MALFORMED: Dict[str, Tuple[bytes, str]] = {
    "empty": (b"", "truncated"),
    "truncated_in_header": (WHOLE[:40], "truncated"),
    "truncated_in_offsets": (WHOLE[: ALIGNMENT + 100], "truncated"),
    "truncated_in_columns": (WHOLE[:-1], "truncated"),
    "too_long": (WHOLE + b"\0", "too long"),
    "wrong_magic": (with_header(magic=b"SPWYCSX\n"), "wrong magic"),
    "text_file": (b"0 1\n1 2\n" * 100, "wrong magic"),
    "newer_version": (with_header(version=3), "version 3"),
    "wrong_checksum": (with_header(checksum=1), "checksum"),
    "changed_count": (WHOLE[:40] + struct.pack("<Q", EDGES - 1) + WHOLE[48:], "checksum"),
    "reserved_bytes": (with_header(reserved=1), "reserved bytes of the header that are not 0"),
    "wide_columns": (with_header(column_bytes=8), "more rows, columns or entries"),
    "too_many_vertices": (with_header(rows=2**40), "more rows, columns or entries"),
    "too_many_edges": (with_header(entries=2**63), "more rows, columns or entries"),
    "not_square": (with_header(columns=VERTICES + 1), "not square"),
    "with_values": (with_header(value_bytes=4), "has values"),
    "wrong_position": (with_header(entries_at=8192 + 4096), "positions contradict"),
    "first_offset_not_zero": (with_offset(0, 1), "do not span"),
    "last_offset_too_small": (with_offset(VERTICES, EDGES - 1), "do not span"),
    "offsets_backwards": (with_offset(150, 1), "backwards"),
    "offset_beyond_edges": (with_offset(150, 2**60), "go backwards"),
    "vertex_out_of_range": (with_column(0, VERTICES), f"has column {VERTICES} in entry 0"),
    "vertex_out_of_range_at_the_end": (with_column(EDGES - 1, VERTICES), f"in entry {EDGES - 1}, out of range"),
    "negative_vertex": (with_column(EDGES // 2, 2**32 - 3), "-3, if signed"),
}


# With more ranks: one of each kind that the first rank finds, and all kinds that only the rank finds that owns the row.
FOUND_BY_SEVERAL_RANKS = [
    "truncated_in_columns",
    "wrong_magic",
    "offsets_backwards",
    "vertex_out_of_range_at_the_end",
    "negative_vertex",
]


def check_message(finished: Finished, path: Path, cause: str, ranks: int) -> None:
    messages = [line for line in finished.stderr.splitlines() if line.startswith("pagerank:")]
    assert len(messages) == 1, finished.report()
    assert cause in messages[0]
    assert str(path) in messages[0]
    assert "graph-convert" in messages[0], "no remedy"
    assert f" of {ranks}: " in messages[0]


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_pagerank_says_what_is_wrong(run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "graph.csr"
    path.write_bytes(content)
    finished = run(program("pagerank"), "-o", tmp_path / "ranks", path, status=1)
    check_message(finished, path, cause, ranks=1)
    assert not (tmp_path / "ranks").exists()


@pytest.mark.parametrize("name", FOUND_BY_SEVERAL_RANKS)
def test_several_ranks_say_once_what_is_wrong(run_pagerank: Callable[..., Finished], tmp_path: Path, name: str) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "graph.csr"
    path.write_bytes(content)
    check_message(run_pagerank(path, ranks=3, status=1), path, cause, ranks=3)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("name", FOUND_BY_SEVERAL_RANKS)
def test_the_same_message_ends_a_job_under_spillway(
    run: Runner, spillway: Path, spill_dir: Path, build_dir: Path, tmp_path: Path, flavour: str, name: str
) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "graph.csr"
    path.write_bytes(content)
    options = ["-n", 3, "--slots", 1, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
    program = build_dir / "lib" / "spillway" / "tests" / f"pagerank-{flavour}"
    check_message(run(spillway, "run", *options, program, path, status=1), path, cause, ranks=3)


def test_the_rank_that_owns_the_wrong_entry_is_named(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = tmp_path / "graph.csr"
    path.write_bytes(with_column(EDGES - 1, VERTICES))
    assert "pagerank: rank 2 of 3: " in run_pagerank(path, ranks=3, status=1).stderr


def test_a_missing_file_is_named(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    finished = run_pagerank(tmp_path / "none.csr", ranks=2, status=1)
    assert f"rank 0 of 2: cannot open {tmp_path / 'none.csr'}: No such file" in finished.stderr


def test_a_folder_is_no_graph(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    assert "not a regular file" in run_pagerank(tmp_path, ranks=2, status=1).stderr


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_serial_says_what_is_wrong(run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "graph.csr"
    path.write_bytes(content)
    finished = run(program("pagerank-serial"), path, status=1)
    assert cause in finished.stderr
    assert str(path) in finished.stderr


def test_the_whole_file_is_accepted(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = tmp_path / "graph.csr"
    path.write_bytes(WHOLE)
    run_pagerank("-i", 1, path, ranks=3)
