"""Racks of hosts, by the round trips between them."""

import itertools
import random

import pytest
from spillway_front_end.hosts import hosts_of_job
from spillway_front_end.rack_map import finding_of, page_of, racks_of, round_trips_of


def by_rack(racks, within, between, seed=1, noise=0.0):
    """Round trips of hosts in these racks, longer by up to so much noise."""
    source = random.Random(seed)
    return {
        (one, other): round((within if racks[one] == racks[other] else between) * (1 + noise * source.random()))
        for one, other in itertools.combinations(range(len(racks)), 2)
    }


def on_a_line(*places):
    return {(i, j): abs(places[i] - places[j]) for i, j in itertools.combinations(range(len(places)), 2)}


TWO = [1, 1, 1, 2, 2, 2]
ALTERNATING = [1, 2, 1, 2]
THREE = [1, 2, 2, 3, 3, 3, 2, 1, 3, 3]
FAR_HOST = [1, 1, 2, 1, 1]
ONE = [1] * 8


@pytest.mark.parametrize(
    ("racks", "round_trips"),
    [
        (TWO, by_rack(TWO, 30, 60)),
        (ALTERNATING, by_rack(ALTERNATING, 30, 60, noise=0.2)),
        (THREE, by_rack(THREE, 40, 100, noise=0.3)),
        (FAR_HOST, by_rack(FAR_HOST, 30, 300, noise=0.3)),
        ([1, 1, 2], {(0, 1): 20, (0, 2): 200, (1, 2): 210}),
        (ONE, by_rack(ONE, 30, 0)),
        ([1, 1, 1], by_rack([1, 2, 3], 0, 500)),  # each far from the others: no matter which is passed first
        (ONE, by_rack(ONE, 30, 0, noise=0.4)),
        (ONE, by_rack([1, 1, 1, 1, 2, 2, 2, 2], 3, 7)),  # microseconds of one machine's virtual hosts
        (ONE, on_a_line(0, 10, 23, 39, 59, 84, 115, 154)),  # each step 1.3 times longer
        ([1, 1, 1, 2, 2], on_a_line(0, 20, 40, 75, 90)),  # a rack is held together by its shortest ways
        # Of racks in two halls, the halls count: that way is the longest.
        ([1, 1, 1, 1, 2, 2], on_a_line(0, 20, 70, 90, 1000, 1020)),
    ],
)
def test_racks(racks, round_trips):
    assert racks_of(round_trips) == racks


@pytest.mark.parametrize("seed", range(20))
def test_racks_do_not_depend_on_noise(seed):
    racks = sorted(random.Random(seed).choices([1, 2, 3], k=20))
    racks = [racks.index(rack) for rack in racks]
    numbers = {rack: number for number, rack in enumerate(dict.fromkeys(racks), 1)}
    expected = [numbers[rack] for rack in racks]
    assert racks_of(by_rack(racks, 50, 110, seed, noise=0.4)) == expected
    assert set(racks_of(by_rack([1] * 20, 50, 50, seed, noise=0.4))) == {1}


def test_the_shorter_of_both_directions_counts_and_what_is_unknown_does_not():
    links = [
        {"sender": 0, "receiver": 1, "min_rtt_us": 90},
        {"sender": 1, "receiver": 0, "min_rtt_us": 31},
        {"sender": 2, "receiver": 0, "min_rtt_us": 33},
        {"sender": 0, "receiver": 2, "min_rtt_us": 0},
        {"sender": 2, "receiver": 1, "min_rtt_us": 0},
    ]
    assert round_trips_of(links, {0: 0, 1: 1, 2: 2}) == {(0, 1): 31, (0, 2): 33}
    assert round_trips_of(links, {0: 0, 1: 1}) == {(0, 1): 31}  # the third could not report
    assert round_trips_of(links, {0: 2, 1: 1, 2: 0}) == {(1, 2): 31, (0, 2): 33}


def test_one_pair_that_was_always_disturbed_does_not_part_a_rack():
    round_trips = by_rack(TWO, 30, 100)
    round_trips[0, 1] = 5000
    assert racks_of(round_trips) == TWO


def test_the_page_is_a_file_of_racks(tmp_path):
    hosts = ["10.0.0.1", "10.0.0.12", "10.0.0.3", "10.0.0.4"]
    round_trips = by_rack(ALTERNATING, 31, 90)
    page = page_of(hosts, racks_of(round_trips), round_trips, "spillway tune")
    assert "# 2 racks: round trips of 31 to 31 us within them, 90 to 90 us between them\n" in page
    (tmp_path / "racks").write_text(page)
    found = hosts_of_job(",".join(hosts), None, "block", "10.0.0.9", str(tmp_path / "racks"))
    assert found.racks == {host: f"rack{number}" for host, number in zip(hosts, ALTERNATING)}


def test_no_racks_are_said_to_be_none():
    round_trips = {(0, 1): 31, (0, 2): 36, (1, 2): 33}
    assert finding_of(racks_of(round_trips), round_trips) == ("no racks can be told apart: round trips of 31 to 36 us")
