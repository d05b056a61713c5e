"""Running programs in tests: with a time limit, and so that all of their processes can be found again.

Every program that a test starts carries the test's own mark in its environment, and so do all its descendants:
by that mark the fixture `nothing_left_behind` finds what outlived the test.
"""

import os
import subprocess
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

import pytest
from bed import Bed
from marked_processes import MARK_VARIABLE, kill_marked
from standstill import TimeLimit

# How long the processes of a killed job may take to be gone.
DISAPPEARANCE_S = 5.0

# What Open MPI's launcher says of a rank that has ended without MPI_Finalize; and of one that has called it while the
# launcher was kept from answering by a machine that stood still: PMIx's client waits for 2 s (PMIx_Finalize, 4.2).
ENDED_IMPROPERLY = "mpiexec.openmpi has exited due to process rank"

# Where Open MPI's launcher has a directory for each user's jobs (tests/faults/test_session_directories.py).
SESSIONS_VARIABLE = "OMPI_MCA_orte_tmpdir_base"

Word = Union[str, Path, int]
Found = TypeVar("Found")


@dataclass
class Finished:
    """A program that has ended. `status` is the exit status, or minus the signal's number."""

    command: List[str]
    status: int
    stdout: str
    stderr: str
    wall_s: float
    stood_s: float = 0.0  # of these, how long a processor stood still

    @property
    def ran_s(self) -> float:
        return self.wall_s - self.stood_s

    def report(self) -> str:
        return (
            f"$ {' '.join(self.command)}\nstatus {self.status} after {self.wall_s:.1f} s\n"
            f"--- stdout\n{self.stdout[-6000:]}\n--- stderr\n{self.stderr[-6000:]}"
        )


@dataclass
class Runner:
    """Runs programs with a time limit, and with the test's mark in their environment."""

    mark: str
    bed: Bed = Bed()
    # libfabric below Ubuntu 22.04's MPICH ends every program that forks, under plain MPI too, unless it is told not to.
    # Open MPI takes its component ob1 on a machine without a fast network; told so, it starts each job 0.2 s sooner, as
    # it does not look at the others.
    environment: Dict[str, str] = field(default_factory=lambda: {"RDMAV_FORK_SAFE": "1", "OMPI_MCA_pml": "ob1"})

    def marked_environment(self, extra: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        return {**inherited, **self.environment, MARK_VARIABLE: self.mark, **(extra or {})}

    def start(self, command: Sequence[Word], env: Optional[Mapping[str, str]] = None, **options) -> subprocess.Popen:
        """Starts a program in a session of its own, for tests that interrupt it."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        words = self.bed.placed([str(word) for word in command])
        environment = self.marked_environment(env)
        if any("tool_interface" in word for word in words):
            # Open MPI 4.1 crashes where MPI_T asks for the figures of psm2, which it has not looked at then.
            environment.pop("OMPI_MCA_pml", None)
        return subprocess.Popen(words, env=environment, text=True, errors="replace", start_new_session=True, **options)

    def __call__(
        self,
        *command: Word,
        status: Optional[int] = 0,
        timeout_s: float = 60,
        env: Optional[Mapping[str, str]] = None,
        **options,
    ) -> Finished:
        """Runs a program to its end, which must have the given status (None: any). Too long a run fails the test.

        A program under Open MPI alone of which its launcher says that it has ended improperly, while a processor stood
        still for longer than PMIx waits, is run once more, with a warning.
        """
        limit = TimeLimit(timeout_s)
        finished = self._run(command, timeout_s, env, options)
        is_improper = "mpiexec.openmpi" in " ".join(finished.command) and ENDED_IMPROPERLY in finished.stderr
        if status == 0 and is_improper and limit.stood_s() > 0:
            warnings.warn(f"run once more:\n{finished.report()}", stacklevel=2)
            finished = self._run(command, timeout_s, env, options)
        if status is not None and finished.status != status:
            pytest.fail(f"ended with status {finished.status}, not {status}\n{finished.report()}")
        return finished

    def _run(
        self, command: Sequence[Word], timeout_s: float, env: Optional[Mapping[str, str]], options: Mapping[str, Any]
    ) -> Finished:
        begin, limit, late = time.monotonic(), TimeLimit(timeout_s), False
        whole = limit
        process = self.start(command, env=env, **options)
        while True:
            try:
                stdout, stderr = process.communicate(timeout=limit.left_s())
                break
            except subprocess.TimeoutExpired:
                if limit.left_s() > 0:
                    continue
                if late:
                    raise
                kill_marked(self.mark)
                process.kill()
                limit, late = TimeLimit(DISAPPEARANCE_S), True
        words = self.bed.placed([str(word) for word in command])
        wall_s, stood_s = time.monotonic() - begin, whole.stood_s()
        finished = Finished(words, process.returncode, stdout or "", stderr or "", wall_s, stood_s)
        if late:
            pytest.fail(f"still running after {timeout_s} s\n{finished.report()}")
        return finished


def outcome_within(process: subprocess.Popen, limit_s: float) -> Tuple[str, str]:
    """Standard output and error of a program that `start` has started, and that ends in time."""
    return _within(limit_s, lambda wait_s: process.communicate(timeout=wait_s))


def status_within(process: subprocess.Popen, limit_s: float) -> int:
    """The same without its output: the exit status."""
    return _within(limit_s, lambda wait_s: process.wait(timeout=wait_s))


def _within(limit_s: float, wait: Callable[[float], Found]) -> Found:
    limit = TimeLimit(limit_s)
    while True:
        try:
            return wait(max(limit.left_s(), 0.01))
        except subprocess.TimeoutExpired:
            if limit.left_s() <= 0:
                raise


def still_there(look: Callable[[], Found]) -> Found:
    """What a look finds when its time to disappear is over; nothing at all, once it finds nothing."""
    limit = TimeLimit(DISAPPEARANCE_S)
    while (found := look()) and limit.left_s() > 0:
        time.sleep(0.05)
    return found
