"""Simulations of broadcasts."""

import math
import re
from typing import Callable, Iterable, NamedTuple, Optional

from measuring.simulations import Simulations
from paper import NODES_PER_LEAF

KIB = 1 << 10
COURIERS_PART_BYTES = 256 * KIB  # courier/frame.h
# As in cluster.h.
LINK_BYTES_PER_S = 1e9 / 8 * 8948 / 9038
LATENCY_S = 50e-6

_SAID = re.compile(r"([\d.]+) s, SimGrid ([\d.]+)")


class Case(NamedTuple):
    algorithm: str  # of src/routing, or mpi:<SMPI's name of an implementation of MPI_Bcast>
    nodes: int  # that receive
    size: int  # bytes
    part_bytes: int = COURIERS_PART_BYTES
    seed: int = 0  # of the nodes' order; 0: that of the topology
    has_acknowledgements: bool = False

    @property
    def parts(self) -> int:
        return -(-self.size // self.part_bytes)

    def words(self) -> Iterable[str]:
        yield from (self.algorithm, *map(str, (self.nodes, self.size, self.part_bytes, NODES_PER_LEAF)))
        if self.seed:
            yield f"random:{self.seed}"
        if self.has_acknowledgements:
            yield "acknowledgements"

    def model_s(self) -> float:
        """The formulas of routing/broadcast.h, with a latency for each link instead of each part and link."""
        whole_s, part_s = self.size / LINK_BYTES_PER_S, min(self.part_bytes, self.size) / LINK_BYTES_PER_S
        if self.algorithm == "flat":
            return LATENCY_S + self.nodes * whole_s
        if self.algorithm == "binomial":
            steps = math.ceil(math.log2(self.nodes + 1))
            return steps * (LATENCY_S + whole_s)
        return whole_s + (self.nodes - 1) * part_s + self.nodes * LATENCY_S


def best_part_bytes(nodes: int, size: int) -> int:
    """By the cost model: k_opt of twister.txt, 4.2. Below 2 nodes there is none."""
    parts = math.sqrt((nodes - 1) * size / LINK_BYTES_PER_S / LATENCY_S)
    return math.ceil(size / max(1.0, parts))


class Broadcasts(Simulations[Case, float]):
    """`found` are their seconds."""

    def __init__(self, program: str, limit_s: float, say: Callable[[str], None]) -> None:
        super().__init__(program, limit_s, say, Case.words, lambda case: case.nodes * case.parts, self._seconds)
        self.version = ""  # SimGrid's

    def _seconds(self, output: str) -> Optional[float]:
        said = _SAID.fullmatch(output)
        if not said:
            return None
        self.version = said.group(2)
        return float(said.group(1))
