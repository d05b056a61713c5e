"""Sizes as people write and read them. K, M, G, T are powers of 1024, as in `ulimit`, `docker` and `slurm`."""

from .errors import LaunchError

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Bytes of `8G`, `512M`, `1.5GiB`, `4096`."""
    lowered = text.strip().lower()
    digits = lowered.rstrip("kmgtib")
    unit = lowered[len(digits):]
    stem = unit[:1] if unit[:1] in _UNITS and unit[:1] != "b" else ""
    if unit[len(stem):] not in ("", "b", "ib") or unit == "ib":
        raise _not_a_size(text)
    try:
        value = float(digits)
    except ValueError:
        raise _not_a_size(text) from None
    if not 0 <= value < 2**63 / 1024 ** _UNITS[stem]:
        raise _not_a_size(text)
    return int(digits) if digits.isdigit() and not stem else int(value * 1024 ** _UNITS[stem])


def _not_a_size(text: str) -> LaunchError:
    return LaunchError(f"`{text}` is not a size", "write bytes or a unit, as in 8G, 512M, 1.5GiB or 4294967296")


def format_size(count: float) -> str:
    """`1.50 GiB`: three digits that count."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1000:
            break
        count /= 1024
    else:
        unit = "TiB"
    if unit == "B":
        return f"{count:.0f} B"
    decimals = 2 if abs(count) < 10 else 1 if abs(count) < 100 else 0
    return f"{count:.{decimals}f} {unit}"
