"""Programs that a shell starts, or that load MPI late: the preloaded library stays out of processes without MPI."""

import json
import re
import shutil

import pytest
from spillway_front_end.mpi_library import family_of, mpi_functions_in

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


def test_process_without_mpi_runs_with_the_library_preloaded(run, build_dir, flavour):
    library = build_dir / "lib" / "spillway" / f"libspillway-{flavour}.so"
    assert library.is_file()
    finished = run("/bin/sh", "-c", "echo said", env={"LD_PRELOAD": str(library)})
    assert finished.stdout == "said\n" and finished.stderr == ""


def test_program_started_by_a_shell(run, spillway, spill_dir, phases, plain_mpi, flavour):
    arguments = f"{phases(flavour)} sweep 8 2"
    options = [
        "-n",
        3,
        "--slots",
        1,
        "--memory",
        "64M",
        "--spill-dir",
        spill_dir,
        "--mpi",
        flavour,
        "--summary",
        "none",
    ]
    under_spillway = run(spillway, "run", *options, "--", "/bin/sh", "-c", f"{arguments}; exit $?")
    plain = run(*plain_mpi(flavour, 3), *arguments.split())
    rounds = re.compile(r"^round .*", re.MULTILINE)
    assert rounds.findall(under_spillway.stdout) == rounds.findall(plain.stdout) != []


@pytest.fixture
def wrapped_job(spillway, spill_dir, tmp_path, phases, flavour):
    """3 ranks of 24 MiB in one slot, started by a shell that runs `before` first; two spill directories."""
    other_dir = tmp_path / "other"
    other_dir.mkdir()

    def command(before):
        options = ["-n", 3, "--slots", 1, "--memory", "48M", "--spill-dir", spill_dir, "--spill-dir", other_dir]
        options += ["--mpi", flavour, "--summary", "json", "--summary-file", tmp_path / "summary"]
        return [spillway, "run", *options, "--", "/bin/sh", "-c", f"{before}; {phases(flavour)} sweep 24 2; exit $?"]

    return command


def test_spill_directories_are_the_job_s_whatever_a_wrapper_sets(
    run, wrapped_job, plain_mpi, phases, flavour, tmp_path
):
    finished = run(*wrapped_job(f"export SPILLWAY_SPILL_DIR={tmp_path}/not-there"))
    rounds = re.compile(r"^round .*", re.MULTILINE)
    plain = run(*plain_mpi(flavour, 3), phases(flavour), "sweep", 24, 2)
    assert rounds.findall(finished.stdout) == rounds.findall(plain.stdout) != []
    assert json.loads((tmp_path / "summary").read_text())["totals"]["unloaded_bytes"] > 0


def test_ranks_may_fork_and_their_children_may_too(run, job, flavour):
    finished = run(*job(flavour, 2, 1, "64M", "fork", 8))
    assert finished.stdout == "round 0: 0000000000000000\n"  # no child failed


def test_program_without_spillway_run_is_left_alone(run, build_dir, phases, plain_mpi, flavour):
    library = build_dir / "lib" / "spillway" / f"libspillway-{flavour}.so"
    command = [*plain_mpi(flavour, 2), "env", f"LD_PRELOAD={library}", phases(flavour), "sweep", 4, 1]
    assert "round 1" in run(*command).stdout


def test_mpi_library_of_the_other_family_is_refused_when_it_is_loaded(
    run, build_dir, spillway, spill_dir, phases, flavour
):
    other = {"mpich": "openmpi", "openmpi": "mpich"}[flavour]
    if not (build_dir / "lib" / "spillway" / f"libspillway-{other}.so").exists():
        pytest.skip(f"this build has {flavour} alone")
    options = ["-n", 2, "--memory", "64M", "--spill-dir", spill_dir, "--mpi", other, "--summary", "none"]
    finished = run(spillway, "run", *options, "--", "/bin/sh", "-c", f"{phases(flavour)} sweep 8 2; exit $?", status=1)
    assert re.search(r"the program has loaded \S+/libmpi\S+, but this job was started for", finished.stderr)
    assert f"--mpi {flavour}" in finished.stderr


def test_version_with_functions_that_spillway_was_not_built_for_is_refused(
    run, build_dir, spill_dir, tmp_path, other_flavour
):
    """An installation that was built for the system's version alone."""
    built, installed = build_dir / "lib" / "spillway", tmp_path / "lib" / "spillway"
    of_system = built / f"libspillway-{family_of(other_flavour)}.so"
    of_program = built / f"libspillway-{other_flavour}.so"
    if not of_system.exists() or mpi_functions_in(str(of_program)) <= mpi_functions_in(str(of_system)):
        pytest.skip(f"the system has no older version than {other_flavour}")
    installed.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(build_dir / "bin" / "spillway", tmp_path / "bin" / "spillway")
    for path in built.iterdir():
        if not path.match("libspillway-*-*.so"):
            (installed / path.name).symlink_to(path)
    options = ["-n", 2, "--memory", "64M", "--spill-dir", spill_dir, "--summary", "none"]
    program = built / "tests" / f"sizes-{other_flavour}"
    finished = run(tmp_path / "bin" / "spillway", "run", *options, "--", program, status=1)
    assert re.search(r"rank \d on host .* that has MPI_\w+, which this build of Spillway would not", finished.stderr)
    assert "SPILLWAY_OTHER_MPICC" in finished.stderr
