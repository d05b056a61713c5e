"""The applications find on several nodes, in less memory than their data need, what they find on plain MPI: to the bit,
on hosts and on virtual nodes."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

LIMIT_S = 120
RANKS = 4
RANKS_PER_NODE = 2
# A graph or matrix of some 40 MiB; in turn: its generator's words, the program's, the
# budget of a node, and the ends of the output's names.
APPLICATIONS = {
    "pagerank": (["graph-generate", "--scale", 18, "--edge-factor", 40], ["-i", 3], "32M", [""]),
    "kmeans": (["matrix-generate", "documents", "--rows", 45000], ["-k", 8, "-i", 3], "16M", [""]),
    "sgd": (["matrix-generate", "ratings", "--rows", 30000, "--entries", 5000000], ["-i", 2], "20M", [".u", ".v"]),
}


@pytest.fixture(params=["hosts", "virtual_nodes"])
def bed(request):
    return request.param


@pytest.fixture
def node_words(bed, network, run):
    """Two nodes."""
    if bed == "virtual_nodes":
        return ["--ranks-per-node", RANKS_PER_NODE]
    run.environment.update(network.environment)
    return ["--hosts", ",".join(network.hosts[: RANKS // RANKS_PER_NODE])]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_finds_the_same(run, spillway, build_dir, plain_mpi, spill_dir, flavour, node_words, tmp_path, name):
    generator, options, budget, ends = APPLICATIONS[name]
    data, plain, found, summary = (tmp_path / file for file in ("data", "plain", "found", "summary"))
    run(build_dir / "bin" / generator[0], *generator[1:], data)
    program = build_dir / "lib" / "spillway" / "tests" / f"{name}-{flavour}"
    run(*plain_mpi(flavour, RANKS), program, *options, "-o", plain, data, timeout_s=LIMIT_S)
    fixed = ["-n", RANKS, "--slots", 1, "--memory", budget, "--spill-dir", spill_dir]
    fixed += ["--summary", "json", "--summary-file", summary, *node_words, "--", program]
    run(spillway, "run", *fixed, *options, "-o", found, data, timeout_s=LIMIT_S)
    for end in ends:
        assert (tmp_path / f"found{end}").read_bytes() == (tmp_path / f"plain{end}").read_bytes() != b""
    said = json.loads(summary.read_text())
    assert len(said["nodes"]) == RANKS // RANKS_PER_NODE
    assert said["totals"]["unloaded_bytes"] > 1 << 20
    assert all(node["peak_bytes"] <= node["budget_bytes"] for node in said["nodes"]), said["nodes"]
