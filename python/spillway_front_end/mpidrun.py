"""The command line of `mpidrun`: starts key-value jobs, gives out their tasks, and reports."""

import argparse
import os
import sys
from typing import List, Optional, TextIO, Tuple

from . import help_text
from .command_line import (
    HelpFormatter,
    Parser,
    add_run_options,
    open_summary_file,
    unknown_option,
    whole_number,
    write_summary,
)
from .errors import EXIT_NOT_STARTED, LaunchError
from .job_progress import STYLES, TICK_S, JobProgress, report_text, report_values
from .machine import available_memory, usable_cores
from .mpi_launcher import launcher_command
from .plan import Plan, RunOptions, make_plan, render_plan
from .standard_error import say
from .task_server import MODES, TaskServer

# Of the options of `spillway run`, those that mean nothing under a plain MPI launcher.
_NOT_PLAIN = ("slots", "memory", "ranks_per_node", "broadcasts", "racks", "detect_deadlock")
_LEAST_MEMORY = 16 << 20


def _parser(version: str) -> Parser:
    parser = Parser(
        prog="mpidrun",
        description=help_text.MPIDRUN_ABOUT,
        epilog=help_text.MPIDRUN_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
        usage="mpidrun -O n -A m -M mode [options] [--] program [arguments]",
    )
    add = parser.add_argument_group("key-value jobs").add_argument
    add("-O", dest="o_tasks", type=whole_number, metavar="n", help="O tasks (default: what the program says)")
    add("-A", dest="a_tasks", type=whole_number, metavar="m", help="A tasks (the same)")
    add(
        "-M",
        dest="mode",
        default="mapreduce",
        metavar="mode",
        help="common, mapreduce (default), iteration or streaming",
    )
    add("-f", dest="short_hostfile", metavar="file", help="as --hostfile")
    add("--checkpoint", metavar="dir", help="keep there what the job needs to go on after a failure")
    add(
        "--restarts",
        type=whole_number,
        default=0,
        metavar="n",
        help="start a job that fails again, up to n times (needs --checkpoint; default: 0)",
    )
    add("--plain", action="store_true", help="start the processes with the MPI launcher alone, without Spillway")
    add("--progress", choices=STYLES, default="auto", help="on standard error (default: a line on a terminal)")
    add("--version", action="version", version=f"Spillway {version}", help="show the version")
    add_run_options(parser.add_argument_group("as of `spillway run`"))
    return parser


def _count(option: str, value: Optional[int]) -> int:
    if value is not None and value < 1:
        raise LaunchError(f"{option} {value}: must be 1 or more", "leave it away for the default")
    return value or 0


def _processes(mode: str, asked: Optional[int], o_tasks: int, a_tasks: int) -> Optional[int]:
    """None: as `spillway run` chooses it."""
    if mode not in ("common", "streaming"):
        return asked
    if o_tasks and a_tasks:
        if asked is not None and asked != o_tasks + a_tasks:
            raise LaunchError(
                f"-n {asked}: in the {mode} mode each of {o_tasks} O and {a_tasks} A tasks is a process",
                f"leave -n away, or say -n {o_tasks + a_tasks}",
            )
        return o_tasks + a_tasks
    if asked is None:
        return max(2, usable_cores().value, o_tasks + 1, a_tasks + 1)
    if asked < max(2, o_tasks + 1, a_tasks + 1):
        raise LaunchError(
            f"-n {asked}: in the {mode} mode each task is a process, and both sides need one", "ask for more"
        )
    return asked


def _check_checkpoint(options: argparse.Namespace) -> None:
    options.checkpoint = options.checkpoint or os.environ.get("MPI_D_CHECKPOINT")
    if options.restarts < 0:
        raise LaunchError(f"--restarts {options.restarts}: must be 0 or more", "leave it away for none")
    if options.checkpoint is None and options.restarts:
        raise LaunchError("--restarts without --checkpoint would begin anew each time", "add --checkpoint DIRECTORY")
    if options.checkpoint is not None and options.mode not in ("mapreduce", "iteration"):
        raise LaunchError(f"--checkpoint: there are none in the {options.mode} mode", "leave it away")


