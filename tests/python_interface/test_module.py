"""The package `spillway` alone: its checks of arguments, and what each code of the library becomes."""

import array
import ctypes
import re
import sys
from pathlib import Path

import pytest
import spillway
from spillway import _library, _memory, _nodes, _usage

SOURCE = Path(__file__).resolve().parents[2]
HEADER = (SOURCE / "include" / "spillway" / "spillway.h").read_text()
RANGE_FUNCTIONS = (spillway.load, spillway.unload, spillway.discard)


@pytest.fixture
def library_gives(monkeypatch):
    """library_gives(code): every function of the library does; the list has what they were called with."""

    def replace(code):
        calls = []

        def function(*arguments):
            calls.append(arguments)
            return code

        for name in ("usage_of_rank", "critical_section_of_rank", "range_of_rank"):
            monkeypatch.setattr(_library, name, function)
        return calls

    return replace


def test_codes_are_those_of_the_c_header():
    codes = {name: int(value) for name, value in re.findall(r"#define SPILLWAY_(\w+) \(?(-?\d+)\)?", HEADER)}
    assert codes == {name: getattr(_library, name) for name in codes} and len(codes) == 6


def test_operations_are_those_of_the_c_header():
    operations = {name: int(value) for name, value in re.findall(r"SPILLWAY_RANGE_(\w+) = (\d+)", HEADER)}
    names = ("LOAD", "UNLOAD", "DISCARD", "PIN", "UNPIN")
    expectations = {"EXPECT_" + {"COLD": "NOTHING"}.get(item.name, item.name): item.value for item in spillway.Advice}
    assert operations == {**{name: getattr(_memory, name) for name in names}, **expectations}


@pytest.mark.parametrize(
    ("name", "structure"), [("usage", _usage.UsageStructure), ("allocation", _memory.AllocationStructure)]
)
def test_structures_are_those_of_the_c_header(name, structure):
    declared = re.search(rf"struct spillway_{name} \{{(.*?)\}};", HEADER, re.S).group(1)
    fields = re.findall(r"(?:uint(\d+)_t |void\* )(\w+);", declared)
    assert [(name, int(bits or 64) // 8) for bits, name in fields] == [
        (name, ctypes.sizeof(kind)) for name, kind in structure._fields_
    ]


def test_without_spillway_nothing_is_done():
    assert spillway.usage() is None and not spillway.is_running()
    with spillway.critical_section() as is_entered:
        assert is_entered is False
    for function in RANGE_FUNCTIONS:
        assert function(bytearray(100)) is False
    assert spillway.advise(bytearray(100), spillway.Advice.COLD) is False
    with spillway.pinned(bytearray(100)) as is_pinned:
        assert is_pinned is False
    assert spillway.allocations() == []


def test_pins_end_with_the_block(library_gives):
    calls = library_gives(_library.SUCCESS)
    words = array.array("q", range(1000))
    address, _ = words.buffer_info()
    with pytest.raises(KeyError), spillway.pinned(words) as is_pinned:
        assert is_pinned and calls == [(_memory.PIN, address, 8000)]
        with pytest.raises(BufferError):
            words.append(1)  # it would move
        raise KeyError
    assert calls[1:] == [(_memory.UNPIN, address, 8000)]
    words.append(1)


def test_pins_beyond_the_budget_are_refused(library_gives):
    calls = library_gives(_library.NO_ROOM)
    with pytest.raises(MemoryError, match="three quarters of the node's budget"), spillway.pinned(bytearray(100)):
        pytest.fail("not pinned")
    assert len(calls) == 1


def test_advice_is_an_operation(library_gives):
    calls = library_gives(_library.SUCCESS)
    words = array.array("q", range(1000))
    assert all(spillway.advise(words, advice) for advice in spillway.Advice)
    assert [call[0] for call in calls] == [6, 7, 8, 9]
    with pytest.raises(ValueError, match="5 is not a valid Advice"):
        spillway.advise(words, 5)


@pytest.mark.parametrize("function", RANGE_FUNCTIONS)
def test_range_is_the_memory_of_the_buffer(library_gives, function):
    calls = library_gives(_library.SUCCESS)
    words = array.array("q", range(1000))
    address, _ = words.buffer_info()
    assert function(words) and function(memoryview(words)[10:20])
    operation = {"load": 1, "unload": 2, "discard": 3}[function.__name__]
    assert calls == [(operation, address, 8000), (operation, address + 80, 80)]


@pytest.mark.parametrize("function", RANGE_FUNCTIONS)
@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (_library.NOT_MANAGED, ValueError, "do not lie in one allocation of storage-backed memory"),
        (_library.IN_USE, RuntimeError, "a request or window is open"),
        (-77, RuntimeError, "the code -77, which this module does not know"),
    ],
)
def test_each_code_for_a_range_has_its_error(library_gives, function, code, error, words):
    library_gives(code)
    with pytest.raises(error, match=words):
        function(bytearray(100))


