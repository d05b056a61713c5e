"""One rank of a run of mpi4py's tests: writes the outcome of every test case down as soon as it is known.

    python recorded_rank.py FOLDER run|list test/main.py [options of main.py]

What unittest prints is of no use for several ranks, which share one standard error; so each rank has a file of its own
in FOLDER. A line is an outcome and a test: `started`, then `passed`, `failed` or `skipped`. A test that was started
and has no outcome is where the rank hung or ended. With `list` no test runs, and each is written down as `known`.
"""

import os
import runpy
import sys
import unittest
from pathlib import Path


def rank() -> str:
    """As the launchers of MPICH and Open MPI tell it: MPI must not be started before the tests choose how."""
    return os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or "0"


class RecordingResult(unittest.TextTestResult):
    record = None

    def note(self, outcome, test):
        self.record.write(f"{outcome} {test.id()}\n")
        self.record.flush()

    def startTest(self, test):
        self.note("started", test)
        super().startTest(test)

    def addSuccess(self, test):
        self.note("passed", test)
        super().addSuccess(test)

    def addExpectedFailure(self, test, err):
        self.note("passed", test)
        super().addExpectedFailure(test, err)

    def addSkip(self, test, reason):
        self.note("skipped", test)
        super().addSkip(test, reason)

    def addError(self, test, err):
        self.note("failed", test)
        super().addError(test, err)

    def addFailure(self, test, err):
        self.note("failed", test)
        super().addFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.note("failed", test)
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note("failed", test)
        super().addSubTest(test, subtest, err)


def note_all(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            note_all(test)
        else:
            RecordingResult.record.write(f"known {test.id()}\n")


def list_only(runner, tests):
    """In place of the runner's method that runs them."""
    note_all(tests)
    return runner._makeResult()


def main():
    folder, what, program = sys.argv[1:4]
    with (Path(folder) / rank()).open("a", encoding="utf-8") as RecordingResult.record:
        unittest.TextTestRunner.resultclass = RecordingResult
        if what == "list":
            unittest.TextTestRunner.run = list_only
        sys.argv = sys.argv[3:]
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")


main()
