"""Programs that a shell starts, or that load MPI late: the preloaded library stays out of processes without MPI."""

import re

import pytest

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


def test_ranks_may_fork_and_their_children_may_too(run, job, flavour):
    finished = run(*job(flavour, 2, 1, "64M", "fork", 8))
    assert finished.stdout == "round 0: 0000000000000000\n"  # no child failed


def test_program_without_spillway_run_is_left_alone(run, build_dir, phases, plain_mpi, flavour):
    library = build_dir / "lib" / "spillway" / f"libspillway-{flavour}.so"
    command = [*plain_mpi(flavour, 2), "env", f"LD_PRELOAD={library}", phases(flavour), "sweep", 4, 1]
    assert "round 1" in run(*command).stdout
