"""The simulation of sorting on a cluster is held against formulas, where these are exact, and its benchmark runs."""

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from marked_processes import marked_processes
from runner import Runner, outcome_within
from standstill import TimeLimit

SOURCE = Path(__file__).resolve().parent.parent.parent
TB = 10**12
# bench/sort/simulation/model.h.
DISK, DEAL, FILE_SYSTEM = 75e6, 340e6, 2 * 1.24e12 / 60
CORES = 16
SORT_HOSTS = 3  # of 64 processes
SIZE = TB // 10

Simulate = Callable[..., Dict[str, Any]]


@pytest.fixture
def program(build_dir: Path) -> Path:
    if "SPILLWAY_SIMGRID_IS_USABLE:INTERNAL=1" not in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("cannot run: no usable SimGrid here (apt-get install libsimgrid-dev)")
    return build_dir / "lib" / "spillway" / "bench" / "sort-simulation"


@pytest.fixture
def simulate(run: Runner, program: Path) -> Simulate:
    def found(design: str, *words: str, processes: int = 64, size: int = SIZE) -> Dict[str, Any]:
        return dict(json.loads(run(program, design, processes, size, *words, status=0).stdout))

    return found


@pytest.mark.parametrize("design", ["hybrid", "spillway"])
def test_one_sided_delivery_takes_what_disks_take(simulate: Simulate, design: str) -> None:
    found = simulate(design, "spread-percent=0")
    assert found["own_s"] == pytest.approx(SIZE / SORT_HOSTS * (1 / DISK + 1 / DEAL / CORES), rel=1e-3)
    assert SIZE / SORT_HOSTS / DISK <= found["read_s"] < 1.03 * found["own_s"]
    assert found["most_bytes"] - found["least_bytes"] <= CORES * found["block_bytes"]
    assert found["computing_s"] + found["waiting_s"] + found["ending_s"] == pytest.approx(found["read_s"])


def test_fast_disks_leave_the_file_system(simulate: Simulate) -> None:
    rates = ("disk-rate=1000000000000", "file-system-rate=1000000000", "spread-percent=0")
    # The three blocks that the one reader has under way are read at the same time, and then sent at the same time.
    assert simulate("spillway", *rates)["read_s"] == pytest.approx(SIZE * (1 / 1e9 + 1 / (54e9 / 8)), rel=0.02)


def test_two_sided_delivery_waits_where_there_is_one_receive_buffer(simulate: Simulate) -> None:
    one, many = (simulate("two-sided", f"receive-buffers={count}") for count in (1, 16))
    one_sided = simulate("hybrid")
    assert one["read_s"] > 1.1 * one_sided["read_s"]
    assert many["read_s"] == pytest.approx(one_sided["read_s"], rel=0.05)
    assert SIZE / SORT_HOSTS / DISK < many["read_s"]


@pytest.mark.parametrize("design", ["two-sided", "hybrid", "spillway"])
def test_all_bytes_are_sorted(simulate: Simulate, design: str) -> None:
    found = simulate(design, size=SIZE + 12_345)
    assert found["least_bytes"] <= (SIZE + 12_345) / SORT_HOSTS <= found["most_bytes"]
    assert found["finish_s"] > SIZE / SORT_HOSTS / DISK * 0.99


def test_final_stage_of_spillway_seeks_full_chunks(simulate: Simulate) -> None:
    without, found = (simulate("spillway", "spread-percent=0", f"seek-us={us}") for us in (0, 5000))
    sorters = SORT_HOSTS * CORES
    full = int(SIZE / sorters / found["buckets"] / found["chunk_bytes"])
    assert full > 0
    rounds = found["buckets"] // sorters
    seeks = CORES * rounds * (1 + full * sorters)
    assert found["finish_s"] - without["finish_s"] == pytest.approx(5e-3 * seeks, rel=0.05)


def test_all_processes_may_read_and_sort(simulate: Simulate) -> None:
    found = simulate("spillway", "read-hosts=0")
    assert found["read_s"] == pytest.approx(simulate("spillway")["read_s"] * SORT_HOSTS / (SORT_HOSTS + 1), rel=0.05)


def test_same_seed_same_seconds(simulate: Simulate) -> None:
    assert simulate("two-sided", "seed=3") == simulate("two-sided", "seed=3")
    assert simulate("two-sided", "seed=3") != simulate("two-sided", "seed=4")


def test_says_what_the_memory_plan_refuses(simulate: Simulate) -> None:
    assert "too many" in simulate("spillway", processes=8192, size=64 * TB)["refused"]


@pytest.mark.parametrize(
    "words",
    [
        ["ring", 64, SIZE],
        ["spillway", 60, SIZE],
        ["spillway", 64, 0],
        ["spillway", 64, SIZE, "colour=1"],
        ["spillway", 64, SIZE, "disk-rate=0"],
        ["two-sided", 64, SIZE, "read-hosts=0"],
        ["two-sided", 64, SIZE, "read-hosts=4"],
        ["hybrid", 16, SIZE],
    ],
)
def test_refuses_what_it_does_not_know(run: Runner, program: Path, words: list) -> None:
    assert "sort-simulation: " in run(program, *words, status=2).stderr


def test_benchmark(simulate: Simulate, run: Runner, build_dir: Path, tmp_path: Path) -> None:
    script, path = SOURCE / "bench" / "sort" / "simulation" / "run.py", tmp_path / "figures.json"
    words = ["--build", build_dir, "--json", path, "--quick"]
    finished = run(sys.executable, script, *words, status=None, timeout_s=120)
    assert finished.status == (1 if "MISSED" in finished.stdout else 0), finished.report()
    for title in ("Figure 8", "Figure 9(a)", "Figure 6", "Figure 7", "Table 1", "settings", "Targets"):
        assert title in finished.stdout, finished.report()
    content = json.loads(path.read_text())
    assert "SimGrid" in content["versions"]
    assert content["targets"][0].endswith(": met")
    assert {case["design"] for case in content["simulations"]} == {"two-sided", "hybrid", "spillway"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_benchmark_that_a_signal_ends_leaves_no_simulation(
    run: Runner, program: Path, build_dir: Path, nothing_left_behind: None, number: signal.Signals
) -> None:
    words = [sys.executable, SOURCE / "bench" / "sort" / "simulation" / "run.py", "--build", build_dir]
    benchmark = run.start(words, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # tests may ignore it
    limit = TimeLimit(30)
    while not any(words.startswith(f"{program} ") for words in marked_processes(run.mark).values()):
        assert benchmark.poll() is None and limit.left_s() > 0
        time.sleep(0.02)
    benchmark.send_signal(number)
    _, errors = outcome_within(benchmark, 20)
    assert (benchmark.returncode, errors) == (130, "")
