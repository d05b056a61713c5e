"""Which hosts of a job do not answer: each is asked as the job is started there, by the MPI launcher."""

import os
import signal
import time
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import Iterable, List

from .mpi_launcher import launcher_command
from .plan import Plan
from .run_job import let_signals_in

_ANSWER_S = 20.0
_END_S = 2.0  # for a launcher to end the remote shell that it waits for
_ASKED_TOGETHER = 32


def silent_hosts(plan: Plan, program: List[str]) -> List[str]:
    """Those on which this program does not end well in time."""
    assert plan.hosts is not None
    names = plan.hosts.names
    groups = (names[first : first + _ASKED_TOGETHER] for first in range(0, len(names), _ASKED_TOGETHER))
    return [name for group in groups for name in _silent_of(group, plan, program)]


def _silent_of(names: List[str], plan: Plan, program: List[str]) -> List[str]:
    assert plan.hosts is not None
    environment = plan.environment()
    asking = {}
    for name in names:
        command = launcher_command(plan.library, plan.launcher, 1, plan.hosts._replace(names=[name])) + program
        asking[name] = Popen(
            command,
            env=environment,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
            preexec_fn=let_signals_in,  # else it could not be ended
        )
    _wait(asking.values(), _ANSWER_S)
    late = [launcher for launcher in asking.values() if launcher.returncode is None]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for launcher in late:
            if launcher.poll() is None:
                os.killpg(launcher.pid, number)
        _wait(late, _END_S)
    return [name for name, launcher in asking.items() if launcher in late or launcher.returncode != 0]


def _wait(launchers: Iterable[Popen], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    for launcher in launchers:
        try:
            launcher.wait(max(0, deadline - time.monotonic()))
        except TimeoutExpired:
            continue
