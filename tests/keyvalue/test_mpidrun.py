"""mpidrun: starts key-value jobs with Spillway and without it, gives out O tasks, and says what has been done."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from records_oracle import check_parts, received_records, sent_records
from runner import Runner, outcome_within, status_within

pytestmark = pytest.mark.libraries_in_turn

RECORDS = 3000
WAYS = [["--plain"], ["--slots", 1, "--memory", "256M"]]
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}


@pytest.mark.parametrize("way", WAYS)
def test_every_task_is_given_out_once(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    words = [*way, "-n", 3, "-O", 10, "-A", 4, "-M", "mapreduce"]
    _, report = run_job(words, "generated-records", f"output={tmp_path / 'out'}", f"records={RECORDS}")
    check_parts(received_records(tmp_path / "out", 4), sent_records(10, RECORDS))
    assert (report["o_tasks_done"], report["a_tasks_done"], report["processes"]) == (10, 4, 3)
    assert report["emitted_records"] == report["shuffled_records"] == report["received_records"] == 10 * RECORDS
    assert report["emitted_bytes"] == 10 * RECORDS * 16
    assert report["spilled_bytes"] == 0 and report["exit_status"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_the_common_mode_starts_a_process_for_each_task(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    words = [*way, "-O", 2, "-A", 3, "-M", "common"]
    _, report = run_job(words, "generated-records", "common", f"output={tmp_path / 'out'}", f"records={RECORDS}")
    check_parts(received_records(tmp_path / "out", 3), sent_records(2, RECORDS))
    assert (report["processes"], report["o_tasks_done"], report["a_tasks_done"]) == (5, 2, 3)


@pytest.mark.parametrize("way", WAYS)
def test_what_does_not_fit_in_memory_is_spilled(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    words = [*way, "-n", 3, "-A", 3]
    options = [f"output={tmp_path / 'out'}", "records=100000", "distinct=70001"]
    _, report = run_job(words, "generated-records", *options, env=LITTLE_MEMORY)
    check_parts(received_records(tmp_path / "out", 3), sent_records(3, 100000, 70001))
    assert report["spilled_bytes"] > 2 << 20
    assert report["sent_bytes"] > 2 << 20


def test_combining_leaves_fewer_records_to_send(run_job: Callable, tmp_path: Path) -> None:
    options = [f"output={tmp_path / 'out'}", "records=20000", "combine"]
    _, report = run_job(["--plain", "-n", 1, "-O", 2], "generated-records", *options)
    assert report["emitted_records"] == 40000
    assert report["shuffled_records"] == 1000
    assert report["received_records"] == 1000


@pytest.mark.parametrize("memory", [{}, LITTLE_MEMORY])
@pytest.mark.parametrize("op, operation", [(1, sum), (2, min), (3, max)])
def test_a_key_whose_numbers_the_library_combines_comes_once(
    run_job: Callable, tmp_path: Path, memory: Dict[str, str], op: int, operation: Callable
) -> None:
    options = [f"output={tmp_path / 'out'}", "records=200000", "distinct=150001", f"op={op}"]
    _, report = run_job(["--plain", "-n", 2, "-A", 2], "generated-records", *options, env=memory)
    assert (report["spilled_bytes"] > 1 << 20) == bool(memory)
    assert report["received_records"] == 150001 < report["shuffled_records"]
    values: Dict[str, List[int]] = {}
    for key, value in sent_records(2, 200000, 150001):
        values.setdefault(key, []).append(value)
    check_parts(received_records(tmp_path / "out", 2), [(key, operation(found)) for key, found in values.items()])


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_process_ends_the_job(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    options = [f"output={tmp_path / 'out'}", f"records={RECORDS}", "killed-task=3"]
    finished, report = run_job([*way, "-n", 2, "-O", 4], "generated-records", *options, status=None)
    assert finished.status != 0
    assert report["exit_status"] == finished.status


@pytest.mark.parametrize("processes", [1, 2])
def test_job_whose_program_ends_too_early_has_not_ended_well(
    run_job: Callable, flavour: str, tmp_path: Path, nothing_left_behind: None, processes: int
) -> None:
    options = [f"output={tmp_path / 'out'}", f"records={RECORDS}", "exits-in=1"]
    finished, report = run_job(["--plain", "-n", processes, "-O", 2], "generated-records", *options, status=None)
    assert finished.status != 0 and report["exit_status"] == finished.status
    if flavour == "mpich":  # whose launcher says nothing
        assert "mpidrun: the program has ended without MPI_D_Finalize(), and its job is not done\n" in finished.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "option, named",
    [
        ("throws=compare", "the program's compare function, called with "),
        ("throws=combine", "the program's combine function, called with values of 500, has thrown: as it was told"),
        ("throws=partition", ", record 500: the program's partition function, called with key 500, has thrown: "),
        ("contradicts=circle", "the program's compare function contradicts itself about the keys "),
        ("contradicts=partition", ", record 0: the partition function contradicts itself: "),
    ],
)
def test_functions_that_throw_or_contradict_themselves_end_the_job(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], option: str, named: str
) -> None:
    """Also where it may be started again."""
    checkpoint = ["--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    options = [f"output={tmp_path / 'out'}", f"records={RECORDS}", option]
    words = [*way, *checkpoint, "-n", 1, "-O", 1, "-A", 2]
    finished, report = run_job(words, "generated-records", *options, status=None, env=LITTLE_MEMORY)
    assert finished.status != 0 and report["exit_status"] == finished.status
    assert named in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr  # it would not help


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_ends_the_job(
    run: Runner,
    mpidrun: Path,
    key_value_program: Callable,
    spill_dir: Path,
    tmp_path: Path,
    nothing_left_behind: None,
    way: List[object],
) -> None:
    options = ["-n", 2, "--spill-dir", spill_dir, "--progress", "json"]
    program = [key_value_program("generated-records"), f"output={tmp_path / 'out'}", "records=1000000000", "combine"]
    process = run.start([mpidrun, *way, *options, *program])
    assert process.stderr is not None and json.loads(process.stderr.readline())["o_tasks"] == 2
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGTERM)
    outcome_within(process, 20)
    assert process.returncode != 0


def test_progress_is_lines_of_json_on_demand(run_job: Callable, tmp_path: Path) -> None:
    options = [f"output={tmp_path / 'out'}", "records=10000000", "combine"]
    finished, _ = run_job(["--plain", "-n", 1, "-O", 4, "--progress", "json"], "generated-records", *options)
    lines = [json.loads(line) for line in finished.stderr.splitlines() if line.startswith("{")]
    assert lines
    counts = [line["emitted_records"] for line in lines]
    assert counts == sorted(counts) and counts[-1] == 40000000
    for line in lines:
        assert line["records_per_s"] == pytest.approx(line["emitted_records"] / line["elapsed_s"], rel=0.05)
        done = line["o_tasks_done"] + line["a_tasks_done"]
        left = None if done == 0 else pytest.approx(line["elapsed_s"] * (5 - done) / done, rel=0.05)
        assert line["left_s"] == left


def test_progress_is_a_line_on_a_terminal(
    mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path
) -> None:
    terminal, of_the_job = pty.openpty()
    words = [mpidrun, "--plain", "-n", 1, "-O", 4, "-A", 2, "--spill-dir", spill_dir, "--summary", "none"]
    program = [key_value_program("generated-records"), f"output={tmp_path / 'out'}", "records=10000000", "combine"]
    with subprocess.Popen([*map(str, words + program)], stderr=of_the_job, stdin=subprocess.DEVNULL) as process:
        os.close(of_the_job)
        shown = b""
        with suppress(OSError):  # the job has closed it
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    assert process.returncode == 0
    lines = re.findall(
        rb"\r\[([#.]{24})\] O (\d)/4  A (\d)/2  \d+[kM]? records/s  [\d.]+ [KMG]iB(  \d+ s left)?\x1b\[K", shown
    )
    assert lines
    for cells, o_done, a_done, left in lines:
        done = int(o_done) + int(a_done)
        assert cells == b"#" * (24 * done // 6) + b"." * (24 - 24 * done // 6) and bool(left) == (done > 0)
    assert shown.endswith(b"\r\x1b[K")  # and is gone in the end


@pytest.mark.parametrize("is_failing", [False, True], ids=["well", "started_again"])
def test_nobody_has_to_read_what_it_says(
    run: Runner, mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path, is_failing: bool
) -> None:
    report = tmp_path / "report"
    words = [mpidrun, "--plain", "-n", 1, "-O", 4, "--progress", "bar", "--summary", "json", "--summary-file", report]
    program = [key_value_program("generated-records"), f"output={tmp_path / 'out'}", "records=2000000", "combine"]
    if is_failing:
        words += ["--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
        program += [f"tasks={tmp_path / 'tasks'}", "killed-at=o3"]
    process = run.start([*words, "--spill-dir", spill_dir, *program])
    assert process.stderr is not None and process.stderr.read(1) == "\n"  # as it reads \r
    process.stderr.close()
    assert status_within(process, 60) == 0
    assert json.loads(report.read_text())["key_value"]["exit_status"] == 0


def test_the_report_is_a_page_unless_it_is_to_be_json(
    run: Runner, mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path
) -> None:
    options = [f"output={tmp_path / 'out'}", f"records={RECORDS}"]
    words = [mpidrun, "-n", 2, "--slots", 2, "--memory", "256M", "--spill-dir", spill_dir]
    stderr = run(*words, key_value_program("generated-records"), *options).stderr
    assert "── key-value job, mapreduce: 2 processes, ended well after " in stderr
    assert "O tasks   2 of 2 in " in stderr and "6 000 emitted" in stderr
    assert "── Spillway: " in stderr


@pytest.mark.parametrize(
    "options, named",
    [
        (["-M", "quick"], "-M quick: no such mode"),
        (["-O", "0"], "-O 0: must be 1 or more"),
        (["-O", "many"], "`many` is not a whole number"),
        (["-M", "common", "-O", "2", "-A", "2", "-n", "3"], "-n 3: in the common mode each of 2 O and 2 A tasks"),
        (["-M", "common", "-n", "1"], "-n 1: in the common mode"),
        (["--plain", "--slots", "2"], "--slots means nothing with --plain"),
        (["-f", "hosts", "--hostfile", "hosts"], "-f and --hostfile say the same thing"),
        (["-f", "/no/such/file"], "/no/such/file: No such file"),
        (["--no-such-option"], "unknown option --no-such-option"),
        (["--progress", "loud"], "--progress"),
    ],
)
def test_wrong_options_are_named(run: Runner, mpidrun: Path, options: List[str], named: str) -> None:
    stderr = run(mpidrun, *options, "/bin/true", status=2).stderr
    assert stderr.startswith("mpidrun: ") and named in stderr
    assert "\n  Remedy: " in stderr


def test_a_program_is_needed_and_help_is_given(run: Runner, mpidrun: Path) -> None:
    assert "no program to run" in run(mpidrun, "-n", 2, status=2).stderr
    assert "mpidrun -O n -A m -M mode" in run(mpidrun, "--help").stdout


@pytest.mark.parametrize(("said", "is_"), [("common", "mapreduce"), ("mapreduce", "common")])
def test_a_program_of_another_mode_is_refused(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, said: str, is_: str
) -> None:
    options = [f"output={tmp_path / 'out'}", f"records={RECORDS}", *(["common"] if is_ == "common" else [])]
    finished, _ = run_job(
        ["--plain", "-n", 2, "-O", 1, "-A", 1, "-M", said], "generated-records", *options, status=None
    )
    assert finished.status != 0
    assert f"-M says {said}, but the program calls MPI_D_Init() for the mode {is_}; say -M {is_}" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_the_build_may_be_moved(run: Runner, build_dir: Path, tmp_path: Path) -> None:
    copy = tmp_path / "moved"
    (copy / "lib" / "spillway").mkdir(parents=True)
    shutil.copytree(build_dir / "lib" / "spillway" / "python", copy / "lib" / "spillway" / "python")
    (copy / "bin").mkdir()
    shutil.copy(build_dir / "bin" / "mpidrun", copy / "bin")
    assert "mpidrun -O n -A m -M mode" in run(copy / "bin" / "mpidrun", "--help").stdout
