"""Jobs of the programs of this folder, as its tests start them."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest


@pytest.fixture
def phases(build_dir: Path) -> Callable[[str], Path]:
    return lambda flavour: build_dir / "lib" / "spillway" / "tests" / f"phases-{flavour}"


@pytest.fixture
def job_of(spillway, spill_dir, tmp_path) -> Callable[..., List[Any]]:
    """job_of(program, ranks, slots, memory, *arguments): the command; `summary` reads the file with its summary."""

    def command(program: Path, ranks: int, slots: int, memory: str, *arguments: Any) -> List[Any]:
        options = ["-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir]
        options += ["--summary", "json", "--summary-file", tmp_path / "summary.json"]
        return [spillway, "run", *options, "--", program, *arguments]

    return command


@pytest.fixture
def job(job_of, phases) -> Callable[..., List[Any]]:
    """The same for the program `phases`: job(flavour, ranks, slots, memory, *arguments)."""
    return lambda flavour, *arguments: job_of(phases(flavour), *arguments)


@pytest.fixture
def summary(tmp_path) -> Callable[[], Dict[str, Any]]:
    def figures() -> Dict[str, Any]:
        page = json.loads((tmp_path / "summary.json").read_text())
        return {**page, **page["totals"]}

    return figures
