"""sgd and sgd-serial, compared with matrix factorization in plain Python: factors are equal to the bit."""

import math
import re
import time
from pathlib import Path
from typing import Callable, List, Tuple

import pytest
from csr_oracle import Matrix, write_matrix
from runner import Finished, Runner
from sgd_oracle import (
    Factors,
    Settings,
    column_multiple,
    factorize,
    permutation,
    planted_matrix,
    random_matrix,
    read_factors,
    root_mean_square_error,
    starting_values,
)
from standstill import TimeLimit

pytestmark = pytest.mark.libraries_in_turn

ORDERS = ["elements", "rows"]
SMALL = random_matrix(120, 90, 2500, seed=1)
SMALL_COLUMNS = 90

# Name: matrix and columns. Less than there are parts, nothing at all, and all in one place.
EDGE_CASES = {
    "no_rows": ([], 5),
    "no_columns": ([[] for _ in range(5)], 0),
    "nothing": ([], 0),
    "no_entries": ([[] for _ in range(7)], 6),
    "one_entry": ([[(0, 2.5)]], 1),
    "one_row": ([[(column, 1.0 + column) for column in range(20)]], 20),
    "one_column": ([[(0, 1.0 + row)] for row in range(20)], 1),
    "all_in_last_row": ([[] for _ in range(40)] + [[(column % 30, 3.0) for column in range(300)]], 30),
    "all_in_last_column": ([[(39, 2.0)] * 10 for _ in range(30)], 40),
    "one_column_repeated": ([[(3, 1.0), (3, 5.0), (3, 2.0)] for _ in range(9)], 8),
}


def result_of(prefix: Path, factors: int) -> Tuple[Factors, Factors]:
    return read_factors(prefix.with_suffix(".u"), factors), read_factors(prefix.with_suffix(".v"), factors)


def printed_error(finished: Finished) -> float:
    return float(re.findall(r"^root mean square error: (\S+)$", finished.stdout, re.MULTILINE)[0])


@pytest.fixture
def check_parallel(run_sgd: Callable[..., Finished], tmp_path: Path) -> Callable[..., None]:
    def check(matrix: Matrix, columns: int, settings: Settings, *options: object) -> None:
        path = write_matrix(tmp_path / "matrix.csr", matrix, columns)
        words = [*settings.options(), "--output", tmp_path / "found", *options, path]
        finished = run_sgd(*words, ranks=settings.side**2)
        expected = factorize(matrix, columns, settings)
        assert result_of(tmp_path / "found", settings.factors) == expected
        assert printed_error(finished) == pytest.approx(root_mean_square_error(matrix, *expected), rel=1e-8)

    return check


@pytest.fixture
def check_serial(run_sgd_serial: Callable[..., Finished], tmp_path: Path) -> Callable[..., None]:
    def check(matrix: Matrix, columns: int, settings: Settings, *options: object) -> None:
        path = write_matrix(tmp_path / "matrix.csr", matrix, columns)
        words = [*settings.options(), "--grid", settings.side, "--output", tmp_path / "found"]
        words += ["--diagonal"] if settings.by_diagonals else []
        finished = run_sgd_serial(*words, *options, path)
        expected = factorize(matrix, columns, settings)
        assert result_of(tmp_path / "found", settings.factors) == expected
        assert printed_error(finished) == pytest.approx(root_mean_square_error(matrix, *expected), rel=1e-8)

    return check


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("side", [1, 2, 3])
def test_factors_equal_the_oracle(check_parallel: Callable[..., None], side: int, order: str) -> None:
    check_parallel(SMALL, SMALL_COLUMNS, Settings(side=side, factors=6, iterations=3, order=order))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(side=2, factors=1, iterations=2),
        Settings(side=2, factors=4, iterations=2, seed=0),
        Settings(side=2, factors=7, iterations=2, seed=2**64 - 1, decay=1),
        Settings(side=2, factors=20, iterations=2, rate=0.05, decay=0.5, penalty=0.3),
        Settings(side=2, factors=5, iterations=3, rate=0.02, decay=0, penalty=0, order="rows"),
        Settings(side=2, factors=5, iterations=0),
    ],
    ids=lambda settings: f"{settings.factors}_factors_{settings.iterations}_iterations",
)
def test_settings_change_the_factors_as_in_the_oracle(check_parallel: Callable[..., None], settings: Settings) -> None:
    check_parallel(SMALL, SMALL_COLUMNS, settings)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", sorted(EDGE_CASES))
