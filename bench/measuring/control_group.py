"""A limit on the memory of a program and all its descendants, file cache included: a control group of its own.

Works for versions 1 and 2 of the kernel's control groups, where the user may make groups (root, as a rule). The new
group lies below the one that this process is in, or as near to it as the kernel allows, so limits above stay in force.
"""

import os
import signal
import time
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple, Union

# How long the processes of a group that was killed may take to be gone.
END_S = 10.0


class Hierarchy(NamedTuple):
    version: int
    parent: Path  # where groups with a memory limit can be made


class NoControlGroups(Exception):
    """Says why memory cannot be limited here."""


def _own_paths(root: Path) -> List[Tuple[str, str]]:
    """(controllers, path) of the groups that this process is in."""
    lines = (root / "proc/self/cgroup").read_text().splitlines()
    return [(line.split(":", 2)[1], line.split(":", 2)[2]) for line in lines]


def _mounts(root: Path) -> List[Tuple[str, str, str]]:
    """(type, mount point, options) of control group file systems, the last mounted first."""
    found = []
    for line in (root / "proc/mounts").read_text().splitlines():
        _, point, kind, options = line.split()[:4]
        if kind in ("cgroup", "cgroup2"):
            found.append((kind, point, options))
    return found


def find_hierarchy(root: Path = Path("/")) -> Hierarchy:
    """Raises NoControlGroups. `root` lets tests show another machine."""
    own = _own_paths(root)
    for kind, point, options in _mounts(root):
        if kind == "cgroup" and "memory" in options.split(","):
            path = next((path for controllers, path in own if "memory" in controllers.split(",")), "/")
            group = root / point.lstrip("/") / path.lstrip("/")
            return Hierarchy(1, group if group.is_dir() else root / point.lstrip("/"))
    for kind, point, _ in _mounts(root):
        if kind == "cgroup2":
            top = root / point.lstrip("/")
            path = next((path for controllers, path in own if controllers == ""), "/")
            parent = _nearest_with_memory(top, top / path.lstrip("/"))
            if parent is not None:
                return Hierarchy(2, parent)
    raise NoControlGroups("no control group hierarchy lets memory be limited here")


def _nearest_with_memory(top: Path, group: Path) -> Optional[Path]:
    """In version 2 only groups without processes of their own hand a controller down: seldom ours, mostly one above."""
    while True:
        try:
            if "memory" in (group / "cgroup.subtree_control").read_text().split():
                return group
        except OSError:
            pass  # a container sees a path that is not below its mount point
        if group == top or top not in group.parents:
            return None
        group = group.parent


class ControlGroup:
    """Made on entering, removed on leaving, with whatever still runs in it."""

    def __init__(self, limit_bytes: int, may_swap: bool, hierarchy: Optional[Hierarchy] = None) -> None:
        self._hierarchy = hierarchy or find_hierarchy()
        self._limit_bytes = limit_bytes
        self._may_swap = may_swap
        self.path = self._hierarchy.parent / f"spillway-bench-{os.getpid()}"

    def __enter__(self) -> "ControlGroup":
        try:
            self.path.mkdir()
            try:
                self._set_limits()
            except OSError:
                self._remove()
                raise
        except OSError as error:
            raise NoControlGroups(f"cannot make a control group at {self.path}: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        deadline = time.monotonic() + END_S
        while self._processes() and time.monotonic() < deadline:
            for pid in self._processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)
        self._remove()

    def words(self, command: List[str]) -> List[str]:
        """The command, started inside the group."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.path / "cgroup.procs"), *command]

    def kill_count(self) -> int:
        """Processes that the kernel killed because the group had no memory left."""
        name = "memory.oom_control" if self._hierarchy.version == 1 else "memory.events"
        for line in (self.path / name).read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def _set_limits(self) -> None:
        if self._hierarchy.version == 1:
            self._set("memory.limit_in_bytes", self._limit_bytes)
            # Memory and swap together; the file is missing where swap is not accounted for.
            if not self._may_swap and (self.path / "memory.memsw.limit_in_bytes").exists():
                self._set("memory.memsw.limit_in_bytes", self._limit_bytes)
        else:
            self._set("memory.max", self._limit_bytes)
            if (self.path / "memory.swap.max").exists():
                self._set("memory.swap.max", "max" if self._may_swap else 0)

    def _set(self, name: str, value: Union[int, str]) -> None:
        (self.path / name).write_text(str(value))

    def _processes(self) -> List[int]:
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def _remove(self) -> None:
        """A group is busy for a moment after its last process."""
        deadline = time.monotonic() + END_S
        while True:
            try:
                self.path.rmdir()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def why_unlimited() -> str:
    """Why no program can be given a limit here; empty: it can."""
    try:
        with ControlGroup(1 << 30, may_swap=False):
            return ""
    except NoControlGroups as reason:
        return str(reason)
