"""A folder for large files that is always removed, on a disk that has room for them."""

import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator, List, Optional

from measuring.program_run import RunFailed, end_as_interrupted


def _candidates(chosen: Optional[Path]) -> List[Path]:
    if chosen is not None:
        return [chosen]
    named = [os.environ.get("SPILLWAY_SPILL_DIR"), os.environ.get("TMPDIR"), "/var/tmp", os.getcwd()]
    return [Path(name) for name in named if name]


def _objection(folder: Path, needed_bytes: int) -> str:
    """Why large files should not go there; empty when they may."""
    from spillway_front_end.errors import LaunchError
    from spillway_front_end.sizes import format_size
    from spillway_front_end.spill_directory import check_spill_directory

    try:
        free = check_spill_directory(str(folder), 0, True).free_bytes
    except LaunchError as error:
        return str(error)
    if free < needed_bytes:
        return f"{folder} has {format_size(free)} free, and {format_size(needed_bytes)} are needed"
    return ""


@contextmanager
def scratch_folder(needed_bytes: int, chosen: Optional[Path] = None) -> Iterator[Path]:
    """The first suitable of the usual places, or the chosen one. SIGTERM and SIGHUP end like ^C: the folder goes."""
    objections = [(folder, _objection(folder, needed_bytes)) for folder in _candidates(chosen)]
    suitable = [folder for folder, objection in objections if not objection]
    if not suitable:
        raise SystemExit(
            "nowhere to put large files:\n"
            + "".join(f"    {objection}\n" for _, objection in objections)
            + "  Remedy: free space there, or name a folder on a local disk with --folder"
        )
    end_as_interrupted()
    folder = Path(tempfile.mkdtemp(prefix="spillway-", dir=suitable[0]))
    try:
        yield folder
    finally:
        # A second ^C while the first one's files are removed would leave them.
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGINT, previous)


def measured_in_scratch_folder(measure: Callable[[Path], int], needed_bytes: int, chosen: Optional[Path]) -> int:
    """The exit status of a benchmark: that of measure(folder), or that of ^C. Ends with a message where a run fails."""
    try:
        with scratch_folder(needed_bytes, chosen) as folder:
            return measure(folder)
    except RunFailed as failure:
        sys.exit(f"a program that the benchmark needs failed\n{failure}")
    except KeyboardInterrupt:
        return 130
