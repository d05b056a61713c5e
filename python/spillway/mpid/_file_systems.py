"""Where tables are: the file systems of pyarrow.fs, by URI or as objects."""

import copy
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Iterator, List, Optional, Tuple

import pyarrow
from pyarrow import fs

from ._input_files import FileState, Path

# Of a URI. A slash may be in a password that should have been quoted.
_USER = re.compile(r"\A(?:[^/?]*@|[^/?:]*:(?!\d+(?:[/?]|\Z)).*@)")
_USER_OF_STORE = re.compile(r"\A(?:[^/?]*@|[^/?:]*:.*@)")  # where buckets are in place of hosts, there are no ports
_STORES = ("s3", "gs", "gcs")
# By what pyarrow says of a store.
_REMEDIES = {
    "AWS Error NETWORK_CONNECTION": "check the network, and the endpoint that the path or AWS_ENDPOINT_URL names",
    r"AWS Error (ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|\w+ \(HTTP status 40[13]\))": (
        "check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), and what they may do there"
    ),
    "(Unable|attempt) to load lib(jvm|hdfs)": (
        "install Java and Hadoop's libhdfs.so, and name them in JAVA_HOME and ARROW_LIBHDFS_DIR; or python3 -m pip "
        "install hdfs-native, which needs neither, and give filesystem=hdfs_native.fsspec.HdfsFileSystem(host, port)"
    ),
}
_DETAILS = re.compile(r"\n(\tat |\t\.\.\. |dlopen\().*")  # Java's stack, places where a library was looked for
_MARKS = re.compile(r"[*?[]")  # of patterns
_THAT_REPLACE = ("local", "s3", "gcs", "abfs")  # what has the new name


@dataclass(frozen=True)
class File:
    """A file that is there when it is planned."""

    name: str  # as the program says it
    path: str  # in its file system
    file_system: Any
    planned: FileState

    @property
    def size(self) -> int:
        return self.planned.size

    def opened(self) -> Any:
        return self.file_system.open_input_file(self.path)

    def refuse_change(self) -> None:
        """Before and after it is read: borders of parts, and what is in them, are of the file that was planned."""
        with errors_named(self.name):
            info = self.file_system.get_file_info(self.path)
            if info.type == fs.FileType.NotFound:
                raise FileNotFoundError("there is no such file")
        self.planned.refuse_other(self.name, _state_of(self.file_system, info))


def _state_of(file_system: Any, info: Any) -> FileState:
    """Stores of objects say the time in whole seconds in one answer, and with more digits in another."""
    written_ns = info.mtime_ns
    if written_ns is not None and local_path(file_system, "") is None:
        written_ns -= written_ns % 1_000_000_000
    return FileState(info.size, written_ns)


def state_at(file_system: Any, place: str) -> Optional[FileState]:
    """Of a file, or None where there is none."""
    info = file_system.get_file_info(place)
    return _state_of(file_system, info) if info.type == fs.FileType.File else None


def is_free(file_system: Any, place: str) -> bool:
    """Nothing has the name, or a file."""
    return file_system.get_file_info(place).type in (fs.FileType.NotFound, fs.FileType.File)


def shown(path: Path) -> str:
    """For messages and names of parts: of a URI neither user and password, which may be the keys of a store, nor the
    options of the file system."""
    name = os.fspath(path)
    scheme, mark, rest = name.partition("://")
    if not mark:
        return name
    user = _USER_OF_STORE if scheme in _STORES else _USER
    return f"{scheme}://{user.sub('', rest).partition('?')[0]}"


def placed(path: Path, file_system: Optional[Any]) -> Tuple[Any, str]:
    """The file system, and the path in it. Without one, the path may be a URI, as hdfs://, s3:// and file:// are."""
    name = os.fspath(path)
    if file_system is None and "://" in name:
        try:
            file_system, place = fs.FileSystem.from_uri(name)
        except ValueError as error:
            raise ValueError(str(error).replace(name, shown(name))) from None
        # By a URI, pyarrow's S3 asks 30 times, for 100 s, where nobody answers; by its constructor, 3 times.
        return (copy.copy(file_system) if file_system.type_name == "s3" else file_system), place
    if file_system is None:
        return fs.LocalFileSystem(), name
    if not isinstance(file_system, fs.FileSystem):  # of fsspec
        file_system = fs.PyFileSystem(fs.FSSpecHandler(file_system))
    return file_system, name


def files_of(path: Path, file_system: Optional[Any]) -> List[File]:
    """The file, or those in the directory and those below it; or the same of all that a pattern is like, by name.

    But for what is in names that begin with _ or a dot, and for files half written.
    """
    name = shown(path)
    with errors_named(name):
        file_system, place = placed(path, file_system)
        found = [(name, place, file_system.get_file_info(place))]
        if found[0][2].type == fs.FileType.NotFound and _MARKS.search(place):
            found = _named_like(name, place, file_system)
    return [file for one in found for file in _files_at(*one, file_system)]


