"""Each benchmark in a tiny configuration: that it runs, and what it writes. Its figures mean nothing here."""

import json
import os
import sys
from pathlib import Path
from typing import Dict, List

import pytest
from measuring.control_group import ControlGroup, Hierarchy, NoControlGroups, disk_rate, find_hierarchy
from measuring.disk_speed import disk_speeds
from measuring.network import CannotMakeNetwork, Network
from measuring.residency import allowed_bytes, job_limit_bytes
from measuring.spread import Spread
from runner import Runner

SOURCE = Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20


def measured(run: Runner, build_dir: Path, tmp_path: Path, name: str, *options: object) -> Dict:
    path = tmp_path / "figures.json"
    script = SOURCE / "bench" / name / "run.py"
    finished = run(sys.executable, script, "--build", build_dir, "--json", path, *options, status=None, timeout_s=120)
    assert finished.status == (1 if "MISSED" in finished.stdout else 0), finished.report()
    assert "FAILED" not in finished.stdout, finished.report()
    assert "Linux" in finished.stdout
    content = json.loads(path.read_text())
    assert content["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert "Spillway" in content["versions"]
    return content


def assert_is_spread(figures: Dict, repeats: int) -> None:
    assert len(figures["all"]) == repeats
    assert 0 < figures["least"] <= figures["median"] <= figures["most"]


def test_pagerank(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    swaps_before = Path("/proc/swaps").read_text()
    small = ["--scale", 20, "--ranks", 8, "--factor", 3, "--repeats", 1, "--iterations", 2]
    small += ["--in-core-turns", 2, "--mpi", flavour, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "pagerank", *small)
    contenders = {row["name"]: row for row in content["contenders"]}
    for name in (
        "spillway",
        "serial",
        "spillway-in-core",
        "plain-in-core",
        "spillway-in-core-cores",
        "plain-in-core-cores",
    ):
        runs = 2 if "in-core" in name else 1
        for figure in ("iteration_s", "wall_s", "processor_s"):
            assert_is_spread(contenders[name][figure], runs)
    # Swapping needs rights that not everybody has; without them the reason stands there instead.
    assert ("wall_s" in contenders["swap"]) != ("swap" in content["left_out"])
    setting = content["setting"]
    assert setting["data_bytes"] >= 3 * setting["budget_bytes"]
    assert setting["limit_bytes"] == job_limit_bytes(setting["budget_bytes"], setting["ranks"])
    assert {ratio["above"] for ratio in content["ratios"]} >= {"spillway", "spillway-in-core", "spillway-in-core-cores"}
    residency = content["residency"]
    assert residency["sample_count"] > 0
    # No timing, so it holds in a tiny configuration too.
    assert residency["peak_bytes"] <= allowed_bytes(setting["budget_bytes"], setting["ranks"])
    assert Path("/proc/swaps").read_text() == swaps_before


def test_startup(run: Runner, build_dir: Path, tmp_path: Path, flavour: str, nothing_left_behind: None) -> None:
    content = measured(run, build_dir, tmp_path, "startup", "--ranks", 4, "--repeats", 3, "--mpi", flavour)
    for instant in ("main", "after MPI_Init"):
        assert_is_spread(content["start_s"][instant]["plain"], 3)
        assert_is_spread(content["start_s"][instant]["spillway"], 3)
        assert content["ratios"][instant] > 0


def test_idle(run: Runner, build_dir: Path, tmp_path: Path, flavour: str, nothing_left_behind: None) -> None:
    content = measured(run, build_dir, tmp_path, "idle", "--ranks", 4, "--seconds", 1, "--mpi", flavour)
    percent = content["percent"]
    assert percent["spillway"]["computing_rank"] > percent["spillway"]["blocked_ranks"] >= 0
    assert percent["plain"]["computing_rank"] > 0


def test_micro(run: Runner, build_dir: Path, tmp_path: Path, flavour: str, nothing_left_behind: None) -> None:
    content = measured(run, build_dir, tmp_path, "micro", "--repeats", 2, "--divide-rounds", 50, "--mpi", flavour)
    assert [row["name"] for row in content["operations"]] == [
        *("latency", "bandwidth", "allreduce", "allocate"),
        *(["fence"] if flavour == "mpich" else []),
    ]
    for row in content["operations"]:
        for figure in ("plain_us", "spillway_us", "ratio"):
            assert_is_spread(row[figure], 2)


def test_memory(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    small = ["--ranks", 4, "--mib", 16, "--rounds", 3, "--repeats", 1, "--modes", "read,pieces", "--mpi", flavour]
    small += ["--strategies", "auto,araw"]
    content = measured(run, build_dir, tmp_path, "memory", *small, "--folder", spill_dir)
    assert list(content["modes"]) == ["read", "pieces"]
    cores = content["machine"]["cores"]
    for figures in content["modes"].values():
        for name in ("spillway-1", f"spillway-{cores}", "plain"):
            assert_is_spread(figures["contenders"][name]["round_s"], 1)
        for name in ("spillway-1", "araw"):
            assert all(moved > 0 for moved in figures["contenders"][name]["moved_bytes"])
        assert figures["contenders"]["plain"]["moved_bytes"] == [0]
        assert ("swap" in figures["contenders"]) != ("swap" in figures["left_out"])


def test_storage(run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None) -> None:
    content = measured(
        run, build_dir, tmp_path, "storage", "--mib", 32, "--rounds", 1, "--repeats", 2, "--folder", spill_dir
    )
    assert len(content["repeats"]) == 2
    for repeat in content["repeats"]:
        assert min(repeat["device"].values()) > 0
        for steps in repeat["steps"].values():
            assert steps.pop("left") < 32 * MIB
            assert len(steps) == 9 and min(steps.values()) > 0


def test_apps(run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None) -> None:
    small = ["--applications", "kmeans,sgd-elements", "--size", 96, "--factors", "4", "--iterations", 2]
    small += ["--repeats", 1, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "apps", *small)
    assert [row["application"] for row in content["measurements"]] == ["kmeans", "sgd-elements"]
    for row, few_ranks, target_count in zip(content["measurements"], ([2], [1, 4]), (4, 4)):
        ways = row["ways"]
        in_memory = [f"in_memory_{ranks}" for ranks in (16, *few_ranks)]
        for name in ("spillway_1", "spillway_2", "controlled", "explicit", "serial", *in_memory):
            assert 0 < ways[name]["iteration_s"][0] < ways[name]["wall_s"][0]
        for name in (f"swap_{ranks}" for ranks in (16, *few_ranks)):
            assert (name in ways) + (name in row["left_out"]) + (name in row["kill_counts"]) == 1
        assert row["budget_bytes"] == pytest.approx(row["data_bytes"] / 4, abs=MIB)
        assert len(row["targets"]) == target_count
        assert all(line.endswith((": met", ": MISSED", ": not measured")) for line in row["targets"])


def test_nodes(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    try:
        with Network(tmp_path, 1):
            pass
    except CannotMakeNetwork as reason:
        pytest.skip(f"no network of several hosts can be made here: {reason}")
    small = ["--hosts", 2, "--size", 1, "--repeats", 1, "--seconds", 1, "--memory", "512M", "--mpi", flavour]
    content = measured(run, build_dir, tmp_path, "nodes", *small, "--folder", spill_dir)
    operations = [(row["name"], row["ranks_per_host"], row["bytes"]) for row in content["operations"]]
    assert operations == [
        ("message", 1, MIB),
        ("broadcast", 1, MIB),
        ("broadcast", 4, MIB),
        ("allreduce", 8, MIB // 16),
    ]
    for row in content["operations"]:
        for figure in ("spillway_s", "plain_s", "link_s", "of_plain", "of_link"):
            assert_is_spread(row[figure], 1)
    # At a gigabit per second, but for 256 KB that may go at once. Not slowed down, it takes less than a millisecond.
    assert content["operations"][0]["link_s"]["median"] > 5e-3
    percent = content["waiting"]["percent"]
    assert 0 <= percent["agent"]["median"] <= percent["all_processes"]["median"]


def machine_with(root: Path, files: Dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_groups_of_version_1_are_made_below_our_own(tmp_path: Path) -> None:
    root = machine_with(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/job/7\n1:cpu:/\n0::/\n",
            "proc/mounts": "cgroup /sys/cpu cgroup rw,cpu 0 0\ncgroup /sys/memory cgroup rw,memory 0 0\n",
            "sys/memory/job/7/tasks": "",
        },
    )
    assert find_hierarchy(root) == Hierarchy(1, root / "sys/memory/job/7")


@pytest.mark.parametrize(
    ("handed_down_at", "parent"), [("", "sys"), ("user", "sys/user"), ("user/session", "sys/user/session")]
)
def test_groups_of_version_2_are_made_where_memory_is_handed_down(
    tmp_path: Path, handed_down_at: str, parent: str
) -> None:
    files = {"proc/self/cgroup": "0::/user/session\n", "proc/mounts": "none /sys cgroup2 rw 0 0\n"}
    for group in ("", "user", "user/session"):
        text = "cpu memory\n" if group == handed_down_at else "cpu\n"
        files[str(Path("sys") / group / "cgroup.subtree_control")] = text
    root = machine_with(tmp_path, files)
    assert find_hierarchy(root) == Hierarchy(2, root / parent)


@pytest.mark.parametrize("mounts", ["", "none /sys cgroup2 rw 0 0\n", "cgroup /sys/cpu cgroup rw,cpu 0 0\n"])
def test_says_when_memory_cannot_be_limited(tmp_path: Path, mounts: str) -> None:
    root = machine_with(tmp_path, {"proc/self/cgroup": "0::/user\n", "proc/mounts": mounts, "sys/user/tasks": ""})
    with pytest.raises(NoControlGroups):
        find_hierarchy(root)


def test_the_rate_of_the_disk_is_limited(run: Runner, spill_dir: Path) -> None:
    write = ["dd", "if=/dev/zero", f"of={spill_dir / 'zeros'}", "bs=4M", "count=10", "oflag=direct"]
    try:
        with ControlGroup(1 << 30, may_swap=False, rate=disk_rate(spill_dir, 40 * 1000000)) as group:
            assert 0.7 < run(*group.words(write), status=0).wall_s < 10
    except NoControlGroups as reason:
        pytest.skip(f"cannot run: {reason}")
    assert not group.path.exists()


def test_speed_of_the_disk(spill_dir: Path) -> None:
    speeds = disk_speeds(spill_dir, 16)
    assert set(speeds) == {"first write", "write", "read"} and min(speeds.values()) > 1e6
    assert not list(spill_dir.iterdir())


def test_allowance_is_the_stated_one() -> None:
    assert allowed_bytes(140 * MIB, 16) == (140 + 32 + 4 * 16) * MIB


def test_spread_shows_median_least_and_most() -> None:
    values: List[float] = [3.0, 1.0, 2.0]
    assert Spread(values).text(1) == "2.0 (1.0-3.0)"
    assert Spread([1.25]).text(2) == "1.25"
