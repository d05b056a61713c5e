#!/usr/bin/env python3
"""Single operations of ranks that all run: Spillway's own messages, reduction and malloc against the MPI library's and
the C library's."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import RunFailed, run
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict

_TIME = re.compile(r"^microseconds: ([\d.]+)$", re.MULTILINE)


class Operation(NamedTuple):
    name: str
    title: str
    kind: str  # the program's word for it
    bytes: int
    ranks: int
    rounds: int
    target: float  # most that it may take, in times of plain MPI
    target_text: str
    flavours: Tuple[str, ...] = ("mpich", "openmpi")  # for which something is claimed


OPERATIONS = (
    Operation("latency", "message of 8 bytes", "ping-pong", 8, 2, 10000, 2.0, "latency <= 2 x"),
    Operation("bandwidth", "message of 16 MiB", "ping-pong", 16 << 20, 2, 10, 1 / 0.9, "bandwidth >= 0.9 x"),
    Operation("allreduce", "allreduce of 8 bytes", "allreduce", 8, 8, 100, 2.0, "time <= 2 x"),
    Operation("allocate", "free and malloc of up to 512 bytes", "allocate", 512, 1, 200000, 1.1, "time <= 1.1 x"),
    Operation("fence", "put of 8 bytes and fence", "fence", 8, 4, 20, 1.0, "time <= 1 x", ("mpich",)),
)


class Measured(NamedTuple):
    plain_us: Spread
    spillway_us: Spread
    ratio: Spread  # of runs in the same repeat


def _time_us(command: List[str], limit_s: float) -> float:
    text = "\n".join(run(command, limit_s).lines)
    found = _TIME.search(text)
    if not found:
        raise RunFailed(f"it did not say how long an operation takes:\n{text}")
    return float(found[1])


def measure(build: Build, program: str, operation: Operation, options: argparse.Namespace) -> Measured:
    rounds = max(1, operation.rounds // options.divide_rounds)
    words = [operation.kind, str(operation.bytes), str(rounds)]
    ranks = operation.ranks
    spillway = build.spillway("-n", ranks, "--slots", ranks, "--memory", options.memory, "--summary", "none")
    commands = {"plain": [*build.plain(program, ranks), *words], "spillway": [*spillway, program, *words]}
    times: Dict[str, List[float]] = {name: [] for name in commands}
    for repeat in range(options.repeats):
        for name in sorted(commands, reverse=repeat % 2 == 1):
            times[name].append(_time_us(commands[name], options.limit))
    ratios = [ours / plain for ours, plain in zip(times["spillway"], times["plain"])]
    return Measured(Spread(times["plain"]), Spread(times["spillway"]), Spread(ratios))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    parser.add_argument("--repeats", type=int, default=9, help="runs of each, interleaved (default: 9)")
    parser.add_argument("--memory", default="1G", help="budget, to hold all messages (default: 1G)")
    parser.add_argument(
        "--divide-rounds", type=int, default=1, metavar="N", help="operations of each run: a part of all (default: 1)"
    )
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="time limit of each run (default: 120)"
    )
    return parser.parse_args()


def _row(operation: Operation, measured: Measured) -> List[str]:
    return [
        f"{operation.title}, {operation.ranks} ranks",
        measured.plain_us.text(),
        measured.spillway_us.text(),
        measured.ratio.text(),
        f"{operation.target_text}: {verdict(measured.ratio.median <= operation.target)}",
    ]


def _as_json(operation: Operation, measured: Measured) -> Dict:
    return {
        "name": operation.name,
        "bytes": operation.bytes,
        "ranks": operation.ranks,
        "plain_us": measured.plain_us.as_json(),
        "spillway_us": measured.spillway_us.as_json(),
        "ratio": measured.ratio.as_json(),
        "target": operation.target,
    }


def main() -> int:
    options = parse()
    build = Build(options.build)
    program = build.mpi_program("bench", "small-operations", options.mpi or build.default_flavour())
    mpi = build.mpi_of(program)
    about_machine = machine.description(build.folder)
    try:
        operations = [operation for operation in OPERATIONS if mpi.flavour in operation.flavours]
        figures = [measure(build, program, operation, options) for operation in operations]
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    print(f"Single operations, all ranks running, {versions}\n{machine.text(about_machine)}\n")
    rows = [["microseconds, median (least-most)", "plain mpiexec", "spillway run", "ratio", "target"]]
    page = table(rows + list(map(_row, operations, figures)))
    print(page)
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "operations": list(map(_as_json, operations, figures)),
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(page) else 0


if __name__ == "__main__":
    sys.exit(main())
