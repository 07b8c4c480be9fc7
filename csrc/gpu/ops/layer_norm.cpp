#include "gpu/backend.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_layer_norm(const NormRequest& request) {
  norm("layer_norm", request, true);
}

}  // namespace tilewright::gpu
