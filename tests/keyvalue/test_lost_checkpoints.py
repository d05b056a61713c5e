"""What a restart is to go on from is removed or damaged meanwhile: the right result, or an error that says it."""

from pathlib import Path
from typing import Callable, List

import pytest
from parts import parts_in

pytestmark = pytest.mark.libraries_in_turn

PROGRAM = Path(__file__).resolve().parent / "python" / "damages_checkpoint.py"
KEYS, TASKS = 30_000, 12


@pytest.fixture
def run_again(run_python: Callable, tmp_path: Path) -> Callable:
    """run_again(what, when, status=): on one process, with one restart. Returns standard error."""

    def run_it(what: str, when: str, status: int = 0) -> str:
        checkpoint = tmp_path / "checkpoint"
        job = ["--plain", "-n", 1, "--checkpoint", checkpoint, "--restarts", 1]
        words = [tmp_path / "out", checkpoint, tmp_path / "log", what, when]
        return run_python(job, PROGRAM, *words, status=status).stderr

    return run_it


@pytest.fixture
def run_damaged(run_again: Callable) -> Callable:
    """run_damaged(what, when, status=): the first time, in which it is started again."""

    def run_it(what: str, when: str, status: int = 0) -> str:
        stderr = run_again(what, when, status=status)
        assert "goes on from its checkpoint (restart 1 of 1)" in stderr
        return stderr

    return run_it


def changed(tmp_path: Path) -> List[str]:
    names = [name for name in (tmp_path / "log").read_text().split() if name != "died"]
    assert len(names) >= 3
    return names


def check_sums(folder: Path) -> None:
    lines = [line for path in parts_in(folder) for line in path.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{key}\t{TASKS * (TASKS - 1) // 2}" for key in range(KEYS))


@pytest.mark.parametrize("what", ["removed", "flipped"])
def test_files_that_change_before_the_restart_are_not_used(run_damaged: Callable, tmp_path: Path, what: str) -> None:
    stderr = run_damaged(what, "dying")
    unused = [name for name in changed(tmp_path) if f"{name} is damaged, and is not used" in stderr]
    assert unused == (changed(tmp_path) if what == "flipped" else [])
    check_sums(tmp_path / "out")
    assert list((tmp_path / "checkpoint").iterdir()) == []


@pytest.mark.parametrize("what", ["removed", "flipped"])
def test_files_that_change_while_a_tasks_merge_from_them_end_the_job(
    run_damaged: Callable, run_again: Callable, tmp_path: Path, what: str
) -> None:
    stderr = run_damaged(what, "merging", status=1)
    assert any(f"{tmp_path}/checkpoint/{name}" in stderr for name in changed(tmp_path)), stderr
    assert (
        "No such file or directory"
        if what == "removed"
        else "start the job again, which then does not use what is damaged"
    ) in stderr
    assert "Remedy: " in stderr
    assert not [path for path in (tmp_path / "out").iterdir() if path.suffix != ".partial"]
    run_again(what, "merging")
    check_sums(tmp_path / "out")
    assert list((tmp_path / "checkpoint").iterdir()) == []
