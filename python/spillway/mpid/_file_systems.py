"""Where tables are: the file systems of pyarrow.fs, by URI or as objects."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Tuple, Union

import pyarrow
from pyarrow import fs

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class File:
    """A file that is there when it is planned."""

    name: str  # as the program says it
    path: str  # in its file system
    file_system: Any
    size: int

    def opened(self) -> Any:
        return self.file_system.open_input_file(self.path)

    def refuse_other_size(self) -> None:
        """What has come behind its planned end would be missed."""
        with errors_named(self.name):
            size = self.file_system.get_file_info(self.path).size
            if size != self.size:
                raise ValueError(f"it had {self.size} bytes when the job was planned, and has {size} now")


def placed(path: Path, file_system: Optional[Any]) -> Tuple[Any, str]:
    """The file system, and the path in it. Without one, the path may be a URI, as hdfs://, s3:// and file:// are."""
    name = os.fspath(path)
    if file_system is None and "://" in name:
        return fs.FileSystem.from_uri(name)
    if file_system is None:
        return fs.LocalFileSystem(), name
    if not isinstance(file_system, fs.FileSystem):  # of fsspec
        file_system = fs.PyFileSystem(fs.FSSpecHandler(file_system))
    return file_system, name


def files_of(path: Path, file_system: Optional[Any]) -> List[File]:
    """The file, or those in the directory and those below it.

    But for what is in names that begin with _ or a dot, and for files half written.
    """
    name = os.fspath(path)
    with errors_named(name):
        file_system, place = placed(path, file_system)
        info = file_system.get_file_info(place)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError("there is no such file")
        if info.type == fs.FileType.File:
            return [File(name, place, file_system, info.size)]
        if info.type != fs.FileType.Directory:
            raise ValueError("it is neither a file nor a directory")
        inside = sorted(file_system.get_file_info(fs.FileSelector(place, recursive=True)), key=lambda one: one.path)
    files = [(one, _below(one.path, place)) for one in inside if one.type == fs.FileType.File]
    return [
        File(os.path.join(name, below), one.path, file_system, one.size)
        for one, below in files
        if one.extension != "partial" and not any(part.startswith(("_", ".")) for part in below.split("/"))
    ]


def _below(path: str, directory: str) -> str:
    return os.path.relpath("/" + path.strip("/"), "/" + directory.strip("/"))


def local_path(file_system: Any, path: str) -> Optional[str]:
    """Of a file system that is this machine's, or a part of it."""
    while isinstance(file_system, fs.SubTreeFileSystem):
        path = os.path.join(file_system.base_path, path.lstrip("/"))
        file_system = file_system.base_fs
    return path if isinstance(file_system, fs.LocalFileSystem) else None


@contextmanager
def errors_named(name: str, place: str = "", what: str = "read") -> Iterator[None]:
    """What goes wrong in the block is said with the file's name, and where in it."""
    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, IndexError, TypeError, OverflowError) as error:
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"cannot {what} {name}{place}: {error}") from None
