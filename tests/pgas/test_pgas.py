"""The functions of pgas.h and pgas.hpp: right on one node, on virtual nodes, under the MPI library alone; mistakes are
named.

Virtual nodes are PEs of this machine that pgas lets reach each other by MPI's one-sided operations only.
"""

import re
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from runner import Runner

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

SOURCE = Path(__file__).resolve().parents[2]
LIMIT_S = 60
CONTENTION_LIMIT_S = 150  # on a busy machine each addition waits for two processes to run
MIB = 1 << 20
PROGRAMS = Path(__file__).resolve().parent / "programs"
MIXED_ROUNDS = (40, 600)  # among virtual nodes, and on one
# PEs and PEs per node.
ON_NODES = pytest.mark.parametrize(("ranks", "ranks_per_node"), [(2, 1), (5, 2)])


def apart(pes_per_node: int) -> Dict[str, str]:
    """Environment of PEs on virtual nodes."""
    return {"PGAS_PES_PER_NODE": str(pes_per_node), "OMPI_MCA_osc": "^rdma"}


# Makes MPI_Init() a call of MPI_Init_thread(), with which PEs of several nodes have a thread for progress.
THREADS = {"MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE", "OMPI_MPI_THREAD_LEVEL": "3"}


@pytest.fixture
def program(build_dir: Path, flavour: str) -> Callable[[str], Path]:
    return lambda name: build_dir / "lib" / "spillway" / "tests" / f"pgas-{name}-{flavour}"


@pytest.fixture
def job(spillway: Path, spill_dir: Path, program: Callable[[str], Path]) -> Callable[..., List[object]]:
    def words(name: str, ranks: int, slots: int, *options: object) -> List[object]:
        own = ["-n", ranks, "--slots", slots, "--memory", "256M", "--spill-dir", spill_dir, "--summary", "none"]
        return [spillway, "run", *own, *options, "--", program(name)]

    return words


@pytest.mark.parametrize("ranks", [1, 2, 3])
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
    """As many checks as under the MPI library alone."""
    plain = run(*plain_mpi(flavour, ranks), program("calls"), timeout_s=LIMIT_S).stdout
    assert run(*job("calls", ranks, slots), timeout_s=LIMIT_S).stdout == plain


@ON_NODES
def test_calls_on_virtual_nodes(run: Runner, job: Callable[..., List[object]], ranks: int, ranks_per_node: int) -> None:
    words = job("calls", ranks, 1, "--ranks-per-node", ranks_per_node)
    finished = run(*words, env=apart(ranks_per_node), timeout_s=LIMIT_S)
    assert re.match(r"\d{3,} checks", finished.stdout)


@pytest.mark.parametrize("threads", [{}, THREADS], ids=["one-thread", "threads"])
def test_calls_on_virtual_nodes_under_the_mpi_library_alone(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str, threads: Dict[str, str]
) -> None:
    environment = {**apart(1), **threads}
    finished = run(*plain_mpi(flavour, 2), program("calls"), env=environment, timeout_s=LIMIT_S)
    assert re.match(r"\d{3,} checks", finished.stdout)


def test_spillway_nodes_of_a_host_share_memory(run: Runner, job: Callable[..., List[object]]) -> None:
    """Without PGAS_PES_PER_NODE, a host is a node for pgas, however Spillway divides it."""
    run(*job("calls", 2, 1, "--ranks-per-node", 1), timeout_s=LIMIT_S)


@pytest.mark.parametrize("name", ["typed_calls", "mixed_atomics"])
@ON_NODES
def test_other_programs_on_virtual_nodes(
    run: Runner, job: Callable[..., List[object]], name: str, ranks: int, ranks_per_node: int
) -> None:
    words = job(name, ranks, 1, "--ranks-per-node", ranks_per_node)
    finished = run(*words, MIXED_ROUNDS[0], env=apart(ranks_per_node), timeout_s=LIMIT_S)
    assert re.match(r"\d{2,} checks", finished.stdout)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("name", ["calls", "typed_calls", "mixed_atomics"])
@ON_NODES
def test_programs_beside_the_thread_for_progress(
    run: Runner, job: Callable[..., List[object]], name: str, ranks: int, ranks_per_node: int
) -> None:
    words = job(name, ranks, 1, "--ranks-per-node", ranks_per_node)
    finished = run(*words, MIXED_ROUNDS[0], env={**apart(ranks_per_node), **THREADS}, timeout_s=LIMIT_S)
    assert re.match(r"\d{2,} checks", finished.stdout)


