"""A limit on the memory of a program and all its descendants, file cache included, and on the rate at which they read
from a disk and write to it: a control group of its own. And groups that limit processor time.

Works for versions 1 and 2 of the kernel's control groups, where the user may make groups (root, as a rule). The new
group lies below the one that this process is in, or as near to it as the kernel allows, so limits above stay in force.
"""

import os
import shlex
import signal
import time
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

# How long the processes of a group that was killed may take to be gone.
END_S = 10.0
# Processor time is handed out so often: short, as a message waits for it that comes to a group which has used it up.
PERIOD_US = 10000

_LIMITS = {"memory": "memory", "cpu": "processor time"}


class Hierarchy(NamedTuple):
    version: int
    parent: Path  # where groups with a limit of one kind can be made


class DiskRate(NamedTuple):
    """Reads and writes each. Groups of version 1 do not count what the kernel writes back from the file cache later."""

    device: str  # the disk's numbers, as the kernel wants them
    bytes_per_s: int


class NoControlGroups(Exception):
    """Says why something cannot be limited here."""


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


def find_hierarchy(root: Path = Path("/"), controller: str = "memory") -> Hierarchy:
    """Raises NoControlGroups. `root` lets tests show another machine."""
    group = _group_of_version_1(controller, root)
    if group is not None:
        return Hierarchy(1, group)
    for kind, point, _ in _mounts(root):
        if kind == "cgroup2":
            top = root / point.lstrip("/")
            path = next((path for controllers, path in _own_paths(root) if controllers == ""), "/")
            parent = _nearest_with(controller, top, top / path.lstrip("/"))
            if parent is not None:
                return Hierarchy(2, parent)
    raise NoControlGroups(f"no control group hierarchy lets {_LIMITS[controller]} be limited here")


def _group_of_version_1(controller: str, root: Path) -> Optional[Path]:
    for kind, point, options in _mounts(root):
        if kind == "cgroup" and controller in options.split(","):
            path = next((path for controllers, path in _own_paths(root) if controller in controllers.split(",")), "/")
            group = root / point.lstrip("/") / path.lstrip("/")
            return group if group.is_dir() else root / point.lstrip("/")
    return None


def _nearest_with(controller: str, top: Path, group: Path) -> Optional[Path]:
    """In version 2 only groups without processes of their own hand a controller down: seldom ours, mostly one above."""
    while True:
        try:
            if controller in (group / "cgroup.subtree_control").read_text().split():
                return group
        except OSError:
            pass  # a container sees a path that is not below its mount point
        if group == top or top not in group.parents:
            return None
        group = group.parent


def disk_rate(folder: Path, bytes_per_s: int) -> DiskRate:
    """Of the disk that the folder is on. Raises NoControlGroups where it is on none of its own."""
    numbers = os.stat(folder).st_dev
    device = Path(f"/sys/dev/block/{os.major(numbers)}:{os.minor(numbers)}")
    if not device.exists():
        raise NoControlGroups(f"{folder} is on no disk whose rate can be limited")
    disk = device.resolve().parent if (device / "partition").exists() else device
    return DiskRate((disk / "dev").read_text().strip(), bytes_per_s)


def words_inside(groups: Sequence[Path], command: Sequence[str]) -> List[str]:
    """The command, started inside the groups, or not at all."""
    join = " && ".join(f"echo $$ >{shlex.quote(str(group / 'cgroup.procs'))}" for group in groups)
    return ["sh", "-c", f'{join} && exec "$@"', "sh", *command]


class ProcessorLimit:
    """Of any number of groups, each of which gets the time of so many cores. Whoever makes a group removes it."""

    def __init__(self, cores: float, root: Path = Path("/")) -> None:
        """Raises NoControlGroups."""
        self._hierarchy = find_hierarchy(root, "cpu")
        self._quota_us = round(cores * PERIOD_US)

    @property
    def parent(self) -> Path:
        return self._hierarchy.parent

    def make_group(self, name: str) -> None:
        """Raises NoControlGroups; then there may be a group without a limit."""
        group = self.parent / name
        try:
            group.mkdir()
            if self._hierarchy.version == 1:
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(self._quota_us))
            else:
                (group / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
        except OSError as error:
            raise NoControlGroups(f"cannot limit processor time: {group}: {error.strerror}") from None


class ControlGroup:
    """Made on entering, removed on leaving, with whatever still runs in it."""

    def __init__(self, limit_bytes: int, may_swap: bool, rate: Optional[DiskRate] = None) -> None:
        self._hierarchy = find_hierarchy()
        self._limit_bytes = limit_bytes
        self._may_swap = may_swap
        self._rate = rate
        name = f"spillway-bench-{os.getpid()}"
        self.path = self._hierarchy.parent / name
        self._paths = [self.path]
        if rate is not None and self._hierarchy.version == 1:
            disk_parent = _group_of_version_1("blkio", Path("/"))
            if disk_parent is None:
                raise NoControlGroups("no control group hierarchy lets the rate of a disk be limited here")
            if disk_parent != self._hierarchy.parent:
                self._paths.append(disk_parent / name)
        self._made: List[Path] = []

    def __enter__(self) -> "ControlGroup":
        try:
            try:
                for path in self._paths:
                    path.mkdir()
                    self._made.append(path)
                self._set_limits()
            except (OSError, NoControlGroups):
                self._remove()
                raise
        except OSError as error:
            raise NoControlGroups(f"cannot make a control group: {error.filename}: {error.strerror}") from None
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
        return words_inside(self._paths, command)

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
        if self._rate is not None:
            self._limit_disk(self._rate)

    def _limit_disk(self, rate: DiskRate) -> None:
        if self._hierarchy.version == 2:
            if not (self.path / "io.max").exists():
                raise NoControlGroups(f"{self.path.parent} does not hand the controller io down to its groups")
            self._set("io.max", f"{rate.device} rbps={rate.bytes_per_s} wbps={rate.bytes_per_s}")
            return
        for direction in ("read", "write"):
            file = self._paths[-1] / f"blkio.throttle.{direction}_bps_device"
            file.write_text(f"{rate.device} {rate.bytes_per_s}")

    def _set(self, name: str, value: Union[int, str]) -> None:
        (self.path / name).write_text(str(value))

    def _processes(self) -> List[int]:
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def _remove(self) -> None:
        """A group is busy for a moment after its last process."""
        deadline = time.monotonic() + END_S
        while self._made:
            try:
                self._made[-1].rmdir()
                self._made.pop()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def why_unlimited(rate: Optional[DiskRate] = None) -> str:
    """Why no program can be given a limit here; empty: it can."""
    try:
        with ControlGroup(1 << 30, may_swap=False, rate=rate):
            return ""
    except NoControlGroups as reason:
        return str(reason)
