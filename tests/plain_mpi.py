"""How a program is started under the MPI library alone, as an oracle."""

from pathlib import Path
from typing import List


def plain_mpi_words(build: Path, flavour: str, ranks: int) -> List[str]:
    """The words that start a program under the MPI library alone."""
    cache = (build / "CMakeCache.txt").read_text()
    compiler = next(line for line in cache.splitlines() if line.startswith(f"SPILLWAY_MPICC_{flavour}:"))
    folder = Path(compiler.split("=", 1)[1]).parent.resolve()
    launcher = next(path for path in (folder / f"mpiexec.{flavour}", folder / "mpiexec") if path.exists())
    if flavour.startswith("openmpi"):
        # Containers run as root, with fewer cores than ranks.
        allowances = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
        return ["env", *allowances, str(launcher), "--oversubscribe", "-n", str(ranks)]
    return [str(launcher), "-n", str(ranks)]
