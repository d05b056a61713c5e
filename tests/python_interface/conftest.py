"""Puts the package `spillway` where tests can import it, and starts scripts with the mpi4py of tests/mpi4py."""

import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

SOURCE = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
sys.path += [str(SOURCE / "python"), str(SOURCE / "tests" / "mpi4py")]

from suite_environment import SuiteEnvironment  # noqa: E402


@pytest.fixture(scope="session")
def mpi4py_environment(build_dir: Path) -> SuiteEnvironment:
    """A Python with mpi4py and NumPy."""
    return SuiteEnvironment(build_dir)


@pytest.fixture(scope="session")
def spillway_program(spillway: Path) -> Path:
    """The command, for tests in which `spillway` is the package."""
    return spillway


@pytest.fixture
def script(mpi4py_environment: SuiteEnvironment, flavour: str) -> Callable[..., List[Any]]:
    """script(name, *arguments): the words of a rank; the environment for mpi4py is there then."""
    mpi4py_environment.make(flavour)
    return lambda name, *arguments: [mpi4py_environment.python(flavour), PROGRAMS / name, *arguments]


@pytest.fixture
def variables(mpi4py_environment: SuiteEnvironment, spillway: Path, run, flavour: str) -> Dict[str, str]:
    """The environment of a job, as the reference page says: PYTHONPATH from the command `spillway`."""
    return {**mpi4py_environment.variables(flavour), "PYTHONPATH": run(spillway, "--python-path").stdout.rstrip("\n")}


@pytest.fixture
def script_job(run, script, variables, spillway, spill_dir, flavour) -> Callable[..., Any]:
    """script_job(ranks, slots, name, *arguments): runs a script under Spillway."""

    def run_job(
        ranks: int, slots: int, *words: Any, memory="1G", report=("--summary", "none"), status: int = 0, env=None
    ):
        command = [spillway, "run", "-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir]
        command += ["--mpi", flavour, *report, "--"]
        return run(*command, *script(*words), env={**variables, **(env or {})}, status=status)

    return run_job


@pytest.fixture
def plain_script(run, script, variables, plain_mpi, flavour) -> Callable[..., Any]:
    """plain_script(ranks, name, *arguments): runs a script under a plain mpiexec."""

    def run_job(ranks: int, *words: Any, env=None):
        return run(*plain_mpi(flavour, ranks), *script(*words), env={**variables, **(env or {})})

    return run_job
