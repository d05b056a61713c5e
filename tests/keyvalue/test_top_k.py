"""top-k, compared with Python's Counter, for the whole stream and for windows of it."""

import random
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

import pytest
from cases import in_turns
from parts import parts_in
from runner import Runner

pytestmark = pytest.mark.libraries_in_turn

WAYS = [
    ["--plain", "-O", 1, "-A", 1],
    ["--plain", "-O", 3, "-A", 2],
    ["--slots", 1, "-O", 2, "-A", 3],
]
TEXTS: Dict[str, List[str]] = {
    "skewed": [
        "\n".join(
            " ".join(f"w{int(random.Random(seed * 1000 + line).paretovariate(0.7))}" for _ in range(40))
            for line in range(50)
        )
        for seed in range(3)
    ],
    "ties": ["b a\nd c\n", "f e a\n", "é 1 -1\n"],
    "spaces": [" \t one  two \n\n", "", "one\r\n"],
    "nothing": ["", ""],
    "one_word": ["same " * 30000],
}


def words_of(texts: Sequence[str]) -> List[str]:
    return [word for text in texts for word in text.split()]


def most_frequent(counts: Dict[str, int], k: int) -> List[Tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))[:k]


def write_files(folder: Path, texts: Sequence[str]) -> List[Path]:
    paths = [folder / f"text-{number}" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_bytes(text.encode())
    return paths


def read_windows(folder: Path) -> Dict[int, List[Tuple[str, int]]]:
    assert [path.name for path in parts_in(folder)] == ["part-00000"]
    windows: Dict[int, List[Tuple[str, int]]] = {}
    for line in (folder / "part-00000").read_bytes().decode().splitlines():
        window, word, count = line.split(" ")
        windows.setdefault(int(window), []).append((word, int(count)))
    return windows


@pytest.mark.parametrize("text, way", in_turns(sorted(TEXTS), WAYS))
def test_most_frequent_words_of_the_stream(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object], text: str
) -> None:
    files = write_files(tmp_path, TEXTS[text])
    run_job(["-M", "streaming", *way], "top-k", 7, tmp_path / "out", *files)
    expected = most_frequent(Counter(words_of(TEXTS[text])), 7)
    assert read_windows(tmp_path / "out") == ({0: expected} if expected else {})


@pytest.mark.parametrize("way", WAYS)
def test_windows_add_up_to_the_stream(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, way: List[object]
) -> None:
    """50 lines a second of each O task, 50 lines or more: windows of 100 ms are ten or more. All words are wanted."""
    env = {"MPI_D_WINDOW": "100ms"}
    texts = TEXTS["skewed"]
    words = ["--rate", 50, 1000000, tmp_path / "out", *write_files(tmp_path, texts)]
    run_job(["-M", "streaming", *way], "top-k", *words, env=env)
    windows = read_windows(tmp_path / "out")
    assert len(windows) >= 8
    total: Counter = Counter()
    for window in windows.values():
        assert window == most_frequent(dict(window), len(window))
        total.update(dict(window))
    assert total == Counter(words_of(texts))


def test_small_blocks_and_many_windows_do_not_wait_for_each_other(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None
) -> None:
    """What is sent while A tasks gather a window's words is more than they take without acknowledging it."""
    texts = [" ".join(f"{number % 9973}-{seed}" for number in range(60000)).replace("7 ", "7\n") for seed in range(3)]
    env = {"MPI_D_WINDOW": "10ms", "MPI_D_PARTITION_BYTES": "4K"}
    words = [1000000, tmp_path / "out", *write_files(tmp_path, texts)]
    _, report = run_job(["-M", "streaming", "--plain", "-O", 2, "-A", 2], "top-k", *words, env=env)
    total: Counter = Counter()
    for window in read_windows(tmp_path / "out").values():
        total.update(dict(window))
    assert total == Counter(words_of(texts))
    assert report["windows"] > 3


@pytest.mark.parametrize(
    "words, message",
    [
        (["0", "out", "text"], "K: '0' is not a whole number from 1 on"),
        (["--rate", "fast", "3", "out", "text"], "--rate: 'fast' is not a whole number from 1 on"),
        (["3", "out", "missing"], "cannot read missing: No such file or directory"),
    ],
)
def test_wrong_arguments_are_refused(
    run: Runner, key_value_program: Callable, tmp_path: Path, words: List[str], message: str
) -> None:
    (tmp_path / "text").write_text("word\n")
    assert run(key_value_program("top-k"), *words, status=1, cwd=tmp_path).stderr == f"top-k: {message}\n"
    assert (
        "usage: mpidrun [options] top-k [--rate LINES] K OUTPUT_DIRECTORY FILE..."
        in run(key_value_program("top-k"), "3", "out", status=2).stderr
    )
