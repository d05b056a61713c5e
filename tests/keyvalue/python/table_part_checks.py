"""Checks of TablePart after failures, with codecs and checkpoints, for test_tables.py: each is named check_*."""

import gzip
import os
import resource

import pyarrow
from pyarrow import fs
from spillway import mpid
from spillway.mpid import _table_output
from table_checks import Counting, message_of, rows_of, run_all

COLUMNS = {"key": str, "count": int}


def part_of(folder, form="parquet", filesystem=None):
    return mpid.TablePart(folder, 1, COLUMNS, format=form, filesystem=filesystem)


def check_a_failed_write_is_not_forgotten(folder):
    def fail(part, write):
        with part:
            part.write_row("gathered", 1)
            message_of(lambda: write(part))
            part.write_row("after", 1)

    writes = [
        lambda part: part.write({"key": [5], "count": [1]}),
        lambda part: part.write(pyarrow.table({"other": [1]})),
        lambda part: [part.write_row("wrong", "x") for _ in range(_table_output._GATHERED_ROWS)],
    ]
    for form in ("csv", "parquet"):
        for write in writes:
            message = message_of(lambda: fail(part_of(folder, form), write), OSError)  # noqa: B023
            assert message.startswith(f"cannot write {folder}/part-00001.{form}: an earlier write has failed: ")
            assert os.listdir(folder) == []


class Hdfs(Counting):
    """Does not rename where there is a file already."""

    is_full = False

    def move(self, source, target):
        if self.is_full or target in self.files:
            raise OSError("rename destination exists\n\tat hdfs.Somewhere\nCaused by: a full disk\n\t... 9 more")
        super().move(source, target)


def check_a_part_is_replaced_where_files_are_not_renamed_onto_others(_folder):
    store = Hdfs()
    for count in (1, 2):
        with part_of("out", "csv", fs.PyFileSystem(store)) as part:
            part.write_row("key", count)
    assert store.files == {"out/part-00001.csv": b'"key","count"\n"key",2\n'}

    def write_more():
        with part_of("other", "csv", fs.PyFileSystem(store)) as part:
            part.write_row("key", 3)

    store.is_full = True
    expected = "cannot write other/part-00001.csv: rename destination exists\nCaused by: a full disk"
    assert message_of(write_more, OSError) == expected
    store.files["other/part-00001.csv"] = b"from before"
    assert message_of(write_more, OSError) == expected
    assert store.files == {"out/part-00001.csv": b'"key","count"\n"key",2\n', "other/part-00001.csv": b"from before"}


def check_what_hdfs_needs_is_said(_folder):
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = "/nowhere"
    for reach in (
        lambda: mpid.TableSplits(["hdfs://host:1/a.csv"]),
        lambda: mpid.TablePart("hdfs://host:1/a", 0, COLUMNS),
    ):
        cause, remedy = message_of(reach, OSError).split("\n  Remedy: ")
        assert "hdfs://host:1/a" in cause and "to load lib" in cause and "\n" not in cause
        assert "JAVA_HOME" in remedy and "hdfs-native" in remedy
    del os.environ["JAVA_HOME"]
    os.environ.update({"JAVA_HOME": before} if before is not None else {})


def check_a_full_disk_is_not_forgotten(folder):
    rows = {"key": ["x" * 1000] * 1000, "count": [1] * 1000}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill():
        with part_of(folder, "csv") as part:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, limits[1]))
            assert "File too large" in message_of(lambda: part.write(rows), OSError)
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            part.write_row("after", 1)

    assert "an earlier write has failed" in message_of(fill, OSError)
    assert os.listdir(folder) == []


def check_nothing_is_written_after_the_end(folder):
    for form in ("csv", "parquet"):
        part = part_of(folder, form)
        assert "only in the `with` block" in message_of(lambda: part.write_row("a", 1), ValueError)  # noqa: B023
        with part:
            part.write_row("a", 1)
        for write in (lambda: part.write_row("b", 2), lambda: part.write({"key": ["b"], "count": [2]})):  # noqa: B023
            assert f"cannot write {part.path}: it is open only in the `with` block" == message_of(write, ValueError)
        assert rows_of(mpid.TableSplits([part.path])) == [("a", 1)]


