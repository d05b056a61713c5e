"""Who is measured: the ways to run PageRank on one graph, and the limits that each runs under."""

from pathlib import Path
from typing import List, NamedTuple, Optional

from measuring.build import Build
from measuring.residency import allowed_bytes, job_limit_bytes

MIB = 1 << 20


class Setting(NamedTuple):
    """What one measurement is about."""

    graph: Path
    iterations: int
    ranks: int
    slots: int
    cores: int
    factor: float
    data_bytes: int  # as pagerank reports it for `ranks` ranks
    flavour: str

    @property
    def budget_bytes(self) -> int:
        return int(self.data_bytes / self.factor) // MIB * MIB

    @property
    def allowed_bytes(self) -> int:
        """What Spillway's ranks may have resident: the budget and the stated slack."""
        return allowed_bytes(self.budget_bytes, self.ranks)

    @property
    def limit_bytes(self) -> int:
        """What every out-of-core contender may use in all, its launchers and file cache included."""
        return job_limit_bytes(self.budget_bytes, self.ranks)

    @property
    def roomy_bytes(self) -> int:
        """A budget in which everything fits, also while the graph is read and messages are under way."""
        return (3 * self.data_bytes + (1 << 30)) // MIB * MIB


class Contender(NamedTuple):
    name: str
    title: str
    command: List[str]
    limit_bytes: Optional[int] = None  # of its control group; None: no limit
    may_swap: bool = False

    @property
    def in_core(self) -> bool:
        return self.limit_bytes is None


def contenders(build: Build, setting: Setting, spill_folder: Path) -> List[Contender]:
    pagerank = build.mpi_program("tests", "pagerank", setting.flavour)
    work = ["--iterations", str(setting.iterations), str(setting.graph)]
    limit = setting.limit_bytes

    def spillway(ranks: int, slots: int, budget: int) -> List[str]:
        options = ("-n", ranks, "--slots", slots, "--memory", budget, "--spill-dir", spill_folder, "--summary", "none")
        return [*build.spillway(*options), pagerank, *work]

    def plain(ranks: int) -> List[str]:
        return [*build.plain(pagerank, ranks), *work]

    ranks, cores, roomy = setting.ranks, setting.cores, setting.roomy_bytes
    return [
        Contender(
            "spillway",
            f"Spillway, {ranks} ranks, {setting.slots} at a time",
            spillway(ranks, setting.slots, setting.budget_bytes),
            limit,
        ),
        Contender("swap", f"plain MPI, {ranks} ranks, OS swap", plain(ranks), limit, may_swap=True),
        Contender("serial", "out of core by hand, 1 process", [build.program("pagerank-serial"), *work], limit),
        Contender("spillway-in-core", f"Spillway in core, {ranks} ranks", spillway(ranks, ranks, roomy)),
        Contender("plain-in-core", f"plain MPI in core, {ranks} ranks", plain(ranks)),
        Contender("spillway-in-core-cores", f"Spillway in core, {cores} ranks", spillway(cores, cores, roomy)),
        Contender("plain-in-core-cores", f"plain MPI in core, {cores} ranks", plain(cores)),
    ]


class Target(NamedTuple):
    """A ratio of two contenders' figures that the project promises."""

    title: str
    above: str
    below: str
    figure: str  # wall_s or iteration_s
    bound: float
    is_least: bool = False  # the ratio must be at least the bound, else at most


TARGETS = (
    Target("in core: Spillway / plain MPI, same ranks", "spillway-in-core", "plain-in-core", "wall_s", 1.05),
    Target(
        "in core: Spillway / plain MPI, ranks = cores", "spillway-in-core-cores", "plain-in-core-cores", "wall_s", 1.05
    ),
    Target("out of core: Spillway / by hand", "spillway", "serial", "iteration_s", 2.0),
    Target("out of core: plain MPI on swap / Spillway", "swap", "spillway", "iteration_s", 1.5, is_least=True),
)
