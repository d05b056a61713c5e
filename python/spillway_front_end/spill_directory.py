"""Where unloaded memory goes: directories on local disks, checked before anything is started."""

import errno
import os
import re
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import LaunchError
from .sizes import format_size

# File systems that keep their files in memory: spilling there would free nothing.
_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}
# A server's caches and locks stand between us and the storage; slow, and full when others fill it.
_NETWORK = set(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph lustre gpfs beegfs glusterfs pvfs2 orangefs fuse.sshfs fuse.glusterfs "
    "fuse.ceph fuse.ceph-fuse fuse.mfs fuse.juicefs fuse.rclone fuse.s3fs fuse.goofys fuse.gcsfuse fuse.davfs".split()
)
# File systems that show what the kernel knows, and keep no files.
_WITHOUT_FILES = set("proc sysfs cgroup cgroup2 devpts debugfs tracefs securityfs configfs mqueue bpf pstore".split())
# Of the default budget (most of the machine's memory), a disk must have this part free; less than all is a warning.
_LEAST_PART_OF_DEFAULT_BUDGET = 8
# As base::SpillDirectories has it.
_MOST_DIRECTORIES = 16


class SpillDirectory(NamedTuple):
    path: str
    file_system: str
    free_bytes: int
    warning: str = ""


def _unescape(path: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, character)
    return path


