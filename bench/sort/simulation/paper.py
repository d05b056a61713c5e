"""What hybrid-sort.txt has in numbers, on Stampede: its hybrid design is Hybrid-SR."""

from typing import Dict, NamedTuple, Optional

TB = 10**12
PROCESSES = [512, 1024, 2048, 4096, 8192]
# The cases of both kinds of scaling (5.5), and of the split by stages (Figure 6).
STRONG_BYTES = TB
WEAK_PROCESSES_PER_TB = 512
SPLIT_PROCESSES_PER_TB = 1024
SPLIT_PROCESSES = [1024, 2048, 4096]

GAIN = 0.45  # at 8,192 processes
TWO_SIDED, HYBRID = "two-sided", "hybrid"


class Stages(NamedTuple):
    read_s: float
    finish_s: float


# 5.2, 4 TB on 4,096 processes.
STAGES: Dict[str, Stages] = {TWO_SIDED: Stages(476, 313), HYBRID: Stages(303, 296)}
# 5.4, 1 TB on 8,192 processes.
TOTAL_S: Dict[str, float] = {TWO_SIDED: 164, HYBRID: 92.55}
# 5.5, TB a minute: 8 TB on 4,096 processes.
WEAK_RATE: Dict[str, float] = {TWO_SIDED: 0.25, HYBRID: 0.34}
# 5.3, 1 TB, by processes.
OVERLAP: Dict[str, Dict[int, float]] = {
    TWO_SIDED: {1024: 0.60, 2048: 0.20},
    HYBRID: {1024: 0.95, 2048: 0.95, 4096: 0.95},
}


def total_s(design: str, processes: int, size: int) -> Optional[float]:
    if (processes, size) == (8192, STRONG_BYTES):
        return TOTAL_S.get(design)
    if (processes, size) == (4096, 8 * TB) and design in WEAK_RATE:
        return size / TB / WEAK_RATE[design] * 60
    return None
