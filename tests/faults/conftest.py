"""Jobs that go wrong: started with little memory, in an empty spill directory."""

from pathlib import Path
from typing import Callable, List

import pytest
from failing_jobs import RANKS


@pytest.fixture
def job_command(spillway: Path, spill_dir: Path, build_dir: Path) -> Callable[..., List[str]]:
    """job_command(flavour, how, *options): runs failing_rank, whose last rank fails as `how` says."""

    def words(flavour: str, how: str, *options: str) -> List[str]:
        program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
        assert program.is_file(), f"{program} has not been built"
        fixed = ["run", "-n", str(RANKS), "--slots", "2", "--memory", "1G", "--spill-dir", str(spill_dir)]
        return [str(spillway), *fixed, "--summary", "none", *options, str(program), how]

    return words
