"""keyvalue-pagerank and keyvalue-kmeans, compared with Python, wherever they run and also when a process is killed."""

import os
import random
import re
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Sequence, Tuple

import pytest
from cases import in_turns
from held_processes import Gate
from marked_processes import marked_processes
from parts import parts_in
from runner import Runner
from standstill import TimeLimit

ITERATION = ["-M", "iteration"]
WAYS = [
    [*ITERATION, "--plain", "-n", 1],
    [*ITERATION, "--plain", "-n", 3, "-A", 2],
    [*ITERATION, "--slots", 1, "-n", 3, "--memory", "256M"],
    [*ITERATION, "--plain", "-n", 2, "-O", 3, "-A", 5],
]
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}
Graph = Dict[int, List[int]]
Point = Tuple[float, ...]


def random_graph(nodes: int, links: int, seed: int) -> Graph:
    """Links may be from a node to itself, or several between two; every fourth node has none. Numbers have gaps."""
    generator = random.Random(seed)
    names = sorted(generator.sample(range(3 * nodes), nodes))
    return {
        name: [] if generator.random() < 0.25 else generator.choices(names, k=generator.randint(1, links))
        for name in names
    }


GRAPHS: Dict[str, Graph] = {
    "random": random_graph(400, 12, seed=1),
    "one_node": {7: []},
    "one_node_to_itself": {0: [0]},
    "no_links": {node: [] for node in range(5)},
    "ring": {node: [(node + 1) % 6] for node in range(6)},
    "nothing": {},
}


def ranks_of(graph: Graph, iterations: int) -> Dict[int, float]:
    ranks = {node: 1 / len(graph) for node in graph}
    for _ in range(iterations):
        shared = sum(ranks[node] for node, neighbours in graph.items() if not neighbours)
        sums = {node: 0.15 / len(graph) + 0.85 * shared / len(graph) for node in graph}
        for node, neighbours in graph.items():
            for neighbour in neighbours:
                sums[neighbour] += 0.85 * ranks[node] / len(neighbours)
        ranks = sums
    return ranks


def write_parts(folder: Path, lines: Sequence[str], count: int) -> List[Path]:
    paths = [folder / f"input-{number}" for number in range(count)]
    for number, path in enumerate(paths):
        part = lines[len(lines) * number // count : len(lines) * (number + 1) // count]
        path.write_text("".join(f"{line}\n" for line in part))
    return paths


def write_graph(folder: Path, graph: Graph, count: int = 5) -> List[Path]:
    lines = [" ".join(map(str, [node, *neighbours])) for node, neighbours in graph.items()]
    return write_parts(folder, lines, count)


def read_ranks(folder: Path) -> Dict[int, float]:
    parts = parts_in(folder)
    assert not [path for path in parts if not path.name.startswith("part-") or path.suffix]
    lines = [line for path in parts for line in path.read_text().splitlines()]
    ranks = {int(line.split("\t")[0]): float(line.split("\t")[1]) for line in lines}
    assert len(ranks) == len(lines)
    return ranks


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name, way", in_turns(sorted(GRAPHS), WAYS))
def test_ranks_are_those_of_python(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], name: str
) -> None:
    run_job(way, "keyvalue-pagerank", tmp_path / "out", 6, *write_graph(tmp_path, GRAPHS[name]))
    expected = ranks_of(GRAPHS[name], 6) if GRAPHS[name] else {}
    assert read_ranks(tmp_path / "out") == pytest.approx(expected, rel=1e-12, abs=0)


def test_graph_larger_than_memory_is_ranked(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    graph = random_graph(60000, 4, seed=2)
    job = [*ITERATION, "--plain", "-n", 2, "-O", 2]
    files = write_graph(tmp_path, graph)
    _, report = run_job(job, "keyvalue-pagerank", tmp_path / "out", 2, *files, env=LITTLE_MEMORY)
    assert read_ranks(tmp_path / "out") == pytest.approx(ranks_of(graph, 2), rel=1e-12, abs=0)
    assert report["spilled_bytes"] > 1 << 20


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "lines, message",
    [
        (["1 2", "2 1", "3 x"], "input-1, line 1: 'x' is not a whole number"),
        (["1 2", "2 1.5", "3 1"], "input-0, line 2: '1.5' is not a whole number"),
        (["1 2", "2 -1", "3 1"], "input-0, line 2: numbers of nodes must not be negative"),
        (["1 2", "1 2", "3 1"], "input-0, line 2: lines are not sorted by their first number, or two have the same"),
        (["5 2", "6 2", "3 1"], "input-1, line 1: lines are not sorted"),
        (["1 2", "4 1", "3 1"], "input-0, line 2: lines are not sorted"),
        (["1 3", "2 1", "3 1", "", "4 1"], "input-1, line 2: there is no number"),
        (["1 2", "2 1", "3 4"], "node 4 is a neighbour, but has no line of its own in {folder}/input-1"),
        (["1 2", "2 0", "3 1"], "node 0 is a neighbour, but has no line of its own in {folder}/input-0"),
    ],
)
def test_wrong_graphs_are_refused(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, lines: List[str], message: str
) -> None:
    paths = [tmp_path / "input-0", tmp_path / "input-1"]
    for path, part in zip(paths, (lines[:2], lines[2:])):
        path.write_text("\n".join(part) + "\n")
    job = [*ITERATION, "--plain", "-n", 2]
    finished, _ = run_job(job, "keyvalue-pagerank", tmp_path / "out", 3, *paths, status=None)
    assert finished.status != 0 and message.format(folder=tmp_path) in finished.stderr
    assert not list(tmp_path.glob("out/*"))


