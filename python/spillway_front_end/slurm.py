"""What Slurm says of the job that we run in: its nodes, its tasks, and which nodes share a switch.

Names of nodes come compressed, as in `node[01-16,20]`; only Slurm's own `scontrol` knows how to write them out.
"""

import os
from typing import Dict, List, NamedTuple, Optional, Tuple

from .errors import LaunchError
from .subprocess_output import output_of

_BETWEEN_SWITCHES = "spillway-next-switch"  # stands where a node's name would

# They say what each task gets that the user starts with srun, and srun takes them as options. The launchers of the MPI
# libraries start one task on each node, which is to have all that the job has there.
_OF_TASKS = ("SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")
# A rank is known by such variables; those that srun gives a step of one task would make each of ours rank 0.
_OF_RANKS = ("PMI_", "PMIX_")
_OF_USERS = "PMIX_MCA_"


class Allocation(NamedTuple):
    job: str
    names: List[str]


def job_here() -> Optional[str]:
    """The number of the Slurm job that we are part of."""
    return os.environ.get("SLURM_JOB_ID") if os.environ.get("SLURM_JOB_NODELIST") else None


def own_name() -> str:
    """What Slurm calls this machine; empty where we are none of its nodes, as in the shell that salloc gives."""
    return os.environ.get("SLURMD_NODENAME", "") if job_here() else ""


def is_in_step() -> bool:
    """Started by srun: what a step uses, others wait for unless they are told not to."""
    return job_here() is not None and "SLURM_STEP_ID" in os.environ


def allocation() -> Optional[Allocation]:
    """The job's nodes; None outside of Slurm."""
    job = job_here()
    if job is None:
        return None
    _check_started_once()
    return Allocation(job, _written_out(os.environ["SLURM_JOB_NODELIST"], job))


def _number(name: str) -> Optional[int]:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def _tasks_of_step() -> Optional[int]:
    """Of the step that we are a task of. A job that is submitted from a step inherits the variable, but has its own
    SLURM_NTASKS."""
    tasks = _number("SLURM_STEP_NUM_TASKS")
    return tasks if is_in_step() and tasks == _number("SLURM_NTASKS") else None


def task_count() -> Optional[int]:
    """The tasks that the job was made for (sbatch -n), if that was said. In a step only its own ones are known."""
    return _number("SLURM_NTASKS") if job_here() and _tasks_of_step() is None else None


def _check_started_once() -> None:
    copies = _tasks_of_step() or 1
    if copies > 1:
        raise LaunchError(
            f"srun has started `spillway` {copies} times, and each would start the whole job",
            f"start it once, without srun or by `srun -n 1`: spillway run -n {copies} ...; for a job of each copy's "
            "own, on its node alone, say --hosts localhost",
        )


def _scontrol(*words: str) -> Tuple[int, List[str]]:
    for directory in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(directory or ".", "scontrol")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            status, output = output_of([path, "show", *words])
            return status, output.splitlines()
    return 127, ["it is not in PATH"]


def _written_out(names: str, job: str) -> List[str]:
    if not set(names) & set("[,"):
        return [names]
    status, lines = _scontrol("hostnames", names)
    found = [line for line in lines if line and " " not in line]  # warnings have more words
    if status != 0 or not found:
        raise LaunchError(
            f"cannot learn the nodes of Slurm job {job} ({names}) from `scontrol`: {' '.join(lines) or 'no answer'}",
            "put it into PATH, or name the machines with --hosts",
        )
    return found


def racks_of(names: List[str]) -> Dict[str, str]:
    """Of each node, the switch that it is connected to; empty where Slurm knows of no switches, or they share one."""
    status, lines = _scontrol("topology")
    leaves = []
    for line in lines if status == 0 else []:
        switch = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if switch.get("Level") == "0" and switch.get("SwitchName") and switch.get("Nodes"):
            leaves.append(switch)
    if not leaves:
        return {}
    status, lines = _scontrol("hostnames", ",".join(f"{_BETWEEN_SWITCHES},{leaf['Nodes']}" for leaf in leaves))
    switches: Dict[str, str] = {}
    number = -1
    for name in lines if status == 0 else []:
        if name == _BETWEEN_SWITCHES:
            number += 1
        elif 0 <= number < len(leaves):
            switches[name] = leaves[number]["SwitchName"]
    racks = {name: switches.get(name, "no switch") for name in names}
    return racks if len(set(racks.values())) > 1 else {}


def cores_here() -> Optional[int]:
    """That the job has on this node, where it says so."""
    return _number("SLURM_CPUS_ON_NODE") if own_name() else None


def memory_here() -> Optional[int]:
    """Bytes that the job was given on this node, whether or not a control group keeps it to them."""
    if not own_name():
        return None
    of_node, of_core, cores = _number("SLURM_MEM_PER_NODE"), _number("SLURM_MEM_PER_CPU"), cores_here()
    if of_node is None and of_core is not None and cores is not None:
        of_node = of_core * cores
    return of_node << 20 if of_node else None  # 0: all that there is


def environment_of_launcher(environment: Dict[str, str], nodes: int = 0, tasks_of_node: int = 0) -> Dict[str, str]:
    """Of the MPI launcher: it finds so many nodes with room for so many tasks each (none: it is not to use Slurm), and
    may start a task of its own on each, also while we are in a step."""
    if job_here() is None:
        return environment
    kept = {name: value for name, value in environment.items() if name not in _OF_TASKS}
    if nodes:
        kept["SLURM_NODELIST"] = kept["SLURM_JOB_NODELIST"]
        kept["SLURM_NNODES"] = str(nodes)
        kept["SLURM_TASKS_PER_NODE"] = f"{tasks_of_node}(x{nodes})"
    if not is_in_step():
        return kept
    of_ranks = [name for name in kept if name.startswith(_OF_RANKS) and not name.startswith(_OF_USERS)]
    return {**{name: value for name, value in kept.items() if name not in of_ranks}, "SLURM_OVERLAP": "1"}
