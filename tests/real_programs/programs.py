"""The programs, their inputs, and what makes two of their results the same.

Sizes are such that all ranks together need some hundred MiB to 2 GiB, and that a run takes from a few seconds to a
minute on two cores. The budget is a share of what they had resident together on plain MPI.
"""

import filecmp
import gzip
import json
import random
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Tuple

from job import HERE, Failed
from results import close_numbers, doubles_of, numbers_in, same_lines

INPUTS = HERE / "inputs"
PYTHON = "/usr/bin/python3"  # the one that Debian's modules are for
PETSC_EXAMPLE = "ksp/ksp/tutorials/ex45.c"
SILICON = "/usr/share/doc/quantum-espresso/examples/atomic/pseudo-LDA-0.5/Si.pz-vbc.UPF.gz"


@dataclass(frozen=True)
class RealProgram:
    name: str
    does: str
    package: str
    besides: Tuple[str, ...]  # other packages that the run needs
    ranks: int
    memory_share: float
    criterion: str
    prepare: Callable[[Path], List[str]]  # makes the input in an empty folder; returns the command
    compare: Callable[[Path, Path], str]  # folders of the two runs; says what is the same, or raises Failed
    files_beside: Tuple[str, ...] = ()  # of the input: what the program wants in the folder that it runs in
    linked_with: str = ""  # a program that shows the MPI library, where the command itself does not
    expected_status: int = 0


# PT-Scotch


def prepare_mesh(folder: Path, side: int) -> Path:
    mesh = folder / f"mesh{side}.grf"
    subprocess.run(["gmk_m3", str(side), str(side), str(side), str(mesh)], check=True)
    return mesh


def same_vertices(plain: Path, other: Path) -> str:
    """A line per vertex, which the ranks write as they come: plain Open MPI orders them otherwise over TCP."""
    return same_lines(*(sorted(path.read_text().splitlines()) for path in (plain, other)), "lines, one per vertex")


def prepare_dgpart(folder: Path) -> List[str]:
    return ["/usr/bin/dgpart", "-Cd", "64", str(prepare_mesh(folder, 96)), "partition.map"]


def prepare_dgord(folder: Path) -> List[str]:
    return ["/usr/bin/dgord", "-Cd", str(prepare_mesh(folder, 64)), "order.ord"]


# HPCC


def prepare_hpcc(folder: Path) -> List[str]:
    shutil.copy(INPUTS / "hpccinf.txt", folder)
    return ["/usr/bin/hpcc"]


def compare_hpcc(plain: Path, other: Path) -> str:
    verdicts, norms = [], []
    for folder in (plain, other):
        text = (folder / "hpccoutf.txt").read_text()
        verdicts.append(re.findall(r"\b(?:PASSED|FAILED|passed\)|failed\)|Node\(s\) with error \d+)", text))
        norms.append([float(word) for word in re.findall(r"^HPL_(?:Anorm1|AnormI|Xnorm1|XnormI)=(\S+)", text, re.M)])
        failed = [word for word in verdicts[-1] if word not in ("PASSED", "passed)", "Node(s) with error 0")]
        fft = re.search(r"^MPIFFT_maxErr=(\S+)", text, re.M)
        if "Success=1" not in text or failed or not fft or not abs(float(fft.group(1))) < 16:
            raise Failed(f"{folder}/hpccoutf.txt: not a success, or a test failed: {failed}")
    norms_close = close_numbers(norms[0], norms[1], 1e-9, "norms")
    return f"{same_lines(verdicts[0], verdicts[1], 'verdicts')}, none FAILED; {norms_close}"


# LAMMPS


def prepare_lammps(folder: Path) -> List[str]:
    shutil.copy(INPUTS / "in.melt", folder)
    return ["/usr/bin/lmp", "-in", str(folder / "in.melt")]


