"""Checks of how CSV files are cut and what is refused, for test_tables.py: each is a function named check_*."""

import gzip
import random
import re
from pathlib import Path

import pyarrow
from pyarrow import csv
from spillway import mpid
from spillway.mpid import _csv
from table_checks import message_of, rows_of, run_all, written

TSV = csv.ParseOptions(delimiter="\t")
EMPTY_LINES_ARE_ROWS = csv.ParseOptions(ignore_empty_lines=False)
QUOTED_NEWLINES = csv.ParseOptions(newlines_in_values=True)
NULLS = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}
TEXT = {"t": "string", "u": "string"}
_csv._BLOCK_BYTES, _csv._PIECE_BYTES = 24, 5


def outcome(function):
    try:
        return function()
    except ValueError as error:
        return re.sub(" the lines from byte .*|Row .*", "", str(error).split("\n")[0])


def check_lines_of_blanks_are_rows(folder):
    path = written(folder / "a.csv", "t\tu\n" + "\t\n" * 100)
    for split_bytes in (1, 30, 1 << 20):
        splits = mpid.TableSplits([path], parse_options=TSV, split_bytes=split_bytes)
        assert rows_of(splits) == [(None, None)] * 100, split_bytes
    path = written(folder / "b.csv", "t\n" + " \n" * 100 + "\r\n\n" * 30)
    for split_bytes in (1, 30, 1 << 20):
        assert rows_of(mpid.TableSplits([path], split_bytes=split_bytes)) == [(" ",)] * 100, split_bytes


def check_empty_lines_are_rows_where_they_are_said_to_be(folder):
    path = written(folder / "a.csv", "t\n" + "\n\r\nx\n" * 30)
    for split_bytes in (1, 30, 1 << 20):
        splits = mpid.TableSplits([path], parse_options=EMPTY_LINES_ARE_ROWS, split_bytes=split_bytes)
        assert sorted(rows_of(splits), key=str) == [("x",)] * 30 + [(None,)] * 60, split_bytes
    path = written(folder / "b.csv", "t,u\n" + "1,2\n" * 30 + "\n")
    for split_bytes in (1, 30, 1 << 20):
        assert rows_of(mpid.TableSplits([path], split_bytes=split_bytes)) == [(1, 2)] * 30
        splits = mpid.TableSplits([path], parse_options=EMPTY_LINES_ARE_ROWS, split_bytes=split_bytes)
        assert sorted(rows_of(splits), key=str) == [(1, 2)] * 30 + [(None, None)]


def check_the_first_line_may_be_anywhere(folder):
    for before in ("", "\ufeff", "\ufeff\r\n\n", "\n" * 100):
        path = written(folder / "a.csv", before + "t,n\r" + "x,1\n" * 20)
        for split_bytes in (1, 7, 50, 1 << 20):
            splits = mpid.TableSplits([path], split_bytes=split_bytes)
            assert rows_of(splits) == [("x", 1)] * 20 and splits.kinds() == (str, int), (before, split_bytes)


def random_value(generator):
    inside = "".join(generator.choices(["a", " ", ",", "\t", "é", '""', "\ufeff"], k=generator.randrange(4)))
    plain = inside.replace(",", "").replace('"', "")
    return generator.choice([plain, plain, f'"{inside}"', plain + "b\"'"])


def check_cut_files_have_the_rows_of_whole_ones(folder):
    generator = random.Random(20)
    options = csv.ConvertOptions(column_types=TEXT, **NULLS)
    for number in range(100):
        columns = ["t", "u"][: generator.choice([1, 2, 2])]
        text = generator.choice(["", "\ufeff"]) + generator.choice(["", "\n", "\r\n\r\n"]) + ",".join(columns)
        for _ in range(generator.randrange(1, 40)):
            text += generator.choice(["\n", "\n", "\r\n", "\n\n", "\r"])
            text += ",".join(random_value(generator) for _ in columns)
        path = written(folder / "a.csv", text + generator.choice(["", "\n", "\r\n\n"]))
        expected = csv.read_csv(path, convert_options=options)
        expected = list(zip(*(column.to_pylist() for column in expected.columns)))
        types = {name: "string" for name in columns}
        for split_bytes in (generator.randrange(1, 60), 1 << 20):
            found = rows_of(mpid.TableSplits([path], types=types, split_bytes=split_bytes), 1)
            assert found == expected, (number, split_bytes, path.read_bytes(), found, expected)


