"""What the front end makes of Slurm's variables and of a `scontrol` that only repeats what a real one (22.05) said."""

import os

import pytest
from spillway_front_end import slurm
from spillway_front_end.errors import LaunchError
from spillway_front_end.hosts import hosts_of_job
from spillway_front_end.machine import available_memory, usable_cores

NODES = ["n1", "n2", "n3"]
TOPOLOGY = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1,3]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n2
SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=leaf[1-2]
"""
WRITTEN_OUT = {
    "n[1-3]": "n1\nn2\nn3\n",
    "spillway-next-switch,n[1,3],spillway-next-switch,n2": ("spillway-next-switch\nn1\nn3\nspillway-next-switch\nn2\n"),
}


@pytest.fixture(autouse=True)
def outside_of_slurm(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SLURM", "PMI")):
            monkeypatch.delenv(name)


@pytest.fixture
def scontrol(monkeypatch, tmp_path):
    """scontrol(topology=...): puts one into PATH."""

    def make(topology=TOPOLOGY, names=WRITTEN_OUT, status=0):
        cases = "".join(f"  'hostnames {given}') printf '%s' '{said}' ;;\n" for given, said in names.items())
        cases += f"  topology*) printf '%s' '{topology}' ;;\n"
        file = tmp_path / "scontrol"
        file.write_text(
            f'#!/bin/sh\nshift\ncase "$*" in\n{cases}  *) echo "what is $*?"; exit 1 ;;\nesac\nexit {status}\n'
        )
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return make


@pytest.fixture
def job(monkeypatch):
    """job(SLURM_NTASKS=...): we are in a job of three nodes."""

    def enter(**variables):
        for name, value in {"SLURM_JOB_ID": 17, "SLURM_JOB_NODELIST": "n[1-3]", **variables}.items():
            monkeypatch.setenv(name, str(value))

    return enter


def hosts(placement="block", racks=None, listed=None):
    return hosts_of_job(listed, None, placement, "10.0.0.9", racks)


def test_without_slurm_there_are_no_hosts(scontrol):
    scontrol()
    assert hosts_of_job(None, None, "block", None, None) is None
    assert slurm.task_count() is None


def test_hosts_are_the_nodes_of_the_job_and_racks_its_leaf_switches(scontrol, job):
    scontrol()
    job()
    found = hosts("cyclic")
    assert (found.names, found.placement, found.slurm_job) == (NODES, "cyclic", "17")
    assert found.racks == {"n1": "leaf1", "n2": "leaf2", "n3": "leaf1"}
    assert [host.split("=")[0] for host in found.ring().split(",")] == ["n1", "n3", "n2"]


def test_a_file_of_racks_is_preferred_to_the_switches(scontrol, job, tmp_path):
    scontrol()
    job()
    (tmp_path / "racks").write_text("n1 a\nn2 a\nn3 b\n")
    assert hosts(racks=str(tmp_path / "racks")).racks == {"n1": "a", "n2": "a", "n3": "b"}


def test_hosts_that_are_named_are_preferred_to_the_nodes_of_the_job(scontrol, job):
    scontrol()
    job()
    found = hosts(listed="n2,elsewhere")
    assert (found.names, found.racks, found.slurm_job) == (["n2", "elsewhere"], {}, None)


@pytest.mark.parametrize(
    "topology",
    ["", "No topology information available\n", "SwitchName=all Level=0 LinkSpeed=1 Nodes=n[1-3]\n"],
)
def test_without_several_switches_there_are_no_racks(scontrol, topology):
    whole = {"spillway-next-switch,n[1-3]": "spillway-next-switch\nn1\nn2\nn3\n"}
    scontrol(topology, whole)
    assert slurm.racks_of(NODES) == {}


def test_a_node_that_is_at_no_switch_is_in_no_rack_of_the_others(scontrol):
    scontrol()
    assert slurm.racks_of(["n1", "n2", "n9"]) == {"n1": "leaf1", "n2": "leaf2", "n9": "no switch"}


def test_a_job_of_one_node_needs_no_scontrol(job, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    job(SLURM_JOB_NODELIST="n7", SLURMD_NODENAME="n7")
    assert hosts_of_job(None, None, "block", None, None) is None
    job(SLURM_JOB_NODELIST="n8")  # as in the shell that salloc gives elsewhere
    assert hosts().names == ["n8"]


def test_without_scontrol_the_user_is_told_what_to_do(job, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    job()
    with pytest.raises(LaunchError, match=r"the nodes of Slurm job 17 \(n\[1-3\]\) .*: it is not in PATH") as error:
        hosts()
    assert "--hosts" in error.value.remedy


def test_what_scontrol_says_of_its_failure_is_passed_on(scontrol, job):
    scontrol(names={})
    job()
    with pytest.raises(LaunchError, match="what is hostnames"):
        hosts()


def test_ranks_are_the_tasks_of_the_job_but_not_those_of_a_step(job):
    job(SLURM_NTASKS=96)
    assert slurm.task_count() == 96
    job(SLURM_NTASKS=1, SLURM_STEP_NUM_TASKS=1, SLURM_STEP_ID=0)
    assert slurm.task_count() is None
    job(SLURM_NTASKS=96, SLURM_STEP_NUM_TASKS=1, SLURM_STEP_ID=0)  # as in the shell of salloc on a node
    assert slurm.task_count() == 96


def test_many_copies_of_spillway_are_refused(run, spillway, job):
    job(SLURM_NTASKS=96, SLURM_STEP_NUM_TASKS=96, SLURM_STEP_ID=0)
    with pytest.raises(LaunchError, match="has started `spillway` 96 times"):
        hosts()
    text = run(spillway, "run", "--dry-run", "--mpi", "mpich", "true", status=2).stderr
    assert "Remedy: start it once, without srun or by `srun -n 1`: spillway run -n 96" in text
    assert hosts(listed="localhost") is None  # each copy on its own


def test_a_job_that_a_step_has_submitted_is_in_no_step_of_many_tasks(job):
    job(SLURM_NTASKS=8, SLURM_STEP_NUM_TASKS=2, SLURM_STEP_ID=0, SLURM_JOB_NODELIST="n8")
    assert hosts().names == ["n8"]
    assert slurm.task_count() == 8


def test_cores_and_memory_are_no_more_than_slurm_gives_on_this_node(job, tree, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    root = tree({"proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 20971520 kB\n"})
    job(SLURM_CPUS_ON_NODE=4, SLURM_MEM_PER_NODE=1000)
    assert (usable_cores(root).value, available_memory(root).value) == (8, 20 << 30)  # it is none of the nodes
    job(SLURMD_NODENAME="n2")
    assert (usable_cores(root).value, available_memory(root).value) == (4, 1000 << 20)
    assert "Slurm" in usable_cores(root).origin and "Slurm" in available_memory(root).origin
    job(SLURM_MEM_PER_NODE=0)  # all
    assert available_memory(root).value == 20 << 30
    monkeypatch.delenv("SLURM_MEM_PER_NODE")
    job(SLURM_MEM_PER_CPU=500)
    assert available_memory(root).value == 2000 << 20


def test_the_launcher_starts_one_task_on_each_node_whatever_the_job_says_of_tasks(job):
    given = {"PMI_RANK": "0", "PMIX_RANK": "0", "PMIX_MCA_gds": "hash", "SLURM_NTASKS_PER_NODE": "4", "HOME": "/"}
    assert slurm.environment_of_launcher(given) == given
    job()
    assert slurm.environment_of_launcher(given) == {name: given[name] for name in given if "NTASKS" not in name}
    given["SLURM_JOB_NODELIST"] = "n[1-3]"
    through = slurm.environment_of_launcher(given, 3, 2)
    assert (through["SLURM_NODELIST"], through["SLURM_TASKS_PER_NODE"]) == ("n[1-3]", "2(x3)")
    del given["SLURM_JOB_NODELIST"]
    job(SLURM_STEP_ID=0)
    assert slurm.environment_of_launcher(given) == {"PMIX_MCA_gds": "hash", "HOME": "/", "SLURM_OVERLAP": "1"}


def plan_lines(run, spillway, *options):
    text = run(spillway, "run", "--dry-run", *options, "true").stdout
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def test_the_plan_names_the_job(run, spillway, scontrol, job, flavour):
    scontrol()
    job(SLURM_NTASKS=96)
    lines = plan_lines(run, spillway, "--mpi", flavour, "--address", "10.0.0.9", "--placement", "cyclic")
    assert lines["ranks"] == "96  (tasks of Slurm job 17)"
    assert lines["hosts"] == "n1, n2, n3  (of Slurm job 17; ranks in cyclic order)"
    assert lines["racks"] == "leaf1, leaf2"
    assert "n1" in lines["command"] and lines["command"].endswith("-rank true")
    if flavour == "mpich":
        assert "-launcher slurm" in lines["command"]


def test_hosts_that_are_named_are_not_reached_through_slurm(run, spillway, scontrol, job, flavour):
    scontrol()
    job(SLURM_NTASKS=96)
    text = run(spillway, "run", "--dry-run", "--mpi", flavour, "--hosts", "127.0.0.1,10.0.0.1", "true").stdout
    assert "Slurm" not in text and "-launcher slurm" not in text
    assert ("HYDRA_RMK=user" if flavour == "mpich" else "OMPI_MCA_plm=^slurm") in text
    assert "2  (one on each host)" in text
