"""How far a key-value job is: a line on the terminal, or lines of JSON; and the page at its end."""

import shutil
import sys
import time
from typing import Dict, Optional

from .sizes import format_size
from .standard_error import say
from .task_server import JobFigures

TICK_S = 0.5
STYLES = ("auto", "bar", "json", "none")
_BAR_CELLS = 24
_TOTALS = (
    "emitted_records",
    "emitted_bytes",
    "shuffled_records",
    "sent_bytes",
    "spilled_bytes",
    "received_records",
)


def _count(number: float) -> str:
    for unit in ("", "k", "M"):
        if number < 10000:
            return f"{number:.0f}{unit}"
        number /= 1000
    return f"{number:.0f}G"


def _o_done(figures: JobFigures) -> int:
    return figures.total("o_tasks") + figures.o_tasks_restored


def _a_done(figures: JobFigures) -> int:
    return figures.total("a_tasks") + figures.a_tasks_restored


def _restored(tasks: int) -> str:
    return f", {tasks} of them by an earlier start" if tasks else ""


def _done(figures: JobFigures) -> int:
    """Of this start."""
    return figures.total("o_tasks") + figures.total("a_tasks")


def _has_end(figures: JobFigures) -> bool:
    """Nobody knows how many rounds or windows there will be."""
    return figures.mode not in ("iteration", "streaming")


def _round_name(figures: JobFigures) -> str:
    return "rounds" if figures.mode == "iteration" else "windows"


class JobProgress:
    def __init__(self, style: str) -> None:
        if style == "auto":
            style = "bar" if sys.stderr.isatty() else "none"
        self._style = style
        self._begin = time.monotonic()
        self._has_line = False
        self.begin_start()

    def begin_start(self) -> None:
        """A job that is started again has new figures, and they are of this time."""
        self._start = time.monotonic()
        self._shown = self._start

    @property
    def elapsed_s(self) -> float:
        """Of the whole job."""
        return time.monotonic() - self._begin

    @property
    def _start_s(self) -> float:
        return time.monotonic() - self._start

    def show(self, figures: JobFigures) -> None:
        now = time.monotonic()
        if self._style == "none" or now - self._shown < TICK_S or not figures.o_tasks:
            return
        self._shown = now
        if self._style == "json":
            self._say_values(figures)
        else:
            columns = shutil.get_terminal_size().columns
            say(f"\r{self._line(figures)[: columns - 1]}\033[K")
            self._has_line = True

    def end(self, figures: JobFigures) -> None:
        """Of a start. Whoever reads JSON has the figures of its end as well."""
        if self._style == "json" and figures.o_tasks:
            self._say_values(figures)
        if self._has_line:
            say("\r\033[K")
            self._has_line = False

    def _say_values(self, figures: JobFigures) -> None:
        import json  # for --progress json only

        say(json.dumps(self._values(figures)) + "\n")

    def _records_per_s(self, figures: JobFigures) -> float:
        return figures.total("emitted_records") / max(self._start_s, 1e-3)

    def _left_s(self, figures: JobFigures) -> Optional[float]:
        if not _has_end(figures):
            return None
        restored = figures.o_tasks_restored + figures.a_tasks_restored
        done, of_start = _done(figures), figures.o_tasks + figures.a_tasks - restored
        return self._start_s * (of_start - done) / done if done else None

    def _values(self, figures: JobFigures) -> Dict[str, object]:
        left = self._left_s(figures)
        return {
            "elapsed_s": round(self._start_s, 3),
            "left_s": None if left is None else round(left, 3),
            "records_per_s": round(self._records_per_s(figures)),
            "o_tasks": figures.o_tasks,
            "o_tasks_done": figures.total("o_tasks"),
            "o_tasks_restored": figures.o_tasks_restored,
            "a_tasks": figures.a_tasks,
            "a_tasks_done": figures.total("a_tasks"),
            "a_tasks_restored": figures.a_tasks_restored,
            **({} if _has_end(figures) else {_round_name(figures): figures.longest("rounds")}),
            **{name: figures.total(name) for name in _TOTALS},
        }

    def _line(self, figures: JobFigures) -> str:
        if not _has_end(figures):
            return self._line_without_end(figures)
        done = _o_done(figures) + _a_done(figures)
        cells = _BAR_CELLS * done // (figures.o_tasks + figures.a_tasks)
        left = self._left_s(figures)
        return (
            f"[{'#' * cells}{'.' * (_BAR_CELLS - cells)}] O {_o_done(figures)}/{figures.o_tasks}  "
            f"A {_a_done(figures)}/{figures.a_tasks}  {_count(self._records_per_s(figures))} "
            f"records/s  {format_size(figures.total('emitted_bytes'))}"
            + (f"  {left:.0f} s left" if left is not None else "")
        )

    def _line_without_end(self, figures: JobFigures) -> str:
        rounds = figures.longest("rounds")
        what = f"round {rounds + 1}" if figures.mode == "iteration" else f"{rounds} windows"
        return (
            f"{what}  {_count(self._records_per_s(figures))} records/s  "
            f"{format_size(figures.total('emitted_bytes'))}  {self._start_s:.0f} s"
        )


def report_values(figures: JobFigures, status: int, elapsed_s: float) -> Dict[str, object]:
    """For --summary json."""
    return {
        "mode": figures.mode,
        "exit_status": status,
        "processes": len(figures.of_process),
        "o_tasks": figures.o_tasks,
        "o_tasks_done": figures.total("o_tasks"),
        "o_tasks_restored": figures.o_tasks_restored,
        "a_tasks": figures.a_tasks,
        "a_tasks_done": figures.total("a_tasks"),
        "a_tasks_restored": figures.a_tasks_restored,
        **({} if _has_end(figures) else {_round_name(figures): figures.longest("rounds")}),
        **{name: figures.total(name) for name in _TOTALS},
        "seconds": round(elapsed_s, 3),
        "o_seconds": round(figures.longest("o_ns") / 1e9, 3),
        "a_seconds": round(figures.longest("a_ns") / 1e9, 3),
        "per_process": [dict(of_one, process=number) for number, of_one in sorted(figures.of_process.items())],
    }


def report_text(figures: JobFigures, status: int, elapsed_s: float) -> str:
    def grouped(name: str) -> str:
        return f"{figures.total(name):,}".replace(",", " ")

    outcome = "ended well" if status == 0 else f"exit status {status}"
    emitted, sent, spilled = (format_size(figures.total(f"{name}_bytes")) for name in ("emitted", "sent", "spilled"))
    tasks = ("", "") if not _has_end(figures) else (f" of {figures.o_tasks}", f" of {figures.a_tasks}")
    rounds = "" if _has_end(figures) else f"  {_round_name(figures):<9} {figures.longest('rounds')}\n"
    o_s, a_s = figures.longest("o_ns") / 1e9, figures.longest("a_ns") / 1e9
    return (
        f"── key-value job, {figures.mode}: {len(figures.of_process)} processes, {outcome} after {elapsed_s:.1f} s\n"
        f"  O tasks   {_o_done(figures)}{tasks[0]} in {o_s:.1f} s{_restored(figures.o_tasks_restored)}\n"
        f"  A tasks   {_a_done(figures)}{tasks[1]} in {a_s:.1f} s{_restored(figures.a_tasks_restored)}\n"
        f"{rounds}"
        f"  records   {grouped('emitted_records')} emitted, {grouped('shuffled_records')} after combining, "
        f"{grouped('received_records')} received\n"
        f"  bytes     {emitted} emitted, {sent} sent to other processes, {spilled} spilled\n"
    )
