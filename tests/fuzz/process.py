"""What a process says of itself."""

from __future__ import annotations

import os
import resource


def peak() -> int:
    """The most that it ever had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def limit_address_space(more: int) -> None:
    """From here on, this process gets so many bytes more."""
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + more, hard))
