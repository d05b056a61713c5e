"""The command line of `spillway`, the plan and its defaults."""

import os
import resource
import shutil
import subprocess

import pytest
from spillway_front_end.command_line import parse_run_options
from spillway_front_end.errors import LaunchError
from spillway_front_end.plan import RunOptions


def test_options_of_the_program_stay_with_the_program():
    options = parse_run_options(["run", "-n", "4", "--memory", "2G", "./app", "-n", "9", "--slots", "x", "--", "y"])
    assert options == RunOptions(program=["./app", "-n", "9", "--slots", "x", "--", "y"], ranks=4, memory="2G")


def test_two_hyphens_end_the_options():
    assert parse_run_options(["run", "--slots", "2", "--", "-odd-name", "z"]).program == ["-odd-name", "z"]


def test_all_options():
    words = "run -n 3 --slots 2 --memory 1G --spill-dir d --spill-dir e --ranks-per-node 3 --hosts a,b --mpi mpich"
    words += " --hostfile h --placement cyclic --address 10.0.0.1 --racks r --broadcasts w"
    words += " --summary json --summary-file f --strategy lrlw --no-checksums --detect-deadlock --dry-run app"
    assert parse_run_options(words.split()) == RunOptions(
        program=["app"],
        ranks=3,
        slots=2,
        memory="1G",
        spill_dirs=("d", "e"),
        ranks_per_node=3,
        hosts="a,b",
        hostfile="h",
        placement="cyclic",
        address="10.0.0.1",
        racks="r",
        broadcasts="w",
        mpi="mpich",
        summary="json",
        summary_file="f",
        strategy="lrlw",
        checksums=False,
        detect_deadlock=True,
        dry_run=True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--slotz", "2", "app"], "unknown option --slotz"),
        (["run", "--slotz=2", "app"], "unknown option --slotz"),
        (["run", "-x", "app"], "unknown option -x"),
        (["run"], "no program"),
        (["run", "-n", "4"], "no program"),
        (["run", "-n", "many", "app"], "^`many` is not a whole number"),
        (["run", "-n"], "^-n/--ranks: expected one argument"),
        (["run", "--mpi", "lam", "app"], "^--mpi: `lam` is not mpich or openmpi"),
        (["run", "--strategy", "lru", "app"], "^--strategy: invalid choice: 'lru'"),
        (["run", "--summary", "none", "--summary-file", "f", "app"], "--summary none leaves nothing to write"),
        (["run", "--slo", "2", "app"], "unknown option --slo"),
        (["walk"], "invalid choice"),
        (["--foo"], "unknown option --foo"),
    ],
)
def test_mistakes_are_named(words, message):
    with pytest.raises(LaunchError, match=message):
        parse_run_options(words)


