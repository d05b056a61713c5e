"""Which MPI library a program uses, and why some programs cannot run under Spillway."""

import os
import stat
import struct

import pytest
from spillway_front_end.elf_file import read_elf
from spillway_front_end.errors import LaunchError
from spillway_front_end.mpi_launcher import find_launcher, launcher_command
from spillway_front_end.mpi_library import (
    MpiLibrary,
    detect_mpi_library,
    family_of,
    find_program,
    mpi_functions_in,
    mpi_library_of,
    preloaded_library,
)


def executable(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


def test_finds_the_library_that_a_program_is_linked_with(build_dir, flavour):
    program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
    library = detect_mpi_library(str(program))
    assert library.flavour == flavour
    assert os.path.exists(library.path)


def test_launcher_is_of_the_same_family(build_dir, flavour):
    program = build_dir / "lib" / "spillway" / "tests" / f"failing_rank-{flavour}"
    launcher = find_launcher(detect_mpi_library(str(program)))
    assert os.access(launcher.path, os.X_OK)
    assert launcher.version[0].isdigit()


@pytest.mark.parametrize(("mark", "expected"), [("MPIR_Dup_fn", "mpich"), ("ompi_mpi_comm_world", "openmpi")])
def test_tells_libraries_of_the_same_file_name_apart(compile_program, tmp_path, mark, expected):
    library = tmp_path / "libmpi.so.12"
    source = f'extern "C" int {mark}; int {mark} = 0;'
    compile_program(library, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", source=source)
    program = compile_program(
        tmp_path / "program",
        str(library),
        f"-Wl,-rpath,{tmp_path}",
        source=f'extern "C" int {mark}; int main() {{ return {mark}; }}\n',
    )
    assert detect_mpi_library(str(program)) == MpiLibrary(expected, str(library))


@pytest.fixture
def library(compile_program, tmp_path):
    def compile_one(name, *functions):
        source = "".join(f'extern "C" int {function}() {{ return 0; }}\n' for function in functions)
        return str(compile_program(tmp_path / name, "-shared", "-fPIC", source=source))

    return compile_one


@pytest.fixture
def installation(library, tmp_path):
    """For versions 2 and 3 of a family: the second one has a function more than the first, and a later one two."""
    older = library("libspillway-mpich.so", "MPI_Init", "MPI_Send")
    newer = library("libspillway-mpich-3.so", "MPI_Init", "MPI_Send", "MPI_Send_c")
    mpi = {
        2: library("libmpich.so.2", "MPI_Init", "MPI_Send", "MPI_Local", "other"),
        3: library("libmpich.so.3", "MPI_Init", "MPI_Send", "MPI_Send_c", "MPI_Local", "other"),
        4: library("libmpich.so.4", "MPI_Init", "MPI_Send", "MPI_Send_c", "MPI_Bcast_c", "MPI_Local", "other"),
    }
    return tmp_path, older, newer, {version: MpiLibrary("mpich", path) for version, path in mpi.items()}


def test_preloaded_library_has_the_functions_of_the_programs_version(installation, library):
    folder, older, newer, mpi = installation
    assert [preloaded_library(str(folder), mpi[version], None) for version in mpi] == [older, newer, newer]
    many = [f"MPI_More{chr(letter)}" for letter in range(ord("a"), ord("k"))]
    newest = library("libspillway-mpich-9.so", "MPI_Init", "MPI_Send", "MPI_Send_c", "MPI_Bcast_c", *many)
    assert preloaded_library(str(folder), mpi[4], None) == newest  # too many rather than too few
    assert preloaded_library(str(folder), mpi[2], "mpich") == older


def test_preloaded_library_may_be_named(installation):
    folder, older, newer, mpi = installation
    unseen = MpiLibrary("mpich", "")
    assert preloaded_library(str(folder), mpi[2], "mpich-3") == newer
    assert preloaded_library(str(folder), unseen, "mpich-3") == newer
    assert preloaded_library(str(folder), unseen, "mpich") == older


def test_missing_preloaded_library_is_named(installation):
    folder, _, _, mpi = installation
    with pytest.raises(LaunchError, match="--mpi mpich-7: .* no .*libspillway-mpich-7.so") as refusal:
        preloaded_library(str(folder), mpi[2], "mpich-7")
    assert "(mpich, mpich-3)" in refusal.value.remedy
    with pytest.raises(LaunchError, match="no .*libspillway-openmpi.so") as refusal:
        preloaded_library(str(folder), MpiLibrary("openmpi", ""), "openmpi")
    assert "Open MPI's mpi.h" in refusal.value.remedy


def test_preloaded_library_for_another_version_than_the_systems(build_dir, other_flavour):
    libraries = build_dir / "lib" / "spillway"
    for flavour in (other_flavour, family_of(other_flavour)):
        if not (libraries / f"libspillway-{flavour}.so").exists():
            continue  # without root there is one family
        mpi = detect_mpi_library(str(libraries / "tests" / f"sizes-{flavour}"))
        chosen = preloaded_library(str(libraries), mpi, None)
        assert mpi_functions_in(chosen) == mpi_functions_in(str(libraries / f"libspillway-{flavour}.so"))


def test_mpi_library_of_another_family_is_named(compile_program, tmp_path):
    library = tmp_path / "libmpi.so.7"
    source = 'extern "C" int MPI_Init(int*, char***) { return 0; }'
    compile_program(library, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.7", source=source)
    program = compile_program(
        tmp_path / "program",
        str(library),
        f"-Wl,-rpath,{tmp_path}",
        source='extern "C" int MPI_Init(int*, char***); int main() { return MPI_Init(nullptr, nullptr); }\n',
    )
    with pytest.raises(LaunchError, match=f"{library}, which is neither MPICH nor Open MPI"):
        detect_mpi_library(str(program))


def test_library_behind_another_library_counts(compile_program, tmp_path):
    compile_program(
        tmp_path / "libmpi.so.12",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libmpi.so.12",
        source='extern "C" int MPIR_Dup_fn; int MPIR_Dup_fn = 0;',
    )
    compile_program(
        tmp_path / "libsolver.so",
        "-shared",
        "-fPIC",
        str(tmp_path / "libmpi.so.12"),
        f"-Wl,-rpath,{tmp_path}",
        source='extern "C" int MPIR_Dup_fn; extern "C" int solve() { return MPIR_Dup_fn; }',
    )
    program = compile_program(
        tmp_path / "program",
        str(tmp_path / "libsolver.so"),
        f"-Wl,-rpath,{tmp_path}",
        f"-Wl,-rpath-link,{tmp_path}",  # a linker with a system root of its own looks for libmpi.so.12 in there
        source='extern "C" int solve(); int main() { return solve(); }\n',
    )
    assert detect_mpi_library(str(program)).flavour == "mpich"


def test_missing_library_is_named(compile_program, tmp_path):
    library = compile_program(
        tmp_path / "libmpi.so.12",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libmpi.so.12",
        source='extern "C" int MPIR_Dup_fn; int MPIR_Dup_fn = 0;',
    )
    program = compile_program(
        tmp_path / "program", str(library), source='extern "C" int MPIR_Dup_fn; int main() { return MPIR_Dup_fn; }\n'
    )
    library.unlink()
    with pytest.raises(LaunchError, match="needs the library libmpi.so.12, which is not on this machine"):
        detect_mpi_library(str(program))


def test_program_without_mpi(compile_program, tmp_path):
    with pytest.raises(LaunchError, match="is not an MPI program"):
        detect_mpi_library(str(compile_program(tmp_path / "program")))


def test_static_program(compile_program, tmp_path):
    with pytest.raises(LaunchError, match="statically linked"):
        detect_mpi_library(str(compile_program(tmp_path / "program", "-static")))


@pytest.fixture
def mpich_program(compile_program, tmp_path):
    """A program that is linked with something that looks like MPICH."""
    options = ["-shared", "-fPIC"]
    source = 'extern "C" int MPIR_Dup_fn; int MPIR_Dup_fn = 0;'
    mpi = compile_program(tmp_path / "libmpi.so.12", *options, "-Wl,-soname,libmpi.so.12", source=source)
    return compile_program(tmp_path / "program", "-Wl,--no-as-needed", str(mpi), f"-Wl,-rpath,{tmp_path}")


def test_named_library_must_be_the_one_that_is_seen(mpich_program):
    assert mpi_library_of(str(mpich_program), "mpich") == mpi_library_of(str(mpich_program), None)
    with pytest.raises(LaunchError, match="--mpi openmpi: .* is linked with MPICH") as refusal:
        mpi_library_of(str(mpich_program), "openmpi")
    assert "leave --mpi away" in refusal.value.remedy


def test_named_library_is_believed_where_none_is_seen(compile_program, tmp_path):
    script = executable(tmp_path / "script", "#!/bin/sh\n")
    for program in (script, compile_program(tmp_path / "program")):
        assert mpi_library_of(str(program), "openmpi") == MpiLibrary("openmpi", "")


def test_static_program_is_refused_whatever_library_is_named(compile_program, tmp_path):
    with pytest.raises(LaunchError, match="statically linked"):
        mpi_library_of(str(compile_program(tmp_path / "program", "-static")), "mpich")


def test_detection_does_not_execute_the_program(compile_program, tmp_path):
    trace = tmp_path / "executed"
    program = compile_program(
        tmp_path / "program", source=f'#include <fstream>\nint main() {{ std::ofstream("{trace}"); }}\n'
    )
    with pytest.raises(LaunchError):
        detect_mpi_library(str(program))
    assert not trace.exists()


@pytest.mark.parametrize(
    ("content", "words"), [("#!/bin/sh\n", "is a script"), ("data\n", "no ELF file"), ("", "no ELF file")]
)
def test_other_files(tmp_path, content, words):
    with pytest.raises(LaunchError, match=words) as refusal:
        detect_mpi_library(str(executable(tmp_path / "file", content)))
    assert "--mpi" in refusal.value.remedy


def elf_start(bits, machine):
    return b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9) + struct.pack("<HHI", 2, machine, 1) + bytes(40)


def test_programs_for_other_machines(tmp_path):
    for name, start in (("32", elf_start(1, 3)), ("other", elf_start(2, 0xABCD))):
        (tmp_path / name).write_bytes(start)
        with pytest.raises(LaunchError, match="another kind of processor"):
            detect_mpi_library(str(tmp_path / name))


def test_cut_elf_files_are_no_surprise(compile_program, tmp_path):
    whole = compile_program(tmp_path / "program").read_bytes()
    for length in (4, 20, 63, 64, 65, 100, 200, 700):
        (tmp_path / "cut").write_bytes(whole[:length])
        read_elf(str(tmp_path / "cut"))


def test_finds_programs_as_the_shell_does(tmp_path, monkeypatch):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "tool").write_text("not executable")
    tool = executable(tmp_path / "second" / "tool", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}/second")
    assert find_program("tool") == str(tool)
    with pytest.raises(LaunchError, match="in any directory of PATH"):
        find_program("no-such-tool")
    with pytest.raises(LaunchError, match="is a directory"):
        find_program(str(tmp_path))
    tool.chmod(stat.S_IRUSR)
    with pytest.raises(LaunchError, match="not executable"):
        find_program(str(tool))


def test_launcher_near_the_library_comes_before_path(tmp_path, monkeypatch):
    hydra = '#!/bin/sh\necho "HYDRA build details:"; echo "    Version:      4.2.1"\n'
    (tmp_path / "env" / "lib").mkdir(parents=True)
    near = executable(tmp_path / "env" / "bin" / "mpiexec", hydra)
    far = executable(tmp_path / "path" / "mpiexec", hydra)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:{os.environ['PATH']}")
    library = MpiLibrary("mpich", str(tmp_path / "env" / "lib" / "libmpi.so.12"))
    assert find_launcher(library) == (str(near), "4.2.1")
    near.unlink()
    assert find_launcher(library).path == str(far)


def test_launcher_of_the_other_family_is_passed_over(tmp_path, monkeypatch):
    executable(tmp_path / "mpiexec", "#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_launcher(MpiLibrary("openmpi", "")).version == "4.1.4"
    with pytest.raises(LaunchError, match="no launcher .* of MPICH found"):
        find_launcher(MpiLibrary("mpich", ""))


@pytest.mark.parametrize(("user", "allows"), [(0, True), (1000, False)])
def test_open_mpi_as_root(monkeypatch, user, allows):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    library = MpiLibrary("openmpi", "")
    command = launcher_command(library, find_launcher_stub(), 64)
    assert ("--allow-run-as-root" in command) == allows
    assert command[-2:] == ["-n", "64"] and "--oversubscribe" in command


def find_launcher_stub():
    from spillway_front_end.mpi_launcher import Launcher

    return Launcher("/usr/bin/mpiexec", "4.1.4")
