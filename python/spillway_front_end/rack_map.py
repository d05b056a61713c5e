"""Which hosts are in a rack: those that are nearer to each other than to the rest, by their round trips."""

import datetime
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

# So many times, and so much, longer must the round trip to the nearest other rack be than the longest of those that
# hold racks together. A rack too many costs a broadcast a crossing, as one too few may: so only where it is plain. The
# second keeps virtual hosts of one machine together: between these, 6 to 11 us were measured, idle or loaded.
_CLEARLY = 1.5
_NOISE_US = 5

RoundTrips = Dict[Tuple[int, int], int]  # microseconds, by the numbers of two hosts, the lower one first


def round_trips_of(links: Iterable[Mapping[str, int]], hosts: Mapping[int, int]) -> RoundTrips:
    """The shorter one of both directions: what is measured may be too long, never too short. `hosts` are of nodes."""
    shortest: RoundTrips = {}
    for link in links:
        sender, receiver, microseconds = link["sender"], link["receiver"], link["min_rtt_us"]
        if sender in hosts and receiver in hosts and microseconds > 0:  # known
            one, other = sorted((hosts[sender], hosts[receiver]))
            shortest[one, other] = min(microseconds, shortest.get((one, other), microseconds))
    return shortest


def _joined(round_trips: RoundTrips, most: float) -> Tuple[List[int], List[int]]:
    """Single linkage: of each host, the first one of its group, when groups are joined that are no farther apart than
    `most`; and the round trips that joined them, shortest first."""
    groups = list(range(1 + max(later for _, later in round_trips)))
    joins = []
    for (one, other), microseconds in sorted(round_trips.items(), key=lambda item: item[1]):
        if microseconds <= most and groups[one] != groups[other]:
            first, last = sorted((groups[one], groups[other]))
            groups = [first if group == last else group for group in groups]
            joins.append(microseconds)
    return groups, joins


def _longest_within_racks(joins: Sequence[int]) -> int:
    """Where the next longer one is longer by most times, if that is clearly so; else all are within one rack."""
    steps = [
        (longer / shorter, shorter)
        for shorter, longer in zip(joins, joins[1:])
        if longer >= _CLEARLY * shorter and longer - shorter >= _NOISE_US
    ]
    return max(steps)[1] if steps else joins[-1]


def racks_of(round_trips: RoundTrips) -> List[int]:
    """Of each host, the number of its rack, from 1. Of every pair the round trip must be known."""
    _, joins = _joined(round_trips, float("inf"))
    groups, _ = _joined(round_trips, _longest_within_racks(joins))
    numbers = {group: number for number, group in enumerate(sorted(set(groups)), 1)}
    return [numbers[group] for group in groups]


def _range(round_trips: Sequence[int]) -> str:
    return f"{min(round_trips)} to {max(round_trips)} us"


def finding_of(racks: Sequence[int], round_trips: RoundTrips) -> str:
    if max(racks) == 1:
        return f"no racks can be told apart: round trips of {_range(list(round_trips.values()))}"
    within = [each for (one, other), each in round_trips.items() if racks[one] == racks[other]]
    between = [each for (one, other), each in round_trips.items() if racks[one] != racks[other]]
    return f"{max(racks)} racks: round trips of {_range(within)} within them, {_range(between)} between them"


def page_of(hosts: Sequence[str], racks: Sequence[int], round_trips: RoundTrips, command: str) -> str:
    """A file for --racks."""
    page = f"# Written by `{command}`, {datetime.date.today()}.\n# {finding_of(racks, round_trips)}\n\n"
    width = max(map(len, hosts))
    in_racks = sorted(zip(hosts, racks), key=lambda line: line[1])
    return page + "".join(f"{host:<{width}} rack{rack}\n" for host, rack in in_racks)
