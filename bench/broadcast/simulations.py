"""Simulations of broadcasts: one process each, two at a time, none twice."""

import math
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, Iterable, NamedTuple, Set

from measuring.program_run import RunFailed
from paper import NODES_PER_LEAF

KIB = 1 << 10
COURIERS_PART_BYTES = 256 * KIB  # courier/frame.h
# As in cluster.h.
LINK_BYTES_PER_S = 1e9 / 8 * 8948 / 9038
LATENCY_S = 50e-6

_SAID = re.compile(r"([\d.]+) s, SimGrid ([\d.]+)")
_AT_A_TIME = 2


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


class Simulations:
    def __init__(self, program: str, limit_s: float, say: Callable[[str], None]) -> None:
        self.seconds: Dict[Case, float] = {}
        self.version = ""  # SimGrid's
        self._program = program
        self._limit_s = limit_s
        self._say = say
        self._running: Set[subprocess.Popen] = set()

    def run_all(self, cases: Iterable[Case]) -> None:
        """Raises RunFailed."""
        missing = sorted(set(cases) - set(self.seconds), key=lambda case: -case.nodes * case.parts)
        with ThreadPoolExecutor(_AT_A_TIME) as workers:
            try:
                for done, (case, seconds) in enumerate(zip(missing, workers.map(self._run, missing)), 1):
                    self.seconds[case] = seconds
                    self._say(f"{done} of {len(missing)} simulations")
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                for process in list(self._running):
                    process.kill()
                raise

    def _run(self, case: Case) -> float:
        command = [self._program, *case.words()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self._running.add(process)
            try:
                output, errors = process.communicate(timeout=self._limit_s)
            except subprocess.TimeoutExpired as late:
                process.kill()
                raise RunFailed(f"{' '.join(command)}: it took too long") from late
            finally:
                self._running.discard(process)
        said = _SAID.fullmatch(output.strip())
        if process.returncode != 0 or not said:
            raise RunFailed("\n".join([" ".join(command), output, *errors.splitlines()[-5:]]))
        self.version = said.group(2)
        return float(said.group(1))
