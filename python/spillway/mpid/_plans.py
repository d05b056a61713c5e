"""What this process has planned of its input, for Init() to compare with what the others have."""

import hashlib
from typing import Iterable

_plans = hashlib.blake2b(digest_size=16)


def planned(parts: Iterable[object]) -> None:
    for part in parts:
        _plans.update(repr(part).encode(errors="surrogateescape") + b"\n")


def digest() -> str:
    return _plans.hexdigest()
