"""Part files have their names when all of the job has ended well, and do not mix with those of another job."""

import gzip
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from source_tree import SOURCE

pytestmark = pytest.mark.libraries_in_turn

APPLICATIONS = SOURCE / "apps" / "keyvalue" / "python"
KINDS = {"cpp": "", "python": "", "table": ".parquet"}
WORDS = [f"word{number}" for number in range(40)]


@pytest.fixture
def run_kind(
    run_job: Callable, run_python: Callable, python_with_packages: Dict, tmp_path: Path
) -> Callable[..., object]:
    """run_kind(kind, options, status=, env=): a job that counts words, or rows by name, into tmp_path/out."""
    (tmp_path / "text").write_text(" ".join(WORDS))
    (tmp_path / "table.csv").write_text("name,count\n" + "".join(f"{word},1\n" for word in WORDS))

    def run_it(kind: str, options: List[object], **how: object) -> object:
        out = tmp_path / "out"
        if kind == "cpp":
            return run_job(options, "wordcount", out, tmp_path / "text", **how)[0]
        env = {**python_with_packages["env"], **how.pop("env", {})}  # type: ignore[dict-item]
        words = (
            [APPLICATIONS / "wordcount.py", out, tmp_path / "text"]
            if kind == "python"
            else [APPLICATIONS / "sum_by_key.py", out, "name", "count", tmp_path / "table.csv"]
        )
        return run_python(options, *words, env=env, python=python_with_packages["python"], **how)

    return run_it


def names(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_whose_last_task_fails_leaves_no_parts(
    run_kind: Callable, tmp_path: Path, kind: str, processes: int
) -> None:
    out = tmp_path / "out"
    in_the_way = f"part-00003{KINDS[kind]}.partial"
    (out / in_the_way).mkdir(parents=True)
    options = ["--plain", "-n", processes, "-O", 1, "-A", 4]
    failed = run_kind(kind, options, status=None)
    assert failed.status != 0 and in_the_way.removesuffix(".partial") in failed.stderr and "A task 3" in failed.stderr
    left = [name for name in names(out) if not name.endswith(".partial")]
    assert left == []
    if processes == 1:  # nobody was killed
        assert names(out) == [in_the_way]
    (out / in_the_way).rmdir()
    for _ in range(2):  # parts of the same names are replaced
        run_kind(kind, options)
        assert names(out) == [f"part-{task:05}{KINDS[kind]}" for task in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_job_with_more_tasks_are_not_mixed_with_others(
    run_kind: Callable, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out"
    run_kind(kind, ["--plain", "-n", 2, "-O", 1, "-A", 4])
    before = {path: path.read_bytes() for path in out.iterdir()}
    failed = run_kind(kind, ["--plain", "-n", 2, "-O", 1, "-A", 3], status=None)
    assert failed.status != 0
    assert f"{out}/part-00003{KINDS[kind]} is there, of another job, and would stay beside it" in failed.stderr
    assert "Remedy: remove it, or name another directory." in failed.stderr
    assert {path: path.read_bytes() for path in out.iterdir() if path.suffix != ".partial"} == before
    (out / f"part-00003{KINDS[kind]}").unlink()
    run_kind(kind, ["--plain", "-n", 2, "-O", 1, "-A", 3])
    assert names(out) == [f"part-{task:05}{KINDS[kind]}" for task in range(3)]


@pytest.mark.parametrize("kind", ["cpp", "python"])
def test_parts_with_another_suffix_are_not_mixed_with_others(run_kind: Callable, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    options = ["--plain", "-n", 1, "-O", 1, "-A", 1]
    run_kind(kind, options, env={"MPI_D_OUTPUT_CODEC": "gzip"})
    assert len(gzip.decompress((out / "part-00000.gz").read_bytes()).splitlines()) == len(WORDS)
    failed = run_kind(kind, options, status=None)
    assert failed.status != 0 and f"{out}/part-00000.gz is there, of another job" in failed.stderr
    assert names(out) == ["part-00000.gz"]
    (out / "notes").touch()  # no part
    run_kind(kind, options, env={"MPI_D_OUTPUT_CODEC": "gzip"})
    assert names(out) == ["notes", "part-00000.gz"]