def clustered_points(count: int, columns: int, seed: int) -> List[Point]:
    generator = random.Random(seed)
    return [tuple(generator.gauss(generator.choice([0, 3, 9]), 1.5) for _ in range(columns)) for _ in range(count)]


def squared_distance(first: Point, second: Point) -> float:
    return sum((a - b) ** 2 for a, b in zip(first, second))


def k_means(points: List[Point], clusters: int, rounds: int) -> Tuple[List[Point], List[Tuple[float, int]]]:
    """The centers, and of each round the inertia and how many centers moved."""
    centers = points[:clusters]
    history = []
    while len(history) < rounds and (not history or history[-1][1]):
        members: List[List[Point]] = [[] for _ in centers]
        inertia = 0.0
        for point in points:
            distances = [squared_distance(center, point) for center in centers]
            inertia += min(distances)
            members[distances.index(min(distances))].append(point)
        moved = 0
        for number, cluster in enumerate(members):
            if not cluster:
                continue
            mean = tuple(sum(column) / len(cluster) for column in zip(*cluster))
            moved += squared_distance(centers[number], mean) > 1e-18
            centers[number] = mean
        history.append((inertia, moved))
    return centers, history


POINTS: Dict[str, List[Point]] = {
    "three_columns": clustered_points(300, 3, seed=5),
    "one_column": clustered_points(100, 1, seed=6),
    "equal_points": [(0.1, 0.7)] * 50,  # all but one center have none
    "far_away": [(1e6 + x, y) for x, y in clustered_points(60, 2, seed=7)],
}


def check_centers(path: Path, stdout: str, points: List[Point], clusters: int, rounds: int) -> None:
    centers, history = k_means(points, clusters, rounds)
    found = [tuple(map(float, line.split())) for line in path.read_text().splitlines()]
    assert len(found) == clusters
    for center, expected in zip(found, centers):
        assert center == pytest.approx(expected, rel=1e-9, abs=1e-9)
    printed = re.findall(r"round (\d+): inertia (\S+), moved (\d+)\n", stdout)
    by_round = {int(number): (float(inertia), int(moved)) for number, inertia, moved in printed}
    assert sorted(by_round) == list(range(1, len(history) + 1))
    for number, (inertia, moved) in enumerate(history, 1):
        assert by_round[number] == (pytest.approx(inertia, rel=1e-9, abs=1e-9), moved)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name, way", in_turns(sorted(POINTS), WAYS))
def test_centers_are_those_of_python(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], name: str
) -> None:
    points = POINTS[name]
    separators = random.Random(8).choices([" ", "\t", ",", ", "], k=len(points))
    files = write_parts(tmp_path, [mark.join(map(repr, point)) for mark, point in zip(separators, points)], 4)
    finished, _ = run_job(way, "keyvalue-kmeans", tmp_path / "centers", 4, 30, *files)
    check_centers(tmp_path / "centers", finished.stdout, points, 4, 30)
    assert not (tmp_path / "centers.partial").exists()