def file_system_of(path: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """Type of the file system that stores what is written to `path`: for an overlay, that of its upper layer."""
    kind, _, options = _mount_above(path, mountinfo)
    upper = re.search(r"(?:^|,)upperdir=(/[^,]*)", options)
    # Of an overlay that was mounted outside of our container, the upper layer cannot be seen.
    if kind == "overlay" and upper and os.path.isdir(_unescape(upper.group(1))):
        kind, _, _ = _mount_above(_unescape(upper.group(1)), mountinfo)
    return kind


def _mount_above(path: str, mountinfo: str = "/proc/self/mountinfo") -> Tuple[str, str, str]:
    """Type, source and options of the file system that holds `path`: that of the last, longest mount point above it."""
    real = os.path.realpath(path)
    best, kind, source, options = "", "unknown", "", ""
    with open(mountinfo, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            mount_point = _unescape(left.split()[4])
            holds = mount_point == "/" or real == mount_point or real.startswith(mount_point + "/")
            if holds and len(mount_point) >= len(best):
                best, (kind, source, options) = mount_point, right.rstrip("\n").split(" ", 2)
    return kind, source, options


def _try_to_write(path: str) -> None:
    """Writes a block into a file without a name, as the ranks will."""
    flags = os.O_TMPFILE | os.O_RDWR
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR):
            raise
        import tempfile  # slow to import, and hardly ever needed

        descriptor, name = tempfile.mkstemp(prefix="spillway-", dir=path)
        os.unlink(name)
    try:
        os.posix_fallocate(descriptor, 0, 1 << 16)
    finally:
        os.close(descriptor)


def check_spill_directory(path: str, budget: int, is_budget_chosen: bool, share: float = 1) -> SpillDirectory:
    """Raises LaunchError when `share` of what is unloaded cannot go to `path`."""
    if ":" in os.path.realpath(path):
        raise LaunchError(
            f"spill directory {os.path.realpath(path)}: a colon separates directories, and cannot be in their names",
            "name a directory with --spill-dir whose path has no colon",
        )
    if not os.path.isdir(path):
        raise LaunchError(
            f"spill directory {path}: " + ("not a directory" if os.path.exists(path) else "does not exist"),
            "name an existing directory on a local disk with --spill-dir",
        )
    kind = file_system_of(path)
    if kind in _IN_MEMORY:
        raise LaunchError(
            f"spill directory {path} is on {kind}, which is memory itself",
            "name a directory on a local disk with --spill-dir",
        )
    if kind in _NETWORK:
        raise LaunchError(
            f"spill directory {path} is on a network file system ({kind})",
            "name a directory on a disk of this machine with --spill-dir",
        )
    if kind in _WITHOUT_FILES:
        raise LaunchError(
            f"spill directory {path} is on {kind}, which keeps no files",
            "name a directory on a local disk with --spill-dir",
        )
    _check_writable(path)
    return _check_space(path, kind, budget, is_budget_chosen, share)


def _check_writable(path: str) -> None:
    try:
        _try_to_write(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise LaunchError(
                f"spill directory {path} is full: {error.strerror}",
                "free space there, or name another directory with --spill-dir",
            ) from None
        raise LaunchError(
            f"spill directory {path} cannot be written to: {error.strerror}",
            "get write permission, or name another directory with --spill-dir",
        ) from None


def _check_space(path: str, kind: str, budget: int, is_budget_chosen: bool, share: float) -> SpillDirectory:
    status = os.statvfs(path)
    free = status.f_bavail * status.f_frsize
    budget = int(budget * share)
    needed = budget if is_budget_chosen else budget // _LEAST_PART_OF_DEFAULT_BUDGET
    whose = "the" if share == 1 else "its share of the"
    if free < needed:
        raise LaunchError(
            f"spill directory {path} has {format_size(free)} free; Spillway asks for at least "
            f"{format_size(needed)}, {'' if is_budget_chosen else 'an eighth of '}{whose} memory budget",
            "free space there, name another directory with --spill-dir, or a smaller --memory",
        )
    warning = ""
    if free < budget:
        warning = (
            f"spill directory {path} has {format_size(free)} free, less than {whose} memory budget, "
            f"{format_size(budget)}; a job much larger than memory would fill it"
        )
    return SpillDirectory(os.path.realpath(path), kind, free, warning)


def _candidates() -> List[str]:
    named = [os.environ.get("TMPDIR"), "/var/tmp", os.getcwd()]
    return list(dict.fromkeys(path for path in named if path))


class Neighbour(NamedTuple):
    """What a program writes beside what it spills: where a usual place is on the same file system, both have to find
    room there."""

    folder: str
    size: int  # in bytes


def choose_spill_directories(
    asked: Sequence[str], budget: int, is_budget_chosen: bool, neighbour: Optional[Neighbour] = None
) -> List[SpillDirectory]:
    """Those asked for (option, then SPILLWAY_SPILL_DIR), or else the first suitable of the usual places."""
    asked = asked or [path for path in os.environ.get("SPILLWAY_SPILL_DIR", "").split(":") if path]
    if asked:
        return _check_all(asked, budget, is_budget_chosen)
    problems = []
    taken_device = _device_of(neighbour.folder) if neighbour else None
    for path in _candidates():
        is_beside = neighbour is not None and taken_device is not None and _device_of(path) == taken_device
        try:
            return [check_spill_directory(path, budget + (neighbour.size if is_beside else 0), is_budget_chosen)]
        except LaunchError as error:
            problems.append(str(error))
    raise LaunchError(
        "no suitable directory to spill to:\n    " + "\n    ".join(problems),
        "name a directory on a local disk with --spill-dir, or a smaller --memory",
    )


def _device_of(path: str) -> Union[int, str, None]:
    """Where two directories have the same, they share its room."""
    if not os.path.isdir(path):
        return None
    kind, source, _ = _mount_above(path)
    return source if kind == "btrfs" else os.stat(path).st_dev  # each subvolume of btrfs says to be a device


def _check_all(paths: Sequence[str], budget: int, is_budget_chosen: bool) -> List[SpillDirectory]:
    """Each gets an equal part of what is unloaded; those of one file system have to find room there together."""
    if len(paths) > _MOST_DIRECTORIES:
        raise LaunchError(
            f"{len(paths)} spill directories are more than the {_MOST_DIRECTORIES} that Spillway can use",
            "name one for each device",
        )
    devices = [_device_of(path) for path in paths]
    found = [
        check_spill_directory(path, budget, is_budget_chosen, devices.count(device) / len(paths))
        for path, device in zip(paths, devices)
    ]
    for i, device in enumerate(devices):
        if device in devices[:i]:
            warning = (
                f"spill directories {found[devices.index(device)].path} and {found[i].path} are on the same file "
                "system; together they are no faster than one"
            )
            found[i] = found[i]._replace(warning="; ".join(filter(None, (found[i].warning, warning))))
    return found
