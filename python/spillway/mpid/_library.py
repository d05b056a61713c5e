"""Which libmpid suits the process, its functions, and what their codes mean.

The C side: include/spillway/mpid.h, mpid_files.h. tests/keyvalue holds this package against it.
"""

import ctypes
import os
import re
from pathlib import Path
from typing import Dict, Optional

SUCCESS = 0
ERR_CONF = 1001
ERR_STATE = 1002
ERR_COMM = 1003
ERR_PARTITION = 1004
ERR_CONTROL = 1005
ERR_MODE = 1006
ERR_CHECKPOINT = 1007
ERR_BATCH = 1008
ERRORS_RETURN = 1
OPERATIONS = {"sum": 1, "min": 2, "max": 3}

LIBRARY_VARIABLE = "MPI_D_LIBRARY"  # set by mpidrun: the path of libmpid-<flavour>.so
# What only one family's library exports, and what only its launcher sets.
_MARKS = {"mpich": "MPIR_Dup_fn", "openmpi": "ompi_mpi_comm_world"}
_LAUNCHER_VARIABLES = {"openmpi": "OMPI_COMM_WORLD_SIZE", "mpich": "PMI_SIZE"}
_MPI_LIBRARY = re.compile(r"/lib(mpi|mpich)\.so[^/]*$")
_OWN_LIBRARY = re.compile(r"/lib(?:spillway|mpid)-(mpich|openmpi)[^/]*\.so$")


class Error(RuntimeError):
    """What a function of the library has refused. `code` is one of the MPI_D_ERR_ codes."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Bytes(ctypes.Structure):
    """MPI_D_Bytes"""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Column(ctypes.Structure):
    """MPI_D_Column"""

    _fields_ = [(name, ctypes.c_void_p) for name in ("data", "offsets", "short_offsets", "ends")]


class Entry(ctypes.Structure):
    """MPI_D_Entry"""

    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


CompareFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
PartitionFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
CombineFunction = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

_FUNCTIONS: Dict[str, tuple] = {
    "MPI_D_Comm_bipartite_o": (ctypes.c_void_p,),
    "MPI_D_Comm_bipartite_a": (ctypes.c_void_p,),
    "MPI_D_Init": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Entry)),
    "MPI_D_Finalize": (ctypes.c_int,),
    "MPI_D_Comm_rank": (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)),
    "MPI_D_Comm_size": (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)),
    "MPI_D_Is_nearest": (ctypes.c_int, ctypes.c_int),
    "MPI_D_Allgather": (ctypes.c_int, ctypes.POINTER(Bytes)),
    "MPI_D_Next_task": (ctypes.c_int,),
    "MPI_D_Is_driver": (ctypes.c_int,),
    "MPI_D_Next_round": (ctypes.c_int, ctypes.c_int),
    "MPI_D_Round": (ctypes.c_int, ctypes.POINTER(ctypes.c_int)),
    "MPI_D_Bcast": (ctypes.c_int, ctypes.POINTER(Bytes)),
    "MPI_D_Flush": (ctypes.c_int,),
    "MPI_D_End_window": (ctypes.c_int,),
    "MPI_D_Next_window": (ctypes.c_int,),
    "MPI_D_Send_batch": (ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(Column), ctypes.POINTER(Column)),
    "MPI_D_Send_batch_to_driver": (ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(Column), ctypes.POINTER(Column)),
    "MPI_D_Recv_batch": (
        ctypes.c_int,
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.POINTER(Column),
        ctypes.POINTER(Column),
    ),
    "MPI_D_Set_compare": (ctypes.c_int, CompareFunction, ctypes.c_void_p),
    "MPI_D_Set_partition": (ctypes.c_int, PartitionFunction, ctypes.c_void_p),
    "MPI_D_Set_combine": (ctypes.c_int, CombineFunction, ctypes.c_void_p),
    "MPI_D_Set_combine_op": (ctypes.c_int, ctypes.c_int),
    "MPI_D_Set_errhandler": (ctypes.c_int, ctypes.c_int),
    "MPI_D_Error_string": (ctypes.c_char_p, ctypes.c_int),
    "MPI_D_Fail": (None, ctypes.c_char_p),
    "MPI_D_Fail_for_good": (None, ctypes.c_char_p),
    "MPI_D_File_error": (ctypes.c_char_p,),
    "MPI_D_Is_compressed": (ctypes.c_int, ctypes.c_char_p),
    "MPI_D_Codec_of": (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t),
    "MPI_D_Decompress_open": (ctypes.c_void_p, ctypes.c_char_p),
    "MPI_D_Decompress_read": (ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "MPI_D_Decompress_close": (None, ctypes.c_void_p),
    "MPI_D_Compress_open": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)),
    "MPI_D_Compress_write": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t),
    "MPI_D_Compress_finish": (ctypes.c_int, ctypes.c_void_p),
    "MPI_D_Compress_close": (None, ctypes.c_void_p),
    "MPI_D_Part_suffix": (ctypes.c_char_p,),
    "MPI_D_Begin_partial": (ctypes.c_int, ctypes.c_char_p),
    "MPI_D_End_partial": (None, ctypes.c_char_p),
    "MPI_D_Publish": (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p),
    "MPI_D_Publish_later": (ctypes.c_int, ctypes.c_void_p),
    "MPI_D_Is_other_part": (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p),
    "MPI_D_Is_this_host": (ctypes.c_int, ctypes.c_char_p),
}

library: Optional[ctypes.CDLL] = None


def mapped_files() -> Dict[str, str]:
    """Of the process, by device and inode: a link is not another library."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        rows = [row.split(maxsplit=5) for row in map(str.strip, maps)]
    return {f"{row[3]} {row[4]}": row[5] for row in rows if len(row) == 6}


