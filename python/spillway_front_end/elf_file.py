"""Just enough of the ELF format to tell what kind of program a file is."""

import os
import struct
from typing import BinaryIO, Dict, List, NamedTuple

# e_machine by what os.uname() says.
_MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21, "s390x": 22}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_STRTAB, _DT_STRSZ = 5, 10


class ElfFile(NamedTuple):
    is_elf: bool
    is_for_this_machine: bool = False
    interpreter: str = ""  # dynamic loader; empty for a static program
    is_script: bool = False


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    length: int  # in the file


def _segments(file: BinaryIO, start: bytes, order: str) -> List[_Segment]:
    (offset,) = struct.unpack_from(order + "Q", start, 32)
    size, count = struct.unpack_from(order + "HH", start, 54)
    file.seek(offset)
    table = file.read(size * count)
    segments = []
    for entry in range(0, len(table) - 55, size or 56):
        (kind,) = struct.unpack_from(order + "I", table, entry)
        where, address, _, length = struct.unpack_from(order + "QQQQ", table, entry + 8)
        segments.append(_Segment(kind, where, address, length))
    return segments


def _content(file: BinaryIO, segment: _Segment) -> bytes:
    file.seek(segment.offset)
    return file.read(segment.length)


def read_elf(path: str) -> ElfFile:
    """Raises OSError when the file cannot be read."""
    with open(path, "rb") as file:
        start = file.read(64)
        if start[:4] != b"\x7fELF" or len(start) < 64:
            return ElfFile(False, is_script=start[:2] == b"#!")
        if start[4] != 2:  # 32-bit
            return ElfFile(True)
        order = "<" if start[5] == 1 else ">"
        (machine,) = struct.unpack_from(order + "H", start, 18)
        interpreter = ""
        for segment in _segments(file, start, order):
            if segment.kind == _PT_INTERP:
                interpreter = _content(file, segment).rstrip(b"\0").decode(errors="replace")
    return ElfFile(True, machine == _MACHINES.get(os.uname().machine, machine), interpreter)


def dynamic_names(path: str) -> bytes:
    """The names of what a 64-bit library exports and imports, each with a zero at its end.

    One name may be the end of another. Raises OSError when the file cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(64)
        if start[:4] != b"\x7fELF" or len(start) < 64 or start[4] != 2:
            return b""
        order = "<" if start[5] == 1 else ">"
        segments = _segments(file, start, order)
        entries: Dict[int, int] = {}
        for segment in segments:
            if segment.kind == _PT_DYNAMIC:
                content = _content(file, segment)
                entries.update(struct.iter_unpack(order + "QQ", content[: len(content) // 16 * 16]))
        address, length = entries.get(_DT_STRTAB, 0), entries.get(_DT_STRSZ, 0)
        for segment in segments:
            if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.length:
                file.seek(segment.offset + address - segment.address)
                return file.read(length)
    return b""
