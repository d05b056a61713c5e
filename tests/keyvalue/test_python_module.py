"""The package spillway.mpid alone: columns, texts, and that it says what the C header says."""

import ctypes
import math
import re
import sys
from array import array
from pathlib import Path
from typing import Any, List, Tuple

import numpy
import pytest
from runner import Runner
from source_tree import SOURCE
from spillway import mpid
from spillway.mpid import _arrays, _functions, _kinds, _library, _sending, _streaming
from spillway.mpid._kinds import kind_of

HEADER = (SOURCE / "include" / "spillway" / "mpid.h").read_text()
FILES_HEADER = (SOURCE / "include" / "spillway" / "mpid_files.h").read_text()
ITEMS = {
    str: ["", "a", "ä𝄞", "a\0b", "x" * 5000, "\0"],
    bytes: [b"", b"a", b"\0\xff", b"x" * 5000],
    int: [0, -(2**63), 2**63 - 1],
    float: [0.0, -0.0, math.inf, 1e-300],
}


def constants(pattern: str) -> dict:
    return {name: int(value) for name, value in re.findall(pattern, HEADER)}


def test_the_table_of_the_configuration_has_every_key() -> None:
    keys = set(re.findall(r'#define (MPI_D_\w+) "\1"', HEADER))
    page = (SOURCE / "docs" / "reference" / "key-value-jobs.md").read_text()
    rows = page.split("\n## Configuration\n")[1].split("\n## ")[0].splitlines()
    first_cells = " ".join(row.split(" | ")[0] for row in rows if row.startswith("| `"))
    taken = re.findall(r"\{(MPI_D_\w+), (?:true|false),", (SOURCE / "src/keyvalue/configuration.cpp").read_text())
    assert set(re.findall(r"`(\w+)`", first_cells)) == keys == set(taken) and len(keys) == 15
    in_environment = set(re.findall(r"`(\w+)` \*", first_cells))
    assert in_environment == set(
        re.findall(r"\{(MPI_D_\w+), true,", (SOURCE / "src/keyvalue/configuration.cpp").read_text())
    )


def test_the_page_names_every_function_of_the_c_headers() -> None:
    page = (SOURCE / "docs" / "reference" / "key-value-jobs.md").read_text()
    for header in (HEADER, FILES_HEADER):
        functions = set(re.findall(r"^[\w* ]+?\*?\b(MPI_D_\w+)\([^)]*\);", header, re.M))
        named = set(re.findall(r"`(MPI_D_\w+)", page))
        assert len(functions) > 15 and functions - named <= {"MPI_D_Comm_bipartite_o", "MPI_D_Comm_bipartite_a"}


def test_the_page_names_every_word_of_the_module() -> None:
    page = (SOURCE / "docs" / "reference" / "key-value-jobs-in-python.md").read_text()
    for word in mpid.__all__:
        assert re.search(rf"`(with )?{word}\b|`[^`]*\b{word}\(", page), word


def test_codes_and_modes_are_those_of_the_c_header() -> None:
    codes = constants(r"#define MPI_D_(ERR_\w+) (\d+)")
    assert codes == {name: getattr(_library, name) for name in codes} and len(codes) == 8
    modes = {mode.name: mode.value for mode in mpid.Mode}
    assert modes == constants(r"MPI_D_MODE_(\w+) = (\d+)") and len(modes) == 4
    assert constants(r"MPI_D_OP_(\w+) = (\d+)") == {name.upper(): op for name, op in _library.OPERATIONS.items()}
    assert constants(r"MPI_D_(ERRORS_RETURN) = (\d+)") == {"ERRORS_RETURN": _library.ERRORS_RETURN}


def test_structures_and_functions_are_those_of_the_c_header() -> None:
    for name, structure in (("Bytes", _library.Bytes), ("Column", _library.Column), ("Entry", _library.Entry)):
        body = re.search(r"typedef struct \{((?:(?!typedef struct).)*?)\} MPI_D_" + name + ";", HEADER, re.S).group(1)
        code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        assert re.findall(r"(\w+);", code) == [field for field, _ in structure._fields_]
    declared = {
        name: parameters.count(",") + (parameters != "void")
        for name, parameters in re.findall(r"^[\w* ]+?\*?\b(MPI_D_\w+)\(([^)]*)\);", HEADER + FILES_HEADER, re.M)
    }
    assert {name: len(types) - 1 for name, types in _library._FUNCTIONS.items()}.items() <= declared.items()


