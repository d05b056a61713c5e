"""Holds the table of MPI functions against every mpi.h in use, and against rules that follow from the prototypes."""

import os
import re
from pathlib import Path
from typing import Dict, Set

import function_table
import mpi_header
import pytest
from in_use import COMPILER, headers_in_use, program_of, version
from spillway_front_end.mpi_library import detect_mpi_library, mpi_functions_in

HEADERS = headers_in_use()
TABLE = function_table.read_table()

# Where a library departs from the standard's prototype. Of local functions only, which Spillway does not define.
DEPARTURES = {
    "MPI_Pready_list": "MPI 4.0 libraries: the list of partitions without const",
    "MPI_Session_c2f": "Open MPI 5: takes a const MPI_Session",
}
# Others of which some version of a library has one other prototype, to the letter; it is called in the same way.
OTHER_PROTOTYPES = {
    "MPI_Psend_init": (  # MPICH 4.0.0: the buffer without const
        "int(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *)"
    ),
}

# What a library lacks of the version of MPI that it says it is.
LACKING = {
    "openmpi": {"MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Status_c2f08", "MPI_Status_f082c"},  # Open MPI 4.1
    "mpich": set(),
}


@pytest.fixture(scope="module", params=sorted(HEADERS))
def header(request: pytest.FixtureRequest) -> str:
    return HEADERS[request.param]


@pytest.fixture(scope="module")
def declared(header: str) -> Dict[str, mpi_header.Prototype]:
    return mpi_header.functions_of(header, COMPILER)


@pytest.fixture(scope="module")
def header_text(header: str) -> str:
    """The header and those beside it, as written: no preprocessor, no parser."""
    folder = os.path.dirname(header)
    texts = []
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r"mpi\w*\.h", name) and "cxx" not in name:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                texts.append(re.sub(r"/\*.*?\*/|//[^\n]*", " ", file.read(), flags=re.DOTALL))
    return "\n".join(texts)


@pytest.fixture(scope="module")
def macros(header_text: str) -> Set[str]:
    """Functions that the header makes macros: nothing to interpose."""
    return set(re.findall(r"#\s*define\s+(MPI_\w+)\(", header_text))


def test_finds_every_function_that_the_header_spells_out(
    declared: Dict[str, mpi_header.Prototype], header_text: str, macros: Set[str]
) -> None:
    declarations = "\n".join(line for line in header_text.splitlines() if not line.lstrip().startswith("#"))
    spelled = set(re.findall(r"\bP(MPI_(?:T_[a-z]|[A-Z][a-z0-9])\w*)\s*\(", declarations))
    assert len(spelled) > 300
    removed = {function.name for function in TABLE.values() if function.removed}  # Open MPI hides them by default
    assert sorted(spelled - set(declared) - macros - removed) == []


def test_knows_every_function_of_mpi_h(declared: Dict[str, mpi_header.Prototype]) -> None:
    assert sorted(set(declared) - set(TABLE)) == []


def test_gives_the_prototypes_of_mpi_h(declared: Dict[str, mpi_header.Prototype]) -> None:
    def comparable(
        prototype: mpi_header.Prototype,
    ) -> str:  # MPI_Fint is the library's choice of type; in all libraries at hand it is int
        return prototype.text().replace("MPI_Fint", "int")

    different = {
        name: (comparable(TABLE[name].prototype), comparable(prototype))
        for name, prototype in declared.items()
        if name in TABLE
        and name not in DEPARTURES
        and comparable(prototype) not in (comparable(TABLE[name].prototype), OTHER_PROTOTYPES.get(name))
    }
    assert different == {}
    assert all(TABLE[name].kind == "local" for name in DEPARTURES)


def test_lists_nothing_that_this_version_of_mpi_should_have_but_has_not(
    declared: Dict[str, mpi_header.Prototype], header_text: str, macros: Set[str]
) -> None:
    defined = dict(re.findall(r"#\s*define\s+MPI_(VERSION|SUBVERSION)\s+(\d+)", header_text))
    here = version(f"{defined['VERSION']}.{defined['SUBVERSION']}")
    flavour = "openmpi" if "OMPI_MAJOR_VERSION" in header_text else "mpich"
    missing = [
        function.name
        for function in TABLE.values()
        if function.since != "openmpi"
        and version(function.since) <= here
        and not (function.removed and version(function.removed) <= here)
        and function.name not in declared
        and function.name not in macros
    ]
    assert sorted(set(missing) - LACKING[flavour]) == []


