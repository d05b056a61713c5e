"""The CSR file format in plain Python: written from docs/reference/csr-format.md, to compare with."""

import struct
from array import array
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

MAGIC = b"SPWYCSR\n"
ALIGNMENT = 4096
HEADER = struct.Struct("<8sIIIIQQQQQQ")
HEADER_BYTES = HEADER.size + 8
FIELDS = ("magic", "version", "column_bytes", "value_bytes", "reserved", "rows", "columns", "entries")
FIELDS += ("offsets_at", "entries_at", "file_bytes")

FLOAT = struct.Struct("<f")

# A matrix is a list of rows; a row lists its entries.
Matrix = List[List[Tuple[int, float]]]


def single(value: float) -> float:
    """Rounded to 32 bits."""
    return FLOAT.unpack(FLOAT.pack(value))[0]


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def entries_position(rows: int) -> int:
    end = ALIGNMENT + 8 * (rows + 1)
    return -(-end // ALIGNMENT) * ALIGNMENT


def header_bytes(
    rows: int, columns: int, entries: int, value_bytes: int = 0, /, checksum: Optional[int] = None, **changes: object
) -> bytes:
    """A header; `changes` replace fields, under a checksum that is right unless it is given."""
    entries_at = entries_position(rows)
    end = entries_at + (4 + value_bytes) * entries
    values: Dict[str, object] = dict(
        zip(FIELDS, (MAGIC, 2, 4, value_bytes, 0, rows, columns, entries, ALIGNMENT, entries_at, end))
    )
    values.update(changes)
    fields = HEADER.pack(*(values[name] for name in FIELDS))
    return fields + struct.pack("<Q", fnv1a(fields) if checksum is None else checksum)


def encode_rows(row_lengths: Sequence[int], columns: int, value_bytes: int, entries: bytes) -> bytearray:
    offsets = array("Q", [0])
    for length in row_lengths:
        offsets.append(offsets[-1] + length)
    content = bytearray(entries_position(len(row_lengths)))
    content[:HEADER_BYTES] = header_bytes(len(row_lengths), columns, offsets[-1], value_bytes)
    content[ALIGNMENT : ALIGNMENT + 8 * len(offsets)] = offsets.tobytes()
    return content + entries


def decode_rows(content: bytes, value_bytes: int) -> Tuple[int, List[int]]:
    """Number of columns and row offsets. REQUIRES: a valid file; a header that is not as specified fails."""
    rows, columns, entries = struct.unpack_from("<QQQ", content, 24)
    assert content[:HEADER_BYTES] == header_bytes(rows, columns, entries, value_bytes)
    assert len(content) == entries_position(rows) + (4 + value_bytes) * entries
    offsets = struct.unpack_from(f"<{rows + 1}Q", content, ALIGNMENT)
    assert offsets[0] == 0 and offsets[-1] == entries
    return columns, list(offsets)


def encode_matrix(matrix: Matrix, columns: int) -> bytearray:
    entries = b"".join(struct.pack("<If", column, value) for row in matrix for column, value in row)
    return encode_rows([len(row) for row in matrix], columns, 4, entries)


def write_matrix(path: Path, matrix: Matrix, columns: int) -> Path:
    path.write_bytes(encode_matrix(matrix, columns))
    return path


def decode_matrix(content: bytes) -> Tuple[Matrix, int]:
    columns, offsets = decode_rows(content, 4)
    entries = list(struct.iter_unpack("<If", content[entries_position(len(offsets) - 1) :]))
    return [entries[begin:end] for begin, end in zip(offsets, offsets[1:])], columns
