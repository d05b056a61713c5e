"""`spillway node`: what the first rank of a host runs to start the host's agent. Not for users.

What a host gives to its ranks depends on the host, so it is decided here and not where the job was started.
"""

import argparse
import os
import sys
from typing import List

from .errors import LaunchError
from .host_options import HostOptions, named_options
from .hosts import is_this_machine
from .machine import Figure
from .own_keeping import OwnKeeping
from .plan import make_node_plan


def become_agent(arguments: List[str], library_directory: str) -> None:
    """Does not return. When the host cannot do what was asked for, its agent says so to the job's."""
    parser = argparse.ArgumentParser(prog="spillway node")
    for name in ("--ranks", "--ranks-here", "--nodes-here", "--slots"):
        parser.add_argument(name, type=int)
    for name in ("--memory", "--strategy", "--member", "--own-keeping"):
        parser.add_argument(name)
    parser.add_argument("--spill-dir", dest="spill_dirs", action="append", default=[])
    parser.add_argument("--of", action="append", default=[])
    for name in ("--no-checksums", "--detect-deadlock"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args(arguments)
    agent = os.path.join(library_directory, "spillway-node")
    try:
        here = HostOptions(options.slots, options.memory, tuple(options.spill_dirs))
        here = _own_options(options.of).before(here) if options.of else here
        slots = Figure(here.slots, "asked for") if here.slots is not None else None
        keeping = OwnKeeping.of_word(options.own_keeping) if options.own_keeping else None
        node, warnings = make_node_plan(
            slots, here.memory, here.spill_dirs, options.ranks_here, options.nodes_here, keeping
        )
    except LaunchError as error:
        words = ["--member", options.member, "--refusal", f"{error}.\n  Remedy: {error.remedy}."]
        os.execv(agent, [agent, "--ranks", str(options.ranks), *words])
    for warning in warnings:
        sys.stderr.write(f"spillway: warning: on host {os.uname().nodename}: {warning}\n")
    sys.stderr.flush()
    words = [agent, "--ranks", str(options.ranks), *node.words(), "--strategy", options.strategy]
    words += ["--no-checksums"] if options.no_checksums else []
    words += ["--detect-deadlock"] if options.detect_deadlock else []
    os.execv(agent, [*words, "--member", options.member])


def _own_options(groups: List[str]) -> HostOptions:
    """This host's, by its name or address in the hostfile."""
    for name, own in named_options(groups):
        if is_this_machine(name):
            return own
    raise LaunchError(
        "cannot tell which host of the hostfile this is",
        "in a hostfile with options, name hosts as `hostname` does there, or by their addresses",
    )
