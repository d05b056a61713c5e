"""The launcher that belongs to an MPI library, and the command that starts ranks with it."""

import os
from typing import Dict, Iterator, List, NamedTuple, Optional

from . import slurm
from .errors import LaunchError
from .hosts import HostList, is_this_machine
from .mpi_library import TITLES, MpiLibrary
from .subprocess_output import output_of

_NAMES = {
    "mpich": ("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"),
    "openmpi": ("mpiexec.openmpi", "mpiexec", "mpirun"),
}
# What the launchers of each family say of themselves with --version.
_SIGNS = {"mpich": ("HYDRA", "MPICH", "Intel(R) MPI", "MVAPICH"), "openmpi": ("OpenRTE", "Open MPI", "PRRTE")}
# Few of the program's messages go through the MPI library, yet MPICH's shared-memory transports fill receive buffers of
# 4 to 5 MiB in every rank at its start, which the budget has to pay for. With these it is less than 1 MiB. The last
# three keep libraries that MPICH loads from catching signals: UCX the one of a hang-up, for its debugger; drivers of
# network adapters those of a crash, which they would turn into exit status 1, or hang in.
_SETTINGS = {
    "mpich": {
        "UCX_POSIX_FIFO_SIZE": "32",
        "UCX_POSIX_RX_BUFS_GROW": "32",
        "UCX_SYSV_FIFO_SIZE": "32",
        "UCX_SYSV_RX_BUFS_GROW": "32",
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS": "8",
        "UCX_DEBUG_SIGNO": "0",
        "HFI_NO_BACKTRACE": "1",
        "IPATH_NO_BACKTRACE": "1",
    },
    "openmpi": {},
}
# In a Slurm job, the launchers start ranks on all of its nodes, through Slurm, unless they are kept from asking for
# them.
_SETTINGS_BESIDE_SLURM = {
    "mpich": {"HYDRA_RMK": "user"},
    "openmpi": {name: "^slurm" for name in ("OMPI_MCA_ras", "OMPI_MCA_plm", "PRTE_MCA_ras", "PRTE_MCA_plm")},
}
_MOST_CHARACTERS = 130_000  # of a word on a command line, as Linux has it
_LEVELS_ABOVE_LIBRARY = 4  # <prefix>/lib/<machine>/<mpi>/lib/libmpi.so.40 has its launcher in <prefix>/bin


class Launcher(NamedTuple):
    path: str
    version: str


def _places(library: MpiLibrary) -> Iterator[str]:
    for start in dict.fromkeys((library.path, os.path.realpath(library.path))) if library.path else ():
        directory = os.path.dirname(start)
        for _ in range(_LEVELS_ABOVE_LIBRARY):
            yield os.path.join(directory, "bin")
            directory = os.path.dirname(directory)
    yield from os.environ.get("PATH", os.defpath).split(":")


def find_launcher(library: MpiLibrary) -> Launcher:
    """The launcher nearest to the library; else the first of its family in PATH."""
    seen = set()
    for directory in _places(library):
        for name in _NAMES[library.flavour]:
            # Open MPI takes the path it is called by as its prefix, and refuses /bin (a link to /usr/bin).
            path = os.path.join(os.path.realpath(directory or "."), name)
            if path in seen or not os.access(path, os.X_OK) or os.path.isdir(path):
                continue
            seen.add(path)
            _, output = output_of([path, "--version"])
            if any(sign in output for sign in _SIGNS[library.flavour]):
                return Launcher(path, _version_in(output))
    raise LaunchError(
        f"no launcher (mpiexec) of {TITLES[library.flavour]} found, neither near "
        f"{library.path or 'its library'} nor in PATH",
        "install it beside the library (Debian: mpich or openmpi-bin), or put its directory into PATH",
    )


def _version_in(output: str) -> str:
    for line in output.splitlines():
        for word in line.split():
            if word[:1].isdigit() and "." in word:
                return word
    return "unknown version"


def _major(version: str) -> int:
    digits = version.split(".")[0]
    return int(digits) if digits.isdigit() else 0


def has_sessions(library: MpiLibrary, launcher: Launcher) -> bool:
    """Whether it keeps a directory of each job in one of the user's (src/launch/mpi_session.h): PRRTE does not."""
    return library.flavour == "openmpi" and 0 < _major(launcher.version) < 5


# What Open MPI's launcher hands on to other hosts only when it is told to (src/node/attach_protocol.h).
_RANK_VARIABLES = ("SOCKET", "PRELOAD", "RANKS_PER_NODE", "NODE_COMMAND", "JOIN", "SECRET")


def _host_of_each_rank(hosts: HostList, ranks: int) -> str:
    """Open MPI's launcher takes its own machine first, wherever the list has it, unless the list is of ranks."""
    most = hosts.most_ranks(ranks)
    numbers = (rank // most if hosts.placement == "block" else rank % len(hosts.names) for rank in range(ranks))
    listed = ",".join(hosts.names[number] for number in numbers)
    if len(listed) > _MOST_CHARACTERS:
        raise LaunchError(
            f"the command of Open MPI's launcher for {ranks} ranks would be too long",
            "name this machine as the first host",
        )
    return listed


def _host_options(library: MpiLibrary, ranks: int, hosts: HostList) -> List[str]:
    """So that each host has the ranks that the placement says, the launcher being told of as many places as needed."""
    most = hosts.most_ranks(ranks)
    if library.flavour == "mpich":
        # Where the name of this machine means its loopback interface, as on Debian, others would not reach it by that.
        words = ["-launcher", "slurm"] if hosts.slurm_job else []
        words += ["-localhost", hosts.address, "-hosts", ",".join(hosts.names)]
        return [*words, "-ppn", str(most if hosts.placement == "block" else 1)]
    if any(is_this_machine(name) for name in hosts.names[1:]):
        words = ["--host", _host_of_each_rank(hosts, ranks), "--map-by", "seq"]
    else:
        words = ["--host", ",".join(f"{name}:{most}" for name in hosts.names)]
        words += ["--map-by", "slot" if hosts.placement == "block" else "node"]
    names = [f"SPILLWAY_{name}" for name in _RANK_VARIABLES]
    names += [name for name in os.environ if name.startswith("MPI_D_")]
    names += ["PYTHONPATH"] if "MPI_D_LIBRARY" in os.environ else []  # as mpidrun has extended it
    return words + [word for name in names for word in ("-x", name)]


def launcher_command(
    library: MpiLibrary, launcher: Launcher, ranks: int, hosts: Optional[HostList] = None
) -> List[str]:
    """Options that let many more ranks than cores run, anywhere; the slots are what limits them.

    MPICH's launcher needs none. It binds nobody; told not to, it fails in MPI_Comm_spawn (4.3, 5.0).
    """
    command = [launcher.path]
    if library.flavour == "openmpi":
        # PRRTE, the launcher since version 5, knows no --quiet.
        command += [*([] if _major(launcher.version) >= 5 else ["--quiet"]), "--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    return command + (_host_options(library, ranks, hosts) if hosts else []) + ["-n", str(ranks)]


def library_settings(library: MpiLibrary, hosts: Optional[HostList] = None) -> Dict[str, str]:
    """What the environment tells the MPI library, except where the user has told it something else."""
    settings = _SETTINGS[library.flavour]
    if slurm.job_here() and not (hosts and hosts.slurm_job):
        settings = {**settings, **_SETTINGS_BESIDE_SLURM[library.flavour]}
    return {name: value for name, value in settings.items() if name not in os.environ}
