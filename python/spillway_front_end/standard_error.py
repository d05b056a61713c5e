"""Messages of ours once a job has begun: whether anybody reads them must not decide how the job ends."""

import os
import sys


def say(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        # Nobody reads it any more. What the stream still holds would be tried again when Python ends, and fail there.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
