"""Each benchmark in a tiny configuration: that it runs, and what it writes. Its figures mean nothing here."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Dict, List

import pytest
from benchmark_pages import assert_is_spread, measured
from measuring.control_group import (
    PERIOD_US,
    ControlGroup,
    Hierarchy,
    NoControlGroups,
    ProcessorLimit,
    disk_rate,
    find_hierarchy,
)
from measuring.disk_speed import disk_speeds
from measuring.iteration_watch import Iterations, IterationWatch
from measuring.network import bytes_per_s
from measuring.program_run import RunFailed
from measuring.residency import allowed_bytes, job_limit_bytes
from measuring.spread import Spread
from runner import Runner
from suite_environment import SuiteEnvironment

pytestmark = pytest.mark.libraries_in_turn

SOURCE = Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20


def test_pagerank(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    swaps_before = Path("/proc/swaps").read_text()
    small = ["--scale", 19, "--ranks", 8, "--factor", 3, "--repeats", 1, "--iterations", 2]
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


def test_pgas(run: Runner, build_dir: Path, tmp_path: Path, flavour: str, nothing_left_behind: None) -> None:
    content = measured(run, build_dir, tmp_path, "pgas", "--repeats", 1, "--divide-rounds", 200, "--mpi", flavour)
    operations = {(row["name"], row["place"]): row for row in content["operations"]}
    assert {place for _, place in operations} == {"node", "nodes"}
    assert len(operations) == len(content["operations"]) == 22
    for (_, place), row in operations.items():
        others = {"mpi", "memory"} if place == "node" else {"mpi"}
        assert set(row["ratios"]) == others and set(row["microseconds"]) == {"pgas", *others}
        for spread in (*row["ratios"].values(), *row["microseconds"].values()):
            assert_is_spread(spread, 1)


def test_memory(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    small = ["--ranks", 4, "--mib", 16, "--rounds", 3, "--repeats", 1, "--modes", "read,pieces,sparse-16"]
    small += ["--strategies", "auto,araw", "--mpi", flavour]
    content = measured(run, build_dir, tmp_path, "memory", *small, "--folder", spill_dir)
    assert list(content["modes"]) == ["read", "pieces", "sparse-16"]
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


@pytest.mark.parametrize(("application", "mib", "few_ranks"), [("kmeans", 48, [2]), ("sgd-elements", 64, [1, 4])])
def test_apps(
    run: Runner,
    build_dir: Path,
    tmp_path: Path,
    spill_dir: Path,
    nothing_left_behind: None,
    application: str,
    mib: int,
    few_ranks: List[int],
) -> None:
    small = ["--applications", application, "--size", mib, "--factors", "4", "--iterations", 2]
    small += ["--repeats", 1, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "apps", *small)
    [row] = content["measurements"]
    assert row["application"] == application
    ways = row["ways"]
    in_memory = [f"in_memory_{ranks}" for ranks in (16, *few_ranks)]
    for name in ("spillway_1", "spillway_2", "controlled", "explicit", "serial", *in_memory):
        assert 0 < ways[name]["iteration_s"][0] < ways[name]["wall_s"][0]
    for name in (f"swap_{ranks}" for ranks in (16, *few_ranks)):
        assert (name in ways) + (name in row["left_out"]) + (name in row["kill_counts"]) == 1
    assert row["budget_bytes"] == pytest.approx(row["data_bytes"] / 4, abs=MIB)
    assert len(row["targets"]) == 4
    assert all(line.endswith((": met", ": MISSED", ": not measured")) for line in row["targets"])


def test_sort(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    """Beside what every machine has."""
    small = ["--size", "4M", "--memory", "256M", "--repeats", 1, "--folder", spill_dir, "--mpi", flavour]
    content = measured(run, build_dir, tmp_path, "sort", *small, "--peer-folder", tmp_path / "none")
    assert [row["job"] for row in content["jobs"]] == ["limited", "unlimited"]
    for row in content["jobs"]:
        assert set(row["contenders"]) == {"spillway", "sort", "terasort"}
        assert set(row["left_out"]) == {"stxxl", "spark", "duckdb"}
        for other in ("sort", "terasort"):
            assert_is_spread(row["ratios"][other]["wall_s"], 1)
        assert len(row["of_disk"]) == 1 and row["of_disk"][0] > 0


@pytest.mark.parametrize(
    ("program", "reason"),
    [('cp "$1" "$2"', "the records are not sorted"), (': > "$2"', "records are missing or changed")],
)
def test_sort_names_whose_output_is_wrong(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None, program: str, reason: str
) -> None:
    """Also where nobody's output is compared with it. A script stands for STXXL's program."""
    script = tmp_path / "peers" / "stxxl-sort"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    small = ["--size", "4M", "--repeats", 1, "--folder", spill_dir, "--jobs", "unlimited", "--peers", "stxxl"]
    words = [sys.executable, SOURCE / "bench" / "sort" / "run.py", "--build", build_dir, *small]
    finished = run(*words, "--peer-folder", script.parent, "--json", tmp_path / "page", status=1, timeout_s=120)
    [job] = json.loads((tmp_path / "page").read_text())["jobs"]
    assert reason in job["left_out"]["stxxl"]
    assert "FAILED: unlimited: stxxl did not end well" in finished.stdout


def test_sort_delivery(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None
) -> None:
    small = ["--size", "4M", "--cases", "memory,cores", "--repeats", 1, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "sort", *small, script_name="delivery.py")
    memory, cores = content["cases"]["memory"], content["cases"]["cores"]
    assert list(memory["ratios"]) == ["two-sided", "two-sided, one receive (the paper's)"]
    for ratio in memory["ratios"].values():
        assert_is_spread(ratio, 1)
    assert not cores["ratios"] and list(cores["samples"]) == ["one-sided"]
    [two_sided], [one_sided] = memory["samples"]["two-sided"], memory["samples"]["one-sided"]
    assert (two_sided["sorters"], one_sided["sorters"]) == (1, 2)
    assert 0 < sum(one_sided["shares"].values()) <= 1


def test_sort_of_skewed_keys(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None
) -> None:
    small = ["--size", "4M", "--jobs", "unlimited", "--keys", "zipf", "--repeats", 1, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "sort", *small, script_name="skew.py")
    samples = content["jobs"]["unlimited"]
    assert list(samples) == ["uniform", "zipf"]
    assert all(sample["wall_s"] > sample["total_s"] > 0 for [sample] in samples.values())


def test_streams(run: Runner, build_dir: Path, tmp_path: Path, flavour: str, nothing_left_behind: None) -> None:
    words = [sys.executable, SOURCE / "bench" / "keyvalue" / "streams.py", "--build", build_dir, "--mpi", flavour]
    words += ["--rates", "1000,2000", "--seconds", 1, "--repeats", 1, "--peer-folder", tmp_path / "none", "--long", 1]
    page = run(*words, "--json", tmp_path / "json", status=None, timeout_s=60)
    assert page.status in (0, 1) and "left out: Spark: no pyspark" in page.stdout
    assert re.search(
        r"/s for 1 s, of a peak of \d+/s: none lost, p50 [\d.]+ ms, p99 [\d.]+ ms\n  memory of ", page.stdout
    )
    content = json.loads((tmp_path / "json").read_text())
    assert content["long"]["sample"]["messages_per_s"] <= content["long"]["peak_per_s"]
    sides = content["long"]["sample"]["memory_mib"]
    assert list(sides) == ["the A task", "the O task", "mpidrun and launchers"]
    for who, (early, late) in sides.items():
        assert early > 1 and content["long"]["growth"][who] == pytest.approx(late / early)
        assert re.search(rf"memory of {who}, {early:.1f} MiB after .* <= 1.05 x: (met|MISSED)", page.stdout)
    rows = content["streams"]
    assert [(row["rate"], row["contender"]) for row in rows] == [(1000, "Spillway"), (2000, "Spillway")]
    for row in rows:
        [sample] = row["samples"]
        assert sample["messages_per_s"] <= row["rate"] and sample["times_ms"] == sorted(sample["times_ms"])


def test_overlap_of_a_process_s_threads(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    script = SOURCE / "bench" / "keyvalue" / "overlap.py"
    words = [sys.executable, script, "--build", build_dir, "--mpi", flavour]
    words += ["--size", "48M", "--repeats", 1, "--folder", spill_dir, "--json", tmp_path / "json"]
    page = run(*words, status=None, timeout_s=120)
    assert page.status in (0, 1)
    jobs = json.loads((tmp_path / "json").read_text())["jobs"]
    assert len(jobs) == 3
    for job in jobs:
        [sample] = job["samples"]
        assert 0 < job["overlap"]["median"] <= len(sample["thread_s"]) and "mpid-sort" in sample["thread_s"]
        assert f"  {job['name']}: processor s / s > 1.00: " in page.stdout
    assert jobs[1]["samples"][0]["thread_s"]["mpid-sort"] > 0.05  # of 48 MiB of words, each sent


def test_times_of_messages_in_batches(keyvalue_modules: None) -> None:
    from streams import quantiles

    assert quantiles([(1000, 0, 1000)]) == pytest.approx([500, 990, 999], abs=1)
    assert quantiles([(990, 1, 1), (10, 5, 5)]) == pytest.approx([1, 1, 5])


def test_times_of_batches_of_spark(keyvalue_modules: None) -> None:
    from streams import sample_of_batches

    warm_up = [(600, 9000, 9000, 9000, 1_000_000), (500, 8000, 8000, 8000, 2_000_000)]
    sample = sample_of_batches([*warm_up, (990, 1000, 1000, 500, 2_500_000), (10, 5000, 5000, 700, 3_000_000)], 1000)
    assert sample.messages_per_s == pytest.approx(1000)
    assert sample.times_ms == pytest.approx([1, 1, 5]) and sample.work_ms == pytest.approx(0.6)


def test_memory_that_grows_anywhere_is_a_miss(keyvalue_modules: None) -> None:
    from streams import LongRun, Sample, page_of_long_run

    steady = {who: [100.0, 104.0] for who in ("the A task", "the O task", "mpidrun and launchers")}
    assert "MISSED" not in page_of_long_run(LongRun(1, 600, Sample(1, [1, 1, 1], steady)))
    for who in steady:
        long = LongRun(1, 600, Sample(1, [1, 1, 1], {**steady, who: [100.0, 106.0]}))
        assert f"memory of {who}, 100.0 MiB after a fifth and 106.0 at the end <= 1.05 x: MISSED" in page_of_long_run(
            long
        )


def test_a_restart_is_judged_only_where_it_could_fail(keyvalue_modules: None) -> None:
    from checkpointing import Sample, recovery_verdict, restored

    def killed(kill_s: float, recovery_s: float) -> Sample:
        with_s = kill_s / 0.6
        return Sample(with_s, with_s, kill_s, with_s + recovery_s, {}, 0)

    # All was done again.
    assert recovery_verdict([killed(1.8, 1.8)]).startswith("not judged")
    assert recovery_verdict([killed(7, 2), killed(2, 2)]).startswith("not judged")
    assert recovery_verdict([killed(7, 7)]) == "MISSED"
    assert recovery_verdict([killed(7, 2)]) == "met"
    tasks = {"o_tasks": 16, "a_tasks": 2, "o_tasks_restored": 0, "a_tasks_restored": 0}
    assert restored({**tasks, "o_tasks_restored": 12}, tasks) == {"O tasks": (12, 16), "A tasks": (0, 2)}
    assert restored({**tasks, "rounds": 4}, {**tasks, "rounds": 10}) == {"rounds": (6, 10)}


def test_words_in_python(
    run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, flavour: str, nothing_left_behind: None
) -> None:
    environment = SuiteEnvironment(build_dir)  # has NumPy and pyarrow
    environment.make(flavour)
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "python").symlink_to(environment.python(flavour).parents[1])
    text = tmp_path / "words.txt"
    text.write_text("two words, and two more\n" * 1000)
    small = ["--size", "1M", "--repeats", 1, "--text", text, "--folder", spill_dir, "--mpi", flavour]
    small += ["--peer-folder", tmp_path / "peers"]
    content = measured(run, build_dir, tmp_path, "keyvalue", *small, script_name="python_words.py")
    assert content["left_out"] == {}
    assert [row["text"] for row in content["texts"]] == ["real", "zipf"]
    for row in content["texts"]:
        assert set(row["samples"]) == {"wordcount", *row["ratios"]}
        assert set(row["ratios"]) == {"wordcount.py", "wordcount_batches.py"}
        for ratios in row["ratios"].values():
            assert_is_spread(ratios["wall_s"], 1)
            assert_is_spread(ratios["work_s"], 1)


def test_clustering(run: Runner, build_dir: Path, tmp_path: Path, spill_dir: Path, nothing_left_behind: None) -> None:
    small = ["--vectors", 1500, "--centers", 60, "--columns", 64, "--rounds", 10, "--repeats", 1, "--folder", spill_dir]
    content = measured(run, build_dir, tmp_path, "clustering", *small)
    assert content["centers_are_equal"]
    [lloyd], [elkan], [drake_hamerly] = (content["runs"][bounds] for bounds in ("none", "elkan", "drake-hamerly"))
    assert 3 < len(lloyd) == len(elkan) == len(drake_hamerly) <= 10
    for number, (without, *with_bounds) in enumerate(zip(lloyd, elkan, drake_hamerly)):
        assert without["distances"] == 1500 * (60 + 1) and without["seconds"] > 0  # one more for the inertia
        for found in with_bounds:
            assert found["changed"] == without["changed"]
            assert found["inertia"] == pytest.approx(without["inertia"])
            assert number == 0 or found["fraction"] < 1
    reduced, plain = content["between_nodes"]["reduced"], content["between_nodes"]["plain"]
    assert reduced["sum_bytes"] == pytest.approx(60 * (1 + 64) * 8 * 3, rel=0.02)  # of the second node
    assert plain["sum_bytes"] == pytest.approx(4 * reduced["sum_bytes"], rel=0.02)
    for found in (reduced, plain):  # beside the sums there is a broadcast in each round
        assert found["bytes"] - found["sum_bytes"] == pytest.approx(60 * 64 * 4 * 3, rel=0.1)


@pytest.fixture
def keyvalue_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SOURCE / "bench" / "keyvalue"))


def test_what_key_value_jobs_work_on(tmp_path: Path, keyvalue_modules: None) -> None:
    from inputs import write_first_lines, write_real_text, write_zipf_text

    source, text, zipf, first = (tmp_path / name for name in ("source", "text", "zipf", "first"))
    source.write_bytes(b"usr/lib/x-y.so\t\tlibs\n\xc3\xa4 b\n")
    write_real_text(text, 60, [source])
    assert text.read_bytes() == (b"usr lib x y so libs\n b\n" * 3)[:59] + b"\n"
    write_zipf_text(zipf, MIB)
    counts = Counter(zipf.read_text().split())
    assert zipf.stat().st_size == MIB
    # Word i is about as frequent as the first one, divided by i; the first are t, a, o.
    assert [counts["t"] / counts[word] for word in "ao"] == pytest.approx([1.7, 2.4], rel=0.1)
    write_first_lines(first, zipf)
    assert zipf.read_text().startswith(first.read_text()) and first.read_text().count("\n") == 1000


def test_what_key_value_jobs_keep(tmp_path: Path, keyvalue_modules: None) -> None:
    from inputs import write_graph, write_points

    write_graph(tmp_path / "graph", 64 << 10)
    lines = [list(map(int, line.split())) for line in (tmp_path / "graph").read_text().splitlines()]
    edges = [tuple(map(int, line.split())) for line in (tmp_path / "graph.edges").read_text().splitlines()]
    assert [line[0] for line in lines] == list(range(819)) and min(map(len, lines)) >= 2
    assert edges == [(node, neighbour) for node, *neighbours in lines for neighbour in neighbours]
    assert {neighbour for _, neighbour in edges} <= set(range(819))
    write_points(tmp_path / "points", 64 << 10)
    points = (tmp_path / "points").read_text().splitlines()
    vectors = (tmp_path / "points.vectors").read_text().splitlines()
    assert len(points) == 409 and all(len(list(map(float, line.split()))) == 20 for line in points)
    assert vectors == [f"[{line.replace(' ', ',')}]" for line in points]


def test_outputs_of_key_value_jobs_are_compared(tmp_path: Path, keyvalue_modules: None) -> None:
    from jobs import Output
    from measurement import content, is_same

    def outcome(name: str, texts: List[str], kind: Output) -> object:
        folder = tmp_path / f"{name}-{kind.name}"
        folder.mkdir()
        for number, text in enumerate(texts):
            (folder / f"part-{number}").write_text(text)
        return content(folder, kind)

    parts = {"one": ["b\n", "a\n"], "other": ["a\nb\n"], "different": ["a\nc\n"]}
    for kind, same in ((Output.LINES, True), (Output.ORDERED_LINES, False)):
        found = {name: outcome(name, texts, kind) for name, texts in parts.items()}
        assert is_same(found["one"], found["other"]) == same
        assert not is_same(found["different"], found["one"]) and not is_same(found["different"], found["other"])
    numbers = {"one": ["3\t0.25\n1\t0.25\n", "2\t0.5\n"], "other": ["(1,0.75)\n(2,1.5000000000001)\n(3,0.75)\n"]}
    for kind, same in ((Output.SHARES, True), (Output.NUMBERS, False)):
        found = {name: outcome(name, texts, kind) for name, texts in numbers.items()}
        assert is_same(found["one"], found["other"]) == same
    assert not is_same(outcome("fewer", ["1 2\n"], Output.NUMBERS), outcome("more", ["1 2\n1 2\n"], Output.NUMBERS))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunFailed, match="no output"):
        content(tmp_path / "empty", Output.LINES)


def watch_that_has_seen(*iterations: str) -> IterationWatch:
    links = iter([[7, 100], [9, 110], [11, 1010]])
    watch = IterationWatch(re.compile(r"objective: (\S+)"), lambda: next(links))
    for line in (
        "matrix: 9 rows",
        "data of all ranks: 8.5 MiB (7.0 read only, 1.5 written in each iteration)",
        "data of the largest rank: 4.5 MiB",
        *iterations,
        "seconds per iteration: mean 4.0000, median 2.0000, least 1.0000",
        "objective: 1.25e+01",
    ):
        watch.line(line)
    return watch


def test_watch_of_iterations_takes_their_time_and_their_bytes() -> None:
    lines = ["iteration 1: 9.0000 s", "rows reassigned: 9", "iteration 2: 1.0000 s", "iteration 3: 2.0000 s"]
    assert watch_that_has_seen(*lines).iterations() == Iterations(1.5, 300.0, 8.5, 4.5, 12.5, False)
    short = [line.replace("1.", "0.").replace("2.", "0.").replace("9.", "0.") for line in lines]
    assert watch_that_has_seen(*short).iterations() == Iterations(0.0, 300.0, 8.5, 4.5, 12.5, True)
    for failing in ([], lines[:1]):
        with pytest.raises(RunFailed):
            watch_that_has_seen(*failing).iterations()


def test_rates_of_links_are_in_the_words_of_tc() -> None:
    assert [bytes_per_s(rate) for rate in ("1gbit", "0.5Gbit", "80", "1kibit", "3mbps")] == [
        *(125e6, 62.5e6, 10, 128, 3e6)
    ]
    with pytest.raises(ValueError, match="fast"):
        bytes_per_s("fast")


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


def test_groups_limit_processor_time(tmp_path: Path) -> None:
    version_1 = machine_with(
        tmp_path / "1",
        {
            "proc/self/cgroup": "4:memory:/job/7\n1:cpu,cpuacct:/job\n0::/\n",
            "proc/mounts": "cgroup /sys/memory cgroup rw,memory 0 0\ncgroup /sys/cpu cgroup rw,cpuacct,cpu 0 0\n",
            "sys/cpu/job/tasks": "",
        },
    )
    ProcessorLimit(0.45, version_1).make_group("host")
    made = version_1 / "sys/cpu/job/host"
    assert int((made / "cpu.cfs_quota_us").read_text()) == 0.45 * int((made / "cpu.cfs_period_us").read_text())

    version_2 = machine_with(
        tmp_path / "2",
        {
            "proc/self/cgroup": "0::/user\n",
            "proc/mounts": "none /sys cgroup2 rw 0 0\n",
            "sys/user/cgroup.subtree_control": "memory\n",
            "sys/cgroup.subtree_control": "cpu memory\n",
        },
    )
    ProcessorLimit(1.5, version_2).make_group("host")
    assert (version_2 / "sys/host/cpu.max").read_text() == f"{PERIOD_US * 3 // 2} {PERIOD_US}"
    with pytest.raises(NoControlGroups):
        ProcessorLimit(1.5, version_2).make_group("host")


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
    with pytest.raises(NoControlGroups, match="memory"):
        find_hierarchy(root)


def test_says_when_processor_time_cannot_be_limited(tmp_path: Path) -> None:
    mounts = "cgroup /sys/memory cgroup rw,memory 0 0\nnone /sys/unified cgroup2 rw 0 0\n"
    root = machine_with(tmp_path, {"proc/self/cgroup": "0::/\n", "proc/mounts": mounts})
    with pytest.raises(NoControlGroups, match="processor time"):
        ProcessorLimit(0.5, root)


def test_the_rate_of_the_disk_is_limited(run: Runner, spill_dir: Path) -> None:
    write = ["dd", "if=/dev/zero", f"of={spill_dir / 'zeros'}", "bs=4M", "count=10", "oflag=direct"]
    try:
        with ControlGroup(1 << 30, may_swap=False, rate=disk_rate(spill_dir, 40 * 1000000)) as group:
            finished = run(*group.words(write), status=0)
            assert 0.7 < finished.wall_s and finished.ran_s < 10
    except NoControlGroups as reason:
        pytest.skip(f"cannot run: {reason}")
    assert not group.path.exists()


def test_speed_of_the_disk(spill_dir: Path) -> None:
    speeds = disk_speeds(spill_dir, 16)
    assert set(speeds) == {"first write", "write", "read", "free"} and min(speeds.values()) > 1e6
    assert not list(spill_dir.iterdir())


def test_allowance_is_the_stated_one() -> None:
    assert allowed_bytes(140 * MIB, 16) == (140 + 32 + 4 * 16) * MIB


def test_spread_shows_median_least_and_most() -> None:
    values: List[float] = [3.0, 1.0, 2.0]
    assert Spread(values).text(1) == "2.0 (1.0-3.0)"
    assert Spread([1.25]).text(2) == "1.25"
