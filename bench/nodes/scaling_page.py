"""What `weak_scaling.py` found, as text and as JSON."""

from typing import Dict, List

from measuring.table import table
from measuring.verdict import verdict
from scaling import BESIDE_OTHERS, PLAIN, SPILLWAY, TARGET, Scaling

_HEAD = [
    "per iteration",
    "s",
    "link MB",
    "link s",
    "growth",
    "of 1 beside others",
    "data of a host, MiB",
    "largest rank",
    "plain mpiexec s",
    "target",
]
EXPLANATION = """median (least-most) of runs, each the median of its iterations but for the first
  link MB, link s    bytes on the fullest link in the direction that has more, and what they take at the link's rate
  growth             (s - link s) / s of 1 host; then of 1 host beside others that do the same, each for itself: these
                     have the caches and the memory in common as the hosts of one job have
  largest rank       its data / those of the mean rank
  plain mpiexec      one run"""


def page(scaling: Scaling) -> str:
    rows = [_row(scaling, contender, hosts) for contender, hosts in scaling.shape.ways if contender != PLAIN]
    note = (
        ""
        if scaling.were_watched()
        else "\nNOTE: iterations are so short that bytes may be missing; give it larger data"
    )
    return f"{scaling.program.title}\n{table([_HEAD, *rows])}{note}"


def _row(scaling: Scaling, contender: str, hosts: int) -> List[str]:
    title = "1 host" if hosts == 1 else f"{hosts} hosts"
    growths, plain, target = ["", ""], "", ""
    if contender == BESIDE_OTHERS:
        title += f" beside {max(scaling.shape.host_counts) - 1} others"
        growths[0] = scaling.growth(contender, hosts, SPILLWAY).text()
    else:
        plain = scaling.seconds(PLAIN, hosts).text(3)
    if hosts > 1:
        growths = [scaling.growth(contender, hosts, base).text() for base in (SPILLWAY, BESIDE_OTHERS)]
        target = f"growth <= {TARGET:.2f}: {verdict(scaling.is_met(hosts))}"
    one = scaling.runs[contender, hosts][0]
    return [
        title,
        scaling.seconds(contender, hosts).text(3),
        f"{scaling.link_bytes(contender, hosts).median / 1e6:.1f}",
        f"{scaling.link_s(contender, hosts).median:.3f}",
        *growths,
        f"{one.data_mib / hosts:.1f}",
        f"{one.largest_rank_mib * hosts * scaling.shape.ranks_per_host / one.data_mib:.3f}",
        plain,
        target,
    ]


def as_json(scaling: Scaling) -> Dict:
    return {
        "name": scaling.program.name,
        "title": scaling.program.title,
        "target": TARGET,
        "runs": [_run_as_json(scaling, contender, hosts) for contender, hosts in scaling.shape.ways],
    }


def _run_as_json(scaling: Scaling, contender: str, hosts: int) -> Dict:
    one = scaling.runs[contender, hosts][0]
    figures = {
        "contender": contender,
        "hosts": hosts,
        "iteration_s": scaling.seconds(contender, hosts).as_json(),
        "link_bytes": scaling.link_bytes(contender, hosts).as_json(),
        "link_s": scaling.link_s(contender, hosts).as_json(),
        "data_mib": one.data_mib,
        "largest_rank_mib": one.largest_rank_mib,
        "result": one.result,
    }
    if contender == SPILLWAY and hosts > 1:
        figures["growth"] = scaling.growth(contender, hosts, SPILLWAY).as_json()
        figures["growth_of_1_beside_others"] = scaling.growth(contender, hosts, BESIDE_OTHERS).as_json()
        figures["is_met"] = scaling.is_met(hosts)
    return figures
