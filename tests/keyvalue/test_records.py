"""Key-value jobs under the MPI library alone: every record comes once, sorted, to the A task that it belongs to."""

import re
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from records_oracle import check_parts, combined, received_records, sent_records
from runner import Finished, Runner

pytestmark = pytest.mark.libraries_in_turn

RECORDS = 3000
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}


@pytest.mark.parametrize("keys", ["int64", "int32", "double", "string", "bytes"])
def test_keys_of_each_class_come_in_their_order(
    run_records: Callable[..., Finished], tmp_path: Path, nothing_left_behind: None, keys: str
) -> None:
    run_records(f"keys={keys}", f"records={RECORDS}", processes=3)
    parts = received_records(tmp_path / "out", 3)
    check_parts(parts, sent_records(3, RECORDS), is_number=keys not in ("string", "bytes"))


@pytest.mark.parametrize(
    "keys, layout",
    [
        *[(keys, "long") for keys in ("int64", "int32", "double")],  # of numbers, there is but one layout
        *[(keys, layout) for keys in ("string", "bytes") for layout in ("long", "short", "nul", "ends")],
    ],
)
def test_batches_are_as_many_records(
    run_records: Callable[..., Finished], tmp_path: Path, nothing_left_behind: None, keys: str, layout: str
) -> None:
    options = [f"keys={keys}", f"records={RECORDS}", f"send-batch={layout}", "recv-batch=700"]
    run_records(*options, processes=3, env={"MPI_D_O_TASKS": 4})
    parts = received_records(tmp_path / "out", 3)
    check_parts(parts, sent_records(4, RECORDS), is_number=keys not in ("string", "bytes"))


@pytest.mark.parametrize("side", ["send-batch=long", "recv-batch=1"])
def test_batches_and_records_may_be_mixed(run_records: Callable[..., Finished], tmp_path: Path, side: str) -> None:
    run_records("common", side, "keys=string", f"records={RECORDS}", processes=2, env=LITTLE_MEMORY)
    check_parts(received_records(tmp_path / "out", 1), sent_records(1, RECORDS), is_number=False)


@pytest.mark.parametrize("op, operation", [(1, sum), (2, min), (3, max)])
def test_numbers_are_combined_by_the_library(
    run_records: Callable[..., Finished], tmp_path: Path, op: int, operation: Callable
) -> None:
    run_records(f"op={op}", f"records={5 * RECORDS}", processes=3, env=LITTLE_MEMORY)
    values: Dict[str, List[int]] = {}
    for key, value in sent_records(3, 5 * RECORDS):
        values.setdefault(key, []).append(value)
    check_parts(received_records(tmp_path / "out", 3), [(key, operation(found)) for key, found in values.items()])


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_tasks_may_be_more_than_processes(run_records: Callable[..., Finished], tmp_path: Path, processes: int) -> None:
    run_records(f"records={RECORDS}", processes=processes, env={"MPI_D_O_TASKS": 9, "MPI_D_A_TASKS": 5})
    check_parts(received_records(tmp_path / "out", 5), sent_records(9, RECORDS))


def test_tasks_may_be_fewer_than_processes(run_records: Callable[..., Finished], tmp_path: Path) -> None:
    run_records(f"records={RECORDS}", processes=4, env={"MPI_D_O_TASKS": 1, "MPI_D_A_TASKS": 1})
    check_parts(received_records(tmp_path / "out", 1), sent_records(1, RECORDS))


@pytest.mark.parametrize("loop", [["without-next-task"], []])
@pytest.mark.parametrize("o_tasks, a_tasks", [(1, 1), (3, 1), (1, 3)])
def test_in_the_common_mode_each_process_is_a_task(
    run_records: Callable[..., Finished], tmp_path: Path, loop: List[str], o_tasks: int, a_tasks: int
) -> None:
    env = {"MPI_D_O_TASKS": o_tasks, "MPI_D_A_TASKS": a_tasks}
    run_records("common", *loop, f"records={RECORDS}", processes=o_tasks + a_tasks, env=env)
    check_parts(received_records(tmp_path / "out", a_tasks), sent_records(o_tasks, RECORDS))


