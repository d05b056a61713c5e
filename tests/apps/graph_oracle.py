"""Graphs and PageRank in plain Python, to compare with.

A graph is a list of rows; row u lists the vertices that u points to.
"""

import math
import random
import struct
from array import array
from pathlib import Path
from typing import List, Sequence, Tuple

from csr_oracle import decode_rows, encode_rows, entries_position

Graph = List[List[int]]


def encode(graph: Graph) -> bytearray:
    columns = array("I", [column for row in graph for column in row])
    return encode_rows([len(row) for row in graph], len(graph), 0, columns.tobytes())


def decode(content: bytes) -> Graph:
    """REQUIRES: a valid file."""
    vertices, offsets = decode_rows(content, 0)
    assert vertices == len(offsets) - 1
    columns = struct.unpack_from(f"<{offsets[-1]}I", content, entries_position(vertices))
    return [list(columns[begin:end]) for begin, end in zip(offsets, offsets[1:])]


def write_graph(path: Path, graph: Graph) -> Path:
    path.write_bytes(encode(graph))
    return path


def pagerank(graph: Graph, iterations: int, damping: float = 0.85) -> List[float]:
    vertices = len(graph)
    ranks = [1 / vertices] * vertices
    for _ in range(iterations):
        dangling = math.fsum(rank for rank, row in zip(ranks, graph) if not row)
        pushed: List[float] = [0.0] * vertices
        for rank, row in zip(ranks, graph):
            for target in row:
                pushed[target] += rank / len(row)
        base = (1 - damping + damping * dangling) / vertices
        ranks = [base + damping * value for value in pushed]
    return ranks


def difference(left: Sequence[float], right: Sequence[float]) -> float:
    """L1."""
    assert len(left) == len(right)
    return math.fsum(abs(a - b) for a, b in zip(left, right))


def read_ranks(path: Path) -> List[float]:
    return list(array("d", path.read_bytes()))


def printed_top(stdout: str) -> List[Tuple[int, int, float]]:
    """The lines of --top: place, vertex, rank."""
    lines = [line.split("\t") for line in stdout.splitlines() if line.count("\t") == 2]
    return [(int(place), int(vertex), float(rank)) for place, vertex, rank in lines]


def random_graph(vertices: int, edges: int, seed: int, dangling: float = 0.1) -> Graph:
    """Skewed in both degrees, with repeated edges, edges to oneself, and empty rows, some at the ends."""
    choices = random.Random(seed)
    graph: Graph = [[] for _ in range(vertices)]
    is_dangling = [choices.random() < dangling for _ in range(vertices)]
    is_dangling[0] = is_dangling[-1] = True
    sources = [vertex for vertex in range(vertices) if not is_dangling[vertex]]
    for _ in range(edges):
        source = sources[int(len(sources) * choices.random() ** 3)]
        graph[source].append(int(vertices * choices.random() ** 2))
    return graph


def long_row_graph() -> Graph:
    """A row of 3 Mi edges between others, and more than 1 Mi rows: more than the programs read at once."""
    vertices = (1 << 20) + 5000
    graph: Graph = [[] for _ in range(vertices)]
    graph[10] = [7, 11, 13] * (1 << 20)
    graph[vertices - 1] = [10, 5]
    return graph
