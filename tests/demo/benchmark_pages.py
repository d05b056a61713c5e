"""Runs benchmarks and looks at what they write."""

import json
import os
import sys
from pathlib import Path
from typing import Dict

from runner import Runner

SOURCE = Path(__file__).resolve().parent.parent.parent


def measured(
    run: Runner, build_dir: Path, tmp_path: Path, name: str, *options: object, script_name: str = "run.py"
) -> Dict:
    path = tmp_path / "figures.json"
    script = SOURCE / "bench" / name / script_name
    finished = run(sys.executable, script, "--build", build_dir, "--json", path, *options, status=None, timeout_s=120)
    assert finished.status == (1 if "MISSED" in finished.stdout else 0), finished.report()
    assert "FAILED" not in finished.stdout, finished.report()
    assert "Linux" in finished.stdout
    assert path.exists(), finished.report()
    content = json.loads(path.read_text())
    assert content["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert "Spillway" in content["versions"]
    return content


def assert_is_spread(figures: Dict, repeats: int) -> None:
    assert len(figures["all"]) == repeats
    assert 0 < figures["least"] <= figures["median"] <= figures["most"]
