#!/usr/bin/env python3
"""Spillway at work: PageRank of this machine's package index, then of a graph four times larger than the budget."""

import argparse
import sys
import time
from pathlib import Path

# There is what finds programs and samples memory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import screen
from measuring.build import SOURCE, Build
from measuring.program_run import RunFailed
from measuring.scratch import scratch_folder
from out_of_core import needed_bytes, show_out_of_core
from package_ranks import show_package_ranks


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, default=SOURCE / "build", help="folder of the build (default: build)")
    add("--scale", type=int, default=22, help="logarithm of the graph's vertices (default: 22, some 560 MiB of data)")
    add("--iterations", type=int, default=10, help="of PageRank on that graph (default: 10)")
    add("--index", type=Path, metavar="FILE", help="package index to read (default: this machine's)")
    add(
        "--folder",
        type=Path,
        help="where graphs and spill files go (default: the first suitable of "
        "$SPILLWAY_SPILL_DIR, $TMPDIR, /var/tmp and the current folder); nothing is left there",
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    begin = time.monotonic()
    sys.stdout.reconfigure(errors="replace")
    build = Build(options.build)
    try:
        with scratch_folder(needed_bytes(options.scale), options.folder) as folder:
            show_package_ranks(build, options, folder)
            agrees = show_out_of_core(build, options, folder)
    except RunFailed as failure:
        sys.exit(f"\ndemo: a program failed\n{failure}")
    except KeyboardInterrupt:
        sys.stderr.write("\ndemo: interrupted; nothing is left behind\n")
        return 130
    print()
    screen.say(f"Done in {time.monotonic() - begin:.0f} s. Now with your own program:  build/bin/spillway run --help")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
