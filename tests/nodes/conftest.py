"""Jobs on several hosts, which are network namespaces of this machine."""

from typing import Callable, Iterator, List, Optional

import pytest
from bed import made_network
from measuring.network import Network


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
def nothing_left_behind(network, nothing_left_behind) -> None:
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
