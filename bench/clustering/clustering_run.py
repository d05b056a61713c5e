"""Runs image-clustering and takes what it prints of each round, and when."""

import json
import re
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

from measuring.build import Build
from measuring.program_run import RunFailed, run

_ROUND = re.compile(
    r"round \d+: inertia (?P<inertia>\S+), changed (?P<changed>\d+), distances (?P<fraction>\S+) "
    r"\((?P<distances>\d+)\), between centers (?P<between_centers>\d+)$"
)


class Round(NamedTuple):
    inertia: float
    changed: int
    fraction: float  # of the distances between vectors and centers
    distances: int
    between_centers: int
    seconds: float  # since the round before; of the first one, since the job's start


class Outcome(NamedTuple):
    rounds: List[Round]
    centers: bytes  # the file
    between_nodes: int  # bytes of all kinds
    sums: int  # bytes of records of the second node's processes for A tasks, which are on the first one


class Nodes(NamedTuple):
    """Virtual ones: their couriers count what goes from one to another. All A tasks are on the first one."""

    processes: int  # of each
    reduces: bool  # the tasks of a node together
    centers_of_block: int


class Clustering(NamedTuple):
    build: Build
    program: str
    files: Sequence[Path]
    folder: Path
    columns: int
    centers: int
    limit_s: float

    def run(self, bounds: str, rounds: int, processes: int, tasks: int, nodes: Optional[Nodes] = None) -> Outcome:
        """By the MPI library alone where there are no nodes. Raises RunFailed."""
        output, summary = self.folder / "centers", self.folder / "summary.json"
        words = [self.build.program("mpidrun"), "-M", "iteration", "-n", processes, "-O", tasks]
        words += ["--ranks-per-node", nodes.processes] if nodes else ["--plain"]
        words += ["-A", nodes.processes if nodes else processes, "--spill-dir", self.folder, "--progress", "none"]
        words += ["--summary", "json", "--summary-file", summary, "--", self.program, "--bounds", bounds]
        words += ["--block", nodes.centers_of_block] if nodes else []
        words += ["--format", "binary", "--columns", self.columns, output, self.centers, rounds, *self.files]
        environment = {"MPI_D_REDUCTION_GROUP": str(nodes.processes if nodes.reduces else 1)} if nodes else {}
        times = [time.monotonic()]
        outcome = run(
            list(map(str, words)),
            self.limit_s,
            on_line=lambda line: times.append(time.monotonic()),
            environment=environment,
        )
        found = [_round(line, later - earlier) for line, earlier, later in zip(outcome.lines, times, times[1:])]
        if nodes is None:
            return Outcome(found, output.read_bytes(), 0, 0)
        report = json.loads(summary.read_text())
        between_nodes = sum(node["courier_sent_bytes"] for node in report["nodes"])
        figures = report["key_value"]["per_process"]
        sums = sum(of_one["sent_bytes"] for of_one in figures if of_one["process"] >= nodes.processes)
        return Outcome(found, output.read_bytes(), between_nodes, sums)


def _round(line: str, seconds: float) -> Round:
    found = _ROUND.match(line)
    if not found:
        raise RunFailed(f"image-clustering printed: {line}")
    words: Dict[str, str] = found.groupdict()
    return Round(
        float(words["inertia"]),
        int(words["changed"]),
        float(words["fraction"]),
        int(words["distances"]),
        int(words["between_centers"]),
        seconds,
    )
