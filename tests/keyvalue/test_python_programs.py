"""The applications of apps/keyvalue/python in rounds and on streams, and terasort.py, compared with Python."""

import sys
from collections import Counter
from pathlib import Path
from typing import Callable, Dict

import pytest
import test_terasort
from held_processes import Gate
from runner import Runner
from source_tree import SOURCE
from test_iterative_programs import (
    GRAPHS,
    POINTS,
    Graph,
    check_centers,
    clustered_points,
    one_killed_at_gate,
    random_graph,
    ranks_of,
    read_ranks,
    round_that_is_done,
    write_graph,
    write_parts,
)
from test_python_text_jobs import APPLICATIONS
from test_top_k import TEXTS, most_frequent, read_windows, words_of, write_files

pytestmark = pytest.mark.libraries_in_turn

generate = test_terasort.generate
ITERATION = ["-M", "iteration"]
PLAIN = ["--plain", "-n", 2, "-O", 3, "-A", 5]
ONE_SLOT = ["--slots", 1, "-n", 3, "-O", 4, "-A", 3, "--memory", "256M"]


def check_ranks(folder: Path, graph: Graph, iterations: int) -> None:
    assert read_ranks(folder) == pytest.approx(ranks_of(graph, iterations) if graph else {}, rel=1e-12, abs=0)


def test_ranks_are_those_of_python(run_python: Callable, tmp_path: Path) -> None:
    for name, way in (("random", PLAIN), ("no_links", PLAIN), ("nothing", PLAIN), ("ring", ONE_SLOT)):
        files = write_graph(tmp_path, GRAPHS[name])
        run_python([*ITERATION, *way], APPLICATIONS / "pagerank.py", tmp_path / name, 6, *files)
        check_ranks(tmp_path / name, GRAPHS[name], 6)


def test_wrong_graphs_are_refused(run_python: Callable, tmp_path: Path) -> None:
    wrong = {
        "1 2\n1 2\n": "'1 2': numbers are from 0 on, lines sorted by the first one, which is theirs alone",
        "1 2\n2 4\n": f"node 4 is a neighbour, but has no line of its own in {tmp_path}/input",
    }
    for text, message in wrong.items():
        (tmp_path / "input").write_text(text)
        words = [APPLICATIONS / "pagerank.py", tmp_path / "out", 3, tmp_path / "input"]
        assert message in run_python([*ITERATION, "--plain", "-n", 1], *words, status=1).stderr


def test_centers_are_those_of_python(run_python: Callable, tmp_path: Path) -> None:
    for name, way in (("three_columns", PLAIN), ("equal_points", PLAIN), ("far_away", ONE_SLOT)):
        files = write_parts(tmp_path, [", ".join(map(repr, point)) for point in POINTS[name]], 4)
        finished = run_python([*ITERATION, *way], APPLICATIONS / "kmeans.py", tmp_path / name, 4, 30, *files)
        check_centers(tmp_path / name, finished.stdout, POINTS[name], 4, 30)
        assert not (tmp_path / f"{name}.partial").exists()


@pytest.mark.parametrize("name", ["pagerank.py", "kmeans.py"])
def test_results_are_the_same_after_a_restart(
    run: Runner, run_python: Callable, tmp_path: Path, gate: Gate, name: str
) -> None:
    """A process is killed when its checkpoint has two rounds."""
    checkpoint = tmp_path / "checkpoint"
    graph, points = random_graph(1000, 6, seed=3), clustered_points(2500, 2, seed=9)
    if name == "pagerank.py":
        words = [tmp_path / "out", 40, *write_graph(tmp_path, graph)]
    else:
        files = write_parts(tmp_path, [" ".join(map(repr, point)) for point in points], 4)
        words = [tmp_path / "out", 8, 60, *files]
    job = [*ITERATION, "-n", 2, "-O", 4, "-A", 3, "--checkpoint", checkpoint, "--restarts", 1]
    program = bytes(APPLICATIONS / name)
    held = gate.before("rename", round_that_is_done(checkpoint, 2))

    def is_of_program(pid: int) -> bool:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [program]

    with one_killed_at_gate(run, gate, is_of_program):
        finished = run_python(job, APPLICATIONS / name, *words, env=held)
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
    if name == "pagerank.py":
        check_ranks(tmp_path / "out", graph, 40)
    else:
        check_centers(tmp_path / "out", finished.stdout, points, 8, 60)


def test_most_frequent_words_of_the_stream(run_python: Callable, tmp_path: Path, python_with_packages: Dict) -> None:
    for text, way in (("skewed", ["--slots", 1, "-O", 2, "-A", 3]), ("ties", ["--plain", "-O", 1, "-A", 2])):
        words = [APPLICATIONS / "top_k.py", 7, tmp_path / text, *write_files(tmp_path, TEXTS[text])]
        run_python(["-M", "streaming", *way], *words, **python_with_packages)
        assert read_windows(tmp_path / text) == {0: most_frequent(Counter(words_of(TEXTS[text])), 7)}


def test_windows_add_up_to_the_stream(run_python: Callable, tmp_path: Path, python_with_packages: Dict) -> None:
    """100 lines a second of each O task, 50 lines or more: windows of 50 ms are five or more. All words are wanted."""
    python_with_packages["env"] = {**python_with_packages["env"], "MPI_D_WINDOW": "50ms"}
    words = ["--rate", 100, 1000000, tmp_path / "out", *write_files(tmp_path, TEXTS["skewed"])]
    options = ["-M", "streaming", "--plain", "-O", 2, "-A", 2]
    run_python(options, APPLICATIONS / "top_k.py", *words, **python_with_packages)
    windows = read_windows(tmp_path / "out")
    assert len(windows) >= 5
    total: Counter = Counter()
    for window in windows.values():
        assert window == most_frequent(dict(window), len(window))
        total.update(dict(window))
    assert total == Counter(words_of(TEXTS["skewed"]))


def test_records_of_the_sort_benchmark_are_sorted(run_python: Callable, generate: Callable, tmp_path: Path) -> None:
    for name, way, parts, options in (("plain", PLAIN, 5, ["--skewed"]), ("one_slot", ONE_SLOT, 3, [])):
        files = generate(3000, 0, 15000, options=options)
        run_python(way, APPLICATIONS / "terasort.py", tmp_path / name, *files)
        test_terasort.check_sorted(tmp_path / name, parts, files)


def test_a_truncated_file_of_records_is_named(run_python: Callable, generate: Callable, tmp_path: Path) -> None:
    whole, cut = generate(10, 10)
    cut.write_bytes(cut.read_bytes()[:-1])
    words = [APPLICATIONS / "terasort.py", tmp_path / "out", whole, cut]
    stderr = run_python(["--plain", "-n", 1], *words, status=1).stderr
    assert f"cannot read {cut}: its 999 bytes are no whole number of records of 100 bytes" in stderr
    assert not (tmp_path / "out").exists()


def test_all_arguments_are_needed(run: Runner) -> None:
    for name in ("pagerank.py", "kmeans.py", "terasort.py"):
        finished = run(sys.executable, APPLICATIONS / name, "out", status=1, env={"PYTHONPATH": str(SOURCE / "python")})
        assert f"python3 {name} OUTPUT_" in finished.stderr
