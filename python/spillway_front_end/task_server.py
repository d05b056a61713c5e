"""Gives out the O tasks of a key-value job to its processes, and hears what these have done.

The protocol is that of src/keyvalue/control_connection.h: lines of text over TCP. One thread serves all: a request
takes microseconds, and a process asks once for each task.
"""

import collections
import errno
import os
import resource
import selectors
import socket
import time
from typing import BinaryIO, Callable, Deque, Dict, List, NamedTuple, Optional, Set

from .errors import LaunchError

_VERSION = 4
_LINE_BYTES_MAX = 4096
_ANYWHERE = -1
_LAST_WORDS_S = 1
MODES = {"common": 1, "mapreduce": 2, "iteration": 3, "streaming": 4}

Figures = Dict[str, int]


class JobFigures(NamedTuple):
    """What is known of a job at one moment."""

    mode: str
    o_tasks: int  # 0: no process has said it yet
    a_tasks: int
    o_tasks_restored: int  # from the checkpoint of an earlier start; `of_process` has those of this one
    a_tasks_restored: int
    of_process: Dict[int, Figures]

    def total(self, name: str) -> int:
        return sum(figures.get(name, 0) for figures in self.of_process.values())

    def longest(self, name: str) -> int:
        return max((figures.get(name, 0) for figures in self.of_process.values()), default=0)


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = b""
        self.process: Optional[int] = None
        self.host = _ANYWHERE


class TaskServer:
    def __init__(self, address: str, mode: str) -> None:
        self.secret = os.urandom(16).hex()
        self._mode = mode
        try:
            self._listener = socket.create_server((address, 0), family=_family_of(address), backlog=1024)
        except OSError as error:
            raise LaunchError(
                f"cannot listen at {address}: {error.strerror}", "give an address of this machine with --address"
            ) from None
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.is_over = False  # it is done, or has failed for what another start would not change
        self._waiting: Optional[Dict[int, Deque[int]]] = None  # O tasks by the hosts that they may run on
        self._hosts: List[int] = []  # of each O task; none at all where all may run anywhere
        self._done: Set[int] = set()  # O tasks, by earlier starts, as the checkpoint says
        self._a_done: Set[int] = set()
        self._counts = (0, 0)
        self._figures: Dict[int, Figures] = {}

    @property
    def is_unfinished(self) -> bool:
        """There was a job, and no process has said how it ended."""
        return bool(self._figures) and not self.is_over

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()[:2]
        return f"{host}:{port}"

    @property
    def figures(self) -> JobFigures:
        return JobFigures(self._mode, *self._counts, len(self._done), len(self._a_done), self._figures)

    def serve_until_end(self, pipe: BinaryIO, tick_s: float, on_tick: Callable[[], None]) -> bytes:
        """Until `pipe` has ended; returns what came from it."""
        content: List[bytes] = []
        _allow_descriptors()
        self._selector.register(pipe, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(tick_s):
                if key.fileobj is not pipe:
                    self._serve(key)
                    continue
                part = os.read(pipe.fileno(), 1 << 16)
                content.append(part)
                if not part:
                    self._selector.unregister(pipe)
                    self._hear_the_last()
                    return b"".join(content)
            on_tick()

    def close(self) -> None:
        for key in self._keys():
            if isinstance(key.data, _Client):
                key.data.connection.close()
        self._selector.close()
        self._listener.close()

    def _hear_the_last(self) -> None:
        """What processes said just before the job ended may still be unread, or on its way from other hosts."""
        end = time.monotonic() + _LAST_WORDS_S
        while True:
            is_awaited = not self.is_over and any(isinstance(key.data, _Client) for key in self._keys())
            ready = self._selector.select(max(end - time.monotonic(), 0) if is_awaited else 0)
            if not ready:
                return
            for key, _ in ready:
                self._serve(key)

    def _keys(self) -> List[selectors.SelectorKey]:
        return list(self._selector.get_map().values())

    def _serve(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._listener:
            self._accept()
        else:
            self._receive(key.data)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise LaunchError(
                    "too many processes for the open files that mpidrun may have", "raise `ulimit -n`"
                ) from None
            return  # gone again
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ, _Client(connection))

    def _receive(self, client: _Client) -> None:
        try:
            part = client.connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        *lines, client.received = (client.received + part).split(b"\n")
        is_wanted = bool(part) and len(client.received) <= _LINE_BYTES_MAX
        if not all(self._answer(client, line.decode(errors="replace").split()) for line in lines) or not is_wanted:
            self._selector.unregister(client.connection)
            client.connection.close()

    def _answer(self, client: _Client, words: List[str]) -> bool:
        """False when the connection is to be closed."""
        try:
            if client.process is None:
                return self._greet(client, words)
            if words == ["task"]:
                self._give_task(client)
            elif words == ["over"]:
                self.is_over = True
            elif words[:1] in (["done"], ["done-a"]):
                done = self._done if words[0] == "done" else self._a_done
                done.update(int(word) for word in words[1:])
                client.connection.sendall(b"ok\n")
            elif words[:1] == ["host"]:
                client.host = int(words[1])
                client.connection.sendall(b"ok\n")
            elif words[:1] == ["hosts"]:
                self._hosts += [int(word) for word in words[1:]]
                client.connection.sendall(b"ok\n")
            elif words[:1] == ["figures"]:
                pairs = (word.split("=", 1) for word in words[1:])
                self._figures[client.process] = {name: int(value) for name, value in pairs}
            return True
        except (ValueError, IndexError, OSError):
            return False

    def _greet(self, client: _Client, words: List[str]) -> bool:
        if words == ["over", self.secret]:
            self.is_over = True
            client.connection.sendall(b"ok\n")
            return False
        word, version, secret, process, mode, o_tasks, a_tasks = words
        if word != "hello" or secret != self.secret:
            return False
        if int(version) != _VERSION:
            return self._refuse(client, "its libmpid is of another version of Spillway; build the program again")
        if int(mode) != MODES[self._mode]:
            name = next((name for name, number in MODES.items() if number == int(mode)), mode)
            return self._refuse(
                client, f"-M says {self._mode}, but the program calls MPI_D_Init() for the mode {name}; say -M {name}"
            )
        client.connection.sendall(b"welcome\n")
        client.process = int(process)
        self._counts = (int(o_tasks), int(a_tasks))
        self._figures.setdefault(client.process, {})
        return True

    def _refuse(self, client: _Client, reason: str) -> bool:
        self.is_over = True
        client.connection.sendall(f"refused this process: {reason}\n".encode())
        return False

    def _give_task(self, client: _Client) -> None:
        """Of those that only its host may run first: the others may be of use to any process."""
        if self._waiting is None:
            self._waiting = collections.defaultdict(collections.deque)
            for task in range(self._counts[0]):
                if task not in self._done:
                    self._waiting[self._hosts[task] if self._hosts else _ANYWHERE].append(task)
        tasks = self._waiting[client.host] or self._waiting[_ANYWHERE]
        client.connection.sendall(f"{tasks.popleft() if tasks else -1}\n".encode())


def _allow_descriptors() -> None:
    """As many as may be: each process has a connection."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _family_of(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
