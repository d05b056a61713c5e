"""Slurm on one machine: a controller here, and a node in each of the network's hosts, with everything of theirs in one
folder. Debian's packages slurmctld, slurmd, slurm-client and munge have the programs; their own services need not run.
"""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import List, Sequence

from measuring.network import CannotMakeNetwork, Network
from standstill import TimeLimit

CORES_OF_NODE = 2
MEGABYTES_OF_NODE = 500
_PATIENCE_S = 20
_SYSTEM_PROGRAMS = "/usr/sbin:/sbin"
# Where there is one, Slurm finds all that a step leaves behind, as on real clusters; else what is still a child of it.
_FREEZER = Path("/sys/fs/cgroup/freezer")

_SETTINGS = """\
ClusterName={name}
SlurmctldHost={controller}({address})
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/{tracking}
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerNode={megabytes}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
TopologyPlugin=topology/tree
MpiDefault=none
MailProg=/bin/true
KillWait=5
SchedulerParameters=batch_sched_delay=0
PartitionName=all Nodes=ALL Default=YES
"""


class SlurmCluster:
    """The first and the last node share a switch; the ones between them share another."""

    def __init__(self, folder: Path, network: Network) -> None:
        for program in ("munged", "slurmctld", "slurmd", "salloc", "nsenter", "setpriv"):
            if self._path_of(program) is None:
                raise CannotMakeNetwork(
                    f"there is no program `{program}` (Debian: slurmctld slurmd slurm-client munge)"
                )
        self.nodes: List[str] = [network.name_of(host) for host in network.hosts]
        self.switches = {f"{network.prefix}-leaf1": [self.nodes[0], self.nodes[-1]]}
        self.switches[f"{network.prefix}-leaf2"] = self.nodes[1:-1]
        self._network = network
        self._folder = folder
        self._daemons: List[subprocess.Popen] = []
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._configure()
        try:
            self._start()
        except CannotMakeNetwork:
            self.remove()
            raise

    @staticmethod
    def _path_of(program: str):
        return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_PROGRAMS}")

    def _configure(self) -> None:
        with socket.socket() as probe:
            probe.bind((self._network.address, 0))
            port = probe.getsockname()[1]
        has_freezer = os.access(_FREEZER / "cgroup.procs", os.W_OK)
        text = _SETTINGS.format(
            name=self._network.prefix,
            controller=os.uname().nodename.split(".")[0],
            address=self._network.address,
            port=port,
            folder=self._folder,
            megabytes=MEGABYTES_OF_NODE,
            tracking="cgroup" if has_freezer else "linuxproc",
        )
        addresses = dict(zip(self.nodes, self._network.hosts))
        for node, address in addresses.items():
            text += f"NodeName={node} NodeAddr={address} CPUs={CORES_OF_NODE} RealMemory={MEGABYTES_OF_NODE}\n"
        (self._folder / "slurm.conf").write_text(text)
        # Also where it is not used: looking for the version of the system's, slurmd would end where it wants systemd.
        (self._folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={_FREEZER.parent}\n")
        lines = [f"SwitchName={switch} Nodes={','.join(nodes)}\n" for switch, nodes in self.switches.items()]
        lines.append(f"SwitchName={self._network.prefix}-top Switches={','.join(self.switches)}\n")
        (self._folder / "topology.conf").write_text("".join(lines))
        # In place of /etc/hosts, where a site's names stand.
        names = "".join(f"{address} {node}\n" for node, address in addresses.items())
        (self._folder / "hosts").write_text("127.0.0.1 localhost\n" + names)
        (self._folder / "state").mkdir()
        key = self._folder / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o400)

    def with_names(self, *command: str) -> List[str]:
        """The command, where the nodes' names are known."""
        script = f'mount -n --bind {self._folder}/hosts /etc/hosts && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", *command]

    def _start(self) -> None:
        own = {name: str(self._folder / f"munge.{name}") for name in ("socket", "key", "seed", "log", "pid")}
        words = [f"--{option}={own[name]}" for option, name in (("socket", "socket"), ("key-file", "key"))]
        words += [f"--{name}-file={own[name]}" for name in ("seed", "log", "pid")]
        self._start_daemon([self._path_of("munged"), "--foreground", "--force", *words])
        self._wait(lambda: Path(own["socket"]).exists(), "munged does not start")
        settings = self.environment["SLURM_CONF"]
        self._start_daemon([self._path_of("slurmctld"), "-D", "-c", "-f", settings])
        for node in self.nodes:
            inside = self.with_names("sh", "-c", 'hostname "$0" && exec "$@"', node)
            inside += [self._path_of("slurmd"), "-D", "-f", settings]
            self._start_daemon(["nsenter", f"--net=/run/netns/{node}", "unshare", "--uts", *inside])
        self._wait(lambda: self.say("sinfo", "-h", "-t", "idle", "-o", "%D") == str(len(self.nodes)), "no nodes come")

    def _start_daemon(self, words: Sequence[str]) -> None:
        """Ends with us, at the latest."""
        command = ["setpriv", "--pdeathsig", "KILL", *words]
        self._daemons.append(
            subprocess.Popen(
                command,
                env={**os.environ, **self.environment, "PATH": f"{os.environ['PATH']}:{_SYSTEM_PROGRAMS}"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _wait(self, is_there, otherwise: str) -> None:
        limit = TimeLimit(_PATIENCE_S)
        while not is_there():
            ended = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
            if ended or limit.left_s() <= 0:
                raise CannotMakeNetwork(f"{otherwise} {ended or ''}: {self.logs()}")
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in sorted(self._folder.glob("*.log")))

    def say(self, *command: str) -> str:
        """What one of Slurm's programs says."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60).stdout.strip()

    def jobs(self) -> List[str]:
        return self.say("squeue", "-h", "-o", "%i %j %T").splitlines()

    def remove(self) -> None:
        self.say("scancel", "--user=root")
        limit = TimeLimit(_PATIENCE_S)
        while self._daemons and self.jobs() and limit.left_s() > 0:
            time.sleep(0.1)
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for node in self.nodes:
            for group in sorted(_FREEZER.glob(f"slurm_{node}/**"), reverse=True):
                group.rmdir()
