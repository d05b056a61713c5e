"""What a job on several hosts costs while all of its ranks wait: processor time of each host's agent, of which the
courier is a thread, and of all processes of the host."""

import os
from functools import partial
from typing import Dict, List, NamedTuple

from job import Setting
from measuring.process_tree import Reading, descendants, executable, percent_of_core, reading
from measuring.program_run import RunFailed
from measuring.spread import Spread
from measuring.time_between import between_begin_and_end
from measuring.verdict import verdict

RANKS_PER_HOST = 4
TARGET_PERCENT = 1.0


class Use(NamedTuple):
    """Percent of one core; of the host that uses most."""

    agent: float
    all_processes: float
    start: float  # where the job was started: `spillway run`, the job's agent, and the MPI launcher


def _use(setting: Setting, first: List[Reading], second: List[Reading]) -> Use:
    *hosts, start = (percent_of_core(before, after) for before, after in zip(first, second))
    agents = []
    for host, percent in zip(setting.network.hosts, hosts):
        of_agents = [value for pid, value in percent.items() if os.path.basename(executable(pid)) == "spillway-node"]
        if len(of_agents) != 1:
            raise RunFailed(f"{len(of_agents)} agents on {host}, not one")
        agents += of_agents
    return Use(max(agents), max(sum(percent.values()) for percent in hosts), sum(start.values()))


def _one_use(setting: Setting, seconds: float) -> Use:
    network = setting.network

    def read(root: int) -> List[Reading]:
        by_host = [network.processes_of(host) for host in network.hosts]
        elsewhere = {pid for pids in by_host for pid in pids}
        here = {root, *descendants(root)} - elsewhere
        return [reading(pids) for pids in (*by_host, here)]

    words = [setting.program("blocked-ranks"), str(seconds), "sleep"]
    return between_begin_and_end(
        [*setting.spillway(len(network.hosts), RANKS_PER_HOST, slots=1), *words],
        setting.limit_s,
        read,
        partial(_use, setting),
        network.environment,
    )


class Waiting(NamedTuple):
    agent: Spread
    all_processes: Spread
    start: Spread

    @property
    def is_met(self) -> bool:
        return self.agent.median < TARGET_PERCENT

    def text(self) -> str:
        return (
            f"All of {RANKS_PER_HOST} ranks per host wait, percent of a core:\n"
            f"  agent with courier, of the busiest host {self.agent.text(3)}, target < {TARGET_PERCENT:g}: "
            f"{verdict(self.is_met)}\n"
            f"  all processes of a host, of the busiest {self.all_processes.text(3)}\n"
            f"  front end, job's agent and launcher {self.start.text(3)}"
        )

    def as_json(self) -> Dict:
        figures = {name: spread.as_json() for name, spread in self._asdict().items()}
        return {"ranks_per_host": RANKS_PER_HOST, "percent": figures, "target": TARGET_PERCENT}


def measure_waiting(setting: Setting, seconds: float, repeats: int) -> Waiting:
    uses = [_one_use(setting, seconds) for _ in range(repeats)]
    return Waiting(*(Spread(values) for values in zip(*uses)))
