"""Key-value jobs on several hosts give what they give on one machine, also when what has come is spilled there."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from runner import outcome_within
from standstill import TimeLimit

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

PYTHON_PROGRAMS = Path(__file__).parents[1] / "keyvalue" / "python"
LIMIT_S = 60
A_TASKS = 5
OPTIONS = ["-O", 8, "-A", A_TASKS]
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}
WAYS = [["--plain"], ["--slots", 1, "--memory", "256M"]]
LOSS_LIMIT_S = 120


def lines_of_parts(folder):
    """Of each A task, without their order: that of equal keys' values is free."""
    return [Counter((folder / f"part-{task:05d}").read_text().splitlines()) for task in range(A_TASKS)]


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_finds_the_same_on_hosts(run, build_dir, network, test_program, spill_dir, tmp_path, way):
    mpidrun, program = build_dir / "bin" / "mpidrun", test_program("generated-records")
    arguments = ["records=40000", "distinct=30011"]
    run(mpidrun, "--plain", "-n", 2, *OPTIONS, program, f"output={tmp_path / 'here'}", *arguments, timeout_s=LIMIT_S)
    run.environment.update(network.environment)
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in network.hosts))
    where = ["-f", tmp_path / "hosts", "-n", 6, "--spill-dir", spill_dir]
    report = ["--summary", "json", "--summary-file", tmp_path / "report"]
    words = [mpidrun, *way, *where, *report, *OPTIONS, program, f"output={tmp_path / 'there'}", *arguments]
    run(*words, env=LITTLE_MEMORY, timeout_s=LIMIT_S)
    assert lines_of_parts(tmp_path / "there") == lines_of_parts(tmp_path / "here")
    done = json.loads((tmp_path / "report").read_text())["key_value"]
    assert (done["processes"], done["o_tasks_done"], done["a_tasks_done"]) == (6, 8, A_TASKS)
    assert done["spilled_bytes"] > 1 << 20


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_python_finds_its_package_on_hosts(run, build_dir, network, flavour, spill_dir, tmp_path, way):
    """Open MPI's launcher hands on no variable that it is not told of."""
    program = PYTHON_PROGRAMS / "records.py"
    options = {"key": "str", "value": "int", "records": 300, "distinct": 200}
    words = [build_dir / "bin" / "mpidrun", *OPTIONS, "--mpi", flavour]

    def python(folder):
        return [sys.executable, program, json.dumps({**options, "output": str(tmp_path / folder)})]

    run(*words, "--plain", "-n", 2, *python("here"), timeout_s=LIMIT_S)
    run.environment.update(network.environment)
    where = ["--hosts", ",".join(network.hosts), "-n", 6, "--spill-dir", spill_dir]
    run(*words, *way, *where, *python("there"), timeout_s=LIMIT_S)
    assert lines_of_parts(tmp_path / "there") == lines_of_parts(tmp_path / "here")


def test_files_are_read_on_the_hosts_that_have_them(
    run, build_dir, network, test_program, flavour, spill_dir, tmp_path
):
    """Each host has another address in a file of the same name, which this machine has not."""
    own = "/sys/class/net/net0/address"
    names = [network.name_of(host) for host in network.hosts]
    addresses = [
        subprocess.check_output(network.command_on(host, "cat", own), text=True).strip() for host in network.hosts
    ]
    assert len(set(addresses)) == len(names) == 3 and not Path(own).exists()
    run.environment.update(network.environment)
    where = ["--hosts", ",".join(network.hosts), "-n", 6, "-A", 2, "--mpi", flavour, "--spill-dir", spill_dir]
    files = [f"{name}:{own}" for name in [*reversed(names), names[0]]]
    script = [sys.executable, PYTHON_PROGRAMS / "host_files.py", tmp_path / "python", tmp_path / "tasks", -1]
    words = [build_dir / "bin" / "mpidrun", *where]
    run(*words, "--plain", test_program("wordcount"), tmp_path / "plain", *files, timeout_s=LIMIT_S)
    run(*words, "--plain", test_program("lines-sort"), tmp_path / "sorted", *files, timeout_s=LIMIT_S)
    parts = sorted((tmp_path / "sorted").glob("part-*"))
    assert "".join(path.read_text() for path in parts).split() == sorted([*addresses, addresses[0]])
    run(*words, "--slots", 1, "--memory", "256M", *script, *files, timeout_s=LIMIT_S)
    expected = sorted(f"{address}\t{2 if address == addresses[0] else 1}" for address in addresses)
    for folder in ("plain", "python"):
        lines = [line for path in (tmp_path / folder).glob("part-*") for line in path.read_text().splitlines()]
        assert sorted(lines) == expected
    begun = [f"{task} {file.partition(':')[0]}" for task, file in enumerate(files)]
    assert sorted((tmp_path / "tasks").read_text().splitlines()) == begun


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_rounds_read_files_on_the_hosts_that_have_them(run, build_dir, network, test_program, spill_dir, tmp_path, way):
    """Three O tasks of six processes, and the hosts in another order than theirs."""
    own = "/sys/class/net/net0/iflink"
    hosts = [network.hosts[1], network.hosts[2], network.hosts[0]]
    numbers = [
        subprocess.check_output(network.command_on(host, "cat", own), text=True, timeout=LIMIT_S) for host in hosts
    ]
    assert len(set(numbers)) == 3 and not Path(own).exists()
    run.environment.update(network.environment)
    where = ["-M", "iteration", "--hosts", ",".join(network.hosts), "-n", 6, "-A", 2, "--spill-dir", spill_dir]
    files = [f"{network.name_of(host)}:{own}" for host in hosts]
    words = [build_dir / "bin" / "mpidrun", *where, *way, test_program("keyvalue-kmeans"), tmp_path / "out", 3, 4]
    finished = run(*words, *files, timeout_s=LIMIT_S)
    assert "round 1: inertia 0, moved 0" in finished.stdout
    assert (tmp_path / "out").read_text() == "".join(numbers)


