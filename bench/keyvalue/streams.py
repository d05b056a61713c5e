#!/usr/bin/env python3
"""How long messages of 100 bytes are on their way to who knows the most frequent keys: Spillway's streaming mode beside
Spark's structured streaming."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contenders import DEFAULT_FOLDER, PEERS, Spark, cores
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.process_tree import descendants, executable
from measuring.program_run import RunFailed, run
from measuring.progress import say
from measuring.residency import pss_bytes
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict

RATES = [1000, 100_000, 1_000_000]
BOUNDS_MS = {1000: 10.0, 100_000: 100.0}  # of the 99th percentile
QUANTILES = [0.5, 0.99, 0.999]
FIGURES = ["p50", "p99", "p99.9"]
TOP = 10  # keys
# A JVM compiles what it runs often; messages before that do not count. A query is slow to stop, too.
SPARK_WARM_UP_S, SPARK_START_S = 15, 120
PROBED_RATE, PROBED_S = 40_000_000, 1  # more than anybody sends
LONG_SHARE = 0.8  # of the peak rate
LARGEST_GROWTH = 1.05
LOOKS = 20  # at mpidrun's memory, in a run


class Sample(NamedTuple):
    messages_per_s: float  # that were sent; of Spark, whose top was found
    times_ms: List[float]  # as in FIGURES
    memory_mib: Dict[str, List[float]]  # of each side, after a fifth and at the end; of Spark none
    work_ms: float = 0  # of Spark, what of the times its batches were at work, in the median


class LongRun(NamedTuple):
    peak_per_s: float
    seconds: int
    sample: Sample

    @property
    def growth(self) -> Dict[str, float]:
        return {who: late / early for who, (early, late) in self.sample.memory_mib.items()}


class MemoryOfOthers:
    """Of mpidrun and all that it started, but for the program: sampled from the program's start to its end."""

    def __init__(self, program: str, seconds: int) -> None:
        self._program = os.path.realpath(program)
        self._period_s = seconds / LOOKS
        self._mib: List[float] = []

    def begin(self, process: subprocess.Popen) -> None:
        threading.Thread(target=self._sample, args=[process], daemon=True).start()

    def after_a_fifth_and_at_the_end(self) -> List[float]:
        if not self._mib:
            raise RunFailed("mpidrun's memory was not seen")
        return [self._mib[len(self._mib) // 5], self._mib[-1]]

    def _sample(self, process: subprocess.Popen) -> None:
        while process.poll() is None:
            programs = {pid: executable(pid) for pid in [process.pid, *descendants(process.pid)]}
            sizes = [pss_bytes(pid) for pid, program in programs.items() if program != self._program]
            # Before and after it they begin and end.
            if self._program in programs.values() and all(sizes):
                self._mib.append(sum(sizes) / (1 << 20))
            time.sleep(self._period_s)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    rates = ",".join(map(str, RATES))
    add("--rates", default=rates, help=f"messages per second, separated by commas (default: {rates})")
    add("--seconds", type=int, default=10, help="that each run lasts (default: 10)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--long", type=int, default=0, metavar="SECONDS", help="a run of so long at 0.8 of the peak rate, too")
    add("--no-spark", action="store_true", help="only Spillway")
    add("--peer-folder", type=Path, default=DEFAULT_FOLDER, help="where install.sh put Spark (default: build/peers)")
    add("--folder", type=Path, help="where all files go")
    options = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.rates) or min(options.seconds, options.repeats) < 1:
        parser.error("--rates, --seconds and --repeats take numbers from 1 on")
    if options.long < 0:
        parser.error("--long: a number of seconds")
    options.rates = list(map(int, options.rates.split(",")))
    return options


def quantiles(batches: List[Tuple[int, float, float]]) -> List[float]:
    """Of messages in batches: their number, the shortest and the longest time; all between are as frequent."""
    steps = 1000
    weighted = sorted(
        (shortest + (longest - shortest) * (step + 0.5) / steps, count / steps)
        for count, shortest, longest in batches
        for step in range(steps)
    )
    total = sum(count for count, _, _ in batches)
    found, passed, at = [], 0.0, iter(weighted)
    time_ms = weighted[0][0]
    for quantile in QUANTILES:
        while passed < quantile * total:
            time_ms, weight = next(at)
            passed += weight
        found.append(time_ms)
    return found


def run_spillway(build: Build, rate: int, seconds: int, flavour: str, folder: Path) -> Sample:
    program = build.mpi_program("tests", "stream-latency", flavour)
    words = [build.program("mpidrun"), "-M", "streaming", "-O", 1, "-A", 1, "--spill-dir", folder]
    words += ["--progress", "none", "--summary", "none", "--", program, rate, seconds, TOP]
    others = MemoryOfOthers(program, seconds)
    text = "\n".join(run(list(map(str, words)), 10.0 * seconds + 60, on_start=others.begin).lines)
    memory = r"memory ([\d.]+) MiB after a fifth, ([\d.]+) MiB at the end"
    sent = re.search(rf"sent: \d+ messages, (\d+)/s of \d+/s; {memory}", text)
    times = r"p50 (\d+) us, p99 (\d+) us, p99.9 (\d+) us, max \d+ us"
    received = re.search(rf"received: (\d+) messages, {times}; {memory}", text)
    if not sent or not received or int(received[1]) != rate * seconds:
        raise RunFailed(f"messages were lost:\n{text}")
    if f"top {TOP} of {seconds} windows: as sent" not in text:
        raise RunFailed(f"not all windows were counted:\n{text}")
    memory_mib = {
        "the A task": [float(received[5]), float(received[6])],
        "the O task": [float(sent[2]), float(sent[3])],
        "mpidrun and launchers": others.after_a_fifth_and_at_the_end(),
    }
    return Sample(float(sent[1]), [int(received[place]) / 1000 for place in (2, 3, 4)], memory_mib)


def run_long(build: Build, seconds: int, flavour: str, folder: Path) -> LongRun:
    peak = run_spillway(build, PROBED_RATE, PROBED_S, flavour, folder).messages_per_s
    rate = int(LONG_SHARE * peak)
    say(f"{rate} messages/s for {seconds} s")
    return LongRun(peak, seconds, run_spillway(build, rate, seconds, flavour, folder))


def run_spark(spark: Spark, rate: int, seconds: int, folder: Path) -> Sample:
    """What is wrong with its counts, spark_stream.py finds."""
    own = folder / "spark"
    own.mkdir()
    try:
        program = [PEERS / "spark_stream.py", rate, seconds + SPARK_WARM_UP_S, TOP, own]
        command = spark.with_settings(program, own, 4096, cores())
        lines = run(command, 10.0 * (seconds + SPARK_WARM_UP_S) + SPARK_START_S).lines
    finally:
        shutil.rmtree(own, ignore_errors=True)
    found = [re.fullmatch(r"batch: (\d+) (-?\d+) (-?\d+) (\d+) at (\d+)", line) for line in lines]
    return sample_of_batches([tuple(map(int, each.groups())) for each in found if each], rate * SPARK_WARM_UP_S)


def sample_of_batches(batches: List[Tuple[int, ...]], warm_up: int) -> Sample:
    """Of lines of spark_stream.py, without those before so many messages."""
    passed, counted = 0, 0
    while counted < len(batches) and passed < warm_up:
        passed += batches[counted][0]
        counted += 1
    if counted in (0, len(batches)):
        raise RunFailed("Spark had no batch after the warm-up, or none before: take more seconds")
    timed = [(count, shortest / 1000, longest / 1000) for count, shortest, longest, _, _ in batches[counted:]]
    took_s = (batches[-1][4] - batches[counted - 1][4]) / 1e6
    work_ms = Spread([work / 1000 for _, _, _, work, _ in batches[counted:]]).median
    return Sample(sum(count for count, _, _ in timed) / took_s, quantiles(timed), {}, work_ms)


def page_of_long_run(long: LongRun) -> str:
    rate = long.sample.messages_per_s
    lines = [
        f"\n  {rate:.0f}/s for {long.seconds} s, of a peak of {long.peak_per_s:.0f}/s: none lost, "
        f"p50 {long.sample.times_ms[0]:.1f} ms, p99 {long.sample.times_ms[1]:.1f} ms"
    ]
    for who, (early, late) in long.sample.memory_mib.items():
        held = verdict(long.growth[who] <= LARGEST_GROWTH)
        figures = f"{early:.1f} MiB after a fifth and {late:.1f} at the end"
        lines.append(f"  memory of {who}, {figures} <= {LARGEST_GROWTH:g} x: {held}")
    return "\n".join(lines)


def page(samples: Dict[Tuple[int, str], List[Sample]], left_out: Dict[str, str]) -> str:
    rows = [["messages/s", "", "sent/s", *(f"{figure} ms" for figure in FIGURES)]]
    for (rate, name), of_runs in samples.items():
        times = [Spread([sample.times_ms[place] for sample in of_runs]).text(1) for place in range(len(FIGURES))]
        rows.append([str(rate), name, Spread([each.messages_per_s for each in of_runs]).text(0), *times])
    lines = [table(rows)]
    for (rate, name), of_runs in samples.items():
        if name == "Spark":
            work = Spread([sample.work_ms for sample in of_runs]).text(0)
            lines.append(f"  Spark at {rate}/s: of its times, {work} ms are a batch's work (median)")
    lines += [f"  left out: {name}: {reason}" for name, reason in left_out.items()]
    for rate, bound in BOUNDS_MS.items():
        if (rate, "Spillway") in samples:
            p99 = Spread([sample.times_ms[1] for sample in samples[rate, "Spillway"]])
            lines.append(f"  Spillway, p99 at {rate}/s < {bound:g} ms: {p99.text()}: {verdict(p99.median < bound)}")
    return "\n".join(lines)


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    spark = Spark(options.peer_folder.resolve())
    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    print(f"Streams: {build.version()}, {flavour}\n{machine.text(about_machine)}", flush=True)
    reason = "--no-spark" if options.no_spark else spark.missing()
    left_out = {"Spark": reason} if reason else {}
    samples: Dict[Tuple[int, str], List[Sample]] = {}
    for repeat in range(options.repeats):
        for rate in options.rates:
            say(f"{rate} messages/s: repeat {repeat + 1} of {options.repeats}")
            found = run_spillway(build, rate, options.seconds, flavour, folder)
            samples.setdefault((rate, "Spillway"), []).append(found)
            name = f"Spark at {rate}/s"
            if not reason and name not in left_out:
                try:
                    found = run_spark(spark, rate, options.seconds, folder)
                    samples.setdefault((rate, "Spark"), []).append(found)
                except RunFailed as failure:  # what it cannot do is a figure, too
                    left_out[name] = str(failure).splitlines()[0]
                    samples.pop((rate, "Spark"), None)
    long = run_long(build, options.long, flavour, folder) if options.long else None
    say("")
    text = page(samples, left_out) + (page_of_long_run(long) if long else "")
    print(f"\n{text}", flush=True)
    if options.json:
        rows = [
            {"rate": rate, "contender": name, "samples": [sample._asdict() for sample in of_runs]}
            for (rate, name), of_runs in samples.items()
        ]
        content: Dict[str, object] = {"machine": about_machine, "streams": rows}
        if long:
            content["long"] = {**long._asdict(), "sample": long.sample._asdict(), "growth": long.growth}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    room = 64 << 20
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
