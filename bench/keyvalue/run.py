#!/usr/bin/env python3
"""Key-value jobs: Spillway beside Spark, Hadoop MapReduce, DuckDB, GNU sort and mawk, with their start and without it;
how much slower they become when all intermediate data go through the disk; and what checkpoints cost."""

import argparse
import json
import sys
from pathlib import Path
from typing import Dict, List, Union

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checkpointing import CheckpointingMeasurement
from contenders import DEFAULT_FOLDER, NAMES, Contender, Spillway, contenders
from jobs import INPUTS, JOBS, ROUNDS, Job, Output, Sizes, Sources
from measurement import Measurement
from measuring import machine
from measuring.build import Build, add_build_options
from measuring.control_group import why_unlimited
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.verdict import misses_target
from mpidrun_run import Command
from result_page import as_json, page
from spilling import Spilling, SpillingMeasurement

GIB = 1 << 30
SPILLING = ["spilled-words", "spilled-terasort"]
CHECKPOINTING = ["checkpointed-terasort", "checkpointed-pagerank"]


def _names(parser: argparse.ArgumentParser, option: str, text: str, known: List[str]) -> List[str]:
    chosen = [name for name in text.split(",") if name]
    if not set(chosen) <= set(known):
        parser.error(f"{option} {text}: it takes some of {', '.join(known)}")
    return chosen


def parse() -> argparse.Namespace:
    jobs = [*JOBS, *SPILLING, *CHECKPOINTING]
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--jobs", default=",".join(jobs), help=f"separated by commas (default: {','.join(jobs)})")
    add("--peers", default=",".join(NAMES), help=f"beside Spillway, separated by commas (default: {','.join(NAMES)})")
    add("--peer-folder", type=Path, default=DEFAULT_FOLDER, help="where install.sh put them (default: build/peers)")
    add("--size", default="2G", help="of text; records are twice that, graphs and points an eighth (default: 2G)")
    add("--memory", default="1G", help="of jobs with a limit, and at least that of others (default: 1G)")
    add(
        "--text",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="real text (default: Debian's Contents indices)",
    )
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=1200, metavar="SECONDS", help="time limit of each run (default: 1200)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    options.jobs = _names(parser, "--jobs", options.jobs, jobs)
    options.peers = _names(parser, "--peers", options.peers, NAMES)
    if options.repeats < 1:
        parser.error("--repeats: at least 1")
    return options


def sizes(text: str) -> Sizes:
    from spillway_front_end.sizes import parse_size

    return Sizes(parse_size(text), 2 * parse_size(text), parse_size(text) // 8)


def roomy_bytes(source: Path, least: int, keeps_input: bool) -> int:
    """In which everything fits: three times the input in its longest form, eight times what is kept as objects, but not
    more than half of what is available."""
    from spillway_front_end.machine import available_memory

    size = max(form.stat().st_size for form in source.parent.glob(source.name + "*"))
    return max(least, min((8 if keeps_input else 3) * size + GIB, available_memory().value // 2))


class Inputs:
    """Each is made when it is first asked for."""

    def __init__(self, folder: Path, of: Sizes, sources: Sources) -> None:
        self._folder = folder
        self._sizes = of
        self._sources = sources
        self._about: Dict[str, str] = {}

    def path(self, name: str) -> Path:
        path = self._folder / name
        if name not in self._about:
            say(f"making {name}")
            self._about[name] = INPUTS[name].write(path, INPUTS[name].size_bytes(self._sizes), self._sources)
        return path

    def about(self, name: str) -> str:
        return self._about[name]


def measure_job(
    job: Job, everyone: List[Contender], options: argparse.Namespace, inputs: Inputs, folder: Path, memory: int
) -> Measurement:
    source = inputs.path(job.input)
    memory_bytes = memory if job.is_limited else roomy_bytes(source, memory, job.rounds > 0)
    because = why_unlimited() if job.is_limited else ""
    measurement = Measurement(job, source, folder, memory_bytes, because, options.limit, say)
    measurement.run_all(everyone, options.repeats)
    return measurement


def _output_and_input(output: Path, source: Path) -> List[object]:
    return [output, source]


def spilling(
    name: str, build: Build, spillway: Spillway, flavour: str, inputs: Inputs, folder: Path, limit_s: float
) -> SpillingMeasurement:
    if name == "spilled-words":
        command = Command(build.mpi_program("tests", "words-uncombined", flavour), _output_and_input)
        what = Spilling(name, "WordCount that sends every word", command)
        return SpillingMeasurement(what, build, inputs.path("zipf"), folder, limit_s)
    what = Spilling(name, "TeraSort", Command(spillway.programs["terasort"], _output_and_input))
    return SpillingMeasurement(what, build, inputs.path("records"), folder, limit_s)


def checkpointing(
    name: str, build: Build, spillway: Spillway, inputs: Inputs, folder: Path, memory: int, limit_s: float
) -> CheckpointingMeasurement:
    if name == "checkpointed-terasort":
        title, source, output = "TeraSort", inputs.path("records"), Output.ORDERED_LINES
        command = Command(spillway.programs["terasort"], _output_and_input)
    else:
        title, source, output = "PageRank", inputs.path("graph"), Output.SHARES
        command = Command(spillway.programs["pagerank"], lambda output, source: [output, ROUNDS, source], "iteration")
    memory_bytes = roomy_bytes(source, memory, output is Output.SHARES)
    return CheckpointingMeasurement(title, command, output, build, source, folder, memory_bytes, limit_s)


def measure(build: Build, options: argparse.Namespace, folder: Path) -> int:
    from spillway_front_end.sizes import parse_size

    flavour = options.mpi or build.default_flavour()
    everyone = contenders(build, flavour, options.peer_folder.resolve(), options.peers)
    spillway = everyone[0]
    assert isinstance(spillway, Spillway)
    about_machine = machine.description(folder)
    versions = [contender.version() for contender in everyone if not contender.missing()]
    print(f"Key-value jobs: {'; '.join(versions)}\n{machine.text(about_machine)}", flush=True)
    inputs = Inputs(folder, sizes(options.size), Sources(build, options.text))
    text, problems = "", []
    measured: List[Dict[str, object]] = []
    others: Dict[str, List[Dict[str, object]]] = {"spilled": [], "checkpointed": []}
    for name in options.jobs:
        if name in JOBS:
            measurement = measure_job(JOBS[name], everyone, options, inputs, folder, parse_size(options.memory))
            shown = page(measurement, everyone, inputs.about(JOBS[name].input))
            measured.append(as_json(measurement))
            problems += [f"{name}: {problem}" for problem in measurement.problems()]
        else:
            other: Union[SpillingMeasurement, CheckpointingMeasurement]
            if name in SPILLING:
                other = spilling(name, build, spillway, flavour, inputs, folder, options.limit)
            else:
                memory = parse_size(options.memory)
                other = checkpointing(name, build, spillway, inputs, folder, memory, options.limit)
            other.run_all(options.repeats, say)
            shown = other.page()
            others["spilled" if name in SPILLING else "checkpointed"].append(other.as_json())
        say("")
        text += shown
        print(f"\n{shown}", flush=True)
    if options.json:
        content = {"machine": about_machine, "versions": versions[0], "peers": versions[1:]}
        content.update({"jobs": measured, **others})
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems or misses_target(text) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    # Inputs, an output, and what is spilled of the largest input.
    room = 10 * sizes(options.size).text_bytes + GIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
