"""Tables in a store that speaks the S3 protocol: what comes out, and that whatever goes wrong with it is said soon."""

import socket
import subprocess
import threading
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional

import pytest
from cases import in_turns
from runner import Runner
from s3_server import S3Server
from source_tree import SOURCE
from test_text_jobs import WAYS

HERE = Path(__file__).with_name("python")
SUM_BY_KEY = SOURCE / "apps" / "keyvalue" / "python" / "sum_by_key.py"
PLAIN = ["--plain", "-n", 2]
SOON_S = 20  # mistakes are said within a second or two, on a machine that does nothing else


@pytest.fixture(scope="module")
def package_python(package_environment) -> Path:  # type: ignore[no-untyped-def]
    package_environment.make("mpich")
    return Path(package_environment.python("mpich"))


@pytest.fixture(scope="module")
def s3(package_python: Path) -> Iterator[S3Server]:
    server = S3Server(package_python)
    yield server
    server.end()


@pytest.fixture(scope="module")
def inputs(s3: S3Server, package_python: Path, tmp_path_factory: pytest.TempPathFactory) -> List[Path]:
    """Those of sum_by_key.py, which are in the bucket `tables`, too."""
    folder = tmp_path_factory.mktemp("tables")
    subprocess.run([package_python, HERE / "sums_oracle.py", "make", folder], check=True)
    s3.put("tables", sorted(folder.iterdir()))
    return sorted(folder.iterdir())


@pytest.fixture
def bucket(s3: S3Server, request: pytest.FixtureRequest) -> str:
    """An empty one of the test's own."""
    name = f"bucket-{abs(hash(request.node.nodeid))}"
    s3.put(name, [])
    return name


@pytest.fixture
def run_with_s3(run_python: Callable, python_with_packages: Dict, s3: S3Server) -> Callable:
    """run_with_s3(options, script, *arguments, status=, env=): as run_python."""

    def run_it(options: List[object], script: Path, *arguments: object, status: Optional[int] = 0, env: Dict = {}):  # type: ignore[no-untyped-def]  # noqa: B006
        python, variables = python_with_packages["python"], {**python_with_packages["env"], **s3.variables, **env}
        return run_python(options, script, *arguments, status=status, python=python, env=variables)

    return run_it


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize("ending, way", in_turns([".parquet", ".csv", ".csv.gz"], [PLAIN, WAYS[2]]))
def test_sums_are_those_of_pyarrow(
    run: Runner,
    run_with_s3: Callable,
    s3: S3Server,
    inputs: List[Path],
    bucket: str,
    package_python: Path,
    tmp_path: Path,
    way: List[object],
    ending: str,
) -> None:
    files = [path for path in inputs if path.name.endswith(ending)]
    paths = [f"s3://tables/{path.name}" for path in files]
    run_with_s3([*way, "-O", 3, "-A", 2], SUM_BY_KEY, f"s3://{bucket}/sums", "name", "price", *paths)
    assert s3.names(bucket) == ["sums/_SUCCESS", "sums/part-00000.parquet", "sums/part-00001.parquet"]
    assert s3.names(bucket, "uploads") == []
    out = tmp_path / "out"
    out.mkdir()
    for name in s3.names(bucket):
        (out / Path(name).name).write_bytes(s3.ask("GET", f"{bucket}/{name}"))
    run(package_python, HERE / "sums_oracle.py", "compare", out, "name", "price", *files)


@pytest.mark.libraries_in_turn
def test_options_and_keys_in_a_path_are_used_and_not_shown(run_with_s3: Callable, s3: S3Server, bucket: str) -> None:
    s3.ask("PUT", f"{bucket}/bad.csv", b"id,price\n" + b"1,2\n" * 300000 + b"3,many\n")
    options = f"endpoint_override={s3.endpoint}&scheme=http&region=us-east-1"
    words = [f"s3://my-key:my-secret@{bucket}/{name}?{options}" for name in ("sums", "bad.csv")]
    nowhere = {"AWS_ENDPOINT_URL": "http://localhost:1"}
    finished = run_with_s3(PLAIN, SUM_BY_KEY, words[0], "id", "price", words[1], status=None, env=nowhere)
    assert finished.status != 0 and "my-secret" not in finished.stderr
    assert f"O task 0 ended by ValueError: cannot read s3://{bucket}/bad.csv: " in finished.stderr


@pytest.mark.libraries_in_turn
def test_a_part_is_there_when_it_is_whole(run_with_s3: Callable, s3: S3Server, bucket: str, tmp_path: Path) -> None:
    words = [HERE / "s3_part.py", f"s3://{bucket}/out", 0, tmp_path / "killed"]
    killed = run_with_s3(PLAIN, *words, status=None)
    assert killed.status != 0 and (tmp_path / "killed").exists()
    assert s3.names(bucket) == [] and s3.names(bucket, "uploads") == ["out/part-00000.parquet.partial"]
    run_with_s3(PLAIN, *words)
    assert s3.names(bucket) == ["out/_SUCCESS", "out/part-00000.parquet"]


