"""`spillway tune`: measures which way broadcasts between the nodes of a job take best, and which nodes are near each
other, and writes rules and racks of that."""

import argparse
import contextlib
import datetime
import itertools
import json
import os
import shlex
import subprocess
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import ending_signals, help_text, rack_map, slurm
from .broadcasts import ALGORITHMS
from .errors import LaunchError
from .hosts import HostList, hosts_of_job
from .output_file import OutputFile
from .sizes import format_size, parse_size

_NEARLY = 0.95  # so much faster must another algorithm be than one that stands before it in ALGORITHMS

# Of the options of `spillway run`, those that say where a job runs: handed on.
_PASSED_ON = ("hosts", "hostfile", "address", "racks", "memory", "spill_dir", "mpi")

Times = Dict[Tuple[int, int], Dict[str, float]]  # microseconds, by nodes and bytes, and by algorithm


class Rule(NamedTuple):
    most_nodes: str
    most_bytes: str
    algorithm: str


def _fastest(times: Dict[str, float]) -> str:
    best = ALGORITHMS[0]
    for algorithm in ALGORITHMS[1:]:
        if times[algorithm] < _NEARLY * times[best]:
            best = algorithm
    return best


def rules_of_times(times: Times) -> List[Rule]:
    """Of sizes between two that were measured, the rule is that of the larger one."""
    rules = [Rule("2", "any", "flat")]
    counts = sorted({nodes for nodes, _ in times})
    for nodes in counts:
        sizes = sorted(size for of_nodes, size in times if of_nodes == nodes)
        best = [_fastest(times[nodes, size]) for size in sizes]
        for place, size in enumerate(sizes):
            is_last = place + 1 == len(sizes)
            if is_last or best[place + 1] != best[place]:
                most_nodes = "any" if nodes == counts[-1] else str(nodes)
                rules.append(Rule(most_nodes, "any" if is_last else str(size), best[place]))
    return rules


