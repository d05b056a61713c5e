"""Files that gzip or zstd has compressed, by the functions of spillway/mpid_files.h."""

import ctypes
import io
import os
from typing import Any, List, Optional

from . import _library

MARK_BYTES = 4
_BUFFER_BYTES = 1 << 20
_SUFFIXES = (".gz", ".zst")


def _failure() -> OSError:
    return OSError(_library.load().MPI_D_File_error().decode(errors="replace"))


def codec_of(path: str, beginning: bytes) -> Optional[str]:
    """By its first MARK_BYTES. The library, which has the last word, is loaded only where they may be those."""
    begins_as_one = beginning[:2] == b"\x1f\x8b" or beginning[1:] in (b"\xb5\x2f\xfd", b"\x2a\x4d\x18")
    if not begins_as_one and not path.endswith(_SUFFIXES):
        return None
    codec = _library.load().MPI_D_Codec_of(os.fsencode(path), beginning, len(beginning))
    if codec is None:
        raise _failure()
    return None if codec == b"none" else codec.decode()


def is_compressed(path: str) -> bool:
    with open(path, "rb") as file:
        return codec_of(path, file.read(MARK_BYTES)) is not None


class _Contents(io.RawIOBase):
    """Of a compressed file, from their beginning."""

    def __init__(self, path: str) -> None:
        self._library = _library.load()
        self._file = self._library.MPI_D_Decompress_open(os.fsencode(path))
        if not self._file:
            raise _failure()

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:  # type: ignore[no-untyped-def, override]
        view = memoryview(room).cast("B")
        got = self._library.MPI_D_Decompress_read(self._file, (ctypes.c_char * len(view)).from_buffer(view), len(view))
        if got < 0:
            raise _failure()
        return got

    def close(self) -> None:
        file, self._file = getattr(self, "_file", None), None
        if file:
            self._library.MPI_D_Decompress_close(file)
        super().close()


def open_contents(path: str) -> io.BufferedReader:
    return io.BufferedReader(_Contents(path), _BUFFER_BYTES)


class CompressingWriter:
    """Compresses what is written, into an open file. Without finish() that is not whole."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._library = _library.load()
        self._file: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        if self._library.MPI_D_Compress_open(os.fsencode(path), descriptor, self._file) != 0:
            raise _failure()
        self._parts: List[bytes] = []
        self._bytes = 0

    def write(self, data: Any) -> None:
        if self._file is None:
            raise ValueError("write to closed file")
        self._parts.append(data if isinstance(data, bytes) else bytes(memoryview(data).cast("B")))
        self._bytes += len(self._parts[-1])
        if self._bytes >= _BUFFER_BYTES:
            self._pass_on()

    def _pass_on(self) -> None:
        data = b"".join(self._parts)
        self._parts, self._bytes = [], 0
        if self._library.MPI_D_Compress_write(self._file, data, len(data)) != 0:
            raise _failure()

    def finish(self) -> None:
        self._pass_on()
        if self._library.MPI_D_Compress_finish(self._file) != 0:
            raise _failure()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._library.MPI_D_Compress_close(file)


class CompressedStream:
    """Compresses what is written, into a stream that is no file of this machine. Without finish() that is not whole."""

    closed = False

    def __init__(self, path: str, stream: Any) -> None:
        self._stream = stream
        self._descriptor = os.memfd_create("compressed")
        self._writer = CompressingWriter(path, self._descriptor)

    def write(self, data: Any) -> int:
        self._writer.write(data)
        self._pass_on()
        return len(data)

    def _pass_on(self) -> None:
        size = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        if size != 0:
            self._stream.write(os.pread(self._descriptor, size, 0))
            os.lseek(self._descriptor, 0, os.SEEK_SET)

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        self._writer.finish()
        self._pass_on()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._writer.close()
            os.close(self._descriptor)


def compressing_writer(path: str, descriptor: int) -> Optional[CompressingWriter]:
    """For a file whose name says that it is compressed."""
    return CompressingWriter(path, descriptor) if path.endswith(_SUFFIXES) else None


def part_suffix() -> str:
    """What names of part files end with, as MPI_D_OUTPUT_CODEC says."""
    library = _library.library
    return library.MPI_D_Part_suffix().decode() if library is not None else ""
