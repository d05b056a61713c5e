"""Signals that end a command, as an exception: so that it can take back what it has begun."""

import signal
import sys

# Those that whoever started us wants ignored (nohup) stay so.
_SIGNALS = [
    number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN
]


class Ended(Exception):
    """By a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number

    def say(self, command: str, outcome: str) -> None:
        name = signal.Signals(self.args[0]).name
        sys.stderr.write(f"spillway: {command} was ended by {name}; {outcome}\n")


def _raise(number: int, _frame: object) -> None:
    ignore_them()  # while what was begun is taken back
    raise Ended(number)


def raise_them() -> None:
    """From now on they are exceptions; run_job.run_agent() passes them on to the job instead, and so it stays."""
    for number in _SIGNALS:
        signal.signal(number, _raise)


def ignore_them() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def let_them_end() -> None:
    """As they do by default."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def hold_them() -> None:
    """Until let_them_in()."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def let_them_in() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
