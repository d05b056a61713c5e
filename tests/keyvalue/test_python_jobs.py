"""Key-value jobs in Python: what comes out is what Python itself makes of the same records."""

import gzip
import json
import math
import re
import runpy
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest
from parts import parts_in
from runner import Runner
from source_tree import SOURCE
from spillway import mpid

pytestmark = pytest.mark.libraries_in_turn

PROGRAMS = Path(__file__).with_name("python")
WAYS = [["--plain", "-n", 1], ["--plain", "-n", 3], ["--slots", 1, "-n", 3, "--memory", "512M"]]
PLAIN = ["--plain", "-n", 2, "-O", 3, "-A", 2]
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}


def sent(options: Dict[str, Any], o_tasks: int) -> List[Tuple[Any, Any]]:
    """What tests/keyvalue/python/records.py sends."""
    argv, sys.argv = sys.argv, ["records.py", json.dumps(options)]
    try:
        records_of = runpy.run_path(str(PROGRAMS / "records.py"))["records_of"]
    finally:
        sys.argv = argv
    return [record for task in range(o_tasks) for record in records_of(task)]


def received(folder: Path, a_tasks: int) -> List[List[Tuple[Any, Any]]]:
    assert [path.name for path in parts_in(folder)] == [f"part-{task:05d}" for task in range(a_tasks)]
    names = {"nan": math.nan, "inf": math.inf}
    return [
        [eval(line, names) for line in (folder / f"part-{task:05d}").read_text().splitlines()]  # noqa: S307
        for task in range(a_tasks)
    ]


def order(key: Any) -> Any:
    """Of floats, 0 and -0 are two keys; NaN is behind all others."""
    return (math.isnan(key), key, math.copysign(1, key)) if isinstance(key, float) else key


def same(records: List[Tuple[Any, Any]]) -> Counter:
    return Counter(map(repr, records))


@pytest.fixture
def run_records(run_python: Callable, tmp_path: Path) -> Callable[..., Tuple[List, List]]:
    """run_records(key, value, **options): what was sent, and what each A task received."""

    def run_it(
        key: str,
        value: str,
        way: List[object] = PLAIN,
        env: Optional[Dict[str, Any]] = None,
        o_tasks=3,
        a_tasks=2,
        **more: Any,  # noqa: B006
    ) -> Tuple[List, List]:
        options = {
            "key": key,
            "value": value,
            "records": 3000,
            "distinct": 500,
            "output": str(tmp_path / "out"),
            **more,
        }
        run_python(way, PROGRAMS / "records.py", json.dumps(options), env=env)
        return sent(options, o_tasks), received(tmp_path / "out", a_tasks)

    return run_it


@pytest.mark.parametrize("value", ["str", "float"])
@pytest.mark.parametrize("key", ["str", "bytes", "int", "float"])
def test_records_of_each_type_come_in_order(run_records: Callable, key: str, value: str) -> None:
    expected, parts = run_records(key, value, env=LITTLE_MEMORY)
    assert same([record for part in parts for record in part]) == same(expected)
    for part in parts:
        keys = [order(key) for key, _ in part]
        assert len(keys) > 1000 and all(first <= second or first != first for first, second in zip(keys, keys[1:]))
    assert not set(map(repr, (key for key, _ in parts[0]))) & set(map(repr, (key for key, _ in parts[1])))


@pytest.mark.parametrize("send", ["list", "Send"])
@pytest.mark.parametrize("receive", ["groups", "in parts"])
def test_all_ways_of_sending_and_receiving_are_the_same(run_records: Callable, send: str, receive: str) -> None:
    expected, parts = run_records("str", "bytes", send=send, receive=receive)
    assert same([record for part in parts for record in part]) == same(expected)


@pytest.mark.parametrize("records", [3000, 9000])  # a short list is gathered
def test_a_batch_may_have_one_value_for_all_of_its_keys(run_records: Callable, records: int) -> None:
    expected, parts = run_records("bytes", "int", send="one value", records=records)
    ones = Counter(key for key, _ in expected)
    assert Counter(key for part in parts for key, _ in part) == ones
    assert {value for part in parts for _, value in part} == {50 * 12345678901}


