"""pagerank under plain MPI, compared with PageRank in plain Python."""

import math
import re
from pathlib import Path
from typing import Callable, List

import pytest
from graph_oracle import Graph, difference, long_row_graph, pagerank, printed_top, random_graph, read_ranks, write_graph
from ranks_of_graph import RanksOf
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

L1_LIMIT = 1e-9
ITERATIONS = 7

GRAPHS = {
    "random": random_graph(700, 6000, seed=1),
    "sparse": random_graph(900, 300, seed=2, dangling=0.6),
    "dense": random_graph(40, 9000, seed=3),
    "no_edges": [[] for _ in range(13)],
    "one_vertex": [[]],
    "one_loop": [[0]],
    "three_vertices": [[1, 2], [], [0, 0, 2]],
    "star_outwards": [list(range(1, 500))] + [[] for _ in range(499)],
    "star_inwards": [[]] + [[0] for _ in range(499)],
    "ring": [[(vertex + 1) % 100] for vertex in range(100)],
    "all_edges_in_last_row": [[] for _ in range(199)] + [list(range(200)) * 5],
}


# Every graph with three ranks; some with all numbers of ranks, among them more ranks than rows.
CASES = [(name, 3) for name in sorted(GRAPHS)] + [
    (name, ranks) for name in ("random", "sparse", "three_vertices") for ranks in (1, 2, 8)
]


@pytest.mark.parametrize("name, ranks", CASES)
def test_ranks_equal_the_oracle(pagerank_ranks: RanksOf, name: str, ranks: int) -> None:
    graph = GRAPHS[name]
    found = pagerank_ranks(graph, "--iterations", ITERATIONS, ranks=ranks)
    assert difference(found, pagerank(graph, ITERATIONS)) <= L1_LIMIT
    assert abs(math.fsum(found) - 1) <= L1_LIMIT


