"""The streaming mode: every record once and in its sender's order, windows, latency, back-pressure."""

import re
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, Optional

import pytest
from runner import Finished, Runner
from streamed_windows import windows_of

pytestmark = pytest.mark.libraries_in_turn


@pytest.fixture
def stream(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str
) -> Callable[..., Finished]:
    """stream(*words, sides=(o, a), status=, env=): streamed-numbers under the MPI library alone."""

    def run_it(*words: object, sides: tuple, status: int = 0, env: Optional[Dict[str, object]] = None) -> Finished:
        counts = {"MPI_D_O_TASKS": sides[0], "MPI_D_A_TASKS": sides[1]}
        variables = {name: str(value) for name, value in {**counts, **(env or {})}.items()}
        program = key_value_program("streamed-numbers")
        return run(*plain_mpi(flavour, sum(sides)), program, *words, status=status, env=variables, timeout_s=60)

    return run_it


@pytest.mark.parametrize("sides", [(1, 1), (3, 1), (1, 3), (2, 2)])
def test_every_record_comes_once_and_in_order(
    stream: Callable[..., Finished], sides: tuple, nothing_left_behind: None
) -> None:
    found = windows_of(stream("records=20000", sides=sides).stderr)
    assert sum(window.records for windows in found.values() for window in windows) == sides[0] * 20000
    assert sum(window.total for windows in found.values() for window in windows) == sides[0] * sum(range(20000))
    assert all(len(windows) == 1 and windows[0].is_in_order for windows in found.values())


@pytest.mark.parametrize("sides", [(1, 1), (3, 2)])
@pytest.mark.parametrize("records, size", [(5000, 1000), (3500, 1000), (40, 1)])
def test_windows_have_what_their_senders_sent_in_them(
    stream: Callable[..., Finished], sides: tuple, records: int, size: int
) -> None:
    found = windows_of(stream(f"records={records}", f"window={size}", sides=sides).stderr)
    expected = [range(begin, min(begin + size, records)) for begin in range(0, records, size)]
    assert len(found) == sides[1]
    for number, part in enumerate(expected):
        windows = [windows[number] for windows in found.values()]
        assert sum(window.records for window in windows) == sides[0] * len(part)
        assert sum(window.total for window in windows) == sides[0] * sum(part)
    assert all(len(windows) == len(expected) for windows in found.values())


def test_windows_may_end_by_time(stream: Callable[..., Finished]) -> None:
    found = windows_of(stream("records=300", "pause=1000", sides=(2, 1), env={"MPI_D_WINDOW": "50ms"}).stderr)
    assert sum(window.records for window in found[0]) == 600
    assert len(found[0]) > 4  # 300 ms at least


def test_slow_receiver_makes_its_senders_wait(stream: Callable[..., Finished], nothing_left_behind: None) -> None:
    """What is under way is a fifth of the records: 8 unacknowledged blocks and 4 lists, of some 370 each."""
    env = {"MPI_D_PARTITION_BYTES": "4K", "MPI_D_LATENCY": "10s"}
    finished = stream("records=20000", "slow=20", sides=(1, 1), env=env)
    (window,) = windows_of(finished.stderr)[0]
    assert (window.records, window.is_in_order) == (20000, True)
    assert window.had_records_soon(finished.stood_s)


def test_what_has_come_is_bounded_by_the_memory(stream: Callable[..., Finished]) -> None:
    """Of 800000 records, of 11 bytes and more, those that 1 MiB has, and 3 lists of each sender, of 32 KiB each."""
    env = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "1M", "MPI_D_LATENCY": "10s"}
    stderr = stream("records=200000", "late=700", sides=(4, 1), env=env).stderr
    (window,) = windows_of(stderr)[0]
    assert (window.records, window.is_in_order) == (800000, True)
    early = int(re.findall(r"early: (\d+)", stderr)[0])
    assert 0 < early < 200000


def test_what_nobody_receives_is_dropped(stream: Callable[..., Finished], nothing_left_behind: None) -> None:
    env = {"MPI_D_PARTITION_BYTES": "4K"}
    found = windows_of(stream("records=50000", "stop=10", sides=(2, 2), env=env).stderr)
    assert [window.records for windows in found.values() for window in windows] == [10, 10]


@pytest.mark.parametrize("options", [[], ["--plain"], ["--slots", "1"]], ids=["spillway", "plain", "one_slot"])
def test_mpidrun_runs_all_tasks_of_a_stream(run_job: Callable, options: List[str]) -> None:
    job = ["-M", "streaming", "-O", 2, "-A", 1, *options]
    finished, report = run_job(job, "streamed-numbers", "records=30000", "window=10000")
    assert [window.records for window in windows_of(finished.stderr)[0]] == [20000, 20000, 20000]
    assert (report["emitted_records"], report["received_records"], report["windows"]) == (60000, 60000, 3)


def test_killed_sender_ends_the_stream(run_job: Callable, nothing_left_behind: None) -> None:
    job = ["-M", "streaming", "-O", 2, "-A", 2]
    finished, _ = run_job(job, "streamed-numbers", "records=1000", "pause=100", "killed", status=None)
    assert finished.status != 0
    assert "was killed by signal 9" in finished.stderr


def test_functions_of_other_modes_are_refused(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str, tmp_path: Path
) -> None:
    command = [
        *plain_mpi(flavour, 2),
        key_value_program("generated-records"),
        "calls-of-other-modes",
        f"output={tmp_path}",
    ]
    finished = run(*command, status=0, timeout_s=60)
    assert "refused: 5 of 5" in finished.stdout


@pytest.mark.parametrize("value", ["1", "0ms", "5 s", "2d", "90000s", ""])
def test_wrong_durations_are_refused(stream: Callable[..., Finished], value: str) -> None:
    finished = stream("records=1", sides=(1, 1), status=1, env={"MPI_D_LATENCY": value})
    assert f"MPI_D_LATENCY: '{value}' is not a duration" in finished.stderr


@pytest.mark.parametrize("sides", [(1, 1), (2, 2)])
def test_benchmark_knows_the_most_frequent_keys_and_orders_its_percentiles(
    run: Runner, plain_mpi: Callable[[str, int], List[str]], key_value_program: Callable, flavour: str, sides: tuple
) -> None:
    variables = {"MPI_D_O_TASKS": str(sides[0]), "MPI_D_A_TASKS": str(sides[1])}
    command = [*plain_mpi(flavour, sum(sides)), key_value_program("stream-latency"), 5000, 2, 5]
    stdout = run(*command, env=variables, timeout_s=60).stdout
    pattern = r"received: (\d+) messages, p50 (\d+) us, p99 (\d+) us, p99.9 (\d+) us, max (\d+) us"
    received = [list(map(int, figures)) for figures in re.findall(pattern, stdout)]
    assert len(received) == sides[1] and sum(messages for messages, *_ in received) == sides[0] * 10000
    for _, *times in received:
        assert times == sorted(times) and 0 < times[-1] < 60e6
    second = Counter(int(1000 ** ((number * 2531 % 4096 + 0.5) / 4096)) for number in range(5000, 10000))
    top = sorted(second.items(), key=lambda item: (-item[1], item[0]))[:5]
    [found] = re.findall(r"top 5 of 2 windows: as sent; the last one, of \d+ keys here: (.*)", stdout)
    assert found.strip() == " ".join(f"{key} {sides[0] * count}" for key, count in top)
