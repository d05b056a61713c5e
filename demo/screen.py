"""What the demonstration shows: steps that end in a line each, a bar that moves; plain lines without a terminal."""

import sys
import time
from contextlib import contextmanager
from typing import Iterator

WIDTH = 78
_BAR_WIDTH = 24
_NAME_WIDTH = 33


class Step:
    """Set `result` before the step ends."""

    def __init__(self) -> None:
        self.result = ""


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if _is_terminal() else text


def _can_show(characters: str) -> bool:
    try:
        characters.encode(sys.stdout.encoding or "ascii")
        return True
    except (LookupError, UnicodeEncodeError):
        return False


def heading(text: str) -> None:
    print(f"\n{_bold(text)}\n", flush=True)


def say(text: str) -> None:
    print(f"  {text}".rstrip(), flush=True)


def fact(name: str, value: str, meaning: str = "") -> None:
    line = f"  {name:<13} {value:>9}   {meaning}"
    print(line.rstrip(), flush=True)


def transient(text: str) -> None:
    """Shown until the next thing is; on a terminal only."""
    if _is_terminal():
        print(f"\r\033[K{text[:WIDTH]}", end="", flush=True)


@contextmanager
def step(name: str) -> Iterator[Step]:
    """`name ...` while it lasts; then one line with its result and its seconds."""
    begin = time.monotonic()
    transient(f"  {name} ...")
    current = Step()
    try:
        yield current
    except BaseException:
        transient("")
        raise
    transient("")
    room = WIDTH - 3 - _NAME_WIDTH - 9
    print(f"  {name:<{_NAME_WIDTH}} {current.result[:room]:<{room}} {time.monotonic() - begin:>6.1f} s", flush=True)


def bar(done: int, total: int, text: str) -> None:
    """A bar over itself on a terminal; otherwise a line for every quarter."""
    filled, empty = ("█", "░") if _can_show("█░") else ("#", ".")
    length = done * _BAR_WIDTH // total
    if _is_terminal():
        transient(f"  {filled * length}{empty * (_BAR_WIDTH - length)} {text}")
    elif done and done * 4 // total != (done - 1) * 4 // total:
        say(text)
