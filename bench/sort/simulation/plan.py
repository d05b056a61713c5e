"""Which sorts are simulated for which table."""

import json
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import paper
from paper import HYBRID, TWO_SIDED

SPILLWAY = "spillway"
DESIGNS = [TWO_SIDED, HYBRID, SPILLWAY]

Found = Dict[str, Any]


class Case(NamedTuple):
    design: str
    processes: int
    size: int
    changes: Tuple[str, ...] = ()  # of the model

    def words(self) -> Iterable[str]:
        return [self.design, str(self.processes), str(self.size), *self.changes]


def read(output: str) -> Optional[Found]:
    try:
        return dict(json.loads(output))
    except ValueError:
        return None


class Plan(NamedTuple):
    processes: List[int]

    def strong(self, design: str, processes: int) -> Case:
        return Case(design, processes, paper.STRONG_BYTES)

    def weak(self, design: str, processes: int) -> Case:
        return Case(design, processes, processes * paper.TB // paper.WEAK_PROCESSES_PER_TB)

    def split(self, design: str, processes: int) -> Case:
        return Case(design, processes, processes * paper.TB // paper.SPLIT_PROCESSES_PER_TB)

    @property
    def split_processes(self) -> List[int]:
        """Of Figures 6 and 7."""
        return [count for count in self.processes if count in paper.SPLIT_PROCESSES] or self.processes

    @property
    def settings(self) -> List[Tuple[str, Tuple[str, ...]]]:
        """What of the model is changed, on the middle number of processes."""
        return [
            ("as it is", ()),
            ("16 receive buffers on each host, as much as the others have", ("receive-buffers=16",)),
            ("4 receive buffers", ("receive-buffers=4",)),
            ("disks and file system always take the same time", ("spread-percent=0",)),
            ("blocks of half the size", ("blocks=32",)),
            ("seeks of 0.1 ms, as of an SSD", ("seek-us=100",)),
            ("disks of 500 MB/s, seeks of 0.1 ms", ("disk-rate=500000000", "seek-us=100")),
        ]

    @property
    def middle(self) -> int:
        return self.processes[len(self.processes) // 2]

    def with_settings(self, design: str, changes: Tuple[str, ...]) -> Case:
        return self.strong(design, self.middle)._replace(changes=changes)

    def all_cases(self) -> List[Case]:
        cases: List[Case] = []
        for design in DESIGNS:
            for processes in self.processes:
                cases += [self.strong(design, processes), self.weak(design, processes)]
            cases += [self.split(design, processes) for processes in self.split_processes]
            cases += [self.with_settings(design, changes) for _, changes in self.settings]
        return cases
