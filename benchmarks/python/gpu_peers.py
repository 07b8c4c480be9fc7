"""What the GPU backends are compared with: torch on CUDA and ONNX Runtime on WebGPU."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gpu_timing as timing
import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]

TORCH = "torch CUDA"
ONNX = "ONNX Runtime WebGPU"


def find_torch() -> Any:
    """torch where it has a GPU, with its tensor cores' shortcut for float32 off; else None."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    return torch


class OnnxRuntime:
    """Chains of one op in one graph each, on the WebGPU provider alone."""

    PROVIDER = "WebGpuExecutionProvider"
    CHAIN = 0.2

    def __init__(self) -> None:
        import onnx
        import onnxruntime

        self.onnx, self.runtime = onnx, onnxruntime
        self.version: str = onnxruntime.__version__

    def turn(
        self,
        op: str,
        x: AnyArray,
        weights: Sequence[AnyArray] = (),
        *,
        seconds: float,
        inputs: Sequence[str] = (),
        domain: str = "",
        attributes: Mapping[str, Any] = {},
    ) -> timing.Turn:
        """The time of `op`, whose output is shaped as its first input x. `inputs` are the names of
        further inputs: "x" for the chain's own value, "w0" and so on for weights. The chain is
        made so long that it takes CHAIN seconds if one op takes about `seconds`."""
        more = max(4, min(4000, int(self.CHAIN / seconds)))
        feed = {"x": x}
        sessions = [
            self._session(op, x, weights, count, inputs, domain, attributes)
            for count in (1, 1 + more)
        ]
        short, long = (lambda s=s: s.run(None, feed) for s in sessions)
        short()
        self._check_provider(op, sessions[0].end_profiling())
        return timing.chained(short, long, more)

    def _check_provider(self, op: str, profile: str) -> None:
        """ONNX Runtime runs on the processor, unasked, what its GPU provider lacks."""
        events = json.loads(Path(profile).read_text())
        Path(profile).unlink()
        used = {e["args"]["provider"] for e in events if "provider" in e.get("args", {})}
        if used != {self.PROVIDER}:
            raise RuntimeError(f"ONNX Runtime runs {op} on {used}")

    def _session(
        self,
        op: str,
        x: AnyArray,
        weights: Sequence[AnyArray],
        count: int,
        inputs: Sequence[str],
        domain: str,
        attributes: Mapping[str, Any],
    ) -> Any:
        helper = self.onnx.helper
        nodes = []
        for i in range(count):
            before = "x" if i == 0 else f"t{i}"
            after = "y" if i == count - 1 else f"t{i + 1}"
            more = [before if name == "x" else name for name in inputs]
            nodes.append(
                helper.make_node(op, [before, *more], [after], domain=domain, **attributes)
            )
        element = helper.np_dtype_to_tensor_dtype(x.dtype)
        graph = helper.make_graph(
            nodes,
            "chain",
            [helper.make_tensor_value_info("x", element, x.shape)],
            [helper.make_tensor_value_info("y", element, x.shape)],
            [self.onnx.numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)],
        )
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        options = self.runtime.SessionOptions()
        options.log_severity_level = 3
        options.enable_profiling = count == 1
        options.profile_file_prefix = str(Path(tempfile.gettempdir()) / "chain")
        return self.runtime.InferenceSession(
            model.SerializeToString(), options, providers=[self.PROVIDER]
        )


def find_onnx_runtime() -> OnnxRuntime | None:
    if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime")):
        return None
    found = OnnxRuntime()
    try:
        found.turn("Relu", random(16), seconds=1e-3)
    except Exception as error:
        print(f"{ONNX} is left out: {error}")
        return None
    return found


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def random(*shape: int, dtype: str = "float32") -> AnyArray:
    """Numbers around zero whose sums of products stay around one."""
    block = np.random.default_rng(0).standard_normal(16_000_057, dtype=np.float32)
    return np.resize(block, shape).astype(dtype)
