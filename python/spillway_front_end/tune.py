"""`spillway tune`: measures which way broadcasts between the nodes of a job take best, and writes rules of that."""

import argparse
import datetime
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Dict, List, NamedTuple, Sequence, Tuple

from . import help_text, slurm
from .broadcasts import ALGORITHMS
from .errors import LaunchError
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
        usage="spillway tune --hosts h,... --output file [options]",
        description=help_text.TUNE_ABOUT,
        epilog=help_text.TUNE_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("-h", "--help", action="help", help="show this text")
    add("--output", metavar="file", required=True, help="where the rules go, for `spillway run --broadcasts`")
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
    return parser.parse_args(list(arguments))


def _measuring_program(library_directory: str, mpi: str) -> str:
    folder = os.path.join(library_directory, "tune")
    path = os.path.join(folder, f"broadcast-times-{mpi}")
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


def _node_words(options: argparse.Namespace) -> Tuple[List[str], int]:
    """The options of `spillway run` that say where, and the number of nodes."""
    words = []
    for name in _PASSED_ON:
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", value] if value is not None else []
    if options.virtual_nodes is not None:
        if options.hosts or options.hostfile:
            raise LaunchError("--virtual-nodes are of this machine alone", "leave --hosts and --hostfile away")
        words += ["--hosts", "localhost"] if slurm.job_here() else []
        return [*words, "--ranks-per-node", "1"], options.virtual_nodes
    from .hosts import hosts_of_job

    found = hosts_of_job(options.hosts, options.hostfile, "block", options.address, options.racks)
    return words, len(found.names) if found else 1


def _times_of(command: List[str], rules: str, algorithm: str) -> Dict[Tuple[int, int], float]:
    with open(rules, "w", encoding="utf-8") as file:
        file.write(f"any any {algorithm}\n")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise LaunchError(f"the job that measured `{algorithm}` has failed", "see its message above")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(int(nodes), int(size)): float(microseconds) for nodes, size, microseconds in lines}


def _measure(options: argparse.Namespace, library_directory: str, rules: str) -> Times:
    most_bytes = parse_size(options.most)
    words, nodes = _node_words(options)
    if nodes < 3:
        raise LaunchError(f"there is nothing to choose between {nodes} nodes", "name at least three with --hosts")
    program = _measuring_program(library_directory, options.mpi or _default_mpi(library_directory))
    command = [os.path.realpath(sys.argv[0]), "run", "-n", str(nodes), "--slots", "1", *words]
    command += ["--broadcasts", rules, "--summary", "none", program, str(most_bytes)]
    times: Times = {}
    for algorithm in ALGORITHMS:
        sys.stderr.write(f"measuring {algorithm} between {nodes} nodes, up to {format_size(most_bytes)}\n")
        for where, microseconds in _times_of(command, rules, algorithm).items():
            times.setdefault(where, {})[algorithm] = microseconds
    return times


class _Ended(Exception):
    """By a signal."""


def _end(number: int, _frame: object) -> None:
    raise _Ended(number)


def _write(page: str, folder: str, path: str) -> None:
    written = os.path.join(folder, "page")
    with open(written, "w", encoding="utf-8") as file:
        file.write(page)
    os.chmod(written, 0o666 & ~_umask())
    os.replace(written, path)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def main(arguments: Sequence[str], library_directory: str) -> int:
    """Raises LaunchError."""
    options = _parse(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        with tempfile.TemporaryDirectory(
            prefix=".spillway-tune-", dir=os.path.dirname(options.output) or "."
        ) as folder:
            times = _measure(options, library_directory, os.path.join(folder, "rules"))
            if not times:
                raise LaunchError("nothing was measured", "ask for more than --most 1K")
            page = page_of(times, shlex.join(["spillway", "tune", *arguments]))
            _write(page, folder, options.output)
    except OSError as error:
        raise LaunchError(
            f"cannot write the rules to {options.output}: {error.strerror}",
            "name a file in an existing directory that you may write to",
        ) from None
    except _Ended as ended:
        number = signal.Signals(ended.args[0])
        sys.stderr.write(f"spillway: tune was ended by {number.name}; no rules were written\n")
        return 128 + number
    sys.stdout.write(page)
    return 0
