"""Generates, compiles and calls the entry points for every mpi.h in use; looks at what the built library exports."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Set

import function_table
import generate_entry_points
import mpi_header
import pytest
from in_use import COMPILER, FUNCTIONS, SOURCES, headers_in_use, library_of

HEADERS = headers_in_use()
TABLE = function_table.read_table()

EXPECTED = """\
MPI_Comm_dup: gather(old) library created(0,new,old) leave -> 0
MPI_Comm_create_group: gather(group) library created(0,new,null) leave -> 0
MPI_Comm_join: block library leave -> 0
MPI_Comm_idup: request library created(0,new,old) started(0,request) leave -> 0
MPI_File_iread: request library started(0,request) leave -> 0
MPI_File_sync: gather(file) library leave -> 0
MPI_File_read_all_begin: gather(file,1,6,1) library opened(0) leave -> 0
MPI_File_read_all_end: gather(file) library closed(0) leave -> 0
MPI_File_close: gather(file) library leave -> 77
MPI_Win_create_dynamic: gather(old) library made(0,window,0,0) leave -> 0
MPI_Win_create: gather(old) library made(0,window,1,8) leave -> 0
MPI_Win_attach: block library attached(0,window,1,8) leave -> 0
MPI_Win_detach: block library detached(0,window,1) leave -> 0
MPI_Put: block library begun(0,window,5,1,3,1) leave -> 0
MPI_Fetch_and_op: block library begun(0,window,5,0,1,1) begun(0,window,5,1,1,1) leave -> 0
MPI_Win_test: block library library leave found(1) -> 0
MPI_Win_free: gather(window) leaves(window) library left(77) leave -> 77
MPI_Win_fence: gather(window) complete library completed(0,window) leave -> 0
MPI_Win_flush: block complete library completed(77,window,5) leave -> 77
MPI_Win_flush_all: block complete library completed(0,window) leave -> 0
MPI_Neighbor_allgather: gather(old) library leave -> 0
MPI_Neighbor_allgather: gather(turns) library waited(0,request) leave -> 0
"""
EXPECTED_OF_MPI_4 = "MPI_Precv_init: request library prepared(0,request) leave -> 0\n"


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )


@pytest.fixture(scope="module", params=sorted(HEADERS))
def mpi_library(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def declared(mpi_library: str) -> Dict[str, mpi_header.Prototype]:
    return mpi_header.functions_of(HEADERS[mpi_library], COMPILER)


@pytest.fixture(scope="module")
def generated(mpi_library: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what the build's own command generates, compiled without a warning."""
    folder = tmp_path_factory.mktemp(mpi_library)
    done = run(
        sys.executable,
        os.path.join(FUNCTIONS, "generate_entry_points.py"),
        "--compiler",
        COMPILER,
        "--header",
        HEADERS[mpi_library],
        "--entry-points",
        str(folder / "entry_points.cpp"),
        "--profiling-names",
        str(folder / "profiling_names"),
    )
    assert done.returncode == 0 and done.stdout == "", done.stdout
    return folder


