"""spillway/sort.h and sort.hpp: what programs call to sort files."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Callable, List

import numpy
import pytest
from record_files import random_keys, records, written
from runner import Runner
from source_tree import SOURCE

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

RANKS = 3
LIMIT_S = 120


@pytest.fixture(params=["alone", "spillway"])
def job(request: pytest.FixtureRequest, plain_mpi: Callable, spillway: Path, spill_dir: Path, flavour: str) -> List:
    if request.param == "alone":
        return plain_mpi(flavour, RANKS)
    options = ["--slots", 1, "--memory", "1G", "--spill-dir", spill_dir, "--summary", "none"]
    return [spillway, "run", "-n", RANKS, *options, "--"]


@pytest.fixture
def program(build_dir: Path, flavour: str) -> Path:
    return build_dir / "lib" / "spillway" / "tests" / f"sort-files-{flavour}"


def test_sorts_more_than_once_in_a_program(run: Runner, job: List, program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "numbers"
    folder.mkdir()
    finished = run(*job, program, folder, tmp_path / "sorted")
    words = [f"rank {rank}: {word}" for rank in range(RANKS) for word in ("2 lines", "all")]
    assert sorted(finished.stdout.splitlines()) == words
    found = numpy.fromfile(tmp_path / "sorted", numpy.int64)
    given = numpy.concatenate([numpy.fromfile(folder / str(rank), numpy.int64) for rank in range(RANKS)])
    assert numpy.array_equal(found, numpy.sort(given)[::-1])
    parts = json.loads((tmp_path / "sorted-lines" / "manifest.json").read_text())["parts"]
    text = "".join((tmp_path / "sorted-lines" / part["name"]).read_text() for part in parts)
    assert text == "      1 a\n      2 b\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numbers", "sorted", "sorted-lines"]


def test_mistakes_end_the_job(run: Runner, job: List, program: Path) -> None:
    finished = run(*job, program, status=None)
    assert finished.status != 0
    assert "spillway_sort_files(): rank " in finished.stderr
    assert "no output, or no input\n  Remedy: set inputs, input_count and output" in finished.stderr


def test_nothing_is_there_for_all_ranks_at_once(run: Runner, job: List, program: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    finished = run(*job, program, "empty", tmp_path / "none", tmp_path / "sorted", timeout_s=LIMIT_S)
    assert sorted(finished.stdout.splitlines()) == [f"rank {rank}: found 100" for rank in range(RANKS)]


@pytest.fixture
def refused(run: Runner, job: List, program: Path, tmp_path: Path) -> Callable[..., str]:
    """What is said of a sort that does not end well: what was at the output's name stays, and nothing else is left."""

    def run_refused(source: Path, *words: object) -> str:
        output = written(tmp_path / "output" / "sorted", numpy.full(6, 65, numpy.uint8))
        finished = run(*job, program, "given", source, output, *words, status=None, timeout_s=LIMIT_S)
        assert finished.status != 0
        assert output.read_text() == "AAAAAA"
        assert [path.name for path in output.parent.iterdir()] == ["sorted"]
        return finished.stderr

    (tmp_path / "output").mkdir()
    return run_refused


@pytest.mark.parametrize("count", [100, 400_000])
@pytest.mark.parametrize("readers", [-1, RANKS])
def test_a_wrong_number_of_readers_is_refused(
    refused: Callable[..., str], tmp_path: Path, readers: int, count: int
) -> None:
    source = written(tmp_path / "records", records(random_keys(count)))
    message = refused(source, readers)
    assert f"{readers} of {RANKS} processes only read\n  Remedy: leave some to sort" in message


@pytest.mark.parametrize("limit", [1 << 20, 280 << 20])
def test_files_beyond_a_limit_end_the_job_with_a_message(
    refused: Callable[..., str], tmp_path: Path, limit: int
) -> None:
    """Of symmetric memory, or of the output."""
    source = tmp_path / "records"
    source.touch()
    os.truncate(source, 300_000_000)
    message = refused(source, 0, limit)
    assert "File too large\n  Remedy: " in message
    assert ("symmetric heaps of " if limit == 1 << 20 else "cannot make room for 286 MiB in ") in message


def test_more_open_files_than_allowed_end_the_job_and_leave_nothing(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    for number in range(300):
        written(tmp_path / "records" / str(number), records(random_keys(10)))
    message = refused(tmp_path / "records", 0, 1 << 40, 40)
    assert re.search(r"cannot open \S+/records/\d+ to read it: Too many open files\n  Remedy: ", message), message


def test_an_input_that_becomes_shorter_ends_the_job_and_leaves_nothing(
    run: Runner, job: List, program: Path, tmp_path: Path
) -> None:
    """The program cuts it when the sort knows its size, and has not read its records."""
    source = written(tmp_path / "records", records(random_keys(100_000)))
    finished = run(*job, program, "cut", source, tmp_path / "sorted", 5_000_100, status=None, timeout_s=LIMIT_S)
    assert finished.status != 0
    assert f"{source} has become shorter while it was sorted" in finished.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.parametrize(
    ("header", "language", "standard"),
    [("sort.h", "c", "c99"), ("sort.h", "c++", "c++11"), ("sort.hpp", "c++", "c++20")],
)
def test_headers_stand_alone(header: str, language: str, standard: str) -> None:
    words = ["c++", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run(
        [*words, f"-I{SOURCE / 'include'}", "-"], input=f"#include <spillway/{header}>\n", text=True, check=True
    )
