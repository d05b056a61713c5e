"""Rounds, streams and checkpoints of key-value jobs in Python."""

import re
from collections import Counter
from pathlib import Path
from typing import Callable

import pytest
from test_iteration import expected_lines
from test_text_jobs import lines_of

pytestmark = pytest.mark.libraries_in_turn

PROGRAMS = Path(__file__).with_name("python")
ITERATION = ["-M", "iteration"]
STREAMING = ["-M", "streaming"]


def test_rounds_give_what_they_give_in_memory(run_python: Callable) -> None:
    """There are more keys than Send() gathers."""
    for way in (["--plain", "-n", 3, "-O", 7, "-A", 4], ["--slots", 1, "-n", 2]):
        finished = run_python([*ITERATION, *way], PROGRAMS / "iterated_sums.py", 9000, 4)
        assert finished.stdout.splitlines() == expected_lines(9000, 4)


def test_rounds_that_were_complete_are_not_run_again(run_python: Callable, tmp_path: Path) -> None:
    options = [*ITERATION, "-n", 2, "-O", 4, "-A", 3, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    words = [PROGRAMS / "iterated_sums.py", 300, 6, 3, tmp_path / "has-failed"]
    finished = run_python(options, *words)
    lines = expected_lines(300, 6)
    assert finished.stdout.splitlines() == lines[:3] + lines[2:]  # the driver sees the last complete one again
    assert "O task 0 ended by KeyError: 'as it was told'" in finished.stderr
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr


def test_o_tasks_that_were_complete_are_not_run_again(run_python: Callable, tmp_path: Path) -> None:
    options = ["-n", 2, "-O", 12, "-A", 3, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    words = [PROGRAMS / "counted_tasks.py", tmp_path / "out", tmp_path / "tasks", 8]
    finished = run_python(options, *words)
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
    begun = Counter((tmp_path / "tasks").read_text().split())
    assert begun["8"] == 2 and len(begun) == 12 and sum(begun.values()) <= 12 + 2  # one of each process
    counts = Counter(f"word {(task + number) % 100}" for task in range(12) for number in range(5000))
    found = dict(line.split("\t") for part in lines_of(tmp_path / "out") for line in part)
    assert {word: int(count) for word, count in found.items()} == counts


def test_a_checkpoint_of_another_job_is_not_begun_with_again(run_python: Callable, tmp_path: Path) -> None:
    env = {"MPI_D_CHECKPOINT": tmp_path / "checkpoint"}
    words = [PROGRAMS / "counted_tasks.py", tmp_path / "out", tmp_path / "tasks", 8]
    run_python(["-n", 2, "-O", 12, "-A", 3], *words, status=None, env=env)
    finished = run_python(["-n", 2, "-O", 11, "-A", 3, "--restarts", 3], *words, status=1, env=env)
    assert "is of another job" in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr  # it would not help


@pytest.mark.parametrize("mistake", ["compare", "partition", "combine", "no task", "no whole number"])
def test_functions_that_go_wrong_are_not_called_again(run_python: Callable, tmp_path: Path, mistake: str) -> None:
    options = ["-n", 1, "-O", 1, "-A", 2, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    finished = run_python(options, PROGRAMS / "mistakes.py", mistake, status=1)
    assert " function " in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr


@pytest.mark.parametrize("mistake", ["configuration", "class", "caught"])
def test_job_that_init_refuses_is_not_started_again(run_python: Callable, tmp_path: Path, mistake: str) -> None:
    options = ["--plain", "-n", 2, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    finished = run_python(options, PROGRAMS / "mistakes.py", mistake, status=1)
    assert ("key=<class 'list'>" if mistake == "class" else "MPI_D_MEMORY: 'much'") in finished.stderr
    assert "goes on from its checkpoint" not in finished.stderr  # it would not help


def test_windows_have_what_their_senders_sent_in_them(run_python: Callable, tmp_path: Path) -> None:
    """With windows that are larger and smaller than what Send() gathers."""
    for way, records, window in (("records", 25000, 10000), ("records", 30, 4), ("batches", 25000, 9000)):
        out = tmp_path / str(window)
        run_python(
            [*STREAMING, "--plain", "-O", 2, "-A", 2], PROGRAMS / "streamed_numbers.py", out, records, window, way
        )
        rows = [[tuple(map(int, line.split())) for line in part] for part in lines_of(out)]
        expected = [range(begin, min(begin + window, records)) for begin in range(0, records, window)]
        assert len(rows) == 2 and all([row[0] for row in part] == list(range(len(expected))) for part in rows)
        for number, numbers in enumerate(expected):
            assert sum(part[number][1] for part in rows) == 2 * len(numbers)
            assert sum(part[number][2] for part in rows) == 2 * sum(numbers)


def test_records_are_passed_on_when_they_are_due(run_python: Callable, tmp_path: Path) -> None:
    for way in ("flush", "Send", "bursts"):
        options = [*STREAMING, "--plain", "-O", 1, "-A", 1]
        env = {"MPI_D_PARTITION_BYTES": "64K"}
        run_python(options, PROGRAMS / "waits_for_receiver.py", tmp_path / way, way, env=env)
        assert (tmp_path / way).exists()


REFUSED = {
    "ITERATION": [
        "1003 send_to_driver() is for A tasks",
        "1002 next_round() called while this round has tasks",
        "1002 MPI_D_Bcast() called in a task",
        "1006 called outside of the streaming mode",
        "1006 next_window() called outside of the streaming mode",
    ],
    "STREAMING": [
        "1003 next_window() is for A tasks",
        "1006 send_to_driver() called outside of the iteration mode",
        "1006 next_round() called outside of the iteration mode",
        "1006 called outside of the iteration mode",
        "1003 Send() is for O tasks",
        "1003 MPI_D_End_window() is for O tasks",
        "1006 groups() in the streaming mode, whose records come unsorted",
        "1006 is_driver() called outside of the iteration mode",
    ],
}


def test_what_is_of_another_mode_or_side_is_refused(run_python: Callable, tmp_path: Path) -> None:
    for mode, messages in REFUSED.items():
        options = ["-M", mode.lower(), "--plain", "-O", 1, "-A", 1]
        run_python(options, PROGRAMS / "calls_of_modes.py", mode, tmp_path / mode)
        assert sorted((tmp_path / mode).read_text().splitlines()) == sorted(messages)


def test_input_is_looked_at_together_and_the_driver_gets_batches(run_python: Callable, tmp_path: Path) -> None:
    records = [(number, 3.0 * number) for number in range(0, 40, 2)]
    for name, part in (("first", records[:11]), ("second", records[11:])):
        (tmp_path / name).write_text("".join(f"{number}, {value:.0f}\n" for number, value in part))
    words = [PROGRAMS / "words_before_tasks.py", "all", tmp_path / "first", tmp_path / "second"]
    finished = run_python(["-M", "iteration", "--plain", "-n", 2], *words)
    of_a_tasks = [(-3, 0.5)] * 2 + [(-2, 0.5)] * 2 + [(-1, 1.0)] * 2
    assert finished.stdout == f"{[[0.0, 0.0], [2.0, 6.0], [4.0, 12.0]]} {of_a_tasks + records}\n"


def test_a_job_that_has_failed_for_good_is_not_started_again(run_python: Callable, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("1 2\n3 4\n5 6\n")
    options = ["-M", "iteration", "--plain", "-n", 2, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    finished = run_python(options, PROGRAMS / "words_before_tasks.py", "fails", tmp_path / "text", status=1)
    assert "O task" in finished.stderr and "ended by RuntimeError: there are ghosts" in finished.stderr
    assert "restart 1 of 1" not in finished.stderr


@pytest.mark.parametrize("side", ["O", "A"])
@pytest.mark.parametrize("mode", ["mapreduce", "iteration"])
def test_tasks_must_not_be_left_out(run_python: Callable, mode: str, side: str) -> None:
    options = ["-M", mode, "--plain", "-n", 2, "-O", 8, "-A", 8]
    finished = run_python(options, PROGRAMS / "mistakes.py", f"leaves {side} tasks out", mode, status=1)
    assert f"MPI_D_Finalize() called before all tasks were run: {side} task " in finished.stderr


def test_what_goes_wrong_in_rounds_and_streams_ends_the_job(run_python: Callable) -> None:
    causes = {
        "map": "O task 0 ended by KeyError: 'gone wrong in map'",
        "reduce": r"A task [01] ended by KeyError: 'gone wrong in reduce'",
        "drive": "the driver ended by KeyError: 'gone wrong in drive'",
        "sink": "A task 0 ended by KeyError: 'gone wrong in sink'",
        "a wrong value": "A task 0 ended by TypeError: the value 'text' is no int",
    }
    for where, cause in causes.items():
        mode = STREAMING if where in ("sink",) else ITERATION
        options = [*mode, "--plain", "-O", 1, "-A", 1]
        finished = run_python(options, PROGRAMS / "calls_of_modes.py", where, status=None)
        assert finished.status == 1 and re.search(rf"^mpid: rank \d of \d on \S+: {cause}", finished.stderr, re.M)
