"""Numbers and their squares as text, and the like, through batches of the arrays that its argument names."""

import sys

import numpy as np
from spillway import mpid

kind, directory, value_type = sys.argv[1:]
TYPES = {"int": int, "float": float, "str": str, "bytes": bytes}


def arrow_arrays(numbers):
    import pyarrow as pa

    texts = [f"ä{number}" if number % 7 else "" for number in numbers]
    # A slice, whose offsets do not begin at 0; and types with offsets of 32 and of 64 bits.
    types = {"str": [pa.string(), pa.large_string()], "bytes": [pa.binary(), pa.large_binary()]}
    types |= {"int": [pa.int32(), pa.int64()], "float": [pa.float32(), pa.float64()]}
    content = {"str": texts, "bytes": [text.encode() for text in texts], "int": numbers, "float": numbers}[value_type]
    for half, type_ in enumerate(types[value_type]):
        keys, values = pa.array([0, *numbers[half::2]])[1:], pa.array([content[0], *content[half::2]], type_)[1:]
        yield keys, pa.chunked_array([values[:10], values[10:]])


def numpy_arrays(numbers):
    array = np.array(numbers)
    if value_type in ("int", "float"):
        yield array, array.astype(np.int32 if value_type == "int" else np.float32)
    else:
        texts = [f"ä{number}".encode() if number % 7 else b"" for number in numbers]
        ends = np.cumsum([len(text) for text in texts])
        offsets = np.concatenate([[0], ends])
        commas = 2 * np.arange(len(texts))
        yield array[::2], (b", ".join(texts), (offsets[:-1] + commas)[::2], (ends + commas)[::2])
        texts = texts[1::2]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int32)
        yield array[1::2], (np.frombuffer(b"".join(texts), np.uint8), offsets)


def rows(keys, values):
    if kind == "arrow":
        return zip(keys.to_pylist(), values.to_pylist())
    if isinstance(values, tuple):
        data, offsets = values[0].tobytes(), values[1]
        texts = [data[begin:end] for begin, end in zip(offsets, offsets[1:])]
        values = np.array([text.decode() if value_type == "str" else text for text in texts], object)
    return zip(keys.tolist(), values.tolist())


with mpid.Init(key=int, value=TYPES[value_type]):
    for side in mpid.tasks():
        if side is mpid.COMM_BIPARTITE_O:
            numbers = list(range(side.rank, 1000, side.size))
            for keys, values in (arrow_arrays if kind == "arrow" else numpy_arrays)(numbers):
                mpid.send_batch(keys, values)
        else:
            with mpid.PartFile(directory, side.rank) as output:
                for keys, values in mpid.recv_batches(100, arrays=kind):
                    assert 1 <= len(keys) <= 100
                    for row in rows(keys, values):
                        output.write(repr(row) + "\n")
