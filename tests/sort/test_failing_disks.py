"""Disks that cannot be read, or are full in the middle of a sort: named, and nothing is left. It takes root."""

import contextlib
import fcntl
import os
import re
import struct
import subprocess
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple

import pytest
from held_processes import BLOCK_BYTES, Gate
from record_files import random_keys, records, written
from runner import Finished, Runner, outcome_within
from test_sort import LIMIT_S, partial_output
from unmounting import unmount

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20
BLOCK = 4096
BLOCK_OF_FILE = 1  # FIBMAP, an ioctl


class Disk(NamedTuple):
    """What is beyond the image's end cannot be read."""

    image: Path
    folder: Path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """256 MiB, to which nothing is written but what is in files."""
    place = Disk(tmp_path / "image", tmp_path / "disk")
    place.image.touch()
    os.truncate(place.image, 256 * MIB)
    place.folder.mkdir()
    made = ["mkfs.ext4", "-q", "-m", "0", "-b", str(BLOCK), "-O", "^has_journal", place.image]
    for words in (made, ["mount", "-o", "loop,noatime", place.image, place.folder]):
        try:
            done = subprocess.run(words, capture_output=True, text=True)
        except FileNotFoundError as error:
            pytest.skip(f"NOT TESTED, a disk that fails: {error}")
        if done.returncode != 0:
            pytest.skip(f"NOT TESTED, a disk that fails: {done.stderr.strip()}")
    yield place
    unmount(place.folder)


def names_in(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_input_that_cannot_be_read(sort: Callable[..., Finished], tmp_path: Path, disk: Disk) -> None:
    source = written(disk.folder / "records", records(random_keys(500_000)))
    with open(source, "rb") as file:
        os.fsync(file)
        late = struct.pack("i", source.stat().st_size // BLOCK * 3 // 4)
        [block] = struct.unpack("i", fcntl.ioctl(file, BLOCK_OF_FILE, late))
    os.truncate(disk.image, block * BLOCK)
    message = sort("--output", tmp_path / "sorted", "-n", 2, "--memory", "96M", source, status=1).stderr
    assert re.search(rf"rank \d of 2 on \S+: cannot read {source} at byte \d+: Input/output error\n  Remedy: ", message)
    assert names_in(tmp_path) == ["disk", "image"]


@pytest.fixture
def start_sort(
    run: Runner, spillway: Path, flavour: str, tmp_path: Path, disk: Disk, gate: Gate
) -> Callable[..., subprocess.Popen]:
    """start_sort(path): of 152 MiB that are spilled to the disk. Processes wait before they write there a second time
    (of the first, something may be there): what they have read ahead is little of what they have spilled."""

    def start(path: Path) -> subprocess.Popen:
        source = written(tmp_path / "records", records(random_keys(1_600_000)))
        own = ["--mpi", flavour, "--spill-dir", disk.folder, "--memory", "96M", "-n", 2]
        words = [spillway, "sort", *own, "--output", tmp_path / "sorted", source]
        job = run.start(words, env=gate.before("write", path, number=2, least_bytes=BLOCK_BYTES))
        gate.wait_for_one(job)
        return job

    return start


def expect_the_end(job: subprocess.Popen, cause: str, tmp_path: Path) -> None:
    _, message = outcome_within(job, LIMIT_S)
    assert job.returncode == 1, message
    assert re.search(rf"rank \d of 2 on \S+: cannot {cause}\n  Remedy: ", message), message
    assert names_in(tmp_path) == ["disk", "image", "records"]


def test_a_spill_file_that_cannot_be_read(
    start_sort: Callable[..., subprocess.Popen], tmp_path: Path, disk: Disk, gate: Gate
) -> None:
    job = start_sort(partial_output(tmp_path))
    os.truncate(disk.image, MIB)
    gate.open()
    cause = rf"read the spill file in {disk.folder} at byte \d+: Input/output error"
    expect_the_end(job, cause, tmp_path)


def fill(folder: Path) -> None:
    with open(folder / "other", "wb", buffering=0) as other:
        with contextlib.suppress(OSError):
            while other.write(bytes(MIB)) == MIB:
                pass


def test_a_spill_directory_that_others_fill(
    start_sort: Callable[..., subprocess.Popen], tmp_path: Path, disk: Disk, gate: Gate
) -> None:
    job = start_sort(disk.folder)
    fill(disk.folder)
    gate.open()
    cause = rf"write the spill file in {disk.folder} at byte \d+: No space left on device"
    expect_the_end(job, cause, tmp_path)
    assert names_in(disk.folder) == ["lost+found", "other"]


@pytest.fixture
def start_sort_to(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, gate: Gate
) -> Callable[..., subprocess.Popen]:
    """start_sort_to(folder, options): the same, whose processes wait before they write there a second time."""

    def start(folder: Path, options: List[str]) -> subprocess.Popen:
        source = written(tmp_path / "records", records(random_keys(1_600_000)))
        own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", "96M", "-n", 2, *options]
        words = [spillway, "sort", *own, "--output", folder / "sorted", source]
        held = gate.before("write", folder / ".sorted.spillway-", number=2, least_bytes=BLOCK_BYTES)
        job = run.start(words, env=held)
        gate.wait_for_one(job)
        return job

    return start


@pytest.mark.parametrize("options", [["--unique"], ["--unique", "--parts"]])
def test_a_disk_that_others_fill_while_an_output_of_unknown_size_is_written(
    start_sort_to: Callable[..., subprocess.Popen], tmp_path: Path, disk: Disk, gate: Gate, options: List[str]
) -> None:
    job = start_sort_to(disk.folder, options)
    fill(disk.folder)
    gate.open()
    cause = rf"write {disk.folder}/\.sorted\.spillway-[^ :]+( at byte \d+)?: No space left on device"
    expect_the_end(job, cause, tmp_path)
    assert names_in(disk.folder) == ["lost+found", "other"]


@pytest.mark.parametrize("options", [[], ["--unique"], ["--parts"]])
def test_an_output_that_cannot_be_written(
    start_sort_to: Callable[..., subprocess.Popen], tmp_path: Path, disk: Disk, gate: Gate, options: List[str]
) -> None:
    """The device has become smaller: what is written beyond its end is an I/O error."""
    job = start_sort_to(disk.folder, options)
    [device] = subprocess.run(
        ["losetup", "--associated", disk.image, "--noheadings", "--output", "NAME"], capture_output=True, text=True
    ).stdout.split()
    os.truncate(disk.image, 32 * MIB)
    subprocess.run(["losetup", "--set-capacity", device], check=True)
    gate.open()
    cause = rf"write {disk.folder}/\.sorted\.spillway-\S+ at byte \d+: Input/output error"
    expect_the_end(job, cause, tmp_path)
    assert names_in(disk.folder) == ["lost+found"]
