"""Messages and collectives between hosts: Spillway's, plain MPI's over the same links, and a bare connection's time."""

import re
import subprocess
import sys
from typing import Callable, Dict, List, NamedTuple, Optional

from job import Setting, lines_of_run
from measuring.program_run import RunFailed, run
from measuring.spread import Spread
from measuring.verdict import verdict

_TIME = re.compile(r"microseconds: ([\d.]+)$")
_RECEIVER = """
import socket, sys
listener = socket.create_server((sys.argv[1], 4711))
print("listens", flush=True)
connection, _ = listener.accept()
left, room = int(sys.argv[2]), bytearray(1 << 20)
while left:
    left -= connection.recv_into(room, min(left, len(room))) or sys.exit("the connection ended early")
connection.sendall(b"x")
"""
_SENDER = """
import socket, sys, time
data = b"x" * int(sys.argv[2])
connection = socket.create_connection((sys.argv[1], 4711))
begin = time.perf_counter()
connection.sendall(data)
connection.recv(1) or sys.exit("the connection ended early")
print(time.perf_counter() - begin)
"""


class Operation(NamedTuple):
    name: str
    kind: str  # the program's word for it
    hosts: int
    ranks_per_host: int
    bytes: int
    # What Spillway's time must be, at most: of plain MPI's, and of what a bare connection takes for the bytes.
    of_plain: Optional[float]
    of_link: Optional[float]

    @property
    def title(self) -> str:
        return f"{self.name}, {self.hosts} hosts of {self.ranks_per_host}"


def operations(host_count: int, size: int) -> List[Operation]:
    return [
        Operation("message", "ping-pong", 2, 1, size, None, None),
        Operation("broadcast", "broadcast", host_count, 1, size, 1 / 1.2, 1.05),
        Operation("broadcast", "broadcast", host_count, 4, size, 1 / 1.2, 1.05),
        Operation("allreduce", "allreduce", host_count, 8, size // 16, 1 / 2, None),
    ]


class Measured(NamedTuple):
    operation: Operation
    spillway_s: Spread
    plain_s: Spread
    link_s: Spread

    def of(self, other: Spread) -> Spread:
        """Ratios of runs in the same repeat."""
        return Spread([ours / theirs for ours, theirs in zip(self.spillway_s.values, other.values)])

    def verdicts(self) -> List[str]:
        targets = (("plain", self.plain_s, self.operation.of_plain), ("link", self.link_s, self.operation.of_link))
        return [
            f"{name} <= {bound:.2f} x: {verdict(self.of(other).median <= bound)}"
            for name, other, bound in targets
            if bound is not None
        ]

    def row(self) -> List[str]:
        times = [spread.text(3) for spread in (self.spillway_s, self.plain_s, self.link_s)]
        ratios = [self.of(self.plain_s).text(), self.of(self.link_s).text()]
        return [self.operation.title, *times, *ratios, ", ".join(self.verdicts())]

    def as_json(self) -> Dict:
        return {
            "name": self.operation.name,
            "hosts": self.operation.hosts,
            "ranks_per_host": self.operation.ranks_per_host,
            "bytes": self.operation.bytes,
            "spillway_s": self.spillway_s.as_json(),
            "plain_s": self.plain_s.as_json(),
            "link_s": self.link_s.as_json(),
            "of_plain": self.of(self.plain_s).as_json(),
            "of_link": self.of(self.link_s).as_json(),
            "targets": self.verdicts(),
        }


HEAD = ["seconds, median (least-most)", "spillway run", "plain mpiexec", "link", "of plain", "of link", "target"]


def _time_s(command: List[str], setting: Setting, operation: Operation, batches: int, ends_well: bool) -> float:
    network = setting.network
    receivers = network.hosts[1 : operation.hosts]
    before = [network.received_bytes(host) for host in receivers]
    try:
        # The program prints its time after all ranks have looked at their results.
        lines = lines_of_run(command, setting, last=None if ends_well else _TIME)
    finally:
        network.end_processes()
    found = next(filter(None, map(_TIME.match, lines)), None)
    if not found:
        raise RunFailed(f"{' '.join(command)} did not say how long an operation takes")
    # An MPI library may find out that its hosts are one machine.
    for host, already in zip(receivers, before):
        if network.received_bytes(host) - already < operation.bytes * (batches + 1):
            raise RunFailed(f"what {' '.join(command)} sent to {host} did not go over the link")
    return float(found[1]) / 1e6


def _link_s(setting: Setting, size: int) -> float:
    """Of a connection between two hosts that transfers so many bytes and nothing else."""
    network = setting.network
    source, target = network.hosts[:2]
    words = (target, str(size))
    receiver = subprocess.Popen(
        network.command_on(target, sys.executable, "-c", _RECEIVER, *words), stdout=subprocess.PIPE, text=True
    )
    try:
        assert receiver.stdout is not None
        if not receiver.stdout.readline():
            raise RunFailed(f"no connection to {target} can be measured")
        return float(run(network.command_on(source, sys.executable, "-c", _SENDER, *words), setting.limit_s).lines[0])
    finally:
        receiver.kill()
        receiver.communicate()


def measure(setting: Setting, operation: Operation, batches: int, repeats: int) -> Measured:
    words = [setting.program("small-operations"), operation.kind, str(operation.bytes), "1", str(batches)]
    spillway = [*setting.spillway(operation.hosts, operation.ranks_per_host, operation.ranks_per_host), *words]
    plain = [*setting.plain(operation.hosts, operation.ranks_per_host), *words]
    ways: Dict[str, Callable[[], float]] = {
        "spillway": lambda: _time_s(spillway, setting, operation, batches, ends_well=True),
        # Of plain MPI only the time is wanted: MPI_Finalize of Debian's MPICH may never return (measuring/network.py).
        "plain": lambda: _time_s(plain, setting, operation, batches, ends_well=False),
        "link": lambda: _link_s(setting, operation.bytes),
    }
    times: Dict[str, List[float]] = {name: [] for name in ways}
    for repeat in range(repeats):
        for name in sorted(ways, reverse=repeat % 2 == 1):
            times[name].append(ways[name]())
    return Measured(operation, *(Spread(times[name]) for name in ways))