@pytest.mark.parametrize("function", [spillway.enter_critical, spillway.exit_critical])
def test_critical_section_that_is_not_allowed_is_an_error(library_gives, function):
    library_gives(_library.NOT_ALLOWED)
    with pytest.raises(RuntimeError, match="critical section"):
        function()


def test_critical_section_is_left_when_its_block_raises(library_gives):
    calls = library_gives(_library.SUCCESS)
    with pytest.raises(KeyError), spillway.critical_section() as is_entered:
        assert is_entered is True and calls == [(1,)]
        raise KeyError
    assert calls == [(1,), (0,)]


@pytest.mark.parametrize("function", RANGE_FUNCTIONS)
def test_what_is_no_buffer_is_refused(function):
    for wrong in (3, "text", None, [1.0, 2.0]):
        with pytest.raises(TypeError, match=f"buffer protocol is needed, not {type(wrong).__name__}"):
            function(wrong)


@pytest.mark.parametrize("function", RANGE_FUNCTIONS)
def test_buffer_with_gaps_is_refused(function):
    with pytest.raises(BufferError, match="gaps"):
        function(memoryview(bytearray(100))[::2])


def test_only_discard_needs_a_buffer_that_may_be_written():
    assert spillway.load(bytes(100)) is False and spillway.unload(bytes(100)) is False
    with pytest.raises(BufferError, match="read-only"):
        spillway.discard(bytes(100))


@pytest.mark.parametrize("holds", [True, False])
def test_buffer_is_held_during_the_call_and_given_back_after_it(monkeypatch, holds):
    raw = bytearray(100)

    def function(*_):
        with pytest.raises(BufferError):
            raw.append(1)
        return _library.SUCCESS if holds else _library.NOT_MANAGED

    monkeypatch.setattr(_library, "range_of_rank", function)
    before = sys.getrefcount(raw)
    if holds:
        spillway.unload(raw)
    else:
        with pytest.raises(ValueError, match="storage-backed"):
            spillway.unload(raw)
    raw.append(1)
    assert sys.getrefcount(raw) == before


@pytest.mark.parametrize("function", RANGE_FUNCTIONS)
def test_empty_range_is_no_error(library_gives, function):
    calls = library_gives(_library.NOT_RUNNING)
    assert function(bytearray()) is False
    assert [len(arguments) for arguments in calls] == [1]  # asked for figures only


def places_by_counting(nodes):
    """The oracle: what each rank's place is, where `nodes` has the node of each."""
    order = sorted(set(nodes), key=nodes.index)
    for rank, node in enumerate(nodes):
        local = [other for other, its_node in enumerate(nodes) if its_node == node]
        yield (len(order), order.index(node), len(local), local.index(rank), local[0])


@pytest.mark.parametrize("nodes", [[0], [0, 0, 0], [2, 0, 2, 1, 0, 2], [5, 4, 3, 3, 4, 5]])
def test_places_among_several_nodes(nodes):
    assert [_nodes._place_among(nodes, rank) for rank in range(len(nodes))] == list(places_by_counting(nodes))
    lowest = [nodes.index(node) for node in nodes]
    numbers = [place.node for place in (_nodes._place_among(nodes, rank) for rank in range(len(nodes)))]
    assert _nodes._number_nodes(lowest) == numbers


def test_python_path_has_the_package(run, spillway_program):
    path = run(spillway_program, "--python-path").stdout.rstrip("\n")
    words = [sys.executable, "-c", "import spillway; print(spillway.__file__)"]
    assert run(*words, env={"PYTHONPATH": path}).stdout == f"{path}/spillway/__init__.py\n"


def test_package_needs_neither_numpy_nor_mpi4py_until_they_are_used(run):
    words = "import sys, spillway; print({'numpy', 'mpi4py'} & set(sys.modules))"
    assert run(sys.executable, "-c", words, env={"PYTHONPATH": str(SOURCE / "python")}).stdout == "set()\n"


def test_version_for_pip_is_the_projects():
    version = re.search(r"project\(spillway VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    assert f'version = "{version}"\n' in (SOURCE / "python" / "pyproject.toml").read_text()
