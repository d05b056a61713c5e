"""The agent's report, and the page made from it."""

import json

import pytest
from spillway_front_end.machine import Figure
from spillway_front_end.mpi_launcher import Launcher
from spillway_front_end.mpi_library import MpiLibrary
from spillway_front_end.plan import NodePlan, Plan
from spillway_front_end.report import parse_report
from spillway_front_end.spill_directory import SpillDirectory
from spillway_front_end.summary import render_json, render_text

GIB = 1 << 30
RANK = (
    "rank {number} state=finished pid=1 compute_ns={compute} wait_ns={wait} ready_ns=0 load_ns=500000000 "
    "unload_ns=250000000 loaded_bytes=1073741824 unloaded_bytes=536870912 spilled_bytes=0 sent_messages=1000 "
    "sent_bytes=1048576 yields=3 unloads=1 managed_bytes=0\n"
)


def report_text(attached=2, status=0, failure=""):
    lines = f"exit_status {status}\n"
    lines += f"failure {failure}\ncause it was so\\n  and so\nremedy do this\n" if failure else ""
    lines += "wall_ns 12345678901\nnode vm\nnode_index 0\nrank_count 2\nslot_count 1\ncpu_count 2\n"
    lines += f"budget_bytes {8 * GIB}\npeak_bytes {6 * GIB}\n"
    lines += f"attached_ranks {attached}\nfinished_ranks {attached}\n"
    return (
        lines
        + RANK.format(number=1, compute=3 * 10**9, wait=10**9)
        + RANK.format(number=0, compute=10**9, wait=2 * 10**9)
    )


@pytest.fixture
def plan():
    return Plan(
        program=["./app", "in.dat"],
        library=MpiLibrary("mpich", "/lib/libmpich.so"),
        launcher=Launcher("/bin/mpiexec", "4"),
        ranks=Figure(2, ""),
        node=NodePlan(
            slots=Figure(1, ""),
            cores=Figure(2, ""),
            budget=Figure(8 * GIB, ""),
            spills=[SpillDirectory("/var/tmp", "ext4", 1)],
        ),
        preload="",
        agent="",
        rank_program="",
        strategy="auto",
        keeps_checksums=True,
        detects_deadlock=False,
        ranks_per_node=None,
        hosts=None,
        broadcasts=None,
        node_command=[],
        warnings=[],
    )


def test_report_is_read_in_order_of_ranks():
    report = parse_report(report_text())
    assert ([node.host for node in report.nodes], report.exit_status, report.failure) == (["vm"], 0, None)
    assert [rank["compute_ns"] for rank in report.ranks] == [10**9, 3 * 10**9]
    assert report.total("loaded_bytes") == 2 * GIB
    assert report.states == ["finished", "finished"]


def test_page_has_every_figure(plan):
    page = render_text(plan, parse_report(report_text()))
    for line in (
        "./app in.dat",
        "2 ranks, 1 at a time, on vm: ended well after 12.3 s",
        "peak 6.00 GiB counted against the budget of 8.00 GiB (75%)",
        "compute        4.00 s  47.1%",
        "wait           3.00 s  35.3%",
        "load           1.00 s  11.8%",
        "unload         500 ms   5.9%",
        "loaded       2.00 GiB",
        "unloaded     1.00 GiB",
        "messages     2.00 MiB         in 2 000 messages",
        "computed longest  rank 1 (3.00 s), rank 0 (1.00 s)",
        "waited longest    rank 0 (2.00 s), rank 1 (1.00 s)",
    ):
        assert line in page
    assert len(page.splitlines()) < 30
    assert max(map(len, page.splitlines())) <= 80


def test_page_of_several_nodes_has_a_line_for_each(plan):
    node = report_text().partition("node vm")[2]
    text = report_text() + "courier_sent_messages 10\ncourier_sent_bytes 1048576\ncourier_spilled_bytes 0\n"
    text += "node other" + node.replace("node_index 0", "node_index 2").replace("rank 1 ", "rank 3 ").replace(
        "rank 0 ", "rank 2 "
    )
    text += "courier_sent_messages 1000\ncourier_sent_bytes 2097152\ncourier_spilled_bytes 1048576\n"
    page = render_text(plan._replace(ranks=Figure(4, "")), parse_report(text.replace(f"{6 * GIB}", f"{2 * GIB}", 1)))
    for line in (
        "4 ranks, 1 at a time, on each of 2 nodes: ended well after 12.3 s",
        "memory    peak 2.00 GiB counted against the budget of 8.00 GiB (25%) on node 0, vm",
        "          peak 6.00 GiB counted against the budget of 8.00 GiB (75%) on node 2, other",
        "of these     3.00 MiB         in 1 010 between nodes, 1.00 MiB spilled there",
        "compute        8.00 s",
    ):
        assert line in page


