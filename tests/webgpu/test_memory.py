"""Limits of memory: one that was set, the device's own, and a device that is full."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Succeeds = Callable[..., str]

LIMIT = """
be = tw.init_backend("webgpu:0", memory_limit=64 << 20)
assert be.memory_stats().limit_bytes == 64 << 20
held = [be.alloc(16 << 20) for _ in range(4)]
message = raised(tw.OutOfMemory, be.alloc, 1)
assert message.startswith("alloc: 1 bytes asked for, but 67108864 of 67108864 are"), message
assert "free some, or raise memory_limit" in message
be.unary("relu", held[0], held[1], 1000)
be.free(held.pop())
assert works(be)
assert "memory_limit" in raised(tw.OutOfMemory, be.zeros, 5 << 20)
be.free(held.pop())
assert works(be, 2 << 20)
"""


def test_the_limit_that_was_set(succeeds: Succeeds) -> None:
    succeeds(LIMIT)


BEYOND = """
be = tw.init_backend("webgpu:0")
most = be.capabilities().max_buffer_bytes
assert most >= 1 << 27
be.free(be.alloc(most))
for wanted in (most + 1, 2 * most, 2**63 - 1):
    message = raised(tw.InvalidArgument, be.alloc, wanted)
    assert message == (
        f"alloc: bytes is {wanted}, but a buffer of this device holds at most {most}"), message
assert works(be)
"""


def test_a_buffer_beyond_the_device(succeeds: Succeeds) -> None:
    succeeds(BEYOND)


FULL = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
x = be.array(np.arange(1000, dtype=np.float32))
small = be.alloc(4000)
assert works(be)
driver.set("memory_is_full")
message = raised(tw.OutOfMemory, be.alloc, 300_000_001)
assert message.startswith("alloc: 300000001 bytes asked for"), message
assert "but the device is full; free some buffers" in message, message
for _ in range(3):
    raised(tw.OutOfMemory, be.alloc, 300_000_001)
    be.unary("neg", x, small, 1000)
    got = np.empty(1000, np.float32)
    be.copy_dtoh(got, small)
    assert (got == -np.arange(1000)).all()
    assert be.memory_stats().active_bytes == 8000
driver.set("memory_is_full", False)
be.free(be.alloc(300_000_001))
assert works(be)
"""

FULL_AT_FIRST_USE = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
x = np.arange(5_000_000, dtype=np.float32)
buffer = be.alloc(x.nbytes)
got = np.zeros_like(x)
driver.set("memory_is_full")
def fits_or_not(call, *arguments):
    try:
        call(*arguments)
    except tw.OutOfMemory as error:
        assert "full; free some buffers" in str(error), error
        return False
    return True
fitted = [fits_or_not(be.copy_htod, buffer, x), fits_or_not(be.copy_dtoh, got, buffer)]
fitted += [fits_or_not(be.relu, np.ones(100_000_000, np.float32)) for _ in range(2)]
assert False in fitted, fitted
driver.set("memory_is_full", False)
for _ in range(3):
    be.copy_htod(buffer, x)
    be.unary("neg", buffer, buffer, x.size)
    be.copy_dtoh(got, buffer)
    assert (got == -x).all()
assert works(be, 20_000_000)
"""


FREED_IS_FULL = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
assert works(be, 1_000_000)  # and has what it takes beside buffers
be.trim()
driver.set("memory_megabytes", driver.count("allocated_megabytes") + 600)
for megabytes in (300, 400, 300):
    be.free(be.alloc(megabytes << 20))
    assert megabytes << 20 <= be.memory_stats().cached_bytes < 600 << 20
held = be.alloc(300 << 20)
raised(tw.OutOfMemory, be.alloc, 400 << 20)
assert works(be, 1_000_000)
"""


@pytest.mark.parametrize(
    "code", [FULL, FULL_AT_FIRST_USE, FREED_IS_FULL], ids=["alloc", "use", "freed"]
)
def test_a_device_that_is_full(
    succeeds: Succeeds, faulty_driver: dict[str, str], code: str
) -> None:
    succeeds(code, **faulty_driver)


SMALL_DEVICE = """
driver = FaultyDriver()
driver.set("memory_megabytes", 4096)
be = tw.init_backend("webgpu:0")
assert works(be, 1 << 20)
held = []
def fill():
    while len(held) < 100:
        held.append(be.alloc(500_000_000))
message = raised(tw.OutOfMemory, fill)
assert "bytes asked for, but the device is full" in message, message
assert len(held) >= 2
be.free(held.pop())
assert works(be, 1 << 20)
raised(tw.OutOfMemory, fill)
for buffer in held:
    be.free(buffer)
held.clear()
raised(tw.OutOfMemory, fill)
assert works(be)
"""


def test_allocations_until_the_device_refuses(
    succeeds: Succeeds, faulty_driver: dict[str, str]
) -> None:
    succeeds(SMALL_DEVICE, **faulty_driver)


MANY = """
be = tw.init_backend("webgpu:0")
handles = [be.alloc(16) for _ in range(100_000)]
assert len(set(handles)) == 100_000
assert be.memory_stats().allocations == 100_000
some = handles[::997]
for i, handle in enumerate(some):
    be.copy_htod(handle, np.full(4, -i, np.float32))
    be.unary("neg", handle, handle, 4)
got = np.empty(4, np.float32)
for i, handle in enumerate(some):
    be.copy_dtoh(got, handle)
    assert (got == i).all()
for handle in handles:
    be.free(handle)
assert be.memory_stats().allocations == 0
be.trim()
assert be.memory_stats().cached_bytes == 0
assert works(be)
handles = [be.alloc(16) for _ in range(100_000)]
be.close()
be.init()
assert works(be)
"""