def test_empty_and_lopsided_blocks_equal_the_oracle(check_parallel: Callable[..., None], name: str, order: str) -> None:
    matrix, columns = EDGE_CASES[name]
    check_parallel(matrix, columns, Settings(side=3, factors=3, iterations=2, order=order))


def test_blocks_in_files_may_be_empty(check_parallel: Callable[..., None]) -> None:
    matrix, columns = EDGE_CASES["all_in_last_row"]
    check_parallel(matrix, columns, Settings(side=3, factors=3, iterations=2), "--blocks", "file")


def test_many_columns_are_cut_in_groups(check_parallel: Callable[..., None]) -> None:
    columns = 150000
    assert column_multiple(columns) == 4
    matrix = [[(column, 3.0) for column, _ in row] for row in random_matrix(40, columns, 800, seed=2)]
    check_parallel(matrix, columns, Settings(side=2, factors=1, iterations=1))


def test_rows_that_are_read_in_pieces_stay_whole(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    """A row of more entries than are read at once (2^18), and more rows than their offsets are (2^16)."""
    matrix: Matrix = [[] for _ in range(70000)]
    matrix[3] = [(column % 50, 1.0 + column % 5) for column in range(300000)]
    matrix[69999] = [(49, 2.0)]
    settings = Settings(side=2, factors=1, iterations=0)
    path = write_matrix(tmp_path / "matrix.csr", matrix, 50)
    u, v = starting_values(settings, 1, len(matrix)), starting_values(settings, 2, 50)
    error = printed_error(run_sgd(*settings.options(), path))
    assert error == pytest.approx(root_mean_square_error(matrix, u, v), rel=1e-8)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("side, by_diagonals", [(1, False), (2, False), (3, False), (3, True)])
def test_serial_equals_the_oracle(check_serial: Callable[..., None], side: int, by_diagonals: bool, order: str) -> None:
    settings = Settings(side=side, factors=6, iterations=3, order=order, by_diagonals=by_diagonals)
    check_serial(SMALL, SMALL_COLUMNS, settings)


# A chunk has one or two pages of 4 KiB.
@pytest.mark.parametrize("memory", [0, 4095, "4K", "20K", "1G"])
@pytest.mark.parametrize("by_diagonals", [False, True])
def test_serial_may_keep_chunks_in_memory(
    check_serial: Callable[..., None], memory: object, by_diagonals: bool
) -> None:
    settings = Settings(side=3, factors=6, iterations=3, by_diagonals=by_diagonals)
    check_serial(SMALL, SMALL_COLUMNS, settings, "--memory", memory, "--report-error")


@pytest.mark.parametrize("name", sorted(EDGE_CASES))
def test_serial_with_empty_chunks_equals_the_oracle(check_serial: Callable[..., None], name: str) -> None:
    matrix, columns = EDGE_CASES[name]
    check_serial(matrix, columns, Settings(side=3, factors=3, iterations=2, by_diagonals=False))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 31, 32, 33, 1000])
def test_the_oracle_itself_permutes(size: int) -> None:
    for key in range(20):
        assert sorted(permutation(size, key)) == list(range(size))


def errors_by_iteration(stdout: str) -> List[float]:
    return [float(error) for error in re.findall(r"^root mean square error.*: (\S+)$", stdout, re.MULTILINE)]


@pytest.mark.parametrize("serial", [False, True], ids=["parallel", "serial"])
def test_errors_are_reported_after_each_iteration(
    run_sgd: Callable[..., Finished], run_sgd_serial: Callable[..., Finished], tmp_path: Path, serial: bool
) -> None:
    path = write_matrix(tmp_path / "matrix.csr", SMALL, SMALL_COLUMNS)
    settings = [Settings(side=2, factors=3, iterations=done) for done in (1, 2, 3)]
    words = [*settings[-1].options(), "--report-error", path]
    finished = run_sgd_serial("--grid", 2, "--diagonal", *words) if serial else run_sgd(*words)
    assert "root mean square error after iteration 2: " in finished.stdout
    expected = [root_mean_square_error(SMALL, *factorize(SMALL, SMALL_COLUMNS, each)) for each in settings]
    assert errors_by_iteration(finished.stdout) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("order", ORDERS)
