#!/usr/bin/env python3
"""Runs mpi4py's own test suite on the plain MPI library and under Spillway, and compares: what passes must pass.

Each module runs as a job of its own, and each test case counts on each rank. A layout is ranks/slots, with `t` behind
it for a tight memory budget: `5/1t` is five ranks in one slot with little memory. The exit status is 1 when a test that
passes on plain MPI does not pass under Spillway and tests/mpi4py/exceptions.txt gives no reason for it.

    run_suite.py                              everything: hours
    run_suite.py --flavours mpich --layouts 5/1 5/2 --modules 'test_p2p*' test_rma
"""

import argparse
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from suite_environment import SuiteEnvironment, launcher

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from marked_processes import kill_marked  # noqa: E402

SOURCE = HERE.parent.parent
RECORDED_RANK = HERE / "recorded_rank.py"
EXCEPTIONS = HERE / "exceptions.txt"
MARK = "SPILLWAY_SUITE_MARK"
RANKS = (1, 2, 5, 8)
LAYOUTS = [f"{ranks}/{slots}" for ranks in RANKS for slots in ("1", "2", "1t")]
AMPLE_MIB = 2048
# Python, NumPy and mpi4py are mostly small allocations and libraries, which cannot be unloaded: 17 to 19 MiB of each
# rank count against the budget.
TIGHT_MIB, TIGHT_MIB_PER_RANK = 16, 20
# A job that a signal is sent to cleans up within this time.
CLEANING_S = 10


@dataclass(frozen=True)
class Layout:
    """How a module is run: under Spillway, or, without slots, on plain MPI."""

    ranks: int
    slots: int = 0
    tight: bool = False

    @classmethod
    def parse(cls, text: str) -> "Layout":
        ranks, _, slots = text.partition("/")
        return cls(int(ranks), int(slots.rstrip("t")), slots.endswith("t"))

    def __str__(self) -> str:
        return f"{self.ranks}/{self.slots}{'t' if self.tight else ''}" if self.slots else f"{self.ranks} plain"

    @property
    def memory_mib(self) -> int:
        return TIGHT_MIB + TIGHT_MIB_PER_RANK * self.ranks if self.tight else AMPLE_MIB


# A test case on one rank; the rank is the name of its record.
Case = Tuple[str, str]


@dataclass
class Outcome:
    """Of one module."""

    cases: Dict[Case, str]
    status: Optional[int]  # None: it was ended after the time limit
    seconds: float
    log: Path

    @property
    def passed(self) -> int:
        return sum(1 for outcome in self.cases.values() if outcome == "passed")

    def ending(self) -> str:
        return "did not end in time" if self.status is None else f"ended with status {self.status}"


@dataclass
class Difference:
    flavour: str
    layout: Layout
    test: str
    text: str
    log: Path
    reason: Optional[str] = None

    def __str__(self) -> str:
        return f"{self.flavour} {self.layout} {self.test}: {self.text} (log: {self.log})"


@dataclass
class Row:
    """The table's line for one layout."""

    flavour: str
    layout: Layout
    passed_plain: int = 0
    passed: int = 0
    modules: int = 0
    seconds_plain: float = 0
    seconds: float = 0
    differences: List[Difference] = field(default_factory=list)