@pytest.mark.parametrize("name", ["typed_calls", "mixed_atomics"])
def test_other_programs_wherever_the_nodes_are(run: Runner, job: Callable[..., List[object]], name: str) -> None:
    """With `--bed hosts`, on hosts of a network."""
    assert re.match(r"\d{2,} checks", run(*job(name, 3, 1), 20, timeout_s=LIMIT_S).stdout)


@pytest.mark.one_node
@pytest.mark.parametrize("name", ["typed_calls", "mixed_atomics"])
def test_other_programs_on_a_node(run: Runner, job: Callable[..., List[object]], name: str) -> None:
    finished = run(*job(name, 4, 2), MIXED_ROUNDS[1], timeout_s=LIMIT_S)
    assert re.match(r"\d{2,} checks", finished.stdout)


@pytest.mark.parametrize("name", ["typed_calls", "mixed_atomics"])
def test_other_programs_under_the_mpi_library_alone(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str, name: str
) -> None:
    words = [*plain_mpi(flavour, 2), program(name), MIXED_ROUNDS[1]]
    assert re.match(r"\d{2,} checks", run(*words, timeout_s=LIMIT_S).stdout)


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(2, 1), (3, 2)])
def test_nonblocking_put_with_signal_does_not_wait_for_the_other_side(
    run: Runner, job: Callable[..., List[object]], tmp_path: Path, ranks: int, ranks_per_node: int
) -> None:
    words = job("nonblocking", ranks, 1, "--ranks-per-node", ranks_per_node)
    run(*words, tmp_path / "is_back", env=apart(ranks_per_node), timeout_s=LIMIT_S)


def test_nonblocking_put_with_signal_wherever_the_nodes_are(
    run: Runner, job: Callable[..., List[object]], tmp_path: Path
) -> None:
    run(*job("nonblocking", 2, 2), tmp_path / "is_back", timeout_s=LIMIT_S)


@pytest.mark.parametrize(("ranks", "pes_per_node"), [(2, 1), (4, 2)])
def test_who_computes_keeps_nobody_waiting(
    run: Runner,
    plain_mpi: Callable,
    program: Callable[[str], Path],
    flavour: str,
    tmp_path: Path,
    ranks: int,
    pes_per_node: int,
) -> None:
    words = [*plain_mpi(flavour, ranks), program("progress"), tmp_path / "file"]
    assert re.match(r"\d+ checks", run(*words, env=apart(pes_per_node), timeout_s=CONTENTION_LIMIT_S).stdout)


def test_who_computes_in_a_slot_keeps_nobody_waiting(
    run: Runner, job: Callable[..., List[object]], tmp_path: Path
) -> None:
    words = job("progress", 2, 2, "--ranks-per-node", 1)
    assert re.match(r"\d+ checks", run(*words, tmp_path / "file", env=apart(1), timeout_s=CONTENTION_LIMIT_S).stdout)


@pytest.mark.parametrize(("ranks", "pes_per_node"), [(2, 1), (4, 2)])
def test_who_is_far_away_changes_a_number_that_is_changed_all_the_time(
    run: Runner, job: Callable[..., List[object]], ranks: int, pes_per_node: int
) -> None:
    words = job("contention", ranks, ranks)
    finished = run(*words, 50, env=apart(pes_per_node), timeout_s=CONTENTION_LIMIT_S)
    assert re.match(r"\d+ checks", finished.stdout)


def test_a_turn_is_seen_also_by_who_changes_numbers_of_several_pes(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str
) -> None:
    run(*plain_mpi(flavour, 3), program("turns"), env=apart(1), timeout_s=LIMIT_S)


@pytest.mark.parametrize("pes_per_node", [1, 2])
@pytest.mark.parametrize(("name", "size"), [("large", 16 * MIB), ("pieces", MIB), ("pieces", 3 * MIB)])
def test_what_is_large_is_put_and_got_whole(
    run: Runner,
    plain_mpi: Callable,
    program: Callable[[str], Path],
    flavour: str,
    pes_per_node: int,
    name: str,
    size: int,
) -> None:
    """Also what is more than one call of MPI takes, which in `pieces` is 1 MiB."""
    words = [*plain_mpi(flavour, 2), program(name), size - 8, size, size + 8]
    finished = run(*words, env=apart(pes_per_node), timeout_s=LIMIT_S)
    assert re.match(r"\d+ checks", finished.stdout)


