"""Fixtures that all multi-process tests share: where the build is, how programs are run, and what they may leave."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Set

import pytest
from bed import BEDS, Bed, made_bed
from held_processes import Gate
from marked_processes import kill_marked, marked_processes
from plain_mpi import plain_mpi_words
from runner import DISAPPEARANCE_S, SESSIONS_VARIABLE, Runner, still_there
from standstill import TimeLimit

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "python"))
_CLONE_NEWNET = 0x40000000  # linux/sched.h
BUILD = Path(os.environ.get("SPILLWAY_BUILD", SOURCE / "build")).resolve()


def preloaded_libraries() -> List[str]:
    """What this build has a preloaded library for: MPI libraries (mpich, openmpi), some of them with a version."""
    prefix = "libspillway-"
    return sorted(path.name[len(prefix) : -len(".so")] for path in (BUILD / "lib" / "spillway").glob(prefix + "*.so"))


def pytest_addoption(parser: "pytest.Parser") -> None:
    parser.addoption("--bed", choices=BEDS, default=BEDS[0], help="where the nodes of jobs are")
    parser.addoption("--own-network", action="store_true", help="of each of several processes (--numprocesses)")
    parser.addoption("--all-libraries", action="store_true", help="also where a test takes the MPI libraries in turn")


def pytest_configure(config: "pytest.Config") -> None:
    config.addinivalue_line(
        "markers", "ends_before_it_begins: a job that may be over before Spillway has begun on all of its hosts"
    )
    config.addinivalue_line("markers", "one_node: of what one node does with all of the ranks")
    config.addinivalue_line("markers", "libraries_in_turn: each case with one MPI library, as it does not depend on it")
    if config.getoption("--own-network") and hasattr(config, "workerinput"):
        leave_the_network()


def leave_the_network() -> None:
    """Of a process whose tests run beside those of others: from now on it has a network of its own, in which there is
    nothing but the loopback interface, and from which nothing else is reached. A program of MPICH fails where network
    devices come and go while it begins, as those of the tests' networks of hosts do. Who may not leave may not make
    such networks either."""
    if shutil.which("ip") is not None and ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def beyond_their_turn(items: List["pytest.Item"]) -> List["pytest.Item"]:
    """Of the tests that are marked so, the first case with the first library, the second one with the second, and so
    on: those left over."""
    cases: Dict[str, Dict[str, Dict[str, pytest.Item]]] = {}  # of a test, by the other parameters, by the library
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        library = params.get("flavour") or params.get("other_flavour")
        if item.get_closest_marker("libraries_in_turn") and library:
            of_test = cases.setdefault(item.nodeid.split("[")[0], {})
            of_test.setdefault(item.callspec.id.replace(library, "", 1), {})[library] = item
    left = []
    for number, case in enumerate(of_test[name] for of_test in cases.values() for name in sorted(of_test)):
        libraries = sorted(case)
        left += [case[library] for library in libraries if library != libraries[number % len(libraries)]]
    return left


def pytest_collection_modifyitems(config: "pytest.Config", items: List["pytest.Item"]) -> None:
    if not config.getoption("--all-libraries"):
        beyond = beyond_their_turn(items)
        config.hook.pytest_deselected(items=beyond)
        items[:] = [item for item in items if item not in set(beyond)]
    if config.getoption("--bed") == BEDS[0]:
        return
    one_node = [item for item in items if item.get_closest_marker("one_node")]
    config.hook.pytest_deselected(items=one_node)
    items[:] = [item for item in items if item not in one_node]


def pytest_generate_tests(metafunc: "pytest.Metafunc") -> None:
    """A test that takes `flavour` runs for each MPI library of the system. None at all is an error (pyproject.toml).

    One that takes `other_flavour` runs for each of the other versions that `./dev test` builds for.
    """
    if "flavour" in metafunc.fixturenames:
        flavours = [name for name in preloaded_libraries() if "-" not in name]
        metafunc.parametrize("flavour", flavours, scope="session")
    if "other_flavour" in metafunc.fixturenames:
        others = [name for name in preloaded_libraries() if "-" in name]
        reason = "this build has no other versions of the MPI libraries (SPILLWAY_OTHER_MPICC, as ./dev test sets it)"
        metafunc.parametrize("other_flavour", others or [pytest.param("", marks=pytest.mark.skip(reason))])


def shared_memory_files() -> Set[str]:
    """Named segments, ours and those that MPI libraries make."""
    return {str(path) for path in Path("/dev/shm").iterdir()}


def unused_segments(segments: Set[str]) -> Set[str]:
    """Those that no living process has mapped: other programs of the machine make segments too."""
    used: Set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            text = maps.read_text()
        except OSError:
            continue  # ended meanwhile, or another user's
        used |= {segment for segment in segments if segment in text}
    return segments - used


def lasting_segments(before: Set[str]) -> Set[str]:
    """Unused in every look: those of other tests' jobs, which run at the same time, come and go."""
    left = unused_segments(shared_memory_files() - before)
    limit = TimeLimit(DISAPPEARANCE_S)
    while left and limit.left_s() > 0:
        time.sleep(0.05)
        left = unused_segments(shared_memory_files() & left)
    return left


