"""Finding again what a test has started: by a mark in the environment, which all descendants inherit."""

import os
import signal
from pathlib import Path
from typing import Dict

MARK_VARIABLE = "SPILLWAY_TEST_MARK"


def marked_processes(mark: str, variable: str = MARK_VARIABLE) -> Dict[int, str]:
    """Living processes that carry a test's mark: command lines by process number."""
    wanted = f"{variable}={mark}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def kill_marked(mark: str, variable: str = MARK_VARIABLE) -> None:
    for pid in marked_processes(mark, variable):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def process_of_rank(rank: int, program: str, mark: str) -> int:
    """0: there is none."""
    names = {f"{variable}={rank}" for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_program = (folder / "comm").read_text().strip() == program[:15]
            environment = (folder / "environ").read_text().split("\0") if is_program else []
        except OSError:
            continue
        if names & set(environment) and any(mark in word for word in environment):
            return int(folder.name)
    return 0
