"""`--strategy`: the same results with each, and what each moves."""

import pytest

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20


@pytest.fixture
def strategy_job(job):
    def command(strategy, flavour, ranks, slots, memory, *arguments):
        words = job(flavour, ranks, slots, memory, *arguments)
        at = words.index("--")
        return [*words[:at], "--strategy", strategy, *words[at:]]

    return command


@pytest.fixture(scope="module")
def known_results():
    return {}


@pytest.fixture
def plain_results(run, plain_mpi, phases, known_results):
    """plain_results(flavour, ranks, *arguments): what plain MPI prints, run once. MPICH's ranks spin: few of them."""

    def results(flavour, ranks, *arguments):
        key = (flavour, ranks, *arguments)
        if key not in known_results:
            words = (*plain_mpi(flavour, ranks), phases(flavour), *arguments)
            known_results[key] = run(*words, timeout_s=180).stdout
        return known_results[key]

    return results


@pytest.mark.parametrize(("strategy", "slots"), [("araw", 1), ("arlw", 1), ("lrlw", 2), ("auto", 1), ("auto", 2)])
@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [(8, ("sweep", 12, 6)), (6, ("compute", 12, 2)), (8, ("window", 12, 3)), (4, ("receive", 12, 3))],
    ids=str,
)
def test_results_are_those_of_plain_mpi(run, strategy_job, plain_results, flavour, strategy, slots, ranks, arguments):
    finished = run(*strategy_job(strategy, flavour, ranks, slots, "50M", *arguments))
    assert finished.stdout == plain_results(flavour, ranks, *arguments)


def test_aggressive_writing_unloads_whoever_blocks(run, strategy_job, summary, flavour):
    run(*strategy_job("araw", flavour, 4, 1, "512M", "sweep", 16, 3))
    assert summary()["unloaded_bytes"] >= 3 * 16 * MIB


@pytest.mark.parametrize("strategy", ["arlw", "lrlw", "auto"])
def test_lazy_writing_unloads_nothing_that_fits(run, strategy_job, summary, flavour, strategy):
    run(*strategy_job(strategy, flavour, 4, 1, "512M", "sweep", 16, 3))
    assert summary()["unloaded_bytes"] == 0


@pytest.mark.parametrize("strategy", ["araw", "arlw", "lrlw", "auto"])
def test_clean_memory_is_never_written_twice(run, strategy_job, summary, flavour, strategy):
    ranks, mib = 8, 16
    run(*strategy_job(strategy, flavour, ranks, 1, "40M", "read", mib, 5))
    assert summary()["unloaded_bytes"] <= ranks * (mib + 1) * MIB


def test_sums_in_place_keep_what_they_are_made_of(run, strategy_job, flavour):
    finished = run(*strategy_job("auto", flavour, 4, 1, "96M", "reduce", 16, 3))
    assert finished.stdout.count(f": {0:016x}\n") == 3


def test_what_is_received_anew_is_neither_written_nor_read(run, strategy_job, plain_results, summary, flavour):
    ranks, mib, rounds = 8, 16, 6
    arguments = ("broadcast", mib, rounds)
    finished = run(*strategy_job("auto", flavour, ranks, 1, "64M", *arguments))
    assert finished.stdout == plain_results(flavour, ranks, *arguments)
    # Of rank 0, what it sends next is made of what it has sent.
    assert summary()["loaded_bytes"] <= rounds * mib * MIB
    assert summary()["unloaded_bytes"] <= (rounds + 1) * mib * MIB
    assert summary()["unloads"] >= rounds * (ranks - 4)
