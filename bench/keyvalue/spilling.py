"""How much slower jobs become when all intermediate data go through the disk, beside what the disk takes for that."""

from pathlib import Path
from typing import Callable, Dict, List, NamedTuple

from contenders import cores
from measuring.build import Build
from measuring.disk_speed import disk_speeds
from measuring.program_run import RunFailed
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict
from mpidrun_run import Command, run_with_mpidrun

MIB = 1 << 20
DISK_MIB = 512
# Of a process, so that only what comes last may stay in memory.
LEAST_MEMORY, MOST_MEMORY = MIB, 32 * MIB
LEAST_BUDGET = 256 * MIB
BOUND = 1.10


class Spilling(NamedTuple):
    name: str
    title: str
    command: Command


class Sample(NamedTuple):
    in_memory_s: float
    spilled_s: float
    in_memory_processor_s: float
    spilled_processor_s: float
    spilled_bytes: int
    intermediate_bytes: int
    disk: Dict[str, float]  # bytes per second

    @property
    def disk_s(self) -> float:
        """What is spilled is written, read and freed once."""
        return sum(self.spilled_bytes / self.disk[what] for what in ("write", "read", "free"))

    @property
    def beyond(self) -> float:
        return self.spilled_s / (self.in_memory_s + self.disk_s)


class SpillingMeasurement:
    def __init__(self, what: Spilling, build: Build, source: Path, folder: Path, limit_s: float) -> None:
        self.what = what
        self.samples: List[Sample] = []
        self._build = build
        self._source = source
        self._folder = folder
        self._limit_s = limit_s

    def run_all(self, repeats: int, say: Callable[[str], None]) -> None:
        """Raises RunFailed."""
        size = self._source.stat().st_size
        # Short words are twice as long with their numbers, and tasks do not get equally many of them.
        roomy = 5 * size // cores() + 64 * MIB
        small = min(max(LEAST_MEMORY, size // (16 * cores())), MOST_MEMORY)
        for repeat in range(repeats):
            say(f"{self.what.title}, spilled: repeat {repeat + 1} of {repeats}")
            memory = {"in memory": roomy, "spilled": small}
            order = sorted(memory, reverse=repeat % 2 == 1)
            reports = {name: self._run(memory[name]) for name in order}
            whole, spilled = reports["in memory"], reports["spilled"]
            if whole["spilled_bytes"] != 0:
                raise RunFailed("what was to stay in memory was spilled: there is too little of it")
            if spilled["spilled_bytes"] == 0:
                raise RunFailed("nothing was spilled: the input is too small")
            self.samples.append(
                Sample(
                    whole["wall_s"],
                    spilled["wall_s"],
                    whole["processor_s"],
                    spilled["processor_s"],
                    int(spilled["spilled_bytes"]),
                    int(spilled["emitted_bytes"]),
                    disk_speeds(self._folder, min(DISK_MIB, 1 + size // MIB)),
                )
            )

    def page(self) -> str:
        def column(value: Callable[[Sample], float], decimals: int = 2) -> str:
            return Spread([value(sample) for sample in self.samples]).text(decimals)

        beyond = Spread([sample.beyond for sample in self.samples])
        rows = [
            [f"{self.what.title}, {self._source.stat().st_size / MIB:.0f} MiB", "median (least-most)"],
            ["s in memory", column(lambda sample: sample.in_memory_s)],
            ["s spilled", column(lambda sample: sample.spilled_s)],
            ["processor s in memory", column(lambda sample: sample.in_memory_processor_s)],
            ["processor s spilled", column(lambda sample: sample.spilled_processor_s)],
            ["MiB spilled", column(lambda sample: sample.spilled_bytes / MIB, 0)],
            ["MiB of intermediate data", column(lambda sample: sample.intermediate_bytes / MIB, 0)],
            ["s of the disk for writing, reading and freeing them", column(lambda sample: sample.disk_s)],
            ["of these, for freeing", column(lambda sample: sample.spilled_bytes / sample.disk["free"])],
            ["spilled / (in memory + disk)", beyond.text()],
        ]
        return f"{table(rows)}\n  spilled / (in memory + disk) <= {BOUND:.2f}: {verdict(beyond.median <= BOUND)}"

    def as_json(self) -> Dict[str, object]:
        return {
            "name": self.what.name,
            "input_bytes": self._source.stat().st_size,
            "samples": [dict(sample._asdict(), disk_s=sample.disk_s) for sample in self.samples],
            "beyond": Spread([sample.beyond for sample in self.samples]).as_json(),
        }

    def _run(self, memory: int) -> Dict[str, float]:
        from spillway_front_end.machine import available_memory

        report = run_with_mpidrun(
            self._build,
            self.what.command,
            self._source,
            self._folder,
            max(min(4 * memory * cores(), available_memory().value * 3 // 4), LEAST_BUDGET),
            self._limit_s,
            environment={"MPI_D_MEMORY": str(memory)},
        )
        bytes_of = {name: report.key_value[name] for name in ("spilled_bytes", "emitted_bytes")}
        return {"wall_s": report.wall_s, "processor_s": report.processor_s, **bytes_of}
