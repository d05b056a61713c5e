"""The jobs, what they work on, and how much faster than others Spillway must do them."""

from enum import Enum
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple

from inputs import write_first_lines, write_graph, write_points, write_real_text, write_records, write_zipf_text
from measuring.build import Build

LITTLE_BYTES = 64 << 10


class Target(NamedTuple):
    """Of a run's time, and of what it is without the start."""

    peer: str
    bound: float  # how many times faster than the peer, at least


class Output(Enum):
    LINES = "lines in any order"
    ORDERED_LINES = "lines, the parts one after the other"
    NUMBERS = "rows of numbers in any order"  # sums in another order change them a little
    SHARES = "the same, of a name and a share of the whole, whatever that is"


class Job(NamedTuple):
    name: str
    title: str
    kind: str  # that contenders know it by
    input: str  # of INPUTS
    is_limited: bool  # to --memory
    output: Output
    targets: List[Target]
    rounds: int = 0


class Sizes(NamedTuple):
    text_bytes: int
    record_bytes: int
    static_bytes: int  # of what jobs in rounds keep


class Sources(NamedTuple):
    build: Build
    text_files: List[Path]  # of --text


class Input(NamedTuple):
    size_bytes: Callable[[Sizes], int]
    write: Callable[[Path, int, Sources], str]  # returns what it is
    write_little: Callable[[Path, Path], object]  # of a written one: what a contender takes for it is its start


def _text(path: Path, size: int, sources: Sources) -> str:
    return write_real_text(path, size, sources.text_files)


def _zipf(path: Path, size: int, _: Sources) -> str:
    write_zipf_text(path, size)
    return "Zipf-distributed words"


def _records(path: Path, size: int, sources: Sources) -> str:
    write_records(path, size, sources.build)
    return "printable records of 100 bytes"


def _graph(path: Path, size: int, _: Sources) -> str:
    return write_graph(path, size)


def _points(path: Path, size: int, _: Sources) -> str:
    return write_points(path, size)


INPUTS: Dict[str, Input] = {
    "text": Input(lambda sizes: sizes.text_bytes, _text, write_first_lines),
    "zipf": Input(lambda sizes: sizes.text_bytes, _zipf, write_first_lines),
    "records": Input(lambda sizes: sizes.record_bytes, _records, write_first_lines),
    "graph": Input(lambda sizes: sizes.static_bytes, _graph, lambda path, _: write_graph(path, LITTLE_BYTES)),
    "points": Input(lambda sizes: sizes.static_bytes, _points, lambda path, _: write_points(path, LITTLE_BYTES)),
}

ROUNDS = 10
_FASTER_THAN_JVMS = [Target("spark", 3), Target("hadoop", 5)]
_AS_FAST_AS_SORT = [*_FASTER_THAN_JVMS, Target("sort", 1)]

JOBS: Dict[str, Job] = {
    job.name: job
    for job in (
        Job("wordcount-text", "WordCount", "wordcount", "text", False, Output.LINES, _FASTER_THAN_JVMS),
        Job("wordcount-zipf", "WordCount", "wordcount", "zipf", False, Output.LINES, _FASTER_THAN_JVMS),
        Job("sort-lines", "Sort of lines", "sort", "text", False, Output.ORDERED_LINES, []),
        Job("terasort", "TeraSort", "terasort", "records", False, Output.ORDERED_LINES, _FASTER_THAN_JVMS),
        Job("terasort-limited", "TeraSort", "terasort", "records", True, Output.ORDERED_LINES, _AS_FAST_AS_SORT),
        Job("pagerank", "PageRank", "pagerank", "graph", False, Output.SHARES, _FASTER_THAN_JVMS, ROUNDS),
        Job("kmeans", "K-means", "kmeans", "points", False, Output.NUMBERS, _FASTER_THAN_JVMS, ROUNDS),
    )
}
