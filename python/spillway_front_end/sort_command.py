"""`spillway sort`: sorts records or lines of files larger than memory, with processes of an MPI library."""

import argparse
import contextlib
import glob
import json
import os
import shutil
import tempfile
import uuid
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import ending_signals, help_text, slurm
from .command_line import (
    HelpFormatter,
    Parser,
    add_host_options,
    open_summary_file,
    unknown_option,
    whole_number,
    write_summary,
)
from .errors import LaunchError
from .hosts import HostList, hosts_of_job
from .machine import usable_cores
from .mpi_library import FLAVOURS
from .own_keeping import OwnKeeping
from .plan import Plan, RunOptions, make_plan
from .sizes import format_size, parse_size
from .sort_progress import STYLES, SortProgress
from .standard_error import say

_MEMORY_PERCENT = 50  # of what is available: the file cache, and whoever else is there, get the rest
_MORE_PER_PROCESS = 64 << 20  # of the budget, for what is not the data
_ALL_AT_A_TIME = 65536  # slots: each node has as many as ranks
_PAGE, _PLACE, _INPUTS = "report.json", "progress", "inputs"


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="spillway sort",
        usage="spillway sort --output file [options] input...",
        description=help_text.SORT_ABOUT,
        epilog=help_text.SORT_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("-h", "--help", action="help", help="show this text")
    add("--output", metavar="file", help="where the sorted records go; it appears when it is whole")
    add("--parts", action="store_true", help="the output is a directory: a file for each process, and manifest.json")
    add("--record-bytes", metavar="size", help="of each record (default: 100, the sort benchmark's records)")
    add("--lines", action="store_true", help="lines of text instead")
    add("--separator", metavar="byte", help="what is between the fields of lines, or \\t (default: blanks)")
    add(
        "--key",
        action="append",
        metavar="where[:type][:desc]",
        help="of records offset:length, from 0, in bytes (default: 0:10); type: bytes, int, uint or float in the "
        "machine's byte order, number in text. Of lines the number of a field, from 1, or 0 for all of the line (the "
        "default); type: bytes or number. desc: the greatest first",
    )
    add("--stable", action="store_true", help="records with equal keys stay in the order of the inputs")
    add("--unique", action="store_true", help="of records with equal keys only the first one of the inputs")
    add("--count", action="store_true", help="the same, with how many there were, before lines or in 8 bytes behind")
    add(
        "-n",
        "--processes",
        type=whole_number,
        metavar="n",
        help="processes (default: the cores that may be used here, for each host; or the tasks of the Slurm job)",
    )
    add(
        "--memory",
        metavar="size",
        help="for all processes of a node together (default: 50%% of what is available there)",
    )
    add(
        "--spill-dir",
        metavar="dir",
        help="where records go that have no room in memory, on a local disk (default: as of `spillway run`)",
    )
    add(
        "--readers",
        type=whole_number,
        default=0,
        metavar="n",
        help="so many of the processes only read (default: none)",
    )
    add(
        "--delivery",
        choices=("one-sided", "two-sided", "two-sided-one-receive"),
        default="one-sided",
        help="how blocks get to those who sort; two-sided, with processes that only read and one on each node that "
        "only receives, is there for comparison",
    )
    add_host_options(parser, "--memory and --spill-dir", "--memory")
    add("--mpi", choices=FLAVOURS, help="MPI library (default: mpich, if it is there)")
    add("--progress", choices=STYLES, default="auto", help="on standard error (default: a line on a terminal)")
    add("--summary", choices=("text", "json", "none"), default="text", help="form of the page at the end")
    add("--summary-file", metavar="file", help="write that page to a file, not to standard error")
    add("input", nargs="*", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args(list(arguments))
    if rest:
        raise unknown_option(rest[0], parser)
    _check(options)
    return options


def _check(options: argparse.Namespace) -> None:
    if options.output is None or not options.input:
        raise LaunchError(
            "it is not said what to sort, or where to", "spillway sort --output sorted records, all options: --help"
        )
    if options.lines and options.record_bytes is not None:
        raise LaunchError("--lines have no --record-bytes", "leave one of them away")
    if options.key is not None and len(options.key) > 1:
        raise LaunchError(
            f"--key {options.key[0]} and --key {options.key[1]}: there is one key",
            "say one of them; with --stable a second sort, by the first key, keeps the order of the one before",
        )
    if options.separator is not None and not options.lines:
        raise LaunchError("--separator is between fields of lines", "say --lines, or leave it away")
    options.input = [path for given in options.input for path in _files_named(given)]
    if options.parts:
        options.output = options.output.rstrip("/") or "/"
    if os.path.islink(options.output):  # which stays one, also where nothing is behind it yet
        options.output = os.path.realpath(options.output)
    if options.processes is not None and options.processes < 1:
        raise LaunchError(f"-n {options.processes}: must be 1 or more", "leave it away for as many as cores")
    if options.readers < 0:
        raise LaunchError(f"--readers {options.readers}: must be 0 or more", "leave it away for none")
    if options.summary_file is not None and options.summary == "none":
        raise LaunchError("--summary none leaves nothing to write to --summary-file", "leave one of them away")


def _files_named(given: str) -> Sequence[str]:
    """A pattern stands for what it is like, as a shell would have it; but what is there is no pattern."""
    if os.path.lexists(given) or not glob.has_magic(given):
        return [given]
    found = sorted(glob.glob(given, recursive=True))
    if "**" in given:  # which is like a folder and what is in it
        found = [path for path in found if not os.path.isdir(path)]
    if not found:
        raise LaunchError(f"no file is named like {given}", "look at the pattern, and at the directory")
    return found


def _program(library_directory: str, mpi: str) -> str:
    for flavour in (mpi,) if mpi else FLAVOURS:
        path = os.path.join(library_directory, f"spillway-sort-{flavour}")
        if os.path.exists(path):
            return path
    raise LaunchError(f"this installation of Spillway has no {path}", "build or install it again")


def _disk(of_stage: Dict[str, Any], seconds: float) -> str:
    moved = (of_stage["read_bytes"] + of_stage["written_bytes"]) / max(seconds, 1e-9)
    busy = "" if of_stage["busy"] is None else f", disk busy {of_stage['busy']:.0%}"
    of_rate = "" if of_stage["of_rate"] is None else f", {of_stage['of_rate']:.0%} of its rate"
    return f"{format_size(moved)}/s read and written{busy}{of_rate}"


def _page(report: Dict[str, Any], options: argparse.Namespace) -> str:
    if options.summary == "json":
        return json.dumps(report, indent=2) + "\n"
    where = "in memory" if report["in_memory"] else f"in {report['buckets']:.0f} buckets on storage"
    total_s = max(report["total_s"], 1e-9)
    what = "lines" if options.lines else "records"
    lines = [f"spillway sort: {report['records']:.0f} {what}, {format_size(report['bytes'])}, {where}"]
    if options.unique or options.count:
        lines.append(f"  {report['output_records']:.0f} of them with different keys")
    lines.append(f"  {'in all':22}{total_s:8.2f} s  {format_size(report['bytes'] / total_s)}/s")
    for name, title in (("sample", "sample"), ("distribute", "read and deal out"), ("finish", "sort and write")):
        lines.append(f"  {title:22}{report[f'{name}_s']:8.2f} s  {_disk(report[f'{name}_disk'], report[f'{name}_s'])}")
        if name == "distribute" and report["sorters_distribute_s"]:
            lines[-1] += f", {report['deal_out_s'] / report['sorters_distribute_s']:.0%} of the time dealing out"
    lines.append(f"  read {format_size(report['read_bytes'])}, written {format_size(report['written_bytes'])}")
    if report["device_rate"] is not None:
        rates = (format_size(report["device_rate"][name]) for name in ("read", "written"))
        lines[-1] += "; the spill disk's rate: read {}/s, write {}/s".format(*rates)
    return "\n".join(lines) + "\n"


def _hosts(options: argparse.Namespace) -> Optional[HostList]:
    """None: this machine alone. Else files have the same names on all of them, from wherever we were called."""
    hosts = hosts_of_job(options.hosts, options.hostfile, options.placement, options.address, None)
    if hosts is not None:
        options.output = os.path.abspath(options.output)
        options.input = [os.path.abspath(path) for path in options.input]
        folder = os.path.dirname(options.output)
        if not os.path.isdir(folder):
            raise LaunchError(
                f"cannot write {options.output}: this machine has no directory {folder}",
                "name an output on a file system that all hosts share, also with this machine",
            )
    return hosts


def _processes(options: argparse.Namespace, hosts: Optional[HostList]) -> int:
    if options.processes is not None:
        return options.processes
    tasks = slurm.task_count() if options.hosts is None and options.hostfile is None else None
    return tasks or usable_cores().value * (len(hosts.names) if hosts else 1)


def _most_of_node(options: argparse.Namespace, processes: int, hosts: Optional[HostList]) -> int:
    of_host = hosts.most_ranks(processes) if hosts else processes
    return min(of_host, max(options.ranks_per_node or of_host, 1))


def _plan(
    options: argparse.Namespace, library_directory: str, hosts: Optional[HostList], own_words: Sequence[str]
) -> Plan:
    """The processes are ranks of `spillway run`, all of which run at a time and have room."""
    words = [_program(library_directory, options.mpi)]
    if options.record_bytes is not None:
        words += ["--record-bytes", str(parse_size(options.record_bytes))]
    words += ["--key", *options.key] if options.key else []
    words += ["--separator", options.separator] if options.separator is not None else []
    words += [f"--{name}" for name in ("lines", "parts", "stable", "unique", "count") if getattr(options, name)]
    processes = _processes(options, hosts)
    of_node = _most_of_node(options, processes, hosts)
    words += ["--node-processes", str(of_node), "--reserve", str(_MORE_PER_PROCESS)]
    words += ["--output", options.output, "--readers", str(options.readers), "--delivery", options.delivery, *own_words]
    run_options = RunOptions(
        program=words,
        ranks=processes,
        slots=_ALL_AT_A_TIME,
        memory=options.memory,
        spill_dirs=(options.spill_dir,) if options.spill_dir else (),
        ranks_per_node=options.ranks_per_node,
        hosts=options.hosts,
        hostfile=options.hostfile,
        placement=options.placement,
        address=options.address,
        own_keeping=_own_keeping(options),
    )
    return make_plan(run_options, library_directory)


def _own_keeping(options: argparse.Namespace) -> OwnKeeping:
    given = _bytes_of(options.input)
    return OwnKeeping(_MEMORY_PERCENT, _MORE_PER_PROCESS, given, given, os.path.dirname(options.output) or ".")


def _files_for_ranks(folder: str, inputs: Sequence[str]) -> Tuple[str, str, str]:
    """For the page and the progress, and the list of inputs, for which a command line may be too short.

    They are there before the job: else a file system that is shared may tell us for a while, once we have looked, that
    they are not.
    """
    page, place, list_of_inputs = (os.path.join(folder, name) for name in (_PAGE, _PLACE, _INPUTS))
    contents = {page: b"", place: b"", list_of_inputs: b"".join(os.fsencode(name) + b"\0" for name in inputs)}
    try:
        for path, content in contents.items():
            with open(path, "wb") as file:
                file.write(content)
    except OSError as error:
        raise LaunchError(f"cannot write {path}: {error.strerror}", "see that there is room") from None
    return page, place, list_of_inputs


def _sort(
    options: argparse.Namespace, library_directory: str, hosts: Optional[HostList], folder: str, token: str
) -> int:
    from .run_job import let_signals_in, run_agent

    report, place, list_of_inputs = _files_for_ranks(folder, options.input)
    progress = SortProgress(options.progress, place, _bytes_of(options.input))
    words: List[str] = ["--report-file", report, "--token", token, "--input-list", list_of_inputs]
    words += ["--progress-file", place] if progress.is_wanted else []
    plan = _plan(options, library_directory, hosts, words)
    summary_file = open_summary_file(options)
    end = run_agent(plan.agent_command, plan.environment(), progress.show_until_end)
    let_signals_in()
    if end.status != 0:
        return end.status
    if options.summary != "none":
        try:
            with open(report, encoding="utf-8") as file:
                write_summary(_page(json.load(file), options), summary_file)
        except (OSError, ValueError) as error:
            say(f"spillway sort: warning: the output is there, but no page about it: {error}\n")
    return 0


def _bytes_of(paths: Sequence[str]) -> int:
    """About, for the progress: what cannot be looked at, the sort itself refuses."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            files = [entry.path for entry in os.scandir(path)] if os.path.isdir(path) else [path]
            total += sum(os.stat(file).st_size for file in files if os.path.isfile(file))
    return total


def _partial(output: str, token: str) -> str:
    """Where the program has the output until it is whole: partial_name() in src/sort/output_file.cpp."""
    return os.path.join(os.path.dirname(output), f".{os.path.basename(output)}.spillway-{token}")


def _make_folder(output: str, hosts: Optional[HostList]) -> str:
    """For what the first process says to us, which may be on another host: then beside the output, hidden."""
    try:
        if hosts is None:
            return tempfile.mkdtemp(prefix="spillway-sort-")
        return tempfile.mkdtemp(prefix=".spillway-sort-", dir=os.path.dirname(output))
    except OSError as error:
        place = f"in {os.environ.get('TMPDIR', '/tmp')}" if hosts is None else f"beside {output}"
        remedy = "name another one (TMPDIR)" if hosts is None else "name an output where you can write to"
        raise LaunchError(f"cannot make a directory {place}: {error.strerror}", remedy) from None


def main(arguments: Sequence[str], library_directory: str) -> int:
    """Raises LaunchError."""
    options = _parse(arguments)
    hosts = _hosts(options)
    token = uuid.uuid4().hex
    ending_signals.hold_them()  # else nobody would know of a folder that has just been made
    ending_signals.raise_them()
    folder = None
    try:
        folder = _make_folder(options.output, hosts)
        ending_signals.let_them_in()
        return _sort(options, library_directory, hosts, folder, token)
    except ending_signals.Ended as ended:
        ended.say("sort", "there is no output")
        return ended.status
    finally:
        ending_signals.ignore_them()
        ending_signals.let_them_in()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        partial = _partial(options.output, token)  # only where processes were killed it is there
        shutil.rmtree(partial, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.unlink(partial)
