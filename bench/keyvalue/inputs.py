"""What key-value jobs work on: real text, Zipf-distributed words, records of the sort benchmark, a graph, points."""

import os
import subprocess
from pathlib import Path
from typing import BinaryIO, List, Sequence

from measuring.build import Build

START_LINES = 1000
LINE_WORDS = 12
VOCABULARY = 1 << 20
RECORD_BYTES = 100
LINKS = 10
CLUSTERS, COLUMNS = 10, 20  # HiBench's
BLOCK_ROWS = 1 << 16
MIB = 1 << 20

# More of it is the same again: the vocabulary is nearly all in it.
MOST_ZIPF_BYTES = 64 * MIB

# Prints its input as words of ASCII letters and digits, in the same lines.
_AS_WORDS = ["tr", "-cs", "A-Za-z0-9\\n", " "]


def debian_contents() -> List[List[str]]:
    """Commands that print Debian's indices of all files of all packages, as `apt-file update` has stored them."""
    words = ["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Contents-deb"]
    try:
        names = subprocess.run(words, capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        return []
    return [["/usr/lib/apt/apt-helper", "cat-file", name] for name in names if Path(name).exists()]


def write_real_text(path: Path, size: int, files: Sequence[Path]) -> str:
    """The files, or without any Debian's indices, one after the other, and again until it is of the size. Returns what
    it is made of."""
    commands = [["cat", str(file)] for file in files] or debian_contents()
    if not commands:
        raise SystemExit(
            "there is no text whose words could be counted\n"
            "  Remedy: bench/keyvalue/peers/install.sh, which stores Debian's indices of files, or --text FILES"
        )
    with open(path, "wb") as output:
        for command in commands:
            _append_words(command, output, size)
    _fill_up(path, size)
    return "files named with --text" if files else "Debian's Contents indices"


def _append_words(command: List[str], output: BinaryIO, size: int) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as source:
        environment = {**os.environ, "LC_ALL": "C"}
        with subprocess.Popen(_AS_WORDS, stdin=source.stdout, stdout=subprocess.PIPE, env=environment) as words:
            assert words.stdout is not None
            while output.tell() < size and (block := words.stdout.read(MIB)):
                output.write(block[: size - output.tell()])
            words.kill()
        source.kill()


def _fill_up(path: Path, size: int) -> None:
    """Repeats what the file has, and ends it with a newline."""
    with open(path, "rb") as source, open(path, "r+b") as output:
        if not source.read(1):
            raise SystemExit("the text whose words are to be counted is empty")
        output.seek(0, os.SEEK_END)
        source.seek(0)
        while output.tell() < size:
            output.write(source.read(min(MIB, size - output.tell())))
            output.flush()
        output.seek(-1, os.SEEK_END)
        output.write(b"\n")


def write_zipf_text(path: Path, size: int) -> None:
    """Word i of the vocabulary is as frequent as 1 / i, nearly; the rarer, the longer."""
    import numpy

    random = numpy.random.default_rng(1)
    words = _vocabulary()
    in_lines = [word + b" " for word in words] + [word + b"\n" for word in words]

    def make(count: int) -> bytes:
        numbers = numpy.exp(random.random(count) * numpy.log(VOCABULARY + 1)).astype(numpy.int64) - 1
        numbers[LINE_WORDS - 1 :: LINE_WORDS] += VOCABULARY
        return b"".join(map(in_lines.__getitem__, numbers.tolist()))

    with open(path, "wb") as output:
        while output.tell() < min(size, MOST_ZIPF_BYTES):
            output.write(make(LINE_WORDS << 16))
    os.truncate(path, min(size, MOST_ZIPF_BYTES))
    _fill_up(path, size)


def _vocabulary() -> List[bytes]:
    """The octal digits of a word's number as letters, the last one first."""
    as_letters = bytes.maketrans(b"01234567", b"etaoinsh")
    return [(b"%o" % number)[::-1].translate(as_letters) for number in range(1, VOCABULARY + 1)]


def write_records(path: Path, size: int, build: Build) -> str:
    """Those of the sort benchmark that are lines, too. Returns their checksum."""
    count = max(START_LINES, size // RECORD_BYTES)
    words = [build.program("teragen"), "--ascii", str(count), str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]


def write_graph(path: Path, size: int) -> str:
    """Lines of `node neighbour neighbour ...`. Each node has links, 1 to 2 * LINKS - 1; neighbour i is as frequent as
    1 / i, nearly, wherever its number is. `.edges` has a link in each line."""
    import numpy

    random = numpy.random.default_rng(2)
    nodes = max(100, size // (LINKS * 8))
    numbers = random.permutation(nodes)
    with open(path, "w") as output, open(path.with_suffix(".edges"), "w") as edges:
        for begin in range(0, nodes, BLOCK_ROWS):
            block = range(begin, min(begin + BLOCK_ROWS, nodes))
            ends = numpy.cumsum(random.integers(1, 2 * LINKS, len(block))).tolist()
            ranks = numpy.exp(random.random(ends[-1]) * numpy.log(nodes + 1)).astype(numpy.int64) - 1
            neighbours = list(map(str, numbers[numpy.minimum(ranks, nodes - 1)].tolist()))
            for node, first, end in zip(block, [0, *ends], ends):
                output.write(f"{node} {' '.join(neighbours[first:end])}\n")
                edges.write("".join([f"{node} {neighbour}\n" for neighbour in neighbours[first:end]]))
    return f"a graph of {nodes} nodes with {LINKS} links each on average"


def write_points(path: Path, size: int) -> str:
    """Lines of numbers, from Gaussian distributions around CLUSTERS points. `.vectors` has them in brackets."""
    import numpy

    random = numpy.random.default_rng(3)
    points = max(100, size // (COLUMNS * 8))
    centers = 1.5 * random.random((CLUSTERS, COLUMNS))
    form = " ".join(["%.5f"] * COLUMNS) + "\n"
    with open(path, "w") as output, open(path.with_suffix(".vectors"), "w") as vectors:
        for begin in range(0, points, BLOCK_ROWS):
            count = min(BLOCK_ROWS, points - begin)
            block = centers[random.integers(0, CLUSTERS, count)] + random.standard_normal((count, COLUMNS))
            text = (form * count) % tuple(block.reshape(-1).tolist())
            output.write(text)
            vectors.write("".join([f"[{line}]\n" for line in text.replace(" ", ",").splitlines()]))
    return f"{points} points of {COLUMNS} columns around {CLUSTERS} centers"


def write_first_lines(path: Path, text: Path) -> None:
    """Hadoop needs more lines than it makes parts of output."""
    with open(text, "rb") as source:
        path.write_bytes(b"".join(source.readline() for _ in range(START_LINES)))
