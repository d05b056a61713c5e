"""What cannot be written is said before a job works for it, and what is no regular file stays what it is."""

import os
import stat
import subprocess
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from parts import parts_in
from runner import Finished, Runner
from source_tree import SOURCE

pytestmark = pytest.mark.libraries_in_turn

APPLICATIONS = SOURCE / "apps" / "keyvalue" / "python"
PLAIN: List[object] = ["--plain", "-n", 2]
NULL_DEVICE = os.makedev(1, 3)
# Of C++ and Python: what they read, and the words before it.
JOBS = {
    "wordcount": ("text", []),
    "lines-sort": ("text", []),
    "inverted-index": ("text", []),
    "terasort": ("records", []),
    "keyvalue-pagerank": ("graph", [3]),
    "keyvalue-kmeans": ("points", [2, 3]),
    "wordcount.py": ("text", []),
    "wordcount_batches.py": ("text", []),
    "sort.py": ("text", []),
    "inverted_index.py": ("text", []),
    "terasort.py": ("records", []),
    "sum_by_key.py": ("table.csv", ["name", "count"]),
    "pagerank.py": ("graph", [3]),
    "kmeans.py": ("points", [2, 3]),
}
OF_ONE_FILE = ["keyvalue-kmeans", "kmeans.py"]
SOME = ["wordcount", "wordcount.py", "sum_by_key.py", *OF_ONE_FILE]  # of each kind of output


@pytest.fixture
def run_to(run_job: Callable, run_python: Callable, python_with_packages: Dict, tmp_path: Path) -> Callable:
    """run_to(name, output, status=): a job of JOBS."""
    (tmp_path / "text").write_text("one two one\n")
    (tmp_path / "records").write_bytes(bytes(range(100)) * 3)
    (tmp_path / "table.csv").write_text("name,count\na,1\nb,2\n")
    (tmp_path / "graph").write_text("1 2\n2 1\n")
    (tmp_path / "points").write_text("1 2\n3 4\n5 6\n")

    def run_it(name: str, output: object, status: int = 0) -> Finished:
        source, words = JOBS[name]
        mode = ["-M", "iteration"] if source in ("graph", "points") else []
        words = [output, *words, tmp_path / source]
        if name.endswith(".py"):
            return run_python([*mode, *PLAIN], APPLICATIONS / name, *words, status=status, **python_with_packages)
        return run_job([*mode, *PLAIN], name, *words, status=status)[0]

    return run_it


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    """A node of the test's own: those of /dev must not be at risk."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, NULL_DEVICE)
    except PermissionError:
        os.mkfifo(path)  # without root


def make_link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("behind"))
    path.symlink_to("behind")


def make_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


MAKERS = [make_fifo, make_device, make_link_to_fifo, make_link_to_nothing, Path.mkdir]


def kind_of(path: Path) -> int:
    return stat.S_IFMT(os.lstat(path).st_mode)


def check_has_not_begun(finished: Finished) -> None:
    """Not even a round."""
    assert finished.status != 0 and "round 1" not in finished.stdout, finished.report()
    assert "A task" not in finished.stderr and "O task" not in finished.stderr, finished.report()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", OF_ONE_FILE)
def test_output_that_is_no_regular_file_stays(
    run_to: Callable, tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "centers"
    make(path)
    kind = kind_of(path)
    finished = run_to(name, path, status=None)
    check_has_not_begun(finished)
    assert str(path) in finished.stderr
    assert kind_of(path) == kind and not path.with_name("centers.partial").exists()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["wordcount", "wordcount.py", "sum_by_key.py", "keyvalue-pagerank"])
def test_part_that_is_no_regular_file_stays(
    run_to: Callable, tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "out" / ("part-00001.parquet" if name == "sum_by_key.py" else "part-00001")
    path.parent.mkdir()
    make(path)
    kind, before = kind_of(path), sorted(os.listdir(path.parent))
    finished = run_to(name, path.parent, status=None)
    check_has_not_begun(finished)
    assert f"{path} is there, and is " in finished.stderr
    assert kind_of(path) == kind and sorted(os.listdir(path.parent)) == before


@pytest.mark.parametrize("name", OF_ONE_FILE)
def test_file_that_a_link_leads_to_is_replaced(run_to: Callable, tmp_path: Path, name: str) -> None:
    """As `cp` and `sort -o` have it."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "centers").write_text("of before")
    (tmp_path / "centers").symlink_to(there / "centers")
    run_to(name, tmp_path / "centers")
    assert os.readlink(tmp_path / "centers") == str(there / "centers")
    assert len((there / "centers").read_text().splitlines()) == 2
    assert os.listdir(there) == ["centers"] and not (tmp_path / "centers.partial").exists()


