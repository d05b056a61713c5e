"""`spillway sort` on several hosts, which share a file system: or a message that names the host, and nothing left."""

import json
import os
import re
import shlex
import signal
import time
from pathlib import Path
from typing import Callable, List

import pytest
from held_processes import BLOCK_BYTES, Gate
from marked_processes import marked_processes
from measuring.network import Network
from record_files import expect_sorted, random_keys, records, written
from runner import Finished, Runner, outcome_within
from standstill import TimeLimit

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

LIMIT_S = 90
# A lost host is noticed, and the job ended, within so many seconds.
PROMPT_S = 10


@pytest.fixture
def words(run: Runner, spillway: Path, flavour: str, spill_dir: Path, network: Network) -> List[object]:
    run.environment.update(network.environment)
    own = ["--mpi", flavour, "--spill-dir", spill_dir]
    return [spillway, "sort", *own, "--hosts", ",".join(network.hosts)]


@pytest.fixture
def sort(run: Runner, words: List[object], tmp_path: Path) -> Callable[..., Finished]:
    """Where its files are, which it names without their folder."""

    def run_sort(*more: object, status: int = 0) -> Finished:
        return run(*words, "--output", "sorted", *more, status=status, timeout_s=LIMIT_S, cwd=tmp_path / "files")

    (tmp_path / "files").mkdir()
    return run_sort


def names_in(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("options", "is_in_memory"),
    [
        (["-n", 5, "--memory", "96M"], False),
        (["-n", 6, "--memory", "48M", "--ranks-per-node", 1, "--placement", "cyclic", "--readers", 3], False),
        (["-n", 3, "--memory", "256M"], True),
    ],
)
def test_finds_the_same_on_hosts(
    sort: Callable[..., Finished], tmp_path: Path, options: List[object], is_in_memory: bool
) -> None:
    source = written(tmp_path / "files" / "records", records(random_keys(1_000_000)))
    page = tmp_path / "page"
    sort(*options, "--summary", "json", "--summary-file", page, "records")
    expect_sorted(tmp_path / "files" / "sorted", [source])
    assert json.loads(page.read_text())["in_memory"] is is_in_memory
    assert names_in(tmp_path / "files") == ["records", "sorted"]


def test_two_sided_delivery_between_hosts(sort: Callable[..., Finished], tmp_path: Path) -> None:
    """The first host reads; on the others one of three processes only receives."""
    source = written(tmp_path / "files" / "records", records(random_keys(600_000)))
    sort("-n", 9, "--readers", 3, "--delivery", "two-sided", "--memory", "192M", "records")
    expect_sorted(tmp_path / "files" / "sorted", [source])


def test_lines_in_parts_on_hosts(sort: Callable[..., Finished], tmp_path: Path) -> None:
    lines = [f"{number * 7919 % 200_003:x} {'line ' * (number % 30)}\n".encode() for number in range(200_000)]
    (tmp_path / "files" / "lines").write_bytes(b"".join(lines))
    sort("-n", 3, "--lines", "--parts", "--memory", "64M", "lines")
    parts = sorted((tmp_path / "files" / "sorted").glob("part-*"))
    assert len(parts) == 3 and all(part.stat().st_size > 0 for part in parts)
    assert b"".join(part.read_bytes() for part in parts) == b"".join(sorted(lines))


def test_the_host_with_the_least_memory_counts(
    sort: Callable[..., Finished], words: List[object], network: Network, tmp_path: Path
) -> None:
    source = written(tmp_path / "files" / "records", records(random_keys(1_000_000)))
    hosts = zip(network.hosts, ("", "memory=48M", ""))
    (tmp_path / "hosts").write_text("".join(f"{host} {own}\n" for host, own in hosts))
    words[words.index("--hosts") :] = ["--hostfile", tmp_path / "hosts"]
    sort("-n", 3, "--memory", "512M", "--summary", "json", "--summary-file", tmp_path / "page", "records")
    expect_sorted(tmp_path / "files" / "sorted", [source])
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is False


def give_own_files(run: Runner, network: Network, host: str, folder: Path, tmp_path: Path) -> None:
    """On that host there is an empty file system where the others have the folder."""
    [shell] = set(network.environment.values())
    wrapper = tmp_path / "shell-with-own-files"
    own_files = f'mount -t tmpfs none {shlex.quote(str(folder))} && exec {shlex.quote(shell)} "$@"'
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" {host} "*)\n'
        f'  exec unshare --mount sh -c {shlex.quote(own_files)} sh "$@" ;;\n'
        f'esac\nexec {shlex.quote(shell)} "$@"\n'
    )
    wrapper.chmod(0o755)
    run.environment.update(dict.fromkeys(network.environment, str(wrapper)))


