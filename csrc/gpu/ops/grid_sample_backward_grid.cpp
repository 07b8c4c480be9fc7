#include "core/ops/grid_sample_backward_grid.hpp"

#include "gpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_grid_sample_backward_grid(const GridGradientRequest&) {
  throw Unsupported("grid_sample_backward_grid is not on this backend yet");
}

}  // namespace tilewright::gpu
