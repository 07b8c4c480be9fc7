"""Views: every call does with parts of buffers, wherever they lie, what it does with buffers of
their own, and leaves the bytes around them alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend

from .calls import CALLS, Host, In, Out, dtypes_of, lacks, positional
from .own_kernels import SAXPY
from .workspace import GUARD, Array, download

# Every GPU's bindings may start on multiples of this.
ALIGNED = 256
CASES = [
    (call, dtype)
    for call, arguments in CALLS.items()
    if call != "free" and any(isinstance(argument, In | Out) for argument in arguments.values())
    for dtype in dtypes_of(call)
]


# Where calls write places.
PLACES = {("nonzero", "output"), ("search_sorted", "output")}
# What is int8 in them.
BYTES = {("attention", "k"), ("attention", "v"), ("write_pages", "cache")}


def element_bytes(call: str, dtype: str, argument: str) -> int:
    if call == "gemm_f16" or (call, argument) == ("cast", "output"):
        return 2
    return 2 if dtype == "float16" else 4


def operands_of(call: str, dtype: str) -> dict[str, Array]:
    """Contents for the buffers of the call."""
    rng = np.random.default_rng(11)
    contents: dict[str, Array] = {}
    for name, argument in CALLS[call].items():
        if not isinstance(argument, In | Out):
            continue
        if name == "indices" or (call, name) in PLACES:
            size = 8 if "index_dtype" in CALLS[call] else 4
            contents[name] = rng.integers(0, 2, argument.bytes // size).astype(f"i{size}")
        elif name == "offsets":
            # Of rows of two elements.
            contents[name] = np.arange(0, argument.bytes // 2, 2, dtype=np.int32)
        elif name == "targets" or (call, name) == ("sparse_matmul", "columns"):
            contents[name] = rng.integers(0, 2, argument.bytes // 4).astype(np.int32)
        elif name == "places" or name.endswith("_spans"):
            contents[name] = rng.integers(0, 3, argument.bytes // 4).astype(np.int32)
        elif name.endswith("_weights"):
            contents[name] = rng.uniform(0.5, 2, argument.bytes // 4).astype(np.float32)
        elif name == "lengths":
            contents[name] = np.arange(1, argument.bytes // 4 + 1, dtype=np.int32)
        elif name == "mask":
            # As many as the calls ask for.
            contents[name] = rng.permutation(np.arange(argument.bytes) < 5).astype(np.uint8)
        elif name in ("kv_lengths", "page_table"):
            value = 4 if name == "kv_lengths" else 0
            contents[name] = np.full(argument.bytes // 4, value, np.int32)
        elif (call, name) in BYTES:
            contents[name] = rng.integers(-127, 128, argument.bytes, np.int8)
        elif name == "page_scales":
            contents[name] = rng.uniform(0.5, 2, argument.bytes // 4).astype(np.float32)
        elif name in ("slots", "positions"):
            contents[name] = np.arange(argument.bytes // 4, dtype=np.int32)
        elif name == "packed":
            contents[name] = rng.integers(0, 60, argument.bytes, np.uint8)
        elif name == "counts":
            contents[name] = np.array([0, contents["mask"].sum()], np.uint32)
        else:
            size = element_bytes(call, dtype, name)
            four = size == 4 or dtype == "float16"
            count = -(-argument.bytes // 4) if four else argument.bytes // 2
            contents[name] = rng.uniform(0.5, 2, count).astype(f"f{size}")
    return contents


def run(be: Backend, call: str, dtype: str, handles: Mapping[str, Any]) -> list[Array]:
    """The call on these buffers; what it did to arrays of the host."""
    values = dict(zip(CALLS[call], positional(CALLS[call], handles.values()), strict=True))
    if "dtype" in values:
        values["dtype"] = dtype
    if "output_dtype" in values:
        values["output_dtype"] = dtype
    result = getattr(be, call)(*values.values())
    if call == "view":
        be.free(result)
    return [values[name] for name, kind in CALLS[call].items() if isinstance(kind, Host)]


def on_own_buffers(be: Backend, call: str, dtype: str) -> tuple[dict[str, Array], list[Array]]:
    contents = operands_of(call, dtype)
    handles = {name: be.alloc(array.nbytes) for name, array in contents.items()}
    for name, array in contents.items():
        be.copy_htod(handles[name], array)
    after = {}
    try:
        hosts = run(be, call, dtype, handles)
        for name, array in contents.items():
            after[name] = np.empty_like(array)
            be.copy_dtoh(after[name], handles[name])
    finally:
        for handle in handles.values():
            be.free(handle)
    return after, hosts


class Block:
    """One buffer in which operands lie, with guard bytes between them."""

    def __init__(self, be: Backend, operands: Mapping[str, Array], places: Mapping[str, int]):
        self.be = be
        self.operands = operands
        self.places = places
        size = max(places[name] + array.nbytes for name, array in operands.items()) + ALIGNED
        self.contents = np.full(size, GUARD, np.uint8)
        for name, array in operands.items():
            self._of(self.contents, name)[...] = array.view(np.uint8)
        self.buffer = be.alloc(size)
        be.copy_htod(self.buffer, self.contents)
        self.views = {
            name: be.view(self.buffer, places[name], array.nbytes)
            for name, array in operands.items()
        }

    def _of(self, contents: Array, name: str) -> Array:
        return contents[self.places[name] :][: self.operands[name].nbytes]

    def check(self, expected: Mapping[str, Array]) -> None:
        now = download(self.be, self.buffer)
        for name, array in self.operands.items():
            got = self._of(now, name).copy().view(array.dtype)
            error = 1e-2 if array.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(got, expected[name], rtol=error, atol=error, err_msg=name)
            self._of(now, name)[...] = GUARD
        assert (now == GUARD).all(), "bytes beside the operands were written"

    def free(self) -> None:
        for view in self.views.values():
            self.be.free(view)
        self.be.free(self.buffer)


def blocks(be: Backend, call: str, dtype: str, layout: str) -> Iterator[Block]:
    contents = operands_of(call, dtype)
    if layout.startswith("alone"):
        for name, array in contents.items():
            odd = 3 * array.itemsize if layout == "alone, odd" else 0
            yield Block(be, {name: array}, {name: ALIGNED + odd})
        return
    places, end = {}, ALIGNED
    for name, array in contents.items():
        places[name] = end + (3 * array.itemsize if layout == "together, odd" else 0)
        end = (places[name] + array.nbytes + 2 * ALIGNED) // ALIGNED * ALIGNED
    yield Block(be, contents, places)


@pytest.mark.parametrize("layout", ["alone", "alone, odd", "together", "together, odd"])
@pytest.mark.parametrize(("call", "dtype"), CASES)
def test_every_call_on_views(be: Backend, call: str, dtype: str, layout: str) -> None:
    if lacks(be, call):
        with pytest.raises(tilewright.Unsupported, match=f"^{call}: "):
            on_own_buffers(be, call, dtype)
        return
    expected, hosts = on_own_buffers(be, call, dtype)
    all_of_them = list(blocks(be, call, dtype, layout))
    handles = {name: view for block in all_of_them for name, view in block.views.items()}
    for host, now in zip(hosts, run(be, call, dtype, handles), strict=True):
        np.testing.assert_array_equal(now, host)
    for block in all_of_them:
        block.check(expected)
        block.free()


IN_PLACE = [
    (call, argument, name)
    for call, arguments in CALLS.items()
    for argument, kind in arguments.items()
    if isinstance(kind, Out)
    for name in kind.may_be
]


@pytest.mark.parametrize("offset", [0, 12])
@pytest.mark.parametrize(("call", "argument", "name"), IN_PLACE)
def test_in_place(be: Backend, call: str, argument: str, name: str, offset: int) -> None:
    """Two handles on one range are one operand, beside others in the same buffer."""
    expected, _ = on_own_buffers(be, call, "float32")
    operands = operands_of(call, "float32")
    del operands[argument]
    places = {other: ALIGNED * (i + 1) + offset for i, other in enumerate(operands)}
    block = Block(be, operands, places)
    again = be.view(block.buffer, places[name], operands[name].nbytes)
    by_name = {**block.views, argument: again}
    run(be, call, "float32", {other: by_name[other] for other in operands_of(call, "float32")})
    block.check({**expected, name: expected[argument]})
    be.free(again)
    block.free()


@pytest.fixture
def own(be: Backend) -> Iterator[Backend]:
    """A backend on the same device that frees what a test leaves."""
    with type(be)(adapter_index=be.config["adapter_index"]) as own:
        yield own


def numbers(be: Backend, count: int) -> Any:
    buffer = be.alloc(4 * count)
    be.copy_htod(buffer, np.arange(count, dtype=np.float32))
    return buffer


def test_a_view_of_a_view_outlives_both(be: Backend) -> None:
    before = be.memory_stats()
    buffer = numbers(be, 100)
    outer = be.view(buffer, 40, 200)
    inner = be.view(outer, 20, 16)
    be.free(buffer)
    be.free(outer)
    be.trim()
    assert be.buffer_bytes(inner) == 16
    now = be.memory_stats()
    assert now.allocations - before.allocations == 1
    assert now.active_bytes - before.active_bytes == 400
    be.unary("neg", inner, inner, 4)
    assert download(be, inner).view(np.float32).tolist() == [-15, -16, -17, -18]
    be.free(inner)
    now = be.memory_stats()
    assert now.allocations == before.allocations
    assert now.active_bytes == before.active_bytes
    assert now.total_allocations - before.total_allocations == 1
    with pytest.raises(tilewright.InvalidArgument, match=r"free: buffer .*freed"):
        be.free(inner)


def test_a_view_on_an_array(be: Backend) -> None:
    array = be.array(np.arange(8, dtype=np.float32))
    part = be.view(array, 8, 16)
    be.unary("neg", part, part, 4)
    np.testing.assert_array_equal(array.numpy(), [0, 1, -2, -3, -4, -5, 6, 7])
    del array
    assert download(be, part).view(np.float32).tolist() == [-2, -3, -4, -5]
    be.free(part)


def test_a_view_ends_with_its_backend(be: Backend) -> None:
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        part = other.view(numbers(other, 4), 0, 4)
        with pytest.raises(tilewright.InvalidArgument, match="belongs to another backend"):
            be.view(part, 0, 4)
    other.init()
    with pytest.raises(tilewright.InvalidArgument, match="was freed"):
        other.buffer_bytes(part)
    other.close()


def test_what_a_view_is_refused_for(own: Backend) -> None:
    buffer = numbers(own, 100)
    inner = own.view(buffer, 40, 100)
    with pytest.raises(tilewright.InvalidArgument, match="buffer holds 100 bytes, expected at"):
        own.view(inner, 60, 41)
    wanted = re.escape("input is a view from byte 42 of its buffer on, expected a multiple of 4")
    with pytest.raises(tilewright.InvalidArgument, match=wanted):
        own.unary("neg", own.view(inner, 2, 8), buffer, 2)
    with pytest.raises(tilewright.InvalidArgument, match="output overlaps input: they are bytes"):
        own.unary("neg", inner, own.view(inner, 4, 40), 4)
    with pytest.raises(tilewright.InvalidArgument, match="dst overlaps src: they are bytes"):
        own.copy_dtod(inner, buffer, 40, 0, 4)
    assert (download(own, buffer).view(np.float32) == np.arange(100)).all()


def scratch_of(be: Backend, offset: int, memory_limit: int | None = None) -> int:
    """Bytes that silu takes for itself whose input starts there."""
    config = {"adapter_index": be.config["adapter_index"], "memory_limit": memory_limit}
    with type(be)(**config) as own:
        buffer, out = numbers(own, 5000), numbers(own, 1000)
        part = own.view(buffer, offset, 4000)
        own.silu(part, out, 1000)
        return own.memory_stats().peak_scratch_bytes


def test_views_are_bound_in_place_where_bindings_may_start(gpu: None, be: Backend) -> None:
    aligned = be.capabilities().limits["min_binding_alignment"]
    assert scratch_of(be, aligned) == 0
    assert scratch_of(be, aligned + 4) == 4000


def test_copies_are_counted_in_memory_limit(gpu: None, be: Backend) -> None:
    assert scratch_of(be, 4, memory_limit=28000) == 4000
    with pytest.raises(tilewright.OutOfMemory, match=r"^unary: 4000 bytes"):
        scratch_of(be, 4, memory_limit=27999)


def test_the_smaller_side_is_copied_where_a_buffer_has_one_use(gpu: None, own: Backend) -> None:
    buffer = numbers(own, 3000)
    table, row = own.view(buffer, 0, 8192), own.view(buffer, 8192, 512)
    index = own.array(np.array([15], np.int32))
    own.gather(table, index, row, 16, 128, 1)
    expected = np.arange(15 * 128, 16 * 128)
    np.testing.assert_array_equal(download(own, row).view(np.float32), expected)
    assert own.memory_stats().peak_scratch_bytes == (512 if own.name == "webgpu" else 0)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_programs_take_views(own: Backend, dtype: str) -> None:
    program = tilewright.Program()
    program.output(program.input(dtype))
    memory = np.arange(40).astype(dtype)
    buffer, size = own.alloc(memory.nbytes), memory.itemsize
    own.copy_htod(buffer, memory)
    source, target = (own.view(buffer, at * size, 16 * size) for at in (3, 21))
    own.map(program, (4,), [(source, (2,), 1)], [], [(target, (1,), 2)])
    memory[23:27] = memory[4:12:2]
    np.testing.assert_array_equal(download(own, buffer).view(dtype), memory)
    beside = own.view(buffer, 4 * size, 16 * size)
    with pytest.raises(tilewright.InvalidArgument, match="overlaps"):
        own.map(program, (4,), [(source, (1,), 1)], [], [(beside, (1,), 1)])
    np.testing.assert_array_equal(download(own, buffer).view(dtype), memory)


def test_kernels_of_ones_own_take_views(gpu: None, own: Backend) -> None:
    kernel = own.kernel(**SAXPY.on(own))
    x, y = numbers(own, 500), numbers(own, 500)
    params = np.array([(10, 2.0)], "u4,f4")

    def launch(*buffers: Any) -> None:
        own.launch_kernel(kernel, list(buffers), params, (1, 1, 1))

    part = own.view(x, ALIGNED, 40)
    launch(part, own.view(y, 2 * ALIGNED, 40))
    expected = np.arange(500, dtype=np.float32)
    expected[128:138] += 2 * np.arange(64, 74)
    np.testing.assert_array_equal(download(own, y).view(np.float32), expected)
    aligned = own.capabilities().limits["min_binding_alignment"]
    wanted = re.escape(
        f"buffers[0] is a view from byte 4 of its buffer on, expected a multiple of {aligned}"
    )
    with pytest.raises(tilewright.InvalidArgument, match=wanted):
        launch(own.view(x, 4, 40), y)
    with pytest.raises(
        tilewright.InvalidArgument, match=re.escape("buffers[1] is a view of 42 bytes")
    ):
        launch(part, own.view(y, 0, 42))
    beside = own.view(x, 0, 40)
    if own.name == "webgpu":
        # SPIR-V does not say which of its buffers a kernel only reads.
        with pytest.raises(tilewright.InvalidArgument, match="is the same buffer as"):
            launch(part, own.view(x, 0, 1064))
        with pytest.raises(tilewright.InvalidArgument, match="is a view on the buffer of"):
            launch(part, beside)
    else:
        launch(part, beside)
        got = download(own, beside).view(np.float32)
        np.testing.assert_array_equal(got, 2.0 * np.arange(64, 74) + np.arange(10))
