"""mpidrun's TaskServer alone, as processes of a job talk with it."""

import os
import resource
import socket
from threading import Thread
from typing import Callable, Iterator, List

import pytest
from spillway_front_end.task_server import _VERSION, MODES, TaskServer

Ask = Callable[[str], str]


@pytest.fixture
def process() -> Iterator[Callable[[int, int], Ask]]:
    """process(number, o_tasks): one that has said hello; gives a function that sends a line and returns the answer."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)  # which the server raises
    server = TaskServer("127.0.0.1", "mapreduce")
    read_end, write_end = os.pipe()
    connections: List[socket.socket] = []
    with open(read_end, "rb") as pipe:
        thread = Thread(target=server.serve_until_end, args=(pipe, 1, lambda: None))
        thread.start()

        def begin(number: int, o_tasks: int) -> Ask:
            host, port = server.address.split(":")
            connection = socket.create_connection((host, int(port)), timeout=10)
            connections.append(connection)
            lines = connection.makefile("r")

            def ask(line: str) -> str:
                connection.sendall(f"{line}\n".encode())
                return lines.readline().rstrip("\n")

            assert ask(f"hello {_VERSION} {server.secret} {number} {MODES['mapreduce']} {o_tasks} 1") == "welcome"
            return ask

        yield begin
        os.close(write_end)
        thread.join()
    for connection in connections:
        connection.close()
    server.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_host_gets_its_own_tasks_first_and_then_those_of_nobody(process: Callable[[int, int], Ask]) -> None:
    first, second, third = (process(number, 8) for number in range(3))
    for number, ask in enumerate((first, second, third)):
        assert ask(f"host {number}") == "ok"
    assert first("hosts -1 1 0 1") == first("hosts -1 0 1 0") == "ok"
    assert first("done 3 4") == "ok"
    assert [first("task"), first("task")] == ["2", "5"]
    assert [third("task"), second("task"), second("task")] == ["0", "1", "6"]
    assert [second("task"), third("task")] == ["-1", "-1"]  # task 7 is of the first one's host
    assert [first("task"), first("task")] == ["7", "-1"]


def test_without_hosts_whoever_asks_gets_the_next_task(process: Callable[[int, int], Ask]) -> None:
    first, second = process(0, 4), process(1, 4)
    assert second("done 1") == "ok"
    assert [second("task"), first("task"), second("task"), first("task")] == ["0", "2", "3", "-1"]
