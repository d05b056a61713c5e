"""A device that returns something else than was written to it: no job ends as if nothing had happened."""

import contextlib
import os
import signal
from pathlib import Path
from typing import List

import pytest
from failing_jobs import HOST, RANKS, assert_says, process_named, programs_named, wait_for_line
from runner import Runner, outcome_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

MIB_PER_RANK = 40
DISTANCE = 64 << 10
PLACE = 100  # within its page: the program does not look at it


@pytest.fixture
def tight_job(spillway, spill_dir, build_dir):
    """tight_job(flavour, *options): the words of a job that unloads and loads until it is ended."""

    def words(flavour, *options):
        program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
        fixed = ["-n", RANKS, "--slots", 2, "--memory", "64M", "--spill-dir", spill_dir]
        fixed += ["--summary", "none"]
        return [spillway, "run", *fixed, *options, program, "go_on", RANKS - 1, MIB_PER_RANK]

    return words


def spill_files_of(pid: int, spill_dir: Path) -> List[str]:
    """The paths under which another process can open the spill files of a rank, which have no names."""
    descriptors = Path("/proc") / str(pid) / "fd"
    return [str(path) for path in descriptors.iterdir() if os.readlink(path).startswith(str(spill_dir))]


def damage(path: str) -> int:
    """Changes a bit of some pages that hold something. Returns how many."""
    with open(path, "r+b", buffering=0) as file:
        count = 0
        for at in range(PLACE, os.fstat(file.fileno()).st_size, DISTANCE):
            byte = os.pread(file.fileno(), 1, at)
            if byte in (b"", b"\0"):
                continue
            os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), at)
            count += 1
        # The kernel reports so that a rank has written beside the file cache to what is in it: damaged again next time.
        with contextlib.suppress(OSError):
            os.fdatasync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return count


def damage_until_the_end(run: Runner, process, spill_dir: Path) -> int:
    """What the ranks write meanwhile is damaged again."""
    count, limit = 0, TimeLimit(30)
    while process.poll() is None and limit.left_s() > 0:
        for pid in programs_named(run, "failing_rank"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the rank has ended meanwhile
                for path in spill_files_of(pid, spill_dir):
                    count += damage(path)
    return count


def test_the_message_names_the_directory_that_gives_back_something_else(run, tight_job, spill_dir, build_dir, flavour):
    process = run.start(tight_job(flavour, "--spill-dir", build_dir / "spill-tests"))
    wait_for_line(process, "last words")
    damaged = damage_until_the_end(run, process, spill_dir)
    _, stderr = outcome_within(process, 20)
    assert damaged > 0, stderr
    assert process.returncode not in (0, None)
    assert f"read something else from the spill directory {os.path.realpath(spill_dir)} than" in stderr


def test_a_job_whose_spill_files_are_damaged_ends_with_a_message(run, tight_job, spill_dir, flavour):
    process = run.start(tight_job(flavour))
    wait_for_line(process, "last words")
    damaged = damage_until_the_end(run, process, spill_dir)
    _, stderr = outcome_within(process, 20)
    assert damaged > 0, stderr
    assert process.returncode not in (0, None)
    assert_says(stderr, rf"spillway: rank \d on host {HOST} \(process \d+\) .*read something else from the spill dir")


def test_damage_of_what_a_rank_reads_after_mpi_finalize_is_noticed(run, spillway, spill_dir, build_dir, flavour):
    program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
    options = ["-n", 1, "--memory", "64M", "--spill-dir", spill_dir, "--summary", "none"]
    process = run.start([spillway, "run", *options, program, "read_after_finalize", 0, MIB_PER_RANK])
    wait_for_line(process, "waits for SIGUSR1")
    pid = process_named(run, "failing_rank")
    assert sum(damage(path) for path in spill_files_of(pid, spill_dir)) > 0
    os.kill(pid, signal.SIGUSR1)
    _, stderr = outcome_within(process, 20)
    assert process.returncode not in (0, None)
    assert_says(stderr, rf"spillway: rank 0 on host {HOST} \(process \d+\) .*read something else from the spill dir")
