"""CSV files as tables: divided among tasks by lines, or one task's each."""

import re
import sys
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Pattern, Tuple

import pyarrow
from pyarrow import csv

from ._compressed import MARK_BYTES, codec_of
from ._file_systems import File, errors_named

_BLOCK_BYTES = 4 << 20
_PIECE_BYTES = 64 << 10
_GUESS_BYTES = 1 << 20  # types are guessed from so many
_LONGEST_ROW_BYTES = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNKNOWN_END = sys.maxsize  # of the contents of a compressed file
_NEWLINES_REMEDY = (
    "  Remedy: if it goes on in the next line, say parse_options=pyarrow.csv.ParseOptions("
    "newlines_in_values=True), and each file is one part."
)


def _copied(options: Any, **changes: Any) -> Any:
    """pyarrow's options with some others, whatever options its version knows."""
    names = [name for name in dir(options) if name[0] != "_" and not callable(getattr(type(options), name))]
    return type(options)(**{**{name: getattr(options, name) for name in names}, **changes})


@dataclass(frozen=True)
class CsvFormat:
    """How CSV files are written: pyarrow's options, and the names of columns where no first line has them."""

    parse_options: Any
    convert_options: Any
    names: Optional[List[str]]

    @property
    def has_newlines_in_values(self) -> bool:
        return bool(self.parse_options.newlines_in_values)

    def is_blank(self, block: bytes) -> bool:
        """Whether it has only lines that are no rows."""
        return bool(self.parse_options.ignore_empty_lines) and not block.strip(b"\r\n")

    def table(self, block: bytes, names: Optional[List[str]], convert_options: Any) -> Any:
        """Of whole lines. A mark at their beginning is not the file's: pyarrow is given one that it may leave out."""
        lines = _BYTE_ORDER_MARK + block if block.startswith(_BYTE_ORDER_MARK) else block
        read_options = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(lines) + 1)
        return csv.read_csv(pyarrow.BufferReader(lines), read_options, self.parse_options, convert_options)

    def finished_line(self) -> Pattern[bytes]:
        """A line that ends where its last value ends: it has the end of each quoted value, and nothing is escaped."""
        options = self.parse_options
        delimiter, quote, escape = (
            re.escape(mark.encode()) if mark else b""
            for mark in (options.delimiter, options.quote_char, options.escape_char)
        )
        escaped = b"|" + escape + b"." if escape else b""
        value = b"(?:[^" + delimiter + escape + b"]" + escaped + b")*"
        if quote:
            doubled = b"|" + 2 * quote if options.double_quote else b""
            inside = b"(?:[^" + quote + escape + b"]" + doubled + escaped + b")*"
            behind = b"(?!" + quote + b")" if options.double_quote else b""
            value = b"(?:" + quote + inside + quote + behind + value + b"|(?!" + quote + b")" + value + b")"
        return re.compile(b"(?:" + value + delimiter + b")*" + value + rb"\Z", re.DOTALL)

    def joins_lines(self, block: bytes) -> bool:
        """Whether it has what could make one row of two lines."""
        marks = (self.parse_options.quote_char, self.parse_options.escape_char)
        return any(mark and mark.encode() in block for mark in marks)

    def refuse_unfinished(self, position: int, block: bytes) -> None:
        finished = self.finished_line()
        for line in block.splitlines(keepends=True):
            if not finished.match(line.rstrip(b"\r\n")):
                raise ValueError(
                    f"in the line at byte {position} a quoted value begins and does not end\n{_NEWLINES_REMEDY}"
                )
            position += len(line)

    def checked_table(self, position: int, block: bytes, names: Optional[List[str]], convert_options: Any) -> Any:
        """The same, of which each row is a line. Which it is not where it goes on in the next one."""
        rows = None
        try:
            with errors_named("", f"the lines from byte {position} on (rows are counted from there)", "use"):
                rows = self.table(block, names, convert_options)
        finally:  # the place of such a line says more than what pyarrow makes of it
            if self.joins_lines(block) and not self.has_a_row_of_each_line(block, rows):
                self.refuse_unfinished(position, block)
        return rows

    def has_a_row_of_each_line(self, block: bytes, rows: Any) -> bool:
        escape = (self.parse_options.escape_char or "").encode()
        if escape and re.search(re.escape(escape) + b"[\r\n]", block):  # and an empty line may end the row
            return False
        lines = block.splitlines()
        if self.parse_options.ignore_empty_lines:
            lines = [line for line in lines if line]
        is_alike = rows is not None and rows.num_rows == len(lines)
        return is_alike and self.finished_line().match(lines[-1]) is not None


