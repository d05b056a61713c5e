"""Jobs on several nodes of which one fails: all end, with one message that names the host."""

import os
import signal

import pytest
from failing_jobs import HOST, assert_says, heed_signals, programs_named, wait_for_line
from marked_processes import marked_processes

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


@pytest.fixture
def waiting_job(run, job_command, flavour):
    """A job of one rank per node; its processes spillway-node are the job's agent and those of the nodes."""
    command = job_command(flavour, "wait", "--ranks-per-node", "1")
    job = run.start(command, preexec_fn=heed_signals)
    wait_for_line(job, "last words")
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
    _, errors = waiting_job.communicate(timeout=10)
    assert waiting_job.returncode == 1
    assert_says(errors, rf"spillway: host {HOST} is lost: its node agent \(spillway-node\) does not answer any more\n")


def test_killed_agent_of_the_job_ends_all_nodes(run, waiting_job):
    of_job, _ = agents(run)
    os.kill(of_job, signal.SIGKILL)
    waiting_job.communicate(timeout=10)
    assert waiting_job.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signal_to_the_front_end_ends_all_nodes(run, waiting_job, number):
    waiting_job.send_signal(number)
    waiting_job.communicate(timeout=15)
    assert waiting_job.returncode == (-number if number == signal.SIGKILL else 128 + number)
