#!/usr/bin/env python3
"""PageRank and K-means on 1, 2 and 4 hosts that have as much to do each: how much longer an iteration takes than on one
host, beyond what its bytes take on the links. The hosts are network namespaces whose processor time is limited, to the
same part of this machine's for any number of them: only root may make them."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from job import Setting
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import PERIOD_US, NoControlGroups, ProcessorLimit
from measuring.network import CannotMakeNetwork, Network, bytes_per_s
from measuring.program_run import RunFailed
from measuring.scratch import scratch_folder
from measuring.verdict import misses_target
from scaled_programs import programs
from scaling import Scaling, Shape, measure
from scaling_page import EXPLANATION, as_json, page

# Of this machine's processor time all hosts together may use so much: the rest is for what is on none of them.
_SHARE_OF_HOSTS = 0.9
_LEAST_CORES = 1000 / PERIOD_US


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--hosts", default="1,2,4", help="powers of two, 1 and more, separated by commas (default: 1,2,4)")
    add("--cores", type=float, help="processor time of each host (default: all fit in 0.9 of this machine's cores)")
    add("--rate", default="1gbit", help="of each link, each way, in the words of tc (default: 1gbit)")
    add("--scale", type=int, default=21, help="logarithm of the vertices per host (default: 21)")
    add("--rows", type=int, default=300000, help="of K-means, per host (default: 300000)")
    add("--ranks", type=int, default=4, help="per host (default: 4)")
    add("--slots", type=int, default=1, help="ranks of a host that compute at a time (default: 1)")
    add("--plain-ranks", type=int, default=1, help="of plain MPI, per host: those that wait spin (default: 1)")
    add("--iterations", type=int, default=6, help="in each run; the first is not counted (default: 6)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--memory", default="4G", help="budget of each host, to hold all of its data (default: 4G)")
    add("--limit", type=float, default=300, metavar="SECONDS", help="time limit of each run (default: 300)")
    add("--folder", type=Path, help="where input and spill files go: on a local disk")
    options = parser.parse_args()
    try:
        options.hosts = sorted({int(word) for word in options.hosts.split(",")})
        options.bytes_per_s = bytes_per_s(options.rate)
    except ValueError as error:
        parser.error(f"--hosts, --rate: {error}")
    if (
        options.hosts[0] != 1
        or not 2 <= options.hosts[-1] <= 128
        or any(count & (count - 1) for count in options.hosts)
    ):
        parser.error("--hosts: powers of two up to 128, 1 and at least one more")
    if options.cores is None:
        options.cores = _SHARE_OF_HOSTS * len(os.sched_getaffinity(0)) / options.hosts[-1]
    if options.cores < _LEAST_CORES:
        parser.error(f"--cores: at least {_LEAST_CORES:g}, as the kernel limits no group to less in {PERIOD_US} us")
    if options.iterations < 2:
        parser.error("--iterations: at least 2")
    if min(options.repeats, options.ranks, options.slots, options.plain_ranks, options.scale, options.rows) < 1:
        parser.error("--repeats, --ranks, --slots, --plain-ranks, --scale, --rows: at least 1")
    return options


def measure_all(build: Build, options: argparse.Namespace, network: Network, folder: Path) -> int:
    flavour = options.mpi or build.default_flavour()
    setting = Setting(build, flavour, network, options.memory, folder, options.limit)
    versions = setting.versions()
    about_machine = machine.description(folder)
    print(
        f"Weak scaling, hosts of {options.cores:g} cores, links of {options.rate} each way, {versions}\n"
        f"{machine.text(about_machine)}\n\n"
        f"{options.ranks} ranks per host, {options.slots} at a time (plain MPI: {options.plain_ranks}), {EXPLANATION}",
        flush=True,
    )
    sizes = (options.hosts, options.ranks, options.slots, options.plain_ranks)
    shape = Shape(*sizes, options.bytes_per_s, options.iterations)
    figures: List[Scaling] = []
    text = ""
    for program in programs(options.scale, options.rows):
        figures.append(measure(setting, program, shape, options.repeats))
        text += (shown := page(figures[-1]))
        print(f"\n{shown}", flush=True)
    if options.json:
        content = {
            "machine": about_machine,
            "versions": versions,
            "cores_per_host": options.cores,
            "rate": options.rate,
            "ranks_per_host": {"spillway": options.ranks, "plain": options.plain_ranks},
            "slots": options.slots,
            "programs": [as_json(scaling) for scaling in figures],
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    needed_bytes = max(
        sum(map(program.input_bytes, options.hosts)) for program in programs(options.scale, options.rows)
    )
    try:
        limit = ProcessorLimit(options.cores)
        with scratch_folder(needed_bytes, options.folder) as folder:
            with Network(folder, options.hosts[-1], options.rate, own_ipc=True, limit=limit) as network:
                return measure_all(build, options, network, folder)
    except NoControlGroups as reason:
        remedy = "run as root, where control groups have the controller cpu"
        sys.exit(f"cannot limit the hosts' processor time\n  Cause:  {reason}\n  Remedy: {remedy}")
    except CannotMakeNetwork as reason:
        sys.exit(f"cannot make hosts\n  Cause:  {reason}\n  Remedy: run as root, with iproute2 installed")
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
