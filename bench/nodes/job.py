"""How programs are started on the first hosts of a network, by Spillway and by the MPI library alone."""

import re
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Sequence

from measuring.build import Build
from measuring.network import Network
from measuring.program_run import RunFailed, run


class Setting(NamedTuple):
    build: Build
    flavour: str
    network: Network
    memory: str  # budget of each host
    folder: Path  # for spill files
    limit_s: float  # of each run

    def versions(self) -> str:
        """Of Spillway and of the MPI library."""
        mpi = self.build.mpi_of(self.program("small-operations"))
        return f"{self.build.version()}, {mpi.title} {mpi.version}"

    def program(self, name: str) -> str:
        return self.build.mpi_program("bench", name, self.flavour)

    def application(self, name: str) -> str:
        return self.build.mpi_program("tests", name, self.flavour)

    def spillway(self, hosts: int, ranks_per_host: int, slots: int) -> List[str]:
        return self.spillway_on(self.network.hosts[:hosts], ranks_per_host, slots)

    def spillway_on(self, hosts: Sequence[str], ranks_per_host: int, slots: int) -> List[str]:
        options = ["-n", len(hosts) * ranks_per_host, "--slots", slots, "--hosts", ",".join(hosts)]
        options += ["--memory", self.memory]
        return self.build.spillway(*options, "--spill-dir", self.folder, "--summary", "none")

    def plain(self, hosts: int, ranks_per_host: int) -> List[str]:
        from spillway_front_end.hosts import HostList
        from spillway_front_end.mpi_launcher import find_launcher, launcher_command
        from spillway_front_end.mpi_library import detect_mpi_library

        library = detect_mpi_library(self.program("small-operations"))
        names = HostList(self.network.hosts[:hosts], "block", self.network.address)
        return launcher_command(library, find_launcher(library), hosts * ranks_per_host, names)


class _Said(Exception):
    """A line has come that says all that the run was for."""


def lines_of_run(
    command: List[str],
    setting: Setting,
    on_line: Optional[Callable[[str], None]] = None,
    last: Optional[re.Pattern] = None,
) -> List[str]:
    """Of standard output, until the one that matches `last` has come; without it until the program has ended, and well.
    What it ran on the hosts may still end."""
    lines = []

    def take(line: str) -> None:
        lines.append(line)
        if on_line:
            on_line(line)
        if last and last.match(line):
            raise _Said

    try:
        run(command, setting.limit_s, on_line=take, environment=setting.network.environment)
    except _Said:
        pass
    except RunFailed as failure:
        raise RunFailed(f"{' '.join(command)}\n{failure}") from None
    return lines
