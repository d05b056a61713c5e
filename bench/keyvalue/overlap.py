#!/usr/bin/env python3
"""How much of its pipeline one process does at the same time while O tasks run: processor seconds for each second, and
the threads' shares of them."""

import argparse
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from inputs import write_records, write_zipf_text
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.process_tree import ThreadReading, running, thread_reading
from measuring.program_run import RunFailed
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict
from mpidrun_run import Command, run_with_mpidrun
from run import roomy_bytes

GIB, MIB = 1 << 30, 1 << 20
PROGRAMS = {
    "WordCount": "wordcount",
    "WordCount that sends every word": "words-uncombined",
    "TeraSort": "terasort",
}
SORTER = "mpid-sort"  # lives as long as O tasks send
SHARES = {"the program's thread": None, "sorting": SORTER, "merging": "mpid-merge"}
STEP_S = 0.005
BOUND = 1.0


class Threads:
    """Looks at the threads of a program below a process that is started, until it ends."""

    def __init__(self, program: str) -> None:
        self.names: Dict[int, str] = {}
        self.readings: List[ThreadReading] = []
        self.pid: Optional[int] = None
        self._program = str(Path(program).resolve())
        self._ends = threading.Event()

    def watch(self, process: subprocess.Popen) -> None:
        threading.Thread(target=self._look, args=(process.pid,), daemon=True).start()

    def end(self) -> None:
        self._ends.set()

    def _look(self, parent: int) -> None:
        while not self._ends.wait(STEP_S):
            if self.pid is None:
                self.pid = next(iter(running(parent, self._program)), None)
            else:
                self.readings.append(thread_reading(self.pid, self.names))


class Sample(NamedTuple):
    wall_s: float  # while O tasks ran
    thread_s: Dict[str, float]  # by name; that of the program's thread is that of its program
    wait_s: float  # of all threads, for a processor

    @property
    def overlap(self) -> float:
        return sum(self.thread_s.values()) / self.wall_s

    @property
    def busy_threads(self) -> float:
        """What the overlap would be, nearly, if there were processors for all threads that have something to do."""
        return (sum(self.thread_s.values()) + self.wait_s) / self.wall_s

    def share(self, name: Optional[str]) -> float:
        own = {SORTER, "mpid-merge"}
        found = self.thread_s.get(name, 0) if name else sum(s for n, s in self.thread_s.items() if n not in own)
        return found / sum(self.thread_s.values())


def sample_of(threads: Threads) -> Sample:
    sorters = {thread for thread, name in threads.names.items() if name == SORTER}
    during = [reading for reading in threads.readings if sorters & reading.times_ns.keys()]
    if len(during) < 5:
        raise RunFailed("O tasks have ended before anybody could look: the input is too small")
    first, last = during[0], during[-1]
    thread_s: Dict[str, float] = {}
    for thread, used in last.times_ns.items():
        name = threads.names[thread]
        thread_s[name] = thread_s.get(name, 0) + (used - first.times_ns.get(thread, 0)) / 1e9
    wait_ns = sum(waited - first.waits_ns.get(thread, 0) for thread, waited in last.waits_ns.items())
    return Sample((last.at_ns - first.at_ns) / 1e9, thread_s, wait_ns / 1e9)


class OverlapMeasurement:
    def __init__(self, title: str, build: Build, program: str, source: Path, folder: Path, limit_s: float) -> None:
        self.title = title
        self.samples: List[Sample] = []
        self._build = build
        self._program = program
        self._source = source
        self._folder = folder
        self._limit_s = limit_s

    def run_once(self) -> None:
        """One process and one A task, and the input in memory. Raises RunFailed."""
        with open(self._source, "rb") as source:
            while source.read(MIB):
                pass
        threads = Threads(self._program)
        try:
            run_with_mpidrun(
                self._build,
                Command(self._program, lambda output, source: [output, source]),
                self._source,
                self._folder,
                roomy_bytes(self._source, GIB, False),
                self._limit_s,
                options=["-n", 1, "-A", 1],
                on_start=threads.watch,
                reads_disk=False,
            )
        finally:
            threads.end()
        self.samples.append(sample_of(threads))

    def row(self) -> List[str]:
        size = f"{self.title}, {self._source.stat().st_size / MIB:.0f} MiB"
        shares = [
            f"{100 * Spread([sample.share(name) for sample in self.samples]).median:.0f}%" for name in SHARES.values()
        ]
        columns = [[one.wall_s for one in self.samples], [one.busy_threads for one in self.samples]]
        seconds, busy = (Spread(column).text() for column in columns)
        return [size, seconds, self.overlap().text(), busy, *shares]

    def overlap(self) -> Spread:
        return Spread([sample.overlap for sample in self.samples])

    def as_json(self) -> Dict[str, object]:
        return {
            "name": self.title,
            "input_bytes": self._source.stat().st_size,
            "samples": [sample._asdict() for sample in self.samples],
            "overlap": self.overlap().as_json(),
        }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--size", default="256M", help="of each input (default: 256M)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=600, metavar="SECONDS", help="time limit of each run (default: 600)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats: at least 1")
    return options


def measure(build: Build, options: argparse.Namespace, folder: Path, size: int) -> int:
    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    version = f"{build.version()}, {flavour}"
    print(f"Overlap in one process: {version}\n{machine.text(about_machine)}", flush=True)
    say("making the inputs")
    sources = {title: folder / f"input-{number}" for number, title in enumerate(PROGRAMS)}
    words, same, records = sources.values()
    write_zipf_text(words, size)
    same.symlink_to(words)
    write_records(records, size, build)
    measurements = [
        OverlapMeasurement(
            title, build, build.mpi_program("tests", name, flavour), sources[title], folder, options.limit
        )
        for title, name in PROGRAMS.items()
    ]
    for repeat in range(options.repeats):
        for measurement in measurements:
            say(f"{measurement.title}: repeat {repeat + 1} of {options.repeats}")
            measurement.run_once()
    say("")
    head = ["while O tasks run", "s", "processor s / s", "threads with work", *SHARES]
    page = "Words are Zipf-distributed.\n" + table([head, *(measurement.row() for measurement in measurements)])
    for measurement in measurements:
        met = verdict(measurement.overlap().median > BOUND)
        page += f"\n  {measurement.title}: processor s / s > {BOUND:.2f}: {met}"
    print(f"\n{page}", flush=True)
    if options.json:
        rows = [measurement.as_json() for measurement in measurements]
        options.json.write_text(
            json.dumps({"machine": about_machine, "versions": version, "jobs": rows}, indent=2) + "\n"
        )
    return 1 if misses_target(page) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    from spillway_front_end.sizes import parse_size

    size = parse_size(options.size)
    # The inputs, an output, and what is spilled.
    room = 6 * size + GIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder, size), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
