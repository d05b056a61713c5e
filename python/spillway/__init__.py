"""What a Python program may ask of Spillway while it runs: the same as the C headers include/spillway/ offer.

    import spillway
    from mpi4py import MPI

    with spillway.critical_section():  # one rank of the node at a time reads from the disk
        table = numpy.load(f"input{MPI.COMM_WORLD.rank}.npy")
    spillway.unload(table)  # its pages are free at once; whoever touches them loads them again

Nothing here is needed to run under Spillway. Without it (a plain `mpiexec`) everything can be called too: the queries
of nodes give the same, the rest does nothing and says so by its result.

Nothing is loaded: the functions are looked up in the running process, where `spillway run` has preloaded them. mpi4py
is imported by the queries of nodes, NumPy by allocate(), when they are first called.

Threads: any thread may call usage(), allocate(), allocations(), load(), unload(), discard() and advise() at any time;
the critical section, pinned() and the queries of nodes are for the thread that calls MPI. All calls let other Python
threads run meanwhile.
"""

from ._critical_section import critical_section, enter_critical, exit_critical
from ._memory import Advice, Allocation, advise, allocate, allocations, discard, load, pinned, unload
from ._nodes import Place, cyclic_world, learn_nodes, node_communicator, place
from ._usage import Usage, is_running, usage

__all__ = [
    "Advice",
    "Allocation",
    "Place",
    "Usage",
    "advise",
    "allocate",
    "allocations",
    "critical_section",
    "cyclic_world",
    "discard",
    "enter_critical",
    "exit_critical",
    "is_running",
    "learn_nodes",
    "load",
    "node_communicator",
    "pinned",
    "place",
    "unload",
    "usage",
]