@pytest.mark.parametrize("key", ["str", "float"])
def test_what_is_left_of_a_group_is_skipped(run_records: Callable, key: str) -> None:
    expected, parts = run_records(key, "int", receive="first of groups")
    keys = [repr(key) for part in parts for key, _ in part]
    assert sorted(keys) == sorted({repr(key) for key, _ in expected})
    assert same([record for part in parts for record in part]) <= same(expected)


def test_keys_that_the_program_calls_equal_are_one_group(run_records: Callable) -> None:
    functions = {"compare": "by last digit", "partition": "last digit"}
    _, parts = run_records("int", "int", receive="first of groups", **functions)
    keys = [[key % 10 for key, _ in part] for part in parts]
    assert keys == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


@pytest.mark.parametrize("options", [{"tasks": True}, {"tasks": False}])
def test_in_the_common_mode_each_process_is_a_task(run_records: Callable, options: Dict[str, Any]) -> None:
    way = ["--plain", "-M", "common", "-O", 2, "-A", 1]
    expected, parts = run_records("str", "int", way, o_tasks=2, a_tasks=1, mode="COMMON", **options)
    assert same(parts[0]) == same(expected)


@pytest.mark.parametrize("way", WAYS)
def test_the_program_may_order_place_and_combine_records(run_records: Callable, way: List[object]) -> None:
    functions = {"compare": "descending", "partition": "first", "combine": "add"}
    expected, parts = run_records(
        "int", "float", [*way, "-O", 3, "-A", 2], records=2000, env=LITTLE_MEMORY, **functions
    )
    sums: Dict[int, float] = defaultdict(float)
    for key, value in expected:
        sums[key] += value
    keys = [key for key, _ in parts[0]]
    assert keys == sorted(sums, reverse=True) and not parts[1]
    assert all(repr(value) == repr(sums[key]) or math.isclose(value, sums[key]) for key, value in parts[0])


def test_combined_text_may_become_longer(run_records: Callable) -> None:
    expected, parts = run_records("int", "str", distinct=50, records=1000, combine="join", receive="groups")
    pieces = defaultdict(list)
    for key, value in expected:
        pieces[key].append(value)
    found = defaultdict(list)
    for key, value in (record for part in parts for record in part):
        found[key] += value.split(",")
    assert {key: sorted(values) for key, values in found.items()} == {key: sorted(v) for key, v in pieces.items()}


@pytest.mark.parametrize("name, operation", [("sum", sum), ("min", min), ("max", max)])
def test_numbers_are_combined_by_the_library(run_records: Callable, name: str, operation: Callable) -> None:
    expected, parts = run_records("str", "int", combine=name)
    values = defaultdict(list)
    for key, value in expected:
        values[key].append(value)
    wrapped = {key: (operation(found) + 2**63) % 2**64 - 2**63 for key, found in values.items()}
    assert sorted(record for part in parts for record in part) == sorted(wrapped.items())


def test_the_configuration_may_say_what_the_environment_does_not(run_records: Callable) -> None:
    conf = {"MPI_D_O_TASKS": "5", "MPI_D_A_TASKS": "3"}
    expected, parts = run_records("str", "int", ["--plain", "-n", 2], o_tasks=5, a_tasks=3, conf=conf)
    assert same([record for part in parts for record in part]) == same(expected)


def test_arrays_of_numpy_go_both_ways(run_python: Callable, tmp_path: Path) -> None:
    check_batches(run_python, tmp_path, "numpy", {})


def test_arrays_of_arrow_go_both_ways(run_python: Callable, tmp_path: Path, python_with_packages: Dict) -> None:
    check_batches(run_python, tmp_path, "arrow", python_with_packages)


def check_batches(run_python: Callable, tmp_path: Path, kind: str, python: Dict) -> None:
    for value_type, value in (("int", int), ("float", float), ("str", str), ("bytes", bytes)):
        out = tmp_path / value_type
        run_python(PLAIN, PROGRAMS / "batches.py", kind, out, value_type, **python)
        texts = [f"ä{number}" if number % 7 else "" for number in range(1000)]
        values = {str: texts, bytes: [text.encode() for text in texts]}.get(value, list(map(value, range(1000))))
        assert sorted(record for part in received(out, 2) for record in part) == list(enumerate(values))


