"""What the ranks of a job have in memory while they run."""

import os
import re
import signal
import time
from pathlib import Path

from marked_processes import marked_processes
from runner import outcome_within
from standstill import TimeLimit

# The stated slack over the budget: programs, libraries, and what they allocate before MPI_Init.
SLACK_MIB, SLACK_MIB_PER_RANK = 32, 4
SAMPLING_S = 0.05


def proportional_kib(pid):
    try:
        text = (Path("/proc") / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0  # ended meanwhile
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE).group(1))


def snapshot_kib(pids):
    """The ranks' proportional share at one moment.

    They stand still meanwhile, or memory on its way from one to another would count twice.
    """
    send(pids, signal.SIGSTOP)
    total = sum(proportional_kib(pid) for pid in pids)
    send(pids, signal.SIGCONT)
    return total


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def promised_mib(budget_mib, ranks):
    return budget_mib + SLACK_MIB + SLACK_MIB_PER_RANK * ranks


def peak_of_ranks_mib(run, command, program, timeout_s=120):
    """Runs a job and samples the proportional share of all its ranks together: the peak, the number of samples, and
    what the job printed."""
    process = run.start(command)
    peak = samples = 0
    limit = TimeLimit(timeout_s)
    while process.poll() is None and limit.left_s() > 0:
        ranks = [pid for pid, line in marked_processes(run.mark).items() if line.startswith(str(program) + " ")]
        peak = max(peak, snapshot_kib(ranks))
        samples += bool(ranks)
        time.sleep(SAMPLING_S)
    stdout, stderr = outcome_within(process, 10)
    assert process.returncode == 0, stdout + stderr
    return peak / 1024, samples, stdout
