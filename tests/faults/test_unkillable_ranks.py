"""A rank that waits for a device which does not answer ends by no signal: the job ends without it, and says so."""

import os
import re
import signal
import subprocess
import time

import pytest
from failing_jobs import assert_says, heed_signals, programs_named, state_of, wait_for_line
from runner import outcome_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

WRITES_FOR_EVER = 'echo "begins to write"; while :; do echo "and so on" > "$0/file"; done'


def did(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=30)


@pytest.fixture
def disk(tmp_path):
    """The mounted file system of a small device, which `fsfreeze -f` stops."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system to freeze")
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    for words in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, folder]):
        try:
            done = did(*words)
        except FileNotFoundError as reason:
            pytest.skip(f"no file system can be made here: {reason}")
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr}")
    yield folder
    did("fsfreeze", "-u", folder)
    limit = TimeLimit(5)
    while did("umount", folder).returncode != 0 and limit.left_s() > 0:
        time.sleep(0.1)  # who wrote there is still ending
    assert not os.path.ismount(folder)


def test_process_that_cannot_be_killed_does_not_keep_the_message_back(run, spillway, spill_dir, disk, flavour):
    options = ["-n", 2, "--memory", "1G", "--spill-dir", spill_dir, "--summary", "none", "--mpi", flavour]
    words = [spillway, "run", *options, "sh", "-c", WRITES_FOR_EVER, disk]
    job = run.start(words, preexec_fn=heed_signals)
    wait_for_line(job, "begins to write")
    assert did("fsfreeze", "-f", disk).returncode == 0
    try:
        limit = TimeLimit(10)
        while not [pid for pid in programs_named(run, "sh") if state_of(pid) == "D"]:
            assert limit.left_s() > 0
            time.sleep(0.05)
        job.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        job.send_signal(signal.SIGTERM)  # at once
        _, errors = outcome_within(job, 20)
        unkillable = [str(pid) for pid in programs_named(run, "sh")]
    finally:
        did("fsfreeze", "-u", disk)
    assert job.returncode == 128 + signal.SIGTERM
    assert_says(errors, "spillway: the job was ended by signal 15 ")
    assert unkillable
    assert set(re.findall(r"process (\d+) does not end", errors)) <= set(unkillable)
    assert "does not end" in errors
