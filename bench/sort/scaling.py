#!/usr/bin/env python3
"""`spillway sort` on 1, 2 and 4 hosts: strong scaling, of the same records, and weak scaling, of as many for each host.
The hosts are network namespaces whose processor time is limited, to the same for any number of them: only root may
make them. Their disk is one, and unlimited: the processors have to be the slower ones."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import PERIOD_US, NoControlGroups, ProcessorLimit
from measuring.file_cache import forget_file_cache
from measuring.network import CannotMakeNetwork, Network, bytes_per_s
from measuring.program_run import RunFailed, run
from measuring.progress import say
from measuring.scratch import scratch_folder
from measuring.spread import Spread
from measuring.table import table

GIB = 1 << 30
LEAST_CORES = 1000 / PERIOD_US
STAGES = {"sample_s": "sample", "distribute_s": "read, deal out", "finish_s": "sort, write"}


class Way(NamedTuple):
    hosts: int
    size: int  # of all records


class ScalingMeasurement:
    def __init__(self, build: Build, flavour: str, network: Network, folder: Path, options: argparse.Namespace) -> None:
        from skewed_records import content, write_records

        self._content = content
        self._write_records = write_records
        self._words = [build.program("spillway"), "sort", "--mpi", flavour, "--memory", options.memory]
        self._words += ["--summary", "json", "--spill-dir", str(folder)]
        self._network = network
        self._folder = folder
        self._processes = options.processes
        self._limit_s = options.limit
        self._given: Dict[int, Any] = {}  # by size
        self.pages: Dict[Way, List[Dict[str, float]]] = {}

    def run(self, way: Way) -> None:
        """Raises RunFailed."""
        source, output, page = (self._folder / name for name in (f"records-{way.size}", "output", "page"))
        if not source.exists():
            self._write_records(source, way.size, "uniform")
            self._given[way.size] = self._content(source)
        forget_file_cache(source)
        words = ["-n", way.hosts * self._processes, "--hosts", ",".join(self._network.hosts[: way.hosts])]
        words += ["--summary-file", page, "--output", output, source]
        try:
            run([*self._words, *map(str, words)], self._limit_s, environment=self._network.environment)
        finally:
            self._network.end_processes()
        if not self._content(output).is_sort_of(self._given[way.size]):
            raise RunFailed(f"on {way.hosts} hosts, the output is not the sorted input")
        output.unlink()
        self.pages.setdefault(way, []).append(json.loads(page.read_text()))

    def seconds(self, way: Way) -> List[float]:
        return [page["total_s"] for page in self.pages[way]]

    def efficiency(self, way: Way, base: Way) -> Spread:
        """Of the sort rate of each host, what is left of that of the one host; of runs in the same repeat."""
        rates = [[size.size / size.hosts / seconds for seconds in self.seconds(size)] for size in (way, base)]
        return Spread([rate / of_base for rate, of_base in zip(*rates)])

    def rows(self, ways: List[Way]) -> List[List[str]]:
        rows = [["hosts", "MiB", "s", *STAGES.values(), "MiB/s", "efficiency"]]
        for way in ways:
            spreads = [Spread([page[name] for page in self.pages[way]]) for name in ("total_s", *STAGES)]
            rate = Spread([way.size / (1 << 20) / seconds for seconds in self.seconds(way)])
            cells = [*(spread.text() for spread in spreads), rate.text(1), self.efficiency(way, ways[0]).text()]
            rows.append([str(way.hosts), str(way.size >> 20), *cells])
        return rows


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--hosts", default="1,2,4", help="1 and more, separated by commas (default: 1,2,4)")
    add("--cores", type=float, default=0.2, help="processor time of each host (default: 0.2)")
    add("--rate", default="10gbit", help="of each link, each way, in the words of tc (default: 10gbit)")
    add("--processes", type=int, default=1, help="of each host (default: 1)")
    add("--size", default="1G", help="of the records on all hosts (strong) or on the most hosts (weak; default: 1G)")
    add("--memory", default="1G", help="of each host (default: 1G)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=600, metavar="SECONDS", help="time limit of each run (default: 600)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    try:
        options.hosts = sorted({int(word) for word in options.hosts.split(",")})
        bytes_per_s(options.rate)
    except ValueError as error:
        parser.error(f"--hosts, --rate: {error}")
    if options.hosts[0] != 1 or not 2 <= options.hosts[-1] <= 128:
        parser.error("--hosts: up to 128, 1 and at least one more")
    if options.cores < LEAST_CORES or min(options.processes, options.repeats) < 1:
        parser.error(f"--cores: at least {LEAST_CORES:g}; --processes, --repeats: at least 1")
    return options


def ways_of(options: argparse.Namespace, size: int) -> Dict[str, List[Way]]:
    of_host = size // options.hosts[-1]
    return {
        "strong": [Way(hosts, size) for hosts in options.hosts],
        "weak": [Way(hosts, of_host * hosts) for hosts in options.hosts],
    }


def measure(build: Build, options: argparse.Namespace, network: Network, folder: Path) -> None:
    from spillway_front_end.sizes import parse_size

    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    print(
        f"Sort on hosts of {options.cores:g} cores, links of {options.rate}, {options.processes} processes and "
        f"{options.memory} of memory each: {build.version()}, {flavour}\n{machine.text(about_machine)}",
        flush=True,
    )
    measurement = ScalingMeasurement(build, flavour, network, folder, options)
    scalings = ways_of(options, parse_size(options.size))
    ways: Tuple[Way, ...] = tuple(dict.fromkeys(way for each in scalings.values() for way in each))
    for repeat in range(options.repeats):
        for way in ways[:: -1 if repeat % 2 else 1]:
            say(f"{way.size >> 20} MiB on {way.hosts} hosts: repeat {repeat + 1} of {options.repeats}")
            measurement.run(way)
    say("")
    for name, of_scaling in scalings.items():
        print(f"\n{name} scaling\n{table(measurement.rows(of_scaling))}", flush=True)
    if options.json:
        runs = [{**way._asdict(), "pages": pages} for way, pages in measurement.pages.items()]
        content = {"machine": about_machine, "cores_per_host": options.cores, "rate": options.rate, "runs": runs}
        options.json.write_text(json.dumps(content, indent=2) + "\n")


def main() -> int:
    options = parse()
    build = Build(options.build)
    from spillway_front_end.sizes import parse_size

    try:
        limit = ProcessorLimit(options.cores)
        # The records of each way, an output, and what is spilled.
        with scratch_folder(6 * parse_size(options.size) + GIB, options.folder) as folder:
            with Network(folder, options.hosts[-1], options.rate, own_ipc=True, limit=limit) as network:
                measure(build, options, network, folder)
    except NoControlGroups as reason:
        remedy = "run as root, where control groups have the controller cpu"
        sys.exit(f"cannot limit the hosts' processor time\n  Cause:  {reason}\n  Remedy: {remedy}")
    except CannotMakeNetwork as reason:
        sys.exit(f"cannot make hosts\n  Cause:  {reason}\n  Remedy: run as root, with iproute2 installed")
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
