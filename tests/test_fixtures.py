"""The shared fixtures themselves: a check that cannot fail checks nothing."""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import standstill
from marked_processes import marked_processes
from runner import Runner


def test_runner_reports_status_and_output(run: Runner) -> None:
    finished = run("sh", "-c", "echo out; echo err >&2; exit 3", status=3)
    assert (finished.stdout, finished.stderr) == ("out\n", "err\n")


def test_runner_fails_on_another_status(run: Runner) -> None:
    with pytest.raises(pytest.fail.Exception, match="status 1, not 0"):
        run("false")


@pytest.mark.filterwarnings("ignore:run once more")
@pytest.mark.parametrize(("failures", "stood_s", "status"), [(0, 0.0, 0), (1, 2.0, 0), (2, 2.0, 1), (1, 0.0, 1)])
def test_runner_believes_open_mpi_the_second_time_where_a_processor_stood_still(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, stood_s: float, status: int
) -> None:
    monkeypatch.setattr(standstill.TimeLimit, "stood_s", lambda limit: stood_s)
    launcher = tmp_path / "mpiexec.openmpi"
    script = f"""#!/bin/sh
echo run >> {tmp_path}/runs
test $(wc -l < {tmp_path}/runs) -gt {failures} && exit 0
echo "mpiexec.openmpi has exited due to process rank 0 with PID 0" >&2
exit 1
"""
    launcher.write_text(script)
    launcher.chmod(0o755)
    if status == 0:
        run(launcher)
    else:
        with pytest.raises(pytest.fail.Exception, match="status 1, not 0"):
            run(launcher)
    assert (tmp_path / "runs").read_text().count("run") == (2 if failures and stood_s else 1)


def test_runner_ends_what_runs_too_long_with_its_descendants(run: Runner) -> None:
    with pytest.raises(pytest.fail.Exception, match="still running"):
        run("sh", "-c", "sleep 60 & sleep 60", timeout_s=0.5)
    assert not marked_processes(run.mark)


def test_mark_finds_a_descendant_that_left_its_session(run: Runner) -> None:
    run("sh", "-c", "setsid sleep 60 >/dev/null 2>&1 &")
    limit = standstill.TimeLimit(5)
    # Not the shell, which has these words too, and may be gone at the next look.
    while "sleep 60" not in [words.strip() for words in marked_processes(run.mark).values()]:
        assert limit.left_s() > 0, marked_processes(run.mark)
        time.sleep(0.02)


FORGETFUL_TESTS = """
def test_process(run, nothing_left_behind):
    run("sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & sleep 0.3")  # which has no environment while it is being started

def test_file(spill_dir, nothing_left_behind):
    (spill_dir / "rank0.spill").write_bytes(b"left")

def test_segment(run, nothing_left_behind):
    open("/dev/shm/SEGMENT", "w").close()

def test_clean(run, spill_dir, nothing_left_behind):
    run("true")
"""


def test_nothing_left_behind_notices_processes_files_and_segments(tmp_path: Path, build_dir: Path) -> None:
    segment = Path("/dev/shm") / f"forgotten-{uuid.uuid4().hex}"
    (tmp_path / "test_forgetful.py").write_text(FORGETFUL_TESTS.replace("/dev/shm/SEGMENT", str(segment)))
    for module in ("bed", "conftest", "held_processes", "marked_processes", "plain_mpi", "standstill"):
        shutil.copy(Path(__file__).with_name(f"{module}.py"), tmp_path)
    patient = Path(__file__).with_name("runner.py").read_text()
    assert "DISAPPEARANCE_S = 5.0" in patient
    (tmp_path / "runner.py").write_text(patient.replace("DISAPPEARANCE_S = 5.0", "DISAPPEARANCE_S = 0.5"))
    outcome = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)],
        env={**os.environ, "SPILLWAY_BUILD": str(build_dir), "PYTHONPATH": str(Path(__file__).parents[1] / "bench")},
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    segment.unlink()
    assert "4 passed, 3 errors" in outcome.stdout
    for found in ("processes left", "spill files left", "shared segments left"):
        assert found in outcome.stdout


def test_time_limits_are_longer_by_what_a_processor_stood_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does whose process on it is stopped. The machine may stand still meanwhile."""
    begin, limit = time.monotonic(), standstill.TimeLimit(10)
    watch_file = tmp_path / "standstills"
    watch = subprocess.Popen(
        [sys.executable, standstill.__file__, watch_file], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    monkeypatch.setenv(standstill.FILE_VARIABLE, str(watch_file))
    while not watch_file.exists() or len(beat := watch_file.read_bytes()[:8]) < 8 or struct.unpack("d", beat)[0] == 0:
        assert limit.left_s() > 0
        time.sleep(0.1)
    limit = standstill.TimeLimit(1)
    time.sleep(1.2)
    assert limit.left_s() <= limit.stood_s() - 0.2
    limit = standstill.TimeLimit(1)
    children = Path(f"/proc/{watch.pid}/task/{watch.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGSTOP)
    time.sleep(3)
    assert limit.left_s() > 0
    for child in children:
        os.kill(int(child), signal.SIGCONT)
    time.sleep(1.5)
    assert limit.left_s() <= limit.stood_s() - 3.5
    watch.terminate()
    output, _ = watch.communicate(timeout=10)
    stood_s = [int(found) for found in re.findall(r" stood still for (\d+) s in all", output)]
    assert len(stood_s) == len(children) > 0 and 3 <= min(stood_s) <= max(stood_s) < time.monotonic() - begin
    assert not watch_file.exists()


def test_time_limits_have_an_end_where_the_watch_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch_file = tmp_path / "standstills"
    watch_file.write_bytes(struct.pack("dd", time.monotonic() - 1000, 0))
    monkeypatch.setenv(standstill.FILE_VARIABLE, str(watch_file))
    monkeypatch.setattr(standstill, "MOST_S", 1.0)
    limit = standstill.TimeLimit(0)
    watch_file.write_bytes(struct.pack("dd", time.monotonic() - 1000, 500))
    assert 0 < limit.left_s() <= 1
    time.sleep(1.1)
    assert limit.left_s() <= 0
