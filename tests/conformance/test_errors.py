"""Every wrong argument of every call: a clear error that names it, and nothing changed."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import Backend

from .calls import (
    CALLS,
    Argument,
    Flag,
    Host,
    In,
    Index,
    Name,
    Number,
    Out,
    Size,
    Sizes,
    lacks,
    may_be_none,
    positional,
)
from .workspace import download

HEADER = Path(__file__).parents[2] / "csrc/include/tilewright/backend.hpp"

# Not in the table: these take nothing wrong, host_memory is for C++ alone, test_map_errors.py,
# test_map_many.py, test_map_reduce.py, test_scan.py, test_move_elements.py, test_concat.py and
# test_supports.py have the second line, test_events.py the third, and test_kernel.py and
# test_profile.py hold the last two.
OTHERS = {
    "init", "is_initialized", "close", "name", "config", "device", "release", "host_memory",
    "map", "map_many", "map_reduce", "map_rows", "scan", "gather_elements", "scatter_elements",
    "concat", "supports", "available_ops",
    "flush", "event", "copy_dtoh_async", "record",
    "create_kernel", "free_kernel", "release_kernel", "kernel_info", "launch_kernel",
    "begin_profile", "end_profile",
}  # fmt: skip


def trait_calls() -> dict[str, list[str]]:
    """The public methods of the trait and their parameters, as the header declares them."""
    text = HEADER.read_text()
    public = text[text.index(" public:", text.index("class TILEWRIGHT_API Backend")) :]
    public = re.sub(r"//.*", "", public[: public.index(" protected:")])
    found = {}
    for name, parameters in re.findall(r"[\w:&>]+ (\w+)\(([^;()]*)\)[\w ]*[;{]", public):
        if name not in ("Backend", "delete"):
            split = re.sub(r"<[^<>]*>|\{[^{}]*\}", "", parameters).split(",")
            names = [re.sub(r"=.*", "", p, flags=re.S).split() for p in split]
            found[name] = [words[-1] for words in names if words]
    return found


def python_name(argument: str) -> str:
    return f"{argument}_" if keyword.iskeyword(argument) else argument


def test_no_call_is_missing() -> None:
    calls = trait_calls()
    assert set(calls) == set(CALLS) | OTHERS
    for name, arguments in CALLS.items():
        assert list(arguments) == calls[name], name


def test_python_names_the_arguments_alike(be: Backend) -> None:
    for name, arguments in CALLS.items():
        names = map(python_name, arguments)
        given = dict(zip(names, positional(CALLS[name]), strict=True))
        if any(isinstance(argument, In | Out) for argument in arguments.values()):
            # The handle 1 belongs to nobody, so the call is understood and refused.
            with pytest.raises(tilewright.InvalidArgument):
                getattr(be, name)(**given)
        elif name != "alloc":
            getattr(be, name)(**given)


@dataclass
class Prepared:
    """Buffers for one call, with known contents."""

    be: Backend
    name: str
    handles: dict[str, Any]
    values: dict[str, Any]
    contents: dict[str, bytes]

    def run(self, **changed: Any) -> None:
        getattr(self.be, self.name)(*{**self.values, **changed}.values())

    def assert_unchanged(self) -> None:
        for name, handle in self.handles.items():
            assert download(self.be, handle).tobytes() == self.contents[name], (
                f"{self.name}: the buffer {name} was changed"
            )
        for name, argument in CALLS[self.name].items():
            if isinstance(argument, Host):
                assert self.values[name].tobytes() == bytes(range(argument.bytes))

    def refuses(self, argument: str, value: Any, alone: bool = True) -> None:
        """The call with this one value replaced raises and changes nothing. The message names the
        argument, or, where the value is not wrong `alone`, one that it disagrees with or the two
        numbers that overflow together."""
        before = self.be.memory_stats()
        with pytest.raises(tilewright.InvalidArgument) as raised:
            self.run(**{argument: value})
        assert isinstance(raised.value, tilewright.Error)
        assert isinstance(raised.value, ValueError)
        message = str(raised.value)
        assert message.startswith(f"{self.name}: "), message
        names = [argument] if alone else [*CALLS[self.name], "the sizes [0-9]+ and [0-9]+"]
        # Python calls `from` `from_`.
        assert re.search(rf"\b({'|'.join(names)})_?\b", message[len(self.name) :]), (
            f"{self.name} with {argument}={value!r} says: {message}"
        )
        self.assert_unchanged()
        after = self.be.memory_stats()
        assert after.allocations == before.allocations
        assert after.active_bytes == before.active_bytes


@pytest.fixture
def prepared(be: Backend, call: str) -> Iterator[Prepared]:
    rng = np.random.default_rng(7)
    handles, contents = {}, {}
    for name, argument in CALLS[call].items():
        if isinstance(argument, In | Out):
            handles[name] = be.alloc(argument.bytes)
            data = (rng.integers(0, 2, argument.bytes // 4 + 1)).astype(np.int32).tobytes()
            contents[name] = data[: argument.bytes]
            be.copy_htod(handles[name], contents[name])
    values = dict(zip(CALLS[call], positional(CALLS[call], handles.values()), strict=True))
    yield Prepared(be, call, handles, values, contents)
    for handle in handles.values():
        be.release(handle)


def of_kind(*kinds: type) -> list[Any]:
    return [
        pytest.param(call, argument, id=f"{call}-{argument}")
        for call, arguments in CALLS.items()
        for argument, kind in arguments.items()
        if isinstance(kind, kinds)
    ]


def kind_of(call: str, argument: str) -> Any:
    return CALLS[call][argument]


ANYTHING = [None, "a word", b"bytes", [1], {"a": 1}, object(), 1 + 2j]


# alloc and free have test_memory.py, view has test_views.py.
@pytest.mark.sampled(12)
@pytest.mark.parametrize("call", [name for name in CALLS if name not in ("alloc", "free", "view")])
def test_the_valid_call_is_valid(prepared: Prepared, call: str) -> None:
    if lacks(prepared.be, call):
        with pytest.raises(tilewright.Unsupported, match=f"^{call}: "):
            prepared.run()
        prepared.assert_unchanged()
        return
    prepared.run()
    for name, argument in CALLS[call].items():
        if isinstance(argument, In):
            after = download(prepared.be, prepared.handles[name]).tobytes()
            assert after == prepared.contents[name], f"the input {name} was changed"


@pytest.mark.parametrize(("call", "argument"), of_kind(Size, Index, Number, Flag, Name, Sizes))
def test_wrong_types(prepared: Prepared, call: str, argument: str) -> None:
    kind = kind_of(call, argument)
    for value in ANYTHING:
        if value is None and may_be_none(call, argument):
            continue
        if isinstance(kind, Sizes) and value == [1]:
            continue
        prepared.refuses(argument, value)
    if isinstance(kind, Size | Index | Name | Sizes):
        prepared.refuses(argument, 1.5)
    if isinstance(kind, Flag):
        prepared.refuses(argument, 1)


@pytest.mark.parametrize(("call", "argument"), of_kind(Size))
def test_wrong_sizes(prepared: Prepared, call: str, argument: str) -> None:
    kind = kind_of(call, argument)
    for value in (-1, -(2**62), -(2**63), -(2**64), 2**63, 2**64, 2**200):
        prepared.refuses(argument, value)
    for value in kind.huge:
        prepared.refuses(argument, value, alone=False)
    if kind.positive:
        prepared.refuses(argument, 0)


@pytest.mark.parametrize(("call", "argument"), of_kind(Index))
def test_wrong_axes(prepared: Prepared, call: str, argument: str) -> None:
    for value in (*kind_of(call, argument).wrong, 2**64):
        prepared.refuses(argument, value)


@pytest.mark.parametrize(("call", "argument"), of_kind(Sizes))
def test_wrong_sequences(prepared: Prepared, call: str, argument: str) -> None:
    kind = kind_of(call, argument)
    for wrong in kind.wrong:
        prepared.refuses(argument, wrong, alone=False)
    for i in range(len(kind.value)):

        def refuses(element: Any, alone: bool, i: int = i) -> None:
            prepared.refuses(argument, (*kind.value[:i], element, *kind.value[i + 1 :]), alone)

        for element in [-1, -(2**62), 2**64, None, 1.5, "1"] + ([0] if kind.positive else []):
            refuses(element, alone=True)
        for element in (2**62, 2**63 - 1):
            refuses(element, alone=False)


@pytest.mark.parametrize(("call", "argument"), of_kind(Name))
def test_wrong_names(prepared: Prepared, call: str, argument: str) -> None:
    kind = kind_of(call, argument)
    for value in ("", "nope", kind.value.upper(), kind.value + "\0", 0, 99, *kind.also_wrong):
        prepared.refuses(argument, value)


@pytest.mark.parametrize(("call", "argument"), of_kind(Number))
def test_wrong_numbers(prepared: Prepared, call: str, argument: str) -> None:
    for value in kind_of(call, argument).wrong:
        prepared.refuses(argument, value)


@pytest.mark.parametrize(("call", "argument"), of_kind(In, Out))
def test_wrong_buffers(prepared: Prepared, call: str, argument: str) -> None:
    be = prepared.be
    freed = be.alloc(1000)
    be.free(freed)
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        foreign = other.alloc(1000)
        for value in (0, 1, 2**64 - 1, freed, foreign, -1, 2**64, 2**200, 1.5):
            prepared.refuses(argument, value)
    for value in ANYTHING:
        if not (value is None and may_be_none(call, argument)):
            prepared.refuses(argument, value)


# A call that takes any buffer has none that is too small.
ANY_SIZE = {"free", "buffer_bytes"}


@pytest.mark.parametrize(
    ("call", "argument"), [p for p in of_kind(In, Out) if p.values[0] not in ANY_SIZE]
)
def test_a_buffer_that_is_one_byte_too_small(prepared: Prepared, call: str, argument: str) -> None:
    be = prepared.be
    small = be.alloc(kind_of(call, argument).bytes - 1)
    prepared.refuses(argument, small)
    be.free(small)


# Copies have no such pair; test_memory.py holds overlapping ranges.
@pytest.mark.parametrize(
    ("call", "argument"), [p for p in of_kind(Out) if not p.values[0].startswith("copy_")]
)
def test_an_output_that_is_an_input(prepared: Prepared, call: str, argument: str) -> None:
    """Unless the call says that it may."""
    be = prepared.be
    out = kind_of(call, argument)
    large = be.alloc(1 << 16)
    zeros = np.zeros(1 << 16, np.uint8)
    inputs = [name for name, kind in CALLS[call].items() if isinstance(kind, In)]
    # What runs comes last, since it may write other outputs.
    for name in sorted(inputs, key=lambda name: name in out.may_be):
        be.copy_htod(large, zeros)
        if name in out.may_be:
            prepared.run(**{argument: large, name: large})
            continue
        with pytest.raises(tilewright.InvalidArgument) as raised:
            prepared.run(**{argument: large, name: large})
        assert argument in str(raised.value)
        assert name in str(raised.value)
        assert not download(be, large).any()
        prepared.assert_unchanged()
    be.free(large)


def test_freeing_twice(be: Backend) -> None:
    buffer = be.alloc(10)
    be.free(buffer)
    with pytest.raises(tilewright.InvalidArgument, match=r"free: buffer .*freed"):
        be.free(buffer)


HOSTS = ["copy_htod-src", "copy_dtoh-dst"]


@pytest.mark.parametrize("which", HOSTS)
def test_host_memory_of_the_wrong_kind(be: Backend, which: str) -> None:
    call, _, argument = which.partition("-")
    buffer = be.alloc(64)
    be.copy_htod(buffer, np.zeros(64, np.uint8))
    wrong: list[Any] = [None, 3, 1.5, "text", [1, 2], object(), np.empty(3, object)]
    if call == "copy_dtoh":
        locked = np.arange(8, dtype=np.uint8)
        locked.flags.writeable = False
        wrong += [b"read only", locked]
    for value in wrong:
        arguments = (buffer, value) if call == "copy_htod" else (value, buffer)
        with pytest.raises(tilewright.InvalidArgument, match=rf"^{call}: {argument}"):
            getattr(be, call)(*arguments)
    assert not download(be, buffer).any()
    be.free(buffer)


def test_host_memory_that_is_too_large(be: Backend) -> None:
    buffer = be.alloc(16)
    be.copy_htod(buffer, np.zeros(16, np.uint8))
    host = np.full(17, 5, np.uint8)
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_htod: dst holds 16 bytes"):
        be.copy_htod(buffer, host)
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_dtoh: src holds 16 bytes"):
        be.copy_dtoh(host, buffer)
    assert (host == 5).all()
    assert not download(be, buffer).any()
    be.free(buffer)


def test_host_arrays_that_are_not_contiguous_are_copied(be: Backend) -> None:
    source = np.arange(64, dtype=np.float32).reshape(8, 8)
    buffer = be.alloc(4 * 64)
    be.copy_htod(buffer, source.T)
    got = np.zeros((8, 8), np.float32)
    be.copy_dtoh(got, buffer)
    np.testing.assert_array_equal(got, source.T)
    target = np.zeros((8, 16), np.float32)
    be.copy_dtoh(target[:, ::2], buffer)
    np.testing.assert_array_equal(target[:, ::2], source.T)
    assert not target[:, 1::2].any()
    be.free(buffer)


def test_the_number_of_arguments(be: Backend) -> None:
    for name, arguments in CALLS.items():
        values = positional(CALLS[name])
        with pytest.raises(TypeError):
            getattr(be, name)(*values, 1)
        with pytest.raises(TypeError):
            getattr(be, name)(*values, nonsense=1)
        if arguments:
            with pytest.raises(TypeError):
                getattr(be, name)()


def values_for(argument: Argument) -> st.SearchStrategy[Any]:
    """Plausible, borderline and absurd values of an argument, and some of the wrong type."""
    integers = st.one_of(
        st.integers(-2, 6),
        st.sampled_from([2**31, 2**32 + 1, 2**62, 2**63 - 1, -(2**63), 2**64]),
    )
    odd = st.sampled_from([None, "x", 1.5, ()])
    if isinstance(argument, Size | Index):
        return st.one_of(integers, integers, odd)
    if isinstance(argument, Sizes):
        return st.one_of(st.lists(integers, max_size=5), st.just(argument.value), odd)
    if isinstance(argument, Name):
        return st.one_of(st.just(argument.value), st.sampled_from(["float16", "sum", ""]), odd)
    if isinstance(argument, Number):
        return st.one_of(st.floats(), odd)
    if isinstance(argument, Flag):
        return st.one_of(st.booleans(), odd)
    return odd


@settings(max_examples=400)
@given(data=st.data())
def test_no_request_whatever_ends_the_process(be: Backend, data: st.DataObject) -> None:
    """Several arguments wrong at once: it runs, or raises one of ours."""
    name = data.draw(st.sampled_from([name for name in CALLS if name not in ("free", "alloc")]))
    arguments = list(CALLS[name].values())
    changed = {
        i: data.draw(values_for(argument))
        for i, argument in enumerate(arguments)
        if not isinstance(argument, Host) and data.draw(st.integers(0, 3)) == 0
    }
    values = positional(CALLS[name])
    # Without guards behind them: what is drawn may be right and fill a buffer to its end.
    buffers = []
    for i, argument in enumerate(arguments):
        if isinstance(argument, In | Out):
            values[i] = be.alloc(argument.bytes)
            be.copy_htod(values[i], np.zeros(argument.bytes, np.uint8))
            buffers.append(values[i])
    for i, value in changed.items():
        values[i] = value
    try:
        made = getattr(be, name)(*values)
        if name == "view":
            buffers.append(made)
    except tilewright.Error as error:
        # What a GPU does not factor is refused as such.
        factors = "is_complex" in CALLS[name] and be.name != "cpu"
        known = tilewright.Unsupported if factors else tilewright.InvalidArgument
        assert isinstance(error, (tilewright.InvalidArgument, known)), error
        assert str(error).startswith(f"{name}: ")
    finally:
        for buffer in buffers:
            be.free(buffer)


WRONG_CONFIGS: list[dict[str, Any]] = [
    {"nonsense": 1},
    {"memory_limit": 0},
    {"memory_limit": -1},
    {"cache_limit": -1},
    {"cache_limit": 0.5},
    {"memory_limit": "much"},
    {"max_buffer_size": 0},
    {"max_binding_size": 65535},
    {"compute_units": 0},
    {"compute_units": 65537},
    {"compute_units": 2.5},
    {"max_buffer_size": 2**64},
    {"adapter_index": -1},
    {"adapter_index": 1.5},
    {"adapter_index": 0, "device_id": 0},
    {"preferred_workgroup_size": 0},
    {"power_preference": "medium"},
    {"power_preference": 3},
    {"implementation": "vulkan"},
    {"implementation": 1},
    {"debug_mode": 1},
    {"kernel_checks": 0},
    {"enable_pipeline_cache": "yes"},
]


@pytest.mark.parametrize("config", WRONG_CONFIGS, ids=str)
def test_wrong_configurations(be: Backend, config: dict[str, Any]) -> None:
    with pytest.raises(tilewright.InvalidArgument) as raised:
        type(be)(**config)
    assert re.search("|".join(config), str(raised.value))
    with pytest.raises(tilewright.InvalidArgument):
        tilewright.init_backend(be.device.id, **config)


@pytest.mark.parametrize("preference", ["", "gpu", "cpu:", "cpu 0", "CPU:x", "auto:0", "nope:0"])
def test_wrong_preferences(preference: str) -> None:
    with pytest.raises((tilewright.InvalidArgument, tilewright.BackendUnavailable)) as raised:
        tilewright.init_backend(preference)
    assert f'"{preference}"' in str(raised.value)


@pytest.mark.parametrize("preference", [None, 3, b"cpu", ["cpu"]])
def test_preferences_of_the_wrong_type(preference: Any) -> None:
    with pytest.raises(tilewright.InvalidArgument, match="preference"):
        tilewright.init_backend(preference)


def test_a_device_that_is_not_there(be: Backend) -> None:
    with pytest.raises(tilewright.BackendUnavailable, match=f"{be.name}:999"):
        tilewright.init_backend(f"{be.name}:999")
