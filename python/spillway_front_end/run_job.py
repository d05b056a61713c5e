"""Runs the node agent: passes signals to it, takes its report."""

import os
import signal
import sys
from typing import BinaryIO, Callable, Dict, List, NamedTuple

from .standard_error import say

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PASSED_SIGNALS = (*_ENDING_SIGNALS, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT)


def _read_all(pipe: BinaryIO) -> bytes:
    return pipe.read()


class AgentEnd(NamedTuple):
    status: int  # of the job
    report: str
    is_interrupted: bool  # by a signal to us


def run_agent(
    command_for_descriptor: Callable[[int], List[str]],
    environment: Dict[str, str],
    read_report: Callable[[BinaryIO], bytes] = _read_all,
    is_plain_launcher: bool = False,
) -> AgentEnd:
    """Runs a job until its end.

    `read_report` may do other things until the report has ended. A plain MPI launcher in place of the agent has no
    report, and its end is that of all who have inherited the pipe.

    Afterwards the signals that are passed on stay blocked, until the next one runs or let_signals_in().

    The agent leads a session of its own, so that a terminal's ^C comes to us alone and each signal reaches the ranks
    once. Should we be killed, the agent sees the report's pipe close, and ends the job.
    """
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    command: List[str] = command_for_descriptor(write_end)
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_SIGNALS)  # until there is somebody to pass them to
    agent = os.fork()
    if agent == 0:
        _become_agent(command, environment, is_plain_launcher)
    os.close(write_end)

    ended_by: List[int] = []

    def pass_on(number: int, _frame: object) -> None:
        if number in _ENDING_SIGNALS:
            ended_by.append(number)
        try:
            os.kill(agent, number)
        except ProcessLookupError:
            pass
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)  # so that the shell that sent ^Z sees us stop

    for number in _PASSED_SIGNALS:
        if signal.getsignal(number) == signal.SIG_IGN:
            continue  # as under nohup, or in the background of a script: whoever started us wants it ignored
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_SIGNALS)
    with os.fdopen(read_end, "rb") as pipe:
        report = read_report(pipe).decode(errors="replace")
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_SIGNALS)  # those that come now are for whoever is started next
    _, status = os.waitpid(agent, 0)
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        if is_plain_launcher and code == 0 and ended_by:  # MPICH's may call it a good end
            code = 128 + ended_by[0]
        return AgentEnd(code, report, bool(ended_by))
    number = os.WTERMSIG(status)
    who = "the MPI launcher" if is_plain_launcher else "the node agent"
    say(
        f"spillway: {who} (process {agent}) was killed by signal {number} "
        f"({signal.strsignal(number)}), and the job with it\n"
        "  Cause:  something outside the job sent it: a user, a batch system, or the kernel for want of memory.\n"
        "  Remedy: find out who sends it; look for an out-of-memory kill (dmesg).\n"
    )
    return AgentEnd(128 + number, "", bool(ended_by))


def let_signals_in() -> None:
    """After the last job: those that came since are for nobody."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_SIGNALS)


def _become_agent(command: List[str], environment: Dict[str, str], is_plain_launcher: bool) -> None:
    try:
        os.setsid()
        # The signals stay blocked: a handler of Python's must not run here, and the agent takes them from a descriptor.
        if is_plain_launcher:
            _end_with_parent()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_SIGNALS)
        os.execve(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(f"spillway: cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(127)


def _end_with_parent() -> None:
    """A plain launcher does not see that we have been killed."""
    import ctypes  # for plain launchers only

    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)