def test_the_error_falls_to_the_noise_of_a_planted_matrix(
    run_sgd: Callable[..., Finished], tmp_path: Path, order: str
) -> None:
    noise = 0.1
    path = write_matrix(tmp_path / "matrix.csr", planted_matrix(300, 200, 0.5, rank=3, noise=noise, seed=3), 200)
    words = ["--factors", 3, "--rate", 0.05, "--decay", 0.97, "--lambda", 0.001, "--iterations", 40]
    errors = errors_by_iteration(run_sgd(*words, "--order", order, "--report-error", path).stdout)
    assert len(errors) == 40
    assert errors[0] > 4 * noise
    assert 0.9 * noise < errors[-1] < 1.1 * noise
    assert all(later < earlier * 1.02 for earlier, later in zip(errors, errors[1:]))


def test_prints_sizes_and_times(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", SMALL, SMALL_COLUMNS)
    stdout = run_sgd("-i", 3, path).stdout
    assert "matrix: 120 rows, 90 columns, 2500 entries" in stdout
    assert re.search(r"^data of all ranks: [\d.]+ MiB \([\d.]+ read only, [\d.]+ written", stdout, re.MULTILINE)
    assert re.search(r"^data of the largest rank: [\d.]+ MiB", stdout, re.MULTILINE)
    assert len(re.findall(r"^iteration \d: [\d.]+ s$", stdout, re.MULTILINE)) == 3
    assert "seconds per iteration: mean " in stdout


def test_rows_and_columns_are_shared_out_by_their_entries(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    """All entries are in a tenth of the rows and of the columns."""
    matrix: Matrix = [[(column % 100, 3.0) for column in range(1000)] if row < 200 else [] for row in range(2000)]
    path = write_matrix(tmp_path / "matrix.csr", matrix, 1000)
    stdout = run_sgd("-i", 1, "-f", 1, path).stdout
    figures = dict(re.findall(r"^data of (all ranks|the largest rank): ([\d.]+) MiB", stdout, re.MULTILINE))
    assert float(figures["the largest rank"]) / float(figures["all ranks"]) < 0.3


def test_progress_is_lines_where_stderr_is_no_terminal(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", SMALL, SMALL_COLUMNS)
    stderr = run_sgd("--progress", "-i", 3, path).stderr
    shown = [line.split(",")[0] for line in stderr.splitlines() if line.startswith("iteration")]
    assert shown == [f"iteration {done} of 3" for done in (1, 2, 3)]


def test_output_replaces_longer_files(check_parallel: Callable[..., None], tmp_path: Path) -> None:
    for ending in "uv":
        (tmp_path / f"found.{ending}").write_bytes(bytes(100000))
    check_parallel(SMALL, SMALL_COLUMNS, Settings(side=2, factors=3, iterations=1))


def scratch_descriptors(process_id: int, folder: Path) -> List[Path]:
    """Descriptors of files in `folder` that have no name."""
    found = []
    for descriptor in Path(f"/proc/{process_id}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue  # closed meanwhile
        if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
            found.append(descriptor)
    return found


@pytest.mark.parametrize("name, files", [("sgd", 1), ("sgd-serial", 3)])
def test_scratch_files_have_no_name_and_are_the_owners_only(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str, files: int
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = write_matrix(tmp_path / "matrix.csr", SMALL, SMALL_COLUMNS)
    words = [program(name), "--scratch-dir", scratch, "-i", 1000000, path]
    process = run.start([*words, "--blocks", "file"] if name == "sgd" else words)
    try:
        limit = TimeLimit(30)
        while len(found := scratch_descriptors(process.pid, scratch)) < files and limit.left_s() > 0:
            time.sleep(0.05)
        assert len(found) == files
        for descriptor in found:
            status = descriptor.stat()
            assert status.st_mode & 0o777 == 0o600
            assert status.st_nlink == 0
        assert not list(scratch.iterdir())
    finally:
        process.kill()
        process.communicate()


def test_no_ratings_have_no_error(run_sgd: Callable[..., Finished], tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "matrix.csr", [[], []], 3)
    error = printed_error(run_sgd(path))
    assert error == 0 and not math.isnan(error)
