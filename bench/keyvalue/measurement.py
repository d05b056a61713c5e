"""Runs contenders of one job, interleaved, and keeps what was measured."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from contenders import Contender, Work
from jobs import INPUTS, Job, Output
from measuring.file_cache import forget_file_cache
from measuring.limited_run import run_limited
from measuring.program_run import Outcome, RunFailed, run
from measuring.spread import Spread
from measuring.warm_memory import warm_memory

MIB = 1 << 20
LARGEST_DIFFERENCE = 1e-9  # of numbers, relative


class Sample(NamedTuple):
    repeat: int
    wall_s: float
    start_s: float  # the same with a little input and at most one round
    processor_s: float  # of all its processes

    @property
    def work_s(self) -> float:
        return max(self.wall_s - self.start_s, 1e-3)


FIGURES = {"wall_s": "in all", "work_s": "without the start"}


def content(output: Path, kind: Output) -> object:
    """What is_same() compares."""
    parts = sorted(output.glob("part*"))
    if not parts:
        raise RunFailed(f"it made no output in {output}")
    if kind in (Output.NUMBERS, Output.SHARES):
        return _rows(parts, kind)
    return _digest(output, list(map(str, parts)), kind is Output.ORDERED_LINES)


def is_same(first: object, second: object) -> bool:
    if isinstance(first, str):
        return first == second
    import numpy

    assert isinstance(first, numpy.ndarray) and isinstance(second, numpy.ndarray)
    return first.shape == second.shape and numpy.allclose(first, second, rtol=LARGEST_DIFFERENCE, atol=0)


def _rows(parts: List[Path], kind: Output) -> object:
    """Sorted."""
    import numpy

    text = "".join(part.read_text() for part in parts).translate(str.maketrans("(),[]", "     "))
    columns = len(text[: text.find("\n")].split())
    rows = numpy.array(text.split(), float).reshape(-1, columns)
    if kind is Output.SHARES:
        rows[:, 1] /= rows[:, 1].sum()
    return rows[numpy.lexsort(rows.T[::-1])]


def _digest(output: Path, parts: List[str], is_ordered: bool) -> str:
    words = ["cat"] if is_ordered else ["sort", "-S", "1G", "-T", str(output)]
    found = hashlib.sha256()
    environment = {**os.environ, "LC_ALL": "C"}
    with subprocess.Popen([*words, *parts], stdout=subprocess.PIPE, env=environment) as lines:
        assert lines.stdout is not None
        while block := lines.stdout.read(MIB):
            found.update(block)
    if lines.returncode != 0:
        raise RunFailed(f"the output in {output} cannot be read")
    return found.hexdigest()


class Measurement:
    def __init__(
        self,
        job: Job,
        source: Path,
        folder: Path,
        memory_bytes: int,
        unlimited_because: str,
        limit_s: float,
        say: Callable[[str], None],
    ) -> None:
        self.job = job
        self.source = source
        self.memory_bytes = memory_bytes
        self.unlimited_because = unlimited_because  # of a limited job, why it has no limit
        self.samples: Dict[str, List[Sample]] = {}
        self.left_out: Dict[str, str] = {}  # contenders that cannot run here, or failed, and why
        self.failed: List[str] = []  # of these, who should have run to the end
        self.contents: Dict[str, object] = {}  # of outputs, each with those who made it first
        self._folder = folder
        self._limit_s = limit_s
        self._say = say
        self._little = folder / "little"
        INPUTS[job.input].write_little(self._little, source)

    def run_all(self, contenders: List[Contender], repeats: int) -> None:
        """Who is first alternates."""
        able = [contender for contender in contenders if self.job.kind in contender.jobs]
        for contender in able:
            if reason := contender.missing():
                self.left_out[contender.name] = reason
        for repeat in range(repeats):
            for contender in able if repeat % 2 == 0 else reversed(able):
                if contender.name not in self.left_out:
                    self._say(f"{self.job.title}, {contender.title}: repeat {repeat + 1} of {repeats}")
                    self._sample(contender, repeat)

    def spread(self, name: str, figure: str) -> Spread:
        return Spread([getattr(sample, figure) for sample in self.samples[name]])

    def ratio(self, name: str, figure: str) -> Optional[Spread]:
        """How many times faster Spillway is, in the same repeats."""
        ours = {sample.repeat: getattr(sample, figure) for sample in self.samples.get("spillway", [])}
        theirs = [(sample.repeat, getattr(sample, figure)) for sample in self.samples.get(name, [])]
        found = [seconds / ours[repeat] for repeat, seconds in theirs if repeat in ours]
        return Spread(found) if found else None

    def problems(self) -> List[str]:
        found = [f"{name} did not end well" for name in self.failed]
        if len(self.contents) > 1:
            found.append(f"outputs differ: one is that of {', another one that of '.join(self.contents)}")
        return found

    def _sample(self, contender: Contender, repeat: int) -> None:
        try:
            start, _ = self._run(contender, self._little, min(self.job.rounds, 1))
            outcome, found = self._run(contender, self.source, self.job.rounds)
        except RunFailed as reason:
            self.left_out[contender.name] = str(reason)
            # What others cannot do with so little memory is a figure, too.
            if contender.name == "spillway" or not self._is_limited:
                self.failed.append(contender.name)
            return
        self.samples.setdefault(contender.name, []).append(
            Sample(repeat, outcome.wall_s, start.wall_s, outcome.processor_s)
        )
        if not any(is_same(known, found) for known in self.contents.values()):
            self.contents[f"{contender.name}, repeat {repeat + 1}"] = found

    def _check(self, work: Work) -> None:
        """The output by itself, beside its being the same as those of others. Raises RunFailed."""

    @property
    def _is_limited(self) -> bool:
        return self.job.is_limited and not self.unlimited_because

    def _run(self, contender: Contender, source: Path, rounds: int) -> Tuple[Outcome, object]:
        work = Work(
            self.job.kind,
            source,
            self._folder / "output",
            self._folder / "scratch",
            self.memory_bytes,
            self._is_limited,
            rounds,
        )
        work.scratch.mkdir()
        try:
            for form in source.parent.glob(source.name + "*"):  # in which contenders read it
                forget_file_cache(form)
            warm_memory(min(self.memory_bytes, 3 * source.stat().st_size))
            os.sync()
            command = contender.command(work)
            if self._is_limited:
                outcome = run_limited(command, self._limit_s, self.memory_bytes)
            else:
                outcome = run(command, self._limit_s)
            self._check(work)
            return outcome, content(work.output, self.job.output)
        finally:
            shutil.rmtree(work.scratch, ignore_errors=True)
            shutil.rmtree(work.output, ignore_errors=True)
