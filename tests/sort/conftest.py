"""Runs `spillway sort`."""

from pathlib import Path
from typing import Callable, Optional

import pytest
from runner import Finished, Runner

LIMIT_S = 120


@pytest.fixture
def sort(run: Runner, spillway: Path, flavour: str, spill_dir: Path) -> Callable[..., Finished]:
    def run_sort(*words: object, status: Optional[int] = 0, **options: object) -> Finished:
        own = ["--mpi", flavour, "--spill-dir", spill_dir]
        return run(spillway, "sort", *own, *words, status=status, timeout_s=LIMIT_S, **options)

    return run_sort
