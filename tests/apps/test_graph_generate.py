"""graph-generate: the same graph for the same options, and one that looks like a renumbered Kronecker graph."""

from collections import Counter
from pathlib import Path
from typing import Callable

import pytest
from graph_oracle import Graph, decode
from limits import little_disk
from runner import Finished, Runner

Generate = Callable[..., Finished]


@pytest.fixture
def generate(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Callable[..., bytes]:
    """generate(*options): the bytes of the file."""

    def generate_it(*options: object) -> bytes:
        path = tmp_path / "graph.csr"
        run(program("graph-generate"), *options, path)
        assert [found.name for found in tmp_path.iterdir()] == ["graph.csr"], "something was left behind"
        return path.read_bytes()

    return generate_it


def graph_of(generate: Callable[..., bytes], *options: object) -> Graph:
    return decode(generate(*options))


def test_threads_do_not_change_the_graph(generate: Callable[..., bytes]) -> None:
    # Several blocks of edges for each thread, and several buckets of rows.
    files = [generate("--scale", 19, "--threads", threads) for threads in (1, 2, 5)]
    assert files[0] == files[1] == files[2]


def test_seeds_give_different_graphs(generate: Callable[..., bytes]) -> None:
    assert generate("--scale", 10, "--seed", 1) != generate("--scale", 10, "--seed", 2)


@pytest.mark.parametrize("scale", [1, 2, 3, 12, 13])
def test_rows_are_sorted_without_repetitions_and_loops(generate: Callable[..., bytes], scale: int) -> None:
    graph = graph_of(generate, "--scale", scale)
    assert len(graph) == 2**scale
    for source, row in enumerate(graph):
        assert row == sorted(set(row))
        assert source not in row
        assert all(0 <= target < len(graph) for target in row)


def test_no_edges_can_be_asked_for(generate: Callable[..., bytes]) -> None:
    assert graph_of(generate, "--scale", 4, "--edge-factor", 0) == [[]] * 16


def test_degrees_are_distributed_as_the_parameters_say(generate: Callable[..., bytes]) -> None:
    # Few edges per vertex, so that hardly any repeat. A vertex whose number (before renumbering) has k bits set is the
    # source of an edge with probability .76^(scale - k) .24^k, and the target likewise, as B = C.
    scale, factor = 14, 2
    drawn = factor * 2**scale
    graph = graph_of(generate, "--scale", scale, "--edge-factor", factor)
    edges = sum(len(row) for row in graph)
    assert 0.80 * drawn < edges <= drawn
    highest = drawn * 0.76**scale
    in_degrees = Counter(target for row in graph for target in row)
    for degrees in (sorted((len(row) for row in graph), reverse=True), sorted(in_degrees.values(), reverse=True)):
        # Repetitions are most frequent here and only take away.
        assert 0.6 * highest < degrees[0] < 1.15 * highest
        # The next 14 vertices have one bit set.
        assert degrees[14] > 0.6 * highest * 0.24 / 0.76 * 0.8
        assert degrees[15] < 0.75 * degrees[1]


def test_vertices_of_high_degree_are_spread(generate: Callable[..., bytes]) -> None:
    graph = graph_of(generate, "--scale", 14, "--edge-factor", 8)
    highest = sorted(range(len(graph)), key=lambda vertex: -len(graph[vertex]))[:256]
    quarters = Counter(vertex * 4 // len(graph) for vertex in highest)
    assert all(quarters[quarter] > 35 for quarter in range(4)), quarters
    parities = Counter(vertex % 4 for vertex in highest)
    assert all(parities[parity] > 35 for parity in range(4)), parities
    edges_of_quarters = [sum(len(row) for row in graph[q * 4096 : (q + 1) * 4096]) for q in range(4)]
    assert max(edges_of_quarters) < 1.3 * min(edges_of_quarters)


@pytest.mark.parametrize("options", [["--scale", "33"], ["--scale", "0"], ["--seed", "x"], ["--threads", "0"]])
def test_wrong_command_line_is_named(run: Runner, program: Callable[[str], Path], options: list) -> None:
    assert options[0] in run(program("graph-generate"), *options, "graph.csr", status=2).stderr


def test_full_disk_is_named_and_leaves_nothing(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(*little_disk(64), program("graph-generate"), "--scale", 14, tmp_path / "graph.csr", status=1)
    assert "cannot write" in finished.stderr
    assert not list(tmp_path.iterdir())