def test_half_of_the_processes_are_o_tasks_unless_somebody_says_how_many(
    run_records: Callable[..., Finished], tmp_path: Path
) -> None:
    run_records("common", f"records={RECORDS}", processes=4)
    check_parts(received_records(tmp_path / "out", 2), sent_records(2, RECORDS))


@pytest.mark.parametrize("memory", [{}, LITTLE_MEMORY])
def test_combining_adds_what_would_come_apart(
    run_records: Callable[..., Finished], tmp_path: Path, memory: Dict[str, str]
) -> None:
    run_records("combine", f"records={5 * RECORDS}", "keys=string", processes=3, env=memory)
    expected = combined(sent_records(3, 5 * RECORDS))
    check_parts(received_records(tmp_path / "out", 3), expected, is_number=False)


def test_what_does_not_fit_in_memory_is_spilled_and_comes_back(
    run_records: Callable[..., Finished], tmp_path: Path, nothing_left_behind: None, spill_dir: Path
) -> None:
    """In two directories, which take turns."""
    env = dict(LITTLE_MEMORY, MPI_D_SPILL_DIR=f"{spill_dir}:{tmp_path}")
    run_records("records=100000", "distinct=70001", processes=3, env=env)
    check_parts(received_records(tmp_path / "out", 3), sent_records(3, 100000, 70001))


def test_the_program_may_order_keys(run_records: Callable[..., Finished], tmp_path: Path) -> None:
    run_records("descending", f"records={RECORDS}", processes=3, env=LITTLE_MEMORY)
    check_parts(received_records(tmp_path / "out", 3), sent_records(3, RECORDS), descending=True)


@pytest.mark.parametrize("partition", [0, -1])
def test_all_records_may_go_to_one_task(run_records: Callable[..., Finished], tmp_path: Path, partition: int) -> None:
    run_records(f"partition={partition}", f"records={10 * RECORDS}", processes=3, env=LITTLE_MEMORY)
    parts = received_records(tmp_path / "out", 3)
    check_parts([parts[partition]], sent_records(3, 10 * RECORDS))


def test_all_records_may_have_one_key(run_records: Callable[..., Finished], tmp_path: Path) -> None:
    run_records("distinct=1", f"records={10 * RECORDS}", processes=3, env=LITTLE_MEMORY)
    check_parts(received_records(tmp_path / "out", 3), sent_records(3, 10 * RECORDS, 1))


@pytest.mark.parametrize("value_bytes, records", [(0, 500), (3_000_000, 4)])
def test_values_may_be_empty_or_longer_than_all_buffers(
    run_records: Callable[..., Finished], tmp_path: Path, value_bytes: int, records: int
) -> None:
    run_records(f"value-bytes={value_bytes}", f"records={records}", processes=3, env=LITTLE_MEMORY)
    expected = [(key, value_bytes) for key, _ in sent_records(3, records)]
    check_parts(received_records(tmp_path / "out", 3), expected)


@pytest.mark.parametrize("mode", [[], ["common"]])
def test_nothing_may_be_sent(run_records: Callable[..., Finished], tmp_path: Path, mode: List[str]) -> None:
    run_records(*mode, processes=2)
    assert not any(received_records(tmp_path / "out", 1 if mode else 2))


@pytest.mark.parametrize("mode", [[], ["common"], ["common", "without-next-task"]])
def test_nobody_has_to_receive(run_records: Callable[..., Finished], tmp_path: Path, mode: List[str]) -> None:
    run_records(*mode, "ignores-records", f"records={10 * RECORDS}", processes=4, env=LITTLE_MEMORY)
    assert not any(received_records(tmp_path / "out", 2 if mode else 4))


def test_the_program_may_begin_and_end_mpi_itself(run_records: Callable[..., Finished], tmp_path: Path) -> None:
    run_records("own-mpi-init", f"records={RECORDS}")
    check_parts(received_records(tmp_path / "out", 2), sent_records(2, RECORDS))


