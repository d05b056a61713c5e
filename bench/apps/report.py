"""The figures of all applications as a page to read, as JSON, and as a picture."""

from pathlib import Path
from typing import Dict, List, Optional

from applications import Kind, Target
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict
from ways import Measurement, Sample

MIB = 1 << 20
GIB = 1 << 30


def _cell(spread: Optional[Spread], decimals: int = 2) -> str:
    return spread.text(decimals) if spread else "-"


def _traffic_cell(measurement: Measurement, name: str) -> str:
    traffic = [sample.traffic for sample in measurement.samples.get(name, []) if sample.traffic is not None]
    if not traffic:
        return "-"
    read = Spread([each.read_bytes / GIB for each in traffic]).median
    written = Spread([each.written_bytes / GIB for each in traffic]).median
    return f"{read:.2f} + {written:.2f}"


def page(measurement: Measurement) -> str:
    """Of one application at one factor."""
    setting, fastest = measurement.setting, measurement.fastest
    limit = f"limit of a whole job {setting.limit_bytes / MIB:.0f} MiB"
    if setting.unlimited_because:
        limit = f"NO LIMIT on anything: {setting.unlimited_because}"
    if setting.rate is not None:
        limit += f", disk {setting.rate.bytes_per_s / 1e6:.0f} MB/s each way"
    disk = [Spread([speeds[name] / 1e9 for speeds in measurement.disk]).text(1) for name in ("read", "write")]
    limit += f"; the disk reads {disk[0]} GB/s and writes {disk[1]}"
    lines = [f"data {setting.factor:g} x budget: budget {setting.budget_bytes / MIB:.0f} MiB, {limit}"]
    rows = [["", "s per iteration", "x by hand", "x in memory", "swap is slower", "GiB of the run, read + written"]]
    for way in measurement.everyone:
        references = [(way.name, fastest(Kind.SERIAL)), (way.name, fastest(Kind.IN_MEMORY))]
        ratios = [measurement.ratio(*pair) for pair in [*references, (fastest(Kind.SWAP), way.name)]]
        cells = [_cell(ratio) for ratio in ratios]
        rows.append([way.title, _cell(measurement.spread(way.name), 3), *cells, _traffic_cell(measurement, way.name)])
    lines.append(table(rows))
    for way in measurement.everyone:
        if way.name in measurement.left_out:
            reason = measurement.left_out[way.name].splitlines()
            lines.append(f"  left out: {way.title}: {' ... '.join([reason[0], *reason[1:][-1:]])}")
        if way.name in measurement.kill_counts:
            runs = f"{measurement.kill_counts[way.name]} more of its runs"
            lines.append(f"  {way.title}: the kernel killed {runs} for want of memory")
    return "\n".join([*lines, *_target_lines(measurement)])


def _target_lines(measurement: Measurement) -> List[str]:
    setting = measurement.setting
    lines = [_target_line(measurement, target) for target in setting.targets]
    bound = setting.overlap_bound
    if bound is not None:
        ratio = measurement.overlap()
        outcome = f"{ratio.text()}: {verdict(ratio.median <= bound)}" if ratio else "not measured"
        longer = "the longer one of computing in memory and transferring at the disk's own rate"
        lines.append(f"  {Kind.SPILLWAY_2.value} / {longer} <= {bound:g}: {outcome}")
    return lines


def _target_line(measurement: Measurement, target: Target) -> str:
    ratio = measurement.target_ratio(target)
    outcome = "not measured"
    if ratio is not None:
        is_met = ratio.median >= target.bound if target.is_least else ratio.median <= target.bound
        outcome = f"{ratio.text()}: {verdict(is_met)}"
    return (
        f"  {target.above.value} / {target.below.value} {'>=' if target.is_least else '<='} {target.bound:g}: {outcome}"
    )


def _figures(samples: List[Sample]) -> Dict[str, object]:
    return {
        "iteration_s": [sample.iteration_s for sample in samples],
        "wall_s": [sample.wall_s for sample in samples],
        "read_bytes": [sample.traffic.read_bytes if sample.traffic else None for sample in samples],
        "written_bytes": [sample.traffic.written_bytes if sample.traffic else None for sample in samples],
        # In all iterations but the first.
        "later_read_bytes": [s.iteration_traffic.read_bytes if s.iteration_traffic else None for s in samples],
        "later_written_bytes": [s.iteration_traffic.written_bytes if s.iteration_traffic else None for s in samples],
    }


def as_json(measurement: Measurement) -> Dict[str, object]:
    setting = measurement.setting
    return {
        "application": setting.application.name,
        "ranks": setting.application.ranks,
        "factor": setting.factor,
        "data_bytes": setting.data_bytes,
        "budget_bytes": setting.budget_bytes,
        "limit_bytes": None if setting.unlimited_because else setting.limit_bytes,
        "iterations": setting.iterations,
        "disk_bytes_per_s": measurement.disk,
        "ways": {name: _figures(samples) for name, samples in measurement.samples.items()},
        "left_out": measurement.left_out,
        "kill_counts": measurement.kill_counts,
        "targets": [line.strip() for line in _target_lines(measurement)],
    }


def draw(path: Path, measurements: List[Measurement]) -> None:
    """Seconds per iteration over data / budget, a panel for each application. Needs Matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: Dict[str, List[Measurement]] = {}
    for measurement in measurements:
        panels.setdefault(measurement.setting.application.title, []).append(measurement)
    figure, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 5), squeeze=False)
    lines = {}
    for axis, (title, points) in zip(axes[0], panels.items()):
        for number, kind in enumerate(Kind):
            spreads = [(point.setting.factor, point.spread(point.fastest(kind) or "")) for point in points]
            found = [(factor, spread.median) for factor, spread in spreads if spread is not None]
            if found:
                [lines[kind.value]] = axis.plot(*zip(*found), marker="o", color=f"C{number}", label=kind.value)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks([point.setting.factor for point in points])
        axis.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.set_xlabel("data / memory budget")
        axis.set_ylabel("seconds per iteration")
        axis.set_title(title, fontsize=9)
        axis.grid(True, which="both", alpha=0.3)
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncol=min(4, len(lines)), fontsize=9)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(path, dpi=120)
