"""Which MPI library a program will run with, and which preloaded library of ours is for it.

The dynamic loader itself is asked (`ld.so --list`, which maps libraries but executes nothing of them), so that
LD_LIBRARY_PATH, run paths and indirect dependencies count as they will in the run.
"""

import glob
import os
import re
from typing import Dict, NamedTuple, Optional, Set, Tuple

from .elf_file import dynamic_names, read_elf
from .errors import LaunchError
from .subprocess_output import output_of

FLAVOURS = ("mpich", "openmpi")
TITLES = {"mpich": "MPICH", "openmpi": "Open MPI"}

_LOADED = re.compile(r"^\s*(\S+) => (\S.*?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_MISSING = re.compile(r"error while loading shared libraries: (\S+): cannot open")
_MPI_NAME = re.compile(r"^lib(mpi|mpich|mpi_abi|mpi_mt|mpi_cray|mpi_ibm|pmpi|open-rte)[.]so")
# What only one family's library exports; Open MPI once used the file name libmpi.so.12 as well.
_MARKS = {"openmpi": b"ompi_mpi_comm_world", "mpich": b"MPIR_Dup_fn"}


# Linkers store MPI_Send as the end of PMPI_Send.
_FUNCTION = re.compile(rb"P?(MPI_(?:T_[a-z]|[A-Z][a-z])\w*)")


class MpiLibrary(NamedTuple):
    flavour: str  # its family
    path: str  # empty when the user said which


class UnseenLibrary(LaunchError):
    """Nothing speaks against the program but that its MPI library cannot be seen; the user may say which it is."""


def find_program(name: str) -> str:
    """Path of the program as execvp would find it."""
    if "/" in name:
        candidates = [name]
    else:
        candidates = [os.path.join(part or ".", name) for part in os.environ.get("PATH", os.defpath).split(":")]
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    existing = [path for path in candidates if os.path.exists(path)]
    if not existing:
        where = "" if "/" in name else " in any directory of PATH"
        raise LaunchError(
            f"there is no program `{name}`{where}",
            "check its name; for one in this directory, write ./" + os.path.basename(name),
        )
    if os.path.isdir(existing[0]):
        raise LaunchError(f"`{existing[0]}` is a directory, not a program", "name the program in it")
    raise LaunchError(f"`{existing[0]}` is not executable", f"chmod +x {existing[0]}")


def family_of(name: str) -> str:
    """Of a preloaded library: it is called `mpich` or `openmpi`, or the same with a version, as in `mpich-4.3.2`."""
    return name.split("-")[0]


def mpi_library_of(program: str, named: Optional[str]) -> MpiLibrary:
    """What the program is linked with, or `named` by the user where that cannot be seen."""
    try:
        library = detect_mpi_library(program)
    except UnseenLibrary:
        if named is None:
            raise
        return MpiLibrary(family_of(named), "")
    if named is not None and family_of(named) != library.flavour:
        raise LaunchError(
            f"--mpi {named}: `{program}` is linked with {TITLES[library.flavour]} ({library.path})",
            "leave --mpi away; it is for programs whose library cannot be seen, as scripts",
        )
    return library


def detect_mpi_library(program: str) -> MpiLibrary:
    """Raises LaunchError, which says why `program` cannot run under Spillway."""
    try:
        elf = read_elf(program)
    except OSError as error:
        raise UnseenLibrary(
            f"cannot read `{program}`: {error.strerror}",
            "Spillway must see which MPI library it is linked " "with; make it readable, or say which with --mpi",
        ) from None
    if not elf.is_elf:
        what = "is a script" if elf.is_script else "is not a program for Linux (no ELF file)"
        raise UnseenLibrary(
            f"`{program}` {what}, so its MPI library cannot be seen",
            "say which one the processes that it starts use: --mpi mpich or --mpi openmpi",
        )
    if not elf.is_for_this_machine:
        raise LaunchError(
            f"`{program}` was compiled for another kind of processor than this machine's " f"({os.uname().machine})",
            "compile it for this machine, as a 64-bit program",
        )
    if not elf.interpreter:
        raise LaunchError(
            f"`{program}` is statically linked: nothing can be put between it and its MPI library",
            "link it dynamically (without -static, against the MPI library's .so)",
        )
    return _library_among(program, _libraries_of(program, elf.interpreter))


def _libraries_of(program: str, loader: str) -> Dict[str, str]:
    status, listing = output_of([loader, "--list", program])
    missing = _MISSING.search(listing)
    if missing:
        raise LaunchError(
            f"`{program}` needs the library {missing.group(1)}, which is not on this machine",
            "install it, or name its directory in LD_LIBRARY_PATH",
        )
    if status != 0:
        raise LaunchError(
            f"the dynamic loader {loader} cannot load `{program}`: {listing.strip()}",
            "start the program once by itself; it says the same",
        )
    return {name: path for name, path in _LOADED.findall(listing)}


def _library_among(program: str, libraries: Dict[str, str]) -> MpiLibrary:
    candidates = {name: path for name, path in libraries.items() if _MPI_NAME.match(name)}
    for path in candidates.values():
        flavour = flavour_of_library(path)
        if flavour:
            return MpiLibrary(flavour, path)
    for path in candidates.values():
        raise LaunchError(
            f"`{program}` is linked with the MPI library {path}, which is neither MPICH nor Open MPI",
            "compile it with the mpicc or mpicxx of MPICH or Open MPI",
        )
    raise UnseenLibrary(
        f"`{program}` is not an MPI program: no MPI library among those it is linked with",
        "compile it with mpicc or mpicxx; if it loads MPI later (as Python with mpi4py does), say which "
        "with --mpi mpich or --mpi openmpi",
    )


def flavour_of_library(path: str) -> Optional[str]:
    try:
        names = dynamic_names(path)
    except OSError:
        return None
    return next((flavour for flavour, mark in _MARKS.items() if mark + b"\0" in names), None)


def preloaded_library(directory: str, library: MpiLibrary, named: Optional[str]) -> str:
    """Path of the library of ours in `directory` that suits the program's: `named`, or the closest in its functions.

    Versions of a family differ in these, and what ours does not have would be called past Spillway. A rank whose
    library has more than ours gives up.
    """
    start = os.path.join(directory, "libspillway-")
    # The one without a version comes first.
    candidates = sorted(glob.glob(f"{glob.escape(start)}{library.flavour}*.so"), key=lambda path: path[: -len(".so")])
    if named is not None and named != library.flavour:
        path = f"{start}{named}.so"
        if path not in candidates:
            names = ", ".join(candidate[len(start) : -len(".so")] for candidate in candidates)
            raise LaunchError(
                f"--mpi {named}: this installation of Spillway has no {path}",
                f"name one of those that it has ({names}), or build it for this version with SPILLWAY_OTHER_MPICC",
            )
        return path
    if not candidates:
        raise LaunchError(
            f"this installation of Spillway has no {start}{library.flavour}.so",
            f"build Spillway on a machine with {TITLES[library.flavour]}'s mpi.h installed",
        )
    if not library.path or len(candidates) == 1:
        return candidates[0]
    functions = mpi_functions_in(library.path)

    def distance(candidate: str) -> Tuple[int, int]:
        ours = mpi_functions_in(candidate)
        return len(functions - ours), len(ours - functions)

    return min(candidates, key=distance)


def mpi_functions_in(path: str) -> Set[str]:
    """Names of the MPI functions that an ELF file has or uses."""
    matches = map(_FUNCTION.fullmatch, dynamic_names(path).split(b"\0"))
    return {match[1].decode() for match in matches if match}
