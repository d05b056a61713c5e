"""Jobs that must not be started: the message says why and what to do, and the exit status is 2, or 1 where
the node agent finds out."""

import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left_behind")

NOT_STARTED = 2


def assert_refused(finished, *words):
    assert finished.stderr.startswith("spillway: "), finished.stderr
    assert "\n  Remedy: " in finished.stderr, finished.stderr
    assert not [word for word in words if word not in finished.stderr], finished.stderr
    assert finished.stdout == ""


@pytest.fixture(scope="session")
def compiler():
    path = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    assert path, "no C++ compiler"
    return path


@pytest.fixture
def program_without_mpi(compiler, tmp_path):
    def build(*options):
        source = tmp_path / "program.cpp"
        source.write_text("int main() {}\n")
        subprocess.run([compiler, *options, str(source), "-o", str(tmp_path / "program")], check=True, timeout=60)
        return tmp_path / "program"

    return build


def test_unknown_option(run, spillway, job_command, flavour):
    finished = run(*job_command(flavour, "wait", "--slotz", "2"), status=NOT_STARTED)
    assert_refused(finished, "unknown option --slotz", "did you mean --slots?")


def test_no_program(run, spillway):
    assert_refused(run(spillway, "run", "-n", 2, status=NOT_STARTED), "no program to run")


def test_program_that_is_not_there(run, spillway):
    assert_refused(run(spillway, "run", "./no-such-program", status=NOT_STARTED), "no program `./no-such-program`")


def test_program_that_is_not_executable(run, spillway, tmp_path):
    (tmp_path / "data").write_text("")
    finished = run(spillway, "run", tmp_path / "data", status=NOT_STARTED)
    assert_refused(finished, "is not executable", "chmod +x")


def test_non_mpi_program(run, spillway, program_without_mpi):
    finished = run(spillway, "run", program_without_mpi(), status=NOT_STARTED)
    assert_refused(finished, "is not an MPI program", "mpicc", "--mpi")


def test_static_program(run, spillway, program_without_mpi):
    finished = run(spillway, "run", program_without_mpi("-static"), status=NOT_STARTED)
    assert_refused(finished, "statically linked", "dynamically")


def test_script_without_named_mpi(run, spillway, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert_refused(run(spillway, "run", script, status=NOT_STARTED), "is a script", "--mpi mpich")


def test_mpi_library_of_the_other_family(run, job_command, flavour):
    other = {"mpich": "openmpi", "openmpi": "mpich"}[flavour]
    finished = run(*job_command(flavour, "wait", "--mpi", other), status=NOT_STARTED)
    assert_refused(finished, f"--mpi {other}", "is linked with", "leave --mpi away")


@pytest.mark.libraries_in_turn
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--spill-dir", "/proc"], ["is on proc, which keeps no files", "--spill-dir"]),
        (["--spill-dir", "/no/such/directory"], ["does not exist"]),
        (["--spill-dir", "/dev/shm"], ["tmpfs", "memory itself"]),
        (["--slots", "0"], ["--slots 0"]),
        (["-n", "0"], ["-n 0", "1 or more"]),
        (["-n", "2000000"], ["-n 2000000", "65536 or less"]),
        (["--memory", "1M"], ["too small"]),
        (["--memory", "900T"], ["more than this machine has"]),
        (["--memory", "9999999999G"], ["more than this machine has"]),
        (["--memory", "much"], ["`much` is not a size", "8G"]),
        (["--hosts", "localhost,other-host.invalid"], ["cannot reach `other-host.invalid`"]),
        (["--hosts", ","], ["names no host"]),
        (["--hosts", "a,b:4"], ["`b:4` is not a host"]),
        (["--hosts", "a", "--hostfile", "b"], ["--hosts and --hostfile"]),
        (["--hostfile", "/no/such/file"], ["cannot read --hostfile /no/such/file"]),
        (["--hosts", "10.99.99.1", "--memory", "1M"], ["too small"]),
        (["--hosts", "10.99.99.1", "--address", "0.0.0.0"], ["--address 0.0.0.0"]),
        (["--address", "10.0.0.1"], ["--address is for jobs on several machines"]),
        (["--placement", "cyclic"], ["--placement is for jobs on several machines"]),
        (["--ranks-per-node", "0"], ["--ranks-per-node 0", "1 or more"]),
        (["--ranks-per-node", "1", "--memory", "16G"], ["16.0 GiB for each of 3 nodes", "more than this machine has"]),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) and value[0].startswith("-") else "",
)
def test_option_that_cannot_be_met(run, job_command, flavour, options, words):
    finished = run(*job_command(flavour, "wait", *options), status=NOT_STARTED)
    assert_refused(finished, *words)


def test_more_ranks_than_the_agent_may_have_connections(run, job_command, flavour):
    words = job_command(flavour, "wait", "-n", "40")
    finished = run("sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *words, status=1, timeout_s=10)
    assert_refused(finished, "the node agent needs 144 descriptors for 40 ranks", "`ulimit -n`")


def test_spill_directory_that_may_not_be_written(run, job_command, flavour, spill_dir):
    closed = spill_dir / "closed"
    closed.mkdir(mode=0o555)
    command = job_command(flavour, "wait", "--spill-dir", str(closed))
    if os.geteuid() == 0:  # without what lets root write everywhere
        command = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all", *command]
    finished = run(*command, status=NOT_STARTED)
    assert_refused(finished, f"spill directory {closed} cannot be written", "Permission denied", "--spill-dir")
    closed.rmdir()


def test_spill_directory_with_less_room_than_the_budget(run, job_command, flavour, tmp_path):
    """The free space is what statvfs says; a library put before the front end says that of a full disk."""
    fake = tmp_path / "full_disk.cpp"
    fake.write_text(
        "#include <sys/statvfs.h>\n"
        "template <typename S> int report(S* s) { *s = {}; s->f_frsize = 4096; s->f_bavail = 2560; return 0; }\n"
        'extern "C" int statvfs(const char*, struct statvfs* s) { return report(s); }\n'
        'extern "C" int statvfs64(const char*, struct statvfs64* s) { return report(s); }\n'
    )
    library = tmp_path / "full_disk.so"
    subprocess.run(["c++", "-shared", "-fPIC", str(fake), "-o", str(library)], check=True, timeout=60)
    finished = run(*job_command(flavour, "wait"), env={"LD_PRELOAD": str(library)}, status=NOT_STARTED)
    assert_refused(finished, "10.0 MiB free", "1.00 GiB", "--memory")
