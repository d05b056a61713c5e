"""Where the nodes of all tests' jobs are: `pytest --bed virtual_nodes|hosts` divides every job that says nothing of its
nodes itself. Tests of what one node does with all of its ranks' memory or slots are marked `one_node`."""

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence

import pytest
from held_processes import VARIABLES as HELD_VARIABLES
from marked_processes import MARK_VARIABLE

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

from measuring.network import CannotMakeNetwork, Network  # noqa: E402

BEDS = ["one_node", "virtual_nodes", "hosts"]
HOSTS = 3
_PLACED_BY = {"--hosts", "--hostfile", "--ranks-per-node", "--dry-run", "--help"}


class Bed(NamedTuple):
    options: List[str] = []  # of `spillway run`
    environment: Dict[str, str] = {}

    def placed(self, command: Sequence[str]) -> List[str]:
        is_job = len(command) > 2 and Path(command[0]).name == "spillway" and command[1] == "run"
        if not is_job or any(word.partition("=")[0] in _PLACED_BY for word in command):
            return list(command)
        return [*command[:2], *self.options, *command[2:]]


@contextmanager
def made_bed(kind: str, folder: Path) -> Iterator[Bed]:
    if kind == "hosts":
        with made_network(folder) as network:
            yield Bed(["--hosts", ",".join(network.hosts)], network.environment)
    else:
        yield Bed(["--ranks-per-node", "2"] if kind == "virtual_nodes" else [])


@contextmanager
def made_network(folder: Path) -> Iterator[Network]:
    with ExitStack() as stack:
        try:
            network = stack.enter_context(Network(folder, HOSTS, kept=[MARK_VARIABLE, *HELD_VARIABLES]))
        except CannotMakeNetwork as reason:
            pytest.skip(f"no network of several hosts can be made here: {reason}")
        yield network
