"""The table of all MPI functions, mpi_functions.csv, as objects.

Columns of the table:
  name        MPI_Send; a large-count form is a row of its own, MPI_Send_c
  kind        who carries the call out, and whether it may wait:
                ours        Spillway, in handwritten code
                collective  the library, all ranks of a group together
                request     the library, later: the call returns one of its requests
                blocking    the library, and it may wait for another rank, or is what programs poll with
                local       the library, and it waits for nobody: not interposed
  tags        over=<parameter>     the communicator, group, window or file whose ranks make the call
              creates=<parameter>  where a new communicator comes out
              persistent           the request is inactive until MPI_Start
              opens, closes        the library may use this rank's memory in between (split file operations)
              window=<what>        makes, frees: the window `win`; attaches, detaches: memory of it; begins: an
                                   operation on it, complete after a call that ends those on `rank`, or ends_all;
                                   looks: into `flag`, twice if need be
  since       version of the standard that brought the function; `openmpi` for one that only Open MPI has
  removed     version that removed it, where libraries still carry it
  chapter     of the standard
  returns, parameters   as the standard declares them in C
  notes       what a program should know of the call under Spillway, beside what is true of its kind
"""

import csv
import os
import sys
from dataclasses import dataclass
from typing import Dict, List, Optional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mpi_header import Prototype, parameter_name, parameter_type, split_parameters  # noqa: E402

TABLE_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_functions.csv")
KINDS = ("ours", "collective", "request", "blocking", "local")
DELEGATED_KINDS = ("collective", "request", "blocking")
_TAGS = ("over", "creates", "persistent", "opens", "closes", "window")
WINDOW_CALLS = ("makes", "frees", "attaches", "detaches", "begins", "ends", "ends_all", "looks")
_OVER_TYPES = ("MPI_Comm", "MPI_Group", "MPI_Win", "MPI_Win *", "MPI_File", "MPI_File *")


class TableError(ValueError):
    """A row that contradicts itself."""


@dataclass(frozen=True)
class Function:
    name: str
    kind: str
    over: Optional[str]
    creates: Optional[str]
    is_persistent: bool
    opens: bool
    closes: bool
    window: Optional[str]
    since: str
    removed: Optional[str]
    chapter: str
    returns: str
    parameters: List[str]
    notes: str

    @property
    def is_large_count(self) -> bool:
        return self.name.endswith("_c")

    @property
    def parameter_names(self) -> List[str]:
        return [parameter_name(parameter) for parameter in self.parameters]

    @property
    def prototype(self) -> Prototype:
        return Prototype(self.returns, [parameter_type(parameter) for parameter in self.parameters])

    def type_of(self, name: str) -> Optional[str]:
        types = dict(zip(self.parameter_names, self.prototype.parameters))
        return types.get(name)


def _check(function: Function) -> None:
    def require(holds: bool, complaint: str) -> None:
        if not holds:
            raise TableError(f"{function.name}: {complaint}")

    require(function.kind in KINDS, f"unknown kind {function.kind!r}")
    if function.over:
        require(function.type_of(function.over) in _OVER_TYPES, f"no group of ranks in parameter {function.over!r}")
        require(function.kind in DELEGATED_KINDS, "only a delegated function has the tag `over`")
    if function.creates:
        require(function.type_of(function.creates) == "MPI_Comm *", f"{function.creates!r} returns no communicator")
        kinds = ("collective", "request")
        require(function.kind in kinds, "only a collective or one with a request has the tag `creates`")
    if function.kind == "collective":
        require(function.over is not None, "a collective function needs the tag `over`")
    if function.kind == "request":
        require(function.type_of("request") == "MPI_Request *", "returns no request")
    if function.kind in DELEGATED_KINDS:
        require(function.returns == "int", "a delegated function returns an error code")
    require(
        not (function.opens or function.closes) or function.kind == "collective", "only a collective opens or closes"
    )
    if function.window:
        require(function.window in WINDOW_CALLS, f"nothing is done to a window by {function.window!r}")
        require(function.kind in ("collective", "blocking"), "only such a function has the tag `window`")
    require(not function.is_persistent or function.kind == "request", "only a request is persistent")
    require("|" not in function.notes, "a `|` in the notes would end a cell of the reference page")


def _function(row: Dict[str, str]) -> Function:
    tags = dict(tag.partition("=")[::2] for tag in row["tags"].split())
    unknown = set(tags) - set(_TAGS)
    if unknown:
        raise TableError(f"{row['name']}: unknown tags {sorted(unknown)}")
    function = Function(
        name=row["name"],
        kind=row["kind"],
        over=tags.get("over"),
        creates=tags.get("creates"),
        is_persistent="persistent" in tags,
        opens="opens" in tags,
        closes="closes" in tags,
        window=tags.get("window"),
        since=row["since"],
        removed=row["removed"] or None,
        chapter=row["chapter"],
        returns=row["returns"],
        parameters=split_parameters(row["parameters"]),
        notes=row["notes"],
    )
    _check(function)
    return function


def read_table(path: str = TABLE_PATH) -> Dict[str, Function]:
    """The functions by name, in the order of the table."""
    table: Dict[str, Function] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            function = _function(row)
            if function.name in table:
                raise TableError(f"{function.name}: two rows")
            table[function.name] = function
    return table
