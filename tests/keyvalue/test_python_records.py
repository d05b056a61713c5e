"""Records of the same number of bytes as input in Python: what is read, that changes of files are noticed, and arrays
that are sent as bytes."""

import ctypes
import os
from pathlib import Path
from typing import Any, Callable, List

import numpy
import pytest
from spillway import mpid
from spillway.mpid import _arrays
from spillway.mpid._kinds import kind_of

pytestmark = pytest.mark.libraries_in_turn

REMEDY = "\n  Remedy: let nobody write to the input of a job, and start the job again."
READERS: List[Callable] = [
    lambda splits: list(splits.records(0, 1)),
    lambda splits: list(splits.batches(0, 1)),
    lambda splits: list(splits.lines(0, 1, None)),
    lambda splits: [block for split in splits for block in split.blocks()],
]


def message_of(function: Callable[[], Any]) -> str:
    with pytest.raises((OSError, ValueError)) as raised:
        function()
    return str(raised.value)


def splits_for(reader: Callable, path: Path) -> Any:
    return mpid.RecordSplits([path], 3) if READERS.index(reader) < 2 else mpid.LineSplits([path])


@pytest.mark.parametrize("split_bytes", [1, 2, 3, 4, 17, 1000])
@pytest.mark.parametrize("tasks", [1, 3])
def test_each_record_belongs_to_one_task(tmp_path: Path, split_bytes: int, tasks: int) -> None:
    texts = [b"aaabbbcccdddeeefff", b"", b"\n\n\n", bytes(range(30))]
    paths = [tmp_path / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_bytes(text)
    expected = [text[begin : begin + 3] for text in texts for begin in range(0, len(text), 3)]
    splits = mpid.RecordSplits(paths, 3, split_bytes)
    assert all(split.end - split.begin < split_bytes + 3 for split in splits)
    assert [record for split in splits for record in split.records()] == expected
    assert sorted(record for task in range(tasks) for record in splits.records(task, tasks)) == sorted(expected)
    batches = [batch for task in range(tasks) for batch in splits.batches(task, tasks, batch_bytes=7)]
    assert all(batch.dtype == numpy.uint8 and batch.shape in ((1, 3), (2, 3)) for batch in batches)
    assert sorted(bytes(record) for batch in batches for record in batch) == sorted(expected)


def test_records_may_be_longer_than_splits_and_batches(tmp_path: Path) -> None:
    record = bytes(3 << 20)
    (tmp_path / "records").write_bytes(2 * record)
    splits = mpid.RecordSplits([tmp_path / "records"], len(record), 1000)
    assert list(splits.records(0, 1)) == 2 * [record] and [len(batch) for batch in splits.batches(0, 1)] == [1, 1]


def test_batches_have_the_wanted_type(tmp_path: Path) -> None:
    pair = numpy.dtype([("key", "V3"), ("number", "<i4")])
    rows = numpy.array([(f"k{number % 10}x".encode(), number) for number in range(1000)], pair)
    rows.tofile(tmp_path / "records")
    splits = mpid.RecordSplits([tmp_path / "records"], 7, 70)
    found = numpy.concatenate([batch for task in range(3) for batch in splits.batches(task, 3, pair)])
    assert found.dtype == pair and sorted(found["number"]) == list(range(1000))
    assert all(bytes(row["key"]) == f"k{row['number'] % 10}x".encode() for row in found)
    numbers = numpy.arange(10.0)
    numbers.tofile(tmp_path / "numbers")
    (batch,) = mpid.RecordSplits([tmp_path / "numbers"], 8).batches(0, 1, float)
    assert batch.tolist() == numbers.tolist()
    batch[0] = 7  # is the caller's
    (table,) = mpid.RecordSplits([tmp_path / "numbers"], 16).batches(0, 1, (float, 2))
    assert table.tolist() == numbers.reshape(5, 2).tolist()
    message = f"{tmp_path}/records has records of 7 bytes, and int64 has 8\n  Remedy: name a dtype of as many bytes"
    assert message in message_of(lambda: list(splits.batches(0, 1, int)))


def test_files_that_end_within_a_record_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes(b"aaabb")
    cause = f"cannot read {path}: its 5 bytes are no whole number of records of 3 bytes"
    assert message_of(lambda: mpid.RecordSplits([path], 3)) == cause
    assert message_of(lambda: mpid.RecordSplits([path], 0)) == "parts of files need at least one byte"
    assert "it is not a regular file" in message_of(lambda: mpid.RecordSplits([tmp_path], 3))
    part = mpid.RecordSplit(str(path), 0, 9, record_bytes=3)
    assert message_of(lambda: list(part.records())) == f"cannot read {path}: it has become shorter than 9 bytes"


@pytest.mark.parametrize("reader", READERS)
def test_files_that_have_changed_since_they_were_planned_are_refused(tmp_path: Path, reader: Callable) -> None:
    path, changed = tmp_path / "input", "it has been written to since the job first looked at it"
    path.write_bytes(b"aa\nbb\ncc\n")
    for text in (b"aa\nbb\ncc\ndd\n", b"aa\n", b""):
        splits = splits_for(reader, path)
        size = path.stat().st_size
        path.write_bytes(text)
        cause = f"cannot read {path}: {changed}: it had {size} bytes, and has {len(text)} now{REMEDY}"
        assert message_of(lambda: reader(splits)) == cause  # noqa: B023
        path.write_bytes(b"aa\nbb\ncc\n")
    splits = splits_for(reader, path)
    os.utime(path, ns=(0, 12345))
    assert message_of(lambda: reader(splits)) == f"cannot read {path}: {changed}{REMEDY}"
    splits = splits_for(reader, path)
    path.unlink()
    assert f"No such file or directory: '{path}'" in message_of(lambda: reader(splits))


def test_files_that_change_while_they_are_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"aa\n" * 1_000_000)
    for begin in (lambda: mpid.RecordSplits([path], 3).batches(0, 1), lambda: mpid.LineSplits([path])[0].blocks()):
        reading = begin()
        next(reading)
        size = path.stat().st_size
        with path.open("ab") as file:
            file.write(b"aa\n")
        cause = f"it has been written to since the job first looked at it: it had {size} bytes, and has {size + 3} now"
        assert f"cannot read {path}: {cause}" in message_of(lambda: list(reading))  # noqa: B023
        os.truncate(path, size)


