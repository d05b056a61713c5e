"""Part files that are whole: they get their names when all of the job is."""

import ctypes
import os
from contextlib import suppress
from typing import Any, Dict, List, Tuple

from . import _functions, _library

PublishFunction = ctypes.CFUNCTYPE(None, ctypes.c_int)
_LOOK, _BEGIN, _NAME, _END = range(4)  # MPI_D_Publish_step
_MARK = "_SUCCESS"

# Of file systems of pyarrow's, by names: the file system, where the part is now, where it goes, and what it was when it
# was whole.
_waiting: Dict[str, Tuple[Any, str, str, Any]] = {}
# Of such file systems, the marks of folders with parts, by names.
_marks: Dict[str, Tuple[Any, str]] = {}

# Of such file systems, what is being written.
_open: Dict[str, Any] = {}


def begin_partial(file_system: Any, partial: str) -> None:
    """Before a file is opened under that name, which it does not keep: what ends the job meanwhile removes it.

    `file_system` is pyarrow's, or None for a path of this machine.
    """
    if file_system is not None:
        _open[partial] = file_system
    elif _library.library is not None and _library.library.MPI_D_Begin_partial(os.fsencode(partial)) != 0:
        raise OSError(_library.library.MPI_D_File_error().decode(errors="replace"))


def end_partial(file_system: Any, partial: str) -> None:
    """It is closed and has its name, or is to have it at the end of the job, or is gone."""
    if file_system is not None:
        _open.pop(partial, None)
    elif _library.library is not None:
        _library.library.MPI_D_End_partial(os.fsencode(partial))


def publish(partial: str, path: str) -> None:
    """At the end of the job that runs; or at once, where none does."""
    library = _library.library
    if library is None:
        os.rename(partial, path)
    elif library.MPI_D_Publish(os.fsencode(partial), os.fsencode(path)) != 0:
        raise OSError(library.MPI_D_File_error().decode(errors="replace"))


def publish_table(name: str, file_system: Any, partial: str, place: str) -> None:
    """The same of a file of pyarrow's file systems. With checkpoints, one that is not local has its name at once."""
    from ._file_systems import local_path, renamed, state_at

    if local_path(file_system, place) is not None:
        publish(str(local_path(file_system, partial)), str(local_path(file_system, place)))
        return
    when = -1 if _library.library is None else _library.library.MPI_D_Publish_later(_publish_step)
    if when >= 0:
        _marks[os.path.join(os.path.dirname(name), _MARK)] = file_system, os.path.join(os.path.dirname(place), _MARK)
    if when == 1:
        _waiting[name] = file_system, partial, place, state_at(file_system, partial)
        return
    if when == 0:
        _remove_mark(file_system, os.path.join(os.path.dirname(place), _MARK))
    renamed(file_system, partial, place)


@PublishFunction
def _publish_step(step: int) -> None:
    from ._file_systems import errors_named, renamed

    try:
        for name, (file_system, partial, place, state) in _waiting.items():
            with errors_named(name, what="write"):
                if step == _LOOK:
                    _require_whole(file_system, partial, place, state)
                elif step == _NAME:
                    renamed(file_system, partial, place)
        for name, (file_system, place) in _marks.items():
            with errors_named(name, what="write"):
                if step == _BEGIN:
                    _remove_mark(file_system, place)
                elif step == _END:
                    _make_mark(file_system, place)
        if step == _END:
            _waiting.clear()
            _marks.clear()
    except BaseException as error:
        _functions.end_job(error, "the end of the job, where parts get their names,")


def _require_whole(file_system: Any, partial: str, place: str, state: Any) -> None:
    from ._file_systems import is_free, state_at

    now = state_at(file_system, partial)
    if now != state:
        what = "is gone" if now is None else "has been changed"
        raise OSError(f"{partial} {what} since its task has written it{_NO_NAMES}")
    if not is_free(file_system, place):
        raise OSError(f"something that is no file has that name{_NO_NAMES}")


_NO_NAMES = "\n  Remedy: no part of the job has got its name; start it again, and let nobody else write to its folders."


def _remove_mark(file_system: Any, place: str) -> None:
    """Other processes do so, too."""
    from ._file_systems import state_at

    try:
        if state_at(file_system, place) is not None:
            file_system.delete_file(place)
    except OSError:
        if state_at(file_system, place) is not None:
            raise


def _make_mark(file_system: Any, place: str) -> None:
    from ._file_systems import state_at

    try:
        file_system.open_output_stream(place, compression=None).close()
    except OSError:
        if state_at(file_system, place) is None:
            raise


def drop_waiting() -> None:
    """The job has failed here."""
    unnamed = [(file_system, partial) for file_system, partial, *_ in _waiting.values()]
    for file_system, partial in [*unnamed, *((file_system, partial) for partial, file_system in _open.items())]:
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