def compare_lammps(plain: Path, other: Path) -> str:
    thermo, atoms = [], []
    for folder in (plain, other):
        lines = (folder / "log.lammps").read_text().splitlines()
        thermo.append(numbers_in("\n".join(line for line in lines if re.match(r"\s+\d+\s+\d+\.\d+\s", line))))
        atoms.append(numbers_in((folder / "final.dump").read_text().split("ITEM: ATOMS", 1)[1]))
    return "; ".join(
        [
            close_numbers(thermo[0], thermo[1], 1e-11, "thermodynamic figures"),
            close_numbers(atoms[0], atoms[1], 1e-9, "coordinates and velocities"),
        ]
    )


# PETSc


def prepare_petsc(folder: Path) -> List[str]:
    sources = sorted(Path("/usr/share/petsc").glob(f"*/share/petsc/examples/src/{PETSC_EXAMPLE}"))
    if not sources:
        raise Failed(f"PETSc's examples lack {PETSC_EXAMPLE}")
    settings = subprocess.run(["pkg-config", "--cflags", "--libs", "PETSc"], capture_output=True, text=True, check=True)
    words = ["mpicc.openmpi", "-O2", str(sources[-1]), "-o", str(folder / "ex45"), *settings.stdout.split(), "-lm"]
    subprocess.run(words, check=True)
    options = (
        "-da_grid_x 13 -da_grid_y 13 -da_grid_z 13 -da_refine 3 -ksp_type fgmres -ksp_gmres_restart 10 -pc_type mg"
    )
    options += " -ksp_rtol 1e-8 -ksp_monitor -ksp_converged_reason -ksp_view_solution binary:solution"
    return [str(folder / "ex45"), *options.split()]


def compare_petsc(plain: Path, other: Path) -> str:
    reasons, history = [], []
    for folder in (plain, other):
        text = (folder / "stdout").read_text()
        reasons.append(re.findall(r"Linear solve converged .*", text))
        history.append([float(word) for word in re.findall(r"KSP Residual norm (\S+)", text)])
    same_lines(reasons[0], reasons[1], "ends of the iteration")
    solutions = [doubles_of(folder / "solution", 8, True) for folder in (plain, other)]
    return "; ".join(
        [
            close_numbers(history[0], history[1], 1e-8, "residual norms"),
            close_numbers(solutions[0], solutions[1], 1e-8, "unknowns"),
        ]
    )


# Quantum ESPRESSO


def prepare_silicon(folder: Path) -> List[str]:
    (folder / "Si.UPF").write_bytes(gzip.decompress(Path(SILICON).read_bytes()))
    cells = (2, 2, 1)
    basis = [(0, 0, 0), (0, 2, 2), (2, 0, 2), (2, 2, 0), (1, 1, 1), (1, 3, 3), (3, 1, 3), (3, 3, 1)]
    places = [
        [(cell + quarter / 4) / count for cell, quarter, count in zip((i, j, k), atom, cells)]
        for i in range(cells[0])
        for j in range(cells[1])
        for k in range(cells[2])
        for atom in basis
    ]
    shifts = random.Random(1)  # without symmetry there is more to compute, and no force is zero
    atoms = "\n".join("Si " + " ".join(f"{x + shifts.uniform(-2e-3, 2e-3):.9f}" for x in place) for place in places)
    lengths = [10.2 * count for count in cells]
    text = (INPUTS / "silicon.in.template").read_text()
    for name, value in (
        ("@PSEUDO@", str(folder)),
        ("@COUNT@", str(len(places))),
        ("@A@", f"{lengths[0]} 0 0\n0 {lengths[1]} 0\n0 0 {lengths[2]}"),
        ("@ATOMS@", atoms),
    ):
        text = text.replace(name, value)
    (folder / "silicon.in").write_text(text)
    return ["/usr/bin/pw.x", "-nk", "8", "-in", str(folder / "silicon.in")]


def compare_silicon(plain: Path, other: Path) -> str:
    energies, forces = [], []
    for folder in (plain, other):
        text = (folder / "stdout").read_text()
        energies.append([float(word) for word in re.findall(r"total energy +=\s+(\S+) Ry", text)])
        forces.append(numbers_in("\n".join(re.findall(r"force =(.*)", text))))
    return "; ".join(
        [
            close_numbers(energies[0], energies[1], 1e-9, "energies"),
            close_numbers(forces[0], forces[1], 1e-5, "forces"),
        ]
    )


