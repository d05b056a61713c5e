"""The machines of a job."""

import os
from typing import Dict, Iterator, List, NamedTuple, Optional

from . import slurm
from .errors import LaunchError
from .line_file import lines_of

PLACEMENTS = ("block", "cyclic")


class HostList(NamedTuple):
    names: List[str]
    placement: str  # block: the first ranks on the first host; cyclic: one after the other on each host in turn
    address: str  # numeric, of this machine, which all hosts reach
    racks: Dict[str, str] = {}  # of each host; empty: not known
    slurm_job: Optional[str] = None  # whose nodes they are, so that Slurm starts the ranks

    def ring(self) -> str:
        """The hosts with those of a rack together, as spillway-node reads it."""
        first_of_rack: Dict[str, int] = {}
        for number, name in enumerate(self.names):
            first_of_rack.setdefault(self.racks[name], number)
        ordered = sorted(self.names, key=lambda name: first_of_rack[self.racks[name]])
        return ",".join(f"{name}={self.address if _is_own(name) else _address_of(name)}" for name in ordered)

    def most_ranks(self, ranks: int) -> int:
        """Of one host."""
        return -(-ranks // len(self.names))


def _own_names() -> List[str]:
    name = os.uname().nodename
    return ["localhost", "127.0.0.1", "::1", name.lower(), name.split(".")[0].lower(), slurm.own_name().lower()]


def _is_own(name: str) -> bool:
    return name.lower() in _own_names()


def _words_of_file(path: str) -> Iterator[str]:
    """A host in each line; `#` begins a comment."""
    for _, words in lines_of("--hostfile", path):
        if len(words) > 1:
            raise LaunchError(f"--hostfile {path}: `{' '.join(words)}` is not one host", "name one in each line")
        yield from words


def _racks_of_file(path: str, names: List[str]) -> Dict[str, str]:
    """Of each host, its rack."""
    racks = {}
    for number, words in lines_of("--racks", path):
        if len(words) != 2:
            raise LaunchError(
                f"--racks {path}, line {number}: `{' '.join(words)}` is not a host and its rack",
                "write both in each line, as in `node17 rack2`",
            )
        racks[words[0].lower()] = words[1]
    missing = [name for name in names if name.lower() not in racks]
    if missing:
        raise LaunchError(
            f"--racks {path} does not say where {', '.join(missing[:3])}{' and others' if missing[3:] else ''} "
            f"{'is' if len(missing) == 1 else 'are'}",
            "add a line with the host, as --hosts names it, and its rack",
        )
    return {name: racks[name.lower()] for name in names}


def hosts_of_job(
    listed: Optional[str], path: Optional[str], placement: str, address: Optional[str], racks: Optional[str]
) -> Optional[HostList]:
    """None when the job is on this machine alone. Nobody has to name the nodes of a Slurm job."""
    if address is not None and not _is_address(address):
        raise LaunchError(f"--address {address}: not an address of a machine", "give a number, as in 10.0.0.1")
    if listed is None and path is None:
        allocation = slurm.allocation()
        if allocation is not None:
            return _hosts_of_allocation(allocation, placement, address, racks)
        for option, is_given in (
            ("--address", address is not None),
            ("--placement", placement != PLACEMENTS[0]),
            ("--racks", racks is not None),
        ):
            if is_given:
                raise LaunchError(
                    f"{option} is for jobs on several machines", "name them with --hosts, or leave it away"
                )
        return None
    if listed is not None and path is not None:
        raise LaunchError("--hosts and --hostfile say the same thing", "leave one of them away")
    words = (listed or "").split(",") if path is None else _words_of_file(path)
    names = list({word.strip().lower(): word.strip() for word in words if word.strip()}.values())
    option = f"--hosts {listed}" if path is None else f"--hostfile {path}"
    if not names:
        raise LaunchError(f"{option} names no host", "name one, or leave it away to run on this machine")
    for name in names:
        if ":" in name and name not in _own_names():
            raise LaunchError(
                f"{option}: `{name}` is not a host",
                "-n says how many ranks there are; a host with an IPv6 address must be given by its name",
            )
    racks_of_names = _racks_of_file(racks, names) if racks is not None else {}
    if all(_is_own(name) for name in names):
        return None
    return HostList(names, placement, address or _address_towards(names, option), racks_of_names)


def _hosts_of_allocation(
    allocation: slurm.Allocation, placement: str, address: Optional[str], racks: Optional[str]
) -> Optional[HostList]:
    names = allocation.names
    racks_of_names = _racks_of_file(racks, names) if racks is not None else {}
    if all(_is_own(name) for name in names):
        return None
    if racks is None and len(names) > 2:
        racks_of_names = slurm.racks_of(names)
    towards_them = address or _address_towards(names, f"Slurm job {allocation.job}")
    return HostList(names, placement, towards_them, racks_of_names, allocation.job)


def _is_address(name: str) -> bool:
    import ipaddress  # only where an address is given

    try:
        return not ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False


def _address_of(name: str) -> str:
    """Numeric; empty when the system knows none: then the host is known by its name."""
    import socket

    try:
        return socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0][4][0]
    except OSError:
        return ""


def _address_towards(names: List[str], option: str) -> str:
    """Of this machine, the address by which the first other host is reached. No packet is sent."""
    import socket  # for jobs on several machines only

    own = ""
    for name in names:
        if _is_own(name):
            continue
        try:
            family, kind, protocol, _, target = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)
                own = probe.getsockname()[0]
        except OSError as error:
            raise LaunchError(
                f"{option}: cannot reach `{name}`: {error.strerror or error}",
                "check the name (`getent hosts` shows what the system knows), or give this machine's --address",
            ) from None
        if own != target[0]:
            return own
    return own  # all are this machine, by its address