def patterns_of_c_calls() -> Dict[str, str]:
    """Each function of pgas.h, and how the programs of the tests call it; those of each type without the type."""
    text = (SOURCE / "include" / "spillway" / "pgas.h").read_text().replace("\\\n", " ")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    plain = re.findall(r"^[\w ]+\*? (pgas_\w+)\(", text, re.M)
    of_types = re.findall(r"pgas_##name##(_\w+)\(", text)
    of_types = [name for name in of_types if not name.endswith("_word")]  # inner ones, and parts of names
    of_types = [name for name in of_types if not name.startswith("_atomic_fetch_##")]
    for word in re.findall(r"PGAS_DEFINE_FETCHING\(name, type, (\w+), PGAS_", text):
        of_types += [f"_atomic_fetch_{word}", f"_atomic_{word}", f"_atomic_fetch_{word}_nbi"]
    of_many = re.findall(r"pgas_##name##(_\w+)##suffix\(", text)
    of_types += [name + suffix for name in of_many for suffix in ("", "_vector")]
    of_sizes = set(re.findall(r"pgas_(i?(?:put|get))##bits((?:##\w+)?)\(", text))
    # What the functions with types are made of.
    calls = {name: rf"\b{name}\(" for name in plain if not name.endswith("_bytes")}
    calls.update({name: rf"pgas_##name##{name}\b" for name in of_types})
    return {**calls, **{f"{verb}{rest}": rf"pgas_{verb}##bits{rest}\(" for verb, rest in of_sizes}}


def patterns_of_typed_calls() -> Dict[str, str]:
    text = (SOURCE / "include" / "spillway" / "pgas.hpp").read_text()
    before, inner, after = re.split(r"^namespace detail \{$|^\}  // namespace detail$", text, flags=re.M)
    names = re.findall(r"^(?:\[\[nodiscard\]\] )?(?:inline )?\w+\*? (\w+)\(", before + after, re.M)
    return {name: rf"pgas::{name}\(" for name in names}


@pytest.mark.parametrize(
    ("patterns", "programs", "least"),
    [
        (patterns_of_c_calls(), ("calls.cpp", "mistakes.cpp"), 82),
        (patterns_of_typed_calls(), ("typed_calls.cpp",), 25),
    ],
    ids=["c", "typed"],
)
def test_every_function_is_called_by_a_test(patterns: Dict[str, str], programs: List[str], least: int) -> None:
    called = "\n".join((PROGRAMS / name).read_text() for name in programs)
    assert len(patterns) >= least, sorted(patterns)
    assert [name for name, pattern in sorted(patterns.items()) if not re.search(pattern, called)] == []


