"""Open MPI's launcher leaves its session directory behind when it is killed: the job removes it."""

import os
import signal

import pytest
from failing_jobs import heed_signals, process_named, programs_named, wait_for_line
from marked_processes import marked_processes
from runner import SESSIONS_VARIABLE, outcome_within, still_there

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

VICTIMS = ["mpiexec", "spillway-node", "spillway"]


@pytest.fixture
def sessions(run, tmp_path):
    """Where the session directories of the test's jobs are."""
    folder = tmp_path / "t"  # sockets are in there, whose paths must be short
    folder.mkdir()
    del run.environment[SESSIONS_VARIABLE]
    run.environment["TMPDIR"] = str(folder)
    return folder


@pytest.mark.parametrize("options", [[], ["--ranks-per-node", "1"]], ids=["one_node", "virtual_nodes"])
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_part_of_a_job_leaves_no_session_directory(run, job_command, sessions, victim, options):
    job = run.start(job_command("openmpi", "wait", *options), preexec_fn=heed_signals)
    wait_for_line(job, "last words")
    assert list(sessions.glob("ompi.*/pid.*"))
    lines = marked_processes(run.mark)
    agents = [pid for pid in programs_named(run, "spillway-node") if " --member " not in lines[pid]]
    killed = {"spillway": job.pid, "spillway-node": agents[0], "mpiexec": process_named(run, "mpiexec")}[victim]
    os.kill(killed, signal.SIGKILL)
    outcome_within(job, 20)
    assert not still_there(lambda: list(sessions.rglob("*")))


@pytest.mark.parametrize("options", [[], ["--ranks-per-node", "1"]], ids=["one_node", "virtual_nodes"])
def test_session_directory_of_the_job_that_this_one_runs_in_stays(run, job_command, tmp_path, flavour, options):
    session = tmp_path / "ompi.host.0" / "pid.1"
    session.mkdir(parents=True)
    (session / "contact").touch()
    run.environment["PMIX_SERVER_TMPDIR"] = str(session)
    job = run.start(job_command(flavour, "wait", *options), preexec_fn=heed_signals)
    wait_for_line(job, "last words")
    [agent, *_] = [
        pid for pid in programs_named(run, "spillway-node") if " --member " not in marked_processes(run.mark)[pid]
    ]
    os.kill(agent, signal.SIGKILL)
    outcome_within(job, 20)
    assert (session / "contact").exists()
