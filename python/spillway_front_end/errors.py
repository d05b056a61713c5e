"""What the user is told when a job cannot be started."""

# Exit status when nothing was started: wrong options, a program that cannot run under Spillway, nowhere to spill.
EXIT_NOT_STARTED = 2


class LaunchError(Exception):
    """A job that cannot be started; the text names the cause, `remedy` what to do about it."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause)
        self.remedy = remedy

    def render(self, command: str = "spillway") -> str:
        lines = f"{command}: {self}\n"
        return lines + (f"  Remedy: {self.remedy}\n" if self.remedy else "")
