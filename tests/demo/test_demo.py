"""The demonstration as a whole, on a small graph."""

import os
import signal
import sys
from pathlib import Path
from typing import List

import pytest
from out_of_core import l1_difference
from runner import Runner, outcome_within

SOURCE = Path(__file__).resolve().parent.parent.parent
# The smallest graph whose quarter has room for what 16 ranks take before they have any data.
SCALE = 21


@pytest.fixture
def demo_words(build_dir: Path, spill_dir: Path) -> List[object]:
    return [sys.executable, SOURCE / "demo" / "demo.py", "--build", build_dir, "--folder", spill_dir, "--scale", SCALE]


def test_ranks_packages_and_agrees_out_of_core(
    run: Runner, demo_words: List[object], nothing_left_behind: None
) -> None:
    index = Path(__file__).with_name("packages.txt")
    shown = run(*demo_words, "--iterations", 3, "--index", index, timeout_s=120).stdout
    lines = {line.split("  ")[1].strip(): line for line in shown.splitlines() if line.startswith("  ")}
    # `base` is what three packages need and leads nowhere.
    packages = shown[shown.index("needed by") :].splitlines()[2:]
    assert packages[0].split() == ["base", packages[0].split()[1], "3", "packages"]
    assert float(lines["L1 difference"].split()[2]) <= 1e-9
    assert "the same ranks" in lines["L1 difference"]
    data, budget, resident = (int(lines[name].split()[1]) for name in ("data", "budget", "resident"))
    assert data >= 4 * budget
    assert 0 < resident <= budget
    assert "\033" not in shown  # nothing of a terminal when there is none


def test_refuses_a_folder_without_room(run: Runner, demo_words: List[object]) -> None:
    failed = run(*demo_words[:-1], 32, status=1)
    assert "are needed" in failed.stderr and "--folder" in failed.stderr


def test_goes_on_without_an_index_and_leaves_nothing_when_interrupted(
    run: Runner, demo_words: List[object], tmp_path: Path, nothing_left_behind: None
) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    demo = run.start([*demo_words, "--iterations", 40, "--index", empty])
    shown = ""
    for line in demo.stdout:
        shown += line
        if "MiB resident" in line:  # a quarter of the iterations under Spillway
            break
    os.kill(demo.pid, signal.SIGINT)
    rest, errors = outcome_within(demo, 30)
    shown += rest
    assert demo.returncode == 130, errors
    assert "the package index is empty" in shown
    assert "rank it in memory" in shown  # what comes before the run that was interrupted
    assert "rank it within" not in shown
    assert "nothing is left behind" in errors


def test_difference_of_ranks_counts_every_element(tmp_path: Path) -> None:
    from array import array

    paths = [tmp_path / name for name in ("one", "other", "short", "wrong")]
    values = ([0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0.25, 0.5], [0.25, 0.25, 0.5])
    for path, content in zip(paths, values):
        path.write_bytes(array("d", content).tobytes())
    assert l1_difference(paths[0], paths[1]) == 0
    assert l1_difference(paths[0], paths[3]) == 0.5
    assert l1_difference(paths[0], paths[2]) == float("inf")
