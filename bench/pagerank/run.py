#!/usr/bin/env python3
"""PageRank on a graph larger than memory: Spillway against swapping, against hand-written code, and in core."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contenders import Contender, Setting, contenders
from measurement import Measurement, Residency, data_bytes
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import run
from measuring.scratch import measured_in_scratch_folder
from measuring.verdict import misses_target
from result_page import as_json, render

NAMES = "spillway, swap, serial, spillway-in-core, plain-in-core, spillway-in-core-cores, plain-in-core-cores"


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"contenders: {NAMES}")
    add_build_options(parser)
    add = parser.add_argument
    add("--scale", type=int, default=22, help="logarithm of the graph's vertices (default: 22, some 560 MiB of data)")
    add("--graph", type=Path, help="measure on this graph instead of a generated one")
    add("--ranks", type=int, default=16, help="MPI ranks (default: 16)")
    add("--slots", type=int, default=2, help="ranks that Spillway runs at a time, out of core (default: 2)")
    add("--factor", type=float, default=4, help="data / memory budget (default: 4)")
    add("--iterations", type=int, default=5, help="in each run (default: 5)")
    add("--repeats", type=int, default=5, help="runs of each contender (default: 5)")
    add("--in-core-turns", type=int, default=12, help="in-core runs in each repeat: a close target (default: 12)")
    add("--only", help="contenders to measure, separated by commas (default: all)")
    add("--limit", type=float, default=600, metavar="SECONDS", help="time limit of each run (default: 600)")
    add("--folder", type=Path, help="where the graph, spill files and the swap file go: on a local disk")
    options = parser.parse_args(arguments)
    if options.only and not set(options.only.split(",")) <= set(NAMES.split(", ")):
        parser.error(f"--only {options.only}: the contenders are {NAMES}")
    return options


def say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def needed_bytes(options: argparse.Namespace) -> int:
    """Room for making the graph (its file, and 8 bytes for each edge aside), a swap file, and spill files."""
    edges = (16 << options.scale) if options.graph is None else options.graph.stat().st_size // 4
    return 40 * edges + (2 << 30)


def prepare(build: Build, options: argparse.Namespace, folder: Path) -> Setting:
    graph = options.graph
    if graph is None:
        graph = folder / f"kronecker-{options.scale}.csr"
        say("making the graph")
        run([build.program("graph-generate"), "--scale", str(options.scale), str(graph)], options.limit)
    flavour = options.mpi or build.default_flavour()
    say("reading it once, to see how large its data are")
    pagerank = build.mpi_program("tests", "pagerank", flavour)
    lines = run([*build.plain(pagerank, options.ranks), "--iterations", "0", str(graph)], options.limit).lines
    cores = len(os.sched_getaffinity(0))
    return Setting(
        graph.resolve(),
        options.iterations,
        options.ranks,
        options.slots,
        cores,
        options.factor,
        data_bytes(lines),
        flavour,
    )


def chosen(options: argparse.Namespace, everyone: List[Contender]) -> List[Contender]:
    names = options.only.split(",") if options.only else NAMES.split(", ")
    return [contender for contender in everyone if contender.name in names]


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    about_machine = machine.description(folder)
    setting = prepare(build, options, folder)
    measurement = Measurement(setting, folder, options.limit, say)
    runners = chosen(options, contenders(build, setting, folder))
    measurement.run_all(runners, options.repeats, options.in_core_turns)
    residency: Optional[Residency] = None
    pagerank = build.mpi_program("tests", "pagerank", setting.flavour)
    if runners[0].name == "spillway" and "spillway" not in measurement.left_out:
        residency = measurement.residency(runners[0], pagerank, setting.ranks)
    mpi = build.mpi_of(pagerank)
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    say("")
    print(f"PageRank, {versions}\n{machine.text(about_machine)}")
    page = render(setting, runners, measurement, residency)
    print(page)
    if options.json:
        content = {"machine": about_machine, "versions": versions}
        content.update(as_json(setting, runners, measurement, residency))
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    problem = measurement.disagreement()
    failed = [name for name in measurement.left_out if name != "swap"]
    if problem or failed:
        print(f"FAILED: {problem or 'these contenders did not end well: ' + ', '.join(failed)}")
        return 1
    return 1 if misses_target(page) else 0


def main() -> int:
    options = parse(sys.argv[1:])
    build = Build(options.build)
    room = needed_bytes(options)
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
