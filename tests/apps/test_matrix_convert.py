"""matrix-convert, compared with the same conversion in plain Python."""

import math
import random
import struct
from hashlib import sha256
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

import pytest
from csr_oracle import Matrix, decode_matrix, encode_rows
from limits import little_disk, little_memory
from runner import Finished, Runner

Entries = List[Tuple[int, int, float]]
Convert = Callable[..., Finished]

BANNER = "%%MatrixMarket matrix coordinate real general\n"


def rounded(value: float) -> float:
    """To 32 bits."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def rows_of(entries: Entries, row_count: int) -> Matrix:
    """Entries of the same place are added up in the order of their bits, so that no order of lines matters."""
    values: List[Dict[int, List[float]]] = [{} for _ in range(row_count)]
    for row, column, value in entries:
        values[row].setdefault(column, []).append(rounded(value))

    def total(summands: List[float]) -> float:
        result = 0.0
        for value in sorted(summands, key=lambda value: struct.unpack("<I", struct.pack("<f", value))[0]):
            result += value
        return rounded(result)

    return [sorted((column, total(summands)) for column, summands in row.items()) for row in values]


def normalized(matrix: Matrix) -> Matrix:
    result = []
    for row in matrix:
        length = math.sqrt(sum(value * value for _, value in row)) or 1
        result.append([(column, rounded(value / length)) for column, value in row])
    return result


def with_inverse_frequencies(matrix: Matrix) -> Matrix:
    """tf-idf, not rounded."""
    rows_with: Dict[int, int] = {}
    for row in matrix:
        for column, _ in row:
            rows_with[column] = rows_with.get(column, 0) + 1
    return [[(column, value * math.log(len(matrix) / rows_with[column])) for column, value in row] for row in matrix]


def random_entries(rows: int, columns: int, count: int, seed: int) -> Entries:
    """Skewed, with repeated places; the last row and the last column have an entry."""
    choices = random.Random(seed)
    entries = [
        (choices.randrange(rows), int(columns * choices.random() ** 3), choices.uniform(-9, 9)) for _ in range(count)
    ]
    repeated = [(row, column, choices.gauss(0, 1e3)) for row, column, _ in entries[: count // 5]]
    return entries + repeated + repeated[: count // 10] + [(rows - 1, columns - 1, 0.1)]


def mirrored(entries: Entries) -> Entries:
    return [(column, row, value) for row, column, value in entries if row != column]


def matrix_market(entries: Entries, rows: int, columns: int, kind: str = "real general") -> str:
    has_values = not kind.startswith("pattern")
    lines = [f"{row + 1} {column + 1}" + (f" {value!r}" if has_values else "") for row, column, value in entries]
    banner = f"%%MatrixMarket matrix coordinate {kind}\n% a comment\n%\n"
    return banner + "\n".join([f"{rows} {columns} {len(entries)}", *lines, ""])


def svmlight(entries: Entries, rows: int, first: int = 1) -> str:
    words = [[f"{row % 2 * 2 - 1}"] for row in range(rows)]
    for row, column, value in entries:
        words[row].append(f"{column + first}:{value!r}")
    return "\n".join(" ".join(line) for line in words) + "\n"


@pytest.fixture
def convert(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Convert:
    """convert(text, *options, status=, start_words=): runs matrix-convert on a file with that text; its result is
    matrix.csr."""

    def convert_it(text: str, *options: object, status: int = 0, start_words: Sequence[str] = ()) -> Finished:
        (tmp_path / "input").write_bytes(text.encode())
        words = [*start_words, program("matrix-convert"), *options, tmp_path / "input", tmp_path / "matrix.csr"]
        finished = run(*words, status=status)
        left = ["input"] if status else ["input", "matrix.csr"]
        assert sorted(path.name for path in tmp_path.iterdir()) == left, "something was left behind"
        return finished

    return convert_it


@pytest.fixture
def matrix(tmp_path: Path) -> Callable[[], Tuple[Matrix, int]]:
    """matrix(): the rows and the number of columns of what has been written."""
    return lambda: decode_matrix((tmp_path / "matrix.csr").read_bytes())


def test_matrix_market_gives_sorted_rows_with_sums(convert: Convert, matrix: Callable) -> None:
    entries = random_entries(20000, 700, 60000, seed=1)
    finished = convert(matrix_market(entries, 20000, 700))
    expected = rows_of(entries, 20000)
    assert matrix() == (expected, 700)
    assert f": 20000 rows, 700 columns, {sum(map(len, expected))} entries" in finished.stdout


def test_svmlight_gives_sorted_rows_with_sums(convert: Convert, matrix: Callable) -> None:
    entries = random_entries(9000, 50000, 30000, seed=2)
    convert(svmlight(entries, 9000))
    assert matrix() == (rows_of(entries, 9000), 50000)


@pytest.mark.parametrize("field", ["pattern", "real", "integer"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_kinds_of_matrix_market_are_read(convert: Convert, matrix: Callable, field: str, symmetry: str) -> None:
    columns = 310 if symmetry == "symmetric" else 170
    as_field = {"pattern": lambda value: 1, "real": lambda value: value, "integer": round}[field]
    entries = [(row, column, as_field(value)) for row, column, value in random_entries(310, columns, 2000, seed=3)]
    expected = entries
    if symmetry == "symmetric":
        entries = [(max(row, column), min(row, column), value) for row, column, value in entries]
        expected = entries + mirrored(entries)
    convert(matrix_market(entries, 310, columns, f"{field} {symmetry}"))
    assert matrix() == (rows_of(expected, 310), columns)


def test_order_of_lines_does_not_change_the_file(convert: Convert, tmp_path: Path) -> None:
    # Repeated places with values of very different sizes, whose sum in 64 bits depends on the order.
    choices = random.Random(4)
    entries = [(place % 50, place % 7, choices.gauss(0, 1) * 10 ** choices.uniform(-12, 12)) for place in range(20000)]
    files = []
    for _ in range(3):
        convert(matrix_market(entries, 50, 7))
        files.append((tmp_path / "matrix.csr").read_bytes())
        choices.shuffle(entries)
    assert files[0] == files[1] == files[2]


def test_more_than_a_bucket_is_put_together_in_order(
    run: Runner, program: Callable[[str], Path], tmp_path: Path
) -> None:
    # Buckets end at multiples of 256 rows, after 4 Mi entries and rows.
    length, rows = 500, 48 * 256 + 5
    texts = ["1 " + " ".join(f"{column + 1}:{value}" for column in range(length)) + "\n" for value in (1, 2, 3)]
    encoded = [b"".join(struct.pack("<If", column, value) for column in range(length)) for value in (1, 2, 3)]
    with (tmp_path / "input").open("w") as file:
        file.writelines(texts[row % 3] for row in range(rows))
    run(program("matrix-convert"), "--threads", 3, tmp_path / "input", tmp_path / "matrix.csr")
    (tmp_path / "input").unlink()
    content = (tmp_path / "matrix.csr").read_bytes()
    (tmp_path / "matrix.csr").unlink()
    expected = encode_rows([length] * rows, length, 4, b"".join(encoded[row % 3] for row in range(rows)))
    assert content == expected


def test_threads_do_not_change_the_file(convert: Convert, tmp_path: Path) -> None:
    # Entries and rows fill three buckets of 4 Mi.
    rows = 10000000
    text = matrix_market(random_entries(rows, 40, 20000, seed=8), rows, 40)
    digests = set()
    for threads in (1, 2, 5):
        convert(text, "--tf-idf", "--normalize", "--threads", threads)
        digests.add(sha256((tmp_path / "matrix.csr").read_bytes()).hexdigest())
    (tmp_path / "matrix.csr").unlink()
    assert len(digests) == 1


def many_empty_rows(path: Path) -> str:
    path.write_text(BANNER + "12000000 10 2\n1 1 1\n12000000 10 2\n")
    return "12000000 rows, 10 columns, 2 entries"


def long_rows(path: Path) -> str:
    with path.open("w") as file:
        file.writelines(["1 " + " ".join(f"{column + 1}:1" for column in range(2000)) + "\n"] * 4096)
    return "4096 rows, 2000 columns, 8192000 entries"


@pytest.mark.parametrize("write_input", [many_empty_rows, long_rows])
def test_memory_is_bounded(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, write_input: Callable[[Path], str]
) -> None:
    # A single bucket of all rows would take 160 MiB or more.
    expected = write_input(tmp_path / "input")
    finished = run(
        *little_memory(145 << 10), program("matrix-convert"), "-t", 1, tmp_path / "input", tmp_path / "m.csr"
    )
    assert expected in finished.stdout
    for path in tmp_path.iterdir():
        path.unlink()


def test_too_many_columns_for_tf_idf_are_named(convert: Convert) -> None:
    # 32 GiB of weights.
    finished = convert("1 4294967296:5\n", "--tf-idf", status=1, start_words=little_memory(1 << 20))
    assert "not enough memory for tf-idf, which needs 8 bytes for each of 4294967296 columns; use" in finished.stderr


def test_too_little_memory_for_a_bucket_is_named(convert: Convert) -> None:
    text = matrix_market([(11999999, 0, 1.0)], 12000000, 1)
    finished = convert(text, "--threads", 1, status=1, start_words=little_memory(50 << 10))
    assert "not enough memory for the buckets of rows; use fewer --threads" in finished.stderr


def test_parts_of_svmlight_that_carry_no_entries_are_ignored(convert: Convert, matrix: Callable) -> None:
    convert("# one\n\n+1 qid:7 3:0.5 1:-2e-1\r\n  \n-1 # 9:9\n0.5 2:1 qid:8 # 4:4\n \t# five\n7\t1:1\t 2:+2")
    expected = [[(0, rounded(-0.2)), (2, 0.5)], [], [(1, 1.0)], [(0, 1.0), (1, 2.0)]]
    assert matrix() == (expected, 3)


def test_svmlight_can_be_counted_from_zero(convert: Convert, matrix: Callable) -> None:
    entries = random_entries(50, 30, 200, seed=5)
    convert(svmlight(entries, 50, first=0), "--zero-based")
    assert matrix() == (rows_of(entries, 50), 30)


def test_columns_without_entries_can_be_added(convert: Convert, matrix: Callable) -> None:
    convert("1 2:5\n1\n", "--columns", 6)
    assert matrix() == ([[(1, 5.0)], []], 6)


def test_the_last_column_that_the_format_has_can_be_used(convert: Convert, matrix: Callable) -> None:
    convert("1 4294967296:5 1:2\n")
    assert matrix() == ([[(0, 2.0), (2**32 - 1, 5.0)]], 2**32)


@pytest.mark.parametrize("options", [[], ["--tf-idf", "--normalize"]])
def test_a_file_without_entries_is_a_matrix_without_rows(
    convert: Convert, matrix: Callable, options: List[str]
) -> None:
    convert("# nothing\n", *options)
    assert matrix() == ([], 0)


def test_zeros_are_kept_as_entries(convert: Convert, matrix: Callable) -> None:
    convert("1 1:0 2:1e-60 3:1e-400 4:3 4:-3\n")
    assert matrix() == ([[(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0)]], 4)


def test_a_row_longer_than_the_buffer_is_read(convert: Convert, matrix: Callable) -> None:
    entries = [(1, column, column / 7) for column in range(200000)]
    convert(svmlight(entries, 3), "--normalize")
    assert matrix() == (normalized(rows_of(entries, 3)), 200000)


def test_format_can_be_forced(convert: Convert) -> None:
    text = "%%MatrixMarket matrix coordinate real general\n1 1 0\n"
    assert "line 1: '%%MatrixMarket' is not a number" in convert(text, "--format", "svmlight", status=1).stderr
    assert "line 1: a Matrix Market file starts" in convert("1 1:1\n", "--format", "mtx", status=1).stderr


def test_normalized_rows_have_length_1(convert: Convert, matrix: Callable) -> None:
    entries = random_entries(5000, 300, 20000, seed=6)
    entries = [(row, column, value) for row, column, value in entries if row % 10] + [(10, 5, 0.0), (10, 7, 0.0)]
    convert(matrix_market(entries, 5000, 300), "--normalize")
    rows, _ = matrix()
    assert rows == normalized(rows_of(entries, 5000))
    assert rows[0] == [] and rows[10] == [(5, 0.0), (7, 0.0)]
    for row in rows:
        if any(value for _, value in row):
            assert math.fsum(value * value for _, value in row) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_lengths_of_very_small_and_large_rows_are_right(convert: Convert, matrix: Callable, scale: float) -> None:
    convert(f"1 1:{3 * scale!r} 2:{4 * scale!r}\n", "--normalize")
    [row], _ = matrix()
    assert [value for _, value in row] == pytest.approx([0.6, 0.8], rel=1e-6)


@pytest.mark.parametrize("is_normalized", [False, True])
def test_tf_idf_weighs_columns_by_the_rows_that_have_them(
    convert: Convert, matrix: Callable, is_normalized: bool
) -> None:
    # Column 3 is in all rows; repeated places count once; more rows than are read at once.
    entries = random_entries(20000, 200, 30000, seed=7) + [(row, 3, 2.0) for row in range(20000)]
    convert(matrix_market(entries, 20000, 200), "--tf-idf", *(["--normalize"] if is_normalized else []))
    expected = with_inverse_frequencies(rows_of(entries, 20000))
    if is_normalized:
        expected = normalized(expected)
    rows, _ = matrix()
    assert [[column for column, _ in row] for row in rows] == [[column for column, _ in row] for row in expected]
    for row, expected_row in zip(rows, expected):
        assert [value for _, value in row] == pytest.approx([value for _, value in expected_row], rel=1e-6, abs=1e-30)
    assert all(value == 0 for row in rows for column, value in row if column == 3)


@pytest.mark.parametrize(
    "text, line, cause",
    [
        (BANNER + "3 2 2\n1 2 1\n0 1 1\n", 4, "row '0' is out of range: rows are 1 to 3"),
        (BANNER + "3 2 1\n4 1 1\n", 3, "row '4' is out of range: rows are 1 to 3"),
        (BANNER + "3 2 1\n1 3 1\n", 3, "column '3' is out of range: columns are 1 to 2"),
        (BANNER + "0 2 1\n1 1 1\n", 3, "row '1' is out of range: there are no rows"),
        (BANNER + "3 2 1\n-1 2 1\n", 3, "negative row '-1'"),
        (BANNER + "3 2 1\n1 x 1\n", 3, "'x' is not a column"),
        (BANNER + "3 2 1\n1\n", 3, "a row and a column are needed"),
        (BANNER + "3 2 1\n1 2\n", 3, "'' is not a number"),
        (BANNER + "3 2 1\n1 2 heavy\n", 3, "'heavy' is not a number"),
        (BANNER + "3 2 1\n1 2 3 4\n", 3, "unexpected '4'"),
        (BANNER + "3 2 1\n1 2 nan\n", 3, "the value 'nan' is not finite"),
        (BANNER + "3 2 1\n1 2 -inf\n", 3, "the value '-inf' is not finite"),
        (BANNER + "3 2 1\n1 2 1e39\n", 3, "the value '1e39' is not finite, or too large for 32 bits"),
        (BANNER + "3 2 1\n1 2 -1e400\n", 3, "the value '-1e400' is not finite, or too large for 32 bits"),
        (BANNER + "3 2 2\n1 2 1\n", 3, "ends after 1 of its 2 entries"),
        (BANNER + "3 2 1\n1 2 1\n2 1 1\n", 4, "more than its 1 entries"),
        (BANNER + "3 2\n", 2, "line of sizes"),
        (BANNER + "3 4294967297 1\n", 2, "line of sizes"),
        (BANNER + "% only\n", 2, "before its line of sizes"),
        (BANNER.replace("general", "symmetric") + "3 2 1\n", 2, "a symmetric matrix is square"),
        (BANNER.replace("general", "skew-symmetric") + "3 3 1\n", 1, "skew-symmetric"),
        (BANNER.replace("real", "complex"), 1, "complex"),
        (BANNER.replace("coordinate", "array"), 1, "array"),
        ("1 1:1\n1 0:1\n", 2, "column '0' is out of range: columns are counted from 1, or from 0 with --zero-based"),
        ("1 4294967297:1\n", 1, "out of range: columns are 1 to 4294967296"),
        ("1 99999999999999999999:1\n", 1, "out of range"),
        ("1 -3:1\n", 1, "negative column '-3'"),
        ("1 x:1\n", 1, "'x' is not a column"),
        ("1 :1\n", 1, "an index is needed before the ':'"),
        ("1 3\n", 1, "'3' is not of the form index:value"),
        ("1 3:\n", 1, "'' is not a number"),
        ("1 3:x\n", 1, "'x' is not a number"),
        ("1 3:+-5\n", 1, "'+-5' is not a number"),
        ("1 3:-+5\n", 1, "'-+5' is not a number"),
        ("1 3:++5\n", 1, "'++5' is not a number"),
        ("1 3:+\n", 1, "'+' is not a number"),
        ("1 3:4:5\n", 1, "'4:5' is not a number"),
        ("1 1:2\n# c\n\n1 3:nan\n", 4, "the value 'nan' is not finite"),
        ("1 3:inf\n", 1, "the value 'inf' is not finite"),
        ("1 3:1e99\n", 1, "the value '1e99' is not finite, or too large for 32 bits"),
        ("3:1\n", 1, "a line starts with a label, not with '3:1'"),
        ("spam 3:1\n", 1, "'spam' is not a number"),
    ],
)
def test_wrong_input_is_named_by_line_and_cause(
    convert: Convert, tmp_path: Path, text: str, line: int, cause: str
) -> None:
    finished = convert(text, status=1)
    assert finished.stderr.startswith(f"matrix-convert: {tmp_path / 'input'}, line {line}: ")
    assert cause in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_line_of_more_than_64_MiB_is_refused(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    with (tmp_path / "input").open("wb") as file:
        file.truncate((64 << 20) + 1)
    finished = run(program("matrix-convert"), tmp_path / "input", tmp_path / "matrix.csr", status=1)
    assert (
        "line 1: the line is longer than 67108864 bytes: rows that long can be read from Matrix Market"
        in finished.stderr
    )


def test_column_beyond_the_given_number_is_named(convert: Convert) -> None:
    finished = convert("1 5:1\n1 6:1\n", "--columns", 5, status=1)
    assert "line 2: column '6' is out of range: columns are 1 to 5" in finished.stderr


def test_sum_that_is_too_large_is_named(convert: Convert) -> None:
    finished = convert("1\n1 3:1\n1 2:3e38 2:3e38\n", status=1)
    assert (
        "matrix.csr: the sum of the values of row 3, column 2 (both counted from 1) is too large for 32 bits; scale"
        in finished.stderr
    )


def test_weighted_value_that_is_too_large_is_named(convert: Convert) -> None:
    finished = convert("1 2:3e38\n" + "1\n" * 9, "--tf-idf", status=1)
    assert "matrix.csr: the weighted value of row 1, column 2 (both counted from 1) is too large" in finished.stderr


@pytest.mark.parametrize(
    "options", [["--format", "xml"], ["--columns", "0"], ["--columns", "4294967297"], ["--threads", "0"], ["--nothing"]]
)
def test_wrong_command_line_is_named(convert: Convert, options: List[str]) -> None:
    assert options[0] in convert("1 1:1\n", *options, status=2).stderr


@pytest.mark.parametrize("options", [["--columns", "3"], ["--zero-based"]])
def test_options_of_svmlight_are_refused_for_matrix_market(convert: Convert, options: List[str]) -> None:
    assert f"option {options[0]} is for SVMlight" in convert(BANNER + "1 1 0\n", *options, status=2).stderr


def test_missing_input_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(program("matrix-convert"), tmp_path / "none", tmp_path / "matrix.csr", status=1)
    assert f"cannot open {tmp_path / 'none'}: No such file" in finished.stderr


def test_output_that_cannot_be_written_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "input").write_text("1 1:1\n")
    finished = run(program("matrix-convert"), tmp_path / "input", tmp_path / "no" / "matrix.csr", status=1)
    assert str(tmp_path / "no") in finished.stderr


def test_output_that_is_a_folder_is_named_and_nothing_is_left(
    run: Runner, program: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("1 1:1\n")
    (tmp_path / "matrix.csr").mkdir()
    finished = run(program("matrix-convert"), tmp_path / "input", tmp_path / "matrix.csr", status=1)
    assert f"cannot write {tmp_path / 'matrix.csr'}: it is there and no file; name another" in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input", "matrix.csr"]


@pytest.mark.parametrize(
    "entries, rows, cause",
    [
        pytest.param(
            [(row, column, 1.0) for row in range(200) for column in range(200)], 200, "scratch file", id="scratch"
        ),
        pytest.param([(0, 0, 1.0)], 20000, "matrix.csr.partial: ", id="offsets"),
    ],
)
def test_full_disk_is_named_and_leaves_nothing(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, entries: Entries, rows: int, cause: str
) -> None:
    (tmp_path / "input").write_text(svmlight(entries, rows))
    finished = run(*little_disk(64), program("matrix-convert"), tmp_path / "input", tmp_path / "matrix.csr", status=1)
    assert f"cannot write {tmp_path}" in finished.stderr and cause in finished.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["input"]
