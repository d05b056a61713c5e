"""Joins two bridges by way of this program, which hands on each frame after a delay: a slow hop between two racks.

slow_hop.py <seconds> <bridge> <bridge> says that it is there, and ends with its standard input. Its two devices go with
it. (Kernels need not have netem, which does this better.)
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from typing import Deque, Dict, Tuple

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
MOST_FRAME_BYTES = 1 << 16


def device_at(bridge: str) -> int:
    """Frames are read from it, and written to it, whole, with their checksums."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    reply = fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"spwhop%d", IFF_TAP | IFF_NO_PI))
    name = reply[:16].rstrip(b"\0").decode()
    subprocess.run(["ip", "link", "set", name, "master", bridge, "up"], check=True)
    return device


def hand_on(others: Dict[int, int], delay_s: float) -> None:
    """Until standard input ends. `others` has both devices: where frames come, and where they go."""
    waiting: Deque[Tuple[float, int, bytes]] = deque()  # when each goes, and where; all wait equally long
    while True:
        pause_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([sys.stdin, *others], [], [], pause_s)
        if sys.stdin in readable:
            return
        for device in readable:
            waiting.append((time.monotonic() + delay_s, others[device], os.read(device, MOST_FRAME_BYTES)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, device, frame = waiting.popleft()
            os.write(device, frame)


def main() -> None:
    try:
        one, other = map(device_at, sys.argv[2:])
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"no frames can be handed on here: {error}")
    print("joined", flush=True)
    hand_on({one: other, other: one}, float(sys.argv[1]))


if __name__ == "__main__":
    main()
