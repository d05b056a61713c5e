"""Benchmarks in a tiny configuration that run beside no other test.

Network devices that come and go make MPICH programs fail that begin meanwhile (UCX: "No such device"). And a job that
is to be killed when 60% of its time is over must take as long as it took before.
"""

from pathlib import Path

import pytest
from benchmark_pages import assert_is_spread, measured
from measuring.control_group import NoControlGroups, ProcessorLimit
from measuring.network import CannotMakeNetwork, Network
from runner import Runner

MIB = 1 << 20


@pytest.fixture
def may_make_network(tmp_path: Path) -> None:
    try:
        with Network(tmp_path, 1):
            pass
    except CannotMakeNetwork as reason:
        pytest.skip(f"no network of several hosts can be made here: {reason}")


def test_nodes(
    run: Runner,
    build_dir: Path,
    tmp_path: Path,
    spill_dir: Path,
    flavour: str,
    may_make_network: None,
    nothing_left_behind: None,
) -> None:
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


def test_weak_scaling(
    run: Runner,
    build_dir: Path,
    tmp_path: Path,
    spill_dir: Path,
    flavour: str,
    may_make_network: None,
    nothing_left_behind: None,
) -> None:
    try:
        with Network(tmp_path, 1, limit=ProcessorLimit(0.5)):
            pass
    except NoControlGroups as reason:
        pytest.skip(f"cannot run: {reason}")
    small = ["--hosts", "1,2", "--scale", 16, "--rows", 5000, "--ranks", 2, "--iterations", 3, "--repeats", 1]
    small += ["--memory", "256M", "--mpi", flavour, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "nodes", *small, script_name="weak_scaling.py")
    assert content["cores_per_host"] == pytest.approx(0.9 * content["machine"]["cores"] / 2)
    assert [program["name"] for program in content["programs"]] == ["pagerank", "kmeans"]
    for program in content["programs"]:
        runs = {(row["contender"], row["hosts"]): row for row in program["runs"]}
        assert set(runs) == {
            *(("spillway", 1), ("spillway beside others", 1), ("spillway", 2)),
            *(("plain", 1), ("plain", 2)),
        }
        for row in runs.values():
            assert_is_spread(row["iteration_s"], 1)
        one, two = runs["spillway", 1], runs["spillway", 2]
        assert two["link_s"]["median"] == pytest.approx(two["link_bytes"]["median"] / 125e6)
        beyond_s = two["iteration_s"]["median"] - two["link_s"]["median"]
        assert two["growth"]["median"] == pytest.approx(beyond_s / one["iteration_s"]["median"])
        assert two["data_mib"] > 1.5 * one["data_mib"]


def test_keyvalue(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    """Beside what every machine has. The others are not where they are looked for, and the page says so."""
    text = tmp_path / "words.txt"
    text.write_text("two words, and two more\n" * 1000 + "a\tlast one\n")
    small = ["--size", "4M", "--memory", "256M", "--repeats", 1, "--text", text, "--folder", spill_dir]
    small += ["--mpi", flavour, "--peers", "spark,hadoop,duckdb,sort", "--peer-folder", tmp_path / "none"]
    content = measured(run, build_dir, tmp_path, "keyvalue", *small)
    jobs = {row["job"]: row for row in content["jobs"]}
    kinds = {
        **{f"wordcount-{text}": (set(), {"spark", "hadoop", "duckdb"}) for text in ("text", "zipf")},
        "sort-lines": ({"sort"}, {"spark", "duckdb"}),
        **{f"terasort{limit}": ({"sort"}, {"spark", "hadoop", "duckdb"}) for limit in ("", "-limited")},
        "pagerank": (set(), {"spark", "hadoop", "duckdb"}),
        "kmeans": (set(), {"spark", "hadoop"}),
    }
    assert list(jobs) == list(kinds)
    for name, (others, left_out) in kinds.items():
        assert set(jobs[name]["contenders"]) == {"spillway"} | others
        assert set(jobs[name]["left_out"]) == left_out
        assert all("install.sh" in reason for reason in jobs[name]["left_out"].values())
        for [sample] in jobs[name]["contenders"].values():
            assert min(sample.values()) >= 0 and sample["wall_s"] > 0
        for other in others:
            assert_is_spread(jobs[name]["ratios"][other]["wall_s"], 1)
    assert jobs["terasort"]["input_bytes"] == pytest.approx(2 * jobs["sort-lines"]["input_bytes"], abs=100)
    assert [row["name"] for row in content["spilled"]] == ["spilled-words", "spilled-terasort"]
    for row in content["spilled"]:
        [sample] = row["samples"]
        assert sample["spilled_bytes"] > 0.5 * sample["intermediate_bytes"]
        assert_is_spread(row["beyond"], 1)
    assert [row["name"] for row in content["checkpointed"]] == ["TeraSort", "PageRank"]
    for row in content["checkpointed"]:
        [sample] = row["samples"]
        assert 0.3 * sample["with_s"] < sample["kill_s"] <= 0.601 * sample["with_s"]
        assert sample["killed_s"] > sample["kill_s"]
        assert set(sample["restored"]) == ({"rounds"} if row["name"] == "PageRank" else {"O tasks", "A tasks"})
        assert all(0 <= saved <= count and count > 0 for saved, count in sample["restored"].values())
        # In three seconds beyond the time left, so short a job could begin from nothing.
        assert row["recovery_verdict"].startswith("not judged: the job is too short for that")
        assert_is_spread(row["cost"], 1)
        assert_is_spread(row["recovery_s"], 1)