class Suite:
    """Runs modules, those of plain MPI once for each number of ranks."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.environment = SuiteEnvironment(options.build, options.from_source)
        self.plain: Dict[Tuple[str, int, str], Outcome] = {}

    def command(self, flavour: str, layout: Layout) -> List[str]:
        if layout.slots:
            spill_folder = self.options.output / "spill"
            spill_folder.mkdir(parents=True, exist_ok=True)
            options = ["-n", layout.ranks, "--slots", layout.slots, "--memory", f"{layout.memory_mib}M"]
            options += ["--mpi", flavour, "--spill-dir", spill_folder]
            return [str(word) for word in (self.options.build / "bin" / "spillway", "run", *options, "--")]
        words = [str(launcher(self.options.build, flavour)), "-n", str(layout.ranks)]
        if flavour == "openmpi":
            return [*words, "--oversubscribe"]
        if layout.ranks <= len(os.sched_getaffinity(0)):
            return words
        taking_turns = self.options.build / "lib" / "spillway" / "tests" / "libtaking-turns.so"
        return [*words, "env", f"LD_PRELOAD={taking_turns}"]

    def run(self, flavour: str, layout: Layout, module: str) -> Outcome:
        folder = self.folder(flavour, layout, module)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "ranks").mkdir(parents=True)
        test = [RECORDED_RANK, folder / "ranks", self.environment.suite / "test" / "main.py"]
        words = [*self.command(flavour, layout), self.environment.python(flavour), *test]
        words += ["--verbose", "--no-builddir", "--no-numba", "--no-cupy", "-i", f"^{module}\\.py$"]
        begin = time.monotonic()
        with (folder / "log").open("w") as log:
            status = self.end_in_time([str(word) for word in words], flavour, folder, log)
        seconds = time.monotonic() - begin
        (folder / "ending.json").write_text(json.dumps({"status": status, "seconds": seconds}))
        return outcome_of(folder)

    def folder(self, flavour: str, layout: Layout, module: str) -> Path:
        return self.options.output / flavour / str(layout).replace("/", "-").replace(" ", "-") / module

    def run_plain(self, flavour: str, ranks: int, module: str) -> Outcome:
        folder = self.folder(flavour, Layout(ranks), module)
        if self.options.reuse_plain and (folder / "ending.json").exists():
            return outcome_of(folder)
        return self.run(flavour, Layout(ranks), module)

    def end_in_time(self, words: List[str], flavour: str, folder: Path, log) -> Optional[int]:
        mark = uuid.uuid4().hex
        # Containers run as root; and what the tests leave in files goes with the other results.
        allowances = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        variables = {**os.environ, **allowances, **self.environment.variables(flavour), MARK: mark}
        # Tests start processes by the name of the interpreter; oversubscription is for these, too.
        variables["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(self.options.limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(CLEANING_S)
            except subprocess.TimeoutExpired:
                pass
            return None
        finally:
            kill_marked(mark, MARK)
            process.wait()

    def compare(self, flavour: str, layout: Layout, module: str) -> Tuple[Outcome, Outcome, List[Difference]]:
        key = (flavour, layout.ranks, module)
        if key not in self.plain:
            self.plain[key] = self.run_plain(flavour, layout.ranks, module)
        plain, spillway = self.plain[key], self.run(flavour, layout, module)
        found = [
            Difference(
                flavour, layout, test, f"{spillway.cases.get((test, rank), 'not run')} on rank {rank}", spillway.log
            )
            for (test, rank), outcome in sorted(plain.cases.items())
            if outcome == "passed" and spillway.cases.get((test, rank)) != "passed"
        ]
        if plain.status == 0 and spillway.status != 0:
            found.append(Difference(flavour, layout, f"{module}.(job)", spillway.ending(), spillway.log))
        return plain, spillway, found


def outcome_of(folder: Path) -> Outcome:
    """What a run has left in its folder."""
    ending = json.loads((folder / "ending.json").read_text())
    return Outcome(recorded(folder / "ranks"), ending["status"], ending["seconds"], folder / "log")


def recorded(folder: Path) -> Dict[Case, str]:
    """The last word on each case, except that a failure stays one."""
    cases: Dict[Case, str] = {}
    for record in folder.iterdir():
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            outcome, _, test = line.partition(" ")
            if cases.get((test, record.name)) != "failed":
                cases[(test, record.name)] = outcome
    return {case: "unfinished" if outcome == "started" else outcome for case, outcome in cases.items()}


def read_exceptions(path: Path) -> List[List[str]]:
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    columns = [[word.strip() for word in line.split("|", 3)] for line in lines]
    assert all(len(words) == 4 and words[3] for words in columns), f"{path}: four columns, the last one is a reason"
    return columns


def reason_for(difference: Difference, exceptions: List[List[str]]) -> Optional[str]:
    for flavour, test, layout, reason in exceptions:
        patterns = ((difference.flavour, flavour), (difference.test, test), (str(difference.layout), layout))
        if all(fnmatch.fnmatchcase(name, pattern) for name, pattern in patterns):
            return reason
    return None


def compare_layout(suite: Suite, flavour: str, layout: Layout, modules: List[str], jobs: int) -> Row:
    row = Row(flavour, layout)
    exceptions = read_exceptions(EXCEPTIONS)
    with ThreadPoolExecutor(jobs) as pool:
        for plain, spillway, differences in pool.map(lambda module: suite.compare(flavour, layout, module), modules):
            for difference in differences:
                difference.reason = reason_for(difference, exceptions)
            row.modules += 1
            row.passed_plain += plain.passed
            row.passed += spillway.passed
            row.seconds_plain += plain.seconds
            row.seconds += spillway.seconds
            row.differences += differences
            name = spillway.log.parent.name
            times = f"{plain.passed:6d} {plain.seconds:6.1f} s {spillway.passed:6d} {spillway.seconds:6.1f} s"
            print(f"  {flavour:8} {layout!s:8} {name:22} {times}  {verdict(plain, differences)}", flush=True)
    return row


def verdict(plain: Outcome, differences: List[Difference]) -> str:
    words = f"{len(differences)} differ" if differences else "equal"
    return words if plain.status == 0 else f"{words} (plain MPI {plain.ending()})"


def print_table(rows: List[Row]) -> None:
    print("\nflavour  layout   modules  passed plain  passed Spillway  differ  excepted  plain s  Spillway s")
    for row in rows:
        excepted = sum(1 for difference in row.differences if difference.reason)
        print(
            f"{row.flavour:8} {row.layout!s:8} {row.modules:7d}  {row.passed_plain:12d}  {row.passed:15d}  "
            f"{len(row.differences) - excepted:6d}  {excepted:8d}  {row.seconds_plain:7.0f}  {row.seconds:10.0f}"
        )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = Path(os.environ.get("SPILLWAY_BUILD", SOURCE / "build"))
    parser.add_argument("--build", type=Path, default=build, help="default: $SPILLWAY_BUILD, or build")
    parser.add_argument("--flavours", nargs="+", choices=["mpich", "openmpi"], default=["mpich", "openmpi"])
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, help="ranks/slots, t for tight memory: 5/1t")
    parser.add_argument("--modules", nargs="+", default=["*"], metavar="PATTERN", help="such as test_p2p*")
    parser.add_argument("--without", nargs="+", default=[], metavar="PATTERN", help="modules to leave out")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a module may take")
    parser.add_argument("--jobs", type=int, default=1, help="modules that run at a time")
    parser.add_argument("--output", type=Path, help="folder for logs and records; default: mpi4py/results in the build")
    parser.add_argument("--reuse-plain", action="store_true", help="what an earlier run has found on plain MPI")
    parser.add_argument("--from-source", action="store_true", help="build mpi4py instead of using its wheel")
    parser.add_argument("--prepare", action="store_true", help="only make the environment")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.output = (options.output or options.build / "mpi4py" / "results").resolve()
    return options


def main() -> int:
    options = parse_options()
    suite = Suite(options)
    for flavour in options.flavours:
        suite.environment.make(flavour)
    if options.prepare:
        return 0

    def chosen(module: str, patterns: List[str]) -> bool:
        return any(fnmatch.fnmatchcase(module, pattern) for pattern in patterns)

    modules = [name for name in suite.environment.modules() if chosen(name, options.modules)]
    modules = [name for name in modules if not chosen(name, options.without)]
    assert modules, "no module has such a name"
    layouts = [Layout.parse(text) for text in options.layouts]
    rows = [
        compare_layout(suite, flavour, layout, modules, options.jobs)
        for flavour in options.flavours
        for layout in layouts
    ]
    differences = [difference for row in rows for difference in row.differences]
    print_table(rows)
    if not all(row.passed_plain for row in rows):
        raise SystemExit(f"nothing passes on plain MPI: no comparison (logs in {options.output})")
    for difference in differences:
        print(f"excepted: {difference}: {difference.reason}" if difference.reason else f"DIFFERENCE: {difference}")
    return 1 if any(not difference.reason for difference in differences) else 0


if __name__ == "__main__":
    sys.exit(main())
