#!/usr/bin/env python3
"""Sorting records of 100 bytes, in 1 GiB of memory and without a limit: `spillway sort` beside STXXL, Spark, DuckDB,
GNU sort and Spillway's key-value TeraSort; and beside what the disk takes for reading and writing the data twice."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "keyvalue"))

from contenders import (
    DEFAULT_FOLDER,
    INSTALL,
    MIB,
    Contender,
    DuckDb,
    GnuSort,
    Spark,
    Spillway,
    Work,
    cores,
    into_folder,
)
from inputs import write_records
from jobs import Job, Output, Target
from measurement import Measurement
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import why_unlimited
from measuring.disk_speed import disk_speeds
from measuring.program_run import run
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.verdict import misses_target, verdict
from result_page import as_json, page

GIB = 1 << 30
DISK_MIB = 1024
MOST_OF_DISK = 1.25  # of the time that it takes by itself for reading and writing the data twice

JOBS = {
    "limited": Job(
        "limited",
        "Sort",
        "terasort",
        "records",
        True,
        Output.ORDERED_LINES,
        [Target("sort", 2), Target("stxxl", 1), Target("duckdb", 1), Target("spark", 1)],
    ),
    "unlimited": Job(
        "unlimited",
        "Sort",
        "terasort",
        "records",
        False,
        Output.ORDERED_LINES,
        [Target("sort", 1), Target("stxxl", 1), Target("duckdb", 1), Target("spark", 1)],
    ),
}


class SpillwaySort(Spillway):
    title = "spillway sort"
    # Of each process, what an MPI library and the program itself take.
    _slack_bytes_per_process = 32 * MIB

    def command(self, work: Work) -> List[str]:
        budget = work.memory_bytes
        if work.is_limited:
            budget -= self._slack_bytes + self._slack_bytes_per_process * cores()
        words = ["sort", "-n", cores(), "--memory", budget, "--spill-dir", work.scratch, "--summary", "none"]
        words += ["--output", work.output / "part", work.input]
        return into_folder(work.output, [self._build.program("spillway"), *map(str, words)])


class KeyValue(Spillway):
    name, title = "terasort", "key-value TeraSort"


class Stxxl(Contender):
    """The program stxxl_sort.cpp."""

    name, title = "stxxl", "STXXL"
    jobs = ["terasort"]

    def __init__(self, folder: Path) -> None:
        self._program = folder / "stxxl-sort"

    def missing(self) -> str:
        return "" if self._program.exists() else f"no {self._program}: {INSTALL}"

    def version(self) -> str:
        words = ["dpkg-query", "--show", "--showformat", "${Version}", "libstxxl-dev"]
        return f"STXXL {subprocess.run(words, capture_output=True, text=True).stdout or 'of unknown version'}"

    def command(self, work: Work) -> List[str]:
        memory = work.memory_bytes // 10 * (8 if work.is_limited else 10)
        # The library writes logs to where it is started, if it is not told another place.
        logs = [f"STXXLLOGFILE={os.devnull}", f"STXXLERRLOGFILE={os.devnull}"]
        words = ["env", *logs, self._program, work.input, work.output / "part", work.scratch, memory]
        return into_folder(work.output, list(map(str, words)))


class SortMeasurement(Measurement):
    """The disk is measured beside each run of ours. Each output is validated, whoever made it: its order, and that it
    has the records of the source."""

    def __init__(self, build: Build, checksum: str, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.of_disk: List[float] = []
        self._validator = build.program("teravalidate")
        self._checksum = checksum

    def _check(self, work: Work) -> None:
        of_source = ["--checksum", self._checksum] if work.input == self.source else []
        parts = sorted(work.output.glob("part*"))
        run([self._validator, *of_source, *map(str, parts)], self._limit_s)

    def _sample(self, contender: Contender, repeat: int) -> None:
        super()._sample(contender, repeat)
        if contender.name == "spillway" and contender.name in self.samples:
            size = self.source.stat().st_size
            speeds = disk_speeds(self._folder, min(DISK_MIB, 1 + size // MIB))
            disk_s = 2 * size / speeds["read"] + 2 * size / speeds["write"]
            self.of_disk.append(self.samples["spillway"][-1].wall_s / disk_s)

    def disk_line(self) -> str:
        if not self.of_disk:
            return ""
        found = Spread(self.of_disk)
        line = f"  s in all / s of the disk for reading and writing the data twice <= {MOST_OF_DISK}: {found.text()}: "
        return line + verdict(found.median <= MOST_OF_DISK)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--jobs", default=",".join(JOBS), help=f"separated by commas (default: {','.join(JOBS)})")
    add("--peers", default="stxxl,spark,duckdb,sort,terasort", help="separated by commas (default: all)")
    add("--peer-folder", type=Path, default=DEFAULT_FOLDER, help="where bench/keyvalue/peers/install.sh put them")
    add("--size", default="4G", help="of the records (default: 4G)")
    add("--memory", default="1G", help="of the limited job (default: 1G)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=1200, metavar="SECONDS", help="time limit of each run (default: 1200)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    options.jobs = [name for name in options.jobs.split(",") if name]
    if not set(options.jobs) <= set(JOBS):
        parser.error(f"--jobs takes some of {', '.join(JOBS)}")
    return options


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    from spillway_front_end.machine import available_memory
    from spillway_front_end.sizes import parse_size

    flavour = options.mpi or build.default_flavour()
    peers = options.peer_folder.resolve()
    others: List[Contender] = [Stxxl(peers), Spark(peers), DuckDb(peers), GnuSort(), KeyValue(build, flavour)]
    everyone = [SpillwaySort(build, flavour), *(other for other in others if other.name in options.peers.split(","))]
    about_machine = machine.description(folder)
    versions = list(dict.fromkeys(contender.version() for contender in everyone if not contender.missing()))
    print(f"Sort: {'; '.join(versions)}\n{machine.text(about_machine)}", flush=True)
    source = folder / "records"
    checksum = write_records(source, parse_size(options.size), build)
    memory, text, problems = parse_size(options.memory), "", []
    measured: List[Dict[str, object]] = []
    for name in options.jobs:
        job = JOBS[name]
        roomy = max(memory, min(3 * source.stat().st_size + GIB, available_memory().value // 2))
        because = why_unlimited() if job.is_limited else ""
        measurement = SortMeasurement(
            build, checksum, job, source, folder, memory if job.is_limited else roomy, because, options.limit, say
        )
        measurement.run_all(everyone, options.repeats)
        say("")
        shown = page(measurement, everyone, "printable records of 100 bytes")
        shown += "\n" + measurement.disk_line() if job.is_limited else ""
        print(f"\n{shown}", flush=True)
        text += shown
        measured.append({**as_json(measurement), "of_disk": measurement.of_disk})
        problems += [f"{name}: {problem}" for problem in measurement.problems()]
    if options.json:
        content = {"machine": about_machine, "versions": versions[0], "peers": versions[1:], "jobs": measured}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems or misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    from spillway_front_end.sizes import parse_size

    # The records, an output, what is spilled, and the disk's own file.
    room = 4 * parse_size(options.size) + 2 * GIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
