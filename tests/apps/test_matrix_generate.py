"""matrix-generate: the same matrix for the same options, and one with the structure that it promises."""

import math
import random
import statistics
from array import array
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest
from csr_oracle import ALIGNMENT, Matrix, decode_matrix, entries_position
from limits import little_disk, little_memory
from runner import Runner

Generate = Callable[..., bytes]
Row = List[Tuple[int, float]]


@pytest.fixture
def generate(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> Generate:
    """generate(kind, *options): the bytes of the file."""

    def generate_it(kind: str, *options: object) -> bytes:
        path = tmp_path / "matrix.csr"
        finished = run(program("matrix-generate"), *options, kind, path)
        assert [found.name for found in tmp_path.iterdir()] == ["matrix.csr"], "something was left behind"
        content = path.read_bytes()
        matrix, columns = decode_matrix(content)
        printed = f"{path}: {len(matrix)} rows, {columns} columns, {sum(map(len, matrix))} entries, "
        assert finished.stdout.startswith(printed) and finished.stdout.endswith(" s\n")
        return content

    return generate_it


def matrix_of(generate: Generate, kind: str, rows: int, columns: int, *options: object) -> Matrix:
    """The matrix, with what holds for all of them checked."""
    matrix, column_count = decode_matrix(generate(kind, "--rows", rows, "--columns", columns, *options))
    assert (len(matrix), column_count) == (rows, columns)
    for row in matrix:
        found = [column for column, _ in row]
        assert found == sorted(set(found))
        assert not found or found[-1] < columns
    return matrix


def rows_by_column(matrix: Matrix) -> List[int]:
    """How many rows have a column, for all columns, most frequent first."""
    return sorted(Counter(column for row in matrix for column, _ in row).values(), reverse=True)


SMALL = {
    "documents": ["--rows", 6000, "--columns", 3000, "--entries-per-row", 60, "--topics", 7],
    "ratings": ["--rows", 30000, "--columns", 500, "--entries", 400000, "--rank", 5],
}


@pytest.mark.parametrize("kind, option", [("documents", "--entries-per-row=2"), ("ratings", "--entries=300000")])
def test_threads_do_not_change_the_matrix(generate: Generate, kind: str, option: str) -> None:
    # Several blocks, of 16384 rows, for each thread.
    files = [generate(kind, "--rows", 170000, option, "--threads", threads) for threads in (1, 2, 5)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("kind", SMALL)
def test_seeds_give_different_matrices(generate: Generate, kind: str) -> None:
    assert generate(kind, *SMALL[kind], "--seed", 1) != generate(kind, *SMALL[kind], "--seed", 2)


@pytest.mark.parametrize("kind", SMALL)
def test_each_option_matters(generate: Generate, kind: str) -> None:
    options = SMALL[kind]
    original = generate(kind, *options)[ALIGNMENT:]  # the header shows the options anyway
    for place in range(1, len(options), 2):
        changed = [*options[:place], options[place] - 1, *options[place + 1 :]]
        assert generate(kind, *changed)[ALIGNMENT:] != original, options[place - 1]


# --- documents


def dot(left: Dict[int, float], right: Dict[int, float]) -> float:
    return sum(value * right.get(column, 0) for column, value in left.items())


def unit(vector: Dict[int, float]) -> Dict[int, float]:
    length = math.sqrt(dot(vector, vector))
    return {column: value / length for column, value in vector.items()}


def cluster(rows: List[Dict[int, float]], count: int) -> List[int]:
    """Spherical k-means; starts from rows that are each as far as can be from those chosen before."""
    centers = [rows[0]]
    while len(centers) < count:
        centers.append(min(rows, key=lambda row: max(dot(row, center) for center in centers)))
    chosen: List[int] = []
    for _ in range(8):
        chosen = [max(range(count), key=lambda place: dot(row, centers[place])) for row in rows]
        sums: List[Dict[int, float]] = [Counter() for _ in range(count)]
        for row, place in zip(rows, chosen):
            for column, value in row.items():
                sums[place][column] += value
        centers = [unit(total) for total in sums]
    return chosen


def similarities(rows: List[Dict[int, float]], clusters: List[int]) -> Tuple[float, float]:
    """The mean inside clusters and between them."""
    inside, between = [], []
    for place, row in enumerate(rows):
        for other in range(place):
            (inside if clusters[place] == clusters[other] else between).append(dot(row, rows[other]))
    return statistics.mean(inside), statistics.mean(between)


def test_clustering_finds_the_topics(generate: Generate) -> None:
    topics, documents = 5, 400
    shape = (documents, 3000, "--entries-per-row", 60, "--topics")
    rows = [dict(row) for row in matrix_of(generate, "documents", *shape, topics)]
    clusters = cluster(rows, topics)
    sizes = Counter(clusters)
    assert all(0.6 < sizes[place] / (documents / topics) < 1.5 for place in range(topics)), sizes
    inside, between = similarities(rows, clusters)
    assert inside > 4 * between, (inside, between)
    # Where there is a single topic, the same clustering finds next to nothing.
    rows = [dict(row) for row in matrix_of(generate, "documents", *shape, 1)]
    inside, between = similarities(rows, cluster(rows, topics))
    assert inside < 2.5 * between, (inside, between)


def test_document_rows_have_length_1(generate: Generate) -> None:
    for row in matrix_of(generate, "documents", 2000, 4000):
        assert row
        assert math.fsum(value * value for _, value in row) == pytest.approx(1, abs=1e-6)
        assert all(0 <= value <= 1 for _, value in row)


def test_values_of_documents_are_tf_idf(generate: Generate) -> None:
    # Divided by its inverse frequency, each value of a row is a whole multiple of the smallest.
    matrix = matrix_of(generate, "documents", 500, 2000, "--entries-per-row", 40)
    frequencies = Counter(column for row in matrix for column, _ in row)
    counts = Counter()
    for row in matrix:
        weights = [value / math.log(len(matrix) / frequencies[column]) for column, value in row]
        for weight in weights:
            # The smallest is nearly always 1 word; where it is not, ratios may be fractions.
            ratio = weight / min(weights)
            counts[round(ratio) if abs(ratio - round(ratio)) < 1e-4 * ratio else "fraction"] += 1
    assert counts["fraction"] < 0.01 * sum(counts.values()), counts
    assert counts[1] > counts[2] > counts[3] > counts[6] > 0


def test_lengths_of_documents_are_log_normal(generate: Generate) -> None:
    matrix = matrix_of(generate, "documents", 4000, 20000, "--entries-per-row", 80)
    logarithms = [math.log(len(row)) for row in matrix]
    assert statistics.mean(len(row) for row in matrix) == pytest.approx(80, rel=0.04)
    assert statistics.pstdev(logarithms) == pytest.approx(0.6, rel=0.06)
    assert statistics.mean(logarithms) == pytest.approx(statistics.median(logarithms), abs=0.05)


def test_terms_follow_the_law_of_zipf(generate: Generate) -> None:
    # Short documents, in which hardly any term comes twice, about one topic.
    matrix = matrix_of(generate, "documents", 30000, 10000, "--entries-per-row", 5, "--topics", 1)
    frequencies = rows_by_column(matrix)
    for rank in (10, 100):
        assert frequencies[10 * rank - 1] / frequencies[rank - 1] == pytest.approx(0.1, rel=0.35), rank
    assert sum(frequencies[:100]) > 0.4 * sum(frequencies)


def test_frequent_terms_are_spread_over_the_columns(generate: Generate) -> None:
    counts = Counter(column for row in matrix_of(generate, "documents", 3000, 4000) for column, _ in row)
    quarters = Counter(column * 4 // 4000 for column, _ in counts.most_common(200))
    assert all(quarters[quarter] > 25 for quarter in range(4)), quarters


@pytest.mark.parametrize("columns, mean, longest", [(40, 10, 20), (3, 1, 1), (1, 1, 1)])
def test_documents_use_up_to_half_of_all_terms(generate: Generate, columns: int, mean: int, longest: int) -> None:
    matrix = matrix_of(generate, "documents", 300, columns, "--entries-per-row", mean)
    assert max(len(row) for row in matrix) == longest


def test_documents_of_few_terms_need_no_option(generate: Generate) -> None:
    matrix = matrix_of(generate, "documents", 3000, 80)
    assert 15 < statistics.mean(len(row) for row in matrix) < 20


def test_a_single_document_has_weights_of_zero(generate: Generate) -> None:
    # A term that is in all documents tells nothing: its weight is log 1.
    [row] = matrix_of(generate, "documents", 1, 12, "--entries-per-row", 3)
    assert row and all(value == 0 for _, value in row)


# --- ratings


def test_ratings_are_as_many_as_asked_for_from_1_to_5(generate: Generate) -> None:
    matrix = matrix_of(generate, "ratings", 3000, 400, "--entries", 60000)
    counts = Counter(value for row in matrix for _, value in row)
    assert sum(counts.values()) == 60000
    assert set(counts) == {1, 2, 3, 4, 5}
    assert all(count > 600 for count in counts.values()), counts
    assert statistics.mean(counts.elements()) == pytest.approx(3.6, abs=0.2)


@pytest.mark.parametrize(
    "rows, columns, entries",
    [(50, 20, 1000), (50, 20, 999), (50, 20, 700), (50, 20, 21), (50, 20, 1), (50, 20, 0), (1, 1, 1), (7, 1, 5)]
    + [(1, 30, 17), (2000, 10, 19990)],
)
def test_any_number_of_ratings_that_fits_is_made(generate: Generate, rows: int, columns: int, entries: int) -> None:
    matrix = matrix_of(generate, "ratings", rows, columns, "--entries", entries)
    assert sum(len(row) for row in matrix) == entries


def test_a_user_who_rates_everything_takes_no_longer_than_others(
    run: Runner, program: Callable[[str], Path], tmp_path: Path
) -> None:
    # To draw all of so many items at random would take half a minute.
    items = 4000000
    words = ["ratings", "--rows", 1, "--columns", items, "--entries", items, "--rank", 1, tmp_path / "matrix.csr"]
    run(program("matrix-generate"), *words, timeout_s=8)
    entries = array("I", (tmp_path / "matrix.csr").read_bytes()[entries_position(1) :])
    assert entries[::2] == array("I", range(items))


def test_activity_and_popularity_are_skewed(generate: Generate) -> None:
    users, items, entries = 8000, 1000, 200000
    matrix = matrix_of(generate, "ratings", users, items, "--entries", entries)
    lengths = sorted((len(row) for row in matrix), reverse=True)
    # A power law with a flat head of 1 in 200: the first tenth has log 21 / log 201 = 57%, the last tenth 2%.
    assert sum(lengths[: users // 10]) == pytest.approx(0.57 * entries, rel=0.05)
    assert sum(lengths[-users // 10 :]) == pytest.approx(0.02 * entries, rel=0.2)
    assert statistics.median(lengths) < 0.5 * entries / users
    popularity = rows_by_column(matrix)
    # Less so, as the most active users have soon rated what is popular.
    assert 0.35 * entries < sum(popularity[: items // 10]) < 0.57 * entries
    assert popularity[0] > 10 * popularity[items // 2]
    assert len(popularity) == items


def test_active_users_and_popular_items_are_spread(generate: Generate) -> None:
    matrix = matrix_of(generate, "ratings", 4000, 800, "--entries", 80000)
    active = sorted(range(4000), key=lambda user: -len(matrix[user]))[:200]
    popular = Counter(column for row in matrix for column, _ in row).most_common(80)
    users = Counter(user // 1000 for user in active)
    items = Counter(item // 200 for item, _ in popular)
    assert all(users[quarter] > 25 for quarter in range(4)), users
    assert all(items[quarter] > 8 for quarter in range(4)), items


class Factorization:
    """Biases, and vectors of `rank` numbers, found by stochastic gradient descent."""

    def __init__(self, rows: int, columns: int, rank: int, mean: float) -> None:
        choices = random.Random(1)
        self.mean = mean
        self.users = [[0.0, *(choices.gauss(0, 0.1) for _ in range(rank))] for _ in range(rows)]
        self.items = [[0.0, *(choices.gauss(0, 0.1) for _ in range(rank))] for _ in range(columns)]

    def error(self, row: int, column: int, value: float) -> float:
        user, item = self.users[row], self.items[column]
        return value - self.mean - user[0] - item[0] - sum(u * i for u, i in zip(user[1:], item[1:]))

    def learn(self, ratings: List[Tuple[int, int, float]], passes: int) -> None:
        rate, decay = 0.02, 0.03
        for _ in range(passes):
            for row, column, value in ratings:
                step = rate * self.error(row, column, value)
                user, item = self.users[row], self.items[column]
                user[0] += step
                item[0] += step
                for place in range(1, len(user)):
                    was = user[place]
                    user[place] += step * item[place] - rate * decay * was
                    item[place] += step * was - rate * decay * item[place]

    def mean_square(self, ratings: List[Tuple[int, int, float]]) -> float:
        return statistics.mean(self.error(*rating) ** 2 for rating in ratings)


def test_a_factorization_explains_more_than_the_means(generate: Generate) -> None:
    # On ratings that it has not seen.
    users, items, rank = 300, 80, 2
    matrix = matrix_of(generate, "ratings", users, items, "--entries", 9000, "--rank", rank)
    ratings = [(user, item, value) for user, row in enumerate(matrix) for item, value in row]
    random.Random(2).shuffle(ratings)
    seen, unseen = ratings[:8000], ratings[8000:]
    mean = statistics.mean(value for _, _, value in seen)
    errors = {}
    for name, used_rank in (("means", 0), ("model", rank)):
        model = Factorization(users, items, used_rank, mean)
        model.learn(seen, passes=60)
        errors[name] = model.mean_square(unseen)
    errors["none"] = statistics.pvariance([value for _, _, value in unseen])
    assert errors["means"] < 0.9 * errors["none"], errors
    assert errors["model"] < 0.6 * errors["means"], errors


# --- what goes wrong


@pytest.mark.parametrize(
    "options, message",
    [
        (["--rows", "0", "documents"], "option --rows: '0' is not a whole number"),
        (["--columns", "x", "ratings"], "option --columns: 'x' is not a whole number"),
        (["--columns", "4294967297", "ratings"], "option --columns"),
        (["--topics", "0", "documents"], "option --topics"),
        (["--rank", "0", "ratings"], "option --rank"),
        (["--threads", "0", "ratings"], "option --threads"),
        (["--seed", "-1", "ratings"], "option --seed"),
        (["--nothing", "ratings"], "--nothing"),
        (["--entries", "5", "documents"], "option --entries is for ratings only"),
        (["--rank", "5", "documents"], "option --rank is for ratings only"),
        (["--topics", "5", "ratings"], "option --topics is for documents only"),
        (["--entries-per-row", "5", "ratings"], "option --entries-per-row is for documents only"),
        (
            ["--columns", "9", "--entries-per-row", "10", "documents"],
            "10 is more than 2, a quarter of the 9 columns",
        ),
        (["--rows", "5", "--columns", "9", "--entries", "46", "ratings"], "46 do not fit into 5 rows of 9 columns"),
        (["books"], "KIND 'books' is none of documents, ratings"),
        ([], "a KIND and an OUTPUT file are needed"),
    ],
)
def test_wrong_command_line_is_named(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, options: List[str], message: str
) -> None:
    finished = run(program("matrix-generate"), *options, tmp_path / "matrix.csr", status=2)
    assert finished.stderr.startswith("matrix-generate: ") and message in finished.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", SMALL)
def test_full_disk_is_named_and_leaves_nothing(
    run: Runner, program: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    finished = run(*little_disk(64), program("matrix-generate"), kind, tmp_path / "matrix.csr", status=1)
    assert "cannot write" in finished.stderr
    assert not list(tmp_path.iterdir())


def test_too_many_columns_for_tf_idf_are_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    words = ["documents", "--rows", 5, "--columns", 2**32, tmp_path / "matrix.csr"]  # 32 GiB of weights
    finished = run(*little_memory(1 << 20), program("matrix-generate"), *words, status=1)
    assert "not enough memory for tf-idf, which needs 8 bytes for each of 4294967296 columns; use" in finished.stderr
    assert not list(tmp_path.iterdir())


def test_output_that_cannot_be_written_is_named(run: Runner, program: Callable[[str], Path], tmp_path: Path) -> None:
    finished = run(program("matrix-generate"), "documents", tmp_path / "no" / "matrix.csr", status=1)
    assert str(tmp_path / "no") in finished.stderr
