#include "core/ops/grid_sample_backward_grid.hpp"

#include "cpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

void CpuBackend::do_grid_sample_backward_grid(const GridGradientRequest&) {
  throw Unsupported("grid_sample_backward_grid is not on the cpu backend yet");
}

}  // namespace tilewright::cpu
