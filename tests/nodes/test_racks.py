"""Racks are found by the round trips between hosts: two bridges with a slow hop between them."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List

import pytest
from marked_processes import MARK_VARIABLE, marked_processes
from measuring.network import CannotMakeNetwork, Network
from runner import outcome_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

LIMIT_S = 60
DELAY_S = 0.001  # of the hop, in each direction


@pytest.fixture
def network(tmp_path) -> Iterator[Network]:
    """Of three hosts; the last two are behind the hop."""
    try:
        with Network(tmp_path, 3, kept=[MARK_VARIABLE]) as made:
            bridges = made.part(made.hosts[1:])
            command = [sys.executable, Path(__file__).parent / "slow_hop.py", str(DELAY_S), *bridges]
            pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
            with subprocess.Popen(command, text=True, **pipes) as hop:
                if not hop.stdout.readline():
                    raise CannotMakeNetwork(hop.stderr.read().strip())
                yield made
    except CannotMakeNetwork as reason:
        pytest.skip(f"no hosts behind a slow hop can be made here: {reason}")


@pytest.fixture
def hosts(network) -> List[str]:
    """This machine is one of them, and not the first."""
    return [*network.hosts[:2], network.address, network.hosts[2]]


@pytest.fixture
def tune(run, spillway, spill_dir, network, hosts):
    run.environment.update(network.environment)
    return [spillway, "tune", "--hosts", ",".join(hosts), "--memory", "256M", "--spill-dir", spill_dir]


def test_hosts_behind_a_slow_hop_are_another_rack(run, spillway, spill_dir, hosts, tune, tmp_path, flavour):
    racks = tmp_path / "racks"
    tuned = run(*tune, "--racks-output", racks, "--mpi", flavour, timeout_s=LIMIT_S)
    page = racks.read_text()
    lines = [line.split() for line in page.splitlines() if line and not line.startswith("#")]
    assert lines == [*([host, "rack1"] for host in hosts[0::2]), *([host, "rack2"] for host in hosts[1::2])], page
    figures = re.search(r"2 racks: round trips of (\d+) to (\d+) us within them, (\d+) to (\d+) us between them", page)
    assert figures and int(figures[2]) < 2e6 * DELAY_S <= int(figures[3]), page
    assert figures[0] in tuned.stderr and tuned.stdout == page
    options = ["--hosts", ",".join(hosts), "--racks", racks, "--mpi", flavour, "--spill-dir", spill_dir, "--dry-run"]
    plan = run(spillway, "run", *options, "true").stdout
    assert re.search(r"^ *racks +rack1, rack2$", plan, re.MULTILINE), plan


def test_racks_and_rules_are_written_at_a_time(run, hosts, tune, tmp_path):
    folder = tmp_path / "written"
    folder.mkdir()
    racks, rules = folder / "racks", folder / "rules"
    options = ["--hosts", ",".join(hosts[:3]), "--racks-output", racks, "--output", rules, "--most", "1K"]
    tuned = run(*tune, *options, timeout_s=LIMIT_S)
    assert "# 2 racks: " in racks.read_text() and "\nany " in rules.read_text()
    assert tuned.stdout == f"{racks.read_text()}\n{rules.read_text()}"
    assert sorted(path.name for path in folder.iterdir()) == ["racks", "rules"]


def wait_for_broadcasts(run, tuning) -> str:
    """The command of the job that measures some."""
    limit = TimeLimit(LIMIT_S)
    while limit.left_s() > 0 and tuning.poll() is None:
        for words in marked_processes(run.mark).values():
            if " run " in words and " --broadcasts " in words:
                return words
        time.sleep(0.05)
    pytest.fail(f"nothing is measured: {tuning.communicate()}")


def test_broadcasts_are_measured_with_these_racks_and_when_a_signal_ends_that_nothing_is_written(run, tune, tmp_path):
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "racks").write_text("old\n")
    tuning = run.start([*tune, "--racks-output", folder / "racks", "--output", folder / "rules"])
    assert " --racks " in wait_for_broadcasts(run, tuning)
    tuning.send_signal(signal.SIGTERM)
    _, errors = outcome_within(tuning, LIMIT_S)
    assert tuning.returncode == 128 + signal.SIGTERM and "nothing was written" in errors
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("racks", "old\n")]
