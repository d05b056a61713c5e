"""The ways to run an application, and what was measured of each run."""

import os
import re
from pathlib import Path
from typing import Callable, Counter, Dict, List, NamedTuple, Optional, Set

from applications import TARGET_FACTOR, Application, Kind, Target, targets
from measuring.build import Build
from measuring.control_group import DiskRate
from measuring.disk_speed import disk_speeds
from measuring.disk_traffic import Traffic, traffic_of_disk
from measuring.file_cache import forget_file_cache
from measuring.limited_run import KilledForMemory, Swap, run_limited
from measuring.program_run import Outcome, RunFailed, run
from measuring.residency import job_limit_bytes
from measuring.spread import Spread
from measuring.swap_file import NoSwap
from measuring.warm_memory import warm_memory

MIB = 1 << 20
DISK_MIB = 512  # that its own speed is measured with
_ITERATION = re.compile(r"iteration \d+: ([\d.]+) s")


class Setting(NamedTuple):
    application: Application
    matrix: Path
    data_bytes: int
    factor: float  # data / budget
    iterations: int
    flavour: str
    folder: Path
    limit_s: float
    unlimited_because: str  # why nothing runs in a control group; empty: they do
    rate: Optional[DiskRate]  # the limit, if there is to be one

    @property
    def budget_bytes(self) -> int:
        return int(self.data_bytes / self.factor) // MIB * MIB

    @property
    def targets(self) -> List[Target]:
        found = targets(self.application.swap_bounds, self.rate is not None)
        return found if self.factor == TARGET_FACTOR else []

    @property
    def overlap_bound(self) -> Optional[float]:
        return self.application.overlap_bound if self.factor == TARGET_FACTOR else None

    @property
    def limit_bytes(self) -> int:
        return job_limit_bytes(self.budget_bytes, self.application.ranks)


class Way(NamedTuple):
    name: str
    kind: Kind
    command: List[str]
    ranks: int

    @property
    def title(self) -> str:
        if self.kind not in (Kind.SWAP, Kind.IN_MEMORY):
            return self.kind.value
        return f"{self.kind.value}, {self.ranks} rank{'s' * (self.ranks > 1)}"


class Sample(NamedTuple):
    repeat: int
    iteration_s: float  # the mean of all iterations but the first, where there are more
    wall_s: float
    traffic: Optional[Traffic]  # of the disk, in the whole run with the reading of the input
    iteration_traffic: Optional[Traffic]  # in all iterations but the first
    result: str


def ways(build: Build, setting: Setting) -> List[Way]:
    application = setting.application
    program = build.mpi_program("tests", application.program, setting.flavour)
    work = [*application.work(setting.iterations), str(setting.matrix)]

    def spillway(kind: Kind, slots: int, options: List[str]) -> Way:
        words = ("-n", application.ranks, "--slots", slots, "--memory", setting.budget_bytes)
        words += ("--spill-dir", setting.folder, "--summary", "none")
        return Way(kind.name.lower(), kind, [*build.spillway(*words), program, *options, *work], application.ranks)

    def plain(kind: Kind, ranks: int) -> Way:
        return Way(f"{kind.name.lower()}_{ranks}", kind, [*build.plain(program, ranks), *work], ranks)

    serial = application.serial(setting.folder, setting.budget_bytes)
    found = [spillway(Kind.SPILLWAY_1, 1, []), spillway(Kind.SPILLWAY_2, 2, [])]
    if application.controlled is not None:
        found.append(spillway(Kind.CONTROLLED, 2, application.controlled))
    if application.explicit is not None:
        found.append(spillway(Kind.EXPLICIT, 2, application.explicit(setting.folder)))
    found.append(Way("serial", Kind.SERIAL, [build.program(serial[0]), *serial[1:], *work], 1))
    numbers = [application.ranks, *application.few_ranks]
    return found + [plain(kind, ranks) for kind in (Kind.SWAP, Kind.IN_MEMORY) for ranks in numbers]


def _between(before: Optional[Traffic], after: Optional[Traffic]) -> Optional[Traffic]:
    return after.since(before) if before is not None and after is not None else None


