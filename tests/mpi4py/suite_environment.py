"""What mpi4py's tests need to run: a Python environment with mpi4py and NumPy, and the tests themselves.

Both come from PyPI once and stay in a folder of the build. mpi4py's wheel has an extension module for each MPI library
and finds the library by its usual name; Debian's MPICH has another, so a link with the usual name is made. Built from
source, mpi4py needs a compiler and Python's headers, and an environment for each MPI library.
"""

import fcntl
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
BOOTSTRAP_PIP = HERE.parent.parent / "scripts" / "bootstrap_pip.py"
# The name of the library that the wheel asks for.
WHEEL_LIBRARY = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}


@dataclass
class SuiteEnvironment:
    build: Path
    from_source: bool = False

    @property
    def folder(self) -> Path:
        return self.build / "mpi4py"

    @property
    def suite(self) -> Path:
        """The unpacked source distribution; the tests are in its folder `test`."""
        return self.folder / "suite"

    def python(self, flavour: str) -> Path:
        return self.folder / (f"source-{flavour}" if self.from_source else "wheel") / "bin" / "python3"

    def variables(self, flavour: str) -> Dict[str, str]:
        """What the environment of a job has besides."""
        if self.from_source:
            return {}
        path = [str(self.library_folder(flavour)), os.environ.get("LD_LIBRARY_PATH", "")]
        return {"MPI4PY_MPIABI": flavour, "LD_LIBRARY_PATH": ":".join(filter(None, path))}

    def library_folder(self, flavour: str) -> Path:
        """Where the wheel finds the MPI library under the name that it looks for."""
        real = library(self.build, flavour)
        # Its own folder, if it can be: libraries from PyPI find what they need beside them.
        return real.parent if real.name == WHEEL_LIBRARY[flavour] else self.folder / "lib" / flavour

    def make(self, flavour: str) -> None:
        """Makes what is missing, or was made for other requirements. Tests that run at the same time wait for it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._make(flavour)

    def _make(self, flavour: str) -> None:
        python = self.python(flavour)
        environment = python.parent.parent
        mark = environment / "ready"
        if not mark.is_file() or mark.read_text() != REQUIREMENTS.read_text():
            print(f"making {environment}", flush=True)
            run(sys.executable, "-m", "venv", "--clear", "--without-pip", environment)
            run(python, BOOTSTRAP_PIP)
            variables, options = {}, ["--only-binary", "mpi4py"]
            if self.from_source:
                variables, options = (
                    {"MPICC": compiler(self.build, flavour)},
                    ["--no-binary", "mpi4py", "--no-cache-dir"],
                )
            run(python, "-m", "pip", "install", *options, "--requirement", REQUIREMENTS, variables=variables)
            mark.write_text(REQUIREMENTS.read_text())
        self.make_suite(python)
        link = self.library_folder(flavour) / WHEEL_LIBRARY[flavour]
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(library(self.build, flavour))

    def make_suite(self, python: Path) -> None:
        requirement = next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("mpi4py=="))
        mark = self.folder / "suite-ready"
        if mark.is_file() and mark.read_text() == requirement:
            return
        options = ["--no-deps", "--no-binary", "mpi4py", "--dest", self.folder / "download"]
        run(python, "-m", "pip", "download", *options, requirement)
        name = requirement.replace("==", "-")
        with tarfile.open(self.folder / "download" / f"{name}.tar.gz") as archive:
            archive.extractall(self.folder / "download")
        run("rm", "-rf", self.suite)
        (self.folder / "download" / name).rename(self.suite)
        mark.write_text(requirement)

    def modules(self) -> List[str]:
        return sorted(path.stem for path in (self.suite / "test").glob("test_*.py"))


def run(*words: object, variables: Dict[str, str] = {}) -> None:  # noqa: B006 (never written to)
    finished = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **variables},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(finished.args)} ended with status {finished.returncode}:\n{finished.stdout}")


def compiler(build: Path, flavour: str) -> str:
    """The build's compiler wrapper for an MPI library."""
    found = re.search(rf"^SPILLWAY_MPICC_{flavour}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if not found:
        raise SystemExit(f"{build} is not built for {flavour}")
    return found.group(1)


def launcher(build: Path, flavour: str) -> Path:
    folder = Path(compiler(build, flavour)).parent.resolve()
    return next(path for path in (folder / f"mpiexec.{flavour}", folder / "mpiexec") if path.exists())


def library(build: Path, flavour: str) -> Path:
    """The MPI library of the build's programs, as the dynamic loader finds it for one of them."""
    program = build / "lib" / "spillway" / "tests" / f"communicators-{flavour}"
    listed = subprocess.run(["ldd", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"^\s*libmpi(?:ch)?\.so\.\d+ => (\S+)", listed, re.MULTILINE)
    if not found:
        raise SystemExit(f"{program} is linked with no MPI library that is known here:\n{listed}")
    return Path(found.group(1))
