"""File systems that a test has mounted: gone again when it is over."""

import subprocess
import time
from pathlib import Path

import pytest
from standstill import TimeLimit

UNMOUNT_LIMIT_S = 20


def unmount(folder: Path) -> None:
    """Tries for some seconds: who looks at all file systems is in it for a moment, and so is who is still ending."""
    limit = TimeLimit(UNMOUNT_LIMIT_S)
    while True:
        done = subprocess.run(["umount", folder], capture_output=True, text=True)
        if done.returncode == 0:
            return
        if limit.left_s() <= 0:
            pytest.fail(f"{folder} is in use for {UNMOUNT_LIMIT_S} s: {done.stderr.strip()}", pytrace=False)
        time.sleep(0.1)
