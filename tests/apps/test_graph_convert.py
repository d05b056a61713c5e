"""graph-convert, compared with the same conversion in plain Python."""

import random
from pathlib import Path
from typing import Callable, List, Set, Tuple

import pytest
from graph_oracle import Graph, decode
from limits import little_memory
from runner import Finished, Runner

Edges = List[Tuple[int, int]]
Convert = Callable[..., Finished]


@pytest.fixture
def convert(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Convert:
    """convert(text, *options, status=): runs graph-convert on a file with that text; its result is graph.csr."""

    def convert_it(text: str, *options: object, status: int = 0) -> Finished:
        (tmp_path / "input").write_bytes(text.encode())
        return run(program("graph-convert"), *options, tmp_path / "input", tmp_path / "graph.csr", status=status)

    return convert_it


@pytest.fixture
def graph(tmp_path: Path) -> Callable[[], Graph]:
    return lambda: decode((tmp_path / "graph.csr").read_bytes())


def rows_of(edges: Edges, vertices: int) -> Graph:
    targets: List[Set[int]] = [set() for _ in range(vertices)]
    for source, target in edges:
        targets[source].add(target)
    return [sorted(row) for row in targets]


def random_edges(vertices: int, count: int, seed: int) -> Edges:
    choices = random.Random(seed)
    edges = [(choices.randrange(vertices), int(vertices * choices.random() ** 3)) for _ in range(count)]
    return edges + [(vertices - 1, 0)] + edges[: count // 10]


def reversed_edges(edges: Edges) -> Edges:
    return [(target, source) for source, target in edges]


@pytest.mark.parametrize("threads", [1, 3])
def test_edge_list_gives_sorted_rows_without_repetitions(convert: Convert, graph: Callable, threads: int) -> None:
    edges = random_edges(20000, 60000, seed=1)
    convert("".join(f"{u} {v}\n" for u, v in edges), "--threads", threads)
    assert graph() == rows_of(edges, 20000)


def test_undirected_stores_both_directions(convert: Convert, graph: Callable) -> None:
    edges = random_edges(500, 3000, seed=2)
    convert("".join(f"{u} {v}\n" for u, v in edges), "--undirected")
    assert graph() == rows_of(edges + reversed_edges(edges), 500)


def test_comments_spaces_weights_and_line_ends_are_accepted(convert: Convert, graph: Callable) -> None:
    convert("# one\n% two\n\n  \n 0\t1\r\n1   2 0.5\n#3 4\n2 0 -1e-3 \n3 3")
    assert graph() == [[1], [2], [0], [3]]


def test_vertices_without_edges_can_be_added(convert: Convert, graph: Callable) -> None:
    convert("0 2\n", "--vertices", 6)
    assert graph() == [[2], [], [], [], [], []]


def test_a_file_without_edges_is_a_graph_without_vertices(convert: Convert, graph: Callable) -> None:
    convert("# nothing\n")
    assert graph() == []


def test_a_row_larger_than_a_bucket_is_kept_whole(convert: Convert, graph: Callable) -> None:
    # Appenders write 8192 edges at a time, and rows are planned in blocks of 4096.
    edges = [(5000, target) for target in range(20000)] + [(4096, 1), (4095, 2), (8192, 3)]
    convert("".join(f"{u} {v}\n" for u, v in edges))
    assert graph() == rows_of(edges, 20000)


def test_memory_is_bounded_where_vertices_have_no_edges(
    run: Runner, program: Callable[[str], Path], tmp_path: Path
) -> None:
    # A single bucket of all rows would take 183 MiB.
    (tmp_path / "input").write_text("11999999 1\n")
    words = [program("graph-convert"), "--threads", 1, tmp_path / "input", tmp_path / "graph.csr"]
    assert "12000000 vertices, 1 edges" in run(*little_memory(145 << 10), *words).stdout
    (tmp_path / "graph.csr").unlink()


def matrix(field: str, symmetry: str, vertices: int, edges: Edges) -> str:
    value = {"pattern": "", "real": " -1.5e+3", "integer": " 7"}[field]
    entries = "".join(f"{u + 1} {v + 1}{value}\n" for u, v in edges)
    banner = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n"
    return f"{banner}% a comment\n%\n{vertices} {vertices} {len(edges)}\n{entries}"


@pytest.mark.parametrize("field", ["pattern", "real", "integer"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_is_read(convert: Convert, graph: Callable, field: str, symmetry: str) -> None:
    edges = random_edges(300, 2000, seed=3)
    expected = edges
    if symmetry == "symmetric":
        edges = [(max(edge), min(edge)) for edge in edges]
        expected = edges + reversed_edges(edges)
    convert(matrix(field, symmetry, 310, edges))
    assert graph() == rows_of(expected, 310)


def test_matrix_market_banner_may_have_capitals(convert: Convert, graph: Callable) -> None:
    convert("%%MatrixMarket MATRIX Coordinate Pattern General\n2 2 1\n1 2\n")
    assert graph() == [[1], []]


def test_format_can_be_forced(convert: Convert, graph: Callable) -> None:
    convert("%%MatrixMarket is only a comment here\n0 1\n", "--format", "edges")
    assert graph() == [[1], []]


BANNER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "text, line, cause",
    [
        ("0 1\n-3 1\n", 2, "negative vertex '-3'"),
        ("0 1\n1 -1\n", 2, "negative vertex '-1'"),
        ("# c\n\n0 x\n", 3, "'x' is not a vertex"),
        ("0 1.5\n", 1, "'1.5' is not a vertex"),
        ("0 1\n7\n", 2, "two vertices are needed"),
        ("0 4294967296\n", 1, "out of range"),
        ("0 99999999999999999999999\n", 1, "out of range"),
        ("0 1 2 3\n", 1, "unexpected '3'"),
        ("0 1 heavy\n", 1, "'heavy' is not a number"),
        pytest.param("0 " + "1" * (2 << 20), 1, "longer than", id="line-of-2-MiB"),
        (BANNER + "3 3 2\n1 2 1\n0 1 1\n", 4, "out of range: vertices are 1 to 3"),
        (BANNER + "3 3 1\n1 4 1\n", 3, "out of range: vertices are 1 to 3"),
        (BANNER + "3 3 1\n1 2\n", 3, "is not a number"),
        (BANNER + "3 3 2\n1 2 1\n", 3, "ends after 1 of its 2 entries"),
        (BANNER + "3 3 1\n1 2 1\n2 1 1\n", 4, "more than its 1 entries"),
        (BANNER + "3 4 1\n1 2 1\n", 2, "square"),
        (BANNER + "3 3\n", 2, "line of sizes"),
        (BANNER + "% only\n", 2, "before its line of sizes"),
        ("%%MatrixMarket matrix array real general\n", 1, "array"),
        ("%%MatrixMarket matrix coordinate complex general\n", 1, "complex"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", 1, "hermitian"),
    ],
)
def test_wrong_input_is_named_by_line_and_cause(
    convert: Convert, tmp_path: Path, text: str, line: int, cause: str
) -> None:
    finished = convert(text, status=1)
    assert f"{tmp_path / 'input'}, line {line}: " in finished.stderr
    assert cause in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input"], "something was left behind"


def test_vertex_beyond_the_given_number_is_named(convert: Convert) -> None:
    assert "line 2: vertex '5' is out of range" in convert("0 1\n5 0\n", "--vertices", 5, status=1).stderr


@pytest.mark.parametrize("options", [["--format", "xml"], ["--vertices", "0"], ["--nothing"]])
def test_wrong_command_line_is_named(convert: Convert, options: List[str]) -> None:
    assert options[0] in convert("0 1\n", *options, status=2).stderr


def test_missing_input_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(program("graph-convert"), tmp_path / "none", tmp_path / "graph.csr", status=1)
    assert f"cannot open {tmp_path / 'none'}: No such file" in finished.stderr


def test_output_that_cannot_be_written_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "input").write_text("0 1\n")
    finished = run(program("graph-convert"), tmp_path / "input", tmp_path / "no" / "graph.csr", status=1)
    assert str(tmp_path / "no") in finished.stderr
