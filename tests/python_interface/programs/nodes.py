"""The package's queries of nodes against an oracle: MPI's own splitting of the same communicator by shared memory."""

import sys

import mpi4py
import spillway

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

WORLD = MPI.COMM_WORLD


def place_by_splitting(comm):
    """What the calling rank's place should be."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    ranks = node.allgather(comm.rank)
    node.Free()
    nodes = []
    for members in comm.allgather(ranks):
        if members not in nodes:
            nodes.append(members)
    return (len(nodes), nodes.index(ranks), len(ranks), ranks.index(comm.rank), ranks[0]), nodes


def check_place(comm):
    expected, _ = place_by_splitting(comm)
    assert spillway.place(comm) == expected, (spillway.place(comm), expected)


def check_intercommunicator():
    part = WORLD.Split(WORLD.rank % 2)
    bridge = part.Create_intercomm(0, WORLD, 1 - WORLD.rank % 2)
    assert spillway.place(bridge) == spillway.place(part)
    bridge.Free()
    part.Free()


def check_one_rank_alone():
    if WORLD.rank == 0:
        assert spillway.place().local_rank == 0
        assert spillway.place() == spillway.place(WORLD)


def check_communicators_of_nodes():
    _, nodes = place_by_splitting(WORLD)
    place, node = spillway.place(), spillway.node_communicator()
    assert node.allgather(WORLD.rank) == nodes[place.node]
    rounds = range(max(len(members) for members in nodes))
    dealt_out = [members[turn] for turn in rounds for members in nodes if turn < len(members)]
    assert spillway.cyclic_world().allgather(WORLD.rank) == dealt_out


def check_mistakes():
    for wrong, kind in ((3, TypeError), (MPI.COMM_NULL, MPI.Exception)):
        try:
            spillway.place(wrong)
        except kind:
            continue
        raise AssertionError(f"no {kind.__name__} for {wrong!r}")


def check_that_mpi_is_needed():
    for function in (spillway.place, spillway.learn_nodes, spillway.node_communicator, spillway.cyclic_world):
        try:
            function()
        except RuntimeError as error:
            assert "between MPI.Init and MPI.Finalize" in str(error)
            continue
        raise AssertionError(f"{function.__name__} before MPI.Init or after MPI.Finalize")


def main():
    spillway.learn_nodes()
    check_place(WORLD)
    check_place(MPI.COMM_SELF)
    check_one_rank_alone()
    backwards = WORLD.Split(WORLD.rank % 2, -WORLD.rank)
    check_place(backwards)
    backwards.Free()
    if WORLD.size > 1:
        check_intercommunicator()
    check_communicators_of_nodes()
    check_mistakes()
    WORLD.Barrier()
    if WORLD.rank == 0:
        print(f"{WORLD.size} ranks on {spillway.place().node_count} nodes", flush=True)


check_that_mpi_is_needed()
assert not spillway.is_running()
MPI.Init()
try:
    main()
except Exception:
    sys.excepthook(*sys.exc_info())
    WORLD.Abort(9)
MPI.Finalize()
check_that_mpi_is_needed()
