"""The iteration mode: rounds of O and A tasks, what A tasks send back, and the driver."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

import pytest
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

PRIME = 1000003
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}


def expected_lines(keys: int, rounds: int) -> List[str]:
    values = {key: 1 for key in range(keys)}
    lines = []
    for number in range(rounds):
        if number > 0:
            sums: Dict[int, int] = defaultdict(int)
            for key, value in values.items():
                sums[(3 * key + number) % keys] += value
                sums[(key + 1) % keys] += value
            values = {key: value % PRIME for key, value in sums.items()}
        lines.append(f"round {number}: {len(values)} keys, sum {sum(values.values()) + number * len(values)}")
    return lines


@pytest.fixture
def iterate(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str
) -> Callable[..., Finished]:
    """iterate(*words, processes=, status=, env=): iterated-sums under the MPI library alone."""

    def run_it(*words: object, processes: int, status: int = 0, env: Optional[Dict[str, object]] = None) -> Finished:
        program = key_value_program("iterated-sums")
        variables = {name: str(value) for name, value in (env or {}).items()}
        return run(*plain_mpi(flavour, processes), program, *words, status=status, env=variables, timeout_s=60)

    return run_it


@pytest.mark.parametrize("processes, tasks", [(1, (1, 1)), (2, (2, 2)), (3, (7, 4)), (4, (1, 2)), (4, (2, 1))])
@pytest.mark.parametrize("values", ["combine", "apart"])
def test_rounds_give_what_they_give_in_memory(
    iterate: Callable[..., Finished],
    nothing_left_behind: None,
    processes: int,
    tasks: Tuple[int, int],
    values: str,
) -> None:
    env = {"MPI_D_O_TASKS": tasks[0], "MPI_D_A_TASKS": tasks[1]}
    finished = iterate(500, 6, values, processes=processes, env=env)
    assert finished.stdout.splitlines() == expected_lines(500, 6)


def test_rounds_larger_than_memory_are_spilled(
    iterate: Callable[..., Finished], spill_dir: Path, nothing_left_behind: None
) -> None:
    finished = iterate(150000, 4, "apart", processes=3, env=dict(LITTLE_MEMORY, MPI_D_SPILL_DIR=spill_dir))
    assert finished.stdout.splitlines() == expected_lines(150000, 4)


@pytest.mark.parametrize(
    "options", [[], ["--plain"], ["--ranks-per-node", "2"]], ids=["spillway", "plain", "two_nodes"]
)
def test_mpidrun_reports_rounds(run_job: Callable, options: List[str]) -> None:
    job = ["-M", "iteration", "-n", 4, "-O", 5, "-A", 3, *options]
    finished, report = run_job(job, "iterated-sums", 5000, 5, "combine")
    assert finished.stdout.splitlines() == expected_lines(5000, 5)
    assert (report["rounds"], report["o_tasks_done"], report["a_tasks_done"]) == (5, 25, 15)


@pytest.mark.parametrize("group, copies", [("1", 4), ("2", 2)])
def test_local_reduction_sends_each_key_of_a_node_once(
    run_job: Callable, nothing_left_behind: None, group: str, copies: int
) -> None:
    """8 O tasks have each key; four processes, or two groups of two of them, send it once."""
    job = ["-M", "iteration", "-n", 4, "-O", 8, "-A", 4, "--slots", 4]
    finished, report = run_job(job, "iterated-sums", 3000, 1, "everywhere", env={"MPI_D_REDUCTION_GROUP": group})
    assert finished.stdout == "round 0: 3000 keys, sum 24000\n"
    to_o_tasks_and_driver = 2 * 3000
    assert report["shuffled_records"] - to_o_tasks_and_driver == copies * 3000


def test_tasks_of_one_process_send_a_key_once(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    """Each of 8 tasks fills many lists. A key goes to the other node's A task once, from there to an O task, and to the
    driver: half of the keys each time."""
    job = ["-M", "iteration", "-n", 2, "--ranks-per-node", 1, "-O", 8, "-A", 2]
    env = {"MPI_D_REDUCTION_GROUP": "1", "MPI_D_PARTITION_BYTES": "16K"}
    finished, report = run_job(job, "iterated-sums", 20000, 1, "everywhere", env=env)
    assert finished.stdout == "round 0: 20000 keys, sum 160000\n"
    assert report["shuffled_records"] == (2 + 1 + 1) * 20000
    record_bytes = 1 + 1 + 8 + 8
    assert report["sent_bytes"] == pytest.approx((2 + 1 + 1) * 10000 * record_bytes, rel=0.02)
    nodes = json.loads((tmp_path / "report.json").read_text())["nodes"]
    assert sum(node["courier_sent_bytes"] for node in nodes) == pytest.approx(report["sent_bytes"], rel=0.02)


@pytest.mark.parametrize("group", [1, 2, 3])
def test_rounds_are_the_same_whoever_reduces(iterate: Callable[..., Finished], group: int) -> None:
    env = dict(LITTLE_MEMORY, MPI_D_REDUCTION_GROUP=group, MPI_D_O_TASKS=5, MPI_D_A_TASKS=6)
    assert iterate(20000, 3, "combine", processes=4, env=env).stdout.splitlines() == expected_lines(20000, 3)


def test_failing_task_ends_the_job_and_says_why(iterate: Callable[..., Finished], nothing_left_behind: None) -> None:
    finished = iterate(100, 5, "apart", 2, processes=2, status=1)
    assert "as it was told" in finished.stderr
    assert "round 1:" in finished.stdout and "round 2:" not in finished.stdout
