"""`spillway sort --unique`, `--count` and `--parts`, of records of one size: NumPy says what comes out."""

import json
from pathlib import Path
from typing import Callable

import numpy
import pytest
from held_processes import BLOCK_BYTES, Gate
from runner import Finished, Runner, outcome_within

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

RECORD = numpy.dtype([("key", "<i4"), ("number", "<u4")])
IN_MEMORY, SPILLED = "256M", "96M"
COUNT = 2_000_000
LIMIT_S = 120
KEYS = {
    "few": lambda generator: generator.integers(-50, 50, COUNT),
    "skewed": lambda generator: generator.zipf(1.3, COUNT).clip(max=2**31 - 1),
    "different": lambda generator: generator.permutation(COUNT),
    "constant": lambda generator: numpy.full(COUNT, -7),
}


def records(kind: str) -> numpy.ndarray:
    whole = numpy.zeros(COUNT, RECORD)
    whole["key"] = KEYS[kind](numpy.random.default_rng(7))
    whole["number"] = numpy.arange(COUNT)
    return whole


@pytest.mark.parametrize(
    ("kind", "memory", "parts"),
    [(kind, memory, []) for kind in KEYS for memory in (IN_MEMORY, SPILLED)]
    + [(kind, SPILLED, ["--parts"]) for kind in ("skewed", "constant")],
)
def test_first_of_each_key_and_how_many(
    sort: Callable[..., Finished], tmp_path: Path, kind: str, memory: str, parts: list
) -> None:
    whole = records(kind)
    whole.tofile(tmp_path / "records")
    options = ["--record-bytes", RECORD.itemsize, "--key", "0:4:int", "-n", 2, "--memory", memory, *parts]
    page = ["--summary", "json", "--summary-file", tmp_path / "page"]
    sort("--output", tmp_path / "counted", "--count", *options, *page, tmp_path / "records")
    keys, first, counts = numpy.unique(whole["key"], return_index=True, return_counts=True)
    found = numpy.frombuffer(content(tmp_path / "counted"), [*RECORD.descr, ("count", "<u8")])
    assert numpy.array_equal(found["key"], keys)
    assert numpy.array_equal(found["number"], first)
    assert numpy.array_equal(found["count"], counts)
    report = json.loads((tmp_path / "page").read_text())
    assert (report["records"], report["output_records"]) == (COUNT, len(keys))
    assert report["in_memory"] is (memory == IN_MEMORY)
    sort("--output", tmp_path / "unique", "--unique", *options, tmp_path / "records")
    found = numpy.frombuffer(content(tmp_path / "unique"), RECORD)
    assert numpy.array_equal(found, whole[first])


def test_unique_long_keys_of_which_many_are_equal(sort: Callable[..., Finished], tmp_path: Path) -> None:
    blocks = numpy.random.default_rng(7).integers(0, 256, (30_000, 8192), numpy.uint8)
    blocks[::3] = 0
    blocks.tofile(tmp_path / "blocks")
    options = ["--record-bytes", 8192, "--key", "0:8192", "--unique", "-n", 2, "--memory", SPILLED]
    sort("--output", tmp_path / "unique", *options, tmp_path / "blocks")
    expected = b"".join(sorted({block.tobytes() for block in blocks}))
    assert (tmp_path / "unique").read_bytes() == expected


@pytest.mark.parametrize("parts", [[], ["--parts"]])
def test_direct_writes_do_not_make_an_output_longer(
    run: Runner, spillway: Path, flavour: str, spill_dir: Path, tmp_path: Path, gate: Gate, parts: list
) -> None:
    """Which would wait for each other. Not even where most records may be left out."""
    records("different").tofile(tmp_path / "records")
    own = ["--mpi", flavour, "--spill-dir", spill_dir, "--memory", SPILLED, "-n", 2, "--record-bytes", RECORD.itemsize]
    words = [spillway, "sort", *own, "--key", "0:4:int", "--count", "--output", tmp_path / "counted", *parts]
    held = gate.before("write", tmp_path / ".counted.spillway-", least_bytes=BLOCK_BYTES)
    job = run.start([*words, tmp_path / "records"], env=held)
    gate.wait_for_one(job)
    [partial] = tmp_path.glob(".counted.spillway-*")
    files = partial.iterdir() if parts else [partial]
    assert sum(path.stat().st_size for path in files) == COUNT * 16
    gate.open()
    outcome_within(job, LIMIT_S)
    assert len(content(tmp_path / "counted")) == COUNT * 16


def content(output: Path) -> bytes:
    """Of a file, or of the parts that a manifest names, which are all that is there."""
    if output.is_file():
        return output.read_bytes()
    manifest = json.loads((output / "manifest.json").read_text())
    names = [part["name"] for part in manifest["parts"]]
    assert sorted([*names, "manifest.json"]) == sorted(path.name for path in output.iterdir())
    assert [part["bytes"] for part in manifest["parts"]] == [(output / name).stat().st_size for name in names]
    assert manifest["bytes"] == sum(part["bytes"] for part in manifest["parts"])
    assert manifest["records"] == sum(part["records"] for part in manifest["parts"])
    return b"".join((output / name).read_bytes() for name in names)


@pytest.mark.parametrize("memory", [IN_MEMORY, SPILLED])
@pytest.mark.parametrize("readers", [0, 1])
def test_parts(sort: Callable[..., Finished], tmp_path: Path, memory: str, readers: int) -> None:
    """Each process has a part of about the same size."""
    whole = records("different")
    whole.tofile(tmp_path / "records")
    options = ["--record-bytes", RECORD.itemsize, "--key", "0:4:int", "--memory", memory, "-n", 2, "--readers", readers]
    sort("--output", tmp_path / "out/", "--parts", *options, tmp_path / "records")
    assert numpy.array_equal(numpy.frombuffer(content(tmp_path / "out"), RECORD), numpy.sort(whole, order="key"))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["records"] == COUNT
    assert all(0.4 < part["records"] / COUNT < 0.6 for part in manifest["parts"])


def test_parts_of_nothing(sort: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    sort("--output", tmp_path / "out", "--parts", "-n", 3, tmp_path / "nothing")
    assert content(tmp_path / "out") == b""


def test_a_directory_that_holds_something_is_no_output(sort: Callable[..., Finished], tmp_path: Path) -> None:
    records("constant")[:1000].tofile(tmp_path / "records")
    (tmp_path / "out").mkdir()
    sort("--output", tmp_path / "out", "--parts", "--record-bytes", 8, "--key", "0:4", tmp_path / "records")
    before = content(tmp_path / "out")
    words = ["--output", tmp_path / "out", "--parts", "--record-bytes", 8, "--key", "0:4", tmp_path / "records"]
    finished = sort(*words, status=None)
    assert finished.status != 0
    assert f"cannot write to the directory {tmp_path / 'out'}: it is there, and not empty" in finished.stderr
    assert content(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "records"]
