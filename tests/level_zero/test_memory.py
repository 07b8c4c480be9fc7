"""Memory: what is full, what is too large, and what is let go of."""

from __future__ import annotations

from collections.abc import Callable


def test_a_device_that_is_full(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    most = be.capabilities().max_buffer_bytes
    assert most <= 64 << 20, most
    raised(tw.InvalidArgument, be.alloc, most + 4)
    kept = []
    try:
        while len(kept) < 100: kept.append(be.alloc(4 << 20))
    except tw.OutOfMemory as error:
        assert error.requested_bytes == 4 << 20, error.requested_bytes
        assert "free some" in str(error), error
    assert 10 <= len(kept) < 17, len(kept)
    for buffer in kept: be.free(buffer)
    assert computes(be, 100_000)
""",
        ZE_CPU_MEMORY=str(64 << 20),
    )


def test_freed_memory_is_used_again_when_the_device_is_full(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    for size in range(1, 40):
        x = be.array(np.ones(size << 17, np.float32))
        kernel(be, "rounds")(x, grid=size, params=3)
        del x
assert CpuDriver().alive() == ""
""",
        ZE_CPU_MEMORY=str(64 << 20),
    )


def test_freed_memory_gives_way_to_the_staging_of_copies(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
driver = CpuDriver()
with tw.init_backend(DEVICE) as be:
    x, got = np.arange(1000, dtype=np.float32), np.empty(1000, np.float32)
    buffer = be.alloc(x.nbytes)
    for call, *arguments in ((be.copy_htod, buffer, x), (be.copy_dtoh, got, buffer)):
        be.free(be.alloc(1 << 20))
        driver.fail("zeMemAllocHost", 0x70000002)
        call(*arguments)
        assert driver.failed() == "zeMemAllocHost"
        assert be.memory_stats().cached_bytes == 0
    assert (got == x).all()
"""
    )


def test_more_than_four_gigabytes_in_one_buffer(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    size = (4 << 30) + (1 << 20)
    buffer = be.alloc(size)
    sent = np.arange(1 << 16, dtype=np.uint8)
    received = np.empty_like(sent)
    for offset in (0, (4 << 30) - 1000, size - sent.nbytes):
        be.copy_htod(buffer, sent, offset)
        be.copy_dtoh(received, buffer, offset)
        assert (sent == received).all(), offset
    assert (be.buffer_bytes(buffer), be.memory_stats().active_bytes) == (size, size)
    message = raised(tw.Unsupported, be.launch_kernel, kernel(be, "rounds"), [buffer],
                     np.uint32(1), (1, 1, 1))
    assert "4294967292" in message, message
""",
        ZE_CPU_POISON="0",
    )


def test_queued_work_holds_a_bounded_amount_of_freed_memory(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    k, most = kernel(be, "rounds"), 0
    for _ in range(100):
        x = be.array(np.ones(4 << 20, np.float32))
        k(x, grid=1, params=100)
        del x
        be.trim()
    be.synchronize()
    assert CpuDriver().alive().count("memory") == 1
    print(*[line for line in CpuDriver().alive().splitlines() if "memory" in line])
"""
    )


def test_small_uploads_of_many_kinds(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    random = np.random.default_rng(1)
    expected = random.integers(0, 255, 300_000, dtype=np.uint8)
    buffer, received = be.alloc(expected.nbytes), np.empty_like(expected)
    be.copy_htod(buffer, expected)
    for _ in range(1500):
        start = int(random.integers(0, expected.size - 1))
        piece = random.integers(0, 255, min(int(random.integers(1, 3000)), expected.size - start),
                                dtype=np.uint8)
        expected[start : start + piece.size] = piece
        be.copy_htod(buffer, piece, start)
    be.copy_dtoh(received, buffer)
    assert (received == expected).all()
""",
        ZE_CPU_SHUFFLE="3",
    )


def test_a_product_without_room_to_pack_reads_its_rows_as_they_are(
    succeeds: Callable[..., str],
) -> None:
    code = """
m, n, k = 131, 129, 133
be = tw.init_backend(DEVICE)
tw._core._choices_of(be).force("gemm_rows", "packed")
a, b, c = (be.alloc(4 * size) for size in (m * k, k * n, m * n))
be.copy_htod(a, np.ones(m * k, np.float32))
be.copy_htod(b, np.ones(k * n, np.float32))
def launched():
    with be.profile() as profile:
        be.gemm("none", "none", m, n, k, 1.0, a, k, b, n, 0.0, c, n)
    out = np.empty(m * n, np.float32)
    be.copy_dtoh(out, c)
    assert (out == k).all()
    return [record.kernel for record in profile.records]
with_room = launched()
be.trim()
held = []
for size in (1 << 20, 1 << 16, 1 << 12):
    try:
        while True: held.append(be.alloc(size))
    except tw.OutOfMemory:
        pass
print(with_room, launched())
"""
    said = succeeds(code, ZE_CPU_MEMORY=str(16 << 20))
    assert said == "['gemm_pack', 'gemm'] ['gemm']\n"
