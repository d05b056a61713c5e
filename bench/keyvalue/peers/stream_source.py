"""Sends messages over TCP to whoever connects, so many a second, as lines of 100 bytes: the nanosecond of the machine's
monotonic clock at which each was due, and a key below 1000. Prints its port. stream_source.py RATE SECONDS"""

import socket
import sys
import time

LINE_BYTES = 100
KEYS = 1000
PAUSE_S = 1e-3  # what is due meanwhile is sent together
STAMPS_PER_S = 10_000  # messages between two of them have the time of the first


def main() -> None:
    rate, seconds = int(sys.argv[1]), int(sys.argv[2])
    tails = [f" {key:03d}".encode().ljust(LINE_BYTES - 20, b".") + b"\n" for key in range(KEYS)]
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
    chunk = max(1, rate // STAMPS_PER_S)
    begin_ns = time.monotonic_ns()
    sent = 0
    while sent < rate * seconds:
        due = min((time.monotonic_ns() - begin_ns) * rate // 10**9 + 1, rate * seconds)
        if due > sent:
            lines = []
            for first in range(sent, due, chunk):
                stamp = b"%019d" % (begin_ns + first * 10**9 // rate)
                lines += [stamp + tails[number * number % KEYS] for number in range(first, min(first + chunk, due))]
            connection.sendall(b"".join(lines))
            sent = due
        time.sleep(PAUSE_S)
    print(f"sent: {sent} messages, {sent / (time.monotonic_ns() - begin_ns) * 1e9:.0f}/s", flush=True)


if __name__ == "__main__":
    main()
