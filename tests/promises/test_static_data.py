"""Large static arrays of a program are unloaded like large allocations; what lies beside them stays."""

import re

import pytest
from resident_memory import peak_of_ranks_mib, promised_mib

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20
# Of each rank of `static_arrays`: all that is large, and the arrays that it writes.
STATIC_MIB, WRITTEN_MIB = 54, 48


@pytest.fixture
def static_arrays(build_dir, flavour):
    return lambda kind: build_dir / "lib" / "spillway" / "tests" / f"static_arrays_{kind}-{flavour}"


@pytest.mark.parametrize("kind", ["plain", "fixed", "medium", "library"])
def test_results_are_those_of_plain_mpi(run, job_of, plain_mpi, static_arrays, summary, flavour, kind):
    ranks, budget_mib = 6, 128
    finished = run(*job_of(static_arrays(kind), ranks, 1, f"{budget_mib}M", "sweep", 2))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), static_arrays(kind), "sweep", 2).stdout
    assert summary()["unloaded_bytes"] > (ranks * (WRITTEN_MIB - 4) - budget_mib) * MIB
    assert summary()["loaded_bytes"] > 0


def test_ranks_stay_within_budget_and_slack(run, job_of, static_arrays, summary):
    ranks, budget_mib = 16, 192
    program = static_arrays("plain")
    peak_mib, samples, _ = peak_of_ranks_mib(run, job_of(program, ranks, 2, f"{budget_mib}M", "sweep", 2), program)
    assert samples >= 5
    assert peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["peak_bytes"] <= budget_mib * MIB


def test_nothing_is_unloaded_while_everything_fits(run, job_of, static_arrays, summary):
    run(*job_of(static_arrays("plain"), 4, 2, "512M", "sweep", 2))
    assert summary()["unloaded_bytes"] == summary()["loaded_bytes"] == 0


def test_arrays_that_nobody_touches_need_no_memory(run, job_of, plain_mpi, static_arrays, summary, flavour):
    ranks, budget_mib, touched_mib = 8, 96, 20
    program = static_arrays("huge")
    command = job_of(program, ranks, 2, f"{budget_mib}M", "touch", touched_mib, 6)
    peak_mib, _, printed = peak_of_ranks_mib(run, command, program)
    assert peak_mib <= promised_mib(budget_mib, ranks)
    assert summary()["unloaded_bytes"] > 0
    assert printed == run(*plain_mpi(flavour, ranks), program, "touch", touched_mib, 6).stdout


def test_a_rank_whose_arrays_do_not_fit_is_told_what_it_needs(run, job_of, static_arrays):
    failed = run(*job_of(static_arrays("huge"), 2, 1, "100M", "touch", 200, 4), status=1)
    needed_mib = int(re.search(r"needs (\d+) MiB of memory at once", failed.stderr).group(1))
    assert 200 <= needed_mib <= 204
    named = re.search(r"give --memory (\d+M) or more", failed.stderr).group(1)
    run(*job_of(static_arrays("huge"), 2, 1, named, "touch", 200, 4))


@pytest.mark.parametrize("kind", ["plain", "stripped"])
def test_arrays_are_managed_where_there_is_a_symbol_table(run, job_of, static_arrays, kind):
    lines = run(*job_of(static_arrays(kind), 1, 1, "512M", "usage")).stdout.splitlines()
    figures = [re.fullmatch(r"managed (\d+) resident (\d+)", line) for line in (lines[0], lines[-1])]
    managed = STATIC_MIB * MIB if kind == "plain" else 0
    for figure in figures:
        assert managed - 64 * 1024 <= int(figure.group(1)) <= managed + 64 * 1024  # a chunk of small allocations
        assert figure.group(1) == figure.group(2)


def test_what_a_rank_has_not_touched_for_long_is_no_longer_charged(run, job_of, static_arrays):
    lines = run(*job_of(static_arrays("huge"), 2, 2, "4G", "settle", 11)).stdout.splitlines()
    charged_mib = [int(re.match(r"managed (\d+) ", line).group(1)) / MIB for line in (lines[0], lines[-1])]
    assert charged_mib[0] > 1500
    assert charged_mib[1] < 32


@pytest.mark.parametrize("arguments", [("exchange", 1), ("read",)], ids=["in_messages_and_windows", "in_system_calls"])
def test_arrays_as_buffers(run, job_of, plain_mpi, static_arrays, summary, flavour, arguments):
    ranks, program = 3, static_arrays("plain")
    finished = run(*job_of(program, ranks, 1, "96M", *arguments))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), program, *arguments).stdout
    assert summary()["unloaded_bytes"] > 0


def test_small_variables_may_be_written_while_the_rank_sleeps(run, job_of, plain_mpi, static_arrays, summary, flavour):
    ranks, program = 6, static_arrays("plain")
    finished = run(*job_of(program, ranks, 1, "128M", "threads", 3))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), program, "threads", 3).stdout
    assert finished.stdout.splitlines()[-1] == "round 0: 0000000000000000"
    assert summary()["unloaded_bytes"] > 0
