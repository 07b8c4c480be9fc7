"""Kernels of one's own in the language of each backend."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencl import spirv_of
from tilewright import Backend

DECLARATIONS = """
typedef unsigned int uint;
unsigned long __attribute__((overloadable, const)) get_global_id(uint dimension);
"""


@functools.cache
def spirv(opencl: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.cl")
        source.write_text(DECLARATIONS + opencl)
        return spirv_of(source)


@dataclass(frozen=True)
class Code:
    """The same kernel twice: WGSL's entry point is main, that of OpenCL C has a name."""

    wgsl: str
    opencl: str
    name: str

    def on(self, backend: Backend) -> dict[str, Any]:
        """What backend.kernel() takes for it."""
        if backend.name == "webgpu":
            return {"code": self.wgsl, "name": self.name}
        return {"code": spirv(self.opencl), "entry": self.name, "trusted": True}


SAXPY = Code(
    """
    struct Params { n: u32, alpha: f32 }
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    var<immediate> params: Params;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      if id.x < params.n { y[id.x] += params.alpha * x[id.x]; }
    }
    """,
    """
    typedef struct { uint n; float alpha; } Params;
    __attribute__((reqd_work_group_size(64, 1, 1)))
    kernel void saxpy(global const float* x, global float* y, const Params params) {
      const uint i = get_global_id(0);
      if (i < params.n) y[i] += params.alpha * x[i];
    }
    """,
    "saxpy",
)
PLACES = Code(
    """
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(2) fn main(@builtin(global_invocation_id) i: vec3u) {
      x[i.x + 4u * (i.y + 3u * i.z)] = f32(i.x + 10u * i.y + 100u * i.z);
    }
    """,
    """
    __attribute__((reqd_work_group_size(2, 1, 1)))
    kernel void places(global float* x) {
      const uint i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
      x[i + 4 * (j + 3 * k)] = (float)(i + 10 * j + 100 * k);
    }
    """,
    "places",
)
ROUNDS = Code(
    """
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    var<immediate> rounds: u32;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      var a = x[id.x];
      for (var i = 0u; i < rounds; i++) { a = a * 0.999 + 0.5; }
      x[id.x] = a;
    }
    """,
    """
    __attribute__((reqd_work_group_size(64, 1, 1)))
    kernel void rounds(global float* x, const uint rounds) {
      float a = x[get_global_id(0)];
      for (uint i = 0; i < rounds; i++) a = a * 0.999f + 0.5f;
      x[get_global_id(0)] = a;
    }
    """,
    "rounds",
)
