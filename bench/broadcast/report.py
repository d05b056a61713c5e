"""The tables and targets of the page."""

from typing import Callable, Dict, List, Optional

import paper
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import verdict
from paper import GB
from plan import Plan
from simulations import KIB, LINK_BYTES_PER_S, Case

CHAIN_MOST = 1.04  # times one node
TOPOLOGY_LEAST = 4.0  # times faster than random order
FLAT_MOST_OFF = 0.01  # from nodes x one node

Seconds = Dict[Case, float]


class Report:
    def __init__(self, plan: Plan, seconds: Seconds) -> None:
        self.plan = plan
        self.seconds = seconds

    # --- what the targets are about ---

    @property
    def chain_ratio(self) -> float:
        chain = self.plan.chain
        return self.seconds[chain(self.plan.nodes[-1])] / self.seconds[chain(self.plan.nodes[0])]

    def random_over_topology(self, nodes: int) -> Spread:
        in_order = self.seconds[self.plan.chain(nodes)]
        return Spread([self.seconds[case] / in_order for case in self.plan.random_chains(nodes)])

    @property
    def flat_is_off(self) -> float:
        """How far flat is from growing linearly, at most."""
        plan, off = self.plan, 0.0
        for size in plan.sizes:
            one_s = self.seconds[plan.flat(plan.nodes[0], size)] / plan.nodes[0]
            off = max([off, *(abs(self.seconds[plan.flat(n, size)] / (n * one_s) - 1) for n in plan.nodes)])
        return off

    def targets(self) -> List[str]:
        nodes = self.plan.nodes[-1]
        faster = self.random_over_topology(nodes)
        return [
            f"chain, {nodes} nodes / {self.plan.nodes[0]} <= {CHAIN_MOST}: {self.chain_ratio:.4f}: "
            f"{verdict(self.chain_ratio <= CHAIN_MOST)}",
            f"chain, random order / topology order, {nodes} nodes >= {TOPOLOGY_LEAST:g}: {faster.text()}: "
            f"{verdict(faster.median >= TOPOLOGY_LEAST)}",
            f"flat / (nodes x one node) is 1, within {FLAT_MOST_OFF}: off by at most {self.flat_is_off:.5f}: "
            f"{verdict(self.flat_is_off <= FLAT_MOST_OFF)}",
        ]

    # --- tables ---

    def page(self) -> str:
        plan = self.plan
        sections = [
            ("Table 8: chain: simulated, paper's, ratio", self._beside_paper(plan.chain, paper.CHAIN)),
            (
                "Table 8: flat (simple broadcasting): simulated, paper's, ratio",
                self._beside_paper(plan.flat, paper.SIMPLE),
            ),
            (f"Table 5: scatter and allgather, {_size(plan.size)}", self._table_5()),
            (f"Figure 3: chain beside Open MPI, {_size(plan.size)}", self._figure_3()),
            (
                "Figure 4: chain beside MPJ Express",
                "  The paper gives no numbers, but that the chain takes a quarter of the time. Not simulated: how MPJ\n"
                "  broadcasts is not known.",
            ),
            (f"Figure 5: chain in the order of the topology and in random order, {_size(plan.size)}", self._figure_5()),
            (f"Chain, {plan.nodes[-1]} nodes: what the simulation's settings do", self._settings()),
            (f"All algorithms, and larger trees, {_size(plan.size)}", self._large()),
        ]
        text = "\n\n".join(f"{title}\n{body}" for title, body in sections)
        return f"{text}\n\nTargets\n" + "\n".join(f"  {line}" for line in self.targets())

    def _beside_paper(self, case: Callable[[int, int], Case], of_paper: Dict[int, List[float]]) -> str:
        rows = [["nodes"]]
        for size in self.plan.sizes:
            rows[0] += [_size(size), "paper", "ratio"]
        for nodes in self.plan.nodes:
            rows.append([str(nodes)])
            for size in self.plan.sizes:
                rows[-1] += _beside(self.seconds[case(nodes, size)], paper.seconds(of_paper, size, nodes))
        return table(rows)

    def _table_5(self) -> str:
        plan = self.plan
        rows = [["nodes", "src/routing", "SMPI, two phases", "paper", "src/routing / paper", "SMPI / paper"]]
        for nodes in plan.nodes:
            ours, in_phases = self.seconds[plan.scatter_allgather(nodes)], self.seconds[plan.in_two_phases(nodes)]
            of_paper = paper.seconds(paper.SCATTER_ALLGATHER, plan.size, nodes)
            in_phases_cells = _beside(in_phases, of_paper)
            rows.append([str(nodes), *_beside(ours, of_paper), in_phases_cells[2]])
            rows[-1].insert(2, in_phases_cells[0])
        return table(rows)

    def _figure_3(self) -> str:
        plan = self.plan
        rows = [["nodes", "chain", "Open MPI 1.4's way", "/ chain", "Open MPI 4's way", "/ chain"]]
        for nodes in plan.nodes:
            chain_s = self.seconds[plan.chain(nodes)]
            rows.append([str(nodes), f"{chain_s:.2f}"])
            for case in (plan.open_mpi_1(nodes), plan.open_mpi_4(nodes)):
                other_s = self.seconds.get(case)
                rows[-1] += [f"{other_s:.2f}", f"{other_s / chain_s:.2f}"] if other_s is not None else ["-", "-"]
        return f"{table(rows)}\n  Paper: Open MPI 1.4.1 / chain is {paper.CHAIN_IS_FASTER_THAN_MPI}."

    def _figure_5(self) -> str:
        plan = self.plan
        rows = [["nodes", "in order", "random", "random / in order"]]
        for nodes in plan.nodes:
            randomly = Spread([self.seconds[case] for case in plan.random_chains(nodes)])
            in_order = self.seconds[plan.chain(nodes)]
            rows.append([str(nodes), f"{in_order:.2f}", randomly.text(), self.random_over_topology(nodes).text()])
        return f"{table(rows)}\n  Paper: {paper.TOPOLOGY_ORDER_IS_FASTER} from 4 leaf switches on."

    def _settings(self) -> str:
        plan, nodes = self.plan, self.plan.nodes[-1]
        one_s = self.seconds[plan.chain(plan.nodes[0])]
        rows = [["", "simulated", "/ one node"]]
        for case in plan.chains_by_part_size():
            seconds = self.seconds[case]
            rows.append([f"parts of {case.part_bytes / KIB:.0f} KiB", f"{seconds:.3f}", f"{seconds / one_s:.4f}"])
        in_order, randomly = (self.seconds[case] for case in plan.chains_with_acknowledgements())
        rows.append(["with acknowledgements of 5%", f"{in_order:.3f}", f"{in_order / one_s:.4f}"])
        rows.append(["the same in random order", f"{randomly:.3f}", f"{randomly / one_s:.4f}"])
        best = plan.part_sizes()[2] / KIB
        return f"{table(rows)}\n  The cost model's part for {nodes} nodes is {best:.0f} KiB."

    def _large(self) -> str:
        rows = [["nodes", "algorithm", "parts of", "simulated", "cost model", "simulated / one node"]]
        one_s = self.plan.size / LINK_BYTES_PER_S
        for nodes in self.plan.trees:
            for case in self.plan.all_algorithms(nodes):
                rows.append([str(nodes), case.algorithm, f"{case.part_bytes / KIB:.0f} KiB"])
                seconds = self.seconds.get(case)
                cells = [f"{seconds:.2f}", f"{case.model_s():.2f}", f"{seconds / one_s:.2f}"] if seconds else []
                rows[-1] += cells or ["-", f"{case.model_s():.2f}", "-"]
        cases = [case for nodes in self.plan.trees for case in self.plan.all_algorithms(nodes)]
        most = self.plan.most_transfers / 1e6
        note = f"\n  -: not simulated, as it is more than {most:g} million transfers of parts (--transfers)."
        return table(rows) + (note if not all(map(self.plan.is_affordable, cases)) else "")


def _beside(simulated: float, of_paper: Optional[float]) -> List[str]:
    if of_paper is None:
        return [f"{simulated:.2f}", "-", "-"]
    return [f"{simulated:.2f}", f"{of_paper:.2f}", f"{simulated / of_paper:.3f}"]


def _size(size: int) -> str:
    return f"{size / GB:g} GB"
