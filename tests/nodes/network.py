"""Hosts on one machine: network namespaces with names and addresses of their own, joined by a bridge over shaped links.

Their programs are started as ssh would start them: by a shell, with nothing of the environment. Only root may make them.
"""

import os
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import List

from marked_processes import MARK_VARIABLE

# Where ssh would log in, there is a shell in the namespace, with a host name of its own.
_SHELL_ELSEWHERE = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec ip netns exec "{prefix}-${{host##*.}}" unshare --uts sh -c 'hostname "$0"; shift 0; exec env -i "$@"' \\
  "{prefix}-${{host##*.}}" PATH="$PATH" HOME="$HOME" {mark}="${mark}" sh -c "$*"
"""


class CannotMakeNetwork(Exception):
    pass


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotMakeNetwork(f"{' '.join(words)}: {done.stderr.strip()}")


class Network:
    """`hosts` are the addresses of so many hosts, `address` is this machine's own among them."""

    def __init__(self, folder: Path, host_count: int, rate: str = "1gbit") -> None:
        for program in ("ip", "tc", "unshare"):
            if shutil.which(program) is None:
                raise CannotMakeNetwork(f"there is no program `{program}`")
        if os.geteuid() != 0:
            raise CannotMakeNetwork("only root may make network namespaces")
        self._prefix = "spw" + uuid.uuid4().hex[:6]
        subnet = f"10.{77 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
        self.address = f"{subnet}.254"
        self.hosts: List[str] = [f"{subnet}.{number}" for number in range(1, host_count + 1)]
        try:
            self._make(rate)
        except CannotMakeNetwork:
            self.remove()
            raise
        self.remote_shell = folder / "remote-shell"
        self.remote_shell.write_text(_SHELL_ELSEWHERE.format(prefix=self._prefix, mark=MARK_VARIABLE))
        self.remote_shell.chmod(0o755)

    def _make(self, rate: str) -> None:
        _run("ip", "link", "add", self._prefix, "type", "bridge")
        _run("ip", "address", "add", f"{self.address}/24", "dev", self._prefix)
        _run("ip", "link", "set", self._prefix, "up")
        for host in self.hosts:
            name = self.name_of(host)
            _run("ip", "netns", "add", name)
            inside = ("ip", "-n", name)
            _run("ip", "link", "add", name, "type", "veth", "peer", "name", "net0", "netns", name)
            _run("ip", "link", "set", name, "master", self._prefix, "up")
            _run(*inside, "address", "add", f"{host}/24", "dev", "net0")
            _run(*inside, "link", "set", "net0", "up")
            _run(*inside, "link", "set", "lo", "up")
            for place, device in (([], name), (["-n", name], "net0")):
                shape = ("root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
                _run("tc", *place, "qdisc", "add", "dev", device, *shape)

    def name_of(self, host: str) -> str:
        """Its host name, and its end of the cable here."""
        return f"{self._prefix}-{host.rpartition('.')[2]}"

    def cut(self, host: str) -> None:
        _run("ip", "link", "set", self.name_of(host), "down")

    def processes_of(self, host: str) -> List[int]:
        done = subprocess.run(["ip", "netns", "pids", self.name_of(host)], capture_output=True, text=True, check=True)
        return [int(pid) for pid in done.stdout.split()]

    @property
    def environment(self) -> dict:
        """For the MPI launchers."""
        shell = str(self.remote_shell)
        return {
            "HYDRA_LAUNCHER_EXEC": shell,
            "OMPI_MCA_plm_rsh_agent": shell,
            "PRTE_MCA_plm_ssh_agent": shell,
        }

    def remove(self) -> None:
        for host in self.hosts:
            subprocess.run(["ip", "netns", "delete", self.name_of(host)], capture_output=True)
        subprocess.run(["ip", "link", "delete", self._prefix], capture_output=True)
