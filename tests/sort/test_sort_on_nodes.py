"""`spillway sort` on virtual nodes: --memory is of each, the disk is that of all, and the output is the same."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Callable, Iterator, List, Mapping, Optional

import pytest
from held_processes import BLOCK_BYTES, Gate
from marked_processes import process_of_rank
from record_files import expect_sorted, random_keys, records, written
from runner import Finished, Runner, outcome_within
from unmounting import unmount

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

LIMIT_S = 120
RECORDS = 1_000_000


@pytest.fixture
def sort(run: Runner, spillway: Path, flavour: str, spill_dir: Path) -> Callable[..., Finished]:
    def run_sort(*words: object, status: int = 0, env: Optional[Mapping[str, str]] = None) -> Finished:
        own = ["--mpi", flavour, "--spill-dir", spill_dir]
        return run(spillway, "sort", *own, *words, status=status, timeout_s=LIMIT_S, env=env)

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
@pytest.mark.parametrize("shares_memory", [True, False])
def test_finds_the_same_on_nodes(
    sort: Callable[..., Finished],
    tmp_path: Path,
    processes: int,
    of_node: int,
    memory: str,
    is_in_memory: bool,
    readers: int,
    shares_memory: bool,
) -> None:
    """Nodes of a host share its memory for `pgas`, unless they are told not to."""
    source = written(tmp_path / "records", records(random_keys(RECORDS)))
    options: List[object] = ["-n", processes, "--ranks-per-node", of_node, "--memory", memory, "--readers", readers]
    options += ["--summary", "json", "--summary-file", tmp_path / "page"]
    environment = {} if shares_memory else {"PGAS_PES_PER_NODE": str(of_node)}
    sort("--output", tmp_path / "sorted", *options, source, env=environment)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is is_in_memory
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page", "records", "sorted"]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of which each second one is there twice or more."""
    path = tmp_path_factory.mktemp("lines") / "lines"
    some = [f"{number * 7919 % 200_003:x} {'line ' * (number % 36)}\n".encode() for number in range(400_000)]
    path.write_bytes(b"".join(some + some[::2]))
    return path


@pytest.mark.parametrize("options", [[], ["--unique"], ["--parts"], ["--count", "--parts"]])
@pytest.mark.parametrize("memory", ["48M", "256M"])
def test_lines_on_nodes_that_share_no_memory(
    sort: Callable[..., Finished], tmp_path: Path, lines: Path, options: List[str], memory: str
) -> None:
    words = ["-n", 3, "--ranks-per-node", 1, "--memory", memory, "--lines", *options]
    words += ["--summary", "json", "--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "sorted", *words, lines, env={"PGAS_PES_PER_NODE": "1"})
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is (memory == "256M")
    parts = sorted((tmp_path / "sorted").glob("part-*")) if "--parts" in options else [tmp_path / "sorted"]
    found = b"".join(part.read_bytes() for part in parts)
    given = lines.read_bytes().splitlines(keepends=True)
    if "--count" in options:
        expected = [b"%7d %s" % (count, line) for line, count in sorted(Counter(given).items())]
    else:
        expected = sorted(set(given) if "--unique" in options else given)
    assert found == b"".join(expected)


def test_blocks_for_other_nodes_while_ranks_are_unloaded(
    run: Runner, spillway: Path, build_dir: Path, flavour: str, spill_dir: Path, tmp_path: Path
) -> None:
    """They are read by the device while their rank waits in MPI, and others have its memory."""
    source = written(tmp_path / "records", records(random_keys(1_500_000)))
    job = [spillway, "run", "-n", 8, "--slots", 1, "--ranks-per-node", 4, "--memory", "108M", "--spill-dir", spill_dir]
    job += ["--summary", "none", "--"]
    program = build_dir / "lib" / "spillway" / f"spillway-sort-{flavour}"
    words = ["--memory", "48M", "--spill-dir", spill_dir, "--output", tmp_path / "sorted", source]
    run(*job, program, *words, env={"PGAS_PES_PER_NODE": "1"}, timeout_s=LIMIT_S)
    expect_sorted(tmp_path / "sorted", [source])


def test_two_sided_delivery_takes_the_memory_of_a_host(
    sort: Callable[..., Finished], tmp_path: Path, flavour: str
) -> None:
    source = written(tmp_path / "records", records(random_keys(1000)))
    words = ["-n", 3, "--readers", 1, "--delivery", "two-sided", "--memory", "256M", "--output", tmp_path / "sorted"]
    message = sort(*words, source, status=1, env={"PGAS_PES_PER_NODE": "1"}).stderr
    cause = "two-sided delivery needs the memory of all processes of a host\n  Remedy: unset PGAS_PES_PER_NODE"
    assert cause in message
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


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
    unmount(folder)


def test_nodes_that_spill_to_one_disk_share_its_room(
    sort: Callable[..., Finished], tmp_path: Path, little_disk: Path
) -> None:
    """76 MiB of each of two nodes: there would be room for one of them."""
    source = written(tmp_path / "records", records(random_keys(1_600_000)))
    options = ["-n", 2, "--ranks-per-node", 1, "--memory", "48M", "--spill-dir", little_disk]
    message = sort("--output", tmp_path / "sorted", *options, source, status=1).stderr
    assert f"the data need 152 MiB of the spill directory {little_disk}, where " in message
    assert not (tmp_path / "sorted").exists() and not list(tmp_path.glob(".sorted*"))


@pytest.mark.parametrize(("options", "what"), [([], "the data"), (["--parts"], "the data and the output")])
def test_an_output_on_the_disk_that_is_spilled_to_shares_its_room(
    sort: Callable[..., Finished], tmp_path: Path, little_disk: Path, options: List[str], what: str
) -> None:
    """There would be room for one of them."""
    source = written(tmp_path / "records", records(random_keys(700_000)))
    words = ["-n", 2, "--memory", "96M", "--spill-dir", little_disk, "--output", little_disk / "sorted", *options]
    message = sort(*words, source, status=1).stderr
    needed = 66 if not options else 133
    assert f"{what} need {needed} MiB of the spill directory {little_disk}, where " in message
    assert [path.name for path in little_disk.iterdir()] == ["lost+found"]


@pytest.mark.parametrize("shares_memory", [True, False])
@pytest.mark.parametrize("memory", ["48M", "512M"])
def test_a_killed_process_of_the_second_node_ends_the_sort_and_leaves_nothing(
    run: Runner,
    spillway: Path,
    flavour: str,
    spill_dir: Path,
    tmp_path: Path,
    gate: Gate,
    memory: str,
    shares_memory: bool,
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", memory, "-n", 2, "--ranks-per-node", 1]
    held = gate.before("read", source, least_bytes=BLOCK_BYTES)
    held |= {} if shares_memory else {"PGAS_PES_PER_NODE": "1"}
    job = run.start([spillway, "sort", *own, "--output", tmp_path / "sorted", source], env=held)
    gate.wait_for_one(job)
    victim = process_of_rank(1, f"spillway-sort-{flavour}", run.mark)
    assert victim, "there is no such process"
    os.kill(victim, signal.SIGKILL)
    gate.open()
    _, message = outcome_within(job, LIMIT_S)
    assert job.returncode == 128 + signal.SIGKILL
    assert "spillway: rank 1 " in message and "was killed by signal 9" in message
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
