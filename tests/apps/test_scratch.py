"""Scratch files on disks that have their faults: programs say so."""

from pathlib import Path
from typing import Callable, Dict, List

import pytest
from csr_oracle import write_matrix
from graph_oracle import random_graph, write_graph
from kmeans_oracle import random_matrix
from preloaded import BROKEN_DISK, NO_DIRECT, preload
from runner import Runner

pytestmark = pytest.mark.libraries_in_turn

RANKS = 4
WARNING = "the file system refuses O_DIRECT; reading through the page cache\n"

# By program: the options with which it has scratch files, on every rank.
PROGRAMS: Dict[str, List[object]] = {
    "kmeans": ["-k", 2, "--rows", "file"],
    "kmeans-serial": ["-k", 2, "-o", "clusters"],
    "sgd": ["--blocks", "file"],
    "sgd-serial": ["--grid", 2],
}


@pytest.fixture
def words_of(
    build_dir: Path,
    plain_mpi: Callable[[str, int], List[str]],
    flavour: str,
    program: Callable[[str], Path],
    tmp_path: Path,
    spill_dir: Path,  # surely on a disk
) -> Callable[[str], List[object]]:
    """words_of(name): the program with a matrix."""

    def words(name: str) -> List[object]:
        start: List[object] = [program(name)]
        if not name.endswith("-serial"):
            start = [*plain_mpi(flavour, RANKS), build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"]
        matrix = write_matrix(tmp_path / "matrix.csr", random_matrix(200, 30, 6, seed=1), 30)
        return [*start, "-i", 2, "--scratch-dir", spill_dir, *PROGRAMS[name], matrix]

    return words


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_file_system_without_direct_reading_is_named_once(
    run: Runner, words_of: Callable, tmp_path: Path, name: str
) -> None:
    direct = run(*words_of(name), cwd=tmp_path)
    assert WARNING not in direct.stderr
    cached = run(*words_of(name), cwd=tmp_path, env=preload(tmp_path, NO_DIRECT))
    assert cached.stderr.count(f"{name}: {WARNING}") == cached.stderr.count(WARNING) == 1
    assert cached.stdout.splitlines()[-1] == direct.stdout.splitlines()[-1]  # what the result is worth


def test_pagerank_serial_names_it_too(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "graph.csr", random_graph(100, 800, seed=1))
    stderr = run(program("pagerank-serial"), graph, env=preload(tmp_path, NO_DIRECT)).stderr
    assert stderr == f"pagerank-serial: {WARNING}"


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_scratch_file_that_cannot_be_read_is_named(
    run: Runner, words_of: Callable, tmp_path: Path, spill_dir: Path, name: str
) -> None:
    stderr = run(*words_of(name), cwd=tmp_path, status=None, env=preload(tmp_path, BROKEN_DISK)).stderr
    begin = f"{name}: " if name.endswith("-serial") else f"{name}: rank "
    messages = [line for line in stderr.splitlines() if line.startswith(begin)]
    assert messages
    cause = (
        f"scratch file: cannot read {spill_dir}: Input/output error; name a folder on a sound disk with --scratch-dir"
    )
    assert all(cause in message for message in messages)


@pytest.mark.parametrize("name", ["kmeans-serial", "sgd-serial"])
def test_what_stays_in_memory_is_not_read(run: Runner, words_of: Callable, tmp_path: Path, name: str) -> None:
    run(*words_of(name), "--memory", "1G", cwd=tmp_path, env=preload(tmp_path, BROKEN_DISK))
