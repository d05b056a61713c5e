"""CSV and Parquet files as input and output of key-value jobs: sum_by_key.py, compared with pyarrow's own group_by."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from runner import Runner
from source_tree import SOURCE
from test_text_jobs import WAYS

pytestmark = pytest.mark.libraries_in_turn

HERE = Path(__file__).with_name("python")
SUM_BY_KEY = SOURCE / "apps" / "keyvalue" / "python" / "sum_by_key.py"
PLAIN = ["--plain", "-n", 2]


@pytest.fixture
def run_sums(run: Runner, run_python: Callable, python_with_packages: Dict, tmp_path: Path) -> Callable[..., object]:
    """run_sums(way, key, number, files, status=): sum_by_key.py, compared with the oracle where it ends well."""

    def run_it(way: List[object], key: str, number: str, files: List[Path], status: int = 0):  # type: ignore[no-untyped-def]
        words = [tmp_path / "out", key, number, *files]
        finished = run_python(way, SUM_BY_KEY, *words, status=status or None, **python_with_packages)
        if status == 0:
            run(python_with_packages["python"], HERE / "sums_oracle.py", "compare", *words)
        return finished

    return run_it


@pytest.fixture(scope="session")
def inputs(package_environment, tmp_path_factory: pytest.TempPathFactory) -> Path:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("tables")
    package_environment.make("mpich")
    subprocess.run([package_environment.python("mpich"), HERE / "sums_oracle.py", "make", folder], check=True)
    return folder


@pytest.mark.parametrize(
    "way, key, number, pattern",
    [
        (WAYS[1], "name", "count", "*.parquet"),
        (WAYS[2], "id", "price", "*.csv"),
        (PLAIN, "name", "price", "*.csv*"),
    ],
)
def test_sums_are_those_of_pyarrow(
    run_sums: Callable, inputs: Path, way: List[object], key: str, number: str, pattern: str
) -> None:
    run_sums([*way, "-O", 3, "-A", 2], key, number, sorted(inputs.glob(pattern)))


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv"])
def test_sums_of_a_host_s_own_files_are_the_same(
    run: Runner, run_python: Callable, python_with_packages: Dict, inputs: Path, tmp_path: Path, pattern: str
) -> None:
    first, *others = sorted(inputs.glob(pattern))
    own = [f"{socket.gethostname()}:{path}" for path in others]
    words, way = [tmp_path / "out", "name", "price"], [*PLAIN, "-A", 2]
    run_python(way, SUM_BY_KEY, *words, *own, first, **python_with_packages)
    run(python_with_packages["python"], HERE / "sums_oracle.py", "compare", *words, first, *others)


def test_what_is_wrong_with_a_table_ends_the_job(run_sums: Callable, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,count\n" + "1,2\n" * 300000 + "1,many\n")
    finished = run_sums([*PLAIN, "-O", 2], "id", "count", [inputs / "0.csv", tmp_path / "bad.csv"], status=1)
    assert finished.status != 0
    cause = f"cannot read {tmp_path}/bad.csv: cannot use the lines from byte 9 on (rows are counted from there): "
    cause += "In CSV column #1: Row #300001: "
    assert f"O task 1 ended by ValueError: {cause}" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_columns_that_cannot_be_summed_are_named(run: Runner, package_environment, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    package_environment.make("mpich")
    (tmp_path / "a.csv").write_text("id,name\n1,x\n")
    env = {"PYTHONPATH": str(SOURCE / "python")}
    causes = {"none": f"{tmp_path}/a.csv has no column 'none'", "name": "the column 'name' has no numbers, but is of"}
    for column, cause in causes.items():
        words = [package_environment.python("mpich"), SUM_BY_KEY, tmp_path / "out", "id", column, tmp_path / "a.csv"]
        assert cause in run(*words, env=env, status=1).stderr


@pytest.mark.parametrize("script", ["table_checks.py", "csv_checks.py", "table_part_checks.py"])
def test_tables_without_a_job(  # type: ignore[no-untyped-def]
    run: Runner, build_dir: Path, package_environment, tmp_path: Path, script: str
) -> None:
    package_environment.make("mpich")
    words = [package_environment.python("mpich"), HERE / script, tmp_path]
    library = build_dir / "lib" / "spillway" / "libmpid-mpich.so"
    checks = run(*words, env={"PYTHONPATH": str(SOURCE / "python"), "MPI_D_LIBRARY": str(library)}).stdout.split()
    assert checks == sorted(
        line[4:].split("(")[0] for line in (HERE / script).read_text().splitlines() if line.startswith("def check_")
    )


def test_without_pyarrow_the_remedy_is_said(run: Runner) -> None:
    words = "import sys; sys.modules['pyarrow'] = None; from spillway import mpid; mpid.TableSplits([])"
    stderr = run(sys.executable, "-c", words, env={"PYTHONPATH": str(SOURCE / "python")}, status=1).stderr
    assert "ImportError: TableSplits needs pyarrow (" in stderr
    assert "Remedy: python3 -m pip install pyarrow." in stderr
