"""Tables as input of key-value jobs: CSV and Parquet files by way of pyarrow, divided among tasks."""

import os
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import pyarrow

from . import _csv, _parquet, _place
from ._file_systems import File, Path, files_of
from ._input_files import conf_of, host_and_path, refuse_one_path, refuse_other_host
from ._plans import planned
from ._schemas import Source, common_schema, refuse_other_schema

_SPLIT_BYTES = 32 << 20
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".csv.gz": "csv", ".csv.zst": "csv"}
SeenSplit = Union[_csv.CsvSplit, _parquet.ParquetSplit]


@dataclass(frozen=True)
class HostSplit:
    """A file that only one host has, which nobody looks at before it is read there."""

    host: str
    own_path: str
    parts_of: Callable[[File], List[SeenSplit]] = field(repr=False, compare=False)

    @property
    def path(self) -> str:
        return f"{self.host}:{self.own_path}"

    def place(self) -> Tuple[object, ...]:
        return (self.path,)

    def shown_place(self) -> str:
        return ""

    def batches(self) -> Iterator[Any]:
        refuse_other_host(self.host, self.path)
        if os.path.isdir(self.own_path):
            raise ValueError(f"cannot read {self.path}: it is a directory\n  Remedy: name its files.")
        for file in files_of(self.own_path, None):
            for part in self.parts_of(replace(file, name=self.path)):
                yield from part.batches()


TableSplit = Union[SeenSplit, HostSplit]


class TableSplits(Sequence[TableSplit]):
    """CSV and Parquet files in parts, the same wherever it is computed. All of them have the same columns.

    Paths may be directories or patterns, and URIs of any file system that pyarrow.fs knows, or paths in `filesystem`.
    `host:/path` is a file of that host's own, and one part; its columns are those that others have, or that are said.
    `types` says of CSV columns what is not to be guessed, `names` what they are called where no first line says it.
    Values of CSV files that are empty and not quoted are null; `convert_options` of pyarrow's may say otherwise.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        columns: Optional[Sequence[str]] = None,
        *,
        format: Optional[str] = None,
        filesystem: Any = None,
        split_bytes: int = _SPLIT_BYTES,
        types: Optional[Mapping[str, Any]] = None,
        names: Optional[Sequence[str]] = None,
        parse_options: Any = None,
        convert_options: Any = None,
    ) -> None:
        if split_bytes < 1:
            raise ValueError("parts of files need at least one byte")
        refuse_one_path(paths)
        _refuse_names("columns", columns)
        _refuse_names("names", names)
        if format not in (None, *_FORMATS.values()):
            raise ValueError(f"format={format!r}: say 'csv' or 'parquet'")
        self._csv = _csv.format_of(parse_options, convert_options, names)
        self._format = format
        found = [one for path in paths for one in self._found(path, filesystem)]
        sources = [one for one in found if isinstance(one, Source)]
        wanted = list(columns) if columns is not None else (sources[0].columns.names if sources else [])
        unseen = next((one for one in found if isinstance(one, HostSplit)), None)
        if unseen is not None and not sources and (columns is None or not set(wanted) <= set(types or {})):
            raise ValueError(
                f"cannot look for columns in {unseen.path}, which only that host has\n  Remedy: say columns=[...] and "
                "types={...} of each of them, or name a file, too, that all processes see."
            )
        self.schema = common_schema(sources, wanted, types or {}, columns is None)
        self._splits: List[TableSplit] = []
        for one in found:
            self._splits += [one] if isinstance(one, HostSplit) else self._parts(one, split_bytes)
        planned([self.schema.to_string(), *(split.place() for split in self._splits)])

    def _found(self, path: Path, filesystem: Any) -> List[Union[Source, HostSplit]]:
        host, own_path = host_and_path(os.fspath(path)) if filesystem is None else ("", "")
        if host:
            return [HostSplit(host, own_path, self._parts_on_host)]
        return [source for file in files_of(path, filesystem) for source in self._sources(file)]

    def _sources(self, file: File) -> List[Source]:
        """None of a file that has not even columns."""
        if (self._format or _format_of(file)) == "parquet":
            return [Source(file, _parquet.schema_of(file), None)]
        plan = _csv.plan_of(file, self._csv)
        return [Source(file, plan.schema, plan)] if plan is not None else []

    def _parts(self, source: Source, split_bytes: int) -> List[SeenSplit]:
        if source.csv_plan is None:
            return list(_parquet.splits_of(source.file, split_bytes, self.schema))
        return list(_csv.splits_of(source.file, self._csv, split_bytes, source.csv_plan, self.schema))

    def _parts_on_host(self, file: File) -> List[SeenSplit]:
        """All of it."""
        sources = self._sources(file)
        for source in sources:
            refuse_other_schema(source, self.schema)
        return [part for source in sources for part in self._parts(source, sys.maxsize)]

    def __len__(self) -> int:
        return len(self._splits)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._splits[number]

    @property
    def conf(self) -> Dict[str, str]:
        """What Init() is to know of a job with this input: an O task for each part, and where it may run."""
        return conf_of([split.host for split in self._splits])

    def of_task(self, task: int, tasks: int) -> List[TableSplit]:
        return self._splits[task::tasks]

    def batches(self, task: int, tasks: int) -> Iterator[Any]:
        """Of the splits of a task: pyarrow's record batches, none of which is empty."""
        for split, first, batch in self._numbered(task, tasks):
            _place.note("input", partial(_place_of_rows, split, first, batch.num_rows))
            yield batch
            _place.forget("input")

    def rows(self, task: int, tasks: int) -> Iterator[Tuple[Any, ...]]:
        """The same row by row, as tuples of Python objects; what is null is None."""
        for split, first, batch in self._numbered(task, tasks):
            columns = [column.to_pylist() for column in batch.columns]
            rest, *others = map(iter, columns)
            _place.note("input", partial(_place_of_row, split, first, columns[0], rest))
            yield from zip(rest, *others)
            _place.forget("input")

    def _numbered(self, task: int, tasks: int) -> Iterator[Tuple[TableSplit, int, Any]]:
        """Batches that are not empty, with their part and the number of their first row in it."""
        for split in self.of_task(task, tasks):
            first = 1
            for batch in split.batches():
                if batch.num_rows != 0:
                    yield split, first, batch
                first += batch.num_rows

    def kinds(self) -> Tuple[type, ...]:
        """Of each column the type of keys and values that it can be sent as: str, bytes, int or float."""
        return tuple(_kind_of(field) for field in self.schema)


