#!/usr/bin/env python3
"""`spillway sort` of records that are sorted already, reversed, all of one key or Zipf-distributed, beside as many with
uniform keys: in a quarter of their size as memory, and without a limit."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.file_cache import forget_file_cache
from measuring.program_run import run
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict
from measuring.warm_memory import warm_memory

GIB = 1 << 30
BOUND = 1.10
STAGES = {"sample_s": "sample", "distribute_s": "read, deal out", "finish_s": "sort, write"}
OF_ALL = {"deal_out_s": "deal out", "sort_s": "sort", "move_s": "move"}  # sums over the processes
JOBS = ("limited", "unlimited")


class Sample(NamedTuple):
    wall_s: float
    page: Dict[str, float]  # of `spillway sort`


class SkewMeasurement:
    def __init__(self, build: Build, flavour: str, folder: Path, size: int, memory: int, limit_s: float) -> None:
        from skewed_records import content, write_records

        self._content = content
        self._write_records = write_records
        self.memory = memory
        self.samples: Dict[str, List[Sample]] = {}
        self.problems: List[str] = []
        self._words = [build.program("spillway"), "sort", "--mpi", flavour, "--memory", str(memory)]
        self._folder = folder
        self._given: Dict[str, Any] = {}
        self._size = size
        self._limit_s = limit_s

    def run_all(self, kinds: List[str], repeats: int) -> None:
        """Raises RunFailed. Who is first alternates."""
        for repeat in range(repeats):
            for kind in kinds if repeat % 2 == 0 else reversed(kinds):
                say(f"{kind}: repeat {repeat + 1} of {repeats}")
                self.samples.setdefault(kind, []).append(self._run(kind))

    def _run(self, kind: str) -> Sample:
        source = self._folder / kind
        if not source.exists():
            self._write_records(source, self._size, kind)
        if kind not in self._given:
            self._given[kind] = self._content(source)
        output, page = self._folder / "output", self._folder / "page"
        forget_file_cache(source)
        warm_memory(min(self.memory, 2 * self._size))
        words = ["--spill-dir", self._folder, "--summary", "json", "--summary-file", page, "--output", output, source]
        outcome = run([*self._words, *map(str, words)], self._limit_s)
        if not self._content(output).is_sort_of(self._given[kind]):
            self.problems.append(f"{kind}: the output is not the sorted input")
        output.unlink()
        return Sample(outcome.wall_s, json.loads(page.read_text()))

    def ratio(self, kind: str) -> Spread:
        """To uniform keys in the same repeat."""
        pairs = zip(self.samples[kind], self.samples["uniform"])
        return Spread([sample.wall_s / uniform.wall_s for sample, uniform in pairs])

    def page(self, title: str) -> str:
        rows = [["keys", "s", *STAGES.values(), *(f"{name}, sum" for name in OF_ALL.values()), "/ uniform"]]
        lines = []
        for kind, samples in self.samples.items():
            figures = [Spread([sample.page[name] for sample in samples]).text() for name in (*STAGES, *OF_ALL)]
            of_uniform = self.ratio(kind)
            rows.append([kind, Spread([sample.wall_s for sample in samples]).text(), *figures, of_uniform.text()])
            if kind != "uniform":
                met = verdict(of_uniform.median <= BOUND)
                lines.append(f"  {kind} / uniform <= {BOUND:.2f}: {of_uniform.text()}: {met}")
        where = "in memory" if self.samples["uniform"][0].page["in_memory"] else "by way of the disk"
        return "\n".join([f"{title}, {where}", table(rows), *lines])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--jobs", default=",".join(JOBS), help=f"separated by commas (default: {','.join(JOBS)})")
    add("--keys", default="sorted,reversed,constant,zipf", help="beside uniform ones (default: all)")
    add("--size", default="2G", help="of the records (default: 2G)")
    add("--repeats", type=int, default=5, help="runs of each, interleaved (default: 5)")
    add("--limit", type=float, default=600, metavar="SECONDS", help="time limit of each run (default: 600)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    options.jobs = [name for name in options.jobs.split(",") if name]
    if not set(options.jobs) <= set(JOBS):
        parser.error(f"--jobs takes some of {', '.join(JOBS)}")
    from skewed_records import KINDS

    options.keys = ["uniform", *(kind for kind in options.keys.split(",") if kind)]
    if not set(options.keys) <= set(KINDS):
        parser.error(f"--keys takes some of {', '.join(KINDS)}")
    return options


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    from spillway_front_end.machine import available_memory
    from spillway_front_end.sizes import format_size, parse_size

    size = parse_size(options.size)
    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    print(f"Sort of {format_size(size)}: {build.version()}, {flavour}\n{machine.text(about_machine)}", flush=True)
    memory_of = {"limited": size // 4, "unlimited": min(3 * size + GIB, available_memory().value // 2)}
    text, problems = "", []
    measured: Dict[str, object] = {}
    for name in options.jobs:
        measurement = SkewMeasurement(build, flavour, folder, size, memory_of[name], options.limit)
        measurement.run_all(options.keys, options.repeats)
        say("")
        shown = measurement.page(f"{format_size(size)} in {format_size(measurement.memory)}")
        print(f"\n{shown}", flush=True)
        text += shown
        problems += [f"{name}: {problem}" for problem in measurement.problems]
        measured[name] = {
            kind: [{"wall_s": sample.wall_s, **sample.page} for sample in samples]
            for kind, samples in measurement.samples.items()
        }
    if options.json:
        versions = f"{build.version()}, {flavour}"
        content = {"machine": about_machine, "versions": versions, "jobs": measured}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems or misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    from skewed_records import KINDS
    from spillway_front_end.sizes import parse_size

    # Each kind of records, an output, and what is spilled.
    room = (len(KINDS) + 2) * parse_size(options.size) + GIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
