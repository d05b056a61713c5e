"""What `--memory` promises: the ranks together stay within it, and nothing is written or read that need not be."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from marked_processes import marked_processes

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

MIB = 1 << 20
# The stated slack over the budget: programs, libraries and small allocations.
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


def peak_of_ranks_mib(run, command, program, timeout_s=120):
    """Runs a job and samples the proportional share of all its ranks together: the peak and the number of samples."""
    process = run.start(command)
    peak = samples = 0
    deadline = time.monotonic() + timeout_s
    while process.poll() is None and time.monotonic() < deadline:
        ranks = [pid for pid, line in marked_processes(run.mark).items() if line.startswith(str(program) + " ")]
        peak = max(peak, snapshot_kib(ranks))
        samples += bool(ranks)
        time.sleep(SAMPLING_S)
    stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == 0, stdout + stderr
    return peak / 1024, samples


@pytest.mark.parametrize(
    ("ranks", "slots", "budget_mib", "mib_per_rank"),
    [
        pytest.param(16, 2, 192, 48, id="4_times_budget"),
        pytest.param(32, 1, 224, 112, id="16_times_budget"),
        pytest.param(16, 2, 256, 16, id="fits"),
    ],
)
def test_ranks_stay_within_budget_and_slack(run, job, phases, flavour, ranks, slots, budget_mib, mib_per_rank):
    command = job(flavour, ranks, slots, f"{budget_mib}M", "sweep", mib_per_rank, 2)
    peak_mib, samples = peak_of_ranks_mib(run, command, phases(flavour))
    assert samples >= 5
    assert peak_mib <= budget_mib + SLACK_MIB + SLACK_MIB_PER_RANK * ranks


def test_messages_that_wait_make_room_for_the_ranks(run, job, phases, summary, flavour):
    ranks, budget_mib, message_mib, own_mib = 4, 240, 30, 180
    command = job(flavour, ranks, 1, f"{budget_mib}M", "pile", message_mib, own_mib)
    peak_mib, _ = peak_of_ranks_mib(run, command, phases(flavour))
    assert peak_mib <= budget_mib + SLACK_MIB + SLACK_MIB_PER_RANK * ranks
    assert summary()["spilled_bytes"] >= ((ranks + 1) * message_mib + own_mib - budget_mib) * MIB


def test_clean_memory_is_never_written_twice(run, job, summary, flavour):
    ranks, mib, rounds = 8, 32, 5
    run(*job(flavour, ranks, 1, "80M", "read", mib, rounds))
    moved = summary()
    data = ranks * mib * MIB
    assert moved["loaded_bytes"] > 2 * data  # it went in and out many times
    assert moved["unloaded_bytes"] <= data + ranks * MIB  # and was written once


def test_nothing_is_unloaded_while_everything_fits(run, job, summary, flavour):
    run(*job(flavour, 4, 2, "512M", "sweep", 32, 3))
    assert summary()["unloaded_bytes"] == summary()["loaded_bytes"] == 0


def test_messages_beyond_their_share_of_the_budget_go_to_disk_and_come_back(run, job, summary, flavour):
    run(*job(flavour, 4, 1, "64M", "exchange", 24, 2))
    assert summary()["spilled_bytes"] > 0