@pytest.mark.parametrize("name", ["wordcount", "wordcount.py", "sum_by_key.py"])
def test_directory_of_parts_may_be_a_link(run_to: Callable, tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to("there")
    run_to(name, tmp_path / "out")
    assert len(parts_in(tmp_path / "there")) == 2


@pytest.mark.parametrize("name", [name for name in JOBS if name != "sum_by_key.py"])
def test_folder_that_is_missing_is_said_at_the_beginning(run_to: Callable, tmp_path: Path, name: str) -> None:
    finished = run_to(name, tmp_path / "nodir" / "out", status=None)
    check_has_not_begun(finished)
    assert f"no file can be made in the folder {tmp_path}/nodir: No such file or directory" in finished.stderr
    assert not (tmp_path / "nodir").exists()


@pytest.mark.parametrize("name", SOME)
def test_output_below_a_file_is_refused_at_the_beginning(run_to: Callable, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("a file")
    finished = run_to(name, tmp_path / "file" / "out", status=None)
    check_has_not_begun(finished)
    assert f"{tmp_path}/file" in finished.stderr and (tmp_path / "file").read_text() == "a file"


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A folder in which not even root can write."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    for options in (["--bind", folder], ["-o", "remount,bind,ro"]):
        mounted = subprocess.run(["mount", *options, folder], capture_output=True)
        if mounted.returncode != 0:
            folder.chmod(0o555)
            break
    yield folder
    subprocess.run(["umount", "--lazy", folder], capture_output=True)
    folder.chmod(0o755)


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("name", SOME)
def test_folder_that_cannot_be_written_to_is_said_at_the_beginning(
    run_to: Callable, read_only: Path, name: str, existing: bool
) -> None:
    output = read_only if existing and name not in OF_ONE_FILE else read_only / "out"
    finished = run_to(name, output, status=None)
    check_has_not_begun(finished)
    assert str(read_only) in finished.stderr
    assert "Read-only file system" in finished.stderr or "Permission denied" in finished.stderr, finished.report()


def test_folders_above_parts_of_tables_are_made(run_to: Callable, tmp_path: Path) -> None:
    run_to("sum_by_key.py", tmp_path / "above" / "it" / "out")
    assert (tmp_path / "above" / "it" / "out" / "_SUCCESS").is_file()


@pytest.mark.parametrize("make", MAKERS)
def test_output_file_of_python_needs_no_job(run: Runner, tmp_path: Path, make: Callable[[Path], None]) -> None:
    for name in ("file", "file.partial"):
        path = tmp_path / name
        make(path)
        kind = kind_of(path)
        if kind == stat.S_IFLNK and path.suffix == ".partial":
            break  # output is written through it
        program = f"from spillway import mpid\nwith mpid.OutputFile({str(tmp_path / 'file')!r}) as output: pass"
        finished = run("/usr/bin/python3", "-c", program, status=1, env={"PYTHONPATH": SOURCE / "python"})
        assert str(path) in finished.stderr and kind_of(path) == kind
        path.rmdir() if path.is_dir() else path.unlink()
        (tmp_path / "behind").unlink(missing_ok=True)