MISTAKES = {
    "before": r"pgas_barrier_all\(\): called before pgas_init\(\) or after pgas_finalize\(\)",
    "twice": r"pgas_init\(\): called twice",
    "sizes": r"pgas_malloc\(\): allocates \d+ bytes, and other PEs from 8 to 16",
    "alignment": r"pgas_align\(\): an alignment of 24 is no power of two up to 4096",
    "pe": r"rank 2 of 3 on \S+: pgas_putmem\(\): there is no PE 3\n  Remedy: PEs are 0 to 2",
    "address": r"rank 2 of 3 on \S+: pgas_putmem\(\): 8 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "end": r"rank 2 of 3 on \S+: pgas_getmem\(\): 1073741824 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "border": r"rank 2 of 3 on \S+: pgas_atomic_add\(\): a value of 8 bytes does not begin on a multiple of that",
    "full": r"rank 2 of 3 on \S+: pgas_putmem\(\): 8 bytes at NULL are not .*\n  .* set PGAS_SYMMETRIC_SIZE to more",
    "signal-address": r"rank 2 of 3 on \S+: pgas_putmem_signal_nbi\(\): 8 bytes at 0x[0-9a-f]+ are not in the symm",
    "signal-pe": r"rank 2 of 3 on \S+: pgas_putmem_signal_nbi\(\): there is no PE -1\n  Remedy: PEs are 0 to 2",
    "handle": r"rank 2 of 3 on \S+: pgas_put_is_complete\(\): no put with signal has the handle 7\n  Remedy: take what",
    "get-pe": r"rank 2 of 3 on \S+: pgas_getmem_nbi\(\): there is no PE -1\n  Remedy: PEs are 0 to 2",
    "atomic-pe": r"rank 2 of 3 on \S+: pgas_atomic_compare_swap\(\): there is no PE 3\n  Remedy: PEs are 0 to 2",
    "atomic-address": r"rank 2 of 3 on \S+: pgas_atomic_fetch\(\): 8 bytes at 0x[0-9a-f]+ are not in the",
    "wait-address": r"rank 2 of 3 on \S+: pgas_wait_until\(\): 8 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "stride": r"rank 2 of 3 on \S+: pgas_iput\(\): elements at distances of 0 and 1\n  Remedy: take distances of 1",
    "strided-end": r"rank 2 of 3 on \S+: pgas_iget\(\): 8581545992 bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "strided-overflow": r"rank 2 of 3 on \S+: pgas_iget\(\): \d+ bytes at 0x[0-9a-f]+ are not in the symmetric heap",
    "many-places": r"rank 2 of 3 on \S+: pgas_test_\.\.\.\(\): no place for the numbers of those found",
    "many-address": r"rank 2 of 3 on \S+: pgas_wait_until_\.\.\.\(\): 8 bytes at 0x[0-9a-f]+ are not in the symmetric",
    "many-end": r"rank 2 of 3 on \S+: pgas_test_\.\.\.\(\): 8589934592 bytes at 0x[0-9a-f]+ are not in the symmetric",
    "test-border": r"rank 2 of 3 on \S+: pgas_test\(\): a value of 8 bytes does not begin on a multiple of that",
    "free-others": r"pgas_free\(\): PEs free different memory",
    "comparison": r"rank 2 of 3 on \S+: pgas_signal_wait_until\(\): comparison 7 does not exist",
    "signal": r"rank 2 of 3 on \S+: pgas_putmem_signal\(\): signal operation 0 does not exist",
    "free": r"pgas_free\(\): frees what has not been allocated, or has been freed before",
}


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("environment", [{}, apart(1)], ids=["node", "nodes"])
@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_ends_the_job_and_is_named(
    run: Runner, job: Callable[..., List[object]], mistake: str, environment: Dict[str, str]
) -> None:
    words = job("mistakes", 3, 1, *(["--ranks-per-node", 1] if environment else []))
    finished = run(*words, mistake, env=environment, status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert re.search(rf"^pgas: .*{MISTAKES[mistake]}", finished.stderr, re.M), finished.stderr
    assert re.search(r"^pgas: .*\n  Remedy: ", finished.stderr, re.M), finished.stderr


@pytest.mark.parametrize("environment", [{}, apart(1)], ids=["node", "nodes"])
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_pe_that_ends_ends_those_that_wait(
    run: Runner, job: Callable[..., List[object]], end: str, environment: Dict[str, str]
) -> None:
    words = job("mistakes", 3, 1, *(["--ranks-per-node", 1] if environment else []))
    finished = run(*words, end, env=environment, status=None, timeout_s=LIMIT_S)
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


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("count", ["0", "-1", "two", "2x", ""])
def test_wrong_number_of_pes_per_node(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str, count: str
) -> None:
    words = [*plain_mpi(flavour, 2), program("calls")]
    finished = run(*words, env={"PGAS_PES_PER_NODE": count}, status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert f"PGAS_PES_PER_NODE={count} is no number of PEs\n  Remedy: " in finished.stderr


def test_virtual_nodes_are_refused_where_the_mpi_library_fails_on_them(
    run: Runner, plain_mpi: Callable, program: Callable[[str], Path], flavour: str
) -> None:
    words = [*plain_mpi(flavour, 2), program("typed_calls")]
    finished = run(*words, env={"PGAS_PES_PER_NODE": "1"}, status=None, timeout_s=LIMIT_S)
    if finished.status != 0:
        assert "Remedy: set OMPI_MCA_osc=^rdma, too" in finished.stderr


def test_an_exception_that_leaves_the_program_ends_the_others(run: Runner, job: Callable[..., List[object]]) -> None:
    finished = run(*job("typed_calls", 3, 3), "throw", status=None, timeout_s=LIMIT_S)
    assert finished.status not in (0, None)
    assert re.search(r"^pgas: PE 2 of 3 leaves by an exception.*\n  Remedy: ", finished.stderr, re.M), finished.stderr


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


@pytest.mark.parametrize(
    ("header", "name", "standard"),
    [("pgas.h", "c", "c99"), ("pgas.h", "c", "c11"), ("pgas.h", "c++", "c++11"), ("pgas.hpp", "c++", "c++20")],
)
def test_header_needs_no_more_than_the_language(
    run: Runner, tmp_path: Path, header: str, name: str, standard: str
) -> None:
    source = tmp_path / "source"
    source.write_text(f"#include <spillway/{header}>\nint main(void) {{ return pgas_my_pe(); }}\n")
    words = ["cc", "-x", name, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run(*words, "-I", SOURCE / "include", source)
