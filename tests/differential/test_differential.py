"""Random programs give the same under Spillway as on plain MPI, whatever slots, budget and delays.

`soak.py` runs more.
"""

import re

import pytest
from soak import SAME, Comparison, job_of, seeds_of

SEEDS = range(1, 19)
STEPS = 20
LIMIT_S = 60


@pytest.fixture
def compare(build_dir):
    return Comparison(build_dir, LIMIT_S)


@pytest.mark.parametrize("seed", SEEDS)
def test_gives_the_same_as_on_plain_mpi(compare, flavour, seed):
    outcome = compare(job_of(seed, STEPS), flavour)
    assert outcome.kind == SAME, (
        f"{outcome.text}\nreplay: tests/differential/soak.py --build {compare.build} --flavour {flavour} --seed {seed} "
        f"--steps {STEPS} --verbose"
    )


def test_seeds_make_different_programs_and_say_so(compare, flavour):
    outputs = {compare.plain(job_of(seed, STEPS), flavour).stdout for seed in (2, 3)}
    assert len(outputs) == 2
    assert all(re.fullmatch(r"(rank \d+ of \d+: [0-9a-f]{16}\n)+", output) for output in outputs)


def test_another_result_is_found_and_its_step_named(build_dir, flavour, monkeypatch):
    """One rank of the job under Spillway is given a digest of its own, from the third step on."""
    verbose = Comparison(build_dir, LIMIT_S, is_verbose=True)
    under_spillway = Comparison.under_spillway

    def altered(self, job, flavour, summary):
        ended = under_spillway(self, job, flavour, summary)
        ended.stderr = re.sub(r"(?m)^(trace rank 0 step (?:[4-9]|\d\d) digest )", r"\g<1>9", ended.stderr)
        ended.stdout = ended.stdout.replace("rank 0 of", "rank 0 OF")
        return ended

    monkeypatch.setattr(Comparison, "under_spillway", altered)
    outcome = verbose(job_of(2, STEPS), flavour)
    assert outcome.kind == "different results"
    assert re.search(r"rank 0: step 3 \(.*\) ends differently", outcome.text), outcome.text
    assert "rank 1: step" not in outcome.text


def test_a_program_that_hangs_is_told_from_one_that_fails(build_dir, flavour):
    hurried = Comparison(build_dir, limit_s=0.01, is_verbose=True)
    assert hurried(job_of(2, STEPS), flavour).kind == "plain MPI hangs"
    unlimited = Comparison(build_dir, LIMIT_S)
    assert unlimited.failed(unlimited.run(["false"]), "Spillway").kind == "Spillway ends with status 1"


def test_lists_of_seeds():
    assert list(seeds_of("3-5,9")) == [3, 4, 5, 9]
