"""Files that only one host has (host:/path): on one machine, where that host is this one. On several: tests/nodes."""

import gzip
import random
import socket
from collections import Counter
from pathlib import Path
from typing import Callable, List

import pytest
from runner import Runner
from source_tree import SOURCE

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
        parts = [path.read_text().splitlines() for path in (tmp_path / folder).iterdir()]
        assert {line for part in parts for line in part} == index


def test_a_job_goes_on_with_them_from_its_checkpoint(run_python: Callable, files: List[str], tmp_path: Path) -> None:
    options = ["--plain", "-n", 2, "-A", 2, "--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    words = [Path(__file__).with_name("python") / "host_files.py", tmp_path / "out", tmp_path / "tasks", 4, *files]
    finished = run_python(options, *words)
    assert "goes on from its checkpoint (restart 1 of 1)" in finished.stderr
    assert words_of(tmp_path / "out") == EXPECTED
    begun = Counter(line.split()[0] for line in (tmp_path / "tasks").read_text().splitlines())
    assert set(begun) == set("012345") and begun["4"] == 2 and sum(begun.values()) <= 10


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
    (tmp_path / "rounds.py").write_text(
        f"from spillway import mpid\nmpid.Init(mpid.Mode.ITERATION, conf=mpid.LineSplits(['{files[0]}']).conf)\n"
    )
    finished = run_python(["--plain", "-n", 1, "-M", "iteration"], tmp_path / "rounds.py", status=None)
    assert finished.status != 0 and "MPI_D_INPUT_HOSTS is of the MapReduce mode" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_programs_that_look_at_all_files_say_so(
    run: Runner, key_value_program: Callable, files: List[str], tmp_path: Path
) -> None:
    out, path = tmp_path / "out", files[0]
    for name, *words in (("lines-sort", out), ("terasort", out)):
        stderr = run(key_value_program(name), *words, path, status=1).stderr
        assert stderr.startswith(f"{name}: cannot look for samples in {path}, which only that host has: name files")
    for name, *words in (("keyvalue-kmeans", out, 2, 3), ("keyvalue-pagerank", out, 2)):
        stderr = run(key_value_program(name), *words, path, status=1).stderr
        assert stderr.startswith(f"{name}: cannot read {path}, which only that host has, from here: for_each_split()")