@pytest.mark.parametrize("mpi_library", sorted(HEADERS))
def test_lists_every_function_that_the_library_has(mpi_library: str) -> None:
    """Also those that mpi.h does not declare: programs find them with dlsym."""
    functions = mpi_functions_in(detect_mpi_library(program_of(mpi_library)).path)
    assert len(functions) > 400
    assert sorted(functions - set(TABLE)) == []


@pytest.mark.parametrize("name", [name for name, function in TABLE.items() if function.is_large_count])
def test_large_count_form_is_of_the_same_kind(name: str) -> None:
    plain, large = TABLE[name[:-2]], TABLE[name]
    assert (large.kind, large.over, large.creates, large.is_persistent) == (
        plain.kind,
        plain.over,
        plain.creates,
        plain.is_persistent,
    )


def test_every_call_that_returns_a_request_is_ours_or_known_as_such() -> None:
    assert [
        function.name
        for function in TABLE.values()
        if function.parameters
        and function.prototype.parameters[-1] == "MPI_Request *"
        and function.kind not in ("ours", "request")
    ] == []


def test_every_call_that_returns_a_communicator_says_so() -> None:
    returning = {
        function.name
        for function in TABLE.values()
        if function.prototype.parameters.count("MPI_Comm *") and function.creates is None
    }
    take_one = {"MPI_Comm_free", "MPI_Comm_disconnect"}
    with_other_processes = {
        "MPI_Comm_accept",
        "MPI_Comm_connect",
        "MPI_Comm_get_parent",
        "MPI_Comm_join",
        "MPI_Comm_spawn",
        "MPI_Comm_spawn_multiple",
    }
    assert returning == take_one | with_other_processes


def test_every_persistent_form_is_ours_or_tagged() -> None:
    assert [
        function.name
        for function in TABLE.values()
        if re.search(r"_init(_c)?$", function.name)
        and "MPI_Request *" in function.prototype.parameters
        and function.kind != "ours"
        and not function.is_persistent
    ] == []


def test_every_blocking_collective_on_a_file_or_window_is_collective() -> None:
    suffix = re.compile(r"MPI_File_(read|write)_.*(all|ordered)(_begin|_end)?(_c)?$")
    assert [
        function.name for function in TABLE.values() if suffix.match(function.name) and function.kind != "collective"
    ] == []


def test_has_no_two_forms_of_point_to_point_that_could_miss_each_other() -> None:
    """A message sent by Spillway never meets a receive posted in the library, so all of them must be Spillway's."""
    matching = re.compile(
        r"MPI_(I?[bsr]?send|I?m?recv|I?sendrecv(_replace)?|I?m?probe|[BSR]?send_init|Recv_init|"
        r"Start(all)?|Wait\w*|Test(any|all|some)?|Cancel|Request_(free|get_status\w*))(_c)?$",
        re.IGNORECASE,
    )
    found = [function for function in TABLE.values() if matching.match(function.name)]
    assert len(found) > 50
    assert [function.name for function in found if function.kind != "ours"] == []


ROW = 'MPI_Comm_dup,{kind},{tags},1.0,,communicators,int,"MPI_Comm comm, MPI_Comm *newcomm",\n'


@pytest.mark.parametrize(
    "row, complaint",
    [
        (ROW.format(kind="delegated", tags=""), "unknown kind"),
        (ROW.format(kind="collective", tags=""), "needs the tag `over`"),
        (ROW.format(kind="collective", tags="over=group"), "no group of ranks"),
        (ROW.format(kind="collective", tags="over=comm creates=comm"), "returns no communicator"),
        (ROW.format(kind="collective", tags="over=comm make=newcomm"), "unknown tags"),
        (ROW.format(kind="request", tags=""), "returns no request"),
        (ROW.format(kind="local", tags="") * 2, "two rows"),
    ],
    ids=lambda value: value if "," not in value else "row",
)
def test_refuses_a_row_that_contradicts_itself(tmp_path: Path, row: str, complaint: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text("name,kind,tags,since,removed,chapter,returns,parameters,notes\n" + row)
    with pytest.raises(function_table.TableError, match=complaint):
        function_table.read_table(str(path))
