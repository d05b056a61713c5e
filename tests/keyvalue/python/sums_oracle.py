"""Inputs of sum_by_key.py, and pyarrow's own answer: `make FOLDER`, and `compare OUTPUT KEY NUMBER FILE...`."""

import gzip
import math
import random
import sys
from pathlib import Path

import pyarrow
from pyarrow import csv, parquet

# What CSV files mean by an empty value is that of the library, and not pyarrow's.
NULLS = csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)


def name_of(generator):
    return generator.choice([None, "", "NA", *[f"n{generator.randrange(300)},ä"] * 20])


def make(folder):
    generator = random.Random(11)
    for number, rows in enumerate((4000, 1, 0, 3000)):
        columns = {
            "id": list(range(rows)),
            "name": pyarrow.array([name_of(generator) for _ in range(rows)], "string"),
            "count": pyarrow.array([generator.choice([None, -5, 2**40, 7]) for _ in range(rows)], "int64"),
            "price": pyarrow.array([generator.random() for _ in range(rows)], "double"),
        }
        table = pyarrow.table(columns)
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=500)
        if rows:
            csv.write_csv(table, folder / f"{number}.csv")
            packed = gzip.compress((folder / f"{number}.csv").read_bytes())
            (folder / f"{number}.csv.gz").write_bytes(packed)


def read(path):
    return parquet.read_table(path) if path.endswith(".parquet") else csv.read_csv(path, convert_options=NULLS)


def compare(output, key, number, *paths):
    tables = [read(path).select([key, number]).drop_null() for path in paths]
    grouped = pyarrow.concat_tables(tables).group_by(key).aggregate([(number, "sum")])
    expected = dict(zip(grouped[key].to_pylist(), grouped[f"{number}_sum"].to_pylist()))
    parts = [parquet.read_table(path) for path in sorted(Path(output).glob("part-*"))]
    found = [row for part in parts for row in zip(part[key].to_pylist(), part["sum"].to_pylist())]
    assert all(part[key].to_pylist() == sorted(part[key].to_pylist()) for part in parts)
    assert len(found) == len(expected) > 0 and {name for name, _ in found} == set(expected)
    assert all(math.isclose(total, expected[name], rel_tol=1e-12) for name, total in found)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        compare(*sys.argv[2:])
