"""`--detect-deadlock`: says which ranks wait for what, and ends the job; leaves a working job alone."""

import re

import pytest
from failing_jobs import RANKS, assert_says, message_of

pytestmark = pytest.mark.usefixtures("nothing_left_behind")


NODES = pytest.mark.parametrize("node_options", [[], ["--ranks-per-node", "1"]], ids=["one_node", "virtual_nodes"])


@NODES
def test_names_every_rank_and_what_it_waits_for(run, job_command, flavour, node_options):
    finished = run(*job_command(flavour, "deadlock", "--detect-deadlock", *node_options), status=1)
    assert_says(finished.stderr, "spillway: the program is in a deadlock")
    message = message_of(finished.stderr)
    for rank in range(RANKS):
        line = next(line for line in message.splitlines() if f" rank {rank} waits for " in line)
        found = re.search(rf"from rank {(rank + 1) % RANKS}\b.*\btag 7\b", line)
        assert found, line
    assert finished.ran_s < 15


@pytest.mark.parametrize(
    ("how", "elsewhere"),
    [
        ("sum", "MPI_Allreduce on a communicator of 3: 1 ranks have not sent what they combine, rank 0 first"),
        (
            "begun_sum",
            "MPI_Iallreduce on a communicator of 3: not all ranks have come of 1 nodes, that of rank 0 first",
        ),
    ],
)
def test_names_no_rank_that_has_come_to_a_collective_operation(run, job_command, flavour, how, elsewhere):
    """Rank 1 has not, which is on a node with rank 0."""
    finished = run(*job_command(flavour, how, "--detect-deadlock", "--ranks-per-node", "2"), status=1)
    lines = message_of(finished.stderr).splitlines()
    waits = [next(line for line in lines if f" rank {rank} waits for " in line) for rank in range(RANKS)]
    assert "on a communicator of 3: 1 ranks have not come, rank 1 first" in waits[0]
    assert "from rank 0" in waits[1]
    assert elsewhere in waits[2]


@NODES
def test_leaves_a_working_job_alone(run, job_command, flavour, node_options):
    finished = run(*job_command(flavour, "slow_messages", "--detect-deadlock", *node_options), status=0)
    assert "deadlock" not in finished.stderr
