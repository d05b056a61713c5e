"""Runs a program of ours with mpidrun, and takes its times and its report."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional

from contenders import cores
from measuring.build import Build
from measuring.file_cache import forget_file_cache
from measuring.program_run import run
from measuring.warm_memory import warm_memory


class Command(NamedTuple):
    program: str
    arguments: Callable[[Path, Path], List[object]]  # of output and input
    mode: str = "mapreduce"


class Report(NamedTuple):
    wall_s: float
    processor_s: float
    key_value: Dict[str, float]  # see --summary json
    output: object  # what `look` has made of it


def run_with_mpidrun(
    build: Build,
    command: Command,
    source: Path,
    folder: Path,
    memory_bytes: int,
    limit_s: float,
    options: Optional[List[object]] = None,
    environment: Optional[Mapping[str, str]] = None,
    on_start: Optional[Callable[[subprocess.Popen], None]] = None,
    look: Callable[[Path], object] = lambda _: None,
    reads_disk: bool = True,
) -> Report:
    """A process for each core, that many A tasks. Without `reads_disk` the input is in memory, as far as it was.

    Raises RunFailed.
    """
    output, scratch, summary = (folder / name for name in ("output", "scratch", "summary.json"))
    scratch.mkdir()
    words = [build.program("mpidrun"), "-M", command.mode, "-n", cores(), "-A", cores(), "--memory", memory_bytes]
    words += ["--spill-dir", scratch, "--progress", "none", "--summary", "json", "--summary-file", summary]
    words += [*(options or []), "--", command.program, *command.arguments(output, source)]
    try:
        if reads_disk:
            forget_file_cache(source)
        warm_memory(min(memory_bytes, 3 * source.stat().st_size))
        os.sync()
        outcome = run(list(map(str, words)), limit_s, on_start=on_start, environment=environment)
        figures = json.loads(summary.read_text())["key_value"]
        return Report(outcome.wall_s, outcome.processor_s, figures, look(output))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(output, ignore_errors=True)