def _loaded_mpi_libraries() -> Dict[str, str]:
    return {place: path for place, path in mapped_files().items() if _MPI_LIBRARY.search(path)}


def _loaded_flavour() -> Optional[str]:
    """Of the MPI library that mpi4py has loaded, or of the library that `spillway run` has preloaded."""
    for path in _loaded_mpi_libraries().values():
        loaded = ctypes.CDLL(path)
        for flavour, mark in _MARKS.items():
            if hasattr(loaded, mark):
                return flavour
    own = filter(None, map(_OWN_LIBRARY.search, mapped_files().values()))
    return next((found.group(1) for found in own), None)


def _launched_flavour() -> Optional[str]:
    named = _OWN_LIBRARY.search("/" + os.environ.get(LIBRARY_VARIABLE, ""))
    if named:
        return named.group(1)
    return next((flavour for flavour, name in _LAUNCHER_VARIABLES.items() if name in os.environ), None)


def library_path() -> str:
    """Raises RuntimeError where it is not known, or not there."""
    loaded, launched = _loaded_flavour(), _launched_flavour()
    if loaded and launched and loaded != launched:
        raise RuntimeError(
            f"the program has loaded the MPI library {loaded}, and was started for {launched}\n"
            f"  Remedy: say --mpi {loaded} to mpidrun, or use the mpiexec of {loaded}."
        )
    flavour = loaded or launched
    if flavour is None:
        raise RuntimeError(
            "which MPI library this process is to use is not known: none is loaded, and no launcher has started it\n"
            "  Remedy: start it with `mpidrun --mpi mpich python3 ...` (or openmpi), or an mpiexec."
        )
    path = os.environ.get(LIBRARY_VARIABLE)
    if path is None:
        path = str(Path(__file__).resolve().parents[3] / f"libmpid-{flavour}.so")
    if not os.path.exists(path):
        raise RuntimeError(
            f"there is no {path}\n"
            f"  Remedy: start it with mpidrun, or name the libmpid-{flavour}.so of a build with {LIBRARY_VARIABLE}."
        )
    return path


def load() -> ctypes.CDLL:
    """Raises RuntimeError, which says what is missing."""
    global library
    if library is not None:
        return library
    path = library_path()
    found = ctypes.CDLL(path)
    of_program = set(_loaded_mpi_libraries().values())
    if len(of_program) > 1:
        raise RuntimeError(
            f"there are two MPI libraries in this process, that of {path} and another one: {', '.join(of_program)}\n"
            "  Remedy: let mpi4py load that of Spillway's build (LD_LIBRARY_PATH), or build Spillway for its own."
        )
    for name, (result, *parameters) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, parameters
    found.MPI_D_Set_errhandler(ERRORS_RETURN)
    library = found
    return found


def loaded_library() -> ctypes.CDLL:
    if library is None:
        raise Error(ERR_STATE, "called before Init()\n  Remedy: call it between Init() and Finalize().")
    return library


def check(code: int) -> None:
    if code != SUCCESS:
        raise Error(code, loaded_library().MPI_D_Error_string(code).decode(errors="replace"))
