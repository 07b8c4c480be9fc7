"""The bench's results as a picture; needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from .measure import Outcome
from .options import WrongUse

try:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ImportError as error:
    raise WrongUse("--plot needs matplotlib: pip install matplotlib") from error

_COLOURS = {"float32": "#2a6fbb", "float16": "#f28e2b"}
_INK, _QUIET, _GRID = "#222222", "#6b6b6b", "#dddddd"
_ROW_INCHES = 0.2


def draw(report: dict[str, Any], outcomes: Sequence[Outcome]) -> bytes:
    """A PNG: a line for each op, its speed against NumPy's on the left, its rate on the right."""
    timed = [outcome for outcome in outcomes if outcome.seconds is not None]
    names = list(dict.fromkeys(outcome.name for outcome in timed))
    dtypes = [dtype for dtype in _COLOURS if any(o.dtype == dtype for o in timed)]
    height = len(names) * _ROW_INCHES + 1.9
    below_title = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - 0.75 / height))
    figure = Figure(figsize=(11, height), dpi=130, layout=below_title)
    ratio, rate = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1))
    _ratios(ratio, timed, names)
    _rates(rate, timed, names)
    groups = {outcome.name: outcome.group for outcome in timed}
    for axes in (ratio, rate):
        _style(axes, names)
        for place in range(1, len(names)):
            if groups[names[place]] != groups[names[place - 1]]:
                axes.axhline(place - 0.5, color=_QUIET, linewidth=0.7, zorder=1)
    _title(figure, report, dtypes, height)
    content = io.BytesIO()
    figure.savefig(content, format="png", facecolor="white")
    return content.getvalue()


def _place(outcome: Outcome, names: list[str], of: Sequence[Outcome]) -> tuple[float, float]:
    """Where a bar stands and how thick it is: the dtypes of one op share its line."""
    same = [o.dtype for o in of if o.name == outcome.name]
    thick = 0.76 / len(same)
    offset = (same.index(outcome.dtype) - (len(same) - 1) / 2) * thick
    return names.index(outcome.name) + offset, thick


def _ratios(axes: Any, timed: Sequence[Outcome], names: list[str]) -> None:
    for outcome in timed:
        place, thick = _place(outcome, names, timed)
        assert outcome.ratio is not None
        axes.barh(
            place, outcome.ratio - 1, thick * 0.92, left=1, color=_COLOURS[outcome.dtype], zorder=2
        )
    axes.axvline(1, color=_INK, linewidth=1, zorder=3)
    axes.set_xscale("log")
    values = [o.ratio for o in timed if o.ratio is not None]
    axes.set_xlim(min(0.5, min(values) / 1.3), max(2.0, max(values) * 1.3))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.set_title("times as fast as NumPy", fontsize=10, color=_INK)


def _rates(axes: Any, timed: Sequence[Outcome], names: list[str]) -> None:
    for outcome in timed:
        place, thick = _place(outcome, names, timed)
        value, unit = outcome.gbytes, "GB/s"
        if outcome.compute_bound:
            value, unit = outcome.gflops, "GFLOP/s"
        assert value is not None
        axes.barh(place, value, thick * 0.92, color=_COLOURS[outcome.dtype], zorder=2)
        axes.text(
            value * 1.06,
            place,
            f"{value:.{0 if value >= 10 else 1}f} {unit}",
            va="center",
            fontsize=5.5,
            color=_QUIET,
        )
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * 4)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title("GFLOP/s where arithmetic bounds it, else GB/s", fontsize=10, color=_INK)


def _style(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="both", length=0, labelcolor=_INK)
    axes.tick_params(axis="x", which="both", length=0, labelsize=7.5, top=True, labeltop=True)
    axes.grid(axis="x", which="major", color=_GRID, linewidth=0.7, zorder=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _title(figure: Any, report: dict[str, Any], dtypes: list[str], height: float) -> None:
    device, versions = report["device"], report["versions"]
    threads = device["limits"].get("threads")
    about = [
        device["driver"],
        f"{threads} threads" if threads else "",
        f"NumPy {versions['numpy']} ({versions['numpy_blas']})",
        f"{report['size']} sizes",
        report["date"][:10],
    ]
    figure.text(
        0.01,
        1 - 0.28 / height,
        f"tilewright {versions['tilewright']} on {device['id']}, {device['name']}",
        fontsize=13,
        fontweight="bold",
        color=_INK,
    )
    figure.text(
        0.01,
        1 - 0.52 / height,
        "   ".join(filter(None, about)),
        fontsize=8,
        color=_QUIET,
    )
    for place, dtype in enumerate(dtypes):
        figure.text(
            0.99 - 0.075 * (len(dtypes) - 1 - place),
            1 - 0.3 / height,
            f"■ {dtype}",
            ha="right",
            fontsize=9,
            color=_COLOURS[dtype],
        )