@pytest.mark.parametrize(
    "options, env, named",
    [
        (["keys=text"], {}, "MPI_D_KEY_CLASS: 'text' is not string, int32, int64, double or bytes"),
        ([], {"MPI_D_MEMORY": "much"}, "MPI_D_MEMORY: 'much' is not a size from"),
        ([], {"MPI_D_MEMORY": "4K"}, "MPI_D_MEMORY: '4K' is not a size from 1048576"),
        ([], {"MPI_D_A_TASKS": "0"}, "MPI_D_A_TASKS: '0' is not a number of tasks"),
        ([], {"MPI_D_SPILL_DIR": "/var/tmp:/no/such"}, "MPI_D_SPILL_DIR: '/no/such' is not a directory"),
        ([], {"MPI_D_SPILL_DIR": ":"}, "MPI_D_SPILL_DIR: ':' is not one to 16 directories with ':' between them"),
        ([], {"MPI_D_SPILL_DIR": "/dev/shm"}, "MPI_D_SPILL_DIR: '/dev/shm' is not on a disk"),
        (["common"], {"MPI_D_O_TASKS": "2"}, "2 O tasks and 0 A tasks do not fit 2 processes"),
        (["records=1", "partition=7"], {}, "the partition function returned 7, and the A tasks are 0 to 1"),
        (["wrong-side"], {}, "MPI_D_Send() is for O tasks"),
        (["keys=bytes", "records=9", "send-batch=descending"], {}, "record 4, key: its offsets descend: from "),
        (["keys=string", "records=9", "send-batch=inner-nul"], {}, "record 0, key: a string has a NUL"),
        (["op=9"], {}, "MPI_D_Set_combine_op(): 9 is no operation"),
        (["op=1", "value-bytes=3"], {}, "MPI_D_Set_combine_op() is for values that are numbers"),
    ],
)
def test_mistakes_end_the_job_with_cause_and_remedy(
    run_records: Callable[..., Finished], options: List[str], env: Dict[str, str], named: str
) -> None:
    finished = run_records(*options, env=env, status=None)
    assert finished.status != 0
    message = next(line for line in finished.stderr.splitlines() if named in line)
    assert message.startswith("mpid: rank ")
    assert "\n  Remedy: " in finished.stderr


IN_O_TASK = r"O task [01], record \d+: "
IN_A_TASK = r"A task [01], record \d+: "
IN_THREAD = r"(sorting what goes to|merging what has come for) task \d+: "
# Where a process has no list to wait for, it sorts in its task.
PLACE = rf"({IN_O_TASK}|{IN_A_TASK}|{IN_THREAD})"
FUNCTION_ERRORS = {
    "throws=compare": IN_THREAD
    + r"the program's compare function, called with \d+ and 500, has thrown: as it was told",
    "throws=partition": IN_O_TASK
    + r"the program's partition function, called with key 500, has thrown: as it was told",
    "throws=combine": PLACE + r"the program's combine function, called with values of 500, has thrown: as it was told",
    "contradicts=less": IN_THREAD + r"the program's compare function contradicts itself about the keys \d+ and \d+: ",
    "contradicts=smaller": IN_THREAD
    + r"the program's compare function contradicts itself about the keys \d+ and \d+: ",
    "contradicts=circle": IN_THREAD + r"the program's compare function contradicts itself about the keys \d+ and \d+: ",
    "contradicts=random": IN_THREAD + r"the program's compare function contradicts itself about the keys \d+ and \d+: ",
    "contradicts=partition": r"O task [01], record 0: the partition function contradicts itself: called twice with the "
    r"key \d+ and the same value, it returned [01] and [01]",
}


@pytest.mark.parametrize("option", FUNCTION_ERRORS)
@pytest.mark.parametrize("memory", [{}, LITTLE_MEMORY])
def test_functions_that_throw_or_contradict_themselves_end_the_job(
    run_records: Callable[..., Finished], nothing_left_behind: None, memory: Dict[str, str], option: str
) -> None:
    finished = run_records(option, f"records={10 * RECORDS}", env=memory, status=None)
    assert finished.status != 0
    assert re.search(f"^mpid: rank [01] .*: {FUNCTION_ERRORS[option]}", finished.stderr, re.MULTILINE)
    assert "\n  Remedy: " in finished.stderr


