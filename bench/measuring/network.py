"""Hosts on one machine: network namespaces with names and addresses of their own, joined by a bridge over shaped links.

Their programs are started as ssh would start them: by a shell, with nothing of the environment. Only root may make
them.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from measuring.control_group import ProcessorLimit, words_inside

# Where ssh would log in, there is a shell in the namespace and the host's control group, with a host name of its own.
_SHELL_ELSEWHERE = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host={prefix}-${{1##*.}}
shift
{join}
exec ip netns exec "$host" unshare --uts {ipc} sh -c 'hostname "$0"; exec env -i "$@"' \\
  "$host" PATH="$PATH" HOME="$HOME" {kept} sh -c "$*"
"""

# Ignores what ^C sends to the whole terminal; ends when its standard input does. What still runs on a host goes first:
# it would keep the namespace alive.
_WATCHER = """trap '' INT TERM HUP
cat >/dev/null
bridge=$1
groups=$2
shift 2
for host; do
  tries=100
  while pids=$(ip netns pids "$host"; cat "$groups/$host/cgroup.procs"); [ -n "$pids" ] && [ $((tries -= 1)) -gt 0 ]; do
    kill -KILL $pids
    sleep 0.05
  done
  rm -rf /tmp/ompi."$host".*
  ip link delete "$host"
  ip netns delete "$host"
  tries=100
  while [ -d "$groups/$host" ] && ! rmdir "$groups/$host" && [ $((tries -= 1)) -gt 0 ]; do sleep 0.05; done
done
ip link delete "$bridge"
ip link delete "$bridge-other"
"""


class CannotMakeNetwork(Exception):
    """Says why."""