def check_values_that_do_not_fit_are_said_with_the_file(folder):
    def write(row):
        with part_of(folder) as part:
            part.write_row(*row)

    for row in (("a", 1 << 70), ("a", object()), (object(), 1)):
        assert message_of(lambda: write(row)).startswith(f"cannot write {folder}/part-00001.parquet: ")  # noqa: B023
    assert os.listdir(folder) == []


def check_a_null_alone_in_a_line_is_refused(folder):
    def write(columns, row, form):
        with mpid.TablePart(folder, 1, columns, format=form) as part:
            part.write_row(*row)

    assert "an empty line, which is no row" in message_of(lambda: write({"key": str}, (None,), "csv"))
    for columns, row, form in (
        ({"key": str}, ("",), "csv"),
        (COLUMNS, (None, None), "csv"),
        ({"key": str}, (None,), "parquet"),
    ):
        write(columns, row, form)
        assert rows_of(mpid.TableSplits([folder / f"part-00001.{form}"])) == [row]


def check_compressed_parts_have_checksums(folder):
    stored = folder / "stored"
    stored.mkdir()
    below = fs.SubTreeFileSystem(str(stored), fs.LocalFileSystem())
    rows = {"key": [f"key {number % 977}" for number in range(200000)], "count": list(range(200000))}
    for suffix in (".gz", ".zst"):
        _table_output.part_suffix = lambda: suffix  # noqa: B023
        for place, system in ((str(folder / "out"), None), ("out", below)):
            with part_of(place, "csv", system) as part:
                part.write(rows)
        path, copy = folder / "out" / f"part-00001.csv{suffix}", stored / "out" / f"part-00001.csv{suffix}"
        assert path.read_bytes() == copy.read_bytes() and path.stat().st_size < 2_000_000
        found = mpid.TableSplits([path])
        assert pyarrow.Table.from_batches(found.batches(0, 1)).to_pydict() == rows
        assert rows_of(mpid.TableSplits([copy]), 1) == list(zip(rows["key"], rows["count"]))
        if suffix == ".gz":
            assert gzip.decompress(path.read_bytes()).startswith(b'"key","count"\n')
        else:
            damaged = bytearray(path.read_bytes())
            assert damaged[4] & 4  # a frame with a checksum, as RFC 8878 has it
            damaged[-1] ^= 1
            copy.write_bytes(damaged)
            assert f"cannot read {copy}: " in message_of(lambda: rows_of(mpid.TableSplits([copy])))  # noqa: B023
        message_of(lambda: lose(folder / "lost"), KeyError)
        assert os.listdir(folder / "lost") == []
    _table_output.part_suffix = lambda: ""


def lose(folder):
    with part_of(folder, "csv") as part:
        part.write_row("a", 1)
        raise KeyError


def check_parts_are_on_the_disk_where_there_are_checkpoints(folder):
    synced, fsync = [], os.fsync
    _table_output.os.fsync = lambda opened: (synced.append(os.readlink(f"/proc/self/fd/{opened}")), fsync(opened))
    below = fs.SubTreeFileSystem(str(folder), fs.SubTreeFileSystem("/", fs.LocalFileSystem()))
    try:
        for is_kept in (True, False):
            if is_kept:
                os.environ["MPI_D_CHECKPOINT"] = "somewhere"
            for form in ("csv", "parquet"):
                for place, system in ((str(folder / "out"), None), ("out", below), (f"file://{folder}/out", None)):
                    synced.clear()
                    with part_of(place, form, system) as part:
                        part.write_row("a", 1)
                        assert synced == []
                    expected = [f"{folder}/out/part-00001.{form}.partial", f"{folder}/out"] if is_kept else []
                    assert synced == expected, synced
            os.environ.pop("MPI_D_CHECKPOINT", None)
    finally:
        os.fsync = fsync


if __name__ == "__main__":
    run_all(globals())
