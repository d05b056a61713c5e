"""A program gives the results of plain MPI, however little of it is in memory and however few ranks run at a time."""

import re

import pytest

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]


def rounds_of(stdout):
    found = re.findall(r"^round \d+: [0-9a-f]{16}$", stdout, re.MULTILINE)
    assert found, stdout
    return found


@pytest.fixture
def plain_rounds(run, plain_mpi, phases):
    return lambda flavour, ranks, *arguments: rounds_of(
        run(*plain_mpi(flavour, ranks), phases(flavour), *arguments).stdout
    )


@pytest.mark.parametrize(
    ("ranks", "slots", "memory", "arguments", "factor"),
    [
        (1, 1, "1G", ("sweep", 40, 3), 0),
        (4, 4, "1G", ("sweep", 20, 3), 0),
        (8, 1, "40M", ("sweep", 20, 4), 4),
        (8, 2, "80M", ("sweep", 20, 4), 2),
        (8, 3, "80M", ("sweep", 20, 4), 2),
        (32, 1, "80M", ("sweep", 10, 2), 4),
        (4, 1, "64M", ("pile", 8, 48), 3),
        (8, 1, "40M", ("read", 20, 4), 4),
        (8, 2, "60M", ("exchange", 10, 3), 2),
        (8, 1, "32M", ("exchange", 8, 3), 4),
    ],
)
def test_same_as_on_plain_mpi(run, job, summary, plain_rounds, flavour, ranks, slots, memory, arguments, factor):
    finished = run(*job(flavour, ranks, slots, memory, *arguments), timeout_s=120)
    assert rounds_of(finished.stdout) == plain_rounds(flavour, ranks, *arguments)
    # The case is the one that it is meant to be: out of core where the data is `factor` times the budget, else in core.
    assert (summary()["unloaded_bytes"] > 0) == (factor > 0)
    assert summary()["peak_bytes"] <= summary()["budget_bytes"]


def test_same_where_several_directories_share_what_is_unloaded(
    run, job, summary, plain_rounds, spill_dir, build_dir, flavour
):
    # Messages of 16 MiB wait on storage, too.
    other = build_dir / "spill-tests"
    command = job(flavour, 8, 1, "64M", "exchange", 16, 3)
    command[2:2] = ["--spill-dir", other]
    finished = run(*command, timeout_s=120)
    assert rounds_of(finished.stdout) == plain_rounds(flavour, 8, "exchange", 16, 3)
    assert summary()["spill_directories"] == [str(other), str(spill_dir)]
    assert summary()["unloaded_bytes"] > 0
    assert summary()["spilled_bytes"] > 0


def test_same_in_every_run(run, job, flavour):
    command = job(flavour, 6, 2, "100M", "sweep", 30, 3)
    assert rounds_of(run(*command).stdout) == rounds_of(run(*command).stdout)


@pytest.mark.parametrize("tool", [None, "locking_tool"])
def test_what_another_thread_writes_while_the_rank_unloads_is_kept(
    run, job, plain_mpi, phases, summary, build_dir, flavour, tool
):
    environment = {"LD_PRELOAD": str(build_dir / "lib" / "spillway" / "tests" / f"{tool}.so")} if tool else None
    finished = run(*job(flavour, 6, 2, "120M", "compute", 24, 6), timeout_s=120, env=environment)
    assert finished.stdout == run(*plain_mpi(flavour, 6), phases(flavour), "compute", 24, 6).stdout
    assert finished.stdout.endswith(f"round 7: {'0' * 16}\n")  # nothing was lost
    assert summary()["unloaded_bytes"] > 0


def test_threads_that_cannot_be_stopped_are_told_of_and_keep_their_rank_in_memory(
    run, job, plain_rounds, summary, flavour
):
    finished = run(*job(flavour, 4, 2, "120M", "traced", 40, 4), timeout_s=120)
    assert rounds_of(finished.stdout) == plain_rounds(flavour, 4, "pool", 40, 4)
    message = "spillway: the threads of a rank cannot be stopped while its memory is unloaded"
    assert finished.stderr.count(message) == 1, finished.stderr
    assert "  Remedy: " in finished.stderr
    assert summary()["peak_bytes"] > summary()["budget_bytes"]


def test_what_a_signal_handler_writes_while_the_rank_unloads_is_kept(run, job, summary, flavour):
    finished = run(*job(flavour, 8, 2, "120M", "handler", 40, 12), timeout_s=120)
    assert rounds_of(finished.stdout) == ["round 0: " + "0" * 16]
    assert summary()["unloaded_bytes"] > 0
