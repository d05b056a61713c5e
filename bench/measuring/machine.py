"""The machine that figures were measured on."""

import datetime
import os
from pathlib import Path
from typing import Dict, Union

# More than this many processes wanting a processor before we start: others are at work, and times mean little.
BUSY_LOAD = 1.5


def _first_value(path: str, key: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def _system() -> str:
    try:
        for line in Path("/etc/os-release").read_text().splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.split("=", 1)[1].strip('"')
    except OSError:
        pass
    return "unknown system"


def description(folder: Path) -> Dict[str, Union[str, int, float]]:
    """`folder` is where the files of the measurement are."""
    from spillway_front_end.spill_directory import file_system_of

    memory_kib = int(_first_value("/proc/meminfo", "MemTotal").split()[0])
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _first_value("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_kib * 1024,
        "kernel": os.uname().release,
        "system": _system(),
        "file_system": file_system_of(str(folder)),
        "load_before": os.getloadavg()[0],
    }


def text(machine: Dict[str, Union[str, int, float]]) -> str:
    gib = float(machine["memory_bytes"]) / (1 << 30)
    line = (
        f"{machine['date']}, {machine['cores']} cores ({machine['processor']}), {gib:.0f} GiB, {machine['system']}, "
        f"Linux {machine['kernel']}, {machine['file_system']}, load before: {machine['load_before']:.2f}"
    )
    if float(machine["load_before"]) > BUSY_LOAD:
        line += "\nNOTE: others are using this machine; times below are not to be trusted"
    return line
