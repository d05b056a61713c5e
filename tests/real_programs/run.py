#!/usr/bin/env python3
"""Runs programs of Debian's packages on plain MPI and under Spillway with less memory than they need, and compares.

Each program runs once on plain MPI, where its ranks' memory is measured, and once under Spillway for each number of
slots. A run counts when it ends as on plain MPI, its results are the same by the program's criterion, memory was
unloaded, and what was resident stayed within the budget. The exit status is 1 when a run does not count, or when a
program that was not left out with --only cannot run.

    run.py                              all programs: some 15 minutes
    run.py --only dgpart lammps --slots 2
    run.py --list                       what is run, and what is compared
"""

import argparse
import itertools
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional

from job import SOURCE, Build, Failed, Job, Outcome, empty_folder, run_plain, run_spillway
from measuring import machine
from measuring.residency import allowed_bytes
from programs import PROGRAMS, RealProgram

MIB = 1 << 20


@dataclass
class Row:
    program: RealProgram
    version: str = ""
    command: str = ""
    flavour: str = ""
    slots: int = 0
    strategy: str = ""
    plain: Optional[Outcome] = None
    outcome: Optional[Outcome] = None
    result: str = ""
    problems: List[str] = field(default_factory=list)


def version_of(package: str) -> str:
    """Empty when it is not installed."""
    words = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Version}", package]
    try:
        status, _, version = subprocess.run(words, capture_output=True, text=True).stdout.partition(" ")
    except FileNotFoundError:
        return ""
    return version if status == "installed" else ""


def missing_packages(program: RealProgram) -> List[str]:
    return [package for package in (program.package, *program.besides) if not version_of(package)]


def job_of(program: RealProgram, words: List[str], inputs: Path, limit_s: float) -> Job:
    beside = [inputs / name for name in program.files_beside]
    is_script = bool(program.linked_with)
    return Job(
        words, program.linked_with or words[0], beside, program.ranks, is_script, program.expected_status, limit_s
    )


def shown(words: List[str], folder: Path) -> str:
    """A command as someone types it in the folder of the input."""
    short = [word.replace(f"{folder}/", "") for word in words]
    return shlex.join([os.path.basename(short[0]), *short[1:]])


def measure(build: Build, program: RealProgram, options: argparse.Namespace) -> List[Row]:
    folder = options.folder / program.name
    try:
        inputs = empty_folder(folder / "input")
        words = program.prepare(inputs)
        row = Row(program, version_of(program.package), shown(words, inputs))
        job = job_of(program, words, inputs, options.limit)
        row.flavour = build.mpi_of(job.linked_with).flavour
        plain = run_plain(build, job, folder / "plain")
    except Failed as failure:
        return [Row(program, problems=[f"on plain MPI: {failure}"])]
    rows = []
    for slots, strategy in itertools.product(options.slots, options.strategies):
        row = Row(program, row.version, row.command, row.flavour, slots, strategy, plain)
        try:
            memory_mib = options.memory or int(program.memory_share * plain.peak_pss_bytes / MIB)
            row.outcome = run_spillway(build, job, folder / f"{strategy}{slots}", slots, strategy, memory_mib)
            row.result = program.compare(plain.folder, row.outcome.folder)
            row.problems = objections(row.outcome, plain, program.ranks)
        except Failed as failure:
            row.problems = [str(failure)]
        rows.append(row)
        print(progress(row), flush=True)
    return rows


def objections(outcome: Outcome, plain: Outcome, ranks: int) -> List[str]:
    assert outcome.summary is not None
    budget, peak = outcome.summary["budget_bytes"], outcome.summary["peak_bytes"]
    found = []
    if budget >= plain.peak_pss_bytes:
        found.append(f"budget of {budget / MIB:.0f} MiB is not below the need of {plain.peak_pss_bytes / MIB:.0f} MiB")
    if outcome.unloaded_bytes == 0:
        found.append("nothing was unloaded")
    if peak > budget:
        found.append(f"{peak / MIB:.0f} MiB counted against the budget of {budget / MIB:.0f} MiB")
    if outcome.peak_pss_bytes > allowed_bytes(budget, ranks):
        allowed = allowed_bytes(budget, ranks) / MIB
        found.append(f"{outcome.peak_pss_bytes / MIB:.0f} MiB resident (Pss), {allowed:.0f} MiB allowed")
    return found