MISTAKES = {
    "map": "O task 2 ended by KeyError: 'gone wrong'",
    "reduce": "A task ",
    "exit": "O task 2 ended by SystemExit: 0",
    "compare": "the compare function ended by KeyError: 'gone wrong'",
    "partition": "the partition function ended by KeyError: 'gone wrong'",
    "combine": "the combine function ended by KeyError: 'gone wrong'",
    "no task": "the partition function returned 2, and the A tasks are 0 to 1",
    "a task far away": "the partition function returned 1000000, and the A tasks are 0 to 1",
    "no whole number": "the partition function ended by TypeError: it returned 0.5, which is no whole number\n",
    "no number": "the compare function ended by TypeError: it returned None, which is no number\n  Remedy: ",
    "no stdout": "the partition function ended by KeyError: 'gone wrong'",
    "a key that is None": "the key None is no str",
    "a value of another type": "the value 'text' is no int",
    "a number that is too large": "the value 9223372036854775808 is no int",
    "wrong side": "MPI_D_Recv_batch() is for A tasks",
    "send in reduce": "Send() is for O tasks",
    "two ways": "recv_batches() after Recv() or groups() in the same task",
    "no pyarrow": "Remedy: python3 -m pip install pyarrow.",
    "no finalize": "the program has ended without Finalize()",
    "uncaught": "KeyError: 'gone wrong'",
    "configuration": "MPI_D_MEMORY: 'much' is not a size",
    "numbers in conf": "MPI_D_A_TASKS: 'no' is not a number of tasks",
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_what_goes_wrong_ends_the_job(run_python: Callable, mistake: str) -> None:
    finished = run_python(PLAIN, PROGRAMS / "mistakes.py", mistake, status=None)
    assert finished.status == 1
    assert any(line.startswith("mpid: rank ") for line in finished.stderr.splitlines())
    assert MISTAKES[mistake] in finished.stderr


@pytest.mark.parametrize(
    "mistake, named",
    [
        ("class", "Init() ended by ValueError: key=<class 'list'>: keys and values may be str, bytes, int or float"),
        ("no mode", "Init() ended by ValueError: 'mapreduce' is no mode\n  Remedy: say Mode.COMMON or "),
        ("a name that is a number", "Init() ended by ValueError: conf has the name 7, which is no str\n  Remedy: "),
    ],
)
def test_what_init_cannot_take_is_said_before_there_is_mpi(run_python: Callable, mistake: str, named: str) -> None:
    finished = run_python(PLAIN, PROGRAMS / "mistakes.py", mistake, status=1)
    assert f"mpid: {named}" in finished.stderr


def test_a_function_that_goes_wrong_in_a_task_is_said_with_it(run_python: Callable) -> None:
    words = ["--plain", "-n", 1, "-O", 1, "-A", 1]
    finished = run_python(words, PROGRAMS / "mistakes.py", "partition", status=1)
    assert ": O task 0: the partition function ended by KeyError: 'gone wrong'" in finished.stderr


def text_with_bad(line: int, name: str = "good") -> str:
    return "".join("bad\n" if number == line else f"{name}{number:06}\n" for number in range(1, 200001))


@pytest.mark.parametrize(
    "way, place",
    [
        ("lines", "at FILE, line 150000,"),
        ("after lines", ""),
        ("blocks", "at FILE, bytes"),
        ("groups", "at the key 'bad',"),
        ("after groups", ""),
        ("Recv", "at record 0, the key 'bad',"),
    ],
)
def test_an_exception_is_said_with_the_line_or_key(run_python: Callable, tmp_path: Path, way: str, place: str) -> None:
    path = tmp_path / "text"
    path.write_text(text_with_bad(150000))
    words = ["--plain", "-n", 1, "-A", 1]
    finished = run_python(words, PROGRAMS / "fails_at.py", way, path, status=1)
    side, task = ("A", 0) if way in ("groups", "after groups", "Recv") else ("O", 0 if way == "after lines" else 2)
    said = next(line for line in finished.stderr.splitlines() if "ended by KeyError" in line)
    where = f"{side} task {task}" + (f", {place}" if place else "")
    if way == "blocks":
        assert re.search(rf": O task 2, at {path}, bytes \d+ to \d+, ended by", said), said
        begin, end = map(int, re.findall(r"bytes (\d+) to (\d+),", said)[0])
        assert 0 <= begin <= path.read_bytes().index(b"bad") <= end < begin + 1020
    else:
        assert f": {where} ended by KeyError: 'gone wrong'".replace("FILE", str(path)) in said


def test_an_exception_is_said_with_the_line_of_contents(run_python: Callable, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(text_with_bad(190000).encode()))
    finished = run_python(["--plain", "-n", 1, "-A", 1], PROGRAMS / "fails_at.py", "lines", path, status=1)
    assert f": O task 0, at {path}, line 190000, ended by KeyError: 'gone wrong'" in finished.stderr


@pytest.mark.parametrize(
    "way, name, expected",
    [
        ("records", "records", r", record 149999 \(byte 1499990\),"),
        ("record batches", "records", r", records (\d+) to (\d+),"),
        ("rows", "table.csv", r", part from byte \d+ on, row \d+,"),
        ("row batches", "table.csv", r", part from byte \d+ on, rows \d+ to \d+,"),
        ("rows", "table.parquet", ", row groups 1 to 1, row 49999,"),
    ],
)
def test_an_exception_is_said_with_the_record_or_row(
    run_python: Callable, python_with_packages: Dict, tmp_path: Path, way: str, name: str, expected: str
) -> None:
    path = tmp_path / name
    lines = [f"good{number:05}" for number in range(200000)]
    lines[149999 if name == "records" else 149998] = "bad"
    if name == "records":
        path.write_text("".join(f"{line[:10]:<10}" for line in lines))
    else:
        (tmp_path / "table.csv").write_text("name,count\n" + "".join(f"{line},1\n" for line in lines))
    if name == "table.parquet":
        code = (
            "import sys; from pyarrow import csv, parquet; "
            "parquet.write_table(csv.read_csv(sys.argv[1]), sys.argv[2], row_group_size=100000)"
        )
        words = [str(python_with_packages["python"]), "-c", code, str(tmp_path / "table.csv"), str(path)]
        subprocess.run(words, check=True)
    words = ["--plain", "-n", 1, "-A", 1]
    finished = run_python(words, PROGRAMS / "fails_at.py", way, path, status=1, **python_with_packages)
    said = next(line for line in finished.stderr.splitlines() if "ended by KeyError" in line)
    found = re.search(rf": O task \d+, at {path}{expected} ended by KeyError: 'gone wrong'", said)
    assert found, said
    if way == "record batches":
        assert int(found[1]) <= 149999 <= int(found[2])


def test_what_goes_wrong_under_spillway_ends_the_job(run_python: Callable) -> None:
    for mistake in ("map", "compare", "combine"):
        finished = run_python([*WAYS[2], "-O", 3, "-A", 2], PROGRAMS / "mistakes.py", mistake, status=None)
        assert finished.status == 1 and MISTAKES[mistake] in finished.stderr


def test_the_first_example_runs_also_on_an_empty_file(
    run_python: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (SOURCE / "docs" / "reference" / "key-value-jobs-in-python.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    assert textwrap.indent(example, "    ") in str(mpid.__doc__)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(example)
    for text, counts in (("", ""), ("b a\nb\n", "a\t1\nb\t2\n")):
        (tmp_path / "text").write_text(text)
        run_python(["--plain", "-n", 1, "-A", 1], tmp_path / "example.py")
        assert (tmp_path / "counts" / "part-00000").read_text() == counts


def test_null_in_arrays_is_refused(run_python: Callable, python_with_packages: Dict) -> None:
    finished = run_python(PLAIN, PROGRAMS / "mistakes.py", "null", status=None, **python_with_packages)
    assert finished.status == 1 and "1 of the keys are null" in finished.stderr


def test_before_init_nothing_is_sent(run_python: Callable) -> None:
    finished = run_python(["--plain", "-n", 1], PROGRAMS / "mistakes.py", "before init", status=None)
    assert finished.status != 0 and "called before Init()" in finished.stderr


@pytest.mark.parametrize("way", WAYS)
def test_mpi4py_may_be_used_beside_it(
    run_python: Callable, tmp_path: Path, python_with_packages: Dict, way: List
) -> None:
    for order_of_imports in ("before", "after"):
        script = tmp_path / f"{order_of_imports}.py"
        begin, within = (
            ("from mpi4py import MPI", "") if order_of_imports == "before" else ("", "from mpi4py import MPI")
        )
        script.write_text(
            f"{begin}\nfrom spillway import mpid\nwith mpid.Init(key=int, value=int, combine='sum'):\n    {within}\n"
            "    total = 0\n    for side in mpid.tasks():\n        if side is mpid.COMM_BIPARTITE_O:\n"
            "            mpid.Send(7, side.rank + 1)\n        else:\n"
            "            total += sum(sum(values) for _, values in mpid.groups())\n"
            "    whole = MPI.COMM_WORLD.allreduce(total)\n"
            "    if MPI.COMM_WORLD.rank == 0:\n        print(whole)\n"
        )
        finished = run_python([*way, "-O", 4, "-A", 2], script, **python_with_packages)
        assert finished.stdout == "10\n"


def test_a_plain_mpiexec_starts_it_too(
    run: Runner, plain_mpi: Callable, spillway: Path, flavour: str, tmp_path: Path
) -> None:
    path = run(spillway, "--python-path").stdout.rstrip("\n")
    options = {"key": "str", "value": "int", "records": 100, "distinct": 50, "output": str(tmp_path / "out")}
    words = [*plain_mpi(flavour, 2), sys.executable, PROGRAMS / "records.py", json.dumps(options)]
    run(*words, env={"PYTHONPATH": path})
    assert same([r for part in received(tmp_path / "out", 2) for r in part]) == same(sent(options, 2))


def test_without_a_launcher_the_mpi_library_is_not_known(run: Runner, spillway: Path, tmp_path: Path) -> None:
    path = run(spillway, "--python-path").stdout.rstrip("\n")
    finished = run(sys.executable, PROGRAMS / "mistakes.py", "map", env={"PYTHONPATH": path}, status=1)
    assert "which MPI library this process is to use is not known" in finished.stderr
    named = {"PYTHONPATH": path, "MPI_D_LIBRARY": "/no/libmpid-mpich.so"}
    finished = run(sys.executable, PROGRAMS / "mistakes.py", "map", env=named, status=1)
    assert "there is no /no/libmpid-mpich.so" in finished.stderr


def test_another_mpi_library_than_the_launchers_is_refused(
    run: Runner, mpidrun: Path, flavour: str, tmp_path: Path, python_with_packages: Dict
) -> None:
    other = {"mpich": "openmpi", "openmpi": "mpich"}[flavour]
    script = tmp_path / "script.py"
    script.write_text("from mpi4py import MPI\nfrom spillway import mpid\nmpid.Init()\n")
    words = [mpidrun, "--plain", "-n", 1, "--mpi", other, python_with_packages["python"], script]
    finished = run(*words, env=python_with_packages["env"], status=None)
    assert finished.status != 0
    assert f"the program has loaded the MPI library {flavour}, and was started for {other}" in finished.stderr


def test_long_keys_and_values_go_to_other_processes(run_python: Callable, tmp_path: Path) -> None:
    size = 48 << 20
    words = [Path(__file__).parent / "python" / "long_records.py", size, tmp_path / "out"]
    run_python(["--plain", "-n", 2, "-O", 2, "-A", 2], *words, env={"MPI_D_MEMORY": "16M"})
    for task, sender in ((0, 1), (1, 0)):
        lines = (tmp_path / "out" / f"part-{task:05d}").read_text().splitlines()
        assert lines == [f"{sender}: {size + 1} 5 True", f"short {sender}: 7 {size} True"]
