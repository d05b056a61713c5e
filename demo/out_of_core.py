"""Second part of the demonstration: a graph whose data are four times larger than the memory budget."""

import argparse
import json
import re
import sys
from array import array
from operator import sub
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

import screen
from measuring.build import Build
from measuring.program_run import Outcome, run
from measuring.residency import ResidencySampler, allowed_bytes

RANKS = 16
SLOTS = 2
FACTOR = 4
AGREEMENT = 1e-9
LIMIT_S = 200.0  # of each program; the whole demonstration is to take minutes even on a slow disk
MIB = 1 << 20

_DATA = re.compile(r"data of all ranks: ([\d.]+) MiB")
_ITERATION = re.compile(r"iteration (\d+): ([\d.]+) s")


class Paged(NamedTuple):
    """What is known of the run out of core."""

    outcome: Outcome
    summary: Dict[str, int]
    sampler: ResidencySampler


def needed_bytes(scale: int) -> int:
    """Disk for the graph while it is made (12 bytes for an edge), spill files, messages, and two files of ranks."""
    return 40 * (16 << scale) + 512 * MIB


def show_out_of_core(build: Build, options: argparse.Namespace, folder: Path) -> bool:
    """Whether the ranks agree with those computed in memory."""
    screen.heading(f"2  A graph {FACTOR} times larger than memory")
    graph = folder / "kronecker.csr"
    with screen.step("make a Kronecker graph") as step:
        words = [build.program("graph-generate"), "--scale", str(options.scale), str(graph)]
        step.result = _counts(run(words, LIMIT_S).lines[0])
    pagerank = build.program("pagerank")
    work = ["-i", str(options.iterations)]
    in_memory = folder / "ranks-in-memory"
    with screen.step("rank it in memory, plain MPI") as step:
        words = [*build.plain(pagerank, RANKS), *work, "--output", str(in_memory), str(graph)]
        plain = _run_with_bar(words, options.iterations, lambda: "")
        data = _data_bytes(plain.lines)
        step.result = f"{data / MIB:.0f} MiB of data"
    budget = data // FACTOR // MIB * MIB
    out_of_core = folder / "ranks-out-of-core"
    summary = folder / "summary.json"
    what = ["-n", str(RANKS), "--slots", str(SLOTS), "--memory", f"{budget // MIB}M"]
    words = build.spillway(*what, "--spill-dir", folder, "--summary", "json", "--summary-file", summary)
    words += [pagerank, *work, "--output", str(out_of_core), str(graph)]
    with screen.step(f"rank it within {budget // MIB} MiB, Spillway") as step:
        paged = _run_paged(words, pagerank, options.iterations, summary)
        step.result = f"{RANKS} ranks, {SLOTS} slots"
    difference = l1_difference(in_memory, out_of_core)
    print()
    _show_facts(data, budget, paged)
    agrees = difference <= AGREEMENT
    verdict = "the same ranks as in memory" if agrees else "THE RANKS DIFFER from those in memory"
    screen.fact("L1 difference", f"{difference:.1e}", f"allowed {AGREEMENT:.0e}: {verdict}")
    print()
    screen.say(" ".join(["$ spillway run", *what, "pagerank", *work, graph.name]))
    return agrees


def _counts(line: str) -> str:
    """`graph.csr: 4194304 vertices, 65242973 edges, 6.1 s` in millions."""
    vertices, edges = (int(count) for count in re.findall(r"(\d+) (?:vertices|edges)", line))
    return f"{vertices / 1e6:.1f} M vertices, {edges / 1e6:.1f} M edges"


def _data_bytes(lines: List[str]) -> int:
    return int(next(float(match.group(1)) for match in map(_DATA.match, lines) if match) * MIB)


def _run_with_bar(words: List[str], iterations: int, note: Callable[[], str], **options) -> Outcome:
    screen.transient("  reading the graph ...")

    def show(line: str) -> None:
        match = _ITERATION.match(line)
        if match:
            screen.bar(
                int(match.group(1)),
                iterations,
                f"iteration {match.group(1)} of {iterations}, {match.group(2)} s{note()}",
            )

    return run(words, LIMIT_S, on_line=show, **options)


def _run_paged(words: List[str], program: str, iterations: int, summary: Path) -> Paged:
    sampler: Optional[ResidencySampler] = None

    def start(process) -> None:
        nonlocal sampler
        sampler = ResidencySampler(process.pid, program, RANKS)
        sampler.__enter__()

    def resident() -> str:
        return f", {sampler.now_bytes / MIB:.0f} MiB resident" if sampler else ""

    try:
        outcome = _run_with_bar(words, iterations, resident, on_start=start)
    finally:
        if sampler:
            sampler.__exit__()
    assert sampler is not None
    return Paged(outcome, json.loads(summary.read_text()), sampler)


def _show_facts(data: int, budget: int, paged: Paged) -> None:
    summary, sampler, totals = paged.summary, paged.sampler, paged.summary["totals"]
    allowed = allowed_bytes(budget, RANKS)
    peak = summary["peak_bytes"]
    screen.fact("data", _mib(data), "of all ranks: edges, ranks, messages in flight")
    screen.fact("budget", _mib(budget), f"the data are {data / budget:.2f} times as large")
    screen.fact("resident", _mib(peak), f"at peak, as Spillway counts: {peak / budget:.0%} of the budget")
    verdict = "within" if sampler.peak_bytes <= allowed else "ABOVE"
    screen.fact("measured", _mib(sampler.peak_bytes), f"at most: Pss of all ranks, {sampler.sample_count} samples,")
    screen.fact("", "", f"{verdict} {_mib(allowed)}: budget + 32 MiB + 4 MiB per rank")
    moved = (totals["loaded_bytes"], totals["unloaded_bytes"], totals["spilled_bytes"])
    screen.fact(
        "disk",
        _mib(sum(moved)),
        "loaded {:.0f}, unloaded {:.0f}, messages spilled {:.0f}".format(*(each / MIB for each in moved)),
    )


def _mib(count: float) -> str:
    return f"{count / MIB:,.0f} MiB"


def l1_difference(one: Path, other: Path) -> float:
    """Sum of the absolute differences of two files of doubles; infinite when they do not even have the same number."""
    vectors = []
    for path in (one, other):
        vector = array("d", path.read_bytes())
        if sys.byteorder == "big":
            vector.byteswap()  # the programs write little-endian
        vectors.append(vector)
    if len(vectors[0]) != len(vectors[1]) or not vectors[0]:
        return float("inf")
    return sum(map(abs, map(sub, *vectors)))
