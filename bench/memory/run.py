#!/usr/bin/env python3
"""Sweeps over memory that does not fit: Spillway against memory that fits and against swapping (SBMA's benchmark)."""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import why_unlimited
from measuring.limited_run import Swap, run_limited
from measuring.program_run import Outcome, RunFailed, run
from measuring.residency import job_limit_bytes
from measuring.scratch import scratch_folder
from measuring.spread import Spread
from measuring.swap_file import NoSwap
from measuring.table import table
from measuring.verdict import misses_target, verdict
from measuring.warm_memory import warm_memory

MIB = 1 << 20
MODES = ("read", "write", "update", "mixed", "pieces", "sparse-4", "sparse-16", "sparse-64")
STRATEGIES = ("auto", "araw", "arlw", "lrlw")
# Of what ARAW moves, with a budget of half the data.
MOST_MOVED = 0.6
# In the first round memory is unloaded for the first time, and in the second its use becomes known.
ROUNDS_TO_LEARN = 2

_ROUND = re.compile(r"round (\d+): ([\d.]+) s")
_MOVED = re.compile(r"moved (\d+): (\d+)")
_SUM = re.compile(r"sum ([0-9a-f]{16})")


class Contender(NamedTuple):
    name: str
    title: str
    command: List[str]
    is_limited: bool = True
    may_swap: bool = False


class Sample(NamedTuple):
    round_s: float  # the mean of the rounds after those to learn
    sum: str
    moved_bytes: float  # that the ranks read and wrote in such a round, swapping not included


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--ranks", type=int, default=16, help="MPI ranks (default: 16)")
    add("--mib", type=int, default=64, help="data of each rank (default: 64)")
    add("--factor", type=float, default=2, help="data / memory budget (default: 2)")
    add("--rounds", type=int, default=8, help=f"in each run, at least {ROUNDS_TO_LEARN + 1} (default: 8)")
    add("--repeats", type=int, default=3, help="runs of each contender (default: 3)")
    add("--modes", default=",".join(MODES), help="separated by commas (default: all)")
    add(
        "--strategies",
        default=",".join(STRATEGIES),
        help="separated by commas; auto is always among them (default: all)",
    )
    add("--limit", type=float, default=300, metavar="SECONDS", help="time limit of each run (default: 300)")
    add("--folder", type=Path, help="where spill files and the swap file go: on a local disk")
    options = parser.parse_args()
    if not set(options.modes.split(",")) <= set(MODES):
        parser.error(f"--modes {options.modes}: the modes are {', '.join(MODES)}")
    if not set(options.strategies.split(",")) <= set(STRATEGIES):
        parser.error(f"--strategies {options.strategies}: the strategies are {', '.join(STRATEGIES)}")
    if options.rounds <= ROUNDS_TO_LEARN:
        parser.error(f"--rounds {options.rounds}: the first {ROUNDS_TO_LEARN} are not counted")
    return options


def budget_bytes(options: argparse.Namespace) -> int:
    return int(options.ranks * options.mib * MIB / options.factor)


def contenders(build: Build, options: argparse.Namespace, mode: str, folder: Path) -> List[Contender]:
    program = build.mpi_program("bench", "sweeps", options.mpi or build.default_flavour())
    work = [mode, str(options.mib), str(options.rounds)]
    ranks, cores = options.ranks, len(os.sched_getaffinity(0))

    def spillway(slots: int, strategy: str = "auto") -> List[str]:
        words = ("-n", ranks, "--slots", slots, "--memory", budget_bytes(options), "--spill-dir", folder)
        return [*build.spillway(*words, "--strategy", strategy, "--summary", "none"), program, *work]

    return [
        Contender("spillway-1", "Spillway, 1 at a time", spillway(1)),
        *(
            Contender(strategy, f"the same, --strategy {strategy}", spillway(1, strategy))
            for strategy in STRATEGIES[1:]
            if strategy in options.strategies.split(",")
        ),
        Contender(f"spillway-{cores}", f"Spillway, {cores} at a time", spillway(cores)),
        Contender("swap", "plain MPI, OS swap", [*build.plain(program, ranks), *work], may_swap=True),
        Contender("plain", "plain MPI, in memory", [*build.plain(program, ranks), *work], is_limited=False),
    ]


def sample_of(outcome: Outcome) -> Sample:
    text = "\n".join(outcome.lines)
    rounds = [float(seconds) for number, seconds in _ROUND.findall(text) if int(number) >= ROUNDS_TO_LEARN]
    moved = [int(count) for number, count in _MOVED.findall(text) if int(number) >= ROUNDS_TO_LEARN]
    total = _SUM.search(text)
    if not rounds or len(moved) != len(rounds) or not total:
        raise RunFailed(f"no times in its output:\n{text}")
    return Sample(sum(rounds) / len(rounds), total.group(1), sum(moved) / len(moved))


