"""How the processes of a job look at its input together, before the first task."""

import os
from dataclasses import replace
from typing import Iterator, List, Sequence, Tuple, TypeVar

from . import _job
from ._input_files import FilePart, state_of
from ._kinds import address_of, bytes_at
from ._library import Bytes, check, loaded_library

SAMPLE_PLACES = 256
SAMPLE_ITEMS = 16  # of each place
_LENGTH_BYTES = 8
Part = TypeVar("Part", bound=FilePart)


def is_nearest(part: int) -> bool:
    """Whether this process looks at that part of the input before the first task: of each part one, where it is."""
    _job.running()
    return bool(loaded_library().MPI_D_Is_nearest(part))


def allgather(items: Sequence[bytes]) -> List[bytes]:
    """Collective, before the first task: what all processes have, in their order.

    In a job that goes on from a checkpoint what they had in the start that began it.
    """
    _job.running()
    own = b"".join(len(item).to_bytes(_LENGTH_BYTES, "little") + item for item in items)
    whole = Bytes(address_of(own), len(own))
    check(loaded_library().MPI_D_Allgather(whole))
    data, place, found = bytes_at(whole.data, whole.size), 0, []
    while place < len(data):
        begin = place + _LENGTH_BYTES
        place = begin + int.from_bytes(data[place:begin], "little")
        found.append(data[begin:place])
    return found


def places(splits: Sequence[Part], together: bool) -> Iterator[Tuple[Part, int]]:
    """Splits to look for a sample in, and at how many places each: all of them, or those that this process looks at.

    Collective where processes look together. Each split then has as many as its share of all bytes.
    """
    if not together:
        for split in splits:
            _refuse_unseen(split)
            yield split, -(-SAMPLE_PLACES // len(splits))
        return
    own = [_seen(split) for number, split in enumerate(splits) if is_nearest(number)]
    sizes = [os.path.getsize(split.path) if split.is_compressed else split.end - split.begin for split in own]
    all_bytes = sum(map(int, allgather([b"%d" % sum(sizes)])))  # those of the start that began the job
    yield from ((split, 1 + SAMPLE_PLACES * size // max(size, all_bytes)) for split, size in zip(own, sizes) if size)


def _seen(split: Part) -> Part:
    """With the end of a file that only this host has."""
    if not split.host:
        return split
    if split.has_compressed_file():
        return replace(split, is_compressed=True)
    return replace(split, end=state_of(split.path).size)


def _refuse_unseen(split: FilePart) -> None:
    """A sample is the same in all processes, so all of them have to see the file."""
    if split.host:
        raise ValueError(
            f"cannot look for samples in {split.name}, which only that host has: name files that all processes see, "
            "or look together in a job (together=True)"
        )
