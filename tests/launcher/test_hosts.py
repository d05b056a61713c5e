"""Hosts, their racks, and the ways of broadcasts between them, as the command line and its files say."""

import os

import pytest
from spillway_front_end.broadcasts import rules_of
from spillway_front_end.errors import LaunchError
from spillway_front_end.host_options import HostOptions, named_options, node_words
from spillway_front_end.hosts import HostList, hosts_of_file, hosts_of_job, is_this_machine


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


def test_nodes_are_hosts_by_their_addresses_or_else_by_their_names():
    own = os.uname().nodename
    hosts = HostList(["10.0.0.1", own, "no.such.invalid", "10.0.0.3"], "block", "10.0.0.9")
    nodes = [(own, "10.0.0.9"), ("x", "10.0.0.3"), ("NO.other", "10.0.0.7"), ("other", "10.0.0.8"), ("x", "10.0.0.1")]
    assert hosts.numbers_of(nodes) == [1, 3, 2, None, 0]


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


def options_of_file(tmp_path, text):
    file = tmp_path / "hosts"
    file.write_text(text)
    return hosts_of_file(str(file))


def test_a_host_may_give_more_or_less_than_the_others(tmp_path):
    found = options_of_file(tmp_path, "a slots=4 memory=64G # new\nB\nc spill-dir=/x spill-dir=/y memory=1G\nb\n")
    assert found == {
        "a": HostOptions(4, "64G"),
        "B": HostOptions(),
        "c": HostOptions(None, "1G", ("/x", "/y")),
    }


def test_options_of_hosts_reach_their_nodes(tmp_path):
    found = options_of_file(tmp_path, "a memory=1G\nb\nc memory=1G\nd slots=2 spill-dir=/x\n")
    words = node_words(found)
    assert words[::2] == ["--of"] * 3 and "a,c memory=1G" in words
    assert dict(named_options(words[1::2])) == found
    assert node_words(options_of_file(tmp_path, "a\nb\n")) == []


def test_a_name_that_means_each_host_itself_is_that_of_this_machine_elsewhere():
    options = {"localhost": HostOptions(64, "200G"), "b": HostOptions(4)}
    found = HostList(["localhost", "b"], "block", "10.0.0.9", options=options).options_elsewhere()
    assert found == {os.uname().nodename: HostOptions(64, "200G"), "b": HostOptions(4)}


def test_what_is_said_of_a_host_counts_before_what_is_said_of_all():
    of_all = HostOptions(8, "2G", ("/z",))
    assert HostOptions().before(of_all) == of_all
    assert HostOptions(1, None, ("/x", "/y")).before(of_all) == HostOptions(1, "2G", ("/x", "/y"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b ranks=4", "line 2: `ranks=4` is no option of a host"),
        ("b c", "line 2: `c` is no option of a host"),
        ("b slots=0", "line 2: `slots=0` is no option of a host"),
        ("b slots=2 slots=3", "line 2: `slots=3` is no option of a host"),
        ("b memory=", "line 2: `memory=` is no option of a host"),
        ("b memory=lots", "line 2: `lots` is not a size"),
        ("b spill-dir=here", "line 2: `spill-dir=here` is no option of a host"),
        ("A memory=1G", "line 2: A has other options in a line before"),
    ],
)
def test_mistakes_in_options_of_hosts_are_named(tmp_path, line, message):
    with pytest.raises(LaunchError, match=message):
        options_of_file(tmp_path, f"a\n{line}\n")


def test_too_many_different_options_of_hosts_are_refused():
    many = {f"host{number}": HostOptions(None, None, (f"/disk{number}/" + "x" * 200,)) for number in range(500)}
    with pytest.raises(LaunchError, match="too many different options"):
        node_words(many)


def test_this_machine_is_known_by_its_name_and_by_its_addresses():
    assert is_this_machine(os.uname().nodename.upper()) and is_this_machine("127.0.0.1")
    assert not is_this_machine("no.such.host.invalid") and not is_this_machine("198.51.100.7")


def test_options_of_this_machine_in_a_hostfile_count_without_other_machines(
    run, spillway, build_dir, spill_dir, tmp_path
):
    (tmp_path / "hosts").write_text(f"localhost slots=3 memory=77M spill-dir={spill_dir}\n")
    program = next((build_dir / "lib" / "spillway" / "tests").glob("sizes-*"))
    words = ["run", "--hostfile", tmp_path / "hosts", "-n", 5, "--slots", 1, "--memory", "1G", "--dry-run", program]
    page = run(spillway, *words).stdout
    assert (
        f"slots            3  (asked for)\nmemory budget    77.0 MiB  (asked for)\nspill directory  {spill_dir}  ("
        in page
    )


def test_hosts_that_are_left_out_are_none_of_the_job(tmp_path):
    (tmp_path / "hosts").write_text("10.0.0.1 slots=2\n10.0.0.2\n10.0.0.3 slots=4\n")
    (tmp_path / "racks").write_text("10.0.0.1 r1\n10.0.0.2 r2\n10.0.0.3 r1\n")
    racks = str(tmp_path / "racks")
    for listed, path in (("10.0.0.1,10.0.0.2,10.0.0.3", None), (None, str(tmp_path / "hosts"))):
        found = hosts_of_job(listed, path, "block", "10.0.0.9", racks, ["10.0.0.1"])
        assert found.names == ["10.0.0.2", "10.0.0.3"]
        assert found.racks == {"10.0.0.2": "r2", "10.0.0.3": "r1"}
        assert found.options == ({"10.0.0.2": HostOptions(), "10.0.0.3": HostOptions(slots=4)} if path else {})


def test_this_machine_may_be_left_alone():
    assert hosts_of_job("localhost,10.0.0.1", None, "block", "10.0.0.9", None, ["10.0.0.1"]) is None
