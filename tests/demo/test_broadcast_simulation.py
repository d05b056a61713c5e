"""The simulation of broadcasts is held against formulas, where these are exact, and bench/broadcast runs."""

import json
import math
import sys
from pathlib import Path
from typing import Callable

import pytest
from runner import Runner

SOURCE = Path(__file__).resolve().parent.parent.parent
PART = 256 << 10
BYTES = 20 * PART
# The simulated cluster's, bench/broadcast/cluster.h: seconds for a part and for all data, and from node to node under
# one leaf switch and between two.
PART_S = PART / (1e9 / 8 * 8948 / 9038)
DATA_S = 20 * PART_S
LATENCY_S, FAR_LATENCY_S = 50e-6, 60e-6

Simulate = Callable[..., float]


@pytest.fixture
def simulate(run: Runner, build_dir: Path) -> Simulate:
    if "SPILLWAY_SIMGRID_IS_USABLE:INTERNAL=1" not in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("cannot run: no usable SimGrid here (apt-get install libsimgrid-dev)")
    program = build_dir / "lib" / "spillway" / "bench" / "broadcast-simulation"

    def seconds(algorithm: str, nodes: int, *words: str, size: int = BYTES, per_leaf: int = 100) -> float:
        finished = run(program, algorithm, nodes, size, PART, per_leaf, *words, status=0)
        return float(finished.stdout.split()[0])

    return seconds


@pytest.mark.parametrize("nodes", [1, 2, 9, 30])
def test_flat_takes_the_time_of_one_node_for_each(simulate: Simulate, nodes: int) -> None:
    assert simulate("flat", nodes) == pytest.approx(nodes * DATA_S + LATENCY_S, rel=1e-4)


@pytest.mark.parametrize("nodes", [1, 2, 9, 30])
def test_chain_takes_one_part_and_latency_more_for_each_link(simulate: Simulate, nodes: int) -> None:
    assert simulate("chain", nodes) == pytest.approx(DATA_S + (nodes - 1) * PART_S + nodes * LATENCY_S, rel=1e-4)


def test_chain_in_order_does_not_notice_the_switches(simulate: Simulate) -> None:
    expected = DATA_S + 39 * PART_S + 36 * LATENCY_S + 4 * FAR_LATENCY_S  # 41 nodes under 5 switches
    assert simulate("chain", 40, per_leaf=9) == pytest.approx(expected, rel=1e-4)


def test_last_part_may_be_short(simulate: Simulate) -> None:
    # One byte more: at each node, that byte follows the last full part.
    assert simulate("chain", 5, size=BYTES + 1) == pytest.approx(simulate("chain", 5), rel=1e-4)


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 20])
def test_binomial_takes_logarithmically_many_times_as_long(simulate: Simulate, nodes: int) -> None:
    steps = math.ceil(math.log2(nodes + 1))
    # The root sends to all its branches at the same time; what follows the last part of these is less than a step.
    assert steps * DATA_S < simulate("binomial", nodes) < steps * (DATA_S + steps * PART_S)


def test_scatter_allgather_uses_all_links_at_a_time(simulate: Simulate) -> None:
    assert DATA_S < simulate("scatter-allgather", 10) < 1.6 * DATA_S


def test_order_matters_where_uplinks_are_shared(simulate: Simulate) -> None:
    in_order = simulate("chain", 79, size=5 * BYTES, per_leaf=40)
    randomly = simulate("chain", 79, "random:1", size=5 * BYTES, per_leaf=40)
    # 20 of 40 nodes send to the other switch, more or less, over an uplink of 10 links.
    assert 1.3 < randomly / in_order < 3
    assert randomly == simulate("chain", 79, "random:1", size=5 * BYTES, per_leaf=40)
    assert simulate("chain", 39, "random:1", per_leaf=40) == pytest.approx(simulate("chain", 39, per_leaf=40), rel=1e-4)


def test_acknowledgements_take_what_simgrid_says(simulate: Simulate) -> None:
    ratio = simulate("chain", 9, "acknowledgements") / simulate("chain", 9)
    assert ratio == pytest.approx(1.05, abs=0.005)


def test_mpi_library_is_simulated_on_the_same_network(simulate: Simulate) -> None:
    # A binomial tree that passes on whole messages.
    assert simulate("mpi:binomial_tree", 7) == pytest.approx(3 * (DATA_S + LATENCY_S), rel=0.01)
    assert simulate("mpi:flattree", 5) == pytest.approx(5 * DATA_S, rel=0.01)


@pytest.mark.parametrize("words", [["ring", 2, 10, 1, 4], ["chain", 0, 10, 1, 4], ["chain", 2, 10, 1, 4, "x"]])
def test_refuses_what_it_does_not_know(simulate: Simulate, run: Runner, build_dir: Path, words: list) -> None:
    program = build_dir / "lib" / "spillway" / "bench" / "broadcast-simulation"
    assert "broadcast-simulation: " in run(program, *words, status=2).stderr


def test_benchmark(simulate: Simulate, run: Runner, build_dir: Path, tmp_path: Path) -> None:
    script, path = SOURCE / "bench" / "broadcast" / "run.py", tmp_path / "figures.json"
    small = ["--nodes", "3,6", "--large", "9", "--bytes", BYTES]
    finished = run(sys.executable, script, "--build", build_dir, "--json", path, *small, status=None, timeout_s=120)
    assert finished.status == (1 if "MISSED" in finished.stdout else 0), finished.report()
    for title in ("Table 8", "Table 5", "Figure 3", "Figure 5", "larger trees", "Targets"):
        assert title in finished.stdout, finished.report()
    content = json.loads(path.read_text())
    assert "SimGrid" in content["versions"]
    assert len(content["targets"]) == 3 and content["targets"][2].endswith(": met")
    assert {case["nodes"] for case in content["simulations"]} == {1, 3, 6, 9}
    assert all(case["seconds"] > 0 for case in content["simulations"])