def _named_like(name: str, pattern: str, file_system: Any) -> List[Tuple[str, str, Any]]:
    """Each with its name and place. Directories are looked through only as far as the pattern goes."""
    begin = pattern[: _MARKS.search(pattern).start()].rpartition("/")[0]  # type: ignore[union-attr]
    behind = pattern[len(begin) :]
    is_local = isinstance(file_system, fs.LocalFileSystem)
    folders = [begin or ("." if is_local and pattern[0] != "/" else pattern[: pattern[0] == "/"])]
    for like in filter(None, behind.split("/")):
        inside = [one for folder in folders for one in file_system.get_file_info(_inside(folder))]
        found = [one for one in inside if fnmatchcase(one.base_name, like) and _is_of_input(one.base_name, like)]
        folders = [one.path for one in found if one.type == fs.FileType.Directory]
    if not found:
        _refuse_missing_bucket(pattern, file_system)
        raise FileNotFoundError("nothing has such a name")
    shown_begin = name[: -len(behind)] if name.endswith(behind) else begin
    relative = [one.path if begin else one.path[one.path.startswith("./") and 2 :] for one in found]
    named = [(shown_begin + place[len(begin) :], place, one) for place, one in zip(relative, found)]
    return sorted(named, key=lambda one: one[1])


def _inside(folder: str) -> Any:
    return fs.FileSelector(folder, allow_not_found=True)


def _is_of_input(name: str, like: str) -> bool:
    is_hidden = name.startswith(("_", ".")) and not like.startswith(name[0])
    return not is_hidden and not name.endswith(".partial")


def _files_at(name: str, place: str, info: Any, file_system: Any) -> List[File]:
    with errors_named(name):
        if info.type == fs.FileType.NotFound:
            _refuse_missing_bucket(place, file_system)
            raise FileNotFoundError("there is no such file")
        if info.type == fs.FileType.File:
            return [File(name, place, file_system, _state_of(file_system, info))]
        if info.type != fs.FileType.Directory:
            raise ValueError("it is neither a file nor a directory")
        inside = sorted(file_system.get_file_info(fs.FileSelector(place, recursive=True)), key=lambda one: one.path)
    files = [(one, _below(one.path, place)) for one in inside if one.type == fs.FileType.File]
    return [
        File(os.path.join(name, below), one.path, file_system, _state_of(file_system, one))
        for one, below in files
        if one.extension != "partial" and not any(part.startswith(("_", ".")) for part in below.split("/"))
    ]


def _refuse_missing_bucket(place: str, file_system: Any) -> None:
    store, whole = _unwrapped(file_system, place)
    bucket = whole.partition("/")[0]
    if is_s3(file_system) and store.get_file_info(bucket).type == fs.FileType.NotFound:
        raise FileNotFoundError(f"there is no bucket {bucket!r}")


def _below(path: str, directory: str) -> str:
    return os.path.relpath("/" + path.strip("/"), "/" + directory.strip("/"))


def _unwrapped(file_system: Any, path: str) -> Tuple[Any, str]:
    while isinstance(file_system, fs.SubTreeFileSystem):
        path = os.path.join(file_system.base_path, path.lstrip("/"))
        file_system = file_system.base_fs
    return file_system, path


def local_path(file_system: Any, path: str) -> Optional[str]:
    """Of a file system that is this machine's, or a part of it."""
    file_system, path = _unwrapped(file_system, path)
    return path if isinstance(file_system, fs.LocalFileSystem) else None


def renamed(file_system: Any, path: str, to: str) -> None:
    """Replaces what is there under the new name, also where the file system does not do that, as HDFS.

    When that fails, it is there as before.
    """
    try:
        file_system.move(path, to)
    except Exception:
        if _unwrapped(file_system, "")[0].type_name in _THAT_REPLACE or not _are_files(file_system, [path, to]):
            raise
        aside = to + ".replaced.partial"
        file_system.move(to, aside)
        try:
            file_system.move(path, to)
        except Exception:
            file_system.move(aside, to)
            raise
        file_system.delete_file(aside)


def _are_files(file_system: Any, paths: List[str]) -> bool:
    with suppress(Exception):
        return all(info.type == fs.FileType.File for info in file_system.get_file_info(paths))
    return False


def is_s3(file_system: Any) -> bool:
    return bool(_unwrapped(file_system, "")[0].type_name == "s3")


@contextmanager
def errors_named(name: str, place: str = "", what: str = "read") -> Iterator[None]:
    """What goes wrong in the block is said with the file's name, and where in it."""
    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, IndexError, TypeError, OverflowError) as error:
        kind = OSError if isinstance(error, OSError) else ValueError
        remedies = [f"\n  Remedy: {remedy}." for words, remedy in _REMEDIES.items() if re.search(words, str(error))]
        cause = _DETAILS.sub("", str(error))
        raise kind(f"cannot {what} {name}{place}: {cause}{''.join(remedies)}") from None