def page_of(times: Times, command: str) -> str:
    """The rules, with what was measured as comments: a file for --broadcasts."""
    lines = [f"Written by `{command}`, {datetime.date.today()}. Milliseconds of a broadcast, by algorithm:"]
    lines.append(f"{'nodes':>6} {'bytes':>10}" + "".join(f"{name:>19}" for name in ALGORITHMS))
    for (nodes, size), of_algorithm in sorted(times.items()):
        lines.append(f"{nodes:>6} {size:>10}" + "".join(f"{of_algorithm[name] / 1000:>19.3f}" for name in ALGORITHMS))
    page = "".join(f"# {line}\n" for line in lines) + "\n# most nodes, most bytes, algorithm\n"
    return page + "".join(f"{nodes:<8} {size:<10} {algorithm}\n" for nodes, size, algorithm in rules_of_times(times))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    from .command_line import HelpFormatter, Parser

    parser = Parser(
        prog="spillway tune",
        usage="spillway tune --hosts h,... [--output file] [--racks-output file] [options]",
        description=help_text.TUNE_ABOUT,
        epilog=help_text.TUNE_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("-h", "--help", action="help", help="show this text")
    add("--output", metavar="file", help="where the rules go, for `spillway run --broadcasts`")
    add(
        "--racks-output",
        metavar="file",
        help="where the racks that are found go, for `spillway run --racks`; broadcasts are then measured with them",
    )
    add(
        "--hosts",
        metavar="h,...",
        help="the machines to measure between, at least three (default: those of the Slurm job)",
    )
    add("--hostfile", metavar="file", help="the same from a file, a machine in each line")
    add("--virtual-nodes", type=int, metavar="n", help="so many virtual nodes of this machine instead, to try it")
    add("--address", metavar="ip", help="this machine's address that the others reach")
    add("--racks", metavar="file", help="the rack of each machine")
    add("--memory", metavar="size", help="memory budget of a node (default: as of `spillway run`)")
    add("--spill-dir", metavar="dir", help="spill directory (default: as of `spillway run`)")
    add("--mpi", metavar="name", help="MPI library to start with: mpich or openmpi (default: mpich, if it is there)")
    add("--most", metavar="size", default="32M", help="the longest broadcast that is measured (default: 32M)")
    options = parser.parse_args(list(arguments))
    _check(options)
    return options


def _check(options: argparse.Namespace) -> None:
    if options.output is None and options.racks_output is None:
        raise LaunchError(
            "it is not said what to measure",
            "name a file for the rules (--output), the racks (--racks-output), or one for each",
        )
    if options.racks_output is None:
        return
    if options.racks is not None:
        raise LaunchError("--racks says what --racks-output is to find out", "leave one of them away")
    if options.virtual_nodes is not None:
        raise LaunchError(
            "--virtual-nodes are all on this machine, and have no racks", "name hosts, or leave --racks-output away"
        )
    if options.output is not None and os.path.realpath(options.output) == os.path.realpath(options.racks_output):
        raise LaunchError("--output and --racks-output name the same file", "name one for each")


class _Place(NamedTuple):
    words: List[str]  # the options of `spillway run` that say where
    nodes: int
    hosts: Optional[HostList] = None  # None: this machine alone


def _place(options: argparse.Namespace) -> _Place:
    words = []
    for name in _PASSED_ON:
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", value] if value is not None else []
    if options.virtual_nodes is not None:
        if options.hosts or options.hostfile:
            raise LaunchError("--virtual-nodes are of this machine alone", "leave --hosts and --hostfile away")
        words += ["--hosts", "localhost"] if slurm.job_here() else []
        return _Place([*words, "--ranks-per-node", "1"], options.virtual_nodes)
    found = hosts_of_job(options.hosts, options.hostfile, "block", options.address, options.racks)
    return _Place(words, len(found.names) if found else 1, found)


def _measuring_program(library_directory: str, name: str, mpi: str) -> str:
    path = os.path.join(library_directory, "tune", f"{name}-{mpi}")
    if not os.path.exists(path):
        raise LaunchError(
            f"this installation of Spillway has no {path}", "name the MPI library that it was built for with --mpi"
        )
    return path


def _default_mpi(library_directory: str) -> str:
    for name in ("mpich", "openmpi"):
        if os.path.exists(os.path.join(library_directory, "tune", f"broadcast-times-{name}")):
            return name
    return "mpich"


class _Jobs:
    """Of one rank on each node. `folder` is for what they read and write."""

    def __init__(self, options: argparse.Namespace, library_directory: str, folder: str) -> None:
        self._mpi = options.mpi or _default_mpi(library_directory)
        self._library_directory = library_directory
        self.folder = folder
        self.place = _place(options)
        if self.place.nodes < 3:
            raise LaunchError(
                f"there is nothing to choose between {self.place.nodes} nodes", "name at least three with --hosts"
            )

    def run(self, what: str, program: str, options: Sequence[str], arguments: Sequence[str] = ()) -> str:
        """What the job writes. `what` it measures is for messages."""
        path = _measuring_program(self._library_directory, program, self._mpi)
        command = [os.path.realpath(sys.argv[0]), "run", "-n", str(self.place.nodes), "--slots", "1"]
        command += [*self.place.words, *options, path, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise LaunchError(f"the job that measured {what} has failed", "see its message above")
        return done.stdout


def _measure(jobs: _Jobs, racks: Sequence[str], most_bytes: int) -> Times:
    rules = os.path.join(jobs.folder, "rules")
    times: Times = {}
    for algorithm in ALGORITHMS:
        sys.stderr.write(f"measuring {algorithm} between {jobs.place.nodes} nodes, up to {format_size(most_bytes)}\n")
        with open(rules, "w", encoding="utf-8") as file:
            file.write(f"any any {algorithm}\n")
        options = [*racks, "--broadcasts", rules, "--summary", "none"]
        lines = jobs.run(f"`{algorithm}`", "broadcast-times", options, [str(most_bytes)]).splitlines()
        for nodes, size, microseconds in map(str.split, lines):
            times.setdefault((int(nodes), int(size)), {})[algorithm] = float(microseconds)
    if not times:
        raise LaunchError("nothing was measured", "ask for more than --most 1K")
    return times


def _numbers_of_hosts(nodes: Sequence[dict], hosts: HostList) -> Dict[int, int]:
    """Of each node."""
    numbers = hosts.numbers_of((node["host"], node["address"]) for node in nodes)
    for node, number in zip(nodes, numbers):
        if number is None:
            raise LaunchError(
                f"it is not known which of the hosts is {node['host']}, at {node['address']}",
                "name it so with --hosts, or by its address",
            )
    return {node["node_index"]: number for node, number in zip(nodes, numbers)}


def _measure_round_trips(jobs: _Jobs, hosts: HostList) -> rack_map.RoundTrips:
    sys.stderr.write(f"measuring round trips between {len(hosts.names)} hosts\n")
    path = os.path.join(jobs.folder, "summary")
    jobs.run("round trips", "round-trips", ["--summary", "json", "--summary-file", path])
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    round_trips = rack_map.round_trips_of(summary["links"], _numbers_of_hosts(summary["nodes"], hosts))
    for one, other in itertools.combinations(range(len(hosts.names)), 2):
        if (one, other) not in round_trips:
            raise LaunchError(
                f"the round trip between {hosts.names[one]} and {hosts.names[other]} is not known",
                "name each machine once, and see that their Linux is 4.10 or later",
            )
    return round_trips


def _page_of_racks(jobs: _Jobs, hosts: HostList, command: str) -> str:
    round_trips = _measure_round_trips(jobs, hosts)
    racks = rack_map.racks_of(round_trips)
    sys.stderr.write(f"{rack_map.finding_of(racks, round_trips)}\n")
    return rack_map.page_of(hosts.names, racks, round_trips, command)


def _write(options: argparse.Namespace, library_directory: str, command: str) -> str:
    """Measures and writes what is asked for; all of that as text."""
    most_bytes = parse_size(options.most)
    wanted = (("racks", options.racks_output), ("rules", options.output))
    with contextlib.ExitStack() as stack:
        files = {what: stack.enter_context(OutputFile(what, path)) for what, path in wanted if path is not None}
        jobs = _Jobs(options, library_directory, next(iter(files.values())).folder)
        pages = []
        racks = []
        if "racks" in files and jobs.place.hosts is not None:
            pages.append(_page_of_racks(jobs, jobs.place.hosts, command))
            files["racks"].write(pages[-1])
            racks = ["--racks", files["racks"].written]
        if "rules" in files:
            pages.append(page_of(_measure(jobs, racks, most_bytes), command))
            files["rules"].write(pages[-1])
        ending_signals.ignore_them()  # all or nothing
        for file in files.values():
            file.put_in_place()
    ending_signals.let_them_end()
    return "\n".join(pages)


def main(arguments: Sequence[str], library_directory: str) -> int:
    """Raises LaunchError."""
    options = _parse(arguments)
    ending_signals.raise_them()
    try:
        pages = _write(options, library_directory, shlex.join(["spillway", "tune", *arguments]))
    except ending_signals.Ended as ended:
        ended.say("tune", "nothing was written")
        return ended.status
    except OSError as error:
        raise LaunchError(f"cannot use {error.filename}: {error.strerror}", "see that there is room") from None
    sys.stdout.write(pages)
    return 0