def column_with_offsets(items: List[bytes]) -> Any:
    return kind_of(bytes, "key").encode(items)


@pytest.mark.parametrize("type_", list(ITEMS))
def test_what_is_encoded_is_decoded(type_: type) -> None:
    kind, items = kind_of(type_, "key"), ITEMS[type_]
    column, kept = column_with_offsets([item.encode() for item in items]) if type_ is str else kind.encode(items)
    assert list(map(repr, kind.decode(column, len(items)))) == list(map(repr, items))
    for item in items:
        room = ctypes.create_string_buffer(8)
        address, kept = kind.put(item, ctypes.addressof(room))
        assert repr(kind.item_at(address)) == repr(item) and (kept is not None or address == ctypes.addressof(room))


def test_sizes_are_of_64_bits() -> None:
    """There is no memory for so much; their lowest 32 bits are 5."""
    data = b"x" * 100
    address, size = _kinds.address_of(data), 2**62 + 5
    item = _library.Bytes(address, size)
    offsets = array("q", [0, size])
    column = _library.Column(address, offsets.buffer_info()[0])
    for kind in map(kind_of, (str, bytes), ("key", "key")):
        with pytest.raises(MemoryError):
            kind.item_at(ctypes.addressof(item))
        with pytest.raises(MemoryError):
            kind.decode(column, 1)
        with pytest.raises(MemoryError):
            _arrays.numpy_array(kind, column, 1)
    assert _kinds.bytes_at(address, 5) == b"xxxxx" and _kinds.bytes_at(None, 0) == b""


@pytest.mark.parametrize("number", [int, float, numpy.int64, numpy.float64])
def test_a_compare_function_may_return_any_number(number: type) -> None:
    compare = _functions.compare_callback(lambda first, second: number(first - second), kind_of(int, "key"), str)
    numbers = array("q", [2, 3])
    first = numbers.buffer_info()[0]
    second = first + numbers.itemsize
    assert [compare(first, second, None), compare(first, first, None), compare(second, first, None)] == [-1, 0, 1]


@pytest.mark.parametrize("types", [(str, int), (bytes, int), (int, str), (str, bytes)])
def test_what_has_no_length_is_named(types: Tuple[type, type]) -> None:
    kinds = [kind_of(type_, "key") for type_ in types]
    for wrong in (None, 5.0, 5j):
        for place, what in enumerate(("key", "value")):
            record: List[Any] = [type_() for type_ in types]
            record[place] = wrong
            send, _, flush = _sending.sender(*kinds, "MPI_D_Send_batch")
            with pytest.raises(TypeError, match=re.escape(f"the {what} {wrong} is no {types[place].__name__}: ")):
                send(*record)
                flush()


@pytest.mark.parametrize("items", [["a", "", "ä"], [""], ["a\0b", "c"], ["", "\0"]])
def test_strings_end_with_a_nul_or_have_offsets(items: List[str]) -> None:
    column, kept = kind_of(str, "key").encode(items)
    whole = b"".join(item.encode() + b"\0" for item in items)
    if any("\0" in item for item in items):
        assert kind_of(str, "key").decode(column, len(items)) == items
    else:
        assert column.offsets is None and ctypes.string_at(column.data, len(whole)) == whole


@pytest.mark.parametrize(
    "type_, wrong", [(str, b"a"), (bytes, "a"), (bytes, bytearray(b"a")), (int, 1.5), (int, 2**63), (float, "1")]
)
def test_an_item_of_another_type_is_named(type_: type, wrong: Any) -> None:
    with pytest.raises((TypeError, OverflowError), match=re.escape(f"the key {wrong!r} is no {type_.__name__}: ")):
        kind_of(type_, "key").encode_checked([*ITEMS[type_], wrong], "key")


def test_text_that_is_no_unicode_is_named() -> None:
    with pytest.raises(ValueError, match=r"the key '\\udcff' is no str: .* surrogates not allowed"):
        kind_of(str, "key").encode_checked(["a", "\udcff"], "key")


def test_other_types_and_words_are_refused() -> None:
    with pytest.raises(ValueError, match="key=<class 'list'>: keys and values may be"):
        mpid.Init(key=list)
    with pytest.raises(ValueError, match="say 'arrow' or 'numpy'"):
        next(mpid.recv_batches(arrays="lists"))
    with pytest.raises(mpid.Error, match="called before Init()") as raised:
        mpid.Send(1, 2)
    assert raised.value.code == _library.ERR_STATE
    assert not mpid.COMM_BIPARTITE_O and not mpid.COMM_BIPARTITE_A


