"""A process of a key-value job tells an mpidrun whose machine is lost from one that is stopped."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List, NamedTuple

import pytest
from runner import Runner, outcome_within
from source_tree import SOURCE
from standstill import TimeLimit

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

SERVER = """
import socket, sys
sys.path.insert(0, sys.argv[1])
from spillway_front_end.task_server import TaskServer
server = TaskServer(sys.argv[2], "mapreduce")
if sys.argv[3] == "little":
    server._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
print(server.address, server.secret, flush=True)
server.serve_until_end(sys.stdin.buffer, 1, lambda: None)
print("over" if server.is_over else "not over")
"""
KEEPALIVE_S, SILENCE_S, LOOK_S, LIMIT_S = 90, 150, 10, 120
FEW, MANY = 1_000_000, 30_000_000  # records: MANY take longer than it takes to fill a little room with figures
RECEIVES = "45 "  # recvfrom, as /proc has it


class Served(NamedTuple):
    server: subprocess.Popen  # in place of mpidrun
    address: str
    process: subprocess.Popen  # in its only O task
    folder: Path


def wait_until(is_so: Callable[[], bool]) -> None:
    limit = TimeLimit(LIMIT_S)
    while not is_so():
        assert limit.left_s() > 0
        time.sleep(0.01)


@pytest.fixture
def served_process(run: Runner, network, test_program, tmp_path) -> Callable[..., Served]:
    """served_process(name, host, records, room): on this machine, of a server on the host with that for what comes."""

    def begin(name: str, host: str, records: int, room: str = "usual") -> Served:
        words = network.command_on(host, sys.executable, "-c", SERVER, str(SOURCE / "python"), host, room)
        server = run.start(words, stdin=subprocess.PIPE)
        address, secret = server.stdout.readline().split()
        folder = tmp_path / name
        folder.mkdir()
        env = {"MPI_D_CONTROL": address, "MPI_D_CONTROL_SECRET": secret, "MPI_D_O_TASKS": "1", "MPI_D_A_TASKS": "1"}
        options = ["combine", "pauses", f"records={records}", f"output={folder}", f"tasks={folder / 'tasks'}"]
        process = run.start([test_program("generated-records"), *options], env=env)
        wait_until(lambda: (folder / "tasks").exists())
        return Served(server, address, process, folder)

    return begin


def expected_lines(records: int) -> List[str]:
    each = records // 1000  # records of a key
    sums = {104729 * i % 1000: i * each + 1000 * each * (each - 1) // 2 for i in range(1000)}
    return [f"{key}\t{total}" for key, total in sorted(sums.items())]


def connection_of(served: Served) -> str:
    """As the kernel sees it."""
    port = served.address.rpartition(":")[2]
    return subprocess.check_output(["ss", "-tnoiH", "dport", "=", f":{port}"], text=True)


def has_no_room(served: Served) -> bool:
    """The kernel asks every now and then whether there is some."""
    return "timer:(persist" in connection_of(served)


def waits_for_answer(served: Served) -> bool:
    """Twice, as what it received at first is no answer to its last question."""
    calls = []
    for _ in range(2):
        calls.append(Path(f"/proc/{served.process.pid}/syscall").read_text())
        time.sleep(0.5)
    return all(call.startswith(RECEIVES) for call in calls)


def check_machine_is_said(served: Served, cause: str, begin: float, bound_s: float) -> None:
    limit = TimeLimit(begin + bound_s + 3 * LOOK_S - time.monotonic())
    while served.process.poll() is None:
        assert limit.left_s() > 0, connection_of(served)
        time.sleep(0.1)
    assert time.monotonic() - begin > KEEPALIVE_S - 3 * LOOK_S
    assert served.process.returncode != 0
    errors = served.process.communicate()[1]
    assert f"nothing comes any more from the machine of mpidrun, {served.address}: {cause}\n" in errors
    assert "Remedy: look whether that machine runs and can be reached" in errors


def end_of_lost_servers(all_served: List[Served]) -> None:
    """As those of a machine that is lost."""
    for served in all_served:
        served.server.kill()
        served.server.wait()


def test_machine_that_is_lost_is_said_and_an_mpidrun_that_is_stopped_is_waited_for(network, served_process) -> None:
    _, lost, here = network.hosts
    stopped = served_process("stopped", here, MANY, "little")
    stopped.server.send_signal(signal.SIGSTOP)
    full = served_process("full", lost, MANY, "little")  # stopped, too, before its machine is lost
    full.server.send_signal(signal.SIGSTOP)
    waiting = served_process("waiting", lost, FEW)
    waiting.server.send_signal(signal.SIGSTOP)
    wait_until(lambda: waits_for_answer(waiting))
    sending = served_process("sending", lost, FEW)
    sending.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: has_no_room(stopped) and has_no_room(full))
    network.cut(lost)
    sending.process.send_signal(signal.SIGCONT)
    begin = time.monotonic()
    check_machine_is_said(waiting, os.strerror(errno.ETIMEDOUT), begin, KEEPALIVE_S)
    check_machine_is_said(sending, f"no answer for {SILENCE_S} s", begin, SILENCE_S)
    check_machine_is_said(full, f"no answer for {SILENCE_S} s", begin, SILENCE_S)
    time.sleep(max(begin + SILENCE_S + 3 * LOOK_S - time.monotonic(), 0))
    assert has_no_room(stopped) and stopped.process.poll() is None
    stopped.server.send_signal(signal.SIGCONT)
    _, errors = outcome_within(stopped.process, LIMIT_S)
    assert stopped.process.returncode == 0, errors
    assert (stopped.folder / "part-00000").read_text().splitlines() == expected_lines(MANY)
    assert stopped.server.communicate()[0] == "over\n"
    end_of_lost_servers([full, waiting, sending])
