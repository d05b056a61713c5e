"""The network that jobs on several hosts are tried on takes nothing that others use, and leaves nothing."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from measuring.network import Network
from runner import DISAPPEARANCE_S

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

SOURCE = Path(__file__).resolve().parent.parent.parent
LIVES_UNTIL_KILLED = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from measuring.network import Network
with Network(Path(sys.argv[2]), 2) as network:
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


def test_network_goes_with_all_that_runs_there_when_its_maker_is_killed(run, network, tmp_path):
    maker = run.start([sys.executable, "-c", LIVES_UNTIL_KILLED, SOURCE / "bench", tmp_path])
    name = maker.stdout.readline().strip()
    assert name in names()
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    deadline = time.monotonic() + DISAPPEARANCE_S
    while name.rpartition("-")[0] in names():
        assert time.monotonic() < deadline
        time.sleep(0.05)
