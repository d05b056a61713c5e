"""The figures as one picture. Needs Matplotlib."""

from pathlib import Path
from typing import Any, Callable

import paper
from paper import STAGES, TB
from plan import DESIGNS, Case
from report import Report

_COLORS = {design: f"C{number}" for number, design in enumerate(("hybrid", "spillway", "two-sided"))}


def draw(path: Path, report: Report) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8.5))
    plan = report.plan
    _totals(axes[0][0], report, plan.strong, "Strong scaling: 1 TB (Figure 8)")
    _totals(axes[0][1], report, plan.weak, "Weak scaling: 1 TB for 512 processes (Figure 9)")
    _split(axes[1][0], report)
    _overlap(axes[1][1], report)
    for axis in axes.flat:
        axis.grid(True, which="major", alpha=0.3)
        axis.legend(fontsize=8)
    figure.suptitle("Sorting by way of local disks, simulated (SimGrid); circles are the paper's", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _totals(axis: Any, report: Report, case: Callable[[str, int], Case], title: str) -> None:
    processes = report.plan.processes
    for design in DESIGNS:
        cases = [case(design, count) for count in processes]
        of_cases = [(of_case, report.total_s(of_case)) for of_case in cases]
        shown = [(of_case.processes, total_s) for of_case, total_s in of_cases if total_s is not None]
        axis.plot(*zip(*shown), ".-", color=_COLORS[design], label=design)
        of_paper = [(c.processes, paper.total_s(design, c.processes, c.size)) for c in cases]
        points = [point for point in of_paper if point[1] is not None]
        if points:
            axis.plot(*zip(*points), "o", color=_COLORS[design], fillstyle="none", markersize=9)
    axis.set_yscale("log")
    axis.set_ylabel("simulated s in all")
    _name(axis, report, title)
    axis.yaxis.get_major_locator().set_params(subs=(1, 2, 5))


def _split(axis: Any, report: Report) -> None:
    """Bars in groups, with the read stage below."""
    processes = report.plan.split_processes
    width = 0.8 / len(DESIGNS)
    for number, design in enumerate(DESIGNS):
        found = [report.found[report.plan.split(design, count)] for count in processes]
        places = [place + (number - 1) * width for place in range(len(processes))]
        read_s, finish_s = ([of_case[name] for of_case in found] for name in ("read_s", "finish_s"))
        axis.bar(places, read_s, width * 0.9, color=_COLORS[design], label=f"{design}, read stage")
        axis.bar(places, finish_s, width * 0.9, bottom=read_s, color=_COLORS[design], alpha=0.4, label="final stage")
        if design in STAGES and processes[-1] == paper.SPLIT_PROCESSES[-1]:
            of_paper = STAGES[design]
            ends = [of_paper.read_s, of_paper.read_s + of_paper.finish_s]
            axis.plot([places[-1]] * 2, ends, "o", color="black", fillstyle="none")
    terabytes = [report.plan.split(DESIGNS[0], count).size / TB for count in processes]
    axis.set_xticks(range(len(processes)), [f"{n} ({size:g} TB)" for n, size in zip(processes, terabytes)])
    axis.set_title("By stage (Figure 6)", fontsize=10)
    axis.set_xlabel("processes")
    axis.set_ylabel("simulated s")


def _overlap(axis: Any, report: Report) -> None:
    processes = report.plan.processes
    for design in DESIGNS:
        overlaps = [report.overlap(report.plan.strong(design, count)) for count in processes]
        axis.plot(processes, overlaps, ".-", color=_COLORS[design], label=design)
        points = [(n, value) for n, value in paper.OVERLAP.get(design, {}).items() if n in processes]
        if points:
            axis.plot(*zip(*points), "o", color=_COLORS[design], fillstyle="none", markersize=9)
    axis.set_ylim(0, 1.05)
    axis.set_ylabel("dealing out and writing\nby themselves / read stage")
    _name(axis, report, "Overlap, 1 TB (Figure 7)")


def _name(axis: Any, report: Report, title: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xscale("log", base=2)
    axis.set_xticks(report.plan.processes)
    axis.minorticks_off()
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("processes")
