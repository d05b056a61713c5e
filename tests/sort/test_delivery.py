"""`spillway sort --delivery two-sided`, which is there for comparison: the same output as with one-sided delivery."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Optional

import numpy
import pytest
from held_processes import BLOCK_BYTES, Gate
from marked_processes import process_of_rank
from runner import Finished, Runner, outcome_within
from test_sort import (
    KEYS,
    LIMIT_S,
    SPILLED_RECORDS,
    as_rows,
    expect_sorted,
    partial_output,
    random_keys,
    records,
    written,
)

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

# One process reads, one receives, and one deals out.
FEWEST = ["-n", 3, "--readers", 1]


@pytest.fixture
def sort(run: Runner, spillway: Path, flavour: str, spill_dir: Path) -> Callable[..., Finished]:
    def run_sort(*words: object, status: Optional[int] = 0) -> Finished:
        own = ["--mpi", flavour, "--spill-dir", spill_dir, "--delivery", "two-sided"]
        return run(spillway, "sort", *own, *words, status=status, timeout_s=LIMIT_S)

    return run_sort


@pytest.mark.parametrize(
    ("kind", "memory"), [(kind, "144M") for kind in sorted(KEYS)] + [("random", "384M"), ("skewed", "384M")]
)
@pytest.mark.libraries_in_turn
def test_order(sort: Callable[..., Finished], tmp_path: Path, kind: str, memory: str) -> None:
    """In memory and through the spill directory."""
    source = written(tmp_path / "records", records(KEYS[kind](SPILLED_RECORDS)))
    options = [*FEWEST, "--memory", memory, "--summary", "json", "--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "sorted", *options, source)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is (memory == "384M")


@pytest.mark.parametrize(("processes", "readers"), [(4, 1), (4, 2), (6, 3)])
@pytest.mark.parametrize("delivery", ["two-sided", "two-sided-one-receive"])
def test_groups(sort: Callable[..., Finished], tmp_path: Path, processes: int, readers: int, delivery: str) -> None:
    source = written(tmp_path / "records", records(random_keys(300_000)))
    page = tmp_path / "page"
    options = ["-n", processes, "--readers", readers, "--memory", f"{48 * processes}M", "--delivery", delivery]
    sort("--output", tmp_path / "sorted", *options, "--summary", "json", "--summary-file", page, source)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads(page.read_text())["sorters"] == processes - readers - 1


@pytest.mark.parametrize("kind", ["constant", "skewed"])
@pytest.mark.libraries_in_turn
def test_equal_keys_stay_in_their_order(sort: Callable[..., Finished], tmp_path: Path, kind: str) -> None:
    """Blocks come to sorters in another order than they were read in."""
    rows = records(KEYS[kind](SPILLED_RECORDS))
    first, second = (written(tmp_path / name, part) for name, part in (("b", rows[:150_000]), ("a", rows[150_000:])))
    options = ["-n", 5, "--readers", 2, "--stable", "--memory", "240M"]
    sort("--output", tmp_path / "sorted", *options, first, second)
    keys = numpy.dot(rows[:, :8].astype(numpy.uint64), 256 ** numpy.arange(7, -1, -1, dtype=numpy.uint64))
    assert numpy.array_equal(as_rows(tmp_path / "sorted"), rows[numpy.argsort(keys, kind="stable")])


@pytest.mark.libraries_in_turn
def test_several_files(sort: Callable[..., Finished], tmp_path: Path) -> None:
    counts = (7, 0, 9000, 1, 70_000)
    parts = [written(tmp_path / f"part-{i}", records(random_keys(count))) for i, count in enumerate(counts)]
    sort("--output", tmp_path / "sorted", "-n", 4, "--readers", 2, *parts)
    expect_sorted(tmp_path / "sorted", parts)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.libraries_in_turn
def test_few_records(sort: Callable[..., Finished], tmp_path: Path, count: int) -> None:
    source = written(tmp_path / "records", records(random_keys(count)))
    sort("--output", tmp_path / "sorted", "-n", 5, "--readers", 2, source)
    expect_sorted(tmp_path / "sorted", [source])


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("options", [["--slots", 1], ["--ranks-per-node", 2], ["--slots", 1, "--ranks-per-node", 3]])
@pytest.mark.parametrize("delivery", ["two-sided", "two-sided-one-receive"])
def test_under_spillway_run(
    run: Runner,
    spillway: Path,
    build_dir: Path,
    flavour: str,
    spill_dir: Path,
    tmp_path: Path,
    options: List[object],
    delivery: str,
) -> None:
    """With fewer slots than processes, and on virtual nodes."""
    source = written(tmp_path / "records", records(random_keys(600_000)))
    job = [spillway, "run", "-n", 6, "--memory", "1G", "--spill-dir", spill_dir, "--summary", "none", *options, "--"]
    program = build_dir / "lib" / "spillway" / f"spillway-sort-{flavour}"
    words = ["--memory", "48M", "--spill-dir", spill_dir, "--readers", 2, "--delivery", delivery]
    run(*job, program, *words, "--output", tmp_path / "sorted", source, timeout_s=LIMIT_S)
    expect_sorted(tmp_path / "sorted", [source])


@pytest.mark.parametrize("delivery", ["one-sided", "two-sided"])
def test_under_the_mpi_library_alone(
    run: Runner, plain_mpi: Callable, build_dir: Path, flavour: str, spill_dir: Path, tmp_path: Path, delivery: str
) -> None:
    """MPICH can be told that processes are on several nodes: each has a receiver, and no memory is shared between."""
    source = written(tmp_path / "records", records(random_keys(200_000)))
    program = build_dir / "lib" / "spillway" / f"spillway-sort-{flavour}"
    words = ["--memory", "64M", "--spill-dir", spill_dir, "--readers", 1, "--delivery", delivery]
    words += ["--report-file", tmp_path / "report", "--output", tmp_path / "sorted", source]
    for nodes in (2, 3) if flavour == "mpich" else (1,):
        environment = {"MPIR_CVAR_NUM_CLIQUES": str(nodes)}
        run(*plain_mpi(flavour, 7), program, *words, env=environment, timeout_s=LIMIT_S)
        expect_sorted(tmp_path / "sorted", [source])
        report = json.loads((tmp_path / "report").read_text())
        assert report["sorters"] == (6 if delivery == "one-sided" else 6 - nodes)


@pytest.mark.parametrize("delivery", ["one-sided", "two-sided"])
@pytest.mark.libraries_in_turn
def test_times_of_the_stage(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, delivery: str
) -> None:
    """What sorters do in it takes no longer than it."""
    source = written(tmp_path / "records", records(random_keys(SPILLED_RECORDS)))
    options = ["--mpi", flavour, "--spill-dir", spill_dir, *FEWEST, "--delivery", delivery, "--memory", "144M"]
    words = ["--output", tmp_path / "sorted", "--summary", "json", "--summary-file", tmp_path / "page", source]
    run(spillway, "sort", *options, *words, timeout_s=LIMIT_S)
    page: Dict[str, float] = json.loads((tmp_path / "page").read_text())
    parts = [page[name] for name in ("deal_out_s", "wait_for_data_s", "write_rest_s", "barrier_s")]
    assert page["sorters"] == (2 if delivery == "one-sided" else 1)
    assert min(parts) >= 0 and page["deal_out_s"] > 0
    assert sum(parts) <= page["sorters_distribute_s"] * 1.001
    assert page["sorters_distribute_s"] <= page["sorters"] * page["distribute_s"] * 1.001


MISTAKES = {
    "no readers": (["-n", 3], "two-sided delivery has processes that only read"),
    "no sorters": (["-n", 2, "--readers", 1], "two-sided delivery has processes that only read"),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
@pytest.mark.libraries_in_turn
def test_mistakes_are_named(sort: Callable[..., Finished], tmp_path: Path, name: str) -> None:
    words, message = MISTAKES[name]
    source = written(tmp_path / "records", records(random_keys(100)))
    finished = sort("--output", tmp_path / "sorted", *words, source, status=2)
    assert message in finished.stderr and "Remedy: use --readers" in finished.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.fixture
def start_spilled_sort(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, gate: Gate
) -> Callable[..., subprocess.Popen]:
    """start_spilled_sort(stage, source): in which its processes wait. Its output is begun."""
    stages = {
        "start": gate.before("read", f"{tmp_path}/", least_bytes=BLOCK_BYTES),
        "end": gate.before("write", partial_output(tmp_path), number=2, least_bytes=BLOCK_BYTES),
    }

    def start(stage: str, source: Path) -> subprocess.Popen:
        own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", "144M", *FEWEST, "--delivery", "two-sided"]
        job = run.start([spillway, "sort", *own, "--output", tmp_path / "sorted", source], env=stages[stage])
        gate.wait_for_one(job)
        return job

    return start


@pytest.mark.parametrize("rank", [0, 1, 2], ids=["reader", "receiver", "sorter"])
@pytest.mark.parametrize("stage", ["start", "end"])
@pytest.mark.libraries_in_turn
def test_a_killed_process_ends_the_sort_and_leaves_nothing(
    run: Runner,
    start_spilled_sort: Callable[..., subprocess.Popen],
    gate: Gate,
    flavour: str,
    tmp_path: Path,
    stage: str,
    rank: int,
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    job = start_spilled_sort(stage, source)
    victim = process_of_rank(rank, f"spillway-sort-{flavour}", run.mark)
    assert victim, "there is no such process"
    os.kill(victim, signal.SIGKILL)
    gate.open()
    outcome_within(job, LIMIT_S)
    assert job.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.libraries_in_turn
def test_an_input_that_becomes_shorter_ends_the_sort(
    start_spilled_sort: Callable[..., subprocess.Popen], gate: Gate, tmp_path: Path
) -> None:
    """Its reader says so; receivers and sorters must not wait for ever."""
    source = written(tmp_path / "records", records(random_keys(1_000_000)))
    job = start_spilled_sort("start", source)
    os.truncate(source, 5_000_100)
    gate.open()
    _, message = outcome_within(job, LIMIT_S)
    assert job.returncode == 1
    assert f"{source} has become shorter while it was sorted" in message
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
