"""Where the sources are."""

from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
