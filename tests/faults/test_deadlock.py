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


@NODES
def test_leaves_a_working_job_alone(run, job_command, flavour, node_options):
    finished = run(*job_command(flavour, "slow_messages", "--detect-deadlock", *node_options), status=0)
    assert "deadlock" not in finished.stderr
