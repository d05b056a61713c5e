"""Input and output of jobs that gzip and zstd have compressed. The oracles: Python's gzip, and libzstd at one blow."""

import ctypes
import gzip
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List

import pytest
from parts import parts_in
from runner import Runner
from source_tree import SOURCE

pytestmark = pytest.mark.libraries_in_turn

PYTHON_WORDCOUNT = SOURCE / "apps" / "keyvalue" / "python" / "wordcount.py"
PLAIN = ["--plain", "-n", 2, "-O", 3, "-A", 2]
TEXTS = [" ".join(random.Random(seed).choices("abcdefghij", k=30000)).replace(" j ", "\n") for seed in range(4)]


def zstd_library() -> ctypes.CDLL:
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_decompress.restype = ctypes.c_size_t
    return library


def zstd(data: bytes) -> bytes:
    library = zstd_library()
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    sizes = ctypes.c_size_t(len(room)), ctypes.c_size_t(len(data))
    size = library.ZSTD_compress(room, sizes[0], data, sizes[1], 3)
    return room.raw[:size]


def unzstd(data: bytes) -> bytes:
    room = ctypes.create_string_buffer(10 << 20)
    size = zstd_library().ZSTD_decompress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
    assert size <= len(room)
    return room.raw[:size]


READERS = {"": lambda data: data, ".gz": gzip.decompress, ".zst": unzstd}


@pytest.fixture
def files(tmp_path: Path) -> List[Path]:
    """A plain one, and compressed ones, whose names do not all say so."""
    contents = [text.encode() for text in TEXTS]
    packed = {
        "plain": contents[0],
        "two_members": gzip.compress(contents[1][:999]) + gzip.compress(contents[1][999:]),
        "a.zst": zstd(contents[2][:999]) + zstd(contents[2][999:]),
        "b.gz": gzip.compress(contents[3]),
    }
    for name, data in packed.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in packed]


def counted(folder: Path, suffix: str) -> Dict[str, int]:
    parts = parts_in(folder)
    assert [path.name for path in parts] == [f"part-0000{task}{suffix}" for task in range(2)]
    lines = [line for path in parts for line in READERS[suffix](path.read_bytes()).decode().splitlines()]
    assert len({line.split("\t")[0] for line in lines}) == len(lines)
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("codec, suffix", [("gzip", ".gz"), ("zstd", ".zst")])
def test_words_of_compressed_files_are_counted(
    run_job: Callable, run_python: Callable, files: List[Path], tmp_path: Path, codec: str, suffix: str
) -> None:
    expected = Counter(word for text in TEXTS for word in text.split())
    env = {"MPI_D_OUTPUT_CODEC": codec}
    run_job(PLAIN, "wordcount", tmp_path / "out", *files, env=env)
    assert counted(tmp_path / "out", suffix) == expected
    run_python(PLAIN, PYTHON_WORDCOUNT, tmp_path / "python", *files, env=env)
    assert counted(tmp_path / "python", suffix) == expected


def test_the_program_may_say_the_codec(run_python: Callable, files: List[Path], tmp_path: Path) -> None:
    text = PYTHON_WORDCOUNT.read_text().replace(".run(", '.run(output_codec="zstd", ')
    (tmp_path / "count.py").write_text(text)
    run_python(PLAIN, tmp_path / "count.py", tmp_path / "out", files[0])
    assert counted(tmp_path / "out", ".zst") == Counter(TEXTS[0].split())


def test_an_unknown_codec_is_refused(run_job: Callable, files: List[Path], tmp_path: Path) -> None:
    env = {"MPI_D_OUTPUT_CODEC": "lz4"}
    finished, _ = run_job(PLAIN, "wordcount", tmp_path / "out", files[0], env=env, status=None)
    assert finished.status != 0 and "MPI_D_OUTPUT_CODEC: 'lz4' is not none, gzip or zstd" in finished.stderr


def test_a_damaged_file_ends_the_job(
    run_job: Callable, run_python: Callable, files: List[Path], tmp_path: Path
) -> None:
    for path in files[1:3]:
        path.write_bytes(path.read_bytes()[:-5])
    cause = "it is cut off: its compressed data have no end, and the file ends at byte "
    way = ["--plain", "-n", 2, "-O", 2, "-A", 2]
    finished, _ = run_job(way, "wordcount", tmp_path / "out", files[0], files[1], status=None)
    assert finished.status != 0 and f"O task 1: cannot read {files[1]}: {cause}" in finished.stderr
    finished = run_python(way, PYTHON_WORDCOUNT, tmp_path / "out", files[0], files[2], status=1)
    assert f"O task 1 ended by OSError: cannot read {files[2]}: {cause}" in finished.stderr
    assert not (tmp_path / "out").exists()


def test_compressed_files_in_python_without_a_job(run: Runner, build_dir: Path, tmp_path: Path) -> None:
    library = next(build_dir.glob("lib/spillway/libmpid-*.so"))
    env = {"PYTHONPATH": str(SOURCE / "python"), "MPI_D_LIBRARY": str(library)}
    run(sys.executable, Path(__file__).with_name("python") / "compressed_checks.py", tmp_path, env=env)
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).endswith("199999 ä\n".encode())
    assert unzstd((tmp_path / "out.zst").read_bytes()).endswith("199999 ä\n".encode())
