"""Everything that is decided before a job starts."""

import os
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import slurm
from .broadcasts import rules_of
from .errors import LaunchError
from .host_options import HostOptions, node_words
from .hosts import HostList, hosts_of_file, hosts_of_job
from .machine import Figure, available_memory, total_memory, usable_cores
from .mpi_launcher import Launcher, find_launcher, has_sessions, launcher_command, library_settings
from .mpi_library import TITLES, MpiLibrary, find_program, mpi_library_of, preloaded_library
from .own_keeping import OwnKeeping
from .sizes import format_size, parse_size
from .spill_directory import SpillDirectory, choose_spill_directories

_DEFAULT_MEMORY_PERCENT = 80  # the rest is for the page cache and for what others start meanwhile
_LEAST_BUDGET = 16 << 20
_MOST_RANKS = 65536
_LOOPBACK = "127.0.0.1"
_MOST_PATH_CHARACTERS = 4000  # what the agent can hand on (src/node/attach_protocol.h)


class RunOptions(NamedTuple):
    """The options of `spillway run`, as given; None: not given."""

    program: List[str]
    ranks: Optional[int] = None
    slots: Optional[int] = None
    memory: Optional[str] = None
    spill_dirs: Sequence[str] = ()
    ranks_per_node: Optional[int] = None
    hosts: Optional[str] = None
    hostfile: Optional[str] = None
    placement: str = "block"
    address: Optional[str] = None
    racks: Optional[str] = None
    broadcasts: Optional[str] = None
    mpi: Optional[str] = None
    summary: str = "text"
    summary_file: Optional[str] = None
    strategy: str = "auto"
    checksums: bool = True
    detect_deadlock: bool = False
    dry_run: bool = False
    own_keeping: Optional[OwnKeeping] = None  # of programs for which nothing is unloaded
    left_out: Sequence[str] = ()  # of the hosts that are named


class Plan(NamedTuple):
    program: List[str]
    library: MpiLibrary
    launcher: Launcher
    ranks: Figure
    node: Optional["NodePlan"]  # of each node; None: each host makes its own
    preload: str
    agent: str
    rank_program: str
    strategy: str
    keeps_checksums: bool
    detects_deadlock: bool
    ranks_per_node: Optional[Figure]  # of virtual nodes; None: all ranks of a host are on one node
    hosts: Optional[HostList]  # None: this machine alone
    broadcasts: Optional[str]  # rules for their ways between nodes; None: the built-in ones
    node_command: List[str]  # starts the agent of a host
    warnings: List[str]

    def mpi_command(self) -> List[str]:
        start = launcher_command(self.library, self.launcher, self.ranks.value, self.hosts)
        return start + [self.rank_program] + self.program

    def environment(self) -> Dict[str, str]:
        environment = {**os.environ, **library_settings(self.library, self.hosts)}
        if self.hosts and self.hosts.slurm_job:
            most = self.hosts.most_ranks(self.ranks.value)
            return slurm.environment_of_launcher(environment, len(self.hosts.names), most)
        return slurm.environment_of_launcher(environment)

    def agent_command(self, report_descriptor: int) -> List[str]:
        command = [self.agent, "--ranks", str(self.ranks.value), "--report-fd", str(report_descriptor)]
        command += ["--preload", self.preload]
        if self.node:
            command += self.node.words() + ["--strategy", self.strategy]
            command += [] if self.keeps_checksums else ["--no-checksums"]
        command += ["--detect-deadlock"] if self.detects_deadlock else []
        command += ["--sessions"] if has_sessions(self.library, self.launcher) else []
        command += ["--broadcasts", self.broadcasts] if self.broadcasts else []
        if self.hosts:
            command += ["--ring", self.hosts.ring()] if self.hosts.racks else []
            command += ["--listen", self.hosts.address, "--node-command", "".join(f"{w}\n" for w in self.node_command)]
        elif self.ranks_per_node:
            command += ["--listen", _LOOPBACK]
        if self.ranks_per_node:
            command += ["--ranks-per-node", str(self.ranks_per_node.value)]
        return command + ["--"] + self.mpi_command()


class NodePlan(NamedTuple):
    """What a node gives to its ranks."""

    slots: Figure
    cores: Figure
    budget: Figure
    spills: List[SpillDirectory]

    def words(self) -> List[str]:
        """For spillway-node."""
        figures = (("slots", self.slots.value), ("memory", self.budget.value), ("cpus", self.cores.value))
        words = [word for name, value in figures for word in (f"--{name}", str(value))]
        return [*words, "--spill-dir", ":".join(spill.path for spill in self.spills)]


