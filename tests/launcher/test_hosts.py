"""Hosts, their racks, and the ways of broadcasts between them, as the command line and its files say."""

import os

import pytest
from spillway_front_end.broadcasts import rules_of
from spillway_front_end.errors import LaunchError
from spillway_front_end.hosts import HostList, hosts_of_job


def hosts(tmp_path, racks, names="a,b"):
    file = tmp_path / "racks"
    file.write_text(racks)
    return hosts_of_job(names, None, "block", "10.0.0.9", str(file))


def test_hosts_of_a_rack_follow_each_other_in_the_order_of_the_first_ones(tmp_path):
    found = hosts(tmp_path, "10.0.0.1 r2\n10.0.0.2 r1 # far away\n\n10.0.0.3 r2\n", "10.0.0.1,10.0.0.2,10.0.0.3")
    assert found.ring() == "10.0.0.1=10.0.0.1,10.0.0.3=10.0.0.3,10.0.0.2=10.0.0.2"


def test_this_machine_is_known_by_the_address_that_the_others_reach(tmp_path):
    own = os.uname().nodename
    found = hosts(tmp_path, f"{own.upper()} r\n10.0.0.1 r", f"{own},10.0.0.1")
    assert found.ring() == f"{own}=10.0.0.9,10.0.0.1=10.0.0.1"


def test_a_host_without_an_address_is_known_by_its_name():
    assert HostList(["no.such.host.invalid"], "block", "10.0.0.9", {"no.such.host.invalid": "r"}).ring() == (
        "no.such.host.invalid="
    )


@pytest.mark.parametrize(
    ("racks", "message"),
    [
        ("a r1\nb\n", "line 2: `b` is not a host and its rack"),
        ("a r1 r2\n", "line 1: `a r1 r2` is not a host and its rack"),
        ("a r1\n", "does not say where b is$"),
        ("", "does not say where a, b are$"),
    ],
)
def test_mistakes_in_the_file_of_racks_are_named(tmp_path, racks, message):
    with pytest.raises(LaunchError, match=message):
        hosts(tmp_path, racks)


def test_racks_and_broadcasts_are_for_several_machines(run, spillway, tmp_path):
    (tmp_path / "file").write_text("a r\n")
    for option in ("--racks", "--broadcasts"):
        text = run(spillway, "run", option, tmp_path / "file", "true", status=2).stderr
        assert f"{option} is for jobs on several" in text


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LaunchError, match="cannot read --racks /no/file: No such file"):
        hosts_of_job("a,b", None, "block", "10.0.0.9", "/no/file")
    with pytest.raises(LaunchError, match="cannot read --broadcasts /no/file: No such file"):
        rules_of("/no/file")


def test_rules_of_broadcasts_become_what_the_agents_read(tmp_path):
    file = tmp_path / "rules"
    file.write_text("# nodes bytes algorithm\n2 any flat\n\n8 32K scatter-allgather # short\nany any chain\n")
    assert rules_of(str(file)) == f"3 2 {2**64 - 1} flat 8 32768 scatter-allgather {2**32 - 1} {2**64 - 1} chain"


@pytest.mark.parametrize(
    "line", ["8 32K", "8 32K flat x", "8 32Q flat", "-1 32K flat", "0 1 flat", "x 1 flat", "8 1 ring"]
)
def test_mistakes_in_rules_are_named(tmp_path, line):
    file = tmp_path / "rules"
    file.write_text(f"any 1 flat\n{line}\n")
    with pytest.raises(LaunchError, match=f"line 2: `{line}` is no rule"):
        rules_of(str(file))


def test_a_file_without_rules_is_refused(tmp_path):
    file = tmp_path / "rules"
    file.write_text("# none\n")
    with pytest.raises(LaunchError, match="has no rule"):
        rules_of(str(file))
