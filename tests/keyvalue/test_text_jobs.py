"""wordcount, lines-sort and inverted-index, compared with Python, wherever they run."""

import os
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from cases import in_turns
from parts import parts_in
from runner import Runner

pytestmark = pytest.mark.libraries_in_turn

WAYS = [["--plain", "-n", 1], ["--plain", "-n", 3], ["--slots", 1, "-n", 3, "--memory", "256M"]]
# Name: the texts of the files.
TEXTS: Dict[str, List[str]] = {
    "words": [" ".join(random.Random(seed).choices("abcdefghij", k=2000)).replace(" j ", "\n") for seed in range(3)],
    "empty_files": ["", "one two\n", ""],
    "nothing": [""],
    "no_final_newline": ["one two\nthree", "two\nthree"],
    "spaces": ["  \t one  two \t\n\n   \n two\r\n"],
    "skewed": ["same " * 50000 + "\nother\n"],
    "a_long_word": ["x" * 3_000_000 + " y x\n" + "x" * 3_000_000],
}


@pytest.fixture
def files_of(tmp_path: Path) -> Callable[[str], List[Path]]:
    def write(name: str) -> List[Path]:
        paths = [tmp_path / f"text-{number}" for number in range(len(TEXTS[name]))]
        for path, text in zip(paths, TEXTS[name]):
            path.write_bytes(text.encode())
        return paths

    return write


def lines_of(folder: Path) -> List[List[str]]:
    parts = parts_in(folder)
    assert not [path for path in parts if not path.name.startswith("part-") or path.suffix]
    return [path.read_bytes().decode().split("\n")[:-1] for path in parts]


@pytest.mark.parametrize("text, way", in_turns(sorted(TEXTS), WAYS))
def test_words_are_counted(
    run_job: Callable, files_of: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], text: str
) -> None:
    run_job([*way, "-O", 4, "-A", 2], "wordcount", tmp_path / "out", *files_of(text))
    parts = lines_of(tmp_path / "out")
    assert len(parts) == 2 and all(part == sorted(part, key=lambda line: line.split("\t")[0]) for part in parts)
    counted = dict(line.split("\t") for part in parts for line in part)
    assert sum(map(len, parts)) == len(counted)
    expected = Counter(word for content in TEXTS[text] for word in content.split())
    assert {word: int(count) for word, count in counted.items()} == expected


@pytest.mark.parametrize("text, way", in_turns(sorted(TEXTS), WAYS))
def test_lines_are_sorted(
    run_job: Callable, files_of: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], text: str
) -> None:
    run_job([*way, "-O", 4, "-A", 3], "lines-sort", tmp_path / "out", *files_of(text))
    found = [line for part in lines_of(tmp_path / "out") for line in part]
    contents = [content[:-1] if content.endswith("\n") else content for content in TEXTS[text] if content]
    assert found == sorted(line for content in contents for line in content.split("\n"))


@pytest.mark.parametrize("text, way", in_turns(sorted(TEXTS), WAYS))
def test_the_files_of_each_word_are_found(
    run_job: Callable, files_of: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], text: str
) -> None:
    files = files_of(text)
    run_job([*way, "-O", 4, "-A", 2], "inverted-index", tmp_path / "out", *reversed(files), files[0])
    parts = lines_of(tmp_path / "out")
    assert len(parts) == 2 and all(part == sorted(part) for part in parts)
    words = sorted({word for content in TEXTS[text] for word in content.split()})
    holders = {word: [str(path) for path in files if word in path.read_text().split()] for word in words}
    assert sorted(line for part in parts for line in part) == [f"{word}\t{','.join(holders[word])}" for word in words]


