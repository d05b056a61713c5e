"""Part files that are whole: they get their names when all of the job is."""

import ctypes
import os
from contextlib import suppress
from typing import Any, Dict, List, Tuple

from . import _functions, _library

PublishFunction = ctypes.CFUNCTYPE(None)

# Of file systems of pyarrow's, by names: the file system, and where the part is now.
_waiting: Dict[str, Tuple[Any, str, str]] = {}


def publish(partial: str, path: str) -> None:
    """At the end of the job that runs; or at once, where none does or where it keeps checkpoints."""
    library = _library.library
    if library is None:
        os.rename(partial, path)
    elif library.MPI_D_Publish(os.fsencode(partial), os.fsencode(path)) != 0:
        raise OSError(library.MPI_D_File_error().decode(errors="replace"))


def publish_table(name: str, file_system: Any, partial: str, place: str) -> None:
    """The same of a file that pyarrow renames."""
    from ._file_systems import renamed

    if _library.library is not None and _library.library.MPI_D_Publish_later(_publish_waiting) == 1:
        _waiting[name] = file_system, partial, place
    else:
        renamed(file_system, partial, place)


@PublishFunction
def _publish_waiting() -> None:
    from ._file_systems import errors_named, renamed

    try:
        for name, (file_system, partial, place) in _waiting.items():
            with errors_named(name, what="write"):
                renamed(file_system, partial, place)
        _waiting.clear()
    except BaseException as error:
        _functions.end_job(error, "the end of the job, where parts get their names,")


def drop_waiting() -> None:
    """The job has failed here."""
    for file_system, partial, _ in _waiting.values():
        with suppress(Exception):
            file_system.delete_file(partial)


def refuse_other_parts(path: str, directory: str, names: List[str]) -> None:
    """Where the directory, which has these names, has parts that would stay beside those of the job."""
    library = _library.library
    if library is None:
        return
    own = os.path.basename(path)
    for name in names:
        if library.MPI_D_Is_other_part(os.fsencode(name), os.fsencode(own)) == 1:
            raise FileExistsError(
                f"cannot write {path}: {os.path.join(directory, name)} is there, of another job, and would stay beside "
                "it\n  Remedy: remove it, or name another directory."
            )
