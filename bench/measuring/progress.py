"""What is being done, for who watches."""

import sys


def say(text: str) -> None:
    """In place of what was said before; on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
