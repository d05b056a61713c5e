#!/usr/bin/env python3
"""Runs mpi4py's own test suite under Spillway; what does not pass there must not pass on the plain MPI library either.

Each module runs as a job of its own, and each test case counts on each rank. Plain MPI is asked which cases there are,
and then runs those that did not pass under Spillway; it runs the whole module when the job did not end well. A layout
is ranks/slots, with `t` behind it for a tight memory budget: `5/1t` is five ranks in one slot with little memory. The
exit status is 1 when a test that passes on plain MPI does not pass under Spillway and tests/mpi4py/exceptions.txt gives
no reason for it. A module of which plain MPI hangs in some test is run test by test, plain MPI first.

    run_suite.py                              everything: hours
    run_suite.py --flavours mpich --layouts 5/1 5/2 --modules 'test_p2p*' test_rma
"""

import argparse
import fnmatch
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
from typing import Dict, Iterable, List, Optional, Set, Tuple

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
# Python, NumPy and mpi4py are mostly libraries and what they allocate as they begin, which cannot be unloaded: 17 to
# 19 MiB of each rank count against the budget.
TIGHT_MIB, TIGHT_MIB_PER_RANK = 16, 20
# Open MPI 4.1 keeps some memory of each file and view: in this module, 8 ranks of plain MPI grow from 11 to 42 MiB
# (Pss), fewer ones less.
MORE_PER_RANK = {("openmpi", "test_io", 8): 30}
# Modules that run test by test, since plain MPI hangs in some of them. The mutexes and condition variables of
# test_util_sync are words in windows: with more than one rank of MPICH 4.0.2, one rank fails with "cannot release
# unheld mutex" and the others wait for it for ever.
TEST_BY_TEST = ("test_util_sync",)
TEST_LIMIT_S = 30  # a test that passes on plain MPI takes 1 second
# Some of these tests hang by chance (5 ranks of plain MPICH in testAcquireFree: 18 of 30 runs). One that passed once on
# plain MPI, and not under Spillway, counts as passing on plain MPI if it does so this many times.
PLAIN_REPEATS = 10
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

    def memory_mib(self, flavour: str, module: str) -> int:
        per_rank = TIGHT_MIB_PER_RANK + MORE_PER_RANK.get((flavour, module, self.ranks), 0)
        return TIGHT_MIB + per_rank * self.ranks if self.tight else AMPLE_MIB


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

    @property
    def all_passed(self) -> bool:
        return self.status == 0 and bool(self.cases) and self.passed == len(self.cases)

    def add(self, other: "Outcome") -> None:
        """What another job of the same module came to; the log stays."""
        self.cases.update(other.cases)
        self.seconds += other.seconds
        if self.status == 0:
            self.status = other.status

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
    """The table's line for one layout. Cases count once for each rank."""

    flavour: str
    layout: Layout
    modules: int = 0
    cases: int = 0
    passed: int = 0
    seconds: float = 0
    seconds_plain: float = 0
    differences: List[Difference] = field(default_factory=list)


