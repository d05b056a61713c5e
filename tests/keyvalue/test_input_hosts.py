"""Files that only one host has (host:/path): on one machine, where that host is this one. On several: tests/nodes."""

import gzip
import random
import socket
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, Optional

import pytest
from parts import parts_in
from runner import Runner
from source_tree import SOURCE
from test_iterative_programs import check_centers, clustered_points, random_graph, ranks_of, read_ranks, write_parts

HOST = socket.gethostname()
PROGRAMS = SOURCE / "apps" / "keyvalue" / "python"
TEXTS = [" ".join(random.Random(seed).choices("abcdefghij", k=3000)).replace(" j ", "\n") for seed in range(5)]
EXPECTED = Counter(word for text in TEXTS for word in text.split())


@pytest.fixture
def files(tmp_path: Path) -> List[str]:
    """This host's own, one that everybody sees, an empty one, a compressed one."""
    for number, text in enumerate(TEXTS):
        (tmp_path / f"text-{number}").write_text(text)
    (tmp_path / "text-2").write_bytes(gzip.compress(TEXTS[2].encode()))
    (tmp_path / "empty").write_text("")
    names = ["text-0", "empty", "text-1", "text-2", "text-3"]
    return [*(f"{HOST.upper()}:{tmp_path / name}" for name in names), str(tmp_path / "text-4")]


def words_of(folder: Path) -> Counter:
    lines = [line for path in folder.glob("part-*") for line in path.read_text().splitlines()]
    assert len({line.split("\t")[0] for line in lines}) == len(lines)
    return Counter({word: int(count) for word, count in (line.split("\t") for line in lines)})


def test_a_host_s_own_files_give_what_others_do(
    run: Runner,
    run_job: Callable,
    run_python: Callable,
    key_value_program: Callable,
    plain_mpi: Callable,
    flavour: str,
    files: List[str],
    tmp_path: Path,
) -> None:
    run_job(["--slots", 1, "-n", 2, "-A", 2, "--memory", "256M"], "wordcount", tmp_path / "counts", *files)
    assert words_of(tmp_path / "counts") == EXPECTED
    run(*plain_mpi(flavour, 3), key_value_program("inverted-index"), tmp_path / "mpiexec", *files)
    run_python(["--plain", "-n", 2], PROGRAMS / "inverted_index.py", tmp_path / "python", *files)
    index = {f"{word}\t{','.join(sorted([*files[:1], *files[2:]]))}" for word in EXPECTED}
    for folder in ("mpiexec", "python"):
        parts = [path.read_text().splitlines() for path in parts_in(tmp_path / folder)]
        assert {line for part in parts for line in part} == index


