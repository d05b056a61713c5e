"""Where output is to be written, and whether it can be: looked at before a job works for it.

As in C++ (output_places.cpp), but without the library, which is not there before Init().
"""

import errno
import os
import re
import stat

_PART = re.compile(r"part-\d+(\..*)?\Z", re.DOTALL)


def require_writable(path: str, folder: str) -> None:
    """A file could be made there, or put in the place of another one."""
    try:
        is_folder = stat.S_ISDIR(os.stat(folder).st_mode)
    except OSError as error:
        code = error.errno or errno.ENOENT
    else:
        code = 0 if os.access(folder, os.W_OK | os.X_OK) else errno.EACCES if is_folder else errno.ENOTDIR
        code = code if is_folder else errno.ENOTDIR
    if code != 0:
        raise OSError(code, f"no file can be made in the folder {folder}: {os.strerror(code)}", path)


def require_regular(path: str, found: str) -> None:
    """Renaming would put a file in the place of a device or a pipe, and opening would write to it."""
    try:
        mode = os.lstat(found).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "a link" if stat.S_ISLNK(mode) else "no file"
        raise FileExistsError(errno.EEXIST, f"{found} is there, and is {what}", path)


def output_place(path: str) -> str:
    """The name, or where that is a symbolic link the file that it leads to."""
    place = os.path.realpath(path) if os.path.islink(path) else path
    if place != path and not os.path.exists(place):
        raise FileNotFoundError(errno.ENOENT, "it is a symbolic link that leads nowhere", path)
    require_regular(path, place)
    require_writable(path, os.path.dirname(place) or ".")
    if not os.path.islink(place + ".partial"):
        require_regular(path, place + ".partial")
    return place


def _above(directory: str) -> str:
    return os.path.dirname(directory.rstrip("/")) or "/"[: directory.startswith("/")] or "."


def is_part(name: str) -> bool:
    """Of a file that is whole."""
    return _PART.match(name) is not None and not name.endswith(".partial")


def check_parts(directory: str, first: str, makes_parents: bool = False) -> None:
    """Parts, of which the first one would have the name `first`, can be written there.

    A directory that is not there will be made, with `makes_parents` also those above it.
    """
    if not os.path.lexists(directory):
        above = _above(directory)
        while makes_parents and not os.path.lexists(above):
            above = _above(above)
        require_writable(first, above)
        return
    require_writable(first, directory)
    for name in filter(is_part, os.listdir(directory)):
        path = os.path.join(directory, name)
        require_regular(path, path)
