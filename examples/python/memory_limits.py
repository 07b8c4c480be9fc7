"""A backend with a memory limit: what is full, what can never fit, and where the memory is."""

import tilewright


def report(be: tilewright.Backend) -> None:
    stats = be.memory_stats()
    print(f"{stats.active_bytes} live of {stats.limit_bytes}, at most {stats.peak_bytes} so far")


with tilewright.init_backend("auto", memory_limit=1 << 20, max_buffer_size=800_000) as be:
    first = be.alloc(700_000)
    report(be)
    try:
        be.alloc(500_000)
    except tilewright.OutOfMemory as error:
        print(error)
    try:
        be.alloc(900_000)
    except tilewright.InvalidArgument as error:
        print(error)

    be.free(first)
    report(be)
    be.alloc(500_000)
    be.trim()
    report(be)
    print(be.memory_stats().cached_bytes, "kept for reuse")
