"""The figures of one job as a page to read, and as JSON."""

from typing import Dict, List

from contenders import Contender
from jobs import Target
from measurement import FIGURES, Measurement
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict

MIB = 1 << 20


def page(measurement: Measurement, contenders: List[Contender], about_input: str) -> str:
    job = measurement.job
    memory = f"{measurement.memory_bytes / MIB:.0f} MiB"
    limit = f"each with {memory} in all, file cache included" if job.is_limited else f"each told to use up to {memory}"
    if job.is_limited and measurement.unlimited_because:
        limit = f"NO LIMIT on anything, though each told of {memory}: {measurement.unlimited_because}"
    lines = [f"{job.title}: {measurement.source.stat().st_size / MIB:.0f} MiB of {about_input}, {limit}"]
    rows = [
        ["", "s in all", "s without the start", "s of the start", "processor s", "x Spillway", "x without the start"]
    ]
    for contender in contenders:
        if contender.name in measurement.samples:
            cells = [
                measurement.spread(contender.name, figure).text() for figure in (*FIGURES, "start_s", "processor_s")
            ]
            ratios = [measurement.ratio(contender.name, figure) for figure in FIGURES]
            is_peer = contender.name != "spillway"
            rows.append([contender.title, *cells, *(ratio.text() if ratio and is_peer else "-" for ratio in ratios)])
    lines.append(table(rows))
    titles = {contender.name: contender.title for contender in contenders}
    for name, reason in measurement.left_out.items():
        words = reason.splitlines()
        lines.append(f"  left out: {titles[name]}: {' ... '.join([words[0], *words[1:][-1:]])}")
    for target in job.targets:
        lines += [_target_line(measurement, target, figure, titles) for figure in FIGURES if target.peer in titles]
    return "\n".join(lines)


def _target_line(measurement: Measurement, target: Target, figure: str, titles: Dict[str, str]) -> str:
    ratio = measurement.ratio(target.peer, figure)
    outcome = f"{ratio.text()}: {verdict(ratio.median >= target.bound)}" if ratio else "not measured"
    return f"  {titles[target.peer]} / Spillway, {FIGURES[figure]} >= {target.bound:g}: {outcome}"


def as_json(measurement: Measurement) -> Dict[str, object]:
    ratios: Dict[str, Dict[str, object]] = {}
    for name in measurement.samples:
        found = {figure: measurement.ratio(name, figure) for figure in FIGURES}
        ratios[name] = {figure: ratio.as_json() for figure, ratio in found.items() if isinstance(ratio, Spread)}
    return {
        "job": measurement.job.name,
        "input_bytes": measurement.source.stat().st_size,
        "memory_bytes": measurement.memory_bytes,
        "is_limited": measurement.job.is_limited and not measurement.unlimited_because,
        "contenders": {
            name: [{**sample._asdict(), "work_s": sample.work_s} for sample in samples]
            for name, samples in measurement.samples.items()
        },
        "ratios": ratios,
        "left_out": measurement.left_out,
    }
