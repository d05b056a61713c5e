"""Files as input of key-value jobs: in parts, the same wherever it is computed, and read as they were planned."""

import os
import re
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Callable, Dict, Generic, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

from . import _library
from ._compressed import is_compressed, open_contents
from ._plans import planned

SPLIT_BYTES = 32 << 20
UNKNOWN_END = sys.maxsize
Path = Union[str, "os.PathLike[str]"]
_URI = re.compile(r"[A-Za-z][\w+.-]+://")


@dataclass(frozen=True)
class FileState:
    """What a file was like when it was first looked at, by which a change is noticed."""

    size: int
    written_ns: Optional[int]  # where the file system says it

    @staticmethod
    def of(status: os.stat_result) -> "FileState":
        return FileState(status.st_size, status.st_mtime_ns)

    def refuse_other(self, name: str, now: "FileState") -> None:
        if now == self:
            return
        sizes = "" if now.size == self.size else f": it had {self.size} bytes, and has {now.size} now"
        raise ValueError(
            f"cannot read {name}: it has been written to since the job first looked at it{sizes}\n"
            "  Remedy: let nobody write to the input of a job, and start the job again."
        )


def refuse_one_path(paths: object) -> None:
    """Its letters would be taken for paths."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise ValueError(f"paths={paths!r} is one path\n  Remedy: give a list of paths, [{paths!r}].")


def state_of(path: str) -> FileState:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not _URI.match(path):
            raise
        without_keys = re.sub("//[^/]*@", "//", path)
        raise FileNotFoundError(
            f"cannot read {without_keys}: text and records are read from file systems that the machine has mounted\n"
            "  Remedy: mount that one, or copy the file; TableSplits reads CSV and Parquet from there."
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"cannot read {path}: it is not a regular file")
    return FileState.of(status)


@dataclass(frozen=True)
class FilePart:
    """Part of a file.

    A compressed file is one part: its bytes are those of the contents, and the end is not known. So is a file that
    only one host has, which is looked at when it is read.
    """

    path: str
    begin: int
    end: int
    is_compressed: bool = False
    host: str = ""  # empty: all processes see it
    planned: Optional[FileState] = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The file, as the program's user names it."""
        return f"{self.host}:{self.path}" if self.host else self.path

    @contextmanager
    def reading(self) -> Iterator[Tuple[BinaryIO, Callable[[], None]]]:
        """The open file, or its contents, and what is to be called behind each read: it refuses a file that changes."""
        has_compressed_file = self.has_compressed_file()
        now = state_of(self.path)
        state = self.planned or now
        state.refuse_other(self.name, now)
        with open_contents(self.path) if has_compressed_file else open(self.path, "rb") as file:

            def refuse_change() -> None:
                now = os.stat(self.path if has_compressed_file else file.fileno())
                state.refuse_other(self.name, FileState.of(now))

            yield file, refuse_change  # type: ignore[misc]

    def has_compressed_file(self) -> bool:
        if not self.host:
            return self.is_compressed
        refuse_other_host(self.host, self.name)
        state_of(self.path)
        return is_compressed(self.path)


Part = TypeVar("Part", bound=FilePart)


def refuse_other_host(host: str, name: str) -> None:
    """Whoever reads a file that only one host has."""
    if not _library.load().MPI_D_Is_this_host(os.fsencode(host)):
        raise ValueError(
            f"cannot read {name} on another host: only jobs of the modes MapReduce and iteration whose Init() "
            "knows of it (conf=splits.conf) run its task there"
        )


def conf_of(hosts: Sequence[str]) -> Dict[str, str]:
    """What Init() is to know of a job with this input: an O task for each part, and where it may run."""
    return {"MPI_D_O_TASKS": str(max(len(hosts), 1)), "MPI_D_INPUT_HOSTS": ",".join(hosts)}


def host_and_path(path: str) -> Tuple[str, str]:
    """No host unless a colon comes before the first slash, as scp has it, and no other slash behind that.

    Nor one of which no host has the name, as there is a comma or a space in it.
    """
    host, slash, rest = path.partition(":/")
    is_host = host and slash and not rest.startswith("/") and not any(letter in host for letter in "/, \t")
    return (host, "/" + rest) if is_host else ("", path)


class FileSplits(Sequence[Part], Generic[Part]):
    """Files in parts of about the same size, the same wherever it is computed. An empty file has none.

    A file that gzip or zstd has compressed can be read only from its beginning: it is one part. So is `host:/path`, a
    file of that host's own, which nobody else looks at. Others are cut at multiples of `unit_bytes`.
    """

    def __init__(
        self, paths: Sequence[Path], split_bytes: int, unit_bytes: int, part: Callable[..., Part], **of_part: Any
    ) -> None:
        if split_bytes < 1 or unit_bytes < 1:
            raise ValueError("parts of files need at least one byte")
        refuse_one_path(paths)
        self._splits: List[Part] = []
        for path in map(os.fspath, paths):
            host, own_path = host_and_path(path)
            if host:
                self._splits.append(part(own_path, 0, UNKNOWN_END, False, host, **of_part))
                continue
            state = state_of(path)
            if is_compressed(path):
                self._splits.append(part(path, 0, UNKNOWN_END, True, planned=state, **of_part))
                continue
            if state.size % unit_bytes:
                raise ValueError(
                    f"cannot read {path}: its {state.size} bytes are no whole number of records of {unit_bytes} bytes"
                )
            units, count = state.size // unit_bytes, -(-state.size // split_bytes)
            places = [units * number // max(count, 1) * unit_bytes for number in range(count + 1)]
            self._splits += [
                part(path, begin, end, planned=state, **of_part)
                for begin, end in zip(places, places[1:])
                if begin != end
            ]
        planned((split, split.planned and split.planned.size) for split in self._splits)

    def __len__(self) -> int:
        return len(self._splits)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._splits[number]

    @property
    def conf(self) -> Dict[str, str]:
        """What Init() is to know of a job with this input: an O task for each part, and where it may run."""
        return conf_of([split.host for split in self._splits])

    def of_task(self, task: int, tasks: int) -> List[Part]:
        return self._splits[task::tasks]
