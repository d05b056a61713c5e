"""Text as input and output of key-value jobs: files divided among tasks by lines, and output files."""

import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Iterator, List, Optional, Sequence, Tuple, Type, Union

from . import _place
from ._compressed import compressing_writer, part_suffix
from ._input_files import SPLIT_BYTES, FilePart, FileSplits, Path
from ._output_places import check_parts, output_place, require_regular
from ._parts import begin_partial, end_partial, publish, refuse_other_parts
from ._together import SAMPLE_ITEMS, allgather, places

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Split(FilePart):
    """Part of a file. To it belong the lines whose first byte is in it."""

    def blocks(self, block_bytes: int = _BLOCK_BYTES) -> Iterator[bytes]:
        """Its bytes, some lines at a time: whole lines of about as many bytes together."""
        for position, block in self._placed_blocks(block_bytes):
            _place.note("input", partial(self._place_of_block, position, len(block)))
            yield block
            _place.forget("input")

    def lines(self, encoding: Optional[str] = "utf-8") -> Iterator[Union[str, bytes]]:
        """Without their newlines; as bytes where `encoding` is None. ValueError: bytes that it does not have."""
        return chain.from_iterable(self._lines_of_blocks(encoding))

    def _lines_of_blocks(self, encoding: Optional[str]) -> Iterator[Iterator[Union[str, bytes]]]:
        if encoding is not None and "\n".encode(encoding) != b"\n":
            raise ValueError(f"lines of text in {encoding} cannot be found\n  Remedy: convert {self.name} to UTF-8.")
        for position, block in self._placed_blocks(_BLOCK_BYTES):
            if encoding is None:
                lines: Sequence[Union[str, bytes]] = block.split(b"\n")
            else:
                lines = self._decoded(block, position, encoding).split("\n")
            own = lines[:-1] if block.endswith(b"\n") else lines
            rest = iter(own)
            _place.note("input", partial(self._place_of_line, position, own, rest))
            yield rest
            _place.forget("input")

    def _place_of_line(self, position: int, lines: Sequence[Union[str, bytes]], rest: Iterator[object]) -> str:
        before = 0
        if position != 0:
            whole = replace(self, begin=0, end=position)
            before = sum(block.count(b"\n") for _, block in whole._placed_blocks(_BLOCK_BYTES))
        return f"{self.name}, line {before + _place.taken(lines, rest)}"

    def _place_of_block(self, position: int, size: int) -> str:
        of_contents = " of its contents" if self.has_compressed_file() else ""
        return f"{self.name}, bytes {position} to {position + size - 1}{of_contents}"

    def _placed_blocks(self, block_bytes: int) -> Iterator[Tuple[int, bytes]]:
        """And where in the file each begins."""
        with self.reading() as (file, refuse_change):
            position = self.begin
            if position != 0:  # one byte early, to see whether a line begins with the split
                file.seek(position - 1)
                position += len(file.readline()) - 1
            while position < self.end:
                block = file.read(min(block_bytes, self.end - position))
                if not block.endswith(b"\n"):
                    block += file.readline()
                refuse_change()
                if not block:  # the end of a file of which it was not known
                    return
                yield position, block
                position += len(block)

    def _decoded(self, block: bytes, position: int, encoding: str) -> str:
        try:
            return block.decode(encoding)
        except UnicodeDecodeError as error:
            of_contents = " of its contents" if self.has_compressed_file() else ""
            raise ValueError(
                f"{self.name}, byte {position + error.start}{of_contents}: no text in {encoding}: {error.reason}\n"
                "  Remedy: name its encoding, or take lines as bytes with encoding=None."
            ) from None


class LineSplits(FileSplits[Split]):
    """Text files in parts, as FileSplits."""

    def __init__(self, paths: Sequence[Path], split_bytes: int = SPLIT_BYTES) -> None:
        super().__init__(paths, split_bytes, 1, Split)

    def lines(self, task: int, tasks: int, encoding: Optional[str] = "utf-8") -> Iterator[Union[str, bytes]]:
        """Of the splits of a task, as Split.lines()."""
        return chain.from_iterable(split.lines(encoding) for split in self.of_task(task, tasks))


