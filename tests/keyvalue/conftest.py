"""Fixtures of the tests of key-value jobs."""

import json
import sys
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Tuple

import pytest
from runner import Finished, Runner
from source_tree import SOURCE

sys.path += [str(SOURCE / "python"), str(SOURCE / "tests" / "mpi4py")]

from suite_environment import SuiteEnvironment  # noqa: E402

JOB_LIMIT_S = 60


@pytest.fixture
def key_value_program(build_dir: Path, flavour: str) -> Callable[[str], Path]:
    """key_value_program(name): one of those built for the flavour."""

    def path_of(name: str) -> Path:
        path = build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"
        assert path.is_file(), f"{path} has not been built"
        return path

    return path_of


@pytest.fixture
def run_records(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str, tmp_path: Path
) -> Callable[..., Finished]:
    """run_records(*options, processes=, env=, status=): generated-records under the MPI library alone."""

    def run_it(
        *options: object, processes: int = 2, status: int = 0, env: Optional[Mapping[str, object]] = None
    ) -> Finished:
        words = [*plain_mpi(flavour, processes), key_value_program("generated-records")]
        variables = {name: str(value) for name, value in (env or {}).items()}
        return run(*words, f"output={tmp_path / 'out'}", *options, status=status, env=variables, timeout_s=JOB_LIMIT_S)

    return run_it


@pytest.fixture
def mpidrun(build_dir: Path) -> Path:
    path = build_dir / "bin" / "mpidrun"
    assert path.is_file(), f"{path} has not been built"
    return path


@pytest.fixture
def run_job(
    run: Runner, mpidrun: Path, key_value_program: Callable, spill_dir: Path, tmp_path: Path
) -> Callable[..., Tuple[Finished, Dict]]:
    """run_job(options, name, *arguments, status=, env=): under mpidrun; returns its report, too."""

    def run_it(
        options: List[object],
        name: str,
        *arguments: object,
        status: Optional[int] = 0,
        env: Optional[Mapping[str, object]] = None,
    ) -> Tuple[Finished, Dict]:
        report = tmp_path / "report.json"
        words = [*options, "--spill-dir", spill_dir, "--summary", "json", "--summary-file", report, "--"]
        variables = {key: str(value) for key, value in (env or {}).items()}
        program = key_value_program(name)
        finished = run(mpidrun, *words, program, *arguments, status=status, env=variables, timeout_s=JOB_LIMIT_S)
        text = report.read_text() if report.exists() else ""
        return finished, json.loads(text)["key_value"] if text else {}

    return run_it


@pytest.fixture
def run_python(
    run: Runner, mpidrun: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> Callable[..., Finished]:
    """run_python(options, script, *arguments, status=, env=, python=): a Python program under mpidrun."""

    def run_it(
        options: List[object],
        script: Path,
        *arguments: object,
        status: Optional[int] = 0,
        env: Optional[Mapping[str, object]] = None,
        python: object = sys.executable,
    ) -> Finished:
        words = [*options, "--mpi", flavour, "--spill-dir", spill_dir, "--summary", "none", "--", python, script]
        variables = {key: str(value) for key, value in (env or {}).items()}
        return run(mpidrun, *words, *arguments, status=status, env=variables, timeout_s=JOB_LIMIT_S)

    return run_it


@pytest.fixture
def end_at_call(build_dir: Path, tmp_path: Path) -> Callable[..., Dict[str, object]]:
    """In this environment a process is ended, once, at its `call`th fdatasync, or rename or unlink below tmp_path."""

    def environment(call: int, rank: Optional[int] = None) -> Dict[str, object]:
        library = build_dir / "lib" / "spillway" / "tests" / "libends-at-call.so"
        env = {"ENDS_AT_CALL": call, "ENDS_AT_CALL_ONCE": tmp_path / "has-ended", "LD_PRELOAD": library}
        return env if rank is None else {**env, "ENDS_AT_CALL_RANK": rank}

    return environment


@pytest.fixture
def reads_fail(end_at_call: Callable) -> Callable[[str], Dict[str, object]]:
    """In this environment files whose path ends so cannot be read: their disk has an error."""
    return lambda path: {**end_at_call(0), "READS_FAIL": path}


@pytest.fixture(scope="session")
def package_environment(build_dir: Path) -> SuiteEnvironment:
    """A Python with mpi4py, NumPy and pyarrow."""
    return SuiteEnvironment(build_dir)


@pytest.fixture
def python_with_packages(package_environment: SuiteEnvironment, flavour: str) -> Dict[str, object]:
    """Of run_python(): python= and env=."""
    package_environment.make(flavour)
    return {"python": package_environment.python(flavour), "env": package_environment.variables(flavour)}
