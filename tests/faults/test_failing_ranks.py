"""One rank fails while the others wait for it: the job ends at once, with one message and the right exit status."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from failing_jobs import HOST, RANKS, assert_says, message_of, process_named, programs_named, wait_for_line
from marked_processes import marked_processes
from runner import outcome_within

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

LAST = RANKS - 1
SAID = rf"spillway: rank {LAST} on host {HOST} \(process \d+\) "


@pytest.mark.parametrize(
    ("how", "status", "what"),
    [
        ("sigkill", 128 + signal.SIGKILL, r"was killed by signal 9 \(Killed\)\n"),
        ("sigsegv", 128 + signal.SIGSEGV, r"was killed by signal 11 \(Segmentation fault\)\n"),
        ("abort", 128 + signal.SIGABRT, r"was killed by signal 6 \(Aborted\)\n"),
        ("exit_with_status", 3, r"exited with status 3\n"),
        ("exit_quietly", 1, r"exited without calling MPI_Finalize\n"),
        ("leave_child", 4, r"exited with status 4\n"),
        ("kill_parent", 1, r"lost its parent process, spillway-rank\n"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--ranks-per-node", "2"]], ids=["one_node", "two_nodes"])
def test_ends_the_job_and_names_rank_cause_and_remedy(run, job_command, flavour, how, status, what, options):
    finished = run(*job_command(flavour, how, *options), status=status)
    assert_says(finished.stderr, SAID + what)
    assert "BAD TERMINATION" not in finished.stdout
    assert finished.ran_s < 20


def test_cause_is_named_although_its_node_is_slow_to_notice(run, job_command, flavour):
    """What the MPI launcher does to the other ranks meanwhile is not taken for the cause."""
    process = run.start(job_command(flavour, "wait", "--ranks-per-node", "2"))
    wait_for_line(process, "last words")
    parent = parent_of_rank(run, LAST)
    agent = agent_of_second_node(run)
    os.kill(agent, signal.SIGSTOP)
    os.kill(parent, signal.SIGKILL)
    time.sleep(0.5)
    os.kill(agent, signal.SIGCONT)
    _, stderr = outcome_within(process, 20)
    assert process.returncode == 1
    assert_says(stderr, SAID + r"lost its parent process, spillway-rank\n")


def parent_of_rank(run, rank):
    """The process spillway-rank of a rank, by what the MPI launcher has told it."""
    told = {f"PMI_RANK={rank}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode()}
    parents = programs_named(run, "spillway-rank")
    found = [pid for pid in parents if told & set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))]
    assert len(found) == 1, f"rank {rank} among {parents}: {found}"
    return found[0]


def agent_of_second_node(run):
    """Its last word is its node's name, which ends with the node's index."""
    lines = marked_processes(run.mark)
    found = [pid for pid in programs_named(run, "spillway-node") if re.search(r" --member \S+-1\s*$", lines[pid])]
    assert len(found) == 1, lines
    return found[0]


def test_loses_nothing_that_the_failing_rank_wrote(run, job_command, flavour):
    finished = run(*job_command(flavour, "exit_with_status"), status=3)
    assert f"rank {LAST}: last words\n" in finished.stdout
    assert f"rank {LAST}: last words, on standard error\n" in finished.stderr


def test_mpi_abort_ends_the_job_with_its_code(run, job_command, flavour):
    finished = run(*job_command(flavour, "mpi_abort"), status=7)
    assert_says(finished.stderr, SAID + "called MPI_Abort with error code 7\n")


def test_rank_that_is_killed_in_finalize_ends_the_job(run, job_command, flavour):
    """The others wait for it there, in the MPI library."""
    finished = run(*job_command(flavour, "die_in_finalize"), status=137)
    assert_says(finished.stderr, SAID + r"was killed by signal 9 \(Killed\) in MPI_Finalize\n")


def test_status_after_finalize_is_passed_on_and_ends_nobody(run, job_command, flavour):
    finished = run(*job_command(flavour, "status_after_finalize"), status=5)
    assert finished.stdout.count("this rank went on") == RANKS - 1
    assert_says(finished.stderr, SAID + "exited with status 5 after MPI_Finalize\n")


def test_crash_after_finalize_is_reported_and_ends_nobody(run, job_command, flavour):
    finished = run(*job_command(flavour, "crash_after_finalize"), status=128 + signal.SIGSEGV)
    assert finished.stdout.count("this rank went on") == RANKS - 1
    assert_says(finished.stderr, SAID + r"was killed by signal 11 \(Segmentation fault\) after MPI_Finalize\n")


def test_program_that_cannot_be_executed(run, spillway, spill_dir, tmp_path, flavour):
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    options = ["-n", "2", "--memory", "1G", "--spill-dir", spill_dir, "--mpi", flavour, "--summary", "none"]
    finished = run(spillway, "run", *options, program, status=127)
    message = message_of(finished.stderr)
    assert f"cannot start {program}: No such file or directory; " in message
    assert "that the interpreter of its first line exists" in message


def test_standard_input_that_mpich_cannot_pass_on(run, job_command):
    """Hydra gives up when rank 0 does not read what is piped into the job; only its own words tell of that."""
    with subprocess.Popen(["seq", "1000000"], stdout=subprocess.PIPE) as numbers:
        finished = run(*job_command("mpich", "wait"), stdin=numbers.stdout, status=None)
    assert finished.status != 0
    assert_says(finished.stderr, r"spillway: ")
    assert re.search(r"^    \[(mpiexec@|proxy:)", message_of(finished.stderr), re.MULTILINE), finished.stderr


def test_mpi_launcher_that_is_killed(run, job_command, flavour):
    process = run.start(job_command(flavour, "wait"))
    wait_for_line(process, "last words")
    os.kill(process_named(run, "mpiexec"), signal.SIGKILL)
    _, stderr = outcome_within(process, 20)
    assert process.returncode == 128 + signal.SIGKILL
    assert_says(stderr, r"spillway: the MPI launcher mpiexec\S* was killed by signal 9 \(Killed\)\n")