# BAGEL


def prepare_water(folder: Path) -> List[str]:
    sides = (2, 2, 2)
    places = [(i, j, k) for i in range(sides[0]) for j in range(sides[1]) for k in range(sides[2])]
    atoms = []
    for place in places:
        up = 0.587 if sum(place) % 2 else -0.587
        for name, shift in (("O", (0, 0, 0)), ("H", (0, 0.757, up)), ("H", (0, -0.757, up))):
            atoms.append({"atom": name, "xyz": [round(3.1 * a + b, 4) for a, b in zip(place, shift)]})
    basis = "/usr/share/bagel/svp"
    molecule = {"title": "molecule", "basis": f"{basis}.json", "df_basis": f"{basis}-jkfit.json", "angstrom": True}
    steps = [{**molecule, "geometry": atoms}, {"title": "hf", "thresh": 1e-7}]
    (folder / "water.json").write_text(json.dumps({"bagel": steps}, indent=1))
    return ["/usr/bin/BAGEL", str(folder / "water.json")]


def compare_water(plain: Path, other: Path) -> str:
    texts = [(folder / "stdout").read_text() for folder in (plain, other)]
    energies = [[float(word) for word in re.findall(r"^ +\d+ +(-\d+\.\d{8}) ", text, re.M)] for text in texts]
    converged = [re.findall(r"SCF iteration converged", text) for text in texts]
    same_lines(converged[0], converged[1], "ends of the iteration")
    return close_numbers(energies[0], energies[1], 1e-9, "energies")


# Parallel netCDF and HDF5: MPI-IO