def format_of(parse_options: Any, convert_options: Any, names: Any) -> CsvFormat:
    """By default what is empty and not quoted is null, in columns of text, too, and nothing else is."""
    convert_options = convert_options or csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    if convert_options.column_types or convert_options.include_columns:
        raise ValueError("convert_options names columns\n  Remedy: name them with columns= and types=.")
    return CsvFormat(parse_options or csv.ParseOptions(), convert_options, list(names) if names else None)


@dataclass(frozen=True)
class CsvPlan:
    """What the beginning of a file says. Places are in its contents."""

    compression: Optional[str]
    schema: Any  # of all columns
    begin: int  # of the rows

    @property
    def names(self) -> List[str]:
        return list(self.schema.names)


def _contents(file: File, compression: Optional[str]) -> Any:
    """A stream, from the beginning."""
    stream = file.file_system.open_input_stream(file.path, compression=None)
    return pyarrow.CompressedInputStream(stream, compression) if compression else stream


def plan_of(file: File, form: CsvFormat) -> Optional[CsvPlan]:
    """None: it has not even names of columns. Types are guessed from the first rows."""
    with errors_named(file.name):
        with file.opened() as opened:
            compression = codec_of(file.path, opened.read(MARK_BYTES))
        with _contents(file, compression) as stream:
            blocks = _first_blocks(stream, form)
            begin, block = next(blocks, (0, b""))
            if not block:
                return None
            if form.has_newlines_in_values:
                return CsvPlan(compression, _guessed_as_whole(file, form, compression), 0)
            names = form.names
            if names is None:
                header = block[: _end_of_line(block)]
                form.refuse_unfinished(begin, header)
                names = form.table(header.rstrip(b"\r\n") + b"\n", None, csv.ConvertOptions()).schema.names
                begin, block = begin + len(header), block[len(header) :]
            position = begin
            if not block or form.is_blank(block):
                position, block = next(blocks, (0, b""))
        if not block:
            return CsvPlan(compression, pyarrow.schema([(name, pyarrow.null()) for name in names]), begin)
        return CsvPlan(compression, form.checked_table(position, block, names, form.convert_options).schema, begin)


def _first_blocks(stream: Any, form: CsvFormat) -> Iterator[Tuple[int, bytes]]:
    """Without the mark of the file, and without the lines before the first one that is a row."""
    for position, block in _line_blocks(stream, 0, _UNKNOWN_END, _GUESS_BYTES):
        lines = block[len(_BYTE_ORDER_MARK) :] if position == 0 and block.startswith(_BYTE_ORDER_MARK) else block
        if form.parse_options.ignore_empty_lines:
            lines = lines.lstrip(b"\r\n")
        if lines:
            yield position + len(block) - len(lines), lines


def _guessed_as_whole(file: File, form: CsvFormat, compression: Optional[str]) -> Any:
    read_options = csv.ReadOptions(column_names=form.names, use_threads=False, block_size=_GUESS_BYTES)
    with _contents(file, compression) as stream:
        schema = csv.open_csv(stream, read_options, form.parse_options, form.convert_options).schema
    return pyarrow.schema(list(zip(schema.names, schema.types)))  # whose names can be decoded


def _end_of_line(block: bytes) -> int:
    """Of the first one, its line end included."""
    end = re.search(rb"\r\n|\r|\n", block)
    return end.end() if end else len(block)


