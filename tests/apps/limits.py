"""Words that start a program with too little memory, or with files as small as on a disk with too little space."""

from typing import List


def little_memory(kibibytes: int) -> List[str]:
    return ["bash", "-c", f'ulimit -v {kibibytes}; exec "$@"', "limited"]


def little_disk(kibibytes: int) -> List[str]:
    return ["bash", "-c", f'trap "" XFSZ; ulimit -f {kibibytes}; exec "$@"', "limited"]
