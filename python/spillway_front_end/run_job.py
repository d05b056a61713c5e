"""Runs the node agent: passes signals to it, takes its report."""

import os
import signal
import sys
from typing import Dict, List, Tuple

_PASSED_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
    signal.SIGCONT,
)


def run_agent(command_for_descriptor, environment: Dict[str, str]) -> Tuple[int, str]:
    """(exit status of the job, text of the report).

    The agent leads a session of its own, so that a terminal's ^C comes to us alone and each signal reaches the ranks
    once. Should we be killed, the agent sees the report's pipe close, and ends the job.
    """
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    command: List[str] = command_for_descriptor(write_end)
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_SIGNALS)  # until there is somebody to pass them to
    agent = os.fork()
    if agent == 0:
        _become_agent(command, environment)
    os.close(write_end)

    def pass_on(number: int, _frame: object) -> None:
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
        report = pipe.read().decode(errors="replace")
    _, status = os.waitpid(agent, 0)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status), report
    number = os.WTERMSIG(status)
    sys.stderr.write(
        f"spillway: the node agent (process {agent}) was killed by signal {number} "
        f"({signal.strsignal(number)}), and the job with it\n"
        "  Cause:  something outside the job sent it: a user, a batch system, or the kernel for want of memory.\n"
        "  Remedy: find out who sends it; look for an out-of-memory kill (dmesg).\n"
    )
    return 128 + number, ""


def _become_agent(command: List[str], environment: Dict[str, str]) -> None:
    try:
        os.setsid()
        # The signals stay blocked: a handler of Python's must not run here, and the agent takes them from a descriptor.
        os.execve(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(f"spillway: cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(127)
