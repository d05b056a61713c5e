"""The columns that files have together, and their types."""

from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence

import pyarrow

from ._csv import CsvPlan
from ._file_systems import File

_EXACT_BITS = 32  # of whole numbers that a float has exactly


@dataclass(frozen=True)
class Source:
    """A file and its columns."""

    file: File
    columns: Any  # a schema
    csv_plan: Optional[CsvPlan]


@dataclass(frozen=True)
class _Found:
    """The type of a column in a file. Of CSV it may be a guess, which a whole number may have been made for others."""

    type: Any
    is_guess: bool
    file: File


def common_schema(sources: Sequence[Source], wanted: Sequence[str], types: Mapping[str, Any], are_all: bool) -> Any:
    """Of the wanted columns, which each file has to have. Where they are all, it has to have no others."""
    for name in types:
        if sources and not any(name in source.columns.names for source in sources):
            raise ValueError(f"types= names the column {name!r}, which no file has")
    for source in sources:
        _refuse_other_columns(source, sources[0], wanted, are_all)
    fields = []
    for name in wanted:
        found = [_found(name, source, types) for source in sources]
        common = _common_type(name, found) if found else pyarrow.field(name, types.get(name, pyarrow.null())).type
        fields.append((name, common if common != pyarrow.null() else pyarrow.string()))
    return pyarrow.schema(fields)


def refuse_other_schema(source: Source, schema: Any) -> None:
    """Of a file that could not be looked at when the schema was made. Values of CSV are of the types that it says."""
    _refuse_other_columns(source, source, schema.names, False)
    for field in schema:
        found = _found(field.name, source, {})
        if source.csv_plan is None and _of_both(field.type, found) != field.type:
            raise ValueError(
                f"the column {field.name!r} is of type {found.type} in {source.file.name}, and {field.type} elsewhere\n"
                "  Remedy: make the files alike."
            )


def _refuse_other_columns(source: Source, first: Source, wanted: Sequence[str], are_all: bool) -> None:
    file, names = source.file, source.columns.names
    if are_all and names != wanted:
        raise ValueError(
            f"{file.name} has the columns {_listed(names)}, and {first.file.name} {_listed(wanted)}\n"
            "  Remedy: name columns that both have: TableSplits(paths, columns=[...])."
        )
    for name in wanted:
        if names.count(name) != 1:
            how = "no" if name not in names else "more than one"
            raise ValueError(f"{file.name} has {how} column {name!r}; its columns are {_listed(names)}")


def _found(name: str, source: Source, types: Mapping[str, Any]) -> _Found:
    if source.csv_plan is not None and name in types:
        return _Found(pyarrow.field(name, types[name]).type, False, source.file)
    return _Found(source.columns.field(name).type, source.csv_plan is not None, source.file)


def _common_type(name: str, found: List[_Found]) -> Any:
    """What is certain comes first, then guesses, those of whole numbers last: so the order of files does not count."""
    common, *others = sorted(found, key=lambda one: (one.is_guess, pyarrow.types.is_integer(one.type)))
    for one in others:
        both = _of_both(common.type, one)
        if both is None:
            raise ValueError(
                f"the column {name!r} is of type {one.type} in {one.file.name}, "
                f"and {common.type} in {common.file.name}\n"
                "  Remedy: make the files alike; of CSV columns say the type: TableSplits(..., types={...})."
            )
        if both != common.type:
            common = _Found(both, False, one.file)
    return common.type


def _of_both(first: Any, found: _Found) -> Any:
    """The type that has all values of both exactly, or None."""
    types, second = pyarrow.types, found.type
    if first == second or second == pyarrow.null():
        return first
    if first == pyarrow.null():
        return second
    pair = (first, second)
    if all(types.is_integer(one) and one != pyarrow.uint64() for one in pair):
        return pyarrow.int64()
    if all(types.is_floating(one) for one in pair):
        return pyarrow.float64()
    if all(types.is_string(one) or types.is_large_string(one) for one in pair):
        return pyarrow.large_string()
    if all(types.is_binary(one) or types.is_large_binary(one) for one in pair):
        return pyarrow.large_binary()
    if types.is_floating(first) and types.is_integer(second):
        return pyarrow.float64() if found.is_guess or second.bit_width <= _EXACT_BITS else None
    if types.is_integer(first) and types.is_floating(second):
        return pyarrow.float64() if first.bit_width <= _EXACT_BITS else None
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
