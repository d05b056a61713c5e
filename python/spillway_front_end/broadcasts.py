"""Which way broadcasts take between the nodes of a job, as a file says."""

from .errors import LaunchError
from .line_file import lines_of
from .sizes import parse_size

ALGORITHMS = ("flat", "binomial", "chain", "scatter-allgather")
_ANY = "any"
_MOST_NODES = (1 << 32) - 1
_MOST_BYTES = (1 << 64) - 1


def rules_of(path: str) -> str:
    """As the agents read them (src/routing/selection.h)."""
    rules = []
    for number, words in lines_of("--broadcasts", path):
        try:
            nodes, size, algorithm = words
            most_nodes = _MOST_NODES if nodes == _ANY else int(nodes)
            most_bytes = _MOST_BYTES if size == _ANY else parse_size(size)
            if algorithm not in ALGORITHMS or not 0 < most_nodes <= _MOST_NODES or most_bytes > _MOST_BYTES:
                raise ValueError
        except (ValueError, LaunchError):
            raise LaunchError(
                f"--broadcasts {path}, line {number}: `{' '.join(words)}` is no rule",
                f"write the most nodes, the most bytes (each may be `{_ANY}`) and one of {', '.join(ALGORITHMS)}, "
                "as in `8 32K flat`",
            ) from None
        rules.append(f"{most_nodes} {most_bytes} {algorithm}")
    if not rules:
        raise LaunchError(f"--broadcasts {path} has no rule", "leave it away for the built-in rules")
    return " ".join([str(len(rules)), *rules])
