#!/usr/bin/env python3
"""One-sided operations of one PE on another: spillway/pgas.h beside MPI's own one-sided operations, and within a node
beside memcpy and std::atomic."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import RunFailed, run
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict

_TIME = re.compile(r"^(pgas|mpi|memory): ([\d.]+)$", re.MULTILINE)
KIB = 1 << 10
MIB = 1 << 20


class Operation(NamedTuple):
    name: str
    kind: str  # the program's word for it
    bytes: int
    rounds: Tuple[int, int]  # within a node, and by MPI
    of_memory: Optional[float] = None  # most that it may take within a node, in times of the processor alone
    of_mpi: Tuple[Optional[float], Optional[float]] = (1.0, 1.1)  # in times of MPI, within a node and among nodes


OPERATIONS = (
    Operation("put of 8 bytes", "put", 8, (2000, 500)),
    Operation("put of 64 KiB", "put", 64 * KIB, (200, 50), of_memory=1.2, of_mpi=(1.1, 1.1)),
    Operation("put of 4 MiB", "put", 4 * MIB, (3, 1), of_memory=1.2, of_mpi=(1.1, 1.1)),
    Operation("put of 8 bytes with signal", "put-signal", 8, (2000, 300)),
    Operation("put of 64 KiB with signal", "put-signal", 64 * KIB, (200, 50), of_memory=1.2),
    Operation("get of 8 bytes", "get", 8, (2000, 500)),
    Operation("get of 64 KiB", "get", 64 * KIB, (200, 50), of_memory=1.2, of_mpi=(1.1, 1.1)),
    Operation("get of 4 MiB", "get", 4 * MIB, (3, 1), of_memory=1.2, of_mpi=(1.1, 1.1)),
    Operation("fetch-add", "fetch-add", 8, (2000, 500)),
    Operation("fetch-add of both PEs at once", "fetch-add-both", 8, (2000, 500), of_mpi=(1.0, 2.0)),
    Operation("compare-swap", "compare-swap", 8, (2000, 500)),
)
PLACES = ("node", "nodes")


class Measured(NamedTuple):
    times_us: Dict[str, Spread]  # by way
    ratios: Dict[str, Spread]  # of pgas to each other way, of the same run


def environment(place: str) -> Dict[str, str]:
    """On `nodes` PEs reach each other by MPI only. Within a host, compare-and-swap of Open MPI's osc/rdma crashes."""
    return {"OMPI_MCA_osc": "^rdma", **({} if place == "node" else {"PGAS_PES_PER_NODE": "1"})}


def measure(build: Build, program: str, operation: Operation, place: str, options: argparse.Namespace) -> Measured:
    rounds = max(1, operation.rounds[PLACES.index(place)] // options.divide_rounds)
    command = [*build.plain(program, 2), operation.kind, str(operation.bytes), str(rounds)]
    runs: List[Dict[str, float]] = []
    for _ in range(options.repeats):
        text = "\n".join(run(command, options.limit, environment=environment(place)).lines)
        runs.append({way: float(us) for way, us in _TIME.findall(text)})
        if set(runs[-1]) != ({"pgas", "mpi", "memory"} if place == "node" else {"pgas", "mpi"}):
            raise RunFailed(f"it did not say how long each way takes:\n{text}")
    ways = list(runs[0])
    ratios = {way: Spread([times["pgas"] / times[way] for times in runs]) for way in ways if way != "pgas"}
    return Measured({way: Spread([times[way] for times in runs]) for way in ways}, ratios)


def _targets(operation: Operation, place: str) -> Dict[str, Optional[float]]:
    return {"mpi": operation.of_mpi[PLACES.index(place)], "memory": operation.of_memory}


def _row(operation: Operation, place: str, measured: Measured) -> List[str]:
    cells = [operation.name]
    for way in ("pgas", "mpi", "memory"):
        cells.append(measured.times_us[way].text() if way in measured.times_us else "-")
    for way in ("mpi", "memory"):
        if way not in measured.ratios:
            cells.append("-")
            continue
        target = _targets(operation, place)[way]
        said = f" <= {target}: {verdict(measured.ratios[way].median <= target)}" if target else ""
        cells.append(f"{measured.ratios[way].text()}{said}")
    return cells


def _as_json(operation: Operation, place: str, measured: Measured) -> Dict:
    return {
        "name": operation.name,
        "place": place,
        "bytes": operation.bytes,
        "microseconds": {way: spread.as_json() for way, spread in measured.times_us.items()},
        "ratios": {way: spread.as_json() for way, spread in measured.ratios.items()},
        "targets": _targets(operation, place),
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each operation (default: 5)")
    parser.add_argument("--place", choices=PLACES, help="only PEs of one node, or of two (default: both)")
    parser.add_argument(
        "--divide-rounds", type=int, default=1, metavar="N", help="operations of each batch: a part of all (default: 1)"
    )
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="time limit of each run (default: 120)"
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    build = Build(options.build)
    program = build.mpi_program("bench", "one-sided-operations", options.mpi or build.default_flavour())
    mpi = build.mpi_of(program)
    about_machine = machine.description(build.folder)
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    print(f"One-sided operations of one PE on another, {versions}\n{machine.text(about_machine)}")
    pages = []
    figures = []
    try:
        for place in [options.place] if options.place else PLACES:
            measured = [(operation, measure(build, program, operation, place, options)) for operation in OPERATIONS]
            head = ["microseconds, median (least-most)", "pgas", "MPI", "processor alone", "pgas / MPI", "pgas / alone"]
            where = "one node" if place == "node" else "two nodes on one host, by MPI only"
            pages.append(
                f"\n{where}\n" + table([head, *(_row(operation, place, each) for operation, each in measured)])
            )
            print(pages[-1], flush=True)
            figures += [_as_json(operation, place, each) for operation, each in measured]
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    if options.json:
        content = {"machine": about_machine, "versions": versions, "operations": figures}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if any(map(misses_target, pages)) else 0


if __name__ == "__main__":
    sys.exit(main())
