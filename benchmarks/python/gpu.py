"""Every kind of work on a GPU beside torch on CUDA and ONNX Runtime on WebGPU where they are.

python benchmarks/python/gpu.py                    prints the table
python benchmarks/python/gpu.py --json FILE        and keeps the results
python benchmarks/python/gpu.py --write [FILE]     puts measured, or kept, results in docs/
--dispatch FILE adds what benchmark_webgpu_dispatch wrote, run with --benchmark_format=json
--benchmark_repetitions=9 --benchmark_enable_random_interleaving=true.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
from dataclasses import asdict
from pathlib import Path

import gpu_cases
import gpu_pages
import gpu_peers
import gpu_timing
import tilewright

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--device", help="backend or device (webgpu)")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--without", action="append", default=[], help="cases to leave out")
    parser.add_argument("--turns", type=int, default=3, help="turns of each side (3)")
    parser.add_argument("--dispatch", type=Path, help="results of benchmark_webgpu_dispatch")
    parser.add_argument("--json", type=Path, help="keep the results in this file")
    parser.add_argument(
        "--write",
        nargs="?",
        const=True,
        default=None,
        help="put the results, or those of a kept file, into docs/performance.md and docs/plots",
    )
    return parser.parse_args()


def run(chosen: argparse.Namespace) -> gpu_pages.Report:
    with tilewright.init_backend(chosen.device or "webgpu") as be:
        peers = gpu_cases.Peers(be, gpu_peers.find_torch(), gpu_peers.find_onnx_runtime())
        versions = {"tilewright": tilewright.__version__}
        if peers.torch is not None:
            versions[gpu_peers.TORCH] = peers.torch.__version__
        if peers.onnx is not None:
            versions[gpu_peers.ONNX] = peers.onnx.version
        report = gpu_pages.Report(
            be.device.name, be.device.driver, datetime.date.today().isoformat(), versions, [], {}
        )
        if chosen.dispatch is not None:
            report.dispatch = gpu_pages.medians(json.loads(chosen.dispatch.read_text()))
        print(f"{report.device}; {report.driver}; {report.date}; {versions}", flush=True)
        for group in gpu_cases.GROUPS:
            for name, make in group(peers):
                if chosen.only not in name or any(part in name for part in chosen.without):
                    continue
                result = gpu_timing.measure(make(), chosen.turns)
                report.results.append(result)
                print(gpu_timing.lines([result])[0], flush=True)
                if chosen.json is not None:
                    chosen.json.write_text(json.dumps(asdict(report), indent=1) + "\n")
                gc.collect()
                be.trim()
    return report


def main() -> None:
    chosen = arguments()
    if isinstance(chosen.write, str):
        kept = json.loads(Path(chosen.write).read_text())
        results = [gpu_timing.Result(**result) for result in kept.pop("results")]
        gpu_pages.write(ROOT / "docs", gpu_pages.Report(**kept, results=results))
        return
    if chosen.device is None:
        try:
            tilewright.init_backend("webgpu").close()
        except tilewright.BackendUnavailable as error:
            print(f"nothing to measure here: {error}")
            return
    report = run(chosen)
    if chosen.write:
        gpu_pages.write(ROOT / "docs", report)


if __name__ == "__main__":
    main()
