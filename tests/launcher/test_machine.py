"""Cores and memory of machines that are only files."""

import os

import pytest
from spillway_front_end.machine import available_memory, total_memory, usable_cores

GIB = 1 << 30
MEMINFO = "MemTotal:       33554432 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\n"  # 32 and 20 GiB
V2_MOUNT = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MEMORY = "31 20 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
V1_CPU = "32 20 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


def v2(**files):
    """A machine with control groups of version 2; we are in /user/job. `user__memory_max` is user/memory.max."""
    own = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/user/job\n",
        "proc/self/mountinfo": V2_MOUNT,
        "sys/fs/cgroup/user/job/cgroup.procs": "",
    }
    for name, content in files.items():
        own["sys/fs/cgroup/" + name.replace("__", "/").replace("_", ".", 1)] = content
    return own


def set_affinity(monkeypatch, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(count)))


def test_memory_without_control_groups_is_what_the_kernel_says(tree):
    root = tree({"proc/meminfo": MEMINFO})
    assert available_memory(root).value == 20 * GIB
    assert total_memory(root) == 32 * GIB


def test_memory_limit_of_our_group_less_its_use(tree):
    root = tree(v2(user__job__memory_max=f"{8 * GIB}\n", user__job__memory_current=f"{3 * GIB}\n"))
    assert available_memory(root).value == 5 * GIB
    assert available_memory(root).origin.endswith("/user/job")


def test_limit_of_a_group_above_counts_too(tree):
    files = v2(user__memory_max=f"{6 * GIB}\n", user__memory_current=f"{4 * GIB}\n")
    files["sys/fs/cgroup/user/job/memory.max"] = "max\n"
    files["sys/fs/cgroup/user/job/memory.current"] = "0\n"
    assert available_memory(tree(files)).value == 2 * GIB


def test_file_cache_of_a_group_is_available(tree):
    files = v2(user__job__memory_max=f"{8 * GIB}\n", user__job__memory_current=f"{7 * GIB}\n")
    files["sys/fs/cgroup/user/job/memory.stat"] = f"anon 1\ninactive_file {4 * GIB}\n"
    assert available_memory(tree(files)).value == 5 * GIB


def test_soft_limit_counts_when_it_is_lower(tree):
    files = v2(user__job__memory_max=f"{8 * GIB}\n", user__job__memory_current="0\n")
    files["sys/fs/cgroup/user/job/memory.high"] = f"{2 * GIB}\n"
    assert available_memory(tree(files)).value == 2 * GIB


def test_generous_limit_changes_nothing(tree):
    root = tree(v2(user__job__memory_max=f"{100 * GIB}\n", user__job__memory_current="0\n"))
    assert available_memory(root).value == 20 * GIB


def test_used_up_limit_leaves_nothing(tree):
    root = tree(v2(user__job__memory_max=f"{GIB}\n", user__job__memory_current=f"{2 * GIB}\n"))
    assert available_memory(root).value == 0


def test_memory_limit_of_version_1(tree):
    group = "sys/fs/cgroup/memory/batch/job7/memory."
    root = tree(
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "4:memory:/batch/job7\n0::/\n",
            "proc/self/mountinfo": V1_MEMORY,
            group + "limit_in_bytes": f"{4 * GIB}\n",
            group + "usage_in_bytes": f"{2 * GIB}\n",
            group + "stat": f"total_inactive_file {GIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "0\n",
        }
    )
    assert available_memory(root).value == 3 * GIB


def test_container_that_sees_its_own_group_as_the_root(tree):
    mount = V2_MOUNT.replace(" / /sys", " /docker/abc /sys")
    root = tree(
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/docker/abc\n",
            "proc/self/mountinfo": mount,
            "sys/fs/cgroup/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/memory.current": f"{GIB}\n",
        }
    )
    assert available_memory(root).value == GIB


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1)]
)
def test_cores_are_limited_by_the_quota(tree, monkeypatch, quota, cores):
    set_affinity(monkeypatch, 8)
    assert usable_cores(tree(v2(user__cpu_max=quota + "\n"))).value == cores


def test_cores_are_limited_by_the_affinity(tree, monkeypatch):
    set_affinity(monkeypatch, 3)
    assert usable_cores(tree(v2(user__cpu_max="800000 100000\n"))).value == 3


@pytest.mark.parametrize(("quota", "cores"), [("-1", 8), ("300000", 3)])
def test_cores_under_version_1(tree, monkeypatch, quota, cores):
    set_affinity(monkeypatch, 8)
    group = "sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_"
    files = {group + "quota_us": quota + "\n", group + "period_us": "100000\n"}
    files.update({"proc/self/cgroup": "5:cpu,cpuacct:/batch\n", "proc/self/mountinfo": V1_CPU})
    assert usable_cores(tree(files)).value == cores


def test_this_machine_has_cores_and_memory():
    assert usable_cores().value >= 1
    assert 0 < available_memory().value <= total_memory()
