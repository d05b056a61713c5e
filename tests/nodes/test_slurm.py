"""Jobs inside a Slurm job, on all of its nodes: ranks come through srun, and the end of each side is the other's."""

import json
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Iterator, List

import pytest
from marked_processes import MARK_VARIABLE, marked_processes
from measuring.network import CannotMakeNetwork, Network
from slurm_cluster import CORES_OF_NODE, MEGABYTES_OF_NODE, SlurmCluster
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind", "nothing_of_slurm_left_behind")

HOSTS = 3
LIMIT_S = 60
RANK = "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}"


@pytest.fixture(scope="module")
def network_of_slurm() -> Iterator[Network]:
    folder = Path(tempfile.mkdtemp(prefix="spillway-slurm-", dir="/tmp"))  # short, for the name of munge's socket
    folder.chmod(0o755)
    try:
        with Network(folder, HOSTS, kept=[MARK_VARIABLE]) as made:
            yield made
            left = [pid for host in made.hosts for pid in made.processes_of(host)]
    except CannotMakeNetwork as reason:
        pytest.skip(f"no network of several hosts can be made here: {reason}")
    finally:
        shutil.rmtree(folder)
    assert not left, f"processes left on the hosts: {left}"


@pytest.fixture(scope="module")
def cluster(network_of_slurm: Network) -> Iterator[SlurmCluster]:
    folder = Path(tempfile.mkdtemp(prefix="spillway-slurm-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        made = SlurmCluster(folder, network_of_slurm)
    except CannotMakeNetwork as reason:
        shutil.rmtree(folder)
        pytest.skip(f"Slurm cannot run here: {reason}")
    yield made
    made.remove()
    shutil.rmtree(folder)


@pytest.fixture
def network(network_of_slurm: Network) -> Network:
    """Of these tests: what is left behind is looked for there."""
    return network_of_slurm


@pytest.fixture
def nothing_of_slurm_left_behind(cluster: SlurmCluster) -> Iterator[None]:
    """All nodes are free again soon."""
    yield
    limit = TimeLimit(10)
    while cluster.jobs() and limit.left_s() > 0:
        time.sleep(0.1)
    assert not cluster.jobs()


@pytest.fixture
def spillway_run(run, cluster, spillway, spill_dir) -> List[str]:
    run.environment.update(cluster.environment)
    return [str(word) for word in (spillway, "run", "--spill-dir", spill_dir)]


@pytest.fixture
def test_program(build_dir, flavour):
    return lambda name: str(build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}")


class Batch:
    """A script that sbatch has taken: its output, and the status of its last command once that has ended."""

    def __init__(self, run, folder, options, script: str) -> None:
        self._status, self.job = folder / "status", ""
        self.output = folder / "output"
        file = folder / "script"
        file.write_text(
            f"#!/bin/bash\n{script}\necho $? > {self._status}.new && mv {self._status}.new {self._status}\n"
        )
        self.job = run("sbatch", "--parsable", "-N", HOSTS, "-o", self.output, *options, file).stdout.strip()

    def wait_for(self, text: str) -> None:
        self._wait(lambda: self.output.exists() and text in self.output.read_text(), f"`{text}` does not come")

    def status(self) -> int:
        self._wait(self._status.exists, "it does not end")
        return int(self._status.read_text())

    def _wait(self, is_so, otherwise: str) -> None:
        limit = TimeLimit(LIMIT_S)
        while not is_so():
            if limit.left_s() <= 0:
                pytest.fail(f"{otherwise}: {self.output.read_text() if self.output.exists() else 'no output'}")
            time.sleep(0.05)


def test_programs_check_themselves_on_the_nodes_of_a_batch_job(
    run, cluster, spillway_run, test_program, flavour, tmp_path
):
    """Cores and memory of each node are what the job has there, and each node's agent gets to report."""
    command = f"{' '.join(spillway_run)} --summary json --summary-file {tmp_path}/summary"
    script = f"{command} {test_program('reductions')} strict </dev/null"
    batch = Batch(run, tmp_path, ["-n", 2 * HOSTS, "--ntasks-per-node", 2], script)
    assert batch.status() == 0, batch.output.read_text()
    assert "srun" not in batch.output.read_text()  # it has nothing to complain of
    nodes = json.loads((tmp_path / "summary").read_text())["nodes"]
    assert [node["host"] for node in nodes] == cluster.nodes
    assert [node["rank_count"] for node in nodes] == [2, 2, 2]
    assert {node["slot_count"] for node in nodes} == {CORES_OF_NODE}
    assert {node["budget_bytes"] for node in nodes} == {(MEGABYTES_OF_NODE << 20) * 80 // 100}
    assert all(node["finished_ranks"] == 2 for node in nodes)


def test_ranks_of_a_job_that_is_started_elsewhere(run, cluster, spillway_run, flavour):
    """salloc's shell is on none of the nodes. Ranks are placed, and have standard streams, as with other launchers."""
    script = f'[ "{RANK}" != 0 ] || cat; echo "rank {RANK} on $(hostname) of job $SLURM_JOB_ID"; echo e >&2'
    command = [*spillway_run, "--summary", "none", "--placement", "cyclic", "--mpi", flavour, "sh", "-c", script]
    words = cluster.with_names("salloc", "-N", "3", "-n", "5", *command)
    read_end, write_end = os.pipe()
    os.write(write_end, b"input\n")
    os.close(write_end)
    with os.fdopen(read_end) as source:
        finished = run(*words, timeout_s=LIMIT_S, stdin=source)
    found = re.findall(r"rank (\d) on (\S+) of job \d", finished.stdout)
    assert dict(found) == {str(rank): cluster.nodes[rank % HOSTS] for rank in range(5)}
    assert "input\n" in finished.stdout
    assert len(re.findall("^e$", finished.stderr, re.MULTILINE)) == 5


def test_racks_are_the_switches(run, cluster, spillway_run, build_dir, flavour, tmp_path):
    """What the first node broadcasts goes to the one at its switch, and from there to the other."""
    (tmp_path / "rules").write_text("any any chain\n")
    command = [*spillway_run, "--broadcasts", str(tmp_path / "rules")]
    program = [str(build_dir / "lib" / "spillway" / "tune" / f"broadcast-times-{flavour}"), str(1 << 20)]
    script = f"{' '.join([*command, '--dry-run', *program])}\n"
    script += " ".join([*command, "--summary", "json", "--summary-file", str(tmp_path / "summary"), *program])
    batch = Batch(run, tmp_path, [], script)
    assert batch.status() == 0, batch.output.read_text()
    plan = dict(line.split(maxsplit=1) for line in batch.output.read_text().splitlines() if " " in line)
    assert plan["racks"] == ", ".join(cluster.switches)
    assert plan["hosts"] == f"{', '.join(cluster.nodes)}  (of Slurm job {batch.job}; ranks in block order)"
    nodes = json.loads((tmp_path / "summary").read_text())["nodes"]
    first, second, third = (node["courier_sent_bytes"] for node in nodes)
    assert first > 4 << 20 and first * 0.95 < third < first * 1.05 and second < first / 20


def test_racks_are_measured_between_the_nodes_of_the_job(run, cluster, spillway_run, flavour, tmp_path):
    """Whether these are near each other is not the question here."""
    command = [spillway_run[0], "tune", *spillway_run[2:], "--mpi", flavour, "--racks-output", tmp_path / "racks"]
    run(*cluster.with_names("salloc", "-N", "3", *map(str, command)), timeout_s=LIMIT_S)
    lines = [line.split() for line in (tmp_path / "racks").read_text().splitlines() if line and line[0] != "#"]
    assert sorted(host for host, _ in lines) == sorted(cluster.nodes)


def test_a_rank_that_is_killed_ends_the_job_with_its_status(
    run, cluster, network_of_slurm, spillway_run, test_program, tmp_path
):
    program = test_program("failing_rank")
    batch = Batch(run, tmp_path, [], f"{' '.join(spillway_run)} --summary none -n 6 {program} wait")
    batch.wait_for("last words")
    lines = marked_processes(run.mark)
    last = network_of_slurm.processes_of(network_of_slurm.hosts[2])
    victim = next(pid for pid in last if lines.get(pid, "").startswith(program))
    os.kill(victim, signal.SIGKILL)
    assert batch.status() == 128 + signal.SIGKILL
    messages = re.findall(r"^spillway: .*", batch.output.read_text(), re.MULTILINE)
    assert len(messages) == 1
    assert re.match(rf"spillway: rank \d on host {cluster.nodes[2]} \(process {victim}\) was killed", messages[0])


def test_scancel_ends_everything(run, cluster, spillway_run, test_program, tmp_path):
    """Without `exec`, the shell would end first, and Slurm kill all on its node before it is cleared up."""
    program = test_program("failing_rank")
    batch = Batch(run, tmp_path, [], f"exec {' '.join(spillway_run)} --summary none -n 6 {program} wait")
    batch.wait_for("last words")
    limit = TimeLimit(10)
    cluster.say("scancel", batch.job)
    while marked_processes(run.mark) or cluster.jobs():
        assert limit.left_s() > 0, (marked_processes(run.mark), cluster.jobs())
        time.sleep(0.1)
    assert re.search(r"^spillway: .* signal 15", batch.output.read_text(), re.MULTILINE)


def test_a_signal_to_the_script_alone_gives_ranks_time(run, cluster, spillway_run, test_program, tmp_path):
    """As sbatch --signal=B:TERM@60 sends it before the time is over."""
    program = test_program("failing_rank")
    batch = Batch(run, tmp_path, [], f"exec {' '.join(spillway_run)} --summary none -n 6 {program} checkpoint")
    batch.wait_for("waits for SIGTERM")
    cluster.say("scancel", "--batch", "--signal=TERM", batch.job)
    batch.wait_for("Remedy: ")
    text = batch.output.read_text()
    assert "wrote its checkpoint" in text and "spillway: the job was ended by signal 15" in text


def test_an_interrupt_ends_all_ranks_and_leaves_the_allocation(run, cluster, spillway_run, test_program, tmp_path):
    command = f"{' '.join(spillway_run)} --summary none -n 6 {test_program('failing_rank')} wait"
    until_all_wait = f"until grep -q 'last words' {tmp_path}/output; do sleep 0.1; done"
    batch = Batch(run, tmp_path, [], f"set -m; {command} & job=$!; {until_all_wait}; kill -INT $job; wait $job")
    assert batch.status() == 128 + signal.SIGINT
    assert "spillway: the job was ended by signal 2" in batch.output.read_text()


def test_in_a_step_it_is_started_once(run, cluster, spillway_run, test_program, flavour, tmp_path):
    """With what srun tells a task about its rank, which must not reach ours."""
    command = f"{' '.join(spillway_run)} --summary none"
    script = f"srun -N 2 -n 2 {command} {test_program('sizes')}; echo refused with $?\n"
    script += f"srun -N 1 -n 1 --mpi=pmi2 {command} -n 6 {test_program('sizes')} strict </dev/null\n"
    batch = Batch(run, tmp_path, ["-n", 2 * HOSTS], script)
    assert batch.status() == 0, batch.output.read_text()
    text = batch.output.read_text()
    assert text.count("srun has started `spillway` 2 times, and each would start the whole job") == 2
    assert "refused with 2" in text and "checks on rank 0 of 6" in text


def test_hosts_that_are_named_are_preferred(run, cluster, spillway_run, test_program, tmp_path):
    """This machine alone, that is, in a job of three nodes: nothing goes through Slurm."""
    command = f"{' '.join(spillway_run)} --hosts localhost -n 3 --summary json --summary-file {tmp_path}/summary"
    batch = Batch(run, tmp_path, [], f"{command} {test_program('sizes')}")
    assert batch.status() == 0, batch.output.read_text()
    [node] = json.loads((tmp_path / "summary").read_text())["nodes"]
    assert (node["host"], node["rank_count"]) == (cluster.nodes[0], 3)
