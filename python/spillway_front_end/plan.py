"""Everything that is decided before a job starts."""

import os
from typing import Dict, List, NamedTuple, Optional, Sequence

from .errors import LaunchError
from .machine import Figure, available_memory, total_memory, usable_cores
from .mpi_launcher import Launcher, find_launcher, launcher_command, library_settings
from .mpi_library import TITLES, MpiLibrary, find_program, mpi_library_of, preloaded_library
from .sizes import format_size, parse_size
from .spill_directory import SpillDirectory, choose_spill_directories

_DEFAULT_MEMORY_PERCENT = 80  # the rest is for the page cache and for what others start meanwhile
_LEAST_BUDGET = 16 << 20
_MOST_RANKS = 65536
_LOOPBACK = "127.0.0.1"


class RunOptions(NamedTuple):
    """The options of `spillway run`, as given; None: not given."""

    program: List[str]
    ranks: Optional[int] = None
    slots: Optional[int] = None
    memory: Optional[str] = None
    spill_dirs: Sequence[str] = ()
    ranks_per_node: Optional[int] = None
    hosts: Optional[str] = None
    mpi: Optional[str] = None
    summary: str = "text"
    summary_file: Optional[str] = None
    strategy: str = "auto"
    checksums: bool = True
    detect_deadlock: bool = False
    dry_run: bool = False


