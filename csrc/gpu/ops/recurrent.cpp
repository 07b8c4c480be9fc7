#include "core/ops/recurrent.hpp"

#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_recurrent(const RecurrentRequest&) {
  throw Unsupported("recurrent: GPU backends do not have this op");
}

}  // namespace tilewright::gpu
