"""Output of a short command. The subprocess module takes longer to import than these commands run."""

import os
from typing import List, Tuple


def output_of(command: List[str]) -> Tuple[int, str]:
    """(exit status, output and errors together) of a command given by path; status 127 when it cannot be started."""
    read_end, write_end = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    moves = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
    try:
        process = os.posix_spawn(command[0], command, os.environ, file_actions=moves)
    except OSError as error:
        os.close(read_end)
        return 127, os.strerror(error.errno)
    finally:
        os.close(write_end)
        os.close(null)
    with os.fdopen(read_end, "rb") as pipe:
        output = pipe.read().decode(errors="replace")
    _, status = os.waitpid(process, 0)
    return (os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)), output
