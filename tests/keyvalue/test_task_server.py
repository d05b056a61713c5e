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
    assert first("done 3 4") == first("done-a 0") == "ok"
    assert [first("task"), first("task")] == ["2", "5"]
    assert [third("task"), second("task"), second("task")] == ["0", "1", "6"]
    assert [second("task"), third("task")] == ["-1", "-1"]  # task 7 is of the first one's host
    assert [first("task"), first("task")] == ["7", "-1"]


def test_without_hosts_whoever_asks_gets_the_next_task(process: Callable[[int, int], Ask]) -> None:
    first, second = process(0, 4), process(1, 4)
    assert second("done 1") == "ok"
    assert [second("task"), first("task"), second("task"), first("task")] == ["0", "2", "3", "-1"]


@pytest.fixture(params=["stopped", "cut off"])
def silent_address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of an mpidrun that is stopped, or of a host that drops what comes."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting: List[socket.socket] = []
        if request.param == "cut off":  # as nobody is accepted
            for _ in range(3):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex(address)
        yield f"{address[0]}:{address[1]}"
        for connection in waiting:
            connection.close()


@pytest.mark.libraries_in_turn
def test_a_process_whose_configuration_is_refused_does_not_wait_for_long(
    run_records: Callable, silent_address: str
) -> None:
    env = {"MPI_D_CONTROL": silent_address, "MPI_D_MEMORY": "much"}
    finished = run_records("records=1", processes=1, env=env, status=None)
    assert finished.status != 0 and "MPI_D_MEMORY: 'much' is not a size" in finished.stderr
    assert finished.ran_s < 20


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("silent_address", ["cut off"], indirect=True)
def test_mpidrun_that_cannot_be_reached_is_said(run_records: Callable, silent_address: str) -> None:
    finished = run_records("records=1", processes=1, env={"MPI_D_CONTROL": silent_address}, status=None)
    assert f"cannot reach mpidrun at {silent_address}: Connection timed out" in finished.stderr
    assert "Remedy: look for mpidrun" in finished.stderr and finished.ran_s < 20
