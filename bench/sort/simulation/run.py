#!/usr/bin/env python3
"""Sorting by way of local disks on the cluster of hybrid-sort.txt, simulated by SimGrid: the delivery of `spillway
sort` and the paper's two designs on up to 8,192 processes, its Figures 6 to 9 and Table 1, beside the paper's
numbers."""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import paper
from measuring import machine
from measuring.build import SOURCE, Build
from measuring.plot_option import add_plot_option, check_plot_option
from measuring.program_run import RunFailed
from measuring.progress import say
from measuring.simulations import Simulations
from measuring.verdict import misses_target
from picture import draw
from plan import Case, Found, Plan, read
from report import Report

QUICK = [64, 128]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, default=SOURCE / "build", help="folder of the build (default: build)")
    add("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    add("--quick", action="store_true", help=f"only {' and '.join(map(str, QUICK))} processes, which takes seconds")
    add("--limit", type=float, default=1200, metavar="SECONDS", help="time limit of each simulation (default: 1200)")
    add_plot_option(parser)
    options = parser.parse_args()
    check_plot_option(parser, options)
    return options


def main() -> int:
    options = parse()
    build = Build(options.build)
    plan = Plan(QUICK if options.quick else paper.PROCESSES)
    program = build.simulation("sort-simulation")
    simulations: Simulations[Case, Found] = Simulations(
        program, options.limit, say, Case.words, lambda case: case.processes, read
    )
    about_machine = machine.description(build.folder)
    try:
        simulations.run_all(plan.all_cases())
    except RunFailed as failure:
        sys.exit(f"a simulation failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    say("")
    versions = f"{build.version()}, SimGrid {next(iter(simulations.found.values()))['simgrid']}"
    report = Report(plan, simulations.found)
    page = report.page()
    where = machine.text(about_machine).splitlines()[0]  # what follows there is about times that others make longer
    print(f"Simulated seconds, {versions}\n{where}\n\n{page}")
    if options.json:
        cases = [{**case._asdict(), **found} for case, found in simulations.found.items()]
        content = {"machine": about_machine, "versions": versions, "simulations": cases, "targets": report.targets()}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    if options.plot:
        draw(options.plot, report)
    return 1 if misses_target(page) else 0


if __name__ == "__main__":
    sys.exit(main())
