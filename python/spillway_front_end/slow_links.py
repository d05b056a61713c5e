"""Which links between the nodes of a job are much slower than the others."""

import statistics
from typing import List, NamedTuple, Sequence

from .report import LinkReport

_LEAST_BYTES = 16 << 20  # short messages wait for latencies and for each other
_LEAST_LINKS = 3  # below that there is no usual speed
_SLOW = 3  # times slower than the median


class SlowLinks(NamedTuple):
    links: List[LinkReport]  # slowest first
    usual_bytes_per_s: float


def slow_links(links: Sequence[LinkReport]) -> SlowLinks:
    """Links of a node may share its adapter: several busy at a time are slower, but not by as much for long."""
    measured = [link for link in links if link.bytes >= _LEAST_BYTES and link.busy_us > 0]
    if len(measured) < _LEAST_LINKS:
        return SlowLinks([], 0.0)
    usual = statistics.median(link.bytes_per_s for link in measured)
    slow = [link for link in measured if _SLOW * link.bytes_per_s < usual]
    return SlowLinks(sorted(slow, key=lambda link: link.bytes_per_s), usual)