NETCDF_SIDE = 512
NETCDF_DIFFERENT = (5, NETCDF_SIDE**3 // 2, NETCDF_SIDE**3 - 7)


def prepare_netcdf(folder: Path) -> List[str]:
    """Two files in netCDF's classic format, of one variable of 512 MiB that differs in three places."""

    def name(text: str) -> bytes:
        return struct.pack(">i", len(text)) + text.encode().ljust((len(text) + 3) // 4 * 4, b"\0")

    values = NETCDF_SIDE**3
    dimensions = b"".join(name(text) + struct.pack(">i", NETCDF_SIDE) for text in "xyz")
    head = b"CDF\2" + struct.pack(">iii", 0, 10, 3) + dimensions + struct.pack(">iiii", 0, 0, 11, 1)
    head += name("v") + struct.pack(">iiiiiiiI", 3, 0, 1, 2, 0, 0, 4, 4 * values)
    begin = len(head) + 8
    random_bytes = random.Random(1)
    with (folder / "a.nc").open("wb") as file:
        file.write(head + struct.pack(">q", begin))
        for _ in range(NETCDF_SIDE):
            file.write(random_bytes.randbytes(4 * NETCDF_SIDE**2))
    shutil.copy(folder / "a.nc", folder / "b.nc")
    with (folder / "b.nc").open("r+b") as file:
        for place in NETCDF_DIFFERENT:
            file.seek(begin + 4 * place)
            file.write(struct.pack(">i", -1))
    return ["/usr/bin/ncmpidiff", str(folder / "a.nc"), str(folder / "b.nc")]


def compare_netcdf(plain: Path, other: Path) -> str:
    # Each rank writes what it finds; mpiexec says that the status is not 0.
    found = [
        sorted(line for line in (folder / "stdout").read_text().splitlines() if re.match("DIFF|Number|Headers", line))
        for folder in (plain, other)
    ]
    if len(found[0]) != len(NETCDF_DIFFERENT) + 2:
        raise Failed(f"ncmpidiff found {found[0]}")
    return same_lines(found[0], found[1], "lines of the report")


def prepare_hdf5(folder: Path) -> List[str]:
    shutil.copy(INPUTS / "hdf5_steps.py", folder)
    return [PYTHON, str(folder / "hdf5_steps.py"), "512"]


def compare_hdf5(plain: Path, other: Path) -> str:
    files = [folder / "steps.h5" for folder in (plain, other)]
    if not filecmp.cmp(*files, shallow=False):
        raise Failed(f"{files[1]} differs from {files[0]}")
    lines = [(folder / "stdout").read_text().splitlines() for folder in (plain, other)]
    return f"file equal, {files[0].stat().st_size >> 20} MiB; {same_lines(lines[0], lines[1], 'sums')}"


PROGRAMS = (
    RealProgram(
        name="dgpart",
        does="PT-Scotch: partitions a mesh of 0.9 million vertices",
        package="ptscotch",
        besides=("scotch",),
        ranks=8,
        memory_share=0.5,
        criterion="the same part for each vertex (-Cd: deterministic); the order of the lines depends on time",
        prepare=prepare_dgpart,
        compare=lambda plain, other: same_vertices(plain / "partition.map", other / "partition.map"),
    ),
    RealProgram(
        name="dgord",
        does="PT-Scotch: orders a mesh of 0.9 million vertices",
        package="ptscotch",
        besides=("scotch",),
        ranks=8,
        memory_share=0.5,
        criterion="the same place for each vertex (-Cd: deterministic); the order of the lines depends on time",
        prepare=prepare_dgord,
        compare=lambda plain, other: same_vertices(plain / "order.ord", other / "order.ord"),
    ),
    RealProgram(
        name="hpcc",
        does="HPC Challenge with HPL, N = 6000",
        package="hpcc",
        besides=(),
        ranks=2,
        memory_share=0.93,
        criterion="HPCC's own checks: the same ones, none FAILED, Success=1; norms of HPL within 1e-9",
        prepare=prepare_hpcc,
        compare=compare_hpcc,
        files_beside=("hpccinf.txt",),
    ),
    RealProgram(
        name="lammps",
        does="LAMMPS: Lennard-Jones melt, 500,000 atoms",
        package="lammps",
        besides=(),
        ranks=8,
        memory_share=0.5,
        criterion="energies and pressure within 1e-11, coordinates and velocities of 5000 atoms within 1e-9",
        prepare=prepare_lammps,
        compare=compare_lammps,
    ),
    RealProgram(
        name="petsc",
        does="PETSc's ex45: Laplace equation in 3D, 912,673 unknowns, FGMRES and multigrid",
        package="libpetsc-real3.18-dev",
        besides=("libpetsc3.18-dev-examples", "libopenmpi-dev", "pkgconf"),
        ranks=8,
        memory_share=0.7,
        criterion="same number of iterations; residual norms and solution within 1e-8",
        prepare=prepare_petsc,
        compare=compare_petsc,
    ),
    RealProgram(
        name="pw.x",
        does="Quantum ESPRESSO (Fortran): 32 silicon atoms, 8 k-points in pools",
        package="quantum-espresso",
        besides=("quantum-espresso-data",),
        ranks=8,
        memory_share=0.6,
        criterion="energy of each iteration within 1e-9, forces within 1e-5",
        prepare=prepare_silicon,
        compare=compare_silicon,
    ),
    RealProgram(
        name="bagel",
        does="BAGEL: Hartree-Fock of 8 water molecules, density fitting",
        package="bagel",
        besides=(),
        ranks=8,
        memory_share=0.5,
        criterion="same number of iterations, energy of each within 1e-9",
        prepare=prepare_water,
        compare=compare_water,
    ),
    RealProgram(
        name="ncmpidiff",
        does="Parallel netCDF (MPI-IO): compares two files of 512 MiB",
        package="pnetcdf-bin",
        besides=(),
        ranks=8,
        memory_share=0.65,
        criterion="the same three differences are found; exit status 1, as on plain MPI",
        prepare=prepare_netcdf,
        compare=compare_netcdf,
        expected_status=1,
    ),
    RealProgram(
        name="h5py",
        does="HDF5 through h5py (MPI-IO): steps that each write and read 512 MiB",
        package="python3-h5py-mpi",
        besides=("python3-mpi4py", "python3-numpy", "openmpi-bin"),
        ranks=8,
        memory_share=0.6,
        criterion="the file, byte for byte; sums equal",
        prepare=prepare_hdf5,
        compare=compare_hdf5,
        linked_with="/usr/bin/ompi_info",  # of the library that Debian's h5py and mpi4py are linked with
    ),
)
