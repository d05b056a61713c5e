"""Jobs on several nodes of which one fails: all end, with one message that names the host."""

import os
import signal
import socket
import struct
import time
from pathlib import Path

import pytest
from failing_jobs import HOST, RANKS, assert_says, heed_signals, programs_named, state_of, wait_for_line
from marked_processes import marked_processes
from runner import outcome_within

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


@pytest.fixture
def waiting_job(run, job_command, flavour):
    """A job of one rank per node; its processes spillway-node are the job's agent and those of the nodes."""
    command = job_command(flavour, "wait", "--ranks-per-node", "1")
    job = run.start(command, preexec_fn=heed_signals)
    wait_for_line(job, "last words")
    return job


@pytest.fixture
def may_end(tmp_path):
    """A file without which slow_job goes on."""
    return tmp_path / "may-end"


@pytest.fixture
def slow_job(run, job_command, flavour, may_end):
    """A job of one rank per node that ends well some seconds after it may."""
    command = job_command(flavour, "slow_messages", "--ranks-per-node", "1")
    job = run.start([*command, may_end], preexec_fn=heed_signals)
    wait_for_line(job, "passes messages")
    return job


def agents(run):
    """(that of the job, those of the nodes)"""
    lines = marked_processes(run.mark)
    of_nodes = [pid for pid in programs_named(run, "spillway-node") if " --member " in lines[pid]]
    [of_job] = set(programs_named(run, "spillway-node")) - set(of_nodes)
    return of_job, of_nodes


def test_killed_agent_of_a_node_ends_the_job_and_names_the_host(run, waiting_job):
    _, of_nodes = agents(run)
    assert len(of_nodes) == 3
    os.kill(of_nodes[-1], signal.SIGKILL)
    _, errors = outcome_within(waiting_job, 10)
    assert waiting_job.returncode == 1
    assert_says(errors, rf"spillway: host {HOST} is lost: its node agent \(spillway-node\) does not answer any more\n")


def test_stopped_agent_of_a_node_is_as_good_as_killed(run, waiting_job):
    _, of_nodes = agents(run)
    os.kill(of_nodes[-1], signal.SIGSTOP)
    _, errors = outcome_within(waiting_job, 10)
    assert waiting_job.returncode == 1
    assert_says(errors, rf"spillway: host {HOST} is lost: its node agent \(spillway-node\) does not answer any more\n")
    assert "stopped it (SIGSTOP)" in errors


def test_agent_that_is_stopped_for_a_moment_is_not_lost(run, slow_job, may_end):
    _, of_nodes = agents(run)
    os.kill(of_nodes[-1], signal.SIGSTOP)
    time.sleep(3)
    assert state_of(of_nodes[-1]) == "T"
    os.kill(of_nodes[-1], signal.SIGCONT)
    may_end.touch()
    _, errors = outcome_within(slow_job, 30)
    assert slow_job.returncode == 0, errors


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU])
def test_signals_that_are_for_ranks_do_not_end_agents_of_nodes(run, slow_job, may_end, number):
    _, of_nodes = agents(run)
    assert len(of_nodes) == RANKS
    for agent in of_nodes:
        os.kill(agent, number)
    may_end.touch()
    _, errors = outcome_within(slow_job, 30)
    assert slow_job.returncode == 0, errors


def test_stranger_who_speaks_another_version_does_not_end_the_job(run, slow_job, may_end):
    _, of_nodes = agents(run)
    environment = (Path("/proc") / str(of_nodes[0]) / "environ").read_text().split("\0")
    [where] = [word for word in environment if word.startswith("SPILLWAY_JOIN=")]
    address, port = where.partition("=")[2].split()
    magic, another_version, join = 0x53504C4A, 9999, 1
    with socket.create_connection((address, int(port)), timeout=5) as stranger:
        stranger.sendall(struct.pack("<IIIiiII", magic, another_version, join, -1, 0, 0, 0))
        assert stranger.recv(1) == b""
    may_end.touch()
    _, errors = outcome_within(slow_job, 30)
    assert slow_job.returncode == 0, errors


def test_agent_of_a_node_that_cannot_make_its_segment_says_why(run, job_command, flavour):
    """All of them can not; one speaks for all."""
    words = job_command(flavour, "wait", "--ranks-per-node", "1")
    finished = run("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *words, status=1, timeout_s=20)
    assert_says(finished.stderr, rf"spillway: host {HOST} cannot take part\n")
    assert finished.stderr.count("  Cause:  ") == 1
    assert "(ulimit -f)" in finished.stderr
    assert finished.ran_s < 10


def test_killed_agent_of_the_job_ends_all_nodes(run, waiting_job):
    of_job, _ = agents(run)
    os.kill(of_job, signal.SIGKILL)
    outcome_within(waiting_job, 10)
    assert waiting_job.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signal_to_the_front_end_ends_all_nodes(run, waiting_job, number):
    waiting_job.send_signal(number)
    outcome_within(waiting_job, 15)
    assert waiting_job.returncode == (-number if number == signal.SIGKILL else 128 + number)
