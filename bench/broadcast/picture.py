"""The figures as one picture. Needs Matplotlib."""

from pathlib import Path
from statistics import median
from typing import Any

import paper
from report import Report
from simulations import LINK_BYTES_PER_S, Case, best_part_bytes

_OTHERS = {"flat": "3", "binomial": "5", "scatter-allgather": "2"}  # than chains, and their colours


def draw(path: Path, report: Report) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8.5))
    for axis, draw_on in zip(axes.flat, (_table_8, _figure_3, _figure_5, _large)):
        draw_on(axis, report)
        axis.grid(True, which="major", alpha=0.3)
        axis.legend(fontsize=8)
    figure.suptitle(
        f"Broadcast of {report.plan.size / paper.GB:g} GB over 1 Gbit/s, 42 nodes per leaf switch, 10 Gbit/s uplinks "
        "(SimGrid)",
        fontsize=11,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _table_8(axis: Any, report: Report) -> None:
    plan = report.plan
    kinds = (("flat", plan.flat, paper.SIMPLE, "C3"), ("chain", plan.chain, paper.CHAIN, "C0"))
    for name, case, of_paper, color in kinds:
        axis.plot(plan.nodes, [report.seconds[case(n)] for n in plan.nodes], color=color, label=f"{name}, simulated")
        points = [(n, paper.seconds(of_paper, plan.size, n)) for n in plan.nodes]
        found = [point for point in points if point[1] is not None]
        if found:
            axis.plot(*zip(*found), "o", color=color, fillstyle="none", label=f"{name}, paper's Table 8")
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    _name(axis, "Flat grows with the nodes, a chain does not")


def _figure_3(axis: Any, report: Report) -> None:
    plan = report.plan
    lines = {
        "chain": ("C0", plan.chain),
        "Open MPI 1.4's way (SMPI)": ("C1", plan.open_mpi_1),
        "scatter-allgather of src/routing": ("C2", plan.scatter_allgather),
        "scatter, then allgather (SMPI)": ("C4", plan.in_two_phases),
    }
    for label, (color, case) in lines.items():
        axis.plot(plan.nodes, [report.seconds[case(n)] for n in plan.nodes], ".-", color=color, label=label)
    points = [(n, paper.seconds(paper.SCATTER_ALLGATHER, plan.size, n)) for n in plan.nodes]
    found = [point for point in points if point[1] is not None]
    if found:
        axis.plot(*zip(*found), "o", color="C4", fillstyle="none", label="scatter-allgather, paper's Table 5")
    axis.set_ylim(bottom=0)
    _name(axis, "Beside an MPI library (Figure 3, Table 5)")


def _figure_5(axis: Any, report: Report) -> None:
    plan = report.plan
    runs = [[report.seconds[case] for case in plan.random_chains(n)] for n in plan.nodes]
    axis.fill_between(plan.nodes, [min(r) for r in runs], [max(r) for r in runs], color="C3", alpha=0.25, linewidth=0)
    axis.plot(plan.nodes, [median(r) for r in runs], ".-", color="C3", label="random order, 3 seeds")
    axis.plot(plan.nodes, [report.seconds[plan.chain(n)] for n in plan.nodes], ".-", color="C0", label="topology order")
    axis.set_ylim(bottom=0)
    _name(axis, "Chain, order of the nodes (Figure 5)")


def _large(axis: Any, report: Report) -> None:
    """The time of one node is 1. Dashed: by the cost model, also where that is all there is."""
    plan = report.plan
    cases = [case for nodes in plan.trees for case in plan.all_algorithms(nodes)]
    own_parts = [Case("chain", nodes, plan.size) for nodes in plan.trees]
    best_parts = [own._replace(part_bytes=best_part_bytes(own.nodes, plan.size)) for own in own_parts]
    lines = {name: ("C" + color, [case for case in cases if case.algorithm == name]) for name, color in _OTHERS.items()}
    lines["chain, parts of 256 KiB"] = ("C0", own_parts)
    lines["chain, the cost model's parts"] = ("C9", best_parts)
    one_s = plan.size / LINK_BYTES_PER_S
    for label, (color, of_line) in lines.items():
        found = [(case.nodes, report.seconds[case] / one_s) for case in of_line if case in report.seconds]
        if found:
            axis.plot(*zip(*found), "o-", markersize=4, color=color, label=label)
        axis.plot(plan.trees, [case.model_s() / one_s for case in of_line], "--", linewidth=1, color=color)
    axis.plot([], [], "--", linewidth=1, color="gray", label="cost model")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(plan.trees)
    axis.minorticks_off()
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    _name(axis, "All algorithms on larger trees")
    axis.set_ylabel("simulated time / that of one node")


def _name(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("nodes that receive")
    axis.set_ylabel("simulated seconds")
