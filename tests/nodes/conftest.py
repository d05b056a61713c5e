"""Jobs on several hosts, which are network namespaces of this machine."""

from pathlib import Path
from typing import Callable, Iterator, List, Optional

import pytest
from bed import made_network
from measuring.network import Network
from runner import SESSIONS_VARIABLE, Runner, still_there


@pytest.fixture
def bed() -> str:
    """Where the nodes of a test's job are. Modules whose tests run on both beds have a fixture with more than this."""
    return "hosts"


@pytest.fixture
def network(bed, tmp_path) -> Iterator[Optional[Network]]:
    """None for virtual nodes of this machine."""
    if bed == "virtual_nodes":
        yield None
        return
    with made_network(tmp_path) as made:
        yield made


@pytest.fixture
def no_session_left(network, run: Runner, request: pytest.FixtureRequest) -> Iterator[None]:
    """After the test: none of the directories that Open MPI's launcher has on the hosts. They share this machine's.

    When a link is cut, the job ends before the launcher's daemons have noticed, and all that runs on the hosts of this
    machine with it, also who would remove the directories. Nor is anybody there before Spillway has begun on a host."""
    yield
    is_begun = request.node.get_closest_marker("ends_before_it_begins") is None
    if network is not None and network.is_whole and is_begun:
        sessions = (Path("/tmp"), Path(run.environment[SESSIONS_VARIABLE]))
        left = still_there(lambda: [each for folder in sessions for each in folder.glob(f"ompi.{network.prefix}-*/*")])
        assert not left, f"session directories left: {left}"


@pytest.fixture
def nothing_left_behind(no_session_left, nothing_left_behind) -> None:
    """Looks before the network goes, as all that still runs there goes with it."""


@pytest.fixture
def job_on_hosts(run, spillway, spill_dir, network) -> Callable[..., List[object]]:
    """job_on_hosts(program, *options): two ranks at a time on each host."""
    run.environment.update(network.environment)

    def words(program, *options, ranks=5):
        fixed = ["-n", ranks, "--slots", 2, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
        return [spillway, "run", *fixed, "--hosts", ",".join(network.hosts), *options, "--", program]

    return words


@pytest.fixture
def test_program(build_dir, flavour):
    return lambda name: build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"
