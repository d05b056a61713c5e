"""Where a task is in what it reads, for messages.

Nothing is done for each record: readers note each block with an iterator over what is in it, of which a message sees
how much has been taken.
"""

from contextlib import suppress
from operator import length_hint
from typing import Any, Callable, Dict, Iterator, Sequence

_SHOWN_LENGTH = 80
# Of input and of received records, how to say the place.
_noted: Dict[str, Callable[[], str]] = {}


def taken(items: Sequence[Any], rest: Iterator[Any]) -> int:
    """How many of the items an iterator over them has given."""
    return len(items) - length_hint(rest)


def note(what: str, place: Callable[[], str]) -> None:
    _noted[what] = place


def forget(what: str) -> None:
    """All of it has been read. A reader that is given up, as by an exception, keeps its place."""
    _noted.pop(what, None)


def forget_all() -> None:
    """Another task begins."""
    _noted.clear()


def short(item: Any) -> str:
    shown = repr(item[: _SHOWN_LENGTH + 1] if isinstance(item, (str, bytes)) else item)
    return shown if len(shown) <= _SHOWN_LENGTH else shown[: _SHOWN_LENGTH - 3] + "..."


def shown(key: str) -> str:
    """As `, at the key 'a', FILE, line 17,`, or nothing. `key` is that of the current group, if there is one."""
    places = [f"the key {key}"] if key else []
    with suppress(Exception):  # the file may be gone, and what has gone wrong is something else
        places += [say() for what, say in sorted(_noted.items()) if what == "input" or not key]
    return f", at {', '.join(places)}," if places else ""