@pytest.mark.libraries_in_turn
def test_a_job_goes_on_after_its_writer_was_killed(
    run_with_s3: Callable, s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    restart = ["--checkpoint", tmp_path / "checkpoint", "--restarts", 1]
    run_with_s3([*PLAIN, *restart], HERE / "s3_part.py", f"s3://{bucket}/out", 0, tmp_path / "killed")
    assert s3.names(bucket) == ["out/_SUCCESS", "out/part-00000.parquet"]


@pytest.mark.libraries_in_turn
def test_a_server_that_dies_ends_the_job(run_with_s3: Callable, package_python: Path, tmp_path: Path) -> None:
    server = S3Server(package_python)
    try:
        server.put("bucket", [])
        words = [HERE / "s3_part.py", "s3://bucket/out", server.process, tmp_path / "killed"]
        finished = run_with_s3(PLAIN, *words, status=None, env=server.variables)
    finally:
        server.end()
    assert finished.status != 0
    assert "A task 0 ended by OSError: cannot write s3://bucket/out/part-00000.parquet: " in finished.stderr
    assert "Remedy: check the network, and the endpoint that the path or AWS_ENDPOINT_URL names." in finished.stderr


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    "output, path, cause",
    [
        ("out", "none.csv", "cannot read s3://tables/none.csv: there is no such file"),
        ("out", "../no-bucket/none.csv", "cannot read s3://no-bucket/none.csv: there is no bucket 'no-bucket'"),
        ("no-bucket/out", "0.csv", "cannot write s3://no-bucket/out/part-00000: Bucket 'no-bucket' not found"),
    ],
    ids=["no_key", "no_bucket", "no_bucket_of_output"],
)
def test_what_is_missing_is_named(
    run_with_s3: Callable, inputs: List[Path], bucket: str, output: str, path: str, cause: str
) -> None:
    del inputs  # are there
    words = [f"s3://{output}" if "/" in output else f"s3://{bucket}/{output}", "id", "price"]
    source = path[3:] if path.startswith("../") else f"tables/{path}"
    finished = run_with_s3([*PLAIN, "-A", 1], SUM_BY_KEY, *words, f"s3://{source}", status=None)
    assert finished.status != 0 and cause in finished.stderr
    assert finished.ran_s < SOON_S


@pytest.mark.libraries_in_turn
def test_wrong_credentials_are_said(run_with_s3: Callable, s3: S3Server, inputs: List[Path], bucket: str) -> None:
    words = [f"s3://{bucket}/out", "id", "price", f"s3://tables/{inputs[0].name}"]
    with s3.all_credentials_refused():
        finished = run_with_s3(PLAIN, SUM_BY_KEY, *words, status=None)
    assert finished.status != 0 and f"cannot read s3://tables/{inputs[0].name}: " in finished.stderr
    assert "ACCESS_DENIED" in finished.stderr
    assert "Remedy: check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)" in finished.stderr
    assert finished.ran_s < SOON_S


@pytest.mark.libraries_in_turn
def test_an_endpoint_that_does_not_answer_is_not_asked_for_long(run_with_s3: Callable, bucket: str) -> None:
    """Each attempt may take 3 s of silence; here the connection ends at once, and attempts are counted."""
    attempts: List[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            while True:
                try:
                    attempts.append(listener.accept()[0])
                except OSError:
                    return
                attempts[-1].close()

        refusing = threading.Thread(target=refuse)
        refusing.start()
        env = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        words = [f"s3://{bucket}/out", "id", "price", "s3://tables/0.csv"]
        finished = run_with_s3(PLAIN, SUM_BY_KEY, *words, status=None, env=env)
        listener.shutdown(socket.SHUT_RDWR)
        refusing.join()
    assert finished.status != 0 and "cannot read s3://tables/0.csv: " in finished.stderr
    assert "Remedy: check the network, and the endpoint that the path or AWS_ENDPOINT_URL names." in finished.stderr
    assert 2 <= len(attempts) <= 2 * 5


def test_tables_in_a_store_without_a_job(
    run: Runner, s3: S3Server, bucket: str, build_dir: Path, package_python: Path, tmp_path: Path
) -> None:
    library = build_dir / "lib" / "spillway" / "libmpid-mpich.so"
    env = {"PYTHONPATH": str(SOURCE / "python"), "MPI_D_LIBRARY": str(library), "BUCKET": bucket, **s3.variables}
    run(package_python, HERE / "s3_checks.py", tmp_path, env=env)
