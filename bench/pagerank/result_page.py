"""The benchmark's figures as a page to read, and as JSON."""

from typing import Dict, List, Optional

from contenders import TARGETS, Contender, Setting, Target
from measurement import Measurement, Residency
from measuring.table import table
from measuring.verdict import verdict

MIB = 1 << 20
FIGURES = ("iteration_s", "wall_s", "processor_s")


def _met(target: Target, value: float) -> bool:
    return value >= target.bound if target.is_least else value <= target.bound


def _setting_lines(setting: Setting, measurement: Measurement) -> List[str]:
    limit = (
        f"out of core, each in a control group of {setting.limit_bytes / MIB:.0f} MiB (budget, stated slack of "
        f"32 MiB + 4 MiB per rank, and 32 MiB + 1 MiB per rank for launchers, page tables and file cache)"
    )
    if measurement.unlimited_because:
        limit = f"NO LIMIT on contenders: {measurement.unlimited_because}"
    return [
        f"data {setting.data_bytes / MIB:.0f} MiB = {setting.data_bytes / setting.budget_bytes:.2f} x budget "
        f"{setting.budget_bytes / MIB:.0f} MiB",
        limit,
        f"{setting.iterations} iterations; graph file read from disk by every run; median (least-most)",
    ]


def _ratio_rows(measurement: Measurement) -> List[List[str]]:
    rows = [["ratio", "measured", "target", ""]]
    for target in TARGETS:
        ratio = measurement.ratio(target)
        sign = ">=" if target.is_least else "<="
        unit = "per iteration" if target.figure == "iteration_s" else "wall time"
        outcome = "not measured" if ratio is None else verdict(_met(target, ratio.median))
        measured = "-" if ratio is None else ratio.text()
        rows.append([f"{target.title} ({unit})", measured, f"{sign} {target.bound}", outcome])
    return rows


def render(
    setting: Setting, contenders: List[Contender], measurement: Measurement, residency: Optional[Residency]
) -> str:
    rows = [["", "s per iteration", "wall s", "processor s"]]
    for contender in contenders:
        if contender.name in measurement.samples:
            figures = [measurement.spread(contender.name, figure).text() for figure in FIGURES]
        else:
            figures = ["-"] * len(FIGURES)
        rows.append([contender.title, *figures])
    parts = ["\n".join(_setting_lines(setting, measurement)), table(rows), table(_ratio_rows(measurement))]
    if residency:
        outcome = verdict(residency.peak_bytes <= setting.allowed_bytes)
        parts.append(
            f"resident (Pss of all ranks): at most {residency.peak_bytes / MIB:.0f} MiB in {residency.sample_count} "
            f"samples, target <= {setting.allowed_bytes / MIB:.0f} MiB: {outcome} (longest gap "
            f"{residency.longest_gap_s:.2f} s)"
        )
    titles = {contender.name: contender.title for contender in contenders}
    for name, reasons in measurement.killed.items():
        parts.append(
            f"{titles[name]}: {len(reasons)} of its runs were killed for want of memory; figures of the others"
        )
    for name, reason in measurement.left_out.items():
        if name in titles:
            parts.append(f"LEFT OUT: {titles[name]}: {reason}")
    return "\n\n".join(parts)


def as_json(
    setting: Setting, contenders: List[Contender], measurement: Measurement, residency: Optional[Residency]
) -> Dict[str, object]:
    rows = [
        {
            "name": contender.name,
            "title": contender.title,
            "limit_bytes": None if measurement.unlimited_because else contender.limit_bytes,
            **{
                figure: measurement.spread(contender.name, figure).as_json()
                for figure in FIGURES
                if contender.name in measurement.samples
            },
        }
        for contender in contenders
    ]
    ratios = []
    for target in TARGETS:
        ratio = measurement.ratio(target)
        if ratio:
            ratios.append({**target._asdict(), **ratio.as_json(), "is_met": _met(target, ratio.median)})
    return {
        "setting": {
            **setting._asdict(),
            "graph": setting.graph.name,
            "budget_bytes": setting.budget_bytes,
            "allowed_bytes": setting.allowed_bytes,
            "limit_bytes": setting.limit_bytes,
        },
        "contenders": rows,
        "ratios": ratios,
        "residency": residency._asdict() if residency else None,
        "left_out": measurement.left_out,
        "killed_runs": {name: len(reasons) for name, reasons in measurement.killed.items()},
        "unlimited_because": measurement.unlimited_because,
    }
