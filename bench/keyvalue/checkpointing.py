"""What checkpoints cost, and what a job loses that goes on from one after a process was killed."""

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Tuple

from jobs import Output
from measurement import content, is_same
from measuring.build import Build
from measuring.disk_speed import disk_speeds
from measuring.process_tree import running
from measuring.program_run import RunFailed
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict
from mpidrun_run import Command, Report, run_with_mpidrun

MIB = 1 << 20
DISK_MIB = 512
COST_BOUND = 1.12  # DataMPI's
KILLED_AT = 0.6  # of the time that the job takes with checkpoints
RECOVERY_S = 3.0
JUDGED_FROM_S = 2 * RECOVERY_S  # a job that threw its checkpoint away would need so much more as it had run to the kill
KILL_ATTEMPTS = 5  # a job may end, or be done but for MPI_Finalize and not started again, sooner than the one before
EARLIER = 0.85  # times the time of an attempt that came too late: of a job of a moment, the last 40% may be its end


class Sample(NamedTuple):
    without_s: float
    with_s: float
    kill_s: float  # after the start
    killed_s: float  # from the start to the end, with the restart
    restored: Dict[
        str, Tuple[int, int]
    ]  # tasks, or rounds, that the restart had from the checkpoint, and how many of all
    free_s: float  # what the file system takes to free as many bytes as the input has

    @property
    def cost(self) -> float:
        return self.with_s / self.without_s

    @property
    def recovery_s(self) -> float:
        """From the kill to the end, beyond what was left to do: with_s - kill_s."""
        return self.killed_s - self.with_s


def restored(restart: Dict[str, float], whole: Dict[str, float]) -> Dict[str, Tuple[int, int]]:
    """From what mpidrun reports of a restart, and of a job that had none."""
    if "rounds" in whole:
        rounds = int(whole["rounds"])
        return {"rounds": (rounds - int(restart["rounds"]), rounds)}
    return {
        f"{side} tasks": (int(restart[f"{side.lower()}_tasks_restored"]), int(whole[f"{side.lower()}_tasks"]))
        for side in "OA"
    }


def recovery_verdict(samples: List[Sample]) -> str:
    if min(sample.kill_s for sample in samples) < JUDGED_FROM_S:
        return f"not judged: the job is too short for that, killed before {JUDGED_FROM_S:g} s"
    return verdict(Spread([sample.recovery_s for sample in samples]).median <= RECOVERY_S)


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
            reports = {way: way() for way in (ways if repeat % 2 == 0 else reversed(ways))}
            without, whole = reports[self._without], reports[self._with]
            size = self._source.stat().st_size
            free_s = size / disk_speeds(self._folder, min(DISK_MIB, 1 + size // MIB))["free"]
            kill_s, restart = self._killed(KILLED_AT * whole.wall_s)
            saved = restored(restart.key_value, whole.key_value)
            self.samples.append(Sample(without.wall_s, whole.wall_s, kill_s, restart.wall_s, saved, free_s))

    def page(self) -> str:
        def column(value: Callable[[Sample], float]) -> str:
            return Spread([value(sample) for sample in self.samples]).text()

        cost = Spread([sample.cost for sample in self.samples])
        recovery = Spread([sample.recovery_s for sample in self.samples])
        saved = {
            f"{name} restored, of {count}": Spread([sample.restored[name][0] for sample in self.samples]).text(0)
            for name, (_, count) in self.samples[0].restored.items()
        }
        rows = [
            [f"{self.title}, {self._source.stat().st_size / MIB:.0f} MiB", "median (least-most)"],
            ["s without checkpoints", column(lambda sample: sample.without_s)],
            ["s with checkpoints", column(lambda sample: sample.with_s)],
            ["the kill, of these", column(lambda sample: sample.kill_s / sample.with_s)],
            ["s with checkpoints, a process killed, a restart", column(lambda sample: sample.killed_s)],
            *([what, figures] for what, figures in saved.items()),
            ["s the file system takes to free as many bytes", column(lambda sample: sample.free_s)],
            ["with / without", cost.text()],
            ["s from the kill to the end, beyond what was left", recovery.text()],
        ]
        return "\n".join(
            [
                table(rows),
                f"  with / without <= {COST_BOUND:.2f}: {verdict(cost.median <= COST_BOUND)}",
                f"  recovery <= {RECOVERY_S:g} s beyond what was left: {recovery_verdict(self.samples)}",
            ]
        )

    def as_json(self) -> Dict[str, object]:
        return {
            "name": self.title,
            "input_bytes": self._source.stat().st_size,
            "samples": [sample._asdict() for sample in self.samples],
            "cost": Spread([sample.cost for sample in self.samples]).as_json(),
            "recovery_s": Spread([sample.recovery_s for sample in self.samples]).as_json(),
            "recovery_verdict": recovery_verdict(self.samples),
        }

    def _without(self) -> Report:
        return self._run([], lambda _: None)

    def _with(self) -> Report:
        return self._run(["--checkpoint", self._checkpoint], lambda _: None)

    def _killed(self, after_s: float) -> Tuple[float, Report]:
        """When the process was killed, and what the restart reports."""
        killed: List[int] = []

        def kill(process: subprocess.Popen) -> None:
            processes = running(process.pid, os.path.realpath(self._command.program))
            if processes:
                os.kill(processes[-1], signal.SIGKILL)
                killed.append(processes[-1])

        failure = RunFailed("no process was killed: the job had always ended")
        for attempt in range(KILL_ATTEMPTS):
            killed.clear()
            kill_s = after_s * EARLIER**attempt

            def on_start(process: subprocess.Popen, kill_s: float = kill_s) -> None:
                timer = threading.Timer(kill_s, kill, [process])
                timer.daemon = True
                timer.start()

            try:
                report = self._run(["--checkpoint", self._checkpoint, "--restarts", 1], on_start)
            except RunFailed as reason:
                failure = reason
                continue
            if killed:
                return kill_s, report
        raise failure

    @property
    def _checkpoint(self) -> Path:
        return self._folder / "checkpoint"

    def _run(self, options: List[object], on_start: Callable[[subprocess.Popen], None]) -> Report:
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
            return report
        finally:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
