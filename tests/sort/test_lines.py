"""`spillway sort --lines`: what GNU sort makes of the same text, byte by byte."""

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Sequence

import pytest
from runner import Finished

pytestmark = [pytest.mark.usefixtures("nothing_left_behind"), pytest.mark.libraries_in_turn]

IN_MEMORY, SPILLED = "256M", "96M"
LONGEST = 1 << 20


def text_of(count: int) -> bytes:
    """Words and numbers in fields, some of them empty; long common beginnings; bytes that are no text; empty lines."""
    source = random.Random(7)

    def line(kind: int) -> bytes:
        if kind == 0:
            return b""
        if kind == 1:
            return b"https://example.org/a/long/way/to/%d,%d,end" % (source.randint(0, 99), source.randint(-50, 50))
        if kind == 2:
            return bytes(source.choices([0, 9, 32, 44, 65, 255], k=source.randint(0, 12)))
        words = (b"w%d" % int(source.paretovariate(0.8)) for _ in range(source.randint(1, 5)))
        number = b"%s%d.%02d" % (source.choice([b"", b"-"]), source.randint(0, 999), source.randint(0, 99))
        return b"\t ".join(words) + source.choice([b",", b" , "]) + number

    return b"".join(line(source.choice([0, 1, 2, 3, 3, 3])) + b"\n" for _ in range(count))


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, List[Path]]:
    """Of a size that has room in so much memory, or not."""
    folder = tmp_path_factory.mktemp("texts")
    some = text_of(100_000)
    (folder / "first").write_bytes(some)
    for name, times in (("little", 5), ("much", 60)):
        (folder / name).write_bytes(some[: len(some) // 3] * times + b"the last line has no end")
    return {IN_MEMORY: [folder / "first", folder / "little"], SPILLED: [folder / "first", folder / "much"]}


def as_gnu_sort_has_it(options: str, inputs: Sequence[Path]) -> bytes:
    """With `| uniq -c`, if options say so."""
    words, *counted = options.split(" | ")
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(["sort", *words.split(" "), *inputs], env=environment, stdout=subprocess.PIPE, check=True)
    if not counted:
        return done.stdout
    return subprocess.run(["uniq", "-c"], env=environment, input=done.stdout, stdout=subprocess.PIPE, check=True).stdout


ORDERS: Dict[str, str] = {
    "": "-s",
    "--key 0:desc": "-s -r",
    "--key 2": "-s -b -k2,2",
    "--key 3:desc --stable": "-s -k3b,3r",
    "--separator , --key 2:number": "-s -t, -k2,2n",
    "--separator , --key 2:number:desc": "-s -t, -k2,2nr",
    "--separator \\t --key 2": "-s -t\t -k2,2",
    "--key 0:number": "-s -n",
    "--unique": "-u",
    "--unique --separator , --key 2:number": "-u -s -t, -k2,2n",
    "--unique --key 0:number:desc": "-u -s -nr",
    "--count": "-s | uniq -c",
    "--count --key 0:desc": "-s -r | uniq -c",
}


ON_STORAGE = ["", "--key 2", "--separator , --key 2:number:desc", "--unique", "--count --key 0:desc"]


@pytest.mark.parametrize(
    ("options", "processes", "memory"),
    [(options, 3, IN_MEMORY) for options in ORDERS] + [(options, 2, SPILLED) for options in ON_STORAGE],
)
def test_order(
    sort: Callable[..., Finished],
    tmp_path: Path,
    texts: Dict[str, List[Path]],
    options: str,
    processes: int,
    memory: str,
) -> None:
    page = tmp_path / "page"
    own = ["--lines", "-n", processes, "--memory", memory, "--summary", "json", "--summary-file", page]
    sort("--output", tmp_path / "sorted", *own, *options.split(), *texts[memory])
    assert (tmp_path / "sorted").read_bytes() == as_gnu_sort_has_it(ORDERS[options], texts[memory])
    report = json.loads(page.read_text())
    assert report["in_memory"] is (memory == IN_MEMORY)
    assert report["records"] == sum(len(path.read_bytes().splitlines()) for path in texts[memory])


@pytest.mark.parametrize("memory", [IN_MEMORY, SPILLED])
def test_long_lines(sort: Callable[..., Finished], tmp_path: Path, memory: str) -> None:
    """Up to the longest that is allowed: across blocks of input, and beyond what is read behind one."""
    source = random.Random(7)
    letters = bytes(source.choices(range(32, 127), k=LONGEST))
    sizes = [LONGEST, LONGEST - 1, 16 << 10, (16 << 10) - 1, 64 << 10, 0, 0, 1]
    sizes += [int(source.paretovariate(0.4)) % LONGEST for _ in range(500)]
    source.shuffle(sizes)
    lines = [letters[source.randint(0, LONGEST - size) :][:size] for size in sizes]
    (tmp_path / "lines").write_bytes(b"".join(line + b"\n" for line in lines))
    sort("--output", tmp_path / "sorted", "--lines", "-n", 2, "--memory", memory, tmp_path / "lines")
    assert (tmp_path / "sorted").read_bytes() == as_gnu_sort_has_it("-s", [tmp_path / "lines"])


def write_long_lines(path: Path, count: int, size: int, in_common: int) -> None:
    """Of which so many bytes at the beginning are the same."""
    source = random.Random(7)
    letters = bytes(source.choices(range(97, 123), k=size))
    with open(path, "wb") as file:
        for _ in range(count):
            own = bytes(source.choices(range(97, 123), k=20))
            file.write(letters[:in_common] + own + letters[in_common + len(own) :] + b"\n")


@pytest.mark.parametrize(("count", "size", "in_common"), [(2500, 50_000, 0), (300, 200_000, 300)])
def test_long_lines_that_are_spilled(
    sort: Callable[..., Finished], tmp_path: Path, count: int, size: int, in_common: int
) -> None:
    write_long_lines(tmp_path / "lines", count, size, in_common)
    sort("--output", tmp_path / "sorted", "--lines", "-n", 2, "--memory", SPILLED, tmp_path / "lines")
    assert (tmp_path / "sorted").read_bytes() == as_gnu_sort_has_it("-s", [tmp_path / "lines"])


def test_lines_that_differ_late_are_refused_before_they_are_read(sort: Callable[..., Finished], tmp_path: Path) -> None:
    write_long_lines(tmp_path / "lines", 300, 200_000, 150_000)
    words = ["--output", tmp_path / "sorted", "--lines", "-n", 2, "--memory", SPILLED, tmp_path / "lines"]
    message = sort(*words, status=1).stderr
    assert (
        "about 57 MiB have keys whose first 65536 bytes are the same, and only by these can they be divided" in message
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines"]


def test_many_copies_of_long_lines(sort: Callable[..., Finished], tmp_path: Path) -> None:
    """Divided by their places, as their keys are known to be equal and not only to begin alike."""
    letters = bytes(random.Random(7).choices(range(97, 123), k=6 << 10)) + b"\n"
    (tmp_path / "lines").write_bytes(letters * 25_000 + b"".join(b"%d" % number + letters for number in range(5000)))
    sort("--output", tmp_path / "sorted", "--lines", "-n", 2, "--memory", SPILLED, tmp_path / "lines")
    assert (tmp_path / "sorted").read_bytes() == as_gnu_sort_has_it("-s", [tmp_path / "lines"])


@pytest.mark.parametrize("key", [2, 3])
def test_fields_far_behind_in_lines(sort: Callable[..., Finished], tmp_path: Path, key: int) -> None:
    """Or missing: then all keys are equal."""
    source = random.Random(7)
    before = bytes(source.choices(range(97, 123), k=20_000))
    numbers = [source.randrange(10**9) for _ in range(8000)]
    (tmp_path / "lines").write_bytes(b"".join(b"%s,%09d\n" % (before, number) for number in numbers))
    options = ["--lines", "--key", key, "--separator", ",", "-n", 2, "--memory", SPILLED]
    sort("--output", tmp_path / "sorted", *options, tmp_path / "lines")
    expected = as_gnu_sort_has_it(f"-s -t, -k{key},{key}", [tmp_path / "lines"])
    assert (tmp_path / "sorted").read_bytes() == expected


@pytest.mark.parametrize("text", [b"", b"\n", b"one", b"\n\nb\n\na", b"\0\n\0\0\n"])
def test_little_text(sort: Callable[..., Finished], tmp_path: Path, text: bytes) -> None:
    (tmp_path / "text").write_bytes(text)
    sort("--output", tmp_path / "sorted", "--lines", "-n", 2, "--memory", IN_MEMORY, tmp_path / "text")
    assert (tmp_path / "sorted").read_bytes() == as_gnu_sort_has_it("-s", [tmp_path / "text"])


@pytest.mark.parametrize("memory", [IN_MEMORY, SPILLED])
def test_one_line_many_times(sort: Callable[..., Finished], tmp_path: Path, memory: str) -> None:
    (tmp_path / "text").write_bytes(b"the same line again and again\n" * 2_000_000)
    sort("--output", tmp_path / "sorted", "--lines", "--count", "-n", 2, "--memory", memory, tmp_path / "text")
    assert (tmp_path / "sorted").read_bytes() == b"2000000 the same line again and again\n"


def test_a_line_that_is_too_long_is_named(sort: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"short\n" + b"x" * (LONGEST + 1) + b"\n")
    finished = sort("--output", tmp_path / "sorted", "--lines", tmp_path / "text", status=None)
    assert finished.status != 0
    assert f"the line at byte 6 of {tmp_path / 'text'} has more than 1 MiB" in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


def test_patterns(sort: Callable[..., Finished], tmp_path: Path) -> None:
    """A pattern that the shell leaves stands for the files that are named like it; a file may have such a name."""
    for name, text in (("1.txt", "b\n"), ("2.txt", "a\n"), ("3.log", "no\n"), ("[x]", "c\n")):
        (tmp_path / name).write_text(text)
    sort("--output", tmp_path / "sorted", "--lines", tmp_path / "*.txt", tmp_path / "[x]")
    assert (tmp_path / "sorted").read_text() == "a\nb\nc\n"
    finished = sort("--output", tmp_path / "sorted", "--lines", tmp_path / "*.csv", status=2)
    assert f"no file is named like {tmp_path / '*.csv'}" in finished.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lines", "--record-bytes", 8], "--lines have no --record-bytes"),
        (["--separator", ","], "--separator is between fields of lines"),
        (["--lines", "--separator", ",,"], "--separator ,,: it is no single byte"),
        (["--lines", "--key", "2:int"], "'int' is neither a type nor an order"),
        (["--lines", "--key", "x"], "'x' is no number"),
        (["--lines", "--key", ""], "which field is it?"),
        (["--lines", "--key", "1", "--key", "2:number"], "--key 1 and --key 2:number: there is one key"),
    ],
)
def test_mistakes_are_named(sort: Callable[..., Finished], tmp_path: Path, options: List[object], message: str) -> None:
    (tmp_path / "text").write_text("some\ntext\n")
    finished = sort("--output", tmp_path / "sorted", *options, tmp_path / "text", status=2)
    assert message in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]