class Plan(NamedTuple):
    program: List[str]
    library: MpiLibrary
    launcher: Launcher
    ranks: Figure
    slots: Figure
    cores: Figure
    budget: Figure
    spills: List[SpillDirectory]
    preload: str
    agent: str
    rank_program: str
    strategy: str
    keeps_checksums: bool
    detects_deadlock: bool
    ranks_per_node: Optional[Figure]  # of virtual nodes on this machine; None: all ranks are on one node
    warnings: List[str]

    @property
    def node_count(self) -> int:
        return -(-self.ranks.value // self.ranks_per_node.value) if self.ranks_per_node else 1

    def mpi_command(self) -> List[str]:
        return launcher_command(self.library, self.launcher, self.ranks.value) + [self.rank_program] + self.program

    def environment(self) -> Dict[str, str]:
        return {**os.environ, **library_settings(self.library)}

    def agent_command(self, report_descriptor: int) -> List[str]:
        command = [self.agent]
        for name, value in (
            ("ranks", self.ranks.value),
            ("slots", self.slots.value),
            ("memory", self.budget.value),
            ("spill-dir", ":".join(spill.path for spill in self.spills)),
            ("preload", self.preload),
            ("cpus", self.cores.value),
            ("strategy", self.strategy),
            ("report-fd", report_descriptor),
        ):
            command += [f"--{name}", str(value)]
        command += [] if self.keeps_checksums else ["--no-checksums"]
        if self.ranks_per_node:
            command += ["--listen", _LOOPBACK, "--ranks-per-node", str(self.ranks_per_node.value)]
        return command + (["--detect-deadlock"] if self.detects_deadlock else []) + ["--"] + self.mpi_command()


def make_plan(options: RunOptions, library_directory: str) -> Plan:
    """Raises LaunchError when the job cannot be started."""
    cores = usable_cores()
    asked_slots = _count("--slots", options.slots)
    per_node = _count("--ranks-per-node", options.ranks_per_node)
    if per_node:
        unasked = Figure(per_node.value, "as --ranks-per-node")
    else:
        unasked = Figure((asked_slots or cores).value, "as many as slots")
    ranks = _count("-n", options.ranks) or unasked
    if per_node and per_node.value >= ranks.value:
        per_node = None
    nodes = -(-ranks.value // per_node.value) if per_node else 1
    if nodes > 1:
        cores = Figure(max(1, cores.value // nodes), f"of each of {nodes} nodes on this machine")
    slots = asked_slots or cores
    most = per_node or ranks
    if slots.value > most.value:
        slots = Figure(most.value, "as many as ranks")
    _check_hosts(options)
    _check_deadlock_watch(options, nodes)
    warnings: List[str] = []
    budget = _budget(options.memory, nodes, warnings)
    library = mpi_library_of(find_program(options.program[0]), options.mpi)
    launcher = find_launcher(library)
    spills = choose_spill_directories(options.spill_dirs, budget.value, options.memory is not None)
    warnings += [spill.warning for spill in spills if spill.warning]
    preload = preloaded_library(library_directory, library, options.mpi)
    own = [os.path.join(library_directory, name) for name in ("spillway-node", "spillway-rank")]
    for path in own:
        if not os.path.exists(path):
            raise LaunchError(f"this installation of Spillway has no {path}", "build or install it again")
    return Plan(
        options.program,
        library,
        launcher,
        ranks,
        slots,
        cores,
        budget,
        spills,
        preload,
        *own,
        options.strategy,
        options.checksums,
        options.detect_deadlock,
        per_node,
        warnings,
    )


def _count(option: str, value: Optional[int]) -> Optional[Figure]:
    if value is None:
        return None
    if not 1 <= value <= _MOST_RANKS:
        raise LaunchError(
            f"{option} {value}: must be between 1 and {_MOST_RANKS}",
            f"leave it away for the default, or ask for {'1 or more' if value < 1 else f'{_MOST_RANKS} or less'}",
        )
    return Figure(value, "asked for")


def _budget(asked: Optional[str], nodes: int, warnings: List[str]) -> Figure:
    """Of each node; all are on this machine."""
    available = available_memory()
    if asked is None:
        value = available.value * _DEFAULT_MEMORY_PERCENT // 100 // nodes
        origin = f"{_DEFAULT_MEMORY_PERCENT}% of {format_size(available.value)}, {available.origin}"
        origin += f", for {nodes} nodes" if nodes > 1 else ""
    else:
        value, origin = parse_size(asked), "asked for"
        of_all = f"--memory {format_size(value)}" + (f" for each of {nodes} nodes" if nodes > 1 else "")
        if nodes * value > available.value:
            warnings.append(
                f"{of_all} is more than the {available.origin} "
                f"({format_size(available.value)}); the kernel may swap, or kill ranks"
            )
        if nodes * value > total_memory():
            raise LaunchError(
                f"{of_all} is more than this machine has ({format_size(total_memory())})",
                "leave --memory away, or ask for less",
            )
    if value < _LEAST_BUDGET:
        raise LaunchError(
            f"a memory budget of {format_size(value)} ({origin}) is too small to run anything",
            f"ask for at least {format_size(_LEAST_BUDGET)}",
        )
    return Figure(value, origin)


def _own_names() -> List[str]:
    name = os.uname().nodename
    return ["localhost", "127.0.0.1", "::1", name.lower(), name.split(".")[0].lower()]


def _check_hosts(options: RunOptions) -> None:
    remedy = "run all ranks on this machine: leave --hosts away"
    hosts = dict.fromkeys(host.strip().lower() for host in (options.hosts or "").split(",") if host.strip())
    if options.hosts is not None and not hosts:
        raise LaunchError("--hosts names no host", remedy)
    for host in hosts:
        if host not in _own_names():
            raise LaunchError(
                f"--hosts {options.hosts}: jobs over several machines are not supported in this version, and "
                f"`{host}` is not this machine ({os.uname().nodename})",
                remedy,
            )


def _check_deadlock_watch(options: RunOptions, nodes: int) -> None:
    if options.detect_deadlock and nodes > 1:
        raise LaunchError(
            "--detect-deadlock does not work with several nodes in this version: no node sees the ranks of the others",
            "leave --detect-deadlock or --ranks-per-node away",
        )


def render_plan(plan: Plan) -> str:
    import shlex  # for --dry-run only

    settings = library_settings(plan.library)
    kind = f"{plan.library.path or '(named by --mpi)'}"
    rows = (
        ("MPI library", f"{TITLES[plan.library.flavour]}, {kind}"),
        ("MPI launcher", f"{plan.launcher.path} (version {plan.launcher.version})"),
        ("preloaded", plan.preload),
        ("ranks", f"{plan.ranks.value}  ({plan.ranks.origin})"),
        *(
            [("nodes", f"{plan.node_count}, of {plan.ranks_per_node.value} ranks each, on this machine")]
            if plan.ranks_per_node
            else []
        ),
        ("slots", f"{plan.slots.value}  ({plan.slots.origin})"),
        ("memory budget", f"{format_size(plan.budget.value)}  ({plan.budget.origin})"),
        *(
            ("spill directory", f"{spill.path}  ({spill.file_system}, {format_size(spill.free_bytes)} free)")
            for spill in plan.spills
        ),
        ("strategy", plan.strategy),
        ("checksums", "of what is spilled" if plan.keeps_checksums else "none"),
        ("MPI settings", " ".join(f"{name}={value}" for name, value in settings.items()) or "none"),
        ("command", shlex.join(plan.mpi_command())),
    )
    return "".join(f"{name:<16} {value}\n" for name, value in rows)
