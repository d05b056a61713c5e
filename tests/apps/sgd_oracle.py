"""Matrix factorization by stochastic gradient descent in plain Python: written from apps/README.md, to compare with.

Factors are exact: an operation on doubles that is rounded to 32 bits gives what the operation on 32 bits gives.
"""

import math
import random
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from csr_oracle import Matrix, single

Factors = List[List[float]]
MASK = 2**64 - 1


def mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def random_number(key: int, counter: int) -> int:
    return mix(mix(key) ^ counter)


def permutation(size: int, key: int) -> List[int]:
    bits = (size - 1).bit_length()
    shift = max(1, (bits + 1) // 2)
    rounds = [(random_number(key, 2 * t) | 1, random_number(key, 2 * t + 1)) for t in range(4)]

    def once(place: int) -> int:
        for multiplier, increment in rounds:
            place = (place * multiplier + increment) % 2**bits
            place ^= place >> shift
        return place

    places = []
    for place in range(size):
        place = once(place)
        while place >= size:
            place = once(place)
        places.append(place)
    return places


@dataclass(frozen=True)
class Settings:
    side: int = 1
    factors: int = 20
    iterations: int = 10
    rate: float = 0.01
    decay: float = 0.95
    penalty: float = 0.02
    seed: int = 1
    order: str = "elements"
    by_diagonals: bool = True  # the order of the MPI program's steps; else row-major, as sgd-serial

    def options(self) -> List[object]:
        """Of both programs."""
        words: List[object] = ["--factors", self.factors, "--iterations", self.iterations, "--rate", self.rate]
        words += ["--decay", self.decay, "--lambda", self.penalty, "--seed", self.seed, "--order", self.order]
        return words

    def blocks(self) -> Iterator[Tuple[int, int]]:
        for outer in range(self.side):
            for inner in range(self.side):
                yield (inner, (inner + outer) % self.side) if self.by_diagonals else (outer, inner)


def starting_values(settings: Settings, purpose: int, count: int) -> Factors:
    key = random_number(settings.seed, purpose)
    scale = single(1 / math.sqrt(settings.factors))

    def value(row: int, factor: int) -> float:
        return single((random_number(key, row * settings.factors + factor) >> 40) / 2**24 * scale)

    return [[value(row, factor) for factor in range(settings.factors)] for row in range(count)]


def cut(entries_of: Sequence[int], parts: int, multiple: int = 1) -> List[int]:
    """The first row (or column) of each part, and one more."""
    total = sum(entries_of) + len(entries_of)
    firsts = []
    first = before = 0
    for part in range(parts):
        while before + first < part * total // parts:
            last = min(first + multiple, len(entries_of))
            before += sum(entries_of[first:last])
            first = last
        firsts.append(first)
    return [*firsts, len(entries_of)]


def column_multiple(columns: int) -> int:
    multiple = 1
    while -(-columns // multiple) > 65536:
        multiple *= 2
    return multiple


@dataclass
class Block:
    number: int
    first_row: int
    rows: List[List[Tuple[int, float]]]  # with the whole matrix's columns

    def ratings(self) -> List[Tuple[int, int, float]]:
        return [
            (self.first_row + row, column, value) for row, entries in enumerate(self.rows) for column, value in entries
        ]

    def in_order(self, settings: Settings, iteration: int) -> Iterator[Tuple[int, int, float]]:
        key = random_number(random_number(random_number(settings.seed, 3), iteration), self.number)
        if settings.order == "elements":
            ratings = self.ratings()
            for place in permutation(len(ratings), key) if ratings else []:
                yield ratings[place]
        else:
            for place in permutation(len(self.rows), key) if self.rows else []:
                for column, value in self.rows[place]:
                    yield self.first_row + place, column, value


def cut_blocks(matrix: Matrix, columns: int, side: int) -> Dict[Tuple[int, int], Block]:
    entries_of_column = [0] * columns
    for row in matrix:
        for column, _ in row:
            entries_of_column[column] += 1
    first_rows = cut([len(row) for row in matrix], side)
    first_columns = cut(entries_of_column, side, column_multiple(columns))
    blocks = {}
    for i in range(side):
        for j in range(side):
            begin, end = first_columns[j], first_columns[j + 1]
            rows = [
                [entry for entry in row if begin <= entry[0] < end] for row in matrix[slice(*first_rows[i : i + 2])]
            ]
            blocks[i, j] = Block(i * side + j, first_rows[i], rows)
    return blocks


def product(u: Sequence[float], v: Sequence[float]) -> float:
    sums = [0.0] * 4
    for factor, (left, right) in enumerate(zip(u, v)):
        sums[factor % 4] = single(sums[factor % 4] + single(left * right))
    return single(single(sums[0] + sums[1]) + single(sums[2] + sums[3]))


def update(u: List[float], v: List[float], value: float, rate: float, penalty: float) -> None:
    error = single(value - product(u, v))
    for factor, (old_u, old_v) in enumerate(zip(u, v)):
        change_u = single(single(error * old_v) - single(penalty * old_u))
        change_v = single(single(error * old_u) - single(penalty * old_v))
        u[factor] = single(old_u + single(rate * change_u))
        v[factor] = single(old_v + single(rate * change_v))


def factorize(matrix: Matrix, columns: int, settings: Settings) -> Tuple[Factors, Factors]:
    blocks = cut_blocks(matrix, columns, settings.side)
    u = starting_values(settings, 1, len(matrix))
    v = starting_values(settings, 2, columns)
    rate = settings.rate
    for iteration in range(settings.iterations):
        for place in settings.blocks():
            for row, column, value in blocks[place].in_order(settings, iteration):
                update(u[row], v[column], value, single(rate), single(settings.penalty))
        rate *= settings.decay
    return u, v


def root_mean_square_error(matrix: Matrix, u: Factors, v: Factors) -> float:
    errors = [
        single(value - product(u[row], v[column])) ** 2
        for row, entries in enumerate(matrix)
        for column, value in entries
    ]
    return math.sqrt(math.fsum(errors) / len(errors)) if errors else 0


def read_factors(path: Path, factors: int) -> Factors:
    values = array("f", path.read_bytes())
    assert len(values) % factors == 0
    return [list(values[begin : begin + factors]) for begin in range(0, len(values), factors)]


def random_matrix(rows: int, columns: int, entries: int, seed: int) -> Matrix:
    """Skewed in both directions, with repetitions, empty rows and columns, and rows that are not sorted."""
    choices = random.Random(seed)
    matrix: Matrix = [[] for _ in range(rows)]
    for _ in range(entries):
        row = int((rows - 1) * choices.random() ** 2)
        column = int((columns - 1) * choices.random() ** 2)
        matrix[row].append((column, single(choices.uniform(1, 5))))
    return matrix


def planted_matrix(rows: int, columns: int, density: float, rank: int, noise: float, seed: int) -> Matrix:
    """Products of factors that are known, with normally distributed noise."""
    choices = random.Random(seed)
    u = [[choices.uniform(-1, 1) for _ in range(rank)] for _ in range(rows)]
    v = [[choices.uniform(-1, 1) for _ in range(rank)] for _ in range(columns)]

    def rating(row: int, column: int) -> float:
        return single(sum(a * b for a, b in zip(u[row], v[column])) + choices.gauss(0, noise))

    return [
        [(column, rating(row, column)) for column in range(columns) if choices.random() < density]
        for row in range(rows)
    ]
