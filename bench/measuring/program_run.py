"""Runs one program to its end, with a time limit, and takes its output and its times."""

import os
import resource
import signal
import subprocess
import tempfile
import time
from typing import Callable, List, Mapping, NamedTuple, Optional

# What `spillway run` needs to end all ranks after a signal, and then some.
END_S = 15.0


class RunFailed(Exception):
    """A program that did not end well; the text has the end of its output."""


class Outcome(NamedTuple):
    lines: List[str]  # of standard output
    wall_s: float
    processor_s: float  # of all its processes that their parents waited for, user and system


def run(
    command: List[str],
    limit_s: float,
    on_start: Optional[Callable[[subprocess.Popen], None]] = None,
    on_line: Optional[Callable[[str], None]] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> Outcome:
    """Raises RunFailed. `on_start` gets the process, `on_line` each line of standard output when it comes, and
    `environment` is added to that of this process.

    Standard error is not shown; its last lines are part of RunFailed's text.
    """
    begin = time.monotonic()
    begin_processor_s = _processor_s_of_children()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            if on_start:
                on_start(process)
            lines = _lines_until_end(process, begin + limit_s, on_line)
            process.wait()
        except BaseException:
            end(process)
            raise
        wall_s = time.monotonic() - begin
        if process.returncode != 0:
            errors.seek(0)
            tail = errors.read().decode(errors="replace").splitlines()[-15:]
            raise RunFailed("\n".join([f"status {process.returncode}", *lines[-5:], *tail]))
    return Outcome(lines, wall_s, _processor_s_of_children() - begin_processor_s)


def _processor_s_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _lines_until_end(process: subprocess.Popen, deadline: float, on_line: Optional[Callable[[str], None]]) -> List[str]:
    assert process.stdout is not None
    # Reading has no time limit: what is late is ended by the alarm, and reading ends with it.
    previous = signal.signal(signal.SIGALRM, _raise_late)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, deadline - time.monotonic()))
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.decode(errors="replace").rstrip("\n"))
            if on_line:
                on_line(lines[-1])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return lines


def _raise_late(_number: int, _frame: object) -> None:
    raise RunFailed("it took too long")


def end_as_interrupted() -> None:
    """From now on SIGTERM and SIGHUP end the benchmark like ^C, which ends what it has started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _raise_interrupt)


def _raise_interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def end(process: subprocess.Popen) -> None:
    """Ends a program that was started in a session of its own: asks, waits, and kills what is left of the session."""
    for number, patience_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
                process.wait(patience_s)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
