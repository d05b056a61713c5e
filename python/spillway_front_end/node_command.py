"""`spillway node`: what the first rank of a host runs to start the host's agent. Not for users.

What a host gives to its ranks depends on the host, so it is decided here and not where the job was started.
"""

import argparse
import os
import sys
from typing import List

from .errors import LaunchError
from .machine import Figure
from .plan import make_node_plan


def become_agent(arguments: List[str], library_directory: str) -> None:
    """Does not return. Raises LaunchError when the host cannot do what was asked for."""
    parser = argparse.ArgumentParser(prog="spillway node")
    for name in ("--ranks", "--ranks-here", "--nodes-here", "--slots"):
        parser.add_argument(name, type=int)
    for name in ("--memory", "--strategy", "--member"):
        parser.add_argument(name)
    parser.add_argument("--spill-dir", dest="spill_dirs", action="append", default=[])
    for name in ("--no-checksums", "--detect-deadlock"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args(arguments)
    slots = Figure(options.slots, "asked for") if options.slots is not None else None
    try:
        node, warnings = make_node_plan(
            slots, options.memory, options.spill_dirs, options.ranks_here, options.nodes_here
        )
    except LaunchError as error:
        raise LaunchError(f"on host {os.uname().nodename}: {error}", error.remedy) from None
    for warning in warnings:
        sys.stderr.write(f"spillway: warning: on host {os.uname().nodename}: {warning}\n")
    sys.stderr.flush()
    agent = os.path.join(library_directory, "spillway-node")
    words = [agent, "--ranks", str(options.ranks), *node.words(), "--strategy", options.strategy]
    words += ["--no-checksums"] if options.no_checksums else []
    words += ["--detect-deadlock"] if options.detect_deadlock else []
    os.execv(agent, [*words, "--member", options.member])
