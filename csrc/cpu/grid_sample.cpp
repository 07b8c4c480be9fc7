#include "core/ops/grid_sample.hpp"

#include "cpu/backend.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

void CpuBackend::do_grid_sample(const GridSampleRequest&) {
  throw Unsupported("grid_sample is not on the cpu backend yet");
}

}  // namespace tilewright::cpu
