"""Part files have their names when all of the job has ended well, and do not mix with those of another job."""

import gzip
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Sequence

import pytest
from parts import MARK
from source_tree import SOURCE

pytestmark = pytest.mark.libraries_in_turn

PROGRAMS = Path(__file__).resolve().parent / "python"
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
        assert names(out) == [MARK, *(f"part-{task:05}{KINDS[kind]}" for task in range(4))]


@pytest.mark.parametrize("change", ["gone", "changed"])
@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("format", [[], ["csv"], ["csv", "elsewhere"]], ids=["text", "csv", "elsewhere"])
def test_where_one_part_is_lost_no_part_gets_its_name(
    run_python: Callable, python_with_packages: Dict, tmp_path: Path, format: List[str], at: int, change: str
) -> None:
    """Neither in an empty folder nor beside parts of a job before, which stay as they were, with their mark."""
    out = tmp_path / "out"
    ending = f".{format[0]}" if format else ""
    options = ["--plain", "-n", 2, "-O", 2, "-A", 4]

    def run_it(task: int, status: Optional[int] = 0) -> str:
        words = [PROGRAMS / "loses_part.py", out, task, change, *format]
        return run_python(options, *words, status=status, **python_with_packages).stderr

    what = "is gone" if change == "gone" else "has been changed"
    lost = f"{out}/part-{at - 2:05}{ending}"
    for is_second in (False, True):
        before = contents(out) if is_second else {}
        stderr = run_it(at, status=None)
        assert f"cannot write {lost}: {lost}.partial {what} since its task has written it" in stderr
        assert "Remedy: no part of the job has got its name; start it again" in stderr
        assert {name: text for name, text in contents(out).items() if not name.endswith(".partial")} == before
        run_it(-1)
        assert names(out) == [MARK, *(f"part-{task:05}{ending}" for task in range(4))]


@pytest.mark.parametrize("mark_before", [False, True])
def test_folder_in_which_parts_were_getting_their_names_has_no_mark(
    run_kind: Callable, end_at_call: Callable, tmp_path: Path, mark_before: bool
) -> None:
    """Two of four have them when their process is killed."""
    out = tmp_path / "out"
    options = ["--plain", "-n", 1, "-O", 1, "-A", 4]
    if mark_before:
        run_kind("cpp", options)
    failed = run_kind("cpp", options, status=None, env=end_at_call(4))  # the first removes the mark
    assert failed.status != 0
    parts = [f"part-{task:05}" for task in range(4)]
    assert [name for name in names(out) if not name.endswith(".partial")] == (parts if mark_before else parts[:2])
    run_kind("cpp", options)
    assert names(out) == [MARK, *parts]


