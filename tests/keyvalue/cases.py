"""Cases that are tested in several ways."""

from typing import List, Sequence, Tuple, TypeVar

Case = TypeVar("Case")
Way = TypeVar("Way")


def in_turns(cases: Sequence[Case], ways: Sequence[Way]) -> List[Tuple[Case, Way]]:
    """Each case in one way, as the ways take turns, and the first case in all of them."""
    return [(cases[0], way) for way in ways] + [(case, ways[i % len(ways)]) for i, case in enumerate(cases[1:], 1)]
