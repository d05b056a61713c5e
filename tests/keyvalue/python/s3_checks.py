"""Checks of tables in the bucket that BUCKET names, for test_s3.py: each is a function named check_*."""

import os
import random

from pyarrow import fs
from spillway import mpid
from spillway.mpid import _file_systems, _table_output
from table_checks import ROWS, TABLE, message_of, rows_of, run_all

BUCKET = os.environ["BUCKET"]


def names(folder):
    store, place = fs.FileSystem.from_uri(f"s3://{BUCKET}/{folder.name}")
    found = store.get_file_info(fs.FileSelector(place, recursive=True, allow_not_found=True))
    return sorted(one.base_name for one in found if one.type == fs.FileType.File)


def check_both_formats_come_back(folder):
    for form in ("csv", "parquet"):
        with mpid.TablePart(f"s3://{BUCKET}/{folder.name}/{form}", 0, TABLE.schema, format=form) as part:
            part.write(TABLE)
            assert names(folder) == ([] if form == "csv" else ["part-00000.csv"])
        for path in (f"s3://{BUCKET}/{folder.name}/{form}", part.path):
            assert sorted(rows_of(mpid.TableSplits([path], split_bytes=9000))) == sorted(ROWS)
    assert names(folder) == ["part-00000.csv", "part-00000.parquet"]


def check_patterns_stand_for_what_is_like_them(folder):
    for number in range(3):
        for form in ("csv", "parquet"):
            with mpid.TablePart(f"s3://{BUCKET}/{folder.name}/of-{number}", 0, {"n": int}, format=form) as part:
                part.write({"n": [number]})
    for pattern, numbers in (("*/part-*.csv", [0, 1, 2]), ("of-*/*", [0, 0, 1, 1, 2, 2]), ("*1", [1, 1])):
        splits = mpid.TableSplits([f"s3://{BUCKET}/{folder.name}/{pattern}"])
        assert sorted(row[0] for row in rows_of(splits)) == numbers, pattern
        assert all(split.path.startswith(f"s3://{BUCKET}/{folder.name}/of-") for split in splits)
    nothing = {
        f"s3://{BUCKET}/{folder.name}/to-*": "nothing has such a name",
        "s3://no-such-bucket/*.csv": "there is no bucket 'no-such-bucket'",
    }
    for pattern, cause in nothing.items():
        message = message_of(lambda: mpid.TableSplits([pattern]))  # noqa: B023
        assert message == f"cannot read {pattern}: {cause}", message


def check_nothing_is_left_after_an_exception(folder):
    def lose(data):
        with mpid.TablePart(f"s3://{BUCKET}/{folder.name}", 0, {"data": bytes}) as part:
            part.write({"data": [data]})
            raise KeyError

    for size in (10, 24 << 20):  # which goes as one piece, and as several
        message_of(lambda: lose(random.Random(size).randbytes(size)), KeyError)  # noqa: B023
        assert names(folder) == []


def check_what_cannot_be_renamed_is_refused_early(folder):
    def write(directory, file_system):
        with mpid.TablePart(directory, 0, {"data": bytes}, filesystem=file_system) as part:
            for _ in range(100):
                part.write({"data": [os.urandom(1000)]})

    _table_output._S3_COPY_BYTES = 10000
    store, _ = fs.FileSystem.from_uri(f"s3://{BUCKET}")
    below = fs.SubTreeFileSystem(BUCKET, store)
    for directory, system in ((f"s3://{BUCKET}/{folder.name}", None), (folder.name, below)):
        message = message_of(lambda: write(directory, system), ValueError)  # noqa: B023
        assert "S3 does not rename what has more than 10000 bytes\n  Remedy: divide the output among more" in message
        assert names(folder) == []
    write(str(folder), None)  # other file systems do
    _table_output._S3_COPY_BYTES = 5 << 30


def check_objects_that_are_replaced_are_refused(folder):
    path = f"s3://{BUCKET}/{folder.name}"
    for rows in (TABLE, TABLE[:10]):
        with mpid.TablePart(path, 0, TABLE.schema) as part:
            part.write(rows)
        if rows is TABLE:
            splits = mpid.TableSplits([path])
            assert sorted(rows_of(splits)) == sorted(ROWS)
    message = message_of(lambda: rows_of(splits))
    assert f"cannot read {part.path}: it has been written to since the job first looked at it" in message, message


def check_keys_of_a_store_are_not_shown(_folder):
    shown = {
        "s3://key:secret@bucket/a@b?region=x": "s3://bucket/a@b",
        "s3://key:sec/ret@bucket/a": "s3://bucket/a",
        "s3://key:456/abc@bucket/a": "s3://bucket/a",
        "s3://key:4/ab?c@bucket/a": "s3://bucket/a",
        "s3://bucket/a@b": "s3://bucket/a@b",
        "hdfs://user@host:8020/a": "hdfs://host:8020/a",
        "hdfs://host:8020/a@b:c": "hdfs://host:8020/a@b:c",
        "a@b?c": "a@b?c",
    }
    assert {path: _file_systems.shown(path) for path in shown} == shown
    for path in ("s3://key:sec/ret@bucket/a", "s3://key:secret@bucket/a?no=option"):
        message = message_of(lambda: mpid.TableSplits([path]))  # noqa: B023
        assert message.startswith("cannot read s3://bucket/a: ") and "ret" not in message, message


if __name__ == "__main__":
    run_all(globals())