def text_with_links(*links):
    """Of two nodes; (from, to, MiB, milliseconds)."""
    text = report_text()
    node = text.partition("node vm")[2].replace("node_index 0", "node_index 1").replace("rank 1 ", "rank 3 ")
    texts = ["node vm" + text.partition("node vm")[2], "node other" + node.replace("rank 0 ", "rank 2 ")]
    for place in range(2):
        texts[place] += "courier_sent_messages 1\ncourier_sent_bytes 1\ncourier_spilled_bytes 0\n"
        for sender, receiver, mib, ms in links:
            if sender == place:
                texts[place] += f"link {receiver} bytes={mib << 20} busy_us={1000 * ms} min_rtt_us={30 + sender}\n"
    return text.partition("node vm")[0] + "".join(texts)


def test_page_names_links_that_are_much_slower_than_the_others(plan):
    text = text_with_links((0, 1, 100, 1000), (0, 2, 100, 900), (1, 0, 100, 10000), (1, 2, 8, 9000))
    page = render_text(plan, parse_report(text))
    assert "  slow link     10.0 MiB/s from node 1, other, to node 0, vm\n" in page
    assert "                usual here: 100 MiB/s\n" in page
    links = json.loads(render_json(plan, parse_report(text)))["links"]
    assert [(link["sender"], link["receiver"], link["bytes_per_s"] >> 20) for link in links][2] == (1, 0, 10)
    assert [link["min_rtt_us"] for link in links] == [30, 30, 31, 31]


def test_page_names_no_link_where_all_are_alike_or_few(plan):
    alike = [(0, 1, 100, 1000), (0, 2, 100, 900), (1, 0, 100, 2900)]
    assert "slow link" not in render_text(plan, parse_report(text_with_links(*alike)))
    assert "slow link" not in render_text(plan, parse_report(text_with_links((0, 1, 100, 1000), (1, 0, 100, 90000))))


def test_page_says_by_how_much_the_budget_was_exceeded(plan):
    text = report_text()
    assert "over it" not in render_text(plan, parse_report(text))
    page = render_text(plan, parse_report(text.replace(f"peak_bytes {6 * GIB}", f"peak_bytes {9 * GIB}")))
    assert "(112%)\n            1.00 GiB over it, for memory that could not be unloaded\n" in page
    assert max(map(len, page.splitlines())) <= 80


def test_page_of_a_failed_job_says_so(plan):
    page = render_text(plan, parse_report(report_text(status=137, failure="rank 1 was killed")))
    assert "exit status 137 after 12.3 s" in page


def test_page_of_a_program_without_mpi(plan):
    assert "No rank called MPI_Init" in render_text(plan, parse_report(report_text(attached=0)))


def test_long_program_names_are_cut(plan):
    page = render_text(plan._replace(program=["./app", "x" * 500]), parse_report(report_text()))
    assert max(map(len, page.splitlines())) <= 80


def test_json_has_totals_and_ranks(plan):
    content = json.loads(render_json(plan, parse_report(report_text(status=3, failure="rank 1 exited"))))
    assert content["ranks"] == 2 and content["slots"] == 1 and content["budget_bytes"] == 8 * GIB
    assert content["peak_bytes"] == 6 * GIB and content["wall_ns"] == 12345678901
    assert content["exit_status"] == 3
    assert content["failure"] == {"message": "rank 1 exited", "cause": "it was so\n  and so", "remedy": "do this"}
    assert content["totals"]["compute_ns"] == 4 * 10**9 and "pid" not in content["totals"]
    assert [rank["rank"] for rank in content["per_rank"]] == [0, 1]


def program_that_ends_well(build_dir, flavour):
    return build_dir / "lib" / "spillway" / "tests" / f"sizes-{flavour}"


def failing_program(build_dir, flavour):
    return build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"