def test_k_means_ends_after_its_rounds(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    points = POINTS["three_columns"]
    files = write_parts(tmp_path, [" ".join(map(repr, point)) for point in points], 3)
    finished, report = run_job([*ITERATION, "-n", 2], "keyvalue-kmeans", tmp_path / "centers", 5, 3, *files)
    check_centers(tmp_path / "centers", finished.stdout, points, 5, 3)
    assert report["rounds"] == 3


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "lines, message",
    [
        (["1 2", "3 4", "5 6 7"], "input, line 3: 3 columns, where the first line has 2"),
        (["1 2", "3", "5 6"], "input, line 2: 1 columns, where the first line has 2"),
        (["1 2", "3 4", "", "5 6"], "input, line 3: there is no number"),
        (["1 2", "3 nan", "5 6"], "input, line 2: 'nan' is not a number"),
        (["1 2", "3 1e999", "5 6"], "input, line 2: '1e999' is out of the range"),
        (["1 2"], "the files have 1 lines, fewer than the 2 that are needed"),
    ],
)
def test_wrong_points_are_refused(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, lines: List[str], message: str
) -> None:
    (tmp_path / "input").write_text("\n".join(lines))
    job = [*ITERATION, "--plain", "-n", 2]
    finished, _ = run_job(job, "keyvalue-kmeans", tmp_path / "centers", 2, 5, tmp_path / "input", status=None)
    assert finished.status != 0 and message in finished.stderr
    assert not list(tmp_path.glob("centers*"))


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "words, message",
    [
        (["keyvalue-pagerank", "out", "0"], "ITERATIONS: '0' is not a whole number from 1 on"),
        (["keyvalue-kmeans", "out", "two", "3"], "CLUSTERS: 'two' is not a whole number from 1 on"),
        (["keyvalue-kmeans", "out", "2", "3x"], "ROUNDS: '3x' is not a whole number from 1 on"),
    ],
)
def test_wrong_numbers_are_refused(
    run: Runner, key_value_program: Callable, tmp_path: Path, words: List[str], message: str
) -> None:
    (tmp_path / "input").write_text("1 1\n")
    name, *rest = words
    stderr = run(key_value_program(name), *rest, tmp_path / "input", status=1, cwd=tmp_path).stderr
    assert stderr == f"{name}: {message}\n"
    assert f"{name} OUTPUT" in run(key_value_program(name), status=2).stderr


def round_that_is_done(checkpoint: Path, number: int) -> Path:
    return checkpoint / f"spillway-round-{number}-done"


@contextmanager
def one_killed_at_gate(run: Runner, gate: Gate, is_of_program: Callable[[int], bool]) -> Iterator[None]:
    """Kills the last process of a program when one is held."""

    def watch() -> None:
        limit = TimeLimit(30)
        while not gate.is_anybody_there() and limit.left_s() > 0:
            time.sleep(0.005)
        victims = []
        for pid in marked_processes(run.mark):
            with suppress(OSError):  # it has ended meanwhile
                victims += [pid] if is_of_program(pid) else []
        if victims and gate.is_anybody_there():
            os.kill(max(victims), signal.SIGKILL)
        gate.open()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.fixture
def run_killed(
    run: Runner, run_job: Callable, key_value_program: Callable, tmp_path: Path, gate: Gate
) -> Callable[..., str]:
    """run_killed(options, name, *words): is killed after its third round, and goes on. Returns standard output."""

    def run_it(options: List[object], name: str, *words: object) -> str:
        checkpoint, program = tmp_path / "checkpoint", str(key_value_program(name))
        job = [*ITERATION, "-n", 2, "-O", 4, "-A", 3, "--checkpoint", checkpoint, "--restarts", 1, *options]
        held = gate.before("rename", round_that_is_done(checkpoint, 3))
        with one_killed_at_gate(run, gate, lambda pid: os.readlink(f"/proc/{pid}/exe") == program):
            finished, _ = run_job(job, name, *words, env=held)
        assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
        assert not list(checkpoint.iterdir())
        return finished.stdout

    return run_it


@pytest.mark.parametrize("way", [[], ["--plain"]], ids=["spillway", "plain"])
def test_ranks_are_the_same_after_a_restart(
    run_killed: Callable, tmp_path: Path, nothing_left_behind: None, way: List[str]
) -> None:
    graph = random_graph(1000, 6, seed=3)
    run_killed(way, "keyvalue-pagerank", tmp_path / "out", 60, *write_graph(tmp_path, graph))
    assert read_ranks(tmp_path / "out") == pytest.approx(ranks_of(graph, 60), rel=1e-12, abs=0)


@pytest.mark.parametrize("way", [[], ["--plain"]], ids=["spillway", "plain"])
def test_centers_are_the_same_after_a_restart(
    run_killed: Callable, tmp_path: Path, nothing_left_behind: None, way: List[str]
) -> None:
    points = clustered_points(2500, 2, seed=9)
    files = write_parts(tmp_path, [" ".join(map(repr, point)) for point in points], 4)
    stdout = run_killed(way, "keyvalue-kmeans", tmp_path / "centers", 8, 100, *files)
    check_centers(tmp_path / "centers", stdout, points, 8, 100)
