"""`spillway sort` on virtual nodes: --memory is of each, the disk is that of all, and the output is the same."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
from marked_processes import process_of_rank
from record_files import expect_sorted, random_keys, records, written
from runner import Finished, Runner

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

LIMIT_S = 120
RECORDS = 1_000_000


@pytest.fixture
def sort(run: Runner, spillway: Path, flavour: str, spill_dir: Path) -> Callable[..., Finished]:
    def run_sort(*words: object, status: int = 0) -> Finished:
        own = ["--mpi", flavour, "--spill-dir", spill_dir]
        return run(spillway, "sort", *own, *words, status=status, timeout_s=LIMIT_S)

    return run_sort


@pytest.mark.parametrize(
    ("processes", "of_node", "memory", "is_in_memory", "readers"),
    [
        (2, 1, "48M", False, 0),
        (4, 2, "96M", False, 1),
        (5, 2, "96M", False, 0),  # of which the last node has one
        (3, 1, "256M", True, 1),
        (5, 3, "512M", True, 0),
    ],
)
@pytest.mark.libraries_in_turn
def test_finds_the_same_on_nodes(
    sort: Callable[..., Finished],
    tmp_path: Path,
    processes: int,
    of_node: int,
    memory: str,
    is_in_memory: bool,
    readers: int,
) -> None:
    source = written(tmp_path / "records", records(random_keys(RECORDS)))
    options: List[object] = ["-n", processes, "--ranks-per-node", of_node, "--memory", memory, "--readers", readers]
    options += ["--summary", "json", "--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "sorted", *options, source)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is is_in_memory
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page", "records", "sorted"]


@pytest.mark.libraries_in_turn
def test_memory_of_a_node_is_its_processes_together(sort: Callable[..., Finished], tmp_path: Path) -> None:
    source = written(tmp_path / "records", records(random_keys(100)))
    words = ["--output", tmp_path / "sorted", "-n", 3, "--ranks-per-node", 2, "--memory", "80M", source]
    assert "40 MiB of memory for each process are too few to sort in" in sort(*words, status=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system on 128 MiB of a file, which takes root."""
    image, folder = tmp_path / "image", tmp_path / "little"
    image.touch()
    os.truncate(image, 128 << 20)
    folder.mkdir()
    for words in (["mkfs.ext4", "-q", "-m", "0", image], ["mount", "-o", "loop", image, folder]):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"NOT TESTED, a disk that is full: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_nodes_that_spill_to_one_disk_share_its_room(
    sort: Callable[..., Finished], tmp_path: Path, little_disk: Path
) -> None:
    """76 MiB of each of two nodes: there would be room for one of them."""
    source = written(tmp_path / "records", records(random_keys(1_600_000)))
    options = ["-n", 2, "--ranks-per-node", 1, "--memory", "48M", "--spill-dir", little_disk]
    message = sort("--output", tmp_path / "sorted", *options, source, status=1).stderr
    assert f"the data need 152 MiB of the spill directory {little_disk}, where " in message
    assert not (tmp_path / "sorted").exists() and not list(tmp_path.glob(".sorted*"))


@pytest.mark.parametrize("memory", ["48M", "512M"])
def test_a_killed_process_of_the_second_node_ends_the_sort_and_leaves_nothing(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, memory: str
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", memory, "-n", 2, "--ranks-per-node", 1]
    job = run.start([spillway, "sort", *own, "--output", tmp_path / "sorted", source])
    deadline = time.monotonic() + LIMIT_S
    while not list(tmp_path.glob(".sorted.spillway-*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    victim = process_of_rank(1, f"spillway-sort-{flavour}", run.mark)
    assert victim, "the sort has ended before"
    os.kill(victim, signal.SIGKILL)
    _, message = job.communicate(timeout=LIMIT_S)
    assert job.returncode == 128 + signal.SIGKILL
    assert "spillway: rank 1 " in message and "was killed by signal 9" in message
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
