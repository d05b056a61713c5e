"""A file that is written whole or not at all."""

import errno
import os
import tempfile

from .errors import LaunchError


class OutputFile:
    """What is at `path` stays until put_in_place(). While in use it has a folder beside it, for whatever else is
    written meanwhile."""

    def __init__(self, what: str, path: str) -> None:
        self._what = what
        self._path = path

    def __enter__(self) -> "OutputFile":
        try:
            if os.path.isdir(self._path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            beside = os.path.dirname(self._path) or "."
            self._directory = tempfile.TemporaryDirectory(prefix=".spillway-tune-", dir=beside)
        except OSError as error:
            raise self._failure(error) from None
        self.folder = self._directory.name
        self.written = os.path.join(self.folder, "page")
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def write(self, page: str) -> None:
        try:
            with open(self.written, "w", encoding="utf-8") as file:
                file.write(page)
            os.chmod(self.written, 0o666 & ~_umask())
        except OSError as error:
            raise self._failure(error) from None

    def put_in_place(self) -> None:
        try:
            os.replace(self.written, self._path)
        except OSError as error:
            raise self._failure(error) from None

    def _failure(self, error: OSError) -> LaunchError:
        return LaunchError(
            f"cannot write the {self._what} to {self._path}: {error.strerror}",
            "name a file in an existing directory that you may write to",
        )


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
