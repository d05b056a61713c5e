"""include/spillway/: what a program can ask of Spillway, under several numbers of slots and without it."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

MIB = 1 << 20
INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = ("spillway.h", "nodes.h", "bdmpi.h")


@pytest.fixture
def program(build_dir):
    return lambda flavour: build_dir / "lib" / "spillway" / "tests" / f"requests_to_spillway-{flavour}"


@pytest.fixture
def requests_job(spillway, spill_dir, program):
    def command(flavour, ranks, slots, *arguments, options=()):
        words = ["-n", ranks, "--slots", slots, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
        return [spillway, "run", *words, *options, "--", program(flavour), *arguments]

    return command


def test_spill_directories_are_told(run, requests_job, spill_dir, tmp_path, flavour):
    finished = run(*requests_job(flavour, 1, 1, "spill_directories", options=["--spill-dir", tmp_path]))
    assert finished.stdout == f"{spill_dir}:{tmp_path}\n"


@pytest.mark.one_node
@pytest.mark.parametrize(("ranks", "slots"), [(1, 1), (4, 1), (4, 2), (6, 6)])
def test_one_rank_is_inside_the_critical_section_at_a_time(run, requests_job, tmp_path, flavour, ranks, slots):
    finished = run(*requests_job(flavour, ranks, slots, "critical", tmp_path / "inside", 20))
    assert finished.stdout == f"entered {ranks * 20} times\n"


@pytest.mark.parametrize("slots", [1, 3])
def test_rank_that_dies_inside_the_critical_section_is_named(run, requests_job, flavour, slots):
    finished = run(*requests_job(flavour, 3, slots, "die_inside"), status=137)
    assert re.search(r"^spillway: rank 2 on host .* was killed .* inside the critical section$", finished.stderr, re.M)


def test_mpi_finalize_leaves_the_critical_section(run, requests_job, flavour):
    finished = run(*requests_job(flavour, 3, 2, "finalize_inside"))
    assert "rank 0 has called MPI_Finalize inside the critical section" in finished.stderr


def test_deadlock_with_the_critical_section_is_found(run, requests_job, flavour):
    finished = run(*requests_job(flavour, 3, 1, "circle", options=["--detect-deadlock"]), status=1)
    assert "rank 1 waits for the critical section" in finished.stderr
    assert "rank 2 waits for the critical section" in finished.stderr


@pytest.mark.parametrize("slots", [1, 2])
def test_memory_that_windows_use_is_kept_and_no_other(run, requests_job, flavour, slots):
    assert run(*requests_job(flavour, 2, slots, "windows")).stdout == "kept\n"


@pytest.mark.parametrize("slots", [1, 2])
def test_ranges_are_unloaded_loaded_and_discarded_on_request(run, requests_job, flavour, slots):
    stdout = run(*requests_job(flavour, 2, slots, "ranges", 16)).stdout
    found = re.fullmatch(r"unloaded (\d+), after discard (\d+)\n", stdout)
    unloaded, after_discard = int(found[1]), int(found[2])
    assert 16 * MIB <= unloaded <= 17 * MIB
    assert after_discard <= 64 << 10  # what lies beside the array


@pytest.mark.parametrize("slots", [1, 2])
def test_what_is_pinned_stays_and_no_more_than_there_is_room_for(run, requests_job, flavour, slots):
    assert run(*requests_job(flavour, 4, slots, "pins", 16)).stdout == "pinned and free again\n"


def test_nothing_is_lost_that_a_thread_writes_beside_a_range_that_is_unloaded(run, requests_job, flavour):
    assert run(*requests_job(flavour, 2, 2, "beside", 20)).stdout == "nothing is lost\n"


def test_nothing_is_unloaded_while_the_mpi_library_uses_memory(run, requests_job, flavour):
    assert run(*requests_job(flavour, 2, 1, "in_use")).stdout == "free again\n"


def test_same_program_without_spillway_is_told_so(run, plain_mpi, program, flavour):
    assert run(*plain_mpi(flavour, 2), program(flavour), "without").stdout == "not under Spillway\n"


@pytest.mark.parametrize("language", [("c", "c99"), ("c++", "c++11")])
def test_headers_compile_alone_without_warnings(build_dir, flavour, language):
    name, standard = language
    include = (build_dir / "mpi_headers" / flavour).read_text().strip().rpartition("/")[0]
    for header in HEADERS:
        words = ["cc", "-x", name, f"-std={standard}", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        words += ["-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX", "-isystem", include, "-I", str(INCLUDE), "-"]
        done = subprocess.run(
            words, input=f"#include <spillway/{header}>\n", text=True, capture_output=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
