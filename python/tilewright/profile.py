"""Profile: when the device ran which kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from tilewright.backend import Backend


class KernelTotal(NamedTuple):
    """All launches of one kernel together."""

    kernel: str
    calls: int
    total_ns: int
    mean_ns: float
    share: float  # of the time of all kernels


class Profile:
    """The launches within a `with` block, by the device's own clock:

        with be.profile() as p:
            be.matmul(a, b)
        print(p)

    One profile of a backend at a time. The launches of all threads are in it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._device = ""
        self._records: list[_core.LaunchRecord] = []

    def __enter__(self) -> Profile:
        self._device = self._backend.device.name
        self._backend.begin_profile()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._records = self._backend.end_profile()
        except _core.Error:
            # What went wrong inside the block says more.
            if error is None:
                raise

    @property
    def records(self) -> list[_core.LaunchRecord]:
        """Each launch, in their order; none until the block has ended."""
        return self._records

    @property
    def total_ns(self) -> int:
        """The time of all launches together."""
        return sum(record.duration_ns for record in self._records)

    @property
    def totals(self) -> list[KernelTotal]:
        """Each kernel's launches together, the most time first."""
        times: dict[str, list[int]] = {}
        for record in self._records:
            times.setdefault(record.kernel, []).append(record.duration_ns)
        all_ns = self.total_ns
        totals = [
            KernelTotal(
                kernel, len(ns), sum(ns), sum(ns) / len(ns), sum(ns) / all_ns if all_ns else 0.0
            )
            for kernel, ns in times.items()
        ]
        return sorted(totals, key=lambda total: -total.total_ns)

    def table(self) -> str:
        """The totals as text, a line for each kernel."""
        head = ("kernel", "calls", "total", "mean", "share")
        rows = [
            (t.kernel, str(t.calls), _time(t.total_ns), _time(t.mean_ns), f"{t.share:.1%}")
            for t in self.totals
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = []
        for name, *numbers in (head, *rows):
            cells = [name.ljust(widths[0])]
            cells += [n.rjust(width) for n, width in zip(numbers, widths[1:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<tilewright profile: {len(self._records)} launches>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a Chrome trace, which https://ui.perfetto.dev and chrome://tracing open."""
        import json

        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": self._device}},
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "kernels"}},
        ]
        events += [
            {
                "ph": "X",
                "name": record.kernel,
                "cat": "kernel",
                "pid": 0,
                "tid": 0,
                "ts": record.start_ns / 1000,
                "dur": record.duration_ns / 1000,
                "args": {"grid": list(record.grid)},
            }
            for record in self._records
        ]
        trace = {"traceEvents": events, "displayTimeUnit": "ns"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns / 1e3:.3f} µs"
