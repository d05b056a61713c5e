"""Jobs of the program `phases`, as the tests of this folder start them."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest


@pytest.fixture
def phases(build_dir: Path) -> Callable[[str], Path]:
    return lambda flavour: build_dir / "lib" / "spillway" / "tests" / f"phases-{flavour}"


@pytest.fixture
def job(spillway, spill_dir, tmp_path, phases) -> Callable[..., List[str]]:
    """job(flavour, ranks, slots, memory, *arguments): the words; the summary goes to the file that `summary` reads."""

    def command(flavour: str, ranks: int, slots: int, memory: str, *arguments: Any) -> List[Any]:
        options = ["-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir]
        options += ["--summary", "json", "--summary-file", tmp_path / "summary.json"]
        return [spillway, "run", *options, "--", phases(flavour), *arguments]

    return command


@pytest.fixture
def summary(tmp_path) -> Callable[[], Dict[str, Any]]:
    def figures() -> Dict[str, Any]:
        page = json.loads((tmp_path / "summary.json").read_text())
        return {**page, **page["totals"]}

    return figures
