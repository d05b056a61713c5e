"""A blocked rank uses no processor time."""

import os
import time
from pathlib import Path

import pytest
from marked_processes import marked_processes
from runner import outcome_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

RANKS = 64
WATCHED_S = 3.0
BEGIN_LIMIT_S = 30.0


def processor_seconds(pid):
    fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_of_all(pids):
    return sum(map(processor_seconds, pids))


def wait_until_all_sleep(pids):
    """Also the last ones, however little processor they get until they wait."""
    limit = TimeLimit(BEGIN_LIMIT_S)
    used, before = seconds_of_all(pids), -1.0
    while used > before and limit.left_s() > 0:
        time.sleep(1)
        used, before = seconds_of_all(pids), used


def test_64_blocked_ranks_use_less_than_a_hundredth_of_a_core(run, job, phases, flavour, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)  # as it would wait to write there while nobody reads
    process = run.start(job(flavour, RANKS, 1, "1G", "idle", pipe))
    assert process.stdout is not None
    assert "waiting" in process.stdout.readline()
    prefix = str(phases(flavour)) + " "
    ranks = [pid for pid, line in marked_processes(run.mark).items() if line.startswith(prefix)]
    assert len(ranks) == RANKS
    wait_until_all_sleep(ranks)
    before = seconds_of_all(ranks)
    time.sleep(WATCHED_S)
    used = seconds_of_all(ranks) - before
    os.write(end, b"e")
    os.close(end)
    outcome_within(process, 60)
    assert process.returncode == 0
    assert used < 0.01 * WATCHED_S