def test_summary_of_a_real_job(run, spillway, spill_dir, build_dir, flavour, nothing_left_behind, tmp_path):
    options = ["-n", 3, "--slots", 2, "--memory", "1G", "--spill-dir", spill_dir]
    program = [failing_program(build_dir, flavour), "slow_messages"]
    finished = run(spillway, "run", *options, "--summary", "json", "--summary-file", tmp_path / "page", *program)
    assert "{" not in finished.stderr
    content = json.loads((tmp_path / "page").read_text())
    assert content["exit_status"] == 0 and content["ranks"] == 3 and content["slots"] == 2
    assert all(rank["state"] == "finished" for rank in content["per_rank"])
    assert all(rank["compute_ns"] > 0 for rank in content["per_rank"])
    assert 0 <= content["peak_bytes"] <= content["budget_bytes"]
    assert content["wall_ns"] > 3 * 10**9
    assert content["nodes"][0]["address"] is None


def test_json_of_a_failed_job_names_cause_and_remedy(run, spillway, spill_dir, build_dir, flavour, tmp_path):
    options = ["-n", 3, "--memory", "1G", "--spill-dir", spill_dir, "--summary", "json"]
    page = tmp_path / "page"
    run(spillway, "run", *options, "--summary-file", page, failing_program(build_dir, flavour), "mpi_abort", status=7)
    failure = json.loads(page.read_text())["failure"]
    assert failure["message"].startswith("rank 2 on host ") and failure["cause"] and failure["remedy"]


def test_json_of_a_rank_too_large_names_cause_and_remedy(run, spillway, spill_dir, build_dir, flavour, tmp_path):
    options = ["-n", 3, "--memory", "64M", "--spill-dir", spill_dir, "--summary", "json"]
    page = tmp_path / "page"
    program = [failing_program(build_dir, flavour), "wait", 2, 200]
    run(spillway, "run", *options, "--summary-file", page, *program, status=1)
    failure = json.loads(page.read_text())["failure"]
    assert "MiB of memory at once" in failure["message"] and "Cause:" not in failure["message"]
    assert "are kept for messages" in failure["cause"] and "Remedy:" not in failure["cause"]
    assert failure["remedy"].startswith("give --memory ")


def test_summary_can_be_left_away(run, spillway, spill_dir, build_dir, flavour):
    options = ["-n", 3, "--memory", "1G", "--spill-dir", spill_dir, "--summary", "none"]
    assert "Spillway" not in run(spillway, "run", *options, program_that_ends_well(build_dir, flavour)).stderr


def test_failed_job_has_a_summary_too(run, spillway, spill_dir, build_dir, flavour):
    options = ["-n", 3, "--memory", "1G", "--spill-dir", spill_dir]
    finished = run(spillway, "run", *options, failing_program(build_dir, flavour), "exit_with_status", status=3)
    assert "3 ranks" in finished.stderr and "exit status 3" in finished.stderr


@pytest.mark.parametrize("summary", ["text", "json", "none"])
def test_job_without_mpi_is_warned_of(run, spillway, spill_dir, flavour, summary):
    options = ["-n", 2, "--memory", "1G", "--spill-dir", spill_dir, "--mpi", flavour, "--summary", summary]
    assert "warning: no rank called MPI_Init" in run(spillway, "run", *options, "true").stderr


def test_summary_file_is_tried_before_the_start(run, spillway, spill_dir, build_dir, flavour, tmp_path):
    options = ["-n", 3, "--memory", "1G", "--spill-dir", spill_dir, "--summary-file", tmp_path / "none" / "page"]
    program = [failing_program(build_dir, flavour), "exit_with_status"]
    finished = run(spillway, "run", *options, *program, status=2)
    assert "cannot write the summary to " in finished.stderr and "Remedy: " in finished.stderr
    assert finished.stdout == ""


def test_page_that_cannot_be_written_goes_to_standard_error(run, spillway, spill_dir, build_dir, flavour):
    options = ["-n", 3, "--memory", "1G", "--spill-dir", spill_dir, "--summary-file", "/dev/full"]
    finished = run(spillway, "run", *options, program_that_ends_well(build_dir, flavour))
    assert "cannot write the summary to /dev/full: No space left on device" in finished.stderr
    assert "3 ranks" in finished.stderr and "ended well" in finished.stderr