def test_100000_live_buffers(succeeds: Succeeds) -> None:
    succeeds(MANY)


START = """
be = tw.init_backend("webgpu:0")
rng = np.random.default_rng(0)
host, got = np.ones(256, np.float32), np.empty(256, np.float32)
"""

OPS = """
buffers = [be.alloc(1024) for _ in range(150)]
for buffer in buffers:
    be.copy_htod(buffer, host)
def work(times):
    for i in range(times):
        # More pairs than bind groups are kept.
        x, y = buffers[i % 149], buffers[i * 7 % 150]
        kind = i % 9 if x != y else 0
        if kind < 3: be.unary("relu", x, y, 256)
        elif kind == 3: be.binary("max", x, x, y, 256)
        elif kind == 4: be.reduce("max", x, y, [256], 0)
        elif kind == 5: be.copy_dtod(y, x, 512, 512, 0)
        elif kind == 6: be.copy_htod(x, host)
        elif kind == 7: be.softmax(x, y, [16, 16], 1)
        else: be.copy_dtod(y, x, 77, 3, 1)
        if i % 400 == 0: be.copy_dtoh(got, y)
    be.synchronize()
"""

ALLOCATIONS = """
sizes = [int(size) for size in 2 ** rng.uniform(2, 21, 5000)]
def work(times):
    held = []
    for i in range(times):
        held.append(be.alloc(sizes[i % 5000]))
        be.unary("neg", held[-1], held[-1], 1)
        if len(held) > 50: be.free(held.pop(i * 31 % 50))
        if i % 1000 == 0: be.trim()
    for buffer in held: be.free(buffer)
    be.synchronize()
"""

ERRORS = """
buffer = be.alloc(1024)
def work(times):
    for _ in range(times):
        try: be.unary("relu", buffer, buffer, 257)
        except tw.InvalidArgument: pass
        be.array(host)
"""

BACKENDS = """
def work(times):
    for _ in range(times):
        with tw.init_backend("webgpu:0") as other:
            assert (other.relu(other.array(host)).numpy() == 1).all()
            other.alloc(10_000)
"""


# A leak grows in every round; allocators may take a large step in one.
ROUNDS = """
work({times})
grown = []
for _ in range(5):
    before = resident()
    work({times})
    grown.append(resident() - before)
assert min(grown) < {times} * {bytes_a_time}, grown
assert sum(grown) < 64 << 20, grown
"""


@pytest.mark.parametrize(
    ("work", "times", "bytes_a_time"),
    [
        (OPS, 20_000, 16),
        (ALLOCATIONS, 20_000, 16),
        (ERRORS, 10_000, 16),
        (BACKENDS, 10, 10_000),
    ],
    ids=["operations", "allocations", "errors", "backends"],
)
def test_memory_does_not_grow(succeeds: Succeeds, work: str, times: int, bytes_a_time: int) -> None:
    succeeds(START + work + ROUNDS.format(times=times, bytes_a_time=bytes_a_time))


# Pipelines are kept by kernel and template variables, which few sizes change: these 1500 shapes
# need about 70. Shapes that were there before need nothing new.
SHAPES = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
def work(times):
    rng = np.random.default_rng(0)
    for _ in range(times):
        m, n, k = (int(size) for size in rng.integers(1, 60, 3))
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
        c = be.matmul(a, b)
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-3, atol=1e-3)
        be.softmax(c), be.sum(c, axis=int(rng.integers(0, 2))), be.add(c, c), be.exp(c)
    be.synchronize()
"""

FEW_PIPELINES = """
assert 10 < driver.count("pipelines_made") < 100, driver.count("pipelines_made")
"""


@pytest.mark.exhaustive
def test_many_shapes_share_kernels(succeeds: Succeeds, faulty_driver: dict[str, str]) -> None:
    rounds = ROUNDS.format(times=1500, bytes_a_time=100)
    succeeds(SHAPES + rounds + FEW_PIPELINES, **faulty_driver)


# A kernel that says how large its buffer is has a layout of its own.
LAYOUTS = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
def kernel(elements):
    return be.kernel(f'''
@group(0) @binding(0) var<storage, read_write> x: array<u32, {elements}>;
@compute @workgroup_size(1) fn main() {{ x[{elements - 1}] += {elements}; }}''')
count = 200
x = be.array(np.zeros(count, np.int32))
held = [kernel(elements) for elements in range(1, 4)]
for one in held:
    one(x, grid=1)
for elements in range(1, count + 1):
    kernel(elements)(x, grid=1)
for one in held:
    one(x, grid=1)
expected = np.arange(1, count + 1)
expected[:3] *= 3
assert (x.numpy() == expected).all(), x.numpy()
# The library makes two of each.
assert 10 < driver.count("pipeline_layouts") < count, driver.count("pipeline_layouts")
"""


def test_few_layouts_are_kept(succeeds: Succeeds, faulty_driver: dict[str, str]) -> None:
    succeeds(LAYOUTS, **faulty_driver)


def test_parameters_of_launches_after_the_device_was_full(
    succeeds: Succeeds, faulty_driver: dict[str, str]
) -> None:
    code = """
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
x, y, held = be.array(np.ones(1000, np.float32)), be.alloc(4000), []
driver.set("memory_is_full")
def fill(size):
    while True: held.append(be.alloc(size))
for size in (1 << 22, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 256):
    raised(tw.OutOfMemory, fill, size)
raised(tw.OutOfMemory, be.unary, "exp", x.handle, y, 999)
driver.set("memory_is_full", False)
for one in held: be.free(one)
be.trim()
be.unary("exp", x.handle, y, 999)
be.synchronize()
"""
    assert succeeds(code, TILEWRIGHT_WEBGPU_IMMEDIATES="0", **faulty_driver) == ""
