"""Jobs on several hosts, which are network namespaces of this machine."""

from typing import Callable, Iterator, List

import pytest
from network import CannotMakeNetwork, Network

HOSTS = 3


@pytest.fixture
def network(tmp_path) -> Iterator[Network]:
    try:
        made = Network(tmp_path, HOSTS)
    except CannotMakeNetwork as reason:
        pytest.skip(f"no network of several hosts can be made here: {reason}")
    yield made
    made.remove()


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
