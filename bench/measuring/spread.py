"""A figure that was measured several times."""

from statistics import median
from typing import Dict, List, Sequence, Union


class Spread:
    def __init__(self, values: Sequence[float]) -> None:
        self.values: List[float] = list(values)

    @property
    def median(self) -> float:
        return median(self.values)

    def text(self, decimals: int = 2) -> str:
        """`1.24 (1.20-1.31)`: median, least and most."""
        if len(self.values) == 1:
            return f"{self.median:.{decimals}f}"
        return f"{self.median:.{decimals}f} ({min(self.values):.{decimals}f}-{max(self.values):.{decimals}f})"

    def as_json(self) -> Dict[str, Union[float, List[float]]]:
        return {
            "median": self.median,
            "least": min(self.values),
            "most": max(self.values),
            "all": self.values,
        }
