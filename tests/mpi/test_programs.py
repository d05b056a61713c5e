"""Self-checking MPI programs, one for each family of operations: right with any number of slots, equal to plain MPI."""

import json
import os
import re

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

PROGRAMS = [
    "communicators",
    "completion",
    "data_movement",
    "datatypes",
    "error_handlers",
    "file_pointers",
    "files",
    "flood",
    "generalized_requests",
    "intercommunicators",
    "long_vectors",
    "matching",
    "neighborhoods",
    "nodes",
    "nonblocking_collectives",
    "one_sided",
    "owed_progress",
    "polling",
    "reductions",
    "request_queries",
    "seldom_reductions",
    "send_modes",
    "sizes",
    "statuses",
    "thread_levels",
    "thread_multiple",
    "tool_interface",
    "windows",
]
# What some MPI libraries have not.
NOT_EVERYWHERE = ["dynamic_processes", "partitioned", "sessions"]
# Every number of ranks with one slot, some slots or a slot for each.
LAYOUTS = [(1, 1), (2, 2), (3, 1), (4, 2), (8, 1)]
LIMIT_S = 120


@pytest.fixture
def program(build_dir):
    return lambda name, flavour: build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"


@pytest.fixture
def job(spillway, spill_dir, program):
    def command(name, flavour, ranks, slots, memory="256M", report=("--summary", "none"), ranks_per_node=None):
        options = ["-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir, *report]
        options += ["--ranks-per-node", ranks_per_node] if ranks_per_node else []
        return [spillway, "run", *options, "--", program(name, flavour)]

    return command


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(("ranks", "slots"), LAYOUTS)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "thread_levels"])
def test_checks_itself(run, job, flavour, name, ranks, slots):
    """`strict`: also where one of the MPI libraries is wrong."""
    finished = run(*job(name, flavour, ranks, slots), "strict", timeout_s=LIMIT_S)
    assert finished.stdout  # says how many checks it made


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "thread_levels"])
def test_checks_itself_on_virtual_nodes(run, job, flavour, name):
    """Three of them, the last of which has one rank."""
    finished = run(*job(name, flavour, 5, 1, ranks_per_node=2), "strict", timeout_s=LIMIT_S)
    assert finished.stdout


@pytest.mark.parametrize("algorithm", ["flat", "binomial", "scatter-allgather"])
def test_collectives_check_themselves_whichever_way_they_take_between_nodes(run, job, flavour, algorithm, tmp_path):
    (tmp_path / "rules").write_text(f"any any {algorithm}\n")
    for name in ("data_movement", "long_vectors"):
        words = job(name, flavour, 5, 2, ranks_per_node=1)
        words[2:2] = ["--broadcasts", tmp_path / "rules"]
        assert run(*words, "strict", timeout_s=LIMIT_S).stdout


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "thread_levels"])
def test_checks_itself_with_other_versions_of_the_libraries(run, job, other_flavour, name):
    run(*job(name, other_flavour, 4, 2), timeout_s=LIMIT_S)


def skip_where_plain_mpi_cannot(run, plain_mpi, program, name, flavour):
    """Such a program says that it has checked nothing. The result is its output with two ranks."""
    plain = run(*plain_mpi(flavour, 2), program(name, flavour), timeout_s=LIMIT_S).stdout
    if plain.startswith("0 checks"):
        pytest.skip(f"{flavour} alone does not do what {name} checks")
    return plain


@pytest.mark.parametrize("name", NOT_EVERYWHERE)
def test_what_not_every_library_has(run, job, plain_mpi, program, flavour, name):
    plain = skip_where_plain_mpi_cannot(run, plain_mpi, program, name, flavour)
    assert run(*job(name, flavour, 2, 1), timeout_s=LIMIT_S).stdout == plain
    for ranks, slots in LAYOUTS:
        finished = run(*job(name, flavour, ranks, slots), "strict", timeout_s=LIMIT_S)
        assert finished.stdout and not finished.stdout.startswith("0 checks")


@pytest.mark.parametrize("name", NOT_EVERYWHERE)
def test_what_not_every_library_has_with_other_versions(run, job, other_flavour, name):
    finished = run(*job(name, other_flavour, 4, 2), timeout_s=LIMIT_S)
    assert not finished.stdout.startswith("0 checks")


