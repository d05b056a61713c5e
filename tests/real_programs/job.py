"""One run of a program, on the plain MPI library or under Spillway, with its memory sampled."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path[:0] = [str(SOURCE / "bench"), str(SOURCE / "tests")]
from marked_processes import kill_marked  # noqa: E402
from measuring.build import Build  # noqa: E402
from measuring.program_run import end  # noqa: E402
from measuring.residency import ResidencySampler  # noqa: E402

MARK = "SPILLWAY_REAL_PROGRAM_MARK"
# Ranks compute in one thread each: there are more of them than cores already.
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "BAGEL_NUM_THREADS": "1"}


class Failed(Exception):
    """A run that did not end as it should, or whose results are wrong; the text says why."""


@dataclass(frozen=True)
class Job:
    """What is to be run. `linked_with` is a program that shows which MPI library it uses, mostly the program itself."""

    words: List[str]
    linked_with: str
    files_beside: List[Path]  # to be copied to where it runs
    ranks: int
    is_script: bool
    expected_status: int
    limit_s: float


@dataclass
class Outcome:
    folder: Path  # where it ran; its standard output is in the file `stdout` there
    wall_s: float
    peak_pss_bytes: int
    summary: Optional[Dict[str, Any]] = None  # of spillway run

    @property
    def unloaded_bytes(self) -> int:
        return int(self.summary["totals"]["unloaded_bytes"]) if self.summary else 0

    @property
    def loaded_bytes(self) -> int:
        return int(self.summary["totals"]["loaded_bytes"]) if self.summary else 0


def empty_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _fill(folder: Path, job: Job) -> None:
    empty_folder(folder)
    for path in job.files_beside:
        shutil.copy(path, folder)


def run_plain(build: Build, job: Job, folder: Path) -> Outcome:
    _fill(folder, job)
    return _run([*build.mpi_of(job.linked_with).launch, str(job.ranks), *job.words], job, folder)


def run_spillway(build: Build, job: Job, folder: Path, slots: int, strategy: str, memory_mib: int) -> Outcome:
    _fill(folder, job)
    summary = folder / "summary.json"
    options: List[object] = ["-n", job.ranks, "--slots", slots, "--memory", f"{memory_mib}M", "--spill-dir", folder]
    options += ["--strategy", strategy, "--summary", "json", "--summary-file", summary]
    if job.is_script:
        options += ["--mpi", build.mpi_of(job.linked_with).flavour]
    outcome = _run([*build.spillway(*options), *job.words], job, folder)
    outcome.summary = json.loads(summary.read_text())
    return outcome


def _run(words: List[str], job: Job, folder: Path) -> Outcome:
    mark = uuid.uuid4().hex
    begin = time.monotonic()
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **SETTINGS, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            with ResidencySampler(process.pid, job.words[0], job.ranks) as sampler:
                status = process.wait(job.limit_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"not at its end after {job.limit_s:.0f} s (see {folder})") from None
        finally:
            end(process)
            kill_marked(mark, MARK)
    wall_s = time.monotonic() - begin
    if status != job.expected_status:
        tail = (folder / "stderr").read_text(errors="replace").splitlines()[:6]
        raise Failed("\n  ".join([f"exit status {status} (see {folder})", *tail]))
    return Outcome(folder, wall_s, sampler.peak_bytes)
