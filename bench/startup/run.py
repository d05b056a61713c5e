#!/usr/bin/env python3
"""From starting the launcher to the first instruction of main, and to the first after MPI_Init: Spillway against plain
mpiexec."""

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
from measuring.verdict import verdict

TARGET = 1.5
# What a rank of the program says, in this order.
INSTANTS = ("main", "after MPI_Init")
_SAID = re.compile(r"rank \d+: (\d+) (\d+)")
Times = Dict[str, Dict[str, Spread]]  # by instant and launcher, in seconds


def start_s(command: List[str], ranks: int, limit_s: float) -> List[float]:
    """Seconds until the last rank was at each instant: only then can a program as a whole go on."""
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    text = "\n".join(run(command, limit_s).lines)
    said = _SAID.findall(text)
    if len(said) != ranks:
        raise RunFailed(f"{len(said)} of {ranks} ranks said that they started:\n{text}")
    return [(max(map(int, of_all_ranks)) - begin_ns) / 1e9 for of_all_ranks in zip(*said)]


def measure(commands: Dict[str, List[str]], options: argparse.Namespace) -> Times:
    runs: Dict[str, List[List[float]]] = {name: [] for name in commands}
    for _ in range(options.repeats):
        for name, command in commands.items():
            runs[name].append(start_s(command, options.ranks, options.limit))
    return {
        instant: {name: Spread([times[i] for times in of_launcher]) for name, of_launcher in runs.items()}
        for i, instant in enumerate(INSTANTS)
    }


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
        times = measure(commands, options)
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    ratios = {instant: spreads["spillway"].median / spreads["plain"].median for instant, spreads in times.items()}
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    print(f"Start of {options.ranks} ranks, {versions}\n{machine.text(about_machine)}\n")
    rows = [["seconds until the last rank is", "plain mpiexec", "spillway run", "ratio of medians"]]
    for instant, spreads in times.items():
        rows.append([instant, spreads["plain"].text(3), spreads["spillway"].text(3), f"{ratios[instant]:.2f}"])
    print(table(rows))
    is_met = max(ratios.values()) <= TARGET
    print(f"\ntarget: both ratios <= {TARGET}: {verdict(is_met)}")
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "ranks": options.ranks,
            "start_s": {
                instant: {name: spread.as_json() for name, spread in spreads.items()}
                for instant, spreads in times.items()
            },
            "ratios": ratios,
            "target": TARGET,
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
