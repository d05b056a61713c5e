"""The functions of pgas.h: right on one node, on virtual nodes, under the MPI library alone; mistakes are named."""

import re
from pathlib import Path
from typing import Callable, List

import pytest
from runner import Runner

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

SOURCE = Path(__file__).resolve().parents[2]
LIMIT_S = 60


@pytest.fixture
def program(build_dir: Path, flavour: str) -> Callable[[str], Path]:
    return lambda name: build_dir / "lib" / "spillway" / "tests" / f"pgas-{name}-{flavour}"


@pytest.fixture
def job(spillway: Path, spill_dir: Path, program: Callable[[str], Path]) -> Callable[..., List[object]]:
    def words(name: str, ranks: int, slots: int, *options: object) -> List[object]:
        own = ["-n", ranks, "--slots", slots, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
        return [spillway, "run", *own, *options, "--", program(name)]

    return words


@pytest.mark.parametrize("ranks", [1, 2])
def test_calls_under_the_mpi_library_alone(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str, ranks: int
) -> None:
    assert re.match(r"\d{3,} checks", run(*plain_mpi(flavour, ranks), program("calls"), timeout_s=LIMIT_S).stdout)


@pytest.mark.parametrize(("ranks", "slots"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_calls_under_spillway(
    run: Runner,
    job: Callable[..., List[object]],
    plain_mpi: Callable,
    program: Callable[[str], Path],
    flavour: str,
    ranks: int,
    slots: int,
) -> None:
    """As many checks as under the MPI library alone, which with more ranks than cores spins for seconds."""
    finished = run(*job("calls", ranks, slots), timeout_s=LIMIT_S)
    assert re.match(r"\d{3,} checks", finished.stdout)
    if ranks <= 2:
        assert finished.stdout == run(*plain_mpi(flavour, ranks), program("calls"), timeout_s=LIMIT_S).stdout


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(2, 1), (5, 2)])
def test_calls_on_virtual_nodes(run: Runner, job: Callable[..., List[object]], ranks: int, ranks_per_node: int) -> None:
    finished = run(*job("calls", ranks, 1, "--ranks-per-node", ranks_per_node), timeout_s=LIMIT_S)
    assert re.match(r"\d{3,} checks", finished.stdout)


MISTAKES = {
    "before": r"pgas_barrier_all\(\): called before pgas_init\(\) or after pgas_finalize\(\)",
    "twice": r"pgas_init\(\): called twice",
    "sizes": r"pgas_malloc\(\): allocates \d+ bytes, and other PEs from 8 to 16",
    "alignment": r"pgas_align\(\): an alignment of 24 is no power of two up to 4096",
    "pe": r"rank 2 of 3 on \S+: pgas_putmem\(\): there is no PE 3\n  Remedy: PEs are 0 to 2",
    "address": r"rank 2 of 3 on \S+: pgas_putmem\(\): 8 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "end": r"rank 2 of 3 on \S+: pgas_getmem\(\): 1073741824 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "border": r"rank 2 of 3 on \S+: pgas_atomic\(\): a value of 8 bytes does not begin on a multiple of that",
    "comparison": r"rank 2 of 3 on \S+: pgas_signal_wait_until\(\): comparison 7 does not exist",
    "signal": r"rank 2 of 3 on \S+: pgas_putmem_signal\(\): signal operation 0 does not exist",
    "free": r"pgas_free\(\): frees what has not been allocated, or has been freed before",
}


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("nodes", [[], ["--ranks-per-node", 1]], ids=["node", "nodes"])
@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_ends_the_job_and_is_named(
    run: Runner, job: Callable[..., List[object]], mistake: str, nodes: List[object]
) -> None:
    finished = run(*job("mistakes", 3, 1, *nodes), mistake, status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert re.search(rf"^pgas: .*{MISTAKES[mistake]}", finished.stderr, re.M), finished.stderr


@pytest.mark.parametrize("nodes", [[], ["--ranks-per-node", 1]], ids=["node", "nodes"])
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_pe_that_ends_ends_those_that_wait(
    run: Runner, job: Callable[..., List[object]], end: str, nodes: List[object]
) -> None:
    finished = run(*job("mistakes", 3, 1, *nodes), end, status=None, timeout_s=LIMIT_S)
    assert finished.status == 7 if end == "exit" else finished.status not in (0, None)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("size", ["100T", "much"])
def test_wrong_size_of_the_heap(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str, size: str
) -> None:
    words = [*plain_mpi(flavour, 2), program("calls")]
    finished = run(*words, env={"PGAS_SYMMETRIC_SIZE": size}, status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert f"PGAS_SYMMETRIC_SIZE={size} is no size from 64K to 64T" in finished.stderr


def test_size_of_the_heap(run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str) -> None:
    words = [*plain_mpi(flavour, 2), program("calls")]
    run(*words, env={"PGAS_SYMMETRIC_SIZE": "4M"}, timeout_s=LIMIT_S)


def test_a_heap_larger_than_shared_memory_is_refused(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str
) -> None:
    words = [*plain_mpi(flavour, 2), program("calls")]
    finished = run(*words, env={"PGAS_SYMMETRIC_SIZE": "32T"}, status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    cause = r"the host's 2 PEs, \d+ KiB each, do not fit into /dev/shm, which has \d+ KiB left"
    assert re.search(cause, finished.stderr), finished.stderr


@pytest.mark.parametrize(("name", "standard"), [("c", "c99"), ("c", "c11"), ("c++", "c++11")])
def test_header_needs_no_more_than_the_language(run: Runner, tmp_path: Path, name: str, standard: str) -> None:
    source = tmp_path / "source"
    source.write_text("#include <spillway/pgas.h>\nint main(void) { return pgas_my_pe(); }\n")
    words = ["cc", "-x", name, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run(*words, "-I", SOURCE / "include", source)
