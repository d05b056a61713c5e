"""Where memory may be unloaded to."""

import errno
import os
from types import SimpleNamespace

import pytest
from spillway_front_end import spill_directory
from spillway_front_end.errors import LaunchError
from spillway_front_end.own_keeping import OwnKeeping
from spillway_front_end.plan import make_node_plan
from spillway_front_end.spill_directory import check_spill_directory, choose_spill_directories, file_system_of

MIB = 1 << 20


@pytest.fixture
def on_disk(monkeypatch):
    """Lets every directory be on ext4 unless a test says otherwise: the tests' own may be on anything."""
    kinds = {}
    monkeypatch.setattr(spill_directory, "file_system_of", lambda path: kinds.get(str(path), "ext4"))
    return kinds


@pytest.fixture
def free_space(monkeypatch):
    def be(count):
        monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_bavail=count // 4096, f_frsize=4096))

    be(100 * MIB)
    return be


def test_finds_the_longest_mount_point(tmp_path):
    mountinfo = tmp_path / "mountinfo"
    here = os.path.realpath(tmp_path)
    mountinfo.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        f"2 1 8:2 / {here} rw shared:1 - xfs /dev/b rw\n"
        f"3 1 8:3 / {here}/with\\040space rw - nfs4 server:/x rw\n"
        f"4 1 8:4 / {here}x rw - btrfs /dev/c rw\n"
    )
    assert file_system_of(str(tmp_path / "a"), str(mountinfo)) == "xfs"
    assert file_system_of(str(tmp_path / "with space" / "b"), str(mountinfo)) == "nfs4"
    assert file_system_of("/elsewhere", str(mountinfo)) == "ext4"


def test_overlay_is_judged_by_its_upper_layer(tmp_path):
    here = os.path.realpath(tmp_path)
    (tmp_path / "upper").mkdir()
    (tmp_path / "over").mkdir()
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        f"2 1 0:2 / {here}/upper rw - tmpfs tmpfs rw\n"
        f"3 1 0:3 / {here}/over rw - overlay overlay rw,lowerdir=/,upperdir={here}/upper,workdir=/w\n"
        f"4 1 0:4 / {here}/container rw - overlay overlay rw,lowerdir=/,upperdir=/not/seen/here,workdir=/w\n"
    )
    assert file_system_of(str(tmp_path / "over"), str(mountinfo)) == "tmpfs"
    assert file_system_of(str(tmp_path / "container"), str(mountinfo)) == "overlay"


def test_accepts_a_directory_with_room(tmp_path, on_disk, free_space):
    found = check_spill_directory(str(tmp_path), 10 * MIB, True)
    assert (found.file_system, found.free_bytes, found.warning) == ("ext4", 100 * MIB, "")
    assert not list(tmp_path.iterdir())


def test_ranks_that_always_have_room_need_none_there(tmp_path, on_disk, free_space):
    """As those of `spillway sort`, which spills by itself."""
    with pytest.raises(LaunchError, match="memory budget"):
        make_node_plan(None, "1G", [str(tmp_path)], 2, 1)
    keeping = OwnKeeping(50, 8 * MIB, 0, 0, ".").of_node(2, 1)
    node, warnings = make_node_plan(None, "1G", [str(tmp_path)], 2, 1, keeping)
    assert [spill.path for spill in node.spills] == [str(tmp_path)] and not warnings
    assert node.budget.value == 1040 * MIB


def test_the_first_usual_place_with_room_for_what_a_program_spills(tmp_path, on_disk, free_space, monkeypatch):
    """If none has, the first one: whether it needs that room, the program knows."""
    on_disk["/var/tmp"] = "ext4"
    for variable, value in (("TMPDIR", str(tmp_path)), ("SPILLWAY_SPILL_DIR", "")):
        monkeypatch.setenv(variable, value)
    for spilled in (100 * MIB, 101 * MIB):
        [first] = OwnKeeping(50, 0, spilled, 0, ".").spill_directories(())
        assert first.path == str(tmp_path)
    word = OwnKeeping(50, 8 * MIB, 7, 9, "/a:b").of_node(3, 2).as_word()
    assert OwnKeeping.of_word(word) == OwnKeeping(50, 24 * MIB, 4, 9, "/a:b")


def test_a_usual_place_beside_the_output_has_room_for_both(tmp_path, on_disk, free_space, monkeypatch):
    beside, elsewhere = tmp_path / "beside", tmp_path / "elsewhere"
    for folder in (beside, elsewhere):
        folder.mkdir()
        on_disk[str(folder)] = "ext4"
    on_disk["/var/tmp"] = "tmpfs"
    devices = {str(beside): 1, str(elsewhere): 2}
    monkeypatch.setattr(spill_directory, "_device_of", lambda path: devices.get(str(path)))
    monkeypatch.setenv("TMPDIR", str(beside))
    monkeypatch.setenv("SPILLWAY_SPILL_DIR", "")
    monkeypatch.chdir(elsewhere)

    def place(spilled: int, output: int, folder: object) -> str:
        [first] = OwnKeeping(50, 0, spilled, output, str(folder)).spill_directories(())
        return first.path

    assert place(40 * MIB, 60 * MIB, beside) == str(beside)
    assert place(40 * MIB, 61 * MIB, beside) == str(elsewhere)
    assert place(40 * MIB, 61 * MIB, elsewhere) == str(beside)
    assert place(101 * MIB, 0, beside) == str(beside)
    assert place(10 * MIB, 200 * MIB, tmp_path / "not-there") == str(beside)


