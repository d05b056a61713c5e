"""A script as users of mpi4py and NumPy write it, which knows nothing of Spillway: arrays larger than memory together.

The argument is the size of each rank's array in MiB. Each rank prints a checksum of its array, so that runs can be
compared to the last bit.
"""

import sys
import zlib

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
length = (int(sys.argv[1]) << 20) // 8
data = np.random.default_rng(rank).random(length)
lines = []

for step in range(3):
    # In place, through a temporary array of the same size, and into a view.
    data *= rank + step + 1
    data[1:] -= 0.5 * data[:-1]
    part = length // size
    table = data[: part * size].reshape(size, part)

    # Every rank gets a row of every other one; the received array is a new one.
    received = np.empty_like(table)
    comm.Alltoall(table, received)
    table[:] = received
    del received

    # A message beyond any eager limit, nonblocking, while the rank sums.
    right, left = (rank + 1) % size, (rank - 1) % size
    incoming = np.empty(part)
    requests = [comm.Irecv(incoming, left, step), comm.Isend(data[part : 2 * part], right, step)]
    total = data[: part // 2].sum()
    MPI.Request.Waitall(requests)
    data[:part] = incoming

    # Pickled objects and a reduction in place.
    every_total = comm.allgather({"rank": rank, "total": float(total)})
    largest = np.array([data.max()])
    comm.Allreduce(MPI.IN_PLACE, largest, MPI.MAX)
    lines.append(f"{largest[0]!r} {[entry['total'] for entry in every_total]}")

checksums = comm.gather(zlib.crc32(data.tobytes()), root=0)
if rank == 0:
    print(*lines, checksums, sep="\n")
