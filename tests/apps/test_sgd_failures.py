"""What sgd and sgd-serial cannot do: a message that says what is wrong, a failing exit status, and no hang."""

import math
import struct
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest
from csr_oracle import ALIGNMENT, HEADER_BYTES, encode_matrix, entries_position, header_bytes, write_matrix
from graph_oracle import encode, random_graph
from runner import Finished, Runner
from sgd_oracle import random_matrix

pytestmark = pytest.mark.libraries_in_turn

ROWS, COLUMNS, ENTRIES = 100, 80, 2000
MATRIX = random_matrix(ROWS, COLUMNS, ENTRIES, seed=7)
WHOLE = bytes(encode_matrix(MATRIX, COLUMNS))


def with_header(**changes: object) -> bytes:
    return header_bytes(ROWS, COLUMNS, ENTRIES, 4, **changes) + WHOLE[HEADER_BYTES:]


def with_bytes(position: int, form: str, value: float) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into(form, content, position, value)
    return bytes(content)


def with_column(entry: int, column: int) -> bytes:
    return with_bytes(entries_position(ROWS) + 8 * entry, "<I", column)


def with_value(entry: int, value: float) -> bytes:
    return with_bytes(entries_position(ROWS) + 8 * entry + 4, "<f", value)


# Name: the file, and what the message has to say.
MALFORMED: Dict[str, Tuple[bytes, str]] = {
    "empty": (b"", "truncated"),
    "truncated": (WHOLE[:-1], "truncated"),
    "text_file": (b"0 1 3.5\n" * 100, "wrong magic"),
    "older_version": (with_header(version=1), "version 1"),
    "wrong_checksum": (with_header(checksum=1), "checksum"),
    "graph": (bytes(encode(random_graph(50, 300, seed=1))), "no values of 4 bytes"),
    "last_offset_too_small": (with_bytes(ALIGNMENT + 8 * ROWS, "<Q", ENTRIES - 1), "do not span"),
    "offsets_backwards": (with_bytes(ALIGNMENT + 8 * 50, "<Q", 1), "backwards"),
    "offset_beyond_entries": (with_bytes(ALIGNMENT + 8 * 50, "<Q", 2**60), "row offset"),
    "column_out_of_range": (with_column(0, COLUMNS), f"has column {COLUMNS} in entry 0"),
    "column_out_of_range_at_the_end": (with_column(ENTRIES - 1, COLUMNS), f"in entry {ENTRIES - 1}, out of range"),
    "no_number": (with_value(1, math.nan), "in entry 1, which is no finite number"),
    "infinite": (with_value(ENTRIES - 1, -math.inf), f"value -inf in entry {ENTRIES - 1}"),
}
FOUND_BY_SEVERAL_RANKS = ["truncated", "graph", "offsets_backwards", "column_out_of_range_at_the_end", "infinite"]


def check_message(finished: Finished, path: Path, cause: str, begin: str) -> None:
    messages = [line for line in finished.stderr.splitlines() if line.startswith("sgd")]
    assert len(messages) == 1, finished.report()
    assert messages[0].startswith(begin)
    assert cause in messages[0]
    assert str(path) in messages[0]
    assert "matrix-convert" in messages[0], "no remedy"


@pytest.mark.parametrize("name", sorted(MALFORMED))
@pytest.mark.parametrize("program_name, begin", [("sgd", "sgd: rank 0 of 1: "), ("sgd-serial", "sgd-serial: ")])
def test_one_process_says_what_is_wrong(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str, program_name: str, begin: str
) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    finished = run(program(program_name), "-o", tmp_path / "factors", path, status=1)
    check_message(finished, path, cause, begin)
    assert not (tmp_path / "factors.u").exists()


@pytest.mark.parametrize("name", FOUND_BY_SEVERAL_RANKS)
def test_several_ranks_say_once_what_is_wrong(run_sgd: Callable[..., Finished], tmp_path: Path, name: str) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    finished = run_sgd(path, ranks=4, status=1)
    check_message(finished, path, cause, "sgd: rank ")
    assert " of 4: " in finished.stderr


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("name", ["graph", "infinite"])
def test_the_same_message_ends_a_job_under_spillway(
    sgd_under_spillway: Callable[..., Finished], tmp_path: Path, name: str
) -> None:
    content, cause = MALFORMED[name]
    path = tmp_path / "matrix.csr"
    path.write_bytes(content)
    check_message(sgd_under_spillway(path, ranks=4, memory="64M", status=1), path, cause, "sgd: rank ")


@pytest.mark.parametrize("ranks, remedy", [(2, "start 1 or 4"), (3, "start 1 or 4"), (5, "start 4 or 9")])
def test_a_number_of_ranks_that_is_no_square_is_refused(
    run_sgd: Callable[..., Finished], tmp_path: Path, ranks: int, remedy: str
) -> None:
    path = write_matrix(tmp_path / "matrix.csr", MATRIX, COLUMNS)
    stderr = run_sgd(path, ranks=ranks, status=2).stderr
    messages = [line for line in stderr.splitlines() if line.startswith("sgd: ")]
    assert messages == [f"sgd: rank 0: {ranks} ranks form no square of blocks; {remedy}"]


