"""The applications of bdmpi.txt, section 6.1: what they work on, and the ways in which each can be run."""

import math
import re
from enum import Enum
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

from measuring.build import Build
from measuring.program_run import run

_DATA = re.compile(r"data of all ranks: ([\d.]+) MiB")


class Size(NamedTuple):
    """How much `--size` megabytes of data are, about, in each application's own terms."""

    mib: int

    @property
    def graph_scale(self) -> int:
        """The nearest one: at 22, PageRank has 560 MiB."""
        return max(10, round(22 + math.log2(self.mib / 560)))

    @property
    def documents(self) -> int:
        """Of DOCUMENT_TERMS terms, 8 bytes each."""
        return max(100, (self.mib << 20) // (8 * DOCUMENT_TERMS))

    @property
    def ratings(self) -> int:
        """12 bytes each, as a block has them."""
        return max(10000, (self.mib << 20) // 12)


DOCUMENT_TERMS = 120
TERMS = 10000
CLUSTERS = 20
# Of the Netflix prize's data: users for each item, and ratings for each user.
RATINGS_PER_USER = 200
USERS_PER_ITEM = 27


class Kind(str, Enum):
    """Of the ways to run an application. Where there are several of a kind, the fastest counts."""

    SPILLWAY_1 = "Spillway, 1 at a time"
    SPILLWAY_2 = "Spillway, 2 at a time"
    CONTROLLED = "Spillway told what to load, 2 at a time"
    EXPLICIT = "explicit file I/O, 2 at a time"
    SERIAL = "out of core by hand, 1 process"
    SWAP = "plain MPI, OS swap"
    IN_MEMORY = "plain MPI, in memory"


class Target(NamedTuple):
    """Of seconds per iteration, where the data are TARGET_FACTOR times the budget."""

    above: Kind
    below: Kind
    bound: float
    is_least: bool = False  # the ratio must be at least the bound, else at most


TARGET_FACTOR = 4.0


class SwapBounds(NamedTuple):
    """How much slower plain MPI on swap must be."""

    fast_disk: float
    slow_disk: float  # of the papers: 200 MB/s


def targets(swap: Optional[SwapBounds], is_slow_disk: bool) -> List[Target]:
    """What a slow disk transfers takes longer than working on it in memory, however it is done."""
    found = [Target(Kind.SPILLWAY_1, Kind.SERIAL, 1.1), Target(Kind.SPILLWAY_2, Kind.SERIAL, 1.0)]
    if not is_slow_disk:
        found.append(Target(Kind.SPILLWAY_2, Kind.IN_MEMORY, 1.5))
    if swap is not None:
        bound = swap.slow_disk if is_slow_disk else swap.fast_disk
        found.append(Target(Kind.SWAP, Kind.SPILLWAY_2, bound, True))
    return found


class Application(NamedTuple):
    name: str
    title: str
    program: str
    ranks: int
    # Plain MPI also runs with so few: its waiting ranks spin, and with more than there are cores take those of others.
    few_ranks: List[int]
    make_input: Callable[[Build, Path, Size, float], Path]
    work: Callable[[int], List[str]]  # options for so many iterations
    controlled: Optional[List[str]]  # that tells Spillway what it needs
    explicit: Optional[Callable[[Path], List[str]]]  # that reads files itself, with a folder for them
    # Words of the program written by hand, with a folder for what it writes and bytes of the data that it may keep.
    serial: Callable[[Path, int], List[str]]
    result: re.Pattern  # what is printed of the result
    other_order: float  # how much the result of one process, or few ranks, may differ, of 1
    swap_bounds: Optional[SwapBounds]
    # How long an iteration may take, of the longer one of computing and transferring; None: that is not said of it.
    overlap_bound: Optional[float] = None


def _make(build: Build, program: str, words: List[object], output: Path, limit_s: float) -> Path:
    if not output.exists():
        run([build.program(program), *map(str, words), str(output)], limit_s)
    return output


def _graph(build: Build, folder: Path, size: Size, limit_s: float) -> Path:
    return _make(build, "graph-generate", ["--scale", size.graph_scale], folder / "graph.csr", limit_s)


def _documents(build: Build, folder: Path, size: Size, limit_s: float) -> Path:
    words = ["--rows", size.documents, "--columns", TERMS, "--entries-per-row", DOCUMENT_TERMS, "documents"]
    return _make(build, "matrix-generate", words, folder / "documents.csr", limit_s)


def _ratings(build: Build, folder: Path, size: Size, limit_s: float) -> Path:
    users = max(100, size.ratings // RATINGS_PER_USER)
    items = max(100, users // USERS_PER_ITEM)
    words = ["--rows", users, "--columns", items, "--entries", min(size.ratings, users * items // 4), "ratings"]
    return _make(build, "matrix-generate", words, folder / "ratings.csr", limit_s)


def _kmeans_serial(folder: Path, memory: int) -> List[str]:
    places = ["--scratch-dir", str(folder), "--output", str(folder / "clusters")]
    return ["kmeans-serial", "--memory", str(memory), *places]


def _sgd(order: str, title: str, swap_bounds: Optional[SwapBounds]) -> Application:
    return Application(
        f"sgd-{order}",
        title,
        "sgd",
        16,
        [1, 4],
        _ratings,
        lambda iterations: ["--order", order, "--iterations", str(iterations)],
        ["--blocks", "controlled"],
        lambda folder: ["--blocks", "file", "--scratch-dir", str(folder)],
        lambda folder, memory: ["sgd-serial", "--grid", "4", "--scratch-dir", str(folder), "--memory", str(memory)],
        re.compile(r"^root mean square error: (\S+)", re.MULTILINE),
        0.05,
        swap_bounds,
    )


APPLICATIONS: Dict[str, Application] = {
    application.name: application
    for application in (
        Application(
            "pagerank",
            "PageRank",
            "pagerank",
            16,
            [2],
            _graph,
            lambda iterations: ["--iterations", str(iterations)],
            None,
            None,
            lambda folder, memory: ["pagerank-serial"],
            re.compile(r"change in the last iteration: (\S+)"),
            0,
            SwapBounds(3, 5),
        ),
        Application(
            "kmeans",
            f"spherical K-means, {CLUSTERS} clusters",
            "kmeans",
            16,
            [2],
            _documents,
            lambda iterations: ["--clusters", str(CLUSTERS), "--iterations", str(iterations)],
            ["--rows", "controlled"],
            lambda folder: ["--rows", "file", "--scratch-dir", str(folder)],
            _kmeans_serial,
            re.compile(r"objective: (\S+)"),
            0,
            None,
            1.15,
        ),
        _sgd("elements", "matrix factorization (SGD), all ratings in random order", SwapBounds(8, 12)),
        _sgd("rows", "matrix factorization (SGD), rows in random order", None),
    )
}


def data_bytes(build: Build, application: Application, flavour: str, matrix: Path, limit_s: float) -> int:
    """What the program says its data are, all ranks together."""
    program = build.mpi_program("tests", application.program, flavour)
    words = [*build.plain(program, application.ranks), *application.work(1), str(matrix)]
    text = "\n".join(run(words, limit_s).lines)
    found = _DATA.search(text)
    assert found, text
    return int(float(found.group(1)) * (1 << 20))