def _parse(arguments: List[str], version: str) -> Tuple[argparse.Namespace, RunOptions]:
    parser = _parser(version)
    options, rest = parser.parse_known_args(arguments)
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if rest or (program and program[0].startswith("-") and options.program[:1] != ["--"]):
        raise unknown_option((rest or program)[0], parser)
    if not program:
        raise LaunchError("no program to run", "name it after the options: mpidrun -O 8 -A 2 ./app")
    options.mode = options.mode.lower()
    if options.mode not in MODES:
        raise LaunchError(f"-M {options.mode}: no such mode", f"say {' or '.join(MODES)}")
    if options.short_hostfile is not None and options.hostfile is not None:
        raise LaunchError("-f and --hostfile say the same thing", "leave one of them away")
    if options.summary_file is not None and options.summary == "none":
        raise LaunchError("--summary none leaves nothing to write to --summary-file", "leave one of them away")
    _count("-O", options.o_tasks), _count("-A", options.a_tasks)
    _check_checkpoint(options)
    values = {name: value for name, value in vars(options).items() if name in RunOptions._fields}
    values["hostfile"] = options.hostfile or options.short_hostfile
    values["ranks"] = _processes(options.mode, options.ranks, options.o_tasks or 0, options.a_tasks or 0)
    if options.mode == "streaming" and not options.plain and not values["slots"]:
        values["slots"] = values["ranks"]  # all tasks run at the same time
    for name in _NOT_PLAIN if options.plain else ():
        if values[name]:
            raise LaunchError(f"--{name.replace('_', '-')} means nothing with --plain", "leave one of them away")
    return options, RunOptions(**dict(values, program=program, spill_dirs=tuple(options.spill_dirs)))


def _let_python_import(plan: Plan, library_directory: str) -> None:
    """What `import spillway.mpid` needs, where the program is Python or what starts it.

    Behind what the user has in PYTHONPATH. Programs in C and C++ have their library by themselves.
    """
    paths = [os.environ.get("PYTHONPATH", ""), os.path.join(library_directory, "python")]
    os.environ["PYTHONPATH"] = ":".join(filter(None, paths))
    library = os.path.join(library_directory, f"libmpid-{plan.library.flavour}.so")
    if not os.path.exists(library):
        raise LaunchError(f"this installation of Spillway has no {library}", "build or install it again")
    os.environ["MPI_D_LIBRARY"] = library


def _set_environment(options: argparse.Namespace, plan: Plan, server: TaskServer, token: str) -> None:
    """What the processes are told. What the user has said counts more than defaults of ours."""
    told = {"MPI_D_CONTROL": server.address, "MPI_D_CONTROL_SECRET": server.secret}
    for name, count in (("MPI_D_O_TASKS", options.o_tasks), ("MPI_D_A_TASKS", options.a_tasks)):
        if count is not None:
            told[name] = str(count)
    told["MPI_D_CHECKPOINT_JOB"] = "\n".join(plan.program)
    told["MPI_D_CHECKPOINT_TOKEN"] = token  # by which a start knows the lock of the one before
    if options.checkpoint is not None:
        told["MPI_D_CHECKPOINT"] = os.path.abspath(options.checkpoint)
    if options.plain and plan.hosts is None:  # which also knows of control groups
        share = available_memory().value // 4 // plan.ranks.value
        os.environ.setdefault("MPI_D_MEMORY", str(max(share, _LEAST_MEMORY)))
    if options.plain and options.spill_dirs:  # else processes ask Spillway
        os.environ.setdefault("MPI_D_SPILL_DIR", ":".join(map(os.path.abspath, options.spill_dirs)))
    os.environ.update(told)


def _write_report(
    options: argparse.Namespace, page: Tuple[dict, str], of_spillway: str, file: Optional[TextIO]
) -> None:
    values, text = page
    if options.summary == "json":
        import json  # for --summary json only

        whole = json.loads(of_spillway) if of_spillway else {}
        write_summary(json.dumps(dict(whole, key_value=values), indent=2) + "\n", file)
    elif options.summary == "text":
        write_summary(text + of_spillway, file)