def test_few_records_are_held_where_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: List[int] = []

    class Library:
        def MPI_D_Send_batch(self, count: int, keys: Any, values: Any) -> int:
            sent.append(count)
            return 0

    monkeypatch.setattr(_library, "library", Library())
    for key, value in (("x" * 20000, 1), (1, b"x" * 20000), ("x" * 10000, b"x" * 10000)):
        of_key = _sending.sender(kind_of(type(key), "key"), kind_of(type(value), "value"), "MPI_D_Send_batch")
        for way in (of_key[0], lambda key, value: of_key[1]([key], value)):  # noqa: B023
            for _ in range(5):
                way(key, value)
            of_key[2]()
            assert sent == [2, 2, 1]
            sent.clear()
    send, _, flush = _sending.sender(kind_of(int, "key"), kind_of(int, "value"), "MPI_D_Send_batch")
    for number in range(10000):
        send(number, number)
    flush()
    assert sent == [4096, 4096, 1808]


def test_values_are_sent_as_they_were_given_whether_the_same_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: List[Tuple[Any, Any]] = []
    kinds = kind_of(str, "key"), kind_of(int, "value")

    class Library:
        def MPI_D_Send_batch(self, count: int, keys: Any, values: Any) -> int:
            words = [word.decode() for word in ctypes.string_at(keys.data, 6 * count).split(b"\0")[:count]]
            sent.extend(zip(words, kinds[1].decode(values, count)))
            return 0

    monkeypatch.setattr(_library, "library", Library())
    monkeypatch.setattr(_sending, "BATCH_LENGTH", 20)
    send, send_list, flush = _sending.sender(*kinds, "MPI_D_Send_batch")
    values = [1] * 10 + [2] * 5 + [1, 2, 3, 1000, 1000, -1] + [7] * 9 + [8]
    for place, value in enumerate(values):
        send(f"{place:05}", value)
    flush()
    flush()
    assert sent == [(f"{place:05}", value) for place, value in enumerate(values)]
    sent.clear()
    for count, value in enumerate([1, 1, 2, 1, 5, 5, 5, 5, 6]):
        send("word0", 0)
        send_list([f"{place:05}" for place in range(count)], value)
        send("word1", value)
    flush()
    assert sent == [
        record
        for count, value in enumerate([1, 1, 2, 1, 5, 5, 5, 5, 6])
        for record in [("word0", 0), *((f"{place:05}", value) for place in range(count)), ("word1", value)]
    ]
    sent.clear()
    with pytest.raises(TypeError, match="the value 'one' is no int"):
        send_list([], "one")
    with pytest.raises(TypeError, match="the key 1 is no str"):
        send_list(["word", 1], 1)
    for _ in range(8):
        send("wordy", 1)
    send("wordy", "one")
    with pytest.raises(TypeError, match="the value 'one' is no int"):
        flush()
    assert sent == [("wordy", 1)] * 8  # the others are sent
    for _ in range(8):  # the same wrong one for all
        send("wordy", sent)
        with pytest.raises(TypeError, match="is no int"):
            flush()
    send("word2", 2)
    send("\udc80", 2)
    with pytest.raises(ValueError, match="is no str"):
        flush()
    assert len(sent) == 8 + 1 and sent[-1][1] == 2


def test_what_a_stream_gathers_is_passed_on_after_its_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[Any] = []

    class Library:
        def MPI_D_Send_batch(self, count: int, keys: Any, values: Any) -> int:
            calls.append(count)
            return 0

        def MPI_D_Flush(self) -> int:
            calls.append("flush")
            return 0

    monkeypatch.setattr(_library, "library", Library())
    clock = [0]
    monkeypatch.setattr(_sending, "monotonic_ns", lambda: clock[0])
    gather, _, flush_gathered = _sending.sender(kind_of(int, "key"), kind_of(int, "value"), "MPI_D_Send_batch")
    send, flush = _sending.timed(gather, flush_gathered, latency=100)
    for clock[0] in (0, 99, 100, 150, 199, 200):
        send(1, 1)
    assert calls == [2, "flush", 3, "flush"]
    flush()
    flush()
    assert calls == [2, "flush", 3, "flush", 1, "flush"]
    for _ in range(5000):  # what a full batch leaves the library with is due, too
        send(1, 1)
    clock[0] = 300
    send(1, 1)
    assert calls[6:] == [4096, 904, "flush"]