def test_probable_option_is_offered():
    with pytest.raises(LaunchError) as refusal:
        parse_run_options(["run", "--memroy", "2G", "app"])
    assert "did you mean --memory?" in refusal.value.remedy


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]])
def test_help_defines_words_and_shows_an_example(run, spillway, words):
    text = run(spillway, *words).stdout
    for word in ("rank", "slot", "budget", "spill", "spillway run -n"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120


def test_help_of_run_names_variables_statuses_and_failures(run, spillway):
    text = run(spillway, "run", "--help", env={"COLUMNS": "100"}).stdout
    for word in ("environment:", "TMPDIR", "exit status:", "128 + s", "failures:", "--detect-deadlock", "80%"):
        assert word in text


def test_version_and_bare_command(run, spillway):
    assert run(spillway, "--version").stdout.startswith("Spillway 0.")
    assert "commands:" in run(spillway, status=2).stderr


@pytest.fixture
def program(build_dir, flavour):
    return build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"


def test_dry_run_shows_the_plan_and_starts_nothing(run, spillway, spill_dir, program, flavour):
    options = ["-n", 64, "--slots", 2, "--memory", "1G", "--spill-dir", spill_dir, "--dry-run"]
    text = run(spillway, "run", *options, program, "sigkill").stdout
    lines = {line[:16].strip(): line[17:] for line in text.splitlines()}
    assert lines["ranks"].startswith("64 ") and lines["slots"].startswith("2 ")
    assert lines["memory budget"].startswith("1.00 GiB  (asked for)")
    assert {"mpich": "MPICH", "openmpi": "Open MPI"}[flavour] in lines["MPI library"]
    assert str(spill_dir) in lines["spill directory"] and "free" in lines["spill directory"]
    assert f"spillway-rank {program} sigkill" in lines["command"]


def settings_shown(run, spillway, spill_dir, program, **environment):
    options = ["-n", 2, "--memory", "1G", "--spill-dir", spill_dir, "--dry-run"]
    text = run(spillway, "run", *options, program, env=environment).stdout
    return next(line for line in text.splitlines() if line.startswith("MPI settings")).split()[2:]


def test_mpi_library_is_told_to_take_little_memory_unless_the_user_decides(run, spillway, spill_dir, program, flavour):
    setting = "UCX_POSIX_FIFO_SIZE=32"
    shown = settings_shown(run, spillway, spill_dir, program)
    assert (setting in shown) == (flavour == "mpich")
    by_user = settings_shown(run, spillway, spill_dir, program, UCX_POSIX_FIFO_SIZE="256")
    assert by_user == [other for other in shown if other != setting]


def test_defaults_come_from_the_machine(run, spillway, spill_dir, program):
    text = run(spillway, "run", "--spill-dir", spill_dir, "--dry-run", program).stdout
    lines = {line[:16].strip(): line[17:] for line in text.splitlines()}
    assert int(lines["slots"].split()[0]) <= len(os.sched_getaffinity(0))
    assert lines["ranks"].split()[0] == lines["slots"].split()[0]
    assert "80% of" in lines["memory budget"]


def test_more_slots_than_ranks_are_as_many_as_ranks(run, spillway, spill_dir, program):
    options = ["-n", 2, "--slots", 7, "--memory", "1G", "--spill-dir", spill_dir, "--dry-run"]
    assert "slots            2  (as many as ranks)" in run(spillway, "run", *options, program).stdout


@pytest.mark.parametrize("ranks_per_node", [1, 7])
def test_ranks_per_node_says_how_many_ranks_where_nothing_else_does(run, spillway, spill_dir, program, ranks_per_node):
    options = ["--ranks-per-node", ranks_per_node, "--memory", "1G", "--spill-dir", spill_dir, "--dry-run"]
    assert f"ranks            {ranks_per_node}  (as --ranks-per-node)" in run(spillway, "run", *options, program).stdout


def test_own_names_are_accepted_as_hosts(run, spillway, spill_dir, program):
    options = ["-n", 2, "--hosts", f"localhost,{os.uname().nodename}", "--ranks-per-node", 2, "--memory", "1G"]
    run(spillway, "run", *options, "--spill-dir", spill_dir, "--dry-run", program)


def test_works_through_a_link_and_after_a_move(run, build_dir, spill_dir, program, flavour, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(build_dir / "bin", moved / "bin")
    shutil.copytree(build_dir / "lib" / "spillway", moved / "lib" / "spillway")
    (tmp_path / "link").symlink_to(moved / "bin" / "spillway")
    options = ["-n", 2, "--memory", "1G", "--spill-dir", spill_dir, "--dry-run"]
    text = run(tmp_path / "link", "run", *options, program).stdout
    assert f"{moved}/lib/spillway/libspillway-{flavour}.so" in text


def test_starts_fast(spillway):
    # In processor time: the machine may have other work.
    def processor_time():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once():
        begin = processor_time()
        subprocess.run([str(spillway), "--version"], check=True, capture_output=True)
        return processor_time() - begin

    assert min(once() for _ in range(10)) < 0.1