def sampled_lines(splits: Sequence[Split], together: bool = False) -> List[bytes]:
    """The beginnings of lines from all over the splits, but of compressed files from their beginning, sorted.

    The same wherever it is computed. `together`: collective, in a job before its first task; each process looks at
    some splits, and so also at files that only one host has.

    With it a partition function divides lines so that those of each task come before those of the next one.
    """
    place_bytes, line_bytes = 64 << 10, 64
    sample: List[bytes] = []
    for split, count in places(splits, together):
        if split.is_compressed:
            lines = zip(range(count * SAMPLE_ITEMS), split.lines(None))
            sample += [line[:line_bytes] for _, line in lines]
            continue
        for place in range(count):
            begin = split.begin + (split.end - split.begin) * place // count
            part = replace(split, begin=begin, end=min(split.end, begin + place_bytes))
            sample += [line[:line_bytes] for _, line in zip(range(SAMPLE_ITEMS), part.lines(None))]
    return sorted(allgather(sample) if together else sample)


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

    One whose name ends with .gz or .zst is compressed. When a write has failed, the end of the block fails, too. Of a
    symbolic link, the file that it leads to is replaced; what is there and is no regular file is refused.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = os.fspath(path)

    @staticmethod
    def check(path: Union[str, "os.PathLike[str]"]) -> None:
        """Before a job works for it: raises an OSError where it cannot be written."""
        output_place(os.fspath(path))

    def __enter__(self) -> "OutputFile":
        self._failure: Optional[BaseException] = None
        self._place = output_place(self.path)
        self._partial_path = self._place + ".partial"
        begin_partial(None, self._partial_path)
        try:
            self._file = open(self._partial_path, "wb", buffering=_BLOCK_BYTES)
        except BaseException:
            end_partial(None, self._partial_path)
            raise
        try:
            self._compressing = compressing_writer(self.path, self._file.fileno())
        except BaseException:
            self._file.close()
            self._remove()
            raise
        return self

    def write(self, text: Union[str, bytes]) -> None:
        """A str as UTF-8."""
        data = text.encode() if isinstance(text, str) else text
        try:
            (self._compressing or self._file).write(data)
        except BaseException as error:
            self._failure = error
            self._name(error)
            raise

    def __exit__(
        self, kind: Optional[Type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None:
        is_whole = False
        try:
            if kind is None:
                self._complete()
                is_whole = True
        except OSError as failure:
            self._name(failure)
            raise
        finally:
            self._close()
            if not is_whole:
                self._remove()
        if is_whole:
            _sync_folder(os.path.dirname(self._place) or ".")

    def _complete(self) -> None:
        if self._failure is not None:
            raise failed_before(self.path, self._failure)
        if self._compressing is not None:
            self._compressing.finish()
        self._file.flush()
        if "MPI_D_CHECKPOINT" in os.environ:
            os.fdatasync(self._file.fileno())  # before the task counts as ended
        self._file.close()
        self._give_name()
        end_partial(None, self._partial_path)

    def _name(self, error: BaseException) -> None:
        """The file, in what the system says of a write."""
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = self.path

    def _remove(self) -> None:
        os.unlink(self._partial_path)
        end_partial(None, self._partial_path)

    def _give_name(self) -> None:
        os.rename(self._partial_path, self._place)

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

    Compressed where MPI_D_OUTPUT_CODEC says so, as part-00000.gz or part-00000.zst. In a job it has its name when all
    of the job has ended well. The directory may have no parts that would stay beside those of the job.
    """

    def __init__(self, directory: Union[str, "os.PathLike[str]"], task: int) -> None:
        super().__init__(os.path.join(os.fspath(directory), f"part-{task:05d}{part_suffix()}"))
        try:
            os.mkdir(directory)
        except FileExistsError:
            pass
        if os.path.isdir(directory):  # else __enter__() says what is wrong
            refuse_other_parts(self.path, os.fspath(directory), os.listdir(directory))
            require_regular(self.path, self.path)

    @staticmethod
    def check(directory: Union[str, "os.PathLike[str]"]) -> None:
        """Before a job works for them: raises an OSError where parts cannot be written there."""
        check_parts(os.fspath(directory), os.path.join(os.fspath(directory), "part-00000" + part_suffix()))

    def _give_name(self) -> None:
        publish(self._partial_path, self.path)
