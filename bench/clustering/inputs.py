"""Vectors like HOG features of patches of pictures, for want of a million pictures.

A patch shows one of many motifs, more or less: there are four times as many modes as centers, and mode number i is as
frequent as 1 / sqrt(i). Motifs resemble each other: a mode is a mixture of 3 of 48 patterns. A vector is its mode, up
to a half of another pattern, and noise that each feature is multiplied with; then it is normalized as HOG does, with
values of at least 0 and norm 1 of each block of four histograms with eight orientations. So clusters overlap, and no
center has a mode for itself. Values are multiples of 2 to the power of -20: sums of them are exact, in whatever order
they are added.
"""

from pathlib import Path
from typing import List

import numpy as np

BLOCK = 32
MODES_OF_CENTER = 4
PATTERNS = 48
MIXED_PATTERNS = 3


def normalized(features: np.ndarray) -> np.ndarray:
    blocks = np.maximum(features, 0).reshape(len(features), -1, BLOCK)
    norms = np.sqrt((blocks**2).sum(axis=2, keepdims=True)) + 1e-6
    return (np.round(blocks / norms * 2**20) / 2**20).reshape(features.shape).astype(np.float32)


class Generator:
    def __init__(self, columns: int, centers: int, noise: float, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self._noise = noise
        modes = MODES_OF_CENTER * centers
        self._patterns = self._random.gamma(0.5, 1.0, (PATTERNS, columns))
        shares = self._random.dirichlet(np.full(MIXED_PATTERNS, 1.0), modes)
        chosen = self._random.integers(0, PATTERNS, (modes, MIXED_PATTERNS))
        self._modes = np.einsum("mp,mpc->mc", shares, self._patterns[chosen])
        weights = 1 / np.sqrt(np.arange(1, modes + 1))
        self._weights = weights / weights.sum()

    def vectors(self, count: int) -> np.ndarray:
        modes = self._random.choice(len(self._weights), count, p=self._weights)
        others = self._random.integers(0, PATTERNS, count)
        share = 0.5 * self._random.random((count, 1)) ** 2
        clean = (1 - share) * self._modes[modes] + share * self._patterns[others]
        noise = self._random.gamma(1 / self._noise**2, self._noise**2, clean.shape)
        return normalized(clean * noise)


def write_vectors(folder: Path, files: int, vectors: int, generator: Generator) -> List[Path]:
    """In the binary format of image-clustering."""
    paths = [folder / f"vectors-{number}" for number in range(files)]
    picture = 0
    for number, path in enumerate(paths):
        count = vectors * (number + 1) // files - vectors * number // files
        features = generator.vectors(count)
        records = np.zeros(count, [("place", "<i4", 3), ("features", "<f4", features.shape[1])])
        records["place"][:, 0] = np.arange(picture, picture + count)
        records["features"] = features
        records.tofile(path)
        picture += count
    return paths
