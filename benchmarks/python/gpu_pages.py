"""The GPU benchmark's results as a part of docs/performance.md and as a picture beside it."""

from __future__ import annotations

import io
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpu_peers
from gpu_timing import Result

BEGIN = "<!-- written by benchmarks/python/gpu.py --write -->"
END = "<!-- end -->"
PEERS = (gpu_peers.TORCH, gpu_peers.ONNX)
COLOURS = {gpu_peers.TORCH: "#2a6fbb", gpu_peers.ONNX: "#f28e2b"}


@dataclass
class Report:
    device: str
    driver: str
    date: str
    versions: dict[str, str]
    results: list[Result]
    dispatch: dict[str, float]  # seconds of a benchmark of webgpu_dispatch


#: What is compared there: the raw calls, the trait, how many ops one time stands for.
PAIRS = {
    "enqueue a small op": ("raw_enqueue_1000", "trait_enqueue_1000", 1000),
    "the same, two sets of buffers in turn": (
        "raw_enqueue_1000_in_turn",
        "trait_enqueue_1000_in_turn",
        1000,
    ),
    "a small op, submitted and awaited": ("raw_submit_and_wait", "trait_submit_and_wait", 1),
    "1,000 small ops and a read": ("raw_1000_and_read", "trait_1000_and_read", 1),
    "upload of 256 MB": ("raw_upload_staged", "trait_upload", 1),
    "upload of 256 MB, raw by queueWriteBuffer": ("raw_upload_write_buffer", "trait_upload", 1),
    "download of 256 MB": ("raw_download", "trait_download", 1),
    "cold start to the first product": ("cold_start/raw", "cold_start/trait", 1),
}
SCALE = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def medians(benchmarks: dict[str, Any]) -> dict[str, float]:
    """Of google-benchmark's JSON with repetitions."""
    taken: dict[str, list[float]] = {}
    for run in benchmarks["benchmarks"]:
        if run["run_type"] == "iteration":
            name = re.sub(r"/(iterations:\d+|real_time|manual_time)", "", run["run_name"])
            taken.setdefault(name, []).append(run["real_time"] * SCALE[run["time_unit"]])
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def write(docs: Path, report: Report) -> None:
    page = docs / "performance.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no part between {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{tables(report)}\n{END}{after}")
    plots = docs / "plots"
    plots.mkdir(exist_ok=True)
    (plots / "gpu.svg").write_text(picture(report))


def tables(report: Report) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in report.versions.items())
    peers = [peer for peer in PEERS if any(peer in r.seconds for r in report.results)]
    head = f"{report.device}, {report.driver}, {report.date}; {versions}.\n\n"
    head += "![How many times as fast as each peer](plots/gpu.svg)\n\n"
    titles = ["work", "unit", "tilewright"]
    for peer in peers:
        titles += [peer, "ratio"]
    head += f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    head += "".join(f"| {' | '.join(row(r, peers))} |\n" for r in report.results)
    return head + (calls(report.dispatch) if report.dispatch else "")


def calls(dispatch: dict[str, float]) -> str:
    """What the trait costs beside raw calls."""
    text = "\nThe trait from C++ beside raw calls of wgpu-native, with everything kept that can be "
    text += "kept and a submission for each 100 ops that are only enqueued (medians of "
    text += "`benchmark_webgpu_dispatch`):\n\n"
    text += "| | raw calls | the trait | times the raw calls |\n|---|---|---|---|\n"
    for name, (raw, trait, ops) in PAIRS.items():
        sides = [dispatch[raw] / ops, dispatch[trait] / ops]
        shown = " | ".join(duration(seconds) for seconds in sides)
        text += f"| {name} | {shown} | {sides[1] / sides[0]:.2f} |\n"
    return text


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{number(seconds * 1e6)} µs"
    return f"{number(seconds * 1e3)} ms"


def row(result: Result, peers: list[str]) -> list[str]:
    cells = [f"{result.group} {result.name}", result.unit, number(result.value("tilewright"))]
    for peer in peers:
        there = peer in result.seconds
        cells += [number(result.value(peer)), f"{result.ratio(peer):.2f}"] if there else ["", ""]
    return cells


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def picture(report: Report) -> str:
    """An SVG: a line for each case, one bar a peer; 1 is as fast as the peer."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "tilewright"
    shown = [r for r in report.results if len(r.seconds) > 1]
    figure = Figure(figsize=(9, 0.26 * len(shown) + 1.4), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1, color="#222222", linewidth=1)
    for place, result in enumerate(shown):
        there = [peer for peer in PEERS if peer in result.seconds]
        thick = 0.8 / len(there)
        for i, peer in enumerate(there):
            at = place + (i - (len(there) - 1) / 2) * thick
            axes.barh(at, result.ratio(peer), thick * 0.9, color=COLOURS[peer])
    axes.set_yticks(range(len(shown)), [f"{r.group} {r.name}" for r in shown], fontsize=7)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.invert_yaxis()
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("times as fast as the peer")
    axes.set_title(f"tilewright {report.versions['tilewright']} on {report.device}, {report.date}")
    bars = [axes.barh([0], [0], color=COLOURS[peer]) for peer in PEERS]
    axes.legend(bars, PEERS, fontsize=8, loc="lower right")
    content = io.StringIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
