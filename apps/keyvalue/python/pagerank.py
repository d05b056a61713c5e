"""pagerank: the ranks of a graph's nodes. Lines are `node neighbour neighbour ...`, sorted by node, one for each.

usage: mpidrun --mpi NAME -M iteration [options] python3 pagerank.py OUTPUT_DIRECTORY ITERATIONS FILE...
"""

import pickle
import sys

from spillway import mpid

if len(sys.argv) < 4:
    sys.exit(__doc__)
directory, iterations, splits = sys.argv[1], int(sys.argv[2]), mpid.LineSplits(sys.argv[3:])
NODES, LINKLESS = -2, -1  # keys of what the driver gets: how many nodes, and the ranks of those without links
graphs, totals = {}, {NODES: 0.0, LINKLESS: 0.0}


def look_at_input():
    global homes  # of nodes, where their lines are
    mpid.PartFile.check(directory)
    homes = mpid.SortedNumberLines(splits)


def spread(task, tasks, received, emit):  # ranks are kept times the number of nodes
    graph = graphs.setdefault(task, {})
    for line in splits.lines(task, tasks) if not graph else ():
        node, *neighbours = mpid.numbers_of_line(line, int)
        if node <= next(reversed(graph), -1) or homes.task_of(node, tasks) != task or min(neighbours, default=0) < 0:
            raise ValueError(f"{line!r}: numbers are from 0 on, lines sorted by the first one, which is theirs alone")
        graph[node] = neighbours
    ranks = dict.fromkeys(graph, 0.15 + 0.85 * totals[LINKLESS] / totals[NODES] if totals[NODES] else 1)
    for node, parts in received:
        if node not in ranks:
            raise ValueError(f"node {node} is a neighbour, but has no line of its own in {homes.file_of(node)}")
        ranks[node] += 0.85 * sum(parts)
    if mpid.round() == iterations:
        with mpid.PartFile(directory, task) as output:
            return output.write("".join(f"{node}\t{rank / totals[NODES]}\n" for node, rank in ranks.items()))
    emit(NODES, len(ranks))
    for node, neighbours in graph.items():
        for neighbour in neighbours or [LINKLESS]:
            emit(neighbour, ranks[node] / max(len(neighbours), 1))


def add_up(_task, _tasks, groups, emit, emit_to_driver):
    for node, parts in groups:
        (emit_to_driver if node < 0 else emit)(node, sum(parts))


def drive(number, received):
    totals.update((key, sum(parts)) for key, parts in received)
    return number < iterations


job = mpid.Iteration(spread, add_up, drive, key=int, value=float, combine="sum", begin=look_at_input)
job.partition = lambda node, _, tasks: node % tasks if mpid.COMM_BIPARTITE_O else homes.task_of(node, tasks)
job.state, job.take_state = lambda: pickle.dumps(totals), lambda data: totals.update(pickle.loads(data))
job.run(conf=splits.conf)
