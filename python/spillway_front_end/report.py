"""What the job's agent reports of a finished job: the lines specified in src/launch/report.h."""

from typing import Dict, Iterable, List, NamedTuple, Optional

RankFigures = Dict[str, int]


class NodeReport(NamedTuple):
    host: str
    address: Optional[str]  # by which the other nodes reach it, where there are any
    figures: Dict[str, int]


class LinkReport(NamedTuple):
    sender: int  # index of the node
    receiver: int
    bytes: int
    busy_us: int  # that these took on the network
    min_rtt_us: int  # the shortest round trip; 0: not known

    @property
    def bytes_per_s(self) -> float:
        return 1e6 * self.bytes / self.busy_us if self.busy_us else 0.0


class JobReport(NamedTuple):
    exit_status: int
    failure: Optional[Dict[str, str]]  # message, cause and remedy
    wall_ns: int
    nodes: List[NodeReport]  # those that could still report
    links: List[LinkReport]  # between nodes, over which something has been sent
    numbers: List[int]  # of the ranks whose nodes could
    states: List[str]  # of these
    ranks: List[RankFigures]

    def total(self, key: str) -> int:
        return sum(rank[key] for rank in self.ranks)

    @property
    def attached_ranks(self) -> int:
        return sum(node.figures["attached_ranks"] for node in self.nodes)


def parse_report(text: str) -> JobReport:
    job: Dict[str, str] = {}
    nodes: List[Dict[str, str]] = []
    links: List[LinkReport] = []
    ranks: Dict[int, Dict[str, str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "rank":
            number, *fields = value.split()
            ranks[int(number)] = dict(field.split("=", 1) for field in fields)
        elif key == "link":
            receiver, *fields = value.split()
            figures = _integers(field.split("=", 1) for field in fields)
            links.append(LinkReport(int(nodes[-1]["node_index"]), int(receiver), **figures))
        elif key == "node":
            nodes.append({"host": value})
        else:
            (nodes[-1] if nodes else job)[key] = value
    failure = [job.pop(key, "").replace("\\n", "\n") for key in ("failure", "cause", "remedy")]
    ordered = [ranks[number] for number in sorted(ranks)]
    return JobReport(
        exit_status=int(job.get("exit_status", "1")),
        failure=dict(zip(("message", "cause", "remedy"), failure)) if failure[0] else None,
        wall_ns=int(job.get("wall_ns", "0")),
        nodes=[NodeReport(node.pop("host"), node.pop("address", None), _integers(node.items())) for node in nodes],
        links=links,
        numbers=sorted(ranks),
        states=[rank.pop("state", "absent") for rank in ordered],
        ranks=[_integers(rank.items()) for rank in ordered],
    )


def _integers(pairs: Iterable) -> Dict[str, int]:
    return {key: int(value) for key, value in pairs}
