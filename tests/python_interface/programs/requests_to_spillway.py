"""What the package `spillway` lets a script ask for: the same as tests/promises/programs/requests_to_spillway.cpp.

requests_to_spillway.py critical FILE ROUNDS  all ranks enter the section; inside, FILE must not be there
requests_to_spillway.py die_inside            the last rank dies inside, while the others wait to enter
requests_to_spillway.py finalize_inside       rank 0 enters, and leaves with MPI.Finalize
requests_to_spillway.py ranges MIB            loads, unloads and discards an array, and looks at its resident pages
requests_to_spillway.py allocated             arrays of spillway.allocate() live as long as their views, and not longer
requests_to_spillway.py threads               another thread of Python runs while this one waits for the section
requests_to_spillway.py in_use                asks while the MPI library has a request open
requests_to_spillway.py without               what all of it gives under a plain mpiexec
"""

import ctypes
import gc
import mmap
import os
import signal
import sys
import threading
import time

import numpy as np
import spillway
from mpi4py import MPI

RANK, SIZE = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
KIB, MIB = 1 << 10, 1 << 20


def check(holds, what=""):
    if not holds:
        raise AssertionError(what)


def raises(kind, words, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        check(words in str(error), f"{error!r} says nothing of `{words}`")
    else:
        raise AssertionError(f"no {kind.__name__} of {function.__name__}{arguments}")


def say(text):
    MPI.COMM_WORLD.Barrier()
    if RANK == 0:
        print(text, flush=True)


def resident_bytes(array):
    """Of the pages that lie wholly in the array, as the kernel sees it."""
    page = mmap.PAGESIZE
    address = array.__array_interface__["data"][0]
    first, last = -(-address // page), (address + array.nbytes) // page
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        entries = np.frombuffer(os.pread(pagemap.fileno(), 8 * (last - first), 8 * first), np.uint64)
    check(entries.size == last - first)
    return int((entries >> np.uint64(63)).sum()) * page


def numbers(count):
    return np.arange(count, dtype=np.int64) * 31 + RANK


def critical(path, rounds):
    raises(RuntimeError, "not inside", spillway.exit_critical)
    for round_number in range(int(rounds)):
        with spillway.critical_section() as is_entered:
            check(is_entered)
            raises(RuntimeError, "does not nest", spillway.enter_critical)
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            time.sleep(0.0005)
            os.close(file)
            os.unlink(path)
        if round_number == 0:
            raises(KeyError, "left", leave_by_exception)
            raises(RuntimeError, "not inside", spillway.exit_critical)
    say(f"entered {MPI.COMM_WORLD.allreduce(int(rounds))} times")


@spillway.critical_section()
def leave_by_exception():
    raise KeyError("left")


def die_inside():
    if RANK == SIZE - 1:
        spillway.enter_critical()
    MPI.COMM_WORLD.Barrier()
    if RANK == SIZE - 1:
        time.sleep(0.3)  # the others are waiting
        os.kill(os.getpid(), signal.SIGKILL)
    spillway.enter_critical()


def finalize_inside():
    with spillway.critical_section() if RANK == 0 else open(os.devnull):
        MPI.COMM_WORLD.Barrier()
        if RANK == 0:
            MPI.Finalize()
    if RANK != 0:
        with spillway.critical_section() as is_entered:
            check(is_entered)


def ranges(mib):
    array = numbers(int(mib) * MIB // 8)
    check(resident_bytes(array) >= array.nbytes - 2 * mmap.PAGESIZE)
    before = spillway.usage()
    check(spillway.unload(array))
    check(resident_bytes(array) == 0, "resident after unload")
    unloaded = spillway.usage().unloaded_bytes - before.unloaded_bytes
    check(array.nbytes <= unloaded <= array.nbytes + MIB, unloaded)

    half = array.size // 2
    check(spillway.load(array[half:]))
    check(resident_bytes(array[half:]) >= array.nbytes // 2 - 2 * mmap.PAGESIZE, "not resident after load")
    check(resident_bytes(array[:half]) <= 64 * KIB, "the other half is resident")
    check((array == numbers(array.size)).all())

    with spillway.pinned(array) as is_pinned:
        check(is_pinned)
        raises(RuntimeError, "pinned", spillway.unload, array)
    check(spillway.advise(array, spillway.Advice.RANDOM) and spillway.advise(array, spillway.Advice.NORMAL))
    (report,) = (entry for entry in spillway.allocations() if entry.address <= array.ctypes.data < entry.address + MIB)
    check(report.unloaded_bytes == unloaded and report.resident_bytes >= array.nbytes, report)

    array.flags.writeable = False  # neither load nor unload changes contents
    before = spillway.usage()
    check(spillway.unload(array) and resident_bytes(array) == 0)
    check(spillway.usage().unloaded_bytes == before.unloaded_bytes, "written again, though nothing has changed")
    raises(BufferError, "read-only", spillway.discard, array)
    check((array == numbers(array.size)).all())
    array.flags.writeable = True

    array[:] = 1
    before = spillway.usage()
    check(spillway.discard(array))
    check(resident_bytes(array) == 0, "resident after discard")
    check(spillway.unload(array))
    check(spillway.usage().unloaded_bytes - before.unloaded_bytes <= 64 * KIB)  # what lies beside the array
    other_kinds_of_ranges()
    say("unloaded, loaded and discarded")


def other_kinds_of_ranges():
    columns = np.asfortranarray(np.ones((512, 512)))
    check(spillway.unload(columns) and resident_bytes(columns) == 0 and (columns == 1).all())
    dates = np.full(MIB // 8, np.datetime64("2026-01-01"))
    check(spillway.unload(dates) and resident_bytes(dates) == 0 and (dates == dates[0]).all())
    raw = bytearray(MIB)
    check(spillway.unload(raw) and spillway.load(memoryview(raw)[MIB // 2 :]) and raw == bytes(MIB))
    check(spillway.unload(np.empty(0)))
    objects = np.full(MIB // 8, None)
    check(spillway.unload(objects) and objects[-1] is None)
    raises(TypeError, "Python objects", spillway.discard, objects)
    raises(ValueError, "256 KiB", spillway.load, np.zeros(10))
    raises(ValueError, "256 KiB", spillway.unload, np.zeros(10))
    raises(ValueError, "256 KiB", spillway.discard, np.zeros(10))
    raises(BufferError, "gaps", spillway.unload, np.zeros((512, 512))[:, :256])


def allocated():
    before = spillway.usage().managed_bytes
    small = spillway.allocate((3, 4), np.int32)
    check(small.shape == (3, 4) and small.dtype == np.int32 and small.flags.c_contiguous and small.flags.writeable)
    small[...] = 7
    check(spillway.unload(small) and (small == 7).all())
    check(spillway.usage().managed_bytes - before <= 64 * KIB)  # less when it is memory that was freed before
    views = [view_of_new_array(number) for number in range(3)]
    gc.collect()
    for number, (view, exported) in enumerate(views):
        check((view == number * 257).all() and exported[0] == number)
    view = views[0][0]
    MPI.COMM_WORLD.Bcast([view, MPI.UINT16_T], root=SIZE - 1)
    del views, exported
    for _ in range(20):  # the memory of those before, or new memory that is given back
        view_of_new_array(9)
    check(spillway.usage().managed_bytes - before <= 5 * 8 * MIB, "not freed")
    check((view == 0).all(), "freed too early")
    child = os.fork()
    if child == 0:
        is_whole = (view == 0).all()
        view[...] = 1
        del view
        os._exit(0 if is_whole else 1)
    check(os.waitpid(child, 0)[1] == 0 and (view == 0).all(), "a child's copy is not its own")
    other_shapes()
    say("allocated and freed")
    globals()["still_there_at_exit"] = spillway.allocate(MIB)


def other_shapes():
    for shape, lengths in ((3, (3,)), (np.int64(3), (3,)), ([3, 4], (3, 4)), ((), ()), (0, (0,)), ((0, 4), (0, 4))):
        check(spillway.allocate(shape).shape == lengths)
    check(spillway.allocate(3, "M8[s]").dtype == np.dtype("M8[s]"))
    raises(ValueError, "negative", spillway.allocate, (-2, -3))
    raises(TypeError, "float", spillway.allocate, 2.5)
    raises(TypeError, "Python objects", spillway.allocate, 3, [("name", object)])
    for too_many in (1 << 50, 1 << 62, 1 << 70):
        raises(MemoryError, f"{too_many} bytes", spillway.allocate, too_many, np.uint8)


def view_of_new_array(number):
    array = spillway.allocate(8 * MIB, np.uint8)
    array[:] = number
    return array[MIB:].view(np.uint16), memoryview(array)


def threads():
    ticks, ended = [0], threading.Event()

    def tick():
        while not ended.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    if RANK == 0:
        spillway.enter_critical()
    MPI.COMM_WORLD.Barrier()
    if RANK == 0:
        time.sleep(0.5)
        spillway.exit_critical()
    else:
        thread.start()
        with spillway.critical_section():
            ended.set()
        thread.join()
        check(ticks[0] > 10, f"{ticks[0]} ticks")
    say("other threads ran")


def in_use():
    array = np.ones(MIB // 8)
    own = MPI.Op.Create(lambda a, b, datatype: None)
    derived = MPI.DOUBLE.Create_contiguous(1).Commit()  # a reduction of it is the MPI library's
    result = np.zeros(1)
    request = MPI.COMM_WORLD.Iallreduce([np.ones(1), 1, derived], [result, 1, derived], own)
    raises(RuntimeError, "request or window is open", spillway.unload, array)
    raises(RuntimeError, "request or window is open", spillway.discard, array)
    check(spillway.load(array))
    request.Wait()
    derived.Free()
    own.Free()
    check(spillway.unload(array))
    say("free again")


def without():
    array = np.ones(MIB // 8)
    check(spillway.usage() is None and spillway.is_running() is False)
    check(spillway.enter_critical() is False and spillway.exit_critical() is False)
    with spillway.critical_section() as is_entered:
        check(is_entered is False)
    for ask in (spillway.load, spillway.unload, spillway.discard):
        check(ask(array) is False and ask(array[:0]) is False and (array == 1).all())
        raises(BufferError, "gaps", ask, array[::2])
    made = spillway.allocate((5, 100), np.int16)
    made[...] = 3
    check(made.sum() == 1500)
    other_shapes()
    say("not under Spillway")


def main(what, *arguments):
    check(ctypes.sizeof(ctypes.c_void_p) == 8)
    check(spillway.is_running() is (what != "without"))
    try:
        globals()[what](*arguments)
    except AssertionError as error:
        sys.excepthook(*sys.exc_info())
        print(f"rank {RANK}: {error}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(9)


main(*sys.argv[1:])
