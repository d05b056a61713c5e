"""Runs contenders, interleaved, and keeps what was measured."""

import re
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

from contenders import Contender, Setting, Target
from measuring.control_group import why_unlimited
from measuring.file_cache import forget_file_cache
from measuring.limited_run import KilledForMemory, Swap, run_limited
from measuring.program_run import Outcome, RunFailed, run
from measuring.residency import ResidencySampler
from measuring.spread import Spread
from measuring.swap_file import NoSwap
from measuring.warm_memory import warm_memory

_ITERATION = re.compile(r"iteration \d+: ([\d.]+) s")
_CHANGE = re.compile(r"change in the last iteration: (\S+)")
_DATA = re.compile(r"data of all ranks: ([\d.]+) MiB")


class Sample(NamedTuple):
    when: str  # the turn
    wall_s: float
    iteration_s: float  # the mean over all iterations
    processor_s: float
    change: str  # that the last iteration made to the ranks: who computes the same prints the same


class Residency(NamedTuple):
    peak_bytes: int
    sample_count: int
    longest_gap_s: float


def data_bytes(lines: List[str]) -> int:
    """What `pagerank` says its data are."""
    found = [_DATA.match(line) for line in lines]
    return int(next(float(match.group(1)) for match in found if match) * (1 << 20))


def _sample(outcome: Outcome, when: str) -> Sample:
    text = "\n".join(outcome.lines)
    times = [float(seconds) for seconds in _ITERATION.findall(text)]
    change = _CHANGE.search(text)
    if not times or not change:
        raise RunFailed(f"no times in its output:\n{text}")
    return Sample(when, outcome.wall_s, sum(times) / len(times), outcome.processor_s, change.group(1))


class Measurement:
    def __init__(self, setting: Setting, folder: Path, limit_s: float, say: Callable[[str], None]) -> None:
        self.samples: Dict[str, List[Sample]] = {}
        self.left_out: Dict[str, str] = {}  # contenders that did not run, or not to the end, and why
        self.killed: Dict[str, List[str]] = {}  # runs on swap that the kernel ended, and its words
        self.unlimited_because = ""  # why out-of-core contenders ran without a control group; empty: they had one
        self._setting = setting
        self._folder = folder
        self._limit_s = limit_s
        self._say = say

    def run_all(self, contenders: List[Contender], repeats: int, in_core_turns: int) -> None:
        """Who is compared runs one after the other, and who is first alternates.

        The in-core contenders take `in_core_turns` turns in each repeat.
        """
        self._find_limits()
        in_core = [contender for contender in contenders if contender.in_core]
        out_of_core = [contender for contender in contenders if not contender.in_core]
        for repeat in range(repeats):
            when = f"repeat {repeat + 1} of {repeats}"
            self._take_turns(out_of_core, repeat, when)
            for turn in range(in_core_turns):
                self._take_turns(in_core, repeat * in_core_turns + turn, f"{when}, turn {turn + 1}")
        for name, reasons in self.killed.items():
            if name not in self.samples:
                self.left_out[name] = reasons[0]

    def _take_turns(self, contenders: List[Contender], number: int, when: str) -> None:
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            if contender.name not in self.left_out:
                self._run_once(contender, when)

    def residency(self, contender: Contender, program: str, ranks: int) -> Residency:
        """One more run, apart from the timed ones: sampling takes some of the processors' time."""
        sampler: Optional[ResidencySampler] = None

        def start_sampling(process) -> None:
            nonlocal sampler
            sampler = ResidencySampler(process.pid, program, ranks)
            sampler.__enter__()

        self._say(f"{contender.title}: resident memory")
        try:
            forget_file_cache(self._setting.graph)
            run(contender.command, self._limit_s, on_start=start_sampling)
        finally:
            if sampler:
                sampler.__exit__()
        assert sampler is not None
        return Residency(sampler.peak_bytes, sampler.sample_count, sampler.longest_gap_s)

    def spread(self, name: str, figure: str) -> Spread:
        return Spread([getattr(sample, figure) for sample in self.samples[name]])

    def ratio(self, target: Target) -> Optional[Spread]:
        """Of runs of the same turn, which had the machine in the same state; None when one side is missing."""
        above = {sample.when: getattr(sample, target.figure) for sample in self.samples.get(target.above, [])}
        below = {sample.when: getattr(sample, target.figure) for sample in self.samples.get(target.below, [])}
        pairs = [above[when] / below[when] for when in above if when in below]
        return Spread(pairs) if pairs else None

    def disagreement(self) -> str:
        """Whether any two runs computed something different; empty when not."""
        changes = {sample.change: name for name, samples in self.samples.items() for sample in samples}
        return "" if len(changes) <= 1 else f"contenders do not agree on the last iteration's change: {changes}"

    def _find_limits(self) -> None:
        self.unlimited_because = why_unlimited()
        if self.unlimited_because:
            self.left_out["swap"] = self.unlimited_because

    def _run_once(self, contender: Contender, when: str) -> None:
        self._say(f"{contender.title}: {when}")
        try:
            forget_file_cache(self._setting.graph)
            warm_memory(self._setting.roomy_bytes)
            sample = _sample(self._run(contender), when)
            self.samples.setdefault(contender.name, []).append(sample)
        except KilledForMemory as reason:
            if contender.may_swap:  # what swapping is like; in the next repeat it may end
                self.killed.setdefault(contender.name, []).append(str(reason))
            else:
                self.left_out[contender.name] = str(reason)
        except (NoSwap, RunFailed) as reason:
            self.left_out[contender.name] = str(reason)

    def _run(self, contender: Contender) -> Outcome:
        if contender.limit_bytes is None or self.unlimited_because:
            return run(contender.command, self._limit_s)
        swap = Swap(self._folder / "swap", 2 * self._setting.data_bytes + (1 << 30)) if contender.may_swap else None
        return run_limited(contender.command, self._limit_s, contender.limit_bytes, swap)
