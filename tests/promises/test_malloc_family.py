"""The functions of the malloc family keep the C library's promises, in core and out of core."""

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


@pytest.mark.parametrize(("ranks", "slots", "memory"), [(1, 1, "1G"), (3, 1, "64M"), (4, 2, "64M")])
def test_keeps_the_c_librarys_promises(run, spillway, spill_dir, build_dir, flavour, ranks, slots, memory):
    program = build_dir / "lib" / "spillway" / "tests" / f"malloc_family-{flavour}"
    options = ["-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir, "--summary", "none"]
    assert run(spillway, "run", *options, "--", program).stdout == "done\n"


def test_keeps_them_in_a_program_that_is_linked_with_another_allocator(run, spillway, spill_dir, build_dir, flavour):
    program = build_dir / "lib" / "spillway" / "tests" / f"malloc_family_beside-{flavour}"
    options = ["-n", 2, "--memory", "64M", "--spill-dir", spill_dir, "--summary", "none"]
    assert run(spillway, "run", *options, "--", program).stdout == "done\n"


def test_the_checks_hold_for_the_c_library_itself(run, build_dir, plain_mpi, flavour):
    program = build_dir / "lib" / "spillway" / "tests" / f"malloc_family-{flavour}"
    assert run(*plain_mpi(flavour, 1), program).stdout == "done\n"
