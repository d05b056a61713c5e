"""Which ranks of a communicator share a node, as BDMPI's programs ask it, and two communicators that follow the nodes.

Made of MPI calls alone, as include/spillway/nodes.h: the same under Spillway and under a plain mpiexec. The first call
of any of these functions is collective over MPI.COMM_WORLD; all others are local. Call learn_nodes() at the start to
have that behind you. For the thread that calls MPI.
"""

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, cast

if TYPE_CHECKING:
    from mpi4py import MPI


class Place(NamedTuple):
    """Where the calling rank is among the ranks of a communicator (of an intercommunicator: of its local group).

    Nodes are numbered in the order of their lowest ranks.
    """

    node_count: int  # nodes that have ranks of the communicator
    node: int  # number of the calling rank's node among them
    local_size: int  # ranks of the communicator on this node
    local_rank: int  # number of the calling rank among them
    lowest_of_node: int  # lowest rank in the communicator that is on this node


class _Nodes(NamedTuple):
    """Of MPI.COMM_WORLD."""

    node_of_rank: List[int]
    node: "MPI.Intracomm"
    cyclic_world: "MPI.Intracomm"


_known: Optional[_Nodes] = None


def _number_nodes(lowest_of_rank: List[int]) -> List[int]:
    """The number of each rank's node, where each node is known by its lowest rank."""
    numbers: Dict[int, int] = {}
    return [numbers.setdefault(lowest, len(numbers)) for lowest in lowest_of_rank]


def _place_among(nodes: List[int], self: int) -> Place:
    """The place of rank `self`, where each rank's node is known."""
    own = nodes[self]
    return Place(
        node_count=len(set(nodes)),
        node=list(dict.fromkeys(nodes)).index(own),
        local_size=nodes.count(own),
        local_rank=nodes[:self].count(own),
        lowest_of_node=nodes.index(own),
    )


def _nodes() -> _Nodes:
    from mpi4py import MPI

    global _known
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise RuntimeError("the nodes can be asked for between MPI.Init and MPI.Finalize only")
    if _known is None:
        world = MPI.COMM_WORLD
        node = cast(MPI.Intracomm, world.Split_type(MPI.COMM_TYPE_SHARED, world.rank, MPI.INFO_NULL))
        node_of_rank = _number_nodes(world.allgather(node.bcast(world.rank, root=0)))
        order = node.rank * (max(node_of_rank) + 1) + node_of_rank[world.rank]
        _known = _Nodes(node_of_rank, node, cast(MPI.Intracomm, world.Split(0, order)))
    return _known


def learn_nodes() -> None:
    """Collective over MPI.COMM_WORLD the first time; then it does nothing.

    RuntimeError: before MPI.Init or after MPI.Finalize. MPI's own errors come as mpi4py raises them.
    """
    _nodes()


def place(comm: "Optional[MPI.Comm]" = None) -> Place:
    """Where the calling rank is among the ranks of a communicator, MPI.COMM_WORLD unless given.

    TypeError: not a communicator. ValueError: it has processes of another job (that were spawned, or connected to).
    RuntimeError: before MPI.Init or after MPI.Finalize.
    """
    from mpi4py import MPI

    node_of_rank = _nodes().node_of_rank
    if comm is None:
        comm = MPI.COMM_WORLD
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"a communicator of mpi4py is needed, not {type(comm).__name__}")
    group, world = comm.Get_group(), MPI.COMM_WORLD.Get_group()
    try:
        self = group.rank
        # By its class: mpi4py 4 has made a method of what was a class method.
        ranks_in_world = MPI.Group.Translate_ranks(group, list(range(group.size)), world)
    finally:
        group.Free()
        world.Free()
    if MPI.UNDEFINED in ranks_in_world:
        raise ValueError("the communicator has processes of another job, whose nodes are not known")
    return _place_among([node_of_rank[rank] for rank in ranks_in_world], self)


def node_communicator() -> "MPI.Intracomm":
    """The ranks of MPI.COMM_WORLD on the calling rank's node, in their order. Not to be freed."""
    return _nodes().node


def cyclic_world() -> "MPI.Intracomm":
    """All ranks of MPI.COMM_WORLD, dealt out over the nodes: the first of each node, then the second of each, ...

    Not to be freed.
    """
    return _nodes().cyclic_world
