"""Programs with their data in many small allocations: they are unloaded, and charged for little more than they use."""

import pytest
from resident_memory import peak_of_ranks_mib, promised_mib

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20


@pytest.fixture
def program(build_dir, flavour):
    return build_dir / "lib" / "spillway" / "tests" / f"small_allocations-{flavour}"


@pytest.mark.parametrize("strategy", ["auto", "araw"])
def test_keep_their_contents_and_stay_within_the_budget(run, job_of, plain_mpi, program, summary, flavour, strategy):
    ranks, budget_mib, nodes, rounds = 4, 64, 200_000, 2  # some 40 MiB a rank
    command = job_of(program, ranks, 1, f"{budget_mib}M", "list", nodes, rounds)
    command[2:2] = ["--strategy", strategy]
    peak_mib, samples, printed = peak_of_ranks_mib(run, command, program)
    assert samples >= 5
    assert budget_mib / 2 < peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["unloaded_bytes"] >= (ranks * 30 - budget_mib) * MIB
    assert printed == run(*plain_mpi(flavour, ranks), program, "list", nodes, rounds).stdout


def test_with_two_slots_equal_those_of_plain_mpi(run, job_of, plain_mpi, program, flavour):
    command = job_of(program, 6, 2, "96M", "list", 100_000, 3)
    assert run(*command).stdout == run(*plain_mpi(flavour, 6), program, "list", 100_000, 3).stdout


def test_freed_and_made_again_take_no_more(run, job_of, program):
    assert int(run(*job_of(program, 1, 1, "512M", "loop", 2000, 200)).stdout) <= 14  # 10 MiB are used


def test_freed_make_room_for_a_large_one(run, job_of, program):
    assert run(*job_of(program, 2, 1, "64M", "large", 40)).stdout == "done\n"


def test_survive_forks_while_other_threads_allocate_and_libraries_prepare_for_it(run, job_of, program):
    assert run(*job_of(program, 2, 2, "128M", "fork", 100)).stdout == "done\n"


def test_survive_forks_while_another_thread_flushes_streams_that_allocate(run, job_of, program):
    assert run(*job_of(program, 2, 2, "128M", "flush", 300)).stdout == "done\n"


def test_of_a_forked_child_are_as_they_were_at_the_fork(run, job_of, program, summary):
    assert run(*job_of(program, 2, 1, "100M", "child", 80)).stdout == "done\n"
    assert summary()["unloaded_bytes"] > 20 * MIB


def test_need_little_of_the_stack(run, job_of, program, summary):
    assert run(*job_of(program, 4, 1, "96M", "fiber", 40)).stdout == "done\n"
    assert summary()["unloaded_bytes"] > 60 * MIB


def test_in_a_program_that_uses_all_keys_of_threads(run, job_of, program):
    assert run(*job_of(program, 2, 1, "64M", "keys")).stdout == "done\n"


def test_where_addresses_are_limited_are_the_c_librarys(run, job_of, program, flavour):
    limited = ["-c", 'ulimit -v 16000000 && exec "$0" "$@"', program]
    command = job_of("bash", 1, 1, "512M", *limited, "loop", 2000, 3)
    command[2:2] = ["--mpi", flavour]
    assert run(*command).stdout == "0\n"


def test_of_threads_that_start_within_the_library_are_not_managed(run, job_of, program):
    assert run(*job_of(program, 2, 1, "256M", "callback", 20_000)).stdout == "0\n"


def test_begin_with_64_kib(run, job_of, program):
    assert run(*job_of(program, 2, 1, "64M", "idle")).stdout == f"{64 << 10}\n"