def test_a_job_goes_on_with_them_from_its_checkpoint(run_python: Callable, files: List[str], tmp_path: Path) -> None:
    options = ["--plain", "-n", 2, "-A", 2, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    words = [Path(__file__).with_name("python") / "host_files.py", tmp_path / "out", tmp_path / "tasks", 4, *files]
    finished = run_python(options, *words)
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
    assert words_of(tmp_path / "out") == EXPECTED
    begun = Counter(line.split()[0] for line in (tmp_path / "tasks").read_text().splitlines())
    assert set(begun) == set("012345") and begun["4"] == 2 and sum(begun.values()) <= 10


def test_compressed_file_that_has_grown_is_refused_at_a_restart(run_python: Callable, tmp_path: Path) -> None:
    """One that everybody sees."""
    (tmp_path / "text").write_text(TEXTS[0])
    compressed = tmp_path / "text.gz"
    compressed.write_bytes(gzip.compress(TEXTS[1].encode()))
    options = ["--plain", "-n", 1, "-A", 2, "--checkpoint", tmp_path / "checkpoint"]
    script = Path(__file__).with_name("python") / "host_files.py"
    words = [script, tmp_path / "out", tmp_path / "tasks", 1, tmp_path / "text", compressed]
    run_python(options, *words, status=None)
    assert list((tmp_path / "checkpoint").glob("spillway-o-*[0-9]"))
    compressed.write_bytes(gzip.compress((TEXTS[1] + TEXTS[2]).encode()))
    refused = run_python(options, *words, status=None)
    assert refused.status != 0 and "is of another job, or of one with other input" in refused.stderr


def test_what_cannot_be_is_refused(
    run: Runner,
    run_python: Callable,
    key_value_program: Callable,
    plain_mpi: Callable,
    flavour: str,
    files: List[str],
    tmp_path: Path,
) -> None:
    def refusal(*paths: str, **env: str) -> str:
        words = [*plain_mpi(flavour, 2), key_value_program("wordcount"), tmp_path / "out", *paths]
        finished = run(*words, env=env, status=None)
        assert finished.status != 0
        return finished.stderr

    missing = tmp_path / "missing"
    cause = f"O task 1 has its input on host nowhere, where this job has no process: those are on {HOST}\n"
    assert cause in refusal(files[0], f"nowhere:{missing}")
    assert "MPI_D_INPUT_HOSTS is about 6 O tasks, and the job has 7\n" in refusal(*files, MPI_D_O_TASKS="7")
    assert f"O task 1: cannot read {missing}: No such file or directory" in refusal(files[0], f"{HOST}:{missing}")
    (tmp_path / "stream.py").write_text(
        f"from spillway import mpid\nmpid.Init(mpid.Mode.STREAMING, conf=mpid.LineSplits(['{files[0]}']).conf)\n"
    )
    finished = run_python(["--plain", "-n", 2, "-M", "streaming"], tmp_path / "stream.py", status=None)
    assert finished.status != 0 and "MPI_D_INPUT_HOSTS is of the modes MapReduce and iteration" in finished.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("processes", [1, 3])
def test_sorts_look_for_their_sample_where_the_files_are(
    run: Runner,
    run_python: Callable,
    python_with_packages: Dict,
    key_value_program: Callable,
    plain_mpi: Callable,
    flavour: str,
    files: List[str],
    tmp_path: Path,
    processes: int,
) -> None:
    lines = sorted(line for text in TEXTS for line in text.splitlines())
    records = [random.Random(number).randbytes(100) for number in range(3000)]
    for number in range(3):
        content = b"".join(records[number::3])
        (tmp_path / f"records-{number}").write_bytes(gzip.compress(content) if number == 1 else content)
    of_records = [f"{'' if number == 2 else f'{HOST}:'}{tmp_path}/records-{number}" for number in range(3)]
    for name, paths in (("lines-sort", files), ("terasort", of_records)):
        env = {"MPI_D_A_TASKS": "4"}
        run(*plain_mpi(flavour, processes), key_value_program(name), tmp_path / name, *paths, env=env)
        script = PROGRAMS / f"{name.split('-')[-1]}.py"
        options = ["--plain", "-n", processes, "-A", 4]
        run_python(options, script, tmp_path / f"{name}-python", *paths, **python_with_packages)
        for folder in (tmp_path / name, tmp_path / f"{name}-python"):
            parts = [path.read_bytes() for path in sorted(folder.glob("part-?????"))]
            whole = b"".join(parts)
            if name == "terasort":
                found = [whole[begin : begin + 100] for begin in range(0, len(whole), 100)]
                assert found == sorted(records, key=lambda record: record[:10])
            else:
                assert whole.decode().splitlines() == lines
            assert len(parts) == 4 and max(map(len, parts)) < 0.5 * len(whole)


@pytest.fixture
def interrupted_sort(
    run_job: Callable,
    run_python: Callable,
    python_with_packages: Dict,
    end_at_call: Callable,
    files: List[str],
    tmp_path: Path,
) -> Callable[..., object]:
    """interrupted_sort(language, processes, status=): of lines; the first start ends when some files have been read."""

    def sort(language: str, processes: int, status: Optional[int] = 0, **more: object) -> object:
        options = ["--plain", "-n", processes, "-A", 4, "--checkpoint", tmp_path / "checkpoint"]
        env = {**end_at_call(7), "MPI_D_CHECKPOINT_INTERVAL": "1us", **more}
        if language == "cpp":
            return run_job(options, "lines-sort", tmp_path / "out", *files, env=env, status=status)[0]
        packages = {**python_with_packages, "env": {**python_with_packages["env"], **env}}
        return run_python(options, PROGRAMS / "sort.py", tmp_path / "out", *files, status=status, **packages)

    return sort


def grow(path: Path) -> None:
    with open(path, "a") as text:
        text.write("\n" + "zzz\n" * 5000)


def lines_of(folder: Path) -> List[str]:
    parts = parts_in(folder)
    assert [path.name for path in parts] == [f"part-{task:05}" for task in range(4)]
    return "".join(path.read_text() for path in parts).splitlines()


@pytest.mark.parametrize("language", ["cpp", "python"])
@pytest.mark.parametrize("processes", [1, 2])
def test_sort_goes_on_by_the_sample_that_its_first_start_had(
    interrupted_sort: Callable, tmp_path: Path, language: str, processes: int
) -> None:
    interrupted_sort(language, 1, status=None)
    assert (tmp_path / "has-ended").exists() and list((tmp_path / "checkpoint").glob("spillway-o-*[0-9]"))
    grow(tmp_path / "text-3")  # which has not been read
    interrupted_sort(language, processes)
    expected = [line for text in TEXTS for line in text.splitlines()] + ["zzz"] * 5000
    assert lines_of(tmp_path / "out") == sorted(expected)
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_damaged_sample_of_a_checkpoint_is_noticed(interrupted_sort: Callable, tmp_path: Path) -> None:
    interrupted_sort("cpp", 1, status=None)
    kept = tmp_path / "checkpoint" / "spillway-gathered"
    content = kept.read_bytes()
    kept.unlink()
    refused = interrupted_sort("cpp", 1, status=None)
    assert refused.status != 0
    assert f"{kept} does not have what the start before had gathered in call 1" in refused.stderr
    kept.write_bytes(content[:-1])
    finished = interrupted_sort("cpp", 2)
    assert f"{kept} is damaged, and is not used" in finished.stderr
    assert f"nothing else in {tmp_path}/checkpoint is used without it" in finished.stderr
    assert lines_of(tmp_path / "out") == sorted(line for text in TEXTS for line in text.splitlines())


def test_sample_of_a_checkpoint_that_cannot_be_read_is_an_error(
    interrupted_sort: Callable, reads_fail: Callable, tmp_path: Path
) -> None:
    interrupted_sort("cpp", 1, status=None)
    before = sorted((tmp_path / "checkpoint").iterdir())
    refused = interrupted_sort("cpp", 2, status=None, **reads_fail("spillway-gathered"))
    assert refused.status != 0
    assert f"cannot read {tmp_path}/checkpoint/spillway-gathered: Input/output error\n  Remedy:" in refused.stderr
    assert sorted((tmp_path / "checkpoint").iterdir()) == before
    interrupted_sort("cpp", 2)
    assert lines_of(tmp_path / "out") == sorted(line for text in TEXTS for line in text.splitlines())


def test_damaged_sample_does_not_let_another_job_remove_the_checkpoint(
    interrupted_sort: Callable, run_job: Callable, files: List[str], tmp_path: Path
) -> None:
    interrupted_sort("cpp", 1, status=None)
    kept = tmp_path / "checkpoint" / "spillway-gathered"
    kept.write_bytes(kept.read_bytes()[:-1])
    before = sorted((tmp_path / "checkpoint").iterdir())
    options = ["--plain", "-n", 1, "-A", 5, "--checkpoint", tmp_path / "checkpoint"]
    refused, _ = run_job(options, "lines-sort", tmp_path / "other", *files, status=None)
    assert refused.status != 0 and "is of another job" in refused.stderr
    assert sorted((tmp_path / "checkpoint").iterdir()) == before


@pytest.mark.parametrize("language", ["cpp", "python"])
def test_rounds_have_their_input_where_it_is(
    run_job: Callable, run_python: Callable, python_with_packages: Dict, tmp_path: Path, language: str
) -> None:
    """The first file is compressed, the last one what everybody sees, and all programs look at all files first."""
    graph, points = random_graph(300, 5, seed=7), clustered_points(300, 4, seed=7)
    lines = {
        "pagerank": [" ".join(map(str, [node, *links])) for node, links in graph.items()],
        "kmeans": [", ".join(map(repr, point)) for point in points],
    }
    for name, *words in (("pagerank", 6), ("kmeans", 4, 30)):
        files = [f"{HOST}:{path}" for path in write_parts(tmp_path, lines[name], 4)]
        first, last = Path(files[0].partition(":")[2]), files[-1].partition(":")[2]
        first.write_bytes(gzip.compress(first.read_bytes()))
        options, out = ["-M", "iteration", "--plain", "-n", 3, "-A", 2], tmp_path / f"{name}-out"
        if language == "cpp":
            finished, report = run_job(options, f"keyvalue-{name}", out, *words, *files[:-1], last)
            assert report["o_tasks"] == 4
        else:
            script = PROGRAMS / f"{name}.py"
            finished = run_python(options, script, out, *words, *files[:-1], last, **python_with_packages)
        if name == "pagerank":
            assert read_ranks(out) == pytest.approx(ranks_of(graph, 6), rel=1e-12, abs=0)
        else:
            check_centers(out, finished.stdout, points, 4, 30)


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("call", range(38, 50, 2))
def test_sort_that_is_killed_while_it_removes_its_checkpoint_may_be_run_again(
    run_job: Callable, end_at_call: Callable, files: List[str], tmp_path: Path, call: int
) -> None:
    options = ["--plain", "-n", 1, "-A", 4, "--checkpoint", tmp_path / "checkpoint"]
    env = {**end_at_call(call), "MPI_D_CHECKPOINT_INTERVAL": "1us"}
    run_job(options, "lines-sort", tmp_path / "out", *files, env=env, status=None)
    assert (tmp_path / "has-ended").exists()
    run_job(options, "lines-sort", tmp_path / "out", *files, env=env)
    assert lines_of(tmp_path / "out") == sorted(line for text in TEXTS for line in text.splitlines())
