"""A blocked rank uses no processor time."""

import os
import time
from pathlib import Path

import pytest
from marked_processes import marked_processes
from runner import outcome_within

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

RANKS = 64
WATCHED_S = 3.0


def processor_seconds(pid):
    fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_64_blocked_ranks_use_less_than_a_hundredth_of_a_core(run, job, phases, flavour):
    process = run.start(job(flavour, RANKS, 1, "1G", "idle", WATCHED_S + 4))
    assert process.stdout is not None
    assert "waiting" in process.stdout.readline()
    time.sleep(2)  # the last ranks go to sleep
    prefix = str(phases(flavour)) + " "
    ranks = [pid for pid, line in marked_processes(run.mark).items() if line.startswith(prefix)]
    assert len(ranks) == RANKS
    before = {pid: processor_seconds(pid) for pid in ranks}
    time.sleep(WATCHED_S)
    used = sum(processor_seconds(pid) - before[pid] for pid in ranks)
    outcome_within(process, 60)
    assert process.returncode == 0
    assert used < 0.01 * WATCHED_S