def _place_of_rows(split: TableSplit, first: int, count: int) -> str:
    return f"{split.path}{split.shown_place()}, rows {first} to {first + count - 1}"


def _place_of_row(split: TableSplit, first: int, items: List[Any], rest: Iterator[Any]) -> str:
    return f"{split.path}{split.shown_place()}, row {first + _place.taken(items, rest) - 1}"


def _format_of(file: File) -> str:
    for suffix, form in _FORMATS.items():
        if file.path.endswith(suffix):
            return form
    raise ValueError(f"{file.name}: its name does not say its format\n  Remedy: say format='csv' or format='parquet'.")


def _kind_of(field: Any) -> type:
    types = pyarrow.types
    if types.is_integer(field.type) and field.type != "uint64":
        return int
    if types.is_floating(field.type):
        return float
    if types.is_string(field.type) or types.is_large_string(field.type):
        return str
    if types.is_binary(field.type) or types.is_large_binary(field.type):
        return bytes
    raise TypeError(
        f"the column {field.name!r} is of type {field.type}, and keys and values are str, bytes, int or float\n"
        "  Remedy: cast its arrays before they are sent, or name another type for a CSV column: types={...}."
    )


def _refuse_names(what: str, names: Optional[Sequence[str]]) -> None:
    if names is None:
        return
    if isinstance(names, str) or len(names) == 0:
        raise ValueError(f"{what}={names!r}: say a list with the name of at least one column")
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f"{what}={list(names)!r} has {name!r} more than once")