def _spillway_page(options: argparse.Namespace, plan: Plan, report: str) -> str:
    if not report or options.summary == "none":
        return ""
    from .report import parse_report
    from .summary import render_json, render_text

    render = render_json if options.summary == "json" else render_text
    return render(plan, parse_report(report))


def _plan_of_restart(first: Plan, options: argparse.Namespace, run_options: RunOptions, library_directory: str) -> Plan:
    """Without the hosts that do not answer now. As many processes: numbers of tasks may be made from theirs."""
    if first.hosts is None or first.hosts.slurm_job:
        return first
    from .silent_hosts import silent_hosts  # for restarts on several machines only

    silent = silent_hosts(first, ["true"] if options.plain else ["test", "-x", first.agent])
    for name in silent:
        say(f"mpidrun: host {name} does not answer and is left out\n")
    if not silent:
        return first
    if len(silent) == len(first.hosts.names):
        raise LaunchError(
            "no host of the job is left to start it again",
            f"see whether they can be reached (ssh {silent[0]} true); the same command then goes on where it was",
        )
    plan = make_plan(run_options._replace(ranks=first.ranks.value, left_out=silent), library_directory)
    _write_warnings(options, plan)
    return plan


def _write_warnings(options: argparse.Namespace, plan: Plan) -> None:
    for warning in () if options.plain else plan.warnings:
        say(f"mpidrun: warning: {warning}\n")


def _run(options: argparse.Namespace, run_options: RunOptions, library_directory: str) -> int:
    plan = first_plan = make_plan(run_options, library_directory)
    if options.dry_run:
        sys.stdout.write(render_plan(plan))
        return 0
    _write_warnings(options, plan)
    summary_file = open_summary_file(run_options)
    from .run_job import AgentEnd, let_signals_in, run_agent

    if not plan.library.path:
        _let_python_import(plan, library_directory)
    progress = JobProgress(options.progress)
    token = os.urandom(16).hex()

    def plain_command(_descriptor: int) -> List[str]:
        """When the environment has been set, as Open MPI's launcher is told which variables to hand on."""
        return launcher_command(plan.library, plan.launcher, plan.ranks.value, plan.hosts) + plan.program

    def start(server: TaskServer) -> AgentEnd:
        _set_environment(options, plan, server, token)
        progress.begin_start()
        return run_agent(
            plain_command if options.plain else plan.agent_command,
            plan.environment(),
            lambda pipe: server.serve_until_end(pipe, TICK_S, lambda: progress.show(server.figures)),
            is_plain_launcher=options.plain,
        )

    for restart in range(options.restarts + 1):
        server = TaskServer(plan.hosts.address if plan.hosts else "127.0.0.1", options.mode)
        end = start(server)
        server.close()
        progress.end(server.figures)
        if end.status == 0 and server.is_unfinished:  # some launchers call that a good end
            say(
                "mpidrun: the program has ended without MPI_D_Finalize(), and its job is not done\n"
                "  Remedy: call it in all processes before they end.\n"
            )
            end = end._replace(status=1)
        if end.status == 0 or end.is_interrupted or server.is_over or restart == options.restarts:
            break
        say(
            f"mpidrun: the job failed with status {end.status}, and goes on from its checkpoint "
            f"(restart {restart + 1} of {options.restarts})\n"
        )
        try:
            plan = _plan_of_restart(first_plan, options, run_options, library_directory)
        except LaunchError as error:
            say(error.render("mpidrun"))
            break
    let_signals_in()
    elapsed = progress.elapsed_s
    page = report_values(server.figures, end.status, elapsed), report_text(server.figures, end.status, elapsed)
    _write_report(options, page, _spillway_page(options, plan, end.report), summary_file)
    return end.status


def main(arguments: List[str], library_directory: str, version: str) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        if not arguments:
            _parser(version).print_help(sys.stderr)
            return EXIT_NOT_STARTED
        options, run_options = _parse(arguments, version)
        return _run(options, run_options, library_directory)
    except LaunchError as error:
        sys.stderr.write(error.render("mpidrun"))
        return EXIT_NOT_STARTED
