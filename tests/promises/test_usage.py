"""include/spillway/spillway.h: what a program can ask about its own memory."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

MIB = 1 << 20


def test_program_can_ask_for_its_own_memory(run, job, flavour):
    stdout = run(*job(flavour, 2, 1, "100M", "usage", 24)).stdout
    found = re.search(r"^managed (\d+) resident (\d+) budget (\d+) slots (\d+)$", stdout, re.MULTILINE)
    managed, resident, budget, slots = (int(word) for word in found.groups())
    assert 24 * MIB <= managed <= 25 * MIB and resident == managed  # it runs, so all of its memory is charged
    assert (budget, slots) == (100 * MIB, 1)


def test_same_program_without_spillway_is_told_so(run, plain_mpi, phases, flavour):
    assert "not under Spillway\n" in run(*plain_mpi(flavour, 2), phases(flavour), "usage", 4).stdout
