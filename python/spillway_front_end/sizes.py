"""Sizes as people write and read them. K, M, G, T are powers of 1024, as in `ulimit`, `docker` and `slurm`."""

import re

from .errors import LaunchError

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(?=[.]?\d)(\d{0,30})(?:[.](\d{0,30}))?(?:([kmgt])(?:i?b)?|b)?", re.ASCII)


def parse_size(text: str) -> int:
    """Bytes of `8G`, `512M`, `1.5GiB`, `4096`."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise LaunchError(f"`{text}` is not a size", "write bytes or a unit, as in 8G, 512M, 1.5GiB or 4294967296")
    whole, decimals, letter = match.group(1) or "0", match.group(2) or "0", match.group(3) or ""
    unit = 1024 ** _UNITS[letter]
    return int(whole) * unit + int(decimals) * unit // 10 ** len(decimals)


def format_size(count: float) -> str:
    """`1.50 GiB`: three digits that count."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(count) >= 1000 and len(units) > 1:
        count /= 1024
        del units[0]
    if units[0] == "B":
        return f"{count:.0f} B"
    decimals = 2 if abs(count) < 10 else 1 if abs(count) < 100 else 0
    return f"{count:.{decimals}f} {units[0]}"
