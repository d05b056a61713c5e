"""Fixtures of the tests of the applications."""

from pathlib import Path
from typing import Callable, List

import pytest
from graph_oracle import Graph, read_ranks, write_graph
from ranks_of_graph import RanksOf
from runner import Finished, Runner

PROGRAM_LIMIT_S = 60


@pytest.fixture
def program(build_dir: Path) -> Callable[[str], Path]:
    """program(name): a program of build/bin."""

    def path_of(name: str) -> Path:
        path = build_dir / "bin" / name
        assert path.is_file(), f"{path} has not been built"
        return path

    return path_of


@pytest.fixture
def pagerank_words(build_dir: Path, plain_mpi: Callable[[str, int], List[str]], flavour: str) -> Callable:
    """pagerank_words(ranks): the words that start pagerank under one of the plain MPI libraries."""
    path = build_dir / "lib" / "spillway" / "tests" / f"pagerank-{flavour}"
    assert path.is_file(), f"{path} has not been built"
    return lambda ranks: [*plain_mpi(flavour, ranks), path]


@pytest.fixture
def run_pagerank(run: Runner, pagerank_words: Callable) -> Callable[..., Finished]:
    """run_pagerank(*options, ranks=, status=) with the plain MPI library."""

    def run_it(*options: object, ranks: int = 2, status: int = 0) -> Finished:
        return run(*pagerank_words(ranks), *options, status=status, timeout_s=PROGRAM_LIMIT_S)

    return run_it


@pytest.fixture
def pagerank_ranks(run_pagerank: Callable[..., Finished], tmp_path: Path) -> RanksOf:
    """pagerank_ranks(graph, *options, ranks=): what pagerank writes."""

    def ranks_of(graph: Graph, *options: object, ranks: int = 1) -> List[float]:
        path = write_graph(tmp_path / "graph.csr", graph)
        run_pagerank("--output", tmp_path / "ranks", *options, path, ranks=ranks)
        return read_ranks(tmp_path / "ranks")

    return ranks_of


@pytest.fixture
def serial_ranks(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> RanksOf:
    """serial_ranks(graph, *options): what pagerank-serial writes."""

    def ranks_of(graph: Graph, *options: object, ranks: int = 1) -> List[float]:
        assert ranks == 1
        path = write_graph(tmp_path / "graph.csr", graph)
        run(program("pagerank-serial"), "--output", tmp_path / "serial", *options, path, timeout_s=PROGRAM_LIMIT_S)
        return read_ranks(tmp_path / "serial")

    return ranks_of


@pytest.fixture
def sgd_words(build_dir: Path, plain_mpi: Callable[[str, int], List[str]], flavour: str) -> Callable:
    """sgd_words(ranks): the words that start sgd under one of the plain MPI libraries."""
    path = build_dir / "lib" / "spillway" / "tests" / f"sgd-{flavour}"
    assert path.is_file(), f"{path} has not been built"
    return lambda ranks: [*plain_mpi(flavour, ranks), path]


@pytest.fixture
def run_sgd(run: Runner, sgd_words: Callable, tmp_path: Path) -> Callable[..., Finished]:
    """run_sgd(*options, ranks=, status=) with the plain MPI library."""

    def run_it(*options: object, ranks: int = 4, status: int = 0) -> Finished:
        words = [*sgd_words(ranks), "--scratch-dir", tmp_path]
        return run(*words, *options, status=status, timeout_s=PROGRAM_LIMIT_S)

    return run_it


@pytest.fixture
def sgd_under_spillway(
    run: Runner, spillway: Path, build_dir: Path, spill_dir: Path, tmp_path: Path, flavour: str
) -> Callable[..., Finished]:
    """sgd_under_spillway(*options, ranks=, memory=, status=): one rank at a time; figures in summary.json."""

    def run_it(*options: object, ranks: int, memory: str, status: int = 0) -> Finished:
        words = ["-n", ranks, "--slots", 1, "--memory", memory, "--spill-dir", spill_dir, "--summary", "json"]
        words += ["--summary-file", tmp_path / "summary.json", "--"]
        program = build_dir / "lib" / "spillway" / "tests" / f"sgd-{flavour}"
        options = ("--scratch-dir", tmp_path, *options)
        return run(spillway, "run", *words, program, *options, status=status, timeout_s=PROGRAM_LIMIT_S)

    return run_it


@pytest.fixture
def run_sgd_serial(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Callable[..., Finished]:
    def run_it(*options: object, status: int = 0) -> Finished:
        words = [program("sgd-serial"), "--scratch-dir", tmp_path]
        return run(*words, *options, status=status, timeout_s=PROGRAM_LIMIT_S)

    return run_it
