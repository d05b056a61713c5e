#!/usr/bin/env python3
"""Broadcasts of src/routing on the cluster of twister.txt and on larger ones, simulated by SimGrid: its Tables 5 and 8
and Figures 3 and 5, beside the paper's numbers."""

import argparse
import json
import sys
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import paper
from measuring import machine
from measuring.build import SOURCE, Build
from measuring.plot_option import add_plot_option, check_plot_option
from measuring.program_run import RunFailed
from measuring.progress import say
from measuring.verdict import misses_target
from picture import draw
from plan import Plan
from report import Report
from simulations import Broadcasts


def numbers(parser: argparse.ArgumentParser, name: str, text: str) -> List[int]:
    words = text.split(",") if text else []
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        parser.error(f"{name} {text}: numbers, separated by commas")
    return sorted({int(word) for word in words})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, default=SOURCE / "build", help="folder of the build (default: build)")
    add("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    nodes, large = ",".join(map(str, paper.NODES)), "1000,10000"
    add("--nodes", default=nodes, help=f"of the paper's cluster, 1 always among them (default: {nodes})")
    add("--large", default=large, help=f"nodes of larger trees (default: {large})")
    add("--bytes", type=int, default=paper.GB, help="of data; Table 8 has half and twice as many, too (default: 10^9)")
    add(
        "--transfers",
        type=float,
        default=15,
        metavar="MILLIONS",
        help="leave out what is more transfers of parts: a million takes 4 to 15 s (default: 15)",
    )
    add("--limit", type=float, default=1800, metavar="SECONDS", help="time limit of each simulation (default: 1800)")
    add_plot_option(parser)
    options = parser.parse_args()
    options.nodes = sorted({1, *numbers(parser, "--nodes", options.nodes)})
    options.large = numbers(parser, "--large", options.large)
    if options.nodes == [1]:
        parser.error("--nodes: at least one number beyond 1")
    if not 2 <= options.bytes < 1 << 30:
        parser.error("--bytes: at least 2, and less than 2^30, as MPI_Bcast takes less than 2 GiB")
    check_plot_option(parser, options)
    return options


def main() -> int:
    options = parse()
    build = Build(options.build)
    plan = Plan(options.nodes, options.large, options.bytes, int(options.transfers * 1e6))
    simulations = Broadcasts(build.simulation("broadcast-simulation"), options.limit, say)
    about_machine = machine.description(build.folder)
    try:
        simulations.run_all(plan.all_cases())
    except RunFailed as failure:
        sys.exit(f"a simulation failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    say("")
    versions = f"{build.version()}, SimGrid {simulations.version}"
    report = Report(plan, simulations.found)
    page = report.page()
    where = machine.text(about_machine).splitlines()[0]  # what follows there is about times that others make longer
    print(f"Simulated seconds, {versions}\n{where}\n\n{page}")
    if options.json:
        cases = [{**case._asdict(), "seconds": seconds} for case, seconds in simulations.found.items()]
        content = {"machine": about_machine, "versions": versions, "simulations": cases, "targets": report.targets()}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    if options.plot:
        draw(options.plot, report)
    return 1 if misses_target(page) else 0


if __name__ == "__main__":
    sys.exit(main())
