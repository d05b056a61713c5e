"""The dependency graph of Debian's packages, from a package index as apt and dpkg keep it.

An edge goes from a package to each package that an ordinary installation of it brings along: what it depends on,
before or after unpacking, and what it recommends.
"""

import re
from typing import Dict, Iterable, List, NamedTuple

_DEPENDENCIES = ("Pre-Depends", "Depends", "Recommends")
_FIELDS = frozenset(("Package", "Provides", "Priority", "Status", *_DEPENDENCIES))
# "libc6 (>= 2.34)", "python3:any", "perl-base [amd64]": the name is what counts.
_NAME = re.compile(r"\s*([a-z0-9][a-z0-9+.-]*)")
# Of several packages that provide a virtual one, the one that matters most to a system comes first, as in apt.
_PRIORITIES = ("required", "important", "standard", "optional", "extra")

Paragraph = Dict[str, str]


class PackageGraph(NamedTuple):
    names: List[str]
    edges: List[List[int]]  # of each package: the packages that it brings along

    def edge_count(self) -> int:
        return sum(map(len, self.edges))

    def dependents(self) -> List[int]:
        """Of each package: how many packages bring it along."""
        counts = [0] * len(self.names)
        for row in self.edges:
            for target in row:
                counts[target] += 1
        return counts


def paragraphs(lines: Iterable[str]) -> Iterable[Paragraph]:
    """The records of an index, with the fields that we look at."""
    current: Paragraph = {}
    field = ""
    for line in lines:
        if line[:1] in (" ", "\t"):
            if field:
                current[field] += line.rstrip("\n")
            continue
        name, colon, value = line.partition(":")
        field = name if colon and name in _FIELDS else ""
        if field:
            current[field] = value.strip()
        elif line.isspace() and current:
            yield current
            current = {}
    if current:
        yield current


def _packages(lines: Iterable[str]) -> Dict[str, Paragraph]:
    """The first record of each name counts; packages that dpkg knows but that are not installed do not."""
    packages: Dict[str, Paragraph] = {}
    for paragraph in paragraphs(lines):
        if "Package" in paragraph and paragraph.get("Status", "installed").endswith("installed"):
            packages.setdefault(paragraph["Package"], paragraph)
    return packages


def _names_in(relations: str) -> List[str]:
    return [match.group(1) for match in map(_NAME.match, relations.split(",")) if match]


def _importance(paragraph: Paragraph) -> int:
    priority = paragraph.get("Priority", "")
    return _PRIORITIES.index(priority) if priority in _PRIORITIES else len(_PRIORITIES)


def _providers(packages: Dict[str, Paragraph]) -> Dict[str, str]:
    """For each virtual package, the real one to take for it."""
    chosen: Dict[str, str] = {}
    for name in sorted(packages, key=lambda each: (_importance(packages[each]), each)):
        for provided in _names_in(packages[name].get("Provides", "")):
            chosen.setdefault(provided, name)
    return chosen


def package_graph(lines: Iterable[str]) -> PackageGraph:
    packages = _packages(lines)
    providers = _providers(packages)
    numbers = {name: number for number, name in enumerate(packages)}
    edges = []
    for name, paragraph in packages.items():
        targets = set()
        for field in _DEPENDENCIES:
            for relation in paragraph.get(field, "").split(","):
                target = _taken(relation, numbers, providers)
                if target and target != name:
                    targets.add(numbers[target])
        edges.append(sorted(targets))
    return PackageGraph(list(packages), edges)


def _taken(relation: str, numbers: Dict[str, int], providers: Dict[str, str]) -> str:
    """The package that satisfies `a | b`: the first alternative that there is, really or provided; else none."""
    for alternative in relation.split("|"):
        match = _NAME.match(alternative)
        if match:
            name = match.group(1)
            if name in numbers:
                return name
            if name in providers:
                return providers[name]
    return ""
