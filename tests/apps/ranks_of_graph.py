"""The type of the fixtures that compute ranks. Not in conftest.py: there are several, and an import gets any."""

from typing import List, Protocol

from graph_oracle import Graph


class RanksOf(Protocol):
    def __call__(self, graph: Graph, *options: object, ranks: int = 1) -> List[float]: ...
