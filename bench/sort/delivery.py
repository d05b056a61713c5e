#!/usr/bin/env python3
"""The read stage of `spillway sort`: one-sided delivery beside two-sided, the design that the paper on hybrid sorting
(sections 3.1, 5.2 and 5.3) compares its own with; with as many processes, the same readers and the same memory."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import RunFailed, run
from measuring.progress import say
from measuring.scratch import scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict
from measuring.warm_memory import warm_memory

GIB = 1 << 30
RECORD_BYTES = 100
MEMORY_FOLDER = Path("/dev/shm")
LEAST_RATIO = 1.3
LEAST_OVERLAP = 0.9


class Delivery(NamedTuple):
    name: str
    words: List[str]


DELIVERIES = [
    Delivery("one-sided", ["--delivery", "one-sided"]),
    Delivery("two-sided", ["--delivery", "two-sided"]),
    # The paper's own, to the letter: a receiver has one receive at a time.
    Delivery("two-sided, one receive (the paper's)", ["--delivery", "two-sided-one-receive"]),
]
TWO_SIDED_PROCESSES = 3  # at least: a reader, a receiver and a sorter
# What `spillway sort` does by itself, beside those whose readers only read.
NO_READERS = Delivery("one-sided, all read and sort", ["--delivery", "one-sided", "--readers", "0"])


class Case(NamedTuple):
    title: str
    is_cached: bool  # the records
    is_in_memory: bool  # the buckets
    processes: int
    readers: int
    nodes: int = 1


# In the paper a node has a process per core, and readers have nodes of their own.
CASES = {
    "memory": Case("from memory to buckets in memory", True, True, 3, 1),
    "sorters": Case("from memory to buckets in memory, one more that sorts", True, True, 4, 1),
    "disk": Case("from disk to buckets on disk", False, False, 3, 1),
    "devices": Case("from memory to buckets on disk", True, False, 3, 1),
    "spilled": Case("from disk to buckets on disk, all read and sort", False, False, 2, 0),
    "cores": Case("from memory to buckets in memory, a core for each process", True, True, 2, 1),
    "nodes": Case("from memory to buckets in memory of another node", True, True, 4, 2, 2),
}

# Of a sorter's time in the stage: table 1 of the paper, the last writes and what is left.
PARTS = {
    "deal_out_s": "dealing out",
    "wait_for_data_s": "waiting for data",
    "write_rest_s": "last writes",
    "barrier_s": "final barrier",
}


class Sample(NamedTuple):
    stage_s: float
    total_s: float
    sorters: int
    shares: Dict[str, float]

    @property
    def overlap(self) -> float:
        """Figure 7: computing, of the whole stage."""
        return self.shares["deal_out_s"]


class Comparison:
    def __init__(self, case: Case, build: Build, flavour: str, limit_s: float, folder: Path) -> None:
        self.case = case
        self._build = build
        self._program = build.mpi_program("", "spillway-sort", flavour)
        self._limit_s = limit_s
        self._folder = folder
        self.deliveries = [*DELIVERIES, NO_READERS] if case.nodes == 1 else DELIVERIES
        if case.processes < TWO_SIDED_PROCESSES:
            self.deliveries = DELIVERIES[:1]
        self.two_sided = [delivery.name for delivery in self.deliveries if delivery.name.startswith("two-sided")]
        self.samples: Dict[str, List[Sample]] = {delivery.name: [] for delivery in self.deliveries}

    def run_all(self, source: Path, checksum: str, repeats: int) -> None:
        for repeat in range(repeats):
            turns = self.deliveries if repeat % 2 == 0 else self.deliveries[::-1]
            for delivery in turns:
                say(f"{self.case.title}: {repeat + 1} of {repeats}, {delivery.name}")
                self.samples[delivery.name].append(self._sample(delivery, source, checksum))
        say("")

    def _sample(self, delivery: Delivery, source: Path, checksum: str) -> Sample:
        size = source.stat().st_size
        output, report = self._folder / "sorted", self._folder / "report"
        # Of each process. A single sorter must have room for all buckets, or none for its share of them.
        memory = size * 13 // 5 + (64 << 20) if self.case.is_in_memory else max(64 << 20, size // 4)
        words = ["--memory", memory, "--spill-dir", self._folder, "--readers", self.case.readers, *delivery.words]
        words += ["--output", output, "--report-file", report, source]
        command = [*self._build.plain(self._program, self.case.processes), *map(str, words)]
        nodes = {"MPIR_CVAR_NUM_CLIQUES": str(self.case.nodes), "MPIR_CVAR_CLIQUES_BY_BLOCK": "1"}
        warm_memory(3 * size)
        run(command, self._limit_s, environment=nodes if self.case.nodes > 1 else None)
        run([self._build.program("teravalidate"), "--checksum", checksum, str(output)], self._limit_s)
        output.unlink()
        found = json.loads(report.read_text())
        if found["in_memory"] is not self.case.is_in_memory:
            raise RunFailed(f"{delivery.name}: buckets are not where the comparison wants them")
        whole_s = found["sorters_distribute_s"]
        shares = {part: found[part] / whole_s for part in PARTS}
        return Sample(found["distribute_s"], found["total_s"], found["sorters"], shares)

    def page(self, size: int) -> str:
        case = self.case
        of_nodes = f" on {case.nodes} nodes" if case.nodes > 1 else ""
        text = (
            f"{size / GIB:.1f} GiB {case.title}: {case.processes} processes{of_nodes}, {case.readers} of them readers\n"
        )
        head = [
            "delivery",
            "sorters",
            "read stage s",
            *(f"{title} %" for title in PARTS.values()),
            "other %",
            "in all s",
        ]
        rows = [head]
        for delivery in self.deliveries:
            samples = self.samples[delivery.name]
            shares = [Spread([100 * sample.shares[part] for sample in samples]) for part in PARTS]
            other = Spread([100 * (1 - sum(sample.shares.values())) for sample in samples])
            stage = Spread([sample.stage_s for sample in samples])
            total = Spread([sample.total_s for sample in samples])
            row = [delivery.name, str(samples[0].sorters), stage.text(), *(share.text(0) for share in shares)]
            rows.append([*row, other.text(0), total.text()])
        overlap = self.overlap("one-sided")
        text += table(rows) + "\n"
        for name in self.two_sided:
            ratio = self.ratio(name)
            text += f"  {name} / one-sided, read stage >= {LEAST_RATIO}: {ratio.text()}: "
            text += verdict(ratio.median >= LEAST_RATIO) + "\n"
        text += f"  dealing out / read stage, one-sided >= {LEAST_OVERLAP}: {overlap.text()}: "
        return text + verdict(overlap.median >= LEAST_OVERLAP) + "\n"

    def ratio(self, name: str) -> Spread:
        """Of runs in the same repeat."""
        pairs = zip(self.samples[name], self.samples["one-sided"])
        return Spread([two.stage_s / one.stage_s for two, one in pairs])

    def overlap(self, name: str) -> Spread:
        return Spread([sample.overlap for sample in self.samples[name]])

    def as_json(self) -> Dict[str, object]:
        samples = {name: [sample._asdict() for sample in some] for name, some in self.samples.items()}
        ratios = {name: self.ratio(name).as_json() for name in self.two_sided}
        return {**self.case._asdict(), "samples": samples, "ratios": ratios}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--cases", default=",".join(CASES), help=f"separated by commas (default: {','.join(CASES)})")
    add("--size", default="1G", help="of the records (default: 1G)")
    add("--repeats", type=int, default=5, help="runs of each, interleaved (default: 5)")
    add("--limit", type=float, default=300, metavar="SECONDS", help="time limit of each run (default: 300)")
    add("--folder", type=Path, help="where records, spilled buckets and outputs go: on a local disk")
    options = parser.parse_args()
    options.cases = [name for name in options.cases.split(",") if name]
    if not set(options.cases) <= set(CASES):
        parser.error(f"--cases takes some of {', '.join(CASES)}")
    return options


def measure(build: Build, options: argparse.Namespace, folder: Path, memory_folder: Path) -> int:
    from spillway_front_end.sizes import parse_size

    flavour = options.mpi or build.default_flavour()
    if flavour != "mpich" and any(CASES[name].nodes > 1 for name in options.cases):
        sys.exit("only MPICH can be told that processes are on several nodes\n  Remedy: --mpi mpich, or other --cases")
    about_machine = machine.description(folder)
    print(f"Read stage of {build.version()}, {flavour}\n{machine.text(about_machine)}", flush=True)
    size = parse_size(options.size)
    sources: Dict[bool, Path] = {}
    checksum, text = "", ""
    measured: Dict[str, object] = {}
    for name in options.cases:
        case = CASES[name]
        if case.is_cached not in sources:
            source = sources[case.is_cached] = (memory_folder if case.is_cached else folder) / "records"
            words = [build.program("teragen"), str(size // RECORD_BYTES), str(source)]
            checksum = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]
        comparison = Comparison(case, build, flavour, options.limit, folder)
        comparison.run_all(sources[case.is_cached], checksum, options.repeats)
        shown = comparison.page(size)
        print(f"\n{shown}", end="", flush=True)
        text += shown
        measured[name] = comparison.as_json()
    if options.json:
        versions = f"{build.version()}, {flavour}"
        content = {"machine": about_machine, "versions": versions, "cases": measured}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    from spillway_front_end.sizes import parse_size

    try:
        # The records, an output, and what is spilled.
        with scratch_folder(3 * parse_size(options.size) + GIB, options.folder) as folder:
            with tempfile.TemporaryDirectory(prefix="spillway-", dir=MEMORY_FOLDER) as memory_folder:
                return measure(build, options, folder, Path(memory_folder))
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
