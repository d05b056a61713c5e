"""Somebody ends the job from outside: the ranks get the signal, and in the end nothing runs any more."""

import os
import random
import signal
import time

import pytest
from failing_jobs import (
    RANKS,
    assert_says,
    heed_signals,
    is_running,
    process_named,
    programs_named,
    state_of,
    wait_for_line,
)
from marked_processes import marked_processes
from runner import outcome_within, status_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

# Less than the 5 seconds that ranks get to end by themselves.
PROMPT_S = 4.5
# Ranks that wait outside of MPI keep their slots: all must have one to get as far as waiting.
ALL_AT_ONCE = ("--slots", str(RANKS))


def started(run, command, line="last words", times=1, preexec=heed_signals):
    """Starts a job, and returns when it has printed such a line that many times."""
    process = run.start(command, preexec_fn=preexec)
    for _ in range(times):
        wait_for_line(process, line)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_to_the_front_end_ends_the_job(run, job_command, flavour, number):
    process = started(run, job_command(flavour, "wait"))
    limit = TimeLimit(PROMPT_S)
    process.send_signal(number)
    _, stderr = outcome_within(process, 20)
    assert process.returncode == 128 + number
    assert limit.left_s() > 0
    assert_says(stderr, f"spillway: the job was ended by signal {int(number)} ")


def test_signal_that_is_ignored_from_the_start_stays_ignored(run, job_command, flavour, tmp_path):
    may_end = tmp_path / "may-end"
    command = [*job_command(flavour, "slow_messages"), may_end]
    process = started(run, command, "passes messages", 1, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    may_end.touch()
    outcome_within(process, 30)
    assert process.returncode == 0


def test_ranks_get_the_signal_and_time_to_act_on_it(run, job_command, flavour):
    process = started(run, job_command(flavour, "checkpoint", *ALL_AT_ONCE), "waits for SIGTERM", RANKS)
    process.send_signal(signal.SIGTERM)
    stdout, _ = outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGTERM
    assert stdout.count("wrote its checkpoint\n") == RANKS


def test_ranks_that_got_the_signal_still_have_each_other(run, job_command, flavour):
    process = started(run, job_command(flavour, "agreed_checkpoint"), "waits for SIGTERM", RANKS)
    limit = TimeLimit(PROMPT_S)
    process.send_signal(signal.SIGTERM)
    stdout, _ = outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGTERM
    assert stdout.count("wrote its checkpoint\n") == RANKS
    assert limit.left_s() > 0


def test_ranks_that_have_died_of_the_signal_keep_nothing_from_the_others(run, job_command, flavour):
    process = started(run, job_command(flavour, "outlive", "--slots", "1"), "waits for SIGTERM", RANKS)
    limit = TimeLimit(PROMPT_S)
    process.send_signal(signal.SIGTERM)
    stdout, _ = outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGTERM
    assert stdout.count("wrote its checkpoint\n") == RANKS - 1
    assert limit.left_s() > 0


def test_second_signal_ends_ranks_that_ignore_the_first(run, job_command, flavour):
    process = started(run, job_command(flavour, "ignore"))
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert process.poll() is None
    limit = TimeLimit(PROMPT_S - 0.5)
    process.send_signal(signal.SIGTERM)
    outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGTERM
    assert limit.left_s() > 0


def test_ranks_that_ignore_the_signal_are_killed_after_a_while(run, job_command, flavour):
    process = started(run, job_command(flavour, "ignore"))
    process.send_signal(signal.SIGTERM)
    outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("name", ["spillway", "spillway-node"])
def test_nothing_survives_a_killed_front_end_or_agent(run, job_command, flavour, name):
    process = started(run, job_command(flavour, "wait"))
    victim = process.pid if name == "spillway" else process_named(run, name)
    os.kill(victim, signal.SIGKILL)
    status_within(process, 20)
    limit = TimeLimit(10)
    while marked_processes(run.mark) and limit.left_s() > 0:
        time.sleep(0.05)
    assert not marked_processes(run.mark)
    assert not is_running(victim)
    stderr = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    if name == "spillway-node":
        assert process.returncode == 128 + signal.SIGKILL
        assert_says(stderr, r"spillway: the node agent \(process \d+\) was killed by signal 9")
    else:
        assert_says(stderr, "spillway: the front end `spillway run` was killed, and the job with it")


def test_user_signals_reach_the_ranks(run, job_command, flavour):
    process = started(run, job_command(flavour, "count_usr1", *ALL_AT_ONCE), "waits for SIGUSR1", RANKS)
    process.send_signal(signal.SIGUSR1)
    stdout, _ = outcome_within(process, 20)
    assert process.returncode == 0
    assert stdout.count("got SIGUSR1\n") == RANKS


def test_reader_that_goes_away_ends_the_job(run, job_command, flavour):
    process = run.start(job_command(flavour, "chatter"))
    assert process.stdout.readline()
    process.stdout.close()
    assert status_within(process, 20) == 128 + signal.SIGPIPE
    process.stderr.close()


def test_interruption_before_the_front_end_can_act_on_it_ends_it_without_a_word(run, spillway):
    def interrupt_when_it_can_act():
        heed_signals()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.kill(os.getpid(), signal.SIGINT)

    process = run.start([spillway, "--version"], preexec_fn=interrupt_when_it_can_act)
    assert outcome_within(process, 30) == ("", "")
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_interruption_at_any_moment_of_the_start_leaves_nothing(run, job_command, flavour, number):
    moments = random.Random(7)
    for _ in range(12):
        process = run.start(job_command(flavour, "wait"), preexec_fn=heed_signals)
        time.sleep(moments.uniform(0.05, 0.5))
        process.send_signal(number)
        _, stderr = outcome_within(process, 30)
        assert process.returncode in (-number, 128 + number), stderr
        assert "Traceback" not in stderr


def test_mpi_launcher_killed_at_any_moment_of_the_start_leaves_nothing(run, job_command, flavour):
    moments = random.Random(7)
    for _ in range(12):
        process = run.start(job_command(flavour, "wait"), preexec_fn=heed_signals)
        while not (programs_named(run, "spillway-node") and programs_named(run, "mpiexec")):
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.3))
        os.kill(min(programs_named(run, "mpiexec")), signal.SIGKILL)  # a second one is about to become a rank
        outcome_within(process, 30)
        assert process.returncode != 0


