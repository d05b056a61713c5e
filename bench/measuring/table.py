"""Tables in plain text."""

from typing import Sequence


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """The first row is the head; the first column is flush left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    lines.insert(1, indent + "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
