"""A part of mpi4py's own test suite: what passes on plain MPI passes under Spillway. run_suite.py runs all of it."""

import sys
from pathlib import Path
from typing import List

import pytest
from runner import Runner

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

RUN_SUITE = Path(__file__).with_name("run_suite.py")
# All modules in one layout (ranks and slots; t: a tight memory budget), but those that do not end on plain MPI, and
# three that compute for half a minute with datatypes, without a message.
LAYOUT_OF_ALL = "2/1t"
LOCAL = ["test_datatype", "test_pack", "test_util_dtlib"]
WITHOUT = {
    "mpich": [*LOCAL, "test_util_sync"],
    "openmpi": [*LOCAL, "test_spawn", "test_util_sync"],
}
# MPICH's one-sided calls spin, and can take minutes where others compute, also on plain MPI: these run by themselves,
# the others two at a time, one rank of each in its slot.
ALONE = {"mpich": ["test_rma*"], "openmpi": []}
# And these, which take a few seconds at most in any layout, in another one.
MODULES = [
    "test_attributes",
    "test_cco_obj",
    "test_cco_obj_inter",
    "test_comm",
    "test_grequest",
    "test_p2p_buf_matched",
    "test_p2p_obj",
    "test_request",
    "test_win",
]
LAYOUT = "3/2t"
LIMIT_S = 600


@pytest.fixture(scope="session")
def suite(build_dir: Path) -> List[object]:
    return [sys.executable, RUN_SUITE, "--build", build_dir, "--limit", 120]


def test_what_passes_on_plain_mpi_passes_under_spillway(
    run: Runner, suite: List[object], build_dir: Path, flavour: str
) -> None:
    options = ["--flavours", flavour, "--output", build_dir / "mpi4py" / f"results-{flavour}", "--layouts"]
    together = ["--jobs", 2, "--without", *WITHOUT[flavour], *ALONE[flavour]]
    run(*suite, *options, LAYOUT_OF_ALL, *together, timeout_s=LIMIT_S)
    if ALONE[flavour]:
        run(*suite, *options, LAYOUT_OF_ALL, "--modules", *ALONE[flavour], timeout_s=LIMIT_S)
    run(*suite, *options, LAYOUT, "--modules", *MODULES, timeout_s=LIMIT_S)
