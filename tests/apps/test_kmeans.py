"""kmeans and kmeans-serial, compared with K-means in plain Python: to the bit, wherever the rows are."""

import json
import re
import struct
from array import array
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Tuple

import pytest
from csr_oracle import Matrix, encode_rows, write_matrix
from kmeans_oracle import (
    Clustering,
    drawn_rows,
    kmeans,
    planted_matrix,
    random_matrix,
    read_clusters,
    unit_row,
)
from preloaded import RECORDED_RANGES, preload
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

PROGRAM_LIMIT_S = 60
PLACES = ["memory", "file", "controlled"]
MIB = 1 << 20


def identical_rows(rows: int) -> Matrix:
    return [[(1, 0.5), (4, 2.0)] for _ in range(rows)]


def reversed_and_repeated(rows: int) -> Matrix:
    """Columns in descending order, and some of them more than once."""
    matrix = random_matrix(rows, 40, 10, seed=6)
    return [(row + row[: len(row) // 2])[::-1] for row in matrix]


# Name: the matrix, its columns, and how many clusters are asked for.
MATRICES: Dict[str, Tuple[Matrix, int, int]] = {
    "random": (random_matrix(300, 60, 12, seed=1), 60, 7),
    "mostly_empty": (random_matrix(200, 30, 6, seed=2, empty=0.9), 30, 5),
    "many_columns": (random_matrix(60, 5000, 90, seed=3), 5000, 3),
    "one_column": ([[(0, value)] for value in (1.0, -2.0, 0.5, 3.0, -0.25)], 1, 2),
    "one_row": ([[(2, 3.0), (3, 4.0)]], 9, 1),
    "three_rows": ([[(0, 1.0)], [], [(0, 1.0), (1, 1.0)]], 2, 2),
    "one_cluster": (random_matrix(100, 20, 5, seed=4), 20, 1),
    "identical_rows": (identical_rows(20), 5, 3),
    "reversed_and_repeated": (reversed_and_repeated(150), 40, 4),
    "repeated_to_nothing": ([[(3, 1.0), (3, -1.0)], [(1, 1.0)], [(3, 2.0), (1, 1.0), (3, 2.0)]], 4, 2),
    "zeros_only": ([[(0, 0.0)], [(1, 1.0), (2, 0.0)], [(2, 2.0)], [(0, 0.0), (3, 0.0)]], 4, 4),
    "rows_that_cancel_out": ([[(0, 1.0), (1, 1e-3)], [(0, -1.0), (1, -1e-3)], [(0, 1.0)], [(0, -1.0)]], 2, 1),
    "largest_and_smallest": ([[(0, 3.4e38), (1, 3.4e38)], [(0, 1e-45)], [(1, 1e-40), (2, 1e-40)]], 3, 2),
}


@pytest.fixture
def run_kmeans(
    run: Runner, build_dir: Path, plain_mpi: Callable[[str, int], List[str]], flavour: str
) -> Callable[..., Finished]:
    """run_kmeans(*options, ranks=, status=, env=) with the plain MPI library."""
    path = build_dir / "lib" / "spillway" / "tests" / f"kmeans-{flavour}"
    assert path.is_file(), f"{path} has not been built"

    def run_it(*options: object, ranks: int = 2, status: int = 0, env: Optional[Mapping[str, str]] = None) -> Finished:
        return run(*plain_mpi(flavour, ranks), path, *options, status=status, timeout_s=PROGRAM_LIMIT_S, env=env)

    return run_it


@pytest.fixture
def run_serial(run: Runner, program: Callable[[str], Path]) -> Callable[..., Finished]:
    """run_serial(*options, status=)."""

    def run_it(*options: object, status: int = 0) -> Finished:
        return run(program("kmeans-serial"), *options, status=status, timeout_s=PROGRAM_LIMIT_S)

    return run_it


def clustering_of(finished: Finished, output: Path) -> Clustering:
    lines = finished.stdout.splitlines()
    reassigned = [int(line.split()[-1]) for line in lines if line.startswith("rows reassigned: ")]
    assert sum(line.startswith("iteration ") for line in lines) == len(reassigned), finished.report()
    (objective,) = re.findall(r"^objective: (\S+)$", finished.stdout, re.MULTILINE)
    return Clustering(read_clusters(output), reassigned, objective)


@pytest.fixture
def clustering(run_kmeans: Callable[..., Finished], tmp_path: Path) -> Callable[..., Clustering]:
    """clustering(path, *options, ranks=): what kmeans makes of a matrix file."""

    def make(path: Path, *options: object, ranks: int = 2) -> Clustering:
        return clustering_of(
            run_kmeans("-o", tmp_path / "clusters", *options, path, ranks=ranks), tmp_path / "clusters"
        )

    return make


@pytest.fixture
def serial_clustering(run_serial: Callable[..., Finished], tmp_path: Path) -> Callable[..., Clustering]:
    """serial_clustering(path, *options): what kmeans-serial makes of it."""

    def make(path: Path, *options: object) -> Clustering:
        return clustering_of(run_serial("-o", tmp_path / "serial", *options, path), tmp_path / "serial")

    return make


def written(folder: Path, name: str) -> Path:
    matrix, columns, _ = MATRICES[name]
    return write_matrix(folder / "matrix.csr", matrix, columns)


# Every matrix with two ranks; some with other numbers, among them more ranks than rows.
CASES = [(name, 2) for name in sorted(MATRICES)] + [
    (name, ranks) for name in ("random", "three_rows") for ranks in (1, 3, 5)
]


@pytest.mark.parametrize("name, ranks", CASES)
def test_clusters_equal_the_oracle(clustering: Callable, tmp_path: Path, name: str, ranks: int) -> None:
    matrix, columns, clusters = MATRICES[name]
    assert clustering(written(tmp_path, name), "-k", clusters, ranks=ranks) == kmeans(matrix, columns, clusters)


@pytest.mark.parametrize("name", sorted(MATRICES))
def test_serial_equals_the_oracle(serial_clustering: Callable, tmp_path: Path, name: str) -> None:
    matrix, columns, clusters = MATRICES[name]
    assert serial_clustering(written(tmp_path, name), "-k", clusters) == kmeans(matrix, columns, clusters)


@pytest.mark.parametrize("place", PLACES[1:])
@pytest.mark.parametrize("name, ranks", [("random", 1), ("random", 3), ("random", 5), ("three_rows", 5)])
def test_rows_may_be_anywhere(clustering: Callable, tmp_path: Path, name: str, ranks: int, place: str) -> None:
    matrix, columns, clusters = MATRICES[name]
    found = clustering(written(tmp_path, name), "-k", clusters, "--rows", place, ranks=ranks)
    assert found == kmeans(matrix, columns, clusters)


def large_matrix() -> bytes:
    """Of 300,000 rows, most of two entries and one of 1.2 million: more than is read at once, of rows and of a row."""
    columns, long_length = 1200000, 1200000
    lengths = [2] * 300000
    lengths[170000] = long_length
    words = array("I")
    for row, length in enumerate(lengths):
        if length == 2:
            words.extend((row % 7, 0x3F800000 + row % 5 * 4096, 10 + row % 11, 0x3F000000))  # 1 and more; 0.5
        else:
            for column in range(length):
                words.extend((column, 0x3F800000))
    return bytes(encode_rows(lengths, columns, 4, words.tobytes()))


def test_rows_that_cross_blocks_are_read_whole(
    clustering: Callable, serial_clustering: Callable, tmp_path: Path
) -> None:
    path = tmp_path / "matrix.csr"
    path.write_bytes(large_matrix())
    options = ["-k", 3, "-i", 3]
    expected = clustering(path, *options, ranks=1)
    assert len(set(expected.clusters)) == 3
    assert clustering(path, *options, "--rows", "file", ranks=1) == expected
    assert clustering(path, *options, "--rows", "file", ranks=3) == expected
    assert serial_clustering(path, *options) == expected


# Of matrix "random", whose records have some 24 KiB: between its rows, in the midst of one, and more than all.
@pytest.mark.parametrize("memory", [0, 1, 8, 4096, 10000, "16K", "1M"])
def test_serial_may_keep_rows_in_memory(serial_clustering: Callable, tmp_path: Path, memory: object) -> None:
    matrix, columns, clusters = MATRICES["random"]
    found = serial_clustering(written(tmp_path, "random"), "-k", clusters, "--memory", memory)
    assert found == kmeans(matrix, columns, clusters)


@pytest.mark.parametrize("memory", ["5M", "12M", "1G"])
def test_serial_may_keep_part_of_many_blocks_in_memory(
    serial_clustering: Callable, tmp_path: Path, memory: str
) -> None:
    """The long row of the matrix, from 4 to 13 MiB, is in memory in part."""
    path = tmp_path / "matrix.csr"
    path.write_bytes(large_matrix())
    options = ["-k", 3, "-i", 3]
    assert serial_clustering(path, *options, "--memory", memory) == serial_clustering(path, *options)


@pytest.fixture
def under_spillway(
    run: Runner, spillway: Path, spill_dir: Path, build_dir: Path, flavour: str, tmp_path: Path
) -> Callable[..., Tuple[Finished, dict]]:
    """under_spillway(*options, ranks=, memory=, status=): the run and its summary."""
    summary = tmp_path / "summary.json"

    def run_it(*options: object, ranks: int, memory: str, status: int = 0) -> Tuple[Finished, dict]:
        fixed = ["-n", ranks, "--slots", 1, "--memory", memory, "--spill-dir", spill_dir]
        fixed += ["--summary", "json", "--summary-file", summary]
        program = build_dir / "lib" / "spillway" / "tests" / f"kmeans-{flavour}"
        finished = run(spillway, "run", *fixed, program, *options, status=status, timeout_s=PROGRAM_LIMIT_S)
        return finished, json.loads(summary.read_text())

    return run_it


def medium_matrix() -> Tuple[bytes, int]:
    """A file of 31 MiB (2000 rows, 50 times over), and its columns."""
    choices_of = random_matrix(2000, 20000, 50, seed=7, empty=0.01)
    entries = b"".join(struct.pack("<If", column, value) for row in choices_of for column, value in row)
    lengths = [len(row) for row in choices_of]
    return bytes(encode_rows(lengths * 45, 20000, 4, entries * 45)), 20000


@pytest.mark.one_node
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("place", PLACES)
def test_less_memory_than_data_changes_nothing(
    under_spillway: Callable, serial_clustering: Callable, tmp_path: Path, place: str
) -> None:
    """4 ranks of 10 MiB, of which 32 MiB may be in memory."""
    path = tmp_path / "matrix.csr"
    path.write_bytes(medium_matrix()[0])
    options = ["-k", 8, "-i", 4]
    output = tmp_path / "clusters"
    finished, summary = under_spillway(*options, "--rows", place, "-o", output, path, ranks=4, memory="32M")
    assert clustering_of(finished, output) == serial_clustering(path, *options)
    assert summary["peak_bytes"] <= 32 * MIB
    if place != "file":  # which holds nothing that would have to leave
        assert summary["totals"]["loaded_bytes"] >= 8 * MIB


@pytest.mark.parametrize("place", PLACES)
def test_controlled_rows_are_asked_for_before_each_iteration(
    run_kmeans: Callable[..., Finished], tmp_path: Path, place: str
) -> None:
    """Spillway itself would have rows that are in memory loaded in any case, to the same figures."""
    matrix, _, clusters = MATRICES["random"]
    record = tmp_path / "record"
    environment = preload(tmp_path, RECORDED_RANGES, RECORD=str(record))
    words = ["--rows", place, "-k", clusters, "-i", 2, written(tmp_path, "random")]
    run_kmeans(*words, ranks=3, env=environment)
    calls = [line.split() for line in record.read_text().splitlines()] if record.exists() else []
    if place == "controlled":
        load = "1"
        assert [operation for operation, _ in calls] == [load] * 2 * 3
        assert sum(int(count) for _, count in calls) == 2 * 8 * sum(len(row) for row in matrix)
    else:
        assert not calls


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("ranks", [1, 5])
def test_ranks_in_turns_find_the_same(under_spillway: Callable, tmp_path: Path, ranks: int) -> None:
    matrix, columns, clusters = MATRICES["random"]
    path = written(tmp_path, "random")
    output = tmp_path / "clusters"
    finished, _ = under_spillway("-k", clusters, "-o", output, path, ranks=ranks, memory="64M")
    assert clustering_of(finished, output) == kmeans(matrix, columns, clusters)


def test_as_many_clusters_as_rows_give_each_row_its_own(clustering: Callable, tmp_path: Path) -> None:
    matrix = [[(row, 2.0), (30, 1.0)] for row in range(30)]
    path = write_matrix(tmp_path / "matrix.csr", matrix, 31)
    found = clustering(path, "-k", 30, ranks=3)
    assert sorted(found.clusters) == list(range(30))
    assert found.reassigned == [30, 0]
    assert float(found.objective) == pytest.approx(30, rel=1e-6)


@pytest.mark.parametrize("ranks", [1, 3])
def test_more_clusters_than_rows_with_entries_are_refused(
    run_kmeans: Callable[..., Finished], run_serial: Callable[..., Finished], tmp_path: Path, ranks: int
) -> None:
    path = write_matrix(tmp_path / "matrix.csr", [[], [(0, 1.0)], [], [(1, 1.0)]], 2)
    cause = f"matrix file {path} has 2 rows with entries, too few for 3 clusters; ask for fewer with --clusters\n"
    finished = run_kmeans("-k", 3, path, ranks=ranks, status=1)
    assert f"kmeans: rank 0 of {ranks}: {cause}" in finished.stderr
    assert finished.stderr.count("kmeans:") == 1
    assert run_serial("-k", 3, "-o", tmp_path / "clusters", path, status=1).stderr == f"kmeans-serial: {cause}"


def test_a_matrix_without_rows_is_refused(run_kmeans: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", [], 5)
    assert "has 0 rows with entries" in run_kmeans("-k", 1, path, ranks=2, status=1).stderr


def test_centroids_too_large_for_messages_are_refused(run_kmeans: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", [[(0, 1.0)]], 2**31)
    stderr = run_kmeans("-k", 1, path, ranks=3, status=1).stderr
    assert stderr.count("kmeans:") == 1
    assert f"rank 0 of 3: 1 centroids of {2**31} columns are more values than MPI can count" in stderr


def test_rows_without_entries_belong_to_no_cluster(clustering: Callable, tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", [[], [(0, 1.0)], [], [(1, 1.0)], []], 2)
    clusters = clustering(path, "-k", 2, ranks=3).clusters
    assert [cluster == -1 for cluster in clusters] == [True, False, True, False, True]


def test_equally_close_rows_go_to_the_first_cluster(clustering: Callable, tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", identical_rows(20), 5)
    found = clustering(path, "-k", 3, ranks=3)
    assert found.clusters == [0] * 20
    assert found.reassigned == [20, 0]


def test_an_empty_cluster_keeps_its_centroid(clustering: Callable, tmp_path: Path) -> None:
    """Two equal rows are the first centroids, so cluster 1 is empty; then the other rows' sum moves centroid 0 away."""
    twin, other = [(0, 1.0)], [(0, 1.0), (1, 2.0)]
    matrix = [twin, twin, *[other] * 10]
    seed = next(seed for seed in range(10000) if set(drawn_rows(matrix, 2, seed)) == {0, 1})
    found = clustering(write_matrix(tmp_path / "matrix.csr", matrix, 2), "-k", 2, "--seed", seed)
    assert found.reassigned == [12, 2, 0]
    assert found.clusters == [1, 1] + [0] * 10


@pytest.mark.parametrize("ranks", [1, 3])
def test_planted_clusters_are_found(clustering: Callable, tmp_path: Path, ranks: int) -> None:
    matrix, planted = planted_matrix(6, 400, seed=8)

    def spreads(seed: int) -> bool:
        return len({planted[row] for row in drawn_rows(matrix, 6, seed)}) == 6

    seed = next(seed for seed in range(10000) if spreads(seed))
    path = write_matrix(tmp_path / "matrix.csr", matrix, 6 * 16)
    clusters = clustering(path, "-k", 6, "--seed", seed, ranks=ranks).clusters
    assert len(set(zip(clusters, planted))) == 6


def test_the_seed_chooses_the_first_centroids(clustering: Callable, tmp_path: Path) -> None:
    matrix, columns, clusters = MATRICES["random"]
    path = written(tmp_path, "random")
    found = [clustering(path, "-k", clusters, "--seed", seed) for seed in (0, 2, 2**64 - 1)]
    assert found == [kmeans(matrix, columns, clusters, seed=seed) for seed in (0, 2, 2**64 - 1)]
    assert len({result.objective for result in found}) == 3


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_ends_after_the_iterations_that_were_asked_for(clustering: Callable, tmp_path: Path, iterations: int) -> None:
    matrix, columns, clusters = MATRICES["random"]
    found = clustering(written(tmp_path, "random"), "-k", clusters, "-i", iterations)
    assert len(found.reassigned) == iterations and found.reassigned[-1] > 0
    assert found == kmeans(matrix, columns, clusters, iterations)


def test_lengths_of_rows_do_not_matter(clustering: Callable, tmp_path: Path) -> None:
    matrix, columns, clusters = MATRICES["random"]
    scaled = [[(column, value * 2.0 ** (number % 9)) for column, value in row] for number, row in enumerate(matrix)]
    path = write_matrix(tmp_path / "matrix.csr", scaled, columns)
    assert clustering(path, "-k", clusters) == kmeans(matrix, columns, clusters)


def test_rows_are_shared_out_by_their_entries(run_kmeans: Callable[..., Finished], tmp_path: Path) -> None:
    """All entries but one are in a tenth of the rows, of which a third of all rows would hold all."""
    long_row = [(column, 1.0) for column in range(500)]
    matrix = [long_row for _ in range(200)] + [[] for _ in range(1799)] + [[(0, 1.0)]]
    finished = run_kmeans("-k", 1, "-i", 1, write_matrix(tmp_path / "matrix.csr", matrix, 500), ranks=3)
    figures = dict(re.findall(r"^data of (all ranks|the largest rank): ([\d.]+) MiB", finished.stdout, re.MULTILINE))
    assert 0.3 <= float(figures["the largest rank"]) / float(figures["all ranks"]) < 0.45


@pytest.mark.parametrize("place, read_only", [("memory", 8 * 12000 + 8 * 1001), ("file", 0)])
def test_prints_sizes_times_and_the_objective(
    run_kmeans: Callable[..., Finished], tmp_path: Path, place: str, read_only: int
) -> None:
    matrix = [[(column, 1.0 + row) for column in range(12)] for row in range(1000)]
    path = write_matrix(tmp_path / "matrix.csr", matrix, 5000)
    stdout = run_kmeans("-k", 10, "-i", 3, "--rows", place, path, ranks=1).stdout
    assert "matrix: 1000 rows, 5000 columns, 12000 entries; 10 clusters\n" in stdout
    kept, changed = read_only / MIB, (12 * 50000 + 4 * 1000) / MIB
    sizes = f"{kept + changed:.1f} MiB ({kept:.1f} read only, {changed:.1f} written in each iteration)"
    assert f"data of all ranks: {sizes}\n" in stdout
    assert re.search(r"^iteration 1: \d+\.\d{4} s\nrows reassigned: 1000\n", stdout, re.MULTILINE)
    assert "seconds per iteration: mean " in stdout


def test_progress_is_lines_where_stderr_is_no_terminal(run_kmeans: Callable[..., Finished], tmp_path: Path) -> None:
    stderr = run_kmeans("--progress", "-k", 7, "-i", 3, written(tmp_path, "random"), ranks=2).stderr
    assert [line.split(",")[0] for line in stderr.splitlines() if line.startswith("iteration")] == [
        f"iteration {done} of 3" for done in (1, 2, 3)
    ]


def test_progress_bar_reaches_its_end(run_kmeans: Callable[..., Finished], tmp_path: Path) -> None:
    stderr = run_kmeans("--progress=bar", "-k", 7, "-i", 4, written(tmp_path, "random"), ranks=2).stderr
    assert "[" + "#" * 10 + "." * 30 + "] iteration 1 of 4" in stderr
    assert "[" + "#" * 40 + "] iteration 4 of 4" in stderr


def test_output_replaces_a_longer_file(clustering: Callable, serial_clustering: Callable, tmp_path: Path) -> None:
    path = written(tmp_path, "three_rows")
    for name in ("clusters", "serial"):
        (tmp_path / name).write_bytes(bytes(8000))
    assert len(clustering(path, "-k", 1).clusters) == 3
    assert len(serial_clustering(path, "-k", 1).clusters) == 3


@pytest.mark.parametrize(
    "options, named",
    [
        (["--no-such-option", "matrix"], "--no-such-option"),
        (["--clusters", "0", "matrix"], "--clusters"),
        (["--clusters", "many", "matrix"], "--clusters"),
        (["--iterations", "0", "matrix"], "--iterations"),
        (["--seed", "-1", "matrix"], "--seed"),
        (["--rows", "attic", "matrix"], "--rows"),
        (["--progress=loud", "matrix"], "--progress"),
        (["--output"], "--output"),
        ([], "MATRIX"),
        (["one", "two"], "MATRIX"),
    ],
)
def test_wrong_command_line_is_named(
    run: Runner, program: Callable[[str], Path], options: List[str], named: str
) -> None:
    # One process, without a launcher: the words are what is tested.
    stderr = run(program("kmeans"), *options, status=2).stderr
    assert named in stderr
    assert stderr.startswith("kmeans: rank 0: ")


@pytest.mark.parametrize(
    "options, named",
    [
        (["--clusters", "0", "-o", "clusters", "matrix"], "--clusters"),
        (["matrix"], "--output"),
        (["-o", "clusters"], "MATRIX"),
        (["--rows", "file", "-o", "clusters", "matrix"], "--rows"),
        (["--memory", "1.5X", "-o", "clusters", "matrix"], "--memory"),
        (["--memory", "G", "-o", "clusters", "matrix"], "--memory"),
        (["--memory", "17179869184G", "-o", "clusters", "matrix"], "--memory"),
    ],
)
def test_serial_names_what_is_wrong_in_its_command_line(
    run_serial: Callable[..., Finished], options: List[str], named: str
) -> None:
    assert named in run_serial(*options, status=2).stderr


def test_wrong_command_line_is_said_once(run_kmeans: Callable[..., Finished]) -> None:
    assert run_kmeans("--no-such-option", "matrix", ranks=3, status=2).stderr.count("kmeans: ") == 1


def test_help_is_printed_once(run_kmeans: Callable[..., Finished]) -> None:
    assert run_kmeans("--help", ranks=3).stdout.count("usage:") == 1


def test_output_that_cannot_be_written_is_named(
    run_kmeans: Callable[..., Finished], run_serial: Callable[..., Finished], tmp_path: Path
) -> None:
    path = written(tmp_path, "random")
    output = tmp_path / "no" / "such" / "folder"
    cause = f"cannot open {output}.partial: No such file or directory\n"
    finished = run_kmeans("-o", output, "-k", 2, "-i", 1, path, ranks=3, status=1)
    assert f"kmeans: rank 0 of 3: {cause}" in finished.stderr
    assert run_serial("-o", output, "-k", 2, path, status=1).stderr == f"kmeans-serial: {cause}"


def test_a_scratch_folder_that_cannot_be_used_is_named(
    run_kmeans: Callable[..., Finished], run_serial: Callable[..., Finished], tmp_path: Path
) -> None:
    path = written(tmp_path, "random")
    missing = tmp_path / "no" / "folder"
    options = ["--scratch-dir", missing, "-k", 2, "-o", tmp_path / "clusters", path]
    cause = f"scratch file: cannot open {missing}: No such file or directory; name a folder"
    finished = run_kmeans("--rows", "file", *options, ranks=3, status=1)
    assert finished.stderr.count(f"kmeans: rank 0 of 3: {cause}") == 1
    assert f"kmeans-serial: {cause}" in run_serial(*options, status=1).stderr
    run_kmeans("--rows", "memory", *options)


def test_the_oracle_normalizes() -> None:
    row = unit_row([(3, 2.0), (1, 3.0), (3, 1.0), (1, 1.0)])
    assert row == [(1, pytest.approx(0.8)), (1, 0), (3, pytest.approx(0.6)), (3, 0)]