def progress(row: Row) -> str:
    name = f"{row.program.name}, {row.slots} {'slot' if row.slots == 1 else 'slots'}, {row.strategy}"
    if row.outcome is None:
        return f"{name}: FAILED: {'; '.join(row.problems)}"
    return f"{name}: {row.outcome.wall_s:.1f} s, {row.result}{''.join(f'; BUT {text}' for text in row.problems)}"


def markdown(lines: List[List[str]]) -> str:
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def commands_table(rows: List[Row]) -> str:
    lines = [["program", "package", "what it does", "command", "ranks", "the same means"]]
    for row in rows:
        program = row.program
        cells = [program.name, f"{program.package} {row.version}", program.does, f"`{row.command}`"]
        cells += [str(program.ranks), program.criterion]
        if cells not in lines:
            lines.append(cells)
    return markdown(lines)


def figures_table(rows: List[Row]) -> str:
    heads = [
        "program",
        "MPI library",
        "slots",
        "strategy",
        "needed MiB",
        "budget MiB",
        "peak MiB",
        "Pss MiB",
        "plain s",
        "Spillway s",
    ]
    lines = [[*heads, "unloaded MiB", "loaded MiB", "result"]]
    for row in rows:
        result = "; ".join([*filter(None, [row.result]), *(f"NOT: {text}" for text in row.problems)])
        lines.append([row.program.name, row.flavour, str(row.slots), row.strategy, *figures(row), result])
    return markdown(lines)


def figures(row: Row) -> List[str]:
    if row.plain is None or row.outcome is None or row.outcome.summary is None:
        return [""] * 8
    summary, plain, outcome = row.outcome.summary, row.plain, row.outcome
    in_mib = [plain.peak_pss_bytes, summary["budget_bytes"], summary["peak_bytes"], outcome.peak_pss_bytes]
    cells = [f"{count / MIB:.0f}" for count in in_mib]
    cells += [f"{plain.wall_s:.1f}", f"{outcome.wall_s:.1f}"]
    return cells + [f"{count / MIB:.0f}" for count in (outcome.unloaded_bytes, outcome.loaded_bytes)]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = Path(os.environ.get("SPILLWAY_BUILD", SOURCE / "build"))
    names = [program.name for program in PROGRAMS]
    parser.add_argument("--build", type=Path, default=build, help="default: $SPILLWAY_BUILD, or build")
    parser.add_argument("--only", nargs="+", choices=names, metavar="PROGRAM", help=f"of {', '.join(names)}")
    parser.add_argument("--slots", nargs="+", type=int, default=[1, 2], help="ranks that run at a time (default: 1 2)")
    strategies = ["auto", "araw", "arlw", "lrlw"]
    words = "of spillway run (default: auto)"
    parser.add_argument("--strategies", nargs="+", choices=strategies, default=["auto"], metavar="STRATEGY", help=words)
    parser.add_argument("--memory", type=int, metavar="MIB", help="budget (default: a share of what was needed)")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a run may take (default: 600)")
    folder = Path("/var/tmp/spillway-real-programs")
    parser.add_argument("--folder", type=Path, default=folder, help=f"for input and results (default: {folder})")
    parser.add_argument("--keep", action="store_true", help="keep input and results also of programs that passed")
    parser.add_argument("--list", action="store_true", help="say what is run and compared, and end")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    return options


def main() -> int:
    options = parse_options()
    chosen = [program for program in PROGRAMS if not options.only or program.name in options.only]
    if options.list:
        for program in chosen:
            missing = missing_packages(program)
            print(f"{program.name:10} {program.does}\n{'':10} the same: {program.criterion}")
            print(f"{'':10} packages: {' '.join((program.package, *program.besides))}")
            if missing:
                print(f"{'':10} CANNOT RUN: not installed: {' '.join(missing)}")
        return 0
    build = Build(options.build)
    print(f"{build.version()}\n{machine.text(machine.description(build.folder))}")
    print(f"BLAS: {os.path.realpath('/usr/lib/x86_64-linux-gnu/libblas.so.3')}\n", flush=True)
    rows, absent = [], []
    for program in chosen:
        missing = missing_packages(program)
        if missing:
            absent.append(program)
            print(f"{program.name}: CANNOT RUN, not installed: {' '.join(missing)}", flush=True)
            print(f"  Remedy: apt-get install {' '.join(missing)}", flush=True)
            continue
        found = measure(build, program, options)
        rows += found
        if not options.keep and not any(row.problems for row in found):
            shutil.rmtree(options.folder / program.name)
    print(f"\n{commands_table(rows)}\n\n{figures_table(rows)}")
    return 1 if absent or any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