@pytest.mark.parametrize("kind", ["tmpfs", "nfs4", "9p", "lustre", "ceph", "fuse.sshfs", "proc"])
def test_refuses_file_systems_that_are_no_local_disk(tmp_path, on_disk, free_space, kind):
    on_disk[str(tmp_path)] = kind
    with pytest.raises(LaunchError, match=kind) as refusal:
        check_spill_directory(str(tmp_path), MIB, True)
    assert "--spill-dir" in refusal.value.remedy


def test_refuses_less_room_than_a_chosen_budget(tmp_path, on_disk, free_space):
    with pytest.raises(LaunchError, match=r"100 MiB free; Spillway asks for at least 200 MiB, the memory budget"):
        check_spill_directory(str(tmp_path), 200 * MIB, True)


def test_warns_of_less_room_than_the_default_budget(tmp_path, on_disk, free_space):
    assert "100 MiB free" in check_spill_directory(str(tmp_path), 200 * MIB, False).warning
    with pytest.raises(LaunchError, match="an eighth"):
        check_spill_directory(str(tmp_path), 900 * MIB, False)


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "is full"), (errno.EDQUOT, "is full"), (errno.EROFS, "cannot be written")]
)
def test_refuses_a_directory_that_cannot_be_written(tmp_path, on_disk, free_space, monkeypatch, number, words):
    def fail(*_arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", fail)
    with pytest.raises(LaunchError, match=words):
        check_spill_directory(str(tmp_path), MIB, True)


def test_file_system_without_unnamed_files_is_fine(tmp_path, on_disk, free_space, monkeypatch):
    really_open = os.open

    def refuse_unnamed(path, flags, *rest, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "no")
        return really_open(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse_unnamed)
    assert check_spill_directory(str(tmp_path), MIB, True).path == os.path.realpath(tmp_path)
    assert not list(tmp_path.iterdir())


def chosen(asked=()):
    return [found.path for found in choose_spill_directories(asked, MIB, True)]


def test_option_comes_before_variable_before_usual_places(tmp_path, on_disk, free_space, monkeypatch):
    for name in ("option", "variable", "tmpdir"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("SPILLWAY_SPILL_DIR", str(tmp_path / "variable"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmpdir"))
    assert chosen([str(tmp_path / "option")]) == [str(tmp_path / "option")]
    assert chosen() == [str(tmp_path / "variable")]
    monkeypatch.delenv("SPILLWAY_SPILL_DIR")
    assert chosen() == [str(tmp_path / "tmpdir")]


def test_unsuitable_usual_places_are_passed_over(tmp_path, on_disk, free_space, monkeypatch):
    (tmp_path / "memory").mkdir()
    on_disk[str(tmp_path / "memory")] = "tmpfs"
    monkeypatch.delenv("SPILLWAY_SPILL_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "memory"))
    assert chosen() == [os.path.realpath("/var/tmp")]


def test_says_of_every_place_why_it_will_not_do(on_disk, free_space, monkeypatch):
    free_space(0)
    monkeypatch.delenv("SPILLWAY_SPILL_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", "/no/such/directory")
    with pytest.raises(LaunchError) as refusal:
        choose_spill_directories([], 10 * MIB, True)
    assert "/no/such/directory: does not exist" in str(refusal.value)
    assert "/var/tmp has 0 B free" in str(refusal.value)


@pytest.fixture
def two_disks(tmp_path, on_disk, free_space, monkeypatch):
    """Two directories, each on a device of its own."""
    paths = [str(tmp_path / "first"), str(tmp_path / "second")]
    for path in paths:
        os.mkdir(path)
    monkeypatch.setattr(spill_directory, "_device_of", paths.index)
    return paths


def test_several_directories_by_option_or_variable(two_disks, monkeypatch):
    assert chosen(two_disks) == two_disks
    monkeypatch.setenv("SPILLWAY_SPILL_DIR", ":".join(two_disks))
    assert chosen() == two_disks


def test_each_of_several_devices_needs_room_for_its_share(two_disks):
    found = choose_spill_directories(two_disks, 200 * MIB, True)
    assert [directory.warning for directory in found] == ["", ""]
    with pytest.raises(LaunchError, match="asks for at least 101 MiB, its share of the memory budget"):
        choose_spill_directories(two_disks, 202 * MIB, True)


def test_directories_of_one_file_system_need_room_together_and_are_warned_of(tmp_path, on_disk, free_space):
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    for path in paths:
        os.mkdir(path)
    first, second = choose_spill_directories(paths, 90 * MIB, True)
    assert not first.warning
    assert "same file system" in second.warning
    _, second = choose_spill_directories(paths, 200 * MIB, False)
    assert "100 MiB free, less than" in second.warning and "same file system" in second.warning
    with pytest.raises(LaunchError, match="100 MiB free"):
        choose_spill_directories(paths, 101 * MIB, True)


def test_refuses_a_colon_in_a_name_and_more_directories_than_it_can_use(tmp_path, on_disk, free_space):
    odd, link = tmp_path / "a:b", tmp_path / "link"
    odd.mkdir()
    link.symlink_to(odd)
    for path in (odd, link):
        with pytest.raises(LaunchError, match="a:b: a colon separates directories"):
            choose_spill_directories([str(path)], MIB, True)
    with pytest.raises(LaunchError, match="17 spill directories are more than the 16"):
        choose_spill_directories([str(tmp_path)] * 17, MIB, True)


def test_subvolumes_of_btrfs_are_one_device(tmp_path, monkeypatch):
    mounts = {"first": ("btrfs", "/dev/a", ""), "second": ("btrfs", "/dev/a", ""), "third": ("btrfs", "/dev/b", "")}
    for name in mounts:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(spill_directory, "_mount_above", lambda path: mounts[os.path.basename(path)])
    devices = [spill_directory._device_of(str(tmp_path / name)) for name in mounts]
    assert devices[0] == devices[1] != devices[2]
