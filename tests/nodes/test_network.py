"""The network that jobs on several hosts are tried on takes nothing that others use, and leaves nothing."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from measuring.control_group import NoControlGroups, ProcessorLimit
from measuring.network import Network
from runner import DISAPPEARANCE_S
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

SOURCE = Path(__file__).resolve().parent.parent.parent
LIVES_UNTIL_KILLED = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from measuring.control_group import ProcessorLimit
from measuring.network import Network
limit = ProcessorLimit(0.5) if sys.argv[3:] else None
with Network(Path(sys.argv[2]), 2, limit=limit) as network:
    host = network.hosts[1]
    program = subprocess.Popen(network.command_on(host, "sleep", "600"))
    print(network.name_of(host), flush=True)
    program.wait()
"""


def names() -> str:
    """Of all namespaces and network devices."""
    words = (("ip", "netns", "list"), ("ip", "address"))
    return "".join(subprocess.run(each, capture_output=True, text=True, check=True).stdout for each in words)


def test_two_networks_at_once_have_nothing_in_common(network, tmp_path):
    with Network(tmp_path, len(network.hosts)) as other:
        assert not {network.address, *network.hosts} & {other.address, *other.hosts}
        assert not set(map(network.name_of, network.hosts)) & set(map(other.name_of, other.hosts))
        assert all(other.name_of(host) in names() for host in other.hosts)
    assert not any(name in names() for name in (other.address, *map(other.name_of, other.hosts)))


@pytest.fixture
def limit(tmp_path):
    try:
        limit = ProcessorLimit(0.25)
        with Network(tmp_path, 1, limit=limit):
            return limit
    except NoControlGroups as reason:
        pytest.skip(f"no host can be limited here: {reason}")


def test_all_that_runs_on_a_host_is_limited_together(run, limit, tmp_path):
    busy = "import time; end = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
    with Network(tmp_path, 1, limit=limit) as limited:
        [host] = limited.hosts
        group = limit.parent / limited.name_of(host)
        sleep = subprocess.Popen([tmp_path / "remote-shell", "-q", host, "sleep 600 & exec sleep 600"])
        patience = TimeLimit(DISAPPEARANCE_S)
        while len(limited.processes_of(host)) < 2:
            assert patience.left_s() > 0
            time.sleep(0.05)
        assert set(map(int, (group / "cgroup.procs").read_text().split())) == set(limited.processes_of(host))
        two = f"{sys.executable} -c '{busy}' & {sys.executable} -c '{busy}'; wait"
        assert run(*limited.command_on(host, "sh", "-c", two), status=0).wall_s > 0.2 / 0.25 - 0.1
    sleep.wait()
    assert not group.exists()


def test_nothing_runs_on_a_host_whose_group_is_gone(run, limit, tmp_path):
    with Network(tmp_path, 1, limit=limit) as limited:
        [host] = limited.hosts
        (limit.parent / limited.name_of(host)).rmdir()
        for command in (limited.command_on(host, "echo", "here"), [tmp_path / "remote-shell", host, "echo here"]):
            finished = run(*command, status=None)
            assert finished.status != 0 and not finished.stdout


@pytest.mark.parametrize("is_limited", [False, True], ids=["as_it_is", "limited"])
def test_network_goes_with_all_that_runs_there_when_its_maker_is_killed(run, network, request, tmp_path, is_limited):
    group_parent = request.getfixturevalue("limit").parent if is_limited else None
    arguments = [SOURCE / "bench", tmp_path, *(["limited"] if is_limited else [])]
    maker = run.start([sys.executable, "-c", LIVES_UNTIL_KILLED, *arguments])
    name = maker.stdout.readline().strip()
    assert name in names()
    assert group_parent is None or (group_parent / name).exists()
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    patience = TimeLimit(DISAPPEARANCE_S)
    while name.rpartition("-")[0] in names():
        assert patience.left_s() > 0
        time.sleep(0.05)
    while group_parent is not None and (group_parent / name).exists():
        assert patience.left_s() > 0
        time.sleep(0.05)
