"""Which broadcasts are simulated for which table."""

from typing import List, NamedTuple, Optional

from simulations import COURIERS_PART_BYTES, KIB, Case, best_part_bytes

# With these many transfers, all of which share links with each other, a simulation takes half a minute.
_MOST_SHARED_TRANSFERS = 1000 * 1000
# A flat broadcast's connections just share one link, whatever the parts.
_FLAT_PART_BYTES = 64 << 20
_SEEDS = (1, 2, 3)


class Plan(NamedTuple):
    nodes: List[int]  # of the paper's cluster; the first one is one node
    large: List[int]  # of large trees
    size: int  # of the paper's 1 GB
    most_transfers: int  # what would be more transfers of parts is not simulated: it takes minutes

    @property
    def sizes(self) -> List[int]:
        return [self.size // 2, self.size, 2 * self.size]

    @property
    def trees(self) -> List[int]:
        """That all algorithms are compared on."""
        return [self.nodes[-1], *self.large]

    def chain(self, nodes: int, size: Optional[int] = None) -> Case:
        return Case("chain", nodes, size or self.size)

    def flat(self, nodes: int, size: Optional[int] = None) -> Case:
        return Case("flat", nodes, size or self.size, _FLAT_PART_BYTES)

    def scatter_allgather(self, nodes: int) -> Case:
        return Case("scatter-allgather", nodes, self.size)

    def in_two_phases(self, nodes: int) -> Case:
        """Scatter, and then allgather: SMPI's."""
        return Case("mpi:scatter_LR_allgather", nodes, self.size)

    def open_mpi_1(self, nodes: int) -> Case:
        """What Open MPI 1.4 takes for 1 GB on up to 1,600 nodes: a chain with parts of 128 KiB."""
        return Case("mpi:ompi_pipeline", nodes, self.size)

    def open_mpi_4(self, nodes: int) -> Case:
        """What Open MPI 4 takes, according to SMPI: trees of whole messages, mostly."""
        return Case("mpi:ompi", nodes, self.size)

    def random_chains(self, nodes: int) -> List[Case]:
        return [Case("chain", nodes, self.size, seed=seed) for seed in _SEEDS]

    def chains_with_acknowledgements(self) -> List[Case]:
        return [
            self.chain(self.nodes[-1])._replace(has_acknowledgements=True),
            self.random_chains(self.nodes[-1])[0]._replace(has_acknowledgements=True),
        ]

    def part_sizes(self) -> List[int]:
        return [64 * KIB, 128 * KIB, best_part_bytes(self.nodes[-1], self.size), COURIERS_PART_BYTES, 1024 * KIB]

    def chains_by_part_size(self) -> List[Case]:
        return [self.chain(self.nodes[-1])._replace(part_bytes=part_bytes) for part_bytes in self.part_sizes()]

    def all_algorithms(self, nodes: int) -> List[Case]:
        """Those that are not affordable as well."""
        shared = max(COURIERS_PART_BYTES, self.size * nodes // _MOST_SHARED_TRANSFERS)
        # With larger parts, some nodes would have no piece of their own to pass on.
        piece = COURIERS_PART_BYTES if shared == COURIERS_PART_BYTES else self.size // nodes
        return [
            Case("flat", nodes, self.size, max(_FLAT_PART_BYTES, 20 * shared)),
            Case("binomial", nodes, self.size, shared),
            Case("scatter-allgather", nodes, self.size, piece),
            Case("chain", nodes, self.size, 1024 * KIB),
            Case("chain", nodes, self.size),
            Case("chain", nodes, self.size, best_part_bytes(nodes, self.size)),
        ]

    def all_cases(self) -> List[Case]:
        cases = self.chains_by_part_size() + self.chains_with_acknowledgements()
        for nodes in self.nodes:
            cases += [self.chain(nodes, size) for size in self.sizes] + [self.flat(nodes, size) for size in self.sizes]
            cases += [self.scatter_allgather(nodes), self.in_two_phases(nodes), self.open_mpi_1(nodes)]
            cases += self.random_chains(nodes)
            # On 1 node that is a tree of messages of 8 KiB, which takes longer to simulate than all others.
            cases += [self.open_mpi_4(nodes)] if nodes > 1 else []
        for nodes in self.trees:
            cases += filter(self.is_affordable, self.all_algorithms(nodes))
        return cases

    def is_affordable(self, case: Case) -> bool:
        return case.nodes * case.parts <= self.most_transfers