def kill_all(network, host):
    while left := network.processes_of(host):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    time.sleep(0.5)  # the ends of its connections reach the others


@pytest.fixture
def lose_host(run, build_dir, network, spill_dir, tmp_path):
    """lose_host(numbers, is_due, *words, env=): what a job on all hosts writes, which loses those when it is due and is
    started again once, and its report."""

    def lose(numbers, is_due, *words, env=None):
        where = ["--hosts", ",".join(network.hosts), "--spill-dir", spill_dir]
        kept = ["--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
        report = ["--summary", "json", "--summary-file", tmp_path / "report"]
        job = run.start([build_dir / "bin" / "mpidrun", *where, *kept, *report, *words], env=env)
        limit = TimeLimit(LIMIT_S)
        while not is_due():
            assert job.poll() is None, job.communicate()[1]
            assert limit.left_s() > 0
            time.sleep(0.05)
        job.send_signal(signal.SIGSTOP)  # until the host is gone as a whole
        for number in numbers:
            if "--plain" in words:  # whose launchers may wait for ever behind a link that is cut
                kill_all(network, network.hosts[number])
            network.cut(network.hosts[number])
        job.send_signal(signal.SIGCONT)
        output, errors = outcome_within(job, LOSS_LIMIT_S)
        left_out = [line for line in errors.splitlines() if "is left out" in line]
        named = [f"mpidrun: host {network.hosts[number]} does not answer and is left out" for number in numbers]
        assert left_out == named, errors
        assert job.returncode == 0 or len(numbers) == len(network.hosts), errors
        return output, errors, json.loads((tmp_path / "report").read_text())["key_value"]

    run.environment.update(network.environment)
    return lose


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_o_tasks_are_not_run_again_without_a_lost_host(run, build_dir, lose_host, test_program, tmp_path, way):
    mpidrun, program, o_tasks = build_dir / "bin" / "mpidrun", test_program("generated-records"), 12
    tasks, options = tmp_path / "tasks", ["-O", o_tasks, "-A", A_TASKS]
    run(mpidrun, "--plain", "-n", 2, *options, program, f"output={tmp_path / 'here'}", "records=2000")
    complete = []

    def is_due():
        """All tasks have been begun, o7 waits, and most of the others are complete."""
        complete[:] = (tmp_path / "checkpoint").glob("spillway-o-*[0-9]")
        return (tmp_path / "tasks.killed").exists() and len(complete) > 5 and len(tasks.read_text().split()) == o_tasks

    words = [f"output={tmp_path / 'there'}", f"tasks={tasks}", "records=2000", "killed-at=o7", "waits"]
    env = {"MPI_D_CHECKPOINT_INTERVAL": "1us"}  # completed after each O task
    if "--plain" in way:
        env["OMPI_MCA_btl"] = "self,tcp"  # nobody would take away the shared memory of killed processes
    _, _, done = lose_host([1], is_due, "-n", 6, *way, *options, program, *words, env=env)
    assert lines_of_parts(tmp_path / "there") == lines_of_parts(tmp_path / "here")
    begun = Counter(tasks.read_text().split())
    assert (done["processes"], begun["o7"]) == (6, 2)
    assert done["o_tasks_done"] <= o_tasks - len(complete)
    assert sum(begun[f"o{task}"] for task in range(o_tasks)) == o_tasks + done["o_tasks_done"]


def test_rounds_are_not_run_again_without_the_host_of_the_driver(run, build_dir, lose_host, test_program, tmp_path):
    """With as many processes as hosts, of which their tasks are made, also when there are fewer hosts."""
    rounds, waiting, mpidrun = 8, 5, build_dir / "bin" / "mpidrun"
    mode, program = ["-M", "iteration"], [test_program("iterated-sums"), 3000, rounds, "combine"]
    report = ["--summary", "json", "--summary-file", tmp_path / "report"]
    lines = run(mpidrun, *mode, "--plain", "-n", 3, *report, *program).stdout.splitlines()
    a_tasks = json.loads((tmp_path / "report").read_text())["key_value"]["a_tasks_done"] // rounds
    waits = tmp_path / "waits"
    output, _, done = lose_host([0], waits.exists, *mode, *WAYS[1], *program, waiting, waits, "waits")
    assert output.splitlines()[-(rounds - waiting + 1) :] == lines[waiting - 1 :]  # the driver sees one again
    assert (done["processes"], done["a_tasks_done"]) == (3, a_tasks * (rounds - waiting))


def test_job_that_has_lost_all_hosts_is_not_started_again(lose_host, test_program, tmp_path):
    waits = tmp_path / "waits"
    words = ["-M", "iteration", *WAYS[1], test_program("iterated-sums"), 300, 4, "combine", 2, waits, "waits"]
    _, errors, _ = lose_host([0, 1, 2], waits.exists, *words)
    assert "mpidrun: no host of the job is left to start it again\n  Remedy: " in errors
