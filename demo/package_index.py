"""Where this machine keeps its package index."""

import shutil
import subprocess
from pathlib import Path
from typing import Iterator, List, Optional

# Every package that was ever installed here; there even where no index was fetched, as in container images.
_INSTALLED = Path("/var/lib/dpkg/status")


class NoPackageIndex(Exception):
    pass


def index_lines(chosen: Optional[Path]) -> Iterator[str]:
    """Lines of the chosen file, or of what apt knows (it reads its compressed lists itself), or of dpkg's.

    Raises NoPackageIndex on a machine that has neither.
    """
    if chosen is not None:
        return _lines_of(chosen)
    if shutil.which("apt-cache"):
        return _output_lines(["apt-cache", "dumpavail"])
    if _INSTALLED.exists():
        return _lines_of(_INSTALLED)
    raise NoPackageIndex("this machine has neither apt nor dpkg")


def _lines_of(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from file


def _output_lines(command: List[str]) -> Iterator[str]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stdout is not None
        yield from process.stdout
