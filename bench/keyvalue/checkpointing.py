"""What checkpoints cost, and what a job loses that goes on from one after a process was killed."""

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple

from jobs import Output
from measurement import content, is_same
from measuring.build import Build
from measuring.disk_speed import disk_speeds
from measuring.process_tree import running
from measuring.program_run import RunFailed
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict
from mpidrun_run import Command, run_with_mpidrun

MIB = 1 << 20
DISK_MIB = 512
COST_BOUND = 1.12  # DataMPI's
KILLED_AT = 0.6  # of the time that the job takes with checkpoints
RECOVERY_S = 3.0
KILL_ATTEMPTS = 5  # a job may end, or be done but for MPI_Finalize and not started again, sooner than the one before


class Sample(NamedTuple):
    without_s: float
    with_s: float
    kill_s: float  # after the start
    killed_s: float  # from the start to the end, with the restart
    free_s: float  # what the file system takes to free as many bytes as the input has

    @property
    def cost(self) -> float:
        return self.with_s / self.without_s

    @property
    def recovery_s(self) -> float:
        """From the kill to the end, beyond what was left to do."""
        return self.killed_s - self.kill_s - (1 - KILLED_AT) * self.with_s


class CheckpointingMeasurement:
    def __init__(
        self,
        title: str,
        command: Command,
        output: Output,
        build: Build,
        source: Path,
        folder: Path,
        memory: int,
        limit_s: float,
    ) -> None:
        self.title = title
        self.samples: List[Sample] = []
        self._command = command
        self._output = output
        self._content: object = None  # of the first output, which all others must have
        self._build = build
        self._source = source
        self._folder = folder
        self._memory = memory
        self._limit_s = limit_s

    def run_all(self, repeats: int, say: Callable[[str], None]) -> None:
        """Raises RunFailed."""
        for repeat in range(repeats):
            say(f"{self.title}, checkpoints: repeat {repeat + 1} of {repeats}")
            ways = [self._without, self._with]
            times = {way.__name__: way() for way in (ways if repeat % 2 == 0 else reversed(ways))}
            kill_s = KILLED_AT * times["_with"]
            size = self._source.stat().st_size
            free_s = size / disk_speeds(self._folder, min(DISK_MIB, 1 + size // MIB))["free"]
            self.samples.append(Sample(times["_without"], times["_with"], kill_s, self._killed(kill_s), free_s))

    def page(self) -> str:
        def column(value: Callable[[Sample], float]) -> str:
            return Spread([value(sample) for sample in self.samples]).text()

        cost = Spread([sample.cost for sample in self.samples])
        recovery = Spread([sample.recovery_s for sample in self.samples])
        rows = [
            [f"{self.title}, {self._source.stat().st_size / MIB:.0f} MiB", "median (least-most)"],
            ["s without checkpoints", column(lambda sample: sample.without_s)],
            ["s with checkpoints", column(lambda sample: sample.with_s)],
            ["s with checkpoints, a process killed, a restart", column(lambda sample: sample.killed_s)],
            ["s the file system takes to free as many bytes", column(lambda sample: sample.free_s)],
            ["with / without", cost.text()],
            [f"s from the kill to the end, beyond {1 - KILLED_AT:.0%} of all", recovery.text()],
        ]
        return "\n".join(
            [
                table(rows),
                f"  with / without <= {COST_BOUND:.2f}: {verdict(cost.median <= COST_BOUND)}",
                f"  recovery <= {RECOVERY_S:g} s beyond what was left: {verdict(recovery.median <= RECOVERY_S)}",
            ]
        )

    def as_json(self) -> Dict[str, object]:
        return {
            "name": self.title,
            "input_bytes": self._source.stat().st_size,
            "samples": [sample._asdict() for sample in self.samples],
            "cost": Spread([sample.cost for sample in self.samples]).as_json(),
            "recovery_s": Spread([sample.recovery_s for sample in self.samples]).as_json(),
        }

    def _without(self) -> float:
        return self._run([], lambda _: None)

    def _with(self) -> float:
        return self._run(["--checkpoint", self._checkpoint], lambda _: None)

    def _killed(self, after_s: float) -> float:
        killed: List[int] = []

        def kill(process: subprocess.Popen) -> None:
            processes = running(process.pid, os.path.realpath(self._command.program))
            if processes:
                os.kill(processes[-1], signal.SIGKILL)
                killed.append(processes[-1])

        def on_start(process: subprocess.Popen) -> None:
            timer = threading.Timer(after_s, kill, [process])
            timer.daemon = True
            timer.start()

        failure = RunFailed("no process was killed: the job had always ended")
        for _ in range(KILL_ATTEMPTS):
            killed.clear()
            try:
                wall_s = self._run(["--checkpoint", self._checkpoint, "--restarts", 1], on_start)
            except RunFailed as reason:
                failure = reason
                continue
            if killed:
                return wall_s
        raise failure

    @property
    def _checkpoint(self) -> Path:
        return self._folder / "checkpoint"

    def _run(self, options: List[object], on_start: Callable[[subprocess.Popen], None]) -> float:
        try:
            report = run_with_mpidrun(
                self._build,
                self._command,
                self._source,
                self._folder,
                self._memory,
                self._limit_s,
                options=options,
                on_start=on_start,
                look=lambda output: content(output, self._output),
            )
            if self._content is None:
                self._content = report.output
            if not is_same(self._content, report.output):
                raise RunFailed(f"{self.title}: outputs differ with checkpoints, or after a restart")
            return report.wall_s
        finally:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
