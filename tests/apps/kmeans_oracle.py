"""Spherical K-means in plain Python, bit by bit as the programs compute it, and matrices to cluster.

The programs compute with floats of 32 bits and integers of 64. A result of one operation with floats that is computed
with Python's 64 bits and then rounded is the right one: 53 bits are enough for that.
"""

import math
import random
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import List, Tuple

from csr_oracle import Matrix, single

NO_CLUSTER = -1
Row = List[Tuple[int, float]]


@dataclass
class Clustering:
    """What a program leaves and prints."""

    clusters: List[int]
    reassigned: List[int]  # rows, by iteration
    objective: str


def unit_row(row: Row) -> Row:
    columns = [column for column, _ in row]
    row = [(column, single(value)) for column, value in row]
    if any(left >= right for left, right in zip(columns, columns[1:])):
        row = added_up(sorted(row, key=lambda entry: entry[0]))
    sums = [0.0] * 4
    for place, (_, value) in enumerate(row):
        sums[place % 4] += value * value
    length = math.sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]))
    return [(column, single(value * (1 / length))) for column, value in row] if length > 0 else row


def added_up(row: Row) -> Row:
    """Of each column all values in its first entry, and 0 in the others."""
    result: Row = []
    first = 0
    for place, (column, value) in enumerate(row):
        if place > 0 and row[first][0] == column:
            result[first] = (column, single(result[first][1] + value))
            result.append((column, 0.0))
        else:
            first = place
            result.append((column, value))
    return result


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def drawn_rows(matrix: Matrix, count: int, seed: int) -> List[int]:
    lots = [(mixed((mixed(seed) + (row + 1) * 0x9E3779B97F4A7C15) % 2**64), row) for row, _ in enumerate(matrix)]
    return [row for _, row in sorted(lots) if matrix[row]][:count]


def similarity(row: Row, centroid: List[float]) -> float:
    total = 0.0
    for column, value in row:
        total = single(total + single(value * centroid[column]))
    return total


def scaled_sum(sums: List[int], before: List[float]) -> List[float]:
    squares = 0.0
    for value in sums:
        squares += float(value) * float(value)
    length = math.sqrt(squares)
    return [single(float(value) / length) for value in sums] if length > 0 else before


def kmeans(matrix: Matrix, columns: int, count: int, iterations: int = 20, seed: int = 1) -> Clustering:
    rows = [unit_row(row) for row in matrix]
    unit = 2.0 ** (62 - len(matrix).bit_length())
    centroids = [[0.0] * columns for _ in range(count)]
    for centroid, row in zip(centroids, drawn_rows(matrix, count, seed)):
        for column, value in rows[row]:
            centroid[column] += value
    clusters = [NO_CLUSTER] * len(rows)
    reassigned: List[int] = []
    objective = 0
    while len(reassigned) < iterations and (not reassigned or reassigned[-1] > 0):
        sums = [[0] * columns for _ in range(count)]
        reassigned.append(0)
        objective = 0
        for number, row in enumerate(rows):
            if row:
                similarities = [similarity(row, centroid) for centroid in centroids]
                closest = max(similarities)
                cluster = similarities.index(closest)
                reassigned[-1] += cluster != clusters[number]
                clusters[number] = cluster
                objective += int(min(max(closest, -1), 1) * unit)
                for column, value in row:
                    sums[cluster][column] += int(value * unit)
        centroids = [scaled_sum(total, centroid) for total, centroid in zip(sums, centroids)]
    return Clustering(clusters, reassigned, f"{objective / unit:.9e}")


def read_clusters(path: Path) -> List[int]:
    return list(array("i", path.read_bytes()))


def random_row(choices: random.Random, columns: int, length: int) -> Row:
    """In ascending order, most entries in the first columns, a few values negative; not of unit length."""
    chosen = sorted({int(columns * choices.random() ** 2) for _ in range(length)})
    return [(column, single(choices.uniform(-0.2, 1))) for column in chosen]


def random_matrix(rows: int, columns: int, length: int, seed: int, empty: float = 0.1) -> Matrix:
    """With empty rows, some of them at both ends."""
    choices = random.Random(seed)
    matrix: Matrix = [[] if choices.random() < empty else random_row(choices, columns, length) for _ in range(rows)]
    matrix[0] = matrix[-1] = []
    return matrix


def planted_matrix(clusters: int, rows: int, seed: int) -> Tuple[Matrix, List[int]]:
    """Rows around as many directions, of 16 columns each, that have none in common; and to which each row belongs."""
    choices = random.Random(seed)
    planted = [choices.randrange(clusters) for _ in range(rows)]
    matrix = []
    for cluster in planted:
        chosen = sorted(choices.sample(range(16), 12))
        matrix.append([(16 * cluster + column, single(1 + choices.random())) for column in chosen])
    return matrix, planted
