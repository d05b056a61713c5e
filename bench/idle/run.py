#!/usr/bin/env python3
"""What blocked ranks cost: processor time of all ranks but the one that computes, under Spillway and plain MPI."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import List, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.process_tree import Reading, descendants, executable, percent_of_core, reading
from measuring.program_run import RunFailed
from measuring.table import table
from measuring.time_between import between_begin_and_end
from measuring.verdict import verdict

TARGET_PERCENT = 1.0


class Use(NamedTuple):
    """Percent of one core, between two readings."""

    blocked_ranks: float
    computing_rank: float
    other_processes: float  # launchers, Spillway's agent and the parents of its ranks


def _use(first: Reading, second: Reading, program: str, ranks: int) -> Use:
    percent = percent_of_core(first, second)
    own = sorted((value for pid, value in percent.items() if executable(pid) == program), reverse=True)
    if len(own) != ranks:
        raise RunFailed(f"{len(own)} of {ranks} ranks found among the processes")
    return Use(sum(own[1:]), own[0], sum(percent.values()) - sum(own))


def measure(command: List[str], program: str, options: argparse.Namespace) -> Use:
    return between_begin_and_end(
        [*command, str(options.seconds)],
        options.limit,
        lambda root: reading(descendants(root)),
        lambda first, second: _use(first, second, program, options.ranks),
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    parser.add_argument("--ranks", type=int, default=64, help="MPI ranks (default: 64)")
    parser.add_argument("--seconds", type=float, default=5, help="how long rank 0 computes (default: 5)")
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="time limit of each run (default: 120)"
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    build = Build(options.build)
    program = build.mpi_program("bench", "blocked-ranks", options.mpi or build.default_flavour())
    mpi = build.mpi_of(program)
    about_machine = machine.description(build.folder)
    spillway = [*build.spillway("-n", options.ranks, "--slots", 1, "--summary", "none"), program]
    real_program = os.path.realpath(program)
    try:
        uses = {
            "spillway": measure(spillway, real_program, options),
            "plain": measure(build.plain(program, options.ranks), real_program, options),
        }
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    print(f"{options.ranks} ranks, of which one computes, {versions}\n{machine.text(about_machine)}\n")
    titles = {"spillway": "spillway run --slots 1", "plain": "plain mpiexec"}
    rows = [["percent of a core", f"{options.ranks - 1} blocked ranks", "computing rank", "other processes"]]
    print(table(rows + [[titles[name], *(f"{value:.3f}" for value in use)] for name, use in uses.items()]))
    used = uses["spillway"].blocked_ranks
    print(f"\nblocked ranks {used:.3f}%, target < {TARGET_PERCENT}%: {verdict(used < TARGET_PERCENT)}")
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "ranks": options.ranks,
            "percent": {name: use._asdict() for name, use in uses.items()},
            "target": TARGET_PERCENT,
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0 if used < TARGET_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
