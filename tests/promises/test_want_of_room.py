"""Too little memory, and a spill directory that gets full in mid-run: one message, and an orderly end. Mappings that
the kernel refuses: one message, and the job goes on."""

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]


def message_of(stderr):
    found = re.findall(r"^spillway: .*\n(?:  .*\n)*", stderr, re.MULTILINE)
    assert len(found) == 1, stderr
    return found[0]


def test_rank_that_does_not_fit_says_what_it_needs(run, job, flavour):
    finished = run(*job(flavour, 2, 1, "64M", "sweep", 100, 1), status=1)
    message = message_of(finished.stderr)
    assert re.match(r"spillway: rank [01] on host \S+ \(process \d+\) needs 100 MiB of memory at once", message)
    assert "--memory 64M" in message and "  Cause:  " in message
    enough = re.search(r"  Remedy: give --memory (\d+)M or more", message).group(1)
    run(*job(flavour, 2, 1, f"{enough}M", "sweep", 100, 1))  # and that is enough


@pytest.mark.parametrize(
    ("arguments", "bytes_left"),
    [
        pytest.param(("sweep", 32, 3), 40 << 20, id="unloading"),
        pytest.param(("exchange", 24, 3), 1 << 20, id="message_store"),
    ],
)
def test_disk_that_gets_full_in_mid_run(run, job, build_dir, flavour, arguments, bytes_left):
    full_disk = build_dir / "lib" / "spillway" / "tests" / "full_disk.so"
    environment = {"LD_PRELOAD": str(full_disk), "SPILLWAY_TEST_DISK_BYTES": str(bytes_left)}
    finished = run(*job(flavour, 6, 1, "64M", *arguments), status=1, env=environment)
    message = message_of(finished.stderr)
    assert re.match(
        r"spillway: rank \d on host \S+ \(process \d+\) cannot put \d+ MiB more into the spill directory", message
    )
    assert "  Cause:  No space left on device" in message and "  Remedy: free space there" in message
    assert finished.ran_s < 20


def test_rank_that_has_all_mappings_says_that_what_it_allocates_stays_in_memory(run, job, flavour):
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    if limit > 200_000:
        pytest.skip(f"NOT TESTED, too few mappings: vm.max_map_count is {limit}")
    finished = run(*job(flavour, 2, 1, "64M", "mappings", 8))
    assert finished.stdout == "refused 1, managed 0\n"
    message = message_of(finished.stderr)
    assert message.startswith("spillway: rank 0 has more mappings than the kernel allows: what it allocates beyond")
    assert "vm.max_map_count" in message and "  Remedy: raise that limit" in message