class Suite:
    """Runs modules, and compares what did not pass with plain MPI."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.environment = SuiteEnvironment(options.build, options.from_source)
        self.known: Dict[Tuple[str, int], Set[Case]] = {}
        self.alone: Dict[Tuple[str, int, str], Outcome] = {}  # tests that have run alone, on plain MPI

    def command(self, flavour: str, layout: Layout, module: str) -> List[str]:
        if layout.slots:
            spill_folder = self.options.output / "spill"
            spill_folder.mkdir(parents=True, exist_ok=True)
            memory = f"{layout.memory_mib(flavour, module)}M"
            options = ["-n", layout.ranks, "--slots", layout.slots, "--memory", memory]
            options += ["--mpi", flavour, "--spill-dir", spill_folder]
            return [str(word) for word in (self.options.build / "bin" / "spillway", "run", *options, "--")]
        words = [str(launcher(self.options.build, flavour)), "-n", str(layout.ranks)]
        if flavour == "openmpi":
            return [*words, "--oversubscribe"]
        if layout.ranks <= len(os.sched_getaffinity(0)):
            return words
        taking_turns = self.options.build / "lib" / "spillway" / "tests" / "libtaking-turns.so"
        return [*words, "env", f"LD_PRELOAD={taking_turns}"]

    def run(
        self, flavour: str, layout: Layout, module: str, what: str, options: List[str], test: str = "", limit: float = 0
    ) -> Outcome:
        """With a limit of its own when it is a single test."""
        name = test or module
        folder = self.options.output / flavour / str(layout).replace("/", "-").replace(" ", "-") / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "ranks").mkdir(parents=True)
        script = [RECORDED_RANK, folder / "ranks", what, self.environment.suite / "test" / "main.py"]
        words = [*self.command(flavour, layout, module), self.environment.python(flavour), *script]
        words += ["--verbose", "--no-builddir", "--no-numba", "--no-cupy", *options]
        begin = time.monotonic()
        with (folder / "log").open("w") as log:
            status = self.end_in_time([str(word) for word in words], flavour, folder, log, limit or self.options.limit)
        return Outcome(recorded(folder / "ranks"), status, time.monotonic() - begin, folder / "log")

    def run_module(self, flavour: str, layout: Layout, module: str, tests: Iterable[str] = ()) -> Outcome:
        """All of its tests, or those given."""
        chosen = [word for test in sorted(set(tests)) for word in ("-k", f"*{test}")]
        return self.run(flavour, layout, module, "run", ["-i", f"^{module}\\.py$", *chosen])

    def run_test(self, flavour: str, layout: Layout, module: str, test: str) -> Outcome:
        options = ["-i", f"^{module}\\.py$", "-k", f"*{test}"]
        return self.run(flavour, layout, module, "run", options, test, TEST_LIMIT_S)

    def list_cases(self, flavour: str, ranks: int) -> None:
        """What plain MPI would run."""
        if (flavour, ranks) in self.known:
            return
        listed = self.run(flavour, Layout(ranks), "list", "list", [])
        if listed.status != 0 or not listed.cases:
            raise SystemExit(f"plain MPI cannot list the tests: {listed.ending()} (log: {listed.log})")
        self.known[(flavour, ranks)] = set(listed.cases)

    def cases_of(self, flavour: str, ranks: int, module: str) -> Set[Case]:
        return {(test, rank) for test, rank in self.known[(flavour, ranks)] if test.split(".")[0] == module}

    def end_in_time(self, words: List[str], flavour: str, folder: Path, log, limit: float) -> Optional[int]:
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
            return process.wait(limit)
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

    def compare(self, flavour: str, layout: Layout, module: str) -> "Comparison":
        known = self.cases_of(flavour, layout.ranks, module)
        if module in TEST_BY_TEST:
            return self.compare_tests(flavour, layout, module, known)
        spillway = self.run_module(flavour, layout, module)
        missing = sorted(case for case in known if spillway.cases.get(case) != "passed")
        if spillway.status == 0 and not missing:
            return Comparison(len(known), spillway, None, [])
        tests = [test for test, _ in missing] if spillway.status == 0 else []
        plain = self.run_module(flavour, Layout(layout.ranks), module, tests)
        found = [
            Difference(
                flavour, layout, test, f"{spillway.cases.get((test, rank), 'not run')} on rank {rank}", spillway.log
            )
            for test, rank in missing
            if plain.cases.get((test, rank)) == "passed"
        ]
        if plain.status == 0 and spillway.status != 0:
            found.append(Difference(flavour, layout, f"{module}.(job)", spillway.ending(), spillway.log))
        return Comparison(len(known), spillway, plain, found)

    def compare_tests(self, flavour: str, layout: Layout, module: str, known: Set[Case]) -> "Comparison":
        """A job for each test, under Spillway only if it passes on plain MPI."""
        spillway, plain = (Outcome({}, 0, 0, self.options.output) for _ in range(2))
        found = []
        for test in sorted({test for test, _ in known}):
            key = (flavour, layout.ranks, test)
            if key not in self.alone:
                self.alone[key] = self.run_test(flavour, Layout(layout.ranks), module, test)
            plain.add(self.alone[key])
            if not self.alone[key].all_passed:
                continue
            tried = self.run_test(flavour, layout, module, test)
            spillway.add(tried)
            if tried.all_passed:
                continue
            again = (self.run_test(flavour, Layout(layout.ranks), module, test) for _ in range(PLAIN_REPEATS))
            failed = next((outcome for outcome in again if not outcome.all_passed), None)
            if failed:
                self.alone[key] = failed
                plain.add(failed)
            else:
                found.append(Difference(flavour, layout, test, tried.ending(), tried.log))
        return Comparison(len(known), spillway, plain, found)


@dataclass
class Comparison:
    """Of one module."""

    known: int
    spillway: Outcome
    plain: Optional[Outcome]  # None: there was nothing to compare
    differences: List[Difference]

    def verdict(self) -> str:
        if self.plain is None:
            return "passes"
        if self.differences:
            return f"{len(self.differences)} differ"
        words = f"equal ({self.plain.seconds:.1f} s on plain MPI"
        return f"{words})" if self.plain.status == 0 else f"{words}, which {self.plain.ending()})"


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
    suite.list_cases(flavour, layout.ranks)
    with ThreadPoolExecutor(jobs) as pool:
        for module, found in zip(modules, pool.map(lambda module: suite.compare(flavour, layout, module), modules)):
            for difference in found.differences:
                difference.reason = reason_for(difference, exceptions)
            row.modules += 1
            row.cases += found.known
            row.passed += found.spillway.passed
            row.seconds += found.spillway.seconds
            row.seconds_plain += found.plain.seconds if found.plain else 0
            row.differences += found.differences
            counts = f"{found.spillway.passed:6d} of {found.known:6d} {found.spillway.seconds:6.1f} s"
            print(f"  {flavour:8} {layout!s:8} {module:22} {counts}  {found.verdict()}", flush=True)
    return row


def print_table(rows: List[Row]) -> None:
    print("\nflavour  layout   modules   cases  passed  differ  excepted  Spillway s  plain s")
    for row in rows:
        excepted = sum(1 for difference in row.differences if difference.reason)
        print(
            f"{row.flavour:8} {row.layout!s:8} {row.modules:7d}  {row.cases:6d}  {row.passed:6d}  "
            f"{len(row.differences) - excepted:6d}  {excepted:8d}  {row.seconds:10.0f}  {row.seconds_plain:7.0f}"
        )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = Path(os.environ.get("SPILLWAY_BUILD", SOURCE / "build"))
    parser.add_argument("--build", type=Path, default=build, help="default: $SPILLWAY_BUILD, or build")
    parser.add_argument("--flavours", nargs="+", choices=["mpich", "openmpi"], default=["mpich", "openmpi"])
    parser.add_argument(
        "--layouts",
        nargs="+",
        type=Layout.parse,
        default=[Layout.parse(text) for text in LAYOUTS],
        help="ranks/slots, t for tight memory: 5/1t",
    )
    parser.add_argument("--modules", nargs="+", default=["*"], metavar="PATTERN", help="such as test_p2p*")
    parser.add_argument("--without", nargs="+", default=[], metavar="PATTERN", help="modules to leave out")
    parser.add_argument("--limit", type=float, default=900, help="seconds that a module may take (default: 900)")
    parser.add_argument("--jobs", type=int, default=1, help="modules that run at a time")
    parser.add_argument("--output", type=Path, help="folder for logs and records; default: mpi4py/results in the build")
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
    rows = [
        compare_layout(suite, flavour, layout, modules, options.jobs)
        for flavour in options.flavours
        for layout in options.layouts
    ]
    differences = [difference for row in rows for difference in row.differences]
    print_table(rows)
    if not all(row.passed for row in rows):
        raise SystemExit(f"nothing passes under Spillway (logs in {options.output})")
    for difference in differences:
        print(f"excepted: {difference}: {difference.reason}" if difference.reason else f"DIFFERENCE: {difference}")
    return 1 if any(not difference.reason for difference in differences) else 0


if __name__ == "__main__":
    sys.exit(main())
