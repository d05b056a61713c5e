#!/usr/bin/env python3
"""Runs the random program with many seeds, on plain MPI and under Spillway, and compares what it prints.

The seed decides everything: the program's steps, the number of ranks, slots, budget and delays. A failing seed is
reported with the command that replays it.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))

from plain_mpi import plain_mpi_words  # noqa: E402
from runner import Runner, kill_marked  # noqa: E402

SAME = "same"
TRACE = re.compile(r"^trace rank (\d+) step (\d+) digest (\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """What a seed decides outside the program."""

    seed: int
    steps: int
    ranks: int
    slots: int
    memory_mib: int  # of a rank, about
    budget_mib: int
    ranks_per_node: Optional[int]  # None: all ranks are on one node

    def arguments(self) -> List[str]:
        return ["--seed", str(self.seed), "--steps", str(self.steps), "--memory-mib", str(self.memory_mib)]


def job_of(seed: int, steps: Optional[int] = None) -> Job:
    chosen = random.Random(seed)
    ranks = chosen.randint(1, 9)
    slots = chosen.choice([1, 1, 2, 3, ranks])
    memory_mib = chosen.choice([1, 2, 4, 8])
    # What one rank may need, what all processes need in any case (MPICH 4.3 alone keeps up to 5 MiB in each), and
    # seldom enough for all ranks at once.
    least = 20 + 8 * memory_mib + 4 * ranks
    budget_mib = least + chosen.choice([0, 4, 16, 64, 4 * ranks * memory_mib])
    steps = steps or chosen.choice([20, 40, 80])
    ranks_per_node = chosen.choice([None, None, 1, 2, 3])
    return Job(seed, steps, ranks, min(slots, ranks), memory_mib, budget_mib, ranks_per_node)


@dataclass
class Outcome:
    """`kind` is SAME, or says in a few words what is wrong."""

    kind: str
    text: str = ""
    peak_over_budget: int = 0


@dataclass
class Ended:
    status: Optional[int]  # None: killed, because it ran too long
    stdout: str
    stderr: str

    def last_steps(self) -> str:
        """What each rank began last."""
        last = {int(rank): f"rank {rank} step {step}: {what}" for rank, step, _, what in TRACE.findall(self.stderr)}
        return "\n".join(last[rank] for rank in sorted(last))

    def messages(self) -> str:
        return TRACE.sub("", self.stderr).strip()[-3000:]


@dataclass
class Comparison:
    build: Path
    limit_s: float
    is_verbose: bool = False

    def program(self, flavour: str) -> Path:
        return self.build / "lib" / "spillway" / "tests" / f"random_program-{flavour}"

    def run(self, command: List[str]) -> Ended:
        runner = Runner(uuid.uuid4().hex)
        # Files and not pipes: a process that outlives the job cannot hold this one.
        with (
            tempfile.TemporaryFile("w+", errors="replace") as out,
            tempfile.TemporaryFile("w+", errors="replace") as err,
        ):
            process = runner.start(command, stdout=out, stderr=err)
            try:
                status = process.wait(timeout=self.limit_s)
            except subprocess.TimeoutExpired:
                status = None
            kill_marked(runner.mark)
            process.wait()
            out.seek(0)
            err.seek(0)
            return Ended(status, out.read(), err.read())

    def plain(self, job: Job, flavour: str) -> Ended:
        options = [*job.arguments(), "--replace-persistent-collectives", *(["--verbose"] if self.is_verbose else [])]
        return self.run([*plain_mpi_words(self.build, flavour, job.ranks), self.program(flavour), *options])

    def under_spillway(self, job: Job, flavour: str, summary: Path) -> Ended:
        options = [
            "-n",
            job.ranks,
            "--slots",
            job.slots,
            "--memory",
            f"{job.budget_mib}M",
            "--spill-dir",
            summary.parent,
        ]
        options += ["--summary", "json", "--summary-file", summary, "--detect-deadlock"]
        options += ["--ranks-per-node", job.ranks_per_node] if job.ranks_per_node else []
        delays = ["--delay-seed", job.seed + 1] + (["--verbose"] if self.is_verbose else [])
        return self.run(
            [self.build / "bin" / "spillway", "run", *options, "--", self.program(flavour), *job.arguments(), *delays]
        )

    def __call__(self, job: Job, flavour: str) -> Outcome:
        plain = self.plain(job, flavour)
        if plain.status != 0:
            return self.failed(plain, "plain MPI")
        with tempfile.TemporaryDirectory(dir=self.build, prefix="soak-") as folder:
            summary = Path(folder) / "summary"
            ours = self.under_spillway(job, flavour, summary)
            if ours.status != 0:
                return self.failed(ours, "Spillway")
            figures = json.loads(summary.read_text())
        over = max(0, figures["peak_bytes"] - figures["budget_bytes"])
        if ours.stdout == plain.stdout:
            return Outcome(SAME, peak_over_budget=over)
        text = f"--- plain MPI\n{plain.stdout}--- Spillway\n{ours.stdout}{first_difference(plain, ours)}"
        return Outcome("different results", text, over)

    def failed(self, ended: Ended, where: str) -> Outcome:
        how = "hangs" if ended.status is None else f"ends with status {ended.status}"
        if "deadlock" in ended.stderr:
            how = "is said to be deadlocked"
        return Outcome(f"{where} {how}", f"{ended.last_steps()}\n{ended.messages()}")


def digests_before_steps(ended: Ended) -> Dict[int, List[Tuple[str, str, str]]]:
    found: Dict[int, List[Tuple[str, str, str]]] = {}
    for rank, step, digest, what in TRACE.findall(ended.stderr):
        found.setdefault(int(rank), []).append((step, digest, what))
    return found


def first_difference(plain: Ended, ours: Ended) -> str:
    """For each rank the step (of a verbose run) after which the digests differ."""
    lines = []
    wanted = digests_before_steps(plain)
    for rank, steps in sorted(digests_before_steps(ours).items()):
        pairs = list(zip(steps, wanted.get(rank, [])))
        for before, (got, expected) in zip([pairs[0], *pairs], pairs):
            if got != expected:
                lines.append(f"rank {rank}: step {before[0][0]} ({before[0][2]}) ends differently")
                break
    return "\n".join(lines)


def seeds_of(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    seeds = parser.add_mutually_exclusive_group(required=True)
    seeds.add_argument("--seeds", metavar="a-b,c", help="these seeds")
    seeds.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--steps", type=int, help="steps of each program (default: by seed)")
    parser.add_argument("--flavour", choices=["mpich", "openmpi"], help="MPI library (default: both)")
    parser.add_argument("--build", type=Path, default=os.environ.get("SPILLWAY_BUILD", SOURCE / "build"))
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a program may run")
    parser.add_argument("--verbose", action="store_true", help="say which step differs, or what each rank did last")
    options = parser.parse_args()
    compare = Comparison(Path(options.build).resolve(), options.limit, options.verbose)
    flavours = [options.flavour] if options.flavour else ["mpich", "openmpi"]
    cases = [
        (job_of(seed, options.steps), flavour)
        for seed in (seeds_of(options.seeds) if options.seeds else [options.seed])
        for flavour in flavours
        if compare.program(flavour).exists()
    ]
    assert cases, f"no random_program in {compare.build}: build it, or name the build with --build"
    kinds: Counter = Counter()
    over_budget = 0
    with ThreadPoolExecutor(max_workers=options.jobs) as workers:
        outcomes = workers.map(lambda case: compare(*case), cases)
        for (job, flavour), outcome in zip(cases, outcomes):
            kinds[outcome.kind] += 1
            over_budget += outcome.peak_over_budget > 0
            if outcome.peak_over_budget or options.verbose:
                print(f"{flavour}: {job}: {outcome.peak_over_budget >> 10} KiB over budget", flush=True)
            if outcome.kind != SAME:
                steps = f" --steps {options.steps}" if options.steps else ""
                print(f"FAILED {flavour} seed {job.seed}: {outcome.kind}\n{outcome.text}")
                words = f"--build {compare.build} --flavour {flavour} --seed {job.seed}{steps} --verbose"
                print(f"replay: {sys.argv[0]} {words}")
                sys.stdout.flush()
    print(f"{len(cases)} programs: " + ", ".join(f"{number} {kind}" for kind, number in kinds.items()))
    print(f"{over_budget} of them went over their budget")
    return 0 if set(kinds) == {SAME} else 1


if __name__ == "__main__":
    sys.exit(main())