def test_what_a_function_throws_in_a_task_is_said_with_its_record(run_records: Callable[..., Finished]) -> None:
    """Key 500 is that of record 500 of O task 0 with its like 1000 later, when it is combined."""
    env = {"MPI_D_O_TASKS": 1, "MPI_D_A_TASKS": 1}
    finished = run_records("throws=combine", "records=3000", processes=1, env=env, status=None)
    record = [key for key, _ in sent_records(1, 3000)].index("500") + 1000
    assert f"O task 0, record {record}: the program's combine function" in finished.stderr
    finished = run_records("throws=partition", "records=3000", processes=1, env=env, status=None)
    assert f"O task 0, record {record - 1000}: the program's partition function" in finished.stderr
    finished = run_records("partition=7", "records=3000", processes=1, env=env, status=None)
    assert "O task 0, record 0: the partition function returned 7" in finished.stderr


def test_compare_that_throws_where_an_a_task_merges_is_said_with_the_task(
    run_records: Callable[..., Finished],
) -> None:
    """Each O task has one record of the same key, so that only an A task compares."""
    env = {"MPI_D_O_TASKS": 2, "MPI_D_A_TASKS": 1}
    finished = run_records("throws=compare", "records=1", "distinct=1", "first=500", env=env, status=None)
    assert finished.status != 0
    assert re.search(
        f"^mpid: rank 0 .*: A task 0, record [01]: {FUNCTION_ERRORS['throws=compare'].removeprefix(IN_THREAD)}",
        finished.stderr,
        re.M,
    )


@pytest.mark.parametrize(
    "entry, named",
    [
        ("MPI_D_KEY_CLASS:int32", "class of keys (MPI_D_KEY_CLASS)"),
        ("MPI_D_VALUE_CLASS:bytes", "class of values (MPI_D_VALUE_CLASS)"),
        ("MPI_D_A_TASKS:3", "number of A tasks (MPI_D_A_TASKS)"),
    ],
)
def test_processes_that_differ_are_refused(run_records: Callable[..., Finished], entry: str, named: str) -> None:
    finished = run_records("own-mpi-init", f"differs={entry}", f"records={RECORDS}", status=None)
    assert finished.status != 0
    assert f": the processes do not have the same {named}\n  Remedy: " in finished.stderr


def test_a_disk_that_gets_full_ends_the_job_with_cause_and_remedy(
    run_records: Callable[..., Finished], build_dir: Path, nothing_left_behind: None, spill_dir: Path
) -> None:
    disk = {"LD_PRELOAD": build_dir / "lib/spillway/tests/full_disk.so", "SPILLWAY_TEST_DISK_BYTES": 1 << 20}
    env = dict(LITTLE_MEMORY, MPI_D_SPILL_DIR=spill_dir, **disk)
    finished = run_records("records=100000", "distinct=70001", env=env, status=None)
    assert finished.status != 0
    message = next(line for line in finished.stderr.splitlines() if "MiB more into the spill directory" in line)
    assert message.startswith("mpid: rank ") and str(spill_dir) in message
    assert "  Cause:  No space left on device." in finished.stderr
    assert "name a directory on a larger file system with MPI_D_SPILL_DIR." in finished.stderr


def test_damaged_storage_ends_the_job_with_cause_and_remedy(
    run_records: Callable[..., Finished], nothing_left_behind: None, spill_dir: Path
) -> None:
    env = dict(LITTLE_MEMORY, MPI_D_SPILL_DIR=spill_dir)
    finished = run_records("records=100000", f"damages-spill-in={spill_dir}", env=env, status=None)
    assert finished.status != 0
    message = next(line for line in finished.stderr.splitlines() if "read something else from the spill" in line)
    assert message.startswith("mpid: rank ") and str(spill_dir) in message
    assert "  Cause:  checksums differ; the device, its cable or driver, or the machine's memory." in finished.stderr
    assert "name a directory on another device with MPI_D_SPILL_DIR." in finished.stderr


def test_a_killed_process_ends_the_job(run_records: Callable[..., Finished], nothing_left_behind: None) -> None:
    assert run_records(f"records={RECORDS}", "killed-task=1", processes=3, status=None).status != 0


def test_numbers_are_grouped_by_their_bytes(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str
) -> None:
    """Of each of two O tasks."""
    finished = run(*plain_mpi(flavour, 2), key_value_program("number-keys"))
    lines = [line for line in finished.stderr.splitlines() if re.search(r": \d$", line)]
    assert sorted(lines) == ["-0: 2", "0: 4", "1.5: 2", "nan: 4"]