def test_a_missing_file_is_named(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    finished = run_sgd(tmp_path / "none.csr", status=1)
    assert f"rank 0 of 4: cannot open {tmp_path / 'none.csr'}: No such file" in finished.stderr


WRONG_OPTIONS = [
    (["--no-such-option", "matrix"], "--no-such-option"),
    (["--iterations", "many", "matrix"], "--iterations"),
    (["--iterations", "-1", "matrix"], "--iterations"),
    (["--factors", "0", "matrix"], "--factors"),
    (["--factors", "5000", "matrix"], "--factors"),
    (["--rate", "-0.1", "matrix"], "--rate"),
    (["--rate", "nan", "matrix"], "--rate"),
    (["--decay", "1.5", "matrix"], "--decay"),
    (["--lambda", "x", "matrix"], "--lambda"),
    (["--seed", "-1", "matrix"], "--seed"),
    (["--order", "columns", "matrix"], "--order"),
    (["--output"], "--output"),
    ([], "MATRIX"),
    (["one", "two"], "MATRIX"),
]
WRONG_FOR_SGD = [(["--blocks", "cloud", "matrix"], "--blocks"), (["--progress=loud", "matrix"], "--progress")]
WRONG_FOR_SERIAL = [
    (["--grid", "0", "matrix"], "--grid"),
    (["--memory", "x", "matrix"], "--memory"),
    (["--blocks", "file", "matrix"], "--blocks"),
]


@pytest.mark.parametrize(
    "name, options, named",
    [("sgd", *case) for case in WRONG_OPTIONS + WRONG_FOR_SGD]
    + [("sgd-serial", *case) for case in WRONG_OPTIONS + WRONG_FOR_SERIAL],
)
def test_wrong_command_line_is_named(
    run: Runner, program: Callable[[str], Path], name: str, options: List[str], named: str
) -> None:
    stderr = run(program(name), *options, status=2).stderr
    assert named in stderr
    assert stderr.startswith("sgd: rank 0: " if name == "sgd" else "sgd-serial: ")


def test_wrong_command_line_is_said_once(run_sgd: Callable[..., Finished]) -> None:
    finished = run_sgd("--no-such-option", "matrix", status=2)
    assert finished.stderr.count("sgd: ") == 1, finished.report()


def test_help_is_printed_once_and_has_all_options(
    run: Runner, run_sgd: Callable[..., Finished], program: Callable[[str], Path]
) -> None:
    text = run_sgd("--help").stdout
    assert text.count("usage:") == 1
    assert "--blocks" in text and "--report-error" in text and "--scratch-dir" in text
    text = run(program("sgd-serial"), "--help").stdout
    assert "--diagonal" in text and "--report-error" in text and "--grid" in text


@pytest.mark.parametrize("name, rank", [("sgd", "rank 0 of 1: "), ("sgd-serial", "")])
def test_a_scratch_folder_that_cannot_be_used_is_named(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str, rank: str
) -> None:
    path = write_matrix(tmp_path / "matrix.csr", MATRIX, COLUMNS)
    missing = tmp_path / "no" / "folder"
    options = ["--blocks", "file"] if name == "sgd" else []
    stderr = run(program(name), *options, "--scratch-dir", missing, path, status=1).stderr
    assert stderr.startswith(f"{name}: {rank}scratch file: cannot open {missing}: No such file")
    assert "name a folder" in stderr and "--scratch-dir" in stderr


def test_a_scratch_folder_that_one_of_several_ranks_cannot_use_ends_all(
    run: Runner, sgd_words: Callable[[int], List], tmp_path: Path
) -> None:
    """Each rank has a folder of its own; that of rank 2 is missing."""
    for rank in (0, 1, 3):
        (tmp_path / f"scratch{rank}").mkdir()
    path = write_matrix(tmp_path / "matrix.csr", MATRIX, COLUMNS)
    *launcher, program = sgd_words(4)
    own_folder = 'TMPDIR="$0${PMI_RANK-$OMPI_COMM_WORLD_RANK}" exec "$@"'
    words = [*launcher, "sh", "-c", own_folder, tmp_path / "scratch", program, "--blocks", "file", path]
    finished = run(*words, status=1)
    cause = f"sgd: rank 2 of 4: scratch file: cannot open {tmp_path}/scratch2: No such file"
    assert finished.stderr.count(cause) == finished.stderr.count("sgd: ") == 1, finished.report()


def test_output_that_cannot_be_written_is_named(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", MATRIX, COLUMNS)
    prefix = tmp_path / "no" / "such" / "folder"
    finished = run_sgd("-o", prefix, "-i", 1, path, status=1)
    assert f"sgd: rank 0 of 4: cannot open {prefix}.u" in finished.stderr


def test_factors_that_grow_beyond_all_bounds_are_an_error(
    run_sgd: Callable[..., Finished], run_sgd_serial: Callable[..., Finished], tmp_path: Path
) -> None:
    path = write_matrix(tmp_path / "matrix.csr", MATRIX, COLUMNS)
    words = ["--rate", 100, "--output", tmp_path / "factors", path]
    assert "sgd: rank 0 of 4: the factors have grown" in run_sgd(*words, status=1).stderr
    assert "--rate" in run_sgd_serial(*words, status=1).stderr
    assert not (tmp_path / "factors.u").exists()