class Measurement:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.samples: Dict[str, List[Sample]] = {}
        self.left_out: Dict[str, str] = {}
        self.unlimited_because = why_unlimited()
        self._options = options
        self._folder = folder

    def run_all(self, everyone: List[Contender]) -> None:
        for repeat in range(self._options.repeats):
            for contender in everyone if repeat % 2 == 0 else reversed(everyone):
                if contender.name not in self.left_out:
                    self._run_once(contender)

    def ratio(self, name: str, baseline: str) -> Optional[Spread]:
        """Of the runs of each repeat."""
        if name not in self.samples or baseline not in self.samples:
            return None
        return Spread([a.round_s / b.round_s for a, b in zip(self.samples[name], self.samples[baseline])])

    def moved_ratio(self, name: str, baseline: str) -> Optional[Spread]:
        if name not in self.samples or not any(sample.moved_bytes for sample in self.samples.get(baseline, [])):
            return None
        return Spread([a.moved_bytes / b.moved_bytes for a, b in zip(self.samples[name], self.samples[baseline])])

    def disagreement(self) -> str:
        sums = {sample.sum: name for name, samples in self.samples.items() for sample in samples}
        return "" if len(sums) <= 1 else f"contenders do not agree on the sum: {sums}"

    def _run_once(self, contender: Contender) -> None:
        data = self._options.ranks * self._options.mib * MIB
        warm_memory(data + (1 << 30))
        try:
            outcome = self._run(contender, data)
            self.samples.setdefault(contender.name, []).append(sample_of(outcome))
        except (NoSwap, RunFailed) as reason:
            self.left_out[contender.name] = str(reason)

    def _run(self, contender: Contender, data: int) -> Outcome:
        limit_s = self._options.limit
        if contender.may_swap and self.unlimited_because:
            raise NoSwap(self.unlimited_because)
        if not contender.is_limited or self.unlimited_because:
            return run(contender.command, limit_s)
        swap = Swap(self._folder / "swap", 2 * data + (1 << 30)) if contender.may_swap else None
        limit_bytes = job_limit_bytes(budget_bytes(self._options), self._options.ranks)
        return run_limited(contender.command, limit_s, limit_bytes, swap)


def rows(measurement: Measurement, everyone: List[Contender], options: argparse.Namespace) -> List[List[str]]:
    data = options.ranks * options.mib * MIB
    found = []
    for contender in everyone:
        samples = measurement.samples.get(contender.name)
        if samples is None:
            continue
        moved = [sample.moved_bytes for sample in samples]
        in_memory, on_swap = measurement.ratio(contender.name, "plain"), measurement.ratio("swap", contender.name)
        found.append(
            [
                contender.title,
                Spread([sample.round_s for sample in samples]).text(3),
                in_memory.text() if in_memory else "-",
                on_swap.text() if on_swap else "-",
                "-" if contender.may_swap else f"{Spread(moved).median / data:.2f}",
            ]
        )
    return found


def main() -> int:
    options = parse()
    build = Build(options.build)
    mpi = build.mpi_of(build.mpi_program("bench", "sweeps", options.mpi or build.default_flavour()))
    versions = f"{build.version()}, {mpi.title} {mpi.version}"
    data = options.ranks * options.mib * MIB
    content: Dict[str, object] = {"versions": versions, "ranks": options.ranks, "data_bytes": data, "modes": {}}
    problems = []
    has_missed = False
    try:
        with scratch_folder(4 * data + (2 << 30), options.folder) as folder:
            content["machine"] = about_machine = machine.description(folder)
            print(f"{options.ranks} ranks with {options.mib} MiB each, {versions}\n{machine.text(about_machine)}")
            print(f"memory budget {budget_bytes(options) // MIB} MiB; swap has as much as Spillway in all")
            for mode in options.modes.split(","):
                everyone = contenders(build, options, mode, folder)
                measurement = Measurement(options, folder)
                measurement.run_all(everyone)
                head = [mode, "s per round", "x in memory", "swap is slower", "bytes moved / data"]
                print("\n" + table([head, *rows(measurement, everyone, options)]), flush=True)
                if (moved := measurement.moved_ratio("spillway-1", "araw")) and options.factor == 2:
                    words = verdict(moved.median <= MOST_MOVED)
                    print(f"  bytes moved, auto / araw: {moved.text()}, target <= {MOST_MOVED}: {words}")
                    has_missed |= misses_target(words)
                if measurement.unlimited_because:
                    print(f"  NO LIMIT on contenders: {measurement.unlimited_because}")
                for name, reason in measurement.left_out.items():
                    print(f"  left out: {name}: {reason}")
                problems += [f"{mode}: {measurement.disagreement()}"] if measurement.disagreement() else []
                problems += [f"{mode}: {name} failed" for name in measurement.left_out if name != "swap"]
                content["modes"][mode] = {
                    "left_out": measurement.left_out,
                    "contenders": {
                        name: {
                            "round_s": Spread([sample.round_s for sample in samples]).as_json(),
                            "moved_bytes": [sample.moved_bytes for sample in samples],
                        }
                        for name, samples in measurement.samples.items()
                    },
                }
    except KeyboardInterrupt:
        return 130
    if options.json:
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems or has_missed else 0


if __name__ == "__main__":
    sys.exit(main())
