"""What twister.txt has in numbers (6.2): seconds on 150 nodes of IU PolarGrid, Twister 2013."""

from typing import Dict, List, Optional

GB = 1000 * 1000 * 1000
NODES = [1, 25, 50, 75, 100, 125, 150]
NODES_PER_LEAF = 42
SIZES = [GB // 2, GB, 2 * GB]

# Table 8, by bytes and then as NODES.
CHAIN = {
    GB // 2: [4.04, 4.13, 4.15, 4.16, 4.18, 4.2, 4.23],
    GB: [8.09, 8.22, 8.24, 8.28, 8.28, 8.29, 8.3],
    2 * GB: [16.17, 16.4, 16.42, 16.43, 16.44, 16.46, 16.48],
}
SIMPLE = {
    GB // 2: [4.04, 101, 202.01, 303.04, 404.08, 505.14, 606.14],
    GB: [8.08, 202, 404.04, 606.09, 808.21, 1010.71, 1212.21],
    2 * GB: [16.16, 441.64, 882.63, 1325.63, 1765.46, 2021.3, 2648.6],
}
# Table 5; it ends at 125 nodes.
SCATTER_ALLGATHER = {GB: [11.4, 20.57, 20.62, 20.68, 20.79, 21.2]}

# The figures have no numbers in the text, but for these.
CHAIN_IS_FASTER_THAN_MPI = 1.2  # Figure 3
CHAIN_IS_FASTER_THAN_MPJ = 4  # Figure 4
TOPOLOGY_ORDER_IS_FASTER = 5  # Figure 5


def seconds(table: Dict[int, List[float]], size: int, nodes: int) -> Optional[float]:
    row = table.get(size, [])
    place = NODES.index(nodes) if nodes in NODES else len(row)
    return row[place] if place < len(row) else None
