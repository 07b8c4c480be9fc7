"""Files of ONNX: read, checked, and run as functions of Arrays."""

from tilewright.models.onnx.model import OnnxModel, open_onnx

__all__ = ["OnnxModel", "open_onnx"]
