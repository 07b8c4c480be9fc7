"""The bench's report on a terminal: a head, rows as they come, and a summary."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence
from typing import Any

from .measure import Outcome
from .terminal import Painter, facts

_WIDE = 116
"""Columns from which on every figure has its own place."""

_WIDE_START = 60
_NARROW_LABEL = 38
_NARROW_START = _NARROW_LABEL + 5

_EXPLANATION = (
    "error: the largest |result - exact| / (|exact| + rms), exact in float64 by NumPy.",
    "x NumPy: how many times as fast as NumPy doing the same; float16 in NumPy is the "
    "quicker of its own and a detour by float32.",
)


def head(environment: dict[str, Any], painter: Painter, columns: int) -> str:
    device, versions = environment["device"], environment["versions"]
    rows = {
        "device": f"{device['id']}  {device['name']}",
        "driver": device["driver"],
        "features": ", ".join(device["features"]),
        "threads": str(device["limits"].get("threads", "")),
        "versions": f"Python {versions['python']}, NumPy {versions['numpy']} "
        f"({versions['numpy_blas']})",
        "system": versions["platform"],
        "date": environment["date"],
    }
    title = painter("bold", f"tilewright {versions['tilewright']} bench")
    shown = {name: value for name, value in rows.items() if value}
    before = " " * (max(map(len, shown)) + 4)
    for name, value in shown.items():
        room = max(columns - len(before), 20)
        lines = textwrap.wrap(value, room, break_on_hyphens=False)
        shown[name] = f"\n{before}".join(lines)
    return f"{title}\n{facts(painter, shown, '  ')}"


class Table:
    """Rows of a width that fits the terminal: from 116 columns on all figures, else the main ones.

    The rows of one case, which differ by dtype, name it once; a group is named where it begins.
    """

    def __init__(self, columns: int, painter: Painter) -> None:
        self._wide = columns >= _WIDE
        self._columns = columns
        self._paint = painter
        self._group = ""
        self._name = ""

    def row(self, outcome: Outcome) -> str:
        lines = []
        if outcome.group != self._group:
            self._group = outcome.group
            lines += ["", self._heading(outcome.group)]
        name, shape = outcome.name, outcome.shape
        if outcome.name == self._name:
            name = shape = ""
        self._name = outcome.name
        start = self._start(name, shape, outcome.dtype)
        if outcome.status in ("unsupported", "failed"):
            lines.append(start + self._reason(outcome))
        else:
            lines.append(start + (self._wide_figures if self._wide else self._figures)(outcome))
        return "\n".join(lines)

    def _start(self, name: str, shape: str, dtype: str) -> str:
        if self._wide:
            return f"{name:<30}{self._paint('dim', f'{shape:<22}')}{dtype:<8}"
        room = _NARROW_LABEL - len(name)
        return f"{name}{self._paint('dim', f'{shape:>{room}}')} {dtype.replace('float', 'f'):<4}"

    def _heading(self, group: str) -> str:
        if self._wide:
            names = f"{'ms':>9}{'GFLOP/s':>10}{'GB/s':>8}{'NumPy ms':>11}{'x NumPy':>9}{'error':>8}"
            return self._paint("bold", f"{group:<{_WIDE_START}}{names}")
        names = f"{'ms':>8}{'rate':>11}{'x NumPy':>9}{'error':>7}"
        return self._paint("bold", f"{group:<{_NARROW_START}}{names}")

    def _wide_figures(self, outcome: Outcome) -> str:
        return (
            f"{_ms(outcome.seconds):>9}{_rate(outcome.gflops):>10}{_rate(outcome.gbytes):>8}"
            f"{_ms(outcome.numpy_seconds):>11}{self._ratio(outcome)}{_error(outcome):>8}"
        )

    def _figures(self, outcome: Outcome) -> str:
        rate, unit = outcome.gbytes, "GB/s"
        if outcome.compute_bound:
            rate, unit = outcome.gflops, "GF/s"
        shown = f"{_rate(rate)} {unit}" if rate is not None else "-"
        return f"{_ms(outcome.seconds):>8}{shown:>11}{self._ratio(outcome)}{_error(outcome):>7}"

    def _ratio(self, outcome: Outcome) -> str:
        if outcome.status == "wrong":
            return self._paint("red", f"{'WRONG':>9}")
        if outcome.ratio is None:
            return f"{'-':>9}"
        text = f"{outcome.ratio:.2f}" if outcome.ratio < 9.995 else f"{outcome.ratio:.1f}"
        return self._paint("green" if outcome.ratio >= 1 else "yellow", f"{text:>9}")

    def _reason(self, outcome: Outcome) -> str:
        style = "yellow" if outcome.status == "unsupported" else "red"
        indent = (_WIDE_START if self._wide else _NARROW_START) + 3
        room = max(self._columns - indent, 30)
        lines = textwrap.wrap(f"{outcome.status}: {outcome.message}", room)
        return "   " + ("\n" + " " * indent).join(self._paint(style, line) for line in lines)


def summary(outcomes: Sequence[Outcome], seconds: float, painter: Painter) -> str:
    parts = [f"{len(outcomes)} measurements in {seconds:.0f} s"]
    for status, style in (
        ("ok", "green"),
        ("wrong", "red"),
        ("failed", "red"),
        ("unsupported", "yellow"),
    ):
        found = sum(outcome.status == status for outcome in outcomes)
        if found or status == "wrong":
            word = {"ok": "correct"}.get(status, status)
            parts.append(painter(style, f"{found} {word}") if found else f"no {word} result")
    lines = ["", ", ".join(parts) + "."]
    ratios = [outcome.ratio for outcome in outcomes if outcome.ratio is not None]
    if ratios:
        faster = sum(ratio >= 1 for ratio in ratios)
        lines.append(
            f"At least as fast as NumPy in {faster} of {len(ratios)}, "
            f"{statistics.median(ratios):.1f} times as fast in the median."
        )
    for outcome in outcomes:
        if outcome.status == "wrong":
            lines.append(
                painter("red", f"WRONG: {outcome.name} {outcome.dtype}: {outcome.message}")
            )
    return "\n".join(lines)


def explanation(columns: int, painter: Painter) -> str:
    lines = (line for text in _EXPLANATION for line in textwrap.wrap(text, columns))
    return "\n".join(painter("dim", line) for line in lines)


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    ms = seconds * 1e3
    return f"{ms:.3f}" if ms < 9999 else f"{ms:.0f}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:.{0 if rate >= 100 else 1}f}"


def _error(outcome: Outcome) -> str:
    if outcome.error is None:
        return "-"
    if outcome.error == 0:
        return "0"
    return f"{outcome.error:.0e}"