@pytest.mark.libraries_in_turn
@pytest.mark.one_node
@pytest.mark.parametrize("more", ["once", "again", "init", "early", "exit"])
def test_ranks_that_have_sessions(run, job, plain_mpi, program, flavour, tmp_path, more):
    """6 ranks have 192 MiB together."""
    if "no sessions" in run(*plain_mpi(flavour, 1), program("sessions_alone", flavour)).stdout:
        pytest.skip(f"{flavour} has no sessions")
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    finished = run(*job("sessions_alone", flavour, 6, 1, "112M", options), 32, more, timeout_s=LIMIT_S)
    assert finished.stdout == "0 wrong values on 6 ranks\n"
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["unloaded_bytes"] > 0
    assert summary["peak_bytes"] <= summary["budget_bytes"]


@pytest.mark.parametrize("level", ["single", "funneled", "serialized", "multiple"])
def test_thread_level(run, job, flavour, level):
    run(*job("thread_levels", flavour, 3, 1), level, timeout_s=LIMIT_S)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_it_says_on_plain_mpi(run, job, plain_mpi, program, flavour, name):
    plain = run(*plain_mpi(flavour, 2), program(name, flavour), timeout_s=LIMIT_S)
    assert run(*job(name, flavour, 2, 1), timeout_s=LIMIT_S).stdout == plain.stdout != ""


@pytest.mark.parametrize(("ranks", "slots", "per_node"), [(6, 1, 1), (7, 3, 3)])
def test_reductions_combine_within_nodes(run, job, flavour, ranks, slots, per_node):
    """Also for ranks that are on the nodes in any order."""
    run(*job("local_reductions", flavour, ranks, slots, ranks_per_node=per_node), "strict", timeout_s=LIMIT_S)


@pytest.mark.parametrize(("ranks", "slots", "per_node"), [(4, 1, 2), (7, 2, 3), (3, 1, None)])
def test_reductions_end_where_nothing_is_owed(run, job, flavour, ranks, slots, per_node):
    """Each rank begins when the one before it has ended the operation; waiting for more would be a deadlock."""
    report = ("--summary", "none", "--detect-deadlock")
    run(*job("early_ends", flavour, ranks, slots, report=report, ranks_per_node=per_node), "strict", timeout_s=LIMIT_S)


VECTORS = [
    # Of two nodes, how many vectors each sends to the other one.
    ("reduce_scatter_block", 512, 0.5, 1),  # rank 0 folds
    ("reduce_scatter_block", 2048, 0.5, 0.5),
    ("ireduce_scatter_block", 512, 0.5, 0.5),
    ("ireduce_scatter", 512, 0.5, 0.5),
    ("ireduce", 512, 0, 1),
    ("iallreduce", 512, 1, 1),
    ("scan", 512, 1, 0),
    ("exscan", 512, 1, 0),
    ("iscan", 512, 1, 0),
    ("iexscan", 512, 1, 0),
]
PERSISTENT_VECTORS = [
    ("reduce_scatter_block_init", 512, 0.5, 0.5),
    ("reduce_scatter_init", 512, 0.5, 0.5),
    ("reduce_init", 512, 0, 1),
    ("allreduce_init", 512, 1, 1),
    ("scan_init", 512, 1, 0),
    ("exscan_init", 512, 1, 0),
]


@pytest.fixture
def skip_what_the_library_has_not(run, plain_mpi, program, flavour):
    """Called with the name of the operation."""

    def skip(operation):
        if not operation.endswith("_init"):
            return
        words = [*plain_mpi(flavour, 2), program("sums_between_nodes", flavour), "any", operation, 0, 1]
        if run(*words, timeout_s=LIMIT_S).stdout.startswith("0 checks"):
            pytest.skip(f"{flavour} has no persistent collective operations")

    return skip


