"""Rounds and streams on several hosts: who reduces what before it is sent, and what comes through a window."""

import json
import re

import pytest
from streamed_windows import windows_of

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

LIMIT_S = 60
WAYS = [["--plain"], ["--slots", 1, "--memory", "256M"]]
SMALL_LISTS = {"MPI_D_PARTITION_BYTES": "4K", "MPI_D_LATENCY": "10s"}


@pytest.fixture
def run_modes(run, build_dir, network, test_program, spill_dir, tmp_path):
    """run_modes(options, name, *words, hosts=, status=, env=): a job on the hosts and its report. Where it is on this
    machine, `hosts` is False."""

    def run_it(options, name, *words, hosts=True, status=0, env=None):
        if hosts:
            run.environment.update(network.environment)
            options = [*options, "--hosts", ",".join(network.hosts)]
        report = ["--summary", "json", "--summary-file", tmp_path / "report", "--spill-dir", spill_dir]
        words = [build_dir / "bin" / "mpidrun", *options, *report, test_program(name), *words]
        finished = run(*words, status=status, env=env, timeout_s=LIMIT_S)
        return finished, json.loads((tmp_path / "report").read_text())["key_value"]

    return run_it


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_each_host_sends_a_key_once(run_modes, way):
    """8 O tasks of 6 processes have each key, and nobody says who reduces it."""
    job = ["-M", "iteration", "-n", 6, "-O", 8, "-A", 4, *way]
    finished, report = run_modes(job, "iterated-sums", 3000, 1, "everywhere")
    assert finished.stdout == "round 0: 3000 keys, sum 24000\n"
    to_o_tasks_and_driver = 2 * 3000
    assert report["shuffled_records"] - to_o_tasks_and_driver == 3 * 3000


def test_virtual_nodes_of_a_machine_reduce_by_themselves(run_modes):
    """Each process sends what it has: all of them are of one machine, where nothing is left to be saved."""
    job = ["-M", "iteration", "-n", 6, "-O", 8, "-A", 4, "--ranks-per-node", 2, "--memory", "256M"]
    finished, report = run_modes(job, "iterated-sums", 3000, 1, "everywhere", hosts=False)
    assert finished.stdout == "round 0: 3000 keys, sum 24000\n"
    assert report["shuffled_records"] - 2 * 3000 == 6 * 3000


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_windows_of_a_stream_have_what_was_sent_in_them(run_modes, way):
    """Spillway with one slot for two tasks of a host, which take turns."""
    senders, records, size = 3, 25000, 10000
    job = ["-M", "streaming", "-O", senders, "-A", 3, *way]
    finished, report = run_modes(job, "streamed-numbers", f"records={records}", f"window={size}")
    found = windows_of(finished.stderr)
    assert len(found) == 3 and all(len(windows) == 3 for windows in found.values())
    for number, begin in enumerate(range(0, records, size)):
        numbers = range(begin, min(begin + size, records))
        windows = [windows[number] for windows in found.values()]
        assert all(window.is_in_order and window.records > 0 for window in windows)
        assert sum(window.records for window in windows) == senders * len(numbers)
        assert sum(window.total for window in windows) == senders * sum(numbers)
    assert report["emitted_records"] == report["received_records"] == senders * records


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_slow_receiver_on_another_host_makes_its_senders_wait(run_modes, way):
    """What is under way of each of 3 senders is 8 unacknowledged blocks and 4 lists, of some 370 records each: less
    than two fifths of the records, for each of which the receiver takes 20 us and more."""
    records = 12000
    job = ["-M", "streaming", "-O", 3, "-A", 1, *way]
    finished, _ = run_modes(job, "streamed-numbers", f"records={records}", "slow=20", env=SMALL_LISTS)
    ((window,),) = windows_of(finished.stderr).values()
    assert (window.records, window.total, window.is_in_order) == (3 * records, 3 * sum(range(records)), True)
    assert window.lasted_us > 3 * records * 20
    assert window.had_records_soon(finished.stood_s)


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_killed_sender_ends_the_stream_on_all_hosts(run_modes, way):
    """Others wait for windows that it will not end. Without Spillway what is said of it is up to the launcher."""
    job = ["-M", "streaming", "-O", 3, "-A", 3, *way]
    finished, report = run_modes(job, "streamed-numbers", "records=1000", "window=100", "killed", status=None)
    assert finished.status != 0 and report["exit_status"] == finished.status
    assert max((len(windows) for windows in windows_of(finished.stderr).values()), default=0) <= 500 // 100
    if "--plain" not in way:
        assert re.search(r"rank 0 on host \S+ \(process \d+\) was killed by signal 9", finished.stderr)
