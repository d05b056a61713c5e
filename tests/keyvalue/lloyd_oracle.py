"""K-means with NumPy as image-clustering computes it, to the bit: distances of 32 bits in the order that
apps/clustering/distances.h says, the first of several centers that are as near."""

from typing import List, NamedTuple

import numpy as np

BLOCK = 32


class Clustering(NamedTuple):
    centers: np.ndarray  # after the last round
    nearest: np.ndarray  # to these centers
    changed: List[int]  # vectors that changed their center, by round
    inertia: List[float]


def squared_distances(points: np.ndarray, center: np.ndarray) -> np.ndarray:
    columns = points.shape[1]
    block = min(BLOCK, 1 << (columns - 1).bit_length())  # more would be zeros
    squares = np.pad((points - center) ** 2, ((0, 0), (0, -columns % block)))
    sums = np.zeros((len(points), block), np.float32)
    for begin in range(0, columns, block):
        sums += squares[:, begin : begin + block]
    half = block // 2
    while half:
        sums[:, :half] += sums[:, half : 2 * half]
        half //= 2
    return sums[:, 0]


def nearest_centers(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return np.array([squared_distances(points, center) for center in centers]).argmin(axis=0)


def lloyd(points: np.ndarray, count: int, rounds: int) -> Clustering:
    """Of points whose sums are exact."""
    assert points.dtype == np.float32
    centers = points[np.arange(count) * len(points) // count].copy()
    changed: List[int] = []
    inertia: List[float] = []
    before = np.full(len(points), -1)
    while len(changed) < rounds and (not changed or changed[-1]):
        nearest = nearest_centers(points, centers)
        changed.append(int((nearest != before).sum()))
        inertia.append(float(((points.astype(float) - centers[nearest]) ** 2).sum()))
        for center in set(nearest.tolist()):
            members = points[nearest == center].astype(float)
            centers[center] = members.sum(axis=0) / len(members)
        before = nearest
    return Clustering(centers, nearest_centers(points, centers), changed, inertia)