def test_the_latency_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = re.search(r"how long a record may be gathered.*\(default: (\w+)\)", HEADER).group(1)
    assert _sending.latency_ns({}) == _sending.latency_ns({"MPI_D_LATENCY": usual}) == 10**6
    assert _sending.latency_ns({"MPI_D_LATENCY": "20us"}) == 20000
    monkeypatch.setenv("MPI_D_LATENCY", "3s")  # counts more
    assert _sending.latency_ns({"MPI_D_LATENCY": "20us"}) == 3 * 10**9


@pytest.mark.parametrize(
    "keys, message",
    [
        ("text", "are an array of pyarrow or NumPy or a list, not str"),
        ((b"abc", [0.0, 1.0]), "places of keys in their data are arrays of int32 or int64, not of float64"),
        ((b"abc", numpy.array([], int)), "offsets are one more than keys"),
        ((b"abc", [0, 1], [1]), "a batch of 2 begins and 1 ends of keys"),
        ((b"abc", [0, 1], [4, 3]), "the keys end at 4, and the data at 3"),
        ((b"abc", [0, 4]), "the keys end at 4, and the data at 3"),
        (numpy.array(["a"]), "1 dimension(s) of <U1, and keys are bytes\n  Remedy: give an array of pyarrow"),
    ],
)
def test_wrong_arrays_are_refused(keys: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        _arrays.column_of(keys, kind_of(bytes, "key"), "key")


def test_numbers_that_would_change_are_refused() -> None:
    with pytest.raises(TypeError, match="2 dimension"):
        _arrays.column_of(numpy.zeros((2, 2)), kind_of(float, "key"), "key")
    with pytest.raises(TypeError, match="of uint64, and values are int"):
        _arrays.column_of(numpy.zeros(2, numpy.uint64), kind_of(int, "value"), "value")


TEXTS = [
    b"",
    b"\n",
    b"one",
    b"one\n",
    b"one\ntwo",
    b"\n\n\n",
    b"a\r\nb\n",
    "ä\n𝄞 ö\n".encode() * 20,
    b"x" * 50 + b"\ny",
]


@pytest.mark.parametrize("split_bytes", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("tasks", [1, 3])
def test_each_line_belongs_to_one_task(tmp_path: Path, split_bytes: int, tasks: int) -> None:
    paths = [tmp_path / str(number) for number in range(len(TEXTS))]
    expected = []
    for path, text in zip(paths, TEXTS):
        path.write_bytes(text)
        expected += (text[:-1] if text.endswith(b"\n") else text).split(b"\n") if text else []
    splits = mpid.LineSplits(paths, split_bytes)
    lines = [line for task in range(tasks) for line in splits.lines(task, tasks, None)]
    assert sorted(lines) == sorted(expected)
    assert sorted(line for task in range(tasks) for line in splits.lines(task, tasks)) == sorted(
        line.decode() for line in expected
    )
    assert b"".join(block for split in splits for block in split.blocks(5)) == b"".join(TEXTS)


def test_text_that_cannot_be_decoded_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"line\n" * 1000 + b"ab\xffc\n")
    split = mpid.LineSplits([path], 1000)[-1]
    with pytest.raises(
        ValueError, match=re.escape(f"{path}, byte 5002: no text in utf-8: invalid start byte\n  Remedy")
    ):
        list(split.lines())
    assert list(split.lines("latin-1"))[-1] == "abÿc" and list(split.lines(None))[-1] == b"ab\xffc"
    with pytest.raises(ValueError, match="lines of text in utf-16 cannot be found"):
        list(split.lines("utf-16"))


def test_input_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        mpid.LineSplits([tmp_path / "missing"])
    with pytest.raises(ValueError, match="it is not a regular file"):
        mpid.LineSplits([tmp_path])
    with pytest.raises(ValueError, match="at least one byte"):
        mpid.LineSplits([], 0)
    for path in ("./a:/b", "://b", "s3://b", ":/b", "a:b"):  # these name no host
        with pytest.raises(FileNotFoundError, match=path):
            mpid.LineSplits([path])
    with pytest.raises(FileNotFoundError, match=r"cannot read s3://b/c: .* mounted\n  Remedy: .*TableSplits"):
        mpid.LineSplits(["s3://key:secret@b/c"])
    for one in ("text", tmp_path / "text", b"text"):
        with pytest.raises(ValueError, match=r"is one path\n  Remedy: give a list"):
            mpid.LineSplits(one)


def test_a_host_s_own_file_is_looked_at_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "seen").write_text("a\n")
    splits = mpid.LineSplits(["node1.example.org:/not/here", tmp_path / "seen"])
    assert splits.conf == {"MPI_D_O_TASKS": "2", "MPI_D_INPUT_HOSTS": "node1.example.org,"}
    assert splits[0].name == "node1.example.org:/not/here" and splits[1].name == str(tmp_path / "seen")
    assert mpid.LineSplits([]).conf == {"MPI_D_O_TASKS": "1", "MPI_D_INPUT_HOSTS": ""}
    with pytest.raises(ValueError, match="cannot look for samples in node1.example.org:/not/here, which only"):
        mpid.sampled_lines(splits)


