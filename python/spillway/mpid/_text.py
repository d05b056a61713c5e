"""Text as input and output of key-value jobs: files divided among tasks by lines, and output files."""

import os
import stat
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

from . import _library
from ._compressed import compressing_writer, is_compressed, open_contents, part_suffix
from ._plans import planned

_SPLIT_BYTES = 32 << 20
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Split:
    """Part of a file. To it belong the lines whose first byte is in it.

    A compressed file is one part: its bytes are those of the contents, and the end is not known. So is a file that
    only one host has, which is looked at when it is read.
    """

    path: str
    begin: int
    end: int
    is_compressed: bool = False
    host: str = ""  # empty: all processes see it

    @property
    def name(self) -> str:
        """The file, as the program's user names it."""
        return f"{self.host}:{self.path}" if self.host else self.path

    def blocks(self, block_bytes: int = _BLOCK_BYTES) -> Iterator[bytes]:
        """Its bytes, some lines at a time: whole lines of about as many bytes together."""
        return (block for _, block in self._placed_blocks(block_bytes))

    def lines(self, encoding: Optional[str] = "utf-8") -> Iterator[Union[str, bytes]]:
        """Without their newlines; as bytes where `encoding` is None. ValueError: bytes that it does not have."""
        if encoding is not None and "\n".encode(encoding) != b"\n":
            raise ValueError(f"lines of text in {encoding} cannot be found\n  Remedy: convert {self.name} to UTF-8.")
        for position, block in self._placed_blocks(_BLOCK_BYTES):
            if encoding is None:
                lines: Sequence[Union[str, bytes]] = block.split(b"\n")
            else:
                lines = self._decoded(block, position, encoding).split("\n")
            yield from lines[:-1] if block.endswith(b"\n") else lines

    def _placed_blocks(self, block_bytes: int) -> Iterator[Tuple[int, bytes]]:
        """And where in the file each begins."""
        with self._opened() as file:
            position = self.begin
            if position != 0:  # one byte early, to see whether a line begins with the split
                file.seek(position - 1)
                position += len(file.readline()) - 1
            while position < self.end:
                block = file.read(min(block_bytes, self.end - position))
                if not block.endswith(b"\n"):
                    block += file.readline()
                if not block:  # the end of a compressed file, or of one that has become shorter
                    return
                yield position, block
                position += len(block)

    def _opened(self) -> BinaryIO:
        return open_contents(self.path) if self._has_compressed_file() else open(self.path, "rb")  # type: ignore[return-value]

    def _has_compressed_file(self) -> bool:
        if not self.host:
            return self.is_compressed
        if not _library.load().MPI_D_Is_this_host(os.fsencode(self.host)):
            raise ValueError(
                f"cannot read {self.name} on another host: only MapReduce jobs whose Init() knows of it "
                "(conf=splits.conf) run its task there"
            )
        _size_of(self.path)
        return is_compressed(self.path)

    def _decoded(self, block: bytes, position: int, encoding: str) -> str:
        try:
            return block.decode(encoding)
        except UnicodeDecodeError as error:
            of_contents = " of its contents" if self._has_compressed_file() else ""
            raise ValueError(
                f"{self.name}, byte {position + error.start}{of_contents}: no text in {encoding}: {error.reason}\n"
                "  Remedy: name its encoding, or take lines as bytes with encoding=None."
            ) from None


def _size_of(path: str) -> int:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"cannot read {path}: it is not a regular file")
    return status.st_size


def _host_and_path(path: str) -> Tuple[str, str]:
    """No host unless a colon comes before the first slash, as scp has it, and no other slash behind that.

    Nor one of which no host has the name, as there is a comma or a space in it.
    """
    host, slash, rest = path.partition(":/")
    is_host = host and slash and not rest.startswith("/") and not any(letter in host for letter in "/, \t")
    return (host, "/" + rest) if is_host else ("", path)


