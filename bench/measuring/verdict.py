"""Whether a measured figure reaches its target, in the word that every page has for it."""

_MISSED = "MISSED"


def verdict(is_met: bool) -> str:
    return "met" if is_met else _MISSED


def misses_target(page: str) -> bool:
    """For the exit status of a benchmark: 1 when its page says anywhere that a target was missed."""
    return _MISSED in page
