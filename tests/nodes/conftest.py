"""Jobs on several hosts, which are network namespaces of this machine."""

import sys
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
from marked_processes import MARK_VARIABLE

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "bench"))

from measuring.network import CannotMakeNetwork, Network  # noqa: E402

HOSTS = 3


@pytest.fixture
def network(tmp_path) -> Iterator[Network]:
    try:
        with Network(tmp_path, HOSTS, kept=[MARK_VARIABLE]) as made:
            yield made
    except CannotMakeNetwork as reason:
        pytest.skip(f"no network of several hosts can be made here: {reason}")


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