class Measurement:
    """Of one application at one factor."""

    def __init__(self, setting: Setting, everyone: List[Way], say: Callable[[str], None]) -> None:
        self.setting = setting
        self.everyone = everyone
        self.samples: Dict[str, List[Sample]] = {}
        self.left_out: Dict[str, str] = {}  # ways that did not run, or not to the end, and why
        self.cannot_run: Set[str] = set()  # those of them that nobody can run here
        self.kill_counts: Counter = Counter()  # runs on swap that the kernel ended
        self.disk: List[Dict[str, float]] = []  # its bytes per second in each repeat
        self._say = say

    def run_all(self, repeats: int) -> None:
        """Each once in a repeat, forwards and backwards in turn."""
        rate = self.setting.rate
        for repeat in range(repeats):
            self._say("the disk's own speed")
            measured = disk_speeds(self.setting.folder, DISK_MIB)
            if rate is not None:
                measured = {name: min(speed, rate.bytes_per_s) for name, speed in measured.items()}
            self.disk.append(measured)
            for way in self.everyone if repeat % 2 == 0 else reversed(self.everyone):
                if way.name not in self.left_out:
                    self._say(f"{self.setting.application.title}, {self.setting.factor:g} x: {way.title}")
                    self._run_once(way, repeat)

    def spread(self, name: str) -> Optional[Spread]:
        samples = self.samples.get(name)
        return Spread([sample.iteration_s for sample in samples]) if samples else None

    def fastest(self, kind: Kind) -> Optional[str]:
        spreads = {way.name: self.spread(way.name) for way in self.everyone if way.kind == kind}
        measured = {name: spread.median for name, spread in spreads.items() if spread}
        return min(measured, key=lambda name: measured[name]) if measured else None

    def ratio(self, above: Optional[str], below: Optional[str]) -> Optional[Spread]:
        """Of the runs of each repeat."""
        times = {sample.repeat: sample.iteration_s for sample in self.samples.get(below or "", [])}
        runs = self.samples.get(above or "", [])
        pairs = [sample.iteration_s / times[sample.repeat] for sample in runs if sample.repeat in times]
        return Spread(pairs) if pairs else None

    def overlap(self) -> Optional[Spread]:
        """An iteration of Spillway's, of the longer one of computing in memory and transferring what it transfers."""
        computing = {s.repeat: s.iteration_s for s in self.samples.get(self.fastest(Kind.IN_MEMORY) or "", [])}
        found = []
        for sample in self.samples.get(self.fastest(Kind.SPILLWAY_2) or "", []):
            if sample.iteration_traffic is not None and sample.repeat in computing:
                traffic, disk = sample.iteration_traffic, self.disk[sample.repeat]
                read_s, write_s = traffic.read_bytes / disk["read"], traffic.written_bytes / disk["write"]
                # A limit is one for each direction.
                transfer_s = read_s + write_s if self.setting.rate is None else max(read_s, write_s)
                transfer_s /= self.setting.iterations - 1
                found.append(sample.iteration_s / max(computing[sample.repeat], transfer_s))
        return Spread(found) if found else None

    def target_ratio(self, target: Target) -> Optional[Spread]:
        return self.ratio(self.fastest(target.above), self.fastest(target.below))

    def problems(self) -> List[str]:
        found = [f"{name} did not end well" for name in self.left_out if name not in self.cannot_run]
        kinds = {way.kind for way in self.everyone if way.name in self.cannot_run}
        for target in self.setting.targets:
            if self.target_ratio(target) is None and not kinds & {target.above, target.below}:
                found.append(f"{target.above.value} / {target.below.value} was not measured")
        is_overlap_of_interest = self.setting.overlap_bound is not None and Kind.IN_MEMORY not in kinds
        if is_overlap_of_interest and self.overlap() is None:
            found.append("the overlap of computing and transferring was not measured")
        return found + self._wrong_results() + self._unheeded_rates()

    def _unheeded_rates(self) -> List[str]:
        rate, found = self.setting.rate, []
        for way in self.everyone if rate is not None else []:
            for sample in self.samples.get(way.name, []):
                allowed = (sample.wall_s + 1) * rate.bytes_per_s * 1.1
                if way.kind != Kind.IN_MEMORY and sample.traffic is not None and max(sample.traffic) > allowed:
                    found.append(f"{way.title}: the disk's rate was not limited")
        return found

    def _wrong_results(self) -> List[str]:
        """Of the same number of ranks all are the same."""
        ranks, allowed = self.setting.application.ranks, self.setting.application.other_order
        results = [(way, s.result) for way in self.everyone for s in self.samples.get(way.name, [])]
        expected = next((result for way, result in results if way.ranks == ranks), "")
        found = []
        for way, result in results:
            difference = abs(float(result) - float(expected)) / abs(float(expected)) if expected else 0
            if result != expected and (way.ranks == ranks or difference > allowed):
                found.append(f"{way.title}: the result is {result}, not {expected}")
        return found

    def _run_once(self, way: Way, repeat: int) -> None:
        forget_file_cache(self.setting.matrix)
        warm_memory(self.setting.data_bytes + (1 << 30))
        os.sync()
        before = traffic_of_disk(self.setting.folder)
        at_iterations: List[Optional[Traffic]] = []

        def look(line: str) -> None:
            if _ITERATION.match(line):
                at_iterations.append(traffic_of_disk(self.setting.folder))

        try:
            outcome = self._run(way, look)
        except KilledForMemory as reason:
            if way.kind == Kind.SWAP:  # what swapping is like; in the next repeat it may end
                self.kill_counts[way.name] += 1
            else:
                self.left_out[way.name] = str(reason)
            return
        except NoSwap as reason:
            self.left_out[way.name] = str(reason)
            self.cannot_run.add(way.name)
            return
        except RunFailed as reason:
            self.left_out[way.name] = str(reason)
            return
        os.sync()
        after = traffic_of_disk(self.setting.folder)
        traffic = _between(before, after)
        later = _between(at_iterations[0], at_iterations[-1]) if at_iterations else None
        self.samples.setdefault(way.name, []).append(self._sample(outcome, repeat, traffic, later))

    def _sample(
        self, outcome: Outcome, repeat: int, traffic: Optional[Traffic], iteration_traffic: Optional[Traffic]
    ) -> Sample:
        text = "\n".join(outcome.lines)
        times = [float(seconds) for seconds in _ITERATION.findall(text)]
        result = self.setting.application.result.search(text)
        assert times and result, text
        later = times[1:] or times
        return Sample(repeat, sum(later) / len(later), outcome.wall_s, traffic, iteration_traffic, result.group(1))

    def _run(self, way: Way, look: Callable[[str], None]) -> Outcome:
        setting = self.setting
        is_swap = way.kind == Kind.SWAP
        if is_swap and setting.unlimited_because:
            raise NoSwap(setting.unlimited_because)
        if way.kind == Kind.IN_MEMORY or setting.unlimited_because:
            return run(way.command, setting.limit_s, on_line=look)
        swap = Swap(setting.folder / "swap", 2 * setting.data_bytes + (1 << 30)) if is_swap else None
        return run_limited(way.command, setting.limit_s, setting.limit_bytes, swap, setting.rate, look)