def test_sampled_keys_come_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("".join(f"{number:06}" for number in range(199999, 99999, -1)))
    sample = mpid.sampled_keys(mpid.RecordSplits([tmp_path / "records"], 6, 100000), 4)
    assert len(sample) > 1000 and sample == sorted(sample)
    assert all(abs(int(key) - 1000 - 1000 * place / len(sample)) < 20 for place, key in enumerate(sample))
    (tmp_path / "few").write_bytes(b"bbbaaa")
    assert mpid.sampled_keys(mpid.RecordSplits([tmp_path / "few"], 3), 2) == [b"aa", b"bb"]
    hosts = mpid.RecordSplits(["node1.example.org:/not/here"], 3)
    assert hosts.conf == {"MPI_D_O_TASKS": "1", "MPI_D_INPUT_HOSTS": "node1.example.org"}
    assert "cannot look for samples in node1.example.org:/not/here" in message_of(lambda: mpid.sampled_keys(hosts, 1))


def test_rows_and_items_of_arrays_are_sent_as_bytes() -> None:
    bytes_of = numpy.arange(60, dtype=numpy.uint8).reshape(6, 10)
    records = bytes_of.copy().view([("key", "V4"), ("rest", "V6")])[:, 0]
    for items, expected in (
        (bytes_of, [bytes(row) for row in bytes_of]),
        (bytes_of[1::2, 3:7], [bytes(row[3:7]) for row in bytes_of[1::2]]),
        (bytes_of[::-1], [bytes(row) for row in bytes_of[::-1]]),
        (bytes_of[:, ::2], [bytes(row[::2]) for row in bytes_of]),
        (bytes_of[:0], []),
        (records["key"], [bytes(row[:4]) for row in bytes_of]),
        (records["rest"][::3], [bytes(row[4:]) for row in bytes_of[::3]]),
    ):
        count, column, kept = _arrays.column_of(items, kind_of(bytes, "key"), "key")
        _, begins, ends = kept
        assert [ctypes.string_at(column.data + b, e - b) for b, e in zip(begins.tolist(), ends.tolist())] == expected
        assert count == len(expected)
    for wrong in (records, bytes_of.astype(numpy.int16), numpy.array([b"a"])):
        with pytest.raises(TypeError, match="for bytes of one length, a row of uint8 for each"):
            _arrays.column_of(wrong, kind_of(bytes, "key"), "key")
    with pytest.raises(TypeError, match="and keys are str"):
        _arrays.column_of(bytes_of, kind_of(str, "key"), "key")
