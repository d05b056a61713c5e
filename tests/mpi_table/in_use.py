"""The MPI libraries that the build under test uses, and where the table and its generator are."""

import os
from typing import Dict, Tuple

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = os.path.join(REPOSITORY, "src")
FUNCTIONS = os.path.join(SOURCES, "library", "functions")
BUILD = os.path.abspath(os.environ.get("SPILLWAY_BUILD", os.path.join(REPOSITORY, "build")))
COMPILER = os.environ.get("CXX", "c++")


def headers_in_use() -> Dict[str, str]:
    """Each flavour's mpi.h, as the build recorded them. No build is an error, not an empty list that passes."""
    folder = os.path.join(BUILD, "mpi_headers")
    if not os.path.isdir(folder) or not os.listdir(folder):
        raise RuntimeError(f"{folder} names no mpi.h: configure the project there, or set SPILLWAY_BUILD")
    headers = {}
    for flavour in sorted(os.listdir(folder)):
        with open(os.path.join(folder, flavour), encoding="utf-8") as file:
            headers[flavour] = file.read().strip()
    return headers


def program_of(flavour: str) -> str:
    """One that is linked with the MPI library."""
    return os.path.join(BUILD, "lib", "spillway", "tests", f"sizes-{flavour}")


def library_of(flavour: str) -> str:
    return os.path.join(BUILD, "lib", "spillway", f"libspillway-{flavour}.so")


def version(text: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
