"""What `--memory` promises: the ranks together stay within it, and nothing is written or read that need not be."""

import pytest
from resident_memory import peak_of_ranks_mib, promised_mib

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20


@pytest.mark.parametrize(
    ("ranks", "slots", "budget_mib", "mib_per_rank"),
    [
        pytest.param(16, 2, 192, 48, id="4_times_budget"),
        pytest.param(32, 1, 112, 56, id="16_times_budget"),
        pytest.param(16, 2, 256, 16, id="fits"),
    ],
)
def test_ranks_stay_within_budget_and_slack(run, job, phases, summary, flavour, ranks, slots, budget_mib, mib_per_rank):
    command = job(flavour, ranks, slots, f"{budget_mib}M", "sweep", mib_per_rank, 2)
    peak_mib, samples, _ = peak_of_ranks_mib(run, command, phases(flavour))
    data_mib = ranks * mib_per_rank
    assert samples >= 5
    assert min(data_mib, budget_mib) / 2 < peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["unloaded_bytes"] >= max(0, data_mib - budget_mib) * MIB


def test_256_ranks_stay_within_budget_and_slack(run, job, phases, summary, build_dir):
    # With one library, as it takes half a minute: that is the ranks' beginning, nearly all of it.
    if not (build_dir / "lib" / "spillway" / "libspillway-mpich.so").exists():
        pytest.skip("cannot run: this build has no MPICH")
    ranks, budget_mib, mib_per_rank = 256, 400, 3
    command = job("mpich", ranks, 2, f"{budget_mib}M", "sweep", mib_per_rank, 2)
    peak_mib, _, _ = peak_of_ranks_mib(run, command, phases("mpich"), timeout_s=300)
    assert budget_mib / 2 < peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["peak_bytes"] <= budget_mib * MIB
    assert summary()["unloaded_bytes"] >= (ranks * mib_per_rank - budget_mib) * MIB


def test_messages_that_wait_make_room_for_the_ranks(run, job, phases, summary, flavour):
    ranks, budget_mib, message_mib, own_mib = 4, 240, 30, 180
    command = job(flavour, ranks, 1, f"{budget_mib}M", "pile", message_mib, own_mib)
    peak_mib, _, _ = peak_of_ranks_mib(run, command, phases(flavour))
    assert peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["spilled_bytes"] >= ((ranks + 1) * message_mib + own_mib - budget_mib) * MIB


def test_nonblocking_collectives_leave_memory_free_to_be_unloaded(run, job, plain_mpi, phases, summary, flavour):
    ranks, budget_mib, mib = 8, 160, 24
    command = job(flavour, ranks, 1, f"{budget_mib}M", "overlap", mib, 3)
    peak_mib, _, printed = peak_of_ranks_mib(run, command, phases(flavour))
    assert peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["peak_bytes"] <= budget_mib * MIB
    assert summary()["unloaded_bytes"] >= (ranks * 3 * mib - budget_mib) * MIB
    assert printed == run(*plain_mpi(flavour, ranks), phases(flavour), "overlap", mib, 3).stdout


@pytest.mark.parametrize("threads", ["threads", "pool"])
def test_ranks_are_unloaded_while_their_other_threads_that_call_mpi_sleep_and_when_they_have_ended(
    run, job, plain_mpi, phases, summary, flavour, threads
):
    ranks, budget_mib, mib = 8, 128, 48
    finished = run(*job(flavour, ranks, 1, f"{budget_mib}M", threads, mib, 2))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), phases(flavour), threads, mib, 2).stdout
    assert summary()["unloaded_bytes"] >= (ranks * mib - budget_mib) * MIB
    assert summary()["peak_bytes"] <= budget_mib * MIB


def test_ranks_whose_threads_all_wait_in_mpi_make_room(run, job, plain_mpi, phases, summary, flavour):
    finished = run(*job(flavour, 4, 1, "100M", "receivers", 24))
    assert finished.stdout == run(*plain_mpi(flavour, 4), phases(flavour), "receivers", 24).stdout
    assert summary()["unloaded_bytes"] >= 20 * MIB
    assert summary()["peak_bytes"] <= 100 * MIB


def test_a_window_keeps_no_more_than_its_own_memory(run, job, plain_mpi, phases, summary, flavour):
    ranks, budget_mib, mib = 8, 128, 40
    finished = run(*job(flavour, ranks, 1, f"{budget_mib}M", "window", mib, 3))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), phases(flavour), "window", mib, 3).stdout
    assert summary()["unloaded_bytes"] >= (ranks * mib - budget_mib) * MIB
    assert summary()["peak_bytes"] <= budget_mib * MIB


def test_buffers_of_a_collective_call_on_a_file_keep_to_the_budget(run, job_of, build_dir, summary, flavour):
    # 8 ranks have 768 MiB, of which a call is given 384 MiB: all of that is in memory at a time.
    ranks, budget_mib, mib = 8, 464, 48
    program = build_dir / "lib" / "spillway" / "tests" / f"files-{flavour}"
    peak_mib, samples, _ = peak_of_ranks_mib(run, job_of(program, ranks, 1, f"{budget_mib}M", mib), program)
    assert samples > 10
    assert peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["unloaded_bytes"] > 0
    assert summary()["peak_bytes"] <= budget_mib * MIB


def test_clean_memory_is_never_written_twice(run, job, summary, flavour):
    ranks, mib, rounds = 8, 16, 5
    run(*job(flavour, ranks, 1, "40M", "read", mib, rounds))
    moved = summary()
    data = ranks * mib * MIB
    assert moved["loaded_bytes"] > 2 * data  # it went in and out many times
    assert moved["unloaded_bytes"] <= data + ranks * MIB  # and was written once


def test_nothing_is_unloaded_while_everything_fits(run, job, summary, flavour):
    run(*job(flavour, 4, 2, "512M", "sweep", 32, 3))
    assert summary()["unloaded_bytes"] == summary()["loaded_bytes"] == 0


def test_messages_beyond_their_share_of_the_budget_go_to_disk_and_come_back(run, job, summary, flavour):
    run(*job(flavour, 4, 1, "64M", "exchange", 24, 2))
    assert summary()["spilled_bytes"] > 0
