"""Programs that reach MPI through Fortran's bindings or the profiling interface are taken over like those in C."""

import json
from pathlib import Path
from typing import Callable, List

import pytest
from runner import Runner

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

BINDINGS = ["mpif", "mpi", "f08"]


@pytest.fixture
def job(spillway: Path, spill_dir: Path, tmp_path: Path) -> Callable[..., List[object]]:
    def words(ranks: int, slots: int, memory: str, *program: object) -> List[object]:
        options = ["-n", ranks, "--slots", slots, "--memory", memory, "--spill-dir", spill_dir]
        return [spillway, "run", *options, "--summary", "json", "--summary-file", tmp_path / "page", "--", *program]

    return words


@pytest.fixture
def fortran_program(build_dir: Path) -> Callable[[str, str], Path]:
    if "SPILLWAY_FORTRAN_TESTS:BOOL=ON" not in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("no Fortran here: PyPI's MPICH has none (SPILLWAY_FORTRAN_TESTS is off)")
    return lambda binding, flavour: build_dir / "lib" / "spillway" / "tests" / f"fortran-{binding}-{flavour}"


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(("ranks", "slots"), [(1, 1), (2, 2), (4, 1), (5, 2)])
def test_fortran(
    run: Runner,
    job: Callable[..., List[object]],
    plain_mpi: Callable[[str, int], List[str]],
    fortran_program: Callable[[str, str], Path],
    tmp_path: Path,
    flavour: str,
    binding: str,
    ranks: int,
    slots: int,
) -> None:
    program = fortran_program(binding, flavour)
    finished = run(*job(ranks, slots, "256M", program))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), program).stdout
    assert f"checks on each of {ranks} ranks" in finished.stdout
    assert json.loads((tmp_path / "page").read_text())["totals"]["sent_messages"] > 10 * (ranks - 1)


@pytest.mark.one_node
@pytest.mark.parametrize("binding", BINDINGS)
def test_fortran_larger_than_memory(
    run: Runner,
    job: Callable[..., List[object]],
    fortran_program: Callable[[str, str], Path],
    tmp_path: Path,
    flavour: str,
    binding: str,
) -> None:
    run(*job(8, 1, "64M", fortran_program(binding, flavour), 20))
    totals = json.loads((tmp_path / "page").read_text())["totals"]
    assert totals["unloaded_bytes"] > (8 * 20 - 64) << 20


@pytest.mark.one_node
def test_static_arrays_of_fortran_larger_than_memory(
    run: Runner,
    job: Callable[..., List[object]],
    plain_mpi: Callable[[str, int], List[str]],
    fortran_program: Callable[[str, str], Path],
    tmp_path: Path,
    flavour: str,
) -> None:
    ranks, static_mib, budget_mib = 8, 30, 80
    program = fortran_program("static-arrays", flavour)
    finished = run(*job(ranks, 1, f"{budget_mib}M", program, 4))
    assert finished.stdout == run(*plain_mpi(flavour, ranks), program, 4).stdout
    page = json.loads((tmp_path / "page").read_text())
    assert page["totals"]["unloaded_bytes"] > (ranks * (static_mib - 4) - budget_mib) << 20
    assert page["peak_bytes"] <= budget_mib << 20


@pytest.mark.parametrize("slots", [1, 3])
def test_profiling_tool(
    run: Runner, job: Callable[..., List[object]], build_dir: Path, tmp_path: Path, flavour: str, slots: int
) -> None:
    finished = run(*job(3, slots, "256M", build_dir / "lib" / "spillway" / "tests" / f"profiled-{flavour}"))
    assert finished.stdout == "30 messages sent\n"
    # Under the tool they are Spillway's messages; besides, the reduction takes one for each other rank.
    assert json.loads((tmp_path / "page").read_text())["totals"]["sent_messages"] >= 32
