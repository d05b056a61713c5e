#!/usr/bin/env python3
"""The applications of BDMPI's paper on data of half to eight times the memory budget: Spillway, with and without being
told what to load, explicit file I/O, a program written by hand, plain MPI on swap, and plain MPI in memory."""

import argparse
import json
import sys
from pathlib import Path
from typing import List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applications import APPLICATIONS, Size, data_bytes
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import DiskRate, NoControlGroups, disk_rate, why_unlimited
from measuring.plot_option import add_plot_option, check_plot_option
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.verdict import misses_target
from report import as_json, draw, page
from ways import Measurement, Setting, ways


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    names = ",".join(APPLICATIONS)
    add("--applications", default=names, help=f"separated by commas (default: {names})")
    add("--size", type=int, default=1024, metavar="MIB", help="data of each application, about (default: 1024)")
    add("--factors", default="0.5,1,2,4,8", help="data / memory budget (default: 0.5,1,2,4,8)")
    add("--iterations", type=int, default=4, help="in each run; the first is not counted (default: 4)")
    add("--repeats", type=int, default=3, help="runs of each way (default: 3)")
    add("--limit", type=float, default=300, metavar="SECONDS", help="time limit of each run (default: 300)")
    add("--disk-rate", type=int, metavar="MB/S", help="limit reading and writing to so much each, by a control group")
    add("--folder", type=Path, help="where input, spill files and the swap file go: on a local disk")
    add_plot_option(parser)
    options = parser.parse_args()
    options.applications = options.applications.split(",")
    if not set(options.applications) <= set(APPLICATIONS):
        parser.error(f"--applications {','.join(options.applications)}: they are {names}")
    try:
        options.factors = [float(word) for word in options.factors.split(",")]
    except ValueError:
        parser.error(f"--factors {options.factors}: numbers, separated by commas")
    if options.iterations < 2:
        parser.error("--iterations: at least 2")
    if options.disk_rate is not None and options.disk_rate < 1:
        parser.error("--disk-rate: at least 1")
    check_plot_option(parser, options)
    return options


def limited_rate(folder: Path, mb_per_s: Optional[int]) -> Optional[DiskRate]:
    if mb_per_s is None:
        return None
    try:
        rate = disk_rate(folder, mb_per_s * 1000000)
        because = why_unlimited(rate)
    except NoControlGroups as reason:
        because = str(reason)
    if because:
        sys.exit(f"cannot limit the disk's rate\n  Cause:  {because}\n  Remedy: run as root, or leave --disk-rate out")
    return rate


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    flavour = options.mpi or build.default_flavour()
    size = Size(options.size)
    mpi = build.mpi_of(build.mpi_program("tests", "pagerank", flavour))
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    about_machine = machine.description(folder)
    print(f"{versions}\n{machine.text(about_machine)}")
    rate = limited_rate(folder, options.disk_rate)
    unlimited_because = why_unlimited()
    measurements: List[Measurement] = []
    text, problems = "", []
    for name in options.applications:
        application = APPLICATIONS[name]
        say(f"{application.title}: making its data")
        matrix = application.make_input(build, folder, size, options.limit)
        data = data_bytes(build, application, flavour, matrix, options.limit)
        say("")
        print(f"\n{application.title}: {application.ranks} ranks, {data >> 20} MiB of data", flush=True)
        for factor in options.factors:
            setting = Setting(
                application,
                matrix,
                data,
                factor,
                options.iterations,
                flavour,
                folder,
                options.limit,
                unlimited_because,
                rate,
            )
            measurement = Measurement(setting, ways(build, setting), say)
            measurement.run_all(options.repeats)
            measurements.append(measurement)
            say("")
            text += (shown := page(measurement))
            print(f"\n{shown}", flush=True)
            problems += [f"{name}, {factor:g} x budget: {problem}" for problem in measurement.problems()]
    if options.json:
        figures = [as_json(measurement) for measurement in measurements]
        content = {
            "versions": versions,
            "machine": about_machine,
            "disk_rate": options.disk_rate,
            "measurements": figures,
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    if options.plot:
        draw(options.plot, measurements)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems or misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    room = (16 * options.size << 20) + (2 << 30)
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
