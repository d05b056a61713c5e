"""Who is measured: Spillway and what users would take instead, each with the settings that are best for it on a machine
of few cores (bench/README.md says why), told how much memory it has."""

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from inputs import CLUSTERS
from measuring.build import SOURCE, Build

MIB = 1 << 20
PEERS = Path(__file__).resolve().parent / "peers"
INSTALL = "bench/keyvalue/peers/install.sh installs it"
DEFAULT_FOLDER = SOURCE / "build" / "peers"


class Work(NamedTuple):
    """One run."""

    job: str
    input: Path
    output: Path  # folder that is not there yet; files whose names begin with `part` come into it
    scratch: Path  # empty folder on the same disk
    memory_bytes: int  # that the contender may use in all
    is_limited: bool  # to that, by a control group that counts file cache, too
    rounds: int  # of jobs that have some


class Contender(ABC):
    name: str
    title: str
    jobs: List[str]

    @abstractmethod
    def missing(self) -> str:
        """Why it cannot be measured here; empty: it can."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def command(self, work: Work) -> List[str]:
        """That makes the output."""


def cores() -> int:
    return len(os.sched_getaffinity(0))


def _first_line_of(command: List[str]) -> str:
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return finished.stdout.splitlines()[0] if finished.stdout else "unknown version"


class Spillway(Contender):
    """A process for each core."""

    name, title = "spillway", "Spillway"
    jobs = ["wordcount", "sort", "terasort", "pagerank", "kmeans"]
    # Of a limited job: 32 MiB and 4 MiB for each process that Spillway may exceed its budget by, 32 MiB and 1 MiB for
    # what is not processes of it (measuring/residency.py).
    _slack_bytes = 64 * MIB
    _slack_bytes_per_process = 5 * MIB

    def __init__(self, build: Build, flavour: str) -> None:
        self._build = build
        programs = {"wordcount": "wordcount", "sort": "lines-sort", "terasort": "terasort"}
        programs.update({"pagerank": "keyvalue-pagerank", "kmeans": "keyvalue-kmeans"})
        self.programs = {job: build.mpi_program("tests", name, flavour) for job, name in programs.items()}

    def missing(self) -> str:
        return ""

    def version(self) -> str:
        mpi = self._build.mpi_of(self.programs["wordcount"])
        return f"{self._build.version()}, {mpi.title} {mpi.version}"

    def command(self, work: Work) -> List[str]:
        budget = work.memory_bytes
        if work.is_limited:
            budget -= self._slack_bytes + self._slack_bytes_per_process * cores()
        mode = "iteration" if work.rounds else "mapreduce"
        words = [self._build.program("mpidrun"), "-M", mode, "-n", cores(), "-A", cores(), "--memory", budget]
        words += ["--spill-dir", work.scratch, "--progress", "none", "--summary", "none", "--"]
        command = [*map(str, words), self.programs[work.job]]
        if work.job == "kmeans":
            arguments = [work.output / "part", CLUSTERS, work.rounds, work.input]
            return into_folder(work.output, [*command, *map(str, arguments)])
        rounds = [str(work.rounds)] if work.rounds else []
        return [*command, str(work.output), *rounds, str(work.input)]


class Spark(Contender):
    name, title = "spark", "Spark"
    jobs = ["wordcount", "sort", "terasort", "pagerank", "kmeans"]
    _suffixes = {"pagerank": ".edges", "kmeans": ".vectors"}  # of the input in the form that GraphX and MLlib read

    def __init__(self, folder: Path) -> None:
        self._python = folder / "python" / "bin" / "python"

    def missing(self) -> str:
        if not can_import(self._python, "pyspark"):
            return f"no pyspark in {self._python.parent}: {INSTALL}"
        return "" if shutil.which("java") else f"no java: {INSTALL}"

    def version(self) -> str:
        return "Spark " + _first_line_of([str(self._python), "-c", "import pyspark; print(pyspark.__version__)"])

    def command(self, work: Work) -> List[str]:
        source = work.input.with_suffix(self._suffixes.get(work.job, work.input.suffix))
        parts = max(cores(), source.stat().st_size // (64 * MIB))
        words = [PEERS / "spark_job.py", work.job, source, work.output]
        words += {"pagerank": [work.rounds, parts], "kmeans": [work.rounds, parts, CLUSTERS]}.get(work.job, [])
        return self.with_settings(words, work.scratch, _heap_mib(work), parts)

    def with_settings(self, program: List[object], scratch: Path, heap_mib: int, parts: int) -> List[str]:
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(parts),
            "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        }
        options = ["--master", f"local[{cores()}]", "--driver-memory", f"{heap_mib}m"]
        for setting, value in settings.items():
            options += ["--conf", f"{setting}={value}"]
        environment = {
            "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"]),
            "PYSPARK_PYTHON": str(self._python),
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        return _with_environment(environment, [str(self._python), *map(str, program)])


class Hadoop(Contender):
    """Hadoop's own examples, and what it has none of in peers/; tasks as threads of one JVM."""

    name, title = "hadoop", "Hadoop MapReduce"
    jobs = ["wordcount", "terasort", "pagerank", "kmeans"]
    _classes = {
        "wordcount": "org.apache.hadoop.examples.WordCount",
        "terasort": "org.apache.hadoop.examples.terasort.TeraSort",
        "pagerank": "PageRank",
        "kmeans": "KMeans",
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "hadoop"

    def missing(self) -> str:
        if not any(self._folder.glob("hadoop-mapreduce-examples-*.jar")) or not (self._folder / "jobs").exists():
            return f"no jars in {self._folder}: {INSTALL}"
        return "" if shutil.which("java") else f"no java: {INSTALL}"

    def version(self) -> str:
        [jar] = self._folder.glob("hadoop-mapreduce-examples-*.jar")
        return f"Hadoop {jar.stem.rsplit('-', 1)[1]} on {_first_line_of(['java', '-version'])}"

    def command(self, work: Work) -> List[str]:
        heap_mib = _heap_mib(work)
        split_bytes = min(128 * MIB, max(1, -(-work.input.stat().st_size // cores())))
        settings = {
            "mapreduce.framework.name": "local",
            "fs.defaultFS": "file:///",
            "hadoop.tmp.dir": work.scratch,
            "mapreduce.local.map.tasks.maximum": cores(),
            "mapreduce.local.reduce.tasks.maximum": cores(),
            "mapreduce.job.reduces": cores(),
            "mapreduce.input.fileinputformat.split.minsize": split_bytes,
            "mapreduce.input.fileinputformat.split.maxsize": split_bytes,
            # Each of the maps that run at a time has such a buffer.
            "mapreduce.task.io.sort.mb": min(512, heap_mib // (3 * cores())),
            "mapreduce.task.io.sort.factor": 100,
            # Of the heap, for each of the reduces that run at a time.
            "mapreduce.reduce.shuffle.input.buffer.percent": 0.7 / cores(),
            "mapreduce.client.completion.pollinterval": 50,
            "mapreduce.client.progressmonitor.pollinterval": 50,
        }
        classes = f"{self._folder}/*:{self._folder}/jobs"
        words = ["java", f"-Xmx{heap_mib}m", "-XX:+UseParallelGC", "-cp", classes, self._classes[work.job]]
        for setting, value in settings.items():
            words += ["-D", f"{setting}={value}"]
        rounds = {"pagerank": [work.rounds], "kmeans": [CLUSTERS, work.rounds]}.get(work.job, [])
        return [*words, work.input.as_uri(), work.output.as_uri(), *map(str, rounds)]


class DuckDb(Contender):
    name, title = "duckdb", "DuckDB"
    jobs = ["wordcount", "sort", "terasort", "pagerank"]

    def __init__(self, folder: Path) -> None:
        self._python = folder / "python" / "bin" / "python"

    def missing(self) -> str:
        return "" if can_import(self._python, "duckdb") else f"no duckdb in {self._python.parent}: {INSTALL}"

    def version(self) -> str:
        return "DuckDB " + _first_line_of([str(self._python), "-c", "import duckdb; print(duckdb.__version__)"])

    def command(self, work: Work) -> List[str]:
        memory_mib = work.memory_bytes // MIB * (7 if work.is_limited else 8) // 10
        words = [self._python, PEERS / "duckdb_job.py", work.job, work.input, work.output]
        return [*map(str, words), f"{memory_mib}MiB", str(work.scratch), str(cores()), str(work.rounds)]


class GnuSort(Contender):
    name, title = "sort", "GNU sort"
    jobs = ["sort", "terasort"]

    def missing(self) -> str:
        return "" if shutil.which("sort") else "no sort: it is part of coreutils"

    def version(self) -> str:
        return _first_line_of(["sort", "--version"])

    def command(self, work: Work) -> List[str]:
        memory_mib = work.memory_bytes // MIB * (9 if work.is_limited else 10) // 10
        words = [f"--parallel={cores()}", "-S", f"{memory_mib}M", "-T", work.scratch, "-o", work.output / "part"]
        return into_folder(work.output, ["sort", *map(str, words), str(work.input)])


class Awk(Contender):
    name, title = "mawk", "mawk, 1 core"
    jobs = ["wordcount"]
    _program = '{ for (i = 1; i <= NF; ++i) ++c[$i] } END { for (w in c) printf "%s\\t%d\\n", w, c[w] }'

    def missing(self) -> str:
        return "" if shutil.which("mawk") else f"no mawk: {INSTALL}"

    def version(self) -> str:
        return _first_line_of(["mawk", "-W", "version"])

    def command(self, work: Work) -> List[str]:
        words = ["sh", "-c", 'exec mawk "$1" "$2" >"$0"', work.output / "part", self._program, work.input]
        return into_folder(work.output, list(map(str, words)))


def _with_environment(environment: Dict[str, str], command: List[str]) -> List[str]:
    return ["env", *(f"{name}={value}" for name, value in environment.items()), *command]


def into_folder(folder: Path, command: List[str]) -> List[str]:
    """In the locale in which bytes are letters, as all others compare them."""
    make_folder = ["sh", "-c", 'mkdir "$0" && exec "$@"', str(folder), *command]
    return _with_environment({"LC_ALL": "C"}, make_folder)


def _heap_mib(work: Work) -> int:
    """A JVM takes some 300 MiB beside its heap."""
    memory_mib = work.memory_bytes // MIB
    return memory_mib - max(256, memory_mib // 4) if work.is_limited else memory_mib


def can_import(python: Path, module: str) -> bool:
    return (
        python.exists() and not subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode
    )


def contenders(build: Build, flavour: str, peers: Path, names: Optional[List[str]]) -> List[Contender]:
    """Spillway first; all, or it and the named ones."""
    others = [Spark(peers), Hadoop(peers), DuckDb(peers), GnuSort(), Awk()]
    return [Spillway(build, flavour), *(other for other in others if names is None or other.name in names)]


NAMES = ["spark", "hadoop", "duckdb", "sort", "mawk"]
