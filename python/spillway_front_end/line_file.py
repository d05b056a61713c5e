"""Files that options name: hosts, racks, rules. Words in lines."""

from typing import List, Tuple

from .errors import LaunchError


def lines_of(option: str, path: str) -> List[Tuple[int, List[str]]]:
    """Numbers and words of the lines that say something; `#` begins a comment."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [(number, line.partition("#")[0].split()) for number, line in enumerate(file, 1)]
    except OSError as error:
        raise LaunchError(f"cannot read {option} {path}: {error.strerror}", "name a file that you can read") from None
    return [(number, words) for number, words in lines if words]