def test_a_host_without_an_input_is_named(
    run: Runner, sort: Callable[..., Finished], network: Network, tmp_path: Path
) -> None:
    source = tmp_path / "own" / "records"
    source.parent.mkdir()
    written(source, records(random_keys(100)))
    give_own_files(run, network, network.hosts[1], source.parent, tmp_path)
    message = sort("-n", 3, "--memory", "256M", source, status=1).stderr
    name = network.name_of(network.hosts[1])
    assert f"spillway sort: rank 1 of 3 on {name}: this host has no {source}: No such file or directory" in message
    assert "\n  Remedy: name files that all hosts have" in message
    assert not names_in(tmp_path / "files")


def test_a_host_that_does_not_see_the_output_is_named(
    run: Runner, sort: Callable[..., Finished], network: Network, tmp_path: Path
) -> None:
    source = written(tmp_path / "records", records(random_keys(100)))
    give_own_files(run, network, network.hosts[1], tmp_path / "files", tmp_path)
    message = sort("-n", 3, "--memory", "256M", source, status=1).stderr
    name = network.name_of(network.hosts[1])
    place = re.escape(str(tmp_path / "files"))
    assert re.search(rf"rank 1 of 3 on {name}: this host cannot write {place}/\.sorted\.spillway-", message), message
    assert "which another one has made: No such file or directory\n  Remedy: name an output that all hosts" in message
    assert not names_in(tmp_path / "files")


def test_a_host_that_has_not_the_spill_directory_is_named(
    sort: Callable[..., Finished], words: List[object], network: Network, tmp_path: Path
) -> None:
    source = written(tmp_path / "records", records(random_keys(100)))
    (tmp_path / "hosts").write_text(f"{network.hosts[0]}\n{network.hosts[1]} spill-dir=/not/there\n")
    words[words.index("--hosts") :] = ["--hostfile", tmp_path / "hosts"]
    message = sort("-n", 2, "--memory", "256M", source, status=1).stderr
    assert f"spillway: host {network.name_of(network.hosts[1])} cannot take part\n" in message
    assert "  Cause:  spill directory /not/there: does not exist.\n" in message
    assert not names_in(tmp_path / "files")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_job_begins_leaves_nothing(
    run: Runner, words: List[object], tmp_path: Path, gate: Gate, number: signal.Signals
) -> None:
    """What the command has beside the output is there before the job is, which does not end before the signal."""
    source = written(tmp_path / "records", records(random_keys(100)))
    (tmp_path / "files").mkdir()
    words += ["-n", 3, "--memory", "48M", "--output", tmp_path / "files" / "sorted", source]
    job = run.start(words, env=gate.before("read", source))
    limit = TimeLimit(LIMIT_S)
    while not list((tmp_path / "files").glob(".spillway-sort-*")) and limit.left_s() > 0:
        time.sleep(0.0005)
    job.send_signal(number)
    _, message = outcome_within(job, LIMIT_S)
    assert job.returncode == 128 + number, message
    ends = f"sort was ended by {number.name};", f"the job was ended by signal {int(number)} "
    assert any(f"spillway: {end}" in message for end in ends), message
    assert not names_in(tmp_path / "files")


@pytest.mark.parametrize("how", ["killed", "cut"])
def test_a_process_or_host_that_is_lost_ends_the_sort_and_leaves_nothing(
    run: Runner, words: List[object], flavour: str, network: Network, tmp_path: Path, gate: Gate, how: str
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    words += ["-n", 3, "--memory", "48M", "--output", tmp_path / "sorted", source]
    job = run.start(words, env=gate.before("read", source, least_bytes=BLOCK_BYTES))
    gate.wait_for_one(job)
    limit = TimeLimit(PROMPT_S)
    name = network.name_of(network.hosts[1])
    if how == "cut":
        network.cut(network.hosts[1])
    else:
        programs = marked_processes(run.mark)
        on_host = network.processes_of(network.hosts[1])
        [victim] = [pid for pid in on_host if f"spillway-sort-{flavour}" in programs.get(pid, "").split(" ")[0]]
        os.kill(victim, signal.SIGKILL)
    gate.open()
    _, message = outcome_within(job, LIMIT_S)
    assert limit.left_s() > 0
    assert job.returncode == (1 if how == "cut" else 128 + signal.SIGKILL)
    assert (f"spillway: host {name} is lost" if how == "cut" else f"rank 1 on host {name}") in message
    while marked_processes(run.mark) and limit.left_s() > -PROMPT_S:
        time.sleep(0.1)  # a lost host's ranks find out by themselves
    assert {"records"} == {name for name in names_in(tmp_path) if "sort" in name or name == "records"}
