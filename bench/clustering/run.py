#!/usr/bin/env python3
"""Image clustering: the distances that Elkan's and Drake and Hamerly's bounds leave to compute, round by round, beside
Lloyd's algorithm, and the bytes that go from node to node with local reduction and without."""

import argparse
import json
import sys
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    from inputs import Generator, write_vectors
except ImportError as error:
    sys.exit(f"{error}\n  Remedy: apt-get install python3-numpy, or pip install numpy for {sys.executable}")

from clustering_run import Clustering, Nodes, Outcome, Round
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict

BOUNDS = ["none", "elkan", "drake-hamerly"]
TARGET_ROUND = 10
MOST_FRACTION = 0.1
FILES = 8
# Of the measurement of local reduction: two virtual nodes of four processes, each with an O task; each A task, of which
# those of the first node have one, has four blocks of centers.
PROCESSES, OF_NODE, REDUCED_ROUNDS, BLOCKS = 8, 4, 3, 16
MIB = 1 << 20


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--vectors", type=int, default=38400, help="default: 38400, half as many as in Twister's paper")
    add("--centers", type=int, default=1600, help="default: 1600, half as many as in the paper")
    add("--columns", type=int, default=512, help="a multiple of 32 (default: 512; the paper has 2048)")
    add("--noise", type=float, default=0.5, help="of a vector's features around its motif (default: 0.5)")
    add("--rounds", type=int, default=12, help="at least 10 (default: 12)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=1200, metavar="SECONDS", help="time limit of each run (default: 1200)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    if options.columns % 32 != 0 or options.columns < 32:
        parser.error("--columns: a multiple of 32")
    if options.rounds < TARGET_ROUND or options.repeats < 1:
        parser.error(f"--rounds: at least {TARGET_ROUND}; --repeats: at least 1")
    if not 1 <= options.centers <= options.vectors:
        parser.error("--centers: from 1 to --vectors")
    return options


class Measurement:
    def __init__(self, clustering: Clustering, options: argparse.Namespace, cores: int) -> None:
        self.runs: Dict[str, List[Outcome]] = {bounds: [] for bounds in BOUNDS}
        self.reductions: Dict[bool, Outcome] = {}  # with local reduction, and without
        self._clustering = clustering
        self._options = options
        self._cores = cores

    def run_all(self) -> None:
        for repeat in range(self._options.repeats):
            for bounds in BOUNDS if repeat % 2 == 0 else reversed(BOUNDS):
                say(f"bounds {bounds}: repeat {repeat + 1} of {self._options.repeats}")
                outcome = self._clustering.run(bounds, self._options.rounds, self._cores, FILES)
                self.runs[bounds].append(outcome)
        for reduces in (False, True):
            say(f"two nodes, {'with' if reduces else 'without'} local reduction")
            nodes = Nodes(OF_NODE, reduces, -(-self._options.centers // BLOCKS))
            self.reductions[reduces] = self._clustering.run("elkan", REDUCED_ROUNDS, PROCESSES, FILES, nodes)
        say("")

    def rounds(self) -> int:
        return min(len(outcome.rounds) for outcomes in self.runs.values() for outcome in outcomes)

    def all_centers_are_equal(self) -> bool:
        return len({outcome.centers for outcomes in self.runs.values() for outcome in outcomes}) == 1

    def of_round(self, bounds: str, number: int) -> Round:
        return self.runs[bounds][0].rounds[number - 1]

    def seconds(self, bounds: str, number: int) -> Spread:
        return Spread([outcome.rounds[number - 1].seconds for outcome in self.runs[bounds]])

    def ratio(self, bounds: str, number: int) -> Spread:
        """Lloyd's seconds to those with bounds, of the same repeat."""
        pairs = zip(self.runs["none"], self.runs[bounds])
        return Spread([ours.rounds[number - 1].seconds / its.rounds[number - 1].seconds for ours, its in pairs])

    def _pairs(self) -> int:
        return int(self._options.vectors * self._options.centers)

    def page(self) -> str:
        lines = [table(self._rows()), ""]
        number = min(TARGET_ROUND, self.rounds())  # fewer where no vector changes its center any more
        for bounds in BOUNDS[1:]:
            found = self.of_round(bounds, number)
            fraction = found.fraction + found.between_centers / self._pairs()
            lines.append(
                f"  {bounds}, distances in round {number}: {100 * found.fraction:.2f}%, with those between centers "
                f"{100 * fraction:.2f}% < {100 * MOST_FRACTION:.0f}%: {verdict(fraction < MOST_FRACTION)}"
            )
        lines.append(f"  centers equal Lloyd's to the bit: {verdict(self.all_centers_are_equal())}")
        return "\n".join([*lines, *self._reduction_lines()])

    def _reduction_lines(self) -> List[str]:
        reduced, plain = self.reductions[True], self.reductions[False]
        others = " / ".join(f"{(outcome.between_nodes - outcome.sums) / MIB:.1f}" for outcome in (reduced, plain))
        return [
            f"  bytes between two nodes of {OF_NODE} tasks in {REDUCED_ROUNDS} rounds, with local reduction / without:",
            f"    sums for the A tasks: {reduced.sums / MIB:.1f} / {plain.sums / MIB:.1f} MiB, "
            f"{reduced.sums / plain.sums:.6f} <= {1 / OF_NODE}: {verdict(OF_NODE * reduced.sums <= plain.sums)}",
            f"    others, nearly all of them the centers: {others} MiB",
            f"    all: {reduced.between_nodes / MIB:.1f} / {plain.between_nodes / MIB:.1f} MiB, "
            f"{reduced.between_nodes / plain.between_nodes:.3f}",
        ]

    def _rows(self) -> List[List[str]]:
        rows = [["round", "changed", "Lloyd s"]]
        for bounds in BOUNDS[1:]:
            rows[0] += [f"{bounds} %", "+ centers' %", "s", "x faster"]
        for number in range(1, self.rounds() + 1):
            row = [str(number), str(self.of_round("none", number).changed), self.seconds("none", number).text()]
            for bounds in BOUNDS[1:]:
                found = self.of_round(bounds, number)
                row += [f"{100 * found.fraction:.2f}", f"{100 * found.between_centers / self._pairs():.2f}"]
                row += [self.seconds(bounds, number).text(), self.ratio(bounds, number).text()]
            rows.append(row)
        return rows

    def as_json(self) -> Dict[str, object]:
        runs = {
            bounds: [[found._asdict() for found in outcome.rounds] for outcome in outcomes]
            for bounds, outcomes in self.runs.items()
        }
        return {
            "runs": runs,
            "centers_are_equal": self.all_centers_are_equal(),
            "between_nodes": {
                "reduced" if reduces else "plain": {"sum_bytes": outcome.sums, "bytes": outcome.between_nodes}
                for reduces, outcome in self.reductions.items()
            },
        }


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    cores = int(about_machine["cores"])
    say("making vectors")
    generator = Generator(options.columns, options.centers, options.noise)
    files = write_vectors(folder, FILES, options.vectors, generator)
    say("")
    program = build.mpi_program("tests", "image-clustering", flavour)
    print(
        f"Image clustering: {build.version()}, {flavour}, {options.vectors} vectors of {options.columns} features, "
        f"{options.centers} centers, noise {options.noise}; {cores} processes, {FILES} tasks\n"
        f"{machine.text(about_machine)}",
        flush=True,
    )
    clustering = Clustering(build, program, files, folder, options.columns, options.centers, options.limit)
    measurement = Measurement(clustering, options, cores)
    measurement.run_all()
    text = measurement.page()
    print(f"\n{text}", flush=True)
    if options.json:
        names = ("vectors", "centers", "columns", "noise", "rounds", "repeats")
        content: Dict[str, object] = {"machine": about_machine, "versions": f"{build.version()}, {flavour}"}
        content.update({name: getattr(options, name) for name in names})
        content.update(measurement.as_json())
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 1 if misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    room = 3 * options.vectors * (options.columns + 3) * 4 + MIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
