"""Jobs that fail, or are ended, while their ranks unload and load: what they unloaded is gone with them."""

import json
import os
import signal

import pytest
from failing_jobs import HOST, RANKS, assert_says, heed_signals, programs_named, wait_for_line
from runner import outcome_within

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

MIB_PER_RANK = 40
BUDGET = "64M"
LAST = RANKS - 1


@pytest.fixture
def tight_job(spillway, spill_dir, build_dir, tmp_path):
    """tight_job(flavour, how): the words of a job with twice as much memory as its budget, all of it in use."""

    def words(flavour, how):
        program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
        options = ["-n", RANKS, "--slots", 2, "--memory", BUDGET, "--spill-dir", spill_dir]
        options += ["--summary", "json", "--summary-file", tmp_path / "summary"]
        return [spillway, "run", *options, program, how, LAST, MIB_PER_RANK]

    return words


@pytest.mark.parametrize(
    ("how", "status", "what"),
    [
        ("sigkill", 128 + signal.SIGKILL, r"was killed by signal 9 \(Killed\)\n"),
        ("sigsegv", 128 + signal.SIGSEGV, r"was killed by signal 11 \(Segmentation fault\)\n"),
        ("exit_quietly", 1, r"exited without calling MPI_Finalize\n"),
        ("mpi_abort", 7, r"called MPI_Abort with error code 7\n"),
    ],
)
def test_a_rank_that_fails_ends_the_job(run, tight_job, tmp_path, flavour, how, status, what):
    finished = run(*tight_job(flavour, how), status=status)
    assert_says(finished.stderr, rf"spillway: rank {LAST} on host {HOST} \(process \d+\) {what}")
    assert json.loads((tmp_path / "summary").read_text())["totals"]["unloaded_bytes"] > MIB_PER_RANK << 20


@pytest.mark.parametrize("victim", ["spillway", "spillway-node", "spillway-rank", "mpiexec"])
def test_nothing_survives_a_part_of_the_job_that_is_killed(run, tight_job, flavour, victim):
    process = run.start(tight_job(flavour, "go_on"))
    wait_for_line(process, "last words")
    os.kill(process.pid if victim == "spillway" else min(programs_named(run, victim)), signal.SIGKILL)
    outcome_within(process, 20)
    assert process.returncode != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_to_the_front_end_ends_the_job(run, tight_job, flavour, number):
    process = run.start(tight_job(flavour, "go_on"), preexec_fn=heed_signals)
    wait_for_line(process, "last words")
    process.send_signal(number)
    _, stderr = outcome_within(process, 20)
    assert process.returncode == 128 + number
    assert_says(stderr, f"spillway: the job was ended by signal {int(number)} ")
