"""Just enough of the ELF format to tell what kind of program a file is."""

import os
import struct
from typing import NamedTuple

# e_machine by what os.uname() says.
_MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21, "s390x": 22}
_PT_INTERP = 3


class ElfFile(NamedTuple):
    is_elf: bool
    is_for_this_machine: bool = False
    interpreter: str = ""  # dynamic loader; empty for a static program
    is_script: bool = False


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
        (offset,) = struct.unpack_from(order + "Q", start, 32)
        size, count = struct.unpack_from(order + "HH", start, 54)
        file.seek(offset)
        table = file.read(size * count)
        interpreter = ""
        for index in range(len(table) // size if size >= 56 else 0):
            (kind,) = struct.unpack_from(order + "I", table, index * size)
            if kind == _PT_INTERP:
                where, _, _, length = struct.unpack_from(order + "QQQQ", table, index * size + 8)
                file.seek(where)
                interpreter = file.read(length).rstrip(b"\0").decode(errors="replace")
    return ElfFile(True, machine == _MACHINES.get(os.uname().machine, machine), interpreter)
