"""The sort benchmark's records, as gensort makes them, and what valsort says of them."""

import zlib
from typing import List

RECORD_BYTES = 100
KEY_BYTES = 10
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
INCREMENT = 0x4A696D47726179524950202020202001
MASKS = [
    0,
    0xF0E8E4E2E1D8D4D2D1CC,
    0xCAC9C6C5C3B8B4B2B1AC,
    0xAAA9A6A5A39C9A999695,
    0x938E8D8B87787472716C,
    0x6A696665635C5A595655,
    0x534E4D4B473C3A393635,
    0x332E2D2B271E1D1B170F,
    0xC8C4C2C1989492918CE0,
    0x170F332E2D2B271E1D1B,
]


def random_numbers(count: int) -> List[int]:
    numbers = [0]
    for _ in range(count):
        numbers.append((numbers[-1] * MULTIPLIER + INCREMENT) % 2**128)
    return numbers[1:]


def digits(value: int, count: int) -> bytes:
    return bytes(32 + value // 95**place % 95 for place in range(count))


def ascii_key(number: int) -> bytes:
    return digits(number >> 64, 8) + digits(number % 2**64, 2)


def ascii_record(numbers: List[int], record: int, is_skewed: bool) -> bytes:
    key = ascii_key(numbers[record])
    skewed = (numbers[record] >> 32) % 8
    if is_skewed and skewed <= 6:
        key = ascii_key(numbers[record.bit_length()])[:skewed] + key[skewed:]
    filler = "".join(4 * digit for digit in f"{numbers[record] % 2**52:013X}")
    return key + f"  {record:032X}  {filler}\r\n".encode()


def binary_record(numbers: List[int], record: int, is_skewed: bool) -> bytes:
    parts = [(number >> 48) ^ mask for number, mask in zip(numbers[record:], MASKS)]
    skewed = (numbers[record] >> 32) % 64
    if is_skewed and skewed <= 48:
        own = 80 - skewed
        parts[0] = (numbers[record.bit_length()] >> 48 >> own << own) + parts[0] % 2**own
    return b"".join(part.to_bytes(KEY_BYTES, "big") for part in parts)


def generated_records(first: int, count: int, is_ascii: bool, is_skewed: bool) -> List[bytes]:
    numbers = random_numbers(first + count + len(MASKS))
    make = ascii_record if is_ascii else binary_record
    return [make(numbers, record, is_skewed) for record in range(first, first + count)]


def checksum(records: List[bytes]) -> str:
    return f"{sum(map(zlib.crc32, records)):x}"


def figures(records: List[bytes]) -> str:
    """What teravalidate prints."""
    keys = [record[:KEY_BYTES] for record in records]
    pairs = list(zip(keys, keys[1:]))
    return (
        f"Records: {len(records)}\n"
        f"Checksum: {checksum(records)}\n"
        f"Duplicate keys: {sum(first == second for first, second in pairs)}\n"
        f"Unordered records: {sum(first > second for first, second in pairs)}\n"
    )
