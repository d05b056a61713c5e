"""teragen and teravalidate, compared with what is known of gensort and valsort."""

import json
from pathlib import Path
from typing import Callable, List

import pytest
from limits import little_disk
from runner import Finished, Runner
from sort_record_oracle import RECORD_BYTES, checksum, figures, generated_records

Validate = Callable[..., Finished]


@pytest.fixture
def validate(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Validate:
    """validate(records, ..., options=, status=): of a file for each list of records."""

    def validate_them(*files: List[bytes], options: List[object] = (), status: int = 0) -> Finished:
        paths = [tmp_path / f"records-{number}" for number in range(len(files))]
        for path, records in zip(paths, files):
            path.write_bytes(b"".join(records))
        return run(program("teravalidate"), *options, *paths, status=status)

    return validate_them


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize("is_skewed", [False, True])
@pytest.mark.parametrize("begin", [0, 1, 4090])
def test_records_are_those_of_gensort(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, is_ascii: bool, is_skewed: bool, begin: int
) -> None:
    options = ["--ascii"] * is_ascii + ["-s"] * is_skewed + ["-b", begin] * (begin != 0)
    finished = run(program("teragen"), *options, 5000, tmp_path / "records")
    expected = generated_records(begin, 5000, is_ascii, is_skewed)
    assert (tmp_path / "records").read_bytes() == b"".join(expected)
    assert finished.stdout == checksum(expected) + "\n"
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.parametrize(
    "options, count, published", [([], 1000000, "7a0e0d4868cd4"), (["-a"], 163840, "1400fed7bb2c2")]
)
def test_checksums_are_those_that_users_of_gensort_have_published(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, options: List[str], count: int, published: str
) -> None:
    assert run(program("teragen"), *options, count, tmp_path / "records").stdout == published + "\n"


@pytest.mark.parametrize("is_skewed", [False, True])
def test_sorted_records_are_valid(validate: Validate, is_skewed: bool) -> None:
    records = sorted(generated_records(0, 3000, is_ascii=False, is_skewed=is_skewed))
    finished = validate(records, options=["--checksum", checksum(records)])
    assert finished.stdout == figures(records) and not finished.stderr


def test_several_files_are_read_as_one(validate: Validate) -> None:
    records = sorted(generated_records(0, 3000, is_ascii=True, is_skewed=False))
    records[1000] = records[999]
    finished = validate(records[:1000], [], records[1000:2500], records[2500:])
    assert finished.stdout == figures(records)
    assert "Duplicate keys: 1\n" in finished.stdout


@pytest.mark.parametrize("has_manifest", [True, False])
def test_a_directory_is_the_files_in_it(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, has_manifest: bool
) -> None:
    """In the order of the manifest that `spillway sort --parts` writes, or of their names."""
    records = sorted(generated_records(0, 3000, is_ascii=False, is_skewed=False))
    names = ["b", "c", "a"] if has_manifest else ["a", "b", "c"]
    for name, some in zip(names, (records[:1000], [], records[1000:])):
        (tmp_path / name).write_bytes(b"".join(some))
    if has_manifest:
        parts = [{"name": name, "records": 0, "bytes": 0} for name in names]
        (tmp_path / "manifest.json").write_text(json.dumps({"records": 3000, "bytes": 300000, "parts": parts}))
    (tmp_path / ".hidden").write_text("?")
    assert run(program("teravalidate"), tmp_path).stdout == figures(records)


def test_a_directory_without_files_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(program("teravalidate"), tmp_path, status=1)
    assert finished.stderr == f"teravalidate: there are no files in {tmp_path}\n"


@pytest.mark.parametrize("place", [0, 1499, 2998])
def test_unordered_records_are_counted_and_the_first_is_named(validate: Validate, place: int) -> None:
    records = sorted(generated_records(0, 3000, is_ascii=False, is_skewed=False))
    records[place], records[place + 1] = records[place + 1], records[place]
    finished = validate(records[:1500], records[1500:], status=1)
    assert finished.stdout == figures(records)
    cause = "the first whose key is smaller than the one before is record"
    assert finished.stderr == f"teravalidate: the records are not sorted: {cause} {place + 1}\n"


@pytest.mark.parametrize("damage", ["missing", "changed", "doubled"])
def test_missing_and_changed_records_are_noticed_by_the_checksum(validate: Validate, damage: str) -> None:
    records = sorted(generated_records(0, 3000, is_ascii=False, is_skewed=False))
    expected = checksum(records)
    records[700:701] = {"missing": [], "changed": [records[700][:-1] + b"?"], "doubled": 2 * [records[700]]}[damage]
    finished = validate(records, options=["-c", expected], status=1)
    assert finished.stdout == figures(records)
    cause = f"the checksum is {checksum(records)} and not {expected}: records are missing or changed"
    assert finished.stderr == f"teravalidate: {cause}\n"


def test_nothing_is_sorted(validate: Validate) -> None:
    assert validate([]).stdout == figures([])


def test_a_truncated_file_is_named(validate: Validate, tmp_path: Path) -> None:
    records = sorted(generated_records(0, 10, is_ascii=False, is_skewed=False))
    finished = validate(records[:5], [*records[5:9], records[9][:-1]], status=1)
    cause = f"its {5 * RECORD_BYTES - 1} bytes are no whole number of records of 100 bytes"
    assert finished.stderr == f"teravalidate: cannot read {tmp_path / 'records-1'}: {cause}\n"
    assert not finished.stdout


@pytest.mark.parametrize(
    "name, words, cause",
    [
        ("teragen", ["10"], "a COUNT and an OUTPUT file are needed; --help explains"),
        ("teragen", ["ten", "output"], "option COUNT: 'ten' is not a whole number from 0 to 1152921504606846976"),
        (
            "teragen",
            ["-b", "1152921504606846976", "1", "output"],
            "option COUNT: '1' is not a whole number from 0 to 0",
        ),
        ("teragen", ["--begin", "-1", "1", "output"], "option --begin: '-1' is not a whole number from 0 to"),
        ("teragen", ["-x", "1", "output"], "unknown or incomplete option -x; --help lists them"),
        ("teravalidate", [], "a FILE is needed; --help explains"),
        ("teravalidate", ["--checksum"], "option --checksum needs a value"),
    ],
)
def test_wrong_usage_is_explained(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, name: str, words: List[str], cause: str
) -> None:
    finished = run(program(name), *words, status=2, cwd=tmp_path)
    assert finished.stderr.startswith(f"{name}: {cause}")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_gets_full_leaves_nothing(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(*little_disk(1000), program("teragen"), 100000, tmp_path / "records", status=1)
    assert f"cannot write {tmp_path / 'records'}" in finished.stderr
    assert not list(tmp_path.iterdir())
