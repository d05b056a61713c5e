"""A job that was started again goes on: what was complete is not run again, and the output is the same."""

import fcntl
import json
import os
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Tuple

import pytest
from cases import in_turns
from records_oracle import check_parts, combined, received_records, sent_records
from runner import Finished, Runner
from test_iteration import expected_lines

pytestmark = pytest.mark.libraries_in_turn

RECORDS = 2000
RECORD_BYTES = 18
O_TASKS, A_TASKS = 12, 5
EACH_TASK = {"MPI_D_CHECKPOINT_INTERVAL": "1us"}  # completed after each O task
WAYS = [[], ["--plain"]]


def tasks_of(path: Path) -> Dict[str, int]:
    """How often each task was begun."""
    return Counter(path.read_text().split())


def flip_last_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def flip_middle_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


DAMAGE = [flip_last_byte, flip_middle_byte, cut_off, empty]


@pytest.fixture
def run_with_checkpoint(run_job: Callable, tmp_path: Path) -> Callable[..., Tuple[Finished, Dict]]:
    """run_with_checkpoint(options, *words, status=, env=): generated-records of 12 O and 5 A tasks on 2 processes."""

    def run_it(
        options: List[object],
        *words: object,
        status: int = 0,
        codec: str = "none",
        env: Mapping[str, object] = EACH_TASK,
    ) -> Tuple[Finished, Dict]:
        job = ["-n", 2, "-O", O_TASKS, "-A", A_TASKS, "--checkpoint", tmp_path / "checkpoint", *options]
        words = (f"records={RECORDS}", f"output={tmp_path / 'out'}", f"tasks={tmp_path / 'tasks'}", *words)
        variables = {**EACH_TASK, **env, "MPI_D_OUTPUT_CODEC": codec}
        return run_job(job, "generated-records", *words, status=status, env=variables)

    return run_it


def check_output(tmp_path: Path) -> None:
    check_parts(received_records(tmp_path / "out", A_TASKS), sent_records(O_TASKS, RECORDS))


@pytest.mark.parametrize("way", WAYS, ids=["spillway", "plain"])
def test_o_tasks_that_were_complete_are_not_run_again(
    run_with_checkpoint: Callable, tmp_path: Path, nothing_left_behind: None, way: List[str]
) -> None:
    finished, report = run_with_checkpoint([*way, "--restarts", 1], "killed-at=o7")
    check_output(tmp_path)
    begun = tasks_of(tmp_path / "tasks")
    assert begun["o7"] == 2
    assert sum(count for task, count in begun.items() if task[0] == "o") <= O_TASKS + 2  # one of each process
    assert report["o_tasks_done"] < O_TASKS
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
    assert list((tmp_path / "checkpoint").iterdir()) == []


@pytest.mark.parametrize("way", WAYS, ids=["spillway", "plain"])
def test_a_tasks_that_were_complete_are_not_run_again(
    run_with_checkpoint: Callable, tmp_path: Path, nothing_left_behind: None, way: List[str]
) -> None:
    run_with_checkpoint([*way, "--restarts", 1], "killed-at=a4")
    check_output(tmp_path)
    begun = tasks_of(tmp_path / "tasks")
    assert all(begun[f"o{task}"] == 1 for task in range(O_TASKS))
    assert [begun[f"a{task}"] for task in range(A_TASKS)] == [1, 1, 1, 1, 2]


