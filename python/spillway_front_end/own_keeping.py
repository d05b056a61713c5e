"""Programs that keep to their nodes' budgets by themselves, as that of `spillway sort` does: nothing of theirs is
unloaded, and what has no room they spill themselves."""

from typing import List, NamedTuple, Sequence

from .errors import LaunchError
from .spill_directory import Neighbour, SpillDirectory, choose_spill_directories


class OwnKeeping(NamedTuple):
    """Sizes in bytes."""

    memory_percent: int  # of what is available, where no budget is asked for
    more_bytes: int  # of the budget beyond that or what is asked for: for each rank, after of_node() for all of a node
    spilled_bytes: int  # at most: of the job, after of_node() of a host
    output_bytes: int  # at most, of the job,
    output_folder: str  # in which the program makes that

    def of_node(self, ranks: int, hosts: int) -> "OwnKeeping":
        """Of each node, which has at most so many ranks, of a job on so many hosts."""
        of_host = -(-self.spilled_bytes // hosts)
        return self._replace(more_bytes=ranks * self.more_bytes, spilled_bytes=of_host)

    def as_word(self) -> str:
        return ":".join(map(str, self))

    @classmethod
    def of_word(cls, word: str) -> "OwnKeeping":
        *sizes, folder = word.split(":", len(cls._fields) - 1)
        return cls(*map(int, sizes), folder)

    def spill_directories(self, asked: Sequence[str]) -> List[SpillDirectory]:
        """With room for what is spilled, and for the output where that is on the same file system, if there are such:
        whether that much is, the program knows, and says."""
        try:
            output = Neighbour(self.output_folder, self.output_bytes)
            return choose_spill_directories(asked, self.spilled_bytes, True, output)
        except LaunchError:
            return choose_spill_directories(asked, 0, True)
