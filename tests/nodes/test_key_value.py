"""Key-value jobs on several hosts give what they give on one machine, also when what has come is spilled there."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

PYTHON_PROGRAMS = Path(__file__).parents[1] / "keyvalue" / "python"
LIMIT_S = 60
A_TASKS = 5
OPTIONS = ["-O", 8, "-A", A_TASKS]
LITTLE_MEMORY = {"MPI_D_MEMORY": "1M", "MPI_D_PARTITION_BYTES": "16K"}
WAYS = [["--plain"], ["--slots", 1, "--memory", "256M"]]


def lines_of_parts(folder):
    """Of each A task, without their order: that of equal keys' values is free."""
    return [Counter((folder / f"part-{task:05d}").read_text().splitlines()) for task in range(A_TASKS)]


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_finds_the_same_on_hosts(run, build_dir, network, test_program, spill_dir, tmp_path, way):
    mpidrun, program = build_dir / "bin" / "mpidrun", test_program("generated-records")
    arguments = ["records=40000", "distinct=30011"]
    run(mpidrun, "--plain", "-n", 2, *OPTIONS, program, f"output={tmp_path / 'here'}", *arguments, timeout_s=LIMIT_S)
    run.environment.update(network.environment)
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in network.hosts))
    where = ["-f", tmp_path / "hosts", "-n", 6, "--spill-dir", spill_dir]
    report = ["--summary", "json", "--summary-file", tmp_path / "report"]
    words = [mpidrun, *way, *where, *report, *OPTIONS, program, f"output={tmp_path / 'there'}", *arguments]
    run(*words, env=LITTLE_MEMORY, timeout_s=LIMIT_S)
    assert lines_of_parts(tmp_path / "there") == lines_of_parts(tmp_path / "here")
    done = json.loads((tmp_path / "report").read_text())["key_value"]
    assert (done["processes"], done["o_tasks_done"], done["a_tasks_done"]) == (6, 8, A_TASKS)
    assert done["spilled_bytes"] > 1 << 20


@pytest.mark.parametrize("way", WAYS, ids=["plain", "spillway"])
def test_python_finds_its_package_on_hosts(run, build_dir, network, flavour, spill_dir, tmp_path, way):
    """Open MPI's launcher hands on no variable that it is not told of."""
    program = PYTHON_PROGRAMS / "records.py"
    options = {"key": "str", "value": "int", "records": 300, "distinct": 200}
    words = [build_dir / "bin" / "mpidrun", *OPTIONS, "--mpi", flavour]

    def python(folder):
        return [sys.executable, program, json.dumps({**options, "output": str(tmp_path / folder)})]

    run(*words, "--plain", "-n", 2, *python("here"), timeout_s=LIMIT_S)
    run.environment.update(network.environment)
    where = ["--hosts", ",".join(network.hosts), "-n", 6, "--spill-dir", spill_dir]
    run(*words, *way, *where, *python("there"), timeout_s=LIMIT_S)
    assert lines_of_parts(tmp_path / "there") == lines_of_parts(tmp_path / "here")


def test_files_are_read_on_the_hosts_that_have_them(
    run, build_dir, network, test_program, flavour, spill_dir, tmp_path
):
    """Each host has another address in a file of the same name, which this machine has not."""
    own = "/sys/class/net/net0/address"
    names = [network.name_of(host) for host in network.hosts]
    addresses = [
        subprocess.check_output(network.command_on(host, "cat", own), text=True).strip() for host in network.hosts
    ]
    assert len(set(addresses)) == len(names) == 3 and not Path(own).exists()
    run.environment.update(network.environment)
    where = ["--hosts", ",".join(network.hosts), "-n", 6, "-A", 2, "--mpi", flavour, "--spill-dir", spill_dir]
    files = [f"{name}:{own}" for name in [*reversed(names), names[0]]]
    script = [sys.executable, PYTHON_PROGRAMS / "host_files.py", tmp_path / "python", tmp_path / "tasks", -1]
    words = [build_dir / "bin" / "mpidrun", *where]
    run(*words, "--plain", test_program("wordcount"), tmp_path / "plain", *files, timeout_s=LIMIT_S)
    run(*words, "--slots", 1, "--memory", "256M", *script, *files, timeout_s=LIMIT_S)
    expected = sorted(f"{address}\t{2 if address == addresses[0] else 1}" for address in addresses)
    for folder in ("plain", "python"):
        lines = [line for path in (tmp_path / folder).iterdir() for line in path.read_text().splitlines()]
        assert sorted(lines) == expected
    begun = [f"{task} {file.partition(':')[0]}" for task, file in enumerate(files)]
    assert sorted((tmp_path / "tasks").read_text().splitlines()) == begun
