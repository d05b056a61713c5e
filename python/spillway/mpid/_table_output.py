"""Tables as output of key-value jobs: CSV and Parquet files by way of pyarrow."""

import os
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Iterator, List, Optional, Type

import pyarrow
from pyarrow import csv, fs, parquet

from ._compressed import CompressedStream, part_suffix
from ._file_systems import Path, errors_named, is_free, is_s3, local_path, placed, shown
from ._output_places import check_parts, is_part, require_regular
from ._parts import begin_partial, end_partial, publish_table, refuse_other_parts
from ._text import _sync_folder, failed_before

_GATHERED_ROWS = 65536
_S3_COPY_BYTES = 5 << 30  # of an object that S3 copies, as it is renamed
_CODECS = {"": None, ".gz": "gzip", ".zst": "zstd"}
_TYPES = {str: "large_string", bytes: "large_binary", int: "int64", float: "float64"}


def _schema(columns: Any) -> Any:
    """Of a schema of pyarrow's, or pairs of names and types of pyarrow's or Python's."""
    if isinstance(columns, pyarrow.Schema):
        return columns
    pairs = columns.items() if isinstance(columns, dict) else columns
    return pyarrow.schema([(name, _TYPES.get(kind, kind)) for name, kind in pairs])


class TablePart:
    """For `with`: the output of a task, part-00000.parquet or part-00000.csv and so on.

    In a directory that is made if it is not there, or one of another file system, as TableSplits has them. The file has
    its name when all of the job has ended well; without a job, or with checkpoints on a file system that is not local,
    at the end of the block. After an exception nothing is under it. The directory may have no parts that would stay
    beside those of the job. MPI_D_OUTPUT_CODEC is the codec within Parquet files (snappy without), and of CSV files as
    a whole: part-00000.csv.gz or part-00000.csv.zst. When a write has failed, the end of the block fails, too.
    """

    def __init__(
        self, directory: Path, task: int, columns: Any, format: str = "parquet", filesystem: Any = None
    ) -> None:
        if format not in ("csv", "parquet"):
            raise ValueError(f"format={format!r}: say 'csv' or 'parquet'")
        self.schema = _schema(columns)
        self._format, self._codec = format, _CODECS[part_suffix()]
        name = f"part-{task:05d}.{format}{part_suffix() if format == 'csv' else ''}"
        self.path = os.path.join(shown(directory), name)
        with errors_named(self.path, what="write"):
            self._file_system, self._directory = placed(directory, filesystem)
            self._file_system.create_dir(self._directory)
            inside = self._file_system.get_file_info(fs.FileSelector(self._directory, allow_not_found=True))
        refuse_other_parts(self.path, shown(directory), [os.path.basename(one.path) for one in inside])
        self._place = os.path.join(self._directory, name)
        local = local_path(self._file_system, self._place + ".partial")
        self._partial = (self._file_system, self._place + ".partial") if local is None else (None, local)
        with errors_named(self.path, what="write"):
            if local is None:
                _require_file(self._file_system, self._place)
            else:
                require_regular(self.path, local[: -len(".partial")])
                require_regular(self.path, local)
        self._rows: List[tuple] = []
        self._is_open = False

    @staticmethod
    def check(directory: Path, filesystem: Any = None) -> None:
        """Before a job works for them: raises an OSError where parts cannot be written there. A directory that is not
        there is made where that is the way to know: not on a local file system."""
        first = os.path.join(shown(directory), "part-00000")
        with errors_named(first, what="write"):
            file_system, place = placed(directory, filesystem)
            local = local_path(file_system, place)
            if local is not None:
                check_parts(local, first, makes_parents=True)
                return
            file_system.create_dir(place)
            for one in file_system.get_file_info(fs.FileSelector(place)):
                if is_part(one.base_name):
                    _require_file(file_system, one.path)

    def __enter__(self) -> "TablePart":
        self._stream: Any = None
        self._compressed: Optional[CompressedStream] = None
        self._writer: Any = None
        self._failure: Optional[BaseException] = None
        try:
            with errors_named(self.path, what="write"):
                begin_partial(*self._partial)
                self._open()
        except BaseException:
            self._give_up()
            raise
        self._is_open = True
        return self

    def _open(self) -> None:
        self._stream = self._file_system.open_output_stream(self._place + ".partial", compression=None)
        if self._format == "parquet":
            self._writer = parquet.ParquetWriter(self._stream, self.schema, compression=self._codec or "snappy")
            return
        if self._codec is not None:
            self._compressed = CompressedStream(self.path, self._stream)
        self._writer = csv.CSVWriter(self._compressed or self._stream, self.schema)

    def write(self, rows: Any) -> None:
        """A record batch or table of pyarrow, or a dict of names and arrays or lists, with the part's columns."""
        self._refuse_if_over()
        with self._kept_failure():
            self._write_gathered()
            self._write_now(rows)

    def _write_now(self, rows: Any) -> None:
        with errors_named(self.path, what="write"):
            table = pyarrow.table(rows, schema=self.schema) if isinstance(rows, dict) else rows
            if isinstance(table, pyarrow.RecordBatch):
                table = pyarrow.Table.from_batches([table])
            if self._format == "csv" and len(self.schema) == 1 and table.column(0).null_count != 0:
                raise ValueError("a null in the only column of a CSV file would be an empty line, which is no row")
            self._writer.write_table(table.cast(self.schema))
            if is_s3(self._file_system) and self._stream.tell() > _S3_COPY_BYTES:
                raise ValueError(
                    f"S3 does not rename what has more than {_S3_COPY_BYTES} bytes\n"
                    "  Remedy: divide the output among more A tasks (mpidrun -A, a_tasks= of Init())."
                )

    def write_row(self, *values: Any) -> None:
        """One value for each column. Rows are gathered, so that what is wrong with one may be said later."""
        if len(values) != len(self.schema):
            raise ValueError(f"{self.path} has {len(self.schema)} columns, and the row {len(values)} values")
        self._refuse_if_over()
        self._rows.append(values)
        if len(self._rows) == _GATHERED_ROWS:
            with self._kept_failure():
                self._write_gathered()

    @contextmanager
    def _kept_failure(self) -> Iterator[None]:
        """What has not been written is missing in the file, whatever comes later."""
        try:
            yield
        except BaseException as error:
            self._failure = error
            raise

    def _refuse_if_over(self) -> None:
        if not self._is_open:
            raise ValueError(f"cannot write {self.path}: it is open only in the `with` block")

    def _write_gathered(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._write_now(dict(zip(self.schema.names, map(list, zip(*rows)))))

    def __exit__(
        self, kind: Optional[Type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None:
        self._is_open = False
        if kind is not None:
            self._give_up()
            return
        try:
            if self._failure is not None:
                raise failed_before(self.path, self._failure)
            self._write_gathered()
            with errors_named(self.path, what="write"):
                self._finish()
        except BaseException:
            self._give_up()
            raise

    def _finish(self) -> None:
        self._writer.close()
        if self._compressed is not None:
            self._compressed.finish()
            self._compressed.close()
        self._stream.close()
        place = local_path(self._file_system, self._place)
        if place is not None and "MPI_D_CHECKPOINT" in os.environ:
            _sync_file(place + ".partial")  # before the task counts as ended
        publish_table(self.path, self._file_system, self._place + ".partial", self._place)
        end_partial(*self._partial)
        if place is not None:
            _sync_folder(os.path.dirname(place) or ".")

    def _give_up(self) -> None:
        """Whatever is wrong with the file has been said, or does not count."""
        self._rows = []
        for opened in (self._writer, self._compressed, self._stream):
            with suppress(Exception):
                if opened is not None:
                    opened.close()
        with suppress(Exception):
            self._file_system.delete_file(self._place + ".partial")
        end_partial(*self._partial)


def _require_file(file_system: Any, place: str) -> None:
    if not is_free(file_system, place):
        raise FileExistsError(f"{place} is there, and is no file\n  Remedy: name another directory, or remove it.")


def _sync_file(path: str) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
