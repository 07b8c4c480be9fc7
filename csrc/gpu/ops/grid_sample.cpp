#include "core/ops/grid_sample.hpp"

#include "gpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_grid_sample(const GridSampleRequest&) {
  throw Unsupported("grid_sample is not on this backend yet");
}

}  // namespace tilewright::gpu