def check_whatever_is_in_a_file_its_size_does_not_count(folder):
    generator = random.Random(21)
    refused = 0
    for number in range(100):
        escape = generator.choice([False, False, "\\"])
        lines = generator.choices(["x,y", '"p","q"', "", 'a"b,"c""d"', 'a,"b"c"', "e,\\f"], k=10)
        if generator.random() < 0.6:
            lines[generator.randrange(10)] = generator.choice(['a,"b', '"a', 'a,"b\\"', 'a,"b""', "a,b\\", "a"])
            lines[generator.randrange(10)] = generator.choice(['"', '"a,b"', 'c"', ""])
        path = written(folder / "a.csv", "\n".join(["t,u", *lines]))
        outcomes = []
        for split_bytes in (generator.randrange(1, 20), 1 << 20):
            for block_bytes in (3, 1 << 20):
                _csv._BLOCK_BYTES = block_bytes
                wanted = {
                    "types": TEXT,
                    "split_bytes": split_bytes,
                    "parse_options": csv.ParseOptions(escape_char=escape),
                }
                outcomes.append(outcome(lambda: rows_of(mpid.TableSplits([path], **wanted), 1)))  # noqa: B023
        _csv._BLOCK_BYTES = 24
        kinds = {isinstance(found, str) for found in outcomes}
        assert len(kinds) == 1, (number, path.read_bytes(), outcomes)
        if not kinds.pop():
            assert all(found == outcomes[0] for found in outcomes), (number, path.read_bytes(), outcomes)
            assert not any("\n" in (value or "") for row in outcomes[0] for value in row)
        else:
            refused += 1
    assert 20 < refused < 80, refused


def check_unfinished_quotes_are_refused(folder):
    cases = {'t,u\n1,x\n2,"y\n': 8, 't,u\n1,"a""\n2,b"\n': 4, 't,"u\n1,x\n': 0, 't,u\n1,"a\n"b,"c"\n': 4}
    cases['t,u\n1,"a\n\n\n'] = 4
    for text, place in cases.items():
        for name, data in (("a.csv", text.encode()), ("a.csv.gz", gzip.compress(text.encode()))):
            path = written(folder / name, data)
            message = message_of(lambda: rows_of(mpid.TableSplits([path], types={"t": "string"})))  # noqa: B023
            assert f"{path}: " in message and f"in the line at byte {place} a quoted value begins" in message, message
    escaped = csv.ParseOptions(escape_char="\\")
    path = written(folder / "b.csv", 't,u\n1,"a\\"b"\n2,\\"c\n')
    assert rows_of(mpid.TableSplits([path], parse_options=escaped, split_bytes=3), 1) == [(1, 'a"b'), (2, '"c')]
    path = written(folder / "c.csv", "t,u\n1,a\\\nb\n")
    assert "at byte 4 a quoted" in message_of(lambda: rows_of(mpid.TableSplits([path], parse_options=escaped)))


def check_options_count_where_newlines_are_in_values(folder):
    def skip(_row):
        return "skip"

    path = written(folder / "a.csv", 't,u\n1,"x\ny"\n2\n3,z\n')
    options = csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip)
    assert rows_of(mpid.TableSplits([path], parse_options=options)) == [(1, "x\ny"), (3, "z")]
    path = written(folder / "b.csv", 't,u\n1,"x"\n2\n3,z\n')
    options = csv.ParseOptions(invalid_row_handler=skip)
    assert rows_of(mpid.TableSplits([path], parse_options=options, split_bytes=3), 1) == [(1, "x"), (3, "z")]


def check_what_is_null_may_be_said(folder):
    path = written(folder / "a.csv", 't,n\n,1\n"",2\nNA,NA\n')
    types = {"n": "string"}
    assert rows_of(mpid.TableSplits([path], types=types)) == [(None, "1"), ("", "2"), ("NA", "NA")]
    convert = csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    splits = mpid.TableSplits([path], convert_options=convert, split_bytes=4)
    assert sorted(rows_of(splits), key=str) == [("", 1), ("", 2), (None, None)]
    named = csv.ConvertOptions(column_types={"t": "string"})
    assert "types=" in message_of(lambda: mpid.TableSplits([path], convert_options=named))