@pytest.fixture(scope="session")
def build_dir() -> Path:
    assert (BUILD / "CMakeCache.txt").is_file(), f"{BUILD} is not a build; run ./dev build, or set SPILLWAY_BUILD"
    return BUILD


@pytest.fixture(scope="session")
def spillway(build_dir: Path) -> Path:
    """The command `spillway`."""
    path = build_dir / "bin" / "spillway"
    assert path.is_file(), f"{path} has not been built"
    return path


@pytest.fixture(scope="session")
def bed_of_all(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with made_bed(request.config.getoption("--bed"), tmp_path_factory.mktemp("bed")) as bed:
        yield bed


@pytest.fixture
def run(bed_of_all: Bed) -> Iterator[Runner]:
    """Runs programs; kills what is left of them at the test's end.

    Jobs of Open MPI alone fail now and then where another one ends while they begin, as the directory of the user's
    jobs goes with the last of them: each test has one of its own.
    """
    runner = Runner(uuid.uuid4().hex, bed_of_all)
    runner.environment.update(bed_of_all.environment)
    sessions = tempfile.mkdtemp(prefix="s", dir="/tmp")  # sockets are in there, whose paths must be short
    runner.environment[SESSIONS_VARIABLE] = sessions
    yield runner
    kill_marked(runner.mark)
    shutil.rmtree(sessions, ignore_errors=True)


@pytest.fixture
def spill_dir(build_dir: Path) -> Iterator[Path]:
    """An empty folder for spill files, on the disk that holds the build: /tmp may be memory, which spillway refuses."""
    folder = build_dir / "spill-tests" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def gate(build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """Where processes of a job wait until the test opens it."""
    library = build_dir / "lib" / "spillway" / "tests" / "libheld-at-call.so"
    assert library.is_file(), f"{library} has not been built"
    gate = Gate(library, tmp_path_factory.mktemp("gate"))
    yield gate
    gate.open()


@pytest.fixture
def nothing_left_behind(run: Runner, spill_dir: Path) -> Iterator[None]:
    """After the test: no process that it started, no named shared segment, no file where it spilled."""
    segments_before = shared_memory_files()
    yield
    left = still_there(lambda: marked_processes(run.mark))
    assert not left, f"processes left: {left}"
    segments_left = lasting_segments(segments_before)
    assert not segments_left, f"shared segments left: {segments_left}"
    assert not list(spill_dir.iterdir()), "spill files left"


@pytest.fixture(scope="session")
def plain_mpi(build_dir: Path) -> Callable[[str, int], List[str]]:
    """plain_mpi(flavour, ranks): the words that start a program under the MPI library alone, as an oracle."""
    return lambda flavour, ranks: plain_mpi_words(build_dir, flavour, ranks)
