"""terasort, compared with Python's sort of the same records."""

from pathlib import Path
from typing import Callable, List

import pytest
from cases import in_turns
from parts import parts_in
from runner import Runner

pytestmark = pytest.mark.libraries_in_turn

WAYS = [["--plain", "-n", 1], ["--plain", "-n", 3], ["--slots", 1, "-n", 3, "--memory", "256M"]]
RECORD_BYTES = 100
KEY_BYTES = 10


@pytest.fixture
def generate(run: Runner, build_dir: Path, tmp_path: Path) -> Callable[..., List[Path]]:
    """generate(*counts, options=): a file for each count, which goes on where the last one ends."""

    def generate_them(*counts: int, options: List[object] = ()) -> List[Path]:
        paths = []
        for number, count in enumerate(counts):
            paths.append(tmp_path / f"records-{number}")
            begin = sum(counts[:number])
            run(build_dir / "bin" / "teragen", *options, "--begin", begin, count, paths[-1])
        return paths

    return generate_them


def records_of(paths: List[Path]) -> List[bytes]:
    content = b"".join(path.read_bytes() for path in paths)
    return [content[begin : begin + RECORD_BYTES] for begin in range(0, len(content), RECORD_BYTES)]


def check_sorted(folder: Path, parts: int, files: List[Path]) -> None:
    paths = [folder / f"part-{part:05d}" for part in range(parts)]
    assert parts_in(folder) == paths
    found = records_of(paths)
    keys = [record[:KEY_BYTES] for record in found]
    assert keys == sorted(keys)
    assert sorted(found) == sorted(records_of(files))


@pytest.mark.parametrize("options, way", in_turns([[], ["--ascii"], ["--skewed"], ["--ascii", "--skewed"]], WAYS))
def test_records_are_sorted(
    run_job: Callable,
    generate: Callable,
    tmp_path: Path,
    nothing_left_behind: None,
    way: List[object],
    options: List[object],
) -> None:
    files = generate(3000, 0, 5000, options=options)
    run_job([*way, "-O", 4, "-A", 3], "terasort", tmp_path / "out", *files)
    check_sorted(tmp_path / "out", 3, files)


@pytest.mark.parametrize("counts", [[0], [1], [2, 1]])
def test_few_records_are_sorted(run_job: Callable, generate: Callable, tmp_path: Path, counts: List[int]) -> None:
    files = generate(*counts)
    run_job(["--plain", "-n", 2, "-A", 5], "terasort", tmp_path / "out", *files)
    check_sorted(tmp_path / "out", 5, files)


@pytest.mark.parametrize("way", WAYS[1:])
def test_more_records_than_memory_are_sorted(
    run_job: Callable, generate: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    files = generate(80000)
    _, report = run_job([*way, "-O", 5, "-A", 4], "terasort", tmp_path / "out", *files, env={"MPI_D_MEMORY": "1M"})
    assert report["spilled_bytes"] > 3 << 20 and report["received_records"] == 80000
    check_sorted(tmp_path / "out", 4, files)


def test_parts_have_about_as_many_records(run_job: Callable, generate: Callable, tmp_path: Path) -> None:
    files = generate(40000)
    run_job(["--plain", "-n", 2, "-A", 4], "terasort", tmp_path / "out", *files)
    sizes = [path.stat().st_size / RECORD_BYTES for path in parts_in(tmp_path / "out")]
    assert all(0.85 * 10000 < size < 1.15 * 10000 for size in sizes)


def test_a_truncated_file_is_named(
    run: Runner, key_value_program: Callable, generate: Callable, tmp_path: Path
) -> None:
    whole, cut = generate(10, 10)
    cut.write_bytes(cut.read_bytes()[:-1])
    stderr = run(key_value_program("terasort"), tmp_path / "out", whole, cut, status=1).stderr
    cause = "its 999 bytes are no whole number of records of 100 bytes"
    assert stderr == f"terasort: cannot read {cut}: {cause}\n"
    assert not (tmp_path / "out").exists()
