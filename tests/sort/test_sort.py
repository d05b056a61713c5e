"""`spillway sort`: the same records in the order of their keys, or a message and no output."""

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Sequence

import numpy
import pytest
from held_processes import BLOCK_BYTES, Gate
from record_files import as_rows, expect_sorted, random_keys, records, written
from runner import Finished, Runner, outcome_within
from unmounting import unmount

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

LIMIT_S = 120
# So little memory that its buckets go to the spill directory, and each staging buffer is used several times.
SPILLED_RECORDS, SPILLED_MEMORY = 400_000, "96M"


def keys_of_numbers(numbers: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(numbers.astype(">u8")).view(numpy.uint8).reshape(-1, 8)


def late_differing_keys(count: int) -> numpy.ndarray:
    """Equal in the first eight bytes, which are compared as a number."""
    keys = random_keys(count)
    keys[:, :8] = 65
    return keys


KEYS: Dict[str, Callable[[int], numpy.ndarray]] = {
    "random": random_keys,
    "sorted": lambda count: keys_of_numbers(numpy.arange(count)),
    "reversed": lambda count: keys_of_numbers(numpy.arange(count)[::-1]),
    "constant": lambda count: keys_of_numbers(numpy.full(count, 42)),
    "skewed": lambda count: keys_of_numbers(numpy.random.default_rng(7).zipf(1.2, count).clip(max=2**60)),
    "late": late_differing_keys,
}


@pytest.mark.parametrize("kind", sorted(KEYS))
@pytest.mark.libraries_in_turn
def test_in_memory(sort: Callable[..., Finished], tmp_path: Path, kind: str) -> None:
    source = written(tmp_path / "records", records(KEYS[kind](60_000)))
    page = tmp_path / "page"
    sort("--output", tmp_path / "sorted", "--memory", "256M", "--summary", "json", "--summary-file", page, source)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads(page.read_text())["in_memory"] is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page", "records", "sorted"]


@pytest.mark.parametrize("kind", sorted(KEYS))
@pytest.mark.libraries_in_turn
def test_through_the_spill_directory(sort: Callable[..., Finished], tmp_path: Path, kind: str) -> None:
    source = written(tmp_path / "records", records(KEYS[kind](SPILLED_RECORDS)))
    page = tmp_path / "page"
    options = ["--memory", SPILLED_MEMORY, "-n", 2, "--summary", "json", "--summary-file", page]
    sort("--output", tmp_path / "sorted", *options, source)
    expect_sorted(tmp_path / "sorted", [source])
    report = json.loads(page.read_text())
    assert report["in_memory"] is False
    assert report["buckets"] >= 8
    size = source.stat().st_size
    assert report["written_bytes"] > 1.9 * size
    disks = [report[f"{stage}_disk"] for stage in ("sample", "distribute", "finish")]
    for name in ("read_bytes", "written_bytes"):
        assert sum(disk[name] for disk in disks) == report[name]
    assert [disk["read_bytes"] >= size for disk in disks] == [False, True, True]
    assert [disk["written_bytes"] >= 0.9 * size for disk in disks] == [False, True, True]
    assert all(disk["busy"] is None or 0 <= disk["busy"] <= 1 for disk in disks)
    assert report["device_rate"] is None and all(disk["of_rate"] is None for disk in disks)


@pytest.mark.libraries_in_turn
def test_the_page_says_what_part_of_the_rate_of_the_spill_disk_is_reached(
    sort: Callable[..., Finished], tmp_path: Path, spill_dir: Path
) -> None:
    """Of an input that is large enough, and spilled. Nearly nothing of this one is: all of its records are the same."""
    source = tmp_path / "zeros"
    source.touch()
    os.truncate(source, 4_000_000_000)
    options = ["--memory", SPILLED_MEMORY, "-n", 2, "--unique", "--record-bytes", 1000]
    page = ["--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "sorted", *options, *page, "--summary", "json", source)
    report = json.loads((tmp_path / "page").read_text())
    assert (report["in_memory"], report["output_records"]) == (False, 1)
    rate = report["device_rate"]
    assert rate["read"] > 1e6 and rate["written"] > 1e6
    is_one_device = tmp_path.stat().st_dev == spill_dir.stat().st_dev
    there = {"sample": (is_one_device, False), "distribute": (is_one_device, True), "finish": (True, is_one_device)}
    for stage, (is_read, is_written) in there.items():
        disk = report[f"{stage}_disk"]
        least_s = is_read * disk["read_bytes"] / rate["read"] + is_written * disk["written_bytes"] / rate["written"]
        assert disk["of_rate"] == pytest.approx(least_s / report[f"{stage}_s"], rel=0.01, abs=0.001)
    sort("--output", tmp_path / "sorted", *options, *page, source)
    assert re.search(r"read and deal out .*, \d+% of its rate", (tmp_path / "page").read_text())
    assert re.search(r"the spill disk's rate: read .*/s, write .*/s", (tmp_path / "page").read_text())


@pytest.mark.parametrize("memory", ["256M", SPILLED_MEMORY])
@pytest.mark.parametrize("kind", ["constant", "skewed"])
@pytest.mark.libraries_in_turn
def test_equal_keys_stay_in_their_order(sort: Callable[..., Finished], tmp_path: Path, kind: str, memory: str) -> None:
    rows = records(KEYS[kind](SPILLED_RECORDS))
    first, second = (written(tmp_path / name, part) for name, part in (("b", rows[:150_000]), ("a", rows[150_000:])))
    options = ["-n", 2, "--stable", "--memory", memory, "--summary", "json", "--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "sorted", *options, first, second)
    keys = numpy.dot(rows[:, :8].astype(numpy.uint64), 256 ** numpy.arange(7, -1, -1, dtype=numpy.uint64))
    assert numpy.array_equal(as_rows(tmp_path / "sorted"), rows[numpy.argsort(keys, kind="stable")])
    assert json.loads((tmp_path / "page").read_text())["in_memory"] is (memory != SPILLED_MEMORY)


@pytest.mark.libraries_in_turn
def test_progress_as_lines_of_json(sort: Callable[..., Finished], tmp_path: Path) -> None:
    source = written(tmp_path / "records", records(random_keys(3_000_000)))
    options = ["-n", 2, "--memory", SPILLED_MEMORY, "--progress", "json", "--summary", "none"]
    finished = sort("--output", tmp_path / "sorted", *options, source)
    lines = [json.loads(line) for line in finished.stderr.splitlines()]
    assert lines, "it took less than the time between two lines"
    places = [(line["stage"] == "sort and write", line["done"]) for line in lines]
    assert places == sorted(places)
    for line in lines:
        assert line["stage"] in ("read and deal out", "sort and write")
        assert 0 <= line["done"] <= line["total"] and line["bytes_per_s"] >= 0
        assert line["left_s"] is None or line["left_s"] >= 0


@pytest.mark.parametrize(("processes", "readers"), [(1, 0), (3, 0), (3, 1), (4, 2)])
@pytest.mark.libraries_in_turn
def test_groups_of_readers_and_sorters(
    sort: Callable[..., Finished], tmp_path: Path, processes: int, readers: int
) -> None:
    source = written(tmp_path / "records", records(random_keys(300_000)))
    options = ["-n", processes, "--readers", readers, "--memory", f"{48 * processes}M"]
    sort("--output", tmp_path / "sorted", *options, source)
    expect_sorted(tmp_path / "sorted", [source])


@pytest.mark.parametrize(
    ("options", "own"),
    [
        (["--slots", 1], []),
        (["--slots", 1, "--ranks-per-node", 1], []),
        (["--ranks-per-node", 2], []),
        (["--ranks-per-node", 1], ["--readers", 1]),
    ],
)
def test_under_spillway_run(
    run: Runner,
    spillway: Path,
    build_dir: Path,
    flavour: str,
    spill_dir: Path,
    tmp_path: Path,
    options: List[object],
    own: List[object],
) -> None:
    """With fewer slots than processes, and on virtual nodes, which share this machine's memory."""
    source = written(tmp_path / "records", records(random_keys(600_000)))
    job = [spillway, "run", "-n", 3, "--memory", "512M", "--spill-dir", spill_dir, "--summary", "none", *options, "--"]
    program = build_dir / "lib" / "spillway" / f"spillway-sort-{flavour}"
    words = ["--memory", "48M", "--spill-dir", spill_dir, "--report-file", tmp_path / "report", *own]
    run(*job, program, *words, "--output", tmp_path / "sorted", source, timeout_s=LIMIT_S)
    expect_sorted(tmp_path / "sorted", [source])
    assert json.loads((tmp_path / "report").read_text())["in_memory"] is False


@pytest.mark.libraries_in_turn
def test_several_files_and_directories(sort: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    parts = [
        written(tmp_path / "parts" / f"part-{i}", records(random_keys(count))) for i, count in enumerate((7, 0, 9000))
    ]
    written(tmp_path / "parts" / ".hidden", numpy.zeros(3, numpy.uint8))
    other = written(tmp_path / "other", records(random_keys(1)))
    sort("--output", tmp_path / "sorted", tmp_path / "parts", other)
    expect_sorted(tmp_path / "sorted", [*parts, other])


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.libraries_in_turn
def test_few_records(sort: Callable[..., Finished], tmp_path: Path, count: int) -> None:
    source = written(tmp_path / "records", records(random_keys(count)))
    sort("--output", tmp_path / "sorted", "-n", 2, source)
    expect_sorted(tmp_path / "sorted", [source])


NUMBERS = [("int", kind) for kind in ("i1", "i2", "i4", "i8")] + [("uint", kind) for kind in ("u1", "u2", "u4", "u8")]
NUMBERS += [("float", kind) for kind in ("f4", "f8")]


@pytest.mark.parametrize("order", ["", ":desc"])
@pytest.mark.parametrize(("name", "kind"), NUMBERS)
@pytest.mark.libraries_in_turn
def test_numbers(sort: Callable[..., Finished], tmp_path: Path, name: str, kind: str, order: str) -> None:
    """Keys of 1 to 8 bytes at byte 3 of records of 17, so that they lie on no border."""
    random = numpy.random.default_rng(11)
    bits = random.integers(0, 256, (20_000, numpy.dtype(kind).itemsize), numpy.uint8)
    numbers = bits.view(kind).reshape(-1)
    if name == "float":
        numbers[~numpy.isfinite(numbers)] = 0
        numbers[:4] = [numpy.inf, -numpy.inf, 0, -1]
    rows = numpy.zeros(
        len(numbers), [("before", "V3"), ("key", kind), ("number", "i4"), ("after", f"V{10 - numbers.itemsize}")]
    )
    rows["key"] = numbers
    rows["number"] = numpy.arange(len(numbers))
    rows.tofile(tmp_path / "records")
    key = f"3:{numbers.itemsize}:{name}{order}"
    sort("--output", tmp_path / "sorted", "--record-bytes", rows.itemsize, "--key", key, tmp_path / "records")
    found = numpy.fromfile(tmp_path / "sorted", rows.dtype)
    expected = numpy.sort(numbers)
    assert numpy.array_equal(found["key"], expected[::-1] if order else expected)
    assert numpy.array_equal(numpy.sort(found["number"]), rows["number"])
    assert numpy.array_equal(found["key"], numbers[found["number"]])


WRONG = {
    "no output": ([], 2, "it is not said what to sort, or where to"),
    "no input": (["--output", "{folder}/sorted"], 2, "it is not said what to sort"),
    "option": (["--output", "{folder}/sorted", "--recordbytes", "4", "{records}"], 2, "unknown option --recordbytes"),
    "missing": (
        ["--output", "{folder}/sorted", "{folder}/none"],
        1,
        "cannot sort {folder}/none: No such file or directory",
    ),
    "cut": (["--output", "{folder}/sorted", "--record-bytes", "70", "{records}"], 1, "is not whole"),
    "key": (["--output", "{folder}/sorted", "--key", "95:10", "{records}"], 2, "a key of 10 bytes at byte 95"),
    "type": (["--output", "{folder}/sorted", "--key", "0:3:int", "{records}"], 2, "a number of 3 bytes as the key"),
    "words": (["--output", "{folder}/sorted", "--key", "0:4:text", "{records}"], 2, "'text' is neither a type"),
    "folder": (["--output", "{folder}/none/sorted", "{records}"], 1, "cannot write {folder}/none/.sorted.spillway-"),
    "directory": (["--output", "{folder}", "{records}"], 1, "cannot write {folder}: it is no file"),
    "memory": (["--output", "{folder}/sorted", "--memory", "20M", "{records}"], 1, "are too few to sort in"),
    "readers": (
        ["--output", "{folder}/sorted", "-n", "2", "--readers", "2", "{records}"],
        2,
        "2 of 2 processes only read",
    ),
}


@pytest.mark.parametrize("name", sorted(WRONG))
@pytest.mark.libraries_in_turn
def test_mistakes_are_named(sort: Callable[..., Finished], tmp_path: Path, name: str) -> None:
    words, status, message = WRONG[name]
    source = written(tmp_path / "records", records(random_keys(100)))
    places = {"folder": str(tmp_path), "records": str(source)}
    finished = sort(*(word.format(**places) for word in words), status=status)
    assert message.format(**places) in finished.stderr
    assert "\n  Remedy: " in finished.stderr or "spillway sort --output" in finished.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.libraries_in_turn
def test_what_was_there_stays_until_the_output_is_whole(sort: Callable[..., Finished], tmp_path: Path) -> None:
    source = written(tmp_path / "records", records(random_keys(100)))
    (tmp_path / "sorted").write_text("before")
    sort("--output", tmp_path / "sorted", "--record-bytes", 70, source, status=1)
    assert (tmp_path / "sorted").read_text() == "before"
    (tmp_path / "sorted").chmod(0o640)
    sort("--output", tmp_path / "sorted", source)
    expect_sorted(tmp_path / "sorted", [source])
    assert (tmp_path / "sorted").stat().st_mode & 0o777 == 0o640


@pytest.mark.libraries_in_turn
def test_an_output_among_the_inputs_is_not_sorted_again(sort: Callable[..., Finished], tmp_path: Path) -> None:
    part = written(tmp_path / "part", records(random_keys(1000)))
    foreign = written(tmp_path / ".sorted.spillway-other", numpy.zeros(3, numpy.uint8))
    for _ in range(2):
        sort("--output", tmp_path / "sorted", tmp_path)
        expect_sorted(tmp_path / "sorted", [part])
    assert foreign.stat().st_size == 3


@pytest.mark.libraries_in_turn
def test_a_link_to_what_is_not_there_yet_stays_one(sort: Callable[..., Finished], tmp_path: Path) -> None:
    source = written(tmp_path / "records", records(random_keys(1000)))
    (tmp_path / "link").symlink_to("behind")
    sort("--output", tmp_path / "link", source)
    assert (tmp_path / "link").is_symlink()
    expect_sorted(tmp_path / "behind", [source])


@pytest.mark.libraries_in_turn
def test_a_file_is_sorted_in_its_place_also_through_a_link(sort: Callable[..., Finished], tmp_path: Path) -> None:
    before = written(tmp_path / "before", records(random_keys(1000)))
    (tmp_path / "file").write_bytes(before.read_bytes())
    (tmp_path / "link").symlink_to("file")
    sort("--output", tmp_path / "link", tmp_path / "link")
    expect_sorted(tmp_path / "file", [before])
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("record_bytes", [1, 1 << 20])
@pytest.mark.libraries_in_turn
def test_records_of_extreme_sizes(
    sort: Callable[..., Finished], tmp_path: Path, spill_dir: Path, record_bytes: int
) -> None:
    """Through the spill directory; of the larger ones each fills a staging buffer."""
    rows = numpy.random.default_rng(5).integers(
        0, 256, ((96 if record_bytes > 1 else 32) * (1 << 20) // record_bytes, record_bytes), numpy.uint8
    )
    source = written(tmp_path / "records", rows)
    page = tmp_path / "page"
    options = ["-n", 2, "--memory", "96M" if record_bytes == 1 else "160M", "--summary", "json", "--summary-file", page]
    sort("--output", tmp_path / "sorted", "--record-bytes", record_bytes, "--key", "0:1", *options, source)
    found = as_rows(tmp_path / "sorted", record_bytes)
    assert json.loads(page.read_text())["in_memory"] is False
    assert numpy.all(found[1:, 0] >= found[:-1, 0])
    digests = (
        [sorted(hashlib.md5(row.tobytes()).digest() for row in some) for some in (found, rows)]
        if record_bytes > 1
        else []
    )
    assert digests[:1] == digests[1:] and numpy.array_equal(numpy.sort(found[:, 0]), numpy.sort(rows[:, 0]))


@pytest.mark.libraries_in_turn
def test_more_files_than_a_process_may_open(sort: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    keys = random_keys(300)
    parts = [written(tmp_path / "parts" / f"{i:03}", records(keys[i : i + 1])) for i in range(300)]
    sort(
        "-n",
        1,
        "--output",
        tmp_path / "sorted",
        tmp_path / "parts",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)),
    )
    expect_sorted(tmp_path / "sorted", parts)


def partial_output(tmp_path: Path) -> Path:
    """How it begins."""
    return tmp_path / ".sorted.spillway-"


@pytest.fixture
def start_spilled_sort(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, gate: Gate
) -> Callable[..., subprocess.Popen]:
    """start_spilled_sort(stage, *sources, options=): in which its processes wait. Its output is begun."""
    stages = {
        "sample": gate.before("read", f"{tmp_path}/"),
        "start": gate.before("read", f"{tmp_path}/", least_bytes=BLOCK_BYTES),
        "end": gate.before("write", partial_output(tmp_path), number=2, least_bytes=BLOCK_BYTES),
    }

    def start(stage: str, *sources: Path, options: Sequence[str] = ()) -> subprocess.Popen:
        own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", SPILLED_MEMORY, "-n", 2, *options]
        job = run.start([spillway, "sort", *own, "--output", tmp_path / "sorted", *sources], env=stages[stage])
        gate.wait_for_one(job)
        assert list(tmp_path.glob(partial_output(tmp_path).name + "*"))
        return job

    return start


@pytest.mark.parametrize("stage", ["sample", "start"])
@pytest.mark.parametrize("left", [4096, 3_145_728, 5_000_100])
@pytest.mark.libraries_in_turn
def test_an_input_that_becomes_shorter_ends_the_sort(
    start_spilled_sort: Callable[..., subprocess.Popen], gate: Gate, tmp_path: Path, left: int, stage: str
) -> None:
    """Of two files the last one, which perhaps only one process reads: the others must not wait for ever."""
    first = written(tmp_path / "records", records(random_keys(1_000_000)))
    last = written(tmp_path / "shorter", records(random_keys(100_000)))
    job = start_spilled_sort(stage, first, last)
    os.truncate(last, left)
    gate.open()
    _, message = outcome_within(job, LIMIT_S)
    assert job.returncode == 1
    assert f"{last} has become shorter while it was sorted" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records", "shorter"]


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB, which takes root."""
    folder = tmp_path / "little"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=8M", "none", str(folder)]
    mounted = subprocess.run(words, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED, a full disk: {mounted.stderr.strip()}")
    yield folder
    unmount(folder)


@pytest.mark.libraries_in_turn
def test_an_output_that_has_no_room_is_refused_before_the_start(
    sort: Callable[..., Finished], tmp_path: Path, little_disk: Path
) -> None:
    source = written(tmp_path / "records", records(random_keys(100_000)))
    finished = sort("--output", little_disk / "sorted", source, status=1)
    assert f"cannot make room for 9 MiB in {little_disk}/.sorted.spillway-" in finished.stderr
    assert ": No space left on device\n  Remedy: free space there" in finished.stderr
    assert not list(little_disk.iterdir())


def test_buckets_that_have_no_room_are_refused_before_the_start(
    run: Runner, plain_mpi: Callable, build_dir: Path, flavour: str, tmp_path: Path, little_disk: Path
) -> None:
    """`spillway sort` takes no memory as a spill directory: the program alone does."""
    source = written(tmp_path / "records", records(random_keys(SPILLED_RECORDS)))
    program = build_dir / "lib" / "spillway" / f"spillway-sort-{flavour}"
    words = ["--memory", "48M", "--spill-dir", little_disk, "--output", tmp_path / "sorted", source]
    finished = run(*plain_mpi(flavour, 2), program, *words, status=None, timeout_s=LIMIT_S)
    assert finished.status != 0
    assert f"the data need 38 MiB of the spill directory {little_disk}, where 8 MiB are free" in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["little", "records"]


def process_named(name: str, mark: str) -> int:
    """One of them, of which there must be some."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == name[:15] and mark in (folder / "environ").read_text():
                return int(folder.name)
        except OSError:
            continue
    pytest.fail(f"there is no process {name}")


@pytest.mark.libraries_in_turn
def test_more_files_than_a_command_line_has_room_for(sort: Callable[..., Finished], tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    rows = records(random_keys(14_000))
    names = [f"{number:0200}" for number in range(len(rows) - 1)] + [os.fsdecode(b"-x\n\xff")]
    for name, row in zip(names, rows):
        (folder / name).write_bytes(bytes(row))
    assert sum(len(os.fsencode(folder / name)) for name in names) > os.sysconf("SC_ARG_MAX")
    sort("--output", tmp_path / "sorted", "--memory", "128M", "-n", 2, folder / "*")
    whole = written(tmp_path / "records", rows)
    expect_sorted(tmp_path / "sorted", [whole])


@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGKILL, []), (signal.SIGTERM, []), (signal.SIGKILL, ["--parts"])]
)
@pytest.mark.parametrize("stage", ["start", "end"])
def test_a_killed_process_ends_the_sort_and_leaves_nothing(
    run: Runner,
    start_spilled_sort: Callable[..., subprocess.Popen],
    gate: Gate,
    flavour: str,
    tmp_path: Path,
    stage: str,
    number: int,
    options: List[str],
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    job = start_spilled_sort(stage, source, options=options)
    os.kill(process_named(f"spillway-sort-{flavour}", run.mark), number)
    gate.open()
    outcome_within(job, LIMIT_S)
    assert job.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.libraries_in_turn
def test_an_interrupted_sort_leaves_nothing(
    start_spilled_sort: Callable[..., subprocess.Popen], tmp_path: Path, number: int
) -> None:
    source = written(tmp_path / "records", records(random_keys(2_000_000)))
    job = start_spilled_sort("start", source)
    os.kill(job.pid, number)
    outcome_within(job, LIMIT_S)
    assert job.returncode == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