def test_more_words_than_memory_are_found(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    generator = random.Random(5)
    texts = [[f"{generator.randrange(20000):x}word" for _ in range(40000)] for _ in range(3)]
    files = [tmp_path / f"text-{number}" for number in range(3)]
    for path, words in zip(files, texts):
        path.write_text(" ".join(words))
    env = {"MPI_D_MEMORY": "1M"}
    _, report = run_job(["--plain", "-n", 2], "inverted-index", tmp_path / "out", *files, env=env)
    assert report["spilled_bytes"] > 1 << 20
    sets = [set(words) for words in texts]
    holders = {word: [str(path) for path, words in zip(files, sets) if word in words] for word in set().union(*sets)}
    found = sorted(line for part in lines_of(tmp_path / "out") for line in part)
    assert found == sorted(f"{word}\t{','.join(names)}" for word, names in holders.items())


def test_more_text_than_memory_is_sorted(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    generator = random.Random(4)
    lines = [f"{generator.getrandbits(64):x}" * 4 for _ in range(60000)]
    (tmp_path / "text").write_text("\n".join(lines))
    env = {"MPI_D_MEMORY": "1M"}
    _, report = run_job(["--plain", "-n", 2], "lines-sort", tmp_path / "out", tmp_path / "text", env=env)
    assert [line for part in lines_of(tmp_path / "out") for line in part] == sorted(lines)
    assert report["spilled_bytes"] > 1 << 20


def test_output_that_cannot_be_written_is_named_and_leaves_nothing(
    run_job: Callable, files_of: Callable, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("a file")
    finished, _ = run_job(["--plain", "-n", 2], "wordcount", tmp_path / "out", *files_of("words"), status=None)
    assert finished.status != 0 and (tmp_path / "out").read_text() == "a file"
    assert f"cannot write {tmp_path / 'out'}/part-0000" in finished.stderr


@pytest.mark.parametrize("name", ["wordcount", "terasort"])
def test_input_that_must_not_be_read_is_named(run: Runner, key_value_program: Callable, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not below those of the tests, which only their owner may enter
        os.chmod(folder, 0o755)
        path = Path(folder) / "input"
        path.write_bytes(bytes(100))
        path.chmod(0)
        words = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        stderr = run(*words, key_value_program(name), f"{folder}/out", path, status=1).stderr
        assert stderr == f"{name}: cannot read {path}: Permission denied\n"
        assert os.listdir(folder) == ["input"]


@pytest.mark.parametrize("name", ["wordcount", "lines-sort", "terasort", "inverted-index"])
def test_input_and_output_are_needed(run: Runner, key_value_program: Callable, tmp_path: Path, name: str) -> None:
    assert f"usage: mpidrun [options] {name} OUTPUT" in run(key_value_program(name), tmp_path, status=2).stderr
    missing = tmp_path / "missing"
    stderr = run(key_value_program(name), tmp_path, missing, status=1).stderr
    assert stderr == f"{name}: cannot read {missing}: No such file or directory\n"
    stderr = run(key_value_program(name), tmp_path, "s3://key:secret@b/c", status=1).stderr
    assert stderr.startswith(
        f"{name}: cannot read s3://b/c: text and records are read from file systems that the machine"
    )
    assert "Remedy: mount that one" in stderr and "secret" not in stderr


def test_the_programs_of_the_how_to_are_built_as_it_says(
    run: Runner, build_dir: Path, plain_mpi: Callable, flavour: str, tmp_path: Path
) -> None:
    source = Path(__file__).parents[2]
    page = (source / "docs" / "how-to" / "run-a-key-value-job.md").read_text()
    for language, ending in (("c", "c"), ("cpp", "cpp")):
        (tmp_path / f"count.{ending}").write_text(page.split(f"```{language}\n")[1].split("```")[0])
    cache = (build_dir / "CMakeCache.txt").read_text()
    mpicc = next(line for line in cache.splitlines() if line.startswith(f"SPILLWAY_MPICC_{flavour}:")).split("=", 1)[1]
    compilers = {"c": mpicc, "cpp": mpicc.replace("mpicc", "mpicxx")}
    (tmp_path / "text").write_text("one two one\n")
    for language, compiler in compilers.items():
        name = {"c": "mpicc", "cpp": "mpicxx"}[language]
        command = next(line for line in page.splitlines() if line.startswith(f"    {name} "))
        words = command.replace("$SPILLWAY", str(source)).replace("mpich", flavour).split()[1:]
        library = str(build_dir / "lib" / "spillway")
        words = [word.replace(f"{source}/build/lib/spillway", library) for word in words]
        run(compiler, *words, cwd=tmp_path)
        out = tmp_path / f"out-{language}"
        stdout = run(*plain_mpi(flavour, 2), tmp_path / "count", tmp_path / "text", out).stdout
        text = stdout + "".join(path.read_text() for path in out.glob("part-*"))
        assert sorted(text.split()) == ["1", "2", "one", "two"]
        if language == "cpp":  # the program of the common mode is compiled in the same way
            (tmp_path / "count.cpp").write_text(page.split("```cpp\n")[2].split("```")[0])
            (tmp_path / "text").write_text("one three two four six five\n")
            run(compiler, *words, cwd=tmp_path)
            stdout = run(*plain_mpi(flavour, 4), tmp_path / "count", tmp_path / "text").stdout
            assert sorted(stdout.splitlines()) == ["3 3", "4 2", "5 1"]