def check_rows_that_only_carriage_returns_end(folder):
    path = written(folder / "a.csv", "n,t\r" + "1,x\r" * 50)
    for split_bytes in (1, 7, 1 << 20):
        assert rows_of(mpid.TableSplits([path], split_bytes=split_bytes)) == [(1, "x")] * 50
    longest, _csv._LONGEST_ROW_BYTES = _csv._LONGEST_ROW_BYTES, 100
    try:
        message = message_of(lambda: rows_of(mpid.TableSplits([path], split_bytes=70)))
        assert "the line at byte 0 has more than" in message
        path = written(folder / "b.csv", "n,t\n" + "1,x\n" * 30 + "1,x\r" * 50)
        splits = mpid.TableSplits([path], split_bytes=70)
        assert "the line at byte " in message_of(lambda: rows_of(splits))
    finally:
        _csv._LONGEST_ROW_BYTES = longest
    whole = mpid.TableSplits([path], split_bytes=70, parse_options=QUOTED_NEWLINES)
    assert len(whole) == 1 and rows_of(whole) == [(1, "x")] * 80


def check_files_without_columns_have_no_parts(folder):
    number = written(folder / "n.csv", "n\n1\n")
    for text in ("", "\ufeff", "\n\r\n", "\ufeff\n"):
        for name, data in (("a.csv", text.encode()), ("a.csv.gz", gzip.compress(text.encode()))):
            splits = mpid.TableSplits([written(folder / name, data), number])
            assert len(splits) == 1 and rows_of(splits) == [(1,)], (name, text)
    for name in ("a.csv.gz", "a.csv.zst"):
        path = written(folder / name, "")
        assert f"cannot read {path}: it is empty" in message_of(lambda: mpid.TableSplits([path]))  # noqa: B023
        path = written(folder / name, "n\n1\n")
        assert "it does not begin as a file of" in message_of(lambda: mpid.TableSplits([path]))  # noqa: B023


def check_marks_of_zstd_are_the_library_s(folder):
    frames = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(frames, "zstd") as stream:
        stream.write(b"n\n1\n")
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + frames.getvalue().to_pybytes()
    assert rows_of(mpid.TableSplits([written(folder / "a.csv", skipped)])) == [(1,)]
    half = written(folder / "b.csv", b"\x28\xb5,t\n1,2\n")
    assert rows_of(mpid.TableSplits([half], format="csv", names=["a", "b"], types={"a": "binary"}))[1] == (b"1", "2")


def check_what_is_no_text_is_named(folder):
    path = written(folder / "a.csv", b"n,\xff\n1,2\n")
    for options in (None, QUOTED_NEWLINES):
        message = message_of(lambda: mpid.TableSplits([path], parse_options=options))  # noqa: B023
        assert message.startswith(f"cannot read {path}: ")


def check_files_that_grow_are_refused(folder):
    for options in (None, QUOTED_NEWLINES):
        path = written(folder / "a.csv", "n\n1\n")
        splits = mpid.TableSplits([path], parse_options=options)
        with open(path, "a") as file:
            file.write("2\n")
        message = message_of(lambda: rows_of(splits))  # noqa: B023
        changed = "it has been written to since the job first looked at it: it had 4 bytes, and has 6 now"
        assert message.startswith(f"cannot read {path}: {changed}\n  Remedy: let nobody write to the input")


def check_directories_are_read_with_those_below(folder):
    for name in ("a.csv", "x/b.csv", "x/y/c.csv", "_no/d.csv", "x/.no/e.csv", "x/_f.csv", "x/g.csv.partial"):
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        written(folder / "in" / name, f"t\n{Path(name).stem}\n")
    for place in (folder / "in", f"{folder}/in/", f"file://{folder}/in"):
        splits = mpid.TableSplits([place])
        assert rows_of(splits, 1) == [("a",), ("b",), ("c",)]
        assert [Path(split.path).name for split in splits] == ["a.csv", "b.csv", "c.csv"]


if __name__ == "__main__":
    run_all(globals())