@pytest.mark.parametrize(
    ("operation", "kib", "first", "second"),
    [*VECTORS, *PERSISTENT_VECTORS],
)
def test_one_vector_of_each_node_goes_to_others(
    run, job, flavour, tmp_path, skip_what_the_library_has_not, operation, kib, first, second
):
    """Of four ranks each has."""
    skip_what_the_library_has_not(operation)
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    rounds = 10
    words = job("sums_between_nodes", flavour, 8, 2, "256M", options, 4)
    run(*words, "strict", operation, kib, rounds, timeout_s=LIMIT_S)
    all_rounds = rounds * (kib << 10)
    nodes = json.loads((tmp_path / "summary").read_text())["nodes"]
    assert len(nodes) == 2
    for node, vectors in zip(nodes, (first, second)):
        assert vectors * all_rounds <= node["courier_sent_bytes"] < (vectors + 0.1) * all_rounds


@pytest.mark.parametrize("operation", ["ibarrier", "barrier_init"])
def test_one_message_of_each_node_goes_to_others(run, job, flavour, tmp_path, skip_what_the_library_has_not, operation):
    """Of four ranks each has; it goes to all of the other node's together, with the list of these."""
    skip_what_the_library_has_not(operation)
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    rounds = 200
    run(
        *job("sums_between_nodes", flavour, 8, 2, "256M", options, 4), "strict", operation, 0, rounds, timeout_s=LIMIT_S
    )
    nodes = json.loads((tmp_path / "summary").read_text())["nodes"]
    assert len(nodes) == 2
    for node in nodes:
        assert rounds <= node["courier_sent_messages"] < 1.1 * rounds + 20
        assert node["courier_sent_bytes"] < 64 * rounds


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    ("operation", "kib"),
    [
        ("iallreduce", 1024),
        ("ireduce", 1024),
        ("iscan", 1024),
        ("ireduce_scatter_block", 1024),
        ("own_iallreduce", 1024),
        ("own_ireduce", 1024),
        ("own_iexscan", 1024),
        ("iallreduce", 3072),
        ("allreduce_init", 1024),
        ("reduce_init", 1024),
        ("exscan_init", 1024),
        ("reduce_scatter_init", 1024),
    ],
)
def test_contributions_that_nodes_combine_may_lie_on_storage(
    run, job, flavour, tmp_path, skip_what_the_library_has_not, operation, kib
):
    """Of 24 MiB at a time that each of 3 ranks on each of 2 nodes has, and as much of results: more than 96 MiB."""
    skip_what_the_library_has_not(operation)
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    words = job("sums_between_nodes", flavour, 6, 1, "96M", options, 3)
    run(*words, "strict", operation, kib, 3, 24576 // kib, timeout_s=LIMIT_S)
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["spilled_bytes"] > 0
    for node in summary["nodes"]:
        assert node["peak_bytes"] <= node["budget_bytes"]


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(("ranks", "slots", "per_node", "memory"), [(4, 1, 2, "56M"), (6, 2, 3, "64M")])
def test_threads_of_a_rank_combine_in_turn(run, job, flavour, tmp_path, ranks, slots, per_node, memory):
    """With so little memory that contributions go to storage."""
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    words = job("combining_threads", flavour, ranks, slots, memory, options, per_node)
    run(*words, "strict", 1024, 10, timeout_s=LIMIT_S)
    assert json.loads((tmp_path / "summary").read_text())["totals"]["spilled_bytes"] > 0


def test_sums_are_the_same_in_every_run_on_the_same_nodes(run, job, flavour):
    """The program prints a digest of sums that rounding makes depend on the order."""
    first, second = (
        run(*job("local_reductions", flavour, 5, slots, ranks_per_node=2), "strict", timeout_s=LIMIT_S).stdout
        for slots in (1, 2)
    )
    assert first == second


@pytest.mark.parametrize(("ranks", "slots", "per_node"), [(6, 1, None), (7, 2, 3)])
def test_seldom_reductions_give_what_plain_mpi_gives(run, job, plain_mpi, program, flavour, ranks, slots, per_node):
    """A digest of all results of all ranks."""
    plain = run(*plain_mpi(flavour, ranks), program("seldom_reductions", flavour), timeout_s=LIMIT_S)
    spillway = run(*job("seldom_reductions", flavour, ranks, slots, ranks_per_node=per_node), timeout_s=LIMIT_S)
    assert spillway.stdout == plain.stdout


def test_reductions_combine_as_on_plain_mpi(run, job, plain_mpi, program, flavour):
    """Of two ranks a sum is the same in any order."""
    plain = run(*plain_mpi(flavour, 2), program("local_reductions", flavour), timeout_s=LIMIT_S)
    spillway = run(*job("local_reductions", flavour, 2, 1, ranks_per_node=1), timeout_s=LIMIT_S)
    assert spillway.stdout == plain.stdout


def test_ranks_that_wait_in_the_mpi_library_let_each_other_work(run, job, program, flavour):
    """4 ranks on one processor, which spin in MPICH: each fence took 32 ms, the time slices of all, and takes 0.1."""
    if flavour == "mpich" and "libucp.so" not in run("ldd", program("fences", flavour)).stdout:
        pytest.skip("this MPICH does not use UCX: its ranks spin")
    processor = min(os.sched_getaffinity(0))
    finished = run(*job("fences", flavour, 4, 4), preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
    assert float(finished.stdout.split()[0]) < 5000


def test_64_megabytes_by_way_of_the_disk(run, job, flavour, tmp_path):
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    run(*job("sizes", flavour, 3, 1, "300M", options), 64 << 20, timeout_s=LIMIT_S)
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["spilled_bytes"] >= 64 << 20
    assert summary["peak_bytes"] <= summary["budget_bytes"]


@pytest.mark.libraries_in_turn
def test_64_megabytes_between_nodes_by_way_of_their_disks(run, job, flavour, tmp_path):
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    run(*job("sizes", flavour, 3, 1, "150M", options, 1), 64 << 20, timeout_s=LIMIT_S)
    nodes = json.loads((tmp_path / "summary").read_text())["nodes"]
    assert len(nodes) == 3
    for node in nodes:
        assert node["rank_count"] == 1 and node["courier_spilled_bytes"] >= 64 << 20
        assert node["peak_bytes"] <= node["budget_bytes"]


def test_long_vectors_need_no_memory_for_others(run, job, flavour):
    run(*job("long_vectors", flavour, 3, 1, "128M"), "strict", 96, timeout_s=LIMIT_S)


@pytest.mark.one_node
def test_ranks_that_gather_before_a_collective_call_on_a_file_can_be_unloaded(run, job, flavour, tmp_path):
    """8 ranks have 384 MiB, of which a call is given 192 MiB."""
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    run(*job("files", flavour, 8, 1, "256M", options), 24, timeout_s=LIMIT_S)
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["unloaded_bytes"] > 0
    assert summary["peak_bytes"] <= summary["budget_bytes"]


@pytest.mark.one_node
def test_files_that_are_read_in_two_calls(run, job, flavour, tmp_path):
    options = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    run(*job("files", flavour, 6, 1, "96M", options), "begun", 24, timeout_s=LIMIT_S)
    assert json.loads((tmp_path / "summary").read_text())["totals"]["unloaded_bytes"] > 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_more_messages_than_the_node_has_cells(run, job, flavour, ranks):
    """262144 cells: the sender has to wait, and the receiver to acknowledge when there is none left."""
    run(*job("flood", flavour, ranks, 2, "1G"), 300000, timeout_s=LIMIT_S)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(("ranks", "slots"), [(3, 1), (5, 2)])
def test_ranks_that_wait_outside_of_mpi_keep_nobody_waiting(run, job, flavour, tmp_path, ranks, slots):
    run(*job("outside_waits", flavour, ranks, slots), tmp_path / "pipe", timeout_s=LIMIT_S)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("slots", [1, 3])
def test_ranks_that_wait_outside_of_mpi_keep_nobody_from_memory(run, job, flavour, tmp_path, slots):
    """Rank 0 sleeps with a slot and its memory; the budget does not hold another rank beside it."""
    run(*job("outside_waits", flavour, 3, slots, "96M"), tmp_path / "pipe", 60, timeout_s=LIMIT_S)


def test_fatal_error_names_rank_and_reason(run, job, flavour):
    finished = run(*job("fatal_error", flavour, 3, 1), status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert "spillway: rank 2 on host" in finished.stderr
    cause = re.search(r"^  Cause:  (.*)$", finished.stderr, re.MULTILINE)
    assert cause and "invalid rank" in cause.group(1).lower(), finished.stderr
    assert "an MPI call that failed" in finished.stderr and "\n  Remedy: " in finished.stderr
