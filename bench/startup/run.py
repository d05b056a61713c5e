#!/usr/bin/env python3
"""From starting the launcher to the first instruction after MPI_Init: Spillway against plain mpiexec."""

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import RunFailed, run
from measuring.spread import Spread
from measuring.table import table

TARGET = 1.5
_RETURN = re.compile(r"rank \d+: (\d+)")


def start_s(command: List[str], ranks: int, limit_s: float) -> float:
    """Seconds until the last rank was back from MPI_Init: only then can a program as a whole go on."""
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    text = "\n".join(run(command, limit_s).lines)
    returns = [int(ns) for ns in _RETURN.findall(text)]
    if len(returns) != ranks:
        raise RunFailed(f"{len(returns)} of {ranks} ranks said that they started:\n{text}")
    return (max(returns) - begin_ns) / 1e9


def measure(commands: Dict[str, List[str]], options: argparse.Namespace) -> Dict[str, Spread]:
    values: Dict[str, List[float]] = {name: [] for name in commands}
    for _ in range(options.repeats):
        for name, command in commands.items():
            values[name].append(start_s(command, options.ranks, options.limit))
    return {name: Spread(times) for name, times in values.items()}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    parser.add_argument("--ranks", type=int, default=64, help="MPI ranks (default: 64)")
    parser.add_argument("--repeats", type=int, default=9, help="runs of each, interleaved (default: 9)")
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="time limit of each run (default: 120)"
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    build = Build(options.build)
    program = build.mpi_program("bench", "first-instruction", options.mpi or build.default_flavour())
    mpi = build.mpi_of(program)
    about_machine = machine.description(build.folder)
    commands = {
        "plain": build.plain(program, options.ranks),
        "spillway": [*build.spillway("-n", options.ranks, "--summary", "none"), program],
    }
    try:
        spreads = measure(commands, options)
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    ratio = spreads["spillway"].median / spreads["plain"].median
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    print(f"Start of {options.ranks} ranks, {versions}\n{machine.text(about_machine)}\n")
    titles = {"plain": "plain mpiexec", "spillway": "spillway run"}
    rows = [["seconds to first instruction", "median (least-most)"]]
    print(table(rows + [[titles[name], spread.text(3)] for name, spread in spreads.items()]))
    print(f"\nratio of medians {ratio:.2f}, target <= {TARGET}: {'met' if ratio <= TARGET else 'MISSED'}")
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "ranks": options.ranks,
            "start_s": {name: spread.as_json() for name, spread in spreads.items()},
            "ratio": ratio,
            "target": TARGET,
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
