"""A script whose data are Python's own objects: a dictionary of strings and lists, larger than memory together.

The argument is about the size of each rank's objects in MiB. Each rank prints a sum over them, so that runs can be
compared.
"""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
words_per_mib = 5000  # of some 200 bytes with all that belongs to them
words = {f"word {i} of {rank}": [i, float(i), "x" * (i % 50)] for i in range(int(sys.argv[1]) * words_per_mib)}
lines = []

for step in range(3):
    for i, entry in enumerate(words.values()):
        if i % 10 == step:
            entry.append(i * step)
    total = sum(len(word) + entry[0] + len(entry[2]) + sum(entry[3:]) for word, entry in words.items())
    received = comm.sendrecv(total, dest=(rank + 1) % size, source=(rank - 1) % size)
    lines.append(comm.gather(received * (rank + 1), root=0))

if rank == 0:
    print(*lines, sep="\n")
