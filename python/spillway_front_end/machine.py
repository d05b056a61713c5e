"""What this machine lets a job use: cores and memory, with the limits of every control group above us, and of Slurm.

All functions take the root of the file system, so that tests can show them other machines.
"""

import math
import os
from typing import List, NamedTuple, Optional, Tuple

from . import slurm

_OF_SLURM = "what Slurm gives the job on this node"


class Figure(NamedTuple):
    """A number and where it comes from, for `--dry-run`."""

    value: int
    origin: str


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _number(text: str) -> Optional[int]:
    try:
        return int(text.strip())
    except ValueError:
        return None


def _groups_of(root: str, controller: str) -> List[Tuple[int, str]]:
    """(version, directory) of our control group and all above it, nearest first."""
    own = {}
    for line in _read(f"{root}/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            own[name] = path
    groups: List[Tuple[int, str]] = []
    for line in _read(f"{root}/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" and "" in own:
            groups += [(2, directory) for directory in _chain(root, fields[4], fields[3], own[""])]
        elif kind[0] == "cgroup" and controller in kind[2].split(",") and controller in own:
            groups += [(1, directory) for directory in _chain(root, fields[4], fields[3], own[controller])]
    return groups


def _chain(root: str, mount_point: str, mounted: str, path: str) -> List[str]:
    """Directories from group `path` up to the mount point, which shows the group `mounted`."""
    inside = os.path.relpath(path, mounted) if mounted != "/" else path.lstrip("/")
    top = os.path.normpath(root + mount_point)
    below = os.path.normpath(os.path.join(top, inside))
    if not (below + "/").startswith(top + "/") or not os.path.isdir(below):
        below = top  # a container that sees its own group as the root
    chain = [below]
    while chain[-1] != top:
        chain.append(os.path.dirname(chain[-1]))
    return chain


def usable_cores(root: str = "") -> Figure:
    """Cores that our processes may run on, or that the processor time quota is worth, whichever is less."""
    count = len(os.sched_getaffinity(0))
    best = Figure(count, "cores that this process may run on")
    for version, directory in _groups_of(root, "cpu"):
        if version == 2:
            words = _read(f"{directory}/cpu.max").split() or ["max"]  # no such file in the uppermost group
            quota, period = _number(words[0]), _number(words[-1])
        else:
            quota, period = (_number(_read(f"{directory}/cpu.cfs_{name}_us")) for name in ("quota", "period"))
        if quota and period and quota > 0:
            worth = max(1, math.ceil(quota / period))
            if worth < best.value:
                best = Figure(worth, f"processor time quota of {directory}")
    given = slurm.cores_here()
    return Figure(given, _OF_SLURM) if given and given < best.value else best


def _meminfo(root: str, key: str) -> int:
    for line in _read(f"{root}/proc/meminfo").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _reclaimable(directory: str, key: str) -> int:
    """File cache that the kernel drops when a group needs memory; it counts as used, but is available."""
    for line in _read(f"{directory}/memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


def _room_in_group(version: int, directory: str) -> Optional[int]:
    if version == 2:
        limits = [_number(_read(f"{directory}/memory.{name}")) for name in ("max", "high")]
        used, cache = _number(_read(f"{directory}/memory.current")), _reclaimable(directory, "inactive_file")
    else:
        limits = [_number(_read(f"{directory}/memory.limit_in_bytes"))]
        used, cache = (
            _number(_read(f"{directory}/memory.usage_in_bytes")),
            _reclaimable(directory, "total_inactive_file"),
        )
    known = [limit for limit in limits if limit is not None and limit < 2**60]  # version 1 writes 2^63 for none
    if not known or used is None:
        return None
    return max(0, min(known) - max(0, used - cache))


def total_memory(root: str = "") -> int:
    return _meminfo(root, "MemTotal")


def available_memory(root: str = "") -> Figure:
    """Bytes that can be used now without taking them from anybody else."""
    best = Figure(_meminfo(root, "MemAvailable"), "memory available on this machine")
    for version, directory in _groups_of(root, "memory"):
        room = _room_in_group(version, directory)
        if room is not None and room < best.value:
            best = Figure(room, f"memory left under the limit of {directory}")
    given = slurm.memory_here()
    return Figure(given, _OF_SLURM) if given and given < best.value else best
