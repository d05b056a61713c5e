"""The option of benchmarks that draw."""

import argparse
from pathlib import Path


def add_plot_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the figures, too (.png or .svg; needs Matplotlib)"
    )


def check_plot_option(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Before anything is measured for it."""
    if not options.plot:
        return
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        parser.error("--plot needs Matplotlib: apt install python3-matplotlib, or pip install matplotlib")
