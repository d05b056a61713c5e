"""How the time of an iteration grows with the number of hosts when each has as much to do."""

import re
from math import isclose
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from job import Setting, lines_of_run
from measuring.iteration_watch import Iterations, IterationWatch
from measuring.program_run import RunFailed
from measuring.progress import say
from measuring.spread import Spread
from neighbours import neighbours
from scaled_programs import Program

TARGET = 1.15
SPILLWAY, BESIDE_OTHERS, PLAIN = "spillway", "spillway beside others", "plain"
# Of neighbours, which end when they are told to.
_WITHOUT_END = 1000000
# What is left of PageRank's changes when nothing changes any more.
_ROUNDING = 1e-12
# Of Spillway's bytes: plain MPI that moves fewer has gone past the links. With fewer ranks it needs no more than half.
_LEAST_SHARE_OF_BYTES = 0.1


class Shape(NamedTuple):
    host_counts: Sequence[int]  # 1 is the first
    ranks_per_host: int
    slots: int
    plain_ranks_per_host: int
    bytes_per_s: float  # of a link
    iterations: int

    @property
    def ways(self) -> List[Tuple[str, int]]:
        """What is run, by contender and hosts."""
        ways = [(contender, hosts) for hosts in self.host_counts for contender in (SPILLWAY, PLAIN)]
        return [ways[0], (BESIDE_OTHERS, 1), *ways[1:]]


class Scaling:
    """The runs of one program."""

    def __init__(self, program: Program, shape: Shape) -> None:
        self.program = program
        self.shape = shape
        self.runs: Dict[Tuple[str, int], List[Iterations]] = {way: [] for way in shape.ways}

    def seconds(self, contender: str, hosts: int) -> Spread:
        return Spread([run.seconds for run in self.runs[contender, hosts]])

    def link_bytes(self, contender: str, hosts: int) -> Spread:
        return Spread([run.link_bytes for run in self.runs[contender, hosts]])

    def link_s(self, contender: str, hosts: int) -> Spread:
        return Spread([run.link_bytes / self.shape.bytes_per_s for run in self.runs[contender, hosts]])

    def growth(self, contender: str, hosts: int, base: str) -> Spread:
        """What an iteration takes beyond the links' time for its bytes, of what it takes on one host; of runs in the
        same repeat."""
        times = (self.seconds(contender, hosts), self.link_s(contender, hosts), self.seconds(base, 1))
        return Spread([(all_s - link_s) / one_s for all_s, link_s, one_s in zip(*(each.values for each in times))])

    def is_met(self, hosts: int) -> bool:
        return self.growth(SPILLWAY, hosts, SPILLWAY).median <= TARGET

    def were_watched(self) -> bool:
        return all(run.were_watched for (_, hosts), runs in self.runs.items() for run in runs if hosts > 1)

    def check(self) -> None:
        """Raises RunFailed when runs cannot be compared."""
        for hosts in self.shape.host_counts:
            results = [run.result for way, runs in self.runs.items() if way[1] == hosts for run in runs]
            if not isclose(min(results), max(results), rel_tol=1e-3, abs_tol=_ROUNDING):
                raise RunFailed(f"{self.program.name}, hosts: {hosts}: the results {results} differ")
            if hosts > 1 and self._goes_past_links(hosts):
                raise RunFailed(f"what plain MPI sent between {hosts} hosts did not go over the links")

    def _goes_past_links(self, hosts: int) -> bool:
        most, least = (self.link_bytes(contender, hosts).median for contender in (SPILLWAY, PLAIN))
        return self.were_watched() and least < _LEAST_SHARE_OF_BYTES * most


def _watched_run(
    command: List[str],
    setting: Setting,
    result: re.Pattern,
    ends_well: bool = True,
    check: Optional[Callable[[], None]] = None,
) -> Iterations:
    """`check` is called with every line."""
    network = setting.network

    def link_bytes() -> List[int]:
        return [count(host) for host in network.hosts for count in (network.received_bytes, network.sent_bytes)]

    watch = IterationWatch(result, link_bytes)

    def on_line(line: str) -> None:
        watch.line(line)
        if check:
            check()

    lines_of_run(command, setting, on_line, None if ends_well else result)
    return watch.iterations()


class _Runner:
    def __init__(self, setting: Setting, program: Program, shape: Shape, files: Dict[int, Path]) -> None:
        self._setting = setting
        self._program = program
        self._shape = shape
        self._files = files

    def run(self, contender: str, hosts: int) -> Iterations:
        shape = self._shape
        if contender == BESIDE_OTHERS:
            first, *others = self._setting.network.hosts
            with neighbours([self._spillway([host], _WITHOUT_END) for host in others], self._setting) as check:
                command = self._spillway([first], shape.iterations)
                return _watched_run(command, self._setting, self._program.result, check=check)
        if contender == SPILLWAY:
            command = self._spillway(self._setting.network.hosts[:hosts], shape.iterations)
            return _watched_run(command, self._setting, self._program.result)
        command = [*self._setting.plain(hosts, shape.plain_ranks_per_host), *self._words(hosts, shape.iterations)]
        # MPI_Finalize of Debian's MPICH may never return (measuring/network.py).
        return _watched_run(command, self._setting, self._program.result, ends_well=False)

    def _spillway(self, hosts: Sequence[str], iterations: int) -> List[str]:
        launch = self._setting.spillway_on(hosts, self._shape.ranks_per_host, self._shape.slots)
        return [*launch, *self._words(len(hosts), iterations)]

    def _words(self, hosts: int, iterations: int) -> List[str]:
        return self._program.words(self._setting, iterations, self._files[hosts])


def measure(setting: Setting, program: Program, shape: Shape, repeats: int) -> Scaling:
    say(f"{program.title}: making its data")
    files = {hosts: program.make_input(setting, hosts) for hosts in shape.host_counts}
    runner = _Runner(setting, program, shape, files)
    scaling = Scaling(program, shape)
    for repeat in range(repeats):
        for contender, hosts in shape.ways[:: -1 if repeat % 2 else 1]:
            # For information only.
            if contender == PLAIN and repeat > 0:
                continue
            say(f"{program.title}: {contender}, {hosts} of {shape.host_counts[-1]} hosts, {repeat + 1} of {repeats}")
            try:
                scaling.runs[contender, hosts].append(runner.run(contender, hosts))
            finally:
                setting.network.end_processes()
    say("")
    for file in files.values():
        file.unlink()
    scaling.check()
    return scaling
