"""image_features.py beside scikit-image, and image-clustering beside NumPy, with all bounds."""

import gzip
import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Callable, Dict, List

import numpy as np
import pytest
from lloyd_oracle import lloyd
from parts import parts_in
from runner import Runner
from test_iterative_programs import run_killed  # noqa: F401 (a fixture)
from test_python_text_jobs import APPLICATIONS

HERE = Path(__file__).resolve().parent
ITERATION = ["-M", "iteration"]
TWO = [*ITERATION, "--plain", "-n", 2, "-O", 3, "-A", 5]
ONE = [*ITERATION, "--plain", "-n", 1, "-O", 4, "-A", 2]
ONE_SLOT = [*ITERATION, "--slots", 1, "-n", 3, "-O", 4, "-A", 2, "--memory", "256M"]
ROUND = re.compile(r"round (\d+): inertia (\S+), changed (\d+), distances (\S+) \((\d+)\), between centers (\d+)\n")


def clustered_vectors(count: int, columns: int, seed: int, parts: int = 1024) -> np.ndarray:
    """Multiples of 1/1024 or of another part, whose sums are exact."""
    generator = np.random.default_rng(seed)
    modes = generator.normal(size=(count // 12, columns))
    vectors = modes[generator.integers(0, len(modes), count)] + generator.normal(scale=0.5, size=(count, columns))
    return (np.round(vectors * parts) / parts).astype(np.float32)


def far_apart(vectors: np.ndarray) -> np.ndarray:
    """By turns around two places where spaces between floats are of 1/8."""
    return vectors + np.where(np.arange(len(vectors)) % 2, 2**20, -(2**20)).astype(np.float32)[:, None]


VECTORS: Dict[str, np.ndarray] = {
    "paper": clustered_vectors(500, 512, seed=1),
    "few_columns": clustered_vectors(700, 7, seed=2),
    "equal_vectors": np.full((40, 3), 0.25, np.float32),  # all but one center have none
    "grid": np.random.default_rng(3).integers(0, 3, (400, 4)).astype(np.float32),  # as near to several centers
    "far_apart": far_apart(clustered_vectors(300, 33, seed=4, parts=8)),
}


def places_of(count: int) -> np.ndarray:
    return np.stack([np.arange(count) // 5, np.arange(count) % 5 * 10, np.full(count, 7)], axis=1).astype("<i4")


def write_vectors(folder: Path, vectors: np.ndarray, text_format: str, count: int = 4) -> List[Path]:
    paths = [folder / f"vectors-{number}" for number in range(count)]
    parts = zip(paths, np.array_split(vectors, count), np.array_split(places_of(len(vectors)), count))
    for path, features, places in parts:
        if text_format == "binary":
            path.write_bytes(b"".join(place.tobytes() + row.tobytes() for place, row in zip(places, features)))
        else:
            lines = [" ".join(map(str, [*place, *row])) for place, row in zip(places, features)]
            path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def check_clustering(folder: Path, stdout: str, vectors: np.ndarray, count: int, rounds: int, bounds: str) -> None:
    expected = lloyd(vectors, count, rounds)
    centers = np.array([line.split() for line in (folder / "centers").read_text().splitlines()], np.float32)
    assert np.array_equal(centers, expected.centers)
    parts = parts_in(folder / "clusters")
    assert [path.name for path in parts] == [f"part-{number:05}" for number in range(len(parts))]
    lines = [tuple(map(int, line.split())) for path in parts for line in path.read_text().splitlines()]
    places = places_of(len(vectors)).tolist()
    assert sorted(lines) == sorted((*place, near) for place, near in zip(places, expected.nearest.tolist()))
    printed = {int(found[0]): found[1:] for found in ROUND.findall(stdout)}
    assert sorted(printed) == list(range(1, len(expected.changed) + 1))
    for number, (changed, inertia) in enumerate(zip(expected.changed, expected.inertia), 1):
        found_inertia, found_changed, fraction, distances, between_centers = printed[number]
        assert int(found_changed) == changed
        assert float(found_inertia) == pytest.approx(inertia, rel=1e-6)
        assert float(fraction) == pytest.approx(int(distances) / (len(vectors) * count), abs=1e-6)
        if bounds == "none" or number == 1:
            assert int(distances) == len(vectors) * (count + 1)  # one more for the inertia
        assert (int(between_centers) != 0) == (number != 1)


def cluster(
    run_job: Callable, folder: Path, vectors: np.ndarray, bounds: str, text_format: str, way: List[object]
) -> str:
    words = ["--bounds", bounds, "--format", text_format, "--clusters", folder / "clusters", "--block", 3]
    words += ["--columns", vectors.shape[1]] if vectors.shape[1] != 512 else []
    files = write_vectors(folder, vectors, text_format)
    finished, _ = run_job(way, "image-clustering", *words, folder / "centers", 20, 15, *files)
    return finished.stdout


CASES = [
    ("paper", "binary", TWO),
    ("few_columns", "text", ONE),
    ("grid", "binary", ONE),
    ("equal_vectors", "text", ONE),
    ("far_apart", "binary", ONE),
]


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("bounds, cases", [("none", CASES[:3]), ("elkan", CASES), ("drake-hamerly", CASES)])
def test_clusters_are_those_of_lloyd(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None, bounds: str, cases: List
) -> None:
    for name, text_format, way in cases:
        folder = tmp_path / name
        folder.mkdir()
        stdout = cluster(run_job, folder, VECTORS[name], bounds, text_format, way)
        check_clustering(folder, stdout, VECTORS[name], 20, 15, bounds)
        if name in ("paper", "few_columns"):
            fractions = [float(found[3]) for found in ROUND.findall(stdout)]
            assert min(fractions) < 0.9 or bounds == "none"


def test_clusters_are_those_of_lloyd_in_one_slot(run_job: Callable, tmp_path: Path, nothing_left_behind: None) -> None:
    stdout = cluster(run_job, tmp_path, VECTORS["paper"], "elkan", "text", ONE_SLOT)
    check_clustering(tmp_path, stdout, VECTORS["paper"], 20, 15, "elkan")


def test_first_centers_are_from_all_parts_of_files(
    run_job: Callable, tmp_path: Path, flavour: str, nothing_left_behind: None
) -> None:
    """Two parts of a file, which have at most 32 MiB, and a compressed file."""
    text_format, count = ("binary", 17000) if flavour == "mpich" else ("text", 7500)
    vectors = clustered_vectors(count, 512, seed=7)
    [whole] = write_vectors(tmp_path, vectors, text_format, count=1)
    items = whole.read_bytes()
    begin_of_last = 16500 * 2060 if text_format == "binary" else items.index(b"\n", 33 << 20) + 1
    assert 32 << 20 < begin_of_last < len(items)
    (tmp_path / "first").write_bytes(items[:begin_of_last])
    (tmp_path / "last.gz").write_bytes(gzip.compress(items[begin_of_last:], 1))
    words = ["--format", text_format, "--clusters", tmp_path / "clusters", tmp_path / "centers", 7, 1]
    finished, _ = run_job(TWO, "image-clustering", *words, tmp_path / "first", tmp_path / "last.gz")
    check_clustering(tmp_path, finished.stdout, vectors, 7, 1, "none")


def test_clusters_are_the_same_after_a_restart(
    run_killed: Callable,  # noqa: F811
    tmp_path: Path,
    flavour: str,
    nothing_left_behind: None,
) -> None:
    bounds = "elkan" if flavour == "mpich" else "drake-hamerly"
    vectors = np.random.default_rng(5).integers(0, 4096, (4000, 2)).astype(np.float32)
    words = ["--bounds", bounds, "--columns", 2, "--clusters", tmp_path / "clusters"]
    files = write_vectors(tmp_path, vectors, "text")
    stdout = run_killed(["--plain"], "image-clustering", *words, tmp_path / "centers", 40, 80, *files)
    check_clustering(tmp_path, stdout, vectors, 40, 80, bounds)


def test_local_reduction_sends_one_share_of_each_node(
    run_job: Callable, tmp_path: Path, nothing_left_behind: None
) -> None:
    """Two virtual nodes of two processes, with A tasks on the first one: the sums of each process of the second one go
    there, or of both together."""
    vectors = VECTORS["paper"]
    way = [*ITERATION, "-n", 4, "--ranks-per-node", 2, "-O", 4, "-A", 2]
    sums = {}
    for group in (1, 2):
        folder = tmp_path / f"groups_of_{group}"
        folder.mkdir()
        files = write_vectors(folder, vectors, "binary")
        words = ["--format", "binary", "--block", 5, "--clusters", folder / "clusters", folder / "centers", 40, 3]
        finished, report = run_job(way, "image-clustering", *words, *files, env={"MPI_D_REDUCTION_GROUP": group})
        check_clustering(folder, finished.stdout, vectors, 40, 3, "none")
        sums[group] = sum(figures["sent_bytes"] for figures in report["per_process"] if figures["process"] >= 2)
        nodes = json.loads((tmp_path / "report.json").read_text())["nodes"]
        centers = 4 * 40 * 512 * 4  # a broadcast for each round and the clusters
        assert sum(node["courier_sent_bytes"] for node in nodes) == pytest.approx(sums[group] + centers, rel=0.01)
    assert sums[2] == pytest.approx(3 * 40 * (1 + 512) * 8, rel=0.01)
    assert 2 * sums[2] <= sums[1]


def test_outputs_are_tried_before_the_first_round(
    run: Runner, key_value_program: Callable, tmp_path: Path, flavour: str
) -> None:
    (tmp_path / "input").write_text("0 0 0 1 2\n0 0 0 3 4\n0 0 0 5 7\n")
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "part-00007").touch()
    if flavour == "mpich":
        words, message = ["none/centers"], "cannot write none/centers"
    else:
        words, message = ["--clusters", "clusters", "centers"], "--clusters: clusters/part-00007 is there already"
    program = key_value_program("image-clustering")
    finished = run(program, "--columns", 2, *words, 2, 9, "input", status=None, cwd=tmp_path)
    assert finished.status != 0 and message in finished.stderr and "round" not in finished.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["clusters", "input", "part-00007"]


def wrong_binary(*features: float) -> bytes:
    right = np.arange(4, dtype="<f4").tobytes()
    return bytes(12) + right + bytes(12) + np.array(features, "<f4").tobytes()


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "content, message",
    [
        (b"0 0 0 1 2 3 4\n0 0 9 1 2 3\n", "input, line 2: there are 6 numbers where picture, row, column and 4"),
        (b"0 0 0 1 2 3 4\n0 0.5 9 1 2 3 4\n", "input, line 2: picture, row and column must be whole numbers"),
        (b"0 0 0 1 2 3 4\n0 0 9 1 2 3 -1.0001e15\n", "input, line 2: the feature -10001"),
        (b"0 0 0 1 2 3 4\n", "the files have 1 vectors, fewer than the 2 that are needed"),
        (b"", "the files have 0 vectors"),
        (wrong_binary(0, 1, 2, float("nan")), "input, record 2: the feature nan is no number from -1e15 to 1e15"),
        (wrong_binary(0, 1, 2), "its 52 bytes are no whole number of records of 28 bytes"),
    ],
)
def test_wrong_vectors_are_refused(
    run: Runner, key_value_program: Callable, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "input").write_bytes(content)
    text_format = "binary" if b"\0" in content else "text"
    words = ["--format", text_format, "--columns", 4, "centers", 2, 3, "input"]
    finished = run(key_value_program("image-clustering"), *words, status=None, cwd=tmp_path)
    assert finished.status != 0 and message in finished.stderr
    assert not list(tmp_path.glob("centers*"))


def test_numbers_may_be_as_large_as_is_said(
    run: Runner, key_value_program: Callable, tmp_path: Path, flavour: str
) -> None:
    text_format = "text" if flavour == "mpich" else "binary"
    numbers = ["-2147483648", "2147483647", "0", "1e15", "-1e15"]
    line = " ".join(numbers) + "\n"
    record = struct.pack("<3i2f", *map(int, numbers[:3]), *map(float, numbers[3:]))
    (tmp_path / "input").write_bytes(record if text_format == "binary" else line.encode())
    words = ["--format", text_format, "--columns", 2, "--clusters", "clusters", "centers", 1, 1, "input"]
    run(key_value_program("image-clustering"), *words, cwd=tmp_path)
    assert (tmp_path / "clusters" / "part-00000").read_text() == "-2147483648 2147483647 0 0\n"
    assert (tmp_path / "centers").read_text() == "1e+15 -1e+15\n"


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "words, status, message",
    [
        (["--bounds", "hamerly", "out", 2, 3, "input"], 2, "usage: mpidrun [options] image-clustering"),
        (["--format", "csv", "out", 2, 3, "input"], 2, "usage: "),
        (["--block", 0, "out", 2, 3, "input"], 1, "--block: '0' is not a whole number from 1 on"),
        (["--columns", 1000001, "out", 2, 3, "input"], 1, "--columns: at most 1000000 features"),
        (["out", "two", 3, "input"], 1, "CENTERS: 'two' is not a whole number from 1 on"),
        (["out", 2, 3], 2, "usage: "),
    ],
)
def test_wrong_words_are_refused(
    run: Runner, key_value_program: Callable, words: List[object], status: int, message: str
) -> None:
    assert message in run(key_value_program("image-clustering"), *words, status=status).stderr


def write_picture(path: Path, pixels: np.ndarray) -> None:
    """As a portable gray map of 8 or 16 bits: no library is needed."""
    height, width = pixels.shape
    head = f"P5 {width} {height} {255 if pixels.dtype == np.uint8 else 65535}\n"
    path.write_bytes(head.encode() + pixels.astype(">u2" if pixels.dtype == np.uint16 else pixels.dtype).tobytes())


def read_features(folder: Path, text_format: str) -> np.ndarray:
    """Rows of picture, row, column and features."""
    parts = parts_in(folder)
    if text_format == "text":
        return np.array([line.split() for path in parts for line in path.read_text().splitlines()], np.float32)
    record = np.dtype([("place", "<i4", 3), ("features", "<f4", 512)])
    records = np.concatenate([np.fromfile(path, record) for path in parts])
    return np.hstack([records["place"].astype(np.float32), records["features"]])


def expected_features(python: object, picture: Path) -> np.ndarray:
    words = [str(python), str(HERE / "python" / "expected_features.py"), str(picture)]
    found = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return np.array([line.split() for line in found.stdout.splitlines()], np.float32)


def test_features_are_those_of_scikit_image(
    run_python: Callable, python_with_packages: Dict, flavour: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(6)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    sizes = [(120, 150), (200, 120), (120, 121), (121, 60), (1, 1)]  # the last two are scaled
    for number, size in enumerate(sizes):
        bits = 16 if number == 2 else 8
        write_picture(pictures / f"{number}.pgm", generator.integers(0, 2**bits, size).astype(f"uint{bits}"))
    (pictures / ".of_the_file_manager").write_bytes(b"no picture")
    (pictures / "folder").mkdir()
    text_format = "binary" if flavour == "openmpi" else "text"
    words = ["--format", text_format, tmp_path / "out", pictures]
    way = ["--plain", "-n", 2, "-O", 3, "-A", 2]
    run_python(way, APPLICATIONS / "image_features.py", *words, **python_with_packages)
    found = read_features(tmp_path / "out", text_format)
    assert found[:, 0].tolist() == [number for number in range(len(sizes)) for _ in range(5)]
    for number in range(3):
        expected = expected_features(python_with_packages["python"], pictures / f"{number}.pgm")
        assert np.array_equal(found[5 * number : 5 * number + 5, 1:], expected)
    assert found[15:20, 1:3].tolist() == [[0, 0], [0, 80], [101, 40], [202, 0], [202, 80]]
    norms = np.linalg.norm(found[15:20, 3:].reshape(-1, 32), axis=1)
    assert norms == pytest.approx(np.ones(len(norms)), rel=1e-3)
    assert not found[20:, 3:].any()  # all of one gray


def as_float_tiff(pixels: np.ndarray) -> bytes:
    height, width = pixels.shape
    content = pixels.astype("<f4").tobytes()
    # Width, height, bits, no compression, black is 0, where the pixels begin, rows and bytes of them, floats.
    tags = {256: width, 257: height, 258: 32, 259: 1, 262: 1, 273: 8, 278: height, 279: len(content), 339: 3}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return (
        struct.pack("<2sHI", b"II", 42, 8 + len(content)) + content + struct.pack("<H", len(tags)) + entries + bytes(4)
    )


def test_wrong_pictures_are_refused(
    run_python: Callable, python_with_packages: Dict, tmp_path: Path, flavour: str
) -> None:
    write_picture(tmp_path / "right.pgm", np.zeros((50, 60), np.uint8))
    (tmp_path / "truncated").write_bytes((tmp_path / "right.pgm").read_bytes()[:1000])
    write_picture(tmp_path / "long", np.zeros((1, 60000), np.uint8))
    (tmp_path / "nan").write_bytes(as_float_tiff(np.where(np.eye(130), np.nan, 1)))
    (tmp_path / "folder").mkdir()
    messages = {
        "truncated": f"cannot read the picture {tmp_path}/truncated: image file is truncated",
        "long": f"cannot read the picture {tmp_path}/long: a side of it is more than 1000 times as long as the other",
        "nan": f"cannot read the picture {tmp_path}/nan: it has pixels that are no finite numbers",
        "folder": f"there are no files in the folder {tmp_path}/folder",
    }
    for wrong in ["truncated"] if flavour == "openmpi" else ["long", "nan", "folder"]:
        words = [APPLICATIONS / "image_features.py", tmp_path / "out", tmp_path / "right.pgm", tmp_path / wrong]
        finished = run_python(["--plain", "-n", 1], *words, status=1, **python_with_packages)
        assert messages[wrong] in finished.stderr
        assert not (tmp_path / "out").exists()