def _output_of(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotMakeNetwork(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _unused_subnet() -> str:
    """The first three numbers of 254 addresses that mean nothing on this machine yet."""
    used = _output_of("ip", "-4", "route", "show", "table", "all")
    while True:
        subnet = f"10.{random.randint(77, 176)}.{random.randint(0, 249)}"
        if not re.search(rf"\b{re.escape(subnet)}\.", used):
            return subnet


def bytes_per_s(rate: str) -> float:
    """Of a rate in the words of tc(8). Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(i?)(bit|bps)?", rate.lower())
    if not found:
        raise ValueError(f"{rate}: not a rate as in 100mbit or 1gbit")
    factor = (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " ")
    return float(found[1]) * factor / (1 if found[4] == "bps" else 8)


def _shape(rate: str) -> Sequence[str]:
    return ("root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")


class Network:
    """In use from entering to leaving. `hosts` are the addresses of so many hosts, `address` is this machine's own
    among them. Each link has a rate in each direction, in the words of tc(8). Programs elsewhere get the variables
    `kept` of the environment that are there.

    Hosts share memory unless they have `own_ipc`: by the IPC namespace UCX, which is below MPICH, tells whether two
    ranks are on one machine, and if so goes past the links. (If not, Debian's MPICH 4.0 sends over TCP, after which
    it at times waits for ever in MPI_Finalize.)

    With a `limit`, each host is a control group, too, which all that runs there is in.

    Another process waits for the end of this one, however it ends, and takes away the network with all that runs
    there, and what Open MPI's daemons that were killed have left in /tmp under the hosts' names.
    """

    def __init__(
        self,
        folder: Path,
        host_count: int,
        rate: str = "1gbit",
        kept: Sequence[str] = (),
        own_ipc: bool = False,
        limit: Optional[ProcessorLimit] = None,
    ) -> None:
        self.prefix = "spw" + uuid.uuid4().hex[:6]
        self._host_count = host_count
        self._rate = rate
        self._kept = " ".join(f'${{{name}+{name}="${name}"}}' for name in kept)
        self._ipc = "--ipc" if own_ipc else ""
        self._limit = limit
        self._remote_shell = folder / "remote-shell"
        self._watcher: Optional[subprocess.Popen] = None
        self._cut: List[str] = []

    def __enter__(self) -> "Network":
        """Raises CannotMakeNetwork, and NoControlGroups where hosts cannot be limited."""
        for program in ("ip", "tc", "unshare", "hostname"):
            if shutil.which(program) is None:
                raise CannotMakeNetwork(f"there is no program `{program}`")
        if os.geteuid() != 0:
            raise CannotMakeNetwork("only root may make network namespaces")
        subnet = _unused_subnet()
        self.address = f"{subnet}.254"
        self.hosts: List[str] = [f"{subnet}.{number}" for number in range(1, self._host_count + 1)]
        groups = str(self._limit.parent) if self._limit else ""
        self._watcher = subprocess.Popen(
            ["sh", "-c", _WATCHER, "sh", self.prefix, groups, *map(self.name_of, self.hosts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._make()
        except BaseException:
            self._take_away()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._take_away()

    def _make(self) -> None:
        _output_of("ip", "link", "add", self.prefix, "type", "bridge")
        _output_of("ip", "address", "add", f"{self.address}/24", "dev", self.prefix)
        _output_of("ip", "link", "set", self.prefix, "up")
        for host in self.hosts:
            name = self.name_of(host)
            if self._limit:
                self._limit.make_group(name)
            _output_of("ip", "netns", "add", name)
            inside = ("ip", "-n", name)
            _output_of("ip", "link", "add", name, "type", "veth", "peer", "name", "net0", "netns", name)
            _output_of("ip", "link", "set", name, "master", self.prefix, "up")
            _output_of(*inside, "address", "add", f"{host}/24", "dev", "net0")
            _output_of(*inside, "link", "set", "net0", "up")
            _output_of(*inside, "link", "set", "lo", "up")
            for place, device in (([], name), (["-n", name], "net0")):
                _output_of("tc", *place, "qdisc", "add", "dev", device, *_shape(self._rate))
        join = f'echo $$ >"{self._limit.parent}/$host/cgroup.procs" || exit' if self._limit else ""
        shell = _SHELL_ELSEWHERE.format(prefix=self.prefix, kept=self._kept, ipc=self._ipc, join=join)
        self._remote_shell.write_text(shell)
        self._remote_shell.chmod(0o755)

    def _take_away(self) -> None:
        assert self._watcher is not None and self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait()
        self.clear_up_after_lost_hosts()

    def clear_up_after_lost_hosts(self) -> None:
        """What Open MPI's ranks leave on a host that is cut is here, too."""
        for name in self._cut:
            for path in Path("/dev/shm").glob(f"vader_segment.{name}.*"):
                path.unlink()

    def name_of(self, host: str) -> str:
        """Its host name, that of its namespace, and its end of the cable here."""
        return f"{self.prefix}-{host.rpartition('.')[2]}"

    @property
    def is_whole(self) -> bool:
        """No link has been cut."""
        return not self._cut

    def cut(self, host: str) -> None:
        _output_of("ip", "link", "set", self.name_of(host), "down")
        self._cut.append(self.name_of(host))

    def part(self, hosts: Sequence[str]) -> Tuple[str, str]:
        """Takes these hosts to a bridge of their own. The names of both bridges, which nothing joins yet."""
        other = f"{self.prefix}-other"
        _output_of("ip", "link", "add", other, "type", "bridge")
        _output_of("ip", "link", "set", other, "up")
        for host in hosts:
            _output_of("ip", "link", "set", self.name_of(host), "master", other)
        return self.prefix, other

    def slow_down(self, host: str, rate: str) -> None:
        """What it sends; not what it receives."""
        _output_of("tc", "-n", self.name_of(host), "qdisc", "change", "dev", "net0", *_shape(rate))

    def processes_of(self, host: str) -> List[int]:
        return [int(pid) for pid in _output_of("ip", "netns", "pids", self.name_of(host)).split()]

    def end_processes(self) -> None:
        """Kills whatever still runs on the hosts."""
        while left := [pid for host in self.hosts for pid in self.processes_of(host)]:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)

    def command_on(self, host: str, *words: str) -> List[str]:
        """The words that start a program there, with the environment of this process."""
        command = ["ip", "netns", "exec", self.name_of(host), *words]
        return words_inside([self._limit.parent / self.name_of(host)], command) if self._limit else command

    def received_bytes(self, host: str) -> int:
        """What has come to it over its link."""
        return self._bytes_at_bridge(host, "tx")

    def sent_bytes(self, host: str) -> int:
        return self._bytes_at_bridge(host, "rx")

    def _bytes_at_bridge(self, host: str, direction: str) -> int:
        return int(Path(f"/sys/class/net/{self.name_of(host)}/statistics/{direction}_bytes").read_text())

    @property
    def environment(self) -> Dict[str, str]:
        """For the MPI launchers."""
        shell = str(self._remote_shell)
        return {
            "HYDRA_LAUNCHER_EXEC": shell,
            "OMPI_MCA_plm_rsh_agent": shell,
            "PRTE_MCA_plm_ssh_agent": shell,
        }
