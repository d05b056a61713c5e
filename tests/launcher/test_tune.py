"""`spillway tune`: rules of broadcasts from measurements."""

import re

import pytest
from spillway_front_end.broadcasts import ALGORITHMS, rules_of
from spillway_front_end.tune import Rule, page_of, rules_of_times


def times(*microseconds):
    return dict(zip(ALGORITHMS, microseconds))


MEASURED = {
    (3, 1024): times(10, 20, 30, 40),
    (3, 4096): times(100, 96, 100, 100),  # no more than noise
    (3, 16384): times(100, 50, 90, 90),
    (6, 1024): times(10, 20, 30, 40),
    (6, 4096): times(90, 90, 40, 90),
    (6, 16384): times(90, 90, 40, 30),
}


def test_rules_choose_the_fastest_and_the_simpler_of_equals():
    assert rules_of_times(MEASURED) == [
        Rule("2", "any", "flat"),
        Rule("3", "4096", "flat"),
        Rule("3", "any", "binomial"),
        Rule("any", "1024", "flat"),
        Rule("any", "4096", "chain"),
        Rule("any", "any", "scatter-allgather"),
    ]


def test_the_page_is_a_file_of_rules(tmp_path):
    (tmp_path / "rules").write_text(page_of(MEASURED, "spillway tune"))
    assert rules_of(str(tmp_path / "rules")).startswith(f"6 2 {2**64 - 1} flat 3 4096 flat 3 {2**64 - 1} binomial ")


def tune(run, spillway, output, *options, **how):
    return run(spillway, "tune", "--virtual-nodes", 3, "--memory", "64M", "--output", output, *options, **how)


def test_every_algorithm_is_measured_and_the_rules_can_be_used(run, spillway, tmp_path, build_dir, flavour):
    output = tmp_path / "rules"
    page = tune(run, spillway, output, "--most", "16K", "--mpi", flavour).stdout
    assert output.read_text() == page
    rows = [line.split() for line in page.splitlines() if re.match(r"# +\d+ +\d+ ", line)]
    assert [row[1:3] for row in rows] == [["3", "1024"], ["3", "4096"], ["3", "16384"]]
    assert all(float(time) > 0 for row in rows for time in row[3:])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rules"]
    program = build_dir / "lib" / "spillway" / "tune" / f"broadcast-times-{flavour}"
    options = ["-n", 3, "--ranks-per-node", 1, "--memory", "64M", "--broadcasts", output]
    assert run(spillway, "run", *options, program, 1024).stdout.startswith("3 1024 ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--virtual-nodes", "2"], "nothing to choose between 2 nodes"),
        (["--hosts", "a"], "--virtual-nodes are of this machine alone"),
        (["--mpi", "lam"], "has no .*broadcast-times-lam"),
        (["--most", "12"], "nothing was measured"),
        (["--most", "x"], "`x` is not a size"),
        (["--racks", "r"], "--racks is for jobs on several"),
        (["--memory", "1"], "the job that measured `flat` has failed"),
    ],
)
def test_mistakes_are_named_and_what_was_there_stays(run, spillway, tmp_path, options, message):
    output = tmp_path / "rules"
    output.write_text("any any flat\n")
    assert re.search(message, tune(run, spillway, output, *options, status=2).stderr)
    assert output.read_text() == "any any flat\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rules"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "it is not said what to measure"),
        (["--racks-output", "new", "--racks", "old"], "--racks says what --racks-output is to find out"),
        (["--racks-output", "new", "--virtual-nodes", "3"], "--virtual-nodes are all on this machine"),
        (["--racks-output", "new", "--output", "./new"], "name the same file"),
        (["--racks-output", "new", "--hosts", "127.0.0.1"], "nothing to choose between 1 nodes"),
        (["--racks-output", "new", "--hosts", "a,b", "--address", "10.0.0.1"], "nothing to choose between 2 nodes"),
        (["--racks-output", "none/new", "--output", "rules"], "cannot write the racks to none/new: No such file"),
        (["--racks-output", "new", "--output", "."], "cannot write the rules to .: Is a directory"),
    ],
)
def test_what_cannot_be_asked_for_is_named_and_nothing_is_written(run, spillway, tmp_path, options, message):
    text = run(spillway, "tune", *options, status=2, cwd=tmp_path).stderr
    assert text.startswith("spillway: ") and message in text and "\n  Remedy: " in text and "measuring" not in text
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(run, spillway, tmp_path):
    text = tune(run, spillway, tmp_path / "none" / "rules", status=2).stderr
    assert text.startswith("spillway: cannot write the rules to ") and "measuring" not in text
