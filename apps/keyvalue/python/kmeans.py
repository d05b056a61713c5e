"""kmeans: centers of points, which are lines of numbers. The first centers are the first points.

usage: mpidrun --mpi NAME -M iteration [options] python3 kmeans.py OUTPUT_FILE CLUSTERS ROUNDS FILE...
"""

import sys

import numpy as np
from spillway import mpid

if len(sys.argv) < 5:
    sys.exit(__doc__)
path, clusters, rounds, splits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), mpid.LineSplits(sys.argv[4:])
points_of = {}  # each O task


def send_sums(task, tasks, _received, emit):  # of the points of each center: number, squared distances, columns
    if (points := points_of.get(task)) is None:
        rows = [line.replace(",", " ").split() for line in splits.lines(task, tasks)]
        points = points_of[task] = np.asarray_chkfinite(rows, float).reshape(-1, centers.shape[1])
    distances = np.array([((points - center) ** 2).sum(axis=1) for center in centers])
    closest = distances.argmin(axis=0)
    columns = np.vstack([np.ones(len(points)), distances.min(axis=0), points.T])
    for center in np.unique(closest).tolist():
        emit(center, columns[:, closest == center].sum(axis=1).tobytes())


def add_up(_task, _tasks, groups, _emit, emit_to_driver):
    for center, parts in groups:
        emit_to_driver(center, sum(map(np.frombuffer, parts)).tobytes())


def move(number, received):
    inertia = moved = 0
    for center, parts in received:
        count, distance, *columns = sum(map(np.frombuffer, parts))
        mean = np.array(columns) / count
        # The order in which numbers are added up moves a center a little, too.
        moved += int(((centers[center] - mean) ** 2).sum() > 1e-20 * (distance / count + (mean**2).sum()))
        centers[center], inertia = mean, inertia + distance
    print(f"round {number + 1}: inertia {inertia:.15g}, moved {moved}", flush=True)
    if moved and number + 1 < rounds:
        return True
    with mpid.OutputFile(path) as output:
        output.write("".join(" ".join(map(repr, center)) + "\n" for center in centers.tolist()))


def choose_centers():
    global centers
    if mpid.is_driver():
        mpid.OutputFile.check(path)
    centers = np.array(mpid.first_rows(splits, clusters))


job = mpid.Iteration(map=send_sums, reduce=add_up, drive=move, key=int, value=bytes, begin=choose_centers)
job.combine = lambda first, second: (np.frombuffer(first) + np.frombuffer(second)).tobytes()
job.state = lambda: centers.tobytes()
job.take_state = lambda data: centers.put(range(centers.size), np.frombuffer(data))
job.run(conf=splits.conf)