def test_with_checkpoints_a_restart_marks_the_folder_that_a_lost_start_was_naming(
    run_kept: Callable, tmp_path: Path
) -> None:
    run_kept("mapreduce", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("mapreduce", "a3", kept, "", status=None)
    for name in ("of-o/part-00000", "of-a/part-00000"):
        (tmp_path / "out" / f"{name}.whole.partial").rename(tmp_path / "out" / name)
    assert MARK not in names(tmp_path / "out" / "of-o")
    run_kept("mapreduce", "a3", kept, "")
    assert MARK in names(tmp_path / "out" / "of-o") and MARK in names(tmp_path / "out" / "of-a")


def test_mark_that_cannot_be_removed_or_made_ends_the_job(run_kind: Callable, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / MARK).mkdir(parents=True)
    failed = run_kind("cpp", ["--plain", "-n", 2, "-O", 1, "-A", 4], status=None)
    assert failed.status != 0 and f"cannot remove {out}/{MARK}, which a job before has left: " in failed.stderr
    assert [name for name in names(out) if not name.endswith(".partial")] == [MARK]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("kind", ["cpp", "python"])
def test_full_disk_is_named_and_leaves_no_parts(
    run_job: Callable, run_python: Callable, small_disk: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "text").write_text("\n".join(f"word{number}" for number in range(100000)))
    options: List[object] = ["--plain", "-n", 2, "-O", 2, "-A", 4]
    words = [small_disk / "out", tmp_path / "text"]
    if kind == "cpp":
        failed = run_job(options, "wordcount", *words, status=None)[0]
    else:
        failed = run_python(options, APPLICATIONS / "wordcount.py", *words, status=None)
    assert failed.status != 0 and "A task " in failed.stderr
    said = [line for line in failed.stderr.splitlines() if "No space left" in line]
    assert said and all(f"{small_disk}/out/part-0000" in line for line in said), failed.stderr
    assert [name for name in names(small_disk / "out") if not name.endswith(".partial")] == []


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
    assert names(out) == [MARK, *(f"part-{task:05}{KINDS[kind]}" for task in range(3))]


@pytest.mark.parametrize("kind", ["cpp", "python"])
def test_parts_with_another_suffix_are_not_mixed_with_others(run_kind: Callable, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    options = ["--plain", "-n", 1, "-O", 1, "-A", 1]
    run_kind(kind, options, env={"MPI_D_OUTPUT_CODEC": "gzip"})
    assert len(gzip.decompress((out / "part-00000.gz").read_bytes()).splitlines()) == len(WORDS)
    failed = run_kind(kind, options, status=None)
    assert failed.status != 0 and f"{out}/part-00000.gz is there, of another job" in failed.stderr
    assert names(out) == [MARK, "part-00000.gz"]
    (out / "notes").touch()  # no part
    run_kind(kind, options, env={"MPI_D_OUTPUT_CODEC": "gzip"})
    assert names(out) == [MARK, "notes", "part-00000.gz"]


def test_process_that_the_library_ends_removes_what_it_was_writing(
    run_records: Callable, spill_dir: Path, tmp_path: Path
) -> None:
    one = {"MPI_D_O_TASKS": 1, "MPI_D_A_TASKS": 2}
    damaged = {**one, "MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K", "MPI_D_SPILL_DIR": spill_dir}
    throwing = ["throws=compare", "records=1", "distinct=1", "first=500"]
    two = {"MPI_D_O_TASKS": 2, "MPI_D_A_TASKS": 1}
    ways = [
        (1, ["records=100000", f"damages-spill-in={spill_dir}"], damaged, "read something else from the spill"),
        (2, throwing, two, "A task 0, record "),
    ]
    for processes, options, env, named in ways:
        failed = run_records(*options, processes=processes, env=env, status=None)
        assert failed.status != 0 and named in failed.stderr
        assert names(tmp_path / "out") == []


@pytest.mark.parametrize("format", ["", "csv", "parquet"])
def test_function_that_fails_in_a_thread_of_the_library_leaves_no_parts(
    run_python: Callable, python_with_packages: Dict, tmp_path: Path, format: str
) -> None:
    """Neither a whole one nor one that is being written."""
    words = [PROGRAMS / "fails_in_a_thread.py", tmp_path / "out", *([format] if format else [])]
    failed = run_python(["--plain", "-n", 1, "-O", 1, "-A", 1], *words, status=1, **python_with_packages)
    assert "sorting what goes to task 0: the compare function ended by KeyError: 'as it was told'" in failed.stderr
    assert re.search(r"^It was called with \d+ and \d+\.$", failed.stderr, re.MULTILINE)
    assert (tmp_path / "out" / "whole").exists() and list((tmp_path / "out").rglob("*.*")) == []
    begun = tmp_path / "out" / "begun"
    (begun / f"part-00000{format and '.' + format}.partial").write_text("of a start that was killed")
    run_python(
        ["--plain", "-n", 1, "-O", 1, "-A", 1, "--checkpoint", tmp_path / "kept"],
        *words,
        status=1,
        **python_with_packages,
    )
    assert list(begun.iterdir()) == []


@pytest.fixture
def run_kept(run_python: Callable, python_with_packages: Dict, tmp_path: Path) -> Callable[..., object]:
    """run_kept(mode, killed_at, options, format, folder=, status=): kept_parts.py of 6 O and 5 A tasks."""

    def run_it(
        mode: str,
        killed_at: str,
        options: List[object],
        format: str,
        folder: str = "out",
        status: Optional[int] = 0,
        more: Sequence[object] = (),
    ) -> object:
        job = ["-M", mode, "-n", 2, "-O", 6, "-A", 5, *options]
        words = [mode, tmp_path / folder, tmp_path / f"{folder}-tasks", killed_at, *([format] if format else [])]
        words += more
        return run_python(job, PROGRAMS / "kept_parts.py", *words, status=status, **python_with_packages)

    return run_it


def contents(folder: Path) -> Dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


KILLS = [("mapreduce", "a3"), ("mapreduce", "o4"), ("iteration", "r1-a2"), ("iteration", "r2-a4")]


@pytest.mark.parametrize("mode, killed_at", KILLS)
@pytest.mark.parametrize("format", ["", "csv"])
def test_with_checkpoints_parts_get_their_names_at_the_end_of_the_start_that_ends_well(
    run_kept: Callable, tmp_path: Path, mode: str, killed_at: str, format: str
) -> None:
    run_kept(mode, "none", [], format, "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept(mode, killed_at, kept, format, status=None)
    left = contents(tmp_path / "out")
    assert left and all(name.endswith(".partial") for name in left)
    run_kept(mode, killed_at, kept, format)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    begun = Counter((tmp_path / "out-tasks").read_text().split())
    assert begun["a0" if killed_at[0] == "a" else "o0" if killed_at[0] == "o" else "r0-a0"] == 1
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_part_that_has_its_name_already_is_not_missed(run_kept: Callable, tmp_path: Path) -> None:
    """As when a process is lost while parts get their names."""
    run_kept("mapreduce", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("mapreduce", "a3", kept, "", status=None)
    for name in ("of-o/part-00000", "of-a/part-00000"):
        (tmp_path / "out" / f"{name}.whole.partial").rename(tmp_path / "out" / name)
    finished = run_kept("mapreduce", "a3", kept, "")
    assert "is not used" not in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("lost", ["of-o/part-00000", "of-a/part-00000"])
@pytest.mark.parametrize("change", ["gone", "changed"])
def test_tasks_whose_part_is_lost_are_run_again(run_kept: Callable, tmp_path: Path, lost: str, change: str) -> None:
    run_kept("mapreduce", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("mapreduce", "a3", kept, "", status=None)
    part = tmp_path / "out" / f"{lost}.whole.partial"
    part.unlink() if change == "gone" else part.write_text("something else")
    finished = run_kept("mapreduce", "a3", kept, "")
    assert f"goes with {part}, which {'is' if change == 'gone' else 'has'} {change}, and is not used" in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert Counter((tmp_path / "out-tasks").read_text().split())[f"{lost[3]}0"] == 2


def test_rounds_whose_part_is_gone_are_run_again(run_kept: Callable, tmp_path: Path) -> None:
    run_kept("iteration", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("iteration", "r2-a2", kept, "", status=None)
    part = tmp_path / "out" / "round-1" / "part-00001.whole.partial"
    part.unlink()
    finished = run_kept("iteration", "r2-a2", kept, "")
    assert f"goes with {part}, which is gone, and is not used" in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    begun = Counter((tmp_path / "out-tasks").read_text().split())
    assert begun["r0-a0"] == 1 and begun["r1-a0"] == 2


@pytest.mark.parametrize("is_newer", [False, True], ids=["older", "touched"])
def test_part_of_an_older_job_is_not_taken_for_one_that_is_gone(
    run_kept: Callable, tmp_path: Path, is_newer: bool
) -> None:
    run_kept("iteration", "none", [], "", "whole")
    part = tmp_path / "out" / "round-1" / "part-00001.whole.partial"
    older = part.with_name("part-00001")
    part.parent.mkdir(parents=True)
    older.write_text("of an older job")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("iteration", "r2-a2", kept, "", status=None)
    part.unlink()
    if is_newer:
        os.utime(older)
        failed = run_kept("iteration", "r2-a2", kept, "", status=None)
        assert failed.status != 0
        assert f"{part} is lost, or has been changed, and is of a round that is not run again" in failed.stderr
        assert "Remedy: empty the directory of MPI_D_CHECKPOINT (--checkpoint)" in failed.stderr
        assert [name for name in contents(tmp_path / "out") if not name.endswith(".partial")] == ["round-1/part-00001"]
        return
    finished = run_kept("iteration", "r2-a2", kept, "")
    assert f"goes with {part}, which is gone, and is not used" in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_part_that_a_lost_start_had_written_anew_and_named_is_written_again(run_kept: Callable, tmp_path: Path) -> None:
    run_kept("iteration", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept("iteration", "r2-a4", kept, "", status=None)
    part = tmp_path / "out" / "last" / "part-00000.whole.partial"  # of round 2, which is run again
    part.rename(part.with_name("part-00000"))
    finished = run_kept("iteration", "r2-a4", kept, "", status=0)
    assert "is not used" not in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("mode, killed_at", [("mapreduce", "a3"), ("iteration", "r2-a2")])
@pytest.mark.parametrize("processes", [1, 3])
def test_kept_parts_go_on_with_another_number_of_processes(
    run_kept: Callable, tmp_path: Path, mode: str, killed_at: str, processes: int
) -> None:
    run_kept(mode, "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept(mode, killed_at, kept, "", status=None)
    run_kept(mode, killed_at, [*kept, "-n", processes], "")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_kept_parts_that_another_process_has_stay_when_a_start_fails(run_kept: Callable, tmp_path: Path) -> None:
    run_kept("iteration", "none", [], "", "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    killed_at = "r1-a1,r1-a3-throws"
    run_kept("iteration", killed_at, [*kept, "-n", 1], "", status=None)
    failed = run_kept("iteration", killed_at, [*kept, "-n", 2], "", status=None)  # task 1 is process 1's now
    assert "thrown in the middle of a part" in failed.stderr
    finished = run_kept("iteration", killed_at, [*kept, "-n", 3], "")
    assert "is not used" not in finished.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert Counter((tmp_path / "out-tasks").read_text().split())["r0-a0"] == 1


@pytest.mark.parametrize("mode, killed_at", KILLS)
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_tables_elsewhere_are_the_same_after_a_restart(
    run_kept: Callable, tmp_path: Path, mode: str, killed_at: str, format: str
) -> None:
    run_kept(mode, "none", [], format, "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    run_kept(mode, killed_at, kept, format, status=None, more=["elsewhere"])
    left = contents(tmp_path / "out")
    assert left and not any(name.endswith(".partial") for name in left)  # with checkpoints they are named at once
    run_kept(mode, killed_at, [*kept, "-n", 3], format, more=["elsewhere"])
    found, expected = contents(tmp_path / "out"), contents(tmp_path / "whole")
    # Folders in which only starts before have written have no mark.
    marks = {name for name in expected if Path(name).name == MARK}
    written = {"of-a", "last"} & {str(Path(name).parent) for name in expected}
    assert {f"{folder}/{MARK}" for folder in written} <= found.keys() & marks
    assert found == {name: content for name, content in expected.items() if name in found or name not in marks}
    begun = Counter((tmp_path / "out-tasks").read_text().split())
    assert begun["a0" if killed_at[0] == "a" else "o0" if killed_at[0] == "o" else "r0-a0"] == 1


@pytest.mark.parametrize("format", ["", "csv"])
def test_part_of_each_round_whose_writer_throws_costs_no_more_than_the_round(
    run_kept: Callable, tmp_path: Path, format: str
) -> None:
    run_kept("iteration", "none", [], format, "whole")
    kept = ["--plain", "--checkpoint", tmp_path / "checkpoint"]
    failed = run_kept("iteration", "r2-a2-throws", kept, format, status=None)
    assert failed.status != 0 and "thrown in the middle of a part" in failed.stderr
    run_kept("iteration", "r2-a2-throws", kept, format)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    begun = Counter((tmp_path / "out-tasks").read_text().split())
    assert begun["r0-a0"] == begun["r1-a0"] == 1 and begun["r2-a2"] == 2


def test_failing_job_removes_parts_that_no_restart_needs(run_kept: Callable, tmp_path: Path) -> None:
    (tmp_path / "out" / "of-a" / "part-00003.partial").mkdir(parents=True)  # in the way
    kept = ["--plain", "-n", 1, "--checkpoint", tmp_path / "checkpoint"]
    failed = run_kept("mapreduce", "none", kept, "", status=None)
    assert failed.status != 0 and "part-00003" in failed.stderr
    stay = [f"part-{task:05}.whole.partial" for task in range(3)]
    assert names(tmp_path / "out" / "of-a") == [*stay, "part-00003.partial"]
    (tmp_path / "out" / "of-a" / "part-00003.partial").rmdir()
    run_kept("mapreduce", "none", kept, "")
    assert names(tmp_path / "out" / "of-a") == [MARK, *(f"part-{task:05}" for task in range(5))]
