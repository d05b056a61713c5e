"""spillway/sort.h and sort.hpp: what programs call to sort files."""

import json
import subprocess
from pathlib import Path
from typing import Callable, List

import numpy
import pytest
from runner import Runner
from source_tree import SOURCE

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

RANKS = 3


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


@pytest.mark.parametrize(
    ("header", "language", "standard"),
    [("sort.h", "c", "c99"), ("sort.h", "c++", "c++11"), ("sort.hpp", "c++", "c++20")],
)
def test_headers_stand_alone(header: str, language: str, standard: str) -> None:
    words = ["c++", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run(
        [*words, f"-I{SOURCE / 'include'}", "-"], input=f"#include <spillway/{header}>\n", text=True, check=True
    )