def compile_object(mpi_library: str, source: Path, target: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return run(
        COMPILER,
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-Werror",
        "-fPIC",
        "-fvisibility=hidden",
        "-DMPICH_SKIP_MPICXX",
        "-DOMPI_SKIP_MPICXX",
        "-isystem",
        os.path.dirname(HEADERS[mpi_library]),
        "-I",
        SOURCES,
        *options,
        "-c",
        str(source),
        "-o",
        str(target),
    )


@pytest.fixture(scope="module")
def entry_points_object(mpi_library: str, generated: Path) -> Path:
    done = compile_object(mpi_library, generated / "entry_points.cpp", generated / "entry_points.o")
    assert done.returncode == 0, done.stdout
    return generated / "entry_points.o"


def exported(path: Path, *options: str) -> Set[str]:
    done = run("nm", "--defined-only", *options, str(path))
    assert done.returncode == 0, done.stdout
    symbols = (line.split()[-1] for line in done.stdout.splitlines() if re.search(r" [TWi] ", line))
    return {symbol for symbol in symbols if re.match(r"MPI_(T_[a-z]|[A-Z][a-z0-9])", symbol)}


def test_defines_every_delegated_function_and_no_other(
    entry_points_object: Path, declared: Dict[str, mpi_header.Prototype]
) -> None:
    assert exported(entry_points_object) == {
        name for name in declared if TABLE[name].kind in function_table.DELEGATED_KINDS
    }


def stand_ins_for_the_library(program_objects: List[Path]) -> str:
    """C source that defines what the objects want of an MPI library: functions that abort, and data of no meaning."""
    undefined, defined = set(), set()
    for path in program_objects:
        done = run("nm", str(path))
        undefined.update(re.findall(r" U ((?:PMPI|MPI|ompi|mpi)_\w+)$", done.stdout, re.MULTILINE))
        defined.update(re.findall(r" [TWDB] (\w+)$", done.stdout, re.MULTILINE))
    return "#include <stdlib.h>\n" + "".join(
        f"void {name}(void) {{ abort(); }}\n" if name.startswith("PMPI_") else f"char {name}[1024];\n"
        for name in sorted(undefined - defined)
    )


def test_entry_points_wrap_the_library_call_in_order(
    mpi_library: str, declared: Dict[str, mpi_header.Prototype], entry_points_object: Path, generated: Path
) -> None:
    has_mpi_4 = "MPI_Precv_init" in declared
    source = Path(__file__).with_name("recorded_calls.cpp")
    calls_object, program = generated / "recorded_calls.o", generated / "recorded_calls"
    done = compile_object(mpi_library, source, calls_object, *(["-DHAS_MPI_4"] if has_mpi_4 else []))
    assert done.returncode == 0, done.stdout
    (generated / "library.c").write_text(stand_ins_for_the_library([entry_points_object, calls_object]))
    done = run(
        COMPILER,
        "-o",
        str(program),
        str(entry_points_object),
        str(calls_object),
        "-x",
        "c",
        str(generated / "library.c"),
    )
    assert done.returncode == 0, done.stdout
    done = run(str(program))
    assert done.returncode == 0, done.stdout
    assert done.stdout == EXPECTED + (EXPECTED_OF_MPI_4 if has_mpi_4 else "")


def test_calls_every_function_of_the_library_by_address(
    mpi_library: str, declared: Dict[str, mpi_header.Prototype]
) -> None:
    names = mpi_header.profiling_names(HEADERS[mpi_library], COMPILER)
    assert {name[1:] for name in names} == set(declared)
    assert len(set(names)) == len(names)


def test_a_prototype_of_ours_that_is_not_the_header_s_does_not_compile(mpi_library: str, tmp_path: Path) -> None:
    wrong = function_table.Function(**{**vars(TABLE["MPI_Send"]), "parameters": ["void *buf", "int count"]})
    (tmp_path / "check.cpp").write_text(
        "#include <mpi.h>\n#include <type_traits>\n" + generate_entry_points.signature_check(wrong)
    )
    done = compile_object(mpi_library, tmp_path / "check.cpp", tmp_path / "check.o")
    assert done.returncode != 0
    assert "MPI_Send of this mpi.h is not the table's" in done.stdout


def symbols_of(library: str, *options: str) -> Dict[str, str]:
    """Dynamic symbols and their addresses (none for those that the library looks for elsewhere)."""
    done = run("nm", "-D", *options, library)
    assert done.returncode == 0, done.stdout
    lines = (line.split() for line in done.stdout.splitlines())
    return {words[-1]: words[0] if len(words) == 3 else "" for words in lines}


def test_library_exports_what_is_ours_or_delegated_and_nothing_local(
    mpi_library: str, declared: Dict[str, mpi_header.Prototype]
) -> None:
    library = library_of(mpi_library)
    assert os.path.exists(library), f"{library} is not built"
    addresses = symbols_of(library, "--defined-only")
    symbols = exported(Path(library), "-D")
    wanted = {name for name in declared if TABLE[name].kind != "local"}
    assert sorted(wanted - symbols) == [], "not exported"
    assert sorted(symbols - wanted) == [], "exported, though the table has them as local, or mpi.h not at all"
    # Fortran bindings and profiling tools call these.
    profiling = {name for name in addresses if name.startswith("PMPI_")}
    assert profiling == {f"P{name}" for name in wanted}
    assert [name for name in wanted if addresses[name] != addresses[f"P{name}"]] == []


def test_library_leaves_no_symbol_of_mpi_to_the_loader(mpi_library: str) -> None:
    """The process may have no MPI library (a shell), or load it later and for one of its parts alone (Python)."""
    wanted = symbols_of(library_of(mpi_library), "--undefined-only")
    assert "malloc" not in wanted and "dlsym" in {name.partition("@")[0] for name in wanted}
    assert [name for name in wanted if re.match(r"P?MPI|MPIR|ompi|mpi_", name)] == []
