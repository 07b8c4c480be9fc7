"""Each shipped kernel has SPIR-V modules, which are valid."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .conftest import ROOT

KERNELS = ROOT / "csrc" / "kernels"
#: made for one length at a time, as kernels that are compiled beforehand cannot be; of more
#: registers than Intel's GPUs have: attention_general does its work there; and what conv2d_forward
#: and its gradients, norms and softmax do without; and the matrix units of WebGPU
OF_TEMPLATES_ALONE = {
    "fft_convolved", "copy_fours", "attention_many", "attention_matrix", "conv2d_fold",
    "conv2d_matrix", "conv2d_matrix_filter",
    "conv2d_matrix_input", "conv2d_spots", "conv2d_spots_few", "conv2d_spots_pack",
    "gemm_bytes_pack", "gemm_largest", "gemm_split", "matrix_units", "norm_pieces", "norm_scaled",
    "quantized_digits", "quantized_matrix", "softmax_pieces", "softmax_scaled", "softmax_short",
}  # fmt: skip


def test_every_kernel_has_modules(modules: Path) -> None:
    wgsl = {path.stem: path.read_text() for path in (KERNELS / "wgsl").glob("*.wgsl")}
    parts = set(re.findall(r'#include "(\w+)\.wgsl"', "".join(wgsl.values())))
    parts.add("program_functions")  # what programs are made of
    assert wgsl.keys() - parts - OF_TEMPLATES_ALONE == {
        path.name.split(".")[0] for path in modules.glob("*.spv")
    }


def test_modules_are_valid(modules: Path) -> None:
    def complaint(module: Path) -> str:
        done = subprocess.run(["spirv-val", module], capture_output=True, text=True, check=False)
        return f"{module.name}: {done.stdout}{done.stderr}" if done.returncode != 0 else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(filter(None, pool.map(complaint, sorted(modules.glob("*.spv")))))
    assert complaints == []
