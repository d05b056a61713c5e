"""How programs are started on the first hosts of a network, by Spillway and by the MPI library alone."""

from pathlib import Path
from typing import List, NamedTuple

from measuring.build import Build
from measuring.network import Network


class Setting(NamedTuple):
    build: Build
    flavour: str
    network: Network
    memory: str  # budget of each host
    folder: Path  # for spill files
    limit_s: float  # of each run

    def program(self, name: str) -> str:
        return self.build.mpi_program("bench", name, self.flavour)

    def spillway(self, hosts: int, ranks_per_host: int, slots: int) -> List[str]:
        names = ",".join(self.network.hosts[:hosts])
        options = ["-n", hosts * ranks_per_host, "--slots", slots, "--hosts", names, "--memory", self.memory]
        return self.build.spillway(*options, "--spill-dir", self.folder, "--summary", "none")

    def plain(self, hosts: int, ranks_per_host: int) -> List[str]:
        from spillway_front_end.hosts import HostList
        from spillway_front_end.mpi_launcher import find_launcher, launcher_command
        from spillway_front_end.mpi_library import detect_mpi_library

        library = detect_mpi_library(self.program("small-operations"))
        names = HostList(self.network.hosts[:hosts], "block", self.network.address)
        return launcher_command(library, find_launcher(library), hosts * ranks_per_host, names)
