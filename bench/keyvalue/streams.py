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
from measuring.scratch import scratch_folder
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


class Sample(NamedTuple):
    messages_per_s: float  # that were sent
    times_ms: List[float]  # as in FIGURES


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    rates = ",".join(map(str, RATES))
    add("--rates", default=rates, help=f"messages per second, separated by commas (default: {rates})")
    add("--seconds", type=int, default=10, help="that each run lasts (default: 10)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--no-spark", action="store_true", help="only Spillway")
    add("--peer-folder", type=Path, default=DEFAULT_FOLDER, help="where install.sh put Spark (default: build/peers)")
    add("--folder", type=Path, help="where all files go")
    options = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.rates) or min(options.seconds, options.repeats) < 1:
        parser.error("--rates, --seconds and --repeats take numbers from 1 on")
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
    if not sent or not received or int(received[1]) != rate * seconds:
        raise RunFailed(f"messages were lost:\n{text}")
    return Sample(float(sent[1]), [int(received[place]) / 1000 for place in (2, 3, 4)])


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
    return Sample(float(sent[1]), quantiles(counted or batches[-1:]))


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
    print(f"Streams: Spillway {build.version()}, {flavour}\n{machine.text(about_machine)}", flush=True)
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
    say("")
    text = page(samples, left_out)
    print(f"\n{text}", flush=True)
    if options.json:
        rows = [
            {"rate": rate, "contender": name, "samples": [sample._asdict() for sample in of_runs]}
            for (rate, name), of_runs in samples.items()
        ]
        options.json.write_text(json.dumps({"machine": about_machine, "streams": rows}, indent=2) + "\n")
    return 1 if misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    try:
        with scratch_folder(64 << 20, options.folder) as folder:
            return measure(build, options, folder)
    except RunFailed as failure:
        sys.exit(f"a program that the benchmark needs failed\n{failure}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
