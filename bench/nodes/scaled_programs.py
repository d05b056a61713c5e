"""The programs whose work grows with the number of hosts: each host always has as much of it."""

import re
from pathlib import Path
from typing import List, NamedTuple

from job import Setting
from measuring.file_cache import forget_file_cache
from measuring.program_run import run

EDGE_FACTOR = 16
TERMS = 10000
DOCUMENT_TERMS = 120
CLUSTERS = 20


class Program(NamedTuple):
    name: str
    title: str
    generator: str
    options: List[str]  # of the program, besides the number of iterations
    result: re.Pattern  # the line of the result, which is the same for any number of ranks
    scale: int  # of a host's graph: the logarithm of its vertices; or 0
    rows: int  # of a host's matrix; or 0

    def input_words(self, hosts: int) -> List[str]:
        """Of the generator; `hosts` is a power of two."""
        if self.scale:
            return ["--scale", str(self.scale + hosts.bit_length() - 1), "--edge-factor", str(EDGE_FACTOR)]
        sizes = {"rows": self.rows * hosts, "columns": TERMS, "entries-per-row": DOCUMENT_TERMS}
        return [*(word for name, size in sizes.items() for word in (f"--{name}", str(size))), "documents"]

    def input_bytes(self, hosts: int) -> int:
        """Of the file, about."""
        entries = EDGE_FACTOR << self.scale if self.scale else DOCUMENT_TERMS * self.rows
        return 9 * entries * hosts

    def words(self, setting: Setting, iterations: int, input_file: Path) -> List[str]:
        return [setting.application(self.name), "--iterations", str(iterations), *self.options, str(input_file)]

    def make_input(self, setting: Setting, hosts: int) -> Path:
        path = setting.folder / f"{self.name}-{hosts}"
        run([setting.build.program(self.generator), *self.input_words(hosts), str(path)], setting.limit_s)
        forget_file_cache(path)  # it is on the disk before anything is measured
        return path


def programs(scale: int, rows: int) -> List[Program]:
    return [
        Program(
            "pagerank",
            f"PageRank, 2^{scale} vertices and {EDGE_FACTOR} x as many edges per host",
            "graph-generate",
            [],
            re.compile(r"change in the last iteration: (\S+)"),
            scale,
            0,
        ),
        Program(
            "kmeans",
            f"spherical K-means, {CLUSTERS} clusters, {rows} rows of {DOCUMENT_TERMS} entries per host",
            "matrix-generate",
            ["--clusters", str(CLUSTERS)],
            re.compile(r"objective: (\S+)"),
            0,
            rows,
        ),
    ]
