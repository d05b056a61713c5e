"""What programs write is under its name only when all of it is there; a run that fails leaves older files whole."""

import os
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import kmeans_oracle
import pytest
import sgd_oracle
from csr_oracle import write_matrix
from graph_oracle import random_graph, write_graph
from preloaded import full_disk
from runner import Runner

pytestmark = pytest.mark.libraries_in_turn

RANKS = 4
OLDER = b"from an older run"

# By program: its options, and what the names of its output files have behind that which --output gives.
PROGRAMS: Dict[str, Tuple[List[object], List[str]]] = {
    "pagerank": (["-i", 1], [""]),
    "kmeans": (["-k", 2, "-i", 1], [""]),
    "sgd": (["-i", 1], [".u", ".v"]),
}


@pytest.fixture
def input_of(tmp_path: Path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        path = tmp_path / "input.csr"
        if name == "pagerank":
            return write_graph(path, random_graph(100, 800, seed=1))
        if name == "kmeans":
            return write_matrix(path, kmeans_oracle.random_matrix(200, 30, 6, seed=1), 30)
        return write_matrix(path, sgd_oracle.random_matrix(60, 50, 400, seed=1), 50)

    return write


@pytest.fixture
def parallel(build_dir: Path, plain_mpi: Callable[[str, int], List[str]], flavour: str) -> Callable[[str], List]:
    return lambda name: [*plain_mpi(flavour, RANKS), build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"]


def contents(folder: Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("rank", [0, RANKS - 1])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_rank_that_cannot_write_leaves_no_part_and_what_was_there(
    run: Runner, parallel: Callable, input_of: Callable, tmp_path: Path, name: str, rank: int
) -> None:
    options, endings = PROGRAMS[name]
    folder = tmp_path / "output"
    folder.mkdir()
    output = folder / "result"
    environment = full_disk(tmp_path, str(rank))
    words = [*parallel(name), *options, "--output", output, input_of(name)]
    cause = f"{name}: rank {rank} of {RANKS}: cannot write {output}{endings[0]}.partial: No space left on device"
    assert run(*words, status=1, env=environment).stderr.count(cause) == 1
    assert contents(folder) == {}
    before = {f"result{ending}": OLDER for ending in endings}
    for file, content in before.items():
        (folder / file).write_bytes(content)
    run(*words, status=1, env=environment)
    assert contents(folder) == before
    run(*words)
    after = contents(folder)
    assert after.keys() == before.keys() and OLDER not in after.values()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_serial_program_that_cannot_write_leaves_no_part_and_what_was_there(
    run: Runner, program: Callable[[str], Path], input_of: Callable, tmp_path: Path, name: str
) -> None:
    options, endings = PROGRAMS[name]
    folder = tmp_path / "output"
    folder.mkdir()
    before = {f"result{ending}": OLDER for ending in endings}
    for file, content in before.items():
        (folder / file).write_bytes(content)
    output = folder / "result"
    words = [program(f"{name}-serial"), *options, "--output", output, input_of(name)]
    stderr = run(*words, status=1, env=full_disk(tmp_path)).stderr
    assert stderr == f"{name}-serial: cannot write {output}{endings[0]}.partial: No space left on device\n"
    assert contents(folder) == before
    run(*words)
    after = contents(folder)
    assert after.keys() == before.keys() and OLDER not in after.values()


@pytest.mark.parametrize("name", ["pagerank", "kmeans"])
def test_what_is_no_file_is_not_replaced(
    run: Runner, parallel: Callable, program: Callable[[str], Path], input_of: Callable, tmp_path: Path, name: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [*PROGRAMS[name][0], "--output", pipe, input_of(name)]
    cause = f"cannot write {pipe}: it is there and no file; name another"
    assert f"{name}: rank 0 of {RANKS}: {cause}" in run(*parallel(name), *words, status=1).stderr
    assert f"{name}-serial: {cause}" in run(program(f"{name}-serial"), *words, status=1).stderr
    assert pipe.is_fifo()