def make_node_plan(
    slots: Optional[Figure],
    memory: Optional[str],
    spill_dirs: Sequence[str],
    most_ranks: int,
    nodes: int,
    own_keeping: Optional[OwnKeeping] = None,
) -> Tuple[NodePlan, List[str]]:
    """Of each of `nodes` nodes on this machine, which have at most so many ranks; and warnings."""
    warnings: List[str] = []
    cores = usable_cores()
    if nodes > 1:
        cores = Figure(max(1, cores.value // nodes), f"of each of {nodes} nodes on this machine")
    slots = slots or cores
    if slots.value > most_ranks:
        slots = Figure(most_ranks, "as many as ranks")
    if own_keeping is None:
        budget = _budget(memory, nodes, warnings)
        spills = choose_spill_directories(spill_dirs, nodes * budget.value, memory is not None)
    else:
        budget = _budget(memory, nodes, warnings, own_keeping.memory_percent, own_keeping.more_bytes)
        spills = own_keeping.spill_directories(spill_dirs)
    if len(":".join(spill.path for spill in spills)) > _MOST_PATH_CHARACTERS:
        raise LaunchError("the names of the spill directories are too long", "give fewer of them, or shorter ones")
    warnings += [spill.warning for spill in spills if spill.warning]
    return NodePlan(slots, cores, budget, spills), warnings


def make_plan(options: RunOptions, library_directory: str) -> Plan:
    """Raises LaunchError when the job cannot be started."""
    per_node = _count("--ranks-per-node", options.ranks_per_node)
    hosts = hosts_of_job(
        options.hosts, options.hostfile, options.placement, options.address, options.racks, options.left_out
    )
    if hosts is None and options.hostfile is not None:
        of_all = HostOptions(options.slots, options.memory, tuple(options.spill_dirs))
        own = next(iter(hosts_of_file(options.hostfile, options.left_out).values())).before(of_all)
        options = options._replace(**own._asdict())
    asked_slots = _count("--slots", options.slots)
    are_named = options.hosts is not None or options.hostfile is not None
    if options.broadcasts is not None and not (per_node or are_named or slurm.job_here()):
        raise LaunchError("--broadcasts is for jobs on several nodes", "leave it away, or name --hosts")
    tasks = None if are_named else _count("SLURM_NTASKS", slurm.task_count())
    if tasks:
        unasked = Figure(tasks.value, f"tasks of Slurm job {slurm.job_here()}")
    elif per_node:
        unasked = Figure(per_node.value, "as --ranks-per-node")
    elif hosts:
        unasked = Figure(len(hosts.names), "one on each host")
    else:
        unasked = Figure((asked_slots or usable_cores()).value, "as many as slots")
    ranks = _count("-n", options.ranks) or unasked
    ranks_of_host = hosts.most_ranks(ranks.value) if hosts else ranks.value
    if per_node and per_node.value >= ranks_of_host:
        per_node = None
    nodes_of_host = -(-ranks_of_host // per_node.value) if per_node else 1
    node, warnings, node_command = None, [], []
    if hosts:
        node_command = _node_command(options, ranks.value, per_node, nodes_of_host, hosts)
    else:
        most = per_node.value if per_node else ranks.value
        node, warnings = make_node_plan(
            asked_slots, options.memory, options.spill_dirs, most, nodes_of_host, _keeping_of_node(options, most)
        )
    library = mpi_library_of(find_program(options.program[0]), options.mpi)
    launcher = find_launcher(library)
    preload = preloaded_library(library_directory, library, options.mpi)
    own = [os.path.join(library_directory, name) for name in ("spillway-node", "spillway-rank")]
    for path in own:
        if not os.path.exists(path):
            raise LaunchError(f"this installation of Spillway has no {path}", "build or install it again")
    return Plan(
        program=options.program,
        library=library,
        launcher=launcher,
        ranks=ranks,
        node=node,
        preload=preload,
        agent=own[0],
        rank_program=own[1],
        strategy=options.strategy,
        keeps_checksums=options.checksums,
        detects_deadlock=options.detect_deadlock,
        ranks_per_node=per_node,
        hosts=hosts,
        broadcasts=rules_of(options.broadcasts) if options.broadcasts is not None else None,
        node_command=node_command,
        warnings=warnings,
    )


def _keeping_of_node(options: RunOptions, ranks: int, hosts: int = 1) -> Optional[OwnKeeping]:
    return options.own_keeping and options.own_keeping.of_node(ranks, hosts)


def _node_command(
    options: RunOptions, ranks: int, per_node: Optional[Figure], nodes_of_host: int, hosts: HostList
) -> List[str]:
    """What it asks for is met, or refused, on each host: hosts differ. What no host can meet is refused here."""
    for memory in {options.memory, *(own.memory for own in hosts.options.values())} - {None}:
        _check_least(parse_size(memory), "asked for")
    spillway = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "spillway")  # this may be mpidrun
    words = [spillway, "node", "--ranks", str(ranks), "--nodes-here", str(nodes_of_host)]
    words += ["--ranks-here", str(per_node.value if per_node else ranks)]
    words += ["--slots", str(options.slots)] if options.slots is not None else []
    words += ["--memory", options.memory] if options.memory is not None else []
    for directory in options.spill_dirs:
        words += ["--spill-dir", os.path.abspath(directory)]
    words += [*node_words(hosts.options_elsewhere()), "--strategy", options.strategy]
    of_node = per_node.value if per_node else hosts.most_ranks(ranks)
    keeping = _keeping_of_node(options, of_node, len(hosts.names))
    words += ["--own-keeping", keeping.as_word()] if keeping else []
    words += [] if options.checksums else ["--no-checksums"]
    return words + (["--detect-deadlock"] if options.detect_deadlock else [])


def _count(option: str, value: Optional[int]) -> Optional[Figure]:
    if value is None:
        return None
    if not 1 <= value <= _MOST_RANKS:
        raise LaunchError(
            f"{option} {value}: must be between 1 and {_MOST_RANKS}",
            f"leave it away for the default, or ask for {'1 or more' if value < 1 else f'{_MOST_RANKS} or less'}",
        )
    return Figure(value, "asked for")


def _budget(
    asked: Optional[str], nodes: int, warnings: List[str], percent: int = _DEFAULT_MEMORY_PERCENT, more: int = 0
) -> Figure:
    """Of each node; all are on this machine. `more`: so many bytes beyond what is asked for, or is the default."""
    available = available_memory()
    if asked is None:
        value = available.value * percent // 100 // nodes + more
        origin = f"{percent}% of {format_size(available.value)}, {available.origin}"
        origin += f", for {nodes} nodes" if nodes > 1 else ""
    else:
        value, origin = parse_size(asked) + more, "asked for"
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
    _check_least(value, origin)
    return Figure(value, origin)


def _check_least(value: int, origin: str) -> None:
    if value < _LEAST_BUDGET:
        raise LaunchError(
            f"a memory budget of {format_size(value)} ({origin}) is too small to run anything",
            f"ask for at least {format_size(_LEAST_BUDGET)}",
        )


def render_plan(plan: Plan) -> str:
    import shlex  # for --dry-run only

    settings = library_settings(plan.library, plan.hosts)
    kind = f"{plan.library.path or '(named by --mpi)'}"
    rows = (
        ("MPI library", f"{TITLES[plan.library.flavour]}, {kind}"),
        ("MPI launcher", f"{plan.launcher.path} (version {plan.launcher.version})"),
        ("preloaded", plan.preload),
        ("ranks", f"{plan.ranks.value}  ({plan.ranks.origin})"),
        *_node_rows(plan),
        ("strategy", plan.strategy),
        ("checksums", "of what is spilled" if plan.keeps_checksums else "none"),
        ("MPI settings", " ".join(f"{name}={value}" for name, value in settings.items()) or "none"),
        ("command", shlex.join(plan.mpi_command())),
    )
    return "".join(f"{name:<16} {value}\n" for name, value in rows)


def _node_rows(plan: Plan) -> List[Tuple[str, str]]:
    rows = []
    if plan.hosts:
        job = f"of Slurm job {plan.hosts.slurm_job}; " if plan.hosts.slurm_job else ""
        rows.append(("hosts", f"{', '.join(plan.hosts.names)}  ({job}ranks in {plan.hosts.placement} order)"))
        rows.append(("address", f"{plan.hosts.address}, where the hosts' agents report"))
        if plan.hosts.racks:
            rows.append(("racks", ", ".join(dict.fromkeys(plan.hosts.racks.values()))))
        own = [(f"of {name}", " ".join(options.words())) for name, options in plan.hosts.options.items()]
        rows += [(name, words) for name, words in own if words]
    if plan.ranks_per_node:
        rows.append(("nodes", f"of {plan.ranks_per_node.value} ranks each  ({plan.ranks_per_node.origin})"))
    if plan.node is None:
        return [*rows, ("slots, memory", "and spill directories: chosen on each host")]
    slots, _, budget, spills = plan.node
    rows.append(("slots", f"{slots.value}  ({slots.origin})"))
    rows.append(("memory budget", f"{format_size(budget.value)}  ({budget.origin})"))
    for spill in spills:
        rows.append(("spill directory", f"{spill.path}  ({spill.file_system}, {format_size(spill.free_bytes)} free)"))
    return rows
