"""Records of the same number of bytes as input of key-value jobs: files divided among tasks between records."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Iterator, List, Sequence, Tuple

from . import _place
from ._arrays import imported
from ._input_files import SPLIT_BYTES, UNKNOWN_END, FilePart, FileSplits, Path
from ._together import SAMPLE_ITEMS, allgather, places

_BATCH_BYTES = 1 << 20


@dataclass(frozen=True)
class RecordSplit(FilePart):
    """Part of a file: some whole records."""

    record_bytes: int = 1

    def records(self) -> Iterator[bytes]:
        """One by one."""
        for position, block in self._blocks(_BATCH_BYTES):
            records = bytes(block)
            begins = range(0, len(records), self.record_bytes)
            rest = iter(begins)
            _place.note("input", partial(self._place_of_record, position, begins, rest))
            for begin in rest:
                yield records[begin : begin + self.record_bytes]
            _place.forget("input")

    def _place_of_record(self, position: int, begins: range, rest: Iterator[int]) -> str:
        number = position // self.record_bytes + _place.taken(begins, rest) - 1
        return f"{self.name}, record {number} (byte {number * self.record_bytes})"

    def _place_of_batch(self, position: int, size: int) -> str:
        first = position // self.record_bytes
        return f"{self.name}, records {first} to {first + size // self.record_bytes - 1}"

    def batches(self, dtype: Any = None, batch_bytes: int = _BATCH_BYTES) -> Iterator[Any]:
        """NumPy arrays of about as many bytes: of the type, or with a row of bytes (uint8) for each record."""
        numpy = imported("numpy", "batches() of records")
        item = numpy.dtype((numpy.uint8, self.record_bytes) if dtype is None else dtype)
        if item.itemsize != self.record_bytes:
            raise ValueError(
                f"{self.name} has records of {self.record_bytes} bytes, and {item} has {item.itemsize}\n"
                "  Remedy: name a dtype of as many bytes, with align=False."
            )
        for position, block in self._blocks(batch_bytes):
            _place.note("input", partial(self._place_of_batch, position, len(block)))
            yield numpy.frombuffer(block, item.base).reshape(-1, *item.shape)
            _place.forget("input")

    def _blocks(self, block_bytes: int) -> Iterator[Tuple[int, bytearray]]:
        """Whole records, as many as fit, but at least one, and where they begin."""
        most = max(block_bytes // self.record_bytes, 1) * self.record_bytes
        with self.reading() as (file, refuse_change):
            position = self.begin
            if position != 0:
                file.seek(position)
            while position < self.end:
                block = bytearray(min(most, self.end - position))
                filled = _filled(file, block)
                refuse_change()
                position += filled
                if filled < len(block):
                    self._check_end(position)
                    del block[filled:]
                if not block:
                    return
                yield position - filled, block

    def _check_end(self, position: int) -> None:
        """Of the file, which has come before that of the part."""
        if self.end != UNKNOWN_END:
            raise ValueError(f"cannot read {self.name}: it has become shorter than {self.end} bytes")
        if position % self.record_bytes:
            whose = "the {} bytes of its contents" if self.has_compressed_file() else "its {} bytes"
            raise ValueError(
                f"cannot read {self.name}: {whose.format(position)} are no whole number of records of "
                f"{self.record_bytes} bytes"
            )


def _filled(file: Any, block: bytearray) -> int:
    """Fewer bytes than it has only where the file ends."""
    done, room = 0, memoryview(block)
    while done < len(block):
        got = file.readinto(room[done:])
        if not got:
            break
        done += got
    room.release()
    return done


class RecordSplits(FileSplits[RecordSplit]):
    """Files of records that all have as many bytes, in parts. ValueError: a file whose size is no multiple of it.

    Of a compressed file, and one that only one host has, that is known when its end is read.
    """

    def __init__(self, paths: Sequence[Path], record_bytes: int, split_bytes: int = SPLIT_BYTES) -> None:
        self.record_bytes = record_bytes
        super().__init__(paths, split_bytes, record_bytes, RecordSplit, record_bytes=record_bytes)

    def records(self, task: int, tasks: int) -> Iterator[bytes]:
        """Of the splits of a task, as RecordSplit.records()."""
        for split in self.of_task(task, tasks):
            yield from split.records()

    def batches(self, task: int, tasks: int, dtype: Any = None, batch_bytes: int = _BATCH_BYTES) -> Iterator[Any]:
        """Of the splits of a task, as RecordSplit.batches()."""
        for split in self.of_task(task, tasks):
            yield from split.batches(dtype, batch_bytes)


def sampled_keys(splits: RecordSplits, key_bytes: int, together: bool = False) -> List[bytes]:
    """The first bytes of records from all over the splits, but of compressed files from their beginning, sorted.

    The same wherever it is computed. `together`: collective, in a job before its first task; each process looks at
    some splits, and so also at files that only one host has.
    """
    sample: List[bytes] = []
    for split, count in places(splits, together):
        if split.is_compressed:
            sample += [record[:key_bytes] for _, record in zip(range(count * SAMPLE_ITEMS), split.records())]
            continue
        units = (split.end - split.begin) // splits.record_bytes
        borders = [split.begin + units * place // count * splits.record_bytes for place in range(count + 1)]
        for begin, end in zip(borders, borders[1:]):
            part = replace(split, begin=begin, end=min(end, begin + SAMPLE_ITEMS * splits.record_bytes))
            sample += [record[:key_bytes] for record in part.records()]
    return sorted(allgather(sample) if together else sample)
