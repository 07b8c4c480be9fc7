"""A kernel of one's own: y = alpha * x + y, timed by the device's clock."""

import numpy as np
import tilewright

SAXPY = """
struct Params { n: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if id.x < params.n { y[id.x] += params.alpha * x[id.x]; }
}
"""

with tilewright.init_backend() as be:
    try:
        saxpy = be.kernel(SAXPY, name="saxpy")
        n = 1000
        x = be.array(np.arange(n, dtype=np.float32))
        y = be.full(n, 1.0)
        with be.profile() as profile:
            saxpy(x, y, grid=(n + 63) // 64, params={"n": n, "alpha": 2.0})
        print(f"{y.numpy()[0]:.1f} {y.numpy()[n - 1]:.1f}")
        for record in profile.records:
            print(record.kernel, record.grid[0], "workgroups")
    except tilewright.Unsupported as error:
        print(error)
