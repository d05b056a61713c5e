"""Checks of TableSplits and TablePart without a job, for test_tables.py: each is a function named check_*."""

import gzip
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow
from pyarrow import csv, fs, parquet
from spillway import mpid

QUOTED_NEWLINES = csv.ParseOptions(newlines_in_values=True)
generator = random.Random(7)
ROWS = [(f"key {generator.randrange(99)}", generator.randrange(-9, 9), generator.random()) for _ in range(5000)]
TABLE = pyarrow.table(dict(zip(("key", "count", "part"), map(list, zip(*ROWS)))))


def message_of(function, kind=Exception):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


def rows_of(splits, tasks=3):
    return [row for task in range(tasks) for row in splits.rows(task, tasks)]


def written(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def run_all(names):
    """Each function check_* of a script in a folder of its own, and prints its name."""
    for name, check in sorted(names.items()):
        if not name.startswith("check_"):
            continue
        place = Path(tempfile.mkdtemp(dir=sys.argv[1]))
        try:
            check(place)
        except Exception as error:
            raise AssertionError(f"{name} failed") from error
        finally:
            shutil.rmtree(place)
        print(name)


def check_files_of_this_host_are_read_as_others(folder):
    host = socket.gethostname()
    files(folder)
    for names in (["rows.csv"], ["rows.parquet"], ["coded.parquet"], ["rows.csv.gz", "rows.parquet"]):
        own = [f"{host}:{folder / name}" for name in names]
        columns = {"part": "double", "key": "string"}
        splits = mpid.TableSplits(own, list(columns), types=columns)
        expected = [(part, key) for key, _, part in ROWS] * len(names)
        assert rows_of(splits, 1) == expected and len(splits) == len(names)
        assert splits.conf == {"MPI_D_O_TASKS": str(len(names)), "MPI_D_INPUT_HOSTS": ",".join([host] * len(names))}
        beside = mpid.TableSplits([folder / "rows.parquet", *own], split_bytes=1 << 30)
        assert beside.conf["MPI_D_INPUT_HOSTS"] == "," + ",".join([host] * len(names))
        assert rows_of(beside, 1) == ROWS * (1 + len(names))


def check_what_is_wrong_with_a_host_s_own_file_is_said(folder):
    host = socket.gethostname()
    own = f"{host}:{folder}/a.csv"
    written(folder / "a.csv", "id,name\n1,x\n")
    parquet.write_table(pyarrow.table({"id": ["x"]}), folder / "text.parquet")
    columns = {"id": "int64"}
    assert "say columns=[...] and types={...} of each" in message_of(lambda: mpid.TableSplits([own]))
    assert "say columns=[...] and types={...} of each" in message_of(
        lambda: mpid.TableSplits([own], ["id", "x"], types=columns)
    )
    for path, message in (
        (f"nowhere:{folder}/a.csv", f"cannot read nowhere:{folder}/a.csv on another host: only jobs of the modes"),
        (f"{host}:{folder}", f"cannot read {host}:{folder}: it is a directory"),
        (f"{host}:{folder}/none.csv", "there is no such file"),
        (
            f"{host}:{folder}/text.parquet",
            f"the column 'id' is of type string in {host}:{folder}/text.parquet, and int64",
        ),
    ):
        assert message in message_of(lambda path=path: rows_of(mpid.TableSplits([path], ["id"], types=columns)))
    missing = mpid.TableSplits([own], ["none"], types={"none": "int64"})
    assert f"{own} has no column 'none'; its columns are 'id', 'name'" in message_of(lambda: rows_of(missing))
    written(folder / "a.csv", "id,name\n1,x\ny,x\n")
    assert f"cannot read {own}" in message_of(lambda: rows_of(mpid.TableSplits([own], ["id"], types=columns)))


def files(folder):
    """The same rows in each format."""
    csv.write_csv(TABLE, folder / "rows.csv")
    parquet.write_table(TABLE, folder / "rows.parquet", row_group_size=700)
    coded = TABLE.set_column(0, "key", TABLE["key"].dictionary_encode())
    parquet.write_table(coded, folder / "coded.parquet", row_group_size=5000)
    written(folder / "rows.csv.gz", gzip.compress((folder / "rows.csv").read_bytes()))
    with pyarrow.CompressedOutputStream(str(folder / "rows.csv.zst"), "zstd") as stream:
        stream.write((folder / "rows.csv").read_bytes())
    return sorted(folder.iterdir())


def check_each_row_is_in_one_part(folder):
    for path in files(folder):
        for split_bytes in (1000, 30011, 1 << 30):
            splits = mpid.TableSplits([path], split_bytes=split_bytes)
            assert sorted(rows_of(splits)) == sorted(ROWS), path
            is_cut = path.suffix == ".csv" or path.name == "rows.parquet"
            assert (len(splits) > 1) == (is_cut and split_bytes < 1 << 30), path
    whole = mpid.TableSplits([folder, folder / "rows.csv"], ["part", "key"])
    assert sorted(rows_of(whole)) == sorted((part, key) for key, _, part in ROWS * 6)
    assert whole.kinds() == (float, str) and whole.schema.names == ["part", "key"]


def check_patterns_stand_for_what_is_like_them(folder):
    names = ["a1.csv", "a2.csv", "b.csv", "day-1/c.csv", "day-1/_d.csv", "day-2/e.csv", "f.csv.partial", ".g.csv"]
    for number, name in enumerate([*names, "a[1].csv"]):
        (folder / name).parent.mkdir(exist_ok=True)
        written(folder / name, f"n\n{number}\n")
    like = {
        "a?.csv": [0, 1],
        "[ab]*.csv": [0, 1, 2, 8],
        "*/*.csv": [3, 5],
        "day-[13]": [3],
        "day-*/_*": [4],
        "*": [0, 1, 2, 3, 5, 8],
        "a[1].csv": [8],
    }
    before = os.getcwd()
    os.chdir(folder)
    store = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    for pattern, numbers in like.items():
        paths = [(folder / pattern, None), (pattern, None), (f"file://{folder}/{pattern}", None), (pattern, store)]
        for path, system in paths:
            if "://" in str(path) and ("[" in pattern or "?" in pattern):  # which mean something else there
                continue
            splits = mpid.TableSplits([path], filesystem=system)
            assert sorted(row[0] for row in rows_of(splits)) == numbers, path
            assert all(split.path.endswith(".csv") for split in splits)
            if len(numbers) == 1 and pattern != "a[1].csv":
                begin = str(path)[: -len(pattern)]
                assert splits[0].path == begin + names[numbers[0]]
    os.chdir(before)
    message = message_of(lambda: mpid.TableSplits([folder / "c*.csv"]))
    assert message == f"cannot read {folder}/c*.csv: nothing has such a name"


def check_lines_are_cut_at_any_byte(folder):
    path = written(folder / "a.csv", 'n,"t""x"\r\n1,"a,""b"\r\n2,\r\n\r\n4,""\n3,"ä"')
    for split_bytes in range(1, 50):
        splits = mpid.TableSplits([path], split_bytes=split_bytes)
        assert sorted(rows_of(splits)) == [(1, 'a,"b'), (2, None), (3, "ä"), (4, "")], split_bytes
        assert splits.schema.names == ["n", 't"x']


def check_quoted_newlines_are_read_whole_or_refused(folder):
    text = "a,b\n" + "".join(f'{number},"x\n{number}"\n' for number in range(100))
    path = written(folder / "a.csv", text)
    expected = [(number, f"x\n{number}") for number in range(100)]
    assert rows_of(mpid.TableSplits([path], split_bytes=9, parse_options=QUOTED_NEWLINES)) == expected
    for split_bytes in (9, 10, 11, 500, 1 << 30):
        message = message_of(lambda: rows_of(mpid.TableSplits([path], split_bytes=split_bytes)))  # noqa: B023
        assert f"cannot read {path}: in the line at byte 4 a quoted value begins and does not end" in message


def check_columns_without_names(folder):
    path = written(folder / "a.tsv", "1\tx\n2\ty\n")
    options = csv.ParseOptions(delimiter="\t")
    for split_bytes in (2, 100):
        splits = mpid.TableSplits(
            [path], ["b"], format="csv", names=["a", "b"], parse_options=options, split_bytes=split_bytes
        )
        assert rows_of(splits) == [("x",), ("y",)]
    assert "its name does not say its format" in message_of(lambda: mpid.TableSplits([path]))
    assert "format='text': say 'csv' or" in message_of(lambda: mpid.TableSplits([path], format="text"))


def check_types_are_common_or_said(folder):
    whole, real = written(folder / "a.csv", "n\n1\n"), written(folder / "b.csv", "n\n0.5\n")
    text, none = written(folder / "c.csv", "n\nx\n"), written(folder / "d.csv", "n\n")
    assert rows_of(mpid.TableSplits([none, whole, real]), 1) == [(1.0,), (0.5,)]
    message = message_of(lambda: mpid.TableSplits([whole, text]))
    assert f"the column 'n' is of type int64 in {whole}, and string in {text}" in message
    assert rows_of(mpid.TableSplits([whole, text], types={"n": "string"}), 1) == [("1",), ("x",)]
    parquet.write_table(pyarrow.table({"n": pyarrow.array([1], "int32")}), folder / "e.parquet")
    assert mpid.TableSplits([whole, folder / "e.parquet"]).schema.types == [pyarrow.int64()]
    assert mpid.TableSplits([folder / "e.parquet"]).kinds() == (int,)
    parquet.write_table(pyarrow.table({"n": pyarrow.array([1], "date32")}), folder / "f.parquet")
    message = message_of(mpid.TableSplits([folder / "f.parquet"]).kinds, TypeError)
    assert "the column 'n' is of type date32[day], and keys and values are" in message


def typed(folder, name, kind, values):
    path = folder / f"{name}.parquet"
    parquet.write_table(pyarrow.table({"n": pyarrow.array(values, kind)}), path)
    return path


def check_types_are_widened_where_no_value_changes(folder):
    small, large = typed(folder, "i32", "int32", [1]), typed(folder, "i64", "int64", [1 << 60])
    real, none = typed(folder, "f64", "float64", [0.5]), typed(folder, "null", pyarrow.null(), [None])
    guess, real_guess = written(folder / "i.csv", "n\n1\n"), written(folder / "f.csv", "n\n0.5\n")
    text, long_text = typed(folder, "s", "string", ["a"]), typed(folder, "l", "large_string", ["a"])
    data, long_data = typed(folder, "b", "binary", [b"a"]), typed(folder, "d", "large_binary", [b"a"])
    common = {
        (small, large): "int64",
        (none, small, guess): "int64",
        (small, real): "double",
        (guess, real): "double",
        (guess, real_guess, small): "double",
        (typed(folder, "f32", "float32", [0.5]), real): "double",
        (text, none, long_text): "large_string",
        (data, long_data): "large_binary",
    }
    for paths, kind in common.items():
        for order in (paths, paths[::-1]):
            splits = mpid.TableSplits(order)
            batches = list(splits.batches(0, 1))
            assert [str(one) for one in splits.schema.types] == [kind], order
            assert all(batch.schema == splits.schema for batch in batches), order
            assert sum(batch.num_rows for batch in batches) == len(paths)
    for pair in ((large, real), (large, real_guess), (text, data), (guess, text)):
        for order in (pair, pair[::-1]):
            assert "the column 'n' is of type" in message_of(lambda: mpid.TableSplits(order))  # noqa: B023


def check_names_that_make_no_sense_are_refused(folder):
    assert "is one path\n  Remedy: give a list of paths" in message_of(lambda: mpid.TableSplits("a.csv"), ValueError)
    path = written(folder / "a.csv", "n,m\n1,2\n")
    for names in ([], ["n", "n"], "n"):
        assert "columns=" in message_of(lambda: mpid.TableSplits([path], names))  # noqa: B023
        assert "names=" in message_of(lambda: mpid.TableSplits([path], names=names))  # noqa: B023
    message = message_of(lambda: mpid.TableSplits([path], ["n"], types={"m": "string", "k": "string"}))
    assert message == "types= names the column 'k', which no file has"


def check_columns_are_in_all_files(folder):
    first, second = written(folder / "a.csv", "n,m\n1,2\n"), written(folder / "b.csv", "m,n\n1,2\n")
    message = message_of(lambda: mpid.TableSplits([first, second]))
    assert f"{second} has the columns 'm', 'n', and {first} 'n', 'm'" in message
    assert rows_of(mpid.TableSplits([first, second], ["n"])) == [(1,), (2,)]
    message = message_of(lambda: mpid.TableSplits([first, second], ["k"]))
    assert message == f"{first} has no column 'k'; its columns are 'n', 'm'"
    twice = written(folder / "c.csv", "n,n\n1,2\n")
    assert "has more than one column 'n'" in message_of(lambda: mpid.TableSplits([twice], ["n"]))


def check_empty_files_have_no_parts(folder):
    nothing, header = written(folder / "a.csv", ""), written(folder / "b.csv", "n,m\n")
    parquet.write_table(pyarrow.table({"n": pyarrow.array([], "int64")}), folder / "c.parquet")
    assert len(mpid.TableSplits([nothing])) == 0 and mpid.TableSplits([], ["n"]).kinds() == (str,)
    assert list(mpid.TableSplits([nothing, header]).batches(0, 1)) == []
    assert rows_of(mpid.TableSplits([folder / "c.parquet"])) == []
    assert mpid.TableSplits([folder / "c.parquet"]).kinds() == (int,)
    assert "Parquet file size is 0 bytes" in message_of(lambda: mpid.TableSplits([nothing], format="parquet"))


def check_values_of_other_types_are_named_with_their_row(folder):
    lines = ["n,t"] + [f"{number},x" for number in range(300000)]
    lines[250000] = "many,x"
    path = written(folder / "a.csv", "\n".join(lines))
    for split_bytes in (1 << 30, 10000):
        message = message_of(lambda: rows_of(mpid.TableSplits([path], ["n"], split_bytes=split_bytes)))  # noqa: B023
        assert message.startswith(f"cannot read {path}: ") and "the lines from byte " in message, message
        assert "In CSV column #0" in message and "invalid value 'many'" in message
    path = written(folder / "b.csv", "n,t\n1,x\n2\n")
    assert (
        "the lines from byte 4 on (rows are counted from there): CSV parse error: Row #2: Expected 2 columns, got 1"
        in message_of(lambda: rows_of(mpid.TableSplits([path])))
    )
    path = written(folder / "c.csv", b"n,t\n1,x\n2,\xff\n")
    assert "c.csv" in message_of(lambda: rows_of(mpid.TableSplits([path], types={"t": "string"})))
    message = message_of(lambda: rows_of(mpid.TableSplits([path], types={"t": "string"})))
    assert "invalid UTF8 data" in message


def check_damaged_files_are_named(folder):
    good = files(folder)
    whole = (folder / "rows.parquet").read_bytes()
    path = written(folder / "cut.parquet", whole[:-50])
    assert message_of(lambda: mpid.TableSplits([path])).startswith(f"cannot read {path}: Parquet magic bytes not found")
    path = written(folder / "hole.parquet", whole[:200] + bytes(400) + whole[600:])
    assert message_of(lambda: rows_of(mpid.TableSplits([path]))).startswith(f"cannot read {path}, row groups 0 to ")
    for name in ("rows.csv.gz", "rows.csv.zst"):
        packed = (folder / name).read_bytes()
        changed = (
            [packed[:300] + b"xyz" + packed[303:]] if name == "rows.csv.gz" else []
        )  # pyarrow's zstd has no checksum
        for bad in (packed[:-1], packed[:100], packed + b"rubbish", *changed):
            path = written(folder / f"bad-{name}", bad)
            assert message_of(lambda: rows_of(mpid.TableSplits([path]))).startswith(f"cannot read {path}: ")  # noqa: B023
    assert len(good) == 5


def check_files_that_vanish_or_shrink_are_named(folder):
    for path in files(folder):
        splits = mpid.TableSplits([path], split_bytes=1000)
        path.unlink()
        message = message_of(lambda: rows_of(splits), OSError)  # noqa: B023
        assert message == f"cannot read {path}: there is no such file"
    path = written(folder / "a.csv", "n\n" + "1\n" * 100)
    splits = mpid.TableSplits([path], split_bytes=20)
    os.truncate(path, 50)
    changed = f"cannot read {path}: it has been written to since the job first looked at it"
    assert message_of(lambda: rows_of(splits)).startswith(f"{changed}: it had 202 bytes, and has 50 now\n  Remedy: let")
    assert (
        message_of(lambda: mpid.TableSplits([folder / "none"])) == f"cannot read {folder}/none: there is no such file"
    )


def check_files_that_have_changed_are_refused(folder):
    for path in files(folder):
        changed = f"cannot read {path}: it has been written to since the job first looked at it\n  Remedy: let nobody"
        splits = mpid.TableSplits([path], split_bytes=1000)
        os.utime(path, ns=(0, 12345))
        assert message_of(lambda: rows_of(splits)).startswith(changed)  # noqa: B023
        reading = mpid.TableSplits([path]).batches(0, 1)
        next(reading)
        os.utime(path, ns=(0, 54321))
        assert message_of(lambda: list(reading)).startswith(changed)  # noqa: B023


def check_files_that_may_not_be_read_are_named(_folder):
    with tempfile.TemporaryDirectory() as other:  # not below those of the tests, which only their owner may enter
        os.chmod(other, 0o755)
        paths = files(Path(other))
        words = "import os, sys; from spillway import mpid; os.geteuid() or os.seteuid(65534); "
        words += "print(len(mpid.TableSplits(sys.argv[1:])))"
        for path in (paths[0], Path(other) / "rows.csv"):
            run = [sys.executable, "-c", words, str(path)]
            assert subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout == "1\n"
            path.chmod(0)
            stderr = subprocess.run(run, stderr=subprocess.PIPE, text=True).stderr
            assert f"cannot read {path}: " in stderr and "Permission denied" in stderr, stderr


def check_tables_are_written_when_they_are_whole(folder):
    for form, read in (("parquet", parquet.read_table), ("csv", csv.read_csv)):
        out = folder / form
        with mpid.TablePart(out, 7, {"key": str, "count": int}, format=form) as part:
            part.write(pyarrow.RecordBatch.from_pydict({"key": ["a"], "count": [1]}))
            part.write_row("b", 2)
            part.write({"key": ["c"], "count": [3]})
            assert os.listdir(out) == [f"part-00007.{form}.partial"]
        assert read(out / f"part-00007.{form}").to_pydict() == {"key": ["a", "b", "c"], "count": [1, 2, 3]}
        for row in (("d", "x"), (1, 1), ("d", None, 1)):
            message = message_of(lambda: write_row(out, form, row))  # noqa: B023
            assert f"{out}/part-00007.{form}" in message, message
        message_of(lambda: write_row(out, form, (1 / 0,)), ZeroDivisionError)  # noqa: B023
        assert os.listdir(out) == [f"part-00007.{form}"] and read(out / f"part-00007.{form}").num_rows == 3
    with mpid.TablePart(folder / "none", 0, pyarrow.schema({"n": "int8"})):
        pass
    assert rows_of(mpid.TableSplits([folder / "none"])) == []
    written(folder / "file", "")
    assert "cannot write" in message_of(lambda: mpid.TablePart(folder / "file", 0, {"n": int}))


def write_row(out, form, row):
    with mpid.TablePart(out, 7, {"key": str, "count": int}, format=form) as part:
        part.write_row(*row)


class Counting(fs.FileSystemHandler):
    """Of fsspec's kind, in memory: what has no other way to the files than pyarrow.fs."""

    def __init__(self):
        self.files = {}

    def get_type_name(self):
        return "memory"

    def normalize_path(self, path):
        return path

    def get_file_info(self, paths):
        kinds = {True: fs.FileType.File, False: fs.FileType.NotFound}
        return [fs.FileInfo(path, kinds[path in self.files], size=len(self.files.get(path, b""))) for path in paths]

    def get_file_info_selector(self, selector):
        return self.get_file_info([path for path in self.files if path.startswith(selector.base_dir + "/")])

    def create_dir(self, path, recursive):
        pass

    def open_input_file(self, path):
        return pyarrow.PythonFile(pyarrow.BufferReader(self.files[path]), mode="r")

    open_input_stream = open_input_file

    def open_output_stream(self, path, metadata):
        return pyarrow.PythonFile(Kept(self.files, path), mode="w")

    def move(self, source, target):
        self.files[target] = self.files.pop(source)

    def delete_file(self, path):
        del self.files[path]

    def _none(self, *_):
        raise NotImplementedError

    copy_file = delete_dir = delete_dir_contents = delete_root_dir_contents = open_append_stream = _none


class Kept:
    """A file that is written to memory."""

    closed = False

    def __init__(self, files, path):
        self.files, self.path = files, path
        files[path] = b""

    def write(self, data):
        self.files[self.path] += bytes(data)
        return len(data)

    def flush(self):
        pass

    def close(self):
        self.closed = True


def check_files_are_reached_by_their_file_system(folder):
    memory = Counting()
    system = fs.PyFileSystem(memory)
    for path in files(folder):
        memory.files[f"in/{path.name}"] = path.read_bytes()
    for name in list(memory.files):
        splits = mpid.TableSplits([name], filesystem=system, split_bytes=9000)
        assert sorted(rows_of(splits)) == sorted(ROWS), name
    for form in ("csv", "parquet"):
        with mpid.TablePart("out", 1, TABLE.schema, format=form, filesystem=system) as part:
            part.write(TABLE)
        written_rows = rows_of(mpid.TableSplits([f"out/part-00001.{form}"], filesystem=system))
        assert sorted(written_rows) == sorted(ROWS)
        message_of(lambda: lose(system, form))  # noqa: B023
    assert sorted(name for name in memory.files if "out" in name) == ["out/part-00001.csv", "out/part-00001.parquet"]


def lose(system, form):
    with mpid.TablePart("out", 2, TABLE.schema, format=form, filesystem=system) as part:
        part.write(TABLE)
        raise KeyError


def check_uris_and_other_file_systems(folder):
    paths = files(folder)
    uri = f"file://{folder}"
    assert sorted(rows_of(mpid.TableSplits([f"{uri}/{path.name}" for path in paths]))) == sorted(ROWS * 5)
    assert sorted(rows_of(mpid.TableSplits([uri]))) == sorted(ROWS * 5)
    below = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    assert sorted(rows_of(mpid.TableSplits(["rows.csv"], filesystem=below, split_bytes=999))) == sorted(ROWS)
    with mpid.TablePart(f"{uri}/out", 0, {"n": int}) as part:
        part.write_row(1)
    assert rows_of(mpid.TableSplits([folder / "out"])) == [(1,)]
    assert "cannot read no://where" in message_of(lambda: mpid.TableSplits(["no://where"]))


if __name__ == "__main__":
    run_all(globals())