def wait_for_states(pids, letters):
    limit = TimeLimit(10)
    while any(state_of(pid) not in letters for pid in pids):
        assert limit.left_s() > 0, {pid: state_of(pid) for pid in pids}
        time.sleep(0.02)


def stopped(run, command, *line):
    """A job stopped by ^Z, and the processes that stopped: the front end, the MPI launcher and the ranks."""
    process = started(run, command, *line)
    pids = [process.pid, process_named(run, "mpiexec"), *programs_named(run, "failing_rank")]
    assert len(pids) == 2 + RANKS
    process.send_signal(signal.SIGTSTP)
    wait_for_states(pids, "T")
    return process, pids


def test_stopped_job_stands_still_and_goes_on(run, job_command, flavour, tmp_path):
    may_end = tmp_path / "may-end"
    process, pids = stopped(run, [*job_command(flavour, "slow_messages"), may_end], "passes messages")
    time.sleep(0.5)
    assert {state_of(pid) for pid in pids} == {"T"}
    process.send_signal(signal.SIGCONT)
    may_end.touch()
    outcome_within(process, 30)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_stopped_job_can_be_ended(run, job_command, flavour, number):
    process, _ = stopped(run, job_command(flavour, "wait"))
    limit = TimeLimit(PROMPT_S)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)  # as the shell's `kill` does
    outcome_within(process, 30)
    assert process.returncode in (-number, 128 + number)
    assert limit.left_s() > 0
