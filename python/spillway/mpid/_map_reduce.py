"""MapReduce programs as a map and a reduce function."""

from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Tuple

from . import _job


@dataclass
class MapReduce:
    """A program in the MapReduce mode; run() is all of it but its options."""

    map: Callable[[int, int, Callable[[Any, Any], None]], None]  # (task, tasks, emit), where emit(key, value) is Send
    reduce: Callable[[int, int, Iterator[Tuple[Any, Iterator[Any]]]], None]  # (task, tasks, groups)
    key: type = str
    value: type = str
    combine: Optional[_job.Combine] = None
    compare: Optional[_job.Compare] = None
    partition: Optional[_job.Partition] = None
    begin: Optional[Callable[[], Any]] = None  # in all processes, before the first task

    def run(self, **configuration: Any) -> None:
        """`configuration` is that of Init()."""
        functions = {"combine": self.combine, "compare": self.compare, "partition": self.partition}
        with _job.Init(_job.Mode.MAPREDUCE, key=self.key, value=self.value, **functions, **configuration):
            if self.begin is not None:
                self.begin()
            for side in _job.tasks():
                if side is _job.COMM_BIPARTITE_O:
                    self.map(side.rank, side.size, _job.running().send)
                else:
                    self.reduce(side.rank, side.size, _job.groups())
