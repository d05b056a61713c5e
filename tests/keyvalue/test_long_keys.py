"""Keys of a gigabyte, which take a machine to themselves for a while."""

from pathlib import Path
from typing import Callable, List

import pytest

pytestmark = pytest.mark.libraries_in_turn


@pytest.mark.parametrize("way", [["--plain"], ["--slots", 1, "--memory", "6G"]])
def test_keys_may_have_no_byte_and_a_gigabyte(run_job: Callable, nothing_left_behind: None, way: List[object]) -> None:
    words = [*way, "-n", 1, "-O", 1, "-A", 1]
    finished, report = run_job(words, "long-keys", 1 << 30, env={"MPI_D_MEMORY": "64M"})
    groups = [line for line in finished.stderr.splitlines() if line.endswith(", whole")]
    assert groups == [f"A task 0: {size} bytes, 1 values, whole" for size in (0, 1 << 30)]
    assert report["spilled_bytes"] >= 1 << 30


@pytest.mark.parametrize(
    "way, size, has_checkpoint",
    [(["--plain"], 1 << 30, True), (["--slots", 2, "--memory", "4G"], 1 << 28, False)],
    ids=["plain_with_checkpoint", "spillway"],
)
def test_long_keys_go_to_other_processes(
    run_job: Callable,
    spill_dir: Path,
    nothing_left_behind: None,
    way: List[object],
    size: int,
    has_checkpoint: bool,
) -> None:
    checkpoint = spill_dir / "checkpoint"  # on a disk
    words = [*way, "-n", 2, "-O", 1, "-A", 2, *(["--checkpoint", checkpoint] if has_checkpoint else [])]
    finished, report = run_job(words, "long-keys", size, "away", env={"MPI_D_MEMORY": "64M"})
    groups = [line for line in finished.stderr.splitlines() if line.endswith(", whole")]
    assert [line.partition(": ")[2] for line in groups] == [f"{length} bytes, 1 values, whole" for length in (0, size)]
    assert report["sent_bytes"] > size and report["spilled_bytes"] >= size
    if has_checkpoint:
        checkpoint.rmdir()  # empty
