"""Simulations: one process each, two at a time, none twice."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, Generic, Hashable, Iterable, List, Optional, Set, TypeVar

from measuring.program_run import RunFailed, end_as_interrupted

_AT_A_TIME = 2

Case = TypeVar("Case", bound=Hashable)
Found = TypeVar("Found")


class Simulations(Generic[Case, Found]):
    """`words` are a case's on the command line, `work` orders the longest ones first, and `read` takes what one has
    printed, or None."""

    def __init__(
        self,
        program: str,
        limit_s: float,
        say: Callable[[str], None],
        words: Callable[[Case], Iterable[str]],
        work: Callable[[Case], float],
        read: Callable[[str], Optional[Found]],
    ) -> None:
        self.found: Dict[Case, Found] = {}
        self._program = program
        self._limit_s = limit_s
        self._say = say
        self._words = words
        self._work = work
        self._read = read
        self._running: Set[subprocess.Popen] = set()
        self._is_over = False
        self._lock = threading.Lock()  # of these two

    def run_all(self, cases: Iterable[Case]) -> None:
        """Raises RunFailed. SIGTERM and SIGHUP end like ^C: none runs any more."""
        end_as_interrupted()
        missing: List[Case] = sorted(set(cases) - set(self.found), key=lambda case: -self._work(case))
        with ThreadPoolExecutor(_AT_A_TIME) as workers:
            try:
                for done, (case, found) in enumerate(zip(missing, workers.map(self._run, missing)), 1):
                    self.found[case] = found
                    self._say(f"{done} of {len(missing)} simulations")
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                self._end_all()
                raise

    def _start(self, command: List[str]) -> subprocess.Popen:
        with self._lock:
            if self._is_over:
                raise RunFailed(f"{' '.join(command)}: not started any more")
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self._running.add(process)
        return process

    def _end_all(self) -> None:
        with self._lock:
            self._is_over = True
            for process in self._running:
                process.kill()

    def _run(self, case: Case) -> Found:
        command = [self._program, *self._words(case)]
        with self._start(command) as process:
            try:
                output, errors = process.communicate(timeout=self._limit_s)
            except subprocess.TimeoutExpired as late:
                process.kill()
                raise RunFailed(f"{' '.join(command)}: it took too long") from late
            finally:
                with self._lock:
                    self._running.discard(process)
        found = self._read(output.strip()) if process.returncode == 0 else None
        if found is None:
            raise RunFailed("\n".join([" ".join(command), output, *errors.splitlines()[-5:]]))
        return found
