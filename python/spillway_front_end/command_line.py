"""The command line of `spillway`."""

import argparse
import os
import sys
from typing import List, Optional, TextIO, Tuple

from . import help_text
from .errors import EXIT_NOT_STARTED, LaunchError
from .hosts import PLACEMENTS
from .mpi_library import FLAVOURS, family_of
from .plan import RunOptions, make_plan, render_plan
from .standard_error import say

_SUMMARIES = ("text", "json", "none")
_STRATEGIES = ("auto", "araw", "arlw", "lrlw")


class Parser(argparse.ArgumentParser):
    """Errors in the form of all other messages, with the option that was probably meant."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise LaunchError(message.removeprefix("argument "), f"see `{self.prog} --help`")


def _mpi_name(word: str) -> str:
    if family_of(word) not in FLAVOURS:
        raise argparse.ArgumentTypeError(f"`{word}` is not {' or '.join(FLAVOURS)}, also not with a version")
    return word


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise LaunchError(f"`{text}` is not a whole number", "write one, as in -n 64 --slots 2") from None


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the texts around the options.

    argparse makes one for each option that it is told of, and would ask for the width of the terminal: with shutil,
    which takes longer to import than all else.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=help_text.WIDTH)


def _parser(version: str, python_directory: str) -> Tuple[Parser, Parser]:
    main = Parser(
        prog="spillway",
        description=help_text.ABOUT,
        epilog=help_text.MAIN_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    main.add_argument("-h", "--help", action="help", help="show this text")
    main.add_argument("--version", action="version", version=f"Spillway {version}", help="show the version")
    main.add_argument(
        "--python-path",
        action="version",
        version=python_directory,
        help="show the directory for PYTHONPATH with which scripts find the package spillway",
    )
    commands = main.add_subparsers(title="commands", metavar="command", dest="command", parser_class=Parser)
    run = commands.add_parser(
        "run",
        help="run an MPI program that is larger than memory",
        description=help_text.RUN_ABOUT,
        epilog=help_text.RUN_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
        usage="spillway run [options] [--] program [arguments]",
    )
    add_run_options(run)
    commands.add_parser(
        "tune", help="measure which way broadcasts take best between machines, and their racks", add_help=False
    )
    commands.add_parser("sort", help="sort files of records that are larger than memory", add_help=False)
    return main, run


def add_run_options(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("-h", "--help", action="help", help="show this text")
    add(
        "-n",
        "--ranks",
        type=whole_number,
        metavar="ranks",
        help="ranks to start (default: as many as slots, or as tasks of the Slurm job)",
    )
    add(
        "--slots",
        type=whole_number,
        metavar="k",
        help="ranks that run at a time (default: the cores that may be used)",
    )
    add(
        "--memory",
        metavar="size",
        help="memory budget of all ranks of a node together, as in 8G, 512M, 1.5GiB (default: 80%% of what "
        "is available)",
    )
    add(
        "--spill-dir",
        dest="spill_dirs",
        action="append",
        default=[],
        metavar="dir",
        help="where unloaded memory goes: a directory on a local disk; given several times, directories on several "
        "disks, which share it (default: $SPILLWAY_SPILL_DIR, with `:` between several, or the first suitable of "
        "$TMPDIR, /var/tmp and the current directory)",
    )
    add(
        "--strategy",
        choices=_STRATEGIES,
        default="auto",
        help="when memory is loaded and unloaded: aggressively (a) or lazily (l) read and written, or as the program "
        "uses it (default: auto)",
    )
    add(
        "--no-checksums",
        dest="checksums",
        action="store_false",
        help="do not check that what is read back from the spill directory is what was written there",
    )
    add_host_options(run, "--slots, --memory and --spill-dir", "--slots and --memory")
    add(
        "--racks",
        metavar="file",
        help="the rack of each machine, as in `node17 rack2` in each line: broadcasts pass those of a rack one after "
        "the other (default: the switches of the Slurm job's nodes, where Slurm knows them)",
    )
    add(
        "--broadcasts",
        metavar="file",
        help="which way broadcasts take between nodes: lines of the most nodes, the most bytes, and flat, binomial, "
        "chain or scatter-allgather; the first that fits counts (default: built-in rules)",
    )
    add(
        "--mpi",
        type=_mpi_name,
        metavar="name",
        help="MPI library of the program: mpich, openmpi, or one of these with a version that Spillway was built for "
        "(default: the one that it is linked with)",
    )
    add(
        "--summary",
        choices=_SUMMARIES,
        default="text",
        help="form of the page at the end, on standard error " "(default: text)",
    )
    add("--summary-file", metavar="file", help="write that page to a file instead")
    add(
        "--detect-deadlock",
        action="store_true",
        help="end the job when every rank waits for another one, and say for what",
    )
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def add_host_options(parser: argparse.ArgumentParser, of_host: str, of_node: str) -> None:
    """Where the ranks are; `of_host` and `of_node`: the options that then are of each host, and of each node."""
    add = parser.add_argument
    add(
        "--ranks-per-node",
        type=whole_number,
        metavar="n",
        help=f"divide this machine into virtual nodes of n ranks each; {of_node} are then of each node "
        "(default: all ranks are on one node)",
    )
    add(
        "--hosts",
        metavar="h,...",
        help="machines to run on, which the MPI launcher reaches (by ssh), with Spillway and the program in the same "
        f"place; {of_host} are then of each of them (default: the nodes of the Slurm job that "
        "this is part of, reached by srun; else this machine)",
    )
    add("--hostfile", metavar="file", help="the same from a file, a machine in each line, with options of its own")
    add(
        "--placement",
        choices=PLACEMENTS,
        default="block",
        help="the first ranks all on the first machine, or one on each machine in turn (default: block)",
    )
    add("--address", metavar="ip", help="this machine's address that the others reach (default: the one towards them)")


def unknown_option(option: str, run: argparse.ArgumentParser) -> LaunchError:
    import difflib  # only to help with a typing error

    known = [name for action in run._actions for name in action.option_strings]
    near = difflib.get_close_matches(option.split("=")[0], known, 1)
    remedy = f"did you mean {near[0]}? " if near else ""
    return LaunchError(
        f"unknown option {option}",
        remedy + f"All options: `{run.prog} --help`; options of the program come after its name",
    )


def parse_run_options(arguments: List[str], version: str = "", python_directory: str = "") -> Optional[RunOptions]:
    """None when no command was given. Raises LaunchError on a mistake, SystemExit after help and version."""
    main, run = _parser(version, python_directory)
    options, rest = main.parse_known_args(arguments)
    if rest:
        raise unknown_option(rest[0], run)
    if options.command is None:
        main.print_help(sys.stderr)
        return None
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if program and program[0].startswith("-") and options.program[:1] != ["--"]:
        raise unknown_option(program[0], run)
    if not program:
        raise LaunchError("no program to run", "name it after the options: spillway run -n 8 ./app")
    if options.summary_file is not None and options.summary == "none":
        raise LaunchError("--summary none leaves nothing to write to --summary-file", "leave one of them away")
    values = vars(options)
    del values["command"]
    return RunOptions(**dict(values, program=program, spill_dirs=tuple(options.spill_dirs)))


def open_summary_file(options: RunOptions) -> Optional[TextIO]:
    """Before the job: after hours of computing it is too late for a mistake in the path."""
    if options.summary_file is None:
        return None
    try:
        return open(options.summary_file, "w", encoding="utf-8")
    except OSError as error:
        raise LaunchError(
            f"cannot write the summary to {options.summary_file}: {error.strerror}",
            "name a file in an existing directory that you may write to",
        ) from None


def write_summary(page: str, file: Optional[TextIO]) -> None:
    if file is not None:
        try:
            with file:
                file.write(page)
            return
        except OSError as error:
            say(f"spillway: warning: cannot write the summary to {file.name}: {error.strerror}\n")
    say(page)


def _run(options: RunOptions, library_directory: str) -> int:
    plan = make_plan(options, library_directory)
    if options.dry_run:
        sys.stdout.write(render_plan(plan))
    for warning in plan.warnings:
        sys.stderr.write(f"spillway: warning: {warning}\n")
    if options.dry_run:
        return 0
    summary_file = open_summary_file(options)
    from .run_job import let_signals_in, run_agent

    status, text, _ = run_agent(plan.agent_command, plan.environment())
    let_signals_in()
    if not text:
        return status
    from .report import parse_report

    report = parse_report(text)
    if report.attached_ranks == 0 and not report.failure:
        sys.stderr.write(
            "spillway: warning: no rank called MPI_Init, so Spillway had nothing to do: no memory was unloaded, no "
            "slot was waited for\n"
        )
    if options.summary != "none":
        from .summary import render_json, render_text

        render = render_json if options.summary == "json" else render_text
        write_summary(render(plan, report), summary_file)
    return status


def main(arguments: List[str], library_directory: str, version: str) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        if arguments[:1] == ["node"]:
            from .node_command import become_agent

            become_agent(arguments[1:], library_directory)
        if arguments[:1] == ["tune"]:
            from . import tune

            return tune.main(arguments[1:], library_directory)
        if arguments[:1] == ["sort"]:
            from . import sort_command

            return sort_command.main(arguments[1:], library_directory)
        options = parse_run_options(arguments, version, os.path.join(library_directory, "python"))
        return EXIT_NOT_STARTED if options is None else _run(options, library_directory)
    except LaunchError as error:
        sys.stderr.write(error.render())
        return EXIT_NOT_STARTED
