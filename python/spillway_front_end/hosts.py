"""The machines of a job."""

import os
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from . import slurm
from .errors import LaunchError
from .host_options import HostOptions, read_host_options
from .line_file import lines_of

PLACEMENTS = ("block", "cyclic")


class HostList(NamedTuple):
    names: List[str]
    placement: str  # block: the first ranks on the first host; cyclic: one after the other on each host in turn
    address: str  # numeric, of this machine, which all hosts reach
    racks: Dict[str, str] = {}  # of each host; empty: not known
    slurm_job: Optional[str] = None  # whose nodes they are, so that Slurm starts the ranks
    options: Dict[str, HostOptions] = {}  # of each host; empty: none has any of its own

    def ring(self) -> str:
        """The hosts with those of a rack together, as spillway-node reads it."""
        first_of_rack: Dict[str, int] = {}
        for number, name in enumerate(self.names):
            first_of_rack.setdefault(self.racks[name], number)
        ordered = sorted(self.names, key=lambda name: first_of_rack[self.racks[name]])
        return ",".join(f"{name}={self._reached_at(name)}" for name in ordered)

    def numbers_of(self, nodes: Iterable[Tuple[str, str]]) -> List[Optional[int]]:
        """Of nodes with these names and addresses, which hosts they are, as src/launch/node_ring.cpp has it: not every
        MPI launcher takes the hosts in their order."""
        by_address = {self._reached_at(name): number for number, name in enumerate(self.names)}
        by_name = {_short(name): number for number, name in enumerate(self.names)}
        return [by_address.get(address, by_name.get(_short(host))) for host, address in nodes]

    def _reached_at(self, name: str) -> str:
        return self.address if _is_own(name) else _address_of(name)

    def options_elsewhere(self) -> Dict[str, HostOptions]:
        """By names that mean the same on each of the hosts."""
        own = os.uname().nodename
        return {own if _is_own(name) else name: options for name, options in self.options.items()}

    def most_ranks(self, ranks: int) -> int:
        """Of one host."""
        return -(-ranks // len(self.names))


def _short(name: str) -> str:
    return name.split(".")[0].lower()


def _own_names() -> List[str]:
    name = os.uname().nodename
    return ["localhost", "127.0.0.1", "::1", name.lower(), _short(name), slurm.own_name().lower()]


def _is_own(name: str) -> bool:
    return name.lower() in _own_names()


def is_this_machine(name: str) -> bool:
    """By a name of its own, or by an address."""
    if _is_own(name):
        return True
    try:
        source, target = _source_and_target(name)
    except OSError:
        return False
    return source == target


def hosts_of_file(path: str, left_out: Sequence[str] = ()) -> Dict[str, HostOptions]:
    """Host by host."""
    found: Dict[str, HostOptions] = {}
    for number, (name, *words) in lines_of("--hostfile", path):
        try:
            options = read_host_options(words)
        except LaunchError as error:
            raise LaunchError(f"--hostfile {path}, line {number}: {error}", error.remedy) from None
        if found.setdefault(_listed_as(name, found), options) != options:
            raise LaunchError(
                f"--hostfile {path}, line {number}: {name} has other options in a line before",
                "name each host once: ranks are divided evenly among the hosts",
            )
    return {name: options for name, options in found.items() if name not in left_out}


def _listed_as(name: str, names: Iterable[str]) -> str:
    """However it is spelled."""
    return next((listed for listed in names if listed.lower() == name.lower()), name)


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
    listed: Optional[str],
    path: Optional[str],
    placement: str,
    address: Optional[str],
    racks: Optional[str],
    left_out: Sequence[str] = (),
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
    of_file = hosts_of_file(path, left_out) if path is not None else {}
    words = of_file if path is not None else (listed or "").split(",")
    names = list({word.strip().lower(): word.strip() for word in words if word.strip()}.values())
    names = [name for name in names if name not in left_out]
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
    own_address = address or _address_towards(names, option)
    return HostList(names, placement, own_address, racks_of_names, options=of_file)


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


def _source_and_target(name: str) -> Tuple[str, str]:
    """This machine's address towards a machine, and that one's. No packet is sent. Raises OSError."""
    import socket  # for jobs on several machines only

    family, kind, protocol, _, target = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(target)
        return probe.getsockname()[0], target[0]


def _address_towards(names: List[str], option: str) -> str:
    """Of this machine, the address by which the first other host is reached."""
    own = ""
    for name in names:
        if _is_own(name):
            continue
        try:
            own, target = _source_and_target(name)
        except OSError as error:
            raise LaunchError(
                f"{option}: cannot reach `{name}`: {error.strerror or error}",
                "check the name (`getent hosts` shows what the system knows), or give this machine's --address",
            ) from None
        if own != target:
            return own
    return own  # all are this machine, by its address
