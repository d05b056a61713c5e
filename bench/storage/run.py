#!/usr/bin/env python3
"""Storage-backed memory beside ordinary memory and beside the disk: what it costs while it is resident, and how fast it
is unloaded and loaded."""

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Callable, Dict, List, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import SOURCE, Build
from measuring.disk_speed import disk_speeds
from measuring.program_run import RunFailed, run
from measuring.scratch import scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict
from measuring.warm_memory import warm_memory

MIB = 1 << 20
KINDS = {"checksums": "with checksums", "no-checksums": "without"}


class Repeat(NamedTuple):
    """Figures of one turn."""

    device: Dict[str, float]  # bytes per second: write, read
    steps: Dict[str, Dict[str, float]]  # of each kind, seconds of each step; medians of its rounds


class Target(NamedTuple):
    title: str
    value: Callable[[Repeat, str, int], float]  # of the repeat, the kind and the bytes of data
    text: str
    is_met: Callable[[float], bool]


def ratio(above: str, below: str) -> Callable[[Repeat, str, int], float]:
    return lambda repeat, kind, _bytes: repeat.steps[kind][above] / repeat.steps[kind][below]


def speed(step: str, direction: str) -> Callable[[Repeat, str, int], float]:
    return lambda repeat, kind, data: data / repeat.steps[kind][step] / repeat.device[direction]


TARGETS = (
    Target(
        "resident: read / ordinary memory", ratio("resident_read", "untracked_read"), "<= 1.00", lambda x: x < 1.005
    ),
    Target(
        "resident: write / ordinary memory", ratio("resident_write", "untracked_write"), "<= 1.02", lambda x: x < 1.025
    ),
    Target(
        "first write after a load / ordinary memory", ratio("first_write", "untracked_write"), "<= 2", lambda x: x <= 2
    ),
    Target(
        "first write of what was expected to be read", ratio("unexpected_write", "untracked_write"), "", lambda x: True
    ),
    Target("speed of unload / the disk", speed("unload", "write"), ">= 0.9", lambda x: x >= 0.895),
    Target("speed of load at once / the disk", speed("load", "read"), ">= 0.9", lambda x: x >= 0.895),
    Target("speed of a pass that the kernel loads for / the disk", speed("lazy_read", "read"), "", lambda x: True),
    Target(
        "resident after unload / data", lambda r, kind, data: r.steps[kind]["left"] / data, "< 0.01", lambda x: x < 0.01
    ),
)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, default=SOURCE / "build", help="folder of the build (default: build)")
    add("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    add("--mib", type=int, default=1024, help="data (default: 1024)")
    add("--rounds", type=int, default=5, help="in each run, after those to learn (default: 5)")
    add("--repeats", type=int, default=5, help="runs of each (default: 5)")
    add("--limit", type=float, default=120, metavar="SECONDS", help="time limit of each run (default: 120)")
    add("--folder", type=Path, help="where the files go: on the disk to be measured")
    return parser.parse_args()


def steps(build: Build, folder: Path, kind: str, options: argparse.Namespace) -> Dict[str, float]:
    program = build.program("memory-moves")
    found: Dict[str, List[float]] = {}
    for line in run([program, str(folder), str(options.mib), str(options.rounds), kind], options.limit).lines:
        name, value = line.split()
        found.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in found.items()}


def measure(build: Build, folder: Path, options: argparse.Namespace) -> List[Repeat]:
    repeats = []
    for number in range(options.repeats):
        warm_memory(2 * options.mib * MIB + (1 << 30))
        device: Dict[str, float] = {}
        found: Dict[str, Dict[str, float]] = {}
        for turn in sorted(["device", *KINDS], reverse=number % 2 == 1):
            if turn == "device":
                device = disk_speeds(folder, options.mib)
            else:
                found[turn] = steps(build, folder, turn, options)
        repeats.append(Repeat(device, found))
    return repeats


def page(repeats: List[Repeat], data: int) -> str:
    device = {name: Spread([repeat.device[name] / 1e9 for repeat in repeats]) for name in ("write", "read")}
    rows = [["median (least-most)", *KINDS.values(), "target", ""]]
    for target in TARGETS:
        spreads = [Spread([target.value(repeat, kind, data) for repeat in repeats]) for kind in KINDS]
        is_met = all(target.is_met(spread.median) for spread in spreads)
        words = verdict(is_met) if target.text else ""
        rows.append([target.title, *(spread.text() for spread in spreads), target.text, words])
    of_disk = f"the disk, GB/s: write {device['write'].text()}, read {device['read'].text()}"
    return f"{of_disk}\n\n{table(rows)}"


def main() -> int:
    options = parse()
    build = Build(options.build)
    data = options.mib * MIB
    try:
        with scratch_folder(4 * data, options.folder) as folder:
            about_machine = machine.description(folder)
            print(f"{options.mib} MiB of storage-backed memory, {build.version()}\n{machine.text(about_machine)}")
            repeats = measure(build, folder, options)
    except RunFailed as failure:
        sys.exit(f"a run failed\n{failure}")
    except KeyboardInterrupt:
        return 130
    print(text := page(repeats, data))
    if options.json:
        content = {"machine": about_machine, "versions": build.version(), "data_bytes": data}
        content["repeats"] = [repeat._asdict() for repeat in repeats]
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(text) else 0


if __name__ == "__main__":
    sys.exit(main())