def test_a_sample_is_of_lines_from_everywhere(tmp_path: Path) -> None:
    lines = [f"{number:07}" + "x" * 100 for number in range(20000)]
    (tmp_path / "text").write_text("\n".join(lines))
    sample = mpid.sampled_lines(mpid.LineSplits([tmp_path / "text"], 1 << 20))
    assert sample == sorted(sample) and len(sample) >= 256
    assert set(sample) <= {line[:64].encode() for line in lines}
    quarters = [sum(int(line[:7]) // 5000 == quarter for line in sample) for quarter in range(4)]
    assert min(quarters) > 0.8 * max(quarters)


def test_ranges_of_keys_keep_the_order_and_have_equal_shares() -> None:
    sample = sorted(b"%03d" % (7 * number % 1000) for number in range(500))
    for tasks in (1, 3, 8, 499, 500, 600):
        ranges = mpid.KeyRanges(sample)
        found = [ranges.task_of(key, tasks) for key in sample]
        assert found == sorted(found) and found[0] == 0 and found[-1] == tasks - 1 or tasks > 500
        shares = [found.count(task) for task in range(tasks)]
        assert max(shares) - min(shares) <= 1
        assert ranges.task_of(b"", tasks) == 0 and ranges.task_of(b"x", tasks) == tasks - 1
    assert mpid.KeyRanges([]).task_of(b"x", 5) == 0
    equal = mpid.KeyRanges([b"a", b"b", b"b", b"b"])
    assert [equal.task_of(key, 4) for key in (b"", b"a", b"ab", b"b", b"c")] == [0, 0, 0, 3, 3]


def test_numbers_of_a_line_are_finite_ones() -> None:
    assert mpid.numbers_of_line("1 -2.5\t3e2,4, 5 \r") == [1, -2.5, 300, 4, 5]
    assert mpid.numbers_of_line("  9223372036854775807", int) == [2**63 - 1]
    for line, kind, message in (
        ("1 two 3", float, "'two' is not a number"),
        ("inf", float, "'inf' is not a number"),
        ("1e999", float, "'1e999' is not a number"),
        ("1.5", int, "'1.5' is not a whole number"),
        (" ,\t", int, "there is no number"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            mpid.numbers_of_line(line, kind)


def test_a_pace_is_kept_and_passes_on_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    now, flushed = [5.0], []
    monkeypatch.setattr(_streaming.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(_streaming.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    monkeypatch.setattr(_streaming, "flush", lambda: flushed.append(now[0]))
    pace, times = mpid.Pace(0.01), []
    for _ in range(4):
        pace.wait()
        times.append(now[0])
        now[0] += 0.002  # of work
    assert times == pytest.approx([5, 5.01, 5.02, 5.03]) and len(flushed) >= 3 * 8
    now[0] += 1
    flushed.clear()
    pace.wait()  # which is late
    assert not flushed


def test_a_part_file_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with mpid.PartFile(out, 7) as output:
        output.write("ä")
        output.write(b"\xff")
        assert [path.name for path in out.iterdir()] == ["part-00007.partial"]
    assert (out / "part-00007").read_bytes() == "ä".encode() + b"\xff"
    with pytest.raises(KeyError), mpid.PartFile(out, 7) as output:
        output.write("another")
        raise KeyError
    assert [path.name for path in out.iterdir()] == ["part-00007"] and len((out / "part-00007").read_bytes()) == 3


def test_the_module_needs_neither_numpy_nor_pyarrow_nor_mpi4py_until_they_are_used(run: Runner) -> None:
    words = "import sys, spillway.mpid; print({'numpy', 'pyarrow', 'mpi4py'} & set(sys.modules))"
    assert run(sys.executable, "-c", words, env={"PYTHONPATH": str(SOURCE / "python")}).stdout == "set()\n"