def test_progress_and_report_of_a_restart_count_what_was_restored(run_job: Callable, tmp_path: Path) -> None:
    job = ["-n", 1, "-O", O_TASKS, "-A", A_TASKS, "--plain", "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    words = ["records=400000", "distinct=400000", f"output={tmp_path / 'out'}", f"tasks={tmp_path / 'tasks'}"]
    begin = time.monotonic()
    finished, report = run_job(
        [*job, "--progress", "json"], "generated-records", *words, "killed-at=o11", env=EACH_TASK
    )
    wall_s = time.monotonic() - begin
    before, _, after = finished.stderr.partition("goes on from its checkpoint")
    first, second = ([json.loads(line) for line in text.splitlines() if line[:1] == "{"] for text in (before, after))
    assert first and second
    last = second[-1]
    assert last["o_tasks_restored"] == report["o_tasks_restored"] >= O_TASKS - 2
    assert last["o_tasks_done"] + last["o_tasks_restored"] == last["o_tasks"] == O_TASKS
    assert report["o_tasks_done"] + report["o_tasks_restored"] == O_TASKS
    assert first[-1]["elapsed_s"] + last["elapsed_s"] < wall_s and report["seconds"] > last["elapsed_s"]
    for line in first + second:
        assert line["records_per_s"] == pytest.approx(line["emitted_records"] / line["elapsed_s"], rel=0.05)
        done = line["o_tasks_done"] + line["a_tasks_done"]
        left = O_TASKS - line["o_tasks_restored"] + A_TASKS - done
        assert line["left_s"] == (pytest.approx(line["elapsed_s"] * left / done, rel=0.05) if done else None)


def test_page_of_a_restart_counts_what_was_restored(
    run: Runner, mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path
) -> None:
    words = ["-n", 1, "-O", O_TASKS, "-A", 1, "--plain", "--restarts", 1, "--checkpoint", tmp_path / "checkpoint"]
    program = [key_value_program("generated-records"), "records=10", f"output={tmp_path / 'out'}"]
    program += [f"tasks={tmp_path / 'tasks'}", "killed-at=o11"]
    stderr = run(mpidrun, *words, "--spill-dir", spill_dir, *program, env=EACH_TASK).stderr
    page = re.search(rf"  O tasks   {O_TASKS} of {O_TASKS} in [\d.]+ s, (\d+) of them by an earlier start\n", stderr)
    assert page and O_TASKS - 2 <= int(page[1]) < O_TASKS, stderr


def test_a_tasks_that_were_restored_count_as_done(
    run: Runner, mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path
) -> None:
    words = ["-n", 1, "-O", 2, "-A", A_TASKS, "--plain", "--restarts", 1, "--checkpoint", tmp_path / "checkpoint"]
    program = [key_value_program("generated-records"), f"records={RECORDS}", f"output={tmp_path / 'out'}"]
    program += [f"tasks={tmp_path / 'tasks'}", "killed-at=a3"]
    report = tmp_path / "report"
    for style in (["text"], ["json", "--summary-file", report]):
        stderr = run(mpidrun, *words, "--spill-dir", spill_dir, "--summary", *style, *program).stderr
        (tmp_path / "tasks.killed").unlink()
        (tmp_path / "tasks").unlink()
        if style == ["text"]:
            assert re.search(r"  A tasks   5 of 5 in [\d.]+ s, 3 of them by an earlier start\n", stderr), stderr
    done = json.loads(report.read_text())["key_value"]
    assert (done["a_tasks_restored"], done["a_tasks_done"], done["o_tasks_restored"]) == (3, A_TASKS - 3, 2)


def test_job_may_be_started_again_by_hand_and_with_other_processes(
    run_with_checkpoint: Callable, tmp_path: Path
) -> None:
    finished, _ = run_with_checkpoint([], "killed-at=o9", status=None)
    assert finished.status != 0
    run_with_checkpoint(["-n", 3], "killed-at=o9")
    check_output(tmp_path)
    assert tasks_of(tmp_path / "tasks")["o0"] == 1


@pytest.mark.parametrize(
    "killed_at, processes, memory", [("o9", 3, "1M"), ("o11", 1, ""), ("a3", 2, "1M"), ("a1", 4, "")]
)
def test_long_blocks_are_read_where_they_are(
    run_with_checkpoint: Callable,
    tmp_path: Path,
    nothing_left_behind: None,
    killed_at: str,
    processes: int,
    memory: str,
) -> None:
    records = 30_000  # 105 KiB from each O task for each A task
    words = [f"killed-at={killed_at}", f"records={records}"]
    run_with_checkpoint([], *words, status=None)
    begun = tasks_of(tmp_path / "tasks")
    _, report = run_with_checkpoint(["-n", processes], *words, env={"MPI_D_MEMORY": memory} if memory else {})
    check_parts(received_records(tmp_path / "out", A_TASKS), sent_records(O_TASKS, records))
    restored = sum(count for task, count in (tasks_of(tmp_path / "tasks") - begun).items() if task[0] == "o")
    assert restored == report["o_tasks_done"] <= O_TASKS - (O_TASKS if killed_at[0] == "a" else 8)
    assert memory or report["spilled_bytes"] == 0
    assert report["sent_bytes"] < (report["o_tasks_done"] + 1) * records * RECORD_BYTES


@pytest.mark.parametrize("function", ["combine", "op=1"])
@pytest.mark.parametrize("killed_at", ["o9", "a3"])
def test_long_blocks_are_combined_where_they_are_merged(
    run_with_checkpoint: Callable, tmp_path: Path, killed_at: str, function: str
) -> None:
    """Each O task has sent each key once, so that nothing but a merge of kept runs has values to combine."""
    records = 30_000
    words = [function, f"killed-at={killed_at}", f"records={records}", f"distinct={records}"]
    run_with_checkpoint([], *words, status=None)
    begun = tasks_of(tmp_path / "tasks")
    files = list((tmp_path / "checkpoint").glob("spillway-o-*[0-9]"))
    assert sum(path.stat().st_size for path in files) > 8 * A_TASKS * (64 << 10)
    _, report = run_with_checkpoint([], *words)
    sent = combined(sent_records(O_TASKS, records, records))
    check_parts(received_records(tmp_path / "out", A_TASKS), sent)
    restored = sum(count for task, count in (tasks_of(tmp_path / "tasks") - begun).items() if task[0] == "o")
    assert restored == report["o_tasks_done"] <= (O_TASKS - 8 if killed_at[0] == "o" else 0)
    assert report["sent_bytes"] < (report["o_tasks_done"] + 1) * records * RECORD_BYTES


def test_plain_launcher_needs_no_mpidrun(
    run_records: Callable[..., Finished], tmp_path: Path, nothing_left_behind: None
) -> None:
    env = {**EACH_TASK, "MPI_D_CHECKPOINT": tmp_path / "checkpoint", "MPI_D_O_TASKS": O_TASKS, "MPI_D_A_TASKS": A_TASKS}
    words = [f"records={RECORDS}", f"tasks={tmp_path / 'tasks'}", "killed-at=o10"]
    run_records(*words, env=env, status=None)
    run_records(*words, env=env)
    check_output(tmp_path)
    assert tasks_of(tmp_path / "tasks")["o0"] == 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_noticed_and_their_tasks_run_again(
    run_with_checkpoint: Callable, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    run_with_checkpoint([], "killed-at=o11", status=None)
    files = sorted((tmp_path / "checkpoint").glob("spillway-o-*[0-9]"))
    assert len(files) > 5
    for path in files[:3]:
        damage(path)
    finished, report = run_with_checkpoint([], "killed-at=o11")
    check_output(tmp_path)
    assert finished.stderr.count("is damaged, and is not used") == 3
    assert report["o_tasks_done"] >= 3


def names_in(folder: Path) -> List[str]:
    """Without what nobody completed."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".partial")


def check_is_refused(finished: Finished, path: Path) -> None:
    assert finished.status != 0 and f"{path}: Input/output error\n  Remedy: " in finished.stderr, finished.report()
    assert "rank " in finished.stderr and "is not used" not in finished.stderr


@pytest.fixture
def check_goes_on_after_failed_reads(run_with_checkpoint: Callable, tmp_path: Path, reads_fail: Callable) -> Callable:
    """check_goes_on_after_failed_reads(path): a start that cannot read it is refused, and the next one goes on."""

    def check(path: Path) -> None:
        before = names_in(tmp_path / "checkpoint")
        finished, _ = run_with_checkpoint([], "killed-at=a2", status=None, env=reads_fail(path.name))
        check_is_refused(finished, path)
        assert names_in(tmp_path / "checkpoint") == before
        run_with_checkpoint([], "killed-at=a2")
        check_output(tmp_path)
        assert tasks_of(tmp_path / "tasks")["a0"] == 1

    return check


@pytest.mark.parametrize("name", ["spillway-o-*-1", "spillway-a-0"])
def test_file_that_cannot_be_read_is_not_taken_for_damaged(
    run_with_checkpoint: Callable,
    tmp_path: Path,
    check_goes_on_after_failed_reads: Callable,
    nothing_left_behind: None,
    name: str,
) -> None:
    run_with_checkpoint([], "killed-at=a2", status=None)
    check_goes_on_after_failed_reads(next((tmp_path / "checkpoint").glob(name)))


def test_part_that_cannot_be_looked_at_is_not_taken_for_lost(
    run_with_checkpoint: Callable,
    tmp_path: Path,
    check_goes_on_after_failed_reads: Callable,
    nothing_left_behind: None,
) -> None:
    run_with_checkpoint([], "killed-at=a2", status=None)
    path = tmp_path / "out" / "part-00000.whole.partial"
    assert path.is_file()
    check_goes_on_after_failed_reads(path)


@pytest.mark.parametrize("other", [["records=7"], ["-O", 13], ["-A", 4]])
def test_checkpoint_of_another_job_is_refused(
    run_with_checkpoint: Callable, tmp_path: Path, nothing_left_behind: None, other: List[object]
) -> None:
    run_with_checkpoint([], "killed-at=o7", status=None)
    before = sorted((tmp_path / "checkpoint").glob("*[0-9]"))
    options, words = (other, ["killed-at=o7"]) if other[0] in ("-O", "-A") else ([], [*other, "killed-at=o7"])
    finished, _ = run_with_checkpoint(options, *words, status=1)
    assert "is of another job" in finished.stderr
    assert sorted((tmp_path / "checkpoint").glob("*[0-9]")) == before != []


def test_checkpoint_of_parts_with_another_codec_is_refused(run_with_checkpoint: Callable) -> None:
    run_with_checkpoint([], "killed-at=o7", status=None)
    finished, _ = run_with_checkpoint([], "killed-at=o7", status=1, codec="zstd")
    assert "or of one with other input, numbers of tasks or MPI_D_OUTPUT_CODEC" in finished.stderr


def test_directory_of_a_job_that_runs_is_refused(run_with_checkpoint: Callable, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    with open(tmp_path / "checkpoint" / "spillway-lock", "w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        finished, _ = run_with_checkpoint([], status=1)
    assert "is in use by a job that runs" in finished.stderr


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "of_another"])
def test_lock_of_a_start_that_was_lost_is_waited_for(
    run_records: Callable[..., Finished], tmp_path: Path, nothing_left_behind: None, is_own: bool
) -> None:
    """As servers of network file systems keep it for a while."""
    env = {"MPI_D_CHECKPOINT": tmp_path / "checkpoint", "MPI_D_CHECKPOINT_TOKEN": "07" * 16}
    env.update(MPI_D_O_TASKS=O_TASKS, MPI_D_A_TASKS=A_TASKS)
    (tmp_path / "checkpoint").mkdir()
    with open(tmp_path / "checkpoint" / "spillway-lock", "w") as held:
        held.write("07" * 16 if is_own else "08" * 16)
        held.flush()
        fcntl.lockf(held, fcntl.LOCK_EX)
        release = threading.Timer(3, fcntl.lockf, [held, fcntl.LOCK_UN])
        release.start()
        finished = run_records(f"records={RECORDS}", env=env, status=0 if is_own else None)
        release.join()
    assert ("waiting until" in finished.stderr) == is_own
    if is_own:
        assert finished.wall_s > 2.5
        check_output(tmp_path)
    else:
        assert finished.status != 0 and "is in use by a job that runs" in finished.stderr


def test_all_starts_have_one_token_and_leave_it_in_the_lock(run_with_checkpoint: Callable, tmp_path: Path) -> None:
    lock, tokens = tmp_path / "checkpoint" / "spillway-lock", set()
    for _ in range(2):
        (tmp_path / "tasks.killed").unlink(missing_ok=True)
        seen: List[str] = []
        is_over = threading.Event()

        def look(seen: List[str] = seen, is_over: threading.Event = is_over) -> None:
            """Between the starts, too."""
            while not is_over.wait(0.005):
                with suppress(OSError):
                    seen.append(lock.read_text())

        looking = threading.Thread(target=look)
        looking.start()
        finished, _ = run_with_checkpoint(["--plain", "--restarts", 1], "killed-at=o7")
        is_over.set()
        looking.join()
        assert "restart 1 of 1" in finished.stderr
        assert len(set(filter(None, seen))) == 1
        tokens.update(filter(None, seen))
    assert len(tokens) == 2 and all(re.fullmatch("[0-9a-f]{32}", token) for token in tokens)


def test_checkpoint_of_the_environment_is_of_a_command_too(run_job: Callable, tmp_path: Path) -> None:
    job = ["-n", 2, "-O", O_TASKS, "-A", A_TASKS]
    env = {**EACH_TASK, "MPI_D_CHECKPOINT": tmp_path / "checkpoint"}
    words = [f"output={tmp_path / 'out'}", f"tasks={tmp_path / 'tasks'}", "killed-at=o7"]
    run_job(job, "generated-records", "records=100", *words, status=None, env=env)
    finished, _ = run_job([*job, "--restarts", 3], "generated-records", "records=7", *words, status=1, env=env)
    assert "is of another job" in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr  # it would not help


@pytest.mark.parametrize(
    "options, env, named",
    [
        (["keys=text"], {}, "MPI_D_KEY_CLASS: 'text' is not string"),
        ([], {"MPI_D_MEMORY": "much"}, "MPI_D_MEMORY: 'much' is not a size"),
        ([], {"MPI_D_OUTPUT_CODEC": "zip"}, "MPI_D_OUTPUT_CODEC: 'zip' is not none"),
        (["own-mpi-init", "differs=NO_SUCH:KEY"], {}, "the configuration has an unknown key NO_SUCH"),
        (["own-mpi-init", "differs=MPI_D_KEY_CLASS:int32"], {}, "the processes do not have the same class of keys"),
    ],
)
def test_job_whose_configuration_is_refused_is_not_started_again(
    run_job: Callable, tmp_path: Path, options: List[str], env: Dict[str, str], named: str
) -> None:
    job = ["-n", 2, "--plain", "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    finished, _ = run_job(job, "generated-records", f"output={tmp_path / 'out'}", *options, status=None, env=env)
    assert finished.status != 0 and named in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr  # it would not help


def test_there_may_be_more_files_than_a_process_may_open(
    run: Runner, mpidrun: Path, key_value_program: Callable, tmp_path: Path
) -> None:
    program = key_value_program("generated-records")
    words = ["-n", 1, "-O", 150, "-A", 1, "--plain", "--restarts", 1, "--checkpoint", tmp_path / "checkpoint", program]
    words += ["records=10", f"output={tmp_path / 'out'}", f"tasks={tmp_path / 'tasks'}", "killed-at=o140"]
    command = " ".join(map(str, [mpidrun, *words]))
    run("bash", "-c", f"ulimit -Hn 100; {command}", status=0, timeout_s=60, env=EACH_TASK)
    check_parts(received_records(tmp_path / "out", 1), sent_records(150, 10))
    assert tasks_of(tmp_path / "tasks")["o0"] == 1


def test_records_of_a_task_are_not_taken_twice(run_with_checkpoint: Callable, tmp_path: Path) -> None:
    run_with_checkpoint([], "killed-at=o7", status=None)
    one = next((tmp_path / "checkpoint").glob("spillway-o-*[0-9]"))
    (tmp_path / "checkpoint" / "spillway-o-7-7-7").write_bytes(one.read_bytes())
    finished, _ = run_with_checkpoint([], "killed-at=o7", status=1)
    assert "more than once: two jobs have used it" in finished.stderr


def test_full_disk_ends_the_job_and_is_not_filled_by_what_is_left(
    run_job: Callable, tmp_path: Path, end_at_call: Callable
) -> None:
    job = ["-M", "iteration", "-n", 1, "--plain", "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    env = {**end_at_call(0), "DISK_IS_FULL": "yes"}
    finished, _ = run_job(job, "iterated-sums", 300, 3, "combine", env=env, status=1)
    assert "spillway-round-0-0.partial: No space left on device" in finished.stderr
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["spillway-lock"]


def test_files_of_others_are_left_alone(run_with_checkpoint: Callable, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    for name in ("spillway-summary.json", "spillway-o-notes", "spillway-round-3-4-5"):
        (tmp_path / "checkpoint" / name).write_text("mine")
    (tmp_path / "checkpoint" / "spillway-build").mkdir()
    run_with_checkpoint(["--restarts", 1], "killed-at=o3")
    left = sorted(path.name for path in (tmp_path / "checkpoint").iterdir())
    assert left == ["spillway-build", "spillway-o-notes", "spillway-round-3-4-5", "spillway-summary.json"]


@pytest.mark.parametrize(
    "options, message",
    [
        (["--restarts", 1], "--restarts without --checkpoint"),
        (["--checkpoint", "x", "--restarts", -1], "--restarts -1: must be 0 or more"),
        (["--checkpoint", "/proc/no/such"], "cannot make the directory /proc/no/such"),
        (["--checkpoint", "x", "-M", "streaming"], "there are none in the streaming mode"),
        (["--checkpoint", "x", "-M", "common"], "there are none in the common mode"),
    ],
)
def test_wrong_options_are_refused(run_job: Callable, options: List[object], message: str) -> None:
    finished, _ = run_job(["-n", 2, *options], "generated-records", "output=x", status=None)
    assert finished.status in (1, 2)
    assert message in finished.stderr


@pytest.fixture
def iterate_with_checkpoint(run_job: Callable, tmp_path: Path) -> Callable[..., Tuple[Finished, Dict]]:
    """iterate_with_checkpoint(options, failing_round, status=, env=): 8 rounds, of which one fails once."""

    def run_it(
        options: List[object], failing_round: int, status: int = 0, env: Optional[Mapping[str, object]] = None
    ) -> Tuple[Finished, Dict]:
        job = ["-M", "iteration", "-O", 6, "-A", 5, "-n", 3, "--checkpoint", tmp_path / "checkpoint", *options]
        words = [3000, 8, "combine", failing_round, tmp_path / "has-failed"]
        return run_job(job, "iterated-sums", *words, status=status, env=env)

    return run_it


@pytest.mark.parametrize("way", WAYS, ids=["spillway", "plain"])
@pytest.mark.parametrize("failing_round", [0, 1, 5])
def test_rounds_that_were_complete_are_not_run_again(
    iterate_with_checkpoint: Callable, tmp_path: Path, nothing_left_behind: None, way: List[str], failing_round: int
) -> None:
    finished, report = iterate_with_checkpoint([*way, "--restarts", 1], failing_round)
    lines = expected_lines(3000, 8)
    restored = lines[failing_round - 1 : failing_round] if failing_round > 0 else []  # the driver sees it again
    assert finished.stdout.splitlines() == lines[:failing_round] + restored + lines[failing_round:]
    assert report["a_tasks_done"] == 5 * (8 - failing_round)
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_rounds_go_on_with_other_processes(iterate_with_checkpoint: Callable) -> None:
    iterate_with_checkpoint([], 4, status=1)
    finished, _ = iterate_with_checkpoint(["-n", 2], 4)
    assert finished.stdout.splitlines() == expected_lines(3000, 8)[3:]


@pytest.mark.parametrize("damage, name", in_turns(DAMAGE, ["spillway-round-4-1", "spillway-round-4-done"]))
def test_round_before_a_damaged_one_is_used(
    iterate_with_checkpoint: Callable, tmp_path: Path, damage: Callable[[Path], None], name: str
) -> None:
    iterate_with_checkpoint([], 5, status=1)
    damage(tmp_path / "checkpoint" / name)
    finished, _ = iterate_with_checkpoint([], 5)
    assert finished.stdout.splitlines() == expected_lines(3000, 8)[3:]
    assert f"{name} is damaged, and is not used" in finished.stderr


@pytest.mark.parametrize("name", ["spillway-round-4-1", "spillway-round-4-done"])
def test_round_that_cannot_be_read_is_not_taken_for_damaged(
    iterate_with_checkpoint: Callable, tmp_path: Path, reads_fail: Callable, nothing_left_behind: None, name: str
) -> None:
    iterate_with_checkpoint([], 5, status=1)
    before = names_in(tmp_path / "checkpoint")
    finished, _ = iterate_with_checkpoint([], 5, status=None, env=reads_fail(name))
    check_is_refused(finished, tmp_path / "checkpoint" / name)
    assert names_in(tmp_path / "checkpoint") == before
    finished, _ = iterate_with_checkpoint([], 5)
    assert finished.stdout.splitlines() == expected_lines(3000, 8)[4:]


def test_rounds_of_two_starts_are_not_mixed(run_job: Callable, tmp_path: Path, end_at_call: Callable) -> None:
    """Round 4 was complete, was damaged, and is under way again when the job fails: its old files do not count."""
    checkpoint = tmp_path / "checkpoint"
    job = ["-M", "iteration", "-O", 6, "-A", 5, "--checkpoint", checkpoint, "--plain", "-n"]
    words = [3000, 8, "combine", 5, tmp_path / "has-failed"]
    run_job([*job, 3], "iterated-sums", *words, status=None)
    flip_middle_byte(checkpoint / "spillway-round-4-0")
    at_its_rename = end_at_call(3, rank=1)  # after an unlink and an fdatasync
    run_job([*job, 2], "iterated-sums", *words, status=None, env=at_its_rename)
    assert (tmp_path / "has-ended").exists()
    assert not (checkpoint / "spillway-round-4-done").exists()
    finished, _ = run_job([*job, 3], "iterated-sums", *words)
    assert finished.stdout.splitlines() == expected_lines(3000, 8)[3:]


def check_end(finished: Finished, tmp_path: Path) -> None:
    """A process that is killed when all have done their work does not make them do it again, but is told of."""
    was_started_again = "goes on from its checkpoint" in finished.stderr
    has_ended = (tmp_path / "has-ended").exists()
    assert (finished.status != 0) == (has_ended and not was_started_again), finished.report()


@pytest.mark.parametrize("call", range(1, 40, 5))
def test_job_may_be_killed_at_any_point_of_a_commit(
    run_job: Callable, tmp_path: Path, end_at_call: Callable, call: int
) -> None:
    job = ["-M", "iteration", "-O", 6, "-A", 5, "-n", 2, "--checkpoint", tmp_path / "checkpoint", "--plain"]
    finished, _ = run_job(
        [*job, "--restarts", 1], "iterated-sums", 500, 6, "combine", env=end_at_call(call), status=None
    )
    check_end(finished, tmp_path)
    lines = [line for line in finished.stdout.splitlines() if line.startswith("round")]  # not MPICH's
    expected = expected_lines(500, 6)
    assert lines[-1] == expected[-1]
    assert set(lines) == set(expected)


@pytest.mark.parametrize("call", range(1, 50, 7))
def test_tasks_may_be_killed_at_any_point_of_a_commit(
    run_job: Callable, tmp_path: Path, end_at_call: Callable, call: int
) -> None:
    job = ["-n", 2, "-O", O_TASKS, "-A", A_TASKS, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1, "--plain"]
    words = [f"records={RECORDS}", f"output={tmp_path / 'out'}"]
    finished, _ = run_job(job, "generated-records", *words, env={**EACH_TASK, **end_at_call(call)}, status=None)
    check_end(finished, tmp_path)
    check_output(tmp_path)
