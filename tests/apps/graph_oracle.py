"""Graphs, their file format and PageRank in plain Python: written from docs/reference/csr-format.md, to compare with.

A graph is a list of rows; row u lists the vertices that u points to.
"""

import math
import random
import struct
from array import array
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

Graph = List[List[int]]

MAGIC = b"SPWYCSR\n"
ALIGNMENT = 4096
HEADER = struct.Struct("<8sIIQQQQQ")
FIELDS = ("magic", "version", "column_bytes", "vertices", "edges", "offsets_at", "columns_at", "file_bytes")


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def columns_position(vertices: int) -> int:
    end = ALIGNMENT + 8 * (vertices + 1)
    return -(-end // ALIGNMENT) * ALIGNMENT


def header_bytes(vertex_count: int, edge_count: int, checksum: Optional[int] = None, **changes: object) -> bytes:
    """A header; `changes` replace fields, under a checksum that is right unless it is given."""
    columns_at = columns_position(vertex_count)
    values: Dict[str, object] = dict(
        zip(FIELDS, (MAGIC, 1, 4, vertex_count, edge_count, ALIGNMENT, columns_at, columns_at + 4 * edge_count))
    )
    values.update(changes)
    fields = HEADER.pack(*(values[name] for name in FIELDS))
    return fields + struct.pack("<Q", fnv1a(fields) if checksum is None else checksum)


def encode(graph: Graph) -> bytearray:
    offsets = array("Q", [0])
    for row in graph:
        offsets.append(offsets[-1] + len(row))
    columns = array("I", [column for row in graph for column in row])
    content = bytearray(columns_position(len(graph)))
    content[:64] = header_bytes(len(graph), len(columns))
    content[ALIGNMENT : ALIGNMENT + 8 * len(offsets)] = offsets.tobytes()
    return content + columns.tobytes()


def decode(content: bytes) -> Graph:
    """REQUIRES: a valid file; a header that is not byte for byte as specified fails."""
    vertices, edges = struct.unpack_from("<QQ", content, 16)
    assert content[:64] == header_bytes(vertices, edges)
    assert len(content) == columns_position(vertices) + 4 * edges
    offsets = struct.unpack_from(f"<{vertices + 1}Q", content, ALIGNMENT)
    columns = struct.unpack_from(f"<{edges}I", content, columns_position(vertices))
    assert offsets[0] == 0 and offsets[-1] == edges
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
