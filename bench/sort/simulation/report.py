"""The tables of the page, and what is held against the paper."""

from typing import Callable, Dict, List, Optional

import paper
from measuring.table import table
from measuring.verdict import verdict
from paper import HYBRID, TB, TWO_SIDED
from plan import DESIGNS, SPILLWAY, Case, Found, Plan

OVERLAP_LEAST = 0.9  # of one-sided delivery, the paper's "nearly 95%"


class Report:
    def __init__(self, plan: Plan, found: Dict[Case, Found]) -> None:
        self.plan = plan
        self.found = found

    def total_s(self, case: Case) -> Optional[float]:
        found = self.found[case]
        return found["read_s"] + found["finish_s"] if "read_s" in found else None

    def overlap(self, case: Case) -> Optional[float]:
        """What dealing out and writing take by themselves, of the read stage."""
        found = self.found[case]
        return found["own_s"] / found["read_s"] if "read_s" in found else None

    def gain(self, case: Callable[[str, int], Case], processes: int) -> Optional[float]:
        """Of the hybrid design over the two-sided one, of all seconds."""
        hybrid, two_sided = (self.total_s(case(design, processes)) for design in (HYBRID, TWO_SIDED))
        return 1 - hybrid / two_sided if hybrid and two_sided else None

    def targets(self) -> List[str]:
        plan, most = self.plan, self.plan.processes[-1]
        gain = self.gain(plan.strong, most)
        overlaps = [self.overlap(plan.strong(design, n)) for design in (HYBRID, SPILLWAY) for n in plan.processes]
        least = min(overlap for overlap in overlaps if overlap is not None)
        lines = [f"overlap of one-sided delivery >= {OVERLAP_LEAST}: {least:.3f}: {verdict(least >= OVERLAP_LEAST)}"]
        if most == paper.PROCESSES[-1] and gain is not None:
            held = verdict(gain >= paper.GAIN)
            lines.append(f"gain at {most} processes >= {paper.GAIN:.2f}, the paper's: {gain:.3f}: {held}")
        return lines

    def page(self) -> str:
        plan = self.plan
        middle = plan.middle
        sections = [
            ("Figure 8 and 9(b), strong scaling: 1 TB: s in all (paper's)", self._totals(plan.strong)),
            ("Figure 9(a), weak scaling: 1 TB for 512 processes: s in all (paper's)", self._totals(plan.weak)),
            ("Figure 9, TB a minute: strong, weak", self._rates()),
            ("Figure 6: 1 TB for 1,024 processes: s of the read stage and of the final one (paper's)", self._split()),
            ("Figure 7: overlap in the read stage, 1 TB (paper's)", self._overlaps()),
            ("Table 1: what sorters do in the read stage, 1 TB, %: computing, waiting, at the end", self._table_1()),
            (f"What the model's settings do: 1 TB, {middle} processes: s of the two stages", self._settings()),
        ]
        text = "\n\n".join(f"{title}\n{body}" for title, body in sections)
        return f"{text}\n\nTargets\n" + "\n".join(f"  {line}" for line in self.targets())

    def _totals(self, case: Callable[[str, int], Case]) -> str:
        rows = [["processes", *DESIGNS, "gain of hybrid"]]
        refused = ""
        for processes in self.plan.processes:
            rows.append([str(processes)])
            for design in DESIGNS:
                of_case = case(design, processes)
                rows[-1].append(_beside(self.total_s(of_case), paper.total_s(design, processes, of_case.size)))
                if "refused" in self.found[of_case]:
                    refused = f"\n  -: src/sort refuses it: {self.found[of_case]['refused']}"
            gain = self.gain(case, processes)
            rows[-1].append(f"{gain:.1%}" if gain is not None else "-")
        return table(rows) + refused

    def _rates(self) -> str:
        plan = self.plan
        rows = [["processes", *(f"{design}, {kind}" for kind in ("strong", "weak") for design in DESIGNS)]]
        for processes in plan.processes:
            rows.append([str(processes)])
            for of_kind in (plan.strong, plan.weak):
                for design in DESIGNS:
                    rate = self.rate(of_kind(design, processes))
                    rows[-1].append(f"{rate:.3f}" if rate else "-")
        return table(rows)

    def rate(self, case: Case) -> Optional[float]:
        """TB a minute."""
        total_s = self.total_s(case)
        return case.size / TB / total_s * 60 if total_s else None

    def _split(self) -> str:
        rows = [["processes", *(f"{design}, {stage}" for design in DESIGNS for stage in ("read", "final"))]]
        for processes in self.plan.split_processes:
            rows.append([str(processes)])
            for design in DESIGNS:
                found = self.found[self.plan.split(design, processes)]
                of_paper = paper.STAGES.get(design) if processes == paper.SPLIT_PROCESSES[-1] else None
                rows[-1].append(_beside(found["read_s"], of_paper.read_s if of_paper else None))
                rows[-1].append(_beside(found["finish_s"], of_paper.finish_s if of_paper else None))
        return table(rows)

    def _overlaps(self) -> str:
        rows = [["processes", *DESIGNS]]
        for processes in self.plan.processes:
            rows.append([str(processes)])
            for design in DESIGNS:
                of_paper = paper.OVERLAP.get(design, {}).get(processes)
                overlap = self.overlap(self.plan.strong(design, processes))
                rows[-1].append(_beside(overlap, of_paper, 2))
        return table(rows)

    def _table_1(self) -> str:
        rows = [["processes", *DESIGNS]]
        for processes in self.plan.processes:
            rows.append([str(processes)])
            for design in DESIGNS:
                found = self.found[self.plan.strong(design, processes)]
                parts = [found[name] / found["read_s"] for name in ("computing_s", "waiting_s", "ending_s")]
                rows[-1].append(" ".join(f"{part:.0%}" for part in parts))
        return f"{table(rows)}\n  Paper, two-sided, number of processes not said: 56% 29% 15%."

    def _settings(self) -> str:
        rows = [["", *DESIGNS]]
        for title, changes in self.plan.settings:
            rows.append([title])
            rows[-1] += [self._stages(self.plan.with_settings(design, changes)) for design in DESIGNS]
        return table(rows)

    def _stages(self, case: Case) -> str:
        found = self.found[case]
        return f"{found['read_s']:.1f} {found['finish_s']:.1f}"


def _beside(simulated: Optional[float], of_paper: Optional[float], digits: int = 1) -> str:
    text = f"{simulated:.{digits}f}" if simulated is not None else "-"
    return f"{text} ({of_paper:.{digits}f})" if of_paper is not None else text
