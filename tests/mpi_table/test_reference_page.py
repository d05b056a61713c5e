"""docs/reference/mpi-functions.md is what its generator writes."""

from pathlib import Path

import function_table
import generate_reference_page

TABLE = function_table.read_table()


def test_page_is_what_the_table_says() -> None:
    page = Path(generate_reference_page.PAGE_PATH).read_text(encoding="utf-8")
    assert page == generate_reference_page.reference_page(
        TABLE
    ), "run python3 src/library/functions/generate_reference_page.py"


def test_page_has_every_function_once() -> None:
    page = generate_reference_page.reference_page(TABLE)
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `MPI_")]
    assert sorted(listed) == sorted(TABLE)
