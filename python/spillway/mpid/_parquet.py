"""Parquet files as tables: divided among tasks by row groups."""

from dataclasses import dataclass
from typing import Any, Iterator, List, Tuple

import pyarrow
from pyarrow import parquet

from ._file_systems import File, errors_named

_BATCH_ROWS = 65536


@dataclass(frozen=True)
class ParquetSplit:
    """Some row groups of a file, one after the other."""

    host = ""  # all processes see the file
    file: File
    row_groups: Tuple[int, ...]
    schema: Any  # of the columns that are wanted

    @property
    def path(self) -> str:
        return self.file.name

    def place(self) -> Tuple[object, ...]:
        return self.path, self.row_groups, self.file.size

    def shown_place(self) -> str:
        """Where rows are counted from."""
        return f", row groups {self.row_groups[0]} to {self.row_groups[-1]}"

    def batches(self) -> Iterator[Any]:
        self.file.refuse_change()
        with errors_named(self.path, self.shown_place()):
            with self.file.opened() as opened, parquet.ParquetFile(opened) as rows:
                wanted = {"row_groups": list(self.row_groups), "columns": self.schema.names, "use_threads": False}
                for batch in rows.iter_batches(_BATCH_ROWS, **wanted):
                    yield self._typed(batch)
        self.file.refuse_change()

    def _typed(self, batch: Any) -> Any:
        """Columns of the types that all files have together, those of a dictionary as its values."""
        columns = []
        for field in self.schema:
            column = batch.column(batch.schema.get_field_index(field.name))
            decoded = column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
            columns.append(decoded if decoded.type == field.type else decoded.cast(field.type))
        return pyarrow.RecordBatch.from_arrays(columns, schema=self.schema)


def schema_of(file: File) -> Any:
    with errors_named(file.name), file.opened() as opened:
        fields = parquet.ParquetFile(opened).schema_arrow
    is_coded = pyarrow.types.is_dictionary
    types = [(field.name, field.type.value_type if is_coded(field.type) else field.type) for field in fields]
    return pyarrow.schema(types)


def splits_of(file: File, split_bytes: int, schema: Any) -> List[ParquetSplit]:
    """Row groups one after the other until they have so many bytes."""
    with errors_named(file.name), file.opened() as opened:
        metadata = parquet.ParquetFile(opened).metadata
    splits: List[ParquetSplit] = []
    gathered: List[int] = []
    gathered_bytes = 0
    for number in range(metadata.num_row_groups):
        gathered.append(number)
        gathered_bytes += metadata.row_group(number).total_byte_size
        if gathered_bytes >= split_bytes or number == metadata.num_row_groups - 1:
            splits.append(ParquetSplit(file, tuple(gathered), schema))
            gathered, gathered_bytes = [], 0
    return splits
