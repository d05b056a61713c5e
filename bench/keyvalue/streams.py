#!/usr/bin/env python3
"""How long messages of 100 bytes are on their way to who counts them by key: Spillway's streaming mode beside Spark's
structured streaming."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contenders import DEFAULT_FOLDER, PEERS, Spark
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.program_run import RunFailed, end, run
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict

RATES = [1000, 100_000, 1_000_000]
BOUNDS_MS = {1000: 10.0, 100_000: 100.0}  # of the 99th percentile
QUANTILES = [0.5, 0.99, 0.999]
FIGURES = ["p50", "p99", "p99.9"]
KEYS = 1000
# A JVM compiles what it runs often; messages before that do not count. A query is slow to stop, too.
SPARK_WARM_UP_S, SPARK_START_S = 15, 120
PROBED_RATE, PROBED_S = 40_000_000, 1  # more than anybody sends
LONG_SHARE = 0.8  # of the peak rate
LARGEST_GROWTH = 1.05


class Sample(NamedTuple):
    messages_per_s: float  # that were sent
    times_ms: List[float]  # as in FIGURES
    memory_mib: List[float]  # of who counts, after a fifth and at the end; of Spark none


class LongRun(NamedTuple):
    peak_per_s: float
    seconds: int
    sample: Sample

    @property
    def growth(self) -> float:
        early, late = self.sample.memory_mib
        return late / early


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
    words += ["--progress", "none", "--summary", "none", "--", program, rate, seconds]
    text = "\n".join(run(list(map(str, words)), 10.0 * seconds + 60).lines)
    sent = re.search(r"sent: \d+ messages, (\d+)/s", text)
    received = re.search(r"received: (\d+) messages, p50 (\d+) us, p99 (\d+) us, p99.9 (\d+) us", text)
    memory = re.search(r"memory ([\d.]+) MiB after a fifth, ([\d.]+) MiB at the end", text)
    if not sent or not received or not memory or int(received[1]) != rate * seconds:
        raise RunFailed(f"messages were lost:\n{text}")
    times_ms = [int(received[place]) / 1000 for place in (2, 3, 4)]
    return Sample(float(sent[1]), times_ms, [float(memory[1]), float(memory[2])])


def run_long(build: Build, seconds: int, flavour: str, folder: Path) -> LongRun:
    peak = run_spillway(build, PROBED_RATE, PROBED_S, flavour, folder).messages_per_s
    rate = int(LONG_SHARE * peak)
    say(f"{rate} messages/s for {seconds} s")
    return LongRun(peak, seconds, run_spillway(build, rate, seconds, flavour, folder))


def run_spark(spark: Spark, rate: int, seconds: int, folder: Path) -> Sample:
    messages = rate * (seconds + SPARK_WARM_UP_S)
    source = subprocess.Popen(
        [sys.executable, str(PEERS / "stream_source.py"), str(rate), str(seconds + SPARK_WARM_UP_S)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert source.stdout is not None
        port = source.stdout.readline().strip()
        command = spark.with_settings([PEERS / "spark_stream.py", port, messages], folder, 4096, 2)
        lines = run(command, 10.0 * (seconds + SPARK_WARM_UP_S) + SPARK_START_S).lines
        sent = re.search(r"sent: \d+ messages, (\d+)/s", source.stdout.read())
    finally:
        end(source)
    found = [re.fullmatch(r"batch: (\d+) (-?\d+) (-?\d+)", line) for line in lines]
    batches = [(int(each[1]), int(each[2]) / 1000, int(each[3]) / 1000) for each in found if each]
    if not sent or sum(count for count, _, _ in batches) != messages:
        raise RunFailed("Spark has counted other messages than there were")
    passed, counted = 0, []
    for batch in batches:
        if passed >= rate * SPARK_WARM_UP_S:
            counted.append(batch)
        passed += batch[0]
    return Sample(float(sent[1]), quantiles(counted or batches[-1:]), [])


def page_of_long_run(long: LongRun) -> str:
    early, late = long.sample.memory_mib
    rate = long.sample.messages_per_s
    return (
        f"\n  {rate:.0f}/s for {long.seconds} s, of a peak of {long.peak_per_s:.0f}/s: none lost, "
        f"p50 {long.sample.times_ms[0]:.1f} ms, p99 {long.sample.times_ms[1]:.1f} ms\n"
        f"  memory, {early:.1f} MiB after a fifth and {late:.1f} at the end <= {LARGEST_GROWTH:g} x: "
        f"{verdict(long.growth <= LARGEST_GROWTH)}"
    )


def page(samples: Dict[Tuple[int, str], List[Sample]], left_out: Dict[str, str]) -> str:
    rows = [["messages/s", "", "sent/s", *(f"{figure} ms" for figure in FIGURES)]]
    for (rate, name), of_runs in samples.items():
        times = [Spread([sample.times_ms[place] for sample in of_runs]).text(1) for place in range(len(FIGURES))]
        rows.append([str(rate), name, Spread([each.messages_per_s for each in of_runs]).text(0), *times])
    lines = [table(rows)]
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
