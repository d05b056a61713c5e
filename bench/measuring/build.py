"""A build of Spillway, and the words that start programs with it or with the plain MPI library.

Which MPI library a program has, and how its launcher is started, is asked of the front end: so the plain runs use
exactly the launcher and the options that `spillway run` uses.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import List, NamedTuple

SOURCE = Path(__file__).resolve().parent.parent.parent


class Mpi(NamedTuple):
    flavour: str  # mpich or openmpi
    title: str
    version: str
    launch: List[str]  # launcher and options, up to the number of ranks


class Build:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._libraries = self.folder / "lib" / "spillway"
        if not (self.folder / "bin" / "spillway").exists():
            raise SystemExit(
                f"{self.folder} is not a build of Spillway\n  Remedy: ./dev build, or name one with --build"
            )
        sys.path.insert(0, str(self._libraries / "python"))

    def program(self, name: str) -> str:
        """A program of build/bin."""
        return self._existing(self.folder / "bin" / name)

    def mpi_program(self, folder: str, name: str, flavour: str) -> str:
        """A program that is there once for each MPI library, in build/lib/spillway/<folder>."""
        return self._existing(self._libraries / folder / f"{name}-{flavour}")

    def simulation(self, name: str) -> str:
        """A program of build/lib/spillway/bench that is there where SimGrid was."""
        path = self._libraries / "bench" / name
        if not os.access(path, os.X_OK):
            raise SystemExit(
                f"{path} has not been built\n  Cause:  it needs SimGrid, which was not there\n"
                "  Remedy: apt-get install libsimgrid-dev, and ./dev build"
            )
        return str(path)

    def default_flavour(self) -> str:
        return self.mpi_of(self.program("pagerank")).flavour

    def mpi_of(self, program: str) -> Mpi:
        from spillway_front_end.mpi_launcher import find_launcher, launcher_command
        from spillway_front_end.mpi_library import TITLES, detect_mpi_library

        library = detect_mpi_library(program)
        launcher = find_launcher(library)
        words = launcher_command(library, launcher, 0)
        assert words[-2:] == ["-n", "0"], words
        return Mpi(library.flavour, TITLES[library.flavour], launcher.version, words[:-1])

    def plain(self, program: str, ranks: int) -> List[str]:
        return [*self.mpi_of(program).launch, str(ranks), program]

    def spillway(self, *options: object) -> List[str]:
        return [self.program("spillway"), "run", *map(str, options), "--"]

    def version(self) -> str:
        """Spillway's version, with the commit that the sources are at."""
        words = [self.program("spillway"), "--version"]
        version = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        try:
            git = ["git", "-C", str(SOURCE), "describe", "--always", "--dirty"]
            commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
        except FileNotFoundError:
            commit = ""
        return f"{version} ({commit})" if commit else version

    @staticmethod
    def _existing(path: Path) -> str:
        if not os.access(path, os.X_OK):
            raise SystemExit(f"{path} has not been built\n  Remedy: ./dev build")
        return str(path)


def add_build_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", type=Path, default=SOURCE / "build", help="folder of the build (default: build)")
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), help="MPI library (default: the build's first)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
