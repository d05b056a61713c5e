"""The package `spillway` in scripts with mpi4py, under several numbers of slots and without Spillway."""

import json
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

SOURCE = Path(__file__).resolve().parents[2]
REQUESTS = "requests_to_spillway.py"


@pytest.mark.one_node
@pytest.mark.parametrize(("ranks", "slots"), [(1, 1), (4, 1), (4, 2)])
def test_one_rank_is_inside_the_critical_section_at_a_time(script_job, tmp_path, ranks, slots):
    finished = script_job(ranks, slots, REQUESTS, "critical", tmp_path / "inside", 20)
    assert finished.stdout == f"entered {ranks * 20} times\n"


def test_rank_that_dies_inside_the_critical_section_is_named(script_job):
    finished = script_job(3, 1, REQUESTS, "die_inside", status=137)
    assert re.search(r"^spillway: rank 2 on host .* was killed .* inside the critical section$", finished.stderr, re.M)


def test_mpi_finalize_inside_a_block_leaves_the_critical_section(script_job):
    finished = script_job(3, 2, REQUESTS, "finalize_inside")
    assert "rank 0 has called MPI_Finalize inside the critical section" in finished.stderr


@pytest.mark.parametrize("slots", [1, 2])
def test_arrays_are_unloaded_loaded_and_discarded_on_request(script_job, slots):
    assert script_job(2, slots, REQUESTS, "ranges", 16).stdout == "unloaded, loaded and discarded\n"


@pytest.mark.parametrize("slots", [1, 2])
def test_allocated_array_lives_as_long_as_its_views(script_job, slots):
    assert script_job(2, slots, REQUESTS, "allocated").stdout == "allocated and freed\n"


def test_other_python_threads_run_while_one_waits_for_the_critical_section(script_job):
    assert script_job(2, 1, REQUESTS, "threads").stdout == "other threads ran\n"


def test_nothing_is_unloaded_while_the_mpi_library_uses_memory(script_job):
    assert script_job(2, 1, REQUESTS, "in_use").stdout == "free again\n"


def test_same_script_without_spillway_is_told_so(plain_script):
    assert plain_script(2, REQUESTS, "without").stdout == "not under Spillway\n"


@pytest.mark.parametrize("slots", [1, 2])
def test_places_on_the_node_are_those_of_mpi(script_job, slots):
    assert script_job(5, slots, "nodes.py").stdout == "5 ranks on 1 nodes\n"


def test_places_on_the_node_without_spillway(plain_script):
    assert plain_script(5, "nodes.py").stdout == "5 ranks on 1 nodes\n"


@pytest.mark.parametrize(("ranks", "nodes"), [(5, 2), (7, 3)])
def test_places_on_several_nodes(plain_script, flavour, ranks, nodes):
    # MPICH can be told to take one machine for several. Open MPI cannot, and does not look at the variable.
    finished = plain_script(ranks, "nodes.py", env={"MPIR_CVAR_NUM_CLIQUES": str(nodes)})
    assert finished.stdout == f"{ranks} ranks on {nodes if flavour == 'mpich' else 1} nodes\n"


@pytest.mark.one_node
@pytest.mark.parametrize("slots", [1, 2])
def test_script_that_knows_nothing_of_spillway_works_out_of_core(script_job, plain_script, tmp_path, slots):
    """8 ranks with arrays of 16 MiB and temporary ones of the same size, in half of the memory that they need."""
    ranks, mib = 8, 16
    memory = f"{16 + ranks * 20 + ranks * mib // 2}M"
    report = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    finished = script_job(ranks, slots, "arrays.py", mib, memory=memory, report=report)
    assert finished.stdout == plain_script(ranks, "arrays.py", mib).stdout != ""
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["unloaded_bytes"] > ranks * mib << 20
    assert summary["peak_bytes"] <= summary["budget_bytes"]


@pytest.mark.one_node
def test_objects_of_python_are_unloaded_where_python_takes_them_from_malloc(script_job, plain_script, tmp_path):
    """As the how-to page says: 8 ranks with 40 MiB of strings and lists, in less memory than they need."""
    ranks, mib = 8, 40
    memory = f"{16 + ranks * 20 + ranks * mib // 4}M"  # with half of it, 8 ranks of Open MPI have nearly enough
    report = ["--summary", "json", "--summary-file", tmp_path / "summary"]
    environment = {"PYTHONMALLOC": "malloc"}
    finished = script_job(ranks, 1, "objects.py", mib, memory=memory, report=report, env=environment)
    assert finished.stdout == plain_script(ranks, "objects.py", mib).stdout != ""
    summary = json.loads((tmp_path / "summary").read_text())
    assert summary["totals"]["unloaded_bytes"] > ranks * mib << 17
    assert summary["peak_bytes"] <= summary["budget_bytes"]


def test_package_can_be_installed_with_pip(run, script, variables, tmp_path):
    python = script("nodes.py")[0]
    run(python, "-m", "pip", "install", "--no-deps", "--target", tmp_path, SOURCE / "python", timeout_s=120)
    words = [python, "-c", "import spillway; print(spillway.__file__, spillway.place())"]
    finished = run(*words, env={**variables, "PYTHONPATH": str(tmp_path)})
    assert finished.stdout.startswith(f"{tmp_path}/spillway/__init__.py Place(node_count=1, node=0, local_size=1, ")