class LineSplits(Sequence[Split]):
    """Files in parts of about the same size, the same wherever it is computed. An empty file has none.

    A file that gzip or zstd has compressed can be read only from its beginning: it is one part. So is `host:/path`, a
    file of that host's own, which nobody else looks at.
    """

    def __init__(self, paths: Sequence[Union[str, "os.PathLike[str]"]], split_bytes: int = _SPLIT_BYTES) -> None:
        if split_bytes < 1:
            raise ValueError("parts of files need at least one byte")
        self._splits: List[Split] = []
        for path in map(os.fspath, paths):
            host, own_path = _host_and_path(path)
            if host:
                self._splits.append(Split(own_path, 0, sys.maxsize, False, host))
                continue
            size = _size_of(path)
            if is_compressed(path):
                self._splits.append(Split(path, 0, sys.maxsize, True))
                continue
            count = -(-size // split_bytes)
            places = [size * number // max(count, 1) for number in range(count + 1)]
            self._splits += [Split(path, begin, end) for begin, end in zip(places, places[1:])]
        planned(self._splits)

    def __len__(self) -> int:
        return len(self._splits)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._splits[number]

    @property
    def conf(self) -> Dict[str, str]:
        """What Init() is to know of a MapReduce job with this input: an O task for each part, and where it may run."""
        hosts = ",".join(split.host for split in self._splits)
        return {"MPI_D_O_TASKS": str(max(len(self), 1)), "MPI_D_INPUT_HOSTS": hosts}

    def of_task(self, task: int, tasks: int) -> List[Split]:
        return self._splits[task::tasks]

    def lines(self, task: int, tasks: int, encoding: Optional[str] = "utf-8") -> Iterator[Union[str, bytes]]:
        """Of the splits of a task, as Split.lines()."""
        for split in self.of_task(task, tasks):
            yield from split.lines(encoding)


def sampled_lines(splits: Sequence[Split]) -> List[bytes]:
    """The beginnings of lines from all over the splits, but of compressed files from their beginning, sorted.

    The same wherever it is computed.

    With it a partition function divides lines so that those of each task come before those of the next one.
    """
    places, place_bytes, lines_of_place, line_bytes = 256, 64 << 10, 16, 64
    sample: List[bytes] = []
    for split in splits:
        count = -(-places // len(splits))
        if split.host:
            raise ValueError(
                f"cannot look for samples in {split.name}, which only that host has: name files that all processes see"
            )
        if split.is_compressed:
            lines = zip(range(count * lines_of_place), split.lines(None))
            sample += [line[:line_bytes] for _, line in lines]
            continue
        for place in range(count):
            begin = split.begin + (split.end - split.begin) * place // count
            part = Split(split.path, begin, min(split.end, begin + place_bytes))
            sample += [line[:line_bytes] for _, line in zip(range(lines_of_place), part.lines(None))]
    return sorted(sample)


def _sync_folder(folder: str) -> None:
    """With checkpoints: the names in it are on the disk."""
    if "MPI_D_CHECKPOINT" in os.environ:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def failed_before(path: str, error: BaseException) -> OSError:
    return OSError(f"cannot write {path}: an earlier write has failed: {error}")


class OutputFile:
    """For `with`. It has its name at the end of the block; before, and after an exception, nothing is under it.

    One whose name ends with .gz or .zst is compressed. When a write has failed, the end of the block fails, too.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = os.fspath(path)
        self._partial_path = self.path + ".partial"

    def __enter__(self) -> "OutputFile":
        self._failure: Optional[BaseException] = None
        self._file = open(self._partial_path, "wb", buffering=_BLOCK_BYTES)
        try:
            self._compressing = compressing_writer(self.path, self._file.fileno())
        except BaseException:
            self._file.close()
            os.unlink(self._partial_path)
            raise
        return self

    def write(self, text: Union[str, bytes]) -> None:
        """A str as UTF-8."""
        data = text.encode() if isinstance(text, str) else text
        try:
            (self._compressing or self._file).write(data)
        except BaseException as error:
            self._failure = error
            raise

    def __exit__(
        self, kind: Optional[Type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None:
        is_whole = False
        try:
            if kind is None:
                self._complete()
                is_whole = True
        finally:
            self._close()
            if not is_whole:
                os.unlink(self._partial_path)
        if is_whole:
            _sync_folder(os.path.dirname(self.path) or ".")

    def _complete(self) -> None:
        if self._failure is not None:
            raise failed_before(self.path, self._failure)
        if self._compressing is not None:
            self._compressing.finish()
        self._file.flush()
        if "MPI_D_CHECKPOINT" in os.environ:
            os.fdatasync(self._file.fileno())  # before the task counts as ended
        self._file.close()
        os.rename(self._partial_path, self.path)

    def _close(self) -> None:
        """What is not yet written does not count."""
        if self._compressing is not None:
            self._compressing.close()
        try:
            self._file.close()
        except OSError:
            pass


class PartFile(OutputFile):
    """The output of a task, in a directory that is made if it is not there: part-00000 and so on.

    Compressed where MPI_D_OUTPUT_CODEC says so, as part-00000.gz or part-00000.zst.
    """

    def __init__(self, directory: Union[str, "os.PathLike[str]"], task: int) -> None:
        super().__init__(os.path.join(os.fspath(directory), f"part-{task:05d}{part_suffix()}"))
        try:
            os.mkdir(directory)
        except FileExistsError:
            pass
