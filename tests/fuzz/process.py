"""What a process says of itself."""

from __future__ import annotations

import os
import resource


def peak() -> int:
    """The most memory that it ever had; getrusage() would count what had it before an exec too."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


def forget_peak() -> None:
    """From here on the most is what it has now."""
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")


def limit_address_space(more: int) -> None:
    """From here on, this process gets so many bytes more."""
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + more, hard))
