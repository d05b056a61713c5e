"""What the tests of failing jobs look at: the message, the processes."""

import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import List

import pytest
from marked_processes import marked_processes
from runner import Runner

RANKS = 3
HOST = re.escape(socket.gethostname())
# What only the MPI launchers themselves would write.
LAUNCHER_NOTICES = ("BAD TERMINATION", "APPLICATION TERMINATED", "mpiexec", "mpirun", "Primary job", "[proxy:", "-----")


def heed_signals() -> None:
    """Whatever this test run itself was told to ignore (nohup, background jobs), the job is not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def message_of(stderr: str) -> str:
    """The one message of Spillway: its first line and the indented ones after it."""
    found = re.findall(r"^spillway: .*\n(?:  .*\n)*", stderr, re.MULTILINE)
    assert len(found) == 1, f"{len(found)} messages, not one:\n{stderr}"
    return found[0]


def assert_says(stderr: str, what: str) -> None:
    """One message, which matches `what` and names cause and remedy; and none of the MPI launcher's."""
    message = message_of(stderr)
    assert re.match(what, message), message
    assert re.search(r"^  Cause:  \S", message, re.MULTILINE), message
    assert re.search(r"^  Remedy: \S", message, re.MULTILINE), message
    rest = stderr.replace(message, "")
    assert not [notice for notice in LAUNCHER_NOTICES if notice in rest], stderr


def wait_for_line(process: subprocess.Popen, text: str) -> None:
    """Reads the standard output of a running job until a line holds `text`."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    pytest.fail(f"the job ended without printing `{text}`: {process.communicate()}")


def programs_named(run: Runner, name: str) -> List[int]:
    """The living processes of the test whose program is called `name`, or with a suffix of it (mpiexec.hydra)."""
    lines = marked_processes(run.mark)
    return [pid for pid, line in lines.items() if re.match(rf"(\S*/)?{name}([.-]\S*)?(\s|$)", line)]


def process_named(run: Runner, name: str) -> int:
    """The only such process."""
    found = programs_named(run, name)
    assert len(found) == 1, f"{len(found)} processes {name}: {marked_processes(run.mark)}"
    return found[0]


def state_of(pid: int) -> str:
    """The letter of `ps`; X for a process that is gone."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def is_running(pid: int) -> bool:
    return state_of(pid) not in "ZX"
