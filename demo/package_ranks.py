"""First part of the demonstration: which of Debian's packages do the others lead to?"""

import argparse
from pathlib import Path
from typing import List, Tuple

import screen
from measuring.build import Build
from measuring.program_run import run
from measuring.table import table
from package_graph import PackageGraph, package_graph
from package_index import NoPackageIndex, index_lines

RANKS = 8
SLOTS = 2
MEMORY = "64M"
TOP = 12
LIMIT_S = 120.0


def show_package_ranks(build: Build, options: argparse.Namespace, folder: Path) -> None:
    screen.heading("1  PageRank of Debian's packages")
    try:
        with screen.step("read the package index") as step:
            graph = package_graph(index_lines(options.index))
            step.result = f"{len(graph.names):,} packages, {graph.edge_count():,} edges"
    except NoPackageIndex as reason:
        screen.say(f"Left out: {reason}, so there is no package index to read.")
        return
    if not graph.edge_count():
        screen.say("Left out: the package index is empty (apt-get update fetches it).")
        return
    csr = _converted(build, graph, folder)
    what = ["-n", str(RANKS), "--slots", str(SLOTS), "--memory", MEMORY]
    work = ["-i", "100", "--tolerance", "1e-6", "--top", str(TOP)]
    words = build.spillway(*what, "--spill-dir", folder, "--summary", "none")
    words += [build.program("pagerank"), *work, str(csr)]
    with screen.step("rank them under Spillway") as step:
        lines = run(words, LIMIT_S).lines
        iterations = sum(line.startswith("iteration ") for line in lines)
        step.result = f"{iterations} iterations, {RANKS} ranks, {SLOTS} slots"
    print(f"\n{_top_table(graph, _places(lines))}\n")
    screen.say(" ".join(["$ spillway run", *what, "pagerank", *work, csr.name]))


def _converted(build: Build, graph: PackageGraph, folder: Path) -> Path:
    text, csr = folder / "packages.txt", folder / "packages.csr"
    with open(text, "w", encoding="ascii") as file:
        for source, row in enumerate(graph.edges):
            file.writelines(f"{source} {target}\n" for target in row)
    run([build.program("graph-convert"), "--vertices", str(len(graph.names)), str(text), str(csr)], LIMIT_S)
    return csr


def _places(lines: List[str]) -> List[Tuple[int, float]]:
    """(vertex, rank), from the lines `place <tab> vertex <tab> rank`."""
    rows = [line.split("\t") for line in lines if line.count("\t") == 2]
    return [(int(vertex), float(rank)) for _, vertex, rank in rows]


def _top_table(graph: PackageGraph, places: List[Tuple[int, float]]) -> str:
    dependents = graph.dependents()
    rows = [["package", "rank", "needed by"]]
    rows += [[graph.names[vertex], f"{rank:.2%}", f"{dependents[vertex]:,} packages"] for vertex, rank in places]
    return table(rows)
