#!/usr/bin/env python3
"""Hosts joined by links of a known rate: Spillway's messages, broadcast and allreduce between them, beside plain MPI
over the same links and what a bare connection takes for the bytes; and what a job costs while all of its ranks wait.
The hosts are network namespaces: only root may make them."""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from job import Setting
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.network import CannotMakeNetwork, Network
from measuring.program_run import RunFailed
from measuring.scratch import scratch_folder
from measuring.table import table
from measuring.verdict import misses_target
from operations import HEAD, measure, operations
from waiting import measure_waiting


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--hosts", type=int, default=4, help="of the collectives and of the job that waits (default: 4)")
    add(
        "--size",
        type=int,
        default=256,
        metavar="MIB",
        help="of a message or broadcast; an allreduce has 1/16 (default: 256)",
    )
    add("--rate", default="1gbit", help="of each link, each way, in the words of tc (default: 1gbit)")
    add("--operations", type=int, default=1, help="that are measured in each run, after a first one (default: 1)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--seconds", type=float, default=5, help="how long the job waits (default: 5)")
    add("--memory", default="4G", help="budget of each host, to hold all messages (default: 4G)")
    add("--limit", type=float, default=300, metavar="SECONDS", help="time limit of each run (default: 300)")
    add("--folder", type=Path, help="where spill files would go: on a local disk")
    options = parser.parse_args()
    if not 2 <= options.hosts <= 250:
        parser.error("--hosts: 2 to 250")
    if not 1 <= options.size <= 2047:
        parser.error("--size: 1 to 2047, as MPI counts the bytes of a message in an int")
    if min(options.operations, options.repeats) < 1:
        parser.error("--operations, --repeats: at least 1")
    return options


def measure_all(build: Build, options: argparse.Namespace, network: Network, folder: Path) -> int:
    flavour = options.mpi or build.default_flavour()
    setting = Setting(build, flavour, network, options.memory, folder, options.limit)
    versions = setting.versions()
    about_machine = machine.description(folder)
    print(f"Between hosts, links of {options.rate} each way, {versions}\n{machine.text(about_machine)}\n", flush=True)
    figures = [
        measure(setting, operation, options.operations, options.repeats)
        for operation in operations(options.hosts, options.size << 20)
    ]
    waiting = measure_waiting(setting, options.seconds, options.repeats)
    page = f"{table([HEAD, *(measured.row() for measured in figures)])}\n\n{waiting.text()}"
    print(page)
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "rate": options.rate,
            "operations": [measured.as_json() for measured in figures],
            "waiting": waiting.as_json(),
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(page) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    try:
        with scratch_folder(0, options.folder) as folder:
            with Network(folder, options.hosts, options.rate, own_ipc=True) as network:
                return measure_all(build, options, network, folder)
    except CannotMakeNetwork as reason:
        sys.exit(f"cannot make hosts\n  Cause:  {reason}\n  Remedy: run as root, with iproute2 installed")
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
