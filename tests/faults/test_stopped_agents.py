"""The agent of a node that somebody stops when its ranks have ended: the test is the job's agent, so that there is time
to do so."""

import os
import select
import signal
import socket
import struct
from typing import Iterator, Optional, Tuple

import pytest
from failing_jobs import programs_named
from runner import Runner, outcome_within
from standstill import TimeLimit

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

# src/launch/control_connection.h
HEADER = struct.Struct("<IIIiiII")
MAGIC, VERSION = 0x53504C4A, 3
JOIN, PROGRAM_ENDED, NODES, RELEASE_RANK = 1, 5, 101, 103


class JobAgent:
    """The end of the job's agent in its connection with the node's."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1 {self._listener.getsockname()[1]}"
        self._connection: Optional[socket.socket] = None

    def close(self) -> None:
        for each in (self._connection, self._listener):
            if each is not None:
                each.close()

    def accept(self) -> None:
        assert _is_readable_within(self._listener, 20), "no node's agent comes"
        self._connection, _ = self._listener.accept()

    def say(self, kind: int, rank: int = -1, number: int = 0, text: str = "") -> None:
        self._connection.sendall(HEADER.pack(MAGIC, VERSION, kind, rank, number, 0, len(text)) + text.encode())

    def wait_for(self, kind: int) -> Tuple[int, int]:
        """Rank and number of the next message of this kind."""
        while True:
            _, _, found, rank, number, _, size = HEADER.unpack(self._received(HEADER.size))
            self._received(size)
            if found == kind:
                return rank, number

    def is_closed_within(self, limit_s: float) -> bool:
        """By the other side, whatever that still says."""
        limit = TimeLimit(limit_s)
        while _is_readable_within(self._connection, limit.left_s()):
            if not self._connection.recv(4096):
                return True
        return False

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            assert _is_readable_within(self._connection, 20), "the node's agent says nothing"
            piece = self._connection.recv(size - len(data))
            assert piece, "the node's agent has ended"
            data += piece
        return data


def _is_readable_within(end: socket.socket, limit_s: float) -> bool:
    limit = TimeLimit(limit_s)
    while (left_s := limit.left_s()) > 0:
        if select.select([end], [], [], left_s)[0]:
            return True
    return False


@pytest.fixture
def job_agent() -> Iterator[JobAgent]:
    agent = JobAgent()
    yield agent
    agent.close()


def test_agent_that_is_stopped_after_its_ranks_have_ended_ends(run: Runner, build_dir, spill_dir, job_agent):
    programs = build_dir / "lib" / "spillway"
    options = ["--ranks", 1, "--slots", 1, "--memory", 1 << 20, "--spill-dir", spill_dir]
    environment = {
        "SPILLWAY_SOCKET": f"spillway-test-{os.getpid()}",
        "SPILLWAY_RANKS_PER_NODE": "1",
        "SPILLWAY_NODE_COMMAND": "".join(f"{word}\n" for word in [programs / "spillway-node", *options]),
        "SPILLWAY_JOIN": job_agent.where,
        "SPILLWAY_SECRET": "of the test",
        "PMI_RANK": "0",
    }
    rank = run.start([programs / "spillway-rank", "true"], env=environment)
    job_agent.accept()
    job_agent.wait_for(JOIN)
    job_agent.say(NODES, number=0, text="1\n127.0.0.1 1\n0 0\n0")
    assert job_agent.wait_for(PROGRAM_ENDED) == (0, 0)
    job_agent.say(RELEASE_RANK, rank=0)
    outcome_within(rank, 10)
    assert rank.returncode == 0
    [agent] = programs_named(run, "spillway-node")
    os.kill(agent, signal.SIGSTOP)
    assert job_agent.is_closed_within(10)
