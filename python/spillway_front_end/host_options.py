"""What hosts give to their ranks where that is not what the command line says of all: words behind a host's name in the
hostfile, as in `node3 slots=4 memory=64G spill-dir=/fast`."""

from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .errors import LaunchError
from .sizes import parse_size

_MOST_CHARACTERS = 100_000  # of an environment variable, in which they go to the hosts, and what else it holds


class HostOptions(NamedTuple):
    """None, or empty: not given."""

    slots: Optional[int] = None
    memory: Optional[str] = None
    spill_dirs: Tuple[str, ...] = ()

    def before(self, of_all: "HostOptions") -> "HostOptions":
        """What is given here counts, else what the command line says of all hosts."""
        return HostOptions(
            of_all.slots if self.slots is None else self.slots,
            of_all.memory if self.memory is None else self.memory,
            self.spill_dirs or of_all.spill_dirs,
        )

    def words(self) -> List[str]:
        """As in the file."""
        words = [] if self.slots is None else [f"slots={self.slots}"]
        words += [] if self.memory is None else [f"memory={self.memory}"]
        return words + [f"spill-dir={directory}" for directory in self.spill_dirs]


def read_host_options(words: Iterable[str]) -> HostOptions:
    """Raises LaunchError without saying where the words stand."""
    found = HostOptions()
    for word in words:
        name, _, value = word.partition("=")
        is_new = getattr(found, name, None) is None
        if name == "slots" and is_new and value.isdecimal() and int(value) > 0:
            found = found._replace(slots=int(value))
        elif name == "memory" and is_new and value:
            parse_size(value)
            found = found._replace(memory=value)
        elif name == "spill-dir" and value.startswith("/"):
            found = found._replace(spill_dirs=(*found.spill_dirs, value))
        else:
            raise LaunchError(
                f"`{word}` is no option of a host",
                "behind its name may stand slots=<number>, memory=<size>, and spill-dir=<absolute path> once or more",
            )
    return found


def node_words(options: Dict[str, HostOptions]) -> List[str]:
    """For `spillway node`, which looks for its own host: those with the same options are in one word. None when no host
    has any."""
    if not any(of_host.words() for of_host in options.values()):
        return []
    groups: Dict[HostOptions, List[str]] = {}
    for name, of_host in options.items():
        groups.setdefault(of_host, []).append(name)
    words = [
        word for of_host, names in groups.items() for word in ("--of", " ".join([",".join(names), *of_host.words()]))
    ]
    if sum(map(len, words)) > _MOST_CHARACTERS:
        raise LaunchError(
            "the hosts have too many different options", "give fewer of them in the hostfile, or shorter ones"
        )
    return words


def named_options(groups: Iterable[str]) -> Iterator[Tuple[str, HostOptions]]:
    """Of each host, what node_words() has written."""
    for group in groups:
        names, *words = group.split(" ")
        options = read_host_options(words)
        yield from ((name, options) for name in names.split(","))
