"""The applications of apps/keyvalue/python, compared with Python."""

from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from runner import Runner
from test_text_jobs import TEXTS, WAYS, lines_of

pytestmark = pytest.mark.libraries_in_turn

APPLICATIONS = Path(__file__).resolve().parents[2] / "apps" / "keyvalue" / "python"
ALL_TEXTS: Dict[str, List[str]] = {**TEXTS, "unicode": ["ä ö\nä𝄞 ü", "ö ä\0b\nx\u2028y\n"]}


@pytest.fixture
def files_of(tmp_path: Path) -> Callable[[str], List[Path]]:
    def write(name: str) -> List[Path]:
        paths = [tmp_path / f"text-{number}" for number in range(len(ALL_TEXTS[name]))]
        for path, text in zip(paths, ALL_TEXTS[name]):
            path.write_bytes(text.encode())
        return paths

    return write


def lines_of_input(name: str) -> List[str]:
    contents = [content[:-1] if content.endswith("\n") else content for content in ALL_TEXTS[name] if content]
    return [line for content in contents for line in content.split("\n")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", ["wordcount.py", "wordcount_batches.py"])
def test_words_are_counted(
    run_python: Callable,
    python_with_packages: Dict[str, object],
    files_of: Callable,
    tmp_path: Path,
    way: List[object],
    program: str,
) -> None:
    for text in ALL_TEXTS if way == WAYS[1] else ["words", "no_final_newline"]:
        out = tmp_path / text
        run_python([*way, "-O", 4, "-A", 2], APPLICATIONS / program, out, *files_of(text), **python_with_packages)
        parts = lines_of(out)
        assert len(parts) == 2 and all(part == sorted(part, key=lambda line: line.split("\t")[0]) for part in parts)
        words = [word for content in ALL_TEXTS[text] for word in content.split()]
        if program == "wordcount_batches.py":  # of other control characters it makes spaces, and of nothing else
            table = {number: " " for number in range(32)}
            words = [word for content in ALL_TEXTS[text] for word in content.translate(table).split(" ") if word]
        assert Counter(line.split("\t")[0] for part in parts for line in part) == Counter(set(words))
        assert {word: int(count) for word, count in (line.split("\t") for part in parts for line in part)} == Counter(
            words
        )


def test_processes_that_have_planned_other_input_are_refused(run_python: Callable, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    program = Path(__file__).with_name("python") / "plans_otherwise.py"
    finished = run_python(["--plain", "-n", 2], program, tmp_path / "text", status=None)
    assert finished.status != 0 and "the processes have not planned the same input" in finished.stderr
    assert "the job has begun" not in finished.stderr


@pytest.mark.parametrize("way", WAYS)
def test_lines_are_sorted(run_python: Callable, files_of: Callable, tmp_path: Path, way: List[object]) -> None:
    for text in ALL_TEXTS if way == WAYS[1] else ["words"]:
        run_python([*way, "-O", 4, "-A", 3], APPLICATIONS / "sort.py", tmp_path / text, *files_of(text))
        found = [line.encode() for part in lines_of(tmp_path / text) for line in part]
        assert found == sorted(line.encode() for line in lines_of_input(text))


@pytest.mark.parametrize("way", WAYS)
def test_words_are_found_in_files(run_python: Callable, files_of: Callable, tmp_path: Path, way: List[object]) -> None:
    for text in ALL_TEXTS if way == WAYS[1] else ["words"]:
        files = files_of(text)
        run_python([*way, "-O", 4, "-A", 2], APPLICATIONS / "inverted_index.py", tmp_path / text, *files)
        parts = lines_of(tmp_path / text)
        assert all(part == sorted(part, key=lambda line: line.split("\t")[0]) for part in parts)
        expected = {
            f"{word}\t{','.join(str(path) for path in files if word in path.read_text().split())}"
            for word in {word for content in ALL_TEXTS[text] for word in content.split()}
        }
        assert sorted(line for part in parts for line in part) == sorted(expected)


def test_text_that_cannot_be_decoded_is_named(run_python: Callable, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a b\n" * 100 + b"\xff\n")
    words = [APPLICATIONS / "wordcount.py", tmp_path / "out", tmp_path / "text"]
    finished = run_python(["--plain", "-n", 2], *words, status=1)
    assert (
        f"O task 0 ended by ValueError: {tmp_path}/text, byte 400: no text in utf-8: invalid start byte"
        in finished.stderr
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["wordcount.py", "wordcount_batches.py", "sort.py", "inverted_index.py"])
def test_input_and_output_are_needed(
    run_python: Callable, python_with_packages: Dict[str, object], tmp_path: Path, name: str
) -> None:
    words = [APPLICATIONS / name, tmp_path / "out"]
    finished = run_python(["--plain", "-n", 1], *words, status=None, **python_with_packages)
    assert finished.status != 0 and f"python3 {name} OUTPUT_DIRECTORY FILE..." in finished.stderr


def test_applications_are_short() -> None:
    """The jobs, that is; image clustering and what it needs are none of them."""
    paths = [*APPLICATIONS.glob("*.py"), *APPLICATIONS.parent.glob("*.cpp")]
    lengths = {path.name: len(path.read_text().splitlines()) for path in paths}
    del lengths["image_features.py"], lengths["image_clustering.cpp"]
    assert len(lengths) == 9 + 7 and max(lengths.values()) < 60


def test_the_program_of_the_how_to_counts_words(run_python: Callable, tmp_path: Path) -> None:
    page = (APPLICATIONS.parents[2] / "docs" / "how-to" / "run-a-key-value-job.md").read_text()
    (tmp_path / "count.py").write_text(page.split("```python\n")[1].split("```")[0])
    (tmp_path / "text").write_text("one two one\n")
    run_python(["--plain", "-n", 2], tmp_path / "count.py", tmp_path / "text", tmp_path / "out")
    assert sorted(line for part in lines_of(tmp_path / "out") for line in part) == ["one\t2", "two\t1"]


def test_output_that_cannot_be_written_is_named(run: Runner, run_python: Callable, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    (tmp_path / "text").write_text("one two")
    words = [APPLICATIONS / "wordcount.py", tmp_path / "out", tmp_path / "text"]
    finished = run_python(["--plain", "-n", 2], *words, status=1)
    assert f"'{tmp_path}/out/part-0000" in finished.stderr and (tmp_path / "out").read_text() == "a file"
