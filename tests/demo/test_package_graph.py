"""The dependency graph of packages, from a small index."""

from pathlib import Path
from typing import Dict, List, Set

import pytest
from package_graph import PackageGraph, package_graph, paragraphs

INDEX = Path(__file__).with_name("packages.txt")


@pytest.fixture(scope="module")
def graph() -> PackageGraph:
    with open(INDEX, encoding="utf-8") as file:
        return package_graph(file)


@pytest.fixture(scope="module")
def needs(graph: PackageGraph) -> Dict[str, Set[str]]:
    return {name: {graph.names[target] for target in row} for name, row in zip(graph.names, graph.edges)}


def edges_of(text: str) -> List[List[int]]:
    return package_graph(text.splitlines(keepends=True)).edges


def test_reads_each_package_once(graph: PackageGraph) -> None:
    assert graph.names.count("app") == 1
    assert len(graph.names) == len(set(graph.names)) == 10


def test_takes_depends_pre_depends_and_recommends_but_not_suggests(needs: Dict[str, Set[str]]) -> None:
    assert needs["app"] >= {"library", "base", "continued"}
    assert "unrelated" in needs["app"]  # not as a suggestion: it is who provides the recommended viewer


def test_takes_the_first_alternative_that_exists(needs: Dict[str, Set[str]]) -> None:
    assert "other-runtime" in needs["app"]


def test_prefers_a_real_package_to_one_that_provides_its_name(needs: Dict[str, Set[str]]) -> None:
    assert "library" in needs["app"]


def test_takes_the_provider_of_highest_priority_then_the_first_by_name(needs: Dict[str, Set[str]]) -> None:
    assert needs["continued"] == {"standard-mailer"}
    assert "zebra-viewer" not in needs["app"]


def test_leaves_out_what_nobody_provides(needs: Dict[str, Set[str]]) -> None:
    assert needs["app"] == {"library", "base", "continued", "other-runtime", "unrelated"}


def test_no_package_needs_itself(needs: Dict[str, Set[str]]) -> None:
    assert needs["library"] == {"base"}
    assert needs["standard-mailer"] == set()


def test_leaves_out_packages_that_are_not_installed_any_more(needs: Dict[str, Set[str]]) -> None:
    assert "removed" not in needs
    assert needs["present"] == {"base"}


def test_counts_edges_and_dependents(graph: PackageGraph) -> None:
    dependents = dict(zip(graph.names, graph.dependents()))
    assert graph.edge_count() == sum(dependents.values()) == 8
    assert dependents["base"] == 3


def test_joins_continued_lines_and_skips_text(needs: Dict[str, Set[str]]) -> None:
    assert "this" not in needs
    records = list(
        paragraphs(["Package: a\n", "Depends: b,\n", " c\n", "Tag: x,\n", " y\n", "\n", "\n", "Package: b\n"])
    )
    assert records == [{"Package": "a", "Depends": "b, c"}, {"Package": "b"}]


def test_an_empty_index_is_an_empty_graph() -> None:
    assert edges_of("") == []
    assert edges_of("\n\nDescription: no package\n\n") == []