@dataclass(frozen=True)
class CsvSplit:
    """Part of a file: the rows of the lines whose first byte is in it."""

    host = ""  # all processes see the file
    file: File
    begin: int
    end: int
    form: CsvFormat
    plan: CsvPlan
    schema: Any  # of the columns that are wanted

    @property
    def path(self) -> str:
        return self.file.name

    def place(self) -> Tuple[object, ...]:
        return self.path, self.begin, self.end, self.file.size

    def shown_place(self) -> str:
        """Where rows are counted from."""
        return "" if self.begin in (0, self.plan.begin) else f", part from byte {self.begin} on"

    def batches(self) -> Iterator[Any]:
        self.file.refuse_change()
        yield from self._of_file() if self.form.has_newlines_in_values else self._of_lines()
        self.file.refuse_change()

    def _convert_options(self) -> Any:
        types = {field.name: field.type for field in self.schema}
        return _copied(self.form.convert_options, column_types=types, include_columns=self.schema.names)

    def _of_file(self) -> Iterator[Any]:
        read_options = csv.ReadOptions(column_names=self.form.names, use_threads=False, block_size=_LONGEST_ROW_BYTES)
        with errors_named(self.path), _contents(self.file, self.plan.compression) as stream:
            yield from csv.open_csv(stream, read_options, self.form.parse_options, self._convert_options())

    def _of_lines(self) -> Iterator[Any]:
        convert_options, names = self._convert_options(), self.plan.names
        with errors_named(self.path):
            for position, block in self._blocks():
                if self.form.is_blank(block):
                    continue
                yield from self.form.checked_table(position, block, names, convert_options).to_batches()

    def _blocks(self) -> Iterator[Tuple[int, bytes]]:
        """Whole lines, some at a time, and where they begin."""
        if self.plan.compression is None:
            with self.file.opened() as opened:
                yield from _line_blocks(opened, self._first_line(opened), self.end)
            return
        with _contents(self.file, self.plan.compression) as stream:
            _skip(stream, self.plan.begin)
            yield from _line_blocks(stream, self.plan.begin, _UNKNOWN_END)

    def _first_line(self, opened: Any) -> int:
        """Where the first line of the part begins, and the file is read from."""
        first = self.begin
        if first != self.plan.begin:  # one byte early, to see whether a line begins with the part
            opened.seek(first - 1)
            first += len(_rest_of_line(opened, first - 1, b"")) - 1
        opened.seek(first)
        return first


def _read(stream: Any, size: int) -> bytes:
    """Fewer bytes only at the end."""
    read = stream.read(size)
    while len(read) < size:
        more = stream.read(size - len(read))
        if not more:
            break
        read += more
    return bytes(read)


def _skip(stream: Any, size: int) -> None:
    while size > 0:
        skipped = len(stream.read(min(size, _BLOCK_BYTES)))
        size = size - skipped if skipped else 0


def _line_blocks(stream: Any, position: int, end: int, block_bytes: int = _BLOCK_BYTES) -> Iterator[Tuple[int, bytes]]:
    """Whole lines, some at a time, and where they begin: of a stream that is there."""
    read, rest = position, b""
    while read < end:
        piece = _read(stream, min(block_bytes, end - read))
        if not piece and end != _UNKNOWN_END:
            raise ValueError(f"it has become shorter than {end} bytes")
        if not piece:
            break
        read += len(piece)
        whole = piece.rfind(b"\n") + 1
        if whole == 0:
            rest += piece
            _refuse_long(position, len(rest))
            continue
        block, rest = rest + piece[:whole], piece[whole:]
        yield position, block
        position += len(block)
    if rest:
        yield position, _rest_of_line(stream, position, rest)


def _rest_of_line(stream: Any, position: int, begun: bytes) -> bytes:
    """With what of it has been read."""
    pieces, size = [begun], len(begun)
    while True:
        piece = stream.read(_PIECE_BYTES)
        newline = piece.find(b"\n")
        pieces.append(piece[: newline + 1] if newline >= 0 else piece)
        if newline >= 0 or not piece:
            return b"".join(pieces)
        size += len(piece)
        _refuse_long(position, size)


def _refuse_long(position: int, size: int) -> None:
    if size > _LONGEST_ROW_BYTES:
        raise ValueError(
            f"the line at byte {position} has more than {_LONGEST_ROW_BYTES >> 20} MiB\n  Remedy: end lines with "
            "newlines. If carriage returns alone end them, say parse_options=pyarrow.csv.ParseOptions("
            "newlines_in_values=True), and each file is one part."
        )


def splits_of(file: File, form: CsvFormat, split_bytes: int, plan: CsvPlan, schema: Any) -> List[CsvSplit]:
    if form.has_newlines_in_values or plan.compression is not None:
        return [CsvSplit(file, 0, file.size, form, plan, schema)]
    size = file.size - plan.begin
    count = -(-size // split_bytes)
    places = [plan.begin + size * number // count for number in range(count + 1)] if count else []
    return [CsvSplit(file, begin, end, form, plan, schema) for begin, end in zip(places, places[1:])]