def test_rows_are_shared_out_by_their_edges(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    """All edges are in a tenth of the rows, of which a third of all rows would hold all."""
    graph = [[row] * 5000 for row in range(200)] + [[] for _ in range(1800)]
    finished = run_pagerank(write_graph(tmp_path / "graph.csr", graph), "--iterations", 1, ranks=3)
    figures = dict(re.findall(r"^data of (all ranks|the largest rank): ([\d.]+) MiB", finished.stdout, re.MULTILINE))
    assert 1 / 3 <= float(figures["the largest rank"]) / float(figures["all ranks"]) < 0.4


@pytest.mark.parametrize("ranks", [1, 3])
def test_one_collective_call_exchanges_the_same(pagerank_ranks: RanksOf, ranks: int) -> None:
    graph = GRAPHS["random"]
    found = pagerank_ranks(graph, "--exchange", "alltoallv", "--iterations", ITERATIONS, ranks=ranks)
    assert difference(found, pagerank(graph, ITERATIONS)) <= L1_LIMIT


def test_rows_that_are_read_in_pieces_are_pushed_whole(pagerank_ranks: RanksOf) -> None:
    graph = long_row_graph()
    assert difference(pagerank_ranks(graph, "--iterations", 2, ranks=2), pagerank(graph, 2)) <= L1_LIMIT


@pytest.mark.parametrize("damping", [0, 0.5, 1])
def test_damping_changes_the_result_as_in_the_oracle(pagerank_ranks: RanksOf, damping: float) -> None:
    graph = GRAPHS["random"]
    found = pagerank_ranks(graph, "--damping", damping, "--iterations", ITERATIONS, ranks=2)
    assert difference(found, pagerank(graph, ITERATIONS, damping)) <= L1_LIMIT


def test_no_iteration_leaves_equal_ranks(pagerank_ranks: RanksOf) -> None:
    assert pagerank_ranks(GRAPHS["three_vertices"], "--iterations", 0, ranks=2) == [1 / 3] * 3


def iterations_until(graph: Graph, tolerance: float) -> int:
    before = pagerank(graph, 0)
    for done in range(1, 1000):
        after = pagerank(graph, done)
        if difference(before, after) < tolerance:
            return done
        before = after
    raise AssertionError("does not converge")


@pytest.mark.parametrize("ranks", [1, 3])
def test_tolerance_stops_one_iteration_after_it_is_reached(
    run_pagerank: Callable[..., Finished], tmp_path: Path, ranks: int
) -> None:
    graph = random_graph(100, 800, seed=4)
    tolerance = 1e-3
    path = write_graph(tmp_path / "graph.csr", graph)
    finished = run_pagerank("--tolerance", tolerance, "-i", 500, "-o", tmp_path / "ranks", path, ranks=ranks)
    done = sum(line.startswith("iteration ") for line in finished.stdout.splitlines())
    assert done == iterations_until(graph, tolerance) + 1
    assert difference(read_ranks(tmp_path / "ranks"), pagerank(graph, done)) <= L1_LIMIT


@pytest.mark.parametrize("ranks", [1, 3, 6])
def test_top_lists_the_highest_in_order(run_pagerank: Callable[..., Finished], tmp_path: Path, ranks: int) -> None:
    graph = GRAPHS["random"]
    expected = pagerank(graph, ITERATIONS)
    path = write_graph(tmp_path / "graph.csr", graph)
    top = printed_top(run_pagerank("--top", 25, "-i", ITERATIONS, path, ranks=ranks).stdout)
    assert [place for place, _, _ in top] == list(range(1, 26))
    highest = sorted(expected, reverse=True)[:25]
    for (_, vertex, rank), value in zip(top, highest):
        assert rank == pytest.approx(value, rel=1e-8)
        assert rank == pytest.approx(expected[vertex], rel=1e-8)
    assert len({vertex for _, vertex, _ in top}) == 25


def test_top_of_more_than_there_are_lists_all_and_equal_ranks_by_vertex(
    run_pagerank: Callable[..., Finished], tmp_path: Path
) -> None:
    path = write_graph(tmp_path / "graph.csr", GRAPHS["no_edges"])
    top = printed_top(run_pagerank("--top", 50, path, ranks=3).stdout)
    assert [vertex for _, vertex, _ in top] == list(range(13))


def test_prints_sizes_times_and_the_sum(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_graph(tmp_path / "graph.csr", GRAPHS["random"])
    stdout = run_pagerank("-i", 3, path, ranks=3).stdout
    assert "graph: 700 vertices, 6000 edges" in stdout
    assert "seconds per iteration: mean " in stdout
    assert "sum of ranks: 1.000000000000" in stdout


def test_progress_is_lines_where_stderr_is_no_terminal(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_graph(tmp_path / "graph.csr", GRAPHS["random"])
    stderr = run_pagerank("--progress", "-i", 3, path, ranks=2).stderr
    assert [line.split(",")[0] for line in stderr.splitlines() if line.startswith("iteration")] == [
        f"iteration {done} of 3" for done in (1, 2, 3)
    ]
    assert "\r" not in stderr


def test_progress_bar_reaches_its_end(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_graph(tmp_path / "graph.csr", GRAPHS["random"])
    stderr = run_pagerank("--progress=bar", "-i", 4, path, ranks=2).stderr
    assert "[" + "#" * 10 + "." * 30 + "] iteration 1 of 4" in stderr
    assert "[" + "#" * 40 + "] iteration 4 of 4" in stderr


def test_output_replaces_a_longer_file(pagerank_ranks: RanksOf, tmp_path: Path) -> None:
    (tmp_path / "ranks").write_bytes(bytes(8000))
    assert len(pagerank_ranks(GRAPHS["three_vertices"], ranks=2)) == 3


@pytest.mark.parametrize(
    "options, named",
    [
        (["--no-such-option", "graph"], "--no-such-option"),
        (["--iterations", "many", "graph"], "--iterations"),
        (["--iterations", "-1", "graph"], "--iterations"),
        (["--damping", "1.5", "graph"], "--damping"),
        (["--damping", "nan", "graph"], "--damping"),
        (["--exchange", "pigeons", "graph"], "--exchange"),
        (["--progress=loud", "graph"], "--progress"),
        (["--top"], "--top"),
        ([], "GRAPH"),
        (["one", "two"], "GRAPH"),
    ],
)
def test_wrong_command_line_is_named(
    run: Runner, program: Callable[[str], Path], options: List[str], named: str
) -> None:
    # One process, without a launcher: the words are what is tested.
    stderr = run(program("pagerank"), *options, status=2).stderr
    assert named in stderr
    assert stderr.startswith("pagerank: rank 0: ")


def test_wrong_command_line_is_said_once(run_pagerank: Callable[..., Finished]) -> None:
    finished = run_pagerank("--no-such-option", "graph", ranks=3, status=2)
    assert finished.stderr.count("pagerank: ") == 1, finished.report()


def test_help_is_printed_once(run_pagerank: Callable[..., Finished]) -> None:
    assert run_pagerank("--help", ranks=3).stdout.count("usage:") == 1


def test_output_that_cannot_be_written_is_named(run_pagerank: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_graph(tmp_path / "graph.csr", GRAPHS["random"])
    output = tmp_path / "no" / "such" / "folder"
    finished = run_pagerank("-o", output, "-i", 1, path, ranks=3, status=1)
    assert f"pagerank: rank 0 of 3: cannot open {output}.partial: No such file or directory\n" in finished.stderr
