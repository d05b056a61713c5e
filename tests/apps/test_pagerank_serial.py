"""pagerank-serial, compared with PageRank in plain Python."""

from pathlib import Path
from typing import Callable

import pytest
from graph_oracle import difference, long_row_graph, pagerank, printed_top, random_graph, write_graph
from ranks_of_graph import RanksOf
from runner import Runner
from test_pagerank import GRAPHS, ITERATIONS, L1_LIMIT


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_ranks_equal_the_oracle(serial_ranks: RanksOf, name: str) -> None:
    graph = GRAPHS[name]
    found = serial_ranks(graph, "--iterations", ITERATIONS)
    assert difference(found, pagerank(graph, ITERATIONS)) <= L1_LIMIT


def test_rows_that_cross_blocks_are_pushed_whole(serial_ranks: RanksOf) -> None:
    graph = long_row_graph()
    assert difference(serial_ranks(graph, "--iterations", 2), pagerank(graph, 2)) <= L1_LIMIT


def test_tolerance_stops(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    path = write_graph(tmp_path / "graph.csr", random_graph(100, 800, seed=4))
    stdout = run(program("pagerank-serial"), "--tolerance", 1e-3, "-i", 500, path).stdout
    done = sum(line.startswith("iteration ") for line in stdout.splitlines())
    assert 1 < done < 100


def test_top_lists_the_highest(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    graph = GRAPHS["star_inwards"]
    path = write_graph(tmp_path / "graph.csr", graph)
    top = printed_top(run(program("pagerank-serial"), "--top", 3, path).stdout)
    assert [vertex for _, vertex, _ in top] == [0, 1, 2]
    assert top[0][2] == pytest.approx(pagerank(graph, 20)[0])


def test_wrong_command_line_is_named(run: Runner, program: Callable[[str], Path]) -> None:
    assert "--damping" in run(program("pagerank-serial"), "--damping", "x", "graph", status=2).stderr
