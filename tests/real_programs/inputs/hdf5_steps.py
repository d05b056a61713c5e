"""Writes an array larger than memory to an HDF5 file in steps, and reads it back, what other ranks wrote."""

import sys

import h5py
import numpy
from mpi4py import MPI

STEPS = 3
PIECES = 8

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
planes = (int(sys.argv[1]) << 20) // (8 * 256 * 256) // ranks
mine = numpy.random.default_rng(rank).random((planes, 256, 256))
for step in range(STEPS):
    mine *= 1.0 + 1e-3 * rank
    with h5py.File("steps.h5", "a", driver="mpio", comm=comm) as file:
        values = file.create_dataset(f"step{step}", (planes * ranks, 256, 256), "f8")
        values[rank * planes : (rank + 1) * planes] = mine
    neighbour = (rank + 1) % ranks
    with h5py.File("steps.h5", "r", driver="mpio", comm=comm) as file:
        values = file[f"step{step}"]
        for begin in range(0, planes, planes // PIECES):
            end = min(begin + planes // PIECES, planes)
            with values.collective:
                mine[begin:end] += 0.5 * values[neighbour * planes + begin : neighbour * planes + end]
    total = comm.allreduce(float(mine.sum()))
    if rank == 0:
        print(step, repr(total), flush=True)
